// SPDX-License-Identifier: MIT
// SAM 3's trunk (Perception Encoder: a plain vision transformer with rotary positions) and the
// tracker's neck. Tokens stay in the order of windows from the first block to the last.
#ifndef SAM_SAM3_VIT_H
#define SAM_SAM3_VIT_H

#include "model/family.h"

enum { SAM_SAM3_PATCH = 14, SAM_SAM3_BLOCKS = 64 };

struct sam_sam3_sizes {
    int width, depth, hidden; // 1024, 32; of the blocks' feed-forward part, 4736
    int position_side;        // of the stored position map (24), which is tiled
    int num_heads;            // 16
    int window;               // side, tokens (24)
    int wide, mid, fine;      // channels after the neck's transposed convolutions (512, 512, 256)
    bool global_block[SAM_SAM3_BLOCKS]; // attends to all tokens, not inside windows
};
_Static_assert(sizeof(struct sam_sam3_sizes) <= SAM_TRUNK_BYTES, "room for a family's own sizes");

static inline struct sam_sam3_sizes *sam_sam3_config(struct sam_config *c)
{
    return (struct sam_sam3_sizes *) c->trunk;
}

static inline const struct sam_sam3_sizes *sam_sam3_of(const struct sam_config *c)
{
    return (const struct sam_sam3_sizes *) c->trunk;
}

struct sam_sam3_block {
    struct sam_affine norm;
    struct sam_product q, k, v, out;
    struct sam_mlp mlp;
};

// Level by level. Two layers without an activation between them are one; the last convolution of
// each finer level is one with the decoder's conv_s0 or conv_s1.
struct sam_sam3_neck {
    struct sam_product narrow, smooth;          // stride of the patches: 1 x 1, then 3 x 3, gives F
    struct sam_product up_s1, last_s1;          // twice as fine: transposed, then 3 x 3
    struct sam_product up_s0, more_s0, last_s0; // four times: transposed twice, then 3 x 3
};

// Of the tracker's and of the detector's file alike.
struct sam_sam3_trunk {
    struct sam_product patch_embed;
    struct sam_tensor position; // (windows, w, w, width)
    struct sam_affine first_norm;
    struct sam_tensor turn_window; // (1, 1, w * w, width): how q and k turn inside a window
    struct sam_tensor turn_all;    // (1, 1, h * h, width): in a global block, by windows
    struct sam_sam3_block block[SAM_SAM3_BLOCKS];
};

struct sam_sam3 {
    struct sam_sam3_trunk trunk;
    struct sam_sam3_neck neck;
};

// The trunk's functions in struct sam_family. Marks: pos_embed, embedded (the patches with it),
// block00 .. (1, windows, w * w, width); trunk0, the map.
int sam_sam3_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);
void sam_sam3_load(struct sam_loader *l, const struct sam_config *config, void *trunk);
void sam_sam3_layout(struct sam_encoder_scratch *s, const struct sam_config *c,
                     const struct sam_queue *q, struct sam_arena *a);
void sam_sam3_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                  const struct sam_features *dst);

// The trunk alone, for the detector by words, too: it needs patch, image_size and the sizes. room:
// numbers of the queue's type that are used behind it in s->wide.
int sam_sam3_trunk_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);
// Its heads, window and global blocks from transformers' JSON, whose defaults are the published
// model's.
int sam_sam3_trunk_read_json(struct sam_config *c, const struct sam_json *backbone);
bool sam_sam3_trunk_use_published(struct sam_sam3_sizes *v);
int sam_sam3_trunk_check(const struct sam_config *c, const char *file, struct sam_error *error);
struct sam_sides sam_sam3_sides(const struct sam_config *c);
int sam_sam3_channels(const struct sam_config *c); // of its map
void sam_sam3_trunk_load(struct sam_loader *l, const struct sam_config *config,
                         struct sam_sam3_trunk *v);
void sam_sam3_trunk_layout(struct sam_encoder_scratch *s, const struct sam_config *c,
                           const struct sam_queue *q, size_t room, struct sam_arena *a);
// s->input -> the map (1, h, h, width), which is returned.
struct sam_tensor sam_sam3_trunk_run(struct sam_queue *q, const struct sam_sam3_trunk *v,
                                     const struct sam_config *c, struct sam_encoder_scratch *s);

// One block of x (windows, 1, w * w, width), in place.
void sam_sam3_block_run(struct sam_queue *q, const struct sam_sam3_trunk *v, int i, int heads,
                        bool all, struct sam_encoder_scratch *s, struct sam_tensor x);

// ---- neck.c. A transposed convolution (in, mid, 2, 2), then a 1 x 1 convolution (out, mid), as
// one transposed convolution.
void sam_sam3_load_up(struct sam_loader *l, struct sam_product *p, int in, int mid, int out,
                      const char *up, const char *narrow);
// x (1, h, h, width) -> F, s1 and s0.
void sam_sam3_neck_load(struct sam_loader *l, const struct sam_config *config,
                        struct sam_sam3_neck *n);
// The numbers of its largest map between layers, in the queue's type.
size_t sam_sam3_neck_room(const struct sam_config *c);
void sam_sam3_neck_run(struct sam_queue *q, const struct sam_sam3_neck *n,
                       const struct sam_config *c, struct sam_encoder_scratch *s,
                       struct sam_tensor x, const struct sam_features *dst);

#endif // SAM_SAM3_VIT_H
