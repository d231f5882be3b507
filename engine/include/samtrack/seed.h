// SPDX-License-Identifier: MIT
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
//
// The rules for all calls are those of samtrack.h.
#ifndef SAMTRACK_SEED_H
#define SAMTRACK_SEED_H

#include <samtrack/samtrack.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- Settings: one list for the struct, its defaults, ranges and documentation.

enum { SAM_SEED_MAX_CLASSES = 1024 };

// setting(type, name, default, least, most, unit, meaning). A tick is a step with a detector's
// result; a fraction is one of the frame's width, height or area, or of the quantity named.
// Scores and IoUs run from 0 to 1; a threshold above 1 turns off what it would allow.
#define SAM_SEED_SETTINGS(setting)                                                             \
    setting(int, max_objects, 16, 1, 255, "objects", "maximum number of tracked objects")      \
    setting(int, detect_interval, 15, 1, 100000, "frames",                                     \
            "number of frames from one detection to the next")                                 \
    setting(int, detect_on_loss, 1, 0, 1, "boolean",                                           \
            "whether to detect at once when an object is lost")                                \
    setting(int, adaptive, 0, 0, 1, "boolean",                                                 \
            "whether to detect less often while nothing changes")                              \
    setting(int, adaptive_max, 60, 1, 100000, "frames",                                        \
            "longest interval that adaptive may choose")                                       \
    setting(int, adaptive_ticks, 3, 1, 1000, "ticks",                                          \
            "number of detector results without change that double the interval")              \
    setting(float, match_iou, 0.5, 0, 2, "IoU", "lowest IoU of two masks that match")          \
    setting(float, match_box_iou, 0.4, 0, 2, "IoU", "lowest IoU of two boxes that match")      \
    setting(float, match_coverage, 0.5, 0, 1, "fraction",                                      \
            "lowest share of a mask inside a box that matches it")                             \
    setting(float, seed_score, 0.6, 0, 2, "score",                                             \
            "lowest score of a detection that starts an object")                               \
    setting(float, birth_max_iou, 0.1, 0, 2, "IoU",                                            \
            "IoU with a tracked object from which a detection starts none")                    \
    setting(float, birth_min_background, 0.8, 0, 1, "fraction",                                \
            "lowest share of a new object that no tracked object covers")                      \
    setting(float, birth_max_containment, 0.5, 0, 2, "fraction",                               \
            "intersection over the smaller area from which a detection starts none")           \
    setting(float, birth_max_border, 0.5, 0, 1, "fraction",                                    \
            "highest share of a new box's perimeter on the frame's border")                    \
    setting(int, births_per_tick, 4, 1, 64, "objects",                                         \
            "maximum number of objects started by one detector result")                        \
    setting(float, min_area, 0.0002, 0, 1, "fraction",                                         \
            "smallest area of a new object and of a plausible mask")                           \
    setting(float, max_area, 0.9, 0, 1, "fraction",                                            \
            "largest area of a new object and of a plausible mask")                            \
    setting(float, roi_x0, 0, 0, 1, "fraction",                                                \
            "left edge of the region in which new objects have their centre")                  \
    setting(float, roi_y0, 0, 0, 1, "fraction", "upper edge of that region")                   \
    setting(float, roi_x1, 1, 0, 1, "fraction", "right edge of that region")                   \
    setting(float, roi_y1, 1, 0, 1, "fraction", "lower edge of that region")                   \
    setting(float, mask_quality, 0.8, 0, 2, "score",                                           \
            "lowest quality of a detection's mask that is used as the prompt")                 \
    setting(int, confirm_hits, 2, 1, 100, "ticks",                                             \
            "number of detector results, the first included, that confirm a new object")       \
    setting(int, confirm_window, 3, 1, 100, "ticks",                                           \
            "number of detector results within which these must come")                         \
    setting(float, instant_confirm_score, 0.85, 0, 2, "score",                                 \
            "score that confirms a new object at once")                                        \
    setting(int, absent_frames, 5, 1, 100000, "frames",                                        \
            "number of frames of absence that end an unconfirmed object")                      \
    setting(int, shared_ticks, 2, 1, 100, "ticks",                                             \
            "number of detections shared with an older object that end an unconfirmed one")    \
    setting(int, keep_alive, 8, 1, 100000, "ticks",                                            \
            "highest value of a confirmed object's counter of matches")                        \
    setting(int, keep_alive_start, 4, 1, 100000, "ticks",                                      \
            "value at which that counter starts")                                              \
    setting(float, strong_score, 0.5, 0, 2, "score",                                           \
            "predicted IoU from which a missed detection costs a quarter")                     \
    setting(int, lost_frames, 15, 1, 100000, "frames",                                         \
            "number of frames of absence after which an object is lost")                       \
    setting(int, shadow_timeout, 3000, 0, 86400000, "ms",                                      \
            "time after which a lost object is removed")                                       \
    setting(int, found_frames, 2, 1, 1000, "frames",                                           \
            "number of frames of presence after which a lost object is found")                 \
    setting(float, reacquire_iou, 0.3, 0, 2, "IoU",                                            \
            "lowest IoU with the last box of a lost object, both enlarged")                    \
    setting(float, reacquire_growth, 1, 0, 100, "sides/s",                                     \
            "enlargement of these boxes on each side, by time of absence")                     \
    setting(float, reacquire_max_growth, 2, 0, 100, "sides", "largest such enlargement")       \
    setting(float, reacquire_motion, 1, 0, 2, "fraction",                                      \
            "share of its last speed at which a lost object is assumed to move on")            \
    setting(float, reacquire_similarity, 0.8, -1, 2, "cosine",                                 \
            "lowest similarity of object pointers")                                            \
    setting(int, prompt_gap, 5, 1, 100000, "frames",                                           \
            "lowest number of frames between reacquisitions of an object")                     \
    setting(float, recondition_iou, 0.8, 0, 2, "IoU",                                          \
            "IoU of a match above which its object is prompted again")                         \
    setting(float, recondition_score, 0.8, 0, 2, "score",                                      \
            "score that detection and object must exceed for such a prompt")                   \
    setting(int, recondition_gap, 30, 1, 100000, "frames",                                     \
            "lowest number of frames between such prompts of an object")                       \
    setting(float, duplicate_iou, 0.7, 0, 2, "IoU",                                            \
            "IoU from which two objects are duplicates")                                       \
    setting(int, duplicate_ticks, 2, 1, 100, "ticks",                                          \
            "number of detector results in a row after which a duplicate is removed")          \
    setting(int, late_frames, 3, 0, 100000, "frames",                                          \
            "highest age of a detection that prompts the next frame")                          \
    setting(int, start_frames, 30, 1, 100000, "frames",                                        \
            "number of frames within which a prompt must show its effect")                     \
    setting(int, publish_tentative, 0, 0, 1, "boolean",                                        \
            "whether unconfirmed objects are published")

