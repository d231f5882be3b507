// SPDX-License-Identifier: MIT
// RF-DETR, written from its published shapes, constants and names: DINOv2 with windows, a projector
// to one map at stride 16, candidates chosen among its positions, and a decoder with deformable
// attention; and for segmentation, a head that makes masks. Private to its folder.
// docs/DETECTORS.md has the names of tensors.
#ifndef SAM_RFDETR_H
#define SAM_RFDETR_H

#include "model/detector.h"

enum {
    RFDETR_HEAD = 64,           // channels of a head of the backbone
    RFDETR_OUTS = 4,            // blocks whose outputs the projector reads: every quarter's last
    RFDETR_SELF_HEADS = 8,      // of the decoder
    RFDETR_CROSS_HEADS = 16,
    RFDETR_MAX_BLOCKS = 24,     // published: 12
    RFDETR_MAX_BOTTLENECKS = 6, // published: 3
    RFDETR_MAX_LAYERS = 8,      // of the decoder, published: 2 to 6
    RFDETR_MAX_GROUPS = 64,     // of queries in training; published: 13, of which the first is run
    RFDETR_MOST = 300,          // queries, and detections of a frame
    RFDETR_MAX_GRID = 49,       // from 50 positions on a side on, the outermost are no candidates
    RFDETR_MASK_STRIDE = 4,     // px of the input to one of a mask's logits
};

struct rfdetr_sizes {
    int grid;                           // positions on a side of the stored position embedding
    int patch, windows;                 // px; of the backbone, on a side
    int width, hidden, blocks;          // of the backbone
    int inner, bottlenecks;             // of the projector
    int d, layers, feed_forward;        // of the decoder
    int points, queries, groups, classes;
    bool masks;                         // a model for segmentation
    int mask_hidden;                    // of the queries' feed-forward in its head
    float projector_eps;                // of the norms behind its convolutions
};

static inline const struct rfdetr_sizes *rfdetr_sizes(const struct sam_config *c)
{
    return (const struct rfdetr_sizes *) c->trunk;
}

// Positions on a side, at the input's size.
static inline int rfdetr_grid(const struct sam_config *c)
{
    return c->image_size / rfdetr_sizes(c)->patch;
}

// Logits on a side of a mask.
static inline int rfdetr_mask_side(const struct sam_config *c)
{
    return c->image_size / RFDETR_MASK_STRIDE;
}

// Tokens of a window: its positions, and before them a class token of its own.
static inline int rfdetr_window_tokens(const struct sam_config *c)
{
    const int side = rfdetr_grid(c) / rfdetr_sizes(c)->windows;
    return 1 + side * side;
}

// Blocks from one output to the next; the block behind an output attends to all tokens.
static inline int rfdetr_quarter(const struct rfdetr_sizes *s)
{
    return s->blocks / RFDETR_OUTS;
}

// ---- sizes: sizes.c, config.c

int rfdetr_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);

// Hugging Face's config.json, if there is one: what shapes do not tell; the rest must agree.
int rfdetr_read_json(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);

// ---- weights: load.c, positions.c

struct rfdetr_block {
    struct sam_affine norm;
    struct sam_product q, k, v, out;
    struct sam_mlp mlp;
};

struct rfdetr_conv { // and the norm behind it
    struct sam_product conv;
    struct sam_affine norm;
};

struct rfdetr_projector {
    struct rfdetr_conv in, out, bottleneck[RFDETR_MAX_BOTTLENECKS][2];
    struct sam_affine norm;
};

struct rfdetr_heads { // of candidates and of results
    struct sam_product classes, box[3];
};

struct rfdetr_layer {
    struct sam_product q, k, v, out;                       // self-attention
    struct sam_product offsets, weights, values, cross;    // deformable attention
    struct sam_product up, down;
    struct sam_affine norm[3];                             // behind each of the three
};

struct rfdetr_mask_block {
    struct sam_tensor weight, bias; // depthwise
    struct sam_affine norm;
    struct sam_product product;
};

struct rfdetr_mask_head {
    struct rfdetr_mask_block block[RFDETR_MAX_LAYERS];
    struct sam_product map;
    struct sam_mlp queries;         // and its norm
    struct sam_product query;
    struct sam_tensor bias;         // (1, 1, 1, mask side^2): the same number everywhere
};

struct rfdetr_weights {
    struct sam_product patches;
    struct sam_tensor class_token;  // (1, 1, 1, width), its position added
    struct sam_tensor positions;    // (1, 1, grid^2, width)
    struct rfdetr_block block[RFDETR_MAX_BLOCKS];
    struct sam_affine norm;         // of the backbone's outputs
    struct rfdetr_projector projector;

    struct sam_product candidate;   // and the norm behind it
    struct sam_affine candidate_norm;
    struct rfdetr_heads first, last;
    struct sam_tensor proposals;    // (1, 1, grid^2, 4): a box around each position
    struct sam_tensor references;   // (1, 1, queries, 4): deltas of the chosen boxes
    struct sam_tensor queries;      // (1, 1, queries, d)
    struct sam_product place[2];    // of the queries' sines
    struct rfdetr_layer layer[RFDETR_MAX_LAYERS];
    struct sam_affine decoder_norm;
    struct rfdetr_mask_head mask;   // of models for segmentation
};

void rfdetr_load(struct sam_loader *l, const struct sam_config *config, void *weights);

// Maps (from, from, c) to (to, to, c) by the antialiased bicubic filter. room: from * to * c
// numbers.
void rfdetr_scale_positions(const float *src, int from, float *dst, int to, int c, float *room);

// ---- the forward: backbone.c, projector.c, decoder.c, masks.c

static inline struct rfdetr_weights *rfdetr_weights_of(const struct sam_pass *p)
{
    return p->model->trunk;
}

// A tensor of the pass, in F32 or in the type of activations.
static inline struct sam_tensor rfdetr_take(struct sam_pass *p, enum sam_type type, int n, int h,
                                            int w, int c)
{
    return sam_arena_tensor(p->arena, type, n, h, w, c);
}

// input (1, S, S, 3) -> outs (windows, 1, tokens, 4 width): the outputs side by side.
void rfdetr_run_backbone(struct sam_pass *p, struct sam_tensor input, struct sam_tensor outs);

// outs -> memory (1, 1, grid^2, d).
void rfdetr_run_projector(struct sam_pass *p, struct sam_tensor outs, struct sam_tensor memory);

// memory -> classes (1, 1, queries, classes) and boxes (1, 1, queries, 4): x, y of the middle, w, h
// as parts of the frame. masks (1, queries, side, side): logits; of models for segmentation.
void rfdetr_run_decoder(struct sam_pass *p, struct sam_tensor memory, struct sam_tensor classes,
                        struct sam_tensor boxes, struct sam_tensor masks);

// memory, and the queries (1, 1, queries, d) behind the decoder's norm -> masks.
void rfdetr_run_masks(struct sam_pass *p, struct sam_tensor memory, struct sam_tensor queries,
                      struct sam_tensor masks);

// ---- the choice: choose.c

size_t rfdetr_room_bytes(const struct sam_config *c);
int rfdetr_choose(const struct sam_config *c, const struct sam_candidates *from, int width,
                  int height, void *room, struct sam_detection *out);

#endif // SAM_RFDETR_H
