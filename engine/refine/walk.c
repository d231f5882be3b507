// Random walks move the outline of a mask to the edges of the picture ("random walks with prior
// models", Grady, CVPR 2005): what each place of the logits' grid shows becomes the mean of what
// the decoder says of it and of what its four neighbours show, which weigh more the more their
// colours are alike. docs/MODEL.md has the formulas.
//
// They run on the host, on every backend: about a millisecond's work for one thread.
#include <math.h>

#include "refine.h"

static const float SHARPNESS = 3;     // of the weights of edges
static const float LEAST = 1e-5f;     // weight of an edge
static const float RELAXATION = 1.5f; // of successive over-relaxation
static const float MOST = 0.9999f;    // of 2p - 1, either way: logits of 9.9
static const float OUTSIDE = -0.8f;   // 2p - 1 beyond a box: less would eat from a shrunk window
enum { ROUNDS = 10 };

// A rectangle of places: columns x0 to x1 - 1, rows y0 to y1 - 1.
struct places {
    int x0, y0, x1, y1;
};

// On the host; places are those of the logits.
struct room {
    float *picture; // (places, 3): normalised colours
    float *right, *down; // (places): weights of the edges to the neighbours there, 0: none
    float *given, *now;  // (places): 2p - 1 of the mask
};

static int side_of(const struct sam_refining *r)
{
    return r->model->config.image_size / 4;
}

static struct room room_of(const struct sam_refining *r)
{
    void *const *at = r->memory->host;

    return (struct room) { at[0], at[1], at[2], at[3], at[4] };
}

// ---- Weights of the edges between neighbours.

static float distance2(const float *a, const float *b)
{
    const float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];

    return x * x + y * y + z * z;
}

// Squared distances of colours, 0 where there is no neighbour. Returns their mean.
static float measure(const struct room *room, int side)
{
    double sum = 0;

    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            const int i = y * side + x;
            const float *at = room->picture + 3 * i;
            room->right[i] = x + 1 < side ? distance2(at, at + 3) : 0;
            room->down[i] = y + 1 < side ? distance2(at, at + 3 * side) : 0;
            sum += (double) room->right[i] + (double) room->down[i];
        }
    return (float) (sum / (2.0 * side * (side - 1)));
}

static void weigh(const struct room *room, int side)
{
    const float scale = SHARPNESS / fmaxf(measure(room, side), 1e-12f);

    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            const int i = y * side + x;
            room->right[i] = x + 1 < side ? expf(-scale * room->right[i]) + LEAST : 0;
            room->down[i] = y + 1 < side ? expf(-scale * room->down[i]) + LEAST : 0;
        }
}

// The edges of an input of the network, or of a window of it, (1, h, w, 3).
static void look(const struct sam_refining *r, struct sam_tensor input)
{
    const struct sam_tensor picture = r->memory->scratch[0];
    const struct room room = room_of(r);

    sam_op_resize(r->queue, &(struct sam_resize) { .dst = picture, .src = input,
                                                   .antialias = true });
    sam_queue_download(r->queue, room.picture, picture.data, sam_tensor_bytes(&picture));
    weigh(&room, side_of(r));
}

// ---- The walk.

static bool is_in(const struct places *p, int x, int y)
{
    return x >= p->x0 && x < p->x1 && y >= p->y0 && y < p->y1;
}

// Logits to 2p - 1. Places that are not free have no object.
static void give(const struct room *room, int side, const struct places *free)
{
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            const int i = y * side + x;
            room->given[i] = is_in(free, x, y) ? tanhf(room->now[i] / 2) : OUTSIDE;
            room->now[i] = room->given[i];
        }
}

static void relax(const struct room *room, int side, float fidelity, int x, int y)
{
    const int i = y * side + x;
    const float left = x ? room->right[i - 1] : 0, up = y ? room->down[i - side] : 0;
    const float right = room->right[i], down = room->down[i];
    float sum = fidelity * room->given[i];

    sum += x ? left * room->now[i - 1] : 0;
    sum += x + 1 < side ? right * room->now[i + 1] : 0;
    sum += y ? up * room->now[i - side] : 0;
    sum += y + 1 < side ? down * room->now[i + side] : 0;
    sum /= fidelity + left + right + up + down;
    room->now[i] += RELAXATION * (sum - room->now[i]);
}

// Entry i, over the edges that are in the room.
static void walk(const struct sam_refining *r, int i, const struct places *free)
{
    const struct sam_tensor low = sam_slice(r->out->low_res, i);
    const struct room room = room_of(r);
    const int side = side_of(r);

    sam_queue_download(r->queue, room.now, low.data, sam_tensor_bytes(&low));
    give(&room, side, free);
    for (int turn = 0; turn < 2 * ROUNDS; turn++) // the places of a chessboard's two colours
        for (int y = free->y0; y < free->y1; y++)
            for (int x = free->x0 + (free->x0 + y + turn) % 2; x < free->x1; x += 2)
                relax(&room, side, r->model->config.walk_fidelity, x, y);
    for (int k = 0; k < side * side; k++)
        room.now[k] = 2 * atanhf(fminf(fmaxf(room.now[k], -MOST), MOST));
    sam_queue_upload(r->queue, low.data, room.now, sam_tensor_bytes(&low));
}

// ---- Masks.

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

static void walk_shown(const struct sam_refining *r)
{
    const int side = side_of(r);

    look(r, r->input);
    for (int i = 0; i < r->n; i++)
        if (sam_refine_is_present(r, i))
            walk(r, i, &(struct places) { 0, 0, side, side });
}

static void walk_answer(const struct sam_refining *r, const struct sam_points *p,
                        struct sam_tensor input)
{
    const struct places free = free_places(p, side_of(r));

    if (!sam_refine_is_present(r, 0))
        return;
    look(r, input);
    walk(r, 0, &free);
}

static bool is_on(const struct sam_config *c)
{
    return c->walk_fidelity > 0;
}

static void lay_out_scratch(struct sam_refine_memory *m, const struct sam_config *c,
                            struct sam_arena *a)
{
    m->scratch[0] = sam_arena_tensor(a, SAM_F32, 1, c->image_size / 4, c->image_size / 4, 3);
}

static void lay_out_host(struct sam_refine_memory *m, const struct sam_config *c,
                         struct sam_arena *a)
{
    const size_t places = (size_t) (c->image_size / 4) * (size_t) (c->image_size / 4);

    m->host[0] = sam_arena_bytes(a, 3 * places * sizeof(float));
    for (int i = 1; i < 5; i++)
        m->host[i] = sam_arena_bytes(a, places * sizeof(float));
}

const struct sam_refiner sam_refine_walk = {
    .key = "random_walk", .is_on = is_on, .needs_input = true,
    .lay_out_scratch = lay_out_scratch, .lay_out_host = lay_out_host,
    .shown = walk_shown, .answered = walk_answer,
};
