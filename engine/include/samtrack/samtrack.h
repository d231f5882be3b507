// samtrack: tracks the masks of the objects you point at, in live video.
//
// The engine behind the GStreamer elements, usable alone. The models are SAM 2's
// family of streaming mask trackers, run from the weight files their users
// already have.
//
// A whole program (compiled by the tests as it stands here):
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
//     struct sam_params params = SAM_PARAMS_DEFAULT;
//     struct sam_error error;
//     sam_tracker *tracker;
//
//     params.model_file = argc > 1 ? argv[1] : NULL; // NULL: the embedded model
//     if (sam_tracker_open(&tracker, &params, &error)) {
//         fprintf(stderr, "%s\n", error.text);
//         return 1;
//     }
//
//     unsigned char *rgb = malloc(W * H * 3);
//     struct sam_frame frame = { .format = SAM_PIXEL_RGB, .width = W, .height = H,
//                                .plane = { rgb }, .stride = { W * 3 } };
//     struct sam_prompt prompt = { .space_width = W, .space_height = H, .has_box = 1,
//                                  .box = { 61, 81, 140, 160 } };
//     uint64_t id;
//     int status = sam_tracker_prompt(tracker, &prompt, &id, &error);
//
//     for (int t = 0; t < 20 && !status; t++) {
//         struct sam_result result;
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

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SAM_API __attribute__((visibility("default")))
#else
#define SAM_API
#endif

// Every call that can fail returns SAM_OK or one of these negative codes, and
// puts one sentence into the struct sam_error it was given.
enum sam_status {
    SAM_OK           = 0,
    SAM_EINVAL       = -1, // the caller broke a documented condition
    SAM_ENOMEM       = -2, // host or device memory ran out, or the budget is too small
    SAM_EIO          = -3, // a file is missing or could not be read
    SAM_EFORMAT      = -4, // the weights file is damaged, foreign or incomplete
    SAM_EDEVICE      = -5, // the device failed; the tracker must be closed
    SAM_EUNSUPPORTED = -6, // this build or this machine lacks the feature
    SAM_EFULL        = -7, // max_objects objects are tracked already
    SAM_ENOTFOUND    = -8, // no object has this id (any more)
    SAM_EBUSY        = -9, // the next frame takes no more prompts; the one after it does
    SAM_EWEIGHTS     = -10, // the weights overflow; the tracker must be closed
};

// Why a call failed, in words: file, tensor or value, what was wanted, what was got. One line of
// valid UTF-8 without control characters, whatever it quotes. Every parameter of this type may be
// NULL.
struct sam_error {
    char text[320];
};

enum sam_backend { SAM_BACKEND_AUTO, SAM_BACKEND_REF, SAM_BACKEND_CPU, SAM_BACKEND_CUDA };

// AUTO: bf16 products where the device has them, else fp32. Sums are always fp32.
enum sam_precision { SAM_PRECISION_AUTO, SAM_PRECISION_FP32, SAM_PRECISION_BF16 };

// What a prompt does to an object that was tracked on the frame it names.
enum sam_refine {
    // Refine it; but where the object is absent, start it anew on that frame, under the
    // same id, without memory. What a live user expects.
    SAM_REFINE_PRESENT,
    // Always refine, as the published video predictor does.
    SAM_REFINE_ALWAYS,
};

enum sam_log_level { SAM_LOG_ERROR, SAM_LOG_WARNING, SAM_LOG_INFO, SAM_LOG_DEBUG };

enum { SAM_MAX_THREADS = 256 };

struct sam_params {
    // .safetensors (Meta's or Hugging Face's names) or .pt. NULL: the default model: the file that
    // the environment variable SAMTRACK_MODEL names (not heeded by a program with raised rights),
    // else the one in the folder models/ beside the library, else the installed one.
    const char *model_file;

    // Side of the square that frames are scaled to for the model, px. 0: the model's own. Less is
    // faster and less exact. SAM 2 and 2.1 run at every multiple of 32 from 64 to 2048, 512 and 768
    // among them; another side is refused with a sentence that says which the model can run.
    int input_size;

    enum sam_backend backend;
    int device; // ordinal where there are several; -1: the first usable one

