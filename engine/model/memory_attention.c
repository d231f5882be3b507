// SPDX-License-Identifier: MIT
// Memory attention: self-attention of the frame's tokens, then cross-attention to the object's
// memory. It has one head, as wide as the model.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "family.h"
#include "net/forward.h"
#include "net/load.h"
#include "net/position.h"

// Cross attention reads values of the memory's width m, not of d. Its value layer maps memory to
// d and its output layer d to d, both behind the softmax, whose rows sum to 1; so
//   Wo (P (M Wv' + bv)) + bo = (Wo Wv) (P M) + (Wo bv + bo),
// and P M is m wide: the product with the keys' softmax costs m / d of what it would.
static void load_cross_out(struct sam_loader *l, const struct sam_config *config,
                           struct sam_product *p, const char *layer)
{
    const int d = config->d_model, m = config->mem_dim;
    const size_t mark = sam_arena_mark(&l->staging);
    const struct sam_load_layer value =
        sam_load_layer(l, d, m, false, "%s.cross_attn_image.v_proj", layer);
    const struct sam_load_layer out =
        sam_load_layer(l, d, d, false, "%s.cross_attn_image.out_proj", layer);
    sam_load_folded(l, p, &out, &value);
    sam_arena_release(&l->staging, mark);
}

// Bytes with which rope_attention makes the keys on the way; 0: they are held. It knows maps of the
// frame's grid only, and all of their keys.
static size_t room_for_keys(const struct sam_config *c, const struct sam_queue *q, int batch,
                            int max_keys)
{
    if (c->family->compressor || c->pooling)
        return 0;
    return sam_op_rope_attention_room(q, c->d_model, c->mem_dim, sam_grid(c), batch, max_keys);
}

// The key layer's weight by what it takes in, its bias behind: as sam_rope_attention wants it.
static struct sam_tensor load_cross_key(struct sam_loader *l, const struct sam_config *config,
                                        const char *layer)
{
    const int d = config->d_model, m = config->mem_dim;
    const size_t mark = sam_arena_mark(&l->staging);
    const struct sam_load_layer key =
        sam_load_layer(l, d, m, false, "%s.cross_attn_image.k_proj", layer);
    float *rows = sam_load_room(&l->staging, (size_t) (m + 1) * d);
    if (sam_load_live(l)) {
        for (int o = 0; o < d; o++)
            for (int i = 0; i < m; i++)
                rows[(size_t) i * d + o] = key.weight[(size_t) o * m + i];
        memcpy(rows + (size_t) m * d, key.bias, d * sizeof(float));
    }
    const struct sam_tensor t = sam_load_tensor(l, rows, 1, m + 1, d);
    sam_arena_release(&l->staging, mark);
    return t;
}

static void load_layer(struct sam_loader *l, const struct sam_config *config,
                       struct sam_memory_attention_layer *a, bool holds, const char *layer)
{
    const int d = config->d_model, m = config->mem_dim, hidden = config->memory_hidden;
    sam_load_norm(l, &a->norm1, d, "%s.norm1", layer);
    sam_load_linear(l, &a->self_q, d, d, "%s.self_attn.q_proj", layer);
    sam_load_linear(l, &a->self_k, d, d, "%s.self_attn.k_proj", layer);
    sam_load_linear(l, &a->self_v, d, d, "%s.self_attn.v_proj", layer);
    sam_load_linear(l, &a->self_out, d, d, "%s.self_attn.out_proj", layer);
    sam_load_norm(l, &a->norm2, d, "%s.norm2", layer);
    sam_load_linear(l, &a->cross_q, d, d, "%s.cross_attn_image.q_proj", layer);
    if (holds)
        sam_load_linear(l, &a->cross_k, d, m, "%s.cross_attn_image.k_proj", layer);
    else
        a->cross_key = load_cross_key(l, config, layer);
    load_cross_out(l, config, &a->cross_out, layer);
    sam_load_norm(l, &a->mlp.norm, d, "%s.norm3", layer);
    sam_load_linear(l, &a->mlp.up, hidden, d, "%s.linear1", layer);
    sam_load_linear(l, &a->mlp.down, d, hidden, "%s.linear2", layer);
}

