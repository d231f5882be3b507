// SPDX-License-Identifier: MIT
// The memory of a tracker, by how long it lives: scratch, state, and what is on the host. It is
// laid out once, at open (session/plan.c).
#ifndef SAM_LAYOUT_H
#define SAM_LAYOUT_H

#include "refine/refine.h"
#include "samtrack/answers.h"
#include "track/memory/bank.h"
#include "track/memory/interactions.h"

struct sam_presence;
struct sam_tracked;

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
    struct sam_tensor full_mask;   // (1, M, M, 1) F32, M = sam_mask_side()
    struct sam_tensor mask_logits; // (1, S/4, S/4, 1) F32
    struct sam_tensor sparse;      // (1, 1, SAM_MAX_SPARSE, d) F32
    struct sam_prompt_scratch prompt;

    // (1, 1, S/4, S/4) F32, if edges follow the luma: the frame's means.
    struct sam_tensor luma;

    // All objects, if holes are filled or islands removed.
    struct sam_tensor tidied;     // (objects, S/4, S/4, 1) F32
    struct sam_tensor components; // (objects, 1, 1, 2 S/4 S/4 + 1) I32
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

// The answers to a click, in the frame and, where they were asked again in a window, there.
enum { SAM_LOOK_FIRST, SAM_LOOK_LAST, SAM_LOOKS };
struct sam_looks {
    float *masks;    // (SAM_LOOKS, SAM_ANSWERS, side, side) logits; the last of each is what counts
    float *pointers; // (SAM_ANSWERS, d)
    float iou[SAM_LOOKS][SAM_ANSWERS], score[SAM_ANSWERS];
    bool has_window[SAM_ANSWERS];
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
    struct sam_looks looks; // if clicks are asked again
    float *staging;         // buffer for copies to and from the device
    int32_t *row_slot;      // results by row: slot, ascending
    struct sam_tracked **batch; // objects of one batch
    struct sam_refine_word *words; // what refiners say of each of them
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

#endif // SAM_LAYOUT_H
