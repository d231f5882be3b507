/* SPDX-License-Identifier: MIT */
/* Prompts as text and as GstStructure. Knows nothing of elements or trackers,
 * so that a fuzzer can call it as it is. */

#include "gstsamprompt.h"

#include "common/gstsamitem.h"

#include <math.h>
#include <string.h>

/* More in one text is a mistake or an attack. */
#define MAX_ITEMS 256

enum
{
  KEY_ID = 1 << 0,
  KEY_X = 1 << 1,
  KEY_Y = 1 << 2,
  KEY_W = 1 << 3,
  KEY_H = 1 << 4,
  KEY_POSITIVE = 1 << 5,
  KEY_NORMALIZED = 1 << 6,
  KEY_LOCATION = 1 << 7,
  KEY_TIME = 1 << 8,            /* of every kind but text */
  KEY_VALUE = 1 << 9,
  KEY_LABEL = 1 << 10,
  KEY_ANSWER = 1 << 11,
  KEY_OF = 1 << 12,
  KEY_MAX = 1 << 13,
  KEY_THRESHOLD = 1 << 14,
  KEY_KEEP = 1 << 15,
  KEY_REMOVE = 1 << 16,
  KEY_EVERY = 1 << 17,
};

static const struct
{
  const gchar *name;
  guint key;
} keys[] = {
  {"id", KEY_ID},
  {"x", KEY_X},
  {"y", KEY_Y},
  {"w", KEY_W},
  {"h", KEY_H},
  {"positive", KEY_POSITIVE},
  {"normalized", KEY_NORMALIZED},
  {"location", KEY_LOCATION},
  {"running-time", KEY_TIME},
  {"value", KEY_VALUE},
  {"label", KEY_LABEL},
  {"answer", KEY_ANSWER},
  {"of", KEY_OF},
  {"max", KEY_MAX},
  {"threshold", KEY_THRESHOLD},
  {"keep", KEY_KEEP},
  {"remove", KEY_REMOVE},
  {"every", KEY_EVERY},
};

static const struct
{
  const gchar *name;
  guint needed;
  guint optional;
  const gchar *usage;
} kinds[] = {
  [GST_SAM_PROMPT_POINT] = {"point", KEY_X | KEY_Y,
        KEY_POSITIVE | KEY_NORMALIZED | KEY_ANSWER | KEY_ID | KEY_LABEL,
      "point,x=,y=[,positive=][,normalized=][,answer=][,id=][,label=]"
        "[,running-time=]"},
  [GST_SAM_PROMPT_BOX] = {"box", KEY_X | KEY_Y | KEY_W | KEY_H,
        KEY_NORMALIZED | KEY_ID | KEY_LABEL,
      "box,x=,y=,w=,h=[,normalized=][,id=][,label=][,running-time=]"},
  [GST_SAM_PROMPT_MASK] = {"mask", KEY_LOCATION, KEY_VALUE | KEY_ID | KEY_LABEL,
      "mask,location=FILE.png[,value=][,id=][,label=][,running-time=]"},
  [GST_SAM_PROMPT_REMOVE] = {"remove", KEY_ID, 0,
      "remove,id=[,running-time=]"},
  [GST_SAM_PROMPT_UNDO] = {"undo", KEY_ID, 0, "undo,id=[,running-time=]"},
  [GST_SAM_PROMPT_CLEAR] = {"clear", 0, 0, "clear[,running-time=]"},
  [GST_SAM_PROMPT_TAKE] = {"take", KEY_ID | KEY_ANSWER, 0,
      "take,id=,answer=[,running-time=]"},
  [GST_SAM_PROMPT_TEXT] = {"text", KEY_OF,
        KEY_MAX | KEY_THRESHOLD | KEY_ID | KEY_KEEP | KEY_REMOVE,
      "text,of=WORDS[,max=][,threshold=][,id=][,keep=][,remove=]"},
  [GST_SAM_PROMPT_LIKE] = {"like", KEY_ID,
        KEY_MAX | KEY_THRESHOLD | KEY_EVERY,
      "like,id=[,max=][,threshold=][,every=][,running-time=]"},
};

