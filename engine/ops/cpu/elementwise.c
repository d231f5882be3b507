// SPDX-License-Identifier: MIT
// Operations on rows of channels, in blocks: one kernel call per row or run of rows.

#include <string.h>

#include "ops/cpu/rows.h"
#include "ops/ref/ref.h"

enum { ITEM_NUMBERS = 1 << 15 }; // that are worth a thread: some microseconds

// Rows a job's items take: whole runs of about ITEM_NUMBERS numbers.
static int rows_per_item(size_t rows, size_t row_numbers)
{
    const size_t wanted = ITEM_NUMBERS / (row_numbers ? row_numbers : 1);
    return wanted < 1 ? 1 : wanted > rows ? (int) rows : (int) wanted;
}

struct job {
    struct sam_cpu *cpu;
    const void *p; // the operation
    int step;      // rows of an item
    size_t rows;   // in all
};

static void run(struct sam_queue *q, const void *p, size_t rows, size_t row_numbers,
                void (*task)(void *priv, int i, int thread))
{
    struct job job = { sam_cpu(q), p, rows_per_item(rows, row_numbers), rows };
    sam_pool_run(job.cpu->pool, (int) ((rows + job.step - 1) / job.step), task, &job);
}

static size_t first_row(const struct job *job, int i)
{
    return (size_t) i * job->step;
}

static size_t end_row(const struct job *job, int i)
{
    const size_t end = (size_t) (i + 1) * job->step;
    return end < job->rows ? end : job->rows;
}

// ---- copy, add: runs over which src does not start again

static void copy_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_copy *p = job->p;
    const size_t period = sam_count(&p->src), end = end_row(job, i);
    for (size_t at = first_row(job, i); at < end;) {
        const size_t from = at % period, rest = period - from;
        const size_t count = rest < end - at ? rest : end - at;
        job->cpu->rows->convert(sam_span_at(&p->dst, at), sam_span_at(&p->src, from), count);
        at += count;
    }
}

static bool is_activation(const struct sam_tensor *t)
{
    return t->type == SAM_F32 || t->type == SAM_BF16;
}

void sam_copy_cpu(struct sam_queue *q, const struct sam_copy *p)
{
    if (!is_activation(&p->dst) || !is_activation(&p->src))
        sam_copy_ref(q, p);
    else
        run(q, p, sam_count(&p->dst), 1, copy_task);
}

void sam_copy_rows_cpu(struct sam_queue *q, const struct sam_copy_rows *p)
{
    const struct sam_tensor *d = &p->dst, *src = &p->src;
    if (!is_activation(d) || !is_activation(src)) {
        sam_copy_rows_ref(q, p);
        return;
    }
    const int32_t *index = p->index.data;
    const int each = index ? 1 : p->rows; // rows that lie together
    for (int n = 0; n < d->n; n++)
        for (int i = 0; i < p->rows; i += each) {
            const size_t to = (size_t) n * d->h * d->w + p->to + i;
            const size_t from = (size_t) (src->n == 1 ? 0 : n) * src->h * src->w +
                                (index ? index[n * p->rows + i] : p->from);
            sam_cpu(q)->rows->convert(sam_span_at(d, to * d->c), sam_span_at(src, from * d->c),
                                      (size_t) each * d->c);
        }
}

// A row of a map.
static void copy_channels_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_copy_channels *p = job->p;
    const struct sam_tensor *d = &p->dst, *s = &p->src;
    for (size_t row = first_row(job, i); row < end_row(job, i); row++) {
        const size_t from = row / p->up * s->w; // d->h is s->h times up: of every n
        for (int x = 0; x < d->w; x++)
            job->cpu->rows->convert(sam_span_at(d, (row * d->w + x) * d->c + p->to),
                                    sam_span_at(s, (from + x / p->up) * s->c + p->from),
                                    p->channels);
    }
}

void sam_copy_channels_cpu(struct sam_queue *q, const struct sam_copy_channels *p)
{
    run(q, p, (size_t) p->dst.n * p->dst.h, (size_t) p->dst.w * p->channels, copy_channels_task);
}

static void add_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_add *p = job->p;
    const size_t period = sam_count(&p->b), end = end_row(job, i);
    for (size_t at = first_row(job, i); at < end;) {
        const size_t from = at % period, rest = period - from;
        const size_t count = rest < end - at ? rest : end - at;
        job->cpu->rows->add(sam_span_at(&p->dst, at), sam_span_at(&p->a, at),
                            sam_span_at(&p->b, from), p->scale, count);
        at += count;
    }
}

