// SPDX-License-Identifier: MIT
// Applies prompts to the current frame: successive interactions with one object, as
// add_new_points_or_box() and add_new_mask() of the published predictor.
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "model/family.h"
#include "prompts.h"
#include "track/memory/history.h"
#include "track/tracker.h"

static const float LOGIT_LIMIT = 32; // of a mask that is fed back to the prompt encoder
static const float MASK_SCALE = 20, MASK_BIAS = -10; // a mask prompt as logits
static const float MASK_PRESENCE = 10; // its object score, or the negative where it is empty

static struct sam_tensor row_of(struct sam_tensor t, const struct sam_tracked *o)
{
    return sam_slice(t, o->row);
}

// Whether the prompts start the object here: it is new, or it is absent from this frame and a
// user who points at it there means: this is it, whatever you remember.
static bool is_start(struct sam_tracker *t, const struct sam_tracked *o)
{
    float score = 0;

    if (!o->was_tracked || t->params.refine == SAM_REFINE_ALWAYS)
        return !o->was_tracked;
    sam_queue_download(&t->queue, &score, row_of(t->mem.state.score, o).data, sizeof(score));
    return score <= 0;
}

// scratch.mask_logits to their dense embedding.
static void embed_mask(struct sam_tracker *t)
{
    struct sam_scratch *s = &t->mem.scratch;

    sam_prompt_mask(&t->queue, t->model, &s->prompt, s->mask_logits, s->dense);
}

// The dense embedding of the mask that the object's row shows now.
static void embed_shown_mask(struct sam_tracker *t, const struct sam_tracked *o)
{
    struct sam_scratch *s = &t->mem.scratch;
    const struct sam_tensor shown = row_of(t->mem.state.low_res, o);
    float *logits = t->mem.host.staging;

    sam_queue_download(&t->queue, logits, shown.data, sam_tensor_bytes(&shown));
    for (size_t i = 0; i < sam_count(&shown); i++)
        logits[i] = fminf(fmaxf(logits[i], -LOGIT_LIMIT), LOGIT_LIMIT);
    sam_queue_upload(&t->queue, s->mask_logits.data, logits, sam_tensor_bytes(&shown));
    embed_mask(t);
}

static void decode_with(struct sam_tracker *t, struct sam_tensor image, struct sam_tensor dense,
                        bool multimask, struct sam_tensor sparse)
{
    struct sam_scratch *s = &t->mem.scratch;

    sam_queue_mark(&t->queue, "decoder.image", image);
    sam_queue_mark(&t->queue, "decoder.dense", dense);
    t->mem.state.index.multimask.host[0] = multimask;
    sam_indices_upload(t);
    sam_op_add(&t->queue, &(struct sam_add) { .dst = sam_first(s->image, 1), .a = image, .b = dense,
                                              .scale = 1 });
    sam_decode(t, 1, sparse);
}

static void decode_points(struct sam_tracker *t, const struct sam_interaction *all,
                          struct sam_tensor dense)
{
    const struct sam_model *m = t->model;
    struct sam_scratch *s = &t->mem.scratch;
    struct sam_tensor sparse = s->sparse;
    float *tokens = t->mem.host.staging;

    sparse.w = sam_prompt_tokens(&m->prompt, m->config.d_model, m->config.image_size,
                                 all->num_points, (const float (*)[2]) all->xy, all->label, tokens);
    sam_queue_upload(&t->queue, sparse.data, tokens, sam_tensor_bytes(&sparse));
    decode_with(t, s->conditioned, dense, sam_interactions_is_click(all), sparse);
}

// What scratch.out has, of one object, by the IoU that it has.
static void cut_answer(struct sam_tracker *t)
{
    const struct sam_decoded *out = &t->mem.scratch.out;
    float iou = 1;

    if (!t->model->config.odds_exponent || !sam_answers_present(t))
        return;
    sam_queue_download(&t->queue, &iou, out->iou.data, sizeof(iou));
    sam_odds_cut_tensor(t, iou, sam_first(out->low_res, 1));
}

static void answer_points(struct sam_tracker *t, struct sam_tracked *o,
                          struct sam_interaction *all, struct sam_tensor dense)
{
    const struct sam_refining r = sam_refining(t, 1);
    const struct sam_points points = sam_interaction_points(all);

    decode_points(t, all, dense);
    if (sam_interactions_is_click(all)) {
        sam_answers_make(t, o, all, r.input);
        return;
    }
    sam_refine_answered(&r, &points, r.input);
    cut_answer(t);
}

