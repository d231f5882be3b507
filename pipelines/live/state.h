/* SPDX-License-Identifier: MIT */
/* Parts of the message of a state. */
#ifndef LIVE_STATE_H
#define LIVE_STATE_H

#include "rooms.h"

#include <json-glib/json-glib.h>

void state_add_annotations(JsonBuilder *b, Room *room); /* what a download would hold */
void state_add_undo(JsonBuilder *b, Room *room);        /* what would be undone next */

#endif
