/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-samscore
 * @title: samscore
 *
 * Compares the masks of samtrack (GstSamTrackMeta) with the truth of samscene
 * (GstSamSceneMeta). At the end of the stream it posts an element message
 * `samscore` per object: object (uint64, its id), thing (string, that which its
 * first mask covers most), mean-j (double) and frames (uint). J is the area of
 * the intersection by that of the union, and 1 where neither shows anything.
 *
 * ## Example
 * |[
 * gst-launch-1.0 -m samscene num-buffers=100 !
 *     samtrack initial-prompt="point,x=150,y=268" ! samscore ! fakesink
 * ]|
 */

#include "gstsamscore.h"

#include <gst/video/video.h>
#include <string.h>

#include "gstsamscenemeta.h"
#include "common/gstsamallocation.h"

GST_DEBUG_CATEGORY_STATIC (gst_sam_score_debug);
#define GST_CAT_DEFAULT gst_sam_score_debug

typedef struct
{
  guint64 id;                   /* 0: no object had this slot yet */
  guint label;                  /* of its thing, 0: no mask yet */
  gchar *name;
  gdouble sum;                  /* of J */
  guint frames;
} Score;

struct _GstSamScore
{
  GstBaseTransform parent;

  /* Of the streaming thread. */
  Score *score;                 /* 256, by slot */
  guint (*common)[256];         /* px by slot and label */
};

#define gst_sam_score_parent_class parent_class
G_DEFINE_TYPE (GstSamScore, gst_sam_score, GST_TYPE_BASE_TRANSFORM);
GST_ELEMENT_REGISTER_DEFINE (samscore, "samscore", GST_RANK_NONE,
    GST_TYPE_SAM_SCORE);

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink",
    GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src",
    GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw"));

static const GstStructure *
get_item (const GstStructure * s, const gchar * field, guint i)
{
  const GValue *array = gst_structure_get_value (s, field);
  const GValue *item;

  if (!array || !GST_VALUE_HOLDS_ARRAY (array) ||
      i >= gst_value_array_get_size (array))
    return NULL;
  item = gst_value_array_get_value (array, i);
  return GST_VALUE_HOLDS_STRUCTURE (item) ? gst_value_get_structure (item) :
      NULL;
}

static gboolean
map_labels (const GstStructure * s, const gchar * field, gint width,
    gint height, GstMapInfo * map)
{
  const GValue *value = gst_structure_get_value (s, field);
  GstBuffer *labels;

  if (!value || !G_VALUE_HOLDS (value, GST_TYPE_BUFFER))
    return FALSE;
  labels = gst_value_get_buffer (value);
  if (width < 1 || height < 1 ||
      gst_buffer_get_size (labels) < (gsize) width * height)
    return FALSE;
  return gst_buffer_map (labels, map, GST_MAP_READ);
}

/* Counts the pixels of the frame by slot and label. */
static gboolean
compare (GstSamScore * self, const GstStructure * truth,
    const GstStructure * track)
{
  gint x, y, width = 0, height = 0, mask_width = 0, mask_height = 0;
  GstMapInfo labels, mask;
  gboolean masked;

  gst_structure_get (truth, "width", G_TYPE_INT, &width,
      "height", G_TYPE_INT, &height, NULL);
  gst_structure_get (track, "mask-width", G_TYPE_INT, &mask_width,
      "mask-height", G_TYPE_INT, &mask_height, NULL);
  memset (self->common, 0, 256 * sizeof *self->common);
  if (!map_labels (truth, "labels", width, height, &labels))
    return FALSE;
  masked = map_labels (track, "mask", mask_width, mask_height, &mask);
  for (y = 0; y < height; y++) {
    const guint8 *row = masked ? mask.data +
        (gsize) ((gint64) y * mask_height / height) * mask_width : NULL;

    for (x = 0; x < width; x++)
      self->common[row ? row[(gint64) x * mask_width / width] : 0]
          [labels.data[(gsize) y * width + x]]++;
  }
  if (masked)
    gst_buffer_unmap (gst_value_get_buffer (gst_structure_get_value (track,
                "mask")), &mask);
  gst_buffer_unmap (gst_value_get_buffer (gst_structure_get_value (truth,
              "labels")), &labels);
  return TRUE;
}

/* The thing of an object is what its first mask covers most. */
static void
find_thing (GstSamScore * self, Score * score, guint slot,
    const GstStructure * truth)
{
  const guint *common = self->common[slot];
  const GstStructure *thing;
  guint i, label, most = 0;

  for (i = 0; (thing = get_item (truth, "things", i)); i++) {
    if (gst_structure_get_uint (thing, "label", &label) && label < 256 &&
        common[label] > most) {
      most = common[label];
      score->label = label;
      g_free (score->name);
      score->name = g_strdup (gst_structure_get_string (thing, "name"));
    }
  }
}

