// SPDX-License-Identifier: MIT
// The operations. One struct is one contract: what it computes, which shapes and types, what
// may alias. ops.c checks a contract once, for all backends; then the entry of the queue's
// table runs: ref/ (the reference, written to be read), cpu/ or cuda/.
//
// Shapes are (n, h, w, c). Unless a contract says otherwise: activations are F32 or BF16 and
// each tensor may choose; parameters (bias, gamma, ...) are F32; dst shares no byte with src.
// "rows" are all (n, h, w) positions of a tensor.
#ifndef SAM_OPS_H
#define SAM_OPS_H

#include <stdbool.h>

#include "base/frame.h"
#include "device/queue.h"
#include "ops/keys.h"
#include "ops/list.h"
#include "ops/matrix.h"
#include "ops/painting.h"

// A NaN stays one: numbers that overflow must be seen at the end of the network.
enum sam_act {
    SAM_ACT_NONE,
    SAM_ACT_RELU,
    SAM_ACT_GELU, // exact, erf
    SAM_ACT_SIGMOID,
    SAM_ACT_SILU, // x sigmoid(x)
    SAM_ACT_RELU6, // min(max(x, 0), 6)
    SAM_NUM_ACTS,
};

enum {
    SAM_MAX_HEAD_DIM = 1024, // channels of one head of attention
    SAM_MAX_WIDTH    = 4096, // channels of a row of feed_forward, and inside of a bottleneck
    SAM_MAX_LEVELS   = 8,    // maps that deformable attention looks at
    SAM_MAX_SAMPLES  = 64,   // places where a head of it looks: levels * points
    SAM_MAX_WINDOW   = 32,   // side of a window of shifted_attention
    SAM_MAX_LINEARS  = 6,    // products of one linears
    SAM_MAX_SCATTERS = 5,    // of one scatters
    SAM_MAX_RIDGE    = 256,  // channels of a ridge regression
};

// dst = convert(src). Same count; or src has n = 1, or is a single row: repeated to fill dst.
struct sam_copy {
    struct sam_tensor dst, src;
};

// dst[n][to + i] = src[n][from + i] for i in [0, rows), where i counts the rows of one n; src may
// have n = 1: repeated. The other rows of dst are left as they are.
// index: I32 (n, 1, 1, rows), each a row of one n of src, that is copied in the place of from + i;
// data NULL: there is none.
struct sam_copy_rows {
    struct sam_tensor dst, src;
    int to, from, rows;
    struct sam_tensor index;
};

// Channels of maps: dst[n][y][x][to + i] = src[n][y / up][x / up][from + i] for i in [0, channels).
// The other channels of dst are left as they are. dst has src's positions, up times each way: maps
// side by side in one, a part of one, and with up > 1 the nearest neighbour of a smaller one.
struct sam_copy_channels {
    struct sam_tensor dst, src;
    int to, from, channels;
    int up; // 1 or more
};

// dst = a + scale * b. b like a, or with n = 1, or a single row: repeated. dst may be a.
struct sam_add {
    struct sam_tensor dst, a, b;
    float scale;
};

// dst[r] = act((src[r] - mean(r)) / sqrt(var(r) + eps) * gamma + beta), over the channels of
// each row, biased variance. dst may be src. act: NONE, GELU or SILU.
// sum = dst + add, add as b of sam_add; data may be NULL: none. sum may be dst, which then has the
// sum alone.
struct sam_layernorm {
    struct sam_tensor dst, src;
    struct sam_tensor gamma, beta; // (1, 1, 1, c)
    float eps;
    enum sam_act act;
    struct sam_tensor sum, add;
};

// dst = act((src - mean) / sqrt(var + eps) * gamma + beta): mean and biased variance of each n and
// of each of `groups` groups of neighbouring channels, over all positions. dst may be src.
// act: NONE or RELU.
struct sam_groupnorm {
    struct sam_tensor dst, src;
    struct sam_tensor gamma, beta; // (1, 1, 1, c)
    int groups;
    float eps;
    enum sam_act act;
};

// dst[r] = add[r] + act(weight src[r] + bias). bias: (1, 1, 1, out), data may be NULL: none.
// add: like dst, or n = 1: repeated; data may be NULL: none; dst may be add.
// bias_bf16: the same bias in BF16, for a backend that wants it and a dst in BF16, whose rounding
// is as large; data may be NULL: none. GELU may be the tanh form then: off by 2e-4 in norm, where
// a dst in BF16 rounds by 1.7e-3.
// table, num_rotated: what that gives is turned then, as by sam_rope, and may be rounded to dst's
// type before; data may be NULL: not turned, all rows.
struct sam_linear {
    struct sam_tensor dst, src;
    struct sam_matrix weight; // out = dst.c, in = src.c
    struct sam_tensor bias, bias_bf16, add;
    enum sam_act act;
    struct sam_tensor table, num_rotated;
};

