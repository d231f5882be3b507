/* SPDX-License-Identifier: MIT */
/* The text form, without any element. */

#include "samcheck.h"

#include "track/gstsamprompt.h"

#include <string.h>

static GArray *
parse (const gchar * text)
{
  GError *error = NULL;
  GArray *prompts = gst_sam_prompt_parse (text, &error);

  fail_unless (prompts != NULL, "'%s': %s", text, error ? error->message : "");
  fail_unless (error == NULL);
  return prompts;
}

#define AT(prompts, i) (&g_array_index (prompts, GstSamPrompt, i))

GST_START_TEST (test_every_kind)
{
  GArray *p = parse ("point,x=310,y=200.5; box,x=1,y=2,w=3,h=4,id=7;\n"
      "point,x=.25,y=1e-1,positive=false,normalized=true;mask,location=a b.png;"
      "remove,id=18446744073709551615;undo,id=1;clear;take,id=4,answer=3;"
      "point,x=9,y=8,answer=2;text,of=a red car. ball;text,of=\"\";"
      "like,id=3,max=2,threshold=.5,every=15");

  fail_unless_equals_int (p->len, 12);
  fail_unless_equals_int (AT (p, 0)->kind, GST_SAM_PROMPT_POINT);
  fail_unless_equals_float (AT (p, 0)->x, 310);
  fail_unless_equals_float (AT (p, 0)->y, 200.5);
  fail_unless (AT (p, 0)->positive && !AT (p, 0)->normalized);
  fail_unless_equals_uint64 (AT (p, 0)->id, 0);
  fail_unless_equals_int (AT (p, 1)->kind, GST_SAM_PROMPT_BOX);
  fail_unless_equals_float (AT (p, 1)->w, 3);
  fail_unless_equals_float (AT (p, 1)->h, 4);
  fail_unless_equals_uint64 (AT (p, 1)->id, 7);
  fail_unless (!AT (p, 2)->positive && AT (p, 2)->normalized);
  fail_unless_equals_float (AT (p, 2)->x, 0.25);
  fail_unless_equals_float (AT (p, 2)->y, 0.1);
  fail_unless_equals_int (AT (p, 3)->kind, GST_SAM_PROMPT_MASK);
  fail_unless_equals_string (AT (p, 3)->location, "a b.png");
  fail_unless_equals_uint64 (AT (p, 4)->id, G_MAXUINT64);
  fail_unless_equals_int (AT (p, 5)->kind, GST_SAM_PROMPT_UNDO);
  fail_unless_equals_int (AT (p, 6)->kind, GST_SAM_PROMPT_CLEAR);
  fail_unless_equals_int (AT (p, 7)->kind, GST_SAM_PROMPT_TAKE);
  fail_unless_equals_int (AT (p, 7)->answer, 3);
  fail_unless_equals_int (AT (p, 8)->answer, 2);
  fail_unless_equals_int (AT (p, 9)->kind, GST_SAM_PROMPT_TEXT);
  fail_unless_equals_string (AT (p, 9)->words, "a red car. ball");
  fail_unless_equals_string (AT (p, 10)->words, "");
  fail_unless_equals_int (AT (p, 11)->kind, GST_SAM_PROMPT_LIKE);
  fail_unless_equals_uint64 (AT (p, 11)->id, 3);
  fail_unless_equals_int (AT (p, 11)->max, 2);
  fail_unless_equals_float (AT (p, 11)->threshold, 0.5);
  fail_unless_equals_int (AT (p, 11)->every, 15);
  g_array_unref (p);
}

GST_END_TEST;

/* The keys of words, the second text of one prompt, and both as they are
 * written again. */
GST_START_TEST (test_words)
{
  const gchar *one = "text,of=\"dog\",max=2,threshold=0.35,keep=true";
  const gchar *other = "text,of=\"a cat. car\",remove=true";
  gchar *both = g_strdup_printf ("clear;%s;%s", one, other), *text;
  GArray *p = parse (both);

  fail_unless (!AT (p, 1)->adds && AT (p, 2)->adds);
  fail_unless_equals_int (AT (p, 1)->max, 2);
  fail_unless_equals_float (AT (p, 1)->threshold, 0.35);
  fail_unless (AT (p, 1)->has_threshold && AT (p, 1)->keep &&
      !AT (p, 1)->removes);
  fail_unless (!AT (p, 2)->has_threshold && AT (p, 2)->removes &&
      !AT (p, 2)->keep && !AT (p, 2)->max);
  text = gst_sam_prompt_to_text (AT (p, 1));
  fail_unless_equals_string (text, one);
  g_free (text);
  text = gst_sam_prompt_to_text (AT (p, 2));
  fail_unless_equals_string (text, other);
  g_free (text);
  g_array_unref (p);
  g_free (both);
}

