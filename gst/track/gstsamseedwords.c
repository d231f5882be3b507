/* SPDX-License-Identifier: MIT */
/* Words for a detector that finds what they name: which it has, what the policy
 * is told of them, and whether they are found. */

#include "gstsamseedprivate.h"

#include "common/gstsamtext.h"
#include "detect/gstsamclasses.h"

#include <string.h>

GST_DEBUG_CATEGORY_EXTERN (gst_sam_track_debug);
#define GST_CAT_DEFAULT gst_sam_track_debug

/* A phrase that was found is missing after so many looks without it: a thing
 * that turns is missed now and then. */
#define MAX_MISSES 5

/* Good detections of these families have 0.35 to 0.6, those of others more. */
#define WORDS_SCORE 0.35f

void
gst_sam_seed_words_clear (GstSamSeed * seed)
{
  gst_sam_words_clear (&seed->words);
  gst_sam_words_clear (&seed->next_words);
}

void
gst_sam_seed_words_suit (struct sam_seed_settings *settings)
{
  struct sam_seed_settings defaults;

  sam_seed_defaults (&defaults, sizeof defaults);
  if (settings->seed_score == defaults.seed_score)
    settings->seed_score = WORDS_SCORE;
}

void
gst_sam_seed_words_hurry (GstSamSeed * seed)
{
  if (gst_sam_detector_takes_words (seed->detect) &&
      gst_sam_pending_take_words (seed->host.pending, &seed->word_changes,
          NULL))
    sam_seed_request (seed->policy);
}

gboolean
gst_sam_seed_words_idle (GstSamSeed * seed)
{
  return gst_sam_detector_takes_words (seed->detect) && !seed->words.num &&
      !seed->words_given && !gst_sam_pending_take_words (seed->host.pending,
      &seed->word_changes, NULL);
}

void
gst_sam_seed_words_give (GstSamSeed * seed)
{
  if (!gst_sam_detector_takes_words (seed->detect) ||
      !gst_sam_pending_take_words (seed->host.pending, &seed->word_changes,
          &seed->next_words))
    return;
  seed->words_given = TRUE;
  gst_sam_detector_set_words (seed->detect,
      gst_sam_words_join (&seed->next_words));
}

/* ---- Other words */

/* Whether a phrase has that class: it is that of two long ones that differ
 * behind its last byte. */
static gboolean
is_asked (const GstSamWords * words, const gchar * class_name)
{
  guint i;

  for (i = 0; i < words->num; i++) {
    if (gst_sam_classes_intern (words->phrase[i].text) == class_name)
      return TRUE;
  }
  return FALSE;
}

/* Objects of phrases that are not asked for any more end, or stay without the
 * detector. */
static void
end_old (GstSamSeed * seed)
{
  guint i;

  for (i = 0; i < seed->words.num; i++) {
    const gint class_id = seed->phrase[i].class_id;

    if (class_id == SAM_SEED_NO_CLASS ||
        is_asked (&seed->next_words, gst_sam_seed_get_class_name (seed,
                class_id)))
      continue;
    sam_seed_end_class (seed->policy, class_id, seed->next_words.keep, NULL);
    sam_seed_limit_class (seed->policy, class_id, -1, 0, NULL);
  }
}

/* What is known of phrases that were asked for before stays. */
static void
begin_new (GstSamSeed * seed)
{
  GstSamSeedPhrase before[GST_SAM_MAX_PHRASES];
  GstSamWords old = { 0, };
  guint i;

  memcpy (before, seed->phrase, sizeof before);
  gst_sam_words_copy (&old, &seed->words);
  gst_sam_words_copy (&seed->words, &seed->next_words);
  for (i = 0; i < seed->words.num; i++) {
    const gint at = gst_sam_words_find (&old, seed->words.phrase[i].text);

    seed->phrase[i] = at < 0 ? (GstSamSeedPhrase) {.class_id =
          SAM_SEED_NO_CLASS} : before[at];
  }
  gst_sam_words_clear (&old);
  for (i = 0; i < seed->words.num; i++) {
    const GstSamPhrase *asked = &seed->words.phrase[i];
    GstSamSeedPhrase *phrase = &seed->phrase[i];

    phrase->class_id = gst_sam_seed_find_class (seed,
        g_quark_from_static_string (gst_sam_classes_intern (asked->text)));
    if (phrase->class_id != SAM_SEED_NO_CLASS)
      sam_seed_limit_class (seed->policy, phrase->class_id, asked->threshold,
          asked->max, NULL);
  }
}

