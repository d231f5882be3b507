// SPDX-License-Identifier: MIT
// The decoder: queries attend to one level after another, each where its own mask is. Rows of
// queries stay in F32.
#include <math.h>

#include "mask2former.h"
#include "net/forward.h"

static void run_norm(struct sam_pass *p, const struct sam_affine *norm, struct sam_tensor x)
{
    layernorm(p->queue, .dst = x, .src = x, NORM(*norm), .eps = EPS_TRANSFORMER);
}

// What all layers read of a level.
struct level {
    struct sam_tensor keys, values; // with and without the places of positions: (1, 1, rows, d)
    struct sam_tensor features;     // at the level's size, as rows: (1, 1, rows, mask_width)
};

static void make_level(struct sam_pass *p, int i, struct sam_tensor levels,
                       struct sam_tensor features, const struct level *to)
{
    const struct sam_config *c = &p->model->config;
    const struct m2f_weights *w = m2f_weights_of(p);
    const int first = m2f_first(c, i), side = m2f_level_grid(c, i), rows = side * side;

    if (!p->live)
        return;
    add(p->queue, .dst = to->values, .a = m2f_rows(levels, first, rows),
        .b = m2f_rows(w->level_query, i, 1), .scale = 1);
    add(p->queue, .dst = to->keys, .a = to->values, .b = m2f_rows(w->sine, first, rows),
        .scale = 1);
    resize(p->queue, .dst = sam_view(to->features, 1, side, side, features.c), .src = features);
}

// The masks' logits, (1, 1, queries, rows of features). The product and the scaling of features are
// both linear: masks at the size of a level are made of features at that size.
static void run_masks(struct sam_pass *p, struct sam_tensor x, struct sam_tensor features,
                      struct sam_tensor masks)
{
    const struct m2f_weights *w = m2f_weights_of(p);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor a = sam_pass_rows(p, x.w, x.c), b = sam_pass_rows(p, x.w, x.c);
    const struct sam_tensor of_masks = sam_pass_rows(p, x.w, features.c);

    if (p->live) {
        layernorm(p->queue, .dst = a, .src = x, NORM(w->norm), .eps = EPS_TRANSFORMER);
        linear(p->queue, .dst = b, .src = a, LINEAR(w->mask[0]), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = a, .src = b, LINEAR(w->mask[1]), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = of_masks, .src = a, LINEAR(w->mask[2]));
        matmul(p->queue, .dst = masks, .a = of_masks, .b = features);
    }
    sam_arena_release(p->arena, mark);
}

static void run_classes(struct sam_pass *p, struct sam_tensor x, struct sam_tensor classes)
{
    const struct m2f_weights *w = m2f_weights_of(p);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor normed = sam_pass_rows(p, x.w, x.c);

    if (p->live) {
        layernorm(p->queue, .dst = normed, .src = x, NORM(w->norm), .eps = EPS_TRANSFORMER);
        linear(p->queue, .dst = classes, .src = normed, LINEAR(w->classes));
    }
    sam_arena_release(p->arena, mark);
}

static float scale_of(const struct sam_pass *p, int d)
{
    return 1 / sqrtf((float) (d / m2f_sizes(&p->model->config)->decoder_heads));
}

// To the positions of a level inside of each query's mask.
static void attend_level(struct sam_pass *p, const struct m2f_layer *w, const struct level *level,
                         struct sam_tensor x)
{
    const int rows = x.w, d = x.c, keys = level->keys.w;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor mask = sam_pass_rows(p, rows, keys), placed = sam_pass_rows(p, rows, d);
    const struct sam_tensor q = sam_pass_act(p, rows, d), k = sam_pass_act(p, keys, d);
    const struct sam_tensor v = sam_pass_act(p, keys, d), mixed = sam_pass_act(p, rows, d);

