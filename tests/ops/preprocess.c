// SPDX-License-Identifier: MIT
#include "frames.h"
#include "test.h"

static const int sizes[][2] = { { 1, 1 }, { 2, 2 }, { 3, 1 }, { 1, 5 }, { 17, 31 }, { 64, 48 },
                                { 131, 67 } };
enum { NUM_SIZES = sizeof(sizes) / sizeof(*sizes) };

static void run(struct check *t, enum sam_pixel_format format, int width, int height, int side,
                int colour, enum sam_type out, float abs, enum sam_input_scale scale)
{
    struct check_buf *plane[3];
    struct sam_frame frame = draw_frame(t, format, width, height, plane);
    struct check_buf *dst = check_out(t, out, 1, side, side, 3);
    struct sam_preprocess p[2];
    frame.colour = colours[colour];
    check_each_side(t, s) {
        p[s] = (struct sam_preprocess) { dst->on[s], frame, scale };
        for (int i = 0; i < 3; i++)
            p[s].frame.plane[i] = plane[i]->on[s].data;
        sam_op_preprocess(&t->queue[s], &p[s]);
    }
    check_bytes(t, (double) sam_tensor_bytes(&plane[0]->on[0]) + sam_tensor_bytes(&dst->on[0]))
        sam_op_preprocess(&t->queue[CHECK_NEW], &p[CHECK_NEW]);
    // 1e-4: a position is f32, off by 1e-5 where frames are 131 wide, times the largest step
    // between neighbours, 255 / 255 / 0.225: 5e-5. Fixed-point colour would be off by 1e-2.
    check_near(t, dst, abs, out == SAM_BF16 ? 8e-3f : 1e-6f);
    check_done(t);
}

static void check_preprocess(struct check *t)
{
    static const int sides[] = { 1, 5, 32, 100 };
    for (int f = 0; f < NUM_FORMATS; f++) {
        for (int i = 0; i < NUM_SIZES; i++)
            for (int j = 0; j < 4; j++)
                if (check_case(t, "preprocess_%s_%dx%d_to_%d", formats[f].name, sizes[i][0],
                               sizes[i][1], sides[j]))
                    run(t, formats[f].format, sizes[i][0], sizes[i][1], sides[j], (i + j) % 4,
                        (f + i + j) % 3 ? SAM_F32 : SAM_BF16, 1e-4f,
                        (enum sam_input_scale) ((f + i) % SAM_NUM_INPUT_SCALES));
        // The longest sides there are: a position is off by up to 2^-11, shrunk by 16384 / 32.
        if (check_case(t, "preprocess_%s_16384x3_to_32", formats[f].name))
            run(t, formats[f].format, 16384, 3, 32, 0, SAM_F32, 5e-4f, SAM_INPUT_IMAGENET);
        if (check_case(t, "preprocess_%s_3x16384_to_32", formats[f].name))
            run(t, formats[f].format, 3, 16384, 32, 1, SAM_F32, 5e-4f, SAM_INPUT_IMAGENET);
        if (check_speed(t, "preprocess_%s_640x360_to_256", formats[f].name))
            run(t, formats[f].format, 640, 360, 256, 0, SAM_F32, 0, SAM_INPUT_IMAGENET);
        if (check_speed(t, "preprocess_%s_1920x1080_to_1024", formats[f].name))
            run(t, formats[f].format, 1920, 1080, 1024, 0, SAM_F32, 0, SAM_INPUT_IMAGENET);
    }
}

// ---- the front

static struct sam_preprocess valid_preprocess(void)
{
    const uint8_t *bytes = (const uint8_t *) (front_room + 1024);
    return (struct sam_preprocess) {
        f32(0, 1, 8, 8, 3), { .format = SAM_PIXEL_I420, .width = 7, .height = 5,
                              .plane = { bytes, bytes + 100, bytes + 200 },
                              .stride = { 7, 4, 4 } },
        SAM_INPUT_IMAGENET };
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
    REFUSES(preprocess, p->frame.colour.kb = __builtin_nanf(""), "kb");
    REFUSES(preprocess, p->frame.colour.kr = -0.1f, "kr");
    REFUSES(preprocess, p->dst.c = 4, "dst.c");
    TAKES(preprocess, p->scale = SAM_INPUT_CENTRED);
    REFUSES(preprocess, p->scale = SAM_NUM_INPUT_SCALES, "scale");
    REFUSES(preprocess, p->dst.n = 2, "dst.n");
}

