// SPDX-License-Identifier: MIT
// The operations: one line each, in the order of ops.h, where their contracts stand. From this list
// follow the tables of the backends, the prototypes of fronts and entries, and the check of a table
// when a queue is opened. meson.build reads it, too, line by line: it compiles the files in ref/,
// cpu/ and cuda/ that are named after an operation, and makes the short forms of net/forward.h.
//
//   op(name, cpu, cuda)
//     cpu:  cpu, the CPU's table has sam_name_cpu; ref, it has the reference, sam_name_ref.
//     cuda: cuda, CUDA's table has sam_name_cuda; none, it has NULL. Models ask before they use an
//           operation with none here: it does at once what several others do.
#ifndef SAM_LIST_H
#define SAM_LIST_H

#define SAM_OPS(op)                  \
    op(copy,              cpu, cuda) \
    op(copy_rows,         cpu, cuda) \
    op(copy_channels,     cpu, cuda) \
    op(add,               cpu, cuda) \
    op(layernorm,         cpu, cuda) \
    op(groupnorm,         cpu, cuda) \
    op(linear,            cpu, cuda) \
    op(linears,           ref, cuda) \
    op(norm_linears,      ref, cuda) \
    op(feed_forward,      cpu, none) \
    op(conv,              cpu, cuda) \
    op(depthwise,         cpu, cuda) \
    op(bottleneck,        cpu, none) \
    op(conv_transpose,    cpu, cuda) \
    op(product_norm,      cpu, cuda) \
    op(maxpool,           cpu, cuda) \
    op(maxpool_around,    cpu, cuda) \
    op(mean_rows,         cpu, cuda) \
    op(scale_channels,    cpu, cuda) \
    op(windows,           cpu, cuda) \
    op(window_attention,  cpu, cuda) \
    op(shifted_attention, cpu, cuda) \
    op(attention,         cpu, cuda) \
    op(masked_attention,  cpu, cuda) \
    op(rope,              cpu, cuda) \
    op(rope_attention,    cpu, none) \
    op(pool_keys,         cpu, cuda) \
    op(upsample_add,      cpu, cuda) \
    op(linear_upsample,   ref, cuda) \
    op(resize,            cpu, cuda) \
    op(mask_signal,       cpu, cuda) \
    op(deform_attention,  cpu, cuda) \
    op(refine_boxes,      ref, cuda) \
    op(embed_boxes,       ref, cuda) \
    op(matmul,            cpu, cuda) \
    op(select_mask,       cpu, cuda) \
    op(gate,              ref, cuda) \
    op(scatter,           cpu, cuda) \
    op(scatters,          ref, cuda) \
    op(gather_memory,     cpu, cuda) \
    op(topk,              cpu, cuda) \
    op(fill_holes,        cpu, cuda) \
    op(keep_near,         cpu, cuda) \
    op(drop_foreign,      cpu, cuda) \
    op(edge_weights,      ref, cuda) \
    op(random_walk,       cpu, cuda) \
    op(ridge_learn,       cpu, cuda) \
    op(ridge_fit,         cpu, cuda) \
    op(ridge_score,       cpu, cuda) \
    op(recall_learn,      ref, cuda) \
    op(recall_score,      cpu, cuda) \
    op(preprocess,        cpu, cuda) \
    op(letterbox,         cpu, cuda) \
    op(draw_masks,        cpu, cuda) \
    op(paint,             cpu, cuda) \
    op(blur,              ref, cuda) \
    op(replace,           ref, cuda) \
    op(draw_edges,        cpu, cuda)

#endif // SAM_LIST_H
