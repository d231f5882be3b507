// SPDX-License-Identifier: MIT
// An inverted bottleneck, place by place: what lies under its window is expanded anew for each.

#include "ops/ref/ref.h"

static void run_place(const struct sam_bottleneck *p, int n, int y, int x)
{
    const struct sam_tensor expand = ref_matrix(p->expand), project = ref_matrix(p->project);
    const struct sam_tensor *src = &p->src;
    const int k = p->kernel, pad = k / 2 - p->late, c = src->c, inside = p->expand.out;
    const int top = y * p->stride - pad, left = x * p->stride - pad;
    const size_t to = ref_pixel(&p->dst, n, y, x);
    float mixed[SAM_MAX_WIDTH];
    const struct sam_tensor m = { mixed, SAM_F32, 1, 1, 1, inside };

    for (int i = 0; i < inside; i++) {
        float sum = ref_bias(&p->bias, i);
        for (int ky = ref_max(0, -top); ky < ref_min(k, src->h - top); ky++)
            for (int kx = ref_max(0, -left); kx < ref_min(k, src->w - left); kx++) {
                const size_t from = ref_pixel(src, n, top + ky, left + kx);
                const struct ref_steps steps = ref_steps(p->expand, src, from, c);
                const float wide =
                    ref_dot_rounded(&expand, (size_t) i * c, src, from, c, steps);
                sum += sam_load(&p->weight, (size_t) (ky * k + kx) * inside + i) *
                       ref_act(p->act, wide + ref_bias(&p->expand_bias, i));
            }
        mixed[i] = ref_act(p->act, sum);
    }
    const struct ref_steps steps = ref_steps(p->project, &m, 0, inside);
    for (int o = 0; o < p->dst.c; o++)
        sam_store(&p->dst, to + o, ref_dot_rounded(&project, (size_t) o * inside, &m, 0, inside,
                                                   steps) +
                                       ref_bias(&p->project_bias, o) +
                                       (p->add.data ? sam_load(&p->add, to + o) : 0));
}

void sam_bottleneck_ref(struct sam_queue *q, const struct sam_bottleneck *p)
{
    for (int n = 0; n < p->dst.n; n++)
        for (int y = 0; y < p->dst.h; y++)
            for (int x = 0; x < p->dst.w; x++)
                run_place(p, n, y, x);
}
