/* SPDX-License-Identifier: MIT */
/* A frame as one line of JSON. docs/GSTREAMER.md lists the fields. */

#include "gstsamline.h"

#include "gstsamjson.h"

#include <math.h>

/* What a line is made with. */
typedef struct
{
  JsonBuilder *builder;
  GstSamCoder *coder;
  const GstSamLineParams *params;
} Line;

static void
add_text (JsonBuilder * b, const gchar * name, const gchar * value)
{
  json_builder_set_member_name (b, name);
  json_builder_add_string_value (b, value);
}

static void
add_int (JsonBuilder * b, const gchar * name, gint64 value)
{
  json_builder_set_member_name (b, name);
  json_builder_add_int_value (b, value);
}

/* JSON-GLib has signed numbers; GST_CLOCK_TIME_NONE stands for no time. */
static void
add_uint64 (JsonBuilder * b, const gchar * name, guint64 value)
{
  json_builder_set_member_name (b, name);
  if (value > G_MAXINT64)
    json_builder_add_null_value (b);
  else
    json_builder_add_int_value (b, value);
}

/* JSON has no NaN and no infinity. */
static void
add_double (JsonBuilder * b, const gchar * name, gdouble value)
{
  json_builder_set_member_name (b, name);
  if (isfinite (value))
    json_builder_add_double_value (b, value);
  else
    json_builder_add_null_value (b);
}

static void
add_mask (Line * self, const GstSamObject * object)
{
  JsonBuilder *b = self->builder;

  json_builder_set_member_name (b, "mask");
  if (!gst_sam_coder_get_region (self->coder, object)) {
    json_builder_add_null_value (b);
    return;
  }
  json_builder_begin_object (b);
  json_builder_set_member_name (b, "size");
  json_builder_begin_array (b);
  json_builder_add_int_value (b, self->coder->height);
  json_builder_add_int_value (b, self->coder->width);
  json_builder_end_array (b);
  add_text (b, "counts", gst_sam_coder_get_counts (self->coder, object));
  json_builder_end_object (b);
}

static void
add_object (Line * self, const GstSamRecord * record, guint i)
{
  const GstSamObject *object = &record->report.object[i];
  GHashTable *names = self->params->names;
  const gchar *name = names ? g_hash_table_lookup (names, &object->id) : NULL;
  JsonBuilder *b = self->builder;

  json_builder_begin_object (b);
  add_uint64 (b, "id", object->id);
  if (name && *name)
    add_text (b, "label", name);
  add_int (b, "slot", object->slot);
  if (*record->label[i] && !(name && *name))
    add_text (b, "label", record->label[i]);
  add_text (b, "state", gst_sam_object_state_get_name (object->state));
  add_double (b, "score", object->score);
  add_double (b, "iou", object->iou);
  json_builder_set_member_name (b, "box");
  json_builder_begin_array (b);
  json_builder_add_int_value (b, object->x);
  json_builder_add_int_value (b, object->y);
  json_builder_add_int_value (b, object->w);
  json_builder_add_int_value (b, object->h);
  json_builder_end_array (b);
  add_int (b, "area", object->area);
  add_int (b, "behind", object->behind);
  if (object->follows) {
    add_text (b, "model", "follow");
    add_int (b, "anchor_age", object->anchor_age);
  }
  if (self->coder->size != GST_SAM_EXPORT_MASK_SIZE_NONE)
    add_mask (self, object);
  json_builder_end_object (b);
}

/* A field of a structure by the name that it has in a line. */
static void
add_field (JsonBuilder * b, const GstStructure * s, const gchar * field,
    const gchar * name)
{
  const GValue *value = gst_structure_get_value (s, field);

  if (!value)
    return;
  if (G_VALUE_HOLDS_STRING (value) && g_value_get_string (value))
    add_text (b, name, g_value_get_string (value));
  else if (G_VALUE_HOLDS_UINT64 (value))
    add_uint64 (b, name, g_value_get_uint64 (value));
  else if (G_VALUE_HOLDS_UINT (value))
    add_int (b, name, g_value_get_uint (value));
  else if (G_VALUE_HOLDS_DOUBLE (value))
    add_double (b, name, g_value_get_double (value));
}

