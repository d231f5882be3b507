/* SPDX-License-Identifier: MIT */
/* Who may connect: places for those that have shown the token and for those that have not yet,
 * shares of an address, time and bytes. */
#ifndef LIVE_DOOR_H
#define LIVE_DOOR_H

#include <gio/gio.h>

typedef struct Door Door;
typedef struct Guest Guest; /* a connection; references may outlive it and the door */

typedef struct {
    guint guests;          /* that have shown the token, at a time */
    guint reserved;        /* of these, that one address cannot take */
    guint strangers;       /* that have not yet */
    guint share;           /* of these, from one address */
    guint silent_s;        /* until the token is shown */
    gdouble stranger_burst; /* bytes that a stranger may send at once */
    gdouble burst, rate;    /* bytes that a connection may send at once, and per second */
} DoorLimits;

/* Main thread; so are door_enter() and door_free(). @name stands in the log. */
Door *door_new(const gchar *name, const DoorLimits *limits);
void door_free(Door *door);
/* Ends all connections: in order, which those that send without end may not notice, or at once. */
void door_clear(Door *door, gboolean at_once);

/* A reference to the newcomer, or NULL if the connection must be closed. A stranger that came
 * earlier may be shown out for it. The guest leaves when the connection's socket is closed. */
Guest *door_enter(Door *door, GSocket *socket);

/* The guest has shown the token. FALSE: there is no place for one more. Any thread. */
gboolean guest_admit(Guest *guest);
/* Ends the connection. Any thread. */
void guest_show_out(Guest *guest, const gchar *why);
/* Whoever served the connection does so no more: if the client has closed it, its place is free,
 * though the socket may stay open for a while. Any thread. */
void guest_check_end(Guest *guest);
Guest *guest_ref(Guest *guest);
void guest_unref(gpointer guest);

typedef struct {
    guint guests, strangers;       /* now */
    guint64 refused, shown_out;    /* so far */
} DoorCounts;

void door_get_counts(Door *door, DoorCounts *counts);

#endif
