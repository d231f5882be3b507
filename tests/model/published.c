// SPDX-License-Identifier: MIT
// The published models, by their shapes alone: each is known, with what only its configuration
// tells, and is called by its name; one size off, it is another model, which is refused without
// JSON and has no name. Sizes are those of the published YAML files.
#include <stdio.h>
#include <string.h>

#include "model/config.h"
#include "model/edgetam/sizes.h"
#include "model/efficienttam/vit.h"
#include "model/sam2/hiera.h"
#include "model/sam3/vit.h"

static int failures;

#define CHECK(condition, name)                                                             \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            printf("%s:%d: %s: failed: %s\n", __FILE__, __LINE__, name, #condition);       \
            failures++;                                                                    \
        }                                                                                  \
    } while (0)

enum { MOST = 24 };

// A configuration as a file's shapes fill it in, and the sizes in it that a model is known by.
struct model {
    struct sam_config config;
    int *size[MOST];
    int num_sizes;
};

static const struct sam_family *find_family(const char *title)
{
    for (int i = 0; i < sam_num_families; i++)
        if (!strcmp(sam_families[i]->title, title))
            return sam_families[i];
    return NULL;
}

static void known_by(struct model *m, int *size, int value)
{
    *size = value;
    m->size[m->num_sizes++] = size;
}

static void begin(struct model *m, const char *title, int memory_layers)
{
    struct sam_config *c = &m->config;

    *m = (struct model) { .config.family = find_family(title) };
    known_by(m, &c->d_model, 256);
    known_by(m, &c->mem_dim, 64);
    known_by(m, &c->num_maskmem, 7);
    known_by(m, &c->memory_layers, memory_layers);
    known_by(m, &c->memory_hidden, 2048);
    known_by(m, &c->decoder_hidden, 2048);
}

// In the file's name a variant stands; what the file of another size is called does not matter.
static void check(struct model *m, const char *file, const char *name, int image_size)
{
    struct sam_config *c = &m->config, read = *c;
    struct sam_error error = { "" };

    CHECK(c->family->use_published(&read, file, &error) == SAM_OK, name);
    CHECK(read.image_size == image_size, name);
    c->family->name_variant(&read);
    CHECK(!strcmp(read.variant, name), name);
    read.image_size += 16;
    c->family->name_variant(&read);
    CHECK(!strcmp(read.variant, "custom"), name);
    for (int i = 0; i < m->num_sizes; i++) {
        ++*m->size[i];
        struct sam_config other = *c;
        error.text[0] = 0;
        CHECK(c->family->use_published(&other, file, &error) == SAM_EFORMAT, name);
        CHECK(strstr(error.text, "published") && strstr(error.text, file), error.text);
        other.image_size = image_size;
        c->family->name_variant(&other);
        CHECK(!strcmp(other.variant, "custom"), name);
        --*m->size[i];
    }
}

static void check_sam2(void)
{
    static const struct {
        const char *name, *name_2_1;
        int width, blocks[SAM_STAGES], position_side, heads, window[SAM_STAGES], last_global;
    } all[] = {
        { "sam2_hiera_tiny", "sam2.1_hiera_tiny",
          96, { 1, 2, 7, 2 }, 7, 1, { 8, 4, 14, 7 }, 9 },
        { "sam2_hiera_small", "sam2.1_hiera_small",
          96, { 1, 2, 11, 2 }, 7, 1, { 8, 4, 14, 7 }, 13 },
        { "sam2_hiera_base_plus", "sam2.1_hiera_base_plus",
          112, { 2, 3, 16, 3 }, 14, 2, { 8, 4, 14, 7 }, 20 },
        { "sam2_hiera_large", "sam2.1_hiera_large",
          144, { 2, 6, 36, 4 }, 7, 2, { 8, 4, 16, 8 }, 43 },
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct model m;
        begin(&m, "SAM 2", 4);
        struct sam_hiera_config *h = sam_hiera_config(&m.config);
        known_by(&m, &h->embed_dim, all[i].width);
        known_by(&m, &h->pos_embed_size, all[i].position_side);
        known_by(&m, &h->window_pos_embed_size, 8);
        for (int k = 0; k < SAM_STAGES; k++)
            known_by(&m, &h->stages[k], all[i].blocks[k]);
        check(&m, "a.pt", all[i].name, 1024);
        m.config.pointer_time = true; // 2.1 has that and the next, 2.0 neither
        struct sam_config half = m.config;
        struct sam_error error = { "" };
        CHECK(half.family->use_published(&half, "a.pt", &error) == SAM_EFORMAT, all[i].name);
        m.config.no_obj_embed_spatial = true;
        check(&m, "a.pt", all[i].name_2_1, 1024);

        struct sam_config read = m.config;
        CHECK(read.family->use_published(&read, "a.pt", &error) == SAM_OK, all[i].name);
        const struct sam_hiera_config *told = sam_hiera_sizes(&read);
        CHECK(told->num_heads == all[i].heads, all[i].name);
        CHECK(told->global_block[all[i].last_global], all[i].name);
        CHECK(!memcmp(told->window_spec, all[i].window, sizeof(all[i].window)), all[i].name);
    }
}

