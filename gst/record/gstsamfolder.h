/* SPDX-License-Identifier: MIT */
/* Folders that formats write files to. */
#ifndef __GST_SAM_FOLDER_H__
#define __GST_SAM_FOLDER_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* Create the folder if its parent exists. Returns FALSE and sets @error
 * (GST_RESOURCE_ERROR) if it cannot be written to. */
gboolean gst_sam_folder_open (const gchar * location, GError ** error);

/* Returns FALSE and sets @error if the folder has files whose names end so:
 * those of another run would stay where this one has fewer frames, and nothing
 * would tell them apart. @what: what they are, in the plural. */
gboolean gst_sam_folder_check_unused (const gchar * location,
    const gchar * ending, const gchar * what, GError ** error);

/* Write a file of the folder, whole or not at all. */
gboolean gst_sam_folder_write (const gchar * folder, const gchar * name,
    gconstpointer data, gsize bytes, GError ** error);

G_END_DECLS

#endif /* __GST_SAM_FOLDER_H__ */
