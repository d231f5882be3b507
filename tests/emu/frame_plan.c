// EMU_PLAN=FILE frame_plan MODEL OBJECTS [FRAMES]
// Opens a tracker on the emulated device and takes it through frames, of which nothing is computed.
// Among the launches that the emulator writes to FILE stand what they are for: lines
//   stage NAME
//   op NAME EXACT FLOP READ WRITTEN ROWS K
// ahead of an operation's launches: whether it multiplies in F32; multiplications and additions;
// bytes of its arguments, each once; rows of the result (queries of one group), and how many
// numbers each of them is a sum over (keys of one group).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <samtrack/samtrack.h>

#include "backend.h"
#include "emu.h"
#include "model/parts.h"

enum { SIDE = 1024 };

static struct {
    double flop, read, written;
    long rows, k;
    bool exact;
} now; // the operation that is told of

static double bytes_of(const struct sam_tensor *t)
{
    return t->data ? (double) sam_tensor_bytes(t) : 0;
}

static double weight_bytes(const struct sam_queue *q, const struct sam_matrix *m)
{
    return (double) sam_pack_bytes_cuda(q, m->out, m->in, m->exact);
}

static bool is_exact(const struct sam_queue *q, bool exact)
{
    return exact || q->precision == SAM_PRECISION_FP32;
}

// A product of `rows` rows with a weight, an addend beside.
static void tell_product(const struct sam_queue *q, const struct sam_matrix *m, double rows,
                         const struct sam_tensor *add)
{
    now.flop = 2 * rows * m->out * m->in;
    now.read += weight_bytes(q, m) + bytes_of(add);
    now.rows = (long) rows;
    now.k = m->in;
    now.exact = is_exact(q, m->exact);
}

// ---- what an operation costs: by its first two tensors, and what is said here

#define NOTHING(name) \
    static void cost_##name(const struct sam_queue *q, const struct sam_##name *p) \
    { \
        (void) q, (void) p; \
    }
NOTHING(copy)
NOTHING(copy_rows)
NOTHING(copy_channels)
NOTHING(groupnorm)
NOTHING(maxpool)
NOTHING(maxpool_around)
NOTHING(mean_rows)
NOTHING(scale_channels)
NOTHING(windows)
NOTHING(rope)
NOTHING(resize)
NOTHING(mask_signal)
NOTHING(refine_boxes)
NOTHING(embed_boxes)
NOTHING(scatter)
NOTHING(topk)
NOTHING(fill_holes)

static void cost_layernorm(const struct sam_queue *q, const struct sam_layernorm *p)
{
    (void) q;
    now.read += bytes_of(&p->add);
    now.written += p->sum.data != p->dst.data ? bytes_of(&p->sum) : 0;
}

static void cost_scatters(const struct sam_queue *q, const struct sam_scatters *p)
{
    (void) q;
    now.read = now.written = 0;
    for (int i = 0; i < p->count; i++) {
        now.read += bytes_of(&p->each[i].src);
        now.written += bytes_of(&p->each[i].src) / sam_type_size(p->each[i].src.type)
                     * sam_type_size(p->each[i].dst.type);
    }
}

static void cost_add(const struct sam_queue *q, const struct sam_add *p)
{
    (void) q;
    now.read = bytes_of(&p->a) + bytes_of(&p->b);
}

static void cost_linear(const struct sam_queue *q, const struct sam_linear *p)
{
    tell_product(q, &p->weight, (double) sam_rows(&p->src), &p->add);
    now.read += bytes_of(&p->table);
}

static void cost_linears(const struct sam_queue *q, const struct sam_linears *p)
{
    double flop = 0;
    long rows = 0, k = 0;

    for (int i = 0; i < p->count; i++) {
        const struct sam_linear *each = &p->each[i];
        cost_linear(q, each);
        now.read += bytes_of(&each->src);
        now.written += bytes_of(&each->dst);
        flop += now.flop;
        rows = now.rows > rows ? now.rows : rows;
        k = now.k > k ? now.k : k;
    }
    now.flop = flop, now.rows = rows, now.k = k;
}

// The normed rows are nowhere kept.
static void cost_norm_linears(const struct sam_queue *q, const struct sam_norm_linears *p)
{
    const struct sam_linears products = { p->each, p->count };
    double kept = 0;

    cost_linears(q, &products);
    for (int i = 0; i < p->count; i++)
        kept += p->each[i].src.data == p->norm.dst.data ? bytes_of(&p->norm.dst) : 0;
    now.read -= kept;
    now.written -= bytes_of(&p->norm.dst);
}

static void cost_conv(const struct sam_queue *q, const struct sam_conv *p)
{
    tell_product(q, &p->weight, (double) sam_rows(&p->dst), &p->add);
}

static void cost_conv_transpose(const struct sam_queue *q, const struct sam_conv_transpose *p)
{
    tell_product(q, &p->weight, (double) sam_rows(&p->src), &p->add);
}

