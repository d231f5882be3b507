// SPDX-License-Identifier: MIT
// What a prompt for a new object would be answered with, on a frame whose features or input are
// held. It runs what the prompt itself would run, but in the spare row, and remembers nothing.
#include "session.h"
#include "track/memory/history.h"
#include "track/prompts/prompts.h"

static int find_frame(const struct sam_tracker *t, const struct sam_prompt *prompt, int64_t *frame,
                      struct sam_error *error)
{
    const int64_t oldest = sam_history_oldest(t, NULL);

    if (oldest > t->frame && !t->holds_frame)
        return sam_fail(error, SAM_ENOTFOUND, "no frame is held: a preview needs one that was "
                        "processed since the tracker was opened or loaded");
    *frame = t->frame;
    if (!prompt->has_frame)
        return SAM_OK;
    if (prompt->frame > (uint64_t) t->frame)
        return sam_fail(error, SAM_EINVAL, "preview on frame %llu: expected a frame that was "
                        "processed, the last is %lld", (unsigned long long) prompt->frame,
                        (long long) t->frame);
    if (oldest <= t->frame)
        *frame = (int64_t) prompt->frame > oldest ? (int64_t) prompt->frame : oldest;
    return SAM_OK;
}

static int check_prompt(const struct sam_prompt *p, struct sam_error *error)
{
    if (p->id)
        return sam_fail(error, SAM_EINVAL, "preview of a prompt for object %llu: expected a new "
                        "object, id 0", (unsigned long long) p->id);
    if (p->mask || p->mask_bits)
        return sam_fail(error, SAM_EINVAL, "preview of a mask: expected points or a box");
    return SAM_OK;
}

// Put the features and the input of a frame where those of the current one are, which the caller
// must put back.
static void go_to(struct sam_tracker *t, int64_t frame)
{
    t->frame = frame;
    if (sam_history_take(t, frame))
        return;
    t->trunk_frame = -1;
    sam_graphs_run(t, t->graphs.encode, sam_step_encode, NULL, &t->times.encode);
    sam_history_keep(t);
}

// What is kept of stages is the step's.
static void answer(struct sam_tracker *t, int64_t frame, const struct sam_interaction *prompt)
{
    const struct sam_listener listener = t->queue.listener;
    const int64_t now = t->frame;
    const bool is_current = frame == now && t->holds_frame;

    t->queue.listener = (struct sam_listener) { 0 };
    if (!is_current)
        go_to(t, frame);
    sam_step_see(t);
    sam_interact_preview(t, prompt);
    t->frame = now;
    if (!is_current && t->holds_frame)
        sam_history_take(t, now);
    t->queue.listener = listener;
}

// The spare row; see sam_results_draw().
static void draw(struct sam_tracker *t, const struct sam_labels *labels, struct sam_tracked *nobody,
                 int32_t box[5])
{
    static const int32_t slot = 1;
    const struct sam_state *s = &t->mem.state;
    const int row = t->params.max_objects;
    struct sam_draw_masks draw = { .logits = sam_tidied(t, sam_slice(s->low_res, row), 1),
                                   .slot = &slot, .width = t->frame_width,
                                   .height = t->frame_height, .boxes = (int32_t (*)[5]) box };

    if (labels)
        draw.labels = *labels;
    sam_op_draw_masks(&t->queue, &draw);
    sam_queue_download(&t->queue, &nobody->score, sam_slice(s->score, row).data, sizeof(float));
    sam_queue_download(&t->queue, &nobody->iou, sam_slice(s->iou, row).data, sizeof(float));
    sam_poison_scratch(t);
}

static int make_preview(struct sam_tracker *t, const struct sam_prompt *given,
                        const struct sam_labels *labels, struct sam_preview *preview,
                        struct sam_error *error)
{
    struct sam_tracked nobody = { 0 };
    struct sam_interaction prompt;
    struct sam_prompt own;
    int32_t box[5] = { 0 };
    int64_t frame = -1;
    int status = sam_sized_read(&own, sizeof(own), sizeof(own), given, "prompt", error);

    if (status || (status = check_prompt(&own, error)) ||
        (status = find_frame(t, &own, &frame, error)) ||
        (status = sam_interaction_read(&prompt, &own, &t->mem.host.masks, error)) ||
        (labels && (status = sam_labels_check(&t->queue, labels, error))) ||
        (status = sam_reserve_for(t, NULL, labels, error)))
        return status;
    answer(t, frame, &prompt);
    draw(t, labels, &nobody, box);
    if ((status = sam_finish(t, error)))
        return status;
    nobody.done = frame;
    if ((t->broken = sam_results_check_one(t, &nobody, &t->broken_error)))
        return sam_fail(error, t->broken, "%s", t->broken_error.text);
    const float iou = sam_results_told(t, &prompt, nobody.iou);
    const struct sam_preview all = {
        .frame_index = (uint64_t) frame, .x = box[0], .y = box[1], .width = box[2] - box[0],
        .height = box[3] - box[1], .area = box[4], .iou = iou, .score = nobody.score };
    sam_sized_write(preview, &all);
    return SAM_OK;
}

int sam_tracker_preview(sam_tracker *t, const struct sam_prompt *prompt,
                        const struct sam_labels *labels, struct sam_preview *preview,
                        struct sam_error *error)
{
    int status = sam_sized_check(preview, sizeof(*preview), sizeof(*preview), "preview", error);

    if (status || (status = sam_enter(t, error)))
        return status;
    return sam_leave(t, make_preview(t, prompt, labels, preview, error));
}
