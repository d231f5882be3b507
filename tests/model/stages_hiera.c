// SPDX-License-Identifier: MIT
// Hiera's blocks.
#include "stages.h"

#include "model/sam2/hiera.h"

static void run_block(struct run *r, struct sam_encoder_scratch *s, int i)
{
    const struct sam_hiera *hiera = r->model->trunk;
    const struct sam_hiera_block *b = &hiera->block[i];
    char name[16], before[16] = "patch_embed";
    if (i)
        snprintf(before, sizeof(before), "block%02d", i - 1);
    const int side = golden_extent(&r->golden, stage_name(r, before), 1);
    const struct sam_tensor x = stored(r, before, GOLDEN_AS_IS, 1, side, side, b->dim);
    const int out = b->pool ? side / 2 : side;
    const struct sam_tensor y = tensor(r, SAM_F32, 1, out, out, b->dim_out);

    if (i == 0)
        sam_op_add(&r->queue, &(struct sam_add) { .dst = x, .a = x, .b = hiera->position,
                                                  .scale = 1 });
    sam_hiera_block_run(&r->queue, b, s, NULL, x, y);
    snprintf(name, sizeof(name), "block%02d", i);
    compare(r, name, GOLDEN_AS_IS, y);
}

static void run_trunk(struct run *r, struct sam_encoder_scratch *s)
{
    if (has(r, "block00"))
        for (int i = 0; i < sam_hiera_sizes(&r->model->config)->num_blocks; i++)
            run_block(r, s, i);
}

const struct stages_family stages_hiera = { .trunk = "hiera", .run_trunk = run_trunk };
