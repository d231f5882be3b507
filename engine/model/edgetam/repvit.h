// SPDX-License-Identifier: MIT
// RepViT, the trunk of EdgeTAM: convolutions only, every one of them folded with its BatchNorm.
#ifndef SAM_REPVIT_H
#define SAM_REPVIT_H

#include "sizes.h"

enum { SAM_MAX_DEPTH = 32 }; // blocks of a stage

// Depthwise 3 x 3: weight (1, 3, 3, c), bias (1, 1, 1, c).
struct sam_spatial {
    struct sam_tensor weight, bias;
};

// t = gate(mix(x)); x = t + project(gelu(expand(t))). gate: squeeze-excite, in every other block.
struct sam_repvit_block {
    struct sam_spatial mix;
    bool has_gate;
    struct sam_product reduce, excite;  // C -> squeeze, back
    struct sam_product expand, project; // C -> 2 C, back
};

// Between two stages.
struct sam_repvit_downsample {
    struct sam_repvit_block block; // of the old width
    struct sam_spatial spatial;    // stride 2
    struct sam_product channel;    // to the new width
    struct sam_product expand, project;
};

struct sam_repvit {
    struct sam_product stem1, stem2;
    struct sam_repvit_downsample downsample[SAM_STAGES]; // of stages 1 to 3
    struct sam_repvit_block block[SAM_STAGES][SAM_MAX_DEPTH];
};

// The trunk's functions in struct sam_family. Marks: stem, stage<s>.block<nn>,
// stage<s>.block<nn>.mixed, stage<s>.downsample, trunk0 .. 3.
int sam_repvit_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);
void sam_repvit_load(struct sam_loader *l, const struct sam_config *config, void *trunk);
void sam_repvit_layout(struct sam_encoder_scratch *s, const struct sam_config *config,
                       const struct sam_queue *q, struct sam_arena *a);
void sam_repvit_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                    const struct sam_features *dst);

// One block: x in s->x[0], updated in place. Returns what goes into its channel mixer.
struct sam_tensor sam_repvit_block_run(struct sam_queue *q, const struct sam_repvit_block *b,
                                       const struct sam_encoder_scratch *s, struct sam_tensor x);
// x in s->x[0] -> `width` channels, half as high and wide, in the same room.
struct sam_tensor sam_repvit_downsample_run(struct sam_queue *q,
                                            const struct sam_repvit_downsample *d,
                                            const struct sam_encoder_scratch *s,
                                            struct sam_tensor x, int width);

#endif // SAM_REPVIT_H
