// SPDX-License-Identifier: MIT
// The results of a frame: states and scores, boxes, label maps.
#include <assert.h>
#include <math.h>
#include <string.h>

#include "session.h"
#include "track/memory/history.h"

static const float ABSENT_LOGIT = -1024; // of every pixel of an absent object's mask

static void update_state(const struct sam_tracker *t, struct sam_tracked *o)
{
    const int lost_after = t->params.lost_after;
    const struct sam_presence *before = &o->presence_before;
    const bool present = o->score > 0;

    o->presence.absent = present                       ? 0
                         : before->absent < lost_after ? before->absent + 1
                                                       : lost_after;
    o->presence.lost = o->presence.absent >= lost_after;
    o->presence.doubted = !sam_bank_keeps(o->score, o->iou);
    o->presence.forgets = !present || o->forgets || o->iou < t->model->config.memory_iou;
    if (o->is_first)
        o->state = SAM_OBJECT_NEW;
    else if (present)
        o->state = before->lost ? SAM_OBJECT_FOUND : SAM_OBJECT_TRACKED;
    else
        o->state = o->presence.lost ? SAM_OBJECT_LOST : SAM_OBJECT_OCCLUDED;
}

// The object a row shows; NULL: it left since.
static struct sam_tracked *object_of(struct sam_tracker *t, int row)
{
    struct sam_tracked *o = &t->mem.host.objects[t->mem.host.row_slot[row] - 1];

    return o->id && o->row == row ? o : NULL;
}

void sam_results_fetch(struct sam_tracker *t)
{
    struct sam_host *h = &t->mem.host;
    const size_t bytes = (size_t) t->num_rows * sizeof(float);

    if (!t->num_rows)
        return;
    sam_queue_fetch(&t->queue, h->score, t->mem.state.score.data, bytes);
    sam_queue_fetch(&t->queue, h->iou, t->mem.state.iou.data, bytes);
}

static void fill_row(struct sam_tracker *t, struct sam_tensor x, int row, float number)
{
    enum { SOME = 256 };
    const struct sam_tensor all = sam_slice(x, row);
    size_t left = sam_count(&all);
    float *to = all.data, numbers[SOME];

    for (int i = 0; i < SOME; i++)
        numbers[i] = number;
    for (size_t some; left; left -= some, to += some) {
        some = left < SOME ? left : SOME;
        sam_queue_upload(&t->queue, to, numbers, some * sizeof(*numbers));
    }
}

// It waits for frames that were only kept, and are encoded one in a step.
void sam_results_hide(struct sam_tracker *t)
{
    const struct sam_state *s = &t->mem.state;

    for (int row = 0; row < t->num_rows; row++) {
        const struct sam_tracked *o = object_of(t, row);
        if (!o || o->ran)
            continue;
        fill_row(t, s->low_res, row, ABSENT_LOGIT);
        fill_row(t, s->score, row, 0);
        fill_row(t, s->iou, row, 0);
    }
}

static double without_sign_of_nan(float x)
{
    return isnan(x) ? (double) NAN : (double) x;
}

static int refuse_weights(const struct sam_tracker *t, const struct sam_tracked *o,
                          struct sam_error *error)
{
    const char *end = sam_text_end(t->file, 72);

    return sam_fail(error, SAM_EWEIGHTS,
                    "%s%s: object %llu has a score of %g and an IoU of %g on frame %lld: the "
                    "weights overflow in %s; use another file",
                    end == t->file ? "" : "...", end, (unsigned long long) o->id,
                    without_sign_of_nan(o->score), without_sign_of_nan(o->iou),
                    (long long) o->done,
                    sam_queue_precision(&t->queue));
}

static bool is_finite(const struct sam_tracked *o)
{
    return isfinite(o->score) && isfinite(o->iou);
}

int sam_results_check_one(const struct sam_tracker *t, const struct sam_tracked *o,
                          struct sam_error *error)
{
    return is_finite(o) ? SAM_OK : refuse_weights(t, o, error);
}

int sam_results_check(struct sam_tracker *t, struct sam_error *error)
{
    int status = SAM_OK;

    for (int i = 0; i < t->params.max_objects && !status; i++) {
        const struct sam_tracked *o = &t->mem.host.objects[i];
        if (o->id)
            status = sam_results_check_one(t, o, error);
    }
    return status;
}

int sam_results_take(struct sam_tracker *t, struct sam_error *error)
{
    const struct sam_host *h = &t->mem.host;

    for (int row = 0; row < t->num_rows; row++) {
        struct sam_tracked *o = object_of(t, row);
        if (!o)
            continue;
        o->score = h->score[row];
        o->iou = h->iou[row];
        if (o->done == t->frame && is_finite(o)) // else it is behind, and was taken already
            update_state(t, o);
    }
    return sam_results_check(t, error);
}

