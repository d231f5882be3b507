// SPDX-License-Identifier: MIT
// Colours over a frame.
//
// Shape: a block has a tile of 128 x 16 pixels, a thread 4 x 2 of them and the chroma that is
// theirs. The tile's labels, and those around it that a line can be near to, are in shared memory,
// and so are which of its pixels are near another label, and which patches touch the tile, a bit
// each. A tile where nothing is to be seen leaves the frame alone; one of a single label looks for
// no lines.
// Traffic: labels once, and those around tiles again; of the frame what is painted, read once and
// written once: RGBA 16 bytes at a time, RGB 12, P010 and YUY2 8, GRAY8, luma and chroma of NV12 4,
// chroma of I420 2.
// Needs: planes and strides that are multiples of that; else, and at the frame's right edge, bytes.
#include "view.cuh"

enum {
    TILE_W  = 128, // px
    TILE_H  = 16,
    GROUP_W = 4, // of a thread
    GROUP_H = 2,
    GROUP   = GROUP_W * GROUP_H,
    PAINT_THREADS = TILE_W / GROUP_W * (TILE_H / GROUP_H),
    PAINT_WARPS   = PAINT_THREADS / 32,
    REACH  = 2, // px, of a line's window
    NEAR_W = TILE_W + 2 * REACH,
    NEAR_H = TILE_H + 2 * REACH,
};

// As kernels tell frames apart.
enum surface {
    SURFACE_RGBA, SURFACE_NV12, SURFACE_I420, SURFACE_P010, SURFACE_RGB, SURFACE_GREY, SURFACE_YUY2
};

struct painting {
    uint8_t *plane[3];
    int stride[3];
    int width, height;  // of the frame
    int x0, y0, x1, y1; // the area
    int tile_x, tile_y; // where tiles begin, at or before the area
    bool is_aligned, has_alpha, is_reverse;

    const uint8_t *labels;
    int labels_w, labels_h, labels_stride;
    int line_width, margin; // margin: of labels around a tile
    int bare;               // the first label that is bare; 256: none
    uint32_t fill[256], line[256], contour;

    const struct sam_patch *patches;
    const uint32_t *bits;
    int num_patches;
};

struct rect {
    int x0, y0, x1, y1;
};

// ---- labels

// Where a pixel is between two cells: the first one, and the next one's weight, of 256.
struct place {
    int cell, weight;
};

static __device__ place place_of(int i, int size, int cells)
{
    const long long t = (2ll * i + 1) * cells * 128 / size - 128;
    const int at = t < 0 ? 0 : (int) t; // at most 2^14 cells
    return { at >> 8, at & 255 };
}

// The label that weighs most among the four cells around a place, the first of equal ones.
static __device__ int label_at(const painting &a, place v, place h)
{
    const uint8_t *upper = a.labels + (size_t) v.cell * a.labels_stride;
    const uint8_t *lower = v.cell + 1 < a.labels_h ? upper + a.labels_stride : upper;
    const int next = min(h.cell + 1, a.labels_w - 1);
    const int l0 = upper[h.cell], l1 = upper[next], l2 = lower[h.cell], l3 = lower[next];
    if (l0 == l1 && l0 == l2 && l0 == l3)
        return l0;
    const int w0 = (256 - v.weight) * (256 - h.weight), w1 = (256 - v.weight) * h.weight;
    const int w2 = v.weight * (256 - h.weight), w3 = v.weight * h.weight;
    const int sum0 = w0 + (l1 == l0 ? w1 : 0) + (l2 == l0 ? w2 : 0) + (l3 == l0 ? w3 : 0);
    const int sum1 = w1 + (l0 == l1 ? w0 : 0) + (l2 == l1 ? w2 : 0) + (l3 == l1 ? w3 : 0);
    const int sum2 = w2 + (l0 == l2 ? w0 : 0) + (l1 == l2 ? w1 : 0) + (l3 == l2 ? w3 : 0);
    const int sum3 = w3 + (l0 == l3 ? w0 : 0) + (l1 == l3 ? w1 : 0) + (l2 == l3 ? w2 : 0);
    int best = sum0, label = l0;
    if (sum1 > best)
        best = sum1, label = l1;
    if (sum2 > best)
        best = sum2, label = l2;
    return sum3 > best ? l3 : label;
}

