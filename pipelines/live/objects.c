/* SPDX-License-Identifier: MIT */
#include "objects.h"

#include "answers.h"
#include "journal.h"
#include "objects_private.h"
#include "refuse.h"
#include "track.h"

#include <stdlib.h>
#include <string.h>

#define FOUND_NS (1500 * GST_MSECOND) /* an object is shown as found after a drop-out */
#define MAX_PAST 10000 /* names of objects that are gone */

static void on_message(const GstStructure *message, gpointer data)
{
    Objects *objects = data;

    answers_hear(objects->answers, message);
    looks_hear(objects->looks, message);
    words_hear(objects->words, message);
}

Objects *objects_new(Camera *camera, const gchar *folder, Annotations *annotations)
{
    Objects *objects = g_new0(Objects, 1);

    objects->camera = camera;
    objects->folder = folder;
    objects->annotations = annotations;
    objects->answers = answers_new(camera);
    objects->looks = looks_new(camera);
    objects->undo = undo_new();
    objects->zones = zones_new(camera, folder);
    objects->words = words_new(camera);
    saves_forget_undo(folder, camera_get_name(camera));
    camera_set_listener(camera, on_message, objects);
    objects->names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    objects->past = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    objects->absences = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    return objects;
}

gboolean objects_are_busy(Objects *objects)
{
    return objects->busy > 0;
}

void objects_free(Objects *objects)
{
    camera_set_listener(objects->camera, NULL, NULL);
    answers_free(objects->answers);
    looks_free(objects->looks);
    undo_free(objects->undo);
    zones_free(objects->zones);
    words_free(objects->words);
    g_hash_table_unref(objects->names);
    g_hash_table_unref(objects->past);
    g_hash_table_unref(objects->absences);
    g_free(objects);
}

gpointer objects_copy_id(guint64 id)
{
    return g_memdup2(&id, sizeof id);
}

const gchar *objects_get_name(Objects *objects, guint64 id)
{
    const gchar *name = g_hash_table_lookup(objects->names, &id);

    return name ? name : "";
}

void objects_set_name(Objects *objects, guint64 id, const gchar *name)
{
    g_hash_table_replace(objects->names, objects_copy_id(id), g_strdup(name));
    if (g_hash_table_size(objects->past) >= MAX_PAST)
        g_hash_table_remove_all(objects->past);
    g_hash_table_replace(objects->past, objects_copy_id(id), g_strdup(name));
    if (objects->annotations)
        annotations_note_name(objects->annotations, id, name);
}

gchar *objects_describe(Objects *objects, const gchar *what, guint64 id)
{
    const gchar *name = objects_get_name(objects, id);

    return *name ? g_strdup_printf("%s %s", what, name) :
        g_strdup_printf("%s object %" G_GUINT64_FORMAT, what, id);
}

GHashTable *objects_copy_names(Objects *objects)
{
    GHashTable *copy = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    GHashTable *const tables[] = {objects->past, objects->names};
    GHashTableIter iter;
    gpointer id, name;
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(tables); i++) {
        g_hash_table_iter_init(&iter, tables[i]);
        while (g_hash_table_iter_next(&iter, &id, &name))
            g_hash_table_replace(copy, objects_copy_id(*(guint64 *) id), g_strdup(name));
    }
    return copy;
}

static void clear_object(gpointer data)
{
    g_free(((Object *) data)->name);
}

static void tell(Objects *objects, guint64 id, const gchar *state)
{
    log_info("object", "camera", G_TYPE_STRING, camera_get_name(objects->camera), "id",
        G_TYPE_UINT64,
        id, "state", G_TYPE_STRING, state, NULL);
}

static Absence *find_absence(Objects *objects, guint64 id)
{
    Absence *absence = g_hash_table_lookup(objects->absences, &id);

    if (!absence) {
        absence = g_new0(Absence, 1);
        absence->found = GST_CLOCK_TIME_NONE;
        g_hash_table_insert(objects->absences, objects_copy_id(id), absence);
    }
    return absence;
}

/* The tracker knows nothing of a source that is gone. @time: of the frame that the states are of.
 * */
