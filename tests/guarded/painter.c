// SPDX-License-Identifier: MIT
// A painter whose frames are in a device's own memory: what it makes of a few pixels, counted by
// hand, of frames that the host and the device have, and what it refuses. tests/track/painter.c
// has the same of the host's memory.
#include <stdlib.h>
#include <string.h>

#include "../expect.h"
#include "guarded.h"
#include "samtrack/cover.h"
#include "samtrack/samtrack.h"

enum { W = 6, H = 4, STRIDE = 4 * W + 3, BYTES = STRIDE * H };

// Full of one number, between its rows as well.
static struct sam_frame make_frame(int number, bool on_device)
{
    uint8_t *p = on_device ? guarded_alloc(BYTES) : malloc(BYTES);

    if (!p)
        abort();
    guarded_enter();
    memset(p, number, BYTES);
    guarded_leave();
    return (struct sam_frame) { sizeof(struct sam_frame), .format = SAM_PIXEL_BGRA, .width = W,
                                .height = H, .plane = { p }, .stride = { STRIDE },
                                .on_device = on_device };
}

static void drop_frame(const struct sam_frame *f)
{
    if (f->on_device)
        guarded_free((void *) f->plane[0]);
    else
        free((void *) f->plane[0]);
}

// What every byte of a frame is: `all` in its rows, but `one` at (4, 3), and `between` behind them.
static void expect_bytes(const struct sam_frame *f, int all, int one, int alpha, int between,
                         int line)
{
    guarded_enter();
    for (int i = 0; i < BYTES; i++) {
        const int column = i % STRIDE, is_one = i / STRIDE == 3 && column / 4 == 4;
        const int want = column >= 4 * W ? between : column % 4 == 3 ? (is_one ? alpha : all)
                         : is_one        ? one
                                         : all;
        expect(f->plane[0][i] == want, "line %d: byte %d is %d, expected %d", line, i,
               f->plane[0][i], want);
    }
    guarded_leave();
}

static void expect_refused(int got, int want, const struct sam_error *error, const char *words,
                           int line)
{
    expect(got == want, "line %d: status %d, expected %d (%s)", line, got, want, error->text);
    expect(strstr(error->text, words) && !strchr(error->text, '\n'),
           "line %d: '%s' does not say '%s'", line, error->text, words);
}

#define works(call) expect(!(call), "%s", error.text)
#define fails(words, call) expect_refused(call, SAM_EINVAL, &error, words, __LINE__)

static const uint8_t share = 51; // of 255, a fifth

static struct sam_cover one_pixel(void)
{
    struct sam_cover c = SAM_COVER_INIT;

    c.x = 4, c.y = 3;
    c.width = c.height = c.stride = 1;
    c.map = &share;
    c.cell = 8;
    return c;
}

static void check_refusals(sam_painter *p)
{
    static const char words[] = "it is in host memory, but the backend 'cuda' paints in the device";
    const struct sam_frame host = make_frame(1, false), near = make_frame(1, true);
    struct sam_frame far = near;
    const struct sam_cover cover = one_pixel();
    struct sam_overlay overlay = SAM_OVERLAY_INIT;
    struct sam_error error = { "" };
    uint8_t sample;

    overlay.width = W, overlay.height = H;
    fails(words, sam_painter_draw(p, &host, &overlay, &error));
    fails(words, sam_painter_cover(p, &host, &cover, &error));
    fails(words, sam_painter_clear(p, &host, &cover, &error));
    fails(words, sam_painter_look(p, &host, 1, 1, &sample, &error));
    far.height = 100000 / STRIDE;
    fails("is not in the memory of device", sam_painter_keep(p, 1, &far, &error));
    works(sam_painter_keep(p, 1, &near, &error));
    fails(words, sam_painter_show(p, 1, &host, NULL, &error));
    expect_bytes(&near, 1, 1, 1, 1, __LINE__);
    drop_frame(&host);
    drop_frame(&near);
}

