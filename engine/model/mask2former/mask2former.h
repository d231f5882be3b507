// SPDX-License-Identifier: MIT
// Mask2Former for instances, written from its published shapes, constants and names: a Swin
// transformer or a ResNet, a pixel decoder with deformable attention over three maps, and a decoder
// whose queries look where their own masks are. Private to its folder. docs/DETECTORS.md has the
// names of tensors.
#ifndef SAM_MASK2FORMER_H
#define SAM_MASK2FORMER_H

#include "model/swin/swin.h"

enum {
    M2F_SIDE = 384,       // px: of the input, if nothing else is asked
    M2F_LEVELS = 3,       // maps that are decoded: at stride 32, 16, 8
    M2F_POINTS = 4,       // of a head of deformable attention, on each
    M2F_GROUPS = 32,      // of GroupNorm
    M2F_MAX_BLOCKS = SAM_SWIN_MAX_BLOCKS, // of a stage; published: 18, 23 in ResNet-101
    M2F_MAX_ENCODER = 8,  // layers of the pixel decoder; published: 6
    M2F_MAX_LAYERS = 16,  // of the decoder; published: 9
    M2F_MOST = 300,       // queries, and detections; published: 100, 200
};

enum m2f_trunk { M2F_SWIN, M2F_RESNET };

struct m2f_sizes {
    enum m2f_trunk trunk;
    int stem;                        // channels before the first stage
    int width[SAM_STAGES], blocks[SAM_STAGES];
    int inner[SAM_STAGES];           // of a block: of Swin's MLP, of the 3 x 3 convolution
    int heads[SAM_STAGES], window;   // Swin's
    int d, decoder_heads;            // of both decoders
    int encoder_layers, encoder_hidden, mask_width;
    int layers, hidden, queries, classes;
};

static inline const struct m2f_sizes *m2f_sizes(const struct sam_config *c)
{
    return (const struct m2f_sizes *) c->trunk;
}

static inline struct sam_swin_sizes m2f_swin_sizes(const struct m2f_sizes *s)
{
    struct sam_swin_sizes swin = { .stem = s->stem, .window = s->window };

    memcpy(swin.width, s->width, sizeof(swin.width));
    memcpy(swin.inner, s->inner, sizeof(swin.inner));
    memcpy(swin.blocks, s->blocks, sizeof(swin.blocks));
    memcpy(swin.heads, s->heads, sizeof(swin.heads));
    return swin;
}

// Positions on a side of the map of a stage.
static inline int m2f_grid(const struct sam_config *c, int stage)
{
    return c->image_size / (4 << stage);
}

// Of the map that level `level` of the decoders looks at: the coarsest first.
static inline int m2f_level_grid(const struct sam_config *c, int level)
{
    return m2f_grid(c, SAM_STAGES - 1 - level);
}

// Positions of the levels before `level`; of all of them, if it is M2F_LEVELS.
static inline int m2f_first(const struct sam_config *c, int level)
{
    int first = 0;
    for (int i = 0; i < level; i++)
        first += m2f_level_grid(c, i) * m2f_level_grid(c, i);
    return first;
}

// ---- sizes: sizes.c, config.c

int m2f_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);

// Hugging Face's config.json, if there is one, must agree.
int m2f_read_json(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);

// ---- weights: load.c, load_trunk.c

struct m2f_resnet_block {
    struct sam_product in, middle, out;
    struct sam_product shortcut; // of a stage's first block, if its map changes
};

struct m2f_normed { // a product and the GroupNorm behind it
    struct sam_product product;
    struct sam_affine norm;
};

struct m2f_encoder_layer {
    struct sam_product offsets, weights, values, out, up, down;
    struct sam_affine norm[2];
};

struct m2f_layer {
    struct sam_product cross_q, cross_k, cross_v, cross_out, q, k, v, out, up, down;
    struct sam_affine norm[3]; // behind the masked attention, the other one, the feed-forward
};

struct m2f_weights {
    struct sam_swin swin;
    struct sam_product stem;      // ResNet's
    struct m2f_resnet_block resnet[SAM_STAGES][M2F_MAX_BLOCKS];
    struct sam_affine same;       // ResNet's: ones and zeros, for its widest map

    struct m2f_normed level[M2F_LEVELS];
    struct sam_tensor sine, references; // (1, 1, positions of all levels, d) and (..., 2)
    struct sam_tensor level_place;      // (1, 1, levels, d)
    struct m2f_encoder_layer encoder[M2F_MAX_ENCODER];
    struct m2f_normed fine, smooth;
    struct sam_product features;

    struct sam_tensor queries, places;  // (1, 1, queries, d)
    struct sam_tensor level_query;      // (1, 1, levels, d)
    struct m2f_layer layer[M2F_MAX_LAYERS];
    struct sam_affine norm;             // before the heads
    struct sam_product mask[3], classes;
};

void m2f_load(struct sam_loader *l, const struct sam_config *config, void *weights);
void m2f_load_trunk(struct sam_loader *l, const struct sam_config *config, struct m2f_weights *w);

// ---- the forward: resnet.c, pixels.c, decoder.c

static inline struct m2f_weights *m2f_weights_of(const struct sam_pass *p)
{
    return p->model->trunk;
}

// A tensor of the pass, in F32 or in the type of activations.
static inline struct sam_tensor m2f_take(struct sam_pass *p, enum sam_type type, int n, int h,
                                         int w, int c)
{
    return sam_arena_tensor(p->arena, type, n, h, w, c);
}

// Rows [first, first + rows) of a tensor with n = h = 1.
static inline struct sam_tensor m2f_rows(struct sam_tensor t, int first, int rows)
{
    if (t.data)
        t.data = (uint8_t *) t.data + (size_t) first * t.c * sam_type_size(t.type);
    t.w = rows;
    return t;
}

// input (1, S, S, 3) -> map[s] (1, S / (4 << s), ..., width[s]), F32.
void m2f_run_resnet(struct sam_pass *p, struct sam_tensor input, const struct sam_tensor *map);

// The four maps -> levels (1, 1, positions of all levels, d) and features (1, S / 4, S / 4,
// mask_width), F32.
void m2f_run_pixels(struct sam_pass *p, const struct sam_tensor *map, struct sam_tensor levels,
                    struct sam_tensor features);

// -> logits of classes and of no object (1, 1, queries, classes + 1), and of masks (1, queries,
// S / 4, S / 4).
void m2f_run_decoder(struct sam_pass *p, struct sam_tensor levels, struct sam_tensor features,
                     struct sam_tensor classes, struct sam_tensor masks);

// ---- the choice: choose.c

size_t m2f_room_bytes(const struct sam_config *c);
int m2f_choose(const struct sam_config *c, const struct sam_candidates *from, int width,
               int height, void *room, struct sam_detection *out);

#endif // SAM_MASK2FORMER_H