GST_END_TEST;

GST_START_TEST (test_quotes_types_and_spaces)
{
  GArray *p = parse ("  mask , location = \"a;b,\\\"c\\\".png\" ;; "
      "point, x=(int)3, y=(double) 4 , positive=(boolean)NO ");

  fail_unless_equals_int (p->len, 2);
  fail_unless_equals_string (AT (p, 0)->location, "a;b,\"c\".png");
  fail_unless_equals_float (AT (p, 1)->x, 3);
  fail_unless_equals_float (AT (p, 1)->y, 4);
  fail_if (AT (p, 1)->positive);
  g_array_unref (p);
}

GST_END_TEST;

/* What GstStructure writes is read back. */
GST_START_TEST (test_structures_and_texts_agree)
{
  GstStructure *s = gst_structure_new ("point", "x", G_TYPE_INT, 12,
      "y", G_TYPE_DOUBLE, 3.25, "positive", G_TYPE_BOOLEAN, FALSE,
      "id", G_TYPE_UINT64, G_GUINT64_CONSTANT (9), NULL);
  gchar *text = gst_structure_to_string (s);
  GArray *p = parse (text), *q;
  GstStructure *event = gst_structure_new ("samtrack-prompt",
      "op", G_TYPE_STRING, "point", "x", G_TYPE_INT, 12,
      "y", G_TYPE_DOUBLE, 3.25, "positive", G_TYPE_BOOLEAN, FALSE,
      "id", G_TYPE_UINT64, G_GUINT64_CONSTANT (9), NULL);

  q = gst_sam_prompt_parse_structure (event, NULL);
  fail_unless (q && q->len == 1 && p->len == 1);
  fail_unless_equals_float (AT (q, 0)->x, AT (p, 0)->x);
  fail_unless_equals_float (AT (q, 0)->y, AT (p, 0)->y);
  fail_unless_equals_uint64 (AT (q, 0)->id, AT (p, 0)->id);
  fail_unless_equals_int (AT (q, 0)->positive, AT (p, 0)->positive);
  g_array_unref (p);
  g_array_unref (q);
  g_free (text);
  gst_structure_free (s);
  gst_structure_free (event);
}

GST_END_TEST;

/* A prompt as text is the same prompt again, to the last digit. */
GST_START_TEST (test_prompts_as_text)
{
  static const gchar *texts[] = {
    "point,x=310,y=200.5",
    "point,x=0.1,y=1e-07,positive=false,normalized=true,id=7",
    "point,x=0.333333333333333,y=0.33333333333333331,normalized=false",
    "point,x=0,y=0", "box,x=0,y=0,w=1,h=1,normalized=false",
    "box,x=1,y=2,w=3,h=4,id=18446744073709551615",
    "mask,location=\"a;b,\\\"c\\\\d\\\".png\",id=3",
    "remove,id=1", "undo,id=2", "clear", "undo,id=2,running-time=0",
    "clear,running-time=3", "box,x=1,y=2,w=3,h=4,id=5,running-time=1500000000",
    "point,x=1,y=2,running-time=18446744073709551614"
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (texts); i++) {
    GArray *p = parse (texts[i]);
    gchar *text = gst_sam_prompt_to_text (AT (p, 0));

    fail_unless_equals_string (text, texts[i]);
    g_free (text);
    g_array_unref (p);
  }
}

GST_END_TEST;

/* A value and a label are read, and read back from the text that is made of
 * them. */
