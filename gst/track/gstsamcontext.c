/* SPDX-License-Identifier: MIT */
/* Finding a CUDA context and sharing it with neighbouring elements. */

#include "common/gstsamallocation.h"
#include "common/gstsamcuda.h"
#include "gstsamtrackprivate.h"

#define GST_CAT_DEFAULT gst_sam_track_debug

static gpointer
get_parent_class (GstSamTrack * self)
{
  return g_type_class_peek_parent (G_OBJECT_GET_CLASS (self));
}

static GstObject *
ref_context (GstSamTrack * self)
{
  GstObject *context;

  gst_sam_object_lock (self);
  context = self->cuda_context ? gst_object_ref (self->cuda_context) : NULL;
  gst_sam_object_unlock (self);
  return context;
}

void
gst_sam_track_set_context (GstElement * element, GstContext * context)
{
  GstSamTrack *self = GST_SAM_TRACK (element);
  GstObject *found;
  gint id;

  gst_sam_object_lock (self);
  id = self->cuda_device_id;
  gst_sam_object_unlock (self);
  found = gst_sam_cuda_find_context (element, context, id);
  gst_sam_object_lock (self);
  if (!self->cuda_context)
    self->cuda_context = g_steal_pointer (&found);
  gst_sam_object_unlock (self);
  gst_clear_object (&found);
  GST_ELEMENT_CLASS (get_parent_class (self))->set_context (element, context);
}

/* All elements of a pipeline use one context, so the engine runs in it, too:
 * with frames from system memory as well, lest the device have two. Without
 * libgstcuda, or without a driver, it takes the primary one or says why not. */
void
gst_sam_track_start_context (GstSamTrack * self, struct sam_params *params)
{
  if (params->backend != SAM_BACKEND_AUTO &&
      params->backend != SAM_BACKEND_CUDA)
    return;
  if (gst_sam_cuda_ensure_context (GST_ELEMENT (self), params->device,
          &self->cuda_context))
    params->cuda_context = gst_sam_cuda_get_handle (self->cuda_context);
}

void
gst_sam_track_stop_context (GstSamTrack * self)
{
  GstObject *context;

  gst_sam_object_lock (self);
  context = g_steal_pointer (&self->cuda_context);
  gst_sam_object_unlock (self);
  gst_clear_object (&context);
}

gboolean
gst_sam_track_answer_context (GstSamTrack * self, GstQuery * query)
{
  GstObject *context = ref_context (self);
  gboolean ok = gst_sam_cuda_answer (GST_ELEMENT (self), query, context);

  gst_clear_object (&context);
  return ok;
}

/* Frames pass in place, so that downstream decides on their memory; upstream
 * takes ours where downstream has nothing to say. */
gboolean
gst_sam_track_propose_allocation (GstBaseTransform * base, GstQuery * decided,
    GstQuery * query)
{
  GstSamTrack *self = GST_SAM_TRACK (base);
  GstObject *context = ref_context (self);
  gboolean ok = GST_BASE_TRANSFORM_CLASS (get_parent_class (self))->
      propose_allocation (base, decided, query);

  gst_sam_allocation_keep_understood (query);
  if (!ok || !gst_query_get_n_allocation_pools (query)) {
    gst_sam_cuda_propose (query, context);
    ok = ok || gst_query_get_n_allocation_pools (query) > 0;
  }
  gst_clear_object (&context);
  return ok;
}
