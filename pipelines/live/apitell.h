/* SPDX-License-Identifier: MIT */
/* Cameras and events as JSON. */
#ifndef LIVE_APITELL_H
#define LIVE_APITELL_H

#include "hub.h"

#include <json-glib/json-glib.h>

JsonBuilder *api_tell_cameras(const GPtrArray *rooms, const Settings *settings);
/* With its keys. @changes: of the API. */
JsonBuilder *api_tell_camera(Room *room, GKeyFile *changes);
/* Those with a higher number than @since, the newest first, at most so many. */
JsonBuilder *api_tell_events(Room *room, guint64 since, guint limit);

/* The text, and frees the builder; owned by the caller. */
GString *api_tell_end(JsonBuilder *b);

/* A message of an error as a sentence on a line, without secrets; owned by the caller. */
gchar *api_tell_sentence(const gchar *message);

#endif
