// SPDX-License-Identifier: MIT
// SAM 3's detector by words, written from its published shapes, constants and names: the tracker's
// trunk with a neck of its own, a text encoder, an encoder in which the image looks at itself and
// at one phrase, and a decoder whose queries are boxes and one more for whether the phrase is there
// at all. Private to its folder. docs/DETECTORS.md has the names of tensors.
//
// The prompt of a phrase is its tokens and one token more, which has looked at the image: the
// publisher's code has it always, transformers' only where there are boxes.
#ifndef SAM_SAM3WORDS_H
#define SAM_SAM3WORDS_H

#include "model/detector.h"
#include "model/sam3/vit.h"

enum {
    SAM3W_HEADS = 8,         // of all attention but the trunk's and the text's
    SAM3W_SIDE = 1008,       // px: the published input
    SAM3W_MAX_LAYERS = 8,    // of encoder and decoder, published: 6; of the image's token: 3
    SAM3W_MAX_TEXT = 32,     // layers, published: 24
    SAM3W_MAX_QUERIES = 400, // published: 200
    SAM3W_MOST = 200,        // detections of a frame
    SAM3W_MASKED = 4,        // phrases that masks are made for, the first of a look
};

struct sam3w_sizes {
    struct sam_sam3_sizes trunk; // first: the trunk's functions read it; and the neck's channels
    int d, queries;
    int encoder_layers, encoder_hidden, decoder_layers, decoder_hidden;
    int geometry_layers, geometry_hidden, score_hidden;
    int words, places; // tokens, and places of a phrase, that the text has a row for
    int text, text_hidden, text_layers, text_heads;
    bool shares_neck; // the file is the detector's alone, and calls its neck as a tracker's
};
_Static_assert(sizeof(struct sam3w_sizes) <= SAM_TRUNK_BYTES, "a family's sizes must fit");

static inline const struct sam3w_sizes *sam3w_sizes(const struct sam_config *c)
{
    return (const struct sam3w_sizes *) c->trunk;
}

// ---- sizes: sizes.c, config.c

int sam3w_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);
// Hugging Face's config.json: what shapes do not tell; the rest must agree. *is_there: it has a
// detector's part.
int sam3w_read_json(struct sam_config *c, const struct sam_weights *w, bool *is_there,
                    struct sam_error *error);

// ---- weights: load.c, load_bias.c, load_parts.c, masks.c

struct sam3w_attention {
    struct sam_product q, k, v, out;
};

// Level 0 has four, level 1 two positions a token of the trunk, each way.
struct sam3w_masks {
    struct sam_product wide, up[2], smooth[2]; // of the neck; level 0 is made in two steps
    struct sam_affine norm;                    // ahead of
    struct sam3w_attention prompt;             // what the image sees of the phrase
    struct sam_product layer[2], pixel, query[3];
    struct sam_affine layer_norm[2];
};

struct sam3w_text_layer {
    struct sam_affine norm[2]; // ahead of attention and feed-forward
    struct sam3w_attention self;
    struct sam_product up, down;
};

struct sam3w_geometry_layer {
    struct sam_affine norm[2];
    struct sam_product value, out; // attention of one token to itself: nothing is compared
    struct sam3w_attention cross;
    struct sam_mlp mlp;
};

struct sam3w_encoder_layer {
    struct sam_affine norm[2];
    struct sam3w_attention self, cross;
    struct sam_mlp mlp;
};

struct sam3w_decoder_layer {
    struct sam3w_attention self, text, image; // image: q and k are wide (load_bias.c)
    struct sam_product up, down;
    struct sam_affine norm[4]; // behind each
};

// Where a query looks, by its box: load_bias.c.
struct sam3w_bias {
    struct sam_tensor curve;           // (1, 1, SAM3W_CURVE, 1)
    struct sam_tensor zeros, origin;   // (1, 1, queries * grid * 2, 1) and (..., 2)
    struct sam_product distance[2];    // 4 -> (grid, 2, 2): of x, of y
    struct sam_product up[2], down[2]; // 2 -> d -> heads
    struct sam_product spread[2];      // (grid, heads) -> wide
    struct sam_tensor places;          // (1, 1, grid * grid, wide)
};

struct sam3w_weights {
    struct sam_sam3_trunk trunk;
    struct sam_product narrow, smooth; // of the neck, at the trunk's stride
    struct sam_tensor sine;            // (1, 1, grid * grid, d)

    float *word, *place; // (words, text), (places, text): read by the CPU
    struct sam3w_text_layer text[SAM3W_MAX_TEXT];
    struct sam_affine text_norm;
    struct sam_product project;

    struct sam_tensor token; // (1, 1, 1, d)
    struct sam_product token_project;
    struct sam_affine token_norm, geometry_norm;
    struct sam3w_geometry_layer geometry[SAM3W_MAX_LAYERS];

    struct sam3w_encoder_layer encoder[SAM3W_MAX_LAYERS];

