// SPDX-License-Identifier: MIT
// answers MODEL BACKEND
// The three masks that a model gives for a single click: told in order, drawn, taken at the prompt
// or later; a tracker that took one later goes on to the bit as one that took it at once. Whether
// each is the published predictor's is for the goldens to say.
#include <stdbool.h>
#include <unistd.h>

#include <samtrack/answers.h>

#include "scene.h"

enum { START = 2, CLICK = START + 1, LAST = CLICK + 6, PIXELS = SCENE_W * SCENE_H_PX };
static const struct sam_point where = { 0.25f, 0.3f, SAM_POINT_POSITIVE };
static const char *model, *backend;

static sam_tracker *open_tracker(int history)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.max_objects = 2;
    p.history = history;
    p.poison = scene_is_guarded(backend);
    return scene_open(&p);
}

static uint64_t click(sam_tracker *t, uint64_t id, int answer)
{
    return give(t, (struct sam_prompt) { .id = id, .num_points = 1, .points = &where,
                                         .answer = answer });
}

static struct sam_answers tell(sam_tracker *t, uint64_t id)
{
    struct sam_answers a = SAM_ANSWERS_INIT;
    struct sam_error error = { "" };

    expect(!sam_tracker_answers(t, id, &a, &error), "%s", error.text);
    return a;
}

static void take(sam_tracker *t, uint64_t id, int answer)
{
    struct sam_error error = { "" };

    expect(!sam_tracker_take_answer(t, id, answer, &error), "%s", error.text);
}

// A click on frame START, which it takes, and the frame.
static uint64_t begin(sam_tracker *t, int answer)
{
    const uint64_t id = click(t, 0, answer);
    struct scene s;

    step(t, &s, START);
    return id;
}

// Pixels of the model's own mask.
static int area_of(sam_tracker *t, uint64_t id, int answer)
{
    static uint8_t map[SAM_MAX_SIDE];
    struct sam_info info = SAM_INFO_INIT;
    int area = 0;

    expect(!sam_tracker_info(t, &info, NULL), "info");
    const int side = info.logits_side;
    const struct sam_labels l = { map, side, side, side, 0 };
    expect(!sam_tracker_draw_answer(t, id, answer, &l, NULL), "draw");
    for (int i = 0; i < side * side; i++)
        area += map[i] != 0;
    return area;
}

static void check_told(void)
{
    sam_tracker *t = open_tracker(8);
    static uint8_t labels[PIXELS], drawn[PIXELS];
    const struct sam_labels l = { labels, SCENE_W, SCENE_H_PX, SCENE_W, 0 };
    const struct sam_labels d = { drawn, SCENE_W, SCENE_H_PX, SCENE_W, 0 };
    struct sam_result r = SAM_RESULT_INIT;
    struct scene s;

    const uint64_t id = click(t, 0, 0);
    expect(!tell(t, id).num_answers, "answers before the frame");
    expect(!sam_tracker_step(t, scene_draw(&s, START), &l, &r, NULL), "step");
    const struct sam_answers a = tell(t, id);
    const struct sam_object *o = object_in(&r, id);
    int last = -1; // a mask that walks may vanish
    expect(a.num_answers == SAM_ANSWERS && a.frame_index == 0 && o && o->score > 0,
           "%d answers of frame %d, score %g", a.num_answers, (int) a.frame_index,
           o ? (double) o->score : 0);
    for (int i = 0; i < SAM_ANSWERS; i++) {
        int count = 0;
        expect(a.answer[i].iou <= o->iou, "answer %d: %g, taken is %g", i + 1,
               (double) a.answer[i].iou, (double) o->iou);
        const int area = area_of(t, id, i + 1);
        expect(area > last, "answer %d: %d px of the model's mask after %d", i + 1, area, last);
        last = area;
        expect(!sam_tracker_draw_answer(t, id, i + 1, &d, NULL), "draw");
        for (int k = 0; k < PIXELS; k++) {
            const int x = k % SCENE_W - a.answer[i].x, y = k / SCENE_W - a.answer[i].y;
            count += drawn[k] == o->slot;
            expect(!drawn[k] || (x >= 0 && y >= 0 && x < a.answer[i].width &&
                                 y < a.answer[i].height), "(%d, %d) is outside of its box", x, y);
        }
        expect(count == a.answer[i].area, "answer %d: %d px drawn, %d told", i + 1, count,
               a.answer[i].area);
        expect(i + 1 != a.taken || !memcmp(labels, drawn, PIXELS), "another mask is shown");
    }
    const struct sam_answer *taken = &a.answer[a.taken - 1];
    expect(taken->iou == o->iou && taken->area == o->area && taken->x == o->x &&
               taken->y == o->y && taken->width == o->width && taken->height == o->height,
           "answer %d is not the object", a.taken);
    step(t, &s, CLICK);
    expect(tell(t, id).taken == a.taken, "the next frame forgets them");
    sam_tracker_close(&t);
}

