/* SPDX-License-Identifier: MIT */
/* An answer that takes its time, whose client may leave meanwhile. Main thread. */
#ifndef LIVE_LATER_H
#define LIVE_LATER_H

#include <libsoup/soup.h>

typedef struct {
    SoupServerMessage *message;
    gboolean gone; /* the client: nothing must be set any more */
} Later;

/* Holds the answer back. */
Later *later_new(SoupServerMessage *message);
/* Sends what was set, unless the client is gone. Frees @later. */
void later_end(Later *later);

#endif
