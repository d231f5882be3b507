// SPDX-License-Identifier: MIT
// ResNet with bottlenecks; the stride is in the 3 x 3 convolution. BatchNorms are folded.
#include "mask2former.h"
#include "net/forward.h"

// dst = max(0, src): as a depthwise convolution of one tap.
static void run_relu(struct sam_pass *p, struct sam_tensor src, struct sam_tensor dst)
{
    const struct sam_affine *same = &m2f_weights_of(p)->same;
    depthwise(p->queue, .dst = dst, .src = src, .weight = sam_view(same->weight, 1, 1, 1, src.c),
              .bias = sam_view(same->bias, 1, 1, 1, src.c), .kernel = 1, .stride = 1,
              .act = SAM_ACT_RELU);
}

// x -> dst, which is as large, or has half the sides.
static void run_block(struct sam_pass *p, int stage, int i, struct sam_tensor x,
                      struct sam_tensor dst)
{
    const int inner = m2f_sizes(&p->model->config)->inner[stage], stride = x.h / dst.h;
    const enum sam_type type = sam_queue_type(p->queue);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor a = m2f_take(p, type, 1, x.h, x.w, inner);
    const struct sam_tensor b = m2f_take(p, type, 1, dst.h, dst.w, inner);
    const struct sam_tensor sum = m2f_take(p, SAM_F32, 1, dst.h, dst.w, dst.c);
    const struct sam_tensor kept = m2f_take(p, SAM_F32, 1, dst.h, dst.w, dst.c);

    if (p->live) {
        const struct m2f_resnet_block *w = &m2f_weights_of(p)->resnet[stage][i];
        const bool changes = w->shortcut.weight.data;
        if (changes)
            conv(p->queue, .dst = kept, .src = x, PRODUCT(w->shortcut), .kernel = 1,
                 .stride = stride);
        linear(p->queue, .dst = a, .src = x, LINEAR(w->in), .act = SAM_ACT_RELU);
        conv(p->queue, .dst = b, .src = a, PRODUCT(w->middle), .kernel = 3, .stride = stride,
             .pad = 1, .act = SAM_ACT_RELU);
        linear(p->queue, .dst = sum, .src = b, LINEAR(w->out), .add = changes ? kept : x);
        run_relu(p, sum, dst);
    }
    sam_arena_release(p->arena, mark);
}

// The largest of 3 x 3 positions around every other one.
static void run_pool(struct sam_pass *p, struct sam_tensor x, struct sam_tensor dst)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor around = m2f_take(p, SAM_F32, 1, x.h, x.w, x.c);
    const struct sam_tensor cells = m2f_take(p, SAM_F32, dst.h * dst.w, 1, 4, x.c);

    if (p->live) {
        maxpool_around(p->queue, .dst = around, .src = x, .kernel = 3);
        windows(p->queue, .dst = cells, .src = around, .side = 2);
        copy_channels(p->queue, .dst = dst, .src = sam_view(cells, 1, dst.h, dst.w, 4 * x.c),
                      .channels = x.c, .up = 1);
    }
    sam_arena_release(p->arena, mark);
}

static void run_stem(struct sam_pass *p, struct sam_tensor input, struct sam_tensor x)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor wide = m2f_take(p, SAM_F32, 1, 2 * x.h, 2 * x.w, x.c);

    if (p->live)
        conv(p->queue, .dst = wide, .src = input, PRODUCT(m2f_weights_of(p)->stem), .kernel = 7,
             .stride = 2, .pad = 3, .act = SAM_ACT_RELU);
    run_pool(p, wide, x);
    sam_arena_release(p->arena, mark);
}

void m2f_run_resnet(struct sam_pass *p, struct sam_tensor input, const struct sam_tensor *map)
{
    const struct sam_config *c = &p->model->config;
    const struct m2f_sizes *s = m2f_sizes(c);
    const size_t mark = sam_arena_mark(p->arena);
    struct sam_tensor x = m2f_take(p, SAM_F32, 1, m2f_grid(c, 0), m2f_grid(c, 0), s->stem);

    run_stem(p, input, x);
    sam_pass_tell(p, "embed", -1, x);
    for (int stage = 0, block = 0; stage < SAM_STAGES; stage++) {
        const size_t of_stage = sam_arena_mark(p->arena);
        const struct sam_tensor other =
            m2f_take(p, SAM_F32, 1, map[stage].h, map[stage].w, map[stage].c);
        // Blocks write to the map and to `other` in turn, the last one to the map.
        for (int i = 0; i < s->blocks[stage]; i++) {
            const struct sam_tensor dst = (s->blocks[stage] - i) % 2 ? map[stage] : other;
            run_block(p, stage, i, x, dst);
            sam_pass_tell(p, "block", block++, dst);
            x = dst;
        }
        sam_pass_tell(p, "stage", stage + 1, x);
        sam_arena_release(p->arena, of_stage);
    }
    sam_arena_release(p->arena, mark);
}