struct sam_seed_settings {
    size_t size; // sizeof(struct sam_seed_settings); sam_seed_defaults() sets it

    // Bit c % 64 of word c / 64: objects of class c are started. All words 0: of every class.
    uint64_t classes[SAM_SEED_MAX_CLASSES / 64];
    // Classes of one group, 1 to 255, match each other; those of group 0 match themselves alone.
    uint8_t group[SAM_SEED_MAX_CLASSES];

#define SAM_SEED_FIELD(type, name, default_value, least, most, unit, meaning) type name;
    SAM_SEED_SETTINGS(SAM_SEED_FIELD)
};

// A scalar setting, to make a property of it. The strings are constants.
struct sam_seed_setting {
    const char *name, *unit, *meaning;
    int is_int; // non-zero: its field is an int, else a float
    double default_value, least, most;
    unsigned offset; // of its field in struct sam_seed_settings
};

// Fill *settings with the defaults: all classes, no groups. size: sizeof(*settings). If the library
// does not know that size, only settings->size is written, as 0, which sam_seed_open() refuses.
SAM_API void sam_seed_defaults(struct sam_seed_settings *settings, size_t size);

// The scalar settings in their order; NULL if index is not 0 or more and below their number.
SAM_API const struct sam_seed_setting *sam_seed_setting(int index);

// ---- What the policy decides, and why.

// The first four are orders to the caller; the others tell what became of a detection or a track.
#define SAM_SEED_KINDS(kind)                                                                   \
    kind(START, "start")             /* prompt a new object with the detection */              \
    kind(REMOVE, "remove")           /* remove the object `id` */                              \
    kind(REACQUIRE, "reacquire")     /* prompt the object `id`, which was absent */            \
    kind(RECONDITION, "recondition") /* prompt the object `id`, which is matched */            \
    kind(MATCH, "match")             /* the detection is the object `id` */                    \
    kind(IGNORE, "ignore")           /* the detection has no effect */                         \
    kind(CONFIRM, "confirm")         /* the probation of `id` ended well */                    \
    kind(SHADOW, "shadow")           /* `id` is not published until it returns */              \
    kind(RETURN, "return")           /* `id` left the shadow without a prompt */               \
    kind(FORGET, "forget")           /* `id` is not the policy's any more */

