// SPDX-License-Identifier: MIT
#define _DEFAULT_SOURCE // usleep
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sized.h"
#include "scripted_priv.h"

const char *sam_version(void)
{
    return SAM_VERSION;
}

// ---- the script

static pthread_mutex_t script_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int status;
    unsigned us, after;
} script[SCRIPTED_CALLS]; // guarded by it

void scripted_set(enum scripted_call call, int status, unsigned us, unsigned after)
{
    pthread_mutex_lock(&script_lock);
    script[call].status = status;
    script[call].us = us;
    script[call].after = after;
    pthread_mutex_unlock(&script_lock);
}

static void read_environment(void)
{
    static const char *const names[] = { "open", "step", "draw", "preview" };
    const char *text = getenv("SAMTRACK_SCRIPT");
    unsigned us, after;
    char name[8];
    int status;

    for (; text && sscanf(text, "%7[a-z],%d,%u,%u", name, &status, &us, &after) == 4;
         text = (text = strchr(text, ';')) ? text + 1 : NULL)
        for (int i = 0; i < SCRIPTED_CALLS; i++)
            if (!strcmp(name, names[i]))
                scripted_set(i, status, us, after);
}

static int play(enum scripted_call call, struct sam_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned us;
    int status;

    pthread_once(&once, read_environment);
    pthread_mutex_lock(&script_lock);
    us = script[call].us;
    status = script[call].after ? SAM_OK : script[call].status;
    script[call].after -= script[call].after > 0;
    pthread_mutex_unlock(&script_lock);
    if (us)
        usleep(us);
    return status ? sam_fail(error, status, "as the script wants it") : SAM_OK;
}

// ---- objects

static struct scripted_object *find_object(struct sam_tracker *t, uint64_t id)
{
    for (int i = 0; id && i < t->params.max_objects; i++)
        if (t->object[i].id == id)
            return &t->object[i];
    return NULL;
}

static int unknown_id(uint64_t id, struct sam_error *error)
{
    return sam_fail(error, SAM_ENOTFOUND, "no object has the id %llu (any more)",
                    (unsigned long long) id);
}

static int check_alive(const struct sam_tracker *t, struct sam_error *error)
{
    if (!t)
        return sam_fail(error, SAM_EINVAL, "tracker is NULL");
    if (t->broken)
        return sam_fail(error, t->broken, "the tracker failed before and must be closed: %s",
                        t->broken_error.text);
    return SAM_OK;
}

// An object of a tracker that has not failed.
static int find_alive(struct sam_tracker *t, uint64_t id, struct scripted_object **o,
                      struct sam_error *error)
{
    const int status = check_alive(t, error);

    *o = status ? NULL : find_object(t, id);
    return status || *o ? status : unknown_id(id, error);
}

struct scripted_given *scripted_given_at(const struct scripted_object *o, int64_t frame)
{
    for (int i = 0; i < o->num_given; i++)
        if (o->given[i]->frame == frame)
            return o->given[i];
    return NULL;
}

static void drop_given(struct scripted_object *o, int i)
{
    free(o->given[i]);
    o->num_given--;
    memmove(&o->given[i], &o->given[i + 1], (o->num_given - i) * sizeof(o->given[0]));
}

struct scripted_given *scripted_give(struct scripted_object *o, int64_t frame)
{
    struct scripted_given *new = scripted_given_at(o, frame);
    int i;

    if (new)
        return new;
    if (!(new = calloc(1, sizeof(*new))))
        return NULL;
    if (o->num_given == SCRIPTED_PROMPTED) // the first one stays
        drop_given(o, 1);
    for (i = o->num_given; i > 0 && o->given[i - 1]->frame > frame; i--)
        o->given[i] = o->given[i - 1];
    o->given[i] = new;
    o->num_given++;
    new->frame = frame;
    return new;
}

void scripted_end(struct scripted_object *o)
{
    while (o->num_given)
        drop_given(o, 0);
    memset(o, 0, sizeof(*o));
}

