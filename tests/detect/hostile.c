// SPDX-License-Identifier: MIT
// hostile MODEL STEP [NAME]...
// A detector's file cut short, and with every STEP-th tensor missing, of another shape, and with a
// NaN in it: each is refused in a sentence about it. NAME: a part of the names of tensors that are
// not read, or whose absence only makes another model. What a detector by words needs beside the
// model is not touched.
#include <jansson.h>
#include <unistd.h>

#include "golden.h"

struct file {
    uint8_t *bytes;
    size_t size;
    const uint8_t *numbers; // behind the header
};

static struct file read_model(const char *path)
{
    struct file m = { 0 };
    FILE *f = fopen(path, "rb");
    uint64_t length = 0;

    if (f && !fseek(f, 0, SEEK_END) && (m.bytes = malloc((size_t) ftell(f))))
        m.size = (size_t) ftell(f), rewind(f), m.size = fread(m.bytes, 1, m.size, f);
    if (f)
        fclose(f);
    if (m.size < 8) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    memcpy(&length, m.bytes, 8);
    m.numbers = m.bytes + 8 + length;
    return m;
}

static void write_parts(const char *path, const void *a, size_t a_size, const void *b,
                        size_t b_size)
{
    FILE *f = fopen(path, "wb");
    expect(f && fwrite(a, 1, a_size, f) == a_size && fwrite(b, 1, b_size, f) == b_size,
           "%s cannot be written", path);
    if (f)
        fclose(f);
}

static void write_model(const char *path, json_t *header, const struct file *m)
{
    char *text = json_dumps(header, JSON_COMPACT);
    const uint64_t length = strlen(text);
    FILE *f = fopen(path, "wb");
    const size_t rest = (size_t) (m->bytes + m->size - m->numbers);

    expect(f && fwrite(&length, 1, 8, f) == 8 && fwrite(text, 1, length, f) == length &&
           fwrite(m->numbers, 1, rest, f) == rest, "%s cannot be written", path);
    if (f)
        fclose(f);
    free(text);
}

// words: in the sentence; NULL: any sentence. Returns whether the file was refused.
static bool check_open(const char *path, const char *what, const char *tensor, const char *words)
{
    struct sam_params p = SAM_PARAMS_INIT;
    struct sam_error error = { "" };
    sam_detector *d;

    p.model_file = path;
    p.backend = SAM_BACKEND_CPU;
    p.threads = 1;
    const int status = sam_detector_open(&d, &p, &error);
    expect(!status == !!d, "%s, %s: status %d", what, tensor, status);
    sam_detector_close(&d);
    if (!status)
        return false;
    expect(status == SAM_EFORMAT, "%s, %s: status %d, '%s'", what, tensor, status, error.text);
    expect(strstr(error.text, path) && !strstr(error.text, "sam_op_") &&
           (!words || strstr(error.text, words)), "%s, %s: '%s'", what, tensor, error.text);
    return true;
}

static void check_cuts(const char *path, const struct file *m)
{
    const size_t header = (size_t) (m->numbers - m->bytes);
    const size_t cuts[] = { 0, 1, 7, 8, 9, 100, header / 2, header - 1, header, header + 1,
                            m->size / 2, m->size - 1 };

    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        char what[32];
        snprintf(what, sizeof(what), "%zu bytes", cuts[i]);
        write_parts(path, m->bytes, cuts[i], "", 0);
        expect(check_open(path, what, "cut short", NULL), "%s are a detector", what);
    }
}

static json_t *with_shape_turned(const json_t *tensor)
{
    json_t *turned = json_deep_copy(tensor), *shape = json_array();
    const json_t *old = json_object_get(tensor, "shape");

    for (size_t i = json_array_size(old); i-- > 0;)
        json_array_append(shape, json_array_get(old, i));
    if (json_equal(shape, old)) // (n) or (n, n): one extent more
        json_array_insert_new(shape, 0, json_integer(1));
    json_object_set_new(turned, "shape", shape);
    return turned;
}

