// SPDX-License-Identifier: MIT
// Tests of the emulator: kernels with one planted fault each, which it must
// name, and sound ones, at which it must stay silent and get the numbers right.

#include "selftest.h"

// ---- broken kernels

template <int N, bool SYNC> static __global__ void flip(float *p)
{
    __shared__ float row[N];
    row[threadIdx.x] = p[threadIdx.x];
    if (SYNC)
        __syncthreads();
    p[threadIdx.x] = row[N - 1 - threadIdx.x];
}

template <bool SYNC> static __global__ void flip_warp(float *p)
{
    __shared__ float row[64];
    row[threadIdx.x] = p[threadIdx.x];
    if (SYNC)
        __syncwarp();
    p[threadIdx.x] = row[threadIdx.x ^ 1];
}

static __global__ void reads_past_end(float *dst, const float *src, int n)
{
    if ((int) threadIdx.x < n)
        dst[threadIdx.x] = src[threadIdx.x + 1];
}

static __global__ void writes_past_end(float *dst, int n)
{
    if ((int) threadIdx.x <= n)
        dst[threadIdx.x] = 0.0f;
}

static __global__ void past_dynamic_shared(float *dst)
{
    extern __shared__ __align__(16) unsigned char smem[];
    float *row = reinterpret_cast<float *>(smem);
    row[threadIdx.x + 1] = 1.0f;
    __syncthreads();
    dst[threadIdx.x] = row[threadIdx.x];
}

// One of its threads does not wait for the launch before.
static __global__ void reads_early(float *p)
{
    if (threadIdx.x != 3)
        emu::await_earlier();
    p[threadIdx.x] += 1;
    if (threadIdx.x == 3)
        emu::await_earlier();
}

static __global__ void never_waits() {}

static __global__ void waits(float *p)
{
    emu::await_earlier();
    p[threadIdx.x] = 2;
}

static __global__ void past_static_shared(float *dst, int i)
{
    __shared__ float row[64];
    row[threadIdx.x + i] = 1.0f;
    __syncthreads();
    dst[threadIdx.x] = row[threadIdx.x];
}

static __global__ void reads_unwritten(float *dst)
{
    __shared__ float row[64];
    if (threadIdx.x != 5)
        row[threadIdx.x] = 1.0f;
    __syncthreads();
    dst[threadIdx.x] = row[threadIdx.x];
}

static __global__ void shuffles_from_idle(float *dst, unsigned mask)
{
    float v = threadIdx.x;
    if (mask >> threadIdx.x % 32 & 1)
        v += __shfl_down_sync(mask, v, 1);
    dst[threadIdx.x] = v;
}

static __global__ void shuffles_in_branch(float *dst)
{
    float v = threadIdx.x;
    if (threadIdx.x % 2)
        v = __shfl_sync(0xffffffffu, v, 1);
    dst[threadIdx.x] = v;
}

static __global__ void barrier_in_branch(float *dst)
{
    __shared__ float x;
    if (threadIdx.x < 48) {
        x = 1.0f;
        __syncthreads();
    } else {
        __syncwarp(0xffff0000);
        __syncthreads();
    }
    dst[threadIdx.x] = x;
}

static __global__ void deadlock(float *dst)
{
    if (threadIdx.x < 16)
        __syncthreads();
    else
        __syncwarp();
    dst[threadIdx.x] = 0.0f;
}

template <int PENDING> static __global__ void pipeline(float *dst, const float *src, int stages)
{
    __shared__ __align__(16) float in[2][128];
    cp_async_16(&in[0][4 * threadIdx.x], src + 4 * threadIdx.x);
    cp_async_commit();
    float sum = 0.0f;
    for (int s = 0; s < stages; s++) {
        if (s + 1 < stages)
            cp_async_16(&in[(s + 1) % 2][4 * threadIdx.x], src + 128 * (s + 1) + 4 * threadIdx.x);
        cp_async_commit();
        cp_async_wait<PENDING>();
        __syncthreads();
        for (int i = 0; i < 4; i++)
            sum += in[s % 2][(4 * threadIdx.x + i + 4) % 128];
        __syncthreads();
    }
    dst[threadIdx.x] = sum;
}