// All points so far, and the mask of the interaction before as a dense prompt.
static void interact_points(struct sam_tracker *t, struct sam_tracked *o,
                            const struct sam_interactions *given, int count, bool has_mask)
{
    struct sam_interaction all;
    struct sam_tensor dense = t->model->prompt.no_mask;

    if (has_mask) {
        embed_shown_mask(t, o);
        dense = t->mem.scratch.dense;
    }
    sam_interactions_points(given, count, &all);
    answer_points(t, o, &all, dense);
    sam_show(t, 1);
}

// The mask is the answer; the decoder runs for the pointer alone, on the frame without memory.
static void interact_mask(struct sam_tracker *t, struct sam_tracked *o, int mask)
{
    const struct sam_model *m = t->model;
    struct sam_scratch *s = &t->mem.scratch;
    struct sam_decoded *out = &s->out;
    const struct sam_tensor image = t->mem.state.features.image;
    const struct sam_tensor pointer = sam_first(out->pointer, 1);
    const int side = sam_logits_side(&m->config);
    float *full = t->mem.host.staging;
    const float one = 1;
    const float presence = sam_mask_any(&t->mem.host.masks, mask) ? MASK_PRESENCE : -MASK_PRESENCE;

    sam_mask_expand(&t->mem.host.masks, mask, full);
    sam_queue_upload(&t->queue, s->full_mask.data, full, sam_tensor_bytes(&s->full_mask));
    sam_prompt_downsample(&t->queue, m, s->full_mask, s->mask_logits);
    embed_mask(t);
    decode_with(t, image, s->dense, false, (struct sam_tensor) { 0 });

    sam_mask_expand(&t->mem.host.masks, mask, full);
    for (size_t i = 0; i < sam_count(&s->full_mask); i++)
        full[i] = MASK_SCALE * full[i] + MASK_BIAS;
    sam_queue_upload(&t->queue, s->full_mask.data, full, sam_tensor_bytes(&s->full_mask));
    sam_op_resize(&t->queue, &(struct sam_resize) {
        .dst = sam_reshape(sam_first(out->low_res, 1), 1, side, side, 1), .src = s->full_mask,
        .antialias = true });
    sam_queue_upload(&t->queue, out->score.data, &presence, sizeof(presence));
    sam_queue_upload(&t->queue, out->iou.data, &one, sizeof(one));
    sam_op_gate(&t->queue, &(struct sam_gate) { .dst = pointer, .src = pointer,
                                                .other = m->decoder.no_obj_ptr,
                                                .score = sam_first(out->score, 1) });
    sam_show(t, 1);
}

// F for the decoder: with the object's memory, or with the embedding that stands for none.
static void condition(struct sam_tracker *t, struct sam_tracked *o, bool start)
{
    struct sam_scratch *s = &t->mem.scratch;
    int64_t began = sam_now();

    if (start)
        sam_op_add(&t->queue, &(struct sam_add) { .dst = s->conditioned, .scale = 1,
                                                  .a = t->mem.state.features.image,
                                                  .b = t->model->attention.no_mem_embed });
    else
        sam_condition(t, o, s->conditioned);
    t->times.attend += sam_now() - began;
}

// A prompt alone that the object begins with: in a window.
static void interact_window(struct sam_tracker *t, struct sam_tracked *o,
                            const struct sam_interaction *prompt, const struct sam_window *w)
{
    const struct sam_refining r = sam_refining(t, 1);
    struct sam_interaction close = *prompt;
    struct sam_points points = sam_interaction_points(&close);
    const struct sam_about about = t->about;
    const struct sam_tensor input =
        sam_refine_enter(&r, w, t->mem.scratch.encoder.input, &points);

    t->trunk_frame = -1;
    sam_graphs_run(t, t->graphs.encode, sam_step_encode_window, NULL, &t->times.encode);
    t->about = about;
    condition(t, o, true);
    const int64_t began = sam_now();
    decode_points(t, &close, t->model->prompt.no_mask);
    sam_refine_answered(&r, &points, input);
    sam_refine_leave(&r, w);
    t->times.decode += sam_now() - began;
}

// A click that an object begins with: each of its answers in the frame is cut to the part that was
// clicked, and asked for again in the window of that.
static void interact_click(struct sam_tracker *t, struct sam_tracked *o,
                           struct sam_interaction *click)
{
    const struct sam_refining r = sam_refining(t, 1);
    const struct sam_points points = sam_interaction_points(click);
    struct sam_window window[SAM_ANSWERS];
    bool has_window[SAM_ANSWERS] = { false };

