// SPDX-License-Identifier: MIT
#include "ops/cpu/attention.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

// Rows of heads in memory: row j is the (j / width)-th line's (j % width)-th position of a map
// whose lines are `pitch` bytes apart. A sequence is a single line.
struct region {
    uint8_t *base;
    size_t step, pitch; // bytes from position to position, from line to line
    int width;
    enum sam_type type;
};

// One softmax for each query: all its keys and values, for one head.
struct item {
    struct region q, k, v, dst;
    int num_queries, num_keys;
    // A further key and value, F32, that counts num_pads times; 0: none.
    const float *pad_k, *pad_v;
    int num_pads;
    int num_first; // the scores of keys from there on have `rest` added
    float rest;    // 0: none has
    bool pool; // query j is the largest of the cell at (2 y, 2 x) of q
};

struct job {
    const struct sam_attention_kernel *kernel;
    struct sam_pool *pool;
    void (*make_item)(const void *op, int i, struct item *item);
    const void *op;
    int dk, dv;
    float scale;
    bool exact;             // multiplied in F32 whatever the precision
    bool raw_k, raw_v; // lie in memory in the kernel's numbers
    int num_items, shares;  // of each item's queries
    int num_tasks;          // each takes its part of the num_items * shares
    int columns, block;     // at most, of one share; of keys
};

// A thread's arrays, cut from its workspace.
struct scratch {
    struct sam_attend attend;
    const void **keys, **values; // rows of the block
    uint32_t *key_words, *value_words; // converted rows, pads first
    float *pooled; // a column of queries
};

static int round_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

// The widest heads: queries and results, values packed, keys and values converted; the rest is
// small.
_Static_assert(SAM_ATTEND_BYTES + 3 * (SAM_ATTEND_KEYS + 1) * SAM_MAX_HEAD_DIM * 4 + (256 << 10) <=
                   SAM_POOL_WORKSPACE,
               "a share's arrays do not fit a thread's workspace");

static void *cut(uint8_t *base, size_t *used, size_t bytes)
{
    void *p = base + *used;
    *used += (bytes + 63) / 64 * 64;
    return p;
}

static void lay_out(const struct job *job, uint8_t *base, struct scratch *s)
{
    const struct sam_attention_kernel *kernel = job->kernel;
    const int per_word = kernel->pairs ? 2 : 1, lanes = kernel->lanes;
    const int rows = round_up(job->block, SAM_ATTEND_ROWS);
    const size_t queries = (size_t) job->columns * lanes;
    struct sam_attend *a = &s->attend;

    *a = (struct sam_attend) {
        .dk = job->dk,
        .dv = job->dv,
        .depth = (job->dk + per_word - 1) / per_word,
        .values = round_up(job->dv, kernel->rows),
        .exponent = fabsf(job->scale) * (float) M_LOG2E,
    };
    const int value_depth = (job->dv + per_word - 1) / per_word;
    size_t used = 0;
    a->query = cut(base, &used, queries * a->depth * 4);
    a->out = cut(base, &used, queries * a->values * sizeof(float));
    a->max = cut(base, &used, queries * sizeof(float));
    a->sum = cut(base, &used, queries * sizeof(float));
    a->score = cut(base, &used, (size_t) rows * SAM_ATTEND_PANEL * sizeof(float));
    a->value = cut(base, &used, (size_t) rows * a->values * 4 / per_word);
    a->key = cut(base, &used, (size_t) rows * a->depth * 4);
    a->key_rows = cut(base, &used, rows * sizeof(void *));
    s->keys = cut(base, &used, rows * sizeof(void *));
    s->values = cut(base, &used, rows * sizeof(void *));
    s->key_words = cut(base, &used, (size_t) (job->raw_k ? 1 : rows + 1) * a->depth * 4);
    s->value_words = cut(base, &used, (size_t) (job->raw_v ? 1 : rows + 1) * value_depth * 4);
    s->pooled = cut(base, &used, (size_t) lanes * job->dk * sizeof(float));
}

static uint8_t *row_of(const struct region *r, int j)
{
    return r->base + j / r->width * r->pitch + j % r->width * r->step;
}

// Bytes from a row to the one `num` further, or 0 where that varies.
static long stride_of(const struct region *r, int num)
{
    return r->pitch && r->pitch != r->width * r->step ? 0 : (long) (num * r->step);
}

static inline float larger(float a, float b)
{
    return a > b ? a : b;
}

