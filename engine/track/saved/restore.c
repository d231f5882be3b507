// SPDX-License-Identifier: MIT
// Reads a tracker's state from a file. The file is untrusted: it is read once, its size is bounded
// by what this tracker could have written, and all of it is checked before anything is changed.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "saved.h"
#include "track/memory/history.h"
#include "track/tracker.h"

// What is left of the bytes. bad: they ended too early.
struct cursor {
    uint8_t *at;
    size_t left;
    bool bad;
};

// An object as read; its tensors are still in the bytes.
struct saved_object {
    uint64_t id;
    uint32_t slot, state, absent, lost, shown, num_cond, num_recent, num_pending;
    float iou, score;
    struct sam_saved_frames frames;
    struct sam_interactions pending; // mask 0: it has one, whose bits are:
    const uint8_t *mask[SAM_MAX_INTERACTIONS];
};

static uint8_t *take(struct cursor *c, size_t bytes)
{
    uint8_t *at = c->at;

    if (c->bad || bytes > c->left) {
        c->bad = true;
        return NULL;
    }
    c->at += bytes;
    c->left -= bytes;
    return at;
}

static uint64_t get(struct cursor *c, size_t bytes)
{
    const uint8_t *p = take(c, bytes);
    uint64_t x = 0;

    for (size_t i = 0; p && i < bytes; i++)
        x |= (uint64_t) p[i] << (8 * i);
    return x;
}

static uint32_t get32(struct cursor *c)
{
    return (uint32_t) get(c, 4);
}

