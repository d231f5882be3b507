// SPDX-License-Identifier: MIT
// samtrack tracks the masks of the objects that a user points at, in live video.
//
// This is the engine behind the GStreamer elements; it can be used alone. It runs SAM 2's
// family of streaming mask trackers from the published weight files.
//
// Rules for all calls:
//
// - Errors. A call that can fail returns SAM_OK or a negative enum sam_status, and writes one
//   sentence to the struct sam_error that it is given. Pointers to struct sam_error may be NULL.
// - NULL. Every other pointer must not be NULL unless its comment allows it. A NULL that is not
//   allowed is SAM_EINVAL.
// - Sizes. A struct that begins with `size` may get more fields at its end in later versions. The
//   caller must set size to sizeof of that struct; the SAM_X_INIT macros do. The library takes
//   the fields that an older program's struct lacks as 0, and writes nothing beyond its size. Any
//   other size is SAM_EINVAL. Structs without `size` will not change.
// - State. A call that fails changes nothing, unless its comment says otherwise.
// - Failed trackers. SAM_EDEVICE and SAM_EWEIGHTS from a call on a tracker end it: later calls fail
//   with the same status, except that sam_tracker_close(), sam_tracker_clear() and
//   sam_tracker_info() still work. The content of buffers that the failing call was to fill is
//   undefined. A painter ends with SAM_EDEVICE.
// - Threads. A tracker or a painter must be used by one thread at a time, not always the same
//   one. Different trackers and painters are independent, but a call may wait for others' calls.
//   The calls without a tracker or a painter may be made from any thread.
// - Ownership. The library reads the caller's structs and memory during the call only, except
//   what struct sam_params says about CUDA and the log.
//
// A whole program (the tests compile and run it):
//
// EXAMPLE BEGIN
// #include <stdio.h>
// #include <stdlib.h>
// #include <samtrack/samtrack.h>
//
// enum { W = 320, H = 240 };
//
// // A bright square that moves to the right over a dark background.
// static void draw(unsigned char *rgb, int t)
// {
//     for (int y = 0; y < H; y++)
//         for (int x = 0; x < W; x++)
//             for (int c = 0; c < 3; c++)
//                 rgb[(y * W + x) * 3 + c] =
//                     x > 60 + 2 * t && x < 140 + 2 * t && y > 80 && y < 160 ? 220 : 40;
// }
//
// int main(int argc, char **argv)
// {
//     struct sam_params params = SAM_PARAMS_INIT;
//     struct sam_error error;
//     sam_tracker *tracker;
//
//     params.model_file = argc > 1 ? argv[1] : NULL; // NULL: the default model
//     if (sam_tracker_open(&tracker, &params, &error)) {
//         fprintf(stderr, "%s\n", error.text);
//         return 1;
//     }
//
//     unsigned char *rgb = malloc(W * H * 3);
//     struct sam_frame frame = { .size = sizeof(frame), .format = SAM_PIXEL_RGB,
//                                .width = W, .height = H,
//                                .plane = { rgb }, .stride = { W * 3 } };
//     struct sam_prompt prompt = { .size = sizeof(prompt), .space_width = W,
//                                  .space_height = H, .has_box = 1,
//                                  .box = { 61, 81, 140, 160 } };
//     uint64_t id;
//     int status = sam_tracker_prompt(tracker, &prompt, &id, &error);
//
//     for (int t = 0; t < 20 && !status; t++) {
//         struct sam_result result = SAM_RESULT_INIT;
//         draw(rgb, t);
//         status = sam_tracker_step(tracker, &frame, NULL, &result, &error);
//         for (int i = 0; i < result.num_objects && !status; i++)
//             printf("frame %d object %llu: %d px at (%d, %d)\n", t,
//                    (unsigned long long) result.objects[i].id, result.objects[i].area,
//                    result.objects[i].x, result.objects[i].y);
//     }
//     if (status)
//         fprintf(stderr, "%s\n", error.text);
//     free(rgb);
//     sam_tracker_close(&tracker);
//     return status != 0;
// }
// EXAMPLE END
#ifndef SAMTRACK_H
#define SAMTRACK_H

#include <stddef.h>
#include <stdint.h>
#include <samtrack/version.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SAM_API __attribute__((visibility("default")))
#else
#define SAM_API
#endif

enum sam_status {
    SAM_OK           = 0,
    SAM_EINVAL       = -1,  // the caller broke a documented condition
    SAM_ENOMEM       = -2,  // host or device memory ran out, or the budget is too small
    SAM_EIO          = -3,  // a file is missing or could not be read
    SAM_EFORMAT      = -4,  // the weights file is damaged, incomplete or of another kind
    SAM_EDEVICE      = -5,  // the device failed; the tracker or painter must be closed
    SAM_EUNSUPPORTED = -6,  // this build, machine or backend lacks the feature
    SAM_EFULL        = -7,  // max_objects objects are tracked already
    SAM_ENOTFOUND    = -8,  // no object has this id, or no longer
    SAM_EBUSY        = -9,  // too many prompts wait for the next frame
    SAM_EWEIGHTS     = -10, // the model's numbers overflowed; the tracker must be closed
};