static __global__ void misaligned(float *dst, const float *src)
{
    const float4 v = *reinterpret_cast<const float4 *>(src + 4 * threadIdx.x + 1);
    dst[threadIdx.x] = v.x + v.y + v.z + v.w;
}

static __global__ void shifts_too_far(unsigned *dst)
{
    dst[threadIdx.x] = 1u << threadIdx.x;
}

static __global__ void casts_too_much(int *dst, float by)
{
    dst[threadIdx.x] = (int) (by * threadIdx.x);
}

static __global__ void in_place_halo(float *p, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float next = i + 1 < n ? p[i + 1] : 0.0f;
    __syncthreads();
    p[i] += next;
}

// Thread 1 leaves the part of its block and reads all of them.
template <bool RELEASE, bool MEET, bool ACQUIRE>
static __global__ void last_block_sums(float *dst, float *part, unsigned *count)
{
    __shared__ bool last;
    if (threadIdx.x == 1) {
        part[blockIdx.x] = blockIdx.x;
        if (RELEASE)
            __threadfence();
    }
    if (MEET)
        __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
        if (ACQUIRE)
            __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 1)
        for (unsigned i = 0; i < gridDim.x; i++)
            dst[0] += part[i];
}

static __global__ void no_atomic(int *count)
{
    *count += 1;
}

static __global__ void add_one(int *count)
{
    atomicAdd(count, 1);
}

static __global__ void endless(volatile int *flag)
{
    while (!*flag)
        __nanosleep(10);
}

static __global__ void big_static(float *dst)
{
    __shared__ float row[10240];
    for (int i = threadIdx.x; i < 10240; i += blockDim.x)
        row[i] = 1.0f;
    __syncthreads();
    dst[threadIdx.x] = row[threadIdx.x];
}

template <bool RELEASE, bool MEET, bool ACQUIRE> static void catches_last_block(const char *what)
{
    on_device<float> sum(1), part(40);
    on_device<unsigned> count(1);
    sum.up(), part.up(), count.up();
    EMU_LAUNCH((last_block_sums<RELEASE, MEET, ACQUIRE>), 40, 32, 0, 0, sum.p, part.p, count.p);
    caught(what, INSTRUMENTED, "by another block");
}

