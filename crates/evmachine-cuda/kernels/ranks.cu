// Ranks of pairs from their products, and ranks that are no product.

// The square of each row's length; a warp a row.
extern "C" __global__ void squares(const float *rows, u32 count, u32 dimensions, float *out) {
    const u32 row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (row >= count) return;
    const float *values = rows + (u64)row * dimensions;
    double sum = 0.0;
    for (u32 i = threadIdx.x & 31; i < dimensions; i += 32) sum = fma((double)values[i], (double)values[i], sum);
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) out[row] = (float)sum;
}

// The rank that a value stands for. Where a product has lost its digits, the warp computes the pair again by differences:
// below 1/64 of a cosine distance, below 1/32 of the summed squares of the lengths. All lanes call.
__device__ float finished(float value, u32 kind, bool wanted, const float *a, const float *b, float square_a, float square_b,
                          u32 dimensions) {
    if (kind == RANK) return value;
    float rank;
    bool lost;
    if (kind == COSINE) {
        rank = fminf(1.0f - value, 2.0f);
        lost = rank < 1.0f / 64.0f;
    } else {
        const float sum = square_a + square_b;
        rank = fmaf(-2.0f, value, sum);
        lost = rank < sum * (1.0f / 32.0f);
    }
    u32 again = __ballot_sync(ALL, lost && wanted);
    while (again) {
        const int lane = __ffs(again) - 1;
        again &= again - 1;
        const float *one = (const float *)__shfl_sync(ALL, (u64)a, lane);
        const float *other = (const float *)__shfl_sync(ALL, (u64)b, lane);
        const double difference = squared_difference(one, other, dimensions);
        if ((threadIdx.x & 31) == lane) rank = (float)(kind == COSINE ? difference / 2.0 : difference);
    }
    return fmaxf(rank, 0.0f);
}

// A tile of the square matrix of ranks, rows `stride` apart, which holds values at (first_row, first_column), and its mirror
// image. Pairs of one class are infinitely far. Blocks of 32 x 8 threads take 32 x 32 values; those below the diagonal have
// nothing to do.
extern "C" __global__ void mirror(float *matrix, u64 stride, u32 first_row, u32 first_column, u32 rows, u32 columns, u32 kind,
                                  const float *points, const float *lengths, const u32 *classes, u32 dimensions) {
    __shared__ float tile[32][33];
    const u32 top = blockIdx.y * 32, left = blockIdx.x * 32;
    if (first_row + top > first_column + left) return;
    const bool diagonal = first_row + top == first_column + left;
    for (u32 step = threadIdx.y; step < 32; step += 8) {
        const u32 i = first_row + top + step, j = first_column + left + threadIdx.x;
        const bool inside = top + step < rows && left + threadIdx.x < columns;
        const bool wanted = inside && classes[i] != classes[j];
        const u64 at = (u64)i * stride + j;
        float rank = finished(inside ? matrix[at] : 0.0f, kind, wanted, points + (u64)i * dimensions,
                              points + (u64)j * dimensions, wanted ? lengths[i] : 0.0f, wanted ? lengths[j] : 0.0f, dimensions);
        tile[step][threadIdx.x] = wanted ? rank : INFINITE;
    }
    __syncthreads();
    for (u32 step = threadIdx.y; step < 32; step += 8) {
        u32 i = first_row + top + step, j = first_column + left + threadIdx.x;
        if (top + step < rows && left + threadIdx.x < columns) {
            const bool below = diagonal && step > threadIdx.x;
            matrix[(u64)i * stride + j] = below ? tile[threadIdx.x][step] : tile[step][threadIdx.x];
        }
        i = first_row + top + threadIdx.x;
        j = first_column + left + step;
        if (!diagonal && top + threadIdx.x < rows && left + step < columns) {
            matrix[(u64)j * stride + i] = tile[threadIdx.x][step];
        }
    }
}

// Ranks of some rows, `stride` apart, with some columns, in place. Pairs of one class, and distances above the bound of their
// row, are infinitely far; `row_classes` and `bounds` may be null.
extern "C" __global__ void stripe(float *tile, u64 stride, u32 columns, u32 rows, u32 kind, const float *row_points,
                                  const float *row_lengths, const u32 *row_classes, const float *bounds, u32 ranks_are_squares,
                                  const float *column_points, const float *column_lengths, const u32 *column_classes,
                                  u32 dimensions) {
    const u32 j = blockIdx.x * blockDim.x + threadIdx.x;
    for (u32 i = blockIdx.y; i < rows; i += gridDim.y) {
        const bool inside = j < columns;
        const bool wanted = inside && (!row_classes || row_classes[i] != column_classes[j]);
        const u64 at = (u64)i * stride + j;
        float rank = finished(inside ? tile[at] : 0.0f, kind, wanted, row_points + (u64)i * dimensions,
                              column_points + (u64)j * dimensions, wanted ? row_lengths[i] : 0.0f,
                              wanted ? column_lengths[j] : 0.0f, dimensions);
        const float distance = ranks_are_squares ? __fsqrt_rn(rank) : rank;
        if (!wanted || (bounds && distance > bounds[i])) rank = INFINITE;
        if (inside) tile[at] = rank;
    }
}

// Sums of squared or absolute differences of rows and columns; blocks of 16 x 16 threads take 64 x 64 pairs.
extern "C" __global__ void differences(const float *rows, u32 row_count, const float *columns, u32 column_count, u32 dimensions,
                                       u32 absolute, float *out, u64 stride) {
    __shared__ float a[16][65], b[16][65];
    const u32 top = blockIdx.y * 64, left = blockIdx.x * 64;
    const u32 thread = threadIdx.y * 16 + threadIdx.x;
    float sums[4][4] = {};
    for (u32 first = 0; first < dimensions; first += 16) {
        for (u32 at = thread; at < 64 * 16; at += 256) {
            const u32 vector = at / 16, i = at % 16;
            const bool within = first + i < dimensions;
            a[i][vector] = within && top + vector < row_count ? rows[(u64)(top + vector) * dimensions + first + i] : 0.0f;
            b[i][vector] = within && left + vector < column_count ? columns[(u64)(left + vector) * dimensions + first + i] : 0.0f;
        }
        __syncthreads();
        for (u32 i = 0; i < 16; ++i) {
            float x[4], y[4];
            for (u32 n = 0; n < 4; ++n) {
                x[n] = a[i][threadIdx.y * 4 + n];
                y[n] = b[i][threadIdx.x + 16 * n];
            }
            for (u32 n = 0; n < 4; ++n) {
                for (u32 m = 0; m < 4; ++m) {
                    const float difference = x[n] - y[m];
                    sums[n][m] = absolute ? sums[n][m] + fabsf(difference) : fmaf(difference, difference, sums[n][m]);
                }
            }
        }
        __syncthreads();
    }
    for (u32 n = 0; n < 4; ++n) {
        for (u32 m = 0; m < 4; ++m) {
            const u32 i = top + threadIdx.y * 4 + n, j = left + threadIdx.x + 16 * m;
            if (i < row_count && j < column_count) out[(u64)i * stride + j] = sums[n][m];
        }
    }
}
