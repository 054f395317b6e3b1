// The largest supports of queries.

#define SUPPORT_WEIBULL 0
#define SUPPORT_LIBMR 1
#define SUPPORT_GUMBEL 2

struct Curve {
    double shape, inverse_scale, end;
};

__device__ __forceinline__ double support_of(const Curve &curve, u32 model, double distance) {
    if (model == SUPPORT_WEIBULL) return -curve.shape * log(distance * curve.inverse_scale);
    if (model == SUPPORT_LIBMR) return curve.shape * log(fmax(curve.end - distance, 0.0) * curve.inverse_scale);
    return curve.shape * (1.0 - distance * curve.inverse_scale);
}

// As `support_of`, in f32, for finding out which are worth their f64, with a bound of its error. The curve is: x, the shape, times
// ln 2 where there is a logarithm; y, log2 of the scale, of its inverse for libmr, the inverse itself for Gumbel; z, the end; w,
// what rounding may do to it.
__device__ __forceinline__ float rough_support(float4 curve, u32 model, float distance, float *error) {
    float value, lost = 0.0f;
    if (model == SUPPORT_WEIBULL) {
        value = curve.x * (curve.y - __log2f(distance));
    } else if (model == SUPPORT_LIBMR) {
        const float rest = fmaxf(curve.z - distance, 0.0f);
        value = curve.x * (__log2f(rest) + curve.y);
        lost = curve.x * 4e-7f * curve.z / fmaxf(rest, 1e-30f);
    } else {
        value = curve.x * (1.0f - distance * curve.y);
    }
    value = fminf(fmaxf(value, -1e30f), 1e30f);
    *error = curve.w + fabsf(value) * 1e-5f + lost;
    return value;
}

// For each query, a block, and each class, a warp: the `fused` largest supports, from the largest down, -inf where there are fewer.
// And the rank of the nearest extreme vector.
extern "C" __global__ void supports(const float *ranks, u64 vectors, u32 ranks_are_squares, u32 model, const Curve *curves, const u32 *first,
                                    u32 classes, u32 fused, double *out, float *nearest) {
    __shared__ float room[32];
    const float *own = ranks + blockIdx.x * vectors;
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    const double none = -__longlong_as_double(0x7ff0000000000000ll);
    float least = INFINITE;
    for (u32 number = warp; number < classes; number += warps) {
        double *best = out + ((u64)blockIdx.x * classes + number) * fused;
        double last = -none;
        u32 last_at = 0;
        bool started = false;
        for (u32 place = 0; place < fused; ++place) {
            double largest = none;
            u32 at = ALL;
            for (u32 i = first[number] + lane; i < first[number + 1]; i += 32) {
                const float rank = own[i];
                least = fminf(least, rank);
                const double distance = (double)(ranks_are_squares ? __fsqrt_rn(rank) : rank);
                const double value = support_of(curves[i], model, distance);
                const bool open = !started || value < last || (value == last && i > last_at);
                if (open && (value > largest || at == ALL)) {
                    largest = value;
                    at = i;
                }
            }
            for (int step = 16; step > 0; step >>= 1) {
                const double value = __shfl_xor_sync(ALL, largest, step);
                const u32 other = __shfl_xor_sync(ALL, at, step);
                if (other != ALL && (at == ALL || value > largest || (value == largest && other < at))) {
                    largest = value;
                    at = other;
                }
            }
            if (lane == 0) best[place] = at == ALL ? none : largest;
            if (at == ALL) {
                last = none;
                last_at = ALL;
            } else {
                last = largest;
                last_at = at;
            }
            started = true;
        }
    }
    for (int step = 16; step > 0; step >>= 1) least = fminf(least, __shfl_xor_sync(ALL, least, step));
    if (lane == 0) room[warp] = least;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 other = 1; other < warps; ++other) least = fminf(least, room[other]);
        nearest[blockIdx.x] = least;
    }
}

// Queries of a block, which share what is read of extreme vectors.
#define TOGETHER 4

