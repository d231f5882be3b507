// SPDX-License-Identifier: MIT
// Masks whose edges follow the frame's luma. Threads share the rows of cells. Where the logits
// around a cell agree, all of its pixels are alike; the others, a band along the edges, are taken
// in blocks: the weights of all their pixels first, which all objects share.

#include <string.h>

#include "ops/cpu/boxes.h"
#include "ops/cpu/cpu.h"
#include "ops/ref/ref.h"

enum {
    STRIP = 64, // pixels of a block's row
    ROWS  = 8, // of a block
    TAPS  = 9,
    MAX_OBJECTS = 255,
    EMPTY = 0, MIXED = 0xffff, // kinds of cells; else all are of object kind - 1
};

struct job {
    struct sam_cpu *cpu;
    const struct sam_draw_edges *p;
    int h, w;          // cells
    int width, height; // of what is drawn
    bool labels, boxes;
};

// What a thread works with, in its workspace.
struct room {
    int32_t box[MAX_OBJECTS][5];
    uint16_t kind[SAM_MAX_SIDE];  // of the cells of a row
    uint8_t above[SAM_MAX_SIDE + 2]; // logits above zero in three rows, a column more on each side
    uint32_t sum[SAM_MAX_SIDE];   // of Y, by columns
    uint8_t luma[SAM_MAX_SIDE];
    float mean[3][SAM_MAX_SIDE];  // of cells of the rows around
    float y[STRIP], across[3][STRIP], tap[TAPS][STRIP], logit[STRIP];
    float weight[ROWS][TAPS][STRIP], best[ROWS][STRIP];
};
_Static_assert(sizeof(struct room) <= SAM_POOL_WORKSPACE, "a thread's workspace holds it");

struct range {
    int begin, end;
};

static struct room *room_of(const struct job *job, int thread)
{
    return sam_pool_workspace(job->cpu->pool, thread);
}

static int clamp(int i, int count)
{
    return i < 0 ? 0 : i < count ? i : count - 1;
}

// The pixels whose centres lie in cell i; may be none.
static struct range pixels_of(int i, int count, int size)
{
    return (struct range) { (2 * i * size + count - 1) / (2 * count),
                            (2 * (i + 1) * size + count - 1) / (2 * count) };
}

// What the mean of cell i is taken over.
static struct range sources_of(int i, int count, int size)
{
    struct range r = pixels_of(i, count, size);
    r.begin = ref_min(r.begin, size - 1);
    r.end = ref_max(r.end, r.begin + 1);
    return r;
}

static float nearness(int pixel, int i, int count, int size)
{
    const float t = ((2 * pixel + 1) * count - (2 * i + 1) * size) / (2.0f * size);
    const float a = 1 - t * t * (4.0f / 9);
    return a > 0 ? a * a : 0;
}

// ---- luma

static void weigh_colours(uint8_t *restrict dst, const uint8_t *restrict src, int step, int r,
                          int b, int count)
{
    for (int x = 0; x < count; x++)
        dst[x] = (uint8_t) ((77 * src[step * x + r] + 150 * src[step * x + 1] +
                             29 * src[step * x + b] + 128) / 256);
}

static void every_other(uint8_t *restrict dst, const uint8_t *restrict src, int count)
{
    for (int x = 0; x < count; x++)
        dst[x] = src[2 * x];
}

// Y of pixels [x.begin, x.end) of a row of the frame; in `room`, or where they are.
static const uint8_t *luma_row(const struct sam_frame *f, int y, struct range x, uint8_t *room)
{
    const uint8_t *row = f->plane[0] + (size_t) y * f->stride[0];
    const int count = x.end - x.begin;
    switch (f->format) {
    case SAM_PIXEL_RGB:  weigh_colours(room, row + 3 * x.begin, 3, 0, 2, count); return room;
    case SAM_PIXEL_BGR:  weigh_colours(room, row + 3 * x.begin, 3, 2, 0, count); return room;
    case SAM_PIXEL_RGBA: weigh_colours(room, row + 4 * x.begin, 4, 0, 2, count); return room;
    case SAM_PIXEL_BGRA: weigh_colours(room, row + 4 * x.begin, 4, 2, 0, count); return room;
    case SAM_PIXEL_YUY2: every_other(room, row + 2 * x.begin, count); return room;
    case SAM_PIXEL_P010: every_other(room, row + 2 * x.begin + 1, count); return room;
    default:             return row + x.begin;
    }
}

