// SPDX-License-Identifier: MIT
// One frame in the place of another, by a cover's shares. A launch for each plane.
//
// Shape: a thread makes one unit. Traffic: a byte of the cover per pixel; of units with a share
// both frames read, and one written. Needs: nothing, since all of a frame is read and written by
// bytes.
#include "units.cuh"

enum { REPLACE_THREADS = 256 };

struct replacing {
    uint8_t *data;
    const uint8_t *other;
    int stride, other_stride;
    struct sam_units is;
    int first, end; // numbers of a unit that change
    int alpha;      // they become 0

    const uint8_t *map; // NULL: all is replaced
    int x0, y0, width, height; // of the area, px
    int right, bottom;         // the frame's last pixel
    int x, y, columns;         // units of the area: the first, and those of a row
};

static __device__ int byte_of(const replacing &a, int y, int x)
{
    const int row = min(y, a.bottom) - a.y0, column = min(x, a.right) - a.x0;
    const bool inside = row >= 0 && row < a.height && column >= 0 && column < a.width;
    return inside ? a.map[(size_t) row * a.width + column] : 0;
}

static __device__ int share_of(const replacing &a, int y, int x)
{
    const int top = y * a.is.unit_height, left = x * a.is.unit_width;
    const int bottom = top + a.is.unit_height - 1, right = left + a.is.unit_width - 1;
    if (a.is.unit_width == 1)
        return byte_of(a, top, left);
    return (byte_of(a, top, left) + byte_of(a, top, right) + byte_of(a, bottom, left) +
            byte_of(a, bottom, right) + 2) / 4;
}

// N: numbers of a unit.
template <int B, int N>
static __global__ void __launch_bounds__(REPLACE_THREADS)
replace_kernel(const __grid_constant__ replacing a)
{
    await_earlier();
    const int y = a.y + blockIdx.y, column = blockIdx.x * REPLACE_THREADS + threadIdx.x;
    const int x = a.x + column;
    if (column >= a.columns)
        return;
    uint8_t *unit = a.data + (size_t) y * a.stride + x * N * B;
    const uint8_t *other = a.other + (size_t) y * a.other_stride + x * N * B;
    if (!a.map) {
#pragma unroll
        for (int k = 0; k < N * B; k++)
            unit[k] = other[k];
        return;
    }
    const int share = share_of(a, y, x);
#pragma unroll
    for (int k = 0; k < N; k++) {
        if (k < a.first || k >= a.end || !share)
            continue;
        const int c = a.alpha ? 0 : load_number<B>(other + k * B);
        const int v = (load_number<B>(unit + k * B) * (255 - share) + c * share + 127) / 255;
        store_number<B>(unit + k * B, v);
    }
}

struct replace_launch {
    struct sam_queue *q;
    const replacing &a;

    template <int B, int N> void of() const
    {
        const int rows = (a.y0 + a.height - 1) / a.is.unit_height + 1 - a.y;
        SAM_LAUNCH((replace_kernel<B, N>), dim3(blocks_for(a.columns, REPLACE_THREADS), rows),
                   REPLACE_THREADS, 0, q, a);
        sam_cuda_launched(q, "replace");
    }
};

extern "C" void sam_replace_cuda(struct sam_queue *q, const struct sam_replace *p)
{
    const struct sam_frame *f = &p->frame;
    const struct sam_cover *c = p->cover;
    const bool has_fourth = f->format == SAM_PIXEL_RGBA || f->format == SAM_PIXEL_BGRA;
    const uint8_t *map = c ? take_map(q, c) : NULL;
    for (int i = 0; i < 3 && !q->status; i++) {
        replacing a;
        a.is = sam_frame_units(f, i);
        if (!a.is.units)
            continue;
        a.data = (uint8_t *) f->plane[i], a.stride = f->stride[i];
        a.other = p->other.plane[i], a.other_stride = p->other.stride[i];
        a.alpha = p->alpha;
        a.first = p->alpha ? 3 : 0;
        a.end = has_fourth && !p->alpha ? 3 : a.is.numbers;
        a.map = map;
        a.x0 = c ? c->x : 0, a.y0 = c ? c->y : 0;
        a.width = c ? c->width : f->width, a.height = c ? c->height : f->height;
        a.right = f->width - 1, a.bottom = f->height - 1;
        a.x = a.x0 / a.is.unit_width, a.y = a.y0 / a.is.unit_height;
        a.columns = (a.x0 + a.width - 1) / a.is.unit_width + 1 - a.x;
        launch_for(f->format, a.is.numbers, replace_launch { q, a });
    }
}
