/* SPDX-License-Identifier: MIT */
/* What the tests of samexport share: a folder, frames with metas, lines that are
 * read. */
#ifndef EXPORTCHECK_H
#define EXPORTCHECK_H

#include "samcheck.h"

#include <json-glib/json-glib.h>

#define WIDTH 64
#define HEIGHT 48

/* Fixtures: a folder for each test. */
/* What is in the folder of this test. */
gchar **export_list (void);

void export_set_up (void);
void export_tear_down (void);
gchar *export_get_path (const gchar * name);

/* samexport with these properties and a location in the folder. Frames that
 * come out are dropped. */
GstHarness *export_open (const gchar * properties, const gchar * name);

/* End the stream and the harness. */
void export_close (GstHarness * h);

/* Before the harness is closed: messages that are left refer to its element. */
void export_close_bus (GstBus * bus);

/* Frame @n of 30 a second; export_tracked_new(): with one object of id and slot
 * 1, whose mask is column 0. */
GstBuffer *export_frame_new (guint n);
GstBuffer *export_tracked_new (guint n);

/* @objects: an array, to be initialised by the caller. */
void export_add_object (GValue * objects, guint64 id, guint slot,
    const gchar * label, gdouble score);
/* One whose mask is of the model of "follow". */
void export_add_followed (GValue * objects, guint64 id, guint slot,
    guint anchor_age);

/* Takes @objects and @mask. */
GstStructure *export_add_meta (GstBuffer * buf, const gchar * source,
    GValue * objects, GstBuffer * mask);

/* Every pixel of column x has the label x + 1. */
GstBuffer *export_mask_new (void);

/* The lines of a file, which must all be complete. */
gchar **export_read_lines (const gchar * name);
JsonObject *export_parse (JsonParser * parser, const gchar * text);

void export_wait_until_written (GstHarness * h, guint64 frames);

/* The sentence with which samexport refuses to start; NULL: it does not. Caller
 * frees it. */
gchar *export_get_refusal (const gchar * properties, const gchar * name);

#endif
