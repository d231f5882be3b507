// SPDX-License-Identifier: MIT
// Random walks: what is shown of a tracked mask, and what a click or a box is answered, are the
// logits of a model without walks after the walk that docs/MODEL.md tells, which this test does in
// its own way (rows of a system of equations, in double). What is remembered of a tracked frame, a
// mask that was given and an absent object stay as they are.
// Arguments: a model of 64 px with walks, one without, one with walks that zooms into boxes 1.3
// times, a backend.
#include <math.h>

#include "scene.h"
#include "window.h"

enum { FRAMES = 6, PLACES = LOW * LOW };

static const double FIDELITY = 0.05;

static const char *backend;
static float tolerance; // of a device, where batches of other sizes may sum in another order

static sam_tracker *open_model(const char *model)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.poison = scene_is_guarded(backend);
    return scene_open(&p);
}

// ---- The walk, as docs/MODEL.md tells it

// A square of a picture as the places see it: (places, 3) of the network's input by the triangle
// filter, which reaches as far as a place is wide.
static void see(double colour[PLACES][3], const struct picture *p, int left, int top, int side)
{
    static const double mean[] = { 0.485, 0.456, 0.406 }, deviation[] = { 0.229, 0.224, 0.225 };
    const double width = (double) side / LOW;

    for (int i = 0; i < PLACES; i++) {
        double sum[4] = { 0 };
        for (int k = 0; k < side * side; k++) {
            const int x = k % side, y = k / side;
            const double w = fmax(0, 1 - fabs((x + 0.5) / width - i % LOW - 0.5)) *
                             fmax(0, 1 - fabs((y + 0.5) / width - i / LOW - 0.5));
            for (int c = 0; c < 3; c++)
                sum[c] += w * (p->rgb[top + y][left + x][c] / 255.0 - mean[c]) / deviation[c];
            sum[3] += w;
        }
        for (int c = 0; c < 3; c++)
            colour[i][c] = sum[c] / sum[3];
    }
}

static bool are_neighbours(int i, int k)
{
    return abs(i % LOW - k % LOW) + abs(i / LOW - k / LOW) == 1;
}

static double distance2(const double a[3], const double b[3])
{
    return (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
           (a[2] - b[2]) * (a[2] - b[2]);
}

static void weigh(double weight[PLACES][PLACES], double colour[PLACES][3])
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < PLACES; i++)
        for (int k = 0; k < PLACES; k++)
            if (are_neighbours(i, k)) {
                sum += distance2(colour[i], colour[k]);
                n++;
            }
    for (int i = 0; i < PLACES; i++)
        for (int k = 0; k < PLACES; k++)
            weight[i][k] = are_neighbours(i, k)
                               ? exp(-3 * distance2(colour[i], colour[k]) / (sum / n)) + 1e-5 : 0;
}

// A box in places: x0, y0, x1, y1. One that is smaller than they are counts for nothing.
static bool is_free(const double *box, int i)
{
    const double x = i % LOW + 0.5, y = i / LOW + 0.5; // of its middle

    return !box || box[2] - box[0] < 1 || box[3] - box[1] < 1 ||
           (x > box[0] && y > box[1] && x <= box[2] && y <= box[3]);
}

// 2p - 1 after the walk. box: NULL for none.
static void walk(double now[PLACES], const float *logits, double colour[PLACES][3],
                 const double *box)
{
    static double weight[PLACES][PLACES], given[PLACES];

    weigh(weight, colour);
    for (int i = 0; i < PLACES; i++)
        now[i] = given[i] = is_free(box, i) ? tanh((double) logits[i] / 2) : -0.8;
    for (int turn = 0; turn < 20; turn++)
        for (int i = 0; i < PLACES; i++) {
            double sum = FIDELITY * given[i], total = FIDELITY;
            if (!is_free(box, i) || (i % LOW + i / LOW) % 2 != turn % 2)
                continue;
            for (int k = 0; k < PLACES; k++) {
                sum += weight[i][k] * now[k];
                total += weight[i][k];
            }
            now[i] += 1.5 * (sum / total - now[i]);
        }
}

// ---- Trackers with walks, and without

enum { GONE = 2 }; // a frame that is white, in which there is nothing

