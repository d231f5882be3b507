// SPDX-License-Identifier: MIT
// A painter alone: what it makes of a few pixels, counted by hand, and what it refuses.
#include "scene.h"

#include "samtrack/cover.h"

enum { W = 6, H = 4 };

static void refused(sam_painter *p, const struct sam_frame *f, const struct sam_overlay *o,
                    const char *words, int line)
{
    struct sam_error error = { "" };
    const int status = sam_painter_draw(p, f, o, &error);

    expect(status == SAM_EINVAL, "line %d: status %d, expected %d (%s)", line, status, SAM_EINVAL,
           error.text);
    expect(strstr(error.text, words) && !strchr(error.text, '\n'),
           "line %d: '%s' does not say '%s'", line, error.text, words);
}

// One after another, each undone by the next.
#define bad(words, change)                                                                     \
    do {                                                                                       \
        struct sam_frame f = frame;                                                            \
        struct sam_overlay o = overlay;                                                        \
        struct sam_patch patch = patches[0];                                                   \
        o.patches = &patch;                                                                    \
        o.num_patches = 1;                                                                     \
        change;                                                                                \
        refused(p, &f, &o, words, __LINE__);                                                   \
    } while (0)

static void check_refusals(sam_painter *p, struct sam_frame frame, struct sam_overlay overlay)
{
    static const struct sam_patch patches[1] = { { .width = 5, .height = 2, .scale = 1 } };
    static uint32_t bits[2];

    overlay.bits = bits;
    overlay.num_words = 2;
    bad("pixel format 99 is not known", f.format = 99);
    bad("frame of 0 x 4 px", f.width = 0);
    bad("stride of 23 bytes, expected at least 24", f.stride[0] = 23);
    bad("plane 0 is NULL", f.plane[0] = NULL);
    bad("the backend 'cpu' works in host memory", f.on_device = 1);
    bad("labels: data: on_device is set", o.labels.on_device = 1);
    bad("labels of 0 x 4 px", o.labels.width = 0);
    bad("labels of 16385 x 4 px", o.labels.width = o.labels.stride = 16385);
    bad("an area of 6 x 4 px at (1, 0) is not inside a frame of 6 x 4 px", o.x = 1);
    bad("an area of 6 x 0 px", o.height = 0);
    bad("an area of 6 x 4 px at (0, 2147483647)", o.y = INT32_MAX);
    bad("line_width is 65 px, expected 0 to 64", o.line_width = 65);
    bad("2049 patches, expected 0 to 2048", o.num_patches = 2049);
    bad("patches is NULL", o.patches = NULL);
    bad("patch 0, 5 x 2 px at (0, 0) with squares of 1 px from word 1 of 2", patch.first = 1);
    bad("patch 0, -1 x 2 px", patch.width = -1);
    bad("num_words is 2 and bits is", o.bits = NULL);
    bad("overlay: size is 0, expected", o.size = 0);
    bad("overlay: size is 8", o.size = sizeof(size_t));
    bad("overlay: size is ", o.size++);
    refused(p, NULL, &overlay, "frame is NULL", __LINE__);
    refused(p, &frame, NULL, "overlay is NULL", __LINE__);
    refused(NULL, &frame, &overlay, "painter is NULL", __LINE__);
}

static void refused_cover(sam_painter *p, const struct sam_frame *f, const struct sam_cover *c,
                          const char *words)
{
    struct sam_error error = { "" };
    const int status = sam_painter_cover(p, f, c, &error);

    expect(status == SAM_EINVAL, "status %d, expected %d (%s)", status, SAM_EINVAL, error.text);
    expect(strstr(error.text, words) && !strchr(error.text, '\n'), "'%s' does not say '%s'",
           error.text, words);
}

#define bad_cover(words, change)                                                               \
    do {                                                                                       \
        struct sam_cover c = cover;                                                            \
        change;                                                                                \
        refused_cover(p, frame, &c, words);                                                    \
    } while (0)

static void check_cover_refusals(sam_painter *p, const struct sam_frame *frame)
{
    static const uint8_t map[H][W] = { { 1 } };
    struct sam_cover cover = SAM_COVER_INIT;

    cover.width = cover.stride = W, cover.height = H;
    cover.map = map[0];
    cover.cell = 8;
    bad_cover("an area of 6 x 4 px at (1, 0) is not inside a frame of 6 x 4 px", c.x = 1);
    bad_cover("an area of 6 x 4 px at (0, -1)", c.y = -1);
    bad_cover("an area of 0 x 4 px", c.width = 0);
    bad_cover("an area of 6 x 2147483647 px", c.height = INT32_MAX);
    bad_cover("with a stride of 5 bytes, expected at least 6", c.stride = 5);
    bad_cover("cover: map is", c.map = NULL);
    bad_cover("cell is 7 px, expected 8 to 256", c.cell = 7);
    bad_cover("cell is 257 px", c.cell = 257);
    bad_cover("cover: size is 0, expected", c.size = 0);
    refused_cover(p, NULL, &cover, "frame is NULL");
    refused_cover(p, frame, NULL, "cover is NULL");
    refused_cover(NULL, frame, &cover, "painter is NULL");
}

