// SPDX-License-Identifier: MIT
// Both kinds of latents pass through the same layers: cross-attention, feed-forward, self-
// attention, feed-forward. A latent of the grid attends to the tokens of its window, without
// position, and in self-attention only to itself: a softmax over one key is 1, so that step is Wo
// Wv.
//
// m is the width of the memory and of all tensors here; N is the number of tokens of the map.
#include "perceiver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net/forward.h"
#include "net/load.h"
#include "net/position.h"

// Without biases but in the norms.
struct feed_forward {
    struct sam_affine norm;
    struct sam_product up, down;
};

struct layer {
    struct sam_affine norm_x, norm_latents, norm_self;
    struct sam_product q, k, v, out;
    struct sam_product self_q, self_k, self_v, self_out;
    struct feed_forward ff, self_ff;
};

struct perceiver {
    struct layer layer[SAM_MAX_PERCEIVER_LAYERS];
    struct sam_affine norm;
    struct sam_tensor latents, placed; // (1, 1, latents, m), (1, 1, grid^2, m)
    struct sam_tensor position;        // (1, 1, N, m): sine map of the memory
};

static int placed(const struct sam_config *c)
{
    return sam_edgetam_sizes(c)->grid * sam_edgetam_sizes(c)->grid;
}

static int count_tokens(const struct sam_config *c)
{
    return sam_edgetam_sizes(c)->latents + placed(c);
}

// --- sizes --------------------------------------------------------------------------------------

int sam_perceiver_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    struct sam_edgetam_sizes *e = sam_edgetam_config(c);
    int status, count = 0;
    const struct {
        struct sam_size_from from;
        int *out;
    } sizes[] = {
        { { "spatial_perceiver.latents", 0, 2, { 0 } }, &e->latents },
        { { "spatial_perceiver.latents_2d", 0, 2, { 0 } }, &count },
        { { "spatial_perceiver.layers.0.ff.1.weight", 0, 2, { 0 } }, &e->hidden },
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if ((status = sam_config_size(w, &sizes[i].from, sizes[i].out, error)))
            return status;
    while (e->grid * e->grid < count)
        e->grid++;
    if (e->grid * e->grid != count || e->grid > 64)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: tensor 'spatial_perceiver.latents_2d': expected n * n rows (a "
                        "square), n from 1 to 64, got %d", sam_weights_file(w), count);
    e->layers = sam_config_layers(w, "spatial_perceiver.layers.", ".attn.to_q.weight",
                                  SAM_MAX_PERCEIVER_LAYERS);
    return SAM_OK;
}

// --- loading ------------------------------------------------------------------------------------

static void load_feed_forward(struct sam_loader *l, struct feed_forward *f, int m, int hidden,
                              const char *prefix, int i, const char *name)
{
    sam_load_norm(l, &f->norm, m, "%s.%d.%s.0", prefix, i, name);
    sam_load_weight(l, &f->up, hidden, m, "%s.%d.%s.1", prefix, i, name);
    sam_load_weight(l, &f->down, m, hidden, "%s.%d.%s.3", prefix, i, name);
}

// Meta's files have one tensor (2 m, m), the rows of k before those of v; Hugging Face's have two.
static void load_kv(struct sam_loader *l, struct sam_product *k, struct sam_product *v, int m,
                    const char *prefix, int i, const char *name)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *rows = sam_load_room(&l->staging, 2 * (size_t) m * m);
    float *v_rows = l->measuring ? NULL : rows + (size_t) m * m;

    if (sam_load_has(l, "%s.%d.%s.to_k.weight", prefix, i, name)) {
        sam_load_read(l, rows, 2, (int64_t[]) { m, m }, "%s.%d.%s.to_k.weight", prefix, i, name);
        sam_load_read(l, v_rows, 2, (int64_t[]) { m, m }, "%s.%d.%s.to_v.weight", prefix, i, name);
    } else {
        sam_load_read(l, rows, 2, (int64_t[]) { 2 * m, m }, "%s.%d.%s.to_kv.weight", prefix, i,
                      name);
    }
    k->weight = sam_load_matrix(l, rows, m, m);
    v->weight = sam_load_matrix(l, v_rows, m, m);
    sam_arena_release(&l->staging, mark);
}

