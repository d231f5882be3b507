/* SPDX-License-Identifier: MIT */
/* The check of the order of locks, which this test has whatever the build is:
 * what is in order passes, and all else ends the program. */

#include "common/gstsammutex.h"

#include "samcheck.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static GstSamMutex outer, inner, twin;

static void
in_order (void)
{
  gst_sam_mutex_lock (&outer);
  gst_sam_mutex_lock (&inner);
  gst_sam_mutex_unlock (&inner);
  gst_sam_mutex_lock (&inner);
  gst_sam_mutex_unlock (&outer);
  gst_sam_mutex_unlock (&inner);
  gst_sam_rank_take (GST_SAM_RANK_TURN);
  gst_sam_mutex_lock (&outer);
  gst_sam_rank_release (GST_SAM_RANK_TURN);
  gst_sam_mutex_unlock (&outer);
}

/* What a wait lets go, others may take. */
static void
after_a_wait (void)
{
  GCond cond;

  g_cond_init (&cond);
  gst_sam_mutex_lock (&outer);
  gst_sam_mutex_wait_until (&outer, &cond, 0);
  gst_sam_mutex_lock (&inner);
  gst_sam_mutex_unlock (&inner);
  gst_sam_mutex_unlock (&outer);
  g_cond_clear (&cond);
}

static void
out_of_order (void)
{
  gst_sam_mutex_lock (&inner);
  gst_sam_mutex_lock (&outer);
}

static void
two_of_a_rank (void)
{
  gst_sam_mutex_lock (&inner);
  gst_sam_mutex_lock (&twin);
}

static void
not_held (void)
{
  gst_sam_rank_release (GST_SAM_RANK_TURN);
}

/* A wait takes the lock again, under another one. */
static void
wait_out_of_order (void)
{
  GCond cond;

  g_cond_init (&cond);
  gst_sam_mutex_lock (&outer);
  gst_sam_mutex_lock (&inner);
  gst_sam_mutex_wait_until (&outer, &cond, 0);
}

static const struct
{
  void (*run) (void);
  gboolean ok;
} cases[] = {
  {in_order, TRUE}, {after_a_wait, TRUE}, {out_of_order, FALSE},
  {two_of_a_rank, FALSE}, {not_held, FALSE}, {wait_out_of_order, FALSE},
};

GST_START_TEST (test_order)
{
  int status;
  pid_t child;

  gst_sam_mutex_init (&outer, GST_SAM_RANK_PENDING);
  gst_sam_mutex_init (&inner, GST_SAM_RANK_MARKS);
  gst_sam_mutex_init (&twin, GST_SAM_RANK_MARKS);
  child = fork ();
  fail_unless (child >= 0);
  if (!child) {
    fclose (stderr);            /* the sentence is for those who are wrong */
    cases[__i__].run ();
    _exit (0);
  }
  fail_unless (waitpid (child, &status, 0) == child);
  fail_unless (cases[__i__].ok ? WIFEXITED (status) && !WEXITSTATUS (status) :
      WIFSIGNALED (status), "case %d ends with %d", __i__, status);
}

GST_END_TEST;

static Suite *
mutex_suite (void)
{
  Suite *s = suite_create ("mutex");
  TCase *tc = tcase_create ("order");

  suite_add_tcase (s, tc);
  tcase_add_loop_test (tc, test_order, 0, G_N_ELEMENTS (cases));
  return s;
}

GST_CHECK_MAIN (mutex);