static void broken()
{
    on_device<float> a(64), b(64);
    a.up();
    b.up();
    EMU_LAUNCH((flip<64, false>), 1, 64, 0, 0, a.p);
    caught("missing __syncthreads", INSTRUMENTED, "race: thread");
    EMU_LAUNCH((flip_warp<false>), 1, 64, 0, 0, a.p);
    caught("missing __syncwarp", INSTRUMENTED, "race: thread");
    EMU_LAUNCH(reads_past_end, 1, 64, 0, 0, a.p, b.p, 64);
    caught("global read past the end", ALWAYS, "0 bytes past the end of device memory of 256 bytes",
           cudaErrorIllegalAddress);
    EMU_LAUNCH(writes_past_end, 1, 128, 0, 0, a.p, 64);
    caught("global write past the end", ALWAYS,
           "0 bytes past the end of device memory of 256 bytes");
    EMU_LAUNCH(past_dynamic_shared, 1, 64, 256, 0, a.p);
    caught("write past dynamic shared memory", ALWAYS,
           emu_instrumented() ? "smem+256, but the launch asked for 256"
                              : "past the end of the 256 bytes of smem");
    EMU_LAUNCH_OVERLAP(reads_early, 1, 64, 0, 0, a.p);
    caught("read ahead of the end of the launch before", INSTRUMENTED,
           "thread (3,0,0): touches device memory ahead of await_earlier()");
    EMU_LAUNCH_OVERLAP(never_waits, 1, 64, 0, 0);
    caught("end ahead of that of the launch before", ALWAYS, "ends ahead of await_earlier()");
    EMU_LAUNCH(past_static_shared, 1, 64, 0, 0, a.p, 1);
    caught("write past a shared array", INSTRUMENTED, "array index 64 out of bounds");
    EMU_LAUNCH(reads_unwritten, 1, 64, 0, 0, a.p);
    caught("read of unwritten shared memory", INSTRUMENTED,
           "thread 5 reads row+20, which nobody wrote");
    EMU_LAUNCH(shuffles_from_idle, 1, 64, 0, 0, a.p, 0x0000ffffu);
    caught("shuffle from a lane outside the mask", ALWAYS, "lane 15 shuffles from lane 16");
    EMU_LAUNCH(shuffles_in_branch, 1, 32, 0, 0, a.p);
    a.down();
    check(a.host[3] == 1.0f, "exited lanes do not hold up a shuffle");
    EMU_LAUNCH(barrier_in_branch, 1, 64, 0, 0, a.p);
    caught("barrier in divergent code", ALWAYS, "divergent barrier: lanes of one warp");
    EMU_LAUNCH(deadlock, 1, 64, 0, 0, a.p);
    caught("deadlock", ALWAYS, "deadlock:\n    threads 0-15 wait in __syncthreads",
           cudaErrorLaunchTimeout);
    EMU_LAUNCH(misaligned, 1, 8, 0, 0, a.p, b.p);
#ifdef __clang__ // makes it a memcpy of any alignment
    cudaDeviceSynchronize();
#else
    caught("misaligned vector load", INSTRUMENTED, "is not a multiple of 16");
#endif
    EMU_LAUNCH(reads_past_end, 1, 8, 0, 0, a.p, b.host.data(), 8);
    caught("host memory in a kernel", INSTRUMENTED, "touches host memory");
    EMU_LAUNCH(shifts_too_far, 1, 64, 0, 0, (unsigned *) a.p);
    caught("shift by 32 and more", INSTRUMENTED, "shift by too many bits");
    EMU_LAUNCH(casts_too_much, 1, 64, 0, 0, (int *) a.p, 1e9f);
    caught("cast of 3e9 to int", INSTRUMENTED, "float too large");
    EMU_LAUNCH(in_place_halo, 2, 32, 0, 0, a.p, 64);
    caught("blocks that race in place", INSTRUMENTED, "by another block");
    EMU_LAUNCH(no_atomic, 2, 32, 0, 0, (int *) a.p);
    caught("counting without atomics", INSTRUMENTED, "race: thread");
    catches_last_block<false, true, true>("parts that are left without a fence");
    catches_last_block<true, false, true>("a fence that the count does not wait for");
    catches_last_block<true, true, false>("parts that are read without a fence");
    EMU_LAUNCH(big_static, 1, 64, 16384, 0, a.p);
    caught("static and dynamic shared memory over 48 KB", ALWAYS,
           "40960 bytes of static and 16384 of dynamic");
    float *gone;
    cudaMalloc(&gone, 256);
    cudaFree(gone);
    EMU_LAUNCH(writes_past_end, 1, 32, 0, 0, gone, 64);
    caught("use after free", ALWAYS, "of freed device memory");

    on_device<float> in(512), out(32);
    for (int i = 0; i < 512; i++)
        in.host[i] = i;
    in.up();
    EMU_LAUNCH(pipeline<2>, 1, 32, 0, 0, out.p, in.p, 4);
    caught("cp.async that waits for one stage too few", INSTRUMENTED, "may still be writing");
    EMU_LAUNCH(pipeline<2>, 1, 32, 0, 0, out.p, in.p, 4);
    cudaDeviceSynchronize();
    out.down();
    check(std::isnan(out.host[0]), "... and shows in the result");
    emu_forget();
    EMU_LAUNCH(pipeline<1>, 1, 32, 0, 0, out.p, in.p, 4);
    out.down();
    silent(out.host[0] == 4 * 22 + 4 * 128 * 6, "cp.async that waits enough");
}