static void check_tensor(const char *path, struct file *m, const json_t *header, const char *name,
                         bool is_read)
{
    const json_t *tensor = json_object_get(header, name);
    const size_t at = (size_t) json_integer_value(
        json_array_get(json_object_get(tensor, "data_offsets"), 0));
    uint8_t *number = (uint8_t *) m->numbers + at, kept[2] = { number[0], number[1] };
    const uint8_t nan[2] = { 0x00, 0x7e }; // F16
    char quoted[200], other[200];

    snprintf(quoted, sizeof(quoted), "'%s'", name);
    snprintf(other, sizeof(other), "other.%s", name);
    json_t *changed = json_deep_copy(header);
    json_object_set_new(changed, other, json_deep_copy(tensor));
    json_object_del(changed, name);
    write_model(path, changed, m);
    expect(check_open(path, "missing", name, NULL) || !is_read, "%s may be missing", name);
    json_decref(changed);

    changed = json_deep_copy(header);
    json_object_set_new(changed, name, with_shape_turned(tensor));
    write_model(path, changed, m);
    expect(check_open(path, "shape", name, quoted) || !is_read, "%s may have any shape", name);
    json_decref(changed);

    expect(!is_read || !strcmp(json_string_value(json_object_get(tensor, "dtype")), "F16"),
           "%s is not F16", name);
    memcpy(number, nan, 2);
    write_parts(path, m->bytes, m->size, "", 0);
    expect(check_open(path, "NaN", name, quoted) || !is_read, "%s may be NaN", name);
    memcpy(number, kept, 2);
}

static bool is_named(const char *name, char **list, int count)
{
    for (int i = 0; i < count; i++)
        if (strstr(name, list[i]))
            return true;
    return false;
}

// A file that a detector by words needs, if there is one.
static void copy_beside(const char *model, const char *name, const char *to)
{
    const char *slash = strrchr(model, '/');
    char from[4096];

    snprintf(from, sizeof(from), "%.*s/%s", slash ? (int) (slash - model) : 1,
             slash ? model : ".", name);
    if (access(from, R_OK))
        return;
    const struct file m = read_model(from);
    write_parts(to, m.bytes, m.size, "", 0);
    free(m.bytes);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "vocab.txt", "tokenizer.json", "config.json" };
    char folder[] = "/tmp/hostile-XXXXXX", path[64], beside[3][64];
    json_error_t at;
    const char *name;
    json_t *tensor;
    int i = 0, read = 0;

    if (argc < 3 || atoi(argv[2]) < 1 || !mkdtemp(folder)) {
        fprintf(stderr, "expected a model and a step\n");
        return 1;
    }
    snprintf(path, sizeof(path), "%s/m.safetensors", folder);
    for (int k = 0; k < 3; k++)
        snprintf(beside[k], sizeof(beside[k]), "%s/%s", folder, names[k]);
    copy_beside(argv[1], names[0], beside[0]);
    copy_beside(argv[1], names[1], beside[1]);
    if (!access(beside[1], R_OK)) // SAM 3's, which needs both
        copy_beside(argv[1], names[2], beside[2]);
    struct file m = read_model(argv[1]);
    json_t *header = json_loadb((char *) m.bytes + 8, (size_t) (m.numbers - m.bytes) - 8, 0, &at);
    check_cuts(path, &m);
    json_object_foreach(header, name, tensor)
        if (strcmp(name, "__metadata__") != 0 && i++ % atoi(argv[2]) == 0) {
            const bool is_read = !is_named(name, argv + 3, argc - 3);
            read += is_read;
            check_tensor(path, &m, header, name, is_read);
        }
    expect(read > 20, "only %d tensors are read", read);
    write_parts(path, m.bytes, m.size, "", 0);
    expect(!check_open(path, "as it was", "", NULL), "it is refused");
    json_decref(header);
    free(m.bytes);
    unlink(path);
    for (int k = 0; k < 3; k++)
        unlink(beside[k]);
    rmdir(folder);
    return expect_status();
}
