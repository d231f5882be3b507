/* SPDX-License-Identifier: MIT */
#include "player.h"

#include <gst/video/navigation.h>
#include <string.h>

#define TICK_MS 50
#define NOTE_S 5
/* The bar is there so long after the last key or move, and takes so long to fade. */
#define BAR_US (3 * G_USEC_PER_SEC)
#define FADE_US (G_USEC_PER_SEC / 2)
#define BAR_TOP 0.9 /* it is in the lowest tenth of the picture */
#define JUMP (5 * GST_SECOND)
/* A seek begins so long before its target, in order to find the last frame before that. */
#define LEAD (GST_SECOND / 5)
#define END_LEAD GST_SECOND

static const gchar file_help[] =
    "space\tpause, play\n"
    ".  ,\tone frame on, back\n"
    "left  right\t5 s back, on\n"
    "Home  End\tfirst, last frame\n";
static const gchar help[] =
    "click\ttrack what is there\n"
    "drag\ttrack what is in the box\n"
    "right click\tthis does not belong to it\n"
    "a\tanother answer to the last click\n"
    "n\tthe next click begins another object\n"
    "u\ttake back the last click\n"
    "Delete\tremove the object under the pointer\n"
    "c\tremove all objects\n"
    "q\tclose\n"
    "?\tthis list";

static void update(Player *player);

/* Notes */

static void drop_note(Player *player, guint i)
{
    g_free(player->note[i].text);
    memmove(&player->note[i], &player->note[i + 1], (PLAYER_NOTES - 1 - i) * sizeof(Note));
    player->note[PLAYER_NOTES - 1] = (Note) {NULL, 0};
}

static void add_note(Player *player, gchar *text)
{
    guint i = 0;

    while (i < PLAYER_NOTES && player->note[i].text && strcmp(player->note[i].text, text))
        i++;
    if (i < PLAYER_NOTES && player->note[i].text)
        drop_note(player, i); /* the same one is told again */
    for (i = 0; i < PLAYER_NOTES && player->note[i].text; i++)
        ;
    if (i == PLAYER_NOTES)
        drop_note(player, 0);
    player->note[MIN(i, PLAYER_NOTES - 1)] = (Note) {text,
        g_get_monotonic_time() + NOTE_S * G_USEC_PER_SEC};
    update(player);
}

void player_note(Player *player, const gchar *format, ...)
{
    va_list rest;

    if (!player->pipeline)
        return;
    va_start(rest, format);
    add_note(player, g_strdup_vprintf(format, rest));
    va_end(rest);
}

/* The time of a note begins when it can be seen. */
static void drop_old_notes(Player *player, gboolean are_shown)
{
    const gint64 now = g_get_monotonic_time();
    guint i = 0;

    while (i < PLAYER_NOTES && player->note[i].text)
        if (!are_shown)
            player->note[i++].until_us = now + NOTE_S * G_USEC_PER_SEC;
        else if (player->note[i].until_us <= now)
            drop_note(player, i);
        else
            i++;
}

/* Objects */

static GArray *copy_objects(Player *player, GstStructure **all)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(const GstStructure *));
    const GValue *array;
    guint i;

    g_object_get(player->pipeline->track, "objects", all, NULL);
    array = gst_structure_get_value(*all, "objects");
    for (i = 0; array && i < gst_value_array_get_size(array); i++) {
        const GstStructure *object = gst_value_get_structure(gst_value_array_get_value(array, i));

        g_array_append_val(found, object);
    }
    return found;
}

static guint64 get_id(const GstStructure *s)
{
    guint64 id = 0;

    gst_structure_get_uint64(s, "id", &id);
    return id;
}

static gchar *write_name(guint64 id, const gchar *label)
{
    return label ? g_strdup_printf("object %" G_GUINT64_FORMAT " (%s)", id, label) :
        g_strdup_printf("object %" G_GUINT64_FORMAT, id);
}

/* "object 2 (dog)" */
static gchar *name_object(Player *player, guint64 id)
{
    GstStructure *all;
    GArray *objects = copy_objects(player, &all);
    const gchar *label = NULL;
    gchar *name;
    guint i;

    for (i = 0; i < objects->len; i++) {
        const GstStructure *object = g_array_index(objects, const GstStructure *, i);

        if (get_id(object) == id)
            label = gst_structure_get_string(object, "label");
    }
    name = write_name(id, label);
    g_array_unref(objects);
    gst_structure_free(all);
    return name;
}

