// SPDX-License-Identifier: MIT
// Grounding DINO, MM-Grounding DINO and LLMDet, written from their published shapes, constants and
// names: Swin, BERT for words, an encoder in which image and words look at each other, candidates
// chosen by their likeness to words, and a decoder with deformable attention. Private to its
// folder. docs/DETECTORS.md has the names of tensors.
#ifndef SAM_GROUNDINGDINO_H
#define SAM_GROUNDINGDINO_H

#include "model/swin/swin.h"

enum {
    GDINO_SIDE = 800,          // px: the shorter side of the input, if nothing else is asked
    GDINO_LONG = 1333,         // the most that the longer one has then
    GDINO_HEADS = 8,           // of the image's attention, and of the decoder's
    GDINO_TEXT_HEADS = 4,      // where words take part in the encoder
    GDINO_GROUPS = 32,         // of GroupNorm
    GDINO_MAX_LEVELS = 5,      // maps; published: 4, and 5
    GDINO_MAX_LAYERS = 8,      // of encoder and decoder; published: 6
    GDINO_MAX_BERT = 24,       // published: 12
    GDINO_MOST = 300,          // detections of a frame
    GDINO_MAX_QUERIES = 1500,  // published: 900
};

struct gdino_sizes {
    struct sam_swin_sizes swin;
    int first;                    // stage of Swin whose map is the first one
    int d, levels, queries;
    int encoder_layers, encoder_hidden, encoder_points;
    int decoder_layers, decoder_hidden, decoder_points;
    int fusion, text_hidden;      // widths where image and words meet, and of words' feed-forward
    int words, places;            // tokens, and positions, that BERT has a row for
    int bert, bert_hidden, bert_layers, bert_heads;
    bool is_mm;                   // MM-Grounding DINO and LLMDet: scores are scaled, and biased
    bool has_one_box_head;        // for all layers of the decoder
};

static inline const struct gdino_sizes *gdino_sizes(const struct sam_config *c)
{
    return (const struct gdino_sizes *) c->trunk;
}

// The maps of the input: of the stages from `first` on, then halves of halves.
struct gdino_maps {
    int height[GDINO_MAX_LEVELS], width[GDINO_MAX_LEVELS];
    int start[GDINO_MAX_LEVELS + 1]; // rows of the levels before
};
void gdino_maps(const struct sam_config *c, const struct sam_shape *shape,
                struct gdino_maps *maps);

// Tables that depend on the maps.
enum {
    GDINO_SINE,       // (1, 1, rows of all levels, d): where they are, and the level
    GDINO_REFERENCES, // (1, 1, rows, 2): their middles
    GDINO_PROPOSALS,  // (1, 1, rows, 4): logits of a box around each
    GDINO_VALID,      // (rows, 1, 1, 1): 1, or 0 of one too close to the border
};

// ---- sizes: sizes.c, config.c

int gdino_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);

// Hugging Face's config.json, if there is one: what shapes do not tell; the rest must agree.
int gdino_read_json(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);

// ---- the shape of the input: shapes.c, tables.c

extern const struct sam_detector_shapes gdino_shapes;
bool gdino_has_enough(const struct sam_config *c, const struct sam_shape *shape);
size_t gdino_tables_room(const struct sam_config *c, const struct sam_shape *largest);
void gdino_write_tables(struct sam_queue *q, const struct sam_model *m, struct sam_shape *shape,
                        float *room);

// ---- weights: load.c, load_bert.c, load_fusion.c, constants.c

struct gdino_bert_layer {
    struct sam_product q, k, v, out, up, down;
    struct sam_affine norm[2]; // behind attention and feed-forward
};

struct gdino_bert {
    float *word, *place, *kind; // (words, bert), (places, bert), (bert): read by the CPU
    struct sam_affine norm;
    struct gdino_bert_layer layer[GDINO_MAX_BERT];
    struct sam_product project;
};

struct gdino_fusion {
    struct sam_affine image_norm, text_norm;
    // (d, d) of each head: of words, what positions are compared with; of means of positions, what
    // words get.
    struct sam_product keys[GDINO_TEXT_HEADS], means[GDINO_TEXT_HEADS];
    struct sam_tensor shift;  // (1, 1, heads, d): of words, what is added to their likeness
    struct sam_tensor values; // (1, 1, d heads, d): of words, what positions get
};

