// SPDX-License-Identifier: MIT
// Attention with keys that are computed on the fly (attention_rope.h): chooses the order of queries
// and keys. Keys are grouped by position, because all memories of one position share the same sums.
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "ops/cpu/attention.h"

enum {
    COLUMNS = 3,  // of one share, at most: a panel, so that the terms of all y stay in L2
    TILE = 8,     // places side by side while y runs over the grid
};

struct job {
    const struct sam_attention_kernel *kernel;
    struct sam_pool *pool;
    const struct sam_rope_attention *op;
    int blocks;  // of each n in the room
    int shares;  // of the queries of each n
    int columns; // of a share, at most
    struct sam_rope_turns turns;
};

// What one n remembers, and how it lies in blocks: those of each strip of TILE columns of the
// grid, then those of the keys that are not turned.
struct memory {
    const uint8_t *keys, *values;
    int num_keys, num_rotated, side;
    int strips, strip_blocks, loose_blocks;
    uint8_t *room;
};

static int round_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

static void *cut(uint8_t *base, size_t *used, size_t bytes)
{
    void *p = base ? base + *used : NULL; // no offset to NULL: it is undefined
    *used += (bytes + 63) / 64 * 64;
    return p;
}

static const void **rows_of_words(uint8_t *base, size_t *used, int rows, int words)
{
    const void **row = cut(base, used, rows * sizeof(void *));
    uint32_t *word = cut(base, used, (size_t) rows * words * sizeof(uint32_t));
    for (int i = 0; base && i < rows; i++)
        row[i] = word + (size_t) i * words;
    return row;
}

// A thread's arrays for shares of `columns` columns; base NULL: only their size.
static size_t lay_out(const struct sam_attention_kernel *kernel, int d, int m, int dv, int side,
                      int columns, uint8_t *base, struct sam_rope_attend *r)
{
    const int sums = SAM_ATTEND_KEYS > m + SAM_ATTEND_ROWS ? SAM_ATTEND_KEYS : m + SAM_ATTEND_ROWS;
    const size_t queries = (size_t) columns * kernel->lanes;
    size_t used = 0;

    *r = (struct sam_rope_attend) { .d = d, .m = m, .side = side };
    struct sam_attend *a = &r->attend;
    a->dv = dv;
    a->values = round_up(dv, kernel->rows);
    a->out = cut(base, &used, queries * a->values * sizeof(float));
    a->max = cut(base, &used, queries * sizeof(float));
    a->sum = cut(base, &used, queries * sizeof(float));
    a->score = cut(base, &used, (size_t) sums * SAM_ATTEND_PANEL * sizeof(float));
    r->query = cut(base, &used, queries * d * sizeof(float));
    r->turned = cut(base, &used, (size_t) SAM_ATTEND_PANEL * d / 2 * sizeof(float));
    const int wave = round_up(d / 4 + SAM_ROPE_NODES, 2); // numbers, or words, of a row at most
    const int steps = round_up(side / 2 + 1, SAM_ATTEND_ROWS);
    r->part_size = (size_t) wave * SAM_ATTEND_PANEL;
    for (int i = 0; i < 2; i++) {
        r->along[i] = cut(base, &used, queries * (m + 1) * (side + 1) * sizeof(float));
        r->part[i] = cut(base, &used, 2 * r->part_size * sizeof(float));
        r->slow[i] = cut(base, &used, r->part_size * sizeof(float));
        r->wave[i] = rows_of_words(base, &used, steps, wave);
        r->node_wave[i] = rows_of_words(base, &used, SAM_ROPE_NODES, wave);
    }
    return used;
}

