// SPDX-License-Identifier: MIT
// Constant position tables, computed on the host in double and rounded once.
#ifndef SAM_POSITION_H
#define SAM_POSITION_H

// Sine map of side x side tokens, (side * side, c): y in the first half of the channels, x in
// the second; sin and cos alternate. Positions count from 1.
void sam_position_sine(int side, int c, float *dst);

// Random Fourier features of a point in [0, 1]^2: all sines, then all cosines, (c).
// gaussian: (2, c / 2), row 0 multiplies x.
void sam_position_fourier(const float *gaussian, int c, double x, double y, float *dst);

// The same at the centres of side x side cells, (side * side, c).
void sam_position_fourier_map(const float *gaussian, int side, int c, float *dst);

// Angles of rotary positions, (side * side, c): cos at 2i, sin at 2i + 1. The first half of the
// pairs turns with x, the second with y, both counted from 0.
void sam_position_rope(int side, int c, float *dst);

// A map (c, size, size) scaled to side x side, bicubic as PyTorch does it without antialiasing.
// dst (side * side, c). scratch: size * side * c floats.
void sam_position_scale(const float *map, int size, int side, int c, float *scratch, float *dst);

// Hiera's position: a background map, scaled likewise, plus a tiled window map
// (c, window, window).
void sam_position_hiera(const float *background, int size, const float *window, int window_size,
                        int side, int c, float *scratch, float *dst);

#endif // SAM_POSITION_H
