// SPDX-License-Identifier: MIT
// Saving and restoring: a restored tracker goes on to the bit, whatever its number of objects and
// threads; files that do not fit, are damaged or hostile are refused, and the tracker is as it was.
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "scene.h"
#include "track/saved/saved.h"
#include "track/tracker.h"

enum { FRAMES = 20, ROOM = 1 << 16, PATH = 128, MAX_SHOWN = 8, LABELS = 40 * 30 };

static char folder[PATH], path[PATH], second[PATH], note_text[] = "a note of the caller's";

// ---- Files as bytes.

struct bytes {
    uint8_t *data;
    size_t size;
};

static struct bytes slurp(const char *name)
{
    struct bytes b = { NULL, 0 };
    FILE *f = fopen(name, "rb");

    if (f && !fseek(f, 0, SEEK_END) && (b.size = (size_t) ftell(f)) > 0) {
        b.data = malloc(b.size);
        rewind(f);
        b.size = fread(b.data, 1, b.size, f);
    }
    if (f)
        fclose(f);
    return b;
}

static void spill(const char *name, const uint8_t *data, size_t size)
{
    FILE *f = fopen(name, "wb");

    expect(f && fwrite(data, 1, size, f) == size, "%s cannot be written", name);
    if (f)
        fclose(f);
}

static bool same_bytes(const struct bytes *a, const struct bytes *b)
{
    return a->size == b->size && a->data && b->data && !memcmp(a->data, b->data, a->size);
}

static void put_sum(uint8_t *data, size_t before)
{
    struct sam_hash h;

    sam_hash_begin(&h);
    sam_hash_add(&h, data, before);
    const uint64_t sum = sam_hash_end(&h);
    for (int i = 0; i < 8; i++)
        data[before + i] = (uint8_t) (sum >> (8 * i));
}

// Make both checksums fit what was changed.
static void forge(struct bytes *b)
{
    put_sum(b->data, SAM_SAVED_HEADER - SAM_SAVED_SUM);
    put_sum(b->data, b->size - SAM_SAVED_SUM);
}

static void save(sam_tracker *t, const char *name)
{
    struct sam_error error = { "" };

    expect(!sam_tracker_save(t, name, note_text, sizeof(note_text), &error), "save: %s",
           error.text);
}

static int read_note(void *priv, const void *note, size_t bytes)
{
    expect(bytes == sizeof(note_text) && !memcmp(note, note_text, bytes), "a note of %zu bytes",
           bytes);
    (*(int *) priv)++;
    return 0;
}

static void load(sam_tracker *t, const char *name)
{
    struct sam_error error = { "" };
    int notes = 0;

    expect(!sam_tracker_load(t, name, read_note, &notes, &error), "load: %s", error.text);
    expect(notes == 1, "%d notes", notes);
}

static struct bytes state_of(sam_tracker *t)
{
    save(t, second);
    const struct bytes b = slurp(second);
    unlink(second);
    return b;
}

// ---- To the bit.

struct shown {
    int count;
    uint64_t frame, labels;
    struct {
        struct sam_object object;
        uint64_t tensors;
    } of[MAX_SHOWN];
};

static void hash_tensor(struct sam_hash *h, sam_tracker *t, uint64_t id, const char *name)
{
    static float x[ROOM];
    const size_t count = fetch(t, id, name, x, ROOM);

    sam_hash_add(h, x, count * sizeof(x[0]));
}

static void record(struct shown *s, sam_tracker *t, int frame)
{
    static uint8_t map[LABELS];
    static struct scene scene;
    const struct sam_labels labels = { map, 40, 30, 40, 0 };
    struct sam_result r = SAM_RESULT_INIT;
    struct sam_error error = { "" };
    struct sam_hash h;

    memset(s, 0, sizeof(*s));
    expect(!sam_tracker_step(t, scene_draw(&scene, frame), &labels, &r, &error), "frame %d: %s",
           frame, error.text);
    sam_hash_begin(&h);
    sam_hash_add(&h, map, sizeof(map));
    s->labels = sam_hash_end(&h);
    s->frame = r.frame_index;
    s->count = r.num_objects;
    for (int i = 0; i < s->count && i < MAX_SHOWN; i++) {
        const uint64_t id = r.objects[i].id;
        s->of[i].object = r.objects[i];
        sam_hash_begin(&h);
        hash_tensor(&h, t, id, "low_res");
        hash_tensor(&h, t, id, "pointer");
        hash_tensor(&h, t, id, "memory");
        s->of[i].tensors = sam_hash_end(&h);
    }
}