// ---- the order of threads brings out a missing barrier without instrumentation, too

static bool flips(const char *order, bool sync)
{
    emu_set_order(order);
    on_device<float> a(64);
    for (int i = 0; i < 64; i++)
        a.host[i] = i;
    a.up();
    if (sync)
        EMU_LAUNCH((flip<64, true>), 1, 64, 0, 0, a.p);
    else
        EMU_LAUNCH((flip<64, false>), 1, 64, 0, 0, a.p);
    cudaDeviceSynchronize();
    a.down();
    bool right = true;
    for (int i = 0; i < 64; i++)
        right = right && a.host[i] == 63 - i;
    emu_set_order("forward");
    return right;
}

// ---- sound kernels

static __global__ void warp_functions(unsigned *r)
{
    const unsigned lane = threadIdx.x, all = 0xffffffff;
    unsigned n = 0;
    auto expect = [&](bool good) { n++; if (!good) atomicMax(r, n); };
    expect(__ballot_sync(all, lane % 3 == 0) == 0x49249249);
    expect(__any_sync(all, lane == 7) && !__any_sync(all, lane == 40) &&
           __all_sync(all, lane < 32));
    expect(__shfl_sync(all, (double) lane, 5, 8) == lane / 8 * 8 + 5);
    expect(__shfl_up_sync(all, (int) lane, 1) == (lane ? (int) lane - 1 : 0));
    expect(__shfl_down_sync(all, (long long) lane, 2, 16) == (lane % 16 < 14 ? lane + 2 : lane));
    expect((float) __shfl_xor_sync(all, (half) (float) lane, 8) == (lane ^ 8));
    expect(__reduce_add_sync(all, lane) == 496 && __reduce_max_sync(all, -(int) lane) == 0);
    if (lane < 16) // two halves in different branches, as only independent threads can
        expect(__shfl_sync(0x0000ffffu, lane, 3) == 3);
    else
        expect(__shfl_sync(0xffff0000u, lane, 3 + 16) == 19);
    __syncwarp();
    expect(__syncthreads_count(lane < 10) == 10 && __syncthreads_or(lane == 31) &&
           !__syncthreads_and(lane));
    expect(__byte_perm(0x03020100, 0x07060504, 0x7610) == 0x07060100 && __brev(1) == 0x80000000 &&
           __clz(1) == 31);
    expect(__float2int_rn(3e9f) == 2147483647 && __float2int_rn(2.5f) == 2);
    expect(__hfma2(half2(1.0f, 2.0f), half2(3.0f, 4.0f), half2(0.5f, 0.5f)).y == half(8.5f));
}

static __constant__ float table[4];

static __global__ void looks_up(float4 *dst, const uint4 *src)
{
    const uint4 v = src[threadIdx.x]; // 16 bytes at once
    dst[threadIdx.x] = make_float4(table[v.x], table[v.y], __ldg(&table[v.z]), table[v.w]);
}

static __global__ void spin_lock(int *lock, int *sum)
{
    while (atomicCAS(lock, 0, 1)) {} // every thread of a warp takes it in turn
    __threadfence();
    *(volatile int *) sum = *(volatile int *) sum + 1;
    __threadfence();
    atomicExch(lock, 0);
}

