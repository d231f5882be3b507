// SPDX-License-Identifier: MIT
// Times every shape of convolution of RepViT-M1 (512 px), YOLOv10-n (640 px) and ResNet-50 (512 px)
// with the CPU backend and with oneDNN, in turn, on all threads; on one processor ("taskset -c 0")
// the time that was spent on it counts, so that other work does not. oneDNN chooses the layout of
// all its tensors and fuses bias and activation. Prints a table of ms and of oneDNN's time over
// ours, and the geometric means; the last line is JSON. Without AVX512_BF16 it is fp32 alone.
// usage: bench-convs [--rounds N] [--only TEXT]
#define _GNU_SOURCE
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <oneapi/dnnl/dnnl.h>

#include "ops/backends.h"
#include "ops/ops.h"
#include "standard.h"

enum { MAX_BUFFERS = 8, ROUND_MS = 30, REST_US = 20000 };

// side: of the square input. kernel 1 is a product of rows. depthwise: in = out.
struct shape {
    const char *net;
    int side, in, out, kernel, stride;
    bool depthwise;
    enum sam_act act;
};

#define NONE SAM_ACT_NONE
#define GELU SAM_ACT_GELU
#define SILU SAM_ACT_SILU
#define RELU SAM_ACT_RELU
static const struct shape shapes[] = {
    { "repvit", 512, 3, 24, 3, 2, false, GELU }, { "repvit", 256, 24, 48, 3, 2, false, NONE },
    { "repvit", 128, 48, 48, 3, 1, true, NONE }, { "repvit", 128, 48, 96, 1, 1, false, GELU },
    { "repvit", 128, 96, 48, 1, 1, false, NONE }, { "repvit", 128, 48, 48, 3, 2, true, NONE },
    { "repvit", 64, 48, 96, 1, 1, false, NONE }, { "repvit", 64, 96, 96, 3, 1, true, NONE },
    { "repvit", 64, 96, 192, 1, 1, false, GELU }, { "repvit", 64, 192, 96, 1, 1, false, NONE },
    { "repvit", 64, 96, 96, 3, 2, true, NONE }, { "repvit", 32, 96, 192, 1, 1, false, NONE },
    { "repvit", 32, 192, 192, 3, 1, true, NONE }, { "repvit", 32, 192, 384, 1, 1, false, GELU },
    { "repvit", 32, 384, 192, 1, 1, false, NONE }, { "repvit", 32, 192, 192, 3, 2, true, NONE },
    { "repvit", 16, 192, 384, 1, 1, false, NONE }, { "repvit", 16, 384, 384, 3, 1, true, NONE },
    { "repvit", 16, 384, 768, 1, 1, false, GELU }, { "repvit", 16, 768, 384, 1, 1, false, NONE },
    { "yolov10-n", 640, 3, 16, 3, 2, false, SILU },
    { "yolov10-n", 320, 16, 32, 3, 2, false, SILU },
    { "yolov10-n", 160, 32, 32, 1, 1, false, SILU },
    { "yolov10-n", 160, 16, 16, 3, 1, false, SILU },
    { "yolov10-n", 160, 48, 32, 1, 1, false, SILU },
    { "yolov10-n", 160, 32, 64, 3, 2, false, SILU },
    { "yolov10-n", 80, 64, 64, 1, 1, false, SILU }, { "yolov10-n", 80, 32, 32, 3, 1, false, SILU },
    { "yolov10-n", 80, 128, 64, 1, 1, false, SILU },
    { "yolov10-n", 80, 64, 128, 1, 1, false, SILU },
    { "yolov10-n", 80, 128, 128, 3, 2, true, NONE },
    { "yolov10-n", 40, 128, 128, 1, 1, false, SILU },
    { "yolov10-n", 40, 64, 64, 3, 1, false, SILU },
    { "yolov10-n", 40, 256, 128, 1, 1, false, SILU },
    { "yolov10-n", 40, 128, 256, 1, 1, false, SILU },
    { "yolov10-n", 40, 256, 256, 3, 2, true, NONE },
    { "yolov10-n", 20, 256, 256, 1, 1, false, SILU },
    { "yolov10-n", 20, 128, 128, 3, 1, false, SILU },
    { "yolov10-n", 20, 384, 256, 1, 1, false, SILU },
    { "yolov10-n", 20, 512, 256, 1, 1, false, SILU },
    { "yolov10-n", 20, 128, 128, 7, 1, true, SILU },
    { "yolov10-n", 80, 64, 64, 3, 1, false, SILU }, { "yolov10-n", 80, 64, 64, 3, 1, true, SILU },
    { "yolov10-n", 80, 64, 80, 1, 1, false, SILU }, { "yolov10-n", 80, 80, 80, 3, 1, true, SILU },
    { "yolov10-n", 80, 80, 80, 1, 1, false, SILU }, { "yolov10-n", 80, 64, 64, 3, 2, false, SILU },
    { "yolov10-n", 40, 128, 64, 3, 1, false, SILU },
    { "resnet-50", 512, 3, 64, 7, 2, false, RELU },
    { "resnet-50", 128, 64, 64, 1, 1, false, RELU },
    { "resnet-50", 128, 64, 64, 3, 1, false, RELU },
    { "resnet-50", 128, 64, 256, 1, 1, false, NONE },
    { "resnet-50", 128, 256, 64, 1, 1, false, RELU },
    { "resnet-50", 128, 256, 128, 1, 1, false, RELU },
    { "resnet-50", 128, 128, 128, 3, 2, false, RELU },
    { "resnet-50", 64, 128, 512, 1, 1, false, NONE },
    { "resnet-50", 64, 512, 128, 1, 1, false, RELU },
    { "resnet-50", 64, 128, 128, 3, 1, false, RELU },
    { "resnet-50", 64, 512, 256, 1, 1, false, RELU },
    { "resnet-50", 64, 256, 256, 3, 2, false, RELU },
    { "resnet-50", 32, 256, 1024, 1, 1, false, NONE },
    { "resnet-50", 32, 1024, 256, 1, 1, false, RELU },
    { "resnet-50", 32, 256, 256, 3, 1, false, RELU },
    { "resnet-50", 32, 1024, 512, 1, 1, false, RELU },
    { "resnet-50", 32, 512, 512, 3, 2, false, RELU },
    { "resnet-50", 16, 512, 2048, 1, 1, false, NONE },
    { "resnet-50", 16, 2048, 512, 1, 1, false, RELU },
    { "resnet-50", 16, 512, 512, 3, 1, false, RELU },
};
enum { NUM_SHAPES = sizeof(shapes) / sizeof(*shapes) };

