// SPDX-License-Identifier: MIT
// contract MODEL
// The rules that the public header states for every call: NULL, sizes, ranges, what a failed call
// leaves, and which calls a failed tracker still answers.
#include <limits.h>
#include <stdbool.h>

#include <samtrack/answers.h>

#include "samtrack/cover.h"
#include "scene.h"

static void expect_refused(int status, const char *words, const struct sam_error *e, int line)
{
    expect(status == SAM_EINVAL, "line %d: status %d (%s)", line, status, e->text);
    expect(strstr(e->text, words) != NULL, "line %d: '%s' does not say '%s'", line, e->text, words);
}

#define refused(words, call)                                                                   \
    do {                                                                                       \
        struct sam_error error = { "" };                                                       \
        const int status_ = (call);                                                            \
        expect_refused(status_, words, &error, __LINE__);                                      \
    } while (0)

static const uint8_t *no_row(void *priv, int y)
{
    (void) priv, (void) y;
    return NULL;
}

static const uint8_t *same_row(void *priv, int y)
{
    static const uint8_t row[2] = { 1, 1 };

    (void) priv, (void) y;
    return row;
}

// Every pointer that must not be NULL.
static void check_null(sam_tracker *t)
{
    uint8_t map[4], bits[8];
    const struct sam_labels labels = { map, 2, 2, 2, 0 };
    const struct sam_prompt prompt = { .size = sizeof(prompt), .has_box = 1,
                                       .box = { 0, 0, 1, 1 } };
    struct sam_params params = scene_params(NULL);
    struct sam_plan plan = SAM_PLAN_INIT;
    struct sam_info info = SAM_INFO_INIT;
    struct sam_answers answers = SAM_ANSWERS_INIT;
    sam_painter *painter;
    struct scene s;
    uint64_t number;
    float x;
    int shape[4];

    refused("plan is NULL", sam_tracker_plan(&params, NULL, &error));
    refused("params is NULL", sam_tracker_plan(NULL, &plan, &error));
    refused("out is NULL", sam_tracker_open(NULL, &params, &error));
    refused("tracker is NULL", sam_tracker_prompt(NULL, &prompt, NULL, &error));
    refused("prompt is NULL", sam_tracker_prompt(t, NULL, NULL, &error));
    refused("tracker is NULL", sam_tracker_undo(NULL, 1, &error));
    refused("tracker is NULL", sam_tracker_remove(NULL, 1, &error));
    refused("tracker is NULL", sam_tracker_answers(NULL, 1, &answers, &error));
    refused("tracker is NULL", sam_tracker_draw_answer(NULL, 1, 1, &labels, &error));
    refused("tracker is NULL", sam_tracker_take_answer(NULL, 1, 1, &error));
    refused("tracker is NULL", sam_tracker_frames(NULL, 0, &number, &number, &error));
    refused("oldest or next is NULL", sam_tracker_frames(t, 0, NULL, &number, &error));
    refused("oldest or next is NULL", sam_tracker_frames(t, 0, &number, NULL, &error));
    refused("tracker is NULL", sam_tracker_reserve(NULL, 1, &error));
    refused("tracker is NULL", sam_tracker_step(NULL, scene_draw(&s, 0), NULL, NULL, &error));
    refused("frame is NULL", sam_tracker_step(t, NULL, NULL, NULL, &error));
    refused("tracker is NULL", sam_tracker_draw(NULL, &labels, &error));
    refused("labels is NULL", sam_tracker_draw(t, NULL, &error));
    refused("tracker is NULL", sam_tracker_read(NULL, 1, "score", &x, 1, shape, &error));
    refused("is NULL", sam_tracker_read(t, 1, NULL, &x, 1, shape, &error));
    refused("is NULL", sam_tracker_read(t, 1, "score", NULL, 1, shape, &error));
    refused("is NULL", sam_tracker_read(t, 1, "score", &x, 1, NULL, &error));
    refused("tracker is NULL", sam_tracker_info(NULL, &info, &error));
    refused("info is NULL", sam_tracker_info(t, NULL, &error));
    refused("bits", sam_mask_stretch(NULL, 8, 2, 2, same_row, NULL, &error));
    refused("row", sam_mask_stretch(bits, 8, 2, 2, NULL, NULL, &error));
    refused("out is NULL", sam_painter_open(NULL, &params, &error));
    refused("params is NULL", sam_painter_open(&painter, NULL, &error));
    refused("painter is NULL", sam_painter_draw(NULL, scene_draw(&s, 0), NULL, &error));
    refused("painter is NULL", sam_painter_cover(NULL, scene_draw(&s, 0), NULL, &error));
    refused("painter is NULL", sam_painter_keep(NULL, 1, scene_draw(&s, 0), &error));
    refused("painter is NULL", sam_painter_show(NULL, 1, scene_draw(&s, 0), NULL, &error));
    refused("painter is NULL", sam_painter_clear(NULL, scene_draw(&s, 0), NULL, &error));
    refused("painter is NULL", sam_painter_look(NULL, scene_draw(&s, 0), 1, 1, NULL, &error));
    expect(!painter, "a failed open leaves a painter");
    sam_tracker_close(NULL);
    sam_tracker_close(&(sam_tracker *) { NULL });
    sam_painter_close(NULL);
    sam_painter_close(&(sam_painter *) { NULL });
    sam_tracker_clear(NULL);
    expect(sam_tracker_undo(t, 1, NULL) == SAM_ENOTFOUND, "error may be NULL");
}

