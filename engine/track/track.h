// SPDX-License-Identifier: MIT
// Internals of a tracker. open.c: open and close; tracker.c: the other public calls; plan.c:
// memory; step.c: one frame; passes.c: the parts of a frame; graphs.c: recording them; interact.c:
// prompts on a frame; answers.c: the masks for a click; history.c: frames of the past; replay.c:
// late prompts on them; results.c: results; stages.c: tensors for tests; save.c and restore.c: its
// state as a file. What refines masks is in ../refine/.
#ifndef SAM_TRACK_H
#define SAM_TRACK_H

#include "memory/bank.h"
#include "base/clock.h"
#include "base/sized.h"
#include "device/given.h"
#include "prompts/prompts.h"
#include "refine/refine.h"
#include "samtrack/answers.h"

// One object. id 0: the slot is free.
struct sam_tracked {
    uint64_t id;
    int slot;     // 1 .. max_objects
    bool started; // has a conditioning frame
    struct sam_bank bank;

    // `done` is the last frame that it was run on, -1 for none: the bank and all below is as that
    // frame left it. `next` is the one that it must be run on next: done + 1, or an earlier one,
    // to which it must be taken back first. It is behind if that is not the tracker's next frame.
    int64_t done, next;
    int64_t born;  // its first frame: there was nothing of it before
    int64_t since; // it cannot be taken back to frames before this one
    int turns;     // frames that it may still be run on within this step
    bool runs;     // it is run on the frame that is being processed or replayed
    bool ran;      // it was run in this step: its row of the results is its own

    int row;         // of the results; -1: not on the tracker's current frame
    bool is_first;   // its first frame
    bool was_tracked; // it existed before this frame
    float iou, score;

    // Presence, after the frame and before it (for undo).
    struct sam_presence {
        int absent; // processed frames since it was last present
        bool lost;
    } presence, presence_before;
    enum sam_object_state state;

    // The answers to its last prompts, a click; their masks are in state.answers. taken 0: none.
    struct sam_answered {
        int64_t frame;
        int taken;
        bool is_best; // the model's own choice
        float iou[SAM_ANSWERS];
    } answered;
};

// Used within one step only. Parts that never run at the same time share memory.
struct sam_scratch {
    struct sam_tensor sine; // (B * max pointers, d) F32; shares with nothing
    struct sam_encoder_scratch encoder;

    // Up to `batch` objects at once.
    struct sam_tensor values, keys;     // (B, 1, max keys, m)
    struct sam_tensor pointer_time;     // (B, 1, max pointers, m) F32
    struct sam_tensor image;            // (B, h, h, d) F32: F with memory, then + dense
    struct sam_tensor memory;           // (B, 1, N, m) F32
    struct sam_tensor stored;           // (B, 1, map_tokens, m) F32: memory itself, or compressed
    struct sam_compressor_scratch compressor;
    struct sam_decoded out;
    struct sam_memory_attention_scratch attention;
    struct sam_decoder_scratch decoder;
    struct sam_memory_encoder_scratch memory_encoder;

    // One object with a prompt.
    struct sam_tensor conditioned; // (1, h, h, d) F32: F with memory, or without
    struct sam_tensor dense;       // (1, h, h, d) F32
    struct sam_tensor full_mask;   // (1, S, S, 1) F32
    struct sam_tensor mask_logits; // (1, S/4, S/4, 1) F32
    struct sam_tensor sparse;      // (1, 1, SAM_MAX_SPARSE, d) F32
    struct sam_prompt_scratch prompt;

    // (1, 1, S/4, S/4) F32, if edges follow the luma: the frame's means.
    struct sam_tensor luma;

    // All objects, if holes are filled.
    struct sam_tensor filled; // (objects, S/4, S/4, 1) F32
    struct sam_tensor holes;  // (objects, S/4, S/4, 2) I32
};

