// check_vectors FILE: the reference, and the fast CPU backend in fp32, against what PyTorch
// computed (against_torch.py). One line per operation: cases and the largest error.
//
// FILE holds for case k of an operation the tensors "<op>.<k>/<member>", f32 with four extents:
// inputs, numbers, outputs, and what an output held before ("before").

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/backends.h"
#include "ops/ops.h"
#include "weights/weights.h"

enum { MAX_KEPT = 32, MAX_OUTPUTS = 4 };

struct vectors {
    struct sam_queue queue;
    struct sam_weights *file;
    char at[64]; // "<op>.<k>/"
    void *kept[MAX_KEPT];
    int num_kept, num_outputs;
    struct sam_tensor got[MAX_OUTPUTS], want[MAX_OUTPUTS];
};

static void die(const char *what, const char *which)
{
    fprintf(stderr, "%s: %s\n", which, what);
    exit(1);
}

static void *keep(struct vectors *v, size_t bytes)
{
    void *p = calloc(1, bytes + !bytes);
    if (!p || v->num_kept == MAX_KEPT)
        die("no room", v->at);
    return v->kept[v->num_kept++] = p;
}

static const struct sam_weight *find(const struct vectors *v, const char *member)
{
    char name[96];
    snprintf(name, sizeof(name), "%s%s", v->at, member);
    for (int i = 0; i < sam_weights_count(v->file); i++)
        if (!strcmp(sam_weights_at(v->file, i)->stored, name))
            return sam_weights_at(v->file, i);
    return NULL;
}

// A tensor of the case; without data where the case has none of this name.
static struct sam_tensor get(struct vectors *v, const char *member)
{
    struct sam_tensor t = { .type = SAM_F32 };
    const struct sam_weight *w = find(v, member);
    if (!w)
        return t;
    if (w->type != SAM_F32 || w->rank != 4)
        die("not f32 with four extents", w->stored);
    t.n = (int) w->shape[0], t.h = (int) w->shape[1], t.w = (int) w->shape[2];
    t.c = (int) w->shape[3];
    t.data = keep(v, sam_tensor_bytes(&t));
    struct sam_error error;
    if (sam_weights_read(v->file, w->name, w->rank, w->shape, t.data, &error))
        die(error.text, v->at);
    return t;
}

static struct sam_tensor get_ints(struct vectors *v, const char *member)
{
    struct sam_tensor t = get(v, member);
    for (size_t i = 0; t.data && i < sam_count(&t); i++)
        ((int32_t *) t.data)[i] = (int32_t) ((float *) t.data)[i];
    t.type = SAM_I32;
    return t;
}

static float number(struct vectors *v, const char *member)
{
    const struct sam_tensor t = get(v, member);
    return t.data ? sam_load(&t, 0) : 0;
}

static int integer(struct vectors *v, const char *member)
{
    return (int) number(v, member);
}

static struct sam_matrix get_matrix(struct vectors *v, const char *member)
{
    const struct sam_tensor w = get(v, member);
    const size_t bytes = sam_op_pack_bytes(&v->queue, w.w, w.c, false);
    uint8_t *room = keep(v, bytes + 64);
    const struct sam_matrix m = { room + (64 - (uintptr_t) room % 64), w.w, w.c, false };
    sam_op_pack(&v->queue, m, w.data);
    return m;
}

// Room for an output, filled with what it held before the operation, or NaN.
static struct sam_tensor output_after(struct vectors *v, const char *member, const char *before)
{
    const int i = v->num_outputs++;
    struct sam_tensor t = v->want[i] = get(v, member);
    if (!t.data)
        die("no such output", member);
    const struct sam_tensor old = get(v, before);
    t.data = keep(v, sam_tensor_bytes(&t));
    for (size_t k = 0; k < sam_count(&t); k++)
        sam_store(&t, k, old.data ? sam_load(&old, k) : NAN);
    return v->got[i] = t;
}

static struct sam_tensor output(struct vectors *v, const char *member)
{
    return output_after(v, member, "before");
}

static void run_copy(struct vectors *v)
{
    sam_op_copy(&v->queue, &(struct sam_copy) { output(v, "dst"), get(v, "src") });
}

static void run_copy_rows(struct vectors *v)
{
    sam_op_copy_rows(&v->queue, &(struct sam_copy_rows) {
        output(v, "dst"), get(v, "src"), integer(v, "to"), integer(v, "from"),
        integer(v, "rows") });
}

static void run_add(struct vectors *v)
{
    sam_op_add(&v->queue, &(struct sam_add) { output(v, "dst"), get(v, "a"), get(v, "b"),
                                              number(v, "scale") });
}

