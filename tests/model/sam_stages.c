// SPDX-License-Identifier: MIT
// sam-stages: every part of the network, fed with the inputs that a golden stored, against the
// outputs it stored. The golden comes from the published code, in fp32.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"
#include "open.h"
#include "ops/backends.h"
#include "report.h"
#include "standard.h"
#include "stages.h"

// ---- the image encoder

static struct sam_features features(struct run *r)
{
    const struct sam_config *c = &r->model->config;
    const int h = sam_grid(c);
    struct sam_features f = { .image = tensor(r, SAM_F32, 1, h, h, c->d_model) };
    if (!c->family->lone_map) {
        f.s0 = tensor(r, SAM_F32, 1, 4 * h, 4 * h, c->high_res_s0);
        f.s1 = tensor(r, SAM_F32, 1, 2 * h, 2 * h, c->high_res_s1);
    }
    return f;
}

static void run_neck(struct run *r, struct sam_encoder_scratch *s)
{
    const struct sam_config *c = &r->model->config;
    const struct sam_features f = features(r);
    if (r->family->run_neck)
        r->family->run_neck(r, s, &f);
    for (int i = 0; i < SAM_STAGES && !r->family->run_neck; i++) {
        char name[16];
        snprintf(name, sizeof(name), "trunk%d", i);
        const int side = c->image_size >> (i + 2);
        const struct sam_tensor x =
            stored(r, name, GOLDEN_NCHW, 1, side, side, c->stage_width[i]);
        sam_neck_run(&r->queue, &r->model->neck, s, i, x, &f);
    }
    compare(r, "fpn", GOLDEN_NCHW, f.image);
    if (c->family->lone_map)
        return;
    compare(r, "s0", GOLDEN_NCHW, f.s0);
    compare(r, "s1", GOLDEN_NCHW, f.s1);
}

// A frame of the clip beside the golden; false where there is none.
static bool encode_clip(struct run *r, struct sam_encoder_scratch *s, int frame,
                        const struct sam_features *f)
{
    const int S = r->model->config.image_size;
    uint8_t *rgb = golden_frame(&r->golden, frame, S);
    if (!rgb)
        return false;
    sam_op_preprocess(&r->queue, &(struct sam_preprocess) {
        .dst = s->input,
        .frame = { .format = SAM_PIXEL_RGB, .width = S, .height = S, .plane = { rgb },
                   .stride = { 3 * S } },
        .scale = r->model->config.input_scale });
    sam_encoder_run(&r->queue, r->model, s, f);
    struct sam_error error;
    if (sam_queue_finish(&r->queue, &error))
        die(error.text);
    free(rgb);
    return true;
}

static void run_encoder(struct run *r, int frame)
{
    const struct sam_config *c = &r->model->config;
    struct sam_encoder_scratch s;
    LAYOUT(r, sam_encoder_layout(&s, c, &r->queue, a));

    r->family->run_trunk(r, &s);
    if (has(r, "trunk0"))
        run_neck(r, &s);

    // The same as one chain, where each stage inherits the errors of those before.
    const struct sam_features f = features(r);
    snprintf(r->chain, sizeof(r->chain), "%.13s/chain/", r->prefix);
    listen(r, true);
    if (has(r, "image")) {
        const struct sam_tensor image =
            stored(r, "image", GOLDEN_NCHW, 1, c->image_size, c->image_size, 3);
        sam_op_copy(&r->queue, &(struct sam_copy) { .dst = s.input, .src = image });
        sam_encoder_run(&r->queue, r->model, &s, &f);
    } else if (!encode_clip(r, &s, frame, &f)) {
        die("the golden holds neither its image nor a clip beside it");
    }
    listen(r, false);
    r->chain[0] = 0;
}

// ---- memory attention

static void run_memory_attention(struct run *r)
{
    const struct sam_config *c = &r->model->config;
    const int h = sam_grid(c), m = c->mem_dim;
    const enum sam_type type = sam_queue_type(&r->queue);
    const int keys = golden_extent(&r->golden, stage_name(r, "memory_attention.memory"), 0);
    const int pointers = (int) golden_integer(
        &r->golden, stage_name(r, "memory_attention.num_ptr_tokens"));
    const struct sam_tensor image =
        stored(r, "memory_attention.curr", GOLDEN_AS_IS, 1, h, h, c->d_model);
    const struct sam_tensor memory =
        stored(r, "memory_attention.memory", GOLDEN_AS_IS, 1, 1, keys, m);
    const struct sam_tensor place =
        stored(r, "memory_attention.memory_pos", GOLDEN_AS_IS, 1, 1, keys, m);
    const struct sam_tensor k = tensor(r, type, 1, 1, keys, m), v = tensor(r, type, 1, 1, keys, m);
    const struct sam_tensor dst = tensor(r, SAM_F32, 1, h, h, c->d_model);
    struct sam_memory_attention_scratch s;
    LAYOUT(r, sam_memory_attention_layout(&s, c, &r->queue, 1, keys, a));

    sam_op_copy(&r->queue, &(struct sam_copy) { .dst = v, .src = memory });
    sam_op_add(&r->queue, &(struct sam_add) { .dst = k, .a = memory, .b = place, .scale = 1 });
    listen(r, true);
    sam_memory_attention_run(&r->queue, r->model, &s, image, v, k, integer(r, keys),
                             integer(r, keys - pointers), dst, (struct sam_tensor) { 0 });
    listen(r, false);
}

