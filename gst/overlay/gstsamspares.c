/* SPDX-License-Identifier: MIT */
#include "gstsamspares.h"

/* Things grow and shrink by a little from one frame to the next. */
#define ROOM (1 << 16)
#define MAX_IDLE 30             /* frames */

typedef struct
{
  GstMemory *memory;
  guint idle;                   /* frames that it was free in */
} Spare;

static void
clear_spare (Spare * spare)
{
  gst_memory_unref (spare->memory);
}

static gboolean
is_free (const Spare * spare)
{
  return GST_MINI_OBJECT_REFCOUNT_VALUE (spare->memory) == 1;
}

/* Neither too small nor a waste. */
static gboolean
fits (const Spare * spare, gsize bytes)
{
  gsize most;

  gst_memory_get_sizes (spare->memory, NULL, &most);
  return most >= bytes && most / 2 <= bytes + ROOM;
}

GstMemory *
gst_sam_spares_take (GstSamSpares * self, gsize bytes)
{
  Spare added = { NULL, 0 };
  guint i;

  if (!self->all) {
    self->all = g_array_new (FALSE, FALSE, sizeof (Spare));
    g_array_set_clear_func (self->all, (GDestroyNotify) clear_spare);
  }
  for (i = 0; i < self->all->len; i++) {
    Spare *spare = &g_array_index (self->all, Spare, i);

    if (is_free (spare) && fits (spare, bytes)) {
      spare->idle = 0;
      gst_memory_resize (spare->memory, 0, bytes);
      return gst_memory_ref (spare->memory);
    }
  }
  added.memory = gst_allocator_alloc (NULL, (bytes / ROOM + 2) * ROOM, NULL);
  gst_memory_resize (added.memory, 0, bytes);
  g_array_append_val (self->all, added);
  return gst_memory_ref (added.memory);
}

void
gst_sam_spares_trim (GstSamSpares * self)
{
  guint i = self->all ? self->all->len : 0;

  while (i-- > 0) {
    Spare *spare = &g_array_index (self->all, Spare, i);

    if (is_free (spare) && ++spare->idle > MAX_IDLE)
      g_array_remove_index_fast (self->all, i);
  }
}

void
gst_sam_spares_clear (GstSamSpares * self)
{
  g_clear_pointer (&self->all, g_array_unref);
}
