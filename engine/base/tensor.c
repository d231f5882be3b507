// SPDX-License-Identifier: MIT
#include "tensor.h"

#include <assert.h>
#include <math.h>

#include "half.h"

#define MAX_I32 0x1.fffffep30f // the largest float below 2^31

size_t sam_type_size(enum sam_type type)
{
    switch (type) {
    case SAM_F32:
    case SAM_I32:  return 4;
    case SAM_BF16:
    case SAM_F16:  return 2;
    case SAM_U8:   return 1;
    }
    return 0;
}

const char *sam_type_name(enum sam_type type)
{
    switch (type) {
    case SAM_F32:  return "f32";
    case SAM_BF16: return "bf16";
    case SAM_F16:  return "f16";
    case SAM_U8:   return "u8";
    case SAM_I32:  return "i32";
    }
    return "?";
}

size_t sam_tensor_bytes(const struct sam_tensor *t)
{
    return sam_count(t) * sam_type_size(t->type);
}

struct sam_tensor sam_reshape(struct sam_tensor t, int n, int h, int w, int c)
{
    assert((size_t) n * h * w * c == sam_count(&t));
    t.n = n, t.h = h, t.w = w, t.c = c;
    return t;
}

struct sam_tensor sam_slice(struct sam_tensor t, int n)
{
    assert(n >= 0 && n < t.n);
    t.n = 1;
    if (t.data)
        t.data = (uint8_t *) t.data + n * sam_tensor_bytes(&t);
    return t;
}

struct sam_tensor sam_first(struct sam_tensor t, int count)
{
    assert(count >= 0 && count <= t.n);
    t.n = count;
    return t;
}

float sam_load(const struct sam_tensor *t, size_t i)
{
    switch (t->type) {
    case SAM_F32:  return ((const float *) t->data)[i];
    case SAM_BF16: return sam_bf16_to_float(((const sam_bf16 *) t->data)[i]);
    case SAM_F16:  return sam_half_to_float(((const sam_half *) t->data)[i]);
    case SAM_U8:   return ((const uint8_t *) t->data)[i];
    case SAM_I32:  return (float) ((const int32_t *) t->data)[i];
    }
    return 0.0f;
}

static float clamp_round(float v, float lo, float hi)
{
    return isnan(v) ? 0.0f : v <= lo ? lo : v >= hi ? hi : rintf(v);
}

void sam_store(const struct sam_tensor *t, size_t i, float v)
{
    switch (t->type) {
    case SAM_F32:  ((float *) t->data)[i] = v; return;
    case SAM_BF16: ((sam_bf16 *) t->data)[i] = sam_bf16_from_float(v); return;
    case SAM_F16:  ((sam_half *) t->data)[i] = sam_half_from_float(v); return;
    case SAM_U8:   ((uint8_t *) t->data)[i] = (uint8_t) clamp_round(v, 0, 255); return;
    case SAM_I32:  ((int32_t *) t->data)[i] = (int32_t) clamp_round(v, -0x1p31f, MAX_I32); return;
    }
}
