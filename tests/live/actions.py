#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random clients, several at a time: RTSP viewers, pages that prompt, HTTP requests, and a camera that dies. The program
must outlive them, serve the next viewer and the next page, and end without a word from a sanitizer that it was built with.
usage: actions.py BUILD [ACTIONS [SEED]]     ACTIONS: default LIVE_ACTIONS, else 60"""
import asyncio
import collections
import json
import os
import random
import socket
import subprocess
import sys
import time

from camera import Camera
from program import Page, Program, check, get_environment, get_free_port, get_path, skip
from viewer import Closed, Viewer

try:
    import websockets
    import gi
    gi.require_version('GstRtspServer', '1.0')
except (ImportError, ValueError) as e:
    skip(str(e))

WORKERS = 4
PATIENCE = 20  # s for the frames of a stream: a camera may be away
OPS = ('watch', 'point', 'box', 'undo', 'take', 'remove', 'rename', 'clear', 'save', 'restore', 'saves', 'back', 'answer', 'ice')
PATHS = ('/', '/main.js', '/metrics', '/healthz', '/nothing', '/mjpeg/nobody', '/cameras', '/camera/demo/', '/api/cameras',
         '/api/cameras/demo', '/api/cameras/gate/events', '/api/cameras/gate/events/1.jpg', '/api/cameras/gate/picture.jpg', '/api/cameras/more/picture.jpg')


def watch_stream(program, rng):
    viewer = Viewer(rng.choice(program.rtsp))
    viewer.until = time.monotonic() + PATIENCE
    try:
        viewer.play()
        viewer.watch(rng.randint(1, 40))
    finally:
        viewer.tear_down() if rng.random() < 0.5 else viewer.vanish()


def leave_early(program, rng):
    """Requests in a wrong order, for streams that do not exist, with a wrong token; the connection ends at any point."""
    url = rng.choice(program.rtsp)
    url = url.replace(program.token, 'wrong-token') if rng.random() < 0.2 else url
    viewer = Viewer(url + ('x' if rng.random() < 0.2 else ''))
    for _ in range(rng.randint(0, 4)):
        viewer.send(rng.choice(('OPTIONS', 'DESCRIBE', 'SETUP', 'PLAY', 'PAUSE', 'TEARDOWN', 'GET_PARAMETER')),
                    rng.choice(('', '/stream=0', '/stream=9')),
                    rng.choice(('', 'Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n', 'Session: none\r\n')))
        if rng.random() < 0.7:
            viewer.take_answer()
    viewer.vanish()


def send_noise(program, rng):
    with socket.create_connection(('127.0.0.1', rng.choice((program.port, program.rtsp_port))), timeout=20) as s:
        s.sendall(rng.randbytes(rng.choice((1, 40, 3000))))


def ask_http(program, rng):
    program.get(rng.choice(PATHS), token=rng.random() < 0.8, timeout=60)


def change_camera(program, rng):
    """Which ends it, with its viewers, and begins it anew; one more comes and goes."""
    method, path, body = rng.choice((('PATCH', '/gate', {'flip': rng.choice(('none', 'vertical-flip', 'clockwise'))}),
                                     ('POST', '', {'name': 'more', 'source': 'demo', 'framerate': rng.randint(1, 9)}), ('DELETE', '/more', None)))
    program.ask(method, f'/api/cameras{path}', body)


def take_jpegs(program, rng):
    with socket.create_connection(('127.0.0.1', program.port), timeout=60) as s:
        s.sendall(program.write_request(f'/mjpeg/{rng.choice(("demo", "gate"))}'))
        for _ in range(rng.randint(0, 20)):
            if not s.recv(5000):
                break


def make_request(rng, number):
    op = rng.choice(OPS)
    request = {'op': op, 're': number, 'id': rng.randint(0, 6)}
    if op == 'watch':
        request.update(camera=rng.choice(('demo', 'gate')), video=rng.choice(('webrtc', 'mjpeg')), masks=rng.random() < 0.5)
    elif op in ('point', 'box'):
        request.update(x=rng.random() / 2, y=rng.random() / 2, w=0.3, h=0.3, id=rng.choice((0, 0, 1, 2)))
        if rng.random() < 0.5:
            request['rtp'] = rng.randrange(2**32)
    elif op == 'take':
        request['answer'] = rng.randint(1, 3)
    elif op == 'rename':
        request['name'] = 'n' * rng.randint(1, 64)
    elif op == 'answer':
        request['sdp'] = 'v=0\r\n'
    elif op == 'ice':
        request.update(candidate='candidate:1 1 UDP 1 127.0.0.1 9 typ host', mline=0)
    return request


async def prompt(program, rng):
    """A page that asks this and that, waits for some of the answers, and closes or vanishes."""
    page = await Page(program).__aenter__()
    for number in range(rng.randint(1, 12)):
        request = make_request(rng, number + 1)
        if rng.random() < 0.5 or request['op'] in ('answer', 'ice'):  # not all are answered
            await page.socket.send(json.dumps(request))
        else:
            page.last = number
            await page.ask(**{k: v for k, v in request.items() if k != 're'})
    if rng.random() < 0.5:
        await page.__aexit__()
    else:
        page.socket.transport.abort()


def restart(camera, rng):
    camera.kill()
    camera.start(*rng.choice(((640, 360), (320, 180))), kind=rng.choice(('scene', 'scene', 'rubbish')))


CLIENTS = ((watch_stream, 6), (leave_early, 4), (send_noise, 2), (ask_http, 3), (take_jpegs, 2), (change_camera, 2), (prompt, 6))


async def work(program, rng, actions, counts):
    """One client after another. Clients of this test may fail: the program refuses what is too much."""
    while actions:
        actions.pop()
        client = rng.choices(*zip(*CLIENTS))[0]
        try:
            if client is prompt:
                await asyncio.wait_for(prompt(program, rng), 120)
            else:
                await asyncio.to_thread(client, program, rng)
            counts[client.__name__] += 1
        except (OSError, Closed, AssertionError, websockets.WebSocketException, asyncio.TimeoutError, IndexError) as e:
            counts[f'{client.__name__}: {type(e).__name__}'] += 1
        check(program.process.poll() is None, f'the program ended with status {program.process.poll()}')


async def lose_camera(camera, rng, actions):
    while len(actions) > WORKERS:
        await asyncio.sleep(rng.uniform(2, 6))
        await asyncio.to_thread(restart, camera, rng)


async def act(program, camera, rng, n):
    actions, counts = list(range(n)), collections.Counter()
    rngs = [random.Random(rng.randrange(2**32)) for _ in range(WORKERS + 1)]
    await asyncio.gather(lose_camera(camera, rngs[0], actions), *(work(program, r, actions, counts) for r in rngs[1:]))
    print(', '.join(f'{what} {count}' for what, count in sorted(counts.items())))
    for client in (watch_stream, prompt):
        check(counts[client.__name__] > n // 50, f'{client.__name__} hardly ever comes to its end: {counts}')


def main(build, n, seed):
    print(f'{n} actions, seed {seed}', flush=True)
    # Reads all plugins if there is no registry yet: some of them leak, which is not what is tried here.
    subprocess.run([get_path(build), '--help'], env=get_environment(build), stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=120)
    rng = random.Random(seed)
    camera = Camera('', get_free_port())
    camera.start()
    try:
        with Program(build, '--demo', f'gate=rtsp://127.0.0.1:{camera.port}/camera', cameras=2) as program:
            program.wait_for_frames('demo')
            asyncio.run(act(program, camera, rng, n))
            camera.kill()  # the last one may send rubbish, of which not every frame can be shown
            camera.start()
            viewers = [f'samtrack_viewers{{kind="{kind}"}}' for kind in ('page', 'webrtc', 'mjpeg', 'rtsp')]
            program.wait_for(lambda m: not any(m[v] for v in viewers), 'the end of all viewers', 60)
            watch_stream(program, rng)
            check(program.get('/healthz', timeout=60)[0] == 200, 'a tracking pipeline failed')
    finally:
        camera.kill()
    print('ok')


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2] if len(sys.argv) > 2 else os.environ.get('LIVE_ACTIONS', 60)),
         int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(2**32))