static __device__ int nearest(int i, int from, int end)
{
    return min(max(i, from), end - 1);
}

// The labels of a tile and `margin` more on each side, but for the corners; beyond the area those
// of its nearest pixels. Bare labels become the first one. True: there are several.
static __device__ bool gather_labels(const painting &a, rect tile, uint8_t *labels, int pitch)
{
    __shared__ place columns[TILE_W + 2 * (SAM_MAX_LINE + REACH)];
    __shared__ place rows[TILE_H + 2 * (SAM_MAX_LINE + REACH)];
    const int x0 = tile.x0 - a.margin, y0 = tile.y0 - a.margin;
    const int lane = threadIdx.x % 32, height = TILE_H + 2 * a.margin;
    for (int i = threadIdx.x; i < pitch; i += PAINT_THREADS)
        columns[i] = place_of(nearest(x0 + i, a.x0, a.x1), a.width, a.labels_w);
    for (int i = threadIdx.x; i < height; i += PAINT_THREADS)
        rows[i] = place_of(nearest(y0 + i, a.y0, a.y1), a.height, a.labels_h);
    __syncthreads();
    const int reach = min(a.margin, +REACH);
    int first = label_at(a, rows[a.margin], columns[a.margin]);
    first = (a.fill[first] | a.line[first]) >> 24 ? first : a.bare;
    bool differs = false;
    for (int r = threadIdx.x / 32; r < height; r += PAINT_WARPS) {
        const bool is_beside = y0 + r < tile.y0 - reach || y0 + r >= tile.y1 + reach;
        const int from = is_beside ? a.margin - reach : 0;
        for (int c = from + lane; c < pitch - from; c += 32) {
            int label = label_at(a, rows[r], columns[c]);
            label = (a.fill[label] | a.line[label]) >> 24 ? label : a.bare;
            labels[r * pitch + c] = (uint8_t) label;
            differs = differs || label != first;
        }
    }
    return __syncthreads_or(differs);
}

// Whether another label is within a line's width along the row or the column.
static __device__ bool is_near(const painting &a, const uint8_t *own, int pitch)
{
    for (int d = 1; d <= a.line_width; d++)
        if (own[d] != *own || own[-d] != *own || own[d * pitch] != *own || own[-d * pitch] != *own)
            return true;
    return false;
}

// Of the tile and REACH more on each side; beyond the area as its nearest pixels.
static __device__ void find_near(const painting &a, rect tile, const uint8_t *labels, int pitch,
                                 uint8_t *near)
{
    for (int i = threadIdx.x; i < NEAR_W * NEAR_H; i += PAINT_THREADS) {
        const int x = nearest(tile.x0 - REACH + i % NEAR_W, a.x0, a.x1) - tile.x0 + a.margin;
        const int y = nearest(tile.y0 - REACH + i / NEAR_W, a.y0, a.y1) - tile.y0 + a.margin;
        near[i] = is_near(a, labels + y * pitch + x, pitch);
    }
    __syncthreads();
}

// Three colours, weights of 8.
static __device__ uint32_t mix(uint32_t a, int wa, uint32_t b, int wb, uint32_t c, int wc)
{
    const uint32_t sa = wa * (a >> 24), sb = wb * (b >> 24), sc = wc * (c >> 24);
    const uint32_t sum = sa + sb + sc;
    uint32_t mixed = (sum + 4) / 8 << 24;
    if (!sum)
        return 0;
#pragma unroll
    for (int shift = 0; shift < 24; shift += 8)
        mixed |= (sa * (a >> shift & 255) + sb * (b >> shift & 255) + sc * (c >> shift & 255) +
                  sum / 2) / sum << shift;
    return mixed;
}

