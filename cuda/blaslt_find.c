// SPDX-License-Identifier: MIT
// Where cuBLASLt is looked for. It is not linked: toolkits, containers and packages of Python each
// have it in another folder, where no loader finds it.
//
// $SAMTRACK_CUBLASLT names the file, and then no other is tried. Else, in this order: the process;
// the loader's folders; the toolkit's; beside what the process has loaded from a toolkit or from
// Python's packages; the packages of $CONDA_PREFIX, $VIRTUAL_ENV, the user and the system. In each
// the version that fits the runtime comes first. Programs with raised rights read no variable.
#define _GNU_SOURCE // dl_iterate_phdr, secure_getenv

#include "backend.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKAGES "/nvidia/*/lib" // of pip: nvidia/cublas/lib, nvidia/cu13/lib

enum { OLDEST = 12, NEWEST = 13, LOADED = 8 };

struct search {
    sam_blaslt_take *take;
    void *data;
    int version[NEWEST - OLDEST + 1];
    int num_loaded;
    char loaded[LOADED][PATH_MAX]; // folders
};

struct place {
    const char *variable, *root; // the root is the variable's value, if it has one
    const char *folder;          // below it; wildcards are for glob()
};

static const struct place toolkits[] = {
    { "CUDA_HOME", NULL, "/lib64" },
    { "CUDA_HOME", NULL, "/targets/*/lib" },
    { NULL, "/usr/local/cuda", "/lib64" },
    { NULL, "/usr/local/cuda", "/targets/*/lib" },
};

static const struct place pythons[] = {
    { "CONDA_PREFIX", NULL, "/lib" },
    { "CONDA_PREFIX", NULL, "/lib/python3*/site-packages" PACKAGES },
    { "VIRTUAL_ENV", NULL, "/lib/python3*/site-packages" PACKAGES },
    { "HOME", NULL, "/.local/lib/python3*/site-packages" PACKAGES },
    { NULL, "/usr/local", "/lib/python3*/*-packages" PACKAGES },
    { NULL, "/usr", "/lib/python3*/*-packages" PACKAGES },
};

// A library with kernels in a context is not one to unload: it stays loaded.
static bool try_file(const struct search *s, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

    return library && s->take(library, s->data);
}

static bool try_folder(const struct search *s, const char *root, const char *folder)
{
    const size_t versions = sizeof(s->version) / sizeof(*s->version);
    bool found = false;

    for (size_t v = 0; v < versions && !found; v++) {
        char pattern[2 * PATH_MAX];
        glob_t files = { 0 };
        const int length = snprintf(pattern, sizeof(pattern), "%s%s/libcublasLt.so.%d", root,
                                    folder, s->version[v]);
        if (length >= (int) sizeof(pattern))
            continue;
        if (!glob(pattern, 0, NULL, &files))
            for (size_t i = 0; i < files.gl_pathc && !found; i++)
                found = try_file(s, files.gl_pathv[i]);
        globfree(&files);
    }
    return found;
}

static bool try_places(const struct search *s, const struct place *place, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *root = place[i].variable ? secure_getenv(place[i].variable) : place[i].root;
        if (root && root[0] == '/' && try_folder(s, root, place[i].folder))
            return true;
    }
    return false;
}

static bool try_loader(const struct search *s)
{
    for (size_t v = 0; v < sizeof(s->version) / sizeof(*s->version); v++) {
        char name[32];
        snprintf(name, sizeof(name), "libcublasLt.so.%d", s->version[v]);
        if (try_file(s, name))
            return true;
    }
    return false;
}

// The folder that a loaded library of a toolkit or of a package of Python points to. Only
// remembered here: the loader's lock is held.
static int remember_folder(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *s = data;
    const char *path = info->dlpi_name, *name = strrchr(path, '/'), *packages = NULL;
    char folder[PATH_MAX];

    if (path[0] != '/' || strlen(path) + sizeof(PACKAGES) > sizeof(folder))
        return 0;
    if (!(packages = strstr(path, "/site-packages/")))
        packages = strstr(path, "/dist-packages/");
    if (packages)
        snprintf(folder, sizeof(folder), "%.*s%s",
                 (int) (packages - path + strlen("/site-packages")), path, PACKAGES);
    else if (!strncmp(name, "/libcudart.so", 13))
        snprintf(folder, sizeof(folder), "%.*s", (int) (name - path), path);
    else
        return 0;
    for (int i = 0; i < s->num_loaded; i++)
        if (!strcmp(s->loaded[i], folder))
            return 0;
    strcpy(s->loaded[s->num_loaded++], folder);
    return s->num_loaded == LOADED; // enough
}

static bool try_loaded(struct search *s)
{
    dl_iterate_phdr(remember_folder, s);
    for (int i = 0; i < s->num_loaded; i++)
        if (try_folder(s, s->loaded[i], ""))
            return true;
    return false;
}

static bool search(struct search *s)
{
    return try_file(s, NULL) || try_loader(s)
           || try_places(s, toolkits, sizeof(toolkits) / sizeof(*toolkits)) || try_loaded(s)
           || try_places(s, pythons, sizeof(pythons) / sizeof(*pythons));
}

bool sam_blaslt_find(sam_blaslt_take *take, void *data, char *why, size_t size)
{
    const char *named = secure_getenv("SAMTRACK_CUBLASLT");
    int runtime = 0;

    struct search *s = calloc(1, sizeof(*s));
    if (!s) {
        snprintf(why, size, "no memory to look for it");
        return false;
    }
    *s = (struct search) { .take = take, .data = data, .version = { NEWEST, OLDEST } };
    cudaRuntimeGetVersion(&runtime);
    if (runtime / 1000 == OLDEST)
        s->version[0] = OLDEST, s->version[1] = NEWEST;
    const bool found = named && *named ? try_file(s, named) : search(s);
    free(s);
    if (!found && named && *named)
        snprintf(why, size, "%.200s, which SAMTRACK_CUBLASLT names, is not such a library", named);
    else if (!found)
        snprintf(why, size, "no libcublasLt.so.%d or .%d is found; SAMTRACK_CUBLASLT may name it",
                 NEWEST, OLDEST);
    return found;
}