// Why a call failed: the file, tensor or value, what was expected and what was found. One line of
// valid UTF-8 without control characters. Written on failure only.
struct sam_error {
    char text[320];
};

#define SAM_MAX_SIDE 16384 // px, width and height of a frame, a label map or a mask

enum {
    SAM_MAX_OBJECTS = 255, // a label map has one byte per pixel, and 0 means no object
    SAM_MAX_THREADS = 256,
    SAM_MAX_POINTS  = 32,  // in one prompt
    SAM_MAX_HISTORY = 64,  // frames
    SAM_ANSWERS     = 3,   // masks that the model gives for a single click
};

// AUTO: CUDA if this machine has a GPU that works, else CPU. REF: very slow, to compare with.
enum sam_backend { SAM_BACKEND_AUTO, SAM_BACKEND_REF, SAM_BACKEND_CPU, SAM_BACKEND_CUDA };

// Precision of matrix products; sums have 32 bits. AUTO: bf16 if the device is faster in it, else
// fp32. INT8: most products with weights have factors of 8 bits, see docs/MODEL.md, all else is as
// with AUTO; for trackers on CPUs, others warn and do as with AUTO.
enum sam_precision { SAM_PRECISION_AUTO, SAM_PRECISION_FP32, SAM_PRECISION_BF16,
                     SAM_PRECISION_INT8 };

// How a prompt changes an object that is tracked already.
enum sam_refine {
    // Refine the mask if the object is present on the frame; if it is absent, start it anew
    // there, under the same id and without memory.
    SAM_REFINE_PRESENT,
    // Always refine, as the published video predictor does.
    SAM_REFINE_ALWAYS,
};

// Where the edges of masks are drawn. The model's masks have a quarter of its input's side: when
// they are stretched to a frame, their edges are some pixels off.
enum sam_edges {
    SAM_EDGES_NONE, // where the stretched logits change their sign
    // Where the frame's luma has edges, if it has such nearby: less than 1.5 pixels of the
    // model's mask away. Memory and scores are not changed.
    SAM_EDGES_LUMA,
};

enum sam_log_level { SAM_LOG_ERROR, SAM_LOG_WARNING, SAM_LOG_INFO, SAM_LOG_DEBUG };

// How to open a tracker or a painter. A value out of range is SAM_EINVAL.
struct sam_params {
    size_t size; // sizeof(struct sam_params)

    // Path of a .safetensors file (Meta's or Hugging Face's names) or a .pt file. NULL: the default
    // model: the file that the environment variable SAMTRACK_MODEL names (ignored in programs
    // with raised privileges), else the one in models/ beside the library, else the installed one.
    const char *model_file;

    // Side of the square that frames are scaled to for the model, px. 0: the model's own; a file
    // may have another one for devices that are faster in BF16 than in FP32. A smaller side is
    // faster and less exact. SAM 2, 2.1 and EfficientTAM run at every multiple of 32 from 64 to
    // 2048, EdgeTAM at multiples of 256 from 256 to 2048; any other side is refused.
    int input_size;

    enum sam_backend backend;
    int device; // ordinal of the GPU, 0 .. 1024; -1: the first usable one

    // For CUDA; other backends ignore both.
    // cuda_context: a CUcontext of the caller to run in. Every call makes it current and restores
    // the previous one before it returns. The library never resets or destroys it; it must
    // outlive the tracker. `device` must be its device or -1. NULL: the context that is current
    // during the call, which must be the same in every call, else the primary context.
    // cuda_stream: a CUstream of that context, not a default stream. All work is queued there,
    // after the caller's. It must outlive the tracker, and the caller must queue nothing there
    // during a call. It needs cuda_context. NULL: the tracker creates its own stream.
    void *cuda_context, *cuda_stream;

    enum sam_precision precision;
    int threads; // of the CPU backend, 0 .. SAM_MAX_THREADS; 0: one per processor, in common

    int max_objects;     // 1 .. SAM_MAX_OBJECTS; open allocates memory for all of them
    int max_cond_frames; // prompted frames kept per object: the first and the latest; 2 .. 64
    int lost_after;      // processed frames an object is occluded until it is lost; 1 or more
    enum sam_refine refine;

    // Largest area of holes that are filled in the masks shown, in pixels of the model's mask (a
    // quarter of its input each way). The object's memory keeps the holes. 0: fill none. The
    // published demo uses 8. 0 .. 2^30.
    int fill_holes;

