/* SPDX-License-Identifier: MIT */
/* A striped ball that rolls to and fro and hops now and then. */

#include "sceneparts.h"

#define RADIUS 0.46f
#define Z 5.1f
#define FALL 5.5f               /* m / s^2: slower than on earth */

static const gfloat hops[] = { 0.95f, 0.42f, 0.14f };

/* Height of the lowest point; *squash: 0 to 1 just after it landed. */
static gfloat
get_hop (gdouble time, gfloat * squash)
{
  gfloat t = fmod (time, 6.0) - 1.2f;
  guint i;

  *squash = 0;
  if (t < 0)
    return 0;
  for (i = 0; i < G_N_ELEMENTS (hops); i++) {
    const gfloat half = sqrtf (2 * hops[i] / FALL);

    if (t < 2 * half) {
      *squash = (i > 0 ? hops[i - 1] : 0) * smooth (0.16f, 0, t) +
          hops[i] * smooth (2 * half - 0.05f, 2 * half, t);
      return hops[i] - 0.5f * FALL * (t - half) * (t - half);
    }
    t -= 2 * half;
  }
  *squash = hops[G_N_ELEMENTS (hops) - 1] * smooth (0.16f, 0, t);
  return 0;
}

static Vec
get_place (const Scene * scene, gfloat * squash)
{
  const gdouble t = scene->view.time + scene->phase[0];

  return (Vec) { -1.4f + 1.15f * sin (0.42 * t + 1.35),
    RADIUS + get_hop (t, squash), Z + 0.25f * sin (0.31 * t)};
}

gfloat
scene_ball_z (const Scene * scene)
{
  gfloat squash;

  return get_place (scene, &squash).z;
}

void
scene_ball_cast (Scene * scene)
{
  gfloat squash;
  const Vec at = get_place (scene, &squash);
  const Vec foot = { at.x, 0, at.z };
  const gfloat up = at.y - RADIUS;

  scene_cast (scene, at, at, RADIUS * 0.92f, 0.14f + 0.16f * up, 0.80f -
      0.2f * MIN (up, 1));
  scene_cast (scene, foot, foot, 0.10f, 0.20f, 0.75f * smooth (0.5f, 0, up));
}

static Colour
get_paint (const Scene * scene, gfloat lat, gfloat pixel)
{
  static const guint32 paint[][2] = {
    {0x3f5a78, 0xb5654a}, {0x5a4a70, 0xa8874e}, {0x3c6660, 0xa65d62},
    {0x7a4b45, 0x4f6f8c},
  };
  const guint32 *p = paint[scene->look[0] % G_N_ELEMENTS (paint)];
  const gfloat a = fabsf (lat);
  Colour c = rgb (p[0]);

  c = mix_colour (c, rgb (0xeee6d6), smooth (0.20f - pixel, 0.20f + pixel, a));
  c = mix_colour (c, rgb (p[1]), smooth (0.46f - pixel, 0.46f + pixel, a));
  c = mix_colour (c, rgb (0xeee6d6), smooth (0.72f - pixel, 0.72f + pixel, a));
  return mix_colour (c, rgb (p[0]), smooth (0.90f - pixel, 0.90f + pixel, a));
}

static void
draw_row (Scene * scene, gint y, gfloat cx, gfloat cy, gfloat rx, gfloat ry,
    gfloat roll)
{
  Layer *layer = &scene->layer;
  const gfloat s = sinf (roll), c = cosf (roll);
  gint x;

  for (x = layer->x; x < layer->x + layer->width; x++) {
    const gfloat nx = (x + 0.5f - cx) / rx, ny = (cy - y - 0.5f) / ry;
    const gfloat r = sqrtf (nx * nx + ny * ny);
    const gfloat cover = clamp01 ((1 - r) * MIN (rx, ry) + 0.5f);
    gfloat nz, lat, dust, light, shine;

    if (cover <= 0)
      continue;
    nz = sqrtf (MAX (1 - r * r, 0));
    /* The poles do not lie in the picture's plane. */
    lat = 0.86f * (-s * nx + c * ny) + 0.51f * nz;
    dust = scene_texture_get (&scene->noise, 130 * (c * nx + s * ny) + 400,
        130 * lat, 0);
    /* light from the ground, too */
    light = scene_light (nx, ny, nz) - 0.16f * smooth (0.2f, 1, -ny);
    shine = -0.47f * nx + 0.46f * ny + 0.75f * nz;
    shine = 52 * smooth (0.955f, 1, shine);
    {
      Colour paint = dim (get_paint (scene, lat, 1.2f / rx),
          light * (0.90f + 0.2f * dust));

      paint.r += shine;
      paint.g += shine;
      paint.b += shine;
      scene_layer_put (layer, x, y, paint, cover);
    }
  }
}

void
scene_ball_draw (Scene * scene)
{
  gfloat squash, x, y, k, rx, ry;
  const Vec at = get_place (scene, &squash);
  gint row;

  k = scene_project (&scene->view, at, &x, &y);
  rx = RADIUS * k * (1 + 0.16f * squash);
  ry = RADIUS * k * (1 - 0.20f * squash);
  y += RADIUS * k - ry;
  scene_layer_begin (&scene->layer, x - rx, y - ry, x + rx, y + ry);
  for (row = 0; row < scene->layer.height; row++)
    draw_row (scene, row + scene->layer.y, x, y, rx, ry, -at.x / RADIUS);
}
