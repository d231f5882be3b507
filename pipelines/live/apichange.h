/* SPDX-License-Identifier: MIT */
/* A change of a camera as a request asks for it. */
#ifndef LIVE_APICHANGE_H
#define LIVE_APICHANGE_H

#include "hub.h"

typedef enum { API_ADD, API_ALTER, API_REMOVE } ApiJobKind;

typedef struct {
    ApiJobKind kind;
    gchar *camera;
    GHashTable *keys; /* text -> text; NULL for a text: the change of this key is taken back */
} ApiJob;

/* @camera: that the path names; NULL: the body does. @body: NULL: there is none. NULL and *why, a
 * sentence owned by the caller, if the body is none of a request. */
ApiJob *api_job_new(ApiJobKind kind, const gchar *camera, GBytes *body, gchar **why);
void api_job_free(ApiJob *job);

/* A sentence and *status if the cameras that there are forbid it. @room: of the camera; NULL: there
 * is none. @rooms: how many there are. */
const gchar *api_job_check(const ApiJob *job, const Room *room, guint rooms, guint *status);

/* The changes with this one; owned by the caller. */
GKeyFile *api_job_apply(const ApiJob *job, const Room *room, GKeyFile *changes);

/* @error: why nothing was changed; NULL: it was. */
void api_job_log(const ApiJob *job, SoupServerMessage *message, const GError *error);

#endif
