// SPDX-License-Identifier: MIT
// Other things like an object: the encoder's features of its cells, laid over every place of the
// same frame. What all places have in common counts for nothing, and what many differ by for
// little: features f become L^-1 (f - mean), where L L' is the covariance of the frame's features
// and a multiple of the unit matrix ("exemplar LDA", Hariharan et al., ECCV 2012). The likeness is
// the cosine of these.
#include "samtrack/likes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

enum {
    FINE = 32,   // grids of fewer cells a side are made finer by two
    FEWEST = 6,  // cells of an object; what fewer show is in many places
    CELLS = 128, // of an object that are compared, at most
    SCALES = 3,
    NONE = 255,
};
static const float scales[SCALES] = { 1, 0.75f, 4 / 3.0f };
static const double RIDGE = 3;   // of the mean variance of a channel
static const float COVERED = 0.3f; // of a cell by a mask, from which on it is the mask's
static const float TAKEN = 1 / 3.0f; // of a place by objects
static const float SEEN = 0.5f;  // of a place inside of the frame, at least
static const float APART = 0.3f; // overlap of two places over the smaller one, at most

// The frame by cells; a block that the caller of the library pays for during the call.
struct map {
    int side, c;     // cells a side, channels
    float *features; // (side, side, c)
    float *energy;   // (side, side): sum of squares of these
    float *covered;  // (side, side): share of the object; then, of all objects, the largest
    float *likeness; // (side, side): of the place with its middle there
    uint8_t *scale;  // (side, side): that it has this likeness at; NONE: it is no candidate
    float *coarse;   // (h, h, c): as the tracker has them
    double *factor;  // (c, c): L, its lower triangle
    double *row;     // (c)
    float *logits;   // (L, L), L = sam_logits_side()
};

// The object's cells, from the one in its middle.
struct thing {
    int count;
    struct cell {
        int x, y;
        float weight;
    } cell[CELLS];
    int x, y;          // of the middle
    float energy;      // of its features
    float box[4];      // of cells, from the middle of the middle one
};

static size_t lay_out(struct map *m, const struct sam_config *c, void *block)
{
    struct sam_arena a = { .base = block };
    const size_t grid = (size_t) sam_grid(c), logits = (size_t) sam_logits_side(c);

    m->side = (int) grid * (grid < FINE ? 2 : 1);
    m->c = c->d_model;
    const size_t cells = (size_t) m->side * (size_t) m->side;
    m->features = sam_arena_bytes(&a, cells * (size_t) m->c * sizeof(float));
    m->energy = sam_arena_bytes(&a, cells * sizeof(float));
    m->covered = sam_arena_bytes(&a, cells * sizeof(float));
    m->likeness = sam_arena_bytes(&a, cells * sizeof(float));
    m->scale = sam_arena_bytes(&a, cells);
    m->coarse = sam_arena_bytes(&a, grid * grid * (size_t) m->c * sizeof(float));
    m->factor = sam_arena_bytes(&a, (size_t) m->c * (size_t) m->c * sizeof(double));
    m->row = sam_arena_bytes(&a, (size_t) m->c * sizeof(double));
    m->logits = sam_arena_bytes(&a, logits * logits * sizeof(float));
    return (a.peak + SAM_ALIGN - 1) / SAM_ALIGN * SAM_ALIGN;
}

// ---- the frame

static const float *features_at(const struct map *m, int x, int y)
{
    return m->features + ((size_t) y * (size_t) m->side + (size_t) x) * (size_t) m->c;
}

// Cell i of a side between two of the coarse ones: the first of them, and the share of the second.
static int between(int i, int grid, float *share)
{
    const float at = fminf(fmaxf(((float) i - 0.5f) / 2, 0), (float) grid - 1);
    const int first = (int) at < grid - 1 ? (int) at : grid - 2;

    *share = at - (float) first;
    return first;
}

static void make_finer(struct map *m)
{
    const int grid = m->side / 2, c = m->c;

    for (int y = 0; y < m->side; y++)
        for (int x = 0; x < m->side; x++) {
            float down, across, *dst = (float *) features_at(m, x, y);
            const int top = between(y, grid, &down), left = between(x, grid, &across);
            const float *a = m->coarse + ((size_t) top * grid + left) * c;
            const float *b = a + (size_t) grid * c;
            for (int k = 0; k < c; k++)
                dst[k] = (1 - down) * ((1 - across) * a[k] + across * a[c + k]) +
                         down * ((1 - across) * b[k] + across * b[c + k]);
        }
}