// Blocks that stay, and a square that moves over them.
static void draw_frame(struct picture *p, int frame, uint64_t rng)
{
    if (frame == GONE) {
        memset(p, 255, sizeof(*p));
        return;
    }
    draw_blocks(p, &rng);
    for (int y = 20; y < 40; y++)
        for (int x = 10 + 2 * frame; x < 30 + 2 * frame; x++)
            for (int k = 0; k < 3; k++)
                p->rgb[y][x][k] = k ? 60 : 230;
}

static double largest_error(const float *shown, const float *before, const struct picture *p,
                            const double *box)
{
    static double colour[PLACES][3], now[PLACES];
    double most = 0;

    see(colour, p, 0, 0, SIDE);
    walk(now, before, colour, box);
    for (int i = 0; i < PLACES; i++)
        most = fmax(most, fabs(tanh((double) shown[i] / 2) - fmax(fmin(now[i], 0.9999), -0.9999)));
    return most;
}

static void check_tracked(const char *walking, const char *plain, uint64_t rng)
{
    sam_tracker *t = open_model(walking), *u = open_model(plain);
    const uint64_t id = give_mask(t, 0, 1), other = give_mask(u, 0, 1);
    static struct scene_held a, b;
    static struct picture p;
    int compared = 0, changed = 0, absent = 0;

    for (int i = 0; i < FRAMES; i++) {
        draw_frame(&p, i, rng);
        step_picture(t, &p);
        step_picture(u, &p);
        scene_look(t, id, &a);
        scene_look(u, other, &b);
        expect(hold_the_same(&a, &b, tolerance), "frame %d: a walk changes what is remembered", i);
        const float difference = largest_difference(a.low_res, b.low_res, PLACES);
        absent += b.score <= 0;
        if (!i || b.score <= 0) {
            expect(difference <= tolerance, "frame %d: a mask that was given, or none, walks", i);
            continue;
        }
        const double error = largest_error(a.low_res, b.low_res, &p, NULL);
        expect(error < 1e-3 + (double) tolerance, "frame %d: walks differ by %g", i, error);
        compared++;
        changed += difference > 0.1f;
    }
    expect(compared >= 3 && changed == compared && absent,
           "%d walks were compared, %d changed something; on %d frames there was no mask", compared,
           changed, absent);
    sam_tracker_close(&t);
    sam_tracker_close(&u);
}

// ---- Prompts

struct story {
    const char *what;
    bool is_box;
    float x0, y0, x1, y1; // a click, or a box, as parts of the frame
};

static uint64_t prompt(sam_tracker *t, const struct story *s)
{
    return s->is_box ? give_box(t, 0, s->x0, s->y0, s->x1, s->y1)
                     : give_point(t, 0, s->x0, s->y0, 1);
}

// Returns whether there was a mask to compare.
static bool check_prompt(const char *walking, const char *plain, const struct story *s,
                         uint64_t rng)
{
    const double box[4] = { (double) s->x0 * LOW, (double) s->y0 * LOW, (double) s->x1 * LOW,
                            (double) s->y1 * LOW };
    sam_tracker *t = open_model(walking), *u = open_model(plain);
    const uint64_t id = prompt(t, s), other = prompt(u, s);
    static struct scene_held a, b;
    static struct picture p;

    draw_frame(&p, 0, rng);
    step_picture(t, &p);
    step_picture(u, &p);
    scene_look(t, id, &a);
    scene_look(u, other, &b);
    if (b.score > 0) {
        const double error = largest_error(a.low_res, b.low_res, &p, s->is_box ? box : NULL);
        expect(error < 1e-3 + (double) tolerance, "%s: walks differ by %g", s->what, error);
        expect(largest_difference(a.memory, b.memory, SCENE_ROOM(a.memory)) > 1e-3f,
               "%s: what is remembered did not walk", s->what);
    }
    sam_tracker_close(&t);
    sam_tracker_close(&u);
    return b.score > 0;
}

// The pointer of an answer to a click on frame 0, by area.
static void answer(const char *model, int which, uint64_t rng, struct scene_held *held)
{
    const struct sam_point point = { 0.3f, 0.45f, 1 };
    sam_tracker *t = open_model(model);
    static struct picture p;

    draw_frame(&p, 0, rng);
    const uint64_t id = give(t, (struct sam_prompt) { .num_points = 1, .points = &point,
                                                      .answer = which });
    step_picture(t, &p);
    scene_look(t, id, held);
    sam_tracker_close(&t);
}