    // Most memory that the tracker may take, in MiB. 0: no limit. 0 .. 2^30.
    int budget_mib;

    // Non-zero: overwrite scratch memory after every frame, and the memory of objects and frames
    // before it is reused, to find reads of stale data. Slow.
    int poison;

    // Non-zero: launch a frame's operations on the GPU one by one, instead of replaying the CUDA
    // graphs recorded at open. The results are the same. For comparison.
    int no_graphs;

    // Non-zero: keep all parts' outputs of the last step for sam_tracker_read(). Implies no_graphs.
    int keep_stages;

    // Receives one line per event, in the form of an error's text, without newline. May be NULL.
    // Called on the thread that made the call. It must not call into a tracker. `log` and
    // log_priv must be valid until the tracker is closed.
    void (*log)(void *log_priv, enum sam_log_level level, const char *line);
    void *log_priv;

    // Of the label maps, boxes and areas of sam_tracker_step(). sam_tracker_draw() has no frame: it
    // draws as SAM_EDGES_NONE does.
    enum sam_edges edges;

    // Number of processed frames that a prompt can still name, see sam_prompt.has_frame: their
    // features are kept, and what every object needs to go back to them. 0: none; then a prompt
    // applies to the next frame. 0 .. SAM_MAX_HISTORY. It does not change the results without late
    // prompts, but for sam_tracker_undo().
    int history;
    int remove_islands; // as fill_holes, then: of pieces with at most half of a mask in all
};

#define SAM_PARAMS_INIT                                                                        \
    {                                                                                          \
        .size = sizeof(struct sam_params), .device = -1, .max_objects = 8,                     \
        .max_cond_frames = 4, .lost_after = 30, .history = 8                                   \
    }

// Memory of a tracker, in bytes.
struct sam_plan {
    size_t size;           // sizeof(struct sam_plan), set by the caller
    size_t constant_bytes; // weights and tables; shared by trackers of one model on one device
    size_t scratch_bytes;  // used within one step only; shared where `threads` is 0
    size_t state_bytes;    // kept from frame to frame, for all objects
    size_t object_state_bytes;   // part of state_bytes that each object adds
    size_t object_host_bytes;    // part of object_state_bytes in host memory on every backend
    size_t object_scratch_bytes; // part of scratch_bytes that each further object adds
    size_t total_bytes;          // constant + scratch + state
    int image_size;              // side of the model's square input, px
};

#define SAM_PLAN_INIT { .size = sizeof(struct sam_plan) }

enum sam_pixel_format {
    SAM_PIXEL_RGB,  // 3 bytes a pixel
    SAM_PIXEL_BGR,
    SAM_PIXEL_RGBA, // 4 bytes a pixel, the fourth is ignored; also for RGBx
    SAM_PIXEL_BGRA,
    SAM_PIXEL_GRAY8,
    SAM_PIXEL_NV12, // plane 0: Y; plane 1: U and V interleaved, half size rounded up
    SAM_PIXEL_I420, // planes Y, U, V
    SAM_PIXEL_YUY2, // Y U Y V in one plane, two pixels in 4 bytes, width rounded up to even
    SAM_PIXEL_P010, // NV12 of 10 bits, in the upper bits of two bytes, the lower byte first
};

// Matrix and range of a Y'CbCr frame. kr and kb must be at least 0 and their sum less than 1.
struct sam_colour {
    float kr, kb;   // 0.299, 0.114 for BT.601; 0.2126, 0.0722 for BT.709; both 0: BT.601
    int full_range; // 0: Y 16..235, C 16..240
};

// One video frame. The tracker reads the planes and never writes them; a painter writes them.
struct sam_frame {
    size_t size; // sizeof(struct sam_frame)
    enum sam_pixel_format format;
    int width, height;       // px, 1 .. SAM_MAX_SIDE each
    const uint8_t *plane[3]; // those that the format does not have are ignored
    int stride[3];           // bytes from one row to the next, at least a row's bytes
    struct sam_colour colour; // of the Y'CbCr formats; ignored for others

    // 0: the planes are in host memory. Non-zero: they are in GPU memory of the context that the
    // tracker runs in. Earlier writes to them must have finished or be queued in cuda_stream.
    int on_device;
};

#define SAM_FRAME_INIT { .size = sizeof(struct sam_frame) }

// A label map: one byte per pixel, the slot of the object with the highest positive logit there;
// ties go to the lower slot; 0 where there is no object. The masks are stretched to its size.
struct sam_labels {
    uint8_t *data;      // the caller's, stride * (height - 1) + width bytes
    int width, height;  // px, 1 .. SAM_MAX_SIDE each
    int stride;         // bytes from one row to the next, at least width