static void add_row(uint32_t *restrict sum, const uint8_t *restrict row, int count)
{
    for (int x = 0; x < count; x++)
        sum[x] += row[x];
}

// The means of Y in cells [c.begin, c.end) of row i, h x w of them over the frame.
static void means(const struct sam_frame *f, int i, int h, struct range c, int w, struct room *r,
                  float *mean)
{
    const struct range y = sources_of(i, h, f->height);
    const struct range x = { sources_of(c.begin, w, f->width).begin,
                             sources_of(c.end - 1, w, f->width).end };
    memset(r->sum, 0, (size_t) (x.end - x.begin) * sizeof(*r->sum));
    for (int row = y.begin; row < y.end; row++)
        add_row(r->sum, luma_row(f, row, x, r->luma), x.end - x.begin);
    for (int j = c.begin; j < c.end; j++) {
        const struct range of = sources_of(j, w, f->width);
        int64_t sum = 0;
        for (int k = of.begin; k < of.end; k++)
            sum += r->sum[k - x.begin];
        mean[j - c.begin] =
            (float) sum / (float) ((int64_t) (y.end - y.begin) * (of.end - of.begin));
    }
}

// Y of the pixels that are drawn.
static void lumas(const struct job *job, int y, int x, int count, struct room *r)
{
    const struct sam_frame *f = &job->p->frame;
    if (f->width == job->width && f->height == job->height) {
        const uint8_t *row = luma_row(f, y, (struct range) { x, x + count }, r->luma);
        for (int k = 0; k < count; k++)
            r->y[k] = row[k];
    } else {
        means(f, y, job->height, (struct range) { x, x + count }, job->width, r, r->y);
    }
}

// ---- where the edges are

// The three rows of an object's logits around row i.
static void rows_around(const struct job *job, int n, int i, const float *row[3])
{
    const float *map = (const float *) job->p->masks.logits.data + (size_t) n * job->h * job->w;
    for (int k = 0; k < 3; k++)
        row[k] = map + (size_t) clamp(i + k - 1, job->h) * job->w;
}

static bool any_above(const float *const row[3], int first, int last)
{
    int above = 0;
    for (int k = 0; k < 3; k++)
        for (int x = first; x < last; x++)
            above += row[k][x] > 0;
    return above > 0;
}

static void count_above(uint8_t *restrict above, const float *restrict a, const float *restrict b,
                        const float *restrict c, int w)
{
    for (int x = 0; x < w; x++)
        above[x] = (uint8_t) ((a[x] > 0) + (b[x] > 0) + (c[x] > 0));
}

static void find_kinds(const struct job *job, int i, struct room *r)
{
    const int w = job->w;
    memset(r->kind, EMPTY, (size_t) w * sizeof(*r->kind));
    for (int n = 0; n < job->p->masks.logits.n; n++) {
        const float *row[3];
        rows_around(job, n, i, row);
        if (!any_above(row, 0, w))
            continue;
        count_above(r->above + 1, row[0], row[1], row[2], w);
        r->above[0] = r->above[1];
        r->above[w + 1] = r->above[w];
        for (int x = 0; x < w; x++) {
            const int above = r->above[x] + r->above[x + 1] + r->above[x + 2];
            if (above)
                r->kind[x] = above == TAPS && r->kind[x] == EMPTY ? (uint16_t) (n + 1) : MIXED;
        }
    }
}

// ---- drawing

static void add_box(int32_t *box, int y, int first, int last, int count)
{
    const bool empty = !box[4];
    box[0] = empty ? first : ref_min(box[0], first);
    box[1] = empty ? y : ref_min(box[1], y);
    box[2] = ref_max(box[2], last);
    box[3] = ref_max(box[3], y + 1);
    box[4] += count;
}

static uint8_t *label_at(const struct job *job, int y, int x)
{
    return job->p->masks.labels.data + (size_t) y * job->p->masks.labels.stride + x;
}

static void draw_solid(const struct job *job, int n, struct range y, struct range x,
                       struct room *r)
{
    const int count = x.end - x.begin;
    for (int row = y.begin; row < y.end && count > 0; row++) {
        if (job->labels)
            memset(label_at(job, row, x.begin), job->p->masks.slot[n], (size_t) count);
        if (job->boxes)
            add_box(r->box[n], row, x.begin, x.end, count);
    }
}