// Products as in sam_linear, none of which has anything to do with what another one gives: a device
// may make them all at once. The list is the caller's, and read during the call.
struct sam_linears {
    const struct sam_linear *each;
    int count; // 1 .. SAM_MAX_LINEARS
};

// Largest of each 2 x 2 cell; an odd last row or column is dropped.
struct sam_maxpool {
    struct sam_tensor dst, src;
};

// Products of normed rows: the norm as in sam_layernorm, without act and sum, then the products as
// in sam_linears. Those whose src is norm.dst are of the normed rows, rounded to its type; others
// may stand beside. pool: then the cells of what the last product gives, whose dst is pool.src;
// data may be NULL: not pooled. A device may make all of it at once: what norm.dst and pool.src
// hold then is not told.
struct sam_norm_linears {
    struct sam_layernorm norm;
    const struct sam_linear *each;
    int count; // 1 .. SAM_MAX_LINEARS
    struct sam_maxpool pool;
};

// x[r] += down act(up norm(x[r]) + up_bias) + down_bias, norm as in sam_layernorm: what follows
// attention in a transformer's block. The up.out hidden numbers of a row are nowhere kept.
struct sam_feed_forward {
    struct sam_tensor x;
    struct sam_tensor gamma, beta; // (1, 1, 1, x.c)
    float eps;
    struct sam_matrix up, down; // down.out = up.in = x.c, down.in = up.out
    struct sam_tensor up_bias, down_bias; // (1, 1, 1, up.out) and (1, 1, 1, x.c)
    enum sam_act act;
};

// Convolution (cross-correlation), zero padding: `pad` rows and columns on every side, and
// `pad_end` more at the bottom and the right. weight.in runs over (ky, kx, src.c).
// dst.h = (src.h + 2 pad + pad_end - kernel) / stride + 1, and so w. add: as in sam_linear, behind
// act. TensorFlow's SAME of an odd kernel, stride 2 and even sides: pad = (kernel - 2) / 2,
// pad_end = 1.
struct sam_conv {
    struct sam_tensor dst, src;
    struct sam_matrix weight; // out = dst.c, in = kernel * kernel * src.c
    struct sam_tensor bias;
    int kernel, stride, pad;
    enum sam_act act;
    struct sam_tensor add;
    int pad_end; // 0 .. kernel - 1 - pad
};

// Depthwise convolution with zero padding of kernel / 2. weight: F32 (1, kernel, kernel, c). dst
// has the size of src; with stride 2 half of it, rounded up. late: windows lie one position
// further down and to the right, as TensorFlow's SAME has them with stride 2 and even sides.
struct sam_depthwise {
    struct sam_tensor dst, src;
    struct sam_tensor weight, bias;
    int kernel; // odd
    int stride; // 1 or 2
    enum sam_act act;
    bool late; // with stride 2, kernel > 1 and even sides only
};

// An inverted bottleneck ("MobileNetV2", Sandler et al., CVPR 2018):
//   dst = project act(depthwise(act(expand src + expand_bias))) + project_bias + add
// as a linear, a depthwise (weight, bias, kernel, stride, late: see there) and a linear one after
// the other. What comes between them is nowhere kept whole, and rounded to the type of the queue's
// activations. add: like dst; data may be NULL: none. Models ask sam_op_takes_bottleneck() first.
struct sam_bottleneck {
    struct sam_tensor dst, src;
    struct sam_matrix expand; // in = src.c; its outputs are the channels inside
    struct sam_tensor expand_bias, weight, bias;
    int kernel, stride;
    bool late;
    struct sam_matrix project; // in = expand.out, out = dst.c
    struct sam_tensor project_bias, add;
    enum sam_act act;
};

// Transposed convolution, kernel 2, stride 2: no overlap, so a product and a shuffle.
//   dst[n][2y + a][2x + b][o] = act(sum_i weight[(a * 2 + b) * out + o][i] src[n][y][x][i]
//                                   + bias[o] + add[n][2y + a][2x + b][o])
// add: like dst, or n = 1; data may be NULL.
struct sam_conv_transpose {
    struct sam_tensor dst, src;
    struct sam_matrix weight; // out = 4 * dst.c, in = src.c
    struct sam_tensor bias, add;
    enum sam_act act;
};

