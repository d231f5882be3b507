/* SPDX-License-Identifier: MIT */
/* The order of locks, checked. */

#include "gstsammutex.h"

#ifdef GST_SAM_CHECK_LOCKS

static _Thread_local guint held;        /* a bit for each rank */

/* A lock that is held keeps another thread's order, too: none of a rank is
 * taken twice. */
void
gst_sam_rank_take (GstSamRank rank)
{
  if (held >> rank)
    g_error ("a lock of rank %d is taken, but ranks 0x%x are held: see "
        "GstSamRank", rank, held);
  held |= 1u << rank;
}

void
gst_sam_rank_release (GstSamRank rank)
{
  if (!(held >> rank & 1))
    g_error ("a lock of rank %d is released, but ranks 0x%x are held", rank,
        held);
  held &= ~(1u << rank);
}

#endif
