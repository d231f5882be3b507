/* SPDX-License-Identifier: MIT */
#ifndef LIVE_CAMERAS_H
#define LIVE_CAMERAS_H

/* Of one program, watched or not: each has about 14 threads, 25 files and 80 MiB, and the page one
 * list of them. What a machine tracks of them is another question: samtrack_capacity_... tells. */
#define LIVE_MOST_CAMERAS 64

#endif
