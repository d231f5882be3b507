/* Frames as a COCO file of videos, in the form of YouTube-VIS: an annotation is
 * an object, with lists of its masks, boxes and areas by frame. The lists are
 * known when the stream has ended; until then all is kept in a spool. */

#include "gstsamformat.h"
#include "gstsamspool.h"
#include "json/gstsamjson.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of the file that are collected before they are written. */
#define CHUNK (1 << 16)

typedef struct
{
  guint64 id;                   /* in the meta */
  gchar source[GST_SAM_TEXT_BYTES];
  gchar label[GST_SAM_TEXT_BYTES];      /* the last one it had */
  GstSamChain masks;
} Track;

typedef struct
{
  guint stream;
  gint frame_width, frame_height;
  gint width, height;           /* of the masks, px; of the frames if there is
                                 * none */
  gboolean masked;
  guint64 first_frame, last_frame;
  GstSamChain frames;
  GPtrArray *tracks;            /* of Track, in order of appearance */
} Video;

typedef struct
{
  GstSamFormat parent;
  GstSamTally *tally;
  gchar *location;
  GstSamCoder coder;
  GstSamSpool spool;
  GPtrArray *videos;
  GPtrArray *labels;            /* of strings: names of categories */
  guint waiting;                /* frames that no finished file has */
  gboolean finished;            /* there is a finished file */

  /* while the file is written, to parent.output */
  GString *text;
  guint num_annotations;
} CocoFormat;

static gboolean
check (const CocoFormat * self, int number, GError ** error)
{
  if (number)
    g_set_error (error, GST_RESOURCE_ERROR, gst_sam_output_get_code (number),
        "Cannot write '%s': %s.", self->location, g_strerror (number));
  return !number;
}

/* Collecting */

static void
free_video (gpointer data)
{
  Video *video = data;

  g_ptr_array_unref (video->tracks);
  g_free (video);
}

static Video *
add_video (CocoFormat * self, const GstSamRecord * record)
{
  const GstSamChain none = GST_SAM_CHAIN_INIT;
  Video *video = g_new0 (Video, 1);

  video->stream = record->stream;
  video->width = video->frame_width = record->width;
  video->height = video->frame_height = record->height;
  video->first_frame = video->last_frame = record->frame;
  video->frames = none;
  video->tracks = g_ptr_array_new_with_free_func (g_free);
  g_ptr_array_add (self->videos, video);
  return video;
}

/* A video has frames of one stream and size, and masks of one size. */
static Video *
get_video (CocoFormat * self, const GstSamRecord * record)
{
  const GstSamCoder *coder = &self->coder;
  Video *video = self->videos->len ? g_ptr_array_index (self->videos,
      self->videos->len - 1) : NULL;

  if (!video || video->stream != record->stream ||
      video->frame_width != record->width ||
      video->frame_height != record->height ||
      (coder->labels && video->masked && (video->width != coder->width ||
              video->height != coder->height)))
    video = add_video (self, record);
  if (coder->labels) {
    video->masked = TRUE;
    video->width = coder->width;
    video->height = coder->height;
  }
  return video;
}

static Track *
get_track (Video * video, const GstSamRecord * record, guint64 id)
{
  const GstSamChain none = GST_SAM_CHAIN_INIT;
  Track *track;
  guint i;

  /* From the latest one on: those that are gone are never asked for. */
  for (i = video->tracks->len; i > 0; i--) {
    track = g_ptr_array_index (video->tracks, i - 1);
    if (track->id == id && g_str_equal (track->source, record->source))
      return track;
  }
  track = g_new0 (Track, 1);
  track->id = id;
  memcpy (track->source, record->source, sizeof track->source);
  track->masks = none;
  g_ptr_array_add (video->tracks, track);
  return track;
}

static gboolean
add_object (CocoFormat * self, Video * video, const GstSamRecord * record,
    guint i, GError ** error)
{
  const GstSamObject *object = &record->report.object[i];
  const GstSamRegion *region = gst_sam_coder_get_region (&self->coder, object);
  GstSamEntry entry = {.frame = record->frame };
  Track *track;

  if (!region)
    return TRUE;
  track = get_track (video, record, object->id);
  if (*record->label[i])
    memcpy (track->label, record->label[i], sizeof track->label);
  entry.box[0] = region->x;
  entry.box[1] = region->y;
  entry.box[2] = region->w;
  entry.box[3] = region->h;
  entry.area = region->area;
  return check (self, gst_sam_spool_append (&self->spool, &track->masks,
          &entry, gst_sam_coder_get_counts (&self->coder, object)), error);
}

