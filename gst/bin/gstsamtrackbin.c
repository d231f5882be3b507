/* SPDX-License-Identifier: MIT */
/**
 * SECTION:element-samtrackbin
 * @title: samtrackbin
 * @see_also: samtrack, samoverlay, samexport
 *
 * A tracker, an overlay and, if one of `export-location`, `export-mqtt-uri` and
 * `export-kafka-uri` is set, an export in one bin, with a converter ahead of
 * them and one behind them: for the `video-filter` of playbin, and for launch
 * lines.
 *
 * Its properties are those of its children: of #samtrack under their names, of
 * #samoverlay behind `overlay-`, of #samexport behind `export-`. It has the
 * action signals of #samtrack, too. Events that are sent to it go to the
 * tracker.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 filesrc location=in.mp4 ! decodebin ! \
 *   samtrackbin initial-prompt="box,x=100,y=80,w=120,h=220" ! autovideosink
 * gst-launch-1.0 playbin uri=file:///tmp/in.mp4 \
 *   video-filter="samtrackbin navigation=points-boxes"
 * ]|
 *
 * Since: 0.1
 */

#include "gstsamtrackbin.h"

#include "export/gstsamexport.h"
#include "overlay/gstsamoverlay.h"
#include "track/gstsamtrack.h"

#include <string.h>

GST_DEBUG_CATEGORY_STATIC (gst_sam_track_bin_debug);
#define GST_CAT_DEFAULT gst_sam_track_bin_debug

/* In the order of the stream. */
enum
{
  BEFORE,                       /* a converter */
  TRACK,
  OVERLAY,
  EXPORT,
  BEHIND,                       /* a converter */
  NUM_CHILDREN,
};

static const struct
{
  const gchar *factory, *name;
  const gchar *prefix;          /* of its properties; NULL: they are its own */
} children[NUM_CHILDREN] = {
  [BEFORE] = {"videoconvert", "before", NULL},
  [TRACK] = {"samtrack", "track", ""},
  [OVERLAY] = {"samoverlay", "overlay", "overlay-"},
  [EXPORT] = {"samexport", "export", "export-"},
  [BEHIND] = {"videoconvert", "behind", NULL},
};

/* Ids of properties: FIRST of a child and up. */
#define FIRST(child) (1000 * (child))

struct _GstSamTrackBin
{
  GstBin parent;

  /* Owned by the bin, but for that of the export. NULL: there is no such
   * element. */
  GstElement *child[NUM_CHILDREN];
};

#define gst_sam_track_bin_parent_class parent_class
G_DEFINE_TYPE_WITH_CODE (GstSamTrackBin, gst_sam_track_bin, GST_TYPE_BIN,
    G_IMPLEMENT_INTERFACE (GST_TYPE_PRESET, NULL));
GST_ELEMENT_REGISTER_DEFINE (samtrackbin, "samtrackbin", GST_RANK_NONE,
    GST_TYPE_SAM_TRACK_BIN);

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE ("sink",
    GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw(ANY)"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE ("src",
    GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS ("video/x-raw(ANY)"));

/* ---- The children */

static gboolean
has_text (GstElement * element, const gchar * name)
{
  gchar *text = NULL;
  gboolean is_set;

  if (!g_object_class_find_property (G_OBJECT_GET_CLASS (element), name))
    return FALSE;
  g_object_get (element, name, &text, NULL);
  is_set = text && *text;
  g_free (text);
  return is_set;
}

/* It runs if it has somewhere to write to. */
static gboolean
is_export_used (GstSamTrackBin * self)
{
  GstElement *export = self->child[EXPORT];

  return export && (has_text (export, "location") ||
      has_text (export, "mqtt-uri") || has_text (export, "kafka-uri"));
}

/* Put the export where it is used, and take it away where it is not: who makes
 * a bin of a text (playbin's video-filter) takes pads of children that are not
 * linked for those of the bin. */
