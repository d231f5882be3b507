/* SPDX-License-Identifier: MIT */
/* Frames that are collected in a spool, and the COCO file of them, in either of
 * its forms. */

#include "gstsamcoco.h"

#include "gstsamjson.h"

#include <string.h>

/* Bytes of the file that are collected before they are written. */
#define CHUNK (1 << 16)

static void
free_video (gpointer data)
{
  GstSamCocoVideo *video = data;

  g_ptr_array_unref (video->tracks);
  g_free (video);
}

void
gst_sam_coco_init (GstSamCoco * self, gboolean by_video,
    const gchar * creator, const gchar * location)
{
  memset (self, 0, sizeof *self);
  self->by_video = by_video;
  self->creator = creator;
  self->location = location;
  self->spool.fd = -1;
  self->videos = g_ptr_array_new_with_free_func (free_video);
  self->labels = g_ptr_array_new_with_free_func (g_free);
  self->text = g_string_new (NULL);
}

void
gst_sam_coco_clear (GstSamCoco * self)
{
  gst_sam_spool_close (&self->spool);
  g_ptr_array_unref (self->videos);
  g_ptr_array_unref (self->labels);
  g_string_free (self->text, TRUE);
}

gboolean
gst_sam_coco_check (const GstSamCoco * self, int number, GError ** error)
{
  if (number)
    g_set_error (error, GST_RESOURCE_ERROR, gst_sam_output_get_code (number),
        "Cannot write '%s': %s.", self->location, g_strerror (number));
  return !number;
}

/* ---- What is collected */

static GstSamCocoVideo *
add_video (GstSamCoco * self, const GstSamRecord * record, guint64 index)
{
  const GstSamChain none = GST_SAM_CHAIN_INIT;
  GstSamCocoVideo *video = g_new0 (GstSamCocoVideo, 1);

  video->stream = record->stream;
  video->width = video->frame_width = record->width;
  video->height = video->frame_height = record->height;
  video->first_frame = video->last_frame = index;
  video->frames = none;
  video->tracks = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (self->videos, video);
  return video;
}

/* A video has frames of one stream and size, and masks of one size. */
static GstSamCocoVideo *
get_video (GstSamCoco * self, const GstSamRecord * record,
    const GstSamCoder * coder, guint64 index)
{
  GPtrArray *videos = self->videos;
  GstSamCocoVideo *video = videos->len ? g_ptr_array_index (videos,
      videos->len - 1) : NULL;

  if (!video || video->stream != record->stream ||
      video->frame_width != record->width ||
      video->frame_height != record->height ||
      (coder->masked && video->masked && (video->width != coder->width ||
              video->height != coder->height)))
    video = add_video (self, record, index);
  if (coder->masked) {
    video->masked = TRUE;
    video->width = coder->width;
    video->height = coder->height;
  }
  return video;
}

static GstSamCocoTrack *
get_track (GstSamCocoVideo * video, const GstSamRecord * record, guint64 id)
{
  const GstSamChain none = GST_SAM_CHAIN_INIT;
  GstSamCocoTrack *track;
  guint i;

  /* From the latest one on: those that are gone are never asked for. */
  for (i = video->tracks->len; i > 0; i--) {
    track = g_ptr_array_index (video->tracks, i - 1);
    if (track->id == id && g_str_equal (track->source, record->source))
      return track;
  }
  track = g_new0 (GstSamCocoTrack, 1);
  track->id = id;
  memcpy (track->source, record->source, sizeof track->source);
  track->masks = track->before = none;
  g_ptr_array_add (video->tracks, track);
  return track;
}

static gboolean
collect_object (GstSamCoco * self, GstSamCocoVideo * video,
    const GstSamRecord * record, GstSamCoder * coder, guint i, guint64 index,
    GError ** error)
{
  const GstSamObject *object = &record->report.object[i];
  const GstSamRegion *region = gst_sam_coder_get_region (coder, object);
  GstSamEntry entry = {.frame = index,.number = record->frame };
  GstSamCocoTrack *track;

  if (!region)
    return TRUE;
  track = get_track (video, record, object->id);
  if (track->masks.last < self->frame_start)
    track->before = track->masks;
  if (*record->label[i])
    memcpy (track->label, record->label[i], sizeof track->label);
  entry.box[0] = region->x;
  entry.box[1] = region->y;
  entry.box[2] = region->w;
  entry.box[3] = region->h;
  entry.area = region->area;
  return gst_sam_coco_check (self, gst_sam_spool_append (&self->spool,
          &track->masks, &entry, gst_sam_coder_get_counts (coder, object)),
      error);
}

