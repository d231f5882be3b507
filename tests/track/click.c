// SPDX-License-Identifier: MIT
// Clicks whose answers are asked again, each in a window of its own: what such a tracker answers is
// what one that does not zoom shows of a picture of that window, put back; it takes the answer that
// all agree with most; of answers in pieces it is the clicked one; other objects notice nothing of
// it; a late click is answered like one in time.
// Arguments: samtrack-lite0 at 128 px that zooms 1.4 times after clicks, the same without, a
// backend. Weights that are not trained answer every click with the whole frame.
#define WINDOW_FRAME 128
#include "stories.h"

#include <samtrack/answers.h>

enum { ENOUGH = 4 };

static const float ZOOM = 1.4f;
static const char *backend;

static sam_tracker *open_model(const char *model, int history)
{
    struct sam_params p = scene_params(model);

    p.backend = scene_backend(backend);
    p.history = history;
    return scene_open(&p);
}

// A disc over dull blocks; all numbers are multiples of 16, so that windows have whole ones.
static void draw_disc(struct picture *p, int x, int y, int radius)
{
    static const uint8_t colour[3] = { 224, 48, 32 };
    uint64_t rng = 3;

    draw_blocks(p, &rng);
    for (int i = 0; i < SIDE * SIDE; i++) {
        uint8_t *rgb = p->rgb[i / SIDE][i % SIDE];
        const int dx = i % SIDE - x, dy = i / SIDE - y;
        for (int k = 0; k < 3; k++)
            rgb[k] = dx * dx + dy * dy < radius * radius ? colour[k] : 64 + rgb[k] / 64 * 16;
    }
}

// Ends of the positive logits along one axis, px: [from, to). False: there are none.
static bool extent(const float *low, int along, int *from, int *to)
{
    *from = SIDE, *to = 0;
    for (int i = 0; i < LOW * LOW; i++) {
        const int at = 4 * (along ? i / LOW : i % LOW);
        if (low[i] > 0) {
            *from = at < *from ? at : *from;
            *to = at + 4 > *to ? at + 4 : *to;
        }
    }
    return *to > 0;
}

// Where a window of WINDOW px begins whose middle is that of [from, to).
static int begin_of(int from, int to)
{
    const int begin = 4 * (int) floorf((float) (from + to - WINDOW) / 8 + 0.5f);

    return begin < 0 ? 0 : begin > SIDE - WINDOW ? SIDE - WINDOW : begin;
}

static void take(sam_tracker *t, uint64_t id, int answer, struct scene_held *held)
{
    struct sam_error error = { "" };

    expect(!sam_tracker_take_answer(t, id, answer, &error), "answer %d: %s", answer, error.text);
    scene_look(t, id, held);
}

// The mask that is told to be taken is the one that is shown.
static void check_shown(sam_tracker *t, uint64_t id, int taken)
{
    static uint8_t labels[SIDE * SIDE], drawn[SIDE * SIDE];
    const struct sam_labels l = { labels, SIDE, SIDE, SIDE, 0 }, d = { drawn, SIDE, SIDE, SIDE, 0 };

    expect(!sam_tracker_draw(t, &l, NULL) && !sam_tracker_draw_answer(t, id, taken, &d, NULL),
           "draw");
    expect(!memcmp(labels, drawn, sizeof(labels)) && memchr(labels, 1, sizeof(labels)),
           "another mask is shown than the one that is taken");
}

// An answer: cut to the piece that was clicked, with its predicted IoU, and what is held of it.
struct look {
    float low[LOW * LOW], iou;
    struct scene_held held;
};

// Leave of logits the piece at a place, or the nearest one; the other places above 0 become -10.
static void cut(float *low, int x, int y)
{
    bool near[LOW * LOW] = { false };
    int start = -1, least = 1 << 20;

    for (int i = 0; i < LOW * LOW; i++) {
        const int dx = i % LOW - x, dy = i / LOW - y;
        if (low[i] > 0 && dx * dx + dy * dy < least) {
            least = dx * dx + dy * dy;
            start = i;
        }
    }
    if (start >= 0)
        near[start] = true;
    for (bool grows = start >= 0; grows;) {
        grows = false;
        for (int i = 0; i < LOW * LOW; i++)
            for (int n = 0; n < 9 && low[i] > 0 && !near[i]; n++) {
                const int v = i % LOW + n % 3 - 1, u = i / LOW + n / 3 - 1;
                if (v >= 0 && u >= 0 && v < LOW && u < LOW && near[u * LOW + v])
                    near[i] = grows = true;
            }
    }
    for (int i = 0; i < LOW * LOW; i++)
        if (low[i] > 0 && !near[i])
            low[i] = -10;
}