static gboolean
place_export (GstSamTrackBin * self)
{
  GstElement *export = self->child[EXPORT];
  GstElement *overlay = self->child[OVERLAY], *behind = self->child[BEHIND];
  const gboolean is_used = is_export_used (self);

  if (!export || is_used == (GST_OBJECT_PARENT (export) != NULL))
    return TRUE;
  if (!is_used) {
    gst_bin_remove (GST_BIN (self), export);
    return gst_element_link (overlay, behind);
  }
  gst_element_unlink (overlay, behind);
  gst_bin_add (GST_BIN (self), export);
  return gst_element_link_many (overlay, export, behind, NULL);
}

/* Returns FALSE and posts an error if it cannot run. */
static gboolean
prepare (GstSamTrackBin * self)
{
  if (!self->child[BEFORE] || !self->child[BEHIND]) {
    GST_ELEMENT_ERROR (self, CORE, MISSING_PLUGIN, ("samtrackbin needs the "
            "element %s, which is not installed.", children[BEFORE].factory),
        (NULL));
    return FALSE;
  }
  if (place_export (self))
    return TRUE;
  GST_ELEMENT_ERROR (self, CORE, PAD, ("The elements of samtrackbin cannot be "
          "linked."), (NULL));
  return FALSE;
}

static GstStateChangeReturn
gst_sam_track_bin_change_state (GstElement * element, GstStateChange change)
{
  if (change == GST_STATE_CHANGE_NULL_TO_READY &&
      !prepare (GST_SAM_TRACK_BIN (element)))
    return GST_STATE_CHANGE_FAILURE;
  return GST_ELEMENT_CLASS (parent_class)->change_state (element, change);
}

/* GstBin gives events to sources and sinks, of which there are none here, and
 * says that this worked. */
static gboolean
gst_sam_track_bin_send_event (GstElement * element, GstEvent * event)
{
  return gst_element_send_event (GST_SAM_TRACK_BIN (element)->child[TRACK],
      event);
}

/* ---- Their properties */

/* The same with another name. NULL if its type is none that a child's property
 * has; the test samtrackbin tells. A controller belongs to the child. */
static GParamSpec *
copy_spec (GParamSpec * spec, const gchar * name)
{
  const gchar *nick = g_param_spec_get_nick (spec);
  const gchar *blurb = g_param_spec_get_blurb (spec);
  const GParamFlags flags = spec->flags & ~GST_PARAM_CONTROLLABLE;
  const GType type = G_PARAM_SPEC_VALUE_TYPE (spec);

  if (G_IS_PARAM_SPEC_BOOLEAN (spec))
    return g_param_spec_boolean (name, nick, blurb,
        G_PARAM_SPEC_BOOLEAN (spec)->default_value, flags);
  if (G_IS_PARAM_SPEC_INT (spec))
    return g_param_spec_int (name, nick, blurb,
        G_PARAM_SPEC_INT (spec)->minimum, G_PARAM_SPEC_INT (spec)->maximum,
        G_PARAM_SPEC_INT (spec)->default_value, flags);
  if (G_IS_PARAM_SPEC_UINT (spec))
    return g_param_spec_uint (name, nick, blurb,
        G_PARAM_SPEC_UINT (spec)->minimum, G_PARAM_SPEC_UINT (spec)->maximum,
        G_PARAM_SPEC_UINT (spec)->default_value, flags);
  if (G_IS_PARAM_SPEC_UINT64 (spec))
    return g_param_spec_uint64 (name, nick, blurb,
        G_PARAM_SPEC_UINT64 (spec)->minimum,
        G_PARAM_SPEC_UINT64 (spec)->maximum,
        G_PARAM_SPEC_UINT64 (spec)->default_value, flags);
  if (G_IS_PARAM_SPEC_DOUBLE (spec))
    return g_param_spec_double (name, nick, blurb,
        G_PARAM_SPEC_DOUBLE (spec)->minimum,
        G_PARAM_SPEC_DOUBLE (spec)->maximum,
        G_PARAM_SPEC_DOUBLE (spec)->default_value, flags);
  if (G_IS_PARAM_SPEC_ENUM (spec))
    return g_param_spec_enum (name, nick, blurb, type,
        G_PARAM_SPEC_ENUM (spec)->default_value, flags);
  if (G_IS_PARAM_SPEC_STRING (spec))
    return g_param_spec_string (name, nick, blurb,
        G_PARAM_SPEC_STRING (spec)->default_value, flags);
  if (G_IS_PARAM_SPEC_BOXED (spec))
    return g_param_spec_boxed (name, nick, blurb, type, flags);
  if (GST_IS_PARAM_SPEC_ARRAY_LIST (spec))
    return gst_param_spec_array (name, nick, blurb,
        GST_PARAM_SPEC_ARRAY_LIST (spec)->element_spec, flags);
  return NULL;
}