    condition(t, o, true);
    const int64_t began = sam_now();
    decode_points(t, click, t->model->prompt.no_mask);
    const bool has_answers = sam_answers_present(t);
    for (int k = 0; k < SAM_ANSWERS && has_answers; k++) {
        sam_decode_take(t, 1 + k);
        sam_refine_answered(&r, &points, r.input);
        has_window[k] = sam_refine_pick(&r, &points, &window[k]);
        sam_looks_keep(t, k, true);
    }
    t->times.decode += sam_now() - began;
    for (int k = 0; k < SAM_ANSWERS && has_answers; k++) {
        if (!has_window[k])
            continue;
        interact_window(t, o, click, &window[k]);
        sam_refine_pick(&r, &points, &window[k]);
        sam_looks_keep(t, k, false);
    }
    if (has_answers)
        sam_looks_take(t, o, click->answer);
}

// The prompt that an object begins with, if a refiner wants it answered in another way; else false.
static bool interact_first(struct sam_tracker *t, struct sam_tracked *o,
                           struct sam_interaction *first)
{
    const struct sam_points points = sam_interaction_points(first);
    struct sam_window window;

    switch (first->mask >= 0 ? SAM_LOOK_FRAME
                             : sam_refine_look(&t->model->config, &points, &window)) {
    case SAM_LOOK_AGAIN:
        interact_click(t, o, first);
        break;
    case SAM_LOOK_WINDOW:
        interact_window(t, o, first, &window);
        cut_answer(t);
        break;
    case SAM_LOOK_FRAME:
        return false;
    }
    sam_show(t, 1);
    return true;
}

static void refine_prompted(struct sam_tracker *t)
{
    const struct sam_refining r = sam_refining(t, 1);

    sam_refine_prompted(&r);
}

// Answer an object's prompts one after another, with its memory or, at its start, without.
static void interact(struct sam_tracker *t, struct sam_tracked *o, struct sam_interactions *given,
                     bool start)
{
    bool has_points = false;

    o->answered.taken = 0;
    const bool begun = start && interact_first(t, o, &given->item[0]);
    for (int i = begun; i < given->count; i++)
        has_points |= given->item[i].mask < 0;
    if (has_points)
        condition(t, o, start);

    const int64_t began = sam_now();
    for (int i = begun; i < given->count; i++) {
        const int mask = given->item[i].mask;
        o->answered.taken = 0;
        if (mask >= 0)
            interact_mask(t, o, mask);
        else
            interact_points(t, o, given, i + 1, !start || i > 0);
    }
    t->times.decode += sam_now() - began;
}

void sam_interact(struct sam_tracker *t, struct sam_tracked *o)
{
    struct sam_indices *x = &t->mem.state.index;
    struct sam_interactions *given = sam_given(t, o, t->frame);
    assert(o->row >= 0 && given->count);
    const bool start = is_start(t, o);
    const bool whole = t->model->config.family->whole_masks &&
                       given->item[given->count - 1].mask >= 0;
    const struct sam_bank_slots slots = sam_bank_prompt(&o->bank, t->frame);

    t->about = (struct sam_about) { SAM_TURN_PROMPT, &o, 1 };
    x->row.host[0] = o->row;
    x->map_to.host[0] = slots.map;
    x->pointer_to.host[0] = slots.pointer;
    x->binary.host[0] = !whole;
    sam_kept_tell(t, o, 0, sam_bank_prompts(&o->bank));
    interact(t, o, given, start);
    int64_t began = sam_now();
    refine_prompted(t);
    t->times.decode += sam_lap(&began);
    (whole ? sam_remember_given : sam_remember)(t, &(struct sam_batch) { &o, 1, 1, 0 });
    t->times.remember += sam_lap(&began);
    t->about = (struct sam_about) { 0 };
    o->started = true;
    o->forgets = false;
}

void sam_interact_preview(struct sam_tracker *t, const struct sam_interaction *prompt)
{
    struct sam_indices *x = &t->mem.state.index;
    struct sam_interactions given = { .count = 1, .item = { *prompt } };
    struct sam_tracked nobody = { .row = t->params.max_objects }, *o = &nobody;

    assert(prompt->mask < 0);
    t->about = (struct sam_about) { SAM_TURN_PROMPT, &o, 1 };
    x->row.host[0] = o->row;
    x->map_to.host[0] = x->pointer_to.host[0] = -1;
    x->kept_before.host[0] = x->kept_after.host[0] = -1;
    x->prompted.host[0] = 0;
    interact(t, o, &given, true);
    t->about = (struct sam_about) { 0 };
}
