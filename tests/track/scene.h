// SPDX-License-Identifier: MIT
// Shared by the tracker's tests: a small moving scene, trackers of a small model, results.
#ifndef SCENE_H
#define SCENE_H

#include <stdbool.h>
#include <stdlib.h>

#include <samtrack/samtrack.h>

#include "../expect.h"

enum { SCENE_W = 80, SCENE_H_PX = 60 };

struct scene {
    uint8_t rgb[SCENE_W * SCENE_H_PX * 3];
    struct sam_frame frame;
};

enum { DARK = -1, WHITE = -2 };

// Frame t: bright squares over noise, each moving its own way; or nothing but one colour.
static inline const struct sam_frame *scene_draw(struct scene *s, int t)
{
    uint64_t rng = 7; // the same noise on every frame

    for (int i = 0; i < SCENE_W * SCENE_H_PX * 3; i++)
        s->rgb[i] = t == DARK ? 0 : t == WHITE ? 255 : (uint8_t) draw_int(&rng, 30, 70);
    for (int k = 0; k < 3 && t >= 0; k++)
        for (int y = 0; y < 16; y++)
            for (int x = 0; x < 16; x++) {
                const int px = (5 + 25 * k + t) % (SCENE_W - 16) + x, py = 5 + 17 * k + y;
                uint8_t *p = s->rgb + (py * SCENE_W + px) * 3;
                p[k] = 230, p[(k + 1) % 3] = 90;
            }
    s->frame = (struct sam_frame) { .size = sizeof(struct sam_frame),
                                    .format = SAM_PIXEL_RGB, .width = SCENE_W,
                                    .height = SCENE_H_PX, .plane = { s->rgb },
                                    .stride = { SCENE_W * 3 } };
    return &s->frame;
}

// Memory that the process has written, bytes. Its private dirty pages would not do: pages of this
// program are among them as long as the linker's writes have not reached the disk, and only while
// no other process runs it.
static inline size_t written_bytes(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    size_t kib = 0, swapped = 0;

    expect(f != NULL, "/proc/self/smaps_rollup cannot be read");
    while (f && fgets(line, sizeof(line), f))
        if (sscanf(line, "Anonymous: %zu kB", &kib) != 1)
            sscanf(line, "Swap: %zu kB", &swapped);
    if (f)
        fclose(f);
    return (kib + swapped) * 1024;
}

static inline struct sam_params scene_params(const char *model)
{
    struct sam_params p = SAM_PARAMS_INIT;

    p.model_file = model;
    p.backend = SAM_BACKEND_CPU;
    p.precision = SAM_PRECISION_FP32;
    p.threads = 1;
    return p;
}

static inline enum sam_backend scene_backend(const char *name)
{
    return !strcmp(name, "ref") ? SAM_BACKEND_REF
           : !strcmp(name, "cpu") ? SAM_BACKEND_CPU
                                  : SAM_BACKEND_CUDA;
}

// What tests of devices run at: a GPU's own, BF16, where they are not about rounding.
static inline enum sam_precision scene_precision(const char *name)
{
    return scene_backend(name) == SAM_BACKEND_CUDA ? SAM_PRECISION_BF16 : SAM_PRECISION_FP32;
}

// Whether a backend is that of tests/guarded/: strict memory. A tracker's scratch is poisoned, too.
static inline bool scene_is_guarded(const char *name)
{
    return !strcmp(name, "guarded");
}

static inline struct sam_params scene_cuda_params(const char *model, int max_objects)
{
    struct sam_params p = scene_params(model);

    p.backend = SAM_BACKEND_CUDA;
    p.precision = SAM_PRECISION_BF16;
    p.max_objects = max_objects;
    p.max_cond_frames = 2;
    return p;
}