// The two loops that take the time, for any processor and for wider vectors; without fused
// multiply-add, so that the numbers are the same.
#define INLINE static inline __attribute__((always_inline))

INLINE void weigh_all(float *restrict weight, const float *restrict y, const float *restrict mean,
                      const float *restrict across, float down, int count)
{
    for (int x = 0; x < count; x++) {
        const float d = y[x] - mean[x];
        float like = 1 - d * d * (1.0f / 8192);
        like = (like + fabsf(like)) * 0.5f; // if negative, 0; exact, and no branch
        like *= like, like *= like, like *= like, like *= like;
        weight[x] = down * across[x] * (like + 1.0f / 8192);
    }
}

INLINE void add_all(float *restrict sum, const float (*restrict weight)[STRIP],
                    const float (*restrict logit)[STRIP], int count)
{
    for (int x = 0; x < count; x++) {
        float s = 0;
        for (int k = 0; k < TAPS; k++)
            s += weight[k][x] * logit[k][x];
        sum[x] = s;
    }
}

static void weigh(float *weight, const float *y, const float *mean, const float *across, float down,
                  int count)
{
    weigh_all(weight, y, mean, across, down, count);
}

static void add(float *sum, const float (*weight)[STRIP], const float (*logit)[STRIP], int count)
{
    add_all(sum, weight, logit, count);
}

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif

WIDE static void weigh_wide(float *weight, const float *y, const float *mean, const float *across,
                            float down, int count)
{
    weigh_all(weight, y, mean, across, down, count);
}

WIDE static void add_wide(float *sum, const float (*weight)[STRIP], const float (*logit)[STRIP],
                          int count)
{
    add_all(sum, weight, logit, count);
}

static void draw_row(const struct job *job, int n, int y, int x0, int count, float *restrict best,
                     struct room *r)
{
    const float *restrict logit = r->logit;
    if (job->labels) {
        uint8_t *restrict label = label_at(job, y, x0);
        const uint8_t slot = (uint8_t) job->p->masks.slot[n];
        for (int x = 0; x < count; x++) {
            label[x] = logit[x] > best[x] ? slot : label[x];
            best[x] = logit[x] > best[x] ? logit[x] : best[x];
        }
    }
    int above = 0, first = 0, last = count;
    for (int x = 0; x < count; x++)
        above += logit[x] > 0;
    if (!above || !job->boxes)
        return;
    while (!(logit[first] > 0))
        first++;
    while (!(logit[last - 1] > 0))
        last--;
    add_box(r->box[n], y, x0 + first, x0 + last, above);
}

// dst: for every pixel of x the number of its cell, `by` cells off; cells[0] is that of cell
// `first`, and there are `count` of them.
static void spread(const struct job *job, float *dst, struct range x, const float *cells, int first,
                   int count, int by)
{
    int cell = (2 * x.begin + 1) * job->w / (2 * job->width);
    for (int at = x.begin; at < x.end; cell++) {
        const int end = ref_min(pixels_of(cell, job->w, job->width).end, x.end);
        const float number = cells[clamp(cell + by - first, count)];
        for (; at < end; at++)
            dst[at - x.begin] = number;
    }
}

static void prepare_block(const struct job *job, int i, struct range around, struct range y,
                          struct range x, struct room *r)
{
    const bool is_wide = job->cpu->level > SAM_CPU_GENERIC;
    const int count = x.end - x.begin;
    for (int k = 0; k < 3; k++)
        for (int at = x.begin; at < x.end; at++)
            r->across[k][at - x.begin] =
                nearness(at, (2 * at + 1) * job->w / (2 * job->width) + k - 1, job->w, job->width);
    for (int k = 0; k < TAPS; k++)
        spread(job, r->tap[k], x, r->mean[k / 3], around.begin, around.end - around.begin,
               k % 3 - 1);
    for (int row = y.begin; row < y.end; row++) {
        lumas(job, row, x.begin, count, r);
        for (int k = 0; k < TAPS; k++)
            (is_wide ? weigh_wide : weigh)(r->weight[row - y.begin][k], r->y, r->tap[k],
                                           r->across[k % 3],
                                           nearness(row, i + k / 3 - 1, job->h, job->height),
                                           count);
        memset(r->best[row - y.begin], 0, sizeof(r->best[0]));
    }
}

