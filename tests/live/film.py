# SPDX-License-Identifier: MIT
"""A film of a disc on a ground of many greys."""
import math
import random
import subprocess

DISC = 240, 190  # its middle, px
RADIUS = 50


def make_film(folder, swing=0, still=0):
    """Writes disc.mp4, four seconds of 640x360 at 25 Hz; returns its name. The disc swings to the right and left of its
    place by that many px, once, after so many frames in which it is still."""
    from PIL import Image, ImageDraw
    rng = random.Random(1)
    picture = Image.new('RGB', (640, 360), (60, 90, 70))
    draw = ImageDraw.Draw(picture)
    for _ in range(300):
        x, y, grey = rng.randrange(640), rng.randrange(360), rng.randrange(40, 110)
        draw.ellipse((x - 9, y - 9, x + 9, y + 9), fill=(grey, grey + 20, grey))
    frames = []
    for i in range(100):
        frame = picture.copy()
        x, y = DISC[0] + round(swing * math.sin(2 * math.pi * max(i - still, 0) / (100 - still))), DISC[1]
        ImageDraw.Draw(frame).ellipse((x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS), fill=(225, 225, 240))
        frames.append(frame.tobytes())
    subprocess.run(['gst-launch-1.0', '-q', 'fdsrc', '!', 'rawvideoparse', 'format=rgb', 'width=640', 'height=360',
                    'framerate=25/1', '!', 'videoconvert', '!', 'x264enc', '!', 'mp4mux', '!', 'filesink',
                    f'location={folder}/disc.mp4'], input=b''.join(frames), check=True, timeout=60)
    return f'{folder}/disc.mp4'
