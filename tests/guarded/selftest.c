// SPDX-License-Identifier: MIT
// The guarded device notices what it is there for: each fault below is committed in a process of
// its own, which must end with the sentence that names it; and what is right passes.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"
#include "device/device.h"
#include "guarded.h"
#include "ops/backends.h"

enum { COUNT = 100, BYTES = COUNT * sizeof(float) };

static struct sam_queue q;
static float host[COUNT];

static struct sam_tensor tensor(void *data, int count)
{
    return (struct sam_tensor) { data, SAM_F32, 1, 1, 1, count };
}

static void copy(void *dst, const void *src, int count)
{
    const struct sam_copy p = { tensor(dst, count), tensor((void *) src, count) };

    sam_op_copy(&q, &p);
}

static float *device_floats(void)
{
    float *p = sam_queue_alloc(&q, BYTES);

    for (int i = 0; i < COUNT; i++)
        host[i] = (float) i;
    sam_queue_upload(&q, p, host, BYTES);
    return p;
}

// ---- what is wrong

static void write_beyond(void)
{
    float *a = device_floats(), *b = device_floats();
    copy(a + 1, b, COUNT);
    sam_queue_finish(&q, NULL);
}

static void write_far_beyond(void)
{
    float *a = device_floats(), *b = sam_queue_alloc(&q, 4 * BYTES);
    copy(a, b, 2 * COUNT);
    sam_queue_finish(&q, NULL);
}

static void write_ahead(void)
{
    float *a = device_floats(), *b = device_floats();
    copy(a - 1, b, COUNT);
    sam_queue_finish(&q, NULL);
}

static void read_beyond(void)
{
    float *a = sam_queue_alloc(&q, 4 * BYTES), *b = device_floats();
    copy(a, b, 2 * COUNT);
    sam_queue_finish(&q, NULL);
}

static void read_far_ahead(void)
{
    float *a = device_floats(), *b = device_floats();
    copy(a, b - 1024, COUNT);
    sam_queue_finish(&q, NULL);
}

static void upload_beyond(void)
{
    float *a = device_floats();
    sam_queue_upload(&q, a + COUNT / 2, host, BYTES);
    sam_queue_finish(&q, NULL);
}

static void host_reads(void)
{
    float *a = device_floats();
    sam_queue_finish(&q, NULL);
    host[0] = a[1];
}

static void host_writes(void)
{
    float *a = device_floats();
    sam_queue_finish(&q, NULL);
    a[COUNT - 1] = 1;
}

static void use_freed(void)
{
    float *a = device_floats(), *b = device_floats();
    sam_queue_free(&q, b);
    copy(a, b, COUNT);
    sam_queue_finish(&q, NULL);
}

static void free_twice(void)
{
    float *a = device_floats();
    sam_queue_free(&q, a);
    sam_queue_free(&q, a);
}

static void free_never(void)
{
    device_floats();
    sam_queue_close(&q);
    exit(0);
}

static void *record_of(float **a, float **b)
{
    *a = device_floats(), *b = device_floats();
    sam_queue_record_begin(&q);
    copy(*a, *b, COUNT);
    return sam_queue_record_end(&q);
}

static void replay_freed(void)
{
    float *a, *b;
    void *record = record_of(&a, &b);
    sam_queue_free(&q, b);
    sam_queue_replay(&q, record);
    sam_queue_finish(&q, NULL);
}

static void record_alloc(void)
{
    sam_queue_record_begin(&q);
    sam_queue_alloc(&q, 1);
}

static void record_upload(void)
{
    float *a = device_floats();
    sam_queue_record_begin(&q);
    sam_queue_upload(&q, a, host, 4);
}

static void record_fetch(void)
{
    float *a = device_floats();
    sam_queue_record_begin(&q);
    sam_queue_fetch(&q, host, a, 4);
}

static void record_finish(void)
{
    sam_queue_record_begin(&q);
    sam_queue_finish(&q, NULL);
}

static void record_free(void)
{
    float *a = device_floats();
    sam_queue_record_begin(&q);
    sam_queue_free(&q, a);
}

