/* SPDX-License-Identifier: MIT */
/* A paper plane that flies wide circles, banks in the turns, leaves the picture
 * on either side and comes back. */

#include "sceneparts.h"

#define SIZE 1.0f

typedef struct
{
  Vec at, forward, right, up;
} Pose;

typedef struct
{
  Vec corner[3];                /* in the plane's own directions */
  gfloat tone, stripe;
} Face;

static Vec
add (Vec a, Vec b, gfloat by)
{
  return (Vec) { a.x + by * b.x, a.y + by * b.y, a.z + by * b.z };
}

static Vec
cross (Vec a, Vec b)
{
  return (Vec) { a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z,
    a.x * b.y - a.y * b.x};
}

static Vec
unit (Vec a)
{
  const gfloat l = sqrtf (a.x * a.x + a.y * a.y + a.z * a.z);

  return add ((Vec) {0, 0, 0}, a, 1 / MAX (l, 1e-6f));
}

static Vec
fly (const Scene * scene, gdouble time)
{
  const gdouble t = time + scene->phase[3], w = 0.62 * t + 4.2;

  return (Vec) { 5.6f * sin (w), 2.70f + 0.10f * sin (1.7 * t) -
        0.10f * cos (w), 7.2f - 1.7f * cos (w) };
}

static Pose
get_pose (const Scene * scene)
{
  const gdouble t = scene->view.time, step = 0.05;
  const Vec a = fly (scene, t - step), b = fly (scene, t + step);
  Pose p = {.at = fly (scene, t) };
  const Vec speed = add (b, a, -1);
  const Vec turn = add (add (a, b, 1), p.at, -2);
  gfloat bank, s, c;
  Vec right;

  p.forward = unit (speed);
  right = unit (cross ((Vec) {0, 1, 0}, p.forward));
  bank = CLAMP (420 * (turn.x * right.x + turn.z * right.z), -0.95f, 0.95f) +
      0.12f * sin (2.3 * t);
  s = sinf (bank);
  c = cosf (bank);
  p.up = (Vec) {
  s * right.x, c, s * right.z};
  p.right = unit (cross (p.up, p.forward));
  p.up = cross (p.forward, p.right);
  return p;
}

gfloat
scene_plane_z (const Scene * scene)
{
  return fly (scene, scene->view.time).z;
}

void
scene_plane_cast (Scene * scene)
{
  const Pose p = get_pose (scene);

  scene_cast (scene, add (p.at, p.forward, -0.4f), add (p.at, p.forward, 0.3f),
      0.06f, 0.40f, 0.42f);
}

static gfloat
get_edge (const gfloat a[3], const gfloat b[3], gfloat x, gfloat y)
{
  const gfloat dx = b[0] - a[0], dy = b[1] - a[1];

  return (dx * (y - a[1]) - dy * (x - a[0])) /
      MAX (sqrtf (dx * dx + dy * dy), 1e-3f);
}

static void
draw_face (Scene * scene, const Pose * p, const Face * face)
{
  static const guint32 inks[][2] = {
    {0x94ad9a, 0xf0ead8}, {0xc98f8a, 0xefe4d8}, {0xd0a262, 0xeee3cc},
    {0xa58fb0, 0xece2e4},
  };
  const guint32 *ink = inks[scene->look[3] % G_N_ELEMENTS (inks)];
  Layer *layer = &scene->layer;
  gfloat q[3][3], area, bright;
  Vec at[3], normal;
  Colour paper, stripe;
  gint i, x, y;

  for (i = 0; i < 3; i++) {
    const Vec c = face->corner[i];

    at[i] = add (add (add (p->at, p->forward, SIZE * c.x), p->up,
            SIZE * c.y), p->right, SIZE * c.z);
    scene_project (&scene->view, at[i], &q[i][0], &q[i][1]);
  }
  normal = unit (cross (add (at[1], at[0], -1), add (at[2], at[0], -1)));
  if (normal.z > 0)
    normal = (Vec) { -normal.x, -normal.y, -normal.z };
  bright = scene_light (normal.x, normal.y, -normal.z) * face->tone;
  paper = dim (rgb (ink[0]), 0.34f + 0.66f * bright);
  stripe = dim (rgb (ink[1]), 0.34f + 0.66f * bright);
  area = (q[1][0] - q[0][0]) * (q[2][1] - q[0][1]) -
      (q[1][1] - q[0][1]) * (q[2][0] - q[0][0]);
  if (fabsf (area) < 1e-3f)
    return;
  for (y = layer->y; y < layer->y + layer->height; y++) {
    for (x = layer->x; x < layer->x + layer->width; x++) {
      const gfloat px = x + 0.5f, py = y + 0.5f, sign = area < 0 ? -1 : 1;
      const gfloat d0 = sign * get_edge (q[0], q[1], px, py);
      const gfloat d1 = sign * get_edge (q[1], q[2], px, py);
      const gfloat d2 = sign * get_edge (q[2], q[0], px, py);
      const gfloat d = MIN (MIN (d0, d1), d2);
      gfloat w;

      if (d < -0.75f)
        continue;
      /* a stripe along the outer edge */
      w = d2 / MAX (d0 + d2, 1);
      scene_layer_put (layer, x, y, mix_colour (paper, stripe,
              face->stripe * smooth (0.30f, 0.26f, w) * smooth (0.10f, 0.14f,
                  w)), clamp01 (d + 0.75f));
    }
  }
}

void
scene_plane_draw (Scene * scene)
{
  const Pose p = get_pose (scene);
  const gfloat flex = 0.05f * sin (7.3 * scene->view.time);
  const Vec nose = { 0.72f, 0, 0 }, tail = { -0.55f, 0, 0 };
  const Face faces[] = {
    {{nose, {-0.55f, -0.24f, 0}, tail}, 0.72f, 0},
    {{nose, {-0.55f, 0.02f, -0.03f}, {-0.62f, 0.12f + flex, -0.56f}}, 1, 1},
    {{nose, {-0.55f, 0.02f, 0.03f}, {-0.62f, 0.12f - flex, 0.56f}}, 1, 1},
  };
  gint order[3] = { 1, 0, 2 };
  gfloat x, y, k;
  guint i;

  k = scene_project (&scene->view, p.at, &x, &y) * SIZE;
  scene_layer_begin (&scene->layer, x - 0.95f * k, y - 0.95f * k,
      x + 0.95f * k, y + 0.95f * k);
  /* The far wing first; seen from above the keel is below both. */
  if (p.right.z > 0) {
    order[0] = 2;
    order[2] = 1;
  }
  for (i = 0; i < 3; i++)
    draw_face (scene, &p, &faces[order[i]]);
}