// ---- what PyTorch computed

static void vectors_preprocess(struct vectors *v)
{
    struct sam_preprocess p = { .dst = vec_out(v, "dst"),
                                .frame = { .format = vec_int(v, "format"),
                                           .width = vec_int(v, "width"),
                                           .height = vec_int(v, "height"),
                                           .colour = { vec_number(v, "kr"), vec_number(v, "kb"),
                                                       vec_int(v, "full") } },
                                .scale = vec_int(v, "scale") };
    for (int i = 0; i < 3; i++) {
        const char *const names[] = { "plane0", "plane1", "plane2" };
        const struct sam_tensor plane = vec_in(v, names[i]);
        uint8_t *bytes = plane.data ? vec_keep(v, sam_count(&plane)) : NULL;
        for (size_t k = 0; bytes && k < sam_count(&plane); k++)
            bytes[k] = (uint8_t) sam_load(&plane, k);
        p.frame.plane[i] = bytes;
        p.frame.stride[i] = plane.c;
    }
    sam_op_preprocess(&v->queue, &p);
}

// ---- faults

static enum sam_pixel_format swap_format(enum sam_pixel_format format)
{
    return format == SAM_PIXEL_RGB  ? SAM_PIXEL_BGR
         : format == SAM_PIXEL_BGRA ? SAM_PIXEL_RGBA : format;
}

CHANGED(preprocess, ignores_the_scale, m.scale = SAM_INPUT_IMAGENET)
CHANGED(preprocess, ignores_the_matrix, m.frame.colour.kr = 0.299f; m.frame.colour.kb = 0.114f)
CHANGED(preprocess, ignores_the_range, m.frame.colour.full_range = 1)
CHANGED(preprocess, swaps_red_and_blue, m.frame.format = swap_format(m.frame.format))
CHANGED(preprocess, forgets_the_stride, if (m.frame.height > 1) m.frame.stride[0]--)
CHANGED(preprocess, drops_the_last_row, m.frame.height -= m.frame.height > 2)
CHANGED(preprocess, writes_too_far, sam_preprocess_ref(q, p);
        ((uint8_t *) p->dst.data)[sam_tensor_bytes(&p->dst)] ^= 1; return)
CHANGED(preprocess, scribbles, sam_preprocess_ref(q, p);
        ((uint8_t *) (uintptr_t) p->frame.plane[0])[0] ^= 1; return)

// Shifts chroma by a pixel where the frame's width is odd.
static void preprocess_rounds_chroma_up(struct sam_queue *q, const struct sam_preprocess *p)
{
    struct sam_preprocess m = *p;
    if (m.frame.format == SAM_PIXEL_I420 && m.frame.width > 2)
        m.frame.plane[1]++;
    sam_preprocess_ref(q, &m);
}

static const struct mutant mutants[] = {
    MUTANT(preprocess, ignores_the_matrix),
    MUTANT(preprocess, ignores_the_scale),
    MUTANT(preprocess, ignores_the_range),
    MUTANT(preprocess, swaps_red_and_blue),
    MUTANT(preprocess, forgets_the_stride),
    MUTANT(preprocess, drops_the_last_row),
    MUTANT(preprocess, writes_too_far),
    MUTANT(preprocess, scribbles),
    MUTANT(preprocess, rounds_chroma_up),
};

CUDA_FAULT("preprocess.cu", "(cb - «128.0f => 127.0f»)", "preprocess_nv12_1x1_to_1")
CUDA_FAULT("preprocess.cu", "y < «v.hi => v.hi - 1»; y++")
CUDA_FAULT("preprocess.cu", "at[1] + «at[0] => at[1]» * (1.0f / 256)", "preprocess_p010_1x1_to_1")

TEST(preprocess, .vectors = vectors_preprocess, .abs = 2e-4f);
