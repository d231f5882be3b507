// SPDX-License-Identifier: MIT
// Random walks move the outline of a mask to the edges of the picture ("random walks with prior
// models", Grady, CVPR 2005): what each place of the logits' grid shows becomes the mean of what
// the decoder says of it and of what its four neighbours show, which weigh more the more their
// colours are alike. docs/MODEL.md has the formulas.
#include <math.h>

#include "net/forward.h"
#include "refine.h"

static const float SHARPNESS = 3;     // of the weights of edges
static const float LEAST = 1e-5f;     // weight of an edge
static const float RELAXATION = 1.5f; // of successive over-relaxation
static const float MOST = 0.9999f;    // of 2p - 1, either way: logits of 9.9
static const float OUTSIDE = -0.8f;   // 2p - 1 beyond a box: less would eat from a shrunk window
enum { ROUNDS = 10 };

// State: a picture as large as the logits; its edges, of the frame, and of what a prompt is about.
enum { PICTURE, FRAME, PROMPT };
enum { WALKS }; // scratch

// A rectangle of places: columns x0 to x1 - 1, rows y0 to y1 - 1.
struct places {
    int x0, y0, x1, y1;
};

static int side_of(const struct sam_refining *r)
{
    return sam_logits_side(&r->model->config);
}

// The edges of an input of the network, or of a window of it, (1, h, w, 3).
static void look(const struct sam_refining *r, struct sam_tensor input, int where)
{
    const struct sam_tensor picture = r->memory->state[PICTURE];

    resize(r->queue, .dst = picture, .src = input, .antialias = true);
    edge_weights(r->queue, .dst = r->memory->state[where], .src = picture,
                 .sharpness = SHARPNESS, .least = LEAST);
}

static void look_at_frame(const struct sam_refining *r)
{
    look(r, r->input, FRAME);
}

static void walk(const struct sam_refining *r, int edges, const struct places *free)
{
    const struct sam_tensor low = sam_first(r->out->low_res, r->n);
    const int side = side_of(r);

    random_walk(r->queue, .logits = sam_reshape(low, r->n, side, side, 1),
                .edges = r->memory->state[edges], .score = sam_first(r->out->score, r->n),
                .room = sam_first(r->memory->scratch[WALKS], r->n), .x0 = free->x0,
                .y0 = free->y0, .x1 = free->x1, .y1 = free->y1,
                .fidelity = r->model->config.walk_fidelity, .relaxation = RELAXATION,
                .outside = OUTSIDE, .most = MOST, .rounds = ROUNDS);
}

static void walk_shown(const struct sam_refining *r)
{
    const int side = side_of(r);

    walk(r, FRAME, &(struct places) { 0, 0, side, side });
}

// ---- Prompts.

// The first place whose middle is beyond x, in px of the input.
static int after(float x, int side)
{
    return (int) floorf(fminf(fmaxf(x / 4 + 0.5f, 0), (float) side));
}

// All, or those inside of a box alone, if there are any: one may be smaller than a place.
static struct places free_places(const struct sam_points *p, int side)
{
    const struct places any = { 0, 0, side, side };

    if (!p->has_box || p->count != 2)
        return any;
    const struct places in = { after(p->xy[0][0], side), after(p->xy[0][1], side),
                               after(p->xy[1][0], side), after(p->xy[1][1], side) };
    return in.x0 < in.x1 && in.y0 < in.y1 ? in : any;
}

static void walk_answer(const struct sam_refining *r, const struct sam_points *p,
                        struct sam_tensor input)
{
    const struct places free = free_places(p, side_of(r));

    look(r, input, PROMPT);
    walk(r, PROMPT, &free);
}

// ---- Memory.

static bool is_on(const struct sam_config *c)
{
    return c->walk_fidelity > 0;
}

static void lay_out_scratch(struct sam_refine_memory *m, const struct sam_config *c, int batch,
                            struct sam_arena *a)
{
    m->scratch[WALKS] =
        sam_arena_tensor(a, SAM_F32, batch, sam_logits_side(c), sam_logits_side(c), 2);
}

static void lay_out_state(struct sam_refine_memory *m, const struct sam_config *c,
                          enum sam_type type, struct sam_arena *a)
{
    const int side = sam_logits_side(c);

    m->state[PICTURE] = sam_arena_tensor(a, SAM_F32, 1, side, side, 3);
    m->state[FRAME] = sam_arena_tensor(a, SAM_F32, 2, side, side, 1);
    m->state[PROMPT] = sam_arena_tensor(a, SAM_F32, 2, side, side, 1);
}

const struct sam_refiner sam_refine_walk = {
    .is_on = is_on, .needs_input = true,
    .lay_out_scratch = lay_out_scratch, .lay_out_state = lay_out_state,
    .seen = look_at_frame, .shown = walk_shown, .answered = walk_answer,
};