    struct sam_tensor queries;      // (1, 1, 1 + queries, d): the first is of presence
    struct sam_tensor references;   // (1, 1, queries, 4): logits of boxes
    struct sam_product place_of[2]; // of the sines of boxes
    struct sam3w_bias bias;
    struct sam3w_decoder_layer decoder[SAM3W_MAX_LAYERS];
    struct sam_affine decoder_norm, presence_norm;
    struct sam_product box[3], presence[3];
    // (4, 4), diagonal: the logistic function, and limits in two steps.
    struct sam_product same, limit_in, limit_out;

    struct sam_product score_up, score_down, score_text, score_query;
    struct sam_affine score_norm;
    struct sam_tensor scale; // (1, 1, 1, d)

    struct sam3w_masks masks;
};

// The curve of distances is a table, which is looked up between its numbers: of SAM3W_STEPS a side
// of the image, in both directions, 2 sides far.
enum { SAM3W_STEPS = 4096, SAM3W_CURVE = 4 * SAM3W_STEPS };

// Channels of a head where boxes matter: its own, and one for each column and row of the map.
static inline int sam3w_wide_head(const struct sam_config *c)
{
    return sam3w_sizes(c)->d / SAM3W_HEADS + 2 * sam_grid(c);
}

void sam3w_load(struct sam_loader *l, const struct sam_config *config, void *weights);
void sam3w_load_bias(struct sam_loader *l, const struct sam_config *config, struct sam3w_bias *b);
// neck: the beginning of its tensors' names.
void sam3w_load_masks(struct sam_loader *l, const struct sam_config *config, const char *neck,
                      struct sam3w_masks *w);
// out: what its last product is called.
void sam3w_load_attention(struct sam_loader *l, struct sam3w_attention *w, int d, const char *out,
                          const char *at);
// q or k of a head, as wide as sam3w_wide_head() with zeros behind its own channels.
void sam3w_load_wide(struct sam_loader *l, const struct sam_config *config, struct sam_product *p,
                     const char *layer);

// ---- the forward: text.c, image.c, encoder.c, decoder.c, masks.c

static inline struct sam3w_weights *sam3w_weights_of(const struct sam_pass *p)
{
    return p->model->trunk;
}

// The tokens of p->text become its features.
void sam3w_encode(struct sam_pass *p, struct sam_text *text, float *room);
size_t sam3w_encode_room(const struct sam_config *c); // numbers

// What masks are made of, beside the image: level i has 4 or 2 positions a token each way.
struct sam3w_maps {
    struct sam_tensor level[2];
};
// The trunk's map -> the finer ones.
void sam3w_run_maps(struct sam_pass *p, struct sam_tensor trunk, const struct sam3w_maps *maps);

// input (1, S, S, 3) -> image (1, 1, grid * grid, d), and the finer maps.
void sam3w_run_image(struct sam_pass *p, struct sam_tensor input, struct sam_tensor image,
                     const struct sam3w_maps *maps);
// image -> the token (1, 1, 1, d) that has looked at it.
void sam3w_run_token(struct sam_pass *p, struct sam_tensor image, struct sam_tensor token);

// In place; prompt (1, 1, tokens, d).
void sam3w_run_encoder(struct sam_pass *p, struct sam_tensor image, struct sam_tensor prompt);

// -> logits of queries (1, 1, 1, queries), of presence (1, 1, 1, 1), and boxes (1, 1, queries, 4):
// x, y of the middle, w, h as parts of the frame; and the queries, normed.
void sam3w_run_decoder(struct sam_pass *p, struct sam_tensor image, struct sam_tensor prompt,
                       struct sam_tensor logits, struct sam_tensor presence,
                       struct sam_tensor boxes, struct sam_tensor queries);

// -> masks (1, 1, queries, positions of level 0): logits. The image is another one then.
void sam3w_run_masks(struct sam_pass *p, const struct sam3w_maps *maps, struct sam_tensor image,
                     struct sam_tensor prompt, struct sam_tensor queries, struct sam_tensor masks);

// Three layers with a ReLU between them; `from` is added to what they give, data NULL: none.
void sam3w_run_three(struct sam_pass *p, const struct sam_product w[3], struct sam_tensor x,
                     struct sam_tensor from, struct sam_tensor dst);

// x (1, 1, rows, d) += attention: queries are of `from`, keys and values of others.
void sam3w_attend(struct sam_pass *p, const struct sam3w_attention *w, struct sam_tensor from,
                  struct sam_tensor keys, struct sam_tensor values, struct sam_tensor x);

// ---- the choice: choose.c

// Masks are maps of so many positions each way.
static inline int sam3w_mask_side(const struct sam_config *c)
{
    return 4 * sam_grid(c);
}

size_t sam3w_room_bytes(const struct sam_config *c);
int sam3w_choose(const struct sam_config *c, const struct sam_candidates *from, int width,
                 int height, void *room, struct sam_detection *out);
void sam3w_rate(const struct sam_candidates *from, float best[SAM_MAX_PHRASES]);

#endif // SAM_SAM3WORDS_H
