/* SPDX-License-Identifier: MIT */
#include "answers.h"

#include "track.h"

#define OPEN_US (30 * G_USEC_PER_SEC) /* afterwards nobody remembers the click */

typedef struct {
    Answer answer;
    gdouble x, y;         /* of the click */
    gdouble left[MAX_ANSWERS], top[MAX_ANSWERS]; /* middles of the answers, px */
    gint64 since;         /* us */
    guint asked;          /* the answer that the tracker was asked to take; 0: none */
} Click;

struct Answers {
    Camera *camera;
    GHashTable *clicks; /* id -> Click */
};

Answers *answers_new(Camera *camera)
{
    Answers *answers = g_new0(Answers, 1);

    answers->camera = camera;
    answers->clicks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    return answers;
}

void answers_free(Answers *answers)
{
    g_hash_table_unref(answers->clicks);
    g_free(answers);
}

void answers_note_click(Answers *answers, guint64 id, gdouble x, gdouble y)
{
    Click *click = g_new0(Click, 1);

    click->x = x;
    click->y = y;
    click->since = g_get_monotonic_time();
    g_hash_table_replace(answers->clicks, g_memdup2(&id, sizeof id), click);
}

void answers_forget(Answers *answers, guint64 id)
{
    g_hash_table_remove(answers->clicks, &id);
}

void answers_forget_all(Answers *answers)
{
    g_hash_table_remove_all(answers->clicks);
}

static Click *find(Answers *answers, guint64 id)
{
    Click *click = g_hash_table_lookup(answers->clicks, &id);

    if (!click || g_get_monotonic_time() - click->since < OPEN_US)
        return click;
    answers_forget(answers, id);
    return NULL;
}

const Answer *answers_get(Answers *answers, guint64 id)
{
    const Click *click = find(answers, id);

    return click && click->answer.n > 1 ? &click->answer : NULL;
}

/* The middle of the object's box now, px. */
static gboolean find_middle(Answers *answers, guint64 id, gdouble *x, gdouble *y)
{
    const GValue *array;
    gint left, top, w, h;
    gboolean found = FALSE;
    GstStructure *s;
    guint64 other;
    guint i;

    g_object_get(camera_get_track(answers->camera), "objects", &s, NULL);
    array = gst_structure_get_value(s, "objects");
    for (i = 0; !found && i < gst_value_array_get_size(array); i++) {
        const GstStructure *object = gst_value_get_structure(gst_value_array_get_value(array, i));

        found = gst_structure_get(object, "id", G_TYPE_UINT64, &other, "x", G_TYPE_INT, &left,
            "y", G_TYPE_INT, &top, "w", G_TYPE_INT, &w, "h", G_TYPE_INT, &h, NULL) && other == id &&
            w > 0 && h > 0;
    }
    if (found) {
        *x = left + w / 2.;
        *y = top + h / 2.;
    }
    gst_structure_free(s);
    return found;
}

/* The frame of the click is gone: the click is repeated. */
static guint64 click_again(Answers *answers, guint64 id, Click *click, guint number, gchar **why)
{
    const guint taken = click->answer.taken - 1;
    CameraCounts counts;
    GString *text;
    gdouble x, y;

    camera_get_counts(answers->camera, &counts);
    if (!find_middle(answers, id, &x, &y) || !counts.width || !counts.height) {
        *why = g_strdup("The object is not seen now: it cannot become another one.");
        return 0;
    }
    x = click->x + (x - click->left[taken]) / counts.width;
    y = click->y + (y - click->top[taken]) / counts.height;
    click->x = CLAMP(x, 0, 0.9999);
    click->y = CLAMP(y, 0, 0.9999);
    text = track_write(click->x, click->y, 0, 0);
    g_string_append_printf(text, ",id=%" G_GUINT64_FORMAT ",answer=%u", id, number);
    return track_prompt(answers->camera, g_string_free(text, FALSE), why);
}

guint64 answers_take(Answers *answers, guint64 id, guint number, gchar **why)
{
    Click *click = find(answers, id);
    gchar *text;

    if (!click || number < 1 || number > click->answer.n) {
        *why = g_strdup_printf("There is no answer %u for object %" G_GUINT64_FORMAT " any more.",
            number, id);
        return 0;
    }
    click->since = g_get_monotonic_time();
    click->asked = number;
    text = g_strdup_printf("take,id=%" G_GUINT64_FORMAT ",answer=%u", id, number);
    if (!track_prompt(answers->camera, text, why)) {
        g_clear_pointer(why, g_free);
        click->asked = 0;
        id = click_again(answers, id, click, number, why);
    }
    if (id)
        click->answer.taken = number;
    return id;
}

static void hear_answers(Answers *answers, const GstStructure *s)
{
    const GValue *array = gst_structure_get_value(s, "answers");
    guint64 id = 0;
    guint taken = 1;
    Click *click;
    guint i;

    gst_structure_get_uint64(s, "id", &id);
    gst_structure_get_uint(s, "taken", &taken);
    click = find(answers, id);
    if (!click || !array)
        return;
    click->answer.n = MIN(gst_value_array_get_size(array), MAX_ANSWERS);
    if (click->asked == taken)
        click->asked = 0;
    if (!click->asked) /* else this is of the one before, and another is on its way */
        click->answer.taken = CLAMP(taken, 1, MAX(click->answer.n, 1));
    for (i = 0; i < click->answer.n; i++) {
        const GstStructure *one = gst_value_get_structure(gst_value_array_get_value(array, i));
        gint x = 0, y = 0, w = 0, h = 0;

        gst_structure_get(one, "iou", G_TYPE_DOUBLE, &click->answer.iou[i], "x", G_TYPE_INT, &x,
            "y", G_TYPE_INT, &y, "w", G_TYPE_INT, &w, "h", G_TYPE_INT, &h,
            "area", G_TYPE_UINT, &click->answer.area[i], NULL);
        click->left[i] = x + w / 2.;
        click->top[i] = y + h / 2.;
    }
}

/* The tracker says so at a frame. */
static void hear_refusal(Answers *answers, const GstStructure *s)
{
    gchar *why = NULL;
    guint64 id = 0;
    Click *click;
    guint number;

    gst_structure_get_uint64(s, "id", &id);
    click = find(answers, id);
    if (!click || !click->asked || g_strcmp0(gst_structure_get_string(s, "reason"), "answer"))
        return;
    number = click->asked;
    click->asked = 0;
    click_again(answers, id, click, number, &why);
    g_free(why);
}

void answers_hear(Answers *answers, const GstStructure *message)
{
    if (gst_structure_has_name(message, "samtrack-answers"))
        hear_answers(answers, message);
    else if (gst_structure_has_name(message, "samtrack-refusal"))
        hear_refusal(answers, message);
}
