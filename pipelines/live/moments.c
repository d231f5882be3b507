/* SPDX-License-Identifier: MIT */
#include "moments.h"

#include <string.h>

#define EDGE 0.01 /* of the picture: what is lost so near to its edge has left */

static gboolean touches_edge(const gdouble *box)
{
    return box[0] <= EDGE || box[1] <= EDGE || box[0] + box[2] >= 1 - EDGE ||
        box[1] + box[3] >= 1 - EDGE;
}

static void note_box(Known *known, const GstSamReport *report, const GstSamObject *object)
{
    if (!object->area || report->width < 1 || report->height < 1)
        return;
    known->box[0] = CLAMP(object->x / (gdouble) report->width, 0, 1);
    known->box[1] = CLAMP(object->y / (gdouble) report->height, 0, 1);
    known->box[2] = CLAMP(object->w / (gdouble) report->width, 0, 1 - known->box[0]);
    known->box[3] = CLAMP(object->h / (gdouble) report->height, 0, 1 - known->box[1]);
}

static void tell(const Known *known, EventKind kind, const gchar *label, guint slot,
    MomentsFunc func, gpointer user)
{
    Event *event = g_new0(Event, 1);

    event->kind = kind;
    event->object = known->id;
    memcpy(event->box, known->box, sizeof event->box);
    func(event, label, slot, user);
}

/* An object that is found again after a restart was never seen before. */
static void take_object(Moments *moments, const GstSamReport *report, const GstSamObject *object,
    const gchar *label, MomentsFunc func, gpointer user)
{
    Known *known = &moments->known[object->slot];
    const gboolean lost = object->state == SAM_OBJECT_LOST;

    if (known->id != object->id) {
        memset(known, 0, sizeof *known);
        known->id = object->id;
    }
    note_box(known, report, object);
    if (lost && known->seen && !known->away)
        tell(known, touches_edge(known->box) ? EVENT_LEFT : EVENT_LOST, label, object->slot, func,
            user);
    else if (!lost && object->state != SAM_OBJECT_OCCLUDED && known->away)
        tell(known, EVENT_FOUND, label, object->slot, func, user);
    else if (!lost && object->state != SAM_OBJECT_OCCLUDED && !known->seen)
        tell(known, EVENT_APPEARED, label, object->slot, func, user);
    known->away = lost || (known->away && object->state == SAM_OBJECT_OCCLUDED);
    known->seen |= object->state != SAM_OBJECT_OCCLUDED;
}

static void take_objects(Moments *moments, const GstSamRecord *record, MomentsFunc func,
    gpointer user)
{
    const GstSamReport *report = &record->report;
    gboolean there[SAM_MAX_OBJECTS + 1] = {FALSE};
    guint i;

    for (i = 0; i < report->num_objects; i++) {
        const guint slot = report->object[i].slot;

        if (slot < 1 || slot > SAM_MAX_OBJECTS)
            continue;
        there[slot] = TRUE;
        take_object(moments, report, &report->object[i], record->label[i], func, user);
    }
    for (i = 1; i <= SAM_MAX_OBJECTS; i++)
        if (!there[i])
            moments->known[i].id = 0;
}

/* Of samzones' kinds; FALSE: it is another one. */
static gboolean find_kind(const gchar *text, EventKind *kind)
{
    static const EventKind kinds[] = {EVENT_ENTERED, EVENT_LEFT, EVENT_DWELL, EVENT_CROSSED};
    gsize i;

    for (i = 0; i < G_N_ELEMENTS(kinds); i++) {
        *kind = kinds[i];
        if (!g_strcmp0(event_kinds[kinds[i]], text))
            return TRUE;
    }
    return FALSE;
}

static void take_zone(Moments *moments, const GstStructure *s, MomentsFunc func, gpointer user)
{
    const gchar *zone = gst_structure_get_string(s, "zone");
    const gchar *label = gst_structure_get_string(s, "label");
    Known nobody = {0};
    const Known *known = &nobody;
    EventKind kind;
    Event *event;
    guint i, slot = 0;

    if (!zone || !find_kind(gst_structure_get_string(s, "kind"), &kind) ||
        !gst_structure_get_uint64(s, "id", &nobody.id))
        return;
    for (i = 1; i <= SAM_MAX_OBJECTS; i++)
        if (moments->known[i].id == nobody.id) {
            known = &moments->known[i];
            slot = i;
        }
    event = g_new0(Event, 1);
    event->kind = kind;
    event->object = known->id;
    event->zone = g_utf8_make_valid(zone, -1);
    event->direction = g_strdup(gst_structure_get_string(s, "direction"));
    memcpy(event->box, known->box, sizeof event->box);
    func(event, label ? label : "", slot, user);
}

void moments_take(Moments *moments, const GstSamRecord *record, gboolean fresh, MomentsFunc func,
    gpointer user)
{
    guint i;

    if (fresh)
        take_objects(moments, record, func, user);
    if (!G_IS_VALUE(&record->zone_events))
        return;
    for (i = 0; i < gst_value_array_get_size(&record->zone_events); i++)
        take_zone(moments, gst_value_get_structure(
            gst_value_array_get_value(&record->zone_events, i)), func, user);
}
