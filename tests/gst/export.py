#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""samexport's files and messages, read by others: pycocotools, Pillow, mosquitto.

usage: export.py PLUGIN_FOLDER MODEL OUT_FOLDER PYTHON_FOLDER yes|no

PYTHON_FOLDER may hold pycocotools (tools/setup.sh puts it there). yes: the build has MQTT. The last pipelines' files stay
in OUT_FOLDER. Skipped (77) where pycocotools, NumPy, Pillow or a program is missing; without mosquitto only the tests of
MQTT are left out, which the last line says.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import children

PATIENCE = 60  # s, until something must have happened; a busy machine is slow
WIDTH, HEIGHT, FRAMES = 320, 180, 24
# The fish, the paper plane and the walker of samscene.
PROMPT = "initial-prompt=point,x=240,y=95;point,x=95,y=46;point,x=146,y=134"
SCENE = f"samscene num-buffers={FRAMES} ! video/x-raw,width={WIDTH},height={HEIGHT} ! samtrack name=track {PROMPT}"
CAMERA = ("samscene is-live=true num-buffers={} ! video/x-raw,width=160,height=96,framerate=20/1 ! samtrack "
          "initial-prompt=point,x=120,y=50;point,x=73,y=71 ! samexport")
failures = []


def check(ok, what):
    if not ok:
        failures.append(what)
        print("FAILED:", what)
    return ok


