// SPDX-License-Identifier: MIT
// save_one MODEL
// A model of few pixels that keeps much of an object: saving it writes to the file alone. What a
// step's result points to lies behind the buffer that is copied through.
#include <stdlib.h>
#include <unistd.h>

#include <samtrack/samtrack.h>

#include "scene.h"

int main(int argc, char **argv)
{
    struct sam_params p = scene_params(argv[1]);
    struct sam_error error = { "" };
    struct sam_result r = SAM_RESULT_INIT;
    char path[] = "/tmp/samtrack-save-one-XXXXXX";
    struct scene s;

    close(mkstemp(path));
    p.backend = SAM_BACKEND_CPU;
    p.max_objects = 1;
    sam_tracker *t = scene_open(&p);
    give_box(t, 0, 0.3f, 0.3f, 0.6f, 0.6f);
    for (int f = 0; f < 3; f++)
        r = step(t, &s, f);
    expect(r.num_objects == 1, "%d objects", r.num_objects);
    const struct sam_object was = r.objects[0];
    expect(!sam_tracker_save(t, path, NULL, 0, &error), "save: %s", error.text);
    expect(!memcmp(&was, &r.objects[0], sizeof(was)), "the last result is written over");
    sam_tracker_close(&t);
    unlink(path);
    return expect_status();
}
