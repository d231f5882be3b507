// SPDX-License-Identifier: MIT
// again FOLDER SIDE BACKEND
// Looks at one picture with other words, for which a detector keeps what words have no part in:
// what is found is the same to the bit as by a detector that has seen nothing before; and any other
// picture is looked at anew.
#include "golden.h"

#include "model/groundingdino/groundingdino.h"
#include "model/sam3words/sam3words.h"

enum { PATH = 1 << 12, MOST = 300, NUMBERS = 1 << 12 };

static const char *const words[] = { "red car. striped ball", "fish. dog" };

// The linker has these called in the place of the engine's (--wrap): how often a trunk has run.
static int trunks;

void __real_gdino_run_neck(struct sam_pass *p, struct sam_tensor input, struct sam_tensor image);
void __wrap_gdino_run_neck(struct sam_pass *p, struct sam_tensor input, struct sam_tensor image);
void __wrap_gdino_run_neck(struct sam_pass *p, struct sam_tensor input, struct sam_tensor image)
{
    trunks++;
    __real_gdino_run_neck(p, input, image);
}

void __real_sam3w_run_image(struct sam_pass *p, struct sam_tensor input, struct sam_tensor image,
                            const struct sam3w_maps *maps);
void __wrap_sam3w_run_image(struct sam_pass *p, struct sam_tensor input, struct sam_tensor image,
                            const struct sam3w_maps *maps);
void __wrap_sam3w_run_image(struct sam_pass *p, struct sam_tensor input, struct sam_tensor image,
                            const struct sam3w_maps *maps)
{
    trunks++;
    __real_sam3w_run_image(p, input, image, maps);
}

// What a look found, and the numbers it was chosen of.
struct looked {
    int num, same_picture, trunks;
    struct sam_detection list[MOST]; // mask: NULL
    uint32_t masks;                  // a sum of their bytes and places
    float logits[NUMBERS], boxes[NUMBERS];
    int shape[2][4];
};

// A frame in memory of its own: RGB, or RGBA where it has four bytes a pixel.
struct picture {
    int width, height, bytes;
    const uint8_t *pixels;
};

static struct sam_frame frame_of(const struct picture *p)
{
    return (struct sam_frame){ .size = sizeof(struct sam_frame),
                               .format = p->bytes == 3 ? SAM_PIXEL_RGB : SAM_PIXEL_RGBA,
                               .width = p->width,
                               .height = p->height,
                               .plane = { (void *) p->pixels },
                               .stride = { p->width * p->bytes } };
}

