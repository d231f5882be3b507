// SPDX-License-Identifier: MIT
// The neck: a feature pyramid over the four stages of the trunk. Its outputs have strides 4, 8 and
// 16, and only stride 16 receives the level above. It is computed in F32 at any precision: it is
// little work, and all later parts depend on it.
#include "net/forward.h"
#include "net/load.h"
#include "parts.h"

// Level `i` of the weights counts from the coarsest. The laterals of strides 4 and 8 feed one
// 1 x 1 convolution of the decoder and nothing else: two products in a row are one.
static void load_folded(struct sam_loader *l, const struct sam_config *config,
                        struct sam_product *p, int i, int out, const char *decoder_conv)
{
    const int d = config->d_model, in = config->stage_width[SAM_STAGES - 1 - i];
    const size_t mark = sam_arena_mark(&l->staging);
    const struct sam_load_layer lateral =
        sam_load_layer(l, d, in, true, "image_encoder.neck.convs.%d.conv", i);
    const struct sam_load_layer reduce =
        sam_load_layer(l, out, d, true, "sam_mask_decoder.%s", decoder_conv);
    sam_load_folded(l, p, &reduce, &lateral);
    sam_arena_release(&l->staging, mark);
}

void sam_neck_load(struct sam_loader *l, const struct sam_config *c, struct sam_neck *n)
{
    l->exact = c->exact_maps;
    sam_load_conv(l, &n->coarse, c->d_model, c->stage_width[3], 1,
                  "image_encoder.neck.convs.0.conv");
    sam_load_conv(l, &n->main, c->d_model, c->stage_width[2], 1, "image_encoder.neck.convs.1.conv");
    load_folded(l, c, &n->s1, 2, c->high_res_s1, "conv_s1");
    load_folded(l, c, &n->s0, 3, c->high_res_s0, "conv_s0");
    l->exact = false;
}

struct sam_linear sam_neck_lateral(const struct sam_neck *n, int stage, struct sam_tensor x,
                                   const struct sam_features *dst)
{
    switch (stage) {
    case 0:
        return (struct sam_linear) { .dst = dst->s0, .src = x, LINEAR(n->s0) };
    case 1:
        return (struct sam_linear) { .dst = dst->s1, .src = x, LINEAR(n->s1) };
    default:
        return (struct sam_linear) { .dst = dst->image, .src = x, LINEAR(n->main) };
    }
}

void sam_neck_run(struct sam_queue *q, const struct sam_neck *n, struct sam_encoder_scratch *s,
                  int stage, struct sam_tensor x, const struct sam_features *dst)
{
    if (stage + 1 < SAM_STAGES) {
        const struct sam_linear lateral = sam_neck_lateral(n, stage, x, dst);
        sam_op_linear(q, &lateral);
        return;
    }
    linear_upsample(q, .product = { .dst = s->coarse, .src = x, LINEAR(n->coarse) },
                    .sum = { .dst = dst->image, .a = dst->image, .b = s->coarse });
}
