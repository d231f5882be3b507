// SPDX-License-Identifier: MIT
// The text encoder, over the tokens of all phrases at once: a token sees those before it in its own
// phrase.
#include <math.h>

#include "net/forward.h"
#include "sam3words.h"

size_t sam3w_encode_room(const struct sam_config *c)
{
    const int widest =
        sam3w_sizes(c)->text > SAM_MAX_TOKENS ? sam3w_sizes(c)->text : SAM_MAX_TOKENS;
    return (size_t) SAM_MAX_TOKENS * widest;
}

static void embed(const struct sam_pass *p, const struct sam_text *t, float *room,
                  struct sam_tensor dst)
{
    const struct sam3w_weights *w = sam3w_weights_of(p);
    const int c = dst.c;

    for (int i = 0; i < t->tokens; i++)
        for (int k = 0; k < c; k++)
            room[(size_t) i * c + k] =
                w->word[(size_t) t->id[i] * c + k] + w->place[(size_t) t->place[i] * c + k];
    sam_queue_upload(p->queue, dst.data, room, sam_tensor_bytes(&dst));
}

static void write_mask(const struct sam_pass *p, const struct sam_text *t, float *room)
{
    const int tokens = t->tokens;

    for (int i = 0; i < tokens; i++)
        for (int j = 0; j < tokens; j++)
            room[(size_t) i * tokens + j] = t->piece[i] == t->piece[j] && j <= i ? 1 : -1;
    sam_queue_upload(p->queue, t->mask.data, room, (size_t) tokens * tokens * sizeof(float));
}

static void run_layer(struct sam_pass *p, const struct sam3w_text_layer *w, struct sam_tensor mask,
                      struct sam_tensor x)
{
    const struct sam3w_sizes *s = sam3w_sizes(&p->model->config);
    const size_t mark = sam_arena_mark(p->arena);
    const int rows = x.w, c = x.c;
    const struct sam_tensor y = sam_pass_act(p, rows, c), q = sam_pass_act(p, rows, c);
    const struct sam_tensor k = sam_pass_act(p, rows, c), v = sam_pass_act(p, rows, c);
    const struct sam_tensor mixed = sam_pass_act(p, rows, c);
    const struct sam_tensor hidden = sam_pass_act(p, rows, s->text_hidden);

    if (p->live) {
        layernorm(p->queue, .dst = y, .src = x, NORM(w->norm[0]), .eps = EPS_TRANSFORMER);
        linear(p->queue, .dst = q, .src = y, LINEAR(w->self.q));
        linear(p->queue, .dst = k, .src = y, LINEAR(w->self.k));
        linear(p->queue, .dst = v, .src = y, LINEAR(w->self.v));
        masked_attention(p->queue, .dst = mixed, .q = q, .k = k, .v = v, .mask = mask,
                         .heads = s->text_heads, .scale = 1 / sqrtf((float) (c / s->text_heads)));
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->self.out), .add = x);
        layernorm(p->queue, .dst = y, .src = x, NORM(w->norm[1]), .eps = EPS_TRANSFORMER);
        linear(p->queue, .dst = hidden, .src = y, LINEAR(w->up), .act = SAM_ACT_GELU);
        linear(p->queue, .dst = x, .src = hidden, LINEAR(w->down), .add = x);
    }
    sam_arena_release(p->arena, mark);
}

void sam3w_encode(struct sam_pass *p, struct sam_text *t, float *room)
{
    const struct sam3w_sizes *s = sam3w_sizes(&p->model->config);
    const struct sam3w_weights *w = p->live ? sam3w_weights_of(p) : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor x = sam_pass_rows(p, t->tokens, s->text);
    const struct sam_tensor y = sam_pass_act(p, t->tokens, s->text);

    t->features.w = t->mask.w = t->mask.c = t->tokens;
    if (p->live) {
        write_mask(p, t, room);
        embed(p, t, room, x);
    }
    for (int i = 0; i < s->text_layers; i++)
        run_layer(p, p->live ? &w->text[i] : NULL, t->mask, x);
    if (p->live) {
        layernorm(p->queue, .dst = y, .src = x, NORM(w->text_norm), .eps = EPS_TRANSFORMER);
        linear(p->queue, .dst = t->features, .src = y, LINEAR(w->project));
    }
    sam_pass_tell(p, "text", -1, t->features);
    sam_arena_release(p->arena, mark);
}
