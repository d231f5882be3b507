// SPDX-License-Identifier: MIT
// RepViT's blocks and downsampling layers; the perceiver.
#include "stages.h"

#include "model/edgetam/repvit.h"

static struct sam_tensor stored_map(struct run *r, const char *name, int side, int width)
{
    return stored(r, name, GOLDEN_NCHW, 1, side, side, width);
}

// The trunk runs in its own rooms: x begins in the first.
static struct sam_tensor enter(struct run *r, struct sam_encoder_scratch *s, const char *name,
                               int side, int width)
{
    const struct sam_tensor src = stored_map(r, name, side, width);
    struct sam_tensor x = s->x[0];
    x.h = x.w = side;
    x.c = width;
    sam_op_copy(&r->queue, &(struct sam_copy) { .dst = x, .src = src });
    return x;
}

static void run_stage(struct run *r, struct sam_encoder_scratch *s, int stage)
{
    const struct sam_config *c = &r->model->config;
    const struct sam_repvit *trunk = r->model->trunk;
    const int side = c->image_size >> (stage + 2), width = c->stage_width[stage];
    char name[40], before[40] = "stem";

    if (stage) {
        snprintf(before, sizeof(before), "trunk%d", stage - 1);
        const struct sam_tensor x = enter(r, s, before, 2 * side, c->stage_width[stage - 1]);
        snprintf(before, sizeof(before), "stage%d.downsample", stage);
        compare(r, before, GOLDEN_NCHW, sam_repvit_downsample_run(
            &r->queue, &trunk->downsample[stage], s, x, width));
    }
    for (int i = 0; i < sam_edgetam_sizes(c)->depth[stage]; i++) {
        const struct sam_tensor x = enter(r, s, before, side, width);
        const struct sam_tensor mixed =
            sam_repvit_block_run(&r->queue, &trunk->block[stage][i], s, x);
        snprintf(name, sizeof(name), "stage%d.block%02d.mixed", stage, i);
        compare(r, name, GOLDEN_NCHW, mixed);
        snprintf(before, sizeof(before), "stage%d.block%02d", stage, i);
        compare(r, before, GOLDEN_NCHW, x);
    }
}

static void run_trunk(struct run *r, struct sam_encoder_scratch *s)
{
    for (int stage = 0; has(r, "stem") && stage < SAM_STAGES; stage++)
        run_stage(r, s, stage);
}

static void run_stored(struct run *r)
{
    const struct sam_config *c = &r->model->config;
    const int h = sam_grid(c), m = c->mem_dim;
    struct sam_compressor_scratch s;
    if (!has(r, "spatial_perceiver.out"))
        return;
    LAYOUT(r, sam_memory_compress_layout(&s, c, &r->queue, 1, a));

    struct sam_tensor memory = stored_map(r, "memory_encoder.out", h, m);
    memory.h = 1;
    memory.w = h * h;
    listen(r, true);
    sam_memory_compress(&r->queue, r->model, &s, memory,
                        tensor(r, SAM_F32, 1, 1, c->memory.map_tokens, m));
    listen(r, false);
}

const struct stages_family stages_repvit = { .trunk = "repvit", .run_trunk = run_trunk,
                                             .run_stored = run_stored };
