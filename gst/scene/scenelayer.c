/* SPDX-License-Identifier: MIT */
/* A thing is drawn on a layer of its own and then put into the frame, so that
 * its edges are smooth and the part of it that is hidden can be counted. */

#include <string.h>

#include "sceneparts.h"

/* Things larger than this are cut. No thing of the scene is. */
#define MAX_SIDE 16384.f

static const Colour flat[SCENE_NUM_THINGS + 1] = {
  {0, 0, 0}, {240, 0, 0}, {0, 240, 0}, {0, 0, 240}, {240, 240, 0},
};

gfloat
scene_project (const View * view, Vec at, gfloat * x, gfloat * y)
{
  const gfloat k = view->focal / MAX (at.z, 0.5f);

  *x = view->middle + (at.x - view->x) * k;
  *y = view->horizon + (view->height - at.y) * k;
  return k;
}

/* The sun from the left, and the sky. */
gfloat
scene_light (gfloat nx, gfloat ny, gfloat nz)
{
  const gfloat sun = -0.62f * nx + 0.60f * ny + 0.50f * nz;

  return 0.50f + 0.10f * ny + 0.62f * MAX (sun, 0);
}

void
scene_layer_begin (Layer * layer, gfloat x0, gfloat y0, gfloat x1, gfloat y1)
{
  gsize size;

  layer->x = floorf (x0) - 2;
  layer->y = floorf (y0) - 2;
  layer->width = CLAMP (x1 - x0, 0, MAX_SIDE) + 5;
  layer->height = CLAMP (y1 - y0, 0, MAX_SIDE) + 5;
  size = (gsize) layer->width * layer->height;
  if (size > layer->room) {
    layer->room = size;
    layer->rgba = g_renew (gfloat, layer->rgba, 4 * size);
  }
  memset (layer->rgba, 0, 4 * size * sizeof (gfloat));
}

/* @x, @y: px of the frame. */
void
scene_layer_put (Layer * layer, gint x, gint y, Colour colour, gfloat coverage)
{
  gfloat *p;

  x -= layer->x;
  y -= layer->y;
  if (x < 0 || y < 0 || x >= layer->width || y >= layer->height ||
      coverage <= 0)
    return;
  coverage = MIN (coverage, 1);
  p = layer->rgba + 4 * ((gsize) y * layer->width + x);
  p[0] = mix (p[0], colour.r, coverage);
  p[1] = mix (p[1], colour.g, coverage);
  p[2] = mix (p[2], colour.b, coverage);
  p[3] = mix (p[3], 1, coverage);
}

/* A round limb between two circles, lit as a cylinder. */
void
scene_layer_limb (Layer * layer, const Texture * cloth, gfloat x0, gfloat y0,
    gfloat r0, gfloat x1, gfloat y1, gfloat r1, Colour colour)
{
  const gfloat dx = x1 - x0, dy = y1 - y0;
  const gfloat length2 = MAX (dx * dx + dy * dy, 1e-6f);
  const gfloat grain = 160 / (r0 + r1 + 4);
  const gint left = floorf (MIN (x0 - r0, x1 - r1)) - 1;
  const gint right = ceilf (MAX (x0 + r0, x1 + r1)) + 1;
  const gint top = floorf (MIN (y0 - r0, y1 - r1)) - 1;
  const gint bottom = ceilf (MAX (y0 + r0, y1 + r1)) + 1;
  gint x, y;

  for (y = top; y <= bottom; y++) {
    for (x = left; x <= right; x++) {
      const gfloat px = x + 0.5f - x0, py = y + 0.5f - y0;
      const gfloat t = clamp01 ((px * dx + py * dy) / length2);
      const gfloat ex = px - t * dx, ey = py - t * dy;
      const gfloat r = MAX (mix (r0, r1, t), 0.1f);
      const gfloat d = sqrtf (ex * ex + ey * ey);
      const gfloat cover = clamp01 (r - d + 0.5f);
      gfloat nx, ny, tone;

      if (cover <= 0)
        continue;
      nx = CLAMP (ex / r, -1, 1);
      ny = CLAMP (-ey / r, -1, 1);
      tone = 0.86f + 0.28f * scene_texture_get (cloth, px * grain, py * grain,
          1);
      scene_layer_put (layer, x, y, dim (colour, tone * scene_light (nx, ny,
                  sqrtf (MAX (1 - nx * nx - ny * ny, 0)))), cover);
    }
  }
}

void
scene_layer_end (Scene * scene, SceneFrame * frame, guint label)
{
  const Layer *layer = &scene->layer;
  const Colour f = flat[label];
  guint whole = 0;
  gint x, y, i;

  for (y = 0; y < layer->height; y++) {
    const gint fy = y + layer->y;
    const gboolean row = fy >= 0 && fy < scene->height;

    for (x = 0; x < layer->width; x++) {
      const gfloat *p = layer->rgba + 4 * ((gsize) y * layer->width + x);
      const gfloat under = 1 - p[3];
      const gint fx = x + layer->x;
      guint8 *q;

      if (p[3] <= 0)
        continue;
      whole += p[3] >= 0.5f;
      if (!row || fx < 0 || fx >= scene->width)
        continue;
      q = frame->pixels + (gsize) fy * frame->stride + 4 * fx;
      if (p[3] >= 0.5f)
        frame->labels[(gsize) fy * scene->width + fx] = label;
      if (scene->flat) {
        q[0] = f.r * p[3] + q[0] * under;
        q[1] = f.g * p[3] + q[1] * under;
        q[2] = f.b * p[3] + q[2] * under;
      } else {
        for (i = 0; i < 3; i++)
          q[i] = CLAMP (p[i] + q[i] * under, 0, 255);
      }
    }
  }
  frame->thing[label - 1].area = whole;
}
