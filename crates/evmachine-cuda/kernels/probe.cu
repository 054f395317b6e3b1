// The loss of a linear probe and what its slopes are made of.

// For each row, a warp: its part of the loss, and over its logits the residuals `v (p - 1[class = y])`, v being its share; behind the
// classes they are 0.
extern "C" __global__ void residuals(float *logits, u32 rows, u32 width, u32 class_count, const u32 *classes, const double *shares,
                                     double *losses) {
    const u32 row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    if (row >= rows) return;
    float *values = logits + (u64)row * width;
    const u32 own = classes[row];
    const float chosen = values[own], share = (float)shares[row];
    // Before another lane writes there.
    __syncwarp();
    float most = -INFINITE;
    for (u32 c = lane; c < class_count; c += 32) most = fmaxf(most, values[c]);
    for (int step = 16; step > 0; step >>= 1) most = fmaxf(most, __shfl_xor_sync(ALL, most, step));
    double total = 0.0;
    for (u32 c = lane; c < class_count; c += 32) {
        const float power = expf(values[c] - most);
        values[c] = power;
        total += (double)power;
    }
    const float sum = (float)warp_sum(total);
    const float scale = share / sum;
    for (u32 c = lane; c < width; c += 32) {
        const float value = c < class_count ? values[c] * scale : 0.0f;
        values[c] = c == own ? value - share : value;
    }
    if (lane == 0) losses[row] = shares[row] * (double)(logf(sum) + (most - chosen));
}

// Adds values to sums.
extern "C" __global__ void add_to(const float *values, u64 count, double *sums) {
    const u64 step = (u64)gridDim.x * blockDim.x;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) sums[at] += (double)values[at];
}
