// SPDX-License-Identifier: MIT
// Random walks over the edges of a picture.
//
// Edges. Shape: one block, as their mean is of all of them; twice over the places. Traffic: src and
// dst twice, from the cache.
// Walks. Shape: a block per mask; a round is two passes over its places, of each colour, with a
// barrier behind each. Traffic: 20 passes over two planes of room and the edges, from the cache.
#include "view.cuh"

enum { EDGE_THREADS = 1024, WALK_THREADS = 512 };

struct edge_sides {
    float *right, *down;
    const float *src;
    int h, w, c;

    __device__ float distance2(int i, int k) const
    {
        float sum = 0.0f;
        for (int j = 0; j < c; j++) {
            const float d = src[(size_t) i * c + j] - src[(size_t) k * c + j];
            sum += d * d;
        }
        return sum;
    }
};

static __global__ void __launch_bounds__(EDGE_THREADS)
edges_kernel(edge_sides e, float sharpness, float least)
{
    await_earlier();
    __shared__ double sums[EDGE_THREADS];
    const int places = e.h * e.w;
    double sum = 0;
    for (int i = threadIdx.x; i < places; i += EDGE_THREADS) {
        const float right = i % e.w + 1 < e.w ? e.distance2(i, i + 1) : 0.0f;
        const float down = i + e.w < places ? e.distance2(i, i + e.w) : 0.0f;
        e.right[i] = right;
        e.down[i] = down;
        sum += (double) right + (double) down;
    }
    sums[threadIdx.x] = sum;
    for (int half = EDGE_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int) threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    const int edges = max(e.h * (e.w - 1) + e.w * (e.h - 1), 1);
    const float scale = sharpness / fmaxf((float) (sums[0] / edges), 1e-12f);
    for (int i = threadIdx.x; i < places; i += EDGE_THREADS) { // each its own
        e.right[i] = i % e.w + 1 < e.w ? expf(-scale * e.right[i]) + least : 0.0f;
        e.down[i] = i + e.w < places ? expf(-scale * e.down[i]) + least : 0.0f;
    }
}

extern "C" void sam_edge_weights_cuda(struct sam_queue *q, const struct sam_edge_weights *p)
{
    const size_t places = sam_count(&p->dst) / 2;
    float *right = (float *) p->dst.data;
    const edge_sides e = { right, right + places, (const float *) p->src.data, p->src.h, p->src.w,
                           p->src.c };
    SAM_LAUNCH(edges_kernel, 1, EDGE_THREADS, 0, q, e, p->sharpness, p->least);
    sam_cuda_launched(q, "edge_weights");
}

struct walks {
    float *logits, *room;
    const float *right, *down, *score;
    int h, w, x0, y0, x1, y1, rounds;
    float fidelity, relaxation, outside, most;

    __device__ bool is_free(int y, int x) const
    {
        return x >= x0 && x < x1 && y >= y0 && y < y1;
    }

    __device__ void relax(const float *given, float *now, int y, int x) const
    {
        const int i = y * w + x;
        const float left = x ? right[i - 1] : 0.0f, up = y ? down[i - w] : 0.0f;
        float sum = fidelity * given[i];
        sum += x ? left * now[i - 1] : 0.0f;
        sum += x + 1 < w ? right[i] * now[i + 1] : 0.0f;
        sum += y ? up * now[i - w] : 0.0f;
        sum += y + 1 < h ? down[i] * now[i + w] : 0.0f;
        sum /= fidelity + left + right[i] + up + down[i];
        now[i] += relaxation * (sum - now[i]);
    }
};

static __global__ void __launch_bounds__(WALK_THREADS) walk_kernel(walks k)
{
    await_earlier();
    const int places = k.h * k.w, pairs = (k.x1 - k.x0 + 1) / 2, all = pairs * (k.y1 - k.y0);
    float *given = k.room + (size_t) blockIdx.x * 2 * places, *now = given + places;
    float *logits = k.logits + (size_t) blockIdx.x * places;
    if (!(k.score[blockIdx.x] > 0.0f)) // all threads alike
        return;
    for (int i = threadIdx.x; i < places; i += WALK_THREADS)
        given[i] = now[i] = k.is_free(i / k.w, i % k.w) ? tanhf(logits[i] / 2.0f) : k.outside;
    __syncthreads();
    for (int turn = 0; turn < 2 * k.rounds; turn++) {
        for (int i = threadIdx.x; i < all; i += WALK_THREADS) {
            const int y = k.y0 + i / pairs, x = k.x0 + (k.x0 + y + turn) % 2 + 2 * (i % pairs);
            if (x < k.x1)
                k.relax(given, now, y, x);
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < places; i += WALK_THREADS)
        logits[i] = 2.0f * atanhf(fminf(fmaxf(now[i], -k.most), k.most));
}

extern "C" void sam_random_walk_cuda(struct sam_queue *q, const struct sam_random_walk *p)
{
    const float *right = (const float *) p->edges.data;
    const walks k = { (float *) p->logits.data, (float *) p->room.data, right,
                      right + sam_count(&p->edges) / 2, (const float *) p->score.data,
                      p->logits.h, p->logits.w, p->x0, p->y0, p->x1, p->y1, p->rounds,
                      p->fidelity, p->relaxation, p->outside, p->most };
    SAM_LAUNCH(walk_kernel, p->logits.n, WALK_THREADS, 0, q, k);
    sam_cuda_launched(q, "random_walk");
}
