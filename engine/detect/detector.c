// SPDX-License-Identifier: MIT
// A detector: its model, memory and queue, and the public calls.
#include "model/detector.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <samtrack/trunk.h>

#include "base/clock.h"
#include "base/sized.h"
#include "device/given.h"
#include "kept.h"
#include "looked.h"
#include "ops/backends.h"
#include "words.h"

// Of struct sam_detections before it had same_picture.
#define FIRST_SIZE offsetof(struct sam_detections, same_picture)

struct sam_detector {
    struct sam_queue queue;
    struct sam_model *model;
    struct sam_params params;
    char file[4096];
    struct sam_kept *kept; // NULL: stages are not kept

    // scratch: the input and what a pass hands out. state, in host memory: the choice's room, the
    // detections, and the candidates where the device's memory is not the host's; on the device:
    // the tensors of text, shape, trunk and seen.
    void *scratch_block, *state_block, *device_block;
    size_t scratch_bytes, state_bytes, device_bytes;
    struct sam_candidates on_host;
    void *room;
    struct sam_detection *found;

    // Of a family that takes words. What its network makes of them is state on the device.
    bool takes_words;
    struct sam_tokenizer tokenizer;
    struct sam_phrases phrases;
    struct sam_text text;
    char unknown[120]; // words
    float best[SAM_MAX_PHRASES]; // score of each phrase in the last frame
    float *text_room;

    // Of these families, too: what the network made of the latest picture, whatever the words.
    struct sam_seen seen;
    struct sam_looked looked;
    bool same_picture; // the last run was at the picture of the one before

    // Of a family whose input has the shape of the frames.
    struct sam_shape shape;
    float *shape_room;

    // Of a family that can begin with what a tracker's trunk made of the frame: room for it.
    struct sam_tensor trunk;
    bool has_trunk; // of the next frame

    int broken; // the status of the failure that ended it
    struct sam_error broken_error;
    int64_t open_ns;
};

// ---- memory

static struct sam_tensor take_input(const struct sam_detector *d, struct sam_arena *a)
{
    return sam_arena_tensor(a, SAM_F32, 1, d->shape.height, d->shape.width, 3);
}

// Of what a tracker's trunk gave the picture is not known.
static bool is_same_picture(struct sam_detector *d, struct sam_tensor input)
{
    if (!d->has_trunk)
        return sam_looked_again(&d->looked, &d->queue, input);
    sam_looked_forget(&d->looked);
    return false;
}

// The pass over `base`; NULL: it is measured. Returns the bytes of scratch.
static size_t pass_over(struct sam_detector *d, const struct sam_model *m, void *base,
                        const struct sam_frame *frame, struct sam_candidates *out)
{
    const struct sam_detector_family *f = m->config.detector;
    struct sam_arena arena = { .base = base };
    struct sam_pass pass = { .queue = &d->queue, .model = m, .arena = &arena, .live = base != NULL,
                             .text = f->words ? &d->text : NULL,
                             .shape = f->shapes ? &d->shape : NULL,
                             .seen = f->words ? &d->seen : NULL };
    const struct sam_tensor input = take_input(d, &arena);

    if (d->has_trunk)
        pass.trunk = d->trunk;
    if (pass.live) {
        f->place(&d->queue, frame, input);
        sam_queue_mark(&d->queue, "image", input);
        d->same_picture = f->words && is_same_picture(d, input);
    }
    if (f->words && !(pass.live && d->same_picture))
        f->words->see(&pass, input);
    f->run(&pass, input, out);
    assert(!pass.live || arena.peak <= d->scratch_bytes);
    return arena.peak;
}

// What becomes of words, in the same memory. Returns its bytes.
static size_t encode_over(struct sam_detector *d, const struct sam_model *m, void *base)
{
    struct sam_arena arena = { .base = base };
    struct sam_pass pass = { .queue = &d->queue, .model = m, .arena = &arena, .live = base != NULL,
                             .text = &d->text };

    m->config.detector->words->encode(&pass, &d->text, d->text_room);
    return arena.peak;
}

