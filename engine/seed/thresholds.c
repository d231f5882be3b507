// SPDX-License-Identifier: MIT
#include "samtrack/seed.h"

#include <stddef.h>
#include <string.h>

#define IS_INT(type) _Generic((type) 0, int: 1, default: 0)
#define SETTING(type, name, default_value, least, most, unit, meaning)                         \
    { #name, unit, meaning, IS_INT(type), default_value, least, most,                          \
      offsetof(struct sam_seed_settings, name) },

static const struct sam_seed_setting list[] = { SAM_SEED_SETTINGS(SETTING) };

void sam_seed_defaults(struct sam_seed_settings *settings, size_t size)
{
#define DEFAULT(type, name, default_value, least, most, unit, meaning)                         \
    .name = (type) default_value,

    if (size == sizeof(*settings))
        *settings = (struct sam_seed_settings) { .size = size, SAM_SEED_SETTINGS(DEFAULT) };
    else
        settings->size = 0;
}

const struct sam_seed_setting *sam_seed_setting(int index)
{
    return index >= 0 && index < (int) (sizeof(list) / sizeof(list[0])) ? &list[index] : NULL;
}
