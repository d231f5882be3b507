/* SPDX-License-Identifier: MIT */
/* The open pages: what they ask for is done, what changes is told to all of them. Main thread. */
#ifndef LIVE_HUB_H
#define LIVE_HUB_H

#include "annotations.h"
#include "capacity.h"
#include "events.h"
#include "guard.h"
#include "keeper.h"
#include "objects.h"

#include <libsoup/soup.h>

/* A camera and what viewers share of it. */
typedef struct {
    Camera *camera;
    Objects *objects;
    Annotations *annotations; /* NULL: none are kept */
    Clips *clips;             /* around events; NULL: none are made */
    Album *album;             /* their pictures; NULL: none are kept */
    Keeper *keeper;           /* NULL: no tracks are kept */
    Small *small;
    Events *events;
    GBytes *still;            /* the last picture that was asked for, as JPEG; NULL: none was */
    gint64 still_us;          /* when it was made */
    CameraSettings *settings;
    Capacity capacity; /* as the metrics tell it */
    guint unwatched; /* of one that is gone: s for which nobody has watched it */
} Room;

typedef struct Hub Hub;

/* @rooms: of Room. Both must outlive the hub. */
Hub *hub_new(const Settings *settings, GPtrArray *rooms);
/* The rooms have changed: all pages are told, and none watches one that is gone. */
void hub_update(Hub *hub);
/* Nothing more is asked by or sent to the pages. None may come in after this. */
void hub_close(Hub *hub);
/* No saving or restoring that a page asked for may be under way. */
void hub_free(Hub *hub);

/* Takes a page in, or closes the connection if there are too many. Takes references. @guard: what
 * the connection reads through. @first: the room that the page is told of first; NULL: any. */
void hub_add(Hub *hub, SoupWebsocketConnection *connection, Guard *guard, Room *first);

typedef struct {
    guint pages, webrtc;                            /* now */
    guint64 refused_pages, flooded, requests, bytes; /* so far; bytes of WebRTC video */
} HubCounts;

void hub_get_counts(Hub *hub, HubCounts *counts);

#endif
