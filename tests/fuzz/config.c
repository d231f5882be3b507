// Any text as the JSON of a model: alone, and what is accepted as the metadata of a file that is
// otherwise in order, where again what is accepted must be a model that can run.
#include "model/config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/config_json.h"
#include "model/sam2/hiera.h"
#include "folder.h"

enum { E = 8, D = 16, M = 4, BLOCKS = 5, HIDDEN = 8 };

static void add(json_t *root, int64_t *at, const char *name, int rank, const int *shape)
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
    add(root, at, name, sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int),                        \
        (const int[]){ __VA_ARGS__ })

// The tensors from which sizes are read, of a small SAM 2.1.
static void add_tensors(json_t *root, int64_t *at)
{
    char name[80];
    ADD("image_encoder.trunk.patch_embed.proj.weight", E, 3, 7, 7);
    ADD("image_encoder.trunk.pos_embed", 1, E, 7, 7);
    ADD("image_encoder.trunk.pos_embed_window", 1, E, 8, 8);
    ADD("image_encoder.neck.convs.0.conv.weight", D, 8 * E, 1, 1);
    ADD("memory_encoder.out_proj.weight", M, D, 1, 1);
    ADD("maskmem_tpos_enc", 7, 1, 1, M);
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

// A safetensors file with `text` as its metadata; NULL where the text is no UTF-8.
static uint8_t *make_file(const char *text, size_t bytes, size_t *size)
{
    json_t *said = json_stringn(text, bytes);
    if (!said)
        return NULL;
    json_t *root = json_pack("{s:{s:o}}", "__metadata__", "samtrack", said);
    int64_t data = 0;
    add_tensors(root, &data);
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

static void check_config(const struct sam_config *c)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sam_error error = { "" };
    struct sam_config config = { .family = sam_families[0], .d_model = D, .mem_dim = M,
                                 .num_maskmem = 7 };
    *sam_hiera_config(&config) = (struct sam_hiera_config) {
        .embed_dim = E, .num_blocks = BLOCKS, .stages = { 1, 1, 2, 1 } };
    struct sam_weights *f;
    size_t file_bytes;
    const int status = sam_config_read_json(&config, "file", (const char *) data, size, &error);
    fuzz_check(!status || error.text[0]);
    if (status)
        return 0;

    uint8_t *file = make_file((const char *) data, size, &file_bytes);
    if (file && !sam_weights_open(&f, fuzz_file("file", file, file_bytes), &sam_family_names,
        &error)) {
        if (sam_config_read(&config, f, 0, &error))
            fuzz_check(error.text[0]);
        else
            check_config(&config);
        sam_weights_close(&f);
    }
    free(file);
    return 0;
}