// ---- prompts and the decoder

// How many points were given; and that our tokens and our dense map are the stored ones.
static int run_prompt(struct run *r, int object, int frame, bool prompted)
{
    const struct sam_config *c = &r->model->config;
    const int d = c->d_model, h = sam_grid(c);
    float xy[SAM_MAX_SPARSE][2];
    int labels[SAM_MAX_SPARSE];
    const int points =
        prompted ? golden_points(&r->golden, object, frame, xy, labels, SAM_MAX_SPARSE - 1) : 0;

    if (points >= 0) {
        float *tokens = malloc(sizeof(float) * (SAM_MAX_SPARSE + 1) * d);
        const int n = sam_prompt_tokens(&r->model->prompt, d, c->image_size, points,
                                        (const float (*)[2]) xy, labels, tokens);
        compare(r, "decoder.sparse", GOLDEN_AS_IS, upload(r, tokens, 1, 1, n, d));
        free(tokens);
    }

    const struct sam_tensor dense = tensor(r, SAM_F32, 1, h, h, d);
    if (has(r, "prompt_encoder.mask")) {
        struct sam_prompt_scratch s;
        LAYOUT(r, sam_prompt_layout(&s, c, sam_queue_type(&r->queue), 1, a));
        const struct sam_tensor logits =
            stored(r, "prompt_encoder.mask", GOLDEN_NCHW, 1, 4 * h, 4 * h, 1);
        sam_prompt_mask(&r->queue, r->model, &s, logits, dense);
    } else {
        const struct sam_tensor no_mask = r->model->prompt.no_mask;
        sam_op_copy(&r->queue, &(struct sam_copy) { .dst = dense, .src = no_mask });
    }
    compare(r, "decoder.dense", GOLDEN_NCHW, dense);
    return points;
}

static struct sam_decoded decoded(struct run *r)
{
    const struct sam_config *c = &r->model->config;
    const int P = 16 * sam_grid(c) * sam_grid(c);
    return (struct sam_decoded) {
        .low_res = tensor(r, SAM_F32, 1, 1, 1, P),
        .iou = tensor(r, SAM_F32, 1, 1, 1, 1),
        .score = tensor(r, SAM_F32, 1, 1, 1, 1),
        .pointer = tensor(r, SAM_F32, 1, 1, 1, c->d_model),
        .masks = tensor(r, SAM_F32, 1, 1, 4, P),
        .ious = tensor(r, SAM_F32, 1, 1, 1, 4),
        .tokens = tensor(r, SAM_F32, 1, 1, 4, c->d_model),
    };
}

// From the stored candidates to the frame's result.
static void run_choice(struct run *r, struct sam_decoder_scratch *s, bool multimask)
{
    const struct sam_config *c = &r->model->config;
    const int P = 16 * sam_grid(c) * sam_grid(c);
    struct sam_decoded out = decoded(r);
    out.masks = stored(r, "decoder.masks", GOLDEN_AS_IS, 1, 1, 4, P);
    out.ious = stored(r, "decoder.ious", GOLDEN_AS_IS, 1, 1, 1, 4);
    out.tokens = stored(r, "decoder.tokens", GOLDEN_AS_IS, 1, 1, 4, c->d_model);
    out.score = stored(r, "decoder.object_score", GOLDEN_AS_IS, 1, 1, 1, 1);
    sam_decoder_choose(&r->queue, r->model, s, integer(r, multimask), &out);

    char name[64];
    const int object_frame = (int) (strchr(strchr(r->prefix, '/') + 1, '/') - r->prefix) + 1;
    snprintf(name, sizeof(name), "%.*slow_res", object_frame, r->prefix);
    compare_as(r, name, name, GOLDEN_AS_IS, out.low_res);
    snprintf(name, sizeof(name), "%.*spointer", object_frame, r->prefix);
    compare_as(r, name, name, GOLDEN_AS_IS, out.pointer);
}

