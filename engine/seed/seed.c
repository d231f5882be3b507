// SPDX-License-Identifier: MIT
// The policy as its caller sees it: open, step, bind; when to run the detector.
#include "samtrack/seed.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sized.h"
#include "state.h"

_Static_assert(sizeof(((struct sam_seed_stats *) 0)->decisions) >= SAM_SEED_NUM_KINDS * 8,
               "no room to count every kind");
_Static_assert(sizeof(((struct sam_seed_stats *) 0)->reasons) >= SAM_SEED_NUM_REASONS * 8,
               "no room to count every reason");

// ---- Open and close.

static int check_settings(const struct sam_seed_settings *settings, struct sam_error *error)
{
    const struct sam_seed_setting *e;

    for (int i = 0; (e = sam_seed_setting(i)); i++) {
        const char *at = (const char *) settings + e->offset;
        int whole;
        float real;

        memcpy(&whole, at, sizeof(whole));
        memcpy(&real, at, sizeof(real));
        const double value = e->is_int ? (double) whole : (double) real;
        if (!(value >= e->least && value <= e->most))
            return sam_fail(error, SAM_EINVAL, "seeding: %s is %g %s, expected %g to %g", e->name,
                            value, e->unit, e->least, e->most);
    }
    if (settings->confirm_hits > settings->confirm_window)
        return sam_fail(error, SAM_EINVAL,
                        "seeding: confirm_hits is %d ticks, but confirm_window has %d",
                        settings->confirm_hits, settings->confirm_window);
    if (settings->keep_alive_start > settings->keep_alive)
        return sam_fail(error, SAM_EINVAL,
                        "seeding: keep_alive_start is %d ticks, but keep_alive is %d",
                        settings->keep_alive_start, settings->keep_alive);
    return SAM_OK;
}

int sam_seed_open(struct sam_seed **out, const struct sam_seed_settings *settings,
                  struct sam_error *error)
{
    const size_t bytes = sizeof(*settings);
    struct sam_seed_settings defaults;

    if (!out)
        return sam_fail(error, SAM_EINVAL, "seeding: out is NULL");
    *out = NULL;
    sam_seed_defaults(&defaults, sizeof(defaults));
    if (!settings)
        settings = &defaults;
    if (sam_sized_check(settings, bytes, bytes, "settings", error))
        return SAM_EINVAL;
    if (check_settings(settings, error))
        return SAM_EINVAL;
    struct sam_seed *s = calloc(1, sizeof(*s));
    if (!s)
        return sam_fail(error, SAM_ENOMEM, "seeding: no memory for %zu bytes", sizeof(*s));
    s->settings = *settings;
    sam_seed_reset(s);
    *out = s;
    return SAM_OK;
}

void sam_seed_close(struct sam_seed **seed)
{
    if (!seed)
        return;
    free(*seed);
    *seed = NULL;
}

void sam_seed_reset(struct sam_seed *s)
{
    for (int i = 0; i < s->num_tracks; i++)
        s->track[i].used = false;
    for (int i = 0; i < NUM_RECORDS; i++)
        s->past[i].used = false;
    s->num_tracks = s->num_decisions = s->quiet_ticks = 0;
    s->wanted = 0;
    s->has_stepped = s->has_detected = s->has_cut = false;
    s->highest_id = 0;
    s->time = 0;
    s->interval = s->settings.detect_interval;
}

// ---- A step.

static int check_input(const struct sam_seed *s, const struct sam_seed_input *in,
                       struct sam_error *error)
{
    if (s->has_stepped && in->frame <= s->frame)
        return sam_fail(error, SAM_EINVAL,
                        "seeding: frame %llu came after frame %llu, expected a later one",
                        (unsigned long long) in->frame, (unsigned long long) s->frame);
    if (in->width < 1 || in->width > SAM_MAX_SIDE || in->height < 1 || in->height > SAM_MAX_SIDE)
        return sam_fail(error, SAM_EINVAL, "seeding: frame of %d x %d px, expected 1 to %d each",
                        in->width, in->height, SAM_MAX_SIDE);
    if (in->num_objects < 0 || in->num_objects > SAM_MAX_OBJECTS ||
        (in->num_objects && !in->objects))
        return sam_fail(error, SAM_EINVAL, "seeding: %d objects at %p, expected 0 to %d",
                        in->num_objects, (const void *) in->objects, SAM_MAX_OBJECTS);
    if (!in->has_result)
        return SAM_OK;
    if (in->num_detections < 0 || (in->num_detections && !in->detections))
        return sam_fail(error, SAM_EINVAL, "seeding: %d detections at %p, expected 0 or more",
                        in->num_detections, (const void *) in->detections);
    if (in->result_frame > in->frame)
        return sam_fail(error, SAM_EINVAL,
                        "seeding: a detector's result for frame %llu at frame %llu, expected one "
                        "that was processed", (unsigned long long) in->result_frame,
                        (unsigned long long) in->frame);
    return SAM_OK;
}

