/* SPDX-License-Identifier: MIT */
/* The names of classes, and their numbers in the policy. */

#include "gstsamseedprivate.h"

#include "detect/gstsamclasses.h"

static gboolean
is_in_use (const GstSamSeed * seed, gint class_id)
{
  guint i;

  for (i = 0; i < seed->words.num; i++) {
    if (seed->phrase[i].class_id == class_id)
      return TRUE;
  }
  return sam_seed_has_class (seed->policy, class_id);
}

/* A number for another class: a new one, or that of a class of which there is
 * nothing any more; SAM_SEED_NO_CLASS: none is free. */
static gint
find_free (GstSamSeed * seed)
{
  gint i;

  if (seed->num_classes < SAM_SEED_MAX_CLASSES)
    return seed->num_classes++;
  for (i = seed->num_fixed; i < SAM_SEED_MAX_CLASSES; i++) {
    if (!is_in_use (seed, i)) {
      sam_seed_limit_class (seed->policy, i, -1, 0, NULL);
      return i;
    }
  }
  return SAM_SEED_NO_CLASS;
}

gint
gst_sam_seed_find_class (GstSamSeed * seed, GQuark quark)
{
  guint i;
  gint id;

  if (!quark)
    return SAM_SEED_NO_CLASS;
  for (i = 0; i < seed->num_classes; i++) {
    if (seed->class_quark[i] == quark)
      return i;
  }
  id = find_free (seed);
  if (id == SAM_SEED_NO_CLASS)
    return id;
  seed->class_quark[id] = quark;
  seed->class_name[id] = gst_sam_classes_intern (g_quark_to_string (quark));
  return id;
}

/* @known: the names of the detector's classes. NULL: it is upstream, and the
 * names in detect-classes get the first numbers. */
gboolean
gst_sam_seed_allow_classes (GstSamSeed * seed, gchar ** known,
    struct sam_seed_settings *settings, gchar ** why)
{
  const gchar *wanted = seed->settings->detect_classes;
  gchar **names = g_strsplit (wanted ? wanted : "", ",", SAM_SEED_MAX_CLASSES);
  gboolean ok = TRUE;
  guint i;

  for (i = 0; names[i] && ok; i++) {
    const gchar *name = g_strstrip (names[i]);
    guint id = SAM_SEED_MAX_CLASSES;

    if (*name && known)
      ok = gst_sam_classes_find (known, name, &id, why);
    else if (*name)
      id = gst_sam_seed_find_class (seed, g_quark_from_string (name));
    if (id < SAM_SEED_MAX_CLASSES)
      settings->classes[id / 64] |= G_GUINT64_CONSTANT (1) << id % 64;
  }
  g_strfreev (names);
  return ok;
}

void
gst_sam_seed_take_names (GstSamSeed * seed, gchar ** known)
{
  for (; known && known[seed->num_classes] &&
      seed->num_classes < SAM_SEED_MAX_CLASSES; seed->num_classes++)
    seed->class_name[seed->num_classes] =
        gst_sam_classes_intern (known[seed->num_classes]);
}

const gchar *
gst_sam_seed_get_class_name (const GstSamSeed * seed, gint class_id)
{
  return class_id >= 0 && class_id < (gint) seed->num_classes ?
      seed->class_name[class_id] : NULL;
}
