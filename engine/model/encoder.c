// SPDX-License-Identifier: MIT
// The image encoder: the family's trunk, and the neck over its four maps where it has so many.
#include "family.h"
#include "net/forward.h"

void sam_encoder_layout(struct sam_encoder_scratch *s, const struct sam_config *c,
                        const struct sam_queue *q, struct sam_arena *a)
{
    const int side = c->image_size / 32;
    c->family->layout(s, c, q, a);
    if (!c->family->lone_map && !c->family->own_neck)
        s->coarse = sam_arena_tensor(a, SAM_F32, 1, side, side, c->d_model);
}

void sam_encoder_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                     const struct sam_features *dst)
{
    sam_queue_mark(q, "image", s->input);
    m->config.family->run(q, m, s, dst);
    sam_queue_mark(q, "fpn", dst->image);
    if (m->config.family->lone_map)
        return;
    sam_queue_mark(q, "s0", dst->s0);
    sam_queue_mark(q, "s1", dst->s1);
}
