// SPDX-License-Identifier: MIT
// Attention on sm_90a, of heads of 256 channels over values of 64 or of 256 (memory attention), and
// of 49 to 96 channels (whole maps of Hiera): what attention_tensor.cu does, by products that run
// on their own. Other devices' copy of the kernel is empty.
#include "attention.cuh"

#include "hopper.cuh"

// Shape: a block takes 128 queries of one group and head and walks along the keys S::KEYS at a
// time. Two warpgroups multiply, 64 queries each; a warp of a third copies keys and values ahead of
// them, by tensor maps, to two stages each. The weights of a step are made while the tensor cores
// add up the values of the step before and, between the two warpgroups, while the other one
// multiplies (Shah et al., arXiv 2407.08608). Scores, weights and sums stay in registers, which the
// copying threads leave to the others.
// Traffic: keys and values once per 128 queries.
// Needs: at most 225 KiB of shared memory; BF16 rows whose starts are multiples of 16 bytes; as
// many channels as DK and DV, or up to 15 less: those copied in their place are the next head's, or
// zeros.
enum { ROWS = 128, STAGES = 2, SLAB = 64 }; // a slab: channels of a row of 128 bytes
enum { MULTIPLIERS = 2, THREADS = 128 * (MULTIPLIERS + 1), WARPS = 4 * MULTIPLIERS };

// With 128-byte swizzle, which begins every 1024 bytes.
template <int N> using slab = __nv_bfloat16[N][SLAB];

template <int DK_, int DV_, int KEYS_> struct wgmma_shape {
    enum { DK = DK_, DV = DV_, KEYS = KEYS_ };
    enum { K_SLABS = (DK + SLAB - 1) / SLAB, V_SLABS = (DV + SLAB - 1) / SLAB };
    enum { FEW_REGISTERS = 40, MANY_REGISTERS = 232 }; // 128 and 256 times: 65536 at most
    enum { MERGES = (int) DV == SLAB }; // of more channels the parts are too many bytes for a block
    static_assert((int) DK % 16 == 0 && (int) DV % 16 == 0, "channels of one product");
    static_assert(KEYS % 8 == 0 && KEYS <= 256, "a box of a map, swizzled from its first row on");

    struct rooms {
        slab<ROWS> q[K_SLABS];
        slab<KEYS> k[STAGES][K_SLABS], v[STAGES][V_SLABS];
        // Full: what is copied is there. Empty: all multipliers have left it.
        uint64_t q_full, k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES], v_last;
        int is_last;
        int gave_up;   // of the block: a wait did
        int *tell;     // where the host is told
    };
    // What a thread has of a step, and what it keeps of its two rows. Of the sums of a product,
    // number 4 j + e of a thread is of column 8 j + lane % 4 * 2 + e % 2, and of row lane / 4 of
    // its warp's 16 or, e > 1, 8 rows below.
    typedef float scores[KEYS / 2];
    typedef uint32_t weights[KEYS / 4];
    struct sums {
        float out[DV / 2], top[2], total[2]; // of weighted values; largest score; of weights
    };
};
using over_64 = wgmma_shape<256, 64, 128>;
using over_256 = wgmma_shape<256, 256, 64>; // whose sums leave no registers for 128 scores
using heads_64 = wgmma_shape<64, 64, 128>;
using heads_80 = wgmma_shape<80, 80, 128>;
using heads_96 = wgmma_shape<96, 96, 128>;

struct attend_maps {
    CUtensorMap q, k, v; // channels, rows of a group, groups; boxes of a slab
};

#if SAM_HAS_HOPPER

// What a block works on.
struct part_of_keys {
    int split, head, group, query0;
    int num_keys, first, end; // of the group; steps
};

template <class S>
static __device__ __forceinline__ part_of_keys part_of_block(const attend &a)
{
    part_of_keys p;
    p.split = blockIdx.x % a.splits, p.query0 = blockIdx.x / a.splits * ROWS;
    p.head = blockIdx.y, p.group = blockIdx.z;
    p.num_keys = attend_num_keys(a, p.group);
    const int steps = (p.num_keys + S::KEYS - 1) / S::KEYS;
    p.first = steps * p.split / a.splits, p.end = steps * (p.split + 1) / a.splits;
    return p;
}

