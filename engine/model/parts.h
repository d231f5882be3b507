// SPDX-License-Identifier: MIT
// The parts that all families share, in the order of a frame: neck, prompt, memory attention,
// decoder, memory encoder. Each is a struct of weights with a load and a run; a run enqueues
// straight-line operations and checks nothing, the queue remembers what failed.
//
// Shapes: S = image size, h = S / 16, N = h * h tokens, d = d_model, m = mem_dim, B = objects
// in the batch (all runs take B from their tensors). Maps are NHWC. In SAM 3, h = S / 14: where
// S / 8, S / 4 or a mask of S x S are named, it is 2 h, 4 h and M = 16 h.
#ifndef SAM_PARTS_H
#define SAM_PARTS_H

#include "base/arena.h"
#include "config.h"
#include "net/net.h"

struct sam_model;
struct sam_loader;

enum { SAM_COMPRESSOR_ROOMS = 12 };

// Rooms of the compressor, which it names itself.
struct sam_compressor_scratch {
    struct sam_tensor room[SAM_COMPRESSOR_ROOMS];
};

// ---- image encoder: encoder.c, neck.c; the trunk is the family's

struct sam_neck {
    struct sam_product coarse, main; // stride 32 and 16
    struct sam_product s0, s1;       // lateral convolution folded with the decoder's conv_s0/s1
};

// What the encoder leaves of one frame.
struct sam_features {
    struct sam_tensor image; // F: (1, h, h, d), F32, before memory
    struct sam_tensor s0;    // (1, S/4, S/4, high_res_s0); without data: the family has none
    struct sam_tensor s1;    // (1, S/8, S/8, high_res_s1); likewise
    // F32 (1, h, h, channels), of the current frame alone; without data: no detector begins with it
    struct sam_tensor trunk;
};

// ---- prompts: prompt.c

struct sam_prompt_encoder {
    float *gaussian;            // host, (2, d / 2): row 0 multiplies x, row 1 y
    float *point_embed;         // host, (4, d): negative, positive, box corner, box corner
    float *not_a_point;         // host, (d)
    struct sam_tensor no_mask; // (1, 1, 1, d)
    struct sam_product mask_conv1, mask_conv2, mask_conv3, mask_downsample;
    struct sam_affine mask_norm1, mask_norm2;
};

enum { SAM_MAX_SPARSE = SAM_MAX_POINTS + 3 }; // box corners and the padding point

// Labels of the prompt encoder's points.
enum { SAM_LABEL_PAD = -1, SAM_LABEL_NEGATIVE, SAM_LABEL_POSITIVE, SAM_LABEL_BOX0, SAM_LABEL_BOX1 };

// ---- mask decoder: decoder.c

struct sam_attention_weights {
    struct sam_product q, k, v, out;
};

struct sam_mlp3 {
    struct sam_product layer[3];
};

struct sam_two_way_layer {
    struct sam_attention_weights self, token_to_image, image_to_token;
    struct sam_affine norm1, norm2, norm3, norm4;
    struct sam_product mlp_in, mlp_out;
};

// The dense position is the same for every frame, so what a product makes of it is a constant:
// W (K + pe) + b = (W K + b) + W pe. (1, 1, N, d / 2) each, made at load.
struct sam_decoder_places {
    struct sam_tensor key;   // of token_to_image
    struct sam_tensor query; // of image_to_token
};

// Without prompts the tokens of a frame are the same for every object and frame, and so is all
// that comes before they first look at the image. Made at load.
struct sam_decoder_start {
    struct sam_tensor initial; // (1, 1, 8, d): output tokens and two not-a-point tokens
    struct sam_tensor tokens;  // (1, 1, 8, d): after self-attention and norm1 of layer 0
    struct sam_tensor query;   // (1, 1, 8, d / 2): of token_to_image of layer 0
};

enum { SAM_OUTPUT_TOKENS = 2 + SAM_MASK_TOKENS }; // object score, IoU, masks

struct sam_decoder {
    struct sam_tensor output_tokens; // (1, 1, 6, d)
    struct sam_two_way_layer layer[SAM_DECODER_LAYERS];
    struct sam_attention_weights final_token_to_image;
    struct sam_decoder_places place[SAM_DECODER_LAYERS + 1]; // the last: final, key alone
    struct sam_decoder_start start;
    struct sam_affine norm_final;
    struct sam_product upscale1, upscale2;
    struct sam_affine upscale_norm;
    struct sam_mlp3 hyper[SAM_MASK_TOKENS], iou_head, score_head, pointer_proj;
    struct sam_tensor no_obj_ptr; // (1, 1, 1, d)
};

