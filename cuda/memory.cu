// SPDX-License-Identifier: MIT
// Stores memories by slot, and gathers them for memory attention.
//
// Shape: a thread makes four neighbouring numbers, or one. Traffic: src once, dst once; slots,
// times and lengths are device data, so that one captured graph serves every frame.
#include "view.cuh"

struct scatter_at {
    view dst, src, absent;
    const int *slot;
    const float *score;
    unsigned per_object, c;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned n = i / per_object;
        if (slot[n] < 0)
            return;
        float v[N], add[N];
        load(v, src, i);
        if (absent.p && !(score[n] > 0.0f)) {
            load(add, absent, i % c);
            for (int k = 0; k < N; k++)
                v[k] += add[k];
        }
        store(dst, slot[n] * per_object + i % per_object, v);
    }
};

// Side by side in one launch, one per blockIdx.y: the grid is that of the largest.
struct scatter_list {
    scatter_at each[SAM_MAX_SCATTERS];
    unsigned count[SAM_MAX_SCATTERS]; // numbers
    bool four[SAM_MAX_SCATTERS];
};

static __global__ void __launch_bounds__(EACH_THREADS)
    scatter_kernel(const __grid_constant__ scatter_list list)
{
    await_earlier();
    const unsigned which = blockIdx.y, at = blockIdx.x * EACH_THREADS + threadIdx.x;
    if (list.four[which] && 4 * at < list.count[which])
        list.each[which].template at<4>(4 * at);
    else if (!list.four[which] && at < list.count[which])
        list.each[which].template at<1>(at);
}

extern "C" void sam_scatters_cuda(struct sam_queue *q, const struct sam_scatters *p)
{
    scatter_list list = {};
    int blocks = 1;
    for (int i = 0; i < p->count; i++) {
        const struct sam_scatter *s = &p->each[i];
        const size_t count = sam_count(&s->src);
        const unsigned c = s->src.c;
        if (count > INT32_MAX) {
            sam_queue_fail(q, SAM_EUNSUPPORTED, "scatter: %zu numbers, at most %d on a GPU", count,
                           INT32_MAX);
            return;
        }
        list.each[i] = { view_of(&s->dst), view_of(&s->src), view_of(&s->absent),
                         (const int *) s->slot.data, (const float *) s->score.data,
                         (unsigned) (count / s->src.n), c };
        list.count[i] = (unsigned) count;
        list.four[i] = by_four(&s->dst, c) && by_four(&s->src, c) && by_four(&s->absent, c);
        blocks = max(blocks, blocks_for(count / (list.four[i] ? 4 : 1), EACH_THREADS));
    }
    SAM_LAUNCH(scatter_kernel, dim3(blocks, p->count), EACH_THREADS, 0, q, list);
    sam_cuda_launched(q, "scatters");
}

extern "C" void sam_scatter_cuda(struct sam_queue *q, const struct sam_scatter *p)
{
    const struct sam_scatters one = { p, 1 };
    sam_scatters_cuda(q, &one);
}

struct gather_memory_at {
    view values, keys, maps, pointers, place, time, pointer_time;
    const int *map_slot, *map_time, *pointer_slot, *num_maps, *num_pointers;
    unsigned rows, m, tokens, parts; // rows of one n; of one map; of one pointer
    unsigned max_maps, max_pointers;

    template <int N> __device__ void at(unsigned i) const
    {
        const unsigned channel = i % m, row = i / m % rows, n = i / m / rows;
        const unsigned map_rows = num_maps[n] * tokens;
        float v[N], k[N], t[N];
        if (row < map_rows) {
            const unsigned which = n * max_maps + row / tokens, at = row % tokens * m + channel;
            load(v, maps, map_slot[which] * tokens * m + at);
            load(k, place, at);
            load(t, time, map_time[which] * m + channel);
            for (int j = 0; j < N; j++)
                k[j] += t[j];
        } else if (row - map_rows < num_pointers[n] * parts) {
            const unsigned r = row - map_rows, which = n * max_pointers + r / parts;
            load(v, pointers, (pointer_slot[which] * parts + r % parts) * m + channel);
            load(k, pointer_time, which * m + channel);
        } else {
            return;
        }
        for (int j = 0; j < N; j++)
            k[j] += v[j];
        store(values, i, v);
        store(keys, i, k);
    }
};

extern "C" void sam_gather_memory_cuda(struct sam_queue *q, const struct sam_gather_memory *p)
{
    const unsigned m = p->values.c;
    const gather_memory_at f = {
        view_of(&p->values), view_of(&p->keys), view_of(&p->maps), view_of(&p->pointers),
        view_of(&p->place), view_of(&p->time), view_of(&p->pointer_time),
        (const int *) p->map_slot.data, (const int *) p->map_time.data,
        (const int *) p->pointer_slot.data, (const int *) p->num_maps.data,
        (const int *) p->num_pointers.data, (unsigned) p->values.w, m, (unsigned) p->maps.w,
        p->pointers.c / m, (unsigned) p->map_slot.c, (unsigned) p->pointer_slot.c,
    };
    each(q, "gather_memory", f, sam_count(&p->values),
         by_four(&p->values, m) && by_four(&p->keys, m) && by_four(&p->maps, m)
             && by_four(&p->pointers, m) && by_four(&p->place, m) && by_four(&p->time, m)
             && by_four(&p->pointer_time, m));
}
