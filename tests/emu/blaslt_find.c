// SPDX-License-Identifier: MIT
// Where cuBLASLt is looked for: in each of these places it is found; with a file that is named,
// nowhere else. Neither folders nor libraries of this machine are opened.
#define _GNU_SOURCE // dl_phdr_info

#include <dlfcn.h>
#include <fnmatch.h>
#include <glob.h>
#include <link.h>
#include <stdlib.h>

#include "../expect.h"
#include "backend.h"

#define VENV "/made-up/venv"

static const char *there; // the only library
static char tried[4096];  // names that dlopen() got
static char *match[1];

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags)
{
    (void) flags;
    const size_t used = strlen(tried);
    snprintf(tried + used, sizeof(tried) - used, "%s ", name ? name : "process");
    return there && name && !strcmp(name, there) ? tried : NULL;
}

// Every folder has one, and its wildcards stand for "12" or "x".
int __wrap_glob(const char *pattern, int flags, int (*f)(const char *, int), glob_t *files);
int __wrap_glob64(const char *pattern, int flags, int (*f)(const char *, int), glob_t *files);
int __wrap_glob64(const char *pattern, int flags, int (*f)(const char *, int), glob_t *files)
{
    (void) flags, (void) f;
    if (!there || fnmatch(pattern, there, FNM_PATHNAME | FNM_PERIOD))
        return GLOB_NOMATCH;
    match[0] = (char *) there;
    files->gl_pathc = 1;
    files->gl_pathv = match;
    return 0;
}

int __wrap_glob(const char *pattern, int flags, int (*f)(const char *, int), glob_t *files)
{
    return __wrap_glob64(pattern, flags, f, files);
}

void __wrap_globfree(glob_t *files);
void __wrap_globfree64(glob_t *files);
void __wrap_globfree64(glob_t *files)
{
    *files = (glob_t) { 0 };
}

void __wrap_globfree(glob_t *files)
{
    __wrap_globfree64(files);
}

// What the process has loaded. A folder of many is remembered once.
static const char *const *loaded;

typedef int heard(struct dl_phdr_info *info, size_t size, void *data);
int __wrap_dl_iterate_phdr(heard *hear, void *data);
int __wrap_dl_iterate_phdr(heard *hear, void *data)
{
    for (int i = 0; loaded && loaded[i]; i++) {
        struct dl_phdr_info info = { .dlpi_name = loaded[i] };
        if (hear(&info, sizeof(info), data))
            return 1;
    }
    return 0;
}

static bool take(void *library, void *data)
{
    ++*(int *) data;
    return library == tried;
}

static bool find(const char *path, char why[320])
{
    int taken = 0;

    there = path;
    tried[0] = why[0] = 0;
    const bool found = sam_blaslt_find(take, &taken, why, 320);
    expect(taken == found, "%s: taken %d times", path ? path : "nothing", taken);
    return found;
}

static void check_places(void)
{
    static const char *const places[] = {
        "libcublasLt.so.12",
        "/made-up/cuda/lib64/libcublasLt.so.13",
        "/made-up/cuda/targets/x/lib/libcublasLt.so.12",
        "/usr/local/cuda/lib64/libcublasLt.so.13",
        "/usr/local/cuda/targets/x/lib/libcublasLt.so.13",
        "/made-up/other/lib/libcublasLt.so.12",
        "/made-up/torch/lib/python3.12/site-packages/nvidia/cublas/lib/libcublasLt.so.12",
        "/made-up/torch/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
        "/made-up/debian/dist-packages/nvidia/cu13/lib/libcublasLt.so.13",
        "/made-up/conda/lib/libcublasLt.so.12",
        "/made-up/conda/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
        VENV "/lib/python3.12/site-packages/nvidia/cublas/lib/libcublasLt.so.12",
        "/made-up/home/.local/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13",
        "/usr/local/lib/python3.12/dist-packages/nvidia/cu13/lib/libcublasLt.so.13",
        "/usr/lib/python3/dist-packages/nvidia/cublas/lib/libcublasLt.so.12",
    };
    char why[320];

    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        expect(find(places[i], why), "%s is not found: %s", places[i], why);
        expect(!strncmp(tried, "process libcublasLt.so.13 ", 26), "first: %s", tried);
    }
    expect(!find("/made-up/elsewhere/libcublasLt.so.13", why), "found elsewhere");
    expect(!find(NULL, why) && strstr(why, "SAMTRACK_CUBLASLT"), "%s", why);
    printf("%s\n", why);
}

// A folder of the environment that is no absolute path is none.
static void check_variables(void)
{
    char why[320];

    setenv("VIRTUAL_ENV", "made-up", 1);
    unsetenv("CUDA_HOME");
    expect(!find("made-up/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13", why),
           "found in a folder that is not absolute");
    expect(!find("/made-up/cuda/lib64/libcublasLt.so.13", why), "found without a variable");
    setenv("SAMTRACK_CUBLASLT", "/made-up/own.so", 1);
    expect(find("/made-up/own.so", why) && !strcmp(tried, "/made-up/own.so "), "tried %s", tried);
    expect(!find("libcublasLt.so.13", why) && !strcmp(tried, "/made-up/own.so "), "tried %s",
           tried);
    expect(strstr(why, "/made-up/own.so") && strstr(why, "SAMTRACK_CUBLASLT"), "%s", why);
    printf("%s\n", why);
    setenv("SAMTRACK_CUBLASLT", "", 1);
    expect(find("libcublasLt.so.13", why), "an empty variable is none");
}

int main(void)
{
    static const char *const objects[] = {
        "", "linux-vdso.so.1", "/lib/libc.so.6", "/made-up/other/lib/libcudart.so.12",
        "/made-up/torch/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so",
        "/made-up/torch/lib/python3.12/site-packages/torch/lib/libc10.so", "/a", "/b", "/c", "/d",
        "/made-up/debian/dist-packages/gi/_gi.so", NULL,
    };

    loaded = objects;
    unsetenv("SAMTRACK_CUBLASLT");
    setenv("CUDA_HOME", "/made-up/cuda", 1);
    setenv("CONDA_PREFIX", "/made-up/conda", 1);
    setenv("VIRTUAL_ENV", VENV, 1);
    setenv("HOME", "/made-up/home", 1);
    check_places();
    check_variables();
    return expect_status();
}