// A fault in here must not hang the device. After half a second a wait gives up, and with it all
// others of the block; the results are wrong then, so the host is told, and fails the step or, at
// open, leaves this kernel out. False: it gave up.
template <class R>
static __device__ __forceinline__ bool wait_for(R *sh, uint64_t *barrier, unsigned parity)
{
    if (mbarrier_try_wait(barrier, parity))
        return true;
    const long long begin = clock64();
    while (!mbarrier_try_wait(barrier, parity))
        if (atomicOr(&sh->gave_up, 0) || clock64() - begin >= 1 << 30) {
            if (!atomicOr(&sh->gave_up, 1))
                atomicExch(sh->tell, 1);
            return false;
        }
    return true;
}

// ---- copies: one warp, which ends when a wait of it gives up: there is room for no further copy

template <class R>
static __device__ __forceinline__ bool warp_waits_for(R *sh, uint64_t *barrier, unsigned parity)
{
    return __all_sync(0xffffffffu, wait_for(sh, barrier, parity));
}

template <int N>
static __device__ __forceinline__ void copy_slabs(slab<N> *to, int slabs, const CUtensorMap *map,
                                                  int channel, int row, int group, uint64_t *full)
{
    mbarrier_arrive_expect(full, slabs * (int) sizeof(slab<N>));
    for (int s = 0; s < slabs; s++)
        tensor_copy(to[s], map, channel + s * SLAB, row, group, full);
}

// Beyond the last key that counts there may lie anything, which a weight of 0 does not hide: a
// number of the kind that is none stays one. Zeros take its place.
template <class S>
static __device__ __forceinline__ void copy_last_values(typename S::rooms *sh, int at,
                                                        const CUtensorMap *map, int channel,
                                                        int key0, int group, int left)
{
    const int lane = threadIdx.x % 32;
    if (lane == 0)
        copy_slabs<S::KEYS>(sh->v[at], S::V_SLABS, map, channel, key0, group, &sh->v_last);
    if (!warp_waits_for(sh, &sh->v_last, 0))
        return;
    for (int s = 0; s < S::V_SLABS; s++) {
        uint4 *beyond = (uint4 *) sh->v[at][s][left];
        for (int i = lane; i < (S::KEYS - left) * SLAB / 8; i += 32)
            beyond[i] = make_uint4(0, 0, 0, 0);
    }
    fence_proxy_async();
    __syncwarp();
    if (lane == 0)
        mbarrier_arrive(&sh->v_full[at]);
}

template <class S>
static __device__ __forceinline__ void copy_all(typename S::rooms *sh, const attend &a,
                                                const attend_maps &m, const part_of_keys &p)
{
    const int lane = threadIdx.x % 32;
    const int k_group = a.k_rows ? p.group : 0, v_group = a.v_rows ? p.group : 0;
    if (p.first == p.end) // nobody would wait for the queries
        return;
    if (lane == 0)
        copy_slabs<ROWS>(sh->q, S::K_SLABS, &m.q, p.head * a.dk, p.query0, p.group, &sh->q_full);
    for (int i = 0; i < p.end - p.first; i++) {
        const int at = i % STAGES, key0 = (p.first + i) * S::KEYS, left = p.num_keys - key0;
        const unsigned parity = (i / STAGES & 1) ^ 1; // the first waits find it over
        if (!warp_waits_for(sh, &sh->k_empty[at], parity))
            return;
        if (lane == 0)
            copy_slabs<S::KEYS>(sh->k[at], S::K_SLABS, &m.k, p.head * a.dk, key0, k_group,
                                &sh->k_full[at]);
        if (!warp_waits_for(sh, &sh->v_empty[at], parity))
            return;
        if (left < S::KEYS)
            copy_last_values<S>(sh, at, &m.v, p.head * a.dv, key0, v_group, left);
        else if (lane == 0)
            copy_slabs<S::KEYS>(sh->v[at], S::V_SLABS, &m.v, p.head * a.dv, key0, v_group,
                                &sh->v_full[at]);
    }
}