// One cell of 8 px holds the frame: its upper half is 10, its lower one 13, the mean 11.5, so 12.
static void check_cover(sam_painter *p)
{
    static const uint8_t map[H * W] = { 1, 0, [2 ... H * W - 1] = 255 };
    uint8_t pixels[H * W * 4];
    const struct sam_frame frame = { sizeof(frame), .format = SAM_PIXEL_RGBA, .width = W,
                                     .height = H, .plane = { pixels }, .stride = { W * 4 } };
    struct sam_cover cover = SAM_COVER_INIT;
    struct sam_error error = { "" };

    for (int i = 0; i < H * W * 4; i++)
        pixels[i] = i < H * W * 2 ? 10 : 13;
    cover.width = cover.stride = W, cover.height = H;
    cover.map = map;
    cover.cell = 8;
    expect(!sam_painter_cover(p, &frame, &cover, &error), "%s", error.text);
    for (int i = 0; i < H * W * 4; i++) {
        const bool stays = i / 4 == 1 || i % 4 == 3;
        expect(pixels[i] == (!stays ? 12 : i < H * W * 2 ? 10 : 13), "byte %d is %d", i, pixels[i]);
    }
}

// A frame of more cells than any before, whose columns are 0 and 1 in turn: 0.5 is 1.
static void check_wide_cover(sam_painter *p)
{
    enum { WIDE = 2400, HIGH = 32 };
    static uint8_t pixels[WIDE * HIGH], map[WIDE * HIGH];
    const struct sam_frame frame = { sizeof(frame), .format = SAM_PIXEL_GRAY8, .width = WIDE,
                                     .height = HIGH, .plane = { pixels }, .stride = { WIDE } };
    struct sam_cover cover = SAM_COVER_INIT;
    struct sam_error error = { "" };

    for (int i = 0; i < WIDE * HIGH; i++)
        pixels[i] = i % 2;
    memset(map, 255, sizeof(map));
    cover.width = cover.stride = WIDE, cover.height = HIGH;
    cover.map = map;
    cover.cell = 8;
    cover.smooth = 1;
    expect(!sam_painter_cover(p, &frame, &cover, &error), "%s", error.text);
    for (int i = 0; i < WIDE * HIGH; i++)
        expect(pixels[i] == 1, "byte %d is %d", i, pixels[i]);
}

// ---- frames that are kept, and samples

enum { STRIDE = W * 4 + 3 };

static struct sam_frame padded_frame(const uint8_t *pixels)
{
    return (struct sam_frame) { sizeof(struct sam_frame), .format = SAM_PIXEL_BGRA, .width = W,
                                .height = H, .plane = { pixels }, .stride = { STRIDE } };
}

static void expect_status_of(int got, int want, const struct sam_error *error, const char *words,
                             int line)
{
    expect(got == want, "line %d: status %d, expected %d (%s)", line, got, want, error->text);
    expect(strstr(error->text, words) && !strchr(error->text, '\n'),
           "line %d: '%s' does not say '%s'", line, error->text, words);
}

#define fails(status, words, call) expect_status_of(call, status, &error, words, __LINE__)