// The colour of a pixel of the tile by the labels around it.
static __device__ uint32_t line_colour(const painting &a, const uint8_t *own, int pitch,
                                       const uint8_t *near)
{
    int same = 0, inner = 0, heaviest = 0, found = *own;
#pragma unroll 1
    for (int dy = -REACH; dy <= REACH; dy++)
#pragma unroll
        for (int dx = -REACH; dx <= REACH; dx++) {
            const int weight = (REACH + 1 - abs(dy)) * (REACH + 1 - abs(dx));
            const int label = own[dy * pitch + dx];
            if (label == *own) {
                same += weight;
                inner += near[dy * NEAR_W + dx] ? 0 : weight;
            } else if (weight > heaviest) {
                heaviest = weight;
                found = label;
            }
        }
    const int other = min(max((445 - 8 * same) / 27, 0), 4);
    const uint32_t beyond = found == a.bare ? a.contour : a.line[found];
    if (*own == a.bare)
        return mix(a.contour, other ? 8 - other : min((81 - same) * 8 / 27, 8), beyond, other, 0,
                   0);
    const int fill = min(max((8 * inner - 203) / 27, 0), 8) * (8 - other) / 8;
    return mix(a.line[*own], 8 - other - fill, beyond, other, a.fill[*own], fill);
}

// ---- patches

// Which patches touch the tile; true: any.
static __device__ bool find_patches(const painting &a, rect tile, uint32_t *touching)
{
    const int num_words = (a.num_patches + 31) / 32, lane = threadIdx.x % 32;
    bool any = false;
    for (int word = threadIdx.x / 32; word < num_words; word += PAINT_WARPS) {
        const int i = 32 * word + lane;
        bool touches = false;
        if (i < a.num_patches) {
            const struct sam_patch &p = a.patches[i];
            touches = p.x < tile.x1 && p.x + p.width > tile.x0 && p.y < tile.y1 &&
                      p.y + p.height > tile.y0;
        }
        const uint32_t bits = __ballot_sync(0xffffffffu, touches);
        if (lane == 0)
            touching[word] = bits;
        any = any || bits;
    }
    return __syncthreads_or(any);
}

static __device__ uint32_t shade_colour(const struct sam_patch &p, uint32_t shade)
{
    uint32_t colour = 0;
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        colour |= ((p.colour >> i & 255) * (255 - shade) + (p.ink >> i & 255) * shade + 127) / 255
                  << i;
    return colour;
}

static __device__ uint32_t patch_colour(const painting &a, const struct sam_patch &p, int y, int x)
{
    if (!p.scale)
        return p.colour;
    if (p.scale == SAM_PATCH_SHADES) {
        const int at = p.first + (y - p.y) * ((p.width + 3) / 4) + (x - p.x) / 4;
        return shade_colour(p, a.bits[at] >> 8 * ((x - p.x) % 4) & 255);
    }
    const int words = ((p.width + p.scale - 1) / p.scale + 31) / 32;
    const int column = (x - p.x) / p.scale, row = (y - p.y) / p.scale;
    return a.bits[p.first + row * words + column / 32] >> column % 32 & 1 ? p.ink : p.colour;
}

// Colours of the pixels of a group, whose upper left one is at (x, y), that patches cover; the last
// one counts. What it covers leaves `open`, a bit for each pixel.
static __device__ void cover(const painting &a, const uint32_t *touching, int y, int x,
                             uint32_t (&colour)[GROUP], uint32_t &open)
{
    for (int word = (a.num_patches + 31) / 32 - 1; word >= 0; word--)
        for (uint32_t left = touching[word]; left && open;) {
            const int bit = 31 - __clz((int) left);
            left &= ~(1u << bit);
            const struct sam_patch p = a.patches[32 * word + bit];
            if (p.x >= x + GROUP_W || p.x + p.width <= x || p.y >= y + GROUP_H ||
                p.y + p.height <= y)
                continue;
#pragma unroll
            for (int k = 0; k < GROUP; k++) {
                const int px = x + k % GROUP_W, py = y + k / GROUP_W;
                if (open >> k & 1 && px >= p.x && px < p.x + p.width && py >= p.y &&
                    py < p.y + p.height) {
                    colour[k] = patch_colour(a, p, py, px);
                    open &= ~(1u << k);
                }
            }
        }
}

