/* SPDX-License-Identifier: MIT */
/* Lines of JSON in a list of files, and texts on their way into one. */
#ifndef LIVE_LINES_H
#define LIVE_LINES_H

#include <glib.h>

/* A file of whole lines. */
typedef struct {
    gint fd;
    guint64 bytes, frames, first_time; /* ns */
} Segment;

/* A file without a name in the folder; -1 and errno if it cannot be created. */
gint lines_open_file(const gchar *folder);

/* Writes all; FALSE and errno if it cannot. */
gboolean lines_write(gint fd, gconstpointer data, gsize bytes, guint64 at);

/* The time of the frame that a line's masks are of. FALSE if it has none. */
gboolean lines_get_mask_time(const gchar *line, gsize bytes, guint64 *time);
gboolean lines_has_no_object(const gchar *line, gsize bytes);
/* Appends the line, with the names of its objects as labels. @names: id -> text. */
void lines_add_labels(GString *text, const gchar *line, gsize bytes, GHashTable *names);

typedef struct Lines Lines;

/* @segments: of Segment; must outlive the result. */
Lines *lines_new(GArray *segments);
/* FALSE at the end, and after a failure, which sets *ok to FALSE and *error. The line ends with a
 * newline and is valid until the next call. */
gboolean lines_next(Lines *lines, const gchar **line, gsize *bytes, gboolean *ok, GError **error);
void lines_free(Lines *lines);

/* A file that is written from its start to its end. */
typedef struct {
    gint fd;
    guint64 bytes, most; /* that it has, and may have */
    GString *text;       /* not written yet */
} Sheet;

#define SHEET_BYTES 65536 /* that are worth a write */

/* Writes the text if it has more than that many bytes. */
gboolean sheet_flush(Sheet *sheet, gsize more_than, GError **error);
/* Appends a text in quotes, as JSON has it. */
void sheet_quote(GString *text, const gchar *value);

#endif
