/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#define TERMINAL_US (G_USEC_PER_SEC / 2)
#define LOG_US (60 * G_USEC_PER_SEC)
/* What is left is told after so much work. */
#define LEAST_SECONDS 1.0

static gboolean line_is_open;

void progress_begin(Progress *p, guint items, gdouble seconds)
{
    *p = (Progress) {.items = items, .seconds = seconds, .first = -1};
    p->start_us = p->told_us = g_get_monotonic_time();
}

void progress_item(Progress *p, const Item *item)
{
    p->number++;
    p->id = item->id;
    p->first = -1;
    p->now = 0;
}

void progress_item_done(Progress *p, const Item *item)
{
    p->behind += item->seconds;
    if (p->first >= 0)
        p->worked += p->now - p->first;
    p->first = -1;
}

/* "1 h 02 min", "3 min 20 s", "7 s" */
static gchar *format_time(gdouble seconds)
{
    const gint s = (gint) MIN(seconds + 0.999, 1e9);

    if (s >= 3600)
        return g_strdup_printf("%d h %02d min", s / 3600, s / 60 % 60);
    if (s >= 60)
        return g_strdup_printf("%d min %02d s", s / 60, s % 60);
    return g_strdup_printf("%d s", s);
}

/* By what this run has tracked until now; NULL: not known. */
static gchar *get_left(const Progress *p, gint64 now_us)
{
    const gdouble worked = p->worked + (p->first >= 0 ? p->now - p->first : 0);
    const gdouble left = p->seconds - p->behind - p->now;

    if (p->seconds <= 0 || worked < LEAST_SECONDS || left <= 0)
        return NULL;
    return format_time(left * ((now_us - p->start_us) / 1e6) / worked);
}

void progress_tell(gpointer data, GstClockTime time)
{
    const gint64 now_us = g_get_monotonic_time();
    const gboolean terminal = isatty(STDERR_FILENO);
    Progress *p = data;
    gchar *left;

    p->now = time / 1e9;
    if (p->first < 0)
        p->first = p->now;
    if (now_us - p->told_us < (terminal ? TERMINAL_US : LOG_US))
        return;
    p->told_us = now_us;
    left = get_left(p, now_us);
    fprintf(stderr, "%ssamtrack-batch: item %u of %u, %s: %.1f s%s%s%s%s", terminal ? "\r\033[K" :
        "", p->number, p->items, p->id, p->now, left ? ", " : "", left ? left : "", left ? " left" :
        "", terminal ? "" : "\n");
    line_is_open = terminal;
    g_free(left);
}

void progress_say(const gchar *format, ...)
{
    va_list rest;

    if (line_is_open)
        fprintf(stderr, "\r\033[K");
    line_is_open = FALSE;
    fprintf(stderr, "samtrack-batch: ");
    va_start(rest, format);
    vfprintf(stderr, format, rest);
    va_end(rest);
    fprintf(stderr, "\n");
}
