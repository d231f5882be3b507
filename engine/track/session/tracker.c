// SPDX-License-Identifier: MIT
// The public calls: they check the caller's arguments and manage objects and their ids.
#include <stdlib.h>
#include <string.h>

#include "session.h"
#include "track/memory/history.h"
#include "track/prompts/prompts.h"
#include "track/saved/saved.h"

const char *sam_version(void)
{
    return SAM_VERSION;
}

// ---- Objects.

// While the tracker is being opened the status names the cause; later it is SAM_EDEVICE.
int sam_finish(struct sam_tracker *t, struct sam_error *error)
{
    const int status = sam_queue_finish(&t->queue, &t->broken_error);

    if (status && error)
        *error = t->broken_error;
    if (status == SAM_EDEVICE)
        sam_model_disown(t->model);
    t->broken = status && t->is_open ? SAM_EDEVICE : status;
    return t->broken;
}

// The results of a frame, once they are there. Numbers that are not finite stay in memory for good,
// so they end the tracker, too.
static int take_results(struct sam_tracker *t, struct sam_error *error)
{
    if (sam_finish(t, error))
        return t->broken;
    t->broken = sam_results_take(t, &t->broken_error);
    if (t->broken && error)
        *error = t->broken_error;
    return t->broken;
}

static struct sam_tracked *find_object(struct sam_tracker *t, uint64_t id)
{
    for (int i = 0; id && i < t->params.max_objects; i++)
        if (t->mem.host.objects[i].id == id)
            return &t->mem.host.objects[i];
    return NULL;
}

static int unknown_id(uint64_t id, struct sam_error *error)
{
    return sam_fail(error, SAM_ENOTFOUND, "no object has the id %llu (any more)",
                    (unsigned long long) id);
}

static struct sam_tracked *free_slot(struct sam_tracker *t)
{
    for (int i = 0; i < t->params.max_objects; i++)
        if (!t->mem.host.objects[i].id)
            return &t->mem.host.objects[i];
    return NULL;
}

// frame: the first one that it is run on.
static void begin_object(struct sam_tracker *t, struct sam_tracked *o, int64_t frame)
{
    *o = (struct sam_tracked) { .id = t->next_id++, .slot = o->slot, .row = -1, .done = -1,
                                .next = frame, .born = frame };
    sam_history_init(t, o);
    sam_poison_object(t, o);
}

static void end_object(struct sam_tracker *t, struct sam_tracked *o)
{
    for (int i = 0; i < t->limits.history + 2; i++)
        sam_interactions_cut(sam_given(t, o, i), 0, &t->mem.host.masks);
    if (o->row >= 0)
        sam_row_blank(t, o->row);
    *o = (struct sam_tracked) { .slot = o->slot, .row = -1 };
}

// One more interaction of an object for a frame.
static int append(struct sam_tracker *t, struct sam_tracked *o, int64_t frame,
                  const struct sam_prompt *prompt, struct sam_error *error)
{
    const char *which = frame > t->frame ? "the next" : "that";
    struct sam_interactions *list = sam_given(t, o, frame);
    struct sam_interaction all;
    int status;

    if (list->count == SAM_MAX_INTERACTIONS)
        return sam_fail(error, SAM_EBUSY, "object %llu: %d prompts wait for %s frame already",
                        (unsigned long long) o->id, list->count, which);
    if ((prompt->mask || prompt->mask_bits) && !sam_mask_has_room(&t->mem.host.masks))
        sam_history_drop_mask(t);
    status = sam_interaction_read(&list->item[list->count], prompt, &t->mem.host.masks, error);
    if (status)
        return status;
    if (sam_interactions_points(list, list->count + 1, &all) < 0)
        return sam_fail(error, SAM_EBUSY,
                        "object %llu: its prompts for %s frame have more than %d points",
                        (unsigned long long) o->id, which, SAM_MAX_POINTS);
    if (all.answer && !sam_interactions_is_click(&all))
        return sam_fail(error, SAM_EINVAL, "answer %d of a point that adds to others for %s frame: "
                        "the model answers only a single click with several masks", all.answer,
                        which);
    list->count++;
    return SAM_OK;
}

