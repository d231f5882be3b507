#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The scripts of pipelines/ as people call them: with every number of arguments, with what is wrong, and ended early.

usage: pipelines.py SOURCES BUILD MODEL

They end with the truth: status 0 and a file under its name only when all of it was tracked. Set-up and build are left
out; windows are shown by an X server without a screen. Skipped (77) where a program is missing.
"""

import contextlib
import fcntl
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import children

CENTRE = "point,x=0.5,y=0.5,normalized=true"
FRAMES = 24
SIZE = "video/x-raw,width=160,height=96,framerate=10/1"
PATIENCE = 100  # s


class Place:
    """A folder with the scripts, whose set-up and build do nothing, and a generated clip of few frames."""

    def __init__(self, folder, sources, build, model):
        self.folder, self.sources, self.build = pathlib.Path(folder), sources, build
        root = self.folder / "root"
        (root / "pipelines").mkdir(parents=True)
        (root / "tools").mkdir()
        for script in (sources / "pipelines").glob("*.sh"):
            (root / "pipelines" / script.name).symlink_to(script)
        clip = root / "pipelines" / "clip.sh"
        clip.unlink()
        clip.write_text("#!/bin/sh\necho 'samscene num-buffers=6 ! video/x-raw,width=640,height=360,framerate=30/1'\n")
        for name in ("setup.sh", "build.sh"):
            (root / "tools" / name).write_text("#!/bin/sh\n")
            (root / "tools" / name).chmod(0o755)
        clip.chmod(0o755)
        (root / "build").symlink_to(build)
        self.root, self.work = root, self.folder / "work"
        self.work.mkdir()
        self.env = dict(os.environ, SAMTRACK_MODEL=str(model), GST_PLUGIN_PATH=str(build / "gst"),
                        GST_REGISTRY=str(build / "tests" / "gst" / "pipelines.registry"))
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "SAMTRACK_CAMERA"):
            self.env.pop(name, None)

    def launch(self, text):
        subprocess.run(f"gst-launch-1.0 -q {text}", shell=True, check=True, cwd=self.work, env=self.env)

    def start(self, script, *arguments, limit=None, **variables):
        def restrict():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        root = self.sources if script == "clip" else self.root
        command = [root / "pipelines" / (script + ".sh"), *arguments]
        return subprocess.Popen(command, cwd=self.work, env=dict(self.env, **variables), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, preexec_fn=restrict if limit else None)

    def track(self, video, *options):
        """The program that the scripts run."""
        return subprocess.Popen([self.build / "pipelines/run/samtrack-run", f"--video={video}", "--output=o.mp4", f"--prompt={CENTRE}",
                                 *options], cwd=self.work, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, script, *arguments, **options):
        program = self.start(script, *arguments, **options)
        program.said, program.told = program.communicate(timeout=PATIENCE)
        return program

    def names(self):
        return sorted(p.name for p in self.work.iterdir())

    def forget(self, *names):
        for name in names:
            path = self.work / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def count(self, video):
        """Frames of a video that can be decoded."""
        done = subprocess.run(["gst-launch-1.0", "-v", "filesrc", f"location={self.work / video}", "!", "decodebin", "!",
                               "identity", "silent=false", "!", "fakesink"], env=self.env, capture_output=True, text=True)
        return len(re.findall(r"identity0.*chain", done.stdout)) if done.returncode == 0 else -1

    def pixels(self, picture):
        """Width, height and RGB bytes of a PNG or of the first frame of a video."""
        raw = self.folder / "raw"
        text = subprocess.run(f"gst-launch-1.0 -v filesrc location={self.work / picture} ! decodebin ! videoconvert ! "
                              f"video/x-raw,format=RGBA ! identity eos-after=2 ! filesink location={raw}", shell=True,
                              env=self.env, capture_output=True, text=True).stdout
        width, height = (int(re.search(rf"{what}=\(int\)(\d+)", text)[1]) for what in ("width", "height"))
        return width, height, raw.read_bytes()


def expect(what, program, status, says="", prints=""):
    if program.returncode != status or says not in program.told or not re.search(prints, program.said):
        raise SystemExit(f"FAILED: {what}: status {program.returncode}, expected {status}, '{says}', '{prints}':\n"
                         f"{program.said}\n{program.told}")
    print("ok:", what)


def check(what, condition, *found):
    if not condition:
        raise SystemExit(f"FAILED: {what}: {found}")
    print("ok:", what)


def make_inputs(place):
    source = f"samscene num-buffers={FRAMES} ! {SIZE} ! videoconvert"
    x264 = "x264enc key-int-max=6 bframes=0"
    place.launch(f"{source} ! {x264} ! mp4mux faststart=true ! filesink location='zwei Wörter.mp4'")
    shutil.copy(place.work / "zwei Wörter.mp4", place.work / "v.mp4")
    place.launch(f"{source} ! {x264} ! matroskamux ! filesink location=v.mkv")
    place.launch(f"{source} ! jpegenc ! avimux ! filesink location=v.avi")
    place.launch(f"{source} ! {x264} ! mpegtsmux ! filesink location=v.ts")
    place.launch(f"{source} ! {x264} ! h264parse ! mpegpsmux ! filesink location=v.mpg")
    place.launch(f"{source} ! video/x-raw,format=I420 ! y4menc ! filesink location=v.y4m")
    place.launch(f"matroskamux streamable=true name=mux ! filesink location=heard.mkv {source} ! {x264} ! mux. "
                 "audiotestsrc num-buffers=90 ! avenc_aac ! mux.")
    place.launch("audiotestsrc num-buffers=9 ! wavenc ! filesink location=sound.wav")
    # Longer than a test waits, and of frames that are quickly drawn.
    place.launch(f"videotestsrc pattern=ball num-buffers=3000 ! {SIZE} ! {x264} speed-preset=ultrafast ! mp4mux ! "
                 "filesink location=long.mp4")
    (place.work / "pictures").mkdir()
    place.launch(f"samscene num-buffers=12 ! {SIZE} ! videoconvert ! jpegenc ! multifilesink location=pictures/%d.jpg")
    (place.work / "text.mp4").write_text("no video\n")
    for name in ("v.mp4", "v.mkv", "v.avi", "v.ts", "v.mpg"):
        whole = (place.work / name).read_bytes()
        (place.work / ("cut-" + name)).write_bytes(whole[: len(whole) // 2 // 188 * 188 + 100])
    turn(place)


def turn(place):
    """A clip of a phone that was held upright: of a frame that is red on the left, shown it is red above."""
    place.launch("videotestsrc pattern=solid-color foreground-color=0xff0000ff num-buffers=8 ! video/x-raw,width=160,height=96 ! "
                 "videobox right=-80 left=80 ! videoconvert ! x264enc ! mp4mux ! filesink location=turned.mp4")
    path = place.work / "turned.mp4"
    data = bytearray(path.read_bytes())
    at = data.index(b"tkhd") + 44  # the matrix of version 0
    one = 1 << 16
    data[at:at + 36] = struct.pack(">9i", 0, one, 0, -one, 0, 0, 0, 0, 1 << 30)
    path.write_bytes(data)


def call_with_wrong_arguments(place):
    for script, least, most in (("demo", 0, 2), ("detect", 2, 2), ("file", 1, 3), ("camera", 0, 3), ("label-maps", 3, 4), ("clip", 0, 0)):
        expect(f"{script}.sh --help", place.run(script, "--help"), 0, prints="^usage: ")
        expect(f"{script}.sh refuses --bogus", place.run(script, "--bogus"), 2, "there is no option '--bogus'; usage: ")
        expect(f"{script}.sh refuses -x", place.run(script, "-x"), 2, "there is no option '-x'; usage: ")
        for n in range(least):
            expect(f"{script}.sh, {n} arguments", place.run(script, *["v.mp4"] * n), 2, "an argument is missing; usage: ")
        expect(f"{script}.sh, {most + 1} arguments", place.run(script, *["v.mp4"] * (most + 1)), 2, "an argument too many, 'v.mp4'")
    for arguments in (["--output"], ["--output="], ["v.mp4", "--output"]):
        expect(f"demo.sh {arguments}", place.run("demo", *arguments), 2, "--output needs a value")
    for wrong, says in ((["nowhere.mp4"], "there is no video 'nowhere.mp4'"), (["no/%05d.jpg"], "there are no pictures"),
                        (["/dev/null"], "neither a file nor a folder"), (["v.mp4", CENTRE, "--output", "no/o.mp4"], "no folder 'no'"),
                        (["v.mp4", CENTRE, "--output", "pictures"], "it is a folder"), (["v.mp4", "--output=v.mp4"], "are the same"),
                        (["v.mp4", "--output=/dev/null"], "not a regular file"), (["--fps=0", "pictures"], "--fps is 0"),
                        (["v.mp4", "--fps", "many"], "many")):
        done = place.run("demo", *wrong)
        check(f"demo.sh {wrong}: {says}", done.returncode in (1, 2) and says in done.told, done.returncode, done.told)
    expect("detect.sh without a detector", place.run("detect", "v.mp4", "nowhere"), 1, "cannot read the detector 'nowhere'")
    expect("label-maps.sh into a used folder", place.run("label-maps", "v.mp4", "pictures", CENTRE), 1, "expected a new or an empty folder")


def write_files(place):
    before = place.names()
    walker = "point,x=480,y=190"
    for n, objects in ((0, 3), (1, 3), (2, 1)):
        done = place.run("demo", *["", walker][:n])
        expect(f"demo.sh, generated clip, {n} arguments", done, 0, prints=rf"^frames 6, objects {objects}, frames per second [0-9.]+\n"
               r"(object \d, \w+, mean J 0\.\d\d\n)+wrote samtrack-demo.mp4\n$")
    check("it can be played", place.count("samtrack-demo.mp4") == 6)
    place.forget("samtrack-demo.mp4")
    for arguments in (["zwei Wörter.mp4", "--output", "ö ü.mp4"], ["--output=ö ü.mp4", "zwei Wörter.mp4", CENTRE],
                      ["zwei Wörter.mp4", "--output", "ö ü.mp4", CENTRE]):
        for locale in ("C", "C.UTF-8"):
            expect(f"demo.sh {arguments}, {locale}", place.run("demo", *arguments, LC_ALL=locale), 0,
                   prints=rf"frames {FRAMES}, objects 1.*\nwrote ö ü.mp4\n")
            check("it can be played", place.count("ö ü.mp4") == FRAMES)
            place.forget("ö ü.mp4")
    for video in ("v.ts", "v.mpg"):
        expect(f"demo.sh {video}", place.run("demo", video), 0, prints="wrote samtrack-demo.mp4")
        place.forget("samtrack-demo.mp4")
    for arguments in (["pictures"], ["pictures/%05d.jpg", "--fps", "10"], ["pictures/%d.jpg"]):
        expect(f"demo.sh {arguments}", place.run("demo", *arguments), 0, prints="frames 12, objects 1")
        place.forget("samtrack-demo.mp4")
    strange = "a \"b\" !c'$x\\y %d\nz.mp4"
    shutil.copy(place.work / "v.mp4", place.work / strange)
    expect("demo.sh with a strange name", place.run("demo", "--output", "o.mp4", "--", strange), 0, prints=f"frames {FRAMES}")
    place.forget(strange, "o.mp4")
    (place.work / "link.mp4").symlink_to("target.mp4")
    (place.work / "target.mp4").write_text("old")
    expect("demo.sh into a link", place.run("demo", "pictures", "--output", "link.mp4"), 0, prints="target.mp4")
    check("the link stays", (place.work / "link.mp4").is_symlink() and place.count("target.mp4") == 12)
    place.forget("link.mp4", "target.mp4")
    for n in (3, 4):
        arguments = ["v.mp4", "maps", CENTRE, place.env["SAMTRACK_MODEL"]][:n]
        expect(f"label-maps.sh, {n} arguments", place.run("label-maps", *arguments), 0, prints=f"wrote {FRAMES} label maps to maps")
        check("a map per frame", len(list((place.work / "maps").iterdir())) == FRAMES)
        place.forget("maps")
    check("nothing else is left", place.names() == before, place.names())


def detect(place):
    detector = place.sources / "tests" / "golden" / "yolov10" / "model.safetensors"
    done = place.run("detect", "v.mp4", detector, "--output", "o.mp4")
    expect("detect.sh", done, 0, prints=rf"^frames {FRAMES}, frames per second [0-9.]+\n(found \d+ x .*\n)*wrote o.mp4\n$")
    place.forget("o.mp4")
    expect("detect.sh with what is no detector", place.run("detect", "v.mp4", "text.mp4", "--output", "o.mp4"), 1, "text.mp4")


def fail(place):
    """What cannot be tracked, or not all of it: never status 0, never the final name."""
    before = place.names()
    for prompt, says in (("bx,x=1", "must begin with point"), ("point,x=1000,y=5", "outside"), ("point,x=0.5,y=0.5", "normalized=true"),
                         ("point,y=3", "'x' is missing"), ("point,x=9,y=9,running-time=9000000000", "the stream ends before")):
        expect(f"demo.sh with '{prompt}'", place.run("demo", "v.mp4", prompt), 1, says)
        place.names() == before or place.forget("samtrack-demo.partial.mp4")
        expect(f"label-maps.sh with '{prompt}'", place.run("label-maps", "v.mp4", "maps", prompt), 1, says)
        place.names() == before or place.forget("maps.partial")
        check("nothing was written", place.names() == before, place.names())
    for video, says in (("text.mp4", "the video cannot be read: Could not determine type"), ("sound.wav", "no video")):
        expect(f"demo.sh {video}", place.run("demo", video), 1, says)
        check("nothing was written", place.names() == before, place.names())
    for video in ("cut-v.mp4", "cut-v.mkv", "cut-v.avi", "cut-v.ts", "cut-v.mpg"):
        expect(f"demo.sh {video}", place.run("demo", video), 1, "truncated")
        check("a part is named so", 0 < place.count("samtrack-demo.partial.mp4") < FRAMES)
        place.forget("samtrack-demo.partial.mp4")
        check("and nothing else is left", place.names() == before, place.names())
    stall(place)
    shutil.copytree(place.work / "pictures", place.work / "broken")
    (place.work / "broken" / "7.jpg").write_bytes(b"no JPEG")
    expect("demo.sh with a broken picture", place.run("demo", "broken"), 1, "7.jpg")
    (place.work / "broken" / "7.jpg").rename(place.work / "broken" / "7.png")
    expect("demo.sh with pictures of two kinds", place.run("demo", "broken"), 1, "pictures of one kind")
    place.forget("broken", *(n for n in place.names() if "partial" in n))
    for script, arguments in (("demo", ["v.mp4", CENTRE, "--output", "o.mp4"]), ("label-maps", ["v.mp4", "o", CENTRE])):
        expect(f"{script}.sh without room", place.run(script, *arguments, limit=60), 1, "cannot write 'o")
        check("nothing was written", place.names() == before, place.names())


@contextlib.contextmanager
def fill_pipe(pipe, data):
    """All of it is in the pipe before anybody reads: GStreamer's readers fail where they get a part of a frame."""
    fd = os.open(pipe, os.O_RDWR)
    fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 1 << 20)
    check("the pipe takes it", os.write(fd, data) == len(data))
    yield
    os.close(fd)


