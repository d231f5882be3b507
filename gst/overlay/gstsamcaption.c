/* SPDX-License-Identifier: MIT */
/* A text in the upper left corner and a bar of time along the lower edge, each
 * on a dark panel with round corners. */

#include "gstsamcaption.h"

#include "gstsamcompose.h"

#include <gst/video/navigation.h>
#include <math.h>
#include <string.h>

#define GROUND 0x101014
#define GROUND_ALPHA 0.72
#define INK 0xffffff
/* Sizes, of the height of a label. */
#define CORNER (1 / 4.0)        /* its radius */
#define LETTERS 0.62            /* of the text */
#define TRACK 0.08              /* half of the bar's thickness */
#define KNOB 0.22               /* its radius */
/* Shades of the part that is to come, and of a mark. */
#define TO_COME 0.35
#define MARK 0.75
/* Of the frame's height, the text takes at most. */
#define MOST_TEXT 0.75
/* More of a text does not fit on any frame. */
#define MAX_TEXT 4096
/* Digits of a time, the final 0 included. */
#define TIME_TEXT 24
/* The duration of what is shorter has tenths, too. */
#define SHORT (GST_SECOND * 60)

static const GstSamPaintStyle no_style;
static const GstSamReport no_report;

/* Of a pixel, by the signed distance of its middle from the edge, px. */
static gdouble
cover (gdouble distance)
{
  return CLAMP (0.5 - distance, 0, 1);
}

static void
set_shade (guint32 * shades, gint words, gint x, gint y, gdouble shade)
{
  shades[y * words + x / 4] |= (guint32) (shade * 255 + 0.5) << 8 * (x % 4);
}

/* A dark rectangle whose corners are round: a column of corners on either side
 * of a plain one. Returns what is for texts. */
static GstSamRect
add_panel (GstSamDrawing * d, GstSamRect panel, guint32 ground)
{
  const gint r = MIN (CORNER * gst_sam_drawing_get_text_height (d),
      MIN (panel.w, panel.h) / 2);
  const gint words = (r + 3) / 4;
  gint side, x, y;

  for (side = 0; side < 2 && r; side++) {
    const GstSamRect rect = { side ? panel.x + panel.w - r : panel.x, panel.y,
      r, panel.h
    };
    guint32 *shades = gst_sam_drawing_add_shades (d, rect, 0, ground);

    if (!shades)
      continue;
    memset (shades, 0, (gsize) words * panel.h * sizeof *shades);
    for (y = 0; y < panel.h; y++) {
      const gdouble dy = MAX (MAX (r - y - 0.5, y + 0.5 - (panel.h - r)), 0);

      for (x = 0; x < r; x++) {
        const gdouble dx = side ? x + 0.5 : r - x - 0.5;

        set_shade (shades, words, x, y, cover (hypot (dx, dy) - r));
      }
    }
  }
  panel.x += r;
  panel.w -= 2 * r;
  gst_sam_drawing_add_rect (d, panel.x, panel.y, panel.w, panel.h, ground);
  return panel;
}

/* The text */

static gboolean
is_laid_out (const GstSamCaption * c, const gchar * text)
{
  return c->text == text && c->width == c->drawing.width &&
      c->height == c->drawing.height;
}

static void
lay_out (GstSamCaption * c, gchar * text, gint width, gint height)
{
  const gint size = LETTERS * gst_sam_drawing_get_text_height (&c->drawing);
  gchar *start;

  if (is_laid_out (c, text))
    return;
  g_clear_pointer (&c->block, gst_sam_writing_free);
  g_clear_pointer (&c->text, g_ref_string_release);
  c->text = g_ref_string_acquire (text);
  c->width = c->drawing.width;
  c->height = c->drawing.height;
  if (!c->drawing.letters)
    return;
  start = g_utf8_make_valid (text, strnlen (text, MAX_TEXT));
  c->block = gst_sam_letters_write_block (c->drawing.letters, start, size,
      width, height);
  g_free (start);
}

/* Line by line; what is too long is cut off at the frame's edge. */
static void
add_plain_text (GstSamDrawing * d, const gchar * text, GstSamRect room,
    guint32 ground, guint32 ink)
{
  gchar **lines = g_strsplit (text, "\n", 0);
  const gint height = gst_sam_drawing_get_text_height (d);
  gint i;

  for (i = 0; lines[i] && (i + 1) * height <= room.h; i++) {
    GstSamRect rect = { room.x, room.y + i * height, 0, height };
    gchar *line = g_utf8_substring (lines[i], 0,
        MIN (g_utf8_strlen (lines[i], -1), GST_SAM_DRAWING_MAX_TEXT - 1));

    rect.w = gst_sam_drawing_get_text_width (d, line);
    gst_sam_drawing_add_text (d, rect, line, ground, ink);
    g_free (line);
  }
  g_strfreev (lines);
}

