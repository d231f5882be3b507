/* SPDX-License-Identifier: MIT */
/* What the elements say on the bus. */

#include "samcheck.h"

/* A prompt is refused, and the warning is one line of plain text. */
static void
check_plain (GstHarness * h, GstBus * bus, const gchar * prompt,
    const gchar * quoted)
{
  gchar *text = NULL;

  g_signal_emit_by_name (h->element, "prompt", prompt);
  fail_unless_equals_int (sam_count_messages (bus, GST_MESSAGE_WARNING, &text),
      1);
  fail_unless (strstr (text, quoted) != NULL, "'%s' does not say %s", text,
      quoted);
  fail_unless (g_utf8_validate (text, -1, NULL) &&
      !strpbrk (text, "\n\r\a\033"), "'%s' is not one plain line", text);
  g_free (text);
}

/* What a prompt quotes can neither move a terminal's cursor nor forge a line;
 * nor is a character of it cut in two. */
GST_START_TEST (test_a_refusal_is_one_plain_line)
{
  static const gchar *const said[][2] = {
    {"poi\033[2Jnt\a,x=1\nERROR: pipeline", "'poi?[2Jnt?,x=1?ERROR: pipeline'"},
    {"point,x=\302\2332J", "'?2J'"},
    {"point,\342\200\256x=1", "'point,?x=1'"},
    {"mask,location=\"/none/\033[2J\r\n.png\"", "/none/?[2J??.png"},
  };
  GstHarness *h = sam_harness_new ("samtrack", GST_VIDEO_FORMAT_RGB, 64, 48);
  GstBus *bus = sam_harness_add_bus (h);
  guint i;

  for (i = 0; i < G_N_ELEMENTS (said); i++)
    check_plain (h, bus, said[i][0], said[i][1]);
  for (i = 0; i < 5; i++) {     /* 60 bytes are shown */
    gchar *x = g_strnfill (60 - i, 'x');
    gchar *prompt = g_strconcat (x, "\346\235\261yyy", NULL);
    gchar *quoted = g_strconcat ("'", x, i < 3 ? "" : "\346\235\261",
        i < 4 ? "" : "y", "...'", NULL);

    check_plain (h, bus, prompt, quoted);
    g_free (x);
    g_free (prompt);
    g_free (quoted);
  }
  sam_harness_close (h, bus);
}

GST_END_TEST;

static Suite *
messages_suite (void)
{
  Suite *s = suite_create ("messages");
  TCase *tc = sam_tcase_new_tiny (s, "messages");

  tcase_add_test (tc, test_a_refusal_is_one_plain_line);
  return s;
}

GST_CHECK_MAIN (messages);
