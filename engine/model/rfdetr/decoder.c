// SPDX-License-Identifier: MIT
// Candidates, and the decoder that makes results of them. Rows of queries stay in F32.
#include <math.h>

#include "net/forward.h"
#include "rfdetr.h"

// Logits of classes, and boxes refined by deltas.
static void run_heads(struct sam_pass *p, const struct rfdetr_heads *h, struct sam_tensor x,
                      struct sam_tensor from, struct sam_tensor classes, struct sam_tensor boxes)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor a = sam_pass_rows(p, x.w, x.c), b = sam_pass_rows(p, x.w, x.c);
    const struct sam_tensor deltas = sam_pass_rows(p, x.w, 4);

    if (p->live) {
        linear(p->queue, .dst = classes, .src = x, LINEAR(h->classes));
        linear(p->queue, .dst = a, .src = x, LINEAR(h->box[0]), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = b, .src = a, LINEAR(h->box[1]), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = deltas, .src = b, LINEAR(h->box[2]));
        refine_boxes(p->queue, .dst = boxes, .boxes = from, .deltas = deltas);
    }
    sam_arena_release(p->arena, mark);
}

// The k largest of the n rows of src; index (n, 1, 1, k).
static void run_topk(struct sam_pass *p, struct sam_tensor src, struct sam_tensor index,
                     struct sam_tensor score)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor num = rfdetr_take(p, SAM_I32, 1, 1, 1, src.n);
    const struct sam_tensor room =
        rfdetr_take(p, SAM_I32, src.n, 1, 1, 2 * (src.c + index.c + 1));

    if (p->live)
        topk(p->queue, .index = index, .score = score, .num = num, .src = src, .room = room,
             .all = true);
    sam_arena_release(p->arena, mark);
}

// The boxes of the positions with the largest logits, refined by what was learned.
static void run_candidates(struct sam_pass *p, struct sam_tensor memory, struct sam_tensor picked,
                           struct sam_tensor references)
{
    const struct rfdetr_sizes *s = rfdetr_sizes(&p->model->config);
    const struct rfdetr_weights *w = rfdetr_weights_of(p);
    const int rows = memory.w;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor x = sam_pass_rows(p, rows, s->d);
    const struct sam_tensor classes = sam_pass_rows(p, rows, s->classes);
    const struct sam_tensor boxes = sam_pass_rows(p, rows, 4);
    const struct sam_tensor label = rfdetr_take(p, SAM_I32, rows, 1, 1, 1);
    const struct sam_tensor best = sam_pass_rows(p, rows, 1);
    const struct sam_tensor score = sam_pass_rows(p, 1, s->queries);

    if (p->live) {
        linear(p->queue, .dst = x, .src = memory, LINEAR(w->candidate));
        layernorm(p->queue, .dst = x, .src = x, NORM(w->candidate_norm), .eps = EPS_TRANSFORMER);
    }
    run_heads(p, p->live ? &w->first : NULL, x, p->live ? w->proposals : x, classes, boxes);
    sam_pass_tell(p, "candidates", -1, classes);
    run_topk(p, sam_view(classes, rows, 1, 1, s->classes), label, sam_view(best, rows, 1, 1, 1));
    run_topk(p, sam_view(best, 1, 1, 1, rows), picked, score);
    if (p->live)
        refine_boxes(p->queue, .dst = references, .boxes = boxes, .deltas = w->references,
                     .index = picked);
    sam_pass_tell(p, "references", -1, references);
    sam_arena_release(p->arena, mark);
}

static void run_norm(struct sam_pass *p, const struct sam_affine *norm, struct sam_tensor x)
{
    layernorm(p->queue, .dst = x, .src = x, NORM(*norm), .eps = EPS_TRANSFORMER);
}

// Among the queries.
static void attend_self(struct sam_pass *p, const struct rfdetr_layer *w, struct sam_tensor places,
                        struct sam_tensor x)
{
    const size_t mark = sam_arena_mark(p->arena);
    const int rows = x.w, d = x.c;
    const struct sam_tensor placed = sam_pass_rows(p, rows, d), q = sam_pass_act(p, rows, d);
    const struct sam_tensor k = sam_pass_act(p, rows, d), v = sam_pass_act(p, rows, d);
    const struct sam_tensor mixed = sam_pass_act(p, rows, d);

