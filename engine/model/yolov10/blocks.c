// SPDX-License-Identifier: MIT
// The layers. Each takes its rooms from the arena of the pass and gives them back.
#include <math.h>

#include "net/forward.h"
#include "yolov10.h"

static struct sam_tensor take(struct sam_pass *p, struct sam_tensor like, int c)
{
    return sam_arena_tensor(p->arena, sam_queue_type(p->queue), 1, like.h, like.w, c);
}

static const struct yolo_weights *weights_of(const struct sam_pass *p)
{
    return p->model->trunk;
}

static void run_spatial(struct sam_pass *p, const struct yolo_spatial *s, struct sam_tensor src,
                        struct sam_tensor dst, enum sam_act act)
{
    if (p->live)
        depthwise(p->queue, .dst = dst, .src = src, .weight = s->weight, .bias = s->bias,
                  .kernel = s->kernel, .stride = dst.h == src.h ? 1 : 2, .act = act);
}

// 3 x 3, with the stride that the maps tell.
static void run_conv(struct sam_pass *p, const struct sam_product *w, struct sam_tensor src,
                     struct sam_tensor dst)
{
    if (p->live)
        conv(p->queue, .dst = dst, .src = src, PRODUCT(*w), .kernel = 3,
             .stride = dst.h == src.h ? 1 : 2, .pad = 1, .act = SAM_ACT_SILU);
}

static void run_product(struct sam_pass *p, const struct sam_product *w, struct sam_tensor src,
                        struct sam_tensor dst, enum sam_act act)
{
    if (p->live)
        linear(p->queue, .dst = dst, .src = src, LINEAR(*w), .act = act);
}

static void copy_part(struct sam_pass *p, struct sam_tensor dst, int to, struct sam_tensor src,
                      int from, int channels)
{
    if (p->live)
        copy_channels(p->queue, .dst = dst, .src = src, .to = to, .from = from,
                      .channels = channels, .up = 1);
}

void yolo_down_run(struct sam_pass *p, const struct yolo_down *d, struct sam_tensor src,
                   struct sam_tensor dst)
{
    const size_t mark = sam_arena_mark(p->arena);

    if (p->live && !d->spatial.kernel) {
        run_conv(p, &d->product, src, dst);
        return;
    }
    const struct sam_tensor t = take(p, src, dst.c);
    run_product(p, &d->product, src, t, SAM_ACT_SILU);
    run_spatial(p, &d->spatial, t, dst, SAM_ACT_NONE);
    sam_arena_release(p->arena, mark);
}

// x -> y, both of c channels, rooms t (c) and wide (2 c) twice.
static void run_block(struct sam_pass *p, const struct yolo_bottleneck *b, int kind, bool shortcut,
                      struct sam_tensor x, struct sam_tensor y, const struct sam_tensor *room)
{
    if (kind == YOLO_PLAIN) {
        run_conv(p, &b->first, x, room[0]);
        run_conv(p, &b->second, room[0], y);
    } else {
        run_spatial(p, &b->before, x, room[0], SAM_ACT_SILU);
        run_product(p, &b->expand, room[0], room[1], SAM_ACT_SILU);
        run_spatial(p, &b->middle, room[1], room[2], SAM_ACT_SILU);
        run_product(p, &b->project, room[2], room[0], SAM_ACT_SILU);
        run_spatial(p, &b->after, room[0], y, SAM_ACT_SILU);
    }
    if (shortcut && p->live)
        add(p->queue, .dst = y, .a = y, .b = x, .scale = 1);
}

// Compact blocks are residual everywhere, plain ones in the backbone.
void yolo_c2f_run(struct sam_pass *p, int layer, struct sam_tensor src, struct sam_tensor dst)
{
    const struct yolo_sizes *s = yolo_sizes(&p->model->config);
    const int c = s->inner[layer], n = s->repeats[layer], kind = s->kind[layer];
    const struct yolo_c2f *m = p->live ? &weights_of(p)->c2f[layer] : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor all = take(p, src, (2 + n) * c), both = take(p, src, 2 * c);
    const struct sam_tensor turn[2] = { take(p, src, c), take(p, src, c) };
    const struct sam_tensor room[3] = { take(p, src, c), kind ? take(p, src, 2 * c) : both, both };

    if (m) {
        run_product(p, &m->in, src, both, SAM_ACT_SILU);
        copy_part(p, all, 0, both, 0, 2 * c);
        copy_part(p, turn[0], 0, both, c, c);
    }
    for (int i = 0; m && i < n; i++) {
        run_block(p, &m->block[i], kind, kind || layer < 9, turn[i % 2], turn[(i + 1) % 2], room);
        copy_part(p, all, (2 + i) * c, turn[(i + 1) % 2], 0, c);
    }
    if (m)
        run_product(p, &m->out, all, dst, SAM_ACT_SILU);
    sam_arena_release(p->arena, mark);
}

