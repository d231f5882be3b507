#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""How far masks are beside their things on the screen: the page of samtrack-live shows the demo's scene in Chromium, and looks at
it are compared with the scene's truth. usage: insync.py BUILD [LOOKS [KEY=VALUE ...]]     keys are those of a camera, and slow=N: the scene is played N times slower, from a film, so that a busy machine tracks
each frame, as one with time does at the scene's own pace; prints a line of JSON: for sync and live the median
distance of the middles of ball and mask, px of 640x360, and the figures of the page. model_px is that of the mask which the program has kept of the frame that is seen: the model's part. page_px
is the distance of that mask's middle from that of what the page draws on the frame: the page's part. exit status 77: something is missing"""
import asyncio
import base64
import io
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'live'))
import chromium
from program import Program, skip, take_arguments

try:
    import gi
    gi.require_version('Gst', '1.0')
    from gi.repository import Gst
    import numpy as np
    from PIL import Image
except (ImportError, ValueError) as e:
    skip(str(e))

WIDTH, HEIGHT, RATE = 640, 360, 30
SMALL = 80, 45  # of pictures that are compared
MOST_UNLIKE = 15  # of the pictures of one frame, levels: the stream is compressed
BALL = 292, 268  # where it is in the first frame
BOX = 'box,x=245,y=221,w=95,h=94'  # of it
COLOUR = 255, 59, 48  # of its mask
LOOK = '''(() => {
  const c = Object.assign(document.createElement('canvas'), { width: %d, height: %d });
  const shot = (layer) => {
    c.getContext('2d').clearRect(0, 0, c.width, c.height);
    c.getContext('2d').drawImage(document.getElementById(layer), 0, 0, c.width, c.height);
    return c.toDataURL().split(',')[1];
  };
  return [shot('picture'), shot('overlay'), ...['delay', 'age', 'rate', 'source'].map((id) => document.getElementById(id).textContent)];
})()''' % (WIDTH, HEIGHT)


def read_png(text, size=(WIDTH, HEIGHT)):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))).convert('RGBA').resize(size), np.float32)


def find_middle(mask):
    y, x = np.nonzero(mask)
    return (x.mean() + 0.5, y.mean() + 0.5) if len(x) else None


def drop_small(mask):
    """Without what is in rows or columns of few: the dot in the tag with the name."""
    return mask & (mask.sum(1, keepdims=True) > 12) & (mask.sum(0, keepdims=True) > 12)


def is_disc(mask):
    """Whether nothing hides a part of it, nor the frame's edge."""
    y, x = np.nonzero(mask)
    if not len(x):
        return False
    w, h = np.ptp(x) + 1, np.ptp(y) + 1
    return abs(w - h) < 3 and abs(len(x) / (np.pi / 4 * w * h) - 1) < 0.02


def draw_scene(build, seconds):
    """(small pictures, middles of the ball, None where it is not wholly seen) of each frame. A loaded machine draws fewer
    frames than the seconds have, so the first ones may be any."""
    os.environ['GST_PLUGIN_PATH'] = f'{build}/gst/scene'
    Gst.init(None)
    pipeline = Gst.parse_launch(f'samscene num-buffers={int(seconds * RATE)} ! video/x-raw,width={WIDTH},height={HEIGHT},'
                                f'framerate={RATE}/1 ! appsink name=sink sync=false max-buffers=4')
    sink = pipeline.get_by_name('sink')
    pipeline.set_state(Gst.State.PLAYING)
    pictures, middles, ball = [], [], 0
    while sample := sink.emit('pull-sample'):
        buffer = sample.get_buffer()
        frame = np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8).reshape(HEIGHT, WIDTH, 4)
        pictures.append(np.asarray(Image.fromarray(frame[..., :3]).resize(SMALL), np.float32))
        labels = buffer.get_custom_meta('GstSamSceneMeta').get_structure().get_value('labels')
        labels = np.frombuffer(labels.extract_dup(0, labels.get_size()), np.uint8).reshape(HEIGHT, WIDTH)
        ball = ball or labels[BALL[1], BALL[0]]
        middles.append(find_middle(labels == ball) if is_disc(labels == ball) else None)
    pipeline.set_state(Gst.State.NULL)
    return np.stack(pictures), middles


def make_film(build, folder, slow):
    """The scene's frames, each so many times as long. Long enough that it does not begin again."""
    for command in (f'samscene num-buffers=300 ! video/x-raw,width={WIDTH},height={HEIGHT},framerate={RATE}/1 ! videoconvert ! jpegenc quality=98 ! multifilesink location={folder}/%04d.jpg',
                    f'multifilesrc location={folder}/%04d.jpg caps=image/jpeg,framerate={RATE}/{slow} ! jpegdec ! videoconvert ! x264enc quantizer=12 pass=quant key-int-max=30 ! h264parse ! mp4mux ! filesink location={folder}/scene.mp4'):
        subprocess.run(['gst-launch-1.0', '-q', *command.split()], check=True, env=dict(os.environ, GST_PLUGIN_PATH=f'{build}/gst'))
    return f'{folder}/scene.mp4'


