// SPDX-License-Identifier: MIT
// A family of detectors: what finds objects in one frame. detectors.c lists them; no other file
// names one. Their files are read, cached and shared as those of trackers are (model.c).
#ifndef SAM_DETECTOR_H
#define SAM_DETECTOR_H

#include "base/arena.h"
#include "family.h"
#include "samtrack/detector.h"

enum { SAM_MAX_TOKENS = 256 };

// What a detector is to find, of a family that takes words, and what its network made of them.
struct sam_text {
    int tokens, phrases;
    int most_of_phrase;         // tokens of one phrase; 0: as of all
    int id[SAM_MAX_TOKENS];     // of each token in the vocabulary
    int piece[SAM_MAX_TOKENS];  // tokens of one piece see each other
    int place[SAM_MAX_TOKENS];  // of a token in its piece, from 0
    int phrase[SAM_MAX_TOKENS]; // that it is a word of; -1: none, it ends one

    // state, on the device, laid out for `most` tokens. All F32.
    int most;
    struct sam_tensor features, places; // (1, 1, tokens, width)
    struct sam_tensor mask;             // (1, 1, tokens, tokens)
    struct sam_tensor units;            // (1, 1, tokens, heads * tokens): rows of unit matrices
};

// Of a family whose input has the shape of the frames: its sides, and tables that depend on them.
enum { SAM_MAX_TABLES = 4 };
struct sam_shape {
    int width, height;
    struct sam_tensor table[SAM_MAX_TABLES]; // state, on the device
};

// What a network that takes words makes of the image alone: state on the device, right as long as
// the picture is the same.
enum { SAM_MAX_SEEN = 4 };
struct sam_seen {
    struct sam_tensor map[SAM_MAX_SEEN];
};

// One pass over a network. It runs twice: over an arena without memory, to measure, when nothing is
// enqueued; and over the allocated one, for each frame. What a pass hands out lies in the arena.
struct sam_pass {
    struct sam_queue *queue;
    const struct sam_model *model; // while measuring: its config alone
    struct sam_arena *arena;
    bool live; // not measuring
    const struct sam_text *text; // NULL: the family has fixed classes
    const struct sam_shape *shape; // NULL: the input is a square
    // (1, h, h, channels) F32, that a tracker's trunk made of the frame; no data: it runs here.
    struct sam_tensor trunk;
    const struct sam_seen *seen; // NULL: the family has fixed classes
};

// Rows of numbers, and rows in the type of activations.
static inline struct sam_tensor sam_pass_rows(struct sam_pass *p, int rows, int c)
{
    return sam_arena_tensor(p->arena, SAM_F32, 1, 1, rows, c);
}

static inline struct sam_tensor sam_pass_act(struct sam_pass *p, int rows, int c)
{
    return sam_arena_tensor(p->arena, sam_queue_type(p->queue), 1, 1, rows, c);
}

// Rows [first, first + rows) of a tensor with n = h = 1.
static inline struct sam_tensor sam_pass_part(struct sam_tensor t, int first, int rows)
{
    if (t.data)
        t.data = (uint8_t *) t.data + (size_t) first * t.c * sam_type_size(t.type);
    t.w = rows;
    return t;
}

// places (1, 1, queries, d): what two products, with a ReLU between them, make of the sines of the
// queries' boxes (1, 1, queries, 4). place: NULL while measuring.
void sam_pass_place(struct sam_pass *p, const struct sam_product *place, struct sam_tensor boxes,
                    struct sam_tensor places);

// Tell listeners what a part gave: the stage "name", or "name<i>" if i is not negative.
void sam_pass_tell(struct sam_pass *p, const char *name, int i, struct sam_tensor t);

// What a pass leaves for its family's choice among the candidates. All F32.
struct sam_candidates {
    struct sam_tensor score; // (1, 1, candidates, classes): logits
    struct sam_tensor box;   // (1, 1, candidates, numbers): in the family's own form
    struct sam_tensor mask;  // (1, candidates, h, w): logits; data NULL: none
    struct sam_tensor presence; // (1, 1, phrases, 1): logits of the phrases; data NULL: none
    const struct sam_text *text; // score has tokens for classes; NULL: it has classes
};

