// The target model of an object: a linear function of a frame's features that tells its cells from
// those around it, fitted by ridge regression to the masks so far ("fast target models", Robinson
// et al., CVPR 2020). Its scores are added to the decoder's logits. docs/MODEL.md has the formulas.
//
// The sums of the regression are a few thousand numbers for each object and frame, which are kept
// in state.target as long as the object can be taken back to the frame after. They are made and
// solved on the host, on every backend: a millisecond's work for one thread.
#include <math.h>
#include <string.h>

#include "track.h"

static const float KEEP = 0.9f;    // of the sums of tracked frames, from frame to frame
static const float FAR = 0.3f;     // weight of cells that no cell of the object is near
static const float UNSURE = 0.2f;  // and of those that the mask is unsure about, least
static const float MOST = 1.5f;    // score, either way; fitted are 1 and -1
static const double RIDGE = 0.01;  // of the mean of the diagonal
enum { NEAR = 4 }; // cells, each way

// ---- Sums: of prompted frames and of tracked ones, a lower triangle of n x n and n numbers each.

struct sums {
    float *first, *first_y, *recent, *recent_y;
};

// The features and the constant 1.
static int count_of(const struct sam_config *c)
{
    return c->target_channels + 1;
}

static size_t triangle(int n)
{
    return (size_t) n * (size_t) (n + 1) / 2;
}

int sam_target_numbers(const struct sam_config *c)
{
    const int n = count_of(c);

    return c->target_channels ? 2 * ((int) triangle(n) + n) : 0;
}

int sam_target_each(const struct sam_bank_limits *l)
{
    return 1 + (l->history > 1 ? l->history : 1); // a frame can be run again
}

int sam_target_at(const struct sam_tracker *t, int slot, int64_t frame)
{
    const int each = sam_target_each(&t->limits);

    return (slot - 1) * each + (int) (frame % each);
}

static struct sums sums_in(float *x, int n)
{
    return (struct sums) { x, x + triangle(n), x + triangle(n) + n,
                           x + 2 * triangle(n) + n };
}

// What the object's last frame left; zeros of a new one.
static float *sums_before(struct sam_tracker *t, const struct sam_tracked *o)
{
    float *x = t->mem.host.target.sums;
    const struct sam_tensor all = t->mem.state.target;

    if (!o->was_tracked) {
        memset(x, 0, (size_t) all.c * sizeof(*x));
        return x;
    }
    const struct sam_tensor own = sam_slice(all, sam_target_at(t, o->slot, t->frame - 1));
    sam_queue_download(&t->queue, x, own.data, sam_tensor_bytes(&own));
    return x;
}

static void keep_sums(struct sam_tracker *t, const struct sam_tracked *o)
{
    const struct sam_tensor own =
        sam_slice(t->mem.state.target, sam_target_at(t, o->slot, t->frame));

    sam_queue_upload(&t->queue, own.data, t->mem.host.target.sums, sam_tensor_bytes(&own));
}

// ---- Fitting.

// L of the Cholesky decomposition of a lower triangle, in place, rows of n. False: it has none.
static bool decompose(double *a, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k <= i; k++) {
            double sum = a[i * n + k];
            for (int j = 0; j < k; j++)
                sum -= a[i * n + j] * a[k * n + j];
            if (i == k && !(sum > 0))
                return false;
            a[i * n + k] = i == k ? sqrt(sum) : sum / a[k * n + k];
        }
    return true;
}

static void solve(const double *l, int n, double *x)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++)
            x[i] -= l[i * n + j] * x[j];
        x[i] /= l[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            x[i] -= l[j * n + i] * x[j];
        x[i] /= l[i * n + i];
    }
}

// The weights (n) of the features; zeros if nothing is known yet.
static const double *fit(struct sam_tracker *t)
{
    const int n = count_of(&t->model->config);
    const struct sums s = sums_in(t->mem.host.target.sums, n);
    double *a = t->mem.host.target.matrix, *x = a + n * n, mean = 0;

    for (int i = 0, at = 0; i < n; i++) {
        for (int k = 0; k <= i; k++, at++)
            a[i * n + k] = (double) s.first[at] + (double) s.recent[at];
        mean += a[i * n + i] / n;
        x[i] = (double) s.first_y[i] + (double) s.recent_y[i];
    }
    for (int i = 0; i < n; i++)
        a[i * n + i] += RIDGE * mean;
    if (decompose(a, n))
        solve(a, n, x);
    else
        memset(x, 0, (size_t) n * sizeof(*x));
    return x;
}

// ---- Scores.

static void score_cells(struct sam_tracker *t, const double *weights)
{
    const int k = t->model->config.target_channels, side = 2 * sam_grid(&t->model->config);
    const struct sam_target_room *room = &t->mem.host.target;
    float w[SAM_MAX_TARGET];

    for (int c = 0; c < k; c++)
        w[c] = (float) weights[c];
    for (int i = 0; i < side * side; i++) {
        const float *x = room->features + (size_t) i * (size_t) k;
        float sum = (float) weights[k];
        for (int c = 0; c < k; c++)
            sum += w[c] * x[c];
        room->cell[i] = fminf(fmaxf(sum, -MOST), MOST);
    }
}

