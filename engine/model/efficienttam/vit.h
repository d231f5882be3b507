// SPDX-License-Identifier: MIT
// The plain vision transformer that is EfficientTAM's trunk, and the neck that makes F of its map.
#ifndef SAM_VIT_H
#define SAM_VIT_H

#include "model/sam2/hiera.h"

enum { SAM_VIT_PATCH = 16 }; // px

struct sam_vit_sizes {
    int width, depth;   // 192 or 384; 12
    int position_side;  // of the position map (14)
    int num_heads;      // 3 or 6
    int window;         // side, tokens (14)
    bool global_block[SAM_MAX_BLOCKS]; // attends to all tokens, not inside windows
};
_Static_assert(sizeof(struct sam_vit_sizes) <= SAM_TRUNK_BYTES, "room for a family's own sizes");

static inline struct sam_vit_sizes *sam_vit_config(struct sam_config *c)
{
    return (struct sam_vit_sizes *) c->trunk;
}

static inline const struct sam_vit_sizes *sam_vit_sizes(const struct sam_config *c)
{
    return (const struct sam_vit_sizes *) c->trunk;
}

// Its blocks are those of Hiera that keep their size.
struct sam_vit {
    struct sam_product patch_embed;
    struct sam_tensor position; // (1, h, h, width)
    struct sam_hiera_block block[SAM_MAX_BLOCKS];
    struct sam_product narrow, smooth; // the neck's convolutions, 1 x 1 and 3 x 3
    struct sam_affine narrow_norm, smooth_norm;
};

// The trunk's functions in struct sam_family. Marks: pos_embed, embedded (the patches with it),
// block00 .., trunk0.
int sam_vit_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);
void sam_vit_load(struct sam_loader *l, const struct sam_config *config, void *trunk);
void sam_vit_layout(struct sam_encoder_scratch *s, const struct sam_config *c,
                    const struct sam_queue *q, struct sam_arena *a);
void sam_vit_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                 const struct sam_features *dst);

// x (1, h, h, width) -> F.
void sam_vit_neck_run(struct sam_queue *q, const struct sam_vit *v, struct sam_encoder_scratch *s,
                      struct sam_tensor x, struct sam_tensor image);

#endif // SAM_VIT_H
