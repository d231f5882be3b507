// SPDX-License-Identifier: MIT
// preview MODEL BACKEND
// What a prompt would be answered with is, to the bit, what it is answered with when it is given:
// on the last frame, on one of the past, on one that was only kept; and nothing is changed by
// asking: neither the file that a tracker is saved to, nor what it shows later, nor what it undoes.
#include <stdbool.h>
#include <unistd.h>

#include <samtrack/answers.h>

#include "scene.h"

enum { START = 2, LAST = START + 6, HISTORY = 4, FILE_BYTES = 1 << 23 };
enum { PIXELS = SCENE_W * SCENE_H_PX };
static const char *model, *backend;

static const struct sam_point clicked[] = { { 0.2f, 0.2f, 1 }, { 0.55f, 0.5f, 1 } };
static const struct sam_point two[] = { { 0.2f, 0.2f, 1 }, { 0.6f, 0.7f, 0 } };

// What is pointed at: clicks, another answer to one, two points, a box, a box with a point.
static const struct sam_prompt asked[] = {
    { .num_points = 1, .points = &clicked[0] },
    { .num_points = 1, .points = &clicked[1], .answer = 3 },
    { .num_points = 2, .points = two },
    { .has_box = 1, .box = { 0.1f, 0.05f, 0.4f, 0.5f } },
    { .num_points = 1, .points = &two[1], .has_box = 1, .box = { 0.3f, 0.2f, 0.9f, 0.9f } },
};
enum { ASKED = sizeof(asked) / sizeof(asked[0]) };

static struct sam_params params_of(int history, int max_objects)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.precision = scene_precision(backend);
    p.max_objects = max_objects;
    p.history = history;
    p.fill_holes = 8;
    p.remove_islands = 3;
    p.poison = scene_is_guarded(backend);
    return p;
}

static sam_tracker *open_tracker(int history, int max_objects)
{
    const struct sam_params p = params_of(history, max_objects);

    return scene_open(&p);
}

// ---- What is shown.

struct seen {
    uint8_t mask[PIXELS];
    int x, y, width, height, area;
    float iou, score;
};

static struct sam_prompt at(const struct sam_prompt *prompt, int frame)
{
    struct sam_prompt p = *prompt;

    p.size = sizeof(p);
    p.has_frame = frame >= 0;
    p.frame = frame >= 0 ? (uint64_t) frame : 0;
    return p;
}

// frame: by its index; -1: the last one.
static void preview(sam_tracker *t, const struct sam_prompt *prompt, int frame, int expected,
                    struct seen *seen)
{
    const struct sam_labels labels = { seen->mask, SCENE_W, SCENE_H_PX, SCENE_W, 0 };
    const struct sam_prompt p = at(prompt, frame);
    struct sam_preview r = SAM_PREVIEW_INIT;
    struct sam_error error = { "" };

    memset(seen, 0, sizeof(*seen));
    expect(!sam_tracker_preview(t, &p, &labels, &r, &error), "preview: %s", error.text);
    expect((int) r.frame_index == expected, "of frame %d, not %d", (int) r.frame_index, expected);
    seen->x = r.x, seen->y = r.y, seen->width = r.width, seen->height = r.height;
    seen->area = r.area, seen->iou = r.iou, seen->score = r.score;
}

// What an object is on the last frame; the others are removed.
static void look(sam_tracker *t, const struct sam_result *r, uint64_t id, struct seen *seen)
{
    const struct sam_labels labels = { seen->mask, SCENE_W, SCENE_H_PX, SCENE_W, 0 };
    const struct sam_object *o = object_in(r, id);
    int slot;

    memset(seen, 0, sizeof(*seen));
    if (!o) {
        expect(false, "object %d is not there", (int) id);
        return;
    }
    slot = o->slot;
    seen->x = o->x, seen->y = o->y, seen->width = o->width, seen->height = o->height;
    seen->area = o->area, seen->iou = o->iou, seen->score = o->score;
    for (uint64_t other = 1; other < id; other++)
        sam_tracker_remove(t, other, NULL);
    expect(!sam_tracker_draw(t, &labels, NULL), "draw");
    for (int i = 0; i < PIXELS; i++)
        seen->mask[i] = seen->mask[i] == slot;
}

static void expect_same(const struct seen *a, const struct seen *b, int prompt, const char *what)
{
    expect(!memcmp(a, b, sizeof(*a)), "prompt %d, %s: %d px at %d, %d, score %g, expected %d px "
           "at %d, %d, score %g", prompt, what, a->area, a->x, a->y, (double) a->score, b->area,
           b->x, b->y, (double) b->score);
}

