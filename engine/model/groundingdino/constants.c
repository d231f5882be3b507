// SPDX-License-Identifier: MIT
// Loading constants that stand in no file.
#include <math.h>

#include "groundingdino.h"
#include "net/load.h"

// Logits to which the published code limits a box: those of 1e-5 and 1 - 1e-5, in F32.
#define LOWEST (-11.512915)
#define HIGHEST 11.511567

void gdino_load_constants(struct sam_loader *l, const struct sam_config *config,
                          struct gdino_weights *w)
{
    const struct gdino_sizes *s = gdino_sizes(config);
    const double range = (HIGHEST - LOWEST) / 6; // RELU6 is between 0 and 6

    w->zero = sam_load_constant(l, 0, 1, s->d);
    w->scale = sam_load_constant(l, s->is_mm ? 1 / sqrtf((float) s->d) : 1, 1, s->d);
    l->exact = true;
    sam_load_diagonal(l, &w->same, 4, 1, 0);
    sam_load_diagonal(l, &w->limit_in, 4, 1 / range, -LOWEST / range);
    sam_load_diagonal(l, &w->limit_out, 4, range, LOWEST);
    l->exact = false;
}
