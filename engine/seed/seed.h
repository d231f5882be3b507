// Automatic seeding: which objects to start, prompt again and remove, from a tracker's objects and
// a detector's results. It touches neither pixels nor a device. One struct sam_seed is one stream's
// state; it is used by one thread at a time. The same inputs give the same decisions.
//
// After every processed frame the caller makes a *step*. A step with a detector's result is a
// *tick*. Then the caller carries out the decisions in their order, and tells the ids of the
// objects that it started with sam_seed_bind().
//
// A *track* is what the policy knows of an object. An object whose id was not bound is a user's: it
// is matched, so that no second object is started on it, and otherwise left alone.
#ifndef SAM_SEED_H
#define SAM_SEED_H

#include "reasons.h"
#include "samtrack/samtrack.h"
#include "thresholds.h"

enum {
    SAM_SEED_GRID = 128, // cells a side of label maps and detections' masks
    SAM_SEED_WORDS = SAM_SEED_GRID * SAM_SEED_GRID / 64,
    SAM_SEED_MAX_DETECTIONS = 64, // considered at a tick: the best by score, then by index
    SAM_SEED_MAX_READ = 4096,     // detections of a result that are read; later ones are counted
    SAM_SEED_MAX_TRACKS = 2 * SAM_MAX_OBJECTS, // objects, and those that were ordered
    SAM_SEED_MAX_DECISIONS = 2 * SAM_SEED_MAX_DETECTIONS + 4 * SAM_SEED_MAX_TRACKS,
    SAM_SEED_NO_CLASS = -1, // matches every class

    // The most that sam_seed_output.work can be: detections read and sorted, cells of each
    // considered one, pairs of it with a track, looked at again for each match, pairs of tracks.
    SAM_SEED_MAX_WORK = SAM_SEED_MAX_READ * (SAM_SEED_MAX_DETECTIONS + 1) +
                        (2 * SAM_SEED_MAX_DETECTIONS + 1) * SAM_SEED_GRID * SAM_SEED_GRID +
                        2 * (SAM_SEED_MAX_DETECTIONS + 4) * SAM_SEED_MAX_DETECTIONS *
                            SAM_SEED_MAX_TRACKS +
                        SAM_SEED_MAX_TRACKS * SAM_SEED_MAX_TRACKS,
};

struct sam_seed_box {
    float x0, y0, x1, y1; // px of the frame
};

// What a detector found. Any content is allowed: what is out of range is ignored, with a reason.
struct sam_seed_detection {
    struct sam_seed_box box; // the part inside the frame counts
    float score;             // 0 .. 1
    int class_id;            // 0 .. SAM_SEED_MAX_CLASSES - 1 or SAM_SEED_NO_CLASS
    // NULL: a box alone. Else SAM_SEED_WORDS words that stretch over the frame: cell x, y is bit
    // x % 64 of word y * (SAM_SEED_GRID / 64) + x / 64.
    const uint64_t *mask;
    float mask_quality; // 0 .. 1; ignored without a mask
};

struct sam_seed_input {
    uint64_t frame;    // number of the processed frame, more than the last step's
    int64_t time_ns;   // its running time; time that goes back counts as no time
    int width, height; // of the frame, px, 1 .. SAM_MAX_SIDE

    // The tracker's, as in struct sam_result; 0 .. SAM_MAX_OBJECTS. slot, x to area, iou and score
    // are read; what is not finite or outside of the frame makes the object absent.
    int num_objects;
    const struct sam_object *objects;
    // SAM_SEED_GRID rows of SAM_SEED_GRID bytes: a label map of this frame. NULL: boxes alone are
    // compared.
    const uint8_t *labels;

    int has_cut; // non-zero: the scene was cut before this frame

    // The detector. has_result: this step is a tick, with the result for result_frame, which is
    // `frame`, or an earlier one for which sam_seed_output.detect was set.
    int has_result;
    uint64_t result_frame;
    int num_detections;
    const struct sam_seed_detection *detections;
    // NULL, or the cosine of the pointers of detection d and object i of `objects` at
    // d * num_objects + i; NaN where it is not known.
    const float *similarity;
    uint64_t oldest; // the first frame that prompts can still name; more than `frame`: none
    int busy;        // non-zero: a detection is running: ask for none
    int overloaded;  // non-zero: the stream is late: ask for none
};

