#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What samzones tells of the masks of a model on the demo's scene, against the same worked out from the exported masks by other
means: pixel by pixel, with the crossings above a pixel instead of those left of it.

usage: zones.py PLUGIN_FOLDER MODEL OUT_FOLDER
"""

import json
import os
import subprocess
import sys
import tempfile

FRAMES = 60
WIDTH, HEIGHT = 160, 96
ENTER, LEAVE, HALF = 0.5, 0.4, 0.05
ZONES = {
    "star": [(80, 0), (110, 96), (30, 36), (130, 36), (50, 96)],  # crosses itself
    "part": [(70.5, 20), (130, 20), (130, 96), (70.5, 96)],
}
LINE = [(45, 0), (45, 96)]
PROMPTS = "point,x=73,y=71,label=ball;point,x=47,y=25"


def decode(counts):
    """The runs of COCO's text: others and the object in turn, column by column."""
    runs, at = [], 0
    while at < len(counts):
        value, shift, more = 0, 0, True
        while more:
            bits = ord(counts[at]) - 48
            value |= (bits & 31) << shift
            more, shift, at = bits & 32, shift + 5, at + 1
            if not more and bits & 16:
                value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
    return runs


def get_pixels(mask):
    """The pixels' centres."""
    height, pixels, start = mask["size"][0], [], 0
    for i, run in enumerate(decode(mask["counts"])):
        if i % 2:
            pixels += [(p // height + 0.5, p % height + 0.5) for p in range(start, start + run)]
        start += run
    return pixels


def is_inside(points, x, y):
    inside = False
    for (x0, y0), (x1, y1) in zip(points, points[1:] + points[:1]):
        if min(x0, x1) <= x < max(x0, x1) and y0 + (x - x0) * (y1 - y0) / (x1 - x0) < y:
            inside = not inside
    return inside


def work_out(lines):
    """(frame, kind, zone, id, reason or direction, share) of all that happens."""
    events, inside, side = [], {}, {}
    for line in lines:
        there = {o["id"]: o for o in line["objects"]}
        for number, o in there.items():
            pixels = get_pixels(o["mask"]) if o["mask"] else []
            for zone, points in ZONES.items():
                was = inside.get((zone, number))
                if o["state"] == "lost":
                    if was:
                        events.append((line["frame"], "left", zone, number, "lost", None))
                    inside.pop((zone, number), None)
                elif pixels:
                    share = sum(is_inside(points, x, y) for x, y in pixels) / len(pixels)
                    now = share >= ENTER or bool(was and share > 0 and share >= LEAVE)
                    if now != bool(was):
                        events.append((line["frame"], "entered" if now else "left", zone, number,
                                       "moved" if was is not None else "appeared", share))
                    inside[zone, number] = now
            if o["state"] == "lost":
                side.pop(number, None)
            elif pixels:
                # the line runs down: its right is where x is less
                share = sum(x < LINE[0][0] for x, _ in pixels) / len(pixels)
                was = side.get(number)
                side[number] = share > 0.5 if was is None else share >= 0.5 + HALF or bool(was and share > 0.5 - HALF)
                if was is not None and was != side[number]:
                    events.append((line["frame"], "crossed", "gate", number, "left-to-right" if side[number] else
                                   "right-to-left", share))
    return events


def read_told(lines):
    return [(line["frame"], e["kind"], e["zone"], e["id"], e.get("reason") or e["direction"], e.get("share"))
            for line in lines for e in line.get("zone_events", [])]


def get_difference(told, expected):
    if [e[:5] for e in told] != [e[:5] for e in expected]:
        return f"told\n{told}\nexpected\n{expected}"
    wrong = [(a, b) for a, b in zip(told, expected) if a[5] is None or b[5] is None or abs(a[5] - b[5]) > 1e-9]
    return f"shares differ: {wrong}" if [w for w in wrong if w[0][5] != w[1][5]] else None


def main(plugins, model, folder):
    env = dict(os.environ, GST_PLUGIN_PATH=plugins, SAMTRACK_MODEL=model, GST_REGISTRY=os.path.join(folder, "zones.registry"))
    zones = ";".join(f"zone,name={name},points=" + " ".join(f"{x}:{y}" for x, y in points) for name, points in ZONES.items())
    zones += ";line,name=gate,points=" + " ".join(f"{x}:{y}" for x, y in LINE)
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "a.jsonl")
        done = subprocess.run(
            ["gst-launch-1.0", "-m", *f"samscene num-buffers={FRAMES} ! video/x-raw,width={WIDTH},height={HEIGHT},framerate=10/1 ! "
             "samtrack".split(), f"initial-prompt={PROMPTS}", "!", "samzones", f"zones={zones}", "!", "samexport", f"location={path}",
             "!", "fakesink"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=250, check=False)
        if done.returncode:
            print(done.stdout)
            return 1
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    told = read_told(lines)
    messages = done.stdout.count("samzones-event,")
    ends = done.stdout.count("reason=(string)end")
    kinds = {e[1] for e in told}
    failures = [f for f in (
        get_difference(told, work_out(lines)),
        None if len(lines) == FRAMES else f"{len(lines)} lines",
        None if kinds >= {"entered", "left", "crossed"} else f"only {kinds} were told",
        None if messages == len(told) + ends else f"{messages} messages, {len(told)} events in lines, {ends} at the end",
        None if "samzones-stats" in done.stdout else "no samzones-stats") if f]
    print("\n".join(failures) or f"{len(told)} events as worked out: {told}")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
