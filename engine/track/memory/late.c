// SPDX-License-Identifier: MIT
// Objects that are behind: how far they go back, and how many frames they may be run on in a step.
#include "history.h"
#include "track/tracker.h"

void sam_late_take_back(struct sam_tracker *t, struct sam_tracked *o)
{
    const int h = t->limits.history;

    if (o->next <= o->born) {
        sam_history_init(t, o);
        o->presence = (struct sam_presence) { 0 };
    } else {
        sam_bank_rewind(&o->bank, o->next);
        o->presence = t->mem.host.presences[(o->slot - 1) * h + o->next % h];
    }
    o->started = o->bank.num_cond > 0;
    o->done = o->next - 1;
}

// Each object may be run on one frame; if it is behind, on two. To take an object back decodes a
// prompt and remembers that frame twice: as much as to run it, so it counts as a run. For the time
// of one encoding, which takes longer than to run one object, one frame of the past is encoded, if
// that is what the object that is furthest behind waits for; else it is run on one frame more. So
// the step takes at most twice as long. Returns the frame where to begin.
int64_t sam_late_give_turns(struct sam_tracker *t, int *encodings)
{
    struct sam_tracked *last = NULL;

    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &t->mem.host.objects[i];
        const bool behind = o->id && o->next < t->frame, returns = behind && o->next <= o->done;
        o->turns = behind && !returns ? 2 : 1;
        if (returns)
            sam_late_take_back(t, o);
        if (behind && (!last || o->next < last->next))
            last = o;
    }
    if (!last)
        return t->frame;
    *encodings = !sam_history_is_encoded(t, last->next);
    last->turns += !*encodings;
    return last->next;
}
