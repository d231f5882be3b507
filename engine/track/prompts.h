// Prompts from the caller's hands to the network's coordinates, and where they wait.
#ifndef SAM_PROMPTS_H
#define SAM_PROMPTS_H

#include <stdbool.h>

#include "model/parts.h"

enum { SAM_MAX_INTERACTIONS = 8 }; // of one object for one frame

// The sources lo .. hi - 1 of one output position of an antialiased resize, weighed by a
// triangle as wide as the shrink factor (PyTorch's interpolate with antialias).
struct sam_triangle {
    int lo, hi;
    float centre, inverse_width, norm;
};

// Mask prompts, one bit per pixel of the network's input, as sam_mask_stretch() makes them. The
// memory is laid out at open; masks are borrowed and given back.
struct sam_mask_pool {
    uint8_t *bits;
    bool *taken;
    int side, count; // S; masks
    struct sam_triangle *column; // S, and S floats: room to stretch a mask in
    float *row;
};

// One interaction, checked and in model px. A box is its two corners, before the clicks.
struct sam_interaction {
    int num_points;
    float xy[SAM_MAX_POINTS + 2][2];
    int label[SAM_MAX_POINTS + 2]; // enum of parts.h
    bool has_box;
    int mask; // of the pool; -1: none
};

// Successive interactions with one object for one frame, in order.
struct sam_interactions {
    int count;
    struct sam_interaction item[SAM_MAX_INTERACTIONS];
};

// The points the network sees after the first `count` interactions: a box or a mask begins
// anew, clicks add to what is there. -1: more than SAM_MAX_POINTS clicks.
int sam_interactions_points(const struct sam_interactions *list, int count,
                            struct sam_interaction *all);

// Check a prompt and bring it to model px. A mask is stretched to S x S (antialiased triangle,
// at least one half) and takes a place of the pool.
int sam_interaction_read(struct sam_interaction *out, const struct sam_prompt *prompt,
                         struct sam_mask_pool *pool, struct sam_error *error);

// Give back the mask of interactions from `first` on, and forget them.
void sam_interactions_cut(struct sam_interactions *list, int first, struct sam_mask_pool *pool);

// Expand a mask to floats 0 and 1, S x S.
void sam_mask_expand(const struct sam_mask_pool *pool, int mask, float *dst);
bool sam_mask_any(const struct sam_mask_pool *pool, int mask);

#endif // SAM_PROMPTS_H
