/* SPDX-License-Identifier: MIT */
#include "gstsamletters.h"

#include "common/gstsamtext.h"

#include <pango/pangocairo.h>
#include <string.h>

#define FONT "Sans Bold"
/* Of the height of a text with its margins. */
#define SIZE 0.66
#define MARGIN (1 / 6.0)
#define MAX_WIDTH 24
/* Width of a block's first column, in sizes of its letters. */
#define TAB 8
/* Texts that are kept: scores change, and come back. */
#define MAX_KEPT 512

struct _GstSamLetters
{
  PangoFontMap *fonts;
  PangoContext *context;
  PangoLayout *layout;
  gint height;                  /* of the texts that are kept */
  GHashTable *kept;             /* of GstSamWriting, by text */
};

void
gst_sam_writing_free (GstSamWriting * writing)
{
  g_free (writing->shades);
  g_free (writing);
}

/* Families are listed where no font is: those that stand for others. What no
 * font has is drawn as a box. */
static gboolean
has_fonts (GstSamLetters * self)
{
  pango_layout_set_text (self->layout, "#0", -1);
  return pango_layout_get_unknown_glyphs_count (self->layout) == 0;
}

GstSamLetters *
gst_sam_letters_new (void)
{
  PangoFontMap *fonts = pango_cairo_font_map_new ();
  cairo_font_options_t *options;
  GstSamLetters *self;

  if (!fonts)
    return NULL;
  self = g_new0 (GstSamLetters, 1);
  self->fonts = fonts;
  self->context = pango_font_map_create_context (fonts);
  pango_context_set_base_dir (self->context, PANGO_DIRECTION_LTR);
  options = cairo_font_options_create ();
  cairo_font_options_set_antialias (options, CAIRO_ANTIALIAS_GRAY);
  pango_cairo_context_set_font_options (self->context, options);
  cairo_font_options_destroy (options);
  self->layout = pango_layout_new (self->context);
  /* the id comes first */
  pango_layout_set_auto_dir (self->layout, FALSE);
  pango_layout_set_single_paragraph_mode (self->layout, TRUE);
  pango_layout_set_ellipsize (self->layout, PANGO_ELLIPSIZE_END);
  self->kept = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
      (GDestroyNotify) gst_sam_writing_free);
  if (has_fonts (self))
    return self;
  gst_sam_letters_free (self);
  return NULL;
}

void
gst_sam_letters_free (GstSamLetters * self)
{
  if (!self)
    return;
  g_hash_table_unref (self->kept);
  g_object_unref (self->layout);
  g_object_unref (self->context);
  g_object_unref (self->fonts);
  g_free (self);
}

static void
set_size (GstSamLetters * self, gdouble size)
{
  PangoFontDescription *font = pango_font_description_from_string (FONT);

  pango_font_description_set_absolute_size (font, size * PANGO_SCALE);
  pango_layout_set_font_description (self->layout, font);
  pango_font_description_free (font);
}

/* Some scripts are higher than others. */
static void
lay_out (GstSamLetters * self, const gchar * text, gint height,
    PangoRectangle * extents)
{
  gchar *plain = gst_sam_plain_text (text);

  set_size (self, SIZE * height);
  pango_layout_set_width (self->layout, MAX_WIDTH * height * PANGO_SCALE);
  pango_layout_set_text (self->layout, plain, -1);
  pango_layout_get_pixel_extents (self->layout, NULL, extents);
  if (extents->height > height) {
    set_size (self, SIZE * height * height / extents->height);
    pango_layout_get_pixel_extents (self->layout, NULL, extents);
  }
  g_free (plain);
}

/* The first pixel is in the lowest byte of a word. */
static void
take_shades (GstSamWriting * writing, cairo_surface_t * surface)
{
  const gint words = (writing->width + 3) / 4;
  const gint stride = cairo_image_surface_get_stride (surface);
  const guint8 *data = cairo_image_surface_get_data (surface);
  gint x, y;

  for (y = 0; y < writing->height; y++) {
    for (x = 0; x < writing->width; x++)
      writing->shades[y * words + x / 4] |=
          (guint32) data[(gsize) y * stride + x] << 8 * (x % 4);
  }
}

