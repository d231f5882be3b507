// SPDX-License-Identifier: MIT
// bench-streams --model FILE [--streams N] [--threads N] [--rounds N] [--ms N] [--alone THREADS]
// Times many live streams in one process against one alone: N trackers (default 8), each with a
// thread that steps it through 640x360 frames with one object and no history as fast as it can.
// In each round one stream steps alone for some ms (default 500), then all of them together.
// The last line is JSON: steps a second in all and processor ms of a step, of the best round; the
// least and the most steps that a stream got in that round; what a further stream adds to the
// memory of the process. The best round is what tells, as other work on the machine only slows.
// --threads: of the trackers of the many. --alone: of the one.
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <samtrack/samtrack.h>

#include "report.h"
#include "standard.h"

enum { MAX_STREAMS = 64, WIDTH = 640, HEIGHT = 360, CLIP = 8, SIDE = 120 };

struct stream {
    sam_tracker *tracker;
    pthread_t thread;
    const uint8_t *clip;
    double end_ms;
    int frame, steps; // of the tracker's life; in this round
    double least_ms;  // of a step
};

struct side {
    int count, least, most; // streams; steps of one in the best round
    double steps_per_s, cpu_ms;
};

static double clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench-streams: %s: %s\n", what, why);
    exit(1);
}

// A square that drifts over a textured ground.
static uint8_t *new_clip(void)
{
    const size_t bytes = (size_t) 3 * WIDTH * HEIGHT;
    uint8_t *clip = malloc(CLIP * bytes);
    uint32_t noise = 1;

    if (!clip)
        die("clip", "no memory");
    for (size_t i = 0; i < bytes; i++) {
        noise = noise * 1664525u + 1013904223u;
        clip[i] = (uint8_t) (noise >> 26);
    }
    for (int f = CLIP - 1; f >= 0; f--) {
        memmove(clip + (size_t) f * bytes, clip, bytes);
        for (int y = 0; y < SIDE; y++)
            memset(clip + (size_t) f * bytes + 3 * ((size_t) (100 + y) * WIDTH + 200 + 2 * f), 200,
                   3 * SIDE);
    }
    return clip;
}

static void step(struct stream *s)
{
    const int i = s->frame / CLIP % 2 ? CLIP - 1 - s->frame % CLIP : s->frame % CLIP;
    const struct sam_frame frame = { .size = sizeof(struct sam_frame), .format = SAM_PIXEL_RGB,
                                     .width = WIDTH, .height = HEIGHT,
                                     .plane = { s->clip + (size_t) i * 3 * WIDTH * HEIGHT },
                                     .stride = { 3 * WIDTH } };
    struct sam_result result = SAM_RESULT_INIT;
    struct sam_error error = { "" };

    if (sam_tracker_step(s->tracker, &frame, NULL, &result, &error))
        die("step", error.text);
    s->frame++;
}

static void open_stream(struct stream *s, const struct sam_params *params, int threads,
                        const uint8_t *clip)
{
    const struct sam_prompt prompt = { .size = sizeof(struct sam_prompt), .space_width = WIDTH,
                                       .space_height = HEIGHT, .has_box = 1,
                                       .box = { 200, 100, 200 + SIDE, 100 + SIDE } };
    struct sam_params own = *params;
    struct sam_error error = { "" };

    *s = (struct stream) { .clip = clip };
    own.threads = threads;
    if (sam_tracker_open(&s->tracker, &own, &error) ||
        sam_tracker_prompt(s->tracker, &prompt, NULL, &error))
        die("open", error.text);
    for (int i = 0; i < 2 * CLIP; i++) // until its memory is full
        step(s);
}

static void *play(void *arg)
{
    struct stream *s = arg;
    double last = clock_ms(CLOCK_MONOTONIC);
    for (s->steps = 0; last < s->end_ms; s->steps++) {
        step(s);
        const double now = clock_ms(CLOCK_MONOTONIC);
        if (s->least_ms == 0 || now - last < s->least_ms)
            s->least_ms = now - last;
        last = now;
    }
    return NULL;
}

