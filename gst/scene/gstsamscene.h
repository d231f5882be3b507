/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_SCENE_H__
#define __GST_SAM_SCENE_H__

#include <gst/base/gstpushsrc.h>

G_BEGIN_DECLS

#define GST_TYPE_SAM_SCENE (gst_sam_scene_get_type ())
G_DECLARE_FINAL_TYPE (GstSamScene, gst_sam_scene, GST, SAM_SCENE, GstPushSrc)
GST_ELEMENT_REGISTER_DECLARE (samscene);

G_END_DECLS

#endif /* __GST_SAM_SCENE_H__ */