static void check_kept_refusals(sam_painter *p)
{
    static uint8_t pixels[STRIDE * H];
    const struct sam_frame frame = padded_frame(pixels);
    struct sam_frame other = frame, odd = frame;
    struct sam_cover cover = SAM_COVER_INIT;
    struct sam_error error = { "" };
    uint8_t sample;

    other.width--;
    odd.format = 99;
    fails(SAM_ENOTFOUND, "no frame was kept", sam_painter_show(p, 2, &frame, NULL, &error));
    fails(SAM_EINVAL, "kept frame 0, expected 1 to 2", sam_painter_keep(p, 0, &frame, &error));
    fails(SAM_EINVAL, "kept frame 3", sam_painter_show(p, 3, &frame, NULL, &error));
    fails(SAM_EINVAL, "frame is NULL", sam_painter_keep(p, 2, NULL, &error));
    expect(!sam_painter_keep(p, 2, &frame, &error), "%s", error.text);
    fails(SAM_ENOTFOUND, "no frame was kept", sam_painter_show(p, 1, &frame, NULL, &error));
    fails(SAM_EINVAL, "the kept frame has pixel format 3 and 6 x 4 px, this one 3 and 5 x 4 px",
          sam_painter_show(p, 2, &other, NULL, &error));
    fails(SAM_EINVAL, "an area of 0 x 0 px", sam_painter_show(p, 2, &frame, &cover, &error));
    cover.width = cover.height = cover.stride = 1;
    fails(SAM_EINVAL, "cover: map is", sam_painter_show(p, 2, &frame, &cover, &error));
    fails(SAM_EINVAL, "pixel format 99", sam_painter_keep(p, 2, &odd, &error));
    fails(SAM_ENOTFOUND, "no frame was kept", sam_painter_show(p, 2, &frame, NULL, &error));
    odd.format = SAM_PIXEL_NV12, odd.plane[1] = pixels, odd.stride[1] = STRIDE;
    fails(SAM_EINVAL, "pixel format 5 has no alpha, expected 2 or 3",
          sam_painter_clear(p, &odd, &cover, &error));
    fails(SAM_EINVAL, "cover is NULL", sam_painter_clear(p, &frame, NULL, &error));
    fails(SAM_EINVAL, "cover: map is", sam_painter_clear(p, &frame, &cover, &error));
    fails(SAM_EINVAL, "0 x 1 samples, expected 1 to 1024 each way",
          sam_painter_look(p, &frame, 0, 1, &sample, &error));
    fails(SAM_EINVAL, "1 x 1025 samples", sam_painter_look(p, &frame, 1, 1025, &sample, &error));
    fails(SAM_EINVAL, "samples is NULL", sam_painter_look(p, &frame, 1, 1, NULL, &error));
    fails(SAM_EINVAL, "frame is NULL", sam_painter_look(p, NULL, 1, 1, &sample, &error));
}

// All of a frame, but what is between its rows; then 51 of 255, a fifth, of one pixel: a fifth of
// 200 and four of 100 are 120.
static void check_kept(sam_painter *p)
{
    static const uint8_t share = 51;
    uint8_t kept[STRIDE * H], pixels[STRIDE * H];
    const struct sam_frame frame = padded_frame(pixels), other = padded_frame(kept);
    struct sam_cover cover = SAM_COVER_INIT;
    struct sam_error error = { "" };

    memset(kept, 200, sizeof(kept));
    expect(!sam_painter_keep(p, 1, &other, &error), "%s", error.text);
    memset(kept, 7, sizeof(kept));
    memset(pixels, 100, sizeof(pixels));
    expect(!sam_painter_show(p, 1, &frame, NULL, &error), "%s", error.text);
    for (int i = 0; i < STRIDE * H; i++)
        expect(pixels[i] == (i % STRIDE < W * 4 ? 200 : 100), "byte %d is %d", i, pixels[i]);
    memset(pixels, 100, sizeof(pixels));
    cover.x = 4, cover.y = 3;
    cover.width = cover.height = cover.stride = 1;
    cover.map = &share;
    expect(!sam_painter_show(p, 1, &frame, &cover, &error), "%s", error.text);
    for (int i = 0; i < STRIDE * H; i++)
        expect(pixels[i] == (i / STRIDE == 3 && i % STRIDE / 4 == 4 && i % STRIDE % 4 < 3 ? 120
                                                                                          : 100),
               "byte %d is %d", i, pixels[i]);
}

// 51 of 255, a fifth, of the alpha of one pixel: of 100 are left 80.
static void check_clear(sam_painter *p)
{
    static const uint8_t share = 51;
    uint8_t pixels[STRIDE * H];
    const struct sam_frame frame = padded_frame(pixels);
    struct sam_cover cover = SAM_COVER_INIT;
    struct sam_error error = { "" };

    memset(pixels, 100, sizeof(pixels));
    cover.x = 4, cover.y = 3;
    cover.width = cover.height = cover.stride = 1;
    cover.map = &share;
    expect(!sam_painter_clear(p, &frame, &cover, &error), "%s", error.text);
    for (int i = 0; i < STRIDE * H; i++)
        expect(pixels[i] == (i == 3 * STRIDE + 4 * 4 + 3 ? 80 : 100), "byte %d is %d", i,
               pixels[i]);
}

