// SPDX-License-Identifier: MIT
// The feed-forward half of a transformer block, row by row, with a few hidden numbers at a time.

#include "ops/ref/ref.h"

// Hidden numbers h ... of the normed row n.
static void make_hidden(const struct sam_feed_forward *p, const struct sam_tensor *n,
                        struct ref_steps steps, int h, struct sam_tensor *some)
{
    const struct sam_tensor up = ref_matrix(p->up);
    float *to = some->data;
    some->c = ref_min(REF_CHUNK, p->up.out - h);
    for (int i = 0; i < some->c; i++)
        to[i] = ref_act(p->act, ref_dot_rounded(&up, (size_t) (h + i) * n->c, n, 0, n->c, steps) +
                                    ref_bias(&p->up_bias, h + i));
}

static void run_row(struct sam_queue *q, const struct sam_feed_forward *p, size_t row)
{
    const struct sam_tensor down = ref_matrix(p->down);
    const int c = p->x.c, hidden = p->up.out;
    float normed[SAM_MAX_WIDTH], some[REF_CHUNK];
    double sum[SAM_MAX_WIDTH] = { 0 };

    const struct sam_tensor x = { (uint8_t *) p->x.data + row * c * sam_type_size(p->x.type),
                                  p->x.type, 1, 1, 1, c };
    const struct sam_tensor n = { normed, SAM_F32, 1, 1, 1, c };
    sam_layernorm_ref(q, &(struct sam_layernorm) { .dst = n, .src = x, .gamma = p->gamma,
                                                   .beta = p->beta, .eps = p->eps });
    const struct ref_steps steps = ref_steps(p->up, &n, 0, c);
    struct sam_tensor t = { some, SAM_F32, 1, 1, 1, REF_CHUNK };
    float largest = 0; // hidden number, which decides how all of them are rounded
    for (int h = 0; p->down.int8 && h < hidden; h += REF_CHUNK) {
        make_hidden(p, &n, steps, h, &t);
        largest = ref_largest(largest, &t, 0, t.c);
    }
    const struct ref_steps inner =
        p->down.int8 ? ref_steps_of(largest) : (struct ref_steps) { 0 };
    for (int h = 0; h < hidden; h += REF_CHUNK) {
        make_hidden(p, &n, steps, h, &t);
        for (int o = 0; o < c; o++)
            sum[o] += ref_dot_rounded(&down, (size_t) o * hidden + h, &t, 0, t.c, inner);
    }
    for (int o = 0; o < c; o++)
        sam_store(&x, o, (float) (sam_load(&x, o) + sum[o] + ref_bias(&p->down_bias, o)));
}

void sam_feed_forward_ref(struct sam_queue *q, const struct sam_feed_forward *p)
{
    for (size_t row = 0; row < sam_rows(&p->x); row++)
        run_row(q, p, row);
}
