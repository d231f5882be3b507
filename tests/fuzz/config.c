// SPDX-License-Identifier: MIT
// Any text as the JSON of a model: alone, and what is accepted as the metadata of a file that is
// otherwise in order, where again what is accepted must be a model that can run.
#include "model/config_json.h"
#include "folder.h"
#include "small.h"

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

    uint8_t *file = small_file((const char *) data, size, false, &file_bytes);
    if (file && !sam_weights_open(&f, fuzz_file("file", file, file_bytes), &sam_family_names,
                                  &error)) {
        if (sam_config_read(&config, f, 0, false, &error))
            fuzz_check(error.text[0]);
        else
            small_check(&config);
        sam_weights_close(&f);
    }
    free(file);
    return 0;
}
