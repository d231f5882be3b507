// SPDX-License-Identifier: MIT
// Refinements: what a model's configuration adds to what its network answers. Each is one file with
// one struct of functions, a hook for every moment of a frame that it has to do with;
// refine.c has the list and calls the hooks. The tracker knows moments, no refiner by name.
//
// The moments of a frame, in order:
//   seen       its input is there
//   tracked    the decoder has run on objects that are followed
//   settled    all refiners have changed its masks; then they are remembered
//   shown      what is remembered is, so what is changed now is shown alone
//   look       a prompt is about to be answered: in the frame, or in a window of it
//   answered   the decoder has answered points
//   pick       the mask that a click was answered with may be cut, and asked for again in a window
//   prompted   all prompts of the frame are answered; then their mask is remembered
#ifndef SAM_REFINE_H
#define SAM_REFINE_H

#include "model/parts.h"

enum {
    SAM_REFINERS = 6,      // at most
    SAM_REFINE_ROOMS = 10, // of each of them, of a kind
    SAM_REFINE_KEPT = 2,   // kinds of numbers that it keeps of an object
    SAM_ALL_KEPT = SAM_REFINERS * SAM_REFINE_KEPT,
};

// Points of a prompt, px of the input that it is about. A box is its two corners, before clicks.
struct sam_points {
    int count;
    float (*xy)[2];
    const int *label; // enum of parts.h
    bool has_box;
};

// A square of the network's input, px, all multiples of 4.
struct sam_window {
    int x, y, side;
};

// How points that an object begins with are answered.
enum sam_look {
    SAM_LOOK_FRAME,  // in the frame
    SAM_LOOK_WINDOW, // in a window of it
    SAM_LOOK_AGAIN,  // in the frame, and then maybe in a window: see pick
};

// A refiner's memory.
struct sam_refine_memory {
    struct sam_tensor scratch[SAM_REFINE_ROOMS]; // for one hook alone
    struct sam_tensor state[SAM_REFINE_ROOMS];   // for one frame
    // (rows, 1, 1, numbers) F32: what it keeps of objects; c 0: nothing
    struct sam_tensor kept[SAM_REFINE_KEPT];
    void *host[SAM_REFINE_ROOMS];
};

// Of all refiners, what is kept: i in [0, SAM_ALL_KEPT).
static inline const struct sam_tensor *sam_refine_kept(const struct sam_refine_memory *memory,
                                                       int i)
{
    return &memory[i / SAM_REFINE_KEPT].kept[i % SAM_REFINE_KEPT];
}

// What a refiner with on_host says of an object's frame in the hook tracked.
struct sam_refine_word {
    bool forget; // it is not remembered, where frames without the object are not
    bool keep;   // it is remembered as if it had a prompt
};

// What a hook is given: n objects, as the decoder left them in `out`.
struct sam_refining {
    struct sam_queue *queue;
    const struct sam_model *model;
    const struct sam_features *features; // of the frame, or of a window of it
    const struct sam_decoded *out;
    int n;
    struct sam_tensor input; // (1, S, S, 3) F32, the network's; data NULL: it is not kept

    // I32 (1, 1, 1, n), of each object: the row of `kept` that its frame before left, -1: it is
    // new; the row that this frame leaves, -1: none; how many of its frames have prompts where this
    // one does, else 0.
    struct sam_tensor before, after, prompted;

    struct sam_decoder_scratch *decoder; // as the decoder left it
    struct sam_refine_word *word;        // of each object, on the host

    struct sam_refine_memory *memory; // SAM_REFINERS of them; a hook's own is the first of those
};

struct sam_refiner {
    bool (*is_on)(const struct sam_config *c); // whether a configuration asks for it