/* The frame's own entry comes last: a frame without it is lost. */
static gboolean
add_frame (CocoFormat * self, const GstSamRecord * record, GError ** error)
{
  Video *video = get_video (self, record);
  GstSamEntry entry = {
    .frame = record->frame,.pts = record->pts,
    .running_time = record->running_time
  };
  guint i;

  for (i = 0; i < record->report.num_objects; i++) {
    if (!add_object (self, video, record, i, error))
      return FALSE;
  }
  if (!check (self, gst_sam_spool_append (&self->spool, &video->frames, &entry,
              NULL), error))
    return FALSE;
  video->last_frame = record->frame;
  return TRUE;
}

static gboolean
coco_write (GstSamFormat * format, const GstSamRecord * record, GError ** error)
{
  CocoFormat *self = (CocoFormat *) format;
  gboolean ok;

  if (!gst_sam_coder_begin (&self->coder, record, error))
    return FALSE;
  ok = add_frame (self, record, error);
  gst_sam_coder_end (&self->coder);
  if (ok) {
    self->waiting++;
    gst_sam_tally_add_written (self->tally, 0, 0);
  }
  return ok;
}

/* The file */

static gboolean
flush_text (CocoFormat * self, gsize more_than, GError ** error)
{
  GstSamOutput *output = self->parent.output;

  if (self->text->len <= more_than)
    return TRUE;
  if (!output->write (output, self->text->str, self->text->len, error))
    return FALSE;
  g_string_truncate (self->text, 0);
  return TRUE;
}

/* The number of a category, from 1. */
static guint
get_category (CocoFormat * self, const gchar * label)
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
get_length (const Video * video)
{
  return video->last_frame - video->first_frame + 1;
}

static void
add_string (CocoFormat * self, const gchar * text)
{
  gst_sam_json_append_text (self->text, text);
}

static void
add_number (CocoFormat * self, const gchar * name, guint64 value)
{
  if (value > G_MAXINT64)
    g_string_append_printf (self->text, ",\"%s\":null", name);
  else
    g_string_append_printf (self->text, ",\"%s\":%" G_GUINT64_FORMAT, name,
        value);
}

static void
add_segmentation (CocoFormat * self, const Video * video)
{
  g_string_append_printf (self->text, "{\"size\":[%d,%d],\"counts\":",
      video->height, video->width);
  add_string (self, self->spool.text);
  g_string_append_c (self->text, '}');
}

static void
add_box (CocoFormat * self, const GstSamEntry * entry)
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
add_value (CocoFormat * self, const Video * video, const GstSamEntry * entry,
    List list)
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
add_list (CocoFormat * self, const Video * video, const Track * track,
    List list, GError ** error)
{
  static const gchar *names[] = { "segmentations", "bboxes", "areas" };
  gint64 at = track->masks.first;
  gboolean loaded = FALSE;
  GstSamEntry entry;
  guint64 frame;

  g_string_append_printf (self->text, ",\"%s\":[", names[list]);
  for (frame = video->first_frame; frame <= video->last_frame; frame++) {
    if (!loaded && at >= 0 && !check (self, gst_sam_spool_read (&self->spool,
                at, &entry), error))
      return FALSE;
    loaded = at >= 0;
    if (frame > video->first_frame)
      g_string_append_c (self->text, ',');
    if (!loaded || entry.frame != frame) {
      g_string_append (self->text, "null");
    } else {
      add_value (self, video, &entry, list);
      at = entry.next;
      loaded = FALSE;
    }
    if (!flush_text (self, CHUNK, error))
      return FALSE;
  }
  g_string_append_c (self->text, ']');
  return TRUE;
}

/* What plain COCO asks for besides the lists is of the first frame that shows
 * the object. */