    // 0: data is in host memory. Non-zero: it is in GPU memory of the context that the tracker runs
    // in, and the map is drawn there. Earlier uses must have finished or be queued in cuda_stream.
    int on_device;
};

enum sam_point_label { SAM_POINT_NEGATIVE = 0, SAM_POINT_POSITIVE = 1 };

struct sam_point {
    float x, y;
    int label; // enum sam_point_label
};

// One interaction with one object: points, a box, points and a box, or a mask alone.
struct sam_prompt {
    size_t size; // sizeof(struct sam_prompt)
    uint64_t id; // of the object; 0: start a new one

    // Width and height, px, of the space the coordinates are in; 0 and 0: coordinates run from 0
    // to 1. Points must lie before the right and the lower edge; a box may end on them.
    int space_width, space_height;

    int num_points; // 0 .. SAM_MAX_POINTS
    const struct sam_point *points; // ignored if num_points is 0
    int has_box;
    float box[4]; // x0, y0, x1, y1 with x0 < x1 and y0 < y1

    // A mask: one byte per pixel, non-zero on the object, stretched over the frame. NULL: none.
    // mask_width and mask_height: 1 .. SAM_MAX_SIDE; mask_stride: at least mask_width.
    const uint8_t *mask;
    int mask_width, mask_height, mask_stride;

    // Instead of `mask`, the output of sam_mask_stretch(). mask_side: as sam_info says. NULL: none.
    const uint8_t *mask_bits;
    int mask_side;

    // Non-zero: a late prompt, for the frame with the frame_index `frame`, which its author saw.
    // The object is taken back to that frame, decoded with the prompt, and follows again: see
    // sam_tracker_prompt(). 0: for the next frame, and `frame` is ignored.
    int has_frame;
    uint64_t frame;

    // Which of the model's masks for a single click is taken, see answers.h. 1 .. 3: that
    // one; the prompt must be one point, and the only point that the object gets for that frame.
    // 0: that of the highest predicted IoU, as published, or of its windows ("click_zoom").
    int answer;
};

#define SAM_PROMPT_INIT { .size = sizeof(struct sam_prompt) }

enum sam_object_state {
    SAM_OBJECT_NEW,      // on its first frame
    SAM_OBJECT_TRACKED,
    SAM_OBJECT_OCCLUDED, // object score <= 0
    SAM_OBJECT_LOST,     // occluded for lost_after processed frames
    SAM_OBJECT_FOUND,    // on the first frame where it is present after it was lost
};

struct sam_object {
    uint64_t id; // 1 or more; a tracker never uses an id twice
    int slot;    // 1 .. max_objects, its value in label maps; fixed while the object is tracked
    enum sam_object_state state;
    int x, y, width, height; // bounding box of the mask, px of the frame; all 0 if it is empty
    int area;                // px of the frame
    float iou;               // predicted IoU of the mask, 0 .. 1
    float score;             // object score, a logit; the object is present if it is > 0
    int behind;              // frames that it still has to replay after a late prompt or an undo,
                             // so its mask is of that many frames ago; 0: its mask is of this frame
};

// Wall time of the parts of one step, ns. On a GPU the parts only queue their work, and `masks`
// includes the wait for all of it.
struct sam_times {
    int64_t preprocess, encode, attend, decode, remember, masks, total;
};

// The result of one frame.
struct sam_result {
    size_t size;          // sizeof(struct sam_result), set by the caller
    uint64_t frame_index; // number of frames that were processed before this one
    int num_objects;
    const struct sam_object *objects; // by slot; the tracker's, valid until its next call
    struct sam_times times;
    int num_behind;   // objects that show an older frame, as they replay a late prompt or an undo
    int num_replayed; // frames that objects replayed within this step, of all objects together
};

#define SAM_RESULT_INIT { .size = sizeof(struct sam_result) }

typedef struct sam_tracker sam_tracker;

// Compute the memory that sam_tracker_open() with these params would take. Reads the headers of the
// weights file, not the weights. budget_mib is not applied.
// SAM_EINVAL, SAM_EIO, SAM_EFORMAT, SAM_ENOMEM, SAM_EDEVICE, SAM_EUNSUPPORTED as
// sam_tracker_open(). On failure the fields of *plan are 0, unless its size is wrong.
SAM_API int sam_tracker_plan(const struct sam_params *params, struct sam_plan *plan,
                             struct sam_error *error);

