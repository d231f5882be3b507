// SPDX-License-Identifier: MIT
// What a tracker remembers beside the banks (bank.h): what each object was given on the last
// frames, their features, and to which of them it can be taken back.
#ifndef SAM_HISTORY_H
#define SAM_HISTORY_H

#include "bank.h"
#include "interactions.h"

struct sam_tracker;
struct sam_tracked;

// The prompts of an object for a frame: of the last `history` frames, the current and the next one.
struct sam_interactions *sam_given(const struct sam_tracker *t, const struct sam_tracked *o,
                                   int64_t frame);
// Initialise the bank of an object.
void sam_history_init(struct sam_tracker *t, struct sam_tracked *o);
// The oldest frame that can be named by a prompt for an object; NULL: for a new one.
int64_t sam_history_oldest(const struct sam_tracker *t, const struct sam_tracked *o);
// The latest frame, not before the oldest, for which an object has prompts; -1: there is none.
int64_t sam_history_prompted(const struct sam_tracker *t, const struct sam_tracked *o);
// Have an object run on this frame again, or for the first time, and on all after it.
void sam_history_return(struct sam_tracked *o, int64_t frame);
// Whether anything is left of an object whose prompts were taken back.
bool sam_history_is_left(const struct sam_tracker *t, const struct sam_tracked *o);
// Free a mask of a frame that can then no longer be gone back to. False: there is none.
bool sam_history_drop_mask(struct sam_tracker *t);

// Keep the network's input of the current frame, before it is encoded; its features, after it.
void sam_history_keep_input(struct sam_tracker *t);
void sam_history_keep(struct sam_tracker *t);
// The input that was kept, of the current frame or of the one that is replayed.
struct sam_tensor sam_history_input(const struct sam_tracker *t);
bool sam_history_is_encoded(const struct sam_tracker *t, int64_t frame);
// Put the features of a frame of the past where those of the current one are. False: the network's
// input is put where the encoder reads it instead.
bool sam_history_take(struct sam_tracker *t, int64_t frame);

// The numbers that refiners keep of an object: how many frames' are kept, so many that those of the
// frame before the oldest one that it can be taken back to are among them; where those of a frame
// are.
int sam_kept_each(const struct sam_bank_limits *l);
int sam_kept_at(const struct sam_tracker *t, int slot, int64_t frame);

// ---- late.c: objects that are behind, as a late prompt came or was taken back

// Take an object back to the beginning of the frame that it must be run on next.
void sam_late_take_back(struct sam_tracker *t, struct sam_tracked *o);
// Say how many frames each object is run on within this step, and take back those that must be.
// Returns the frame where to begin; *encodings: how many frames of the past may be encoded.
int64_t sam_late_give_turns(struct sam_tracker *t, int *encodings);

// ---- poison.c: if params.poison is set, fill memory with 0xff: a NaN in every float format, -1 in
// integers. Else do nothing.

void sam_poison_scratch(struct sam_tracker *t);
void sam_poison_state(struct sam_tracker *t);  // all of it
void sam_poison_frame(struct sam_tracker *t);  // features and results of the last frame
void sam_poison_object(struct sam_tracker *t, const struct sam_tracked *o); // its memory

#endif // SAM_HISTORY_H
