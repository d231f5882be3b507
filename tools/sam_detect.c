// SPDX-License-Identifier: MIT
// sam-detect: runs a detector over frames, through the public header alone, and writes what it
// found.
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <samtrack/detector.h>

#include "tool.h"

static const char usage[] =
    "usage: sam-detect --model FILE --frames FILE-or-FOLDER --out FILE.safetensors\n"
    "                  [--backend ref|cpu|cuda] [--precision fp32|bf16] [--top N] [--threads N]\n"
    "                  [--input-size PX] [--words PHRASES] [--stage NAME]...\n"
    "Writes frame<nnn>/{score (N), label (N), box (N,4), query (N), mask (N,h,w)} as float32, box\n"
    "in px of the frame; with --stage also frame<nnn>/<NAME>, as the network has it. PHRASES, for\n"
    "a detector that takes words: \"person. red car\"; label counts them.\n";

enum { MAX_STAGES = 64 };

struct options {
    const char *model, *frames, *out, *words, *stage[MAX_STAGES];
    enum sam_backend backend;
    enum sam_precision precision;
    int top, threads, input_size, num_stages;
};

struct run {
    struct tool tool;
    struct options o;
    sam_detector *detector;
    double *ms; // per frame
};

static struct options parse(const struct tool *tool, int argc, char **argv)
{
    static const char *const backends[] = { NULL, "ref", "cpu", "cuda" };
    static const char *const precisions[] = { NULL, "fp32", "bf16" };
    static const struct option table[] = {
        { "model", 1, NULL, 'm' },   { "frames", 1, NULL, 'f' },    { "out", 1, NULL, 'o' },
        { "backend", 1, NULL, 'b' }, { "precision", 1, NULL, 'p' }, { "top", 1, NULL, 'n' },
        { "threads", 1, NULL, 't' }, { "input-size", 1, NULL, 'i' }, { "stage", 1, NULL, 's' },
        { "words", 1, NULL, 'w' },   { "help", 0, NULL, 'h' },      { NULL, 0, NULL, 0 },
    };
    struct options o = { .backend = SAM_BACKEND_CPU, .precision = SAM_PRECISION_FP32 };
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (c) {
        case 'm': o.model = optarg; break;
        case 'f': o.frames = optarg; break;
        case 'o': o.out = optarg; break;
        case 'b':
            o.backend = (enum sam_backend) tool_pick(tool, "backend", optarg, backends, 4);
            break;
        case 'p':
            o.precision = (enum sam_precision) tool_pick(tool, "precision", optarg, precisions, 3);
            break;
        case 'n': o.top = tool_number(tool, "top", optarg, 1); break;
        case 't': o.threads = tool_number(tool, "threads", optarg, 0); break;
        case 'i': o.input_size = tool_number(tool, "input-size", optarg, 0); break;
        case 'w': o.words = optarg; break;
        case 's':
            if (o.num_stages == MAX_STAGES)
                tool_refuse(tool, "stage", optarg);
            o.stage[o.num_stages++] = optarg;
            break;
        case 'h': fputs(usage, stdout); exit(0);
        default:  fputs(usage, stderr); exit(2);
        }
    if (!o.model || !o.frames || !o.out || optind < argc) {
        fputs(usage, stderr);
        exit(2);
    }
    return o;
}

static int add(struct run *r, int t, const char *name, int rank, const int *shape,
               const float *data)
{
    char full[96];
    snprintf(full, sizeof(full), "frame%03d/%s", t, name);
    return tool_add(&r->tool, full, rank, shape, data);
}

static int add_stage(struct run *r, int t, const char *name)
{
    struct tool *tool = &r->tool;
    struct sam_error error;
    int shape[4] = { 0 };
    int status =
        sam_detector_read(r->detector, name, tool->room, tool->room_floats, shape, &error);

    if (status == SAM_EINVAL && shape[0]) {
        free(tool->room);
        tool->room_floats = (size_t) shape[0] * shape[1] * shape[2] * shape[3];
        tool->room = malloc(tool->room_floats * sizeof(float));
        if (!tool->room)
            return fail(r, "no memory for stage %s", name);
        status = sam_detector_read(r->detector, name, tool->room, tool->room_floats, shape, &error);
    }
    return status ? fail(r, "frame %d: %s", t, error.text) : add(r, t, name, 4, shape, tool->room);
}

