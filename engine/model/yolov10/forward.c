// SPDX-License-Identifier: MIT
// The chain of layers: input -> candidates.
#include <stdio.h>

#include "net/forward.h"
#include "yolov10.h"

static struct sam_tensor take(struct sam_pass *p, int layer, int stride)
{
    const struct sam_config *c = &p->model->config;
    const int side = c->image_size / stride;
    return sam_arena_tensor(p->arena, sam_queue_type(p->queue), 1, side, side,
                            yolo_sizes(c)->width[layer]);
}

static void tell(struct sam_pass *p, int layer, struct sam_tensor t)
{
    char name[16];
    snprintf(name, sizeof(name), "layer%d", layer);
    if (p->live)
        sam_queue_mark(p->queue, name, t);
}

static void down(struct sam_pass *p, int layer, struct sam_tensor src, struct sam_tensor dst)
{
    static const struct yolo_down none;
    const struct yolo_weights *w = p->model->trunk;
    yolo_down_run(p, p->live ? &w->down[layer] : &none, src, dst);
    tell(p, layer, dst);
}

static void c2f(struct sam_pass *p, int layer, struct sam_tensor src, struct sam_tensor dst)
{
    yolo_c2f_run(p, layer, src, dst);
    tell(p, layer, dst);
}

// C2f of two maps side by side, of which the first may be half as large.
static void join(struct sam_pass *p, int layer, struct sam_tensor a, struct sam_tensor b,
                 struct sam_tensor dst)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor both = sam_arena_tensor(p->arena, dst.type, 1, b.h, b.w, a.c + b.c);

    if (p->live) {
        copy_channels(p->queue, .dst = both, .src = a, .channels = a.c, .up = b.h / a.h);
        copy_channels(p->queue, .dst = both, .src = b, .to = a.c, .channels = b.c, .up = 1);
    }
    c2f(p, layer, both, dst);
    sam_arena_release(p->arena, mark);
}

// Layers 0 to 4.
static void run_fine(struct sam_pass *p, struct sam_tensor input, struct sam_tensor x4)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor x3 = take(p, 3, 8), x1 = take(p, 1, 4), x2 = take(p, 2, 4);
    const size_t inner = sam_arena_mark(p->arena);
    const struct sam_tensor x0 = take(p, 0, 2);

    down(p, 0, input, x0);
    down(p, 1, x0, x1);
    sam_arena_release(p->arena, inner);
    c2f(p, 2, x1, x2);
    down(p, 3, x2, x3);
    c2f(p, 4, x3, x4);
    sam_arena_release(p->arena, mark);
}

// Layers 5 to 10.
static void run_coarse(struct sam_pass *p, struct sam_tensor x4, struct sam_tensor x6,
                       struct sam_tensor x10)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor x5 = take(p, 5, 16), x7 = take(p, 7, 32), x8 = take(p, 8, 32);
    const struct sam_tensor x9 = take(p, 9, 32);

    down(p, 5, x4, x5);
    c2f(p, 6, x5, x6);
    down(p, 7, x6, x7);
    c2f(p, 8, x7, x8);
    yolo_pool_run(p, x8, x9);
    tell(p, 9, x9);
    yolo_attention_run(p, x9, x10);
    tell(p, 10, x10);
    sam_arena_release(p->arena, mark);
}

static void run_heads(struct sam_pass *p, const struct sam_tensor *level,
                      const struct sam_candidates *out)
{
    size_t at = 0;

    for (int i = 0; i < YOLO_LEVELS; i++) {
        const int rows = level[i].h * level[i].w;
        struct sam_tensor score = sam_view(out->score, 1, 1, rows, out->score.c);
        struct sam_tensor box = sam_view(out->box, 1, 1, rows, out->box.c);
        if (p->live) {
            score.data = (float *) out->score.data + at * out->score.c;
            box.data = (float *) out->box.data + at * out->box.c;
        }
        yolo_head_run(p, i, level[i], score, box);
        at += (size_t) rows;
    }
}

void yolo_run(struct sam_pass *p, struct sam_tensor input, struct sam_candidates *out)
{
    const struct sam_config *c = &p->model->config;
    const int count = yolo_candidates(c->image_size);
    *out = (struct sam_candidates) {
        .score = sam_arena_tensor(p->arena, SAM_F32, 1, 1, count, yolo_sizes(c)->classes),
        .box = sam_arena_tensor(p->arena, SAM_F32, 1, 1, count, 4 * YOLO_BINS),
    };
    const struct sam_tensor x4 = take(p, 4, 8), x6 = take(p, 6, 16), x10 = take(p, 10, 32);
    const struct sam_tensor x13 = take(p, 13, 16), x16 = take(p, 16, 8), x17 = take(p, 17, 16);
    const struct sam_tensor x19 = take(p, 19, 16), x20 = take(p, 20, 32), x22 = take(p, 22, 32);

    run_fine(p, input, x4);
    run_coarse(p, x4, x6, x10);
    join(p, 13, x10, x6, x13);
    join(p, 16, x13, x4, x16);
    down(p, 17, x16, x17);
    join(p, 19, x17, x13, x19);
    down(p, 20, x19, x20);
    join(p, 22, x20, x10, x22);
    run_heads(p, (const struct sam_tensor[]) { x16, x19, x22 }, out);
    if (p->live) {
        sam_queue_mark(p->queue, "logits", out->score);
        sam_queue_mark(p->queue, "bins", out->box);
    }
}