void
gst_sam_prompt_clear (GstSamPrompt * prompt)
{
  g_clear_pointer (&prompt->location, g_free);
  g_clear_pointer (&prompt->label, g_free);
  g_clear_pointer (&prompt->words, g_free);
  g_clear_pointer (&prompt->sample, gst_sample_unref);
  if (prompt->mask)
    gst_mini_object_unref (GST_MINI_OBJECT_CAST (prompt->mask));
  prompt->mask = NULL;
}

static void
G_GNUC_PRINTF (3, 4)
fail (GError ** error, const gchar * text, const gchar * format, ...)
{
  va_list args;
  gchar *why, *what;

  va_start (args, format);
  why = g_strdup_vprintf (format, args);
  va_end (args);
  what = gst_sam_item_get_shown (text);
  g_set_error (error, GST_SAM_REFUSAL, GST_SAM_REFUSED_SYNTAX,
      "The prompt '%s' was refused: %s.", what, why);
  g_free (what);
  g_free (why);
}

static gboolean
parse_value (const gchar * text, guint most, gint * value)
{
  guint64 number;

  if (!g_ascii_string_to_unsigned (text, 10, 1, most, &number, NULL))
    return FALSE;
  *value = number;
  return TRUE;
}

gboolean
gst_sam_prompt_read_label (const gchar * text, gchar ** label)
{
  if (!*text || strlen (text) >= GST_SAM_LABEL_BYTES ||
      !g_utf8_validate (text, -1, NULL))
    return FALSE;
  *label = g_strdup (text);
  return TRUE;
}

static gboolean
read_words (const gchar * text, gchar ** words)
{
  if (strlen (text) >= GST_SAM_WORDS_BYTES ||
      !g_utf8_validate (text, -1, NULL))
    return FALSE;
  *words = g_strdup (text);
  return TRUE;
}

/* Keys that words and likes alone have. *wanted: for the message. */
static gboolean
set_words_key (GstSamPrompt * prompt, guint key, const gchar * value,
    const gchar ** wanted)
{
  gint most = 0;

  switch (key) {
    case KEY_OF:
      *wanted = "words in UTF-8 of at most 4094 bytes";
      return read_words (value, &prompt->words);
    case KEY_MAX:
      *wanted = "a number of objects, 1 to 255";
      if (!parse_value (value, 255, &most))
        return FALSE;
      prompt->max = most;
      return TRUE;
    case KEY_EVERY:
      *wanted = "a number of tracked frames, 1 to 100000";
      if (!parse_value (value, 100000, &most))
        return FALSE;
      prompt->every = most;
      return TRUE;
    case KEY_THRESHOLD:
      *wanted = "a score, 0 to 1";
      prompt->has_threshold = gst_sam_item_parse_number (value,
          &prompt->threshold) && prompt->threshold >= 0 &&
          prompt->threshold <= 1;
      return prompt->has_threshold;
    default:
      *wanted = "true or false";
      return gst_sam_item_parse_boolean (value, key == KEY_KEEP ?
          &prompt->keep : &prompt->removes);
  }
}

/* Not all keys of words go together. */
static gboolean
check_words (const GstSamPrompt * prompt, guint given, const gchar * item,
    GError ** error)
{
  if (prompt->removes && (given & (KEY_MAX | KEY_THRESHOLD | KEY_ID)))
    fail (error, item, "remove=true goes with 'of' and 'keep' alone");
  else if (prompt->kind == GST_SAM_PROMPT_TEXT && prompt->id &&
      prompt->max > 1)
    fail (error, item, "'id' is of one object, but max is %u", prompt->max);
  else
    return TRUE;
  return FALSE;
}

static guint
find_key (const gchar * name)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (keys); i++) {
    if (!strcmp (keys[i].name, name))
      return keys[i].key;
  }
  return 0;
}

