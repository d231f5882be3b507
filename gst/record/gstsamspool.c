/* SPDX-License-Identifier: MIT */
#include "gstsamspool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int
write_all (int fd, gconstpointer data, gsize bytes, gint64 at)
{
  const guint8 *from = data;

  while (bytes) {
    const gssize n = pwrite (fd, from, bytes, at);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errno;
    from += n;
    bytes -= n;
    at += n;
  }
  return 0;
}

static int
read_all (int fd, gpointer data, gsize bytes, gint64 at)
{
  guint8 *to = data;

  while (bytes) {
    const gssize n = pread (fd, to, bytes, at);

    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n ? errno : EIO;
    to += n;
    bytes -= n;
    at += n;
  }
  return 0;
}

int
gst_sam_spool_open (GstSamSpool * spool, const gchar * folder)
{
  gchar *name = g_build_filename (folder, ".samexport-XXXXXX", NULL);
  int number = 0;

  memset (spool, 0, sizeof *spool);
  spool->fd = g_mkstemp_full (name, O_RDWR | O_CLOEXEC, 0600);
  if (spool->fd < 0)
    number = errno;
  else
    unlink (name);
  g_free (name);
  return number;
}

void
gst_sam_spool_close (GstSamSpool * spool)
{
  if (spool->fd >= 0)
    close (spool->fd);
  spool->fd = -1;
  g_clear_pointer (&spool->text, g_free);
}

int
gst_sam_spool_append (GstSamSpool * spool, GstSamChain * chain,
    GstSamEntry * entry, const gchar * text)
{
  const gint64 at = spool->end;
  int number;

  entry->next = -1;
  entry->text_bytes = text ? strlen (text) : 0;
  number = write_all (spool->fd, entry, sizeof *entry, at);
  if (!number)
    number = write_all (spool->fd, text, entry->text_bytes, at +
        sizeof *entry);
  if (!number && chain->last >= 0)
    number = write_all (spool->fd, &at, sizeof at, chain->last +
        G_STRUCT_OFFSET (GstSamEntry, next));
  if (number)
    return number;
  if (chain->first < 0)
    chain->first = at;
  chain->last = at;
  spool->end = at + sizeof *entry + entry->text_bytes;
  return 0;
}

int
gst_sam_spool_truncate (GstSamSpool * spool, gint64 end)
{
  spool->end = end;
  return ftruncate (spool->fd, end) ? errno : 0;
}

int
gst_sam_spool_cut (GstSamSpool * spool, GstSamChain * chain, gint64 end)
{
  gint64 at, last = -1;
  GstSamEntry entry;

  for (at = chain->first; at >= 0 && at < end;
      at = gst_sam_chain_next (chain, at, &entry)) {
    const int number = gst_sam_spool_read (spool, at, &entry);

    if (number)
      return number;
    last = at;
  }
  if (last < 0)
    chain->first = -1;
  chain->last = last;
  return 0;
}

gint64
gst_sam_chain_next (const GstSamChain * chain, gint64 at,
    const GstSamEntry * entry)
{
  return at == chain->last ? -1 : entry->next;
}

int
gst_sam_spool_read (GstSamSpool * spool, gint64 at, GstSamEntry * entry)
{
  int number = read_all (spool->fd, entry, sizeof *entry, at);

  if (number)
    return number;
  if (entry->text_bytes + (gsize) 1 > spool->text_bytes) {
    spool->text_bytes = entry->text_bytes + (gsize) 1;
    spool->text = g_realloc (spool->text, spool->text_bytes);
  }
  number = read_all (spool->fd, spool->text, entry->text_bytes, at +
      sizeof *entry);
  spool->text[entry->text_bytes] = 0;
  return number;
}
