// The inside of a tracker. One file each for its beginning and end (open.c), the other public calls
// (tracker.c), the memory it takes (plan.c), one frame (step.c), what is run of it (passes.c) and
// recorded (graphs.c), prompts on a frame (interact.c), what is shown of it (masks.c), and what a
// test may look at (stages.c). A painter (painter.c) has the checks of frames and label maps in
// common with it, no more.
#ifndef SAM_TRACK_H
#define SAM_TRACK_H

#include "bank.h"
#include "base/clock.h"
#include "base/sized.h"
#include "prompts.h"

// One object. id 0: the slot is free.
struct sam_tracked {
    uint64_t id;
    int slot;     // 1 .. max_objects
    bool started; // has a conditioning frame
    struct sam_bank bank;

    struct sam_interactions pending; // for the next frame
    struct sam_interactions applied; // to the current frame, for undo

    // The current frame.
    int row;         // of the results; -1: not on this frame
    bool is_first;   // its first frame
    bool was_tracked; // it existed before this frame
    float iou, score;

    // Presence, after the current frame and before it (for undo).
    struct sam_presence {
        int absent; // processed frames since it was last present
        bool lost;
    } presence, presence_before;
    enum sam_object_state state;
};

// Valid inside one step. Parts that never run at the same time share bytes.
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

    // All objects, where holes are filled.
    struct sam_tensor filled; // (objects, S/4, S/4, 1) F32
    struct sam_tensor holes;  // (objects, S/4, S/4, 2) I32
};

// What the operations are told about each object of a batch: one block of integers, filled on
// the host and copied at once. Pointers into the host's block; tensors into the device's.
struct sam_index {
    int32_t *host;
    int width; // 0: one number per object
    struct sam_tensor tensor; // I32 (B, 1, 1, width), or (1, 1, 1, B)
};

struct sam_indices {
    struct sam_index map, map_time, pointer;                    // B x most of each
    struct sam_index num_maps, num_pointers, num_keys, num_rotated; // B
    struct sam_index row, map_to, pointer_to, multimask, binary;    // B
    int32_t *host;
    struct sam_tensor all; // both as one block
};

// Outlives a frame.
struct sam_state {
    struct sam_features features; // of the current frame
    struct sam_tensor maps;       // (objects * maps each, 1, N, m) BF16
    struct sam_tensor pointers;   // (objects * pointers each, 1, 1, d) F32
    struct sam_tensor low_res;    // (objects, 1, 1, (S/4)^2) F32, by row
    struct sam_tensor iou, score; // (objects, 1, 1, 1) F32, by row
    struct sam_indices index;
};

// The same on the host.
struct sam_host {
    struct sam_tracked *objects; // by slot
    struct sam_mask_pool masks;
    float *sine;            // (num_pointers, d): sine codes of the distances 0, 1, ...
    float *staging;         // floats on their way to or from the device
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
    size_t scratch_bytes, state_bytes, host_bytes;
};

// Parts of a frame that are recorded at open and replayed, where the device gains by it: the
// encoder, and the tracking step for batches of 1, 2, 4 ... objects. Whatever differs from frame to
// frame is in the index block. A batch is filled up to the next size by rows that attend to one map
// and write nowhere; and the memory of its objects to the next reach.
enum {
    SAM_BUCKETS = 5,
    SAM_DEVICE_BATCH = 1 << (SAM_BUCKETS - 1), // objects that a device runs at once, at most
};

enum sam_reach {
    SAM_REACH_RECENT, // as many maps as an object with one conditioning frame has at most
    SAM_REACH_ALL,
    SAM_REACHES,
};

// What of a frame is one record.
enum sam_span {
    SAM_SPAN_FRAME, // the encoder, and the step of the first batch of objects
    SAM_SPAN_STEP,  // a step alone
    SAM_SPANS,
};

struct sam_graphs {
    bool fits; // batches are filled up
    bool on;   // and replayed
    void *encode, *track[SAM_SPANS][SAM_BUCKETS][SAM_REACHES]; // NULL: not recorded
    int count;
    uint64_t replays, misses;
};

// Objects that are run at once.
struct sam_batch {
    struct sam_tracked *const *object;
    int n;    // objects
    int rows; // that operations run over: n, or more where the batch is filled up
    int keys; // rows of memory they run over: those of the object with most, or more
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
    int64_t frame;      // the current one; -1 before the first
    bool holds_frame;   // its features are there
    int num_rows;       // objects on it
    int frame_width, frame_height;
    struct sam_times times;

