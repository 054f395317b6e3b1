// Types and reductions that all kernels share. Blocks are whole warps; every reduction has one order, so that results are
// the same from run to run.

typedef unsigned int u32;
typedef unsigned long long u64;

#define ALL 0xffffffffu
#define INFINITE __int_as_float(0x7f800000)

// What a value of a tile is before it is finished: a product to become a squared distance, a product to become a cosine
// distance, a rank already.
#define SQUARED 0
#define COSINE 1
#define RANK 2

__device__ __forceinline__ double warp_sum(double value) {
    for (int step = 16; step > 0; step >>= 1) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

// The sum over the block, for every thread of it. `room` holds one value a warp, and one more.
__device__ double block_sum(double value, double *room) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    value = warp_sum(value);
    __syncthreads();
    if (lane == 0) room[warp] = value;
    __syncthreads();
    if (warp == 0) {
        double total = warp_sum(lane < warps ? room[lane] : 0.0);
        if (lane == 0) room[32] = total;
    }
    __syncthreads();
    return room[32];
}

__device__ double block_min(double value, double *room) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    for (int step = 16; step > 0; step >>= 1) value = fmin(value, __shfl_xor_sync(ALL, value, step));
    __syncthreads();
    if (lane == 0) room[warp] = value;
    __syncthreads();
    double least = room[0];
    for (u32 other = 1; other < warps; ++other) least = fmin(least, room[other]);
    return least;
}

// The sum of squared differences of two vectors, by a warp.
__device__ __forceinline__ double squared_difference(const float *a, const float *b, u32 dimensions) {
    double sum = 0.0;
    for (u32 i = threadIdx.x & 31; i < dimensions; i += 32) {
        double difference = (double)a[i] - (double)b[i];
        sum = fma(difference, difference, sum);
    }
    return warp_sum(sum);
}