// The frame that a prompt for an object (NULL: a new one) is applied to.
static int find_frame(const struct sam_tracker *t, const struct sam_tracked *o,
                      const struct sam_prompt *prompt, int64_t *frame, struct sam_error *error)
{
    const uint64_t next = (uint64_t) (t->frame + 1);

    *frame = t->frame + 1;
    if (!prompt->has_frame)
        return SAM_OK;
    if (prompt->frame > next)
        return sam_fail(error, SAM_EINVAL,
                        "prompt for frame %llu: expected a frame that was processed or the next "
                        "one, %llu", (unsigned long long) prompt->frame, (unsigned long long) next);
    *frame = sam_history_oldest(t, o);
    if ((int64_t) prompt->frame > *frame)
        *frame = (int64_t) prompt->frame;
    return SAM_OK;
}

static void warn_of_age(const struct sam_tracker *t, const struct sam_tracked *o,
                        const struct sam_prompt *prompt, int64_t frame)
{
    if (prompt->has_frame && prompt->frame < (uint64_t) frame)
        sam_log(&t->queue.log, SAM_LOG_WARNING,
                "object %llu: a prompt for frame %llu is applied to frame %lld, the oldest one "
                "that it can be applied to; history is %d", (unsigned long long) o->id,
                (unsigned long long) prompt->frame, (long long) frame, t->limits.history);
}

static int give_prompt(struct sam_tracker *t, const struct sam_prompt *given, uint64_t *id,
                       struct sam_error *error)
{
    struct sam_prompt own;
    struct sam_tracked *o;
    int64_t frame;
    int status = sam_sized_read(&own, sizeof(own), sizeof(own), given, "prompt", error);

    if (status)
        return status;
    const struct sam_prompt *prompt = &own;
    o = prompt->id ? find_object(t, prompt->id) : free_slot(t);
    if (!o && prompt->id)
        return unknown_id(prompt->id, error);
    if (!o)
        return sam_fail(error, SAM_EFULL,
                        "no room for one more object: %d are tracked already, max_objects is %d",
                        t->params.max_objects, t->params.max_objects);
    if ((status = find_frame(t, o->id ? o : NULL, prompt, &frame, error)) ||
        (status = append(t, o, frame, prompt, error)))
        return status;
    if (!o->id)
        begin_object(t, o, frame);
    sam_history_return(o, frame);
    warn_of_age(t, o, prompt, frame);
    if (id)
        *id = o->id;
    return SAM_OK;
}

int sam_tracker_prompt(sam_tracker *t, const struct sam_prompt *prompt, uint64_t *id,
                       struct sam_error *error)
{
    const int status = sam_enter(t, error);

    return status ? status : sam_leave(t, give_prompt(t, prompt, id, error));
}

static int tell_frames(struct sam_tracker *t, uint64_t id, uint64_t *oldest, uint64_t *next,
                       struct sam_error *error)
{
    const struct sam_tracked *o = find_object(t, id);

    if (!oldest || !next)
        return sam_fail(error, SAM_EINVAL, "oldest or next is NULL");
    if (id && !o)
        return unknown_id(id, error);
    *oldest = (uint64_t) sam_history_oldest(t, o);
    *next = (uint64_t) (t->frame + 1);
    return SAM_OK;
}

int sam_tracker_frames(sam_tracker *t, uint64_t id, uint64_t *oldest, uint64_t *next,
                       struct sam_error *error)
{
    const int status = sam_enter(t, error);

    return status ? status : sam_leave(t, tell_frames(t, id, oldest, next, error));
}

static int remove_object(struct sam_tracker *t, uint64_t id, struct sam_error *error)
{
    struct sam_tracked *o = find_object(t, id);

    if (!o)
        return unknown_id(id, error);
    end_object(t, o);
    return SAM_OK;
}

int sam_tracker_remove(sam_tracker *t, uint64_t id, struct sam_error *error)
{
    const int status = sam_enter(t, error);

    return status ? status : sam_leave(t, remove_object(t, id, error));
}

static void end_all(struct sam_tracker *t)
{
    for (int i = 0; i < t->params.max_objects; i++)
        if (t->mem.host.objects[i].id)
            end_object(t, &t->mem.host.objects[i]);
}