static float get_float(struct cursor *c)
{
    const uint32_t bits = get32(c);
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

static int64_t get_signed(struct cursor *c)
{
    const uint64_t x = get(c, 8);

    return x <= INT64_MAX ? (int64_t) x : -(int64_t) (UINT64_MAX - x) - 1;
}

// ---- The header.

static bool sum_fits(const uint8_t *data, size_t bytes)
{
    struct cursor c = { (uint8_t *) data + bytes, SAM_SAVED_SUM, false };
    struct sam_hash h;

    sam_hash_begin(&h);
    sam_hash_add(&h, data, bytes);
    return get(&c, SAM_SAVED_SUM) == sam_hash_end(&h);
}

static void get_header(struct sam_saved_header *h, uint8_t *bytes)
{
    struct cursor c = { bytes + 8, SAM_SAVED_HEADER - 8, false };

    h->version = get32(&c);
    h->note_bytes = get32(&c);
    h->bytes = get(&c, 8);
    h->identity = get(&c, 8);
    uint32_t *const sizes[] = { &h->image_size, &h->num_maskmem, &h->num_pointers, &h->map_tokens,
                                &h->map_width, &h->pointer_width, &h->map_type,
                                &h->pointer_type };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        *sizes[i] = get32(&c);
    h->frame = get_signed(&c);
    h->next_id = get(&c, 8);
    uint32_t *const counts[] = { &h->frame_width, &h->frame_height, &h->num_objects, &h->slots,
                                 &h->cond, &h->masks };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        *counts[i] = get32(&c);
}

static int check_model(const struct sam_tracker *t, const struct sam_saved_header *h,
                       const char *file, struct sam_error *error)
{
    const struct sam_config *c = &t->model->config;

    if (h->image_size != (uint32_t) c->image_size)
        return sam_fail(error, SAM_EFORMAT, "%s: saved with an input of %" PRIu32 " px, expected "
                        "the tracker's %d px (input-size sets it)", file, h->image_size,
                        c->image_size);
    if (h->identity != t->model->identity)
        return sam_fail(error, SAM_EFORMAT, "%s: saved with another model: expected %016" PRIx64
                        " (%s), found %016" PRIx64, file, t->model->identity, c->variant,
                        h->identity);
    const uint32_t found[] = { h->num_maskmem, h->num_pointers, h->map_tokens, h->map_width,
                               h->pointer_width, h->map_type, h->pointer_type };
    const int wanted[] = { t->limits.num_maskmem, t->limits.num_pointers, c->memory.map_tokens,
                           c->memory.width, c->d_model, 16, 32 };
    static const char *const what[] = { "maps attended", "pointers attended", "rows in a map",
                                        "numbers in a row", "numbers in a pointer",
                                        "bits in a number of a map",
                                        "bits in a number of a pointer" };
    for (int i = 0; i < 7; i++)
        if (found[i] != (uint32_t) wanted[i])
            return sam_fail(error, SAM_EFORMAT, "%s: saved with %" PRIu32 " %s, expected %d", file,
                            found[i], what[i], wanted[i]);
    return SAM_OK;
}

static int check_room(const struct sam_tracker *t, const struct sam_saved_header *h,
                      const char *file, struct sam_error *error)
{
    const int64_t most = INT64_MAX / 2;

    if (h->slots > (uint32_t) t->params.max_objects ||
        h->num_objects > (uint32_t) t->params.max_objects)
        return sam_fail(error, SAM_EFULL, "%s: needs room for %" PRIu32 " objects, max_objects is "
                        "%d", file, h->slots > h->num_objects ? h->slots : h->num_objects,
                        t->params.max_objects);
    if (h->cond > (uint32_t) t->limits.max_cond)
        return sam_fail(error, SAM_EFULL, "%s: needs room for %" PRIu32 " prompted frames of one "
                        "object, max_cond_frames is %d", file, h->cond, t->limits.max_cond);
    if (h->masks > (uint32_t) t->mem.host.masks.count)
        return sam_fail(error, SAM_EFULL, "%s: needs room for %" PRIu32 " masks that wait, found "
                        "%d with max_objects %d", file, h->masks, t->mem.host.masks.count,
                        t->params.max_objects);
    if (h->frame < -1 || h->frame > most || h->next_id < 1 || h->next_id > (uint64_t) most ||
        h->frame_width > SAM_MAX_SIDE || h->frame_height > SAM_MAX_SIDE)
        return sam_fail(error, SAM_EFORMAT, "%s: last frame %" PRId64 " of %" PRIu32 " x %" PRIu32
                        " px, next id %" PRIu64 ": out of range", file, h->frame, h->frame_width,
                        h->frame_height, h->next_id);
    return SAM_OK;
}

static uint64_t kept_bytes(const struct sam_tracker *t)
{
    uint64_t bytes = 0;

    for (int i = 0; i < SAM_ALL_KEPT; i++)
        bytes += (uint64_t) sam_refine_kept(t->mem.refine, i)->c * sizeof(float);
    return bytes;
}

// The size of the largest file with such a header.
static uint64_t most_bytes(const struct sam_tracker *t, const struct sam_saved_header *h)
{
    const struct sam_state *s = &t->mem.state;
    const struct sam_tensor map = sam_slice(s->maps, 0), pointer = sam_slice(s->pointers, 0);
    const struct sam_tensor logits = sam_slice(s->low_res, 0);
    const uint64_t frames = SAM_SAVED_COND + SAM_MAX_POINTERS + SAM_MAX_AGED + 1;
    const uint64_t prompt = SAM_SAVED_PROMPT + (SAM_MAX_POINTS + 2) * SAM_SAVED_POINT;
    const uint64_t maps = (uint64_t) t->limits.max_cond + 1 + (uint64_t) t->limits.num_maskmem;
    const uint64_t pointers = (uint64_t) t->limits.max_cond + 1 + (uint64_t) t->limits.num_pointers;
    const uint64_t object = SAM_SAVED_OBJECT + 8 * frames + SAM_MAX_INTERACTIONS * prompt +
                            maps * sam_tensor_bytes(&map) + pointers * sam_tensor_bytes(&pointer) +
                            sam_tensor_bytes(&logits) + kept_bytes(t);

    return SAM_SAVED_HEADER + SAM_MAX_NOTE + SAM_SAVED_SUM + h->num_objects * object +
           h->masks * (uint64_t) sam_mask_bytes(t->mem.host.masks.side);
}

static int read_header(struct sam_saved *saved, const struct sam_tracker *t,
                       const struct sam_file *f, struct sam_error *error)
{
    struct sam_saved_header *h = &saved->header;
    uint8_t bytes[SAM_SAVED_HEADER];
    int status;

    if (f->id.size < SAM_SAVED_HEADER + SAM_SAVED_SUM)
        return sam_fail(error, SAM_EFORMAT, "%s: not a saved tracker: expected at least %d bytes, "
                        "found %" PRIu64, f->label, SAM_SAVED_HEADER + SAM_SAVED_SUM, f->id.size);
    if ((status = sam_file_read(f, 0, bytes, sizeof(bytes), "header", error)))
        return status;
    if (memcmp(bytes, SAM_SAVED_MAGIC, 8) != 0)
        return sam_fail(error, SAM_EFORMAT, "%s: not a saved tracker: expected it to begin with "
                        "'%s', found '%.8s'", f->label, SAM_SAVED_MAGIC, (const char *) bytes);
    get_header(h, bytes);
    if (h->version != SAM_SAVED_VERSION)
        return sam_fail(error, SAM_EFORMAT, "%s: a saved tracker of version %" PRIu32 ", expected "
                        "%d", f->label, h->version, SAM_SAVED_VERSION);
    if (!sum_fits(bytes, SAM_SAVED_HEADER - SAM_SAVED_SUM))
        return sam_fail(error, SAM_EFORMAT, "%s: damaged: the checksum of its header does not "
                        "fit", f->label);
    if (h->bytes != f->id.size)
        return sam_fail(error, SAM_EFORMAT, "%s: expected %" PRIu64 " bytes, found %" PRIu64,
                        f->label, h->bytes, f->id.size);
    if ((status = check_model(t, h, f->label, error)) ||
        (status = check_room(t, h, f->label, error)))
        return status;
    if (h->note_bytes > SAM_MAX_NOTE || h->bytes > most_bytes(t, h) ||
        h->bytes < (uint64_t) SAM_SAVED_HEADER + h->note_bytes + SAM_SAVED_SUM)
        return sam_fail(error, SAM_EFORMAT, "%s: a note of %" PRIu32 " bytes and %" PRIu32
                        " objects in %" PRIu64 " bytes: out of range", f->label, h->note_bytes,
                        h->num_objects, h->bytes);
    return SAM_OK;
}

// ---- Objects.

static void get_frames(struct cursor *c, int64_t *list, int count)
{
    for (int i = 0; i < count; i++)
        list[i] = get_signed(c);
}

// A prompt of the next frame; false: no tracker has one like it.
static bool get_prompt(struct cursor *c, struct saved_object *o, int i,
                       const struct sam_mask_pool *pool)
{
    struct sam_interaction *one = &o->pending.item[i];
    const uint32_t points = get32(c), box = get32(c), more = get32(c);
    const bool mask = more == 1;
    const int answer = more > 1 && more <= 1 + SAM_ANSWERS ? (int) more - 1 : 0;

    if (c->bad || points > SAM_MAX_POINTS + 2 * box || box > 1 || more > 1 + SAM_ANSWERS ||
        (mask ? points || box : points < 1 + box) || (answer && (box || points > 1)))
        return false;
    *one = (struct sam_interaction) { .num_points = (int) points, .has_box = box, .mask = -1,
                                      .answer = answer };
    for (uint32_t k = 0; k < points; k++) {
        for (int axis = 0; axis < 2; axis++) {
            const float x = get_float(c);
            if (!(x >= 0 && x <= (float) sam_input_side(pool))) // a NaN neither
                return false;
            one->xy[k][axis] = x;
        }
        const uint32_t label = get32(c);
        const bool is_corner = box && k < 2;
        if (is_corner ? label != SAM_LABEL_BOX0 + k : label > SAM_LABEL_POSITIVE)
            return false;
        one->label[k] = (int) label;
    }
    if (mask) {
        one->mask = 0;
        o->mask[i] = take(c, sam_mask_bytes(pool->side));
    }
    return !c->bad;
}

static bool get_pending(struct cursor *c, struct saved_object *o,
                        const struct sam_mask_pool *pool)
{
    struct sam_interaction all;

    o->num_pending = get32(c);
    if (c->bad || o->num_pending > SAM_MAX_INTERACTIONS)
        return false;
    o->pending.count = (int) o->num_pending;
    for (int i = 0; i < o->pending.count; i++)
        if (!get_prompt(c, o, i, pool))
            return false;
    for (int i = 1; i <= o->pending.count; i++)
        if (sam_interactions_points(&o->pending, i, &all) < 0 ||
            (all.answer && !sam_interactions_is_click(&all)))
            return false;
    return true;
}

static bool ascends(const int64_t *frame, int count, int64_t least, int64_t most)
{
    for (int i = 0; i < count; i++)
        if (frame[i] < (i ? frame[i - 1] + 1 : least) || frame[i] > most)
            return false;
    return true;
}

// Frames that a bank can hold, as sam_bank_track() and sam_bank_prompt() leave them.
static bool frames_fit(const struct sam_tracker *t, const struct sam_saved_header *h,
                       const struct sam_saved_frames *f)
{
    const int64_t last = f->num_cond ? f->cond[f->num_cond - 1] : -1;

    if (!ascends(f->cond, f->num_cond, 0, h->frame) ||
        !ascends(f->recent, f->num_recent, 0, h->frame) ||
        !ascends(f->aged, f->num_aged, 0, h->frame) || (f->automatic & 1) ||
        f->automatic >> f->num_cond ||
        f->num_cond - (last == h->frame) > t->limits.max_cond ||
        ((f->num_recent || f->num_aged) && !f->num_cond))
        return false;
    for (int i = 0; i < f->num_aged; i++)
        for (int k = 0; k < f->num_cond; k++)
            if (f->aged[i] == f->cond[k])
                return false;
    for (int i = 0; i < f->num_recent; i++) {
        if (!sam_saved_has_pointer(&t->limits, f->recent[i], h->frame))
            return false;
        for (int k = 0; k < f->num_cond; k++)
            if (f->recent[i] == f->cond[k])
                return false;
    }
    return true;
}

// What models with limits.stride have beside.
static bool get_aged(struct cursor *c, struct sam_saved_frames *f, int most)
{
    const uint32_t count = get32(c);

    f->automatic = get32(c);
    if (c->bad || count > (uint32_t) most)
        return false;
    f->num_aged = (int) count;
    get_frames(c, f->aged, f->num_aged);
    return true;
}

static bool get_object(struct cursor *c, struct saved_object *o, const struct sam_tracker *t,
                       const struct sam_saved_header *h)
{
    memset(o, 0, sizeof(*o));
    o->id = get(c, 8);
    uint32_t *const fields[] = { &o->slot, &o->state, &o->absent, &o->lost, &o->shown };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        *fields[i] = get32(c);
    o->iou = get_float(c);
    o->score = get_float(c);
    o->num_cond = get32(c);
    o->num_recent = get32(c);
    if (c->bad || o->num_cond > (uint32_t) t->limits.max_cond + 1 ||
        o->num_recent > (uint32_t) (t->limits.num_pointers - !t->limits.scored))
        return false;
    o->frames.num_cond = (int) o->num_cond;
    o->frames.num_recent = (int) o->num_recent;
    get_frames(c, o->frames.cond, o->frames.num_cond);
    get_frames(c, o->frames.recent, o->frames.num_recent);
    if (t->limits.stride && !get_aged(c, &o->frames, t->limits.num_maskmem))
        return false;
    return get_pending(c, o, &t->mem.host.masks) && frames_fit(t, h, &o->frames);
}

static bool is_object(const struct saved_object *o, const struct sam_saved_header *h, int last_slot)
{
    return o->id >= 1 && o->id < h->next_id && o->slot > (uint32_t) last_slot &&
           o->slot <= h->slots && o->state <= SAM_OBJECT_FOUND && o->absent <= INT32_MAX &&
           o->lost <= 1 && o->shown <= 1 && fabsf(o->iou) < SAM_SAVED_MOST &&
           fabsf(o->score) < SAM_SAVED_MOST &&
           (o->num_cond || o->num_pending) && (o->num_cond || !o->shown);
}

// ---- Tensors.

// Take the tensor's bytes to the machine's order. False: a number is not finite, or is beyond
// SAM_SAVED_MOST. In both types the upper 16 bits without the sign tell it: they ascend.
static bool take_sane(struct cursor *c, struct sam_tensor x)
{
    const size_t width = sam_type_size(x.type), bytes = sam_tensor_bytes(&x);
    const unsigned most = (127 + SAM_SAVED_MOST_BITS) << 7;
    uint8_t *data = take(c, bytes);

    for (size_t i = 0; data && i + width <= bytes; i += width) {
        const uint8_t *last = data + i + width - 2;
        if ((last[0] | (last[1] & 0x7fu) << 8) >= most)
            return false;
    }
    if (data)
        sam_saved_order(data, bytes, width);
    return data;
}

// The tensors of an object in the order of the file, with a call for each.
typedef bool visit(struct cursor *c, struct sam_tracker *t, struct sam_tensor x);

static bool check_tensor(struct cursor *c, struct sam_tracker *t, struct sam_tensor x)
{
    (void) t;
    return take_sane(c, x);
}

static bool upload_tensor(struct cursor *c, struct sam_tracker *t, struct sam_tensor x)
{
    const uint8_t *data = take(c, sam_tensor_bytes(&x));

    if (data)
        sam_queue_upload(&t->queue, x.data, data, sam_tensor_bytes(&x));
    return data;
}

// bank NULL: slots do not matter.
static bool visit_memory(struct cursor *c, struct sam_tracker *t, const struct saved_object *o,
                         const struct sam_bank *bank, int row, int64_t last, visit *see)
{
    const struct sam_state *s = &t->mem.state;
    const struct sam_saved_frames *f = &o->frames;
    struct sam_bank_slots at = { 0, 0 };

    for (int i = 0; i < f->num_cond; i++) {
        if (bank)
            at = sam_bank_find(bank, sam_bank_turn(bank, f->cond[i]));
        if (!see(c, t, sam_slice(s->maps, at.map)) ||
            !see(c, t, sam_slice(s->pointers, at.pointer)))
            return false;
    }
    for (int i = 0; i < f->num_recent; i++) {
        if (bank)
            at = sam_bank_find(bank, sam_bank_turn(bank, f->recent[i]));
        if (!see(c, t, sam_slice(s->pointers, at.pointer)) ||
            (sam_saved_has_map(&t->limits, f, i, last) &&
             !see(c, t, sam_slice(s->maps, at.map))))
            return false;
    }
    for (int i = 0; i < f->num_aged; i++) {
        if (bank)
            at = sam_bank_find(bank, sam_bank_turn(bank, f->aged[i]));
        if (!see(c, t, sam_slice(s->maps, at.map)))
            return false;
    }
    if (o->shown && !see(c, t, sam_slice(s->low_res, row)))
        return false;
    const int kept = bank ? sam_kept_at(t, (int) o->slot, last) : 0;
    for (int i = 0; f->num_cond && i < SAM_ALL_KEPT; i++) {
        const struct sam_tensor *all = sam_refine_kept(t->mem.refine, i);
        if (all->c && !see(c, t, sam_slice(*all, kept)))
            return false;
    }
    return true;
}

// ---- The whole file.

static int fail_object(const char *file, uint32_t i, const char *what, struct sam_error *error)
{
    return sam_fail(error, SAM_EFORMAT, "%s: object %" PRIu32 " of the file %s", file, i + 1, what);
}

static struct cursor objects_of(const struct sam_saved *saved)
{
    const size_t before = (size_t) SAM_SAVED_HEADER + saved->header.note_bytes;

    return (struct cursor) { saved->bytes + before,
                             (size_t) saved->header.bytes - before - SAM_SAVED_SUM, false };
}

static int check_objects(struct sam_saved *saved, struct sam_tracker *t, const char *file,
                         struct sam_error *error)
{
    const struct sam_saved_header *h = &saved->header;
    struct cursor c = objects_of(saved);
    struct saved_object o;
    uint64_t ids[SAM_MAX_OBJECTS];
    uint32_t masks = 0, slot = 0;

    for (uint32_t i = 0; i < h->num_objects; i++) {
        if (!get_object(&c, &o, t, h) || !is_object(&o, h, (int) slot))
            return fail_object(file, i, c.bad ? "ends too early" : "has a value out of range",
                               error);
        if (!visit_memory(&c, t, &o, NULL, 0, h->frame, check_tensor))
            return fail_object(file, i, c.bad ? "ends too early" : "has a number that is not "
                               "finite, or is beyond what is tracked", error);
        for (uint32_t k = 0; k < i; k++)
            if (ids[k] == o.id)
                return fail_object(file, i, "has the id of another", error);
        ids[i] = o.id;
        slot = o.slot;
        for (int k = 0; k < o.pending.count; k++)
            masks += o.pending.item[k].mask >= 0;
    }
    if (c.left || masks != h->masks || slot != h->slots)
        return sam_fail(error, SAM_EFORMAT, "%s: %zu bytes after the last object, %" PRIu32
                        " masks, highest slot %" PRIu32 ": expected 0, %" PRIu32 " and %" PRIu32,
                        file, c.left, masks, slot, h->masks, h->slots);
    return SAM_OK;
}

static int read_all(struct sam_saved *saved, struct sam_tracker *t, const struct sam_file *f,
                    struct sam_error *error)
{
    int status = read_header(saved, t, f, error);

    if (status)
        return status;
    const size_t bytes = (size_t) saved->header.bytes;
    if (!(saved->bytes = malloc(bytes)))
        return sam_fail(error, SAM_ENOMEM, "%s: no memory for its %zu bytes", f->label, bytes);
    if ((status = sam_file_read(f, 0, saved->bytes, bytes, "state", error)))
        return status;
    struct sam_saved_header again;
    get_header(&again, saved->bytes);
    if (!sum_fits(saved->bytes, bytes - SAM_SAVED_SUM) ||
        memcmp(&again, &saved->header, sizeof(again)) != 0)
        return sam_fail(error, SAM_EFORMAT, "%s: damaged: its checksum does not fit", f->label);
    return check_objects(saved, t, f->label, error);
}

int sam_saved_read(struct sam_saved *saved, struct sam_tracker *t, const char *path,
                   struct sam_error *error)
{
    struct sam_file f;
    int status;

    memset(saved, 0, sizeof(*saved));
    if (!path || !*path)
        return sam_fail(error, SAM_EINVAL, "path is %s", path ? "empty" : "NULL");
    status = sam_file_open(&f, path, sam_text_end(path, 72), "saved tracker", error);
    if (status)
        return status == SAM_ENOTFOUND ? SAM_EIO : status;
    status = read_all(saved, t, &f, error);
    sam_file_close(&f);
    if (status)
        sam_saved_free(saved);
    return status;
}

void sam_saved_free(struct sam_saved *saved)
{
    free(saved->bytes);
    saved->bytes = NULL;
}

const void *sam_saved_note(const struct sam_saved *saved, size_t *bytes)
{
    *bytes = saved->header.note_bytes;
    return saved->bytes + SAM_SAVED_HEADER;
}

static void add_cond(struct sam_bank *b, const struct sam_saved_frames *f, int i)
{
    if (f->automatic >> i & 1)
        sam_bank_keep(b, f->cond[i]);
    else
        sam_bank_prompt(b, f->cond[i]);
}

// Add the frames in order, as they came.
static void fill_bank(struct sam_bank *b, const struct sam_saved_frames *f)
{
    int cond = 0, recent = 0;

    while (cond < f->num_cond || recent < f->num_recent)
        if (recent == f->num_recent ||
            (cond < f->num_cond && f->cond[cond] < f->recent[recent]))
            add_cond(b, f, cond++);
        else
            sam_bank_track(b, f->recent[recent++]);
    if (b->limits.stride)
        sam_bank_fill_aged(b, f->aged, f->num_aged);
}

static void begin_object(struct sam_tracker *t, struct sam_tracked *o, const struct saved_object *s)
{
    struct sam_host *h = &t->mem.host;
    const int absent = s->absent < (uint32_t) t->params.lost_after ? (int) s->absent
                                                                   : t->params.lost_after;

    *o = (struct sam_tracked) { .id = s->id, .slot = o->slot, .row = -1,
                                .started = s->num_cond > 0,
                                .done = s->num_cond > 0 ? t->frame : -1, .next = t->frame + 1,
                                .born = t->frame + !s->num_cond,
                                .iou = s->iou, .score = s->score,
                                .state = (enum sam_object_state) s->state,
                                .presence = { absent, s->lost,
                                              !sam_bank_keeps(s->score, s->iou) } };
    o->was_tracked = o->started;
    o->presence_before = o->presence;
    sam_history_init(t, o);
    fill_bank(&o->bank, &s->frames);
    o->bank.last_forgotten = t->frame; // if there was something to forget, it is not in the file
    struct sam_interactions *pending = sam_given(t, o, t->frame + 1);
    *pending = s->pending;
    for (int i = 0; i < pending->count; i++)
        if (s->mask[i])
            pending->item[i].mask = sam_mask_put(&h->masks, s->mask[i]);
    if (s->shown) {
        o->row = t->num_rows;
        h->row_slot[t->num_rows++] = o->slot;
    }
}

void sam_saved_apply(const struct sam_saved *saved, struct sam_tracker *t)
{
    const struct sam_saved_header *h = &saved->header;
    struct cursor c = objects_of(saved);
    struct saved_object s;

    sam_poison_state(t);
    t->frame = h->frame;
    t->first_held = h->frame + 1;
    t->next_id = h->next_id;
    t->frame_width = (int) h->frame_width;
    t->frame_height = (int) h->frame_height;
    t->holds_frame = false;
    t->trunk_frame = -1;
    t->num_rows = 0;
    for (uint32_t i = 0; i < h->num_objects; i++) {
        get_object(&c, &s, t, h);
        struct sam_tracked *o = &t->mem.host.objects[s.slot - 1];
        begin_object(t, o, &s);
        visit_memory(&c, t, &s, &o->bank, o->row, h->frame, upload_tensor);
    }
}
