/* SPDX-License-Identifier: MIT */
#include "keeper.h"

#define LOOK_MS 100 /* for the first frame */
#define TICK_S 2
#define KEEP_TICKS 30 /* until objects that have only moved are saved again */

struct Keeper {
    Camera *camera;
    Objects *objects;
    gint most;
    guint timer;
    gboolean begun;  /* what there was of before is loaded, or is not wanted */
    guint ticks;     /* since the last saving */
    guint kept;      /* which objects there were then */
};

static void on_done(guint64 id, const gchar *why, gpointer data)
{
    /* The log has it. */
}

/* A number that differs where there are other objects, or names of them. */
static guint hash(const GArray *list)
{
    guint n = list->len, i;

    for (i = 0; i < list->len; i++) {
        const Object *object = &g_array_index(list, Object, i);

        n = n * 31 + g_int64_hash(&object->id);
        n = n * 31 + g_str_hash(object->name);
    }
    return n;
}

/* What viewers have removed must not come back. */
static void keep(Keeper *keeper, const GArray *list)
{
    keeper->ticks = 0;
    keeper->kept = hash(list);
    if (list->len)
        objects_keep(keeper->objects, on_done, keeper);
    else
        objects_forget_kept(keeper->objects);
}

static gboolean on_tick(gpointer data)
{
    Keeper *keeper = data;
    GArray *list;

    if (objects_are_busy(keeper->objects))
        return G_SOURCE_CONTINUE;
    list = objects_list(keeper->objects);
    if (++keeper->ticks >= KEEP_TICKS || hash(list) != keeper->kept)
        keep(keeper, list);
    g_array_unref(list);
    return G_SOURCE_CONTINUE;
}

static gboolean on_look(gpointer data)
{
    Keeper *keeper = data;
    gint64 age;

    if (!camera_has_frames(keeper->camera))
        return G_SOURCE_CONTINUE;
    age = objects_get_kept_age(keeper->objects);
    if (age >= 0 && age <= keeper->most)
        objects_find_again(keeper->objects, on_done, keeper);
    keeper->begun = TRUE;
    keeper->timer = g_timeout_add_seconds(TICK_S, on_tick, keeper);
    return G_SOURCE_REMOVE;
}

Keeper *keeper_new(Camera *camera, Objects *objects, gint most)
{
    Keeper *keeper = g_new0(Keeper, 1);

    *keeper = (Keeper) {.camera = camera, .objects = objects, .most = most};
    keeper->timer = g_timeout_add(LOOK_MS, on_look, keeper);
    return keeper;
}

void keeper_end(Keeper *keeper)
{
    GArray *list;

    g_clear_handle_id(&keeper->timer, g_source_remove);
    while (objects_are_busy(keeper->objects)) /* with what it was asked for before */
        g_main_context_iteration(NULL, TRUE);
    if (!keeper->begun)
        return;
    keeper->begun = FALSE;
    list = objects_list(keeper->objects);
    keep(keeper, list);
    g_array_unref(list);
}

void keeper_free(Keeper *keeper)
{
    g_clear_handle_id(&keeper->timer, g_source_remove);
    g_free(keeper);
}
