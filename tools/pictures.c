// SPDX-License-Identifier: MIT
#include "pictures.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jpeglib.h>
#include <png.h>

static int __attribute__((format(printf, 3, 4)))
complain(char *error, size_t size, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(error, size, fmt, ap);
    va_end(ap);
    return -1;
}

#define fail(...) complain(error, size, __VA_ARGS__)

static int ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcasecmp(s + n - m, end);
}

// ---- Pictures.

static int read_png(struct picture *p, const char *file, int channels, char *error, size_t size)
{
    png_image image = { .version = PNG_IMAGE_VERSION };

    if (!png_image_begin_read_from_file(&image, file))
        return fail("%s: %s", file, image.message);
    image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    *p = (struct picture) { (int) image.width, (int) image.height, channels, NULL };
    p->data = malloc(PNG_IMAGE_SIZE(image));
    if (!p->data) {
        png_image_free(&image);
        return fail("%s: no memory for %d x %d px", file, p->width, p->height);
    }
    if (!png_image_finish_read(&image, NULL, p->data, 0, NULL)) {
        free(p->data);
        p->data = NULL;
        return fail("%s: %s", file, image.message);
    }
    return 0;
}

struct jpeg_errors {
    struct jpeg_error_mgr mgr;
    jmp_buf back;
    char text[JMSG_LENGTH_MAX];
};

static void on_jpeg_error(j_common_ptr j)
{
    struct jpeg_errors *e = (struct jpeg_errors *) j->err;

    e->mgr.format_message(j, e->text);
    longjmp(e->back, 1);
}

static void on_jpeg_warning(j_common_ptr j, int level)
{
}

static int decode_jpeg(struct picture *p, struct jpeg_decompress_struct *j,
                       struct jpeg_errors *errors, FILE *f)
{
    if (setjmp(errors->back))
        return -1;
    jpeg_create_decompress(j);
    jpeg_stdio_src(j, f);
    jpeg_read_header(j, TRUE);
    j->out_color_space = p->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_start_decompress(j);
    p->width = (int) j->output_width;
    p->height = (int) j->output_height;
    p->data = malloc((size_t) p->width * p->height * p->channels);
    if (!p->data) {
        snprintf(errors->text, sizeof(errors->text), "no memory for %d x %d px", p->width,
                 p->height);
        return -1;
    }
    while (j->output_scanline < j->output_height) {
        JSAMPROW row = p->data + (size_t) j->output_scanline * p->width * p->channels;
        jpeg_read_scanlines(j, &row, 1);
    }
    jpeg_finish_decompress(j);
    return 0;
}

static int read_jpeg(struct picture *p, const char *file, int channels, char *error, size_t size)
{
    struct jpeg_decompress_struct j = { 0 };
    struct jpeg_errors errors;
    FILE *f = fopen(file, "rb");
    int status;

    if (!f)
        return fail("%s: %s", file, strerror(errno));
    *p = (struct picture) { .channels = channels };
    j.err = jpeg_std_error(&errors.mgr);
    errors.mgr.error_exit = on_jpeg_error;
    errors.mgr.emit_message = on_jpeg_warning;
    status = decode_jpeg(p, &j, &errors, f);
    jpeg_destroy_decompress(&j);
    fclose(f);
    if (!status)
        return 0;
    free(p->data);
    p->data = NULL;
    return fail("%s: %s", file, errors.text);
}

int picture_read(struct picture *p, const char *file, int channels, char *error, size_t size)
{
    *p = (struct picture) { 0 };
    if (ends_with(file, ".png"))
        return read_png(p, file, channels, error, size);
    if (ends_with(file, ".jpg") || ends_with(file, ".jpeg"))
        return read_jpeg(p, file, channels, error, size);
    return fail("%s: expected a .jpg or .png file", file);
}

// ---- Frames.

// Where `frames` lies in a safetensors file and its shape; the header is read already.
static int find_frames(struct frames *f, const char *header, size_t bytes, long *begin,
                       const char *file, char *error, size_t size)
{
    json_error_t where;
    json_t *root = json_loadb(header, bytes, 0, &where);
    const char *type = "";
    long long t = 0, h = 0, w = 0, c = 0, from = 0, to = 0;

    if (!root)
        return fail("%s: header: %s", file, where.text);
    const int bad = json_unpack(root, "{s:{s:s,s:[I,I,I,I],s:[I,I]}}", "frames", "dtype", &type,
                                "shape", &t, &h, &w, &c, "data_offsets", &from, &to);
    const int foreign = bad || strcmp(type, "U8") || c != 3 || t < 1 || h < 1 || w < 1 ||
                        t > 1 << 24 || h > 16384 || w > 16384 || to - from != t * h * w * 3;
    json_decref(root);
    if (foreign)
        return fail("%s: expected a tensor `frames` of U8 (T, H, W, 3)", file);
    f->count = (int) t;
    f->height = (int) h;
    f->width = (int) w;
    *begin = (long) from;
    return 0;
}

static int read_stack(struct frames *f, FILE *in, const char *file, char *error, size_t size)
{
    uint64_t header_bytes;
    char *header = NULL;
    long begin = 0;
    int status;

    if (fread(&header_bytes, 8, 1, in) != 1 || header_bytes > 100000000 ||
        !(header = malloc(header_bytes)) || fread(header, header_bytes, 1, in) != 1) {
        free(header);
        return fail("%s: no safetensors header", file);
    }
    status = find_frames(f, header, header_bytes, &begin, file, error, size);
    free(header);
    if (status)
        return status;
    const size_t bytes = (size_t) f->count * f->height * f->width * 3;
    f->stack = malloc(bytes);
    if (!f->stack || fseek(in, 8 + (long) header_bytes + begin, SEEK_SET) ||
        fread(f->stack, bytes, 1, in) != 1)
        return fail("%s: %zu bytes of frames could not be read", file, bytes);
    return 0;
}

