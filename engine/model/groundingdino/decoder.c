// SPDX-License-Identifier: MIT
// Candidates, and the decoder that makes results of them. Rows of queries stay in F32. Boxes are
// kept as the logits u of what the published code calls references: of deltas it makes
// logistic(delta + logit(limited reference)), and that is logistic(delta + limited u).
#include <math.h>

#include "groundingdino.h"
#include "net/forward.h"

static void run_norm(struct sam_pass *p, const struct sam_affine *norm, struct sam_tensor x)
{
    layernorm(p->queue, .dst = x, .src = x, NORM(*norm), .eps = EPS_TRANSFORMER);
}

// Logits u of boxes: what is learned of x, added to `from`.
static void run_box(struct sam_pass *p, const struct sam_product box[3], struct sam_tensor x,
                    struct sam_tensor from, struct sam_tensor u)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor a = sam_pass_rows(p, x.w, x.c), b = sam_pass_rows(p, x.w, x.c);

    if (p->live) {
        linear(p->queue, .dst = a, .src = x, LINEAR(box[0]), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = b, .src = a, LINEAR(box[1]), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = u, .src = b, LINEAR(box[2]), .add = from);
    }
    sam_arena_release(p->arena, mark);
}

// Likeness of rows to tokens. words: the text, scaled.
static void run_scores(struct sam_pass *p, struct sam_tensor x, struct sam_tensor words,
                       struct sam_tensor bias, struct sam_tensor logits)
{
    matmul(p->queue, .dst = logits, .a = x, .b = words);
    add(p->queue, .dst = logits, .a = logits, .b = sam_view(bias, 1, 1, 1, logits.c), .scale = 1);
}

// The k largest of the n rows of src; index (n, 1, 1, k).
static void run_topk(struct sam_pass *p, struct sam_tensor src, struct sam_tensor index,
                     struct sam_tensor score)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor num = sam_arena_tensor(p->arena, SAM_I32, 1, 1, 1, src.n);
    const struct sam_tensor room =
        sam_arena_tensor(p->arena, SAM_I32, src.n, 1, 1, 2 * (src.c + index.c + 1));

    if (p->live)
        topk(p->queue, .index = index, .score = score, .num = num, .src = src, .room = room,
             .all = true);
    sam_arena_release(p->arena, mark);
}

// The boxes of the positions that are most like any token: their logits u.
static void run_candidates(struct sam_pass *p, struct sam_tensor image, struct sam_tensor words,
                           struct sam_tensor picked, struct sam_tensor u)
{
    const struct gdino_weights *w = gdino_weights_of(p);
    const int rows = image.w, d = image.c;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor x = sam_pass_rows(p, rows, d), y = sam_pass_rows(p, rows, d);
    const struct sam_tensor best = sam_pass_rows(p, rows, 1), boxes = sam_pass_rows(p, u.w, 4);
    const struct sam_tensor logits = sam_pass_rows(p, rows, words.w);
    const struct sam_tensor token = sam_arena_tensor(p->arena, SAM_I32, rows, 1, 1, 1);
    const struct sam_tensor score = sam_pass_rows(p, 1, u.w);

    if (p->live) {
        gate(p->queue, .dst = sam_view(x, rows, 1, 1, d), .src = sam_view(image, rows, 1, 1, d),
             .other = w->zero, .score = p->shape->table[GDINO_VALID]);
        linear(p->queue, .dst = y, .src = x, LINEAR(w->candidate));
        run_norm(p, &w->candidate_norm, y);
        run_scores(p, y, words, w->first_bias, logits);
    }
    sam_pass_tell(p, "candidates", -1, logits);
    run_topk(p, sam_view(logits, rows, 1, 1, words.w), token, sam_view(best, rows, 1, 1, 1));
    run_topk(p, sam_view(best, 1, 1, 1, rows), picked, score);
    const struct sam_tensor chosen = sam_pass_part(x, 0, u.w); // x is not asked for any more
    if (p->live) {
        copy_rows(p->queue, .dst = chosen, .src = y, .rows = u.w, .index = picked);
        copy_rows(p->queue, .dst = boxes, .src = p->shape->table[GDINO_PROPOSALS], .rows = u.w,
                  .index = picked);
    }
    run_box(p, p->live ? w->candidate_box : NULL, chosen, boxes, u);
    sam_arena_release(p->arena, mark);
}

