/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_FORMAT_H__
#define __GST_SAM_FORMAT_H__

#include "gstsamcoder.h"
#include "gstsamoutput.h"

G_BEGIN_DECLS

typedef struct _GstSamFormat GstSamFormat;

/**
 * GstSamFormat:
 * @write: write a frame, and count it as written when it is. Returns FALSE and
 * sets the error (GST_RESOURCE_ERROR) if it is lost.
 * @finish: (nullable): the stream has ended: write what is written at the end,
 * and count what is lost. May be called again after more frames.
 * @free: end and free the format; it does not finish by itself
 * @output: (nullable): where texts go; owned
 *
 * One way to write frames. All functions are called in the thread that writes.
 */
struct _GstSamFormat
{
  gboolean (*write) (GstSamFormat * format, const GstSamRecord * record,
      GError ** error);
  void (*finish) (GstSamFormat * format);
  void (*free) (GstSamFormat * format);
  GstSamOutput *output;
};

/* One JSON object per frame and line; takes @output. @run: a text that the
 * lines of one run have in common. @steady: as in GstSamLineParams. */
GstSamFormat *gst_sam_format_new_json (GstSamOutput * output,
    GstSamExportMaskSize size, const gchar * run, gboolean steady);

/* Lines of the MOT challenge; takes @output. The names of classes go into a
 * file beside @location if that is, or will be, a regular file. */
GstSamFormat *gst_sam_format_new_mot (GstSamOutput * output,
    const gchar * location, gboolean will_be_file, GstSamTally * tally);

/* A COCO file, @by_video with an annotation per object, else with one per
 * object and frame. It is written when the stream ends. Until then frames are
 * kept in a file without a name beside @location; with "-", standard output, in
 * the folder for temporary files. */
GstSamFormat *gst_sam_format_new_coco (const gchar * location,
    gboolean by_video, GstSamExportMaskSize size, GstSamTally * tally,
    GError ** error);

/* PNGs with a palette in a folder, which is created if its parent exists, and
 * must have no PNGs.
 * Returns NULL and sets @error, too, if the build has no libpng. */
GstSamFormat *gst_sam_format_new_davis (const gchar * location,
    GstSamExportMaskSize size, GstSamTally * tally, GError ** error);

/* Labels of YOLO's segmentation, labels/train/00000.txt and so on, in a folder,
 * which is created if its parent exists, and must have no labels; data.yaml
 * has the names of classes. */
GstSamFormat *gst_sam_format_new_yolo (const gchar * location,
    GstSamExportMaskSize size, GstSamTally * tally, GError ** error);

G_END_DECLS

#endif /* __GST_SAM_FORMAT_H__ */