static void record_replay(void)
{
    float *a, *b;
    void *record = record_of(&a, &b);
    sam_queue_record_begin(&q);
    sam_queue_replay(&q, record);
}

static struct sam_frame frame_of(uint8_t *pixels, int side)
{
    return (struct sam_frame) { .size = sizeof(struct sam_frame), .format = SAM_PIXEL_GRAY8,
                                .width = side, .height = side, .plane = { pixels },
                                .stride = { side } };
}

static void unreserved_frame(void)
{
    enum { SIDE = 300 };
    static uint8_t pixels[SIDE * SIDE];
    float *a = sam_queue_alloc(&q, 3 * 4 * 4 * sizeof(float));
    const struct sam_preprocess p = { .dst = { a, SAM_F32, 1, 4, 4, 3 },
                                      .frame = frame_of(pixels, SIDE) };
    sam_op_preprocess(&q, &p);
}

static void record_frame(void)
{
    static uint8_t pixels[8 * 8];
    float *a = sam_queue_alloc(&q, 3 * 4 * 4 * sizeof(float));
    const struct sam_preprocess p = { .dst = { a, SAM_F32, 1, 4, 4, 3 },
                                      .frame = frame_of(pixels, 8) };
    sam_queue_record_begin(&q);
    sam_op_preprocess(&q, &p);
}

static void draw_map(uint8_t *map, int32_t (*boxes)[5], const int32_t *slot, int side)
{
    float *a = device_floats();
    const struct sam_draw_masks p = {
        .logits = { a, SAM_F32, 1, 1, 10, 10 }, .slot = slot, .width = side, .height = side,
        .labels = { .data = map, .width = side, .height = side, .stride = side }, .boxes = boxes,
    };
    sam_op_draw_masks(&q, &p);
}

static void unreserved_map(void)
{
    enum { SIDE = 300 };
    static uint8_t map[SIDE * SIDE];
    draw_map(map, NULL, (const int32_t[]) { 1 }, SIDE);
}

// What was on its way is used as if it were there: the program below would pass on a backend whose
// calls wait.
static void too_early(void)
{
    float *a = device_floats(), got[2];
    sam_queue_fetch(&q, got, a + 1, sizeof(got));
    const float early = got[0] + got[1];
    sam_queue_finish(&q, NULL);
    if (early != 3)
        guarded_finding("the sum of what has not arrived is %g", (double) early);
}

static void unwritten(void)
{
    float *a = sam_queue_alloc(&q, BYTES);
    sam_queue_download(&q, host, a, BYTES);
    if (host[5] != 0)
        guarded_finding("the sum over memory that nobody wrote is %g", (double) host[5]);
}

static const struct fault {
    const char *name, *says;
    void (*commit)(void);
} faults[] = {
    { "a write beyond memory", "copy wrote 0 bytes past the end of memory of 400", write_beyond },
    { "a write far beyond", "copy touches byte 448 of memory of 400", write_far_beyond },
    { "a write ahead", "copy wrote 4 bytes ahead of memory of 400", write_ahead },
    { "a read beyond", "copy touches byte 448 of memory of 400", read_beyond },
    { "a read far ahead", "copy touches what is 4096 bytes ahead of memory", read_far_ahead },
    { "an upload beyond", "upload touches byte 448 of memory", upload_beyond },
    { "the host reads", "the host touches byte 4 of memory of 400 bytes", host_reads },
    { "the host writes", "the host touches byte 396 of memory of 400 bytes", host_writes },
    { "freed memory is read", "of freed memory of 400 bytes", use_freed },
    { "memory is freed twice", "is no memory of the device", free_twice },
    { "memory is never freed", "memory of 400 bytes was never freed", free_never },
    { "a record of freed memory", "of freed memory of 400 bytes", replay_freed },
    { "an allocation is recorded", "an allocation while operations are recorded", record_alloc },
    { "an upload is recorded", "an upload while", record_upload },
    { "a download is recorded", "a download while", record_fetch },
    { "a wait is recorded", "waiting while", record_finish },
    { "freeing is recorded", "freeing memory while", record_free },
    { "a replay is recorded", "a replay while", record_replay },
    { "a host frame is recorded", "a frame of the host's while", record_frame },
    { "a frame without room", "preprocess: 90000 bytes are on their way, 12288", unreserved_frame },
    { "a map without room", "draw_masks: 90000 bytes are on their way, 12288", unreserved_map },
    { "results before they are there", "of what has not arrived is ", too_early },
    { "memory that nobody wrote", "over memory that nobody wrote is ", unwritten },
};

