// SPDX-License-Identifier: MIT
#include "op_kinds.h"

#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

static void write_tensor(char *dst, size_t size, const struct sam_tensor *t)
{
    snprintf(dst, size, "%dx%dx%dx%d %s", t->n, t->h, t->w, t->c, sam_type_name(t->type));
}

// Of the first tensor of a contract.
static void write_shape(char *dst, size_t size, const char *name, const void *contract)
{
    const struct sam_linears *list = contract;
    const struct sam_norm_linears *normed = contract;
    const struct sam_tensor *first = contract;
    int count = 1;

    if (!strcmp(name, "linears") || !strcmp(name, "scatters")) {
        first = (const struct sam_tensor *) (const void *) list->each; // dst comes first in both
        count = list->count;
    } else if (!strcmp(name, "norm_linears")) {
        first = &normed->each[0].dst;
        count = normed->count;
    } else if (!strcmp(name, "paint") || !strcmp(name, "blur") ||
               !strcmp(name, "replace")) {
        snprintf(dst, size, "frame");
        return;
    }
    write_tensor(dst, size, first);
    if (count > 1)
        snprintf(dst + strlen(dst), size - strlen(dst), " (%d)", count);
}

struct op_kind *op_kinds_find(struct op_kinds *kinds, const char *name, const void *contract,
                              const char *more)
{
    char shape[sizeof(kinds->kind[0].shape)];

    write_shape(shape, sizeof(shape), name, contract);
    snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s", more);
    for (int i = 0; i < kinds->count; i++)
        if (!strcmp(kinds->kind[i].name, name) && !strcmp(kinds->kind[i].shape, shape))
            return &kinds->kind[i];
    if (kinds->count == OP_KINDS)
        return NULL;
    struct op_kind *k = &kinds->kind[kinds->count++];
    snprintf(k->name, sizeof(k->name), "%s", name);
    strcpy(k->shape, shape);
    return k;
}

static int by_time(const void *a, const void *b)
{
    const struct op_kind *x = a, *y = b;
    return (x->ms < y->ms) - (x->ms > y->ms);
}

void op_kinds_write(struct op_kinds *kinds, FILE *f, int frames)
{
    const double n = frames ? frames : 1;

    qsort(kinds->kind, (size_t) kinds->count, sizeof(*kinds->kind), by_time);
    fputc('[', f);
    for (int i = 0; i < kinds->count; i++) {
        const struct op_kind *k = &kinds->kind[i];
        fprintf(f, "%s[\"%s\", \"%s\", %.1f, %.2f, %.4f, %.4f, %s]", i ? ", " : "", k->name,
                k->shape, (double) k->calls / n, 1e3 * k->ms / n, 1e-9 * k->flop / n,
                1e-6 * k->bytes / n, k->is_library ? "true" : "false");
    }
    fputc(']', f);
}
