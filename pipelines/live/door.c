/* SPDX-License-Identifier: MIT */
#include "door.h"

#include "access.h"
#include "journal.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#define CHECK_MS 100
#define MOST_DONE 1024 /* connections that are served no more, but open still */
#define TCP_IS_OPEN 1 /* TCP_ESTABLISHED, of libc's header, which has less of the rest */

struct Door {
    const gchar *name;
    DoorLimits limits;
    guint check;

    GMutex lock;      /* guards what follows, and all guests */
    GPtrArray *inside; /* Guest, the oldest first; no references */
    guint64 refused, shown_out;
    Rate told; /* of both, in the log */
};

struct Guest {
    Door *door;
    GSocket *socket; /* no reference; NULL once it is closed */
    guint64 address; /* its IPv4 address, or the network part of its IPv6 address */
    gchar *peer;
    gint64 since;    /* us */
    gboolean admitted, leaving, done; /* done: it is served no more */
    guint64 received; /* bytes, when they were last looked at */
    gdouble sent;     /* bytes beyond the rate */
    gint64 looked;    /* us */
};

static void clear_door(gpointer data)
{
    Door *door = data;

    g_ptr_array_unref(door->inside);
    g_mutex_clear(&door->lock);
}

static void clear_guest(gpointer data)
{
    Guest *guest = data;

    g_free(guest->peer);
    g_atomic_rc_box_release_full(guest->door, clear_door);
}

Guest *guest_ref(Guest *guest)
{
    return g_atomic_rc_box_acquire(guest);
}

void guest_unref(gpointer guest)
{
    g_atomic_rc_box_release_full(guest, clear_guest);
}

/* Needs the lock. Strangers can come as often as they like: they must not fill the log. */
static void tell(Door *door, const gchar *event, const gchar *peer, const gchar *why)
{
    if (rate_take(&door->told, 1, 10))
        log_warning(event, "door", G_TYPE_STRING, door->name, "peer", G_TYPE_STRING, peer,
            "why", G_TYPE_STRING, why, "refused", G_TYPE_UINT64, door->refused,
            "closed", G_TYPE_UINT64, door->shown_out, NULL);
}

/* Whoever serves the connection finds it broken. After a shutdown it could still be read as long as
 * the client sends. */
static void abort_connection(GSocket *socket)
{
    const struct sockaddr none = {.sa_family = AF_UNSPEC};

    connect(g_socket_get_fd(socket), &none, sizeof none);
}

/* Needs the lock. */
static void show_out(Guest *guest, const gchar *why)
{
    if (guest->leaving || !guest->socket || g_socket_is_closed(guest->socket))
        return;
    guest->leaving = TRUE;
    guest->door->shown_out++;
    tell(guest->door, "connection-closed", guest->peer, why);
    abort_connection(guest->socket);
}

void guest_show_out(Guest *guest, const gchar *why)
{
    g_mutex_lock(&guest->door->lock);
    show_out(guest, why);
    g_mutex_unlock(&guest->door->lock);
}

/* The socket is being freed, in whatever thread. */
static void on_gone(gpointer data, GObject *socket)
{
    Guest *guest = data;

    g_mutex_lock(&guest->door->lock);
    guest->socket = NULL;
    g_ptr_array_remove(guest->door->inside, guest);
    g_mutex_unlock(&guest->door->lock);
    guest_unref(guest);
}

static gboolean is_stranger(const Guest *guest)
{
    return !guest->admitted && !guest->leaving;
}

/* Needs the lock. */
static guint count(Door *door, gboolean admitted, const guint64 *address)
{
    guint i, n = 0;

    for (i = 0; i < door->inside->len; i++) {
        const Guest *guest = g_ptr_array_index(door->inside, i);
        n += guest->admitted == admitted && !guest->leaving &&
            (!address || guest->address == *address);
    }
    return n;
}