def stall(place):
    """A file that gives neither more frames nor an end, by itself or when a signal comes; one that cannot even be opened."""
    before = place.names()
    pipe = place.work / "pipe"
    os.mkfifo(pipe)
    with fill_pipe(pipe, (place.work / "v.y4m").read_bytes()):
        program = place.track(pipe, "--patience=5")
        end_blocked(program, "for 5 s there was no frame and no end", None, "a video without an end", 1, "'o.partial.mp4' has ")
    check("a part is named so", place.count("o.partial.mp4") > 0)
    with fill_pipe(pipe, (place.work / "heard.mkv").read_bytes()[:-1000]):
        program = place.track(pipe)
        end_blocked(program, ": tracking: ", signal.SIGTERM, "a video whose writer has stopped", 143, "'o.partial.mp4' has ")
    check("a part is named so", place.count("o.partial.mp4") > 0)
    place.forget("o.partial.mp4")
    program = place.track(pipe)
    end_blocked(program, "loading the model", signal.SIGINT, "a video that nobody writes", 130, "'o.mp4' was not written")
    place.forget("pipe")
    check("and nothing else is left", place.names() == before, place.names())


def end_blocked(program, line, number, what, status, says):
    while line not in program.stderr.readline():
        check("it runs", program.poll() is None)
    if number:
        program.send_signal(number)
    program.said, program.told = program.communicate(timeout=20)
    expect(what, program, status, says, "^$")


