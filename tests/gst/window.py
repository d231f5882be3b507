#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A real window and a real mouse: the mask appears under the click, whatever stands between samtrack and the window.

usage: window.py PLUGIN_FOLDER MODEL OUT_FOLDER

An X server without a screen (Xvfb) shows two discs through videocrop and videoscale; xdotool moves the mouse and presses
its buttons and keys. What the window then shows is read back; the pictures stay in OUT_FOLDER. Skipped (77) where one of
the programs is missing.
"""

import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import children

WIDTH, HEIGHT = 640, 360  # of the frames
CROP_LEFT, CROP_TOP = 40, 20
SCALE = 1.5  # of what is left
ORANGE, BLUE = (210, 180, (240, 140, 20)), (450, 180, (30, 110, 230))  # discs: x, y, colour
RADIUS = 60
PATIENCE = 15  # s, until something must be seen; a busy machine is slow


def scene():
    """RGB bytes of two discs on a grey, slightly rough ground."""
    rows = []
    for y in range(HEIGHT):
        row = bytearray()
        for x in range(WIDTH):
            colour = (95, 95, 95)
            for cx, cy, own in (ORANGE, BLUE):
                colour = own if (x - cx) ** 2 + (y - cy) ** 2 < RADIUS**2 else colour
            rough = (x * 7 ^ y * 13) & 15
            row += bytes(min(255, c + rough) for c in colour)
        rows.append(bytes(row))
    return b"".join(rows)


def on_screen(x, y):
    """Where in the window a pixel of the frame is."""
    return round((x - CROP_LEFT) * SCALE), round((y - CROP_TOP) * SCALE)


class Desk:
    def __init__(self, plugins, model, folder):
        self.folder, self.programs, self.shots = folder, [], 0
        read, write = os.pipe()
        self.start(["Xvfb", "-displayfd", str(write), "-screen", "0", "1024x640x24"], pass_fds=[write])
        os.close(write)
        with os.fdopen(read) as display:
            number = display.readline().strip()
        if not number:
            raise SystemExit("FAILED: Xvfb gives no display")
        # A registry of its own: plugins of another build may be known by the same name.
        self.env = dict(os.environ, DISPLAY=":" + number, GST_PLUGIN_PATH=plugins, SAMTRACK_MODEL=model,
                        GST_REGISTRY=os.path.join(folder, "window.registry"))
        raw = os.path.join(folder, "window-scene.rgb")
        with open(raw, "wb") as file:
            file.write(scene())
        self.log = os.path.join(folder, "window.log")
        size = f"video/x-raw,width={round((WIDTH - CROP_LEFT) * SCALE)},height={round((HEIGHT - CROP_TOP) * SCALE)}"
        self.start(["gst-launch-1.0", "-m", "filesrc", "location=" + raw, f"blocksize={WIDTH * HEIGHT * 3}",
                    "!", "rawvideoparse", "format=rgb", f"width={WIDTH}", f"height={HEIGHT}", "framerate=15/1",
                    "!", "imagefreeze", "is-live=true", "!", "video/x-raw,framerate=15/1",
                    "!", "samtrack", "navigation=points-boxes", "!", "samoverlay", "opacity=0.8", "draw-ids=false", "draw-scores=false",
                    "!", "videocrop", f"left={CROP_LEFT}", f"top={CROP_TOP}", "!", "videoscale", "!", size,
                    "!", "videoconvert", "!", "ximagesink"], env=self.env, stdout=open(self.log, "w"),
                   stderr=subprocess.STDOUT)

    def start(self, command, **options):
        self.programs.append(subprocess.Popen(command, **options))

    def close(self):
        for program in reversed(self.programs):
            program.terminate()
            program.wait()

    def mouse(self, *words):
        subprocess.run(["xdotool", *map(str, words)], env=self.env, check=True)

    def shot(self):
        """RGB bytes of the screen, and how many of them a row has."""
        path = os.path.join(self.folder, "window-shot.rgb")
        subprocess.run(["gst-launch-1.0", "-q", "ximagesrc", "num-buffers=1", "show-pointer=false", "!", "videoconvert",
                        "!", "video/x-raw,format=RGB,width=1024,height=640", "!", "filesink", "location=" + path],
                       env=self.env, check=True, stdout=subprocess.DEVNULL)
        with open(path, "rb") as file:
            return file.read()

    def keep(self, name):
        subprocess.run(["gst-launch-1.0", "-q", "ximagesrc", "num-buffers=1", "!", "videoconvert", "!", "pngenc",
                        "!", "filesink", "location=" + os.path.join(self.folder, f"window-{name}.png")],
                       env=self.env, check=True, stdout=subprocess.DEVNULL)

    def looks(self, disc):
        """The colour on the window beside the middle of a disc."""
        x, y = on_screen(disc[0] - 25, disc[1] + 20)
        at = 3 * (y * 1024 + x)
        return tuple(self.shot()[at : at + 3])

    def messages(self):
        with open(self.log, errors="replace") as file:
            return re.findall(r"samtrack-object, id=\(guint64\)(\d+), state=\(string\)(\w+)", file.read())


def differs(a, b):
    return max(abs(x - y) for x, y in zip(a, b)) > 24


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"FAILED: {what}: not seen within {PATIENCE} s")
        time.sleep(0.1)
    print(f"ok: {what}")


def is_plain(desk, disc):
    return not differs(desk.looks(disc), disc[2])


def is_masked(desk, disc):
    return differs(desk.looks(disc), disc[2])


def play(desk):
    wait_for("the window shows the scene", lambda: is_plain(desk, ORANGE) and is_plain(desk, BLUE))
    desk.keep("1-before")
    desk.mouse("mousemove", *on_screen(*ORANGE[:2]), "click", 1)
    wait_for("a click puts a mask under the pointer", lambda: is_masked(desk, ORANGE))
    assert is_plain(desk, BLUE), "the other disc has a mask, too"
    desk.keep("2-click")
    first, last = (BLUE[0] - 70, BLUE[1] - 70), (BLUE[0] + 70, BLUE[1] + 70)
    desk.mouse("mousemove", *on_screen(*first), "mousedown", 1)
    desk.mouse("mousemove", *on_screen(BLUE[0], BLUE[1]), "mousemove", *on_screen(*last), "mouseup", 1)
    wait_for("a drag puts a mask into the box", lambda: is_masked(desk, BLUE))
    desk.keep("3-drag")
    desk.mouse("mousemove", *on_screen(*ORANGE[:2]), "key", "Delete")
    wait_for("Delete removes the object under the pointer", lambda: is_plain(desk, ORANGE))
    assert is_masked(desk, BLUE), "the other one is gone, too"
    desk.keep("4-delete")
    desk.mouse("key", "u")
    wait_for("u takes the only prompt back, and its object", lambda: is_plain(desk, BLUE))
    desk.mouse("mousemove", *on_screen(*BLUE[:2]), "click", 1)
    wait_for("a click starts anew", lambda: is_masked(desk, BLUE))
    desk.mouse("mousemove", *on_screen(ORANGE[0], ORANGE[1]), "click", 3)
    time.sleep(0.5)
    assert is_plain(desk, ORANGE), "a right click gave a mask"
    desk.mouse("mousemove", *on_screen(*BLUE[:2]), "click", 2)
    wait_for("a middle click removes it", lambda: is_plain(desk, BLUE))
    desk.mouse("mousemove", 950, 600, "click", 1)  # beside the window
    assert [m for m in desk.messages() if m[1] == "new"] == [("1", "new"), ("2", "new"), ("3", "new")], desk.messages()
    print("ok: three objects were announced, none more")


def main():
    children.end_with_test()
    missing = [p for p in ("Xvfb", "xdotool", "gst-launch-1.0") if not shutil.which(p)]
    missing += [e for e in ("ximagesink", "ximagesrc", "imagefreeze", "rawvideoparse", "videocrop")
                if not missing and subprocess.run(["gst-inspect-1.0", "--exists", e]).returncode]
    if missing:
        print("skipped: no", ", ".join(missing))
        return 77
    plugins, model, folder = sys.argv[1:4]
    desk = Desk(plugins, model, folder)
    try:
        play(desk)
    finally:
        desk.keep("last")
        desk.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