static sam_detector *open_detector(const char *file, int side, enum sam_backend backend)
{
    struct sam_params p = params_of(file, backend);
    struct sam_error error = { "" };
    sam_detector *d = NULL;

    p.input_size = side;
    if (sam_detector_open(&d, &p, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    return d;
}

static uint32_t add_mask(uint32_t sum, const uint8_t *mask)
{
    for (int i = 0; mask && i < MASK * MASK; i++)
        sum = sum * 16777619u + mask[i] + 1u;
    return sum;
}

static void look(sam_detector *d, const char *text, const struct picture *p, struct looked *got)
{
    const struct sam_frame frame = frame_of(p);
    struct sam_detections found = SAM_DETECTIONS_INIT;
    struct sam_error error = { "" };
    const int before = trunks;

    memset(got, 0, sizeof(*got));
    expect(!sam_detector_set_words(d, text, &error) &&
               !sam_detector_run(d, &frame, &found, &error) &&
               !sam_detector_read(d, "logits", got->logits, NUMBERS, got->shape[0], &error) &&
               !sam_detector_read(d, "boxes", got->boxes, NUMBERS, got->shape[1], &error) &&
               found.num <= MOST,
           "%s", error.text);
    got->num = found.num;
    got->same_picture = found.same_picture;
    got->trunks = trunks - before;
    for (int i = 0; i < found.num && i < MOST; i++) {
        got->masks = add_mask(got->masks, found.list[i].mask);
        got->list[i] = found.list[i];
        got->list[i].mask = NULL;
    }
}

static bool is_same(const struct looked *a, const struct looked *b)
{
    return a->num == b->num && a->masks == b->masks &&
           !memcmp(a->logits, b->logits, sizeof(a->logits)) &&
           !memcmp(a->boxes, b->boxes, sizeof(a->boxes)) &&
           !memcmp(a->shape, b->shape, sizeof(a->shape)) &&
           !memcmp(a->list, b->list, sizeof(a->list));
}

// What is looked at one after another by one detector.
struct step {
    const char *name;
    int picture, words, same_picture;
};
enum { FIRST, SECOND, DOT, COPY, NARROW, BLACK, UPRIGHT, SHORT, SLIM, PICTURES };

static const struct step steps[] = {
    { "the first look", FIRST, 0, 0 },
    { "other words", FIRST, 1, 1 },
    { "the same words", FIRST, 1, 1 },
    { "words of before", FIRST, 0, 1 },
    { "another picture", SECOND, 0, 0 }, // the emulated GPU, which is slow, is asked so far
    { "the one before that", FIRST, 1, 0 },
    { "a few other pixels", DOT, 1, 0 },
    { "these with other words", DOT, 0, 1 },
    { "the pixels with an alpha channel", COPY, 1, 1 },
    { "another size", NARROW, 1, 0 },
    { "that with other words", NARROW, 0, 1 },
    // Inputs that differ in their shape alone: with as many numbers, as wide, as high. Where the
    // input is always a square they are one.
    { "black", BLACK, 0, 0 },
    { "black and upright", UPRIGHT, 0, -1 },
    { "black and less high", SHORT, 0, -1 },
    { "that with other words", SHORT, 1, 1 },
    { "black and less wide", SLIM, 1, -1 },
    { "black again", BLACK, 1, -1 },
    { "the second picture", SECOND, 1, 0 },
    { "with other words", SECOND, 0, 1 },
};

enum { SOME = 5 };

static void check_steps(const char *file, int side, enum sam_backend backend,
                        const struct picture *pictures, bool is_square)
{
    static struct looked got, fresh, last;
    sam_detector *d = open_detector(file, side, backend);
    const int all = sizeof(steps) / sizeof(steps[0]);

    for (int i = 0; i < (backend == SAM_BACKEND_CUDA ? SOME : all); i++) {
        const struct step *s = &steps[i];
        const int same = s->same_picture < 0 ? is_square : s->same_picture;
        sam_detector *other = open_detector(file, side, backend);
        look(d, words[s->words], &pictures[s->picture], &got);
        look(other, words[s->words], &pictures[s->picture], &fresh);
        sam_detector_close(&other);
        expect(got.same_picture == same && !fresh.same_picture,
               "%s: same_picture is %d and %d", s->name, got.same_picture, fresh.same_picture);
        expect(got.trunks == !same && fresh.trunks == 1, "%s: the trunk ran %d and %d times",
               s->name, got.trunks, fresh.trunks);
        expect(got.num > 0 && is_same(&got, &fresh), "%s: not what a detector of its own finds",
               s->name);
        // Else a detector that answers with what was there before would pass.
        expect(!i || s->words == steps[i - 1].words || !is_same(&got, &last),
               "%s: other words change nothing", s->name);
        last = got;
    }
    sam_detector_close(&d);
}

// What is no look leaves the picture as it was.
static void check_between(const char *file, int side, enum sam_backend backend,
                          const struct picture *p)
{
    static struct looked got, fresh;
    static char many[5000];
    const struct sam_frame frame = frame_of(p);
    struct sam_frame bad = frame;
    struct sam_detections found = SAM_DETECTIONS_INIT, old = { .size = sizeof(old) - 8 };
    struct sam_error error = { "" };
    sam_detector *d = open_detector(file, side, backend);

    look(d, words[0], p, &fresh);
    look(d, words[1], p, &got);
    bad.width = 0;
    REFUSED(SAM_EINVAL, "frame of 0 x", sam_detector_run(d, &bad, &found, &error));
    expect(!found.same_picture, "of a frame that was refused");
    memset(many, 'a', sizeof(many) - 1);
    REFUSED(SAM_EINVAL, "too long", sam_detector_set_words(d, many, &error));
    expect(!sam_detector_set_words(d, NULL, &error) &&
               !sam_detector_run(d, &frame, &found, &error) && !found.num && !found.same_picture,
           "%d without words, '%s'", found.num, error.text);
    look(d, words[0], p, &got);
    expect(got.same_picture && is_same(&got, &fresh), "not what was found before");
    // A program that was compiled before there was such a field.
    old.same_picture = 7;
    expect(!sam_detector_run(d, &frame, &old, &error) && old.num == got.num &&
               old.same_picture == 7,
           "%d found, '%s'", old.num, error.text);
    sam_detector_close(&d);
}

// The golden's two frames; a part of the first one in another gray; that in four bytes a pixel;
// its left two thirds; and black in four shapes.
static void make_pictures(const char *frames, struct picture pictures[PICTURES])
{
    static uint8_t dot[W * H * 3], copy[W * H * 4], narrow[W * H * 3], black[W * H * 3];
    uint8_t *rgb = read_frames(frames);
    const int w = W / 3 * 2;

    memcpy(dot, rgb, sizeof(dot));
    memset(dot + (H * W - 4) * 3, 200, 12); // at the end
    for (int i = 0; i < W * H; i++)
        memcpy(copy + i * 4, dot + i * 3, 3);
    for (int y = 0; y < H; y++)
        memcpy(narrow + y * w * 3, rgb + y * W * 3, (size_t) w * 3);
    pictures[FIRST] = (struct picture){ W, H, 3, rgb };
    pictures[SECOND] = (struct picture){ W, H, 3, rgb + W * H * 3 };
    pictures[DOT] = (struct picture){ W, H, 3, dot };
    pictures[COPY] = (struct picture){ W, H, 4, copy };
    pictures[NARROW] = (struct picture){ w, H, 3, narrow };
    pictures[BLACK] = (struct picture){ W, H, 3, black };
    pictures[UPRIGHT] = (struct picture){ H, W, 3, black };
    pictures[SHORT] = (struct picture){ H, W - 20, 3, black };
    pictures[SLIM] = (struct picture){ W - 20, H, 3, black };
}

int main(int argc, char **argv)
{
    char model[PATH], frames[PATH];
    struct picture pictures[PICTURES];

    if (argc != 4) {
        fprintf(stderr, "expected three arguments\n");
        return 1;
    }
    const int side = atoi(argv[2]);
    const enum sam_backend backend = backend_of(argv[3]);
    snprintf(model, sizeof(model), "%s/model.safetensors", argv[1]);
    snprintf(frames, sizeof(frames), "%s/frames.safetensors", argv[1]);
    make_pictures(frames, pictures);
    check_steps(model, side, backend, pictures, strstr(argv[1], "sam3") != NULL);
    if (backend != SAM_BACKEND_CUDA)
        check_between(model, side, backend, pictures);
    free((void *) pictures[FIRST].pixels);
    return expect_status();
}
