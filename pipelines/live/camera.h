/* SPDX-License-Identifier: MIT */
/* One source of video with its tracker: a pipeline that runs from start to end, whatever becomes of
 * the source and of the viewers. All functions are for the main thread, except where they say so.
 * */
#ifndef LIVE_CAMERA_H
#define LIVE_CAMERA_H

#include "annotations.h"
#include "output.h"
#include "settings.h"

typedef struct Camera Camera;

/* Starts the pipeline and the source. NULL and *error if the pipeline cannot start. `settings` must
 * outlive the camera, as must the annotations, which keep what is tracked; NULL: nothing is
 * kept. */
Camera *camera_new(const CameraSettings *settings, const gchar *encoder,
    Annotations *annotations, GError **error);
/* No frame comes any more, and the tracker is gone; viewers may still be there. */
void camera_stop(Camera *camera);
void camera_free(Camera *camera);

const gchar *camera_get_name(const Camera *camera);
GstElement *camera_get_track(Camera *camera); /* the samtrack; no reference is taken */
GstElement *camera_get_zones(Camera *camera); /* the samzones, likewise */
GstElement *camera_get_pipeline(Camera *camera);
GstElement *camera_get_tee(Camera *camera); /* all frames pass it, with all metas; likewise */

Output *camera_get_clean(Camera *camera);     /* H.264 */
Output *camera_get_annotated(Camera *camera); /* H.264 with masks */
Output *camera_get_jpeg(Camera *camera);      /* JPEG with masks */
Output *camera_get_picture(Camera *camera);   /* JPEG */

/* What the tracker tells: element messages, and details of its warnings. NULL: nobody hears it. */
typedef void (*CameraListener)(const GstStructure *message, gpointer user);
void camera_set_listener(Camera *camera, CameraListener func, gpointer user);

/* Whether the source ever gave a frame: from then on there always are some. */
gboolean camera_has_frames(Camera *camera);
/* NULL while the source gives frames, else a sentence. */
const gchar *camera_get_fault(const Camera *camera);
/* NULL unless the pipeline itself failed; it is started again after a while. */
const gchar *camera_get_failure(const Camera *camera);

typedef struct {
    guint64 frames;  /* that came from the source */
    guint64 dropped; /* that found the pipeline full; the tracker never saw them */
    guint reconnects;
    gdouble rate; /* frames per second in the last seconds */
    gint width, height;
} CameraCounts;

void camera_get_counts(Camera *camera, CameraCounts *counts);

/* Running time now, ns; the time base of all frames and prompts. May be called from any thread. */
GstClockTime camera_get_time(Camera *camera);

/* Running time of the first frame after the last drop-out; 0: there was none. */
GstClockTime camera_get_return(Camera *camera);

#endif
