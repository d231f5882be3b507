// SPDX-License-Identifier: MIT
// Scales frames, maps and masks. Threads share blocks of output rows; the tables that all blocks
// need (where each column reads) are computed once, in the caller's workspace.

#include <math.h>
#include <string.h>

#include "ops/cpu/boxes.h"
#include "ops/cpu/pixels.h"
#include "ops/cpu/rows.h"
#include "ops/ref/ref.h"

enum {
    SHARED = 1 << 20, // of the caller's workspace: tables that every thread reads
    SCRATCH = SAM_POOL_WORKSPACE - SHARED,
};

static int min_int(int a, int b) { return a < b ? a : b; }
static int max_int(int a, int b) { return a > b ? a : b; }

static void *shared(struct sam_cpu *cpu)
{
    return sam_pool_workspace(cpu->pool, 0);
}

static float *scratch(struct sam_cpu *cpu, int thread)
{
    return (float *) ((char *) sam_pool_workspace(cpu->pool, thread) + SHARED);
}

// The arithmetic of both is the reference's, f32 and all: see ref.h.
static struct sam_tap bilinear(int position, int out, int in)
{
    const float scale = (float) in / (float) out;
    float at = scale * (position + 0.5f) - 0.5f;
    if (at < 0)
        at = 0;
    const int lo = min_int((int) at, in - 1);
    return (struct sam_tap) { lo, min_int(lo + 1, in - 1), at - lo };
}

static float tent_weight(float centre, float width, int source)
{
    const float distance = fabsf((source - centre + 0.5f) / width);
    return distance < 1 ? 1 - distance : 0;
}

// Most sources that one position reads.
static int tent_size(int out, int in)
{
    const float scale = (float) in / (float) out;
    return 2 * (int) ceilf(scale > 1 ? scale : 1) + 2;
}

// Weights to weights[at ...], scaled to sum 1.
static struct sam_tent tent(int position, int out, int in, float *weights, int at)
{
    const float scale = (float) in / (float) out, width = scale > 1 ? scale : 1;
    const float centre = scale * (position + 0.5f);
    const int lo = max_int((int) (centre - width + 0.5f), 0);
    const int hi = min_int((int) (centre + width + 0.5f), in);
    double sum = 0;
    for (int i = lo; i < hi; i++)
        sum += weights[at + i - lo] = tent_weight(centre, width, i);
    for (int i = lo; i < hi; i++)
        weights[at + i - lo] = (float) (weights[at + i - lo] / sum);
    return (struct sam_tent) { lo, hi - lo, at };
}

// Rows of output that a block takes.
static int block_rows(const struct sam_cpu *cpu, int rows)
{
    const int each = rows / (4 * sam_pool_width(cpu->pool));
    return max_int(1, min_int(max_int(each, 8), 32));
}

// ---- resize

struct resize_job {
    struct sam_cpu *cpu;
    const struct sam_resize *p;
    int step, blocks; // rows of a block; blocks of one n
    const struct sam_tap *taps;
    const struct sam_tent *tents;
    const float *weights;
};

static const float *source_row(const struct sam_resize *p, int n, int y)
{
    return (const float *) p->src.data + ((size_t) n * p->src.h + y) * p->src.w * p->src.c;
}

static float *result_row(const struct sam_resize *p, int n, int y)
{
    return (float *) p->dst.data + ((size_t) n * p->dst.h + y) * p->dst.w * p->dst.c;
}

static void bilinear_task(void *priv, int i, int thread)
{
    const struct resize_job *job = priv;
    const struct sam_resize *p = job->p;
    const struct sam_pixel_kernels *k = job->cpu->pixels;
    const size_t count = (size_t) p->dst.w * p->dst.c;
    const int n = i / job->blocks, first = i % job->blocks * job->step;
    float *row[2] = { scratch(job->cpu, thread), scratch(job->cpu, thread) + count };
    int held[2] = { -1, -1 }; // the source rows stretched in row[]
    for (int y = first; y < min_int(first + job->step, p->dst.h); y++) {
        const struct sam_tap v = bilinear(y, p->dst.h, p->src.h);
        const int wanted[2] = { v.lo, v.hi };
        for (int j = 0; j < 2; j++)
            if (held[wanted[j] & 1] != wanted[j]) { // neighbours: never both in one place
                held[wanted[j] & 1] = wanted[j];
                k->stretch(row[wanted[j] & 1], source_row(p, n, wanted[j]), job->taps, p->dst.w,
                           p->dst.c);
            }
        k->blend(result_row(p, n, y), row[v.lo & 1], row[v.hi & 1], v.weight, count);
    }
}