void sam_tracker_clear(sam_tracker *t)
{
    for (int i = 0; t && !t->broken && i < t->params.max_objects; i++)
        if (t->object[i].id)
            scripted_end(&t->object[i]);
}

int sam_tracker_remove(sam_tracker *t, uint64_t id, struct sam_error *error)
{
    struct scripted_object *o;
    const int status = find_alive(t, id, &o, error);

    if (status)
        return status;
    scripted_end(o);
    return SAM_OK;
}

// ---- open and close

// It runs nothing: the reference's takes no memory and no threads.
static int open_queue(struct sam_tracker *t, struct sam_error *error)
{
    struct sam_params own = t->params;

    if (own.backend != SAM_BACKEND_CUDA)
        own.backend = SAM_BACKEND_REF;
    own.precision = SAM_PRECISION_FP32;
    return sam_queue_open_small(&t->queue, &own, 1, error);
}

static int open_tracker(struct sam_tracker *t, struct sam_error *error)
{
    const char *named = t->params.model_file;
    const int side = t->params.input_size ? t->params.input_size : SCRIPTED_SIDE;
    int status;

    if (!named && (status = sam_default_model(t->file, sizeof(t->file), error)))
        return status;
    if (named)
        snprintf(t->file, sizeof(t->file), "%s", named);
    if (access(t->file, R_OK))
        return sam_fail(error, SAM_EIO, "%.200s: cannot be opened: %s", t->file, strerror(errno));
    if ((status = play(SCRIPTED_OPEN, error)) || (status = open_queue(t, error)))
        return status;
    t->masks = (struct sam_mask_pool) { .side = side, .count = 1 };
    t->masks.bits = calloc(side, sam_mask_bytes(side));
    t->masks.taken = calloc(1, sizeof(bool));
    t->masks.column = calloc(side, sizeof(*t->masks.column));
    t->masks.row = calloc(side, sizeof(float));
    if (!t->masks.bits || !t->masks.taken || !t->masks.column || !t->masks.row)
        return sam_fail(error, SAM_ENOMEM, "no memory for masks of %d px", side);
    return SAM_OK;
}

int sam_tracker_plan(const struct sam_params *params, struct sam_plan *plan,
                     struct sam_error *error)
{
    const struct sam_plan all = { .total_bytes = sizeof(struct sam_tracker),
                                  .scratch_bytes = sizeof(struct sam_tracker),
                                  .image_size = params->input_size ? params->input_size
                                                                   : SCRIPTED_SIDE };
    const int status = sam_sized_check(plan, sizeof(all), sizeof(all), "plan", error);

    if (!status)
        sam_sized_write(plan, &all);
    return status;
}

int sam_tracker_open(sam_tracker **out, const struct sam_params *params, struct sam_error *error)
{
    const int64_t began = sam_now();
    struct sam_params own;
    struct sam_tracker *t;
    int status;

    *out = NULL;
    if ((status = sam_params_take(&own, params, error)))
        return status;
    if (!(t = calloc(1, sizeof(*t))))
        return sam_fail(error, SAM_ENOMEM, "no memory for a tracker");
    t->params = own;
    t->next_id = 1;
    t->frame = -1;
    if ((status = open_tracker(t, error))) {
        sam_tracker_close(&t);
        return status;
    }
    t->open_ns = sam_now() - began;
    *out = t;
    return SAM_OK;
}

void sam_tracker_close(sam_tracker **out)
{
    struct sam_tracker *t = out ? *out : NULL;

    if (!t)
        return;
    t->broken = 0;
    sam_tracker_clear(t);
    if (sam_queue_is_open(&t->queue))
        sam_queue_close(&t->queue);
    free(t->masks.bits);
    free(t->masks.taken);
    free(t->masks.column);
    free(t->masks.row);
    free(t);
    *out = NULL;
}

