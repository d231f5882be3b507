// SPDX-License-Identifier: MIT
// failures MODEL [STRIDE]: captures are spoilt at every so many nodes; 1 if it is left out
// A GPU that fails: at open, in the middle of a stream, for good. Each time one sentence, nothing
// kept, and a tracker opened anew works as if nothing had been.
#include <limits.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>
#include <samtrack/samtrack.h>

#include "../track/scene.h"
#include "faults.h"
#include "heard.h"

// Of the runtime's errors: out of memory; an illegal address, which ends the context; what a driver
// cannot do.
enum { MEMORY_ALLOCATION = 2, ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801 };
// The second frame is the first that is a record; those behind it are like it.
enum { FRAMES = 2, LOW = 64 * 64 };

static struct sam_params params_of(const char *model)
{
    struct sam_params p = scene_cuda_params(model, 1);

    p.log = hear;
    return p;
}

static void fail_after(int calls, int error, bool sticky, const char *only)
{
    faults.countdown = calls;
    faults.error = error;
    faults.sticky = sticky;
    faults.happened = false;
    faults.only = only;
}

static void fail_no_more(void)
{
    faults.countdown = -1;
    faults.only = NULL;
}

static void expect_sentence(const struct sam_error *e, const char *what, int n)
{
    expect(strlen(e->text) > 20 && !strchr(e->text, '\n'), "%s %d: '%s' is no sentence", what, n,
           e->text);
}

static void expect_nothing_held(const char *what, int n)
{
    expect(!faults.held, "%s %d: %zu bytes of the device are kept", what, n, faults.held);
    expect(faults.count.allocations + faults.count.pinned == faults.count.frees,
           "%s %d: %d pieces of memory kept", what, n,
           faults.count.allocations + faults.count.pinned - faults.count.frees);
}

// A few frames of one object: the last mask into low. The first status that is not SAM_OK.
static int run(sam_tracker *t, float low[LOW], struct sam_error *error)
{
    struct scene s;
    int status = SAM_OK, shape[4];
    uint64_t id = give_box(t, 0, 0.2f, 0.2f, 0.7f, 0.7f);

    for (int f = 0; f < FRAMES && !status; f++) {
        struct sam_result r = SAM_RESULT_INIT;
        status = sam_tracker_step(t, scene_draw(&s, f), NULL, &r, error);
    }
    return status ? status : sam_tracker_read(t, id, "low_res", low, LOW, shape, error);
}

// The run that every other one is measured by; what a clean open and run ask of the runtime.
static float clean[LOW];
static int calls_to_open, calls_to_run;

static void expect_works(const struct sam_params *p, const char *what, int n)
{
    static float low[LOW];
    struct sam_error error = { "" };
    sam_tracker *t = NULL;

    expect(!sam_tracker_open(&t, p, &error), "%s %d: %s", what, n, error.text);
    if (!t)
        return;
    expect(!run(t, low, &error), "%s %d: %s", what, n, error.text);
    expect(!memcmp(low, clean, sizeof(low)), "%s %d: another mask", what, n);
    sam_tracker_close(&t);
    expect_nothing_held(what, n);
}

static void run_clean(const struct sam_params *p)
{
    struct sam_error error = { "" };
    const int before = faults.count.calls;
    sam_tracker *t = scene_open(p);

    calls_to_open = faults.count.calls - before;
    expect(!run(t, clean, &error), "%s", error.text);
    calls_to_run = faults.count.calls - before - calls_to_open;
    sam_tracker_close(&t);
    expect_nothing_held("clean", 0);
}

// ---- too little memory

