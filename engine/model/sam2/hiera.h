// SPDX-License-Identifier: MIT
// Hiera, the trunk of SAM 2.
#ifndef SAM_HIERA_H
#define SAM_HIERA_H

#include "model/family.h"

enum { SAM_MAX_BLOCKS = 64 };

struct sam_hiera_config {
    int embed_dim, num_heads;    // of the first stage; both double at each further one
    int stages[SAM_STAGES];      // blocks per stage
    int window_spec[SAM_STAGES]; // window side per stage, tokens
    bool global_block[SAM_MAX_BLOCKS];
    int num_blocks;
    int pos_embed_size;        // side of the background position map (7 or 14)
    int window_pos_embed_size; // side of the window position map (8)
};
_Static_assert(sizeof(struct sam_hiera_config) <= SAM_TRUNK_BYTES, "room for a family's own sizes");

static inline struct sam_hiera_config *sam_hiera_config(struct sam_config *c)
{
    return (struct sam_hiera_config *) c->trunk;
}

static inline const struct sam_hiera_config *sam_hiera_sizes(const struct sam_config *c)
{
    return (const struct sam_hiera_config *) c->trunk;
}

struct sam_hiera_block {
    struct sam_affine norm1;
    struct sam_product qkv, proj, shortcut; // shortcut: q-pool blocks only
    struct sam_mlp mlp;
    int dim, dim_out, heads, window; // window 0: global
    bool pool;
};

struct sam_hiera {
    struct sam_product patch_embed;
    struct sam_tensor position; // (1, S/4, S/4, embed_dim): background + window, made at load
    struct sam_hiera_block block[SAM_MAX_BLOCKS];
};

// The trunk's functions in struct sam_family. Marks: pos_embed, embedded (the patches with it),
// block00 .., trunk0 .. 3.
void sam_hiera_load(struct sam_loader *l, const struct sam_config *config, void *trunk);
void sam_hiera_layout(struct sam_encoder_scratch *s, const struct sam_config *c,
                      const struct sam_queue *q, struct sam_arena *a);
void sam_hiera_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                   const struct sam_features *dst);

// One block: x (1, H, W, dim) -> y (1, H, W, dim_out), half as high and wide after q-pooling. y may
// be x where the shape stays. beside: a product of x that is made on the way; NULL: none.
void sam_hiera_block_run(struct sam_queue *q, const struct sam_hiera_block *b,
                         struct sam_encoder_scratch *s, const struct sam_linear *beside,
                         struct sam_tensor x, struct sam_tensor y);

#endif // SAM_HIERA_H
