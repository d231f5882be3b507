// SPDX-License-Identifier: MIT
// Open with the n-th allocation failing, for every n: each time one sentence, nothing kept,
// nothing lost; and at the end a tracker that works. (In the sanitized build leaks show, too.)
#include "scene.h"
#include "wrap.h"

static long countdown = -1; // allocations until one fails; negative: none does

static int fails(void)
{
    return countdown >= 0 && countdown-- == 0;
}

void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t m) { return fails() ? NULL : __real_calloc(n, m); }
void *__wrap_realloc(void *p, size_t n) { return fails() ? NULL : __real_realloc(p, n); }
void *__wrap_aligned_alloc(size_t a, size_t n)
{
    return fails() ? NULL : __real_aligned_alloc(a, n);
}
int __wrap_posix_memalign(void **p, size_t a, size_t n)
{
    return fails() ? 12 : __real_posix_memalign(p, a, n);
}

int main(int argc, char **argv)
{
    struct sam_params p = scene_params(argv[1]);
    struct scene s;
    long n = 0, sentences = 0;

    p.max_objects = 2;
    for (; n < 100000; n++) {
        struct sam_error error = { "" };
        sam_tracker *t = (sam_tracker *) &p;
        countdown = n;
        const int status = sam_tracker_open(&t, &p, &error);
        const int reached = countdown < 0; // the failure happened
        countdown = -1;
        if (!status && !reached) {
            const uint64_t id = give_point(t, 0, 0.5f, 0.5f, 1);
            const struct sam_result r = step(t, &s, 0);
            expect(object_in(&r, id) != NULL, "the tracker that opened works");
            sam_tracker_close(&t);
            break;
        }
        if (status) {
            expect(status == SAM_ENOMEM, "allocation %ld: status %d: %s", n, status, error.text);
            expect(strlen(error.text) > 10, "allocation %ld: no sentence", n);
            expect(!t, "allocation %ld: the tracker is not NULL", n);
            sentences++;
        } else { // a backend that can do without what it was refused
            sam_tracker_close(&t);
        }
    }
    printf("%ld allocations at open, %ld refusals\n", n, sentences);
    expect(n > 10 && n < 100000 && sentences > 5, "%ld allocations", n);
    return expect_status();
}
