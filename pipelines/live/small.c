/* SPDX-License-Identifier: MIT */
#include "small.h"

#include "common/gstsampalette.h"

#include <gst/video/video.h>
#include <string.h>

#define ENCODE_TIME (5 * GST_SECOND)
#define DASH_PX 6

/* Of I420, without padding. */
typedef struct {
    guint8 *data; /* of SMALL_PX * SMALL_PX * 3 / 2 bytes, at most */
    gint width, height;
    GstClockTime time; /* NONE: there is no frame in it */
} Frame;

struct Small {
    GstPad *pad;
    gulong probe;
    GstCaps *caps; /* of the frames that pass; streaming thread */
    GstVideoInfo info;

    GMutex lock; /* guards what follows */
    Frame *frames;
    guint depth, next;
};

/* Even numbers, as I420 has them. */
static void find_size(gint width, gint height, gint *w, gint *h)
{
    const gint longer = MAX(width, height);

    if (longer <= SMALL_PX) {
        *w = width & ~1;
        *h = height & ~1;
    } else {
        *w = MAX(2, (gint) ((gint64) width * SMALL_PX / longer) & ~1);
        *h = MAX(2, (gint) ((gint64) height * SMALL_PX / longer) & ~1);
    }
}

/* The mean of four pixels of each cell: enough for a small picture, and it costs the same whatever
 * the frame's size is. */
static void shrink_plane(const guint8 *from, gint stride, gint width, gint height, guint8 *to,
    gint w, gint h)
{
    gint left[SMALL_PX], right[SMALL_PX], x, y;

    for (x = 0; x < w; x++) {
        left[x] = (gint) ((4 * (gint64) x + 1) * width / (4 * w));
        right[x] = (gint) ((4 * (gint64) x + 3) * width / (4 * w));
    }
    for (y = 0; y < h; y++, to += w) {
        const guint8 *above = from + (4 * (gint64) y + 1) * height / (4 * h) * stride;
        const guint8 *below = from + (4 * (gint64) y + 3) * height / (4 * h) * stride;

        for (x = 0; x < w; x++)
            to[x] = (guint8) ((above[left[x]] + above[right[x]] + below[left[x]] +
                below[right[x]] + 2) / 4);
    }
}

static void shrink(const GstVideoFrame *from, Frame *to)
{
    guint8 *plane = to->data;
    guint p;

    find_size(GST_VIDEO_FRAME_WIDTH(from), GST_VIDEO_FRAME_HEIGHT(from), &to->width, &to->height);
    for (p = 0; p < 3; p++) {
        const gint w = p ? to->width / 2 : to->width, h = p ? to->height / 2 : to->height;

        shrink_plane(GST_VIDEO_FRAME_PLANE_DATA(from, p), GST_VIDEO_FRAME_PLANE_STRIDE(from, p),
            GST_VIDEO_FRAME_COMP_WIDTH(from, p), GST_VIDEO_FRAME_COMP_HEIGHT(from, p), plane, w, h);
        plane += w * h;
    }
}

static gboolean read_caps(Small *small)
{
    GstCaps *caps = gst_pad_get_current_caps(small->pad);

    if (caps != small->caps) {
        gst_caps_replace(&small->caps, caps);
        if (!caps || !gst_video_info_from_caps(&small->info, caps) ||
            GST_VIDEO_INFO_FORMAT(&small->info) != GST_VIDEO_FORMAT_I420)
            gst_video_info_init(&small->info);
    }
    gst_clear_caps(&caps);
    return small->info.width >= 2 && small->info.height >= 2;
}

/* A streaming thread. */
static GstPadProbeReturn on_frame(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    Small *small = data;
    GstVideoFrame from;
    Frame *to;

    if (!read_caps(small) || !gst_video_frame_map(&from, &small->info, buffer, GST_MAP_READ))
        return GST_PAD_PROBE_OK;
    g_mutex_lock(&small->lock);
    to = &small->frames[small->next];
    small->next = (small->next + 1) % small->depth;
    shrink(&from, to);
    to->time = GST_BUFFER_PTS(buffer);
    g_mutex_unlock(&small->lock);
    gst_video_frame_unmap(&from);
    return GST_PAD_PROBE_OK;
}

/* Once no call of the probe is under way any more. */
static void clear(gpointer data)
{
    Small *small = data;
    guint i;

    for (i = 0; i < small->depth; i++)
        g_free(small->frames[i].data);
    g_free(small->frames);
    gst_clear_caps(&small->caps);
    g_mutex_clear(&small->lock);
    g_free(small);
}

