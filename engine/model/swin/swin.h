// SPDX-License-Identifier: MIT
// The Swin transformer: windows of attention, moved by half of one in every other block. The trunk
// of several detectors.
#ifndef SAM_SWIN_H
#define SAM_SWIN_H

#include "model/detector.h"

enum { SAM_SWIN_MAX_BLOCKS = 32 }; // of a stage; published: 18

struct sam_swin_sizes {
    int stem, window; // channels before the first stage; positions on a window's side
    int width[SAM_STAGES], inner[SAM_STAGES], blocks[SAM_STAGES], heads[SAM_STAGES];
};

struct sam_swin_block {
    struct sam_affine norm;
    struct sam_product qkv, out; // [q | k | v]
    struct sam_tensor bias;      // (1, heads, 2 window - 1, 2 window - 1)
    struct sam_mlp mlp;
};

struct sam_swin_stage {
    struct sam_swin_block block[SAM_SWIN_MAX_BLOCKS];
    struct sam_affine norm;  // of its output
    struct sam_affine merge; // of four positions side by side; not in the last stage
    struct sam_product reduce;
};

struct sam_swin {
    struct sam_product stem;
    struct sam_affine stem_norm;
    struct sam_swin_stage stage[SAM_STAGES];
    struct sam_tensor zero; // (1, 1, 1, the widest that is merged)
};

// Sizes from the shapes of the tensors whose names begin with `prefix`, within ranges.
int sam_swin_read(struct sam_swin_sizes *s, const struct sam_weights *w, const char *prefix,
                  struct sam_error *error);

// Stages before `first` have no norm of their output, which is not asked for.
void sam_swin_load(struct sam_loader *l, const struct sam_swin_sizes *s, int first,
                   const char *prefix, struct sam_swin *w);

// input (1, H, W, 3) -> map[s] (1, ceil(H / (4 << s)), ceil(W / (4 << s)), width[s]) F32, of stages
// from `first` on. w: not looked at while measuring.
void sam_swin_run(struct sam_pass *p, const struct sam_swin_sizes *s, const struct sam_swin *w,
                  int first, struct sam_tensor input, const struct sam_tensor *map);

#endif // SAM_SWIN_H