// All answers to a click at (x, y) px. Returns the one that was taken, from 0 on; -1: there are
// none.
static int look_at_all(sam_tracker *t, uint64_t id, int x, int y, struct look look[SAM_ANSWERS])
{
    struct sam_answers answers = SAM_ANSWERS_INIT;
    struct sam_error error = { "" };

    expect(!sam_tracker_answers(t, id, &answers, &error), "answers: %s", error.text);
    expect(answers.num_answers == SAM_ANSWERS, "%d answers", answers.num_answers);
    for (int k = 0; k < SAM_ANSWERS && answers.taken; k++) {
        take(t, id, k + 1, &look[k].held);
        memcpy(look[k].low, look[k].held.low_res, sizeof(look[k].low));
        cut(look[k].low, x / 4, y / 4);
        look[k].iou = answers.answer[k].iou;
    }
    return answers.taken - 1;
}

static double overlap(const float *a, const float *b)
{
    int both = 0, any = 0;

    for (int i = 0; i < LOW * LOW; i++) {
        both += a[i] > 0 && b[i] > 0;
        any += a[i] > 0 || b[i] > 0;
    }
    return any ? (double) both / any : 0;
}

// Whether an answer is one of the frame, as its window fills that.
static bool is_of(const struct look *one, const struct look frame[SAM_ANSWERS])
{
    for (int k = 0; k < SAM_ANSWERS; k++)
        if (largest_difference(one->low, frame[k].low, LOW * LOW) <= 0)
            return true;
    return false;
}

// Its mean IoU with all masks, those of the frame and those of the windows.
static double agreement(const struct look *one, const struct look frame[SAM_ANSWERS],
                        const struct look last[SAM_ANSWERS])
{
    double sum = 0;

    for (int k = 0; k < SAM_ANSWERS; k++) {
        sum += exp(4 * (double) frame[k].iou) * overlap(one->low, frame[k].low);
        if (!is_of(&last[k], frame))
            sum += exp(4 * (double) last[k].iou) * overlap(one->low, last[k].low);
    }
    return sum;
}

// The answer that all agree with most is taken; taken again it is the same.
static void check_taken(sam_tracker *t, uint64_t id, int taken, const struct scene_held *chosen,
                        const struct look frame[SAM_ANSWERS], const struct look last[SAM_ANSWERS])
{
    static struct scene_held again;
    const double own = agreement(&last[taken], frame, last);

    for (int k = 0; k < SAM_ANSWERS; k++)
        expect(agreement(&last[k], frame, last) <= own + 1e-3 * own, "answer %d agrees with %g of "
               "all, %d, which is taken, with %g", k, agreement(&last[k], frame, last), taken, own);
    take(t, id, taken + 1, &again);
    expect(!held_differs(&again, chosen, 0), "what was taken is another when it is taken again");
    check_shown(t, id, taken + 1);
}

// Trackers without a history, opened once: a zooming one, and two without.
struct trackers {
    sam_tracker *zooming, *plain, *close;
};

