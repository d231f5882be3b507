/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_SELECTION_H__
#define __GST_SAM_SELECTION_H__

#include "common/gstsammeta.h"

G_BEGIN_DECLS

/**
 * GstSamSelection:
 *
 * Which objects are meant, and colours that were chosen for some of them. Does
 * not change once it is made; counted.
 */
typedef struct
{
  guint num_ids;
  guint64 *ids;
  gchar **labels;               /* NULL: none */
  GArray *colours;
} GstSamSelection;

/* Parse the texts of the properties `selected-ids`, `selected-labels` and
 * `colors`; each may be NULL. Returns NULL and sets *why if one has not its
 * form; free it with g_free(). */
GstSamSelection *gst_sam_selection_new (const gchar * ids,
    const gchar * labels, const gchar * colours, gchar ** why);
GstSamSelection *gst_sam_selection_ref (GstSamSelection * self);
void gst_sam_selection_unref (GstSamSelection * self);

/* Whether the object is meant. Without ids and labels all are. @unknown: what
 * is said of objects without a label, where there are labels. */
gboolean gst_sam_selection_has (const GstSamSelection * self,
    const GstSamObject * object, gboolean unknown);

/* Set *rgb to the colour that was chosen for the object. Returns FALSE if there
 * is none. */
gboolean gst_sam_selection_get_colour (const GstSamSelection * self,
    const GstSamObject * object, guint32 * rgb);

/* Leave only objects that are meant in the report. */
void gst_sam_selection_filter (const GstSamSelection * self,
    GstSamReport * report);

G_END_DECLS

#endif /* __GST_SAM_SELECTION_H__ */
