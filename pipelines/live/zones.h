/* SPDX-License-Identifier: MIT */
/* The zones and lines that viewers draw over a camera's picture: they go to its samzones, beside
 * those of its keys, and are kept in the state folder. Main thread. */
#ifndef LIVE_ZONES_H
#define LIVE_ZONES_H

#include "camera.h"

#include <json-glib/json-glib.h>

typedef struct Zones Zones;

/* With those that were kept. Both must outlive it. */
Zones *zones_new(Camera *camera, const gchar *folder);
void zones_free(Zones *zones);

/* What a viewer draws. Points are "X:Y X:Y ...", from 0 to 1. */
typedef struct {
    gchar *was;  /* name of the zone that it replaces; NULL: it is a new one */
    gchar *name, *kind, *points; /* kind: "zone" or "line" */
} ZoneDrawing;

/* If they return FALSE nothing has changed, and *why is a sentence, owned by the caller. */
gboolean zones_draw(Zones *zones, const ZoneDrawing *drawing, gchar **why);
gboolean zones_remove(Zones *zones, const gchar *name, gchar **why);
/* To those of a text that zones_write() gave. */
gboolean zones_restore(Zones *zones, const gchar *text, gchar **why);

/* All that viewers have drawn. Owned by the caller. */
gchar *zones_write(const Zones *zones);

/* Another one when the message would be another one. */
guint zones_get_number(Zones *zones);
/* What is where, those of the keys included. Owned by the caller. */
gchar *zones_make_message(Zones *zones);
/* Who is inside, for the message of a state. */
void zones_add_counts(Zones *zones, JsonBuilder *b);

#endif
