/* SPDX-License-Identifier: MIT */
/* What a container says of its own size. */
#ifndef RUN_CONTAINER_H
#define RUN_CONTAINER_H

#include <glib.h>

/* The bytes that a file misses at its end by the sizes in its own headers: of MP4, MOV, AVI, MPEG,
 * Ogg, and Matroska if its segment has a size. Of MPEG and Ogg they are those of the last packet or
 * page: a file that was cut between two of them cannot be told from a whole one. 0: none are known
 * to be missing. */
guint64 container_get_missing(const gchar *path);

#endif