// What is on the device: as many words as there can be, tables of the largest shape, what a
// tracker's trunk gives, and what is made of a picture.
static size_t lay_device(struct sam_detector *d, const struct sam_config *c, void *base)
{
    const struct sam_detector_family *f = c->detector;
    struct sam_arena arena = { .base = base };

    d->shape.width = d->shape.height = c->image_size;
    if (f->shapes) {
        f->shapes->largest(c, &d->shape);
        f->shapes->lay_out(c, &arena, &d->shape);
    }
    if (f->shared_channels)
        d->trunk = sam_arena_tensor(&arena, SAM_F32, 1, sam_grid(c), sam_grid(c),
                                    f->shared_channels(c));
    if (f->words) {
        f->words->lay_out(c, &arena, &d->text);
        d->text.tokens = d->text.most;
        f->words->lay_seen(c, sam_queue_type(&d->queue), &d->shape, &arena, &d->seen);
    }
    return arena.peak;
}

// The pass of the largest input, which is a landscape or a portrait. Returns the bytes of scratch.
static size_t measure_pass(struct sam_detector *d, const struct sam_model *plan,
                           struct sam_candidates *like)
{
    const size_t bytes = pass_over(d, plan, NULL, NULL, like);
    const int width = d->shape.width;

    if (!plan->config.detector->shapes)
        return bytes;
    d->shape.width = d->shape.height;
    d->shape.height = width;
    const size_t other = pass_over(d, plan, NULL, NULL, like);
    return other > bytes ? other : bytes;
}

// The input takes the shape of the frame.
static void take_shape(struct sam_detector *d, const struct sam_frame *frame)
{
    const struct sam_config *c = &d->model->config;
    struct sam_shape fitting = d->shape;

    if (!c->detector->shapes)
        return;
    c->detector->shapes->fit(c, frame->width, frame->height, &fitting);
    if (fitting.width == d->shape.width && fitting.height == d->shape.height)
        return;
    d->shape = fitting;
    c->detector->shapes->write(&d->queue, d->model, &d->shape, d->shape_room);
}

static struct sam_tensor host_copy(struct sam_arena *a, const struct sam_tensor *t)
{
    return t->c ? sam_arena_tensor(a, t->type, t->n, t->h, t->w, t->c) : (struct sam_tensor) { 0 };
}

static size_t lay_state(struct sam_detector *d, const struct sam_config *c, void *base,
                        const struct sam_candidates *like)
{
    struct sam_arena a = { .base = base };

    d->room = sam_arena_bytes(&a, c->detector->room_bytes(c));
    d->found = sam_arena_bytes(&a, (size_t) c->detector->most * sizeof(*d->found));
    if (c->detector->words) {
        d->text_room = sam_arena_bytes(&a, c->detector->words->room(c) * sizeof(float));
        sam_looked_lay_out(&d->looked, &a, take_input(d, &(struct sam_arena) { 0 }));
    }
    if (c->detector->shapes) {
        struct sam_shape largest;
        c->detector->shapes->largest(c, &largest);
        const size_t numbers = c->detector->shapes->room(c, &largest);
        d->shape_room = sam_arena_bytes(&a, numbers * sizeof(float));
    }
    if (sam_queue_has_own_memory(&d->queue)) {
        d->on_host.score = host_copy(&a, &like->score);
        d->on_host.box = host_copy(&a, &like->box);
        d->on_host.mask = host_copy(&a, &like->mask);
        d->on_host.presence = host_copy(&a, &like->presence);
    }
    return (a.peak + SAM_ALIGN - 1) / SAM_ALIGN * SAM_ALIGN;
}