/* The frame's own entry comes last. */
static gboolean
collect_frame (GstSamCoco * self, GstSamCocoVideo * video,
    const GstSamRecord * record, GstSamCoder * coder, guint64 index,
    GError ** error)
{
  GstSamEntry entry = {
    .frame = index,.number = record->frame,.pts = record->pts,
    .running_time = record->running_time
  };
  guint i;

  for (i = 0; i < record->report.num_objects; i++) {
    if (!collect_object (self, video, record, coder, i, index, error))
      return FALSE;
  }
  if (!gst_sam_coco_check (self, gst_sam_spool_append (&self->spool,
              &video->frames, &entry, NULL), error))
    return FALSE;
  video->last_frame = index;
  return TRUE;
}

/* Objects of a frame that is lost are not kept: they would have no image. */
static void
take_back (GstSamCoco * self, GstSamCocoVideo * video)
{
  guint k;

  for (k = 0; k < video->tracks->len; k++) {
    GstSamCocoTrack *track = g_ptr_array_index (video->tracks, k);

    if (track->masks.last >= self->frame_start)
      track->masks = track->before;
  }
  gst_sam_spool_truncate (&self->spool, self->frame_start);
}

gboolean
gst_sam_coco_add (GstSamCoco * self, const GstSamRecord * record,
    GstSamCoder * coder, guint64 index, GError ** error)
{
  GstSamCocoVideo *video = get_video (self, record, coder, index);

  self->frame_start = self->spool.end;
  if (collect_frame (self, video, record, coder, index, error))
    return TRUE;
  take_back (self, video);
  return FALSE;
}

/* ---- The file */

static gboolean
flush_text (GstSamCoco * self, gsize more_than, GError ** error)
{
  if (self->text->len <= more_than)
    return TRUE;
  if (!self->output->write (self->output, self->text->str, self->text->len,
          error))
    return FALSE;
  g_string_truncate (self->text, 0);
  return TRUE;
}

/* What an object is called: its name, else the label that it had last. */
static const gchar *
get_name (GstSamCoco * self, const GstSamCocoTrack * track)
{
  const gchar *name = self->names ? g_hash_table_lookup (self->names,
      &track->id) : NULL;

  return name && *name ? name : track->label;
}

/* The number of a category, from 1. */
static guint
get_category (GstSamCoco * self, const gchar * label)
{
  guint i;

  if (!*label)
    label = "object";
  for (i = 0; i < self->labels->len; i++) {
    if (g_str_equal (g_ptr_array_index (self->labels, i), label))
      return i + 1;
  }
  g_ptr_array_add (self->labels, g_strdup (label));
  return self->labels->len;
}

static guint64
get_length (const GstSamCocoVideo * video)
{
  return video->last_frame - video->first_frame + 1;
}

static void
add_number (GstSamCoco * self, const gchar * name, guint64 value)
{
  if (value > G_MAXINT64)
    g_string_append_printf (self->text, ",\"%s\":null", name);
  else
    g_string_append_printf (self->text, ",\"%s\":%" G_GUINT64_FORMAT, name,
        value);
}

static void
add_segmentation (GstSamCoco * self, const GstSamCocoVideo * video)
{
  g_string_append_printf (self->text, "{\"size\":[%d,%d],\"counts\":",
      video->height, video->width);
  gst_sam_json_append_text (self->text, self->spool.text);
  g_string_append_c (self->text, '}');
}

static void
add_box (GstSamCoco * self, const GstSamEntry * entry)
{
  g_string_append_printf (self->text, "[%d,%d,%d,%d]", entry->box[0],
      entry->box[1], entry->box[2], entry->box[3]);
}

typedef enum
{
  LIST_SEGMENTATIONS,
  LIST_BOXES,
  LIST_AREAS,
} List;

static void
add_value (GstSamCoco * self, const GstSamCocoVideo * video,
    const GstSamEntry * entry, List list)
{
  if (list == LIST_SEGMENTATIONS)
    add_segmentation (self, video);
  else if (list == LIST_BOXES)
    add_box (self, entry);
  else
    g_string_append_printf (self->text, "%u", entry->area);
}

