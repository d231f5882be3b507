// SPDX-License-Identifier: MIT
// The mask decoder: a two-way transformer between a few tokens and the image. Masks are the dot
// products of the resulting mask tokens with the upsampled image.
//
// The tokens are computed in F32 at any precision: they are few, and they decide which candidate is
// chosen and whether the object is present. Most of the work is in the image's maps: in wide models
// their products follow the precision.
#include <math.h>

#include "net/forward.h"
#include "net/load.h"
#include "net/position.h"
#include "parts.h"

#define TRANSFORMER "sam_mask_decoder.transformer"

enum { HEADS = SAM_MASK_TOKENS + 2 }; // score, IoU, masks, as the tokens are ordered
_Static_assert((int) HEADS <= (int) SAM_MAX_LINEARS, "all heads at once");

// Of the tokens among themselves.
static void load_self(struct sam_loader *l, const struct sam_config *config,
                      struct sam_attention_weights *a, const char *prefix)
{
    const int d = config->d_model;
    sam_load_linear(l, &a->q, d, d, "%s.self_attn.q_proj", prefix);
    sam_load_linear(l, &a->k, d, d, "%s.self_attn.k_proj", prefix);
    sam_load_linear(l, &a->v, d, d, "%s.self_attn.v_proj", prefix);
    sam_load_linear(l, &a->out, d, d, "%s.self_attn.out_proj", prefix);
}

// Between tokens and image: what is made of the image, or for it, is exact where maps are.
static void load_cross(struct sam_loader *l, const struct sam_config *config,
                       struct sam_attention_weights *a, bool image_asks, const char *prefix,
                       const char *name)
{
    const int d = config->d_model, width = d / 2;
    const bool exact = l->exact, image = exact && config->exact_maps;
    l->exact = image_asks ? image : exact;
    sam_load_linear(l, &a->q, width, d, "%s.%s.q_proj", prefix, name);
    sam_load_linear(l, &a->out, d, width, "%s.%s.out_proj", prefix, name);
    l->exact = image_asks ? exact : image;
    sam_load_linear(l, &a->k, width, d, "%s.%s.k_proj", prefix, name);
    sam_load_linear(l, &a->v, width, d, "%s.%s.v_proj", prefix, name);
    l->exact = exact;
}

static void load_layer(struct sam_loader *l, const struct sam_config *config,
                       struct sam_two_way_layer *t, const char *layer)
{
    const int d = config->d_model, hidden = config->decoder_hidden;
    load_self(l, config, &t->self, layer);
    load_cross(l, config, &t->token_to_image, false, layer, "cross_attn_token_to_image");
    load_cross(l, config, &t->image_to_token, true, layer, "cross_attn_image_to_token");
    sam_load_norm(l, &t->norm1, d, "%s.norm1", layer);
    sam_load_norm(l, &t->norm2, d, "%s.norm2", layer);
    sam_load_norm(l, &t->norm3, d, "%s.norm3", layer);
    sam_load_norm(l, &t->norm4, d, "%s.norm4", layer);
    sam_load_linear(l, &t->mlp_in, hidden, d, "%s.mlp.layers.0", layer);
    sam_load_linear(l, &t->mlp_out, d, hidden, "%s.mlp.layers.1", layer);
}

static void load_mlp(struct sam_loader *l, const struct sam_config *config, struct sam_mlp3 *mlp,
                     int hidden, int out, const char *name)
{
    const int d = config->d_model;
    sam_load_linear(l, &mlp->layer[0], hidden, d, "%s.layers.0", name);
    sam_load_linear(l, &mlp->layer[1], hidden, hidden, "%s.layers.1", name);
    sam_load_linear(l, &mlp->layer[2], out, hidden, "%s.layers.2", name);
}