/* After a seek: the tracker has looked for all objects on its frame. */
static void tell_unseen(Player *player)
{
    GstStructure *all;
    GArray *objects = copy_objects(player, &all);
    guint i;

    for (i = 0; i < objects->len; i++) {
        const GstStructure *object = g_array_index(objects, const GstStructure *, i);
        const gchar *label = gst_structure_get_string(object, "label");
        gchar *name;
        gint width = 0;

        gst_structure_get_int(object, "w", &width);
        if (width)
            continue;
        name = write_name(get_id(object), label);
        player_note(player, "%s is not seen here", name);
        g_free(name);
    }
    g_array_unref(objects);
    gst_structure_free(all);
}

static void tell_state(Player *player, const GstStructure *message)
{
    const gchar *state = gst_structure_get_string(message, "state");
    gchar *name;

    if (g_strcmp0(state, "lost") && g_strcmp0(state, "found"))
        return;
    name = name_object(player, get_id(message));
    player_note(player, strcmp(state, "lost") ? "%s is found again" : "%s is lost", name);
    g_free(name);
}

static void tell_answer(Player *player, const GstStructure *message)
{
    static const gchar *const answers[] = {"", "a part", "a thing", "a group"};
    gchar *name;

    player->answered = get_id(message);
    gst_structure_get_uint(message, "taken", &player->taken);
    if (!player->clicked || player->taken >= G_N_ELEMENTS(answers))
        return;
    name = name_object(player, player->answered);
    player_note(player, "%s: the click took %s (a: another answer)", name,
        answers[player->taken]);
    g_free(name);
}

static void take_another_answer(Player *player)
{
    gboolean ok = FALSE;

    if (player->answered)
        g_signal_emit_by_name(player->pipeline->track, "take-answer", player->answered,
            player->taken % 3 + 1, &ok);
    else
        player_note(player, "there is no click with other answers");
    if (ok)
        gate_repeat(&player->pipeline->gate);
}

/* Seeks */

static void begin_seek(Player *player)
{
    const GstClockTime end = player->until == GST_CLOCK_TIME_NONE ?
        pipeline_get_duration(player->pipeline) : player->until;

    player->seeking = TRUE;
    player->has_next = FALSE;
    pipeline_seek(player->pipeline, end > player->lead ? end - player->lead : 0,
        player->until == GST_CLOCK_TIME_NONE ? G_MAXINT64 : player->until);
}

/* The last frame before @until; @goal is shown meanwhile. One seek at a time: of those that are
 * asked for while one runs, the last one follows. */
static void seek(Player *player, GstClockTime goal, GstClockTime until, GstClockTime lead)
{
    GateView view;

    gate_look(&player->pipeline->gate, &view);
    if (!view.linked)
        return;
    player->goal = goal;
    player->until = until;
    player->lead = MAX(lead, GST_CLOCK_TIME_IS_VALID(view.duration) ? 2 * view.duration : 0);
    if (player->seeking)
        player->has_next = TRUE;
    else
        begin_seek(player);
    update(player);
}

static void seek_to(Player *player, GstClockTime goal)
{
    player->backs = 0;
    seek(player, goal, goal + 1, LEAD);
}

static void jump(Player *player, gint64 by)
{
    const guint64 all = pipeline_get_duration(player->pipeline);
    GateView view;
    gint64 from;

    gate_look(&player->pipeline->gate, &view);
    if (!GST_CLOCK_TIME_IS_VALID(view.position) || (view.at_end && by > 0 && !player->seeking))
        return;
    from = player->seeking ? player->goal : view.position;
    from = MAX(from + by, 0);
    seek_to(player, all ? MIN((guint64) from, all) : (guint64) from);
}

