// SPDX-License-Identifier: MIT
// Tests of what the emulator knows of sm_90a: sound kernels whose numbers must be right, and the
// same with one fault each.

#include "hopper.cuh"
#include "selftest.h"

using bf16 = __nv_bfloat16;

enum fault {
    NONE, OTHER_SWIZZLE, NO_FENCE, WRONG_PARITY, NO_WAIT_FOR_COPY, NO_WAIT_FOR_PRODUCT,
    TOO_FEW_BYTES, TOO_MANY_BYTES, EARLY_RELEASE, LATE_REGISTERS, TOUCHED_SUMS, THREE_WARPS,
    NO_INIT_FENCE
};
enum { ROWS = 64, MOST_COLUMNS = 128, DEPTH = 64, STAGES = 2 };

template <int COLUMNS> struct rooms {
    struct {
        bf16 a[ROWS][DEPTH], b[COLUMNS][DEPTH];
    } s[STAGES];
    uint64_t full[STAGES], empty[STAGES];
};

template <int FAULT, int COLUMNS>
static __device__ void produce(rooms<COLUMNS> *r, const CUtensorMap *a, const CUtensorMap *b,
                               int steps)
{
    enum { A_BYTES = ROWS * 128, B_BYTES = COLUMNS * 128 };
    for (int s = 0; s < steps; s++) {
        const int at = s % STAGES, bytes = FAULT == TOO_FEW_BYTES ? A_BYTES
                                         : FAULT == TOO_MANY_BYTES ? A_BYTES + B_BYTES + 16
                                                                   : A_BYTES + B_BYTES;
        while (s >= STAGES && !mbarrier_try_wait(&r->empty[at], (s / STAGES - 1) & 1)) {}
        mbarrier_arrive_expect(&r->full[at], bytes);
        tensor_copy(r->s[at].a, a, s * DEPTH, 0, 0, &r->full[at]);
        tensor_copy(r->s[at].b, b, s * DEPTH, 0, 0, &r->full[at]);
    }
}

static __device__ void multiply(float (&d)[64], uint64_t a, uint64_t b, bool add)
{
    wgmma_m64n128k16(d, a, b, add);
}

static __device__ void multiply(float (&d)[32], uint64_t a, uint64_t b, bool add)
{
    wgmma_m64n64k16(d, a, b, add);
}

template <int FAULT, int COLUMNS>
static __device__ void consume(rooms<COLUMNS> *r, float (&d)[COLUMNS / 2], int steps)
{
    const uint64_t swizzle = FAULT == OTHER_SWIZZLE ? (uint64_t) 3 << 62 : 0; // 64 bytes
    for (int s = 0; s < steps; s++) {
        const int at = s % STAGES, parity = FAULT == WRONG_PARITY ? 0 : s / STAGES & 1;
        while (FAULT != NO_WAIT_FOR_COPY && !mbarrier_try_wait(&r->full[at], parity)) {}
        if (FAULT != NO_FENCE)
            wgmma_fence();
        if (FAULT == LATE_REGISTERS && s == 1)
            d[3] += 1.0f;
        for (int k = 0; k < DEPTH; k += 16)
            if (FAULT != THREE_WARPS || threadIdx.x < 96 || k)
                multiply(d, wgmma_factor(r->s[at].a[0] + k) ^ swizzle,
                         wgmma_factor(r->s[at].b[0] + k) ^ swizzle, s || k);
        wgmma_commit();
        if (FAULT == TOUCHED_SUMS)
            d[5] = 0.0f;
        if (FAULT == EARLY_RELEASE && threadIdx.x % 32 == 0)
            mbarrier_arrive(&r->empty[at]);
        if (FAULT != NO_WAIT_FOR_PRODUCT)
            wgmma_wait<0>(d);
        if (FAULT != EARLY_RELEASE && threadIdx.x % 32 == 0)
            mbarrier_arrive(&r->empty[at]);
    }
}

// dst (64 x COLUMNS) = a (64 x 64 steps) b (COLUMNS x 64 steps) transposed; a warpgroup multiplies,
// a thread of the other one copies.
template <int FAULT, int COLUMNS>
static __global__ void __launch_bounds__(256, 1)
    streams(float *dst, const __grid_constant__ CUtensorMap a,
            const __grid_constant__ CUtensorMap b, int steps)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    rooms<COLUMNS> *r = reinterpret_cast<rooms<COLUMNS> *>(smem);
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(&r->full[i], 1);
            mbarrier_init(&r->empty[i], 4);
        }
        if (FAULT != NO_INIT_FENCE)
            fence_proxy_async();
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        if (threadIdx.x == 128)
            produce<FAULT>(r, &a, &b, steps);
        return;
    }
    float d[COLUMNS / 2] = {};
    consume<FAULT>(r, d, steps);
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    for (int j = 0; j < COLUMNS / 8; j++)
        for (int e = 0; e < 4; e++)
            dst[(row + e / 2 * 8) * COLUMNS + 8 * j + threadIdx.x % 4 * 2 + e % 2] = d[4 * j + e];
}