async def look(tab, mode, looks):
    await tab.run(f'document.querySelector("#modes [value={mode}]").click()')
    await asyncio.sleep(3)
    taken = []
    while len(taken) < looks:
        taken.append(await tab.run(LOOK))
        await asyncio.sleep(0.37)
    return taken


async def take_looks(build, looks, source, keys):
    settings = [word for key in keys for word in ('--set', key)]
    with tempfile.NamedTemporaryFile('w', suffix='.conf') as file:
        file.write('[live]\npictures-every=0\n')  # of each tracked frame
        file.flush()
        program = Program(build, source, '--config', file.name, '--initial-prompt', BOX, *settings)
    with program:
        async with chromium.Tab(1320, 860) as tab:
            await tab.open(program.page)
            await tab.wait_for('document.getElementById("stage").classList.contains("shown")', 60)
            await tab.run('document.getElementById("opacity").value = 100, '
                          'document.getElementById("opacity").dispatchEvent(new Event("input"))')
            taken = {mode: await look(tab, mode, looks) for mode in ('sync', 'live')}
            status, data, _ = program.ask('GET', '/annotations/demo.davis.zip')
            return taken, zipfile.ZipFile(io.BytesIO(data)) if status == 200 else None


def find_frame(small, pictures):
    """The scene's frame that a small picture is of; None: none is like it."""
    unlike = np.sqrt(((pictures - small) ** 2).mean((1, 2, 3)))
    frame = int(np.argmin(unlike))
    return frame if unlike[frame] <= MOST_UNLIKE else None


def read_kept(archive, pictures):
    """{frame of the scene: middle of the first object's mask} of what the program has kept."""
    kept = {}
    for name in archive.namelist() if archive else ():
        if not name.endswith('.jpg'):
            continue
        small = np.asarray(Image.open(io.BytesIO(archive.read(name))).convert('RGB').resize(SMALL), np.float32)
        mask = Image.open(io.BytesIO(archive.read(name.replace('JPEGImages', 'Annotations').replace('.jpg', '.png'))))
        kept[find_frame(small, pictures)] = find_middle(np.asarray(mask) == 1)
    return kept


def measure(a, b):
    return float(np.hypot(*np.subtract(a, b)))


def compare(taken, pictures, middles, kept):
    """Distances on each frame that was seen, px: of what is drawn and the ball; of the kept mask and the ball; of both masks."""
    apart, seen = {'': [], 'model_': [], 'page_': []}, set()
    for picture, overlay, *_ in taken:
        frame = find_frame(read_png(picture, SMALL)[..., :3], pictures)
        overlay = read_png(overlay)
        mask = find_middle(drop_small((np.abs(overlay[..., :3] - COLOUR).max(-1) < 30) & (overlay[..., 3] > 50)))
        if frame is None or frame in seen or not middles[frame] or not mask:
            continue
        seen.add(frame)
        apart[''].append(measure(mask, middles[frame]))
        if kept.get(frame):
            apart['model_'].append(measure(kept[frame], middles[frame]))
            apart['page_'].append(measure(kept[frame], mask))
    return apart


def main(build, looks=20, *keys):
    if not chromium.find():
        skip('there is no Chromium')
    began = time.monotonic()
    slow = [int(key[5:]) for key in keys if key.startswith('slow=')]
    keys = [key for key in keys if not key.startswith('slow=')]
    with tempfile.TemporaryDirectory() as folder:
        source = f'demo={make_film(build, folder, slow[0])}' if slow else '--demo'
        taken, archive = asyncio.run(take_looks(build, int(looks), source, keys))
    pictures, middles = draw_scene(build, 10 if slow else time.monotonic() - began)
    kept = read_kept(archive, pictures)
    result = {}
    for mode, shots in taken.items():
        for part, apart in compare(shots, pictures, middles, kept).items():
            result[f'{mode}_{part}px'] = round(statistics.median(apart), 2) if apart else None
            result[f'{mode}_{part}most_px'] = round(max(apart), 2) if apart else None
            result[f'{mode}_{part}frames'] = len(apart)
        for name, text in zip(('delay', 'age', 'rate', 'source'), shots[len(shots) // 2][2:]):
            result[f'{mode}_{name}'] = text
    print(json.dumps(result))


if __name__ == '__main__':
    main(*take_arguments(__doc__))