static void tent_task(void *priv, int i, int thread)
{
    const struct resize_job *job = priv;
    const struct sam_resize *p = job->p;
    const struct sam_pixel_kernels *k = job->cpu->pixels;
    const size_t count = (size_t) p->src.w * p->src.c;
    const int n = i / job->blocks, first = i % job->blocks * job->step;
    float *sum = scratch(job->cpu, thread), *weights = sum + count;
    for (int y = first; y < min_int(first + job->step, p->dst.h); y++) {
        const struct sam_tent v = tent(y, p->dst.h, p->src.h, weights, 0);
        for (int j = 0; j < v.count; j++)
            k->accumulate(sum, source_row(p, n, v.first + j), weights[j], j > 0, count);
        k->shrink(result_row(p, n, y), sum, job->tents, job->weights, p->dst.w, p->dst.c);
    }
}

// Tents of all columns, then their weights, into the shared tables. False: no room.
static bool fill_tents(struct sam_cpu *cpu, int out, int in, const struct sam_tent **tents,
                       const float **weights)
{
    const int size = tent_size(out, in);
    struct sam_tent *t = shared(cpu);
    float *w = (float *) (t + out);
    if ((size_t) out * (sizeof(*t) + size * sizeof(*w)) > SHARED)
        return false;
    for (int x = 0; x < out; x++)
        t[x] = tent(x, out, in, w, x * size);
    *tents = t;
    *weights = w;
    return true;
}

static bool fill_taps(struct sam_cpu *cpu, int out, int in, const struct sam_tap **taps)
{
    struct sam_tap *t = shared(cpu);
    if (out * sizeof(*t) > SHARED)
        return false;
    for (int x = 0; x < out; x++)
        t[x] = bilinear(x, out, in);
    *taps = t;
    return true;
}

void sam_resize_cpu(struct sam_queue *q, const struct sam_resize *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    struct resize_job job = { .cpu = cpu, .p = p, .step = block_rows(cpu, p->dst.h) };
    job.blocks = (p->dst.h + job.step - 1) / job.step;
    const size_t floats = (size_t) 2 * max_int(p->src.w, p->dst.w) * p->src.c +
                          tent_size(p->dst.h, p->src.h);
    const bool small = floats * sizeof(float) <= SCRATCH;
    if (small && p->antialias && fill_tents(cpu, p->dst.w, p->src.w, &job.tents, &job.weights))
        sam_pool_run(cpu->pool, job.blocks * p->dst.n, tent_task, &job);
    else if (small && !p->antialias && fill_taps(cpu, p->dst.w, p->src.w, &job.taps))
        sam_pool_run(cpu->pool, job.blocks * p->dst.n, bilinear_task, &job);
    else
        sam_resize_ref(q, p); // beyond any frame's size
}

// ---- rows of frames

// ITU-R BT.601 and BT.709: Y' = kr R' + kg G' + kb B', Cb = (B' - Y') / (2 (1 - kb)),
// Cr = (R' - Y') / (2 (1 - kr)), solved for R'G'B'.
static struct sam_ycbcr solve(const struct sam_frame *f)
{
    const struct sam_colour *c = &f->colour;
    const float full = f->format == SAM_PIXEL_P010 ? 255 / 255.75f : 1; // see ops/ref
    const bool given = c->kr > 0 || c->kb > 0;
    const float kr = given ? c->kr : 0.299f, kb = given ? c->kb : 0.114f, kg = 1 - kr - kb;
    const float chroma = c->full_range ? full : 255.0f / 224;
    const float luma = c->full_range ? full : 255.0f / 219;
    return (struct sam_ycbcr) {
        .y_scale = luma, .y_bias = c->full_range ? 0 : -16 * luma, .chroma_bias = -128,
        .r_cr = 2 * (1 - kr) * chroma, .b_cb = 2 * (1 - kb) * chroma,
        .g_cr = -2 * (1 - kr) * chroma * kr / kg, .g_cb = -2 * (1 - kb) * chroma * kb / kg,
    };
}