// A product, one of the three, then the norm of its rows: norm.src is the product's dst. Both as if
// one after the other; a device may make them at once.
struct sam_product_norm {
    struct sam_layernorm norm;
    const struct sam_linear *linear; // the others are NULL
    const struct sam_conv *conv;
    const struct sam_conv_transpose *conv_transpose;
};

// Largest of the kernel x kernel positions around each, a NaN before all numbers; those beyond the
// map do not take part. dst like src.
struct sam_maxpool_around {
    struct sam_tensor dst, src;
    int kernel; // odd
};

// dst[n][c] = mean of src[n][y][x][c] over all positions. dst (n, 1, 1, c). Sums are F32, of
// partial sums, so that the error hardly grows with the number of positions.
struct sam_mean_rows {
    struct sam_tensor dst, src;
};

// dst[n][y][x][c] = src[n][y][x][c] * scale[n][c]. scale F32 (n, 1, 1, c). dst may be src.
struct sam_scale_channels {
    struct sam_tensor dst, src, scale;
};

// A map cut into windows of side x side positions, the windows row-major, the positions of each
// row-major: src (n, H, W, c), H and W multiples of side; dst (n * H / side * W / side, 1,
// side * side, c).
struct sam_windows {
    struct sam_tensor dst, src;
    int side;
};

// Hiera's attention on a map whose q, k, v stand side by side in the channels:
// qkv (n, H, W, 3 C) = [q | k | v], each head-major, C = heads * head_dim.
// window > 0: attention inside windows of window x window, row-major from (0, 0); positions
//   beyond the map hold the token `pad` (1, 1, 1, 3 C) and take part like any other.
// window = 0: attention over the whole map.
// pool: queries are the largest of each 2 x 2 cell of q inside the window (window even), and
//   dst is (n, H / 2, W / 2, C), H and W even; else dst is (n, H, W, C).
// Scale 1 / sqrt(head_dim).
struct sam_window_attention {
    struct sam_tensor dst, qkv;
    struct sam_tensor pad; // F32
    int heads, window;
    bool pool;
};

// Swin's attention, inside of windows of window x window positions, on a map whose q, k, v stand
// side by side in the channels, as in sam_window_attention. The map, filled up at the bottom and
// the right to whole windows with the token `pad`, is a torus; windows begin at (shift, shift), so
// that the last one of a column ends with its first `shift` rows, and likewise that of a row.
//   score of a query and a key = q . k / sqrt(head_dim) + bias[head][y][x] - apart
// y - (window - 1) and x - (window - 1) tell how far the query is below and to the right of the
// key, both counted inside of the window. apart: 100 if one of the two lies beyond the map's end,
// at the bottom or at the right, and the other does not; else 0.
// bias: F32 (1, heads, 2 window - 1, 2 window - 1); dst (n, H, W, C); 0 <= shift < window.
struct sam_shifted_attention {
    struct sam_tensor dst, qkv;
    struct sam_tensor pad; // F32 (1, 1, 1, 3 C)
    struct sam_tensor bias;
    int heads, window, shift;
};

// dst[n][i] = sum_j softmax_j(scale * q[n][i] . k[n][j]) v[n][j], for each head.
// q (n, 1, Tq, heads * dk), k (n or 1, 1, Tk, heads * dk), v (n or 1, 1, Tk, heads * dv),
// dst (n, 1, Tq, heads * dv); dv may differ from dk, both at most SAM_MAX_HEAD_DIM.
// num_keys: I32 (1, 1, 1, n), in 1 .. Tk: keys of each n that count; data may be NULL: all.
// exact: as of a matrix.
// num_first: like num_keys; the scores of keys from there on have `rest` added, behind scale, which
// is more than 0. data may be NULL: none has.
struct sam_attention {
    struct sam_tensor dst, q, k, v;
    struct sam_tensor num_keys;
    int heads;
    float scale;
    bool exact;
    struct sam_tensor num_first;
    float rest; // at most 0
};

// As sam_attention, but query i leaves out key j where mask[n][i][j] < 0, for all heads; where that
// would be all keys, it takes all.
// mask: F32 (n, 1, Tq, Tk).
struct sam_masked_attention {
    struct sam_tensor dst, q, k, v;
    struct sam_tensor mask;
    int heads;
    float scale;
};

