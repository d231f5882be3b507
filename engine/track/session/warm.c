// SPDX-License-Identifier: MIT
// Warm-up: runs dummy frames at open.
#include "session.h"

enum {
    WIDTH = 64,
    HEIGHT = 48,
    // On the host nothing is made for a shape: what a first frame pays is faults of code and
    // cold caches, a millisecond. A frame of more tokens than this (256 px) costs far more.
    HOST_TOKENS = 256,
};

static int prompt_point(struct sam_tracker *t, uint64_t *id, struct sam_error *error)
{
    const struct sam_point point = { 0.5f, 0.5f, SAM_POINT_POSITIVE };
    const struct sam_prompt prompt = { .size = sizeof(prompt), .id = *id,
                                       .num_points = 1, .points = &point };

    return sam_tracker_prompt(t, &prompt, id, error);
}

static int prompt_box(struct sam_tracker *t, uint64_t *id, struct sam_error *error)
{
    const struct sam_prompt prompt = { .size = sizeof(prompt), .id = *id, .has_box = 1,
                                       .box = { 0.2f, 0.2f, 0.8f, 0.8f } };

    return sam_tracker_prompt(t, &prompt, id, error);
}

static int prompt_mask(struct sam_tracker *t, uint64_t *id, struct sam_error *error)
{
    const uint8_t mask[4] = { 0, 255, 255, 0 };
    const struct sam_prompt prompt = { .size = sizeof(prompt), .id = *id, .mask = mask,
                                       .mask_width = 2, .mask_height = 2, .mask_stride = 2 };

    return sam_tracker_prompt(t, &prompt, id, error);
}

// An object begun by a box and a point after it (the mask between them fed back), then refined
// by a point with memory; a second one begun by a mask. On a device then a frame with no prompt.
static int run_frames(struct sam_tracker *t, const struct sam_frame *frame, struct sam_error *error)
{
    const int frames = sam_queue_has_own_memory(&t->queue) ? 3 : 2;
    uint8_t map[WIDTH * HEIGHT];
    const struct sam_labels labels = { map, WIDTH, HEIGHT, WIDTH, 0 };
    struct sam_result result = SAM_RESULT_INIT;
    uint64_t first = 0, second = 0;
    int status;

    if ((status = prompt_box(t, &first, error)) || (status = prompt_point(t, &first, error)) ||
        (t->params.max_objects > 1 && (status = prompt_mask(t, &second, error))))
        return status;
    for (int i = 0; i < frames; i++)
        if ((i == 1 && (status = prompt_point(t, &first, error))) ||
            (status = sam_tracker_step(t, frame, &labels, &result, error)))
            return status;
    return SAM_OK;
}

int sam_warm_up(struct sam_tracker *t, struct sam_error *error)
{
    static const uint8_t grey[WIDTH * HEIGHT];
    const struct sam_frame frame = { .size = sizeof(frame), .format = SAM_PIXEL_GRAY8,
                                     .width = WIDTH, .height = HEIGHT, .plane = { grey },
                                     .stride = { WIDTH } };
    const int grid = sam_grid(&t->model->config);
    int status;

    if (!sam_queue_has_own_memory(&t->queue) && grid * grid > HOST_TOKENS)
        return SAM_OK;
    sam_op_preprocess(&t->queue, &(struct sam_preprocess) {
        .dst = t->mem.scratch.encoder.input, .frame = frame,
        .scale = t->model->config.input_scale });
    status = sam_graphs_record(t, error);
    return status ? status : run_frames(t, &frame, error);
}