// Row y of f as R'G'B', 4 numbers a pixel. room: 3 (width + 1) floats.
static void load_row(const struct sam_cpu *cpu, const struct sam_frame *f,
                     const struct sam_ycbcr *ycbcr, int y, float *dst, float *room)
{
    const struct sam_pixel_kernels *k = cpu->pixels;
    const int half = y / 2, width = f->width;
    const uint8_t *row = f->plane[0] + (size_t) y * f->stride[0];
    switch (f->format) {
    case SAM_PIXEL_RGB:   k->load_packed(dst, row, 3, false, width); break;
    case SAM_PIXEL_BGR:   k->load_packed(dst, row, 3, true, width); break;
    case SAM_PIXEL_RGBA:  k->load_packed(dst, row, 4, false, width); break;
    case SAM_PIXEL_BGRA:  k->load_packed(dst, row, 4, true, width); break;
    case SAM_PIXEL_GRAY8: k->load_packed(dst, row, 1, false, width); break;
    case SAM_PIXEL_NV12: {
        const uint8_t *chroma = f->plane[1] + (size_t) half * f->stride[1];
        k->load_ycbcr(dst, row, 1, chroma, chroma + 1, 2, ycbcr, room, width);
        break;
    }
    case SAM_PIXEL_I420:
        k->load_ycbcr(dst, row, 1, f->plane[1] + (size_t) half * f->stride[1],
                      f->plane[2] + (size_t) half * f->stride[2], 1, ycbcr, room, width);
        break;
    case SAM_PIXEL_YUY2:
        k->load_ycbcr(dst, row, 2, row + 1, row + 3, 4, ycbcr, room, width);
        break;
    case SAM_PIXEL_P010:
        k->load_wide(dst, row, f->plane[1] + (size_t) half * f->stride[1], ycbcr, room,
                     width);
        break;
    }
}

// ---- preprocess

struct preprocess_job {
    struct sam_cpu *cpu;
    const struct sam_preprocess *p;
    int step;
    struct sam_ycbcr ycbcr;
    const struct sam_tent *tents;
    const float *weights;
};

// Colour first, then the filter, down before across: that way the long rows of the frame are
// summed by vectors, and only one row is left to be filtered across.
static void preprocess_task(void *priv, int i, int thread)
{
    static const float scales[][3] = {
        [SAM_INPUT_IMAGENET] = { 1 / (255 * 0.229f), 1 / (255 * 0.224f), 1 / (255 * 0.225f) },
        [SAM_INPUT_CENTRED]  = { 1 / 128.0f, 1 / 128.0f, 1 / 128.0f },
        [SAM_INPUT_EVEN]     = { 1 / 127.5f, 1 / 127.5f, 1 / 127.5f },
    };
    static const float biases[][3] = {
        [SAM_INPUT_IMAGENET] = { -0.485f / 0.229f, -0.456f / 0.224f, -0.406f / 0.225f },
        [SAM_INPUT_CENTRED]  = { -127 / 128.0f, -127 / 128.0f, -127 / 128.0f },
        [SAM_INPUT_EVEN]     = { -1, -1, -1 },
    };
    enum { MAX_HELD = 64 };
    const struct preprocess_job *job = priv;
    const float *scale = scales[job->p->scale], *bias = biases[job->p->scale];
    const struct sam_tensor *d = &job->p->dst;
    const struct sam_frame *f = &job->p->frame;
    const size_t count = (size_t) 4 * f->width;

    float *sum = scratch(job->cpu, thread), *room = sum + count;
    float *result = room + 3 * (f->width + 1), *weights = result + 3 * d->w;
    float *held = weights + tent_size(d->h, f->height);
    const size_t left = SCRATCH / sizeof(float) - (size_t) (held - sum);
    const int places = (int) (left / count < MAX_HELD ? left / count : MAX_HELD);
    int row_of[MAX_HELD]; // the frame's rows in `held`
    for (int j = 0; j < places; j++)
        row_of[j] = -1;

    for (int y = i * job->step; y < min_int((i + 1) * job->step, d->h); y++) {
        const struct sam_tent v = tent(y, d->h, f->height, weights, 0);
        for (int j = 0; j < v.count; j++) {
            const int row = v.first + j, place = row % places;
            if (row_of[place] != row)
                load_row(job->cpu, f, &job->ycbcr, row, held + place * count, room);
            row_of[place] = row;
            job->cpu->pixels->accumulate(sum, held + place * count, weights[j], j > 0, count);
        }
        const struct sam_span dst = sam_span_at(d, (size_t) y * d->w * 3);
        float *to = dst.type == SAM_F32 ? dst.data : result;
        job->cpu->pixels->shrink_rgb(to, sum, job->tents, job->weights, scale, bias, d->w);
        if (dst.type != SAM_F32)
            job->cpu->rows->convert(dst, (struct sam_span) { to, SAM_F32 }, (size_t) d->w * 3);
    }
}

