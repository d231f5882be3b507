// SPDX-License-Identifier: MIT
// EMU_PLAN=FILE frame_plan MODEL OBJECTS [FRAMES]
// Opens a tracker on the emulated device and takes it through frames, of which nothing is computed.
// Among the launches that the emulator writes to FILE stand what they are for: lines
//   stage NAME
//   op NAME EXACT FLOP READ WRITTEN ROWS K
// ahead of an operation's launches: whether it multiplies in F32; multiplications and additions;
// bytes of its arguments, each once; rows of the result (queries of one group), and how many
// numbers each of them is a sum over (keys of one group).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <samtrack/samtrack.h>

#include "backend.h"
#include "costs.h"
#include "emu.h"
#include "model/parts.h"

enum { SIDE = 1024 };

// ---- the backend's table, whose entries tell first

const struct sam_ops *__real_sam_cuda_ops(void);

static void tell(const char *name)
{
    char line[200];
    snprintf(line, sizeof(line), "op %s %d %.0f %.0f %.0f %ld %ld", name, now.exact, now.flop,
             now.read, now.written, now.rows, now.k);
    emu_plan(line);
}

#define TELLING_cuda(name) \
    static void telling_##name(struct sam_queue *q, const struct sam_##name *p) \
    { \
        find_cost_##name(q, p); \
        tell(#name); \
        __real_sam_cuda_ops()->name(q, p); \
    }
#define TELLING_none(name)
#define TELLING(name, cpu, cuda) TELLING_##cuda(name)
SAM_OPS(TELLING)

const struct sam_ops *__wrap_sam_cuda_ops(void);
const struct sam_ops *__wrap_sam_cuda_ops(void)
{
    static struct sam_ops table;
    table = *__real_sam_cuda_ops();
#define ENTRY_cuda(name) table.name = telling_##name;
#define ENTRY_none(name)
#define ENTRY(name, cpu, cuda) ENTRY_##cuda(name)
    SAM_OPS(ENTRY)
    return &table;
}

// ---- stages: parts of a frame begin with these

#define STAGE(stage, function, parameters, arguments) \
    void __real_##function parameters; \
    void __wrap_##function parameters; \
    void __wrap_##function parameters \
    { \
        emu_plan("stage " stage); \
        __real_##function arguments; \
    }
STAGE("encode", sam_encoder_run,
      (struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
       const struct sam_features *dst), (q, m, s, dst))
STAGE("attend", sam_pointer_time_run,
      (struct sam_queue *q, const struct sam_model *m, struct sam_tensor sine,
       struct sam_tensor dst), (q, m, sine, dst))
STAGE("decode", sam_decoder_run,
      (struct sam_queue *q, const struct sam_model *m, struct sam_decoder_scratch *s,
       struct sam_tensor image, struct sam_tensor sparse, const struct sam_features *f,
       struct sam_tensor multimask, const struct sam_decoded *dst),
      (q, m, s, image, sparse, f, multimask, dst))
STAGE("remember", sam_memory_encoder_run,
      (struct sam_queue *q, const struct sam_model *m, struct sam_memory_encoder_scratch *s,
       struct sam_tensor image, struct sam_tensor low_res, struct sam_tensor binary,
       struct sam_tensor dst), (q, m, s, image, low_res, binary, dst))

// ---- frames

static int fail(const char *what, const struct sam_error *error)
{
    fprintf(stderr, "frame_plan: %s: %s\n", what, error->text);
    return 1;
}

static int prompt(sam_tracker *t, int i, struct sam_error *error)
{
    const float left = (float) (i * 50 + 5);
    const struct sam_prompt p = { .size = sizeof(p), .space_width = SIDE, .space_height = SIDE,
                                  .has_box = 1, .box = { left, 100, left + 40, 200 } };
    return sam_tracker_prompt(t, &p, NULL, error);
}

int main(int argc, char **argv)
{
    struct sam_params params = SAM_PARAMS_INIT;
    struct sam_error error = { "" };
    struct sam_result result = SAM_RESULT_INIT;
    sam_tracker *t = NULL;
    const int objects = argc > 2 ? atoi(argv[2]) : 0, frames = argc > 3 ? atoi(argv[3]) : 3;

    if (objects < 1 || objects > 16 || frames < 1 || !getenv("EMU_PLAN")) {
        fprintf(stderr, "usage: EMU_PLAN=FILE frame_plan MODEL OBJECTS (1 to 16) [FRAMES]\n");
        return 2;
    }
    uint8_t *pixels = calloc(3, (size_t) SIDE * SIDE);
    const struct sam_frame frame = { .size = sizeof(frame), .format = SAM_PIXEL_RGB, .width = SIDE,
                                     .height = SIDE, .plane = { pixels }, .stride = { 3 * SIDE } };
    params.model_file = argv[1];
    params.backend = SAM_BACKEND_CUDA;
    params.precision = SAM_PRECISION_BF16;
    params.max_objects = objects;
    if (!pixels)
        return fail("pixels", &error);
    if (sam_tracker_open(&t, &params, &error))
        return fail(argv[1], &error);
    for (int i = 0; i < objects; i++)
        if (prompt(t, i, &error))
            return fail("a prompt", &error);
    for (int i = 0; i < frames; i++) {
        emu_plan("frame");
        emu_plan("stage frame");
        if (sam_tracker_step(t, &frame, NULL, &result, &error))
            return fail("a frame", &error);
    }
    emu_plan("frame");
    sam_tracker_close(&t);
    free(pixels);
    return 0;
}
