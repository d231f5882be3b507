// SPDX-License-Identifier: MIT
// The blocks of a plain vision transformer, and its neck.
#include "stages.h"

#include "model/efficienttam/vit.h"

static void run_block(struct run *r, struct sam_encoder_scratch *s, int i)
{
    const struct sam_vit *v = r->model->trunk;
    const int h = sam_grid(&r->model->config);
    char name[16], before[16] = "patch_embed";
    if (i)
        snprintf(before, sizeof(before), "block%02d", i - 1);
    const struct sam_tensor x = stored(r, before, GOLDEN_AS_IS, 1, h, h, v->block[i].dim);

    if (i == 0)
        sam_op_add(&r->queue, &(struct sam_add) { .dst = x, .a = x, .b = v->position, .scale = 1 });
    sam_hiera_block_run(&r->queue, &v->block[i], s, NULL, x, x);
    snprintf(name, sizeof(name), "block%02d", i);
    compare(r, name, GOLDEN_AS_IS, x);
}

static void run_trunk(struct run *r, struct sam_encoder_scratch *s)
{
    if (has(r, "block00"))
        for (int i = 0; i < sam_vit_sizes(&r->model->config)->depth; i++)
            run_block(r, s, i);
}

static void run_neck(struct run *r, struct sam_encoder_scratch *s, const struct sam_features *f)
{
    const struct sam_config *c = &r->model->config;
    const int h = sam_grid(c);

    sam_vit_neck_run(&r->queue, r->model->trunk, s,
                     stored(r, "trunk0", GOLDEN_NCHW, 1, h, h, sam_vit_sizes(c)->width), f->image);
}

const struct stages_family stages_vit = { .trunk = "vit", .run_trunk = run_trunk,
                                          .run_neck = run_neck };
