#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Frames in GL memory: what samtrack and samoverlay do to them is, after a download, what they do to downloaded frames, and each
tells once what it costs; a mosaic of an object, too.

usage: gl.py PLUGIN_FOLDER OUT_FOLDER

An X server without a screen (Xvfb) has GL by software. Skipped (77) where a program or an element is missing.
"""
import os
import shutil
import subprocess
import sys

FRAMES, SIZE = 4, 320 * 240 * 4
SOURCE = ["gltestsrc", f"num-buffers={FRAMES}", "pattern=smpte", "!", "video/x-raw(memory:GLMemory),format=RGBA,width=320,height=240"]
TRACK = ["samtrack", "initial-prompt=box,x=40,y=40,w=120,h=100"]


class Display:
    def __init__(self):
        read, write = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "640x480x24"], pass_fds=[write],
                                       stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as display:
            self.name = ":" + display.readline().strip()

    def close(self):
        self.server.terminate()
        self.server.wait()


def launch(env, elements, out):
    """Bytes that came out, and what was printed."""
    if os.path.exists(out):
        os.remove(out)
    done = subprocess.run(["gst-launch-1.0", *elements, "!", "filesink", "location=" + out], env=env, capture_output=True, text=True,
                          timeout=200)
    with open(out, "rb") as file:
        data = file.read()
    return data, done.stdout + done.stderr


def check(name, right, what):
    print(("ok     " if right else "FAILED ") + name + ("" if right else "\n" + what))
    return right


def compare(env, name, overlay, out):
    """The same chain on downloaded frames and on those of GL."""
    plain, printed = launch(env, [*SOURCE, "!", "gldownload", "!", *TRACK, "!", *overlay, "!", "video/x-raw,format=RGBA"], out)
    there, told = launch(env, [*SOURCE, "!", *TRACK, "!", *overlay, "!", "video/x-raw(memory:GLMemory)", "!", "gldownload"], out)
    bare, _ = launch(env, [*SOURCE, "!", "gldownload"], out)
    return (check(name + ": frames", len(plain) == FRAMES * SIZE, printed)
            & check(name + ": the same pixels", there == plain, f"{len(there)} of {len(plain)} bytes\n{told}")
            & check(name + ": something was drawn", plain != bare, printed)
            & check(name + ": told once by each", told.count("memory:GLMemory are downloaded") == 2 and "memory:GLMemory are" not in printed,
                    told))


def main():
    plugins, folder = sys.argv[1:]
    env = dict(os.environ, GST_PLUGIN_PATH=plugins, GST_REGISTRY=os.path.join(folder, "gl.registry"), LIBGL_ALWAYS_SOFTWARE="1",
               LANG="C", GST_GL_XINITTHREADS="1")
    if not shutil.which("Xvfb") or subprocess.run(["gst-inspect-1.0", "--exists", "gltestsrc"], env=env).returncode:
        print("Xvfb or gltestsrc is missing: skipped")
        sys.exit(77)
    display = Display()
    try:
        env["DISPLAY"] = display.name
        out = os.path.join(folder, "gl.raw")
        _, printed = launch(env, [*SOURCE, "!", "gldownload"], out)
        if not os.path.getsize(out):
            print("GL does not run here: skipped\n" + printed)
            sys.exit(77)
        right = compare(env, "blend", ["samoverlay"], out)
        right &= compare(env, "pixelate", ["samoverlay", "mode=pixelate"], out)
    finally:
        display.close()
    sys.exit(0 if right else 1)


main()
