/* SPDX-License-Identifier: MIT */
#include "gstsamwriter.h"

#include <signal.h>

/* How long data may stand still until a frame no longer waits for room, a stop
 * no longer for what is left, and an end of the stream no longer either. */
#define FRAME_PATIENCE (1 * G_TIME_SPAN_SECOND)
#define STOP_PATIENCE (1 * G_TIME_SPAN_SECOND)
#define END_PATIENCE (5 * G_TIME_SPAN_SECOND)

/* How often the waiting threads look whether data moves. */
#define LOOK (20 * G_TIME_SPAN_MILLISECOND)

void
gst_sam_writer_init (GstSamWriter * writer, GstSamTally * tally)
{
  writer->tally = tally;
  gst_sam_mutex_init (&writer->lock, GST_SAM_RANK_WRITER);
  g_cond_init (&writer->work);
  g_cond_init (&writer->done);
}

void
gst_sam_writer_clear (GstSamWriter * writer)
{
  g_cond_clear (&writer->done);
  g_cond_clear (&writer->work);
  gst_sam_mutex_clear (&writer->lock);
}

/* Called with the lock held, which is released while the frame is written. */
static void
write_first (GstSamWriter * writer)
{
  GstSamRecord *record = &writer->records[writer->first];
  GError *error = NULL;

  gst_sam_mutex_unlock (&writer->lock);
  if (!writer->format->write (writer->format, record, &error))
    gst_sam_tally_add_lost (writer->tally, 1, error);
  g_clear_error (&error);
  gst_sam_record_clear (record);
  gst_sam_mutex_lock (&writer->lock);
  writer->first = (writer->first + 1) % writer->size;
  writer->num--;
  if (!writer->num)
    writer->full = FALSE;
  g_cond_broadcast (&writer->done);
}

static gboolean
is_settled (GstSamWriter * writer)
{
  GstSamOutput *output = writer->format->output;

  return !output || !output->is_settled || output->is_settled (output);
}

/* A name that is missing is a fault of its own: the frames are there. */
static void
commit (GstSamWriter * writer)
{
  GstSamOutput *output = writer->format->output;
  GError *error = NULL;

  if (!output || !output->commit || output->commit (output, &error))
    return;
  gst_sam_tally_add_lost (writer->tally, 0, error);
  g_error_free (error);
}

/* Called with the lock held, which is released meanwhile. */
static void
finish (GstSamWriter * writer)
{
  const guint asked = writer->asked;
  const gboolean call = writer->called != asked && writer->format->finish;
  const gboolean eos = writer->eos;

  writer->eos = FALSE;
  gst_sam_mutex_unlock (&writer->lock);
  if (call)
    writer->format->finish (writer->format);
  if (eos && !gst_sam_tally_has_failed (writer->tally))
    commit (writer);
  gst_sam_mutex_lock (&writer->lock);
  writer->called = asked;
  if (is_settled (writer)) {
    writer->finished = asked;
    g_cond_broadcast (&writer->done);
  }
}

/* Called with the lock held, which is released meanwhile. Returns when to call
 * it again. */
static gint64
tend (GstSamWriter * writer)
{
  GstSamOutput *output = writer->format->output;
  gint64 next = G_MAXINT64;

  if (!output || !output->tend)
    return next;
  writer->woken = FALSE;
  gst_sam_mutex_unlock (&writer->lock);
  next = output->tend (output);
  gst_sam_mutex_lock (&writer->lock);
  return next;
}

/* Called with the lock held, which is released meanwhile. */
static void
reopen (GstSamWriter * writer)
{
  GstSamOutput *output = writer->format->output;

  writer->reopen = FALSE;
  gst_sam_mutex_unlock (&writer->lock);
  if (output && output->reopen)
    output->reopen (output);
  gst_sam_mutex_lock (&writer->lock);
}

static gpointer
work (gpointer data)
{
  GstSamWriter *writer = data;
  sigset_t pipe;

  /* A pipe whose reader has gone is an error of write(). */
  sigemptyset (&pipe);
  sigaddset (&pipe, SIGPIPE);
  pthread_sigmask (SIG_BLOCK, &pipe, NULL);

  gst_sam_mutex_lock (&writer->lock);
  for (;;) {
    const gint64 next = tend (writer);

    if (writer->reopen)
      reopen (writer);
    else if (writer->num)
      write_first (writer);
    else if (writer->called != writer->asked)
      finish (writer);
    else if (writer->finished != writer->asked && is_settled (writer))
      finish (writer);
    else if (writer->quit && (writer->cancelled || is_settled (writer)))
      break;
    else if (!writer->woken && next == G_MAXINT64)
      gst_sam_mutex_wait (&writer->lock, &writer->work);
    else if (!writer->woken)
      gst_sam_mutex_wait_until (&writer->lock, &writer->work, next);
  }
  writer->ended = TRUE;
  g_cond_broadcast (&writer->done);
  gst_sam_mutex_unlock (&writer->lock);
  return NULL;
}