/* A value for every frame of the video: null where the object is not seen. */
static gboolean
add_list (GstSamCoco * self, const GstSamCocoVideo * video,
    const GstSamCocoTrack * track, List list, GError ** error)
{
  static const gchar *names[] = { "segmentations", "bboxes", "areas" };
  gint64 at = track->masks.first;
  gboolean loaded = FALSE;
  GstSamEntry entry;
  guint64 frame;

  g_string_append_printf (self->text, ",\"%s\":[", names[list]);
  for (frame = video->first_frame; frame <= video->last_frame; frame++) {
    if (!loaded && at >= 0 && !gst_sam_coco_check (self,
            gst_sam_spool_read (&self->spool, at, &entry), error))
      return FALSE;
    loaded = at >= 0;
    if (frame > video->first_frame)
      g_string_append_c (self->text, ',');
    if (!loaded || entry.frame != frame) {
      g_string_append (self->text, "null");
    } else {
      add_value (self, video, &entry, list);
      at = gst_sam_chain_next (&track->masks, at, &entry);
      loaded = FALSE;
    }
    if (!flush_text (self, CHUNK, error))
      return FALSE;
  }
  g_string_append_c (self->text, ']');
  return TRUE;
}

/* What both forms have. */
static void
begin_annotation (GstSamCoco * self, guint video_id,
    const GstSamCocoTrack * track)
{
  g_string_append_printf (self->text, "%s\n{\"id\":%u",
      self->num_annotations ? "," : "", self->num_annotations + 1);
  self->num_annotations++;
  add_number (self, "video_id", video_id);
  add_number (self, "category_id", get_category (self, get_name (self, track)));
  add_number (self, "iscrowd", 0);
}

static void
add_source (GstSamCoco * self, const GstSamCocoTrack * track)
{
  if (self->plain)
    return;
  g_string_append (self->text, ",\"source\":");
  gst_sam_json_append_text (self->text, track->source);
}

/* The mask of the entry that was read last. */
static void
add_mask (GstSamCoco * self, const GstSamCocoVideo * video,
    const GstSamEntry * entry)
{
  add_number (self, "image_id", entry->frame + 1);
  g_string_append (self->text, ",\"bbox\":");
  add_box (self, entry);
  add_number (self, "area", entry->area);
  g_string_append (self->text, ",\"segmentation\":");
  add_segmentation (self, video);
}

/* What plain COCO asks for besides the lists is of the first frame that shows
 * the object. */
static gboolean
add_object (GstSamCoco * self, guint video_id, const GstSamCocoVideo * video,
    const GstSamCocoTrack * track, GError ** error)
{
  GstSamEntry entry;

  if (!gst_sam_coco_check (self, gst_sam_spool_read (&self->spool,
              track->masks.first, &entry), error))
    return FALSE;
  begin_annotation (self, video_id, track);
  add_number (self, "object_id", track->id);
  add_source (self, track);
  add_number (self, "width", video->width);
  add_number (self, "height", video->height);
  add_number (self, "length", get_length (video));
  add_mask (self, video, &entry);
  if (!add_list (self, video, track, LIST_SEGMENTATIONS, error) ||
      !add_list (self, video, track, LIST_BOXES, error) ||
      !add_list (self, video, track, LIST_AREAS, error))
    return FALSE;
  g_string_append_c (self->text, '}');
  return TRUE;
}

/* An annotation for each frame that shows the object. Of those that keep only
 * what stands in `attributes`, some find the track there. */
