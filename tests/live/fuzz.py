#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random clients: garbage and mutated requests on every endpoint, on the WebSocket and in RTSP; clients that are slow, that
vanish, that come by the thousand. The program must serve a page that behaves, and give back what strangers took.
usage: fuzz.py BUILD [--minutes N | --seconds N] [--seed N]     10 s; the seed is printed"""
import argparse
import asyncio
import base64
import json
import os
import random
import resource
import socket
import struct
import threading
import time

from program import Page, Program, check, skip
from sockets_data import HANDSHAKE, REQUESTS, mutate

try:
    import websockets  # noqa: F401
except ImportError as e:
    skip(str(e))

PATHS = ('/', '/main.js', '/style.css', '/metrics', '/healthz', '/mjpeg/demo', '/annotations/demo.json',
         '/annotations/demo.jsonl', '/socket', '/annotations/', '/mjpeg/', '/nothing', '/api/cameras', '/api/cameras/demo', '/api/cameras/demo/events',
         '/api/cameras/demo/events/1.jpg', '/api/cameras/demo/picture.jpg', '/api/', '/camera/demo/', '/camera/demo/socket', '/cameras')
RTSP = ('OPTIONS', 'DESCRIBE', 'SETUP', 'PLAY', 'PAUSE', 'GET_PARAMETER', 'SET_PARAMETER', 'TEARDOWN', 'ANNOUNCE', 'RECORD')
THREADS = 6
SPARE_FILES = 12  # that may be open for a while after the clients are gone


def connect(port):
    return socket.create_connection(('127.0.0.1', port), timeout=20)


def leave(s, rng):
    """With a reset, or with an end."""
    if rng.random() < 0.5:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    s.close()


def listen(s, seconds):
    s.settimeout(seconds)
    try:
        return s.recv(65536)
    except (TimeoutError, ConnectionError):
        return b''


def head(program, rng, path):
    lines = [f'{rng.choice(("GET", "GET", "GET", "HEAD", "POST", "PATCH", "get", "TRACE"))} {path} HTTP/1.{rng.randint(0, 1)}', 'Host: x']
    if rng.random() < 0.8:
        lines.append(f'Authorization: Bearer {program.token}')
    lines += rng.sample(['Origin: http://x', 'Cookie: samtrack-live-1=x; ; =', 'Range: bytes=0-5', 'Expect: 100-continue',
                         'Transfer-Encoding: chunked', 'Content-Length: 5', 'Content-Length: -1', 'Upgrade: websocket',
                         'Connection: keep-alive, Upgrade', 'Accept-Encoding: gzip', 'X: ' + 'y' * 9000], rng.randint(0, 3))
    return '\r\n'.join(lines) + '\r\n\r\n'


def send_garbage(program, rng):
    with connect(rng.choice((program.port, program.rtsp_port))) as s:
        s.sendall(rng.randbytes(rng.choice((1, 7, 100, 4000, 70000))))
        leave(s, rng)


def send_request(program, rng):
    path = rng.choice(PATHS) + rng.choice(('', '', '', '?token=x', '?' + 'a=b&' * 500, '%00', '/..%2f..', '\u2603'))
    text = head(program, rng, path)
    with connect(program.port) as s:
        for _ in range(rng.randint(1, 3)):
            s.sendall(mutate(text, rng) if rng.random() < 0.6 else text.encode())
        if rng.random() < 0.7:
            listen(s, rng.choice((0.01, 0.1, 0.5)))
        leave(s, rng)


def abandon_download(program, rng):
    """Takes a part of an answer that has no end, or a long one."""
    path = rng.choice(('/mjpeg/demo', '/annotations/demo.json', '/annotations/demo.jsonl'))
    with connect(program.port) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(program.write_request(path))
        for _ in range(rng.randint(0, 4)):
            listen(s, 0.2)
        leave(s, rng)


def be_slow(program, rng):
    with connect(rng.choice((program.port, program.rtsp_port))) as s:
        for byte in head(program, rng, '/').encode()[:rng.randint(1, 40)]:
            try:
                s.sendall(bytes([byte]))
            except ConnectionError:
                break
            time.sleep(0.02)
        leave(s, rng)


def frame(rng, data, opcode):
    """A frame of a WebSocket, which may lie about itself."""
    length = len(data) if rng.random() < 0.8 else rng.choice((0, 125, 126, 127, 65535, 2**31, 2**63))
    first = opcode | (0x80 if rng.random() < 0.8 else 0) | (rng.choice((0x10, 0x20, 0x40)) if rng.random() < 0.1 else 0)
    masked = 0x80 if rng.random() < 0.9 else 0
    if length < 126:
        size = struct.pack('>BB', first, masked | length)
    elif length < 65536:
        size = struct.pack('>BBH', first, masked | 126, length)
    else:
        size = struct.pack('>BBQ', first, masked | 127, length)
    key = rng.randbytes(4)
    return size + (key + bytes(b ^ key[i % 4] for i, b in enumerate(data)) if masked else data)


def speak_websocket(program, rng):
    requests = [*REQUESTS, {'op': 'watch', 'camera': 'demo', 'video': 'webrtc', 're': 4}, {'op': 'clear'}, {'op': 'save'},
                {'op': 'restore'}, {'op': 'point', 'x': rng.random(), 'y': rng.random(), 'us': rng.randrange(2**40)}]
    with connect(program.port) as s:
        s.sendall(HANDSHAKE.format(port=program.port, more=f'Authorization: Bearer {program.token}\r\n').encode())
        listen(s, 0.5)
        for _ in range(rng.randint(1, 30)):
            text = json.dumps(rng.choice(requests))
            data = mutate(text, rng) if rng.random() < 0.5 else text.encode()
            s.sendall(frame(rng, data, rng.choice((1, 1, 1, 1, 1, 1, 0, 2, 8, 9, 10, 3, 11))))
        listen(s, rng.choice((0.01, 0.2)))
        leave(s, rng)


def speak_rtsp(program, rng):
    login = base64.b64encode(f'viewer:{program.token}'.encode()).decode()
    with connect(program.rtsp_port) as s:
        for i in range(rng.randint(1, 6)):
            text = (f'{rng.choice(RTSP)} rtsp://127.0.0.1:{program.rtsp_port}/{rng.choice(("annotated", "clean", "x"))}/demo'
                    f'{rng.choice(("", "/stream=0", "/stream=9"))} RTSP/1.0\r\nCSeq: {i}\r\nAuthorization: Basic {login}\r\n'
                    f'Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\nSession: {rng.randrange(10**8)}\r\n\r\n')
            s.sendall(mutate(text, rng) if rng.random() < 0.5 else text.encode())
            listen(s, 0.1)
        leave(s, rng)


ACTIONS = (send_garbage, send_request, send_request, abandon_download, be_slow, speak_websocket, speak_websocket, speak_rtsp)


def play(program, rng, end, counts):
    while time.monotonic() < end:
        action = rng.choice(ACTIONS)
        counts[action.__name__] = counts.get(action.__name__, 0) + 1
        try:
            action(program, rng)
        except (ConnectionError, TimeoutError):
            pass  # it need not be polite to those


def get_files(program):
    return len(os.listdir(f'/proc/{program.process.pid}/fd'))


def wait_for_files(program, most):
    for _ in range(600):
        if get_files(program) <= most:
            return
        time.sleep(0.1)
    raise AssertionError(f'{get_files(program)} files are open after the clients left, expected {most}')


async def behave(program):
    """A page that does nothing wrong is served."""
    async with Page(program) as page:
        await page.ask('clear')
        reply = await page.ask('point', x=0.54, y=0.6)
        check(reply['type'] == 'done', f'a point gives {reply}')
        await page.wait_for(lambda s: [o['id'] for o in s['objects']] == [reply['id']], 'the object')
        check(not page.state['fault'], f'the camera is gone: {page.state}')


async def crowd(program):
    """A thousand connections that send a letter now and then: a page that is open goes on, and they are sent away."""
    async with Page(program) as page:
        before = get_files(program)
        strangers = []
        for _ in range(1000):
            try:
                strangers.append(connect(program.port))
            except OSError:
                pass
        n = page.state['n'] if page.state else 0
        await page.wait_for(lambda s: s['n'] > n + 3, 'states while a thousand strangers are connected')
        check(get_files(program) < before + 200, f'{get_files(program)} files are open for a thousand strangers')
        started = time.monotonic()
        while program.process.poll() is None and time.monotonic() < started + 60:
            await page.take('state')
            for s in strangers:
                try:
                    s.send(b'G')
                except OSError:
                    pass
            if get_files(program) <= before + 1:
                break
        check(get_files(program) <= before + 1, 'strangers that do not ask are not sent away')
        for s in strangers:
            s.close()
    check(program.get('/healthz')[0] == 200, 'nobody is served after a thousand strangers')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('--minutes', type=float, default=0)
    parser.add_argument('--seconds', type=float, default=10)
    parser.add_argument('--seed', type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    print(f'seed {options.seed}', flush=True)
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with Program(options.build, '--demo') as program:
        program.wait_for_frames('demo')
        asyncio.run(behave(program))
        before = get_files(program)
        end = time.monotonic() + (options.minutes * 60 or options.seconds)
        counts, turn = {}, 0
        while time.monotonic() < end:
            turn += 1
            part = min(end, time.monotonic() + 60)
            threads = [threading.Thread(target=play, args=(program, random.Random(f'{options.seed} {turn} {i}'), part, counts))
                       for i in range(THREADS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            check(program.process.poll() is None, f'the program ended: {program.read_log()[-3000:]}')
            wait_for_files(program, before + SPARE_FILES)
            asyncio.run(behave(program))
        print(counts)
        asyncio.run(crowd(program))
        m = program.metrics()
        print(f'{m["samtrack_resident_bytes"] / 2**20:.0f} MiB, {m["samtrack_open_files"]:.0f} files')
        check(m['samtrack_source_up{camera="demo"}'] == 1, 'the camera is gone')
    print('ok')


main()
