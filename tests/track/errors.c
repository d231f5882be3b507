// SPDX-License-Identifier: MIT
// Everything a caller can get wrong, and the sentence that tells: the code, and the words that
// name what was wanted and what was got. Nothing may change by a refused call.
#include <math.h>

#include "scene.h"

static void expect_refused(int status, int wanted, const struct sam_error *e, const char *words,
                           int line)
{
    expect(status == wanted, "line %d: status %d, expected %d (%s)", line, status, wanted, e->text);
    expect(strstr(e->text, words) != NULL, "line %d: '%s' does not say '%s'", line, e->text, words);
    expect(!strchr(e->text, '\n') && strlen(e->text) > 10, "line %d: '%s' is no sentence", line,
           e->text);
}

#define refused(wanted, words, call)                                                           \
    do {                                                                                       \
        struct sam_error error = { "" };                                                       \
        const int status_ = (call);                                                            \
        expect_refused(status_, wanted, &error, words, __LINE__);                              \
    } while (0)

static void check_prompt(sam_tracker *t, struct sam_prompt p, int wanted, const char *words,
                         int line)
{
    struct sam_error error = { "" };
    uint64_t id = 77;

    p.size = sizeof(p);
    const int status = sam_tracker_prompt(t, &p, &id, &error);

    expect_refused(status, wanted, &error, words, line);
    expect(id == 77, "line %d: a refused prompt gave the id %d", line, (int) id);
}

#define bad_prompt(wanted, words, ...)                                                         \
    check_prompt(t, (struct sam_prompt) __VA_ARGS__, wanted, words, __LINE__)

static void check_points(sam_tracker *t)
{
    struct sam_point p = { 10, 10, SAM_POINT_POSITIVE };
    const struct { float x, y; const char *words; } bad[] = {
        { -0.1f, 5, "point 1, x: -0.1 is outside of the frame, expected 0 or more and "
                    "less than 80" },
        { 80.5f, 5, "80.5 is outside" },  { 5, -1, "point 1, y: -1" },
        { 5, 60.01f, "less than 60" },      { NAN, 5, "nan is not a finite number" },
        { 80, 5, "80 is outside" },       { 5, 60, "60 is outside" },
        { 5, -NAN, "not a finite number" }, { INFINITY, 5, "inf is not a finite number" },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        p.x = bad[i].x, p.y = bad[i].y;
        bad_prompt(SAM_EINVAL, bad[i].words, { .num_points = 1, .points = &p, .space_width = 80,
                                               .space_height = 60 });
    }
    p.x = p.y = 1.5f;
    bad_prompt(SAM_EINVAL, "1.5 is outside of the frame", { .num_points = 1, .points = &p });
    p.x = 0.5f, p.y = 1;
    bad_prompt(SAM_EINVAL, "point 1, y: 1 is outside", { .num_points = 1, .points = &p });
    p = (struct sam_point) { 0.5f, 0.5f, 2 };
    bad_prompt(SAM_EINVAL, "label 2 is neither 0", { .num_points = 1, .points = &p });
    p.label = -1;
    bad_prompt(SAM_EINVAL, "label -1", { .num_points = 1, .points = &p });
    p.label = 1;
    bad_prompt(SAM_EINVAL, "33 points in one prompt: expected 0 to 32",
               { .num_points = 33, .points = &p });
    bad_prompt(SAM_EINVAL, "-1 points", { .num_points = -1, .points = &p });
    bad_prompt(SAM_EINVAL, "points is NULL", { .num_points = 2 });
    bad_prompt(SAM_EINVAL, "an empty prompt: expected points, a box or a mask",
               { .num_points = 0 });
    bad_prompt(SAM_EINVAL, "space of 80 x 0 px",
               { .num_points = 1, .points = &p, .space_width = 80 });
    bad_prompt(SAM_EINVAL, "space of -80 x 60 px", { .num_points = 1, .points = &p,
                                                     .space_width = -80, .space_height = 60 });
}

static void check_boxes(sam_tracker *t)
{
    const struct { float b[4]; const char *words; } bad[] = {
        { { 10, 10, 10, 20 }, "box (10, 10) to (10, 20) is empty or inverted" },
        { { 10, 20, 30, 20 }, "empty or inverted" },
        { { 30, 10, 20, 40 }, "expected x0 < x1 and y0 < y1" },
        { { 10, 40, 20, 10 }, "empty or inverted" },
        { { -1, 10, 20, 20 }, "box, first corner, x: -1 is outside" },
        { { 10, 10, 81, 20 }, "x: 81 is outside of the frame, expected 0 to 80" },
        { { 10, 10, 20, NAN }, "box, second corner, y: nan" },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const float *b = bad[i].b;
        bad_prompt(SAM_EINVAL, bad[i].words, { .has_box = 1, .box = { b[0], b[1], b[2], b[3] },
                                               .space_width = 80, .space_height = 60 });
    }
}