GST_START_TEST (test_values_and_labels)
{
  GArray *p = parse ("mask,location=a.png,value=255,label=\"a, \\\"b\\\";\x1f\u2028"
      "\";point,x=1,y=2,label=fish ;box,x=1,y=2,w=3,h=4,label=(string)c"), *q;
  gchar *text = gst_sam_prompt_to_text (AT (p, 0));

  fail_unless_equals_int (p->len, 3);
  fail_unless_equals_int (AT (p, 0)->value, 255);
  fail_unless_equals_string (AT (p, 0)->label, "a, \"b\";\x1f\u2028");
  fail_unless_equals_string (AT (p, 1)->label, "fish");
  fail_unless_equals_string (AT (p, 2)->label, "c");
  q = parse (text);
  fail_unless_equals_int (AT (q, 0)->value, 255);
  fail_unless_equals_string (AT (q, 0)->label, AT (p, 0)->label);
  g_free (text);
  g_array_unref (p);
  g_array_unref (q);
}

GST_END_TEST;

GST_START_TEST (test_bad_structures)
{
  static const gchar *bad[] = {
    "samtrack-prompt", "samtrack-prompt, prompt=(int)3",
    "samtrack-prompt, op=(string)circle",
    "samtrack-prompt, op=(string)point, x=(int)1",
    "samtrack-prompt, op=(string)point, x=(int)1, y=(fraction)1/2",
    "samtrack-prompt, op=(string)point, x=(int)1, y=(int)2, z=(int)3",
    "samtrack-prompt, op=(string)point, x=(double)0.5, y=(double)0.5",
    "samtrack-prompt, prompt=(string)\"box\""
  };
  guint i;

  for (i = 0; i < G_N_ELEMENTS (bad); i++) {
    GstStructure *s = gst_structure_from_string (bad[i], NULL);
    GError *error = NULL;

    fail_unless (s != NULL);
    fail_unless (gst_sam_prompt_parse_structure (s, &error) == NULL, "%s",
        bad[i]);
    fail_unless (error != NULL);
    g_error_free (error);
    gst_structure_free (s);
  }
}

GST_END_TEST;

static const struct
{
  const gchar *text, *says;
} refused[] = {
  {"", "empty"},
  {" ; ;; ", "empty"},
  {"circle,x=1", "point, box, mask"},
  {"point", "'x' is missing"},
  {"point,x=1", "'y' is missing"},
  {"point,x=1,y", "key=value"},
  {"point,x=1,y=", "y is ''"},
  {"point,x=1,y=two", "y is 'two'"},
  {"point,x=nan,y=1", "finite"},
  {"point,x=1e999,y=1", "finite"},
  {"point,x=-inf,y=1", "finite"},
  {"point,x=1,y=2,w=3", "'w' is not a key"},
  {"point,x=1,y=2,x=3", "given twice"},
  {"point,x=1,y=2,id=0", "1 or more"},
  {"point,x=1,y=2,id=-4", "1 or more"},
  {"point,x=1,y=2,id=18446744073709551616", "1 or more"},
  {"point,x=1,y=2,positive=maybe", "true or false"},
  {"point,x=-1,y=2", "outside"},
  {"point,x=0.5,y=1.5,normalized=true", "with normalized=true coordinates run "
        "from 0 to 1"},
  {"point,x=-0.5,y=0.5,normalized=true", "at (-0.5, 0.5) is outside of the "
        "frame; with normalized=true"},
  {"point,x=0.5,y=0.5", "normalized=true if they run from 0 to 1"},
  {"point,x=0,y=0.5,id=3", "normalized=false if they are pixels"},
  {"box,x=0.1,y=0.2,w=0.5,h=0.5", "normalized=true if they run from 0 to 1"},
  {"box,x=0,y=0,w=1,h=1", "normalized=true if they run from 0 to 1"},
  {"box,x=1,y=2,w=3", "'h' is missing"},
  {"box,x=1,y=2,w=0,h=4", "empty"},
  {"box,x=1,y=2,w=-3,h=4", "inverted"},
  {"box,x=0.5,y=0.5,w=0.6,h=0.1,normalized=true", "outside"},
  {"box,x=1e300,y=2,w=1e300,h=4", "outside"},
  {"mask", "'location' is missing"},
  {"mask,location=\"a.png", "not closed"},
  {"mask,location=\"a\\", "not closed"},
  {"mask,location=\"a\"b", "not closed"},
  {"mask,location=", "name of a file"},
  {"point,x=(int 3,y=2", "not closed"},
  {"remove", "'id' is missing"},
  {"clear,id=1", "not a key"},
  {"point,x=1,y=2,running-time=-1", "a running time, in ns"},
  {"point,x=1,y=2,running-time=0.5", "a running time, in ns"},
  {"point,x=1,y=2,running-time=18446744073709551615", "a running time, in ns"},
  {"clear,running-time=1,running-time=1", "given twice"},
  {"mask,location=a.png,value=0", "the value of a pixel, 1 to 255"},
  {"mask,location=a.png,value=256", "the value of a pixel, 1 to 255"},
  {"mask,location=a.png,value=1.5", "the value of a pixel, 1 to 255"},
  {"point,x=1,y=2,value=1", "not a key"},
  {"point,x=1,y=2,label=", "1 to 63 bytes"},
  {"point,x=1,y=2,label=\xff", "1 to 63 bytes"},
  {"point,x=1,y=2,label=0123456789012345678901234567890123456789012345678901234"
        "567890123", "1 to 63 bytes"},
  {"remove,id=1,label=a", "not a key"},
  {"point,x=1,y=1;box", "'x' is missing"},
};