static void load_heads(struct sam_loader *l, const struct sam_config *c, struct sam_decoder *d)
{
    static const char *const hyper[SAM_MASK_TOKENS] = {
        "sam_mask_decoder.output_hypernetworks_mlps.0",
        "sam_mask_decoder.output_hypernetworks_mlps.1",
        "sam_mask_decoder.output_hypernetworks_mlps.2",
        "sam_mask_decoder.output_hypernetworks_mlps.3",
    };
    const int width = c->d_model;
    const char *up = "sam_mask_decoder.output_upscaling";

    l->exact = c->exact_maps;
    sam_load_conv_transpose(l, &d->upscale1, c->high_res_s1, width, "%s.0", up);
    l->exact = true;
    sam_load_norm(l, &d->upscale_norm, c->high_res_s1, "%s.1", up);
    sam_load_conv_transpose(l, &d->upscale2, c->high_res_s0, c->high_res_s1, "%s.3", up);
    for (int i = 0; i < SAM_MASK_TOKENS; i++)
        load_mlp(l, c, &d->hyper[i], width, c->high_res_s0, hyper[i]);
    load_mlp(l, c, &d->iou_head, c->iou_hidden, SAM_MASK_TOKENS,
             "sam_mask_decoder.iou_prediction_head");
    load_mlp(l, c, &d->score_head, width, 1, "sam_mask_decoder.pred_obj_score_head");
    load_mlp(l, c, &d->pointer_proj, width, width, "obj_ptr_proj");
    d->no_obj_ptr = sam_load_rows(l, 2, (int64_t[]) { 1, width }, "no_obj_ptr");
}

// The output tokens in their order; and behind them the two not-a-point tokens of a frame
// without prompts.
static void load_tokens(struct sam_loader *l, const struct sam_config *config,
                        struct sam_decoder *d, const struct sam_prompt_encoder *p)
{
    const int c = config->d_model;
    const size_t mark = sam_arena_mark(&l->staging);
    float *table = sam_load_room(&l->staging, (SAM_OUTPUT_TOKENS + 2) * (size_t) c);

    sam_load_read(l, table, 2, (int64_t[]) { 1, c }, "sam_mask_decoder.obj_score_token.weight");
    sam_load_read(l, l->measuring ? NULL : table + c, 2, (int64_t[]) { 1, c },
                  "sam_mask_decoder.iou_token.weight");
    sam_load_read(l, l->measuring ? NULL : table + 2 * c, 2, (int64_t[]) { SAM_MASK_TOKENS, c },
                  "sam_mask_decoder.mask_tokens.weight");
    if (sam_load_live(l))
        sam_prompt_tokens(p, c, config->image_size, 0, NULL, NULL,
                          table + SAM_OUTPUT_TOKENS * c);
    d->output_tokens = sam_load_tensor(l, table, 1, SAM_OUTPUT_TOKENS, c);
    d->start.initial = sam_load_tensor(l, table, 1, SAM_OUTPUT_TOKENS + 2, c);
    sam_arena_release(&l->staging, mark);
}

static void load_places(struct sam_loader *l, const struct sam_config *config,
                        struct sam_decoder *d, const struct sam_prompt_encoder *p)
{
    const int h = sam_grid(config), N = h * h, c = config->d_model;
    const size_t staging = sam_arena_mark(&l->staging);
    float *table = sam_load_room(&l->staging, (size_t) N * c);
    if (sam_load_live(l))
        sam_position_fourier_map(p->gaussian, h, c, table);

    for (int i = 0; i <= SAM_DECODER_LAYERS; i++) {
        d->place[i].key = sam_arena_tensor(&l->constant, SAM_F32, 1, 1, N, c / 2);
        if (i < SAM_DECODER_LAYERS)
            d->place[i].query = sam_arena_tensor(&l->constant, SAM_F32, 1, 1, N, c / 2);
    }
    const size_t mark = sam_arena_mark(&l->constant);
    const struct sam_tensor pe = sam_load_tensor(l, table, 1, N, c);
    if (sam_load_live(l))
        for (int i = 0; i <= SAM_DECODER_LAYERS; i++) {
            const struct sam_attention_weights *to_image =
                i < SAM_DECODER_LAYERS ? &d->layer[i].token_to_image : &d->final_token_to_image;
            linear(l->queue, .dst = d->place[i].key, .src = pe, .weight = to_image->k.weight);
            if (i < SAM_DECODER_LAYERS)
                linear(l->queue, .dst = d->place[i].query, .src = pe,
                       .weight = d->layer[i].image_to_token.q.weight);
        }
    sam_arena_release(&l->constant, mark); // the map itself is not needed again
    sam_arena_release(&l->staging, staging);
}