static bool map_of(CUtensorMap *map, void *p, int size, int rows, int box_rows,
                   CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B)
{
    const cuuint64_t sizes[] = { (cuuint64_t) size, (cuuint64_t) rows, 1 };
    const cuuint64_t strides[] = { 2ull * size, 2ull * size * rows };
    const cuuint32_t box[] = { DEPTH, (cuuint32_t) box_rows, 1 }, step[] = { 1, 1, 1 };
    return !cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, p, sizes, strides, box,
                                   step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// `columns` of b are there, zeros behind them.
template <int FAULT, int COLUMNS = MOST_COLUMNS> struct stream_run {
    int size, columns;
    on_device<bf16> a, b;
    on_device<float> dst;
    stream_run(int steps, int columns)
        : size(steps * DEPTH), columns(columns), a((size_t) ROWS * size),
          b((size_t) columns * size), dst(ROWS * COLUMNS)
    {
        CUtensorMap of_a, of_b;
        fill(a);
        fill(b);
        if (!map_of(&of_a, a.p, size, ROWS, ROWS) || !map_of(&of_b, b.p, size, columns, COLUMNS))
            check(false, "tensor maps");
        const size_t bytes = sizeof(rooms<COLUMNS>);
        cudaFuncSetAttribute(streams<FAULT, COLUMNS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int) bytes);
        EMU_LAUNCH((streams<FAULT, COLUMNS>), 1, 256, bytes, 0, dst.p, of_a, of_b, steps);
    }
    double error() // the largest; infinite where there is a NaN
    {
        double worst = 0;
        dst.down();
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) {
                double sum = 0;
                for (int k = 0; k < size && j < columns; k++)
                    sum += (double) (float) a.host[(size_t) i * size + k]
                         * (double) (float) b.host[(size_t) j * size + k];
                worst = worse(worst, fabs(sum - dst.host[i * COLUMNS + j]));
            }
        return worst;
    }
};

// ---- factors that threads write: a in registers, b row by row

static __device__ void weigh(float (&d)[32], const uint32_t *a, uint64_t b)
{
    wgmma_m64n64k16(d, a, b);
}

static __device__ void weigh(float (&d)[128], const uint32_t *a, uint64_t b)
{
    wgmma_m64n256k16(d, a, b);
}

// b: 64 columns beside 64, `further` bytes apart for the product.
template <bool FENCE, int COLUMNS>
static __global__ void __launch_bounds__(128, 1)
    weighs(float *dst, const bf16 *a, const bf16 *b, int further)
{
    extern __shared__ __align__(1024) unsigned char smem[];
    bf16 (*rows)[32][64] = reinterpret_cast<bf16 (*)[32][64]>(smem);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = 16 * warp + lane / 4;
    for (int i = threadIdx.x; i < 32 * COLUMNS; i += 128) { // 128-byte swizzle
        const int k = i / COLUMNS, c = i % 64;
        rows[i % COLUMNS / 64][k][(c / 8 ^ k % 8) * 8 + c % 8] = b[i];
    }
    if (FENCE)
        fence_proxy_async();
    __syncthreads();
    float d[COLUMNS / 2] = {};
    uint32_t fa[2][4];
    for (int k = 0; k < 2; k++)
        for (int r = 0; r < 4; r++)
            memcpy(&fa[k][r], a + (row + r % 2 * 8) * 32 + 16 * k + r / 2 * 8 + lane % 4 * 2, 4);
    wgmma_fence();
    for (int k = 0; k < 2; k++)
        weigh(d, fa[k], wgmma_factor(rows[0][16 * k], further));
    wgmma_commit();
    wgmma_wait<0>(d);
    for (int j = 0; j < COLUMNS / 8; j++)
        for (int e = 0; e < 4; e++)
            dst[(row + e / 2 * 8) * COLUMNS + 8 * j + lane % 4 * 2 + e % 2] = d[4 * j + e];
}