int sam_tracker_info(const sam_tracker *t, struct sam_info *info, struct sam_error *error)
{
    const int status = sam_sized_check(info, sizeof(*info), sizeof(*info), "info", error);

    if (status)
        return status;
    const struct sam_info all = {
        .model_file = t->file, .variant = "scripted",
        .backend = t->params.backend == SAM_BACKEND_REF ? "ref" : "cpu", .device = "none",
        .products = t->queue.products, .without = t->queue.without,
        .precision = t->params.precision == SAM_PRECISION_BF16 ? "bf16" : "fp32",
        .threads = t->params.threads ? t->params.threads : (int) sysconf(_SC_NPROCESSORS_ONLN),
        .image_size = t->masks.side,
        .mask_side = t->masks.side,
        .logits_side = t->masks.side / 4,
        .max_objects = t->params.max_objects, .bytes_planned = sizeof(*t),
        .bytes_used = sizeof(*t), .open_ns = t->open_ns,
    };
    sam_sized_write(info, &all);
    return SAM_OK;
}

int sam_tracker_reserve(sam_tracker *t, size_t bytes, struct sam_error *error)
{
    (void) bytes; // there is nothing that it could be too large for
    return check_alive(t, error);
}

// ---- prompts

static int64_t oldest_frame(const struct sam_tracker *t)
{
    const int64_t oldest = t->frame + 1 - t->params.history;

    return oldest > t->first_held ? oldest : t->first_held;
}

int sam_tracker_frames(sam_tracker *t, uint64_t id, uint64_t *oldest, uint64_t *next,
                       struct sam_error *error)
{
    const int status = check_alive(t, error);

    if (status)
        return status;
    if (id && !find_object(t, id))
        return unknown_id(id, error);
    *oldest = (uint64_t) oldest_frame(t);
    *next = (uint64_t) (t->frame + 1);
    return SAM_OK;
}

static int append(struct scripted_object *o, int64_t frame, const struct scripted_prompt *p,
                  struct sam_error *error)
{
    struct scripted_given *given = scripted_give(o, frame);
    int points = p->num_points;

    if (!given)
        return sam_fail(error, SAM_ENOMEM, "no memory for a prompt");
    for (int i = 0; i < given->count; i++)
        points += given->prompt[i].num_points;
    if (given->count == SAM_MAX_INTERACTIONS || points > SAM_MAX_POINTS)
        return sam_fail(error, SAM_EBUSY, "object %llu: %d prompts with %d points wait for the "
                        "frame already", (unsigned long long) o->id, given->count,
                        points - p->num_points);
    given->prompt[given->count++] = *p;
    return SAM_OK;
}

static int give(struct sam_tracker *t, struct scripted_object *o, const struct sam_prompt *p,
                struct sam_error *error)
{
    const bool is_new = !o->id;
    int64_t frame = t->frame + 1;
    struct scripted_prompt own;
    int status;

    if (p->answer)
        return sam_fail(error, SAM_EINVAL, "answer %d: a scripted object has none to take",
                        p->answer);
    if (p->has_frame && p->frame > (uint64_t) frame)
        return sam_fail(error, SAM_EINVAL, "prompt for frame %llu: expected at most %lld",
                        (unsigned long long) p->frame, (long long) frame);
    if (p->has_frame)
        frame = (int64_t) p->frame > oldest_frame(t) ? (int64_t) p->frame : oldest_frame(t);
    if ((status = scripted_read(&own, t, p, error)))
        return status;
    if (is_new)
        *o = (struct scripted_object) { .id = t->next_id, .done = -1, .next = frame,
                                        .born = frame };
    if ((status = append(o, frame, &own, error))) {
        if (is_new)
            scripted_end(o);
        return status;
    }
    t->next_id += is_new;
    o->next = frame < o->next ? frame : o->next;
    o->born = frame < o->born ? frame : o->born;
    return SAM_OK;
}

int sam_tracker_prompt(sam_tracker *t, const struct sam_prompt *prompt, uint64_t *id,
                       struct sam_error *error)
{
    int status = check_alive(t, error);
    struct scripted_object *o;
    struct sam_prompt own;