static void check_memory(const struct sam_params *p)
{
    struct sam_error error = { "" };
    size_t need;
    sam_tracker *t = scene_open(p);

    need = faults.held;
    sam_tracker_close(&t);
    for (int i = 0; i < 9; i++) {
        faults.limit = i < 8 ? need / 8 * (size_t) i + 1 : need - 1;
        const int status = sam_tracker_open(&t, p, &error);
        expect(status == SAM_ENOMEM && !t, "limit %zu of %zu: status %d: %s", faults.limit, need,
               status, error.text);
        expect_sentence(&error, "limit", i);
        expect(strstr(error.text, "MiB") && (strstr(error.text, "are free") ||
                                             strstr(error.text, "are left")),
               "limit %zu: '%s' does not say what is left", faults.limit, error.text);
        if (i == 0 || i == 8)
            printf("%s\n", error.text);
        expect_nothing_held("limit", i);
    }
    faults.limit = need;
    expect_works(p, "enough memory", 0);
    faults.limit = 0;
}

// ---- a call that fails

static void check_open(const struct sam_params *p)
{
    enum { TRIES = 24 };
    int refused = 0;

    for (int i = 0; i < TRIES; i++) { // the first calls, then some of all
        const int n = i < TRIES / 2 ? i : (int) ((int64_t) calls_to_open * i / TRIES);
        struct sam_error error = { "" };
        sam_tracker *t = (sam_tracker *) &error;
        warnings = 0;
        fail_after(n, ILLEGAL_ADDRESS, false, NULL);
        const int status = sam_tracker_open(&t, p, &error);
        fail_no_more();
        expect(faults.happened, "call %d did not come", n);
        if (status) {
            expect(!t, "call %d: the tracker is not NULL", n);
            expect_sentence(&error, "call", n);
            refused++;
        } else { // something it can do without
            sam_tracker_close(&t);
        }
        expect_nothing_held("call", n);
    }
    printf("a call of %d at open fails: %d of %d refused\n", calls_to_open, refused, TRIES);
    expect(refused > TRIES / 2, "%d refused", refused);
    expect_works(p, "after failures at open", 0);
}

static void check_run(const struct sam_params *p)
{
    enum { TRIES = 6 };
    static float low[LOW];
    int failed = 0;

    for (int i = 0; i < TRIES; i++) {
        const int n = (int) ((int64_t) calls_to_run * i / TRIES);
        struct sam_error error = { "" }, again = { "" };
        struct sam_result r = SAM_RESULT_INIT;
        struct scene s;
        sam_tracker *t = scene_open(p);
        fail_after(n, ILLEGAL_ADDRESS, false, NULL);
        const int status = run(t, low, &error);
        fail_no_more();
        expect(status == SAM_EDEVICE, "call %d: status %d: %s", n, status, error.text);
        expect_sentence(&error, "call", n);
        expect(strstr(error.text, "illegal memory access") != NULL, "call %d: %s", n, error.text);
        failed += status != SAM_OK;
        // From then on it says no more than that.
        const int after = sam_tracker_step(t, scene_draw(&s, 0), NULL, &r, &again);
        expect(after == SAM_EDEVICE && strstr(again.text, "must be closed") && !r.num_objects,
               "call %d: then %s", n, again.text);
        sam_tracker_close(&t);
        expect_nothing_held("call", n);
    }
    expect_works(p, "after failures in frames", 0);
    printf("a call of %d in %d frames fails: %d of %d steps failed\n", calls_to_run, FRAMES, failed,
           TRIES);
}

// ---- an uploader

// Two frames to both places; *copied: how many came through.
static int upload(const sam_tracker *t, int *copied, struct sam_error *error)
{
    struct sam_frame copy;
    struct scene s;
    sam_uploader *u;
    int status = sam_uploader_open(&u, t, error);

    for (*copied = 0; !status && *copied < 2; *copied += !status)
        status = sam_uploader_copy(u, *copied, scene_draw(&s, *copied), &copy, error);
    if (status == SAM_EDEVICE && u) {
        struct sam_error again = { "" };
        expect(sam_uploader_copy(u, 0, scene_draw(&s, 0), &copy, &again) == SAM_EDEVICE &&
               strstr(again.text, "must be closed"), "then %s", again.text);
    }
    sam_uploader_close(&u);
    return status;
}

