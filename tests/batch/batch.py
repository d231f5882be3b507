#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""samtrack-batch: whatever is killed, stopped, full or broken, every item is done once, to the byte, or its failure is told.
usage: batch.py BUILD PROGRAM PART [KILL]
PART: plan, chunks, engine, kills, faults. PROGRAM: samtrack-batch, with the engine or with the scripted tracker. KILL: a library of kill.c."""
import hashlib
import itertools
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

from jobs import (PROGRAM, PROMPT, RATE, SECONDS, call, check, check_nothing_left, clean, compare, get_environment, get_item, get_status, launch,
                  log_frames, make_reference, make_video, plan, read, run_parts, start, wait_for_frame, write_manifest)

PART, *KILL = sys.argv[3:]

# ---- plan

GOOD = {'id': 'a', 'uri': 'a.mp4', 'prompt': PROMPT}
BAD = [
    ('{"id":"a"', 'it is not JSON'),
    ('[]', 'it is not an object of JSON'),
    ('[' * 100000, 'nested more than'),
    (b'\xff\xfe', 'not text in UTF-8'),
    ({**GOOD, 'id': '../x'}, 'begins with a dot'),
    ({**GOOD, 'id': 'x/../y'}, 'begins with a dot'),
    ({**GOOD, 'id': '/x'}, 'is empty'),
    ({**GOOD, 'id': 'a b'}, 'other characters'),
    ({**GOOD, 'id': 'x' * 201}, '201 characters'),
    ({**GOOD, 'id': 7}, "'id' is missing, or is no text"),
    ({'uri': 'a.mp4', 'prompt': PROMPT}, "'id' is missing"),
    ({**GOOD, 'colour': 1}, "'colour' is not known"),
    ({'id': 'b', 'prompt': PROMPT}, "'uri' and 'parts'"),
    ({**GOOD, 'parts': ['b.mp4']}, "'uri' and 'parts'"),
    ({'id': 'b', 'parts': [], 'prompt': PROMPT}, "'parts' is not a list"),
    ({'id': 'b', 'parts': [1], 'prompt': PROMPT}, 'URI is empty, or no text'),
    ({**GOOD, 'uri': 'rtsp://a/b'}, 'file://, http://, https:// and s3://'),
    ({**GOOD, 'uri': 's3://a/b'}, 'the bucket of'),
    ({**GOOD, 'uri': 's3://Videos/b'}, 'the bucket of'),
    ({**GOOD, 'uri': 's3://videos'}, 'the key of'),
    ({**GOOD, 'uri': 's3://videos/'}, 'has 0 bytes'),
    ({**GOOD, 'uri': 's3://videos/a/../b'}, 'or a part that is . or ..'),
    ({**GOOD, 'uri': 's3://videos/' + 'k' * 1025}, 'has 1025 bytes'),
    ({**GOOD, 'uri': 's3://videos/k', 'sha256': 'a' * 64}, 'expects one file'),
    ({**GOOD, 'uri': ''}, 'URI is empty'),
    ({'id': 'b', 'uri': 'a.mp4'}, "'prompt' and 'prompts'"),
    ({**GOOD, 'prompt': ''}, "'prompt' is empty"),
    ({'id': 'b', 'uri': 'a.mp4', 'prompts': [{'at': -1, 'prompt': PROMPT}]}, "'at' is not a number of seconds"),
    ({'id': 'b', 'uri': 'a.mp4', 'prompts': [{'at': 1}]}, "'prompt' and perhaps 'at'"),
    ({'id': 'b', 'uri': 'a.mp4', 'detect': 1}, "'detect' is neither true nor false"),
    ({'id': 'b', 'uri': 'a.mp4', 'detect': False}, "or 'detect'"),
    ({'id': 'b', 'uri': 'a.mp4', 'detect': True}, 'the job has no detector'),
    ({'id': 'b', 'uri': 'a.mp4', 'words': 'dog'}, 'the job has no detector'),
    ({'id': 'b', 'uri': 'a.mp4', 'words': 'dog', 'detect': False}, "'words' needs a detector, but 'detect' is false"),
    ({'id': 'b', 'uri': 'a.mp4', 'words': 'a "dog"'}, "'words' is empty, no text, or has a quotation mark or a backslash"),
    ({'id': 'b', 'uri': 'a.mp4', 'words': ['dog']}, "'words' is empty, no text"),
    ({'id': 'b', 'parts': ['a.mp4', 'b.mp4'], 'detect': True}, "expects one file, not 'parts'"),
    ({**GOOD, 'start': 5, 'stop': 5}, "'stop' is 5"),
    ({**GOOD, 'frames': 0}, "'frames' is not a whole number"),
    ({**GOOD, 'seconds': 1e12}, "'seconds' is not a number of seconds"),
    ({**GOOD, 'sha256': 'abc'}, '64 digits'),
    ({**GOOD, 'prompt': 'x' * (10 << 20)}, 'bytes, expected 1048576 at most'),
]


def refuse_manifests(folder):
    """A sentence for each bad line, which names it; nothing is made."""
    manifest, job = folder / 'bad.jsonl', folder / 'bad'
    for line, wanted in BAD:
        text = line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
        manifest.write_bytes(json.dumps({**GOOD, 'id': 'first'}).encode() + b'\n\n' + text + b'\n')
        log = call('plan', manifest, f'--job={job}', status=2)
        check(f"'{manifest}', line 3: " in log and wanted in log and log.count('\n') == 2, f'{text[:60]} is told as: {log[:400]}')
        check(not job.exists() and not list(folder.glob('.bad.*')), 'a bad manifest made a folder')
    write_manifest(manifest, GOOD, {**GOOD, 'uri': 'b.mp4'})
    check("line 2: the id 'a' is that of line 1, too" in call('plan', manifest, f'--job={job}', status=2), 'an id twice')
    manifest.write_text('x\n' * 50)
    log = call('plan', manifest, f'--job={job}', status=2)
    check(log.count('line ') == 20 and '30 more lines are wrong' in log and '50 of 50 lines' in log, f'50 bad lines: {log}')
    manifest.write_text('\n')
    check('has no lines' in call('plan', manifest, f'--job={job}', status=2), 'an empty manifest')


def refuse_options(folder):
    manifest = write_manifest(folder / 'good.jsonl', GOOD)
    for options, wanted in ((['--chunk=0'], '--chunk is 0'), (['--format=xml'], 'expected one of json-lines, coco, davis, webdataset'),
                            (['--set=interval=3'], "'interval' is not a property that a job may set"),
                            (['--set=threads=x'], "'threads' does not take 'x'"), (['--set=threads=100000'], "does not take '100000'"),
                            (['--set=threads'], 'expected NAME=VALUE'), (['--set=threads=1', '--set=threads=2'], "'threads' twice"),
                            (['--set=model-file=/nothing'], "'/nothing' cannot be read"),
                            (['--format=coco', '--mask-size=none'], 'consists of masks'), (['more'], "'more' is not expected")):
        log = call('plan', manifest, f'--job={folder}/none', *options, status=2)
        check(wanted in log and log.count('\n') == 1 and not (folder / 'none').exists(), f'{options}: {log}')
    for words, wanted in (([], 'expected one of plan, run, merge and status'), (['dance'], "'dance' is not one of"), (['run'], '--job is missing'),
                          (['run', f'--job={folder}/none'], 'job.json'), (['status', f'--job={folder}/none'], 'job.json')):
        check(wanted in call(*words, status=2), f'{words}')


def freeze(folder):
    """The same plan again changes nothing; another one is refused."""
    manifest = write_manifest(folder / 'one.jsonl', GOOD)
    job = plan(folder, 'one', manifest)
    before = (job / 'job.json').read_bytes()
    plan(folder, 'one', manifest)
    log = call('plan', manifest, f'--job={job}', '--shards=1', '--chunk=7', status=2)
    check('nothing was changed' in log and (job / 'job.json').read_bytes() == before, f'another plan: {log}')
    for shard, wanted in ((['--shard=1'], 'has the shards 0 to 0'), ([], 'no shard is named')):
        check(wanted in call('run', f'--job={job}', *shard, status=2), f'{shard}')
    check("SLURM_ARRAY_TASK_ID is '1x', expected a number" in call('run', f'--job={job}', status=2, SLURM_ARRAY_TASK_ID='1x'), 'a bad index')
    text = json.loads(before)
    for change, wanted in (({'version': '0.0.1'}, 'was planned by version 0.0.1'), ({'items': 'x'}, 'is not what samtrack-batch plan')):
        (job / 'job.json').write_text(json.dumps({**text, **change}))
        check(wanted in call('run', f'--job={job}', '--shard=0', status=2), f'{change}')
    (job / 'job.json').write_bytes(before[:-20])
    check('cannot be read: it is not JSON' in call('run', f'--job={job}', '--shard=0', status=2), 'a torn job.json')


def pack(folder):
    """100 000 items: each in one shard, the loads equal but for an item, the missing ones as a list of ranges."""
    lengths = random.Random(1)
    items = [{'id': f'cam{i % 97}/{i}', 'uri': f'{i}.mp4', 'prompt': PROMPT, 'seconds': round(lengths.lognormvariate(4, 1), 3)}
             for i in range(100000)]
    job = folder / 'many'
    said = call('plan', write_manifest(folder / 'many.jsonl', *items), f'--job={job}', '--shards=1000')
    check(said.startswith('items 100000, shards 1000, run '), said)
    seconds = {item['id']: item['seconds'] for item in items}
    shards, lines = {}, (job / 'shards.jsonl').read_bytes().splitlines(keepends=True)
    for line, told in zip(lines, (job / 'index').read_text().splitlines()):
        shard, size, name = told.split(' ')
        check(int(size) == len(line) and json.loads(line)['id'] == name, f'the index tells {told} of {line}')
        shards.setdefault(int(shard), []).append(name)
    seen = {name for names in shards.values() for name in names}
    loads = [sum(seconds[name] for name in names) for names in shards.values()]
    check(list(shards) == sorted(shards) and len(lines) == 100000, 'the order of shards')
    check(len(loads) == 1000 and len(seen) == 100000, f'{len(loads)} shards, {len(seen)} items')
    check(max(loads) - min(loads) < 5, f'loads of {min(loads)} to {max(loads)} s')
    check(get_status(job) == {'items': 100000, 'done': 0, 'failed': 0, 'begun': 0, 'to begin': 100000, 'shards': 1000, 'to run': 1000},
          'the status of a new job')
    for shard in (0, 1, 2, 4, 999):
        for name in shards[shard]:
            (job / 'items' / hashlib.md5(name.encode()).hexdigest()[:2] / name.replace('/', '+')).mkdir(parents=True)
    check(call('status', f'--job={job}', '--missing') == '3,5-998\n', 'the ranges of what is missing')


# ---- chunks

def cut(folder):
    """Chunks of half a second, ended by signals at any frame: the bytes of an unbroken run. Prompts come at their times, once."""
    make_video(folder / 'v.mp4')
    item = {'id': 'a/v', 'uri': 'v.mp4', 'frames': SECONDS * RATE, 'seconds': SECONDS,
            'prompts': [{'prompt': PROMPT}, {'at': 0.9, 'prompt': 'point,x=30,y=20'}]}
    whole = make_reference(folder, item)
    lines = [json.loads(line) for line in read(whole, 'a+v').splitlines()]
    check([line['frame'] for line in lines] == list(range(SECONDS * RATE)), 'the frames of an unbroken run')
    check([len(line['objects']) for line in lines] == [1 if line['stream_time'] < 0.9e9 else 2 for line in lines], 'prompts at their times')
    check(len({line['run'] for line in lines}) == 1 and 'inference_time' not in lines[0], 'the fields of a line')
    told = json.loads((get_item(whole, 'a+v') / 'item.json').read_text())
    check(told['status'] == 'done' and told['frames'] == SECONDS * RATE and told['last'] == lines[-1]['stream_time'], f'item.json: {told}')
    tracks = json.loads(read(whole, 'a+v', 'tracks.json'))['objects']
    check([t['id'] for t in tracks] == [1, 2] and tracks[1]['first'] >= 0.9e9, f'tracks.json: {tracks}')

    job = plan(folder, 'chunks', folder / 'm.jsonl', '--chunk=0.5')
    call('run', f'--job={job}', '--shard=0')
    compare(job, whole, 'a+v')
    log = call('run', f'--job={job}', '--shard=0')
    check('0 done, 1 were done' in log, f'run again: {log}')

    job = plan(folder, 'signals', folder / 'm.jsonl', '--chunk=1000')
    runs, status = 0, 75
    while status == 75:
        # With steps of 10 ms an item lasts until the signal is there.
        process = start('run', f'--job={job}', '--shard=0', **({'SAMTRACK_SCRIPT': 'step,0,10000,0', **log_frames(folder)} if runs < 6 else {}))
        if runs < 6:
            wait_for_frame(process, folder)
            process.send_signal((signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)[runs % 3])
        log = process.communicate(timeout=60)[1]
        status, runs = process.returncode, runs + 1
        check(status in (0, 75), f'after a signal it ends with status {status}: {log}')
    check(runs > 2, f'it was done after {runs} runs, before a signal came')
    compare(job, whole, 'a+v')


def make_parts(folder):
    """One recording in two files: the masks and ids of the recording in one."""
    names, size = ['part0.mkv', 'part1.mkv'], 160 * 96 * 3 // 2
    launch('samscene', f'num-buffers={SECONDS * RATE}', '!', f'video/x-raw,width=160,height=96,framerate={RATE}/1', '!', 'videoconvert', '!',
           'video/x-raw,format=I420', '!', 'filesink', f'location={folder}/raw')
    frames = (folder / 'raw').read_bytes()
    for name, data in (('all.mkv', frames), (names[0], frames[:RATE * size]), (names[1], frames[RATE * size:])):
        (folder / 'raw').write_bytes(data)
        launch('filesrc', f'location={folder}/raw', '!', 'rawvideoparse', 'width=160', 'height=96', 'format=i420', f'framerate={RATE}/1', '!',
               'jpegenc', '!', 'matroskamux', '!', 'filesink', f'location={folder}/{name}')
    items = ({'id': 'all', 'uri': 'all.mkv', 'prompt': PROMPT}, {'id': 'parts', 'parts': names, 'prompt': PROMPT})
    whole = make_reference(folder, *items)
    job = plan(folder, 'p', folder / 'm.jsonl', '--chunk=0.3')
    call('run', f'--job={job}', '--shard=0')
    compare(job, whole, 'all', 'parts')
    lines = [[json.loads(line) for line in read(job, name).splitlines()] for name in ('all', 'parts')]
    check(len(lines[0]) == SECONDS * RATE, f'{len(lines[0])} frames')
    check([[(o['id'], o['box'], o['mask']) for o in line['objects']] for line in lines[0]] ==
          [[(o['id'], o['box'], o['mask']) for o in line['objects']] for line in lines[1]], 'masks of parts are not those of one file')
    times = [line['stream_time'] for line in lines[1]]
    check(times == sorted(times) and abs(times[-1] - lines[0][-1]['stream_time']) < 5e6, f'the times of parts end at {times[-1]}')


def make_coco(folder):
    """The COCO file of an item in chunks is that of one chunk, and has its masks."""
    make_video(folder / 'v.mp4', 1)
    manifest = write_manifest(folder / 'm.jsonl', {'id': 'v', 'uri': 'v.mp4', 'prompt': PROMPT})
    lines = make_reference(folder, json.loads(manifest.read_text()))
    texts = []
    for name, chunk in (('c1', '1000'), ('c2', '0.3')):
        job = plan(folder, name, manifest, f'--chunk={chunk}', '--format=coco')
        call('run', f'--job={job}', '--shard=0')
        texts.append(read(job, 'v', 'coco.json'))
        check(not (get_item(job, 'v') / 'frames.jsonl').exists(), 'lines beside a COCO file')
    check(texts[0] == texts[1], 'COCO files of chunks')
    data = json.loads(texts[0])
    objects = [o for line in read(lines, 'v').splitlines() for o in json.loads(line)['objects'] if o['mask']]
    check([a['segmentation'] for a in data['annotations']] == [o['mask'] for o in objects] and len(data['images']) == RATE, 'masks of COCO')
    check([(a['bbox'], a['area']) for a in data['annotations']] == [([*map(float, o['box'])], o['area']) for o in objects] or
          [(a['bbox'], a['area']) for a in data['annotations']] == [(o['box'], o['area']) for o in objects], 'boxes of COCO')


def make_davis(folder):
    """PNGs of the masks in the lines, the same in chunks; a value for each object."""
    make_video(folder / 'v.mp4', 1)
    item = {'id': 'v', 'uri': 'v.mp4', 'prompts': [{'prompt': PROMPT}, {'at': 0.5, 'prompt': 'box,x=4,y=4,w=20,h=20'}]}
    lines = read(make_reference(folder, item), 'v').splitlines()
    texts = []
    for name, chunk in (('d1', '1000'), ('d2', '0.3')):
        job = plan(folder, name, folder / 'm.jsonl', f'--chunk={chunk}', '--format=davis')
        call('run', f'--job={job}', '--shard=0')
        files = sorted(get_item(job, 'v').glob('masks/*'))
        check([f.name for f in files] == [f'{n:05}.png' for n in range(RATE)], f'PNGs: {[f.name for f in files]}')
        texts.append(b''.join(f.read_bytes() for f in files))
        check(json.loads(read(job, 'v', 'item.json'))['masks'] == hashlib.sha256(texts[-1]).hexdigest(), 'the hash of the PNGs')
    check(texts[0] == texts[1], 'PNGs of chunks')
    try:
        from PIL import Image
    except ImportError:
        print('without Pillow the PNGs are not read')
        return
    for file, line in zip(files, lines):
        values = Image.open(file).tobytes()
        objects = json.loads(line)['objects']
        areas = [o['area'] for o in objects]
        check([values.count(i + 1) for i in range(len(areas))] == areas and sum(areas) + values.count(0) == len(values),
              f'{file.name} has other masks than {areas}')
        if len(objects) == 1:
            x, y, w, h = objects[0]['box']
            rows = [values[r * 160:(r + 1) * 160] for r in range(96)]
            check(all(bool(rows[r][c]) == (x <= c < x + w and y <= r < y + h) for r in range(96) for c in range(160)), f'{file.name}: {x, y, w, h}')


# ---- kills

def kill_everywhere(folder):
    """Each run is killed at the next call of those that change names or wait for the disk, before it and behind it, also of one item while
    the next one has begun."""
    make_video(folder / 'v.mkv')
    make_video(folder / 'w.mkv', 1)
    whole = make_reference(folder, *({'id': name, 'uri': f'{name}.mkv', 'prompt': PROMPT} for name in 'vw'))
    runs = 0
    # in chunks, and without any
    for chunk, behind in itertools.product((0.8, 1000), ({}, {'KILL_AFTER': '1'})):
        job = plan(folder, f'kills{chunk}{len(behind)}', folder / 'm.jsonl', f'--chunk={chunk}')
        for at in range(1, 200):
            process = start('run', f'--job={job}', '--shard=0', LD_PRELOAD=KILL[0], KILL_AT=str(at), **behind)
            log = process.communicate(timeout=60)[1]
            check(process.returncode in (0, -signal.SIGKILL), f'killed at call {at}, it ends with status {process.returncode}: {log}')
            runs += 1
            if process.returncode == 0:
                break
        check(8 < at < 199 and (chunk < 2 or not list(job.glob('parts/*'))), f'it was done at call {at}')
        call('run', f'--job={job}', '--shard=0')  # removes what the last kill left
        clean(job)
        compare(job, whole, 'v', 'w')
    print(f'{runs} kills')


def wait_behind(folder):
    """An item with which runs end without a word is tried after the others of its shard."""
    make_video(folder / 'v.mkv', 1)
    items = [{'id': name, 'uri': 'v.mkv', 'prompt': PROMPT, 'seconds': seconds} for name, seconds in (('long', 2), ('short', 1))]
    whole = make_reference(folder, *items)
    job = plan(folder, 'behind', folder / 'm.jsonl')
    for _ in range(3):
        process = start('run', f'--job={job}', '--shard=0', LD_PRELOAD=KILL[0], KILL_AT='5')
        process.communicate(timeout=60)
        check(process.returncode == -signal.SIGKILL, f'it was to be killed: {process.returncode}')
    check('long: a run of it goes on, or has ended without a word' in call('status', f'--job={job}', '--failed'), 'what is told of it')
    call('run', f'--job={job}', '--shard=0')
    times = [(get_item(j, name) / 'item.json').stat().st_mtime_ns for j in (whole, job) for name in ('long', 'short')]
    check(times[0] < times[1] and times[2] > times[3], f'the order of items: {times}')
    clean(job)
    compare(job, whole, 'long', 'short')


def kill_at_random(folder):
    make_video(folder / 'v.mp4')
    seed = int(os.environ.get('BATCH_SEED', time.time()))
    print(f'BATCH_SEED={seed}')
    delays = random.Random(seed)
    items = [{'id': f'v{i}', 'uri': 'v.mp4', 'prompt': PROMPT} for i in range(3)]
    whole = make_reference(folder, *items)
    job = plan(folder, 'random', folder / 'm.jsonl', '--chunk=0.2')
    status = None
    for kills in range(100):
        workers = [start('run', f'--job={job}', '--shard=0') for _ in range(2)]  # on the same items
        time.sleep(delays.uniform(0.05, 0.5))
        if kills < 5:
            for worker in workers:
                worker.kill()
        said = [worker.communicate(timeout=60)[1] for worker in workers]
        status = [worker.returncode for worker in workers]
        check(all(s in (0, -signal.SIGKILL) for s in status), f'{status}: {said}')
        if status == [0, 0]:
            break
    check(status == [0, 0], f'two workers, at last: {status}')
    clean(job)
    compare(job, whole, 'v0', 'v1', 'v2')


# ---- faults

def limit_files(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def fill_disk(folder):
    """What cannot be written is no result, and is not given up: with room it is done, from where it was."""
    make_video(folder / 'v.mp4')
    whole = make_reference(folder, *({'id': name, 'uri': 'v.mp4', 'prompt': PROMPT} for name in 'vw'))
    size = len(read(whole, 'v'))
    for limit, tried in ((100, 1), (size // 3, 2), (size - 1, 2)):
        job = plan(folder, f'full{limit}', folder / 'm.jsonl', '--chunk=0.5')
        log = call('run', f'--job={job}', '--shard=0', status=75, before=limit_files(limit))
        check('File too large' in log and log.count('is to be tried again') == tried, f'a limit of {limit} bytes: {log}')
        check(('the rest waits' in log) == (tried == 1), f'where nothing can be written the others wait: {log}')
        check(not list(job.glob('items/*/v')), 'a result that was not written')
        call('run', f'--job={job}', '--shard=0')
        compare(job, whole, 'v', 'w')


def make_read_only(folder):
    """A job's folder that cannot be written to is told at once, and changes nothing."""
    make_video(folder / 'v.mp4')
    job = plan(folder, 'fixed', write_manifest(folder / 'm.jsonl', {'id': 'v', 'uri': 'v.mp4', 'prompt': PROMPT}))
    if subprocess.run(['unshare', '--mount', '--map-root-user', 'true'], stderr=subprocess.DEVNULL, check=False).returncode:
        print('no file system can be mounted: none is read-only')
        return
    mount = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
    for words, wanted in ((['run', f'--job={job}', '--shard=0'], f"'{job}' cannot be written to: Read-only file system"),
                          (['plan', str(folder / 'm.jsonl'), f'--job={job}/other'], 'Read-only file system')):
        done = subprocess.run(['unshare', '--mount', '--map-root-user', 'sh', '-c', mount, 'sh', job, PROGRAM, *words], capture_output=True, text=True,
                              timeout=60, env=get_environment(), check=False)
        check(wanted in done.stderr and done.returncode in (1, 2), f'{words} on what is read-only: status {done.returncode}, {done.stderr}')
    check(sorted(path.name for path in job.iterdir()) == sorted(path.name for path in plan(folder, 'same', folder / 'm.jsonl').iterdir()), 'it has changed')


