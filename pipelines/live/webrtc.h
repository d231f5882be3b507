/* SPDX-License-Identifier: MIT */
/* Video to one browser by WebRTC: a small pipeline that takes the encoded stream. Main thread. */
#ifndef LIVE_WEBRTC_H
#define LIVE_WEBRTC_H

#include "camera.h"

typedef struct Webrtc Webrtc;

/* Called in the main thread; @message is for the browser and is freed after the call. */
typedef void (*WebrtcSend)(const gchar *message, gpointer user);

/* Whether the elements are installed. */
gboolean webrtc_is_possible(void);

/* Loads them in a thread, to be joined, and has DTLS make its key pair, one for all viewers: a
 * quarter of a second of a processor that the first viewer would wait for. NULL: there is no
 * thread, and that one waits. */
GThread *webrtc_warm_up(void);

/* Makes an offer and sends it. @masks: they are drawn into the video. @address: the one to be found
 * at; NULL: all of this machine. NULL is returned if the pipeline does not start. `send` is not
 * called any more after webrtc_free(). */
Webrtc *webrtc_new(Camera *camera, gboolean masks, const gchar *address, WebrtcSend send,
    gpointer user);
void webrtc_free(Webrtc *webrtc);

/* What the browser says. FALSE: the text is not an answer. */
gboolean webrtc_answer(Webrtc *webrtc, const gchar *sdp);
void webrtc_add_candidate(Webrtc *webrtc, guint mline, const gchar *candidate);

/* Running time of the frame with this RTP time stamp: the newest possible. */
GstClockTime webrtc_get_time(Webrtc *webrtc, guint32 rtp);

guint64 webrtc_get_bytes(Webrtc *webrtc);

#endif
