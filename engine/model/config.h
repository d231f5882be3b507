// Every size of a model, read from tensor names and shapes, and from JSON where shapes cannot
// tell (input size, heads, windows, global blocks). Constants of the published builders that no
// file states stand in docs/MODEL.md.
#ifndef SAM_CONFIG_H
#define SAM_CONFIG_H

#include <stdbool.h>

#include "weights/weights.h"

enum {
    SAM_STAGES = 4,
    SAM_MAX_BLOCKS = 64,          // of the trunk
    SAM_MAX_MEMORY_LAYERS = 8,
    SAM_MAX_FUSER_LAYERS = 8,
    SAM_MAX_MASKMEM = 16,         // spatial maps attended, published: 7
    SAM_MAX_POINTERS = 16,        // object pointers attended, published: 16
    SAM_MASK_TOKENS = 4,
    SAM_DECODER_HEADS = 8,
    SAM_DECODER_LAYERS = 2,
};

struct sam_config {
    char variant[48]; // "sam2.1_hiera_tiny", ... or "custom"
    int image_size;   // S: side of the square input, px; a multiple of 32

    // Hiera trunk.
    int embed_dim, num_heads;         // of the first stage; both double at each further one
    int stages[SAM_STAGES];           // blocks per stage
    int window_spec[SAM_STAGES];      // window side per stage, tokens
    bool global_block[SAM_MAX_BLOCKS];
    int num_blocks;
    int pos_embed_size;               // side of the background position map (7 or 14)
    int window_pos_embed_size;        // side of the window position map (8)

    int d_model; // width of neck, decoder and memory attention (256)
    int mem_dim; // width of the memory map (64); divides d_model

    int num_maskmem;    // 7
    int memory_layers;  // 4
    int memory_hidden;  // feed-forward width of memory attention (2048)
    int decoder_hidden; // feed-forward width of the two-way transformer (2048)
    int high_res_s0, high_res_s1; // channels of the stride-4 and stride-8 maps (32, 64)
    int fuser_layers;   // 2
    int fuser_hidden;   // 1024
    int mask_in_chans;  // of the prompt encoder's mask path (16)
    int iou_hidden;     // 256

    bool no_obj_embed_spatial; // SAM 2.1: absent objects mark their memory
    bool pointer_time;         // SAM 2.1: pointers carry a projected temporal code
};

// Side of the stride-16 map, tokens.
static inline int sam_grid(const struct sam_config *c)
{
    return c->image_size / 16;
}

int sam_config_read(struct sam_config *out, const struct sam_weights *w, struct sam_error *error);

#endif // SAM_CONFIG_H
