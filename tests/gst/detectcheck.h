/* SPDX-License-Identifier: MIT */
/* What tests of detectors share. */
#ifndef DETECTCHECK_H
#define DETECTCHECK_H

#include "samcheck.h"

#include <samtrack/detector.h>

/* The frame of a buffer of RGBA, until that is unmapped. */
static inline struct sam_frame
map_frame (GstBuffer * buf, GstMapInfo * map, gint width, gint height)
{
  struct sam_frame frame = SAM_FRAME_INIT;

  fail_unless (gst_buffer_map (buf, map, GST_MAP_READ));
  frame.format = SAM_PIXEL_RGBA;
  frame.width = width;
  frame.height = height;
  frame.plane[0] = map->data;
  frame.stride[0] = 4 * width;
  return frame;
}

#endif
