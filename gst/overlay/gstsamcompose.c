/* SPDX-License-Identifier: MIT */
/* What is drawn of a report: masks, outlines, boxes, labels, the list of lost
 * objects, prompts. */

#include "gstsamcompose.h"

#include "gstsampoints.h"

#include <string.h>

/* Opacity of the dark contour: lines show on things of their own colour. */
#define CONTOUR 0.6
#define CONTOUR_WIDTH 2         /* px */

/* Letters of a class's name that are drawn, and their bytes. */
#define MAX_LETTERS 19
#define MAX_NAME (6 * MAX_LETTERS + 1)

static gint
get_label_height (const GstSamDrawing * d)
{
  if (!d->style->ids && !d->style->names && !d->style->scores)
    return 0;
  return gst_sam_drawing_get_text_height (d);
}

/* The first letters of a name; '?' for bytes that are none. */
static void
copy_name (gchar to[MAX_NAME], const gchar * name)
{
  gint i;

  for (i = 0; i < MAX_LETTERS && *name; i++) {
    const gunichar c = g_utf8_get_char_validated (name, -1);

    if ((gint) c < 0) {
      *to++ = '?';
      name++;
    } else {
      to += g_unichar_to_utf8 (c, to);
      name = g_utf8_next_char (name);
    }
  }
  *to = 0;
}

static void
write_label (const GstSamDrawing * d, const GstSamObject * object,
    gchar text[GST_SAM_DRAWING_MAX_TEXT])
{
  gchar tracker[12] = "", id[24] = "", name[MAX_NAME] = "", score[16] = "";

  if (d->style->ids && d->tracker)
    g_snprintf (tracker, sizeof tracker, "%u", d->tracker + 1);
  if (d->style->ids)
    g_snprintf (id, sizeof id, "#%" G_GUINT64_FORMAT, object->id);
  if (d->style->names && object->label)
    copy_name (name, object->label);
  if (d->style->scores)
    g_snprintf (score, sizeof score, "%.2f", CLAMP (object->iou, 0, 1));
  /* the decimal point of the locale */
  g_strdelimit (score, ",", '.');
  g_snprintf (text, GST_SAM_DRAWING_MAX_TEXT, "%s%s%s%s%s%s", tracker, id,
      *id && *name ? " " : "", name, (*id || *name) && *score ? " " : "",
      score);
}

/* The label stands on the box, or hangs from it at the frame's upper edge. */
static GstSamRect
get_label (GstSamDrawing * d, const GstSamObject * object,
    const gchar * text)
{
  GstSamRect box = gst_sam_drawing_get_box (d, object), label;

  label.w = gst_sam_drawing_get_text_width (d, text);
  label.h = get_label_height (d);
  label.x = CLAMP (box.x, 0, MAX (0, d->width - label.w));
  label.y = box.y >= label.h ? box.y - label.h : MIN (box.y,
      MAX (0, d->height - label.h));
  return label;
}

static void
colour_masks (GstSamDrawing * d)
{
  struct sam_overlay *overlay = &d->overlay;
  guint i;

  memset (overlay->fill, 0, sizeof overlay->fill);
  memset (overlay->line, 0, sizeof overlay->line);
  for (i = 0; i < d->report->num_objects; i++) {
    const GstSamObject *object = &d->report->object[i];
    guint32 rgb = gst_sam_drawing_get_rgb (d, object);
    guint32 *fill = &overlay->fill[object->slot & 255];
    const gdouble strength = gst_sam_drawing_get_strength (d, object);

    if (!gst_sam_drawing_shows (object))
      continue;
    if (d->style->masks)
      *fill = gst_sam_drawing_get_colour (d, rgb,
          d->style->opacity * strength);
    overlay->line[object->slot] = d->style->outlines && d->style->line_width ?
        gst_sam_drawing_get_colour (d, rgb, strength) : *fill;
  }
  overlay->contour = gst_sam_drawing_get_colour (d, 0x000000,
      CONTOUR * d->strength);
  overlay->line_width = d->style->outlines ? d->style->line_width : 0;
}

