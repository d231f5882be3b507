// SPDX-License-Identifier: MIT
#include "frames.h"
#include "test.h"

// Next to the middle of two whole numbers the last bit of a colour decides which one it becomes. So
// all must agree to the bit, but for the CPU's Y'CbCr, which is solved in another order: there a
// number may be its neighbour.
static float get_tolerance(const struct check *t, enum sam_pixel_format format)
{
    const bool is_exact = format < SAM_PIXEL_NV12 ||
                          strcmp(sam_queue_backend(&t->queue[CHECK_NEW]), "cpu");
    return is_exact ? 0 : 1.01f / 255 + 0x1p-8f; // of BF16 both may be rounded
}

static void run(struct check *t, enum sam_pixel_format format, int width, int height, int side,
                int colour, enum sam_type type)
{
    struct check_buf *plane[3];
    const int w = check_int(t, 1, side), h = check_int(t, 1, side);
    struct sam_frame frame = draw_frame(t, format, width, height, plane);
    struct check_buf *dst = check_out(t, type, 1, side, side, 3);
    const int x = check_int(t, 0, side - w), y = check_int(t, 0, side - h);
    frame.colour = colours[colour];
    check_each_side(t, s) {
        for (int i = 0; i < 3; i++)
            frame.plane[i] = plane[i]->on[s].data;
        sam_op_letterbox(&t->queue[s],
                         &(struct sam_letterbox) { dst->on[s], frame, x, y, w, h, 114 });
    }
    check_near(t, dst, get_tolerance(t, format), 0);
    check_done(t);
}

static void check_letterbox(struct check *t)
{
    static const int sizes[][2] = { { 1, 1 }, { 2, 2 }, { 3, 1 }, { 17, 31 }, { 64, 48 } };
    static const int sides[] = { 1, 5, 32, 100 };
    for (int f = 0; f < NUM_FORMATS; f++)
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 4; j++)
                if (check_case(t, "letterbox_%s_%dx%d_to_%d", formats[f].name, sizes[i][0],
                               sizes[i][1], sides[j]))
                    run(t, formats[f].format, sizes[i][0], sizes[i][1], sides[j], (i + j) % 4,
                        (f + i + j) % 3 ? SAM_F32 : SAM_BF16);
}

// ---- the front

static struct sam_letterbox valid_letterbox(void)
{
    const uint8_t *bytes = (const uint8_t *) (front_room + 1024);
    return (struct sam_letterbox) {
        f32(0, 1, 8, 8, 3), { .format = SAM_PIXEL_RGB, .width = 7, .height = 5, .plane = { bytes },
                              .stride = { 21 } }, 0, 1, 8, 6, 114 };
}

static void fronts_letterbox(void)
{
    TAKES(letterbox, (void) p);
    REFUSES(letterbox, p->x = 1, "x");
    REFUSES(letterbox, p->y = 3, "y");
    REFUSES(letterbox, p->y = -1, "y");
    REFUSES(letterbox, p->width = 0, "width");
    REFUSES(letterbox, p->height = 0, "height");
    REFUSES(letterbox, p->fill = 256, "fill");
    REFUSES(letterbox, p->fill = __builtin_nanf(""), "fill");
    REFUSES(letterbox, p->frame.stride[0] = 20, "row_bytes");
    REFUSES(letterbox, p->frame.plane[0] = NULL, "row_bytes");
    REFUSES(letterbox, p->frame.format = 99, "format");
    REFUSES(letterbox, p->frame.width = 0, "width");
    REFUSES(letterbox, p->dst.c = 4, "dst.c");
    REFUSES(letterbox, p->dst.n = 2, "dst.n");
}

// ---- what PyTorch computed

static void vectors_letterbox(struct vectors *v)
{
    const struct sam_tensor plane = vec_in(v, "frame"); // (1, h, w, 3)
    uint8_t *bytes = vec_keep(v, sam_count(&plane));
    for (size_t k = 0; k < sam_count(&plane); k++)
        bytes[k] = (uint8_t) sam_load(&plane, k);
    sam_op_letterbox(&v->queue, &(struct sam_letterbox) {
        .dst = vec_out(v, "dst"),
        .frame = { .format = SAM_PIXEL_RGB, .width = plane.w, .height = plane.h,
                   .plane = { bytes }, .stride = { 3 * plane.w } },
        .x = vec_int(v, "x"), .y = vec_int(v, "y"), .width = vec_int(v, "width"),
        .height = vec_int(v, "height"), .fill = vec_number(v, "fill") });
}

// ---- faults

CHANGED(letterbox, ignores_the_range, m.frame.colour.full_range = 1)
CHANGED(letterbox, swaps_red_and_blue, if (m.frame.format == SAM_PIXEL_RGB)
        m.frame.format = SAM_PIXEL_BGR)
CHANGED(letterbox, fills_with_black, m.fill = 0)
CHANGED(letterbox, begins_late, if (m.x + m.width < m.dst.w) m.x++)
CHANGED(letterbox, forgets_the_stride, if (m.frame.height > 1) m.frame.stride[0]--)
CHANGED(letterbox, writes_too_far, sam_letterbox_ref(q, p);
        ((uint8_t *) p->dst.data)[sam_tensor_bytes(&p->dst)] ^= 1; return)

static const struct mutant mutants[] = {
    MUTANT(letterbox, ignores_the_range),
    MUTANT(letterbox, swaps_red_and_blue),
    MUTANT(letterbox, fills_with_black),
    MUTANT(letterbox, begins_late),
    MUTANT(letterbox, forgets_the_stride),
    MUTANT(letterbox, writes_too_far),
};

CUDA_FAULT("preprocess.cu", "m.black, m.luma_by), «m.luma_over => 220.0f»);")
CUDA_FAULT("preprocess.cu", "__fmul_rn(«cr - 128.0f => cr - 127.0f», m.chroma)")
CUDA_FAULT("preprocess.cu", "column = (int) (i % w) - «left => top»;")
CUDA_FAULT("preprocess.cu", "row < «inner_h => inner_w» && column >= 0")
CUDA_FAULT("preprocess.cu", "floorf(sum.x + «0.5f => 0.0f»)")
CUDA_FAULT("preprocess.cu", "__fmul_rn(y.weight, «1.0f - x.weight => x.weight»)")
CUDA_FAULT("sample.cuh", "position + 0.5f), «-0.5f => -0.25f»);")

// A number that lies in the middle of two is rounded up or down: 1 / 255 apart, but the stored
// cases have none such.
TEST(letterbox, .vectors = vectors_letterbox, .abs = 1e-6f);
