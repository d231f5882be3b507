// SPDX-License-Identifier: MIT
// Boxes that are answered in a window: what such a tracker shows of a frame is what a tracker that
// does not zoom shows of a picture of the window, put back; other objects notice nothing of it; a
// late box is answered like one in time.
// Arguments: a model of 64 px that zooms 1.3 times, the same without, a backend.
#include "stories.h"

static const char *backend;
static float tolerance; // of a device, where batches of other sizes may sum in another order

static sam_tracker *open_model(const char *model, int history)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.poison = scene_is_guarded(backend);
    p.history = history;
    return scene_open(&p);
}

// ---- A window

// A box of 24 px has a window of 1.3 x 24 = 31.2, of 32 px: 4 px more on every side, unless the
// frame ends before. The network's input is rounded before the enlarging, not after it.
static void check_window(const char *zooming, const char *plain, int x, int y, uint64_t *rng)
{
    static struct picture frame, window;
    static struct scene_held a, b;
    static float expected[LOW * LOW];
    const int left = x < 4 ? 0 : x - 4 > SIDE - WINDOW ? SIDE - WINDOW : x - 4;
    const int top = y < 4 ? 0 : y - 4 > SIDE - WINDOW ? SIDE - WINDOW : y - 4;
    const float s = SIDE, bx = 2 * (float) (x - left) / s, by = 2 * (float) (y - top) / s;
    sam_tracker *t = open_model(zooming, 0), *u = open_model(plain, 0);

    draw_blocks(&frame, rng);
    enlarge(&window, &frame, left, top);
    const uint64_t id = give_box(t, 0, (float) x / s, (float) y / s, (float) (x + 24) / s,
                                 (float) (y + 24) / s);
    const uint64_t close = give_box(u, 0, bx, by, bx + 48 / s, by + 48 / s);
    step_picture(t, &frame);
    step_picture(u, &window);
    scene_look(t, id, &a);
    scene_look(u, close, &b);
    put_back(expected, b.low_res, left, top);
    expect(fabsf(a.score - b.score) < 1e-3f, "box at %d, %d: score %g, of the window alone %g", x,
           y, (double) a.score, (double) b.score);
    expect(largest_difference(a.pointer, b.pointer, SCENE_ROOM(a.pointer)) < 1e-3f,
           "box at %d, %d: pointer", x, y);
    expect(largest_difference(a.low_res, expected, LOW * LOW) < 1e-2f,
           "box at %d, %d: logits differ by %g", x, y,
           (double) largest_difference(a.low_res, expected, LOW * LOW));
    sam_tracker_close(&t);
    sam_tracker_close(&u);
}

// ---- A stream

enum object { BOX, POINT, AFTER }; // AFTER begins on the frame of the box, with a click

struct story {
    const char *model;
    bool has_box;    // the object BOX is there, besides the other
    int late;        // frames that its box is late
    int history;
    bool has_click;  // it is corrected in the same frame
};

// A box for frame 1, and the click after it.
static uint64_t give_late_box(sam_tracker *t, const struct story *story)
{
    const struct sam_point inside = { 0.2f, 0.2f, 1 };
    struct sam_prompt p = { .has_box = 1, .box = { 0.1f, 0.1f, 0.35f, 0.4f } };

    p.has_frame = story->late > 0;
    p.frame = 1;
    p.id = give(t, p);
    p.has_box = 0;
    p.points = &inside;
    p.num_points = 1;
    if (story->has_click)
        give(t, p);
    return p.id;
}

