// SPDX-License-Identifier: MIT
// Blur and squares: means of cells, then what is hidden takes their colours. Two launches for each
// plane, since all means are of the frame as it came.
//
// Shape: a block sums one cell, its warps in turn one of its rows each; then a thread makes one
// unit. Traffic: the area's cells once, a byte of the cover per pixel, what is hidden written once;
// means from the cache. Needs: nothing, since all of a frame is read and written by bytes.
#include <type_traits>

#include "units.cuh"

enum {
    MEAN_THREADS = 128,
    MEAN_WARPS   = MEAN_THREADS / 32,
    BLUR_THREADS = 256,
};

struct blurring {
    uint8_t *data;
    int stride;
    struct sam_units is;
    struct sam_cells cells;
    int written; // numbers of a unit
    int *mean;   // (lines, columns, numbers)
    int smooth;

    const uint8_t *map;
    int x0, y0, width, height; // of the area, px
    int x, y, columns;         // units of the area: the first, and those of a row
};

// N: numbers of a unit.
template <int B, int N>
static __global__ void __launch_bounds__(MEAN_THREADS)
mean_kernel(const __grid_constant__ blurring a)
{
    await_earlier();
    __shared__ unsigned sums[MEAN_WARPS][N];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int top = (a.cells.line + blockIdx.y) * a.cells.height;
    const int left = (a.cells.column + blockIdx.x) * a.cells.width;
    const int bottom = min(top + a.cells.height, a.is.rows);
    const int right = min(left + a.cells.width, a.is.units);
    unsigned sum[N] = {};
    for (int y = top + warp; y < bottom; y += MEAN_WARPS) {
        const uint8_t *row = a.data + (size_t) y * a.stride;
        for (int x = left + lane; x < right; x += 32)
#pragma unroll
            for (int k = 0; k < N; k++)
                sum[k] += load_number<B>(row + (x * N + k) * B);
    }
#pragma unroll
    for (int k = 0; k < N; k++) {
        sum[k] = __reduce_add_sync(0xffffffffu, sum[k]);
        if (lane == 0)
            sums[warp][k] = sum[k];
    }
    __syncthreads();
    if (threadIdx.x >= N)
        return;
    // at most 256 x 256 numbers of 16 bits: sum and half of the count fit
    unsigned all = 0;
#pragma unroll
    for (int w = 0; w < MEAN_WARPS; w++)
        all += sums[w][threadIdx.x];
    const unsigned count = (bottom - top) * (right - left);
    const int cell = blockIdx.y * a.cells.columns + blockIdx.x;
    a.mean[cell * N + threadIdx.x] = (all + count / 2) / count;
}

static __device__ bool is_hidden(const blurring &a, int y, int x)
{
    for (int dy = 0; dy < a.is.unit_height; dy++)
        for (int dx = 0; dx < a.is.unit_width; dx++) {
            const int py = y * a.is.unit_height + dy - a.y0;
            const int px = x * a.is.unit_width + dx - a.x0;
            if (py >= 0 && py < a.height && px >= 0 && px < a.width &&
                a.map[(size_t) py * a.width + px])
                return true;
        }
    return false;
}

// The first number of a cell's means, or of the nearest cell's.
static __device__ const int *cell_at(const blurring &a, int line, int column, int n)
{
    const int i = min(max(line - a.cells.line, 0), a.cells.lines - 1);
    const int j = min(max(column - a.cells.column, 0), a.cells.columns - 1);
    return a.mean + (i * a.cells.columns + j) * n;
}

template <int B, int N>
static __device__ void write_smooth(const blurring &a, int y, int x, uint8_t *unit)
{
    using wide = typename std::conditional<B == 1, int, long long>::type;
    const int h = a.cells.height, w = a.cells.width;
    const int t = 2 * y + 1 - h, i = t < 0 ? -1 : t / (2 * h);
    const int v = (t - 2 * h * i) * 128 / h;
    const int u = x - w / 2, j = u < 0 ? -1 : u / w;
    const int *upper = cell_at(a, i, j, N), *upper_right = cell_at(a, i, j + 1, N);
    const int *lower = cell_at(a, i + 1, j, N), *lower_right = cell_at(a, i + 1, j + 1, N);
#pragma unroll
    for (int k = 0; k < N; k++) {
        if (k >= a.written)
            break;
        const wide left = upper[k] * (256 - v) + lower[k] * v;
        const wide right = upper_right[k] * (256 - v) + lower_right[k] * v;
        const wide s = (right - left) * 256 / w;
        const int c = (int) ((256 * left + s / 2 + s * (u - w * j)) >> 16);
        store_number<B>(unit + k * B, c);
    }
}

template <int B, int N>
static __device__ void write_flat(const blurring &a, int y, int x, uint8_t *unit)
{
    const int *mean = cell_at(a, y / a.cells.height, x / a.cells.width, N);
#pragma unroll
    for (int k = 0; k < N; k++)
        if (k < a.written)
            store_number<B>(unit + k * B, mean[k]);
}

template <int B, int N>
static __global__ void __launch_bounds__(BLUR_THREADS)
blur_kernel(const __grid_constant__ blurring a)
{
    await_earlier();
    const int y = a.y + blockIdx.y, x = a.x + blockIdx.x * BLUR_THREADS + threadIdx.x;
    uint8_t *unit = a.data + (size_t) y * a.stride + x * N * B;
    if (!is_hidden(a, y, x))
        return;
    if (a.smooth)
        write_smooth<B, N>(a, y, x, unit);
    else
        write_flat<B, N>(a, y, x, unit);
}

struct blur_launch {
    struct sam_queue *q;
    const blurring &a;

    template <int B, int N> void of() const
    {
        const int rows = (a.y0 + a.height - 1) / a.is.unit_height + 1 - a.y;
        SAM_LAUNCH((mean_kernel<B, N>), dim3(a.cells.columns, a.cells.lines), MEAN_THREADS, 0, q,
                   a);
        SAM_LAUNCH((blur_kernel<B, N>), dim3(blocks_for(a.columns, BLUR_THREADS), rows),
                   BLUR_THREADS, 0, q, a);
        sam_cuda_launched(q, "blur");
    }
};

extern "C" void sam_blur_cuda(struct sam_queue *q, const struct sam_blur *p)
{
    const struct sam_frame *f = &p->frame;
    const struct sam_cover *c = p->cover;
    const bool has_fourth = f->format == SAM_PIXEL_RGBA || f->format == SAM_PIXEL_BGRA;
    const uint8_t *map = take_map(q, c);
    for (int i = 0; i < 3 && !q->status; i++) {
        blurring a = {};
        a.is = sam_frame_units(f, i);
        if (!a.is.units)
            continue;
        a.data = (uint8_t *) f->plane[i];
        a.stride = f->stride[i];
        a.cells = sam_blur_cells(p, i);
        a.written = has_fourth ? 3 : a.is.numbers;
        a.mean = (int *) p->room.data;
        a.smooth = c->smooth;
        a.map = map;
        a.x0 = c->x, a.y0 = c->y, a.width = c->width, a.height = c->height;
        a.x = c->x / a.is.unit_width, a.y = c->y / a.is.unit_height;
        a.columns = (c->x + c->width - 1) / a.is.unit_width + 1 - a.x;
        launch_for(f->format, a.is.numbers, blur_launch { q, a });
    }
}