static void
add_box (GstSamDrawing * d, const GstSamObject * object)
{
  const guint32 colour = gst_sam_drawing_get_colour (d,
      gst_sam_drawing_get_rgb (d, object),
      gst_sam_drawing_get_strength (d, object));
  const gint line = MAX (1, (gint) d->style->line_width);
  GstSamRect b = gst_sam_drawing_get_box (d, object);

  gst_sam_drawing_add_rect (d, b.x, b.y, b.w, line, colour);
  gst_sam_drawing_add_rect (d, b.x, b.y + b.h - line, b.w, line, colour);
  gst_sam_drawing_add_rect (d, b.x, b.y, line, b.h, colour);
  gst_sam_drawing_add_rect (d, b.x + b.w - line, b.y, line, b.h, colour);
}

/* Black or white, which is easier to read on the colour. */
static guint32
get_contrast (guint32 rgb)
{
  /* Rec. 601 luma: dark letters on light colours */
  const gint luma = (299 * (rgb >> 16) + 587 * (rgb >> 8 & 255) +
      114 * (rgb & 255)) / 1000;

  return luma > 140 ? 0x000000 : 0xffffff;
}

/* The label of the current object has its colours swapped. */
static void
add_label (GstSamDrawing * d, const GstSamObject * object)
{
  const gboolean current = d->style->points && d->report->current == object->id;
  const guint32 rgb = gst_sam_drawing_get_rgb (d, object);
  const guint32 contrast = get_contrast (rgb);
  const gdouble strength = gst_sam_drawing_get_strength (d, object);
  gchar text[GST_SAM_DRAWING_MAX_TEXT];

  write_label (d, object, text);
  if (*text)
    gst_sam_drawing_add_text (d, get_label (d, object, text), text,
        gst_sam_drawing_get_colour (d, current ? contrast : rgb,
            0.8 * strength),
        gst_sam_drawing_get_colour (d, current ? rgb : contrast, strength));
}

static void
write_lost (const GstSamDrawing * d, const GstSamObject * object,
    const gchar * tracker, gchar text[GST_SAM_DRAWING_MAX_TEXT])
{
  gchar name[MAX_NAME] = "";

  if (d->style->names && object->label)
    copy_name (name, object->label);
  g_snprintf (text, GST_SAM_DRAWING_MAX_TEXT, "%s#%" G_GUINT64_FORMAT
      "%s%s lost", tracker, object->id, *name ? " " : "", name);
}

/* In the lower left corner, a line for each; behind the first tracker, to the
 * right of that. The last line counts those that have none. */
static void
add_lost (GstSamDrawing * d)
{
  const gint height = gst_sam_drawing_get_text_height (d), gap = 2 * d->scale;
  const gint column = gst_sam_drawing_get_text_width (d, "2#123 lost") + gap;
  const gint bottom = d->style->has_bar ? gst_sam_drawing_get_bar (d).y :
      d->height;
  guint lost = 0, lines, line = 0, i;

  for (i = 0; i < d->report->num_objects; i++)
    lost += d->report->object[i].state == SAM_OBJECT_LOST;
  lines = MIN (GST_SAM_DRAWING_MAX_LOST, d->height / 2 / (height + gap));
  lines = MIN (lines, lost);
  for (i = 0; i < d->report->num_objects && line < lines; i++) {
    const GstSamObject *object = &d->report->object[i];
    const gboolean is_rest = line + 1 == lines && lost > lines;
    gchar text[GST_SAM_DRAWING_MAX_TEXT], tracker[12] = "";
    GstSamRect rect;
    guint32 rgb;

    if (object->state != SAM_OBJECT_LOST)
      continue;
    if (d->tracker)
      g_snprintf (tracker, sizeof tracker, "%u", d->tracker + 1);
    if (is_rest)
      g_snprintf (text, sizeof text, "%s+%u lost", tracker, lost - lines + 1);
    else
      write_lost (d, object, tracker, text);
    rect.x = gap + (gint) MIN (d->tracker, 64) * column;
    rect.y = bottom - (gint) (lines - line) * (height + gap);
    rect.w = gst_sam_drawing_get_text_width (d, text);
    rect.h = height;
    rgb = is_rest ? 0xffffff : gst_sam_drawing_get_rgb (d, object);
    gst_sam_drawing_add_text (d, rect, text,
        gst_sam_drawing_get_colour (d, 0x000000, 0.55),
        gst_sam_drawing_get_colour (d, rgb, 1));
    line++;
  }
}

