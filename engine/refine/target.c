// The target model of an object: a linear function of a frame's features that tells its cells from
// those around it, fitted by ridge regression to the masks so far ("fast target models", Robinson
// et al., CVPR 2020). Its scores are added to the decoder's logits. docs/MODEL.md has the formulas.
//
// The sums of the regression are a few thousand numbers for each object and frame. They are made
// and solved on the host, on every backend: a millisecond's work for one thread.
#include <math.h>
#include <string.h>

#include "net/forward.h"
#include "refine.h"

static const float KEEP = 0.9f;    // of the sums of tracked frames, from frame to frame
static const float FAR = 0.3f;     // weight of cells that no cell of the object is near
static const float UNSURE = 0.2f;  // and of those that the mask is unsure about, least
static const float MOST = 1.5f;    // score, either way; fitted are 1 and -1
static const double RIDGE = 0.01;  // of the mean of the diagonal
enum { NEAR = 4 }; // cells, each way

// Rooms; cells are of stride 8, n = channels + 1.
enum {
    FEATURES, // scratch (1, 2h, 2h, channels): of the frame; host (cells, channels)
    SCORES,   // scratch (1, 2h, 2h, 1): of one object; host (cells): or how much of each it covers
    LARGE,    // scratch (1, S/4, S/4, 1): its scores
    NORMED,   // scratch, and the next four: of sam_target_run()
    LOGITS = NORMED, // host (S/4)^2: of one object
    SUMS,     // host: what is kept of it
    MATRIX,   // host: double (n + 1, n)
};

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

static int numbers(const struct sam_config *c)
{
    const int n = count_of(c);

    return 2 * ((int) triangle(n) + n);
}

static struct sums sums_in(float *x, int n)
{
    return (struct sums) { x, x + triangle(n), x + triangle(n) + n,
                           x + 2 * triangle(n) + n };
}

static float *host_room(const struct sam_refining *r, int which)
{
    return r->memory->host[which];
}

// What the frame before left of entry i; zeros of a new object.
static float *sums_before(const struct sam_refining *r, int i)
{
    const struct sam_tensor all = r->memory->kept;
    float *x = host_room(r, SUMS);

    if (r->before[i] < 0) {
        memset(x, 0, (size_t) all.c * sizeof(*x));
        return x;
    }
    const struct sam_tensor own = sam_slice(all, r->before[i]);
    sam_queue_download(r->queue, x, own.data, sam_tensor_bytes(&own));
    return x;
}