// The part of the scratch that the tokens use, T of them.
static void layout_tokens(struct sam_decoder_scratch *s, const struct sam_config *c, int batch,
                          int T, struct sam_arena *a)
{
    const enum sam_type type = SAM_F32;
    const int d = c->d_model;
    s->tokens = sam_arena_tensor(a, SAM_F32, batch, 1, T, d);
    s->initial = sam_arena_tensor(a, SAM_F32, batch, 1, T, d);
    s->u = sam_arena_tensor(a, type, batch, 1, T, d);
    s->tq = sam_arena_tensor(a, type, batch, 1, T, d);
    s->tk = sam_arena_tensor(a, type, batch, 1, T, d);
    s->tv = sam_arena_tensor(a, type, batch, 1, T, d);
    s->shown_k = sam_arena_tensor(a, type, batch, 1, T, d / 2);
    s->shown_v = sam_arena_tensor(a, type, batch, 1, T, d / 2);
    s->mixed = sam_arena_tensor(a, type, batch, 1, T, d);
    s->hidden = sam_arena_tensor(a, type, batch, 1, T, c->decoder_hidden);
}

void sam_decoder_layout(struct sam_decoder_scratch *s, const struct sam_config *c, int batch,
                        int max_sparse, struct sam_arena *a)
{
    const enum sam_type type = SAM_F32;
    const int h = sam_grid(c), N = h * h, d = c->d_model;
    const int widest = c->iou_hidden > d ? c->iou_hidden : d;
    layout_tokens(s, c, batch, SAM_OUTPUT_TOKENS + max_sparse, a);
    s->token = sam_arena_tensor(a, SAM_F32, HEADS * batch, 1, 1, d);
    s->mlp_a = sam_arena_tensor(a, type, HEADS * batch, 1, 1, widest);
    s->mlp_b = sam_arena_tensor(a, type, HEADS * batch, 1, 1, widest);
    s->hyper_row = sam_arena_tensor(a, type, SAM_MASK_TOKENS * batch, 1, 1, c->high_res_s0);
    s->hyper = sam_arena_tensor(a, type, batch, 1, SAM_MASK_TOKENS, c->high_res_s0);

    // The image sides of the transformer are done when the upscaling begins.
    const size_t mark = sam_arena_mark(a);
    s->iq = sam_arena_tensor(a, type, batch, 1, N, d / 2);
    s->ik = sam_arena_tensor(a, type, batch, 1, N, d / 2);
    s->iv = sam_arena_tensor(a, type, batch, 1, N, d / 2);
    const size_t end = sam_arena_mark(a);
    sam_arena_release(a, mark);
    s->up1 = sam_arena_tensor(a, type, batch, 2 * h, 2 * h, c->high_res_s1);
    s->up2 = sam_arena_tensor(a, type, batch, 4 * h, 4 * h, c->high_res_s0);
    if (a->used < end)
        sam_arena_bytes(a, end - a->used);
}

static float head_scale(int width)
{
    return 1 / sqrtf((float) width / SAM_DECODER_HEADS);
}

// Scratch tensor t for the tokens of `like`, c channels.
static struct sam_tensor fit(struct sam_tensor t, struct sam_tensor like, int c)
{
    return sam_view(t, like.n, 1, like.w, c);
}

// What a product makes of the tokens, normed. Returns them with their position, which whoever is
// next asks with.
static struct sam_tensor norm_tokens(struct sam_queue *q, const struct sam_linear *product,
                                     const struct sam_affine *norm,
                                     const struct sam_decoder_scratch *s,
                                     struct sam_tensor position)
{
    const struct sam_tensor tokens = product->dst, u = fit(s->u, tokens, tokens.c);
    product_norm(q, .linear = product,
                 .norm = { .dst = tokens, .src = tokens, NORM(*norm), .eps = EPS_TRANSFORMER,
                           .sum = u, .add = position });
    return u;
}