// Rotate pairs (2i, 2i + 1) of the channels of row r of each n by the angle of row r mod N of
// the table. table: F32 (1, 1, N, c), cos at 2i, sin at 2i + 1. num_rotated: I32 (1, 1, 1, n),
// rows from there on are copied; data may be NULL: all are rotated. dst may be src.
struct sam_rope {
    struct sam_tensor dst, src, table;
    struct sam_tensor num_rotated;
};

// dst[y][x] = a[y][x] + b[y / 2][x / 2]. a like dst; b half its size. dst may be a.
struct sam_upsample_add {
    struct sam_tensor dst, a, b;
};

// A product, then sum, whose b is the product's dst. As if one after the other; but a device may
// make them at once: what b holds then is not told.
struct sam_linear_upsample {
    struct sam_upsample_add sum;
    struct sam_linear product;
};

// Bilinear, corners not aligned. antialias: triangle filter as wide as the shrink factor
// (PyTorch's and PIL's rule). F32, any channels.
struct sam_resize {
    struct sam_tensor dst, src;
    bool antialias;
};

// Mask logits to the memory encoder's signal: scale * p + bias, p = binary[n] ? (src > 0) :
// sigmoid(src). src F32; binary: I32 (1, 1, 1, n). dst may be src; or it is F32 and of another
// size, to which src is resized first, as by sam_resize without antialias.
struct sam_mask_signal {
    struct sam_tensor dst, src, binary;
    float scale, bias;
};

// Multi-scale deformable attention: each head of a query looks at `points` places of each of
// `levels` maps, between their positions. Head h of query i of n gets
//   sum over l, k of softmax(weights[n][i][h])[l][k] * value of map l at (x, y), the softmax over
//   all levels * points together, where
//   x = (reference.x + offset.x / width[l]) * width[l] - 0.5, and y likewise by height[l], where a
//     reference is a point (x, y) of the unit square; or
//   x = (reference.x + offset.x / points * reference.w * 0.5) * width[l] - 0.5, and y likewise,
//     where it is a box (x, y, w, h) with (x, y) in its middle.
// The value at (x, y) is that of the four positions around, bilinear; one outside of the map counts
// as 0. A place counts only where -1 < x < width[l] and -1 < y < height[l]; a NaN is nowhere.
// Coordinates are F32, in the steps written, each rounded; softmax and sums are F32.
// values (n, 1, T, heads * d): the maps one after another, row-major, T the sum of height * width;
// offsets F32 (n, 1, Tq, heads * levels * points * 2), by head, level, point, x and y; weights F32
// (n, 1, Tq, heads * levels * points); references F32 (n or 1, 1, Tq, 2 or 4); dst (n, 1, Tq,
// heads * d), d at most SAM_MAX_HEAD_DIM.
struct sam_deform_attention {
    struct sam_tensor dst, values, offsets, weights, references;
    int heads, levels, points;
    int height[SAM_MAX_LEVELS], width[SAM_MAX_LEVELS];
};

// Boxes (x, y, w, h), (x, y) in the middle, moved and scaled by deltas in units of their size:
//   dst[n][i] = (x + dx w, y + dy h, w exp(dw), h exp(dh)),
// where (x, y, w, h) = boxes[n][j], j = index[n][i], and (dx, dy, dw, dh) = deltas[n][i].
// All F32 (n, 1, rows, 4); deltas may have n = 1: repeated. index: I32 (n, 1, 1, rows of dst), each
// a row of boxes; data may be NULL: j = i.
struct sam_refine_boxes {
    struct sam_tensor dst, boxes, deltas, index;
};

// Sines of boxes, each number v of a box on d channels: channel 2 k is sin(a), 2 k + 1 is cos(a),
// a = 2 pi v / 10000^(2 k / d), in F32. In a row of dst, y's channels come first, then those of
// x, w, h.
// boxes F32 (n, 1, rows, 4); dst (n, 1, rows, 4 d), d even.
struct sam_embed_boxes {
    struct sam_tensor dst, boxes;
};

// dst[n][i][j] = sum_c a[n][i][c] b[n][j][c], rows i of a, rows j of b. dst F32 (n, 1, rows of
// a, rows of b). Few rows in a (mask tokens), many in b (pixels).
struct sam_matmul {
    struct sam_tensor dst, a, b;
};