static void begin(struct sam_seed *s, const struct sam_seed_input *in)
{
    if (s->has_stepped && in->time_ns > s->given_time)
        s->time += in->time_ns - s->given_time;
    s->given_time = in->time_ns;
    s->has_stepped = true;
    s->frame = in->frame;
    s->width = in->width;
    s->height = in->height;
    s->num_decisions = 0;
    s->work = 0;
    s->stats.steps++;
    if (in->has_cut) {
        s->has_cut = true;
        s->cut_frame = in->frame;
        s->wanted |= 1u << SAM_SEED_REQUEST_CUT;
    }
}

static void record(struct sam_seed *s, const struct sam_seed_input *in)
{
    struct record *r = &s->now;
    const struct sam_seed_box all = { 0, 0, (float) s->width, (float) s->height };

    r->used = true;
    r->frame = s->frame;
    r->time = s->time;
    r->has_labels = in->labels;
    for (int i = 0; i < s->num_tracks; i++)
        r->seen[i] = s->track[i].now;
    // Entries behind are of tracks that come later: they were not seen on this frame.
    memset(&r->seen[s->num_tracks], 0,
           (size_t) (SAM_SEED_MAX_TRACKS - s->num_tracks) * sizeof(r->seen[0]));
    memset(r->cells, 0, sizeof(r->cells));
    if (!in->labels)
        return;
    memcpy(r->labels, in->labels, sizeof(r->labels));
    s->work += (uint64_t) sam_seed_count_cells(r->cells, r->labels, all, NULL, s->width,
                                               s->height);
}

static const struct record *find_record(const struct sam_seed *s, uint64_t frame)
{
    if (frame == s->frame)
        return &s->now;
    for (int i = 0; i < NUM_RECORDS; i++)
        if (s->past[i].used && s->past[i].frame == frame)
            return &s->past[i];
    return NULL;
}

static uint64_t count_changes(const struct sam_seed *s)
{
    const uint64_t *n = s->stats.decisions;

    return n[SAM_SEED_START] + n[SAM_SEED_REMOVE] + n[SAM_SEED_REACQUIRE] +
           n[SAM_SEED_RECONDITION];
}

static void adapt(struct sam_seed *s, bool is_changed)
{
    const int base = s->settings.detect_interval, most = s->settings.adaptive_max;

    s->quiet_ticks = is_changed ? 0 : s->quiet_ticks + 1;
    if (!s->settings.adaptive || is_changed) {
        s->interval = base;
    } else if (s->quiet_ticks >= s->settings.adaptive_ticks && s->interval < most) {
        s->interval = s->interval > most / 2 ? most : 2 * s->interval;
        s->quiet_ticks = 0;
    }
}

static void tick(struct sam_seed *s, const struct sam_seed_input *in)
{
    const struct record *r = find_record(s, in->result_frame);
    const bool is_before_cut = s->has_cut && in->result_frame < s->cut_frame;
    const uint64_t age = in->frame - in->result_frame, changes = count_changes(s);

    s->stats.ticks++;
    s->stats.detections += (uint64_t) in->num_detections;
    s->stats.result_age = age;
    if (age > s->stats.max_result_age)
        s->stats.max_result_age = age;
    sam_seed_read(s, in);
    if (!r || is_before_cut) {
        for (int d = 0; d < s->num_candidates; d++)
            if (!s->candidate[d].is_decided)
                sam_seed_ignore(s, &s->candidate[d],
                                is_before_cut ? SAM_SEED_BY_BEFORE_CUT : SAM_SEED_BY_STALE);
        return;
    }
    sam_seed_match(s, in, r);
    sam_seed_reacquire(s, in, r);
    sam_seed_give_birth(s, in, r);
    adapt(s, count_changes(s) != changes);
}

