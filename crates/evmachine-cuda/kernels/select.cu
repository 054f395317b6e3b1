// The smallest ranks of each row, by three passes over the digits of their bits: ranks are not negative, so that their bits
// order them.

#define DIGITS 2048
// The place of no column.
#define NOBODY 0xffffffffu

// Finds the digit of the wanted-th value, counted from 1, and how many of its bin are wanted. `scan` holds a value a thread.
__device__ void find_digit(const u32 *histogram, u32 wanted, u32 *scan, u32 *found) {
    const u32 share = DIGITS / blockDim.x, first = threadIdx.x * share;
    u32 own = 0;
    for (u32 i = 0; i < share; ++i) own += histogram[first + i];
    scan[threadIdx.x] = own;
    __syncthreads();
    for (u32 step = 1; step < blockDim.x; step <<= 1) {
        const u32 before = threadIdx.x >= step ? scan[threadIdx.x - step] : 0;
        __syncthreads();
        scan[threadIdx.x] += before;
        __syncthreads();
    }
    u32 below = scan[threadIdx.x] - own;
    if (below < wanted && wanted <= below + own) {
        for (u32 i = 0; i < share; ++i) {
            const u32 here = histogram[first + i];
            if (wanted <= below + here) {
                found[0] = first + i;
                found[1] = wanted - below;
                break;
            }
            below += here;
        }
    }
    __syncthreads();
}

// What the threads of a block share while they look for a bound.
struct SmallestRoom {
    u32 histogram[DIGITS], scan[512], found[2];
};

// Bits of the `wanted`-th smallest finite value of a row, `itself` left out, and how many of the smallest are equal to it; infinity
// and 0 where nothing is finite. If fewer are finite than wanted, it is that of the largest of them. `counted` gets how many there
// are then. Blocks of 512 threads.
__device__ u32 bound_of_smallest(const u32 *bits, u32 columns, u32 itself, u32 wanted, SmallestRoom *room, u32 *ties,
                                 u32 *counted = nullptr) {
    u32 remaining = wanted, prefix = 0, mask = 0;
    const u32 shifts[3] = {21, 10, 0};
    for (u32 pass = 0; pass < 3; ++pass) {
        const u32 shift = shifts[pass], digits = pass == 2 ? 1023 : 2047;
        for (u32 i = threadIdx.x; i < DIGITS; i += blockDim.x) room->histogram[i] = 0;
        __syncthreads();
        for (u32 j = threadIdx.x; j < columns; j += blockDim.x) {
            const u32 value = bits[j];
            if ((value & mask) == prefix && value < 0x7f800000u && j != itself) {
                atomicAdd(&room->histogram[(value >> shift) & digits], 1u);
            }
        }
        __syncthreads();
        if (pass == 0) {
            u32 own = 0;
            for (u32 i = threadIdx.x; i < DIGITS; i += blockDim.x) own += room->histogram[i];
            room->scan[threadIdx.x] = own;
            __syncthreads();
            for (u32 step = 256; step > 0; step >>= 1) {
                if (threadIdx.x < step) room->scan[threadIdx.x] += room->scan[threadIdx.x + step];
                __syncthreads();
            }
            remaining = min(remaining, room->scan[0]);
            __syncthreads();
            if (counted) *counted = remaining;
            if (remaining == 0) {
                *ties = 0;
                return 0x7f800000u;
            }
        }
        find_digit(room->histogram, remaining, room->scan, room->found);
        prefix |= room->found[0] << shift;
        mask |= digits << shift;
        remaining = room->found[1];
        __syncthreads();
    }
    *ties = remaining;
    return prefix;
}

// For row `blockIdx.x` of `values`, the `wanted[row]` smallest finite ones as distances, in the order of columns, those equal
// to the largest last; how many there are; and the rank of the largest. Blocks of 512 threads. `tails` may be null.
extern "C" __global__ void select_smallest(const float *values, u64 stride, u32 columns, const u32 *wanted, u32 ranks_are_squares,
                                           float *tails, u64 tail_stride, u32 *counts, float *largest) {
    __shared__ SmallestRoom room;
    __shared__ u32 within_warp[16];
    const u32 row = blockIdx.x;
    const u32 *bits = (const u32 *)(values + row * stride);
    u32 remaining, counted;
    const u32 prefix = bound_of_smallest(bits, columns, NOBODY, wanted[row], &room, &remaining, &counted);
    if (threadIdx.x == 0) counts[row] = counted;
    if (counted == 0) {
        if (threadIdx.x == 0) largest[row] = INFINITE;
        return;
    }
    if (threadIdx.x == 0) largest[row] = __uint_as_float(prefix);
    if (!tails) return;
    float *tail = tails + row * tail_stride;
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 written = 0;
    for (u32 first = 0; first < columns; first += 2048) {
        u32 ballots[4], own = 0;
        for (u32 part = 0; part < 4; ++part) {
            const u32 j = first + warp * 128 + part * 32 + lane;
            ballots[part] = __ballot_sync(ALL, j < columns && bits[j] < prefix);
            own += __popc(ballots[part]);
        }
        if (lane == 0) within_warp[warp] = own;
        __syncthreads();
        u32 at = written;
        for (u32 other = 0; other < 16; ++other) {
            if (other < warp) at += within_warp[other];
            written += within_warp[other];
        }
        for (u32 part = 0; part < 4; ++part) {
            const u32 j = first + warp * 128 + part * 32 + lane;
            if (ballots[part] >> lane & 1) {
                const float rank = __uint_as_float(bits[j]);
                tail[at + __popc(ballots[part] & ((1u << lane) - 1))] = ranks_are_squares ? __fsqrt_rn(rank) : rank;
            }
            at += __popc(ballots[part]);
        }
        __syncthreads();
    }
    const float last = __uint_as_float(prefix);
    for (u32 i = threadIdx.x; i < remaining; i += blockDim.x) tail[written + i] = ranks_are_squares ? __fsqrt_rn(last) : last;
}