static void load_layer(struct sam_loader *l, struct layer *a, int m, int hidden, int i)
{
    const char *p = "spatial_perceiver.layers";

    sam_load_norm(l, &a->norm_latents, m, "%s.%d.attn.norm_latents", p, i);
    sam_load_norm(l, &a->norm_x, m, "%s.%d.attn.norm_x", p, i);
    sam_load_weight(l, &a->q, m, m, "%s.%d.attn.to_q", p, i);
    load_kv(l, &a->k, &a->v, m, p, i, "attn");
    sam_load_weight(l, &a->out, m, m, "%s.%d.attn.to_out", p, i);
    load_feed_forward(l, &a->ff, m, hidden, p, i, "ff");
    sam_load_norm(l, &a->norm_self, m, "%s.%d.self_attn.norm", p, i);
    sam_load_weight(l, &a->self_q, m, m, "%s.%d.self_attn.to_q", p, i);
    load_kv(l, &a->self_k, &a->self_v, m, p, i, "self_attn");
    sam_load_weight(l, &a->self_out, m, m, "%s.%d.self_attn.to_out", p, i);
    load_feed_forward(l, &a->self_ff, m, hidden, p, i, "self_ff");
}

static void load(struct sam_loader *l, const struct sam_config *c, void *weights)
{
    const struct sam_edgetam_sizes *e = sam_edgetam_sizes(c);
    const int m = c->mem_dim, h = sam_grid(c);
    struct perceiver *p = weights;

    l->exact = true; // what is remembered comes back with every later frame
    for (int i = 0; i < e->layers; i++)
        load_layer(l, &p->layer[i], m, e->hidden, i);
    l->exact = false;
    sam_load_norm(l, &p->norm, m, "spatial_perceiver.norm");
    p->latents = sam_load_rows(l, 2, (int64_t[]) { e->latents, m }, "spatial_perceiver.latents");
    p->placed = sam_load_rows(l, 2, (int64_t[]) { placed(c), m }, "spatial_perceiver.latents_2d");

    const size_t mark = sam_arena_mark(&l->staging);
    float *table = sam_load_room(&l->staging, (size_t) h * h * m);
    if (sam_load_live(l))
        sam_position_sine(h, m, table);
    p->position = sam_load_tensor(l, table, 1, h * h, m);
    sam_arena_release(&l->staging, mark);
}

// --- tables of the stored tokens ----------------------------------------------------------------

// Zeros for latents without a place; the sine map of the grid, not of the frame's, for the others.
static void place(const struct sam_config *c, float *dst)
{
    const size_t count = (size_t) sam_edgetam_sizes(c)->latents * c->mem_dim;

    memset(dst, 0, count * sizeof(*dst));
    sam_position_sine(sam_edgetam_sizes(c)->grid, c->mem_dim, dst + count);
}

// Latents without a place do not turn: cos 0, sin 0.
static void turns(const struct sam_config *c, float *dst)
{
    const size_t count = (size_t) sam_edgetam_sizes(c)->latents * c->d_model;

    for (size_t i = 0; i < count; i++)
        dst[i] = i % 2 ? 0 : 1;
    sam_position_rope(sam_edgetam_sizes(c)->grid, c->d_model, dst + count);
}

// --- the forward --------------------------------------------------------------------------------

enum room {
    LATENTS, PLACED_LATENTS,              // (B, 1, latents, m), (B, 1, grid^2, m), in place
    NORMED, QUERY, KEY, VALUE, MIXED,     // either kind
    HIDDEN,                               // either kind, (.., hidden)
    MAP, MAP_KEY, MAP_VALUE, MAP_WINDOWS, // (B, 1, N, m)
    ROOMS,
};
_Static_assert((int) ROOMS <= (int) SAM_COMPRESSOR_ROOMS, "rooms of the compressor");

static void layout(struct sam_compressor_scratch *s, const struct sam_config *c,
                   const struct sam_queue *q, int batch, struct sam_arena *a)
{
    const struct sam_edgetam_sizes *e = sam_edgetam_sizes(c);
    const int m = c->mem_dim, N = sam_grid(c) * sam_grid(c), P = placed(c);
    const int either = e->latents > P ? e->latents : P;

    for (enum room r = LATENTS; r < ROOMS; r++) {
        const int rows = r == LATENTS ? e->latents : r == PLACED_LATENTS ? P : r < MAP ? either : N;
        s->room[r] = sam_arena_tensor(a, SAM_F32, batch, 1, rows, r == HIDDEN ? e->hidden : m);
    }
}

