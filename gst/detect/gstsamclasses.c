/* SPDX-License-Identifier: MIT */
/* Names of the classes that a detector knows. Its file has none. */

#include "gstsamclasses.h"

#include "common/gstsamtext.h"

#include <string.h>

/* Bytes of a class's name, with the final 0. */
#define MAX_NAME 64

/* In the order in which detectors that were trained on COCO number them. */
static const gchar *coco[] = {
  "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train",
  "truck", "boat", "traffic light", "fire hydrant", "stop sign",
  "parking meter", "bench", "bird", "cat", "dog", "horse", "sheep", "cow",
  "elephant", "bear", "zebra", "giraffe", "backpack", "umbrella", "handbag",
  "tie", "suitcase", "frisbee", "skis", "snowboard", "sports ball", "kite",
  "baseball bat", "baseball glove", "skateboard", "surfboard",
  "tennis racket", "bottle", "wine glass", "cup", "fork", "knife", "spoon",
  "bowl", "banana", "apple", "sandwich", "orange", "broccoli", "carrot",
  "hot dog", "pizza", "donut", "cake", "chair", "couch", "potted plant",
  "bed", "dining table", "toilet", "tv", "laptop", "mouse", "remote",
  "keyboard", "cell phone", "microwave", "oven", "toaster", "sink",
  "refrigerator", "book", "clock", "vase", "scissors", "teddy bear",
  "hair drier", "toothbrush",
};

static gchar **
read_names (const gchar * file, guint num, GError ** error)
{
  GError *why = NULL;
  gchar *text, **names;
  guint i, given;

  if (!g_file_get_contents (file, &text, NULL, &why)) {
    g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_READ,
        "detector-labels cannot be read: %s.", why->message);
    g_error_free (why);
    return NULL;
  }
  names = g_strsplit (g_strchomp (text), "\n", -1);
  g_free (text);
  given = g_strv_length (names);
  for (i = 0; i < given; i++)
    g_strstrip (names[i]);
  if (given == num)
    return names;
  g_set_error (error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      "detector-labels: '%s' has %u names, expected %u, one a line, as many as "
      "the detector has classes.", file, given, num);
  g_strfreev (names);
  return NULL;
}

gchar **
gst_sam_classes_new (const gchar * file, guint num, GError ** error)
{
  gchar **names;
  guint i;

  if (file && *file)
    return read_names (file, num, error);
  names = g_new0 (gchar *, num + 1);
  for (i = 0; i < num; i++)
    names[i] = num == G_N_ELEMENTS (coco) ? g_strdup (coco[i]) :
        g_strdup_printf ("%u", i);
  return names;
}

gboolean
gst_sam_classes_find (gchar ** classes, const gchar * name, guint * id,
    gchar ** why)
{
  gchar *all;

  for (*id = 0; classes[*id]; ++*id) {
    if (!g_ascii_strcasecmp (classes[*id], name))
      return TRUE;
  }
  all = g_strjoinv (", ", classes);
  *why = g_strdup_printf ("detect-classes has '%s', expected are names of the "
      "detector's classes: %s.", name, all);
  g_free (all);
  return FALSE;
}

const gchar *
gst_sam_classes_intern (const gchar * name)
{
  gchar *plain;

  if (strlen (name) < MAX_NAME && g_utf8_validate (name, -1, NULL))
    return g_intern_string (name);
  plain = gst_sam_plain_text (name);
  if (strlen (plain) >= MAX_NAME)
    *g_utf8_find_prev_char (plain, plain + MAX_NAME) = 0;
  name = g_intern_string (plain);
  g_free (plain);
  return name;
}
