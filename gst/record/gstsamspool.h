/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_SPOOL_H__
#define __GST_SAM_SPOOL_H__

#include <glib.h>

G_BEGIN_DECLS

/* Entries that follow each other, by their offsets in the file. */
typedef struct
{
  gint64 first, last;           /* -1: none */
} GstSamChain;

#define GST_SAM_CHAIN_INIT { -1, -1 }

/* In the file: an entry, then the text that belongs to it. */
typedef struct
{
  gint64 next;                  /* -1: the last one */
  guint64 frame;                /* index since start */
  guint64 number;               /* of its file */
  guint64 pts, running_time;
  gint32 box[4];
  guint32 area, text_bytes;
} GstSamEntry;

/**
 * GstSamSpool:
 * @text: of the entry that was read last
 *
 * Chains of entries in a file without a name, which vanishes with the process.
 */
typedef struct
{
  int fd;
  gint64 end;
  gchar *text;
  gsize text_bytes;
} GstSamSpool;

/* Returns 0 or an error number, as all that follow. */
int gst_sam_spool_open (GstSamSpool * spool, const gchar * folder);
void gst_sam_spool_close (GstSamSpool * spool);

/* Append an entry to a chain; fills in next and text_bytes. An entry that fails
 * leaves the chain as it was. @text: (nullable) */
int gst_sam_spool_append (GstSamSpool * spool, GstSamChain * chain,
    GstSamEntry * entry, const gchar * text);

/* Give up what was appended from @end on. The chains must end before it. */
int gst_sam_spool_truncate (GstSamSpool * spool, gint64 end);

/* Let the chain end before the offset @end. */
int gst_sam_spool_cut (GstSamSpool * spool, GstSamChain * chain, gint64 end);

/* The entry after the one that was read at @at; -1: none. What follows the last
 * one in the file may have been given up. */
gint64 gst_sam_chain_next (const GstSamChain * chain, gint64 at,
    const GstSamEntry * entry);

/* Read the entry at @at and its text. */
int gst_sam_spool_read (GstSamSpool * spool, gint64 at, GstSamEntry * entry);

G_END_DECLS

#endif /* __GST_SAM_SPOOL_H__ */