/* Needs the lock. Some that were shown out may be open still, and others that are done: these take
 * little. */
static gboolean has_room(Door *door)
{
    const guint most = door->limits.guests + 6 * door->limits.strangers;
    guint i, done = 0;

    for (i = 0; i < door->inside->len; i++)
        done += ((const Guest *) g_ptr_array_index(door->inside, i))->done;
    return door->inside->len - done < most && done < MOST_DONE;
}

/* Needs the lock. The oldest stranger of an address; of the one with the most strangers if that is
 * NULL. */
static Guest *find_stranger(Door *door, const guint64 *address)
{
    Guest *found = NULL;
    guint i, n, most = 0;

    for (i = 0; i < door->inside->len; i++) {
        Guest *guest = g_ptr_array_index(door->inside, i);
        if (!is_stranger(guest) || (address && guest->address != *address))
            continue;
        n = count(door, FALSE, &guest->address);
        if (n > most) {
            most = n;
            found = guest;
        }
    }
    return found;
}

/* Needs the lock. A newcomer may have the token: strangers that came earlier had their time to show
 * it, and one of them makes room. */
static void make_room(Door *door, guint64 address)
{
    Guest *guest = NULL;

    if (count(door, FALSE, &address) >= door->limits.share)
        guest = find_stranger(door, &address);
    else if (count(door, FALSE, NULL) >= door->limits.strangers)
        guest = find_stranger(door, NULL);
    if (guest)
        show_out(guest, "others wait, and it has not shown the token");
}

static guint64 get_address(GSocketAddress *remote)
{
    GInetAddress *inet;
    const guint8 *bytes;
    guint64 address = 0;
    gsize i;

    if (!G_IS_INET_SOCKET_ADDRESS(remote))
        return 0;
    inet = g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(remote));
    bytes = g_inet_address_to_bytes(inet);
    if (g_inet_address_get_family(inet) == G_SOCKET_FAMILY_IPV4 ||
        IN6_IS_ADDR_V4MAPPED((const struct in6_addr *) bytes)) {
        bytes += g_inet_address_get_family(inet) == G_SOCKET_FAMILY_IPV4 ? 0 : 12;
        for (i = 0; i < 4; i++)
            address = address << 8 | bytes[i];
    } else {
        for (i = 0; i < 8; i++)
            address = address << 8 | bytes[i];
    }
    return address;
}

static gchar *get_peer(GSocketAddress *remote)
{
    return G_IS_INET_SOCKET_ADDRESS(remote) ? g_inet_address_to_string(
        g_inet_socket_address_get_address(G_INET_SOCKET_ADDRESS(remote))) : g_strdup("");
}

Guest *door_enter(Door *door, GSocket *socket)
{
    GSocketAddress *remote = g_socket_get_remote_address(socket, NULL);
    const guint64 address = remote ? get_address(remote) : 0;
    Guest *guest = NULL;

    g_mutex_lock(&door->lock);
    make_room(door, address);
    if (remote && has_room(door)) {
        guest = g_atomic_rc_box_new0(Guest);
        guest->door = g_atomic_rc_box_acquire(door);
        guest->socket = socket;
        guest->address = address;
        guest->peer = get_peer(remote);
        guest->since = guest->looked = g_get_monotonic_time();
        g_object_weak_ref(G_OBJECT(socket), on_gone, guest_ref(guest));
        g_ptr_array_add(door->inside, guest);
    } else {
        door->refused++;
        tell(door, "connection-refused", "", "too many connections are open");
    }
    g_mutex_unlock(&door->lock);
    g_clear_object(&remote);
    return guest;
}

gboolean guest_admit(Guest *guest)
{
    Door *door = guest->door;
    const DoorLimits *limits = &door->limits;

    g_mutex_lock(&door->lock);
    if (!guest->admitted && !guest->leaving && count(door, TRUE, NULL) < limits->guests &&
        count(door, TRUE, &guest->address) < limits->guests - limits->reserved)
        guest->admitted = TRUE;
    if (!guest->admitted) {
        door->refused++;
        tell(door, "connection-refused", guest->peer, "too many connections have the token");
    }
    g_mutex_unlock(&door->lock);
    return guest->admitted;
}