Small *small_new(GstPad *pad, guint depth)
{
    Small *small = g_new0(Small, 1);
    guint i;

    g_mutex_init(&small->lock);
    small->depth = depth;
    small->frames = g_new0(Frame, depth);
    for (i = 0; i < depth; i++) {
        small->frames[i].data = g_malloc(SMALL_PX * SMALL_PX * 3 / 2);
        small->frames[i].time = GST_CLOCK_TIME_NONE;
    }
    small->pad = gst_object_ref(pad);
    small->probe = gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, small, clear);
    return small;
}

void small_free(Small *small)
{
    GstPad *pad = small->pad;

    gst_pad_remove_probe(pad, small->probe);
    gst_object_unref(pad);
}

/* Needs the lock. NULL: there is none. */
static const Frame *find(const Small *small, GstClockTime time)
{
    const Frame *best = NULL;
    GstClockTime least = GST_CLOCK_TIME_NONE;
    guint i;

    for (i = 0; i < small->depth; i++) {
        const Frame *frame = &small->frames[i];
        const GstClockTime wanted = GST_CLOCK_TIME_IS_VALID(time) ? time : G_MAXINT64;
        const GstClockTime apart = frame->time > wanted ? frame->time - wanted :
            wanted - frame->time;

        if (GST_CLOCK_TIME_IS_VALID(frame->time) && apart < least) {
            least = apart;
            best = frame;
        }
    }
    return best;
}

static GstSample *make_sample(const Frame *frame)
{
    const gint w = frame->width, h = frame->height;
    GstBuffer *buffer;
    GstVideoFrame to;
    GstVideoInfo info;
    GstSample *sample;
    GstCaps *caps;
    const guint8 *from = frame->data;
    gint p, y;

    gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, w, h);
    caps = gst_video_info_to_caps(&info);
    buffer = gst_buffer_new_allocate(NULL, info.size, NULL);
    gst_video_frame_map(&to, &info, buffer, GST_MAP_WRITE);
    for (p = 0; p < 3; p++)
        for (y = 0; y < (p ? h / 2 : h); y++, from += p ? w / 2 : w)
            memcpy((guint8 *) GST_VIDEO_FRAME_PLANE_DATA(&to, p) + (gsize) y *
                GST_VIDEO_FRAME_PLANE_STRIDE(&to, p), from, p ? w / 2 : w);
    gst_video_frame_unmap(&to);
    GST_BUFFER_PTS(buffer) = frame->time;
    sample = gst_sample_new(buffer, caps, NULL, NULL);
    gst_buffer_unref(buffer);
    gst_caps_unref(caps);
    return sample;
}

GstSample *small_take(Small *small, GstClockTime time)
{
    GstSample *sample = NULL;
    const Frame *frame;

    g_mutex_lock(&small->lock);
    frame = find(small, time);
    if (frame)
        sample = make_sample(frame);
    g_mutex_unlock(&small->lock);
    return sample;
}

/* ---- Drawing */

typedef struct {
    GstVideoFrame frame;
    guint8 yuv[3];
} Canvas;

/* BT.601, as JPEG has it, but in the range of video. */
static gboolean open_canvas(Canvas *canvas, GstSample *sample, guint8 label)
{
    const guint32 rgb = gst_sam_palette_get(label);
    const gint r = rgb >> 16, g = rgb >> 8 & 255, b = rgb & 255;
    GstVideoInfo info;

    canvas->yuv[0] = (guint8) (16 + (66 * r + 129 * g + 25 * b + 128) / 256);
    canvas->yuv[1] = (guint8) (128 + (-38 * r - 74 * g + 112 * b) / 256);
    canvas->yuv[2] = (guint8) (128 + (112 * r - 94 * g - 18 * b) / 256);
    return gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) &&
        gst_video_frame_map(&canvas->frame, &info, gst_sample_get_buffer(sample),
            GST_MAP_READWRITE);
}

static void paint(Canvas *canvas, gint x, gint y)
{
    guint p;

    for (p = 0; p < 3; p++) {
        guint8 *plane = GST_VIDEO_FRAME_PLANE_DATA(&canvas->frame, p);
        const gint stride = GST_VIDEO_FRAME_PLANE_STRIDE(&canvas->frame, p);

        plane[(p ? y / 2 : y) * stride + (p ? x / 2 : x)] = canvas->yuv[p];
    }
}

static void darken(Canvas *canvas, gint x, gint y)
{
    guint8 *plane = GST_VIDEO_FRAME_PLANE_DATA(&canvas->frame, 0);
    guint8 *luma = &plane[y * GST_VIDEO_FRAME_PLANE_STRIDE(&canvas->frame, 0) + x];

    *luma = (guint8) (*luma / 3);
}