void sam_preprocess_cpu(struct sam_queue *q, const struct sam_preprocess *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    const struct sam_frame *f = &p->frame;
    struct preprocess_job job = { .cpu = cpu, .p = p, .step = block_rows(cpu, p->dst.h) };
    job.ycbcr = solve(f);
    const size_t floats = (size_t) 4 * f->width + 3 * (f->width + 1) + 3 * p->dst.w +
                          tent_size(p->dst.h, f->height) + 4 * (size_t) f->width;
    if (floats * sizeof(float) <= SCRATCH &&
        fill_tents(cpu, p->dst.w, f->width, &job.tents, &job.weights))
        sam_pool_run(cpu->pool, (p->dst.h + job.step - 1) / job.step, preprocess_task, &job);
    else
        sam_preprocess_ref(q, p); // beyond any frame's size
}

// ---- letterbox

struct letterbox_job {
    struct sam_cpu *cpu;
    const struct sam_letterbox *p;
    int step;
    struct sam_ycbcr ycbcr;
    const struct sam_tap *taps; // of the columns
};

static void fill_row(const struct sam_letterbox *p, float *dst, int first, int last)
{
    for (int x = 3 * first; x < 3 * last; x++)
        dst[x] = p->fill / 255;
}

// Row y of dst, F32; held: the frame's rows in source[].
static void letterbox_row(const struct letterbox_job *job, int y, float *dst,
                          float *const source[2], int held[2], float *room)
{
    const struct sam_letterbox *p = job->p;
    const bool inside = y >= p->y && y < p->y + p->height;
    fill_row(p, dst, 0, inside ? p->x : p->dst.w);
    if (!inside)
        return;
    fill_row(p, dst, p->x + p->width, p->dst.w);
    const struct sam_tap v = bilinear(y - p->y, p->height, p->frame.height);
    const int wanted[2] = { v.lo, v.hi };
    for (int j = 0; j < 2; j++)
        if (held[wanted[j] & 1] != wanted[j]) { // neighbours: never both in one place
            held[wanted[j] & 1] = wanted[j];
            load_row(job->cpu, &p->frame, &job->ycbcr, wanted[j], source[wanted[j] & 1], room);
        }
    if (p->width == p->frame.width && p->height == p->frame.height)
        job->cpu->pixels->round_rgb(dst + 3 * p->x, source[v.lo & 1], p->width);
    else
        job->cpu->pixels->mix_rgb(dst + 3 * p->x, source[v.lo & 1], source[v.hi & 1], v.weight,
                                  job->taps, p->width);
}

static void letterbox_task(void *priv, int i, int thread)
{
    const struct letterbox_job *job = priv;
    const struct sam_tensor *d = &job->p->dst;
    const size_t count = (size_t) 4 * job->p->frame.width;
    float *base = scratch(job->cpu, thread), *const source[2] = { base, base + count };
    float *room = base + 2 * count, *result = room + 3 * (job->p->frame.width + 1);
    int held[2] = { -1, -1 };
    for (int y = i * job->step; y < min_int((i + 1) * job->step, d->h); y++) {
        const struct sam_span dst = sam_span_at(d, (size_t) y * d->w * 3);
        float *to = dst.type == SAM_F32 ? dst.data : result;
        letterbox_row(job, y, to, source, held, room);
        if (dst.type != SAM_F32)
            job->cpu->rows->convert(dst, (struct sam_span) { to, SAM_F32 }, (size_t) d->w * 3);
    }
}

void sam_letterbox_cpu(struct sam_queue *q, const struct sam_letterbox *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    struct letterbox_job job = { .cpu = cpu, .p = p, .step = block_rows(cpu, p->dst.h) };
    job.ycbcr = solve(&p->frame);
    const size_t floats = (size_t) 8 * p->frame.width + 3 * ((size_t) p->frame.width + 1) +
                          3 * (size_t) p->dst.w;
    if (floats * sizeof(float) <= SCRATCH &&
        fill_taps(cpu, p->width, p->frame.width, &job.taps))
        sam_pool_run(cpu->pool, (p->dst.h + job.step - 1) / job.step, letterbox_task, &job);
    else
        sam_letterbox_ref(q, p); // beyond any frame's size
}

// ---- draw_masks

struct draw_job {
    struct sam_cpu *cpu;
    const struct sam_draw_masks *p;
    const struct sam_tap *taps; // of the columns
    int width, height, step;
    bool labels, boxes;
};

// Of which a task adds up the boxes before its rows.
enum { MAX_OBJECTS = 255 };

// One source row stretched to the output's width, and where it is above zero.
struct stretched {
    float *row;
    int held, first, last;
};

