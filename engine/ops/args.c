// SPDX-License-Identifier: MIT
#include "ops/args.h"

#include <stdio.h>

static size_t describe(char *s, size_t size, const struct arg *a)
{
    int len;
    if (a->tensor && !a->tensor->data)
        len = snprintf(s, size, "%s none", a->name);
    else if (a->tensor)
        len = snprintf(s, size, "%s %s (%d, %d, %d, %d)", a->name, sam_type_name(a->tensor->type),
                       a->tensor->n, a->tensor->h, a->tensor->w, a->tensor->c);
    else if (a->matrix)
        len = snprintf(s, size, "%s (%d x %d)", a->name, a->matrix->out, a->matrix->in);
    else
        len = snprintf(s, size, "%s %g", a->name, a->number);
    return len < 0 ? 0 : (size_t) len < size ? (size_t) len : size - 1;
}

void sam_refuse(struct sam_queue *q, const char *op, const char *need, const struct arg *args)
{
    char got[256] = "";
    size_t used = 0;
    for (const struct arg *a = args; a->name && used + 1 < sizeof(got); a++) {
        used += (size_t) snprintf(got + used, sizeof(got) - used, "%s", a == args ? "" : ", ");
        if (used + 1 < sizeof(got))
            used += describe(got + used, sizeof(got) - used, a);
    }
    sam_queue_fail(q, SAM_EINVAL, "%s: need %s; got %s", op, need, got);
}

static bool is_absent(const struct arg *a)
{
    return a->tensor ? !a->tensor->data : !a->matrix || !a->matrix->data;
}

static bool type_allowed(const struct arg *a)
{
    switch (a->tensor->type) {
    case SAM_F32:  return a->flags & ARG_F32;
    case SAM_BF16: return a->flags & ARG_BF16;
    case SAM_I32:  return a->flags & ARG_I32;
    case SAM_F16:
    case SAM_U8:   return false;
    }
    return false;
}

static const char *wanted_types(const struct arg *a)
{
    return (a->flags & ARG_ACTIVATION) == ARG_ACTIVATION ? "f32 or bf16"
         : a->flags & ARG_I32                            ? "i32" : "f32";
}

bool sam_args_overlap(const struct sam_tensor *a, const struct sam_tensor *b)
{
    const uintptr_t a0 = (uintptr_t) a->data, b0 = (uintptr_t) b->data;
    return a0 < b0 + sam_tensor_bytes(b) && b0 < a0 + sam_tensor_bytes(a);
}

static bool same_memory(const struct sam_tensor *a, const struct sam_tensor *b)
{
    return a->data == b->data && a->type == b->type && sam_count(a) == sam_count(b);
}

static bool check_one(struct sam_queue *q, const char *op, const struct arg *a,
                      const struct arg *args)
{
    char need[96];
    const bool is_number = !a->tensor && !a->matrix;
    if (is_number || (is_absent(a) && a->flags & ARG_OPTIONAL))
        return true;
    if (is_absent(a)) {
        snprintf(need, sizeof(need), "memory behind %s", a->name);
    } else if (a->matrix) {
        return true;
    } else if (!type_allowed(a)) {
        snprintf(need, sizeof(need), "%s of type %s", a->name, wanted_types(a));
    } else if (a->tensor->n < 1 || a->tensor->h < 1 || a->tensor->w < 1 || a->tensor->c < 1) {
        snprintf(need, sizeof(need), "extents of at least 1 in %s", a->name);
    } else {
        return true;
    }
    sam_refuse(q, op, need, args);
    return false;
}

// Whether the output `out` shares bytes with an argument that it may not share them with.
static bool check_overlap(struct sam_queue *q, const char *op, const struct arg *out,
                          const struct arg *args)
{
    for (const struct arg *a = args; a->name; a++) {
        if (a == out || !a->tensor || is_absent(a) || !sam_args_overlap(out->tensor, a->tensor))
            continue;
        const bool may = a->flags & ARG_MAY_BE_OUT;
        if (may && same_memory(out->tensor, a->tensor))
            continue;
        char need[96];
        snprintf(need, sizeof(need), "%s and %s %s", out->name, a->name,
                 may ? "to be the same tensor or apart" : "apart in memory");
        sam_refuse(q, op, need, args);
        return false;
    }
    return true;
}

bool sam_check_args(struct sam_queue *q, const char *op, const struct arg *args)
{
    for (const struct arg *a = args; a->name; a++)
        if (!check_one(q, op, a, args))
            return false;
    for (const struct arg *a = args; a->name; a++)
        if (a->flags & ARG_OUT && !is_absent(a) && !check_overlap(q, op, a, args))
            return false;
    return true;
}
