// SPDX-License-Identifier: MIT
// The family's table, and the chain of its parts.
#include "model/masks.h"
#include "net/forward.h"
#include "rfdetr.h"

static void place(struct sam_queue *q, const struct sam_frame *frame, struct sam_tensor input)
{
    preprocess(q, .dst = input, .frame = *frame);
}

static void run(struct sam_pass *p, struct sam_tensor input, struct sam_candidates *out)
{
    const struct sam_config *c = &p->model->config;
    const struct rfdetr_sizes *s = rfdetr_sizes(c);
    const int grid = rfdetr_grid(c);

    *out = (struct sam_candidates) {
        .score = rfdetr_take(p, SAM_F32, 1, 1, s->queries, s->classes),
        .box = rfdetr_take(p, SAM_F32, 1, 1, s->queries, 4),
    };
    if (s->masks)
        out->mask = rfdetr_take(p, SAM_F32, 1, s->queries, rfdetr_mask_side(c),
                                rfdetr_mask_side(c));
    const struct sam_tensor memory = rfdetr_take(p, SAM_F32, 1, 1, grid * grid, s->d);
    const size_t mark = sam_arena_mark(p->arena);
    const struct sam_tensor outs =
        rfdetr_take(p, sam_queue_type(p->queue), s->windows * s->windows, 1,
                    rfdetr_window_tokens(c), RFDETR_OUTS * s->width);
    rfdetr_run_backbone(p, input, outs);
    rfdetr_run_projector(p, outs, memory);
    sam_arena_release(p->arena, mark);
    rfdetr_run_decoder(p, memory, out->score, out->box, out->mask);
    sam_pass_tell(p, "logits", -1, out->score);
    sam_pass_tell(p, "boxes", -1, out->box);
    if (s->masks)
        sam_pass_tell(p, "masks", -1, sam_view(out->mask, 1, 1, s->queries,
                                             rfdetr_mask_side(c) * rfdetr_mask_side(c)));
}

static int count_classes(const struct sam_config *c)
{
    return rfdetr_sizes(c)->classes;
}

// There must be as many positions as queries.
static struct sam_sides sides(const struct sam_config *c)
{
    const struct rfdetr_sizes *s = rfdetr_sizes(c);
    const int step = s->patch * s->windows;
    int least = step;

    while (least / s->patch * (least / s->patch) < s->queries)
        least += step;
    return (struct sam_sides) { least, RFDETR_MAX_GRID * s->patch / step * step, step };
}

static void mask_size(const struct sam_config *c, int *width, int *height)
{
    *width = *height = rfdetr_sizes(c)->masks ? SAM_DETECTED_MASK : 0;
}

const struct sam_detector_family sam_detector_rfdetr = {
    .title = "RF-DETR",
    .mark = "backbone.0.encoder.encoder.embeddings.cls_token",
    .read = rfdetr_read,
    .sides = sides,
    .weights_bytes = sizeof(struct rfdetr_weights),
    .load = rfdetr_load,
    .classes = count_classes,
    .most = RFDETR_MOST,
    .mask_size = mask_size,
    .place = place,
    .run = run,
    .room_bytes = rfdetr_room_bytes,
    .choose = rfdetr_choose,
};
