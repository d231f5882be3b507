// SPDX-License-Identifier: MIT
// rfdetr FOLDER BACKEND boxes|masks
// A small RF-DETR, for boxes or for segmentation, against what transformers' own found in PyTorch
// (tools/compare_detectors.py --mini), at the size of its position embedding and at another; and
// what changed files are told.
#include <math.h>
#include <unistd.h>

#include "golden.h"

enum { QUERIES = 30, CLASSES = 7, MAX_TEXT = 1 << 12 };

// px: of a patch, and sides of the input, the first one its own.
struct kind {
    int patch, sides[2];
    bool masks;
};

static const struct kind boxes = { 16, { 128, 192 }, false }, masks = { 12, { 96, 144 }, true };

// ---- the golden

// F32 sums in another order: 2e-6 is seen, and 1e-6 in PyTorch's own F32.
static void check_stage(sam_detector *d, const struct place *at, const char *name, int rows,
                        int columns)
{
    const size_t count = (size_t) rows * columns;
    float *want = wanted(at, name, rows, columns), *got = calloc(count, sizeof(float));
    struct sam_error error = { "" };
    double square = 0, whole = 0;
    int shape[4] = { 0 };
    const int status = sam_detector_read(d, name, got, count, shape, &error);

    expect(!status && shape[0] * shape[2] == rows && shape[3] == columns,
           "%s: %s, (%d, %d, %d, %d)", name, error.text, shape[0], shape[1], shape[2], shape[3]);
    for (size_t i = 0; i < count; i++) {
        square += ((double) got[i] - want[i]) * ((double) got[i] - want[i]);
        whole += (double) want[i] * want[i];
    }
    expect(sqrt(square / whole) <= 1e-5, "side %d, frame %d: %s is off by %g", at->side, at->frame,
           name, sqrt(square / whole));
    free(want), free(got);
}

// Neighbours in the golden's order are 5e-5 apart in score, which differs by 1e-6: the order must
// be the same.
static void check_found(const struct place *at, const struct sam_detections *found)
{
    float *score = wanted(at, "score", QUERIES, 1), *label = wanted(at, "label", QUERIES, 1);
    float *query = wanted(at, "query", QUERIES, 1), *box = wanted(at, "box", QUERIES, 4);

    expect(found->num == QUERIES, "%d detections", found->num);
    for (int i = 0; i < found->num && i < QUERIES; i++) {
        const struct sam_detection *d = &found->list[i];
        expect(d->query == (int) query[i] && d->label == (int) label[i],
               "side %d, frame %d: %d is query %d, label %d, not %g, %g", at->side, at->frame, i,
               d->query, d->label, query[i], label[i]);
        expect(fabsf(d->score - score[i]) <= 1e-5f, "%d has score %g, not %g", i, d->score,
               score[i]);
        for (int e = 0; e < 4; e++)
            expect(fabsf(d->box[e] - box[4 * i + e]) <= 0.002f, "box %d.%d is %g, not %g", i, e,
                   d->box[e], box[4 * i + e]);
    }
    free(score), free(label), free(query), free(box);
}

// Where a logit is near 0 a pixel may be another.
static void check_masks(const struct place *at, const struct sam_detections *found)
{
    float *pixels = wanted(at, "mask", QUERIES, 1);

    expect(found->mask_width == MASK && found->mask_height == MASK, "masks of %d x %d px",
           found->mask_width, found->mask_height);
    for (int i = 0; i < found->num && i < QUERIES; i++)
        expect(found->list[i].mask && fabsf(count_pixels(found->list[i].mask) - pixels[i]) <= 4,
               "side %d, frame %d: mask %d has %d pixels, not %g", at->side, at->frame, i,
               found->list[i].mask ? count_pixels(found->list[i].mask) : -1, pixels[i]);
    free(pixels);
}

static void check_golden(const char *folder, const char *model, const struct kind *kind, int side,
                         enum sam_backend backend)
{
    char want[MAX_TEXT], frames[MAX_TEXT];
    struct sam_params p = params_of(model, backend);
    struct sam_detections found = SAM_DETECTIONS_INIT;
    struct sam_detector_info info = SAM_DETECTOR_INFO_INIT;
    struct sam_error error = { "" };
    sam_detector *d;