    // For a GPU; other backends heed neither.
    // context: a CUcontext of the caller's to run in. Every call makes it current and takes that
    // back before it returns. It is never reset or destroyed, and must outlive the tracker.
    // `device` is its device or -1. NULL: the context that is current when a call is made, the
    // same one every time, else the primary one.
    // stream: a CUstream of that context, not a default one, where all work goes, behind what the
    // caller put there. It must outlive the tracker, and nothing may be put there during a call.
    // NULL: a stream of the tracker's own.
    void *cuda_context, *cuda_stream;

    enum sam_precision precision;
    int threads; // of the CPU backend, at most SAM_MAX_THREADS; 0: as many as there are processors

    int max_objects;     // 1 .. 255; memory is sized by it at open, a frame never allocates
    int max_cond_frames; // K: prompted frames kept per object, the first and the latest K - 1; >= 2
    int lost_after;      // processed frames an object stays occluded before it is lost; >= 1
    enum sam_refine refine;

    // Holes of a mask up to this area, in places of the model's mask (a quarter of its input
    // each way), are shown filled; what is remembered is not. 0: none. The published demo has 8.
    int fill_holes;

    // Most bytes the tracker may take (constant + scratch + state), in MiB. 0: no limit.
    int budget_mib;

    // Non-zero: overwrite scratch memory after every frame, and what an object or a frame leaves
    // before the next one takes its place, to find stale use. Slow.
    int poison;

    // Non-zero: ask a GPU for every operation of every frame, instead of replaying what was
    // recorded at open. The same results, later. To compare.
    int no_graphs;

    // Non-zero: keep the outputs of every network part of the last step for sam_tracker_read().
    int keep_stages;

    // Receives one line per event, as plain as an error's text, without the newline. May be NULL.
    // Called on the thread that called into the tracker.
    void (*log)(void *log_priv, enum sam_log_level level, const char *line);
    void *log_priv;
};

#define SAM_PARAMS_DEFAULT                                                                     \
    {                                                                                          \
        .device = -1, .max_objects = 8, .max_cond_frames = 4, .lost_after = 30                 \
    }

// Bytes a tracker takes, known before it is opened.
struct sam_plan {
    size_t constant_bytes; // weights and tables; shared by trackers of one model on one device
    size_t scratch_bytes;  // valid inside one step
    size_t state_bytes;    // what outlives a frame, all objects together
    size_t object_state_bytes;   // of it, per object
    size_t object_host_bytes;    // of that, in the host's memory whatever the backend
    size_t object_scratch_bytes; // scratch each further object adds
    size_t total_bytes;
    int image_size; // side of the model's square input, px
};

enum { SAM_MAX_SIDE = 16384 }; // px, the width and the height of a frame, a label map or a mask

enum sam_pixel_format {
    SAM_PIXEL_RGB,  // 3 bytes a pixel
    SAM_PIXEL_BGR,
    SAM_PIXEL_RGBA, // 4 bytes a pixel, the fourth is ignored: RGBx too
    SAM_PIXEL_BGRA,
    SAM_PIXEL_GRAY8,
    SAM_PIXEL_NV12, // plane 0: Y; plane 1: U, V interleaved, half size rounded up
    SAM_PIXEL_I420, // planes Y, U, V
    SAM_PIXEL_YUY2, // Y U Y V in one plane, two pixels in 4 bytes, width rounded up to even
    SAM_PIXEL_P010, // NV12 of 10 bits, in the upper bits of two bytes, the lower byte first
};

// Which Y'CbCr a frame holds: the two weights that define the matrix, and the range. The weights
// are 0 or more, and less than 1 together.
struct sam_colour {
    float kr, kb;   // 0.299, 0.114 for BT.601; 0.2126, 0.0722 for BT.709; both 0: BT.601
    int full_range; // 0: Y 16..235, C 16..240
};

// One video frame, borrowed for the length of the call it is passed to.
struct sam_frame {
    enum sam_pixel_format format;
    int width, height; // px, 1 .. SAM_MAX_SIDE each
    const uint8_t *plane[3];
    int stride[3]; // bytes from one row to the next
    struct sam_colour colour; // of the Y'CbCr formats; not looked at in others

