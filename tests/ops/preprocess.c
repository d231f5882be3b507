#include "check.h"

static const struct {
    enum sam_pixel_format format;
    const char *name;
} formats[] = {
    { SAM_PIXEL_RGB, "rgb" },     { SAM_PIXEL_BGR, "bgr" },   { SAM_PIXEL_RGBA, "rgba" },
    { SAM_PIXEL_BGRA, "bgra" },   { SAM_PIXEL_GRAY8, "gray" }, { SAM_PIXEL_NV12, "nv12" },
    { SAM_PIXEL_I420, "i420" },   { SAM_PIXEL_YUY2, "yuy2" }, { SAM_PIXEL_P010, "p010" },
};
enum { NUM_FORMATS = sizeof(formats) / sizeof(*formats) };

static const int sizes[][2] = { { 1, 1 }, { 2, 2 }, { 3, 1 }, { 1, 5 }, { 17, 31 }, { 64, 48 },
                                { 131, 67 } };
enum { NUM_SIZES = sizeof(sizes) / sizeof(*sizes) };

// BT.601 by default and by name, BT.709, and full range.
static const struct sam_colour colours[] = {
    { 0, 0, 0 }, { 0.299f, 0.114f, 1 }, { 0.2126f, 0.0722f, 0 }, { 0.2126f, 0.0722f, 1 },
};

// The planes of a frame, each in its own buffer with rows longer than needed.
static struct sam_frame draw_frame(struct check *t, enum sam_pixel_format format, int width,
                                   int height, struct check_buf *plane[3])
{
    const int half_w = (width + 1) / 2, half_h = (height + 1) / 2, more = check_int(t, 0, 9);
    struct sam_frame f = { .format = format, .width = width, .height = height };
    f.stride[0] = more + (format == SAM_PIXEL_RGB || format == SAM_PIXEL_BGR     ? 3 * width
                          : format == SAM_PIXEL_RGBA || format == SAM_PIXEL_BGRA ? 4 * width
                          : format == SAM_PIXEL_YUY2                             ? 4 * half_w
                          : format == SAM_PIXEL_P010                             ? 2 * width
                                                                                 : width);
    f.stride[1] = more + (format == SAM_PIXEL_P010   ? 4 * half_w
                          : format == SAM_PIXEL_NV12 ? 2 * half_w
                                                     : half_w);
    f.stride[2] = half_w + check_int(t, 0, 9);
    const bool planar = format == SAM_PIXEL_I420;
    const bool semi = format == SAM_PIXEL_NV12 || format == SAM_PIXEL_P010;
    plane[0] = check_host_in(t, height, f.stride[0]);
    plane[1] = planar || semi ? check_host_in(t, half_h, f.stride[1]) : &check_none;
    plane[2] = planar ? check_host_in(t, half_h, f.stride[2]) : &check_none;
    return f;
}

static void run(struct check *t, enum sam_pixel_format format, int width, int height, int side,
                int colour, enum sam_type out, float abs)
{
    struct check_buf *plane[3];
    struct sam_frame frame = draw_frame(t, format, width, height, plane);
    struct check_buf *dst = check_out(t, out, 1, side, side, 3);
    struct sam_preprocess p[2];
    frame.colour = colours[colour];
    check_each_side(t, s) {
        p[s] = (struct sam_preprocess) { dst->on[s], frame };
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

void check_preprocess(struct check *t)
{
    static const int sides[] = { 1, 5, 32, 100 };
    for (int f = 0; f < NUM_FORMATS; f++) {
        for (int i = 0; i < NUM_SIZES; i++)
            for (int j = 0; j < 4; j++)
                if (check_case(t, "preprocess_%s_%dx%d_to_%d", formats[f].name, sizes[i][0],
                               sizes[i][1], sides[j]))
                    run(t, formats[f].format, sizes[i][0], sizes[i][1], sides[j], (i + j) % 4,
                        (f + i + j) % 3 ? SAM_F32 : SAM_BF16, 1e-4f);
        // The longest sides there are: a position is off by up to 2^-11, shrunk by 16384 / 32.
        if (check_case(t, "preprocess_%s_16384x3_to_32", formats[f].name))
            run(t, formats[f].format, 16384, 3, 32, 0, SAM_F32, 5e-4f);
        if (check_case(t, "preprocess_%s_3x16384_to_32", formats[f].name))
            run(t, formats[f].format, 3, 16384, 32, 1, SAM_F32, 5e-4f);
        if (check_speed(t, "preprocess_%s_640x360_to_256", formats[f].name))
            run(t, formats[f].format, 640, 360, 256, 0, SAM_F32, 0);
        if (check_speed(t, "preprocess_%s_1920x1080_to_1024", formats[f].name))
            run(t, formats[f].format, 1920, 1080, 1024, 0, SAM_F32, 0);
    }
}