struct sam_seed_decision {
    enum sam_seed_kind kind;
    enum sam_seed_reason reason;
    uint64_t id;   // of the object; 0 where there is none, or none yet
    int detection; // index in the input; -1: none
    int class_id;  // of the track, or of the detection if there is no track

    // Of START, REACQUIRE and RECONDITION: the prompt.
    struct sam_seed_box box; // clipped to the frame
    int use_mask;            // non-zero: prompt with the detection's mask instead
    int has_frame;           // non-zero: for the frame `prompt_frame`; 0: for the next one
    uint64_t prompt_frame;
};

enum sam_seed_request {
    SAM_SEED_REQUEST_NONE,
    SAM_SEED_REQUEST_INTERVAL, // detect_interval has passed
    SAM_SEED_REQUEST_NOTHING,  // no track lives
    SAM_SEED_REQUEST_LOSS,     // a track was lost since the last detection
    SAM_SEED_REQUEST_CUT,      // the scene was cut
};

struct sam_seed_output {
    int num_decisions;
    const struct sam_seed_decision *decisions; // valid until the next step
    enum sam_seed_request detect; // not NONE: run the detector on this frame, and why
    int interval;                 // frames, the present one
    uint64_t work; // units of work that the step took, at most SAM_SEED_MAX_WORK
};

enum sam_seed_phase {
    SAM_SEED_TENTATIVE, // on probation
    SAM_SEED_CONFIRMED,
    SAM_SEED_SHADOWED,  // lost; its slot and memory are kept
    SAM_SEED_USERS,     // of a user
    SAM_SEED_DYING,     // its removal was ordered
};

struct sam_seed_track {
    uint64_t id;
    enum sam_seed_phase phase;
    int class_id;
    int is_published; // whether the object is to be shown
    int is_awaited;   // it was ordered, and the tracker has not shown it yet
    double keep_alive; // of CONFIRMED, ticks
};

struct sam_seed_stats {
    uint64_t steps, ticks, detections; // detections: of all ticks
    uint64_t decisions[SAM_SEED_NUM_KINDS];
    uint64_t reasons[SAM_SEED_NUM_REASONS]; // of all decisions
    uint64_t flooded;      // detections that were not considered, and have no decision
    uint64_t unfollowed;   // objects beyond SAM_SEED_MAX_TRACKS
    uint64_t result_age, max_result_age; // frames, of the last result and of the oldest
};

struct sam_seed;

// Allocate a policy without tracks; a step allocates nothing. settings NULL: the defaults.
// On failure *out is NULL. SAM_EINVAL: a setting is out of range. SAM_ENOMEM.
int sam_seed_open(struct sam_seed **out, const struct sam_seed_settings *settings,
                  struct sam_error *error);

// Free *seed and set it to NULL. seed and *seed may be NULL: then nothing happens.
void sam_seed_close(struct sam_seed **seed);

// Forget all tracks and results to come; frames and times may begin anew. Statistics stay.
void sam_seed_reset(struct sam_seed *seed);

// Make a step. At a tick every detection that is considered has one decision; the others of the
// result are in sam_seed_stats.flooded.
// SAM_EINVAL: the input breaks a condition of its struct; then nothing changes.
int sam_seed_step(struct sam_seed *seed, const struct sam_seed_input *in,
                  struct sam_seed_output *out, struct sam_error *error);

// Tell the id of the object that was started for decision `index` of the last step. A START that is
// not bound before the next step counts as refused.
// SAM_EINVAL: the decision is not a START, or is bound already; id is 0 or not larger than every id
// before: a tracker never uses an id twice.
int sam_seed_bind(struct sam_seed *seed, int index, uint64_t id, struct sam_error *error);

// Describe the track of an object. SAM_ENOTFOUND: there is none; *track is not changed.
int sam_seed_find(const struct sam_seed *seed, uint64_t id, struct sam_seed_track *track);

// The number of tracks, those that are awaited included.
int sam_seed_count(const struct sam_seed *seed);

const struct sam_seed_stats *sam_seed_get_stats(const struct sam_seed *seed);

#endif // SAM_SEED_H
