// SPDX-License-Identifier: MIT
// EfficientNet-Lite's blocks, each fed with what the one before it gave.
#include "stages.h"

#include "model/efficientnet/trunk.h"

static struct sam_tensor enter(struct run *r, struct sam_encoder_scratch *s, const char *name,
                               int side, int width)
{
    const struct sam_tensor src = stored(r, name, GOLDEN_NCHW, 1, side, side, width);
    struct sam_tensor x = s->x[0];
    x.h = x.w = side;
    x.c = width;
    sam_op_copy(&r->queue, &(struct sam_copy) { .dst = x, .src = src });
    return x;
}

static void run_trunk(struct run *r, struct sam_encoder_scratch *s)
{
    const struct sam_config *c = &r->model->config;
    const struct sam_lite_sizes *sizes = sam_lite_sizes(c);
    const struct sam_lite_trunk *trunk = r->model->trunk;
    int side = c->image_size / 2, width = sizes->stem;
    char before[40] = "stem";

    for (int stage = 0; has(r, "stem") && stage < SAM_LITE_STAGES; stage++)
        for (int i = 0; i < sizes->depth[stage]; i++) {
            const struct sam_tensor x = enter(r, s, before, side, width);
            const struct sam_tensor y =
                sam_lite_block_run(&r->queue, &trunk->block[stage][i], &sam_lite_stages[stage],
                                   i == 0, s, x, sizes->width[stage]);
            snprintf(before, sizeof(before), "stage%d.block%02d", stage, i);
            compare(r, before, GOLDEN_NCHW, y);
            side = y.h;
            width = y.c;
        }
}

const struct stages_family stages_efficientnet = { .trunk = "efficientnet-lite",
                                                   .run_trunk = run_trunk };
