/* SPDX-License-Identifier: MIT */
/* What samexport keeps of a frame: the content of its meta, without pixels. */

#include "gstsamrecord.h"

#include "gstsamstretch.h"

#include <string.h>

static void
copy_text (gchar to[GST_SAM_TEXT_BYTES], const gchar * from)
{
  const gchar *end;

  *to = 0;
  if (!from)
    return;
  g_strlcpy (to, from, GST_SAM_TEXT_BYTES);
  /* The cut may be within a character. */
  if (!g_utf8_validate (to, -1, &end))
    to[end - to] = 0;
}

static void
set_reference (GstSamRecord * record, GstBuffer * buf)
{
  const GstReferenceTimestampMeta *meta =
      gst_buffer_get_reference_timestamp_meta (buf, NULL);

  *record->reference = 0;
  if (!meta || !meta->reference || gst_caps_is_empty (meta->reference) ||
      gst_caps_is_any (meta->reference))
    return;
  /* From GStreamer 1.26 on the name is the caps' own, not interned. */
  copy_text (record->reference,
      gst_structure_get_name (gst_caps_get_structure (meta->reference, 0)));
  record->reference_time = meta->timestamp;
}

static void
set_labels (GstSamRecord * record)
{
  guint i;

  for (i = 0; i < record->report.num_objects; i++) {
    copy_text (record->label[i], record->report.object[i].label);
    record->report.object[i].label = NULL;      /* it is the buffer's */
  }
}

/* Whether the report describes a label map that its buffer can hold. */
static gboolean
has_mask (const GstSamReport * report)
{
  return report->mask && report->mask_width <= SAM_MAX_SIDE &&
      report->mask_height <= SAM_MAX_SIDE && report->width <= SAM_MAX_SIDE &&
      report->height <= SAM_MAX_SIDE && gst_buffer_get_size (report->mask) >=
      (gsize) report->mask_width * report->mask_height;
}

static gboolean
is_wanted (GstMeta * meta, const gchar * tracker)
{
  const GstStructure *s = gst_custom_meta_get_structure
      ((GstCustomMeta *) meta);

  return !tracker || !*tracker ||
      !g_strcmp0 (gst_structure_get_string (s, "source"), tracker);
}

void
gst_sam_record_set_metas (GstSamRecord * record, GstBuffer * buf,
    const gchar * tracker)
{
  const GType api = gst_meta_get_info (GST_SAM_META_NAME)->api;
  gpointer state = NULL;
  GstMeta *meta;

  set_reference (record, buf);
  record->tracked = FALSE;
  while (!record->tracked &&
      (meta = gst_buffer_iterate_meta_filtered (buf, &state, api)))
    record->tracked = is_wanted (meta, tracker) &&
        gst_sam_meta_read (&record->report, meta);
  if (!record->tracked) {
    memset (&record->report, 0, sizeof record->report);
    return;
  }
  record->width = record->report.width;
  record->height = record->report.height;
  copy_text (record->source, record->report.source);
  record->report.source = NULL; /* it is the buffer's */
  set_labels (record);
  if (has_mask (&record->report))
    gst_buffer_ref (record->report.mask);
  else
    record->report.mask = NULL;
}

void
gst_sam_record_clear (GstSamRecord * record)
{
  gst_clear_buffer (&record->report.mask);
}

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
  if (prepare (coder, report, error))
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
}

const GstSamRegion *
gst_sam_coder_get_region (const GstSamCoder * coder,
    const GstSamObject * object)
{
  if (!coder->labels || object->slot < 1 || object->slot > 255 ||
      !coder->region[object->slot].area)
    return NULL;
  return &coder->region[object->slot];
}

const gchar *
gst_sam_coder_get_counts (GstSamCoder * coder, const GstSamObject * object)
{
  gst_sam_rle_write (coder->counts, coder->labels, coder->width, coder->height,
      object->slot, &coder->region[object->slot], coder->scratch);
  return coder->counts->str;
}
