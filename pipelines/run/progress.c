/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

/* On a terminal a line is overwritten twice a second; a log has one after a second, and then
 * at intervals that grow with the time that has passed. */
#define TERMINAL_US (G_USEC_PER_SEC / 2)
#define LOG_US (5 * G_USEC_PER_SEC)
#define LOG_SHARE 8

static gboolean line_is_open;

void progress_start(Progress *progress, const gchar *name, const gchar *doing)
{
    progress->name = name;
    progress->doing = doing;
    progress->start = g_get_monotonic_time();
    progress->begin = progress->told = 0;
}

static gboolean is_due(const Progress *progress, gint64 now)
{
    const gint64 passed = now - progress->start;

    if (isatty(STDERR_FILENO))
        return now - progress->told >= TERMINAL_US;
    if (!progress->told)
        return passed >= G_USEC_PER_SEC;
    return now - progress->told >= MAX(LOG_US, passed / LOG_SHARE);
}

/* "1 h 02 min", "3 min 20 s", "7 s" */
static gchar *format_time(gint64 us)
{
    const gint s = (gint) MIN((us + G_USEC_PER_SEC - 1) / G_USEC_PER_SEC, G_MAXINT);

    if (s >= 3600)
        return g_strdup_printf("%d h %02d min", s / 3600, s / 60 % 60);
    if (s >= 60)
        return g_strdup_printf("%d min %02d s", s / 60, s % 60);
    return g_strdup_printf("%d s", s);
}

static gchar *describe(const Progress *progress, gint64 now, guint64 done, guint64 all,
    guint64 frames)
{
    const gdouble share = all ? MIN((gdouble) done / all, 1) : 0;
    const gint64 passed = now - progress->begin;
    gchar *left, *text;

    if (!frames)
        return g_strdup("loading the model and opening the video");
    if (!all || share <= 0)
        return g_strdup_printf("%s: %" G_GUINT64_FORMAT " frames, %.1f s", progress->doing, frames,
            done / 1e9);
    /* The first frames alone tell little. */
    left = passed >= G_USEC_PER_SEC ? format_time((gint64) (passed * (1 - share) / share)) : NULL;
    text = g_strdup_printf("%s: %.1f of %.1f s, %d %%%s%s%s", progress->doing, done / 1e9,
        all / 1e9, (gint) (100 * share), left ? ", " : "", left ? left : "", left ? " left" : "");
    g_free(left);
    return text;
}

void progress_show(Progress *progress, guint64 done, guint64 all, guint64 frames)
{
    const gint64 now = g_get_monotonic_time();
    gchar *text;

    if (frames && !progress->begin)
        progress->begin = now;
    if (!is_due(progress, now))
        return;
    text = describe(progress, now, done, all, frames);
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%s: %s", progress->name, text);
        line_is_open = TRUE;
    } else {
        fprintf(stderr, "%s: %s\n", progress->name, text);
    }
    g_free(text);
    progress->told = now;
}

void progress_clear_line(void)
{
    if (line_is_open)
        fprintf(stderr, "\r\033[K");
    line_is_open = FALSE;
}