// Frames from `frame` on of two trackers; they must hold the same from `from` on.
static void go_on(sam_tracker *const t[2], const uint64_t id[2], int frame, int from,
                  const char *what)
{
    struct scene_held held[2];
    struct scene s;

    for (; frame <= LAST; frame++) {
        for (int i = 0; i < 2; i++) {
            step(t[i], &s, frame);
            scene_look(t[i], id[i], &held[i]);
        }
        expect(frame < from || !memcmp(&held[0], &held[1], sizeof(held[0])),
               "%s: frame %d differs", what, frame);
    }
}

// Answer n, taken with the prompt; and taken `after` frames later, 0: after its own, -1: before it.
static void check_taken(int n, int after)
{
    sam_tracker *t[2] = { open_tracker(8), open_tracker(8) };
    struct scene_held held[2];
    struct scene s;
    uint64_t id[2] = { begin(t[0], n), 0 };
    char what[64];

    snprintf(what, sizeof(what), "answer %d, %d frames later", n, after);
    if (after < 0) {
        id[1] = click(t[1], 0, 0);
        take(t[1], id[1], n);
        step(t[1], &s, START);
    } else {
        id[1] = begin(t[1], 1 + n % SAM_ANSWERS); // any other one
    }
    for (int i = 1; i <= after; i++)
        for (int k = 0; k < 2; k++)
            step(t[k], &s, START + i);
    if (after >= 0)
        take(t[1], id[1], n);
    if (after <= 0) {
        for (int i = 0; i < 2; i++)
            scene_look(t[i], id[i], &held[i]);
        expect(!memcmp(&held[0], &held[1], sizeof(held[0])), "%s: the frame differs", what);
    }
    go_on(t, id, START + after + 1 + (after < 0), START + 2 * after + 1, what);
    const struct sam_answers a = tell(t[0], id[0]), b = tell(t[1], id[1]);
    expect(!memcmp(&a, &b, sizeof(a)) && a.taken == n, "%s: told %d and %d", what, a.taken,
           b.taken);
    sam_tracker_close(&t[0]);
    sam_tracker_close(&t[1]);
}

// A correction of a tracked object by one click; taken back, it leaves no answers.
static void check_correction(void)
{
    sam_tracker *t[2] = { open_tracker(8), open_tracker(8) };
    struct scene s;
    uint64_t id[2];

    for (int i = 0; i < 2; i++) {
        id[i] = give_box(t[i], 0, 0.1f, 0.1f, 0.6f, 0.6f);
        step(t[i], &s, START);
        expect(!tell(t[i], id[i]).num_answers, "a box has several answers");
        click(t[i], id[i], i ? 0 : 3);
        step(t[i], &s, CLICK);
    }
    take(t[1], id[1], 3);
    go_on(t, id, CLICK + 1, CLICK + 1, "a correction");
    expect(!sam_tracker_undo(t[0], id[0], NULL) && !tell(t[0], id[0]).num_answers, "after undo");
    sam_tracker_close(&t[0]);
    sam_tracker_close(&t[1]);
}