// The size of a struct: 0, one byte less, and one byte more.
static void check_size(sam_tracker *t, size_t *size, int what, void *given)
{
    const size_t right = *size, wrong[] = { 0, right - 1, right + 1, SIZE_MAX };
    static const char *const names[] = { "params", "plan", "prompt", "frame", "result", "info" };
    struct sam_params params = scene_params(NULL);
    struct sam_plan plan = SAM_PLAN_INIT;
    sam_painter *painter;
    sam_tracker *other;
    struct scene s;

    for (int i = 0; i < 4; i++) {
        char words[80];
        snprintf(words, sizeof(words), "%s: size is %zu, expected %zu", names[what], wrong[i],
                 right);
        *size = wrong[i];
        switch (what) {
        case 0:
            refused(words, sam_tracker_open(&other, given, &error));
            refused(words, sam_tracker_plan(given, &plan, &error));
            refused(words, sam_painter_open(&painter, given, &error));
            expect(!other && !painter, "a failed open leaves NULL");
            break;
        case 1: refused(words, sam_tracker_plan(&params, given, &error)); break;
        case 2: refused(words, sam_tracker_prompt(t, given, NULL, &error)); break;
        case 3: refused(words, sam_tracker_step(t, given, NULL, NULL, &error)); break;
        case 4: refused(words, sam_tracker_step(t, scene_draw(&s, 0), NULL, given, &error)); break;
        case 5: refused(words, sam_tracker_info(t, given, &error)); break;
        }
    }
    *size = right;
}

static void check_sizes(sam_tracker *t)
{
    struct sam_params params = scene_params(NULL);
    struct sam_plan plan = SAM_PLAN_INIT;
    struct sam_prompt prompt = SAM_PROMPT_INIT;
    struct scene s;
    struct sam_frame frame = *scene_draw(&s, 0);
    struct sam_result result = { .size = sizeof(result), .num_objects = 9 };
    struct sam_info info = SAM_INFO_INIT;

    check_size(t, &params.size, 0, &params);
    check_size(t, &plan.size, 1, &plan);
    check_size(t, &prompt.size, 2, &prompt);
    check_size(t, &frame.size, 3, &frame);
    check_size(t, &result.size, 4, &result);
    check_size(t, &info.size, 5, &info);
    expect(result.num_objects == 9 && !info.backend, "a struct of a wrong size was written");
}

