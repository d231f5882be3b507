// SPDX-License-Identifier: MIT
// The list of detectors, and reading the configuration of one.
#include "detector.h"

#include <stdio.h>
#include <string.h>

extern const struct sam_detector_family sam_detector_groundingdino, sam_detector_mask2former,
    sam_detector_rfdetr, sam_detector_sam3words, sam_detector_yolov10;

const struct sam_detector_family *const sam_detector_families[] = {
    &sam_detector_yolov10, &sam_detector_rfdetr, &sam_detector_mask2former,
    &sam_detector_groundingdino, &sam_detector_sam3words
};
const int sam_num_detector_families =
    sizeof(sam_detector_families) / sizeof(sam_detector_families[0]);

const struct sam_detector_family *sam_detector_find(const struct sam_weights *w)
{
    for (int i = 0; i < sam_num_detector_families; i++)
        if (sam_weights_find(w, sam_detector_families[i]->mark))
            return sam_detector_families[i];
    return NULL;
}

// A file without any detector's mark: what it is instead, or what it lacks.
static int refuse(const struct sam_weights *w, struct sam_error *error)
{
    const char *file = sam_weights_file(w);
    char lacking[320] = "";
    size_t used = 0;

    for (int i = 0; i < sam_num_families; i++)
        if (sam_weights_find(w, sam_families[i]->mark))
            return sam_fail(error, SAM_EFORMAT,
                            "%s: is %s, which tracks masks; expected a detector", file,
                            sam_families[i]->title);
    for (int i = 0; i < sam_num_detector_families && used < sizeof(lacking); i++)
        used += snprintf(lacking + used, sizeof(lacking) - used, "%s%s lacks '%s'",
                         used ? ", " : "", sam_detector_families[i]->title,
                         sam_detector_families[i]->mark);
    return sam_fail(error, SAM_EFORMAT, "%s: is not a detector of a supported family: as %s", file,
                    lacking);
}

// As sam_config_read(), of a detector.
static int read_config(struct sam_config *out, const struct sam_weights *w, int input_size,
                       struct sam_error *error)
{
    const struct sam_detector_family *f = sam_detector_find(w);
    int status;

    memset(out, 0, sizeof(*out));
    if (!f)
        return refuse(w, error);
    out->detector = f;
    if ((status = f->read(out, w, error)))
        return status;
    if (input_size)
        out->image_size = input_size;
    const struct sam_sides sides = f->sides(out);
    const int side = out->image_size;
    if (side < sides.least || side > sides.most || side % sides.multiple)
        return sam_fail(error, SAM_EINVAL,
                        "input-size = %d: %s can run multiples of %d from %d to %d px", side,
                        f->title, sides.multiple, sides.least, sides.most);
    return SAM_OK;
}

int sam_detector_file_open(struct sam_model_file *f, const char *path, int input_size,
                           struct sam_error *error)
{
    const int status = sam_weights_open(&f->weights, path, &sam_family_names, error);
    return status ? status : read_config(&f->config, f->weights, input_size, error);
}
