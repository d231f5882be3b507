// SPDX-License-Identifier: MIT
// The decoder, whose first row is of whether the phrase is there at all, and scores. Rows of
// queries stay in F32. Boxes are kept as the logits u of what the published code calls references:
// of deltas it makes logistic(delta + logit(limited reference)).
#include <math.h>

#include "net/forward.h"
#include "sam3words.h"

static void run_norm(struct sam_pass *p, const struct sam_affine *norm, struct sam_tensor x,
                     struct sam_tensor dst)
{
    layernorm(p->queue, .dst = dst, .src = x, NORM(*norm), .eps = EPS_TRANSFORMER);
}

void sam3w_run_three(struct sam_pass *p, const struct sam_product w[3], struct sam_tensor x,
                     struct sam_tensor from, struct sam_tensor dst)
{
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor a = sam_pass_rows(p, x.w, x.c), b = sam_pass_rows(p, x.w, x.c);

    if (p->live) {
        linear(p->queue, .dst = a, .src = x, LINEAR(w[0]), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = b, .src = a, LINEAR(w[1]), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = dst, .src = b, LINEAR(w[2]), .add = from);
    }
    sam_arena_release(p->arena, mark);
}

// placed = x + places; the first row has none.
static void add_places(struct sam_pass *p, struct sam_tensor x, struct sam_tensor places,
                       struct sam_tensor placed)
{
    copy_rows(p->queue, .dst = placed, .src = x, .rows = 1);
    add(p->queue, .dst = sam_pass_part(placed, 1, places.w), .a = sam_pass_part(x, 1, places.w),
        .b = places, .scale = 1);
}

// To the channels of q behind each head's own: what a query finds of columns (axis 0) or rows (1)
// by how far they are from its box's two edges. load_bias.c has the formulas.
static void run_bias(struct sam_pass *p, int axis, struct sam_tensor boxes, struct sam_tensor q)
{
    const int grid = sam_grid(&p->model->config), edges = boxes.w * grid * 2;
    const struct sam3w_bias *w = p->live ? &sam3w_weights_of(p)->bias : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor at = sam_pass_rows(p, boxes.w, grid * 4);
    const struct sam_tensor far = sam_pass_rows(p, edges, 1);
    const struct sam_tensor hidden =
        sam_pass_rows(p, boxes.w * grid, sam3w_sizes(&p->model->config)->d);
    const struct sam_tensor found = sam_pass_rows(p, boxes.w * grid, SAM3W_HEADS);

    if (p->live) {
        linear(p->queue, .dst = at, .src = boxes, LINEAR(w->distance[axis]));
        deform_attention(p->queue, .dst = far, .values = w->curve,
                         .offsets = sam_view(at, 1, 1, edges, 2), .weights = w->zeros,
                         .references = w->origin, .heads = 1, .levels = 1, .points = 1,
                         .height = { 1 }, .width = { SAM3W_CURVE });
        linear(p->queue, .dst = hidden, .src = sam_view(far, 1, 1, boxes.w * grid, 2),
               LINEAR(w->up[axis]), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = found, .src = hidden, LINEAR(w->down[axis]));
        linear(p->queue, .dst = q, .src = sam_view(found, 1, 1, boxes.w, grid * SAM3W_HEADS),
               LINEAR(w->spread[axis]), .add = q);
    }
    sam_arena_release(p->arena, mark);
}

static void attend_image(struct sam_pass *p, const struct sam3w_attention *w,
                         struct sam_tensor boxes, struct sam_tensor placed, struct sam_tensor image,
                         struct sam_tensor placed_image, struct sam_tensor x)
{
    const size_t mark = sam_arena_mark(p->arena);
    const int d = x.c, wide = SAM3W_HEADS * sam3w_wide_head(&p->model->config);
    const struct sam_tensor q = sam_pass_act(p, x.w, wide), k = sam_pass_act(p, image.w, wide);
    const struct sam_tensor v = sam_pass_act(p, image.w, d), mixed = sam_pass_act(p, x.w, d);

