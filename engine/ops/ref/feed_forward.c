// SPDX-License-Identifier: MIT
// The feed-forward half of a transformer block, row by row, with a few hidden numbers at a time.

#include "ops/ref/ref.h"

static void run_row(struct sam_queue *q, const struct sam_feed_forward *p, size_t row)
{
    const struct sam_tensor up = ref_matrix(p->up), down = ref_matrix(p->down);
    const int c = p->x.c, hidden = p->up.out;
    float normed[SAM_MAX_WIDTH], some[REF_CHUNK];
    double sum[SAM_MAX_WIDTH] = { 0 };

    const struct sam_tensor x = { (uint8_t *) p->x.data + row * c * sam_type_size(p->x.type),
                                  p->x.type, 1, 1, 1, c };
    const struct sam_tensor n = { normed, SAM_F32, 1, 1, 1, c };
    sam_layernorm_ref(q, &(struct sam_layernorm) { .dst = n, .src = x, .gamma = p->gamma,
                                                   .beta = p->beta, .eps = p->eps });
    for (int h = 0; h < hidden; h += REF_CHUNK) {
        const int count = hidden - h < REF_CHUNK ? hidden - h : REF_CHUNK;
        const struct sam_tensor t = { some, SAM_F32, 1, 1, 1, count };
        for (int i = 0; i < count; i++)
            some[i] = ref_act(p->act, ref_dot(&up, (size_t) (h + i) * c, &n, 0, c) +
                                          ref_bias(&p->up_bias, h + i));
        for (int o = 0; o < c; o++)
            sum[o] += ref_dot(&down, (size_t) o * hidden + h, &t, 0, count);
    }
    for (int o = 0; o < c; o++)
        sam_store(&x, o, (float) (sam_load(&x, o) + sum[o] + ref_bias(&p->down_bias, o)));
}

void sam_feed_forward_ref(struct sam_queue *q, const struct sam_feed_forward *p)
{
    for (size_t row = 0; row < sam_rows(&p->x); row++)
        run_row(q, p, row);
}