// A block of pixels of row i of the cells; r->mean is of the cells `around`.
static void draw_block(const struct job *job, int i, struct range around, struct range y,
                       struct range x, struct room *r)
{
    const bool is_wide = job->cpu->level > SAM_CPU_GENERIC;
    const int count = x.end - x.begin;
    prepare_block(job, i, around, y, x, r);
    for (int n = 0; n < job->p->masks.logits.n; n++) { // slots ascend: the first of a tie stays
        const float *row[3];
        rows_around(job, n, i, row);
        if (!any_above(row, around.begin, around.end))
            continue;
        for (int k = 0; k < TAPS; k++)
            spread(job, r->tap[k], x, row[k / 3], 0, job->w, k % 3 - 1);
        for (int at = y.begin; at < y.end; at++) {
            (is_wide ? add_wide : add)(r->logit, r->weight[at - y.begin], r->tap, count);
            draw_row(job, n, at, x.begin, count, r->best[at - y.begin], r);
        }
    }
}

// A run of mixed cells of row i.
static void draw_mixed(const struct job *job, int i, struct range cells, struct range y,
                       struct range x, struct room *r)
{
    const struct range around = { ref_max(cells.begin - 1, 0), ref_min(cells.end + 1, job->w) };
    for (int k = 0; k < 3; k++)
        means(&job->p->frame, clamp(i + k - 1, job->h), job->h, around, job->w, r, r->mean[k]);
    for (int top = y.begin; top < y.end; top += ROWS)
        for (int left = x.begin; left < x.end; left += STRIP)
            draw_block(job, i, around, (struct range) { top, ref_min(top + ROWS, y.end) },
                       (struct range) { left, ref_min(left + STRIP, x.end) }, r);
}

static void draw_task(void *priv, int i, int thread)
{
    const struct job *job = priv;
    struct room *r = room_of(job, thread);
    const struct range y = pixels_of(i, job->h, job->height);
    for (int row = y.begin; row < y.end && job->labels; row++)
        memset(label_at(job, row, 0), 0, (size_t) job->width);
    if (y.begin == y.end)
        return;
    find_kinds(job, i, r);
    memset(r->box, 0, (size_t) job->p->masks.logits.n * sizeof(*r->box));
    for (int first = 0, last; first < job->w; first = last) {
        const int kind = r->kind[first];
        for (last = first + 1; last < job->w && r->kind[last] == kind;)
            last++;
        const struct range x = { pixels_of(first, job->w, job->width).begin,
                                 pixels_of(last, job->w, job->width).begin };
        if (kind == MIXED && x.begin < x.end)
            draw_mixed(job, i, (struct range) { first, last }, y, x, r);
        else if (kind != MIXED && kind != EMPTY)
            draw_solid(job, kind - 1, y, x, r);
    }
    if (job->boxes)
        sam_boxes_add(job->p->masks.boxes, (const int32_t (*)[5]) r->box, job->p->masks.logits.n);
}

static void draw(struct job job, bool labels, bool boxes)
{
    const struct sam_draw_masks *m = &job.p->masks;
    job.labels = labels;
    job.boxes = boxes;
    job.width = labels ? m->labels.width : m->width;
    job.height = labels ? m->labels.height : m->height;
    if (boxes)
        sam_boxes_begin(m->boxes, m->logits.n);
    sam_pool_run(job.cpu->pool, job.h, draw_task, &job);
    if (boxes)
        sam_boxes_end(m->boxes, m->logits.n);
}

void sam_draw_edges_cpu(struct sam_queue *q, const struct sam_draw_edges *p)
{
    const struct sam_draw_masks *m = &p->masks;
    const struct job job = { .cpu = sam_cpu(q), .p = p, .h = m->logits.w, .w = m->logits.c };
    const bool together = m->labels.data && m->boxes && m->width == m->labels.width &&
                          m->height == m->labels.height;
    if (job.w > SAM_MAX_SIDE || m->logits.n > MAX_OBJECTS) {
        sam_draw_edges_ref(q, p); // beyond any model's size
        return;
    }
    if (m->labels.data)
        draw(job, true, together);
    if (m->boxes && !together)
        draw(job, false, true);
}