void sam_tracker_clear(sam_tracker *t)
{
    if (!t || t->broken)
        return;
    sam_queue_enter(&t->queue);
    end_all(t);
    sam_queue_leave(&t->queue);
}

static void cut_last(struct sam_tracker *t, struct sam_interactions *given)
{
    sam_interactions_cut(given, given->count - 1, &t->mem.host.masks);
}

// Run an object once more on the current frame, whose features are still held.
static void run_again(struct sam_tracker *t, struct sam_tracked *o)
{
    sam_bank_drop_latest(&o->bank, t->frame + 1);
    sam_step_again(t, o);
    sam_results_fetch(t);
    take_results(t, NULL);
}

// The last prompt of the current frame: decode what is left.
static void undo_current(struct sam_tracker *t, struct sam_tracked *o)
{
    struct sam_interactions *given = sam_given(t, o, t->frame);

    cut_last(t, given);
    if (o->was_tracked || given->count)
        run_again(t, o);
    else
        end_object(t, o);
}

// The latest prompted frame is gone: forget what was remembered of it.
static void undo_past(struct sam_tracker *t, struct sam_tracked *o)
{
    if (!sam_bank_drop_latest(&o->bank, o->next))
        end_object(t, o);
}

// The last prompt of a frame that it can be taken back to, or of one that it comes to.
static void undo_held(struct sam_tracker *t, struct sam_tracked *o, int64_t frame)
{
    cut_last(t, sam_given(t, o, frame));
    if (frame < o->next)
        sam_history_return(o, frame);
    if (!sam_history_is_left(t, o))
        end_object(t, o);
}

// Whether the last prompt of an object is one of the current frame, as it shows it.
static bool shows_prompt(const struct sam_tracker *t, const struct sam_tracked *o)
{
    return t->holds_frame && o->done == t->frame && o->next > t->frame &&
           sam_given(t, o, t->frame)->count && !sam_given(t, o, t->frame + 1)->count;
}

static int undo(struct sam_tracker *t, uint64_t id, struct sam_error *error)
{
    struct sam_tracked *o = find_object(t, id);

    if (!o)
        return unknown_id(id, error);
    const int64_t frame = sam_history_prompted(t, o);
    o->answered.taken = 0;
    if (shows_prompt(t, o))
        undo_current(t, o);
    else if (frame >= 0)
        undo_held(t, o, frame);
    else
        undo_past(t, o);
    if (t->broken) // while decoding again
        return sam_fail(error, t->broken, "%s", t->broken_error.text);
    return sam_finish(t, error);
}

int sam_tracker_undo(sam_tracker *t, uint64_t id, struct sam_error *error)
{
    const int status = sam_enter(t, error);

    return status ? status : sam_leave(t, undo(t, id, error));
}

// ---- Frames.

enum { MAX_BOX_BYTES = SAM_MAX_OBJECTS * sizeof(int32_t[5]) + 64 }; // and what aligns it

// SAM_ENOMEM leaves the tracker as it was.
static int reserve(struct sam_tracker *t, size_t bytes, struct sam_error *error)
{
    const size_t more = sam_queue_reserve_bytes(&t->queue, bytes);
    struct sam_plan plan = t->plan;
    int status;

    if (!more)
        return SAM_OK;
    plan.scratch_bytes += more;
    plan.total_bytes += more;
    if ((status = sam_plan_check(&plan, t->params.budget_mib, error)))
        return status;
    if (!(status = sam_queue_reserve(&t->queue, bytes, error)))
        t->plan = plan;
    return t->queue.status ? sam_finish(t, error) : status;
}

int sam_reserve_for(struct sam_tracker *t, const struct sam_frame *frame,
                       const struct sam_labels *labels, struct sam_error *error)
{
    const size_t in = frame && !frame->on_device ? sam_frame_bytes(frame) : 0;
    const size_t out =
        labels && !labels->on_device ? (size_t) labels->width * labels->height : 0;

    if (frame && t->params.edges != SAM_EDGES_NONE) // its luma, the map and boxes at once
        return reserve(t, in + out + MAX_BOX_BYTES, error);
    return reserve(t, in > out ? in : out, error);
}

