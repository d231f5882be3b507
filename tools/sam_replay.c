// SPDX-License-Identifier: MIT
// sam-replay: runs the prompts of a script over frames, through the public header alone, with
// the semantics of the published video predictor, and writes what each object became.
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tool.h"

static const char usage[] =
    "usage: sam-replay --model FILE --frames FILE-or-FOLDER --script scenarios.json\n"
    "                  --scenario NAME --out FILE.safetensors [--backend ref|cpu|cuda]\n"
    "                  [--precision fp32|bf16|int8] [--threads N] [--stages] [--input-size PX]\n"
    "Runs one scenario of a script and writes the tensors obj<id>/frame<nnn>/{low_res,pointer,\n"
    "score} as float32; with --stages also memory and the outputs of the network's parts.\n"
    "The last line is JSON; with the backend cuda it tells what is used there. The engine's\n"
    "warnings and infos go to standard error.\n";

enum { MAX_OBJECTS = 64, STEADY_FROM = 16 }; // frames from here on have a full memory

struct options {
    const char *model, *frames, *script, *scenario, *out;
    enum sam_backend backend;
    enum sam_precision precision;
    int threads, stages, input_size;
};

struct replay {
    struct tool tool;
    struct options o;
    json_t *script;
    const json_t *items; // of the scenario
    int image_size;      // of the script's coordinates
    struct sam_params params;
    sam_tracker *tracker;
    int num_objects;
    struct {
        int name;    // the script's
        uint64_t id; // the tracker's
        int prompted; // the last frame it was prompted on
    } object[MAX_OBJECTS];
    double *step_ms, *encode_ms, *attend_ms; // per frame
};

// ---- Options.

static struct options parse(const struct tool *tool, int argc, char **argv)
{
    static const char *const backends[] = { NULL, "ref", "cpu", "cuda" };
    static const char *const precisions[] = { NULL, "fp32", "bf16", "int8" };
    static const struct option table[] = {
        { "model", 1, NULL, 'm' },     { "frames", 1, NULL, 'f' },  { "script", 1, NULL, 's' },
        { "scenario", 1, NULL, 'c' },  { "out", 1, NULL, 'o' },     { "backend", 1, NULL, 'b' },
        { "precision", 1, NULL, 'p' }, { "threads", 1, NULL, 't' }, { "stages", 0, NULL, 'g' },
        { "input-size", 1, NULL, 'i' },
        { "help", 0, NULL, 'h' },      { NULL, 0, NULL, 0 },
    };
    struct options o = { .backend = SAM_BACKEND_CPU };
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (c) {
        case 'm': o.model = optarg; break;
        case 'f': o.frames = optarg; break;
        case 's': o.script = optarg; break;
        case 'c': o.scenario = optarg; break;
        case 'o': o.out = optarg; break;
        case 'b':
            o.backend = (enum sam_backend) tool_pick(tool, "backend", optarg, backends, 4);
            break;
        case 'p':
            o.precision = (enum sam_precision) tool_pick(tool, "precision", optarg, precisions, 4);
            break;
        case 't': o.threads = tool_number(tool, "threads", optarg, 0); break;
        case 'i': o.input_size = tool_number(tool, "input-size", optarg, 0); break;
        case 'g': o.stages = 1; break;
        case 'h': fputs(usage, stdout); exit(0);
        default:  fputs(usage, stderr); exit(2);
        }
    if (!o.model || !o.frames || !o.script || !o.scenario || !o.out || optind < argc) {
        fputs(usage, stderr);
        exit(2);
    }
    if (!o.precision)
        o.precision = o.backend == SAM_BACKEND_CUDA ? SAM_PRECISION_BF16 : SAM_PRECISION_FP32;
    return o;
}

// ---- The script.

static int read_script(struct replay *r)
{
    json_error_t where;

    r->script = json_load_file(r->o.script, 0, &where);
    if (!r->script)
        return fail(r, "%s: line %d: %s", r->o.script, where.line, where.text);
    r->image_size = (int) json_integer_value(json_object_get(r->script, "image_size"));
    r->items = json_object_get(json_object_get(r->script, "scenarios"), r->o.scenario);
    if (r->image_size < 1)
        return fail(r, "%s: image_size is missing", r->o.script);
    if (!json_is_array(r->items))
        return fail(r, "%s: no scenario '%s'", r->o.script, r->o.scenario);
    return 0;
}