static void keep_sums(const struct sam_refining *r, int i)
{
    const struct sam_tensor own = sam_slice(r->memory->kept, r->after[i]);

    sam_queue_upload(r->queue, own.data, host_room(r, SUMS), sam_tensor_bytes(&own));
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
static const double *fit(const struct sam_refining *r)
{
    const int n = count_of(&r->model->config);
    const struct sums s = sums_in(host_room(r, SUMS), n);
    double *a = r->memory->host[MATRIX], *x = a + n * n, mean = 0;

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

static void score_cells(const struct sam_refining *r, const double *weights)
{
    const int k = r->model->config.target_channels, side = 2 * sam_grid(&r->model->config);
    const float *features = host_room(r, FEATURES);
    float w[SAM_MAX_TARGET], *cell = host_room(r, SCORES);

    for (int c = 0; c < k; c++)
        w[c] = (float) weights[c];
    for (int i = 0; i < side * side; i++) {
        const float *x = features + (size_t) i * (size_t) k;
        float sum = (float) weights[k];
        for (int c = 0; c < k; c++)
            sum += w[c] * x[c];
        cell[i] = fminf(fmaxf(sum, -MOST), MOST);
    }
}

// Entry i: its logits += weight x scores, which are made twice as large.
static void add_scores(const struct sam_refining *r, int i)
{
    const struct sam_tensor cells = r->memory->scratch[SCORES], large = r->memory->scratch[LARGE];
    const struct sam_tensor low =
        sam_reshape(sam_slice(r->out->low_res, i), 1, large.h, large.w, 1);

    sam_queue_upload(r->queue, cells.data, host_room(r, SCORES), sam_tensor_bytes(&cells));
    sam_op_resize(r->queue, &(struct sam_resize) { .dst = large, .src = cells });
    sam_op_add(r->queue, &(struct sam_add) { .dst = low, .a = low, .b = large,
                                             .scale = r->model->config.target_weight });
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
static void add_frame(const struct sam_refining *r, float *sums, float *sums_y, float share)
{
    const int k = r->model->config.target_channels, side = 2 * sam_grid(&r->model->config);
    const float *features = host_room(r, FEATURES);
    float x[SAM_MAX_TARGET + 1], *cell = host_room(r, SCORES);
    const int inside = average(cell, host_room(r, LOGITS), side), outside = side * side - inside;

    x[k] = 1;
    for (int i = 0; i < side * side; i++) {
        const float p = cell[i], y = 2 * p - 1;
        float weight = share / (float) (p > 0.5f ? inside : outside);
        weight *= is_near(cell, side, i % side, i / side) ? 1 : FAR;
        weight *= UNSURE + (1 - UNSURE) * fabsf(y);
        memcpy(x, features + (size_t) i * (size_t) k, (size_t) k * sizeof(float));
        add_cell(sums, sums_y, x, k + 1, y, weight);
    }
}

static void scale(float *x, size_t count, float by)
{
    for (size_t i = 0; i < count; i++)
        x[i] *= by;
}

static void learn_tracked(const struct sam_refining *r)
{
    const int n = count_of(&r->model->config);
    const struct sums s = sums_in(host_room(r, SUMS), n);

    scale(s.recent, triangle(n) + (size_t) n, KEEP);
    add_frame(r, s.recent, s.recent_y, 1 - KEEP);
}

// The mean of all prompted frames; what was tracked before is forgotten.
static void learn_prompted(const struct sam_refining *r, int prompted)
{
    const int n = count_of(&r->model->config);
    const struct sums s = sums_in(host_room(r, SUMS), n);

    scale(s.first, triangle(n) + (size_t) n, 1 - 1 / (float) prompted);
    add_frame(r, s.first, s.first_y, 1 / (float) prompted);
    memset(s.recent, 0, (triangle(n) + (size_t) n) * sizeof(float));
}

// ---- Frames.

static void look(const struct sam_refining *r)
{
    const struct sam_tensor *room = r->memory->scratch, features = room[FEATURES];
    struct sam_target_scratch s = { room[NORMED], room[NORMED + 1], room[NORMED + 2],
                                    room[NORMED + 3], room[NORMED + 4] };

    sam_target_run(r->queue, r->model, &s, r->features, features);
    sam_probe_write(r->probe, r->queue, "target.features",
                    sam_reshape(features, 1, 1, features.h * features.w, features.c));
    sam_queue_download(r->queue, host_room(r, FEATURES), features.data,
                       sam_tensor_bytes(&features));
}

// The logits of entry i to the host, to be learnt from.
static void take_logits(const struct sam_refining *r, int i)
{
    const struct sam_tensor low = sam_slice(r->out->low_res, i);

    sam_queue_download(r->queue, host_room(r, LOGITS), low.data, sam_tensor_bytes(&low));
}

// Add the scores to the logits of entry i, then learn from them.
static void track_one(const struct sam_refining *r, int i)
{
    sums_before(r, i);
    if (sam_refine_is_present(r, i)) {
        score_cells(r, fit(r));
        add_scores(r, i);
        take_logits(r, i);
        learn_tracked(r);
    }
    keep_sums(r, i);
}

static void track(const struct sam_refining *r)
{
    look(r);
    for (int i = 0; i < r->n; i++)
        track_one(r, i);
}

// Learn from the mask that was prompted, instead of what it was tracked to.
static void learn(const struct sam_refining *r)
{
    look(r);
    sums_before(r, 0);
    if (sam_refine_is_present(r, 0)) {
        take_logits(r, 0);
        learn_prompted(r, r->prompted[0]);
    }
    keep_sums(r, 0);
}

static bool is_on(const struct sam_config *c)
{
    return c->target_channels > 0;
}

static void lay_out_scratch(struct sam_refine_memory *m, const struct sam_config *c,
                            struct sam_arena *a)
{
    const int h = sam_grid(c);
    struct sam_target_scratch s;

    m->scratch[FEATURES] = sam_arena_tensor(a, SAM_F32, 1, 2 * h, 2 * h, c->target_channels);
    m->scratch[SCORES] = sam_arena_tensor(a, SAM_F32, 1, 2 * h, 2 * h, 1);
    m->scratch[LARGE] = sam_arena_tensor(a, SAM_F32, 1, 4 * h, 4 * h, 1);
    sam_target_layout(&s, c, a);
    const struct sam_tensor parts[] = { s.image, s.s1, s.s0, s.coarse, s.part };
    memcpy(&m->scratch[NORMED], parts, sizeof(parts));
}

static void lay_out_host(struct sam_refine_memory *m, const struct sam_config *c,
                         struct sam_arena *a)
{
    const size_t side = 2 * (size_t) sam_grid(c), cells = side * side;
    const size_t k = (size_t) c->target_channels, n = k + 1;

    m->host[FEATURES] = sam_arena_bytes(a, cells * k * sizeof(float));
    m->host[SCORES] = sam_arena_bytes(a, cells * sizeof(float));
    m->host[LOGITS] = sam_arena_bytes(a, 4 * cells * sizeof(float));
    m->host[SUMS] = sam_arena_bytes(a, (size_t) numbers(c) * sizeof(float));
    m->host[MATRIX] = sam_arena_bytes(a, (n + 1) * n * sizeof(double));
}

const struct sam_refiner sam_refine_target = {
    .key = "target_model", .is_on = is_on, .numbers = numbers,
    .lay_out_scratch = lay_out_scratch, .lay_out_host = lay_out_host,
    .tracked = track, .prompted = learn,
};
