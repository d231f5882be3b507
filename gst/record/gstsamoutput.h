/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_OUTPUT_H__
#define __GST_SAM_OUTPUT_H__

#include "gstsamtally.h"

G_BEGIN_DECLS

typedef struct _GstSamOutput GstSamOutput;

/**
 * GstSamOutput:
 * @write: write data, whole or not at all where the target allows it. Returns
 * FALSE and sets the error (GST_RESOURCE_ERROR) if it is lost. Counts @frames
 * as written when they are.
 * @tend: (nullable): do what is due between writes. Returns the monotonic time
 * in us of the next call, G_MAXINT64 for none.
 * @is_settled: (nullable): whether all that was written has arrived
 * @reopen: (nullable): open what @location names again
 * @commit: (nullable): the stream has ended: let what was written have its name
 * @cancel: any thread: let a write that waits fail, and all later ones
 * @free: end the output; what has not arrived is counted as lost
 * @frames: number of frames that a write stands for: 1 unless it is changed
 *
 * Where texts go: a file, a pipe or an MQTT broker. All but @cancel are called
 * in one thread, which must block SIGPIPE.
 */
struct _GstSamOutput
{
  gboolean (*write) (GstSamOutput * output, const gchar * data, gsize bytes,
      GError ** error);
  gint64 (*tend) (GstSamOutput * output);
  gboolean (*is_settled) (GstSamOutput * output);
  void (*reopen) (GstSamOutput * output);
  gboolean (*commit) (GstSamOutput * output, GError ** error);
  void (*cancel) (GstSamOutput * output);
  void (*free) (GstSamOutput * output);
  guint frames;
};

/* Open a file for writing, "-" for standard output. A file that exists is
 * truncated; one that another writer has is refused. A pipe is opened when it
 * has a reader; until then writes fail. A file that is removed or truncated
 * meanwhile is begun anew, with a warning; one that is moved is written on
 * until it is reopened.
 * Returns NULL and sets @error (GST_RESOURCE_ERROR) if it cannot be opened. */
GstSamOutput *gst_sam_output_new_file (const gchar * location,
    GstSamTally * tally, GError ** error);

/* The same, beside the file's name until its commit: a file that exists keeps
 * its content until then, and a stream that does not come to its end leaves
 * nothing. What is written after the commit is appended. Only for regular
 * files, which are not reopened. */
GstSamOutput *gst_sam_output_new_atomic (const gchar * location,
    GstSamTally * tally, GError ** error);

/* The code of GST_RESOURCE_ERROR for a failed write. */
gint gst_sam_output_get_code (gint number);

G_END_DECLS

#endif /* __GST_SAM_OUTPUT_H__ */