int sam_tracker_reserve(sam_tracker *t, size_t bytes, struct sam_error *error)
{
    const int status = sam_enter(t, error);

    if (status)
        return status;
    if (t->params.edges != SAM_EDGES_NONE && bytes < SIZE_MAX / 2 - MAX_BOX_BYTES)
        bytes = 2 * bytes + MAX_BOX_BYTES;
    return sam_leave(t, reserve(t, bytes, error));
}

static int run_step(struct sam_tracker *t, const struct sam_frame *frame,
                    const struct sam_labels *labels, struct sam_result *result,
                    struct sam_error *error)
{
    const int64_t began = sam_now();
    struct sam_frame own;
    int status;

    if ((status = sam_frame_take(&own, &t->queue, frame, error)) ||
        (labels && (status = sam_labels_check(&t->queue, labels, error))) ||
        (status = sam_reserve_for(t, &own, labels, error)))
        return status;
    sam_replay_step(t, &own);
    const int64_t drawing = sam_now();
    sam_results_fetch(t);
    sam_results_draw(t, &own, labels, result != NULL);
    status = take_results(t, error);
    if (status)
        return status;
    t->times.masks = sam_now() - drawing;
    t->times.total = sam_now() - began;
    if (result) {
        struct sam_result all;
        sam_results_list(t, &all);
        sam_sized_write(result, &all);
    }
    return SAM_OK;
}

int sam_tracker_step(sam_tracker *t, const struct sam_frame *frame,
                     const struct sam_labels *labels, struct sam_result *result,
                     struct sam_error *error)
{
    static const struct sam_result none;
    int status;

    if (result) {
        if ((status = sam_sized_check(result, sizeof(*result), sizeof(*result), "result", error)))
            return status;
        sam_sized_write(result, &none);
    }
    status = sam_enter_frame(t, error);
    return status ? status : sam_leave(t, run_step(t, frame, labels, result, error));
}

static int watch(struct sam_tracker *t, const struct sam_frame *frame, struct sam_error *error)
{
    struct sam_frame own;
    int status;

    if ((status = sam_frame_take(&own, &t->queue, frame, error)))
        return status;
    for (int i = 0; i < t->params.max_objects; i++)
        if (t->mem.host.objects[i].id)
            return sam_fail(error, SAM_EINVAL, "sam_tracker_watch: expected no objects, found %llu",
                            (unsigned long long) t->mem.host.objects[i].id);
    if (!t->limits.history || (status = sam_reserve_for(t, &own, NULL, error)))
        return status;
    sam_step_watch(t, &own);
    return sam_finish(t, error);
}

int sam_tracker_watch(sam_tracker *t, const struct sam_frame *frame, struct sam_error *error)
{
    const int status = sam_enter(t, error);

    return status ? status : sam_leave(t, watch(t, frame, error));
}

static int draw(struct sam_tracker *t, const struct sam_labels *labels, struct sam_error *error)
{
    int status;

    if (!labels)
        return sam_fail(error, SAM_EINVAL, "labels is NULL");
    if ((status = sam_labels_check(&t->queue, labels, error)) ||
        (status = sam_reserve_for(t, NULL, labels, error)))
        return status;
    sam_results_draw(t, NULL, labels, false);
    return sam_finish(t, error);
}

int sam_tracker_draw(sam_tracker *t, const struct sam_labels *labels, struct sam_error *error)
{
    const int status = sam_enter(t, error);

    return status ? status : sam_leave(t, draw(t, labels, error));
}

// ---- Answers.

static int check_answer(const struct sam_tracked *o, int answer, struct sam_error *error)
{
    if (answer < 1 || answer > SAM_ANSWERS)
        return sam_fail(error, SAM_EINVAL, "answer %d: expected 1 to %d", answer, SAM_ANSWERS);
    if (o && !o->answered.taken)
        return sam_fail(error, SAM_EINVAL, "answer %d: there are no answers now: the object's last "
                        "prompts were not a single click, or were undone", answer);
    return SAM_OK;
}

static int tell_answers(struct sam_tracker *t, uint64_t id, struct sam_answers *answers,
                        struct sam_error *error)
{
    const struct sam_tracked *o = find_object(t, id);
    int32_t box[SAM_ANSWERS][5] = { 0 };

