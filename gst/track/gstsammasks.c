/* SPDX-License-Identifier: MIT */
#include "gstsammasks.h"

#include "common/gstsamframe.h"
#include "gstsampng.h"
#include "gstsamprompt.h"

/* Samples that may wait for the model's size, which is not known before the
 * element starts. Later a mask is an eighth of a byte per pixel of the model's
 * input: 128 KiB for the published ones. */
#define MAX_HELD (64 << 20)

GST_DEFINE_MINI_OBJECT_TYPE (GstSamMask, gst_sam_mask);

static void
free_mask (GstSamMask * mask)
{
  g_free (mask->location);
  g_clear_pointer (&mask->sample, gst_sample_unref);
  g_free (mask->bits);
  g_clear_pointer (&mask->more, g_ptr_array_unref);
  g_clear_error (&mask->error);
  g_free (mask);
}

static GstSamMask *
new_mask (const gchar * location, GstSample * sample)
{
  GstSamMask *mask = g_new0 (GstSamMask, 1);

  gst_mini_object_init (GST_MINI_OBJECT_CAST (mask), 0,
      gst_sam_mask_get_type (), NULL, NULL,
      (GstMiniObjectFreeFunction) free_mask);
  mask->location = g_strdup (location);
  mask->sample = sample ? gst_sample_ref (sample) : NULL;
  return mask;
}

static GstSamMask *
ref_mask (GstSamMask * mask)
{
  return (GstSamMask *) gst_mini_object_ref (GST_MINI_OBJECT_CAST (mask));
}

static void
unref_mask (gpointer mask)
{
  gst_mini_object_unref (mask);
}

static void
G_GNUC_PRINTF (3, 4)
set_error (GError ** error, GstSamRefusal reason, const gchar * format, ...)
{
  va_list args;

  va_start (args, format);
  *error = g_error_new_valist (GST_SAM_REFUSAL, reason, format, args);
  va_end (args);
}

/* Where sam_mask_stretch() gets its rows. */
typedef struct
{
  const gint *cancelled;
  const guint8 *data;           /* of a sample */
  gssize stride;
  const GstSamPlane *plane;     /* or of a file */
  guint8 *row;
} Rows;

static const guint8 *
get_row (void *priv, int y)
{
  const Rows *rows = priv;
  const guint8 *bits;
  gint x;

  if (g_atomic_int_get (rows->cancelled))
    return NULL;
  if (!rows->plane)
    return rows->data + y * rows->stride;
  bits = rows->plane->bits + (gsize) y * ((rows->plane->width + 7) / 8);
  for (x = 0; x < rows->plane->width; x++)
    rows->row[x] = bits[x / 8] >> (x % 8) & 1;
  return rows->row;
}

/* Make the bits, which are the last to be set. */
static void
stretch (GstSamMask * mask, gint side, gint width, gint height, Rows * rows)
{
  guint8 *bits = g_try_malloc (sam_mask_bytes (side));
  struct sam_error why = { "out of memory" };

  if (bits && sam_mask_stretch (bits, side, width, height, get_row, rows,
          &why) == SAM_OK) {
    mask->side = side;
    mask->bits = bits;
    return;
  }
  g_free (bits);
  set_error (&mask->error, GST_SAM_REFUSED_ENGINE,
      "The prompt was refused: its mask cannot be scaled: %s.", why.text);
}

static void
read_value (GstSamMask * mask, gint side, const gint * cancelled)
{
  GstSamPlane plane;
  Rows rows = {.cancelled = cancelled,.plane = &plane };

  if (!gst_sam_png_read (&plane, mask->location, mask->value, cancelled,
          &mask->error))
    return;
  rows.row = g_malloc (plane.width);
  stretch (mask, side, plane.width, plane.height, &rows);
  g_free (rows.row);
  g_free (plane.bits);
}

/* The file is read once more for each object that it has: its values need not
 * be kept. */