// The selection rules of the mask decoder, per n; candidate 0 is the single mask, 1 .. 3 the
// three. Let best = the first of 1 .. 3 with the largest iou.
//   multimask[n]: chosen = best, token = tokens[best].
//   else: stability of mask 0 = |{m > delta}| / |{m > -delta}| (1 if the latter is empty);
//         chosen = 0 if stability >= threshold else best; token = tokens[0] in either case.
//   Then low_res = score[n] > 0 ? masks[chosen] : -1024 everywhere; iou = ious[chosen].
struct sam_select_mask {
    struct sam_tensor low_res;   // F32 (n, 1, 1, P)
    struct sam_tensor token;     // (n, 1, 1, d)
    struct sam_tensor iou;       // F32 (n, 1, 1, 1)
    struct sam_tensor masks;     // F32 (n, 1, 4, P)
    struct sam_tensor tokens;    // (n, 1, 4, d), of the type of token
    struct sam_tensor ious;      // F32 (n, 1, 1, 4)
    struct sam_tensor score;     // F32 (n, 1, 1, 1)
    struct sam_tensor multimask; // I32 (1, 1, 1, n)
    float delta, threshold;      // 0.05, 0.98
};

// dst[n] = score[n] > 0 ? src[n] : other (a single row). dst may be src.
struct sam_gate {
    struct sam_tensor dst, src, other, score; // score F32 (n, 1, 1, 1)
};

// dst[slot[n]] = src[n], converted; unless score[n] > 0, `absent` (1, 1, 1, c; data may be
// NULL) is added to every row first. slot: I32 (1, 1, 1, n); a negative one is skipped.
struct sam_scatter {
    struct sam_tensor dst, src, slot, absent, score;
};

// As sam_scatter, of which none has anything to do with what another one gives: a device may make
// them all at once. The list is the caller's, and read during the call.
struct sam_scatters {
    const struct sam_scatter *each;
    int count; // 1 .. SAM_MAX_SCATTERS
};

// What each object remembers, laid out for memory attention. Per object n, the spatial maps
// named by map_slot[n][0 .. num_maps[n]), N tokens each, then the pointers named by
// pointer_slot[n][0 .. num_pointers[n]), each cut into d / m tokens of m channels:
//   values = the maps' and pointers' numbers; keys = values + position, where position is
//   place + time[map_time[n][i]] for map i, and pointer_time[n][i] for all tokens of pointer i.
// num_keys[n] = num_maps[n] * N + num_pointers[n] * d / m; rows beyond are left as they are.
struct sam_gather_memory {
    struct sam_tensor values, keys; // (n, 1, M, m)
    struct sam_tensor maps;         // (slots, 1, N, m)
    struct sam_tensor pointers;     // F32 (pointer slots, 1, 1, d)
    struct sam_tensor place;        // F32 (1, 1, N, m)
    struct sam_tensor time;         // F32 (1, 1, T, m)
    struct sam_tensor pointer_time; // F32 (n, 1, max pointers, m)
    struct sam_tensor map_slot, map_time;         // I32 (n, 1, 1, max maps)
    struct sam_tensor pointer_slot;               // I32 (n, 1, 1, max pointers)
    struct sam_tensor num_maps, num_pointers;     // I32 (1, 1, 1, n)
};

// A video frame to the network's input: colour to R'G'B' by the frame's matrix
// and range, each chroma sample shared by its pixels, clamped to 0 .. 255, not rounded; stretched
// to dst's size by the antialiased triangle filter; then scaled to what the network was trained on.
// This is PyTorch's interpolate(bilinear, antialias) on the float RGB frame.
enum sam_input_scale {
    SAM_INPUT_IMAGENET, // (v / 255 - mean) / std, ImageNet's
    SAM_INPUT_CENTRED,  // (v - 127) / 128, EfficientNet-Lite's
    SAM_INPUT_EVEN,     // (v - 127.5) / 127.5, SAM 3's
    SAM_NUM_INPUT_SCALES,
};
struct sam_preprocess {
    struct sam_tensor dst; // (1, S, S, 3)
    struct sam_frame frame;
    enum sam_input_scale scale;
};

// A video frame scaled into a part of the network's input: colour as in sam_preprocess; width x
// height pixels at (x, y) of dst by bilinear interpolation of the nearest four (corners not
// aligned, no wider filter where it shrinks), rounded to whole numbers; all others are `fill`; then
// v / 255.
struct sam_letterbox {
    struct sam_tensor dst; // (1, H, W, 3)
    struct sam_frame frame;
    int x, y, width, height;
    float fill; // 0 .. 255
};