// Whether an answer of the frame asks for a window of WINDOW px, of which one can tell what it
// shows. Then one of the last answers is that of a picture of the window.
static bool check_look(const struct trackers *of, const struct picture *frame, int x, int y,
                       const struct look *first, const struct look last[SAM_ANSWERS])
{
    static struct picture window;
    static struct scene_held b;
    static float expected[LOW * LOW];
    const struct look *same = &last[0];
    const float s = SIDE;
    float least = 1e9f;
    int x0, x1, y0, y1;

    if (!extent(first->low, 0, &x0, &x1) || !extent(first->low, 1, &y0, &y1))
        return false;
    x0 = x < x0 ? x : x0, x1 = x > x1 ? x : x1;
    y0 = y < y0 ? y : y0, y1 = y > y1 ? y : y1;
    const int longer = x1 - x0 > y1 - y0 ? x1 - x0 : y1 - y0;
    if (4 * (int) ceilf(ZOOM * (float) longer / 4) != WINDOW)
        return false;
    const int left = begin_of(x0, x1), top = begin_of(y0, y1);
    enlarge(&window, frame, left, top);
    const uint64_t close = give_point(of->close, 0, 2 * (float) (x - left) / s,
                                      2 * (float) (y - top) / s, 1);
    step_picture(of->close, &window);
    scene_look(of->close, close, &b);
    put_back(expected, b.low_res, left, top);
    cut(expected, x / 4, y / 4);
    for (int k = 0; k < SAM_ANSWERS; k++) {
        const float off = largest_difference(last[k].low, expected, LOW * LOW);
        same = off < least ? &last[k] : same;
        least = fminf(least, off);
    }
    expect(least < 2e-2f, "disc at %d, %d: logits differ by %g", x, y, (double) least);
    expect(fabsf(same->held.score - b.score) < 2e-3f, "disc at %d, %d: score %g, of the window "
           "alone %g", x, y, (double) same->held.score, (double) b.score);
    expect(largest_difference(same->held.pointer, b.pointer, SCENE_ROOM(b.pointer)) < 2e-3f,
           "disc at %d, %d: pointer", x, y);
    expect(largest_difference(same->low, first->low, LOW * LOW) > 0.5f,
           "disc at %d, %d: the first answer is shown", x, y);
    sam_tracker_clear(of->close);
    return true;
}

// Returns how many windows were compared.
static int check_window(const struct trackers *of, int x, int y, int radius)
{
    static struct picture frame;
    static struct scene_held chosen;
    static struct look first[SAM_ANSWERS], last[SAM_ANSWERS];
    sam_tracker *t = of->zooming, *u = of->plain;
    int compared = 0;

    draw_disc(&frame, x, y, radius);
    const uint64_t id = give_point(t, 0, (float) x / SIDE, (float) y / SIDE, 1);
    const uint64_t whole = give_point(u, 0, (float) x / SIDE, (float) y / SIDE, 1);
    step_picture(t, &frame);
    step_picture(u, &frame);
    scene_look(t, id, &chosen);
    const int taken = look_at_all(t, id, x, y, last);
    if (look_at_all(u, whole, x, y, first) >= 0 && taken >= 0) {
        for (int k = 0; k < SAM_ANSWERS; k++)
            compared += check_look(of, &frame, x, y, &first[k], last);
        check_taken(t, id, taken, &chosen, first, last);
    }
    sam_tracker_clear(t);
    sam_tracker_clear(u);
    return compared;
}

// ---- Pieces

// How many pieces the logits above 0 are in; neighbours by corners, too.
static int count_pieces(const float *low)
{
    int piece[LOW * LOW], count = 0;

    for (int i = 0; i < LOW * LOW; i++)
        piece[i] = low[i] > 0 ? i : -1;
    for (bool changes = true; changes;) { // each takes the least number around it
        changes = false;
        for (int i = 0; i < LOW * LOW; i++)
            for (int k = 0; k < 9 && piece[i] >= 0; k++) {
                const int x = i % LOW + k % 3 - 1, y = i / LOW + k / 3 - 1;
                const int other = x < 0 || y < 0 || x >= LOW || y >= LOW ? -1 : piece[y * LOW + x];
                if (other >= 0 && other < piece[i]) {
                    piece[i] = other;
                    changes = true;
                }
            }
    }
    for (int i = 0; i < LOW * LOW; i++)
        count += piece[i] == i;
    return count;
}

// Twins that look alike: a click is answered with one of them. Returns in how many pieces the model
// alone answers.
static int check_twins(const struct trackers *of, int apart)
{
    static struct picture frame, other;
    static struct scene_held a, b;
    sam_tracker *const each[] = { of->zooming, of->plain };

    draw_disc(&frame, 40, 64, 14);
    draw_disc(&other, 40 + apart, 64, 14);
    for (int i = 0; i < SIDE * SIDE; i++)
        if (other.rgb[i / SIDE][i % SIDE][0] == 224)
            memcpy(frame.rgb[i / SIDE][i % SIDE], other.rgb[i / SIDE][i % SIDE], 3);
    for (int i = 0; i < 2; i++) {
        const uint64_t id = give_point(each[i], 0, 40.0f / SIDE, 0.5f, 1);
        step_picture(each[i], &frame);
        scene_look(each[i], id, i ? &b : &a);
        sam_tracker_clear(each[i]);
    }
    expect(count_pieces(a.low_res) == 1, "twins %d px apart: %d pieces", apart,
           count_pieces(a.low_res));
    expect(a.low_res[LOW / 2 * LOW + 10] > 0, "twins %d px apart: the click is outside", apart);
    return count_pieces(b.low_res);
}