// The products that self_attention() begins with, and how many; u: the tokens with their position.
static int ask_self(struct sam_linear *each, const struct sam_two_way_layer *l,
                    const struct sam_decoder_scratch *s, struct sam_tensor tokens,
                    struct sam_tensor u)
{
    const int d = tokens.c;
    each[0] = (struct sam_linear) { .dst = fit(s->tq, tokens, d), .src = u, LINEAR(l->self.q) };
    each[1] = (struct sam_linear) { .dst = fit(s->tk, tokens, d), .src = u, LINEAR(l->self.k) };
    each[2] = (struct sam_linear) { .dst = fit(s->tv, tokens, d), .src = tokens,
                                    LINEAR(l->self.v) };
    return 3;
}

// Tokens among themselves, asked already. Layer 0 has no shortcut. Returns the tokens with their
// position.
static struct sam_tensor self_attention(struct sam_queue *q, const struct sam_two_way_layer *l,
                                        const struct sam_decoder_scratch *s,
                                        struct sam_tensor tokens, struct sam_tensor shortcut,
                                        struct sam_tensor position)
{
    const int d = tokens.c;
    const struct sam_tensor Q = fit(s->tq, tokens, d), K = fit(s->tk, tokens, d);
    const struct sam_tensor V = fit(s->tv, tokens, d), mixed = fit(s->mixed, tokens, d);

    attention(q, .dst = mixed, .q = Q, .k = K, .v = V, .heads = SAM_DECODER_HEADS,
              .exact = true, .scale = head_scale(d));
    const struct sam_linear out = { .dst = tokens, .src = mixed, LINEAR(l->self.out),
                                    .add = shortcut };
    return norm_tokens(q, &out, &l->norm1, s, position);
}

// What the image is to the tokens: keys and values; and with `asks` its own questions to them, for
// image_to_token() later on: until then it stays as it is.
static void show_image(struct sam_queue *q, const struct sam_attention_weights *w,
                       const struct sam_attention_weights *asks,
                       const struct sam_decoder_scratch *s, struct sam_tensor image,
                       struct sam_tensor key_place, struct sam_tensor query_place)
{
    struct sam_linear each[3] = {
        { .dst = sam_first(s->ik, image.n), .src = image, LINEAR(w->k), .add = key_place },
        { .dst = sam_first(s->iv, image.n), .src = image, LINEAR(w->v) },
    };
    if (asks)
        each[2] = (struct sam_linear) { .dst = sam_first(s->iq, image.n), .src = image,
                                        LINEAR(asks->q), .add = query_place };
    linears(q, .each = each, .count = asks ? 3 : 2);
}

// Tokens look at the image, which is shown; `query` is theirs already. before: what the result is
// added to.
static void token_to_image(struct sam_queue *q, const struct sam_attention_weights *w,
                           const struct sam_affine *norm, const struct sam_decoder_scratch *s,
                           struct sam_tensor tokens, struct sam_tensor before,
                           struct sam_tensor query)
{
    const struct sam_tensor K = sam_first(s->ik, tokens.n), V = sam_first(s->iv, tokens.n);
    const struct sam_tensor mixed = fit(s->mixed, tokens, tokens.c / 2);

    attention(q, .dst = mixed, .q = query, .k = K, .v = V, .heads = SAM_DECODER_HEADS,
              .exact = true, .scale = head_scale(tokens.c / 2));
    const struct sam_linear out = { .dst = tokens, .src = mixed, LINEAR(w->out), .add = before };
    product_norm(q, .linear = &out, .norm = { .dst = tokens, .src = tokens, NORM(*norm),
                                              .eps = EPS_TRANSFORMER });
}

