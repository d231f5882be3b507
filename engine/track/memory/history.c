// SPDX-License-Identifier: MIT
// The frames of the past: their features, what each object was given on them, and to which of them
// it can go back.
#include "history.h"

#include "track/tracker.h"

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
    if (frame <= o->answered.frame)
        o->answered.taken = 0;
}

bool sam_history_is_left(const struct sam_tracker *t, const struct sam_tracked *o)
{
    const struct sam_bank *bank = o->next > o->done ? &o->bank : sam_bank_at(&o->bank, o->next);

    return (o->next > o->born && bank && sam_bank_prompts(bank)) ||
           sam_history_prompted(t, o) >= o->next;
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

// All three tensors, or the one that there is, which lie in a row (session/plan.c), as one of a
// number for every four bytes.
static struct sam_tensor as_one(const struct sam_features *f)
{
    const struct sam_tensor *end = f->s1.data ? &f->s1 : &f->image;
    const uint8_t *begin = f->image.data, *last = end->data;
    const size_t bytes = (size_t) (last - begin) + sam_tensor_bytes(end);
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

struct sam_tensor sam_history_input(const struct sam_tracker *t)
{
    return t->limits.history ? past_of(t, t->frame)->input : t->mem.state.input;
}

void sam_history_keep_input(struct sam_tracker *t)
{
    sam_op_copy(&t->queue, &(struct sam_copy) { .dst = sam_history_input(t),
                                                .src = t->mem.scratch.encoder.input });
    if (t->limits.history)
        t->mem.host.encoded[t->frame % t->limits.history] = false;
}

bool sam_history_is_encoded(const struct sam_tracker *t, int64_t frame)
{
    return t->mem.host.encoded[frame % t->limits.history];
}

bool sam_history_take(struct sam_tracker *t, int64_t frame)
{
    const struct sam_past *past = past_of(t, frame);

    if (sam_history_is_encoded(t, frame)) {
        copy_features(t, &t->mem.state.features, &past->features);
        return true;
    }
    sam_op_copy(&t->queue, &(struct sam_copy) { .dst = t->mem.scratch.encoder.input,
                                                .src = past->input });
    return false;
}

// ---- Numbers that refiners keep.

int sam_kept_each(const struct sam_bank_limits *l)
{
    return 1 + (l->history > 1 ? l->history : 1); // a frame can be run again
}

int sam_kept_at(const struct sam_tracker *t, int slot, int64_t frame)
{
    const int each = sam_kept_each(&t->limits);

    return (slot - 1) * each + (int) (frame % each);
}