    if (!o)
        return unknown_id(id, error);
    sam_answers_measure(t, o, box);
    if (sam_finish(t, error))
        return t->broken;
    const struct sam_answers all = sam_answers_list(t, o, box);
    sam_sized_write(answers, &all);
    return SAM_OK;
}

int sam_tracker_answers(sam_tracker *t, uint64_t id, struct sam_answers *answers,
                        struct sam_error *error)
{
    int status = sam_sized_check(answers, sizeof(*answers), sizeof(*answers), "answers", error);

    if (status || (status = sam_enter(t, error)))
        return status;
    return sam_leave(t, tell_answers(t, id, answers, error));
}

static int draw_answer(struct sam_tracker *t, uint64_t id, int answer,
                       const struct sam_labels *labels, struct sam_error *error)
{
    const struct sam_tracked *o = find_object(t, id);
    int status;

    if (!o)
        return unknown_id(id, error);
    if ((status = check_answer(o, answer, error)) ||
        (status = sam_labels_check(&t->queue, labels, error)) ||
        (status = sam_reserve_for(t, NULL, labels, error)))
        return status;
    sam_answers_draw(t, o, answer, labels);
    return sam_finish(t, error);
}

int sam_tracker_draw_answer(sam_tracker *t, uint64_t id, int answer,
                            const struct sam_labels *labels, struct sam_error *error)
{
    int status = labels ? SAM_OK : sam_fail(error, SAM_EINVAL, "labels is NULL");

    if (status || (status = sam_enter(t, error)))
        return status;
    return sam_leave(t, draw_answer(t, id, answer, labels, error));
}

static int take_answer(struct sam_tracker *t, uint64_t id, int answer, struct sam_error *error)
{
    struct sam_tracked *o = find_object(t, id);

    if (!o)
        return unknown_id(id, error);
    const bool is_shown = shows_prompt(t, o);
    const int64_t frame = is_shown ? t->frame : sam_history_prompted(t, o);
    struct sam_interaction *click = frame >= 0 ? sam_answers_click(t, o, frame) : NULL;
    int status = check_answer(NULL, answer, error);

    if (status)
        return status;
    if (frame < 0)
        return sam_fail(error, SAM_EINVAL, "answer %d: the frame of the object's last prompts is "
                        "not held any more, history is %d", answer, t->limits.history);
    if (!click)
        return sam_fail(error, SAM_EINVAL, "answer %d: the object's last prompts are not a single "
                        "click, which alone the model answers with several masks", answer);
    click->answer = answer;
    if (is_shown)
        run_again(t, o);
    else
        sam_history_return(o, frame);
    if (t->broken) // while decoding again
        return sam_fail(error, t->broken, "%s", t->broken_error.text);
    return sam_finish(t, error);
}

int sam_tracker_take_answer(sam_tracker *t, uint64_t id, int answer, struct sam_error *error)
{
    const int status = sam_enter(t, error);

    return status ? status : sam_leave(t, take_answer(t, id, answer, error));
}

// ---- Reading.

// Copy one tensor of the device, `rows` x `c` as stored, to floats; c first where wanted.
static int copy_out(struct sam_tracker *t, struct sam_tensor x, bool channels_first, float *dst,
                    size_t capacity, const int wanted[4], int shape[4], struct sam_error *error)
{
    const size_t count = sam_count(&x), rows = sam_rows(&x), c = (size_t) x.c;

    memcpy(shape, wanted, 4 * sizeof(int));
    if (capacity < count)
        return sam_fail(error, SAM_EINVAL, "the tensor has %zu numbers, room is for %zu", count,
                        capacity);
    sam_queue_download(&t->queue, t->mem.host.staging, x.data, sam_tensor_bytes(&x));
    x.data = t->mem.host.staging;
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < c; k++)
            dst[channels_first ? k * rows + r : r * c + k] = sam_load(&x, r * c + k);
    return sam_finish(t, error);
}