static const gchar *get_state(Objects *objects, guint64 id, const gchar *state, GstClockTime time)
{
    const GstClockTime returned = camera_get_return(objects->camera);
    Absence *absence;

    if (!returned) {
        absence = find_absence(objects, id);
        if (!absence->away)
            tell(objects, id, "lost");
        absence->away = TRUE;
        return "lost";
    }
    absence = g_hash_table_lookup(objects->absences, &id);
    if (!absence)
        return state;
    if (absence->away && (!GST_CLOCK_TIME_IS_VALID(time) || time < returned))
        return "lost";
    if (g_str_equal(state, "occluded") || g_str_equal(state, "lost"))
        return absence->away ? "lost" : state;
    if (absence->away) {
        absence->away = FALSE;
        absence->found = time;
        tell(objects, id, "found");
    }
    if (time < absence->found + FOUND_NS)
        return "found";
    g_hash_table_remove(objects->absences, &id);
    return state;
}

static const gchar *const states[] = {"new", "tracked", "occluded", "lost", "found"};

static void read_object(Objects *objects, const GstStructure *s, GstClockTime time, Object *object)
{
    const gchar *state = gst_structure_get_string(s, "state"), *name, *label;
    const Answer *answer;
    gsize i;

    memset(object, 0, sizeof *object);
    gst_structure_get(s, "id", G_TYPE_UINT64, &object->id, "slot", G_TYPE_UINT, &object->slot,
        "score", G_TYPE_DOUBLE, &object->score, "iou", G_TYPE_DOUBLE, &object->iou,
        "x", G_TYPE_INT, &object->x, "y", G_TYPE_INT, &object->y, "w", G_TYPE_INT, &object->w,
        "h", G_TYPE_INT, &object->h, "area", G_TYPE_UINT, &object->area, NULL);
    for (i = 0; i < G_N_ELEMENTS(states); i++)
        if (!g_strcmp0(states[i], state))
            object->state = states[i];
    object->state = get_state(objects, object->id, object->state ? object->state : "tracked", time);
    name = objects_get_name(objects, object->id);
    label = gst_structure_get_string(s, "label");
    object->name = g_strdup(*name || !label ? name : label);
    answer = answers_get(objects->answers, object->id);
    if (answer)
        object->answer = *answer;
}

GArray *objects_list(Objects *objects)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(Object));
    GstClockTime time = GST_CLOCK_TIME_NONE;
    const GValue *array;
    GstStructure *s;
    Object object;
    guint i;

    g_array_set_clear_func(list, clear_object);
    g_object_get(camera_get_track(objects->camera), "objects", &s, NULL);
    gst_structure_get_clock_time(s, "running-time", &time);
    array = gst_structure_get_value(s, "objects");
    for (i = 0; i < gst_value_array_get_size(array); i++) {
        read_object(objects, gst_value_get_structure(gst_value_array_get_value(array, i)), time,
            &object);
        g_array_append_val(list, object);
    }
    gst_structure_free(s);
    return list;
}

static void note_age(Objects *objects, GstClockTime time)
{
    const GstClockTime now = camera_get_time(objects->camera);

    if (GST_CLOCK_TIME_IS_VALID(time) && time <= now)
        objects->ages[objects->num_ages++ % AGES] = (now - time) / 1e6;
}

/* For the frame that the viewer saw. Free with g_free(). */
static gchar *write_prompt(const Prompt *p)
{
    GString *text = track_write(p->x, p->y, p->box ? p->w : 0, p->box ? p->h : 0);

    if (!p->box)
        g_string_append_printf(text, ",positive=%s", p->positive ? "true" : "false");
    if (p->id)
        g_string_append_printf(text, ",id=%" G_GUINT64_FORMAT, p->id);
    if (GST_CLOCK_TIME_IS_VALID(p->time))
        g_string_append_printf(text, ",running-time=%" G_GUINT64_FORMAT, p->time);
    return g_string_free(text, FALSE);
}

guint64 objects_prompt(Objects *objects, const Prompt *p, gchar **why)
{
    guint64 id;

    if (camera_get_fault(objects->camera)) {
        *why = g_strdup("The camera is gone: nothing can be selected until it is back.");
        return 0;
    }
    note_age(objects, p->time);
    id = track_prompt(objects->camera, write_prompt(p), why);
    if (id)
        undo_push(objects->undo, undo_step_new(UNDO_PROMPT, id,
            objects_describe(objects, p->id ? "corrected" : "began", id)));
    if (id && !p->box && p->positive)
        answers_note_click(objects->answers, id, p->x, p->y);
    else if (id)
        answers_forget(objects->answers, id);
    return id;
}

