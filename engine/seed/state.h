// SPDX-License-Identifier: MIT
// The policy's state, of fixed size, and what its files call of each other.
#ifndef SAM_SEED_STATE_H
#define SAM_SEED_STATE_H

#include <stdbool.h>

#include "overlap.h"
#include "samtrack/seed.h"

enum {
    KEEP_ALIVE_UNIT = 4, // the counter's unit is a quarter of a tick
    NUM_RECORDS = 4,     // frames sent to the detector, whose results may still come
};

// What becomes of a track whose class is not asked for any more.
enum ending { GOES_ON, ENDS, IS_KEPT };

struct track {
    bool used;
    enum ending ending; // at the next step
    uint64_t id; // 0: ordered, not bound yet
    enum sam_seed_phase phase;
    int class_id;
    float score; // of the detection that it began with, or of the last match
    bool is_awaited;
    uint64_t ordered; // frame of the START or REMOVE that its effect is awaited of
    enum sam_seed_reason removed_by;

    // The tracker's last word on it.
    bool is_listed; // in this step's objects
    struct seen now;
    uint64_t absent; // frames in a row
    struct sam_seed_box last_box; // where it was seen last, or ordered
    int64_t last_time;
    double speed_x, speed_y; // of the box's centre, px/s, smoothed

    int hits, misses, shared;     // of probation, ticks
    int keep_alive;               // in KEEP_ALIVE_UNIT
    uint64_t prompted;            // frame of the last prompt
    uint64_t shadow_frame;        // when the shadow began
    int64_t shadow_time;
    bool was_absent;              // since then
    uint64_t back;                // frames in a row that it is plausibly present again
    uint64_t twin;                // the track whose duplicate it seemed to be at the last tick
    int twin_ticks;
};

// How the tracks were seen on a frame.
struct record {
    bool used, has_labels;
    uint64_t frame;
    int64_t time;
    struct seen seen[SAM_SEED_MAX_TRACKS]; // by the track's index
    uint8_t labels[SAM_SEED_GRID * SAM_SEED_GRID];
    uint32_t cells[256]; // by label
};

// A detection that is considered.
struct candidate {
    int index; // in the input
    struct sam_seed_box box; // clipped
    float score, quality;
    int class_id;
    const uint64_t *mask;
    double area; // fraction of the frame
    double background;
    bool is_decided;
};

// What sam_seed_limit_class() set.
struct class_limit {
    bool has_score;
    float score;
    int objects; // 0: no limit
};

struct sam_seed {
    struct sam_seed_settings settings;
    struct class_limit limit[SAM_SEED_MAX_CLASSES];
    uint64_t wanted; // bits of enum sam_seed_request that wait for the detector

    bool has_stepped;
    uint64_t frame, cut_frame;
    int64_t given_time, time; // ns; time is the sum of the given ones' advances
    double width, height;
    uint64_t highest_id;
    uint64_t detected; // frame of the last request
    bool has_detected, has_cut;
    int interval, quiet_ticks;

    int num_tracks; // entries that may be used
    struct track track[SAM_SEED_MAX_TRACKS];
    struct record now, past[NUM_RECORDS];
    int next_record;

    // Of a tick.
    int num_candidates;
    struct candidate candidate[SAM_SEED_MAX_DETECTIONS];
    struct pair pair[SAM_SEED_MAX_DETECTIONS][SAM_SEED_MAX_TRACKS];
    bool is_matched[SAM_SEED_MAX_TRACKS];

    int num_decisions;
    struct sam_seed_decision decision[SAM_SEED_MAX_DECISIONS];
    int started[SAM_SEED_MAX_DECISIONS]; // track of a START, else -1
    uint64_t work;
    struct sam_seed_stats stats;
};

// decide.c
struct sam_seed_decision *sam_seed_emit(struct sam_seed *s, enum sam_seed_kind kind,
                                        enum sam_seed_reason reason, const struct track *t);
void sam_seed_order_removal(struct sam_seed *s, struct track *t, enum sam_seed_reason reason);
void sam_seed_ignore(struct sam_seed *s, struct candidate *c, enum sam_seed_reason reason);
// Whether the result is young enough to prompt with, and fill in the prompt of a decision.
bool sam_seed_can_prompt(const struct sam_seed *s, const struct sam_seed_input *in);
void sam_seed_prompt(const struct sam_seed *s, const struct sam_seed_input *in,
                     const struct candidate *c, struct sam_seed_decision *d);
bool sam_seed_same_class(const struct sam_seed *s, int a, int b);
bool sam_seed_fits(const struct sam_seed *s, const struct pair *p); // its IoU is a match's

// classes.c: what is asked of a class.
float sam_seed_score_of(const struct sam_seed *s, int class_id); // the lowest that starts an object
int sam_seed_most_of(const struct sam_seed *s, int class_id);    // objects; 0: no limit
void sam_seed_end(struct sam_seed *s, struct track *t);          // as t->ending says

// tracks.c: what each frame does to the tracks.
void sam_seed_follow(struct sam_seed *s, const struct sam_seed_input *in);
void sam_seed_shade(struct sam_seed *s, struct track *t, enum sam_seed_reason reason);
void sam_seed_revive(struct sam_seed *s, struct track *t);
// Confirm a track on probation if its score or its hits are enough.
void sam_seed_try_to_confirm(struct sam_seed *s, struct track *t);

static inline bool sam_seed_lives(const struct track *t)
{
    return t->used && (t->phase == SAM_SEED_TENTATIVE || t->phase == SAM_SEED_CONFIRMED ||
                       t->phase == SAM_SEED_USERS);
}

// read.c: the detections of a result that are considered.
void sam_seed_read(struct sam_seed *s, const struct sam_seed_input *in);

// match.c: a tick's matches and what follows from them.
void sam_seed_match(struct sam_seed *s, const struct sam_seed_input *in, const struct record *r);

// birth.c: re-acquisitions and births.
void sam_seed_reacquire(struct sam_seed *s, const struct sam_seed_input *in,
                        const struct record *r);
void sam_seed_give_birth(struct sam_seed *s, const struct sam_seed_input *in,
                         const struct record *r);

#endif // SAM_SEED_STATE_H