// The tokens as layer i leaves them: what they are to the image, and what the next layer, or the
// last look at the image, begins with.
static void show_tokens(struct sam_queue *q, const struct sam_decoder *d, int i,
                        const struct sam_decoder_scratch *s, struct sam_tensor tokens,
                        struct sam_tensor u)
{
    const struct sam_attention_weights *w = &d->layer[i].image_to_token;
    const int width = tokens.c / 2;
    struct sam_linear each[5] = {
        { .dst = fit(s->shown_k, tokens, width), .src = u, LINEAR(w->k) },
        { .dst = fit(s->shown_v, tokens, width), .src = tokens, LINEAR(w->v) },
        { .dst = fit(s->tq, tokens, width), .src = u, LINEAR(d->final_token_to_image.q) },
    };
    int count = 3;
    if (i + 1 < SAM_DECODER_LAYERS)
        count = 2 + ask_self(each + 2, &d->layer[i + 1], s, tokens, u);
    linears(q, .each = each, .count = count);
}

// The image looks at the tokens; both have been shown.
static void image_to_token(struct sam_queue *q, const struct sam_two_way_layer *l,
                           const struct sam_decoder_scratch *s, struct sam_tensor tokens,
                           struct sam_tensor image)
{
    const int d = tokens.c;
    const struct sam_tensor Q = sam_first(s->iq, tokens.n), mixed = sam_first(s->ik, tokens.n);
    const struct sam_tensor K = fit(s->shown_k, tokens, d / 2), V = fit(s->shown_v, tokens, d / 2);

    attention(q, .dst = mixed, .q = Q, .k = K, .v = V, .heads = SAM_DECODER_HEADS,
              .exact = true, .scale = head_scale(d / 2));
    const struct sam_linear out = { .dst = image, .src = mixed, LINEAR(l->image_to_token.out),
                                    .add = image };
    product_norm(q, .linear = &out, .norm = { .dst = image, .src = image, NORM(l->norm4),
                                              .eps = EPS_TRANSFORMER });
}

static struct sam_tensor two_way_mlp(struct sam_queue *q, const struct sam_two_way_layer *l,
                                     const struct sam_decoder_scratch *s, struct sam_tensor tokens,
                                     struct sam_tensor position)
{
    const struct sam_tensor hidden = fit(s->hidden, tokens, s->hidden.c);
    linear(q, .dst = hidden, .src = tokens, LINEAR(l->mlp_in), .act = SAM_ACT_RELU);
    const struct sam_linear out = { .dst = tokens, .src = hidden, LINEAR(l->mlp_out),
                                    .add = tokens };
    return norm_tokens(q, &out, &l->norm3, s, position);
}

static void load_start(struct sam_loader *l, const struct sam_config *config, struct sam_decoder *d)
{
    const int T = SAM_OUTPUT_TOKENS + 2, c = config->d_model;
    d->start.tokens = sam_arena_tensor(&l->constant, SAM_F32, 1, 1, T, c);
    d->start.query = sam_arena_tensor(&l->constant, SAM_F32, 1, 1, T, c / 2);

    const struct sam_tensor none = { 0 };
    struct sam_decoder_scratch s;
    const size_t mark = sam_arena_mark(&l->constant);
    layout_tokens(&s, config, 1, T, &l->constant);
    if (sam_load_live(l)) {
        copy(l->queue, .dst = d->start.tokens, .src = d->start.initial);
        struct sam_linear each[3];
        const int count = ask_self(each, &d->layer[0], &s, d->start.tokens, d->start.tokens);
        linears(l->queue, .each = each, .count = count);
        const struct sam_tensor u = self_attention(l->queue, &d->layer[0], &s, d->start.tokens,
                                                   none, d->start.initial);
        linear(l->queue, .dst = d->start.query, .src = u, LINEAR(d->layer[0].token_to_image.q));
    }
    sam_arena_release(&l->constant, mark);
}

void sam_decoder_load(struct sam_loader *l, const struct sam_config *config, struct sam_decoder *d,
                      const struct sam_prompt_encoder *p)
{
    l->exact = true;
    load_layer(l, config, &d->layer[0], TRANSFORMER ".layers.0");
    load_layer(l, config, &d->layer[1], TRANSFORMER ".layers.1");
    load_cross(l, config, &d->final_token_to_image, false, TRANSFORMER,
               "final_attn_token_to_image");
    sam_load_norm(l, &d->norm_final, config->d_model, TRANSFORMER ".norm_final_attn");
    load_heads(l, config, d);
    load_tokens(l, config, d, p);
    load_places(l, config, d, p);
    load_start(l, config, d);
    l->exact = false;
}

