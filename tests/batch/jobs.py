# SPDX-License-Identifier: MIT
"""What tests of samtrack-batch have in common: videos, jobs, and what is read of them. The arguments of the program that imports it begin
with the build's folder and samtrack-batch."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import children  # noqa: E402

BUILD, PROGRAM = sys.argv[1:3]
SECONDS = 2
RATE = 30
PROMPT = 'box,x=0.25,y=0.25,w=0.375,h=0.5,normalized=true'


def check(truth, what):
    if not truth:
        sys.exit(f'FAILED: {what}')


def get_environment(**more):
    return dict({k: v for k, v in os.environ.items() if not k.startswith(('SLURM_', 'JOB_COMPLETION', 'SAMTRACK_SHARD'))},
                GST_PLUGIN_PATH=f'{BUILD}/gst', GST_REGISTRY_FORK='no', **more)


def start(*arguments, before=None, **env):
    return subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before,
                            env=get_environment(**env))


def call(*arguments, status=0, before=None, **env):
    """What it prints on standard output and error."""
    process = start(*arguments, before=before, **env)
    said, log = process.communicate(timeout=120)
    wanted = status if isinstance(status, tuple) else (status,)
    check(process.returncode in wanted, f'{arguments} ends with status {process.returncode}, expected {status}: {said}{log}')
    return said + log


def launch(*words):
    subprocess.run(['gst-launch-1.0', '-q', '-e', *words], check=True, timeout=60, env=get_environment())


def make_video(path, seconds=SECONDS, seed=0):
    """An MP4 has B frames and a key frame a second where there is an encoder for it. Of MKV the demuxer gives the last frame another
    duration after a seek than without one."""
    coder = ['x264enc', 'key-int-max=30', 'bframes=2', 'threads=1', 'speed-preset=veryfast', '!', 'mp4mux', 'faststart=true']
    if path.suffix == '.mkv' or subprocess.run(['gst-inspect-1.0', '--exists', 'x264enc'], env=get_environment(), check=False).returncode:
        coder = ['jpegenc', '!', 'matroskamux']
    launch('samscene', f'num-buffers={seconds * RATE}', f'seed={seed}', '!', f'video/x-raw,width=160,height=96,framerate={RATE}/1', '!',
           'videoconvert', '!', 'video/x-raw,format=I420', '!', *coder, '!', 'filesink', f'location={path}')


def write_manifest(path, *items):
    path.write_text(''.join(json.dumps(item) + '\n' for item in items))
    return path


def plan(folder, name, manifest, *options):
    job = folder / name
    call('plan', manifest, f'--job={job}', '--shards=1', *options)
    return job


def get_item(job, name):
    found = list(job.glob(f'items/*/{name}'))
    check(len(found) == 1, f'{name} is there {len(found)} times')
    return found[0]


def read(job, name, file='frames.jsonl'):
    """The bytes of a result, after a look at what item.json says of them."""
    item = get_item(job, name)
    told = json.loads((item / 'item.json').read_text())
    for named, digest in told['files'].items():
        check(hashlib.sha256((item / named).read_bytes()).hexdigest() == digest, f'{item / named} is not what item.json says')
    return (item / file).read_bytes()


def check_nothing_left(job):
    left = [p for kind in ('items', 'parts', 'failed') for p in job.glob(f'{kind}/*/*') if kind != 'items' or p.name.startswith('.')]
    check(not left, f'left over: {left}')


def clean(job):
    """As if what killed runs have left were a day old."""
    for path in job.glob('*/*/**/.*'):
        os.utime(path, (0, 0))
    call('status', f'--job={job}', '--clean')


def log_frames(folder):
    """Variables of a program for wait_for_frame()."""
    (folder / 'log').unlink(missing_ok=True)
    return {'GST_DEBUG': 'basesink:5', 'GST_DEBUG_FILE': str(folder / 'log')}


def wait_for_frame(process, folder):
    """Until its first frame has come to the end of its pipeline."""
    while process.poll() is None and not ((folder / 'log').exists() and b'prerolling object' in (folder / 'log').read_bytes()):
        time.sleep(0.002)


def get_status(job):
    words = call('status', f'--job={job}').replace('\n', ', ').split(', ')
    return {word.rsplit(' ', 1)[0]: int(word.rsplit(' ', 1)[1]) for word in words if word}


def make_reference(folder, *items):
    """A job that is run without a stop, in one chunk."""
    job = plan(folder, 'whole', write_manifest(folder / 'm.jsonl', *items), '--chunk=1000')
    call('run', f'--job={job}', '--shard=0')
    check_nothing_left(job)
    return job


def compare(job, whole, *names):
    for name in names:
        for file in ('frames.jsonl', 'tracks.json'):
            a, b = read(whole, name, file), read(job, name, file)
            first = next((i for i, (x, y) in enumerate(zip(a.splitlines(), b.splitlines())) if x != y), None)
            check(a == b, f'{file} of {name} is not that of an unbroken run: {len(a)} and {len(b)} bytes, from line {first} on')
    check_nothing_left(job)


def run_parts(parts):
    """Each in a folder of its own, with the time that it takes."""
    children.end_with_test()
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            part(pathlib.Path(folder))
            print(f'{part.__name__}: {time.monotonic() - begin:.1f} s', flush=True)
