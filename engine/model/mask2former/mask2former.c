// SPDX-License-Identifier: MIT
// The family's table, and the chain of its parts.
#include "mask2former.h"
#include "model/masks.h"
#include "net/forward.h"

static void place(struct sam_queue *q, const struct sam_frame *frame, struct sam_tensor input)
{
    preprocess(q, .dst = input, .frame = *frame);
}

static void run(struct sam_pass *p, struct sam_tensor input, struct sam_candidates *out)
{
    const struct sam_config *c = &p->model->config;
    const struct m2f_sizes *s = m2f_sizes(c);
    const int fine = m2f_grid(c, 0);
    struct sam_tensor map[SAM_STAGES];

    *out = (struct sam_candidates) {
        .score = m2f_take(p, SAM_F32, 1, 1, s->queries, s->classes + 1),
        .mask = m2f_take(p, SAM_F32, 1, s->queries, fine, fine),
    };
    const struct sam_tensor levels =
        m2f_take(p, SAM_F32, 1, 1, m2f_first(c, M2F_LEVELS), s->d);
    const struct sam_tensor features = m2f_take(p, SAM_F32, 1, fine, fine, s->mask_width);
    const size_t mark = sam_arena_mark(p->arena);
    for (int i = 0; i < SAM_STAGES; i++)
        map[i] = m2f_take(p, SAM_F32, 1, m2f_grid(c, i), m2f_grid(c, i), s->width[i]);
    const struct sam_swin_sizes swin = m2f_swin_sizes(s);
    if (s->trunk == M2F_SWIN)
        sam_swin_run(p, &swin, p->live ? &m2f_weights_of(p)->swin : NULL, 0, input, map);
    else
        m2f_run_resnet(p, input, map);
    m2f_run_pixels(p, map, levels, features);
    sam_arena_release(p->arena, mark);
    m2f_run_decoder(p, levels, features, out->score, out->mask);
    sam_pass_tell(p, "logits", -1, out->score);
    sam_pass_tell(p, "masks", -1, sam_view(out->mask, 1, 1, s->queries, fine * fine));
}

static int count_classes(const struct sam_config *c)
{
    return m2f_sizes(c)->classes;
}

static void mask_size(const struct sam_config *c, int *width, int *height)
{
    *width = *height = SAM_DETECTED_MASK; // as published, at any size of the input
}

static struct sam_sides sides(const struct sam_config *c)
{
    return (struct sam_sides) { 64, 1344, 32 };
}

const struct sam_detector_family sam_detector_mask2former = {
    .title = "Mask2Former",
    .mark = "model.transformer_module.queries_features.weight",
    .read = m2f_read,
    .sides = sides,
    .weights_bytes = sizeof(struct m2f_weights),
    .load = m2f_load,
    .classes = count_classes,
    .most = M2F_MOST,
    .mask_size = mask_size,
    .place = place,
    .run = run,
    .room_bytes = m2f_room_bytes,
    .choose = m2f_choose,
};