static int check_budget(const struct sam_detector *d, size_t constant, struct sam_error *error)
{
    const double mib = 1024.0 * 1024.0;
    const size_t state = d->state_bytes + d->device_bytes;
    const double total = (double) (constant + d->scratch_bytes + state) / mib;
    const int budget = d->params.budget_mib;

    if (!budget || total <= budget)
        return SAM_OK;
    return sam_fail(error, SAM_ENOMEM,
                    "a budget of %d MiB is too small: %.1f MiB are needed (weights %.1f, scratch "
                    "%.1f, state %.1f), %.1f MiB are missing", budget, total,
                    (double) constant / mib, (double) d->scratch_bytes / mib,
                    (double) state / mib, total - budget);
}

static int take_memory(struct sam_detector *d, const struct sam_model_file *file,
                       struct sam_error *error)
{
    const struct sam_config *c = &file->config;
    struct sam_model plan = { .config = file->config };
    struct sam_candidates like = { 0 };
    size_t constant = 0;
    int status = sam_model_plan(file, &d->queue, &constant, error);

    if (status)
        return status;
    d->device_bytes = lay_device(d, c, NULL);
    d->scratch_bytes = measure_pass(d, &plan, &like);
    const size_t encoding = c->detector->words ? encode_over(d, &plan, NULL) : 0;
    d->scratch_bytes = encoding > d->scratch_bytes ? encoding : d->scratch_bytes;
    d->state_bytes = lay_state(d, c, NULL, &like);
    if ((status = check_budget(d, constant, error)))
        return status;
    d->scratch_block = sam_queue_alloc(&d->queue, d->scratch_bytes);
    d->state_block = d->scratch_block ? aligned_alloc(SAM_ALIGN, d->state_bytes) : NULL;
    d->device_block = d->device_bytes ? sam_queue_alloc(&d->queue, d->device_bytes) : NULL;
    if (!d->state_block || (d->device_bytes && !d->device_block))
        return sam_fail(error, SAM_ENOMEM,
                        "no memory: %.1f MiB are needed to detect at %d px, %.1f MiB are left",
                        (double) (d->scratch_bytes + d->state_bytes + d->device_bytes) / (1 << 20),
                        c->image_size, (double) sam_queue_memory_left(&d->queue) / (1 << 20));
    memset(d->state_block, 0, d->state_bytes);
    lay_state(d, c, d->state_block, &like);
    lay_device(d, c, d->device_block);
    if (c->detector->shapes)
        d->shape.width = d->shape.height = 0; // no tables yet
    return SAM_OK;
}

// ---- one frame

// Of a family that takes words there may be fewer numbers than *dst has room for.
static void fetch(struct sam_queue *q, struct sam_tensor *dst, struct sam_tensor src)
{
    if (!dst->data)
        return;
    dst->h = src.h, dst->w = src.w, dst->c = src.c;
    sam_queue_fetch(q, dst->data, src.data, sam_tensor_bytes(&src));
}

static int check_finite(const struct sam_detector *d, int num, struct sam_error *error)
{
    for (int i = 0; i < num; i++) {
        const struct sam_detection *x = &d->found[i];
        const bool good = isfinite(x->score) && isfinite(x->box[0]) && isfinite(x->box[1]) &&
                          isfinite(x->box[2]) && isfinite(x->box[3]);
        if (!good)
            return sam_fail(error, SAM_EWEIGHTS,
                            "%s: detection %d has score %g and box %g, %g, %g, %g: the model's "
                            "numbers overflowed", d->file, i, x->score, x->box[0], x->box[1],
                            x->box[2], x->box[3]);
    }
    return SAM_OK;
}

static int detect(struct sam_detector *d, const struct sam_frame *frame, int *num,
                  struct sam_error *error)
{
    const struct sam_config *c = &d->model->config;
    struct sam_candidates out = { 0 };

