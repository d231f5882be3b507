/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_SCENE_META_H__
#define __GST_SAM_SCENE_META_H__

#include <gst/video/video.h>

#include "scene.h"

G_BEGIN_DECLS

#define GST_SAM_SCENE_META_NAME "GstSamSceneMeta"

void gst_sam_scene_meta_register (void);

/* Takes @labels. */
void gst_sam_scene_meta_add (GstBuffer * buffer, const GstVideoInfo * info,
    GstBuffer * labels, const SceneFrame * frame);

G_END_DECLS

#endif /* __GST_SAM_SCENE_META_H__ */