void yolo_pool_run(struct sam_pass *p, struct sam_tensor src, struct sam_tensor dst)
{
    const int c = yolo_sizes(&p->model->config)->inner[9];
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor all = take(p, src, 4 * c);
    const struct sam_tensor turn[2] = { take(p, src, c), take(p, src, c) };

    if (p->live) {
        run_product(p, &weights_of(p)->pool_in, src, turn[0], SAM_ACT_SILU);
        copy_part(p, all, 0, turn[0], 0, c);
        for (int i = 0; i < 3; i++) {
            maxpool_around(p->queue, .dst = turn[(i + 1) % 2], .src = turn[i % 2], .kernel = 5);
            copy_part(p, all, (i + 1) * c, turn[(i + 1) % 2], 0, c);
        }
        run_product(p, &weights_of(p)->pool_out, all, dst, SAM_ACT_SILU);
    }
    sam_arena_release(p->arena, mark);
}

// x += project(attention(x) + place(v)).
static void attend(struct sam_pass *p, const struct yolo_attention *a, struct sam_tensor x,
                   int heads)
{
    const int rows = x.h * x.w, key = x.c / heads / 2;
    const struct sam_tensor q = take(p, x, x.c / 2), k = take(p, x, x.c / 2), v = take(p, x, x.c);
    const struct sam_tensor mixed = take(p, x, x.c), place = take(p, x, x.c);

    if (!p->live)
        return;
    run_product(p, &a->q, x, q, SAM_ACT_NONE);
    run_product(p, &a->k, x, k, SAM_ACT_NONE);
    run_product(p, &a->v, x, v, SAM_ACT_NONE);
    attention(p->queue, .dst = sam_view(mixed, 1, 1, rows, x.c),
              .q = sam_view(q, 1, 1, rows, q.c), .k = sam_view(k, 1, 1, rows, k.c),
              .v = sam_view(v, 1, 1, rows, v.c), .heads = heads, .scale = 1 / sqrtf((float) key));
    run_spatial(p, &a->place, v, place, SAM_ACT_NONE);
    add(p->queue, .dst = mixed, .a = mixed, .b = place, .scale = 1);
    linear(p->queue, .dst = x, .src = mixed, LINEAR(a->project), .add = x);
}

void yolo_attention_run(struct sam_pass *p, struct sam_tensor src, struct sam_tensor dst)
{
    const int c = src.c / 2, heads = yolo_heads(yolo_sizes(&p->model->config));
    const struct yolo_attention *a = p->live ? &weights_of(p)->attention : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor both = take(p, src, 2 * c), x = take(p, src, c);
    const struct sam_tensor hidden = take(p, src, 2 * c);

    if (a) {
        run_product(p, &a->in, src, both, SAM_ACT_SILU);
        copy_part(p, x, 0, both, c, c);
    }
    attend(p, a, x, heads);
    if (a) {
        run_product(p, &a->up, x, hidden, SAM_ACT_SILU);
        linear(p->queue, .dst = x, .src = hidden, LINEAR(a->down), .add = x);
        copy_part(p, both, c, x, 0, c);
        run_product(p, &a->out, both, dst, SAM_ACT_SILU);
    }
    sam_arena_release(p->arena, mark);
}

void yolo_head_run(struct sam_pass *p, int level, struct sam_tensor src, struct sam_tensor score,
                   struct sam_tensor box)
{
    const struct yolo_sizes *s = yolo_sizes(&p->model->config);
    const struct yolo_head *h = p->live ? &weights_of(p)->head[level] : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor b1 = take(p, src, s->box_width), b2 = take(p, src, s->box_width);
    const struct sam_tensor c0 = take(p, src, src.c);
    const struct sam_tensor c1 = take(p, src, s->class_width), c2 = take(p, src, s->class_width);

    if (h) {
        run_conv(p, &h->box1, src, b1);
        run_conv(p, &h->box2, b1, b2);
        run_product(p, &h->box3, b2, box, SAM_ACT_NONE);
        run_spatial(p, &h->class1, src, c0, SAM_ACT_SILU);
        run_product(p, &h->class2, c0, c1, SAM_ACT_SILU);
        run_spatial(p, &h->class3, c1, c2, SAM_ACT_SILU);
        run_product(p, &h->class4, c2, c1, SAM_ACT_SILU);
        run_product(p, &h->class5, c1, score, SAM_ACT_NONE);
    }
    sam_arena_release(p->arena, mark);
}
