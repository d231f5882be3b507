// SPDX-License-Identifier: MIT
// The family's table.
#include "yolov10.h"

static int count_classes(const struct sam_config *c)
{
    return yolo_sizes(c)->classes;
}

static struct sam_sides sides(const struct sam_config *c)
{
    return (struct sam_sides) { 320, 1280, 32 };
}

const struct sam_detector_family sam_detector_yolov10 = {
    .title = "YOLOv10",
    .mark = "model.23.one2one_cv2.0.0.conv.weight",
    .read = yolo_read,
    .sides = sides,
    .weights_bytes = sizeof(struct yolo_weights),
    .load = yolo_load,
    .classes = count_classes,
    .most = YOLO_MOST,
    .place = yolo_place,
    .run = yolo_run,
    .room_bytes = yolo_room_bytes,
    .choose = yolo_choose,
};