// ---- What must not change.

struct file {
    uint8_t data[FILE_BYTES];
    size_t bytes;
};

static void save(sam_tracker *t, struct file *file)
{
    char path[] = "/tmp/preview-XXXXXX";
    struct sam_error error = { "" };
    const int fd = mkstemp(path);
    FILE *f;

    expect(fd >= 0 && !sam_tracker_save(t, path, NULL, 0, &error), "%s", error.text);
    f = fopen(path, "rb");
    file->bytes = f ? fread(file->data, 1, FILE_BYTES, f) : 0;
    expect(file->bytes > 0 && file->bytes < FILE_BYTES, "a file of %zu bytes", file->bytes);
    if (f)
        fclose(f);
    close(fd);
    unlink(path);
}

// Two trackers told the same hold the same of object 1 on the frames to come.
static void go_on(sam_tracker *const t[2], int frame, const char *what)
{
    static struct scene_held held[2];
    struct scene s;

    for (; frame <= LAST; frame++) {
        for (int i = 0; i < 2; i++) {
            step(t[i], &s, frame);
            scene_look(t[i], 1, &held[i]);
        }
        expect(!memcmp(&held[0], &held[1], sizeof(held[0])), "%s: frame %d differs", what, frame);
    }
}

// ---- Cases.

// A tracker with an object, on its second frame.
static sam_tracker *open_with_object(int history, int max_objects)
{
    sam_tracker *t = open_tracker(history, max_objects);
    struct scene s;

    give_box(t, 0, 0.3f, 0.2f, 0.7f, 0.7f);
    step(t, &s, START);
    step(t, &s, START + 1);
    return t;
}

// On the last frame, of a tracker that is full: as if it had been given for that frame.
static void check_last(int history)
{
    static struct seen a, b;
    static struct file before, after;
    sam_tracker *t[2] = { open_with_object(history, 1), open_with_object(history, 1) };
    struct scene s;
    int most = 0;

    save(t[0], &before);
    for (int i = 0; i < ASKED; i++) {
        sam_tracker *other = open_tracker(history, 2);
        give_box(other, 0, 0.3f, 0.2f, 0.7f, 0.7f);
        step(other, &s, START);
        const uint64_t id = give(other, asked[i]);
        const struct sam_result r = step(other, &s, START + 1);
        look(other, &r, id, &b);
        preview(t[0], &asked[i], -1, 1, &a);
        expect_same(&a, &b, i, "on the last frame");
        most = a.area > most ? a.area : most;
        sam_tracker_close(&other);
    }
    expect(most > 0, "empty masks tell nothing");
    save(t[0], &after);
    expect(before.bytes == after.bytes && !memcmp(before.data, after.data, before.bytes),
           "a preview changes what is saved");
    go_on(t, START + 2, "after previews");
    sam_tracker_close(&t[0]);
    sam_tracker_close(&t[1]);
}

// On a frame of the past; then what the last one has is undone, which is decoded again.
static void check_past(void)
{
    static struct seen a, b;
    sam_tracker *t[2] = { open_with_object(HISTORY, 1), open_with_object(HISTORY, 1) };
    struct scene s;

    for (int k = 0; k < 2; k++) {
        give_point(t[k], 1, 0.55f, 0.5f, 1);
        step(t[k], &s, START + 2);
    }
    for (int i = 0; i < ASKED; i++) {
        sam_tracker *other = open_tracker(0, 1);
        const uint64_t id = give(other, asked[i]);
        const struct sam_result r = step(other, &s, START);
        look(other, &r, id, &b);
        preview(t[0], &asked[i], 0, 0, &a);
        expect_same(&a, &b, i, "on a frame of the past");
        sam_tracker_close(&other);
    }
    for (int k = 0; k < 2; k++)
        expect(!sam_tracker_undo(t[k], 1, NULL), "undo");
    go_on(t, START + 3, "undone after previews");
    preview(t[0], &asked[0], 0, LAST - START + 1 - HISTORY, &a); // the oldest that is held
    sam_tracker_close(&t[0]);
    sam_tracker_close(&t[1]);
}