// The largest of a cell of 2 x 2 positions, the first of them at p, its line below at q.
static void pool_floats(float *restrict dst, const float *p, const float *q, size_t step, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = larger(larger(p[i], p[step + i]), larger(q[i], q[step + i]));
}

static void pool_halves(float *restrict dst, const sam_bf16 *p, const sam_bf16 *q, size_t step,
                        int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = larger(larger(sam_bf16_to_float(p[i]), sam_bf16_to_float(p[step + i])),
                        larger(sam_bf16_to_float(q[i]), sam_bf16_to_float(q[step + i])));
}

static void pool_row(float *dst, const struct region *q, const uint8_t *cell, int n)
{
    const void *above = cell, *below = cell + q->pitch;
    if (q->type == SAM_F32)
        pool_floats(dst, above, below, q->step / sizeof(float), n);
    else
        pool_halves(dst, above, below, q->step / sizeof(sam_bf16), n);
}

static void load_queries(const struct job *job, const struct item *item, struct scratch *s,
                         int first)
{
    const int lanes = job->kernel->lanes;
    for (int column = 0; column < s->attend.columns; column++) {
        const void *rows[SAM_ATTEND_LANES] = { NULL };
        for (int i = 0; i < lanes && first + column * lanes + i < item->num_queries; i++) {
            const int j = first + column * lanes + i;
            if (!item->pool) {
                rows[i] = row_of(&item->q, j);
                continue;
            }
            // The cells lie as the results do.
            const int y = j / item->dst.width, x = j % item->dst.width;
            float *dst = s->pooled + (size_t) i * job->dk;
            pool_row(dst, &item->q, item->q.base + 2 * y * item->q.pitch + 2 * x * item->q.step,
                     job->dk);
            rows[i] = dst;
        }
        job->kernel->load_column(&s->attend, column, rows, item->pool ? SAM_F32 : item->q.type,
                                 job->scale < 0.0f);
    }
}

// The rows `first` to `first + num`, in the kernel's numbers. The last may be the pad, which
// stands converted in words; further words hold what else has to be converted.
static void list_rows(const struct job *job, const struct item *item, const struct region *r,
                      bool raw, int first, int num, int n, uint32_t *words, const void **rows)
{
    const int per_word = job->kernel->pairs ? 2 : 1, depth = (n + per_word - 1) / per_word;
    int y = first / r->width, x = first % r->width;
    for (int j = 0; j < num; j++) {
        if (first + j == item->num_keys) {
            rows[j] = words;
            continue;
        }
        const uint8_t *row = r->base + y * r->pitch + x * r->step;
        if (++x == r->width)
            x = 0, y++;
        if (raw) {
            rows[j] = row;
        } else {
            uint32_t *dst = words + (size_t) (j + 1) * depth;
            job->kernel->convert(dst, row, r->type, n);
            rows[j] = dst;
        }
    }
}

static void attend_to_keys(const struct job *job, const struct item *item, struct scratch *s)
{
    struct sam_attend *a = &s->attend;
    const int total = item->num_keys + (item->num_pads > 0);
    // Blocks of much the same size, none of them a leftover of one key.
    const int blocks = (total + job->block - 1) / job->block;
    const int size = round_up((total + blocks - 1) / blocks, SAM_ATTEND_ROWS);

    if (item->num_pads) {
        job->kernel->convert(s->key_words, item->pad_k, SAM_F32, job->dk);
        job->kernel->convert(s->value_words, item->pad_v, SAM_F32, job->dv);
    }
    for (int first = 0; first < total; first += size) {
        const int num = total - first < size ? total - first : size;
        list_rows(job, item, &item->k, job->raw_k, first, num, job->dk, s->key_words, s->keys);
        list_rows(job, item, &item->v, job->raw_v, first, num, job->dv, s->value_words, s->values);
        for (int j = num; j < round_up(num, SAM_ATTEND_ROWS); j++)
            s->keys[j] = s->keys[num - 1]; // groups are whole; what is beyond num is not read
        const bool last = first + num == total;
        a->keys_ahead = last || !job->raw_k ? 0 : stride_of(&item->k, size);
        a->values_ahead = last || !job->raw_v ? 0 : stride_of(&item->v, size);
        if (item->num_pads) { // it stands last
            a->extra = last ? log2f((float) item->num_pads) / a->exponent : 0.0f;
            a->extra_from = num - 1;
        } else {
            a->extra = item->rest * (float) M_LOG2E / a->exponent;
            a->extra_from = item->num_first > first ? item->num_first - first : 0;
        }
        job->kernel->block(a, s->keys, s->values, num);
    }
}