// A failed step: prompts wait, no frame counts, labels stay, the result is 0.
static void check_not_consumed(sam_tracker *t)
{
    uint8_t map[4] = { 9, 9, 9, 9 };
    const struct sam_labels labels = { map, 2, 2, 2, 0 }, bad_labels = { map, 2, 2, 1, 0 };
    struct scene s;
    struct sam_frame bad = *scene_draw(&s, 0);
    struct sam_result r = { .size = sizeof(r), .frame_index = 5, .num_objects = 9 };
    const uint64_t before = step(t, &s, 0).frame_index;
    const uint64_t id = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);

    bad.stride[0] = 1;
    refused("stride", sam_tracker_step(t, &bad, &labels, &r, &error));
    expect(!r.num_objects && !r.objects && !r.frame_index, "a failed step leaves a result");
    refused("stride", sam_tracker_step(t, scene_draw(&s, 1), &bad_labels, &r, &error));
    expect(map[0] == 9 && map[3] == 9, "a failed step drew a label map");
    r = step(t, &s, 1);
    expect(r.frame_index == before + 1, "frame %d after frame %d", (int) r.frame_index,
           (int) before);
    const struct sam_object *o = object_in(&r, id);
    expect(o && o->state == SAM_OBJECT_NEW, "the prompt did not wait");
    expect(!memcmp(s.frame.plane[0], scene_draw(&s, 1)->plane[0], sizeof(s.rgb)), "planes changed");
    sam_tracker_clear(t);
}

// A frame's planes are read and stay as they are; the caller's structs are read during the call.
static void check_borrowed(sam_tracker *t)
{
    static uint8_t copy[SCENE_W * SCENE_H_PX * 3];
    struct scene s;

    scene_draw(&s, 3);
    memcpy(copy, s.rgb, sizeof(copy));
    expect(!sam_tracker_step(t, &s.frame, NULL, NULL, NULL), "step");
    expect(!memcmp(copy, s.rgb, sizeof(copy)), "the frame's plane was written");
}

// Label maps at any size; before the first frame, and without the objects that were removed, all 0.
static void check_draw(const struct sam_params *p)
{
    uint8_t map[3 * 6], zero[3 * 6] = { 0 };
    const struct sam_labels labels = { map, 5, 3, 6, 0 };
    sam_tracker *t = scene_open(p);
    struct scene s;

    memset(map, 9, sizeof(map));
    for (int y = 0; y < 3; y++)
        zero[6 * y + 5] = 9; // padding stays
    zero[17] = map[17] = 8; // the last row ends at its width
    expect(!sam_tracker_draw(t, &labels, NULL) && !memcmp(map, zero, sizeof(map)),
           "a map before the first frame");
    const uint64_t id = give_mask(t, 0, 1);
    step(t, &s, 0);
    expect(!sam_tracker_draw(t, &labels, NULL) && memchr(map, 1, 17), "an empty map");
    sam_tracker_remove(t, id, NULL);
    expect(!sam_tracker_draw(t, &labels, NULL) && !memcmp(map, zero, sizeof(map)),
           "a removed object is drawn");
    sam_tracker_close(&t);
}

static bool is_tracked(sam_tracker *t, uint64_t id)
{
    struct scene s;
    const struct sam_result r = step(t, &s, 2);

    return object_in(&r, id);
}