// What a decoder run gives for B objects; all F32.
struct sam_decoded {
    struct sam_tensor low_res; // (B, 1, 1, (S/4)^2): the chosen mask, -1024 where absent
    struct sam_tensor iou;     // (B, 1, 1, 1)
    struct sam_tensor score;   // (B, 1, 1, 1): object score, a logit
    struct sam_tensor pointer; // (B, 1, 1, d), gated by presence
    // For stage tests: all candidates before selection.
    struct sam_tensor masks;   // (B, 1, 4, (S/4)^2)
    struct sam_tensor ious;    // (B, 1, 1, 4)
    struct sam_tensor tokens;  // (B, 1, 4, d): the mask tokens
};

// ---- memory: memory_attention.c, memory_encoder.c

struct sam_memory_attention_layer {
    struct sam_affine norm1, norm2;
    struct sam_product self_q, self_k, self_v, self_out;
    struct sam_product cross_q;
    struct sam_product cross_k;   // where keys are held; else
    struct sam_tensor cross_key;  // (1, 1, m + 1, d): its weight's columns, its bias
    struct sam_product cross_out; // cross_out after cross_v, folded: values stay m wide
    struct sam_mlp mlp;
};

struct sam_memory_attention {
    struct sam_memory_attention_layer layer[SAM_MAX_MEMORY_LAYERS];
    struct sam_affine norm;
    struct sam_tensor position; // (1, 1, N, d): sine map, of the frame
    struct sam_tensor rope;     // (1, 1, N, d)
    struct sam_tensor key_rope; // (1, 1, map_tokens, d): how keys of a stored map turn
    struct sam_tensor axis;     // (1, 1, side, d / 2): the turns along one axis of it
    bool holds_keys;            // of the memory; else they are made on the way
    struct sam_tensor no_mem_embed; // (1, 1, 1, d)
};

struct sam_fuser_layer {
    struct sam_tensor depthwise, depthwise_bias;
    struct sam_affine norm;
    struct sam_product in, out; // out has gamma folded in
};

struct sam_memory_encoder {
    struct sam_product down[4];
    struct sam_affine down_norm[4];
    struct sam_product down_out, pix_proj, out; // out: unless m = d
    struct sam_fuser_layer fuser[SAM_MAX_FUSER_LAYERS];
    struct sam_tensor no_obj_embed; // (1, 1, 1, m); data NULL in SAM 2.0
    struct sam_tensor place;        // (1, 1, N, m): sine map of the memory
    struct sam_tensor time;         // (1, 1, num_maskmem, m)
    struct sam_product pointer_time; // d -> m; SAM 2.1
    struct sam_tensor no_time;       // (1, 1, 1, m): zeros, what pointers carry in SAM 2.0
};

// Memory maps are stored in another form than the memory encoder gives them: with other rows, of
// which some turn and some do not. A family that does so has one of these.
struct sam_compressor {
    int (*tokens)(const struct sam_config *c); // rows of a stored map
    size_t bytes;                              // of its struct of weights, zero at first
    void (*load)(struct sam_loader *l, const struct sam_config *config, void *weights);
    // Tables of the stored rows, F32: the positions that are added to keys, (tokens, m); the angles
    // by which keys made of them turn, (tokens, d), as sam_rope has them.
    void (*place)(const struct sam_config *c, float *dst);
    void (*turns)(const struct sam_config *c, float *dst);
    void (*layout)(struct sam_compressor_scratch *s, const struct sam_config *c,
                   const struct sam_queue *q, int batch, struct sam_arena *a);
    // src (B, 1, N, m) F32, spoilt, -> dst (B, 1, tokens, m) F32.
    void (*run)(struct sam_queue *q, const struct sam_model *m, struct sam_compressor_scratch *s,
                struct sam_tensor src, struct sam_tensor dst);
};

// ---- target model: target.c

struct sam_target {
    struct sam_affine image_norm, s1_norm, s0_norm;
    struct sam_product image, s1, s0; // s0: kernel and stride 2
};

// ---- the model: model.c

