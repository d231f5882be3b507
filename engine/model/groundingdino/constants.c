// SPDX-License-Identifier: MIT
// Loading constants that stand in no file.
#include <math.h>

#include "groundingdino.h"
#include "net/load.h"

// Logits to which the published code limits a box: those of 1e-5 and 1 - 1e-5, in F32.
#define LOWEST (-11.512915)
#define HIGHEST 11.511567

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

void gdino_load_constants(struct sam_loader *l, const struct sam_config *config,
                          struct gdino_weights *w)
{
    const struct gdino_sizes *s = gdino_sizes(config);
    const double range = (HIGHEST - LOWEST) / 6; // RELU6 is between 0 and 6

    w->zero = load_constant(l, 0, 1, s->d);
    w->zero_deltas = load_constant(l, 0, s->queries, 4);
    w->scale = load_constant(l, s->is_mm ? 1 / sqrtf((float) s->d) : 1, 1, s->d);
    l->exact = true;
    load_diagonal(l, &w->same, 1, 0);
    load_diagonal(l, &w->limit_in, 1 / range, -LOWEST / range);
    load_diagonal(l, &w->limit_out, range, LOWEST);
    l->exact = false;
}
