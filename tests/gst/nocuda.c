/* SPDX-License-Identifier: MIT */
/* Preloaded: a machine without any CUDA library, GStreamer's included. Adds
 * the names that were asked for to the file $NOCUDA_ASKED. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEN __attribute__ ((visibility ("default")))

static int
is_of_cuda (const char *path)
{
  static const char *const names[] = { "libcu", "libnv", "libgstcuda" };
  const char *slash = strrchr (path, '/');
  const char *name = slash ? slash + 1 : path;
  unsigned i;

  /* libcurl and libcups are nobody's business */
  if (!strncmp (name, "libcurl", 7) || !strncmp (name, "libcups", 7))
    return 0;
  for (i = 0; i < sizeof names / sizeof names[0]; i++)
    if (!strncmp (name, names[i], strlen (names[i])))
      return 1;
  return 0;
}

/* The name to look for instead: one that is nowhere, so that dlerror() says
 * so. */
static const char *
refuse (const char *path)
{
  const char *asked = getenv ("NOCUDA_ASKED");
  FILE *f;

  if (!path || !is_of_cuda (path))
    return path;
  if (asked && (f = fopen (asked, "a"))) {
    fprintf (f, "%s\n", path);
    fclose (f);
  }
  return "/none/such.so";
}

SEEN void *
dlopen (const char *path, int flags)
{
  void *(*next) (const char *, int) =
      (void *(*)(const char *, int)) dlsym (RTLD_NEXT, "dlopen");

  return next (refuse (path), flags);
}

SEEN void *
dlmopen (Lmid_t space, const char *path, int flags)
{
  void *(*next) (Lmid_t, const char *, int) =
      (void *(*)(Lmid_t, const char *, int)) dlsym (RTLD_NEXT, "dlmopen");

  return next (space, refuse (path), flags);
}
