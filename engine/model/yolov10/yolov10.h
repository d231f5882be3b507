// SPDX-License-Identifier: MIT
// YOLOv10, written from its paper's facts: a chain of 23 layers and a head that needs no
// suppression of doubles. Private to its folder. docs/DETECTORS.md has the names of tensors.
#ifndef SAM_YOLOV10_H
#define SAM_YOLOV10_H

#include "model/detector.h"

enum {
    YOLO_LAYERS = 23,
    YOLO_LEVELS = 3,       // maps that the head reads, at stride 8, 16 and 32
    YOLO_MAX_REPEATS = 12, // bottlenecks of a layer; published: 6
    YOLO_BINS = 16,        // of the distribution of one side's distance
    YOLO_MOST = 300,       // detections of a frame
};

enum yolo_kind {
    YOLO_PLAIN,     // two 3 x 3 convolutions
    YOLO_CIB,       // compact inverted block: depthwise 3, twice as wide, depthwise 3, back,
                    // depthwise 3
    YOLO_CIB_LARGE, // the one in the middle is 7 x 7
};

struct yolo_sizes {
    int16_t width[YOLO_LAYERS]; // channels of a layer's output
    int16_t inner[YOLO_LAYERS]; // of the bottlenecks of a C2f layer, of SPPF's pools
    uint8_t repeats[YOLO_LAYERS], kind[YOLO_LAYERS]; // of a C2f layer
    int16_t box_width, class_width, classes;         // of the head
};

static inline const struct yolo_sizes *yolo_sizes(const struct sam_config *c)
{
    return (const struct yolo_sizes *) c->trunk;
}

// Channels that go into a layer.
int yolo_width_in(const struct yolo_sizes *s, int layer);
bool yolo_is_c2f(int layer);
// The layer whose output is a level of the head.
int yolo_level_layer(int level);

static inline int yolo_heads(const struct yolo_sizes *s)
{
    return s->width[10] / 2 / 64;
}

// Candidates of a square input.
static inline int yolo_candidates(int side)
{
    return (side / 8) * (side / 8) + (side / 16) * (side / 16) + (side / 32) * (side / 32);
}

// ---- sizes: sizes.c

int yolo_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);

// ---- weights: load.c

struct yolo_spatial {
    struct sam_tensor weight, bias; // depthwise
    int kernel;
};

struct yolo_bottleneck {
    struct sam_product first, second;    // PLAIN
    struct yolo_spatial before, middle, after; // CIB
    struct sam_product expand, project;        // CIB
};

struct yolo_c2f {
    struct sam_product in, out;
    struct yolo_bottleneck block[YOLO_MAX_REPEATS];
};

struct yolo_down { // a convolution of stride 2: full, or a product and a depthwise one
    struct sam_product product;
    struct yolo_spatial spatial;
};

struct yolo_attention {
    struct sam_product in, q, k, v, project, up, down, out;
    struct yolo_spatial place;
};

struct yolo_head {
    struct sam_product box1, box2, box3;
    struct yolo_spatial class1, class3;
    struct sam_product class2, class4, class5;
};

struct yolo_weights {
    struct yolo_down down[YOLO_LAYERS]; // of layers 0, 1, 3, 5, 7, 17, 20
    struct yolo_c2f c2f[YOLO_LAYERS];   // of layers 2, 4, 6, 8, 13, 16, 19, 22
    struct sam_product pool_in, pool_out;
    struct yolo_attention attention;
    struct yolo_head head[YOLO_LEVELS];
};

void yolo_load(struct sam_loader *l, const struct sam_config *config, void *weights);

// ---- the forward: blocks.c, forward.c

// Layers. Their rooms are free again when they return. dst has the output's shape.
void yolo_down_run(struct sam_pass *p, const struct yolo_down *d, struct sam_tensor src,
                   struct sam_tensor dst);
void yolo_c2f_run(struct sam_pass *p, int layer, struct sam_tensor src, struct sam_tensor dst);
void yolo_pool_run(struct sam_pass *p, struct sam_tensor src, struct sam_tensor dst);
void yolo_attention_run(struct sam_pass *p, struct sam_tensor src, struct sam_tensor dst);
void yolo_head_run(struct sam_pass *p, int level, struct sam_tensor src, struct sam_tensor score,
                   struct sam_tensor box);

void yolo_run(struct sam_pass *pass, struct sam_tensor input, struct sam_candidates *out);

// ---- the frame's place in the input, and the choice: choose.c

void yolo_place(struct sam_queue *q, const struct sam_frame *frame, struct sam_tensor input);
size_t yolo_room_bytes(const struct sam_config *c);
int yolo_choose(const struct sam_config *c, const struct sam_candidates *from, int width,
                int height, void *room, struct sam_detection *out);

#endif // SAM_YOLOV10_H
