// SPDX-License-Identifier: MIT
// told TELLING PLAIN BACKEND
// Two models that differ in the key told_iou alone. TELLING tells the half of what it predicts of
// answers to a click, half of it and a half of those to a box, and of tracked masks the square,
// linear between tenths. All else is to the bit what PLAIN does: what is told decides nothing.
#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include <samtrack/answers.h>

#include "scene.h"

enum { START = 2, LAST = START + 10, MENDED = START + 3, MASKED = START + 5, UNDONE = START + 7,
       BOXED = START + 8, BOXED_MORE = START + 9 };
static const struct sam_point where = { 0.25f, 0.3f, SAM_POINT_POSITIVE };
static const struct sam_point mending[] = { { 0.25f, 0.3f, SAM_POINT_POSITIVE },
                                            { 0.5f, 0.6f, SAM_POINT_NEGATIVE } };
static const struct sam_point other = { 0.5f, 0.6f, SAM_POINT_NEGATIVE };
static const char *backend;

static sam_tracker *open_tracker(const char *model)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.max_objects = 2;
    p.history = 2;
    return scene_open(&p);
}

// Of a prediction x: x / 2; (x + 1) / 2; the line between the squares of the tenths beside it; x.
enum kind { CLICK, BOX, TRACKED, OTHER };

static double wanted(double x, enum kind kind)
{
    const double low = floor(10 * x) / 10;

    return kind == OTHER   ? x
           : kind == CLICK ? x / 2
           : kind == BOX   ? (x + 1) / 2
                           : low * low + (x - low) * (2 * low + 0.1);
}

static void compare(float told, float predicted, enum kind kind, const char *what)
{
    // The file's numbers and the sums of fp32: a few 1e-8.
    expect(fabs(told - wanted(predicted, kind)) < 1e-6, "%s: %.8g told of %.8g, expected %.8g",
           what, (double) told, (double) predicted, wanted(predicted, kind));
}

static void compare_objects(const struct sam_result *r, const uint64_t *id, enum kind kind,
                            int frame)
{
    const struct sam_object *a = object_in(&r[0], id[0]), *b = object_in(&r[1], id[1]);
    char what[40];

    snprintf(what, sizeof(what), "frame %d", frame);
    expect(a && b, "%s: no object", what);
    if (!a || !b)
        return;
    compare(a->iou, b->iou, kind, what);
    expect(a->score == b->score && a->state == b->state && a->x == b->x && a->y == b->y &&
               a->width == b->width && a->height == b->height && a->area == b->area,
           "%s: score %g and %g, %d and %d px", what, (double) a->score, (double) b->score, a->area,
           b->area);
}

static void compare_answers(sam_tracker **t, const uint64_t *id)
{
    struct sam_answers a[2] = { SAM_ANSWERS_INIT, SAM_ANSWERS_INIT };
    struct sam_preview p[2] = { SAM_PREVIEW_INIT, SAM_PREVIEW_INIT };
    const struct sam_prompt asked = { .size = sizeof(asked), .num_points = 1, .points = &where };
    const struct sam_prompt boxed = { .size = sizeof(boxed), .has_box = 1,
                                      .box = { 0.1f, 0.05f, 0.4f, 0.5f } };
    const struct sam_prompt both = { .size = sizeof(both), .has_box = 1,
                                     .box = { 0.1f, 0.05f, 0.4f, 0.5f }, .num_points = 1,
                                     .points = &where };
    struct sam_error error = { "" };

    for (int i = 0; i < 2; i++) {
        expect(!sam_tracker_answers(t[i], id[i], &a[i], &error), "%s", error.text);
        expect(!sam_tracker_preview(t[i], &asked, NULL, &p[i], &error), "%s", error.text);
    }
    expect(a[0].num_answers == SAM_ANSWERS && a[0].taken == a[1].taken, "%d answers, %d and %d",
           a[0].num_answers, a[0].taken, a[1].taken);
    for (int i = 0; i < SAM_ANSWERS; i++)
        compare(a[0].answer[i].iou, a[1].answer[i].iou, CLICK, "an answer");
    compare(p[0].iou, p[1].iou, CLICK, "a preview");
    for (int i = 0; i < 2; i++)
        expect(!sam_tracker_preview(t[i], &boxed, NULL, &p[i], &error), "%s", error.text);
    compare(p[0].iou, p[1].iou, BOX, "a preview of a box");
    for (int i = 0; i < 2; i++)
        expect(!sam_tracker_preview(t[i], &both, NULL, &p[i], &error), "%s", error.text);
    compare(p[0].iou, p[1].iou, OTHER, "a preview of a box and a click");
}

// What frame t begins with; the same for both.
static void act(sam_tracker *t, uint64_t *id, int frame)
{
    static const uint8_t mask[4] = { 255, 0, 0, 255 };
    struct sam_error error = { "" };

    if (frame == START)
        *id = give(t, (struct sam_prompt) { .num_points = 1, .points = &where });
    if (frame == MENDED)
        give(t, (struct sam_prompt) { .id = *id, .num_points = 2, .points = mending });
    if (frame == MASKED)
        give(t, (struct sam_prompt) { .id = *id, .mask = mask, .mask_width = 2, .mask_height = 2,
                                    .mask_stride = 2 });
    if (frame == BOXED || frame == BOXED_MORE)
        give(t, (struct sam_prompt) { .id = *id, .has_box = 1, .box = { 0.1f, 0.05f, 0.4f, 0.5f },
                                    .num_points = frame == BOXED_MORE, .points = &where });
    if (frame == UNDONE) {
        give(t, (struct sam_prompt) { .id = *id, .num_points = 1, .points = &other });
        expect(!sam_tracker_undo(t, *id, &error), "%s", error.text);
    }
}

static enum kind kind_of(int frame)
{
    return frame == START   ? CLICK
           : frame == BOXED ? BOX
           : frame == MENDED || frame == MASKED || frame == BOXED_MORE ? OTHER : TRACKED;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    backend = argv[3];
    sam_tracker *t[2] = { open_tracker(argv[1]), open_tracker(argv[2]) };
    uint64_t id[2] = { 0 };
    struct scene s;

    for (int frame = START; frame <= LAST; frame++) {
        struct sam_result r[2] = { SAM_RESULT_INIT, SAM_RESULT_INIT };
        for (int i = 0; i < 2; i++) {
            act(t[i], &id[i], frame);
            expect(!sam_tracker_step(t[i], scene_draw(&s, frame), NULL, &r[i], NULL), "step");
        }
        compare_objects(r, id, kind_of(frame), frame);
        if (frame == START)
            compare_answers(t, id);
    }
    sam_tracker_close(&t[0]);
    sam_tracker_close(&t[1]);
    return expect_status();
}
