/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_COCO_H__
#define __GST_SAM_COCO_H__

#include "gstsamcoder.h"
#include "gstsamoutput.h"
#include "gstsamspool.h"

G_BEGIN_DECLS

/* An object of a video. */
typedef struct
{
  guint64 id;                   /* in the meta */
  gchar source[GST_SAM_TEXT_BYTES];
  gchar label[GST_SAM_TEXT_BYTES];      /* the last one it had */
  GstSamChain masks;
  GstSamChain before;           /* the same before the latest frame */
} GstSamCocoTrack;

/* Frames of one stream and size, with masks of one size. */
typedef struct
{
  guint stream;
  gint frame_width, frame_height;
  gint width, height;           /* of the masks, px; of the frames if there is
                                 * none */
  gboolean masked;
  guint64 first_frame, last_frame;
  GstSamChain frames;
  GPtrArray *tracks;            /* of GstSamCocoTrack, by appearance */
} GstSamCocoVideo;

/**
 * GstSamCoco:
 * @by_video: whether an annotation is an object with lists of its masks, boxes
 * and areas by frame, as YouTube-VIS has it; else it is an object on one frame,
 * and `track_id` tells which belong together
 * @plain: annotations do not name the tracker, and only categories that are in
 * use are listed
 * @creator: name of the program
 * @location: for messages
 * @names: (nullable): id -> text, which goes before the label of an object
 *
 * What was collected of a stream, and the file that is made of it.
 */
typedef struct
{
  gboolean by_video, plain;
  const gchar *creator, *location;
  GHashTable *names;            /* not owned */
  GstSamSpool spool;
  gint64 frame_start;           /* of the latest frame in the spool */
  GPtrArray *videos;            /* of GstSamCocoVideo */
  GPtrArray *labels;            /* of strings: names of categories */

  /* while the file is written */
  GstSamOutput *output;         /* not owned */
  GString *text;
  guint num_annotations;
} GstSamCoco;

void gst_sam_coco_init (GstSamCoco * coco, gboolean by_video,
    const gchar * creator, const gchar * location);
void gst_sam_coco_clear (GstSamCoco * coco);

/* Whether @number, an error number or 0, is 0; else sets @error. */
gboolean gst_sam_coco_check (const GstSamCoco * coco, int number,
    GError ** error);

/* Collect a frame with which @coder has begun. @index: its place in the stream,
 * larger than that of the frame before: the ids of images count from it, and
 * frames that are left out are lost ones. Returns FALSE and sets @error if it
 * is not kept. */
gboolean gst_sam_coco_add (GstSamCoco * coco, const GstSamRecord * record,
    GstSamCoder * coder, guint64 index, GError ** error);

/* Write the file. Returns FALSE and sets @error if it is not complete. */
gboolean gst_sam_coco_write (GstSamCoco * coco, GstSamOutput * output,
    GError ** error);

G_END_DECLS

#endif /* __GST_SAM_COCO_H__ */
