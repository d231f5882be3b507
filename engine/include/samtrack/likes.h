// SPDX-License-Identifier: MIT
// Other things like an object, in the same frame: by the features that the tracker has of it
// anyhow, without a detector and without words.
//
// The rules of samtrack.h apply: NULL, sizes, errors, threads, ownership.
#ifndef SAMTRACK_LIKES_H
#define SAMTRACK_LIKES_H

#include <samtrack/samtrack.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SAM_MAX_LIKES = 64 };

// A place that looks like an object.
struct sam_like {
    float box[4];   // x0, y0, x1, y1, px of the last processed frame, inside of it
    float likeness; // up to 1, which is that of the object itself
};

struct sam_likes {
    size_t size;          // sizeof(struct sam_likes), set by the caller
    uint64_t frame_index; // of the last processed frame, which was looked at
    float best;           // the highest likeness of a place that no object covers; 0: there is none
    int num_likes;
    struct sam_like like[SAM_MAX_LIKES]; // the best first
};

#define SAM_LIKES_INIT { .size = sizeof(struct sam_likes) }

// Find the places of the last processed frame that look like an object on that frame, with a
// likeness of `least` or more. The object's features are laid over every place of the frame, at
// three quarters, once and four thirds of its size; the likeness is the cosine of both, each less
// the mean of the frame, by what is rare in it: 0.75 and more for another thing of its kind, 0.2 to
// 0.5 for one that resembles it. Places that overlap one another, or that objects cover by a third,
// are left out, as are those of which the frame shows less than a half. No object begins, and
// nothing changes: prompt with the boxes. There are no likes where the object is absent, or so
// small that its mask counts in fewer than six cells of features (of 16 px of the model's input, of
// 8 where that has less than 512 px).
// Allocates the memory it takes, of the size of the frame's features, and frees it.
// SAM_EINVAL: likes->size is wrong, `least` is not a number from 0 to 1, or a NULL. SAM_ENOTFOUND:
// the object is not on the last frame, or was not since the tracker was opened or loaded.
// SAM_ENOMEM. SAM_EDEVICE.
SAM_API int sam_tracker_likes(sam_tracker *t, uint64_t id, float least, struct sam_likes *likes,
                              struct sam_error *error);

#ifdef __cplusplus
}
#endif
#endif // SAMTRACK_LIKES_H
