// SPDX-License-Identifier: MIT
// Things move, they do not jump: of a tracked mask that has a piece near its last place, pieces
// that are far from it are another thing's, a second car's that comes in at the edge. They are
// dropped before the mask is remembered, or that thing would be remembered, too. A mask whose
// pieces are all far is left as it is: its object was fast, or was found again.
#include "net/forward.h"
#include "refine.h"

static const float LEAST = 2;     // places of 4 px that a piece may be away, of any object
static const float SHARE = 0.2f;  // of the last mask's area that near pieces must have
static const float DROPPED = -10; // logit, as of a mask prompt
enum { BOXES };  // kept of an object
enum { PIECES }; // scratch

static bool is_on(const struct sam_config *c)
{
    return c->piece_reach > 0;
}

static int numbers(const struct sam_config *c, int kind)
{
    return kind == BOXES ? SAM_BOX_ROW : 0;
}

// What is prompted is only measured.
static void keep(const struct sam_refining *r)
{
    const struct sam_tensor low = sam_first(r->out->low_res, r->n);
    const int side = sam_logits_side(&r->model->config);

    keep_near(r->queue, .logits = sam_reshape(low, r->n, side, side, 1),
              .boxes = r->memory->kept[BOXES], .score = sam_first(r->out->score, r->n),
              .before = r->before, .after = r->after, .prompted = r->prompted,
              .room = sam_first(r->memory->scratch[PIECES], r->n),
              .reach = r->model->config.piece_reach, .least = LEAST, .share = SHARE,
              .value = DROPPED);
}

static void lay_out_scratch(struct sam_refine_memory *m, const struct sam_config *c, int batch,
                            struct sam_arena *a)
{
    const int side = sam_logits_side(c);

    m->scratch[PIECES] = sam_arena_tensor(a, SAM_I32, batch, 1, 1, 2 * side * side);
}

const struct sam_refiner sam_refine_near = {
    .is_on = is_on, .numbers = numbers, .lay_out_scratch = lay_out_scratch,
    .tracked = keep, .prompted = keep,
};