static uint64_t drawn(sam_tracker *t)
{
    static uint8_t map[LABELS];
    const struct sam_labels labels = { map, 40, 30, 40, 0 };
    struct sam_hash h;

    expect(!sam_tracker_draw(t, &labels, NULL), "draw");
    sam_hash_begin(&h);
    sam_hash_add(&h, map, sizeof(map));
    return sam_hash_end(&h);
}

// Objects that are refined, occluded, lost, found, removed, undone and new; more prompted frames
// than are kept; prompts of every kind that wait.
static void prompts_before(sam_tracker *t, int f)
{
    switch (f) {
    case 0:
        give_point(t, 0, 0.3f, 0.3f, 1);             // 1
        give_box(t, 0, 0.2f, 0.2f, 0.6f, 0.7f);      // 2
        break;
    case 2:
        give_mask(t, 0, 1);                          // 3
        break;
    case 4: case 5: case 6: case 7:
        give_mask(t, 3, 0); // occluded, then lost
        break;
    case 8:
        give_point(t, 1, 0.5f, 0.6f, 0);
        give_box(t, 1, 0.1f, 0.1f, 0.5f, 0.5f);
        give_point(t, 1, 0.2f, 0.2f, 1);
        break;
    case 9:
        expect(!sam_tracker_undo(t, 1, NULL), "undo");
        expect(!sam_tracker_remove(t, 2, NULL), "remove");
        break;
    case 11:
        give_mask(t, 3, 1); // found
        give_box(t, 0, 0.5f, 0.5f, 0.9f, 0.9f);      // 4
        give_point(t, 4, 0.6f, 0.6f, 1);
        break;
    case 13: case 14: case 15:
        give_point(t, 4, 0.7f, 0.6f, 1); // the last of the kept ones drives another out
        give_point(t, 1, 0.4f, 0.4f, 1);
        break;
    case 17:
        give_mask(t, 0, 1);                          // 5
        break;
    }
}

static struct sam_params params_of(const char *model, const char *backend, int objects, int threads)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.precision = scene_precision(backend);
    p.max_objects = objects;
    p.threads = threads;
    p.lost_after = 3;
    p.max_cond_frames = 3;
    p.fill_holes = 4;
    return p;
}

static void go_on(sam_tracker *t, int from, const struct shown *wanted)
{
    struct shown s;

    for (int f = from; f < FRAMES; f++) {
        if (f > from)
            prompts_before(t, f);
        record(&s, t, f);
        expect(!memcmp(&s, &wanted[f], sizeof(s)), "saved before frame %d, frame %d: %d objects, "
               "wanted %d; labels %d", from, f, s.count, wanted[f].count,
               s.labels == wanted[f].labels);
    }
}

static void check_going_on(const char *model, const char *backend, int every)
{
    static struct shown wanted[FRAMES];
    struct sam_params p = params_of(model, backend, 5, 1);
    char name[FRAMES][PATH + 16];
    uint64_t maps[FRAMES];
    bool seen[SAM_OBJECT_FOUND + 1] = { false };

    sam_tracker *t = scene_open(&p);
    for (int f = 0; f < FRAMES; f++) {
        snprintf(name[f], sizeof(name[f]), "%s/%d", folder, f);
        prompts_before(t, f);
        save(t, name[f]);
        maps[f] = drawn(t);
        record(&wanted[f], t, f);
        for (int i = 0; i < wanted[f].count; i++)
            seen[wanted[f].of[i].object.state] = true;
    }
    for (int i = 0; i <= SAM_OBJECT_FOUND; i++)
        expect(seen[i], "no object had the state %d", i);
    struct bytes end = state_of(t);
    sam_tracker_close(&t);
    for (int f = 0; f < FRAMES; f++) {
        p = params_of(model, backend, f % 2 ? 5 : 9, 1 + f % 3);
        p.poison = f % 4 == 1;
        if (f % every == 0 || f == 9 || f == 16) {
            t = scene_open(&p);
            if (f % 3) // over what is there
                give_point(t, 0, 0.5f, 0.5f, 1), record(&(struct shown) { 0 }, t, 3);
            load(t, name[f]);
            struct bytes before = slurp(name[f]), again = state_of(t);
            expect(same_bytes(&before, &again), "frame %d: saved again it is another file", f);
            expect(drawn(t) == maps[f], "frame %d: the masks last shown are others", f);
            go_on(t, f, wanted);
            struct bytes last = state_of(t);
            expect(same_bytes(&last, &end), "frame %d: another end", f);
            free(before.data), free(again.data), free(last.data);
            sam_tracker_close(&t);
        }
        unlink(name[f]);
    }
    free(end.data);
}