static void
add_text (GstSamCaption * c, gchar * text)
{
  GstSamDrawing *d = &c->drawing;
  const gint height = gst_sam_drawing_get_text_height (d);
  const gint margin = GST_SAM_DRAWING_MARGIN * height, inner = CORNER * height;
  const guint32 ground = gst_sam_drawing_get_colour (d, GROUND, GROUND_ALPHA);
  const guint32 ink = gst_sam_drawing_get_colour (d, INK, 1);
  const gint width = d->width - 2 * (margin + inner);
  GstSamRect panel = { margin, margin, width, MOST_TEXT * d->height };

  lay_out (c, text, width, panel.h);
  if (c->block) {
    panel.w = c->block->width + 2 * inner;
    panel.h = c->block->height + 2 * (inner / 2);
    panel = add_panel (d, panel, ground);
    gst_sam_drawing_add_writing (d, margin + inner, margin + inner / 2,
        c->block, ground, ink);
  } else {
    add_plain_text (d, text, panel, ground, ink);
  }
}

/* The bar of time */

/* "1:02:03", "0:12.3": tenths where @tenths. */
static void
write_time (gchar to[TIME_TEXT], GstClockTime time, gboolean tenths)
{
  const guint64 s = time / GST_SECOND;
  const guint rest = time % GST_SECOND / (GST_SECOND / 10);
  gint n;

  if (s >= 3600)
    n = g_snprintf (to, TIME_TEXT, "%" G_GUINT64_FORMAT ":%02u:%02u", s / 3600,
        (guint) (s / 60 % 60), (guint) (s % 60));
  else
    n = g_snprintf (to, TIME_TEXT, "%u:%02u", (guint) (s / 60),
        (guint) (s % 60));
  if (tenths)
    g_snprintf (to + n, TIME_TEXT - n, ".%u", rest);
}

static gdouble
get_share (GstClockTime time, GstClockTime duration)
{
  return MIN ((gdouble) time / duration, 1);
}

/* A line from one round end to the other, px from its upper left. */
static gdouble
cover_line (gdouble x, gdouble y, gdouble from, gdouble to, gdouble radius)
{
  const gdouble dx = MAX (MAX (from - x, x - to), 0);

  return cover (hypot (dx, y) - radius);
}

/* @at: where the position is, @mark: likewise, < 0: none. */
static void
draw_track (guint32 * shades, gint width, gint height, gdouble half,
    gdouble knob, gdouble at, gdouble mark)
{
  const gint words = (width + 3) / 4;
  gint x, y;

  memset (shades, 0, (gsize) words * height * sizeof *shades);
  for (y = 0; y < height; y++) {
    const gdouble dy = y + 0.5 - height / 2.0;

    for (x = 0; x < width; x++) {
      const gdouble px = x + 0.5;
      gdouble shade = TO_COME * cover_line (px, dy, knob, width - knob, half);

      if (px < at + knob + 1)
        shade = MAX (shade, MAX (cover_line (px, dy, knob, at, half),
                cover (hypot (px - at, dy) - knob)));
      if (mark >= 0 && fabs (px - mark) < knob + 1)
        shade = MAX (shade, MARK * cover (fabs (px - mark) - half) *
            cover (fabs (dy) - knob));
      set_shade (shades, words, x, y, shade);
    }
  }
}

static void
add_track (GstSamDrawing * d, const GstSamCaptionStyle * style,
    GstSamRect room, GstClockTime position, GstSamBar * bar, guint32 ground,
    guint32 ink)
{
  const gint height = gst_sam_drawing_get_text_height (d);
  const gdouble half = MAX (1, TRACK * height);
  const gdouble knob = MAX (2.5, KNOB * height);
  const gint high = 2 * (gint) (knob + 1);
  const gdouble long_px = room.w - 2 * knob;
  const GstSamRect rect = { room.x, room.y + (room.h - high) / 2, room.w, high
  };
  gdouble at, mark = -1;
  guint32 *shades;

  bar->track = rect;
  bar->track.x += knob;
  bar->track.w = MAX (1, long_px);
  at = knob + long_px * get_share (position, bar->duration);
  if (GST_CLOCK_TIME_IS_VALID (style->mark))
    mark = knob + long_px * get_share (style->mark, bar->duration);
  shades = gst_sam_drawing_add_shades (d, rect, ground, ink);
  if (shades)
    draw_track (shades, rect.w, rect.h, half, knob, at, mark);
}

