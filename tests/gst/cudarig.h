/* SPDX-License-Identifier: MIT */
#ifndef __CUDA_RIG_H__
#define __CUDA_RIG_H__

#include "samcheck.h"

#include "common/gstsammeta.h"

#include <gst/cuda/gstcudacontext.h>

/* The element twice, for both memories, and what it is given. */
typedef struct
{
  GstCudaContext *context;
  GstHarness *host, *device;
  GstVideoInfo info;
  GRand *rand;
  GstSamReport *report;
} CudaRig;

void cuda_rig_open (CudaRig * rig, GstVideoFormat format, gint width,
    gint height, guint32 seed);
void cuda_rig_close (CudaRig * rig);

/* A report of that many objects, anywhere; rectangles of their labels. */
void cuda_rig_draw_objects (CudaRig * rig, guint objects);
GstBuffer *cuda_rig_draw_mask (CudaRig * rig, gint width, gint height);

/* The same mask on the device, if it can be there. */
GstBuffer *cuda_rig_mask_to_device (CudaRig * rig, GstBuffer * mask);

/* Noise; of P010 the lower six bits are 0, and alpha is 255 here and there. */
GstBuffer *cuda_rig_draw_frame (CudaRig * rig);
GstBuffer *cuda_rig_frame_to_device (CudaRig * rig, GstBuffer * from);

/* Rows of planes that differ. */
guint cuda_rig_count_differences (CudaRig * rig, GstBuffer * a, GstBuffer * b);

#endif /* __CUDA_RIG_H__ */