static int add_masks(struct run *r, int t, int n, const struct sam_detections *found)
{
    const size_t one = (size_t) found->mask_width * found->mask_height;
    float *masks = one && n ? malloc(n * one * sizeof(float)) : NULL;

    if (!one || !n)
        return 0;
    if (!masks)
        return fail(r, "no memory for masks");
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < one; k++)
            masks[i * one + k] = found->list[i].mask && found->list[i].mask[k];
    const int status = add(r, t, "mask", 3,
                           (int[]) { n, found->mask_height, found->mask_width }, masks);
    free(masks);
    return status;
}

static int add_found(struct run *r, int t, const struct sam_detections *found)
{
    const int n = r->o.top && r->o.top < found->num ? r->o.top : found->num;
    float *rows = calloc((size_t) n * 7 + 1, sizeof(float));
    float *score = rows, *label = rows + n, *query = rows + 2 * n, *box = rows + 3 * n;

    if (!rows)
        return fail(r, "no memory for %d detections", n);
    for (int i = 0; i < n; i++) {
        const struct sam_detection *d = &found->list[i];
        score[i] = d->score;
        label[i] = (float) d->label;
        query[i] = (float) d->query;
        memcpy(box + 4 * i, d->box, sizeof(d->box));
    }
    int status = add(r, t, "score", 1, &n, score);
    if (!status)
        status = add(r, t, "label", 1, &n, label);
    if (!status)
        status = add(r, t, "query", 1, &n, query);
    if (!status)
        status = add(r, t, "box", 2, (int[]) { n, 4 }, box);
    free(rows);
    return status ? status : add_masks(r, t, n, found);
}

static int run_frame(void *self, int t)
{
    struct run *r = self;
    struct sam_frame frame;
    struct sam_detections found = SAM_DETECTIONS_INIT;
    struct sam_error error;

    if (tool_frame(&r->tool, t, &frame))
        return -1;
    if (sam_detector_run(r->detector, &frame, &found, &error))
        return fail(r, "frame %d: %s", t, error.text);
    r->ms[t] = (double) found.total_ns * 1e-6;
    int status = add_found(r, t, &found);
    for (int i = 0; i < r->o.num_stages && !status; i++)
        status = add_stage(r, t, r->o.stage[i]);
    return status;
}

// With the words, if there are any.
static int open_detector(struct run *r, const struct sam_params *params)
{
    struct sam_error error;

    if (sam_detector_open(&r->detector, params, &error) ||
        (r->o.words && sam_detector_set_words(r->detector, r->o.words, &error)))
        return fail(r, "%s", error.text);
    return 0;
}

static int open_all(void *self)
{
    struct run *r = self;
    struct sam_params params = SAM_PARAMS_INIT;

    if (tool_open_frames(&r->tool, r->o.frames))
        return -1;
    params.model_file = r->o.model;
    params.backend = r->o.backend;
    params.precision = r->o.precision;
    params.threads = r->o.threads;
    params.input_size = r->o.input_size;
    params.keep_stages = r->o.num_stages > 0;
    if (open_detector(r, &params))
        return -1;
    r->ms = calloc((size_t) r->tool.frames.count, sizeof(double));
    return r->ms ? 0 : fail(r, "no memory");
}

static void report(void *self)
{
    struct run *r = self;
    struct sam_detector_info info = SAM_DETECTOR_INFO_INIT;
    const int n = r->tool.frames.count;

    sam_detector_info(r->detector, &info, NULL);
    printf("{\"frames\": %d, \"p50_ms\": %.3f, \"open_ms\": %.3f, \"model\": \"%s\", "
           "\"image_size\": %d, \"classes\": %d, \"bytes_used\": %zu}\n", n,
           tool_quantile(r->ms, n, 0.5), (double) info.open_ns * 1e-6, info.variant,
           info.image_size, info.num_classes, info.bytes_used);
}

int main(int argc, char **argv)
{
    static const struct tool_parts parts = { open_all, run_frame, report };
    struct run r = { .tool = { .name = "sam-detect", .usage = usage } };

    standard_begin(r.tool.name);
    r.o = parse(&r.tool, argc, argv);
    const int status = tool_run(&r.tool, &parts, r.o.out);
    sam_detector_close(&r.detector);
    free(r.ms);
    return status;
}