static void
read_more (GstSamMask * mask, const guint8 used[256], gint side,
    const gint * cancelled)
{
  gint i;

  mask->more = g_ptr_array_new_with_free_func (unref_mask);
  for (i = mask->value + 1; i < 256 && !mask->error; i++) {
    GstSamMask *other;

    if (!used[i])
      continue;
    other = new_mask (mask->location, NULL);
    other->value = i;
    read_value (other, side, cancelled);
    other->done = TRUE;
    mask->error = g_steal_pointer (&other->error);
    g_ptr_array_add (mask->more, other);
  }
  if (!mask->error)
    return;
  g_clear_pointer (&mask->more, g_ptr_array_unref);
  g_clear_pointer (&mask->bits, g_free);
}

static void
read_file (GstSamMask * mask, gint side, const gint * cancelled)
{
  guint8 used[256];
  guint num = 0;

  mask->value = mask->wanted;
  if (!mask->wanted && !gst_sam_png_find_values (mask->location, used, &num,
          cancelled, &mask->error))
    return;
  if (num > 1) {
    while (!used[mask->value])
      mask->value++;
  }
  read_value (mask, side, cancelled);
  if (num > 1 && !mask->error)
    read_more (mask, used, side, cancelled);
}

/* Map a sample that holds what its caps promise. */
static gboolean
map_sample (GstSample * sample, GstVideoFrame * frame, GError ** error)
{
  GstCaps *caps = gst_sample_get_caps (sample);
  GstBuffer *buffer = gst_sample_get_buffer (sample);
  GstVideoInfo info;
  gchar *why;

  if (!caps || !buffer || !gst_caps_is_fixed (caps) ||
      !gst_video_info_from_caps (&info, caps) ||
      GST_VIDEO_INFO_FORMAT (&info) != GST_VIDEO_FORMAT_GRAY8) {
    set_error (error, GST_SAM_REFUSED_MASK,
        "The prompt was refused: the mask is not video/x-raw, GRAY8.");
    return FALSE;
  }
  if (info.width < 1 || info.height < 1 || info.width > SAM_MAX_SIDE ||
      info.height > SAM_MAX_SIDE) {
    set_error (error, GST_SAM_REFUSED_MASK,
        "The prompt was refused: its mask has %d x %d pixels, expected 1 to %d "
        "each way.", info.width, info.height, SAM_MAX_SIDE);
    return FALSE;
  }
  if (gst_sam_frame_map (frame, &info, buffer, GST_MAP_READ, &why))
    return TRUE;
  set_error (error, GST_SAM_REFUSED_MASK,
      "The prompt was refused: its mask is not GRAY8 of %d x %d pixels: %s.",
      info.width, info.height, why);
  g_free (why);
  return FALSE;
}

static void
read_sample (GstSamMask * mask, gint side, const gint * cancelled)
{
  Rows rows = {.cancelled = cancelled };
  GstVideoFrame frame;

  if (!map_sample (mask->sample, &frame, &mask->error))
    return;
  rows.data = GST_VIDEO_FRAME_PLANE_DATA (&frame, 0);
  rows.stride = GST_VIDEO_FRAME_PLANE_STRIDE (&frame, 0);
  stretch (mask, side, GST_VIDEO_FRAME_WIDTH (&frame),
      GST_VIDEO_FRAME_HEIGHT (&frame), &rows);
  gst_video_frame_unmap (&frame);
}

/* Called without the lock. */
static void
make (GstSamMask * mask, gint side, const gint * cancelled)
{
  if (mask->location)
    read_file (mask, side, cancelled);
  else
    read_sample (mask, side, cancelled);
}

static gsize
get_held (const GstSamMask * mask)
{
  return mask->sample ?
      gst_buffer_get_size (gst_sample_get_buffer (mask->sample)) : 0;
}

/* Called with the lock held. */
static void
add_job (GstSamMasks * masks, GstSamMask * mask)
{
  g_queue_push_tail (&masks->jobs, ref_mask (mask));
  masks->held += get_held (mask);
}

static GstSamMask *
take_job (GstSamMasks * masks)
{
  GstSamMask *mask = g_queue_pop_head (&masks->jobs);

  if (mask)
    masks->held -= get_held (mask);
  return mask;
}

/* Whether nobody else holds it. */
static gboolean
is_orphan (const GstSamMask * mask)
{
  return GST_MINI_OBJECT_REFCOUNT_VALUE (mask) == 1;
}