// Integers that the operations need about each object of a batch. They are one block, filled on the
// host and copied at once: `host` points into the host's block, `tensor` into the device's.
struct sam_index {
    int32_t *host;
    int width; // 0: one number per object
    struct sam_tensor tensor; // I32 (B, 1, 1, width), or (1, 1, 1, B)
};

struct sam_indices {
    struct sam_index map, map_time, pointer;                    // B x most of each
    struct sam_index num_maps, num_pointers, num_keys, num_rotated; // B
    struct sam_index row, map_to, pointer_to, multimask, binary;    // B
    struct sam_index kept_before, kept_after, prompted; // B, as in struct sam_refining
    int32_t *host;
    struct sam_tensor all; // the whole block on the device
};

// A frame of the past: its features; or the network's input, in the same memory, while it is not
// encoded. Both, where the input is kept.
struct sam_past {
    struct sam_features features;
    struct sam_tensor input;
};

// Memory on the device that is kept from frame to frame.
struct sam_state {
    struct sam_features features; // of the current frame, or of the one that is replayed
    struct sam_past past[SAM_MAX_HISTORY]; // that of frame f is entry f mod history

    // If refiners need it, and there is no history: that of the current frame.
    struct sam_tensor input; // (1, S, S, 3) F32

    struct sam_tensor maps;       // (objects * maps each, 1, N, m) BF16
    struct sam_tensor pointers;   // (objects * pointers each, 1, 1, d) F32
    struct sam_tensor low_res;    // (objects + 1, 1, 1, (S/4)^2) F32, by row; the last one is spare
    struct sam_tensor iou, score; // (objects + 1, 1, 1, 1) F32, by row
    struct sam_tensor answers;    // (objects, 1, SAM_ANSWERS, (S/4)^2) F32, by slot
    struct sam_indices index;
};

// Memory on the host.
struct sam_host {
    struct sam_tracked *objects; // by slot
    struct sam_interactions *given; // history + 2 of each object: frame f's is f mod that number
    struct sam_bank *banks;         // history of each object: sam_bank.past
    struct sam_presence *presences; // history of each object, as in the banks
    bool *encoded;                  // history: whether state.past holds features
    struct sam_mask_pool masks;
    float *sine;            // (num_pointers, d): sine codes of the distances 0, 1, ...
    float *staging;         // buffer for copies to and from the device
    int32_t *row_slot;      // results by row: slot, ascending
    struct sam_tracked **batch; // objects of one batch
    int32_t (*box)[5];
    float *score, *iou;
    struct sam_object *results;
    uint8_t *poison; // SAM_POISON_BYTES of 0xff, or NULL
};

enum { SAM_POISON_BYTES = 1 << 16 };

struct sam_layout {
    struct sam_scratch scratch;
    struct sam_state state;
    struct sam_host host;
    struct sam_refine_memory refine[SAM_REFINERS];
    size_t scratch_bytes, state_bytes, host_bytes;
};

// Parts of a frame that are recorded at open and replayed, if the device has records: the encoder,
// and the tracking step for batches of 1, 2, 4 ... objects. All that differs from frame to frame is
// in the index block. A batch is padded to the next size with rows that attend to one map and
// discard their results, and the memory of its objects to the next reach.
enum {
    SAM_BUCKETS = 5,
    SAM_DEVICE_BATCH = 1 << (SAM_BUCKETS - 1), // objects that a device runs at once, at most
};

enum sam_reach {
    SAM_REACH_RECENT, // up to the number of maps of an object with one conditioning frame
    SAM_REACH_ALL,
    SAM_REACHES,
};

// The part of a frame that one record covers.
enum sam_span {
    SAM_SPAN_FRAME, // the encoder, and the step of the first batch of objects
    SAM_SPAN_STEP,  // a step alone
    SAM_SPANS,
};

struct sam_graphs {
    bool fits; // batches are padded
    bool on;   // records are replayed
    bool is_warned; // that some are missing
    void *encode, *track[SAM_SPANS][SAM_BUCKETS][SAM_REACHES]; // NULL: not recorded
    int count;
    uint64_t replays, misses;
};