    // 0: the planes are in host memory. Non-zero: in the GPU's, of the context that the tracker
    // runs in, and are read where they are. What writes them must be through, or in cuda_stream.
    int on_device;
};

// A label map to fill: one byte per pixel, the slot of the object with the highest positive
// logit there, ties to the lower slot, 0 where none. Any size up to SAM_MAX_SIDE each way;
// coordinates stretch with it.
struct sam_labels {
    uint8_t *data; // the caller's, stride * height bytes
    int width, height, stride;

    // 0: data is in host memory. Non-zero: in the GPU's, of the context that the tracker runs in;
    // the map is drawn there and never copied. What else uses it must be through, or in
    // cuda_stream.
    int on_device;
};

enum sam_point_label { SAM_POINT_NEGATIVE = 0, SAM_POINT_POSITIVE = 1 };

struct sam_point {
    float x, y;
    int label; // enum sam_point_label
};

enum { SAM_MAX_POINTS = 32 }; // of one prompt

// One interaction: points, a box, a mask, or points with a box.
struct sam_prompt {
    uint64_t id; // the object; 0: a new one

    // The frame the coordinates are measured in, px; both 0: coordinates run from 0 to 1. Points
    // lie before its right and lower edges, boxes may end on them.
    int space_width, space_height;

    int num_points; // at most SAM_MAX_POINTS
    const struct sam_point *points;
    int has_box;
    float box[4]; // x0, y0, x1, y1, x0 < x1, y0 < y1

    // One byte per pixel, non-zero where the object is; stretched to the frame. Excludes
    // points and box. Copied before the call returns.
    const uint8_t *mask;
    int mask_width, mask_height, mask_stride;

    // In place of `mask`, one that sam_mask_stretch() made: mask_side must be the image_size of
    // struct sam_info. Copied before the call returns.
    const uint8_t *mask_bits;
    int mask_side;
};

enum sam_object_state {
    SAM_OBJECT_NEW,      // its first frame
    SAM_OBJECT_TRACKED,
    SAM_OBJECT_OCCLUDED, // object score <= 0
    SAM_OBJECT_LOST,     // occluded for lost_after processed frames
    SAM_OBJECT_FOUND,    // the first frame it is present on after it was lost
};

struct sam_object {
    uint64_t id; // never reused
    int slot;    // 1 .. max_objects, its value in label maps; fixed while the object lives
    enum sam_object_state state;
    int x, y, width, height; // bounding box of the mask in frame px; all 0 where it is empty
    int area;                // px of the frame
    float iou;               // predicted IoU of the mask, 0 .. 1
    float score;             // object score, a logit: present where > 0
};

// Wall time of the parts of one step, in nanoseconds. On a GPU the parts are only asked for, and
// waited for once, in `masks`.
struct sam_times {
    int64_t preprocess, encode, attend, decode, remember, masks, total;
};

// What one frame gave. `objects` belongs to the tracker and lives until its next call.
struct sam_result {
    uint64_t frame_index; // counts processed frames from 0
    int num_objects;
    const struct sam_object *objects; // by slot
    struct sam_times times;
};

typedef struct sam_tracker sam_tracker;

// The bytes that sam_tracker_open() with these params would take. Reads the header of the
// weights file, not the weights.
SAM_API int sam_tracker_plan(const struct sam_params *params, struct sam_plan *plan,
                             struct sam_error *error);

// Open a tracker. On success *out owns all memory it will ever use; every path is warm, the
// first frame costs what the thousandth costs. On failure *out is NULL and nothing is kept.
//
// Thread-safety: one tracker is used by one thread at a time; different trackers are
// independent. Weights are shared by all trackers of one file, configuration, device and precision.
//
// The weights file and the JSON beside it are opened once and read once: a name that comes to stand
// for another file meanwhile changes nothing. SAM_EFORMAT, SAM_EIO: the file is damaged, or was
// shortened or written to while it was read.
SAM_API int sam_tracker_open(sam_tracker **out, const struct sam_params *params,
                             struct sam_error *error);

// Close *t and set it to NULL. Closing a NULL tracker does nothing.
SAM_API void sam_tracker_close(sam_tracker **t);