static gboolean
add_masks (GstSamCoco * self, guint video_id, const GstSamCocoVideo * video,
    const GstSamCocoTrack * track, GError ** error)
{
  GstSamEntry entry;
  gint64 at;

  for (at = track->masks.first; at >= 0;
      at = gst_sam_chain_next (&track->masks, at, &entry)) {
    if (!gst_sam_coco_check (self, gst_sam_spool_read (&self->spool, at,
                &entry), error))
      return FALSE;
    begin_annotation (self, video_id, track);
    add_number (self, "track_id", track->id);
    add_source (self, track);
    g_string_append_printf (self->text, ",\"attributes\":{\"track_id\":%"
        G_GUINT64_FORMAT "}", track->id);
    add_mask (self, video, &entry);
    g_string_append_c (self->text, '}');
    if (!flush_text (self, CHUNK, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
add_annotations (GstSamCoco * self, GError ** error)
{
  guint i, k;

  g_string_append (self->text, "\"annotations\":[");
  for (i = 0; i < self->videos->len; i++) {
    const GstSamCocoVideo *video = g_ptr_array_index (self->videos, i);

    for (k = 0; k < video->tracks->len; k++) {
      const GstSamCocoTrack *track = g_ptr_array_index (video->tracks, k);

      if (track->masks.first >= 0 && !(self->by_video ? add_object :
              add_masks) (self, i + 1, video, track, error))
        return FALSE;
    }
  }
  g_string_append (self->text, "],\n");
  return TRUE;
}

/* Those of lost frames, too. */
static gboolean
add_file_names (GstSamCoco * self, const GstSamCocoVideo * video,
    GError ** error)
{
  gint64 at = video->frames.first;
  GstSamEntry entry = {.frame = 0 };
  gboolean loaded = FALSE;
  guint64 frame;

  g_string_append (self->text, ",\"file_names\":[");
  for (frame = video->first_frame; frame <= video->last_frame; frame++) {
    if (!loaded && at >= 0) {
      if (!gst_sam_coco_check (self, gst_sam_spool_read (&self->spool, at,
                  &entry), error))
        return FALSE;
      at = gst_sam_chain_next (&video->frames, at, &entry);
      loaded = TRUE;
    }
    g_string_append_printf (self->text, "%s\"%05" G_GUINT64_FORMAT ".jpg\"",
        frame > video->first_frame ? "," : "", loaded && entry.frame == frame ?
        entry.number : frame);
    loaded &= entry.frame != frame;
    if (!flush_text (self, CHUNK, error))
      return FALSE;
  }
  g_string_append_c (self->text, ']');
  return TRUE;
}

static gboolean
add_videos (GstSamCoco * self, GError ** error)
{
  guint i;

  g_string_append (self->text, "\"videos\":[");
  for (i = 0; i < self->videos->len; i++) {
    const GstSamCocoVideo *video = g_ptr_array_index (self->videos, i);

    g_string_append_printf (self->text, "%s\n{\"id\":%u", i ? "," : "", i + 1);
    add_number (self, "width", video->width);
    add_number (self, "height", video->height);
    add_number (self, "length", get_length (video));
    if (!add_file_names (self, video, error))
      return FALSE;
    g_string_append_c (self->text, '}');
  }
  g_string_append (self->text, "],\n");
  return TRUE;
}

static void
add_image (GstSamCoco * self, guint video_id, const GstSamCocoVideo * video,
    const GstSamEntry * entry)
{
  g_string_append_printf (self->text, "\n{\"id\":%" G_GUINT64_FORMAT
      ",\"file_name\":\"%05" G_GUINT64_FORMAT ".jpg\"", entry->frame + 1,
      entry->number);
  add_number (self, "video_id", video_id);
  add_number (self, "frame_id", entry->frame - video->first_frame);
  add_number (self, "width", video->width);
  add_number (self, "height", video->height);
  add_number (self, "pts", entry->pts);
  add_number (self, "running_time", entry->running_time);
  g_string_append_c (self->text, '}');
}

/* The frames that are not lost. */
static gboolean
add_images (GstSamCoco * self, GError ** error)
{
  gboolean any = FALSE;
  GstSamEntry entry;
  gint64 at;
  guint i;

  g_string_append (self->text, "\"images\":[");
  for (i = 0; i < self->videos->len; i++) {
    const GstSamCocoVideo *video = g_ptr_array_index (self->videos, i);

    for (at = video->frames.first; at >= 0;
        at = gst_sam_chain_next (&video->frames, at, &entry)) {
      if (!gst_sam_coco_check (self, gst_sam_spool_read (&self->spool, at,
                  &entry), error))
        return FALSE;
      if (any)
        g_string_append_c (self->text, ',');
      any = TRUE;
      add_image (self, i + 1, video, &entry);
      if (!flush_text (self, CHUNK, error))
        return FALSE;
    }
  }
  g_string_append (self->text, "],\n");
  return TRUE;
}

gboolean
gst_sam_coco_write (GstSamCoco * self, GstSamOutput * output, GError ** error)
{
  guint i;

  self->output = output;
  self->num_annotations = 0;
  g_string_printf (self->text, "{\"info\":{\"description\":\"%s "
      SAM_VERSION "\"},\"licenses\":[],\n", self->creator);
  if (!add_videos (self, error) || !add_images (self, error) ||
      !add_annotations (self, error))
    return FALSE;
  if (!self->plain)
    get_category (self, "");
  g_string_append (self->text, "\"categories\":[");
  for (i = 0; i < self->labels->len; i++) {
    g_string_append_printf (self->text, "%s{\"id\":%u,\"name\":",
        i ? "," : "", i + 1);
    gst_sam_json_append_text (self->text, g_ptr_array_index (self->labels,
            i));
    g_string_append_c (self->text, '}');
  }
  g_string_append (self->text, "]}\n");
  return flush_text (self, 0, error);
}