static int frame_of(const json_t *item)
{
    return (int) json_integer_value(json_object_get(item, "frame"));
}

static int object_of(const json_t *item)
{
    return (int) json_integer_value(json_object_get(item, "obj"));
}

// Most prompted frames of one object: nothing the published predictor keeps is evicted.
static int most_prompted_frames(const struct replay *r)
{
    const size_t n = json_array_size(r->items);
    int most = 2;

    for (size_t i = 0; i < n; i++) {
        const json_t *a = json_array_get(r->items, i);
        int count = 0;
        for (size_t k = 0; k < n; k++) {
            const json_t *b = json_array_get(r->items, k);
            int seen = object_of(b) != object_of(a);
            for (size_t j = 0; j < k && !seen; j++) {
                const json_t *c = json_array_get(r->items, j);
                seen = object_of(c) == object_of(b) && frame_of(c) == frame_of(b);
            }
            count += !seen;
        }
        most = count > most ? count : most;
    }
    return most;
}

static float number(const json_t *array, size_t i)
{
    return (float) json_number_value(json_array_get(array, i));
}

// The disc of the script's own line: no half pixels, S its side.
static int draw_disc(struct replay *r, struct picture *p)
{
    const int s = r->image_size;

    *p = (struct picture) { s, s, 1, malloc((size_t) s * s) };
    if (!p->data)
        return fail(r, "no memory for a mask");
    for (int y = 0; y < s; y++)
        for (int x = 0; x < s; x++) {
            const double dx = x - .45 * s, dy = y - .55 * s;
            p->data[(size_t) y * s + x] = dx * dx + dy * dy < .04 * s * s ? 255 : 0;
        }
    return 0;
}

static int read_mask(struct replay *r, const char *name, struct picture *p)
{
    const char *slash = strrchr(r->o.script, '/');
    char path[4096];

    if (!strcmp(name, "disc"))
        return draw_disc(r, p);
    snprintf(path, sizeof(path), "%.*s%s", slash ? (int) (slash + 1 - r->o.script) : 0, r->o.script,
             name);
    return picture_read(p, path, 1, r->tool.error, sizeof(r->tool.error));
}

static int fill_prompt(struct replay *r, const json_t *item, struct sam_prompt *prompt,
                       struct sam_point *points, struct picture *mask)
{
    const json_t *xy = json_object_get(item, "points"), *labels = json_object_get(item, "labels");
    const json_t *box = json_object_get(item, "box"), *name = json_object_get(item, "mask");

    prompt->space_width = prompt->space_height = r->image_size;
    if (json_array_size(xy) > SAM_MAX_POINTS)
        return fail(r, "%zu points in one prompt", json_array_size(xy));
    for (size_t i = 0; i < json_array_size(xy); i++)
        points[i] = (struct sam_point){ number(json_array_get(xy, i), 0),
                                        number(json_array_get(xy, i), 1), (int) number(labels, i) };
    prompt->num_points = (int) json_array_size(xy);
    prompt->points = points;
    prompt->has_box = json_array_size(box) == 4;
    for (size_t i = 0; i < 4 && prompt->has_box; i++)
        prompt->box[i] = number(box, i);
    prompt->answer = (int) json_integer_value(json_object_get(item, "answer"));
    if (!name)
        return 0;
    if (read_mask(r, json_string_value(name), mask))
        return -1;
    prompt->mask = mask->data;
    prompt->mask_width = mask->width;
    prompt->mask_height = mask->height;
    prompt->mask_stride = mask->width;
    return 0;
}

static int find_object(struct replay *r, int name)
{
    int i = 0;

    while (i < r->num_objects && r->object[i].name != name)
        i++;
    if (i == r->num_objects && i < MAX_OBJECTS) {
        r->object[i].name = name;
        r->object[i].id = 0;
        r->num_objects++;
    }
    return i < MAX_OBJECTS ? i : fail(r, "more than %d objects", MAX_OBJECTS);
}

static int give_prompt(struct replay *r, const json_t *item)
{
    struct sam_point points[SAM_MAX_POINTS];
    struct sam_prompt prompt = SAM_PROMPT_INIT;
    struct picture mask = { 0 };
    struct sam_error error;
    const int i = find_object(r, object_of(item));
    int status;

    if (i < 0 || fill_prompt(r, item, &prompt, points, &mask))
        return -1;
    prompt.id = r->object[i].id;
    status = sam_tracker_prompt(r->tracker, &prompt, &r->object[i].id, &error);
    free(mask.data);
    r->object[i].prompted = frame_of(item);
    return status ? fail(r, "frame %d, object %d: %s", frame_of(item), object_of(item), error.text)
                  : 0;
}