static void stretch_to(const struct draw_job *job, struct stretched *s, const float *map, int row)
{
    if (s->held == row)
        return;
    job->cpu->pixels->stretch(s->row, map + (size_t) row * job->p->logits.c, job->taps, job->width,
                              1);
    s->held = row;
    s->first = 0;
    s->last = job->width;
    while (s->first < s->last && !(s->row[s->first] > 0))
        s->first++;
    while (s->last > s->first && !(s->row[s->last - 1] > 0))
        s->last--;
}

// Rows [y0, y1) of object n. Only where one of two source rows is above zero can what lies
// between them be.
static void draw_object(const struct draw_job *job, int n, int y0, int y1, float *best,
                        struct stretched pair[2], int32_t *box)
{
    const struct sam_draw_masks *p = job->p;
    const float *map = (const float *) p->logits.data + (size_t) n * p->logits.w * p->logits.c;
    pair[0].held = pair[1].held = -1;
    for (int y = y0; y < y1; y++) {
        const struct sam_tap v = bilinear(y, job->height, p->logits.w);
        struct stretched *a = &pair[v.lo & 1], *b = &pair[v.hi & 1];
        stretch_to(job, a, map, v.lo);
        stretch_to(job, b, map, v.hi);
        const bool none = a->first == a->last;
        const int first = none ? b->first : b->first == b->last ? a->first
                                                                : min_int(a->first, b->first);
        const int last = none ? b->last : b->first == b->last ? a->last : max_int(a->last, b->last);
        if (first < last)
            job->cpu->pixels->draw(a->row, b->row, v.weight, first, last, y,
                                   best + (size_t) (y - y0) * job->width,
                                   job->labels ? p->labels.data + (size_t) y * p->labels.stride
                                               : NULL,
                                   (uint8_t) p->slot[n], job->boxes ? box : NULL);
    }
}

static void draw_task(void *priv, int i, int thread)
{
    const struct draw_job *job = priv;
    const struct sam_draw_masks *p = job->p;
    const int y0 = i * job->step, y1 = min_int(y0 + job->step, job->height);
    int32_t (*boxes)[5] = (int32_t (*)[5]) scratch(job->cpu, thread);
    float *rows = scratch(job->cpu, thread) + MAX_OBJECTS * 5, *best = rows + 2 * job->width;
    struct stretched pair[2] = { { rows, -1, 0, 0 }, { rows + job->width, -1, 0, 0 } };
    if (job->labels) {
        memset(best, 0, (size_t) (y1 - y0) * job->width * sizeof(*best));
        for (int y = y0; y < y1; y++)
            memset(p->labels.data + (size_t) y * p->labels.stride, 0, job->width);
    }
    memset(boxes, 0, (size_t) p->logits.n * sizeof(*boxes));
    for (int n = 0; n < p->logits.n; n++) // slots ascend: the first of a tie stays
        draw_object(job, n, y0, y1, best, pair, boxes[n]);
    if (job->boxes)
        sam_boxes_add(p->boxes, (const int32_t (*)[5]) boxes, p->logits.n);
}

static bool draw(struct sam_cpu *cpu, const struct sam_draw_masks *p, bool labels, bool boxes)
{
    struct draw_job job = { .cpu = cpu, .p = p, .labels = labels, .boxes = boxes };
    job.width = labels ? p->labels.width : p->width;
    job.height = labels ? p->labels.height : p->height;
    const size_t rows = (SCRATCH / sizeof(float) - MAX_OBJECTS * 5) / job.width;
    if (rows < 3 || p->logits.n > MAX_OBJECTS ||
        !fill_taps(cpu, job.width, p->logits.c, &job.taps))
        return false;
    job.step = min_int(block_rows(cpu, job.height), (int) rows - 2);
    if (boxes)
        sam_boxes_begin(p->boxes, p->logits.n);
    sam_pool_run(cpu->pool, (job.height + job.step - 1) / job.step, draw_task, &job);
    if (boxes)
        sam_boxes_end(p->boxes, p->logits.n);
    return true;
}

void sam_draw_masks_cpu(struct sam_queue *q, const struct sam_draw_masks *p)
{
    struct sam_cpu *cpu = sam_cpu(q);
    const bool labels = p->labels.data;
    const bool together = labels && p->boxes && p->width == p->labels.width &&
                          p->height == p->labels.height;
    bool done = true;
    if (labels)
        done = draw(cpu, p, true, together);
    if (p->boxes && !together)
        done = done && draw(cpu, p, false, true);
    if (!done)
        sam_draw_masks_ref(q, p); // beyond any frame's size
}