static void
post_refusal (GstSamSeed * seed, const gchar * why)
{
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_TEXT };
  gchar *said = g_strdup_printf ("The prompt was refused: %s.", why), *text;

  prompt.words = gst_sam_words_join (&seed->next_words);
  text = gst_sam_prompt_to_text (&prompt);
  gst_element_message_full_with_details (seed->host.element,
      GST_MESSAGE_WARNING, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS,
      gst_sam_plain_text (said), NULL, __FILE__, GST_FUNCTION, __LINE__,
      gst_structure_new ("samtrack-refusal", "reason", G_TYPE_STRING,
          gst_sam_refusal_get_name (GST_SAM_REFUSED_WORDS), "prompt",
          G_TYPE_STRING, text, NULL));
  g_free (said);
  g_free (text);
  gst_sam_prompt_clear (&prompt);
}

void
gst_sam_seed_words_take (GstSamSeed * seed, const GstSamAnswer * answer)
{
  if (!seed->words_given)
    return;
  seed->words_given = FALSE;
  if (answer->words_refused) {
    post_refusal (seed, answer->why_words.text);
    return;
  }
  if (*answer->unknown)
    GST_ELEMENT_WARNING (seed->host.element, RESOURCE, SETTINGS,
        ("Words are not known: the detector's vocabulary has no piece of %s, "
            "so they find nothing.", answer->unknown), (NULL));
  end_old (seed);
  begin_new (seed);
}

guint64
gst_sam_seed_words_wish (GstSamSeed * seed,
    const struct sam_seed_decision *decision)
{
  guint64 id;
  guint i;

  if (decision->kind != SAM_SEED_START)
    return 0;
  for (i = 0; i < seed->words.num; i++) {
    if (seed->phrase[i].class_id == decision->class_id) {
      id = seed->words.phrase[i].id;
      seed->words.phrase[i].id = 0;
      return id;
    }
  }
  return 0;
}

/* ---- Whether they are found */

static void
post_found (GstSamSeed * seed, guint i, gfloat threshold)
{
  const GstSamSeedPhrase *phrase = &seed->phrase[i];
  const gchar *text = seed->words.phrase[i].text;

  GST_INFO_OBJECT (seed->host.element, "'%s' %s: the best score in %u looks is "
      "%.2f, expected is %.2f or more", text, phrase->found ? "was found" :
      "was not found", phrase->looks, phrase->best, threshold);
  gst_element_post_message (seed->host.element,
      gst_message_new_element (GST_OBJECT (seed->host.element),
          gst_structure_new ("samtrack-words",
              "phrase", G_TYPE_STRING, text,
              "found", G_TYPE_BOOLEAN, phrase->found,
              "best-score", G_TYPE_DOUBLE, (gdouble) phrase->best,
              "threshold", G_TYPE_DOUBLE, (gdouble) threshold,
              "looks", G_TYPE_UINT, phrase->looks, NULL)));
}

void
gst_sam_seed_words_tell (GstSamSeed * seed, const GstSamAnswer * answer)
{
  guint i;

  for (i = 0; i < seed->words.num; i++) {
    GstSamSeedPhrase *phrase = &seed->phrase[i];
    const gfloat threshold = seed->words.phrase[i].threshold >= 0 ?
        seed->words.phrase[i].threshold : seed->score;
    const gboolean found = answer->best[i] >= threshold;

    phrase->looks++;
    phrase->best = MAX (phrase->best, answer->best[i]);
    if (!phrase->told || found != phrase->found) {
      if (phrase->told && !found && phrase->looks < MAX_MISSES)
        continue;
      phrase->told = TRUE;
      phrase->found = found;
      post_found (seed, i, threshold);
    } else if (!found) {
      continue;
    }
    phrase->best = 0;
    phrase->looks = 0;
  }
}
