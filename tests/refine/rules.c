// SPDX-License-Identifier: MIT
// Reads a script of frames from standard input and prints what the rules of engine/refine/rules.h
// make of them, a line for a line: rules.py compares it with rules of its own.
//   motion WEIGHT STABLE_FRAMES STABLE_IOU    a filter
//   step IOU x3, then BOX (x0 y0 x1 y1) x3    the candidate, its score, and the filter's numbers
//   pass                                      the filter's numbers
//   distractors IOU AREA OVERLAP EVERY        another object
//   may IOU AREA                              1 or 0; where it is 1 the frame is kept
//   overlap SIDE CHOSEN BITS x3               the least IoU of boxes
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refine/rules.h"

enum { MOST_SIDE = 32 };

static void fail(const char *what)
{
    fprintf(stderr, "rules: expected %s\n", what);
    exit(2);
}

static void read_floats(float *x, int count)
{
    for (int i = 0; i < count; i++)
        if (scanf("%f", &x[i]) != 1)
            fail("a number");
}

static int read_int(void)
{
    int x;

    if (scanf("%d", &x) != 1)
        fail("an integer");
    return x;
}

static void print_motion(const struct sam_motion *m)
{
    const float *x = (const float *) m;

    for (size_t i = 0; i < sizeof(*m) / sizeof(*x); i++)
        printf(" %.9g", (double) x[i]);
    printf("\n");
}

static void step(struct sam_motion *m, const struct sam_motion_rule *rule)
{
    struct sam_candidate candidate[SAM_CANDIDATES];
    float score;

    for (int i = 0; i < SAM_CANDIDATES; i++)
        read_floats(&candidate[i].iou, 1);
    for (int i = 0; i < SAM_CANDIDATES; i++)
        read_floats(&candidate[i].box.x0, 4);
    const int chosen = sam_motion_choose(m, rule, candidate, &score);
    printf("%d %.9g", chosen, (double) score);
    print_motion(m);
}

static void overlap(void)
{
    static float mask[SAM_CANDIDATES][MOST_SIDE * MOST_SIDE];
    static int32_t room[MOST_SIDE * MOST_SIDE];
    static uint8_t seen[MOST_SIDE * MOST_SIDE];
    const float *masks[SAM_CANDIDATES];
    const int side = read_int(), chosen = read_int();
    char bits[MOST_SIDE * MOST_SIDE + 1];

    if (side < 1 || side > MOST_SIDE)
        fail("a side of 1 to 32");
    for (int i = 0; i < SAM_CANDIDATES; i++) {
        if (scanf("%1024s", bits) != 1 || strlen(bits) != (size_t) (side * side))
            fail("a bit for each place");
        for (int k = 0; k < side * side; k++)
            mask[i][k] = bits[k] == '1' ? 0.25f : -0.25f;
        masks[i] = mask[i];
    }
    printf("%.9g\n", (double) sam_distractors_overlap(masks, chosen, side, room, seen));
}

int main(void)
{
    struct sam_motion_rule motion = { 0 };
    struct sam_distractor_rule distractors = { 0 };
    struct sam_motion m = { .stable = 0 };
    struct sam_distractors d = { .since = -1 };
    float x[2];
    char word[16];

    while (scanf("%15s", word) == 1) {
        if (!strcmp(word, "motion")) {
            read_floats(&motion.weight, 1);
            motion.stable_frames = read_int();
            read_floats(&motion.stable_iou, 1);
            m = (struct sam_motion) { .stable = 0 };
        } else if (!strcmp(word, "step")) {
            step(&m, &motion);
        } else if (!strcmp(word, "pass")) {
            sam_motion_pass(&m);
            print_motion(&m);
        } else if (!strcmp(word, "distractors")) {
            read_floats(&distractors.iou, 3);
            distractors.every = read_int();
            d = (struct sam_distractors) { .since = -1 };
        } else if (!strcmp(word, "may")) {
            read_floats(x, 2);
            const bool may = sam_distractors_may(&d, &distractors, x[0], (int) x[1]);
            if (may)
                sam_distractors_kept(&d);
            printf("%d\n", may);
        } else if (!strcmp(word, "overlap")) {
            overlap();
        } else {
            fail("a word of the script");
        }
    }
    return 0;
}
