/* SPDX-License-Identifier: MIT */
/* The masks of a camera as messages for pages, which draw them over the clean video. Main thread.
 * docs/LIVE.md describes the message. */
#ifndef LIVE_MASKS_H
#define LIVE_MASKS_H

#include <gst/gst.h>

typedef struct Masks Masks;

/* Called in the main thread with the newest masks. @message is of the call alone; @number counts
 * messages, from 1 on. Masks that come while the main thread is busy replace those that wait. */
typedef void (*MasksFunc)(GString *message, guint64 number, gpointer user);

/* @pad: where buffers with masks pass, of @pipeline. */
Masks *masks_new(GstElement *pipeline, GstPad *pad, MasksFunc func, gpointer user);
/* Whether anybody looks. If somebody new does, the masks of the next frame are told even if it
 * repeats them. */
void masks_want(Masks *masks, gboolean wanted);
void masks_free(Masks *masks);

/* Writes what a click would take as a message, too. @re: number of the request. @answer: a
 * samtrack-preview of the tracker. */
void masks_write_preview(GString *message, guint64 re, const GstStructure *answer);

#endif