// The largest numbers of each n, largest first, the first of equal ones first (-0 is 0): as many
// as are above the threshold and fit. A NaN never is. num[n] counts them; behind the last, index
// is -1 and score 0. For any count and any k. room: scratch.
// all: as if each number were above the threshold; NaNs are the smallest, and equal; k <= count.
struct sam_topk {
    struct sam_tensor index; // I32 (n, 1, 1, k)
    struct sam_tensor score; // F32 (n, 1, 1, k)
    struct sam_tensor num;   // I32 (1, 1, 1, n)
    struct sam_tensor src;   // F32 (n, 1, 1, count)
    struct sam_tensor room;  // I32 (n, 1, 1, 2 (count + k + 1))
    float threshold;
    bool all;
};

// Small holes of masks are filled: dst = src, but `value` at the places of every 8-connected
// component of {src <= 0} that has at most max_area of them, one that touches the border too.
// islands: of {src > 0} instead, and at most half of all its places, so that a mask of one piece
// stays however small it is. Each n alone, F32 (n, h, w, 1). room: I32 (n, 1, 1, 2 h w + 1),
// scratch. dst may be src.
struct sam_fill_holes {
    struct sam_tensor dst, src, room;
    int max_area;
    float value;
    bool islands;
};

// Pieces of masks that came up far from where their objects were are dropped. A piece is of places
// with logits > 0 that touch, by their corners, too. A row of boxes is F32 x0, y0, x1, y1, area:
// the edges of a mask's box and how many places it has, 0: none is known. Of each n, b =
// boxes[before[n]], or zeros where that is negative. Where score[n] > 0, prompted[n] is 0 and b has
// an area, a piece is near that has a place within floor(reach m) + least of b, m being b's longer
// side. If all near ones together have a place, and at least `share` of b's area, logits of the
// others become `value`. Then, where after[n] >= 0, boxes[after[n]] is the box of the logits > 0,
// or b if there are none or score[n] is not above 0. Rows before and after of all n differ.
// logits F32 (n, h, w, 1), in place; boxes (rows, 1, 1, SAM_BOX_ROW); score F32 (n, 1, 1, 1);
// before, after, prompted: I32 (1, 1, 1, n); room I32 (n, 1, 1, 2 h w): scratch.
enum { SAM_BOX_ROW = 5 };
struct sam_keep_near {
    struct sam_tensor logits, boxes, score, before, after, prompted, room;
    float reach, least, share, value;
};

// Pieces of masks, as above, whose cells tell that they are another thing's are dropped. A place
// has the vote v of its cell, two places wide and high, in whole numbers: 1024 min(max(v, -1), 1),
// rounded to the nearest, half to even; of NaN 1024. Of each n with score[n] > 0 and slot[n] >= 0 a
// piece is foreign if its votes' sum is below 0. If the others together have at least `share` of
// the places of all pieces, logits of foreign ones become `value`.
// logits F32 (n, h, w, 1), h and w even, in place; votes F32 (n, h/2, w/2, 1); slot I32
// (1, 1, 1, n); score F32 (n, 1, 1, 1); room I32 (n, 1, 1, 2 h w): scratch.
struct sam_drop_foreign {
    struct sam_tensor logits, votes, slot, score, room;
    float share, value;
};

// Weights of the edges between neighbours of a picture, for sam_random_walk:
//   exp(-sharpness d / m) + least
// where d is the squared distance of the numbers of two neighbours, m its mean over all edges, at
// least 1e-12. dst's plane 0 has the edge from each place to the right, plane 1 the one down; 0
// where there is no neighbour. src F32 (1, h, w, c); dst F32 (2, h, w, 1).
struct sam_edge_weights {
    struct sam_tensor dst, src;
    float sharpness, least;
};

// Random walks with a prior ("Multilabel random walker image segmentation using prior models",
// Grady, CVPR 2005), by successive over-relaxation. Of each n with score[n] > 0, logits being l:
//   x = g = tanh(l / 2) in columns x0 to x1 - 1 of rows y0 to y1 - 1, and `outside` in all others;
//   `rounds` times for all places of the former whose row + column is even, then for those whose is
//   odd: x += relaxation ((fidelity g + sum of w x) / (fidelity + sum of w) - x), the sums over the
//   four neighbours, of edges of weight w;
//   l = 2 artanh(min(max(x, -most), most)).
// logits F32 (n, h, w, 1), in place; edges as sam_edge_weights gives them; score F32 (n, 1, 1, 1);
// room F32 (n, h, w, 2): scratch.
struct sam_random_walk {
    struct sam_tensor logits, edges, score, room;
    int x0, y0, x1, y1;
    float fidelity, relaxation, outside, most;
    int rounds;
};

