/* SPDX-License-Identifier: MIT */
/* The objects of a camera: what viewers do with them, their names, saving and restoring. Main
 * thread. */
#ifndef LIVE_OBJECTS_H
#define LIVE_OBJECTS_H

#include "answers.h"
#include "camera.h"
#include "looks.h"
#include "saves.h"
#include "undo.h"
#include "words.h"
#include "zones.h"

#define MAX_NAME 64 /* characters */

typedef struct {
    guint64 id;
    guint slot;
    gchar *name;        /* owned by the list; "" if it has none */
    const gchar *state; /* new, tracked, occluded, lost, found */
    gdouble score, iou;
    gint x, y, w, h; /* px */
    guint area;      /* px */
    Answer answer;   /* what its last click may have meant */
} Object;

typedef struct Objects Objects;

/* @folder: where tracks are saved. @annotations: that keep names; NULL: none do. All must outlive
 * it. */
Objects *objects_new(Camera *camera, const gchar *folder, Annotations *annotations);
/* Whether a saving or restoring is under way; it ends in the main loop. */
gboolean objects_are_busy(Objects *objects);
/* They must not be busy. */
void objects_free(Objects *objects);

/* All of now, by slot; free with g_array_unref(). While the source is gone every object is lost;
 * afterwards those that the tracker sees again are found. */
GArray *objects_list(Objects *objects);

/* Where a viewer points. Coordinates run from 0 to 1. */
typedef struct {
    guint64 id; /* 0: a new object */
    gboolean box, positive;
    gdouble x, y, w, h;
    GstClockTime time; /* running time of the frame that the viewer saw; NONE: unknown */
} Prompt;

/* "": it has none. */
const gchar *objects_get_name(Objects *objects, guint64 id);

/* These return the object's id, or 0; then *why is a sentence, owned by the caller. */
guint64 objects_prompt(Objects *objects, const Prompt *prompt, gchar **why);
guint64 objects_undo(Objects *objects, guint64 id, gchar **why);
guint64 objects_take(Objects *objects, guint64 id, guint answer, gchar **why);
guint64 objects_rename(Objects *objects, guint64 id, const gchar *name, gchar **why);

/* Zones that viewers draw and remove; as the functions of zones.h, but they can be undone. */
gboolean objects_draw_zone(Objects *objects, const ZoneDrawing *drawing, gchar **why);
gboolean objects_remove_zone(Objects *objects, const gchar *name, gchar **why);
Zones *objects_get_zones(Objects *objects);
/* As words_set(). */
gboolean objects_find(Objects *objects, const gchar *words, gchar **why);
Words *objects_get_words(Objects *objects);

/* What objects_prompt() would take for a new object; `done` is called in any case, perhaps at
 * once. */
void objects_look(Objects *objects, const Prompt *prompt, LookDone done, gpointer user);

/* The names of all objects that ever had one, id -> text; free with g_hash_table_unref(). */
GHashTable *objects_copy_names(Objects *objects);

/* @id: of the object, or 0. @why: NULL if it worked. */
typedef void (*ObjectsDone)(guint64 id, const gchar *why, gpointer user);

/* These write or read files: a thread does it, and `done` is called in the main thread, perhaps at
 * once. What is removed or replaced can be undone. */
void objects_remove(Objects *objects, guint64 id, ObjectsDone done, gpointer user);
void objects_clear(Objects *objects, ObjectsDone done, gpointer user);

/* Writes all objects and their names to files of the folder, or replaces all objects by those of a
 * save. @title: NULL: none. @id: NULL: the newest one that is not an autosave. */
void objects_save(Objects *objects, const gchar *title, ObjectsDone done, gpointer user);
void objects_restore(Objects *objects, const gchar *id, ObjectsDone done, gpointer user);
GPtrArray *objects_list_saves(Objects *objects); /* as saves_list() */

/* Undoes what was done last, by whomever. @number: of the step that is meant, else it is refused;
 * 0: any. `done` gets the number of the next one, if that is known. */
void objects_back(Objects *objects, guint64 number, ObjectsDone done, gpointer user);
const UndoStep *objects_get_undo(Objects *objects); /* what that would be; NULL: nothing */

/* The same with other files, for the program itself. */
void objects_keep(Objects *objects, ObjectsDone done, gpointer user);
void objects_find_again(Objects *objects, ObjectsDone done, gpointer user);
/* How long ago they were written, s; -1: there are none. */
gint64 objects_get_kept_age(Objects *objects);
void objects_forget_kept(Objects *objects);

/* How old the frames were that viewers pointed at, ms: median of the last 64 prompts; 0: none. */
gdouble objects_get_prompt_age(Objects *objects);

#endif
