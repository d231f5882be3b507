/* SPDX-License-Identifier: MIT */
/* A fish that swims through the air. A wave runs through its body. */

#include "sceneparts.h"

#define HALF 0.98f              /* m from the middle to nose and tail */
#define Z 6.9f

typedef struct
{
  Vec at;
  gfloat facing, beat, tilt;
} Pose;

static Pose
get_pose (const Scene * scene)
{
  const gdouble t = scene->view.time + scene->phase[2];
  const gdouble w = 0.45 * t - 1.0;

  return (Pose) {
    {
    0.35f + 2.7f * sin (w), 2.26f + 0.12f * sin (0.83 * t + 1), Z},
    tanhf (3.2f * cosf (w)), fmod (5.2 * t, 2 * G_PI),
        0.12f * cos (0.83 * t + 1)};
}

gfloat
scene_fish_z (const Scene * scene)
{
  return Z;
}

void
scene_fish_cast (Scene * scene)
{
  const Pose p = get_pose (scene);
  const gfloat reach = 0.62f * fabsf (p.facing);

  scene_cast (scene, (Vec) {p.at.x - reach, p.at.y, p.at.z},
      (Vec) {p.at.x + reach, p.at.y, p.at.z}, 0.14f, 0.42f, 0.52f);
}

/* Height of the middle line; @u: -1 at the tail's tip, 1 at the nose. */
static gfloat
get_spine (gfloat u, gfloat beat)
{
  const gfloat tail = 0.5f * (1 - u);

  return 0.17f * tail * tail * sinf (2.6f * u + beat) +
      0.02f * sinf (1.4f * u + beat);
}

/* Half the height of the body, and how far fins stand out above and below. */
static gfloat
get_body (gfloat u)
{
  const gfloat s = (1 - u) / 1.66f;

  if (s < 0 || s > 1)
    return -1;
  return 0.66f * sqrtf (s) * powf (1 - s, 0.85f) + 0.035f * smooth (0, 0.2f,
      s);
}

static gfloat
get_fin (gfloat u, gfloat v)
{
  if (v > 0)
    return 0.17f * smooth (0.48f, 0.10f, u) * smooth (-0.50f, -0.22f, u);
  return 0.10f * smooth (-0.02f, -0.22f, u) * smooth (-0.50f, -0.40f, u);
}

/* Signed distances in m, negative inside. */
static gfloat
get_tail (gfloat u, gfloat v)
{
  const gfloat s = (-0.56f - u) / 0.44f;
  const gfloat a = fabsf (v);

  if (s < 0)
    return 1;
  return MAX (a - (0.04f + 0.33f * powf (s, 1.2f)),
      0.8f * (s - 0.52f - 1.5f * a) * 0.44f);
}

static Colour
paint_body (const Scene * scene, gfloat u, gfloat n)
{
  static const guint32 paint[][3] = {
    {0xa9603f, 0xe6d5b4, 0x643a30}, {0x7a6a4c, 0xdccfae, 0x54472f},
    {0x4f7077, 0xd8cdb4, 0x35505a}, {0x5b7358, 0xd6d0b0, 0x3c5140},
  };
  const guint32 *p = paint[scene->look[2] % G_N_ELEMENTS (paint)];
  const gfloat row = u * 26 + floorf (n * 7) * 0.5f;
  const gfloat sx = row - floorf (row) - 0.5f;
  const gfloat sy = n * 7 - floorf (n * 7) - 0.5f;
  const gfloat scale = smooth (0.30f, 0.56f, sqrtf (sx * sx + sy * sy));
  const gfloat bar = smooth (0.25f, 0.75f, sinf (u * 13 + 0.8f +
          1.1f * n)) * smooth (-0.45f, 0.2f, n) * smooth (0.62f, 0.45f, u);
  Colour c = mix_colour (rgb (p[1]), rgb (p[0]), smooth (-0.62f, 0.15f, n));

  c = mix_colour (c, rgb (p[2]), 0.72f * bar);
  return dim (c, 1 - 0.14f * scale * smooth (0.66f, 0.5f, u));
}