static void cost_depthwise(const struct sam_queue *q, const struct sam_depthwise *p)
{
    (void) q;
    now.flop = 2.0 * (double) sam_count(&p->dst) * p->kernel * p->kernel;
    now.exact = true;
}

static void cost_window_attention(const struct sam_queue *q, const struct sam_window_attention *p)
{
    const struct sam_tensor *t = &p->qkv;
    const int side = p->window, cell = p->pool ? 4 : 1;
    const long keys = side ? (long) side * side : (long) t->h * t->w;
    const long groups = side ? (long) t->n * ((t->h + side - 1) / side) * ((t->w + side - 1) / side)
                             : t->n;
    now.rows = keys / cell;
    now.k = keys;
    now.flop = 4.0 * (double) groups * (double) now.rows * (double) keys * p->dst.c;
    now.exact = is_exact(q, false);
}

static void cost_attention(const struct sam_queue *q, const struct sam_attention *p)
{
    now.rows = p->q.w;
    now.k = p->k.w;
    now.flop = 2.0 * p->q.n * p->q.w * (double) p->k.w * (p->q.c + p->v.c);
    now.read = bytes_of(&p->q) + bytes_of(&p->k) + bytes_of(&p->v);
    now.exact = is_exact(q, p->exact);
}

static void cost_shifted_attention(const struct sam_queue *q,
                                   const struct sam_shifted_attention *p)
{
    const int side = p->window, down = (p->qkv.h + side - 1) / side;
    const int across = (p->qkv.w + side - 1) / side;
    (void) q;
    now.rows = now.k = (long) side * side;
    now.flop = 4.0 * p->qkv.n * down * across * (double) now.rows * (double) now.k * p->dst.c;
    now.exact = true;
}

static void cost_masked_attention(const struct sam_queue *q, const struct sam_masked_attention *p)
{
    (void) q;
    now.rows = p->q.w;
    now.k = p->k.w;
    now.flop = 2.0 * p->q.n * p->q.w * (double) p->k.w * (p->q.c + p->v.c);
    now.read = bytes_of(&p->q) + bytes_of(&p->k) + bytes_of(&p->v) + bytes_of(&p->mask);
    now.exact = true;
}

static void cost_upsample_add(const struct sam_queue *q, const struct sam_upsample_add *p)
{
    (void) q;
    now.read = bytes_of(&p->a) + bytes_of(&p->b);
}

static void cost_matmul(const struct sam_queue *q, const struct sam_matmul *p)
{
    (void) q;
    now.read = bytes_of(&p->a) + bytes_of(&p->b);
    now.flop = 2.0 * (double) sam_count(&p->dst) * p->a.c;
    now.rows = p->b.w;
    now.k = p->a.c;
    now.exact = true;
}

static void cost_select_mask(const struct sam_queue *q, const struct sam_select_mask *p)
{
    (void) q;
    now.read = bytes_of(&p->masks);
    now.written = bytes_of(&p->low_res);
}

static void cost_gate(const struct sam_queue *q, const struct sam_gate *p)
{
    (void) q;
    now.read = bytes_of(&p->src);
}

static void cost_gather_memory(const struct sam_queue *q, const struct sam_gather_memory *p)
{
    (void) q;
    now.read = bytes_of(&p->values) + bytes_of(&p->place);
    now.written = bytes_of(&p->values) + bytes_of(&p->keys);
}

static void cost_preprocess(const struct sam_queue *q, const struct sam_preprocess *p)
{
    (void) q;
    now.read = 3.0 * p->frame.width * p->frame.height;
    now.written = bytes_of(&p->dst);
}

static void cost_letterbox(const struct sam_queue *q, const struct sam_letterbox *p)
{
    (void) q;
    now.read = 3.0 * p->frame.width * p->frame.height;
    now.written = bytes_of(&p->dst);
}

static void cost_deform_attention(const struct sam_queue *q, const struct sam_deform_attention *p)
{
    (void) q;
    now.read = bytes_of(&p->values);
}

static void cost_draw_masks(const struct sam_queue *q, const struct sam_draw_masks *p)
{
    (void) q;
    now.read = bytes_of(&p->logits);
    now.written = (double) p->width * p->height;
}

static void cost_draw_edges(const struct sam_queue *q, const struct sam_draw_edges *p)
{
    cost_draw_masks(q, &p->masks);
}

static void cost_paint(const struct sam_queue *q, const struct sam_paint *p)
{
    (void) q;
    now.read = 3.0 * p->frame.width * p->frame.height;
}

// ---- the backend's table, whose entries tell first

const struct sam_ops *__real_sam_cuda_ops(void);

// The first two tensors of most contracts are the result and what it is made of.
static void begin(const void *contract, size_t size)
{
    const struct sam_tensor *t = contract;
    memset(&now, 0, sizeof(now));
    if (size >= 2 * sizeof(*t)) {
        now.written = bytes_of(&t[0]);
        now.read = bytes_of(&t[1]);
    }
}

