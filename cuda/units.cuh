// SPDX-License-Identifier: MIT
// Units of a frame's planes, see struct sam_units: their numbers, the kernel for their kind, and
// the cover of their pixels on the device.
#pragma once

#include "view.cuh"

// A number of B bytes; P010's may begin anywhere.
template <int B> static __device__ int load_number(const uint8_t *at)
{
    return B == 1 ? at[0] : at[0] | at[1] << 8;
}

template <int B> static __device__ void store_number(uint8_t *at, int v)
{
    at[0] = (uint8_t) (B == 1 ? v : v & 0xc0);
    if (B == 2)
        at[1] = (uint8_t) (v >> 8);
}

// Calls launch.of<B, N>() with the bytes of a number and the numbers of a unit.
template <typename T>
static void launch_for(enum sam_pixel_format format, int numbers, const T &launch)
{
    if (format == SAM_PIXEL_P010 && numbers == 1)
        launch.template of<2, 1>();
    else if (format == SAM_PIXEL_P010)
        launch.template of<2, 2>();
    else if (numbers == 1)
        launch.template of<1, 1>();
    else if (numbers == 2)
        launch.template of<1, 2>();
    else if (numbers == 3)
        launch.template of<1, 3>();
    else
        launch.template of<1, 4>();
}

// Rows close together. NULL: the queue has failed.
static inline const uint8_t *take_map(struct sam_queue *q, const struct sam_cover *c)
{
    uint8_t *map = (uint8_t *) sam_cuda_room(q, (size_t) c->width * c->height);
    if (map)
        sam_cuda_upload_rows(q, map, c->map, c->stride, c->width, c->height);
    return map;
}