/* The layout with its upper left at (x, y) of a picture. */
static GstSamWriting *
draw_layout (PangoLayout * layout, gint x, gint y, gint width, gint height)
{
  GstSamWriting *writing = NULL;
  cairo_surface_t *surface;
  cairo_t *cairo;

  surface = cairo_image_surface_create (CAIRO_FORMAT_A8, width, height);
  cairo = cairo_create (surface);
  cairo_move_to (cairo, x, y);
  pango_cairo_show_layout (cairo, layout);
  if (cairo_status (cairo) == CAIRO_STATUS_SUCCESS) {
    cairo_surface_flush (surface);
    writing = g_new0 (GstSamWriting, 1);
    writing->width = width;
    writing->height = height;
    writing->shades = g_new0 (guint32, (gsize) (width + 3) / 4 * height);
    take_shades (writing, surface);
  }
  cairo_destroy (cairo);
  cairo_surface_destroy (surface);
  return writing;
}

static GstSamWriting *
draw (GstSamLetters * self, const gchar * text, gint height)
{
  const gint margin = height * MARGIN + 0.5;
  PangoRectangle extents;

  lay_out (self, text, height, &extents);
  return draw_layout (self->layout, margin - extents.x,
      (height - extents.height) / 2 - extents.y,
      CLAMP (extents.width, 1, MAX_WIDTH * height) + 2 * margin, height);
}

/* Line breaks and tabs stay. */
static gchar *
make_plain (const gchar * text)
{
  GString *plain = g_string_new (NULL);
  const gchar *end;

  for (;; text = end + 1) {
    gchar *piece, *clean;

    end = text + strcspn (text, "\n\t");
    piece = g_strndup (text, end - text);
    clean = gst_sam_plain_text (piece);
    g_string_append (plain, clean);
    g_free (clean);
    g_free (piece);
    if (!*end)
      break;
    g_string_append_c (plain, *end);
  }
  return g_string_free (plain, FALSE);
}

GstSamWriting *
gst_sam_letters_write_block (GstSamLetters * self, const gchar * text,
    gint size, gint width, gint height)
{
  PangoLayout *layout = pango_layout_new (self->context);
  PangoFontDescription *font = pango_font_description_from_string (FONT);
  PangoTabArray *tabs = pango_tab_array_new_with_positions (1, TRUE,
      PANGO_TAB_LEFT, TAB * size);
  gchar *plain = make_plain (text);
  GstSamWriting *writing;
  PangoRectangle extents;

  pango_font_description_set_absolute_size (font, size * PANGO_SCALE);
  pango_layout_set_font_description (layout, font);
  pango_layout_set_tabs (layout, tabs);
  pango_layout_set_width (layout, MAX (width, 1) * PANGO_SCALE);
  pango_layout_set_height (layout, MAX (height, 1) * PANGO_SCALE);
  pango_layout_set_wrap (layout, PANGO_WRAP_WORD_CHAR);
  pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_END);
  pango_layout_set_text (layout, plain, -1);
  pango_layout_get_pixel_extents (layout, NULL, &extents);
  writing = draw_layout (layout, -extents.x, -extents.y,
      CLAMP (extents.width, 1, MAX (width, 1)), MAX (extents.height, 1));
  g_free (plain);
  pango_tab_array_free (tabs);
  pango_font_description_free (font);
  g_object_unref (layout);
  return writing;
}

const GstSamWriting *
gst_sam_letters_write (GstSamLetters * self, const gchar * text, gint height)
{
  GstSamWriting *writing;

  if (height != self->height) {
    g_hash_table_remove_all (self->kept);
    self->height = height;
  }
  if ((writing = g_hash_table_lookup (self->kept, text)))
    return writing;
  if (!(writing = draw (self, text, height)))
    return NULL;
  if (g_hash_table_size (self->kept) >= MAX_KEPT)
    g_hash_table_remove_all (self->kept);
  g_hash_table_insert (self->kept, g_strdup (text), writing);
  return writing;
}
