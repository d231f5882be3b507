// SPDX-License-Identifier: MIT
// The family's sizes, all of which stand in the shapes of tensors.
#include "yolov10.h"

#include <stdio.h>
#include <string.h>

bool yolo_is_c2f(int layer)
{
    return layer == 2 || layer == 4 || layer == 6 || layer == 8 || layer == 13 || layer == 16 ||
           layer == 19 || layer == 22;
}

int yolo_level_layer(int level)
{
    return 16 + 3 * level;
}

// Layers 12, 15, 18 and 21 put two maps side by side; 11 and 14 make one larger.
int yolo_width_in(const struct yolo_sizes *s, int layer)
{
    switch (layer) {
    case 0:  return 3;
    case 13: return s->width[10] + s->width[6];
    case 16: return s->width[13] + s->width[4];
    case 19: return s->width[17] + s->width[13];
    case 22: return s->width[20] + s->width[10];
    default: return s->width[layer - 1];
    }
}

static int read_size(const struct sam_weights *w, int16_t *out, const char *what, int layer,
                     const char *tensor, int axis, const int shape[4], struct sam_error *error)
{
    char name[96], text[96];
    int value, status;

    snprintf(name, sizeof(name), "model.%d.%s.weight", layer, tensor);
    snprintf(text, sizeof(text), "the %s of layer %d", what, layer);
    struct sam_size_from from = { name, axis, 4, { shape[0], shape[1], shape[2], shape[3] } };
    if ((status = sam_config_size(w, &from, &value, error)) ||
        (status = sam_config_ranges(&(struct sam_size_range) { text, value, 1, 4096, 1 }, 1,
                                    sam_weights_file(w), error)))
        return status;
    *out = (int16_t) value;
    return SAM_OK;
}

static int read_c2f(struct yolo_sizes *s, const struct sam_weights *w, int i,
                    struct sam_error *error)
{
    const int in = yolo_width_in(s, i);
    char name[96];
    int16_t both = 0;
    int status;

    if ((status = read_size(w, &both, "inner width", i, "cv1.conv", 0, (int[4]) { 0, in, 1, 1 },
                            error)))
        return status;
    if (both % 2)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: layer %d: expected an even number of channels after cv1, got %d",
                        sam_weights_file(w), i, both);
    s->inner[i] = both / 2;
    snprintf(name, sizeof(name), "model.%d.m.0.cv1.0.conv.weight", i);
    s->kind[i] = sam_weights_find(w, name) ? YOLO_CIB : YOLO_PLAIN;
    snprintf(name, sizeof(name), "model.%d.m.0.cv1.2.conv1.conv.weight", i);
    if (s->kind[i] && sam_weights_find(w, name))
        s->kind[i] = YOLO_CIB_LARGE;
    snprintf(name, sizeof(name), "model.%d.m.", i);
    const int repeats = sam_config_layers(
        w, name, s->kind[i] ? ".cv1.0.conv.weight" : ".cv1.conv.weight", YOLO_MAX_REPEATS);
    if (repeats < 1 || repeats > YOLO_MAX_REPEATS)
        return sam_fail(error, SAM_EFORMAT,
                        "%s: layer %d: expected 1 to %d bottlenecks, found %s%d",
                        sam_weights_file(w), i, YOLO_MAX_REPEATS, repeats ? "more than " : "",
                        repeats ? YOLO_MAX_REPEATS : 0);
    s->repeats[i] = (uint8_t) repeats;
    return read_size(w, &s->width[i], "width", i, "cv2.conv", 0,
                     (int[4]) { 0, (2 + repeats) * s->inner[i], 1, 1 }, error);
}

static int read_layer(struct yolo_sizes *s, const struct sam_weights *w, int i,
                      struct sam_error *error)
{
    const int in = yolo_width_in(s, i);
    int status;

    switch (i) {
    case 0: case 1: case 3: case 17:
        return read_size(w, &s->width[i], "width", i, "conv", 0, (int[4]) { 0, in, 3, 3 }, error);
    case 5: case 7: case 20:
        return read_size(w, &s->width[i], "width", i, "cv1.conv", 0, (int[4]) { 0, in, 1, 1 },
                         error);
    case 9:
        if ((status = read_size(w, &s->inner[i], "inner width", i, "cv1.conv", 0,
                                (int[4]) { 0, in, 1, 1 }, error)))
            return status;
        return read_size(w, &s->width[i], "width", i, "cv2.conv", 0,
                         (int[4]) { 0, 4 * s->inner[i], 1, 1 }, error);
    case 10:
        return read_size(w, &s->width[i], "width", i, "cv2.conv", 0, (int[4]) { 0, in, 1, 1 },
                         error);
    case 11: case 12: case 14: case 15: case 18: case 21:
        return SAM_OK; // no weights
    default:
        return read_c2f(s, w, i, error);
    }
}

static int read_head(struct yolo_sizes *s, const struct sam_weights *w, struct sam_error *error)
{
    const int in = s->width[yolo_level_layer(0)], last = YOLO_LAYERS;
    int status;

    if ((status = read_size(w, &s->box_width, "width of the boxes' branch", last,
                            "one2one_cv2.0.0.conv", 0, (int[4]) { 0, in, 3, 3 }, error)) ||
        (status = read_size(w, &s->class_width, "width of the classes' branch", last,
                            "one2one_cv3.0.0.1.conv", 0, (int[4]) { 0, in, 1, 1 }, error)))
        return status;
    return read_size(w, &s->classes, "number of classes", last, "one2one_cv3.0.2", 0,
                     (int[4]) { 0, s->class_width, 1, 1 }, error);
}

static void name_variant(struct sam_config *c)
{
    static const struct {
        const char *name;
        int first, ninth, repeats; // widths of layers 0 and 9, bottlenecks of layer 4
    } known[] = { { "n", 16, 256, 2 }, { "s", 32, 512, 2 }, { "m", 48, 576, 4 },
                  { "b", 64, 512, 4 }, { "l", 64, 512, 6 }, { "x", 80, 640, 6 } };
    const struct yolo_sizes *s = yolo_sizes(c);

    snprintf(c->variant, sizeof(c->variant), "custom");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (s->width[0] == known[i].first && s->width[9] == known[i].ninth &&
            s->repeats[4] == known[i].repeats)
            snprintf(c->variant, sizeof(c->variant), "yolov10%s", known[i].name);
}

int yolo_read(struct sam_config *c, const struct sam_weights *w, struct sam_error *error)
{
    struct yolo_sizes *s = (struct yolo_sizes *) c->trunk;
    int status = SAM_OK;

    _Static_assert(sizeof(*s) <= SAM_TRUNK_BYTES, "a family's sizes must fit their room");
    for (int i = 0; i < YOLO_LAYERS && !status; i++)
        status = read_layer(s, w, i, error);
    if (status || (status = read_head(s, w, error)))
        return status;
    const int half = s->width[10] / 2, heads = yolo_heads(s);
    if (s->width[10] % 2 || !heads || half % (2 * heads))
        return sam_fail(error, SAM_EFORMAT,
                        "%s: layer 10: its %d channels cannot be cut into heads of 64 to 127",
                        sam_weights_file(w), s->width[10]);
    c->image_size = 640;
    name_variant(c);
    return SAM_OK;
}