// ---- blending

// N bytes of a row, from `at` on; at most `n` of them where not all are the frame's.
template <int N> struct piece {
    uint32_t word[(N + 3) / 4];

    __device__ void load(const uint8_t *at, bool is_whole, int n)
    {
        if (is_whole) {
            if constexpr (N == 16) {
                const uint4 v = *(const uint4 *) at;
                word[0] = v.x, word[1] = v.y, word[2] = v.z, word[3] = v.w;
            } else if constexpr (N == 12) {
                const uint32_t *v = (const uint32_t *) at;
                word[0] = v[0], word[1] = v[1], word[2] = v[2];
            } else if constexpr (N == 8) {
                const uint2 v = *(const uint2 *) at;
                word[0] = v.x, word[1] = v.y;
            } else if constexpr (N == 4) {
                word[0] = *(const uint32_t *) at;
            } else {
                word[0] = *(const uint16_t *) at;
            }
            return;
        }
#pragma unroll
        for (int i = 0; i < N; i++) {
            word[i / 4] = i % 4 ? word[i / 4] : 0;
            if (i < n)
                word[i / 4] |= (uint32_t) at[i] << i % 4 * 8;
        }
    }

    __device__ void store(uint8_t *at, bool is_whole, int n) const
    {
        if (is_whole) {
            if constexpr (N == 16)
                *(uint4 *) at = make_uint4(word[0], word[1], word[2], word[3]);
            else if constexpr (N == 12)
                for (int i = 0; i < 3; i++)
                    ((uint32_t *) at)[i] = word[i];
            else if constexpr (N == 8)
                *(uint2 *) at = make_uint2(word[0], word[1]);
            else if constexpr (N == 4)
                *(uint32_t *) at = word[0];
            else
                *(uint16_t *) at = (uint16_t) word[0];
            return;
        }
#pragma unroll
        for (int i = 0; i < N; i++)
            if (i < n)
                at[i] = (uint8_t) (word[i / 4] >> i % 4 * 8);
    }

    __device__ uint32_t byte(int i) const { return word[i / 4] >> i % 4 * 8 & 255; }
    __device__ void set_byte(int i, uint32_t v)
    {
        word[i / 4] = (word[i / 4] & ~(255u << i % 4 * 8)) | v << i % 4 * 8;
    }

    // Blend number `c` of a colour over byte i, or over the two bytes from 2 i on.
    __device__ void mix(int i, uint32_t colour, int c)
    {
        const uint32_t alpha = colour >> 24;
        set_byte(i, (byte(i) * (255 - alpha) + alpha * (colour >> (16 - 8 * c) & 255)) / 255);
    }
    __device__ void mix_wide(int i, uint32_t colour, int c)
    {
        const uint32_t alpha = colour >> 24 << 8, own = (colour >> (16 - 8 * c) & 255) << 8;
        const uint32_t sample = byte(2 * i) | byte(2 * i + 1) << 8, all = sample | sample >> 10;
        const uint32_t mixed = (all * (65535 - alpha) + alpha * own) / 65535 & 0xffc0;
        if (!alpha)
            return;
        set_byte(2 * i, mixed & 255);
        set_byte(2 * i + 1, mixed >> 8);
    }
    // A pixel of three bytes or more from `at` on; r: that of the first number.
    __device__ void mix_rgb(int at, uint32_t colour, int r)
    {
        mix(at + r, colour, 0);
        mix(at + 1, colour, 1);
        mix(at + 2 - r, colour, 2);
    }
    __device__ void mix_translucent(int i, uint32_t colour, bool is_reverse)
    {
        const uint32_t alpha = colour >> 24, left = byte(4 * i + 3) * (255 - alpha);
        const uint32_t sum = alpha + left / 255;
        if (!alpha)
            return;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            const uint32_t own = colour >> (is_reverse ? 8 * c : 16 - 8 * c) & 255;
            set_byte(4 * i + c, min((own * alpha + byte(4 * i + c) * left / 255) / sum, 255u));
        }
        set_byte(4 * i + 3, sum);
    }
};