// ---- products: a warpgroup

template <class S>
static __device__ __forceinline__ void multiply_keys(typename S::scores &score,
                                                     const typename S::rooms *sh, int at)
{
    const uint64_t q = wgmma_factor(sh->q[0][threadIdx.x / 128 * 64]);
    const uint64_t k = wgmma_factor(sh->k[at][0]);
#pragma unroll
    for (int s = 0; s < S::K_SLABS; s++)
#pragma unroll
        for (int c = 0; c < SLAB && s * SLAB + c < S::DK; c += 16) {
            const uint64_t fq = wgmma_further(q, s * (int) sizeof(slab<ROWS>) + 2 * c);
            const uint64_t fk = wgmma_further(k, s * (int) sizeof(slab<S::KEYS>) + 2 * c);
            if constexpr (S::KEYS == 128)
                wgmma_m64n128k16(score, fq, fk, s > 0 || c > 0);
            else
                wgmma_m64n64k16(score, fq, fk, s > 0 || c > 0);
        }
    wgmma_commit();
}

template <class S>
static __device__ __forceinline__ void multiply_values(float (&out)[S::DV / 2],
                                                       const typename S::weights &weight,
                                                       const typename S::rooms *sh, int at)
{
    const uint64_t v = wgmma_factor(sh->v[at][0], sizeof(slab<S::KEYS>));
#pragma unroll
    for (int k = 0; k < S::KEYS / 16; k++) {
        const uint64_t fv = wgmma_further(v, 16 * k * SLAB * 2);
        if constexpr (S::DV == 64)
            wgmma_m64n64k16(out, weight + 4 * k, fv);
        else if constexpr (S::DV == 80)
            wgmma_m64n80k16(out, weight + 4 * k, fv);
        else if constexpr (S::DV == 96)
            wgmma_m64n96k16(out, weight + 4 * k, fv);
        else
            wgmma_m64n256k16(out, weight + 4 * k, fv);
    }
    wgmma_commit();
}

// Zeros in the place of channels that are not this head's, of a warpgroup's queries: so they count
// for nothing in its scores, whatever keys have there.
template <class S>
static __device__ __forceinline__ void clear_beyond(typename S::rooms *sh, int dk)
{
    enum { EIGHTS = S::DK / 8, FIRST = EIGHTS - 1 }; // 16 bytes; dk is more than DK - 16
    const int group = threadIdx.x / 128, row = group * 64 + threadIdx.x % 64;
    const int eight = FIRST + threadIdx.x / 64 % 2 * (EIGHTS - FIRST);
    if (eight < EIGHTS && eight >= dk / 8) {
        __nv_bfloat16 *to = sh->q[eight / 8][row] + (eight % 8 ^ row % 8) * 8;
        *(uint4 *) to = make_uint4(0, 0, 0, 0);
    }
    fence_proxy_async();
    barrier_sync(2 + group, 128);
}

static __device__ __forceinline__ void release(uint64_t *empty)
{
    if (threadIdx.x % 32 == 0)
        mbarrier_arrive(empty);
}

// No weight to the keys of the last step beyond the `left` that there are.
template <int N> static __device__ __forceinline__ void hide_beyond(float (&score)[N], int left)
{
    const int first = threadIdx.x % 4 * 2;
#pragma unroll
    for (int j = 0; j < N / 4; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (8 * j + first + e % 2 >= left)
                score[4 * j + e] = -INFINITY;
}

// The largest, or the sum, of what four neighbouring lanes have: of a row.
static __device__ __forceinline__ float row_max(float v)
{
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 1));
    return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 2));
}

