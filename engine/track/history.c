// The frames of the past: their features, what each object was given on them, and how it was before
// them. With these an object is taken back to a frame, to get a late prompt there or to lose one,
// and follows again until it has caught up, while the other objects go on. Objects do not depend on
// each other, so what they replay is to the bit what they would have done in time.
#include <assert.h>

#include "track.h"

struct sam_interactions *sam_given(const struct sam_tracker *t, const struct sam_tracked *o,
                                   int64_t frame)
{
    const int n = t->limits.history + 2;

    return &t->mem.host.given[(o->slot - 1) * n + frame % n];
}

void sam_history_init(struct sam_tracker *t, struct sam_tracked *o)
{
    const int h = t->limits.history;

    sam_bank_init(&o->bank, &t->limits, o->slot - 1,
                  h ? &t->mem.host.banks[(o->slot - 1) * h] : NULL);
}

int64_t sam_history_oldest(const struct sam_tracker *t, const struct sam_tracked *o)
{
    int64_t oldest = t->frame + 1 - t->limits.history;

    if (oldest < t->first_held)
        oldest = t->first_held;
    return o && o->since > oldest ? o->since : oldest;
}

int64_t sam_history_prompted(const struct sam_tracker *t, const struct sam_tracked *o)
{
    for (int64_t f = t->frame + 1; f >= sam_history_oldest(t, o); f--)
        if (sam_given(t, o, f)->count)
            return f;
    return -1;
}

void sam_history_return(struct sam_tracked *o, int64_t frame)
{
    if (frame < o->next)
        o->next = frame;
    if (frame < o->born)
        o->born = frame;
}

bool sam_history_is_left(const struct sam_tracker *t, const struct sam_tracked *o)
{
    const struct sam_bank *bank = o->next > o->done ? &o->bank : sam_bank_at(&o->bank, o->next);

    return (o->next > o->born && bank && bank->num_cond) || sam_history_prompted(t, o) >= o->next;
}

static bool has_mask(const struct sam_interactions *given)
{
    for (int i = 0; i < given->count; i++)
        if (given->item[i].mask >= 0)
            return true;
    return false;
}

// The oldest frame that an object is done with, can be taken back to, and has a mask for.
static int64_t find_mask(const struct sam_tracker *t, const struct sam_tracked *o)
{
    for (int64_t f = sam_history_oldest(t, o); o->id && f < t->frame && f < o->next; f++)
        if (has_mask(sam_given(t, o, f)))
            return f;
    return -1;
}

bool sam_history_drop_mask(struct sam_tracker *t)
{
    struct sam_tracked *found = NULL;
    int64_t oldest = -1;

    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &t->mem.host.objects[i];
        const int64_t f = find_mask(t, o);
        if (f >= 0 && (oldest < 0 || f < oldest)) {
            oldest = f;
            found = o;
        }
    }
    if (!found)
        return false;
    for (int64_t f = sam_history_oldest(t, found); f <= oldest; f++)
        sam_interactions_cut(sam_given(t, found, f), 0, &t->mem.host.masks);
    found->since = oldest + 1;
    return true;
}

// ---- Features.

// All three tensors, which plan.c lays out in a row, as one of a number for every four bytes.
static struct sam_tensor as_one(const struct sam_features *f)
{
    const uint8_t *begin = f->image.data, *last = f->s1.data;
    const size_t bytes = (size_t) (last - begin) + sam_tensor_bytes(&f->s1);
    const int rows = (int) ((bytes + SAM_ALIGN - 1) / SAM_ALIGN);

    return (struct sam_tensor) { f->image.data, SAM_F32, 1, 1, rows, SAM_ALIGN / 4 };
}

static void copy_features(struct sam_tracker *t, const struct sam_features *dst,
                          const struct sam_features *src)
{
    sam_op_copy(&t->queue, &(struct sam_copy) { .dst = as_one(dst), .src = as_one(src) });
}

static const struct sam_past *past_of(const struct sam_tracker *t, int64_t frame)
{
    return &t->mem.state.past[frame % t->limits.history];
}

void sam_history_keep(struct sam_tracker *t)
{
    if (!t->limits.history)
        return;
    copy_features(t, &past_of(t, t->frame)->features, &t->mem.state.features);
    t->mem.host.encoded[t->frame % t->limits.history] = true;
}

void sam_history_keep_input(struct sam_tracker *t)
{
    sam_op_copy(&t->queue, &(struct sam_copy) { .dst = past_of(t, t->frame)->input,
                                                .src = t->mem.scratch.encoder.input });
    t->mem.host.encoded[t->frame % t->limits.history] = false;
}

static bool is_encoded(const struct sam_tracker *t, int64_t frame)
{
    return t->mem.host.encoded[frame % t->limits.history];
}

// Have the features of a frame of the past where those of the current one are.
static void take_features(struct sam_tracker *t, int64_t frame)
{
    const struct sam_past *past = past_of(t, frame);

    if (is_encoded(t, frame)) {
        copy_features(t, &t->mem.state.features, &past->features);
        return;
    }
    sam_op_copy(&t->queue, &(struct sam_copy) { .dst = t->mem.scratch.encoder.input,
                                                .src = past->input });
    sam_graphs_run(t, t->graphs.encode, sam_step_encode, NULL, &t->times.encode);
    sam_history_keep(t);
}

// ---- Going back, and following again.

static void take_back(struct sam_tracker *t, struct sam_tracked *o)
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
    take_features(t, frame);
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
        const bool was_encoded = is_encoded(t, frame);
        if (was_encoded || encodings > 0)
            replay_frame(t, frame);
        encodings -= !was_encoded && is_encoded(t, frame);
    }
    t->frame = now;
}

// Each object may be run on one frame; if it is behind, on two. For the time of one encoding, which
// takes longer than to run one object, one frame of the past is encoded, if that is what the object
// that is furthest behind waits for; else it is run on one frame more. So the step takes at most
// twice as long. Returns the frame where to begin.
static int64_t give_turns(struct sam_tracker *t, int *encodings)
{
    struct sam_tracked *last = NULL;

    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &t->mem.host.objects[i];
        const bool behind = o->id && o->next < t->frame;
        o->turns = behind ? 2 : 1;
        if (behind && o->next <= o->done)
            take_back(t, o);
        if (behind && (!last || o->next < last->next))
            last = o;
    }
    if (!last)
        return t->frame;
    *encodings = !is_encoded(t, last->next);
    last->turns += !*encodings;
    return last->next;
}

void sam_history_replay(struct sam_tracker *t)
{
    int encodings = 0;
    const int64_t oldest = give_turns(t, &encodings);

    replay(t, oldest, t->frame, encodings);
}

// An object without a row is run on the spare one.
void sam_history_catch_up(struct sam_tracker *t)
{
    int64_t oldest = t->frame + 1;

    for (int i = 0; i < t->params.max_objects; i++) {
        struct sam_tracked *o = &t->mem.host.objects[i];
        if (!sam_is_behind(t, o))
            continue;
        if (o->next <= o->done)
            take_back(t, o);
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