// Undo: a waiting prompt, one of the last frame, one of an earlier frame that is held, and all of
// one that is not.
static void check_undo(sam_tracker *t, int history)
{
    struct scene s;
    uint64_t id = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);

    give_point(t, id, 0.3f, 0.3f, 1);
    expect(!sam_tracker_undo(t, id, NULL) && is_tracked(t, id), "undo of the second prompt");
    give_point(t, id, 0.3f, 0.3f, 1);
    step(t, &s, 3);
    expect(!sam_tracker_undo(t, id, NULL) && is_tracked(t, id), "undo on the last frame");
    expect(!sam_tracker_undo(t, id, NULL), "undo of the first frame");
    expect(sam_tracker_undo(t, id, NULL) == SAM_ENOTFOUND && !is_tracked(t, id),
           "an object without prompts is tracked");

    id = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);
    give_point(t, id, 0.3f, 0.3f, 1);
    step(t, &s, 3);
    step(t, &s, 4);
    expect(!sam_tracker_undo(t, id, NULL) && is_tracked(t, id),
           "undo of an earlier frame that is held takes back all of its prompts");
    for (int i = 0; i < history; i++)
        step(t, &s, 4);
    expect(!sam_tracker_undo(t, id, NULL) && !is_tracked(t, id),
           "undo of a frame that is not held leaves one of its prompts");
    id = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);
    expect(!sam_tracker_undo(t, id, NULL) && !is_tracked(t, id), "undo of a waiting object");
}

static void check_masks(void)
{
    uint8_t bits[8];

    expect(sam_mask_bytes(9) == 18 && sam_mask_bytes(1) == 1 &&
           sam_mask_bytes(SAM_MAX_SIDE) == (size_t) SAM_MAX_SIDE * SAM_MAX_SIDE / 8, "bytes");
    expect(!sam_mask_bytes(0) && !sam_mask_bytes(-1) && !sam_mask_bytes(SAM_MAX_SIDE + 1) &&
           !sam_mask_bytes(INT_MIN), "bytes of a side out of range");
    refused("side is 0", sam_mask_stretch(bits, 0, 2, 2, same_row, NULL, &error));
    refused("0 x 2 px", sam_mask_stretch(bits, 8, 0, 2, same_row, NULL, &error));
    refused("2 x 16385 px", sam_mask_stretch(bits, 8, 2, SAM_MAX_SIDE + 1, same_row, NULL, &error));
    expect(sam_mask_stretch(bits, 8, 2, 2, no_row, NULL, NULL) == SAM_EIO, "no row");
    expect(!sam_mask_stretch(bits, 8, 2, 2, same_row, NULL, NULL) && bits[0] == 255, "a mask");
}

// What a failed call leaves in the structs it was to fill.
static void check_outputs(sam_tracker *t, const struct sam_params *p)
{
    struct sam_params bad = *p;
    struct sam_plan plan = { .size = sizeof(plan), .total_bytes = 7, .image_size = 7 };
    struct sam_info info = SAM_INFO_INIT;
    struct sam_error kept = { "kept" };
    const uint64_t id = give_mask(t, 0, 1);
    struct scene s;
    int shape[4] = { 0 };
    float x;

    bad.model_file = "/nonexistent";
    expect(sam_tracker_plan(&bad, &plan, NULL) == SAM_EIO && !plan.total_bytes &&
           !plan.image_size && plan.size == sizeof(plan), "a failed plan leaves numbers");
    expect(!sam_tracker_info(t, &info, &kept) && !strcmp(kept.text, "kept"),
           "a call that succeeds writes an error");
    expect(info.max_objects == p->max_objects && info.bytes_planned > 0,
           "info");
    step(t, &s, 0);
    refused("256 numbers", sam_tracker_read(t, id, "low_res", &x, 1, shape, &error));
    expect(shape[2] == 16 && shape[3] == 16, "a small capacity leaves no shape");
    expect(!sam_tracker_reserve(t, SIZE_MAX, NULL), "the host needs no buffers");
    sam_tracker_clear(t);
    sam_tracker_clear(t);
    expect(give_mask(t, 0, 1) == id + 1, "an id was used twice");
    sam_tracker_clear(t);
}

int main(int argc, char **argv)
{
    struct sam_params p = scene_params(argv[1]);
    sam_tracker *t;

    p.max_objects = 2;
    t = scene_open(&p);
    check_null(t);
    check_sizes(t);
    check_not_consumed(t);
    check_borrowed(t);
    check_undo(t, p.history);
    check_masks();
    check_outputs(t, &p);
    check_draw(&p);
    sam_tracker_close(&t);
    return expect_status();
}