// How keys made of the rows of a compressed map turn.
static struct sam_tensor load_turns(struct sam_loader *l, const struct sam_config *config)
{
    const int tokens = config->memory.map_tokens, d = config->d_model;
    const size_t mark = sam_arena_mark(&l->staging);
    float *table = sam_load_room(&l->staging, (size_t) tokens * d);
    if (sam_load_live(l))
        config->family->compressor->turns(config, table);
    const struct sam_tensor t = sam_load_tensor(l, table, 1, tokens, d);
    sam_arena_release(&l->staging, mark);
    return t;
}

void sam_memory_attention_load(struct sam_loader *l, const struct sam_config *config,
                               struct sam_memory_attention *a)
{
    static const char *const layers[SAM_MAX_MEMORY_LAYERS] = {
        "memory_attention.layers.0", "memory_attention.layers.1", "memory_attention.layers.2",
        "memory_attention.layers.3", "memory_attention.layers.4", "memory_attention.layers.5",
        "memory_attention.layers.6", "memory_attention.layers.7",
    };
    const int d = config->d_model, h = sam_grid(config);
    a->holds_keys = room_for_keys(config, l->queue, 1, 1) == 0;
    for (int i = 0; i < config->memory_layers; i++)
        load_layer(l, config, &a->layer[i], a->holds_keys, layers[i]);
    sam_load_norm(l, &a->norm, d, "memory_attention.norm");
    a->no_mem_embed = sam_load_rows(l, 3, (int64_t[]) { 1, 1, d }, "no_mem_embed");

    const size_t mark = sam_arena_mark(&l->staging);
    float *table = sam_load_room(&l->staging, (size_t) h * h * d);
    if (sam_load_live(l))
        sam_position_sine(h, d, table);
    a->position = sam_load_tensor(l, table, 1, h * h, d);
    if (sam_load_live(l))
        sam_position_rope(h, d, table);
    a->rope = sam_load_tensor(l, table, 1, h * h, d);
    a->key_rope = config->family->compressor ? load_turns(l, config) : a->rope;
    if (sam_load_live(l)) // (h h, d) -> (h, d / 2): of the first line the half that x turns
        for (int x = 1; x < h; x++)
            memmove(table + (size_t) x * (d / 2), table + (size_t) x * d, d / 2 * sizeof(float));
    a->axis = sam_load_tensor(l, table, 1, h, d / 2);
    sam_arena_release(&l->staging, mark);
}

// Rows that are left of max_keys where keys are pooled, at most: of one map all, of several a
// quarter, but all of the first and the last where they stay. Every map may have a pointer, and
// others have one, too.
static int pooled_rows(const struct sam_config *c, int max_keys)
{
    const int N = sam_grid(c) * sam_grid(c);
    const int pointers = (max_keys / N + SAM_MAX_POINTERS) * (c->d_model / c->mem_dim);
    const int whole = c->pooling_between ? N + N / 2 : 0; // more than their quarters
    const int one = N + pointers, several = max_keys / 4 + whole + pointers;
    const int most = one > several ? one : several;
    return most < max_keys ? most : max_keys;
}

void sam_memory_attention_layout(struct sam_memory_attention_scratch *s, const struct sam_config *c,
                                 const struct sam_queue *q, int batch, int max_keys,
                                 struct sam_arena *a)
{
    const enum sam_type type = sam_queue_type(q);
    const int N = sam_grid(c) * sam_grid(c), d = c->d_model;
    s->u = sam_arena_tensor(a, type, batch, 1, N, d);
    s->q = sam_arena_tensor(a, type, batch, 1, N, d);
    if (c->pooling) { // of all layers
        const int rows = pooled_rows(c, max_keys);
        s->pooled_value = sam_arena_tensor(a, type, batch, 1, rows, c->mem_dim);
        s->pooled_counts = sam_arena_tensor(a, SAM_I32, 2, 1, 1, batch);
    }
    // k, v, mixed and hidden of one half, memory_key and narrow of the other never meet.
    const size_t mark = sam_arena_mark(a);
    s->k = sam_arena_tensor(a, type, batch, 1, N, d);
    s->v = sam_arena_tensor(a, type, batch, 1, N, d);
    s->mixed = sam_arena_tensor(a, type, batch, 1, N, d);
    const size_t end_self = sam_arena_mark(a);
    sam_arena_release(a, mark);
    const size_t room = room_for_keys(c, q, batch, max_keys);
    s->room = room ? sam_arena_bytes(a, room) : NULL;
    if (!room)
        s->memory_key = sam_arena_tensor(a, type, batch, 1, max_keys, d);
    if (c->pooling) {
        const int rows = pooled_rows(c, max_keys);
        s->pooled_key = sam_arena_tensor(a, type, batch, 1, rows, d);
    }
    s->narrow = sam_arena_tensor(a, type, batch, 1, N, c->mem_dim);
    const size_t end_cross = sam_arena_mark(a);
    sam_arena_release(a, mark);
    if (sam_mlp_hidden(q, 1))
        s->hidden = sam_arena_tensor(a, type, batch, 1, N, c->memory_hidden);
    if (a->used < end_self)
        sam_arena_bytes(a, end_self - a->used);
    if (a->used < end_cross)
        sam_arena_bytes(a, end_cross - a->used);
}

