// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_linear_ref(struct sam_queue *q, const struct sam_linear *p)
{
    const struct sam_tensor weight = ref_matrix(p->weight);
    const int in = p->src.c, out = p->dst.c;
    const size_t period = p->add.data ? sam_count(&p->add) : 0;

    for (size_t r = 0; r < sam_rows(&p->dst); r++) {
        const struct ref_steps steps = ref_steps(p->weight, &p->src, r * in, in);
        for (int o = 0; o < out; o++) {
            const size_t i = r * out + o;
            const float sum =
                ref_dot_rounded(&weight, (size_t) o * in, &p->src, r * in, in, steps);
            const float add = period ? sam_load(&p->add, i % period) : 0;
            sam_store(&p->dst, i, add + ref_act(p->act, sum + ref_bias(&p->bias, o)));
        }
    }
    if (p->table.data)
        sam_rope_ref(q, &(struct sam_rope) { p->dst, p->dst, p->table, p->num_rotated });
}
