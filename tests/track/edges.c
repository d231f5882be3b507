// SPDX-License-Identifier: MIT
// Edges that follow the luma: what is shown changes, as the operation says, and nothing else.
#include "ops/backends.h"
#include "ops/ops.h"
#include "scene.h"

enum { SIDE = 16, PLACES = SIDE * SIDE }; // of the masks of a 64 px model
enum { FRAMES = 8, ROOM = 1 << 14, W = SCENE_W, H = SCENE_H_PX };

// What the reference draws of an object's mask and a frame: the label map, and the box.
static void draw_again(float *mask, const struct sam_frame *frame, uint8_t *map, int32_t box[5])
{
    float room[PLACES];
    const int32_t slot[1] = { 1 };
    struct sam_queue q;
    const struct sam_log log = { NULL, NULL };
    struct sam_error error;

    expect(!sam_queue_open(&q, SAM_BACKEND_REF, -1, SAM_PRECISION_FP32, 1, &log, &error), "%s",
           error.text);
    sam_op_draw_edges(&q, &(struct sam_draw_edges) {
        { { mask, SAM_F32, 1, 1, SIDE, SIDE }, slot, { map, W, H, W, 0 }, W, H,
          (int32_t (*)[5]) box }, *frame, { room, SAM_F32, 1, 1, SIDE, SIDE } });
    expect(!sam_queue_finish(&q, &error), "%s", error.text);
    sam_queue_close(&q);
}

static int count_other(const uint8_t *a, const uint8_t *b)
{
    int other = 0;

    for (int i = 0; i < W * H; i++)
        other += a[i] != b[i];
    return other;
}

static struct sam_result step_and_draw(sam_tracker *t, struct scene *s, int frame, uint8_t *map)
{
    struct sam_result r = SAM_RESULT_INIT;
    const struct sam_labels labels = { map, W, H, W, 0 };
    struct sam_error error;

    expect(!sam_tracker_step(t, scene_draw(s, frame), &labels, &r, &error), "%s", error.text);
    return r;
}

static struct sam_params params_of(const char *model, const char *backend)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.precision = scene_precision(backend);
    p.max_objects = 1;
    p.poison = scene_is_guarded(backend);
    return p;
}

static void check_shown(const char *model, const char *backend)
{
    static float memory[2][ROOM], mask[PLACES];
    static uint8_t plain[W * H], moved[W * H], want[W * H], later[W * H];
    struct sam_params p = params_of(model, backend);
    sam_tracker *t[2];
    uint64_t id[2];
    struct scene s;
    int changed = 0;

    for (int k = 0; k < 2; k++) {
        p.edges = k ? SAM_EDGES_LUMA : SAM_EDGES_NONE;
        t[k] = scene_open(&p);
        uint8_t half[4] = { 0, 1, 0, 1 };
        id[k] = give(t[k], (struct sam_prompt) { .mask = half, .mask_width = 2, .mask_height = 2,
                                                 .mask_stride = 2 });
    }
    for (int i = 0; i < FRAMES; i++) {
        const struct sam_result a = step_and_draw(t[0], &s, i, plain);
        const struct sam_result b = step_and_draw(t[1], &s, i, moved);
        const struct sam_object *o = &b.objects[0];
        const struct sam_labels labels = { later, W, H, W, 0 };
        int32_t box[5];

        expect(a.objects[0].score == o->score, "frame %d: another score", i);
        const size_t n = fetch(t[0], id[0], "memory", memory[0], ROOM);
        expect(n == fetch(t[1], id[1], "memory", memory[1], ROOM) &&
                   !memcmp(memory[0], memory[1], n * sizeof(float)),
               "frame %d: something else is remembered", i);
        fetch(t[1], id[1], "low_res", mask, PLACES);
        draw_again(mask, &s.frame, want, box);
        expect(count_other(want, moved) == 0, "frame %d: %d labels are not the reference's", i,
               count_other(want, moved));
        expect(o->x == box[0] && o->y == box[1] && o->x + o->width == box[2] &&
                   o->y + o->height == box[3] && o->area == box[4],
               "frame %d: box at (%d, %d), %d px; want (%d, %d), %d px", i, o->x, o->y, o->area,
               box[0], box[1], box[4]);
        changed += count_other(plain, moved);
        expect(!sam_tracker_draw(t[1], &labels, NULL) && !memcmp(later, plain, sizeof(plain)),
               "frame %d: drawn later, its edges are not plain", i);
    }
    expect(changed > 0, "no edge was moved, nothing was tried");
    sam_tracker_close(&t[0]);
    sam_tracker_close(&t[1]);
}

// Large frames and maps need more room on a device, which is asked for beforehand and counted.
static void check_room(const char *model, const char *backend)
{
    enum { WIDE = 4096, HIGH = 2200 };
    static uint8_t grey[WIDE * HIGH], map[WIDE * HIGH];
    const struct sam_frame frame = { .size = sizeof(frame), .format = SAM_PIXEL_GRAY8,
                                     .width = WIDE, .height = HIGH, .plane = { grey },
                                     .stride = { WIDE } };
    const struct sam_labels labels = { map, WIDE, HIGH, WIDE, 0 };
    struct sam_params p = params_of(model, backend);
    struct sam_info info[2] = { SAM_INFO_INIT, SAM_INFO_INIT };
    struct sam_error error;

    p.edges = SAM_EDGES_LUMA;
    sam_tracker *t = scene_open(&p);
    expect(!sam_tracker_reserve(t, sizeof(grey), &error), "%s", error.text);
    sam_tracker_info(t, &info[0], NULL);
    give_box(t, 0, 0.2f, 0.2f, 0.8f, 0.8f);
    expect(!sam_tracker_step(t, &frame, &labels, NULL, &error), "%s", error.text);
    sam_tracker_info(t, &info[1], NULL);
    expect(info[0].bytes_used == info[1].bytes_used, "a frame took %zu bytes more",
           info[1].bytes_used - info[0].bytes_used);
    expect(info[1].bytes_planned >= info[1].bytes_used, "%zu bytes planned, %zu used",
           info[1].bytes_planned, info[1].bytes_used);
    sam_tracker_close(&t);
}

static void check_plan(const char *model, const char *backend)
{
    struct sam_params p = params_of(model, backend);
    struct sam_error error;

    p.edges = SAM_EDGES_LUMA;
    sam_tracker *t = scene_open(&p);
    struct sam_plan plan = SAM_PLAN_INIT;
    struct sam_info info = SAM_INFO_INIT;
    expect(!sam_tracker_plan(&p, &plan, &error), "%s", error.text);
    expect(!sam_tracker_info(t, &info, &error), "%s", error.text);
    expect(plan.total_bytes >= info.bytes_used, "%zu bytes planned, %zu used", plan.total_bytes,
           info.bytes_used);
    sam_tracker_close(&t);
}

int main(int argc, char **argv)
{
    const char *backend = argc > 2 ? argv[2] : "cpu";

    check_shown(argv[1], backend);
    check_plan(argv[1], backend);
    check_room(argv[1], backend);
    return expect_status();
}
