#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The whole program of docs/GSTREAMER.md that reads the meta, run as it stands there: with PyGObject, whose overrides for
GStreamer (python3-gst-1.0) are hidden from it.

usage: objects.py PLUGIN_FOLDERS MODEL DOC OUT_FOLDER    (PLUGIN_FOLDERS separated by colons)

Skipped (77) where PyGObject or GStreamer's introspection data is missing.
"""

import os
import re
import subprocess
import sys
import tempfile

FRAMES = 6
# Hides them: their own module is replaced by one that fails to be imported.
HIDE = "import sys; sys.modules['gi.overrides.Gst'] = None\nimport runpy; sys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
PROBE = "import gi; gi.require_version('Gst', '1.0'); from gi.repository import Gst"


def find_python():
    for python in ("python3", "/usr/bin/python3"):
        if not subprocess.run([python, "-c", PROBE], stderr=subprocess.DEVNULL, check=False).returncode:
            return python
    return None


def main(plugins, model, doc, folder):
    python = find_python()
    if not python:
        print("skipped: no PyGObject with GStreamer's introspection data")
        return 77
    with open(doc, encoding="utf-8") as file:
        programs = [text for text in re.findall(r"```python\n(.*?)```", file.read(), re.S) if text.startswith("#!")]
    env = dict(os.environ, GST_PLUGIN_PATH=plugins, SAMTRACK_MODEL=model,
               GST_REGISTRY=os.path.join(folder, "objects.registry"))
    failures = [] if len(programs) == 1 else [f"{len(programs)} programs in {doc}, expected 1"]
    with tempfile.TemporaryDirectory() as scratch:
        video, program = os.path.join(scratch, "a.avi"), os.path.join(scratch, "objects.py")
        subprocess.run(["gst-launch-1.0", "-q", *f"samscene num-buffers={FRAMES} ! video/x-raw,width=160,height=96 ! jpegenc ! "
                        f"avimux ! filesink location={video}".split()], env=env, check=True)
        with open(program, "w", encoding="utf-8") as file:
            file.write(programs[0])
        for options in (["-c", HIDE, program], [program]):
            done = subprocess.run([python, *options, video, "point,x=73,y=71,label=ball;box,x=100,y=30,w=40,h=40"], env=env,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
            said = done.stdout
            frames = re.findall(r"^frame (\d+) ok$", said, re.M)
            balls = re.findall(r"^  1 ball (?:new|tracked) \[(\d+), (\d+), (\d+), (\d+)\] (\d+)$", said, re.M)
            others = re.findall(r"^  2 object (?:new|tracked) \[", said, re.M)
            if done.returncode or len(frames) != FRAMES or len(balls) != FRAMES or len(others) != FRAMES:
                failures.append(f"status {done.returncode}, {len(frames)} frames, {len(balls)} and {len(others)} objects: {said}")
            for x, y, w, h, area in (map(int, ball) for ball in balls):
                if not (x <= 73 <= x + w and y <= 71 <= y + h and 0 < area <= w * h):
                    failures.append(f"box {x} {y} {w} {h}, {area} pixels")
    print("\n".join(failures) or f"{FRAMES} frames were read, with and without overrides")
    return bool(failures)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
