/* Lines of samexport as a COCO file of videos, in the form of YouTube-VIS. */
#ifndef LIVE_COCO_H
#define LIVE_COCO_H

#include "lines.h"

#include <gio/gio.h>

/* Each line becomes an image of one video, each object with a mask an annotation. @names: id ->
 * text; an object's category is its name, or `object`. @folder: for a file that is needed
 * meanwhile. */
gboolean coco_write(Sheet *sheet, GArray *segments, GHashTable *names, const gchar *folder,
    GCancellable *cancellable, GError **error);

/* The smallest box (x, y, w, h) around a mask of that height, and its area, px. FALSE if the text
 * is not run lengths of COCO for that size. */
gboolean coco_measure(const gchar *counts, gint width, gint height, gint box[4], guint *area);

#endif
