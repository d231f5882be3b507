// SPDX-License-Identifier: MIT
// Holes of masks are filled, and islands removed, where they are shown and nowhere else.
#include "scene.h"

enum { SIDE = 16, PLACES = SIDE * SIDE }; // of the masks of a 64 px model
enum { FRAMES = 12, ROOM = 1 << 14 };

// The area of the 8-connected component of zeros at i; its places are marked with `mark`.
static int spread(uint8_t *map, int i, uint8_t mark)
{
    int area = 1;

    map[i] = mark;
    for (int y = i / SIDE - 1; y <= i / SIDE + 1; y++)
        for (int x = i % SIDE - 1; x <= i % SIDE + 1; x++)
            if (y >= 0 && y < SIDE && x >= 0 && x < SIDE && !map[y * SIDE + x])
                area += spread(map, y * SIDE + x, mark);
    return area;
}

// What a map of one object should look like without holes. Returns how many places were filled.
static int fill(uint8_t *map, int max_area)
{
    enum { LARGE = 254, SMALL = 255 };
    int filled = 0;

    for (int i = 0; i < PLACES; i++)
        if (!map[i]) {
            const int area = spread(map, i, SMALL);
            for (int k = 0; k < PLACES; k++)
                if (map[k] == SMALL)
                    map[k] = area <= max_area ? 1 : LARGE;
            filled += area <= max_area ? area : 0;
        }
    for (int i = 0; i < PLACES; i++)
        if (map[i] == LARGE)
            map[i] = 0;
    return filled;
}

// The same without islands, which the map's negative has as holes.
static int remove_islands(uint8_t *map, int max_area)
{
    int total = 0;

    for (int i = 0; i < PLACES; i++) {
        total += map[i] != 0;
        map[i] = !map[i];
    }
    const int removed = fill(map, total / 2 < max_area ? total / 2 : max_area);
    for (int i = 0; i < PLACES; i++)
        map[i] = !map[i];
    return removed;
}

static void draw_map(sam_tracker *t, uint8_t *map)
{
    const struct sam_labels labels = { map, SIDE, SIDE, SIDE, 0 };

    expect(!sam_tracker_draw(t, &labels, NULL), "no labels");
}

struct square {
    int y, x, side;
};

// A mask with holes of one place, one of them at the border, of 2 x 2 and of 3 x 3, or islands
// beside a piece of 6 x 6 with a hole.
static uint64_t give_pieces(sam_tracker *t, uint64_t id, bool islands)
{
    static const struct square piece[2][6] = {
        { { 2, 2, 1 }, { 0, 9, 1 }, { 6, 5, 2 }, { 10, 10, 3 } },
        { { 5, 5, 6 }, { 7, 7, 1 }, { 1, 1, 1 }, { 0, 9, 1 }, { 12, 2, 2 }, { 12, 12, 3 } },
    };
    uint8_t mask[PLACES];

    memset(mask, !islands, sizeof(mask));
    for (int k = 0; k < 6; k++)
        for (int y = 0; y < piece[islands][k].side; y++)
            for (int x = 0; x < piece[islands][k].side; x++)
                mask[(piece[islands][k].y + y) * SIDE + piece[islands][k].x + x] ^= 1;
    return give(t, (struct sam_prompt) { .id = id, .mask = mask, .mask_width = SIDE,
                                         .mask_height = SIDE, .mask_stride = SIDE });
}

// Holes, or islands once holes of one place are filled.
static void check_shown(const char *model, int max_area, bool islands)
{
    struct sam_params p = scene_params(model);
    static float memory[2][ROOM];
    uint8_t want[PLACES], got[PLACES];
    uint64_t id[2];
    sam_tracker *t[2];
    struct scene s;
    int changed = 0;

    p.max_objects = 1;
    for (int k = 0; k < 2; k++) {
        p.fill_holes = islands ? k : k * max_area;
        p.remove_islands = islands ? k * max_area : 0;
        t[k] = scene_open(&p);
        id[k] = give_pieces(t[k], 0, islands);
    }
    for (int i = 0; i < FRAMES; i++) {
        for (int k = 0; k < 2 && i % 5 == 4; k++)
            give_pieces(t[k], id[k], islands);
        const struct sam_result a = step(t[0], &s, i), b = step(t[1], &s, i);
        draw_map(t[0], want);
        draw_map(t[1], got);
        changed += islands ? (fill(want, 1), remove_islands(want, max_area)) : fill(want, max_area);
        expect(!memcmp(want, got, PLACES), "%s of %d, frame %d: other places are changed",
               islands ? "islands" : "holes", max_area, i);
        expect(fetch(t[1], id[1], "shown", memory[0], ROOM) == PLACES, "frame %d: no mask", i);
        for (int k = 0; k < PLACES; k++)
            expect((memory[0][k] > 0) == (got[k] != 0), "frame %d: another mask is read", i);
        expect(a.objects[0].score == b.objects[0].score, "frame %d: another score", i);
        const size_t n = fetch(t[0], id[0], "memory", memory[0], ROOM);
        expect(n == fetch(t[1], id[1], "memory", memory[1], ROOM) &&
                   !memcmp(memory[0], memory[1], n * sizeof(float)),
               "frame %d: something else is remembered", i);
    }
    expect(changed > 0, "no mask had %s of %d, nothing was tried", islands ? "islands" : "holes",
           max_area);
    sam_tracker_close(&t[0]);
    sam_tracker_close(&t[1]);
}

// However large holes may be, an absent object is not one.
static void check_absent(const char *model)
{
    struct sam_params p = scene_params(model);
    uint8_t map[PLACES];
    struct scene s;

    p.fill_holes = 1 << 30;
    sam_tracker *t = scene_open(&p);
    give_mask(t, 0, 0);
    const struct sam_result r = step(t, &s, 0);
    draw_map(t, map);
    for (int i = 0; i < PLACES; i++)
        expect(!map[i], "place %d of an absent object is shown", i);
    expect(r.objects[0].area == 0, "an absent object has an area");
    sam_tracker_close(&t);
}

// However large islands may be, an object of one piece is not one.
static void check_whole(const char *model)
{
    struct sam_params p = scene_params(model);
    uint8_t mask[PLACES] = { 0 };
    struct scene s;

    p.remove_islands = 1 << 30;
    sam_tracker *t = scene_open(&p);
    for (int i = 0; i < 4; i++)
        mask[(6 + i / 2) * SIDE + 6 + i % 2] = 1;
    give(t, (struct sam_prompt) { .mask = mask, .mask_width = SIDE, .mask_height = SIDE,
                                  .mask_stride = SIDE });
    expect(step(t, &s, 0).objects[0].area > 0, "a small object is removed");
    sam_tracker_close(&t);
}

int main(int argc, char **argv)
{
    check_shown(argv[1], 1, false);
    check_shown(argv[1], 6, false);
    check_shown(argv[1], 1, true);
    check_shown(argv[1], 6, true);
    check_absent(argv[1]);
    check_whole(argv[1]);
    return expect_status();
}
