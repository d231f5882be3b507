// SPDX-License-Identifier: MIT
// What sam-stages is made of: the run over a golden, and what each family checks of its own parts.
#ifndef STAGES_H
#define STAGES_H

#include <stdio.h>
#include <stdlib.h>

#include "golden.h"
#include "model/family.h"

enum { MAX_HELD = 512 };

struct run {
    struct golden golden;
    struct sam_queue queue;
    struct sam_model *model;
    const struct stages_family *family;
    double tolerance;

    char prefix[64]; // "obj1/frame001/track/" of the stages at hand
    char chain[48];  // set while the encoder runs as a whole: what its stages are printed under
    struct sam_tensor pos_embed; // as it was marked
    void *held[MAX_HELD];
    int num_held;

    int stages, failed;
    double worst;
    char worst_name[128];
};

void die(const char *why);

// ---- memory: everything taken for one group of stages is given back together

void *take(struct run *r, size_t bytes);
void give_back(struct run *r);
struct sam_tensor tensor(struct run *r, enum sam_type type, int n, int h, int w, int c);
struct sam_tensor integer(struct run *r, int32_t v);
struct sam_tensor upload(struct run *r, const float *v, int n, int h, int w, int c);

// Room as LAYOUT hands it out: measured, then had.
#define LAYOUT(r, call)                                    \
    do {                                                   \
        struct sam_arena arena = { 0 }, *a = &arena;       \
        call;                                              \
        const size_t bytes = arena.peak;                   \
        arena = (struct sam_arena) { .base = take(r, bytes) }; \
        call;                                              \
    } while (0)

// ---- stages: by their names within the group at hand

const char *stage_name(const struct run *r, const char *name);
bool has(const struct run *r, const char *name);
// What the golden holds, with these extents; exits where it does not.
struct sam_tensor stored(struct run *r, const char *name, enum golden_layout layout, int n, int h,
                         int w, int c);
// One line, and a count; nothing where the golden does not hold the stage. name: in full.
void compare_as(struct run *r, const char *printed, const char *name, enum golden_layout layout,
                struct sam_tensor t);
void compare(struct run *r, const char *name, enum golden_layout layout, struct sam_tensor t);
// Whether what is marked on the queue is compared, but inputs.
void listen(struct run *r, bool on);

// ---- a family's own parts, each fed with stored inputs; stages_<trunk>.c

struct stages_family {
    const char *trunk; // as the family calls it
    void (*run_trunk)(struct run *r, struct sam_encoder_scratch *s);
    // From the map of the memory encoder to what is stored; NULL: it is the map.
    void (*run_stored)(struct run *r);
    // From the trunk's one map to F and, where they are, to s0 and s1; NULL: there are four, for
    // the neck of all other families.
    void (*run_neck)(struct run *r, struct sam_encoder_scratch *s, const struct sam_features *f);
};
extern const struct stages_family stages_hiera, stages_repvit, stages_efficientnet, stages_vit,
                                  stages_sam3;

#endif // STAGES_H