// Ways to share memory that are in order, of which no check may complain.
static __global__ void patterns(float *sum, unsigned char *bytes, float *line, int *bins)
{
    __shared__ float part[4], tile[32][33], ring[2][64];
    __shared__ int bin[8];
    __shared__ unsigned char packed[128];
    const unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;

    float v = t; // a sum over the block
    for (int step = 16; step; step /= 2)
        v += __shfl_down_sync(0xffffffffu, v, step);
    if (lane == 0)
        part[warp] = v;
    if (t < 8)
        bin[t] = 0;
    packed[t] = (unsigned char) t; // neighbours write parts of one word
    __syncthreads();
    if (t == 0)
        sum[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
    atomicAdd(&bin[t % 8], 1);
    for (int i = warp; i < 32; i += 4)
        tile[i][lane] = i * 32 + lane;
    bytes[128 * blockIdx.x + t] = packed[127 - t];
    __syncthreads();
    for (int i = warp; i < 32; i += 4) // transposed, in place on the device
        line[1024 * blockIdx.x + 32 * i + lane] += tile[lane][i];
    if (t < 8)
        atomicAdd(&bins[t], bin[t]);

    for (int i = 0; i < 4; i++) { // a producer and a consumer, each of two warps
        if (warp < 2)
            ring[i % 2][t] = i + t;
        barrier_sync(1 + i % 2, 128);
        if (warp >= 2)
            v = ring[i % 2][127 - t];
    }

    const unsigned half_warp = 0xffffu << (lane & 16);
    for (int i = 0; i < 3; i++) { // half warps pass values round
        __syncwarp(half_warp);
        tile[warp][lane] = i;
        __syncwarp(half_warp);
        v += tile[warp][lane ^ 5];
    }
}

static __global__ void named_barriers(float *dst)
{
    __shared__ float half_block[2][64];
    const int group = threadIdx.x / 64, i = threadIdx.x % 64;
    half_block[group][i] = threadIdx.x;
    barrier_sync(1 + group, 64);
    dst[threadIdx.x] = half_block[group][63 - i];
}

template <typename T, typename F> static double gemm_error(F run, int m, int n, int k)
{
    on_device<T> a((size_t) m * k), w((size_t) n * k), dst((size_t) m * n);
    on_device<float> bias(n);
    fill(a);
    fill(w);
    fill(bias);
    run(dst.p, a.p, w.p, bias.p, m, n, k, (cudaStream_t) 0);
    if (dst.down())
        return INFINITY;
    double worst = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = bias.host[j];
            for (int l = 0; l < k; l++)
                sum += (double) (float) a.host[(size_t) i * k + l] *
                       (double) (float) w.host[(size_t) j * k + l];
            worst =
                worse(worst, fabs(sum - (float) dst.host[(size_t) i * n + j]) / (1 + fabs(sum)));
        }
    return worst;
}

static double attention_error(int heads, int rows, int keys)
{
    using T = __nv_bfloat16;
    enum { D = 64 };
    on_device<T> q((size_t) heads * rows * D), k((size_t) heads * keys * D),
        v((size_t) heads * keys * D), dst(q.host.size());
    fill(q);
    fill(k);
    fill(v);
    attention_bf16(dst.p, q.p, k.p, v.p, heads, rows, keys, 0.5f, 0);
    if (dst.down())
        return INFINITY;
    double worst = 0;
    for (int h = 0; h < heads; h++)
        for (int r = 0; r < rows; r++) {
            std::vector<double> p(keys);
            double sum = 0;
            for (int j = 0; j < keys; j++) {
                for (int d = 0; d < D; d++)
                    p[j] += (double) (float) q.host[((size_t) h * rows + r) * D + d] *
                            (double) (float) k.host[((size_t) h * keys + j) * D + d];
                sum += p[j] = exp(0.5 * p[j]);
            }
            for (int d = 0; d < D; d++) {
                double want = 0;
                for (int j = 0; j < keys; j++)
                    want += p[j] / sum * (float) v.host[((size_t) h * keys + j) * D + d];
                worst =
                    worse(worst, fabs(want - (float) dst.host[((size_t) h * rows + r) * D + d]));
            }
        }
    return worst;
}

