// SPDX-License-Identifier: MIT
// The encoder: in each layer the positions of the image look at each other, then at the prompt.
#include <math.h>

#include "net/forward.h"
#include "sam3words.h"

void sam3w_attend(struct sam_pass *p, const struct sam3w_attention *w, struct sam_tensor from,
                  struct sam_tensor keys, struct sam_tensor values, struct sam_tensor x)
{
    const size_t mark = sam_arena_mark(p->arena);
    const int d = x.c;
    const struct sam_tensor q = sam_pass_act(p, x.w, d), k = sam_pass_act(p, keys.w, d);
    const struct sam_tensor v = sam_pass_act(p, keys.w, d), mixed = sam_pass_act(p, x.w, d);

    if (p->live) {
        linear(p->queue, .dst = q, .src = from, LINEAR(w->q));
        linear(p->queue, .dst = k, .src = keys, LINEAR(w->k));
        linear(p->queue, .dst = v, .src = values, LINEAR(w->v));
        attention(p->queue, .dst = mixed, .q = q, .k = k, .v = v, .heads = SAM3W_HEADS,
                  .scale = 1 / sqrtf((float) (d / SAM3W_HEADS)));
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->out), .add = x);
    }
    sam_arena_release(p->arena, mark);
}

static void run_layer(struct sam_pass *p, const struct sam3w_encoder_layer *w,
                      struct sam_tensor prompt, struct sam_tensor x)
{
    const struct sam3w_sizes *s = sam3w_sizes(&p->model->config);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor y = sam_pass_act(p, x.w, x.c), placed = sam_pass_act(p, x.w, x.c);
    const size_t hidden = sam_mlp_hidden(p->queue, (size_t) x.w * s->encoder_hidden);
    const struct sam_tensor room = sam_pass_act(p, 1, hidden ? (int) hidden : 1);

    if (p->live)
        layernorm(p->queue, .dst = y, .src = x, NORM(w->norm[0]), .eps = EPS_TRANSFORMER,
                  .sum = placed, .add = sam3w_weights_of(p)->sine);
    sam3w_attend(p, &w->self, placed, placed, y, x);
    if (p->live)
        layernorm(p->queue, .dst = y, .src = x, NORM(w->norm[1]), .eps = EPS_TRANSFORMER);
    sam3w_attend(p, &w->cross, y, prompt, prompt, x);
    if (p->live)
        sam_mlp_run(p->queue, &w->mlp, EPS_TRANSFORMER, SAM_ACT_RELU, x, y, room);
    sam_arena_release(p->arena, mark);
}

void sam3w_run_encoder(struct sam_pass *p, struct sam_tensor image, struct sam_tensor prompt)
{
    static const struct sam3w_encoder_layer none;

    for (int i = 0; i < sam3w_sizes(&p->model->config)->encoder_layers; i++) {
        run_layer(p, p->live ? &sam3w_weights_of(p)->encoder[i] : &none, prompt, image);
        sam_pass_tell(p, "fused", i, image);
    }
}
