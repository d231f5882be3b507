// SPDX-License-Identifier: MIT
// A family of models: the parts that its networks do not share with other families. families.c
// lists the families; no other file names one.
#ifndef SAM_FAMILY_H
#define SAM_FAMILY_H

#include "json.h"
#include "parts.h"

struct sam_loader;

// Sides of the input, px.
struct sam_sides {
    int least, most, multiple;
};

struct sam_family {
    const char *title; // "SAM 2", for sentences
    const char *trunk; // "hiera": trunk.kind in this project's JSON
    const char *mark;  // a tensor that every file of this family has, and no other's
    // The trunk gives one map, of stride 16, of which `run` makes F: there is neither a pyramid nor
    // a finer map for the decoder. The tensor, (d_model, any, 1, 1), that tells the width of F.
    // NULL: there are all of these.
    const char *lone_map;
    // The trunk makes F and the two finer maps itself, by a neck of its own: the tensor,
    // (d_model, widest, 1, 1), that tells the width of F. NULL: the shared pyramid makes them.
    const char *own_neck;

    int patch;      // px of a token of F; 0: 16
    int image_size; // of transformers' default; 0: 1024
    enum sam_selection selection; // where this project's JSON does not say
    int max_cond;     // conditioning frames that are attended to, the latest; 0: as the caller says
    bool whole_masks; // a mask prompt is remembered as it is, not by its logits

    // Sides that the network of these shapes can run.
    struct sam_sides (*sides)(const struct sam_config *c);

    // ---- Reading the configuration; each writes stage_width and config->trunk only.
    int (*read_shapes)(struct sam_config *c, const struct sam_weights *w, struct sam_error *error);
    // From this project's JSON, the object `trunk`; from Hugging Face's, all places.
    int (*read_own)(struct sam_config *c, const struct sam_json *trunk);
    int (*read_transformers)(struct sam_config *c, const struct sam_json *in);
    // Without JSON: what the published model of these shapes has, image_size included. The name of
    // the file may tell what shapes do not. Where there is none: sam_config_unpublished(), with
    // what JSON must tell, `lacks`.
    int (*use_published)(struct sam_config *c, const char *file, struct sam_error *error);
    const char *lacks;
    // Ranges and relations. file: whose sizes they are.
    int (*check)(const struct sam_config *c, const char *file, struct sam_error *error);
    void (*name_variant)(struct sam_config *c);

    enum sam_input_scale input_scale; // of the numbers that the trunk takes

    // ---- The trunk: a struct of trunk_bytes, zero at first, that load fills.
    size_t trunk_bytes;
    void (*load)(struct sam_loader *l, const struct sam_config *config, void *trunk);
    void (*layout)(struct sam_encoder_scratch *s, const struct sam_config *c,
                   const struct sam_queue *q, struct sam_arena *a);
    // s->input -> the four maps, each given to the neck as soon as it is there; or F.
    void (*run)(struct sam_queue *q, const struct sam_model *m, struct sam_encoder_scratch *s,
                const struct sam_features *dst);

    // Channels of the trunk's map, which a detector in the same file begins with; NULL: none does.
    int (*shared_channels)(const struct sam_config *c);

    // How maps are stored; NULL: as the memory encoder leaves them.
    const struct sam_compressor *compressor;
};

extern const struct sam_family *const sam_families[];
extern const int sam_num_families;

// Parts of names of tensors that a family does not multiply in int8, beside those that are exact;
// ends with NULL. NULL: the family has no int8.
const char *const *sam_family_no_int8(const struct sam_family *f);

// How the tensors of all families are called in files, and of which model types they are.
extern const struct sam_names sam_family_names;
extern const struct sam_name_map sam_shared_names;

#endif // SAM_FAMILY_H