// Entry i of scratch.out: its logits += weight x scores, which are made twice as large.
static void add_scores(struct sam_tracker *t, int i)
{
    const struct sam_scratch *s = &t->mem.scratch;
    const struct sam_tensor cells = s->target_scores, large = s->mask_logits;
    const struct sam_tensor low =
        sam_reshape(sam_slice(s->out.low_res, i), 1, large.h, large.w, 1);

    sam_queue_upload(&t->queue, cells.data, t->mem.host.target.cell, sam_tensor_bytes(&cells));
    sam_op_resize(&t->queue, &(struct sam_resize) { .dst = large, .src = cells });
    sam_op_add(&t->queue, &(struct sam_add) { .dst = low, .a = low, .b = large,
                                              .scale = t->model->config.target_weight });
}

// ---- Learning.

// Means of the probability over the 2 x 2 places of each cell. Returns how many are the object's.
static int average(float *cell, const float *logits, int side)
{
    int inside = 0;

    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            const float *at = logits + 2 * (y * 2 * side + x);
            float sum = 0;
            for (int k = 0; k < 4; k++)
                sum += 1 / (1 + expf(-at[k / 2 * 2 * side + k % 2]));
            cell[y * side + x] = sum / 4;
            inside += sum > 2;
        }
    return inside;
}

static bool is_near(const float *cell, int side, int x, int y)
{
    for (int v = y - NEAR; v <= y + NEAR; v++)
        for (int u = x - NEAR; u <= x + NEAR; u++)
            if (u >= 0 && v >= 0 && u < side && v < side && cell[v * side + u] > 0.5f)
                return true;
    return false;
}

// sums += share of one cell's products, x (n) with y.
static void add_cell(float *sums, float *sums_y, const float *x, int n, float y, float share)
{
    for (int i = 0; i < n; i++) {
        const float scaled = share * x[i];
        for (int k = 0; k <= i; k++)
            sums[k] += scaled * x[k];
        sums += i + 1;
        sums_y[i] += scaled * y;
    }
}

// The mask's products with the features, times share. The object's cells weigh as much as all
// others.
static void add_frame(struct sam_tracker *t, float *sums, float *sums_y, float share)
{
    const int k = t->model->config.target_channels, side = 2 * sam_grid(&t->model->config);
    const struct sam_target_room *room = &t->mem.host.target;
    const int inside = average(room->cell, room->logits, side), outside = side * side - inside;
    float x[SAM_MAX_TARGET + 1];

    x[k] = 1;
    for (int i = 0; i < side * side; i++) {
        const float p = room->cell[i], y = 2 * p - 1;
        float weight = share / (float) (p > 0.5f ? inside : outside);
        weight *= is_near(room->cell, side, i % side, i / side) ? 1 : FAR;
        weight *= UNSURE + (1 - UNSURE) * fabsf(y);
        memcpy(x, room->features + (size_t) i * (size_t) k, (size_t) k * sizeof(float));
        add_cell(sums, sums_y, x, k + 1, y, weight);
    }
}

static void scale(float *x, size_t count, float by)
{
    for (size_t i = 0; i < count; i++)
        x[i] *= by;
}

static void learn_tracked(struct sam_tracker *t)
{
    const int n = count_of(&t->model->config);
    const struct sums s = sums_in(t->mem.host.target.sums, n);

    scale(s.recent, triangle(n) + (size_t) n, KEEP);
    add_frame(t, s.recent, s.recent_y, 1 - KEEP);
}

// The mean of all prompted frames; what was tracked before is forgotten.
static void learn_prompted(struct sam_tracker *t, int prompted)
{
    const int n = count_of(&t->model->config);
    const struct sums s = sums_in(t->mem.host.target.sums, n);

    scale(s.first, triangle(n) + (size_t) n, 1 - 1 / (float) prompted);
    add_frame(t, s.first, s.first_y, 1 / (float) prompted);
    memset(s.recent, 0, (triangle(n) + (size_t) n) * sizeof(float));
}

// ---- Frames.

static void look(struct sam_tracker *t)
{
    const struct sam_tensor features = t->mem.scratch.target_features;

    sam_target_run(&t->queue, t->model, &t->mem.scratch.target, &t->mem.state.features, features);
    sam_stage_keep(t, SAM_TURN_FRAME, 0, "target.features", features, 0, SAM_STAGE_TOKENS);
    sam_queue_download(&t->queue, t->mem.host.target.features, features.data,
                       sam_tensor_bytes(&features));
}

// The logits of entry i of scratch.out to the host, to be learnt from.
static void take_logits(struct sam_tracker *t, int i)
{
    const struct sam_tensor low = sam_slice(t->mem.scratch.out.low_res, i);

    sam_queue_download(&t->queue, t->mem.host.target.logits, low.data, sam_tensor_bytes(&low));
}

static void track_one(struct sam_tracker *t, const struct sam_tracked *o, int i)
{
    sums_before(t, o);
    if (sam_is_present(t, i)) {
        score_cells(t, fit(t));
        add_scores(t, i);
        take_logits(t, i);
        learn_tracked(t);
    }
    keep_sums(t, o);
}

void sam_target_track(struct sam_tracker *t, const struct sam_batch *b)
{
    look(t);
    for (int i = 0; i < b->n; i++)
        track_one(t, b->object[i], i);
}

void sam_target_prompt(struct sam_tracker *t, const struct sam_tracked *o)
{
    look(t);
    sums_before(t, o);
    if (sam_is_present(t, 0)) {
        take_logits(t, 0);
        learn_prompted(t, o->bank.num_cond);
    }
    keep_sums(t, o);
}
