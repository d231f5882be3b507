/* SPDX-License-Identifier: MIT */
#ifndef __GST_SAM_WORDS_H__
#define __GST_SAM_WORDS_H__

#include "gstsamprompt.h"

G_BEGIN_DECLS

/* As many as the engine takes, which this does not know. */
#define GST_SAM_MAX_PHRASES 64

/* One phrase that a detector is to find, and what is asked of its objects. */
typedef struct
{
  gchar *text;                  /* without full stop and blanks around it */
  gdouble threshold;            /* lowest score of a new object; below 0:
                                 * seed-score */
  guint max;                    /* objects; 0: no limit of its own */
  guint64 id;                   /* of the first object, if it is free; 0: any */
} GstSamPhrase;

/**
 * GstSamWords:
 *
 * All that a detector is to find. Zeroed memory is none; free its content with
 * gst_sam_words_clear().
 */
typedef struct
{
  GstSamPhrase phrase[GST_SAM_MAX_PHRASES];
  guint num;
  gboolean keep;                /* objects of phrases that are not in it stay */
} GstSamWords;

void gst_sam_words_clear (GstSamWords * words);

/* The former content of *@to is freed. */
void gst_sam_words_copy (GstSamWords * to, const GstSamWords * from);

/* Do what a prompt of the kind text says. Returns FALSE, changes nothing and
 * sets @error if it cannot be done. */
gboolean gst_sam_words_apply (GstSamWords * words, const GstSamPrompt * prompt,
    GError ** error);

/* The number of a phrase; -1: it is not among them. */
gint gst_sam_words_find (const GstSamWords * words, const gchar * text);

/* All phrases in one text, NULL if there are none; free it with g_free(). */
gchar *gst_sam_words_join (const GstSamWords * words);

G_END_DECLS

#endif /* __GST_SAM_WORDS_H__ */
