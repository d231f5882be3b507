// What one object remembers, as integers: which slots of the memory arena hold the map and the
// pointer of which frame, which of them the next frame attends to, in which order and with
// which time code. No numbers of the network pass through here.
//
// Two kinds of entry (SAM 2, section 7 of the paper's code): *conditioning* frames are those
// with a prompt, and stay; *recent* frames are tracked ones, and age out. Recent entries live
// in rings: frame f in ring entry f mod length. Nothing that the current frame attended to is
// overwritten before the next one begins, so that it can be decoded again after a prompt was
// taken back. A map is large: whichever slot is neither attended to nor the current frame's takes
// the next one, and there is one slot more than one frame can attend to. A pointer is small: its
// slot is that of the ring entry or of the conditioning frame, of which there is one more than is
// kept.
#ifndef SAM_BANK_H
#define SAM_BANK_H

#include <stdint.h>

#include "model/config.h"

enum {
    SAM_MAX_COND = 64, // most conditioning frames that can be asked for
    SAM_MAX_ATTENDED_MAPS = SAM_MAX_COND + SAM_MAX_MASKMEM - 1,
    SAM_MAX_ATTENDED_POINTERS = SAM_MAX_COND + SAM_MAX_POINTERS - 1,
};

// How much is kept; the same for all objects of a tracker.
struct sam_bank_limits {
    int max_cond;     // K: the first conditioning frame and the latest K - 1
    int num_maskmem;  // maps attended, one of them reserved for conditioning: 7
    int num_pointers; // 16: pointers of the last 15 tracked frames
};

struct sam_bank {
    struct sam_bank_limits limits;
    int first_map, first_pointer; // where this object's slots begin in the arena
    int64_t map_frame[SAM_MAX_MASKMEM];      // frame in each ring entry, -1: none
    int map_slot[SAM_MAX_MASKMEM];           // of this object, from 0
    int64_t pointer_frame[SAM_MAX_POINTERS];
    int num_cond;
    struct {
        int64_t frame;
        int map_slot;
        int place; // 0 .. K, which of the conditioning pointers
    } cond[SAM_MAX_COND + 1]; // by frame
};

// What a frame attends to: conditioning frames from the first to the latest, then tracked
// frames from the oldest to the latest; of pointers the latest tracked one first.
struct sam_attended {
    int num_maps, num_pointers;
    int32_t map[SAM_MAX_ATTENDED_MAPS];      // slots of the arena
    int32_t map_time[SAM_MAX_ATTENDED_MAPS]; // rows of the temporal code
    int32_t pointer[SAM_MAX_ATTENDED_POINTERS];
    int32_t distance[SAM_MAX_ATTENDED_POINTERS]; // frames from the pointer's to this one
};

// Where the result of a frame goes.
struct sam_bank_slots {
    int32_t map, pointer;
};

// Slots each object needs in the arena.
int sam_bank_maps(const struct sam_bank_limits *l);
int sam_bank_pointers(const struct sam_bank_limits *l);
// The most that one frame can attend to.
int sam_bank_max_maps(const struct sam_bank_limits *l);
int sam_bank_max_pointers(const struct sam_bank_limits *l);

// An empty bank, for the object whose slots begin at index * sam_bank_maps() and so on.
void sam_bank_init(struct sam_bank *b, const struct sam_bank_limits *l, int index);

// The next frame begins: conditioning entries beyond K go, with their pointers.
void sam_bank_begin(struct sam_bank *b);

// Enter a tracked frame. Frames come in order; the same frame may come again.
struct sam_bank_slots sam_bank_track(struct sam_bank *b, int64_t frame);

// Enter a prompted frame, which must be the latest; an entry of the same frame, tracked or
// prompted, is replaced.
struct sam_bank_slots sam_bank_prompt(struct sam_bank *b, int64_t frame);

// Forget the latest conditioning frame.
void sam_bank_drop_latest(struct sam_bank *b);

// Where the result of a remembered frame lies; -1, -1 where it is not remembered.
struct sam_bank_slots sam_bank_find(const struct sam_bank *b, int64_t frame);

// What `frame` attends to: entries before it only.
void sam_bank_attended(const struct sam_bank *b, int64_t frame, struct sam_attended *a);

#endif // SAM_BANK_H