// ---- When to run the detector.

static bool does_any_live(const struct sam_seed *s)
{
    for (int i = 0; i < s->num_tracks; i++)
        if (sam_seed_lives(&s->track[i]))
            return true;
    return false;
}

// A request that cannot be met now waits, merged with those that follow; the last kind counts.
static enum sam_seed_request request(struct sam_seed *s, const struct sam_seed_input *in)
{
    enum sam_seed_request why = SAM_SEED_REQUEST_ASKED;

    if (!does_any_live(s))
        s->wanted |= 1u << SAM_SEED_REQUEST_NOTHING;
    if (!s->settings.detect_on_loss)
        s->wanted &= ~(uint64_t) (1u << SAM_SEED_REQUEST_LOSS);
    if (!s->has_detected || s->frame - s->detected >= (uint64_t) s->interval)
        s->wanted |= 1u << SAM_SEED_REQUEST_INTERVAL;
    if (!s->wanted || in->busy || in->overloaded)
        return SAM_SEED_REQUEST_NONE;
    while (!(s->wanted >> why & 1))
        why--;
    s->wanted = 0;
    s->detected = s->frame;
    s->has_detected = true;
    s->past[s->next_record] = s->now;
    s->next_record = (s->next_record + 1) % NUM_RECORDS;
    return why;
}

int sam_seed_step(struct sam_seed *s, const struct sam_seed_input *in,
                  struct sam_seed_output *out, struct sam_error *error)
{
    if (!s || !in || !out)
        return sam_fail(error, SAM_EINVAL, "seeding: seed, in or out is NULL");
    if (sam_sized_check(in, sizeof(*in), sizeof(*in), "in", error) || check_input(s, in, error))
        return SAM_EINVAL;
    begin(s, in);
    sam_seed_follow(s, in);
    record(s, in);
    if (in->has_result)
        tick(s, in);
    *out = (struct sam_seed_output) { .num_decisions = s->num_decisions, .decisions = s->decision,
                                      .detect = request(s, in), .interval = s->interval,
                                      .work = s->work };
    return SAM_OK;
}

int sam_seed_bind(struct sam_seed *s, int index, uint64_t id, struct sam_error *error)
{
    if (index < 0 || index >= s->num_decisions || s->started[index] < 0)
        return sam_fail(error, SAM_EINVAL, "seeding: decision %d of %d does not wait for an id",
                        index, s->num_decisions);
    if (id <= s->highest_id)
        return sam_fail(error, SAM_EINVAL, "seeding: id %llu, expected more than %llu",
                        (unsigned long long) id, (unsigned long long) s->highest_id);
    s->track[s->started[index]].id = s->decision[index].id = s->highest_id = id;
    s->started[index] = -1;
    return SAM_OK;
}

// ---- What is known.

int sam_seed_find(const struct sam_seed *s, uint64_t id, struct sam_seed_track *track)
{
    for (int i = 0; i < s->num_tracks; i++) {
        const struct track *t = &s->track[i];

        if (!t->used || !id || t->id != id)
            continue;
        *track = (struct sam_seed_track) {
            .id = id, .phase = t->phase, .class_id = t->class_id, .is_awaited = t->is_awaited,
            .is_published = t->phase == SAM_SEED_CONFIRMED || t->phase == SAM_SEED_USERS ||
                            (t->phase == SAM_SEED_TENTATIVE && s->settings.publish_tentative),
            .keep_alive = (double) t->keep_alive / KEEP_ALIVE_UNIT,
        };
        return SAM_OK;
    }
    return SAM_ENOTFOUND;
}

int sam_seed_count(const struct sam_seed *s)
{
    int n = 0;

    for (int i = 0; i < s->num_tracks; i++)
        n += s->track[i].used;
    return n;
}

const struct sam_seed_stats *sam_seed_get_stats(const struct sam_seed *s)
{
    return &s->stats;
}