/* Steps that are typed faster than they are made add up. */
static void step_back(Player *player)
{
    GateView view;
    GstClockTime away;

    gate_look(&player->pipeline->gate, &view);
    gate_pause(&player->pipeline->gate, TRUE);
    if (!GST_CLOCK_TIME_IS_VALID(view.position))
        return;
    if (!player->seeking || !player->backs) {
        player->backs = 0;
        player->back_from = player->seeking ? player->goal : view.position;
    }
    player->backs++;
    away = (player->backs - 1) * view.duration + (player->backs > 1 ? view.duration / 2 : 0);
    away = MIN(away, player->back_from);
    seek(player, player->back_from - MIN(away + view.duration, player->back_from),
        player->back_from - away, LEAD);
}

static void go_to_end(Player *player)
{
    const guint64 all = pipeline_get_duration(player->pipeline);

    player->backs = 0;
    if (all)
        seek(player, all, GST_CLOCK_TIME_NONE, END_LEAD);
    else
        player_note(player, "the end of this video is not known");
}

static void toggle_pause(Player *player)
{
    GateView view;

    gate_look(&player->pipeline->gate, &view);
    gate_pause(&player->pipeline->gate, !view.paused && !view.at_end);
    if (view.at_end && !player->seeking)
        seek_to(player, 0);
}

/* What has become of the seek that ran. */
static void follow_seek(Player *player, const GateView *view)
{
    const guint unsought = pipeline_count_unsought(player->pipeline);
    const gboolean refused = unsought != player->unsought;
    const gboolean missed = view->missed != player->missed;
    const gboolean landed = view->landed != player->landed;

    player->unsought = unsought;
    player->missed = view->missed;
    player->landed = view->landed;
    if (!player->seeking || !(refused || missed || landed))
        return;
    if (refused) {
        player->seeking = player->has_next = FALSE;
        player_note(player, "this video cannot be played from another place");
    } else if (player->has_next) {
        begin_seek(player);
    } else if (missed && player->lead < player->until) { /* it is shorter than it says */
        player->lead *= 8;
        begin_seek(player);
    } else {
        player->seeking = FALSE;
        tell_unseen(player);
    }
}

/* The picture */

static gchar *compose_text(Player *player, const GateView *view)
{
    GString *text = g_string_new(NULL);
    guint i;

    if (player->help && view->linked) {
        g_string_append(text, player->is_file ? file_help : "");
        g_string_append(text, help);
        g_string_append_c(text, '\n');
    }
    if (!view->linked)
        g_string_append(text, "loading the model\n");
    else if (view->at_end && !player->seeking)
        g_string_append(text, "the end; space plays it again\n");
    else if (view->paused)
        g_string_append(text, "paused\n");
    for (i = 0; view->linked && i < PLAYER_NOTES && player->note[i].text; i++)
        g_string_append_printf(text, "%s\n", player->note[i].text);
    if (text->len)
        g_string_truncate(text, text->len - 1);
    return g_string_free(text, FALSE);
}

static gdouble get_bar(const Player *player, const GateView *view)
{
    const gint64 idle = g_get_monotonic_time() - player->active_us;

    if (!player->is_file || !view->linked)
        return 0;
    if (view->paused || view->at_end || player->seeking)
        return 1;
    return CLAMP(1 - (gdouble) (idle - BAR_US) / FADE_US, 0, 1);
}

static void update(Player *player)
{
    const GstClockTime mark = player->seeking ? player->goal : GST_CLOCK_TIME_NONE;
    GateView view;
    gdouble bar;
    gchar *text;

    gate_look(&player->pipeline->gate, &view);
    bar = get_bar(player, &view);
    text = compose_text(player, &view);
    if (g_strcmp0(text, player->text) || bar != player->bar || mark != player->mark) {
        g_object_set(player->overlay, "text", text, "time-bar", bar, "time-mark", mark, NULL);
        gate_redraw(&player->pipeline->gate);
    }
    g_free(player->text);
    player->text = text;
    player->bar = bar;
    player->mark = mark;
}

static gboolean on_tick(gpointer data)
{
    Player *player = data;
    GateView view;

    gate_look(&player->pipeline->gate, &view);
    follow_seek(player, &view);
    if (player->release && !player->seeking)
        gst_pad_push_event(player->keys, g_steal_pointer(&player->release));
    drop_old_notes(player, view.linked);
    hover_tick(&player->hover);
    update(player);
    return G_SOURCE_CONTINUE;
}

