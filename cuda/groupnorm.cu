// SPDX-License-Identifier: MIT
// GroupNorm, in three launches: what parts of the map have, what groups have, and the result.
#include "reduce.cuh"
#include "view.cuh"

enum {
    STATS_THREADS = 256,
    STATS_BLOCKS  = 512, // keep a large GPU busy; more parts are not made
    MIN_STEPS     = 4,   // positions that a thread takes, about, where a map is cut into parts;
                         // and whose loads are under way together
    MERGE_THREADS = 256,
};

struct stats_args {
    view src;
    float *means, *squares;  // (n, parts, c): of channels, see stats_kernel
    float *centre, *scale;   // (n, c): the result is (x - centre) * scale + beta
    const float *gamma;
    unsigned rows, c, group; // channels of a group
    unsigned width, sides, parts, step; // step: positions of a part, the last one's are the rest
    float eps;
};

// The first number of a group. Distances from it have the digits that means of large numbers lack.
static __device__ __forceinline__ float first_of(const stats_args &p, unsigned n, unsigned channel)
{
    return load_one(p.src, n * p.rows * p.c + channel / p.group * p.group);
}

// Mean and sum of squared distances from it, of `count` numbers; joined with those of others
// (Chan, Golub and LeVeque, Algorithms for computing the sample variance, 1983).
template <int N>
static __device__ __forceinline__ void join(float (&mean)[N], float (&squares)[N], float count,
                                            const float (&its_mean)[N],
                                            const float (&its_squares)[N], float its_count)
{
    const float share = its_count / fmaxf(count + its_count, 1.0f);
    for (int k = 0; k < N; k++) {
        const float apart = its_mean[k] - mean[k];
        mean[k] += apart * share;
        squares[k] += its_squares[k] + apart * apart * count * share;
    }
}

// A thread's next positions, the type told ahead of all loads; zeros from `end` on.
template <int N, bool BF16>
static __device__ __forceinline__ void load_ahead(float (&v)[MIN_STEPS][N], const stats_args &p,
                                                  unsigned n, unsigned row, unsigned end,
                                                  unsigned lanes, unsigned channel)
{
#pragma unroll
    for (int j = 0; j < MIN_STEPS; j++)
        if (row + j * lanes < end)
            load(v[j], { p.src.p, BF16 }, (n * p.rows + row + j * lanes) * p.c + channel);
}

// Shape: block (n * sides + s, part) takes one part of the positions of n. `width` threads side by
// side have N channels each, from channel s * width * N on; the block has STATS_THREADS / width
// such lanes, which take turns at the positions: what a block reads at once is contiguous. A thread
// keeps the mean of what it has read, and the squares around it (Welford, 1962), of each channel.
// Traffic: src once; per block one row of means and one of squares. Needs: c a multiple of N.
template <int N>
static __global__ void __launch_bounds__(STATS_THREADS) groupnorm_stats_kernel(stats_args p)
{
    await_earlier();
    __shared__ float means[STATS_THREADS][N], sums[STATS_THREADS][N], counts[STATS_THREADS];
    const unsigned part = blockIdx.y, n = blockIdx.x / p.sides, side = blockIdx.x % p.sides;
    const unsigned lanes = STATS_THREADS / p.width, lane = threadIdx.x / p.width;
    const unsigned channel = (side * p.width + threadIdx.x % p.width) * N;
    const unsigned from = part * p.step, end = min(from + p.step, p.rows);
    const bool works = lane < lanes && channel < p.c;

    float mean[N] = {}, squares[N] = {}, count = 0.0f;
    if (works) {
        float first[N];
        for (int k = 0; k < N; k++)
            first[k] = first_of(p, n, channel + k);
#pragma unroll 1
        for (unsigned row = from + lane; row < end; row += MIN_STEPS * lanes) {
            float v[MIN_STEPS][N] = {};
            if (p.src.bf16)
                load_ahead<N, true>(v, p, n, row, end, lanes, channel);
            else
                load_ahead<N, false>(v, p, n, row, end, lanes, channel);
#pragma unroll
            for (int j = 0; j < MIN_STEPS; j++) {
                if (row + j * lanes >= end)
                    break;
                count += 1.0f;
                const float share = 1.0f / count;
                for (int k = 0; k < N; k++) {
                    const float apart = v[j][k] - first[k] - mean[k];
                    mean[k] += apart * share;
                    squares[k] += apart * (v[j][k] - first[k] - mean[k]);
                }
            }
        }
    }
    for (unsigned left = lanes, half; left > 1; left = half) {
        half = (left + 1) / 2;
        for (int k = 0; k < N; k++)
            means[threadIdx.x][k] = mean[k], sums[threadIdx.x][k] = squares[k];
        counts[threadIdx.x] = count;
        __syncthreads();
        const unsigned other = threadIdx.x + half * p.width;
        if (lane + half < left) {
            join(mean, squares, count, means[other], sums[other], counts[other]);
            count += counts[other];
        }
        __syncthreads();
    }
    if (works && lane == 0) {
        store({ p.means, false }, (n * p.parts + part) * p.c + channel, mean);
        store({ p.squares, false }, (n * p.parts + part) * p.c + channel, squares);
    }
}

