// SPDX-License-Identifier: MIT
// The pixel decoder: deformable attention among the positions of three maps, and one map at stride
// 4 whose channels masks are made of.
#include "mask2former.h"
#include "net/forward.h"

static void run_group_norm(struct sam_pass *p, const struct sam_affine *norm, enum sam_act act,
                           struct sam_tensor x)
{
    groupnorm(p->queue, .dst = x, .src = x, NORM(*norm), .groups = M2F_GROUPS,
              .eps = EPS_TRANSFORMER, .act = act);
}

// The maps as rows, the coarsest first, and the places of their positions.
static void gather(struct sam_pass *p, const struct sam_tensor *map, struct sam_tensor x,
                   struct sam_tensor places)
{
    const struct sam_config *c = &p->model->config;
    const struct m2f_weights *w = m2f_weights_of(p);

    for (int level = 0; p->live && level < M2F_LEVELS; level++) {
        const int first = m2f_first(c, level), rows = m2f_first(c, level + 1) - first;
        const struct sam_tensor part = m2f_rows(x, first, rows);
        linear(p->queue, .dst = part, .src = map[SAM_STAGES - 1 - level],
               LINEAR(w->level[level].product));
        run_group_norm(p, &w->level[level].norm, SAM_ACT_NONE, part);
        add(p->queue, .dst = m2f_rows(places, first, rows), .a = m2f_rows(w->sine, first, rows),
            .b = m2f_rows(w->level_place, level, 1), .scale = 1);
    }
}

static void attend(struct sam_pass *p, const struct m2f_encoder_layer *w, struct sam_tensor places,
                   struct sam_tensor x)
{
    const struct sam_config *c = &p->model->config;
    const int rows = x.w, d = x.c, heads = m2f_sizes(c)->decoder_heads;
    const int samples = heads * M2F_LEVELS * M2F_POINTS;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor placed = m2f_take(p, SAM_F32, 1, 1, rows, d);
    const struct sam_tensor offsets = m2f_take(p, SAM_F32, 1, 1, rows, 2 * samples);
    const struct sam_tensor weights = m2f_take(p, SAM_F32, 1, 1, rows, samples);
    const struct sam_tensor values = m2f_take(p, sam_queue_type(p->queue), 1, 1, rows, d);
    const struct sam_tensor mixed = m2f_take(p, sam_queue_type(p->queue), 1, 1, rows, d);

    if (p->live) {
        const int side[M2F_LEVELS] = { m2f_level_grid(c, 0), m2f_level_grid(c, 1),
                                       m2f_level_grid(c, 2) };
        add(p->queue, .dst = placed, .a = x, .b = places, .scale = 1);
        linear(p->queue, .dst = offsets, .src = placed, LINEAR(w->offsets));
        linear(p->queue, .dst = weights, .src = placed, LINEAR(w->weights));
        linear(p->queue, .dst = values, .src = x, LINEAR(w->values));
        deform_attention(p->queue, .dst = mixed, .values = values, .offsets = offsets,
                         .weights = weights, .references = m2f_weights_of(p)->references,
                         .heads = heads, .levels = M2F_LEVELS, .points = M2F_POINTS,
                         .height = { side[0], side[1], side[2] },
                         .width = { side[0], side[1], side[2] });
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->out), .add = x);
        layernorm(p->queue, .dst = x, .src = x, NORM(w->norm[0]), .eps = EPS_TRANSFORMER);
    }
    sam_arena_release(p->arena, mark);
}

static void feed_on(struct sam_pass *p, const struct m2f_encoder_layer *w, struct sam_tensor x)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor hidden =
        m2f_take(p, sam_queue_type(p->queue), 1, 1, x.w,
                 m2f_sizes(&p->model->config)->encoder_hidden);

    if (p->live) {
        linear(p->queue, .dst = hidden, .src = x, LINEAR(w->up), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = x, .src = hidden, LINEAR(w->down), .add = x);
        layernorm(p->queue, .dst = x, .src = x, NORM(w->norm[1]), .eps = EPS_TRANSFORMER);
    }
    sam_arena_release(p->arena, mark);
}

// The map at stride 4, joined by the finest level twice as large.
static void run_fine(struct sam_pass *p, struct sam_tensor map, struct sam_tensor level,
                     struct sam_tensor features)
{
    const struct m2f_weights *w = m2f_weights_of(p);
    const int d = level.c, rows = map.h * map.w;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor fine = m2f_take(p, SAM_F32, 1, map.h, map.w, d);
    const struct sam_tensor other = m2f_take(p, SAM_F32, 1, map.h, map.w, d);

    if (p->live) {
        linear(p->queue, .dst = fine, .src = map, PRODUCT(w->fine.product));
        run_group_norm(p, &w->fine.norm, SAM_ACT_NONE, fine);
        resize(p->queue, .dst = other, .src = level);
        add(p->queue, .dst = fine, .a = fine, .b = other, .scale = 1);
        conv(p->queue, .dst = other, .src = fine, PRODUCT(w->smooth.product), .kernel = 3,
             .stride = 1, .pad = 1);
        run_group_norm(p, &w->smooth.norm, SAM_ACT_RELU, other);
        linear(p->queue, .dst = sam_view(features, 1, 1, rows, features.c),
               .src = sam_view(other, 1, 1, rows, d), LINEAR(w->features));
    }
    sam_arena_release(p->arena, mark);
}

void m2f_run_pixels(struct sam_pass *p, const struct sam_tensor *map, struct sam_tensor levels,
                    struct sam_tensor features)
{
    const struct sam_config *c = &p->model->config;
    const struct m2f_sizes *s = m2f_sizes(c);
    const int finest = M2F_LEVELS - 1, side = m2f_level_grid(c, finest);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor places = m2f_take(p, SAM_F32, 1, 1, levels.w, levels.c);

    gather(p, map, levels, places);
    sam_pass_tell(p, "levels", -1, levels);
    for (int i = 0; i < s->encoder_layers; i++) {
        const struct m2f_encoder_layer *w = p->live ? &m2f_weights_of(p)->encoder[i] : NULL;
        attend(p, w, places, levels);
        feed_on(p, w, levels);
        sam_pass_tell(p, "encoded", i, levels);
    }
    sam_arena_release(p->arena, mark);
    run_fine(p, map[0], sam_view(m2f_rows(levels, m2f_first(c, finest), side * side), 1, side, side,
                                 levels.c), features);
    sam_pass_tell(p, "features", -1, features);
}