def fail_for_good(folder):
    """Of each the sentence and the status; the good one beside them is done."""
    make_video(folder / 'v.mp4')
    data = (folder / 'v.mp4').read_bytes()
    (folder / 'short.mp4').write_bytes(data[:len(data) * 2 // 3])
    (folder / 'empty.mp4').write_bytes(b'')
    (folder / 'rubbish.mp4').write_bytes(bytes(random.Random(1).randbytes(20000)))
    cases = {
        'short': ({'uri': 'short.mp4'}, 'truncated'),
        'empty': ({'uri': 'empty.mp4'}, ''),
        'rubbish': ({'uri': 'rubbish.mp4'}, ''),
        'missing': ({'uri': 'nothing.mp4'}, 'nothing.mp4'),
        'outside': ({'uri': 'v.mp4', 'prompt': 'box,x=2500,y=1,w=10,h=10'}, 'refused'),
        'unknown': ({'uri': 'v.mp4', 'prompt': 'circle,x=1'}, 'circle'),
        'late': ({'uri': 'v.mp4', 'prompt': None, 'prompts': [{'prompt': PROMPT}, {'at': 9, 'prompt': PROMPT}]}, 'before the prompt at 9.000 s'),
        'frames': ({'uri': 'v.mp4', 'frames': 59}, 'has 60 frames, expected 59'),
        'hash': ({'uri': 'v.mp4', 'sha256': '0' * 64}, 'another SHA-256'),
        'good': ({'uri': 'v.mp4', 'sha256': hashlib.sha256(data).hexdigest()}, None),
        'stop': ({'uri': 'v.mp4', 'start': 0.5, 'stop': 1, 'frames': 15}, None),
    }
    items = [{k: v for k, v in {'id': name, 'prompt': PROMPT, **item}.items() if v is not None} for name, (item, _) in cases.items()]
    job = plan(folder, 'faults', write_manifest(folder / 'm.jsonl', *items))
    call('run', f'--job={job}', '--shard=0', status=3)
    told = dict(line.split(': ', 1) for line in call('status', f'--job={job}', '--failed').splitlines())
    for name, (_, wanted) in cases.items():
        if wanted is None:
            check(name not in told and json.loads((get_item(job, name) / 'item.json').read_text())['status'] == 'done', f'{name}: {told}')
        else:
            check(wanted in told.get(name, '-') and '(permanent, attempts: 1)' in told[name], f'{name} is told as {told.get(name)}')
            check(not list(job.glob(f'items/*/{name}')) and not list(job.glob(f'parts/*/{name}')), f'{name} left something')
    times = [json.loads(line)['stream_time'] for line in read(job, 'stop').splitlines()]
    check(len(times) == 15 and times[0] >= 0.5e9 and times[-1] < 1e9, f'from 0.5 to 1 s: {times}')
    status = get_status(job)
    check((status['done'], status['failed'], status['to run']) == (2, 9, 0), f'{status}')
    (folder / 'nothing.mp4').write_bytes(data)
    call('run', f'--job={job}', '--shard=0', status=3)
    check(get_status(job)['done'] == 2, 'what has failed for good was tried again')
    call('run', f'--job={job}', '--shard=0', '--retry', status=3)
    check(get_status(job)['done'] == 3, 'what was asked for again was not')


def begin_item(job):
    """Until a chunk of the item v is kept."""
    for at in range(9, 200):
        process = start('run', f'--job={job}', '--shard=0', LD_PRELOAD=KILL[0], KILL_AT=str(at))
        process.communicate(timeout=60)
        if list(job.glob('parts/*/v/0*')):
            break
    check(process.returncode == -signal.SIGKILL and get_status(job)['begun'] == 1, 'a chunk was to be kept')


def change_files(folder):
    """A video that is replaced between two runs, or decodes otherwise, is tracked anew; a model that is replaced ends the job."""
    make_video(folder / 'v.mp4')
    make_video(folder / 'w.mp4', seed=1)
    items = ({'id': 'v', 'uri': 'v.mp4', 'prompt': PROMPT},)
    job = plan(folder, 'frames', write_manifest(folder / 'm.jsonl', *items), '--chunk=1.2')
    begin_item(job)
    part = next(job.glob('parts/*/v/000000/part.json'))
    part.write_text(json.dumps({**json.loads(part.read_text()), 'last_hash': '0' * 64}))
    log = call('run', f'--job={job}', '--shard=0', status=75)
    check('does not decode to the frames that were tracked before' in log and not list(job.glob('parts/*/v')), f'other frames: {log}')
    call('run', f'--job={job}', '--shard=0')
    compare(job, make_reference(folder, *items), 'v')
    shutil.rmtree(folder / 'whole')

    job = plan(folder, 'changes', folder / 'm.jsonl', '--chunk=0.3')
    begin_item(job)
    os.replace(folder / 'w.mp4', folder / 'v.mp4')
    call('run', f'--job={job}', '--shard=0')
    whole = make_reference(folder, *items)
    compare(job, whole, 'v')

    # A machine that fails may take with it what was not on its disk: files of the last chunk.
    job = plan(folder, 'torn', folder / 'm.jsonl', '--chunk=0.3')
    for name, status in (('part.json', 0), ('frames.jsonl', 75)):
        begin_item(job)
        for chunk in sorted(job.glob('parts/*/v/0*'))[-1:]:
            (chunk / name).write_bytes(b'')
        log = call('run', f'--job={job}', '--shard=0', status=status)
        check(status == 0 or 'is not what was written' in log, f'a torn {name}: {log}')
        call('run', f'--job={job}', '--shard=0')
        compare(job, whole, 'v')
        shutil.rmtree(get_item(job, 'v'))

    # Gone between two chunks, and there again.
    job = plan(folder, 'gone', folder / 'm.jsonl', '--chunk=0.3')
    begin_item(job)
    (folder / 'v.mp4').rename(folder / 'elsewhere.mp4')
    check('v.mp4' in (log := call('run', f'--job={job}', '--shard=0', status=3)), f'a video that has vanished: {log}')
    (folder / 'elsewhere.mp4').rename(folder / 'v.mp4')
    call('run', f'--job={job}', '--shard=0', '--retry')
    compare(job, whole, 'v')

    model = folder / 'model.safetensors'
    shutil.copy(pathlib.Path(os.environ['SAMTRACK_MODEL']), model)
    job = plan(folder, 'model', folder / 'm.jsonl', f'--set=model-file={model}')
    with open(model, 'ab') as f:
        f.write(b' ')
    check('it has changed' in call('run', f'--job={job}', '--shard=0', status=2), 'a model that was replaced')
    model.unlink()
    check('cannot be read' in call('run', f'--job={job}', '--shard=0', status=2), 'a model that is gone')


PARTS = {
    'plan': [refuse_manifests, refuse_options, freeze, pack],
    'chunks': [cut, make_parts, make_coco, make_davis],
    'engine': [cut],
    'kills': [kill_everywhere, wait_behind, kill_at_random],
    'faults': [fill_disk, make_read_only, fail_for_good, change_files],
}


run_parts(PARTS[PART])