// Layer 0 up to the tokens' question to the image: constant where nobody prompts, and not copied
// where it can be read as it is. Returns the tokens; the question in *query.
static struct sam_tensor begin(struct sam_queue *q, const struct sam_decoder *d,
                               const struct sam_decoder_scratch *s, struct sam_tensor sparse,
                               struct sam_tensor tokens, struct sam_tensor position,
                               struct sam_tensor *query)
{
    const struct sam_tensor none = { 0 };

    if (!sparse.data) {
        if (tokens.n > 1)
            copy(q, .dst = *query, .src = d->start.query);
        else
            *query = d->start.query;
        return d->start.tokens;
    }
    copy_rows(q, .dst = position, .src = d->output_tokens, .rows = SAM_OUTPUT_TOKENS);
    copy_rows(q, .dst = position, .src = sparse, .to = SAM_OUTPUT_TOKENS, .rows = sparse.w);
    copy(q, .dst = tokens, .src = position);
    struct sam_linear each[3];
    const int count = ask_self(each, &d->layer[0], s, tokens, tokens);
    linears(q, .each = each, .count = count);
    const struct sam_tensor u = self_attention(q, &d->layer[0], s, tokens, none, position);
    linear(q, .dst = *query, .src = u, LINEAR(d->layer[0].token_to_image.q));
    return tokens;
}

// Tokens and image look at each other. image (B, 1, N, d); the initial tokens are the position
// of the tokens throughout.
static void two_way(struct sam_queue *q, const struct sam_decoder *d,
                    const struct sam_decoder_scratch *s, struct sam_tensor sparse,
                    struct sam_tensor tokens, struct sam_tensor image)
{
    const struct sam_tensor position =
        sparse.data ? fit(s->initial, tokens, tokens.c) : d->start.initial;
    const struct sam_tensor query = fit(s->tq, tokens, tokens.c / 2);

    for (int i = 0; i < SAM_DECODER_LAYERS; i++) {
        const struct sam_two_way_layer *l = &d->layer[i];
        struct sam_tensor before = tokens, asked = query;
        if (i == 0) {
            before = begin(q, d, s, sparse, tokens, position, &asked);
        } else {
            const struct sam_tensor u = self_attention(q, l, s, tokens, tokens, position);
            linear(q, .dst = query, .src = u, LINEAR(l->token_to_image.q));
        }
        show_image(q, &l->token_to_image, &l->image_to_token, s, image, d->place[i].key,
                   d->place[i].query);
        token_to_image(q, &l->token_to_image, &l->norm2, s, tokens, before, asked);
        const struct sam_tensor u = two_way_mlp(q, l, s, tokens, position);
        show_tokens(q, d, i, s, tokens, u);
        image_to_token(q, l, s, tokens, image);
    }
    const struct sam_tensor none = { 0 };
    show_image(q, &d->final_token_to_image, NULL, s, image, d->place[SAM_DECODER_LAYERS].key, none);
    token_to_image(q, &d->final_token_to_image, &d->norm_final, s, tokens, tokens, query);
}

// Three layers over one row per object; act: of the last.
struct head {
    const struct sam_mlp3 *mlp;
    struct sam_tensor src, dst;
    enum sam_act act;
};

// The part of a room that head i uses: its rows begin behind those of the heads before.
static struct sam_tensor room_of(struct sam_tensor room, int i, int n, int c)
{
    struct sam_tensor t = sam_slice(room, i * n);
    t.n = n;
    return sam_view(t, n, 1, 1, c);
}

// Up to HEADS of them, side by side: none is large.
static void run_heads(struct sam_queue *q, const struct sam_decoder_scratch *s,
                      const struct head *head, int count)
{
    struct sam_linear layer[3][HEADS];

    for (int i = 0; i < count; i++) {
        const struct sam_product *p = head[i].mlp->layer;
        const int n = head[i].src.n;
        const struct sam_tensor a = room_of(s->mlp_a, i, n, p[0].weight.out);
        const struct sam_tensor b = room_of(s->mlp_b, i, n, p[1].weight.out);
        layer[0][i] = (struct sam_linear) { .dst = a, .src = head[i].src, LINEAR(p[0]),
                                            .act = SAM_ACT_RELU };
        layer[1][i] = (struct sam_linear) { .dst = b, .src = a, LINEAR(p[1]),
                                            .act = SAM_ACT_RELU };
        layer[2][i] = (struct sam_linear) { .dst = head[i].dst, .src = b, LINEAR(p[2]),
                                            .act = head[i].act };
    }
    for (int k = 0; k < 3; k++)
        linears(q, .each = layer[k], .count = count);
}

