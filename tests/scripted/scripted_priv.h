// SPDX-License-Identifier: MIT
// Inside of the scripted tracker. tracker.c: the calls; box.c: what an object is on a frame;
// file.c: its state as a file.
#ifndef SCRIPTED_PRIV_H
#define SCRIPTED_PRIV_H

#include <stdbool.h>

#include "base/log.h"
#include "device/given.h"
#include "ops/backends.h"
#include "samtrack/answers.h"
#include "scripted.h"
#include "track/prompts/prompts.h"

enum { SCRIPTED_SIDE = 64, SCRIPTED_PROMPTED = 64 }; // px; frames with prompts that are kept

struct scripted_box {
    float x0, y0, x1, y1; // of the frame, 0 to 1; empty unless x0 < x1 and y0 < y1
};

// What a prompt does to a box: first replaces it, or not, then adds and takes away.
struct scripted_prompt {
    bool replaces;
    struct scripted_box box;
    int num_points;
    float xy[SAM_MAX_POINTS][2];
    bool adds[SAM_MAX_POINTS];
};

struct scripted_given { // on one frame
    int64_t frame;
    int count;
    struct scripted_prompt prompt[SAM_MAX_INTERACTIONS];
};

struct scripted_object {
    uint64_t id; // 0: the slot is free
    // It shows the frame `done`, -1: none, and runs on `next` next.
    int64_t done, next, born;
    int turns; // frames that it may still run on within this step
    int num_given;
    struct scripted_given *given[SCRIPTED_PROMPTED]; // by frame
};

struct sam_tracker {
    struct sam_params params;
    struct sam_queue queue; // for its checks of frames, and its name
    char file[4096];
    struct sam_mask_pool masks; // one
    uint64_t next_id;
    int64_t frame, first_held;
    bool watched[SAM_MAX_HISTORY]; // and not encoded
    int width, height;             // of the last frame
    int num_replayed;
    int64_t open_ns;
    struct scripted_object object[SAM_MAX_OBJECTS + 1]; // the last one is a preview's
    struct sam_object shown[SAM_MAX_OBJECTS];
    int broken;
    struct sam_error broken_error;
};

// ---- box.c

bool scripted_is_empty(const struct scripted_box *b);
struct scripted_box scripted_box_at(const struct scripted_object *o, int64_t frame);
// State, score, box and area on a frame of this size.
struct sam_object scripted_describe(const struct sam_tracker *t, const struct scripted_object *o);
void scripted_draw(const struct sam_tracker *t, const struct sam_labels *labels);
// 0: as the engine refuses it.
int scripted_read(struct scripted_prompt *out, struct sam_tracker *t, const struct sam_prompt *p,
                  struct sam_error *error);

// ---- tracker.c

struct scripted_given *scripted_given_at(const struct scripted_object *o, int64_t frame);
// Room for one more frame; NULL: no memory.
struct scripted_given *scripted_give(struct scripted_object *o, int64_t frame);
void scripted_end(struct scripted_object *o);
void scripted_catch_up(struct sam_tracker *t);

// ---- file.c

int scripted_save(struct sam_tracker *t, const char *path, const void *note, size_t bytes,
                  struct sam_error *error);
int scripted_load(struct sam_tracker *t, const char *path, sam_note_reader *reader, void *priv,
                  struct sam_error *error);

#endif // SCRIPTED_PRIV_H