def launch(text, env, put=()):
    words = text.split()
    for name in put:  # what holds spaces
        words = [word.replace(name, put[name]) for word in words]
    return subprocess.Popen(["gst-launch-1.0", "-m", *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process, what):
    """What a pipeline said, when it has ended well."""
    try:
        said = process.communicate(timeout=3 * PATIENCE)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        said = process.communicate()[0]
        check(False, f"{what}: the pipeline does not end")
    check(process.returncode == 0, f"{what}: exit status {process.returncode}: {said[-2000:]}")
    return said


def get_stats(said):
    """The fields of the last samexport-stats message."""
    found = re.findall(r"samexport-stats, (.*);", said)
    if not check(found, "no message samexport-stats"):
        return {}
    return {name: int(value) for name, value in re.findall(r"([a-z-]+)=\(guint64\)(\d+)", found[-1])}


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def is_in_order(lines, n, what):
    frames = [line["frame"] for line in lines]
    return check(frames == list(range(n)), f"{what}: frames {frames}, expected 0 to {n - 1}")


# Masks


def check_lines(lines, maps, masks, numpy):
    """Every mask of every line is the label map's; the characters are pycocotools' own."""
    seen = 0
    for line, labels in zip(lines, maps):
        check((line["width"], line["height"]) == (WIDTH, HEIGHT), f"size of frame {line['frame']}")
        for thing in line["objects"]:
            truth = numpy.asfortranarray(labels == thing["slot"])
            if thing["mask"] is None:
                check(not truth.any(), f"frame {line['frame']}: object {thing['id']} has a mask")
                continue
            seen += 1
            own = masks.encode(truth.astype("uint8"))
            check(own["counts"].decode() == thing["mask"]["counts"] and list(own["size"]) == thing["mask"]["size"],
                  f"frame {line['frame']}: the runs of object {thing['id']} differ from pycocotools'")
            check((masks.decode(thing["mask"]) == truth).all(), f"frame {line['frame']}: mask of {thing['id']}")
            x, y, w, h = thing["box"]
            bx, by, bw, bh = masks.toBbox(thing["mask"])
            check(x <= bx and y <= by and x + w >= bx + bw and y + h >= by + bh,
                  f"frame {line['frame']}: the mask of {thing['id']} leaves its box")
    check(seen > FRAMES, f"only {seen} masks were compared")


def check_coco_video(path, lines, maps, masks, numpy):
    from pycocotools.coco import COCO

    coco = COCO(path)
    data = coco.dataset
    video, = data["videos"]
    check((video["width"], video["height"], video["length"]) == (WIDTH, HEIGHT, FRAMES), "the video's size")
    check(len(video["file_names"]) == FRAMES and len(coco.imgs) == FRAMES, "the video's frames")
    check([image["pts"] for image in data["images"]] == [line["pts"] for line in lines], "times of the images")
    check({c["id"] for c in data["categories"]} >= {a["category_id"] for a in data["annotations"]}, "categories")
    ids = sorted({thing["id"] for line in lines for thing in line["objects"] if thing["mask"]})
    check(sorted(a["object_id"] for a in data["annotations"]) == ids, "the annotations' objects")
    for annotation in data["annotations"]:
        who = f"annotation of object {annotation['object_id']}"
        first = True
        for frame, line in enumerate(lines):
            slot = [t["slot"] for t in line["objects"] if t["id"] == annotation["object_id"]]
            truth = numpy.asfortranarray(maps[frame] == (slot[0] if slot else 256)).astype("uint8")
            segmentation = annotation["segmentations"][frame]
            if not truth.any():
                check(segmentation is None and annotation["bboxes"][frame] is None and
                      annotation["areas"][frame] is None, f"{who}: frame {frame} is not null")
                continue
            if not check(segmentation is not None, f"{who}: frame {frame} is null"):
                continue
            check((masks.decode(segmentation) == truth).all(), f"{who}: mask of frame {frame}")
            check(int(masks.area(segmentation)) == annotation["areas"][frame] == truth.sum(), f"{who}: area")
            check(masks.toBbox(segmentation).tolist() == annotation["bboxes"][frame], f"{who}: box of frame {frame}")
            if first:
                check(annotation["image_id"] == frame + 1 and (coco.annToMask(annotation) == truth).all(),
                      f"{who}: what plain COCO reads")
                check(annotation["area"] == annotation["areas"][frame] and
                      annotation["bbox"] == annotation["bboxes"][frame], f"{who}: plain area and box")
            first = False
        check(all(len(annotation[key]) == FRAMES for key in ("segmentations", "bboxes", "areas")), f"{who}: lengths")


def check_coco(path, lines, maps, numpy):
    """Every mask of every line is found on its image, as pycocotools looks for it, and no other."""
    from pycocotools.coco import COCO

    coco = COCO(path)
    check(len(coco.imgs) == FRAMES, f"coco: {len(coco.imgs)} images")
    found = 0
    for line, labels, image in zip(lines, maps, coco.dataset["images"]):
        check(image["pts"] == line["pts"], f"coco: time of image {image['id']}")
        wanted = {thing["id"]: thing["slot"] for thing in line["objects"] if thing["mask"]}
        annotations = coco.loadAnns(coco.getAnnIds(imgIds=[image["id"]]))
        check(sorted(a["track_id"] for a in annotations) == sorted(wanted), f"coco: tracks of image {image['id']}")
        for annotation in annotations:
            truth = labels == wanted[annotation["track_id"]]
            found += 1
            rows, columns = truth.any(1).nonzero()[0], truth.any(0).nonzero()[0]
            box = [columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1]
            check((coco.annToMask(annotation) == truth).all() and annotation["area"] == truth.sum() and
                  annotation["bbox"] == box and annotation["iscrowd"] == 0, f"coco: mask on image {image['id']}")
    check(found > FRAMES and found == len(coco.anns), f"coco: {found} masks of {len(coco.anns)}")


def check_mot(path, lines):
    with open(path, encoding="ascii") as file:
        rows = [row.split(",") for row in file.read().splitlines()]
    wanted = [[str(line["frame"] + 1), str(t["id"]), *map(str, t["box"]), "1", "1"]
              for line in lines for t in line["objects"] if t["box"][2] > 0]
    check([row[:6] + row[7:] for row in rows] == wanted, "the lines of MOT")
    scores = [t["score"] for line in lines for t in line["objects"] if t["box"][2] > 0]
    check(all(abs(float(row[6]) - score) < 1e-4 for row, score in zip(rows, scores)), "the scores of MOT")


def check_davis(folder, lines, maps, numpy):
    from PIL import Image

    check(sorted(os.listdir(folder)) == [f"{i:05}.png" for i in range(FRAMES)], "names of the PNGs")
    index = {}
    for line, labels in zip(lines, maps):
        picture = Image.open(os.path.join(folder, f"{line['frame']:05}.png"))
        wanted = numpy.zeros_like(labels)
        for thing in line["objects"]:
            if thing["mask"]:
                wanted[labels == thing["slot"]] = index.setdefault(thing["id"], len(index) + 1)
        check(picture.mode == "P" and (numpy.asarray(picture) == wanted).all(), f"PNG of frame {line['frame']}")
    # The palette of DAVIS: its first colours, and its last.
    palette = picture.getpalette()
    known = {0: [0, 0, 0], 1: [128, 0, 0], 2: [0, 128, 0], 3: [128, 128, 0], 4: [0, 0, 128], 8: [64, 0, 0],
             15: [192, 128, 128], 20: [0, 64, 128], 255: [224, 224, 192]}
    check(all(palette[3 * i:3 * i + 3] == colour for i, colour in known.items()), "the palette")


def fill(corners, numpy):
    """The pixels whose middle is inside a polygon, by the rule of even and odd."""
    flips = numpy.zeros((HEIGHT, WIDTH + 1), int)
    for (x0, y0), (x1, y1) in zip(corners, numpy.roll(corners, -1, axis=0)):
        for row in range(HEIGHT):
            if (y0 <= row + 0.5) != (y1 <= row + 0.5):
                flips[row, int(numpy.ceil(x0 + (row + 0.5 - y0) / (y1 - y0) * (x1 - x0) - 0.5))] += 1
    return numpy.cumsum(flips, axis=1)[:, :WIDTH] % 2 == 1


def check_yolo(folder, lines, maps, numpy):
    """A line for each mask; its polygon encloses the mask's pixels, specks of 14 pixels at most excepted."""
    names = sorted(os.listdir(os.path.join(folder, "labels", "train")))
    check(names == [f"{i:05}.txt" for i in range(FRAMES)], f"names of the labels: {names}")
    found = 0
    for line, labels in zip(lines, maps):
        with open(os.path.join(folder, "labels", "train", f"{line['frame']:05}.txt"), encoding="ascii") as file:
            rows = file.read().splitlines()
        things = [thing for thing in line["objects"] if thing["mask"]]
        check(len(rows) == len(things), f"yolo: {len(rows)} lines of frame {line['frame']}")
        for row, thing in zip(rows, things):
            number, *corners = row.split(" ")
            corners = numpy.array(corners, float).reshape(-1, 2) * (WIDTH, HEIGHT)
            mask = labels == thing["slot"]
            off = (fill(corners, numpy) != mask).sum()
            found += 1
            check(number == "0" and off <= 14 + mask.sum() // 100, f"yolo: class {number}, {off} of {mask.sum()} pixels of frame {line['frame']}")
    with open(os.path.join(folder, "data.yaml"), encoding="utf-8") as file:
        text = file.read()
    check(found > FRAMES and text == 'train: images/train\nval: images/train\nnames:\n  0: "object"\n', f"yolo: {found} masks; data.yaml is {text}")


def check_masks(env, folder, masks, numpy):
    path = {name: os.path.join(folder, "export." + name) for name in ("jsonl", "json", "video.json", "txt", "raw")}
    pictures, texts = os.path.join(folder, "export.png"), os.path.join(folder, "export.yolo")
    for old in pictures, texts:
        shutil.rmtree(old, ignore_errors=True)
    process = launch(f"{SCENE} track.src ! queue ! samexport location={path['jsonl']} ! samexport format=coco "
                     f"location={path['json']} ! samexport format=coco-video location={path['video.json']} ! samexport format=mot location={path['txt']} ! samexport format=davis "
                     f"location={pictures} ! samexport format=yolo location={texts} ! fakesink track.overlay ! queue ! video/x-raw,format=GRAY8 ! filesink "
                     f"location={path['raw']}", env)
    stats = get_stats(finish(process, "masks"))
    check(stats.get("frames-lost") == 0 and stats.get("frames-written") == FRAMES, f"masks: {stats}")
    maps = numpy.fromfile(path["raw"], "uint8").reshape(-1, HEIGHT, WIDTH)
    lines = read_lines(path["jsonl"])
    if not is_in_order(lines, FRAMES, "masks") or not check(len(maps) == FRAMES, "the overlay pad's frames"):
        return
    check_lines(lines, maps, masks, numpy)
    check_coco(path["json"], lines, maps, numpy)
    check_coco_video(path["video.json"], lines, maps, masks, numpy)
    check_mot(path["txt"], lines)
    check_davis(pictures, lines, maps, numpy)
    check_yolo(texts, lines, maps, numpy)


# Breaks


def wait_for_lines(path, n, process):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if os.path.exists(path) and open(path, "rb").read().count(b"\n") >= n:
            return True
        time.sleep(0.02)
    return check(False, f"{path} does not get {n} lines")


def check_kill(env, folder):
    """A killed process leaves whole lines, those that were written until then."""
    path = os.path.join(folder, "killed.jsonl")
    if os.path.exists(path):
        os.unlink(path)
    process = launch(f"{CAMERA.format(2000)} location={path} ! fakesink", env)
    wait_for_lines(path, 12, process)
    process.kill()
    process.communicate()
    with open(path, "rb") as file:
        *whole, rest = file.read().split(b"\n")
    is_in_order([json.loads(line) for line in whole], len(whole), "kill")
    check(len(rest) == 0, f"kill: {len(rest)} bytes of an incomplete line")


def check_stdout(env):
    """A reader of standard output that goes away does not end the pipeline."""
    process = subprocess.Popen(["gst-launch-1.0", "-q", *f"{CAMERA.format(30)} location=- ! fakesink".split()], env=env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = json.loads(process.stdout.readline())
    check(first["frame"] == 0, "stdout: the first line")
    process.stdout.close()
    said = process.stderr.read()
    check(process.wait(PATIENCE) == 0, f"stdout: exit status {process.returncode}: {said}")


def check_redirected(env, folder):
    """Standard output that is appended to a file keeps what the file has."""
    path = os.path.join(folder, "appended")
    with open(path, "w", encoding="utf-8") as file:
        file.write("before\n")
    with open(path, "a", encoding="utf-8") as file:
        done = subprocess.run(["gst-launch-1.0", "-q", *f"{SCENE} ! samexport mask-size=none location=- ! fakesink".split()],
                              env=env, stdout=file, timeout=PATIENCE, check=False)
    with open(path, encoding="utf-8") as file:
        first, *rest = file.read().splitlines()
    check(done.returncode == 0 and first == "before", f"redirected: begins with {first}")
    is_in_order([json.loads(line) for line in rest], FRAMES, "redirected")


def check_full_coco(env, disk, form):
    """What there is room for is a readable file; the rest is counted when the stream ends, and told."""
    path = os.path.join(disk, "coco.json")
    said = finish(launch(f"{SCENE} ! samexport format={form} location={path} ! fakesink", env), f"small disk, {form}")
    stats = get_stats(said)
    check("No space left" in said, f"small disk, {form}: nothing is told")
    check("recovered=(boolean)false" in said, f"small disk, {form}: that frames are lost is told as over")
    if check(os.path.exists(path), f"small disk, {form}: there is no file"):
        with open(path, encoding="utf-8") as file:
            images = [image["id"] for image in json.load(file)["images"]]
        check(0 < len(images) == stats["frames-written"] and images == list(range(1, len(images) + 1)) and
              stats["frames-lost"] == FRAMES - len(images), f"small disk, {form}: {len(images)} images, {stats}")
        os.unlink(path)
    check(os.listdir(disk) == [], f"small disk, {form}: {os.listdir(disk)} is left")


def check_full(env, folder):
    """On a full disk the stream goes on; whole lines stay, and what was there before."""
    said = finish(launch(f"{SCENE} ! samexport location=/dev/full ! fakesink", env), "/dev/full")
    stats = get_stats(said)
    check(stats.get("frames-lost") == FRAMES and stats.get("frames-written") == 0, f"/dev/full: {stats}")
    check(said.count("WARNING: from element") == 1 and "No space left on device" in said, f"/dev/full: {said}")
    disk = os.path.join(folder, "disk")
    os.makedirs(disk, exist_ok=True)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20k", "tmpfs", disk], check=False).returncode:
        return "tmpfs cannot be mounted: left out the small disk"
    try:
        path = os.path.join(disk, "lines.jsonl")
        stats = get_stats(finish(launch(f"{SCENE} ! samexport location={path} ! fakesink", env), "small disk"))
        lines = read_lines(path)
        check(0 < len(lines) == stats["frames-written"] and stats["frames-lost"] == FRAMES - len(lines),
              f"small disk: {len(lines)} lines, {stats}")
        os.unlink(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write("before\n" * 1000)
        with open(path, "a", encoding="utf-8") as file:
            subprocess.run(["gst-launch-1.0", "-q", *f"{SCENE} ! samexport location=- ! fakesink".split()], env=env,
                           stdout=file, timeout=PATIENCE, check=False)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        check(text.startswith("before\n" * 1000) and text.count('"frame":') > 0, "small disk: appended")
        os.unlink(path)
        for form in ("coco", "coco-video"):
            check_full_coco(env, disk, form)
    finally:
        subprocess.run(["umount", disk], check=False)
    return None


# MQTT


class Broker:
    """A mosquitto on a port of its own. It keeps the reader's session on disk, so that what arrives while the reader has
    not come back yet waits for it; what the publisher does is what is tested."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.config = os.path.join(folder, "mosquitto.conf")
        self.log = open(os.path.join(folder, "mosquitto.log"), "w", encoding="utf-8")
        self.database = os.path.join(folder, "mosquitto.db")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"listener {self.port} 127.0.0.1\nallow_anonymous true\npersistence true\n"
                       f"persistence_location {folder}/\nautosave_interval 0\nqueue_qos0_messages true\n"
                       f"max_queued_messages 0\nlog_dest stderr\n" + ("user root\n" if not os.geteuid() else ""))
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen([shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin"), "-c",
                                         self.config], stdout=self.log, stderr=self.log)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with socket.socket() as probe:
                if not probe.connect_ex(("127.0.0.1", self.port)):
                    return
            time.sleep(0.05)
        check(False, "mosquitto does not listen")

    def save(self):
        self.process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + PATIENCE
        while not os.path.exists(self.database) and time.monotonic() < end:
            time.sleep(0.05)
        check(os.path.exists(self.database), "mosquitto does not save its sessions")

    def freeze(self):
        """What is sent from now on is not read, and so not acknowledged."""
        self.process.send_signal(signal.SIGSTOP)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.log.close()


class Reader:
    """A mosquitto_sub. It acknowledges nothing (QoS 0): what a dying broker has not read from a socket would take with it
    what it has written to it."""

    def __init__(self, broker, topic, folder):
        self.path = os.path.join(folder, "mqtt.lines")
        self.file = open(self.path, "w", encoding="utf-8")
        self.process = subprocess.Popen(["mosquitto_sub", "-p", str(broker.port), "-t", topic, "-q", "0", "-c", "-i",
                                         "reader"], stdout=self.file)
        end = time.monotonic() + PATIENCE
        while not os.path.getsize(self.path) and time.monotonic() < end:
            subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-t", topic, "-m", '{"probe":1}'], check=False)
            time.sleep(0.1)

    def read(self):
        with open(self.path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file.read().split("\n")[:-1]]
        return [line for line in lines if "probe" not in line]

    def wait(self, wanted):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            lines = self.read()
            if wanted(lines):
                return lines
            time.sleep(0.05)
        return self.read()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.file.close()


def drop_repeats(lines):
    """What a reader does with QoS 1: of one run, lines up to the last frame it knows have come before."""
    kept = []
    for line in lines:
        if not kept or line["frame"] > kept[-1]["frame"]:
            kept.append(line)
        elif not check(line in kept, f"mqtt: frame {line['frame']} comes late, and for the first time"):
            break
    return kept


def check_odd_label(env, broker):
    """A label with characters that JSON escapes, and others that end a line for some, is read back."""
    label = "a\x01\x1f\x7f\x85\u2028\u2029\ufeff\U0001f41f'"
    sub = ["mosquitto_sub", "-p", str(broker.port), "-t", "odd", "-q", "1", "-c", "-i", "odd"]
    subprocess.run([*sub, "-E"], check=True, timeout=PATIENCE)  # from now on the broker keeps what comes
    finish(launch("samscene num-buffers=3 ! video/x-raw,width=160,height=96 ! samtrack initial-prompt=point,x=120,y=50,label=@ ! "
                  f"samexport mask-size=none mqtt-uri=mqtt://127.0.0.1:{broker.port}/odd ! fakesink", env, {"@": label}),
           "mqtt, an odd label")
    said = subprocess.run([*sub, "-C", "3"], stdout=subprocess.PIPE, check=True, timeout=PATIENCE).stdout.decode()
    lines = [json.loads(line) for line in said.splitlines()]
    check([line["objects"][0]["label"] for line in lines] == 3 * [label], f"mqtt, an odd label: {lines}")


def check_broker(env, folder):
    frames = 120
    broker = Broker(folder)
    reader = Reader(broker, "cameras/door", folder)
    try:
        broker.save()
        process = launch(f"{CAMERA.format(frames)} mqtt-uri=mqtt://127.0.0.1:{broker.port}/cameras/door ! fakesink", env)
        check(len(reader.wait(lambda lines: len(lines) >= 25)) >= 25, "mqtt: no lines come")
        broker.freeze()
        time.sleep(0.7)
        broker.kill()
        time.sleep(1)
        before = len(reader.read())
        broker.start()
        said = finish(process, "mqtt")
        lines = reader.wait(lambda lines: lines and lines[-1]["frame"] == frames - 1)
        stats = get_stats(said)
        check(len({line["run"] for line in lines}) == 1, "mqtt: run")
        is_in_order(drop_repeats(lines), frames, "mqtt")
        check(stats["frames-lost"] == 0 and stats["frames-written"] == frames, f"mqtt: {stats}")
        check(stats["reconnects"] == 1, f"mqtt: {stats['reconnects']} reconnects")
        check(25 <= before < frames, f"mqtt: {before} lines came before the broker was back: nothing was shown")
        check(said.count("WARNING: from element") == 1 and "cannot be reached" in said, f"mqtt: warnings: {said[-3000:]}")
        check("recovered=(boolean)true" in said, "mqtt: no message that the outage is over")
        # A broker that is slower than the pipeline, which is not live: nothing is lost, however small the buffer is.
        said = finish(launch("videotestsrc num-buffers=3000 ! video/x-raw,width=16,height=16 ! samexport mqtt-uri=mqtt://"
                             f"127.0.0.1:{broker.port}/other mqtt-buffer-size=4000 ! fakesink", env), "mqtt, small buffer")
        stats = get_stats(said)
        check(stats["frames-lost"] == 0 and stats["frames-written"] == 3000, f"mqtt, small buffer: {stats}")
        check_odd_label(env, broker)
        print(f"mqtt: {len(lines)} lines of {frames} frames, {before} of them before the broker was back")
    finally:
        reader.close()
        broker.close()


def check_no_broker(env):
    """Without a broker the stream ends as it would with one, and all is counted."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        said = finish(launch(f"{SCENE} ! samexport mqtt-uri=mqtt://127.0.0.1:{port} mqtt-topic=a mqtt-buffer-size=6000 ! "
                             "fakesink", env), "no broker")
    stats = get_stats(said)
    check(stats["frames-in"] == FRAMES and stats["frames-written"] == 0, f"no broker: {stats}")
    check(0 < stats["frames-lost"] < FRAMES, f"no broker: {stats}, expected some lines to wait at the end")
    check(said.count("WARNING: from element") in (1, 2), f"no broker: {said}")


def main(plugins, model, folder, python, with_mqtt):
    children.end_with_test()
    sys.path.insert(0, python)
    try:
        import numpy
        import PIL  # noqa: F401
        from pycocotools import mask as masks
    except ImportError as error:
        print(f"skipped: {error}; tools/setup.sh test installs it")
        return 77
    if not shutil.which("gst-launch-1.0"):
        print("skipped: no gst-launch-1.0")
        return 77
    notes = []
    env = dict(os.environ, GST_PLUGIN_PATH=plugins, SAMTRACK_MODEL=model,
               GST_REGISTRY=os.path.join(folder, "export.registry"))
    with tempfile.TemporaryDirectory() as scratch:
        check_masks(env, folder, masks, numpy)
        check_kill(env, scratch)
        check_stdout(env)
        check_redirected(env, scratch)
        notes.append(check_full(env, scratch))
        if not with_mqtt:
            notes.append("no MQTT in this build")
        elif not shutil.which("mosquitto", path=os.environ["PATH"] + ":/usr/sbin") or not shutil.which("mosquitto_sub"):
            notes.append("no mosquitto: left out the tests of MQTT")
        else:
            check_broker(env, scratch)
            check_no_broker(env)
    print("; ".join(note for note in notes if note) or "all tests ran")
    return bool(failures)


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:5], sys.argv[5] == "yes"))
