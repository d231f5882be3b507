#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Three samtrack-live share seven cameras, as samtrack-fleet has assigned them. One is killed, its cameras go to the others, and the
objects come back with ids and names; then it returns. Key files with mistakes change nothing.
usage: fleet.py BUILD"""
import asyncio
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from program import Page, Program, check, get_free_port, skip

try:
    import websockets
except ImportError as e:
    skip(str(e))

BUILD = sys.argv[1]
CAMERAS = [f'cam{i}' for i in range(7)]
NODES = ['alpha', 'beta', 'gamma']  # whose names give each of them two cameras or three


class Fleet:
    def __init__(self, folder):
        self.folder = folder
        self.programs = {}
        self.columns = {'name': {}, 'source': {c: 'test' for c in CAMERAS}, 'width': {c: '160' for c in CAMERAS},
                        'height': {c: '120' for c in CAMERAS}, 'framerate': {c: '10' for c in CAMERAS}}

    def assign(self, nodes, status=0, cameras=None):
        """{camera: node}, or what is said if it ends with another status."""
        lines = [','.join(self.columns)]
        lines += [','.join([c, *(f'"{v.get(c, "")}"' for k, v in self.columns.items() if k != 'name')]) for c in CAMERAS]
        (self.folder / 'cameras.csv').write_text(cameras or '\n'.join(lines) + '\n')
        (self.folder / 'nodes.csv').write_text('name,capacity,keep-tracks\n' + ''.join(f'{n},4,600\n' for n in nodes))
        done = subprocess.run([f'{BUILD}/pipelines/fleet/samtrack-fleet', 'assign', self.folder / 'cameras.csv', self.folder / 'nodes.csv',
                               f'--output={self.folder}/conf'], capture_output=True, text=True, timeout=20, check=False)
        check(done.returncode == status, f'samtrack-fleet ends with status {done.returncode}: {done.stderr}')
        return done.stderr if status else dict(line.split() for line in done.stdout.splitlines())

    def start(self, node, cameras):
        self.programs[node] = Program(BUILD, '--config', f'{self.folder}/conf/{node}.conf', '--state-folder', f'{self.folder}/state',
                                      cameras=cameras)

    def reload(self, node, event='reloaded'):
        """The line of the log that follows."""
        program = self.programs[node]
        seen = program.read_log().count(f'event={event}')
        program.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 30
        while program.read_log().count(f'event={event}') == seen:
            check(time.monotonic() < end, f'no {event} in 30 s:\n{program.read_log()[-3000:]}')
            time.sleep(0.05)
        return [line for line in program.read_log().splitlines() if f'event={event}' in line][-1]


def check_assign(fleet):
    """The same anywhere, within the capacities; a node that is lost moves its own cameras, where there is room."""
    first = fleet.assign(NODES)
    check(sorted(first) == CAMERAS and all(list(first.values()).count(n) <= 4 for n in NODES), f'{first}')
    check(fleet.assign(NODES[::-1]) == first, 'the order of nodes decides')
    times = {n: (fleet.folder / f'conf/{n}.conf').stat().st_mtime_ns for n in NODES}
    check(fleet.assign(NODES) == first and times == {n: (fleet.folder / f'conf/{n}.conf').stat().st_mtime_ns for n in NODES}, 'a file was touched')
    for lost in NODES:
        left = fleet.assign([n for n in NODES if n != lost])
        moved = [c for c in CAMERAS if first[c] != lost and left[c] != first[c]]
        full = [n for n in set(left.values()) if list(left.values()).count(n) == 4]
        check(not moved or full, f'without {lost}, {moved} have moved')
    check('7 cameras, but the nodes of' in fleet.assign(NODES[:1], 2), 'no room')
    for text, wanted in (('name,source\na b,test\n', "line 2 of"), ('name,source\na,test\na,test\n', "line 3 of"), ('source\ntest\n', "no column 'name'"),
                         ('name,source\na,"test\n', 'line 2 of'), ('name,source\na\n', 'it has 1 cells, expected 2'), ('', 'has no lines')):
        said = fleet.assign(NODES, 2, cameras=text or '\n')
        check(wanted in said and said.count('\n') == 1, f'{text!r} is told as {said}')
    return fleet.assign(NODES)


async def prompt_all(fleet, where):
    """An object for each camera, with its name."""
    for node, program in fleet.programs.items():
        async with Page(program) as page:
            for camera in (c for c in CAMERAS if where[c] == node):
                await page.ask('watch', camera=camera, video='mjpeg')
                await page.wait_for(lambda s, c=camera: s['camera'] == c and s['width'], f'frames of {camera}')
                reply = await page.ask('box', x=0.25, y=0.25, w=0.25, h=0.5)
                check(reply['type'] == 'done', f'a box on {camera}: {reply}')
                await page.wait_for(lambda s, c=camera: s['camera'] == c and s['objects'], f'the object of {camera}')
                reply = await page.ask('rename', id=reply['id'], name=f'object of {camera}')
                check(reply['type'] == 'done', f'a name on {camera}: {reply}')


async def find_all(fleet, where, cameras):
    for camera in cameras:
        async with Page(fleet.programs[where[camera]]) as page:
            check(sorted(page.hello['cameras']) == sorted(c for c in CAMERAS if where[c] == where[camera]), f'{page.hello}')
            await page.ask('watch', camera=camera, video='mjpeg')
            state = await page.wait_for(lambda s, c=camera: s['camera'] == c and any(o['name'] for o in s['objects']),
                                        f'the object of {camera}')
            check([(o['id'], o['name']) for o in state['objects']] == [(1, f'object of {camera}')], f'{camera}: {state["objects"]}')


def wait_until_kept(fleet):
    end = time.monotonic() + 40
    files = {fleet.folder / f'state/{c}.kept.names': f'object of {c}' for c in CAMERAS}  # written after the tracks
    while not all(path.exists() and name in path.read_text() for path, name in files.items()):
        check(time.monotonic() < end, f'in 40 s not all were kept: {list((fleet.folder / "state").iterdir())}')
        time.sleep(0.1)


def make_mistakes(fleet, node, where):
    """Each is told with its line, and nothing changes."""
    path = fleet.folder / f'conf/{node}.conf'
    good = path.read_text()
    names = [c for c in CAMERAS if where[c] == node]
    lines = good.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('[camera')) + 1
    last = max(i for i, line in enumerate(lines) if line.startswith('[camera')) + 1
    for text, wanted in ((good + 'rotat=90\n', f'line {len(lines) + 1} of'), (good.replace('[camera', '[kamera', 1), f'line {first} of'),
                         (good + 'initial-prompt\n', 'initial-prompt'), (good + 'aspect=wide\n', f'line {last} of'),
                         (good + 'model-file=/nothing\n', '/nothing'), (good + 'mqtt-uri=http://x\n', 'mqtt://host')):
        path.write_text(text)
        said = fleet.reload(node, 'reload-refused')
        check(wanted in said, f'{wanted} is not in {said}')
    path.write_text(good.replace('keep-tracks=600', 'keep-tracks=601'))
    fleet.reload(node)
    check('event=needs-restart key=keep-tracks' in fleet.programs[node].read_log(), 'a key that needs a restart')
    path.write_text(good)
    said = fleet.reload(node)
    check(f'kept={len(names)} ended=0 started=0' in said, f'a file without changes: {said}')


def empty(fleet, node, where):
    """A node without cameras waits for some."""
    path = fleet.folder / f'conf/{node}.conf'
    good = path.read_text()
    path.write_text('[live]\nkeep-tracks=600\n')
    said = fleet.reload(node)
    check('cameras=0 kept=0' in said, said)
    check(not [k for k in fleet.programs[node].metrics() if 'camera=' in k], 'metrics of cameras that are gone')
    path.write_text(good)
    said = fleet.reload(node)
    check(f'ended=0 started={list(where.values()).count(node)}' in said, said)


async def watch_change(fleet, node, where):
    """A page that looks at a camera which goes is told, and looks at another one."""
    path = fleet.folder / f'conf/{node}.conf'
    good = path.read_text()
    names = [c for c in CAMERAS if where[c] == node]
    async with Page(fleet.programs[node]) as page:
        await page.ask('watch', camera=names[0], video='mjpeg')
        path.write_text(re.sub(rf'\[camera {names[0]}\]\n([a-z-]+=.*\n)+', '', good))
        said = fleet.reload(node)
        check('ended=1 started=0' in said, said)
        hello = await page.take('hello')
        check(sorted(hello['cameras']) == names[1:], f'{hello}')
        await page.wait_for(lambda s: s['camera'] == names[1], f'the state of {names[1]}')
    check(fleet.programs[node].get(f'/mjpeg/{names[0]}')[0] == 404, 'a camera that is gone')
    path.write_text(good)
    fleet.reload(node)


def follow_broker(fleet, camera):
    """A subscriber's process, and the port of its broker; None without mosquitto."""
    if not shutil.which('mosquitto') or not shutil.which('mosquitto_sub'):
        print('without mosquitto no lines are read')
        return None
    port = get_free_port()
    subprocess.Popen(['mosquitto', '-p', str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        with socket.socket() as probe:
            if not probe.connect_ex(('127.0.0.1', port)):
                break
        time.sleep(0.1)
    fleet.columns['mqtt-uri'] = {camera: f'mqtt://127.0.0.1:{port}/cameras/{camera}'}
    return subprocess.Popen(['mosquitto_sub', '-p', str(port), '-t', 'cameras/#', '-C', '20', '-W', '60', '-F', '%t %p'], stdout=subprocess.PIPE, text=True)


def main():
    os.environ['LD_LIBRARY_PATH'] = f'{BUILD}/tests/scripted'  # alone: meson has the folders of both trackers in it, in any order
    with tempfile.TemporaryDirectory() as name:
        fleet = Fleet(pathlib.Path(name))
        subscriber = follow_broker(fleet, 'cam3')
        where = check_assign(fleet)
        for node in NODES:
            fleet.start(node, list(where.values()).count(node))
        asyncio.run(prompt_all(fleet, where))
        wait_until_kept(fleet)
        print(f'{where}')

        lost = max(NODES, key=list(where.values()).count)
        fleet.programs[lost].process.kill()
        fleet.programs.pop(lost).process.wait()
        after = fleet.assign([n for n in NODES if n != lost])
        others = list(fleet.programs)
        for node in others:
            stayed = [c for c in CAMERAS if where[c] == after[c] == node]
            before = fleet.programs[node].metrics()
            said = fleet.reload(node)
            check(f'kept={len(stayed)} ' in said and f'started={list(after.values()).count(node) - len(stayed)}' in said, said)
            now = fleet.programs[node].metrics()
            counts = [f'samtrack_frames_total{{camera="{c}",fate="received"}}' for c in stayed]
            check(all(now[c] >= before[c] > 0 for c in counts), f'a camera that stays began anew: {counts}')
        asyncio.run(find_all(fleet, after, CAMERAS))
        make_mistakes(fleet, others[0], after)
        asyncio.run(watch_change(fleet, others[1], after))
        empty(fleet, others[1], after)
        asyncio.run(find_all(fleet, after, [c for c in CAMERAS if after[c] in others]))

        fleet.columns.update({'detector-file': {'cam0': os.environ['SAMTRACK_DETECTOR']}, 'detector-size': {'cam0': '320'},
                              'seed-score': {'cam0': '0.05'}, 'instant-confirm-score': {'cam0': '0.05'}})
        again = fleet.assign(NODES)
        check(again == where, 'the node is back')
        for node in others:
            fleet.reload(node)
        fleet.start(lost, list(again.values()).count(lost))
        asyncio.run(find_all(fleet, again, CAMERAS[1:]))
        with_detector = fleet.programs[again['cam0']]
        with_detector.wait_for(lambda m: sum(v for k, v in m.items() if k.startswith('samtrack_objects{camera="cam0"')) > 1, 'what the detector finds')
        if subscriber:
            lines = subscriber.communicate(timeout=60)[0].splitlines()
            check(len(lines) == 20 and all(line.startswith('cameras/cam3 {"run":') for line in lines), f'the broker got {lines[:2]}')
        # Without the detector, whose look at a frame may take the seconds in which a program must end where others take the processor.
        for column in ('detector-file', 'detector-size', 'seed-score', 'instant-confirm-score'):
            fleet.columns.pop(column)
        fleet.assign(NODES)
        check('ended=1 started=1' in (said := fleet.reload(again['cam0'])), f'a camera that has changed: {said}')
        for program in fleet.programs.values():
            program.stop()


main()