static gboolean on_changed(gpointer data)
{
    Player *player = data;

    g_atomic_int_set(&player->changed, FALSE);
    if (player->pipeline)
        on_tick(player);
    return G_SOURCE_REMOVE;
}

/* Of the gate, any thread. */
static void schedule_update(gpointer data)
{
    Player *player = data;

    if (g_atomic_int_compare_and_exchange(&player->changed, FALSE, TRUE))
        g_main_context_invoke_full(NULL, G_PRIORITY_DEFAULT, on_changed, player, NULL);
}

/* Keys */

typedef struct {
    const gchar *name;
    gboolean for_file; /* alone */
    void (*act)(Player *player);
} Key;

static void step_on(Player *player)
{
    gate_step(&player->pipeline->gate);
}

static void jump_back(Player *player)
{
    jump(player, -(gint64) JUMP);
}

static void jump_on(Player *player)
{
    jump(player, JUMP);
}

static void go_to_start(Player *player)
{
    seek_to(player, 0);
}

static void toggle_help(Player *player)
{
    player->help = !player->help;
    while (player->help && player->note[0].text)
        drop_note(player, 0);
}

static void quit(Player *player)
{
    g_main_loop_quit(player->loop);
}

/* Names of X, which are those of the keys without Shift. */
static const Key keys[] = {
    {"space", TRUE, toggle_pause},
    {"period", TRUE, step_on},
    {"comma", TRUE, step_back},
    {"Left", TRUE, jump_back},
    {"Right", TRUE, jump_on},
    {"Home", TRUE, go_to_start},
    {"End", TRUE, go_to_end},
    {"a", FALSE, take_another_answer},
    {"question", FALSE, toggle_help},
    {"slash", FALSE, toggle_help},
    {"F1", FALSE, toggle_help},
    {"q", FALSE, quit},
};

static const Key *find_key(const Player *player, GstEvent *event)
{
    const gchar *name = NULL;
    gsize i;

    if (!gst_navigation_event_parse_key_event(event, &name) || !name)
        return NULL;
    for (i = 0; i < G_N_ELEMENTS(keys); i++)
        if (!strcmp(keys[i].name, name) && (player->is_file || !keys[i].for_file))
            return &keys[i];
    return NULL;
}

/* What the window's thread leaves to the main thread. */
typedef struct {
    Player *player;
    const Key *key; /* NULL: the mouse, or a key of somebody else */
    GstNavigationEventType type;
    gdouble x, y; /* of the mouse, fractions of the picture; < 0: not known */
} Act;

/* What a click would take is shown where one would begin an object: not on the bar, nor while
 * something is drawn or typed. */
static void hover(Player *player, const Act *act)
{
    const gboolean on_bar = player->bar > 0 && act->y > BAR_TOP;

    if (act->type == GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS)
        player->is_pressed = TRUE;
    if (act->type == GST_NAVIGATION_EVENT_MOUSE_BUTTON_RELEASE)
        player->is_pressed = FALSE;
    if (act->type != GST_NAVIGATION_EVENT_MOUSE_MOVE || player->is_pressed || on_bar)
        hover_end(&player->hover);
    else
        hover_move(&player->hover, act->x, act->y);
}

static gboolean on_act(gpointer data)
{
    const Act *act = data;
    Player *player = act->player;

    if (!player->pipeline)
        return G_SOURCE_REMOVE;
    player->active_us = g_get_monotonic_time();
    player->clicked |= act->type == GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS;
    hover(player, act);
    if (act->key)
        act->key->act(player);
    update(player);
    return G_SOURCE_REMOVE;
}

static void find_place(GstPad *pad, GstEvent *event, Act *act)
{
    GstCaps *caps = gst_pad_get_current_caps(pad);
    const GstStructure *format = caps ? gst_caps_get_structure(caps, 0) : NULL;
    gint width = 0, height = 0;

    if (format)
        gst_structure_get(format, "width", G_TYPE_INT, &width, "height", G_TYPE_INT, &height, NULL);
    gst_clear_caps(&caps);
    if (width < 1 || height < 1 ||
        !gst_navigation_event_parse_mouse_move_event(event, &act->x, &act->y))
        return;
    act->x /= width;
    act->y /= height;
}