static void
install_properties (GObjectClass * klass, guint child, GType type)
{
  GObjectClass *from = g_type_class_ref (type);
  guint i, n, id = FIRST (child);
  GParamSpec **specs = g_object_class_list_properties (from, &n);

  for (i = 0; i < n; i++) {
    gchar *name;
    GParamSpec *copy;

    if (specs[i]->owner_type != type)
      continue;
    name = g_strconcat (children[child].prefix, specs[i]->name, NULL);
    copy = copy_spec (specs[i], g_intern_string (name));
    g_free (name);
    if (copy)
      g_object_class_install_property (klass, id++, copy);
  }
  g_free (specs);
  g_type_class_unref (from);
}

/* Whose it is, and its name there. */
static GObject *
find_child (GstSamTrackBin * self, guint id, GParamSpec * spec,
    const gchar ** name)
{
  const guint i = id / FIRST (1);

  *name = spec->name + strlen (children[i].prefix);
  return G_OBJECT (self->child[i]);
}

static void
gst_sam_track_bin_set_property (GObject * object, guint id,
    const GValue * value, GParamSpec * spec)
{
  const gchar *name;
  GObject *child = find_child (GST_SAM_TRACK_BIN (object), id, spec, &name);

  g_object_set_property (child, name, value);
}

static void
gst_sam_track_bin_get_property (GObject * object, guint id, GValue * value,
    GParamSpec * spec)
{
  const gchar *name;
  GObject *child = find_child (GST_SAM_TRACK_BIN (object), id, spec, &name);

  g_object_get_property (child, name, value);
}

/* ---- The tracker's signals */

enum
{
  MAX_ARGUMENTS = 12,           /* of a signal, the instance included */
};

/* Emit the signal of the tracker whose number is the closure's data. */
static void
emit_of_tracker (GClosure * closure, GValue * result, guint n,
    const GValue * arguments, gpointer hint, gpointer data)
{
  GstSamTrackBin *self = g_value_get_object (&arguments[0]);
  GValue values[MAX_ARGUMENTS];

  memcpy (values, arguments, n * sizeof *values);
  memset (&values[0], 0, sizeof values[0]);
  g_value_init (&values[0], GST_TYPE_SAM_TRACK);
  g_value_set_object (&values[0], self->child[TRACK]);
  g_signal_emitv (values, GPOINTER_TO_UINT (closure->data), 0, result);
  g_value_unset (&values[0]);
}

static void
install_signals (void)
{
  guint i, n;
  guint *ids = g_signal_list_ids (GST_TYPE_SAM_TRACK, &n);

  for (i = 0; i < n; i++) {
    GSignalQuery query;
    GClosure *closure;

    g_signal_query (ids[i], &query);
    if (!(query.signal_flags & G_SIGNAL_ACTION) ||
        query.n_params >= MAX_ARGUMENTS)
      continue;
    closure = g_closure_new_simple (sizeof *closure,
        GUINT_TO_POINTER (ids[i]));
    g_closure_set_marshal (closure, emit_of_tracker);
    g_signal_newv (query.signal_name, GST_TYPE_SAM_TRACK_BIN,
        query.signal_flags, closure, NULL, NULL, NULL, query.return_type,
        query.n_params, (GType *) query.param_types);
  }
  g_free (ids);
}

