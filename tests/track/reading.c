// SPDX-License-Identifier: MIT
// usage: reading MODEL OTHER-MODEL
// A tracker is opened from one reading of its file and of the JSON beside it: what happens to the
// file's name, length or bytes meanwhile cannot mix two models, and never raises a signal.
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

enum { NUMBERS = 32 * 32, MAX_FILE = 2 << 20 };

// ---- Moments of an open, at which something is done to the file.

enum moment {
    NEVER,
    PLANNED, // memory is planned: its last block is asked for
    LOADING, // the weights are about to be loaded: room for them is asked for
    READING, // a read of bytes, the `nth`
};

static struct {
    enum moment moment;
    int nth; // reads to come before that one
    void (*act)(void);
    bool acted, planned;
    int opened_file, opened_json;
} on;

static char folder[] = "/tmp/samtrack-reading-XXXXXX";
static char file_path[64], json_path[64], other_path[64], other_json[64];

static void reach(enum moment moment)
{
    if (on.moment != moment || on.acted || (moment == READING && on.nth-- > 0))
        return;
    on.acted = true;
    on.act();
}

int __real_open(const char *path, int flags, ...);
int __real_open64(const char *path, int flags, ...);
ssize_t __real_pread(int fd, void *dst, size_t bytes, off_t at);
ssize_t __real_pread64(int fd, void *dst, size_t bytes, off_t at);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **p, size_t alignment, size_t bytes);
int __wrap_open(const char *path, int flags, int mode);
int __wrap_open64(const char *path, int flags, int mode);
ssize_t __wrap_pread(int fd, void *dst, size_t bytes, off_t at);
ssize_t __wrap_pread64(int fd, void *dst, size_t bytes, off_t at);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **p, size_t alignment, size_t bytes);

static void count_open(const char *path)
{
    on.opened_file += !strcmp(path, file_path);
    on.opened_json += !strcmp(path, json_path);
}

int __wrap_open(const char *path, int flags, int mode)
{
    count_open(path);
    return __real_open(path, flags, mode);
}

int __wrap_open64(const char *path, int flags, int mode)
{
    count_open(path);
    return __real_open64(path, flags, mode);
}

ssize_t __wrap_pread(int fd, void *dst, size_t bytes, off_t at)
{
    reach(READING);
    return __real_pread(fd, dst, bytes, at);
}

ssize_t __wrap_pread64(int fd, void *dst, size_t bytes, off_t at)
{
    reach(READING);
    return __real_pread64(fd, dst, bytes, at);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    on.planned = on.opened_file > 0;
    if (on.planned)
        reach(PLANNED);
    return __real_aligned_alloc(alignment, bytes);
}

int __wrap_posix_memalign(void **p, size_t alignment, size_t bytes)
{
    if (on.planned)
        reach(LOADING);
    return __real_posix_memalign(p, alignment, bytes);
}

// ---- Files: a model without metadata, whose JSON lies beside it.

struct bytes {
    char data[MAX_FILE];
    size_t size;
};

static void must(bool done, const char *what)
{
    if (done)
        return;
    perror(what);
    exit(1);
}

static void read_whole(struct bytes *b, const char *path)
{
    FILE *f = fopen(path, "rb");
    must(f != NULL, path);
    b->size = fread(b->data, 1, sizeof(b->data), f);
    must(b->size > 8 && b->size < sizeof(b->data) && !fclose(f), path);
}

// With a time of long ago, so that a file written to later has another one.
static void write_whole(const char *path, const void *data, size_t size)
{
    const struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
    FILE *f = fopen(path, "wb");
    must(f && fwrite(data, 1, size, f) == size && !fflush(f), path);
    must(!futimens(fileno(f), times) && !fclose(f), path);
}

// The model without its metadata, which is returned.
static char *strip(struct bytes *b)
{
    uint64_t header;
    memcpy(&header, b->data, 8);
    json_t *root = json_loadb(b->data + 8, header, 0, NULL);
    const json_t *meta = json_object_get(root, "__metadata__");
    char *said = strdup(json_string_value(json_object_get(meta, "samtrack")));
    json_object_del(root, "__metadata__");
    char *text = json_dumps(root, JSON_COMPACT);
    must(text && strlen(text) <= header, "the header");
    memset(b->data + 8, ' ', header);
    memcpy(b->data + 8, text, strlen(text));
    free(text);
    json_decref(root);
    return said;
}

// The JSON with one thing changed: the input's size, or a stage's windows.
static char *vary(const char *json, int image_size, int window)
{
    json_t *root = json_loads(json, 0, NULL);
    json_t *windows = json_object_get(json_object_get(root, "trunk"), "window_spec");
    if (image_size)
        json_object_set_new(root, "image_size", json_integer(image_size));
    if (window)
        json_array_set_new(windows, 0, json_integer(window));
    char *text = json_dumps(root, 0);
    json_decref(root);
    return text;
}