// Right after loading, the last frame is not there to be decoded again.
static void check_undo(const char *model, const char *backend)
{
    struct sam_params p = params_of(model, backend, 2, 1);
    static struct shown a;
    float x[4];
    int shape[4];

    sam_tracker *t = scene_open(&p);
    const uint64_t one = give_point(t, 0, 0.3f, 0.3f, 1), two = give_box(t, 0, 0, 0, 0.5f, 0.5f);
    record(&a, t, 0), record(&a, t, 1);
    give_point(t, one, 0.4f, 0.3f, 1), give_point(t, one, 0.2f, 0.3f, 1);
    record(&a, t, 2);
    save(t, path);
    load(t, path);
    expect(sam_tracker_read(t, one, "score", x, 4, shape, NULL) == SAM_ENOTFOUND, "a tensor");
    expect(!sam_tracker_undo(t, one, NULL), "undo the refinements of frame 2");
    expect(!sam_tracker_undo(t, two, NULL), "undo the only prompt");
    expect(sam_tracker_undo(t, two, NULL) == SAM_ENOTFOUND, "the object is gone");
    record(&a, t, 3);
    expect(a.count == 1 && a.of[0].object.id == one && a.frame == 3, "%d objects", a.count);
    expect(give_point(t, 0, 0.9f, 0.9f, 1) == two + 1, "ids go on");
    expect(!sam_tracker_undo(t, one, NULL) && sam_tracker_undo(t, one, NULL) == SAM_ENOTFOUND,
           "undo the first prompt");
    sam_tracker_close(&t);
}

// ---- Refusals.

static void expect_refused(sam_tracker *t, const char *name, int status, const char *part)
{
    struct sam_error error = { "" };
    struct bytes before = state_of(t);
    const int got = sam_tracker_load(t, name, NULL, NULL, &error);

    expect(got == status && strstr(error.text, part), "status %d, wanted %d with '%s': %s", got,
           status, part, error.text);
    expect(strlen(error.text) < sizeof(error.text) - 1, "too long: %s", error.text);
    struct bytes after = state_of(t);
    expect(same_bytes(&before, &after), "%s: the tracker is another one", error.text);
    free(before.data), free(after.data);
}

static void expect_bytes_refused(sam_tracker *t, const struct bytes *b, size_t size, int status,
                                 const char *part)
{
    spill(path, b->data, size);
    expect_refused(t, path, status, part);
}

static int refuse_note(void *priv, const void *note, size_t bytes)
{
    (void) priv, (void) note, (void) bytes;
    return 1;
}

static void check_other_trackers(const char *model, const char *backend, const char *other)
{
    struct sam_params p = params_of(model, backend, 4, 1);
    sam_tracker *t = scene_open(&p), *u;
    static struct shown s;

    for (int f = 0; f < 3; f++) {
        give_point(t, f ? 1 : 0, 0.3f, 0.3f, 1);
        give_point(t, 0, 0.5f, 0.3f, 1);
        record(&s, t, f);
    }
    sam_tracker_remove(t, 2, NULL);
    save(t, path);
    p.max_objects = 3; // three objects, but the last one's slot is 4
    u = scene_open(&p), expect_refused(u, path, SAM_EFULL, "max_objects is 3");
    sam_tracker_close(&u);
    p.max_objects = 4, p.max_cond_frames = 2;
    u = scene_open(&p);
    load(u, path); // 3 frames, the last one still current
    record(&s, u, 3), record(&s, t, 3);
    save(t, path);
    expect_refused(u, path, SAM_EFULL, "max_cond_frames is 2");
    sam_tracker_close(&u);
    struct sam_info info = SAM_INFO_INIT;
    expect(!sam_tracker_info(t, &info, NULL), "info");
    p = params_of(other, backend, 4, 1), p.input_size = info.image_size;
    u = scene_open(&p), expect_refused(u, path, SAM_EFORMAT, "another model");
    sam_tracker_close(&u);
    p = params_of(model, backend, 4, 1), p.input_size = 192 - info.image_size; // 128 or 64
    u = scene_open(&p), expect_refused(u, path, SAM_EFORMAT, "saved with an input of");
    sam_tracker_close(&u);
    struct sam_error error = { "" };
    expect(sam_tracker_load(t, path, refuse_note, NULL, &error) == SAM_EFORMAT &&
           strstr(error.text, "note"), "refused note: %s", error.text);
    t->broken = SAM_EDEVICE; // as after a failure
    expect(sam_tracker_load(t, path, NULL, NULL, &error) == SAM_EDEVICE, "broken: load");
    expect(sam_tracker_save(t, path, NULL, 0, &error) == SAM_EDEVICE, "broken: save");
    t->broken = SAM_OK;
    sam_tracker_close(&t);
}