static __device__ __forceinline__ float row_sum(float v)
{
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

// As in attention_tensor.cu: 2^(scale score) relative to the largest score so far, as BF16, of
// which the sum is. fade: what the sums before are to be multiplied by.
template <class S>
static __device__ __forceinline__ void make_weights(const typename S::scores &score,
                                                    typename S::weights &weight, float (&fade)[2],
                                                    typename S::sums &s, float scale)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float most = s.top[h];
#pragma unroll
        for (int j = 0; j < S::KEYS / 8; j++)
            most = fmaxf(most, fmaxf(score[4 * j + 2 * h], score[4 * j + 2 * h + 1]));
        most = row_max(most);
        const float zero = most * scale;
        float sum = 0.0f;
#pragma unroll
        for (int j = 0; j < S::KEYS / 8; j++) {
            const uint32_t two = bf16_two(exp2_flushed(score[4 * j + 2 * h] * scale - zero),
                                          exp2_flushed(score[4 * j + 2 * h + 1] * scale - zero));
            weight[2 * j + h] = two;
            sum += bf16_low(two) + bf16_high(two);
        }
        fade[h] = exp2_flushed((s.top[h] - most) * scale);
        s.top[h] = most;
        s.total[h] = s.total[h] * fade[h] + sum;
    }
}

// Step i of a block's; steps overlap: while its weights are made, the values of the one before are
// added up. The weights of two steps are in arrays of their own: products read those of the one
// before, and a copy between two arrays would make the compiler wait for every product.
template <class S>
static __device__ __forceinline__ void attend_step(typename S::rooms *sh, int i, int left,
                                                   float scale, typename S::scores &score,
                                                   typename S::weights &before,
                                                   typename S::weights &weight,
                                                   typename S::sums &s)
{
    const int at = i % STAGES, last = (i - 1) % STAGES;
    float fade[2];
    wait_for(sh, &sh->k_full[at], i / STAGES & 1);
    wait_for(sh, &sh->v_full[last], (i - 1) / STAGES & 1);
    wgmma_ready(s.out);
    wgmma_ready(before);
    wgmma_fence();
    multiply_keys<S>(score, sh, at);
    multiply_values<S>(s.out, before, sh, last);
    wgmma_wait<1>(score);
    release(&sh->k_empty[at]);
    if (left < S::KEYS)
        hide_beyond(score, left);
    make_weights<S>(score, weight, fade, s, scale);
    wgmma_wait<0>(s.out);
    release(&sh->v_empty[last]);
#pragma unroll
    for (int j = 0; j < S::DV / 2; j++)
        s.out[j] *= fade[j % 4 / 2];
}

template <class S>
static __device__ __forceinline__ void add_last(typename S::rooms *sh, int i,
                                                typename S::weights &weight, typename S::sums &s)
{
    wait_for(sh, &sh->v_full[i % STAGES], i / STAGES & 1);
    wgmma_ready(s.out);
    wgmma_ready(weight);
    wgmma_fence();
    multiply_values<S>(s.out, weight, sh, i % STAGES);
    wgmma_wait<0>(s.out);
}

template <class S>
static __device__ __forceinline__ void attend_keys(typename S::rooms *sh, const part_of_keys &p,
                                                   int dk, float scale, typename S::sums &s)
{
    typename S::scores score;
    typename S::weights even, odd;
    float fade[2];
    const int steps = p.end - p.first, left = p.num_keys - p.first * S::KEYS;
    wait_for(sh, &sh->q_full, 0);
    if (S::DK != 256 && dk < S::DK) // all threads alike
        clear_beyond<S>(sh, dk);
    wait_for(sh, &sh->k_full[0], 0);
    wgmma_fence();
    multiply_keys<S>(score, sh, 0);
    wgmma_wait<0>(score);
    release(&sh->k_empty[0]);
    if (left < S::KEYS)
        hide_beyond(score, left);
    make_weights<S>(score, even, fade, s, scale);
    int i = 1;
#pragma unroll 1
    for (; i + 1 < steps; i += 2) {
        attend_step<S>(sh, i, left - i * S::KEYS, scale, score, even, odd, s);
        attend_step<S>(sh, i + 1, left - (i + 1) * S::KEYS, scale, score, odd, even, s);
    }
    if (i < steps) {
        attend_step<S>(sh, i, left - i * S::KEYS, scale, score, even, odd, s);
        add_last<S>(sh, i, odd, s);
    } else {
        add_last<S>(sh, i - 1, even, s);
    }
}

// ---- what becomes of the sums

