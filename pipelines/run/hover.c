/* SPDX-License-Identifier: MIT */
#include "hover.h"

/* The picture moves on under a mouse that rests: what is there is asked again, until the mouse has
 * rested for so long, as it may have left the window. */
#define REST_US (G_USEC_PER_SEC / 2)
#define PATIENCE_US (3 * G_USEC_PER_SEC)

static void show(Hover *hover, const GstStructure *answer)
{
    if (!answer && !hover->is_shown)
        return;
    g_object_set(hover->overlay, "preview", answer, NULL);
    hover->is_shown = answer != NULL;
    gate_redraw(hover->gate);
}

/* Samtrack serves the newest request, twelve a second at most. */
static void ask(Hover *hover)
{
    gchar x[G_ASCII_DTOSTR_BUF_SIZE], y[G_ASCII_DTOSTR_BUF_SIZE];
    gchar *text = g_strdup_printf("point,x=%s,y=%s,normalized=true",
        g_ascii_formatd(x, sizeof x, "%.5f", hover->x),
        g_ascii_formatd(y, sizeof y, "%.5f", hover->y));

    g_signal_emit_by_name(hover->gate->track, "preview", text, &hover->number);
    hover->asked_us = g_get_monotonic_time();
    hover->waits = TRUE;
    gate_serve(hover->gate);
    g_free(text);
}

/* A click would not begin an object while there is one that it corrects. */
static gboolean is_free(Hover *hover, GateView *view)
{
    gate_look(hover->gate, view);
    return view->linked && !view->has_current;
}

void hover_move(Hover *hover, gdouble x, gdouble y)
{
    GateView view;

    hover->moved_us = g_get_monotonic_time();
    hover->x = x;
    hover->y = y;
    hover->is_over = x >= 0 && x < 1 && y >= 0 && y < 1;
    if (hover->is_over && is_free(hover, &view))
        ask(hover);
    else
        show(hover, NULL);
}

void hover_end(Hover *hover)
{
    hover->is_over = hover->waits = FALSE;
    show(hover, NULL);
}

void hover_tick(Hover *hover)
{
    const gint64 now = g_get_monotonic_time();
    GateView view;

    if (!hover->is_over)
        return;
    if (!is_free(hover, &view)) {
        hover->waits = FALSE;
        show(hover, NULL);
    } else if (!view.paused && !view.at_end && now - hover->moved_us > PATIENCE_US) {
        hover_end(hover);
    } else if (hover->waits) {
        gate_serve(hover->gate);
    } else if (!view.paused && !view.at_end && now - hover->asked_us > REST_US) {
        ask(hover);
    }
}

void hover_take(Hover *hover, const GstStructure *answer)
{
    guint64 number = 0;

    gst_structure_get_uint64(answer, "number", &number);
    if (!hover->waits || number != hover->number)
        return;
    hover->waits = FALSE;
    show(hover, gst_structure_has_field(answer, "mask") ? answer : NULL);
}
