// SPDX-License-Identifier: MIT
// The list of refiners, in the order in which their hooks are called: a new one is a file and a
// line.
#include <assert.h>

#include "refine.h"

extern const struct sam_refiner sam_refine_selection, sam_refine_zoom, sam_refine_candidates,
    sam_refine_target, sam_refine_near, sam_refine_walk;

static const struct sam_refiner *const list[] = {
    &sam_refine_selection,  // what is remembered
    &sam_refine_zoom,       // where a prompt is answered
    &sam_refine_candidates, // the decoder's choice
    &sam_refine_target,     // its logits
    &sam_refine_near,       // which pieces of them stay
    &sam_refine_walk,       // their outline
};

enum { COUNT = sizeof(list) / sizeof(list[0]) };
static_assert((int) COUNT <= (int) SAM_REFINERS, "there is memory for fewer refiners");

// The ones that a configuration has and that have this hook or need, with their place.
#define for_each(i, c, field)          \
    for (int i = 0; i < COUNT; i++)    \
        if (list[i]->field && list[i]->is_on(c))

bool sam_refine_forgets_absent(const struct sam_config *c)
{
    for_each(i, c, forgets_absent)
        return true;
    return false;
}

bool sam_refine_needs_input(const struct sam_config *c)
{
    for_each(i, c, needs_input)
        return true;
    return false;
}

bool sam_refine_on_host(const struct sam_config *c)
{
    for_each(i, c, on_host)
        return true;
    return false;
}

bool sam_refine_has_shown(const struct sam_config *c)
{
    for_each(i, c, shown)
        return true;
    return false;
}

// ---- Memory.

void sam_refine_lay_out_scratch(struct sam_refine_memory *memory, const struct sam_config *c,
                                int batch, struct sam_arena *a)
{
    for_each(i, c, lay_out_scratch)
        list[i]->lay_out_scratch(&memory[i], c, batch, a);
}

void sam_refine_lay_out_state(struct sam_refine_memory *memory, const struct sam_config *c,
                              enum sam_type type, int rows, struct sam_arena *a)
{
    for_each(i, c, lay_out_state)
        list[i]->lay_out_state(&memory[i], c, type, a);
    for_each(i, c, numbers)
        for (int k = 0; k < SAM_REFINE_KEPT; k++)
            if (list[i]->numbers(c, k))
                memory[i].kept[k] =
                    sam_arena_tensor(a, SAM_F32, rows, 1, 1, list[i]->numbers(c, k));
}

void sam_refine_lay_out_host(struct sam_refine_memory *memory, const struct sam_config *c,
                             struct sam_arena *a)
{
    for_each(i, c, lay_out_host)
        list[i]->lay_out_host(&memory[i], c, a);
}

// ---- Hooks.

// What refiner i is given.
static struct sam_refining given(const struct sam_refining *r, int i)
{
    struct sam_refining own = *r;

    own.memory += i;
    return own;
}

void sam_refine_seen(const struct sam_refining *r)
{
    for_each(i, &r->model->config, seen) {
        const struct sam_refining own = given(r, i);
        list[i]->seen(&own);
    }
}

void sam_refine_tracked(const struct sam_refining *r)
{
    for_each(i, &r->model->config, tracked) {
        const struct sam_refining own = given(r, i);
        list[i]->tracked(&own);
    }
    for_each(i, &r->model->config, settled) {
        const struct sam_refining own = given(r, i);
        list[i]->settled(&own);
    }
}

void sam_refine_shown(const struct sam_refining *r)
{
    for_each(i, &r->model->config, shown) {
        const struct sam_refining own = given(r, i);
        list[i]->shown(&own);
    }
}

void sam_refine_prompted(const struct sam_refining *r)
{
    for_each(i, &r->model->config, prompted) {
        const struct sam_refining own = given(r, i);
        list[i]->prompted(&own);
    }
}

void sam_refine_answered(const struct sam_refining *r, const struct sam_points *p,
                         struct sam_tensor input)
{
    for_each(i, &r->model->config, answered) {
        const struct sam_refining own = given(r, i);
        list[i]->answered(&own, p, input);
    }
}

// ---- Windows: the first refiner that has them.

enum sam_look sam_refine_look(const struct sam_config *c, const struct sam_points *p,
                              struct sam_window *w)
{
    for_each(i, c, look)
        return list[i]->look(c, p, w);
    return SAM_LOOK_FRAME;
}

bool sam_refine_pick(const struct sam_refining *r, const struct sam_points *p,
                     struct sam_window *w)
{
    for_each(i, &r->model->config, pick) {
        const struct sam_refining own = given(r, i);
        return list[i]->pick(&own, p, w);
    }
    return false;
}

struct sam_tensor sam_refine_enter(const struct sam_refining *r, const struct sam_window *w,
                                   struct sam_tensor encode, struct sam_points *p)
{
    for_each(i, &r->model->config, enter) {
        const struct sam_refining own = given(r, i);
        return list[i]->enter(&own, w, encode, p);
    }
    return encode;
}

void sam_refine_leave(const struct sam_refining *r, const struct sam_window *w)
{
    for_each(i, &r->model->config, leave) {
        const struct sam_refining own = given(r, i);
        list[i]->leave(&own, w);
    }
}