void sam_add_cpu(struct sam_queue *q, const struct sam_add *p)
{
    run(q, p, sam_count(&p->dst), 1, add_task);
}

// The product is a depthwise convolution of one tap, whose weight changes with n.
static void scale_channels_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_scale_channels *p = job->p;
    const size_t rows = (size_t) p->src.h * p->src.w, c = p->src.c, end = end_row(job, i);
    for (size_t at = first_row(job, i); at < end;) {
        const size_t n = at / rows, rest = (n + 1) * rows - at;
        const int count = (int) (rest < end - at ? rest : end - at);
        const struct sam_span src = sam_span_at(&p->src, at * c);
        job->cpu->rows->depthwise(&(struct sam_depthwise_row) {
            .dst = sam_span_at(&p->dst, at * c), .src = &src,
            .weight = (const float *) p->scale.data + n * c, .kernel = 1, .stride = 1,
            .dst_width = count, .src_width = count, .c = p->src.c });
        at += count;
    }
}

void sam_scale_channels_cpu(struct sam_queue *q, const struct sam_scale_channels *p)
{
    run(q, p, sam_rows(&p->src), p->src.c, scale_channels_task);
}

// ---- layernorm, rope

static void layernorm_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_layernorm *p = job->p;
    const size_t row = first_row(job, i), at = row * p->src.c;
    job->cpu->rows->layernorm(sam_span_at(&p->dst, at), sam_span_at(&p->src, at), p->gamma.data,
                              p->beta.data, p->eps, p->act, end_row(job, i) - row, p->src.c);
}

void sam_layernorm_cpu(struct sam_queue *q, const struct sam_layernorm *p)
{
    run(q, p, sam_rows(&p->src), p->src.c, layernorm_task);
    if (p->sum.data)
        sam_add_cpu(q, &(struct sam_add) { p->sum, p->dst, p->add, 1 });
}

static void rope_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_rope *p = job->p;
    const int rows = p->src.h * p->src.w, c = p->src.c;
    for (size_t row = first_row(job, i); row < end_row(job, i); row++) {
        const int n = (int) (row / rows), r = (int) (row % rows);
        const int rotated = p->num_rotated.data ? ((const int32_t *) p->num_rotated.data)[n] : rows;
        const struct sam_span dst = sam_span_at(&p->dst, row * c);
        const struct sam_span src = sam_span_at(&p->src, row * c);
        if (r < rotated)
            job->cpu->rows->rope(dst, src, (const float *) p->table.data +
                                               (size_t) (r % p->table.w) * c, c);
        else if (dst.data != src.data)
            job->cpu->rows->convert(dst, src, c);
    }
}

void sam_rope_cpu(struct sam_queue *q, const struct sam_rope *p)
{
    run(q, p, sam_rows(&p->src), p->src.c, rope_task);
}

// ---- maps, by rows of pixels

static size_t map_row(const struct sam_tensor *t, size_t row)
{
    return row * t->w * t->c;
}

static void maxpool_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_maxpool *p = job->p;
    for (size_t row = first_row(job, i); row < end_row(job, i); row++) {
        const size_t upper = row / p->dst.h * p->src.h + row % p->dst.h * 2;
        job->cpu->rows->maxpool(sam_span_at(&p->dst, map_row(&p->dst, row)),
                                sam_span_at(&p->src, map_row(&p->src, upper)),
                                sam_span_at(&p->src, map_row(&p->src, upper + 1)), p->dst.w,
                                p->dst.c);
    }
}

void sam_maxpool_cpu(struct sam_queue *q, const struct sam_maxpool *p)
{
    run(q, p, (size_t) p->dst.n * p->dst.h, (size_t) 2 * p->src.w * p->src.c, maxpool_task);
}

static void upsample_add_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_upsample_add *p = job->p;
    for (size_t row = first_row(job, i); row < end_row(job, i); row++) {
        const size_t half = row / p->dst.h * p->b.h + row % p->dst.h / 2;
        const size_t at = map_row(&p->dst, row);
        job->cpu->rows->upsample_add(sam_span_at(&p->dst, at), sam_span_at(&p->a, at),
                                     sam_span_at(&p->b, map_row(&p->b, half)), p->dst.w, p->dst.c);
    }
}

void sam_upsample_add_cpu(struct sam_queue *q, const struct sam_upsample_add *p)
{
    run(q, p, (size_t) p->dst.n * p->dst.h, (size_t) p->dst.w * p->dst.c, upsample_add_task);
}