    if (status || (status = sam_sized_read(&own, sizeof(own), sizeof(own), prompt, "prompt",
                                           error)))
        return status;
    o = own.id ? find_object(t, own.id) : NULL;
    for (int i = 0; !own.id && !o && i < t->params.max_objects; i++)
        if (!t->object[i].id)
            o = &t->object[i];
    if (!o && own.id)
        return unknown_id(own.id, error);
    if (!o)
        return sam_fail(error, SAM_EFULL,
                        "no room for one more object: %d are tracked already, max_objects is %d",
                        t->params.max_objects, t->params.max_objects);
    status = give(t, o, &own, error);
    if (!status && id)
        *id = o->id;
    return status;
}

int sam_tracker_undo(sam_tracker *t, uint64_t id, struct sam_error *error)
{
    struct scripted_object *o;
    const int status = find_alive(t, id, &o, error);

    if (status)
        return status;
    struct scripted_given *last = o->given[o->num_given - 1];
    const bool is_held = last->frame >= oldest_frame(t);
    // On the current frame it is decoded again at once; on one before it, it is replayed.
    const bool is_shown = last->frame == t->frame && o->done == t->frame && o->next > t->frame;

    if (is_held && !is_shown && last->frame < o->next)
        o->next = last->frame;
    if ((is_held || is_shown) && --last->count > 0)
        return SAM_OK;
    drop_given(o, o->num_given - 1);
    if (!o->num_given)
        scripted_end(o);
    return SAM_OK;
}

// ---- answers to a click: there are none to choose from

int sam_tracker_answers(sam_tracker *t, uint64_t id, struct sam_answers *answers,
                        struct sam_error *error)
{
    static const struct sam_answers none;
    int status = sam_sized_check(answers, sizeof(none), sizeof(none), "answers", error);

    if (status || (status = check_alive(t, error)))
        return status;
    if (!find_object(t, id))
        return unknown_id(id, error);
    sam_sized_write(answers, &none);
    return SAM_OK;
}

int sam_tracker_take_answer(sam_tracker *t, uint64_t id, int answer, struct sam_error *error)
{
    const int status = check_alive(t, error);

    if (status)
        return status;
    if (!find_object(t, id))
        return unknown_id(id, error);
    return sam_fail(error, SAM_EINVAL, "answer %d: a scripted object has none to take", answer);
}

// ---- previews

static int find_previewed(const struct sam_tracker *t, const struct sam_prompt *p, int64_t *frame,
                          struct sam_error *error)
{
    *frame = t->frame;
    if (t->frame < t->first_held)
        return sam_fail(error, SAM_ENOTFOUND, "no frame is held");
    if (p->id || p->mask || p->mask_bits || (p->has_frame && p->frame > (uint64_t) t->frame))
        return sam_fail(error, SAM_EINVAL, "preview: expected points or a box of a new object on "
                        "a processed frame");
    if (p->has_frame && oldest_frame(t) <= t->frame)
        *frame = (int64_t) p->frame > oldest_frame(t) ? (int64_t) p->frame : oldest_frame(t);
    return SAM_OK;
}

static void draw_box(const struct sam_labels *l, const struct sam_tracker *t,
                     const struct sam_object *o)
{
    for (int y = 0; y < l->height; y++)
        for (int x = 0; x < l->width; x++) {
            const int px = x * t->width / l->width - o->x, py = y * t->height / l->height - o->y;
            l->data[(size_t) y * l->stride + x] = px >= 0 && px < o->width && py >= 0 &&
                                                  py < o->height;
        }
}

int sam_tracker_preview(sam_tracker *t, const struct sam_prompt *prompt,
                        const struct sam_labels *labels, struct sam_preview *preview,
                        struct sam_error *error)
{
    int status = sam_sized_check(preview, sizeof(*preview), sizeof(*preview), "preview", error);
    struct scripted_given given = { .count = 1 };
    struct sam_prompt own;
    int64_t frame;

