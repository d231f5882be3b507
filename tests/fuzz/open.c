// SPDX-License-Identifier: MIT
// Whole opens: weights and JSON, plan, load, two frames. The weights are written from a text that
// describes them, so that a few bytes make another whole model.
//
// The first line of the text holds settings, a letter and a number each: "d=16". The second is the
// JSON, or empty. Each further line is a tensor: its name, its type, its extents; an extent is a
// number, or a small letter's setting with a factor before it or a divisor behind: "3e", "d/8".
// Capital letters are about the run: D odd: as a detector; J place of the JSON, N numbers (enum
// numbers), O objects, P precision, S seed of the numbers, W side of a detector's input. "!1"
// behind a tensor's extents is its own N.
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include <samtrack/detector.h>

#include "folder.h"

enum {
    MAX_TENSORS = 1024,
    MAX_DATA = 4 << 20, // bytes of numbers; what the header claims beyond that is not there
    MAX_HEADER = 1 << 18,
    WIDTH = 48,
    HEIGHT = 32,
};

enum numbers { SMALL, LARGEST, ZERO, TINIEST, ANY, NUMBERS };

struct maker {
    long setting[128];
    char header[MAX_HEADER];
    size_t header_bytes;
    uint8_t *data;
    size_t data_bytes, claimed; // bytes of numbers that are there, and that the header tells of
    uint64_t random;
};

