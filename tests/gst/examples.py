#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The programs of docs/examples: what they print, the picture that one writes, and clicks in the window of the other.

usage: examples.py BUILD SOURCES MODEL OUT_FOLDER CC...

Skipped (77) where Xvfb, xdotool, or PyGObject with numpy is missing.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

PATIENCE = 60  # s, on a busy machine
WALKER = 480, 190  # px of the scene at its start, 640 x 360
PROBE = "import gi, numpy; gi.require_version('GstApp', '1.0'); gi.require_version('GstVideo', '1.0'); from gi.repository import GstApp, GstVideo"


def check(condition, what):
    if not condition:
        sys.exit(f'FAILED: {what}')


def cut_out(python, program, folder, env):
    """The object of masks.py is in colour, all else is grey; the last frame's count is the picture's."""
    picture = folder / 'masks.png'
    done = subprocess.run([python, program, picture], env=env, capture_output=True, text=True, timeout=300, check=False)
    counts = [int(n) for n in re.findall(r'^frame \d+: (\d+) px of object 1$', done.stdout, re.M)]
    check(done.returncode == 0 and len(counts) == 30 and not done.stderr, f'masks.py: status {done.returncode}, {done.stdout}{done.stderr}')
    raw = folder / 'masks.rgba'
    subprocess.run(['gst-launch-1.0', '-q', *f'filesrc location={picture} ! pngdec ! videoconvert ! video/x-raw,format=RGBA ! filesink location={raw}'.split()],
                   env=env, check=True)
    data = raw.read_bytes()
    pixels = [data[i:i + 4] for i in range(0, len(data), 4)]
    grey = sum(p[0] == p[1] == p[2] for p in pixels)
    check(len(pixels) == 640 * 360 and all(p[3] == 255 for p in pixels), f'{picture} has {len(pixels)} px')
    check(0 <= counts[-1] - (len(pixels) - grey) < counts[-1] / 5 and counts[-1] > 1500,
          f'{picture}: {len(pixels) - grey} px in colour, {counts[-1]} px of the object')
    done = subprocess.run([python, program, picture, '/nonexistent.mp4'], env=env, capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 1 and done.stderr.startswith('masks.py: '), f'masks.py without a video: {done.returncode}, {done.stderr}')
    for told, command in ('usage: ', [python, program]), ('masks.py: No module named', [python, '-I', '-S', program, picture]):
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == 1 and done.stderr.startswith(told) and done.stderr.count('\n') == 1, f'{command}: {done.returncode}, {done.stderr}')


class Window:
    def __init__(self, program, folder, env):
        read, write = os.pipe()
        self.programs = [subprocess.Popen(['Xvfb', '-displayfd', str(write), '-screen', '0', '1024x640x24'], pass_fds=[write])]
        os.close(write)
        with os.fdopen(read) as display:
            self.env = dict(env, DISPLAY=':' + display.readline().strip())
        self.log = folder / 'click.log'
        with open(self.log, 'w', encoding='utf-8') as log:
            self.programs.append(subprocess.Popen([program, '', 'ximagesink'], env=self.env, stdout=log, stderr=subprocess.STDOUT))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in reversed(self.programs):
            program.terminate()
            program.wait()

    def xdotool(self, *words):
        return subprocess.run(['xdotool', *map(str, words)], env=self.env, capture_output=True, text=True, check=False).stdout.split()

    def wait(self, pattern, act=lambda: None):
        """Acts until the program has printed the pattern."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            act()
            time.sleep(0.5)
            found = re.search(pattern, self.log.read_text(), re.M)
            if found:
                return found
        return check(False, f'click does not print {pattern!r}: {self.log.read_text()[-2000:]}')

    def click(self, button, x, y):
        window = self.xdotool('search', '--onlyvisible', '--name', '.')
        if window:
            self.xdotool('mousemove', '--window', window[-1], x, y, 'click', button)


def click(program, folder, env):
    with Window(program, folder, env) as window:
        x, y = WALKER
        window.wait(r'^button 1 at \(\d+, \d+\): object 1$', lambda: window.click(1, x, y))
        found = window.wait(r'^object 1 (?:new|tracked|occluded)(?:: (\d+) px around \((\d+), (\d+)\))?$')
        print(found[0])
        window.wait(r'^button 3 at \(\d+, \d+\): object \d+$', lambda: window.click(3, 20, 20))
        window.xdotool('key', 'c')
        done = subprocess.run([program, '/nonexistent.mp4', 'ximagesink'], env=window.env, capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == 1 and done.stderr.startswith('click: '), f'click without a video: {done.returncode}, {done.stderr}')


def main(build, sources, model, folder, *cc):
    build, sources, folder = pathlib.Path(build), pathlib.Path(sources), pathlib.Path(folder)
    env = dict(os.environ, GST_PLUGIN_PATH=f'{build}/gst', SAMTRACK_MODEL=model, GST_REGISTRY=str(folder / 'examples.registry'))
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'gstreamer-video-1.0'], check=True, capture_output=True, text=True).stdout.split()
    program = folder / 'click'
    subprocess.run([*cc, '-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror', sources / 'docs/examples/click.c', '-o', program, *flags], check=True)
    skipped = []
    if shutil.which('Xvfb') and shutil.which('xdotool'):
        click(program, folder, env)
    else:
        skipped.append('no Xvfb or xdotool')
    python = [p for p in ('python3', '/usr/bin/python3') if not subprocess.run([p, '-c', PROBE], stderr=subprocess.DEVNULL, check=False).returncode]
    if python:
        cut_out(python[0], sources / 'docs/examples/masks.py', folder, env)
    else:
        skipped.append('no PyGObject with numpy')
    print('skipped: ' + ', '.join(skipped) if skipped else 'ok')
    return 77 if skipped else 0


sys.exit(main(*sys.argv[1:]))
