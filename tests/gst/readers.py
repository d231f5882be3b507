#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""samexport's data sets as those read them who did not write them: pycocotools, supervision and datumaro count every mask,
track and class of a video of two objects, one of which comes later.

usage: readers.py PLUGIN_FOLDER MODEL OUT_FOLDER PYTHON_FOLDER...

The PYTHON_FOLDERs may hold the packages (tools/setup.sh test and readers put them there). A reader that is missing is left out, which the
last line says; skipped (77) where all are.
"""

import json
import os
import subprocess
import sys
import tempfile

WIDTH, HEIGHT, FRAMES, LATER = 320, 180, 60, 30
PROMPT = f"point,x=240,y=95,label=fish;point,x=146,y=134,label=walker,running-time={LATER * 10**9 // 30}"
failures = []


def check(ok, what):
    if not ok:
        failures.append(what)
        print("FAILED:", what)
    return ok


def write(env, folder):
    for name in ("annotations", "gt", "images", "images/default"):
        os.mkdir(os.path.join(folder, name))
    subprocess.run(["gst-launch-1.0", "-q", *f"samscene num-buffers={FRAMES} ! video/x-raw,width={WIDTH},height={HEIGHT},framerate=30/1 "
                    f"! samtrack initial-prompt={PROMPT} ! samexport format=coco location={folder}/annotations/"
                    f"instances_default.json ! samexport format=mot location={folder}/gt/gt.txt ! samexport location={folder}/"
                    "lines.jsonl ! fakesink".split()], env=env, check=True, timeout=300)
    with open(os.path.join(folder, "lines.jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def get_wanted(lines):
    """What each frame has: (track, class) of its masks."""
    return [sorted((t["id"], t["label"]) for t in line["objects"] if t["mask"]) for line in lines]


def check_pycocotools(folder, wanted):
    from pycocotools.coco import COCO

    coco = COCO(os.path.join(folder, "annotations", "instances_default.json"))
    found = []
    for image in sorted(coco.imgs):
        annotations = coco.loadAnns(coco.getAnnIds(imgIds=[image]))
        found.append(sorted((a["track_id"], coco.cats[a["category_id"]]["name"]) for a in annotations))
        check(all(coco.annToMask(a).sum() == a["area"] > 0 for a in annotations), f"pycocotools: areas of image {image}")
    check(found == wanted, f"pycocotools: {found}")
    return sum(map(len, found))


def check_supervision(folder, wanted):
    import cv2
    import numpy
    import supervision

    for i in range(FRAMES):  # it opens them
        cv2.imwrite(os.path.join(folder, "images", f"{i:05}.jpg"), numpy.zeros((HEIGHT, WIDTH, 3), "uint8"))
    data = supervision.DetectionDataset.from_coco(os.path.join(folder, "images"),
                                                  os.path.join(folder, "annotations", "instances_default.json"), force_masks=True)
    found = []
    for _, _, detections in sorted(data, key=lambda item: item[0]):
        masks = detections.mask if detections.mask is not None else []
        found.append(sorted(data.classes[c] for c, mask in zip(detections.class_id, masks) if mask.any()))
    check(found == [sorted(label for _, label in frame) for frame in wanted], f"supervision: {found}")
    return sum(map(len, found))


def check_datumaro(folder, wanted):
    from datumaro.components.annotation import AnnotationType
    from datumaro.components.dataset import Dataset

    found = []
    for form, kind in (("coco_instances", AnnotationType.mask), ("mot_seq", AnnotationType.bbox)):
        data = Dataset.import_from(folder if form == "mot_seq" else os.path.join(folder, "annotations", "instances_default.json"),
                                   form)
        names = data.categories()[AnnotationType.label]
        frames = {int(item.id.split("/")[-1]): sorted((a.attributes["track_id"], names[a.label].name) for a in item.annotations
                                                      if a.type == kind) for item in data}
        first = 1 if form == "mot_seq" else 0
        found.append([frames.get(i + first, []) for i in range(FRAMES)])
        for item in data:
            for a in item.annotations if form == "mot_seq" else []:
                check(a.attributes["visibility"] == 1 and not a.attributes["occluded"] and not a.attributes["ignored"],
                      f"datumaro: {a.attributes} in {form}")
        check(found[-1] == wanted, f"datumaro, {form}: {found[-1]}")
    return sum(map(len, found[0]))


def main(plugins, model, out, *python):
    sys.path[:0] = python
    env = dict(os.environ, GST_PLUGIN_PATH=plugins, SAMTRACK_MODEL=model, GST_REGISTRY=os.path.join(out, "readers.registry"))
    counts, missing = {}, []
    with tempfile.TemporaryDirectory() as folder:
        wanted = get_wanted(write(env, folder))
        total = sum(map(len, wanted))
        check(total == FRAMES + FRAMES - LATER, f"{total} masks, expected {2 * FRAMES - LATER}")
        for name, read in (("pycocotools", check_pycocotools), ("supervision", check_supervision), ("datumaro", check_datumaro)):
            try:
                counts[name] = read(folder, wanted)
            except ImportError as error:
                missing.append(f"{name} ({error})")
    print(f"{total} masks; found: {counts}" + (f"; left out: {', '.join(missing)}; tools/setup.sh readers installs them"
                                               if missing else ""))
    return 77 if not counts and not failures else bool(failures)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