// x (B, 1, N, d), updated in place.
static void self_attention(struct sam_queue *q, const struct sam_memory_attention *a,
                           const struct sam_memory_attention_layer *l,
                           const struct sam_memory_attention_scratch *s, struct sam_tensor x)
{
    const struct sam_tensor u = sam_first(s->u, x.n), mixed = sam_first(s->mixed, x.n);
    const struct sam_tensor Q = sam_first(s->q, x.n), K = sam_first(s->k, x.n);
    const struct sam_tensor V = sam_first(s->v, x.n);

    const struct sam_linear qkv[] = {
        { .dst = Q, .src = u, LINEAR(l->self_q), .table = a->rope },
        { .dst = K, .src = u, LINEAR(l->self_k), .table = a->rope },
        { .dst = V, .src = u, LINEAR(l->self_v) },
    };
    norm_linears(q, .norm = { .dst = u, .src = x, NORM(l->norm1), .eps = EPS_TRANSFORMER },
                 .each = qkv, .count = 3);
    attention(q, .dst = mixed, .q = Q, .k = K, .v = V, .heads = 1, .scale = 1 / sqrtf(x.c));
    linear(q, .dst = x, .src = mixed, LINEAR(l->self_out), .add = x);
}

// What a batch remembers. Where keys are pooled, `values` are.
struct remembered {
    enum sam_pooling pooling;
    bool between;
    struct sam_tensor values, keys, num_keys, num_rotated;
};

static struct sam_tensor pool(struct sam_queue *q, const struct sam_memory_attention *a,
                              const struct sam_memory_attention_scratch *s,
                              const struct remembered *r, struct sam_tensor room,
                              struct sam_tensor src, float shift)
{
    const struct sam_tensor dst = sam_view(room, src.n, 1, room.w < src.w ? room.w : src.w, src.c);
    const struct sam_tensor counts = sam_view(s->pooled_counts, 2, 1, 1, src.n);

    pool_keys(q, .dst = dst, .src = src, .num_rotated = r->num_rotated, .num_keys = r->num_keys,
              .counts = counts, .side = a->axis.w, .shift = shift, .between = r->between);
    return dst;
}

// That a mean counts as four is the same as that all others count as a quarter.
static void attend_pooled(struct sam_queue *q, const struct sam_memory_attention *a,
                          const struct sam_memory_attention_scratch *s, const struct remembered *r,
                          struct sam_tensor dst, struct sam_tensor Q, struct sam_tensor K)
{
    const float ln4 = 1.3862944f;
    const bool counted = r->pooling == SAM_POOLING_COUNTED;
    const struct sam_tensor counts = sam_view(s->pooled_counts, 2, 1, 1, Q.n);
    const struct sam_tensor num_keys = sam_reshape(sam_slice(counts, 0), 1, 1, 1, Q.n);
    struct sam_tensor means = sam_reshape(sam_slice(counts, 1), 1, 1, 1, Q.n);

    const struct sam_tensor keys = pool(q, a, s, r, s->pooled_key, K, counted ? 0 : ln4);
    if (!counted)
        means.data = NULL;
    attention(q, .dst = dst, .q = Q, .k = keys, .v = r->values, .num_keys = num_keys,
              .num_first = means, .rest = counted ? -ln4 : 0, .heads = 1,
              .scale = 1 / sqrtf(Q.c));
}

