/* SPDX-License-Identifier: MIT */
/* The masks of a record as run lengths, from its label map or as they were
 * kept. */

#include "gstsamcoder.h"

#include "gstsamstretch.h"

#include <string.h>

void
gst_sam_coder_init (GstSamCoder * coder, GstSamExportMaskSize size)
{
  memset (coder, 0, sizeof *coder);
  coder->size = size;
  coder->counts = g_string_new (NULL);
}

void
gst_sam_coder_clear (GstSamCoder * coder)
{
  g_string_free (coder->counts, TRUE);
  g_free (coder->stretched);
  g_free (coder->scratch);
  sam_painter_close (&coder->painter);
}

static gboolean
reserve (guint8 ** data, gsize * bytes, gsize needed)
{
  if (needed <= *bytes)
    return TRUE;
  g_free (*data);
  *data = g_try_malloc (needed);
  *bytes = *data ? needed : 0;
  return *data != NULL;
}

static gboolean
fail_without_memory (const GstSamReport * report, GError ** error)
{
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
      "Out of memory: no room for a label map of %d x %d pixels.",
      report->width, report->height);
  return FALSE;
}

static gboolean
stretch (GstSamCoder * coder, const GstSamReport * report, GError ** error)
{
  const struct sam_labels labels = {
    .data = coder->map.data,
    .width = report->mask_width,
    .height = report->mask_height,
    .stride = report->mask_width
  };
  gchar *why = NULL;

  if (!reserve (&coder->stretched, &coder->stretched_bytes,
          (gsize) report->width * report->height) ||
      !gst_sam_stretch_open (&coder->painter))
    return fail_without_memory (report, error);
  if (!gst_sam_stretch (coder->painter, &labels, coder->stretched,
          report->width, report->height, &why)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED,
        "The label map of %d x %d pixels cannot be stretched to %d x %d: %s",
        labels.width, labels.height, report->width, report->height, why);
    g_free (why);
    return FALSE;
  }
  coder->labels = coder->stretched;
  coder->width = report->width;
  coder->height = report->height;
  return TRUE;
}

static gboolean
prepare (GstSamCoder * coder, const GstSamReport * report, GError ** error)
{
  coder->labels = coder->map.data;
  coder->width = report->mask_width;
  coder->height = report->mask_height;
  if (coder->size == GST_SAM_EXPORT_MASK_SIZE_FRAME &&
      (report->width != report->mask_width ||
          report->height != report->mask_height) &&
      !stretch (coder, report, error))
    return FALSE;
  if (!reserve (&coder->scratch, &coder->scratch_bytes,
          gst_sam_rle_get_scratch (coder->height)))
    return fail_without_memory (report, error);
  gst_sam_rle_find (coder->labels, coder->width, coder->height, coder->region);
  return TRUE;
}

gboolean
gst_sam_coder_begin (GstSamCoder * coder, const GstSamRecord * record,
    GError ** error)
{
  const GstSamReport *report = &record->report;

  coder->labels = NULL;
  coder->masked = FALSE;
  coder->mapped = NULL;
  if (!report->mask || coder->size == GST_SAM_EXPORT_MASK_SIZE_NONE)
    return TRUE;
  if (!gst_buffer_map (report->mask, &coder->map, GST_MAP_READ)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "The label map of frame %" G_GUINT64_FORMAT " cannot be mapped.",
        record->frame);
    return FALSE;
  }
  coder->mapped = report->mask;
  coder->masked = prepare (coder, report, error);
  if (coder->masked)
    return TRUE;
  gst_sam_coder_end (coder);
  return FALSE;
}

void
gst_sam_coder_end (GstSamCoder * coder)
{
  if (coder->mapped)
    gst_buffer_unmap (coder->mapped, &coder->map);
  coder->mapped = NULL;
  coder->labels = NULL;
  coder->masked = FALSE;
}

const GstSamRegion *
gst_sam_coder_get_region (const GstSamCoder * coder,
    const GstSamObject * object)
{
  if (!coder->masked || object->slot < 1 || object->slot > 255 ||
      !coder->region[object->slot].area)
    return NULL;
  return &coder->region[object->slot];
}

const gchar *
gst_sam_coder_get_counts (GstSamCoder * coder, const GstSamObject * object)
{
  if (!coder->labels)
    return coder->packed[object->slot];
  gst_sam_rle_write (coder->counts, coder->labels, coder->width, coder->height,
      object->slot, &coder->region[object->slot], coder->scratch);
  return coder->counts->str;
}

/* ---- As bytes */

/* Followed by the texts of the record, then by the objects. */
typedef struct
{
  guint64 frame, frame_index;
  GstClockTime pts, duration, stream_time, running_time, reference_time;
  GstClockTime mask_time, inference_time;
  gint32 width, height, mask_width, mask_height;
  guint32 stream, age, num_objects;
  guint8 tracked, state, masked;
} PackedFrame;

/* Followed by its label and, if it has a region, its run lengths. */
typedef struct
{
  GstSamObject object;          /* without its label */
  GstSamRegion region;          /* all 0: the label map does not show it */
} PackedObject;

