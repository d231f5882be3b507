/* SPDX-License-Identifier: MIT */
#include "undo.h"

#include <glib/gstdio.h>

struct Undo {
    GPtrArray *steps; /* UndoStep, the oldest first */
    guint64 last;
};

static void free_step(gpointer step)
{
    undo_step_free(step);
}

Undo *undo_new(void)
{
    Undo *undo = g_new0(Undo, 1);

    undo->steps = g_ptr_array_new_with_free_func(free_step);
    return undo;
}

void undo_free(Undo *undo)
{
    g_ptr_array_unref(undo->steps);
    g_free(undo);
}

UndoStep *undo_step_new(UndoKind kind, guint64 id, gchar *text)
{
    UndoStep *step = g_new0(UndoStep, 1);

    step->kind = kind;
    step->id = id;
    step->text = text;
    return step;
}

void undo_step_free(UndoStep *step)
{
    if (step->tracks)
        g_unlink(step->tracks);
    g_clear_pointer(&step->names, g_hash_table_unref);
    g_free(step->tracks);
    g_free(step->text);
    g_free(step->name);
    g_free(step->zones);
    g_free(step);
}

void undo_push(Undo *undo, UndoStep *step)
{
    step->number = ++undo->last;
    if (undo->steps->len == MAX_UNDO)
        g_ptr_array_remove_index(undo->steps, 0);
    g_ptr_array_add(undo->steps, step);
}

const UndoStep *undo_peek(const Undo *undo)
{
    return undo->steps->len ? g_ptr_array_index(undo->steps, undo->steps->len - 1) : NULL;
}

UndoStep *undo_pop(Undo *undo)
{
    return undo->steps->len ? g_ptr_array_steal_index(undo->steps, undo->steps->len - 1) : NULL;
}

void undo_forget_prompt(Undo *undo, guint64 id)
{
    guint i;

    for (i = undo->steps->len; i; i--) {
        const UndoStep *step = g_ptr_array_index(undo->steps, i - 1);

        if (step->kind != UNDO_PROMPT || step->id != id)
            continue;
        g_ptr_array_remove_index(undo->steps, i - 1);
        return;
    }
}
