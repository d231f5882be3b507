/* SPDX-License-Identifier: MIT */
#include "message.h"

#include "refuse.h"

#include "record/gstsamjson.h"

#include <math.h>
#include <string.h>

static const gchar *const ops[] = {
    [OP_WATCH] = "watch",
    [OP_POINT] = "point",
    [OP_BOX] = "box",
    [OP_LOOK] = "look",
    [OP_UNDO] = "undo",
    [OP_TAKE] = "take",
    [OP_REMOVE] = "remove",
    [OP_CLEAR] = "clear",
    [OP_RENAME] = "rename",
    [OP_SAVE] = "save",
    [OP_RESTORE] = "restore",
    [OP_SAVES] = "saves",
    [OP_BACK] = "back",
    [OP_ZONE] = "zone",
    [OP_UNZONE] = "unzone",
    [OP_WORDS] = "words",
    [OP_SEEN] = "seen",
    [OP_ANSWER] = "answer",
    [OP_ICE] = "ice",
};

/* JSON-GLib 1.6 descends into every bracket, takes comments, and leaks the first of two values. */
gboolean message_is_flat(const gchar *text, gsize bytes)
{
    gboolean quoted = FALSE, begun = FALSE, ended = FALSE;
    gsize i;

    for (i = 0; i < bytes; i++) {
        const gchar c = text[i];

        if (quoted) {
            if (c == '\\' && ++i + 4 < bytes && !strncmp(text + i, "u0000", 5))
                return FALSE; // a text would end there
            quoted = c != '"';
        } else if (c == '{' && !begun) {
            begun = TRUE;
        } else if (c == '}' && begun && !ended) {
            ended = TRUE;
        } else if (!g_ascii_isspace(c)) {
            if (!begun || ended || strchr("{}[]/#'", c))
                return FALSE;
            quoted = c == '"';
        }
    }
    return ended;
}

static gboolean get_value(JsonObject *object, const gchar *name, GType type, GValue *value)
{
    JsonNode *node = json_object_get_member(object, name);

    if (!node || !JSON_NODE_HOLDS_VALUE(node))
        return FALSE;
    json_node_get_value(node, value);
    if (type == G_TYPE_DOUBLE && G_VALUE_HOLDS_INT64(value)) {
        const gint64 n = g_value_get_int64(value);
        g_value_unset(value);
        g_value_init(value, G_TYPE_DOUBLE);
        g_value_set_double(value, n);
    }
    if (G_VALUE_HOLDS(value, type))
        return TRUE;
    g_value_unset(value);
    return FALSE;
}

static gboolean read_double(JsonObject *object, const gchar *name, gdouble *number, gchar **why)
{
    GValue value = G_VALUE_INIT;

    if (!get_value(object, name, G_TYPE_DOUBLE, &value) || !isfinite(g_value_get_double(&value)))
        return refuse_why(why, "'%s' is missing or not a number.", name);
    *number = g_value_get_double(&value);
    return TRUE;
}

/* A whole number; 0 if it is absent and may be. */
static gboolean read_count(JsonObject *object, const gchar *name, gboolean must, guint64 most,
    guint64 *number, gchar **why)
{
    GValue value = G_VALUE_INIT;

    *number = 0;
    if (!json_object_has_member(object, name) && !must)
        return TRUE;
    if (!get_value(object, name, G_TYPE_INT64, &value) || g_value_get_int64(&value) < 0 ||
        (guint64) g_value_get_int64(&value) > most)
        return refuse_why(why,
            "'%s' is missing or not a whole number from 0 to %" G_GUINT64_FORMAT ".", name, most);
    *number = (guint64) g_value_get_int64(&value);
    return TRUE;
}

static gboolean read_text(JsonObject *object, const gchar *name, gchar **text, gchar **why)
{
    GValue value = G_VALUE_INIT;

    if (!get_value(object, name, G_TYPE_STRING, &value))
        return refuse_why(why, "'%s' is missing or not a text.", name);
    *text = g_value_dup_string(&value);
    g_value_unset(&value);
    return TRUE;
}

/* Leaves *truth as it is if it is absent. */
static gboolean read_truth(JsonObject *object, const gchar *name, gboolean *truth, gchar **why)
{
    GValue value = G_VALUE_INIT;

    if (!json_object_has_member(object, name))
        return TRUE;
    if (!get_value(object, name, G_TYPE_BOOLEAN, &value))
        return refuse_why(why, "'%s' is neither true nor false.", name);
    *truth = g_value_get_boolean(&value);
    return TRUE;
}