    take_shape(d, frame);
    pass_over(d, d->model, d->scratch_block, frame, &out);
    d->has_trunk = false;
    fetch(&d->queue, &d->on_host.score, out.score);
    fetch(&d->queue, &d->on_host.box, out.box);
    fetch(&d->queue, &d->on_host.mask, out.mask);
    fetch(&d->queue, &d->on_host.presence, out.presence);
    const int status = sam_queue_finish(&d->queue, error);
    if (status)
        return status;
    d->on_host.text = out.text;
    const struct sam_candidates *from = d->on_host.score.data ? &d->on_host : &out;
    *num = c->detector->choose(c, from, frame->width, frame->height, d->room, d->found);
    if (out.text && c->detector->words->rate)
        c->detector->words->rate(from, d->best);
    else if (out.text)
        sam_words_rate(out.text, &from->score, d->best);
    return check_finite(d, *num, error);
}

// ---- words

// The vocabulary beside the file must be that of its network.
static int open_vocabulary(struct sam_detector *d, const struct sam_model_file *file,
                           struct sam_error *error)
{
    const struct sam_detector_words *words = file->config.detector->words;

    if (!words)
        return SAM_OK;
    const int rows = words->count(&file->config);
    const int status = sam_tokenizer_open_beside(&d->tokenizer, words->tokenizer, d->file, error);
    if (status)
        return status == SAM_ENOTFOUND ? SAM_EIO : status; // SAM_ENOTFOUND is about objects
    d->takes_words = true;
    const int size = sam_tokenizer_size(&d->tokenizer);
    if (size == rows)
        return SAM_OK;
    return sam_fail(error, SAM_EFORMAT,
                    "%s: expected the vocabulary of its network, of %d tokens, found one of %d "
                    "beside it", sam_weights_file(file->weights), rows, size);
}

static int set_words(struct sam_detector *d, const char *words, struct sam_error *error)
{
    char unknown[120];
    const int status =
        sam_words_read(&d->text, &d->phrases, &d->tokenizer, words, unknown, error);

    if (status)
        return status;
    memcpy(d->unknown, unknown, sizeof(unknown));
    memset(d->best, 0, sizeof(d->best));
    if (*unknown)
        sam_log(&d->queue.log, SAM_LOG_WARNING, "words: the vocabulary has no piece of %s",
                unknown);
    encode_over(d, d->model, d->scratch_block);
    return sam_queue_finish(&d->queue, error);
}

// ---- the public calls

// On an open queue.
static int open_detector(struct sam_detector *d, struct sam_error *error)
{
    static const uint8_t black[64];
    const struct sam_frame frame = { .size = sizeof(frame), .format = SAM_PIXEL_GRAY8, .width = 8,
                                     .height = 8, .plane = { black }, .stride = { 8 } };
    struct sam_model_file file = { 0 };
    int status, num;

    if (!(status = sam_detector_file_open(&file, d->file, d->params.input_size, error)) &&
        !(status = open_vocabulary(d, &file, error)) &&
        !(status = take_memory(d, &file, error)))
        status = sam_model_open(&d->model, &file, &d->queue, error);
    sam_model_file_close(&file);
    if (!status && d->params.keep_stages && !(d->kept = sam_kept_open(&d->queue)))
        status = sam_fail(error, SAM_ENOMEM, "no memory to keep stages in");
    if (!status && d->takes_words)
        status = set_words(d, NULL, error);
    if (status || (status = detect(d, &frame, &num, error)))
        return status;
    sam_looked_forget(&d->looked);
    return SAM_OK;
}

static int take_params(struct sam_detector *d, const struct sam_params *params,
                       struct sam_error *error)
{
    const int status = sam_params_take(&d->params, params, error);

    if (status)
        return status;
    if (!d->params.model_file)
        return sam_fail(error, SAM_EINVAL, "model_file is NULL: there is no default detector");
    if (strlen(d->params.model_file) >= sizeof(d->file))
        return sam_fail(error, SAM_EINVAL,
                        "model file: a path of %zu bytes is too long, expected less than %zu",
                        strlen(d->params.model_file), sizeof(d->file));
    strcpy(d->file, d->params.model_file);
    d->params.model_file = d->file;
    if (d->params.backend == SAM_BACKEND_AUTO)
        d->params.backend = SAM_BACKEND_CPU; // on a GPU no detector has run yet
    return SAM_OK;
}

