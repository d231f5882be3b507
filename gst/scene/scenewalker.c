/* SPDX-License-Identifier: MIT */
/* A figure that walks to and fro behind the pillar. Its feet do not slide: the
 * angles of its legs follow from the way it went. */

#include "sceneparts.h"

#define REACH 2.2f              /* m to either side of the middle */
#define CENTRE 1.0f
#define SPEED 0.42
#define Z 7.5f
#define THIGH 0.43f
#define SHIN 0.45f
#define STRIDE 0.46f            /* swing of a leg, radians */

typedef struct
{
  gfloat x, y;
} Joint;

typedef struct
{
  Vec at;                       /* the hips */
  gfloat facing;                /* 1: right, -1: left, 0: towards us */
  gfloat step, stretch;         /* phase of the walk; how far legs swing */
} Pose;

/* A bone's end, from the hips, y up; angles from straight down, forwards. */
static Joint
hang (Joint from, gfloat angle, gfloat length)
{
  return (Joint) { from.x + length * sinf (angle),
    from.y - length * cosf (angle)};
}

static void
bend_leg (const Pose * pose, gfloat step, Joint * knee, Joint * foot)
{
  const gfloat thigh = pose->stretch * STRIDE * sinf (step) + 0.06f;
  const gfloat bent = pose->stretch * (0.10f + 0.85f * MAX (cosf (step), 0));

  *knee = hang ((Joint) {0, 0}, thigh, THIGH);
  *foot = hang (*knee, thigh - bent, SHIN);
}

static Pose
get_pose (const Scene * scene)
{
  const gdouble t = SPEED * (scene->view.time + scene->phase[1]) + 0.61;
  const gdouble turns = floor (t / G_PI + 0.5);
  const gdouble way = REACH * (2 * turns +
      sin (t) * (fmod (turns, 2) == 0 ? 1 : -1));
  const gfloat speed = cos (t);
  Pose pose;
  Joint knee, left, right;

  pose.at.x = CENTRE + REACH * sin (t);
  pose.at.z = Z;
  pose.facing = CLAMP (tanhf (6 * speed), -1, 1);
  pose.stretch = smooth (0, 0.45f, fabsf (speed));
  pose.step = fmod (way * G_PI / (2 * sinf (STRIDE) * (THIGH + SHIN)),
      2 * G_PI);
  bend_leg (&pose, pose.step, &knee, &left);
  bend_leg (&pose, pose.step + G_PI, &knee, &right);
  pose.at.y = 0.05f - MIN (left.y, right.y);
  return pose;
}

gfloat
scene_walker_z (const Scene * scene)
{
  return Z;
}

void
scene_walker_cast (Scene * scene)
{
  const Pose p = get_pose (scene);
  const Vec hips = { p.at.x, p.at.y, p.at.z };
  const Vec neck = { p.at.x, p.at.y + 0.5f, p.at.z };
  const Vec head = { p.at.x, p.at.y + 0.75f, p.at.z };
  guint i;

  for (i = 0; i < 2; i++) {
    Joint knee, foot;

    bend_leg (&p, p.step + i * G_PI, &knee, &foot);
    scene_cast (scene, (Vec) {p.at.x + p.facing * foot.x, p.at.y + foot.y,
            p.at.z}, hips, 0.07f, 0.10f, 0.72f);
  }
  scene_cast (scene, hips, neck, 0.18f, 0.14f, 0.70f);
  scene_cast (scene, head, head, 0.10f, 0.14f, 0.62f);
}

typedef struct
{
  Scene *scene;
  Pose pose;
  gfloat x, y, k;               /* the hips in the frame, px per metre */
} Figure;

static void
draw_bone (const Figure * f, Joint a, gfloat ra, Joint b, gfloat rb,
    Colour colour)
{
  const gfloat side = f->pose.facing * f->k;

  scene_layer_limb (&f->scene->layer, &f->scene->noise, f->x + side * a.x,
      f->y - f->k * a.y, ra * f->k, f->x + side * b.x, f->y - f->k * b.y,
      rb * f->k, colour);
}

