/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_FROZEN_H__
#define __GST_SAM_FROZEN_H__

#include <gst/gst.h>

G_BEGIN_DECLS

/* From start to stop an element is frozen: properties with
 * GST_PARAM_MUTABLE_READY keep their values. Post the warning that @spec keeps
 * its value, unless @wanted is that value. Its details are a structure @name
 * with `reason` ("state") and `property`. @is_secret: values are not told. */
void gst_sam_frozen_refuse (GstElement * element, GParamSpec * spec,
    const GValue * wanted, const gchar * name, gboolean is_secret);

G_END_DECLS

#endif /* __GST_SAM_FROZEN_H__ */
