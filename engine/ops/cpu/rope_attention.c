// Attention with keys that are made on the way (attention_rope.h): which queries, which keys,
// in which order. The keys go by place: all that is remembered there meets the same sums.
#include <math.h>
#include <string.h>

#include "half.h"
#include "ops/cpu/attention.h"

enum {
    COLUMNS = 6,  // of one share, at most: two panels
    TILE = 4,     // places side by side whose terms stay in L2 while y runs over the grid
    BLOCKS = 2,   // the one that is worked on and the next
};

struct job {
    const struct sam_attention_kernel *kernel;
    struct sam_pool *pool;
    const struct sam_rope_attention *op;
    bool raw_keys, raw_values; // lie in memory in the kernel's numbers
    int shares;                // of the queries of each n
    int columns;               // of a share, at most
};

struct scratch {
    struct sam_rope_attend rope;
    struct sam_rope_block block[BLOCKS];
    uint32_t *words[BLOCKS]; // converted rows of a block: its keys, then its values
};

// Where the walk over the keys of one n stands.
struct walk {
    const uint8_t *keys, *values;
    int num_keys, num_rotated, side;
    int tile, y, x; // the next place; tile: its first x
    int map;        // the next of its keys
    int loose;      // the next key that is not turned
};

static int round_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

static void *cut(uint8_t *base, size_t *used, size_t bytes)
{
    void *p = base + *used;
    *used += (bytes + 63) / 64 * 64;
    return p;
}

// A thread's arrays for shares of `columns` columns; base NULL: only their size.
static size_t lay_out(const struct sam_attention_kernel *kernel, int d, int m, int dv, int side,
                      int columns, uint8_t *base, struct scratch *s)
{
    const int per_word = kernel->pairs ? 2 : 1, rows = SAM_ATTEND_KEYS;
    const int sums = rows > m + SAM_ATTEND_ROWS ? rows : m + SAM_ATTEND_ROWS;
    const size_t queries = (size_t) columns * kernel->lanes;
    size_t used = 0;

    *s = (struct scratch) { .rope = { .d = d, .m = m, .side = side } };
    struct sam_rope_attend *r = &s->rope;
    struct sam_attend *a = &r->attend;
    a->dv = dv;
    a->values = round_up(dv, kernel->rows);
    a->out = cut(base, &used, queries * a->values * sizeof(float));
    a->max = cut(base, &used, queries * sizeof(float));
    a->sum = cut(base, &used, queries * sizeof(float));
    a->score = cut(base, &used, (size_t) sums * SAM_ATTEND_PANEL * sizeof(float));
    a->value = cut(base, &used, (size_t) rows * a->values * 4 / per_word);
    r->query = cut(base, &used, queries * d * sizeof(float));
    r->turned = cut(base, &used, (size_t) SAM_ATTEND_PANEL * d / 2 * sizeof(float));
    for (int axis = 0; axis < 2; axis++) {
        r->along[axis] = cut(base, &used, queries * (m + 1) * (side + 1) * sizeof(float));
        r->weight[axis] = cut(base, &used, (m + 1) * sizeof(void *));
        uint32_t *words = cut(base, &used, (size_t) (m + 1) * d / 2 * sizeof(float));
        for (int i = 0; base && i <= m; i++)
            r->weight[axis][i] = words + (size_t) i * d / 2;
    }
    for (int i = 0; i < BLOCKS; i++) {
        s->block[i].places = cut(base, &used, rows * sizeof(struct sam_rope_place));
        s->block[i].keys = cut(base, &used, rows * sizeof(void *));
        s->block[i].values = cut(base, &used, rows * sizeof(void *));
        s->words[i] = cut(base, &used, (size_t) rows * (m + dv + 2) * 4);
    }
    return used;
}

// As many columns as fit a thread's workspace; 0: not one does.
static int most_columns(const struct sam_attention_kernel *kernel, int d, int m, int dv, int side)
{
    struct scratch s;
    int columns = COLUMNS;
    while (columns > 0 &&
           lay_out(kernel, d, m, dv, side, columns, NULL, &s) > SAM_POOL_WORKSPACE)
        columns--;
    return columns;
}