/* What the kernel knows of the connection; all 0 if that is nothing. */
static struct tcp_info get_info(GSocket *socket)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;

    if (getsockopt(g_socket_get_fd(socket), IPPROTO_TCP, TCP_INFO, &info, &size))
        memset(&info, 0, sizeof info);
    return info;
}

/* Needs the lock. A connection that either side has ended has no place any more: nothing comes over
 * it, though its socket may stay open for a while. */
static struct tcp_info check_end(Guest *guest)
{
    const struct tcp_info info = guest->socket && !g_socket_is_closed(guest->socket) ?
        get_info(guest->socket) : (struct tcp_info) {0};

    if (info.tcpi_state != TCP_IS_OPEN)
        guest->leaving = TRUE;
    return info;
}

void guest_check_end(Guest *guest)
{
    g_mutex_lock(&guest->door->lock);
    check_end(guest);
    guest->done = guest->leaving;
    g_mutex_unlock(&guest->door->lock);
}

/* Needs the lock. Clients have little to say: whoever sends without end, be it lines, bodies or
 * messages, is shown out, whichever parser is kept busy with it. */
static void check_guest(Guest *guest, gint64 now)
{
    const DoorLimits *limits = &guest->door->limits;
    const struct tcp_info info = check_end(guest);
    const guint64 received = MAX(info.tcpi_bytes_received, guest->received);

    guest->sent = MAX(0, guest->sent - limits->rate * (now - guest->looked) / 1e6) +
        (received - guest->received);
    guest->received = received;
    guest->looked = now;
    if (guest->sent > (guest->admitted ? limits->burst : limits->stranger_burst))
        show_out(guest, "it sends too much");
    else if (!guest->admitted && now - guest->since > limits->silent_s * G_USEC_PER_SEC)
        show_out(guest, "it has not shown the token");
}

static gboolean check(gpointer data)
{
    Door *door = data;
    const gint64 now = g_get_monotonic_time();
    guint i;

    g_mutex_lock(&door->lock);
    for (i = 0; i < door->inside->len; i++)
        check_guest(g_ptr_array_index(door->inside, i), now);
    g_mutex_unlock(&door->lock);
    return G_SOURCE_CONTINUE;
}

Door *door_new(const gchar *name, const DoorLimits *limits)
{
    Door *door = g_atomic_rc_box_new0(Door);

    door->name = name;
    door->limits = *limits;
    g_mutex_init(&door->lock);
    door->inside = g_ptr_array_new();
    door->check = g_timeout_add(CHECK_MS, check, door);
    return door;
}

void door_clear(Door *door, gboolean at_once)
{
    guint i;

    g_mutex_lock(&door->lock);
    for (i = 0; i < door->inside->len; i++) {
        Guest *guest = g_ptr_array_index(door->inside, i);
        guest->leaving = TRUE;
        if (g_socket_is_closed(guest->socket))
            continue;
        if (at_once)
            abort_connection(guest->socket);
        else
            g_socket_shutdown(guest->socket, TRUE, TRUE, NULL);
    }
    g_mutex_unlock(&door->lock);
}

void door_free(Door *door)
{
    g_clear_handle_id(&door->check, g_source_remove);
    g_atomic_rc_box_release_full(door, clear_door);
}

void door_get_counts(Door *door, DoorCounts *counts)
{
    g_mutex_lock(&door->lock);
    *counts = (DoorCounts) {.guests = count(door, TRUE, NULL),
        .strangers = count(door, FALSE, NULL), .refused = door->refused,
        .shown_out = door->shown_out};
    g_mutex_unlock(&door->lock);
}
