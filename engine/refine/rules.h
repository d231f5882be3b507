// SPDX-License-Identifier: MIT
// Rules that look at all three masks that the decoder offers for an object on a tracked frame, as
// numbers alone: motion.c chooses among them, distractors.c tells frames that show something that
// looks like the object. What they know of an object is kept as floats, and follows it where it is
// saved, or taken back.
#ifndef SAM_RULES_H
#define SAM_RULES_H

#include "model/config.h"

enum {
    SAM_CANDIDATES = 3, // masks 1 to 3 of the decoder's four
    SAM_AREAS = 10,     // of the last frames on which the object was present
};

// A box in px of the network's input: edges, so that a mask of one place is not empty.
struct sam_extent {
    float x0, y0, x1, y1;
};

struct sam_candidate {
    float iou;             // as the model predicts it
    struct sam_extent box; // all 0: the mask is empty
};

// ---- motion.c, after SAMURAI (Yang et al., 2024)

// A Kalman filter on a box: x and y of its middle, width over height, height. They do not depend on
// each other: of each the value, its speed (per frame), and variance, covariance, variance of both.
struct sam_motion {
    float value[4], speed[4], spread[4][3];
    float stable; // frames in a row that the filter has followed; 0: it begins anew
};

// Take a frame on which the object is present, and return the candidate to show. *score: the IoU of
// its box with the one that was expected, -1 while the filter is not believed yet.
int sam_motion_choose(struct sam_motion *m, const struct sam_motion_rule *rule,
                      const struct sam_candidate candidate[SAM_CANDIDATES], float *score);
// A frame that the object is absent from: the box moves on, nothing is measured.
void sam_motion_pass(struct sam_motion *m);

// ---- distractors.c, after DAM4SAM (Videnovic et al., CVPR 2025)

struct sam_distractors {
    float area[SAM_AREAS]; // places, the latest first
    float areas;           // how many there are
    float since;           // frames since one was kept; -1: none was
};

// Take a frame: whether it may be kept, as far as the chosen mask tells. area: places, 0 where the
// object is absent.
bool sam_distractors_may(struct sam_distractors *d, const struct sam_distractor_rule *rule,
                         float iou, int area);
// It is kept.
void sam_distractors_kept(struct sam_distractors *d);

// The least IoU of the chosen mask's box with the box of it and the largest piece that another
// candidate has beside it; 1 where none has any. masks: side x side logits of all three. room: a
// number for every place; seen: likewise.
float sam_distractors_overlap(const float *const masks[SAM_CANDIDATES], int chosen, int side,
                              int32_t *room, uint8_t *seen);

// The box of a mask's logits above 0, in places; *area: how many they are.
struct sam_extent sam_extent_of(const float *logits, int side, int *area);

#endif // SAM_RULES_H
