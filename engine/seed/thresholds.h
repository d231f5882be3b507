// The settings of the policy: one list for the struct, its defaults, ranges and documentation.
#ifndef SAM_SEED_THRESHOLDS_H
#define SAM_SEED_THRESHOLDS_H

#include <stdint.h>

enum { SAM_SEED_MAX_CLASSES = 1024 };

// setting(type, name, default, least, most, unit, meaning). A tick is a step with a detector's
// result; a fraction is one of the frame's width, height or area, or of the quantity named.
// Scores and IoUs run from 0 to 1; a threshold above 1 turns off what it would allow.
#define SAM_SEED_SETTINGS(setting)                                                             \
    setting(int, max_objects, 16, 1, 255, "objects", "slots of the tracker")                   \
    setting(int, detect_interval, 15, 1, 100000, "frames",                                     \
            "frames from a detection to the next")                                             \
    setting(int, detect_on_loss, 1, 0, 1, "boolean", "detect at once when a track was lost")   \
    setting(int, adaptive, 0, 0, 1, "boolean", "detect less often while nothing changes")      \
    setting(int, adaptive_max, 60, 1, 100000, "frames", "the longest interval of adaptive")    \
    setting(int, adaptive_ticks, 3, 1, 1000, "ticks",                                          \
            "ticks without change that double the interval")                                   \
    setting(float, match_iou, 0.5, 0, 2, "IoU", "least IoU of masks that match")               \
    setting(float, match_box_iou, 0.4, 0, 2, "IoU", "least IoU of boxes that match")           \
    setting(float, match_coverage, 0.5, 0, 1, "fraction",                                      \
            "least part of a mask in the box that matches it")                                 \
    setting(float, seed_score, 0.6, 0, 2, "score", "least score of a birth")                   \
    setting(float, birth_max_iou, 0.1, 0, 2, "IoU",                                            \
            "IoU with a track at which a birth is refused")                                    \
    setting(float, birth_min_background, 0.8, 0, 1, "fraction",                                \
            "least part of a birth that no track covers")                                      \
    setting(float, birth_max_containment, 0.5, 0, 2, "fraction",                               \
            "intersection by the smaller area at which a birth is refused")                    \
    setting(float, birth_max_border, 0.5, 0, 1, "fraction",                                    \
            "most of a box's perimeter on the frame's border")                                 \
    setting(int, births_per_tick, 4, 1, 64, "objects", "most births at a tick")                \
    setting(float, min_area, 0.0002, 0, 1, "fraction",                                         \
            "least area of a birth and of a plausible mask")                                   \
    setting(float, max_area, 0.9, 0, 1, "fraction",                                            \
            "most area of a birth and of a plausible mask")                                    \
    setting(float, roi_x0, 0, 0, 1, "fraction",                                                \
            "left edge of the region in which births have their centre")                       \
    setting(float, roi_y0, 0, 0, 1, "fraction", "its upper edge")                              \
    setting(float, roi_x1, 1, 0, 1, "fraction", "its right edge")                              \
    setting(float, roi_y1, 1, 0, 1, "fraction", "its lower edge")                              \
    setting(float, mask_quality, 0.8, 0, 2, "score",                                           \
            "least quality of a detection's mask that is a prompt")                            \
    setting(int, confirm_hits, 2, 1, 100, "ticks",                                             \
            "matched ticks, the birth's included, that confirm")                               \
    setting(int, confirm_window, 3, 1, 100, "ticks",                                           \
            "ticks, the birth's included, in which they must fall")                            \
    setting(float, instant_confirm_score, 0.85, 0, 2, "score",                                 \
            "score that confirms at one tick")                                                 \
    setting(int, absent_frames, 5, 1, 100000, "frames",                                        \
            "frames of absence that end probation")                                            \
    setting(int, shared_ticks, 2, 1, 100, "ticks",                                             \
            "ticks on an older track's detection that end probation")                          \
    setting(int, keep_alive, 8, 1, 100000, "ticks",                                            \
            "most that a confirmed track's counter reaches")                                   \
    setting(int, keep_alive_start, 4, 1, 100000, "ticks", "where that counter begins")         \
    setting(float, strong_score, 0.5, 0, 2, "score",                                           \
            "predicted IoU from which a miss costs 1/4")                                       \
    setting(int, lost_frames, 15, 1, 100000, "frames", "frames of absence until the shadow")   \
    setting(int, shadow_timeout, 3000, 0, 86400000, "ms", "time in the shadow until death")    \
    setting(int, found_frames, 2, 1, 1000, "frames",                                           \
            "frames of presence that end the shadow")                                          \
    setting(float, reacquire_iou, 0.3, 0, 2, "IoU",                                            \
            "least IoU with the last box, both enlarged")                                      \
    setting(float, reacquire_growth, 1, 0, 100, "sides/s",                                   \
            "enlargement on each side, by absence")                                            \
    setting(float, reacquire_max_growth, 2, 0, 100, "sides", "most of that enlargement")       \
    setting(float, reacquire_motion, 1, 0, 2, "fraction",                                      \
            "part of its last speed at which a track is assumed to go on")                     \
    setting(float, reacquire_similarity, 0.8, -1, 2, "cosine",                                 \
            "least similarity of object pointers")                                             \
    setting(int, prompt_gap, 5, 1, 100000, "frames",                                           \
            "least frames between re-acquisitions of a track")                                 \
    setting(float, recondition_iou, 0.8, 0, 2, "IoU",                                          \
            "IoU above which a match may re-condition")                                        \
    setting(float, recondition_score, 0.8, 0, 2, "score",                                      \
            "what both scores must exceed for it")                                             \
    setting(int, recondition_gap, 30, 1, 100000, "frames",                                     \
            "least frames since the last prompt")                                              \
    setting(float, duplicate_iou, 0.7, 0, 2, "IoU",                                            \
            "IoU from which two tracks are duplicates")                                        \
    setting(int, duplicate_ticks, 2, 1, 100, "ticks",                                          \
            "ticks in a row after which one of them dies")                                     \
    setting(int, late_frames, 3, 0, 100000, "frames",                                          \
            "most age of a result for prompts on the next frame")                              \
    setting(int, start_frames, 30, 1, 100000, "frames",                                        \
            "frames in which an order must show its effect")                                   \
    setting(int, publish_tentative, 0, 0, 1, "boolean",                                        \
            "whether tracks on probation are published")                                       \

#define SAM_SEED_FIELD(type, name, default_value, least, most, unit, meaning) type name;

struct sam_seed_settings {
    SAM_SEED_SETTINGS(SAM_SEED_FIELD)

    // Bit c % 64 of word c / 64: objects of class c are started. All words 0: of every class.
    uint64_t classes[SAM_SEED_MAX_CLASSES / 64];
    // Classes of one group, 1 to 255, match each other; those of group 0 match themselves alone.
    uint8_t group[SAM_SEED_MAX_CLASSES];
};

// A scalar setting, to make a property of it.
struct sam_seed_setting {
    const char *name, *unit, *meaning;
    int is_int;
    double default_value, least, most;
    unsigned offset; // in struct sam_seed_settings
};

// Fill *settings with the defaults: all classes, no groups.
void sam_seed_defaults(struct sam_seed_settings *settings);

// The scalar settings in their order; NULL if index is not below their number.
const struct sam_seed_setting *sam_seed_setting(int index);

#endif // SAM_SEED_THRESHOLDS_H
