// SPDX-License-Identifier: MIT
// overflow MODEL BACKEND PRECISION VALUE EACH
// Finite weights whose products overflow: all numbers of one tensor become VALUE, of every EACH-th
// tensor in turn. Open refuses the file, or a frame ends the tracker, in a sentence that names the
// file; else every number that is shown is finite, and none that is remembered stays otherwise.
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "scene.h"
#include "weights/weights.h"

enum { FRAMES = 5, ROOM = 1 << 14, MOST = 1 << 22 };

static char path[] = "/tmp/samtrack-overflow-XXXXXX";

static struct {
    int refused, at_open, at_step, finite;
} seen;

// The model as F32 safetensors; places: where the numbers of each tensor begin.
struct copy {
    struct sam_weights *of;
    uint8_t *bytes;
    size_t size, *places;
};

static size_t count_of(const struct sam_weight *w)
{
    size_t n = 1;

    for (int i = 0; i < w->rank; i++)
        n *= (size_t) w->shape[i];
    return n;
}

static size_t put_text(char *to, const char *text, size_t bytes)
{
    size_t n = 0;

    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '"' || text[i] == '\\')
            to[n++] = '\\';
        to[n++] = text[i];
    }
    return n;
}

static size_t put_header(char *to, struct copy *c)
{
    size_t n, config_bytes, at = 0;
    const char *config = sam_weights_config(c->of, &config_bytes);

    n = (size_t) sprintf(to, "{\"__metadata__\":{\"samtrack\":\"");
    n += put_text(to + n, config, config_bytes);
    n += (size_t) sprintf(to + n, "\"}");
    for (int i = 0; i < sam_weights_count(c->of); i++) {
        const struct sam_weight *w = sam_weights_at(c->of, i);
        n += (size_t) sprintf(to + n, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[", w->name);
        for (int k = 0; k < w->rank; k++)
            n += (size_t) sprintf(to + n, "%s%" PRId64, k ? "," : "", w->shape[k]);
        c->places[i] = at;
        at += 4 * count_of(w);
        n += (size_t) sprintf(to + n, "],\"data_offsets\":[%zu,%zu]}", c->places[i], at);
    }
    n += (size_t) sprintf(to + n, "}");
    while (n % 8)
        to[n++] = ' ';
    c->size = 8 + n + at;
    return n;
}

static struct copy copy_model(const char *model)
{
    struct sam_error error = { "" };
    struct copy c = { 0 };

    expect(!sam_weights_open(&c.of, model, NULL, &error), "%s", error.text);
    c.bytes = malloc(MOST);
    c.places = malloc((size_t) sam_weights_count(c.of) * sizeof(*c.places));
    const uint64_t header = put_header((char *) c.bytes + 8, &c);
    expect(c.size < MOST, "%zu bytes", c.size);
    memcpy(c.bytes, &header, 8);
    for (int i = 0; i < sam_weights_count(c.of); i++) {
        const struct sam_weight *w = sam_weights_at(c.of, i);
        c.places[i] += 8 + header;
        expect(!sam_weights_read(c.of, w->name, w->rank, w->shape,
                                 (float *) (c.bytes + c.places[i]), &error), "%s", error.text);
    }
    return c;
}

// The file with one tensor all `value`; -1: as it is.
static void write_file(const struct copy *c, int tensor, float value)
{
    uint8_t *bytes = malloc(c->size);
    FILE *f = fopen(path, "wb");

    memcpy(bytes, c->bytes, c->size);
    for (size_t i = 0; tensor >= 0 && i < count_of(sam_weights_at(c->of, tensor)); i++)
        memcpy(bytes + c->places[tensor] + 4 * i, &value, 4);
    expect(f && fwrite(bytes, 1, c->size, f) == c->size && !fclose(f), "cannot write %s", path);
    free(bytes);
}

static bool is_finite(sam_tracker *t, uint64_t id, const char *name)
{
    static float x[ROOM];
    const size_t n = fetch(t, id, name, x, ROOM);
    bool all = true;

    for (size_t i = 0; i < n; i++)
        all &= isfinite(x[i]) != 0;
    return n && all;
}

static void expect_sentence(const struct sam_error *e, const char *tensor)
{
    expect(strstr(e->text, path + strlen("/tmp/")) && !strchr(e->text, '\n'), "%s: %s", tensor,
           e->text);
}

// It says no more than that from now on.
static void expect_ended(sam_tracker *t, const char *tensor)
{
    struct sam_error error = { "" };
    struct scene s;

    expect(sam_tracker_step(t, scene_draw(&s, 0), NULL, NULL, &error) == SAM_EWEIGHTS &&
               strstr(error.text, "must be closed"), "%s: then %s", tensor, error.text);
    expect_sentence(&error, tensor);

    // The other calls: the same status, but for those that the header excepts.
    const struct sam_prompt prompt = { .size = sizeof(prompt), .has_box = 1,
                                       .box = { 0, 0, 1, 1 } };
    const struct sam_labels labels = { (uint8_t[4]) { 0 }, 2, 2, 2, 0 };
    struct sam_info info = SAM_INFO_INIT;
    float x;
    const int status[] = {
        sam_tracker_prompt(t, &prompt, NULL, NULL), sam_tracker_undo(t, 1, NULL),
        sam_tracker_remove(t, 1, NULL), sam_tracker_reserve(t, 1, NULL),
        sam_tracker_draw(t, &labels, NULL),
        sam_tracker_read(t, 1, "score", &x, 1, (int[4]) { 0 }, NULL),
    };
    for (size_t i = 0; i < sizeof(status) / sizeof(status[0]); i++)
        expect(status[i] == SAM_EWEIGHTS, "%s: call %d: status %d", tensor, (int) i, status[i]);
    sam_tracker_clear(t);
    expect(!sam_tracker_info(t, &info, NULL) && info.bytes_planned, "%s: no info", tensor);
}

static void track(sam_tracker *t, const char *tensor)
{
    const uint64_t id = give_box(t, 0, 0.1f, 0.1f, 0.5f, 0.6f);
    bool remembers = true, shows = true; // finite numbers

    for (int f = 0; f < FRAMES; f++) {
        struct sam_error error = { "" };
        struct sam_result r = SAM_RESULT_INIT;
        struct scene s;
        const int status = sam_tracker_step(t, scene_draw(&s, f), NULL, &r, &error);
        if (status) {
            expect(status == SAM_EWEIGHTS && !r.num_objects, "%s, frame %d: %d, %s", tensor, f,
                   status, error.text);
            expect(strstr(error.text, "overflow") != NULL, "%s: %s", tensor, error.text);
            expect_sentence(&error, tensor);
            expect_ended(t, tensor);
            seen.at_step++;
            return;
        }
        expect(isfinite(r.objects[0].score) && isfinite(r.objects[0].iou),
               "%s, frame %d: score %g, IoU %g", tensor, f, r.objects[0].score, r.objects[0].iou);
        // What goes into memory comes out with the next frame; a mask goes there with its own.
        expect(remembers, "%s, frame %d: memory stays not finite", tensor, f);
        remembers = shows && is_finite(t, id, "memory") && is_finite(t, id, "pointer");
        shows = is_finite(t, id, "low_res");
    }
    seen.finite++;
}

static void check_tensor(const struct sam_params *p, const char *tensor)
{
    struct sam_error error = { "" };
    sam_tracker *t;
    const int status = sam_tracker_open(&t, p, &error);

    if (status) {
        expect(!t && (status == SAM_EFORMAT || status == SAM_EWEIGHTS), "%s: %d, %s", tensor,
               status, error.text);
        expect_sentence(&error, tensor);
        seen.refused += status == SAM_EFORMAT;
        seen.at_open += status == SAM_EWEIGHTS;
        return;
    }
    track(t, tensor);
    sam_tracker_close(&t);
}

// Two layers that are folded, each far from overflowing.
static void check_fold(const struct sam_params *p, struct copy *c)
{
    const char *const names[] = { "image_encoder.neck.convs.3.conv.weight",
                                  "sam_mask_decoder.conv_s0.weight" };
    struct sam_error error = { "" };
    sam_tracker *t;

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < sam_weights_count(c->of); i++)
            if (!strcmp(sam_weights_at(c->of, i)->name, names[k]))
                for (size_t n = 0; n < count_of(sam_weights_at(c->of, i)); n++)
                    memcpy(c->bytes + c->places[i] + 4 * n, &(float) { 1e25f }, 4);
    write_file(c, -1, 0);
    expect(sam_tracker_open(&t, p, &error) == SAM_EFORMAT && !t, "folded: %s", error.text);
    expect(strstr(error.text, "'sam_mask_decoder.conv_s0' overflows in ") &&
               strstr(error.text, "folded with another: number 0 is inf"), "%s", error.text);
    expect_sentence(&error, "folded");
    printf("%s\n", error.text);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    struct sam_params p = scene_params(argv[1]);
    const float value = strtof(argv[4], NULL);
    const int each = atoi(argv[5]);

    p.backend = scene_backend(argv[2]);
    p.precision = !strcmp(argv[3], "bf16")   ? SAM_PRECISION_BF16
                  : !strcmp(argv[3], "int8") ? SAM_PRECISION_INT8
                                             : SAM_PRECISION_FP32;
    p.max_objects = 1;
    if (!scene_can_run(&p))
        return SCENE_SKIPPED;
    struct copy c = copy_model(argv[1]);
    p.model_file = path;
    expect(mkstemp(path) >= 0, "no file in /tmp");
    write_file(&c, -1, 0);
    check_tensor(&p, "none");
    expect(seen.finite == 1, "the model as it is overflows");
    for (int i = 0; i < sam_weights_count(c.of); i += each) {
        write_file(&c, i, value);
        check_tensor(&p, sam_weights_at(c.of, i)->name);
    }
    printf("%s %s, tensors of %g: %d refused, %d ended at open, %d at a frame, %d finite\n",
           argv[2], argv[3], (double) value, seen.refused, seen.at_open, seen.at_step, seen.finite);
    expect(seen.at_open + seen.at_step > sam_weights_count(c.of) / each / 2, "too few overflow");
    check_fold(&p, &c);
    unlink(path);
    free(c.bytes);
    free(c.places);
    sam_weights_close(&c.of);
    return expect_status();
}
