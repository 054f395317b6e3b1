// Maximum-likelihood fits of tails, a block a tail, in f64: the equation and the steps are those of the processor's fits.

#define CONVERGED 0
#define ZERO_MARGINS 1
#define EQUAL_MARGINS 2
#define ZERO_TAIL 3
#define CAPPED 4
#define FIXED_SHAPE 5
#define NOT_CONVERGED 6
#define NO_TAIL 255

#define WEIBULL 0
#define LIBMR 1
#define GUMBEL 2

// Tails from this length on start from the root of every SPARSE-th value.
#define LONG 2048
#define SPARSE 16

// sum e^(beta t), sum t e^(beta t), sum t^2 e^(beta t), over every `step`-th value
__device__ void exponential_sums(const double *t, u32 count, u32 step, double beta, double *room, double *sums) {
    double s0 = 0.0, s1 = 0.0, s2 = 0.0;
    for (u32 i = threadIdx.x * step; i < count; i += blockDim.x * step) {
        const double value = t[i], weight = exp(beta * value), first = value * weight;
        s0 += weight;
        s1 += first;
        s2 = fma(value, first, s2);
    }
    sums[0] = block_sum(s0, room);
    sums[1] = block_sum(s1, room);
    sums[2] = block_sum(s2, room);
}

struct Root {
    double shape, ln_mean;
    u32 status;
};

// The root of g, at most `cap`, of every `step`-th value; from `start` on, or from the deviation where it is 0.
__device__ Root newton(const double *t, u32 count, u32 step, double cap, double precision, double start, double *room) {
    const double n = (double)((count + step - 1) / step);
    double sum = 0.0;
    for (u32 i = threadIdx.x * step; i < count; i += blockDim.x * step) sum += t[i];
    const double mean = block_sum(sum, room) / n;
    double deviation = 0.0;
    for (u32 i = threadIdx.x * step; i < count; i += blockDim.x * step) {
        const double difference = t[i] - mean;
        deviation = fma(difference, difference, deviation);
    }
    const double variance = block_sum(deviation, room) / n;
    double sums[3];
    if (variance == 0.0) {
        exponential_sums(t, count, step, cap, room, sums);
        return {cap, log(sums[0] / n), EQUAL_MARGINS};
    }
    // The standard deviation of ln of a Weibull variable is pi / (sqrt(6) kappa).
    double shape = start > 0.0 ? start : fmin(1.28254983016186 / sqrt(variance), cap);
    double low = 0.0, high = cap;
    for (u32 round = 0; round < 100; ++round) {
        exponential_sums(t, count, step, shape, room, sums);
        const double ratio = sums[1] / sums[0], g = ratio - 1.0 / shape - mean;
        if (g > 0.0) high = shape; else low = shape;
        if (low >= cap) return {cap, log(sums[0] / n), CAPPED};
        const double curvature = fmax(sums[2] / sums[0] - ratio * ratio, 0.0);
        const double straight = shape - g / (curvature + 1.0 / (shape * shape));
        double next, tolerance = precision;
        if (straight > low && straight < high) {
            next = straight;
        } else {
            tolerance = precision * precision;
            if (straight >= high) next = high >= cap ? high : (shape + high) / 2.0;
            else next = fmax(sqrt(fmax(low, 1e-6) * shape), (low + shape) / 16.0);
        }
        const double change = next - shape;
        if (fabs(change) <= tolerance * next) {
            return {next, log(sums[0] / n) + change * (ratio + change * curvature / 2.0), CONVERGED};
        }
        shape = next;
    }
    exponential_sums(t, count, step, shape, room, sums);
    return {shape, log(sums[0] / n), NOT_CONVERGED};
}

// Shapes, scales and shifts of tails, each in no particular order. `scratch` holds `stride` values for each block.
extern "C" __global__ void fit_tails(const float *tails, u64 stride, const u32 *counts, u32 rows, double multiplier, u32 model,
                                     double fixed_shape, double shape_cap, double *scratch, double *shapes, double *scales,
                                     double *shifts, u32 *statuses) {
    __shared__ double room[33];
    double *t = scratch + (u64)blockIdx.x * stride;
    for (u32 row = blockIdx.x; row < rows; row += gridDim.x) {
        const float *tail = tails + row * stride;
        const u32 count = counts[row];
        const double n = (double)count;
        double shape = shape_cap, scale = 0.0, shift = 0.0;
        u32 status = NO_TAIL;
        double smallest = 1e300, positive = 1e300, negated = 0.0;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            const double margin = multiplier * (double)tail[i];
            smallest = fmin(smallest, margin);
            negated = fmin(negated, -margin);
            if (margin > 0.0) positive = fmin(positive, margin);
        }
        smallest = block_min(smallest, room);
        positive = block_min(positive, room);
        const double largest = -block_min(negated, room);
        if (count > 0 && largest == 0.0) {
            status = ZERO_TAIL;
        } else if (count > 0) {
            status = model == WEIBULL && smallest == 0.0 ? ZERO_MARGINS : CONVERGED;
            const double range = 1.0 + largest - smallest;
            for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
                double margin = multiplier * (double)tail[i];
                double value;
                if (model == WEIBULL) {
                    if (margin == 0.0) margin = positive / 2.0;
                    value = log(margin / largest);
                } else if (model == LIBMR) {
                    value = log((1.0 + largest - margin) / range);
                } else {
                    value = (smallest - margin) / largest;
                }
                t[i] = value;
            }
            __syncthreads();
            const double cap = model == LIBMR ? shape_cap * (1.0 + largest) / largest : shape_cap;
            Root root;
            if (fixed_shape > 0.0) {
                double sums[3];
                exponential_sums(t, count, 1, fixed_shape, room, sums);
                root = {fixed_shape, log(sums[0] / n), FIXED_SHAPE};
            } else {
                double start = 0.0;
                if (count >= LONG) {
                    root = newton(t, count, SPARSE, cap, 1e-3, 0.0, room);
                    if (root.status == CONVERGED) start = root.shape;
                }
                root = newton(t, count, 1, cap, 1e-6, start, room);
            }
            shape = root.shape;
            const double ln_mean = root.ln_mean;
            if (root.status != CONVERGED) status = root.status;
            if (model == WEIBULL) {
                scale = largest * exp(ln_mean / shape);
            } else if (model == LIBMR) {
                scale = range * exp(ln_mean / shape);
                shift = largest;
            } else {
                const double spread = largest / shape;
                scale = smallest - spread * ln_mean;
                shape = scale / spread;
            }
        }
        if (threadIdx.x == 0) {
            shapes[row] = shape;
            scales[row] = scale;
            shifts[row] = shift;
            statuses[row] = status;
        }
        __syncthreads();
    }
}