// A fifth of 200 and four of 100 are 120; a fifth less of an alpha of 100 are 80. What is kept is
// a copy, from the host's memory or the device's, and a smaller frame takes the place of a larger.
static void check_kept(sam_painter *p, bool from_device)
{
    const struct sam_frame kept = make_frame(200, from_device), frame = make_frame(100, true);
    struct sam_frame narrow = frame;
    const struct sam_cover cover = one_pixel();
    struct sam_error error = { "" };

    works(sam_painter_keep(p, 2, &kept, &error));
    drop_frame(&kept);
    works(sam_painter_show(p, 2, &frame, &cover, &error));
    expect_bytes(&frame, 100, 120, 100, 100, __LINE__);
    works(sam_painter_show(p, 2, &frame, NULL, &error));
    expect_bytes(&frame, 200, 200, 200, 100, __LINE__);
    works(sam_painter_clear(p, &frame, &cover, &error));
    expect_bytes(&frame, 200, 200, 160, 100, __LINE__);
    narrow.width--;
    works(sam_painter_keep(p, 2, &narrow, &error));
    fails("the kept frame has pixel format 3 and 5 x 4 px, this one 3 and 6 x 4 px",
          sam_painter_show(p, 2, &frame, NULL, &error));
    drop_frame(&frame);
}

// Rows of NV12 from the host: luma of 50 and chroma of 90 come out where they belong.
static void check_planes(sam_painter *p)
{
    static uint8_t luma[H * W], chroma[H / 2 * W];
    struct sam_frame host = { sizeof(host), .format = SAM_PIXEL_NV12, .width = W, .height = H,
                              .plane = { luma, chroma }, .stride = { W, W } };
    const struct sam_frame room = make_frame(7, true);
    struct sam_frame frame = host;
    struct sam_error error = { "" };

    memset(luma, 50, sizeof(luma));
    memset(chroma, 90, sizeof(chroma));
    frame.plane[0] = room.plane[0], frame.plane[1] = room.plane[0] + H * W;
    frame.on_device = 1;
    works(sam_painter_keep(p, 1, &host, &error));
    works(sam_painter_show(p, 1, &frame, NULL, &error));
    guarded_enter();
    for (int i = 0; i < BYTES; i++)
        expect(room.plane[0][i] == (i < H * W ? 50 : i < H * W * 3 / 2 ? 90 : 7),
               "byte %d is %d", i, room.plane[0][i]);
    guarded_leave();
    drop_frame(&room);
}

// A cell's mean, half of a colour, and a sample.
static void check_pixels(sam_painter *p)
{
    static uint8_t all[H * W] = { [0 ... H * W - 1] = 255 };
    const struct sam_frame frame = make_frame(100, true);
    struct sam_cover cover = one_pixel();
    struct sam_overlay overlay = SAM_OVERLAY_INIT;
    struct sam_error error = { "" };
    uint8_t samples[2] = { 0 };

    guarded_enter();
    memset((void *) (frame.plane[0] + 2 * STRIDE), 103, 2 * STRIDE);
    guarded_leave();
    cover.x = cover.y = 0;
    cover.width = cover.stride = W, cover.height = H;
    cover.map = all;
    works(sam_painter_look(p, &frame, 1, 2, samples, &error));
    expect(samples[0] == 100 && samples[1] == 103, "samples are %d and %d", samples[0], samples[1]);
    works(sam_painter_cover(p, &frame, &cover, &error)); // 101.5
    works(sam_painter_look(p, &frame, 1, 2, samples, &error));
    expect(samples[0] == 102 && samples[1] == 102, "means are %d and %d", samples[0], samples[1]);
    overlay.width = W, overlay.height = H;
    overlay.labels = (struct sam_labels) { all, W, H, W, 0 };
    overlay.fill[255] = 0x80ca0000 | 202 << 8; // (102 * 127 + 202 * 128) / 255 = 152.2
    works(sam_painter_draw(p, &frame, &overlay, &error));
    works(sam_painter_look(p, &frame, 1, 1, samples, &error));
    expect(samples[0] == 152, "half of a colour is %d", samples[0]);
    drop_frame(&frame);
}

int main(void)
{
    struct sam_params params = SAM_PARAMS_INIT;
    struct sam_error error = { "" };
    sam_painter *p = NULL;

    params.backend = SAM_BACKEND_CUDA;
    works(sam_painter_open(&p, &params, &error));
    if (!p)
        return 1;
    check_refusals(p);
    check_kept(p, false);
    check_kept(p, true);
    check_planes(p);
    check_pixels(p);
    sam_painter_close(&p);
    return expect_status();
}
