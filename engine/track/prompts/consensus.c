// SPDX-License-Identifier: MIT
// Which of its answers a click is taken to mean, where each was asked again in a window of its own:
// the one that all masks agree with most, those in the frame and those of the windows. The expected
// IoU of a mask is its mean IoU with all of them, those that the model expects more of counting
// more ("minimum Bayes risk"): a part and a thing that hold together in the frame and close by are
// told from what a window alone sees.
#include <math.h>
#include <string.h>

#include "prompts.h"
#include "track/tracker.h"

static const float SHARPNESS = 4; // a mask's weight is e to this times its predicted IoU

static float *place_of(const struct sam_tracker *t, int which, int k)
{
    const int side = sam_logits_side(&t->model->config);
    const size_t count = (size_t) side * (size_t) side;

    return t->mem.host.looks.masks + (size_t) (SAM_ANSWERS * which + k) * count;
}

static float *pointer_of(const struct sam_tracker *t, int k)
{
    return t->mem.host.looks.pointers + k * t->model->config.d_model;
}

void sam_looks_keep(struct sam_tracker *t, int k, bool in_frame)
{
    struct sam_looks *x = &t->mem.host.looks;
    const struct sam_decoded *out = &t->mem.scratch.out;
    const struct sam_tensor low = sam_first(out->low_res, 1), pointer = sam_first(out->pointer, 1);
    float *mask = place_of(t, SAM_LOOK_LAST, k), score = 0;

    sam_queue_download(&t->queue, &score, out->score.data, sizeof(score));
    if (!in_frame && score <= 0) // nothing is there to be seen: what the frame says counts
        return;
    x->score[k] = score;
    sam_queue_download(&t->queue, &x->iou[SAM_LOOK_LAST][k], out->iou.data, sizeof(float));
    sam_queue_download(&t->queue, mask, low.data, sam_tensor_bytes(&low));
    sam_queue_download(&t->queue, pointer_of(t, k), pointer.data, sam_tensor_bytes(&pointer));
    x->has_window[k] = !in_frame;
    if (!in_frame)
        return;
    x->iou[SAM_LOOK_FIRST][k] = x->iou[SAM_LOOK_LAST][k];
    memcpy(place_of(t, SAM_LOOK_FIRST, k), mask, sam_tensor_bytes(&low));
}

// Places that two masks share, over those that one of them has.
static float overlap(const float *a, const float *b, size_t count)
{
    size_t both = 0, any = 0;

    for (size_t i = 0; i < count; i++) {
        both += a[i] > 0 && b[i] > 0;
        any += a[i] > 0 || b[i] > 0;
    }
    return any ? (float) both / (float) any : 0;
}

// What answer k has in common with all masks; not divided by their weight, which is that of all.
static float agreement(const struct sam_tracker *t, int k, size_t count)
{
    const struct sam_looks *x = &t->mem.host.looks;
    const float *mask = place_of(t, SAM_LOOK_LAST, k);
    float sum = 0;

    for (int which = 0; which < SAM_LOOKS; which++)
        for (int i = 0; i < SAM_ANSWERS; i++)
            if (which == SAM_LOOK_FIRST || x->has_window[i])
                sum += expf(SHARPNESS * x->iou[which][i]) *
                       overlap(mask, place_of(t, which, i), count);
    return sum;
}

// All answers, each by its own predicted IoU: as they are shown and remembered. What asks for
// windows and agrees is not cut: masks that little is expected of would be taken for large things.
static void cut_all(struct sam_tracker *t)
{
    for (int k = 0; k < SAM_ANSWERS; k++)
        sam_odds_cut(&t->model->config, t->mem.host.looks.iou[SAM_LOOK_LAST][k],
                     place_of(t, SAM_LOOK_LAST, k));
}

// Answer k becomes what the decoder gave.
static void put(struct sam_tracker *t, int k)
{
    const struct sam_looks *x = &t->mem.host.looks;
    const struct sam_decoded *out = &t->mem.scratch.out;
    const struct sam_tensor low = sam_first(out->low_res, 1), pointer = sam_first(out->pointer, 1);

    sam_queue_upload(&t->queue, low.data, place_of(t, SAM_LOOK_LAST, k), sam_tensor_bytes(&low));
    sam_queue_upload(&t->queue, pointer.data, pointer_of(t, k), sam_tensor_bytes(&pointer));
    sam_queue_upload(&t->queue, out->score.data, &x->score[k], sizeof(float));
    sam_queue_upload(&t->queue, out->iou.data, &x->iou[SAM_LOOK_LAST][k], sizeof(float));
}

// All answers of an object with a slot are kept.
static void keep_all(struct sam_tracker *t, struct sam_tracked *o, const int order[SAM_ANSWERS],
                     size_t count)
{
    const struct sam_tensor masks = sam_slice(t->mem.state.answers, o->slot - 1);

    for (int i = 0; i < SAM_ANSWERS; i++) {
        float *row = (float *) masks.data + (size_t) i * count;
        sam_queue_upload(&t->queue, row, place_of(t, SAM_LOOK_LAST, order[i]),
                         count * sizeof(float));
        o->answered.iou[i] = t->mem.host.looks.iou[SAM_LOOK_LAST][order[i]];
    }
}

void sam_looks_take(struct sam_tracker *t, struct sam_tracked *o, int answer)
{
    const int side = sam_logits_side(&t->model->config);
    const size_t count = (size_t) side * (size_t) side;
    float value[SAM_ANSWERS];
    int order[SAM_ANSWERS], best = 0, taken = 0;

    if (t->queue.status) // nothing that was copied is known
        return;
    for (int k = 0; k < SAM_ANSWERS; k++) {
        value[k] = agreement(t, k, count);
        best = value[k] > value[best] ? k : best;
    }
    cut_all(t);
    sam_answers_order(place_of(t, SAM_LOOK_LAST, 0), count, order);
    const int wanted = answer ? order[answer - 1] : best;
    while (order[taken] != wanted)
        taken++;
    put(t, wanted);
    o->answered.frame = t->frame;
    o->answered.taken = taken + 1;
    if (o->slot)
        keep_all(t, o, order, count);
}
