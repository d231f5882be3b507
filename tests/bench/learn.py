#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A data set made by clicking for a minute, and what is learnt from it. The demo's scene is in the page in Chromium; what moves most and is not tracked yet is clicked, three
times, and named. The archives that the page offers then are read by those readers that PYTHON has (pycocotools, supervision, datumaro, Ultralytics), whose counts must be
equal, and a small segmenter is trained on the first one for one epoch.
usage: learn.py BUILD [SECONDS [PYTHON [FOLDER]]]     PYTHON needs torch (default: python3); the archives stay unpacked in FOLDER; prints a line of JSON: pictures and masks by reader, mean loss of the first and of the last
quarter of the epoch; exit status 1: counts differ, or the loss does not fall; 77: something is missing
       learn.py --read FOLDER     reads and trains, as PYTHON is called"""
import asyncio
import base64
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np
from PIL import Image

THINGS = 3
FORMS = 'coco', 'yolo', 'davis'
CELL = 16  # px of a square in which motion is added up
SIZE = 160, 96  # px of pictures that are learnt from
BATCH = 2
LOOK = '''(() => {
  const c = Object.assign(document.createElement('canvas'), { width: 640, height: 360 });
  c.getContext('2d').drawImage(document.getElementById('picture'), 0, 0, 640, 360);
  return c.toDataURL().split(',')[1];
})()'''


# ---- Clicking

async def grab(tab):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(await tab.run(LOOK)))).convert('L'), np.float32)


async def find_motion(tab, objects):
    """Where most moves that no object has, 0 to 1."""
    before = await grab(tab)
    await asyncio.sleep(0.3)
    moves = np.abs(await grab(tab) - before)
    for o in objects:
        moves[max(o['y'] - CELL, 0):o['y'] + o['h'] + CELL, max(o['x'] - CELL, 0):o['x'] + o['w'] + CELL] = 0
    cells = moves[:360 // CELL * CELL].reshape(360 // CELL, CELL, 640 // CELL, CELL).sum((1, 3))
    row, column = np.unravel_index(cells.argmax(), cells.shape)
    return (column + 0.5) * CELL / 640, (row + 0.5) * CELL / 360


async def click_things(tab, page):
    box = await tab.run('document.getElementById("stage").getBoundingClientRect().toJSON()')
    for number in range(1, THINGS + 1):
        state = await page.take('state')
        x, y = await find_motion(tab, state['objects'])
        await tab.click(box['x'] + x * box['width'], box['y'] + y * box['height'])
        state = await page.wait_for(lambda s: len(s['objects']) == number, f'object {number}', 60)
        await page.ask('rename', id=state['objects'][-1]['id'], name=f'thing {number}')


async def make_sets(build, seconds, folder):
    import chromium
    from program import Page, Program, check
    with Program(build, '--demo') as program:
        program.wait_for_frames('demo')
        async with chromium.Tab(1320, 860) as tab, Page(program) as page:
            await tab.open(program.page)
            await tab.wait_for('document.getElementById("stage").classList.contains("shown")', 60)
            began = time.monotonic()
            await click_things(tab, page)
            while time.monotonic() < began + seconds:
                await page.take('state')
            await page.ask('clear')
        for form in FORMS:
            status, data, _ = program.ask('GET', f'/annotations/demo.{form}.zip')
            check(status == 200, f'{form} gives {status}: {data[:200]}')
            zipfile.ZipFile(io.BytesIO(data)).extractall(f'{folder}/{form}')


# ---- Reading: (pictures, masks), of pictures with masks

def read_pycocotools(folder):
    from pycocotools.coco import COCO
    coco = COCO(f'{folder}/coco/annotations/instances_default.json')
    return len({a['image_id'] for a in coco.anns.values()}), sum(coco.annToMask(a).any() for a in coco.anns.values())


def read_supervision(folder):
    import supervision
    data = supervision.DetectionDataset.from_coco(f'{folder}/coco/images/default', f'{folder}/coco/annotations/instances_default.json', force_masks=True)
    found = [annotations for _, _, annotations in data if len(annotations)]
    return len(found), sum(len(annotations.mask) for annotations in found)


def read_datumaro(folder):
    """PyPI's, and CVAT's own, which its importer of COCO calls so. PyPI's has a box beside each mask."""
    from datumaro.components.annotation import AnnotationType
    from datumaro.components.dataset import Dataset
    found = [item for item in Dataset.import_from(f'{folder}/coco', 'coco_instances') if item.annotations]
    assert all(item.media.data.shape == (360, 640, 3) for item in found), 'the pictures are not found'
    return len(found), sum(a.type == AnnotationType.mask for item in found for a in item.annotations)


