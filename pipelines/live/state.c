/* SPDX-License-Identifier: MIT */
#include "state.h"

#include "message.h"

static void add_pictures(JsonBuilder *b, Room *room)
{
    AlbumStats stats = {0};

    if (room->album)
        album_get_stats(room->album, &stats);
    message_add_count(b, "pictures", stats.pictures);
    message_add_count(b, "pictureBytes", stats.bytes);
    message_add_count(b, "mostPictureBytes", room->album ? album_get_most(room->album) : 0);
    message_add_count(b, "lostPictures", stats.lost);
}

void state_add_annotations(JsonBuilder *b, Room *room)
{
    AnnotationsStats stats = {0};

    if (room->annotations)
        annotations_get_stats(room->annotations, &stats);
    json_builder_set_member_name(b, "annotations");
    json_builder_begin_object(b);
    message_add_count(b, "frames", stats.frames);
    message_add_count(b, "bytes", stats.bytes);
    message_add_count(b, "mostBytes", stats.most);
    message_add_number(b, "seconds", stats.seconds);
    message_add_count(b, "forgotten", stats.forgotten);
    message_add_count(b, "lost", stats.lost);
    message_add_text(b, "fault", stats.fault);
    add_pictures(b, room);
    json_builder_end_object(b);
}

void state_add_undo(JsonBuilder *b, Room *room)
{
    const UndoStep *step = objects_get_undo(room->objects);

    json_builder_set_member_name(b, "undo");
    json_builder_begin_object(b);
    message_add_count(b, "n", step ? step->number : 0);
    message_add_text(b, "text", step ? step->text : "");
    json_builder_set_member_name(b, "large");
    json_builder_add_boolean_value(b, step && (step->kind == UNDO_TRACKS ||
        step->kind == UNDO_ZONES));
    json_builder_end_object(b);
}