static __device__ bool is_any(const uint32_t *colour, int n)
{
    uint32_t all = 0;
    for (int k = 0; k < n; k++)
        all |= colour[k];
    return all >> 24;
}

// A row of the group's own numbers: luma, or all that a single plane has.
template <int SURFACE>
static __device__ void blend_row(const painting &a, int y, int x, const uint32_t *colour)
{
    enum { STEP = SURFACE == SURFACE_RGBA ? 4 : SURFACE == SURFACE_RGB ? 3
                : SURFACE == SURFACE_P010 || SURFACE == SURFACE_YUY2 ? 2 : 1 };
    const int width = SURFACE == SURFACE_YUY2 ? (a.width + 1) / 2 * 2 : a.width;
    const int n = min((width - x) * STEP, GROUP_W * STEP);
    const bool is_whole = a.is_aligned && n == GROUP_W * STEP;
    uint8_t *at = a.plane[0] + (size_t) y * a.stride[0] + x * STEP;
    piece<GROUP_W * STEP> s;
    s.load(at, is_whole, n);
#pragma unroll
    for (int k = 0; k < GROUP_W; k++) {
        if constexpr (SURFACE == SURFACE_P010) {
            s.mix_wide(k, colour[k], 0);
        } else if constexpr (SURFACE == SURFACE_RGBA || SURFACE == SURFACE_RGB) {
            if (SURFACE == SURFACE_RGBA && a.has_alpha && s.byte(4 * k + 3) != 255)
                s.mix_translucent(k, colour[k], a.is_reverse);
            else if (a.is_reverse)
                s.mix_rgb(STEP * k, colour[k], 2);
            else
                s.mix_rgb(STEP * k, colour[k], 0);
        } else if constexpr (SURFACE == SURFACE_YUY2) {
            s.mix(2 * k, colour[k], 0);
            s.mix(2 * k + 1, colour[k / 2 * 2], 1 + k % 2);
        } else {
            s.mix(k, colour[k], 0);
        }
    }
    s.store(at, is_whole, n);
}

// The two places of the group's chroma, under the first and the third pixel of its first row.
// PLANE 1 with both numbers, or 1 and 2 with one each.
template <int SURFACE, int PLANE>
static __device__ void blend_chroma(const painting &a, int y, int x, const uint32_t *colour)
{
    enum { STEP = SURFACE == SURFACE_P010 ? 4 : SURFACE == SURFACE_NV12 ? 2 : 1 };
    const int n = min((a.width - x + 1) / 2 * STEP, 2 * STEP);
    const bool is_whole = a.is_aligned && n == 2 * STEP;
    uint8_t *at = a.plane[PLANE] + (size_t) (y / 2) * a.stride[PLANE] + x / 2 * STEP;
    piece<2 * STEP> s;
    s.load(at, is_whole, n);
#pragma unroll
    for (int k = 0; k < 2; k++) {
        if constexpr (SURFACE == SURFACE_I420) {
            s.mix(k, colour[2 * k], PLANE);
        } else if constexpr (SURFACE == SURFACE_NV12) {
            s.mix(2 * k, colour[2 * k], 1);
            s.mix(2 * k + 1, colour[2 * k], 2);
        } else {
            s.mix_wide(2 * k, colour[2 * k], 1);
            s.mix_wide(2 * k + 1, colour[2 * k], 2);
        }
    }
    s.store(at, is_whole, n);
}

template <int SURFACE>
static __device__ void blend_group(const painting &a, int y, int x, const uint32_t (&colour)[GROUP])
{
    const bool has_chroma = (colour[0] | colour[2]) >> 24;
    if (is_any(colour, GROUP_W))
        blend_row<SURFACE>(a, y, x, colour);
    if (is_any(colour + GROUP_W, GROUP_W))
        blend_row<SURFACE>(a, y + 1, x, colour + GROUP_W);
    if constexpr (SURFACE == SURFACE_NV12 || SURFACE == SURFACE_I420 || SURFACE == SURFACE_P010)
        if (has_chroma)
            blend_chroma<SURFACE, 1>(a, y, x, colour);
    if constexpr (SURFACE == SURFACE_I420)
        if (has_chroma)
            blend_chroma<SURFACE, 2>(a, y, x, colour);
}