    if (p->live)
        linear(p->queue, .dst = q, .src = placed, LINEAR(w->q));
    for (int axis = 0; axis < 2; axis++)
        run_bias(p, axis, boxes, sam_pass_part(q, 1, boxes.w));
    if (p->live) {
        linear(p->queue, .dst = k, .src = placed_image, LINEAR(w->k),
               .add = sam3w_weights_of(p)->bias.places);
        linear(p->queue, .dst = v, .src = image, LINEAR(w->v));
        attention(p->queue, .dst = mixed, .q = q, .k = k, .v = v, .heads = SAM3W_HEADS,
                  .scale = 1 / sqrtf((float) (d / SAM3W_HEADS)));
        linear(p->queue, .dst = x, .src = mixed, LINEAR(w->out), .add = x);
    }
    sam_arena_release(p->arena, mark);
}

static void run_layer(struct sam_pass *p, const struct sam3w_decoder_layer *w,
                      struct sam_tensor boxes, struct sam_tensor image,
                      struct sam_tensor placed_image, struct sam_tensor prompt, struct sam_tensor x)
{
    const struct sam3w_sizes *s = sam3w_sizes(&p->model->config);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor places = sam_pass_rows(p, boxes.w, x.c);
    const struct sam_tensor placed = sam_pass_rows(p, x.w, x.c);
    const struct sam_tensor hidden = sam_pass_act(p, x.w, s->decoder_hidden);

    sam_pass_place(p, p->live ? sam3w_weights_of(p)->place_of : NULL, boxes, places);
    if (p->live)
        add_places(p, x, places, placed);
    sam3w_attend(p, &w->self, placed, placed, x, x);
    if (p->live) {
        run_norm(p, &w->norm[0], x, x);
        add_places(p, x, places, placed);
    }
    sam3w_attend(p, &w->text, placed, prompt, prompt, x);
    if (p->live) {
        run_norm(p, &w->norm[1], x, x);
        add_places(p, x, places, placed);
    }
    attend_image(p, &w->image, boxes, placed, image, placed_image, x);
    if (p->live) {
        run_norm(p, &w->norm[2], x, x);
        linear(p->queue, .dst = hidden, .src = x, LINEAR(w->up), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = x, .src = hidden, LINEAR(w->down), .add = x);
        run_norm(p, &w->norm[3], x, x);
    }
    sam_arena_release(p->arena, mark);
}

// limited = log(max(v, e)) - log(max(1 - v, e)) of boxes v = logistic(u), e = 0.001: u between the
// logits of e and 1 - e, and beyond them by how far v is beyond e and 1 - e, to 5e-7.
static void limit(struct sam_pass *p, struct sam_tensor u, struct sam_tensor boxes,
                  struct sam_tensor room, struct sam_tensor limited)
{
    const struct sam3w_weights *w = sam3w_weights_of(p);

    linear(p->queue, .dst = room, .src = u, LINEAR(w->limit_in), .act = SAM_ACT_RELU6);
    linear(p->queue, .dst = limited, .src = room, LINEAR(w->limit_out));
    linear(p->queue, .dst = room, .src = limited, LINEAR(w->same), .act = SAM_ACT_SIGMOID);
    add(p->queue, .dst = limited, .a = limited, .b = boxes, .scale = 1);
    add(p->queue, .dst = limited, .a = limited, .b = room, .scale = -1);
}

// Layers of the decoder, each of which moves the boxes. y: the queries, normed, without the first
// row.
static void run_layers(struct sam_pass *p, struct sam_tensor image, struct sam_tensor prompt,
                       struct sam_tensor x, struct sam_tensor y, struct sam_tensor boxes)
{
    static const struct sam3w_decoder_layer none;
    const struct sam3w_sizes *s = sam3w_sizes(&p->model->config);
    const struct sam3w_weights *w = p->live ? sam3w_weights_of(p) : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor placed = sam_pass_act(p, image.w, s->d);
    const struct sam_tensor u = sam_pass_rows(p, boxes.w, 4);
    const struct sam_tensor limited = sam_pass_rows(p, boxes.w, 4);
    const struct sam_tensor room = sam_pass_rows(p, boxes.w, 4);