// Each of its calls fails once: the tracker goes on.
static void check_uploader(const struct sam_params *p)
{
    static float low[LOW];
    struct sam_error error = { "" };
    sam_tracker *t = scene_open(p);
    const size_t held = faults.held;
    const int before = faults.count.calls;
    int copied, failed = 0;

    expect(!upload(t, &copied, &error) && copied == 2, "%s", error.text);
    const int calls = faults.count.calls - before;
    for (int n = 0; n < calls; n++) {
        fail_after(n, ILLEGAL_ADDRESS, false, NULL);
        const int status = upload(t, &copied, &error);
        fail_no_more();
        expect(faults.happened && faults.held == held, "call %d: %zu bytes are kept", n,
               faults.held - held);
        if (status)
            expect_sentence(&error, "uploader's call", n);
        failed += status != SAM_OK;
    }
    expect(failed > calls / 2, "%d of %d", failed, calls);
    faults.limit = held + 1;
    expect(upload(t, &copied, &error) == SAM_ENOMEM, "without memory: %s", error.text);
    expect_sentence(&error, "uploader", 0);
    faults.limit = 0;
    expect(!run(t, low, &error) && !memcmp(low, clean, sizeof(low)), "%s", error.text);
    printf("a call of %d of an uploader fails: %d failed\n", calls, failed);
    sam_tracker_close(&t);
    expect_nothing_held("uploader", 0);
}

// ---- a context that is lost, with two trackers in it

static void check_lost(const struct sam_params *p)
{
    static float low[LOW];
    struct sam_error error = { "" };
    const int resets = faults.count.resets;
    sam_tracker *t[2] = { scene_open(p), scene_open(p) }, *third;
    struct sam_result r = SAM_RESULT_INIT;
    struct scene s;

    expect(!run(t[1], low, &error), "%s", error.text);
    fail_after(calls_to_run / 2, ILLEGAL_ADDRESS, true, NULL);
    expect(run(t[0], low, &error) == SAM_EDEVICE, "the first: %s", error.text);
    printf("%s\n", error.text);
    expect(sam_tracker_step(t[1], scene_draw(&s, FRAMES), NULL, &r, &error) == SAM_EDEVICE,
           "the second: %s", error.text);
    expect_sentence(&error, "the second", 0);
    for (int i = 0; i < 2; i++) { // beside the two, then alone
        expect(sam_tracker_open(&third, p, &error) == SAM_EDEVICE && !third, "a third: %s",
               error.text);
        expect(strstr(error.text, "illegal memory access") && strstr(error.text, "new process"),
               "a third: %s", error.text);
        sam_tracker_close(&t[i]);
    }
    printf("%s\n", error.text);
    fail_no_more();
    sam_tracker_close(&t[1]);
    expect_nothing_held("lost", 0);
    expect(faults.count.resets == resets, "%d resets", faults.count.resets - resets);
    cudaDeviceReset(); // a new process
    expect_works(p, "after the context was lost", 0);
}

// The primary context has other users: whatever fails at open, their memory stays.
static void check_neighbour(const struct sam_params *p)
{
    struct sam_error error = { "" };
    const int resets = faults.count.resets;
    uint8_t there[64] = { 0 };
    void *theirs;
    sam_tracker *t;

    expect(!cudaMalloc(&theirs, sizeof(there)) && !cudaMemset(theirs, 0x5a, sizeof(there)),
           "memory of the neighbour's");
    fail_after(0, MEMORY_ALLOCATION, false, "cudaMemGetInfo");
    expect(sam_tracker_open(&t, p, &error) == SAM_EDEVICE && !t, "opened: %s", error.text);
    fail_no_more();
    expect(faults.happened, "nothing failed");
    expect_sentence(&error, "beside a neighbour", 0);
    expect(faults.count.resets == resets, "%d resets", faults.count.resets - resets);
    expect(!cudaMemcpy(there, theirs, sizeof(there), cudaMemcpyDeviceToHost) && there[63] == 0x5a,
           "the neighbour's memory is gone");
    cudaFree(theirs);
    expect_works(p, "beside a neighbour", 0);
}

