// SPDX-License-Identifier: MIT
// The features of a target model (FRTM, Robinson et al., CVPR 2020): at stride 8, of the decoder's
// three maps. What is fitted on them is in refine/target.c.
#include "net/forward.h"
#include "net/load.h"
#include "parts.h"

void sam_target_load(struct sam_loader *l, const struct sam_config *c, struct sam_target *t)
{
    const int k = c->target_channels;

    if (!k)
        return;
    l->exact = true;
    sam_load_norm(l, &t->image_norm, c->d_model, "target_model.image_norm");
    sam_load_norm(l, &t->s1_norm, c->high_res_s1, "target_model.s1_norm");
    sam_load_norm(l, &t->s0_norm, c->high_res_s0, "target_model.s0_norm");
    sam_load_conv(l, &t->image, k, c->d_model, 1, "target_model.image");
    sam_load_conv(l, &t->s1, k, c->high_res_s1, 1, "target_model.s1");
    sam_load_conv(l, &t->s0, k, c->high_res_s0, 2, "target_model.s0");
    l->exact = false;
}

void sam_target_layout(struct sam_target_scratch *s, const struct sam_config *c,
                       struct sam_arena *a)
{
    const int h = sam_grid(c), k = c->target_channels;

    if (!k)
        return;
    s->image = sam_arena_tensor(a, SAM_F32, 1, h, h, c->d_model);
    s->s1 = sam_arena_tensor(a, SAM_F32, 1, 2 * h, 2 * h, c->high_res_s1);
    s->s0 = sam_arena_tensor(a, SAM_F32, 1, 4 * h, 4 * h, c->high_res_s0);
    s->coarse = sam_arena_tensor(a, SAM_F32, 1, h, h, k);
    s->part = sam_arena_tensor(a, SAM_F32, 1, 2 * h, 2 * h, k);
}

void sam_target_run(struct sam_queue *q, const struct sam_model *m, struct sam_target_scratch *s,
                    const struct sam_features *f, struct sam_tensor dst)
{
    const struct sam_target *t = &m->target;

    layernorm(q, .dst = s->image, .src = f->image, NORM(t->image_norm), .eps = EPS_TRANSFORMER);
    linear(q, .dst = s->coarse, .src = s->image, LINEAR(t->image));
    resize(q, .dst = dst, .src = s->coarse);
    layernorm(q, .dst = s->s1, .src = f->s1, NORM(t->s1_norm), .eps = EPS_TRANSFORMER);
    linear(q, .dst = s->part, .src = s->s1, LINEAR(t->s1));
    add(q, .dst = dst, .a = dst, .b = s->part, .scale = 1);
    layernorm(q, .dst = s->s0, .src = f->s0, NORM(t->s0_norm), .eps = EPS_TRANSFORMER);
    conv(q, .dst = s->part, .src = s->s0, PRODUCT(t->s0), .kernel = 2, .stride = 2);
    add(q, .dst = dst, .a = dst, .b = s->part, .scale = 1);
}
