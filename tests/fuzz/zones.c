// SPDX-License-Identifier: MIT
// Any text as zones; what is accepted is complete, and is drawn and counted within its map.
#include "zones/gstsamzonemap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { WIDTH = 70, HEIGHT = 9 };

static void check_zone(const GstSamZone *zone)
{
    fuzz_check(zone->name[0] && g_utf8_validate(zone->name, -1, NULL));
    fuzz_check(zone->is_line ? zone->num_points == 2 : zone->num_points >= 3);
    for (guint i = 0; i < zone->num_points; i++)
        fuzz_check(isfinite(zone->point[i][0]) && isfinite(zone->point[i][1]));
    fuzz_check(!zone->labels || zone->labels[0]);
    fuzz_check(zone->threshold == -1 || (zone->threshold > 0 && zone->threshold <= 1));
    fuzz_check(zone->dwell == -1 || zone->dwell >= 0);
}

// All pixels have the same label: a zone has no more of them than there are.
static void check_map(const GstSamZoneList *list)
{
    static uint8_t labels[WIDTH * HEIGHT];
    GstSamZoneMap *map = calloc(1, sizeof *map);

    memset(labels, 7, sizeof labels);
    fuzz_check(gst_sam_zone_map_draw(map, list, WIDTH, HEIGHT, 64, 48));
    gst_sam_zone_map_count(map, labels);
    fuzz_check(map->sum[7].area == WIDTH * HEIGHT);
    for (guint i = 0; i < list->num; i++)
        fuzz_check(map->inside[i][7] <= WIDTH * HEIGHT && !map->inside[i][8]);
    gst_sam_zone_map_clear(map);
    free(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    GstSamZoneList *list = gst_sam_zone_list_new();
    char *text = malloc(size + 1), *why;

    memcpy(text, data, size);
    text[size] = 0;
    why = gst_sam_zone_list_parse(list, text);
    fuzz_check(!why || (why[0] && g_utf8_validate(why, -1, NULL)));
    fuzz_check(list->num <= GST_SAM_MAX_ZONES);
    for (guint i = 0; i < list->num; i++)
        check_zone(&list->zone[i]);
    if (!why)
        check_map(list);
    g_free(why);
    gst_sam_zone_list_free(list);
    free(text);
    return 0;
}
