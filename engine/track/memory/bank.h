// SPDX-License-Identifier: MIT
// The memory bank of one object, as integers: which slots of the memory hold the map and the
// pointer of which frame, which of them the next frame attends to, in which order and with which
// time code. It does not access the tensors.
//
// Frames are counted as they are processed. With limits.present_only a frame that
// the object is absent from is not counted: once it is forgotten, all is as if it had not
// been. So there are two numbers of a frame: the tracker's, and its *turn*, the object's own count,
// which is less by `forgotten`. Ages, distances and ring entries are of turns.
//
// With limits.scored, as in SAM 3's tracker, the frames that count are a list instead of rings
// (scored.c): those that were tracked well, by rank, and the last frame, whatever it is, until the
// next one is over. A prompted frame has no rank either, but as the last one.
//
// With limits.stride, as in DAM4SAM, the maps of tracked frames are a list (aged.c): the last one's
// and, before it, those that are so many turns apart; the more conditioning frames there are, the
// fewer of them are attended to. Tracked frames that sam_bank_keep() is told of are conditioning
// ones, too; they are *automatic*: a prompt is kept rather than they, and undone alone.
//
// A bank can be taken back to the beginning of one of its last `history` frames: it keeps a copy of
// its integers for each of them, and no slot that a copy names is written to.
//
// There are two kinds of entries. *Conditioning* frames have a prompt and are kept; *recent* frames
// were tracked and are replaced by later ones. Recent entries are in rings: turn t in ring entry
// t mod length. What the current frame attends to is not overwritten before the next frame begins,
// so that the frame can be decoded again after an undo. Maps are large: there is one slot more than
// a frame can attend to, and one for each further frame that the bank can be taken back to; a new
// map gets a slot that no such frame attends to. Pointers are small: each of the last num_pointers
// + history frames has its own slot, and each map of a conditioning frame.
#ifndef SAM_BANK_H
#define SAM_BANK_H

#include <stdbool.h>
#include <stdint.h>

#include "device/given.h"
#include "model/config.h"

enum {
    SAM_MAX_ATTENDED_MAPS = SAM_MAX_COND + SAM_MAX_MASKMEM - 1,
    SAM_MAX_ATTENDED_POINTERS = SAM_MAX_COND + SAM_MAX_POINTERS - 1,
    SAM_MAX_AGED = SAM_MAX_MASKMEM + 1,    // and one that is thinned out when the next begins
    SAM_MAX_SCORED = SAM_MAX_POINTERS + 1, // good frames, the doubted and the current one
};

// Numbers of entries; the same for all objects of a tracker.
struct sam_bank_limits {
    int max_cond;     // K: the first conditioning frame and the latest K - 1, or the latest K
    int num_maskmem;  // 7: six recent maps, and one reserved for conditioning
    int num_pointers; // 16: pointers of the last 15 tracked frames
    int history;      // frames that a bank can be taken back by; 0: none
    bool present_only; // remember only frames that the object is present in
    bool scored;       // remember only frames that sam_bank_score() keeps
    int stride;        // of maps of tracked frames; 0: all of the latest, in rings
    bool latest_only;  // of conditioning frames the latest K, not the first one
};

struct sam_bank {
    struct sam_bank_limits limits;
    int first_map, first_pointer; // this object's first slots
    int64_t forgotten;      // number of frames that are not counted
    int64_t last_forgotten; // the latest of them, -1: none
    int64_t map_turn[SAM_MAX_MASKMEM];       // turn in each ring entry, -1: none
    int map_slot[SAM_MAX_MASKMEM];           // of this object, from 0
    int64_t pointer_turn[SAM_MAX_POINTERS];
    int num_scored;
    int64_t doubted;  // with limits.scored: the last frame, if it is to be forgotten; else -1
    int64_t prompted[2]; // frame f, in entry f mod 2, if it has a prompt; else another
    struct sam_bank_scored {
        int64_t frame;
        int map_slot, pointer_slot; // of this object, from 0
    } scored[SAM_MAX_SCORED];       // by frame
    int num_aged; // with limits.stride
    struct sam_bank_aged {
        int64_t turn;
        int map_slot; // of this object, from 0
    } aged[SAM_MAX_AGED];
    int num_cond;
    struct {
        int64_t frame, turn;
        bool automatic; // it was tracked, and is kept like a prompted one
        int map_slot; // and that of its pointer, after those of the tracked frames
    } cond[SAM_MAX_COND + 1]; // by frame
    struct sam_bank *past; // limits.history copies; that of frame f is entry f mod history
    int64_t before;        // of a copy: the frame that it was made before; -1: none was made
};

// What a frame attends to: first the conditioning frames in order, then the tracked frames, of maps
// from the oldest to the latest, of pointers from the latest to the oldest.
struct sam_attended {
    int num_maps, num_pointers;
    int32_t map[SAM_MAX_ATTENDED_MAPS];      // slots
    int32_t map_time[SAM_MAX_ATTENDED_MAPS]; // rows of the temporal code
    int32_t pointer[SAM_MAX_ATTENDED_POINTERS];
    int32_t distance[SAM_MAX_ATTENDED_POINTERS]; // turns from the pointer's to this one
};

