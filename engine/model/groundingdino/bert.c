// SPDX-License-Identifier: MIT
// BERT, over the tokens of all phrases at once: those of one phrase see each other alone.
#include <math.h>
#include <string.h>

#include "groundingdino.h"
#include "net/forward.h"

#define EPS_BERT 1e-12f

static int most_tokens(const struct sam_config *c)
{
    return gdino_sizes(c)->places < SAM_MAX_TOKENS ? gdino_sizes(c)->places : SAM_MAX_TOKENS;
}

size_t gdino_encode_room(const struct sam_config *c)
{
    const struct gdino_sizes *s = gdino_sizes(c);
    const size_t most = (size_t) most_tokens(c);
    const size_t widest = (size_t) (s->bert > s->d ? s->bert : s->d);
    const size_t units = GDINO_TEXT_HEADS * most;

    return most * (widest > units ? widest : units);
}

// Rows of the tables, added up.
static void embed(const struct sam_pass *p, const struct sam_text *t, float *room,
                  struct sam_tensor dst)
{
    const struct gdino_bert *w = &gdino_weights_of(p)->bert;
    const int c = dst.c;

    for (int i = 0; i < t->tokens; i++) {
        const float *word = w->word + (size_t) t->id[i] * c;
        const float *place = w->place + (size_t) t->place[i] * c;
        for (int k = 0; k < c; k++)
            room[(size_t) i * c + k] = word[k] + w->kind[k] + place[k];
    }
    sam_queue_upload(p->queue, dst.data, room, sam_tensor_bytes(&dst));
}

// Sines of where a token stands in its phrase, sin and cos alternating.
static void write_places(const struct sam_pass *p, const struct sam_text *t, float *room)
{
    const int d = t->places.c;

    for (int i = 0; i < t->tokens; i++)
        for (int k = 0; k < d; k++) {
            const double a = t->place[i] * 6.283185307179586 /
                             pow(10000, (double) (k / 2 * 2) / d);
            room[(size_t) i * d + k] = (float) (k % 2 ? cos(a) : sin(a));
        }
    sam_queue_upload(p->queue, t->places.data, room, (size_t) t->tokens * d * sizeof(float));
}

static void write_mask(const struct sam_pass *p, const struct sam_text *t, float *room)
{
    const int tokens = t->tokens;

    for (int i = 0; i < tokens; i++)
        for (int j = 0; j < tokens; j++)
            room[(size_t) i * tokens + j] = t->piece[i] == t->piece[j] ? 1 : -1;
    sam_queue_upload(p->queue, t->mask.data, room, (size_t) tokens * tokens * sizeof(float));
}

// An attention to these rows, heads of one for each token, is a softmax.
static void write_units(const struct sam_pass *p, const struct sam_text *t, float *room)
{
    const int tokens = t->tokens, all = t->units.c;

    for (int i = 0; i < tokens; i++)
        for (int k = 0; k < all; k++)
            room[(size_t) i * all + k] = k % tokens == i;
    sam_queue_upload(p->queue, t->units.data, room, (size_t) tokens * all * sizeof(float));
}

static void run_layer(struct sam_pass *p, const struct gdino_bert_layer *w, struct sam_tensor mask,
                      struct sam_tensor x)
{
    const struct gdino_sizes *s = gdino_sizes(&p->model->config);
    const size_t mark = sam_arena_mark(p->arena);
    const int rows = x.w, c = x.c;
    const struct sam_tensor q = sam_pass_act(p, rows, c), k = sam_pass_act(p, rows, c);
    const struct sam_tensor v = sam_pass_act(p, rows, c), mixed = sam_pass_act(p, rows, c);
    const struct sam_tensor hidden = sam_pass_act(p, rows, s->bert_hidden);

    if (p->live) {
        linear(p->queue, .dst = q, .src = x, LINEAR(w->q));
        linear(p->queue, .dst = k, .src = x, LINEAR(w->k));
        linear(p->queue, .dst = v, .src = x, LINEAR(w->v));
        masked_attention(p->queue, .dst = mixed, .q = q, .k = k, .v = v, .mask = mask,
                         .heads = s->bert_heads,
                         .scale = 1 / sqrtf((float) (c / s->bert_heads)));
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->out), .add = x);
        layernorm(p->queue, .dst = x, .src = x, NORM(w->norm[0]), .eps = EPS_BERT);
        linear(p->queue, .dst = hidden, .src = x, LINEAR(w->up), .act = SAM_ACT_GELU);
        linear(p->queue, .dst = x, .src = hidden, LINEAR(w->down), .add = x);
        layernorm(p->queue, .dst = x, .src = x, NORM(w->norm[1]), .eps = EPS_BERT);
    }
    sam_arena_release(p->arena, mark);
}

void gdino_encode(struct sam_pass *p, struct sam_text *t, float *room)
{
    const struct gdino_sizes *s = gdino_sizes(&p->model->config);
    const struct gdino_bert *w = p->live ? &gdino_weights_of(p)->bert : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor x = sam_pass_rows(p, t->tokens, s->bert);

    t->features.w = t->places.w = t->mask.w = t->mask.c = t->units.w = t->tokens;
    t->units.c = GDINO_TEXT_HEADS * t->tokens;
    if (p->live) {
        write_places(p, t, room);
        write_mask(p, t, room);
        write_units(p, t, room);
        embed(p, t, room, x);
        layernorm(p->queue, .dst = x, .src = x, NORM(w->norm), .eps = EPS_BERT);
    }
    sam_pass_tell(p, "words", -1, x);
    for (int i = 0; i < s->bert_layers; i++) {
        run_layer(p, p->live ? &w->layer[i] : NULL, t->mask, x);
        sam_pass_tell(p, "bert", i, x);
    }
    if (p->live)
        linear(p->queue, .dst = t->features, .src = x, LINEAR(w->project));
    sam_pass_tell(p, "text", -1, t->features);
    sam_arena_release(p->arena, mark);
}