#define SAM_SEED_REASONS(reason)                                                               \
    reason(NEW, "new")               /* START: a detection on the background */                \
    reason(MATCHED, "matched")       /* MATCH, RETURN: by overlap and class */                 \
    reason(INSTANT, "instant")       /* CONFIRM: one detection with a high score */            \
    reason(HITS, "hits")             /* CONFIRM: enough matched ticks */                       \
    reason(NEAR, "near")             /* REACQUIRE: near the last box */                        \
    reason(SIMILAR, "similar")       /* REACQUIRE: a similar object pointer */                 \
    reason(AGREES, "agrees")         /* RECONDITION: detector and tracker agree well */        \
    reason(REAPPEARED, "reappeared") /* RETURN: the tracker found it */                        \
    reason(LOST, "lost")             /* SHADOW: absent for lost_frames */                      \
    reason(UNSUPPORTED, "unsupported") /* SHADOW: keep-alive reached 0 */                      \
    reason(CUT, "cut")               /* SHADOW, REMOVE: the scene was cut */                   \
    reason(MISSED, "missed")         /* REMOVE: too few matched ticks in probation */          \
    reason(ABSENT, "absent")         /* REMOVE: absent in probation */                         \
    reason(SHARED, "shared")         /* REMOVE: in probation, on an older track's detection */ \
    reason(DUPLICATE, "duplicate")   /* REMOVE: its mask is another track's */                 \
    reason(TIMEOUT, "timeout")       /* REMOVE: shadow_timeout has passed */                   \
    reason(EVICTED, "evicted")       /* REMOVE: a birth needs the slot */                      \
    reason(GONE, "gone")             /* FORGET: removed by others */                           \
    reason(NOT_STARTED, "not-started") /* FORGET: refused, or never seen */                    \
    reason(AMBIGUOUS, "ambiguous")   /* IGNORE: overlaps a track, too little to match */       \
    reason(TAKEN, "taken")           /* IGNORE: another detection matched that track */        \
    reason(OTHER_CLASS, "other-class") /* IGNORE: on a track of another class */               \
    reason(CONTAINED, "contained")   /* IGNORE: part of a track, or a track is part of it */   \
    reason(COVERED, "covered")       /* IGNORE: too little of it is background */              \
    reason(LOW_SCORE, "low-score")   /* IGNORE: score below seed_score */                      \
    reason(NOT_WANTED, "not-wanted") /* IGNORE: class is not in `classes` */                   \
    reason(SMALL, "small")           /* IGNORE: area below min_area */                         \
    reason(LARGE, "large")           /* IGNORE: area above max_area */                         \
    reason(OUTSIDE_ROI, "outside-roi") /* IGNORE: centre outside of the region */              \
    reason(BORDER, "border")         /* IGNORE: too much of it lies on the border */           \
    reason(FULL, "full")             /* IGNORE: no slot is free or can be freed */             \
    reason(ENOUGH, "enough")         /* IGNORE: births_per_tick is reached */                  \
    reason(TOO_LATE, "too-late")     /* IGNORE: the result is too old to prompt with */        \
    reason(BAD_BOX, "bad-box")       /* IGNORE: not finite, empty or outside of the frame */   \
    reason(BAD_SCORE, "bad-score")   /* IGNORE: not from 0 to 1 */                             \
    reason(BAD_CLASS, "bad-class")   /* IGNORE: not below SAM_SEED_MAX_CLASSES */              \
    reason(FLOOD, "flood")           /* IGNORE: not among the best SAM_SEED_MAX_DETECTIONS */  \
    reason(STALE, "stale")           /* IGNORE: of a frame that is not held */                 \
    reason(BEFORE_CUT, "before-cut") /* IGNORE: of a frame before a scene cut */               \
    reason(UNASKED, "unasked")       /* REMOVE, FORGET: sam_seed_end_class() */

#define SAM_SEED_KIND(name, text) SAM_SEED_##name,
#define SAM_SEED_REASON(name, text) SAM_SEED_BY_##name,
enum sam_seed_kind { SAM_SEED_KINDS(SAM_SEED_KIND) SAM_SEED_NUM_KINDS };
enum sam_seed_reason { SAM_SEED_REASONS(SAM_SEED_REASON) SAM_SEED_NUM_REASONS };