// The slots of a frame's result.
struct sam_bank_slots {
    int32_t map, pointer;
};

// The number of slots that each object needs.
int sam_bank_maps(const struct sam_bank_limits *l);
int sam_bank_pointers(const struct sam_bank_limits *l);
// The maximum that one frame can attend to.
int sam_bank_max_maps(const struct sam_bank_limits *l);
int sam_bank_max_pointers(const struct sam_bank_limits *l);

// Initialise an empty bank for the object whose slots begin at index * sam_bank_maps() and
// index * sam_bank_pointers(). past: l->history banks, which must outlive it; NULL if that is 0.
void sam_bank_init(struct sam_bank *b, const struct sam_bank_limits *l, int index,
                   struct sam_bank *past);

// With limits.present_only, forget the last frame, on which the object is not sure, unless it was
// prompted: the next one gets its turn. Before the next one begins, once or more often.
void sam_bank_forget(struct sam_bank *b, int64_t frame);

// Begin a frame: drop conditioning entries beyond K, with their pointers; keep a copy.
void sam_bank_begin(struct sam_bank *b, int64_t frame);

// The number of a frame, the last one or one before it, in the object's own count; and back.
int64_t sam_bank_turn(const struct sam_bank *b, int64_t frame);
int64_t sam_bank_frame(const struct sam_bank *b, int64_t turn);

// The copy that was kept when a frame began; NULL if there is none (any more).
const struct sam_bank *sam_bank_at(const struct sam_bank *b, int64_t frame);

// Go back to the beginning of a frame, of which there must be a copy: what was added since is gone.
void sam_bank_rewind(struct sam_bank *b, int64_t frame);

// Add a tracked frame. Frames must come in order; the last one may be added again.
struct sam_bank_slots sam_bank_track(struct sam_bank *b, int64_t frame);

// Add a prompted frame, which must be the latest. It replaces an entry of the same frame, tracked
// or prompted.
struct sam_bank_slots sam_bank_prompt(struct sam_bank *b, int64_t frame);

// Whether the last frame, or the one before it, was added as a prompted one.
static inline bool sam_bank_is_prompted(const struct sam_bank *b, int64_t frame)
{
    return frame >= 0 && b->prompted[frame % 2] == frame;
}

// Keep the frame that was added last, a tracked one, as a conditioning frame, if prompts leave room
// for it. Returns its slots.
struct sam_bank_slots sam_bank_keep(struct sam_bank *b, int64_t frame);

// The number of prompted frames.
int sam_bank_prompts(const struct sam_bank *b);

// Drop the latest prompted frame before `limit`, and what was kept since, from the copies, too.
// Returns the number of prompted frames before `limit` that are left.
int sam_bank_drop_latest(struct sam_bank *b, int64_t limit);

// The slots of a turn; -1 and -1 if it is not in the bank.
struct sam_bank_slots sam_bank_find(const struct sam_bank *b, int64_t turn);

// Find what `frame` attends to: only entries before it.
void sam_bank_attended(const struct sam_bank *b, int64_t frame, struct sam_attended *a);

// ---- With limits.scored: scored.c

// Whether a tracked frame with this object score, a logit, and this predicted IoU is kept.
bool sam_bank_keeps(float score, float iou);
// Tell of the last frame whether it is kept: if not, it is forgotten when the next one is over. So
// the one that was told of before is forgotten here. Before the next frame begins, once or more
// often. Without limits.scored nothing happens.
void sam_bank_judge(struct sam_bank *b, int64_t frame, bool good);

// For the bank itself. The entry of a frame, or NULL; add an entry, the latest; take one away.
const struct sam_bank_scored *sam_scored_find(const struct sam_bank *b, int64_t frame);
void sam_scored_add(struct sam_bank *b, const struct sam_bank_scored *entry);
void sam_scored_drop(struct sam_bank *b, int64_t frame);
// Mark the slots that `frame` attends to.
void sam_scored_hold(const struct sam_bank *b, int64_t frame, bool *maps, bool *pointers);
// How many ranks there are for a frame, the last frame's is 1. That of rank r is entry end - r;
// with `prompted` rank 1 is a conditioning frame and has none.
struct sam_scored_ranks {
    int count, end;
    bool prompted;
};
struct sam_scored_ranks sam_scored_rank(const struct sam_bank *b, int64_t frame);

// ---- With limits.stride: aged.c, for the bank itself, and to fill one from a file

const struct sam_bank_aged *sam_aged_find(const struct sam_bank *b, int64_t turn);
void sam_aged_add(struct sam_bank *b, int64_t turn, int map_slot);
void sam_aged_drop(struct sam_bank *b, int64_t turn);
// A frame begins: leave those that it attends to.
void sam_aged_thin(struct sam_bank *b);
// The list as it was saved, of turns in order, in slots that nothing else holds.
void sam_bank_fill_aged(struct sam_bank *b, const int64_t *turn, int count);

#endif // SAM_BANK_H