static void
make_job (GstSamMasks * masks, GstSamMask * mask)
{
  const gint side = masks->side;

  gst_sam_mutex_unlock (&masks->lock);
  make (mask, side, &masks->cancelled);
  gst_sam_mutex_lock (&masks->lock);
  if (mask->error && g_atomic_int_get (&masks->cancelled)) {
    g_clear_error (&mask->error);
    g_queue_push_head (&masks->jobs, ref_mask (mask));
    masks->held += get_held (mask);
    return;
  }
  g_clear_pointer (&mask->sample, gst_sample_unref);
  mask->done = TRUE;
  g_cond_broadcast (&masks->cond);
}

static gpointer
work (gpointer data)
{
  GstSamMasks *masks = data;

  gst_sam_mutex_lock (&masks->lock);
  while (!g_atomic_int_get (&masks->cancelled)) {
    GstSamMask *mask = take_job (masks);

    if (!mask) {
      gst_sam_mutex_wait (&masks->lock, &masks->cond);
      continue;
    }
    if (!is_orphan (mask))
      make_job (masks, mask);
    unref_mask (mask);
  }
  gst_sam_mutex_unlock (&masks->lock);
  return NULL;
}

/* Have a thread where there is something to do. Called with the lock held. */
static void
ensure_thread (GstSamMasks * masks)
{
  GError *error = NULL;
  GstSamMask *mask;

  if (!masks->side || g_queue_is_empty (&masks->jobs))
    return;
  if (!masks->thread)
    masks->thread = g_thread_try_new ("samtrack-masks", work, masks, &error);
  while (!masks->thread && (mask = take_job (masks))) {
    set_error (&mask->error, GST_SAM_REFUSED_ENGINE,
        "The prompt was refused: cannot start a thread to read its mask: %s.",
        error->message);
    mask->done = TRUE;
    unref_mask (mask);
  }
  g_clear_error (&error);
  g_cond_broadcast (&masks->cond);
}

void
gst_sam_masks_init (GstSamMasks * masks)
{
  gst_sam_mutex_init (&masks->lock, GST_SAM_RANK_MASKS);
  g_cond_init (&masks->cond);
  g_queue_init (&masks->jobs);
  masks->kept = g_ptr_array_new_with_free_func (unref_mask);
}

void
gst_sam_masks_clear (GstSamMasks * masks)
{
  gst_sam_masks_stop (masks);
  g_ptr_array_unref (masks->kept);
  g_cond_clear (&masks->cond);
  gst_sam_mutex_clear (&masks->lock);
}

void
gst_sam_masks_start (GstSamMasks * masks, gint side)
{
  gst_sam_mutex_lock (&masks->lock);
  masks->side = side;
  masks->flushing = FALSE;
  ensure_thread (masks);
  gst_sam_mutex_unlock (&masks->lock);
}

void
gst_sam_masks_stop (GstSamMasks * masks)
{
  GThread *thread;
  guint i, n;

  gst_sam_mutex_lock (&masks->lock);
  masks->side = 0;
  thread = masks->thread;
  masks->thread = NULL;
  g_atomic_int_set (&masks->cancelled, TRUE);
  g_cond_broadcast (&masks->cond);
  gst_sam_mutex_unlock (&masks->lock);
  if (thread)
    g_thread_join (thread);

  gst_sam_mutex_lock (&masks->lock);
  g_atomic_int_set (&masks->cancelled, FALSE);
  g_ptr_array_set_size (masks->kept, 0);
  for (i = 0, n = g_queue_get_length (&masks->jobs); i < n; i++) {
    GstSamMask *mask = take_job (masks);

    if (!is_orphan (mask))
      add_job (masks, mask);
    unref_mask (mask);
  }
  gst_sam_mutex_unlock (&masks->lock);
}

void
gst_sam_masks_set_flushing (GstSamMasks * masks, gboolean flushing)
{
  gst_sam_mutex_lock (&masks->lock);
  masks->flushing = flushing;
  g_cond_broadcast (&masks->cond);
  gst_sam_mutex_unlock (&masks->lock);
}

void
gst_sam_masks_forget (GstSamMasks * masks)
{
  gst_sam_mutex_lock (&masks->lock);
  g_ptr_array_set_size (masks->kept, 0);
  gst_sam_mutex_unlock (&masks->lock);
}