    if (p->live) {
        add(p->queue, .dst = placed, .a = image, .b = w->sine, .scale = 1);
        copy(p->queue, .dst = u, .src = w->references);
        linear(p->queue, .dst = boxes, .src = u, LINEAR(w->same), .act = SAM_ACT_SIGMOID);
    }
    for (int i = 0; i < s->decoder_layers; i++) {
        sam_pass_tell(p, "references", i, boxes);
        run_layer(p, p->live ? &w->decoder[i] : &none, boxes, image, placed, prompt, x);
        sam_pass_tell(p, "layer", i, x);
        if (p->live) {
            limit(p, u, boxes, room, limited);
            run_norm(p, &w->decoder_norm, sam_pass_part(x, 1, boxes.w), y);
        }
        sam3w_run_three(p, p->live ? w->box : NULL, y, limited, u);
        if (p->live)
            linear(p->queue, .dst = boxes, .src = u, LINEAR(w->same), .act = SAM_ACT_SIGMOID);
    }
    sam_arena_release(p->arena, mark);
}

// How like the queries are to the mean of the prompt's tokens.
static void run_scores(struct sam_pass *p, struct sam_tensor prompt, struct sam_tensor y,
                       struct sam_tensor logits)
{
    const struct sam3w_weights *w = p->live ? sam3w_weights_of(p) : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const int d = y.c;
    const struct sam_tensor hidden =
        sam_pass_act(p, prompt.w, sam3w_sizes(&p->model->config)->score_hidden);
    const struct sam_tensor tokens = sam_pass_rows(p, prompt.w, d), mean = sam_pass_rows(p, 1, d);
    const struct sam_tensor text = sam_pass_rows(p, 1, d), queries = sam_pass_rows(p, y.w, d);

    if (p->live) {
        linear(p->queue, .dst = hidden, .src = prompt, LINEAR(w->score_up), .act = SAM_ACT_RELU);
        linear(p->queue, .dst = tokens, .src = hidden, LINEAR(w->score_down), .add = prompt);
        run_norm(p, &w->score_norm, tokens, tokens);
        mean_rows(p->queue, .dst = mean, .src = tokens);
        linear(p->queue, .dst = text, .src = mean, LINEAR(w->score_text));
        scale_channels(p->queue, .dst = text, .src = text, .scale = w->scale);
        linear(p->queue, .dst = queries, .src = y, LINEAR(w->score_query));
        matmul(p->queue, .dst = logits, .a = text, .b = queries);
    }
    sam_arena_release(p->arena, mark);
}

void sam3w_run_decoder(struct sam_pass *p, struct sam_tensor image, struct sam_tensor prompt,
                       struct sam_tensor logits, struct sam_tensor presence,
                       struct sam_tensor boxes, struct sam_tensor queries)
{
    const struct sam_tensor no_tensor = { 0 };
    const struct sam3w_sizes *s = sam3w_sizes(&p->model->config);
    const struct sam3w_weights *w = p->live ? sam3w_weights_of(p) : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor x = sam_pass_rows(p, 1 + s->queries, s->d);
    const struct sam_tensor first = sam_pass_rows(p, 1, s->d);

    if (p->live)
        copy(p->queue, .dst = x, .src = w->queries);
    run_layers(p, image, prompt, x, queries, boxes);
    if (p->live)
        run_norm(p, &w->presence_norm, sam_pass_part(x, 0, 1), first);
    sam3w_run_three(p, p->live ? w->presence : NULL, first, no_tensor, presence);
    run_scores(p, prompt, queries, logits);
    sam_arena_release(p->arena, mark);
}