// Give a prompt to an object, for the next frame processed. *id (may be NULL) gets the id.
// On a known object it acts after that frame was tracked and its result replaces the tracked
// one; on a new one it starts the object there. Several prompts for one frame are successive
// interactions, in order.
// SAM_EINVAL: a coordinate that is not finite or outside its space, an empty or inverted box,
// too many points, nothing given, a mask with points or box. SAM_ENOTFOUND: an id that is not
// tracked. SAM_EFULL: max_objects objects are tracked already, so that one must be removed first.
// SAM_EBUSY: too many prompts wait for the next frame; give this one again after that frame.
SAM_API int sam_tracker_prompt(sam_tracker *t, const struct sam_prompt *prompt, uint64_t *id,
                               struct sam_error *error);

// Row y of a mask: a byte per pixel, non-zero where the object is, valid until the next call.
// NULL: there is no such row (any more).
typedef const uint8_t *(*sam_mask_row)(void *priv, int y);

// Bytes of a mask of side x side bits: `side` rows of (side + 7) / 8 bytes, pixel x in bit x % 8
// of byte x / 8.
SAM_API size_t sam_mask_bytes(int side);

// Bring a mask of any size, up to 16384 px each way, to the model's, to the bit as
// sam_tracker_prompt() does: what was large need not be kept until then. row() is asked for rows
// in any order, also more than once. `bits` must have room for sam_mask_bytes(side); after a
// failure they are undefined. Any thread may call.
// SAM_EINVAL: a size out of range. SAM_ENOMEM. SAM_EIO: row() returned NULL.
SAM_API int sam_mask_stretch(uint8_t *bits, int side, int width, int height, sam_mask_row row,
                             void *priv, struct sam_error *error);

// Take back the last prompt of the object's latest prompted frame; if it has not been applied
// yet, it never is. The object goes on from its remaining prompted frames; with none left it
// is removed. SAM_ENOTFOUND as above.
SAM_API int sam_tracker_undo(sam_tracker *t, uint64_t id, struct sam_error *error);

// Stop tracking an object and free its slot. SAM_ENOTFOUND as above.
SAM_API int sam_tracker_remove(sam_tracker *t, uint64_t id, struct sam_error *error);

// Remove all objects and pending prompts. Ids go on counting, and so do frames.
SAM_API void sam_tracker_clear(sam_tracker *t);

// Make room for frames and label maps of up to `bytes` each (of all planes, without padding) on
// their way between the host's memory and a GPU's, where there is room for 16 MiB from the
// beginning: 3840 x 2160 px of 2 bytes. To be called when a stream's size is known; otherwise the
// first frame or label map that is larger makes the room, and takes longer than others. Nothing to
// do on other backends, and for what is on_device. SAM_ENOMEM: not enough memory is left, or in the
// budget; the tracker goes on with what it has.
SAM_API int sam_tracker_reserve(sam_tracker *t, size_t bytes, struct sam_error *error);

// Segment one frame and update the memory of every object. `labels` (may be NULL) is filled at
// its own size. `result` (may be NULL) is written on success; on failure num_objects is 0.
// SAM_EINVAL: frame or labels break a condition above. SAM_ENOMEM: there is no room for them, see
// sam_tracker_reserve(). After both the tracker is as it was, and goes on with the next frame.
// SAM_EWEIGHTS: an object's score or predicted IoU is not finite: products of finite weights have
// overflowed, and what the objects remember is lost. After this and SAM_EDEVICE every call but
// sam_tracker_close() fails in the same way.
SAM_API int sam_tracker_step(sam_tracker *t, const struct sam_frame *frame,
                             const struct sam_labels *labels, struct sam_result *result,
                             struct sam_error *error);

// Draw the masks of the last step again, at another size.
SAM_API int sam_tracker_draw(sam_tracker *t, const struct sam_labels *labels,
                             struct sam_error *error);