// Linear functions of a frame's features, one of each object, that tell its cells from others,
// fitted by ridge regression to masks of frames before ("Learning Fast and Robust Target Models for
// Video Object Segmentation", Robinson et al., CVPR 2020). Three operations: learn, fit, score.
// Features are F32 (1, h, w, c), to which x adds the constant 1: N = c + 1 numbers. A cell covers
// 2 x 2 logits, F32 (n, 2 h, 2 w, 1). A row of sums is F32, twice a lower triangle of N x N, row by
// row, and N numbers: of prompted frames, then of tracked ones; sums is (rows, 1, 1, N (N + 3)).

// What the sums learn of a frame. Of each n with after[n] >= 0, s = sums[before[n]], or zeros where
// that is negative. Where score[n] > 0, the sums over cells of weight x x^T and weight y x enter
//   the sums of prompted frames as the k-th of k = prompted[n] > 0: (1 - 1 / k) of before and 1 / k
//   of these; and those of tracked ones are 0 from then on; or, with k = 0,
//   the sums of tracked ones: `keep` of before and 1 - keep of these.
// Then sums[after[n]] = s. Rows before and after of all n differ. p is the mean of the sigmoid of a
// cell's logits, y = 2 p - 1, and the weight is 1 / (number of cells on its side of p > 0.5), times
// `far` if no cell within `near` rows and columns has p > 0.5, times unsure + (1 - unsure) |y|.
// before, after, prompted: I32 (1, 1, 1, n); score F32 (n, 1, 1, 1); room F32 (n, h, w, 2).
struct sam_ridge_learn {
    struct sam_tensor sums, features, logits, score, before, after, prompted, room;
    int near;
    float keep, far, unsure;
};

// dst[n] = (A + ridge m I)^-1 b, A and b both sums of row slot[n] added up, m the mean of A's
// diagonal; in double, by Cholesky decomposition. Zeros where slot[n] < 0, score[n] is not above 0
// or A has none. dst F32 (n, 1, 1, N); slot I32 (1, 1, 1, n); room F32 (n, 1, N + 1, 2 N): scratch.
struct sam_ridge_fit {
    struct sam_tensor dst, sums, slot, score, room;
    float ridge;
};

// logits[n] += scale * resize(min(max(weights[n] . x, -most), most)) where score[n] > 0, to twice
// the size as by sam_resize without antialias. weights F32 (n, 1, 1, N); room F32 (n, h, w, 1).
struct sam_ridge_score {
    struct sam_tensor logits, features, weights, score, room;
    float scale, most;
};

// Nearest neighbours of cells in the frame that an object was prompted on: learn, score. Features
// and logits as above, h and w even. A row of K keys is numbers of features, K of each, then K y:
// keys is F32 (rows, 1, 1, (c + 1) K). A key of zeros is none. Learn: as sam_ridge_learn, keys for
// sums; but of n with prompted[n] > 0 and score[n] > 0, s is made anew, and of others only copied.
// Cells with p > 0.5 within `ring` rows and columns are near. Of the N near ones, in the order of
// rows, M = min(N, K - h w / 4), those of number i N / M for i in [0, M), rounded down, are the
// first keys; the last h w / 4 are of blocks of 2 x 2 cells, means of features and y, of those
// without a near cell. Features are divided by max(length, 1e-12). y < 0 of a key that has a cell
// with p > 0.5 within `beside` of one of its own is multiplied by min(max((iou[n] - doubted) /
// (trusted - doubted), 0), 1); iou F32 (n, 1, 1, 1).
struct sam_recall_learn {
    struct sam_tensor keys, features, logits, iou, score, before, after, prompted, room;
    int ring, beside;
    float doubted, trusted;
};

// logits[n] += scale * resize(v) where score[n] > 0 and slot[n] >= 0, as sam_ridge_score does. Of a
// cell, s is its largest product with a key of row slot[n] over max(length, 1e-12), y that key's,
// the first of equals, v = y / (1 + e^((likeness - s) / softness)); 0 if none is above -1e30.
struct sam_recall_score {
    struct sam_tensor logits, features, keys, slot, score, room;
    float scale, likeness, softness;
};