bool sam_results_take_one(struct sam_tracker *t, struct sam_tracked *o)
{
    const struct sam_state *s = &t->mem.state;

    sam_queue_download(&t->queue, &o->score, sam_slice(s->score, o->row).data, sizeof(o->score));
    sam_queue_download(&t->queue, &o->iou, sam_slice(s->iou, o->row).data, sizeof(o->iou));
    if (t->queue.status || !is_finite(o))
        return false;
    update_state(t, o);
    return true;
}

// Nothing is shown.
static void clear_labels(struct sam_tracker *t, const struct sam_labels *l)
{
    if (l->on_device) {
        sam_op_draw_masks(&t->queue, &(struct sam_draw_masks) { .labels = *l });
        return;
    }
    for (int y = 0; y < l->height; y++)
        memset(l->data + (size_t) y * l->stride, 0, (size_t) l->width);
}

void sam_results_draw(struct sam_tracker *t, const struct sam_frame *frame,
                      const struct sam_labels *labels, bool boxes)
{
    struct sam_host *h = &t->mem.host;

    if (!t->num_rows) {
        if (labels)
            clear_labels(t, labels);
        return;
    }
    if (!labels && !boxes)
        return;
    const struct sam_tensor logits = sam_first(t->mem.state.low_res, t->num_rows);
    struct sam_draw_masks draw = { .logits = sam_tidied(t, logits, t->num_rows),
                                   .slot = h->row_slot };
    if (labels)
        draw.labels = *labels;
    if (boxes) {
        draw.width = t->frame_width;
        draw.height = t->frame_height;
        draw.boxes = h->box;
    }
    if (t->params.edges == SAM_EDGES_NONE || !frame) {
        sam_op_draw_masks(&t->queue, &draw);
        return;
    }
    draw.width = frame->width;
    draw.height = frame->height;
    sam_op_draw_edges(&t->queue, &(struct sam_draw_edges) {
        .masks = draw, .frame = *frame, .room = t->mem.scratch.luma });
}

float sam_results_told(const struct sam_tracker *t, const struct sam_interaction *prompt,
                       float iou)
{
    const struct sam_config *c = &t->model->config;

    if (prompt->has_box)
        return prompt->num_points == 2 ? sam_config_told_iou(c->box_iou, iou) : iou;
    return prompt->num_points == 1 ? sam_config_told_iou(c->click_iou, iou) : iou;
}

// Of an answer to several prompts it is the prediction, as it is of a click's that found nothing.
static float told_iou(const struct sam_tracker *t, const struct sam_tracked *o)
{
    const struct sam_interactions *given = sam_given(t, o, o->done);

    if (!sam_bank_is_prompted(&o->bank, o->done))
        return sam_config_told_iou(t->model->config.tracked_iou, o->iou);
    if (o->answered.taken && o->answered.frame == o->done)
        return sam_config_told_iou(t->model->config.click_iou, o->iou);
    return given->count == 1 && given->item[0].has_box
               ? sam_results_told(t, &given->item[0], o->iou) : o->iou;
}

static struct sam_object describe(const struct sam_tracker *t, const struct sam_tracked *o,
                                  const int32_t box[5], int behind)
{
    return (struct sam_object) { .id = o->id, .slot = o->slot, .state = o->state,
                                 .x = box[0], .y = box[1],
                                 .width = box[2] - box[0], .height = box[3] - box[1],
                                 .area = box[4], .iou = told_iou(t, o), .score = o->score,
                                 .behind = behind };
}

void sam_results_list(struct sam_tracker *t, struct sam_result *result)
{
    struct sam_host *h = &t->mem.host;

    *result = (struct sam_result) { .frame_index = (uint64_t) t->frame, .objects = h->results,
                                    .times = t->times, .num_replayed = t->num_replayed };
    for (int i = 0; i < t->params.max_objects; i++)
        result->num_behind += sam_is_behind(t, &h->objects[i]);
    for (int row = 0; row < t->num_rows; row++) {
        const struct sam_tracked *o = object_of(t, row);
        if (o) {
            const int behind = sam_is_behind(t, o) ? (int) (t->frame + 1 - o->next) : 0;
            h->results[result->num_objects++] = describe(t, o, h->box[row], behind);
        }
    }
}

void sam_row_blank(struct sam_tracker *t, int row)
{
    assert(row >= 0 && row < t->params.max_objects);
    const struct sam_tensor shown = sam_slice(t->mem.state.low_res, row);
    float *logits = t->mem.host.staging;

    for (size_t i = 0; i < sam_count(&shown); i++)
        logits[i] = ABSENT_LOGIT;
    sam_queue_upload(&t->queue, shown.data, logits, sam_tensor_bytes(&shown));
}
