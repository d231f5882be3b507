// SPDX-License-Identifier: MIT
// Feeds files to a fuzz target, where there is no libFuzzer: every file of the folders named.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static int replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    long size = -1;
    if (f && !fseek(f, 0, SEEK_END))
        size = ftell(f);
    uint8_t *data = size >= 0 ? malloc(size ? size : 1) : NULL; // exact: a read beyond it is seen
    if (!data || fseek(f, 0, SEEK_SET) || fread(data, 1, size, f) != (size_t) size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(f);
    fprintf(stderr, "%s\n", path); // the last line before a crash names the file
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

int main(int argc, char **argv)
{
    int files = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            files += replay(argv[i]);
            continue;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[4096];
            snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
            if (entry->d_name[0] != '.')
                files += replay(path);
        }
        closedir(folder);
    }
    printf("%d files\n", files);
    return files == 0;
}