def read_ultralytics(folder):
    import yaml
    from ultralytics.data.dataset import YOLODataset
    data = yaml.safe_load(pathlib.Path(folder, 'yolo/data.yaml').read_text())
    found = [label for label in YOLODataset(img_path=f'{folder}/yolo/images/train', data={**data, 'channels': 3}, task='segment').labels if len(label['cls'])]
    return len(found), sum(len(label['segments']) for label in found)


def read_davis(folder):
    """As the loaders of DAVIS 2017 do: the videos that a file names, all their PNGs in order."""
    found = [len(np.unique(np.asarray(Image.open(path)))) - 1
             for video in pathlib.Path(folder, 'davis/ImageSets/2017/train.txt').read_text().split()
             for path in sorted(pathlib.Path(folder, 'davis/Annotations/480p', video).glob('*.png'))
             if pathlib.Path(folder, 'davis/JPEGImages/480p', video, f'{path.stem}.jpg').exists()]
    return sum(n > 0 for n in found), sum(found)


# ---- Learning

def load(folder):
    """Pictures (N, 3, h, w), 0 to 1, and classes of their pixels (N, h, w), 0: none."""
    from pycocotools.coco import COCO
    coco = COCO(f'{folder}/coco/annotations/instances_default.json')
    classes = sorted(coco.cats)
    pictures, labels = [], []
    for number, image in coco.imgs.items():
        label = np.zeros((image['height'], image['width']), np.uint8)
        for a in coco.loadAnns(coco.getAnnIds(number)):
            label[coco.annToMask(a) > 0] = 1 + classes.index(a['category_id'])
        pictures.append(np.asarray(Image.open(f'{folder}/coco/images/default/{image["file_name"]}').convert('RGB').resize(SIZE), np.float32) / 255)
        labels.append(np.asarray(Image.fromarray(label).resize(SIZE, Image.NEAREST), np.int64))
    return np.stack(pictures).transpose(0, 3, 1, 2), np.stack(labels), len(classes)


def train(folder):
    """Losses of the steps of one epoch of a small U-Net."""
    import torch
    from torch import nn
    torch.manual_seed(1)
    pictures, labels, num_classes = load(folder)

    def pair(c_in, c_out):
        return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(), nn.Conv2d(c_out, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU())

    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList([pair(3, 16), pair(16, 32), pair(32, 64)])
            self.up = nn.ModuleList([pair(64 + 32, 32), pair(32 + 16, 16)])
            self.out = nn.Conv2d(16, 1 + num_classes, 1)

        def forward(self, x):
            a = self.down[0](x)
            b = self.down[1](nn.functional.max_pool2d(a, 2))
            c = self.down[2](nn.functional.max_pool2d(b, 2))
            b = self.up[0](torch.cat([nn.functional.interpolate(c, scale_factor=2), b], 1))
            return self.out(self.up[1](torch.cat([nn.functional.interpolate(b, scale_factor=2), a], 1)))

    net, losses = Small(), []
    optimizer = torch.optim.AdamW(net.parameters(), 2e-3)
    weight = torch.tensor([1.0] + [8.0] * num_classes)  # things are small
    order = torch.randperm(len(pictures))
    for i in range(0, len(order) - BATCH + 1, BATCH):
        at = order[i:i + BATCH]
        loss = nn.functional.cross_entropy(net(torch.from_numpy(pictures[at])), torch.from_numpy(labels[at]), weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def read(folder):
    result = {'read': {}, 'not read': {}}
    for name in ('pycocotools', 'supervision', 'datumaro', 'ultralytics', 'davis'):
        try:
            result['read'][name] = [int(n) for n in globals()[f'read_{name}'](folder)]
        except ImportError as e:
            result['not read'][name] = str(e)
    losses = train(folder)
    quarter = len(losses) // 4
    result.update(steps=len(losses), loss_first=round(float(np.mean(losses[:quarter])), 3), loss_last=round(float(np.mean(losses[-quarter:])), 3))
    print(json.dumps(result))
    assert len(set(map(tuple, result['read'].values()))) == 1, 'the readers have counted differently'
    assert result['loss_last'] < 0.8 * result['loss_first'], 'nothing is learnt'


def main(build, seconds=60, python='python3', folder=None):
    import chromium
    from program import skip
    if not chromium.find() or subprocess.run([python, '-c', 'import torch, pycocotools']).returncode:
        skip('Chromium, torch and pycocotools are needed')
    with tempfile.TemporaryDirectory() as other:
        asyncio.run(make_sets(build, float(seconds), folder or other))
        sys.exit(subprocess.run([python, __file__, '--read', folder or other]).returncode)


if __name__ == '__main__':
    if sys.argv[1:2] == ['--read'] and len(sys.argv) == 3:  # by a Python that may lack what the page needs
        read(sys.argv[2])
    else:
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'live'))
        from program import take_arguments
        main(*take_arguments(__doc__))
