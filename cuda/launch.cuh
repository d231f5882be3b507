#pragma once

// A launch that the compiler of the emulated tests can read, too. A template kernel goes in
// parentheses, for its commas: SAM_LAUNCH((k<float, 64>), grid, block, shared, stream, ...)
#ifdef __CUDACC__
#define SAM_LAUNCH(kernel, grid, block, shared, stream, ...)                                   \
    kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#else
#define SAM_LAUNCH EMU_LAUNCH
#endif
