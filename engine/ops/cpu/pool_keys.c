// SPDX-License-Identifier: MIT
// Means over cells of remembered maps, one row of channels after another.
#include "ops/cpu/rows.h"
#include "ops/ref/ref.h"

enum { ITEM_ROWS = 128, MAX_CHANNELS = SAM_POOL_WORKSPACE / 2 / sizeof(float) };

struct job {
    struct sam_cpu *cpu;
    const struct sam_pool_keys *p;
    int n, means, held;
    int whole; // rows of the first map where it stays; what is pooled follows them
};

// Sums of two by two, then of these.
static void make_mean(const struct job *job, float *room, int row)
{
    const struct sam_pool_keys *p = job->p;
    const struct sam_row_kernels *rows = job->cpu->rows;
    const int half = p->side / 2, map = row / (half * half), y = row / half % half;
    const size_t c = (size_t) p->src.c, above = (size_t) job->n * p->src.w + (size_t) job->whole +
        ((size_t) map * p->side + 2 * (size_t) y) * p->side + 2 * (size_t) (row % half);
    const size_t below = above + p->side;
    const struct sam_span sum = { room, SAM_F32 }, shift = { room + c, SAM_F32 };

    rows->add(sum, sam_span_at(&p->src, above * c), sam_span_at(&p->src, (above + 1) * c), 1, c);
    rows->add(sum, sum, sam_span_at(&p->src, below * c), 1, c);
    rows->add(sum, sum, sam_span_at(&p->src, (below + 1) * c), 1, c);
    rows->add(sam_span_at(&p->dst, ((size_t) job->n * p->dst.w + row) * c), shift, sum, 0.25f, c);
}

// Rows first .. end - 1 of dst, which lie behind the means, from row `from` of src on.
static void copy_rows(const struct job *job, int first, int end, int from)
{
    const struct sam_pool_keys *p = job->p;
    const size_t c = (size_t) p->src.c;

    if (first < end)
        job->cpu->rows->convert(
            sam_span_at(&p->dst, ((size_t) job->n * p->dst.w + (size_t) first) * c),
            sam_span_at(&p->src, ((size_t) job->n * p->src.w + (size_t) from) * c),
            (size_t) (end - first) * c);
}

static void pool_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_pool_keys *p = job->p;
    const int first = i * ITEM_ROWS, c = p->src.c;
    const int end = first + ITEM_ROWS < job->held ? first + ITEM_ROWS : job->held;
    const int copied = first > job->means ? first : job->means < end ? job->means : end;
    const int border = job->means + job->whole; // between the first map and the last
    const int behind = copied > border ? copied : border < end ? border : end;
    float *room = sam_pool_workspace(job->cpu->pool, thread);

    for (int k = 0; k < c; k++)
        room[c + k] = p->shift;
    for (int row = first; row < copied; row++)
        make_mean(job, room, row);
    copy_rows(job, copied, behind, copied - job->means);
    copy_rows(job, behind, end, behind + 3 * job->means);
}

void sam_pool_keys_cpu(struct sam_queue *q, const struct sam_pool_keys *p)
{
    int32_t *counts = p->counts.data;

    if (p->src.c > (int) MAX_CHANNELS) {
        sam_pool_keys_ref(q, p);
        return;
    }
    for (int n = 0; n < p->src.n; n++) {
        const int rotated = ((const int32_t *) p->num_rotated.data)[n];
        const int keys = ((const int32_t *) p->num_keys.data)[n];
        const int N = p->side * p->side, whole = p->between ? N : 0;
        const int means = rotated > N ? (rotated - 2 * whole) / 4 : 0, rows = keys - 3 * means;
        const int held = rows < p->dst.w ? rows : p->dst.w;
        struct job job = { sam_cpu(q), p, n, means, held, whole };

        sam_pool_run(job.cpu->pool, (held + ITEM_ROWS - 1) / ITEM_ROWS, pool_task, &job);
        counts[n] = held;
        counts[p->src.n + n] = means && means < held ? means : held;
    }
}