template <class S>
static __device__ __forceinline__ void leave_row(const attend &a, const part_of_keys &p, int query,
                                                 const typename S::sums &s, int h)
{
    const float total = row_sum(s.total[h]);
    const int row = attend_dst_row(a, p.group, query), first = threadIdx.x % 4 * 2;
    if (row < 0)
        return;
    if (a.splits == 1) {
        const float scale = 1.0f / total;
        __nv_bfloat16 *dst =
            (__nv_bfloat16 *) a.dst.p + (size_t) row * a.dst_step + p.head * a.dv + first;
#pragma unroll
        for (int j = 0; j < S::DV / 8; j++)
            if (8 * j < a.dv)
                *(uint32_t *) (dst + 8 * j) =
                    bf16_two(s.out[4 * j + 2 * h] * scale, s.out[4 * j + 2 * h + 1] * scale);
        return;
    }
    const size_t part = attend_part(a, p.split, p.group, p.head, query);
    if (first == 0)
        attend_tops(a)[part] = make_float2(s.top[h] * a.scale, total);
#pragma unroll
    for (int j = 0; j < S::DV / 8; j++)
        if (8 * j < a.dv)
            *(float2 *) (a.part + part * a.dv + 8 * j + first) =
                make_float2(s.out[4 * j + 2 * h], s.out[4 * j + 2 * h + 1]);
}

template <class S>
static __device__ __forceinline__ void prepare(typename S::rooms *sh, const attend &a)
{
    if (threadIdx.x == 0) {
        sh->gave_up = 0;
        sh->tell = a.gave_up;
        mbarrier_init(&sh->q_full, 1);
        mbarrier_init(&sh->v_last, 1);
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(&sh->k_full[i], 1);
            mbarrier_init(&sh->v_full[i], 1);
            mbarrier_init(&sh->k_empty[i], WARPS);
            mbarrier_init(&sh->v_empty[i], WARPS);
        }
        fence_proxy_async();
    }
    __syncthreads();
}

#endif // SAM_HAS_HOPPER

template <class S>
static __global__ void __launch_bounds__(THREADS, 1)
    attend_wgmma_kernel(attend a, const __grid_constant__ attend_maps maps)
{
    await_earlier();
#if SAM_HAS_HOPPER
    extern __shared__ __align__(1024) unsigned char smem[];
    typename S::rooms *sh = reinterpret_cast<typename S::rooms *>(smem);
    const part_of_keys p = part_of_block<S>(a);
    prepare<S>(sh, a);
    if (threadIdx.x >= 128 * MULTIPLIERS) {
        registers_shrink<S::FEW_REGISTERS>();
        if (threadIdx.x / 32 == WARPS)
            copy_all<S>(sh, a, maps, p);
        return;
    }
    registers_grow<S::MANY_REGISTERS>();
    typename S::sums s = { {}, { -INFINITY, -INFINITY }, {} };
    if (p.first < p.end)
        attend_keys<S>(sh, p, a.dk, a.scale * 1.44269504f, s); // weights are powers of 2
    const int query = p.query0 + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
#pragma unroll
    for (int h = 0; h < 2; h++)
        leave_row<S>(a, p, query + 8 * h, s, h);
    if constexpr (S::MERGES)
        if (a.arrivals)
            attend_merge_tile<4, ATTEND_FEW_SPLITS, 128 * MULTIPLIERS, ROWS, S::DV>(
                a, &sh->is_last, p.group, p.head, p.query0);
#endif
}

// ---- launch