// Copy a tensor of the last step to `dst` (room for `capacity` floats), dense, as f32, its
// extents to shape[4] (leading ones filled with 1). Names: "low_res" (S/4, S/4), "pointer" (d),
// "score" (1), "memory" (mem_dim, S/16, S/16), or (rows, mem_dim) of a model that stores rows
// instead of a map, and with keep_stages every stage of docs/MODEL.md; stages of the frame alone
// ignore the id. On a prompted frame a stage is that of the last prompt; "track/" or "prompt/"
// before its name asks for the one or the other.
// SAM_ENOTFOUND: no such object, or no such tensor in this step; SAM_EINVAL: capacity too small.
SAM_API int sam_tracker_read(sam_tracker *t, uint64_t id, const char *name, float *dst,
                             size_t capacity, int shape[4], struct sam_error *error);

// What the tracker runs on and takes, for reports: texts live as long as the tracker.
struct sam_info {
    const char *model_file, *variant; // "sam2.1_hiera_tiny", or "custom"
    const char *backend, *device, *precision;
    int threads, image_size, max_objects;
    struct sam_plan plan;  // what was planned, and reserved since
    size_t bytes_used;     // what is held now, counted
    int64_t open_ns;       // how long sam_tracker_open() took, warm-up included
    int64_t warm_ns;       // of it, the warm-up: every path run, and recorded where that pays
    int graphs;            // recorded at open, for a GPU
    uint64_t graph_replays, graph_misses; // since; a miss is work that was not recorded
};
SAM_API void sam_tracker_info(const sam_tracker *t, struct sam_info *info);

// A rectangle of one colour, in px of the frame; or a picture of two.
struct sam_patch {
    int x, y, width, height; // what is outside the painted area is not seen
    uint32_t colour;         // 0xAARRGGBB; on frames of Y'CbCr 0xAAYYUUVV

    // Px a side of the picture's squares; 0: it is none. A row of squares is a row of bits, the
    // first one the lowest of a word, in as many words as it needs; the first row begins at word
    // `first` of the overlay's bits. Where a bit is set, the colour is `ink`.
    int scale;
    int first;
    uint32_t ink;
};

enum {
    SAM_MAX_LINE    = 64,   // px
    SAM_MAX_PATCHES = 2048, // of one overlay
};

// What is painted over a frame: colours of labels, patches above them, the last one on top. Alpha
// is not multiplied in, 0 paints nothing. What GstVideo's blending makes of a layer of
// such pixels, to the bit.
struct sam_overlay {
    int x, y, width, height; // the area that is painted; inside the frame

    // Stretched over the whole frame, each pixel taking the label that weighs most among the four
    // around it. data NULL: none.
    struct sam_labels labels;
    uint32_t fill[256], line[256]; // colours by label, as of a patch; line: near another label
    int line_width; // px: how near, along the row or the column and inside the area

    int num_patches;
    const struct sam_patch *patches; // host memory, like the bits
    int num_words;
    const uint32_t *bits;

    // Of RGBA and BGRA, non-zero: the fourth byte is alpha, not multiplied in. 0: it is left alone.
    int has_alpha;
};

typedef struct sam_painter sam_painter;

// Open a painter, which needs no model and little memory. Of params only backend, device,
// cuda_context, cuda_stream, threads and log count, as for a tracker. SAM_EUNSUPPORTED,
// SAM_EDEVICE, SAM_ENOMEM: it cannot be had. A painter is used by one thread at a time.
SAM_API int sam_painter_open(sam_painter **out, const struct sam_params *params,
                             struct sam_error *error);

// Close *p and set it to NULL. Closing a NULL painter does nothing.
SAM_API void sam_painter_close(sam_painter **p);

// Paint over the frame, whose planes are written. RGBA, BGRA, NV12, I420, P010; in the
// memory that the painter works in: on_device for a GPU, else not. What wrote the frame or a label
// map on the device must be through, or in cuda_stream. The frame is painted when this returns.
// SAM_EINVAL: it cannot be painted so; SAM_ENOMEM: there is no room on the device for patches, bits
// and a label map of the host's; the frame is as it was. SAM_EDEVICE: the painter must be closed.
SAM_API int sam_painter_draw(sam_painter *p, const struct sam_frame *frame,
                             const struct sam_overlay *overlay, struct sam_error *error);

SAM_API const char *sam_version(void);

#ifdef __cplusplus
}
#endif
#endif // SAMTRACK_H