static void sound()
{
    for (const char *order : { "forward", "reverse", "random:1", "random:2" }) {
        emu_set_order(order);
        printf("-- order %s\n", order);
        on_device<unsigned> r(1), count(2);
        r.host[0] = 0;
        r.up();
        EMU_LAUNCH(warp_functions, 1, 32, 0, 0, r.p);
        r.down();
        silent(r.host[0] == 0, "warp functions");

        on_device<float> twos(32);
        EMU_LAUNCH_OVERLAP(waits, 1, 32, 0, 0, twos.p);
        twos.down();
        silent(twos.host[31] == 2, "a launch that waits for the one before it");

        on_device<float> sum(1), part(64);
        sum.up();
        count.up();
        EMU_LAUNCH((last_block_sums<true, true, true>), 40, 32, 0, 0, sum.p, part.p, count.p);
        EMU_LAUNCH(add_one, 5, 32, 0, 0, (int *) count.p + 1);
        sum.down();
        count.down();
        silent(sum.host[0] == 780 && count.host[1] == 160, "last block adds up");
        const float values[4] = { 1, 2, 4, 8 };
        on_device<float> sums(3), lines(3 * 1024);
        on_device<unsigned char> bytes(3 * 128);
        on_device<int> bins(8);
        lines.up();
        bins.up();
        EMU_LAUNCH(patterns, 3, 128, 0, 0, sums.p, bytes.p, lines.p, bins.p);
        sums.down();
        bytes.down();
        lines.down();
        bins.down();
        silent(sums.host[2] == 8128 && bytes.host[130] == 125 && lines.host[1024 + 33] == 33 &&
                   lines.host[65] == 34 && bins.host[7] == 48,
               "patterns of sharing");
        on_device<uint4> index(32);
        on_device<float4> found(32);
        for (unsigned i = 0; i < 32; i++)
            index.host[i] = make_uint4(i % 4, i / 4 % 4, 3, i / 16);
        index.up();
        cudaMemcpyToSymbol(table, values, sizeof(values));
        EMU_LAUNCH(looks_up, 1, 32, 0, 0, found.p, index.p);
        found.down();
        silent(found.host[21].x == 2 && found.host[21].y == 2 && found.host[21].z == 8 &&
                   found.host[21].w == 2,
               "constants, vectors");
        EMU_LAUNCH(named_barriers, 1, 128, 0, 0, part.p);
        caught("named barriers past a buffer of 64", ALWAYS, "past the end");
        on_device<float> wide(128);
        EMU_LAUNCH(named_barriers, 1, 128, 0, 0, wide.p);
        wide.down();
        silent(wide.host[127] == 64 && wide.host[0] == 63, "named barriers");

        silent(gemm_error<__nv_bfloat16>(gemm_bf16, 64, 64, 64) < 0.005, "gemm bf16, one tile");
        silent(gemm_error<__nv_bfloat16>(gemm_bf16, 130, 70, 104) < 0.005, "gemm bf16, ragged");
        silent(gemm_error<half>(gemm_f16, 70, 130, 40) < 0.001, "gemm f16, ragged");
        silent(attention_error(1, 64, 64) < 0.01, "attention, one tile");
        silent(attention_error(2, 70, 200) < 0.01, "attention, ragged");
        silent(attention_error(1, 3, 5) < 0.01, "attention, few keys");
    }
    emu_set_order("forward");
    on_device<int> lock(2);
    lock.up();
    EMU_LAUNCH(spin_lock, 1, 64, 0, 0, lock.p, lock.p + 1);
    lock.down();
    silent(lock.host[1] == 64, "spin lock within a warp");
}

// ---- costs

template <class T, int STRIDE> static __global__ void strides(T *p)
{
    __shared__ T row[32 * STRIDE];
    row[threadIdx.x * STRIDE] = p[threadIdx.x]; // the same instruction for all lanes
    __syncthreads();
    p[threadIdx.x] = row[threadIdx.x * STRIDE];
}