int sam_detector_open(sam_detector **out, const struct sam_params *params, struct sam_error *error)
{
    const int64_t began = sam_now();
    struct sam_detector *d;
    int status;

    if (!out)
        return sam_fail(error, SAM_EINVAL, "out is NULL");
    *out = NULL;
    if (!(d = calloc(1, sizeof(*d))))
        return sam_fail(error, SAM_ENOMEM, "no memory for a detector");
    if (!(status = take_params(d, params, error)))
        status = sam_queue_open_for(&d->queue, &d->params, false, error);
    if (!status) {
        sam_queue_enter(&d->queue);
        status = open_detector(d, error);
        sam_queue_leave(&d->queue);
    }
    if (status) {
        sam_detector_close(&d);
        return status;
    }
    d->open_ns = sam_now() - began;
    *out = d;
    return SAM_OK;
}

void sam_detector_close(sam_detector **out)
{
    struct sam_detector *d = out ? *out : NULL;

    if (!d)
        return;
    sam_kept_close(&d->kept);
    if (sam_queue_is_open(&d->queue)) {
        sam_queue_enter(&d->queue);
        sam_model_close(&d->model);
        sam_queue_free(&d->queue, d->scratch_block);
        sam_queue_free(&d->queue, d->device_block);
        sam_queue_leave(&d->queue);
        sam_queue_close(&d->queue);
    }
    sam_tokenizer_close(&d->tokenizer);
    free(d->state_block);
    free(d);
    *out = NULL;
}

static int end(struct sam_detector *d, int status, struct sam_error *error)
{
    d->broken = status;
    if (status && error)
        *error = d->broken_error;
    if (status == SAM_EDEVICE)
        sam_model_disown(d->model);
    return status;
}

// The first failure but a bad frame ends the detector.
static int run_frame(struct sam_detector *d, const struct sam_frame *given, int *num,
                     struct sam_error *error)
{
    struct sam_frame frame;
    int status = sam_frame_take(&frame, &d->queue, given, error);

    if (!status)
        status = sam_queue_reserve(&d->queue, sam_frame_bytes(&frame), error);
    if (status)
        return status;
    *num = 0;
    d->same_picture = false;
    if (d->takes_words && !d->text.phrases)
        return SAM_OK;
    return end(d, detect(d, &frame, num, &d->broken_error), error);
}

static int refuse_broken(const struct sam_detector *d, struct sam_error *error)
{
    if (!d)
        return sam_fail(error, SAM_EINVAL, "detector is NULL");
    if (d->broken)
        return sam_fail(error, d->broken, "the detector failed before and must be closed: %s",
                        d->broken_error.text);
    return SAM_OK;
}

int sam_detector_set_words(sam_detector *d, const char *words, struct sam_error *error)
{
    int status = refuse_broken(d, error);

    if (status)
        return status;
    if (!d->takes_words)
        return sam_fail(error, SAM_EUNSUPPORTED,
                        "%s: %s finds objects of its %d classes, not what words name", d->file,
                        d->model->config.detector->title,
                        d->model->config.detector->classes(&d->model->config));
    sam_queue_enter(&d->queue);
    status = set_words(d, words, &d->broken_error);
    sam_queue_leave(&d->queue);
    if (status != SAM_EINVAL)
        return end(d, status, error);
    if (error)
        *error = d->broken_error;
    return status;
}

static int check_trunk(const struct sam_detector *d, const struct sam_trunk *trunk,
                       struct sam_error *error)
{
    const uint64_t own = sam_model_trunk(d->model);

    if (!own || trunk->source != own)
        return sam_fail(error, SAM_EUNSUPPORTED,
                        "%s: the trunk is not that of this file, side, backend and precision",
                        d->file);
    if (trunk->map && (trunk->count != sam_count(&d->trunk) || trunk->capacity < trunk->count))
        return sam_fail(error, SAM_EINVAL, "trunk: %zu of %zu numbers, expected %zu",
                        trunk->capacity, trunk->count, sam_count(&d->trunk));
    return SAM_OK;
}