// ---- What is written.

// The stages that a golden holds, with the rank each has there.
static const struct {
    const char *name;
    int rank, of_prompt; // of_prompt: kept for prompted frames too
} stages[] = {
    { "image", 4, 0 },
    { "patch_embed", 4, 0 },
    { "stem", 4, 0 },
    { "stage1.downsample", 4, 0 },
    { "stage2.downsample", 4, 0 },
    { "stage3.downsample", 4, 0 },
    { "trunk0", 4, 0 },
    { "trunk1", 4, 0 },
    { "trunk2", 4, 0 },
    { "trunk3", 4, 0 },
    { "fpn", 4, 0 },
    { "s0", 4, 0 },
    { "s1", 4, 0 },
    { "memory_attention.curr", 3, 1 },
    { "memory_attention.memory", 3, 1 },
    { "memory_attention.memory_pos", 3, 1 },
    { "memory_attention.num_ptr_tokens", 1, 1 },
    { "memory_attention.layer0", 3, 1 },
    { "memory_attention.layer1", 3, 1 },
    { "memory_attention.out", 3, 1 },
    { "prompt_encoder.mask", 4, 1 },
    { "decoder.image", 4, 1 },
    { "decoder.sparse", 3, 1 },
    { "decoder.dense", 4, 1 },
    { "decoder.masks", 4, 1 },
    { "decoder.ious", 2, 1 },
    { "decoder.tokens", 3, 1 },
    { "decoder.object_score", 2, 1 },
    { "memory_encoder.pix", 4, 1 },
    { "memory_encoder.mask", 4, 1 },
    { "memory_encoder.out", 4, 1 },
    { "spatial_perceiver.pos", 4, 1 },
    { "spatial_perceiver.layer0_1d", 3, 1 },
    { "spatial_perceiver.layer0_2d", 3, 1 },
    { "spatial_perceiver.layer1_1d", 3, 1 },
    { "spatial_perceiver.layer1_2d", 3, 1 },
    { "spatial_perceiver.out", 3, 1 },
    { "spatial_perceiver.out_pos", 3, 1 },
};

// Those of a frame that are counted up, from 0.
static const char *const counted[] = {
    "block%02d",
    "stage0.block%02d", "stage0.block%02d.mixed", "stage1.block%02d", "stage1.block%02d.mixed",
    "stage2.block%02d", "stage2.block%02d.mixed", "stage3.block%02d", "stage3.block%02d.mixed",
    "stage4.block%02d", "stage5.block%02d", "stage6.block%02d",
};

// Stages of the goldens that no operation of the engine leaves alone: it makes their sum with
// another one at once. They are written as what is left of the sum.
static const struct {
    const char *name, *sum, *added;
    const char *turn; // where that is so; NULL: everywhere
    bool as_tokens;   // the sum is a map, (1, c, h, w), the stage (h w, 1, c)
} fused[] = {
    { "patch_embed", "embedded", "pos_embed", NULL, false },
    { "memory_attention.memory_pos", "memory_attention.keys", "memory_attention.memory", NULL,
      false },
    { "memory_attention.out", "decoder.src", "decoder.dense", "track/", true },
    { "decoder.image", "decoder.src", "decoder.dense", "track/", false },
};

static int read_tensor(struct replay *r, uint64_t id, const char *turn, const char *name,
                       float *dst, int shape[4], struct sam_error *error)
{
    char full[64];

    snprintf(full, sizeof(full), "%s%s", turn, name);
    return sam_tracker_read(r->tracker, id, full, dst, r->tool.room_floats, shape, error);
}

