/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_TRACK_BIN_H__
#define __GST_SAM_TRACK_BIN_H__

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_SAM_TRACK_BIN (gst_sam_track_bin_get_type ())
G_DECLARE_FINAL_TYPE (GstSamTrackBin, gst_sam_track_bin, GST, SAM_TRACK_BIN,
    GstBin)

GST_ELEMENT_REGISTER_DECLARE (samtrackbin);

G_END_DECLS

#endif /* __GST_SAM_TRACK_BIN_H__ */
