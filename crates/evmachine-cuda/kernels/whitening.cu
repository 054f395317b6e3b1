// Vectors on their way to products in `double`, and back.

// Vectors less the mean of their class.
extern "C" __global__ void centre(const float *rows, const u32 *classes, const double *means, u32 count, u32 dimensions,
                                  double *out) {
    const u64 total = (u64)count * dimensions, step = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += step) {
        const u64 row = at / dimensions;
        out[at] = (double)rows[at] - means[(u64)classes[row] * dimensions + at - row * dimensions];
    }
}

extern "C" __global__ void to_double(const float *values, u64 count, double *out) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) out[at] = (double)values[at];
}

extern "C" __global__ void to_float(const double *values, u64 count, float *out) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) out[at] = (float)values[at];
}