static void run_decoder(struct run *r, int object, int frame, bool prompted)
{
    const struct sam_config *c = &r->model->config;
    const int h = sam_grid(c), d = c->d_model;
    const int points = run_prompt(r, object, frame, prompted);
    const int num_sparse = golden_extent(&r->golden, stage_name(r, "decoder.sparse"), 1);

    // Prompted frames' goldens do not hold the high-resolution features: made from the clip.
    struct sam_features f = features(r);
    struct sam_encoder_scratch encoder;
    LAYOUT(r, sam_encoder_layout(&encoder, c, &r->queue, a));
    const bool has_features =
        c->family->lone_map || has(r, "s0") || encode_clip(r, &encoder, frame, &f);
    if (has(r, "s0")) {
        f.s0 = stored(r, "s0", GOLDEN_NCHW, 1, 4 * h, 4 * h, c->high_res_s0);
        f.s1 = stored(r, "s1", GOLDEN_NCHW, 1, 2 * h, 2 * h, c->high_res_s1);
    }
    const struct sam_tensor image = stored(r, "decoder.image", GOLDEN_NCHW, 1, h, h, d);
    const struct sam_tensor dense = stored(r, "decoder.dense", GOLDEN_NCHW, 1, h, h, d);
    const struct sam_tensor sparse =
        stored(r, "decoder.sparse", GOLDEN_AS_IS, 1, 1, num_sparse, d);
    const struct sam_decoded out = decoded(r);
    struct sam_decoder_scratch s;
    LAYOUT(r, sam_decoder_layout(&s, c, 1, num_sparse, a));

    sam_op_add(&r->queue, &(struct sam_add) { .dst = image, .a = image, .b = dense, .scale = 1 });
    sam_decoder_candidates(&r->queue, r->model, &s, image, prompted ? sparse
                           : (struct sam_tensor) { 0 }, &f, &out);
    compare(r, "decoder.tokens", GOLDEN_AS_IS, out.tokens);
    compare(r, "decoder.ious", GOLDEN_AS_IS, out.ious);
    compare(r, "decoder.object_score", GOLDEN_AS_IS, out.score);
    if (has_features)
        compare(r, "decoder.masks", GOLDEN_AS_IS, out.masks);
    if (points >= 0)
        run_choice(r, &s, points <= 1);
}

// ---- the memory encoder

static void run_memory_encoder(struct run *r, bool prompted)
{
    const struct sam_config *c = &r->model->config;
    const int side = sam_logits_side(c), M = sam_mask_side(c), h = sam_grid(c);
    struct sam_memory_encoder_scratch s;
    LAYOUT(r, sam_memory_encoder_layout(&s, c, sam_queue_type(&r->queue), 1, a));

    // From the frame's own low-resolution logits to the signal.
    char low_res[64];
    snprintf(low_res, sizeof(low_res), "%.14slow_res", r->prefix);
    size_t count;
    float *logits = golden_read(&r->golden, low_res, GOLDEN_AS_IS, &count);
    if (logits) {
        sam_memory_encoder_signal(&r->queue, &s, upload(r, logits, 1, side, side, 1),
                                  integer(r, prompted));
        compare(r, "memory_encoder.mask", GOLDEN_NCHW, s.high_res);
        free(logits);
    }

    const struct sam_tensor pix =
        stored(r, "memory_encoder.pix", GOLDEN_NCHW, 1, h, h, c->d_model);
    const struct sam_tensor mask = stored(r, "memory_encoder.mask", GOLDEN_NCHW, 1, M, M, 1);
    const struct sam_tensor dst = tensor(r, SAM_F32, 1, 1, h * h, c->mem_dim);
    sam_op_copy(&r->queue, &(struct sam_copy) { .dst = s.high_res, .src = mask });
    sam_memory_encoder_run_signal(&r->queue, r->model, &s, pix, dst);
    compare(r, "memory_encoder.out", GOLDEN_NCHW, dst);
    if (r->family->run_stored)
        r->family->run_stored(r);
}

// ---- all of it

static void run_group(struct run *r, const char *prefix)
{
    int object = 0, frame = 0;
    char kind[16] = "";
    snprintf(r->prefix, sizeof(r->prefix), "%s", prefix);
    sscanf(prefix, "obj%d/frame%d/%15[a-z]", &object, &frame, kind);
    const bool prompted = strcmp(kind, "prompt") == 0;
    if (has(r, "patch_embed") || has(r, "trunk0"))
        run_encoder(r, frame);
    give_back(r);
    if (has(r, "memory_attention.curr"))
        run_memory_attention(r);
    give_back(r);
    if (has(r, "decoder.image"))
        run_decoder(r, object, frame, prompted);
    give_back(r);
    if (has(r, "memory_encoder.pix"))
        run_memory_encoder(r, prompted);
    give_back(r);
}

