/* SPDX-License-Identifier: MIT */
#include "gstsamnavigation.h"

#include "gstsamtrackprivate.h"

#include <gst/video/navigation.h>
#include <math.h>

#define GST_CAT_DEFAULT gst_sam_track_debug

/* A pointer that moved by more than this fraction of the frame's width or
 * height while it was pressed has drawn a box. */
#define DRAG 0.015

enum
{
  BUTTON_LEFT = 1,
  BUTTON_MIDDLE,
  BUTTON_RIGHT,
  /* Buttons above are wheels and thumbs. */
};

void
gst_sam_navigation_init (GstSamNavigation * navigation)
{
  gst_sam_mutex_init (&navigation->lock, GST_SAM_RANK_NAVIGATION);
}

void
gst_sam_navigation_clear (GstSamNavigation * navigation)
{
  gst_sam_mutex_clear (&navigation->lock);
}

/* Prompts */

/* The object that clicks are for, if it is still there. */
static guint64
get_current (GstSamTrack * self)
{
  const guint64 id = gst_sam_marks_get_current (&self->pending->marks);

  return gst_sam_pending_is_known (self->pending, id) ? id : 0;
}

/* @id: of an accepted prompt; 0: it was refused. */
static gboolean
make_current (GstSamTrack * self, guint64 id)
{
  if (id)
    gst_sam_marks_set_current (&self->pending->marks, id);
  return id != 0;
}

/* The running time of the frame on screen. Where the pipeline is not live, the
 * sink may not wait for the clock, so it may be the last frame. FALSE: there is
 * none to be named. */
static gboolean
get_time (GstSamTrack * self, GstClockTime * time)
{
  gboolean live;

  if (!self->history)
    return FALSE;
  *time = gst_sam_qos_get_shown (&self->qos, GST_ELEMENT (self), &live);
  return gst_sam_pending_clamp (self->pending, !live, time);
}

static gboolean
add_point (GstSamNavigation * n, GstSamTrack * self, gboolean positive)
{
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_POINT,.normalized = TRUE };

  prompt.id = get_current (self);
  prompt.x = n->press_x;
  prompt.y = n->press_y;
  prompt.positive = positive;
  prompt.timed = n->press_timed;
  prompt.running_time = n->press_time;
  if (!prompt.id && !positive)
    return FALSE;               /* nothing that it could be taken from */
  return make_current (self, gst_sam_track_push_prompt (self, &prompt));
}

static gboolean
add_box (GstSamNavigation * n, GstSamTrack * self)
{
  GstSamPrompt prompt = {.kind = GST_SAM_PROMPT_BOX,.normalized = TRUE };
  const gdouble x = CLAMP (n->x, 0, 1), y = CLAMP (n->y, 0, 1);

  prompt.x = MIN (x, n->press_x);
  prompt.y = MIN (y, n->press_y);
  prompt.w = fabs (x - n->press_x);
  prompt.h = fabs (y - n->press_y);
  prompt.timed = get_time (self, &prompt.running_time);
  if (prompt.w <= 0 || prompt.h <= 0)
    return FALSE;
  return make_current (self, gst_sam_track_push_prompt (self, &prompt));
}

static gboolean
command (GstSamTrack * self, GstSamPromptKind kind, guint64 id)
{
  GstSamPrompt prompt = {.kind = kind,.id = id };

  return id && gst_sam_track_push_prompt (self, &prompt);
}

static gboolean
remove_under_pointer (GstSamNavigation * n, GstSamTrack * self)
{
  return command (self, GST_SAM_PROMPT_REMOVE,
      gst_sam_track_get_object_at (self, n->x, n->y));
}

/* Events */

static gboolean
is_inside (const GstSamNavigation * n)
{
  return n->x >= 0 && n->x < 1 && n->y >= 0 && n->y < 1;
}

/* FALSE: the coordinates are none. */
static gboolean
move (GstSamNavigation * n, GstSamTrack * self, gdouble x, gdouble y)
{
  gint width, height;

  gst_sam_pending_get_frame_size (self->pending, &width, &height);
  if (!width || !height || !isfinite (x) || !isfinite (y))
    return FALSE;
  n->x = x / width;
  n->y = y / height;
  return TRUE;
}

static void
begin (GstSamNavigation * n, GstSamTrack * self, guint finger,
    gboolean negative)
{
  n->pressed = TRUE;
  n->negative = negative;
  n->finger = finger;
  n->press_x = n->x;
  n->press_y = n->y;
  n->press_timed = get_time (self, &n->press_time);
}

static gboolean
is_drag (const GstSamNavigation * n)
{
  return fabs (n->x - n->press_x) > DRAG || fabs (n->y - n->press_y) > DRAG;
}

/* Where boxes can be drawn, only the end tells that it is a point. */
static gboolean
end (GstSamNavigation * n, GstSamTrack * self, gboolean boxes)
{
  if (!n->pressed)
    return FALSE;
  n->pressed = FALSE;
  if (boxes && !n->negative && is_drag (n))
    return add_box (n, self);
  return add_point (n, self, !n->negative);
}

