/* SPDX-License-Identifier: MIT */
#include "outline.h"

#define MAX_CORNERS 256 /* as of samzones */

typedef struct {
    gdouble x, y;
} Point;

/* How many there are; -1: it is something else. */
static gint read_corners(const gchar *text, Point corner[MAX_CORNERS])
{
    gchar *end;
    gint n;

    for (n = 0; *text; n++) {
        gdouble at[2] = {0};
        gint i;

        for (i = 0; i < 2; i++) {
            at[i] = g_ascii_strtod(text, &end);
            /* written so that a NaN is refused */
            if (end == text || !(at[i] >= 0 && at[i] <= 1) || (!i && *end != ':'))
                return -1;
            text = i ? end : end + 1;
        }
        if ((*text && *text != ' ') || n == MAX_CORNERS)
            return -1;
        while (*text == ' ')
            text++;
        corner[n] = (Point) {at[0], at[1]};
    }
    return n;
}

/* Of which side of a line a point is: more than 0, less, or 0 on it. */
static gdouble get_side(Point a, Point b, Point p)
{
    return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

static gboolean is_between(Point a, Point b, Point p)
{
    return p.x >= MIN(a.x, b.x) && p.x <= MAX(a.x, b.x) && p.y >= MIN(a.y, b.y) &&
        p.y <= MAX(a.y, b.y);
}

static gboolean meet(Point a, Point b, Point c, Point d)
{
    const gdouble sc = get_side(a, b, c), sd = get_side(a, b, d);
    const gdouble sa = get_side(c, d, a), sb = get_side(c, d, b);

    if (sc * sd < 0 && sa * sb < 0)
        return TRUE;
    return (sc == 0 && is_between(a, b, c)) || (sd == 0 && is_between(a, b, d)) ||
        (sa == 0 && is_between(c, d, a)) || (sb == 0 && is_between(c, d, b));
}

/* Two lines that follow each other share a corner; the second one must not lead back. */
static gboolean leads_back(Point a, Point b, Point c)
{
    return get_side(a, b, c) == 0 && (b.x - a.x) * (c.x - b.x) + (b.y - a.y) * (c.y - b.y) <= 0;
}

static gboolean crosses_itself(const Point *corner, gint n)
{
    gint i, k;

    for (i = 0; i < n; i++) {
        if (leads_back(corner[i], corner[(i + 1) % n], corner[(i + 2) % n]))
            return TRUE;
        for (k = i + 2; k < n; k++)
            if ((k + 1) % n != i && meet(corner[i], corner[i + 1], corner[k], corner[(k + 1) % n]))
                return TRUE;
    }
    return FALSE;
}

gboolean outline_check(const gchar *text, gboolean closed, const gchar *name, gchar **why)
{
    Point corner[MAX_CORNERS];
    const gint n = read_corners(text, corner);

    if (n < 0)
        *why = g_strdup_printf("The points of '%s' are not at most %d times X:Y with spaces "
            "between them, each number from 0 to 1.", name, MAX_CORNERS);
    else if (closed && n > 2 && crosses_itself(corner, n))
        *why = g_strdup_printf("The lines of the zone '%s' cross each other: expected are corners "
            "in the order in which one meets them around it.", name);
    return !*why;
}