static gboolean read_prompt(Request *request, JsonObject *object, gchar **why)
{
    Prompt *p = &request->prompt;
    guint64 rtp, us;

    p->id = request->id;
    p->box = request->op == OP_BOX;
    p->positive = TRUE;
    p->time = GST_CLOCK_TIME_NONE;
    if (!read_truth(object, "positive", &p->positive, why))
        return FALSE;
    request->has_rtp = json_object_has_member(object, "rtp");
    if (!read_count(object, "rtp", FALSE, G_MAXUINT32, &rtp, why))
        return FALSE;
    request->rtp = (guint32) rtp;
    if (!read_count(object, "us", FALSE, G_MAXINT64 / 1000, &us, why))
        return FALSE;
    if (us)
        p->time = us * 1000;
    return read_double(object, "x", &p->x, why) && read_double(object, "y", &p->y, why) &&
        (!p->box || (read_double(object, "w", &p->w, why) && read_double(object, "h", &p->h, why)));
}

static gboolean read_zone(ZoneDrawing *zone, JsonObject *object, gchar **why)
{
    return (!json_object_has_member(object, "was") ||
        read_text(object, "was", &zone->was, why)) && read_text(object, "name", &zone->name, why) &&
        read_text(object, "kind", &zone->kind, why) &&
        read_text(object, "points", &zone->points, why);
}

static gboolean read_fields(Request *request, JsonObject *object, gchar **why)
{
    switch (request->op) {
    case OP_WATCH:
        return read_text(object, "camera", &request->camera, why) &&
            read_text(object, "video", &request->video, why) &&
            read_truth(object, "masks", &request->draws, why);
    case OP_POINT:
    case OP_BOX:
        return read_count(object, "id", FALSE, G_MAXINT64, &request->id, why) &&
            read_prompt(request, object, why);
    case OP_LOOK:
        return read_prompt(request, object, why);
    case OP_UNDO:
    case OP_REMOVE:
        return read_count(object, "id", TRUE, G_MAXINT64, &request->id, why);
    case OP_TAKE:
        return read_count(object, "id", TRUE, G_MAXINT64, &request->id, why) &&
            read_count(object, "answer", TRUE, MAX_ANSWERS, &request->answer, why);
    case OP_RENAME:
        return read_count(object, "id", TRUE, G_MAXINT64, &request->id, why) &&
            read_text(object, "name", &request->name, why);
    case OP_SAVE:
        return !json_object_has_member(object, "name") ||
            read_text(object, "name", &request->name, why);
    case OP_RESTORE:
        return !json_object_has_member(object, "save") ||
            (read_text(object, "save", &request->save, why) &&
            (saves_is_id(request->save) || refuse_why(why, "'save' is not that of a save.")));
    case OP_BACK:
        return read_count(object, "n", FALSE, G_MAXINT64, &request->n, why);
    case OP_ZONE:
        return read_zone(&request->zone, object, why);
    case OP_UNZONE:
        return read_text(object, "name", &request->name, why);
    case OP_WORDS:
        return read_text(object, "of", &request->of, why);
    case OP_SEEN:
        return read_count(object, "n", TRUE, G_MAXINT64, &request->n, why) &&
            read_count(object, "masks", FALSE, G_MAXINT64, &request->masks, why);
    case OP_ANSWER:
        return read_text(object, "sdp", &request->sdp, why);
    case OP_ICE:
        return read_text(object, "candidate", &request->candidate, why) &&
            read_count(object, "mline", TRUE, 64, &request->mline, why);
    default:
        return TRUE;
    }
}

static gboolean read_request(Request *request, JsonObject *object, gchar **why)
{
    gchar *op = NULL;
    gsize i;

    if (!read_count(object, "re", FALSE, G_MAXINT64, &request->re, why) ||
        !read_text(object, "op", &op, why))
        return FALSE;
    for (i = 0; i < G_N_ELEMENTS(ops) && strcmp(ops[i], op); i++)
        ;
    g_free(op);
    if (i == G_N_ELEMENTS(ops))
        return refuse_why(why, "The 'op' is not known.");
    request->op = i;
    return read_fields(request, object, why);
}

gboolean request_parse(Request *request, const gchar *text, gsize bytes, gchar **why)
{
    JsonParser *parser;
    JsonNode *root;
    gboolean ok;

    memset(request, 0, sizeof *request);
    if (bytes > MESSAGE_MAX_BYTES || !g_utf8_validate(text, bytes, NULL) ||
        !message_is_flat(text, bytes))
        return refuse_why(why, "The message is not a flat JSON object in UTF-8 without null "
            "characters.");
    parser = json_parser_new_immutable();
    ok = json_parser_load_from_data(parser, text, bytes, NULL);
    root = ok ? json_parser_get_root(parser) : NULL;
    if (!root || !JSON_NODE_HOLDS_OBJECT(root))
        ok = refuse_why(why, "The message is not a JSON object.");
    else
        ok = read_request(request, json_node_get_object(root), why);
    g_object_unref(parser);
    return ok;
}