// The terms of all x and y must fit a thread's workspace (values are as wide as the memory), and
// be few beside the places.
static bool fits(int d, int m, int side)
{
    static const struct sam_attention_kernel widest = { .lanes = SAM_ATTEND_LANES,
                                                        .rows = SAM_ATTEND_ROWS };
    return d >= 2 * m && side >= 4 && most_columns(&widest, d, m, m, side) > 0;
}

static const void *row_of(const struct job *job, const uint8_t *base, bool raw, int j, int n,
                          enum sam_type type, uint32_t *words)
{
    const void *row = base + (size_t) j * n * sam_type_size(type);
    if (raw)
        return row;
    job->kernel->convert(words, row, type, n);
    return words;
}

static void add_key(const struct job *job, const struct walk *w, int j, struct scratch *s, int i)
{
    const struct sam_rope_attention *p = job->op;
    struct sam_rope_block *b = &s->block[i];
    const int m = p->keys.c, dv = p->values.c, at = b->num++;
    uint32_t *words = s->words[i] + (size_t) at * (m + dv + 2);
    b->keys[at] = row_of(job, w->keys, job->raw_keys, j, m, p->keys.type, words);
    b->values[at] = row_of(job, w->values, job->raw_values, j, dv, p->values.type, words + m);
}

// Places side by side, then the next line, then the next tile.
static void advance(struct walk *w)
{
    const int end = w->tile + TILE < w->side ? w->tile + TILE : w->side;
    w->map = 0;
    if (++w->x < end)
        return;
    w->x = w->tile;
    if (++w->y < w->side)
        return;
    w->y = 0;
    w->tile = w->x = end;
}

// As many keys as there is room for, those of one place together. False: none were left.
static bool fill_block(const struct job *job, struct walk *w, struct scratch *s, int i)
{
    struct sam_rope_block *b = &s->block[i];
    const int places = w->side * w->side;
    b->num = b->num_places = 0;
    while (b->num < SAM_ATTEND_KEYS) {
        const int room = SAM_ATTEND_KEYS - b->num;
        const bool turned = w->x < w->side;
        const int first = turned ? (w->map * w->side + w->y) * w->side + w->x : w->loose;
        const int step = turned ? places : 1, end = turned ? w->num_rotated : w->num_keys;
        const int left = first < end ? (end - 1 - first) / step + 1 : 0;
        if (left > room && turned && room < SAM_ATTEND_KEYS)
            break;
        const int num = left < room ? left : room;
        if (num > 0)
            b->places[b->num_places++] = (struct sam_rope_place) {
                turned ? w->x : w->side, turned ? w->y : w->side, num
            };
        for (int k = 0; k < num; k++)
            add_key(job, w, first + k * step, s, i);
        if (!turned && num == 0)
            break;
        if (!turned)
            w->loose += num;
        else if (num < left)
            w->map += num;
        else
            advance(w);
    }
    return b->num > 0;
}

static void attend_to_keys(const struct job *job, int n, struct scratch *s)
{
    const struct sam_rope_attention *p = job->op;
    const size_t rows = (size_t) n * p->keys.w;
    struct walk w = {
        .keys = (const uint8_t *) p->keys.data + rows * p->keys.c * sam_type_size(p->keys.type),
        .values = (const uint8_t *) p->values.data +
                  rows * p->values.c * sam_type_size(p->values.type),
        .num_keys = ((const int32_t *) p->num_keys.data)[n],
        .num_rotated = ((const int32_t *) p->num_rotated.data)[n],
        .side = p->axis.w,
        .loose = ((const int32_t *) p->num_rotated.data)[n],
    };
    int now = 0;
    for (bool more = fill_block(job, &w, s, now); more; now = !now) {
        more = fill_block(job, &w, s, !now);
        s->rope.next = more ? &s->block[!now] : NULL;
        job->kernel->rope_block(&s->rope, &s->block[now]);
    }
}

