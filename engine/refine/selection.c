// SPDX-License-Identifier: MIT
// Memory selection: frames that an object is absent from are not remembered, and do not count as
// frames of its past, so one that returns finds what was known of it. docs/MODEL.md has more.
#include "refine.h"

static bool is_on(const struct sam_config *c)
{
    return c->selection == SAM_SELECT_PRESENT;
}

const struct sam_refiner sam_refine_selection = {
    .is_on = is_on, .forgets_absent = true,
};
