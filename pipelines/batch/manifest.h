/* SPDX-License-Identifier: MIT */
/* What is to be tracked: a line of JSON per item, of the user's manifest or of a shard. */
#ifndef BATCH_MANIFEST_H
#define BATCH_MANIFEST_H

#include <gst/gst.h>

/* Bytes of a line, at most. */
#define MANIFEST_LINE (1 << 20)

typedef struct {
    GstClockTime at; /* from the first frame at that time of the item on */
    gchar *text;
} Prompt;

typedef struct {
    gchar *id;
    gchar **uris;      /* parts of one recording, one after the other */
    GArray *prompts;   /* of Prompt, in order of time */
    gboolean detect;   /* the job's detector starts objects, too */
    gchar *words;      /* (nullable): that it is to find, from the first frame on */
    GstClockTime start, stop; /* of the item; stop NONE: its end */
    gint64 frames;     /* that it must have; -1: not said */
    gdouble seconds;   /* how long it is said to be; 0: not said */
    gchar *sha256;     /* (nullable): of its only file */
} Item;

/* NULL with an error, of which the text goes on after "line N: ". @folder: of relative paths; NULL:
 * a line of item_write(). */
Item *item_read(const gchar *line, gsize bytes, const gchar *folder, GError **error);

/* Pieces of a cut recording are items of their own, whose ids have a character that others do not
 * have: "WHOLE@00003". */
gboolean item_is_piece(const gchar *id);
/* The id of the recording. Caller frees it. */
gchar *item_get_whole(const gchar *id);

/* The pieces of a recording of that many seconds: each but the last one ends @overlap after the
 * next one begins, and has the prompts from its begin to that of the next one. NULL: it is not
 * longer than one; with an error, a piece would have no prompt. */
GPtrArray *item_cut(const Item *item, gdouble seconds, gdouble cut, gdouble overlap,
    GError **error);

/* As a line, with a newline. */
gchar *item_write(const Item *item);
void item_free(Item *item);

/* The path of a file; NULL: it is elsewhere. Caller frees it. */
gchar *item_get_path(const gchar *uri);

#endif
