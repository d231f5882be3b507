/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_LOCK_H__
#define __GST_SAM_LOCK_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * GstSamLock:
 *
 * What keeps a second writer, of this process or another, from a file or folder
 * that a first one writes. Where the file system has no locks, none is taken.
 */
typedef struct
{
  int fd;                       /* -1: none */
  gchar *name;                  /* (nullable): a file for the lock alone */
} GstSamLock;

void gst_sam_lock_init (GstSamLock * lock);
void gst_sam_lock_release (GstSamLock * lock);

/* Lock an open file until it is closed. FALSE: another writer has it. */
gboolean gst_sam_lock_file (int fd);

/* Lock a folder until release. Returns FALSE and sets @error
 * (GST_RESOURCE_ERROR) if another writer has it; so does the next. */
gboolean gst_sam_lock_take_folder (GstSamLock * lock, const gchar * location,
    GError ** error);

/* Lock the name of a file that is still to come, by a file beside it, until
 * release. */
gboolean gst_sam_lock_take_beside (GstSamLock * lock, const gchar * location,
    GError ** error);

G_END_DECLS

#endif /* __GST_SAM_LOCK_H__ */
