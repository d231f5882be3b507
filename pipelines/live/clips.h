/* SPDX-License-Identifier: MIT */
/* Short clips around a camera's events, from the video that is encoded for pages: files
 * CAMERA.clips/FIRST-LAST.mp4 in the state folder, by the numbers of the events that are in them.
 * When these reach a bound, the oldest go. Main thread. */
#ifndef LIVE_CLIPS_H
#define LIVE_CLIPS_H

#include "output.h"

typedef struct Clips Clips;

/* Finds the clips of before. @video: H.264, which is encoded as long as the clips are there; must
 * outlive them. @most: bytes to keep. */
Clips *clips_new(const gchar *folder, const gchar *camera, Output *video, guint64 most);
/* Clips that are under way end now, and are written. */
void clips_free(Clips *clips);

/* There is an event, at that running time: a few seconds before and after it become a clip, or part
 * of the one that is under way. Numbers rise. */
void clips_note(Clips *clips, guint64 number, GstClockTime time);

/* The clip that an event is in, an MP4 file; NULL: there is none, or not yet. Owned by the
 * caller. */
GBytes *clips_read(Clips *clips, guint64 number);
gboolean clips_have(Clips *clips, guint64 number);

guint64 clips_get_bytes(Clips *clips); /* that are kept */

#endif
