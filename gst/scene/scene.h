/* SPDX-License-Identifier: MIT */
/* A scene of things that move in front of a landscape. Every frame is a
 * function of the seed, the time and the size alone. Metres: x to the right, y
 * up from the ground, z away from the camera. */
#ifndef __GST_SAM_SCENE_DRAW_H__
#define __GST_SAM_SCENE_DRAW_H__

#include <glib.h>

G_BEGIN_DECLS

#define SCENE_NUM_THINGS 4

typedef struct _Scene Scene;

typedef struct
{
  const gchar *name;
  guint area;                   /* px that show it */
  gdouble visibility;           /* part of its area that is seen, 0 to 1 */
} SceneThing;

/* RGBx pixels and the label map of a frame; its stride is the width. */
typedef struct
{
  guint8 *pixels;
  gint stride;
  guint8 *labels;
  SceneThing thing[SCENE_NUM_THINGS];   /* thing[i] has the label i + 1 */
} SceneFrame;

/* @flat: things in one colour each, without ground, for tests. */
Scene *scene_new (guint64 seed, gint width, gint height, gboolean flat);
void scene_free (Scene * scene);
void scene_draw (Scene * scene, gdouble seconds, SceneFrame * frame);

G_END_DECLS

#endif /* __GST_SAM_SCENE_DRAW_H__ */
