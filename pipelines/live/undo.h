/* SPDX-License-Identifier: MIT */
/* What viewers did last, to be undone from the newest on. Main thread. */
#ifndef LIVE_UNDO_H
#define LIVE_UNDO_H

#include <glib.h>

#define MAX_UNDO 20

typedef enum {
    UNDO_PROMPT, /* the tracker undoes it */
    UNDO_TAKE,   /* another answer is taken */
    UNDO_RENAME,
    UNDO_TRACKS, /* all objects are those of a file */
    UNDO_ZONES,  /* all zones are those of a text */
    UNDO_WORDS,  /* other words are to be found */
} UndoKind;

typedef struct {
    UndoKind kind;
    guint64 number;    /* counts steps, from 1 on */
    guint64 id;        /* of the object */
    gchar *text;       /* what was done: "removed ball" */
    gchar *name;       /* before it was renamed; or the words before */
    gchar *zones;      /* before they were changed, as zones_write() gives them */
    guint answer;      /* before another one was taken */
    gchar *tracks;     /* file, which goes with the step */
    GHashTable *names; /* of all objects, id -> text; with the tracks */
} UndoStep;

typedef struct Undo Undo;

Undo *undo_new(void);
void undo_free(Undo *undo);

/* A step that is filled in and then pushed, or freed. Takes @text. */
UndoStep *undo_step_new(UndoKind kind, guint64 id, gchar *text);
void undo_step_free(UndoStep *step);

/* Takes the step. One too many is forgotten: the oldest. */
void undo_push(Undo *undo, UndoStep *step);
/* The newest one; NULL: there is none. */
const UndoStep *undo_peek(const Undo *undo);
/* The same, to be freed by the caller. */
UndoStep *undo_pop(Undo *undo);
/* The newest prompt of an object was undone by itself. */
void undo_forget_prompt(Undo *undo, guint64 id);

#endif
