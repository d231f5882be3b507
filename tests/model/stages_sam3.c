// SPDX-License-Identifier: MIT
// The blocks of SAM 3's trunk, in the order of windows, and its tracker's neck.
#include "stages.h"

#include "model/sam3/vit.h"

static void run_block(struct run *r, struct sam_encoder_scratch *s, int i)
{
    const struct sam_config *c = &r->model->config;
    const struct sam_sam3_sizes *v = sam_sam3_of(c);
    const int across = sam_grid(c) / v->window, tokens = v->window * v->window;
    const struct sam_sam3 *all = r->model->trunk;
    char name[16], before[16];

    snprintf(before, sizeof(before), "block%02d", i - 1);
    snprintf(name, sizeof(name), "block%02d", i);
    const struct sam_tensor x =
        stored(r, before, GOLDEN_AS_IS, across * across, 1, tokens, v->width);
    sam_sam3_block_run(&r->queue, &all->trunk, i, v->num_heads, v->global_block[i], s, x);
    compare(r, name, GOLDEN_AS_IS, x);
}

static void run_trunk(struct run *r, struct sam_encoder_scratch *s)
{
    if (has(r, "block00"))
        for (int i = 1; i < sam_sam3_of(&r->model->config)->depth; i++)
            run_block(r, s, i);
}

static void run_neck(struct run *r, struct sam_encoder_scratch *s, const struct sam_features *f)
{
    const struct sam_config *c = &r->model->config;
    const struct sam_sam3 *v = r->model->trunk;
    const int h = sam_grid(c);

    sam_sam3_neck_run(&r->queue, &v->neck, c, s,
                      stored(r, "trunk0", GOLDEN_NCHW, 1, h, h, sam_sam3_of(c)->width), f);
}

const struct stages_family stages_sam3 = { .trunk = "sam3-vit", .run_trunk = run_trunk,
                                           .run_neck = run_neck };
