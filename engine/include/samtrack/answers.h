// SPDX-License-Identifier: MIT
// What a click would be answered with, before it is made. And what a single click may mean: a
// part, a thing, or a group of things. The model answers it with several masks, of which the
// tracker takes one; here they are told, drawn and taken instead.
//
// The rules of samtrack.h apply: NULL, sizes, errors, threads, ownership.
#ifndef SAMTRACK_ANSWERS_H
#define SAMTRACK_ANSWERS_H

#include <samtrack/samtrack.h>

#ifdef __cplusplus
extern "C" {
#endif

// What an object would be on the frame that it begins with.
struct sam_preview {
    size_t size;             // sizeof(struct sam_preview), set by the caller
    uint64_t frame_index;    // of that frame
    int x, y, width, height; // bounding box, px of the last processed frame; all 0 if it is empty
    int area;                // px of that frame
    float iou, score;        // as in struct sam_object; it would be absent if score is <= 0
};

#define SAM_PREVIEW_INIT { .size = sizeof(struct sam_preview) }

// Answer a prompt for a new object as sam_tracker_prompt() and the step that applies it would, and
// change nothing: no object begins, and all later results are those without the call. The mask is
// to the bit that of an object that began with the same prompt on the same frame, as
// sam_tracker_draw() shows it; there need not be a free slot. prompt->id must be 0, and the prompt
// must not be a mask. The frame is the last one that was processed, or prompt->frame; one that is
// older than those that sam_tracker_frames() names is replaced by the oldest of them.
// labels may be NULL; else the mask's pixels get 1, all others 0. Takes at most the time of a step
// that encodes a frame and begins an object; the frame that sam_tracker_watch() kept is encoded
// once, and is then encoded for late prompts, too.
// SAM_EINVAL: as of sam_tracker_prompt(), or the prompt is a mask or for an object, prompt->frame
// was not processed yet, preview->size is wrong, or labels break a condition of their struct.
// SAM_ENOTFOUND: no frame is held. SAM_ENOMEM: see sam_tracker_reserve(). SAM_EDEVICE,
// SAM_EWEIGHTS.
SAM_API int sam_tracker_preview(sam_tracker *t, const struct sam_prompt *prompt,
                                const struct sam_labels *labels, struct sam_preview *preview,
                                struct sam_error *error);

// One of the masks that the model gives for a single click.
struct sam_answer {
    float iou;               // predicted, 0 .. 1
    int x, y, width, height; // bounding box, px of the last processed frame; all 0 if it is empty
    int area;                // px of that frame
};

// A single click may mean a part, a thing, or a group of things: the model answers it with
// SAM_ANSWERS masks, and the object goes on with one of them. Here they are in the order of their
// areas (of positive logits, in px of the model's mask), the smallest first. Where the model
// answers clicks again in windows ("click_zoom", docs/MODEL.md), they are those of the windows, and
// two may be alike.
struct sam_answers {
    size_t size;          // sizeof(struct sam_answers), set by the caller
    uint64_t frame_index; // of the frame with the click
    int num_answers;      // SAM_ANSWERS, or 0: there are none, and the fields around it are 0
    int taken;            // 1 .. SAM_ANSWERS: the one that the object went on with
    struct sam_answer answer[SAM_ANSWERS];
};

#define SAM_ANSWERS_INIT { .size = sizeof(struct sam_answers) }

// Tell the answers to the last prompts of an object that were applied. There are none if these
// were not a single click for that frame, if the model says that the object is absent there, after
// an undo, after sam_tracker_load(), and from the moment that the object is to go back to that
// frame or one before it until it has replayed it. Their masks are those shown without edges that
// follow the frame (SAM_EDGES_NONE). Takes a small part of the time of a step.
// SAM_EINVAL: answers->size is wrong, or a NULL. SAM_ENOTFOUND: id is not tracked. SAM_EDEVICE.
SAM_API int sam_tracker_answers(sam_tracker *t, uint64_t id, struct sam_answers *answers,
                                struct sam_error *error);

// Draw the mask of one answer (1 .. SAM_ANSWERS) of those that sam_tracker_answers() tells into a
// label map of any size; its pixels get the object's slot, all others 0.
// SAM_EINVAL: there is no such answer, or labels break a condition of their struct. SAM_ENOTFOUND:
// id is not tracked. SAM_ENOMEM: see sam_tracker_reserve(). SAM_EDEVICE.
SAM_API int sam_tracker_draw_answer(sam_tracker *t, uint64_t id, int answer,
                                    const struct sam_labels *labels, struct sam_error *error);

// Take another answer (1 .. SAM_ANSWERS) to an object's latest click, as if sam_prompt.answer had
// said so: mask, pointer and memory of that frame are made from it. A click that still waits is
// changed. The last processed frame is decoded again, so that sam_tracker_draw() shows the answer;
// an earlier frame that the object can go back to (history) is replayed from, as for a late prompt.
// SAM_EINVAL: answer is out of range; what the object was given for its latest prompted frame is
// not a single click; or that frame is not held any more. SAM_ENOTFOUND: id is not tracked.
// SAM_EDEVICE, SAM_EWEIGHTS.
SAM_API int sam_tracker_take_answer(sam_tracker *t, uint64_t id, int answer,
                                    struct sam_error *error);

#ifdef __cplusplus
}
#endif
#endif // SAMTRACK_ANSWERS_H
