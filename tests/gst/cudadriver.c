/* SPDX-License-Identifier: MIT */
/* This program as the driver: libraries that GStreamer opens by name are the
 * program itself, with the emulator's calls. What only video codecs, textures
 * and OpenGL need is there in name. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#define SEEN __attribute__ ((visibility ("default")))

SEEN void *dlopen (const char *path, int flags);

SEEN void *
dlopen (const char *path, int flags)
{
  void *(*next) (const char *, int) =
      (void *(*)(const char *, int)) dlsym (RTLD_NEXT, "dlopen");

  if (path && (!strcmp (path, "libcuda.so.1")
          || !strcmp (path, "libnvcuvid.so.1")))
    path = NULL;
  return next (path, flags);
}

/* CUDA_ERROR_NOT_SUPPORTED */
#define ABSENT(name) SEEN int name (void); SEEN int name (void) { return 801; }

ABSENT (cuCtxEnablePeerAccess)
ABSENT (cuCtxDisablePeerAccess)
ABSENT (cuGLGetDevices_v2)
ABSENT (cuGraphicsGLRegisterBuffer)
ABSENT (cuGraphicsGLRegisterImage)
ABSENT (cuGraphicsMapResources)
ABSENT (cuGraphicsResourceGetMappedPointer_v2)
ABSENT (cuGraphicsResourceSetMapFlags_v2)
ABSENT (cuGraphicsSubResourceGetMappedArray)
ABSENT (cuGraphicsUnmapResources)
ABSENT (cuGraphicsUnregisterResource)
ABSENT (cuLaunchKernel)
ABSENT (cuModuleGetFunction)
ABSENT (cuModuleLoadData)
ABSENT (cuModuleUnload)
ABSENT (cuTexObjectCreate)
ABSENT (cuTexObjectDestroy)
ABSENT (cuvidCreateDecoder)
ABSENT (cuvidCreateVideoParser)
ABSENT (cuvidCtxLock)
ABSENT (cuvidCtxLockCreate)
ABSENT (cuvidCtxLockDestroy)
ABSENT (cuvidCtxUnlock)
ABSENT (cuvidDecodePicture)
ABSENT (cuvidDestroyDecoder)
ABSENT (cuvidDestroyVideoParser)
ABSENT (cuvidGetDecoderCaps)
ABSENT (cuvidMapVideoFrame64)
ABSENT (cuvidParseVideoData)
ABSENT (cuvidUnmapVideoFrame64)