// Objects that are processed together.
struct sam_batch {
    struct sam_tracked *const *object;
    int n;    // objects
    int rows; // n plus padding
    int keys; // rows of memory of the object with most, plus padding
};

// What a mark on the queue is about while a part runs: the phase, and in phases of objects whose
// entries its tensors have, one after another, or one entry for all of them.
enum sam_turn {
    SAM_TURN_FRAME,
    SAM_TURN_TRACK,
    SAM_TURN_PROMPT,
    SAM_TURN_WINDOW, // of the frame: stages are of the whole
};

struct sam_about {
    enum sam_turn turn;
    struct sam_tracked *const *object;
    int n;
};

struct sam_stages;

struct sam_tracker {
    struct sam_params params;
    char file[4096];
    struct sam_queue queue;
    struct sam_model *model;
    struct sam_bank_limits limits;
    int batch; // objects run at once

    struct sam_layout mem;
    void *scratch_block, *state_block, *host_block;

    uint64_t next_id;
    int64_t frame;      // the current one, or the one that is replayed; -1 before the first
    int64_t first_held; // features of frames before it were never held
    bool holds_frame;   // its features are in memory
    int num_rows;       // objects on it
    int frame_width, frame_height;
    int num_replayed;   // frames, within the last step
    struct sam_times times;

    int broken; // the status that all calls return after a failure that ended the tracker
    struct sam_error broken_error;
    bool is_open; // sam_tracker_open() has succeeded

    struct sam_graphs graphs;
    struct sam_about about;
    struct sam_stages *stages; // NULL unless keep_stages
    struct sam_plan plan;
    int64_t open_ns, warm_ns;
};

// ---- plan.c

// The number of objects processed together: enough rows to keep the device busy, as scratch grows
// with it.
int sam_batch_size(const struct sam_queue *q, const struct sam_config *c, int max_objects);

// Lay out all memory in the three blocks. If they are NULL, only measure.
void sam_layout_make(struct sam_layout *l, const struct sam_config *c, const struct sam_queue *q,
                     const struct sam_bank_limits *limits, const struct sam_params *p,
                     int max_objects, int batch, void *scratch, void *state, void *host);

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

// ---- history.c

// The prompts of an object for a frame: of the last `history` frames, the current and the next one.
struct sam_interactions *sam_given(const struct sam_tracker *t, const struct sam_tracked *o,
                                   int64_t frame);
// Initialise the bank of an object.
void sam_history_init(struct sam_tracker *t, struct sam_tracked *o);
// The oldest frame that can be named by a prompt for an object; NULL: for a new one.
int64_t sam_history_oldest(const struct sam_tracker *t, const struct sam_tracked *o);
// The latest frame, not before the oldest, for which an object has prompts; -1: there is none.
int64_t sam_history_prompted(const struct sam_tracker *t, const struct sam_tracked *o);
// Have an object run on this frame again, or for the first time, and on all after it.
void sam_history_return(struct sam_tracked *o, int64_t frame);
// Whether anything is left of an object whose prompts were taken back.
bool sam_history_is_left(const struct sam_tracker *t, const struct sam_tracked *o);
// Free a mask of a frame that can then no longer be gone back to. False: there is none.
bool sam_history_drop_mask(struct sam_tracker *t);

static inline bool sam_is_behind(const struct sam_tracker *t, const struct sam_tracked *o)
{
    return o->id && o->next <= t->frame;
}

// Keep the network's input of the current frame, before it is encoded; its features, after it.
void sam_history_keep_input(struct sam_tracker *t);
void sam_history_keep(struct sam_tracker *t);
// The input that was kept, of the current frame or of the one that is replayed.
struct sam_tensor sam_history_input(const struct sam_tracker *t);
// Copy the features of a frame, all three tensors.
void sam_features_copy(struct sam_tracker *t, const struct sam_features *dst,
                       const struct sam_features *src);