static void run_layernorm(struct vectors *v)
{
    sam_op_layernorm(&v->queue, &(struct sam_layernorm) {
        .dst = output(v, "dst"), .src = get(v, "src"), .gamma = get(v, "gamma"),
        .beta = get(v, "beta"), .eps = number(v, "eps"), .act = integer(v, "act") });
}

static void run_linear(struct vectors *v)
{
    sam_op_linear(&v->queue, &(struct sam_linear) {
        .dst = output(v, "dst"), .src = get(v, "src"), .weight = get_matrix(v, "weight"),
        .bias = get(v, "bias"), .add = get(v, "add"), .act = integer(v, "act") });
}

static void run_feed_forward(struct vectors *v)
{
    sam_op_feed_forward(&v->queue, &(struct sam_feed_forward) {
        .x = output(v, "x"), .gamma = get(v, "gamma"), .beta = get(v, "beta"),
        .eps = number(v, "eps"), .up = get_matrix(v, "up"), .down = get_matrix(v, "down"),
        .up_bias = get(v, "up_bias"), .down_bias = get(v, "down_bias"),
        .act = integer(v, "act") });
}

static void run_conv(struct vectors *v)
{
    sam_op_conv(&v->queue, &(struct sam_conv) {
        .dst = output(v, "dst"), .src = get(v, "src"), .weight = get_matrix(v, "weight"),
        .bias = get(v, "bias"), .kernel = integer(v, "kernel"), .stride = integer(v, "stride"),
        .pad = integer(v, "pad"), .act = integer(v, "act") });
}

static void run_depthwise(struct vectors *v)
{
    sam_op_depthwise(&v->queue, &(struct sam_depthwise) {
        output(v, "dst"), get(v, "src"), get(v, "weight"), get(v, "bias"),
        integer(v, "kernel") });
}

static void run_conv_transpose(struct vectors *v)
{
    sam_op_conv_transpose(&v->queue, &(struct sam_conv_transpose) {
        .dst = output(v, "dst"), .src = get(v, "src"), .weight = get_matrix(v, "weight"),
        .bias = get(v, "bias"), .add = get(v, "add"), .act = integer(v, "act") });
}

static void run_maxpool(struct vectors *v)
{
    sam_op_maxpool(&v->queue, &(struct sam_maxpool) { output(v, "dst"), get(v, "src") });
}

static void run_window_attention(struct vectors *v)
{
    sam_op_window_attention(&v->queue, &(struct sam_window_attention) {
        .dst = output(v, "dst"), .qkv = get(v, "qkv"), .pad = get(v, "pad"),
        .heads = integer(v, "heads"), .window = integer(v, "window"),
        .pool = integer(v, "pool") });
}

static void run_attention(struct vectors *v)
{
    sam_op_attention(&v->queue, &(struct sam_attention) {
        .dst = output(v, "dst"), .q = get(v, "q"), .k = get(v, "k"), .v = get(v, "v"),
        .num_keys = get_ints(v, "num_keys"), .heads = integer(v, "heads"),
        .scale = number(v, "scale") });
}

static void run_rope(struct vectors *v)
{
    sam_op_rope(&v->queue, &(struct sam_rope) { output(v, "dst"), get(v, "src"), get(v, "table"),
                                                get_ints(v, "num_rotated") });
}

static void run_upsample_add(struct vectors *v)
{
    sam_op_upsample_add(&v->queue, &(struct sam_upsample_add) { output(v, "dst"), get(v, "a"),
                                                                get(v, "b") });
}

static void run_resize(struct vectors *v)
{
    sam_op_resize(&v->queue, &(struct sam_resize) { output(v, "dst"), get(v, "src"),
                                                    integer(v, "antialias") });
}

static void run_mask_signal(struct vectors *v)
{
    sam_op_mask_signal(&v->queue, &(struct sam_mask_signal) {
        output(v, "dst"), get(v, "src"), get_ints(v, "binary"), number(v, "scale"),
        number(v, "bias") });
}

static void run_matmul(struct vectors *v)
{
    sam_op_matmul(&v->queue, &(struct sam_matmul) { output(v, "dst"), get(v, "a"), get(v, "b") });
}

static void run_select_mask(struct vectors *v)
{
    sam_op_select_mask(&v->queue, &(struct sam_select_mask) {
        .low_res = output(v, "low_res"), .token = output(v, "token"), .iou = output(v, "iou"),
        .masks = get(v, "masks"), .tokens = get(v, "tokens"), .ious = get(v, "ious"),
        .score = get(v, "score"), .multimask = get_ints(v, "multimask"), .delta = 0.05f,
        .threshold = 0.98f });
}

static void run_gate(struct vectors *v)
{
    sam_op_gate(&v->queue, &(struct sam_gate) { output(v, "dst"), get(v, "src"), get(v, "other"),
                                                get(v, "score") });
}

