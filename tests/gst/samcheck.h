/* SPDX-License-Identifier: MIT */
/* What the plugin's tests share: a scene with a known mask, harnesses, the meta
 * read by its public names, and the leaks tracer. */
#ifndef SAMCHECK_H
#define SAMCHECK_H

#include <gst/check/gstcheck.h>
#include <gst/check/gstharness.h>
#include <gst/video/video.h>

/* For each check that holds, libcheck writes to a pipe where it was, to tell it
 * after a crash. Where all pixels are checked this takes longer than all else. */
#define _mark_point(file, line) ((void) 0)

/* The scene: a bright square on a dark ground, in fractions of the frame.
 */
#define SQUARE_X0 0.25
#define SQUARE_Y0 0.25
#define SQUARE_X1 0.625
#define SQUARE_Y1 0.75
#define SQUARE_BOX "box,x=0.25,y=0.25,w=0.375,h=0.5,normalized=true"
#define SQUARE_POINT "point,x=0.4375,y=0.5,normalized=true"

/* Label maps of the embedded model against the square: the model is small, its
 * masks are coarse, and it is trained anew now and then; 0.58 to 0.95 were
 * seen. The whole frame would have 0.19, a mask elsewhere 0. */
#define GOOD_IOU 0.5

/* The same of the scripted tracker (../scripted/), whose masks are the boxes of
 * prompts, or what points stand for, to the pixel. */
#define SAME_IOU 0.99

/* @launch is one element, with its properties. The source is not live. */
GstHarness *sam_harness_new (const gchar * launch, GstVideoFormat format,
    gint width, gint height);

/* Frame of the harness's caps with the square moved by that fraction. */
GstBuffer *sam_frame_new (const GstVideoInfo * info, gdouble moved);
GstBuffer *sam_harness_frame (GstHarness * h, guint n);

/* Push the n-th frame and pull what comes out. */
GstBuffer *sam_harness_run (GstHarness * h, guint n);

const GstStructure *sam_get_meta (GstBuffer * buf);
guint sam_get_num_objects (const GstStructure * meta);
const GstStructure *sam_get_object (const GstStructure * meta, guint i);
guint64 sam_get_id (const GstStructure * meta, guint i);
gint sam_get_int (const GstStructure * s, const gchar * name);
guint sam_get_uint (const GstStructure * s, const gchar * name);
guint64 sam_get_uint64 (const GstStructure * s, const gchar * name);
gdouble sam_get_double (const GstStructure * s, const gchar * name);
guint64 sam_get_stat (GstElement * element, const gchar * name);

guint64 sam_get_seeding (GstElement * track, const gchar * field);

/* At most so many objects, each label of which can be written. Returns their
 * number. */
guint sam_check_objects (const GstStructure * meta, guint most);

/* Takes over a buffer: the frames that its last object has still to replay. */
guint sam_take_behind (GstBuffer * buf);

/* IoU of where the label map holds @label with the (unmoved) square. */
gdouble sam_mask_iou (const guint8 * labels, gint width, gint height,
    gint stride, guint label);
gdouble sam_meta_iou (const GstStructure * meta, guint i);

void sam_read_properties (GObject * object);

/* A new folder, and the path of a file of that name in it. The other removes
 * them, and fails if anything else is there. */
extern gchar *sam_folder, *sam_file;
void sam_folder_make (const gchar * name);
void sam_folder_remove (void);

/* Add what a detector upstream does: a region of interest with a score. */
void sam_add_region (GstBuffer * buf, const gchar * name, gint x, gint y,
    gint w, gint h, gdouble score);

/* The element with its properties does not start; its error message holds
 * @text, and its code is that. */
void sam_expect_refusal (const gchar * launch, const gchar * text, gint code);

/* A mask of 16 x 12 px for add-mask; write one of 32 x 24 px to a PNG file. */
GstSample *sam_sample_new (void);
void sam_write_png (const gchar * location);
/* Have videotestsrc draw a PNG file. */
void sam_write_picture (const gchar * format, const gchar * pattern,
    const gchar * location);

/* A bus on which the messages of the harness's element wait;
 * sam_harness_close() ends both. */
GstBus *sam_harness_add_bus (GstHarness * h);
void sam_harness_close (GstHarness * h, GstBus * bus);
guint sam_count_messages (GstBus * bus, GstMessageType type, gchar ** text);

/* A test case whose every test ends with a look at the leaks tracer. */
TCase *sam_tcase_new (Suite * suite, const gchar * name);

/* The same with a tiny model of random weights, for tests that do not look at
 * masks. */
TCase *sam_tcase_new_tiny (Suite * suite, const gchar * name);

#endif