// The sum over a block.
static __device__ float block_sum(float v, float *room)
{
    v = lanes_sum(v, 32);
    __syncthreads(); // of the sum before, all have been read
    if (threadIdx.x % 32 == 0)
        room[threadIdx.x / 32] = v;
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < MERGE_THREADS / 32; i++)
        sum += room[i];
    return sum;
}

// Shape: a block has a group, its threads take turns at the channels of the parts.
// Traffic: means twice, the second time from the cache; squares once.
static __global__ void __launch_bounds__(MERGE_THREADS) groupnorm_merge_kernel(stats_args p)
{
    await_earlier();
    __shared__ float room[MERGE_THREADS / 32];
    const unsigned groups = p.c / p.group, n = blockIdx.x / groups;
    const unsigned channel = blockIdx.x % groups * p.group, items = p.parts * p.group;
    const float whole = (float) p.rows * p.group;

    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < items; i += MERGE_THREADS) {
        const unsigned part = i / p.group, at = (n * p.parts + part) * p.c + channel + i % p.group;
        sum += p.means[at] * min(p.step, p.rows - part * p.step);
    }
    const float mean = block_sum(sum, room) / whole;
    float squares = 0.0f;
    for (unsigned i = threadIdx.x; i < items; i += MERGE_THREADS) {
        const unsigned part = i / p.group, at = (n * p.parts + part) * p.c + channel + i % p.group;
        const float apart = p.means[at] - mean;
        squares += p.squares[at] + apart * apart * min(p.step, p.rows - part * p.step);
    }
    const float scale = rsqrtf(block_sum(squares, room) / whole + p.eps);
    const float centre = first_of(p, n, channel) + mean;
    for (unsigned k = threadIdx.x; k < p.group; k += MERGE_THREADS) {
        p.centre[n * p.c + channel + k] = centre;
        p.scale[n * p.c + channel + k] = scale * p.gamma[channel + k];
    }
}

// Shape: a thread makes four neighbouring channels, or one. Traffic: src once, dst once.
struct groupnorm_at {
    view dst, src;
    const float *centre, *scale, *beta;
    unsigned map, c; // numbers of one n
    bool relu;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned channel = i % c, own = i / map * c + channel;
        float v[N], middle[N], by[N], to[N];
        load(v, src, i);
        load(middle, { (void *) centre, false }, own);
        load(by, { (void *) scale, false }, own);
        load(to, { (void *) beta, false }, channel);
        for (int k = 0; k < N; k++)
            v[k] = act_of(relu ? SAM_ACT_RELU : SAM_ACT_NONE, (v[k] - middle[k]) * by[k] + to[k]);
        store(dst, i, v);
    }
};

template <int N> static void stats_by(struct sam_queue *q, const stats_args &a, unsigned n)
{
    SAM_LAUNCH((groupnorm_stats_kernel<N>), dim3(n * a.sides, a.parts), STATS_THREADS, 0, q, a);
    sam_cuda_launched(q, "groupnorm: means of parts");
}

extern "C" void sam_groupnorm_cuda(struct sam_queue *q, const struct sam_groupnorm *p)
{
    const unsigned n = p->src.n, c = p->src.c, rows = p->src.h * p->src.w;
    const size_t room = SAM_CUDA_WORKSPACE / sizeof(float), results = 2 * (size_t) n * c;
    const bool four = by_four(&p->src, c);
    const unsigned pieces = c / (four ? 4 : 1), width = min(pieces, (unsigned) STATS_THREADS);
    const unsigned sides = blocks_for(pieces, width);
    if (sam_count(&p->src) > INT32_MAX || 2 * results + 4 > room) {
        sam_queue_fail(q, SAM_EUNSUPPORTED, "groupnorm: %zu numbers and %zu channels, at most %d "
                       "and %zu on a GPU", sam_count(&p->src), (size_t) n * c, INT32_MAX, room / 4);
        return;
    }
    // Parts have STATS_BLOCKS * 4 * STATS_THREADS channels at most, where there are several.
    const unsigned wanted = blocks_for(rows, MIN_STEPS * (STATS_THREADS / width));
    const unsigned most = n * sides < STATS_BLOCKS ? STATS_BLOCKS / (n * sides) : 1;
    const unsigned step = blocks_for(rows, min(wanted, most)), parts = blocks_for(rows, step);
    float *centre = (float *) sam_cuda(q)->workspace, *means = centre + (results + 3) / 4 * 4;
    const stats_args a = { view_of(&p->src), means, means + (size_t) n * parts * c, centre,
                           centre + (size_t) n * c, (const float *) p->gamma.data, rows, c,
                           c / p->groups, width, sides, parts, step, p->eps };
    if (four)
        stats_by<4>(q, a, n);
    else
        stats_by<1>(q, a, n);
    SAM_LAUNCH(groupnorm_merge_kernel, n * p->groups, MERGE_THREADS, 0, q, a);
    sam_cuda_launched(q, "groupnorm: means of groups");
    const groupnorm_at f = { view_of(&p->dst), view_of(&p->src), a.centre, a.scale,
                             (const float *) p->beta.data, rows * c, c,
                             p->act == SAM_ACT_RELU };
    each(q, "groupnorm", f, sam_count(&p->dst),
         by_four(&p->dst, c) && by_four(&p->src, c) && by_four(&p->beta, c));
}