static void
draw_leg (const Figure * f, gfloat step, gfloat shift, Colour cloth)
{
  Joint hip = { shift, 0 }, knee, foot, toe;

  bend_leg (&f->pose, step, &knee, &foot);
  toe = (Joint) {
  foot.x + 0.16f, foot.y + 0.02f + 0.10f * f->pose.stretch *
        MAX (sinf (step) * cosf (step), 0) - 0.02f};
  draw_bone (f, (Joint) {foot.x - 0.03f, foot.y}, 0.055f, toe, 0.045f,
      rgb (0x4a3c34));
  draw_bone (f, knee, 0.080f, foot, 0.055f, cloth);
  draw_bone (f, hip, 0.115f, knee, 0.083f, cloth);
}

static void
draw_arm (const Figure * f, gfloat step, Colour cloth, Colour skin)
{
  const gfloat swing = -0.55f * f->pose.stretch * sinf (step) + 0.05f;
  const Joint shoulder = { 0.02f, 0.47f };
  const Joint elbow = hang (shoulder, swing, 0.28f);
  const Joint hand = hang (elbow, swing + 0.25f + 0.3f * f->pose.stretch,
      0.25f);

  draw_bone (f, hand, 0.05f, hand, 0.05f, skin);
  draw_bone (f, elbow, 0.062f, hand, 0.048f, cloth);
  draw_bone (f, shoulder, 0.082f, elbow, 0.062f, cloth);
}

static void
draw_head (const Figure * f, Colour skin, Colour hat)
{
  const Joint neck = { 0.03f, 0.52f }, chin = { 0.05f, 0.66f };
  const Joint skull = { 0.05f, 0.735f };
  const gfloat lean = f->pose.facing >= 0 ? 1 : -1;

  draw_bone (f, neck, 0.06f, chin, 0.065f, dim (skin, 0.88f));
  draw_bone (f, chin, 0.085f, skull, 0.115f, skin);
  draw_bone (f, (Joint) {0.165f, 0.70f}, 0.022f, (Joint) {0.15f, 0.73f},
      0.02f, skin);
  draw_bone (f, (Joint) {-0.03f, 0.70f}, 0.07f, (Joint) {-0.02f, 0.77f},
      0.08f, rgb (0x4b3a30));
  draw_bone (f, (Joint) {-0.09f, 0.805f}, 0.025f, (Joint) {0.20f, 0.80f},
      0.020f * lean * lean, dim (hat, 0.85f));
  draw_bone (f, (Joint) {0.0f, 0.83f}, 0.085f, (Joint) {0.09f, 0.83f}, 0.08f,
      hat);
}

void
scene_walker_draw (Scene * scene)
{
  static const guint32 clothes[][3] = {
    {0x5d6b57, 0x56606e, 0x8a5f47}, {0x6a5d78, 0x5b5348, 0x57706a},
    {0x8b6a4f, 0x4e5a66, 0x6f6a52}, {0x4f6a78, 0x6b5c50, 0x84604f},
  };
  const guint32 *wear = clothes[scene->look[1] % G_N_ELEMENTS (clothes)];
  const Colour coat = rgb (wear[0]), legs = rgb (wear[1]), bag = rgb (wear[2]);
  const Colour skin = rgb (0xcfa488);
  Figure f = { scene, get_pose (scene), 0, 0, 0 };
  const gfloat sway = 0.02f * sinf (2 * f.pose.step);

  f.k = scene_project (&scene->view, f.pose.at, &f.x, &f.y);
  scene_layer_begin (&scene->layer, f.x - 0.8f * f.k, f.y - 1.05f * f.k,
      f.x + 0.8f * f.k, f.y + 1.05f * f.k);
  draw_arm (&f, f.pose.step + G_PI, dim (coat, 0.72f), dim (skin, 0.8f));
  draw_leg (&f, f.pose.step + G_PI, -0.01f, dim (legs, 0.74f));
  draw_leg (&f, f.pose.step, 0.01f, legs);
  draw_bone (&f, (Joint) {-0.20f, 0.12f}, 0.12f, (Joint) {-0.19f + sway,
          0.40f}, 0.12f, bag);
  draw_bone (&f, (Joint) {0, -0.10f}, 0.165f, (Joint) {0.0f, 0.10f}, 0.15f,
      coat);
  draw_bone (&f, (Joint) {0, 0.06f}, 0.15f, (Joint) {0.02f, 0.42f}, 0.155f,
      coat);
  draw_head (&f, skin, dim (bag, 1.08f));
  draw_arm (&f, f.pose.step, dim (coat, 1.06f), skin);
}