static void windows_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_windows *p = job->p;
    const size_t side = p->side, columns = p->src.w / side, count = side * p->src.c;
    for (size_t row = first_row(job, i); row < end_row(job, i); row++)
        for (size_t column = 0; column < columns; column++) {
            const size_t window = row / side * columns + column;
            job->cpu->rows->convert(sam_span_at(&p->dst, (window * side + row % side) * count),
                                    sam_span_at(&p->src, (row * columns + column) * count), count);
        }
}

void sam_windows_cpu(struct sam_queue *q, const struct sam_windows *p)
{
    run(q, p, (size_t) p->src.n * p->src.h, (size_t) p->src.w * p->src.c, windows_task);
}

enum { MAX_KERNEL = 31 };

// The rows of src under each kernel row, the first of which lies at `top`.
static void find_rows(struct sam_span *rows, const struct sam_tensor *src, int top, int kernel)
{
    for (int ky = 0; ky < kernel; ky++)
        rows[ky] = top + ky < 0 || top + ky >= src->h ? (struct sam_span) { NULL, src->type }
                                                      : sam_span_at(src, map_row(src, top + ky));
}

static void maxpool_around_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_maxpool_around *p = job->p;
    for (size_t row = first_row(job, i); row < end_row(job, i); row++) {
        const struct sam_tensor src = sam_slice(p->src, (int) (row / p->dst.h));
        struct sam_span rows[MAX_KERNEL];
        find_rows(rows, &src, (int) (row % p->dst.h) - p->kernel / 2, p->kernel);
        job->cpu->rows->maxpool_around(&(struct sam_depthwise_row) {
            .dst = sam_span_at(&p->dst, map_row(&p->dst, row)), .src = rows, .kernel = p->kernel,
            .stride = 1, .dst_width = p->dst.w, .src_width = p->src.w, .c = p->src.c });
    }
}

void sam_maxpool_around_cpu(struct sam_queue *q, const struct sam_maxpool_around *p)
{
    if (p->kernel > MAX_KERNEL)
        sam_maxpool_around_ref(q, p);
    else
        run(q, p, (size_t) p->dst.n * p->dst.h,
            (size_t) p->kernel * p->kernel * p->dst.w * p->dst.c, maxpool_around_task);
}

static void depthwise_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_depthwise *p = job->p;
    for (size_t row = first_row(job, i); row < end_row(job, i); row++) {
        const struct sam_tensor src = sam_slice(p->src, (int) (row / p->dst.h));
        const int before = p->kernel / 2 - p->late;
        const int top = (int) (row % p->dst.h) * p->stride - before;
        struct sam_span rows[MAX_KERNEL];
        find_rows(rows, &src, top, p->kernel);
        job->cpu->rows->depthwise(&(struct sam_depthwise_row) {
            .dst = sam_span_at(&p->dst, map_row(&p->dst, row)), .src = rows,
            .weight = p->weight.data, .bias = p->bias.data, .kernel = p->kernel,
            .stride = p->stride, .dst_width = p->dst.w, .src_width = p->src.w, .c = p->src.c,
            .act = p->act, .before = before });
    }
}

void sam_depthwise_cpu(struct sam_queue *q, const struct sam_depthwise *p)
{
    if (p->kernel > MAX_KERNEL)
        sam_depthwise_ref(q, p);
    else
        run(q, p, (size_t) p->dst.n * p->dst.h,
            (size_t) p->kernel * p->kernel * p->dst.w * p->dst.c, depthwise_task);
}

// ---- masks

static void signal_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_mask_signal *p = job->p;
    const size_t count = sam_count(&p->src) / p->src.n, end = end_row(job, i);
    for (size_t at = first_row(job, i); at < end;) {
        const size_t n = at / count, rest = (n + 1) * count - at;
        const size_t run_count = rest < end - at ? rest : end - at;
        job->cpu->rows->signal((float *) p->dst.data + at, (const float *) p->src.data + at,
                               ((const int32_t *) p->binary.data)[n], p->scale, p->bias, run_count);
        at += run_count;
    }
}

void sam_mask_signal_cpu(struct sam_queue *q, const struct sam_mask_signal *p)
{
    struct sam_mask_signal m = *p;
    if (p->dst.type != SAM_F32) {
        sam_mask_signal_ref(q, p);
        return;
    }
    if (sam_rows(&p->src) != sam_rows(&p->dst)) {
        sam_resize_cpu(q, &(struct sam_resize) { .dst = p->dst, .src = p->src });
        m.src = p->dst;
    }
    run(q, &m, sam_count(&m.src), 4, signal_task);
}