/* Set one key; *given collects them. @item is for the message. */
static gboolean
set_key (GstSamPrompt * prompt, guint * given, const gchar * name,
    const gchar * value, const gchar * item, GError ** error)
{
  guint allowed = kinds[prompt->kind].needed | kinds[prompt->kind].optional;
  guint key = find_key (name);
  gboolean ok = FALSE;
  const gchar *wanted = "a finite number";
  gchar *shown_name, *shown_value;

  if (key && (*given & key)) {
    fail (error, item, "'%s' is given twice", name);
    return FALSE;
  }
  if (prompt->kind != GST_SAM_PROMPT_TEXT)
    allowed |= KEY_TIME;
  if (!(key & allowed)) {
    shown_name = gst_sam_item_get_shown (name);
    fail (error, item, "'%s' is not a key of it; it is written %s", shown_name,
        kinds[prompt->kind].usage);
    g_free (shown_name);
    return FALSE;
  }
  *given |= key;
  switch (key) {
    case KEY_ID:
      wanted = "the id of an object, 1 or more";
      ok = g_ascii_string_to_unsigned (value, 10, 1, G_MAXUINT64, &prompt->id,
          NULL);
      break;
    case KEY_X:
    case KEY_Y:
    case KEY_W:
    case KEY_H:
      ok = gst_sam_item_parse_number (value, key == KEY_X ? &prompt->x :
          key == KEY_Y ? &prompt->y : key == KEY_W ? &prompt->w : &prompt->h);
      break;
    case KEY_POSITIVE:
    case KEY_NORMALIZED:
      wanted = "true or false";
      ok = gst_sam_item_parse_boolean (value, key == KEY_POSITIVE ?
          &prompt->positive : &prompt->normalized);
      break;
    case KEY_TIME:
      wanted = "a running time, in ns, less than 2^64 - 1";
      ok = g_ascii_string_to_unsigned (value, 10, 0, G_MAXUINT64 - 1,
          &prompt->running_time, NULL);
      prompt->timed = ok;
      break;
    case KEY_VALUE:
      wanted = "the value of a pixel, 1 to 255";
      ok = parse_value (value, 255, &prompt->value);
      break;
    case KEY_ANSWER:
      wanted = "1, 2 or 3: an answer to a single click, by area";
      ok = parse_value (value, GST_SAM_PROMPT_ANSWERS, &prompt->answer);
      break;
    case KEY_LABEL:
      wanted = "a text in UTF-8 of 1 to 63 bytes";
      ok = gst_sam_prompt_read_label (value, &prompt->label);
      break;
    case KEY_OF:
    case KEY_MAX:
    case KEY_EVERY:
    case KEY_THRESHOLD:
    case KEY_KEEP:
    case KEY_REMOVE:
      ok = set_words_key (prompt, key, value, &wanted);
      break;
    case KEY_LOCATION:
      wanted = "the name of a file";
      ok = *value != '\0';
      if (ok)
        prompt->location = g_strdup (value);
      break;
  }
  if (!ok) {
    shown_value = gst_sam_item_get_shown (value);
    fail (error, item, "%s is '%s', expected is %s", name, shown_value, wanted);
    g_free (shown_value);
  }
  return ok;
}

static gboolean
set_kind (GstSamPrompt * prompt, const gchar * name, const gchar * item,
    GError ** error)
{
  guint i;

  memset (prompt, 0, sizeof *prompt);
  prompt->positive = TRUE;
  for (i = 0; i < G_N_ELEMENTS (kinds); i++) {
    if (!strcmp (kinds[i].name, name)) {
      prompt->kind = i;
      return TRUE;
    }
  }
  fail (error, item,
      "it must begin with point, box, mask, text, like, remove, undo, clear or "
      "take");
  return FALSE;
}

static gboolean
is_fraction (gdouble value)
{
  return value > 0 && value < 1;
}

/* Whether its coordinates are more likely to run from 0 to 1 than to be pixels:
 * all of them would be in the frame's first pixel. */
static gboolean
looks_normalized (const GstSamPrompt * prompt)
{
  if (prompt->x < 0 || prompt->x > 1 || prompt->y < 0 || prompt->y > 1)
    return FALSE;
  if (prompt->kind == GST_SAM_PROMPT_BOX)
    return prompt->w <= 1 && prompt->h <= 1;
  return prompt->kind == GST_SAM_PROMPT_POINT &&
      (is_fraction (prompt->x) || is_fraction (prompt->y));
}

