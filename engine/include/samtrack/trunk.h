// SPDX-License-Identifier: MIT
// What a tracker and a detector of one file make of a frame alike, so that it is made once: the map
// of SAM 3's trunk, which is nine tenths of a look.
//
// The rules of samtrack.h apply: NULL, sizes, errors, threads, ownership.
#ifndef SAMTRACK_TRUNK_H
#define SAMTRACK_TRUNK_H

#include <samtrack/detector.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sam_trunk {
    size_t size;          // sizeof(struct sam_trunk), set by the caller
    uint64_t source;      // of the weights, side, backend and precision: one takes what has its own
    uint64_t frame_index; // of the tracker's frame
    size_t count;         // numbers of the map

    // The caller's, with room for `capacity` numbers; NULL: it is not copied.
    float *map;
    size_t capacity;
};

#define SAM_TRUNK_INIT                                                                             \
    {                                                                                              \
        .size = sizeof(struct sam_trunk)                                                           \
    }

// Copy the trunk's map of the last processed frame. SAM_EUNSUPPORTED: the model's is of no use for
// a detector. SAM_ENOTFOUND: the frame was not encoded, as nothing is tracked, or another one was
// after it. SAM_EINVAL: there is no room for `count` numbers. SAM_EDEVICE.
SAM_API int sam_tracker_trunk(sam_tracker *t, struct sam_trunk *trunk, struct sam_error *error);

// The next call of sam_detector_run() begins with this map in the place of its frame's pixels: the
// caller sees to it that it is of this frame. The result is the same to the bit. map NULL: nothing
// is taken, it is told whether it would be. SAM_EUNSUPPORTED: it would not, as `source` is another
// one, or the detector has no such trunk. SAM_EINVAL: capacity is less than count. SAM_EDEVICE.
SAM_API int sam_detector_take_trunk(sam_detector *d, const struct sam_trunk *trunk,
                                    struct sam_error *error);

#ifdef __cplusplus
}
#endif
#endif // SAMTRACK_TRUNK_H