// The sum less what was added to it, into *data; SAM_ENOTFOUND: the tracker does not have them.
static int read_fused(struct replay *r, uint64_t id, const char *turn, const char *name,
                      float **data, int shape[4], struct sam_error *error)
{
    float *sum = r->tool.room, *added = sum + r->tool.room_floats;
    size_t f = 0;
    int status = 0;

    while (f < sizeof(fused) / sizeof(fused[0]) && strcmp(fused[f].name, name))
        f++;
    if (f == sizeof(fused) / sizeof(fused[0]) || (fused[f].turn && strcmp(fused[f].turn, turn)))
        return SAM_ENOTFOUND;
    if ((status = read_tensor(r, id, turn, fused[f].sum, sum, shape, error)) ||
        (status = read_tensor(r, id, turn, fused[f].added, added, shape, error)))
        return status;
    const int c = shape[1], places = shape[2] * shape[3];
    for (size_t i = 0; i < (size_t) shape[0] * c * places; i++)
        sum[i] -= added[i];
    *data = sum;
    if (!fused[f].as_tokens)
        return SAM_OK;
    for (int k = 0; k < c; k++)
        for (int i = 0; i < places; i++)
            added[(size_t) i * c + k] = sum[(size_t) k * places + i];
    memcpy(shape, (int[]) { 1, places, 1, c }, 4 * sizeof(int));
    *data = added;
    return SAM_OK;
}

// A tensor of the tracker, or what is left of a sum, into *data.
static int read_stage(struct replay *r, uint64_t id, const char *turn, const char *name,
                      float **data, int shape[4], struct sam_error *error)
{
    const int status = read_tensor(r, id, turn, name, *data = r->tool.room, shape, error);

    return status != SAM_ENOTFOUND ? status : read_fused(r, id, turn, name, data, shape, error);
}

// Copy one tensor from the tracker to the file. 1: the tracker does not have it.
static int copy_tensor(struct replay *r, int i, int t, const char *turn, const char *name, int rank)
{
    char to[96];
    struct sam_error error;
    float *data;
    int shape[4];

    snprintf(to, sizeof(to), "obj%d/frame%03d/%s%s", r->object[i].name, t, turn, name);
    const int status = read_stage(r, r->object[i].id, turn, name, &data, shape, &error);
    if (status == SAM_ENOTFOUND)
        return 1;
    if (status)
        return fail(r, "%s: %s", to, error.text);
    if (!strcmp(name, "memory") && shape[1] == 1) // rows, not a map
        rank = 2;
    return tool_add(&r->tool, to, rank, shape + 4 - rank, data);
}

// Stages of the frame alone are found under the bare name; they belong to tracked frames.
static int copy_frame_stage(struct replay *r, int i, int t, const char *name)
{
    char to[96];
    struct sam_error error;
    float *data;
    int shape[4];

    snprintf(to, sizeof(to), "obj%d/frame%03d/track/%s", r->object[i].name, t, name);
    const int status = read_stage(r, 0, "", name, &data, shape, &error);
    if (status)
        return status == SAM_ENOTFOUND ? 1 : fail(r, "%s: %s", to, error.text);
    return tool_add(&r->tool, to, 4, shape, data);
}

static int copy_stages(struct replay *r, int i, int t)
{
    // The frames whose stages goldens hold.
    const int tracked = t == 1 || t == 2 || t == 9 || t == 11 || t == 12 || t == 20;
    char name[40];
    int status = 0;

    for (size_t s = 0; s < sizeof(stages) / sizeof(stages[0]) && status >= 0; s++) {
        if (tracked)
            status = copy_tensor(r, i, t, "track/", stages[s].name, stages[s].rank);
        if (tracked && status == 1)
            status = copy_frame_stage(r, i, t, stages[s].name);
        if (r->object[i].prompted == t && stages[s].of_prompt && status >= 0)
            status = copy_tensor(r, i, t, "prompt/", stages[s].name, stages[s].rank);
    }
    for (size_t k = 0; k < sizeof(counted) / sizeof(counted[0]) && tracked && status >= 0; k++) {
        status = 0;
        for (int b = 0; !status; b++) {
            snprintf(name, sizeof(name), counted[k], b);
            status = copy_frame_stage(r, i, t, name);
        }
    }
    return status < 0 ? status : 0;
}

static int copy_results(struct replay *r, int t, const struct sam_result *result)
{
    static const struct {
        const char *name;
        int rank;
    } always[] = { { "low_res", 2 }, { "pointer", 1 }, { "score", 1 }, { "memory", 3 } };

    for (int k = 0; k < result->num_objects; k++) {
        int i = 0;
        while (i < r->num_objects && r->object[i].id != result->objects[k].id)
            i++;
        if (i == r->num_objects)
            return fail(r, "frame %d: unexpected object", t);
        for (int a = 0; a < (r->o.stages ? 4 : 3); a++) {
            const int status = copy_tensor(r, i, t, "", always[a].name, always[a].rank);
            if (status)
                return status < 0 ? -1 : fail(r, "frame %d: no %s", t, always[a].name);
        }
        if (r->o.stages && copy_stages(r, i, t))
            return -1;
    }
    return 0;
}