static struct bytes model, other;
static char *model_json, *other_model_json;

static void restore(void)
{
    write_whole(file_path, model.data, model.size);
    write_whole(json_path, model_json, strlen(model_json));
}

// ---- What a tracker makes of two frames.

struct made {
    int status, count;
    float low_res[NUMBERS];
    struct sam_error error;
};

static void track(sam_tracker *t, struct made *m)
{
    struct scene s;
    const uint64_t id = give_box(t, 0, 0.2f, 0.2f, 0.6f, 0.7f);
    step(t, &s, 0);
    step(t, &s, 1);
    m->count = (int) fetch(t, id, "low_res", m->low_res, NUMBERS);
    expect(m->count > 0, "no mask");
}

static sam_tracker *open_file(const char *path, struct made *m)
{
    struct sam_params p = scene_params(path);
    sam_tracker *t = NULL;
    p.max_objects = 1;
    memset(m, 0, sizeof(*m));
    m->status = sam_tracker_open(&t, &p, &m->error);
    expect(!m->status == (t != NULL), "status %d", m->status);
    return t;
}

static void track_file(const char *path, struct made *m)
{
    sam_tracker *t = open_file(path, m);
    if (t)
        track(t, m);
    sam_tracker_close(&t);
}

static bool same(const struct made *a, const struct made *b)
{
    return !a->status && !b->status && a->count == b->count &&
           !memcmp(a->low_res, b->low_res, (size_t) a->count * sizeof(float));
}

// Open and track while `act` happens at a moment.
static void disturb(enum moment moment, int nth, void (*act)(void), struct made *m)
{
    restore();
    memset(&on, 0, sizeof(on));
    on.moment = moment, on.nth = nth, on.act = act;
    track_file(file_path, m);
    on.moment = NEVER;
}

// ---- The tests.

// Two names of one file, with different JSON beside them, in use at the same time.
static void check_two_names(const char *what, const char *json, const struct made *first)
{
    struct made alone, together, again;
    restore();
    must(!unlink(other_path) && !link(file_path, other_path), other_path);
    write_whole(other_json, json, strlen(json));
    track_file(other_path, &alone);
    expect(!alone.status && !same(&alone, first), "%s: %s", what, alone.error.text);

    sam_tracker *t = open_file(file_path, &again), *u = open_file(other_path, &together);
    expect(!again.status && !together.status, "%s: %s", what, together.error.text);
    if (t && u) {
        track(u, &together);
        track(t, &again);
    }
    expect(same(&again, first), "%s: the first name has another network", what);
    expect(same(&together, &alone), "%s: the second name has another network", what);
    sam_tracker_close(&t);
    sam_tracker_close(&u);
}

static bool mentions(const char *name, const char *text)
{
    FILE *f = fopen(name, "r");
    char line[4096];
    bool found = false;
    while (f && fgets(line, sizeof(line), f))
        found |= strstr(line, text) != NULL;
    expect(f != NULL, "%s", name);
    if (f)
        fclose(f);
    return found;
}

