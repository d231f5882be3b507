// SPDX-License-Identifier: MIT
// The parts of a frame, for a batch of objects or for the frame alone: they compose the network's
// (passes.c). What they ask for is the same in every frame: it is recorded at open and replayed
// (graphs.c).
#ifndef SAM_GRAPHS_H
#define SAM_GRAPHS_H

#include "refine/refine.h"

struct sam_tracker;
struct sam_tracked;

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

// ---- passes.c

// Write to the index block what the objects of a batch attend to. Returns the largest number of
// keys of one object.
int sam_batch_attend(struct sam_tracker *t, const struct sam_batch *b);
// Fill the index block for the padding rows.
void sam_batch_spare(struct sam_tracker *t, const struct sam_batch *b);
// Copy the index block of a batch to the device.
void sam_batch_tell(struct sam_tracker *t, const struct sam_batch *b);

// Tell refiners, by entry i of the index block, where the numbers that they keep of an object are;
// `prompted` of its frames have prompts.
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
// The same with the map made of the mask in scratch.full_mask, of a single object.
void sam_remember_given(struct sam_tracker *t, const struct sam_batch *b);
// What is shown of logits of n masks: they, or they without small holes and islands, which is
// scratch.
struct sam_tensor sam_tidied(struct sam_tracker *t, struct sam_tensor logits, int n);

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

#endif // SAM_GRAPHS_H
