/* SPDX-License-Identifier: MIT */
/* Tracks that outlive the program: saved every minute, when there are other objects, and at the
 * end; found again when the camera
 * gives its first frame, here or elsewhere with the same folder. Main thread. */
#ifndef LIVE_KEEPER_H
#define LIVE_KEEPER_H

#include "objects.h"

typedef struct Keeper Keeper;

/* @most: how old tracks may be, s. Both must outlive it. */
Keeper *keeper_new(Camera *camera, Objects *objects, gint most);

/* Saves for the last time: the objects are busy until it is done. */
void keeper_end(Keeper *keeper);
/* The objects must not be busy. */
void keeper_free(Keeper *keeper);

#endif
