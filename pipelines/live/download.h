/* SPDX-License-Identifier: MIT */
/* Annotations as answers to requests. Main thread. */
#ifndef LIVE_DOWNLOAD_H
#define LIVE_DOWNLOAD_H

#include "hub.h"

typedef struct Downloads Downloads;

Downloads *downloads_new(void);
/* Waits for what runs. The server must take no more requests. */
void downloads_free(Downloads *downloads);

/* Whether one of that room is under way. */
gboolean downloads_are_of(Downloads *downloads, const Room *room);

/* Answers a request for a room's annotations with a file; with status 503 and a sentence if none is
 * kept or too many files are on their way, with 507 if there is no room for the file. */
void downloads_serve(Downloads *downloads, Room *room, AnnotationsForm form,
    SoupServerMessage *message);

#endif
