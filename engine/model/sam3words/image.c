// SPDX-License-Identifier: MIT
// What depends on the image alone: the trunk, the neck at its stride, the finer maps of masks.c,
// and the token that stands behind every phrase.
#include <math.h>

#include "net/forward.h"
#include "sam3words.h"

void sam3w_run_image(struct sam_pass *p, struct sam_tensor input, struct sam_tensor image,
                     const struct sam3w_maps *maps)
{
    const struct sam_config *c = &p->model->config;
    const struct sam3w_sizes *s = sam3w_sizes(c);
    const int h = sam_grid(c);
    const size_t mark = sam_arena_mark(p->arena);
    struct sam_encoder_scratch scratch = { 0 };
    struct sam_tensor map = { 0 };

    sam_sam3_trunk_layout(&scratch, c, p->queue, (size_t) h * h * s->d, p->arena);
    scratch.input = input;
    if (p->live) {
        const struct sam3w_weights *w = sam3w_weights_of(p);
        map = p->trunk.data ? p->trunk : sam_sam3_trunk_run(p->queue, &w->trunk, c, &scratch);
        const struct sam_tensor narrow = sam_view(scratch.wide, 1, h, h, s->d);
        linear(p->queue, .dst = narrow, .src = map, LINEAR(w->narrow));
        conv(p->queue, .dst = sam_view(image, 1, h, h, s->d), .src = narrow, PRODUCT(w->smooth),
             .kernel = 3, .stride = 1, .pad = 1);
    }
    sam_pass_tell(p, "fpn", 2, image);
    sam3w_run_maps(p, map, maps);
    sam_arena_release(p->arena, mark);
}

static void run_layer(struct sam_pass *p, const struct sam3w_geometry_layer *w,
                      struct sam_tensor image, struct sam_tensor placed, struct sam_tensor x)
{
    const struct sam3w_sizes *s = sam3w_sizes(&p->model->config);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor y = sam_pass_act(p, 1, s->d), v = sam_pass_act(p, 1, s->d);
    const size_t hidden = sam_mlp_hidden(p->queue, (size_t) s->geometry_hidden);
    const struct sam_tensor room = sam_pass_act(p, 1, hidden ? (int) hidden : 1);

    if (p->live) {
        layernorm(p->queue, .dst = y, .src = x, NORM(w->norm[0]), .eps = EPS_TRANSFORMER);
        linear(p->queue, .dst = v, .src = y, LINEAR(w->value));
        linear(p->queue, .dst = x, .src = v, LINEAR(w->out), .add = x);
        layernorm(p->queue, .dst = y, .src = x, NORM(w->norm[1]), .eps = EPS_TRANSFORMER);
    }
    sam3w_attend(p, &w->cross, y, placed, image, x);
    if (p->live)
        sam_mlp_run(p->queue, &w->mlp, EPS_TRANSFORMER, SAM_ACT_RELU, x, y, room);
    sam_arena_release(p->arena, mark);
}

void sam3w_run_token(struct sam_pass *p, struct sam_tensor image, struct sam_tensor token)
{
    static const struct sam3w_geometry_layer none;
    const struct sam3w_sizes *s = sam3w_sizes(&p->model->config);
    const struct sam3w_weights *w = p->live ? sam3w_weights_of(p) : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor placed = sam_pass_rows(p, image.w, s->d);

    if (p->live) {
        add(p->queue, .dst = placed, .a = image, .b = w->sine, .scale = 1);
        linear(p->queue, .dst = token, .src = w->token, LINEAR(w->token_project));
        layernorm(p->queue, .dst = token, .src = token, NORM(w->token_norm),
                  .eps = EPS_TRANSFORMER);
    }
    for (int i = 0; i < s->geometry_layers; i++)
        run_layer(p, p->live ? &w->geometry[i] : &none, image, placed, token);
    if (p->live)
        layernorm(p->queue, .dst = token, .src = token, NORM(w->geometry_norm),
                  .eps = EPS_TRANSFORMER);
    sam_arena_release(p->arena, mark);
}
