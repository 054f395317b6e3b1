// The greedy set cover of each class.

// What some points of a class cover, as bits: row i, and row j of the transposed. `ranks` are those of `rows` points, from
// `first_row` on, a multiple of 32, with all of the class. A warp takes 32 x 32 pairs.
extern "C" __global__ void coverage(const float *ranks, u32 first_row, u32 rows, u32 count, u32 ranks_are_squares, const float *radii,
                                    const float *limits, u32 *covers, u32 *covered_by, u32 words) {
    const u64 warp = (u64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    const u32 lane = threadIdx.x & 31;
    if (warp >= (u64)words * ((rows + 31) / 32)) return;
    const u32 top = (u32)(warp / words) * 32, left = (u32)(warp % words) * 32, j = left + lane;
    const float limit = limits && j < count ? limits[j] : INFINITE;
    u32 transposed = 0;
    for (u32 step = 0; step < 32; ++step) {
        const u32 i = first_row + top + step;
        bool within = false;
        if (top + step < rows && j < count) {
            const float rank = ranks[(u64)(top + step) * count + j];
            const float distance = ranks_are_squares ? __fsqrt_rn(rank) : rank;
            within = i == j || (distance <= radii[i] && (!limits || distance < limit));
        }
        const u32 ballot = __ballot_sync(ALL, within);
        if (within) transposed |= 1u << step;
        if (lane == 0 && top + step < rows) covers[(u64)i * words + left / 32] = ballot;
    }
    if (j < count) covered_by[(u64)j * words + (first_row + top) / 32] = transposed;
}

// Chooses for class `blockIdx.x` the point that covers most of what is uncovered, ties to the first, until all is covered.
// When j becomes covered, whoever covers it has one less to add: so every pair is looked at once.
extern "C" __global__ void greedy(const u64 *bit_offsets, const u32 *point_offsets, const u32 *covers, const u32 *covered_by,
                                  u32 *uncovered, u32 *gains_left, u32 *fresh, u32 *order, u32 *gains, u32 *chosen) {
    __shared__ u64 best[32];
    __shared__ u32 fresh_count, pick, gain;
    const u32 first = point_offsets[blockIdx.x], count = point_offsets[blockIdx.x + 1] - first, words = (count + 31) / 32;
    const u32 *own = covers + bit_offsets[blockIdx.x], *inverse = covered_by + bit_offsets[blockIdx.x];
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    // `uncovered` has a word for each point, more than enough.
    u32 *open = uncovered + first, *left = gains_left + first, *list = fresh + first;
    for (u32 word = threadIdx.x; word < words; word += blockDim.x) {
        open[word] = word + 1 < words || count % 32 == 0 ? ALL : (1u << (count % 32)) - 1;
    }
    for (u32 i = warp; i < count; i += warps) {
        u32 covered = 0;
        for (u32 word = lane; word < words; word += 32) covered += __popc(own[(u64)i * words + word]);
        covered = __reduce_add_sync(ALL, covered);
        if (lane == 0) left[i] = covered;
    }
    __syncthreads();
    for (u32 round = 0;; ++round) {
        u64 largest = 0;
        for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
            const u64 key = (u64)left[i] << 32 | (ALL - i);
            largest = key > largest ? key : largest;
        }
        for (int step = 16; step > 0; step >>= 1) {
            const u64 other = __shfl_xor_sync(ALL, largest, step);
            largest = other > largest ? other : largest;
        }
        if (lane == 0) best[warp] = largest;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (u32 other = 1; other < warps; ++other) largest = best[other] > largest ? best[other] : largest;
            gain = (u32)(largest >> 32);
            pick = ALL - (u32)largest;
            fresh_count = 0;
            if (gain > 0) {
                order[first + round] = pick;
                gains[first + round] = gain;
            } else {
                chosen[blockIdx.x] = round;
            }
        }
        __syncthreads();
        if (gain == 0) return;
        for (u32 word = threadIdx.x; word < words; word += blockDim.x) {
            u32 now = own[(u64)pick * words + word] & open[word];
            open[word] &= ~now;
            if (now) {
                u32 at = atomicAdd(&fresh_count, __popc(now));
                for (; now; now &= now - 1) list[at++] = word * 32 + __ffs(now) - 1;
            }
        }
        __syncthreads();
        for (u32 at = warp; at < fresh_count; at += warps) {
            const u32 *row = inverse + (u64)list[at] * words;
            for (u32 word = lane; word < words; word += 32) {
                for (u32 bits = row[word]; bits; bits &= bits - 1) atomicSub(&left[word * 32 + __ffs(bits) - 1], 1u);
            }
        }
        __syncthreads();
    }
}