static gboolean
add_annotation (CocoFormat * self, guint video_id, const Video * video,
    const Track * track, GError ** error)
{
  GstSamEntry entry;

  if (!check (self, gst_sam_spool_read (&self->spool, track->masks.first,
              &entry), error))
    return FALSE;
  g_string_append_printf (self->text, "%s\n{\"id\":%u",
      self->num_annotations ? "," : "", self->num_annotations + 1);
  self->num_annotations++;
  add_number (self, "video_id", video_id);
  add_number (self, "category_id", get_category (self, track->label));
  add_number (self, "iscrowd", 0);
  add_number (self, "object_id", track->id);
  g_string_append (self->text, ",\"source\":");
  add_string (self, track->source);
  add_number (self, "width", video->width);
  add_number (self, "height", video->height);
  add_number (self, "length", get_length (video));
  add_number (self, "image_id", entry.frame + 1);
  g_string_append (self->text, ",\"segmentation\":");
  add_segmentation (self, video);
  g_string_append (self->text, ",\"bbox\":");
  add_box (self, &entry);
  add_number (self, "area", entry.area);
  if (!add_list (self, video, track, LIST_SEGMENTATIONS, error) ||
      !add_list (self, video, track, LIST_BOXES, error) ||
      !add_list (self, video, track, LIST_AREAS, error))
    return FALSE;
  g_string_append_c (self->text, '}');
  return TRUE;
}

static gboolean
add_annotations (CocoFormat * self, GError ** error)
{
  guint i, k;

  self->num_annotations = 0;
  g_string_append (self->text, "\"annotations\":[");
  for (i = 0; i < self->videos->len; i++) {
    const Video *video = g_ptr_array_index (self->videos, i);

    for (k = 0; k < video->tracks->len; k++) {
      const Track *track = g_ptr_array_index (video->tracks, k);

      if (track->masks.first >= 0 &&
          !add_annotation (self, i + 1, video, track, error))
        return FALSE;
    }
  }
  g_string_append (self->text, "],\n");
  return TRUE;
}

static gboolean
add_videos (CocoFormat * self, GError ** error)
{
  guint64 frame;
  guint i;

  g_string_append (self->text, "\"videos\":[");
  for (i = 0; i < self->videos->len; i++) {
    const Video *video = g_ptr_array_index (self->videos, i);

    g_string_append_printf (self->text, "%s\n{\"id\":%u", i ? "," : "", i + 1);
    add_number (self, "width", video->width);
    add_number (self, "height", video->height);
    add_number (self, "length", get_length (video));
    g_string_append (self->text, ",\"file_names\":[");
    for (frame = video->first_frame; frame <= video->last_frame; frame++) {
      g_string_append_printf (self->text, "%s\"%05" G_GUINT64_FORMAT ".jpg\"",
          frame > video->first_frame ? "," : "", frame);
      if (!flush_text (self, CHUNK, error))
        return FALSE;
    }
    g_string_append (self->text, "]}");
  }
  g_string_append (self->text, "],\n");
  return TRUE;
}