    run_masks(p, x, level->features, mask);
    if (p->live) {
        add(p->queue, .dst = placed, .a = x, .b = m2f_weights_of(p)->places, .scale = 1);
        linear(p->queue, .dst = q, .src = placed, LINEAR(w->cross_q));
        linear(p->queue, .dst = k, .src = level->keys, LINEAR(w->cross_k));
        linear(p->queue, .dst = v, .src = level->values, LINEAR(w->cross_v));
        masked_attention(p->queue, .dst = mixed, .q = q, .k = k, .v = v, .mask = mask,
                         .heads = m2f_sizes(&p->model->config)->decoder_heads,
                         .scale = scale_of(p, d));
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->cross_out), .add = x);
        run_norm(p, &w->norm[0], x);
    }
    sam_arena_release(p->arena, mark);
}

// Among the queries.
static void attend_self(struct sam_pass *p, const struct m2f_layer *w, struct sam_tensor x)
{
    const int rows = x.w, d = x.c;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor placed = sam_pass_rows(p, rows, d), q = sam_pass_act(p, rows, d);
    const struct sam_tensor k = sam_pass_act(p, rows, d), v = sam_pass_act(p, rows, d);
    const struct sam_tensor mixed = sam_pass_act(p, rows, d);

    if (p->live) {
        add(p->queue, .dst = placed, .a = x, .b = m2f_weights_of(p)->places, .scale = 1);
        linear(p->queue, .dst = q, .src = placed, LINEAR(w->q));
        linear(p->queue, .dst = k, .src = placed, LINEAR(w->k));
        linear(p->queue, .dst = v, .src = x, LINEAR(w->v));
        attention(p->queue, .dst = mixed, .q = q, .k = k, .v = v,
                  .heads = m2f_sizes(&p->model->config)->decoder_heads, .scale = scale_of(p, d));
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->out), .add = x);
        run_norm(p, &w->norm[1], x);
    }
    sam_arena_release(p->arena, mark);
}

static void feed_on(struct sam_pass *p, const struct m2f_layer *w, struct sam_tensor x)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor hidden = sam_pass_act(p, x.w, m2f_sizes(&p->model->config)->hidden);

    if (p->live) {
        linear(p->queue, .dst = hidden, .src = x, LINEAR(w->up), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = x, .src = hidden, LINEAR(w->down), .add = x);
        run_norm(p, &w->norm[2], x);
    }
    sam_arena_release(p->arena, mark);
}

void m2f_run_decoder(struct sam_pass *p, struct sam_tensor levels, struct sam_tensor features,
                     struct sam_tensor classes, struct sam_tensor masks)
{
    const struct sam_config *c = &p->model->config;
    const struct m2f_sizes *s = m2f_sizes(c);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor x = sam_pass_rows(p, s->queries, s->d);
    struct level level[M2F_LEVELS];

    for (int i = 0; i < M2F_LEVELS; i++) {
        const int rows = m2f_level_grid(c, i) * m2f_level_grid(c, i);
        level[i] = (struct level) { sam_pass_rows(p, rows, s->d), sam_pass_rows(p, rows, s->d),
                                    sam_pass_rows(p, rows, s->mask_width) };
        make_level(p, i, levels, features, &level[i]);
    }
    if (p->live)
        copy(p->queue, .dst = x, .src = m2f_weights_of(p)->queries);
    for (int i = 0; i < s->layers; i++) {
        const struct m2f_layer *w = p->live ? &m2f_weights_of(p)->layer[i] : NULL;
        attend_level(p, w, &level[i % M2F_LEVELS], x);
        attend_self(p, w, x);
        feed_on(p, w, x);
        sam_pass_tell(p, "layer", i, x);
    }
    run_classes(p, x, classes);
    const int rows = features.h * features.w;
    run_masks(p, x, sam_view(features, 1, 1, rows, features.c),
              sam_view(masks, 1, 1, s->queries, rows));
    sam_arena_release(p->arena, mark);
}
