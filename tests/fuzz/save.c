// SPDX-License-Identifier: MIT
// Any bytes as the saved state of a tracker. The first byte says what is done to the others: bit 0:
// checksums, size and model are made to fit, so that more is read; bit 1: the tracker has objects
// before.
#include <math.h>

#include "base/hash.h"
#include "folder.h"
#include "track/saved/saved.h"
#include "track/tracker.h"

enum { WIDTH = 32, HEIGHT = 24 };

static uint8_t identity[8];

static void step(sam_tracker *t)
{
    static uint8_t grey[WIDTH * HEIGHT], map[WIDTH * HEIGHT];
    const struct sam_frame frame = { .size = sizeof(frame), .format = SAM_PIXEL_GRAY8,
                                     .width = WIDTH, .height = HEIGHT, .plane = { grey },
                                     .stride = { WIDTH } };
    const struct sam_labels labels = { map, WIDTH, HEIGHT, WIDTH, 0 };
    struct sam_result r = SAM_RESULT_INIT;
    struct sam_error error = { "" };
    const int status = sam_tracker_step(t, &frame, &labels, &r, &error);
    if (status) { // numbers of the file may be so large that the model's overflow
        fuzz_check(status == SAM_EWEIGHTS && t->broken);
        fuzz_check_sentence(error.text, sizeof(error.text));
        t->broken = SAM_OK;
    }
    for (int i = 0; i < r.num_objects; i++)
        fuzz_check(r.objects[i].id && r.objects[i].slot >= 1 && r.objects[i].slot <= 3);
}

static void prompt(sam_tracker *t)
{
    const struct sam_prompt box = { .size = sizeof(struct sam_prompt), .has_box = 1,
                                    .box = { 0.1f, 0.2f, 0.5f, 0.9f } };
    fuzz_check(!sam_tracker_prompt(t, &box, NULL, NULL));
}

static sam_tracker *open_once(void)
{
    static sam_tracker *t;
    struct sam_params p = SAM_PARAMS_INIT;
    uint8_t head[SAM_SAVED_HEADER];
    p.model_file = SAVE_MODEL;
    p.backend = SAM_BACKEND_CPU;
    p.precision = SAM_PRECISION_FP32;
    p.threads = 1;
    p.max_objects = 3;
    p.poison = 1;
    if (t)
        return t;
    fuzz_check(!sam_tracker_open(&t, &p, NULL));
    const char *path = fuzz_file("first", (const uint8_t *) "", 0);
    fuzz_check(!sam_tracker_save(t, path, NULL, 0, NULL));
    FILE *f = fopen(path, "rb");
    fuzz_check(f && fread(head, sizeof(head), 1, f) == 1 && !fclose(f));
    memcpy(identity, head + 24, sizeof(identity));
    return t;
}

static void put(uint8_t *at, uint64_t x)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t) (x >> (8 * i));
}

static void put_sum(uint8_t *data, size_t before)
{
    struct sam_hash h;
    sam_hash_begin(&h);
    sam_hash_add(&h, data, before);
    put(data + before, sam_hash_end(&h));
}

static void make_fit(uint8_t *file, size_t size)
{
    if (size < SAM_SAVED_HEADER + SAM_SAVED_SUM)
        return;
    memcpy(file, SAM_SAVED_MAGIC "\1\0\0", 12);
    put(file + 16, size);
    memcpy(file + 24, identity, sizeof(identity));
    put_sum(file, SAM_SAVED_HEADER - SAM_SAVED_SUM);
    put_sum(file, size - SAM_SAVED_SUM);
}

// What was taken can be written, and is the same when it is read again.
static void check_taken(sam_tracker *t)
{
    const char *path = fuzz_file("again", (const uint8_t *) "", 0);
    fuzz_check(!sam_tracker_save(t, path, NULL, 0, NULL));
    fuzz_check(!sam_tracker_load(t, path, NULL, NULL, NULL));
    step(t);
    step(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sam_error error = { "" };
    if (!size)
        return 0;
    sam_tracker *t = open_once();
    uint8_t *file = malloc(size);
    fuzz_check(file != NULL);
    memcpy(file, data + 1, --size);
    if (data[0] & 1)
        make_fit(file, size);
    sam_tracker_clear(t);
    if (data[0] & 2) {
        prompt(t);
        step(t);
        prompt(t);
    }
    const int status = sam_tracker_load(t, fuzz_file("file", file, size), NULL, NULL, &error);
    if (status) {
        fuzz_check(status == SAM_EFORMAT || status == SAM_EFULL);
        fuzz_check_sentence(error.text, sizeof(error.text));
        step(t);
    } else {
        check_taken(t);
    }
    free(file);
    // Frame numbers and ids of a file go on far from here.
    t->frame = -1;
    t->next_id = 1;
    return 0;
}