def tell_nobody(place):
    """What is printed finds no room, or no reader: the file is written all the same, and the status tells."""
    program = place.start("demo", "long.mp4", CENTRE, "--output=o.mp4")
    while ": tracking: " not in program.stderr.readline():
        check("it runs", program.poll() is None)
    program.stderr.close()
    program.terminate()
    check("without a reader of what it tells it ends as with one", program.wait(PATIENCE) == 143, program.returncode)
    check("the part has its name", place.count("o.partial.mp4") > 0, place.names())
    place.forget("o.partial.mp4")
    with open("/dev/full", "wb") as full:
        program = subprocess.run([place.root / "pipelines/demo.sh", "pictures", "--output=o.mp4"], cwd=place.work, env=place.env,
                                 stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    check("what is printed finds no room", program.returncode == 1, program.returncode)
    check("which it tells", "demo.sh: cannot write to standard output: No space left" in program.stderr, program.stderr)
    check("the file is whole", place.count("o.mp4") == 12)
    place.forget("o.mp4")


def interrupt(place):
    before = place.names()
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        for script, arguments, part in (("demo", ["long.mp4", CENTRE, "--output=o.mp4"], "o.partial.mp4"),
                                        ("label-maps", ["long.mp4", "o", CENTRE], "o.partial")):
            program = place.start(script, *arguments)
            while ": tracking: " not in program.stderr.readline():
                check("it runs", program.poll() is None)
            program.send_signal(number)
            program.said, program.told = program.communicate(timeout=PATIENCE)
            expect(f"{script}.sh, {number.name}", program, status, f"'{part}' has ", "^$")
            check("what there is is named a part", place.names() == sorted(before + [part]), place.names())
            frames = int(re.search(r"has (\d+) frames", program.told)[1])
            found = place.count(part) if script == "demo" else len(list((place.work / part).iterdir()))
            check("and all of it can be read", found == frames > 0, found, frames)
            place.forget(part)
    # Before the first frame.
    for pause in (0.1, 0.4):
        program = place.start("demo", "long.mp4", CENTRE, "--output=o.mp4")
        time.sleep(pause)
        program.send_signal(signal.SIGTERM)
        program.said, program.told = program.communicate(timeout=PATIENCE / 4)
        check("an early signal ends it", program.returncode in (143, -signal.SIGTERM), program.returncode)
        for name in place.names():
            name in before or place.forget(name)


def show_turned(place):
    """The video of a phone: prompts are in the pixels that are seen, and the output is upright."""
    expect("demo.sh with a turned video", place.run("demo", "turned.mp4", "point,x=48,y=40", "--output", "o.mp4"), 0)
    width, height, pixels = place.pixels("o.mp4")
    check("it is upright", (width, height) == (96, 160), width, height)
    red = [pixels[4 * (row * width + 90)] for row in (60, 150)]
    expect("label-maps.sh with a turned video", place.run("label-maps", "turned.mp4", "o", "point,x=48,y=130"), 0)
    check("its maps are upright", place.pixels("o/00000.png")[:2] == (96, 160))
    check("what is red on the left is above", red[0] > red[1] + 60, red)
    place.forget("o", "o.mp4")


class Display:
    def __enter__(self):
        read, write = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-noreset", "-screen", "0", "640x480x24"], pass_fds=[write],
                                       stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as display:
            self.name = ":" + display.readline().strip()
        return self

    def __exit__(self, *error):
        self.server.terminate()
        self.server.wait()


def show(place):
    for script, arguments in (("file", ["v.mp4"]), ("camera", [])):
        expect(f"{script}.sh without a display", place.run(script, *arguments, SAMTRACK_CAMERA="videotestsrc"), 1, "there is no display")
    expect("camera.sh without a camera", place.run("camera", "/dev/nowhere"), 1, "there is no camera at '/dev/nowhere'")
    expect("file.sh without an X server", place.run("file", "v.mp4", DISPLAY=":4321"), 1, "on the display ':4321'")
    with Display() as display:
        variables = {"DISPLAY": display.name}
        camera = f"videotestsrc is-live=true num-buffers=12 ! {SIZE}"
        for n in (1, 2, 3):
            arguments = ["v.mp4", CENTRE, place.env["SAMTRACK_MODEL"]][:n]
            expect(f"file.sh, {n} arguments", place.run("file", "--end=close", *arguments, **variables), 0,
                   prints=f"^shown {FRAMES}, dropped 0\nframes {FRAMES},")
        # Frames come ten times as fast as they can be tracked.
        place.launch(f"samscene num-buffers=20 ! {SIZE.replace('10/1', '500/1')} ! videoconvert ! x264enc ! matroskamux ! filesink location=fast.mkv")
        slow = place.sources / "models" / "samtrack-lite0.safetensors"
        expect("file.sh shows all frames", place.run("file", "--end", "close", "fast.mkv", CENTRE, slow, **variables), 0, prints="^shown 20, dropped 0\n")
        start = time.monotonic()
        expect("file.sh, pictures", place.run("file", "pictures", "--fps", "10", "--end", "close", **variables), 0, prints="^shown 12, dropped 0\n")
        check("it is not faster than its pictures", time.monotonic() - start > 1.05)
        expect("file.sh with an end that there is not", place.run("file", "--end", "loop", "v.mp4", **variables), 2, "--end is 'loop'")
        expect("file.sh with a bad prompt", place.run("file", "v.mp4", "bx,x=1", **variables), 1, "must begin with point")
        for n in range(4):
            arguments = ["/dev/nowhere", CENTRE, place.env["SAMTRACK_MODEL"]][:n]
            expect(f"camera.sh, {n} arguments", place.run("camera", *arguments, SAMTRACK_CAMERA=camera, **variables), 0,
                   prints=r"^shown \d+, dropped \d+\nframes \d+,")
        see(place, variables)


def see(place, variables):
    """The window shows the camera, and ends well."""
    camera = "videotestsrc is-live=true pattern=solid-color foreground-color=0xff20c040 ! video/x-raw,width=320,height=240,framerate=10/1"
    program = place.start("camera", SAMTRACK_CAMERA=camera, **variables)
    shot = place.folder / "shot"
    end = time.monotonic() + PATIENCE / 3
    pixel = b""
    while pixel[:3] != bytes((0x20, 0xc0, 0x40)) and time.monotonic() < end:
        time.sleep(0.3)
        subprocess.run(["gst-launch-1.0", "-q", "ximagesrc", "num-buffers=1", "!", "videoconvert", "!",
                        "video/x-raw,format=RGB,width=640,height=480", "!", "filesink", f"location={shot}"],
                       env=dict(place.env, **variables), check=True)
        at = 3 * (100 * 640 + 100)
        pixel = bytes(c if abs(c - w) > 3 else w for c, w in zip(shot.read_bytes()[at:at + 3], (0x20, 0xc0, 0x40)))
    program.send_signal(signal.SIGTERM)
    program.said, program.told = program.communicate(timeout=PATIENCE)
    check("the window shows the camera", pixel == bytes((0x20, 0xc0, 0x40)), pixel, program.told)
    expect("and a signal ends it", program, 0, prints="^shown ")


def is_free(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) != 0


def serve(place):
    if not (place.build / "pipelines" / "live" / "samtrack-live").exists():
        print("skipped: live.sh: samtrack-live was not built")
        return
    expect("live.sh --help", place.run("live", "--help"), 0, prints="^usage: ")
    expect("live.sh refuses --bogus", place.run("live", "--bogus"), 2, "--bogus")
    ports = ["--http-port", "0", "--rtsp-port", "0", "--state-folder", str(place.folder)]
    foreign = [*ports, "--initial-prompt", "mask,location=ü.png", "zwei Wörter.mp4"]
    for arguments, locale in (([], "C.UTF-8"), ([*ports, "demo"], "C"), (foreign, "C"), (foreign, "C.UTF-8")):
        if not arguments and not (is_free(8080) and is_free(8554)):
            print("skipped: live.sh without arguments: its ports are taken")
            continue
        program = place.start("live", *arguments, XDG_STATE_HOME=str(place.folder), LC_ALL=locale)
        first = program.stdout.readline()
        program.send_signal(signal.SIGINT)
        program.said, program.told = program.communicate(timeout=PATIENCE)
        expect(f"live.sh {arguments[6:]}, {locale}", program, 0)
        check("it prints its address", first.startswith("http://127.0.0.1:"), first)


def main():
    children.end_with_test()
    sources, build, model = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    for program in ("gst-launch-1.0", "Xvfb"):
        if not shutil.which(program):
            print(f"skipped: there is no {program}")
            sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, sources, build, model)
        make_inputs(place)
        for part in (call_with_wrong_arguments, write_files, detect, fail, interrupt, tell_nobody, show_turned, show, serve):
            start = time.monotonic()
            part(place)
            print(f"-- {part.__name__}: {time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    main()