int sam_detector_take_trunk(sam_detector *d, const struct sam_trunk *given,
                            struct sam_error *error)
{
    struct sam_trunk trunk = { 0 };
    int status = sam_sized_read(&trunk, sizeof(trunk), sizeof(trunk), given, "trunk", error);

    if (status || (status = refuse_broken(d, error)) || (status = check_trunk(d, &trunk, error)) ||
        !trunk.map)
        return status;
    sam_queue_enter(&d->queue);
    sam_queue_upload(&d->queue, d->trunk.data, trunk.map, sam_tensor_bytes(&d->trunk));
    status = sam_queue_finish(&d->queue, &d->broken_error);
    sam_queue_leave(&d->queue);
    d->has_trunk = !status;
    return end(d, status, error);
}

const char *sam_detector_phrase(const sam_detector *d, int label)
{
    return d && label >= 0 && label < d->phrases.count ? d->phrases.phrase[label] : NULL;
}

float sam_detector_phrase_score(const sam_detector *d, int label)
{
    return d && label >= 0 && label < d->phrases.count ? d->best[label] : 0;
}

const char *sam_detector_unknown_words(const sam_detector *d)
{
    return d ? d->unknown : "";
}

int sam_detector_run(sam_detector *d, const struct sam_frame *frame, struct sam_detections *found,
                     struct sam_error *error)
{
    const int64_t began = sam_now();
    static const struct sam_detections none;
    int num = 0, status = sam_sized_check(found, sizeof(*found), FIRST_SIZE, "found", error);

    if (status)
        return status;
    sam_sized_write(found, &none);
    if ((status = refuse_broken(d, error)))
        return status;
    sam_queue_enter(&d->queue);
    status = run_frame(d, frame, &num, error);
    sam_queue_leave(&d->queue);
    if (status)
        return status;
    struct sam_detections all = {
        .num = num, .list = d->found, .same_picture = d->same_picture
    };
    const struct sam_config *c = &d->model->config;
    if (c->detector->mask_size)
        c->detector->mask_size(c, &all.mask_width, &all.mask_height);
    all.total_ns = sam_now() - began;
    sam_sized_write(found, &all);
    return SAM_OK;
}

int sam_detector_read(sam_detector *d, const char *name, float *dst, size_t capacity, int shape[4],
                      struct sam_error *error)
{
    if (!d || !name || (!dst && capacity) || !shape)
        return sam_fail(error, SAM_EINVAL, "%s is NULL", !d       ? "detector"
                                                         : !name  ? "name"
                                                         : !shape ? "shape"
                                                                  : "dst");
    return sam_kept_read(d->kept, name, dst, capacity, shape, error);
}

int sam_detector_info(const sam_detector *d, struct sam_detector_info *info,
                      struct sam_error *error)
{
    const int status = sam_sized_check(info, sizeof(*info), sizeof(*info), "info", error);

    if (status)
        return status;
    if (!d)
        return sam_fail(error, SAM_EINVAL, "detector is NULL");
    const struct sam_config *c = &d->model->config;
    const struct sam_detector_info all = {
        .model_file = d->file, .family = c->detector->title, .variant = c->variant,
        .backend = sam_queue_backend(&d->queue), .device = d->queue.device_name,
        .precision = sam_queue_precision(&d->queue), .threads = d->queue.threads,
        .image_size = c->image_size,
        .num_classes = d->takes_words ? d->text.phrases : c->detector->classes(c),
        .max_detections = c->detector->most, .open_ns = d->open_ns,
        .bytes_used = d->model->constant_bytes + sizeof(*d) + d->scratch_bytes +
                      d->state_bytes + d->device_bytes + sam_queue_workspace_bytes(&d->queue),
        .takes_words = d->takes_words, .input_width = d->shape.width,
        .input_height = d->shape.height,
    };
    sam_sized_write(info, &all);
    return SAM_OK;
}