static Colour
paint_fin (const Scene * scene, gfloat u, gfloat v)
{
  const Colour c = paint_body (scene, -0.2f, 0.5f);
  const gfloat ray = 0.5f + 0.5f * sinf (78 * v + 30 * u);

  return dim (mix_colour (c, rgb (0xb98a62), 0.40f), 0.86f + 0.22f * ray);
}

static void
draw_pixel (Scene * scene, const Pose * pose, gint x, gint y, gfloat u,
    gfloat v, gfloat px)
{
  const gfloat w = get_body (u);
  const gfloat body = w < 0 ? 1 : (fabsf (v) - w) * 0.9f;
  const gfloat fin = w < 0 ? 1 : (fabsf (v) - w - get_fin (u, v)) * 0.8f;
  const gfloat out = MIN (fin, get_tail (u, v));
  const gfloat n = w > 0 ? CLAMP (v / w, -1, 1) : 0;
  Layer *layer = &scene->layer;

  if (out * px < 0.5f)
    scene_layer_put (layer, x, y, dim (paint_fin (scene, u, v),
            scene_light (0, 0.35f, 0.8f)), clamp01 (0.5f - out * px));
  if (body * px < 0.5f) {
    const gfloat gill = smooth (0.022f, 0.008f,
        fabsf (u - 0.55f + 0.10f * n * n)) * smooth (0.75f, 0.5f, fabsf (n));
    const gfloat shine = 0.16f * smooth (0.30f, 0.0f, fabsf (n - 0.55f));
    const gfloat side = pose->facing * 0.45f * smooth (0.3f, 1, u);

    scene_layer_put (layer, x, y, dim (paint_body (scene, u, n),
            (scene_light (side, n * 0.9f, sqrtf (1 - 0.8f * n * n)) + shine) *
            (1 - 0.25f * gill)), clamp01 (0.5f - body * px));
  }
}

/* Eye, mouth, and the fin at its side. */
static void
draw_details (Scene * scene, const Pose * p, gfloat cx, gfloat cy, gfloat k)
{
  const gfloat f = p->facing * k * HALF, s = k * HALF;
  const gfloat ex = cx + 0.77f * f;
  const gfloat ey = cy - s * (0.06f + get_spine (0.77f, p->beat) +
      0.77f * p->tilt);
  const gfloat fx = cx + 0.36f * f;
  const gfloat fy = cy - s * (-0.10f + get_spine (0.36f, p->beat) +
      0.36f * p->tilt);
  const gfloat flap = 0.10f * sinf (p->beat * 2);
  const Colour fin = paint_fin (scene, 0.3f, 0);

  scene_layer_limb (&scene->layer, &scene->noise, fx, fy, 0.045f * s,
      fx - 0.22f * f, fy + (0.13f + flap) * s, 0.075f * s, fin);
  if (fabsf (p->facing) < 0.4f)
    return;
  scene_layer_limb (&scene->layer, &scene->noise, ex, ey, 0.058f * s, ex, ey,
      0.058f * s, rgb (0xe6dcc0));
  scene_layer_limb (&scene->layer, &scene->noise, ex + 0.008f * f, ey,
      0.034f * s, ex + 0.008f * f, ey, 0.034f * s, rgb (0x20242a));
}

void
scene_fish_draw (Scene * scene)
{
  const Pose p = get_pose (scene);
  Layer *layer = &scene->layer;
  gfloat cx, cy, k, width, narrow;
  gint x, y;

  k = scene_project (&scene->view, p.at, &cx, &cy);
  /* It never is thinner than its body is thick. */
  narrow = MAX (fabsf (p.facing), 0.24f);
  width = HALF * k * narrow;
  scene_layer_begin (layer, cx - width, cy - 0.8f * k, cx + width,
      cy + 0.8f * k);
  for (y = layer->y; y < layer->y + layer->height; y++) {
    for (x = layer->x; x < layer->x + layer->width; x++) {
      const gfloat u = (x + 0.5f - cx) / width * (p.facing < 0 ? -1 : 1);
      const gfloat v = (cy - y - 0.5f) / (HALF * k) - u * p.tilt;

      if (u > -1.02f && u < 1.02f)
        draw_pixel (scene, &p, x, y, u, v - get_spine (u, p.beat),
            HALF * k * (0.4f + 0.6f * narrow));
    }
  }
  draw_details (scene, &p, cx, cy, k);
}
