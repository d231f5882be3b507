// SPDX-License-Identifier: MIT
// What a failing case wanted and got, whole, for whoever looks for the fault elsewhere.
#include <stdio.h>
#include <string.h>

#include "check.h"

// Of letters that are no part of a path.
static void write_name(char *path, size_t size, const struct check *t)
{
    const size_t at = strlen(t->dump) + 1;
    snprintf(path, size, "%s/%s_%s.safetensors", t->dump, t->name, t->label);
    for (char *s = path + (at < size ? at : size - 1); *s; s++)
        if (*s == ' ' || *s == '/' || *s == '+')
            *s = '-';
}

static void write_header(FILE *f, const struct check *t, const struct sam_tensor *shape)
{
    const size_t bytes = sizeof(float) * sam_count(shape);
    char text[768];
    int n = snprintf(text, sizeof(text), "{\"__metadata__\": {\"case\": \"%s\", \"side\": \"%s\", "
                     "\"seed\": \"%llu\", \"type\": \"%s\"}", t->name, t->label,
                     (unsigned long long) t->seed, sam_type_name(shape->type));
    for (int s = CHECK_REF; s <= CHECK_NEW; s++)
        n += snprintf(text + n, sizeof(text) - (size_t) n,
                      ", \"%s\": {\"dtype\": \"F32\", \"shape\": [%d, %d, %d, %d], "
                      "\"data_offsets\": [%zu, %zu]}", s == CHECK_REF ? "want" : "got", shape->n,
                      shape->h, shape->w, shape->c, (size_t) s * bytes, (size_t) (s + 1) * bytes);
    n += snprintf(text + n, sizeof(text) - (size_t) n, "}");
    while (n % 8)
        text[n++] = ' ';
    const uint64_t length = (uint64_t) n; // little-endian, as the machines are that this runs on
    fwrite(&length, sizeof(length), 1, f);
    fwrite(text, 1, (size_t) n, f);
}

void check_dump(struct check *t, const struct check_buf *out)
{
    char path[512];
    if (!t->dump || t->dumped || t->stop_at_first)
        return;
    t->dumped = true;
    write_name(path, sizeof(path), t);
    FILE *f = fopen(path, "wb");
    if (!f) {
        printf("     %s: it cannot be written\n", path);
        return;
    }
    write_header(f, t, &out->host[CHECK_REF]);
    for (int s = CHECK_REF; s <= CHECK_NEW; s++)
        for (size_t i = 0; i < sam_count(&out->host[s]); i++) {
            const float v = sam_load(&out->host[s], i);
            fwrite(&v, sizeof(v), 1, f);
        }
    printf("     %s: %s\n", fclose(f) ? "it cannot be written whole" : "wanted and got", path);
}
