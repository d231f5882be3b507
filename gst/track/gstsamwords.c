/* SPDX-License-Identifier: MIT */
/* What a detector is to find: the phrases of one prompt after the other. */

#include "gstsamwords.h"

#include <string.h>

/* Around a phrase, as the engine reads it. */
#define BLANKS " \t\n\r"

void
gst_sam_words_clear (GstSamWords * words)
{
  guint i;

  for (i = 0; i < words->num; i++)
    g_free (words->phrase[i].text);
  words->num = 0;
  words->keep = FALSE;
}

void
gst_sam_words_copy (GstSamWords * to, const GstSamWords * from)
{
  guint i;

  gst_sam_words_clear (to);
  *to = *from;
  for (i = 0; i < to->num; i++)
    to->phrase[i].text = g_strdup (from->phrase[i].text);
}

gint
gst_sam_words_find (const GstSamWords * words, const gchar * text)
{
  guint i;

  for (i = 0; i < words->num; i++) {
    if (!strcmp (words->phrase[i].text, text))
      return i;
  }
  return -1;
}

gchar *
gst_sam_words_join (const GstSamWords * words)
{
  GString *text = g_string_new (NULL);
  guint i;

  for (i = 0; i < words->num; i++)
    g_string_append_printf (text, "%s%s", i ? ". " : "",
        words->phrase[i].text);
  return g_string_free (text, words->num == 0);
}

/* The phrases of a text, blanks and empty ones left out. */
static gchar **
split (const gchar * text)
{
  gchar **all = g_strsplit (text, ".", -1);
  guint i, n = 0;

  for (i = 0; all[i]; i++) {
    const gchar *first = all[i] + strspn (all[i], BLANKS);
    gsize bytes = strlen (first);

    while (bytes && strchr (BLANKS, first[bytes - 1]))
      bytes--;
    memmove (all[i], first, bytes);
    all[i][bytes] = '\0';
    if (bytes)
      all[n++] = all[i];
    else
      g_free (all[i]);
  }
  all[n] = NULL;
  return all;
}

static gboolean
add (GstSamWords * words, const gchar * text, const GstSamPrompt * prompt,
    GError ** error)
{
  gint i = gst_sam_words_find (words, text);
  GstSamPhrase *phrase;

  if (i < 0 && words->num == GST_SAM_MAX_PHRASES)
    return gst_sam_refuse (error, GST_SAM_REFUSED_WORDS,
        "more than %d phrases, expected is at most as many",
        GST_SAM_MAX_PHRASES);
  if (i < 0) {
    i = words->num++;
    words->phrase[i].text = g_strdup (text);
  }
  phrase = &words->phrase[i];
  phrase->threshold = prompt->has_threshold ? prompt->threshold : -1;
  phrase->max = prompt->id && !prompt->max ? 1 : prompt->max;
  phrase->id = prompt->id;
  return TRUE;
}

static gboolean
take_away (GstSamWords * words, const gchar * text, GError ** error)
{
  const gint i = gst_sam_words_find (words, text);

  if (i < 0)
    return gst_sam_refuse (error, GST_SAM_REFUSED_WORDS,
        "'%.60s' is to be removed, but is not asked for", text);
  g_free (words->phrase[i].text);
  memmove (&words->phrase[i], &words->phrase[i + 1],
      (--words->num - i) * sizeof *words->phrase);
  return TRUE;
}

static gboolean
check (const GstSamWords * words, const GstSamPrompt * prompt, guint given,
    GError ** error)
{
  gsize bytes = 1;
  guint i;

  if (prompt->id && given != 1)
    return gst_sam_refuse (error, GST_SAM_REFUSED_WORDS,
        "'id' is given with %u phrases, expected is one", given);
  for (i = 0; i < words->num; i++)
    bytes += strlen (words->phrase[i].text) + 2;
  if (bytes > GST_SAM_WORDS_BYTES)
    return gst_sam_refuse (error, GST_SAM_REFUSED_WORDS, "words of %"
        G_GSIZE_FORMAT " bytes, expected are at most %d", bytes,
        GST_SAM_WORDS_BYTES - 1);
  return TRUE;
}

gboolean
gst_sam_words_apply (GstSamWords * words, const GstSamPrompt * prompt,
    GError ** error)
{
  gchar **texts = split (prompt->words);
  GstSamWords next = { 0, };
  gboolean ok = TRUE;
  guint i;

  if (prompt->removes || prompt->adds)
    gst_sam_words_copy (&next, words);
  for (i = 0; texts[i] && ok; i++)
    ok = prompt->removes ? take_away (&next, texts[i], error) :
        add (&next, texts[i], prompt, error);
  ok = ok && check (&next, prompt, i, error);
  next.keep = prompt->keep;
  if (ok)
    gst_sam_words_copy (words, &next);
  gst_sam_words_clear (&next);
  g_strfreev (texts);
  return ok;
}
