/* SPDX-License-Identifier: MIT */
/* What the tests on the emulated device share, beside samcheck.h. */
#ifndef CUDACHECK_H
#define CUDACHECK_H

#include <gst/check/gstharness.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/video/video.h>

/* A fixture: libgstcuda in this process. */
void sam_cuda_load (void);

/* The registry keeps the element's factory as long as the program lives: the
 * leaks tracer may not count it. */
void sam_let_live (const gchar * element);

/* A copy of a frame of the caps that @h is given, in the context's memory. */
GstBuffer *sam_frame_to_device (GstHarness * h, GstCudaContext * context,
    const GstVideoInfo * info, GstBuffer * from);

#endif