// Row i of a single object's.
static struct sam_tensor only_row(struct sam_tensor rows, int i)
{
    return sam_slice(sam_reshape(rows, rows.w, 1, 1, rows.c), i);
}

// Row i of every object, in the room if there are several.
static struct sam_tensor row_of(struct sam_queue *q, struct sam_tensor rows, int i,
                                struct sam_tensor room)
{
    if (rows.n == 1)
        return only_row(rows, i);
    copy_rows(q, .dst = room, .src = rows, .from = i, .rows = 1);
    return room;
}

// All four candidates, their IoUs and the object score. tokens: [score, IoU, masks, prompts].
static void heads(struct sam_queue *q, const struct sam_decoder *d,
                  const struct sam_decoder_scratch *s, struct sam_tensor tokens,
                  struct sam_tensor image, const struct sam_features *f,
                  const struct sam_decoded *dst)
{
    const int B = tokens.n;
    const struct sam_tensor hyper = sam_first(s->hyper, B);
    const struct sam_tensor up1 = sam_first(s->up1, B), up2 = sam_first(s->up2, B);

    const struct sam_conv_transpose up = { .dst = up1, .src = image, PRODUCT(d->upscale1),
                                           .add = f->s1 };
    product_norm(q, .conv_transpose = &up, .norm = { .dst = up1, .src = up1, NORM(d->upscale_norm),
                                                     .eps = EPS_MAP, .act = SAM_ACT_GELU });
    conv_transpose(q, .dst = up2, .src = up1, PRODUCT(d->upscale2), .add = f->s0,
                   .act = SAM_ACT_GELU);

    struct head head[HEADS] = { { &d->score_head, .dst = dst->score, .act = SAM_ACT_NONE },
                                { &d->iou_head, .dst = dst->ious, .act = SAM_ACT_SIGMOID } };
    for (int k = 0; k < SAM_MASK_TOKENS; k++) {
        const struct sam_tensor row =
            B == 1 ? only_row(hyper, k) : room_of(s->hyper_row, k, B, hyper.c);
        head[2 + k] = (struct head) { &d->hyper[k], .dst = row, .act = SAM_ACT_NONE };
    }
    for (int k = 0; k < HEADS; k++)
        head[k].src = row_of(q, tokens, k, room_of(s->token, k, B, tokens.c));
    run_heads(q, s, head, HEADS);
    for (int k = 0; k < SAM_MASK_TOKENS && B > 1; k++)
        copy_rows(q, .dst = hyper, .src = head[2 + k].dst, .to = k, .rows = 1);
    matmul(q, .dst = dst->masks, .a = hyper, .b = sam_reshape(up2, B, 1, up2.h * up2.w, up2.c));
}

// The mask tokens: where they were asked for, else those of the scratch, behind the other two.
static struct sam_tensor mask_tokens(const struct sam_decoder_scratch *s,
                                     const struct sam_decoded *dst)
{
    struct sam_tensor tokens = dst->tokens;

    if (!tokens.data) {
        tokens = sam_view(s->tokens, 1, 1, 2 + SAM_MASK_TOKENS, s->token.c);
        tokens = sam_slice(sam_reshape(tokens, tokens.w, 1, 1, s->token.c), 2);
        tokens.w = SAM_MASK_TOKENS;
    }
    return tokens;
}

// The tokens that the image is asked with: those of the prompts, or the two that stand for none.
static struct sam_tensor asked_with(const struct sam_decoder *d, struct sam_tensor sparse)
{
    struct sam_tensor none = d->start.initial;

