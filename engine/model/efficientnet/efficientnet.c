// SPDX-License-Identifier: MIT
// The small tracker on EfficientNet-Lite: the other parts and the memory are SAM 2.1's. No model of
// this family is published, so a file tells its sizes itself, in this project's JSON.
#include <stdio.h>

#include "trunk.h"

static int use_published(struct sam_config *c, const char *file, struct sam_error *error)
{
    return sam_config_unpublished(c, file, error);
}

static void name_variant(struct sam_config *c)
{
    snprintf(c->variant, sizeof(c->variant), "custom");
}

static struct sam_sides sides(const struct sam_config *c)
{
    return (struct sam_sides) { 64, 2048, 32 };
}

// --- JSON ---------------------------------------------------------------------------------------

static int agree_stages(const struct sam_json *trunk, const char *key, const int *want)
{
    const json_t *list = sam_json_get(trunk, key);

    if (!list)
        return SAM_OK;
    if (!json_is_array(list) || json_array_size(list) != SAM_LITE_STAGES)
        return sam_json_wrong(trunk, key, "a list of seven integers", list);
    for (int i = 0; i < SAM_LITE_STAGES; i++) {
        int value = 0;
        const int status = sam_json_to_int(trunk, key, json_array_get(list, i), &value);
        if (status)
            return status;
        if (value != want[i])
            return sam_fail(trunk->error, SAM_EFORMAT,
                            "%s: key '%s%s' has %d for stage %d, but the tensors' shapes say %d",
                            trunk->file, trunk->path, key, value, i + 1, want[i]);
    }
    return SAM_OK;
}

static int read_own(struct sam_config *c, const struct sam_json *trunk)
{
    const struct sam_lite_sizes *sizes = sam_lite_sizes(c);
    int status;

    if ((status = sam_json_agree(trunk, "stem", sizes->stem)) ||
        (status = agree_stages(trunk, "stages", sizes->depth)))
        return status;
    return agree_stages(trunk, "widths", sizes->width);
}

static int read_transformers(struct sam_config *c, const struct sam_json *in)
{
    return sam_fail(in->error, SAM_EUNSUPPORTED,
                    "%s: a model with the trunk efficientnet-lite has this project's JSON, not "
                    "Hugging Face's: expected key 'trunk'", in->file);
}

// --- ranges -------------------------------------------------------------------------------------

static int check(const struct sam_config *c, const char *file, struct sam_error *error)
{
    const struct sam_lite_sizes *sizes = sam_lite_sizes(c);
    const struct sam_size_range stem = { "the width of the trunk's stem", sizes->stem, 1, 512, 1 };
    int status = sam_config_ranges(&stem, 1, file, error);

    for (int i = 0; i < SAM_LITE_STAGES && !status; i++) {
        char what[48];
        snprintf(what, sizeof(what), "the width of the trunk's stage %d", i + 1);
        status = sam_config_ranges(&(struct sam_size_range) { what, sizes->width[i], 1, 1024, 1 },
                                   1, file, error);
    }
    return status;
}

const struct sam_family sam_family_efficientnet = {
    .title = "EfficientNet-Lite",
    .trunk = "efficientnet-lite",
    .mark = "image_encoder.trunk.conv_stem.weight",
    .sides = sides,
    .read_shapes = sam_lite_read,
    .read_own = read_own,
    .read_transformers = read_transformers,
    .use_published = use_published,
    .lacks = "image_size",
    .check = check,
    .name_variant = name_variant,
    .input_scale = SAM_INPUT_CENTRED,
    .trunk_bytes = sizeof(struct sam_lite_trunk),
    .load = sam_lite_load,
    .layout = sam_lite_layout,
    .run = sam_lite_run,
};
