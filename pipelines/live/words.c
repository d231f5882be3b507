/* SPDX-License-Identifier: MIT */
#include "words.h"

#include "message.h"
#include "track.h"

#include <string.h>

/* What was told of a phrase. */
typedef struct {
    gboolean found;
    gdouble best, threshold; /* scores */
} Told;

struct Words {
    Camera *camera;
    gchar *of;          /* NULL: there is no detector that takes words */
    GHashTable *told;   /* phrase -> Told */
    gboolean refused;   /* by the detector, when they reached it */
};

Words *words_new(Camera *camera)
{
    Words *words = g_new0(Words, 1);

    words->camera = camera;
    words->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return words;
}

void words_free(Words *words)
{
    g_hash_table_unref(words->told);
    g_free(words->of);
    g_free(words);
}

/* Free with g_strfreev(). Some may be empty. */
static gchar **split(const gchar *of)
{
    gchar **phrases = g_strsplit(of, ".", -1);
    gsize i;

    for (i = 0; phrases[i]; i++)
        g_strstrip(phrases[i]);
    return phrases;
}

/* One form of the same phrases, however they are set apart. */
static gchar *tidy(const gchar *of)
{
    gchar **phrases = split(of), *text;
    GString *joined = g_string_new(NULL);
    gsize i;

    for (i = 0; phrases[i]; i++)
        if (*phrases[i])
            g_string_append_printf(joined, "%s. ", phrases[i]);
    text = g_utf8_casefold(joined->str, -1);
    g_string_free(joined, TRUE);
    g_strfreev(phrases);
    return text;
}

/* Whether a prompt, 'text,of="..."', asks for the words that hold. Others that were refused have
 * been told to whoever asked. */
static gboolean is_asked(const Words *words, const gchar *prompt)
{
    const gchar *begin = prompt ? strchr(prompt, '"') : NULL;
    const gchar *end = begin ? strchr(begin + 1, '"') : NULL;
    gchar *of, *theirs, *ours;
    gboolean same;

    if (!end || !words->of)
        return FALSE;
    of = g_strndup(begin + 1, end - begin - 1);
    theirs = tidy(of);
    ours = tidy(words->of);
    same = g_str_equal(theirs, ours);
    g_free(of);
    g_free(theirs);
    g_free(ours);
    return same;
}

/* The tracker tells nothing new of phrases that it had before. */
static void forget_others(Words *words)
{
    gchar **phrases = split(words->of);
    GHashTableIter iter;
    gpointer phrase;

    g_hash_table_iter_init(&iter, words->told);
    while (g_hash_table_iter_next(&iter, &phrase, NULL))
        if (!g_strv_contains((const gchar *const *) phrases, phrase))
            g_hash_table_iter_remove(&iter);
    g_strfreev(phrases);
}

void words_look(Words *words, const GstStructure *stats)
{
    const gchar *of = gst_structure_get_string(stats, "words");

    if (!g_strcmp0(of, words->of))
        return;
    g_free(words->of);
    words->of = g_strdup(of);
    if (of)
        forget_others(words);
}

void words_hear(Words *words, const GstStructure *message)
{
    Told *told;

    if (gst_structure_has_name(message, "samtrack-refusal") &&
        !g_strcmp0(gst_structure_get_string(message, "reason"), "words") &&
        is_asked(words, gst_structure_get_string(message, "prompt")))
        words->refused = TRUE;
    if (!gst_structure_has_name(message, "samtrack-words"))
        return;
    told = g_new0(Told, 1);
    gst_structure_get(message, "found", G_TYPE_BOOLEAN, &told->found, "best-score", G_TYPE_DOUBLE,
        &told->best, "threshold", G_TYPE_DOUBLE, &told->threshold, NULL);
    g_hash_table_replace(words->told, g_strdup(gst_structure_get_string(message, "phrase")), told);
}

gboolean words_set(Words *words, const gchar *of, gchar **why)
{
    if (strpbrk(of, "\"\\")) {
        *why = g_strdup("The words have a quotation mark or a backslash: expected are phrases with "
            "full stops between them.");
        return FALSE;
    }
    track_prompt(words->camera, g_strdup_printf("text,of=\"%s\"", of), why);
    if (*why)
        return FALSE;
    g_free(words->of);
    words->of = g_strdup(of);
    words->refused = FALSE;
    forget_others(words);
    return TRUE;
}

const gchar *words_get(const Words *words)
{
    return words->of;
}

static void add_phrase(const Words *words, JsonBuilder *b, const gchar *phrase)
{
    const Told *told = g_hash_table_lookup(words->told, phrase);

    json_builder_begin_object(b);
    message_add_text(b, "phrase", phrase);
    message_add_text(b, "state", !told ? "looking" : told->found ? "found" : "missing");
    message_add_number(b, "best", told ? told->best : 0);
    message_add_number(b, "threshold", told ? told->threshold : 0);
    json_builder_end_object(b);
}

void words_add(const Words *words, JsonBuilder *b)
{
    gchar **phrases;
    gsize i;

    if (!words->of)
        return;
    phrases = split(words->of);
    json_builder_set_member_name(b, "words");
    json_builder_begin_object(b);
    message_add_text(b, "of", words->of);
    json_builder_set_member_name(b, "refused");
    json_builder_add_boolean_value(b, words->refused);
    json_builder_set_member_name(b, "phrases");
    json_builder_begin_array(b);
    for (i = 0; phrases[i]; i++)
        if (*phrases[i])
            add_phrase(words, b, phrases[i]);
    json_builder_end_array(b);
    json_builder_end_object(b);
    g_strfreev(phrases);
}