// One mask: flooding it is a fraction of a millisecond, and the reference reads well.
static void fill_holes_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    struct sam_fill_holes one = *(const struct sam_fill_holes *) job->p;
    one.dst = sam_slice(one.dst, i);
    one.src = sam_slice(one.src, i);
    one.room = sam_slice(one.room, i);
    sam_fill_holes_ref(NULL, &one);
}

void sam_fill_holes_cpu(struct sam_queue *q, const struct sam_fill_holes *p)
{
    struct job job = { sam_cpu(q), p, 1, (size_t) p->src.n };
    sam_pool_run(job.cpu->pool, p->src.n, fill_holes_task, &job);
}

// One object, likewise.
static void keep_near_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    struct sam_keep_near one = *(const struct sam_keep_near *) job->p;
    struct sam_tensor *const lists[] = { &one.before, &one.after, &one.prompted };
    one.logits = sam_slice(one.logits, i);
    one.score = sam_slice(one.score, i);
    one.room = sam_slice(one.room, i);
    for (int k = 0; k < 3; k++) {
        lists[k]->data = (int32_t *) lists[k]->data + i;
        lists[k]->c = 1;
    }
    sam_keep_near_ref(NULL, &one);
}

void sam_keep_near_cpu(struct sam_queue *q, const struct sam_keep_near *p)
{
    struct job job = { sam_cpu(q), p, 1, (size_t) p->logits.n };
    sam_pool_run(job.cpu->pool, p->logits.n, keep_near_task, &job);
}

static void drop_foreign_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    struct sam_drop_foreign one = *(const struct sam_drop_foreign *) job->p;
    one.logits = sam_slice(one.logits, i);
    one.votes = sam_slice(one.votes, i);
    one.score = sam_slice(one.score, i);
    one.room = sam_slice(one.room, i);
    one.slot.data = (int32_t *) one.slot.data + i;
    one.slot.c = 1;
    sam_drop_foreign_ref(NULL, &one);
}

void sam_drop_foreign_cpu(struct sam_queue *q, const struct sam_drop_foreign *p)
{
    struct job job = { sam_cpu(q), p, 1, (size_t) p->logits.n };
    sam_pool_run(job.cpu->pool, p->logits.n, drop_foreign_task, &job);
}

static float number(const struct sam_tensor *t, size_t i)
{
    return ((const float *) t->data)[i];
}

static bool is_stable(const struct sam_cpu *cpu, const struct sam_select_mask *p, int n)
{
    const float *mask = (const float *) p->masks.data + (size_t) n * 4 * p->masks.c;
    const size_t sure = cpu->rows->count_above(mask, p->delta, p->masks.c);
    const size_t likely = cpu->rows->count_above(mask, -p->delta, p->masks.c);
    return (likely ? (float) sure / (float) likely : 1.0f) >= p->threshold;
}

static void select_task(void *priv, int n, int thread)
{
    const struct job *job = priv;
    const struct sam_select_mask *p = job->p;
    int best = 1;
    for (int i = 2; i <= 3; i++)
        if (number(&p->ious, n * 4 + i) > number(&p->ious, n * 4 + best))
            best = i;

    const bool multimask = ((const int32_t *) p->multimask.data)[n];
    const int chosen = !multimask && is_stable(job->cpu, p, n) ? 0 : best;
    const size_t pixels = p->masks.c, d = p->tokens.c;
    float *low_res = (float *) p->low_res.data + n * pixels;
    if (number(&p->score, n) > 0)
        memcpy(low_res, (const float *) p->masks.data + ((size_t) n * 4 + chosen) * pixels,
               pixels * sizeof(float));
    else
        for (size_t i = 0; i < pixels; i++)
            low_res[i] = -1024;
    const size_t token = (size_t) n * 4 + (multimask ? best : 0);
    job->cpu->rows->convert(sam_span_at(&p->token, n * d), sam_span_at(&p->tokens, token * d), d);
    ((float *) p->iou.data)[n] = number(&p->ious, n * 4 + chosen);
}

void sam_select_mask_cpu(struct sam_queue *q, const struct sam_select_mask *p)
{
    struct job job = { sam_cpu(q), p, 1, p->masks.n };
    sam_pool_run(job.cpu->pool, p->masks.n, select_task, &job);
}

