// SPDX-License-Identifier: MIT
// A tracker's state as a file. save.c writes it, restore.c reads it. Numbers are little-endian and
// unsigned unless stated; floats are IEEE 754.
//
//   Header, SAM_SAVED_HEADER bytes: the fields of struct sam_saved_header in order, then a checksum
//   of all before it.
//   The caller's note.
//   Each object: id u64; slot, state, absent, lost, shown u32; iou, score f32; number of
//   conditioning and of recent frames u32; these frames i64, each list ascending; number of waiting
//   prompts u32, and each of them: points, box (0 or 1) u32; 1 for a mask, 1 + the answer that is
//   taken to a click, else 0, u32; each point x, y f32 and label u32; the mask's bits. Then for
//   every conditioning frame its map and pointer; for every recent frame its pointer and, if the
//   next frame attends to it, its map; the logits, if shown; the numbers that refiners keep of it,
//   in their order, if there are conditioning frames.
//   A checksum of all before it, u64.
//
// Which slots of the memory hold what is not stored: restoring makes a new bank by adding the
// frames in order. Forgotten frames are left out: the frames before them have
// the numbers that leave no gap; with limits.scored they keep theirs.
#ifndef SAM_SAVED_H
#define SAM_SAVED_H

#include "track/memory/bank.h"

struct sam_tracker;

enum {
    SAM_SAVED_VERSION = 1,
    SAM_SAVED_HEADER = 112,  // bytes
    SAM_SAVED_SUM = 8,       // bytes of a checksum
    SAM_SAVED_OBJECT = 48,   // bytes of an object without its lists and tensors
    SAM_SAVED_PROMPT = 12,   // and of a prompt
    SAM_SAVED_POINT = 12,
    SAM_SAVED_COND = SAM_MAX_COND + 1,
    // No number of an object is as large: those of the models here are below 2^8, and with larger
    // ones a step could overflow, which would look like a fault of the weights.
    SAM_SAVED_MOST_BITS = 20,
    SAM_SAVED_MOST = 1 << SAM_SAVED_MOST_BITS,
};

#define SAM_SAVED_MAGIC "samtrack"

struct sam_saved_header {
    // magic: 8 bytes
    uint32_t version, note_bytes;
    uint64_t bytes;    // of the file
    uint64_t identity; // of the model
    uint32_t image_size, num_maskmem, num_pointers;
    uint32_t map_tokens, map_width, pointer_width;
    uint32_t map_type, pointer_type; // bits of a number: BF16 and F32
    int64_t frame; // the last one processed; -1: none
    uint64_t next_id;
    uint32_t frame_width, frame_height; // px of that frame; 0 if none
    uint32_t num_objects, slots; // slots: the highest in use
    uint32_t cond;  // most conditioning frames of an object, without the last frame
    uint32_t masks; // mask prompts that wait
};

// Frames of one object.
struct sam_saved_frames {
    int num_cond, num_recent;
    int64_t cond[SAM_SAVED_COND], recent[SAM_MAX_POINTERS]; // ascending

    // With limits.stride, or the file has none of these: maps are those of `aged`; bit i of
    // `automatic` says that cond[i] has no prompt.
    int num_aged;
    int64_t aged[SAM_MAX_AGED]; // ascending
    uint32_t automatic;
};

// Whether the frame after `last` attends to the map, or the pointer, of recent frame i.
static inline bool sam_saved_has_map(const struct sam_bank_limits *l,
                                     const struct sam_saved_frames *f, int i, int64_t last)
{
    const bool prompted = f->num_cond && f->cond[f->num_cond - 1] == last; // has the first rank

    if (l->stride)
        return false;
    return l->scored ? f->num_recent - i + prompted < l->num_maskmem
                     : f->recent[i] > last - (l->num_maskmem - 1);
}

static inline bool sam_saved_has_pointer(const struct sam_bank_limits *l, int64_t frame,
                                         int64_t last)
{
    return l->scored || frame > last - (l->num_pointers - 1);
}

// A file that was read and checked.
struct sam_saved {
    struct sam_saved_header header;
    uint8_t *bytes;
};

// Write the state, and the caller's note. A failure of the queue leaves the file at `path` as it
// was, and is to be reported by the caller.
int sam_saved_write(struct sam_tracker *t, const char *path, const void *note, size_t note_bytes,
                    struct sam_error *error);

// Read a file that this tracker can go on from. The tracker is not changed. After success it must
// be freed.
int sam_saved_read(struct sam_saved *saved, struct sam_tracker *t, const char *path,
                   struct sam_error *error);
const void *sam_saved_note(const struct sam_saved *saved, size_t *bytes);
void sam_saved_free(struct sam_saved *saved);

// Give the tracker, which must have no objects, the state. A failure is recorded in the queue.
void sam_saved_apply(const struct sam_saved *saved, struct sam_tracker *t);

// Between the machine's byte order and the file's, either way: numbers of `width` bytes, 2 or 4.
void sam_saved_order(void *data, size_t bytes, size_t width);

#endif // SAM_SAVED_H