/* Which pixels of the picture the label has. */
static guint8 *stretch(const guint8 *labels, gint width, gint height, guint8 label, gint w, gint h)
{
    guint8 *inside = g_malloc((gsize) w * h);
    gint x, y;

    for (y = 0; y < h; y++)
        for (x = 0; x < w; x++)
            inside[y * w + x] = labels[(gsize) ((2 * (gint64) y + 1) * height / (2 * h)) * width +
                (2 * (gint64) x + 1) * width / (2 * w)] == label;
    return inside;
}

/* Whether a pixel at most so far away, to the sides and up and down, differs. The picture's edge
 * does not. */
static gboolean is_near_other(const guint8 *inside, gint w, gint h, gint x, gint y, gint far)
{
    const guint8 own = inside[y * w + x];
    gint d;

    for (d = 1; d <= far; d++)
        if ((x >= d && inside[y * w + x - d] != own) || (x + d < w &&
            inside[y * w + x + d] != own) || (y >= d && inside[(y - d) * w + x] != own) ||
            (y + d < h && inside[(y + d) * w + x] != own))
            return TRUE;
    return FALSE;
}

/* Two pixels inside in colour, one outside dark: seen on any ground. */
void small_draw_outline(GstSample *sample, const guint8 *labels, gint width, gint height,
    guint8 label)
{
    Canvas canvas;
    guint8 *inside;
    gint x, y, w, h;

    if (!open_canvas(&canvas, sample, label))
        return;
    w = GST_VIDEO_FRAME_WIDTH(&canvas.frame);
    h = GST_VIDEO_FRAME_HEIGHT(&canvas.frame);
    inside = stretch(labels, width, height, label, w, h);
    for (y = 0; y < h; y++)
        for (x = 0; x < w; x++) {
            if (inside[y * w + x] && is_near_other(inside, w, h, x, y, 2))
                paint(&canvas, x, y);
            else if (!inside[y * w + x] && is_near_other(inside, w, h, x, y, 1))
                darken(&canvas, x, y);
        }
    g_free(inside);
    gst_video_frame_unmap(&canvas.frame);
}

/* Two pixels thick, within the picture. */
static void draw_dash(Canvas *canvas, gint x, gint y, gint along)
{
    const gint w = GST_VIDEO_FRAME_WIDTH(&canvas->frame);
    const gint h = GST_VIDEO_FRAME_HEIGHT(&canvas->frame);
    gint i, k;

    for (i = 0; i < 2 && along / DASH_PX % 2 == 0; i++)
        for (k = 0; k < 2; k++)
            if (x + i >= 0 && x + i < w && y + k >= 0 && y + k < h)
                paint(canvas, x + i, y + k);
}

void small_draw_box(GstSample *sample, const gdouble box[4], guint8 label)
{
    gint x, y, left, top, right, bottom, w, h;
    Canvas canvas;

    if (!open_canvas(&canvas, sample, label))
        return;
    w = GST_VIDEO_FRAME_WIDTH(&canvas.frame);
    h = GST_VIDEO_FRAME_HEIGHT(&canvas.frame);
    left = (gint) CLAMP(box[0] * w, 0, w - 2);
    top = (gint) CLAMP(box[1] * h, 0, h - 2);
    right = (gint) CLAMP((box[0] + box[2]) * w - 2, left, w - 2);
    bottom = (gint) CLAMP((box[1] + box[3]) * h - 2, top, h - 2);
    for (x = left; x <= right; x++) {
        draw_dash(&canvas, x, top, x - left);
        draw_dash(&canvas, x, bottom, x - left);
    }
    for (y = top; y <= bottom; y++) {
        draw_dash(&canvas, left, y, y - top);
        draw_dash(&canvas, right, y, y - top);
    }
    gst_video_frame_unmap(&canvas.frame);
}

GBytes *small_encode(GstSample *sample, GError **error)
{
    GstCaps *caps = gst_caps_new_empty_simple("image/jpeg");
    GstSample *jpeg = gst_video_convert_sample(sample, caps, ENCODE_TIME, error);
    GBytes *bytes = NULL;
    GstMapInfo map;

    gst_caps_unref(caps);
    if (!jpeg)
        return NULL;
    if (gst_buffer_map(gst_sample_get_buffer(jpeg), &map, GST_MAP_READ)) {
        bytes = g_bytes_new(map.data, map.size);
        gst_buffer_unmap(gst_sample_get_buffer(jpeg), &map);
    }
    gst_sample_unref(jpeg);
    return bytes;
}
