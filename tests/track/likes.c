// SPDX-License-Identifier: MIT
// likes MODEL BACKEND [untrained]
// Other things like an object. Of a drawn frame the twins of a thing are found, and not another
// thing beside them; likenesses are those that the definition gives, in double, with an inverse
// matrix in the place of a decomposition; what an object covers is not found; nothing changes.
// untrained: what weights that were drawn find is not looked at; their likenesses are.
#include <math.h>

#include <samtrack/likes.h>

#include "scene.h"

enum { SIDE = 128, THING = 32, GRID = SIDE / 16, CELLS = 2 * GRID, ALL = CELLS * CELLS };
enum { MOST_CHANNELS = 256, LOGITS = SIDE / 4 };

static const int twins[3][2] = { { 8, 16 }, { 88, 16 }, { 48, 80 } };
static const int other[2] = { 88, 80 };
static const double scales[3] = { 1, 0.75, 4 / 3.0 };
static uint8_t rgb[SIDE * SIDE * 3], mask[SIDE * SIDE];

// ---- the frame

static void draw_thing(const int at[2], int kind)
{
    for (int y = 0; y < THING; y++)
        for (int x = 0; x < THING; x++) {
            uint8_t *p = rgb + 3 * ((at[1] + y) * SIDE + at[0] + x);
            const int band = kind ? x / 3 % 2 : (x + y) / 5 % 2;
            p[0] = (uint8_t) (kind ? 40 : band ? 230 : 60);
            p[1] = (uint8_t) (kind ? band ? 220 : 120 : 50);
            p[2] = (uint8_t) (kind ? 60 : 200 - 4 * y);
        }
}

static struct sam_frame draw_frame(void)
{
    uint64_t rng = 7;

    for (int i = 0; i < SIDE * SIDE * 3; i++)
        rgb[i] = (uint8_t) draw_int(&rng, 90, 150);
    for (int i = 0; i < 3; i++)
        draw_thing(twins[i], 0);
    draw_thing(other, 1);
    return (struct sam_frame) { .size = sizeof(struct sam_frame), .format = SAM_PIXEL_RGB,
                                .width = SIDE, .height = SIDE, .plane = { rgb },
                                .stride = { SIDE * 3 } };
}

static uint64_t begin(sam_tracker *t, const int at[2])
{
    struct sam_prompt p = { .size = sizeof(p), .mask = mask, .mask_width = SIDE,
                            .mask_height = SIDE, .mask_stride = SIDE };
    struct sam_error error = { "" };
    uint64_t id = 0;

    memset(mask, 0, sizeof(mask));
    for (int y = 0; y < THING; y++)
        memset(mask + (at[1] + y) * SIDE + at[0], 1, THING);
    expect(!sam_tracker_prompt(t, &p, &id, &error), "%s", error.text);
    return id;
}

static void show(sam_tracker *t, const struct sam_frame *f)
{
    struct sam_result result = SAM_RESULT_INIT;
    struct sam_error error = { "" };

    expect(!sam_tracker_step(t, f, NULL, &result, &error), "%s", error.text);
}

// ---- the definition

