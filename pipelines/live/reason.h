/* SPDX-License-Identifier: MIT */
/* Why a source gives no frames, in a sentence for the log and the page. */
#ifndef LIVE_REASON_H
#define LIVE_REASON_H

#include <gst/gst.h>

/* What was learnt of a source while it was opened. Main thread. */
typedef struct {
    gchar *certificate; /* why it was refused; NULL: it was not */
    gchar *missing;     /* which plugin is missing; NULL: none is known to be */
    gboolean audio;     /* it has a stream of sound */
    gboolean segments;  /* it comes in segments, as HLS does */
} Findings;

void findings_clear(Findings *findings);
/* Takes what the message tells; any message may be given. */
void findings_take(Findings *findings, GstMessage *message);

/* A pipeline's thread tells by these messages what findings_take() reads. */
void reason_post_stream(GstElement *element, const GstCaps *caps);
void reason_post_segments(GstElement *element);

/* The sentence for an error, without passwords; `transport` of RTSP was tried, NULL: it is not
 * RTSP. Owned by the caller. */
gchar *reason_of_error(const Findings *findings, GstMessage *error, const gchar *transport);

/* Whether the error says that nothing was offered at all. */
gboolean findings_have_no_stream(const Findings *findings, GstMessage *error);

/* What the element says of any error, without passwords. Owned by the caller. */
gchar *reason_of_message(GstMessage *error);

/* The element for a scheme of addresses, and what installs it: "the element srtsrc: install
 * its plugin srt (Debian: gstreamer1.0-plugins-bad)". Owned by the caller; NULL: this machine has
 * it. `*known`: whether sources may have this scheme at all. */
gchar *reason_of_scheme(const gchar *uri, gboolean *known);

#endif
