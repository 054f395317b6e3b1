// Vectors moved towards the mean of their nearest.

// For each row, a block of 512 threads: the places of its `wanted` nearest columns in rising order, itself among them, ties to the
// lowest place. Row i is column `first + i`; `wanted` is at most the number of columns.
extern "C" __global__ void nearest(const float *ranks, u64 stride, u32 columns, u32 first, u32 wanted, u32 *places) {
    __shared__ SmallestRoom room;
    __shared__ u32 less[16], equal[16];
    const u32 row = blockIdx.x, itself = first + row, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 *bits = (const u32 *)(ranks + row * stride);
    u32 *out = places + (u64)row * wanted;
    // Without any other one, nothing is below the bound and nothing equal to it.
    u32 bound = 0, ties = 0;
    if (wanted > 1) bound = bound_of_smallest(bits, columns, itself, wanted - 1, &room, &ties);
    u32 written = 0, met = 0;
    for (u32 start = 0; start < columns; start += 512) {
        const u32 j = start + threadIdx.x;
        const bool other = j < columns && j != itself && wanted > 1;
        const u32 is_equal = __ballot_sync(ALL, other && bits[j] == bound);
        if (lane == 0) equal[warp] = __popc(is_equal);
        __syncthreads();
        u32 before = met;
        for (u32 w = 0; w < 16; ++w) {
            if (w < warp) before += equal[w];
            met += equal[w];
        }
        const u32 below = (1u << lane) - 1;
        const bool tied = (is_equal >> lane & 1) && before + __popc(is_equal & below) < ties;
        const bool chosen = (other && bits[j] < bound) || tied || j == itself;
        const u32 is_chosen = __ballot_sync(ALL, chosen);
        if (lane == 0) less[warp] = __popc(is_chosen);
        __syncthreads();
        u32 at = written;
        for (u32 w = 0; w < 16; ++w) {
            if (w < warp) at += less[w];
            written += less[w];
        }
        if (chosen) out[at + __popc(is_chosen & below)] = j;
        __syncthreads();
    }
    // Fewer than wanted lie at a finite distance.
    for (u32 i = written + threadIdx.x; i < wanted; i += blockDim.x) out[i] = itself;
}

// For each row, a block: `(1 - fraction) x + fraction mean`, the mean being over the points at its places. Sums run in the order of
// places and are rounded as the processor's are. With `stays_if_cancelled`, a row that would become all zeros stays.
extern "C" __global__ void move_rows(const float *points, u32 dimensions, u32 first, const u32 *places, u32 count, double fraction,
                                     u32 stays_if_cancelled, float *out) {
    const u32 row = blockIdx.x;
    const float *own = points + (u64)(first + row) * dimensions;
    const u32 *nearest = places + (u64)row * count;
    float *moved = out + (u64)row * dimensions;
    const double weight = fraction / (double)count;
    bool somewhere = false;
    for (u32 k = threadIdx.x; k < dimensions; k += blockDim.x) {
        double sum = 0.0;
        for (u32 i = 0; i < count; ++i) sum += (double)points[(u64)nearest[i] * dimensions + k];
        const float value = (float)__dadd_rn(__dmul_rn(1.0 - fraction, (double)own[k]), __dmul_rn(weight, sum));
        somewhere = somewhere || value != 0.0f;
        moved[k] = value;
    }
    if (__syncthreads_or(somewhere) || !stays_if_cancelled) return;
    for (u32 k = threadIdx.x; k < dimensions; k += blockDim.x) moved[k] = own[k];
}