/* A time beside the track. Returns the width that is left for that. */
static GstSamRect
add_time (GstSamDrawing * d, GstSamRect room, const gchar * text,
    gboolean right, guint32 ground, guint32 ink)
{
  const gint height = gst_sam_drawing_get_text_height (d);
  const gint width = gst_sam_drawing_get_text_width (d, text);
  const GstSamRect rect = { right ? room.x + room.w - width : room.x,
    room.y + (room.h - height) / 2, width, height
  };

  gst_sam_drawing_add_text (d, rect, text, ground, ink);
  room.w -= width;
  room.x += right ? 0 : width;
  return room;
}

/* Times are left out where the track would be shorter than they are. */
static void
add_bar (GstSamDrawing * d, const GstSamCaptionStyle * style,
    GstClockTime position, GstSamBar * bar)
{
  const guint32 ground = gst_sam_drawing_get_colour (d, GROUND,
      GROUND_ALPHA * style->bar);
  const guint32 ink = gst_sam_drawing_get_colour (d, INK, style->bar);
  const gboolean has_track = GST_CLOCK_TIME_IS_VALID (bar->duration);
  gchar now[TIME_TEXT], all[TIME_TEXT];
  GstSamRect room;
  gint left, right;

  write_time (now, position, TRUE);
  left = gst_sam_drawing_get_text_width (d, now);
  bar->panel = gst_sam_drawing_get_bar (d);
  if (!has_track)
    bar->panel.w = MIN (bar->panel.w, left + bar->panel.h / 2);
  room = add_panel (d, bar->panel, ground);
  if (!has_track) {
    add_time (d, room, now, FALSE, ground, ink);
    return;
  }
  write_time (all, bar->duration, bar->duration < SHORT);
  right = gst_sam_drawing_get_text_width (d, all);
  if (room.w > 2 * left)
    room = add_time (d, room, now, FALSE, ground, ink);
  if (room.w > 2 * right)
    room = add_time (d, room, all, TRUE, ground, ink);
  add_track (d, style, room, position, bar, ground, ink);
}

/* Both */

gboolean
gst_sam_caption_compose (GstSamCaption * caption,
    const GstSamCaptionStyle * style, const GstVideoInfo * info,
    GstClockTime position, GstClockTime duration, GstSamBar * bar)
{
  GstSamDrawing *d = &caption->drawing;

  bar->duration = GST_CLOCK_TIME_NONE;
  if (!style->text && !(style->bar > 0))
    return FALSE;
  gst_sam_drawing_begin (d, &no_style, &no_report, 0, info);
  if (style->text && *style->text)
    add_text (caption, style->text);
  if (style->bar > 0 && GST_CLOCK_TIME_IS_VALID (position)) {
    bar->duration = duration > 0 ? duration : GST_CLOCK_TIME_NONE;
    add_bar (d, style, position, bar);
  }
  return gst_sam_compose_end (d);
}

void
gst_sam_caption_clear (GstSamCaption * caption)
{
  gst_sam_drawing_clear (&caption->drawing);
  g_clear_pointer (&caption->block, gst_sam_writing_free);
  g_clear_pointer (&caption->text, g_ref_string_release);
}

/* Clicks */

static gboolean
is_on (const GstSamRect * r, gdouble x, gdouble y)
{
  return x >= r->x && x < r->x + r->w && y >= r->y && y < r->y + r->h;
}

static GstClockTime
get_time_at (const GstSamBar * bar, gdouble x)
{
  const gdouble share = CLAMP ((x - bar->track.x) / bar->track.w, 0, 1);

  return share * bar->duration;
}

static const gchar *
handle_button (GstSamBar * bar, gboolean press, gint button, gdouble x,
    gdouble y, GstClockTime * position)
{
  if (button != 1 || !GST_CLOCK_TIME_IS_VALID (bar->duration) ||
      !isfinite (x) || !isfinite (y) ||
      (press ? !is_on (&bar->panel, x, y) : !bar->pressed)) {
    bar->pressed &= press || button != 1;
    return NULL;
  }
  bar->pressed = press;
  *position = get_time_at (bar, x);
  return press ? "press" : "release";
}

const gchar *
gst_sam_bar_handle (GstSamBar * bar, GstEvent * event, GstClockTime * position)
{
  const GstNavigationEventType type = gst_navigation_event_get_type (event);
  gdouble x, y;
  gint button;

  switch (type) {
    case GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS:
    case GST_NAVIGATION_EVENT_MOUSE_BUTTON_RELEASE:
      if (gst_navigation_event_parse_mouse_button_event (event, &button, &x,
              &y))
        return handle_button (bar,
            type == GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS, button, x, y,
            position);
      break;
    case GST_NAVIGATION_EVENT_MOUSE_MOVE:
      if (!bar->pressed || !GST_CLOCK_TIME_IS_VALID (bar->duration) ||
          !gst_navigation_event_parse_mouse_move_event (event, &x, &y) ||
          !isfinite (x))
        break;
      *position = get_time_at (bar, x);
      return "move";
    default:
      break;
  }
  return NULL;
}