// On one processor the time that was spent on it, so that other work there does not count.
static double now_ms(void)
{
    struct timespec t;
    cpu_set_t set;
    const bool is_one = !sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) == 1;
    clock_gettime(is_one ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static void die(const char *what)
{
    fprintf(stderr, "bench-convs: %s\n", what);
    exit(1);
}

static int extent(const struct shape *s)
{
    return (s->side + 2 * (s->kernel / 2) - s->kernel) / s->stride + 1;
}

// ---- ours

struct ours {
    struct sam_queue *queue;
    struct sam_conv conv;
    struct sam_linear linear;
    struct sam_depthwise depthwise;
    const struct shape *shape;
    void *buffer[MAX_BUFFERS];
    int num_buffers;
};

// Small numbers, as a network has them.
static struct sam_tensor new_tensor(struct ours *o, enum sam_type type, int side, int c)
{
    struct sam_tensor t = { NULL, type, 1, side, side, c };
    const size_t bytes = sam_tensor_bytes(&t);
    t.data = o->buffer[o->num_buffers++] = aligned_alloc(64, (bytes + 127) / 64 * 64);
    for (size_t i = 0; i < sam_count(&t); i++)
        sam_store(&t, i, (float) (i * 7919 % 1024) / 512 - 1);
    return t;
}

static struct sam_matrix new_matrix(struct ours *o, int out, int in)
{
    struct sam_matrix m = { .out = out, .in = in };
    float *weight = malloc(sizeof(*weight) * (size_t) out * (size_t) in);
    for (size_t i = 0; i < (size_t) out * (size_t) in; i++)
        weight[i] = ((float) (i * 104729 % 1024) / 512 - 1) / 16;
    const size_t bytes = sam_op_pack_bytes(o->queue, m);
    m.data = o->buffer[o->num_buffers++] = aligned_alloc(64, (bytes + 127) / 64 * 64);
    sam_op_pack(o->queue, m, weight);
    free(weight);
    return m;
}

static void make_ours(struct ours *o, struct sam_queue *queue, const struct shape *s)
{
    *o = (struct ours) { .queue = queue, .shape = s };
    const enum sam_type type = sam_queue_type(queue);
    const struct sam_tensor src = new_tensor(o, type, s->side, s->in);
    const struct sam_tensor dst = new_tensor(o, type, extent(s), s->out);
    const struct sam_tensor bias = new_tensor(o, SAM_F32, 1, s->out);
    if (s->depthwise)
        o->depthwise = (struct sam_depthwise) {
            .dst = dst, .src = src, .bias = bias, .kernel = s->kernel, .stride = s->stride,
            .weight = new_tensor(o, SAM_F32, s->kernel, s->in), .act = s->act };
    else if (s->kernel == 1)
        o->linear = (struct sam_linear) { .dst = dst, .src = src, .bias = bias,
                                          .weight = new_matrix(o, s->out, s->in), .act = s->act };
    else
        o->conv = (struct sam_conv) {
            .dst = dst, .src = src, .bias = bias, .kernel = s->kernel, .stride = s->stride,
            .weight = new_matrix(o, s->out, s->kernel * s->kernel * s->in), .pad = s->kernel / 2,
            .act = s->act };
    if (s->depthwise)
        o->depthwise.weight.n = 1;
}

static void run_ours(void *priv)
{
    struct ours *o = priv;
    if (o->shape->depthwise)
        sam_op_depthwise(o->queue, &o->depthwise);
    else if (o->shape->kernel == 1)
        sam_op_linear(o->queue, &o->linear);
    else
        sam_op_conv(o->queue, &o->conv);
    struct sam_error error;
    if (sam_queue_finish(o->queue, &error))
        die(error.text);
}

static void free_ours(struct ours *o)
{
    for (int i = 0; i < o->num_buffers; i++)
        free(o->buffer[i]);
}

// ---- oneDNN

struct theirs {
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[4];
};

static void expect(dnnl_status_t status)
{
    if (status != dnnl_success)
        die("oneDNN refuses");
}

static dnnl_memory_t new_memory(dnnl_engine_t engine, const dnnl_memory_desc_t *md)
{
    dnnl_memory_t memory = NULL;
    void *data;
    expect(dnnl_memory_create(&memory, md, engine, DNNL_MEMORY_ALLOCATE));
    expect(dnnl_memory_get_data_handle(memory, &data));
    for (size_t i = 0; i < dnnl_memory_desc_get_size(md) / 2; i++)
        ((unsigned short *) data)[i] = 0x3c00; // a small number in either type
    return memory;
}

static dnnl_primitive_attr_t new_attributes(enum sam_act act)
{
    static const dnnl_alg_kind_t kinds[] = {
        [SAM_ACT_GELU] = dnnl_eltwise_gelu_erf, [SAM_ACT_SILU] = dnnl_eltwise_swish,
        [SAM_ACT_RELU] = dnnl_eltwise_relu,
    };
    dnnl_primitive_attr_t attributes;
    dnnl_post_ops_t ops;
    expect(dnnl_primitive_attr_create(&attributes));
    expect(dnnl_post_ops_create(&ops));
    if (act != SAM_ACT_NONE)
        expect(dnnl_post_ops_append_eltwise(ops, 1, kinds[act], act == SAM_ACT_SILU, 0));
    expect(dnnl_primitive_attr_set_post_ops(attributes, ops));
    dnnl_post_ops_destroy(ops);
    return attributes;
}

static void make_theirs(struct theirs *t, dnnl_engine_t engine, dnnl_stream_t stream,
                        const struct shape *s, dnnl_data_type_t type)
{
    const dnnl_dims_t src = { 1, s->in, s->side, s->side };
    const dnnl_dims_t dst = { 1, s->out, extent(s), extent(s) }, bias = { s->out };
    const dnnl_dims_t weight = { s->out, s->in, s->kernel, s->kernel };
    const dnnl_dims_t grouped = { s->in, 1, 1, s->kernel, s->kernel };
    const dnnl_dims_t stride = { s->stride, s->stride }, pad = { s->kernel / 2, s->kernel / 2 };
    dnnl_memory_desc_t in, out, b, w;
    dnnl_convolution_desc_t desc;
    dnnl_primitive_desc_t pd;
    const dnnl_primitive_attr_t attributes = new_attributes(s->act);
    expect(dnnl_memory_desc_init_by_tag(&in, 4, src, type, dnnl_format_tag_any));
    expect(dnnl_memory_desc_init_by_tag(&out, 4, dst, type, dnnl_format_tag_any));
    expect(dnnl_memory_desc_init_by_tag(&b, 1, bias, dnnl_f32, dnnl_x));
    expect(dnnl_memory_desc_init_by_tag(&w, s->depthwise ? 5 : 4, s->depthwise ? grouped : weight,
                                        type, dnnl_format_tag_any));
    expect(dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference,
                                              dnnl_convolution_direct, &in, &w, &b, &out, stride,
                                              pad, pad));
    expect(dnnl_primitive_desc_create(&pd, &desc, attributes, engine, NULL));
    expect(dnnl_primitive_create(&t->primitive, pd));
    t->stream = stream;
    const struct { int arg; dnnl_query_t query; } parts[] = {
        { DNNL_ARG_SRC, dnnl_query_src_md }, { DNNL_ARG_WEIGHTS, dnnl_query_weights_md },
        { DNNL_ARG_DST, dnnl_query_dst_md }, { DNNL_ARG_BIAS, dnnl_query_weights_md },
    };
    for (int i = 0; i < 4; i++)
        t->args[i] = (dnnl_exec_arg_t) { parts[i].arg, new_memory(engine,
            dnnl_primitive_desc_query_md(pd, parts[i].query, i == 3)) };
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attributes);
}

