// SPDX-License-Identifier: MIT
// The tensors of a small SAM 2.1 from which sizes are read: all that reading its JSON needs.
#ifndef FUZZ_SMALL_H
#define FUZZ_SMALL_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/sam2/hiera.h"
#include "fuzz.h"

enum { E = 8, D = 16, M = 4, BLOCKS = 5, HIDDEN = 8 };

static inline void small_add(json_t *root, int64_t *at, const char *name, int rank,
                             const int *shape)
{
    json_t *extents = json_array();
    int64_t bytes = 2;
    for (int i = 0; i < rank; i++) {
        json_array_append_new(extents, json_integer(shape[i]));
        bytes *= shape[i];
    }
    json_object_set_new(root, name,
                        json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F16", "shape", extents,
                                  "data_offsets", (json_int_t) *at, (json_int_t) (*at + bytes)));
    *at += bytes;
}

#define ADD(name, ...)                                                                             \
    small_add(root, at, name, sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int),                  \
              (const int[]){ __VA_ARGS__ })

static inline void small_tensors(json_t *root, bool hugging_face, int64_t *at)
{
    char name[80];
    ADD("image_encoder.trunk.patch_embed.proj.weight", E, 3, 7, 7);
    ADD("image_encoder.trunk.pos_embed", 1, E, 7, 7);
    ADD("image_encoder.trunk.pos_embed_window", 1, E, 8, 8);
    ADD("image_encoder.neck.convs.0.conv.weight", D, 8 * E, 1, 1);
    ADD("memory_encoder.out_proj.weight", M, D, 1, 1);
    ADD(hugging_face ? "memory_temporal_positional_encoding" : "maskmem_tpos_enc", 7, 1, 1, M);
    ADD("memory_attention.layers.0.norm1.weight", D);
    ADD("memory_attention.layers.0.linear1.weight", HIDDEN, D);
    ADD("sam_mask_decoder.transformer.layers.0.mlp.layers.0.weight", HIDDEN, D);
    ADD("sam_mask_decoder.conv_s0.weight", D / 8, D, 1, 1);
    ADD("sam_mask_decoder.conv_s1.weight", D / 4, D, 1, 1);
    ADD("memory_encoder.fuser.layers.0.gamma", D);
    ADD("memory_encoder.fuser.layers.0.pwconv1.weight", HIDDEN, D);
    ADD("sam_prompt_encoder.mask_downscaling.3.weight", 4, 1, 2, 2);
    ADD("sam_mask_decoder.iou_prediction_head.layers.0.weight", HIDDEN, D);
    ADD("no_obj_embed_spatial", 1, M);
    ADD("obj_ptr_tpos_proj.weight", M, D);
    for (int i = 0; i < BLOCKS; i++) {
        snprintf(name, sizeof(name), "image_encoder.trunk.blocks.%d.norm1.weight", i);
        ADD(name, E);
        snprintf(name, sizeof(name), "image_encoder.trunk.blocks.%d.proj.weight", i);
        if (i == 1 || i == 2 || i == 4)
            ADD(name, 2 * E, E);
    }
}

// A safetensors file of zeros, with `text` as its metadata; NULL where the text is no UTF-8. text
// NULL: without. hugging_face: one of its tensors has Hugging Face's name.
static inline uint8_t *small_file(const char *text, size_t bytes, bool hugging_face, size_t *size)
{
    json_t *said = text ? json_stringn(text, bytes) : NULL;
    if (text && !said)
        return NULL;
    json_t *root = json_object();
    if (said)
        json_object_set_new(root, "__metadata__", json_pack("{s:o}", "samtrack", said));
    int64_t data = 0;
    small_tensors(root, hugging_face, &data);
    char *header = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    const uint64_t length = header ? strlen(header) : 0;
    uint8_t *file = header ? calloc(1, 8 + length + data) : NULL;
    if (file) {
        memcpy(file, &length, 8);
        memcpy(file + 8, header, length);
    }
    free(header);
    *size = 8 + length + data;
    return file;
}

// What was accepted as the JSON of that file can run.
static inline void small_check(const struct sam_config *c)
{
    int blocks = 0;
    fuzz_check(c->image_size >= 64 && c->image_size <= 2048 && c->image_size % 32 == 0);
    const struct sam_hiera_config *h = sam_hiera_sizes(c);
    fuzz_check(h->num_heads > 0 && E % h->num_heads == 0);
    for (int i = 0; i < SAM_STAGES; i++) {
        fuzz_check(h->window_spec[i] > 0 && h->window_spec[i] <= 64);
        blocks += h->stages[i];
    }
    fuzz_check(blocks == BLOCKS && h->num_blocks == BLOCKS);
    for (int i = blocks; i < SAM_MAX_BLOCKS; i++)
        fuzz_check(!h->global_block[i]);
}

#endif // FUZZ_SMALL_H