// Groups are what stands before the last slash of names with four parts, in the file's order.
static void run_all(struct run *r)
{
    char last[64] = "";
    for (int i = 0; i < sam_weights_count(r->golden.file); i++) {
        const char *name = sam_weights_at(r->golden.file, i)->name;
        const char *slash = strrchr(name, '/');
        int slashes = 0;
        for (const char *c = name; *c; c++)
            slashes += *c == '/';
        if (slashes != 3 || (size_t) (slash - name) + 2 > sizeof(last))
            continue;
        char prefix[64];
        snprintf(prefix, sizeof(prefix), "%.*s", (int) (slash - name + 1), name);
        if (strcmp(prefix, last))
            run_group(r, strcpy(last, prefix));
    }
}

static const struct stages_family *find_family(const struct sam_config *c)
{
    static const struct stages_family *const families[] = {
        &stages_hiera, &stages_repvit, &stages_efficientnet, &stages_vit, &stages_sam3 };
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (!strcmp(families[i]->trunk, c->family->trunk))
            return families[i];
    die("no stages are known of this family");
    return NULL;
}

static const char usage[] =
    "usage: sam-stages --model FILE --golden FILE.safetensors [--backend ref|cpu|cuda]\n"
    "                  [--precision fp32|bf16] [--threads N] [--tolerance X] [--input-size PX]\n"
    "One line per stage: name, relative error in norm, largest absolute error. The engine's\n"
    "warnings and infos go to standard error.\n";

struct options {
    const char *model, *golden;
    enum sam_backend backend;
    enum sam_precision precision;
    int threads, input_size;
    double tolerance;
};

// In the order of the enums, from the first after AUTO on.
static const char *const backends[] = { "ref", "cpu", "cuda", NULL };
static const char *const precisions[] = { "fp32", "bf16", "int8", NULL };

static int find_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

static bool parse(struct options *o, int argc, char **argv)
{
    static const struct option names[] = {
        { "model", 1, 0, 'm' }, { "golden", 1, 0, 'g' }, { "backend", 1, 0, 'b' },
        { "precision", 1, 0, 'p' }, { "threads", 1, 0, 't' }, { "tolerance", 1, 0, 'e' },
        { "input-size", 1, 0, 's' }, { 0 },
    };
    for (int i, c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        switch (c) {
        case 'm': o->model = optarg; break;
        case 'g': o->golden = optarg; break;
        case 't': o->threads = atoi(optarg); break;
        case 's': o->input_size = atoi(optarg); break;
        case 'e': o->tolerance = atof(optarg); break;
        case 'b':
            if ((i = find_word(backends, optarg)) < 0)
                return false;
            o->backend = SAM_BACKEND_REF + i;
            break;
        case 'p':
            if ((i = find_word(precisions, optarg)) < 0)
                return false;
            o->precision = SAM_PRECISION_FP32 + i;
            break;
        default: return false;
        }
    }
    return o->model && o->golden && optind == argc;
}

int main(int argc, char **argv)
{
    struct options o = { .backend = SAM_BACKEND_CPU, .precision = SAM_PRECISION_FP32 };
    standard_begin("sam-stages");
    if (!parse(&o, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    struct run r = { .golden.path = o.golden };
    const struct sam_log log = { report_log, (void *) "sam-stages" };
    struct sam_error error;
    if (sam_queue_open(&r.queue, o.backend, -1, o.precision, o.threads, &log, &error) ||
        sam_weights_open(&r.golden.file, o.golden, NULL, &error) ||
        open_model_at(&r.model, o.model, o.input_size, &r.queue, &error))
        die(error.text);
    r.family = find_family(&r.model->config);

    // fp32: sums in another order than PyTorch's, over up to 4608 terms; the fast backend also
    // evaluates exp and erf by polynomials. bf16: 8 bits in every factor.
    r.tolerance = o.tolerance ? o.tolerance : r.queue.precision == SAM_PRECISION_BF16 ? 2e-2
                : o.backend == SAM_BACKEND_REF ? 1e-4 : 1e-3;
    run_all(&r);
    if (!r.stages)
        printf("%s: SKIPPED, it holds no stages\n", o.golden);

    const bool passed = r.stages > 0 && !r.failed;
    if (r.stages)
        printf("%s: %d stages, %d above %.0e, worst %.2e (%s)\n", passed ? "PASSED" : "FAILED",
               r.stages, r.failed, r.tolerance, r.worst, r.worst_name);
    sam_model_close(&r.model);
    sam_weights_close(&r.golden.file);
    sam_queue_close(&r.queue);
    return !r.stages ? 77 : !passed;
}