static int is_picture(const struct dirent *d)
{
    return ends_with(d->d_name, ".jpg") || ends_with(d->d_name, ".jpeg") ||
           ends_with(d->d_name, ".png");
}

static int list_folder(struct frames *f, const char *path, char *error, size_t size)
{
    struct dirent **entry;
    const int count = scandir(path, &entry, is_picture, alphasort);

    if (count < 0)
        return fail("%s: %s", path, strerror(errno));
    f->file = calloc((size_t) count + 1, sizeof(*f->file));
    for (int i = 0; i < count; i++) {
        if (f->file && asprintf(&f->file[i], "%s/%s", path, entry[i]->d_name) < 0)
            f->file[i] = NULL;
        free(entry[i]);
    }
    free(entry);
    f->count = count;
    if (!f->file || count == 0)
        return fail("%s: the folder has no .jpg or .png files", path);
    if (!frames_at(f, 0, error, size))
        return -1;
    f->width = f->now.width;
    f->height = f->now.height;
    return 0;
}

int frames_open(struct frames *f, const char *path, char *error, size_t size)
{
    int status;
    FILE *in;

    *f = (struct frames) { 0 };
    if (!ends_with(path, ".safetensors"))
        return list_folder(f, path, error, size);
    in = fopen(path, "rb");
    if (!in)
        return fail("%s: %s", path, strerror(errno));
    status = read_stack(f, in, path, error, size);
    fclose(in);
    return status;
}

const uint8_t *frames_at(struct frames *f, int t, char *error, size_t size)
{
    if (f->stack)
        return f->stack + (size_t) t * f->width * f->height * 3;
    free(f->now.data);
    if (picture_read(&f->now, f->file[t], 3, error, size))
        return NULL;
    if (f->width && (f->now.width != f->width || f->now.height != f->height)) {
        fail("%s: %d x %d px, but the first frame has %d x %d", f->file[t], f->now.width,
             f->now.height, f->width, f->height);
        return NULL;
    }
    return f->now.data;
}

void frames_close(struct frames *f)
{
    for (int i = 0; f->file && i < f->count; i++)
        free(f->file[i]);
    free(f->file);
    free(f->stack);
    free(f->now.data);
    *f = (struct frames) { 0 };
}

// ---- Tensors out.

struct named_tensor {
    char name[96];
    int rank, shape[4];
    size_t count;
    float *data;
};

int tensor_file_add(struct tensor_file *t, const char *name, int rank, const int *shape,
                    const float *data, char *error, size_t size)
{
    struct named_tensor n = { .rank = rank, .count = 1 };

    if (t->count == t->capacity) {
        const size_t capacity = t->capacity ? 2 * t->capacity : 256;
        struct named_tensor *list = realloc(t->list, capacity * sizeof(*list));
        if (!list)
            return fail("no memory for one more tensor");
        t->list = list;
        t->capacity = capacity;
    }
    snprintf(n.name, sizeof(n.name), "%s", name);
    for (int i = 0; i < rank; i++) {
        n.shape[i] = shape[i];
        n.count *= (size_t) shape[i];
    }
    n.data = malloc(n.count * sizeof(float));
    if (!n.data)
        return fail("no memory for %s, %zu numbers", name, n.count);
    memcpy(n.data, data, n.count * sizeof(float));
    t->list[t->count++] = n;
    return 0;
}

static json_t *describe(const struct tensor_file *t)
{
    json_t *root = json_object();
    json_int_t at = 0;

    for (size_t i = 0; i < t->count; i++) {
        const struct named_tensor *n = &t->list[i];
        const json_int_t end = at + (json_int_t) (n->count * sizeof(float));
        json_t *shape = json_array();
        for (int k = 0; k < n->rank; k++)
            json_array_append_new(shape, json_integer(n->shape[k]));
        json_object_set_new(root, n->name, json_pack("{s:s,s:o,s:[I,I]}", "dtype", "F32", "shape",
                                                     shape, "data_offsets", at, end));
        at = end;
    }
    return root;
}

int tensor_file_write(const struct tensor_file *t, const char *file, char *error, size_t size)
{
    json_t *root = describe(t);
    char *header = root ? json_dumps(root, JSON_COMPACT) : NULL;
    FILE *out = header ? fopen(file, "wb") : NULL;
    int good = out != NULL;

    json_decref(root);
    if (good) {
        // The data begins at a multiple of 8: the header is padded with blanks.
        const size_t length = strlen(header);
        const uint64_t padded = (length + 7) / 8 * 8;
        good = fwrite(&padded, 8, 1, out) == 1 && fwrite(header, length, 1, out) == 1;
        for (size_t i = length; i < padded && good; i++)
            good = fputc(' ', out) != EOF;
        for (size_t i = 0; i < t->count && good; i++)
            good =
                fwrite(t->list[i].data, sizeof(float), t->list[i].count, out) == t->list[i].count;
        good = !fclose(out) && good;
    }
    free(header);
    return good ? 0 : fail("%s: could not be written: %s", file, strerror(errno));
}

void tensor_file_free(struct tensor_file *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->list[i].data);
    free(t->list);
    *t = (struct tensor_file) { 0 };
}