// ---- all of it

template <int SURFACE>
static __global__ void __launch_bounds__(PAINT_THREADS)
paint_kernel(const __grid_constant__ painting a)
{
    await_earlier();
    extern __shared__ __align__(128) unsigned char smem[];
    __shared__ uint32_t touching[SAM_MAX_PATCHES / 32];
    __shared__ uint8_t near[NEAR_W * NEAR_H];
    const int tile_x = a.tile_x + blockIdx.x * TILE_W, tile_y = a.tile_y + blockIdx.y * TILE_H;
    const rect tile = { tile_x, tile_y, tile_x + TILE_W, tile_y + TILE_H };
    const int pitch = TILE_W + 2 * a.margin;
    const bool has_patches = find_patches(a, tile, touching);
    const bool has_lines = a.labels && gather_labels(a, tile, smem, pitch) && a.line_width;
    if (has_lines)
        find_near(a, tile, smem, pitch, near);
    const int x = tile_x + threadIdx.x % 32 * GROUP_W, y = tile_y + threadIdx.x / 32 * GROUP_H;

    uint32_t colour[GROUP] = {}, open = 0;
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
        const int px = x + k % GROUP_W, py = y + k / GROUP_W;
        if (px >= a.x0 && px < a.x1 && py >= a.y0 && py < a.y1)
            open |= 1u << k;
    }
    if (has_patches)
        cover(a, touching, y, x, colour, open);
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
        const int px = x + k % GROUP_W, py = y + k / GROUP_W;
        if (!a.labels || !(open >> k & 1))
            continue;
        const uint8_t *own = smem + (py - tile_y + a.margin) * pitch + px - tile_x + a.margin;
        colour[k] = has_lines ? line_colour(a, own, pitch, near + (py - tile_y + REACH) * NEAR_W +
                                                               px - tile_x + REACH)
                              : a.fill[*own];
    }
    blend_group<SURFACE>(a, y, x, colour);
}

static void launch(struct sam_queue *q, enum sam_pixel_format format, const painting &a)
{
    const dim3 tiles(blocks_for(a.x1 - a.tile_x, TILE_W), blocks_for(a.y1 - a.tile_y, TILE_H));
    const size_t shared =
        a.labels ? (TILE_W + 2 * a.margin) * (size_t) (TILE_H + 2 * a.margin) : 0;
    if (format == SAM_PIXEL_NV12)
        SAM_LAUNCH(paint_kernel<SURFACE_NV12>, tiles, PAINT_THREADS, shared, q, a);
    else if (format == SAM_PIXEL_I420)
        SAM_LAUNCH(paint_kernel<SURFACE_I420>, tiles, PAINT_THREADS, shared, q, a);
    else if (format == SAM_PIXEL_P010)
        SAM_LAUNCH(paint_kernel<SURFACE_P010>, tiles, PAINT_THREADS, shared, q, a);
    else if (format == SAM_PIXEL_YUY2)
        SAM_LAUNCH(paint_kernel<SURFACE_YUY2>, tiles, PAINT_THREADS, shared, q, a);
    else if (format == SAM_PIXEL_GRAY8)
        SAM_LAUNCH(paint_kernel<SURFACE_GREY>, tiles, PAINT_THREADS, shared, q, a);
    else if (format == SAM_PIXEL_RGB || format == SAM_PIXEL_BGR)
        SAM_LAUNCH(paint_kernel<SURFACE_RGB>, tiles, PAINT_THREADS, shared, q, a);
    else
        SAM_LAUNCH(paint_kernel<SURFACE_RGBA>, tiles, PAINT_THREADS, shared, q, a);
    sam_cuda_launched(q, "paint");
}