    snprintf(want, sizeof(want), "%s/want.safetensors", folder);
    snprintf(frames, sizeof(frames), "%s/frames.safetensors", folder);
    uint8_t *rgb = read_frames(frames);
    p.input_size = side == kind->sides[0] ? 0 : side;
    const int status = sam_detector_open(&d, &p, &error);
    expect(!status, "%s", error.text);
    for (int t = 0; !status && t < 2; t++) {
        const struct place at = { want, side, t };
        const int tokens = side / kind->patch * (side / kind->patch);
        const struct sam_frame f = { .size = sizeof(f), .format = SAM_PIXEL_RGB, .width = W,
                                     .height = H, .plane = { rgb + (size_t) t * W * H * 3 },
                                     .stride = { W * 3 } };
        expect(!sam_detector_run(d, &f, &found, &error), "frame %d: %s", t, error.text);
        check_stage(d, &at, "block3", 4 + tokens, 64);
        check_stage(d, &at, "features", tokens, 32);
        check_stage(d, &at, "layer1", QUERIES, 32);
        check_found(&at, &found);
        if (kind->masks) {
            if (side == kind->sides[0])
                check_stage(d, &at, "masks", QUERIES, side / 4 * (side / 4));
            check_masks(&at, &found);
        } else {
            expect(!found.mask_width && !found.list[0].mask, "boxes have masks");
        }
    }
    expect(!status && !sam_detector_info(d, &info, &error) && info.num_classes == CLASSES &&
           info.image_size == side && !strcmp(info.family, "RF-DETR") &&
           !strcmp(info.variant, "custom"), "info: %d classes, %d px", info.num_classes,
           info.image_size);
    sam_detector_close(&d);
    free(rgb);
}

// ---- changed files

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    expect(f && fwrite(bytes, 1, size, f) == size, "%s cannot be written", path);
    if (f)
        fclose(f);
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = NULL;

    if (f && !fseek(f, 0, SEEK_END) && (bytes = malloc(*size = (size_t) ftell(f))))
        rewind(f), *size = fread(bytes, 1, *size, f);
    if (f)
        fclose(f);
    if (!bytes)
        exit(1);
    return bytes;
}

// The text in the header behind the tensor's name, by another one of the same length.
static void change(uint8_t *bytes, size_t size, const char *tensor, const char *from,
                   const char *to)
{
    uint8_t *at = memmem(bytes, size, tensor, strlen(tensor));
    at = at ? memmem(at, 300, from, strlen(from)) : NULL;
    expect(at && strlen(from) == strlen(to), "%s: no %s", tensor, from);
    if (at)
        memcpy(at, to, strlen(to));
}

struct changed {
    const char *tensor, *from, *to; // in the header
    const char *words[3];           // of the sentence
};

static const struct changed shapes[] = {
    { "\"class_embed.weight\"", "[7,32]", "[32,7]",
      { "tensor 'class_embed.weight'", "expected shape (any, 32)", "got (32, 7)" } },
    { "\"transformer.enc_out_class_embed.0.weight\"", "[7,32]", "[32,7]",
      { "tensor 'transformer.enc_out_class_embed.0.weight'", "expected shape (7, 32)",
        "got (32, 7)" } },
    { "projection.weight\"", "[64,3,16,16]", "[64,16,3,16]",
      { "projection.weight'", "expected shape (any, 3, any, any)", "got (64, 16, 3, 16)" } },
    { "\"query_feat.weight\"", "[60,32]", "[32,60]",
      { "tensor 'query_feat.weight'", "expected shape (any, 32)", "got (32, 60)" } },
    { "position_embeddings\"", "[1,65,64]", "[1,64,65]",
      { "position_embeddings'", "expected shape (1, any, 64)", "got (1, 64, 65)" } },
    { "in_proj_weight\"", "[96,32]", "[32,96]",
      { "in_proj_weight'", "expected shape (96, 32)", "got (32, 96)" } },
    { "\"transformer.decoder.norm.weight\"", "decoder", "xxxxxxx",
      { "tensor 'transformer.decoder.norm.weight' (32) is missing", "", "" } },
    { "embeddings.cls_token\"", "cls", "xxx",
      { "is not a detector of a supported family", "RF-DETR lacks", "cls_token" } },
};

