#include "ops/ref/ref.h"

void sam_mask_signal_ref(struct sam_queue *q, const struct sam_mask_signal *p)
{
    const size_t count = sam_count(&p->src) / p->src.n;
    for (size_t i = 0; i < count * p->src.n; i++) {
        const float logit = sam_load(&p->src, i);
        const float signal = ref_count(&p->binary, (int) (i / count))
                           ? logit > 0 : ref_act(SAM_ACT_SIGMOID, logit);
        sam_store(&p->dst, i, p->scale * signal + p->bias);
    }
}