// As many columns as fit a thread's workspace; 0: not one does.
static int most_columns(const struct sam_attention_kernel *kernel, int d, int m, int dv, int side)
{
    struct sam_rope_attend r;
    int columns = COLUMNS;
    while (columns > 0 &&
           lay_out(kernel, d, m, dv, side, columns, NULL, &r) > SAM_POOL_WORKSPACE)
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

// ---- the room: keys and values in blocks, packed once for all queries

static size_t block_bytes(const struct sam_attention_kernel *kernel, int m, int dv)
{
    const size_t values = round_up(dv, kernel->rows), per_word = kernel->pairs ? 2 : 1;
    return (sizeof(struct sam_rope_block) + SAM_ATTEND_KEYS * (m + values) * 4 / per_word + 127) /
           64 * 64;
}

// Of a strip whose places hold `maps` keys each, at most: a place's keys stay together if they can.
static int blocks_of_strip(int side, int maps)
{
    const int places = TILE * side;
    if (maps <= 0)
        return 0;
    if (maps > SAM_ATTEND_KEYS)
        return places * ((maps + SAM_ATTEND_KEYS - 1) / SAM_ATTEND_KEYS);
    const int whole = SAM_ATTEND_KEYS / maps;
    return (places + whole - 1) / whole;
}

static void count_blocks(struct memory *m)
{
    const int places = m->side * m->side;
    m->strips = (m->side + TILE - 1) / TILE;
    m->strip_blocks = blocks_of_strip(m->side, (m->num_rotated + places - 1) / places);
    m->loose_blocks = (m->num_keys - m->num_rotated + SAM_ATTEND_KEYS - 1) / SAM_ATTEND_KEYS;
}

static int all_blocks(const struct memory *m)
{
    return m->strips * m->strip_blocks + m->loose_blocks;
}

// However many of the Tk keys are turned.
static int most_blocks(int side, int Tk)
{
    int most = 0;
    for (int rotated = 0; rotated < Tk + side * side; rotated += side * side) {
        // The fewest that make so many maps, so that the most are loose.
        struct memory m = { .side = side, .num_keys = Tk };
        m.num_rotated = rotated == 0 ? 0 : rotated - side * side + 1;
        count_blocks(&m);
        most = most > all_blocks(&m) ? most : all_blocks(&m);
    }
    return most;
}

// By tiles it takes less to make the keys once and to multiply them whole. They round with their
// bias, though, whose part of a score stays in F32 here: so not on small grids, which gain little.
static bool are_better_held(const struct sam_attention_kernel *kernel, int side)
{
    enum { TILE_ROWS = 16, HELD_SIDE = 16 };
    return kernel->pairs && kernel->rows == TILE_ROWS && side >= HELD_SIDE;
}

size_t sam_rope_attention_room_cpu(const struct sam_queue *q, int d, int m, int side, int n, int Tk)
{
    const struct sam_attention_kernel *kernel = sam_cpu(q)->attention;
    if (are_better_held(kernel, side) || !fits(d, m, side))
        return 0;
    return n * (most_blocks(side, Tk) + 1) * block_bytes(kernel, m, m);
}

static struct memory memory_of(const struct job *job, int n)
{
    const struct sam_rope_attention *p = job->op;
    const size_t rows = (size_t) n * p->keys.w;
    struct memory m = {
        .keys = (const uint8_t *) p->keys.data + rows * p->keys.c * sam_type_size(p->keys.type),
        .values = (const uint8_t *) p->values.data +
                  rows * p->values.c * sam_type_size(p->values.type),
        .num_keys = ((const int32_t *) p->num_keys.data)[n],
        .num_rotated = ((const int32_t *) p->num_rotated.data)[n],
        .side = p->axis.w,
    };
    m.room = (uint8_t *) (((uintptr_t) p->room + 63) / 64 * 64) +
             n * job->blocks * block_bytes(job->kernel, p->keys.c, p->values.c);
    count_blocks(&m);
    return m;
}

// One being filled.
struct packing {
    const struct job *job;
    const struct memory *memory;
    int at, end; // blocks of the room
    const void *values[SAM_ATTEND_KEYS];
    uint32_t *converted;
};

static struct sam_rope_block *block_at(const struct job *job, const struct memory *m, int i)
{
    const struct sam_rope_attention *p = job->op;
    return (void *) (m->room + i * block_bytes(job->kernel, p->keys.c, p->values.c));
}

static struct sam_rope_block *open_block(const struct packing *k)
{
    const struct sam_rope_attention *p = k->job->op;
    struct sam_rope_block *b = block_at(k->job, k->memory, k->at);
    const int per_word = k->job->kernel->pairs ? 2 : 1;
    b->num = b->num_places = 0;
    b->keys = (uint32_t *) (((uintptr_t) (b + 1) + 63) / 64 * 64);
    b->values = b->keys + SAM_ATTEND_KEYS * p->keys.c / per_word;
    return b;
}

static void close_block(struct packing *k)
{
    struct sam_rope_block *b = block_at(k->job, k->memory, k->at++);
    struct sam_attend a = { .dv = k->job->op->values.c, .value = b->values };
    k->job->kernel->pack_values(&a, k->values, b->num);
}

static void add_key(struct packing *k, struct sam_rope_block *b, int j)
{
    const struct sam_rope_attention *p = k->job->op;
    const struct sam_attention_kernel *kernel = k->job->kernel;
    const int m = p->keys.c, dv = p->values.c, at = b->num++;
    const uint8_t *key = k->memory->keys + (size_t) j * m * sam_type_size(p->keys.type);
    const uint8_t *value = k->memory->values + (size_t) j * dv * sam_type_size(p->values.type);
    kernel->convert(b->keys + at * m / (kernel->pairs ? 2 : 1), key, p->keys.type, m);
    k->values[at] = value;
    if ((p->values.type == SAM_BF16) != kernel->pairs) {
        kernel->convert(k->converted + (size_t) at * (dv + 1), value, p->values.type, dv);
        k->values[at] = k->converted + (size_t) at * (dv + 1);
    }
}

// `num` keys at one place, every step-th from `first`: to one block if they fit one.
static void add_place(struct packing *k, int x, int y, int first, int step, int num)
{
    struct sam_rope_block *b = block_at(k->job, k->memory, k->at);
    if (b->num > 0 && b->num + num > SAM_ATTEND_KEYS) {
        close_block(k);
        b = open_block(k);
    }
    for (int i = 0; i < num;) {
        if (b->num == SAM_ATTEND_KEYS) {
            close_block(k);
            b = open_block(k);
        }
        const int room = SAM_ATTEND_KEYS - b->num, some = num - i < room ? num - i : room;
        b->places[b->num_places++] = (struct sam_rope_place) { x, y, some };
        for (const int end = i + some; i < end; i++)
            add_key(k, b, first + i * step);
    }
}

static void pack_strip(void *priv, int task, int thread)
{
    const struct job *job = priv;
    const int side = job->op->axis.w, places = side * side;
    const int strips = (side + TILE - 1) / TILE, strip = task % (strips + 1);
    const struct memory m = memory_of(job, task / (strips + 1));
    struct packing k = { .job = job, .memory = &m, .at = strip * m.strip_blocks };
    k.end = k.at + (strip < strips ? m.strip_blocks : m.loose_blocks);
    k.converted = sam_pool_workspace(job->pool, thread);
    if (k.at == k.end)
        return;

    open_block(&k);
    if (strip == strips)
        add_place(&k, side, side, m.num_rotated, 1, m.num_keys - m.num_rotated);
    const int from = strip * TILE, to = from + TILE < side ? from + TILE : side;
    for (int y = 0; y < side && strip < strips; y++)
        for (int x = from; x < to; x++) {
            const int first = y * side + x;
            if (first < m.num_rotated)
                add_place(&k, x, y, first, places, (m.num_rotated - 1 - first) / places + 1);
        }
    close_block(&k);
    for (; k.at < k.end; k.at++)
        open_block(&k); // none is left for it
}

// ---- attention

static void attend_to_keys(const struct job *job, int n, struct sam_rope_attend *r)
{
    const struct memory m = memory_of(job, n);
    const int num = all_blocks(&m);
    for (int i = 0; i < num; i++) {
        const struct sam_rope_block *b = block_at(job, &m, i);
        r->next = i + 1 < num ? block_at(job, &m, i + 1) : NULL;
        if (b->num > 0)
            job->kernel->rope_block(r, b);
    }
}

// Lagrange's blend of an even, or odd, function at step t from its values at the nodes.
static void blend_step(struct sam_rope_turns *turns, int t, bool odd)
{
    const int *node = turns->node;
    for (int k = 0; k < SAM_ROPE_NODES; k++) {
        double product = odd ? (double) t / node[k] : 1;
        for (int j = 0; j < SAM_ROPE_NODES; j++)
            if (j != k)
                product *= (double) (t * t - node[j] * node[j]) /
                           (node[k] * node[k] - node[j] * node[j]);
        turns->blend[odd][t][k] = product;
    }
}

// How far pair i of the table is from its own blend, at the worst step.
static double blend_error(const struct sam_tensor *axis, const struct sam_rope_turns *turns, int i)
{
    const float *table = axis->data;
    double worst = 0;
    for (int t = 0; t <= axis->w / 2 && t < axis->w; t++)
        for (int odd = 0; odd < 2; odd++) {
            double sum = 0;
            for (int k = 0; k < SAM_ROPE_NODES; k++)
                sum += turns->blend[odd][t][k] *
                       table[(size_t) turns->node[k] * axis->c + 2 * i + odd];
            worst = fmax(worst, fabs(sum - table[(size_t) t * axis->c + 2 * i + odd]));
        }
    return worst;
}

// Which pairs are blends, found in the table itself: most of the models' turn slowly (their
// frequencies fall from 1 to 1e-4 a step). Nodes near Chebyshev's, where Lagrange is good.
static void find_turns(struct sam_rope_turns *turns, const struct sam_tensor *axis,
                       double tolerance)
{
    const int middle = axis->w / 2, pairs = axis->c / 2;
    turns->fast = pairs;
    if (middle < 2 * SAM_ROPE_NODES || middle > SAM_ROPE_STEPS || pairs < 2 * SAM_ROPE_NODES ||
        pairs % 2)
        return;
    for (int k = 0; k < SAM_ROPE_NODES; k++)
        turns->node[k] = (int) lrint(middle * cos(M_PI * (k + 0.5) / (2 * SAM_ROPE_NODES)));
    for (int t = 0; t < round_up(middle + 1, SAM_ATTEND_ROWS); t++) {
        blend_step(turns, t, false);
        blend_step(turns, t, true);
    }
    int fast = pairs;
    while (fast > 0 && blend_error(axis, turns, fast - 1) <= tolerance &&
           blend_error(axis, turns, fast - 2) <= tolerance)
        fast -= 2;
    if (pairs - fast >= 2 * SAM_ROPE_NODES)
        turns->fast = fast;
}

// The table's cosines (half 0) or sines, and the nodes' parts in each step.
static void make_waves(const struct job *job, struct sam_rope_attend *r, int half)
{
    const struct sam_rope_turns *turns = &job->turns;
    const int pairs = r->d / 4, fast = turns->fast, middle = r->side / 2;
    const bool slow = fast < pairs;
    const int count = fast + (slow ? SAM_ROPE_NODES : 0);
    float row[SAM_MAX_HEAD_DIM / 4 + SAM_ROPE_NODES];

    r->wave_depth = job->kernel->pairs ? (count + 1) / 2 : count;
    for (int t = 0; t < round_up(middle + 1, SAM_ATTEND_ROWS); t++) {
        const float *angle = r->axis + (size_t) (t < r->side ? t : 0) * (r->d / 2);
        for (int i = 0; i < fast; i++)
            row[i] = angle[2 * i + half];
        for (int k = 0; slow && k < SAM_ROPE_NODES; k++)
            row[fast + k] = (float) turns->blend[half][t][k];
        job->kernel->convert((uint32_t *) r->wave[half][t], row, SAM_F32, count);
    }
    for (int k = 0; slow && k < SAM_ROPE_NODES; k++) {
        for (int i = fast; i < pairs; i++)
            row[i - fast] = r->axis[(size_t) turns->node[k] * (r->d / 2) + 2 * i + half];
        job->kernel->convert((uint32_t *) r->node_wave[half][k], row, SAM_F32, pairs - fast);
    }
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
    struct sam_rope_attend r;

    lay_out(job->kernel, p->q.c, p->keys.c, p->values.c, p->axis.w, job->columns,
            sam_pool_workspace(job->pool, thread), &r);
    r.axis = p->axis.data;
    r.turns = &job->turns;
    r.attend.exponent = p->scale * (float) M_LOG2E;
    r.attend.columns = (int) ((long) columns * (share + 1) / job->shares) - from;
    r.weight = p->weight.data;
    make_waves(job, &r, 0);
    make_waves(job, &r, 1);
    for (int column = 0; column < r.attend.columns; column++) {
        void *rows[SAM_ATTEND_LANES];
        list_rows(&p->q, n, (from + column) * lanes, lanes, rows);
        job->kernel->rope_load_column(&r, column, (const void *const *) rows, p->q.type);
    }
    job->kernel->rope_start(&r);
    attend_to_keys(job, n, &r);
    for (int column = 0; column < r.attend.columns; column++) {
        void *rows[SAM_ATTEND_LANES];
        list_rows(&p->dst, n, (from + column) * lanes, lanes, rows);
        job->kernel->store_column(&r.attend, column, rows, p->dst.type);
    }
}

void sam_rope_attention_cpu(struct sam_queue *q, const struct sam_rope_attention *p)
{
    const struct sam_cpu *cpu = sam_cpu(q);
    struct job job = {
        .kernel = cpu->attention,
        .pool = cpu->pool,
        .op = p,
    };
    const int columns = (p->q.w + job.kernel->lanes - 1) / job.kernel->lanes;
    const int threads = sam_pool_width(job.pool);
    // What the kernel's own numbers round away.
    find_turns(&job.turns, &p->axis, job.kernel->pairs ? 1e-4 : 3e-7);
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
    job.blocks = most_blocks(p->axis.w, p->keys.w);
    sam_pool_run(job.pool, p->q.n * ((p->axis.w + TILE - 1) / TILE + 1), pack_strip, &job);
    sam_pool_run(job.pool, job.shares * p->q.n, run_share, &job);
}
