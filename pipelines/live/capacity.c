/* SPDX-License-Identifier: MIT */
#include "capacity.h"

#define LEAST_US (5 * G_USEC_PER_SEC)

static guint64 get_count(const GstStructure *stats, const gchar *name)
{
    guint64 n = 0;

    gst_structure_get_uint64(stats, name, &n);
    return n;
}

void capacity_update(Capacity *c, const GstStructure *stats)
{
    const gint64 now_us = g_get_monotonic_time(), past_us = now_us - c->since_us;
    const guint64 frames = get_count(stats, "frames-in"), stale = get_count(stats, "stale");
    const guint64 inferred = get_count(stats, "inferred");
    const guint64 ages = get_count(stats, "stale-ages");
    /* A pipeline that was started again counts from 0. */
    const gboolean goes_on = c->since_us && frames >= c->frames && stale >= c->stale &&
        inferred >= c->inferred && ages >= c->ages;
    gint64 step_ns = 0;

    gst_structure_get_int64(stats, "step-p50-ns", &step_ns);
    c->steps_per_second = step_ns > 0 ? 1e9 / step_ns : 0;
    if (goes_on && past_us < LEAST_US)
        return;
    c->known = goes_on;
    if (goes_on) {
        c->frames_per_second = 1e6 * (frames - c->frames) / past_us;
        c->tracked_per_second = 1e6 * (inferred - c->inferred) / past_us;
        c->stale_ratio = frames > c->frames ? (gdouble) (stale - c->stale) / (frames - c->frames) :
            0;
        c->stale_ratio = MIN(c->stale_ratio, 1);
        /* an age in frames, over their number, and that over their rate */
        c->mask_age = frames > c->frames ? (gdouble) (ages - c->ages) / (frames - c->frames) /
            c->frames_per_second : 0;
    }
    c->since_us = now_us;
    c->frames = frames;
    c->inferred = inferred;
    c->stale = stale;
    c->ages = ages;
}
