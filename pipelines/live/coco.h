/* SPDX-License-Identifier: MIT */
/* Lines of samexport as a COCO file, in either of its forms. */
#ifndef LIVE_COCO_H
#define LIVE_COCO_H

#include "lines.h"

#include <gio/gio.h>

/* Each line becomes an image of one video, and each mask an annotation; @by_video: each object with
 * a mask one, with lists by frame, as YouTube-VIS has it. @names: id -> text; an object's category
 * is its name, else the label that a prompt gave it, else `object`. @folder: for a file that is
 * needed meanwhile. */
gboolean coco_write(Sheet *sheet, gboolean by_video, GArray *segments, GHashTable *names,
    const gchar *folder, GCancellable *cancellable, GError **error);

/* The smallest box (x, y, w, h) around a mask of that height, and its area, px. FALSE if the text
 * is not run lengths of COCO for that size. */
gboolean coco_measure(const gchar *counts, gint width, gint height, gint box[4], guint *area);

#endif
