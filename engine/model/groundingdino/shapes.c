// SPDX-License-Identifier: MIT
// The shape of the input.
#include <math.h>

#include "groundingdino.h"

enum { LEAST = 32 }; // px of a side

// The published code asks for as many positions as queries.
bool gdino_has_enough(const struct sam_config *c, const struct sam_shape *shape)
{
    const struct gdino_sizes *s = gdino_sizes(c);
    struct gdino_maps maps;

    gdino_maps(c, shape, &maps);
    return maps.start[s->levels] >= s->queries;
}

static int longest(const struct sam_config *c)
{
    return (int) rint(c->image_size * (double) GDINO_LONG / GDINO_SIDE);
}

// The published size of an image: the shorter side as asked for, unless the longer one became too
// long. A square, where that would be too little.
static void fit(const struct sam_config *c, int width, int height, struct sam_shape *shape)
{
    const double small = width < height ? width : height, large = width < height ? height : width;
    double raw = c->image_size;

    if (large / small * raw > longest(c))
        raw = longest(c) * small / large;
    const int side = (int) rint(raw), other = (int) (raw * large / small);
    shape->width = width < height ? side : other;
    shape->height = width < height ? other : side;
    if (side < LEAST || !gdino_has_enough(c, shape))
        shape->width = shape->height = c->image_size;
}

static void largest(const struct sam_config *c, struct sam_shape *shape)
{
    shape->width = longest(c);
    shape->height = c->image_size;
}

static void lay_out(const struct sam_config *c, struct sam_arena *a, struct sam_shape *shape)
{
    const struct gdino_sizes *s = gdino_sizes(c);
    struct gdino_maps maps;

    gdino_maps(c, shape, &maps);
    const int rows = maps.start[s->levels];
    shape->table[GDINO_SINE] = sam_arena_tensor(a, SAM_F32, 1, 1, rows, s->d);
    shape->table[GDINO_REFERENCES] = sam_arena_tensor(a, SAM_F32, 1, 1, rows, 2);
    shape->table[GDINO_PROPOSALS] = sam_arena_tensor(a, SAM_F32, 1, 1, rows, 4);
    shape->table[GDINO_VALID] = sam_arena_tensor(a, SAM_F32, rows, 1, 1, 1);
}

const struct sam_detector_shapes gdino_shapes = {
    .fit = fit,
    .largest = largest,
    .lay_out = lay_out,
    .room = gdino_tables_room,
    .write = gdino_write_tables,
};