static void check_edgetam(void)
{
    static const int width[SAM_STAGES] = { 48, 96, 192, 384 }, depth[SAM_STAGES] = { 2, 2, 14, 2 };
    struct model m;

    begin(&m, "EdgeTAM", 2);
    struct sam_edgetam_sizes *e = sam_edgetam_config(&m.config);
    for (int k = 0; k < SAM_STAGES; k++) {
        known_by(&m, &m.config.stage_width[k], width[k]);
        known_by(&m, &e->depth[k], depth[k]);
    }
    known_by(&m, &e->latents, 256);
    known_by(&m, &e->grid, 16);
    known_by(&m, &e->layers, 2);
    check(&m, "a.pt", "edgetam", 1024);
}

static void check_efficienttam(void)
{
    static const struct {
        const char *name, *file;
        int width, image_size;
        enum sam_pooling pooling;
    } all[] = {
        { "efficienttam_s", "d/efficienttam_s.pt", 384, 1024, SAM_POOLING_NONE },
        { "efficienttam_ti", "efficienttam_ti.pt", 192, 1024, SAM_POOLING_NONE },
        { "efficienttam_ti_1", "efficienttam_ti_1.pt", 192, 1024, SAM_POOLING_COUNTED },
        { "efficienttam_s_2", "efficienttam_s_2.pt", 384, 1024, SAM_POOLING_SHIFTED },
        { "efficienttam_s_512x512", "efficienttam_s_512x512.pt", 384, 512, SAM_POOLING_NONE },
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct model m;
        struct sam_error error = { "" };
        begin(&m, "EfficientTAM", 4);
        struct sam_vit_sizes *v = sam_vit_config(&m.config);
        known_by(&m, &v->width, all[i].width);
        known_by(&m, &v->depth, 12);
        known_by(&m, &v->position_side, 14);
        check(&m, all[i].file, all[i].name, all[i].image_size);

        struct sam_config read = m.config;
        CHECK(read.family->use_published(&read, all[i].file, &error) == SAM_OK, all[i].name);
        CHECK(read.pooling == all[i].pooling, all[i].name);
        CHECK(sam_vit_sizes(&read)->num_heads == all[i].width / 64, all[i].name);
        read = m.config;
        CHECK(read.family->use_published(&read, "model.pt", &error) == SAM_EFORMAT, all[i].name);
        CHECK(strstr(error.text, "cannot be told") != NULL, error.text);
    }
}

static void check_sam3(void)
{
    struct model m;

    begin(&m, "SAM 3", 4);
    struct sam_sam3_sizes *v = sam_sam3_config(&m.config);
    known_by(&m, &v->width, 1024);
    known_by(&m, &v->depth, 32);
    known_by(&m, &v->hidden, 4736);
    known_by(&m, &v->position_side, 24);
    check(&m, "sam3.safetensors", "sam3", 1008);
}

int main(void)
{
    check_sam2();
    check_edgetam();
    check_efficienttam();
    check_sam3();
    printf("%d failures\n", failures);
    return failures > 0;
}
