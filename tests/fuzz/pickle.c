// SPDX-License-Identifier: MIT
// Any bytes as the pickle inside such a zip: without the zip's lengths and places around it, the
// fuzzer gets deeper into it.
#include "weights/pickle.h"

#include "fuzz.h"

struct whole {
    const char *begin, *end;
    int found;
};

static int check_tensor(void *priv, const struct sam_pickle_tensor *t)
{
    struct whole *w = priv;
    fuzz_check(t->name >= w->begin && t->name + t->name_bytes <= w->end);
    fuzz_check(t->key >= w->begin && t->key + t->key_bytes <= w->end);
    fuzz_check(t->rank >= 0 && t->rank <= SAM_MAX_RANK && t->word && t->element_bytes > 0);
    return ++w->found == 1000 ? SAM_EFULL : SAM_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sam_error error = { "" };
    struct whole w = { (const char *) data, (const char *) data + size, 0 };
    const int status = sam_pickle_list("file", data, size, check_tensor, &w, &error);
    fuzz_check(!status || status == SAM_EFULL || error.text[0]);
    return 0;
}
