// SPDX-License-Identifier: MIT
// What depends on the sizes of the maps alone.
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "groundingdino.h"

// Of a position whose box is too close to the border: the logistic function makes 1 of it.
#define FAR 1e4f

enum { TEMPERATURE = 20 };

// Sines of position i of n on `half` channels: sin and cos alternate. Positions count from 1.
static void write_sines(int i, int n, int half, float *dst)
{
    const double angle = (i + 1) / (n + 1e-6) * 6.283185307179586;

    for (int k = 0; k < half; k++) {
        const double a = angle / pow(TEMPERATURE, (double) (k / 2 * 2) / half);
        dst[k] = (float) (k % 2 ? cos(a) : sin(a));
    }
}

// Of a level: y in the first half of the channels, x in the second; and what marks the level.
static void write_places(const struct gdino_maps *maps, int level, int d, const float *mark,
                         float *dst)
{
    const int h = maps->height[level], w = maps->width[level];

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, dst += d) {
            write_sines(y, h, d / 2, dst);
            write_sines(x, w, d / 2, dst + d / 2);
            for (int k = 0; k < d; k++)
                dst[k] += mark[k];
        }
}

// The box around position i of a level, larger from level to level.
static bool place_box(const struct gdino_maps *maps, int level, int i, float box[4])
{
    const int w = maps->width[level], h = maps->height[level];
    bool is_valid = true;

    box[0] = ((float) (i % w) + 0.5f) / (float) w;
    box[1] = ((float) (i / w) + 0.5f) / (float) h;
    box[2] = box[3] = 0.05f * (float) (1 << level);
    for (int e = 0; e < 4; e++)
        is_valid &= box[e] > 0.01f && box[e] < 0.99f;
    return is_valid;
}

// Of a row of a level: its reference, proposal, or whether it is valid.
static void write_row(int table, const float box[4], bool is_valid, float *dst)
{
    if (table == GDINO_REFERENCES)
        memcpy(dst, box, 2 * sizeof(float));
    else if (table == GDINO_VALID)
        *dst = is_valid;
    for (int e = 0; table == GDINO_PROPOSALS && e < 4; e++)
        dst[e] = is_valid ? logf(box[e] / (1 - box[e])) : FAR;
}

size_t gdino_tables_room(const struct sam_config *c, const struct sam_shape *largest)
{
    const struct gdino_sizes *s = gdino_sizes(c);
    struct gdino_maps maps;

    gdino_maps(c, largest, &maps);
    return (size_t) maps.start[s->levels] * s->d;
}

void gdino_write_tables(struct sam_queue *q, const struct sam_model *m, struct sam_shape *shape,
                        float *room)
{
    const struct gdino_sizes *s = gdino_sizes(&m->config);
    const struct gdino_weights *w = m->trunk;
    struct gdino_maps maps;

    gdino_maps(&m->config, shape, &maps);
    const int rows = maps.start[s->levels];
    for (int table = 0; table < SAM_MAX_TABLES; table++) {
        struct sam_tensor *t = &shape->table[table];
        *(table == GDINO_VALID ? &t->n : &t->w) = rows;
        for (int i = 0; i < s->levels; i++) {
            float box[4], *level = room + (size_t) maps.start[i] * t->c;
            if (table == GDINO_SINE)
                write_places(&maps, i, s->d, w->marks + (size_t) i * s->d, level);
            for (int k = 0; table != GDINO_SINE && k < maps.start[i + 1] - maps.start[i]; k++) {
                const bool is_valid = place_box(&maps, i, k, box);
                write_row(table, box, is_valid, level + (size_t) k * t->c);
            }
        }
        sam_queue_upload(q, t->data, room, sam_tensor_bytes(t));
    }
}