// What makes a family one whose input has the shape of the frames.
struct sam_detector_shapes {
    // The input's sides for frames of this size.
    void (*fit)(const struct sam_config *c, int width, int height, struct sam_shape *shape);
    // The largest input's; as much memory as for its sides exchanged, and for all others.
    void (*largest)(const struct sam_config *c, struct sam_shape *shape);
    void (*lay_out)(const struct sam_config *c, struct sam_arena *a, struct sam_shape *shape);
    // Enqueue the tables of the shape's sides. room: numbers, host memory.
    size_t (*room)(const struct sam_config *c, const struct sam_shape *largest);
    void (*write)(struct sam_queue *q, const struct sam_model *m, struct sam_shape *shape,
                  float *room);
};

enum sam_tokenizer_kind {
    SAM_WORDPIECE,  // BERT's, of all phrases as one text; sam_text as in groundingdino/
    SAM_BYTE_PAIRS, // CLIP's, of each phrase by itself
};

// What makes a family one that takes words.
struct sam_detector_words {
    enum sam_tokenizer_kind tokenizer;
    int (*count)(const struct sam_config *c); // ids that the network has a row for
    void (*lay_out)(const struct sam_config *c, struct sam_arena *a, struct sam_text *t);
    // Enqueue what becomes of the words, once for all frames. room: numbers, host memory.
    size_t (*room)(const struct sam_config *c);
    void (*encode)(struct sam_pass *p, struct sam_text *text, float *room);
    // All of the network that words have no part in, ahead of run(), which is given what it makes:
    // input -> *p->seen, laid out for the largest shape. type: of activations.
    void (*lay_seen)(const struct sam_config *c, enum sam_type type,
                     const struct sam_shape *largest, struct sam_arena *a, struct sam_seen *seen);
    void (*see)(struct sam_pass *p, struct sam_tensor input);
    // The best score of each phrase among all candidates. NULL: score has tokens for classes.
    void (*rate)(const struct sam_candidates *from, float best[SAM_MAX_PHRASES]);
};

struct sam_detector_family {
    const char *title; // "YOLOv10", for sentences
    const char *mark;  // a tensor that every file of this family has, and no other's

    // Reads and checks the family's sizes, into config->trunk, and image_size and variant.
    int (*read)(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);
    // Sides of the input that the network of these sizes can run.
    struct sam_sides (*sides)(const struct sam_config *c);
    const struct sam_detector_shapes *shapes; // NULL: the input is always a square

    size_t weights_bytes; // of its struct of weights, zero at first, that load fills
    void (*load)(struct sam_loader *l, const struct sam_config *config, void *weights);

    // As a tracker's family has it. NULL: it shares no trunk with one.
    int (*shared_channels)(const struct sam_config *c);

    int (*classes)(const struct sam_config *c); // 0: it takes words
    int most; // detections of one frame
    // Of the masks of detections, px. NULL: there are none.
    void (*mask_size)(const struct sam_config *c, int *width, int *height);

    // Enqueue the frame's way to input (1, H, W, 3) F32, and the network: input -> *out; where it
    // takes words, from p->seen on.
    void (*place)(struct sam_queue *q, const struct sam_frame *frame, struct sam_tensor input);
    void (*run)(struct sam_pass *pass, struct sam_tensor input, struct sam_candidates *out);

    // The published choice among the candidates, which lie in host memory now: at most `most`, in
    // order, boxes in px of the frame. room: scratch of room_bytes(); masks are written there.
    size_t (*room_bytes)(const struct sam_config *c);
    int (*choose)(const struct sam_config *c, const struct sam_candidates *from, int width,
                  int height, void *room, struct sam_detection *out);

    const struct sam_detector_words *words; // NULL: the family has fixed classes
};

extern const struct sam_detector_family *const sam_detector_families[];
extern const int sam_num_detector_families;

// The family whose mark the file has; NULL: it is no detector.
const struct sam_detector_family *sam_detector_find(const struct sam_weights *w);

// As sam_model_file_open(), of a detector.
int sam_detector_file_open(struct sam_model_file *f, const char *path, int input_size,
                           struct sam_error *error);

#endif // SAM_DETECTOR_H
