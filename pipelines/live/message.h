/* SPDX-License-Identifier: MIT */
/* The messages between the page and the program: one JSON object each, over a WebSocket. */
#ifndef LIVE_MESSAGE_H
#define LIVE_MESSAGE_H

#include "objects.h"

#include <json-glib/json-glib.h>

#define MESSAGE_MAX_BYTES 16384

typedef enum {
    OP_WATCH, /* camera, video; masks */
    OP_POINT, /* x, y, positive; id, rtp or us */
    OP_BOX,   /* x, y, w, h; id, rtp or us */
    OP_LOOK,  /* x, y; rtp or us */
    OP_UNDO,
    OP_TAKE, /* id, answer */
    OP_REMOVE,
    OP_CLEAR,
    OP_RENAME, /* id, name */
    OP_SAVE,    /* name */
    OP_RESTORE, /* save */
    OP_SAVES,
    OP_BACK, /* n */
    OP_ZONE, /* name, kind, points; was */
    OP_UNZONE, /* name */
    OP_WORDS, /* of */
    OP_SEEN,   /* n: the last state that arrived; masks: the last message of masks */
    OP_ANSWER, /* sdp */
    OP_ICE,    /* candidate, mline */
} Op;

/* What a viewer asks for. */
typedef struct {
    Op op;
    guint64 re; /* its number, which the reply repeats; 0: none */
    guint64 id, n, mline, masks, answer;
    gboolean draws; /* the page draws the masks, and wants them as data */
    Prompt prompt;
    gboolean has_rtp;
    guint32 rtp; /* RTP time stamp of the frame that was on the screen, 90 kHz; its running time,
                  * us, is in prompt.time */
    gchar *camera, *name, *sdp, *candidate, *video, *save, *of;
    ZoneDrawing zone;
} Request;

/* FALSE and *why, a sentence owned by the caller, if the text is no request. In both cases
 * request_clear(). */
gboolean request_parse(Request *request, const gchar *text, gsize bytes, gchar **why);
void request_clear(Request *request);

/* Whether it is one JSON object without another in it, and nothing beside it, as far as brackets
 * tell, and no text holds a null character: others are not given to the parser. */
gboolean message_is_flat(const gchar *text, gsize bytes);

/* The following return texts that the caller owns. */
gchar *message_reply(guint64 re, guint64 id, const gchar *why); /* why NULL: done */
gchar *message_saves(guint64 re, const GPtrArray *saves);
gchar *message_notice(const gchar *text);
gchar *message_offer(const gchar *sdp);
gchar *message_ice(guint mline, const gchar *candidate);
gchar *message_video(const gchar *kind); /* what the viewer must use: "mjpeg" */

/* For messages of more fields: begin, add members, end. */
JsonBuilder *message_begin(const gchar *type);
void message_add_text(JsonBuilder *b, const gchar *name, const gchar *value);
void message_add_number(JsonBuilder *b, const gchar *name, gdouble value);
void message_add_count(JsonBuilder *b, const gchar *name, guint64 value);
void message_add_objects(JsonBuilder *b, const GArray *objects); /* Object */
gchar *message_end(JsonBuilder *b);

#endif
