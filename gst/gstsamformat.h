#ifndef __GST_SAM_FORMAT_H__
#define __GST_SAM_FORMAT_H__

#include "gstsamoutput.h"
#include "gstsamrecord.h"

G_BEGIN_DECLS

typedef struct _GstSamFormat GstSamFormat;

/**
 * GstSamFormat:
 * @write: write a frame, and count it as written when it is. Returns FALSE and
 * sets the error (GST_RESOURCE_ERROR) if it is lost.
 * @finish: (nullable): the stream has ended: write what is written at the end.
 * May be called again after more frames.
 * @free: end and free the format; it does not finish by itself
 * @output: (nullable): where texts go; owned
 *
 * One way to write frames. All functions are called in the thread that writes.
 */
struct _GstSamFormat
{
  gboolean (*write) (GstSamFormat * format, const GstSamRecord * record,
      GError ** error);
  gboolean (*finish) (GstSamFormat * format, GError ** error);
  void (*free) (GstSamFormat * format);
  GstSamOutput *output;
};

/* One JSON object per frame and line; takes @output. @run: a text that the
 * lines of one run have in common. */
GstSamFormat *gst_sam_format_new_json (GstSamOutput * output,
    GstSamExportMaskSize size, const gchar * run);

/* Lines of the MOT challenge; takes @output. */
GstSamFormat *gst_sam_format_new_mot (GstSamOutput * output,
    GstSamTally * tally);

/* A COCO file of videos, written when the stream ends. Until then frames are
 * kept in a file without a name beside @location; with "-", standard output, in
 * the folder for temporary files. */
GstSamFormat *gst_sam_format_new_coco (const gchar * location,
    GstSamExportMaskSize size, GstSamTally * tally, GError ** error);

/* PNGs with a palette in a folder, which is created if its parent exists.
 * Returns NULL and sets @error, too, if the build has no libpng. */
GstSamFormat *gst_sam_format_new_davis (const gchar * location,
    GstSamExportMaskSize size, GstSamTally * tally, GError ** error);

G_END_DECLS

#endif /* __GST_SAM_FORMAT_H__ */