void objects_look(Objects *objects, const Prompt *p, LookDone done, gpointer user)
{
    gchar *text;

    if (camera_get_fault(objects->camera)) {
        done(NULL, user);
        return;
    }
    text = write_prompt(p);
    looks_ask(objects->looks, text, done, user);
    g_free(text);
}

guint64 objects_undo(Objects *objects, guint64 id, gchar **why)
{
    answers_forget(objects->answers, id);
    id = track_prompt(objects->camera, g_strdup_printf("undo,id=%" G_GUINT64_FORMAT, id), why);
    if (id)
        undo_forget_prompt(objects->undo, id);
    return id;
}

guint64 objects_take(Objects *objects, guint64 id, guint answer, gchar **why)
{
    const Answer *now = answers_get(objects->answers, id);
    const guint before = now ? now->taken : 0;
    UndoStep *step;

    id = answers_take(objects->answers, id, answer, why);
    if (id) {
        step = undo_step_new(UNDO_TAKE, id, objects_describe(objects, "chose another answer for",
            id));
        step->answer = before;
        undo_push(objects->undo, step);
    }
    return id;
}

gboolean objects_exists(Objects *objects, guint64 id)
{
    GArray *list = objects_list(objects);
    gboolean found = FALSE;
    guint i;

    for (i = 0; i < list->len; i++)
        found |= g_array_index(list, Object, i).id == id;
    g_array_unref(list);
    return found;
}

guint64 objects_rename(Objects *objects, guint64 id, const gchar *name, gchar **why)
{
    UndoStep *step;

    if (!check_name(name, MAX_NAME, "The name", why))
        return 0;
    if (!objects_exists(objects, id)) {
        *why = g_strdup_printf("There is no object %" G_GUINT64_FORMAT ".", id);
        return 0;
    }
    step = undo_step_new(UNDO_RENAME, id, objects_describe(objects, "renamed", id));
    step->name = g_strdup(objects_get_name(objects, id));
    undo_push(objects->undo, step);
    objects_set_name(objects, id, name);
    return id;
}

/* Takes @before and @text. */
static gboolean note_zones(Objects *objects, gboolean ok, gchar *before, gchar *text)
{
    UndoStep *step = undo_step_new(UNDO_ZONES, 0, text);

    step->zones = before;
    if (ok)
        undo_push(objects->undo, step);
    else
        undo_step_free(step);
    return ok;
}

gboolean objects_draw_zone(Objects *objects, const ZoneDrawing *drawing, gchar **why)
{
    gchar *before = zones_write(objects->zones);
    const gboolean ok = zones_draw(objects->zones, drawing, why);

    return note_zones(objects, ok, before, g_strdup_printf("%s %s", drawing->was ? "changed" :
        "drew", drawing->name));
}

gboolean objects_remove_zone(Objects *objects, const gchar *name, gchar **why)
{
    gchar *before = zones_write(objects->zones);
    const gboolean ok = zones_remove(objects->zones, name, why);

    return note_zones(objects, ok, before, g_strdup_printf("removed %s", name));
}

Zones *objects_get_zones(Objects *objects)
{
    return objects->zones;
}

gboolean objects_find(Objects *objects, const gchar *words, gchar **why)
{
    UndoStep *step = undo_step_new(UNDO_WORDS, 0, *words ? g_strdup_printf("asked for %s", words) :
        g_strdup("asked for nothing"));
    gboolean ok;

    step->name = g_strdup(words_get(objects->words));
    ok = words_set(objects->words, words, why);
    if (ok && step->name)
        undo_push(objects->undo, step);
    else
        undo_step_free(step);
    return ok;
}

Words *objects_get_words(Objects *objects)
{
    return objects->words;
}

static int compare(const void *a, const void *b)
{
    const gdouble x = *(const gdouble *) a, y = *(const gdouble *) b;

    return (x > y) - (x < y);
}

gdouble objects_get_prompt_age(Objects *objects)
{
    const guint n = MIN(objects->num_ages, AGES);
    gdouble sorted[AGES];

    memcpy(sorted, objects->ages, sizeof sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    return n ? sorted[n / 2] : 0;
}