static void check_arguments(sam_tracker *t)
{
    char deep[PATH + 32];

    expect(sam_tracker_save(NULL, path, NULL, 0, NULL) == SAM_EINVAL, "no tracker");
    expect(sam_tracker_load(NULL, path, NULL, NULL, NULL) == SAM_EINVAL, "no tracker");
    expect(sam_tracker_save(t, NULL, NULL, 0, NULL) == SAM_EINVAL, "no path");
    expect(sam_tracker_save(t, "", NULL, 0, NULL) == SAM_EINVAL, "an empty path");
    expect(sam_tracker_save(t, path, NULL, 1, NULL) == SAM_EINVAL, "a note that is NULL");
    expect(sam_tracker_save(t, path, path, SAM_MAX_NOTE + 1, NULL) == SAM_EINVAL, "a long note");
    expect_refused(t, "", SAM_EINVAL, "empty");
    snprintf(deep, sizeof(deep), "%s/none/file", folder);
    expect(sam_tracker_save(t, deep, NULL, 0, NULL) == SAM_EIO, "a folder that is not there");
    expect_refused(t, deep, SAM_EIO, "cannot open");
    expect(sam_tracker_save(t, folder, NULL, 0, NULL) == SAM_EIO, "a folder");
    expect_refused(t, folder, SAM_EIO, "folder");
    expect_refused(t, "/dev/zero", SAM_EIO, "regular");
}

// A full disk: the file that was there stays, and no other one is left.
static void check_full_disk(sam_tracker *t)
{
    const struct rlimit little = { 100, 100000000 };
    struct rlimit kept;
    struct sam_error error = { "" };
    struct stat st;
    char part[PATH + 64];

    save(t, path);
    struct bytes before = slurp(path);
    getrlimit(RLIMIT_FSIZE, &kept);
    signal(SIGXFSZ, SIG_IGN);
    expect(!setrlimit(RLIMIT_FSIZE, &(struct rlimit) { little.rlim_cur, kept.rlim_max }), "limit");
    expect(sam_tracker_save(t, path, NULL, 0, &error) == SAM_EIO && strstr(error.text, "written"),
           "%s", error.text);
    setrlimit(RLIMIT_FSIZE, &kept);
    struct bytes after = slurp(path);
    expect(same_bytes(&before, &after), "the old file has changed");
    snprintf(part, sizeof(part), "%s.%ld-0.part", path, (long) getpid());
    expect(stat(part, &st), "%s is left", part);
    expect(sam_tracker_save(t, "/dev/full", NULL, 0, &error) == SAM_EIO, "%s", error.text);
    expect(!stat("/dev/full", &st) && S_ISCHR(st.st_mode), "/dev/full was replaced");
    free(before.data), free(after.data);
}

static void put32(uint8_t *p, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t) (x >> (8 * i));
}

