/* SPDX-License-Identifier: MIT */
/* Which camera is on which node: a function of their names and of the nodes' capacities alone. */
#ifndef FLEET_ASSIGN_H
#define FLEET_ASSIGN_H

#include <glib.h>

/* @to: for each camera, the index of its node. There must be room for all of them. Each node has
 * @capacity cameras at most.
 *
 * Rendezvous hashing: every camera ranks the nodes, and every node the cameras, by the hash of both
 * names, so that a node that is lost moves its own cameras, and others only where it is full. */
void assign(const gchar *const *cameras, guint num_cameras, const gchar *const *nodes,
    const guint *capacity, guint num_nodes, guint *to);

#endif
