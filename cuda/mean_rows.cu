// SPDX-License-Identifier: MIT
// Means over the positions of a map, in two launches: sums of parts of the map, then their sum.
#include "view.cuh"

enum {
    MEAN_THREADS = 256,
    MEAN_BLOCKS  = 256, // keep a large GPU busy; more parts are not made
    MIN_STEPS    = 4,   // positions that a thread adds up, about, where a map is cut into parts
    SOME_PARTS   = 8,   // added up before they join the sum
};

struct mean_args {
    view src;
    float *sums; // (n, parts, c)
    unsigned rows, c, width, groups, parts;
};

// Shape: block (n * groups + g, part) sums one part of the positions of n. `width` threads side by
// side have N channels each, from channel g * width * N on; the block has MEAN_THREADS / width such
// lanes, which take turns at the positions: what a block reads at once is contiguous.
// Traffic: src once; per block one row of sums. Needs: c a multiple of N.
template <int N>
static __global__ void __launch_bounds__(MEAN_THREADS) mean_kernel(mean_args p)
{
    await_earlier();
    __shared__ float shared[MEAN_THREADS][N];
    const unsigned part = blockIdx.y, n = blockIdx.x / p.groups, group = blockIdx.x % p.groups;
    const unsigned lanes = MEAN_THREADS / p.width, lane = threadIdx.x / p.width;
    const unsigned channel = (group * p.width + threadIdx.x % p.width) * N;
    const unsigned first = (unsigned) ((size_t) p.rows * part / p.parts);
    const unsigned end = (unsigned) ((size_t) p.rows * (part + 1) / p.parts);
    const bool works = lane < lanes && channel < p.c;

    float sum[N] = {};
    if (works) {
#pragma unroll 4
        for (unsigned row = first + lane; row < end; row += lanes) {
            float v[N];
            load(v, p.src, (n * p.rows + row) * p.c + channel);
            for (int k = 0; k < N; k++)
                sum[k] += v[k];
        }
    }
    for (int k = 0; k < N; k++)
        shared[threadIdx.x][k] = sum[k];
    __syncthreads();
    for (unsigned left = lanes, half; left > 1; left = half) {
        half = (left + 1) / 2;
        if (lane + half < left)
            for (int k = 0; k < N; k++)
                shared[threadIdx.x][k] += shared[threadIdx.x + half * p.width][k];
        __syncthreads();
    }
    if (works && lane == 0)
        store({ p.sums, false }, (n * p.parts + part) * p.c + channel, shared[threadIdx.x]);
}

// Shape: a thread makes four neighbouring channels, or one. Traffic: the sums once, dst once.
struct mean_at {
    view dst, sums;
    unsigned rows, c, parts;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned n = i / c, channel = i % c;
        float sum[N] = {};
        for (unsigned first = 0; first < parts; first += SOME_PARTS) {
            float some[N] = {}, v[N];
            for (unsigned part = first; part < min(parts, first + SOME_PARTS); part++) {
                load(v, sums, (n * parts + part) * c + channel);
                for (int k = 0; k < N; k++)
                    some[k] += v[k];
            }
            for (int k = 0; k < N; k++)
                sum[k] += some[k];
        }
        for (int k = 0; k < N; k++)
            sum[k] /= rows;
        store(dst, i, sum);
    }
};

template <int N> static void mean_by(struct sam_queue *q, const mean_args &a, unsigned n)
{
    SAM_LAUNCH((mean_kernel<N>), dim3(n * a.groups, a.parts), MEAN_THREADS, 0, q, a);
    sam_cuda_launched(q, "mean_rows");
}

extern "C" void sam_mean_rows_cuda(struct sam_queue *q, const struct sam_mean_rows *p)
{
    const unsigned n = p->src.n, c = p->src.c, rows = p->src.h * p->src.w;
    const size_t room = SAM_CUDA_WORKSPACE / sizeof(float);
    const bool four = by_four(&p->src, c);
    const unsigned pieces = c / (four ? 4 : 1);
    const unsigned width = min(pieces, (unsigned) MEAN_THREADS);
    const unsigned groups = blocks_for(pieces, width);
    if (sam_count(&p->src) > INT32_MAX || (size_t) n * c > room) {
        sam_queue_fail(q, SAM_EUNSUPPORTED,
                       "mean_rows: %zu numbers and %zu means, at most %d and %zu on a GPU",
                       sam_count(&p->src), (size_t) n * c, INT32_MAX, room);
        return;
    }
    // Where there is more than one part, sums are MEAN_BLOCKS * 4 * MEAN_THREADS at most: 1 MiB.
    const unsigned wanted = blocks_for(rows, MIN_STEPS * (MEAN_THREADS / width));
    const unsigned most = n * groups < MEAN_BLOCKS ? MEAN_BLOCKS / (n * groups) : 1;
    const mean_args a = { view_of(&p->src), (float *) sam_cuda(q)->workspace, rows, c, width,
                          groups, min(wanted, most) };
    if (four)
        mean_by<4>(q, a, n);
    else
        mean_by<1>(q, a, n);
    const mean_at f = { view_of(&p->dst), { a.sums, false }, rows, c, a.parts };
    each(q, "mean_rows", f, (size_t) n * c, by_four(&p->dst, c));
}
