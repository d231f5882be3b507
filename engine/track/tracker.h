// SPDX-License-Identifier: MIT
// What a tracker is: its objects, its memory, and where it is in the stream. The folders beside are
// what it does; a folder's header is all that others call of it. From the lowest to the highest:
//   memory/   what is remembered: the bank of each object, what it was given, frames of the past
//   graphs/   the parts of a frame, for a batch of objects, and their records
//   prompts/  reading prompts, and applying them to a frame
//   saved/    a tracker's state as a file
//   session/  the public calls, and a step: frame, replay, results
#ifndef SAM_TRACKER_H
#define SAM_TRACKER_H

#include "device/places.h"
#include "layout.h"
#include "track/graphs/graphs.h"

// One object. id 0: the slot is free.
struct sam_tracked {
    uint64_t id;
    int slot;     // 1 .. max_objects
    bool started; // has a conditioning frame
    struct sam_bank bank;

    // `done` is the last frame that it was run on, -1 for none: the bank and all below is as that
    // frame left it. `next` is the one that it must be run on next: done + 1, or an earlier one,
    // to which it must be taken back first. It is behind if that is not the tracker's next frame.
    int64_t done, next;
    int64_t born;  // its first frame: there was nothing of it before
    int64_t since; // it cannot be taken back to frames before this one
    int turns;     // frames that it may still be run on within this step
    bool runs;     // it is run on the frame that is being processed or replayed
    bool ran;      // it was run in this step: its row of the results is its own

    int row;         // of the results; -1: not on the tracker's current frame
    bool is_first;   // its first frame
    bool was_tracked; // it existed before this frame
    float iou, score;
    bool forgets; // a refiner says so of its last frame

    // Presence, after the frame and before it (for undo).
    struct sam_presence {
        int absent; // processed frames since it was last present
        bool lost;
        bool doubted; // with memory selection by score: the frame is not remembered
        bool forgets; // the frame is not remembered, where absent ones are not
    } presence, presence_before;
    enum sam_object_state state;

    // The answers to its last prompts, a click; their masks are in state.answers. taken 0: none.
    struct sam_answered {
        int64_t frame;
        int taken;
        float iou[SAM_ANSWERS];
    } answered;
};

// What a mark on the queue is about while a part runs: the phase, and in phases of objects whose
// entries its tensors have, one after another, or one entry for all of them.
enum sam_turn {
    SAM_TURN_FRAME,
    SAM_TURN_TRACK,
    SAM_TURN_PROMPT,
    SAM_TURN_WINDOW, // of the frame: stages are of the whole
};

struct sam_about {
    enum sam_turn turn;
    struct sam_tracked *const *object;
    int n;
};

struct sam_stages;

struct sam_tracker {
    struct sam_params params;
    char file[4096];
    struct sam_queue queue;
    struct sam_model *model;
    struct sam_bank_limits limits;
    int batch; // objects run at once

    struct sam_layout mem;
    struct sam_places *places; // where scratch is taken from
    int scratch_taken;         // times, nested: 0 between calls
    void *scratch_block;       // the one that it has, or had last, over which scratch is laid
    void *state_block, *host_block;

    uint64_t next_id;
    int64_t frame;      // the current one, or the one that is replayed; -1 before the first
    int64_t first_held; // features of frames before it were never held
    bool holds_frame;   // its features are in memory
    int64_t trunk_frame; // that features.trunk is of; -1: of none that is held as such
    int num_rows;       // objects on it
    int frame_width, frame_height;
    int num_replayed;   // frames, within the last step
    struct sam_times times;

    int broken; // the status that all calls return after a failure that ended the tracker
    struct sam_error broken_error;
    bool is_open; // sam_tracker_open() has succeeded

    struct sam_graphs graphs;
    struct sam_about about;
    struct sam_stages *stages; // NULL unless keep_stages
    struct sam_plan plan;
    int64_t open_ns, warm_ns;
};

static inline bool sam_is_behind(const struct sam_tracker *t, const struct sam_tracked *o)
{
    return o->id && o->next <= t->frame;
}

#endif // SAM_TRACKER_H
