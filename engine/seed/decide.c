// SPDX-License-Identifier: MIT
// Decisions, and the prompts in them.
#include "state.h"

struct sam_seed_decision *sam_seed_emit(struct sam_seed *s, enum sam_seed_kind kind,
                                        enum sam_seed_reason reason, const struct track *t)
{
    // There is room: a detection brings two decisions at most, a track four.
    struct sam_seed_decision *d = &s->decision[s->num_decisions];

    s->started[s->num_decisions++] = -1;
    *d = (struct sam_seed_decision) { .kind = kind, .reason = reason, .id = t ? t->id : 0,
                                      .detection = -1,
                                      .class_id = t ? t->class_id : SAM_SEED_NO_CLASS };
    s->stats.decisions[kind]++;
    s->stats.reasons[reason]++;
    return d;
}

void sam_seed_order_removal(struct sam_seed *s, struct track *t, enum sam_seed_reason reason)
{
    sam_seed_emit(s, SAM_SEED_REMOVE, reason, t);
    t->phase = SAM_SEED_DYING;
    t->is_awaited = false;
    t->removed_by = reason;
    t->ordered = s->frame;
}

void sam_seed_ignore(struct sam_seed *s, struct candidate *c, enum sam_seed_reason reason)
{
    struct sam_seed_decision *d = sam_seed_emit(s, SAM_SEED_IGNORE, reason, NULL);

    d->detection = c->index;
    d->class_id = c->class_id;
    c->is_decided = true;
}

static bool is_held(const struct sam_seed_input *in)
{
    return in->oldest <= in->result_frame;
}

bool sam_seed_can_prompt(const struct sam_seed *s, const struct sam_seed_input *in)
{
    return is_held(in) ||
           in->frame - in->result_frame <= (uint64_t) s->settings.late_frames;
}

void sam_seed_prompt(const struct sam_seed *s, const struct sam_seed_input *in,
                     const struct candidate *c, struct sam_seed_decision *d)
{
    d->detection = c->index;
    d->box = c->box;
    d->use_mask = c->mask && c->quality >= s->settings.mask_quality;
    d->has_frame = is_held(in);
    d->prompt_frame = d->has_frame ? in->result_frame : 0;
}

bool sam_seed_same_class(const struct sam_seed *s, int a, int b)
{
    if (a == b || a == SAM_SEED_NO_CLASS || b == SAM_SEED_NO_CLASS)
        return true;
    return s->settings.group[a] && s->settings.group[a] == s->settings.group[b];
}

bool sam_seed_fits(const struct sam_seed *s, const struct pair *p)
{
    return p->iou >= (p->is_of_masks ? s->settings.match_iou : s->settings.match_box_iou);
}
