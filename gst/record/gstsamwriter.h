/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_WRITER_H__
#define __GST_SAM_WRITER_H__

#include "common/gstsammutex.h"
#include "gstsamformat.h"

G_BEGIN_DECLS

/**
 * GstSamWriter:
 *
 * A thread that writes frames, and a bounded queue in front of it.
 */
typedef struct
{
  GstSamTally *tally;           /* not owned */
  GstSamFormat *format;
  gchar *target;                /* what messages call it */
  GThread *thread;
  GstSamMutex lock;
  GCond work;                   /* for the thread */
  GCond done;                   /* for those who wait for it */

  /* guarded by @lock */
  GstSamRecord *records;        /* a ring */
  guint size, first, num;
  gboolean flushing;            /* the streaming thread does not wait */
  gboolean woken;
  gboolean reopen;              /* the file, before the next frame */
  gboolean eos;                 /* the stream has ended since the last commit */
  gboolean quit, cancelled, ended;
  gboolean full;                /* frames were lost since the ring was empty */
  gboolean hopeless;            /* a wait for the end was given up */
  guint asked, called, finished;        /* number of requests to finish, of
                                         * those begun, and of those done */
} GstSamWriter;

void gst_sam_writer_init (GstSamWriter * writer, GstSamTally * tally);
void gst_sam_writer_clear (GstSamWriter * writer);

/* Takes @format. @target: what messages call its target. @size: number of
 * frames that the queue holds. Returns FALSE and sets @error
 * (GST_RESOURCE_ERROR) if there is no memory or thread; @format is freed. */
gboolean gst_sam_writer_start (GstSamWriter * writer, GstSamFormat * format,
    const gchar * target, guint size, GError ** error);

/* Write all that is in the queue, finish, and end the thread. Gives up a second
 * after the last data moved; what is left is counted as lost. */
void gst_sam_writer_stop (GstSamWriter * writer);

/* Streaming thread: a record to fill in, to be followed by
 * gst_sam_writer_commit(). NULL if the queue is full; the frame is then counted
 * as lost. @wait: wait for room while data moves. */
GstSamRecord *gst_sam_writer_begin (GstSamWriter * writer, gboolean wait);
void gst_sam_writer_commit (GstSamWriter * writer);

/* Streaming thread, at the end of the stream: wait until all is written and
 * finished, or data has not moved for five seconds. */
void gst_sam_writer_drain (GstSamWriter * writer);

/* Any thread. While flushing, the streaming thread does not wait. */
void gst_sam_writer_set_flushing (GstSamWriter * writer, gboolean flushing);

/* Any thread: open the file of that name again. */
void gst_sam_writer_reopen (GstSamWriter * writer);

/* Any thread: the output has something to do. */
void gst_sam_writer_wake (gpointer writer);

guint gst_sam_writer_get_queued (GstSamWriter * writer);

G_END_DECLS

#endif /* __GST_SAM_WRITER_H__ */
