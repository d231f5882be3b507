/* SPDX-License-Identifier: MIT */
/* The cameras that there are, and how they change while the program runs. Main thread. */
#ifndef LIVE_ROOMS_H
#define LIVE_ROOMS_H

#include "http.h"
#include "hub.h"
#include "rtsp.h"

/* Takes @camera if it succeeds; NULL and *error else. */
Room *room_new(const Settings *settings, CameraSettings *camera, const gchar *encoder,
    GError **error);
/* Its objects must not be busy, and nobody may watch it. */
void room_free(Room *room);

/* What a change of cameras needs. */
typedef struct {
    Settings *settings;
    GPtrArray *rooms;   /* Room */
    GPtrArray *leaving; /* Room: gone, but somebody still watches them */
    Rtsp *rtsp;
    Http *http;
    const gchar *encoder;
    gchar **words; /* the command line */
    guint sweep;
    gboolean busy, again;
} Rooms;

/* A room that is in the list begins to keep what happens, and has viewers. */
void rooms_enter(Rooms *rooms, Room *room);

/* Reads the settings again. Cameras that are new or gone, or of which a key has changed, are
 * started and ended; all others go on. If anything is wrong, all stay as they are, and the log says
 * what it is. */
void rooms_reload(Rooms *rooms);

/* An ApiChange whose user is the Rooms. Nothing is changed unless it is done. It may run the main
 * loop. */
ApiResult rooms_change(const gchar *name, GKeyFile *changes, gpointer rooms, GError **error);

/* Saves what is to be found again, and waits for it. */
void rooms_end(Rooms *rooms);

#endif