// A room for what belongs to x, c wide.
static struct sam_tensor beside(const struct sam_tensor *room, enum room r, struct sam_tensor x,
                                int c)
{
    return sam_view(room[r], x.n, 1, x.w, c);
}

// x += down gelu(up norm(x)).
static void run_feed_forward(struct sam_queue *q, const struct feed_forward *f,
                             const struct sam_tensor *room, struct sam_tensor x)
{
    const struct sam_tensor u = beside(room, NORMED, x, x.c);
    const struct sam_tensor hidden = beside(room, HIDDEN, x, f->up.weight.out);

    layernorm(q, .dst = u, .src = x, NORM(f->norm), .eps = EPS_TRANSFORMER);
    linear(q, .dst = hidden, .src = u, PRODUCT(f->up), .act = SAM_ACT_GELU);
    linear(q, .dst = x, .src = hidden, PRODUCT(f->down), .add = x);
}

// Keys and values of a map, (B, h, h, m).
struct map {
    struct sam_tensor key, value;
};

// The latents of the grid, row by row, each at the tokens of its window.
static void look_at_windows(struct sam_queue *q, const struct layer *l,
                            const struct sam_tensor *room, struct map map, struct sam_tensor x)
{
    const int m = x.c, n = x.n * x.w, tokens = map.key.n * map.key.h * map.key.w / n;
    const int side = (int) lround(sqrt(tokens));
    const struct sam_tensor u = beside(room, NORMED, x, m), Q = beside(room, QUERY, x, m);
    const struct sam_tensor mixed = beside(room, MIXED, x, m);
    const struct sam_tensor keys = sam_view(room[MAP_WINDOWS], n, 1, tokens, m);
    // The values in windows take the room of the map, which the next layer makes anew.
    const struct sam_tensor values = sam_view(room[MAP], n, 1, tokens, m);

    windows(q, .dst = keys, .src = map.key, .side = side);
    windows(q, .dst = values, .src = map.value, .side = side);
    layernorm(q, .dst = u, .src = x, NORM(l->norm_latents), .eps = EPS_TRANSFORMER);
    linear(q, .dst = Q, .src = u, PRODUCT(l->q));
    attention(q, .dst = sam_reshape(mixed, n, 1, 1, m), .q = sam_reshape(Q, n, 1, 1, m),
              .k = keys, .v = values, .heads = 1, .scale = 1 / sqrtf(m), .exact = true);
    linear(q, .dst = x, .src = mixed, PRODUCT(l->out), .add = x);
}

// The others, at all of the map: the position is added to what was projected, values included.
static void look_at_all(struct sam_queue *q, const struct layer *l, const struct sam_tensor *room,
                        struct sam_tensor position, struct map map, struct sam_tensor x)
{
    const int m = x.c, N = position.w;
    const struct sam_tensor u = beside(room, NORMED, x, m), Q = beside(room, QUERY, x, m);
    const struct sam_tensor mixed = beside(room, MIXED, x, m);
    const struct sam_tensor K = sam_reshape(map.key, x.n, 1, N, m);
    const struct sam_tensor V = sam_reshape(map.value, x.n, 1, N, m);

    add(q, .dst = K, .a = K, .b = position, .scale = 1);
    add(q, .dst = V, .a = V, .b = position, .scale = 1);
    layernorm(q, .dst = u, .src = x, NORM(l->norm_latents), .eps = EPS_TRANSFORMER);
    linear(q, .dst = Q, .src = u, PRODUCT(l->q));
    attention(q, .dst = mixed, .q = Q, .k = K, .v = V, .heads = 1, .scale = 1 / sqrtf(m),
              .exact = true);
    linear(q, .dst = x, .src = mixed, PRODUCT(l->out), .add = x);
}

