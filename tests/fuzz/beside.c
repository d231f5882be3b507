// SPDX-License-Identifier: MIT
// Any text as a JSON file beside weights. The first byte says where and beside what: bit 0: it is
// config.json, else <stem>.json; bit 1: the weights have a name of Hugging Face's; bit 2: there is
// a good file of the other name, too.
#include "folder.h"
#include "small.h"

static const char good[] =
    "{\"image_size\": 96, \"trunk\": {\"kind\": \"hiera\", \"num_heads\": 1, "
    "\"window_spec\": [8, 4, 4, 2], \"global_att_blocks\": []}}";

// The text that counts: <stem>.json's, else config.json's if it is about such a model.
static void check_choice(const struct sam_weights *w, const char *text, size_t size, int flags)
{
    const bool is_config = flags & 1, is_foreign = flags & 2, has_other = flags & 4;
    const char *file = sam_weights_config_file(w);
    size_t bytes = 0;
    const char *said = sam_weights_config(w, &bytes);
    if (is_config && has_other) {
        fuzz_check(said && bytes == strlen(good) && !memcmp(said, good, bytes));
        fuzz_check(strstr(file, is_foreign ? "h.json" : "m.json"));
    } else if (said) {
        fuzz_check(bytes == size && !memcmp(said, text, size));
        fuzz_check(strstr(file, is_config ? "config.json" : ".json"));
    } else {
        fuzz_check(is_config && !is_foreign && !file);
    }
}

static void read_config(const struct sam_weights *w)
{
    struct sam_error error = { "" };
    struct sam_config config;
    if (sam_config_read(&config, w, 0, false, &error))
        fuzz_check_sentence(error.text, sizeof(error.text));
    else
        small_check(&config);
}

// Weights without metadata, written once: m.safetensors, and h.safetensors with a name of Hugging
// Face's.
static const char *write_weights(bool hugging_face)
{
    static const char *path[2];
    size_t bytes;
    if (!path[hugging_face]) {
        uint8_t *file = small_file(NULL, 0, hugging_face, &bytes);
        fuzz_check(file != NULL);
        path[hugging_face] =
            fuzz_file(hugging_face ? "h.safetensors" : "m.safetensors", file, bytes);
        free(file);
    }
    return path[hugging_face];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sam_error error = { "" };
    struct sam_weights *w;
    if (!size)
        return 0;
    const int flags = data[0];
    const char *stem = flags & 2 ? "h.json" : "m.json";
    const uint8_t *other = flags & 4 ? (const uint8_t *) good : NULL;
    fuzz_file(flags & 1 ? "config.json" : stem, data + 1, size - 1);
    fuzz_file(flags & 1 ? stem : "config.json", other, strlen(good));
    if (sam_weights_open(&w, write_weights(flags & 2), &sam_family_names, &error))
        fuzz_check(false);
    check_choice(w, (const char *) data + 1, size - 1, flags);
    read_config(w);
    sam_weights_close(&w);
    return 0;
}
