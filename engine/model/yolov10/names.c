// SPDX-License-Identifier: MIT
// Hugging Face's names: those of Ultralytics' files with one more prefix. The stars are the number
// of a layer and up to seven names below it.
#include "weights/names.h"

static const struct sam_name_rule rules[] = {
    { "model.model.*.*.*", "model.*.*.*", 0 },
    { "model.model.*.*.*.*", "model.*.*.*.*", 0 },
    { "model.model.*.*.*.*.*", "model.*.*.*.*.*", 0 },
    { "model.model.*.*.*.*.*.*", "model.*.*.*.*.*.*", 0 },
    { "model.model.*.*.*.*.*.*.*", "model.*.*.*.*.*.*.*", 0 },
    { "model.model.*.*.*.*.*.*.*.*", "model.*.*.*.*.*.*.*.*", 0 },
};

extern const struct sam_name_map sam_yolov10_names;
const struct sam_name_map sam_yolov10_names = { rules, sizeof(rules) / sizeof(rules[0]) };
