// SPDX-License-Identifier: MIT
#include "samtrack/seed.h"

#define NAME(name, text) text,

const char *sam_seed_kind_name(enum sam_seed_kind kind)
{
    static const char *const names[] = { SAM_SEED_KINDS(NAME) };

    return (unsigned) kind < SAM_SEED_NUM_KINDS ? names[kind] : "?";
}

const char *sam_seed_reason_name(enum sam_seed_reason reason)
{
    static const char *const names[] = { SAM_SEED_REASONS(NAME) };

    return (unsigned) reason < SAM_SEED_NUM_REASONS ? names[reason] : "?";
}
