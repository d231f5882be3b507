// What the policy decides, and why.
#ifndef SAM_SEED_REASONS_H
#define SAM_SEED_REASONS_H

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
    reason(BEFORE_CUT, "before-cut") /* IGNORE: of a frame before a scene cut */

#define SAM_SEED_KIND(name, text) SAM_SEED_##name,
#define SAM_SEED_REASON(name, text) SAM_SEED_BY_##name,
enum sam_seed_kind { SAM_SEED_KINDS(SAM_SEED_KIND) SAM_SEED_NUM_KINDS };
enum sam_seed_reason { SAM_SEED_REASONS(SAM_SEED_REASON) SAM_SEED_NUM_REASONS };

// Names for messages and logs; "?" for a value that the enum does not have.
const char *sam_seed_kind_name(enum sam_seed_kind kind);
const char *sam_seed_reason_name(enum sam_seed_reason reason);

#endif // SAM_SEED_REASONS_H