gboolean
gst_sam_writer_start (GstSamWriter * writer, GstSamFormat * format,
    const gchar * target, guint size, GError ** error)
{
  GError *why = NULL;

  writer->format = format;
  writer->size = size;
  writer->first = writer->num = 0;
  writer->flushing = writer->woken = writer->full = FALSE;
  writer->reopen = writer->eos = FALSE;
  writer->quit = writer->cancelled = writer->ended = writer->hopeless = FALSE;
  writer->asked = writer->called = writer->finished = 0;
  writer->records = g_try_new0 (GstSamRecord, size);
  if (writer->records)
    writer->thread = g_thread_try_new ("samrecord", work, writer, &why);
  if (writer->thread) {
    writer->target = g_strdup (target);
    return TRUE;
  }
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED,
      "Cannot start to write: %s.", why ? why->message : "out of memory");
  g_clear_error (&why);
  g_clear_pointer (&writer->records, g_free);
  format->free (format);
  writer->format = NULL;
  return FALSE;
}

/* Called with the lock held: wait a moment, while data moves. @from: as of
 * gst_sam_tally_get_idle(). */
static gboolean
wait_while_moving (GstSamWriter * writer, gint64 from, gint64 patience)
{
  if (gst_sam_tally_get_idle (writer->tally, from) > patience)
    return FALSE;
  gst_sam_mutex_wait_until (&writer->lock, &writer->done,
      g_get_monotonic_time () + LOOK);
  return TRUE;
}

void
gst_sam_writer_stop (GstSamWriter * writer)
{
  const gint64 start = g_get_monotonic_time ();
  GstSamOutput *output;

  if (!writer->thread)
    return;
  output = writer->format->output;
  gst_sam_mutex_lock (&writer->lock);
  writer->asked++;
  writer->quit = TRUE;
  g_cond_signal (&writer->work);
  /* An end that was given up, and no data since: there is nothing to hope. */
  while (!writer->ended &&
      wait_while_moving (writer, writer->hopeless ? 0 : start, STOP_PATIENCE));
  if (!writer->ended) {
    writer->cancelled = TRUE;
    if (output)
      output->cancel (output);
    g_cond_signal (&writer->work);
  }
  gst_sam_mutex_unlock (&writer->lock);
  g_thread_join (writer->thread);
  writer->thread = NULL;
  writer->format->free (writer->format);
  writer->format = NULL;
  gst_sam_tally_end (writer->tally);
  g_clear_pointer (&writer->records, g_free);
  g_clear_pointer (&writer->target, g_free);
}

static void
lose (GstSamWriter * writer)
{
  GError *error = g_error_new (GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
      "Frames come faster than they can be written to '%s': the queue of %u "
      "frames is full.", writer->target, writer->size);

  gst_sam_tally_add_lost (writer->tally, 1, error);
  g_error_free (error);
}

GstSamRecord *
gst_sam_writer_begin (GstSamWriter * writer, gboolean wait)
{
  const gint64 start = g_get_monotonic_time ();
  GstSamRecord *record = NULL;

  gst_sam_mutex_lock (&writer->lock);
  while (writer->num == writer->size && wait && !writer->flushing &&
      wait_while_moving (writer, writer->full ? 0 : start, FRAME_PATIENCE));
  if (writer->num < writer->size)
    record = &writer->records[(writer->first + writer->num) % writer->size];
  else
    writer->full = TRUE;
  gst_sam_mutex_unlock (&writer->lock);
  if (!record)
    lose (writer);
  return record;
}

void
gst_sam_writer_commit (GstSamWriter * writer)
{
  gst_sam_mutex_lock (&writer->lock);
  writer->num++;
  g_cond_signal (&writer->work);
  gst_sam_mutex_unlock (&writer->lock);
}

void
gst_sam_writer_drain (GstSamWriter * writer)
{
  const gint64 start = g_get_monotonic_time ();
  guint asked;

  gst_sam_mutex_lock (&writer->lock);
  asked = ++writer->asked;
  writer->eos = TRUE;
  writer->hopeless = FALSE;
  g_cond_signal (&writer->work);
  while (writer->finished < asked && !writer->flushing && !writer->hopeless)
    writer->hopeless = !wait_while_moving (writer, start, END_PATIENCE);
  gst_sam_mutex_unlock (&writer->lock);
}

void
gst_sam_writer_set_flushing (GstSamWriter * writer, gboolean flushing)
{
  gst_sam_mutex_lock (&writer->lock);
  writer->flushing = flushing;
  g_cond_broadcast (&writer->done);
  gst_sam_mutex_unlock (&writer->lock);
}

void
gst_sam_writer_reopen (GstSamWriter * writer)
{
  gst_sam_mutex_lock (&writer->lock);
  writer->reopen = TRUE;
  g_cond_signal (&writer->work);
  gst_sam_mutex_unlock (&writer->lock);
}

void
gst_sam_writer_wake (gpointer data)
{
  GstSamWriter *writer = data;

  gst_sam_mutex_lock (&writer->lock);
  writer->woken = TRUE;
  g_cond_signal (&writer->work);
  gst_sam_mutex_unlock (&writer->lock);
}

guint
gst_sam_writer_get_queued (GstSamWriter * writer)
{
  guint queued;

  gst_sam_mutex_lock (&writer->lock);
  queued = writer->num;
  gst_sam_mutex_unlock (&writer->lock);
  return queued;
}