struct gdino_attention {
    struct sam_product q, k, v, out;
};

struct gdino_deform {
    struct sam_product offsets, weights, values, out;
};

struct gdino_encoder_layer {
    struct gdino_fusion fusion;
    struct gdino_attention text;
    struct sam_product text_up, text_down;
    struct sam_affine text_norm[2];
    struct gdino_deform image;
    struct sam_product up, down;
    struct sam_affine norm[2];
};

struct gdino_decoder_layer {
    struct gdino_attention self, text;
    struct gdino_deform image;
    struct sam_product up, down;
    struct sam_affine norm[4]; // behind each
};

struct gdino_level { // a convolution and the norm behind it
    struct sam_product conv;
    struct sam_affine norm;
};

struct gdino_weights {
    struct gdino_bert bert;
    struct sam_swin swin;
    struct gdino_level level[GDINO_MAX_LEVELS];
    float *marks;                  // (levels, d), of each level in its sines: read by the CPU
    struct gdino_encoder_layer encoder[GDINO_MAX_LAYERS];

    struct sam_tensor zero;        // (1, 1, 1, d)
    struct sam_product candidate, candidate_box[3];
    struct sam_affine candidate_norm;
    struct sam_tensor scale;       // (1, 1, 1, d): of words in scores
    struct sam_tensor first_bias, last_bias; // (1, 1, 1, SAM_MAX_TOKENS): the same number
    struct sam_tensor queries;     // (1, 1, queries, d)
    struct sam_product place[2];   // of the sines of boxes
    struct gdino_decoder_layer decoder[GDINO_MAX_LAYERS];
    struct sam_product box[GDINO_MAX_LAYERS][3];
    struct sam_affine decoder_norm;
    // (4, 4), diagonal: the logistic function, and limits in two steps.
    struct sam_product same, limit_in, limit_out;
};

void gdino_load(struct sam_loader *l, const struct sam_config *config, void *weights);
void gdino_load_bert(struct sam_loader *l, const struct sam_config *config, struct gdino_bert *w);
void gdino_load_fusion(struct sam_loader *l, const struct gdino_sizes *s, struct gdino_fusion *w,
                       int layer);
void gdino_load_constants(struct sam_loader *l, const struct sam_config *config,
                          struct gdino_weights *w);

// ---- the forward: bert.c, neck.c, encoder.c, decoder.c

static inline struct gdino_weights *gdino_weights_of(const struct sam_pass *p)
{
    return p->model->trunk;
}

// The words of p->text become its features, places and mask.
void gdino_encode(struct sam_pass *p, struct sam_text *text, float *room);
size_t gdino_encode_room(const struct sam_config *c); // numbers

// input (1, H, W, 3) -> image (1, 1, rows of all levels, d).
void gdino_run_neck(struct sam_pass *p, struct sam_tensor input, struct sam_tensor image);

// Both in place; text (1, 1, tokens, d).
void gdino_run_encoder(struct sam_pass *p, struct sam_tensor image, struct sam_tensor text);

// -> logits of tokens (1, 1, queries, tokens), and boxes (1, 1, queries, 4): x, y of the middle, w,
// h as parts of the frame.
void gdino_run_decoder(struct sam_pass *p, struct sam_tensor image, struct sam_tensor text,
                       struct sam_tensor logits, struct sam_tensor boxes);

// x (1, 1, rows, d) -> x + deformable attention of its rows, moved by places, to the image.
void gdino_attend_image(struct sam_pass *p, const struct gdino_deform *w, int points,
                        struct sam_tensor places, struct sam_tensor references,
                        struct sam_tensor image, struct sam_tensor x);
// x = norm(x + down(relu(up(x)))).
void gdino_feed_on(struct sam_pass *p, const struct sam_product *up,
                   const struct sam_product *down, const struct sam_affine *norm, int hidden,
                   struct sam_tensor x);

// ---- the choice: choose.c

size_t gdino_room_bytes(const struct sam_config *c);
int gdino_choose(const struct sam_config *c, const struct sam_candidates *from, int width,
                 int height, void *room, struct sam_detection *out);

#endif // SAM_GROUNDINGDINO_H