static void convert_weight(const struct job *job, struct scratch *s)
{
    const struct sam_tensor *t = &job->op->weight;
    const int half = t->c / 2;
    for (int axis = 0; axis < 2; axis++)
        for (int i = 0; i < t->w; i++)
            job->kernel->convert((uint32_t *) s->rope.weight[axis][i],
                                 (const float *) t->data + (size_t) i * t->c + axis * half,
                                 SAM_F32, half);
}

// Rows of q (or of dst) that belong to the lanes of a column.
static void list_rows(const struct sam_tensor *t, int n, int first, int lanes, void **rows)
{
    for (int i = 0; i < lanes; i++)
        rows[i] = first + i < t->w ? (uint8_t *) t->data +
                      ((size_t) n * t->w + first + i) * t->c * sam_type_size(t->type) : NULL;
}

static void run_share(void *priv, int task, int thread)
{
    const struct job *job = priv;
    const struct sam_rope_attention *p = job->op;
    const int lanes = job->kernel->lanes, n = task / job->shares, share = task % job->shares;
    const int columns = (p->q.w + lanes - 1) / lanes;
    const int from = (int) ((long) columns * share / job->shares);
    struct scratch s;

    lay_out(job->kernel, p->q.c, p->keys.c, p->values.c, p->axis.w, job->columns,
            sam_pool_workspace(job->pool, thread), &s);
    s.rope.axis = p->axis.data;
    s.rope.attend.exponent = p->scale * (float) M_LOG2E;
    s.rope.attend.columns = (int) ((long) columns * (share + 1) / job->shares) - from;
    convert_weight(job, &s);
    for (int column = 0; column < s.rope.attend.columns; column++) {
        void *rows[SAM_ATTEND_LANES];
        list_rows(&p->q, n, (from + column) * lanes, lanes, rows);
        job->kernel->rope_load_column(&s.rope, column, (const void *const *) rows, p->q.type);
    }
    job->kernel->rope_start(&s.rope);
    attend_to_keys(job, n, &s);
    for (int column = 0; column < s.rope.attend.columns; column++) {
        void *rows[SAM_ATTEND_LANES];
        list_rows(&p->dst, n, (from + column) * lanes, lanes, rows);
        job->kernel->store_column(&s.rope.attend, column, rows, p->dst.type);
    }
}

static void rope_attention(struct sam_queue *q, const struct sam_rope_attention *p)
{
    const struct sam_cpu *cpu = sam_cpu(q);
    struct job job = {
        .kernel = sam_attention_kernel(cpu->level, q->precision == SAM_PRECISION_BF16),
        .pool = cpu->pool,
        .op = p,
    };
    const int columns = (p->q.w + job.kernel->lanes - 1) / job.kernel->lanes;
    const int threads = sam_pool_threads(job.pool);
    job.raw_keys = (p->keys.type == SAM_BF16) == job.kernel->pairs;
    job.raw_values = (p->values.type == SAM_BF16) == job.kernel->pairs;
    const int most = most_columns(job.kernel, p->q.c, p->keys.c, p->values.c, p->axis.w);
    if (most == 0) {
        sam_queue_fail(q, SAM_EINVAL, "values of %d channels do not fit a thread's workspace",
                       p->values.c);
        return;
    }
    // Shares enough for the threads to end together.
    job.shares = (columns + most - 1) / most;
    while (job.shares < columns && (long) job.shares * p->q.n % threads &&
           (long) job.shares * p->q.n < 32L * threads)
        job.shares++;
    job.columns = (columns + job.shares - 1) / job.shares;
    sam_pool_run(job.pool, job.shares * p->q.n, run_share, &job);
}

void sam_cpu_init_rope_attention(struct sam_ops *ops)
{
    ops->rope_attention_fits = fits;
    ops->rope_attention = rope_attention;
}