static void run_round(struct side *side, struct stream *streams, int ms)
{
    const double began = clock_ms(CLOCK_MONOTONIC), cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    int all = 0, least = streams[0].steps, most = 0;

    for (int i = 0; i < side->count; i++) {
        streams[i].end_ms = began + ms;
        if (pthread_create(&streams[i].thread, NULL, play, &streams[i]))
            die("round", "no thread");
    }
    for (int i = 0; i < side->count; i++) {
        pthread_join(streams[i].thread, NULL);
        const int steps = streams[i].steps;
        all += steps;
        least = i == 0 || steps < least ? steps : least;
        most = steps > most ? steps : most;
    }
    const double cpu_ms = (clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu) / all;
    const double per_s = all * 1e3 / (clock_ms(CLOCK_MONOTONIC) - began);
    if (side->cpu_ms == 0 || cpu_ms < side->cpu_ms)
        side->cpu_ms = cpu_ms;
    if (per_s > side->steps_per_s)
        side->steps_per_s = per_s, side->least = least, side->most = most;
}

static double resident_mib(void)
{
    long all, resident;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &resident) != 2)
        die("memory", "/proc/self/statm cannot be read");
    fclose(f);
    return (double) resident * (double) sysconf(_SC_PAGESIZE) / (1 << 20);
}

struct options {
    int streams, threads, alone, rounds, ms;
};

static void parse(int argc, char **argv, struct sam_params *p, struct options *o)
{
    static const struct option table[] = {
        { "model", 1, NULL, 'm' }, { "streams", 1, NULL, 's' }, { "threads", 1, NULL, 't' },
        { "rounds", 1, NULL, 'r' }, { "ms", 1, NULL, 'd' }, { "alone", 1, NULL, 'a' },
        { NULL, 0, NULL, 0 },
    };
    int c;
    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1)
        switch (c) {
        case 'm': p->model_file = optarg; break;
        case 's': o->streams = atoi(optarg); break;
        case 't': o->threads = atoi(optarg); break;
        case 'r': o->rounds = atoi(optarg); break;
        case 'd': o->ms = atoi(optarg); break;
        case 'a': o->alone = atoi(optarg); break;
        default:  exit(2);
        }
    if (o->streams < 2 || o->streams > MAX_STREAMS || o->rounds < 1 || o->ms < 1) {
        fprintf(stderr, "bench-streams: wanted 2 to %d streams, a round and a millisecond or "
                "more\n", MAX_STREAMS);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static struct stream streams[MAX_STREAMS], lone;
    struct sam_params params = SAM_PARAMS_INIT;
    struct options o = { .streams = 8, .rounds = 10, .ms = 500 };

    standard_begin("bench-streams");
    parse(argc, argv, &params, &o);
    params.backend = SAM_BACKEND_CPU;
    params.max_objects = 1;
    params.history = 0;
    uint8_t *clip = new_clip();
    open_stream(&lone, &params, o.alone, clip);
    open_stream(&streams[0], &params, o.threads, clip);
    const double before = resident_mib();
    for (int i = 1; i < o.streams; i++)
        open_stream(&streams[i], &params, o.threads, clip);
    const double mib = (resident_mib() - before) / (o.streams - 1);

    struct side alone = { .count = 1 }, many = { .count = o.streams };
    for (int round = 0; round < o.rounds; round++) {
        run_round(&alone, &lone, o.ms);
        run_round(&many, streams, o.ms);
    }
    printf("{\"alone\": {\"steps_per_s\": %.1f, \"cpu_ms\": %.2f, \"least_ms\": %.2f}, "
           "\"streams\": %d, "
           "\"together\": {\"steps_per_s\": %.1f, \"cpu_ms\": %.2f, "
           "\"least\": %d, \"most\": %d}, "
           "\"ratio\": %.3f, \"further_stream_mib\": %.1f}\n",
           alone.steps_per_s, alone.cpu_ms, lone.least_ms, o.streams, many.steps_per_s,
           many.cpu_ms, many.least, many.most, many.steps_per_s / alone.steps_per_s, mib);
    sam_tracker_close(&lone.tracker);
    for (int i = 0; i < o.streams; i++)
        sam_tracker_close(&streams[i].tracker);
    free(clip);
    return 0;
}
