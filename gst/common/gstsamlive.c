/* SPDX-License-Identifier: MIT */
#include "gstsamlive.h"

gboolean
gst_sam_live_query (GstPad * sink)
{
  GstQuery *query = gst_query_new_latency ();
  gboolean live = gst_pad_peer_query (sink, query);

  if (live)
    gst_query_parse_latency (query, &live, NULL, NULL);
  gst_query_unref (query);
  return live;
}
