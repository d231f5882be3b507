/* SPDX-License-Identifier: MIT */
#include "picture.h"

/* Bytes of a row of a plane that are shown; 0: not known. */
static gint get_row_bytes(const GstVideoFrame *frame, guint plane)
{
    guint c;

    for (c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(frame); c++)
        if (GST_VIDEO_FRAME_COMP_PLANE(frame, c) == plane)
            return GST_VIDEO_FRAME_COMP_WIDTH(frame, c) * GST_VIDEO_FRAME_COMP_PSTRIDE(frame, c);
    return 0;
}

static gint get_rows(const GstVideoFrame *frame, guint plane)
{
    guint c;

    for (c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(frame); c++)
        if (GST_VIDEO_FRAME_COMP_PLANE(frame, c) == plane)
            return GST_VIDEO_FRAME_COMP_HEIGHT(frame, c);
    return 0;
}

gchar *pixels_hash(GstBuffer *buffer, const GstVideoInfo *info)
{
    GChecksum *sum;
    GstVideoFrame frame;
    gchar *hash;
    guint p;
    gint y;

    if (!gst_video_frame_map(&frame, info, buffer, GST_MAP_READ))
        return NULL;
    sum = g_checksum_new(G_CHECKSUM_SHA256);
    for (p = 0; p < GST_VIDEO_FRAME_N_PLANES(&frame); p++) {
        const gint stride = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, p);
        const gint shown = get_row_bytes(&frame, p);
        const guint8 *row = GST_VIDEO_FRAME_PLANE_DATA(&frame, p);

        for (y = 0; y < get_rows(&frame, p); y++, row += stride)
            g_checksum_update(sum, row, shown > 0 && shown < stride ? shown : stride);
    }
    gst_video_frame_unmap(&frame);
    hash = g_strdup(g_checksum_get_string(sum));
    g_checksum_free(sum);
    return hash;
}