static inline sam_tracker *scene_open(const struct sam_params *p)
{
    struct sam_error error;
    sam_tracker *t;

    if (sam_tracker_open(&t, p, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    return t;
}

// A tracker of a model on a backend by name, which is lost after two frames; stages: they are kept.
static inline sam_tracker *scene_open_kept(const char *model, const char *backend, int stages)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.poison = scene_is_guarded(backend);
    p.keep_stages = stages;
    p.lost_after = 2;
    return scene_open(&p);
}

// Of the decoder's four masks the logits that a tracked frame's answer is: the best of 1 to 3.
static inline const float *scene_chosen(const float *masks, const float *ious, int places)
{
    int best = 1;

    for (int i = 2; i < 4; i++)
        best = ious[i] > ious[best] ? i : best;
    return masks + best * places;
}

// The status of a test that meson counts as skipped.
enum { SCENE_SKIPPED = 77 };

// Whether this processor has the instructions for it; prints what it lacks.
static inline bool scene_can_run(const struct sam_params *p)
{
    struct sam_error error;
    sam_tracker *t;
    const int status = sam_tracker_open(&t, p, &error);

    sam_tracker_close(&t);
    if (status == SAM_EUNSUPPORTED)
        printf("%s\n", error.text);
    return status != SAM_EUNSUPPORTED;
}

// The prompts below return the id, or 0.
static inline uint64_t give(sam_tracker *t, struct sam_prompt prompt)
{
    struct sam_error error = { "" };
    uint64_t id = 0;

    prompt.size = sizeof(prompt);
    const int status = sam_tracker_prompt(t, &prompt, &id, &error);

    expect(!status, "prompt: %s", error.text);
    return id;
}

static inline uint64_t give_point(sam_tracker *t, uint64_t id, float x, float y, int label)
{
    const struct sam_point point = { x, y, label };

    return give(t, (struct sam_prompt) { .id = id, .num_points = 1, .points = &point });
}

static inline uint64_t give_box(sam_tracker *t, uint64_t id, float x0, float y0, float x1, float y1)
{
    return give(t, (struct sam_prompt) { .id = id, .has_box = 1, .box = { x0, y0, x1, y1 } });
}

// A mask: a square in the middle, or nothing.
static inline uint64_t give_mask(sam_tracker *t, uint64_t id, int full)
{
    uint8_t mask[16 * 16] = { 0 };

    for (int i = 0; i < 8 * 8 && full; i++)
        mask[(4 + i / 8) * 16 + 4 + i % 8] = 1;
    return give(t, (struct sam_prompt) { .id = id, .mask = mask, .mask_width = 16,
                                         .mask_height = 16, .mask_stride = 16 });
}

static inline struct sam_result step(sam_tracker *t, struct scene *s, int frame)
{
    struct sam_error error = { "" };
    struct sam_result result = SAM_RESULT_INIT;
    const int status = sam_tracker_step(t, scene_draw(s, frame), NULL, &result, &error);

    expect(!status, "frame %d: %s", frame, error.text);
    return result;
}

static inline const struct sam_object *object_in(const struct sam_result *r, uint64_t id)
{
    for (int i = 0; i < r->num_objects; i++)
        if (r->objects[i].id == id)
            return &r->objects[i];
    return NULL;
}

// A tensor of the last step into dst[capacity]; returns how many numbers, 0 for none.
static inline size_t fetch(sam_tracker *t, uint64_t id, const char *name, float *dst,
                           size_t capacity)
{
    int s[4];

    if (sam_tracker_read(t, id, name, dst, capacity, s, NULL))
        return 0;
    return (size_t) s[0] * s[1] * s[2] * s[3];
}

// What a tracker holds of an object after a step; zeros behind the end of each tensor.
struct scene_held {
    float low_res[64 * 64], pointer[512], memory[1 << 14], score;
};

#define SCENE_ROOM(x) (sizeof(x) / sizeof((x)[0]))

static inline void scene_look(sam_tracker *t, uint64_t id, struct scene_held *s)
{
    memset(s, 0, sizeof(*s));
    expect(fetch(t, id, "low_res", s->low_res, SCENE_ROOM(s->low_res)) &&
           fetch(t, id, "pointer", s->pointer, SCENE_ROOM(s->pointer)) &&
           fetch(t, id, "memory", s->memory, SCENE_ROOM(s->memory)) &&
           fetch(t, id, "score", &s->score, 1) == 1,
           "object %d is not there", (int) id);
}

#endif // SCENE_H