// Weights in memory that may be gone are not shared with who opens later.
static void check_disowned(const struct sam_params *p)
{
    static float low[LOW];
    struct sam_error error = { "" };
    sam_tracker *broken = scene_open(p);

    const size_t one = faults.held;
    fail_after(calls_to_run / 2, ILLEGAL_ADDRESS, false, NULL);
    expect(run(broken, low, &error) == SAM_EDEVICE, "%s", error.text);
    fail_no_more();
    sam_tracker *t = scene_open(p);
    expect(faults.held == 2 * one, "%zu bytes held, of one tracker %zu", faults.held, one);
    expect(!run(t, low, &error) && !memcmp(low, clean, sizeof(low)), "beside a broken one: %s",
           error.text);
    sam_tracker_close(&broken);
    sam_tracker_close(&t);
    expect_nothing_held("disowned", 0);
}

// ---- frames that cannot be recorded

// Launches do not overlap, or frames would be recorded without that.
static void check_unrecorded(const struct sam_params *p, const char *only)
{
    static float low[LOW];
    struct sam_error error = { "" };
    struct sam_info info = SAM_INFO_INIT;
    sam_tracker *t;

    warnings = 0;
    setenv("SAMTRACK_CUDA_WITHOUT", "overlap", 1);
    fail_after(1, MEMORY_ALLOCATION, false, only); // after the encoder: frames with one object
    expect(!sam_tracker_open(&t, p, &error), "%s: %s", only, error.text);
    fail_no_more();
    unsetenv("SAMTRACK_CUDA_WITHOUT");
    expect(warnings == 1 && strstr(last_warning, "not recorded"), "%d warnings: %s", warnings,
           last_warning);
    expect(!run(t, low, &error) && !memcmp(low, clean, sizeof(low)), "%s: %s", only, error.text);
    sam_tracker_info(t, &info, NULL);
    printf("%s fails once: %d graphs, %d replays, %d misses\n", only, info.graphs,
           (int) info.graph_replays, (int) info.graph_misses);
    // The encoder on the first frame is replayed, nothing after it.
    expect(info.graphs == 4 && info.graph_replays == 1 && info.graph_misses == FRAMES - 1,
           "counts");
    sam_tracker_close(&t);
    expect_nothing_held(only, 0);
}

// A driver that does not record launches that overlap: they do not, and all else is as ever.
static void check_apart(const struct sam_params *p, const char *only)
{
    static float low[LOW];
    struct sam_error error = { "" };
    struct sam_info info = SAM_INFO_INIT;
    sam_tracker *t;

    warnings = 0;
    fail_after(0, NOT_SUPPORTED, false, only);
    expect(!sam_tracker_open(&t, p, &error), "%s: %s", only, error.text);
    fail_no_more();
    expect(faults.happened && warnings == 1 && strstr(last_warning, "do not overlap"),
           "%s: %d warnings: %s", only, warnings, last_warning);
    expect(!run(t, low, &error) && !memcmp(low, clean, sizeof(low)), "%s: %s", only, error.text);
    sam_tracker_info(t, &info, NULL);
    printf("%s; %d graphs\n", last_warning, info.graphs);
    expect(info.graph_replays > 0 && !info.graph_misses, "%d replays, %d misses",
           (int) info.graph_replays, (int) info.graph_misses);
    sam_tracker_close(&t);
    expect_nothing_held(only, 0);
}