// Whether four pixels and their chroma can be had at once. Every number of a format takes as many
// bytes in four pixels' piece of its plane; half of that where chroma is planar. Three words of RGB
// are read one by one.
static bool is_aligned(const struct sam_frame *f)
{
    for (int i = 0; i < 3; i++) {
        const int step = f->format == SAM_PIXEL_RGBA || f->format == SAM_PIXEL_BGRA ? 16
                       : f->format == SAM_PIXEL_P010 || f->format == SAM_PIXEL_YUY2 ? 8
                       : f->format == SAM_PIXEL_I420 && i                         ? 2 : 4;
        if (sam_frame_row_bytes(f, i) &&
            ((uintptr_t) f->plane[i] % step || f->stride[i] % step))
            return false;
    }
    return true;
}

static size_t round_up(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

// What comes from the host: patches, their bits, and the label map where it is not on the device.
static bool upload(struct sam_queue *q, const struct sam_overlay *o, painting *a)
{
    const struct sam_labels *l = &o->labels;
    const bool is_host = l->data && !l->on_device;
    const size_t patches = o->num_patches * sizeof(*o->patches);
    const size_t bits = o->num_words * sizeof(*o->bits);
    const size_t map = is_host ? (size_t) l->height * l->width : 0;
    const size_t all = round_up(patches) + round_up(bits) + map;
    uint8_t *room = all ? (uint8_t *) sam_cuda_room(q, all) : NULL;
    if (all && !room)
        return false;
    a->patches = (const struct sam_patch *) room;
    a->bits = (const uint32_t *) (room + round_up(patches));
    a->labels = is_host ? room + round_up(patches) + round_up(bits) : l->data;
    a->labels_stride = is_host ? l->width : l->stride;
    sam_cuda_upload(q, room, o->patches, patches);
    sam_cuda_upload(q, room + round_up(patches), o->bits, bits);
    if (is_host)
        sam_cuda_upload_rows(q, room + round_up(patches) + round_up(bits), l->data, l->stride,
                             l->width, l->height);
    return !q->status;
}

// Row by row: who has the host draw layers has no other use of it.
static void clear_area(struct sam_queue *q, const struct sam_frame *f, const struct sam_overlay *o)
{
    for (int y = o->y; y < o->y + o->height && !q->status; y++) {
        uint8_t *row = (uint8_t *) f->plane[0] + (size_t) y * f->stride[0] + 4 * o->x;
        sam_cuda_check(q, "paint",
                       cudaMemsetAsync(row, 0, 4 * (size_t) o->width, sam_cuda_stream(q)));
    }
}

extern "C" void sam_paint_cuda(struct sam_queue *q, const struct sam_paint *p)
{
    const struct sam_frame *f = &p->frame;
    const struct sam_overlay *o = p->overlay;
    painting a = {};
    for (int i = 0; i < 3; i++) {
        a.plane[i] = (uint8_t *) f->plane[i];
        a.stride[i] = f->stride[i];
    }
    a.width = f->width, a.height = f->height;
    a.x0 = o->x, a.y0 = o->y, a.x1 = o->x + o->width, a.y1 = o->y + o->height;
    a.tile_x = o->x / 32 * 32, a.tile_y = o->y / GROUP_H * GROUP_H;
    a.is_aligned = is_aligned(f);
    a.has_alpha = o->has_alpha;
    a.is_reverse = f->format == SAM_PIXEL_BGRA || f->format == SAM_PIXEL_BGR;
    a.labels_w = o->labels.width, a.labels_h = o->labels.height;
    a.line_width = o->line_width;
    a.margin = o->line_width ? o->line_width + REACH : 0;
    a.contour = o->contour;
    for (int i = 0; i < 256; i++)
        a.fill[i] = o->fill[i], a.line[i] = o->line[i];
    while (a.bare < 256 && (a.fill[a.bare] | a.line[a.bare]) >> 24)
        a.bare++;
    a.num_patches = o->num_patches;
    if (o->has_alpha == 2 && (f->format == SAM_PIXEL_RGBA || f->format == SAM_PIXEL_BGRA))
        clear_area(q, f, o);
    if (upload(q, o, &a))
        launch(q, f->format, a);
}
