// SPDX-License-Identifier: MIT
// What --bench measures. Where work can be recorded, the way a frame runs: CALLS calls in one
// record, each on other buffers, and a cache that holds none of them; else single calls, each
// waited for.

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    RUNS  = 15,
    CALLS = 20,        // in a record
    ROOM  = 256 << 20, // bytes, more than the cache of any device
    MOST  = 42,        // buffers and packed weights of a case
};

struct block {
    uint8_t *at; // what the case has
    size_t bytes;
    uint8_t *copy[CALLS]; // [0]: the same
};

static struct {
    const struct sam_ops *real;
    struct sam_ops table;
    struct block block[MOST];
    int num_blocks, num_copies;
    int calls; // made so far: one that is not recorded, then those that are
    bool is_refused; // the case cannot be recorded
} rotation;

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double) ts.tv_sec + 1e-9 * (double) ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static void print(const struct check *t, double *seconds, double calls, double amount,
                  const char *unit)
{
    qsort(seconds, RUNS, sizeof(*seconds), by_value);
    const double s = seconds[RUNS / 2] / calls;
    printf("%-44s %-28s %10.2f us %8.1f %s%s\n", t->name, t->label, s * 1e6, amount / s * 1e-9,
           unit, calls > 1 ? ", recorded" : "");
}

// ---- other buffers for every call

// Every address of a buffer in a contract becomes that of the call's copy.
static void move(void *contract, size_t size)
{
    const int n = rotation.calls % rotation.num_copies;

    for (size_t at = 0; at + sizeof(void *) <= size; at += sizeof(void *)) {
        uintptr_t word;
        memcpy(&word, (char *) contract + at, sizeof(word));
        for (int i = 0; i < rotation.num_blocks; i++) {
            const struct block *b = &rotation.block[i];
            const uintptr_t offset = word - (uintptr_t) b->at;
            if (word < (uintptr_t) b->at || offset >= b->bytes)
                continue;
            word = (uintptr_t) b->copy[n] + offset;
            memcpy((char *) contract + at, &word, sizeof(word));
            break;
        }
    }
}

#define MOVED(name, cpu, cuda)                                                \
    static void moved_##name(struct sam_queue *q, const struct sam_##name *p) \
    {                                                                         \
        struct sam_##name moved = *p;                                         \
        move(&moved, sizeof(moved));                                          \
        rotation.real->name(q, &moved);                                       \
    }
SAM_OPS(MOVED)

// Those that hold lists.
static void moved_list(struct sam_queue *q, const struct sam_linears *p)
{
    struct sam_linear each[SAM_MAX_LINEARS];
    memcpy(each, p->each, (size_t) p->count * sizeof(*each));
    move(each, (size_t) p->count * sizeof(*each));
    rotation.real->linears(q, &(struct sam_linears) { each, p->count });
}

static void moved_normed_list(struct sam_queue *q, const struct sam_norm_linears *p)
{
    struct sam_linear each[SAM_MAX_LINEARS];
    struct sam_norm_linears moved = *p;
    memcpy(each, p->each, (size_t) p->count * sizeof(*each));
    move(each, (size_t) p->count * sizeof(*each));
    move(&moved.norm, sizeof(moved.norm));
    moved.each = each;
    rotation.real->norm_linears(q, &moved);
}

static void moved_scatters_list(struct sam_queue *q, const struct sam_scatters *p)
{
    struct sam_scatter each[SAM_MAX_SCATTERS];
    memcpy(each, p->each, (size_t) p->count * sizeof(*each));
    move(each, (size_t) p->count * sizeof(*each));
    rotation.real->scatters(q, &(struct sam_scatters) { each, p->count });
}

static void add_block(void *at, size_t bytes)
{
    rotation.block[rotation.num_blocks++] =
        (struct block) { .at = at, .bytes = bytes, .copy = { at } };
}

// One more copy of every block. False: there is no memory for it.
static bool copy_blocks(struct sam_queue *q, int n, void *host)
{
    for (int i = 0; i < rotation.num_blocks; i++) {
        struct block *b = &rotation.block[i];
        b->copy[n] = sam_queue_alloc(q, b->bytes);
        if (!b->copy[n])
            return false;
        sam_queue_download(q, host, b->at, b->bytes);
        sam_queue_upload(q, b->copy[n], host, b->bytes);
    }
    return true;
}