// Open a tracker and allocate all memory that it will use, except what sam_tracker_reserve() names.
// Runs throw-away frames, so that the first frame takes no longer than later ones. On a CPU this is
// skipped for inputs of more than 256 px: the first frame takes about a millisecond longer instead.
// Trackers of one file, configuration, device and precision share their weights. The weights file
// and the JSON beside it are opened and read once; replacing them during the call has no effect.
// On failure *out is NULL and all memory is freed. The caller must close the tracker.
//
// SAM_EINVAL: params are out of range, or the model cannot run at input_size.
// SAM_EIO, SAM_EFORMAT: the file is missing, unreadable, damaged, of an unknown model, or was
// shortened or overwritten during the call.
// SAM_ENOMEM: memory or budget_mib is too small; the text says how much is missing.
// SAM_EDEVICE, SAM_EUNSUPPORTED: the backend, device or precision is not available.
// SAM_EWEIGHTS: the warm-up's results are not finite.
SAM_API int sam_tracker_open(sam_tracker **out, const struct sam_params *params,
                             struct sam_error *error);

// Close *t, free its memory and set *t to NULL. t and *t may be NULL: then nothing happens.
SAM_API void sam_tracker_close(sam_tracker **t);

// Queue a prompt for the next frame that is processed. id may be NULL; on success *id is the
// object's id. The masks and points are copied. A prompt for a known object is applied after the
// object was tracked on that frame, and its result replaces the tracked one. Several prompts for
// one frame are applied in order, as successive interactions.
//
// A late prompt (has_frame) is applied to a frame that was processed before, after the prompts that
// the object got for that frame. With the next step the object goes back to that frame and replays
// the frames since, with its later prompts. Until it has caught up, it shows the mask of the newest
// frame that it has replayed, and is counted in sam_result.num_behind; then it is, to the bit on
// the backends ref and cpu, as if the prompt had come in time. A step runs an object that is behind
// on two frames instead of one, and one of all such objects on three, but for the step in which it
// goes back and decodes the prompt: it costs at most one further step, and an object that is n
// frames behind has caught up within n steps, unless it gets further late prompts. Of frames that
// sam_tracker_watch() kept, a step encodes one, and an object that began on such a frame has caught
// up within 3 n / 2 steps, rounded up. A frame that is older than those that the object can go back
// to, see sam_tracker_frames(), is replaced by the oldest of them, and a warning is logged.
//
// SAM_EINVAL: no points, box or mask; a mask with points, a box or a second mask; a coordinate that
// is not finite or outside of its space; an empty box; sizes out of range; `frame` is neither a
// processed frame nor the next one; `answer` is out of range, or not that of a single click.
// SAM_ENOTFOUND: prompt->id is not tracked. SAM_EFULL: a new object has no free slot.
// SAM_EBUSY: too many prompts, points or masks wait, or were given for that frame; try again after
// the next frame.
SAM_API int sam_tracker_prompt(sam_tracker *t, const struct sam_prompt *prompt, uint64_t *id,
                               struct sam_error *error);

// Tell the frames that a prompt for an object can name: all from *oldest to *next, by frame_index,
// where *next is the frame that the next step processes. id 0: of a new object. *oldest equals
// *next if no frame is held: history is 0, or no frame was processed yet, or since
// sam_tracker_load(). Usually the last `history` frames are held; an object that got very many
// masks can go back to fewer.
// SAM_ENOTFOUND: id is not tracked.
SAM_API int sam_tracker_frames(sam_tracker *t, uint64_t id, uint64_t *oldest, uint64_t *next,
                               struct sam_error *error);

// Returns row y of a mask, one byte per pixel, non-zero on the object. The row must stay valid
// until the next call. Returns NULL on failure, which ends the stretching with SAM_EIO.
typedef const uint8_t *(*sam_mask_row)(void *priv, int y);

// Bytes of a bitmap of side x side px: `side` rows of (side + 7) / 8 bytes; pixel x is bit x % 8
// of byte x / 8. 0 if side is not 1 .. SAM_MAX_SIDE.
SAM_API size_t sam_mask_bytes(int side);

// Scale a mask of width x height px to side x side px, for sam_prompt.mask_bits. The result is
// bit for bit what sam_tracker_prompt() makes of the same mask, and is smaller to keep. row() is
// called with priv, which may be NULL, for rows in any order and repeatedly. bits must have
// sam_mask_bytes(side) bytes; after a failure their content is undefined.
// SAM_EINVAL: width, height or side is not 1 .. SAM_MAX_SIDE. SAM_ENOMEM. SAM_EIO: row() failed.
SAM_API int sam_mask_stretch(uint8_t *bits, int side, int width, int height, sam_mask_row row,
                             void *priv, struct sam_error *error);

// Take back the last prompt of the latest frame for which an object has one. A prompt that still
// waits is dropped. A prompt of the last processed frame is taken back by decoding that frame
// again; one of an earlier frame that the object can go back to (history), by replaying from there,
// as for a late prompt. Of a still earlier frame all prompts are taken back, and the object goes on
// with its remaining prompted frames. An object that is left without prompts is removed.
// SAM_ENOTFOUND: id is not tracked. SAM_EDEVICE, SAM_EWEIGHTS.
SAM_API int sam_tracker_undo(sam_tracker *t, uint64_t id, struct sam_error *error);