// The larger of two supports, ties to the first place.
__device__ __forceinline__ void take_larger(double &best, u32 &at, double value, u32 place) {
    if (place != ALL && (at == ALL || value > best || (value == best && place < at))) {
        best = value;
        at = place;
    }
}

// For each query the one largest support of all, ties to the first, and where it is; and the rank of the nearest extreme vector.
// What may be the largest of its warp so far by its rough support is looked at in f64. `values` are those of a tile that is not
// finished.
extern "C" __global__ void best_support(const float *values, u64 vectors, u32 ranks_are_squares, u32 model, u32 kind, const float *queries,
                                        const float *query_lengths, const float *points, const float *lengths, u32 dimensions,
                                        u32 query_count, const Curve *curves, const float4 *rough, double *support, u32 *places,
                                        float *nearest) {
    __shared__ float least_room[TOGETHER][8];
    __shared__ double value_room[TOGETHER][8];
    __shared__ u32 place_room[TOGETHER][8];
    const u32 first_query = blockIdx.x * TOGETHER, count = min(TOGETHER, query_count - first_query);
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    float bound[TOGETHER], least[TOGETHER];
    double best[TOGETHER];
    u32 at[TOGETHER];
#pragma unroll
    for (u32 n = 0; n < TOGETHER; ++n) {
        bound[n] = -INFINITE;
        least[n] = INFINITE;
        best[n] = -__longlong_as_double(0x7ff0000000000000ll);
        at[n] = ALL;
    }
    u32 round = 0;
    for (u64 first = (u64)warp * 32; first < vectors; first += blockDim.x, ++round) {
        const u32 i = (u32)first + lane;
        const bool inside = i < vectors;
        const float4 curve = inside ? rough[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        const float length = inside && kind == SQUARED ? lengths[i] : 0.0f;
        float value[TOGETHER];
#pragma unroll
        for (u32 n = 0; n < TOGETHER; ++n) {
            value[n] = inside && n < count ? values[(first_query + n) * vectors + i] : 0.0f;
        }
#pragma unroll
        for (u32 n = 0; n < TOGETHER; ++n) {
            if (n >= count) break;
            const u32 query = first_query + n;
            const float rank = finished(value[n], kind, inside, queries + (u64)query * dimensions, points + (u64)i * dimensions,
                                        kind == SQUARED ? query_lengths[query] : 0.0f, length, dimensions);
            if (inside) {
                least[n] = fminf(least[n], rank);
                const float distance = ranks_are_squares ? __fsqrt_rn(rank) : rank;
                float error;
                const float estimate = rough_support(curve, model, distance, &error);
                if (estimate + error >= bound[n]) {
                    const double exact = support_of(curves[i], model, (double)distance);
                    if (exact > best[n] || at[n] == ALL) {
                        best[n] = exact;
                        at[n] = i;
                    }
                    bound[n] = fmaxf(bound[n], estimate - error);
                }
            }
            if ((round & 7) == 0) {
                for (int step = 16; step > 0; step >>= 1) bound[n] = fmaxf(bound[n], __shfl_xor_sync(ALL, bound[n], step));
            }
        }
    }
#pragma unroll
    for (u32 n = 0; n < TOGETHER; ++n) {
        for (int step = 16; step > 0; step >>= 1) {
            least[n] = fminf(least[n], __shfl_xor_sync(ALL, least[n], step));
            const double value = __shfl_xor_sync(ALL, best[n], step);
            take_larger(best[n], at[n], value, __shfl_xor_sync(ALL, at[n], step));
        }
        if (lane == 0) {
            value_room[n][warp] = best[n];
            place_room[n][warp] = at[n];
            least_room[n][warp] = least[n];
        }
    }
    __syncthreads();
    if (threadIdx.x < count) {
        const u32 n = threadIdx.x;
        double largest = value_room[n][0];
        float closest = least_room[n][0];
        u32 place = place_room[n][0];
        for (u32 other = 1; other < warps; ++other) {
            closest = fminf(closest, least_room[n][other]);
            take_larger(largest, place, value_room[n][other], place_room[n][other]);
        }
        support[first_query + n] = largest;
        places[first_query + n] = place;
        nearest[first_query + n] = closest;
    }
}