static void run_scatter(struct vectors *v)
{
    sam_op_scatter(&v->queue, &(struct sam_scatter) {
        output(v, "dst"), get(v, "src"), get_ints(v, "slot"), get(v, "absent"),
        get(v, "score") });
}

static void run_gather_memory(struct vectors *v)
{
    sam_op_gather_memory(&v->queue, &(struct sam_gather_memory) {
        .values = output_after(v, "values", "values_before"),
        .keys = output_after(v, "keys", "keys_before"), .maps = get(v, "maps"),
        .pointers = get(v, "pointers"), .place = get(v, "place"), .time = get(v, "time"),
        .pointer_time = get(v, "pointer_time"), .map_slot = get_ints(v, "map_slot"),
        .map_time = get_ints(v, "map_time"), .pointer_slot = get_ints(v, "pointer_slot"),
        .num_maps = get_ints(v, "num_maps"), .num_pointers = get_ints(v, "num_pointers") });
}

static void run_topk(struct vectors *v)
{
    struct sam_tensor index = output(v, "index"), num = output(v, "num");
    struct sam_tensor room = get(v, "room");
    int32_t *whole[] = { index.data, num.data };
    index.type = num.type = room.type = SAM_I32;
    sam_op_topk(&v->queue, &(struct sam_topk) {
        index, output(v, "score"), num, get(v, "src"), room, number(v, "threshold") });
    for (size_t i = 0; whole[0] && i < sam_count(&index); i++) // stored as floats
        ((float *) index.data)[i] = (float) whole[0][i];
    for (size_t i = 0; whole[1] && i < sam_count(&num); i++)
        ((float *) num.data)[i] = (float) whole[1][i];
}

static void run_fill_holes(struct vectors *v)
{
    const struct sam_tensor src = get(v, "src");
    struct sam_tensor room = get(v, "room");
    room.type = SAM_I32; // scratch: what it holds does not matter
    sam_op_fill_holes(&v->queue, &(struct sam_fill_holes) {
        output(v, "dst"), src, room, (int) number(v, "max_area"), number(v, "value") });
}

static void run_preprocess(struct vectors *v)
{
    struct sam_preprocess p = { .dst = output(v, "dst"),
                                .frame = { .format = integer(v, "format"),
                                           .width = integer(v, "width"),
                                           .height = integer(v, "height"),
                                           .colour = { number(v, "kr"), number(v, "kb"),
                                                       integer(v, "full") } } };
    for (int i = 0; i < 3; i++) {
        const char *const names[] = { "plane0", "plane1", "plane2" };
        const struct sam_tensor plane = get(v, names[i]);
        uint8_t *bytes = plane.data ? keep(v, sam_count(&plane)) : NULL;
        for (size_t k = 0; bytes && k < sam_count(&plane); k++)
            bytes[k] = (uint8_t) sam_load(&plane, k);
        p.frame.plane[i] = bytes;
        p.frame.stride[i] = plane.c;
    }
    sam_op_preprocess(&v->queue, &p);
}

static void run_draw_masks(struct vectors *v)
{
    const struct sam_tensor slot = get_ints(v, "slot"), logits = get(v, "logits");
    struct sam_tensor labels = output(v, "labels"), boxes = output(v, "boxes");
    uint8_t *bytes = keep(v, sam_count(&labels));
    int32_t (*box)[5] = keep(v, sizeof(*box) * (size_t) logits.n);
    sam_op_draw_masks(&v->queue, &(struct sam_draw_masks) {
        // PyTorch's (n, 1, h, w) lies in memory as our (n, 1, h, w) does.
        .logits = logits, .slot = slot.data, .labels = { bytes, labels.c, labels.w, labels.c },
        .width = labels.c, .height = labels.w, .boxes = box });
    for (size_t i = 0; i < sam_count(&labels); i++)
        sam_store(&labels, i, bytes[i]);
    for (size_t i = 0; i < sam_count(&boxes); i++)
        sam_store(&boxes, i, (float) box[i / 5][i % 5]);
}