// ---- The run.

static int run_frame(void *self, int t)
{
    struct replay *r = self;
    struct sam_frame frame;
    struct sam_result result = SAM_RESULT_INIT;
    struct sam_error error;

    if (tool_frame(&r->tool, t, &frame))
        return -1;
    for (size_t k = 0; k < json_array_size(r->items); k++) {
        const json_t *item = json_array_get(r->items, k);
        if (frame_of(item) == t && give_prompt(r, item))
            return -1;
    }
    if (sam_tracker_step(r->tracker, &frame, NULL, &result, &error))
        return fail(r, "frame %d: %s", t, error.text);
    r->step_ms[t] = (double) result.times.total * 1e-6;
    r->encode_ms[t] = (double) result.times.encode * 1e-6;
    r->attend_ms[t] = (double) result.times.attend * 1e-6;
    return copy_results(r, t, &result);
}

static int open_all(void *self)
{
    struct replay *r = self;
    struct sam_error error;
    struct sam_info info = SAM_INFO_INIT;

    if (read_script(r) || tool_open_frames(&r->tool, r->o.frames))
        return -1;
    r->params = (struct sam_params) SAM_PARAMS_INIT;
    r->params.log = report_log;
    r->params.log_priv = (void *) r->tool.name;
    r->params.model_file = r->o.model;
    r->params.backend = r->o.backend;
    r->params.precision = r->o.precision;
    r->params.threads = r->o.threads;
    r->params.input_size = r->o.input_size;
    r->params.keep_stages = r->o.stages;
    r->params.refine = SAM_REFINE_ALWAYS;
    r->params.max_cond_frames = most_prompted_frames(r);
    r->params.max_objects = 1;
    for (size_t k = 0; k < json_array_size(r->items); k++)
        find_object(r, object_of(json_array_get(r->items, k)));
    r->params.max_objects = r->num_objects ? r->num_objects : 1;
    if (sam_tracker_open(&r->tracker, &r->params, &error))
        return fail(r, "%s", error.text);
    sam_tracker_info(r->tracker, &info, NULL);
    // No tensor of a run is larger than the widest map of the trunk or the mask at full size.
    r->tool.room_floats = (size_t) info.image_size * info.image_size * 32;
    r->tool.room = malloc(2 * r->tool.room_floats * sizeof(float)); // see read_fused()
    r->step_ms = calloc((size_t) r->tool.frames.count * 3, sizeof(double));
    if (!r->tool.room || !r->step_ms)
        return fail(r, "no memory");
    r->encode_ms = r->step_ms + r->tool.frames.count;
    r->attend_ms = r->encode_ms + r->tool.frames.count;
    return 0;
}

static void report(void *self)
{
    struct replay *r = self;
    const int n = r->tool.frames.count, from = n > STEADY_FROM ? STEADY_FROM : n > 1 ? 1 : 0;
    const double first = r->step_ms[0];
    double *step = r->step_ms + from, *encode = r->encode_ms + from, *attend = r->attend_ms + from;
    struct sam_info info = SAM_INFO_INIT;

    sam_tracker_info(r->tracker, &info, NULL);
    printf("{\"frames\": %d, \"first_ms\": %.3f, \"p50_ms\": %.3f, \"p95_ms\": %.3f, "
           "\"encode_ms\": %.3f, \"attend_ms\": %.3f, "
           "\"open_ms\": %.3f, \"bytes_planned\": %zu, \"bytes_used\": %zu",
           n, first, tool_quantile(step, n - from, 0.5), tool_quantile(step, n - from, 0.95),
           tool_quantile(encode, n - from, 0.5), tool_quantile(attend, n - from, 0.5),
           (double) info.open_ns * 1e-6, info.bytes_planned, info.bytes_used);
    report_cuda(stdout, &info);
    puts("}");
}

int main(int argc, char **argv)
{
    static const struct tool_parts parts = { open_all, run_frame, report };
    struct replay r = { .tool = { .name = "sam-replay", .usage = usage } };

    standard_begin(r.tool.name);
    r.o = parse(&r.tool, argc, argv);
    const int status = tool_run(&r.tool, &parts, r.o.out);
    sam_tracker_close(&r.tracker);
    json_decref(r.script);
    free(r.step_ms);
    return status;
}
