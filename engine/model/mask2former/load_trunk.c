// SPDX-License-Identifier: MIT
// Loading the trunks.
#include <stdio.h>

#include "mask2former.h"
#include "net/load.h"

enum { NAME = 112 };

#define ENCODER "model.pixel_level_module.encoder."
#define STAGES  ENCODER "encoder."

static void load_resnet_block(struct sam_loader *l, const struct m2f_sizes *s,
                              struct m2f_resnet_block *b, int stage, int i)
{
    const int before = i ? s->width[stage] : stage ? s->width[stage - 1] : s->stem;
    const int inner = s->inner[stage], c = s->width[stage];
    char at[NAME];

    snprintf(at, sizeof(at), STAGES "stages.%d.layers.%d", stage, i);
    sam_load_conv_normed(l, &b->in, inner, before, 1, "%s.layer.0", at);
    sam_load_conv_normed(l, &b->middle, inner, inner, 3, "%s.layer.1", at);
    sam_load_conv_normed(l, &b->out, c, inner, 1, "%s.layer.2", at);
    if (!i && (stage || before != c))
        sam_load_conv_normed(l, &b->shortcut, c, before, 1, "%s.shortcut", at);
}

static struct sam_tensor load_constant(struct sam_loader *l, float value, int c)
{
    const size_t mark = sam_arena_mark(&l->staging);
    float *numbers = sam_load_room(&l->staging, c);

    for (int i = 0; sam_load_live(l) && i < c; i++)
        numbers[i] = value;
    const struct sam_tensor t = sam_load_tensor(l, numbers, 1, 1, c);
    sam_arena_release(&l->staging, mark);
    return t;
}

static void load_resnet(struct sam_loader *l, const struct m2f_sizes *s, struct m2f_weights *w)
{
    int widest = 0;

    for (int i = 0; i < SAM_STAGES; i++)
        widest = s->width[i] > widest ? s->width[i] : widest;
    w->same = (struct sam_affine) { load_constant(l, 1, widest), load_constant(l, 0, widest) };
    l->conv_name = "convolution";
    l->norm_name = "normalization";
    sam_load_conv_normed(l, &w->stem, s->stem, 3, 7, ENCODER "embedder.embedder");
    for (int stage = 0; stage < SAM_STAGES; stage++)
        for (int i = 0; i < s->blocks[stage]; i++)
            load_resnet_block(l, s, &w->resnet[stage][i], stage, i);
}

void m2f_load_trunk(struct sam_loader *l, const struct sam_config *config, struct m2f_weights *w)
{
    const struct m2f_sizes *s = m2f_sizes(config);
    const struct sam_swin_sizes swin = m2f_swin_sizes(s);

    if (s->trunk == M2F_SWIN)
        sam_swin_load(l, &swin, 0, ENCODER, &w->swin);
    else
        load_resnet(l, s, w);
}
