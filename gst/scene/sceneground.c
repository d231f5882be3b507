/* SPDX-License-Identifier: MIT */
/* What stands still: sky, hills, and the ground with the shadows on it. */

#include <string.h>

#include "sceneparts.h"

#define TEXELS_PER_METRE 128.f
#define NEAREST 0.5f            /* m */
#define FARTHEST 120.f
/* Where the shadow of a point falls, per metre of its height. */
#define CAST_X 0.62f
#define CAST_Z 0.42f

static const Colour zenith = { 118, 155, 186 };
static const Colour haze = { 226, 219, 203 };
static const Colour cloud = { 240, 235, 226 };

static inline void
put (guint8 * p, Colour c)
{
  p[0] = CLAMP (c.r, 0, 255);
  p[1] = CLAMP (c.g, 0, 255);
  p[2] = CLAMP (c.b, 0, 255);
  p[3] = 255;
}

void
scene_cast (Scene * scene, Vec from, Vec to, gfloat radius, gfloat soft,
    gfloat strength)
{
  if (scene->num_shadows < SCENE_MAX_SHADOWS)
    scene->shadows[scene->num_shadows++] = (Shadow) {
    from.x + CAST_X * from.y, from.z + CAST_Z * from.y,
          to.x + CAST_X * to.y, to.z + CAST_Z * to.y, radius, soft, strength};
}

/* Tops of the hills. They are far: the camera's way moves them little. */
static void
place_hills (Scene * scene)
{
  const View *v = &scene->view;
  const gdouble *phase = scene->phase;
  gint x;

  for (x = 0; x < scene->width; x++) {
    const gfloat angle = (x + 0.5f - v->middle) / v->focal;
    const gfloat far = angle + 0.012f * v->x, near = angle + 0.035f * v->x;
    const gfloat a = sinf (3.1f * far + (gfloat) phase[6]) +
        0.5f * sinf (7.3f * far + 2) + 0.22f * sinf (17 * far + 4);
    const gfloat b = sinf (2.3f * near + (gfloat) phase[7]) +
        0.4f * sinf (9.1f * near + 1) + 0.10f * sinf (41 * near) +
        0.05f * sinf (97 * near + 2);

    scene->hill[x] = v->horizon - v->focal * (0.085f + 0.028f * a);
    scene->hill[scene->width + x] =
        v->horizon - v->focal * (0.030f + 0.018f * b);
  }
}

static void
draw_sky_row (Scene * scene, gint y, guint8 * row)
{
  const View *v = &scene->view;
  const gfloat up = (v->horizon - y) / v->focal;
  const Colour air = mix_colour (haze, zenith, smooth (-0.05f, 0.5f, up));
  const gfloat far = 26 / (up + 0.10f);
  const Colour blue = { 157, 167, 168 }, green = { 133, 140, 116 };
  gint x;

  for (x = 0; x < scene->width; x++) {
    const gfloat side = (x + 0.5f - v->middle) / v->focal;
    const gfloat puff = scene_texture_get (&scene->noise,
        side * far * 1.6f + (gfloat) v->time * 3, far * 2.6f, 1);
    const gfloat a = clamp01 (y + 1 - scene->hill[x]);
    const gfloat b = clamp01 (y + 1 - scene->hill[scene->width + x]);
    Colour c = mix_colour (air, cloud,
        0.75f * smooth (0.46f, 0.72f, puff) * smooth (0.02f, 0.2f, up));

    if (a > 0)
      c = mix_colour (c, mix_colour (haze, blue,
              0.45f + 0.55f * smooth (0.02f, 0.12f, up)), a);
    if (b > 0) {
      const gfloat wood = scene_texture_get (&scene->noise, side * 1800, up *
          5200, 0);

      c = mix_colour (c, mix_colour (haze, dim (green, 0.82f + 0.36f * wood),
              0.35f + 0.65f * smooth (0.0f, 0.05f, up)), b);
    }
    put (row + 4 * x, c);
  }
}

void
scene_draw_sky (Scene * scene, SceneFrame * frame)
{
  const gint end = CLAMP (ceilf (scene->view.horizon) + 1, 0, scene->height);
  gint y;

  place_hills (scene);
  for (y = 0; y < end; y++)
    draw_sky_row (scene, y, frame->pixels + (gsize) y * frame->stride);
}