guint
gst_sam_coder_get_layout (void)
{
  return sizeof (PackedFrame) << 16 | sizeof (PackedObject);
}

static void
append_text (GString * to, const gchar * text)
{
  g_string_append_len (to, text, strlen (text) + 1);
}

void
gst_sam_coder_pack (GstSamCoder * coder, const GstSamRecord * record,
    GString * to)
{
  const GstSamReport *report = &record->report;
  PackedFrame frame;
  PackedObject packed;
  guint i;

  memset (&frame, 0, sizeof frame);
  frame.frame = record->frame;
  frame.frame_index = report->frame_index;
  frame.pts = record->pts;
  frame.duration = record->duration;
  frame.stream_time = record->stream_time;
  frame.running_time = record->running_time;
  frame.reference_time = record->reference_time;
  frame.mask_time = report->running_time;
  frame.inference_time = report->inference_time;
  frame.width = record->width;
  frame.height = record->height;
  frame.mask_width = coder->width;
  frame.mask_height = coder->height;
  frame.stream = record->stream;
  frame.age = report->age;
  frame.num_objects = report->num_objects;
  frame.tracked = record->tracked;
  frame.state = report->state;
  frame.masked = coder->masked;
  g_string_append_len (to, (const gchar *) &frame, sizeof frame);
  append_text (to, record->reference);
  append_text (to, record->source);
  for (i = 0; i < report->num_objects; i++) {
    const GstSamRegion *region = gst_sam_coder_get_region (coder,
        &report->object[i]);

    memset (&packed, 0, sizeof packed);
    packed.object = report->object[i];
    packed.object.label = NULL;
    if (region)
      packed.region = *region;
    g_string_append_len (to, (const gchar *) &packed, sizeof packed);
    append_text (to, record->label[i]);
    if (region)
      append_text (to, gst_sam_coder_get_counts (coder, &report->object[i]));
  }
}

/* What is left to read. */
typedef struct
{
  const gchar *at, *end;
} Rest;

static gboolean
take (Rest * rest, gpointer to, gsize bytes)
{
  if ((gsize) (rest->end - rest->at) < bytes)
    return FALSE;
  memcpy (to, rest->at, bytes);
  rest->at += bytes;
  return TRUE;
}

/* Returns NULL if it does not end. */
static const gchar *
take_text (Rest * rest)
{
  const gchar *text = rest->at;
  const gchar *end = memchr (text, 0, rest->end - text);

  if (!end)
    return NULL;
  rest->at = end + 1;
  return text;
}

static gboolean
copy_text (Rest * rest, gchar to[GST_SAM_TEXT_BYTES])
{
  const gchar *text = take_text (rest);

  return text && g_strlcpy (to, text, GST_SAM_TEXT_BYTES) < GST_SAM_TEXT_BYTES;
}

static gboolean
unpack_object (GstSamCoder * coder, GstSamRecord * record, guint i,
    Rest * rest)
{
  PackedObject packed;
  const guint slot = take (rest, &packed, sizeof packed) ?
      packed.object.slot : 256;

  if (slot > 255 || (guint) packed.object.state > SAM_OBJECT_FOUND ||
      !copy_text (rest, record->label[i]))
    return FALSE;
  record->report.object[i] = packed.object;
  record->report.object[i].label = NULL;
  if (!packed.region.area)
    return TRUE;
  coder->region[slot] = packed.region;
  coder->packed[slot] = take_text (rest);
  return coder->packed[slot] != NULL;
}

gboolean
gst_sam_coder_unpack (GstSamCoder * coder, GstSamRecord * record,
    const gchar * data, gsize bytes)
{
  Rest rest = { data, data + bytes };
  GstSamReport *report = &record->report;
  PackedFrame frame;
  guint i;

  memset (coder->region, 0, sizeof coder->region);
  coder->labels = NULL;
  if (!take (&rest, &frame, sizeof frame) ||
      frame.state > GST_SAM_REPORT_STALE ||
      frame.num_objects > G_N_ELEMENTS (report->object) ||
      !copy_text (&rest, record->reference) ||
      !copy_text (&rest, record->source))
    return FALSE;
  record->frame = frame.frame;
  record->stream = frame.stream;
  record->pts = frame.pts;
  record->duration = frame.duration;
  record->stream_time = frame.stream_time;
  record->running_time = frame.running_time;
  record->reference_time = frame.reference_time;
  record->tracked = frame.tracked;
  record->width = report->width = frame.width;
  record->height = report->height = frame.height;
  report->state = frame.state;
  report->age = frame.age;
  report->frame_index = frame.frame_index;
  report->running_time = frame.mask_time;
  report->inference_time = frame.inference_time;
  report->num_objects = frame.num_objects;
  report->mask = NULL;
  report->mask_width = report->mask_height = 0;
  report->source = NULL;
  report->current = 0;
  report->num_marks = 0;
  coder->masked = frame.masked;
  coder->width = frame.mask_width;
  coder->height = frame.mask_height;
  for (i = 0; i < frame.num_objects; i++) {
    if (!unpack_object (coder, record, i, &rest))
      return FALSE;
  }
  return rest.at == rest.end;
}