// The keys carry their place and time, the values do not; pointers, at the end, do not turn.
// Returns the product that the result is added to x by.
static struct sam_linear cross_attention(struct sam_queue *q, const struct sam_memory_attention *a,
                                         const struct sam_memory_attention_layer *l,
                                         const struct sam_memory_attention_scratch *s,
                                         const struct remembered *r, struct sam_tensor x)
{
    const struct sam_tensor u = sam_first(s->u, x.n), narrow = sam_first(s->narrow, x.n);
    const struct sam_tensor Q = sam_first(s->q, x.n);
    const float scale = 1 / sqrtf(x.c);

    const struct sam_tensor K =
        a->holds_keys ? sam_view(s->memory_key, x.n, 1, r->keys.w, x.c) : r->keys;
    const struct sam_linear qk[] = {
        { .dst = Q, .src = u, LINEAR(l->cross_q), .table = a->rope },
        { .dst = K, .src = r->keys, LINEAR(l->cross_k), .table = a->key_rope,
          .num_rotated = r->num_rotated },
    };
    norm_linears(q, .norm = { .dst = u, .src = x, NORM(l->norm2), .eps = EPS_TRANSFORMER },
                 .each = qk, .count = a->holds_keys ? 2 : 1);
    if (r->pooling) {
        attend_pooled(q, a, s, r, narrow, Q, K);
    } else if (a->holds_keys) {
        attention(q, .dst = narrow, .q = Q, .k = K, .v = r->values, .num_keys = r->num_keys,
                  .heads = 1, .scale = scale);
    } else {
        rope_attention(q, .dst = narrow, .q = Q, .keys = r->keys, .values = r->values,
                       .weight = l->cross_key, .axis = a->axis, .num_keys = r->num_keys,
                       .num_rotated = r->num_rotated, .scale = scale, .room = s->room);
    }
    return (struct sam_linear) { .dst = x, .src = narrow, LINEAR(l->cross_out), .add = x };
}

void sam_memory_attention_run(struct sam_queue *q, const struct sam_model *m,
                              struct sam_memory_attention_scratch *s, struct sam_tensor image,
                              struct sam_tensor values, struct sam_tensor keys,
                              struct sam_tensor num_keys, struct sam_tensor num_rotated,
                              struct sam_tensor dst, struct sam_tensor plus)
{
    const struct sam_memory_attention *a = &m->attention;
    const int N = a->rope.w, d = a->rope.c;
    const struct sam_tensor x = sam_reshape(dst, dst.n, 1, N, d), first = sam_slice(x, 0);
    struct remembered r = { m->config.pooling, m->config.pooling_between,
                            values, keys, num_keys, num_rotated };
    char name[40];

    if (r.pooling)
        r.values = pool(q, a, s, &r, s->pooled_value, values, 0);
    // Until it meets the memory a frame is the same for every object: computed once.
    add(q, .dst = first, .a = sam_reshape(image, 1, 1, N, d), .b = a->position, .scale = 0.1f);
    self_attention(q, a, &a->layer[0], s, first);
    if (x.n > 1) {
        struct sam_tensor others = sam_slice(x, 1);
        others.n = x.n - 1;
        copy(q, .dst = others, .src = first);
    }

    for (int i = 0; i < m->config.memory_layers; i++) {
        const struct sam_memory_attention_layer *l = &a->layer[i];
        if (i > 0)
            self_attention(q, a, l, s, x);
        const struct sam_linear out = cross_attention(q, a, l, s, &r, x);
        sam_mlp_run_behind(q, &out, &l->mlp, EPS_TRANSFORMER, SAM_ACT_RELU, s->u, s->hidden);
        snprintf(name, sizeof(name), "memory_attention.layer%d", i);
        sam_queue_mark(q, name, x);
    }
    const struct sam_tensor sum = plus.data ? x : plus;
    layernorm(q, .dst = x, .src = x, NORM(a->norm), .eps = EPS_TRANSFORMER, .sum = sum,
              .add = plus);
    if (!plus.data)
        sam_queue_mark(q, "memory_attention.out", dst);
}
