/* SPDX-License-Identifier: MIT */
/* Pictures of tracked frames, for data sets: files CAMERA.pictures/RUN.TIME.jpg in the state
 * folder, by the run and the time of their masks. When these reach a bound, the oldest are given
 * up. */
#ifndef LIVE_ALBUM_H
#define LIVE_ALBUM_H

#include <gst/gst.h>

typedef struct Album Album;

/* Finds the pictures of before. @most: bytes to keep. @every: time between two of them. */
Album *album_new(const gchar *folder, const gchar *camera, guint64 most, GstClockTime every);
/* Nobody may take pictures any more. */
void album_free(Album *album);

/* Frames that pass this pad, with their running times as time stamps, may become pictures. */
void album_watch(Album *album, GstPad *pad);

/* There are masks of objects on the frame of that running time: it is kept if the last picture is
 * old enough. Takes some ms then. One thread. */
void album_take(Album *album, const gchar *run, GstClockTime time);

typedef struct {
    guint64 pictures, bytes; /* kept now */
    guint64 lost;            /* that could not be written */
} AlbumStats;

/* Any thread. */
void album_get_stats(Album *album, AlbumStats *stats);

guint64 album_get_most(const Album *album); /* bytes */
/* Folder of the pictures; valid as long as the album. */
const gchar *album_get_folder(const Album *album);
/* Name of a picture's file in it; owned by the caller. */
gchar *album_name_picture(const gchar *run, GstClockTime time);

#endif