    if (status || (status = check_alive(t, error)) ||
        (status = sam_sized_read(&own, sizeof(own), sizeof(own), prompt, "prompt", error)) ||
        (status = find_previewed(t, &own, &frame, error)) ||
        (status = scripted_read(&given.prompt[0], t, &own, error)) ||
        (status = play(SCRIPTED_PREVIEW, error)))
        return status;
    struct scripted_object *nobody = &t->object[SAM_MAX_OBJECTS];
    *nobody = (struct scripted_object) { .id = 1, .num_given = 1, .given = { &given },
                                         .done = frame, .born = frame, .next = t->frame + 1 };
    given.frame = frame;
    const struct sam_object o = scripted_describe(t, nobody);
    const struct sam_preview all = { .frame_index = (uint64_t) frame, .x = o.x, .y = o.y,
                                     .width = o.width, .height = o.height, .area = o.area,
                                     .iou = o.iou, .score = o.score };
    if (labels)
        draw_box(labels, t, &o);
    sam_sized_write(preview, &all);
    return SAM_OK;
}

// ---- frames

static void run_object(struct scripted_object *o)
{
    o->done = o->next++;
    o->turns--;
}

// Objects run on one frame; on two if they are behind; on one in which they are taken back. The one
// furthest behind has one more, or has a frame encoded that was only watched.
static int64_t give_turns(struct sam_tracker *t, int *encodings)
{
    struct scripted_object *last = NULL;

    for (int i = 0; i < t->params.max_objects; i++) {
        struct scripted_object *o = &t->object[i];
        const bool is_behind = o->id && o->next < t->frame;
        const bool returns = is_behind && o->next <= o->done;
        o->turns = is_behind && !returns ? 2 : 1;
        if (returns)
            o->done = o->next - 1;
        if (is_behind && (!last || o->next < last->next))
            last = o;
    }
    if (!last)
        return t->frame;
    *encodings = t->watched[last->next % SAM_MAX_HISTORY];
    last->turns += !*encodings;
    return last->next;
}

static void run_frames(struct sam_tracker *t, int64_t oldest, int encodings)
{
    for (int64_t frame = oldest; frame <= t->frame; frame++) {
        bool *watched = &t->watched[frame % SAM_MAX_HISTORY];
        const bool was_watched = *watched;
        if (was_watched && encodings <= 0)
            continue;
        for (int i = 0; i < t->params.max_objects; i++) {
            struct scripted_object *o = &t->object[i];
            if (!o->id || o->next != frame || o->turns <= 0)
                continue;
            run_object(o);
            t->num_replayed += frame < t->frame;
            *watched = false;
        }
        encodings -= was_watched && !*watched;
    }
}

void scripted_catch_up(struct sam_tracker *t)
{
    for (int i = 0; i < t->params.max_objects; i++)
        while (t->object[i].id && t->object[i].next <= t->frame)
            run_object(&t->object[i]);
}

static void list(struct sam_tracker *t, struct sam_result *out)
{
    out->frame_index = (uint64_t) t->frame;
    out->objects = t->shown;
    out->num_replayed = t->num_replayed;
    for (int i = 0; i < t->params.max_objects; i++)
        if (t->object[i].id) {
            t->shown[out->num_objects++] = scripted_describe(t, &t->object[i]);
            out->num_behind += t->object[i].next <= t->frame;
        }
}

static void begin_frame(struct sam_tracker *t, const struct sam_frame *frame, bool is_watched)
{
    t->frame++;
    t->watched[t->frame % SAM_MAX_HISTORY] = is_watched;
    t->width = frame->width;
    t->height = frame->height;
    t->num_replayed = 0;
}

int sam_tracker_step(sam_tracker *t, const struct sam_frame *frame, const struct sam_labels *labels,
                     struct sam_result *result, struct sam_error *error)
{
    int status = check_alive(t, error), encodings = 0;
    struct sam_frame own;

