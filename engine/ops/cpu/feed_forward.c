// SPDX-License-Identifier: MIT
// Norm, product, activation, product and sum of a block of rows in one go: the hidden numbers, four
// or eight times as many as a row has, stay in a core's second-level cache.

#include <string.h>

#include "ops/cpu/product.h"

// The rows that a product reads, as its kernel wants them; in int8, as they are before they are
// rounded.
struct rows {
    const struct sam_gemm_kernels *gemm;
    enum sam_type type;
    int c;
    size_t ld;      // from row to row, in numbers
    size_t rounded; // bytes from row to row once they are; 0: not in int8
};

struct job {
    struct sam_cpu *cpu;
    const struct sam_feed_forward *p;
    struct rows normed, hidden;
    int rows; // of one item
};

static struct rows rows_of(const struct sam_queue *q, const struct sam_matrix *m)
{
    const struct sam_gemm_kernels *gemm = kernels(sam_cpu(q), m);
    const enum sam_type type = m->exact ? SAM_F32 : sam_queue_type(q);
    return (struct rows) { gemm, type, m->in, row_length(m->in, sam_type_size(type)),
                           gemm->group ? prepared_length(gemm, m->in) * sam_gemm_number(gemm) : 0 };
}

static char *row_at(const struct rows *r, void *room, int i)
{
    return (char *) room + i * r->ld * sam_type_size(r->type);
}

// The kernel reads pairs of bf16 numbers: an odd row is followed by one more.
static void end_rows(const struct rows *r, void *room, int count)
{
    for (int i = 0; r->type == SAM_BF16 && r->c % 2 && i < count; i++)
        memset(row_at(r, room, i) + 2 * r->c, 0, 2);
}

// What the kernel reads of `count` rows, and its step from one to the next. In int8 they are
// rounded to `rounded`.
static const void *finish_rows(const struct rows *r, void *room, void *rounded, int count,
                               size_t *ld)
{
    if (!r->rounded) {
        end_rows(r, room, count);
        *ld = r->ld;
        return room;
    }
    for (int i = 0; i < count; i++)
        r->gemm->prepare((char *) rounded + i * r->rounded,
                         (struct sam_span) { row_at(r, room, i), r->type }, r->c);
    *ld = r->rounded / sam_gemm_number(r->gemm);
    return rounded;
}

static void norm_rows(const struct job *job, void *room, size_t first, int count)
{
    const struct sam_feed_forward *p = job->p;
    const struct rows *r = &job->normed;
    for (int i = 0; i < count; i++)
        job->cpu->rows->layernorm((struct sam_span) { row_at(r, room, i), r->type },
                                  sam_span_at(&p->x, (first + i) * r->c), p->gamma.data,
                                  p->beta.data, p->eps, SAM_ACT_NONE, 1, r->c);
}

static void task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_feed_forward *p = job->p;
    const size_t first = (size_t) i * job->rows, total = sam_rows(&p->x);
    const int count = total - first < (size_t) job->rows ? (int) (total - first) : job->rows;
    const int c = p->x.c;
    char *normed = workspace(job->cpu, thread, 0), *hidden = workspace(job->cpu, thread, 1);
    // In int8 the normed rows are rounded to behind themselves, the hidden ones to their place.
    char *rounded = normed + (size_t) count * job->normed.ld * sam_type_size(job->normed.type);
    size_t ld;

    norm_rows(job, normed, first, count);
    const void *a = finish_rows(&job->normed, normed, rounded, count, &ld);
    job->normed.gemm->run(&(struct sam_gemm) {
        .a = a, .lda = ld, .b = p->up.data, .m = count, .k = c,
        .last = p->up.out, .bias = p->up_bias.data, .act = p->act, .add_rows = 1,
        .c = hidden, .c_type = job->hidden.type, .ldc = job->hidden.ld,
    });
    a = finish_rows(&job->hidden, hidden, normed, count, &ld);
    const struct sam_span x = sam_span_at(&p->x, first * c);
    job->hidden.gemm->run(&(struct sam_gemm) {
        .a = a, .lda = ld, .b = p->down.data, .m = count, .k = p->up.out,
        .last = c, .bias = p->down_bias.data, .add = x.data, .add_type = x.type,
        .add_rows = count, .ld_add = c, .c = x.data, .c_type = x.type, .ldc = c,
    });
}

void sam_feed_forward_cpu(struct sam_queue *q, const struct sam_feed_forward *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    struct job job = { cpu, p, rows_of(q, &p->up), rows_of(q, &p->down), 0 };
    const int threads = sam_pool_width(cpu->pool), tile = job.hidden.gemm->tile_rows;
    const size_t rows = sam_rows(&p->x);
    const size_t bytes = job.normed.ld * sam_type_size(job.normed.type) +
                         job.hidden.ld * sam_type_size(job.hidden.type) +
                         job.normed.rounded + job.hidden.rounded; // of a row
    if (bytes > HALF) {
        sam_queue_fail(q, SAM_EUNSUPPORTED, "feed_forward: %d hidden numbers a row, the CPU "
                       "backend takes %d", p->up.out, HALF / 4 - 2 * SAM_MAX_WIDTH);
        return;
    }
    const int most = max_int(1, min_int(BLOCK_ROWS, (int) (BLOCK_BYTES / bytes)));
    job.rows = min_int(most, ceil_div(rows, threads));
    if (job.rows > tile)
        job.rows = even_rows(rows, job.rows, tile, threads);
    sam_pool_run(cpu->pool, ceil_div(rows, job.rows), task, &job);
}
