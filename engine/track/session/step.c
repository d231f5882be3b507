// SPDX-License-Identifier: MIT
// One frame: it is encoded once; every object attends to its memory, is decoded and remembered, as
// many objects at once as the batch holds; then the prompts are applied.
#include <assert.h>

#include "session.h"
#include "track/memory/history.h"
#include "track/prompts/prompts.h"

// Follow n objects into the current frame; of its first batch the encoder is a part.
static void track_batch(struct sam_tracker *t, struct sam_tracked *const *o, int n,
                        enum sam_span span)
{
    struct sam_indices *x = &t->mem.state.index;
    struct sam_batch b = { o, n, n, 0 };
    int64_t last = sam_now();

    assert(n >= 1 && n <= t->batch);
    for (int i = 0; i < n; i++) {
        const struct sam_bank_slots slots = sam_bank_track(&o[i]->bank, t->frame);
        x->row.host[i] = o[i]->row;
        x->map_to.host[i] = slots.map;
        x->pointer_to.host[i] = slots.pointer;
        x->multimask.host[i] = 1;
        x->binary.host[i] = 0;
        sam_kept_tell(t, o[i], i, 0);
    }
    b.keys = sam_batch_attend(t, &b);
    sam_graphs_fit(t, &b);
    sam_batch_spare(t, &b);
    sam_batch_tell(t, &b);
    t->times.attend += sam_lap(&last);
    if (span == SAM_SPAN_FRAME)
        sam_graphs_run(t, sam_graphs_find(t, span, &b), sam_step_frame, &b, &t->times.encode);
    else
        sam_graphs_run(t, sam_graphs_find(t, span, &b), sam_step_track, &b, &t->times.attend);
}

void sam_step_enter(struct sam_tracker *t, struct sam_tracked *o)
{
    const int h = t->limits.history;

    o->is_first = !o->started;
    o->was_tracked = o->started;
    o->presence_before = o->presence;
    if (h)
        t->mem.host.presences[(o->slot - 1) * h + t->frame % h] = o->presence;
    if (o->presence.forgets)
        sam_bank_forget(&o->bank, t->frame - 1);
    sam_bank_judge(&o->bank, t->frame - 1, !o->presence.doubted);
    sam_bank_begin(&o->bank, t->frame);
    o->done = t->frame;
    o->next = t->frame + 1;
    o->turns--;
    o->runs = true;
    o->ran = true;
}

// The rows of the new frame, by slot. What its objects were given for the oldest frame makes room
// for what they are given for the next one.
static void begin_frame(struct sam_tracker *t)
{
    struct sam_host *h = &t->mem.host;

    t->frame++;
    t->num_rows = 0;
    t->num_replayed = 0;
    sam_poison_frame(t);
    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &h->objects[i];
        o->ran = false;
        if (!o->id)
            continue;
        sam_interactions_cut(sam_given(t, o, t->frame + 1), 0, &h->masks);
        o->row = t->num_rows;
        h->row_slot[t->num_rows++] = o->slot;
    }
}

// Whether an object is run on the current frame together with all others.
static bool is_in_time(const struct sam_tracker *t, const struct sam_tracked *o)
{
    return o->id && o->next == t->frame && o->turns > 0;
}

static void enter_all(struct sam_tracker *t)
{
    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &t->mem.host.objects[i];
        o->runs = false;
        if (is_in_time(t, o))
            sam_step_enter(t, o);
    }
}

static void take_frame(struct sam_tracker *t, const struct sam_frame *frame)
{
    struct sam_scratch *s = &t->mem.scratch;
    int64_t last = sam_now();

    sam_op_preprocess(&t->queue, &(struct sam_preprocess) {
        .dst = s->encoder.input, .frame = *frame,
        .scale = t->model->config.input_scale });
    t->times.preprocess = sam_lap(&last);
    t->frame_width = frame->width;
    t->frame_height = frame->height;
    t->holds_frame = true;
}

// Follow the objects that run into the frame, so many at once; of the first of them the span.
// Returns whether there were any.
static bool track_running(struct sam_tracker *t, int at_once, enum sam_span span)
{
    struct sam_tracked **batch = t->mem.host.batch;
    bool any = false;
    int n = 0;

    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &t->mem.host.objects[i];
        if (o->id && o->runs && o->was_tracked)
            batch[n++] = o;
        if (n == at_once || (n && i + 1 == t->params.max_objects)) {
            track_batch(t, batch, n, any ? SAM_SPAN_STEP : span);
            any = true;
            n = 0;
        }
    }
    return any;
}

// Encode the frame, and follow all objects into it.
static void track_all(struct sam_tracker *t)
{
    if (!track_running(t, t->batch, SAM_SPAN_FRAME)) // none to follow
        sam_graphs_run(t, t->graphs.encode, sam_step_encode, NULL, &t->times.encode);
}

static void interact_all(struct sam_tracker *t)
{
    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &t->mem.host.objects[i];
        if (o->id && o->runs && sam_given(t, o, t->frame)->count)
            sam_interact(t, o);
    }
}

void sam_step_begin(struct sam_tracker *t)
{
    t->times = (struct sam_times) { 0 };
    sam_stages_begin(t->stages);
    begin_frame(t);
}

void sam_step_run(struct sam_tracker *t, const struct sam_frame *frame)
{
    enter_all(t);
    take_frame(t, frame);
    if (sam_refine_needs_input(&t->model->config))
        sam_history_keep_input(t);
    sam_step_see(t);
    track_all(t);
    t->trunk_frame = t->frame;
    sam_history_keep(t);
    interact_all(t);
    sam_poison_scratch(t);
}

void sam_step_watch(struct sam_tracker *t, const struct sam_frame *frame)
{
    sam_step_begin(t);
    take_frame(t, frame);
    sam_history_keep_input(t);
    t->holds_frame = false;
    sam_poison_scratch(t);
}

void sam_step_see(struct sam_tracker *t)
{
    const struct sam_refining r = sam_refining(t, 0);

    sam_refine_seen(&r);
}

// Steps without the encoder are recorded for one object.
void sam_step_entered(struct sam_tracker *t)
{
    track_running(t, t->graphs.on ? 1 : t->batch, SAM_SPAN_STEP);
    interact_all(t);
    sam_poison_scratch(t);
}

void sam_step_again(struct sam_tracker *t, struct sam_tracked *o)
{
    o->started = o->was_tracked;
    sam_step_see(t);
    if (o->was_tracked)
        track_batch(t, &o, 1, SAM_SPAN_STEP);
    if (sam_given(t, o, t->frame)->count)
        sam_interact(t, o);
    sam_poison_scratch(t);
}