static gboolean
check_complete (const GstSamPrompt * prompt, guint given, const gchar * item,
    GError ** error)
{
  guint missing = kinds[prompt->kind].needed & ~given;
  guint i;

  for (i = 0; missing && i < G_N_ELEMENTS (keys); i++) {
    if (missing & keys[i].key) {
      fail (error, item, "'%s' is missing; it is written %s", keys[i].name,
          kinds[prompt->kind].usage);
      return FALSE;
    }
  }
  if (!gst_sam_prompt_check (prompt, 0, 0, error) ||
      !check_words (prompt, given, item, error))
    return FALSE;
  if ((given & KEY_NORMALIZED) || !looks_normalized (prompt))
    return TRUE;
  fail (error, item, "its coordinates are at most 1; expected is "
      "normalized=true if they run from 0 to 1, or normalized=false if they "
      "are pixels");
  return FALSE;
}

/* Parse one item. Returns where it ends, NULL where it is bad. */
static const gchar *
parse_item (const gchar * item, GstSamPrompt * prompt, GString * key,
    GString * value, GError ** error)
{
  const gchar *pos = gst_sam_item_read_word (item, '\0', key);
  guint given = 0;

  if (!set_kind (prompt, key->str, item, error))
    return NULL;
  while (*pos == ',') {
    pos = gst_sam_item_read_word (pos + 1, '=', key);
    if (*pos != '=') {
      fail (error, item, "expected key=value after a comma");
      return NULL;
    }
    pos = gst_sam_item_read_value (pos + 1, value);
    if (!pos) {
      fail (error, item, "a quote or a bracket is not closed");
      return NULL;
    }
    if (!set_key (prompt, &given, key->str, value->str, item, error))
      return NULL;
  }
  return check_complete (prompt, given, item, error) ? pos : NULL;
}

static GArray *
new_array (void)
{
  GArray *prompts = g_array_new (FALSE, TRUE, sizeof (GstSamPrompt));

  g_array_set_clear_func (prompts, (GDestroyNotify) gst_sam_prompt_clear);
  return prompts;
}

GArray *
gst_sam_prompt_parse (const gchar * text, GError ** error)
{
  GArray *prompts = new_array ();
  GString *key = g_string_new (NULL), *value = g_string_new (NULL);
  const gchar *pos = gst_sam_item_skip_space (text);
  gboolean has_words = FALSE;

  while (pos && *pos) {
    GstSamPrompt prompt = { 0, };

    if (*pos == ';') {
      pos = gst_sam_item_skip_space (pos + 1);
      continue;
    }
    if (prompts->len == MAX_ITEMS) {
      fail (error, text, "it has more than %d items", MAX_ITEMS);
      pos = NULL;
      break;
    }
    pos = parse_item (pos, &prompt, key, value, error);
    prompt.adds = has_words && prompt.kind == GST_SAM_PROMPT_TEXT;
    has_words |= prompt.kind == GST_SAM_PROMPT_TEXT;
    if (pos)
      g_array_append_val (prompts, prompt);
    else
      gst_sam_prompt_clear (&prompt);
  }
  if (pos && !prompts->len) {
    fail (error, text, "it is empty");
    pos = NULL;
  }
  g_string_free (key, TRUE);
  g_string_free (value, TRUE);
  if (!pos)
    g_clear_pointer (&prompts, g_array_unref);
  return prompts;
}

typedef struct
{
  GstSamPrompt prompt;
  guint given;
  const gchar *item;            /* for messages */
  GError **error;
} Fields;

static gboolean
set_field (GQuark field, const GValue * value, gpointer data)
{
  Fields *fields = data;
  const gchar *name = g_quark_to_string (field);
  gchar *text;
  gboolean ok;

  if (!strcmp (name, "op"))
    return TRUE;
  if (G_VALUE_HOLDS_STRING (value))
    text = g_value_dup_string (value);
  else
    text = gst_value_serialize (value);
  ok = set_key (&fields->prompt, &fields->given, name, text ? text : "",
      fields->item, fields->error);
  g_free (text);
  return ok;
}

