// SPDX-License-Identifier: MIT
// What an object was given for a frame: prompts in coordinates of the network, in order, and the
// pool that holds their masks. prompts/ makes them.
#ifndef SAM_INTERACTIONS_H
#define SAM_INTERACTIONS_H

#include <stdbool.h>

#include "refine/refine.h"

enum { SAM_MAX_INTERACTIONS = 8 }; // of one object for one frame

// The source positions lo .. hi - 1 of one output position of an antialiased resize. Their weights
// form a triangle as wide as the shrink factor (PyTorch's interpolate with antialias).
struct sam_triangle {
    int lo, hi;
    float centre, inverse_width, norm;
};

// Storage for mask prompts, one bit per pixel of a mask of side x side, as sam_mask_stretch() makes
// them. It is allocated at open.
struct sam_mask_pool {
    uint8_t *bits;
    bool *taken;
    int side, count; // of a mask, px; number of masks
    int input;       // side of the square that points are in, S; 0: it is `side`
    struct sam_triangle *column; // scratch to stretch a mask: `side`, and as many floats in `row`
    float *row;
};

// One interaction, checked, in model px. A box is stored as two corners before the clicks.
struct sam_interaction {
    int num_points;
    float xy[SAM_MAX_POINTS + 2][2];
    int label[SAM_MAX_POINTS + 2]; // enum of parts.h
    bool has_box;
    int mask; // index in the pool; -1: none
    int answer; // to a single click that is taken, 1 .. SAM_ANSWERS; 0: the best
};

// Successive interactions with one object for one frame, in order.
struct sam_interactions {
    int count;
    struct sam_interaction item[SAM_MAX_INTERACTIONS];
};

// Collect the points of the first `count` interactions that the network gets: a box or a mask drops
// the points before it, clicks are added. Returns their number, or -1: more than SAM_MAX_POINTS
// clicks.
int sam_interactions_points(const struct sam_interactions *list, int count,
                            struct sam_interaction *all);

// Its points, as refiners take them.
static inline struct sam_points sam_interaction_points(struct sam_interaction *all)
{
    return (struct sam_points) { all->num_points, all->xy, all->label, all->has_box };
}

// Whether `all`, which sam_interactions_points() collected, is a single click: the decoder then
// gives several masks, of which one is chosen.
static inline bool sam_interactions_is_click(const struct sam_interaction *all)
{
    return all->num_points == 1;
}

// Remove the interactions from `first` on and free their masks in the pool.
void sam_interactions_cut(struct sam_interactions *list, int first, struct sam_mask_pool *pool);

// A mask's bits. take returns the index of a free place of the pool, or -1; put copies bits there.
uint8_t *sam_mask_at(const struct sam_mask_pool *pool, int mask);
int sam_mask_take(struct sam_mask_pool *pool);
bool sam_mask_has_room(const struct sam_mask_pool *pool);
int sam_mask_put(struct sam_mask_pool *pool, const uint8_t *bits);

// Side of the square that points are in, px.
static inline int sam_input_side(const struct sam_mask_pool *pool)
{
    return pool->input ? pool->input : pool->side;
}

// Expand a mask to floats 0 and 1, side x side.
void sam_mask_expand(const struct sam_mask_pool *pool, int mask, float *dst);
bool sam_mask_any(const struct sam_mask_pool *pool, int mask);

#endif // SAM_INTERACTIONS_H