static gboolean
press (GstSamNavigation * n, GstSamTrack * self, gint button, gboolean boxes,
    gboolean shift)
{
  if (!is_inside (n))
    return FALSE;
  if (button == BUTTON_MIDDLE)
    return remove_under_pointer (n, self);
  if (button != BUTTON_LEFT && button != BUTTON_RIGHT)
    return FALSE;
  begin (n, self, 0, button == BUTTON_RIGHT || shift || n->shifts);
  return boxes && !n->negative ? FALSE : end (n, self, boxes);
}

/* The bit of a Shift key, 0 for other keys. */
static guint
get_shift (const gchar * key)
{
  return g_str_equal (key, "Shift_L") ? 1 :
      g_str_equal (key, "Shift_R") ? 2 : 0;
}

static gboolean
press_key (GstSamNavigation * n, GstSamTrack * self, const gchar * key)
{
  n->shifts |= get_shift (key);
  if (g_str_equal (key, "Delete"))
    return is_inside (n) && remove_under_pointer (n, self);
  if (g_str_equal (key, "u"))
    return command (self, GST_SAM_PROMPT_UNDO, get_current (self));
  if (g_str_equal (key, "c"))
    return command (self, GST_SAM_PROMPT_CLEAR, GST_SAM_PENDING_ALL);
  if (!g_str_equal (key, "n"))
    return FALSE;
  gst_sam_marks_set_current (&self->pending->marks, 0);
  return TRUE;
}

static gboolean
has_shift (GstEvent * event)
{
#if GST_CHECK_VERSION (1, 22, 0)
  GstNavigationModifierType state;

  return gst_navigation_event_parse_modifier_state (event, &state) &&
      (state & GST_NAVIGATION_MODIFIER_SHIFT_MASK);
#else
  return FALSE;
#endif
}

static gboolean
handle_mouse (GstSamNavigation * n, GstSamTrack * self, GstEvent * event,
    GstNavigationEventType type, gboolean boxes)
{
  gdouble x, y;
  gint button = 0;

  if (type == GST_NAVIGATION_EVENT_MOUSE_MOVE) {
    if (gst_navigation_event_parse_mouse_move_event (event, &x, &y))
      move (n, self, x, y);
    return FALSE;
  }
  if (!gst_navigation_event_parse_mouse_button_event (event, &button, &x, &y)
      || !move (n, self, x, y))
    return FALSE;
  if (type == GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS)
    return press (n, self, button, boxes, has_shift (event));
  return button == BUTTON_LEFT && !n->finger && end (n, self, boxes);
}

/* One finger is the mouse; others are left alone. */
static gboolean
handle_touch (GstSamNavigation * n, GstSamTrack * self, GstEvent * event,
    GstNavigationEventType type, gboolean boxes)
{
#if GST_CHECK_VERSION (1, 22, 0)
  gdouble x, y, pressure;
  guint finger;

  if (type == GST_NAVIGATION_EVENT_TOUCH_CANCEL) {
    n->pressed = n->pressed && !n->finger;
  } else if (type == GST_NAVIGATION_EVENT_TOUCH_UP) {
    return gst_navigation_event_parse_touch_up_event (event, &finger, &x, &y)
        && n->pressed && n->finger == finger + 1 && move (n, self, x, y) &&
        end (n, self, boxes);
  } else if (gst_navigation_event_parse_touch_event (event, &finger, &x, &y,
          &pressure)) {
    const gboolean down = type == GST_NAVIGATION_EVENT_TOUCH_DOWN;

    if ((down ? !n->pressed : n->pressed && n->finger == finger + 1) &&
        move (n, self, x, y) && down && is_inside (n)) {
      begin (n, self, finger + 1, FALSE);
      return !boxes && end (n, self, boxes);
    }
  }
#endif
  return FALSE;
}

static gboolean
handle_key (GstSamNavigation * n, GstSamTrack * self, GstEvent * event,
    GstNavigationEventType type)
{
  const gchar *key = NULL;

  if (!gst_navigation_event_parse_key_event (event, &key) || !key)
    return FALSE;
  if (type == GST_NAVIGATION_EVENT_KEY_PRESS)
    return press_key (n, self, key);
  n->shifts &= ~get_shift (key);
  return FALSE;
}

gboolean
gst_sam_navigation_handle (GstSamNavigation * n, GstSamTrack * self,
    GstEvent * event)
{
  const GstNavigationEventType type = gst_navigation_event_get_type (event);
  gboolean taken, boxes;
  gint mode;

  gst_sam_object_lock (self);
  mode = self->navigation_mode;
  gst_sam_object_unlock (self);
  if (mode == GST_SAM_TRACK_NAVIGATION_NONE)
    return FALSE;
  boxes = mode == GST_SAM_TRACK_NAVIGATION_POINTS_BOXES;
  gst_sam_mutex_lock (&n->lock);
  switch (type) {
    case GST_NAVIGATION_EVENT_MOUSE_MOVE:
    case GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS:
    case GST_NAVIGATION_EVENT_MOUSE_BUTTON_RELEASE:
      taken = handle_mouse (n, self, event, type, boxes);
      break;
    case GST_NAVIGATION_EVENT_KEY_PRESS:
    case GST_NAVIGATION_EVENT_KEY_RELEASE:
      taken = handle_key (n, self, event, type);
      break;
    default:
      taken = handle_touch (n, self, event, type, boxes);
      break;
  }
  gst_sam_mutex_unlock (&n->lock);
  return taken;
}