    int broken; // the status of the failure that ended this tracker
    struct sam_error broken_error;
    bool is_open; // sam_tracker_open() has succeeded

    struct sam_graphs graphs;
    struct sam_stages *stages; // NULL: nothing is kept
    struct sam_plan plan;
    int64_t open_ns, warm_ns;
};

// Which turn of a frame a stage belongs to.
enum sam_turn { SAM_TURN_FRAME, SAM_TURN_TRACK, SAM_TURN_PROMPT };

// ---- plan.c

// Objects run at once: enough rows to keep the device busy, no more scratch than that needs.
int sam_batch_size(const struct sam_queue *q, const struct sam_config *c, int max_objects);

// Lay out all memory over the three blocks; NULL: only measure.
void sam_layout_make(struct sam_layout *l, const struct sam_config *c, const struct sam_queue *q,
                     const struct sam_bank_limits *limits, const struct sam_params *p,
                     int max_objects, int batch, void *scratch, void *state, void *host);

// The plan of params and of a reading of their model, on an open queue.
int sam_plan_make(struct sam_plan *plan, const struct sam_params *params,
                  const struct sam_model_file *file, struct sam_queue *q, struct sam_error *error);

// SAM_ENOMEM with a sentence where the plan exceeds the budget.
int sam_plan_check(const struct sam_plan *plan, int budget_mib, struct sam_error *error);

// Copy the caller's params, and check them.
int sam_params_take(struct sam_params *own, const struct sam_params *params,
                    struct sam_error *error);
struct sam_bank_limits sam_limits_of(const struct sam_params *params, const struct sam_config *c);

// ---- step.c

// Copy the caller's frame, and check it.
int sam_frame_take(struct sam_frame *own, struct sam_queue *q, const struct sam_frame *frame,
                   struct sam_error *error);
// What the caller says is on the device; the first and the last byte stand for all.
int sam_device_check(struct sam_queue *q, const char *what, const uint8_t *at, size_t bytes,
                     struct sam_error *error);

// One frame, checked. The queue remembers what failed.
void sam_step_run(struct sam_tracker *t, const struct sam_frame *frame);

// Decode an object on the current frame again, from its applied prompts alone.
void sam_step_again(struct sam_tracker *t, struct sam_tracked *o);

// ---- passes.c

// What the objects of a batch attend to, into the index block. Returns the most keys of one.
int sam_batch_attend(struct sam_tracker *t, const struct sam_batch *b);
// The rows beyond the objects: they look at one map, and their results go nowhere.
void sam_batch_spare(struct sam_tracker *t, const struct sam_batch *b);
// Copy all that the operations are told about a batch to the device.
void sam_batch_tell(struct sam_tracker *t, const struct sam_batch *b);

// F of the current frame with the memory of a prompted object: (1, h, h, d) into dst.
void sam_condition(struct sam_tracker *t, struct sam_tracked *o, struct sam_tensor dst);

// The parts that are recorded: scratch.encoder.input to features; all that becomes of a batch whose
// index block is on the device; and the one after the other.
void sam_step_encode(struct sam_tracker *t, const struct sam_batch *none);
void sam_step_track(struct sam_tracker *t, const struct sam_batch *b);
void sam_step_frame(struct sam_tracker *t, const struct sam_batch *b);

// Copy the index block to the device; each user fills what it needs first.
void sam_indices_upload(struct sam_tracker *t);
struct sam_tensor sam_index_first(const struct sam_index *i, int n);

// Run the decoder on scratch.image of n objects; index.multimask decides the selection.
// sparse: data NULL where none of them has a prompt.
void sam_decode(struct sam_tracker *t, int n, struct sam_tensor sparse);
// scratch.out of n objects to the rows in index.row.
void sam_show(struct sam_tracker *t, int n);
// scratch.out of a batch to their memory: slots in index.map_to and index.pointer_to,
// from a prompt or not in index.binary.
void sam_remember(struct sam_tracker *t, enum sam_turn turn, const struct sam_batch *b);

// ---- graphs.c

// Record every part, in every size. SAM_OK where there is nothing to record, or it cannot be: then
// every frame asks for its operations anew, and is counted.
int sam_graphs_record(struct sam_tracker *t, struct sam_error *error);
void sam_graphs_forget(struct sam_tracker *t);

