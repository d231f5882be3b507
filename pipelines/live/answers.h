/* SPDX-License-Identifier: MIT */
/* What single clicks may have meant: a part, a thing, a group. Main thread. */
#ifndef LIVE_ANSWERS_H
#define LIVE_ANSWERS_H

#include "camera.h"

#define MAX_ANSWERS 3

typedef struct {
    guint taken, n;             /* from 1 on, by area; n 0: none are known */
    gdouble iou[MAX_ANSWERS];   /* predicted */
    guint area[MAX_ANSWERS];    /* px */
} Answer;

typedef struct Answers Answers;

Answers *answers_new(Camera *camera);
void answers_free(Answers *answers);

/* The object got this single click, coordinates from 0 to 1; anything else; is gone; all are. */
void answers_note_click(Answers *answers, guint64 id, gdouble x, gdouble y);
void answers_forget(Answers *answers, guint64 id);
void answers_forget_all(Answers *answers);

/* NULL: there are none to choose from. Valid until anything else is called. */
const Answer *answers_get(Answers *answers, guint64 id);

/* Takes another one. While the tracker holds the frame of the click, that one is decoded again;
 * afterwards the click is repeated on the newest frame, as far from where it was as the object has
 * moved. Returns the id, or 0; then *why is a sentence. */
guint64 answers_take(Answers *answers, guint64 id, guint number, gchar **why);

/* A message of the tracker's: answers, and refusals. */
void answers_hear(Answers *answers, const GstStructure *message);

#endif
