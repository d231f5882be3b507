// SPDX-License-Identifier: MIT
// usage: cache MODEL OTHER-MODEL
// Who asks for a model that another thread is loading waits for it and shares it; who asks for
// another model does not wait; where a load fails, each of those who wait tries for itself.
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../expect.h"
#include "device/device.h"
#include "open.h"
#include "ops/backends.h"

enum { PATIENCE = 30 }; // seconds for what must come; a broken lock would keep it from coming

// ---- A backend whose first upload of a thread waits at a gate.

enum fate { PASS, WAIT_AND_PASS, WAIT_AND_FAIL, FAIL };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_at_gate, is_open;
static __thread enum fate fate;
static __thread int uploads;

static void upload(struct sam_queue *q, void *dst, const void *src, size_t bytes)
{
    const bool first = !uploads++;

    if (first && (fate == WAIT_AND_PASS || fate == WAIT_AND_FAIL)) {
        pthread_mutex_lock(&lock);
        is_at_gate = true;
        pthread_cond_broadcast(&changed);
        while (!is_open)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
    }
    if (first && (fate == WAIT_AND_FAIL || fate == FAIL))
        sam_queue_fail(q, SAM_EDEVICE, "made to fail");
    memcpy(dst, src, bytes);
}

static struct sam_device gated;

// ---- Threads that open a model.

struct opener {
    const char *file;
    enum fate fate;
    pthread_t thread;
    struct sam_model *model;
    int status, uploads;
    pid_t id; // of the thread; 0: not yet running
    bool is_done;
    struct sam_error error;
};

static void *open_one(void *priv)
{
    struct opener *o = priv;
    struct sam_queue q;

    fate = o->fate;
    uploads = 0;
    pthread_mutex_lock(&lock);
    o->id = (pid_t) syscall(SYS_gettid);
    pthread_mutex_unlock(&lock);
    o->status = sam_queue_open(&q, SAM_BACKEND_REF, -1, SAM_PRECISION_FP32, 1, NULL, &o->error);
    if (!o->status) {
        q.device = &gated;
        o->status = open_model(&o->model, o->file, &q, &o->error);
        sam_queue_close(&q);
    }
    pthread_mutex_lock(&lock);
    o->uploads = uploads;
    o->is_done = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void start(struct opener *o, const char *file, enum fate what)
{
    *o = (struct opener) { .file = file, .fate = what };
    if (pthread_create(&o->thread, NULL, open_one, o)) {
        perror("pthread_create");
        exit(1);
    }
}

// Wait until *flag. False: it does not come.
static bool await(const bool *flag)
{
    struct timespec end;
    int status = 0;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE;
    pthread_mutex_lock(&lock);
    while (!*flag && !status)
        status = pthread_cond_timedwait(&changed, &lock, &end);
    pthread_mutex_unlock(&lock);
    return !status;
}

// Until the thread sleeps, as the system has it: it waits for the load, or is about to.
static void await_sleep(const struct opener *o)
{
    for (bool sleeps = false; !sleeps; sched_yield()) {
        char path[64], state = 'R';
        pthread_mutex_lock(&lock);
        const pid_t id = o->id;
        sleeps = o->is_done; // for good
        pthread_mutex_unlock(&lock);
        snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int) id);
        FILE *f = id ? fopen(path, "r") : NULL;
        if (f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1)
            sleeps |= state == 'S';
        if (f)
            fclose(f);
    }
}

static void open_gate(void)
{
    pthread_mutex_lock(&lock);
    is_open = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void finish(struct opener *o, int count)
{
    for (int i = 0; i < count; i++)
        pthread_join(o[i].thread, NULL);
    is_open = is_at_gate = false;
}

// ---- The tests.

static void check_shared(const char *file, const char *other)
{
    struct opener first, waits[3], elsewhere;

    start(&first, file, WAIT_AND_PASS);
    expect(await(&is_at_gate), "the first load does not begin");
    start(&elsewhere, other, PASS);
    expect(await(&elsewhere.is_done), "another model waits for a load that is not its own");
    for (int i = 0; i < 3; i++) {
        start(&waits[i], file, PASS);
        await_sleep(&waits[i]);
    }
    open_gate();
    finish(waits, 3);
    finish(&first, 1);
    finish(&elsewhere, 1);
    expect(!first.status && first.uploads > 0, "first: %d, %s", first.status, first.error.text);
    expect(!elsewhere.status && elsewhere.model != first.model, "another: %s",
           elsewhere.error.text);
    for (int i = 0; i < 3; i++) {
        expect(!waits[i].status && waits[i].model == first.model && !waits[i].uploads,
               "thread %d: %d, %d uploads", i, waits[i].status, waits[i].uploads);
        sam_model_close(&waits[i].model);
    }
    sam_model_close(&first.model);
    sam_model_close(&elsewhere.model);
}

// The first load fails, and so does that of every one of the others whose fate it is.
static void check_failure(const char *file)
{
    const enum fate fates[] = { FAIL, PASS, PASS, FAIL };
    struct opener first, waits[4];
    int failed = 0, loads = 0;

    start(&first, file, WAIT_AND_FAIL);
    expect(await(&is_at_gate), "the first load does not begin");
    for (int i = 0; i < 4; i++) {
        start(&waits[i], file, fates[i]);
        await_sleep(&waits[i]);
    }
    open_gate();
    finish(waits, 4);
    finish(&first, 1);
    expect(first.status == SAM_EDEVICE && !first.model && strstr(first.error.text, "made to fail"),
           "first: %d, %s", first.status, first.error.text);
    for (int i = 0; i < 4; i++) {
        // A load that fails is its thread's alone; who comes after one that went well shares it.
        failed += waits[i].status != SAM_OK;
        loads += waits[i].uploads > 0;
        expect(waits[i].status == SAM_OK || (waits[i].status == SAM_EDEVICE && fates[i] == FAIL),
               "thread %d: %d, %s", i, waits[i].status, waits[i].error.text);
        expect(!waits[i].status == (waits[i].model != NULL), "thread %d", i);
        expect(waits[i].status || waits[i].model == waits[1].model, "thread %d has its own", i);
    }
    expect(loads == failed + 1, "%d loads for %d that failed and one that did not", loads, failed);
    for (int i = 0; i < 4; i++)
        sam_model_close(&waits[i].model);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: cache MODEL OTHER-MODEL\n");
        return 2;
    }
    gated = *sam_device_ref();
    gated.upload = upload;
    check_shared(argv[1], argv[2]);
    for (int i = 0; i < 10; i++)
        check_failure(argv[1]);
    return expect_status();
}