bool sam_history_is_encoded(const struct sam_tracker *t, int64_t frame);
// Put the features of a frame of the past where those of the current one are. False: the network's
// input is put where the encoder reads it instead.
bool sam_history_take(struct sam_tracker *t, int64_t frame);

// ---- replay.c

// Process one frame, which was checked, and before it run the objects that are behind on some of
// the frames before it. A failure is recorded in the queue.
void sam_replay_step(struct sam_tracker *t, const struct sam_frame *frame);
// Between steps: run them on all frames.
void sam_replay_all(struct sam_tracker *t);

// ---- passes.c

// Write to the index block what the objects of a batch attend to. Returns the largest number of
// keys of one object.
int sam_batch_attend(struct sam_tracker *t, const struct sam_batch *b);
// Fill the index block for the padding rows.
void sam_batch_spare(struct sam_tracker *t, const struct sam_batch *b);
// Copy the index block of a batch to the device.
void sam_batch_tell(struct sam_tracker *t, const struct sam_batch *b);

// The numbers that refiners keep of an object: how many frames' are kept, so many that those of the
// frame before the oldest one that it can be taken back to are among them; where those of a frame
// are. tell: to the index block, of entry i of a batch; `prompted` of its frames have prompts.
int sam_kept_each(const struct sam_bank_limits *l);
int sam_kept_at(const struct sam_tracker *t, int slot, int64_t frame);
void sam_kept_tell(struct sam_tracker *t, const struct sam_tracked *o, int i, int prompted);
// What refiners are given of the first n objects of scratch.out.
struct sam_refining sam_refining(struct sam_tracker *t, int n);

// F of the current frame with the memory of a prompted object: (1, h, h, d) into dst.
void sam_condition(struct sam_tracker *t, struct sam_tracked *o, struct sam_tensor dst);

// The parts that are recorded: the encoder, from scratch.encoder.input to features; the tracking
// step of a batch whose index block is on the device; both in that order.
void sam_step_encode(struct sam_tracker *t, const struct sam_batch *none);
void sam_step_encode_window(struct sam_tracker *t, const struct sam_batch *none);
void sam_step_track(struct sam_tracker *t, const struct sam_batch *b);
void sam_step_frame(struct sam_tracker *t, const struct sam_batch *b);

// Copy the index block to the device; the caller must have filled the entries it uses.
void sam_indices_upload(struct sam_tracker *t);

// Run the decoder on scratch.image of n objects; index.multimask controls the choice of the mask.
// sparse: data is NULL if none of them has a prompt.
void sam_decode(struct sam_tracker *t, int n, struct sam_tensor sparse);
// After it, of one object that is present: another of its candidates.
void sam_decode_take(struct sam_tracker *t, int candidate);
// Copy scratch.out of n objects to the rows in index.row.
void sam_show(struct sam_tracker *t, int n);
// Write scratch.out of a batch to the memory of its objects, to the slots in index.map_to and
// index.pointer_to; index.binary says whether a prompt made the mask.
void sam_remember(struct sam_tracker *t, const struct sam_batch *b);

// ---- graphs.c

// Record every part in every size. Also returns SAM_OK if the device has no records, or if
// recording fails: then every frame launches its operations one by one, and counts as a miss.
int sam_graphs_record(struct sam_tracker *t, struct sam_error *error);
void sam_graphs_forget(struct sam_tracker *t);

// Pad a batch to a size that was recorded.
void sam_graphs_fit(const struct sam_tracker *t, struct sam_batch *b);

// Run a part: replay its record and add the time to *ns; without a record, run its operations,
// which add their own times.
typedef void sam_part(struct sam_tracker *t, const struct sam_batch *b);
void sam_graphs_run(struct sam_tracker *t, void *record, sam_part *part, const struct sam_batch *b,
                    int64_t *ns);
void *sam_graphs_find(const struct sam_tracker *t, enum sam_span span, const struct sam_batch *b);