    // ---- What it needs; each may be NULL or false.
    bool forgets_absent; // frames that an object is absent from are not remembered
    bool needs_input;    // the network's, after it was encoded
    bool on_host;        // tracked copies from and to the host: frames are not recorded
    // Numbers that it keeps of an object from frame to frame; they are saved with it, and follow it
    // where a late prompt takes it back.
    int (*numbers)(const struct sam_config *c, int kind); // 0: it keeps none of this kind
    // batch: objects at once, at most.
    void (*lay_out_scratch)(struct sam_refine_memory *m, const struct sam_config *c, int batch,
                            struct sam_arena *a);
    void (*lay_out_state)(struct sam_refine_memory *m, const struct sam_config *c,
                          enum sam_type type, struct sam_arena *a);
    void (*lay_out_host)(struct sam_refine_memory *m, const struct sam_config *c,
                         struct sam_arena *a);

    // ---- Moments of a frame; each may be NULL. tracked, settled and shown may be recorded: they
    // copy nothing from or to the host, unless on_host says so.
    void (*seen)(const struct sam_refining *r); // n is 0
    void (*tracked)(const struct sam_refining *r);
    void (*settled)(const struct sam_refining *r);
    void (*shown)(const struct sam_refining *r);
    void (*prompted)(const struct sam_refining *r);
    // input: the frame's, or the window of it that the points were answered in.
    void (*answered)(const struct sam_refining *r, const struct sam_points *p,
                     struct sam_tensor input);

    // ---- Windows; all or none.
    // SAM_LOOK_WINDOW: of *w.
    enum sam_look (*look)(const struct sam_config *c, const struct sam_points *p,
                          struct sam_window *w);
    // Leave of the mask what a click is about. False: there is no window to ask in again.
    bool (*pick)(const struct sam_refining *r, const struct sam_points *p, struct sam_window *w);
    // Write the window, which is returned, to `encode`, the encoder's input, and move the points
    // into it. The features are going to be the window's.
    struct sam_tensor (*enter)(const struct sam_refining *r, const struct sam_window *w,
                               struct sam_tensor encode, struct sam_points *p);
    // Put the frame's features back, and the mask at its place in the frame.
    void (*leave)(const struct sam_refining *r, const struct sam_window *w);
};

// ---- refine.c: the hooks of all refiners that a configuration has, in the order of the list;
// sam_refine_tracked() calls tracked of all, then settled.

bool sam_refine_forgets_absent(const struct sam_config *c);
bool sam_refine_needs_input(const struct sam_config *c);
bool sam_refine_on_host(const struct sam_config *c);
// Whether some change what is shown behind what is remembered, so that it is shown after that.
bool sam_refine_has_shown(const struct sam_config *c);

// memory: SAM_REFINERS of them. rows: of numbers that are kept.
void sam_refine_lay_out_scratch(struct sam_refine_memory *memory, const struct sam_config *c,
                                int batch, struct sam_arena *a);
void sam_refine_lay_out_state(struct sam_refine_memory *memory, const struct sam_config *c,
                              enum sam_type type, int rows, struct sam_arena *a);
void sam_refine_lay_out_host(struct sam_refine_memory *memory, const struct sam_config *c,
                             struct sam_arena *a);

void sam_refine_seen(const struct sam_refining *r);
void sam_refine_tracked(const struct sam_refining *r);
void sam_refine_shown(const struct sam_refining *r);
void sam_refine_prompted(const struct sam_refining *r);
void sam_refine_answered(const struct sam_refining *r, const struct sam_points *p,
                         struct sam_tensor input);
enum sam_look sam_refine_look(const struct sam_config *c, const struct sam_points *p,
                              struct sam_window *w);
bool sam_refine_pick(const struct sam_refining *r, const struct sam_points *p,
                     struct sam_window *w);
struct sam_tensor sam_refine_enter(const struct sam_refining *r, const struct sam_window *w,
                                   struct sam_tensor encode, struct sam_points *p);
void sam_refine_leave(const struct sam_refining *r, const struct sam_window *w);

#endif // SAM_REFINE_H