// splitmix64
static uint64_t next(struct maker *m)
{
    uint64_t z = m->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void say(struct maker *m, const char *text, size_t bytes)
{
    if (m->header_bytes + bytes < MAX_HEADER) {
        memcpy(m->header + m->header_bytes, text, bytes);
        m->header_bytes += bytes;
    }
}

static void say_text(struct maker *m, const char *text)
{
    say(m, text, strlen(text));
}

static void say_number(struct maker *m, long number)
{
    char text[32];
    snprintf(text, sizeof(text), "%ld", number);
    say_text(m, text);
}

// ---- Numbers.

struct type {
    const char *name;
    int bytes;
    uint64_t sign, fraction, small, largest; // bits; small: of the exponent of 2^-6
};

static const struct type types[] = {
    { "F16", 2, 0x8000, 0x3ff, 0x2400, 0x7bff },
    { "BF16", 2, 0x8000, 0x7f, 0x3c80, 0x7f7f },
    { "F32", 4, 0x80000000, 0x7fffff, 0x3c800000, 0x7f7fffff },
    { "F64", 8, 0, 0, 0, 0 },
    { "U8", 1, 0, 0, 0, 0 },
};

static uint64_t draw(struct maker *m, const struct type *t, enum numbers kind)
{
    const uint64_t bits = next(m);
    switch (kind) {
    case SMALL: return (bits & (t->sign | t->fraction)) | t->small;
    case LARGEST: return (bits & t->sign) | t->largest;
    case TINIEST: return (bits & t->sign) | 1;
    case ANY: return bits;
    default: return 0;
    }
}

static void write_numbers(struct maker *m, const struct type *t, size_t bytes, enum numbers kind)
{
    m->claimed += bytes;
    for (size_t at = 0; at + t->bytes <= bytes && m->data_bytes + t->bytes <= MAX_DATA;
         at += t->bytes, m->data_bytes += t->bytes) {
        const uint64_t number = draw(m, t, kind);
        memcpy(m->data + m->data_bytes, &number, t->bytes); // little-endian, as the file
    }
}

// ---- The text.

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static const char *end_of_line(const char *at, const char *end)
{
    const char *line = memchr(at, '\n', end - at);
    return line ? line : end;
}

static void read_settings(struct maker *m, const char *at, const char *end)
{
    for (; end - at > 2; at++)
        if (is_letter(at[0]) && at[1] == '=')
            m->setting[(int) at[0]] = strtol(at + 2, NULL, 10) % 1000000;
}

static long read_extent(const struct maker *m, const char *word)
{
    char *at;
    const long factor = strtol(word, &at, 10);
    if (!is_letter(*at))
        return factor;
    const long by = at[1] == '/' ? strtol(at + 2, NULL, 10) : 1;
    const long value = m->setting[(int) *at];
    return (at == word ? 1 : factor % 100000) * (by ? value / by : value);
}

// "NAME TYPE EXTENT ... [!N]", NUL-terminated.
static void add_tensor(struct maker *m, char *line)
{
    static const char space[] = " ";
    char *rest, *name = strtok_r(line, space, &rest), *word = strtok_r(NULL, space, &rest);
    const struct type *t = &types[0];
    enum numbers kind = (enum numbers) (m->setting['N'] % NUMBERS);
    uint64_t bytes;
    if (!name || !word)
        return;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (!strcmp(types[i].name, word))
            t = &types[i];
    bytes = t->bytes;
    say_text(m, m->header_bytes > 1 ? ",\"" : "\"");
    say_text(m, name);
    say_text(m, "\":{\"dtype\":\"");
    say_text(m, word);
    say_text(m, "\",\"shape\":[");
    for (int i = 0; (word = strtok_r(NULL, space, &rest)) && word[0] != '!'; i++) {
        const long extent = read_extent(m, word);
        say_text(m, i ? "," : "");
        say_number(m, extent);
        bytes *= extent;
    }
    if (word)
        kind = (enum numbers) (strtoul(word + 1, NULL, 10) % NUMBERS);
    bytes = bytes > MAX_DATA ? MAX_DATA : bytes;
    say_text(m, "],\"data_offsets\":[");
    say_number(m, (long) m->claimed);
    write_numbers(m, t, bytes, kind);
    say_text(m, ",");
    say_number(m, (long) m->claimed);
    say_text(m, "]}");
}

static void add_metadata(struct maker *m, const char *json, size_t bytes)
{
    json_t *said = json_stringn(json, bytes);
    char *text = said ? json_dumps(said, JSON_ENCODE_ANY) : NULL;
    if (text) {
        say_text(m, "\"__metadata__\":{\"samtrack\":");
        say_text(m, text);
        say_text(m, "}");
    }
    free(text);
    json_decref(said);
}

// The files of the text; returns the path of the weights.
static const char *write_files(struct maker *m, char *at, const char *end)
{
    const char *settings = end_of_line(at, end);
    char *json = settings < end ? (char *) settings + 1 : (char *) end;
    const char *json_end = end_of_line(json, end);
    read_settings(m, at, settings);
    m->random = (uint64_t) m->setting['S'];
    say_text(m, "{");
    fuzz_file("m.json", NULL, 0);
    if (m->setting['J'] % 2 == 0 && json_end > json)
        add_metadata(m, json, json_end - json);
    else
        fuzz_file("m.json", (uint8_t *) json, json_end - json);
    at = json_end < end ? (char *) json_end + 1 : (char *) end;
    for (int i = 0; at < end && i < MAX_TENSORS; i++) {
        char *line_end = (char *) end_of_line(at, end);
        *line_end = '\0';
        add_tensor(m, at);
        at = line_end + 1;
    }
    say_text(m, "}");

    const uint64_t length = m->header_bytes;
    uint8_t *file = malloc(8 + length + m->data_bytes);
    fuzz_check(file != NULL);
    memcpy(file, &length, 8);
    memcpy(file + 8, m->header, length);
    memcpy(file + 8 + length, m->data, m->data_bytes);
    const char *path = fuzz_file("m.safetensors", file, 8 + length + m->data_bytes);
    free(file);
    return path;
}

// ---- The run.

// Sentences are for users: none of an operation's own, which tell of a fault of the engine.
static void check_text(const struct sam_error *error)
{
    fuzz_check(error->text[0] && !strstr(error->text, "sam_op_"));
}

// SAM_EWEIGHTS: numbers that overflow are found at open, where the model may run once, or later.
static void check_failure(int status, const struct sam_error *error)
{
    fuzz_check(status == SAM_EFORMAT || status == SAM_EUNSUPPORTED || status == SAM_ENOMEM ||
               status == SAM_EWEIGHTS);
    check_text(error);
}

static void check_result(const struct sam_result *r, int objects)
{
    fuzz_check(r->num_objects == objects);
    for (int i = 0; i < r->num_objects; i++) {
        const struct sam_object *o = &r->objects[i];
        fuzz_check(o->x >= 0 && o->y >= 0 && o->width >= 0 && o->height >= 0);
        fuzz_check(o->x + o->width <= WIDTH && o->y + o->height <= HEIGHT);
        fuzz_check(o->area >= 0 && o->area <= o->width * o->height);
        fuzz_check(isfinite(o->score) && o->iou >= 0 && o->iou <= 1);
    }
}

// rgb: room for its pixels.
static struct sam_frame make_frame(uint8_t rgb[WIDTH * HEIGHT * 3])
{
    for (size_t i = 0; i < WIDTH * HEIGHT * 3; i++)
        rgb[i] = (uint8_t) (i * i >> 7);
    return (struct sam_frame) { .size = sizeof(struct sam_frame), .format = SAM_PIXEL_RGB,
                                .width = WIDTH, .height = HEIGHT, .plane = { rgb },
                                .stride = { WIDTH * 3 } };
}

static void track(sam_tracker *t, int objects)
{
    uint8_t rgb[WIDTH * HEIGHT * 3], labels[WIDTH * HEIGHT];
    const struct sam_frame frame = make_frame(rgb);
    const struct sam_labels map = { labels, WIDTH, HEIGHT, WIDTH, 0 };
    struct sam_error error = { "" };
    struct sam_result result = SAM_RESULT_INIT;
    for (int i = 0; i < objects; i++) {
        const struct sam_prompt box = { .size = sizeof(struct sam_prompt),
                                        .has_box = 1, .box = { 0.1f, 0.2f, 0.5f, 0.9f } };
        fuzz_check(!sam_tracker_prompt(t, &box, NULL, NULL));
    }
    for (int i = 0; i < 2; i++) {
        const int status = sam_tracker_step(t, &frame, &map, &result, &error);
        if (status) {
            check_failure(status, &error); // it ended the tracker
            fuzz_check(sam_tracker_step(t, &frame, &map, &result, NULL) == status);
            return;
        }
        check_result(&result, objects);
    }
}

static void run(const struct maker *m, const char *path)
{
    struct sam_params p = SAM_PARAMS_INIT;
    struct sam_error plan_error = { "" }, error = { "" };
    struct sam_plan plan = SAM_PLAN_INIT;
    struct sam_info info = SAM_INFO_INIT;
    sam_tracker *t = NULL;
    p.model_file = path;
    p.backend = SAM_BACKEND_CPU;
    p.precision = m->setting['P'] % 2 ? SAM_PRECISION_AUTO : SAM_PRECISION_FP32;
    p.threads = 1;
    p.max_objects = 1 + (int) (m->setting['O'] & 1);
    p.budget_mib = 48;
    p.poison = 1;
    const int planned = sam_tracker_plan(&p, &plan, &plan_error);
    const int status = sam_tracker_open(&t, &p, &error);
    fuzz_check(!status == (t != NULL));
    if (planned) // for the same reason; a plan runs nothing
        fuzz_check(status == planned && status != SAM_EWEIGHTS &&
                   !strcmp(error.text, plan_error.text));
    if (status) {
        check_failure(status, &error);
        return;
    }
    sam_tracker_info(t, &info, NULL);
    fuzz_check(info.bytes_used == plan.total_bytes && info.image_size == plan.image_size);
    track(t, p.max_objects);
    sam_tracker_close(&t);
}

static void check_detections(const struct sam_detections *found,
                             const struct sam_detector_info *info)
{
    fuzz_check(found->num >= 0 && found->num <= info->max_detections);
    for (int i = 0; i < found->num; i++) {
        const struct sam_detection *x = &found->list[i];
        fuzz_check(x->score >= 0 && x->score <= 1 && x->query >= 0);
        fuzz_check(x->label >= 0 && x->label < info->num_classes);
        fuzz_check(x->box[0] >= 0 && x->box[1] >= 0);
        fuzz_check(x->box[2] <= WIDTH && x->box[3] <= HEIGHT);
    }
}

static void run_detector(const struct maker *m, const char *path)
{
    uint8_t rgb[WIDTH * HEIGHT * 3];
    const struct sam_frame frame = make_frame(rgb);
    struct sam_params p = SAM_PARAMS_INIT;
    struct sam_error error = { "" };
    struct sam_detections found = SAM_DETECTIONS_INIT;
    struct sam_detector_info info = SAM_DETECTOR_INFO_INIT;
    sam_detector *d = NULL;
    p.model_file = path;
    p.backend = SAM_BACKEND_CPU;
    p.precision = m->setting['P'] % 2 ? SAM_PRECISION_AUTO : SAM_PRECISION_FP32;
    p.threads = 1;
    p.input_size = (int) (m->setting['W'] < 0 ? 0 : m->setting['W'] % 4096);
    p.budget_mib = 48;
    int status = sam_detector_open(&d, &p, &error);
    fuzz_check(!status == (d != NULL));
    if (!status && !(status = sam_detector_run(d, &frame, &found, &error))) {
        fuzz_check(!sam_detector_info(d, &info, NULL));
        check_detections(&found, &info);
    }
    if (status == SAM_EINVAL && p.input_size) // the size may not suit the model
        check_text(&error);
    else if (status)
        check_failure(status, &error);
    sam_detector_close(&d);
}

// Sentences quote names: an input that holds an operation's looks like a fault of the engine.
static int names_operation(const uint8_t *data, size_t size)
{
    static const char name[] = "sam_op_";
    const size_t length = sizeof(name) - 1;
    for (size_t i = 0; i + length <= size; i++)
        if (!memcmp(data + i, name, length))
            return 1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (names_operation(data, size))
        return 0;
    struct maker *m = calloc(1, sizeof(*m));
    char *text = malloc(size + 1);
    fuzz_check(m && text && (m->data = malloc(MAX_DATA)));
    memcpy(text, data, size);
    text[size] = '\0';
    const char *path = write_files(m, text, text + size);
    if (m->setting['D'] % 2)
        run_detector(m, path);
    else
        run(m, path);
    free(text);
    free(m->data);
    free(m);
    return 0;
}