static void
add_zone_events (Line * self, const GValue * events)
{
  static const gchar *fields[][2] = {
    {"kind", "kind"}, {"zone", "zone"}, {"id", "id"}, {"label", "label"},
    {"reason", "reason"}, {"direction", "direction"}, {"share", "share"},
    {"time-inside", "time_inside"}, {"inside", "inside"},
  };
  const guint n = gst_value_array_get_size (events);
  JsonBuilder *b = self->builder;
  guint i, k;

  json_builder_set_member_name (b, "zone_events");
  json_builder_begin_array (b);
  for (i = 0; i < n; i++) {
    const GValue *value = gst_value_array_get_value (events, i);

    if (!GST_VALUE_HOLDS_STRUCTURE (value) || !gst_value_get_structure (value))
      continue;
    json_builder_begin_object (b);
    for (k = 0; k < G_N_ELEMENTS (fields); k++)
      add_field (b, gst_value_get_structure (value), fields[k][0],
          fields[k][1]);
    json_builder_end_object (b);
  }
  json_builder_end_array (b);
}

static void
add_times (Line * self, const GstSamRecord * record)
{
  JsonBuilder *b = self->builder;

  add_uint64 (b, "pts", record->pts);
  add_uint64 (b, "duration", record->duration);
  add_uint64 (b, "stream_time", record->stream_time);
  add_uint64 (b, "running_time", record->running_time);
  if (!*record->reference)
    return;
  json_builder_set_member_name (b, "reference");
  json_builder_begin_object (b);
  add_text (b, "clock", record->reference);
  add_uint64 (b, "time", record->reference_time);
  json_builder_end_object (b);
}

static void
add_report (Line * self, const GstSamRecord * record)
{
  static const gchar *states[] = {
    [GST_SAM_REPORT_IDLE] = "idle",
    [GST_SAM_REPORT_OK] = "ok",
    [GST_SAM_REPORT_STALE] = "stale",
  };
  const GstSamReport *report = &record->report;
  JsonBuilder *b = self->builder;
  guint i;

  add_text (b, "state", record->tracked ? states[report->state] : "untracked");
  json_builder_set_member_name (b, "stale");
  json_builder_add_boolean_value (b, report->state == GST_SAM_REPORT_STALE);
  if (record->tracked) {
    if (*record->source)
      add_text (b, "source", record->source);
    add_int (b, "age", report->age);
    add_uint64 (b, "frame_index", report->frame_index);
    add_uint64 (b, "mask_time", report->running_time);
    if (!self->params->steady)
      add_uint64 (b, "inference_time", report->inference_time);
  }
  json_builder_set_member_name (b, "objects");
  json_builder_begin_array (b);
  for (i = 0; i < report->num_objects; i++)
    add_object (self, record, i);
  json_builder_end_array (b);
  if (G_IS_VALUE (&record->zone_events))
    add_zone_events (self, &record->zone_events);
}

void
gst_sam_line_append (GString * to, const GstSamRecord * record,
    GstSamCoder * coder, const GstSamLineParams * params)
{
  Line line = { json_builder_new (), coder, params };
  JsonBuilder *b = line.builder;
  JsonNode *root;

  json_builder_begin_object (b);
  add_text (b, "run", params->run);
  add_uint64 (b, "frame", record->frame);
  add_int (b, "stream", record->stream);
  add_times (&line, record);
  add_int (b, "width", record->width);
  add_int (b, "height", record->height);
  add_report (&line, record);
  json_builder_end_object (b);
  root = json_builder_get_root (b);
  gst_sam_json_append_node (to, root);
  g_string_append_c (to, '\n');
  json_node_unref (root);
  g_object_unref (b);
}