static void
add_object (GstSamScore * self, const GstStructure * truth,
    const GstStructure * object)
{
  guint64 id = 0, together = 0;
  guint i, slot = 0;
  Score *score;

  if (!gst_structure_get (object, "id", G_TYPE_UINT64, &id,
          "slot", G_TYPE_UINT, &slot, NULL) || slot < 1 || slot > 255)
    return;
  score = &self->score[slot];
  if (score->id != id) {
    g_free (score->name);
    *score = (Score) {.id = id };
  }
  if (!score->label)
    find_thing (self, score, slot, truth);
  for (i = 0; i < 256; i++)
    together += self->common[slot][i] + self->common[i][score->label];
  together -= self->common[slot][score->label];
  score->frames++;
  if (score->label)
    score->sum += together > 0 ?
        (gdouble) self->common[slot][score->label] / together : 1;
}

static GstFlowReturn
gst_sam_score_transform_ip (GstBaseTransform * trans, GstBuffer * buffer)
{
  GstSamScore *self = GST_SAM_SCORE (trans);
  GstCustomMeta *truth = gst_buffer_get_custom_meta (buffer,
      GST_SAM_SCENE_META_NAME);
  GstCustomMeta *track = NULL;
  const GstStructure *t, *s, *object;
  guint i;

  if (gst_meta_get_info ("GstSamTrackMeta"))
    track = gst_buffer_get_custom_meta (buffer, "GstSamTrackMeta");
  if (!truth || !track)
    return GST_FLOW_OK;
  t = gst_custom_meta_get_structure (truth);
  s = gst_custom_meta_get_structure (track);
  if (compare (self, t, s)) {
    for (i = 0; (object = get_item (s, "objects", i)); i++)
      add_object (self, t, object);
  }
  return GST_FLOW_OK;
}

static void
post_scores (GstSamScore * self)
{
  guint i;

  for (i = 0; i < 256; i++) {
    const Score *score = &self->score[i];

    if (score->id)
      gst_element_post_message (GST_ELEMENT (self),
          gst_message_new_element (GST_OBJECT (self),
              gst_structure_new ("samscore",
                  "object", G_TYPE_UINT64, score->id,
                  "thing", G_TYPE_STRING, score->name ? score->name : "none",
                  "mean-j", G_TYPE_DOUBLE, score->sum / score->frames,
                  "frames", G_TYPE_UINT, score->frames, NULL)));
  }
}

static gboolean
gst_sam_score_sink_event (GstBaseTransform * trans, GstEvent * event)
{
  if (GST_EVENT_TYPE (event) == GST_EVENT_EOS)
    post_scores (GST_SAM_SCORE (trans));
  return GST_BASE_TRANSFORM_CLASS (parent_class)->sink_event (trans, event);
}

static gboolean
gst_sam_score_start (GstBaseTransform * trans)
{
  GstSamScore *self = GST_SAM_SCORE (trans);

  self->score = g_new0 (Score, 256);
  self->common = g_malloc0 (256 * sizeof *self->common);
  return TRUE;
}

static gboolean
gst_sam_score_stop (GstBaseTransform * trans)
{
  GstSamScore *self = GST_SAM_SCORE (trans);
  guint i;

  for (i = 0; i < 256; i++)
    g_free (self->score[i].name);
  g_clear_pointer (&self->score, g_free);
  g_clear_pointer (&self->common, g_free);
  return TRUE;
}

static void
gst_sam_score_class_init (GstSamScoreClass * klass)
{
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_sam_score_debug, "samscore", 0, "score");
  gst_element_class_set_static_metadata (element_class, "Score",
      "Analyzer/Video", "Compares tracked masks with those of samscene",
      "samtrack");
  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  trans_class->start = gst_sam_score_start;
  trans_class->stop = gst_sam_score_stop;
  trans_class->sink_event = gst_sam_score_sink_event;
  trans_class->transform_ip = gst_sam_score_transform_ip;
  trans_class->propose_allocation =
      GST_DEBUG_FUNCPTR (gst_sam_allocation_propose);
  trans_class->transform_ip_on_passthrough = TRUE;
}

static void
gst_sam_score_init (GstSamScore * self)
{
  gst_base_transform_set_passthrough (GST_BASE_TRANSFORM (self), TRUE);
}
