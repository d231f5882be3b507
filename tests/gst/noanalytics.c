/* SPDX-License-Identifier: MIT */
/* A build without the analytics library says so. */

#include "samcheck.h"

GST_START_TEST (test_refusal)
{
  sam_expect_refusal ("samtrack prompt-source=analytics",
      "needs a samtrack built with GStreamer 1.24",
      GST_RESOURCE_ERROR_SETTINGS);
}

GST_END_TEST;

static Suite *
noanalytics_suite (void)
{
  Suite *s = suite_create ("noanalytics");
  TCase *tc = sam_tcase_new_tiny (s, "noanalytics");

  tcase_add_test (tc, test_refusal);
  return s;
}

GST_CHECK_MAIN (noanalytics);
