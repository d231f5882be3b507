/* SPDX-License-Identifier: MIT */
/* The scene: camera, order of drawing, and the truth about what is seen. */

#include <string.h>

#include "sceneparts.h"

#define FOCAL 520.f             /* px, of a picture of 640 x 360 */
#define EYE 1.6f                /* m */

typedef struct
{
  const gchar *name;
  void (*cast) (Scene *);
  void (*draw) (Scene *);
  gfloat (*z) (const Scene *);
} Thing;

static const Thing things[SCENE_NUM_THINGS] = {
  {"ball", scene_ball_cast, scene_ball_draw, scene_ball_z},
  {"walker", scene_walker_cast, scene_walker_draw, scene_walker_z},
  {"fish", scene_fish_cast, scene_fish_draw, scene_fish_z},
  {"plane", scene_plane_cast, scene_plane_draw, scene_plane_z},
};

Scene *
scene_new (guint64 seed, gint width, gint height, gboolean flat)
{
  Scene *scene = g_new0 (Scene, 1);
  guint i;

  scene->width = width;
  scene->height = height;
  scene->flat = flat;
  for (i = 0; seed && i < G_N_ELEMENTS (scene->phase); i++)
    scene->phase[i] = (scene_hash (seed, i, 1) & 0xffff) / 65536. * 40;
  for (i = 0; seed && i < SCENE_NUM_THINGS; i++)
    scene->look[i] = scene_hash (seed, i, 2) & 0xffff;
  scene_slabs_init (&scene->slabs, seed + 11);
  scene_noise_init (&scene->noise, seed + 23);
  scene->shadow = g_malloc (width);
  scene->hill = g_new (gfloat, 2 * (gsize) width);
  return scene;
}

void
scene_free (Scene * scene)
{
  scene_texture_clear (&scene->slabs);
  scene_texture_clear (&scene->noise);
  g_free (scene->shadow);
  g_free (scene->hill);
  g_free (scene->layer.rgba);
  g_free (scene);
}

/* All of a picture of 16:9 is seen in any frame; others show more around it. */
static void
place_camera (Scene * scene, gdouble t)
{
  const gfloat scale = MIN (scene->width / 640.f, scene->height / 360.f);
  View *v = &scene->view;

  v->time = t;
  v->x = 0.42f * sin (0.27 * t + scene->phase[4]);
  v->height = EYE + 0.06f * sin (0.34 * t + scene->phase[5]);
  v->focal = FOCAL * scale * (1 + 0.025f * sin (0.19 * t));
  v->middle = 0.5f * scene->width;
  v->horizon = 0.5f * scene->height + scale * (-28 + 4 * sin (0.23 * t));
}

static void
draw_behind (Scene * scene, SceneFrame * frame)
{
  gint x, y;
  guint i;

  if (scene->flat) {
    for (y = 0; y < scene->height; y++) {
      guint8 *row = frame->pixels + (gsize) y * frame->stride;

      for (x = 0; x < scene->width; x++)
        memcpy (row + 4 * x, "\0\0\0\377", 4);
    }
    return;
  }
  scene->num_shadows = 0;
  for (i = 0; i < SCENE_NUM_THINGS; i++)
    things[i].cast (scene);
  scene_cast (scene, (Vec) {scene_pillar.x, 0, scene_pillar.z},
      (Vec) {scene_pillar.x, 2.9f, scene_pillar.z}, 0.28f, 0.18f, 0.78f);
  scene_cast (scene, (Vec) {scene_pillar.x, 0, scene_pillar.z},
      (Vec) {scene_pillar.x, 0.2f, scene_pillar.z}, 0.42f, 0.12f, 0.78f);
  scene_draw_sky (scene, frame);
  scene_draw_ground (scene, frame);
}

static void
count (const Scene * scene, SceneFrame * frame)
{
  const gsize size = (gsize) scene->width * scene->height;
  guint seen[SCENE_NUM_THINGS + 1] = { 0 };
  gsize i;

  for (i = 0; i < size; i++)
    seen[frame->labels[i]]++;
  for (i = 0; i < SCENE_NUM_THINGS; i++) {
    SceneThing *thing = &frame->thing[i];

    thing->name = things[i].name;
    thing->visibility = thing->area > 0 ?
        (gdouble) seen[i + 1] / thing->area : 0;
    thing->area = seen[i + 1];
  }
}

void
scene_draw (Scene * scene, gdouble seconds, SceneFrame * frame)
{
  gint order[SCENE_NUM_THINGS];
  gfloat z[SCENE_NUM_THINGS];
  gboolean pillar = FALSE;
  gint i, j;

  place_camera (scene, seconds);
  memset (frame->labels, 0, (gsize) scene->width * scene->height);
  draw_behind (scene, frame);
  for (i = 0; i < SCENE_NUM_THINGS; i++) {
    z[i] = things[i].z (scene);
    for (j = i; j > 0 && z[order[j - 1]] < z[i]; j--)
      order[j] = order[j - 1];
    order[j] = i;
  }
  for (i = 0; i < SCENE_NUM_THINGS; i++) {
    if (!pillar && z[order[i]] < scene_pillar.z) {
      scene_draw_pillar (scene, frame);
      pillar = TRUE;
    }
    things[order[i]].draw (scene);
    scene_layer_end (scene, frame, order[i] + 1);
  }
  if (!pillar)
    scene_draw_pillar (scene, frame);
  count (scene, frame);
}