static void store_results(const struct job *job, const struct item *item, struct scratch *s,
                          int first)
{
    const int lanes = job->kernel->lanes;
    for (int column = 0; column < s->attend.columns; column++) {
        void *rows[SAM_ATTEND_LANES] = { NULL };
        for (int i = 0; i < lanes && first + column * lanes + i < item->num_queries; i++)
            rows[i] = row_of(&item->dst, first + column * lanes + i);
        job->kernel->store_column(&s->attend, column, rows, item->dst.type);
    }
}

static void run_share(const struct job *job, int i, struct scratch *s)
{
    struct item item = { 0 };
    job->make_item(job->op, i / job->shares, &item);
    const int lanes = job->kernel->lanes, share = i % job->shares;
    const int columns = (item.num_queries + lanes - 1) / lanes;
    const int from = (int) ((long) columns * share / job->shares);
    s->attend.columns = (int) ((long) columns * (share + 1) / job->shares) - from;
    if (s->attend.columns == 0)
        return;
    load_queries(job, &item, s, from * lanes);
    job->kernel->start(&s->attend);
    attend_to_keys(job, &item, s);
    store_results(job, &item, s, from * lanes);
}

// A window comes from far: ask for the rows of the next one while this one is worked on.
static void fetch_rows(const struct region *r, int num, int n)
{
    const int bytes = n * (int) sam_type_size(r->type);
    for (int j = 0; j < num; j++) {
        const uint8_t *row = row_of(r, j);
        for (int i = 0; i < bytes; i += 64)
            __builtin_prefetch(row + i, 0, 2);
    }
}

static void fetch_item(const struct job *job, int i)
{
    struct item item;
    job->make_item(job->op, i, &item);
    if (item.num_keys > SAM_ATTEND_KEYS * 2)
        return;
    fetch_rows(&item.k, item.num_keys, job->dk);
    fetch_rows(&item.v, item.num_keys, job->dv);
    fetch_rows(&item.q, item.pool ? item.num_keys : item.num_queries, job->dk);
}

static void run_task(void *priv, int task, int thread)
{
    const struct job *job = priv;
    struct scratch s;
    lay_out(job, sam_pool_workspace(job->pool, thread), &s);

    const long total = (long) job->num_items * job->shares;
    const long end = total * (task + 1) / job->num_tasks;
    for (long i = total * task / job->num_tasks; i < end; i++) {
        if (i + 1 < total && job->shares == 1)
            fetch_item(job, i + 1);
        run_share(job, (int) i, &s);
    }
}

// Shares of the queries of an item: few enough columns for the caches, and so many that the
// threads end together. Tasks: many small items in one.
static void divide(struct job *job, int num_queries)
{
    const int lanes = job->kernel->lanes, threads = sam_pool_width(job->pool);
    const int columns = (num_queries + lanes - 1) / lanes;

    job->shares = (columns + job->columns - 1) / job->columns;
    while ((long) job->num_items * job->shares < 8L * threads && job->shares < columns &&
           job->num_items * job->shares % threads)
        job->shares++;
    job->columns = (columns + job->shares - 1) / job->shares;
    const long total = (long) job->num_items * job->shares;
    job->num_tasks = total < 32L * threads ? (int) total : 32 * threads;
}

static void run_job(struct sam_queue *q, struct job *job, int num_queries, bool bf16_k,
                    bool bf16_v)
{
    const struct sam_cpu *cpu = sam_cpu(q);
    job->pool = cpu->pool;
    job->kernel = job->exact ? cpu->attention_f32 : cpu->attention;
    const bool pairs = job->kernel->pairs;
    job->raw_k = bf16_k == pairs && !(pairs && job->dk % 2);
    job->raw_v = bf16_v == pairs;

    job->block = SAM_ATTEND_KEYS;
    const int bytes = job->kernel->lanes * (job->dk + job->dv) * 4; // of a column's Q and O
    job->columns = SAM_ATTEND_BYTES / bytes;
    if (job->columns > SAM_ATTEND_COLUMNS)
        job->columns = SAM_ATTEND_COLUMNS;
    divide(job, num_queries);
    sam_pool_run(job->pool, job->num_tasks, run_task, job);
}