// Stop tracking an object, drop its waiting prompts and free its slot.
// SAM_ENOTFOUND: id is not tracked.
SAM_API int sam_tracker_remove(sam_tracker *t, uint64_t id, struct sam_error *error);

// Remove all objects and all waiting prompts. Ids and frame_index keep counting. t may be NULL.
SAM_API void sam_tracker_clear(sam_tracker *t);

// Allocate buffers for copying frames and label maps of up to `bytes` (all planes without padding)
// between host and GPU. Buffers for 16 MiB exist from the start. Call this when the size of a
// stream is known; otherwise the first larger frame or label map allocates them and takes longer.
// Does nothing on other backends; data that is on_device needs no buffer. With SAM_EDGES_LUMA a
// frame and a label map are in a buffer at once: it gets room for two of `bytes`.
// SAM_ENOMEM: memory or budget_mib is too small; the old buffers stay. SAM_EDEVICE.
SAM_API int sam_tracker_reserve(sam_tracker *t, size_t bytes, struct sam_error *error);

// Process one frame: apply the waiting prompts, track every object and update its memory.
// labels may be NULL; else the map is drawn at its own size, which need not be the frame's. result
// may be NULL; on failure its fields are 0, unless its size is wrong.
//
// SAM_EINVAL: frame or labels break a condition of their structs. SAM_ENOMEM: see
// sam_tracker_reserve(). In both cases the frame is not consumed: prompts still wait, frame_index
// does not advance, labels are not written, and the tracker can go on with the next frame.
// SAM_EWEIGHTS: a score or a predicted IoU is not finite. SAM_EDEVICE: the device failed.
SAM_API int sam_tracker_step(sam_tracker *t, const struct sam_frame *frame,
                             const struct sam_labels *labels, struct sam_result *result,
                             struct sam_error *error);

// Keep a frame on which nothing is tracked, so that a late prompt can name it: the frame is scaled
// to the model's input, counts as processed, and is encoded only when an object replays it, which a
// step does for one frame at most. Takes a small part of the time of sam_tracker_step(). With
// history 0 it does nothing, and frame_index does not advance.
// SAM_EINVAL: `frame` as in sam_tracker_step(), or there is an object. SAM_ENOMEM: see
// sam_tracker_reserve(). In these cases the frame is not consumed. SAM_EDEVICE.
SAM_API int sam_tracker_watch(sam_tracker *t, const struct sam_frame *frame,
                              struct sam_error *error);

// Draw the masks of the last processed frame into a label map of any size, without the objects
// removed since. Before the first frame the map is all 0. Edges are those of SAM_EDGES_NONE.
// SAM_EINVAL: labels break a condition of their struct. SAM_ENOMEM: see sam_tracker_reserve().
// SAM_EDEVICE.
SAM_API int sam_tracker_draw(sam_tracker *t, const struct sam_labels *labels,
                             struct sam_error *error);

// Copy a tensor of the last step to `dst`, dense, as fp32. `capacity` is the number of floats that
// dst has room for. shape[4] gets the extents, leading ones 1. Names: "low_res" and, as drawn,
// "shown" (S/4, S/4), "pointer" (d), "score" (1), "memory" (mem_dim, S/16, S/16), of a model that
// stores rows (rows, mem_dim); with keep_stages also every stage of docs/MODEL.md, where the
// stages of the frame ignore the id. A stage name gives the last prompt's tensor on a prompted
// frame; the prefix "track/" or "prompt/" selects one of the two.
// SAM_ENOTFOUND: no such object, or no such tensor in this step. SAM_EINVAL: capacity is too small;
// then shape is set. SAM_EDEVICE.
SAM_API int sam_tracker_read(sam_tracker *t, uint64_t id, const char *name, float *dst,
                             size_t capacity, int shape[4], struct sam_error *error);

typedef struct sam_uploader sam_uploader;

// Open an uploader: it copies frames from host memory to the GPU of tracker t, on a stream of its
// own, while t works on an earlier frame. It is used by one thread at a time, which need not be
// that of the tracker. It takes 8 MiB for copying, and two frames of the size of the largest one
// so far; none of this counts against budget_mib.
// On failure *out is NULL. The caller must close the uploader before the tracker.
// SAM_EUNSUPPORTED: t works in host memory. SAM_ENOMEM, SAM_EDEVICE.
SAM_API int sam_uploader_open(sam_uploader **out, const sam_tracker *t, struct sam_error *error);