// The box is for frame 1; every object is looked at on every frame that is done.
static void tell(const struct story *story, story_told shown)
{
    sam_tracker *t = open_model(story->model, story->history);
    const uint64_t point = give_point(t, 0, 0.4f, 0.4f, 1);
    uint64_t box = 0, after = 0;
    struct scene s;

    memset(shown, 0, sizeof(story_told));
    for (int i = 0; i < FRAMES; i++) {
        if (story->has_box && i == 1 + story->late)
            box = give_late_box(t, story);
        if (i == 1 + story->late)
            after = give_point(t, 0, 0.6f, 0.6f, 1);
        const struct sam_result r = step(t, &s, i);
        const struct sam_object *o = box ? object_in(&r, box) : NULL;
        if (o && !o->behind)
            scene_look(t, box, &shown[i][BOX]);
        scene_look(t, point, &shown[i][POINT]);
        if (after)
            scene_look(t, after, &shown[i][AFTER]);
    }
    sam_tracker_close(&t);
}

static void check_stream(const char *zooming, const char *plain)
{
    enum { BOXED, ALONE, NO_HISTORY, LATE, CLICKED, LATE_CLICKED, NO_ZOOM, STORIES };
    const struct story story[STORIES] = {
        [BOXED] = { zooming, true, 0, 4, false },
        [ALONE] = { zooming, false, 0, 4, false },
        [NO_HISTORY] = { zooming, true, 0, 0, false },
        [LATE] = { zooming, true, 2, 4, false }, // it has caught up before frame 5
        [CLICKED] = { zooming, true, 0, 4, true },
        [LATE_CLICKED] = { zooming, true, 2, 4, true },
        [NO_ZOOM] = { plain, true, 0, 4, false },
    };
    static story_told told[STORIES];

    for (int i = 0; i < STORIES; i++)
        tell(&story[i], told[i]);
    const struct story_twins same[] = {
        { BOXED, ALONE, POINT, 0, "an object before a box" },
        { BOXED, ALONE, AFTER, 0, "an object after a box" },
        { BOXED, NO_HISTORY, BOX, 0, "a box without history" },
        { BOXED, LATE, BOX, 5, "a late box" },
        { BOXED, LATE, POINT, 0, "an object before a late box" },
        { CLICKED, LATE_CLICKED, BOX, 5, "a late box and click" },
    };
    story_expect_twins(told, same, SCENE_ROOM(same), tolerance);
    expect(story_differs(told[BOXED], told[CLICKED], BOX, 1, tolerance), "a click changes nothing");
    // The harness sees that a model zooms.
    expect(story_differs(told[BOXED], told[NO_ZOOM], BOX, 1, tolerance) == FRAMES - 1,
           "a model that zooms shows the same");
}

// A box for an object that is there is answered with what is remembered of it, in the whole frame.
static void check_box_with_memory(const char *zooming, const char *plain)
{
    static struct scene_held a, b;
    const char *const model[] = { zooming, plain };

    for (int i = 0; i < 2; i++) {
        sam_tracker *t = open_model(model[i], 0);
        const uint64_t id = give_mask(t, 0, 1);
        struct scene s;
        step(t, &s, 0);
        give_box(t, id, 0.1f, 0.1f, 0.35f, 0.4f);
        step(t, &s, 1);
        scene_look(t, id, i ? &b : &a);
        sam_tracker_close(&t);
    }
    expect(!held_differs(&a, &b, tolerance), "a box for an object that is there is zoomed into");
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: zoom ZOOMING PLAIN BACKEND [SEED]\n");
        return 2;
    }
    backend = argv[3];
    tolerance = strcmp(backend, "cuda") ? 0 : 1e-2f;
    const uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 20261126;
    uint64_t rng = seed;

    printf("seed %llu\n", (unsigned long long) seed);
    const int at[][2] = { { 20, 20 }, { 0, 0 }, { 40, 40 }, { 4, 36 }, { 24, 0 }, { 12, 28 } };
    for (int i = 0; i < (tolerance > 0 ? 2 : 6); i++) // the emulator is slow
        check_window(argv[1], argv[2], at[i][0], at[i][1], &rng);
    check_stream(argv[1], argv[2]);
    check_box_with_memory(argv[1], argv[2]);
    return expect_status();
}