template <int WIDTH> static __global__ void matrices(float *p)
{
    __shared__ __align__(16) uint16_t tile[16][WIDTH]; // of BF16
    const int lane = threadIdx.x % 32;
    uint32_t a[4];
    float d[4] = {};
    for (int i = lane; i < 8 * WIDTH; i += 32)
        ((uint32_t *) tile)[i] = 0;
    __syncwarp();
    ldmatrix_x4(a, tile[lane % 16] + lane / 16 * 8);
    mma_m16n8k16<__nv_bfloat16>(d, a, a);
    p[lane] = d[0];
}

template <class T> static void costs(const char *what, void (*run)(T *), unsigned conflicts)
{
    on_device<T> p(32);
    p.up();
    run(p.p);
    p.down();
    const emu_cost c = emu_last_cost();
    if (emu_instrumented())
        check(c.read == 32 * sizeof(T) && c.written == 32 * sizeof(T) && c.conflicts == conflicts
              && !c.products, what);
}

static void costs()
{
    emu_count_costs(1);
    costs<float>("no bank conflict", [](float *p) {
        EMU_LAUNCH((strides<float, 1>), 1, 32, 0, 0, p); }, 0);
    costs<float>("two words in a bank", [](float *p) {
        EMU_LAUNCH((strides<float, 2>), 1, 32, 0, 0, p); }, 2 * 1);
    costs<float>("all words in a bank", [](float *p) {
        EMU_LAUNCH((strides<float, 32>), 1, 32, 0, 0, p); }, 2 * 31);
    costs<float>("an odd stride", [](float *p) {
        EMU_LAUNCH((strides<float, 33>), 1, 32, 0, 0, p); }, 0);
    costs<float4>("16 bytes of a lane", [](float4 *p) {
        EMU_LAUNCH((strides<float4, 1>), 1, 32, 0, 0, p); }, 0);
    costs<float4>("16 bytes of a lane, every other", [](float4 *p) {
        EMU_LAUNCH((strides<float4, 2>), 1, 32, 0, 0, p); }, 2 * 4 * 1);
    emu_count_costs(0);
}

static unsigned long long conflicts_of(void (*run)(float *))
{
    on_device<float> p(32);
    emu_count_costs(1);
    run(p.p);
    p.down();
    emu_count_costs(0);
    const emu_cost c = emu_last_cost();
    check(c.products == 1, "one product");
    return c.conflicts;
}

static void costs_of_matrices()
{
    const auto padded = conflicts_of([](float *p) { EMU_LAUNCH(matrices<24>, 1, 32, 0, 0, p); });
    const auto packed = conflicts_of([](float *p) { EMU_LAUNCH(matrices<64>, 1, 32, 0, 0, p); });
    check(packed == padded + 4 * 7, "rows of a matrix in the same banks"); // 8 rows in turn
}

// ---- faults that end the process

static void dies(const char *what, void (*run)())
{
    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        setenv("EMU_TIMEOUT", "1", 1);
        run();
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    check(status != 0, what);
}

int main()
{
    broken();
    check(flips("forward", true) && flips("reverse", true) && flips("random", true),
          "a barrier makes all orders agree");
    check(!(flips("forward", false) && flips("reverse", false)), "without it they differ");
    cudaGetLastError();
    emu_forget();
    sound();
    contexts();
    runtime();
    blas();
    hopper();
    costs();
    costs_of_matrices();
    dies("host code that touches device memory", [] { on_device<float> a(4); a.p[0] = 1.0f; });
    dies("a kernel that does not end", [] {
        on_device<int> flag(1);
        flag.up();
        EMU_LAUNCH(endless, 1, 32, 0, 0, flag.p);
        cudaDeviceSynchronize();
    });
    dies("findings nobody asked about", [] {
        on_device<float> a(4);
        EMU_LAUNCH(writes_past_end, 1, 32, 0, 0, a.p, 4);
        exit(cudaDeviceSynchronize() == cudaSuccess);
    });
    printf("%d failed\n", failed);
    return failed != 0;
}