    if (sparse.data)
        return sparse;
    none = sam_slice(sam_reshape(none, none.w, 1, 1, none.c), SAM_OUTPUT_TOKENS);
    none.w = 2;
    return none;
}

static void mark_candidates(struct sam_queue *q, const struct sam_decoder_scratch *s,
                            const struct sam_decoded *dst, int height)
{
    const int B = dst->masks.n;

    sam_queue_mark(q, "decoder.masks", sam_reshape(dst->masks, B, SAM_MASK_TOKENS, height,
                                                   dst->masks.c / height));
    sam_queue_mark(q, "decoder.ious", dst->ious);
    sam_queue_mark(q, "decoder.tokens", mask_tokens(s, dst));
    sam_queue_mark(q, "decoder.object_score", dst->score);
}

void sam_decoder_candidates(struct sam_queue *q, const struct sam_model *m,
                            struct sam_decoder_scratch *s, struct sam_tensor image,
                            struct sam_tensor sparse, const struct sam_features *f,
                            const struct sam_decoded *dst)
{
    const int B = image.n, N = image.h * image.w, d = image.c;
    const int T = SAM_OUTPUT_TOKENS + (sparse.data ? sparse.w : 2);
    const struct sam_tensor tokens = sam_view(s->tokens, B, 1, T, d);

    sam_queue_mark(q, "decoder.src", image);
    sam_queue_mark(q, "decoder.sparse", asked_with(&m->decoder, sparse));
    two_way(q, &m->decoder, s, sparse, tokens, sam_reshape(image, B, 1, N, d));
    heads(q, &m->decoder, s, tokens, image, f, dst);
    if (dst->tokens.data)
        copy_rows(q, .dst = dst->tokens, .src = tokens, .from = 2, .rows = SAM_MASK_TOKENS);
    mark_candidates(q, s, dst, 4 * image.h);
}

// The pointer of the chosen masks, whose tokens are given.
static void point(struct sam_queue *q, const struct sam_decoder *d, struct sam_decoder_scratch *s,
                  struct sam_tensor token, const struct sam_decoded *dst)
{
    const struct head pointer = { &d->pointer_proj, token, dst->pointer, SAM_ACT_NONE };

    run_heads(q, s, &pointer, 1);
    gate(q, .dst = dst->pointer, .src = dst->pointer, .other = d->no_obj_ptr, .score = dst->score);
}

void sam_decoder_choose(struct sam_queue *q, const struct sam_model *m,
                        struct sam_decoder_scratch *s, struct sam_tensor multimask,
                        const struct sam_decoded *dst)
{
    const struct sam_tensor token = sam_first(s->token, dst->score.n);

    select_mask(q, .low_res = dst->low_res, .token = token, .iou = dst->iou, .masks = dst->masks,
                .tokens = mask_tokens(s, dst), .ious = dst->ious, .score = dst->score,
                .multimask = multimask, .delta = 0.05f, .threshold = 0.98f);
    point(q, &m->decoder, s, token, dst);
}

void sam_decoder_take(struct sam_queue *q, const struct sam_model *m,
                      struct sam_decoder_scratch *s, int candidate, const struct sam_decoded *dst)
{
    const struct sam_tensor token = sam_first(s->token, 1);
    const struct sam_tensor ious = sam_reshape(dst->ious, 1, 1, SAM_MASK_TOKENS, 1);

    copy_rows(q, .dst = dst->low_res, .src = dst->masks, .from = candidate, .rows = 1);
    copy_rows(q, .dst = dst->iou, .src = ious, .from = candidate, .rows = 1);
    copy_rows(q, .dst = token, .src = mask_tokens(s, dst), .from = candidate, .rows = 1);
    point(q, &m->decoder, s, token, dst);
}

void sam_decoder_run(struct sam_queue *q, const struct sam_model *m, struct sam_decoder_scratch *s,
                     struct sam_tensor image, struct sam_tensor sparse,
                     const struct sam_features *f, struct sam_tensor multimask,
                     const struct sam_decoded *dst)
{
    sam_decoder_candidates(q, m, s, image, sparse, f, dst);
    sam_decoder_choose(q, m, s, multimask, dst);
}