struct sam_model {
    struct sam_config config;
    void *trunk;      // the family's or the detector's, in its own struct
    void *compressor; // likewise; NULL: the family has none
    struct sam_neck neck;
    struct sam_prompt_encoder prompt;
    struct sam_decoder decoder;
    struct sam_memory_attention attention;
    struct sam_memory_encoder memory;
    struct sam_target target; // if config.target_channels
    size_t constant_bytes;
    // Of the numbers in the file, their names and shapes, and of the sizes: the same for every
    // file format, backend and precision, another one for other weights.
    uint64_t identity;
    struct sam_model_entry *entry; // private to model.c: memory, key in the cache, count
};

// One reading of a model's file: memory is planned from it, and the weights are loaded from it.
struct sam_model_file {
    struct sam_weights *weights; // open
    struct sam_config config;    // parsed
};
// input_size: the side that replaces the file's, px; 0: the file's own.
// bf16_is_faster: on the device; of two sides of a file it decides.
int sam_model_file_open(struct sam_model_file *f, const char *path, int input_size,
                        bool bf16_is_faster, struct sam_error *error);
// Close it, also one that failed to open.
void sam_model_file_close(struct sam_model_file *f);

// Load the weights to a device, or share what is loaded already: same file (device, inode, size,
// time), configuration, backend, device, precision. Process-wide, counted, thread-safe; who asks
// for what another thread is loading waits for it. `queue` decides backend, device and precision
// and is used for the loading only, `f` likewise.
int sam_model_open(struct sam_model **out, const struct sam_model_file *f, struct sam_queue *queue,
                   struct sam_error *error);
void sam_model_close(struct sam_model **m);

// Its device failed: who opens from now on gets the weights anew.
void sam_model_disown(struct sam_model *m);

// Bytes of constant memory, without loading; SAM_EFORMAT if a tensor is missing. `queue` as above.
int sam_model_plan(const struct sam_model_file *f, struct sam_queue *queue, size_t *constant_bytes,
                   struct sam_error *error);

// What the trunk gives is the same, to the bit, for models with the same number; 0: none of another
// kind begins with it.
uint64_t sam_model_trunk(const struct sam_model *m);

// Path of the default model into path[size]: $SAMTRACK_MODEL, which a program with raised rights
// does not heed; the folder models/ beside the library; the installed data directory. SAM_EIO where
// none can be read.
int sam_default_model(char *path, size_t size, struct sam_error *error);

// ---- loading: the parts, each in its own file.

void sam_neck_load(struct sam_loader *l, const struct sam_config *config, struct sam_neck *n);
void sam_prompt_load(struct sam_loader *l, const struct sam_config *config,
                     struct sam_prompt_encoder *p);
void sam_decoder_load(struct sam_loader *l, const struct sam_config *config, struct sam_decoder *d,
                      const struct sam_prompt_encoder *p);
void sam_memory_attention_load(struct sam_loader *l, const struct sam_config *config,
                               struct sam_memory_attention *a);
void sam_memory_encoder_load(struct sam_loader *l, const struct sam_config *config,
                             struct sam_memory_encoder *e);
void sam_target_load(struct sam_loader *l, const struct sam_config *config, struct sam_target *t);

// ---- scratch and runs. A *_layout hands out a part's scratch; it may be released after the
// part's run (nothing a part returns lies in its own scratch, but in tensors of the caller).

// Rooms of the trunk, one row of numbers each, which a forward cuts to the extents it needs; the
// input and coarse are the neck's and the caller's.
struct sam_encoder_scratch {
    struct sam_tensor input;  // (1, S, S, 3) F32; may share bytes with wide, mixed: a run spoils it
    struct sam_tensor x[2];   // residual stream F32, in turns: some blocks change its size
    struct sam_tensor u;      // after a norm or a depthwise convolution
    struct sam_tensor wide;   // q, k, v; hidden layer; shortcut before pooling
    struct sam_tensor mixed;  // what attention gave
    struct sam_tensor coarse; // (1, h / 2, h / 2, d) F32: neck at stride 32, where it is
};
void sam_encoder_layout(struct sam_encoder_scratch *s, const struct sam_config *c,
                        const struct sam_queue *q, struct sam_arena *a);

// input (already in s->input) -> features. Marks: image, the trunk's, fpn, s0, s1.
void sam_encoder_run(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                     const struct sam_features *dst);

// What the neck makes of the output of a stage, 0 to 3 in turn; F is complete after the last.
void sam_neck_run(struct sam_queue *q, const struct sam_neck *n, struct sam_encoder_scratch *s,
                  int stage, struct sam_tensor x, const struct sam_features *dst);