static void run_theirs(void *priv)
{
    const struct theirs *t = priv;
    expect(dnnl_primitive_execute(t->primitive, t->stream, 4, t->args));
    expect(dnnl_stream_wait(t->stream));
}

static void free_theirs(struct theirs *t)
{
    for (int i = 0; i < 4; i++)
        dnnl_memory_destroy(t->args[i].memory);
    dnnl_primitive_destroy(t->primitive);
}

// ---- in turn

// ms of one run, the least mean of some.
static double time_round(void (*run)(void *), void *priv, int runs)
{
    run(priv);
    const double start = now_ms();
    for (int i = 0; i < runs; i++)
        run(priv);
    return (now_ms() - start) / runs;
}

static void compare(struct sam_queue *queue, dnnl_engine_t engine, dnnl_stream_t stream,
                    const struct shape *s, int rounds, double best[2])
{
    struct ours ours;
    struct theirs theirs;
    make_ours(&ours, queue, s);
    make_theirs(&theirs, engine, stream, s,
                queue->precision == SAM_PRECISION_BF16 ? dnnl_bf16 : dnnl_f32);
    run_ours(&ours);
    const double once = time_round(run_ours, &ours, 1);
    const int runs = once > ROUND_MS ? 1 : (int) (ROUND_MS / once) + 1;
    best[0] = best[1] = 1e9;
    for (int i = 0; i < rounds; i++) {
        best[0] = fmin(best[0], time_round(run_ours, &ours, runs));
        best[1] = fmin(best[1], time_round(run_theirs, &theirs, runs));
        usleep(REST_US); // OpenMP's threads wait in a loop for a while
    }
    free_ours(&ours);
    free_theirs(&theirs);
}

