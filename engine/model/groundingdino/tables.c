// SPDX-License-Identifier: MIT
// What depends on the sizes of the maps alone.
#include <math.h>
#include <string.h>

#include "groundingdino.h"
#include "net/load.h"

// Logits to which the published code limits a box: those of 1e-5 and 1 - 1e-5, in F32.
#define LOWEST (-11.512915)
#define HIGHEST 11.511567
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

static void load_sine(struct sam_loader *l, const struct sam_config *config,
                      const struct gdino_maps *maps, struct gdino_weights *w)
{
    const struct gdino_sizes *s = gdino_sizes(config);
    const size_t mark = sam_arena_mark(&l->staging);
    const int rows = maps->start[s->levels];
    float *marks = sam_load_room(&l->staging, (size_t) s->levels * s->d);
    float *sine = sam_load_room(&l->staging, (size_t) rows * s->d);

    sam_load_read(l, marks, 2, (int64_t[]) { s->levels, s->d }, "model.level_embed");
    for (int i = 0; sam_load_live(l) && i < s->levels; i++)
        write_places(maps, i, s->d, marks + (size_t) i * s->d,
                     sine + (size_t) maps->start[i] * s->d);
    w->sine = sam_load_tensor(l, sine, 1, rows, s->d);
    sam_arena_release(&l->staging, mark);
}

// The middles of all positions, and a box around each, larger from level to level.
static void load_boxes(struct sam_loader *l, int levels, const struct gdino_maps *maps,
                       struct gdino_weights *w)
{
    const size_t mark = sam_arena_mark(&l->staging);
    const int rows = maps->start[levels];
    float *middle = sam_load_room(&l->staging, (size_t) rows * 2);
    float *logits = sam_load_room(&l->staging, (size_t) rows * 4);
    float *valid = sam_load_room(&l->staging, rows);

    for (int i = 0; sam_load_live(l) && i < levels; i++)
        for (int k = maps->start[i]; k < maps->start[i + 1]; k++) {
            const int at = k - maps->start[i], x = at % maps->width[i], y = at / maps->width[i];
            const float side = 0.05f * (float) (1 << i);
            const float box[4] = { ((float) x + 0.5f) / (float) maps->width[i],
                                   ((float) y + 0.5f) / (float) maps->height[i], side, side };
            valid[k] = 1;
            for (int e = 0; e < 4; e++)
                if (!(box[e] > 0.01f && box[e] < 0.99f))
                    valid[k] = 0;
            memcpy(middle + 2 * k, box, 2 * sizeof(float));
            for (int e = 0; e < 4; e++)
                logits[4 * k + e] = valid[k] > 0 ? logf(box[e] / (1 - box[e])) : FAR;
        }
    w->references = sam_load_tensor(l, middle, 1, rows, 2);
    w->proposals = sam_load_tensor(l, logits, 1, rows, 4);
    w->valid = sam_load_tensor(l, valid, 1, rows, 1);
    w->valid.n = rows, w->valid.w = 1;
    sam_arena_release(&l->staging, mark);
}

// y = factor x + shift of each of four numbers.
static void load_diagonal(struct sam_loader *l, struct sam_product *p, double factor, double shift)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *weight = sam_load_room(&l->staging, 16), *bias = sam_load_room(&l->staging, 4);

    for (int i = 0; sam_load_live(l) && i < 16; i++)
        weight[i] = i % 5 ? 0 : (float) factor;
    for (int i = 0; sam_load_live(l) && i < 4; i++)
        bias[i] = (float) shift;
    sam_load_product(l, p, weight, bias, 4, 4);
    sam_arena_release(&l->staging, mark);
}

static struct sam_tensor load_constant(struct sam_loader *l, float value, int rows, int c)
{
    const size_t mark = sam_arena_mark(&l->staging), count = (size_t) rows * c;
    float *numbers = sam_load_room(&l->staging, count);

    for (size_t i = 0; sam_load_live(l) && i < count; i++)
        numbers[i] = value;
    const struct sam_tensor t = sam_load_tensor(l, numbers, 1, rows, c);
    sam_arena_release(&l->staging, mark);
    return t;
}

void gdino_load_tables(struct sam_loader *l, const struct sam_config *config,
                       struct gdino_weights *w)
{
    const struct gdino_sizes *s = gdino_sizes(config);
    struct gdino_maps maps;

    gdino_maps(config, &maps);
    load_sine(l, config, &maps, w);
    load_boxes(l, s->levels, &maps, w);
    w->zero = load_constant(l, 0, 1, s->d);
    w->zero_deltas = load_constant(l, 0, s->queries, 4);
    w->scale = load_constant(l, s->is_mm ? 1 / sqrtf((float) s->d) : 1, 1, s->d);
    // RELU6 is between 0 and 6.
    const double range = (HIGHEST - LOWEST) / 6;
    load_diagonal(l, &w->same, 1, 0);
    load_diagonal(l, &w->limit_in, 1 / range, -LOWEST / range);
    load_diagonal(l, &w->limit_out, range, LOWEST);
}