// Commit one fault in a process of its own; returns its status, and what it says.
static int commit(void (*what)(void), char *said, size_t size)
{
    int ends[2], status;
    size_t count = 0;
    ssize_t some;

    if (pipe(ends))
        return -1;
    const pid_t child = fork();
    if (!child) {
        dup2(ends[1], 2);
        what();
        _exit(0);
    }
    close(ends[1]);
    while (count < size - 1 && (some = read(ends[0], said + count, size - 1 - count)) > 0)
        count += (size_t) some;
    said[count] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// ---- what is right

static void check_order(void)
{
    float *a = device_floats(), *b = device_floats(), got[COUNT] = { 1, 2, 3 };

    for (int i = 0; i < COUNT; i++)
        host[i] = 7; // free again since the upload returned
    sam_queue_fetch(&q, got, a, BYTES);
    expect(got[1] != got[1], "a download is there before the queue has finished");
    sam_queue_finish(&q, NULL);
    expect(got[0] == 0 && got[99] == 99, "%g and %g arrived", (double) got[0], (double) got[99]);
    sam_queue_upload(&q, b, host, BYTES);
    copy(a, b, COUNT);
    sam_queue_download(&q, got, a, BYTES);
    expect(got[0] == 7 && got[99] == 7, "%g and %g arrived", (double) got[0], (double) got[99]);
    sam_queue_free(&q, a);
    sam_queue_free(&q, b);
}

static void check_record(void)
{
    float *a, *b, got[2];
    void *record = record_of(&a, &b);

    host[1] = 5;
    sam_queue_upload(&q, b, host, BYTES);
    sam_queue_replay(&q, record);
    sam_queue_download(&q, got, a, sizeof(got));
    expect(got[1] == 5, "%g after a replay", (double) got[1]);
    host[1] = 6;
    sam_queue_upload(&q, b, host, BYTES);
    sam_queue_replay(&q, record);
    sam_queue_forget(&q, record); // it waits
    sam_queue_download(&q, got, a, sizeof(got));
    expect(got[1] == 6, "%g after another replay", (double) got[1]);
    sam_queue_free(&q, a);
    sam_queue_free(&q, b);
}

static void check_host_outputs(void)
{
    uint8_t map[20 * 20] = { 3 };
    int32_t boxes[1][5], slot[] = { 9 };
    struct sam_error error;

    draw_map(map, boxes, slot, 20);
    slot[0] = 1; // the caller's again
    expect(map[0] == 0xff && boxes[0][4] == -1, "drawn before the queue has finished");
    expect(!sam_queue_finish(&q, &error), "%s", error.text);
    expect(map[0] == 0 && map[399] == 9, "labels %d and %d", map[0], map[399]);
    expect(boxes[0][4] > 0 && boxes[0][2] == 20, "a box of %d px", (int) boxes[0][4]);
}

int main(void)
{
    struct sam_error error = { "" };
    char said[512];

    expect(!sam_queue_open(&q, SAM_BACKEND_CUDA, -1, SAM_PRECISION_AUTO, 0, NULL, &error), "%s",
           error.text);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        const int status = commit(faults[i].commit, said, sizeof(said));
        expect(status == GUARDED_STATUS && strstr(said, faults[i].says),
               "%s: status %d, \"%s\", expected \"...%s...\"", faults[i].name, status, said,
               faults[i].says);
    }
    check_order();
    check_record();
    check_host_outputs();
    sam_queue_close(&q);
    const int status = expect_status();
    fflush(NULL);
    _exit(status); // what was drawn from is not freed
}