static void begin_rotation(struct check *t)
{
    struct sam_queue *q = &t->queue[CHECK_NEW];
    size_t total = 1, most = 0;

    rotation.num_blocks = rotation.calls = 0;
    rotation.num_copies = 1;
    for (int i = 0; i < t->num_bufs; i++)
        if (t->buf[i].device)
            add_block(t->buf[i].device, check_buf_bytes(&t->buf[i]));
    for (int i = CHECK_NEW; i < t->num_packs; i += 2)
        add_block(t->pack_base[i], t->pack_bytes[i]);
    for (int i = 0; i < rotation.num_blocks; i++) {
        total += rotation.block[i].bytes;
        most = rotation.block[i].bytes > most ? rotation.block[i].bytes : most;
    }
    const size_t wanted = ROOM / total + 2;
    void *host = malloc(most + 1);
    for (int n = 1; host && n < CALLS && (size_t) n < wanted && copy_blocks(q, n, host); n++)
        rotation.num_copies++;
    free(host);
    rotation.real = q->ops;
    rotation.table = *q->ops;
#define ENTRY(name, cpu, cuda) rotation.table.name = q->ops->name ? moved_##name : NULL;
    SAM_OPS(ENTRY)
    rotation.table.linears = moved_list;
    rotation.table.norm_linears = moved_normed_list;
    rotation.table.scatters = moved_scatters_list;
    q->ops = &rotation.table;
}

static void end_rotation(struct sam_queue *q)
{
    q->ops = rotation.real;
    for (int i = 0; i < rotation.num_blocks; i++)
        for (int n = 1; n < CALLS; n++)
            sam_queue_free(q, rotation.block[i].copy[n]);
}

// ---- recorded calls

// New memory is written: what the cache held is gone.
static void fill_cache(struct sam_queue *q)
{
    sam_queue_free(q, sam_queue_alloc(q, ROOM));
}

// False: it cannot be recorded.
static bool measure_record(struct check *t, double amount, const char *unit)
{
    struct sam_queue *q = &t->queue[CHECK_NEW];
    double seconds[RUNS];
    void *record = sam_queue_record_end(q);

    for (int i = -1; i < RUNS && record; i++) { // the first of all is not counted
        fill_cache(q);
        sam_queue_finish(q, NULL);
        const double began = now_s();
        sam_queue_replay(q, record);
        sam_queue_finish(q, NULL);
        if (i >= 0)
            seconds[i] = now_s() - began;
    }
    sam_queue_finish(q, NULL); // a failure to record is no failure of the operation
    if (record) {
        print(t, seconds, CALLS, amount, unit);
        sam_queue_forget(q, record);
    }
    end_rotation(q);
    return record != NULL;
}

// The statement of check_flops() runs once, then CALLS times to be recorded.
static bool record_again(struct check *t, double amount, const char *unit)
{
    struct sam_queue *q = &t->queue[CHECK_NEW];

    if (t->bench_left) {
        begin_rotation(t);
        t->bench_left = 0;
        return true;
    }
    if (rotation.calls == 0) {
        sam_queue_finish(q, NULL);
        sam_queue_record_begin(q);
    }
    if (rotation.calls++ < CALLS)
        return true;
    if (measure_record(t, amount, unit))
        return false;
    rotation.is_refused = true;
    t->bench_left = RUNS + 1;
    return true;
}

// ---- single calls

static bool call_again(struct check *t, double amount, const char *unit)
{
    static double seconds[RUNS], last;

    sam_queue_finish(&t->queue[CHECK_NEW], NULL);
    if (t->bench_left <= RUNS)
        seconds[t->bench_left - 1] = now_s() - last;
    if (t->bench_left == 1) {
        print(t, seconds, 1, amount, unit);
        return false;
    }
    t->bench_left--;
    last = now_s();
    return true;
}

// Calls with frames in the host's memory wait for copies.
static bool can_record(const struct check *t)
{
    bool is_alone = sam_queue_records(&t->queue[CHECK_NEW]) && !rotation.is_refused;
    for (int i = 0; i < t->num_bufs; i++)
        is_alone &= !t->buf[i].on_host;
    return is_alone;
}

void check_bench_begin(struct check *t)
{
    rotation.is_refused = false;
    t->bench_left = t->bench ? RUNS + 1 : 0;
}

bool check_bench_again(struct check *t, double amount, const char *unit)
{
    if (!t->bench)
        return false;
    return can_record(t) ? record_again(t, amount, unit) : call_again(t, amount, unit);
}