// Fields of the header, with checksums that fit.
static void check_header(sam_tracker *t, const struct bytes *good)
{
    static const struct { int at; uint32_t value; int status; const char *part; } bad[] = {
        { 12, 1 << 20, SAM_EFORMAT, "out of range" }, { 12, 8000, SAM_EFORMAT, "" },
        { 16, 1000, SAM_EFORMAT, "expected 1000 bytes" }, { 24, 5, SAM_EFORMAT, "another model" },
        { 32, 96, SAM_EFORMAT, "96 px" }, { 36, 8, SAM_EFORMAT, "8 maps" },
        { 40, 15, SAM_EFORMAT, "15 pointers" }, { 44, 1 << 30, SAM_EFORMAT, "rows in a map" },
        { 48, 1, SAM_EFORMAT, "numbers in a row" }, { 52, 0, SAM_EFORMAT, "numbers in a pointer" },
        { 56, 32, SAM_EFORMAT, "bits" }, { 60, 16, SAM_EFORMAT, "bits" },
        { 68, 0x7fffffff, SAM_EFORMAT, "out of range" }, { 68, 0x80000000, SAM_EFORMAT, "range" },
        { 64, 0, SAM_EFORMAT, "" }, { 76, 0x7fffffff, SAM_EFORMAT, "out of range" },
        { 72, 1, SAM_EFORMAT, "" }, { 80, 20000, SAM_EFORMAT, "20000" },
        { 84, UINT32_MAX, SAM_EFORMAT, "range" }, { 88, 200, SAM_EFULL, "max_objects" },
        { 88, UINT32_MAX, SAM_EFULL, "max_objects" }, { 88, 0, SAM_EFORMAT, "after the last" },
        { 92, 200, SAM_EFULL, "max_objects" }, { 92, 1, SAM_EFORMAT, "" },
        { 96, 60, SAM_EFULL, "max_cond_frames" }, { 100, 1000, SAM_EFULL, "masks" },
        { 100, 0, SAM_EFORMAT, "" },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct bytes b = { malloc(good->size), good->size };
        memcpy(b.data, good->data, b.size);
        put32(b.data + bad[i].at, bad[i].value);
        forge(&b);
        expect_bytes_refused(t, &b, b.size, bad[i].status, bad[i].part);
        free(b.data);
    }
}

static void check_damage(sam_tracker *t, const struct bytes *good, uint64_t seed)
{
    struct bytes b = { malloc(good->size + 1), good->size };
    uint64_t rng = seed;

    memcpy(b.data, good->data, good->size);
    for (int i = 0; i < 600; i++) {
        const size_t at = draw(&rng) % (i % 3 ? good->size : SAM_SAVED_HEADER);
        b.data[at] ^= (uint8_t) draw_int(&rng, 1, 255);
        expect_bytes_refused(t, &b, b.size, SAM_EFORMAT, "");
        b.data[at] = good->data[at];
    }
    for (int i = 0; i < 100; i++)
        expect_bytes_refused(t, &b, draw(&rng) % good->size, SAM_EFORMAT, "");
    b.data[b.size] = 0;
    expect_bytes_refused(t, &b, b.size + 1, SAM_EFORMAT, "expected");
    b.data[0] = 'x';
    expect_bytes_refused(t, &b, b.size, SAM_EFORMAT, "not a saved tracker");
    b.data[0] = good->data[0], b.data[8] = 2;
    expect_bytes_refused(t, &b, b.size, SAM_EFORMAT, "version 2, expected 1");
    free(b.data);
}

// Damage with checksums that fit: refused, or a state that a tracker can go on from.
static void check_hostile(sam_tracker *t, const struct bytes *good, uint64_t seed)
{
    struct bytes b = { malloc(good->size), good->size };
    uint64_t rng = seed;
    static struct scene s;
    int taken = 0, refused = 0;

    for (int i = 0; i < 300; i++) {
        struct sam_error error = { "" };
        memcpy(b.data, good->data, good->size);
        const int changes = draw_int(&rng, 1, 3);
        for (int k = 0; k < changes; k++)
            b.data[12 + draw(&rng) % (i % 2 ? 400 : good->size - 12)] = (uint8_t) draw(&rng);
        forge(&b);
        spill(path, b.data, b.size);
        const int status = sam_tracker_load(t, path, NULL, NULL, &error);
        expect(!status || (error.text[0] && !strchr(error.text, '\n')), "%s", error.text);
        taken += !status;
        refused += status != 0;
        struct sam_result r = SAM_RESULT_INIT;
        expect(status || !sam_tracker_step(t, scene_draw(&s, 3), NULL, &r, &error), "file %d: %s",
               i, error.text);
    }
    printf("%d hostile files taken, %d refused\n", taken, refused);
    expect(taken && refused, "%d taken, %d refused", taken, refused);
    free(b.data);
}

