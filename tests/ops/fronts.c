// The fronts of the operations: what a contract allows goes to the backend, every breach of it
// is refused with a sentence that says what was wanted and got, before any backend is called.
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "ops/ops.h"

static int calls, cases, failed;
static float room[1 << 16]; // where tensors lie; nobody reads it
static struct sam_queue queue;

#define ENTRY(op)                                                                              \
    static void op##_called(struct sam_queue *q, const struct sam_##op *p)                     \
    {                                                                                          \
        calls++;                                                                               \
    }
#define EVERY(what)                                                                            \
    what(copy) what(copy_rows) what(add) what(layernorm) what(linear) what(feed_forward)       \
    what(conv) what(depthwise) what(conv_transpose) what(maxpool) what(window_attention)       \
    what(attention) what(rope) what(rope_attention) what(upsample_add) what(resize)            \
    what(mask_signal) what(matmul) what(select_mask) what(gate) what(scatter)                  \
    what(gather_memory) what(topk) what(fill_holes) what(preprocess) what(draw_masks)       \
    what(paint)
EVERY(ENTRY)
#define SLOT(op) .op = op##_called,
static const struct sam_ops table = { EVERY(SLOT) };

// A device whose memory is the host's, and one with memory of its own.
static const struct sam_device near = { .name = "near" };
static const struct sam_device far = { .name = "far", .alloc = sam_queue_alloc };

static void expect(bool good, const char *op, const char *change, const char *what)
{
    cases++;
    if (!good) {
        failed++;
        printf("FAIL %s with %s: %s\n", op, change, what);
    }
}

// allowed: the backend was called once. Otherwise: it was not, and the sentence names the
// operation, holds `words`, and says what was got.
static void judge(const char *op, const char *change, const char *words)
{
    struct sam_error error = { "" };
    char front[64];
    snprintf(front, sizeof(front), "sam_op_%s: need ", op);
    const int status = sam_queue_finish(&queue, &error);
    if (!words) {
        expect(!status && calls == 1, op, change, status ? error.text : "not called once");
    } else {
        expect(status == SAM_EINVAL && !calls, op, change, "taken");
        expect(!strncmp(error.text, front, strlen(front)), op, change, error.text);
        expect(strstr(error.text, words) && strstr(error.text, "; got "), op, change, error.text);
    }
    calls = 0;
}