static void tell(const char *name)
{
    char line[200];
    snprintf(line, sizeof(line), "op %s %d %.0f %.0f %.0f %ld %ld", name, now.exact, now.flop,
             now.read, now.written, now.rows, now.k);
    emu_plan(line);
}

#define TELLING_cuda(name) \
    static void telling_##name(struct sam_queue *q, const struct sam_##name *p) \
    { \
        begin(p, sizeof(*p)); \
        cost_##name(q, p); \
        tell(#name); \
        __real_sam_cuda_ops()->name(q, p); \
    }
#define TELLING_none(name)
#define TELLING(name, cpu, cuda) TELLING_##cuda(name)
SAM_OPS(TELLING)

const struct sam_ops *__wrap_sam_cuda_ops(void);
const struct sam_ops *__wrap_sam_cuda_ops(void)
{
    static struct sam_ops table;
    table = *__real_sam_cuda_ops();
#define ENTRY_cuda(name) table.name = telling_##name;
#define ENTRY_none(name)
#define ENTRY(name, cpu, cuda) ENTRY_##cuda(name)
    SAM_OPS(ENTRY)
    return &table;
}

// ---- stages: parts of a frame begin with these

#define STAGE(stage, function, parameters, arguments) \
    void __real_##function parameters; \
    void __wrap_##function parameters; \
    void __wrap_##function parameters \
    { \
        emu_plan("stage " stage); \
        __real_##function arguments; \
    }
STAGE("encode", sam_encoder_run,
      (struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
       const struct sam_features *dst, const struct sam_probe *probe), (q, m, s, dst, probe))
STAGE("attend", sam_pointer_time_run,
      (struct sam_queue *q, const struct sam_model *m, struct sam_tensor sine,
       struct sam_tensor dst), (q, m, sine, dst))
STAGE("decode", sam_decoder_run,
      (struct sam_queue *q, const struct sam_model *m, struct sam_decoder_scratch *s,
       struct sam_tensor image, struct sam_tensor sparse, const struct sam_features *f,
       struct sam_tensor multimask, const struct sam_decoded *dst),
      (q, m, s, image, sparse, f, multimask, dst))
STAGE("remember", sam_memory_encoder_run,
      (struct sam_queue *q, const struct sam_model *m, struct sam_memory_encoder_scratch *s,
       struct sam_tensor image, struct sam_tensor low_res, struct sam_tensor binary,
       struct sam_tensor dst), (q, m, s, image, low_res, binary, dst))

// ---- frames

static int fail(const char *what, const struct sam_error *error)
{
    fprintf(stderr, "frame_plan: %s: %s\n", what, error->text);
    return 1;
}

static int prompt(sam_tracker *t, int i, struct sam_error *error)
{
    const float left = (float) (i * 50 + 5);
    const struct sam_prompt p = { .size = sizeof(p), .space_width = SIDE, .space_height = SIDE,
                                  .has_box = 1, .box = { left, 100, left + 40, 200 } };
    return sam_tracker_prompt(t, &p, NULL, error);
}

int main(int argc, char **argv)
{
    struct sam_params params = SAM_PARAMS_INIT;
    struct sam_error error = { "" };
    struct sam_result result = SAM_RESULT_INIT;
    sam_tracker *t = NULL;
    const int objects = argc > 2 ? atoi(argv[2]) : 0, frames = argc > 3 ? atoi(argv[3]) : 3;

    if (objects < 1 || objects > 16 || frames < 1 || !getenv("EMU_PLAN")) {
        fprintf(stderr, "usage: EMU_PLAN=FILE frame_plan MODEL OBJECTS (1 to 16) [FRAMES]\n");
        return 2;
    }
    uint8_t *pixels = calloc(3, (size_t) SIDE * SIDE);
    const struct sam_frame frame = { .size = sizeof(frame), .format = SAM_PIXEL_RGB, .width = SIDE,
                                     .height = SIDE, .plane = { pixels }, .stride = { 3 * SIDE } };
    params.model_file = argv[1];
    params.backend = SAM_BACKEND_CUDA;
    params.precision = SAM_PRECISION_BF16;
    params.max_objects = objects;
    if (!pixels)
        return fail("pixels", &error);
    if (sam_tracker_open(&t, &params, &error))
        return fail(argv[1], &error);
    for (int i = 0; i < objects; i++)
        if (prompt(t, i, &error))
            return fail("a prompt", &error);
    for (int i = 0; i < frames; i++) {
        emu_plan("frame");
        emu_plan("stage frame");
        if (sam_tracker_step(t, &frame, NULL, &result, &error))
            return fail("a frame", &error);
    }
    emu_plan("frame");
    sam_tracker_close(&t);
    free(pixels);
    return 0;
}