// Three columns of six are 1, 3 and 5, two rows of four 1 and 3.
static void check_look(sam_painter *p)
{
    static const struct {
        enum sam_pixel_format format;
        int step, offset;
    } formats[] = { { SAM_PIXEL_RGB, 3, 1 }, { SAM_PIXEL_BGRA, 4, 1 }, { SAM_PIXEL_NV12, 1, 0 },
                    { SAM_PIXEL_YUY2, 2, 0 }, { SAM_PIXEL_P010, 2, 1 } };
    uint8_t pixels[STRIDE * H], samples[6];
    struct sam_error error = { "" };

    for (int i = 0; i < STRIDE * H; i++)
        pixels[i] = (uint8_t) (3 * i);
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        struct sam_frame frame = padded_frame(pixels);
        frame.format = formats[i].format;
        frame.plane[1] = pixels, frame.stride[1] = STRIDE;
        expect(!sam_painter_look(p, &frame, 3, 2, samples, &error), "%s", error.text);
        for (int k = 0; k < 6; k++) {
            const int at = (2 * (k / 3) + 1) * STRIDE + (2 * (k % 3) + 1) * formats[i].step +
                           formats[i].offset;
            expect(samples[k] == pixels[at], "format %d, sample %d is %d, expected %d",
                   formats[i].format, k, samples[k], pixels[at]);
        }
    }
}

// Half of 200 over 100 is 150; a line of full alpha, and a patch on top of both.
static void check_pixels(sam_painter *p, struct sam_frame *frame, struct sam_overlay *overlay,
                         const uint8_t *pixels)
{
    static const struct sam_patch patch = { .x = 4, .y = 3, .width = 9, .height = 9,
                                            .colour = 0xff010203 };
    static const uint8_t want[H][W] = { // of red
        { 100, 100, 250, 150, 150, 150 }, { 100, 100, 250, 150, 150, 150 },
        { 100, 100, 250, 150, 150, 150 }, { 100, 100, 250, 150, 1, 1 },
    };
    struct sam_error error = { "" };

    overlay->patches = &patch;
    overlay->num_patches = 1;
    expect(!sam_painter_draw(p, frame, overlay, &error), "%s", error.text);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const uint8_t *at = pixels + (y * W + x) * 4;
            expect(at[0] == want[y][x] && at[3] == 100, "(%d, %d): %d, expected %d; alpha %d", x, y,
                   at[0], want[y][x], at[3]);
        }
}

static void check_backend(enum sam_backend backend)
{
    uint8_t pixels[W * H * 4], labels[H][W];
    struct sam_params params = SAM_PARAMS_INIT;
    struct sam_error error = { "" };
    sam_painter *p;

    params.backend = backend;
    expect(!sam_painter_open(&p, &params, &error), "%s", error.text);
    if (!p)
        return;
    memset(pixels, 100, sizeof(pixels));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            labels[y][x] = x < 2 ? 0 : 7;
    struct sam_frame frame = { .size = sizeof(struct sam_frame),
                               .format = SAM_PIXEL_RGBA, .width = W, .height = H,
                               .plane = { pixels }, .stride = { W * 4 } };
    struct sam_overlay overlay = { .size = sizeof(overlay), .width = W, .height = H,
                                   .line_width = 1, .labels = { labels[0], W, H, W, 0 } };
    overlay.fill[7] = 0x80c8c8c8; // 128 of 255 of 200: (100 * 127 + 128 * 200) / 255 = 150
    overlay.line[7] = 0xfffafafa;
    if (backend == SAM_BACKEND_CPU)
        check_refusals(p, frame, overlay);
    if (backend == SAM_BACKEND_CPU)
        check_cover_refusals(p, &frame);
    if (backend == SAM_BACKEND_CPU)
        check_kept_refusals(p);
    for (size_t i = 0; i < sizeof(pixels); i++)
        expect(pixels[i] == 100, "byte %zu was changed by what was refused", i);
    check_pixels(p, &frame, &overlay, pixels);
    check_cover(p);
    check_wide_cover(p);
    check_kept(p);
    check_clear(p);
    check_look(p);
    sam_painter_close(&p);
    expect(!p, "closed, but not NULL");
    sam_painter_close(&p);
}

int main(void)
{
    struct sam_params params = SAM_PARAMS_INIT;
    struct sam_error error = { "" };
    sam_painter *p = NULL;

    check_backend(SAM_BACKEND_REF);
    check_backend(SAM_BACKEND_CPU);
    params.device = -7;
    expect(sam_painter_open(&p, &params, &error) == SAM_EINVAL && !p, "%s", error.text);
    expect(strstr(error.text, "device") != NULL, "%s", error.text);
    expect(sam_painter_open(NULL, &params, &error) == SAM_EINVAL, "%s", error.text);
    return expect_status();
}