// Close *u, free its frames and set *u to NULL. u and *u may be NULL: then nothing happens.
SAM_API void sam_uploader_close(sam_uploader **u);

// Copy a frame of host memory to place 0 or 1 on the GPU. *copy describes it there, for
// sam_tracker_step() and sam_tracker_watch(), and is valid until that place is used again, which
// must not be before such a call with it has returned. The copying has finished when the call
// returns; `frame` may then be reused.
// SAM_EINVAL: frame breaks a condition of its struct or is on a device, or place is neither 0 nor
// 1. SAM_ENOMEM: no room for a larger frame. In both cases the uploader can still be used.
// SAM_EDEVICE: the uploader must be closed.
SAM_API int sam_uploader_copy(sam_uploader *u, int place, const struct sam_frame *frame,
                              struct sam_frame *copy, struct sam_error *error);

enum { SAM_MAX_NOTE = 65536 }; // bytes

// Write the state of a tracker to a file: objects, ids, memory, scores, the masks last shown,
// prompts that wait. Objects that are behind catch up first, however long that takes; the frames
// that late prompts can name are not in the file. `note` is note_bytes of the caller's
// (0 .. SAM_MAX_NOTE), kept with it; NULL if note_bytes is 0. The file is written beside `path` and
// renamed when it is complete: after a failure, or if the process is killed, the file that was
// there is unchanged. Allocates 64 KiB.
// SAM_EINVAL: path is NULL or empty, or the note. SAM_EIO: the file cannot be written, or `path` is
// there and not a regular file. SAM_ENOMEM. SAM_EDEVICE, SAM_EWEIGHTS.
SAM_API int sam_tracker_save(sam_tracker *t, const char *path, const void *note, size_t note_bytes,
                             struct sam_error *error);

// Receives the note of a file, valid during the call and aligned to 8 bytes. Non-zero refuses the
// file. Must not call into a tracker.
typedef int sam_note_reader(void *priv, const void *note, size_t bytes);

// Replace the state of a tracker by that of a file. From then on it gives the results that the
// saved tracker would have given, to the bit, on the same backend, precision and machine: ids,
// slots and frame_index, too. The number of threads and max_objects need not be the same;
// lost_after, refine, fill_holes, remove_islands and edges are this tracker's. The frame is not in
// the file: until the next one is processed, sam_tracker_undo() takes back all prompts of the
// object's latest prompted frame, sam_tracker_read() finds nothing, sam_tracker_draw() works.
//
// The file may be untrusted; all of it is checked before anything is changed. A model is known by a
// 64-bit hash of the numbers, names and shapes of its weights and of its configuration. Allocates
// the file's size, which is bounded by the memory of this tracker's objects. `reader` may be NULL;
// it is called with priv when the file has been checked. On failure the tracker is as it was, but
// for SAM_EDEVICE.
// SAM_EINVAL: path is NULL or empty. SAM_EIO: the file cannot be read. SAM_EFORMAT: it is damaged,
// of another version, model or input size, or was refused by `reader`. SAM_EFULL: it needs a larger
// max_objects or max_cond_frames. SAM_ENOMEM. SAM_EDEVICE.
SAM_API int sam_tracker_load(sam_tracker *t, const char *path, sam_note_reader *reader, void *priv,
                             struct sam_error *error);

// A kernel that few GPUs have, compared at open with the one whose place it takes.
struct sam_twin {
    const char *kernel; // its name in docs/KERNELS.md
    int is_used;        // non-zero: the two agree
    float distance;     // the largest difference of their results, which are means of numbers from
                        // -1 to 1; at most 2^-7 where they agree. Infinite: a result is not a
                        // number. NaN: the kernel could not be run, or gave up waiting
};

// What a tracker runs on and what it takes. The pointers are valid until the tracker is closed.
struct sam_info {
    size_t size; // sizeof(struct sam_info), set by the caller
    const char *model_file, *variant; // "sam2.1_hiera_tiny", or "custom"
    const char *backend, *device, *precision;
    int threads, image_size, mask_side, logits_side, max_objects; // px: of mask_bits, of logits
    size_t bytes_planned; // total_bytes of the plan, and what was reserved since
    size_t bytes_used;    // memory held now, with all of the scratch that it may share
    int64_t open_ns;      // time that sam_tracker_open() took, including the warm-up
    int64_t warm_ns;      // time of the warm-up, which records the CUDA graphs
    int graphs;           // CUDA graphs recorded at open
    uint64_t graph_replays, graph_misses; // since; a miss is work that no graph covers
    // Who makes large matrix products. "own": the backend; "cublaslt": NVIDIA's library; "partly":
    // it refused some shapes, which the backend makes. Where CUDA could be faster a warning says
    // why it is not.
    const char *products;

