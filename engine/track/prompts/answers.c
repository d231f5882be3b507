// SPDX-License-Identifier: MIT
// A single click is answered with several masks: a part, a thing, a group. They are ordered by
// area; one is taken, by the highest predicted IoU as in the published predictor unless the prompt
// names another (consensus.c, where they are asked again in windows), and all are kept so that they
// can be told, drawn and taken later.
#include "prompts.h"
#include "track/memory/history.h"
#include "track/tracker.h"

void sam_answers_order(const float *masks, size_t count, int order[SAM_ANSWERS])
{
    size_t area[SAM_ANSWERS] = { 0 };

    for (int k = 0; k < SAM_ANSWERS; k++) {
        int at = k;
        for (size_t i = 0; i < count; i++)
            area[k] += masks[(size_t) k * count + i] > 0;
        for (; at > 0 && area[order[at - 1]] > area[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
}

// The one that the decoder chose: the first of the best.
static int best_of(const float *ious)
{
    int best = 1;

    for (int i = 2; i <= SAM_ANSWERS; i++)
        if (ious[i] > ious[best])
            best = i;
    return best;
}

// Candidates 1 to 3 in the order of their areas, which are counted on the host.
static void find_order(struct sam_tracker *t, int order[SAM_ANSWERS])
{
    const struct sam_tensor masks = sam_first(t->mem.scratch.out.masks, 1);
    float *host = t->mem.host.staging;

    sam_queue_download(&t->queue, host, masks.data, sam_tensor_bytes(&masks));
    sam_answers_order(host + masks.c, (size_t) masks.c, order);
    for (int i = 0; i < SAM_ANSWERS; i++)
        order[i]++; // mask 0 is none of them
}

// Rows of masks, one of `from` to one of `to`.
static void copy_mask(struct sam_tracker *t, struct sam_tensor to, int at, struct sam_tensor from,
                      int row)
{
    sam_op_copy_rows(&t->queue, &(struct sam_copy_rows) { .dst = to, .src = from, .to = at,
                                                          .from = row, .rows = 1 });
}

// All candidates, in place: each as it would be remembered.
static void refine_all(struct sam_tracker *t, const struct sam_interaction *all,
                       struct sam_tensor input, const float *ious)
{
    struct sam_interaction points = *all;
    const struct sam_points p = sam_interaction_points(&points);
    const struct sam_refining r = sam_refining(t, 1);
    const struct sam_decoded *out = &t->mem.scratch.out;
    const struct sam_tensor one = sam_first(out->low_res, 1), masks = sam_first(out->masks, 1);

    for (int k = 1; k <= SAM_ANSWERS; k++) {
        copy_mask(t, one, 0, masks, k);
        sam_refine_answered(&r, &p, input);
        sam_odds_cut_tensor(t, ious[k], one);
        copy_mask(t, masks, k, one, 0);
    }
}

bool sam_answers_present(struct sam_tracker *t)
{
    float score = 0;

    sam_queue_download(&t->queue, &score, t->mem.scratch.out.score.data, sizeof(score));
    return score > 0;
}

void sam_answers_make(struct sam_tracker *t, struct sam_tracked *o,
                      const struct sam_interaction *all, struct sam_tensor input)
{
    const struct sam_decoded *out = &t->mem.scratch.out;
    const struct sam_tensor masks = sam_first(out->masks, 1), row = sam_first(out->ious, 1);
    float ious[SAM_MASK_TOKENS] = { 0 };
    int order[SAM_ANSWERS], taken = 0;

    if (!sam_answers_present(t))
        return;
    sam_queue_download(&t->queue, ious, row.data, sam_tensor_bytes(&row));
    refine_all(t, all, input, ious);
    find_order(t, order);
    if (t->queue.status) // nothing that was copied is known
        return;
    const int best = best_of(ious), wanted = all->answer ? order[all->answer - 1] : best;
    while (order[taken] != wanted)
        taken++;
    if (wanted == best)
        copy_mask(t, sam_first(out->low_res, 1), 0, masks, best);
    else
        sam_decode_take(t, wanted);
    o->answered = (struct sam_answered) { .frame = t->frame, .taken = taken + 1 };
    for (int i = 0; i < SAM_ANSWERS && o->slot; i++) {
        copy_mask(t, sam_slice(t->mem.state.answers, o->slot - 1), i, masks, order[i]);
        o->answered.iou[i] = ious[order[i]];
    }
}

// One of them as it is shown: logits (1, 1, S/4, S/4), which may be scratch.
static struct sam_tensor logits_of(struct sam_tracker *t, const struct sam_tracked *o, int i)
{
    struct sam_tensor masks = sam_slice(t->mem.state.answers, o->slot - 1);

    masks = sam_reshape(masks, SAM_ANSWERS, 1, 1, masks.c);
    return sam_tidied(t, sam_slice(masks, i), 1);
}

void sam_answers_measure(struct sam_tracker *t, const struct sam_tracked *o,
                         int32_t box[SAM_ANSWERS][5])
{
    const int32_t slot = o->slot;

    for (int i = 0; i < SAM_ANSWERS && o->answered.taken; i++)
        sam_op_draw_masks(&t->queue, &(struct sam_draw_masks) {
            .logits = logits_of(t, o, i), .slot = &slot, .width = t->frame_width,
            .height = t->frame_height, .boxes = &box[i] });
}

struct sam_answers sam_answers_list(const struct sam_tracker *t, const struct sam_tracked *o,
                                    int32_t box[SAM_ANSWERS][5])
{
    struct sam_answers all = { 0 };

    if (!o->answered.taken)
        return all;
    all.frame_index = (uint64_t) o->answered.frame;
    all.num_answers = SAM_ANSWERS;
    all.taken = o->answered.taken;
    for (int i = 0; i < SAM_ANSWERS; i++)
        all.answer[i] = (struct sam_answer) {
            .iou = sam_config_told_iou(t->model->config.click_iou, o->answered.iou[i]),
            .x = box[i][0], .y = box[i][1],
            .width = box[i][2] - box[i][0], .height = box[i][3] - box[i][1], .area = box[i][4] };
    return all;
}

void sam_answers_draw(struct sam_tracker *t, const struct sam_tracked *o, int answer,
                      const struct sam_labels *labels)
{
    const int32_t slot = o->slot;

    sam_op_draw_masks(&t->queue, &(struct sam_draw_masks) {
        .logits = logits_of(t, o, answer - 1), .slot = &slot, .labels = *labels });
}

struct sam_interaction *sam_answers_click(struct sam_tracker *t, const struct sam_tracked *o,
                                          int64_t frame)
{
    struct sam_interactions *given = sam_given(t, o, frame);
    struct sam_interaction all, *last;

    if (!given->count)
        return NULL;
    last = &given->item[given->count - 1];
    if (last->mask >= 0)
        return NULL;
    sam_interactions_points(given, given->count, &all);
    return sam_interactions_is_click(&all) ? last : NULL;
}
