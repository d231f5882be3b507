/* SPDX-License-Identifier: MIT */
#include "stopping.h"

#define WAIT_US 10000
#define MOST_WAITS 500

/* Pipelines that hang outlive their owner. */
struct Stopping {
    gatomicrefcount refs;
    gint n; /* pipelines that have not ended; atomic */
};

static void unref(gpointer data)
{
    Stopping *stopping = data;

    if (g_atomic_ref_count_dec(&stopping->refs))
        g_free(stopping);
}

static void stop(GstElement *pipeline, gpointer data)
{
    gst_element_set_state(pipeline, GST_STATE_NULL);
    g_atomic_int_add(&((Stopping *) data)->n, -1);
}

Stopping *stopping_new(void)
{
    Stopping *stopping = g_new0(Stopping, 1);

    g_atomic_ref_count_init(&stopping->refs);
    return stopping;
}

void stopping_add(Stopping *stopping, GstElement *pipeline)
{
    g_atomic_ref_count_inc(&stopping->refs);
    g_atomic_int_inc(&stopping->n);
    gst_element_call_async(pipeline, stop, stopping, unref);
    gst_object_unref(pipeline);
}

guint stopping_count(Stopping *stopping)
{
    return (guint) g_atomic_int_get(&stopping->n);
}

void stopping_finish(Stopping *stopping)
{
    gint i;

    for (i = 0; i < MOST_WAITS && g_atomic_int_get(&stopping->n); i++)
        g_usleep(WAIT_US);
    unref(stopping);
}
