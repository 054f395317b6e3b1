// Pairs that may be near enough for a tail, by products of few digits, and their ranks.

// The vectors at every `step`-th place from the first on.
extern "C" __global__ void sample(const float *points, const float *lengths, const u32 *classes, u32 step, u32 dimensions, float *out,
                                  float *out_lengths, u32 *out_classes) {
    const u64 from = (u64)blockIdx.x * step;
    for (u32 i = threadIdx.x; i < dimensions; i += blockDim.x) {
        out[(u64)blockIdx.x * dimensions + i] = points[from * dimensions + i];
    }
    if (threadIdx.x == 0) {
        out_lengths[blockIdx.x] = lengths[from];
        out_classes[blockIdx.x] = classes[from];
    }
}

// The least rank that a rough product allows: an error of up to `error` times both lengths is taken off.
__device__ __forceinline__ float least(float product, u32 kind, float square_a, float square_b, float error) {
    if (kind == COSINE) return 1.0f - product - error;
    return fmaf(-2.0f, product, square_a + square_b) - 2.0f * error * __fsqrt_rn(square_a * square_b);
}

// Rough products of a tile to their least ranks, not below 0, in place; pairs of one class are infinitely far.
extern "C" __global__ void least_ranks(float *tile, u32 columns, u32 rows, u32 kind, float error, const float *row_lengths,
                                       const u32 *row_classes, const float *column_lengths, const u32 *column_classes) {
    const u32 j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    for (u32 i = blockIdx.y; i < rows; i += gridDim.y) {
        const u64 at = (u64)i * columns + j;
        const float rank = least(tile[at], kind, row_lengths[i], column_lengths[j], error);
        tile[at] = row_classes[i] == column_classes[j] ? INFINITE : fmaxf(rank, 0.0f);
    }
}

// Moves bounds that were taken from least ranks by twice the error, at a typical length of the other side.
extern "C" __global__ void widen(float *bounds, const float *row_lengths, u32 rows, u32 kind, float error, float length) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    bounds[i] += kind == COSINE ? 2.0f * error : 4.0f * error * __fsqrt_rn(row_lengths[i]) * length;
}

// Appends the columns whose least rank is within the bound of their row; a warp a row, columns in order. `found` counts on
// beyond `room`, where nothing is written.
extern "C" __global__ void candidates(const float *tile, u32 columns, u32 rows, u32 first_column, u32 kind, float error,
                                      const float *row_lengths, const u32 *row_classes, const float *bounds,
                                      const float *column_lengths, const u32 *column_classes, u32 *out, u32 room, u32 *found) {
    const u32 row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    if (row >= rows) return;
    const float *products = tile + (u64)row * columns;
    const float bound = bounds[row], length = row_lengths[row];
    const u32 class_of_row = row_classes[row];
    u32 *own = out + (u64)row * room;
    u32 count = found[row];
    for (u32 first = 0; first < columns; first += 128) {
        float rank[4];
        for (u32 part = 0; part < 4; ++part) {
            const u32 j = first + part * 32 + lane;
            rank[part] = j < columns ? least(products[j], kind, length, column_lengths[j], error) : INFINITE;
        }
        for (u32 part = 0; part < 4; ++part) {
            const u32 j = first + part * 32 + lane;
            const bool near = rank[part] <= bound && j < columns && column_classes[j] != class_of_row;
            const u32 ballot = __ballot_sync(ALL, near);
            if (ballot == 0) continue;
            const u32 at = count + __popc(ballot & ((1u << lane) - 1));
            if (near && at < room) own[at] = first_column + j;
            count += __popc(ballot);
        }
    }
    if (lane == 0) found[row] = count;
}

// Ranks of the candidates of a row, whole digits; what is not there is infinitely far. A block a row, with room for a vector.
extern "C" __global__ void measure(const float *row_points, const float *column_points, u32 dimensions, u32 kind, const u32 *columns,
                                   u32 room, const u32 *found, float *out) {
    extern __shared__ float vector[];
    const u32 row = blockIdx.x, lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    const float *own = row_points + (u64)row * dimensions;
    for (u32 i = threadIdx.x; i < dimensions; i += blockDim.x) vector[i] = own[i];
    __syncthreads();
    const u32 count = min(found[row], room);
    for (u32 at = threadIdx.x >> 5; at < room; at += warps) {
        float rank = INFINITE;
        if (at < count) {
            const float *other = column_points + (u64)columns[(u64)row * room + at] * dimensions;
            float sums[4] = {};
            for (u32 first = lane; first < dimensions; first += 128) {
                for (u32 part = 0; part < 4; ++part) {
                    const u32 i = first + part * 32;
                    if (i >= dimensions) break;
                    if (kind == COSINE) {
                        sums[part] = fmaf(vector[i], other[i], sums[part]);
                    } else {
                        const float difference = vector[i] - other[i];
                        sums[part] = fmaf(difference, difference, sums[part]);
                    }
                }
            }
            const double sum = warp_sum((double)sums[0] + (double)sums[1] + (double)sums[2] + (double)sums[3]);
            rank = (float)(kind == COSINE ? 1.0 - sum : sum);
            if (kind == COSINE) {
                rank = fminf(rank, 2.0f);
                if (rank < 1.0f / 64.0f) rank = (float)(squared_difference(vector, other, dimensions) / 2.0);
            }
        }
        if (lane == 0) out[(u64)row * room + at] = rank;
    }
}

// Whether the tail of a row is surely whole: all that may be in it was among the candidates.
extern "C" __global__ void is_whole(const u32 *found, u32 room, const u32 *counts, const u32 *wanted, const float *largest,
                                    const float *bounds, u32 rows, u32 *whole) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) whole[i] = found[i] <= room && counts[i] == wanted[i] && largest[i] <= bounds[i];
}
