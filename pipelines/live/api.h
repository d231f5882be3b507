/* SPDX-License-Identifier: MIT */
/* What is below /api/: the cameras, how they are changed, their pictures and events.
 * page/openapi.json describes it. Main thread. */
#ifndef LIVE_API_H
#define LIVE_API_H

#include "hub.h"

typedef enum {
    API_DONE,
    API_REFUSED,   /* the settings are wrong, or the camera cannot start */
    API_BUSY,      /* another change is under way */
    API_UNWRITTEN, /* the changes cannot be kept */
} ApiResult;

/* Makes one camera as the settings have it with these changes. *error unless it is done. */
typedef ApiResult (*ApiChange)(const gchar *camera, GKeyFile *changes, gpointer user,
    GError **error);

typedef struct Api Api;

/* @rooms: of Room. Both must outlive it. */
Api *api_new(const Settings *settings, GPtrArray *rooms);
void api_set_change(Api *api, ApiChange change, gpointer user);
/* Waits for answers that are being made: runs the main loop. */
void api_free(Api *api);

/* The methods of a path, as "GET, HEAD"; NULL: it is none of these. */
const gchar *api_get_methods(const gchar *path);
/* A sentence if the head of a request for it is refused, and *status; NULL: it is not. */
const gchar *api_refuse_head(Api *api, const gchar *method, SoupMessageHeaders *headers,
    guint *status);

/* Answers; FALSE: it is none of its paths. */
gboolean api_serve(Api *api, SoupServerMessage *message, const gchar *path, GHashTable *query);

#endif
