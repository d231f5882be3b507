/* SPDX-License-Identifier: MIT */
/* What the files that draw the scene share. */
#ifndef __GST_SAM_SCENE_PARTS_H__
#define __GST_SAM_SCENE_PARTS_H__

#include <math.h>

#include "scene.h"

G_BEGIN_DECLS

#define SCENE_TEXTURE_BITS 10
#define SCENE_TEXTURE_SIZE (1 << SCENE_TEXTURE_BITS)
#define SCENE_MAX_SHADOWS 24

typedef struct
{
  gfloat x, y, z;
} Vec;

typedef struct
{
  gfloat r, g, b;               /* 0 to 255 */
} Colour;

/* A tile of light and dark, repeated without seams, and its smaller copies. */
typedef struct
{
  guint8 *level[SCENE_TEXTURE_BITS + 1];
} Texture;

/* The camera at one time. */
typedef struct
{
  gdouble time;
  gfloat x, height;             /* m */
  gfloat focal, horizon, middle;        /* px */
} View;

/* A soft shadow on the ground: everything within @radius of a segment. */
typedef struct
{
  gfloat x0, z0, x1, z1, radius, soft, strength;
} Shadow;

/* The picture of one thing, premultiplied RGBA. It may lie partly outside of
 * the frame, as the hidden part counts. */
typedef struct
{
  gint x, y, width, height;
  gfloat *rgba;
  gsize room;
} Layer;

struct _Scene
{
  gint width, height;
  gboolean flat;
  gdouble phase[8];
  guint look[SCENE_NUM_THINGS]; /* which of the colours */
  Texture slabs, noise;
  guint8 *shadow;               /* 0 to 255 per pixel */
  gfloat *hill;                 /* tops per column, two rows */
  Layer layer;
  View view;
  Shadow shadows[SCENE_MAX_SHADOWS];
  guint num_shadows;
};

static inline gfloat
clamp01 (gfloat x)
{
  return x < 0 ? 0 : x > 1 ? 1 : x;
}

static inline gfloat
smooth (gfloat from, gfloat to, gfloat x)
{
  const gfloat t = clamp01 ((x - from) / (to - from));

  return t * t * (3 - 2 * t);
}

static inline gfloat
mix (gfloat a, gfloat b, gfloat t)
{
  return a + (b - a) * t;
}

static inline Colour
mix_colour (Colour a, Colour b, gfloat t)
{
  return (Colour) { mix (a.r, b.r, t), mix (a.g, b.g, t), mix (a.b, b.b, t) };
}

static inline Colour
dim (Colour c, gfloat by)
{
  return (Colour) { c.r * by, c.g * by, c.b * by };
}

static inline Colour
rgb (guint32 hex)
{
  return (Colour) { hex >> 16 & 255, hex >> 8 & 255, hex & 255 };
}

/* scenetexture.c */
guint32 scene_hash (guint64 seed, gint x, gint y);
void scene_slabs_init (Texture * texture, guint64 seed);
void scene_noise_init (Texture * texture, guint64 seed);
void scene_texture_clear (Texture * texture);
/* 0 to 1. @u, @v: texels of level 0; @lod: 0 is the finest level. */
gfloat scene_texture_get (const Texture * texture, gfloat u, gfloat v,
    gint lod);

/* sceneground.c */
void scene_draw_sky (Scene * scene, SceneFrame * frame);
void scene_draw_ground (Scene * scene, SceneFrame * frame);
void scene_cast (Scene * scene, Vec from, Vec to, gfloat radius, gfloat soft,
    gfloat strength);

/* scenelayer.c */
gfloat scene_project (const View * view, Vec at, gfloat * x, gfloat * y);
gfloat scene_light (gfloat nx, gfloat ny, gfloat nz);
void scene_layer_begin (Layer * layer, gfloat x0, gfloat y0, gfloat x1,
    gfloat y1);
void scene_layer_put (Layer * layer, gint x, gint y, Colour colour,
    gfloat coverage);
void scene_layer_limb (Layer * layer, const Texture * cloth, gfloat x0,
    gfloat y0, gfloat r0, gfloat x1, gfloat y1, gfloat r1, Colour colour);
void scene_layer_end (Scene * scene, SceneFrame * frame, guint label);


/* scenepillar.c */
void scene_draw_pillar (Scene * scene, SceneFrame * frame);
extern const Vec scene_pillar;

/* The things. _z: the distance by which they are sorted. */
void scene_ball_cast (Scene * scene);
void scene_ball_draw (Scene * scene);
gfloat scene_ball_z (const Scene * scene);
void scene_walker_cast (Scene * scene);
void scene_walker_draw (Scene * scene);
gfloat scene_walker_z (const Scene * scene);
void scene_fish_cast (Scene * scene);
void scene_fish_draw (Scene * scene);
gfloat scene_fish_z (const Scene * scene);
void scene_plane_cast (Scene * scene);
void scene_plane_draw (Scene * scene);
gfloat scene_plane_z (const Scene * scene);

G_END_DECLS

#endif /* __GST_SAM_SCENE_PARTS_H__ */