// ---- memory

static void scatter_task(void *priv, int n, int thread)
{
    const struct job *job = priv;
    const struct sam_scatter *p = job->p;
    const int slot = ((const int32_t *) p->slot.data)[n], c = p->src.c;
    const size_t rows = sam_rows(&p->src) / p->src.n;
    if (slot < 0)
        return;
    const struct sam_span dst = sam_span_at(&p->dst, slot * rows * c);
    const struct sam_span src = sam_span_at(&p->src, n * rows * c);
    if (!p->absent.data || number(&p->score, n) > 0) {
        job->cpu->rows->convert(dst, src, rows * c);
        return;
    }
    for (size_t r = 0; r < rows; r++)
        job->cpu->rows->add(sam_span_at(&p->dst, (slot * rows + r) * c),
                            sam_span_at(&p->src, (n * rows + r) * c),
                            sam_span_at(&p->absent, 0), 1.0f, c);
}

void sam_scatter_cpu(struct sam_queue *q, const struct sam_scatter *p)
{
    if (!is_activation(&p->dst) || !is_activation(&p->src) || !is_activation(&p->absent)) {
        sam_scatter_ref(q, p);
        return;
    }
    struct job job = { sam_cpu(q), p, 1, p->src.n };
    for (int n = 0; n < p->src.n; n++) // in order: a later one may name the same slot
        scatter_task(&job, n, 0);
}

// Item i: token block of one map or one pointer of one object.
enum { GATHER_ROWS = 512 };

// values = what is stored; keys = values + place + time, place being NULL for pointers.
static void gather_rows(const struct job *job, size_t row, struct sam_span from, const float *place,
                        const float *time, size_t rows)
{
    const struct sam_gather_memory *p = job->p;
    const int m = p->maps.c;
    const struct sam_row_kernels *k = job->cpu->rows;
    k->convert(sam_span_at(&p->values, row * m), from, rows * m);
    for (size_t r = 0; r < rows; r++) {
        const struct sam_span key = sam_span_at(&p->keys, (row + r) * m);
        const struct sam_span value = { (char *) from.data + r * m * (from.type == SAM_F32 ? 4 : 2),
                                        from.type };
        k->finish(key, time, place ? place + r * m : NULL, value, SAM_ACT_NONE, m);
    }
}

static int index_at(const struct sam_tensor *t, size_t i)
{
    return ((const int32_t *) t->data)[i];
}

static void gather_map_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    const struct sam_gather_memory *p = job->p;
    const int tokens = p->maps.w, m = p->maps.c, max_maps = p->map_slot.c;
    const int blocks = (tokens + GATHER_ROWS - 1) / GATHER_ROWS;
    const int at = i / blocks, n = at / max_maps, map = at % max_maps;
    if (map >= index_at(&p->num_maps, n))
        return;
    const int first = i % blocks * GATHER_ROWS;
    const int count = tokens - first < GATHER_ROWS ? tokens - first : GATHER_ROWS;
    const size_t row = (size_t) n * p->values.w + (size_t) map * tokens + first;
    gather_rows(job, row,
                sam_span_at(&p->maps, ((size_t) index_at(&p->map_slot, at) * tokens + first) * m),
                (const float *) p->place.data + (size_t) first * m,
                (const float *) p->time.data + (size_t) index_at(&p->map_time, at) * m, count);
}

void sam_gather_memory_cpu(struct sam_queue *q, const struct sam_gather_memory *p)
{
    const int blocks = (p->maps.w + GATHER_ROWS - 1) / GATHER_ROWS, m = p->maps.c;
    const int max_pointers = p->pointer_slot.c, d = p->pointers.c;
    struct job job = { sam_cpu(q), p, 1, 0 };
    sam_pool_run(job.cpu->pool, blocks * p->map_slot.c * p->values.n, gather_map_task, &job);
    for (int n = 0; n < p->values.n; n++) {
        size_t row = (size_t) n * p->values.w + (size_t) index_at(&p->num_maps, n) * p->maps.w;
        for (int i = 0; i < index_at(&p->num_pointers, n); i++, row += d / m) {
            const size_t at = (size_t) n * max_pointers + i;
            const size_t slot = (size_t) index_at(&p->pointer_slot, at);
            gather_rows(&job, row, sam_span_at(&p->pointers, slot * d), NULL,
                        (const float *) p->pointer_time.data + at * m, d / m);
        }
    }
}