// What it makes of a stage before the last one, for those who have more to make of x at once.
struct sam_linear sam_neck_lateral(const struct sam_neck *n, int stage, struct sam_tensor x,
                                   const struct sam_features *dst);

// Tokens of points on the host: dst (count + 1 or 2, d): a padding point always follows; no
// points at all give two. x, y in model px, labels above. Returns the number of tokens.
int sam_prompt_tokens(const struct sam_prompt_encoder *p, int d, int image_size, int count,
                      const float (*xy)[2], const int *labels, float *dst);

struct sam_prompt_scratch {
    struct sam_tensor a, b; // stride 8 and 16
};
void sam_prompt_layout(struct sam_prompt_scratch *s, const struct sam_config *c,
                       enum sam_type type, int batch, struct sam_arena *a);

struct sam_target_scratch {
    struct sam_tensor image, s1, s0; // normed
    struct sam_tensor coarse, part;  // products at stride 16 and 8
};
void sam_target_layout(struct sam_target_scratch *s, const struct sam_config *c,
                       struct sam_arena *a);
// Features of a frame -> dst F32 (1, 2 h, 2 h, target_channels).
void sam_target_run(struct sam_queue *q, const struct sam_model *m, struct sam_target_scratch *s,
                    const struct sam_features *f, struct sam_tensor dst);

// Dense embedding of a mask prompt: logits (B, S/4, S/4, 1) F32 -> dst (B, h, h, d).
void sam_prompt_mask(struct sam_queue *q, const struct sam_model *m, struct sam_prompt_scratch *s,
                     struct sam_tensor logits, struct sam_tensor dst);
// Learned downsampling of a full mask, (B, S, S, 1) F32 -> (B, S/4, S/4, 1).
void sam_prompt_downsample(struct sam_queue *q, const struct sam_model *m, struct sam_tensor mask,
                           struct sam_tensor dst);

struct sam_memory_attention_scratch {
    struct sam_tensor u, q, k, v, mixed; // (B, 1, N, d)
    struct sam_tensor memory_key;        // (B, 1, max_keys, d), where keys are held
    void *room;                          // rope_attention's, where they are not
    struct sam_tensor pooled_key, pooled_value; // where keys are pooled: (B, 1, fewer, d), (.., m)
    struct sam_tensor pooled_counts;     // I32 (2, 1, 1, B)
    struct sam_tensor narrow;            // (B, 1, N, m)
    struct sam_tensor hidden;            // (B, 1, N, memory_hidden), where sam_mlp_hidden() says so
};
void sam_memory_attention_layout(struct sam_memory_attention_scratch *s, const struct sam_config *c,
                                 const struct sam_queue *q, int batch, int max_keys,
                                 struct sam_arena *a);

// values, keys (B, 1, M, m) as sam_gather_memory leaves them, M <= max_keys: every row costs, so
// pass no more than the largest num_keys of this frame; num_keys, num_rotated I32
// (1, 1, 1, B); image: F (1, h, h, d). dst (B, h, h, d) F32; plus: a row that every row of it gets
// added, data NULL: none. Marks: memory_attention.layer0 and so on,
// (B, 1, N, d); memory_attention.out, where nothing is added to it.
void sam_memory_attention_run(struct sam_queue *q, const struct sam_model *m,
                              struct sam_memory_attention_scratch *s, struct sam_tensor image,
                              struct sam_tensor values, struct sam_tensor keys,
                              struct sam_tensor num_keys, struct sam_tensor num_rotated,
                              struct sam_tensor dst, struct sam_tensor plus);

struct sam_decoder_scratch {
    struct sam_tensor tokens, initial;           // (B, 1, T, d) F32; initial: their position, too
    struct sam_tensor u, tq, tk, tv, mixed;      // (B, 1, T, d)
    struct sam_tensor shown_k, shown_v;          // (B, 1, T, d / 2): of the tokens, for the image
    struct sam_tensor hidden;                    // (B, 1, T, decoder_hidden)
    struct sam_tensor iq, ik, iv;                // (B, 1, N, d / 2)
    struct sam_tensor up1, up2;                  // stride 8 and 4
    struct sam_tensor token;                     // (6 B, 1, 1, d) F32: of each head
    struct sam_tensor mlp_a, mlp_b;              // (6 B, 1, 1, widest)
    struct sam_tensor hyper_row, hyper;          // (4 B, 1, 1, d / 8) and (B, 1, 4, d / 8)
};
void sam_decoder_layout(struct sam_decoder_scratch *s, const struct sam_config *c, int batch,
                        int max_sparse, struct sam_arena *a);

