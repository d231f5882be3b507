// SPDX-License-Identifier: MIT
// What load.c and masks.c load alike.
#include "net/load.h"
#include "sam3words.h"

void sam3w_load_attention(struct sam_loader *l, struct sam3w_attention *w, int d, const char *out,
                          const char *at)
{
    sam_load_linear(l, &w->q, d, d, "%s.q_proj", at);
    sam_load_linear(l, &w->k, d, d, "%s.k_proj", at);
    sam_load_linear(l, &w->v, d, d, "%s.v_proj", at);
    sam_load_linear(l, &w->out, d, d, "%s.%s", at, out);
}