// To the other queries, or to words. keys: of which k is made, and of values v.
static void attend(struct sam_pass *p, const struct gdino_attention *w, struct sam_tensor places,
                   const struct sam_tensor *words, struct sam_tensor x)
{
    const size_t mark = sam_arena_mark(p->arena);
    const int d = x.c, keys = words ? words->w : x.w;
    const struct sam_tensor placed = sam_pass_rows(p, x.w, d), q = sam_pass_act(p, x.w, d);
    const struct sam_tensor k = sam_pass_act(p, keys, d), v = sam_pass_act(p, keys, d);
    const struct sam_tensor mixed = sam_pass_act(p, x.w, d);

    if (p->live) {
        add(p->queue, .dst = placed, .a = x, .b = places, .scale = 1);
        linear(p->queue, .dst = q, .src = placed, LINEAR(w->q));
        linear(p->queue, .dst = k, .src = words ? *words : placed, LINEAR(w->k));
        linear(p->queue, .dst = v, .src = words ? *words : x, LINEAR(w->v));
        attention(p->queue, .dst = mixed, .q = q, .k = k, .v = v, .heads = GDINO_HEADS,
                  .scale = 1 / sqrtf((float) (d / GDINO_HEADS)));
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->out), .add = x);
    }
    sam_arena_release(p->arena, mark);
}

static void run_layer(struct sam_pass *p, const struct gdino_decoder_layer *w,
                      struct sam_tensor boxes, struct sam_tensor image, struct sam_tensor text,
                      struct sam_tensor x)
{
    const struct gdino_sizes *s = gdino_sizes(&p->model->config);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor places = sam_pass_rows(p, x.w, x.c);

    sam_pass_place(p, p->live ? gdino_weights_of(p)->place : NULL, boxes, places);
    attend(p, &w->self, places, NULL, x);
    if (p->live)
        run_norm(p, &w->norm[0], x);
    attend(p, &w->text, places, &text, x);
    if (p->live)
        run_norm(p, &w->norm[1], x);
    gdino_attend_image(p, &w->image, s->decoder_points, places, boxes, image, x);
    if (p->live)
        run_norm(p, &w->norm[2], x);
    gdino_feed_on(p, &w->up, &w->down, &w->norm[3], s->decoder_hidden, x);
    sam_arena_release(p->arena, mark);
}

// Layers of the decoder, each of which moves the boxes. `limited`: the logits before the last one.
static void run_layers(struct sam_pass *p, struct sam_tensor image, struct sam_tensor text,
                       struct sam_tensor u, struct sam_tensor limited, struct sam_tensor x)
{
    static const struct gdino_decoder_layer none;
    const struct gdino_sizes *s = gdino_sizes(&p->model->config);
    const struct gdino_weights *w = gdino_weights_of(p);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor boxes = sam_pass_rows(p, u.w, 4), bounded = sam_pass_rows(p, u.w, 4);

    for (int i = 0; i < s->decoder_layers; i++) {
        if (p->live) {
            linear(p->queue, .dst = boxes, .src = u, LINEAR(w->same), .act = SAM_ACT_SIGMOID);
            linear(p->queue, .dst = bounded, .src = u, LINEAR(w->limit_in), .act = SAM_ACT_RELU6);
            linear(p->queue, .dst = limited, .src = bounded, LINEAR(w->limit_out));
        }
        sam_pass_tell(p, "references", i, boxes);
        run_layer(p, p->live ? &w->decoder[i] : &none, boxes, image, text, x);
        sam_pass_tell(p, "layer", i, x);
        if (i + 1 < s->decoder_layers)
            run_box(p, p->live ? w->box[s->has_one_box_head ? 0 : i] : NULL, x, limited, u);
    }
    sam_arena_release(p->arena, mark);
}

void gdino_run_decoder(struct sam_pass *p, struct sam_tensor image, struct sam_tensor text,
                       struct sam_tensor logits, struct sam_tensor boxes)
{
    const struct gdino_sizes *s = gdino_sizes(&p->model->config);
    const struct gdino_weights *w = gdino_weights_of(p);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor words = sam_pass_rows(p, text.w, s->d);
    const struct sam_tensor x = sam_pass_rows(p, s->queries, s->d);
    const struct sam_tensor u = sam_pass_rows(p, s->queries, 4);
    const struct sam_tensor limited = sam_pass_rows(p, s->queries, 4);
    const struct sam_tensor picked = sam_arena_tensor(p->arena, SAM_I32, 1, 1, 1, s->queries);

    if (p->live) {
        scale_channels(p->queue, .dst = words, .src = text, .scale = w->scale);
        copy(p->queue, .dst = x, .src = w->queries);
    }
    run_candidates(p, image, words, picked, u);
    run_layers(p, image, text, u, limited, x);
    if (p->live) {
        run_norm(p, &w->decoder_norm, x);
        run_scores(p, x, words, w->last_bias, logits);
    }
    run_box(p, p->live ? w->box[s->has_one_box_head ? 0 : s->decoder_layers - 1] : NULL, x, limited,
            u);
    if (p->live)
        linear(p->queue, .dst = boxes, .src = u, LINEAR(w->same), .act = SAM_ACT_SIGMOID);
    sam_arena_release(p->arena, mark);
}