/* In the window's thread. */
static GstPadProbeReturn on_navigation(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
    GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
    const GstNavigationEventType type = GST_EVENT_TYPE(event) == GST_EVENT_NAVIGATION ?
        gst_navigation_event_get_type(event) : GST_NAVIGATION_EVENT_INVALID;
    Player *player = data;
    const Key *key = NULL;
    Act *act;

    if (type == GST_NAVIGATION_EVENT_INVALID)
        return GST_PAD_PROBE_OK;
    if (type == GST_NAVIGATION_EVENT_KEY_PRESS || type == GST_NAVIGATION_EVENT_KEY_RELEASE)
        key = find_key(player, event);
    act = g_new(Act, 1);
    *act = (Act) {player, type == GST_NAVIGATION_EVENT_KEY_PRESS ? key : NULL,
        type, -1, -1};
    if (type == GST_NAVIGATION_EVENT_MOUSE_MOVE)
        find_place(pad, event, act);
    g_main_context_invoke_full(NULL, G_PRIORITY_DEFAULT, on_act, act, g_free);
    return key ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
}

/* From outside */

/* While a seek flushes, what is typed and clicked reaches nobody, which the sink tells. A key acts
 * all the same. Who has heard of a button that was pressed must hear of its release, after the
 * seek. */
static void take_lost(Player *player, GstMessage *message)
{
    GstNavigationEventType type;
    GstEvent *event = NULL;
    const Key *key;

    if (!gst_navigation_message_parse_event(message, &event))
        return;
    type = gst_navigation_event_get_type(event);
    key = type == GST_NAVIGATION_EVENT_KEY_PRESS ? find_key(player, event) : NULL;
    if (key)
        key->act(player);
    else if (type == GST_NAVIGATION_EVENT_MOUSE_BUTTON_RELEASE)
        gst_event_replace(&player->release, event);
    gst_event_unref(event);
}

void player_hear(Player *player, GstMessage *of)
{
    const GstStructure *message = gst_message_get_structure(of);
    GstClockTime position;

    if (!player->pipeline)
        return;
    take_lost(player, of);
    if (gst_structure_has_name(message, "samtrack-object"))
        tell_state(player, message);
    else if (gst_structure_has_name(message, "samtrack-answers"))
        tell_answer(player, message);
    else if (gst_structure_has_name(message, "samtrack-preview"))
        hover_take(&player->hover, message);
    else if (gst_structure_has_name(message, "samoverlay-time-bar") &&
        gst_structure_get_clock_time(message, "position", &position) &&
        (!player->seeking || position != player->goal))
        seek_to(player, position);
}

void player_start(Player *player, Pipeline *pipeline, GMainLoop *loop, gboolean is_file,
    gboolean has_prompt)
{
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline->bin), "file");

    player->pipeline = pipeline;
    player->loop = loop;
    player->is_file = is_file;
    player->overlay = gst_bin_get_by_name(GST_BIN(pipeline->bin), "overlay");
    player->hover = (Hover) {.gate = &pipeline->gate, .overlay = player->overlay};
    player->goal = player->mark = GST_CLOCK_TIME_NONE;
    player->active_us = g_get_monotonic_time();
    player->keys = gst_element_get_static_pad(sink, "sink");
    player->probe = gst_pad_add_probe(player->keys, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM,
        on_navigation, player, NULL);
    pipeline->gate.user = player;
    pipeline->gate.on_change = schedule_update;
    player->timer = g_timeout_add(TICK_MS, on_tick, player);
    player_note(player, has_prompt ? "? shows the keys" :
        "click what is to be tracked; ? shows the keys");
    gst_object_unref(sink);
}

void player_stop(Player *player)
{
    guint i;

    if (!player->pipeline)
        return;
    g_source_remove(player->timer);
    gst_pad_remove_probe(player->keys, player->probe);
    for (i = 0; i < PLAYER_NOTES; i++)
        g_clear_pointer(&player->note[i].text, g_free);
    g_clear_pointer(&player->text, g_free);
    gst_clear_event(&player->release);
    gst_clear_object(&player->keys);
    gst_clear_object(&player->overlay);
    player->pipeline = NULL;
}
