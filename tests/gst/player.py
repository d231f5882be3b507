#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The window of file.sh and camera.sh: keys, the bar of time, clicks in a pause, and what is on the picture.

usage: player.py PLUGIN_FOLDER PROGRAM MODEL OUT_FOLDER

An X server without a screen (Xvfb) shows a film in which a white mark tells the number of each frame, beside a disc that does
not move; xdotool types and clicks. What must be seen is waited for; the pictures stay in OUT_FOLDER. Skipped (77) where one
of the programs is missing.
"""

import fcntl
import math
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import children

WIDTH, HEIGHT, FRAMES, FPS = 640, 360, 60, 15
GROUND, DISC, RADIUS = 95, (210, 180, (240, 140, 20)), 60
MARK_TOP, MARK_HEIGHT, MARK_WIDTH = 290, 12, 10  # of frame n from 10 n px on
BAR_ROW, ABOVE_KNOB = 340, 329  # the middle of the bar, and a row of it that has neither knob nor digits
SCREEN = 1024, 640
PATIENCE = 120  # s, until something must be seen; a busy machine is slow


def draw_ground():
    rows = []
    for y in range(HEIGHT):
        row = bytearray()
        for x in range(WIDTH):
            inside = (x - DISC[0]) ** 2 + (y - DISC[1]) ** 2 < RADIUS**2
            rough = (x * 7 ^ y * 13) & 15
            row += bytes(min(255, c + rough) for c in (DISC[2] if inside else (GROUND,) * 3))
        rows.append(row)
    return rows


def write_film(path):
    """RGB frames, one after the other."""
    rows = draw_ground()
    with open(path, "wb") as file:
        for n in range(FRAMES):
            for y, row in enumerate(rows):
                if MARK_TOP <= y < MARK_TOP + MARK_HEIGHT:
                    row = bytearray(row)
                    row[3 * MARK_WIDTH * n : 3 * MARK_WIDTH * (n + 1)] = b"\xff" * (3 * MARK_WIDTH)
                file.write(row)


class Desk:
    def __init__(self, plugins, program, model, folder):
        self.folder, self.program, self.running = folder, program, None
        read, write = os.pipe()
        size = "%dx%dx24" % SCREEN
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-noreset", "-screen", "0", size], pass_fds=[write],
                                       stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as display:
            number = display.readline().strip()
        if not number:
            raise SystemExit("FAILED: Xvfb gives no display")
        self.env = dict(os.environ, DISPLAY=":" + number, SAMTRACK_MODEL=model, GST_PLUGIN_PATH=plugins,
                        GST_REGISTRY=os.path.join(folder, "player.registry"))
        self.env.pop("WAYLAND_DISPLAY", None)
        self.make_films()

    def make_films(self):
        self.film = os.path.join(self.folder, "player.mp4")
        self.endless = os.path.join(self.folder, "player.mkv")
        self.pictures = os.path.join(self.folder, "player-pictures")
        raw = os.path.join(self.folder, "player.rgb")
        write_film(raw)
        shutil.rmtree(self.pictures, ignore_errors=True)
        os.mkdir(self.pictures)
        source = (f"filesrc location={raw} blocksize={WIDTH * HEIGHT * 3} ! rawvideoparse format=rgb width={WIDTH} height={HEIGHT} "
                  f"framerate={FPS}/1 ! videoconvert ! tee name=t")
        x264 = "queue ! x264enc key-int-max=15 bframes=2 quantizer=10 pass=quant speed-preset=ultrafast"
        subprocess.run(f"gst-launch-1.0 -q {source} t. ! {x264} ! mp4mux ! filesink location={self.film} "
                       f"t. ! {x264} ! matroskamux streamable=true ! filesink location={self.endless} "
                       f"t. ! queue ! jpegenc ! multifilesink location={self.pictures}/%03d.jpg", shell=True, check=True, env=self.env)
        os.remove(raw)

    def open(self, *options):
        self.running = subprocess.Popen([self.program, "--window", *options], env=self.env, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.type("mousemove", 320, 60)  # keys go where the pointer is

    def expect_end(self, what):
        said, told = self.running.communicate(timeout=PATIENCE)
        check(what, self.running.returncode == 0 and re.match(r"shown \d+, dropped \d+\n", said) and "CRITICAL" not in told,
              self.running.returncode, said, told)

    def close(self):
        self.server.terminate()
        self.server.wait()

    def type(self, *words):
        subprocess.run(["xdotool", *map(str, words)], env=self.env, check=True)

    def keys(self, *names):
        for name in names:
            self.type("key", name)

    def look(self):
        return Shot(self)

    def keep(self, name):
        subprocess.run(["gst-launch-1.0", "-q", "ximagesrc", "num-buffers=1", "show-pointer=false", "!", "videoconvert", "!", "pngenc",
                        "!", "filesink", "location=" + os.path.join(self.folder, f"player-{name}.png")], env=self.env, check=True,
                       stdout=subprocess.DEVNULL)


class Shot:
    """What is on the screen now."""

    def __init__(self, desk):
        path = os.path.join(desk.folder, "player-shot.rgb")
        subprocess.run(["gst-launch-1.0", "-q", "ximagesrc", "num-buffers=1", "show-pointer=false", "!", "videoconvert", "!",
                        "video/x-raw,format=RGB,width=%d,height=%d" % SCREEN, "!", "filesink", "location=" + path], env=desk.env,
                       check=True, stdout=subprocess.DEVNULL)
        with open(path, "rb") as file:
            self.pixels = file.read()

    def at(self, x, y):
        start = 3 * (y * SCREEN[0] + x)
        return tuple(self.pixels[start : start + 3])

    def number(self):
        """Of the frame that is shown; -1: none is."""
        row = MARK_TOP + MARK_HEIGHT // 2
        white = [x for x in range(WIDTH) if min(self.at(x, row)) > 200]
        return (white[0] + 2) // MARK_WIDTH if 6 <= len(white) <= 14 else -1

    def has_bar(self):
        return max(self.at(WIDTH // 2, ABOVE_KNOB)) < 70

    def knob(self):
        """Its middle, from where clicks are made on."""
        white = [x for x in range(100, 540) if min(self.at(x, BAR_ROW - 4)) > 150]
        return sum(white) / len(white) if white else -1

    def text_width(self):
        """Of the panel in the upper left corner, in whole 20 px."""
        x = 20
        while x < WIDTH and max(self.at(x, 9)) < 70:
            x += 20
        return x - 20

    def is_hinted(self):
        """Whether the disc has a white outline."""
        points = [(math.cos(a * math.pi / 12), math.sin(a * math.pi / 12)) for a in range(24)]
        return sum(any(min(self.at(round(DISC[0] + r * x), round(DISC[1] + r * y))) > 200 for r in range(RADIUS - 6, RADIUS + 7)) for x, y in points) > 18

    def is_masked(self):
        return max(abs(a - b) for a, b in zip(self.at(DISC[0] - 25, DISC[1] + 20), DISC[2])) > 24


def check(what, condition, *found):
    if not condition:
        raise SystemExit(f"FAILED: {what}: {found}")
    print("ok:", what)


def wait_for(desk, what, condition):
    end = time.monotonic() + PATIENCE
    while True:
        shot = desk.look()
        if condition(shot):
            print("ok:", what)
            return shot
        if time.monotonic() > end:
            desk.keep("failed")
            raise SystemExit(f"FAILED: {what}: not seen within {PATIENCE} s; frame {shot.number()}, text {shot.text_width()} px, "
                             f"bar {shot.has_bar()}, mask {shot.is_masked()}")


def wait_for_frame(desk, what, number):
    wait_for(desk, f"{what}: frame {number}", lambda shot: shot.number() == number)
    found = [desk.look().number() for _ in range(2)]
    check(f"{what}: it stays", found == [number] * 2, found)


def step(desk, five_seconds_back):
    """In a pause: exactly the frames that are asked for."""
    desk.keys("period", "Home")
    wait_for_frame(desk, "Home", 0)
    desk.keys("period", "period", "period")
    wait_for_frame(desk, "three steps", 3)
    desk.keys("comma")
    wait_for_frame(desk, "a step back", 2)
    desk.keys("comma", "comma", "comma", "comma")
    wait_for_frame(desk, "more steps back than there are frames", 0)
    desk.keys("End")
    wait_for_frame(desk, "End", FRAMES - 1)
    desk.keys("comma")
    wait_for_frame(desk, "a step back from the end", FRAMES - 2)
    desk.keys("period", "period", "period")
    wait_for_frame(desk, "steps beyond the end", FRAMES - 1)
    desk.keys("Left")
    wait_for_frame(desk, "5 s back", five_seconds_back)


def play(desk):
    desk.keys("space")
    wait_for(desk, "space plays on", lambda shot: shot.number() > 1)
    wait_for_frame(desk, "the end stays", FRAMES - 1)
    shot = wait_for(desk, "and says so", lambda shot: shot.has_bar() and shot.text_width() > 100)
    desk.keep("2-end")
    desk.keys("space")
    wait_for(desk, "space plays it again", lambda shot: 0 <= shot.number() < FRAMES - 1)


def use_bar(desk):
    """The frame and the knob are where the click was, to a frame."""
    numbers = []
    desk.keys("period")
    for x in (200, 400):
        desk.type("mousemove", x, BAR_ROW, "click", 1)
        shot = wait_for(desk, f"a click on the bar at {x} px", lambda shot: abs(shot.knob() - x + 4) < 8)
        numbers.append(shot.number())
        check("no object is begun", not shot.is_masked())
    check("the frames are as far apart as the clicks", 20 <= numbers[1] - numbers[0] <= 32, numbers)
    desk.type("mousemove", 400, BAR_ROW, "mousedown", 1, "mousemove", 300, BAR_ROW, "mousemove", 200, BAR_ROW - 200, "mouseup", 1)
    wait_for_frame(desk, "a drag ends where the button is released", numbers[0])
    for ms in (0, 15, 40, 90):  # whatever the seek of the press has come to: the release may meet its flush
        desk.keys("Home")
        wait_for_frame(desk, f"from the first frame, before a drag of {ms} ms", 0)
        desk.type("mousemove", 400, BAR_ROW, "mousedown", 1, "sleep", ms / 1000, "mousemove", 200, BAR_ROW, "mouseup", 1)
        wait_for_frame(desk, f"a drag of {ms} ms, too", numbers[0])


def click_in_a_pause(desk):
    """The mask is there on the frame that was clicked, and goes with it over seeks."""
    number = desk.look().number()
    desk.type("mousemove", *DISC[:2])
    wait_for(desk, "the mouse shows what a click would take", lambda shot: shot.is_hinted() and shot.number() == number)
    desk.keep("1-hover")
    desk.keys("Shift_L")
    wait_for(desk, "until a key is pressed", lambda shot: not shot.is_hinted())
    desk.type("mousemove", *DISC[:2], "click", 1)
    wait_for(desk, "a click in a pause is answered", lambda shot: shot.is_masked() and shot.text_width() > 300)
    wait_for_frame(desk, "on the frame that is shown", number)
    desk.keep("1-click")
    desk.keys("Home")
    wait_for(desk, "it is on the first frame, too", lambda shot: shot.number() == 0 and shot.is_masked())
    desk.keys("End")
    wait_for(desk, "and on the last one", lambda shot: shot.number() == FRAMES - 1 and shot.is_masked())
    desk.keys("c")
    wait_for(desk, "c removes it", lambda shot: shot.number() == FRAMES - 1 and not shot.is_masked())


def hurry(desk):
    """Hundreds of keys, faster than any tracker steps."""
    for key in ("Right", "Left", "comma", "period", "space", "End", "question"):
        desk.type("key", "--delay", 1, "--repeat", 200, key)
    desk.keys("period", "Home")
    wait_for_frame(desk, "after 1400 keys, Home", 0)
    desk.type("key", "--delay", 1, "End", "Home", "Left", "q")
    desk.expect_end("closed in the middle of a seek")


def use_file(desk):
    desk.open("--video=" + desk.film)
    wait_for(desk, "the window shows the film", lambda shot: shot.number() >= 0)
    step(desk, 0)
    for part in (play, use_bar, click_in_a_pause, hurry):
        part(desk)


def fade(desk):
    """The bar goes when nobody moves, and comes with a move. The keys are listed on demand."""
    desk.open("--video=" + desk.pictures, "--fps=2")
    wait_for(desk, "pictures: the bar is there", lambda shot: shot.has_bar())
    wait_for(desk, "it fades", lambda shot: shot.number() >= 0 and not shot.has_bar())
    desk.type("mousemove_relative", 5, 5)
    wait_for(desk, "it is there again", lambda shot: shot.has_bar())
    desk.keys("F1")
    shot = wait_for(desk, "F1 lists the keys", lambda shot: max(shot.at(370, 200)) < 70 and shot.text_width() > 300)
    desk.keep("3-keys")
    desk.keys("F1", "period")
    step(desk, FRAMES - 1 - 5 * 2)
    desk.running.terminate()
    desk.expect_end("a signal closes it")


def use_endless(desk):
    """A film through a pipe has neither a length nor another place to go to: no track to click on, and a sentence instead of a seek."""
    pipe = os.path.join(desk.folder, "player-pipe")
    if os.path.exists(pipe):
        os.remove(pipe)
    os.mkfifo(pipe)
    fd = os.open(pipe, os.O_RDWR)  # all of it is in the pipe, which GStreamer opens twice
    fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 1 << 20)
    with open(desk.endless, "rb") as film:
        data = film.read()
    check("the pipe takes the film", os.write(fd, data) == len(data))
    desk.open("--video=" + pipe)
    wait_for(desk, "no duration: the window shows the film", lambda shot: shot.number() >= 0)
    os.close(fd)
    desk.keys("period")
    shot = wait_for(desk, "no duration: the bar has the time alone", lambda shot: max(shot.at(20, ABOVE_KNOB)) < 70)
    check("and no track", not shot.has_bar())
    desk.keys("End")
    wait_for(desk, "End says that it is not known", lambda shot: shot.text_width() > 200)
    desk.keys("F1", "F1", "Home")
    wait_for(desk, "Home says that it cannot", lambda shot: shot.text_width() > 300)
    desk.keys("Right", "Left", "Home", "comma", "space")
    wait_for_frame(desk, "it can be played to its end", FRAMES - 1)
    desk.keys("Left")
    wait_for_frame(desk, "and stays there", FRAMES - 1)
    desk.keys("q")
    desk.expect_end("q closes it")


def use_camera(desk):
    """The same texts, and neither bar nor pause."""
    desk.open(f"--source=videotestsrc is-live=true pattern=solid-color foreground-color=0xff20c040 ! "
              f"video/x-raw,width={WIDTH},height={HEIGHT},framerate=10/1")
    green = lambda shot, y: max(abs(a - b) for a, b in zip(shot.at(WIDTH // 2, y), (0x20, 0xC0, 0x40))) < 12
    wait_for(desk, "camera: the window shows it, with a text", lambda shot: green(shot, 200) and shot.text_width() > 100)
    desk.keys("space", "question")
    shot = wait_for(desk, "camera: ? lists the keys", lambda shot: max(shot.at(370, 100)) < 70)
    check("camera: no bar", green(shot, BAR_ROW) and green(shot, ABOVE_KNOB))
    desk.keep("4-camera")
    desk.keys("question")
    wait_for(desk, "camera: the list goes", lambda shot: green(shot, 120))
    desk.keys("q")
    desk.expect_end("camera: q closes it")


def main():
    children.end_with_test()
    missing = [p for p in ("Xvfb", "xdotool", "gst-launch-1.0") if not shutil.which(p)]
    missing += [e for e in ("ximagesink", "ximagesrc", "rawvideoparse", "x264enc", "mp4mux", "matroskamux", "jpegenc")
                if not missing and subprocess.run(["gst-inspect-1.0", "--exists", e]).returncode]
    if missing:
        print("skipped: no", ", ".join(missing))
        return 77
    plugins, program, model, folder = sys.argv[1:5]
    desk = Desk(plugins, program, model, folder)
    try:
        for part in (use_file, fade, use_endless, use_camera):
            start = time.monotonic()
            part(desk)
            print(f"-- {part.__name__}: {time.monotonic() - start:.1f} s")
    finally:
        desk.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