// A driver that records two launches that overlap, and no frame of them: frames are recorded
// without, and as many as ever.
static void check_refused_overlap(const struct sam_params *p)
{
    static float low[LOW];
    struct sam_error error = { "" };
    struct sam_info info = SAM_INFO_INIT, usual = SAM_INFO_INIT;
    sam_tracker *t = scene_open(p);

    sam_tracker_info(t, &usual, NULL);
    sam_tracker_close(&t);
    warnings = 0;
    faults.refuses_overlap = true;
    expect(!sam_tracker_open(&t, p, &error), "%s", error.text);
    faults.refuses_overlap = false;
    printf("%s\n", last_warning);
    expect(warnings == 1 && strstr(last_warning, "no longer do"), "%d warnings: %s", warnings,
           last_warning);
    expect(!run(t, low, &error) && !memcmp(low, clean, sizeof(low)), "%s", error.text);
    sam_tracker_info(t, &info, NULL);
    expect(usual.overlaps && !info.overlaps, "overlaps %d, then %d", usual.overlaps, info.overlaps);
    expect(info.graphs == usual.graphs && info.graph_replays > 0 && !info.graph_misses,
           "%d graphs, else %d", info.graphs, usual.graphs);
    sam_tracker_close(&t);
    expect_nothing_held("refused overlap", 0);
}

static int stride = 1; // from one spoilt node to the next

// Another thread spoils captures. How many graphs there are in spite of it.
static int open_spoilt(const struct sam_params *p, int spoil, bool moves, bool runs)
{
    static float low[LOW];
    struct sam_error error = { "" };
    struct sam_info info = SAM_INFO_INIT;
    const int node = faults.spoil_node;
    sam_tracker *t;

    warnings = 0;
    faults.reached = faults.spoilt = 0;
    faults.spoil = spoil;
    faults.moves = moves ? stride : 0;
    expect(!sam_tracker_open(&t, p, &error), "spoilt from node %d on: %s", node, error.text);
    faults.spoil = 0;
    if (!t)
        return -1;
    sam_tracker_info(t, &info, NULL);
    expect(faults.spoilt > 0, "nothing was spoilt at node %d", node);
    if (runs)
        expect(!run(t, low, &error) && !memcmp(low, clean, sizeof(low)), "spoilt at node %d: %s",
               node, error.text);
    sam_tracker_close(&t);
    expect_nothing_held("spoilt", node);
    return info.graphs;
}

// From the first node of the longest capture to the last, four times out of five; then all of them.
static void check_spoilt(const struct sam_params *p)
{
    enum { TRIES = 5, OPENS = 100 };
    struct sam_info info = SAM_INFO_INIT;
    int opens = 0;

    faults.most_nodes = 0;
    sam_tracker *t = scene_open(p);
    const int nodes = faults.most_nodes;
    sam_tracker_info(t, &info, NULL);
    sam_tracker_close(&t);
    expect(nodes > 50 && info.graphs > 1, "%d nodes, %d graphs", nodes, info.graphs);
    faults.spoil_node = 0;
    while (faults.spoil_node <= nodes && opens++ < OPENS) {
        const int graphs = open_spoilt(p, TRIES, true, faults.spoil_node == 0);
        expect(graphs == info.graphs && !warnings, "spoilt before node %d: %d graphs, %d warnings",
               faults.spoil_node, graphs, warnings);
    }
    printf("captures spoilt at %d nodes, one in %d, in %d opens: recorded again\n", nodes, stride,
           opens);
    expect(faults.spoil_node > nodes, "only %d of %d nodes", faults.spoil_node, nodes);
    faults.spoil_node = 1;
    expect(!open_spoilt(p, INT_MAX, false, true), "graphs, though all captures are spoilt");
    expect(warnings == 2 && strstr(last_warning, "not recorded"), "%d warnings: %s", warnings,
           last_warning);
    printf("%s\n", last_warning);
}

int main(int argc, char **argv)
{
    const struct sam_params p = params_of(argv[1]);

    stride = argc > 2 ? atoi(argv[2]) : stride;
    run_clean(&p);
    check_memory(&p);
    check_unrecorded(&p, "cudaGraphInstantiate");
    check_unrecorded(&p, "cudaStreamBeginCapture");
    check_apart(&p, "cudaGraphInstantiate");
    check_apart(&p, "cudaStreamBeginCapture");
    check_apart(&p, "cudaGraphLaunch");
    check_refused_overlap(&p);
    check_spoilt(&p);
    check_open(&p);
    check_run(&p);
    check_uploader(&p);
    check_lost(&p);
    check_neighbour(&p);
    check_disowned(&p);
    return expect_status();
}