static void check_masks(sam_tracker *t)
{
    const uint8_t mask[64] = { 1 };
    const struct sam_point p = { 0.5f, 0.5f, 1 };

    bad_prompt(SAM_EINVAL, "mask of 0 x 8 px",
               { .mask = mask, .mask_height = 8, .mask_stride = 8 });
    bad_prompt(SAM_EINVAL, "mask of 8 x -8 px", { .mask = mask, .mask_width = 8, .mask_height = -8,
                                                  .mask_stride = 8 });
    bad_prompt(SAM_EINVAL, "mask of 16385 x 8 px: expected 1 to 16384",
               { .mask = mask, .mask_width = 16385, .mask_height = 8, .mask_stride = 16385 });
    bad_prompt(SAM_EINVAL, "a stride of 7 bytes is less than its width, 8 px",
               { .mask = mask, .mask_width = 8, .mask_height = 8, .mask_stride = 7 });
    bad_prompt(SAM_EINVAL, "a mask excludes points and box",
               { .mask = mask, .mask_width = 8, .mask_height = 8, .mask_stride = 8, .has_box = 1,
                 .box = { 0, 0, 1, 1 } });
    bad_prompt(SAM_EINVAL, "a mask excludes points and box",
               { .mask = mask, .mask_width = 8, .mask_height = 8, .mask_stride = 8, .num_points = 1,
                 .points = &p });
}

static void check_ids(sam_tracker *t, int max_objects)
{
    const struct sam_point p = { 0.5f, 0.5f, 1 };
    struct scene s;
    uint64_t id = 0;

    bad_prompt(SAM_ENOTFOUND, "no object has the id 999",
               { .id = 999, .num_points = 1, .points = &p });
    refused(SAM_ENOTFOUND, "no object has the id 1", sam_tracker_remove(t, 1, &error));
    refused(SAM_ENOTFOUND, "no object has the id 0", sam_tracker_remove(t, 0, &error));
    refused(SAM_ENOTFOUND, "no object has the id 5", sam_tracker_undo(t, 5, &error));
    for (int i = 0; i < max_objects; i++)
        id = give_point(t, 0, 0.5f, 0.5f, 1);
    bad_prompt(SAM_EFULL, "no room for one more object: 2 are tracked already, max_objects is 2",
               { .num_points = 1, .points = &p });
    for (int i = 1; i < 8; i++)
        give_point(t, id, 0.1f * (float) i, 0.5f, i % 2);
    bad_prompt(SAM_EBUSY, "8 prompts wait for the next frame already",
               { .id = id, .num_points = 1, .points = &p });
    sam_tracker_remove(t, id, NULL);
    bad_prompt(SAM_ENOTFOUND, "(any more)", { .id = id, .num_points = 1, .points = &p });
    bad_prompt(SAM_EINVAL, "prompt for frame 1: expected a frame that was processed or the next "
               "one, 0", { .num_points = 1, .points = &p, .has_frame = 1, .frame = 1 });
    bad_prompt(SAM_EINVAL, "prompt for frame 18446744073709551615",
               { .num_points = 1, .points = &p, .has_frame = 1, .frame = UINT64_MAX });
    // Points of several prompts are shown to the network together: they have room for 32.
    id = give_point(t, 0, 0.5f, 0.5f, 1);
    expect(id == 3, "ids count on: %d", (int) id);
    struct sam_point many[SAM_MAX_POINTS];
    for (int i = 0; i < SAM_MAX_POINTS; i++)
        many[i] = p;
    bad_prompt(SAM_EBUSY, "more than 32 points", { .id = id, .num_points = 32, .points = many });
    // Masks: four for each object, two of them for frames of the past.
    sam_tracker_clear(t);
    const uint64_t ids[2] = { give_mask(t, 0, 1), give_mask(t, 0, 1) };
    id = ids[0];
    for (int i = 2; i < 4 * max_objects; i++)
        give_mask(t, ids[i % 2], 1);
    const uint8_t one[1] = { 1 };
    bad_prompt(SAM_EBUSY, "no room for one more mask prompt: 8 wait already",
               { .id = id, .mask = one, .mask_width = 1, .mask_height = 1, .mask_stride = 1 });
    sam_tracker_clear(t);
    const struct sam_result r = step(t, &s, 0);
    expect(r.num_objects == 0 && r.frame_index == 0, "%d objects on frame %d", r.num_objects,
           (int) r.frame_index);
}