/* The distance of the ground in the middle of a row of pixels. */
static gfloat
get_row_z (const View * v, gint y)
{
  const gfloat below = y + 0.5f - v->horizon;

  return below > 0 ? CLAMP (v->focal * v->height / below, NEAREST, FARTHEST) :
      FARTHEST;
}

static void
draw_shadow_row (const Scene * scene, const Shadow * s, gfloat z, guint8 * row)
{
  const View *v = &scene->view;
  const gfloat k = v->focal / z, reach = s->radius + s->soft;
  const gfloat dx = s->x1 - s->x0, dz = s->z1 - s->z0;
  const gfloat length2 = dx * dx + dz * dz;
  const gint from = CLAMP (v->middle + (MIN (s->x0, s->x1) - reach - v->x) * k,
      0, scene->width);
  const gint to = CLAMP (v->middle + (MAX (s->x0, s->x1) + reach - v->x) * k +
      1, 0, scene->width);
  gint x;

  for (x = from; x < to; x++) {
    const gfloat px = v->x + (x + 0.5f - v->middle) / k - s->x0;
    const gfloat pz = z - s->z0;
    const gfloat t = length2 > 0 ? clamp01 ((px * dx + pz * dz) / length2) : 0;
    const gfloat ex = px - t * dx, ez = pz - t * dz;
    /* The farther from what casts it, the softer. */
    const gfloat soft = s->soft * (0.55f + 0.45f * t);
    const gfloat d = sqrtf (ex * ex + ez * ez) - s->radius;
    const gint dark = 255 * s->strength * smooth (soft, -soft, d);

    if (dark > row[x])
      row[x] = dark;
  }
}

static void
draw_shadows (Scene * scene, gint y, gfloat z, guint8 * row)
{
  guint i;

  memset (row, 0, scene->width);
  for (i = 0; i < scene->num_shadows; i++) {
    const Shadow *s = &scene->shadows[i];
    const gfloat reach = s->radius + s->soft;

    if (z > MIN (s->z0, s->z1) - reach && z < MAX (s->z0, s->z1) + reach)
      draw_shadow_row (scene, s, z, row);
  }
}

static void
draw_ground_row (Scene * scene, gint y, guint8 * row)
{
  const View *v = &scene->view;
  const gfloat z = get_row_z (v, y);
  const gfloat step = z / v->focal;
  const gfloat foot = TEXELS_PER_METRE * MAX (step,
      0.5f * z * z / (v->focal * v->height));
  const gfloat lod = CLAMP (log2f (MAX (foot, 1)), 0, SCENE_TEXTURE_BITS);
  const gint fine = (gint) lod;
  const gfloat air = 1 - expf (-MAX (z - 4, 0) / 34);
  const Colour light = { 230, 213, 186 }, shade = { 112, 116, 128 };
  const gfloat cover = clamp01 (y + 1 - v->horizon);
  gint x;

  draw_shadows (scene, y, z, scene->shadow);
  for (x = 0; x < scene->width; x++) {
    const gfloat u = TEXELS_PER_METRE *
        (v->x + (x + 0.5f - v->middle) * step);
    const gfloat t = mix (scene_texture_get (&scene->slabs, u,
            z * TEXELS_PER_METRE, fine), scene_texture_get (&scene->slabs, u,
            z * TEXELS_PER_METRE, fine + 1), lod - fine);
    const gfloat stain = scene_texture_get (&scene->noise, u * 0.35f,
        z * 0.35f * TEXELS_PER_METRE, MAX (fine - 1, 0));
    const gfloat side = 1.05f - 0.10f * x / scene->width;
    const Colour lit = mix_colour (light, shade, scene->shadow[x] / 255.f);
    const Colour c = mix_colour (dim (lit, side * t * (0.92f + 0.26f * stain)),
        haze, air);
    guint8 *p = row + 4 * x;

    put (p, cover < 1 ? mix_colour ((Colour) {p[0], p[1], p[2]}, c, cover) :
        c);
  }
}

void
scene_draw_ground (Scene * scene, SceneFrame * frame)
{
  gint y = CLAMP (floorf (scene->view.horizon), 0, scene->height);

  for (; y < scene->height; y++)
    draw_ground_row (scene, y, frame->pixels + (gsize) y * frame->stride);
}
