// SPDX-License-Identifier: MIT
// The target model of an object: a linear function of a frame's features that tells its cells from
// those around it, fitted by ridge regression to the masks so far ("fast target models", Robinson
// et al., CVPR 2020). Its scores are added to the decoder's logits. With "recall", so is what each
// cell's nearest neighbour in the frame that the object was prompted on last tells, by the same
// features; with "pieces", those of a mask whose cells are told to be ground are dropped.
// docs/MODEL.md has the formulas.
//
// The sums of the regression are a few thousand numbers for each object and frame, the neighbours
// up to 256 and a quarter of the cells, with their features.
#include <assert.h>
#include <string.h>

#include "net/forward.h"
#include "refine.h"

static const float KEEP = 0.9f;    // of the sums of tracked frames, from frame to frame
static const float FAR = 0.3f;     // weight of cells that no cell of the object is near
static const float UNSURE = 0.2f;  // and of those that the mask is unsure about, least
static const float MOST = 1.5f;    // score, either way; fitted are 1 and -1
static const float RIDGE = 0.01f;  // of the mean of the diagonal
static const float SOFTNESS = 0.03f; // of the likeness from which on a neighbour is believed
static const float SHARE = 0.2f;   // of a mask's places that must stay, or no piece is dropped
static const float DROPPED = -10;  // logit, as of a mask prompt
// Predicted IoU of a mask: ground beside it is believed from one on, wholly from the other.
static const float DOUBTED = 0.7f, TRUSTED = 0.85f;
enum {
    NEAR = 4,        // cells, each way
    RING = 1,        // likewise: those next to the object are neighbours one by one
    NEAR_KEYS = 256, // of them, at most
};

// What is kept of an object.
enum {
    SUMS,
    NEIGHBOURS,
};

// State; cells are of stride 8.
enum {
    FEATURES, // (1, 2h, 2h, channels) of the frame
};

// Scratch; n = channels + 1, b objects.
enum {
    WEIGHTS, // (b, 1, 1, n)
    CELLS,   // (b, 2h, 2h, 2)
    MATRIX,  // (b, 1, n + 1, 2 n)
    VOTES,   // (b, 2h, 2h, 1): what neighbours tell
    PIECES,  // (b, 1, 1, 2 (4h)^2), I32
    NORMED,  // and the next four: of sam_target_run()
    ROOMS = NORMED + 5,
};
static_assert((int) ROOMS <= (int) SAM_REFINE_ROOMS, "there are fewer rooms");

// The features and the constant 1.
static int count_of(const struct sam_config *c)
{
    return c->target_channels + 1;
}

static int numbers(const struct sam_config *c, int kind)
{
    const int neighbours = NEAR_KEYS + sam_grid(c) * sam_grid(c);

    if (kind == SUMS)
        return count_of(c) * (count_of(c) + 3);
    return c->recall_weight > 0 ? count_of(c) * neighbours : 0;
}

static struct sam_tensor room_of(const struct sam_refining *r, int which)
{
    return sam_first(r->memory->scratch[which], r->n);
}

static struct sam_tensor logits_of(const struct sam_refining *r)
{
    const int side = sam_logits_side(&r->model->config);

    return sam_reshape(sam_first(r->out->low_res, r->n), r->n, side, side, 1);
}

static void look(const struct sam_refining *r)
{
    const struct sam_tensor *room = r->memory->scratch, features = r->memory->state[FEATURES];
    struct sam_target_scratch s = { room[NORMED], room[NORMED + 1], room[NORMED + 2],
                                    room[NORMED + 3], room[NORMED + 4] };

    sam_target_run(r->queue, r->model, &s, r->features, features);
    sam_queue_mark(r->queue, "target.features",
                   sam_reshape(features, 1, 1, features.h * features.w, features.c));
}

static void learn(const struct sam_refining *r)
{
    const struct sam_tensor score = sam_first(r->out->score, r->n);

    ridge_learn(r->queue, .sums = r->memory->kept[SUMS],
                .features = r->memory->state[FEATURES], .logits = logits_of(r), .score = score,
                .before = r->before, .after = r->after, .prompted = r->prompted,
                .room = room_of(r, CELLS), .near = NEAR, .keep = KEEP, .far = FAR,
                .unsure = UNSURE);
    if (r->model->config.recall_weight > 0)
        recall_learn(r->queue, .keys = r->memory->kept[NEIGHBOURS],
                     .features = r->memory->state[FEATURES], .logits = logits_of(r),
                     .iou = sam_first(r->out->iou, r->n), .score = score, .before = r->before,
                     .after = r->after, .prompted = r->prompted, .room = room_of(r, CELLS),
                     .ring = RING, .beside = NEAR, .doubted = DOUBTED, .trusted = TRUSTED);
}