// ---- A stream

enum object { CLICKED, BEFORE };

struct story {
    const char *model;
    int late, history; // frames
    bool has_click, is_corrected;
};

// A click on the disc for frame 1, and one on the ground beside it.
static uint64_t give_click(sam_tracker *t, const struct story *story)
{
    const struct sam_point inside = { 0.4f, 0.5f, 1 }, outside = { 0.8f, 0.9f, 0 };
    struct sam_prompt p = { .num_points = 1, .points = &inside };

    p.has_frame = story->late > 0;
    p.frame = 1;
    p.id = give(t, p);
    p.points = &outside;
    if (story->is_corrected)
        give(t, p);
    return p.id;
}

static void tell(const struct story *story, story_told shown)
{
    static struct picture frame;
    sam_tracker *t = open_model(story->model, story->history);
    const uint64_t before = give_box(t, 0, 0.1f, 0.1f, 0.9f, 0.9f);
    uint64_t clicked = 0;

    memset(shown, 0, sizeof(story_told));
    for (int i = 0; i < FRAMES; i++) {
        if (story->has_click && i == 1 + story->late)
            clicked = give_click(t, story);
        draw_disc(&frame, 50 + i, 64, 20);
        step_picture(t, &frame);
        if (clicked)
            scene_look(t, clicked, &shown[i][CLICKED]);
        scene_look(t, before, &shown[i][BEFORE]);
    }
    sam_tracker_close(&t);
}

static void check_stream(const char *zooming, const char *plain)
{
    enum { IN_TIME, ALONE, NO_HISTORY, LATE, CORRECTED, LATE_CORRECTED, NO_ZOOM, STORIES };
    const struct story story[STORIES] = {
        [IN_TIME] = { zooming, 0, 4, true, false },
        [ALONE] = { zooming, 0, 4, false, false },
        [NO_HISTORY] = { zooming, 0, 0, true, false },
        [LATE] = { zooming, 2, 4, true, false }, // it has caught up before frame 5
        [CORRECTED] = { zooming, 0, 4, true, true },
        [LATE_CORRECTED] = { zooming, 2, 4, true, true },
        [NO_ZOOM] = { plain, 0, 4, true, false },
    };
    static story_told told[STORIES];
    const struct story_twins same[] = {
        { IN_TIME, ALONE, BEFORE, 0, "an object before a click" },
        { IN_TIME, NO_HISTORY, CLICKED, 0, "a click without history" },
        { IN_TIME, LATE, CLICKED, 5, "a late click" },
        { IN_TIME, LATE, BEFORE, 0, "an object before a late click" },
        { CORRECTED, LATE_CORRECTED, CLICKED, 5, "a late click and its correction" },
    };

    for (int i = 0; i < STORIES; i++)
        tell(&story[i], told[i]);
    story_expect_twins(told, same, SCENE_ROOM(same), 0);
    expect(story_differs(told[IN_TIME], told[CORRECTED], CLICKED, 1, 0),
           "a correction changes nothing");
    expect(story_differs(told[IN_TIME], told[NO_ZOOM], CLICKED, 1, 0) == FRAMES - 1,
           "a model that zooms shows the same");
}

int main(int argc, char **argv)
{
    int checked = 0;

    if (argc != 4) {
        fprintf(stderr, "usage: click ZOOMING PLAIN BACKEND\n");
        return 2;
    }
    backend = argv[3];
    struct trackers of = { open_model(argv[1], 0), open_model(argv[2], 0), open_model(argv[2], 0) };
    for (int radius = 20; radius <= 24; radius++)
        for (int i = 0; i < 5 && checked < ENOUGH; i++)
            checked += check_window(&of, 36 + 14 * i, 84 - 11 * i, radius);
    expect(checked >= ENOUGH, "only %d answers have a window of %d px", checked, WINDOW);
    int most = 0;
    for (int apart = 32; apart <= 64; apart += 8) {
        const int pieces = check_twins(&of, apart);
        most = pieces > most ? pieces : most;
    }
    expect(most > 1, "the model alone answers with one piece, too");
    sam_tracker_close(&of.zooming);
    sam_tracker_close(&of.plain);
    sam_tracker_close(&of.close);
    check_stream(argv[1], argv[2]);
    return expect_status();
}