static void
add_patches (GstSamDrawing * d)
{
  const GstSamReport *report = d->report;
  guint i;

  for (i = 0; i < report->num_objects; i++) {
    if (d->style->boxes && gst_sam_drawing_shows (&report->object[i]))
      add_box (d, &report->object[i]);
  }
  for (i = 0; i < report->num_objects; i++) {
    if (gst_sam_drawing_shows (&report->object[i]))
      add_label (d, &report->object[i]);
  }
  if (d->style->ids)
    add_lost (d);
  if (d->style->points)
    gst_sam_points_add (d);
}

guint
gst_sam_compose_count_things (const GstSamDrawing * d)
{
  return d->report->num_objects + d->overlay.num_patches;
}

/* A box is the frame's, a mask may be coarse: its edges lie a cell off. */
static GstSamRect
get_reach (const GstSamDrawing * d, const GstSamObject * object)
{
  const GstSamReport *report = d->report;
  GstSamRect box = { 0, };
  gint margin_x = 0, margin_y = 0;

  if (!gst_sam_drawing_shows (object))
    return box;
  if (report->mask) {
    margin_x = d->width / report->mask_width + 1 + CONTOUR_WIDTH;
    margin_y = d->height / report->mask_height + 1 + CONTOUR_WIDTH;
  }
  box = gst_sam_drawing_get_box (d, object);
  box.x -= margin_x;
  box.y -= margin_y;
  box.w += 2 * margin_x;
  box.h += 2 * margin_y;
  return box;
}

GstSamRect
gst_sam_compose_get_thing (const GstSamDrawing * d, guint i)
{
  const guint num_objects = d->report->num_objects;

  if (i < num_objects) {
    return get_reach (d, &d->report->object[i]);
  } else {
    const struct sam_patch *patch = &d->overlay.patches[i - num_objects];
    const GstSamRect rect = { patch->x, patch->y, patch->width, patch->height };

    return rect;
  }
}

gboolean
gst_sam_compose_end (GstSamDrawing * d)
{
  const gint width = d->width, height = d->height;
  struct sam_overlay *overlay = &d->overlay;
  GstSamRect area = { 0, };
  guint i;

  for (i = 0; i < gst_sam_compose_count_things (d); i++) {
    const GstSamRect thing = gst_sam_compose_get_thing (d, i);

    if (i >= d->report->num_objects || thing.w > 0)
      gst_sam_rect_include (&area, thing);
  }
  area.w = MIN (GST_ROUND_UP_2 (area.x + area.w), width);
  area.h = MIN (GST_ROUND_UP_2 (area.y + area.h), height);
  area.x = MAX (area.x, 0) & ~1;
  area.y = MAX (area.y, 0) & ~1;
  area.w -= area.x;
  area.h -= area.y;
  overlay->size = sizeof *overlay;
  overlay->x = area.x;
  overlay->y = area.y;
  overlay->width = area.w;
  overlay->height = area.h;
  return area.w > 0 && area.h > 0;
}

gboolean
gst_sam_compose (GstSamDrawing * d, const GstSamPaintStyle * style,
    const GstSamReport * report, guint tracker, const GstVideoInfo * info)
{
  gst_sam_drawing_begin (d, style, report, tracker, info);
  colour_masks (d);
  add_patches (d);
  return gst_sam_compose_end (d);
}