static void check_changed(const char *golden, const char *file, enum sam_backend backend)
{
    struct sam_params p = params_of(file, backend);
    sam_detector *d;

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const struct changed *c = &shapes[i];
        struct sam_error error = { "" };
        size_t size = 0;
        uint8_t *bytes = read_file(golden, &size);
        change(bytes, size, c->tensor, c->from, c->to);
        write_file(file, bytes, size);
        const int status = sam_detector_open(&d, &p, &error);
        for (int k = 0; k < 3; k++)
            refused(SAM_EFORMAT, c->words[k], status, &error, (int) i);
        free(bytes);
    }
}

static const struct json_case configs[] = {
    { "{\"model_type\": \"rf_detr\"}", NULL, 0 },
    { "{\"model_type\": \"rf_detr\", \"num_queries\": 30, \"layer_norm_eps\": 1e-5}", NULL, 0 },
    { "{\"model_type\": \"rf_detr\", \"num_queries\": 300}",
      "key 'num_queries' is 300, but the tensors' shapes say 30", SAM_EFORMAT },
    { "{\"model_type\": \"rf_detr\", \"layer_norm_eps\": 0}",
      "key 'layer_norm_eps': expected 1e-12 to 0.1, got 0", SAM_EFORMAT },
    { "{\"model_type\": \"rf_detr\", \"backbone_config\": {\"num_windows\": 4}}",
      "key 'backbone_config.num_windows': only 1 and 2 are supported with 8 positions on a side, "
      "got 4", SAM_EUNSUPPORTED },
    { "{\"model_type\": \"rf_detr\", \"backbone_config\": {\"patch_size\": 14}}",
      "key 'backbone_config.patch_size' is 14, but the tensors' shapes say 16", SAM_EFORMAT },
    { "{\"model_type\": \"rf_detr\", \"backbone_config\": {\"out_indices\": [1, 2, 3, 3]}}",
      "key 'backbone_config.out_indices': only [1, 2, 3, 4] is supported, got [1,2,3,3]",
      SAM_EUNSUPPORTED },
    { "{\"model_type\": \"rf_detr\", \"backbone_config\": 5}",
      "key 'backbone_config': expected an object, got an integer", SAM_EFORMAT },
    { "{\"model_type\": \"rf_detr_v2\"}", "key 'model_type': only \"rf_detr\" is supported",
      SAM_EUNSUPPORTED },
};

static void check_configs(const char *golden, const char *file, const char *beside,
                          enum sam_backend backend)
{
    const struct sam_params p = params_of(file, backend);
    size_t size = 0;
    uint8_t *bytes = read_file(golden, &size);

    write_file(file, bytes, size);
    check_json(&p, beside, configs, sizeof(configs) / sizeof(configs[0]));
    free(bytes);
}

static void check_sides(const char *golden, enum sam_backend backend)
{
    struct sam_params p = params_of(golden, backend);
    struct sam_error error = { "" };
    sam_detector *d;

    p.input_size = 64;
    REFUSED(SAM_EINVAL, "input-size = 64: RF-DETR can run multiples of 32 from 96 to 768 px",
            sam_detector_open(&d, &p, &error));
    p.input_size = 144;
    REFUSED(SAM_EINVAL, "multiples of 32", sam_detector_open(&d, &p, &error));
}

int main(int argc, char **argv)
{
    const enum sam_backend backend = backend_of(argc > 2 ? argv[2] : "");
    const struct kind *kind = argc > 3 && !strcmp(argv[3], "masks") ? &masks : &boxes;
    char model[MAX_TEXT], file[64], beside[64], folder[] = "/tmp/rfdetr-XXXXXX";

    if (argc != 4 || !mkdtemp(folder)) {
        fprintf(stderr, "expected three arguments\n");
        return 1;
    }
    snprintf(model, sizeof(model), "%s/model.safetensors", argv[1]);
    snprintf(file, sizeof(file), "%s/model.safetensors", folder);
    snprintf(beside, sizeof(beside), "%s/config.json", folder);
    for (int i = 0; i < 2; i++)
        check_golden(argv[1], model, kind, kind->sides[i], backend);
    // Refusals are of no backend, and the emulator is slow.
    if (!kind->masks && backend != SAM_BACKEND_CUDA) {
        check_sides(model, backend);
        check_changed(model, file, backend);
        check_configs(model, file, beside, backend);
    }
    unlink(file);
    rmdir(folder);
    return expect_status();
}
