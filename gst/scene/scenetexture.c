/* SPDX-License-Identifier: MIT */
/* Textures that repeat without seams, from a seed. */

#include "sceneparts.h"

#define SLAB 64                 /* texels */

guint32
scene_hash (guint64 seed, gint x, gint y)
{
  guint64 h = seed * 0x9e3779b97f4a7c15u + (guint32) x * 0xbf58476d1ce4e5b9u +
      (guint32) y * 0x94d049bb133111ebu + 0x632be59bd9b4e019u;

  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
  h = (h ^ h >> 27) * 0x94d049bb133111ebu;
  return (h ^ h >> 31) >> 16;
}

static gfloat
hash01 (guint64 seed, gint x, gint y)
{
  return (scene_hash (seed, x, y) & 0xffff) / 65535.f;
}

/* Value noise with @cells cells over the texture's side. */
static gfloat
noise (guint64 seed, gint x, gint y, gint cells)
{
  const gfloat fx = (gfloat) x * cells / SCENE_TEXTURE_SIZE;
  const gfloat fy = (gfloat) y * cells / SCENE_TEXTURE_SIZE;
  const gint ix = (gint) fx, iy = (gint) fy;
  const gint jx = (ix + 1) % cells, jy = (iy + 1) % cells;
  const gfloat tx = smooth (0, 1, fx - ix), ty = smooth (0, 1, fy - iy);

  seed += cells;
  return mix (mix (hash01 (seed, ix, iy), hash01 (seed, jx, iy), tx),
      mix (hash01 (seed, ix, jy), hash01 (seed, jx, jy), tx), ty);
}

static void
make_levels (Texture * texture)
{
  gint i, x, y;

  for (i = 1; i <= SCENE_TEXTURE_BITS; i++) {
    const gint size = SCENE_TEXTURE_SIZE >> i;
    const guint8 *from = texture->level[i - 1];

    texture->level[i] = g_malloc ((gsize) size * size);
    for (y = 0; y < size; y++) {
      for (x = 0; x < size; x++) {
        const guint8 *p = from + (gsize) 4 * y * size + 2 * x;

        texture->level[i][y * size + x] =
            (p[0] + p[1] + p[2 * size] + p[2 * size + 1] + 2) / 4;
      }
    }
  }
}

/* Paving: rows of slabs, each of its own tone, with worn edges and joints. */
static gfloat
get_slab (guint64 seed, gint x, gint y)
{
  const gint row = y / SLAB;
  const gint shifted = (x + row % 2 * SLAB) % SCENE_TEXTURE_SIZE;
  const gint column = shifted / (2 * SLAB);
  const gint dx = MIN (shifted % (2 * SLAB), 2 * SLAB - 1 -
      shifted % (2 * SLAB));
  const gint dy = MIN (y % SLAB, SLAB - 1 - y % SLAB);
  const gfloat joint = smooth (0.5f, 3.5f,
      MIN (dx, dy) + 1.5f * noise (seed + 5, x, y, 128));
  const gfloat tone = 0.66f + 0.17f * hash01 (seed + 9, column, row) +
      0.14f * noise (seed, x, y, 8) + 0.10f * noise (seed + 1, x, y, 64) +
      0.10f * noise (seed + 2, x, y, 256) - 0.12f;

  return mix (0.42f, tone, joint);
}

static gfloat
get_noise (guint64 seed, gint x, gint y)
{
  return 0.5f * noise (seed, x, y, 8) + 0.26f * noise (seed + 1, x, y, 16) +
      0.14f * noise (seed + 2, x, y, 48) + 0.10f * noise (seed + 3, x, y, 128);
}

static void
fill (Texture * texture, guint64 seed, gfloat (*get) (guint64, gint, gint))
{
  gint x, y;

  texture->level[0] = g_malloc (SCENE_TEXTURE_SIZE * SCENE_TEXTURE_SIZE);
  for (y = 0; y < SCENE_TEXTURE_SIZE; y++) {
    for (x = 0; x < SCENE_TEXTURE_SIZE; x++)
      texture->level[0][(y << SCENE_TEXTURE_BITS) + x] =
          255.f * clamp01 (get (seed, x, y)) + 0.5f;
  }
  make_levels (texture);
}

void
scene_slabs_init (Texture * texture, guint64 seed)
{
  fill (texture, seed, get_slab);
}

void
scene_noise_init (Texture * texture, guint64 seed)
{
  fill (texture, seed, get_noise);
}

void
scene_texture_clear (Texture * texture)
{
  guint i;

  for (i = 0; i < G_N_ELEMENTS (texture->level); i++)
    g_clear_pointer (&texture->level[i], g_free);
}

gfloat
scene_texture_get (const Texture * texture, gfloat u, gfloat v, gint lod)
{
  const gint level = CLAMP (lod, 0, SCENE_TEXTURE_BITS);
  const gint bits = SCENE_TEXTURE_BITS - level, mask = (1 << bits) - 1;
  const guint8 *t = texture->level[level];
  const gfloat shrink = 1.f / (1 << level);
  /* 8 bits of fraction; far coordinates wrap around */
  const gint x = (gint) floorf ((u * shrink - 0.5f) * 256);
  const gint y = (gint) floorf ((v * shrink - 0.5f) * 256);
  const gint fx = x & 255, fy = y & 255;
  const gint x0 = x >> 8 & mask, x1 = (x0 + 1) & mask;
  const guint8 *a = t + ((gsize) (y >> 8 & mask) << bits);
  const guint8 *b = t + ((gsize) (((y >> 8) + 1) & mask) << bits);
  const gint top = a[x0] * (256 - fx) + a[x1] * fx;
  const gint bottom = b[x0] * (256 - fx) + b[x1] * fx;

  return (top * (256 - fy) + bottom * fy) * (1.f / (255 * 65536));
}