// Fill a batch up to a size that was recorded.
void sam_graphs_fit(const struct sam_tracker *t, struct sam_batch *b);

// Run a part: its record, whose time is added to *ns, or, without one, its operations, which add up
// theirs.
typedef void sam_part(struct sam_tracker *t, const struct sam_batch *b);
void sam_graphs_run(struct sam_tracker *t, void *record, sam_part *part, const struct sam_batch *b,
                    int64_t *ns);
void *sam_graphs_find(const struct sam_tracker *t, enum sam_span span, const struct sam_batch *b);

// ---- poison.c: where params.poison is set, bytes of 0xff: a NaN in every float format, -1 in
// integers. Else nothing.

void sam_poison_scratch(struct sam_tracker *t);
void sam_poison_state(struct sam_tracker *t);  // all of it
void sam_poison_frame(struct sam_tracker *t);  // what a frame leaves
void sam_poison_object(struct sam_tracker *t, const struct sam_tracked *o); // what it remembered

// ---- warm.c

// Run every path once on throw-away frames, so that whatever a backend makes on the first use
// of a shape is made at open. Leaves objects and memory behind; the caller resets them.
int sam_warm_up(struct sam_tracker *t, struct sam_error *error);

// ---- interact.c

// Run the applied interactions of an object on the current frame, after it was tracked there
// if it existed before, and remember the result.
void sam_interact(struct sam_tracker *t, struct sam_tracked *o);

// ---- masks.c

// Scores of the rows to the host; and, when they are there, states of the objects. SAM_EWEIGHTS
// where a number is not finite.
void sam_results_fetch(struct sam_tracker *t);
int sam_results_take(struct sam_tracker *t, struct sam_error *error);
// The label map, where it is wanted, and boxes at the size of the frame.
void sam_results_draw(struct sam_tracker *t, const struct sam_labels *labels, bool boxes);
void sam_results_list(struct sam_tracker *t, struct sam_result *result);
int sam_labels_check(struct sam_queue *q, const struct sam_labels *l, struct sam_error *error);
// An object left: its row shows nothing from now on.
void sam_row_blank(struct sam_tracker *t, int row);

// ---- stages.c

// How a stage is laid out for its reader.
enum sam_stage_layout {
    SAM_STAGE_AS_IS,  // as the tensor says
    SAM_STAGE_NCHW,
    SAM_STAGE_TOKENS, // (tokens, 1, c)
};

struct sam_stages *sam_stages_open(void);
void sam_stages_close(struct sam_stages **s);
void sam_stages_begin(struct sam_stages *s); // a new frame: forget the last one's

// Keep entry n of a tensor. Nothing happens where t->stages is NULL.
void sam_stage_keep(struct sam_tracker *t, enum sam_turn turn, uint64_t id, const char *name,
                    struct sam_tensor x, int n, enum sam_stage_layout layout);
void sam_stage_keep_host(struct sam_tracker *t, enum sam_turn turn, uint64_t id, const char *name,
                         const float *data, const int shape[4]);

// Whose stages a probe keeps: those of the objects of a batch, entry by entry, where one entry
// stands for all; of the frame alone, where the turn says so. It lives as long as its probe.
struct sam_stage_source {
    struct sam_tracker *tracker;
    enum sam_turn turn;
    const struct sam_batch *batch;
};
struct sam_probe sam_stages_probe(const struct sam_stage_source *source);

// The same for n objects at once, under the names of the parts.
void sam_stages_attended(struct sam_tracker *t, enum sam_turn turn, struct sam_tracked *const *o,
                         int n, struct sam_tensor values, struct sam_tensor keys,
                         struct sam_tensor out);
// sparse: num_tokens rows on the host, the same for all; dense: one for all.
void sam_stages_prompted(struct sam_tracker *t, enum sam_turn turn, struct sam_tracked *const *o,
                         int n, struct sam_tensor image, struct sam_tensor dense,
                         const float *sparse, int num_tokens);
void sam_stages_decoded(struct sam_tracker *t, enum sam_turn turn, struct sam_tracked *const *o,
                        int n);
void sam_stages_remembered(struct sam_tracker *t, enum sam_turn turn,
                           struct sam_tracked *const *o, int n);

int sam_stage_read(struct sam_tracker *t, uint64_t id, const char *name, float *dst,
                   size_t capacity, int shape[4], struct sam_error *error);

#endif // SAM_TRACK_H
