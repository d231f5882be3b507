// Random walks move the outline of a mask to the edges of the picture ("random walks with prior
// models", Grady, CVPR 2005): what each place of the logits' grid shows becomes the mean of what
// the decoder says of it and of what its four neighbours show, which weigh more the more their
// colours are alike. docs/MODEL.md has the formulas.
//
// They run on the host, on every backend: about a millisecond's work for one thread.
#include <math.h>

#include "track.h"

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

static int side_of(const struct sam_tracker *t)
{
    return t->model->config.image_size / 4;
}

// ---- Weights of the edges between neighbours.

static float distance2(const float *a, const float *b)
{
    const float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];

    return x * x + y * y + z * z;
}

// Squared distances of colours, 0 where there is no neighbour. Returns their mean.
static float measure(struct sam_walk_room *room, int side)
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

static void weigh(struct sam_walk_room *room, int side)
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
static void look(struct sam_tracker *t, struct sam_tensor input)
{
    const struct sam_tensor picture = t->mem.scratch.picture;

    sam_op_resize(&t->queue, &(struct sam_resize) { .dst = picture, .src = input,
                                                    .antialias = true });
    sam_queue_download(&t->queue, t->mem.host.walk.picture, picture.data,
                       sam_tensor_bytes(&picture));
    weigh(&t->mem.host.walk, side_of(t));
}

// ---- The walk.

static bool is_in(const struct places *p, int x, int y)
{
    return x >= p->x0 && x < p->x1 && y >= p->y0 && y < p->y1;
}

// Logits to 2p - 1. Places that are not free have no object.
static void give(struct sam_walk_room *room, int side, const struct places *free)
{
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            const int i = y * side + x;
            room->given[i] = is_in(free, x, y) ? tanhf(room->now[i] / 2) : OUTSIDE;
            room->now[i] = room->given[i];
        }
}

static void relax(struct sam_walk_room *room, int side, float fidelity, int x, int y)
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

// Entry i of scratch.out, over the edges that are in the room.
static void walk(struct sam_tracker *t, int i, const struct places *free)
{
    const struct sam_tensor low = sam_slice(t->mem.scratch.out.low_res, i);
    struct sam_walk_room *room = &t->mem.host.walk;
    const int side = side_of(t);

    sam_queue_download(&t->queue, room->now, low.data, sam_tensor_bytes(&low));
    give(room, side, free);
    for (int turn = 0; turn < 2 * ROUNDS; turn++) // the places of a chessboard's two colours
        for (int y = free->y0; y < free->y1; y++)
            for (int x = free->x0 + (free->x0 + y + turn) % 2; x < free->x1; x += 2)
                relax(room, side, t->model->config.walk_fidelity, x, y);
    for (int k = 0; k < side * side; k++)
        room->now[k] = 2 * atanhf(fminf(fmaxf(room->now[k], -MOST), MOST));
    sam_queue_upload(&t->queue, low.data, room->now, sam_tensor_bytes(&low));
}

// ---- Masks.

// The first place whose middle is beyond x, in px of the input.
static int after(float x, int side)
{
    return (int) floorf(fminf(fmaxf(x / 4 + 0.5f, 0), (float) side));
}

void sam_walk_track(struct sam_tracker *t, const struct sam_batch *b)
{
    const int side = side_of(t);

    look(t, sam_history_input(t));
    for (int i = 0; i < b->n; i++)
        if (sam_is_present(t, i))
            walk(t, i, &(struct places) { 0, 0, side, side });
}

// All, or those inside of a box alone, if there are any: one may be smaller than a place.
static struct places free_places(const struct sam_interaction *all, int side)
{
    const struct places any = { 0, 0, side, side };

    if (!all->has_box || all->num_points != 2)
        return any;
    const struct places in = { after(all->xy[0][0], side), after(all->xy[0][1], side),
                               after(all->xy[1][0], side), after(all->xy[1][1], side) };
    return in.x0 < in.x1 && in.y0 < in.y1 ? in : any;
}

void sam_walk_prompt(struct sam_tracker *t, const struct sam_interaction *all,
                     struct sam_tensor input)
{
    const struct places free = free_places(all, side_of(t));

    if (!sam_is_present(t, 0))
        return;
    look(t, input);
    walk(t, 0, &free);
}