static void check_frames(sam_tracker *t)
{
    struct sam_result result = { .size = sizeof(struct sam_result), .num_objects = 9 };
    struct scene s;
    struct sam_frame f = *scene_draw(&s, 0);
    uint8_t labels[4];

    refused(SAM_EINVAL, "frame is NULL", sam_tracker_step(t, NULL, NULL, &result, &error));
    expect(result.num_objects == 0, "a failed step leaves %d objects", result.num_objects);
    refused(SAM_EINVAL, "tracker is NULL", sam_tracker_step(NULL, &f, NULL, NULL, &error));
    f.width = 0;
    refused(SAM_EINVAL, "frame of 0 x 60 px: expected 1 to 16384",
            sam_tracker_step(t, &f, NULL, NULL, &error));
    f.width = 16385;
    refused(SAM_EINVAL, "frame of 16385 x 60", sam_tracker_step(t, &f, NULL, NULL, &error));
    f.width = SCENE_W, f.height = -1;
    refused(SAM_EINVAL, "80 x -1 px", sam_tracker_step(t, &f, NULL, NULL, &error));
    f.height = SCENE_H_PX, f.stride[0] = SCENE_W * 3 - 1;
    refused(SAM_EINVAL, "plane 0 has a stride of 239 bytes, expected at least 240",
            sam_tracker_step(t, &f, NULL, NULL, &error));
    f.stride[0] = SCENE_W * 3, f.plane[0] = NULL;
    refused(SAM_EINVAL, "plane 0 is NULL", sam_tracker_step(t, &f, NULL, NULL, &error));
    f.plane[0] = s.rgb, f.format = SAM_PIXEL_NV12;
    refused(SAM_EINVAL, "plane 1 is NULL", sam_tracker_step(t, &f, NULL, NULL, &error));
    f.plane[1] = s.rgb, f.stride[1] = SCENE_W, f.colour.kr = 0.6f, f.colour.kb = 0.5f;
    refused(SAM_EINVAL,
            "colour has kr = 0.6 and kb = 0.5: expected 0 or more each, and less than 1",
            sam_tracker_step(t, &f, NULL, NULL, &error));
    f.format = (enum sam_pixel_format) 99;
    refused(SAM_EINVAL, "pixel format 99 is not known",
            sam_tracker_step(t, &f, NULL, NULL, &error));
    refused(SAM_EINVAL, "labels: data is NULL",
            sam_tracker_draw(t, &(struct sam_labels) { NULL, 2, 2, 2, 0 }, &error));
    refused(SAM_EINVAL, "labels of 0 x 2 px",
            sam_tracker_draw(t, &(struct sam_labels) { labels, 0, 2, 2, 0 }, &error));
    refused(SAM_EINVAL, "labels of 2 x 16385 px: expected 1 to 16384 px each way",
            sam_tracker_draw(t, &(struct sam_labels) { labels, 2, 16385, 2, 0 }, &error));
    refused(SAM_EINVAL, "a stride of 1 bytes is less than the width, 2 px",
            sam_tracker_draw(t, &(struct sam_labels) { labels, 2, 2, 1, 0 }, &error));
    refused(SAM_EINVAL, "labels: data: on_device is set, but the backend 'cpu'",
            sam_tracker_draw(t, &(struct sam_labels) { labels, 2, 2, 2, 1 }, &error));
    refused(SAM_EINVAL, "labels is NULL", sam_tracker_draw(t, NULL, &error));
    refused(SAM_EINVAL, "prompt is NULL", sam_tracker_prompt(t, NULL, NULL, &error));
    const struct sam_result r = step(t, &s, 0);
    expect(r.frame_index == 1, "refused frames were counted: %d", (int) r.frame_index);
}

static void check_reads(sam_tracker *t)
{
    const uint64_t id = give_point(t, 0, 0.5f, 0.5f, 1);
    float room[16 * 16];
    struct scene s;
    int shape[4];

    refused(SAM_ENOTFOUND, "no such tensor",
            sam_tracker_read(t, id, "low_res", room, 256, shape, &error));
    step(t, &s, 0);
    refused(SAM_EINVAL, "has 256 numbers, room is for 255",
            sam_tracker_read(t, id, "low_res", room, 255, shape, &error));
    expect(!sam_tracker_read(t, id, "low_res", room, 256, shape, NULL), "low_res");
    expect(shape[0] == 1 && shape[1] == 1 && shape[2] == 16 && shape[3] == 16, "%d %d", shape[2],
           shape[3]);
    refused(SAM_ENOTFOUND, "'fpn' of object",
            sam_tracker_read(t, id, "fpn", room, 256, shape, &error));
    refused(SAM_ENOTFOUND, "keep_stages is off",
            sam_tracker_read(t, id, "fpn", room, 256, shape, &error));
    refused(SAM_ENOTFOUND, "no such tensor",
            sam_tracker_read(t, 999, "score", room, 256, shape, &error));
    refused(SAM_EINVAL, "is NULL", sam_tracker_read(t, id, NULL, room, 256, shape, &error));
    sam_tracker_clear(t);
}

