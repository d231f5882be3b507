/* SPDX-License-Identifier: MIT */
#include "assign.h"

#include <math.h>
#include <string.h>

#define NONE G_MAXUINT

/* Larger where they like each other more; a node of twice the capacity is liked by twice as
 * many. */
static gdouble rank(const gchar *camera, const gchar *node, guint capacity)
{
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    guint8 digest[32];
    gsize bytes = sizeof digest;
    guint64 hash = 0;
    gsize i;

    g_checksum_update(sum, (const guchar *) camera, strlen(camera) + 1);
    g_checksum_update(sum, (const guchar *) node, strlen(node));
    g_checksum_get_digest(sum, digest, &bytes);
    g_checksum_free(sum);
    for (i = 0; i < 7; i++)
        hash = hash << 8 | digest[i];
    hash >>= 3; /* 53 bits */
    return capacity / -log((hash + 0.5) / 9007199254740992.0);
}

/* The node that the camera likes most of those below @limit; NONE: there is none. */
static guint find_next(const gdouble *ranks, guint num_nodes, gdouble limit)
{
    guint best = NONE, i;

    for (i = 0; i < num_nodes; i++)
        if (ranks[i] < limit && ranks[i] > 0 && (best == NONE || ranks[i] > ranks[best]))
            best = i;
    return best;
}

/* Of a node's cameras the one that it likes least. */
static guint find_least(const guint *to, const gdouble *ranks, guint num_cameras, guint num_nodes,
    guint node)
{
    guint least = NONE, i;

    for (i = 0; i < num_cameras; i++)
        if (to[i] == node && (least == NONE || ranks[i * num_nodes + node] <
            ranks[least * num_nodes + node]))
            least = i;
    return least;
}

/* Each camera asks its nodes one after the other; a node that is full sends away the one that it
 * likes least, which asks its next one. What comes out does not depend on the order. */
void assign(const gchar *const *cameras, guint num_cameras, const gchar *const *nodes,
    const guint *capacity, guint num_nodes, guint *to)
{
    gdouble *ranks = g_new(gdouble, (gsize) num_cameras * num_nodes);
    guint *used = g_new0(guint, num_nodes);
    guint i, n, camera;

    for (i = 0; i < num_cameras; i++) {
        to[i] = NONE;
        for (n = 0; n < num_nodes; n++)
            ranks[i * num_nodes + n] = rank(cameras[i], nodes[n], capacity[n]);
    }
    for (i = 0; i < num_cameras; i++) {
        gdouble limit = INFINITY;

        for (camera = i; camera != NONE;) {
            const guint node = find_next(ranks + (gsize) camera * num_nodes, num_nodes, limit);
            guint sent;

            if (node == NONE)
                break; /* there was no room */
            to[camera] = node;
            limit = ranks[camera * num_nodes + node];
            if (++used[node] <= capacity[node])
                break;
            used[node]--;
            sent = find_least(to, ranks, num_cameras, num_nodes, node);
            limit = ranks[sent * num_nodes + node];
            to[sent] = NONE;
            camera = sent;
        }
    }
    g_free(used);
    g_free(ranks);
}
