// SPDX-License-Identifier: MIT
#include "golden.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../raw.h"
#include "model/parts.h"

static void die(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static const struct sam_weight *find(const struct golden *g, const char *stage)
{
    const struct sam_weight *w = sam_weights_find(g->file, stage);
    if (!w) {
        fprintf(stderr, "%s: no stage %s\n", g->path, stage);
        exit(1);
    }
    return w;
}

bool golden_has(const struct golden *g, const char *stage)
{
    return sam_weights_find(g->file, stage) != NULL;
}

int golden_extent(const struct golden *g, const char *stage, int i)
{
    return (int) find(g, stage)->shape[i];
}

int64_t golden_integer(const struct golden *g, const char *stage)
{
    int64_t v;
    if (!read_raw(g->path, find(g, stage), 0, &v, sizeof(v)))
        die("the golden cannot be read");
    return v;
}

static void to_nhwc(const struct sam_weight *w, const float *src, float *dst)
{
    const size_t n = w->shape[0], c = w->shape[1], px = w->shape[2] * w->shape[3];
    for (size_t b = 0; b < n; b++)
        for (size_t i = 0; i < c; i++)
            for (size_t p = 0; p < px; p++)
                dst[(b * px + p) * c + i] = src[(b * c + i) * px + p];
}

float *golden_read(const struct golden *g, const char *stage, enum golden_layout layout,
                   size_t *count)
{
    const struct sam_weight *w = sam_weights_find(g->file, stage);
    if (!w)
        return NULL;
    size_t n = 1;
    for (int i = 0; i < w->rank; i++)
        n *= w->shape[i];
    float *v = malloc(n * sizeof(float));
    struct sam_error error;
    if (!v || sam_weights_read(g->file, stage, w->rank, w->shape, v, &error))
        die(v ? error.text : "no memory");
    if (layout == GOLDEN_NCHW && w->rank == 4) {
        float *t = malloc(n * sizeof(float));
        to_nhwc(w, v, t);
        free(v);
        v = t;
    }
    if (count)
        *count = n;
    return v;
}

// ---- what lies beside the golden

static void beside(const struct golden *g, const char *name, char *path, size_t size)
{
    const char *slash = strrchr(g->path, '/');
    snprintf(path, size, "%.*s%s", slash ? (int) (slash - g->path + 1) : 0, g->path, name);
}

static void add_point(float xy[][2], int *labels, int i, double x, double y, int label)
{
    xy[i][0] = (float) x;
    xy[i][1] = (float) y;
    labels[i] = label;
}

// Box corners first, then points: the order in which the published predictor encodes them.
static int item_points(json_t *item, float xy[][2], int *labels, int n, int max)
{
    json_t *box = json_object_get(item, "box"), *points = json_object_get(item, "points");
    for (int i = 0; box && i < 2 && n < max; i++, n++)
        add_point(xy, labels, n, json_number_value(json_array_get(box, 2 * i)),
                  json_number_value(json_array_get(box, 2 * i + 1)), SAM_LABEL_BOX0 + i);
    for (size_t i = 0; i < json_array_size(points) && n < max; i++, n++) {
        json_t *p = json_array_get(points, i);
        add_point(xy, labels, n, json_number_value(json_array_get(p, 0)),
                  json_number_value(json_array_get(p, 1)),
                  (int) json_integer_value(json_array_get(json_object_get(item, "labels"), i)));
    }
    return n;
}

int golden_points(const struct golden *g, int object, int frame, float xy[][2], int *labels,
                  int max)
{
    char path[512], name[128];
    beside(g, "scenarios.json", path, sizeof(path));
    const char *slash = strrchr(g->path, '/'), *base = slash ? slash + 1 : g->path;
    snprintf(name, sizeof(name), "%.*s", (int) strcspn(base, "."), base);

    json_t *root = json_load_file(path, 0, NULL), *item;
    json_t *items = json_object_get(json_object_get(root, "scenarios"), name);
    size_t i;
    int n = -1;
    json_array_foreach(items, i, item) {
        if (json_integer_value(json_object_get(item, "frame")) != frame ||
            json_integer_value(json_object_get(item, "obj")) != object)
            continue;
        if (json_object_get(item, "mask")) {
            n = -1;
            break;
        }
        n = item_points(item, xy, labels, n < 0 ? 0 : n, max);
    }
    json_decref(root);
    return n;
}

uint8_t *golden_frame(const struct golden *g, int index, int side)
{
    char path[512];
    beside(g, "frames.safetensors", path, sizeof(path));
    struct sam_weights *clip;
    if (sam_weights_open(&clip, path, NULL, NULL))
        return NULL;
    const struct sam_weight *w = sam_weights_find(clip, "frames");
    uint8_t *rgb = NULL;
    if (w && w->rank == 4 && index < w->shape[0] && w->shape[1] == side && w->shape[2] == side) {
        const size_t bytes = (size_t) side * side * 3;
        rgb = malloc(bytes);
        if (!read_raw(path, w, index * bytes, rgb, bytes))
            die("the clip cannot be read");
    }
    sam_weights_close(&clip);
    return rgb;
}