    // Of the backend cuda; elsewhere 0, "" and NULL. overlaps: kernels are launched before the ones
    // ahead have ended. wgmma: all kernels of sm_90a are used. without: what the environment's
    // SAMTRACK_CUDA_WITHOUT switched off at open, words of "overlap,wgmma,graphs,cublaslt,
    // carveout"; see docs/GSTREAMER.md.
    int overlaps, wgmma;
    const char *without;
    int num_twins;
    const struct sam_twin *twins;
};

#define SAM_INFO_INIT { .size = sizeof(struct sam_info) }

// Fill *info. Works on a failed tracker, too. SAM_EINVAL: info->size is wrong, or a NULL.
SAM_API int sam_tracker_info(const sam_tracker *t, struct sam_info *info,
                             struct sam_error *error);

// A rectangle, or a picture of two colours, in px of the frame, clipped to the overlay's area.
struct sam_patch {
    int x, y, width, height;
    uint32_t colour; // 0xAARRGGBB; 0xAAYYUUVV on frames of Y'CbCr and GRAY8

    // Frame pixels per bitmap pixel; 0 for a solid rectangle of `colour`. A bitmap row is stored in
    // whole words, its first pixel in the lowest bit; the first row begins at word `first` of the
    // overlay's bits. Pixels whose bit is set have the colour `ink`. SAM_PATCH_SHADES: a byte per
    // frame pixel, the first of four in the lowest of a word: 255ths of `ink`, the rest `colour`.
    int scale, first;
    uint32_t ink;
};

enum {
    SAM_MAX_LINE     = 64,   // px
    SAM_MAX_PATCHES  = 2048, // in one overlay
    SAM_PATCH_SHADES = -1,   // scale of a patch
};

// What a painter draws: the colours of a label map, then the patches in order, each over the ones
// before. Colours have straight alpha; alpha 0 paints nothing. The result is bit for bit that of
// GstVideo's blending of such a layer.
struct sam_overlay {
    size_t size; // sizeof(struct sam_overlay), set by the caller
    int x, y, width, height; // the painted area; must be inside the frame

    // Stretched over the whole frame; each pixel takes the label with the largest bilinear weight.
    // data NULL: no labels are drawn.
    struct sam_labels labels;
    uint32_t fill[256], line[256]; // colours by label, as in patches; line: near another label
    int line_width; // px, 0 .. SAM_MAX_LINE: how near, along the row or column, inside the area.
                    // Lines have smooth edges; 0: neither lines nor contours

    int num_patches; // 0 .. SAM_MAX_PATCHES
    const struct sam_patch *patches; // in host memory; NULL if num_patches is 0
    int num_words;                   // 0 or more
    const uint32_t *bits;            // in host memory; NULL if num_words is 0
    // For RGBA and BGRA; ignored for others. 0: the fourth byte is kept; else it is straight alpha,
    // and blended. 2: all bytes of the area count as 0 before, whatever they are.
    int has_alpha;

    // Around lines, up to 2 px, where a label is whose fill and line have alpha 0.
    uint32_t contour;
};

#define SAM_OVERLAY_INIT { .size = sizeof(struct sam_overlay) }

typedef struct sam_painter sam_painter;

// Open a painter. It needs no model, and less than 1 MiB on a GPU, else 4 MiB per thread. It uses
// backend, device, cuda_context, cuda_stream, threads and log of params; the other fields have no
// effect but must be in range.
// On failure *out is NULL. The caller must close the painter.
// SAM_EINVAL: params. SAM_ENOMEM, SAM_EDEVICE, SAM_EUNSUPPORTED: the backend is not available.
SAM_API int sam_painter_open(sam_painter **out, const struct sam_params *params,
                             struct sam_error *error);

// Close *p and set it to NULL. p and *p may be NULL: then nothing happens.
SAM_API void sam_painter_close(sam_painter **p);

// Paint over a frame of any pixel format, whose planes must be writable; GRAY8 takes Y of colours.
// The frame must be in the memory that the painter works in: on_device for CUDA, else host memory.
// Earlier writes to what is on the device must have finished or be queued in cuda_stream. The
// painting has finished when the call returns.
// SAM_EINVAL: frame or overlay break a condition of their structs. SAM_ENOMEM: no device memory for
// patches, bits and a label map of host memory. In both cases the frame is unchanged. SAM_EDEVICE:
// the painter must be closed; the frame's content is undefined.
SAM_API int sam_painter_draw(sam_painter *p, const struct sam_frame *frame,
                             const struct sam_overlay *overlay, struct sam_error *error);

// The version of the loaded library, as SAM_VERSION_STRING is that of the headers. A constant.
SAM_API const char *sam_version(void);

#ifdef __cplusplus
}
#endif
#endif // SAMTRACK_H