// image: F_cond + dense (B, h, h, d) F32, overwritten; sparse (B, 1, T, d) F32, or data NULL:
// no object has a prompt on this frame, which is quicker; multimask: I32 (1, 1, 1, B).
void sam_decoder_run(struct sam_queue *q, const struct sam_model *m, struct sam_decoder_scratch *s,
                     struct sam_tensor image, struct sam_tensor sparse,
                     const struct sam_features *f, struct sam_tensor multimask,
                     const struct sam_decoded *dst);
// Its two halves: the candidates, their IoUs, the score and the mask tokens; and from these the
// choice among them and the pointer. Of one object dst->tokens may have no data: the choice reads
// those of the scratch.
void sam_decoder_candidates(struct sam_queue *q, const struct sam_model *m,
                            struct sam_decoder_scratch *s, struct sam_tensor image,
                            struct sam_tensor sparse, const struct sam_features *f,
                            const struct sam_decoded *dst);
void sam_decoder_choose(struct sam_queue *q, const struct sam_model *m,
                        struct sam_decoder_scratch *s, struct sam_tensor multimask,
                        const struct sam_decoded *dst);
// After them, of one object that is present: mask `candidate` instead of the chosen one.
void sam_decoder_take(struct sam_queue *q, const struct sam_model *m,
                      struct sam_decoder_scratch *s, int candidate, const struct sam_decoded *dst);

struct sam_memory_encoder_scratch {
    struct sam_tensor high_res;  // (B, M, M, 1) F32: the signal, M = sam_mask_side()
    struct sam_tensor of_input;  // (B, S, S, 1) F32: the signal before, where S is not M
    struct sam_tensor down[4];   // M / 2, M / 4, M / 8, M / 16
    struct sam_tensor pix;       // (1, 1, N, d) F32: what F adds, the same for every object
    struct sam_tensor x;         // (B, 1, N, d) F32
    struct sam_tensor u, normed, hidden; // (B, 1, N, d) twice, (B, 1, N, fuser_hidden)
};
void sam_memory_encoder_layout(struct sam_memory_encoder_scratch *s, const struct sam_config *c,
                               enum sam_type type, int batch, struct sam_arena *a);

// low_res logits (B, 4 h, 4 h, 1) -> upsampled to S x S, to the signal 20 p - 10 (binary: I32
// (1, 1, 1, B), from a prompt), then to M x M where that is another size, encoded with F -> dst
// (B, 1, N, m) F32, before the absence embedding and before rounding to BF16. Logits of M x M are
// not resized.
void sam_memory_encoder_run(struct sam_queue *q, const struct sam_model *m,
                            struct sam_memory_encoder_scratch *s, struct sam_tensor image,
                            struct sam_tensor low_res, struct sam_tensor binary,
                            struct sam_tensor dst);
// Its two halves: logits to the signal in s->high_res, and the signal there to the memory.
void sam_memory_encoder_signal(struct sam_queue *q, struct sam_memory_encoder_scratch *s,
                               struct sam_tensor low_res, struct sam_tensor binary);
void sam_memory_encoder_run_signal(struct sam_queue *q, const struct sam_model *m,
                                   struct sam_memory_encoder_scratch *s, struct sam_tensor image,
                                   struct sam_tensor dst);

// What is stored of a memory map: (B, 1, map_tokens, m) F32. Without a compressor that is the map
// itself, no memory is taken and nothing runs.
struct sam_tensor sam_memory_stored(struct sam_tensor memory, const struct sam_config *c,
                                    struct sam_arena *a);
void sam_memory_compress_layout(struct sam_compressor_scratch *s, const struct sam_config *c,
                                const struct sam_queue *q, int batch, struct sam_arena *a);
void sam_memory_compress(struct sam_queue *q, const struct sam_model *m,
                         struct sam_compressor_scratch *s, struct sam_tensor memory,
                         struct sam_tensor stored);

// Temporal code of pointers: sine codes (rows, d) F32 -> (rows, m) F32; zeros in SAM 2.0.
void sam_pointer_time_run(struct sam_queue *q, const struct sam_model *m, struct sam_tensor sine,
                          struct sam_tensor dst);
// Host: the 1-D sine code of a distance / 15 into dst[d].
void sam_pointer_sine(int d, int distance, float *dst);

#endif // SAM_PARTS_H