/* ---- The element */

static void
gst_sam_track_bin_dispose (GObject * object)
{
  gst_clear_object (&GST_SAM_TRACK_BIN (object)->child[EXPORT]);
  G_OBJECT_CLASS (parent_class)->dispose (object);
}

static void
gst_sam_track_bin_class_init (GstSamTrackBinClass * klass)
{
  GObjectClass *gobject_class = G_OBJECT_CLASS (klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS (klass);

  GST_DEBUG_CATEGORY_INIT (gst_sam_track_bin_debug, "samtrackbin", 0,
      "object tracker, overlay and export");

  gobject_class->set_property = gst_sam_track_bin_set_property;
  gobject_class->get_property = gst_sam_track_bin_get_property;
  gobject_class->dispose = gst_sam_track_bin_dispose;
  install_properties (gobject_class, TRACK, GST_TYPE_SAM_TRACK);
  install_properties (gobject_class, OVERLAY, GST_TYPE_SAM_OVERLAY);
  if (GST_TYPE_SAM_EXPORT != G_TYPE_INVALID)
    install_properties (gobject_class, EXPORT, GST_TYPE_SAM_EXPORT);
  install_signals ();

  gst_element_class_add_static_pad_template (element_class, &sink_template);
  gst_element_class_add_static_pad_template (element_class, &src_template);
  gst_element_class_set_static_metadata (element_class,
      "Object mask tracker with overlay", "Filter/Effect/Video",
      "Tracks the masks of objects, draws them and, if told where to, writes "
      "them", "The samtrack authors");
  element_class->change_state =
      GST_DEBUG_FUNCPTR (gst_sam_track_bin_change_state);
  element_class->send_event = GST_DEBUG_FUNCPTR (gst_sam_track_bin_send_event);
}

/* One of ours, by its type: it need not be in the registry. NULL: the build has
 * none. */
static GstElement *
make_child (guint i)
{
  const GType type = i == TRACK ? GST_TYPE_SAM_TRACK :
      i == OVERLAY ? GST_TYPE_SAM_OVERLAY : GST_TYPE_SAM_EXPORT;

  return type == G_TYPE_INVALID ? NULL :
      g_object_new (type, "name", children[i].name, NULL);
}

static void
add_pad (GstSamTrackBin * self, GstElement * child, const gchar * name,
    GstStaticPadTemplate * source)
{
  GstPadTemplate *template = gst_static_pad_template_get (source);
  GstPad *target = child ? gst_element_get_static_pad (child, name) : NULL;
  GstPad *pad = target ? gst_ghost_pad_new_from_template (name, target,
      template) : gst_ghost_pad_new_no_target_from_template (name, template);

  gst_element_add_pad (GST_ELEMENT (self), pad);
  gst_clear_object (&target);
  gst_object_unref (template);
}

static void
gst_sam_track_bin_init (GstSamTrackBin * self)
{
  guint i;

  for (i = 0; i < NUM_CHILDREN; i++) {
    self->child[i] = children[i].prefix ? make_child (i) :
        gst_element_factory_make (children[i].factory, children[i].name);
    if (self->child[i] && i == EXPORT)
      gst_object_ref_sink (self->child[i]);
    else if (self->child[i])
      gst_bin_add (GST_BIN (self), self->child[i]);
  }
  if (self->child[BEFORE] && self->child[BEHIND])
    gst_element_link_many (self->child[BEFORE], self->child[TRACK],
        self->child[OVERLAY], self->child[BEHIND], NULL);
  add_pad (self, self->child[BEFORE], "sink", &sink_template);
  add_pad (self, self->child[BEHIND], "src", &src_template);
}
