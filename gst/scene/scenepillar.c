/* SPDX-License-Identifier: MIT */
/* A stone pillar: things behind it are hidden. */

#include "sceneparts.h"

const Vec scene_pillar = { 0.55f, 0, 6.3f };

typedef struct
{
  gfloat radius, bottom, top;   /* m */
  gboolean fluted;
} Drum;

/* In the order of drawing: what hides others comes last. */
static const Drum drums[] = {
  {0.42f, 0.00f, 0.22f, FALSE},
  {0.35f, 0.22f, 0.34f, FALSE},
  {0.39f, 2.84f, 3.02f, FALSE},
  {0.33f, 2.72f, 2.84f, FALSE},
  {0.27f, 0.34f, 2.72f, TRUE},
};

static void
put (Scene * scene, SceneFrame * frame, gint x, gint y, Colour c, gfloat cover)
{
  guint8 *q;

  if (cover <= 0 || y < 0 || y >= scene->height)
    return;
  q = frame->pixels + (gsize) y * frame->stride + 4 * x;
  if (cover >= 0.5f)
    frame->labels[(gsize) y * scene->width + x] = 0;
  if (scene->flat)
    c = (Colour) { 0, 0, 0 };
  q[0] = mix (q[0], CLAMP (c.r, 0, 255), cover);
  q[1] = mix (q[1], CLAMP (c.g, 0, 255), cover);
  q[2] = mix (q[2], CLAMP (c.b, 0, 255), cover);
}

static gfloat
get_rim (const View * v, gfloat height, gfloat z)
{
  return v->horizon + v->focal * (v->height - height) / z;
}

static void
draw_column (Scene * scene, SceneFrame * frame, const Drum * drum, gint x,
    gfloat nx, gfloat side)
{
  const View *v = &scene->view;
  const gfloat nz = sqrtf (MAX (1 - nx * nx, 0)), angle = asinf (nx);
  const gfloat front = scene_pillar.z - drum->radius * nz;
  const gfloat k = v->focal / scene_pillar.z;
  const gfloat top = get_rim (v, drum->top, front);
  const gfloat bottom = get_rim (v, drum->bottom, front);
  const gfloat back = get_rim (v, drum->top,
      scene_pillar.z + drum->radius * nz);
  const gfloat under = get_rim (v, drum->bottom,
      scene_pillar.z + drum->radius * nz);
  const gfloat flute = drum->fluted ? 0.55f * sinf (angle * 17) *
      smooth (2, 6, 0.12f * drum->radius * k) : 0;
  const Colour stone = { 196, 184, 165 };
  const gfloat light = scene_light (sinf (angle + flute), 0,
      cosf (angle + flute));
  const gint from = MAX (floorf (MIN (top, back)), 0);
  const gint to = MIN (ceilf (MAX (bottom, under)), scene->height - 1);
  gint y;

  for (y = from; y <= to; y++) {
    const gfloat height = (bottom - y) / k;
    const gfloat grain = scene_texture_get (&scene->noise,
        angle * drum->radius * 420, (height + drum->bottom) * 420, 0);
    const gfloat wear = scene_texture_get (&scene->noise,
        angle * drum->radius * 90 + 300, (height + drum->bottom) * 60, 0);
    const gfloat tone = 0.78f + 0.26f * grain + 0.18f * wear;
    /* a dark seam where drums meet */
    const gfloat seam = 0.72f + 0.28f * smooth (0, 0.05f,
        MIN (height, (y - top) / k));
    const gfloat wall = clamp01 (MIN (y + 1 - top, bottom - y));
    const gfloat lid = clamp01 (MIN (y + 1 - back, top - y));
    const gfloat below = clamp01 (MIN (y + 1 - bottom, under - y));

    put (scene, frame, x, y, dim (stone, 0.52f * tone), side * below);
    put (scene, frame, x, y, dim (stone, 1.12f * tone), side * lid);
    put (scene, frame, x, y, dim (stone, light * tone * seam), side * wall);
  }
}

static void
draw_drum (Scene * scene, SceneFrame * frame, const Drum * drum)
{
  const View *v = &scene->view;
  const gfloat k = v->focal / scene_pillar.z;
  const gfloat middle = v->middle + (scene_pillar.x - v->x) * k;
  const gfloat radius = drum->radius * k;
  const gint from = MAX (floorf (middle - radius - 1), 0);
  const gint to = MIN (ceilf (middle + radius + 1), scene->width - 1);
  gint x;

  for (x = from; x <= to; x++) {
    const gfloat d = x + 0.5f - middle;

    draw_column (scene, frame, drum, x, CLAMP (d / radius, -1, 1),
        clamp01 (radius - fabsf (d) + 0.5f));
  }
}

void
scene_draw_pillar (Scene * scene, SceneFrame * frame)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (drums); i++)
    draw_drum (scene, frame, &drums[i]);
}