struct mean {
    double logs;
    int count;
};

static double of(struct mean m)
{
    return m.count ? exp(m.logs / m.count) : 0;
}

// fp32, and bf16 if the processor has it. Returns their number.
static int open_queues(struct sam_queue queue[2])
{
    struct sam_error error;

    if (sam_queue_open(&queue[0], SAM_BACKEND_CPU, -1, SAM_PRECISION_FP32, 0, NULL, &error))
        die(error.text);
    if (!sam_queue_open(&queue[1], SAM_BACKEND_CPU, -1, SAM_PRECISION_BF16, 0, NULL, &error))
        return 2;
    fprintf(stderr, "bench-convs: fp32 alone: %s\n", error.text);
    return 1;
}

static void measure(dnnl_engine_t engine, dnnl_stream_t stream, int rounds, const char *only,
                    struct mean mean[2])
{
    struct sam_queue queue[2];
    const int precisions = open_queues(queue);

    printf("%-36s", "side: in -> out, kernel / stride");
    for (int p = 0; p < precisions; p++)
        printf(" | %s ms  oneDNN   ratio GFLOP/s", p ? "bf16" : "fp32");
    printf("\n");
    for (int i = 0; i < NUM_SHAPES; i++) {
        const struct shape *s = &shapes[i];
        char text[64];
        snprintf(text, sizeof(text), "%-9s %3d: %4d -> %4d %dx%d/%d %s", s->net, s->side, s->in,
                 s->out, s->kernel, s->kernel, s->stride, s->depthwise ? "dw" : "  ");
        if (only && !strstr(text, only))
            continue;
        const double macs = (double) extent(s) * extent(s) * s->out * s->kernel * s->kernel *
                            (s->depthwise ? 1 : s->in);
        printf("%-36s", text);
        for (int p = 0; p < precisions; p++) {
            double best[2];
            compare(&queue[p], engine, stream, s, rounds, best);
            mean[p].logs += log(best[1] / best[0]);
            mean[p].count++;
            printf(" | %7.3f %7.3f %7.2f %7.0f", best[0], best[1], best[1] / best[0],
                   2e-6 * macs / best[0]);
            fflush(stdout);
        }
        printf("\n");
    }
    for (int p = 0; p < precisions; p++)
        sam_queue_close(&queue[p]);
}

int main(int argc, char **argv)
{
    const struct option options[] = { { "rounds", required_argument, NULL, 'r' },
                                      { "only", required_argument, NULL, 'o' }, { 0 } };
    struct mean mean[2] = { { 0 } };
    const char *only = NULL;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int rounds = 7, c;
    standard_begin("bench-convs");
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 'r')
            rounds = atoi(optarg);
        else if (c == 'o')
            only = optarg;
        else
            return 2;
    }
    expect(dnnl_engine_create(&engine, dnnl_cpu, 0));
    expect(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    measure(engine, stream, rounds, only, mean);
    printf("{\"convs_fp32_ratio\": %.3f, ", of(mean[0]));
    if (mean[1].count)
        printf("\"convs_bf16_ratio\": %.3f, ", of(mean[1]));
    printf("\"convs_shapes\": %d}\n", mean[0].count);
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return 0;
}