// alone: each latent sees itself only.
static void self_attention(struct sam_queue *q, const struct layer *l,
                           const struct sam_tensor *room, bool alone, struct sam_tensor x)
{
    const int m = x.c;
    const struct sam_tensor u = beside(room, NORMED, x, m), V = beside(room, VALUE, x, m);
    const struct sam_tensor Q = beside(room, QUERY, x, m), K = beside(room, KEY, x, m);
    const struct sam_tensor mixed = alone ? V : beside(room, MIXED, x, m);

    layernorm(q, .dst = u, .src = x, NORM(l->norm_self), .eps = EPS_TRANSFORMER);
    linear(q, .dst = V, .src = u, PRODUCT(l->self_v));
    if (!alone) {
        linear(q, .dst = Q, .src = u, PRODUCT(l->self_q));
        linear(q, .dst = K, .src = u, PRODUCT(l->self_k));
        attention(q, .dst = mixed, .q = Q, .k = K, .v = V, .heads = 1, .scale = 1 / sqrtf(m),
                  .exact = true);
    }
    linear(q, .dst = x, .src = mixed, PRODUCT(l->self_out), .add = x);
}

// src (B, h, h, m).
static void run_layer(struct sam_queue *q, const struct layer *l, const struct sam_tensor *room,
                      struct sam_tensor position, struct sam_tensor src,
                      struct sam_tensor latents, struct sam_tensor grid)
{
    const struct sam_tensor x = sam_view(room[MAP], src.n, src.h, src.w, src.c);
    const struct map map = { sam_view(room[MAP_KEY], src.n, src.h, src.w, src.c),
                             sam_view(room[MAP_VALUE], src.n, src.h, src.w, src.c) };

    layernorm(q, .dst = x, .src = src, NORM(l->norm_x), .eps = EPS_TRANSFORMER);
    linear(q, .dst = map.key, .src = x, PRODUCT(l->k));
    linear(q, .dst = map.value, .src = x, PRODUCT(l->v));
    look_at_windows(q, l, room, map, grid);
    look_at_all(q, l, room, position, map, latents);
    for (int i = 0; i < 2; i++) {
        const struct sam_tensor y = i ? grid : latents;
        run_feed_forward(q, &l->ff, room, y);
        self_attention(q, l, room, i, y);
        run_feed_forward(q, &l->self_ff, room, y);
    }
}

static void run(struct sam_queue *q, const struct sam_model *m, struct sam_compressor_scratch *s,
                struct sam_tensor src, struct sam_tensor dst)
{
    const struct perceiver *p = m->compressor;
    const int h = sam_grid(&m->config);
    const struct sam_tensor map = sam_reshape(src, src.n, h, h, src.c);
    const struct sam_tensor latents = sam_first(s->room[LATENTS], src.n);
    const struct sam_tensor grid = sam_first(s->room[PLACED_LATENTS], src.n);
    char name[40];

    sam_queue_mark(q, "spatial_perceiver.pos", sam_reshape(p->position, 1, h, h, src.c));
    copy(q, .dst = latents, .src = p->latents);
    copy(q, .dst = grid, .src = p->placed);
    for (int i = 0; i < sam_edgetam_sizes(&m->config)->layers; i++) {
        run_layer(q, &p->layer[i], s->room, p->position, map, latents, grid);
        snprintf(name, sizeof(name), "spatial_perceiver.layer%d_1d", i);
        sam_queue_mark(q, name, latents);
        snprintf(name, sizeof(name), "spatial_perceiver.layer%d_2d", i);
        sam_queue_mark(q, name, grid);
    }
    layernorm(q, .dst = latents, .src = latents, NORM(p->norm), .eps = EPS_TRANSFORMER);
    layernorm(q, .dst = grid, .src = grid, NORM(p->norm), .eps = EPS_TRANSFORMER);
    copy_rows(q, .dst = dst, .src = latents, .rows = latents.w);
    copy_rows(q, .dst = dst, .src = grid, .to = latents.w, .rows = grid.w);
    sam_queue_mark(q, "spatial_perceiver.out", dst);
    sam_queue_mark(q, "spatial_perceiver.out_pos", m->memory.place);
}

const struct sam_compressor sam_perceiver = {
    .tokens = count_tokens,
    .bytes = sizeof(struct perceiver),
    .load = load,
    .place = place,
    .turns = turns,
    .layout = layout,
    .run = run,
};