template <bool FENCE, int COLUMNS> struct weigh_run {
    on_device<bf16> a, b;
    on_device<float> dst;
    explicit weigh_run(int further = 32 * 128) : a(64 * 32), b(32 * COLUMNS), dst(64 * COLUMNS)
    {
        fill(a);
        fill(b);
        EMU_LAUNCH((weighs<FENCE, COLUMNS>), 1, 128, 64 * COLUMNS, 0, dst.p, a.p, b.p, further);
    }
    double error()
    {
        double worst = 0;
        dst.down();
        for (int i = 0; i < 64; i++)
            for (int j = 0; j < COLUMNS; j++) {
                double sum = 0;
                for (int k = 0; k < 32; k++)
                    sum += (double) (float) a.host[i * 32 + k]
                         * (double) (float) b.host[k * COLUMNS + j];
                worst = worse(worst, fabs(sum - dst.host[i * COLUMNS + j]));
            }
        return worst;
    }
};

template <int COLUMNS> static void catches_weigh(const char *what)
{
    weigh_run<false, COLUMNS> run;
    caught(what, INSTRUMENTED, "without fence.proxy.async");
}

static void refused()
{
    CUtensorMap map;
    on_device<bf16> a(64 * 64);
    check(!map_of(&map, a.p + 4, 64, 64, 64), "a map from an address that is no multiple of 16");
    check(!map_of(&map, a.p, 60, 64, 64), "a map with a stride that is no multiple of 16");
    check(!map_of(&map, a.p, 64, 64, 257), "a map with a box of 257 rows");
    check(!map_of(&map, a.p, 64, 64, 64, CU_TENSOR_MAP_SWIZZLE_64B),
          "a map with boxes wider than the swizzle");
}

template <int FAULT, int COLUMNS = MOST_COLUMNS>
static void catches(const char *what, int when, const char *needle)
{
    stream_run<FAULT, COLUMNS> run(5, COLUMNS);
    caught(what, when, needle);
}

void hopper()
{
    for (const char *order : { "forward", "reverse", "random:1", "random:2" }) {
        emu_set_order(order);
        silent(stream_run<NONE>(1, 128).error() < 1e-4, "a product of a warpgroup");
        silent(stream_run<NONE>(5, 100).error() < 1e-4, "products and copies in a ring");
        silent(stream_run<NONE, 64>(5, 50).error() < 1e-4, "likewise, 64 columns");
        silent(weigh_run<true, 64>().error() < 1e-4, "a factor in registers, the other row by row");
        silent(weigh_run<true, 256>().error() < 1e-4, "likewise, 256 columns");
    }
    emu_set_order("forward");
    silent(stream_run<OTHER_SWIZZLE>(1, 128).error() > 0.1, "another swizzle than the copy's");
    silent(stream_run<OTHER_SWIZZLE, 64>(1, 64).error() > 0.1, "... of 64 columns");
    silent(weigh_run<true, 256>(2048).error() > 0.1, "columns further on than the product is told");
    catches<NO_FENCE>("a product without wgmma.fence", ALWAYS, "without wgmma.fence");
    catches<WRONG_PARITY>("a wait for the wrong parity", INSTRUMENTED, "may still be writing");
    catches<NO_WAIT_FOR_COPY>("no wait for a copy", INSTRUMENTED, "which nobody wrote");
    const double error = stream_run<NO_WAIT_FOR_COPY>(5, 128).error();
    check(std::isinf(error), "... and shows in the result");
    cudaGetLastError();
    emu_forget();
    catches<NO_WAIT_FOR_PRODUCT>("no wait for a product", ALWAYS, "ends before a wait");
    catches<TOO_FEW_BYTES>("a barrier that expects too few bytes", INSTRUMENTED,
                           "may still be writing");
    catches<TOO_MANY_BYTES>("a barrier that expects too many bytes", ALWAYS, "deadlock:");
    catches<EARLY_RELEASE>("a stage that is left before the wait", INSTRUMENTED, "race: thread");
    catches<LATE_REGISTERS>("registers written behind the fence", ALWAYS, "behind the fence");
    catches<TOUCHED_SUMS>("registers written before the wait", ALWAYS, "before its wait");
    catches<TOUCHED_SUMS, 64>("... of 64 columns", ALWAYS, "before its wait");
    catches<THREE_WARPS>("a product of three warps", ALWAYS, "differ in the descriptor");
    catches<NO_INIT_FENCE>("a barrier that copies may not know", INSTRUMENTED,
                           "without fence.proxy.async");
    catches_weigh<64>("a factor that products may not know");
    catches_weigh<256>("... of 256 columns");
    refused();
}
