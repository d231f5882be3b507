// SPDX-License-Identifier: MIT
// The maps of the image, of one width, as rows.
#include "groundingdino.h"
#include "net/forward.h"

static struct sam_tensor level_of(const struct gdino_maps *maps, int i, struct sam_tensor image)
{
    const struct sam_tensor rows =
        sam_pass_part(image, maps->start[i], maps->start[i + 1] - maps->start[i]);
    return sam_view(rows, 1, maps->height[i], maps->width[i], image.c);
}

void gdino_run_neck(struct sam_pass *p, struct sam_tensor input, struct sam_tensor image)
{
    const struct sam_config *c = &p->model->config;
    const struct gdino_sizes *s = gdino_sizes(c);
    const struct gdino_weights *w = p->live ? gdino_weights_of(p) : NULL;
    const size_t mark = sam_arena_mark(p->arena);
    const int stages = SAM_STAGES - s->first;
    struct sam_tensor map[SAM_STAGES] = { 0 };
    struct gdino_maps maps;

    gdino_maps(c, p->shape, &maps);
    for (int i = 0; i < stages; i++)
        map[s->first + i] = sam_arena_tensor(p->arena, SAM_F32, 1, maps.height[i], maps.width[i],
                                             s->swin.width[s->first + i]);
    sam_swin_run(p, &s->swin, p->live ? &w->swin : NULL, s->first, input, map);
    for (int i = 0; p->live && i < s->levels; i++) {
        const struct gdino_level *at = &w->level[i];
        const struct sam_tensor level = level_of(&maps, i, image);
        if (i < stages)
            linear(p->queue, .dst = level, .src = map[s->first + i], LINEAR(at->conv));
        else
            conv(p->queue, .dst = level, PRODUCT(at->conv), .kernel = 3, .stride = 2, .pad = 1,
                 .src = i == stages ? map[SAM_STAGES - 1] : level_of(&maps, i - 1, image));
        groupnorm(p->queue, .dst = level, .src = level, NORM(at->norm), .groups = GDINO_GROUPS,
                  .eps = EPS_TRANSFORMER);
    }
    sam_arena_release(p->arena, mark);
    sam_pass_tell(p, "levels", -1, image);
}