static int read_result(struct sam_tracker *t, const struct sam_tracked *o, const char *name,
                       float *dst, size_t capacity, int shape[4], struct sam_error *error)
{
    const struct sam_state *s = &t->mem.state;
    const int side = sam_logits_side(&t->model->config), h = sam_grid(&t->model->config);
    const struct sam_bank_slots slots = sam_bank_find(&o->bank, sam_bank_turn(&o->bank, o->done));
    const int one[4] = { 1, 1, 1, 1 };

    if (!strcmp(name, "low_res"))
        return copy_out(t, sam_slice(s->low_res, o->row), false, dst, capacity,
                        (int[]) { 1, 1, side, side }, shape, error);
    if (!strcmp(name, "shown"))
        return copy_out(t, sam_tidied(t, sam_slice(s->low_res, o->row), 1), false, dst, capacity,
                        (int[]) { 1, 1, side, side }, shape, error);
    if (!strcmp(name, "score"))
        return copy_out(t, sam_slice(s->score, o->row), false, dst, capacity, one,
                        shape, error);
    if (!strcmp(name, "pointer") && slots.pointer >= 0)
        return copy_out(t, sam_slice(s->pointers, slots.pointer), false, dst, capacity,
                        (int[]) { 1, 1, 1, s->pointers.c }, shape, error);
    const bool is_map = !t->model->compressor; // else rows
    if (!strcmp(name, "memory") && slots.map >= 0)
        return copy_out(t, sam_slice(s->maps, slots.map), is_map, dst, capacity,
                        is_map ? (int[]) { 1, s->maps.c, h, h }
                               : (int[]) { 1, 1, s->maps.w, s->maps.c }, shape, error);
    return sam_stage_read(t, o->id, name, dst, capacity, shape, error);
}

static int read_tensor(struct sam_tracker *t, uint64_t id, const char *name, float *dst,
                       size_t capacity, int shape[4], struct sam_error *error)
{
    if (!name || !dst || !shape)
        return sam_fail(error, SAM_EINVAL, "name, dst or shape is NULL");
    const struct sam_tracked *o = find_object(t, id);
    if (o && o->row >= 0 && t->holds_frame)
        return read_result(t, o, name, dst, capacity, shape, error);
    return sam_stage_read(t, id, name, dst, capacity, shape, error);
}

int sam_tracker_read(sam_tracker *t, uint64_t id, const char *name, float *dst, size_t capacity,
                     int shape[4], struct sam_error *error)
{
    const int status = sam_enter(t, error);

    return status ? status : sam_leave(t, read_tensor(t, id, name, dst, capacity, shape, error));
}

// ---- Files.

static int save(struct sam_tracker *t, const char *path, const void *note, size_t note_bytes,
                struct sam_error *error)
{
    int status;

    sam_replay_all(t);
    if ((status = sam_finish(t, error)))
        return status;
    if ((t->broken = sam_results_check(t, &t->broken_error)))
        return sam_fail(error, t->broken, "%s", t->broken_error.text);
    status = sam_saved_write(t, path, note, note_bytes, error);
    return status ? status : sam_finish(t, error);
}

int sam_tracker_save(sam_tracker *t, const char *path, const void *note, size_t note_bytes,
                     struct sam_error *error)
{
    const int status = sam_enter(t, error);

    return status ? status : sam_leave(t, save(t, path, note, note_bytes, error));
}

static int load(struct sam_tracker *t, const char *path, sam_note_reader *reader, void *priv,
                struct sam_error *error)
{
    struct sam_saved saved;
    size_t bytes;
    int status = sam_saved_read(&saved, t, path, error);

    if (status)
        return status;
    const void *note = sam_saved_note(&saved, &bytes);
    if (reader && reader(priv, note, bytes)) {
        status = sam_fail(error, SAM_EFORMAT, "%s: its note of %zu bytes was refused",
                          sam_text_end(path, 72), bytes);
    } else {
        end_all(t);
        sam_stages_begin(t->stages);
        sam_saved_apply(&saved, t);
        status = sam_finish(t, error);
    }
    sam_saved_free(&saved);
    return status;
}

int sam_tracker_load(sam_tracker *t, const char *path, sam_note_reader *reader, void *priv,
                     struct sam_error *error)
{
    const int status = sam_enter(t, error);

    return status ? status : sam_leave(t, load(t, path, reader, priv, error));
}