    if (p->live) {
        add(p->queue, .dst = placed, .a = x, .b = places, .scale = 1);
        linear(p->queue, .dst = q, .src = placed, LINEAR(w->q));
        linear(p->queue, .dst = k, .src = placed, LINEAR(w->k));
        linear(p->queue, .dst = v, .src = x, LINEAR(w->v));
        attention(p->queue, .dst = mixed, .q = q, .k = k, .v = v, .heads = RFDETR_SELF_HEADS,
                  .scale = 1 / sqrtf((float) (d / RFDETR_SELF_HEADS)));
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->out), .add = x);
        run_norm(p, &w->norm[0], x);
    }
    sam_arena_release(p->arena, mark);
}

// To the map, around the references.
static void attend_map(struct sam_pass *p, const struct rfdetr_layer *w, struct sam_tensor places,
                       struct sam_tensor references, struct sam_tensor memory, struct sam_tensor x)
{
    const int points = rfdetr_sizes(&p->model->config)->points;
    const int grid = rfdetr_grid(&p->model->config);
    const int rows = x.w, d = x.c, samples = RFDETR_CROSS_HEADS * points;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor placed = sam_pass_rows(p, rows, d);
    const struct sam_tensor offsets = sam_pass_rows(p, rows, 2 * samples);
    const struct sam_tensor weights = sam_pass_rows(p, rows, samples);
    const struct sam_tensor values = sam_pass_act(p, memory.w, d), mixed = sam_pass_act(p, rows, d);

    if (p->live) {
        add(p->queue, .dst = placed, .a = x, .b = places, .scale = 1);
        linear(p->queue, .dst = offsets, .src = placed, LINEAR(w->offsets));
        linear(p->queue, .dst = weights, .src = placed, LINEAR(w->weights));
        linear(p->queue, .dst = values, .src = memory, LINEAR(w->values));
        deform_attention(p->queue, .dst = mixed, .values = values, .offsets = offsets,
                         .weights = weights, .references = references,
                         .heads = RFDETR_CROSS_HEADS, .levels = 1, .points = points,
                         .height = { grid }, .width = { grid });
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->cross), .add = x);
        run_norm(p, &w->norm[1], x);
    }
    sam_arena_release(p->arena, mark);
}

static void feed_on(struct sam_pass *p, const struct rfdetr_layer *w, struct sam_tensor x)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor hidden =
        sam_pass_act(p, x.w, rfdetr_sizes(&p->model->config)->feed_forward);

    if (p->live) {
        linear(p->queue, .dst = hidden, .src = x, LINEAR(w->up), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = x, .src = hidden, LINEAR(w->down), .add = x);
        run_norm(p, &w->norm[2], x);
    }
    sam_arena_release(p->arena, mark);
}

// The references stay as they are from layer to layer.
void rfdetr_run_decoder(struct sam_pass *p, struct sam_tensor memory, struct sam_tensor classes,
                        struct sam_tensor boxes, struct sam_tensor masks)
{
    const struct rfdetr_sizes *s = rfdetr_sizes(&p->model->config);
    const struct rfdetr_weights *w = rfdetr_weights_of(p);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor picked = rfdetr_take(p, SAM_I32, 1, 1, 1, s->queries);
    const struct sam_tensor references = sam_pass_rows(p, s->queries, 4);
    const struct sam_tensor places = sam_pass_rows(p, s->queries, s->d);
    const struct sam_tensor x = sam_pass_rows(p, s->queries, s->d);

    run_candidates(p, memory, picked, references);
    sam_pass_place(p, p->live ? rfdetr_weights_of(p)->place : NULL, references, places);
    if (p->live)
        copy(p->queue, .dst = x, .src = w->queries);
    for (int i = 0; i < s->layers; i++) {
        const struct rfdetr_layer *layer = p->live ? &w->layer[i] : NULL;
        attend_self(p, layer, places, x);
        attend_map(p, layer, places, references, memory, x);
        feed_on(p, layer, x);
        sam_pass_tell(p, "layer", i, x);
    }
    if (p->live)
        run_norm(p, &w->decoder_norm, x);
    run_heads(p, p->live ? &w->last : NULL, x, references, classes, boxes);
    if (s->masks)
        rfdetr_run_masks(p, memory, x, masks);
    sam_arena_release(p->arena, mark);
}
