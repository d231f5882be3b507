/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_CLASSES_H__
#define __GST_SAM_CLASSES_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* The names of a detector's classes, in their order, as a NULL-terminated array
 * that the caller frees with g_strfreev(). @file: text with one name a line;
 * NULL: those of COCO if there are 80, else numbers from 0. Returns NULL and
 * sets @error (GST_RESOURCE_ERROR) if the file cannot be read or has another
 * number of names. */
gchar **gst_sam_classes_new (const gchar * file, guint num, GError ** error);

/* Set *id to the number of the class @name. FALSE: there is none, and *why is a
 * sentence with the names that there are; free it with g_free(). */
gboolean gst_sam_classes_find (gchar ** classes, const gchar * name, guint * id,
    gchar ** why);

/* A name as a label can have it: one line of UTF-8, of less than 64 bytes. It
 * is never freed. */
const gchar *gst_sam_classes_intern (const gchar * name);

G_END_DECLS

#endif /* __GST_SAM_CLASSES_H__ */
