/* SPDX-License-Identifier: MIT */
/* Files of a camera's events: CAMERA.NUMBER.events in the state folder, a line of JSON for each
 * with its picture as base64. There are two at most; when the newer one is half of what is kept,
 * the older one goes. */
#ifndef LIVE_SHELF_H
#define LIVE_SHELF_H

#include <glib.h>

#define SHELF_MOST_EVENTS 1000

/* Of an object: it appeared, was lost inside the picture, left over its edge, was found again.
 * Of an object and a zone or line: it entered, left, stayed, crossed. */
typedef enum {
    EVENT_APPEARED,
    EVENT_LOST,
    EVENT_LEFT,
    EVENT_FOUND,
    EVENT_ENTERED,
    EVENT_DWELL,
    EVENT_CROSSED,
    EVENT_KINDS,
} EventKind;

extern const gchar *const event_kinds[EVENT_KINDS]; /* their names */

typedef struct {
    guint64 number; /* from 1 on, of all that the camera ever had */
    gint64 time_us; /* since 1970 */
    EventKind kind;
    guint64 object;
    gchar *name;      /* of the object, as it was then; "": none */
    gchar *zone;      /* NULL: it is not about one */
    gchar *direction; /* in which a line was crossed; NULL: it was not */
    gdouble box[4];   /* where the object was seen last, fractions of the picture; all 0: nowhere */
    guint file;       /* number of the file */
    guint64 at;       /* of the picture in it */
    guint64 bytes;    /* of the picture in it; 0: there is none */
} Event;

void event_free(gpointer event);

typedef struct Shelf Shelf;

/* Finds the events of before. @events: gets them, the oldest first. @most: bytes to keep. */
Shelf *shelf_new(const gchar *folder, const gchar *camera, guint64 most, GPtrArray *events);
void shelf_free(Shelf *shelf);

/* Writes the event with its picture, which may be NULL, and notes where. FALSE and *error: it is
 * not in a file. One thread at a time. */
gboolean shelf_add(Shelf *shelf, Event *event, GBytes *jpeg, GError **error);

/* Whether the file of an event is gone, now that another one was added. */
gboolean shelf_has_forgotten(const Event *event, const Event *newest);

/* The picture; NULL: it cannot be read. Owned by the caller. Any thread. */
GBytes *shelf_read(const Shelf *shelf, const Event *event);

guint64 shelf_get_bytes(Shelf *shelf); /* of all files. Any thread. */

#endif