GArray *
gst_sam_prompt_parse_structure (const GstStructure * structure, GError ** error)
{
  const gchar *text = gst_structure_get_string (structure, "prompt");
  const gchar *op = gst_structure_get_string (structure, "op");
  Fields fields = {.item = op,.error = error };
  GArray *prompts;

  if (text)
    return gst_sam_prompt_parse (text, error);
  if (!op) {
    fail (error, gst_structure_get_name (structure),
        "it has neither a string field 'prompt' nor a string field 'op'");
    return NULL;
  }
  if (!set_kind (&fields.prompt, op, op, error) ||
      !gst_structure_foreach (structure, set_field, &fields) ||
      !check_complete (&fields.prompt, fields.given, op, error)) {
    gst_sam_prompt_clear (&fields.prompt);
    return NULL;
  }
  prompts = new_array ();
  g_array_append_val (prompts, fields.prompt);
  return prompts;
}

/* As few digits as give the same number again. */
static void
append_number (GString * text, const gchar * name, gdouble value)
{
  gchar digits[G_ASCII_DTOSTR_BUF_SIZE];

  g_ascii_formatd (digits, sizeof digits, "%.15g", value);
  if (g_ascii_strtod (digits, NULL) != value)
    g_ascii_dtostr (digits, sizeof digits, value);
  g_string_append_printf (text, ",%s=%s", name, digits);
}

static void
append_quoted (GString * text, const gchar * name, const gchar * value)
{
  g_string_append_printf (text, ",%s=\"", name);
  for (; *value; value++) {
    if (*value == '"' || *value == '\\')
      g_string_append_c (text, '\\');
    g_string_append_c (text, *value);
  }
  g_string_append_c (text, '"');
}

gchar *
gst_sam_prompt_to_text (const GstSamPrompt * prompt)
{
  const guint needed = kinds[prompt->kind].needed;
  const guint all = needed | kinds[prompt->kind].optional;
  GString *text = g_string_new (kinds[prompt->kind].name);
  gchar *valid;

  if (all & KEY_X)
    append_number (text, "x", prompt->x);
  if (all & KEY_Y)
    append_number (text, "y", prompt->y);
  if (all & KEY_W)
    append_number (text, "w", prompt->w);
  if (all & KEY_H)
    append_number (text, "h", prompt->h);
  if ((all & KEY_POSITIVE) && !prompt->positive)
    g_string_append (text, ",positive=false");
  if ((all & KEY_NORMALIZED) && prompt->normalized)
    g_string_append (text, ",normalized=true");
  else if ((all & KEY_NORMALIZED) && looks_normalized (prompt))
    g_string_append (text, ",normalized=false");
  if (prompt->answer)
    g_string_append_printf (text, ",answer=%d", prompt->answer);
  if (prompt->location)
    append_quoted (text, "location", prompt->location);
  if (prompt->value)
    g_string_append_printf (text, ",value=%d", prompt->value);
  if (prompt->label)
    append_quoted (text, "label", prompt->label);
  if (prompt->words)
    append_quoted (text, "of", prompt->words);
  if (prompt->max)
    g_string_append_printf (text, ",max=%u", prompt->max);
  if (prompt->has_threshold)
    append_number (text, "threshold", prompt->threshold);
  if (prompt->every)
    g_string_append_printf (text, ",every=%u", prompt->every);
  if (prompt->keep)
    g_string_append (text, ",keep=true");
  if (prompt->removes)
    g_string_append (text, ",remove=true");
  if ((needed & KEY_ID) || ((all & KEY_ID) && prompt->id && !prompt->fresh))
    g_string_append_printf (text, ",id=%" G_GUINT64_FORMAT, prompt->id);
  if (prompt->timed)
    g_string_append_printf (text, ",running-time=%" G_GUINT64_FORMAT,
        prompt->running_time);
  valid = g_utf8_make_valid (text->str, text->len);
  g_string_free (text, TRUE);
  return valid;
}
