// SPDX-License-Identifier: MIT
// How the files of this folder work together. Others call the public headers alone, samtrack.h,
// answers.h, likes.h and trunk.h: open.c has open and close, preview.c the preview, likes.c the
// likes, trunk.c the trunk, uploader.c the uploader, tracker.c the other calls.
#ifndef SAM_SESSION_H
#define SAM_SESSION_H

#include "base/clock.h"
#include "base/sized.h"
#include "track/tracker.h"

// ---- enter.c

// Begin a public call: what is current for the thread is the tracker's until sam_leave(), which
// must follow after SAM_OK and returns `status`.
int sam_enter(struct sam_tracker *t, struct sam_error *error);
// The same of a call that takes as long as a frame: where many trackers share processors, it waits
// for its turn, and other calls go before it.
int sam_enter_frame(struct sam_tracker *t, struct sam_error *error);
int sam_leave(struct sam_tracker *t, int status);
// The scratch of a tracker whose model is open, until it is given back. They nest.
void sam_scratch_take(struct sam_tracker *t, bool hurries);
void sam_scratch_give(struct sam_tracker *t);

// ---- tracker.c

// Wait for the device. The first failure of the queue ends the tracker: its state can no longer be
// trusted.
int sam_finish(struct sam_tracker *t, struct sam_error *error);
// Make room for copying a frame and a label map; either may be NULL. SAM_ENOMEM leaves the tracker
// as it was.
int sam_reserve_for(struct sam_tracker *t, const struct sam_frame *frame,
                    const struct sam_labels *labels, struct sam_error *error);

// ---- plan.c

// The number of objects processed together: enough rows to keep the device busy, as scratch grows
// with it.
int sam_batch_size(const struct sam_queue *q, const struct sam_config *c, int max_objects);

// Lay out all memory in the three blocks. If they are NULL, only measure.
void sam_layout_make(struct sam_layout *l, const struct sam_config *c, const struct sam_queue *q,
                     const struct sam_bank_limits *limits, const struct sam_params *p,
                     int max_objects, int batch, void *scratch, void *state, void *host);

// Scratch alone, over another block.
void sam_layout_scratch(struct sam_layout *l, const struct sam_config *c,
                        const struct sam_queue *q, const struct sam_bank_limits *limits,
                        const struct sam_params *p, int max_objects, int batch, void *scratch);

// Compute the plan for params and their opened model file, on an open queue.
int sam_plan_make(struct sam_plan *plan, const struct sam_params *params,
                  const struct sam_model_file *file, struct sam_queue *q, struct sam_error *error);

// SAM_ENOMEM if the plan exceeds the budget.
int sam_plan_check(const struct sam_plan *plan, int budget_mib, struct sam_error *error);

struct sam_bank_limits sam_limits_of(const struct sam_params *params, const struct sam_config *c);

// ---- step.c

// Begin a frame, which was checked; then process it, with the objects that are not behind. A
// failure is recorded in the queue.
void sam_step_begin(struct sam_tracker *t);
void sam_step_run(struct sam_tracker *t, const struct sam_frame *frame);
// Both without objects and without encoding it.
void sam_step_watch(struct sam_tracker *t, const struct sam_frame *frame);

// Let refiners see the current frame, or the one that is replayed, whose input is there.
void sam_step_see(struct sam_tracker *t);

// An object enters the current frame, on which it runs next.
void sam_step_enter(struct sam_tracker *t, struct sam_tracked *o);
// Run the objects that have entered a frame of the past, whose features are there: track those that
// had started, and apply the prompts.
void sam_step_entered(struct sam_tracker *t);
// Run an object once more on the current frame, from the prompts that are left.
void sam_step_again(struct sam_tracker *t, struct sam_tracked *o);

// ---- replay.c

// Process one frame, which was checked, and before it run the objects that are behind on some of
// the frames before it. A failure is recorded in the queue.
void sam_replay_step(struct sam_tracker *t, const struct sam_frame *frame);
// Between steps: run them on all frames.
void sam_replay_all(struct sam_tracker *t);

// ---- warm.c

// Run every code path once on dummy frames, so that a backend's work at the first use of a shape is
// done at open. Leaves objects and memory behind; the caller must reset them.
int sam_warm_up(struct sam_tracker *t, struct sam_error *error);

// ---- results.c

// fetch queues the copy of the rows' scores to the host. take, after the queue has finished,
// updates the objects' states. SAM_EWEIGHTS: a score or IoU is not finite.
void sam_results_fetch(struct sam_tracker *t);
int sam_results_take(struct sam_tracker *t, struct sam_error *error);
// For one object at once, waiting for the device. False: a number is not finite, and the object
// must not be run any further; sam_results_check() says so as sam_results_take() does.
bool sam_results_take_one(struct sam_tracker *t, struct sam_tracked *o);
int sam_results_check(struct sam_tracker *t, struct sam_error *error);
int sam_results_check_one(const struct sam_tracker *t, const struct sam_tracked *o,
                          struct sam_error *error);
// Nothing is shown of objects that did not run in this step: what their rows hold was another's.
void sam_results_hide(struct sam_tracker *t);
// Draw the label map (labels may be NULL) and, with `boxes`, find boxes at the size of the frame.
// frame: for edges that follow it; NULL: there is none any more.
void sam_results_draw(struct sam_tracker *t, const struct sam_frame *frame,
                      const struct sam_labels *labels, bool boxes);
void sam_results_list(struct sam_tracker *t, struct sam_result *result);
// What is told of the predicted IoU of an answer to this prompt alone.
float sam_results_told(const struct sam_tracker *t, const struct sam_interaction *prompt,
                       float iou);
// Clear the mask in the row of a removed object.
void sam_row_blank(struct sam_tracker *t, int row);

// ---- stages.c

// Listen to what the tracker's queue runs; NULL: no memory.
struct sam_stages *sam_stages_open(struct sam_tracker *t);
void sam_stages_close(struct sam_stages **s);
void sam_stages_begin(struct sam_stages *s); // a new frame: drop the stages of the last one

int sam_stage_read(struct sam_tracker *t, uint64_t id, const char *name, float *dst,
                   size_t capacity, int shape[4], struct sam_error *error);

#endif // SAM_SESSION_H
