// SPDX-License-Identifier: MIT
// Pieces of tracked masks: the logits of every tracked frame are the decoder's, less the pieces
// that are far from the mask before, which this test finds in its own way: what touches what, by
// growing the near places until nothing changes. Prompted masks keep all pieces.
// Arguments: a model of 64 px with a reach of 0.25, the same without, a backend.
#include <math.h>

#include "scene.h"

enum { LOW = 16, PLACES = LOW * LOW, FRAMES = 9 };

static const char *backend;

// A mask before: which columns and rows have a place of it, and how many it has.
struct last {
    bool column[LOW], row[LOW];
    int area;
};

static void measure(struct last *m, const float *logits)
{
    struct last found = { 0 };

    for (int i = 0; i < PLACES; i++)
        if (logits[i] > 0) {
            found.column[i % LOW] = found.row[i / LOW] = true;
            found.area++;
        }
    if (found.area)
        *m = found;
}

static int first_of(const bool *line)
{
    int i = 0;

    while (i < LOW && !line[i])
        i++;
    return i;
}

static int last_of(const bool *line)
{
    int i = LOW - 1;

    while (i >= 0 && !line[i])
        i--;
    return i;
}

static bool touches(const bool *near, int i)
{
    for (int k = 0; k < PLACES; k++)
        if (near[k] && abs(k % LOW - i % LOW) <= 1 && abs(k / LOW - i / LOW) <= 1)
            return true;
    return false;
}

// Returns whether there were far pieces that went.
static bool drop(const struct last *m, float *logits)
{
    const int x0 = first_of(m->column), x1 = last_of(m->column);
    const int y0 = first_of(m->row), y1 = last_of(m->row);
    const int size = x1 - x0 > y1 - y0 ? x1 - x0 + 1 : y1 - y0 + 1, reach = size / 4 + 2;
    bool near[PLACES] = { false }, grows = true, drops = false;
    int count = 0;

    for (int i = 0; i < PLACES && m->area; i++)
        near[i] = logits[i] > 0 && i % LOW >= x0 - reach && i % LOW <= x1 + reach &&
                  i / LOW >= y0 - reach && i / LOW <= y1 + reach;
    while (grows) {
        grows = false;
        for (int i = 0; i < PLACES; i++)
            if (logits[i] > 0 && !near[i] && touches(near, i))
                near[i] = grows = true;
    }
    for (int i = 0; i < PLACES; i++)
        count += near[i];
    for (int i = 0; i < PLACES && count && 5 * count >= m->area; i++)
        if (logits[i] > 0 && !near[i]) {
            logits[i] = -10;
            drops = true;
        }
    return drops;
}

// What was compared, and how many frames lost a piece.
struct seen {
    int compared, dropped;
};

static void compare(sam_tracker *t, uint64_t id, int frame, const struct last *m, struct seen *seen)
{
    static float masks[4 * PLACES], low[PLACES];
    float ious[4];

    expect(fetch(t, id, "track/decoder.masks", masks, SCENE_ROOM(masks)) &&
           fetch(t, id, "track/decoder.ious", ious, 4) && fetch(t, id, "low_res", low, PLACES),
           "no answer to compare with");
    float *wanted = masks + (scene_chosen(masks, ious, PLACES) - masks);
    seen->dropped += drop(m, wanted);
    seen->compared++;
    for (int i = 0; i < PLACES; i++)
        if (fabsf(wanted[i] - low[i]) > 0) {
            expect(false, "frame %d: place %d is %g, wanted %g", frame, i, (double) low[i],
                   (double) wanted[i]);
            return;
        }
}

// A mask of a few pixels, so that most of what is tracked from it is far, the k-th of many.
static uint64_t give_corner(sam_tracker *t, int k)
{
    static uint8_t mask[96 * 128];

    memset(mask, 0, sizeof(mask));
    for (int y = 0; y < 12; y++)
        memset(mask + (y + k % 4 * 28) * 128 + k / 4 * 28, 255, 12);
    return give(t, (struct sam_prompt) {
        .mask = mask, .mask_width = 128, .mask_height = 96, .mask_stride = 128 });
}

// A small mask on frame 0, on frame `correct_at` a correction.
static void run(const char *model, const int *story, int k, int correct_at, struct seen *seen)
{
    static float low[PLACES];
    sam_tracker *t = scene_open_kept(model, backend, 1);
    const uint64_t id = give_corner(t, k);
    struct last last = { 0 };
    struct scene s;

    for (int i = 0; i < FRAMES; i++) {
        if (i == correct_at)
            give_point(t, id, 0.4f, 0.5f, 1);
        const struct sam_result r = step(t, &s, story[i]);
        const struct sam_object *o = object_in(&r, id);
        if (!o || o->score <= 0)
            continue;
        if (i != 0 && i != correct_at)
            compare(t, id, i, &last, seen);
        fetch(t, id, "low_res", low, PLACES);
        measure(&last, low);
    }
    sam_tracker_close(&t);
}

// A prompted mask keeps its pieces: it is that of a model without a reach.
static void check_prompted(const char *nearing, const char *plain)
{
    static struct scene_held a, b;
    sam_tracker *t = scene_open_kept(nearing, backend, 0);
    sam_tracker *u = scene_open_kept(plain, backend, 0);
    const uint64_t id = give_point(t, 0, 0.3f, 0.5f, 1), other = give_point(u, 0, 0.3f, 0.5f, 1);
    struct scene s;

    step(t, &s, 0);
    step(u, &s, 0);
    scene_look(t, id, &a);
    scene_look(u, other, &b);
    expect(!memcmp(a.low_res, b.low_res, sizeof(a.low_res)), "a prompted mask differs");
    sam_tracker_close(&t);
    sam_tracker_close(&u);
}

int main(int argc, char **argv)
{
    static const int all[FRAMES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    static const int gone[FRAMES] = { 0, 1, WHITE, WHITE, 12, 13, WHITE, 24, 25 };
    struct seen seen = { 0 };

    if (argc != 4) {
        fprintf(stderr, "usage: near NEARING PLAIN BACKEND\n");
        return 2;
    }
    backend = argv[3];
    for (int k = 0; k < 16; k += 3) {
        run(argv[1], all, k, k % 2 ? 4 : -1, &seen);
        run(argv[1], gone, k, k % 2 ? -1 : 5, &seen);
    }
    expect(seen.compared >= 40, "%d frames were compared, wanted 40", seen.compared);
    expect(seen.dropped >= 5, "pieces were far in %d frames, wanted 5", seen.dropped);
    check_prompted(argv[1], argv[2]);
    printf("%d frames, %d with far pieces\n", seen.compared, seen.dropped);
    return expect_status();
}