// Of rows that begin every `step` numbers and have `channels`, `rows` in each group; `box` rows are
// copied at once.
static bool make_map(struct sam_queue *q, CUtensorMap *map, view t, int step, int channels,
                     int rows, int groups, int box_rows)
{
    const cuuint64_t size[] = { (cuuint64_t) channels, (cuuint64_t) rows, (cuuint64_t) groups };
    const cuuint64_t stride[] = { 2 * (cuuint64_t) step, 2 * (cuuint64_t) step * size[1] };
    const cuuint32_t box[] = { SLAB, (cuuint32_t) box_rows, 1 }, each[] = { 1, 1, 1 };
    return sam_cuda(q)->driver.tensor_map(
               map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, t.p, size, stride, box, each,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
        == CUDA_SUCCESS;
}

template <class S> static bool launch(struct sam_queue *q, attend a)
{
    attend_maps maps;
    a.gave_up = sam_cuda(q)->gave_up;
    // What the driver refuses is for the other kernel.
    const int dk = a.heads * a.dk, dv = a.heads * a.dv;
    if (!make_map(q, &maps.q, a.q, a.q_step, dk, a.queries, a.groups, ROWS)
        || !make_map(q, &maps.k, a.k, a.k_step, dk, a.keys, a.k_rows ? a.groups : 1, S::KEYS)
        || !make_map(q, &maps.v, a.v, a.v_step, dv, a.keys, a.v_rows ? a.groups : 1, S::KEYS))
        return false;
    sam_cuda_attend_split(q, &a, ROWS, S::KEYS, 1);
    if (S::MERGES && a.splits <= ATTEND_FEW_SPLITS)
        sam_cuda_attend_merge_within(q, &a, ROWS);
    const dim3 grid(blocks_for(a.queries, ROWS) * a.splits, a.heads, a.groups);
    const size_t bytes = sizeof(typename S::rooms);
    if (cudaFuncSetAttribute(attend_wgmma_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int) bytes) != cudaSuccess) {
        cudaGetLastError(); // it must not be met again by the next launch
        return false;
    }
    SAM_LAUNCH((attend_wgmma_kernel<S>), grid, THREADS, bytes, q, a, maps);
    sam_cuda_attend_merge(q, a);
    return true;
}

// Whether the build has code of sm_90a.
#if !defined(__CUDACC__) || defined(SAM_CUDA_90A)
enum { IS_BUILT = true };
#else
enum { IS_BUILT = false };
#endif

bool sam_cuda_can_wgmma(const struct sam_queue *q)
{
    const struct sam_cuda *cuda = sam_cuda(q);
    static_assert(sizeof(over_256::rooms) <= sizeof(over_64::rooms), "either fits");
    return IS_BUILT && cuda->is_hopper && cuda->driver.tensor_map
        && sizeof(over_64::rooms) <= cuda->shared_limit;
}

// The kernel for so many channels, values; SAM_CUDA_NUM_WGMMA: none. Few queries would leave most
// of a block's rows empty, and narrow heads most of a slab.
static int kind_of(const attend &a)
{
    if (a.dk == 256)
        return a.dv == over_64::DV ? SAM_CUDA_WGMMA_64
             : a.dv == over_256::DV ? SAM_CUDA_WGMMA_256 : SAM_CUDA_NUM_WGMMA;
    if (a.dk != a.dv || a.queries < ROWS || a.keys < ROWS)
        return SAM_CUDA_NUM_WGMMA;
    return a.dk <= 48 ? SAM_CUDA_NUM_WGMMA : a.dk <= heads_64::DK ? SAM_CUDA_WGMMA_HEADS_64
         : a.dk <= heads_80::DK ? SAM_CUDA_WGMMA_HEADS_80
         : a.dk > 80 && a.dk <= heads_96::DK ? SAM_CUDA_WGMMA_HEADS_96 : SAM_CUDA_NUM_WGMMA;
}

bool sam_cuda_attend_wgmma(struct sam_queue *q, attend a)
{
    const int kind = kind_of(a);
    if (kind == SAM_CUDA_NUM_WGMMA || !sam_cuda(q)->has_wgmma[kind] || a.width || !a.chunks
        || !a.dst_chunks || !(a.scale > 0))
        return false;
    switch (kind) {
    case SAM_CUDA_WGMMA_64:       return launch<over_64>(q, a);
    case SAM_CUDA_WGMMA_256:      return launch<over_256>(q, a);
    case SAM_CUDA_WGMMA_HEADS_64: return launch<heads_64>(q, a);
    case SAM_CUDA_WGMMA_HEADS_80: return launch<heads_80>(q, a);
    default:                      return launch<heads_96>(q, a);
    }
}
