/* SPDX-License-Identifier: MIT */
/* The objects of a camera: what viewers do with them, their names, saving and restoring. Main
 * thread. */
#ifndef LIVE_OBJECTS_H
#define LIVE_OBJECTS_H

#include "camera.h"

#define MAX_NAME 64 /* characters */

typedef struct {
    guint64 id;
    guint slot;
    gchar *name;        /* owned by the list; "" if it has none */
    const gchar *state; /* new, tracked, occluded, lost, found */
    gdouble score, iou;
    gint x, y, w, h; /* px */
    guint area;      /* px */
} Object;

typedef struct Objects Objects;

/* @folder: where tracks are saved. Both must outlive it. */
Objects *objects_new(Camera *camera, const gchar *folder);
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

/* These return the object's id, or 0; then *why is a sentence, owned by the caller. */
guint64 objects_prompt(Objects *objects, const Prompt *prompt, gchar **why);
guint64 objects_undo(Objects *objects, guint64 id, gchar **why);
guint64 objects_remove(Objects *objects, guint64 id, gchar **why);
guint64 objects_rename(Objects *objects, guint64 id, const gchar *name, gchar **why);
void objects_clear(Objects *objects);

/* The names of all objects that ever had one, id -> text; free with g_hash_table_unref(). */
GHashTable *objects_copy_names(Objects *objects);

/* @why: NULL if it worked. */
typedef void (*ObjectsDone)(const gchar *why, gpointer user);

/* Writes all objects and their names to a file of the folder, or replaces all objects by those of
 * the file. A thread does it; `done` is called in the main thread. */
void objects_save(Objects *objects, ObjectsDone done, gpointer user);
void objects_restore(Objects *objects, ObjectsDone done, gpointer user);

/* The same with other files, for the program itself. */
void objects_keep(Objects *objects, ObjectsDone done, gpointer user);
void objects_find_again(Objects *objects, ObjectsDone done, gpointer user);
/* How long ago they were written, s; -1: there are none. */
gint64 objects_get_kept_age(Objects *objects);
void objects_forget_kept(Objects *objects);

/* How old the frames were that viewers pointed at, ms: median of the last 64 prompts; 0: none. */
gdouble objects_get_prompt_age(Objects *objects);

#endif