    if (status || (status = sam_frame_take(&own, &t->queue, frame, error)) ||
        (labels && (status = sam_labels_check(&t->queue, labels, error))))
        return status;
    const int64_t began = sam_now();
    if ((status = play(SCRIPTED_STEPS, &t->broken_error))) {
        if (error)
            *error = t->broken_error;
        t->broken = status == SAM_EDEVICE || status == SAM_EWEIGHTS ? status : 0;
        return status;
    }
    begin_frame(t, &own, false);
    const int64_t oldest = give_turns(t, &encodings);
    run_frames(t, oldest, encodings);
    if (labels)
        scripted_draw(t, labels);
    if (result) {
        struct sam_result all = { .times.total = sam_now() - began };
        list(t, &all);
        sam_sized_write(result, &all);
    }
    return SAM_OK;
}

int sam_tracker_watch(sam_tracker *t, const struct sam_frame *frame, struct sam_error *error)
{
    int status = check_alive(t, error);
    struct sam_frame own;

    if (status || (status = sam_frame_take(&own, &t->queue, frame, error)))
        return status;
    for (int i = 0; i < t->params.max_objects; i++)
        if (t->object[i].id)
            return sam_fail(error, SAM_EINVAL, "sam_tracker_watch: expected no objects, found %llu",
                            (unsigned long long) t->object[i].id);
    if (t->params.history)
        begin_frame(t, &own, true);
    return SAM_OK;
}

int sam_tracker_draw(sam_tracker *t, const struct sam_labels *labels, struct sam_error *error)
{
    int status = check_alive(t, error);

    if (status || (status = sam_labels_check(&t->queue, labels, error)) ||
        (status = play(SCRIPTED_DRAW, error)))
        return status;
    scripted_draw(t, labels);
    return SAM_OK;
}

// "shown" alone.
int sam_tracker_read(sam_tracker *t, uint64_t id, const char *name, float *dst, size_t capacity,
                     int shape[4], struct sam_error *error)
{
    const int side = t->masks.side / 4;
    const int status = check_alive(t, error);

    if (status)
        return status;
    for (int i = 0; i < t->params.max_objects; i++) {
        const struct scripted_object *o = &t->object[i];
        if (strcmp(name, "shown") || o->id != id || o->done < 0)
            continue;
        memcpy(shape, (int[]) { 1, 1, side, side }, 4 * sizeof(int));
        if (capacity < (size_t) side * side)
            return sam_fail(error, SAM_EINVAL, "capacity is %zu", capacity);
        const struct scripted_box b = scripted_box_at(o, o->done);
        for (int k = 0; k < side * side; k++) {
            const float x = (k % side + 0.5f) / side, y = (k / side + 0.5f) / side;
            dst[k] = x > b.x0 && x < b.x1 && y > b.y0 && y < b.y1 ? 4 : -4;
        }
        return SAM_OK;
    }
    return sam_fail(error, SAM_ENOTFOUND, "no %s of object %llu", name, (unsigned long long) id);
}

int sam_tracker_save(sam_tracker *t, const char *path, const void *note, size_t note_bytes,
                     struct sam_error *error)
{
    const int status = check_alive(t, error);

    return status ? status : scripted_save(t, path, note, note_bytes, error);
}

int sam_tracker_load(sam_tracker *t, const char *path, sam_note_reader *reader, void *priv,
                     struct sam_error *error)
{
    const int status = check_alive(t, error);

    return status ? status : scripted_load(t, path, reader, priv, error);
}

// ---- uploaders: all is in host memory

int sam_uploader_open(sam_uploader **out, const sam_tracker *t, struct sam_error *error)
{
    *out = NULL;
    return sam_fail(error, SAM_EUNSUPPORTED,
                    "the backend '%s' works in host memory: it needs no uploader",
                    sam_queue_backend(&t->queue));
}

void sam_uploader_close(sam_uploader **u)
{
    (void) u; // NULL, always
}

int sam_uploader_copy(sam_uploader *u, int place, const struct sam_frame *frame,
                      struct sam_frame *copy, struct sam_error *error)
{
    (void) u, (void) place, (void) frame, (void) copy;
    return sam_fail(error, SAM_EINVAL, "uploader is NULL");
}