// The inverse of a positive matrix, in place, by elimination.
static void invert(double *a, int n)
{
    for (int k = 0; k < n; k++) {
        const double pivot = 1 / a[k * n + k];
        a[k * n + k] = 1;
        for (int j = 0; j < n; j++)
            a[k * n + j] *= pivot;
        for (int i = 0; i < n; i++) {
            const double factor = a[i * n + k];
            if (i == k)
                continue;
            a[i * n + k] = 0;
            for (int j = 0; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
}

// (GRID, GRID, c), less their mean, of those with channels first; and the inverse of their
// covariance with the ridge.
static void read_frame(const float *first, int c, double *f, double *inverse)
{
    double trace = 0;

    memset(inverse, 0, (size_t) c * c * sizeof(double));
    for (int k = 0; k < c; k++) {
        double mean = 0;
        for (int i = 0; i < GRID * GRID; i++)
            mean += first[k * GRID * GRID + i] / (double) (GRID * GRID);
        for (int i = 0; i < GRID * GRID; i++)
            f[i * c + k] = first[k * GRID * GRID + i] - mean;
    }
    for (int i = 0; i < GRID * GRID; i++)
        for (int k = 0; k < c; k++)
            for (int j = 0; j < c; j++)
                inverse[k * c + j] += f[i * c + k] * f[i * c + j];
    for (int k = 0; k < c; k++)
        trace += inverse[k * c + k];
    for (int k = 0; k < c; k++)
        inverse[k * c + k] += 3 * trace / c;
    invert(inverse, c);
}

// Products of all pairs of the finer cells, which are mixed of four coarse ones each.
static void multiply_all(const double *f, const double *inverse, int c, double (*product)[ALL])
{
    static double fine[ALL][MOST_CHANNELS], turned[MOST_CHANNELS];

    for (int i = 0; i < ALL; i++) {
        const double y = fmin(fmax((i / CELLS - 0.5) / 2, 0), GRID - 1);
        const double x = fmin(fmax((i % CELLS - 0.5) / 2, 0), GRID - 1);
        for (int k = 0; k < c; k++) {
            fine[i][k] = 0;
            for (int j = 0; j < GRID * GRID; j++)
                fine[i][k] += f[j * c + k] * fmax(1 - fabs(y - j / GRID), 0) *
                              fmax(1 - fabs(x - j % GRID), 0);
        }
    }
    for (int i = 0; i < ALL; i++) {
        for (int k = 0; k < c; k++) {
            turned[k] = 0;
            for (int j = 0; j < c; j++)
                turned[k] += inverse[k * c + j] * fine[i][j];
        }
        for (int j = 0; j < ALL; j++) {
            product[i][j] = 0;
            for (int k = 0; k < c; k++)
                product[i][j] += turned[k] * fine[j][k];
        }
    }
}

// Of a mask: its share of each cell, and its box in cells.
static void read_mask(const float *logits, double share[ALL], double box[4])
{
    memset(share, 0, ALL * sizeof(double));
    box[0] = box[1] = CELLS, box[2] = box[3] = 0;
    for (int i = 0; i < LOGITS * LOGITS; i++)
        if (logits[i] > 0) {
            const int x = i % LOGITS, y = i / LOGITS;
            share[y / 2 * CELLS + x / 2] += 0.25;
            box[0] = fmin(box[0], x / 2.0), box[1] = fmin(box[1], y / 2.0);
            box[2] = fmax(box[2], x / 2.0 + 0.5), box[3] = fmax(box[3], y / 2.0 + 0.5);
        }
}

// The likeness of the place at (x, y) for an object in the middle (mx, my).
static double likeness(double (*product)[ALL], const double share[ALL], int mx, int my, int x,
                       int y, double scale)
{
    double sum = 0, own = 0, there = 0;

    for (int i = 0; i < ALL; i++) {
        const int px = x + (int) lrint((i % CELLS - mx) * scale);
        const int py = y + (int) lrint((i / CELLS - my) * scale), j = py * CELLS + px;
        if (share[i] < 0.3)
            continue;
        own += share[i] * product[i][i];
        if (px < 0 || px >= CELLS || py < 0 || py >= CELLS)
            continue;
        sum += share[i] * product[i][j];
        there += share[i] * product[j][j];
    }
    return sum / fmax(sqrt(own * there), 1e-20);
}

// A place of the definition with that box has that likeness. Sums of floats: 1e-5 is seen.
static void check_like(double (*product)[ALL], const double share[ALL], const double box[4],
                       const struct sam_like *like)
{
    const int mx = (int) ((box[0] + box[2]) / 2), my = (int) ((box[1] + box[3]) / 2);
    double nearest = 1e9, found = -2;

    for (int k = 0; k < 3 * ALL; k++) {
        const int x = k / 3 % CELLS, y = k / 3 / CELLS;
        double away = 0;
        for (int e = 0; e < 4; e++) {
            const double at = (e % 2 ? y : x) + 0.5 +
                              scales[k % 3] * (box[e] - (e % 2 ? my : mx) - 0.5);
            away += fabs(fmin(fmax(at * 8, 0), SIDE) - like->box[e]);
        }
        if (away >= nearest)
            continue;
        nearest = away;
        found = likeness(product, share, mx, my, x, y, scales[k % 3]);
    }
    expect(nearest < 1e-3, "a box is %g px away from all places", nearest);
    expect(fabs(found - like->likeness) < 1e-4, "a likeness is %g, not %g", like->likeness, found);
}

static void check_definition(sam_tracker *t, uint64_t id, const struct sam_likes *likes)
{
    static float fpn[GRID * GRID * MOST_CHANNELS], low_res[LOGITS * LOGITS];
    static double f[GRID * GRID * MOST_CHANNELS], inverse[MOST_CHANNELS * MOST_CHANNELS];
    static double product[ALL][ALL], share[ALL];
    struct sam_error error = { "" };
    double box[4];
    int shape[4] = { 0 };

    expect(!sam_tracker_read(t, id, "fpn", fpn, GRID * GRID * MOST_CHANNELS, shape, &error) &&
           shape[1] <= MOST_CHANNELS && shape[2] == GRID, "%s", error.text);
    const int c = shape[1];
    expect(!sam_tracker_read(t, id, "low_res", low_res, LOGITS * LOGITS, shape, &error), "%s",
           error.text);
    read_frame(fpn, c, f, inverse);
    multiply_all(f, inverse, c, product);
    read_mask(low_res, share, box);
    for (int i = 0; i < likes->num_likes; i++)
        check_like(product, share, box, &likes->like[i]);
}

// ---- what is found

static double overlap(const float box[4], const int at[2])
{
    const double w = fmin(box[2], at[0] + THING) - fmax(box[0], at[0]);
    const double h = fmin(box[3], at[1] + THING) - fmax(box[1], at[1]);
    const double both = w > 0 && h > 0 ? w * h : 0;

    return both / ((box[2] - box[0]) * (box[3] - box[1]) + THING * THING - both);
}

static const struct sam_like *find_at(const struct sam_likes *likes, const int at[2])
{
    for (int i = 0; i < likes->num_likes; i++)
        if (overlap(likes->like[i].box, at) > 0.5)
            return &likes->like[i];
    return NULL;
}

static struct sam_likes ask(sam_tracker *t, uint64_t id, float least)
{
    struct sam_likes likes = SAM_LIKES_INIT;
    struct sam_error error = { "" };

    expect(!sam_tracker_likes(t, id, least, &likes, &error), "%s", error.text);
    expect(likes.best <= 1 && likes.best >= (likes.num_likes ? likes.like[0].likeness : 0),
           "best %g", likes.best);
    for (int i = 0; i < likes.num_likes; i++)
        expect(likes.like[i].likeness >= least &&
               (!i || likes.like[i].likeness <= likes.like[i - 1].likeness), "order, %d", i);
    return likes;
}

// Returns the id of the first twin.
static uint64_t check_likenesses(sam_tracker *t, const struct sam_frame *f)
{
    const uint64_t first = begin(t, twins[0]);

    show(t, f);
    const struct sam_likes likes = ask(t, first, 0);
    expect(likes.num_likes >= 2 && !find_at(&likes, twins[0]), "itself, %d", likes.num_likes);
    check_definition(t, first, &likes);
    return first;
}

static void check_found(sam_tracker *t, const struct sam_frame *f, uint64_t first)
{
    struct sam_likes likes = ask(t, first, 0.4f);
    expect(likes.num_likes == 2 && find_at(&likes, twins[1]) && find_at(&likes, twins[2]),
           "%d places, the best is %g", likes.num_likes, likes.best);
    likes = ask(t, first, 0);
    const struct sam_like *stranger = find_at(&likes, other);
    expect(!stranger || stranger->likeness < 0.3f, "another thing has a likeness of %g",
           stranger->likeness);

    const uint64_t second = begin(t, twins[1]);
    show(t, f);
    likes = ask(t, first, 0.4f);
    expect(!find_at(&likes, twins[1]) && find_at(&likes, twins[2]), "what is tracked is found");
    likes = ask(t, second, 0.4f);
    expect(!find_at(&likes, twins[0]) && find_at(&likes, twins[2]), "what is tracked is found");
}

// ---- what is refused, or has no likes

#define REFUSED(wanted, words, call)                                                 \
    do {                                                                             \
        struct sam_error error = { "" };                                             \
        const int status = (call);                                                   \
        expect(status == (wanted) && strstr(error.text, words), "status %d, '%s'", status, \
               error.text);                                                          \
    } while (0)

static void check_refused(sam_tracker *t, const struct sam_frame *f)
{
    struct sam_likes likes = SAM_LIKES_INIT, small = { .size = 8 };
    const uint64_t new = begin(t, twins[2]);

    REFUSED(SAM_ENOTFOUND, "is on the last frame", sam_tracker_likes(t, new, 0.5f, &likes, &error));
    show(t, f);
    REFUSED(SAM_ENOTFOUND, "id 99 is", sam_tracker_likes(t, 99, 0.5f, &likes, &error));
    REFUSED(SAM_EINVAL, "likeness 1.5: expected 0 to 1",
            sam_tracker_likes(t, new, 1.5f, &likes, &error));
    REFUSED(SAM_EINVAL, "expected 0 to 1", sam_tracker_likes(t, new, NAN, &likes, &error));
    REFUSED(SAM_EINVAL, "likes", sam_tracker_likes(t, new, 0.5f, &small, &error));
    REFUSED(SAM_EINVAL, "likes", sam_tracker_likes(t, new, 0.5f, NULL, &error));
    REFUSED(SAM_EINVAL, "tracker is NULL", sam_tracker_likes(NULL, new, 0.5f, &likes, &error));
}

// One colour has no differences to find anything by.
static void check_plain(const struct sam_params *p)
{
    sam_tracker *t = scene_open(p);
    struct sam_frame f = draw_frame();

    memset(rgb, 128, sizeof(rgb));
    const uint64_t id = begin(t, twins[0]);
    show(t, &f);
    const struct sam_likes likes = ask(t, id, 0.9f);
    for (int i = 0; i < likes.num_likes; i++)
        expect(isfinite(likes.like[i].likeness), "%d is %g", i, likes.like[i].likeness);
    sam_tracker_close(&t);
}

// What a tracker shows after many questions is, to the bit, what it shows without.
static void check_unchanged(const struct sam_params *p)
{
    static float masks[2][LOGITS * LOGITS];
    struct sam_error error = { "" };
    int shape[4];

    for (int k = 0; k < 2; k++) {
        const struct sam_frame f = draw_frame();
        sam_tracker *t = scene_open(p);
        const uint64_t id = begin(t, twins[0]);
        for (int i = 0; i < 3; i++) {
            show(t, &f);
            if (k)
                ask(t, id, 0.3f);
        }
        expect(!sam_tracker_read(t, id, "low_res", masks[k], LOGITS * LOGITS, shape, &error), "%s",
               error.text);
        sam_tracker_close(&t);
    }
    expect(!memcmp(masks[0], masks[1], sizeof(masks[0])), "asking changes masks");
}

int main(int argc, char **argv)
{
    const bool untrained = argc == 4 && !strcmp(argv[3], "untrained");
    if (argc != 3 && !untrained) {
        fprintf(stderr, "usage: likes MODEL BACKEND [untrained]\n");
        return 1;
    }
    struct sam_params p = scene_params(argv[1]);
    p.backend = scene_backend(argv[2]);
    p.max_objects = 3;
    check_unchanged(&p);
    check_plain(&p);
    p.keep_stages = 1;
    sam_tracker *t = scene_open(&p);
    const struct sam_frame f = draw_frame();
    const uint64_t first = check_likenesses(t, &f);
    if (!untrained)
        check_found(t, &f, first);
    check_refused(t, &f);
    sam_tracker_close(&t);
    return expect_status();
}