static void
add_image (CocoFormat * self, guint video_id, const Video * video,
    const GstSamEntry * entry)
{
  g_string_append_printf (self->text, "\n{\"id\":%" G_GUINT64_FORMAT
      ",\"file_name\":\"%05" G_GUINT64_FORMAT ".jpg\"", entry->frame + 1,
      entry->frame);
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
add_images (CocoFormat * self, GError ** error)
{
  gboolean any = FALSE;
  GstSamEntry entry;
  gint64 at;
  guint i;

  g_string_append (self->text, "\"images\":[");
  for (i = 0; i < self->videos->len; i++) {
    const Video *video = g_ptr_array_index (self->videos, i);

    for (at = video->frames.first; at >= 0; at = entry.next) {
      if (!check (self, gst_sam_spool_read (&self->spool, at, &entry), error))
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

static gboolean
write_file (CocoFormat * self, GError ** error)
{
  guint i;

  g_string_assign (self->text, "{\"info\":{\"description\":\"samexport "
      VERSION "\"},\"licenses\":[],\n");
  if (!add_videos (self, error) || !add_images (self, error) ||
      !add_annotations (self, error))
    return FALSE;
  get_category (self, "");
  g_string_append (self->text, "\"categories\":[");
  for (i = 0; i < self->labels->len; i++) {
    g_string_append_printf (self->text, "%s{\"id\":%u,\"name\":",
        i ? "," : "", i + 1);
    add_string (self, g_ptr_array_index (self->labels, i));
    g_string_append_c (self->text, '}');
  }
  g_string_append (self->text, "]}\n");
  return flush_text (self, 0, error);
}

/* Written beside its name, and renamed when it is complete. */
static gboolean
replace_file (CocoFormat * self, GError ** error)
{
  GstSamFormat *format = &self->parent;
  gchar *part = g_strdup_printf ("%s.%08x.part", self->location,
      g_random_int ());
  gboolean ok = FALSE;

  format->output = gst_sam_output_new_file (part, self->tally, error);
  if (format->output) {
    format->output->frames = 0;
    ok = write_file (self, error);
    format->output->free (format->output);
    format->output = NULL;
    if (ok && g_rename (part, self->location))
      ok = check (self, errno, error);
    if (!ok)
      unlink (part);
  }
  g_free (part);
  return ok;
}

static gboolean
coco_finish (GstSamFormat * format, GError ** error)
{
  CocoFormat *self = (CocoFormat *) format;

  if (self->finished && !self->waiting)
    return TRUE;
  if (format->output ? !write_file (self, error) : !replace_file (self, error))
    return FALSE;
  self->finished = TRUE;
  gst_sam_tally_add_written (self->tally, self->waiting, 0);
  self->waiting = 0;
  return TRUE;
}

static void
coco_free (GstSamFormat * format)
{
  CocoFormat *self = (CocoFormat *) format;
  GError *error = NULL;

  if (self->waiting) {
    g_set_error (&error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE,
        "'%s' was not written.", self->location);
    gst_sam_tally_add_lost (self->tally, self->waiting, error);
    g_error_free (error);
  }
  if (format->output)
    format->output->free (format->output);
  gst_sam_spool_close (&self->spool);
  gst_sam_coder_clear (&self->coder);
  g_ptr_array_unref (self->videos);
  g_ptr_array_unref (self->labels);
  g_string_free (self->text, TRUE);
  g_free (self->location);
  g_free (self);
}

static gboolean
open_target (CocoFormat * self, GError ** error)
{
  struct stat st;

  if (!strcmp (self->location, "-")) {
    self->parent.output = gst_sam_output_new_file ("-", self->tally, error);
    if (self->parent.output)
      self->parent.output->frames = 0;
    return self->parent.output != NULL;
  }
  if (stat (self->location, &st) || S_ISREG (st.st_mode))
    return TRUE;
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE,
      "The file '%s' cannot be opened for writing: it is a %s, expected a "
      "regular file.", self->location, S_ISDIR (st.st_mode) ? "folder" :
      "pipe or a device");
  return FALSE;
}

static gboolean
open_spool (CocoFormat * self, GError ** error)
{
  gchar *folder = strcmp (self->location, "-") ?
      g_path_get_dirname (self->location) : g_strdup (g_get_tmp_dir ());
  const int number = gst_sam_spool_open (&self->spool, folder);

  if (number)
    g_set_error (error, GST_RESOURCE_ERROR, number == ENOENT ?
        GST_RESOURCE_ERROR_NOT_FOUND : GST_RESOURCE_ERROR_OPEN_WRITE,
        "No file can be created in the folder '%s': %s.", folder,
        g_strerror (number));
  g_free (folder);
  return !number;
}

GstSamFormat *
gst_sam_format_new_coco (const gchar * location, GstSamExportMaskSize size,
    GstSamTally * tally, GError ** error)
{
  CocoFormat *self = g_new0 (CocoFormat, 1);

  self->parent.write = coco_write;
  self->parent.finish = coco_finish;
  self->parent.free = coco_free;
  self->tally = tally;
  self->location = g_strdup (location);
  self->spool.fd = -1;
  self->videos = g_ptr_array_new_with_free_func (free_video);
  self->labels = g_ptr_array_new_with_free_func (g_free);
  self->text = g_string_new (NULL);
  gst_sam_coder_init (&self->coder, size);
  if (open_target (self, error) && open_spool (self, error))
    return &self->parent;
  coco_free (&self->parent);
  return NULL;
}