// Head `head` of entry n; an n of 1 is shared.
static struct region sequence(const struct sam_tensor *t, int n, int head, int heads)
{
    const size_t size = sam_type_size(t->type);
    n = t->n == 1 ? 0 : n;
    return (struct region) {
        .base = (uint8_t *) t->data + ((size_t) n * t->w * t->c + head * (t->c / heads)) * size,
        .step = t->c * size,
        .width = t->w,
        .type = t->type,
    };
}

static void make_sequence(const void *op, int i, struct item *item)
{
    const struct sam_attention *p = op;
    const int n = i / p->heads, head = i % p->heads;
    *item = (struct item) {
        .q = sequence(&p->q, n, head, p->heads),
        .k = sequence(&p->k, n, head, p->heads),
        .v = sequence(&p->v, n, head, p->heads),
        .dst = sequence(&p->dst, n, head, p->heads),
        .num_queries = p->q.w,
        .num_keys = p->num_keys.data ? ((const int32_t *) p->num_keys.data)[n] : p->k.w,
    };
    if (p->num_first.data) {
        item->num_first = ((const int32_t *) p->num_first.data)[n];
        item->rest = p->rest;
    }
}

void sam_attention_cpu(struct sam_queue *q, const struct sam_attention *p)
{
    struct job job = {
        .make_item = make_sequence,
        .op = p,
        .dk = p->q.c / p->heads,
        .dv = p->v.c / p->heads,
        .scale = p->scale,
        .exact = p->exact,
        .num_items = p->q.n * p->heads,
    };
    run_job(q, &job, p->q.w, p->k.type == SAM_BF16, p->v.type == SAM_BF16);
}

static int windows_along(int size, int window)
{
    return window ? (size + window - 1) / window : 1;
}

// Part `part` (0 q, 1 k, 2 v) of a head, from position (y, x) on, `width` positions wide.
static struct region window_of(const struct sam_tensor *t, int n, int y, int x, int width,
                               int channel)
{
    const size_t size = sam_type_size(t->type);
    return (struct region) {
        .base = (uint8_t *) t->data +
                ((((size_t) n * t->h + y) * t->w + x) * t->c + channel) * size,
        .step = t->c * size,
        .pitch = t->w * t->c * size,
        .width = width,
        .type = t->type,
    };
}

// A window is cut off at the border of the map. What it lacks are equal tokens: one key that
// counts as often; and no query, as nobody asks for their results.
static void make_window(const void *op, int i, struct item *item)
{
    const struct sam_window_attention *p = op;
    const struct sam_tensor *t = &p->qkv;
    const int across = windows_along(t->w, p->window), down = windows_along(t->h, p->window);
    const int c = t->c / 3, channel = i % p->heads * (c / p->heads), shrink = p->pool ? 2 : 1;
    i /= p->heads;
    const int y = i / across % down * p->window, x = i % across * p->window;
    const int n = i / (across * down);
    const int height = p->window && p->window < t->h - y ? p->window : t->h - y;
    const int width = p->window && p->window < t->w - x ? p->window : t->w - x;

    *item = (struct item) {
        .q = window_of(t, n, y, x, width, channel),
        .k = window_of(t, n, y, x, width, c + channel),
        .v = window_of(t, n, y, x, width, 2 * c + channel),
        .dst = window_of(&p->dst, n, y / shrink, x / shrink, width / shrink, channel),
        .num_queries = (height / shrink) * (width / shrink),
        .num_keys = height * width,
        .num_pads = p->window ? p->window * p->window - height * width : 0,
        .pool = p->pool,
    };
    if (item->num_pads) {
        item->pad_k = (const float *) p->pad.data + c + channel;
        item->pad_v = item->pad_k + c;
    }
}

void sam_window_attention_cpu(struct sam_queue *q, const struct sam_window_attention *p)
{
    const struct sam_tensor *t = &p->qkv;
    const int across = windows_along(t->w, p->window), down = windows_along(t->h, p->window);
    const int head_dim = t->c / 3 / p->heads, cell = p->pool ? 4 : 1;
    struct job job = {
        .make_item = make_window,
        .op = p,
        .dk = head_dim,
        .dv = head_dim,
        .scale = 1.0f / sqrtf((float) head_dim),
        .num_items = t->n * down * across * p->heads,
    };
    const bool bf16 = t->type == SAM_BF16;
    run_job(q, &job, (p->window ? p->window * p->window : t->h * t->w) / cell, bf16, bf16);
}
