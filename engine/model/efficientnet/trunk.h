// SPDX-License-Identifier: MIT
// EfficientNet-Lite, the trunk ("EfficientNet", Tan and Le, ICML 2019; "Lite": ReLU6, no
// squeeze-excite): a stem and seven stages of inverted bottlenecks. Its BatchNorms are folded into
// the convolutions in the file. Padding is TensorFlow's SAME.
#ifndef SAM_EFFICIENTNET_TRUNK_H
#define SAM_EFFICIENTNET_TRUNK_H

#include "model/family.h"

enum {
    SAM_LITE_STAGES = 7,
    SAM_LITE_DEPTH  = 16, // blocks of a stage, at most; Lite4 has 8
};

// The family's own sizes in struct sam_config.
struct sam_lite_sizes {
    int stem;                   // channels behind the stem (32)
    int depth[SAM_LITE_STAGES]; // blocks (1, 2, 2, 3, 3, 4, 1)
    int width[SAM_LITE_STAGES]; // channels (16, 24, 40, 80, 112, 192, 320)
};
_Static_assert(sizeof(struct sam_lite_sizes) <= SAM_TRUNK_BYTES, "room for its sizes");

static inline const struct sam_lite_sizes *sam_lite_sizes(const struct sam_config *c)
{
    return (const struct sam_lite_sizes *) c->trunk;
}

static inline struct sam_lite_sizes *sam_lite_config(struct sam_config *c)
{
    return (struct sam_lite_sizes *) c->trunk;
}

// What is the same in all sizes of EfficientNet.
struct sam_lite_stage {
    int kernel;   // side of the depthwise convolution
    int stride;   // of its first block
    int widening; // channels inside of a block, over those that come in; 1: it has no expansion
    int map;      // its last block gives this map of the trunk, 0 .. 3; -1: none
};
extern const struct sam_lite_stage sam_lite_stages[SAM_LITE_STAGES];

// x = project(relu6(depthwise(relu6(expand(x))))), plus x where nothing changes its size.
struct sam_lite_block {
    struct sam_product expand, project;
    struct sam_tensor depthwise, depthwise_bias; // (1, k, k, c), (1, 1, 1, c)
};

struct sam_lite_trunk {
    struct sam_product stem;
    struct sam_lite_block block[SAM_LITE_STAGES][SAM_LITE_DEPTH];
};

// The trunk's functions in struct sam_family. Marks: stem, stage<s>.block<nn>,
// trunk0 .. 3.
int sam_lite_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);
void sam_lite_load(struct sam_loader *l, const struct sam_config *config, void *trunk);
void sam_lite_layout(struct sam_encoder_scratch *s, const struct sam_config *config,
                     const struct sam_queue *q, struct sam_arena *a);
void sam_lite_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                  const struct sam_features *dst);

// One block: x, in s->x[0] or s->x[1], is replaced by what it gives, with `width` channels, in
// either of them.
struct sam_tensor sam_lite_block_run(struct sam_queue *q, const struct sam_lite_block *b,
                                     const struct sam_lite_stage *stage, bool is_first,
                                     const struct sam_encoder_scratch *s, struct sam_tensor x,
                                     int width);

#endif // SAM_EFFICIENTNET_TRUNK_H