#define TAKES(op, change) TRY(op, change, NULL)
#define REFUSES(op, change, words) TRY(op, change, words)
#define TRY(op, change, words)                                                                 \
    do {                                                                                       \
        struct sam_##op params = valid_##op(), *p = &params;                                   \
        change;                                                                                \
        sam_op_##op(&queue, p);                                                                \
        judge(#op, #change, words);                                                            \
    } while (0)

// Tensors 1024 floats apart in the room, so that none overlaps another by accident.
static struct sam_tensor place(int i, enum sam_type type, int n, int h, int w, int c)
{
    return (struct sam_tensor) { room + 1024 * i, type, n, h, w, c };
}

static struct sam_tensor f32(int i, int n, int h, int w, int c)
{
    return place(i, SAM_F32, n, h, w, c);
}

static struct sam_tensor i32(int i, int n, int h, int w, int c)
{
    return place(i, SAM_I32, n, h, w, c);
}

static struct sam_matrix matrix(int i, int out, int in)
{
    return (struct sam_matrix) { room + 1024 * i, out, in, false };
}

static void overlap_by_one(struct sam_tensor *dst, const struct sam_tensor *with)
{
    dst->data = (uint8_t *) with->data + sam_tensor_bytes(with) - 1;
}

static struct sam_copy valid_copy(void)
{
    return (struct sam_copy) { f32(0, 2, 3, 4, 5), f32(1, 2, 3, 4, 5) };
}

static void fronts_copy(void)
{
    TAKES(copy, (void) p);
    TAKES(copy, p->src = f32(1, 1, 3, 4, 5));
    TAKES(copy, p->src = f32(1, 1, 1, 1, 5));
    TAKES(copy, p->src.type = SAM_BF16);
    REFUSES(copy, p->src = f32(1, 1, 1, 4, 5), "repeats");
    REFUSES(copy, p->src.c = 4, "repeats");
    REFUSES(copy, p->src.data = NULL, "memory behind src");
    REFUSES(copy, p->dst.data = NULL, "memory behind dst");
    REFUSES(copy, p->dst.h = 0, "extents of at least 1 in dst");
    REFUSES(copy, p->src.type = SAM_U8, "src of type f32 or bf16");
    REFUSES(copy, p->dst.type = SAM_I32, "dst of type f32 or bf16");
    REFUSES(copy, p->src.data = p->dst.data, "apart in memory");
    REFUSES(copy, overlap_by_one(&p->dst, &p->src), "apart in memory");
    REFUSES(copy, p->src.w = 9, "src f32 (2, 3, 9, 5)");
}

static struct sam_copy_rows valid_copy_rows(void)
{
    return (struct sam_copy_rows) { f32(0, 2, 1, 6, 5), f32(1, 2, 1, 4, 5), 3, 1, 3 };
}

static void fronts_copy_rows(void)
{
    TAKES(copy_rows, (void) p);
    TAKES(copy_rows, p->src.n = 1);
    REFUSES(copy_rows, p->src.n = 3, "src.n");
    REFUSES(copy_rows, p->src.c = 4, "src.c");
    REFUSES(copy_rows, p->to = 4, "to");
    REFUSES(copy_rows, p->from = 2, "from");
    REFUSES(copy_rows, p->rows = 0, "rows");
    REFUSES(copy_rows, p->from = -1, "from");
    REFUSES(copy_rows, p->to = 0x7fffffff, "to");
    REFUSES(copy_rows, p->dst.data = p->src.data, "apart in memory");
}

static struct sam_add valid_add(void)
{
    return (struct sam_add) { f32(0, 2, 1, 4, 5), f32(1, 2, 1, 4, 5), f32(2, 2, 1, 4, 5), 1 };
}

static void fronts_add(void)
{
    TAKES(add, (void) p);
    TAKES(add, p->dst = p->a);
    TAKES(add, p->b.n = 1);
    TAKES(add, p->b = f32(2, 1, 1, 1, 5));
    REFUSES(add, p->dst = p->b, "apart in memory");
    REFUSES(add, p->dst = p->a; p->dst.type = SAM_BF16, "the same tensor or apart");
    REFUSES(add, overlap_by_one(&p->dst, &p->a), "the same tensor or apart");
    REFUSES(add, p->a.w = 3, "like");
    REFUSES(add, p->b = f32(2, 1, 1, 2, 5), "repeats");
}

static struct sam_layernorm valid_layernorm(void)
{
    return (struct sam_layernorm) { f32(0, 1, 1, 4, 5), f32(1, 1, 1, 4, 5), f32(2, 1, 1, 1, 5),
                                    f32(3, 1, 1, 1, 5), 1e-6f, SAM_ACT_NONE };
}

static void fronts_layernorm(void)
{
    TAKES(layernorm, (void) p);
    TAKES(layernorm, p->dst = p->src; p->act = SAM_ACT_GELU);
    REFUSES(layernorm, p->act = SAM_ACT_RELU, "act");
    REFUSES(layernorm, p->eps = 0, "eps");
    REFUSES(layernorm, p->eps = __builtin_nanf(""), "eps");
    REFUSES(layernorm, p->gamma.c = 4, "gamma");
    REFUSES(layernorm, p->beta.w = 2, "beta");
    REFUSES(layernorm, p->gamma.type = SAM_BF16, "gamma of type f32");
    REFUSES(layernorm, p->beta.data = NULL, "beta");
    REFUSES(layernorm, p->dst.w = 3, "same_rows");
    REFUSES(layernorm, p->dst = p->gamma; p->src.w = p->dst.w = 1, "apart in memory");
}

static struct sam_linear valid_linear(void)
{
    return (struct sam_linear) { f32(0, 2, 1, 4, 5), f32(1, 2, 1, 4, 7), matrix(2, 5, 7),
        f32(3, 1, 1, 1, 5), place(5, SAM_BF16, 1, 1, 1, 5), f32(4, 2, 1, 4, 5), SAM_ACT_NONE };
}

static void fronts_linear(void)
{
    TAKES(linear, (void) p);
    TAKES(linear, p->bias.data = p->bias_bf16.data = p->add.data = NULL);
    TAKES(linear, p->dst = p->add);
    TAKES(linear, p->add.n = 1);
    REFUSES(linear, p->dst = p->add; p->add.n = 1, "the same tensor or apart");
    REFUSES(linear, p->weight.in = 6, "weight");
    REFUSES(linear, p->weight.out = 6, "weight (6 x 7)");
    REFUSES(linear, p->weight.data = NULL, "memory behind weight");
    REFUSES(linear, p->src.w = 3, "same_rows");
    REFUSES(linear, p->bias.c = 4, "bias");
    REFUSES(linear, p->bias.type = SAM_BF16, "bias of type f32");
    REFUSES(linear, p->bias_bf16.type = SAM_F32, "SAM_BF16");
    REFUSES(linear, p->bias.data = NULL, "bias.data");
    REFUSES(linear, p->add.c = 4, "add");
    REFUSES(linear, p->act = 4, "act");
    REFUSES(linear, p->dst.data = p->src.data, "apart in memory");
}

static struct sam_feed_forward valid_feed_forward(void)
{
    return (struct sam_feed_forward) { f32(0, 1, 1, 4, 5), f32(1, 1, 1, 1, 5), f32(2, 1, 1, 1, 5),
                                       1e-6f, matrix(3, 7, 5), matrix(4, 5, 7),
                                       f32(5, 1, 1, 1, 7), f32(6, 1, 1, 1, 5), SAM_ACT_GELU };
}

static void fronts_feed_forward(void)
{
    TAKES(feed_forward, (void) p);
    TAKES(feed_forward, p->x.type = SAM_BF16);
    TAKES(feed_forward, p->up.exact = true);
    REFUSES(feed_forward, p->x.c = 4, "is_vector(&p->gamma, c)");
    REFUSES(feed_forward, p->beta.c = 4, "is_vector(&p->beta, c)");
    REFUSES(feed_forward, p->gamma.type = SAM_BF16, "gamma of type f32");
    REFUSES(feed_forward, p->eps = 0, "p->eps > 0.0f");
    REFUSES(feed_forward, p->up.in = 4, "p->up.in == c");
    REFUSES(feed_forward, p->down.in = 5, "p->down.in == hidden");
    REFUSES(feed_forward, p->down.out = 7, "p->down.out == c");
    REFUSES(feed_forward, p->up_bias.c = 5, "is_vector(&p->up_bias, hidden)");
    REFUSES(feed_forward, p->down_bias.c = 7, "is_vector(&p->down_bias, c)");
    REFUSES(feed_forward, p->down.data = NULL, "memory behind down");
    REFUSES(feed_forward, p->act = 4, "act");
    REFUSES(feed_forward, p->gamma.data = p->x.data, "apart in memory");
    REFUSES(feed_forward, p->x.data = room + (1 << 14);
            p->x.c = p->gamma.c = p->beta.c = 4097; p->beta.data = room + (1 << 13),
            "c <= SAM_MAX_WIDTH");
}

static struct sam_conv valid_conv(void)
{
    return (struct sam_conv) { f32(0, 2, 3, 4, 5), f32(1, 2, 6, 8, 2), matrix(2, 5, 18),
                               f32(3, 1, 1, 1, 5), 3, 2, 1, SAM_ACT_NONE };
}

static void fronts_conv(void)
{
    TAKES(conv, (void) p);
    REFUSES(conv, p->bias.data = NULL, "bias");
    REFUSES(conv, p->dst.h = 4, "dst.h");
    REFUSES(conv, p->dst.w = 3, "dst.w");
    REFUSES(conv, p->dst.n = 1, "dst.n");
    REFUSES(conv, p->stride = 0, "stride");
    REFUSES(conv, p->kernel = 0, "kernel");
    REFUSES(conv, p->pad = -1, "pad");
    REFUSES(conv, p->pad = 3, "pad");
    REFUSES(conv, p->kernel = 9; p->pad = 0, "kernel");
    REFUSES(conv, p->weight.in = 17, "weight");
    REFUSES(conv, p->dst.data = p->src.data, "apart in memory");
}

static struct sam_depthwise valid_depthwise(void)
{
    return (struct sam_depthwise) { f32(0, 2, 3, 4, 5), f32(1, 2, 3, 4, 5), f32(2, 1, 3, 3, 5),
                                    f32(3, 1, 1, 1, 5), 3 };
}

static void fronts_depthwise(void)
{
    TAKES(depthwise, (void) p);
    REFUSES(depthwise, p->kernel = 2; p->weight.h = p->weight.w = 2, "kernel");
    REFUSES(depthwise, p->weight.c = 4, "weight");
    REFUSES(depthwise, p->weight.type = SAM_BF16, "weight of type f32");
    REFUSES(depthwise, p->dst.h = 4; p->dst.w = 3, "same_map");
    REFUSES(depthwise, p->bias.c = 1, "bias");
    REFUSES(depthwise, p->dst.data = p->src.data, "apart in memory");
}

static struct sam_conv_transpose valid_conv_transpose(void)
{
    return (struct sam_conv_transpose) { f32(0, 2, 6, 8, 5), f32(1, 2, 3, 4, 7), matrix(2, 20, 7),
                                         f32(3, 1, 1, 1, 5), f32(4, 2, 6, 8, 5), SAM_ACT_NONE };
}

static void fronts_conv_transpose(void)
{
    TAKES(conv_transpose, (void) p);
    TAKES(conv_transpose, p->add.data = NULL);
    TAKES(conv_transpose, p->add.n = 1);
    REFUSES(conv_transpose, p->dst.h = 5, "dst");
    REFUSES(conv_transpose, p->weight.out = 5, "weight");
    REFUSES(conv_transpose, p->weight.in = 8, "weight");
    REFUSES(conv_transpose, p->add.c = 4, "add");
    REFUSES(conv_transpose, p->dst = p->add, "apart in memory");
}

static struct sam_maxpool valid_maxpool(void)
{
    return (struct sam_maxpool) { f32(0, 2, 3, 4, 5), f32(1, 2, 7, 8, 5) };
}

static void fronts_maxpool(void)
{
    TAKES(maxpool, (void) p);
    REFUSES(maxpool, p->src.h = 8, "dst");
    REFUSES(maxpool, p->src.c = 4, "dst");
}

static struct sam_window_attention valid_window_attention(void)
{
    return (struct sam_window_attention) { f32(0, 2, 3, 4, 6), f32(1, 2, 3, 4, 18),
                                           f32(2, 1, 1, 1, 18), 2, 2, false };
}

static void fronts_window_attention(void)
{
    TAKES(window_attention, (void) p);
    TAKES(window_attention, p->window = 0);
    TAKES(window_attention, p->qkv = f32(1, 1, 6, 8, 18); p->dst.n = 1; p->pool = true);
    REFUSES(window_attention, p->qkv = f32(1, 1, 6, 8, 18); p->dst.n = 1; p->pool = true;
            p->window = 3, "window");
    REFUSES(window_attention, p->qkv = f32(1, 1, 7, 8, 18); p->dst.n = 1; p->pool = true, "qkv.h");
    REFUSES(window_attention, p->pool = true, "qkv.h");
    REFUSES(window_attention, p->qkv.h = 4; p->qkv.w = 3, "same_map");
    REFUSES(window_attention, p->heads = 0, "heads");
    REFUSES(window_attention, p->heads = 4, "heads");
    REFUSES(window_attention, p->window = -1, "window");
    REFUSES(window_attention, p->pad.c = 6, "pad");
    REFUSES(window_attention, p->pad.data = NULL, "pad");
    REFUSES(window_attention, p->qkv.c = 12, "qkv.c");
    REFUSES(window_attention, p->dst = f32(0, 1, 1, 1, 1026); p->qkv = f32(4, 1, 1, 1, 3078);
            p->pad = f32(8, 1, 1, 1, 3078); p->heads = 1, "SAM_MAX_HEAD_DIM");
}

static struct sam_attention valid_attention(void)
{
    return (struct sam_attention) { f32(0, 2, 1, 4, 6), f32(1, 2, 1, 4, 8), f32(2, 2, 1, 5, 8),
                                    f32(3, 2, 1, 5, 6), i32(4, 1, 1, 1, 2), 2, 0.5f, false };
}

static void fronts_attention(void)
{
    TAKES(attention, (void) p);
    TAKES(attention, p->num_keys.data = NULL);
    TAKES(attention, p->k.n = 1; p->v.n = 1);
    REFUSES(attention, p->k.n = 3, "p->k.n");
    REFUSES(attention, p->v.w = 4, "p->v.w");
    REFUSES(attention, p->k.c = 6, "p->k.c");
    REFUSES(attention, p->heads = 3, "heads");
    REFUSES(attention, p->dst.c = 8, "dst.c");
    REFUSES(attention, p->dst.w = 3, "same_map");
    REFUSES(attention, p->num_keys.c = 1, "num_keys");
    REFUSES(attention, p->num_keys.type = SAM_F32, "num_keys of type i32");
    REFUSES(attention, p->q.h = 4; p->q.w = 1, "q.h");
    REFUSES(attention, p->dst.data = p->q.data, "apart in memory");
}

static struct sam_rope valid_rope(void)
{
    return (struct sam_rope) { f32(0, 2, 1, 4, 6), f32(1, 2, 1, 4, 6), f32(2, 1, 1, 3, 6),
                               i32(3, 1, 1, 1, 2) };
}

static void fronts_rope(void)
{
    TAKES(rope, (void) p);
    TAKES(rope, p->dst = p->src; p->num_rotated.data = NULL);
    REFUSES(rope, p->table.c = 4, "table.c");
    REFUSES(rope, p->table.type = SAM_BF16, "table of type f32");
    REFUSES(rope, p->table.n = 2, "table.n");
    REFUSES(rope, p->src.c = p->dst.c = p->table.c = 5, "src.c");
    REFUSES(rope, p->dst.w = 3, "like");
    REFUSES(rope, p->num_rotated.c = 1, "num_rotated");
}

static struct sam_rope_attention valid_rope_attention(void)
{
    return (struct sam_rope_attention) {
        f32(0, 2, 1, 4, 2), f32(1, 2, 1, 4, 8), f32(2, 2, 1, 9, 2), f32(3, 2, 1, 9, 2),
        f32(4, 1, 1, 3, 8), f32(5, 1, 1, 3, 4), i32(6, 1, 1, 1, 2), i32(7, 1, 1, 1, 2), 0.5f,
        (void *) valid_rope_attention,
    };
}

static void fronts_rope_attention(void)
{
    TAKES(rope_attention, (void) p);
    TAKES(rope_attention, p->q.type = SAM_BF16; p->keys.type = SAM_BF16);
    REFUSES(rope_attention, p->weight.w = 2, "weight");
    REFUSES(rope_attention, p->weight.type = SAM_BF16, "weight of type f32");
    REFUSES(rope_attention, p->axis.c = 8, "axis");
    REFUSES(rope_attention, p->axis.n = 2, "axis");
    REFUSES(rope_attention, p->keys.c = 3, "p->keys.c % 2");
    REFUSES(rope_attention, p->q.c = 6, "p->q.c % 4");
    REFUSES(rope_attention, p->values.w = 8, "same_map");
    REFUSES(rope_attention, p->keys.n = p->values.n = 1, "p->keys.n == p->q.n");
    REFUSES(rope_attention, p->dst.c = 8, "p->dst.c");
    REFUSES(rope_attention, p->values.c = p->dst.c = 4, "p->values.c == p->keys.c");
    REFUSES(rope_attention, p->room = NULL, "p->room");
    REFUSES(rope_attention, p->num_keys.c = 1, "num_keys");
    REFUSES(rope_attention, p->num_rotated.data = NULL, "num_rotated");
    REFUSES(rope_attention, p->scale = 0, "p->scale > 0");
    REFUSES(rope_attention, p->dst.data = p->q.data, "apart in memory");
}

static struct sam_upsample_add valid_upsample_add(void)
{
    return (struct sam_upsample_add) { f32(0, 2, 6, 8, 5), f32(1, 2, 6, 8, 5), f32(2, 2, 3, 4, 5) };
}

static void fronts_upsample_add(void)
{
    TAKES(upsample_add, (void) p);
    TAKES(upsample_add, p->dst = p->a);
    REFUSES(upsample_add, p->b.h = 4, "b.h");
    REFUSES(upsample_add, p->b.n = 1, "b.n");
    REFUSES(upsample_add, p->a.c = 4, "a.c");
    REFUSES(upsample_add, p->dst.data = p->b.data, "apart in memory");
}

static struct sam_resize valid_resize(void)
{
    return (struct sam_resize) { f32(0, 2, 6, 8, 3), f32(1, 2, 5, 4, 3), true };
}

static void fronts_resize(void)
{
    TAKES(resize, (void) p);
    REFUSES(resize, p->src.type = SAM_BF16, "src of type f32");
    REFUSES(resize, p->dst.type = SAM_BF16, "dst of type f32");
    REFUSES(resize, p->src.n = 1, "src.n");
    REFUSES(resize, p->src.c = 1, "src.c");
    REFUSES(resize, p->dst.data = p->src.data, "apart in memory");
}

static struct sam_mask_signal valid_mask_signal(void)
{
    return (struct sam_mask_signal) { f32(0, 2, 3, 4, 1), f32(1, 2, 3, 4, 1), i32(2, 1, 1, 1, 2),
                                      20, -10 };
}

static void fronts_mask_signal(void)
{
    TAKES(mask_signal, (void) p);
    TAKES(mask_signal, p->dst = p->src);
    REFUSES(mask_signal, p->src.type = SAM_BF16, "src of type f32");
    REFUSES(mask_signal, p->binary.c = 1, "binary");
    REFUSES(mask_signal, p->binary.data = NULL, "binary");
    REFUSES(mask_signal, p->dst.n = 1, "like");
}

static struct sam_matmul valid_matmul(void)
{
    return (struct sam_matmul) { f32(0, 2, 1, 4, 7), f32(1, 2, 1, 4, 5), f32(2, 2, 1, 7, 5) };
}

static void fronts_matmul(void)
{
    TAKES(matmul, (void) p);
    REFUSES(matmul, p->dst.type = SAM_BF16, "dst of type f32");
    REFUSES(matmul, p->b.n = 1, "b.n");
    REFUSES(matmul, p->b.c = 4, "b.c");
    REFUSES(matmul, p->dst.c = 4, "dst");
}

static struct sam_select_mask valid_select_mask(void)
{
    return (struct sam_select_mask) { f32(0, 2, 1, 1, 9), f32(1, 2, 1, 1, 5), f32(2, 2, 1, 1, 1),
                                      f32(3, 2, 1, 4, 9), f32(4, 2, 1, 4, 5), f32(5, 2, 1, 1, 4),
                                      f32(6, 2, 1, 1, 1), i32(7, 1, 1, 1, 2), 0.05f, 0.98f };
}

static void fronts_select_mask(void)
{
    TAKES(select_mask, (void) p);
    REFUSES(select_mask, p->masks.w = 3, "masks");
    REFUSES(select_mask, p->low_res.n = 1, "low_res");
    REFUSES(select_mask, p->token.type = SAM_BF16, "token.type");
    REFUSES(select_mask, p->tokens.c = 4, "tokens");
    REFUSES(select_mask, p->ious.c = 3, "ious");
    REFUSES(select_mask, p->iou.c = 4, "iou");
    REFUSES(select_mask, p->score.n = 1, "score");
    REFUSES(select_mask, p->multimask.c = 1, "multimask");
    REFUSES(select_mask, p->token.data = p->iou.data, "apart in memory");
}

static struct sam_gate valid_gate(void)
{
    return (struct sam_gate) { f32(0, 2, 1, 4, 5), f32(1, 2, 1, 4, 5), f32(2, 1, 1, 1, 5),
                               f32(3, 2, 1, 1, 1) };
}

static void fronts_gate(void)
{
    TAKES(gate, (void) p);
    TAKES(gate, p->dst = p->src);
    REFUSES(gate, p->other.w = 2, "other");
    REFUSES(gate, p->score.n = 1, "score");
    REFUSES(gate, p->score.type = SAM_BF16, "score of type f32");
    REFUSES(gate, p->dst.n = 1, "like");
}

static struct sam_scatter valid_scatter(void)
{
    return (struct sam_scatter) { f32(0, 9, 1, 4, 5), f32(1, 2, 1, 4, 5), i32(2, 1, 1, 1, 2),
                                  f32(3, 1, 1, 1, 5), f32(4, 2, 1, 1, 1) };
}

static void fronts_scatter(void)
{
    TAKES(scatter, (void) p);
    TAKES(scatter, p->absent.data = NULL);
    TAKES(scatter, p->absent.data = NULL; p->score.data = NULL);
    REFUSES(scatter, p->score.data = NULL, "score");
    REFUSES(scatter, p->slot.c = 9, "slot");
    REFUSES(scatter, p->slot.data = NULL, "slot");
    REFUSES(scatter, p->absent.c = 4, "absent");
    REFUSES(scatter, p->dst.w = 3, "dst");
    REFUSES(scatter, p->dst.data = p->src.data, "apart in memory");
}

static struct sam_gather_memory valid_gather_memory(void)
{
    return (struct sam_gather_memory) {
        .values = f32(0, 2, 1, 20, 4), .keys = f32(1, 2, 1, 20, 4), .maps = f32(2, 5, 1, 6, 4),
        .pointers = f32(3, 7, 1, 1, 8), .place = f32(4, 1, 1, 6, 4), .time = f32(5, 1, 1, 7, 4),
        .pointer_time = f32(6, 2, 1, 3, 4), .map_slot = i32(7, 2, 1, 1, 2),
        .map_time = i32(8, 2, 1, 1, 2), .pointer_slot = i32(9, 2, 1, 1, 3),
        .num_maps = i32(10, 1, 1, 1, 2), .num_pointers = i32(11, 1, 1, 1, 2) };
}

static void fronts_gather_memory(void)
{
    TAKES(gather_memory, (void) p);
    REFUSES(gather_memory, p->keys.w = 19, "keys");
    REFUSES(gather_memory, p->maps.c = 5, "maps");
    REFUSES(gather_memory, p->pointers.c = 6, "pointers");
    REFUSES(gather_memory, p->place.w = 5, "place");
    REFUSES(gather_memory, p->time.c = 5, "time");
    REFUSES(gather_memory, p->pointer_time.w = 2, "pointer_time");
    REFUSES(gather_memory, p->map_slot.n = 1, "map_slot");
    REFUSES(gather_memory, p->map_time.c = 1, "map_time");
    REFUSES(gather_memory, p->pointer_slot.n = 1, "pointer_slot");
    REFUSES(gather_memory, p->num_maps.c = 1, "num_maps");
    REFUSES(gather_memory, p->num_pointers.type = SAM_F32, "num_pointers");
    REFUSES(gather_memory, p->keys.data = p->values.data, "apart in memory");
    REFUSES(gather_memory, p->keys.data = p->maps.data, "apart in memory");
}

static struct sam_topk valid_topk(void)
{
    return (struct sam_topk) { i32(0, 2, 1, 1, 3), f32(1, 2, 1, 1, 3), i32(2, 1, 1, 1, 2),
                               f32(3, 2, 1, 1, 9), i32(4, 2, 1, 1, 26), 0.5f };
}

static void fronts_topk(void)
{
    TAKES(topk, (void) p);
    TAKES(topk, p->threshold = -1e30f);
    REFUSES(topk, p->index.c = 2, "score");
    REFUSES(topk, p->score.n = 1, "score");
    REFUSES(topk, p->num.c = 1, "num");
    REFUSES(topk, p->src.w = 2, "src");
    REFUSES(topk, p->room.c = 25, "room");
    REFUSES(topk, p->room.data = p->src.data, "apart in memory");
}

static struct sam_fill_holes valid_fill_holes(void)
{
    return (struct sam_fill_holes) { f32(0, 2, 3, 4, 1), f32(1, 2, 3, 4, 1), i32(2, 2, 3, 4, 2), 8,
                                     0.1f };
}

static void fronts_fill_holes(void)
{
    TAKES(fill_holes, (void) p);
    TAKES(fill_holes, p->dst = p->src);
    TAKES(fill_holes, p->max_area = 0);
    REFUSES(fill_holes, p->max_area = -1, "max_area");
    REFUSES(fill_holes, p->dst.type = SAM_BF16, "dst of type f32");
    REFUSES(fill_holes, p->src.c = p->dst.c = 2, "src.c");
    REFUSES(fill_holes, p->dst.w = 3, "like");
    REFUSES(fill_holes, p->room.c = 1, "room");
    REFUSES(fill_holes, p->room.data = p->src.data, "room and src");
}

static struct sam_preprocess valid_preprocess(void)
{
    const uint8_t *bytes = (const uint8_t *) (room + 1024);
    return (struct sam_preprocess) {
        f32(0, 1, 8, 8, 3), { .format = SAM_PIXEL_I420, .width = 7, .height = 5,
                              .plane = { bytes, bytes + 100, bytes + 200 },
                              .stride = { 7, 4, 4 } } };
}

static void fronts_preprocess(void)
{
    TAKES(preprocess, (void) p);
    TAKES(preprocess, p->frame.format = SAM_PIXEL_GRAY8; p->frame.plane[1] = NULL);
    TAKES(preprocess, p->frame.format = SAM_PIXEL_NV12; p->frame.stride[1] = 8);
    REFUSES(preprocess, p->frame.format = SAM_PIXEL_NV12; p->frame.stride[1] = 7, "row_bytes");
    REFUSES(preprocess, p->frame.format = SAM_PIXEL_YUY2; p->frame.stride[0] = 15, "row_bytes");
    REFUSES(preprocess, p->frame.format = SAM_PIXEL_P010; p->frame.stride[0] = 13, "row_bytes");
    REFUSES(preprocess, p->frame.format = SAM_PIXEL_P010 + 1, "SAM_PIXEL_P010");
    REFUSES(preprocess, p->frame.format = SAM_PIXEL_RGB; p->frame.stride[0] = 20, "row_bytes");
    REFUSES(preprocess, p->frame.stride[0] = -7, "row_bytes");
    REFUSES(preprocess, p->frame.plane[2] = NULL, "row_bytes");
    REFUSES(preprocess, p->frame.width = 0, "width");
    REFUSES(preprocess, p->frame.height = 16385, "height");
    REFUSES(preprocess, p->frame.format = 99, "format");
    REFUSES(preprocess, p->frame.colour.kr = 0.9f; p->frame.colour.kb = 0.2f, "kr");
    REFUSES(preprocess, p->frame.colour.kb = 0.0f / 0.0f, "kb");
    REFUSES(preprocess, p->frame.colour.kr = -0.1f, "kr");
    REFUSES(preprocess, p->dst.c = 4, "dst.c");
    REFUSES(preprocess, p->dst.n = 2, "dst.n");
}

static const int32_t slots[] = { 1, 7, 255 }, not_ascending[] = { 1, 1, 2 }, zero[] = { 0, 1, 2 },
                     too_large[] = { 1, 2, 256 };
static int32_t boxes[3][5];

static struct sam_draw_masks valid_draw_masks(void)
{
    return (struct sam_draw_masks) { f32(0, 3, 1, 8, 8), slots,
                                     { (uint8_t *) (room + 1024), 9, 7, 9, 0 }, 9, 7, boxes };
}

static void fronts_draw_masks(void)
{
    TAKES(draw_masks, (void) p);
    TAKES(draw_masks, p->labels.data = NULL; p->labels.width = 0);
    TAKES(draw_masks, p->boxes = NULL; p->width = 0);
    REFUSES(draw_masks, p->slot = NULL, "slot");
    REFUSES(draw_masks, p->slot = not_ascending, "slot");
    REFUSES(draw_masks, p->slot = zero, "slot");
    REFUSES(draw_masks, p->slot = too_large, "slot");
    REFUSES(draw_masks, p->labels.stride = 8, "stride");
    REFUSES(draw_masks, p->labels.height = 0, "height");
    REFUSES(draw_masks, p->width = 0, "width");
    REFUSES(draw_masks, p->logits.h = 8; p->logits.w = 1, "logits.h");
    REFUSES(draw_masks, p->logits.type = SAM_BF16, "logits of type f32");
    REFUSES(draw_masks, p->labels.on_device = 1, "own_memory");
    REFUSES(draw_masks, p->logits.data = NULL; p->boxes = NULL, "logits.data");
    TAKES(draw_masks, p->labels.on_device = 1; p->labels.data = NULL);
    queue.device = &far;
    TAKES(draw_masks, p->labels.on_device = 1);
    TAKES(draw_masks, p->labels.on_device = 1; p->logits.data = NULL; p->boxes = NULL);
    REFUSES(draw_masks, p->labels.on_device = 1; p->logits.data = NULL, "boxes");
    REFUSES(draw_masks, p->logits.data = NULL; p->boxes = NULL, "logits.data");
    REFUSES(draw_masks, p->labels.on_device = 1; p->labels.stride = 8, "stride");
    queue.device = &near;
}

static struct sam_patch patch;
static struct sam_overlay over;

static struct sam_paint valid_paint(void)
{
    uint8_t *bytes = (uint8_t *) (room + 1024);
    patch = (struct sam_patch) { .x = -3, .width = 33, .height = 4, .scale = 1, .first = 2 };
    over = (struct sam_overlay) { 1, 2, 6, 3, .labels = { bytes, 9, 7, 9, 0 }, .num_patches = 1,
                                  .patches = &patch, .num_words = 10, .bits = (void *) bytes };
    return (struct sam_paint) { valid_preprocess().frame, &over };
}

static void fronts_paint(void)
{
    TAKES(paint, over.labels.data = NULL; over.num_patches = 0; over.patches = NULL);
    REFUSES(paint, p->frame.format = SAM_PIXEL_RGB, "is_paintable");
    REFUSES(paint, p->frame.on_device = 1, "own_memory");
    REFUSES(paint, over.labels.on_device = 1, "own_memory");
    REFUSES(paint, over.width = 7, "x");
    REFUSES(paint, over.line_width = 65, "SAM_MAX_LINE");
    REFUSES(paint, over.num_words = 9, "bad_patches");
    REFUSES(paint, patch.x = INT32_MIN; over.num_words = 99, "bad_patches");
    REFUSES(paint, patch.scale = patch.width = INT32_MAX, "bad_patches");
}

// The first failure is kept, the operations after it are skipped; finish reports and clears.
static void fronts_stick(void)
{
    struct sam_error error;
    struct sam_copy bad = valid_copy(), good = valid_copy();
    struct sam_gate echo = valid_gate();
    bad.src.data = NULL;
    echo.score.n = 9;
    sam_op_copy(&queue, &bad);
    sam_op_gate(&queue, &echo);
    sam_op_copy(&queue, &good);
    expect(!calls, "queue", "a failure", "went on");
    expect(sam_queue_finish(&queue, &error) == SAM_EINVAL, "queue", "a failure", "not reported");
    expect(!strncmp(error.text, "sam_op_copy", 11), "queue", "a failure", error.text);
    sam_op_copy(&queue, &good);
    expect(calls == 1 && !sam_queue_finish(&queue, NULL), "queue", "finish", "not cleared");
    calls = 0;
}

int main(void)
{
    queue.ops = &table;
    queue.device = &near;
#define RUN(op) fronts_##op();
    EVERY(RUN)
    fronts_stick();
    printf("%d of %d passed\n", cases - failed, cases);
    return failed != 0;
}