static float multiply(const float *a, const float *b, int n)
{
    float sum = 0;

    for (int k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

static void centre(float *features, size_t cells, size_t c)
{
    for (size_t k = 0; k < c; k++) {
        double sum = 0;
        for (size_t i = 0; i < cells; i++)
            sum += features[i * c + k];
        for (size_t i = 0; i < cells; i++)
            features[i * c + k] -= (float) (sum / (double) cells);
    }
}

// The covariance of centred features and the ridge: their lower triangle.
static void find_covariance(const struct map *m, const float *features, size_t cells)
{
    const size_t c = (size_t) m->c;
    double trace = 0;

    memset(m->factor, 0, c * c * sizeof(double));
    for (size_t i = 0; i < cells; i++)
        for (size_t k = 0; k < c; k++) {
            const float *f = features + i * c;
            for (size_t j = 0; j <= k; j++)
                m->factor[k * c + j] += (double) f[k] * f[j];
        }
    for (size_t k = 0; k < c; k++)
        trace += m->factor[k * c + k];
    for (size_t k = 0; k < c; k++)
        m->factor[k * c + k] += RIDGE * trace / (double) c;
}

// Solves L x = x, of the first n numbers. Where the diagonal is 0 x is left out.
static void substitute(const struct map *m, double *x, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const double *row = m->factor + k * (size_t) m->c;
        double sum = x[k];
        for (size_t i = 0; i < k; i++)
            sum -= row[i] * x[i];
        x[k] = row[k] > 0 ? sum / row[k] : 0;
    }
}

// Cholesky's decomposition, in place. What is not positive, of a frame without any differences, is
// left out.
static void decompose(const struct map *m)
{
    for (size_t k = 0; k < (size_t) m->c; k++) {
        double *row = m->factor + k * (size_t) m->c;
        substitute(m, row, k);
        double sum = row[k];
        for (size_t i = 0; i < k; i++)
            sum -= row[i] * row[i];
        row[k] = sum > 0 ? sqrt(sum) : 0;
    }
}

static void whiten(const struct map *m, float *features, size_t cells)
{
    const size_t c = (size_t) m->c;

    centre(features, cells, c);
    find_covariance(m, features, cells);
    decompose(m);
    for (size_t i = 0; i < cells; i++, features += c) {
        for (size_t k = 0; k < c; k++)
            m->row[k] = features[k];
        substitute(m, m->row, c);
        for (size_t k = 0; k < c; k++)
            features[k] = (float) m->row[k];
    }
}

static void read_features(struct sam_tracker *t, struct map *m)
{
    const struct sam_tensor image = t->mem.state.features.image;
    const size_t cells = (size_t) m->side * (size_t) m->side, c = (size_t) m->c;
    float *as_held = m->side > image.h ? m->coarse : m->features;

    sam_queue_download(&t->queue, as_held, image.data, sam_tensor_bytes(&image));
    whiten(m, as_held, (size_t) image.h * (size_t) image.w);
    if (m->side > image.h)
        make_finer(m);
    for (size_t i = 0; i < cells; i++)
        m->energy[i] = multiply(m->features + i * c, m->features + i * c, m->c);
}

// The share of each cell that a mask covers, if that is more than before.
static void cover(struct sam_tracker *t, struct map *m, int row)
{
    const int side = sam_logits_side(&t->model->config), n = side / m->side;
    const struct sam_tensor mask = sam_slice(t->mem.state.low_res, row);

    sam_queue_download(&t->queue, m->logits, mask.data, sam_tensor_bytes(&mask));
    for (int y = 0; y < m->side; y++)
        for (int x = 0; x < m->side; x++) {
            float *covered = &m->covered[(size_t) y * m->side + x];
            int count = 0;
            for (int i = 0; i < n * n; i++)
                count += m->logits[(size_t) (y * n + i / n) * side + x * n + i % n] > 0;
            *covered = fmaxf(*covered, (float) count / (float) (n * n));
        }
}

// ---- the object

// The box of its logits, in cells, and how many cells count; 0: its mask is empty.
static int measure(const struct map *m, int logits, float box[4], float *least)
{
    const float cell = (float) m->side / (float) logits;
    float largest = 0;
    int count = 0;

    box[0] = box[1] = INFINITY, box[2] = box[3] = -INFINITY;
    for (int i = 0; i < logits * logits; i++)
        if (m->logits[i] > 0) {
            const float x = (float) (i % logits) * cell, y = (float) (i / logits) * cell;
            box[0] = fminf(box[0], x), box[1] = fminf(box[1], y);
            box[2] = fmaxf(box[2], x + cell), box[3] = fmaxf(box[3], y + cell);
        }
    for (int i = 0; i < m->side * m->side; i++)
        largest = fmaxf(largest, m->covered[i]);
    *least = fminf(COVERED, largest);
    for (int i = 0; largest > 0 && i < m->side * m->side; i++)
        count += m->covered[i] >= *least;
    return count;
}

// False: its mask is too small.
static bool find_thing(const struct map *m, int logits, struct thing *o)
{
    float box[4], least;
    const int count = measure(m, logits, box, &least);
    const int most = count < CELLS ? count : CELLS;

    *o = (struct thing) { .x = (int) ((box[0] + box[2]) / 2), .y = (int) ((box[1] + box[3]) / 2) };
    for (int i = 0, n = 0; count && i < m->side * m->side; i++) {
        if (m->covered[i] < least)
            continue;
        if ((n++ + 1) * (int64_t) most / count == o->count) // of many, some
            continue;
        struct cell *cell = &o->cell[o->count++];
        *cell = (struct cell) { i % m->side - o->x, i / m->side - o->y, m->covered[i] };
        o->energy += cell->weight * m->energy[i];
    }
    for (int e = 0; count && e < 4; e++)
        o->box[e] = box[e] - (float) (e % 2 ? o->y : o->x) - 0.5f;
    return count >= FEWEST && o->energy > 0;
}

// ---- likeness

// Of the place with its middle at (x, y). taken: how much of it objects cover; seen: of how much
// the frame shows.
static float compare(const struct map *m, const struct thing *o, int x, int y, float scale,
                     float *taken, float *seen)
{
    float product = 0, energy = 0, all = 0;

    *taken = *seen = 0;
    for (int i = 0; i < o->count; i++) {
        const struct cell *cell = &o->cell[i];
        const int px = x + (int) lrintf((float) cell->x * scale);
        const int py = y + (int) lrintf((float) cell->y * scale);
        all += cell->weight;
        if (px < 0 || px >= m->side || py < 0 || py >= m->side)
            continue;
        product += cell->weight * multiply(features_at(m, o->x + cell->x, o->y + cell->y),
                                           features_at(m, px, py), m->c);
        energy += cell->weight * m->energy[(size_t) py * m->side + px];
        *seen += cell->weight;
        *taken += m->covered[(size_t) py * m->side + px] >= COVERED ? cell->weight : 0;
    }
    *taken /= all, *seen /= all;
    return product / fmaxf(sqrtf(energy * o->energy), 1e-20f);
}

static void compare_all(struct map *m, const struct thing *o)
{
    for (int i = 0; i < m->side * m->side; i++) {
        m->likeness[i] = -INFINITY;
        m->scale[i] = NONE;
        for (int s = 0; s < SCALES; s++) {
            float taken, seen;
            const float like = compare(m, o, i % m->side, i / m->side, scales[s], &taken, &seen);
            if (!(like > m->likeness[i]))
                continue;
            m->likeness[i] = like;
            m->scale[i] = taken < TAKEN && seen >= SEEN ? (uint8_t) s : NONE;
        }
    }
}

// The first of the likest in its neighbourhood, whatever lies there: beside an object there are
// places like it which are none of their own.
static bool is_peak(const struct map *m, int i)
{
    for (int k = 0; k < 9; k++) {
        const int x = i % m->side + k % 3 - 1, y = i / m->side + k / 3 - 1, other = y * m->side + x;
        if (k == 4 || x < 0 || x >= m->side || y < 0 || y >= m->side)
            continue;
        if (m->likeness[other] > m->likeness[i] || (k < 4 && m->likeness[other] == m->likeness[i]))
            return false;
    }
    return true;
}

// The likest candidate; -1: there is none.
static int find_best(const struct map *m)
{
    int best = -1;

    for (int i = 0; i < m->side * m->side; i++)
        if (m->scale[i] != NONE && (best < 0 || m->likeness[i] > m->likeness[best]) &&
            is_peak(m, i))
            best = i;
    return best;
}

// ---- places

static float overlap(const float a[4], const float b[4])
{
    const float w = fminf(a[2], b[2]) - fmaxf(a[0], b[0]);
    const float h = fminf(a[3], b[3]) - fmaxf(a[1], b[1]);
    const float of_a = (a[2] - a[0]) * (a[3] - a[1]), of_b = (b[2] - b[0]) * (b[3] - b[1]);

    return w > 0 && h > 0 ? w * h / fminf(of_a, of_b) : 0;
}

static void place_box(const struct sam_tracker *t, const struct map *m, const struct thing *o,
                      int i, float box[4])
{
    for (int e = 0; e < 4; e++) {
        const int extent = e % 2 ? t->frame_height : t->frame_width;
        const int middle = e % 2 ? i / m->side : i % m->side;
        const float at = (float) middle + 0.5f + scales[m->scale[i]] * o->box[e];
        box[e] = fminf(fmaxf(at / (float) m->side, 0), 1) * (float) extent;
    }
}

static bool is_apart(const struct sam_likes *found, const float box[4])
{
    for (int i = 0; i < found->num_likes; i++)
        if (overlap(found->like[i].box, box) > APART)
            return false;
    return box[2] - box[0] >= 1 && box[3] - box[1] >= 1;
}

static void pick(const struct sam_tracker *t, struct map *m, const struct thing *o, float least,
                 struct sam_likes *found)
{
    for (int i; found->num_likes < SAM_MAX_LIKES && (i = find_best(m)) >= 0;) {
        struct sam_like like = { .likeness = fminf(m->likeness[i], 1) };
        if (like.likeness > found->best)
            found->best = like.likeness;
        if (!(like.likeness > 0 && like.likeness >= least))
            return;
        place_box(t, m, o, i, like.box);
        if (is_apart(found, like.box))
            found->like[found->num_likes++] = like;
        m->scale[i] = NONE;
    }
}

// ---- the call

static void look(struct sam_tracker *t, const struct sam_tracked *own, struct map *m, float least,
                 struct sam_likes *found)
{
    const size_t cells = (size_t) m->side * m->side;
    struct thing thing;

    read_features(t, m);
    memset(m->covered, 0, cells * sizeof(float));
    cover(t, m, own->row);
    if (t->queue.status || !find_thing(m, sam_logits_side(&t->model->config), &thing))
        return;
    for (int i = 0; i < t->params.max_objects; i++) {
        const struct sam_tracked *o = &t->mem.host.objects[i];
        if (o->id && o != own && o->row >= 0 && o->score > 0)
            cover(t, m, o->row);
    }
    if (t->queue.status)
        return;
    compare_all(m, &thing);
    pick(t, m, &thing, least, found);
}

static int find_likes(struct sam_tracker *t, const struct sam_tracked *own, float least,
                      struct sam_likes *found, struct sam_error *error)
{
    struct map m;
    const size_t bytes = lay_out(&m, &t->model->config, NULL);

    found->frame_index = (uint64_t) t->frame;
    if (!(own->score > 0))
        return SAM_OK;
    void *block = aligned_alloc(SAM_ALIGN, bytes);
    if (!block)
        return sam_fail(error, SAM_ENOMEM, "no memory: %.1f MiB are needed to look for likes",
                        (double) bytes / (1 << 20));
    lay_out(&m, &t->model->config, block);
    look(t, own, &m, least, found);
    free(block);
    return sam_finish(t, error);
}

static const struct sam_tracked *find_shown(const struct sam_tracker *t, uint64_t id)
{
    for (int i = 0; id && t->holds_frame && i < t->params.max_objects; i++)
        if (t->mem.host.objects[i].id == id && t->mem.host.objects[i].row >= 0)
            return &t->mem.host.objects[i];
    return NULL;
}

int sam_tracker_likes(sam_tracker *t, uint64_t id, float least, struct sam_likes *likes,
                      struct sam_error *error)
{
    int status = sam_sized_check(likes, sizeof(*likes), sizeof(*likes), "likes", error);
    struct sam_likes found = { 0 };

    if (status || (status = sam_enter(t, error)))
        return status;
    const struct sam_tracked *own = find_shown(t, id);
    if (!(least >= 0 && least <= 1))
        status = sam_fail(error, SAM_EINVAL, "likeness %g: expected 0 to 1", (double) least);
    else if (!own)
        status = sam_fail(error, SAM_ENOTFOUND, "no object with the id %llu is on the last frame",
                          (unsigned long long) id);
    else if (!(status = find_likes(t, own, least, &found, error)))
        sam_sized_write(likes, &found);
    return sam_leave(t, status);
}