static void check_open(const char *model)
{
    struct sam_params p = scene_params(model), q = p;
    sam_tracker *t = (sam_tracker *) &p;
    struct sam_plan plan = SAM_PLAN_INIT;

    refused(SAM_EINVAL, "params is NULL", sam_tracker_open(&t, NULL, &error));
    expect(!t, "a failed open leaves NULL");
    refused(SAM_EINVAL, "NULL", sam_tracker_open(NULL, &p, &error));
    q.max_objects = 256;
    refused(SAM_EINVAL, "max_objects = 256: expected 1 to 255", sam_tracker_open(&t, &q, &error));
    q.max_objects = 0;
    refused(SAM_EINVAL, "max_objects = 0", sam_tracker_plan(&q, &plan, &error));
    q = p, q.max_cond_frames = 1;
    refused(SAM_EINVAL, "max_cond_frames = 1: expected 2 to 64", sam_tracker_open(&t, &q, &error));
    q = p, q.input_size = -1;
    refused(SAM_EINVAL, "input_size = -1", sam_tracker_open(&t, &q, &error));
    q = p, q.input_size = 100;
    refused(SAM_EINVAL, "input-size = 100: SAM 2 can run multiples of 32 from 64 to 2048 px",
            sam_tracker_open(&t, &q, &error));
    q.input_size = 4096;
    refused(SAM_EINVAL, "input-size = 4096", sam_tracker_plan(&q, &plan, &error));
    q.input_size = 96;
    expect(!sam_tracker_plan(&q, &plan, NULL) && plan.image_size == 96, "input_size 96: %d px",
           plan.image_size);
    q = p, q.edges = (enum sam_edges) 2;
    refused(SAM_EINVAL, "edges = 2", sam_tracker_open(&t, &q, &error));
    q = p, q.fill_holes = -1;
    refused(SAM_EINVAL, "fill_holes = -1", sam_tracker_open(&t, &q, &error));
    q = p, q.remove_islands = -1;
    refused(SAM_EINVAL, "remove_islands = -1", sam_tracker_open(&t, &q, &error));
    q = p, q.history = 65;
    refused(SAM_EINVAL, "history = 65: expected 0 to 64", sam_tracker_open(&t, &q, &error));
    q = p, q.history = -1;
    refused(SAM_EINVAL, "history = -1", sam_tracker_plan(&q, &plan, &error));
    q = p, q.lost_after = 0;
    refused(SAM_EINVAL, "lost_after = 0", sam_tracker_open(&t, &q, &error));
    q = p, q.threads = -1;
    refused(SAM_EINVAL, "threads = -1", sam_tracker_open(&t, &q, &error));
    q = p, q.threads = SAM_MAX_THREADS + 1;
    refused(SAM_EINVAL, "threads = 257: expected 0 to 256", sam_tracker_open(&t, &q, &error));
    q = p, q.budget_mib = -5;
    refused(SAM_EINVAL, "budget_mib = -5", sam_tracker_open(&t, &q, &error));
    q = p, q.backend = (enum sam_backend) 9;
    refused(SAM_EINVAL, "backend = 9", sam_tracker_open(&t, &q, &error));
    q = p, q.model_file = "/nonexistent/model.safetensors";
    refused(SAM_EIO, "/nonexistent/model.safetensors", sam_tracker_open(&t, &q, &error));
    refused(SAM_EIO, "/nonexistent/model.safetensors", sam_tracker_plan(&q, &plan, &error));
    q.model_file = "/";
    expect(sam_tracker_open(&t, &q, NULL) < 0 && !t, "a folder is no model");
    q = p, q.max_objects = 255, q.budget_mib = 1;
    refused(SAM_ENOMEM, "a budget of 1 MiB is too small", sam_tracker_open(&t, &q, &error));
    refused(SAM_ENOMEM, "MiB are missing", sam_tracker_open(&t, &q, &error));
    refused(SAM_EINVAL, "plan is NULL", sam_tracker_plan(&p, NULL, &error));
    sam_tracker_close(NULL);
    sam_tracker_close(&t);
    sam_tracker_clear(NULL);
}

int main(int argc, char **argv)
{
    struct sam_params p = scene_params(argv[1]);
    sam_tracker *t;

    p.max_objects = 2;
    check_open(argv[1]);
    t = scene_open(&p);
    check_points(t);
    check_boxes(t);
    check_masks(t);
    check_ids(t, p.max_objects);
    check_frames(t);
    check_reads(t);
    sam_tracker_close(&t);
    expect(!t, "close sets it to NULL");
    return expect_status();
}