// ---- poison.c: if params.poison is set, fill memory with 0xff: a NaN in every float format, -1 in
// integers. Else do nothing.

void sam_poison_scratch(struct sam_tracker *t);
void sam_poison_state(struct sam_tracker *t);  // all of it
void sam_poison_frame(struct sam_tracker *t);  // features and results of the last frame
void sam_poison_object(struct sam_tracker *t, const struct sam_tracked *o); // its memory

// ---- warm.c

// Run every code path once on dummy frames, so that a backend's work at the first use of a shape is
// done at open. Leaves objects and memory behind; the caller must reset them.
int sam_warm_up(struct sam_tracker *t, struct sam_error *error);

// ---- interact.c

// Apply an object's prompts of the current frame and write the result to its memory. An object
// that existed before must have been tracked on this frame.
void sam_interact(struct sam_tracker *t, struct sam_tracked *o);

// ---- answers.c

// After the decoder has run on a single click, which `all` is: take the answer that it names, with
// its pointer, and keep the masks of all, refined. `input`: see struct sam_refiner.
void sam_answers_make(struct sam_tracker *t, struct sam_tracked *o,
                      const struct sam_interaction *all, struct sam_tensor input);
// The taken one was refined: scratch.out has its mask, score and predicted IoU now.
void sam_answers_refine(struct sam_tracker *t, struct sam_tracked *o);
// Find their boxes and areas, which are there when the queue has finished; then describe them.
// There may be none.
void sam_answers_measure(struct sam_tracker *t, const struct sam_tracked *o,
                         int32_t box[SAM_ANSWERS][5]);
struct sam_answers sam_answers_list(const struct sam_tracked *o, int32_t box[SAM_ANSWERS][5]);
// Draw one of them, 1 .. SAM_ANSWERS, if there are any.
void sam_answers_draw(struct sam_tracker *t, const struct sam_tracked *o, int answer,
                      const struct sam_labels *labels);
// The click that an object got for a frame; NULL: it got none, or more than a single click.
struct sam_interaction *sam_answers_click(struct sam_tracker *t, const struct sam_tracked *o,
                                          int64_t frame);

// ---- results.c

// fetch queues the copy of the rows' scores to the host. take, after the queue has finished,
// updates the objects' states. SAM_EWEIGHTS: a score or IoU is not finite.
void sam_results_fetch(struct sam_tracker *t);
int sam_results_take(struct sam_tracker *t, struct sam_error *error);
// For one object at once, waiting for the device. False: a number is not finite, and the object
// must not be run any further; sam_results_check() says so as sam_results_take() does.
bool sam_results_take_one(struct sam_tracker *t, struct sam_tracked *o);
int sam_results_check(struct sam_tracker *t, struct sam_error *error);
// Nothing is shown of objects that did not run in this step: what their rows hold was another's.
void sam_results_hide(struct sam_tracker *t);
// Draw the label map (labels may be NULL) and, with `boxes`, find boxes at the size of the frame.
// frame: for edges that follow it; NULL: there is none any more.
void sam_results_draw(struct sam_tracker *t, const struct sam_frame *frame,
                      const struct sam_labels *labels, bool boxes);
void sam_results_list(struct sam_tracker *t, struct sam_result *result);
// What is shown of logits of n masks: they, or they with holes filled, which is scratch.
struct sam_tensor sam_results_fill(struct sam_tracker *t, struct sam_tensor logits, int n);
// Clear the mask in the row of a removed object.
void sam_row_blank(struct sam_tracker *t, int row);

// ---- stages.c

// Listen to what the tracker's queue runs; NULL: no memory.
struct sam_stages *sam_stages_open(struct sam_tracker *t);
void sam_stages_close(struct sam_stages **s);
void sam_stages_begin(struct sam_stages *s); // a new frame: drop the stages of the last one

int sam_stage_read(struct sam_tracker *t, uint64_t id, const char *name, float *dst,
                   size_t capacity, int shape[4], struct sam_error *error);

#endif // SAM_TRACK_H
