/* SPDX-License-Identifier: MIT */
#include "track.h"

gboolean track_read_outcome(GstStructure *outcome, gchar **why)
{
    gboolean ok = FALSE;

    gst_structure_get_boolean(outcome, "ok", &ok);
    if (!ok)
        *why = g_strdup(gst_structure_get_string(outcome, "message"));
    gst_structure_free(outcome);
    return ok;
}

guint64 track_prompt(Camera *camera, gchar *text, gchar **why)
{
    GstStructure *outcome;
    guint64 id = 0;

    g_signal_emit_by_name(camera_get_track(camera), "prompt-full", text, &outcome);
    g_free(text);
    gst_structure_get_uint64(outcome, "id", &id);
    return track_read_outcome(outcome, why) ? id : 0;
}

static void append_number(GString *text, const gchar *name, gdouble value)
{
    gchar digits[G_ASCII_DTOSTR_BUF_SIZE]; /* not the decimal point of the locale */

    g_string_append_printf(text, ",%s=%s", name, g_ascii_dtostr(digits, sizeof digits, value));
}

GString *track_write(gdouble x, gdouble y, gdouble w, gdouble h)
{
    GString *text = g_string_new(w > 0 ? "box" : "point");

    append_number(text, "x", x);
    append_number(text, "y", y);
    if (w > 0) {
        append_number(text, "w", w);
        append_number(text, "h", h);
    }
    g_string_append(text, ",normalized=true");
    return text;
}
