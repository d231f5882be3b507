// SPDX-License-Identifier: MIT
// A step with the objects that are behind: each is taken back to the frame where a late prompt came
// or was taken back, and follows again until it has caught up, while the other objects go on.
// Objects do not depend on each other, so what they replay is to the bit what they would have done
// in time.
#include "session.h"
#include "track/memory/history.h"

// Let every object that waits for the frame `frame` of the past, and may run on it, enter it.
// Returns their number.
static int enter_all(struct sam_tracker *t, int64_t frame)
{
    int n = 0;

    t->frame = frame;
    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &t->mem.host.objects[i];
        o->runs = false;
        if (!o->id || o->next != frame || o->turns <= 0)
            continue;
        sam_step_enter(t, o);
        n++;
    }
    return n;
}

static void replay_frame(struct sam_tracker *t, int64_t frame)
{
    const int n = t->queue.status ? 0 : enter_all(t, frame);

    if (!n)
        return;
    if (!sam_history_take(t, frame)) {
        t->trunk_frame = -1;
        sam_graphs_run(t, t->graphs.encode, sam_step_encode, NULL, &t->times.encode);
        sam_history_keep(t);
    }
    sam_step_see(t);
    sam_step_entered(t);
    t->num_replayed += n;
    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &t->mem.host.objects[i];
        if (o->id && o->runs && !sam_results_take_one(t, o))
            o->turns = 0;
    }
}

// Frames from `oldest` to before `end`, of which at most so many are to be encoded first.
static void replay(struct sam_tracker *t, int64_t oldest, int64_t end, int encodings)
{
    const int64_t now = t->frame;

    for (int64_t frame = oldest; frame < end; frame++) {
        const bool was_encoded = sam_history_is_encoded(t, frame);
        if (was_encoded || encodings > 0)
            replay_frame(t, frame);
        encodings -= !was_encoded && sam_history_is_encoded(t, frame);
    }
    t->frame = now;
}

void sam_replay_step(struct sam_tracker *t, const struct sam_frame *frame)
{
    int encodings = 0;

    sam_step_begin(t);
    const int64_t oldest = sam_late_give_turns(t, &encodings);
    replay(t, oldest, t->frame, encodings);
    sam_step_run(t, frame);
    sam_results_hide(t);
}

// An object without a row is run on the spare one.
void sam_replay_all(struct sam_tracker *t)
{
    int64_t oldest = t->frame + 1;

    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &t->mem.host.objects[i];
        if (!sam_is_behind(t, o))
            continue;
        if (o->next <= o->done)
            sam_late_take_back(t, o);
        oldest = o->next < oldest ? o->next : oldest;
        o->turns = t->limits.history;
        o->row = o->row < 0 ? t->params.max_objects : o->row;
    }
    replay(t, oldest, t->frame + 1, t->limits.history);
    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &t->mem.host.objects[i];
        o->row = o->row == t->params.max_objects ? -1 : o->row;
    }
}