// Masks at the size of the frame. Logits (n, 1, h, w), F32, go to width x height by one
// bilinear step (corners not aligned); a pixel belongs to n where its logit is > 0. Both
// outputs are host memory, filled when sam_queue_finish() returns; each may be absent.
//   labels: the struct of the public header; the byte for n is slot[n], 1 .. 255. on_device: only
//   where the device's memory is not the host's. Then logits may be absent: labels are all 0.
//   boxes: per n, x0, y0, x1, y1 (exclusive; all 0 if empty) and the pixel count.
struct sam_draw_masks {
    struct sam_tensor logits;
    const int32_t *slot; // host, n entries, ascending
    struct sam_labels labels; // data may be NULL
    int width, height;        // of the frame: for boxes
    int32_t (*boxes)[5];      // may be NULL
};

// Masks as sam_draw_masks has them, their edges moved to those of the frame's luma: the same
// outputs, of another logit. A picture of W x H pixels is cut into h x w cells, one per logit; a
// pixel is of the cell in which its centre lies. Its logit for n, up to a factor, is the sum over
// the 3 x 3 cells (i, j) around of
//   a(v) a(u) r(Y - mean of Y in the cell) logits[n][i][j]
// where v and u are the distances of the pixel's centre from the cell's, in cells down and across,
//   a(t) = (1 - t^2 / 1.5^2)^2 for |t| < 1.5, else 0,
//   r(d) = max(0, 1 - d^2 / 8192)^16 + 1 / 8192, exp(-d^2 / (2 16^2)) by and large;
// cells beyond the border count as the nearest ones, at their own distance. So a pixel can differ
// from what the logits around it agree on only where they do not, 1.5 cells from a change of sign.
// Y, 0 .. 255: (77 R + 150 G + 29 B + 128) / 256, rounded down, the sample, or the upper byte of
// it. Y of a pixel of labels that are not of the frame's size, like the mean of Y in a cell, is the
// mean over the frame's pixels whose centres lie inside; if none does, the first one behind its
// upper or left edge, at most the last.
struct sam_draw_edges {
    struct sam_draw_masks masks; // with logits; width and height are the frame's
    struct sam_frame frame;      // plane 0 is read
    struct sam_tensor room;      // F32 (1, 1, h, w): scratch
};

// The table of a backend: an entry per operation of list.h. Arguments have been checked by the
// sam_op_X() fronts by the time an entry is called. Only ops/ and cuda/ look into it.
struct sam_ops {
    // Weights: bytes of the packed form; pack from F32 row-major host memory.
    size_t (*pack_bytes)(const struct sam_queue *q, struct sam_matrix m); // m.data: not looked at
    void (*pack)(struct sam_queue *q, struct sam_matrix dst, const float *weight);

    bool wants_bias_bf16; // in linear, where products are of BF16
    int least_bf16_terms; // products of so many terms are quicker by BF16 than exact; 0: of many
    // NULL: never the fast way.
    size_t (*rope_attention_room)(const struct sam_queue *q, int d, int m, int side, int n, int Tk);
    bool (*takes_bottleneck)(const struct sam_queue *q, int side, int inside, int kernel);

#define SAM_ENTRY(name, cpu, cuda) void (*name)(struct sam_queue *q, const struct sam_##name *p);
    SAM_OPS(SAM_ENTRY)
#undef SAM_ENTRY
};

// The first operation that every backend must have and this table lacks; NULL: it is complete.
const char *sam_ops_missing(const struct sam_ops *ops);

// The fronts. Each checks its contract and calls the queue's entry.
#define SAM_FRONT(name, cpu, cuda) \
    void sam_op_##name(struct sam_queue *q, const struct sam_##name *p);
SAM_OPS(SAM_FRONT)
#undef SAM_FRONT
size_t sam_op_pack_bytes(const struct sam_queue *q, struct sam_matrix m); // m.data: not looked at
void sam_op_pack(struct sam_queue *q, struct sam_matrix dst, const float *weight);

// What models ask before they choose an operation.
bool sam_op_wants_bias_bf16(const struct sam_queue *q);
bool sam_op_wants_narrow_bf16(const struct sam_queue *q, int in);
bool sam_op_has_feed_forward(const struct sam_queue *q);
size_t sam_op_rope_attention_room(const struct sam_queue *q, int d, int m, int side, int n, int Tk);
// Whether a bottleneck of a square map with so many channels inside is quicker than its parts.
bool sam_op_takes_bottleneck(const struct sam_queue *q, int side, int inside, int kernel);

#endif // SAM_OPS_H