// An answer that a click names has the pointer of a candidate, though its mask walked.
static void check_pointers(const char *walking, const char *plain, uint64_t rng)
{
    static struct scene_held walked, candidate[3];

    for (int i = 0; i < 3; i++)
        answer(plain, 1 + i, rng, &candidate[i]);
    for (int i = 0; i < 3; i++) {
        float least = INFINITY;
        answer(walking, 1 + i, rng, &walked);
        for (int k = 0; k < 3; k++)
            least = fminf(least, largest_difference(walked.pointer, candidate[k].pointer,
                                                    SCENE_ROOM(walked.pointer)));
        expect(least <= tolerance, "answer %d: its pointer is no candidate's, by %g", 1 + i,
               (double) least);
    }
}

// A box of 24 px at (x, y) in a window of 32 px: the walk is one over the window.
static bool check_window(const char *walking, const char *plain, int x, int y, uint64_t rng)
{
    const double box[4] = { 2, 2, 14, 14 }; // 4 px, twice as large, by places of 4
    const float s = SIDE, far = 56 / s, near = 8 / s, left = (float) x / s, top = (float) y / s;
    sam_tracker *t = open_model(walking), *u = open_model(plain);
    static double colour[PLACES][3], now[PLACES];
    static float logits[PLACES], expected[PLACES];
    static struct picture frame, window;
    static struct scene_held a, b;

    draw_blocks(&frame, &rng);
    enlarge(&window, &frame, x - 4, y - 4);
    const uint64_t id = give_box(t, 0, left, top, left + 24 / s, top + 24 / s);
    const uint64_t close = give_box(u, 0, near, near, far, far);
    step_picture(t, &frame);
    step_picture(u, &window);
    scene_look(t, id, &a);
    scene_look(u, close, &b);
    see(colour, &frame, x - 4, y - 4, WINDOW);
    walk(now, b.low_res, colour, box);
    for (int i = 0; i < PLACES; i++)
        logits[i] = (float) (2 * atanh(fmax(fmin(now[i], 0.9999), -0.9999)));
    put_back(expected, logits, x - 4, y - 4);
    if (b.score > 0)
        expect(largest_difference(a.low_res, expected, PLACES) < 2e-2f,
               "a window at %d, %d: logits differ by %g", x, y,
               (double) largest_difference(a.low_res, expected, PLACES));
    sam_tracker_close(&t);
    sam_tracker_close(&u);
    return b.score > 0;
}

int main(int argc, char **argv)
{
    static const struct story stories[] = {
        { "a click", false, 0.3f, 0.45f, 0, 0 },
        { "a box", true, 0.1f, 0.2f, 0.6f, 0.75f },
        { "a box on the middles of places", true, 0.15625f, 0.21875f, 0.59375f, 0.71875f },
        { "a box beyond the frame", true, 0.5f, 0.5f, 1, 1 },
        { "a box smaller than a place", true, 0.305f, 0.4f, 0.33f, 0.43f },
    };

    if (argc < 5) {
        fprintf(stderr, "usage: walk WALKING PLAIN ZOOMING BACKEND [SEED]\n");
        return 2;
    }
    backend = argv[4];
    tolerance = strcmp(backend, "cuda") ? 0 : 1e-2f;
    const uint64_t seed = argc > 5 ? strtoull(argv[5], NULL, 0) : 20261126;

    printf("seed %llu\n", (unsigned long long) seed);
    check_tracked(argv[1], argv[2], seed);
    check_pointers(argv[1], argv[2], seed);
    int compared = 0;
    for (size_t i = 0; i < SCENE_ROOM(stories); i++)
        compared += check_prompt(argv[1], argv[2], &stories[i], seed);
    expect(compared >= 2, "%d prompts were compared, wanted 2 at least", compared);
    static const int at[][2] = { { 20, 24 }, { 12, 28 }, { 24, 8 }, { 8, 12 } };
    compared = 0;
    for (size_t i = 0; i < SCENE_ROOM(at); i++)
        compared += check_window(argv[3], argv[2], at[i][0], at[i][1], seed);
    expect(compared > 0, "no window was compared");
    return expect_status();
}