/* One that is kept, or that is going to be read later than now. */
static GstSamMask *
find_file (GstSamMasks * masks, const gchar * location, gint value,
    gboolean keep)
{
  GList *l;
  guint i;

  for (i = 0; keep && i < masks->kept->len; i++) {
    GstSamMask *mask = g_ptr_array_index (masks->kept, i);

    if (g_str_equal (mask->location, location) && mask->wanted == value) {
      if (!mask->done || mask->bits)
        return ref_mask (mask);
      g_ptr_array_remove_index_fast (masks->kept, i);
      break;
    }
  }
  for (l = masks->jobs.head; l; l = l->next) {
    GstSamMask *mask = l->data;

    if (!g_strcmp0 (mask->location, location) && mask->wanted == value)
      return ref_mask (mask);
  }
  return NULL;
}

GstSamMask *
gst_sam_masks_get_file (GstSamMasks * masks, const gchar * location,
    gint value, gboolean keep, GError ** error)
{
  GstSamMask *mask;

  gst_sam_mutex_lock (&masks->lock);
  mask = find_file (masks, location, value, keep);
  gst_sam_mutex_unlock (&masks->lock);
  if (!mask && !gst_sam_png_check (location, error))
    return NULL;
  gst_sam_mutex_lock (&masks->lock);
  if (!mask) {
    mask = new_mask (location, NULL);
    mask->wanted = value;
    add_job (masks, mask);
    ensure_thread (masks);
  }
  if (keep && !g_ptr_array_find (masks->kept, mask, NULL))
    g_ptr_array_add (masks->kept, ref_mask (mask));
  gst_sam_mutex_unlock (&masks->lock);
  return mask;
}

/* Before start: hold the sample until the model's size is known. */
static gboolean
hold_sample (GstSamMasks * masks, GstSamMask * mask, GError ** error)
{
  gboolean room;

  gst_sam_mutex_lock (&masks->lock);
  room = masks->held + get_held (mask) <= MAX_HELD;
  if (room) {
    add_job (masks, mask);
    ensure_thread (masks);
  }
  gst_sam_mutex_unlock (&masks->lock);
  if (!room)
    set_error (error, GST_SAM_REFUSED_QUEUE_FULL,
        "The prompt was refused: the masks that wait for the element to start "
        "would take more than %d MiB.", MAX_HELD >> 20);
  return room;
}

static gboolean
make_sample (GstSamMasks * masks, GstSamMask * mask, GError ** error)
{
  const gint never = FALSE;
  GstVideoFrame frame;
  gint side;

  gst_sam_mutex_lock (&masks->lock);
  side = masks->side;
  gst_sam_mutex_unlock (&masks->lock);
  if (!side) {
    if (!map_sample (mask->sample, &frame, error))
      return FALSE;
    gst_video_frame_unmap (&frame);
    return hold_sample (masks, mask, error);
  }
  make (mask, side, &never);
  g_clear_pointer (&mask->sample, gst_sample_unref);
  mask->done = TRUE;
  if (mask->error)
    g_propagate_error (error, g_steal_pointer (&mask->error));
  return mask->bits != NULL;
}

GstSamMask *
gst_sam_masks_get_sample (GstSamMasks * masks, GstSample * sample,
    GError ** error)
{
  GstSamMask *mask = new_mask (NULL, sample);

  if (make_sample (masks, mask, error))
    return mask;
  unref_mask (mask);
  return NULL;
}

gboolean
gst_sam_masks_is_done (GstSamMasks * masks, GstSamMask * mask)
{
  gboolean done;

  gst_sam_mutex_lock (&masks->lock);
  done = mask->done;
  gst_sam_mutex_unlock (&masks->lock);
  return done;
}

gboolean
gst_sam_masks_wait (GstSamMasks * masks, GstSamMask * mask)
{
  gboolean done;

  gst_sam_mutex_lock (&masks->lock);
  while (!mask->done && !masks->flushing && masks->side)
    gst_sam_mutex_wait (&masks->lock, &masks->cond);
  done = mask->done;
  gst_sam_mutex_unlock (&masks->lock);
  return done;
}