static bool is_open(const char *path)
{
    DIR *fds = opendir("/proc/self/fd");
    bool found = false;
    for (struct dirent *e; fds && (e = readdir(fds));) {
        char name[300], target[4096];
        snprintf(name, sizeof(name), "/proc/self/fd/%s", e->d_name);
        const ssize_t n = readlink(name, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        found |= !strcmp(target, path);
    }
    expect(fds != NULL, "/proc/self/fd");
    if (fds)
        closedir(fds);
    return found;
}

static int mapped;

static void look_at_maps(void)
{
    mapped = mentions("/proc/self/maps", folder) ? 1 : -1;
}

static void check_once(void)
{
    struct made m;
    disturb(LOADING, 0, look_at_maps, &m);
    expect(!m.status && on.acted, "%s", m.error.text);
    expect(on.opened_file == 1 && on.opened_json == 1, "the file was opened %d times, its JSON %d",
           on.opened_file, on.opened_json);
    expect(mapped == -1, "the file is mapped while it is loaded");
    sam_tracker *t = open_file(file_path, &m);
    expect(!mentions("/proc/self/maps", folder), "the file is mapped after open");
    expect(!is_open(file_path) && !is_open(json_path), "the file is open after open");
    sam_tracker_close(&t);
}

// Another model takes the file's place, and its JSON the JSON's.
static void swap(void)
{
    char path[80];
    snprintf(path, sizeof(path), "%s.new", file_path);
    write_whole(path, other.data, other.size);
    must(!rename(path, file_path), path);
    write_whole(path, other_model_json, strlen(other_model_json));
    must(!rename(path, json_path), path);
}

static void check_rename(const struct made *first)
{
    struct made m;
    const enum moment moments[] = { PLANNED, LOADING };
    for (int i = 0; i < 2; i++) {
        disturb(moments[i], 0, swap, &m);
        expect(on.acted && same(&m, first), "renamed at moment %d: status %d, %s", moments[i],
               m.status, m.error.text);
    }
}

static off_t left; // bytes

static void shorten(void)
{
    must(!truncate(file_path, left), file_path);
}

static void expect_short(const struct made *m, const char *words)
{
    char sizes[80];
    snprintf(sizes, sizeof(sizes), "expected a file of %zu bytes, found %lld", model.size,
             (long long) left);
    expect(m->status == SAM_EFORMAT, "status %d: %s", m->status, m->error.text);
    expect(strstr(m->error.text, "model.safetensors: ") && strstr(m->error.text, sizes) &&
           strstr(m->error.text, words), "%s", m->error.text);
}

// The file becomes shorter before any of its reads, a little and much.
static void check_shortened(void)
{
    struct made m;
    uint64_t header;
    int reads = 0;
    memcpy(&header, model.data, 8);
    left = (off_t) model.size / 2;
    disturb(LOADING, 0, shorten, &m);
    printf("%s\n", m.error.text);
    expect_short(&m, ": tensor '");
    for (int nth = 0;; nth += nth < 4 ? 1 : 29) {
        left = nth % 2 ? (off_t) model.size - 1 : 0;
        disturb(READING, nth, shorten, &m);
        if (!on.acted)
            break;
        reads++;
        // Where the last byte was read before, the end of the load finds the change.
        if (m.status == SAM_EIO)
            expect(strstr(m.error.text, "model.safetensors: it was written to while it was read"),
                   "%s", m.error.text);
        else
            expect_short(&m, nth < 3 && !left ? "its " : ": tensor '");
    }
    printf("shortened before %d of its reads\n", reads);
    expect(!m.status && reads > 10, "%d reads, %s", reads, m.error.text);
}

// The same length, other bytes: cp over a file of the same kind.
static void overwrite(void)
{
    const int fd = open(file_path, O_WRONLY);
    must(fd >= 0 && pwrite(fd, "\1\1", 2, (off_t) model.size - 2) == 2 && !close(fd), file_path);
}

static void check_overwritten(const struct made *first)
{
    struct made m;
    disturb(LOADING, 0, overwrite, &m);
    printf("%s\n", m.error.text);
    expect(on.acted && m.status == SAM_EIO &&
           strstr(m.error.text, "model.safetensors: it was written to while it was read"),
           "status %d: %s", m.status, m.error.text);
    disturb(NEVER, 0, NULL, &m);
    expect(same(&m, first), "after a failure: %s", m.error.text);
}

// JSON beside the file that is there and cannot be used is not taken for absent.
static void check_json(void)
{
    struct made m;
    static char big[(1 << 20) + 2];
    restore();
    must(!unlink(json_path) && !mkdir(json_path, 0700), json_path);
    track_file(file_path, &m);
    printf("%s\n", m.error.text);
    expect(m.status == SAM_EIO && strstr(m.error.text, "model.json: expected a JSON file, found a "
           "folder"), "status %d: %s", m.status, m.error.text);
    must(!rmdir(json_path), json_path);
    memset(big, ' ', sizeof(big));
    write_whole(json_path, big, sizeof(big));
    track_file(file_path, &m);
    printf("%s\n", m.error.text);
    expect(m.status == SAM_EFORMAT && strstr(m.error.text, "model.json: expected a JSON file of at "
           "most 1048576 bytes, found 1048578"), "status %d: %s", m.status, m.error.text);
}

static void name(char *path, const char *file)
{
    snprintf(path, sizeof(file_path), "%s/%s", folder, file);
}

int main(int argc, char **argv)
{
    struct made first;
    must(argc == 3 && mkdtemp(folder), folder);
    name(file_path, "model.safetensors");
    name(json_path, "model.json");
    name(other_path, "twin.safetensors");
    name(other_json, "twin.json");
    read_whole(&model, argv[1]);
    read_whole(&other, argv[2]);
    model_json = strip(&model);
    other_model_json = strip(&other);
    restore();
    write_whole(other_path, "", 0);
    track_file(file_path, &first);
    expect(!first.status, "%s", first.error.text);

    char *windows = vary(model_json, 0, 8), *size = vary(model_json, 96, 0);
    check_two_names("other windows", windows, &first);
    check_two_names("another input size", size, &first);
    check_once();
    check_rename(&first);
    check_shortened();
    check_overwritten(&first);
    check_json();
    free(windows);
    free(size);
    free(model_json);
    free(other_model_json);
    unlink(file_path), unlink(json_path), unlink(other_path), unlink(other_json);
    expect(!rmdir(folder), "%s is left", folder);
    return expect_status();
}