GST_START_TEST (test_what_is_refused_and_why)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (refused); i++) {
    GError *error = NULL;
    GArray *p = gst_sam_prompt_parse (refused[i].text, &error);

    fail_unless (p == NULL, "'%s' was taken", refused[i].text);
    fail_unless (error != NULL);
    fail_unless (strstr (error->message, refused[i].says) != NULL,
        "'%s': '%s' does not say '%s'", refused[i].text, error->message,
        refused[i].says);
    g_error_free (error);
  }
}

GST_END_TEST;

GST_START_TEST (test_long_and_foreign_texts)
{
  GString *text = g_string_new (NULL);
  GError *error = NULL;
  guint i;

  for (i = 0; i < 257; i++)
    g_string_append (text, "clear;");
  fail_unless (gst_sam_prompt_parse (text->str, &error) == NULL);
  fail_unless (strstr (error->message, "256") != NULL);
  fail_unless (strlen (error->message) < 300);
  g_clear_error (&error);
  g_string_free (text, TRUE);
  /* not UTF-8: the message is */
  fail_unless (gst_sam_prompt_parse ("point,\xff\xfe=\xc3", &error) == NULL);
  fail_unless (g_utf8_validate (error->message, -1, NULL));
  g_clear_error (&error);
}

GST_END_TEST;

GST_START_TEST (test_the_frame_bounds_it)
{
  GstSamPrompt point = {.kind = GST_SAM_PROMPT_POINT,.x = 63.5,.y = 47.5 };
  GstSamPrompt box = {.kind = GST_SAM_PROMPT_BOX,.x = 32,.y = 24,.w = 32,
    .h = 24
  };

  fail_unless (gst_sam_prompt_check (&point, 64, 48, NULL));
  fail_if (gst_sam_prompt_check (&point, 63, 48, NULL));
  fail_if (gst_sam_prompt_check (&point, 64, 47, NULL));
  fail_unless (gst_sam_prompt_check (&point, 0, 0, NULL));
  point.x = 64;                 /* the first pixel beyond the edge */
  fail_if (gst_sam_prompt_check (&point, 64, 48, NULL));
  fail_unless (gst_sam_prompt_check (&box, 64, 48, NULL));
  fail_if (gst_sam_prompt_check (&box, 63, 48, NULL));
}

GST_END_TEST;

static Suite *
promptparse_suite (void)
{
  Suite *s = suite_create ("promptparse");
  TCase *tc = sam_tcase_new (s, "text");

  tcase_add_test (tc, test_every_kind);
  tcase_add_test (tc, test_words);
  tcase_add_test (tc, test_quotes_types_and_spaces);
  tcase_add_test (tc, test_structures_and_texts_agree);
  tcase_add_test (tc, test_prompts_as_text);
  tcase_add_test (tc, test_values_and_labels);
  tcase_add_test (tc, test_bad_structures);
  tcase_add_test (tc, test_what_is_refused_and_why);
  tcase_add_test (tc, test_long_and_foreign_texts);
  tcase_add_test (tc, test_the_frame_bounds_it);
  return s;
}

GST_CHECK_MAIN (promptparse);