// Names for messages and logs, constants; "?" for a value that the enum does not have.
SAM_API const char *sam_seed_kind_name(enum sam_seed_kind kind);
SAM_API const char *sam_seed_reason_name(enum sam_seed_reason reason);

// ---- A step.

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
    size_t size;       // sizeof(struct sam_seed_input), set by the caller
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

#define SAM_SEED_INPUT_INIT { .size = sizeof(struct sam_seed_input) }

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
    SAM_SEED_REQUEST_ASKED,    // sam_seed_request()
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

// Counts since sam_seed_open().
struct sam_seed_stats {
    uint64_t steps, ticks, detections; // detections: of all ticks
    uint64_t decisions[16]; // by enum sam_seed_kind
    uint64_t reasons[64];   // of all decisions, by enum sam_seed_reason
    uint64_t flooded;      // detections that were not considered, and have no decision
    uint64_t unfollowed;   // objects beyond SAM_SEED_MAX_TRACKS
    uint64_t result_age, max_result_age; // frames, of the last result and of the oldest
};

// ---- Calls.

typedef struct sam_seed sam_seed;

// Allocate a policy without tracks, about 1.5 MiB; a step allocates nothing. settings NULL: the
// defaults; else they are copied. The caller must close the policy. On failure *out is NULL.
// SAM_EINVAL: a setting is out of range, two contradict each other, settings->size is wrong, or out
// is NULL. SAM_ENOMEM.
SAM_API int sam_seed_open(sam_seed **out, const struct sam_seed_settings *settings,
                          struct sam_error *error);

// Free *seed and set it to NULL. seed and *seed may be NULL: then nothing happens.
SAM_API void sam_seed_close(sam_seed **seed);

// Forget all tracks and results to come; frames and times may begin anew. Statistics stay.
SAM_API void sam_seed_reset(sam_seed *seed);

// Make a step. At a tick every detection that is considered has one decision; the others of the
// result are in sam_seed_stats.flooded. What `in` points at is read during the call only.
// SAM_EINVAL: the input breaks a condition of its struct; then nothing changes.
SAM_API int sam_seed_step(sam_seed *seed, const struct sam_seed_input *in,
                          struct sam_seed_output *out, struct sam_error *error);

// Tell the id of the object that was started for decision `index` of the last step. A START that is
// not bound before the next step counts as refused.
// SAM_EINVAL: the decision is not a START, or is bound already; id is 0 or not larger than every id
// before: a tracker never uses an id twice.
SAM_API int sam_seed_bind(sam_seed *seed, int index, uint64_t id, struct sam_error *error);

// What holds for one class from the next step on, instead of the settings. score: the lowest score
// of a detection that starts an object, 0 to 2; below 0: seed_score. objects: the most of the class
// that are tracked, lost ones included; as at max_objects, a birth may displace one of them. 0: no
// limit of its own. sam_seed_reset() does not change it.
// SAM_EINVAL: class_id is not 0 to SAM_SEED_MAX_CLASSES - 1, score is NaN or more than 2, or
// objects is not 0 to SAM_MAX_OBJECTS.
SAM_API int sam_seed_limit_class(sam_seed *seed, int class_id, float score, int objects,
                                 struct sam_error *error);

// Nobody asks for a class any more: at the next step its objects on probation are removed, and the
// others as well if keeps is 0. Else these are a user's from then on, and keep their class.
// SAM_EINVAL: as above.
SAM_API int sam_seed_end_class(sam_seed *seed, int class_id, int keeps, struct sam_error *error);

// Whether a track has that class: 1 or 0.
SAM_API int sam_seed_has_class(const sam_seed *seed, int class_id);

// Have the next step ask for a detection, whatever the interval. If the detector is busy then, or
// the stream late, the first step asks at which they are not.
SAM_API void sam_seed_request(sam_seed *seed);

// Describe the track of an object. SAM_ENOTFOUND: there is none; *track is not changed.
SAM_API int sam_seed_find(const sam_seed *seed, uint64_t id, struct sam_seed_track *track);

// The number of tracks, those that are awaited included.
SAM_API int sam_seed_count(const sam_seed *seed);

// The policy's, valid until it is closed, changed by each step. Later versions may append fields.
SAM_API const struct sam_seed_stats *sam_seed_get_stats(const sam_seed *seed);

#ifdef __cplusplus
}
#endif
#endif // SAMTRACK_SEED_H
