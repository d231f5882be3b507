/* SPDX-License-Identifier: MIT */
/* What objects.c and jobs.c share. */
#ifndef LIVE_OBJECTS_PRIVATE_H
#define LIVE_OBJECTS_PRIVATE_H

#include "objects.h"

#define AGES 64

/* What becomes of an object over a drop-out of the source. */
typedef struct {
    gboolean away;
    GstClockTime found; /* running time; NONE: not yet */
} Absence;

struct Objects {
    Camera *camera;
    const gchar *folder;
    Annotations *annotations;
    GHashTable *names;    /* id -> text */
    GHashTable *past;     /* the same, with objects that are gone */
    GHashTable *absences; /* id -> Absence */
    Answers *answers;
    Looks *looks;
    Undo *undo;
    Zones *zones;
    Words *words;
    guint last_undo;      /* number of the file that was written last to undo */
    gdouble ages[AGES];   /* ms */
    guint num_ages;
    guint busy; /* jobs that run */
};

gpointer objects_copy_id(guint64 id);
void objects_set_name(Objects *objects, guint64 id, const gchar *name);
gboolean objects_exists(Objects *objects, guint64 id);
/* "removed ball": what was done to an object. Owned by the caller. */
gchar *objects_describe(Objects *objects, const gchar *what, guint64 id);

#endif
