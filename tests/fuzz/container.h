// SPDX-License-Identifier: MIT
// Runs a weights file through all the code that a user's file passes.
#ifndef FUZZ_CONTAINER_H
#define FUZZ_CONTAINER_H

#include "model/family.h"
#include "folder.h"
#include "weights/weight_list.h" // sam_shape_count

// Every number of a tensor lies in the file; few enough of them are read.
static inline void fuzz_tensor(const struct sam_weights *f, const struct sam_weight *w,
                               size_t size)
{
    int64_t last = 0, count = sam_shape_count(w->rank, w->shape);
    fuzz_check(w->rank >= 0 && w->rank <= SAM_MAX_RANK && w->name[0] && w->stored[0] && w->word);
    fuzz_check(count >= 0 && (uint64_t) count <= size);
    for (int i = 0; i < w->rank; i++)
        last += count ? (w->shape[i] - 1) * w->stride[i] : 0;
    fuzz_check(w->at <= size && last >= 0);
    if (count && w->type != SAM_WEIGHT_OTHER)
        fuzz_check((last + 1) * sam_type_size(w->type) <= size - w->at);

    struct sam_error error = { "" };
    float *numbers = malloc(count * sizeof(float) + 1);
    const int status = sam_weights_read(f, w->name, w->rank, w->shape, numbers, &error);
    if (status)
        fuzz_check_sentence(error.text, sizeof(error.text));
    for (int64_t i = 0; i < count && !status; i++)
        fuzz_check(numbers[i] - numbers[i] == 0);
    free(numbers);
}

static inline void fuzz_container(const uint8_t *data, size_t size)
{
    struct sam_error error = { "" };
    struct sam_weights *f;
    const int status = sam_weights_open(&f, fuzz_file("file", data, size), &sam_family_names,
                                        &error);
    fuzz_check(!status == (f != NULL));
    if (status) {
        fuzz_check_sentence(error.text, sizeof(error.text));
        return;
    }
    fuzz_check(sam_weights_count(f) > 0);
    for (int i = 0; i < sam_weights_count(f); i++) {
        const struct sam_weight *w = sam_weights_at(f, i);
        fuzz_check(sam_weights_find(f, w->name) == w); // sorted, each name once
        fuzz_tensor(f, w, size);
    }
    struct sam_config config;
    if (sam_config_read(&config, f, 0, false, &error))
        fuzz_check_sentence(error.text, sizeof(error.text));
    sam_weights_close(&f);
}

#endif // FUZZ_CONTAINER_H
