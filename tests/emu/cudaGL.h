// SPDX-License-Identifier: MIT
// The one type that libgstcuda's headers take from here.
#ifndef EMU_CUDA_GL_H
#define EMU_CUDA_GL_H

#include "cuda.h"

typedef enum CUGLDeviceList_enum { CU_GL_DEVICE_LIST_ALL = 1 } CUGLDeviceList;

#endif // EMU_CUDA_GL_H
