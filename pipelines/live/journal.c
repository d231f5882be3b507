/* SPDX-License-Identifier: MIT */
#include "journal.h"

#include "secrets.h"

#include <gst/gst.h>
#include <stdio.h>

static gboolean is_plain(const gchar *text)
{
    for (; *text; text++)
        if ((guchar) *text <= ' ' || *text == '"' || *text == '=' || *text == '\\' || *text == 127)
            return FALSE;
    return TRUE;
}

static void append_text(GString *line, const gchar *text)
{
    gchar *hidden = secrets_hide(text ? text : ""); /* errors may name the URI of a camera */
    gchar *valid = g_utf8_make_valid(hidden, -1);

    if (*valid && is_plain(valid)) {
        g_string_append(line, valid);
    } else {
        gchar *escaped = g_strescape(valid, NULL);
        g_string_append_printf(line, "\"%s\"", escaped);
        g_free(escaped);
    }
    g_free(valid);
    g_free(hidden);
}

static gboolean append_field(GQuark field, const GValue *value, gpointer line)
{
    g_string_append_printf(line, " %s=", g_quark_to_string(field));
    if (G_VALUE_HOLDS_STRING(value)) {
        append_text(line, g_value_get_string(value));
    } else if (G_VALUE_HOLDS_DOUBLE(value)) {
        g_string_append_printf(line, "%.3f", g_value_get_double(value));
    } else {
        GValue text = G_VALUE_INIT;

        g_value_init(&text, G_TYPE_STRING);
        g_value_transform(value, &text);
        append_text(line, g_value_get_string(&text));
        g_value_unset(&text);
    }
    return TRUE;
}

static void write_line(const gchar *level, const gchar *event, const gchar *field, va_list rest)
{
    GstStructure *fields = gst_structure_new_valist("log", field, rest);
    GDateTime *now = g_date_time_new_now_utc();
    gchar *time = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S");
    GString *line = g_string_new(NULL);

    g_string_printf(line, "time=%s.%03dZ level=%s event=%s", time,
        g_date_time_get_microsecond(now) / 1000, level, event);
    gst_structure_foreach(fields, append_field, line);
    g_string_append_c(line, '\n');
    fputs(line->str, stderr);
    g_string_free(line, TRUE);
    g_free(time);
    g_date_time_unref(now);
    gst_structure_free(fields);
}

#define DEFINE_LEVEL(level) \
    void log_##level(const gchar *event, const gchar *field, ...) \
    { \
        va_list rest; \
        va_start(rest, field); \
        write_line(#level, event, field, rest); \
        va_end(rest); \
    }

DEFINE_LEVEL(info)
DEFINE_LEVEL(warning)
DEFINE_LEVEL(error)
