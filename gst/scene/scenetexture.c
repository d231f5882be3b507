/* SPDX-License-Identifier: MIT */
/* Textures that repeat without seams, from a seed. */

#include "sceneparts.h"

#define SLAB 64                 /* texels */
#define NUM_NOISES 4            /* of each texture */

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

/* Value noise with so many cells over the texture's side. */
typedef struct
{
  guint64 seed;                 /* beside the texture's */
  gint cells;
} Noise;

/* How far each texel of a row is from its cell's left corners to the right
 * ones, smoothly: 0 to 1. */
static void
fill_parts (gfloat * parts, gint cells)
{
  gint x;

  for (x = 0; x < SCENE_TEXTURE_SIZE; x++)
    parts[x] = smooth (0, 1, x * cells % SCENE_TEXTURE_SIZE /
        (gfloat) SCENE_TEXTURE_SIZE);
}

/* Row @y of it. A cell's corners are drawn once, not for each of its texels. */
static void
fill_noise (gfloat * row, const Noise * noise, const gfloat * parts,
    guint64 seed, gint y)
{
  const gint cells = noise->cells;
  const gint iy = y * cells / SCENE_TEXTURE_SIZE, jy = (iy + 1) % cells;
  const gfloat ty = parts[y];
  gint ix, x = 0;

  seed += noise->seed + cells;
  for (ix = 0; ix < cells; ix++) {
    const gint jx = (ix + 1) % cells;
    const gint end = ((ix + 1) * SCENE_TEXTURE_SIZE + cells - 1) / cells;
    const gfloat a = hash01 (seed, ix, iy), b = hash01 (seed, jx, iy);
    const gfloat c = hash01 (seed, ix, jy), d = hash01 (seed, jx, jy);

    for (; x < end; x++)
      row[x] = mix (mix (a, b, parts[x]), mix (c, d, parts[x]), ty);
  }
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

/* Of a texel: @noise are its values of the texture's four noises. */
typedef gfloat (*GetTexel) (guint64 seed, gint x, gint y,
    const gfloat noise[NUM_NOISES]);

/* Paving: rows of slabs, each of its own tone, with worn edges and joints. */
static const Noise slab_noises[NUM_NOISES] =
    { {5, 128}, {0, 8}, {1, 64}, {2, 256} };

static gfloat
get_slab (guint64 seed, gint x, gint y, const gfloat noise[NUM_NOISES])
{
  const gint row = y / SLAB;
  const gint shifted = (x + row % 2 * SLAB) % SCENE_TEXTURE_SIZE;
  const gint column = shifted / (2 * SLAB);
  const gint dx = MIN (shifted % (2 * SLAB), 2 * SLAB - 1 -
      shifted % (2 * SLAB));
  const gint dy = MIN (y % SLAB, SLAB - 1 - y % SLAB);
  const gfloat joint = smooth (0.5f, 3.5f, MIN (dx, dy) + 1.5f * noise[0]);
  const gfloat tone = 0.66f + 0.17f * hash01 (seed + 9, column, row) +
      0.14f * noise[1] + 0.10f * noise[2] + 0.10f * noise[3] - 0.12f;

  return mix (0.42f, tone, joint);
}

static const Noise plain_noises[NUM_NOISES] =
    { {0, 8}, {1, 16}, {2, 48}, {3, 128} };

static gfloat
get_noise (guint64 seed, gint x, gint y, const gfloat noise[NUM_NOISES])
{
  return 0.5f * noise[0] + 0.26f * noise[1] + 0.14f * noise[2] +
      0.10f * noise[3];
}

static void
fill (Texture * texture, guint64 seed, const Noise noises[NUM_NOISES],
    GetTexel get)
{
  gfloat parts[NUM_NOISES][SCENE_TEXTURE_SIZE];
  gfloat rows[NUM_NOISES][SCENE_TEXTURE_SIZE];
  gint i, x, y;

  for (i = 0; i < NUM_NOISES; i++)
    fill_parts (parts[i], noises[i].cells);
  texture->level[0] = g_malloc (SCENE_TEXTURE_SIZE * SCENE_TEXTURE_SIZE);
  for (y = 0; y < SCENE_TEXTURE_SIZE; y++) {
    for (i = 0; i < NUM_NOISES; i++)
      fill_noise (rows[i], &noises[i], parts[i], seed, y);
    for (x = 0; x < SCENE_TEXTURE_SIZE; x++) {
      const gfloat noise[NUM_NOISES] =
          { rows[0][x], rows[1][x], rows[2][x], rows[3][x] };

      texture->level[0][(y << SCENE_TEXTURE_BITS) + x] =
          255.f * clamp01 (get (seed, x, y, noise)) + 0.5f;
    }
  }
  make_levels (texture);
}

void
scene_slabs_init (Texture * texture, guint64 seed)
{
  fill (texture, seed, slab_noises, get_slab);
}

void
scene_noise_init (Texture * texture, guint64 seed)
{
  fill (texture, seed, plain_noises, get_noise);
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
