// SPDX-License-Identifier: MIT
// Where a query looks, by its box. The published code adds to the score of query and position what
// is learned of f(c / grid - left) and f(c / grid - right) of its column c, and the same of its row
// and the upper and lower edge; f(x) = sign(x) log2(1 + 8 |x|) / 3. So a score has one term of each
// head for the column and one for the row: products with keys that are 1 in the channel of their
// column, and of their row, and 0 in those of others. The root of a head's width in them is what
// the scale of attention divides by.
// f is read from a table, by deformable attention of one point to a map of one row: between two of
// its numbers it is off by less than 3e-7.
#include <math.h>

#include "net/load.h"
#include "sam3words.h"

static struct sam_tensor load_curve(struct sam_loader *l)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *curve = sam_load_room(&l->staging, SAM3W_CURVE);

    for (int i = 0; sam_load_live(l) && i < SAM3W_CURVE; i++) {
        const double x = (double) (i - SAM3W_CURVE / 2) / SAM3W_STEPS;
        curve[i] = (float) (copysign(log2(1 + 8 * fabs(x)), x) / 3);
    }
    const struct sam_tensor t = sam_load_tensor(l, curve, 1, SAM3W_CURVE, 1);
    sam_arena_release(&l->staging, mark);
    return t;
}

// Of a box (x, y, w, h), for each column (axis 0) or row (1), where in the curve its distances from
// the lower and the upper edge are: (place, the middle of the curve's one row) each.
static void load_distance(struct sam_loader *l, struct sam_product *p, int grid, int axis)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *weight = sam_load_room(&l->staging, (size_t) grid * 4 * 4);
    float *bias = sam_load_room(&l->staging, (size_t) grid * 4);

    for (int i = 0; sam_load_live(l) && i < 4 * grid; i++) {
        const int edge = i / 2 % 2;
        for (int k = 0; k < 4; k++)
            weight[4 * i + k] = 0;
        bias[i] = 0.5f;
        if (i % 2)
            continue;
        weight[4 * i + axis] = -SAM3W_STEPS;
        weight[4 * i + 2 + axis] = edge ? -SAM3W_STEPS / 2.0f : SAM3W_STEPS / 2.0f;
        bias[i] = (float) ((double) SAM3W_STEPS * (i / 4) / grid + SAM3W_CURVE / 2 + 0.5);
    }
    sam_load_product(l, p, weight, bias, 4 * grid, 4);
    sam_arena_release(&l->staging, mark);
}

// What is found of columns or rows (grid, heads), to the channels of each head behind its own.
static void load_spread(struct sam_loader *l, const struct sam_config *c, struct sam_product *p,
                        int axis)
{
    const int grid = sam_grid(c), wide = sam3w_wide_head(c), own = wide - 2 * grid;
    const int out = SAM3W_HEADS * wide, in = grid * SAM3W_HEADS;
    const size_t mark = sam_arena_mark(&l->staging), count = (size_t) out * in;
    float *weight = sam_load_room(&l->staging, count), *bias = sam_load_room(&l->staging, out);

    for (size_t i = 0; sam_load_live(l) && i < count; i++)
        weight[i] = 0;
    for (int i = 0; sam_load_live(l) && i < out; i++)
        bias[i] = 0;
    for (int i = 0; sam_load_live(l) && i < in; i++) {
        const int at = i / SAM3W_HEADS, head = i % SAM3W_HEADS;
        weight[(size_t) (head * wide + own + axis * grid + at) * in + i] = sqrtf((float) own);
    }
    sam_load_product(l, p, weight, bias, out, in);
    sam_arena_release(&l->staging, mark);
}

// The other half of it: 1 in the channels of a position's column and row.
static struct sam_tensor load_places(struct sam_loader *l, const struct sam_config *c)
{
    const int grid = sam_grid(c), wide = sam3w_wide_head(c), own = wide - 2 * grid;
    const int all = SAM3W_HEADS * wide;
    const size_t mark = sam_arena_mark(&l->staging);
    float *map = sam_load_room(&l->staging, (size_t) grid * grid * all);

    for (int i = 0; sam_load_live(l) && i < grid * grid; i++)
        for (int k = 0; k < all; k++) {
            const int at = k % wide - own;
            map[(size_t) i * all + k] = at == i % grid || at == grid + i / grid;
        }
    const struct sam_tensor t = sam_load_tensor(l, map, 1, grid * grid, all);
    sam_arena_release(&l->staging, mark);
    return t;
}

void sam3w_load_wide(struct sam_loader *l, const struct sam_config *config, struct sam_product *p,
                     const char *name)
{
    const int d = sam3w_sizes(config)->d, own = d / SAM3W_HEADS;
    const int wide = sam3w_wide_head(config), out = SAM3W_HEADS * wide;
    const size_t mark = sam_arena_mark(&l->staging);
    const struct sam_load_layer given = sam_load_layer(l, d, d, false, "%s", name);
    float *weight = sam_load_room(&l->staging, (size_t) out * d);
    float *bias = sam_load_room(&l->staging, (size_t) out);

    for (int o = 0; sam_load_live(l) && o < out; o++) {
        const int channel = o % wide, from = o / wide * own + channel;
        bias[o] = channel < own ? given.bias[from] : 0;
        for (int i = 0; i < d; i++)
            weight[(size_t) o * d + i] = channel < own ? given.weight[(size_t) from * d + i] : 0;
    }
    sam_load_product(l, p, weight, bias, out, d);
    sam_arena_release(&l->staging, mark);
}

void sam3w_load_bias(struct sam_loader *l, const struct sam_config *config, struct sam3w_bias *b)
{
    const struct sam3w_sizes *s = sam3w_sizes(config);
    const int grid = sam_grid(config), edges = s->queries * grid * 2;

    b->curve = load_curve(l);
    b->zeros = sam_load_constant(l, 0, edges, 1);
    b->origin = sam_load_constant(l, 0, edges, 2);
    b->places = load_places(l, config);
    l->exact = true;
    for (int axis = 0; axis < 2; axis++) {
        const char name = axis ? 'y' : 'x';
        load_distance(l, &b->distance[axis], grid, axis);
        sam_load_linear(l, &b->up[axis], s->d, 2, "detr_decoder.box_rpb_embed_%c.layer1", name);
        sam_load_linear(l, &b->down[axis], SAM3W_HEADS, s->d,
                        "detr_decoder.box_rpb_embed_%c.layer2", name);
        load_spread(l, config, &b->spread[axis], axis);
    }
    l->exact = false;
}