// Numbers that are finite, with checksums that fit: refused at load where a step could overflow,
// and no step fails of those that are taken. Each is put into the tensors of the last object, which
// was prompted on frames 0, 1 and 3.
static void check_large(sam_tracker *t, const struct bytes *good, uint64_t seed)
{
    static const struct { uint8_t upper[2]; bool taken; } values[] = {
        { { 0x7f, 0x7f }, false }, { { 0x7f, 0xff }, false }, // 3.4e38 and its negative
        { { 0x80, 0x49 }, false }, { { 0x80, 0xc9 }, false }, // 2^20
        { { 0x7f, 0x49 }, true }, { { 0x7f, 0xc9 }, true },   // the next below
    };
    const struct sam_tensor map = sam_slice(t->mem.state.maps, 0);
    const struct sam_tensor pointer = sam_slice(t->mem.state.pointers, 0);
    const struct sam_tensor logits = sam_slice(t->mem.state.low_res, 0);
    const size_t tensors = 3 * sam_tensor_bytes(&map) + 4 * sam_tensor_bytes(&pointer) +
                           sam_tensor_bytes(&logits);
    struct bytes b = { malloc(good->size), good->size };
    static struct scene s;
    uint64_t rng = seed;

    for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
        for (int from = 0; from < 4; from++) {
            struct sam_error error = { "" };
            struct sam_result r = SAM_RESULT_INIT;
            memcpy(b.data, good->data, good->size);
            for (size_t at = 4; at <= tensors; at += 4)
                if (!from || draw_int(&rng, 0, 1))
                    memcpy(b.data + b.size - SAM_SAVED_SUM - at + 2, values[v].upper, 2);
            forge(&b);
            spill(path, b.data, b.size);
            const int status = sam_tracker_load(t, path, NULL, NULL, &error);
            expect(values[v].taken ? !status : status == SAM_EFORMAT &&
                   strstr(error.text, "beyond what is tracked"), "value %zu: %s", v, error.text);
            for (int f = 3; f < 6 && !status; f++)
                expect(!sam_tracker_step(t, scene_draw(&s, f), NULL, &r, &error),
                       "value %zu, frame %d: %s", v, f, error.text);
        }
    free(b.data);
}

static void check_files(const char *model, const char *backend, uint64_t seed)
{
    struct sam_params p = params_of(model, backend, 4, 1);
    sam_tracker *t = scene_open(&p);
    static struct shown s;

    give_point(t, 0, 0.5f, 0.5f, 1);
    give_mask(t, 0, 1);
    save(t, path);
    struct bytes small = slurp(path);
    check_arguments(t);
    printf("a small file has %zu bytes\n", small.size);
    for (size_t size = 0; size < small.size; size++)
        expect_bytes_refused(t, &small, size, SAM_EFORMAT, "");
    free(small.data);
    for (int f = 0; f < 4; f++) {
        give_point(t, 1 + f % 2, 0.3f, 0.3f, 1);
        record(&s, t, f);
    }
    give_mask(t, 1, 1);
    save(t, path);
    struct bytes good = slurp(path);
    printf("a file of two objects has %zu bytes\n", good.size);
    check_header(t, &good);
    check_damage(t, &good, seed);
    check_full_disk(t);
    check_hostile(t, &good, seed + 1);
    check_large(t, &good, seed + 2);
    free(good.data);
    sam_tracker_close(&t);
}

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 20261122;

    if (argc < 4)
        return 2;
    printf("seed %llu\n", (unsigned long long) seed);
    strcpy(folder, "/dev/shm/samtrack-save-XXXXXX"); // memory, where there is such a place
    if (!mkdtemp(folder)) {
        strcpy(folder, "/tmp/samtrack-save-XXXXXX");
        if (!mkdtemp(folder))
            return 2;
    }
    snprintf(path, sizeof(path), "%.100s/file", folder);
    snprintf(second, sizeof(second), "%.100s/second", folder);
    check_going_on(argv[1], argv[2], strcmp(argv[2], "cpu") ? 10 : 1);
    check_undo(argv[1], argv[2]);
    check_other_trackers(argv[1], argv[2], argv[3]);
    if (!strcmp(argv[2], "cpu"))
        check_files(argv[1], argv[2], seed);
    unlink(path);
    expect(!rmdir(folder), "%s is not empty", folder);
    return expect_status();
}