// A click that waits is saved with its answer.
static void check_saved(void)
{
    sam_tracker *t[2] = { open_tracker(8), open_tracker(8) };
    const uint64_t id[2] = { click(t[0], 0, 1), 1 };
    char path[] = "/tmp/answers-XXXXXX";
    struct sam_error error = { "" };
    const int fd = mkstemp(path);

    expect(fd >= 0 && !sam_tracker_save(t[0], path, NULL, 0, &error), "%s", error.text);
    expect(!sam_tracker_load(t[1], path, NULL, NULL, &error), "%s", error.text);
    go_on(t, id, START, START, "saved");
    expect(tell(t[1], id[1]).taken == 1, "the answer was not saved");
    expect(!sam_tracker_save(t[0], path, NULL, 0, &error) &&
               !sam_tracker_load(t[1], path, NULL, NULL, &error), "%s", error.text);
    expect(!tell(t[1], id[1]).num_answers, "answers out of a file");
    unlink(path);
    close(fd);
    sam_tracker_close(&t[0]);
    sam_tracker_close(&t[1]);
}

#define refused(words, call)                                                                   \
    do {                                                                                       \
        struct sam_error error = { "" };                                                       \
        const int status_ = (call);                                                            \
        expect(status_ == SAM_EINVAL && strstr(error.text, words), "status %d, '%s'", status_, \
               error.text);                                                                    \
    } while (0)

static void check_refused(void)
{
    sam_tracker *t = open_tracker(2);
    const struct sam_point two[2] = { where, where };
    struct sam_prompt p = { .size = sizeof(p), .num_points = 1, .points = two, .answer = 4 };
    struct sam_answers a = SAM_ANSWERS_INIT;
    uint8_t map[4];
    const struct sam_labels l = { map, 2, 2, 2, 0 };
    struct scene s;

    refused("answer 4: expected 0 to 3", sam_tracker_prompt(t, &p, NULL, &error));
    p.answer = 2, p.num_points = 2;
    refused("not one point alone", sam_tracker_prompt(t, &p, NULL, &error));
    p.num_points = 0, p.has_box = 1, p.box[2] = p.box[3] = 1;
    refused("not one point alone", sam_tracker_prompt(t, &p, NULL, &error));
    expect(sam_tracker_answers(t, 1, &a, NULL) == SAM_ENOTFOUND, "answers of no object");
    expect(sam_tracker_take_answer(t, 1, 1, NULL) == SAM_ENOTFOUND, "an answer of no object");
    expect(sam_tracker_draw_answer(t, 1, 1, &l, NULL) == SAM_ENOTFOUND, "a mask of no object");

    const uint64_t id = begin(t, 0);
    refused("answer 0: expected 1 to 3", sam_tracker_take_answer(t, id, 0, &error));
    refused("answer 4: expected 1 to 3", sam_tracker_draw_answer(t, id, 4, &l, &error));
    refused("labels is NULL", sam_tracker_draw_answer(t, id, 1, NULL, &error));
    refused("answers is NULL", sam_tracker_answers(t, id, NULL, &error));
    a.size--;
    refused("answers: size is", sam_tracker_answers(t, id, &a, &error));
    step(t, &s, CLICK);
    step(t, &s, CLICK + 1);
    refused("not held any more, history is 2", sam_tracker_take_answer(t, id, 1, &error));
    click(t, id, 0);
    p = (struct sam_prompt) { .size = sizeof(p), .id = id, .num_points = 1, .points = two,
                              .answer = 1 };
    refused("a point that adds to others", sam_tracker_prompt(t, &p, NULL, &error));
    click(t, id, 0);
    refused("not a single click", sam_tracker_take_answer(t, id, 1, &error));
    step(t, &s, CLICK + 2);
    refused("no answers now", sam_tracker_draw_answer(t, id, 1, &l, &error));
    sam_tracker_close(&t);
}

int main(int argc, char **argv)
{
    model = argv[1], backend = argv[2];
    check_told();
    for (int n = 1; n <= SAM_ANSWERS; n++)
        check_taken(n, 0);
    check_taken(1, -1);
    check_taken(1, 2);
    check_correction();
    check_saved();
    check_refused();
    return expect_status();
}