// Tolerance of each number: absolute and relative, both sides being f32. Where sums are taken,
// some 1e-6 of what is added up, which is a few units. layernorm: PyTorch's was taken in f64;
// rows of 20 + 3 u. preprocess, resize: PyTorch rounds the filter's position elsewhere, 1e-5 of a
// step between neighbours, and preprocess divides by 0.225. Copies and choices are exact, and so
// are masks: the same arithmetic in the same order.
static const struct {
    const char *name;
    void (*run)(struct vectors *v);
    float abs, rel;
} operations[] = {
    { "copy",             run_copy,             0,    0 },
    { "copy_rows",        run_copy_rows,        0,    0 },
    { "add",              run_add,              1e-6f, 1e-6f },
    { "layernorm",        run_layernorm,        1e-5f, 1e-5f },
    { "linear",           run_linear,           5e-6f, 1e-6f },
    { "feed_forward",     run_feed_forward,     2e-5f, 1e-6f },
    { "conv",             run_conv,             5e-6f, 1e-6f },
    { "depthwise",        run_depthwise,        5e-6f, 1e-6f },
    { "conv_transpose",   run_conv_transpose,   5e-6f, 1e-6f },
    { "maxpool",          run_maxpool,          0,    0 },
    { "window_attention", run_window_attention, 5e-6f, 1e-6f },
    { "attention",        run_attention,        5e-6f, 1e-6f },
    { "rope",             run_rope,             2e-6f, 1e-6f },
    { "upsample_add",     run_upsample_add,     1e-6f, 1e-6f },
    { "resize",           run_resize,           5e-5f, 1e-6f },
    { "mask_signal",      run_mask_signal,      5e-6f, 1e-6f },
    { "matmul",           run_matmul,           1e-5f, 1e-6f },
    { "select_mask",      run_select_mask,      0,    0 },
    { "gate",             run_gate,             0,    0 },
    { "scatter",          run_scatter,          1e-6f, 0 },
    { "gather_memory",    run_gather_memory,    1e-6f, 1e-6f },
    { "topk",             run_topk,             0,    0 },
    { "fill_holes",       run_fill_holes,       0,    0 },
    { "preprocess",       run_preprocess,       2e-4f, 0 },
    { "draw_masks",       run_draw_masks,       0,    0 },
};
enum { NUM_OPERATIONS = sizeof(operations) / sizeof(*operations) };

// The largest |got - want|, and how many numbers are beyond the tolerance.
static size_t compare(const struct vectors *v, float abs, float rel, float *largest)
{
    size_t bad = 0;
    for (int o = 0; o < v->num_outputs; o++)
        for (size_t i = 0; i < sam_count(&v->want[o]); i++) {
            const float want = sam_load(&v->want[o], i), got = sam_load(&v->got[o], i);
            const float error = fabsf(got - want);
            bad += !(error <= abs + rel * fabsf(want)); // NaN is bad
            *largest = fmaxf(*largest, error);
        }
    return bad;
}

static void forget(struct vectors *v)
{
    for (int i = 0; i < v->num_kept; i++)
        free(v->kept[i]);
    v->num_kept = v->num_outputs = 0;
}

static bool has_case(struct vectors *v, const char *name, int k)
{
    snprintf(v->at, sizeof(v->at), "%s.%d/", name, k);
    for (int i = 0; i < sam_weights_count(v->file); i++)
        if (!strncmp(sam_weights_at(v->file, i)->stored, v->at, strlen(v->at)))
            return true;
    return false;
}

// All cases of one operation. True: as PyTorch has it.
static bool check(struct vectors *v, int i)
{
    float largest = 0;
    size_t bad = 0;
    int k = 0;
    for (; has_case(v, operations[i].name, k); k++) {
        struct sam_error error;
        operations[i].run(v);
        if (sam_queue_finish(&v->queue, &error))
            die(error.text, v->at);
        const size_t off = compare(v, operations[i].abs, operations[i].rel, &largest);
        if (off)
            printf("     %s %zu numbers off\n", v->at, off);
        bad += off;
        forget(v);
    }
    printf("%s %-4s %-17s %d cases, largest error %.2g\n", bad || !k ? "FAIL" : "ok  ",
           sam_queue_backend(&v->queue), operations[i].name, k, largest);
    return !bad && k;
}

int main(int argc, char **argv)
{
    static const enum sam_backend backends[] = { SAM_BACKEND_REF, SAM_BACKEND_CPU };
    struct vectors v = { .num_kept = 0 };
    struct sam_error error;
    int failed = 0;
    if (argc != 2)
        die("wanted: check_vectors FILE", "arguments");
    if (sam_weights_open(&v.file, argv[1], NULL, &error))
        die(error.text, argv[1]);
    for (int b = 0; b < 2; b++) {
        if (sam_queue_open(&v.queue, backends[b], -1, SAM_PRECISION_FP32, 2, NULL, &error))
            die(error.text, "queue");
        for (int i = 0; i < NUM_OPERATIONS; i++)
            failed += !check(&v, i);
        sam_queue_close(&v.queue);
    }
    sam_weights_close(&v.file);
    printf("%d of %d operations as PyTorch has them\n", 2 * NUM_OPERATIONS - failed,
           2 * NUM_OPERATIONS);
    return failed != 0;
}
