// SPDX-License-Identifier: MIT
#include "ops/ref/ref.h"

void sam_mask_signal_ref(struct sam_queue *q, const struct sam_mask_signal *p)
{
    const size_t count = sam_count(&p->dst) / p->dst.n;
    struct sam_tensor logits = p->src;
    if (sam_rows(&p->src) != sam_rows(&p->dst)) {
        sam_resize_ref(q, &(struct sam_resize) { .dst = p->dst, .src = p->src });
        logits = p->dst;
    }
    for (size_t i = 0; i < count * p->dst.n; i++) {
        const float logit = sam_load(&logits, i);
        const float signal = ref_count(&p->binary, (int) (i / count))
                           ? logit > 0 : ref_act(SAM_ACT_SIGMOID, logit);
        sam_store(&p->dst, i, p->scale * signal + p->bias);
    }
}
