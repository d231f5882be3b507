// SPDX-License-Identifier: MIT
// Detectors of samtrack: they find objects in one frame. The rules for all calls are those of
// samtrack.h; a detector is used by one thread at a time, as a tracker is.
#ifndef SAMTRACK_DETECTOR_H
#define SAMTRACK_DETECTOR_H

#include <samtrack/samtrack.h>

#ifdef __cplusplus
extern "C" {
#endif

// One object that a detector found.
struct sam_detection {
    float box[4]; // x0, y0, x1, y1, px of the frame, inside it
    float score;  // 0 .. 1
    int label;    // class, 0 .. num_classes - 1
    int query;    // index of the candidate among all of the network's; two may share one

    // sam_detections.mask_height rows of mask_width bytes, non-zero on the object, stretched over
    // the frame. NULL: the model has no masks, or made none of it: SAM 3's detector has them of the
    // first four phrases, with a score of 0.1 or more.
    const uint8_t *mask;
};

// The result of one frame.
struct sam_detections {
    size_t size; // sizeof(struct sam_detections), set by the caller
    int num;
    const struct sam_detection *list; // by score; the detector's, valid until its next call
    int mask_width, mask_height;      // px; 0: the model has no masks
    int64_t total_ns;                 // wall time of the call
    int same_picture; // 1: the network's input was that of the run before, so what words have no
                      // part in was not run again
};

#define SAM_DETECTIONS_INIT { .size = sizeof(struct sam_detections) }

typedef struct sam_detector sam_detector;

enum { SAM_MAX_PHRASES = 64 }; // of the words that a detector takes

// Open a detector from a model file (docs/DETECTORS.md lists the families), allocate all memory
// that it will use, and run it once. Detectors of one file, configuration, device and precision
// share their weights. It uses model_file, input_size, backend (auto: the CPU), device,
// cuda_context, cuda_stream, precision, threads, budget_mib, keep_stages and log of params; the
// other fields have no effect but must be in range. On failure *out is NULL and all memory is
// freed. The caller must close the detector.
// SAM_EINVAL: params are out of range, model_file is NULL (there is no default), or the model
// cannot run at input_size.
// SAM_EIO, SAM_EFORMAT: the file is missing, unreadable, damaged, of an unknown model or of one
// that tracks. SAM_ENOMEM: memory or budget_mib is too small. SAM_EDEVICE, SAM_EUNSUPPORTED: the
// backend, device or precision is not available.
SAM_API int sam_detector_open(sam_detector **out, const struct sam_params *params,
                              struct sam_error *error);

// Close *d, free its memory and set *d to NULL. d and *d may be NULL: then nothing happens.
SAM_API void sam_detector_close(sam_detector **d);

// What to find, for a detector that takes words (sam_detector_info.takes_words): phrases in
// UTF-8, each of which ends in a full stop or with the text: "person. red car". They hold for all
// frames from the next one on. Detections have the index of their phrase for a label. Until it is
// called, and after NULL or a text without words, nothing is found. It takes as long as a small
// part of a frame, and allocates nothing. Words that the vocabulary knows no piece of are told to
// params.log; a phrase of such words alone is refused.
// SAM_EUNSUPPORTED: the detector has classes of its own. SAM_EINVAL: there are more than
// SAM_MAX_PHRASES, more than 4094 bytes, or more tokens than the network takes; or a phrase has no
// known word. After these the words are those from before. SAM_EDEVICE: the device failed, and the
// detector must be closed.
SAM_API int sam_detector_set_words(sam_detector *d, const char *words, struct sam_error *error);

// The phrase with this label, as given; valid until the next call of sam_detector_set_words().
// NULL: there is none.
SAM_API const char *sam_detector_phrase(const sam_detector *d, int label);

// The best score that any candidate of the last run has for this phrase, 0 .. 1. The detections may
// have a lower one: a candidate has the label of the phrase that it is most like. 0: there is no
// such phrase, or no frame was run since the words were set.
SAM_API float sam_detector_phrase_score(const sam_detector *d, int label);

// The words that the vocabulary has no piece of, as a list for a sentence: "'a', 'b'", at most 119
// bytes of it; "" if there are none, and if d is NULL. They are those of the last call of
// sam_detector_set_words() that was not refused; valid until the next one.
SAM_API const char *sam_detector_unknown_words(const sam_detector *d);

// Find the objects of one frame, as many as the published post-processing of the model gives, in
// its order, without a threshold: the caller takes those whose score it trusts. On failure the
// fields of *found are 0, unless its size is wrong.
// SAM_EINVAL: `frame` breaks a condition of its struct; the detector can go on. SAM_EWEIGHTS: a
// score or a box is not finite. SAM_EDEVICE: the device failed. Both end the detector.
SAM_API int sam_detector_run(sam_detector *d, const struct sam_frame *frame,
                             struct sam_detections *found, struct sam_error *error);

// Copy a tensor of the last run to `dst`, dense, as fp32, if keep_stages was set: maps
// (1, c, h, w), rows of numbers (1, 1, rows, c). `capacity` is the number of floats that dst has
// room for; dst may be NULL if it is 0. docs/DETECTORS.md lists the names of each family.
// SAM_ENOTFOUND: no such tensor. SAM_EINVAL: capacity is too small; then shape is set.
SAM_API int sam_detector_read(sam_detector *d, const char *name, float *dst, size_t capacity,
                              int shape[4], struct sam_error *error);

// What a detector runs on and what it takes. The pointers are the detector's and valid until it is
// closed.
struct sam_detector_info {
    size_t size; // sizeof(struct sam_detector_info), set by the caller
    const char *model_file, *family, *variant; // "YOLOv10", "yolov10n"; "RF-DETR", "rf-detr-nano"
    const char *backend, *device, *precision;
    int threads, image_size, num_classes;
    int max_detections; // of one frame
    size_t bytes_used;  // memory held now; weights that are shared included
    int64_t open_ns;    // time that sam_detector_open() took, including the first run
    int takes_words;    // 1: it finds what words name, num_classes counts the phrases; else 0
    int input_width, input_height; // px; of a detector by words, for the last frame's shape
};

#define SAM_DETECTOR_INFO_INIT { .size = sizeof(struct sam_detector_info) }

// Fill *info. Works on a failed detector, too. SAM_EINVAL: info->size is wrong, or a NULL.
SAM_API int sam_detector_info(const sam_detector *d, struct sam_detector_info *info,
                              struct sam_error *error);

#ifdef __cplusplus
}
#endif
#endif // SAMTRACK_DETECTOR_H
