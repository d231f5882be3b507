// Both kinds of latents pass through the same layers: cross attention, feed-forward, self attention,
// feed-forward. Those with a place see the tokens of their window, without position, and in self
// attention only themselves: a softmax over one key is 1, so that step is Wo Wv.
//
// m is the width of the memory, and of everything here; N the tokens of the map.
#include "perceiver.h"

#include <math.h>
#include <string.h>

#include "net/forward.h"
#include "net/load.h"
#include "net/position.h"

enum { PLACED = SAM_PERCEIVER_SIDE * SAM_PERCEIVER_SIDE, TOKENS = SAM_PERCEIVER_GLOBAL + PLACED };

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
    struct layer layer[SAM_PERCEIVER_LAYERS];
    struct sam_affine norm;
    struct sam_tensor latents, placed; // (1, 1, 256, m)
    struct sam_tensor position;        // (1, 1, N, m): sine map of the memory
};

static int count_tokens(const struct sam_config *c)
{
    return TOKENS;
}

// --- loading ------------------------------------------------------------------------------------

static void load_feed_forward(struct sam_loader *l, struct feed_forward *f, int m,
                              const char *prefix, int i, const char *name)
{
    sam_load_norm(l, &f->norm, m, "%s.%d.%s.0", prefix, i, name);
    sam_load_weight(l, &f->up, 4 * m, m, "%s.%d.%s.1", prefix, i, name);
    sam_load_weight(l, &f->down, m, 4 * m, "%s.%d.%s.3", prefix, i, name);
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

static void load_layer(struct sam_loader *l, struct layer *a, int m, int i)
{
    const char *p = "spatial_perceiver.layers";

    sam_load_norm(l, &a->norm_latents, m, "%s.%d.attn.norm_latents", p, i);
    sam_load_norm(l, &a->norm_x, m, "%s.%d.attn.norm_x", p, i);
    sam_load_weight(l, &a->q, m, m, "%s.%d.attn.to_q", p, i);
    load_kv(l, &a->k, &a->v, m, p, i, "attn");
    sam_load_weight(l, &a->out, m, m, "%s.%d.attn.to_out", p, i);
    load_feed_forward(l, &a->ff, m, p, i, "ff");
    sam_load_norm(l, &a->norm_self, m, "%s.%d.self_attn.norm", p, i);
    sam_load_weight(l, &a->self_q, m, m, "%s.%d.self_attn.to_q", p, i);
    load_kv(l, &a->self_k, &a->self_v, m, p, i, "self_attn");
    sam_load_weight(l, &a->self_out, m, m, "%s.%d.self_attn.to_out", p, i);
    load_feed_forward(l, &a->self_ff, m, p, i, "self_ff");
}

static void load(struct sam_loader *l, const struct sam_config *c, void *weights)
{
    const int m = c->mem_dim, h = sam_grid(c);
    struct perceiver *p = weights;

    l->exact = true; // what is remembered comes back with every later frame
    for (int i = 0; i < SAM_PERCEIVER_LAYERS; i++)
        load_layer(l, &p->layer[i], m, i);
    l->exact = false;
    sam_load_norm(l, &p->norm, m, "spatial_perceiver.norm");
    p->latents = sam_load_rows(l, 2, (int64_t[]) { SAM_PERCEIVER_GLOBAL, m },
                               "spatial_perceiver.latents");
    p->placed = sam_load_rows(l, 2, (int64_t[]) { PLACED, m }, "spatial_perceiver.latents_2d");

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
    const size_t count = (size_t) SAM_PERCEIVER_GLOBAL * c->mem_dim;

    memset(dst, 0, count * sizeof(*dst));
    sam_position_sine(SAM_PERCEIVER_SIDE, c->mem_dim, dst + count);
}

// Latents without a place do not turn: cos 0, sin 0.
static void turns(const struct sam_config *c, float *dst)
{
    const size_t count = (size_t) SAM_PERCEIVER_GLOBAL * c->d_model;

    for (size_t i = 0; i < count; i++)
        dst[i] = i % 2 ? 0 : 1;
    sam_position_rope(SAM_PERCEIVER_SIDE, c->d_model, dst + count);
}

// --- the forward --------------------------------------------------------------------------------

enum room {
    LATENTS, PLACED_LATENTS,             // (B, 1, 256, m): the two kinds, updated in place
    NORMED, QUERY, KEY, VALUE, MIXED,    // (B, 1, 256, m)
    HIDDEN,                              // (B, 1, 256, 4 m)
    MAP, MAP_KEY, MAP_VALUE, MAP_WINDOWS, // (B, 1, N, m)
    ROOMS,
};
_Static_assert((int) ROOMS <= (int) SAM_COMPRESSOR_ROOMS, "rooms of the compressor");

static void layout(struct sam_compressor_scratch *s, const struct sam_config *c,
                   const struct sam_queue *q, int batch, struct sam_arena *a)
{
    const int m = c->mem_dim, N = sam_grid(c) * sam_grid(c);

    for (enum room r = LATENTS; r < ROOMS; r++)
        s->room[r] = sam_arena_tensor(a, SAM_F32, batch, 1, r >= MAP ? N : PLACED,
                                      r == HIDDEN ? 4 * m : m);
}

// x += down gelu(up norm(x)).
static void run_feed_forward(struct sam_queue *q, const struct feed_forward *f,
                             const struct sam_tensor *room, struct sam_tensor x)
{
    const struct sam_tensor u = sam_first(room[NORMED], x.n);
    const struct sam_tensor hidden = sam_first(room[HIDDEN], x.n);

    layernorm(q, .dst = u, .src = x, NORM(f->norm), .eps = EPS_TRANSFORMER);
    linear(q, .dst = hidden, .src = u, PRODUCT(f->up), .act = SAM_ACT_GELU);
    linear(q, .dst = x, .src = hidden, PRODUCT(f->down), .add = x);
}

// Keys and values of the map without position, in windows for the latents with a place; then with
// position, for the others.
struct map {
    struct sam_tensor key, value;
};

static void look_at_window(struct sam_queue *q, const struct layer *l,
                           const struct sam_tensor *room, struct map map, struct sam_tensor x)
{
    const int B = x.n, m = x.c, N = map.key.w, h = (int) lround(sqrt(N)), w = h / SAM_PERCEIVER_SIDE;
    const struct sam_tensor u = sam_first(room[NORMED], B), Q = sam_first(room[QUERY], B);
    const struct sam_tensor mixed = sam_first(room[MIXED], B);
    const struct sam_tensor keys = sam_reshape(sam_first(room[MAP_WINDOWS], B), B * PLACED, 1,
                                               w * w, m);
    // The values in windows take the room of the map, which the next layer makes anew.
    const struct sam_tensor values = sam_reshape(sam_first(room[MAP], B), B * PLACED, 1, w * w, m);

    windows(q, .dst = keys, .src = sam_reshape(map.key, B, h, h, m), .side = w);
    windows(q, .dst = values, .src = sam_reshape(map.value, B, h, h, m), .side = w);
    layernorm(q, .dst = u, .src = x, NORM(l->norm_latents), .eps = EPS_TRANSFORMER);
    linear(q, .dst = Q, .src = u, PRODUCT(l->q));
    attention(q, .dst = sam_reshape(mixed, B * PLACED, 1, 1, m),
              .q = sam_reshape(Q, B * PLACED, 1, 1, m), .k = keys, .v = values, .heads = 1,
              .scale = 1 / sqrtf(m), .exact = true);
    linear(q, .dst = x, .src = mixed, PRODUCT(l->out), .add = x);
}

static void look_at_all(struct sam_queue *q, const struct layer *l, const struct sam_tensor *room,
                        struct sam_tensor position, struct map map, struct sam_tensor x)
{
    const struct sam_tensor u = sam_first(room[NORMED], x.n), Q = sam_first(room[QUERY], x.n);
    const struct sam_tensor mixed = sam_first(room[MIXED], x.n);

    add(q, .dst = map.key, .a = map.key, .b = position, .scale = 1);
    add(q, .dst = map.value, .a = map.value, .b = position, .scale = 1);
    layernorm(q, .dst = u, .src = x, NORM(l->norm_latents), .eps = EPS_TRANSFORMER);
    linear(q, .dst = Q, .src = u, PRODUCT(l->q));
    attention(q, .dst = mixed, .q = Q, .k = map.key, .v = map.value, .heads = 1,
              .scale = 1 / sqrtf(x.c), .exact = true);
    linear(q, .dst = x, .src = mixed, PRODUCT(l->out), .add = x);
}

// alone: each latent sees itself only.
static void self_attention(struct sam_queue *q, const struct layer *l,
                           const struct sam_tensor *room, bool alone, struct sam_tensor x)
{
    const struct sam_tensor u = sam_first(room[NORMED], x.n), V = sam_first(room[VALUE], x.n);
    const struct sam_tensor Q = sam_first(room[QUERY], x.n), K = sam_first(room[KEY], x.n);
    const struct sam_tensor mixed = alone ? V : sam_first(room[MIXED], x.n);

    layernorm(q, .dst = u, .src = x, NORM(l->norm_self), .eps = EPS_TRANSFORMER);
    linear(q, .dst = V, .src = u, PRODUCT(l->self_v));
    if (!alone) {
        linear(q, .dst = Q, .src = u, PRODUCT(l->self_q));
        linear(q, .dst = K, .src = u, PRODUCT(l->self_k));
        attention(q, .dst = mixed, .q = Q, .k = K, .v = V, .heads = 1, .scale = 1 / sqrtf(x.c),
                  .exact = true);
    }
    linear(q, .dst = x, .src = mixed, PRODUCT(l->self_out), .add = x);
}

static void run_layer(struct sam_queue *q, const struct perceiver *p, const struct layer *l,
                      const struct sam_tensor *room, struct sam_tensor src,
                      struct sam_tensor latents, struct sam_tensor placed)
{
    const int B = src.n;
    const struct sam_tensor x = sam_first(room[MAP], B);
    const struct map map = { sam_first(room[MAP_KEY], B), sam_first(room[MAP_VALUE], B) };

    layernorm(q, .dst = x, .src = src, NORM(l->norm_x), .eps = EPS_TRANSFORMER);
    linear(q, .dst = map.key, .src = x, PRODUCT(l->k));
    linear(q, .dst = map.value, .src = x, PRODUCT(l->v));
    look_at_window(q, l, room, map, placed);
    look_at_all(q, l, room, p->position, map, latents);
    for (int i = 0; i < 2; i++) {
        const struct sam_tensor y = i ? placed : latents;
        run_feed_forward(q, &l->ff, room, y);
        self_attention(q, l, room, i, y);
        run_feed_forward(q, &l->self_ff, room, y);
    }
}

static void run(struct sam_queue *q, const struct sam_model *m, struct sam_compressor_scratch *s,
                struct sam_tensor src, struct sam_tensor dst, const struct sam_probe *probe)
{
    const struct perceiver *p = m->compressor;
    const struct sam_tensor latents = sam_first(s->room[LATENTS], src.n);
    const struct sam_tensor placed = sam_first(s->room[PLACED_LATENTS], src.n);

    copy(q, .dst = latents, .src = p->latents);
    copy(q, .dst = placed, .src = p->placed);
    for (int i = 0; i < SAM_PERCEIVER_LAYERS; i++)
        run_layer(q, p, &p->layer[i], s->room, src, latents, placed);
    for (int i = 0; i < 2; i++) {
        const struct sam_tensor y = i ? placed : latents;
        layernorm(q, .dst = y, .src = y, NORM(p->norm), .eps = EPS_TRANSFORMER);
        copy_rows(q, .dst = dst, .src = y, .to = i * SAM_PERCEIVER_GLOBAL, .rows = y.w);
    }
    sam_probe_write(probe, q, "perceiver.out", dst);
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