// On frames that were only kept; then the object begins there.
static void check_watched(void)
{
    static struct seen a, b;
    sam_tracker *t[2] = { open_tracker(HISTORY, 1), open_tracker(HISTORY, 1) };
    struct scene s;

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++)
            expect(!sam_tracker_watch(t[k], scene_draw(&s, START + i), NULL), "watch");
    for (int frame = 2; frame >= 1; frame--) {
        sam_tracker *other = open_tracker(0, 1);
        const uint64_t id = give(other, asked[0]);
        const struct sam_result r = step(other, &s, START + frame);
        look(other, &r, id, &b);
        preview(t[0], &asked[0], frame == 2 ? -1 : frame, frame, &a);
        expect_same(&a, &b, 0, "on a frame that was kept");
        sam_tracker_close(&other);
    }
    for (int k = 0; k < 2; k++)
        give(t[k], at(&asked[0], 1));
    for (int i = 3; i < 6; i++) // an object that encodes frames itself takes longer
        for (int k = 0; k < 2; k++)
            step(t[k], &s, START + i);
    go_on(t, START + 6, "begun after previews");
    sam_tracker_close(&t[0]);
    sam_tracker_close(&t[1]);
}

// What was kept of the step's stages stays.
static void check_stages(void)
{
    enum { ROOM = 1 << 16 };
    static const char *const names[] = { "track/memory_attention.curr", "prompt/decoder.image",
                                        "low_res" };
    static float a[3][ROOM], b[ROOM];
    struct sam_params p = params_of(HISTORY, 2);
    struct seen seen;
    struct scene s;
    size_t count[3];

    p.keep_stages = 1;
    sam_tracker *t = scene_open(&p);
    give_box(t, 0, 0.3f, 0.2f, 0.7f, 0.7f);
    step(t, &s, START);
    give_point(t, 1, 0.55f, 0.5f, 1);
    step(t, &s, START + 1);
    for (int i = 0; i < 3; i++)
        count[i] = fetch(t, 1, names[i], a[i], ROOM);
    preview(t, &asked[0], 0, 0, &seen);
    for (int i = 0; i < 3; i++)
        expect(count[i] && count[i] == fetch(t, 1, names[i], b, ROOM) &&
                   !memcmp(a[i], b, count[i] * sizeof(float)), "%s is another one", names[i]);
    expect(!fetch(t, 0, "prompt/decoder.image", b, ROOM), "a stage of nobody's");
    sam_tracker_close(&t);
}

#define refused(wanted, words, call)                                                          \
    do {                                                                                      \
        struct sam_error error = { "" };                                                      \
        const int status_ = (call);                                                           \
        expect(status_ == (wanted) && strstr(error.text, words), "status %d, '%s'", status_,  \
               error.text);                                                                   \
    } while (0)

static void check_refused(void)
{
    sam_tracker *t = open_tracker(2, 1);
    struct sam_preview r = SAM_PREVIEW_INIT;
    struct sam_prompt p = at(&asked[0], -1);
    uint8_t map[4] = { 1, 1, 1, 1 };
    struct sam_labels l = { map, 2, 2, 1, 0 };
    struct scene s;

    refused(SAM_ENOTFOUND, "no frame is held", sam_tracker_preview(t, &p, NULL, &r, &error));
    step(t, &s, START); // there is no object
    expect(!sam_tracker_preview(t, &p, NULL, &r, NULL), "a frame without objects");
    refused(SAM_EINVAL, "tracker is NULL", sam_tracker_preview(NULL, &p, NULL, &r, &error));
    refused(SAM_EINVAL, "prompt is NULL", sam_tracker_preview(t, NULL, NULL, &r, &error));
    refused(SAM_EINVAL, "preview is NULL", sam_tracker_preview(t, &p, NULL, NULL, &error));
    refused(SAM_EINVAL, "stride", sam_tracker_preview(t, &p, &l, &r, &error));
    p = at(&asked[0], 1);
    refused(SAM_EINVAL, "frame 1: expected a frame that was processed, the last is 0",
            sam_tracker_preview(t, &p, NULL, &r, &error));
    p = at(&asked[0], -1);
    p.id = 1;
    refused(SAM_EINVAL, "expected a new object", sam_tracker_preview(t, &p, NULL, &r, &error));
    p = (struct sam_prompt) { .size = sizeof(p), .mask = map, .mask_width = 2, .mask_height = 2,
                              .mask_stride = 2 };
    refused(SAM_EINVAL, "preview of a mask", sam_tracker_preview(t, &p, NULL, &r, &error));
    p = (struct sam_prompt) { .size = sizeof(p) };
    refused(SAM_EINVAL, "an empty prompt", sam_tracker_preview(t, &p, NULL, &r, &error));
    r.size--;
    refused(SAM_EINVAL, "preview: size is", sam_tracker_preview(t, &p, NULL, &r, &error));
    sam_tracker_close(&t);
}

int main(int argc, char **argv)
{
    model = argv[1], backend = argv[2];
    check_last(HISTORY);
    check_last(0);
    check_past();
    check_watched();
    check_stages();
    check_refused();
    return expect_status();
}