static void recall(const struct sam_refining *r)
{
    const struct sam_config *c = &r->model->config;

    if (c->recall_weight > 0)
        recall_score(r->queue, .logits = logits_of(r), .features = r->memory->state[FEATURES],
                     .keys = r->memory->kept[NEIGHBOURS], .slot = r->before,
                     .score = sam_first(r->out->score, r->n), .room = room_of(r, VOTES),
                     .scale = c->recall_weight, .likeness = c->recall_likeness,
                     .softness = SOFTNESS);
}

static bool drops_pieces(const struct sam_config *c)
{
    return c->recall_weight > 0 && c->recall_pieces;
}

// What touches nothing of the object and looks like the ground that was there beside it is another
// thing, a shoe that the dog has left.
static void drop(const struct sam_refining *r)
{
    if (drops_pieces(&r->model->config))
        drop_foreign(r->queue, .logits = logits_of(r), .votes = room_of(r, VOTES),
                     .slot = r->before, .score = sam_first(r->out->score, r->n),
                     .room = room_of(r, PIECES), .share = SHARE, .value = DROPPED);
}

// Add the scores of what was learnt before to the logits.
static void track(const struct sam_refining *r)
{
    const struct sam_tensor score = sam_first(r->out->score, r->n);
    const struct sam_tensor weights = room_of(r, WEIGHTS), cells = room_of(r, CELLS);

    look(r);
    recall(r);
    ridge_fit(r->queue, .dst = weights, .sums = r->memory->kept[SUMS], .slot = r->before,
              .score = score, .room = room_of(r, MATRIX), .ridge = RIDGE);
    ridge_score(r->queue, .logits = logits_of(r), .features = r->memory->state[FEATURES],
                .weights = weights, .score = score,
                .room = sam_view(cells, r->n, cells.h, cells.w, 1),
                .scale = r->model->config.target_weight, .most = MOST);
    drop(r);
}

// Learn from the mask that was prompted, instead of what it was tracked to.
static void learn_prompted(const struct sam_refining *r)
{
    look(r);
    learn(r);
}

static bool is_on(const struct sam_config *c)
{
    return c->target_channels > 0;
}

static void lay_out_scratch(struct sam_refine_memory *m, const struct sam_config *c, int batch,
                            struct sam_arena *a)
{
    const int h = sam_grid(c), n = count_of(c);
    struct sam_target_scratch s;

    m->scratch[WEIGHTS] = sam_arena_tensor(a, SAM_F32, batch, 1, 1, n);
    m->scratch[CELLS] = sam_arena_tensor(a, SAM_F32, batch, 2 * h, 2 * h, 2);
    m->scratch[MATRIX] = sam_arena_tensor(a, SAM_F32, batch, 1, n + 1, 2 * n);
    if (c->recall_weight > 0)
        m->scratch[VOTES] = sam_arena_tensor(a, SAM_F32, batch, 2 * h, 2 * h, 1);
    if (drops_pieces(c))
        m->scratch[PIECES] =
            sam_arena_tensor(a, SAM_I32, batch, 1, 1, 2 * sam_logits_side(c) * sam_logits_side(c));
    sam_target_layout(&s, c, a);
    const struct sam_tensor parts[] = { s.image, s.s1, s.s0, s.coarse, s.part };
    memcpy(&m->scratch[NORMED], parts, sizeof(parts));
}

static void lay_out_state(struct sam_refine_memory *m, const struct sam_config *c,
                          enum sam_type type, struct sam_arena *a)
{
    const int h = sam_grid(c);

    m->state[FEATURES] = sam_arena_tensor(a, SAM_F32, 1, 2 * h, 2 * h, c->target_channels);
}

const struct sam_refiner sam_refine_target = {
    .is_on = is_on, .numbers = numbers,
    .lay_out_scratch = lay_out_scratch, .lay_out_state = lay_out_state,
    .tracked = track, .settled = learn, .prompted = learn_prompted,
};
