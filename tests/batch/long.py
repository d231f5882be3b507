#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""samtrack-batch: long recordings in pieces that are put together again, and the items of other shards.
usage: long.py BUILD PROGRAM PART KILL
PART: pieces, steal, detect, web. PROGRAM: samtrack-batch with the scripted tracker. KILL: a library of kill.c."""
import http.server
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time

from jobs import (RATE, call, check, check_nothing_left, clean, compare, get_item, get_status, launch, log_frames, make_reference, make_video, plan, read,
                  run_parts, start, wait_for_frame, write_manifest)

PART, KILL = sys.argv[3:]
LENGTH = 6
# The scripted tracker moves a box by a pixel or so a frame, and after 16 frames back: after 1.6 s it is where a new prompt has it.
CUT = ['--cut=1.6', '--overlap=0.4', '--chunk=0.7']


def box(x, y, w=40, h=30):
    return f'box,x={x},y={y},w={w},h={h}'


PROMPTS = [
    {'prompt': box(8, 8)}, {'prompt': box(90, 50)},
    {'at': 1.6, 'prompt': box(92, 51)}, {'at': 1.6, 'prompt': box(8, 8)},     # the same in another order, and not quite
    {'at': 3.2, 'prompt': box(8, 8)}, {'at': 3.2, 'prompt': box(60, 60)},     # another one for the second
    {'at': 4.8, 'prompt': box(8, 8)},
]


def find_lines(job, name):
    return [json.loads(line) for line in read(job, name).splitlines()]


def get_ids(lines):
    """[[number of frames, ids], ...]"""
    runs = []
    for line in lines:
        ids = [o['id'] for o in line['objects']]
        if runs and runs[-1][1] == ids:
            runs[-1][0] += 1
        else:
            runs.append([1, ids])
    return runs


def make_recordings(folder):
    """One recording in a file, and in three."""
    size = 160 * 96 * 3 // 2
    launch('samscene', f'num-buffers={LENGTH * RATE}', '!', f'video/x-raw,width=160,height=96,framerate={RATE}/1', '!', 'videoconvert', '!',
           'video/x-raw,format=I420', '!', 'filesink', f'location={folder}/raw')
    frames = (folder / 'raw').read_bytes()
    step = 2 * RATE * size
    for name, data in (('all.mkv', frames), *((f'part{i}.mkv', frames[i * step:(i + 1) * step]) for i in range(3))):
        (folder / 'raw').write_bytes(data)
        launch('filesrc', f'location={folder}/raw', '!', 'rawvideoparse', 'width=160', 'height=96', 'format=i420', f'framerate={RATE}/1', '!',
               'jpegenc', '!', 'matroskamux', '!', 'filesink', f'location={folder}/{name}')
    common = {'prompts': PROMPTS, 'seconds': LENGTH, 'frames': LENGTH * RATE}
    return ({'id': 'a/all', 'uri': 'all.mkv', **common}, {'id': 'parts', 'parts': [f'part{i}.mkv' for i in range(3)], **common})


def run_all(job, status=0):
    for shard in range(json.loads((job / 'job.json').read_text())['shards']):
        call('run', f'--job={job}', f'--shard={shard}', status=status)


def stitch(folder):
    """Ids go on through pieces; masks are those of an unbroken run; whatever the merge is killed at, its bytes are the same."""
    items = make_recordings(folder)
    whole = make_reference(folder, {**items[0], 'prompts': PROMPTS[:2]})
    manifest = write_manifest(folder / 'cut.jsonl', *items)
    job = folder / 'cut'
    said = call('plan', manifest, f'--job={job}', '--shards=3', *CUT)
    check('items 8, shards 3' in said and 'recordings cut 2' in said, said)
    call('run', f'--job={job}', '--shard=0')
    log = call('merge', f'--job={job}', status=75)
    check("'a/all': of 4 pieces " in log and 'and 0 of them have failed' in log and not list(job.glob('items/*/*')), f'too early: {log}')
    run_all(job)
    check(get_status(job) == {'items': 8, 'done': 8, 'failed': 0, 'begun': 0, 'to begin': 0, 'shards': 3, 'to run': 0,
                              'recordings cut': 2, 'put together': 0}, f'{get_status(job)}')
    kills = 0
    for at in range(1, 300):
        process = start('merge', f'--job={job}', LD_PRELOAD=KILL, KILL_AT=str(at))
        log = process.communicate(timeout=60)[1]
        check(process.returncode in (0, -signal.SIGKILL), f'killed at call {at} merge ends with status {process.returncode}: {log}')
        kills += process.returncode != 0
        if process.returncode == 0:
            break
    check(kills > 10, f'{kills} kills')
    check(get_status(job)['put together'] == 2, 'put together')
    clean(job)
    check_nothing_left(job)
    check(not list(job.glob('pieces/*/*')), 'pieces are left')
    check_lines(job, whole)
    log = call('run', f'--job={job}', '--shard=0')
    check(' 0 done' in log and not list(job.glob('p*/*/*')), f'a piece was run again: {log}')
    return job


def check_lines(job, whole):
    reference = find_lines(whole, 'a+all')
    lines, parts = find_lines(job, 'a+all'), find_lines(job, 'parts')
    for here in (lines, parts):
        check([line['frame'] for line in here] == [line['frame_index'] for line in here] == list(range(LENGTH * RATE)), 'numbers of frames')
        # until the end of a piece, which is 0.4 s after the begin of the next one
        check(get_ids(here) == [[60, [1, 2]], [48, [2, 1]], [48, [1, 3]], [24, [1]]], f'ids: {get_ids(here)}')
    for mine, theirs in zip(lines, reference):
        a, b = ([{k: v for k, v in o.items() if k not in ('slot', 'state')} for o in line['objects'] if o['id'] == 1] for line in (mine, theirs))
        check(a == b and len(a) == 1, f'frame {mine["frame"]} has the object 1 as {a}, an unbroken run as {b}')
        check({k: v for k, v in mine.items() if k not in ('objects', 'run')} == {k: v for k, v in theirs.items() if k not in ('objects', 'run')},
              f'frame {mine["frame"]} is {mine}, in an unbroken run {theirs}')
    check([[o['mask'] for o in line['objects']] for line in lines] == [[o['mask'] for o in line['objects']] for line in parts], 'masks of parts')
    told = json.loads(read(job, 'a+all', 'item.json'))
    borders = told['borders']
    check([(b['time'], b['frames'], [s['id'] for s in b['same']], b['only_before'], b['only_after']) for b in borders] ==
          [(1600000000, 12, [1, 2], [], []), (3200000000, 12, [1], [2], [3]), (4800000000, 12, [1], [3], [])], f'borders: {borders}')
    check(borders[0]['same'][0]['iou'] == 1 and 0.8 < borders[0]['same'][1]['iou'] < 0.95, f'IoU: {borders[0]}')
    check(told['frames'] == LENGTH * RATE and told['cpu_seconds'] > 0 and len(told['devices']) == 1, f'item.json: {told}')
    tracks = json.loads(read(job, 'a+all', 'tracks.json'))['objects']
    check([(t['id'], t['frames']) for t in tracks] == [(1, 180), (2, 108), (3, 48)], f'tracks.json: {tracks}')


def other_formats(folder):
    """A COCO file and PNGs have the masks and the objects of the lines."""
    item = make_recordings(folder)[0]
    manifest = write_manifest(folder / 'cut.jsonl', item)
    jobs = {}
    for name in ('json-lines', 'coco', 'davis', 'webdataset'):
        jobs[name] = plan(folder, name, manifest, f'--format={name}', *CUT)
        run_all(jobs[name])
        call('merge', f'--job={jobs[name]}')
    lines = find_lines(jobs['json-lines'], 'a+all')
    data = json.loads(read(jobs['coco'], 'a+all', 'coco.json'))
    found = [(a['image_id'], a['track_id'], a['segmentation']['counts']) for a in data['annotations']]
    wanted = [(line['frame'] + 1, o['id'], o['mask']['counts']) for line in lines for o in line['objects']]
    check(sorted(found) == sorted(wanted), 'masks of COCO')
    pngs = sorted(get_item(jobs['davis'], 'a+all').glob('masks/*.png'))
    with tarfile.open(fileobj=io.BytesIO(read(jobs['webdataset'], 'a+all', 'masks.tar'))) as tar:
        files = {member.name: tar.extractfile(member).read() for member in tar}
    check(list(files) == [f'{n:05}.{kind}' for n in range(LENGTH * RATE) for kind in ('png', 'json')], f'the tar file has {list(files)[:9]}')
    check([files[png.name] for png in pngs] == [png.read_bytes() for png in pngs], 'PNGs of the tar file')
    told = b''.join(data for name, data in files.items() if name.endswith('.json'))
    check(told == read(jobs['json-lines'], 'a+all'), 'lines of the tar file')
    check(sorted(p.name for p in get_item(jobs['webdataset'], 'a+all').iterdir()) == ['item.json', 'masks.tar', 'tracks.json'], 'beside the tar file')


def refuse(folder):
    """What cannot be put together is told, and why."""
    item = make_recordings(folder)[0]
    for change, options, wanted in (
            ({'prompts': PROMPTS[:3]}, CUT, 'the piece from 3.200 s on has no prompt: expected one from there to 4.800 s'),
            ({'seconds': 1e6}, CUT, 'into more than 10000 pieces'),
            ({}, ['--cut=1.6', '--overlap=0.9'], '--overlap is 0.9, expected 0.001 to 0.8'),
            ({}, [*CUT, '--mask-size=none'], 'finds objects again by their masks'),
            ({'id': 'a@00001'}, CUT, 'other characters')):
        manifest = write_manifest(folder / 'bad.jsonl', {**item, **change})
        log = call('plan', manifest, f'--job={folder}/none', *options, status=2)
        check(wanted in log and not (folder / 'none').exists(), f'{change}, {options}: {log}')
    check('no recording' in call('merge', f'--job={make_reference(folder, item)}', status=2), 'nothing was cut')
    unknown = {**item, 'seconds': None}
    said = call('plan', write_manifest(folder / 'm.jsonl', {k: v for k, v in unknown.items() if v is not None}), f'--job={folder}/u', *CUT)
    check('1 items have neither' in said and 'items 1,' in said, f'an unknown length: {said}')

    job = plan(folder, 'frames', write_manifest(folder / 'm.jsonl', {**item, 'frames': 181}), *CUT)
    run_all(job)
    check('have 180 frames, expected 181' in call('merge', f'--job={job}', status=3) and not list(job.glob('items/*/*')), 'another number')
    long = {**item, 'id': 'long', 'seconds': 9, 'prompts': [*PROMPTS, {'at': 6.4, 'prompt': box(8, 8)}, {'at': 8, 'prompt': box(8, 8)}]}
    del long['frames']
    job = plan(folder, 'long', write_manifest(folder / 'm.jsonl', long), *CUT)
    run_all(job, status=3)
    told = call('status', f'--job={job}', '--failed')
    check('long@00004: the video ends at 6.0' in told and 'before its first frame is due at 6.400 s' in told, told)
    check('of 6 pieces 2 are not done, and 2 of them have failed' in call('merge', f'--job={job}', status=3), 'pieces that failed')


def damage(folder):
    """A piece that is not what was written is tracked again."""
    item = make_recordings(folder)[0]
    manifest = write_manifest(folder / 'cut.jsonl', item)
    jobs = [plan(folder, name, manifest, *CUT) for name in ('sound', 'damaged')]
    for job in jobs:
        run_all(job)
    lines = next(jobs[1].glob('pieces/*/a+all@00002')) / 'frames.jsonl'
    data = lines.read_bytes()
    lines.write_bytes(data.replace(b'"score":', b'"score":-', 1))
    check('is not what was written' in call('merge', f'--job={jobs[1]}', status=75) and not lines.exists(), 'a damaged piece')
    run_all(jobs[1])
    for job in jobs:
        call('merge', f'--job={job}')
    compare(jobs[1], jobs[0], 'a+all')


# ---- other shards

def steal(folder):
    """A worker that has done its shard does what others have left, but not what they are at; of a dead one after a while."""
    make_video(folder / 'v.mkv', 1)
    names = 'abcd'
    items = [{'id': name, 'uri': 'v.mkv', 'prompt': box(8, 8), 'seconds': 4 - i} for i, name in enumerate(names)]
    whole = make_reference(folder, *items)

    def make(name):
        job = folder / name
        call('plan', folder / 'm.jsonl', f'--job={job}', '--shards=2')  # a and d, b and c
        return job

    job = make('all')
    log = call('run', f'--job={job}', '--shard=1', '--steal')
    check('of other shards: 2 done, 0 failed' in log and ' 2 done, 0 were done' in log and get_status(job)['to run'] == 0, f'a shard of nobody: {log}')
    compare(job, whole, *names)
    check(get_item(job, 'd').stat().st_mtime_ns < get_item(job, 'a').stat().st_mtime_ns, 'from the end of a shard')

    job = make('live')
    other = start('run', f'--job={job}', '--shard=0', SAMTRACK_SCRIPT='step,0,100000,0')
    mark = next_mark(other, job)
    log = call('run', f'--job={job}', '--shard=1', '--steal')
    check('of other shards: 1 done, 0 failed' in log and not list(job.glob('items/*/a')), f'what another one is at: {log}')
    log = call('run', f'--job={job}', '--shard=0', '--steal')  # its own: whoever is faster
    check(list(job.glob('items/*/a')) and ' 1 done, 1 were done' in log, f'its own shard: {log}')
    log = other.communicate(timeout=60)[1]
    check(other.returncode == 0, f'the slow one: {log}')
    compare(job, whole, *names)

    job = make('dead')
    other = start('run', f'--job={job}', '--shard=0', SAMTRACK_SCRIPT='step,0,100000,0')
    mark = next_mark(other, job)
    other.kill()
    other.communicate(timeout=60)
    check('of other shards: 1 done' in call('run', f'--job={job}', '--shard=1', '--steal'), 'just now it lived')
    os.utime(mark, (time.time() - 1000,) * 2)
    check('of other shards: 1 done' in call('run', f'--job={job}', '--shard=1', '--steal'), 'it is dead')
    clean(job)
    compare(job, whole, *names)


def differ(folder):
    """Clocks of workers that differ by hours: what another one is at is left to it, what a dead one has left is taken."""
    make_video(folder / 'v.mkv', 1)
    items = [{'id': name, 'uri': 'v.mkv', 'prompt': box(8, 8), 'seconds': 4 - i} for i, name in enumerate('ab')]
    whole = make_reference(folder, *items)
    shifted = subprocess.run([sys.executable, '-c', 'import time; print(time.time())'], env=dict(os.environ, LD_PRELOAD=KILL, CLOCK_SHIFT='7200'),
                             capture_output=True, text=True, check=True).stdout
    check(7000 < float(shifted) - time.time() < 7400, f'the clock is not ahead: {shifted}')
    for ahead, behind in (('7200', '-7200'), ('-7200', '7200')):
        job = folder / f'ahead{ahead}'
        call('plan', folder / 'm.jsonl', f'--job={job}', '--shards=2')
        other = start('run', f'--job={job}', '--shard=0', SAMTRACK_SCRIPT='step,0,60000,0', LD_PRELOAD=KILL, CLOCK_SHIFT=ahead)
        mark = next_mark(other, job)
        log = call('run', f'--job={job}', '--shard=1', '--steal', LD_PRELOAD=KILL, CLOCK_SHIFT=behind)
        check(' 1 done' in log and not list(job.glob('items/*/a')), f'what a worker with another clock is at: {log}')
        other.kill()
        other.communicate(timeout=60)
        os.utime(mark, (time.time() - 1000,) * 2)
        log = call('run', f'--job={job}', '--shard=1', '--steal', LD_PRELOAD=KILL, CLOCK_SHIFT=behind)
        check('of other shards: 1 done' in log, f'it is dead: {log}')
        clean(job)
        compare(job, whole, 'a', 'b')


def next_mark(process, job):
    """The file that tells that the item a is worked on."""
    while process.poll() is None:
        found = list(job.glob('failed/*/a.json'))
        if found:
            return found[0]
        time.sleep(0.005)
    sys.exit(f'FAILED: it ended: {process.communicate()}')


def pretend(folder):
    """A job that only waits, for trials of a cluster: interrupted and cut it has the lines of one without a stop."""
    prompts = [{'at': at, 'prompt': box(8, 8)} for at in (0, 10, 20)]
    items = [{'id': name, 'uri': 'none.mp4', 'prompts': prompts, 'seconds': seconds} for name, seconds in (('long', 25), ('short', 8))]
    manifest = write_manifest(folder / 'm.jsonl', *items)
    whole = plan(folder, 'whole', manifest, '--pretend=0.001')
    call('run', f'--job={whole}', '--shard=0')
    job = plan(folder, 'parts', manifest, '--pretend=0.04', '--chunk=10')
    process = start('run', f'--job={job}', '--shard=0')
    while not list(job.glob('parts/*/long/000000')) and process.poll() is None:
        time.sleep(0.005)
    time.sleep(0.1)  # two lines
    process.terminate()
    log = process.communicate(timeout=60)[1]
    kept = list(job.glob('parts/*/long/0*'))
    check(process.returncode == 75 and len(kept) == 2, f'{kept}, {log}')
    call('run', f'--job={job}', '--shard=0')
    compare(job, whole, 'long', 'short')
    lines = find_lines(job, 'long')
    check([line['stream_time'] for line in lines] == [i * 10 ** 9 for i in range(25)], 'a line for each second')
    job = plan(folder, 'cut', manifest, '--pretend=0.001', '--cut=10', '--overlap=2')
    call('run', f'--job={job}', '--shard=0')
    call('merge', f'--job={job}')
    cut = [{k: v for k, v in line.items() if k != 'run'} for line in find_lines(job, 'long')]
    check(cut == [{k: v for k, v in line.items() if k != 'run'} for line in lines], 'pieces')
    unknown = write_manifest(folder / 'm.jsonl', {'id': 'a', 'uri': 'none.mp4', 'prompt': box(8, 8)})
    log = call('plan', unknown, f'--job={folder}/none', '--pretend=1', status=2)
    check("expected 'seconds' or 'stop': with --pretend no video is read" in log, log)


# ---- videos on a web server

class Server(http.server.SimpleHTTPRequestHandler):
    """Files of a folder; parts of them only if `ranges`."""
    folder, ranges, asked = None, False, []

    def do_GET(self):
        path = self.folder / self.path.strip('/')
        if not path.exists():
            self.send_error(404)
            return
        data = path.read_bytes()
        wanted = re.fullmatch(r'bytes=(\d+)-(\d*)', self.headers.get('Range', '')) if self.ranges else None
        first = int(wanted[1]) if wanted else 0
        self.send_response(206 if wanted else 200)
        if self.ranges:
            self.send_header('Accept-Ranges', 'bytes')
        if wanted:
            self.send_header('Content-Range', f'bytes {first}-{len(data) - 1}/{len(data)}')
        self.send_header('Content-Length', str(len(data) - first))
        self.end_headers()
        self.asked.append(first)
        try:
            self.wfile.write(data[first:])
        except ConnectionError:
            pass

    def log_message(self, *_):
        pass


def web(folder):
    """A video that is read over HTTP, in chunks with a stop between them, from a server that gives parts of files and from one that does
    not, has the lines of the file."""
    if subprocess.run(['gst-inspect-1.0', '--exists', 'souphttpsrc'], check=False).returncode:
        print('without souphttpsrc nothing is read over HTTP')
        return
    make_video(folder / 'v.mp4', 3)
    prompt = {'prompt': box(8, 8)}
    whole = make_reference(folder, {'id': 'v', 'uri': 'v.mp4', **prompt})
    Server.folder = folder
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for ranges in (True, False):
        Server.ranges = ranges
        item = {'id': 'v', 'uri': f'http://127.0.0.1:{server.server_port}/v.mp4', **prompt}
        job = plan(folder, f'web{ranges}', write_manifest(folder / 'w.jsonl', item), '--chunk=0.5')
        process = start('run', f'--job={job}', '--shard=0', SAMTRACK_SCRIPT='step,0,20000,0')
        while len(list(job.glob('parts/*/v/0*'))) < 4 and process.poll() is None:
            time.sleep(0.005)
        process.terminate()
        log = process.communicate(timeout=60)[1]
        check(process.returncode == 75, f'it ends with status {process.returncode}: {log}')
        Server.asked.clear()
        call('run', f'--job={job}', '--shard=0')
        check(any(Server.asked) == ranges, f'parts that were asked for: {Server.asked}')
        texts = [[{k: v for k, v in line.items() if k != 'run'} for line in find_lines(j, 'v')] for j in (whole, job)]
        check(texts[0] == texts[1] and len(texts[0]) == 3 * RATE, 'lines of a video that was read over HTTP')
    item['uri'] += 'x'
    job = plan(folder, 'none', write_manifest(folder / 'w.jsonl', item))
    log = call('run', f'--job={job}', '--shard=0', status=3)
    check('v.mp4x' in log, f'a file that is not there: {log}')
    server.shutdown()


# ---- detectors

def detect(folder):
    """Objects that a detector finds: the same each time, in one chunk, in pieces, and only where the item asks for it."""
    make_video(folder / 'v.mkv', LENGTH)
    detector = folder / 'detector.safetensors'
    shutil.copy(os.environ['SAMTRACK_DETECTOR'], detector)
    options = [f'--set={text}' for text in (f'detector-file={detector}', 'detector-size=320', 'seed-score=0.25', 'instant-confirm-score=0.25')]
    item = {'id': 'found', 'uri': 'v.mkv', 'detect': True, 'seconds': LENGTH, 'stop': 1}
    plain = {'id': 'plain', 'uri': 'v.mkv', 'prompt': box(8, 8), 'stop': 1}
    whole = make_reference(folder, plain)
    manifest = write_manifest(folder / 'm.jsonl', item, plain)
    jobs = [plan(folder, f'detect{chunk}', manifest, f'--chunk={chunk}', *options) for chunk in (0.3, 1000)]
    process = start('run', f'--job={jobs[0]}', '--shard=0', SAMTRACK_SCRIPT='step,0,50000,0', **log_frames(folder))
    wait_for_frame(process, folder)
    process.terminate()
    log = process.communicate(timeout=60)[1]
    check(process.returncode == 75 and not list(jobs[0].glob('parts/*/*/*')), f'an item with a detector was kept in part: {log}')
    for job in jobs:
        call('run', f'--job={job}', '--shard=0')
    compare(jobs[0], jobs[1], 'found', 'plain')
    lines = find_lines(jobs[0], 'found')
    check(sum(len(line['objects']) for line in lines) > 20 and all('label' in o for line in lines for o in line['objects']), f'found: {lines[-1]}')
    texts = [[line['objects'] for line in find_lines(job, 'plain')] for job in (whole, jobs[0])]
    check(texts[0] == texts[1], 'an item without the detector')

    job = plan(folder, 'cut', write_manifest(folder / 'c.jsonl', {**item, 'stop': 2}), '--cut=1', '--overlap=0.2', *options)
    call('run', f'--job={job}', '--shard=0')
    call('merge', f'--job={job}')
    lines = find_lines(job, 'found')
    border = json.loads(read(job, 'found', 'item.json'))['borders'][0]
    check([line['frame'] for line in lines] == list(range(2 * RATE)) and border['frames'] == 6, f'pieces: {border}')
    with open(detector, 'ab') as f:
        f.write(b' ')
    check('the detector' in (log := call('run', f'--job={job}', '--shard=0', status=2)) and 'it has changed' in log, f'another detector: {log}')


def name(folder):
    """Objects that words name, as the item says; words that the detector refuses are a fault of the item."""
    make_video(folder / 'v.mkv', LENGTH)
    model = pathlib.Path(os.environ['SAMTRACK_WORDS'])
    options = [f'--set={text}' for text in (f'detector-file={model}', 'detector-size=64', 'seed-score=0.25', 'instant-confirm-score=0.25',
                                            'min-area=0', 'birth-min-background=0')]
    items = [{'id': i, 'uri': 'v.mkv', 'words': words, 'seconds': LENGTH, 'stop': 1}
             for i, words in (('dog', 'dog'), ('two', 'red car. striped ball.'), ('none', 'dog. \u4e2d'))]
    job = plan(folder, 'words', write_manifest(folder / 'w.jsonl', *items), *options)
    call('run', f'--job={job}', '--shard=0', status=3)
    for i, words in (('dog', {'dog'}), ('two', {'red car', 'striped ball'})):
        labels = [o['label'] for line in find_lines(job, i) for o in line['objects']]
        check(len(labels) > 20 and set(labels) <= words, f'{i}: {set(labels)}')
    told = call('status', f'--job={job}', '--failed', status=(0, 3))
    check('none' in told and 'no word of which the vocabulary has a piece' in told and 'permanent' in told, f'refused words: {told}')

    job = plan(folder, 'cut', write_manifest(folder / 'c.jsonl', {**items[0], 'stop': 2}), '--cut=1', '--overlap=0.2', *options)
    call('run', f'--job={job}', '--shard=0')
    call('merge', f'--job={job}')
    last = [o['label'] for line in find_lines(job, 'dog')[-10:] for o in line['objects']]
    check(last and set(last) == {'dog'}, f'the last piece: {last}')


PARTS = {'detect': [detect, name], 'web': [web], 'pieces': [stitch, other_formats, refuse, damage], 'steal': [steal, differ, pretend]}
run_parts(PARTS[PART])