void request_clear(Request *request)
{
    g_free(request->camera);
    g_free(request->name);
    g_free(request->sdp);
    g_free(request->candidate);
    g_free(request->video);
    g_free(request->save);
    g_free(request->of);
    g_free(request->zone.was);
    g_free(request->zone.name);
    g_free(request->zone.kind);
    g_free(request->zone.points);
}

JsonBuilder *message_begin(const gchar *type)
{
    JsonBuilder *b = json_builder_new_immutable();

    json_builder_begin_object(b);
    message_add_text(b, "type", type);
    return b;
}

void message_add_text(JsonBuilder *b, const gchar *name, const gchar *value)
{
    json_builder_set_member_name(b, name);
    json_builder_add_string_value(b, value);
}

void message_add_number(JsonBuilder *b, const gchar *name, gdouble value)
{
    json_builder_set_member_name(b, name);
    json_builder_add_double_value(b, isfinite(value) ? round(value * 1000) / 1000 : 0);
}

void message_add_count(JsonBuilder *b, const gchar *name, guint64 value)
{
    json_builder_set_member_name(b, name);
    json_builder_add_int_value(b, (gint64) value);
}

static void add_answer(JsonBuilder *b, const Answer *answer)
{
    guint i;

    if (!answer->n)
        return;
    message_add_count(b, "taken", answer->taken);
    json_builder_set_member_name(b, "answers");
    json_builder_begin_array(b);
    for (i = 0; i < answer->n; i++) {
        json_builder_begin_object(b);
        message_add_number(b, "iou", answer->iou[i]);
        message_add_count(b, "area", answer->area[i]);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
}

void message_add_objects(JsonBuilder *b, const GArray *objects)
{
    guint i;

    json_builder_set_member_name(b, "objects");
    json_builder_begin_array(b);
    for (i = 0; i < objects->len; i++) {
        const Object *o = &g_array_index(objects, Object, i);

        json_builder_begin_object(b);
        message_add_count(b, "id", o->id);
        message_add_count(b, "slot", o->slot);
        message_add_text(b, "name", o->name);
        message_add_text(b, "state", o->state);
        message_add_number(b, "score", o->score);
        message_add_number(b, "iou", o->iou);
        message_add_count(b, "x", o->x);
        message_add_count(b, "y", o->y);
        message_add_count(b, "w", o->w);
        message_add_count(b, "h", o->h);
        message_add_count(b, "area", o->area);
        add_answer(b, &o->answer);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
}

gchar *message_end(JsonBuilder *b)
{
    GString *text = g_string_new(NULL);
    JsonNode *root;

    json_builder_end_object(b);
    root = json_builder_get_root(b);
    gst_sam_json_append_node(text, root);
    json_node_unref(root);
    g_object_unref(b);
    return g_string_free(text, FALSE);
}

gchar *message_reply(guint64 re, guint64 id, const gchar *why)
{
    JsonBuilder *b = message_begin(why ? "refused" : "done");

    message_add_count(b, "re", re);
    if (why)
        message_add_text(b, "why", why);
    else
        message_add_count(b, "id", id);
    return message_end(b);
}

gchar *message_saves(guint64 re, const GPtrArray *saves)
{
    JsonBuilder *b = message_begin("saves");
    guint i;

    message_add_count(b, "re", re);
    json_builder_set_member_name(b, "saves");
    json_builder_begin_array(b);
    for (i = 0; i < saves->len; i++) {
        const Save *save = g_ptr_array_index(saves, i);

        json_builder_begin_object(b);
        message_add_text(b, "save", save->id);
        message_add_text(b, "name", save->title);
        message_add_count(b, "time", (guint64) save->time);
        message_add_count(b, "objects", save->objects);
        json_builder_end_object(b);
    }
    json_builder_end_array(b);
    return message_end(b);
}

static gchar *make_text(const gchar *type, const gchar *name, const gchar *text)
{
    JsonBuilder *b = message_begin(type);

    message_add_text(b, name, text);
    return message_end(b);
}

gchar *message_notice(const gchar *text)
{
    return make_text("notice", "text", text);
}

gchar *message_offer(const gchar *sdp)
{
    return make_text("offer", "sdp", sdp);
}

gchar *message_video(const gchar *kind)
{
    return make_text("video", "kind", kind);
}

gchar *message_ice(guint mline, const gchar *candidate)
{
    JsonBuilder *b = message_begin("ice");

    message_add_count(b, "mline", mline);
    message_add_text(b, "candidate", candidate);
    return message_end(b);
}
