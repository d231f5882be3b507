// SPDX-License-Identifier: MIT
#include "names.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_STARS = 8 };

struct span {
    const char *text;
    size_t bytes;
};

// Each * takes the longest run that ends before a dot or the literal behind the *; a literal
// character behind a * (as in "*_head") is found from the right.
static bool match(const char *pattern, const char *name, struct span *stars)
{
    int n = 0;
    while (*pattern) {
        if (*pattern != '*') {
            if (*pattern++ != *name++)
                return false;
            continue;
        }
        const size_t literal = strcspn(++pattern, ".*");
        size_t run = strcspn(name, ".");
        if (run <= literal)
            return false;
        run -= literal;
        if (memcmp(name + run, pattern, literal) != 0 || n == MAX_STARS)
            return false;
        stars[n++] = (struct span){ name, run };
        name += run;
    }
    return !*name;
}

static bool fill(const char *pattern, const struct span *stars, char *out, size_t size)
{
    size_t used = 0;
    for (; *pattern; pattern++) {
        struct span s = { pattern, 1 };
        if (*pattern == '*')
            s = *stars++;
        if (used + s.bytes >= size)
            return false;
        memcpy(out + used, s.text, s.bytes);
        used += s.bytes;
    }
    out[used] = 0;
    return true;
}

static const struct sam_name_rule *find(const struct sam_names *names, const char *stored,
                                        char *out, size_t size)
{
    struct span stars[MAX_STARS];
    for (const struct sam_name_map *const *m = names ? names->maps : NULL; m && *m; m++)
        for (const struct sam_name_rule *r = (*m)->rules; r < (*m)->rules + (*m)->count; r++)
            if (match(r->stored, stored, stars))
                return r->rows || fill(r->name, stars, out, size) ? r : NULL;
    return NULL;
}

const struct sam_name_rule *sam_names_find(const struct sam_names *names, const char *stored,
                                           char *out, size_t size)
{
    static const struct sam_name_rule shorter = { "", "", 0 };
    const struct sam_name_rule *rule = find(names, stored, out, size);

    for (const char *const *p = names ? names->prefixes : NULL; !rule && p && *p; p++) {
        const char *rest = stored + strlen(*p);
        if (strncmp(stored, *p, strlen(*p)) != 0 || !*rest || strlen(rest) >= size)
            continue;
        if ((rule = find(names, rest, out, size)))
            return rule;
        memcpy(out, rest, strlen(rest) + 1);
        return &shorter;
    }
    return rule;
}

void sam_name_of_row(const struct sam_name_rule *rule, int row, char *out, size_t size)
{
    const char *number = strstr(rule->name, "%d");
    snprintf(out, size, "%.*s%d%s", (int) (number - rule->name), rule->name, row, number + 2);
}
