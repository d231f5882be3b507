// SPDX-License-Identifier: MIT
// Prompts: they are checked and converted to coordinates of the network (prompts.c), kept until
// their frame comes (../memory/), and applied to it (interact.c, answers.c, consensus.c, odds.c).
#ifndef SAM_PROMPTS_H
#define SAM_PROMPTS_H

#include "track/memory/interactions.h"
#include "samtrack/answers.h"

struct sam_tracker;
struct sam_tracked;

// ---- prompts.c

// Check a prompt and convert it to model px. A mask is scaled to S x S (antialiased triangle,
// set where at least one half) and stored in the pool.
int sam_interaction_read(struct sam_interaction *out, const struct sam_prompt *prompt,
                         struct sam_mask_pool *pool, struct sam_error *error);

// ---- interact.c

// Apply an object's prompts of the current frame and write the result to its memory. An object
// that existed before must have been tracked on this frame.
void sam_interact(struct sam_tracker *t, struct sam_tracked *o);
// Answer a prompt that is not a mask, of an object that would begin on the current frame, as
// sam_interact() does, and show the answer in the spare row: nothing is remembered.
void sam_interact_preview(struct sam_tracker *t, const struct sam_interaction *prompt);

// ---- consensus.c: a click that an object begins with, where clicks are asked again in windows

// What scratch.out has now is answer k of a click (0 .. SAM_ANSWERS - 1), in the frame or, after
// that, in a window of it; what a window shows nothing in does not count.
void sam_looks_keep(struct sam_tracker *t, int k, bool in_frame);
// Put one of them back: number `answer` in the order of their areas, or the one that all agree with
// most if that is 0. The others are kept, too, as by sam_answers_make().
void sam_looks_take(struct sam_tracker *t, struct sam_tracked *o, int answer);

// ---- odds.c

// Cut the logits of an answer to points by its predicted IoU: (S/4)^2 of them, or a row that has
// as many.
void sam_odds_cut(const struct sam_config *c, float iou, float *logits);
void sam_odds_cut_tensor(struct sam_tracker *t, float iou, struct sam_tensor logits);

// ---- answers.c

// Whether what the decoder gave shows the object.
bool sam_answers_present(struct sam_tracker *t);
// Masks of `count` places each, one behind the other, in the order of their areas: how many logits
// are above 0, the first of equal ones first. From 0 on.
void sam_answers_order(const float *masks, size_t count, int order[SAM_ANSWERS]);
// After the decoder has run on a single click, which `all` is: take the answer that it names, with
// its pointer, and keep the masks of all, refined and cut; of an object without a slot none.
// `input`: see struct sam_refiner.
void sam_answers_make(struct sam_tracker *t, struct sam_tracked *o,
                      const struct sam_interaction *all, struct sam_tensor input);
// Find their boxes and areas, which are there when the queue has finished; then describe them.
// There may be none.
void sam_answers_measure(struct sam_tracker *t, const struct sam_tracked *o,
                         int32_t box[SAM_ANSWERS][5]);
struct sam_answers sam_answers_list(const struct sam_tracker *t, const struct sam_tracked *o,
                                    int32_t box[SAM_ANSWERS][5]);
// Draw one of them, 1 .. SAM_ANSWERS, if there are any.
void sam_answers_draw(struct sam_tracker *t, const struct sam_tracked *o, int answer,
                      const struct sam_labels *labels);
// The click that an object got for a frame; NULL: it got none, or more than a single click.
struct sam_interaction *sam_answers_click(struct sam_tracker *t, const struct sam_tracked *o,
                                          int64_t frame);

#endif // SAM_PROMPTS_H
