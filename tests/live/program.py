# SPDX-License-Identifier: MIT
"""Starts samtrack-live for a test, and speaks with it as a page does."""
import asyncio
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT / 'tests'))
import children

children.end_with_test()
SKIPPED = 77  # meson counts it as skipped
# What GStreamer's own elements may complain of: its RTSP library warns of what clients send, and rtspsrc 1.22 forgets its sequence
# number when it is stopped, ahead of its thread, which gives it to the EOS that it pushes if the camera is lost just then.
NOT_OURS = ('GStreamer-RTSP-WARNING', "gst_event_set_seqnum: assertion 'seqnum != GST_SEQNUM_INVALID' failed")

STARVED = 2  # s that threads, all together, waited for a processor while the program was to end


def skip(why):
    print(f'skipped: {why}')
    sys.exit(SKIPPED)


def check(truth, what):
    if not truth:
        raise AssertionError(what)


def has_frames(output):
    """Whether an RTSP client of gst-launch-1.0 got all its frames, by what it prints. Its exit status does not say so: one in
    fifty ends with an error, since rtspsrc interrupts its own PAUSE when it closes."""
    return b'Got EOS from element' in output


def get_free_port():
    """One that no connection of a test that runs at the same time gets from the kernel, also while nobody listens there."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as s:
            try:
                s.bind(('127.0.0.1', port))
                return port
            except OSError:
                pass


def get_waits(pid):
    """For how many seconds its threads, all together, have waited for a processor; 0 where the kernel does not tell."""
    waits = 0
    for path in pathlib.Path(f'/proc/{pid}/task').glob('*/schedstat'):
        with contextlib.suppress(OSError):  # it has just ended
            waits += int(path.read_text().split()[1])
    return waits / 1e9


def get_path(build):
    return os.environ.get('LIVE_PROGRAM', f'{build}/pipelines/live/samtrack-live')


def take_arguments(doc):
    """Those of a bench, of which the first is a build folder; without one it ends with the usage that its text has, and status 2."""
    if len(sys.argv) < 2 or not os.path.isfile(f'{sys.argv[1]}/build.ninja'):
        print(doc[doc.index('usage: '):], file=sys.stderr)
        sys.exit(2)
    return sys.argv[1:]


def get_environment(build):
    return dict(os.environ, GST_PLUGIN_PATH=f'{build}/gst', GST_REGISTRY_FORK='no')


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Program:
    """samtrack-live with free ports; `build` is the meson build folder, `cameras` how many it has.
    `before` is called in the new process."""

    def __init__(self, build, *arguments, token='test-token', cameras=1, before=None):
        self.folder = tempfile.TemporaryDirectory()
        self.log = open(f'{self.folder.name}/log', 'w+')
        self.token = token
        command = [get_path(build), '--http-port', '0', '--rtsp-port', '0', *(('--token', token) if token else ()),
                   '--state-folder', f'{self.folder.name}/state', *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        env=get_environment(build), preexec_fn=before)
        self.rtsp, self.pages = [], []
        for line in self.process.stdout:
            if line.startswith('http'):
                self.page = line.strip()
                self.pages.append(self.page)
            elif line.startswith('rtsp'):
                self.rtsp.append(line.strip())
            if len(self.rtsp) == 2 * cameras:
                break
        else:
            raise AssertionError(f'samtrack-live did not start:\n{self.read_log()}')
        self.port = int(re.search(r':(\d+)/', self.page).group(1))
        self.rtsp_port = int(re.search(r':(\d+)/', self.rtsp[0].rsplit('@')[-1]).group(1))

    def read_log(self):
        return pathlib.Path(self.log.name).read_text()

    def get(self, path, token=True, headers=None, timeout=20, method='GET', follow=True):
        """(status, body, headers)"""
        scheme = self.page.split(':')[0]
        request = urllib.request.Request(f'{scheme}://127.0.0.1:{self.port}{path}', method=method,
                                         headers=dict(headers or {}))
        if token:
            request.add_header('Authorization', f'Bearer {self.token}')
        try:
            handlers = [urllib.request.HTTPSHandler(context=ssl._create_unverified_context())]
            if not follow:
                handlers.append(Stay())
            with urllib.request.build_opener(*handlers).open(request, timeout=timeout) as answer:
                return answer.status, answer.read().decode(errors='replace'), dict(answer.headers)
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode(), dict(e.headers)

    def ask(self, method, path, body=None, headers=None, token=True):
        """(status, bytes, headers); a body that is no bytes is sent as JSON, and nothing is followed."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}{path}', method=method, data=data)
        if data is not None:
            request.add_header('Content-Type', 'application/json')
        if token:
            request.add_header('Authorization', f'Bearer {self.token}')
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        try:
            with urllib.request.build_opener(Stay()).open(request, timeout=60) as answer:
                return answer.status, answer.read(), dict(answer.headers)
        except urllib.error.HTTPError as e:
            return e.code, e.read(), dict(e.headers)

    def write_request(self, path):
        """The bytes of a request with the token, for those who send them by hand."""
        return f'GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n\r\n'.encode()

    def metrics(self):
        """{'name{labels}': value}"""
        status, text, _ = self.get('/metrics')
        check(status == 200, f'/metrics gives {status}')
        lines = [line.rsplit(' ', 1) for line in text.splitlines() if not line.startswith('#')]
        return {name: float(value) for name, value in lines}

    def wait_for(self, condition, what, seconds=30):
        """Asks until the condition of the metrics holds; returns them."""
        end = time.monotonic() + seconds
        while True:
            m = self.metrics()
            if condition(m):
                return m
            if time.monotonic() > end:
                raise AssertionError(f'{what} did not come in {seconds} s')
            time.sleep(0.1)

    def wait_for_frames(self, camera):
        name = f'samtrack_frames_total{{camera="{camera}",fate="received"}}'
        self.wait_for(lambda m: m.get(name, 0) > 5, f'frames of {camera}')

    def stop(self):
        """Ends it by SIGTERM; it must end by itself, with status 0. It gives up after 4.5 s: that is no fault of a program whose
        threads wait for a processor meanwhile. Those that hang do not."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        waits = [get_waits(self.process.pid)]
        for _ in range(40):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.5)
                break
            waits.append(get_waits(self.process.pid))
        status = self.process.poll()
        if status is None:
            self.process.kill()
            raise AssertionError(f'SIGTERM did not end it in 20 s:\n{self.read_log()}')
        if status == 1 and 'event=stop-hangs' in self.read_log() and max(waits) > waits[0] + STARVED:
            return
        check(status == 0, f'it ended with status {status}:\n{self.read_log()}')
        log = self.read_log()
        check('event=stopped' in log, f'the log does not end with event=stopped:\n{log}')
        log = '\n'.join(line for line in log.splitlines() if not any(theirs in line for theirs in NOT_OURS))
        check('CRITICAL' not in log and 'WARNING **' not in log, f'GLib complains:\n{log}')

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.stop()
        else:
            print(self.read_log()[-3000:])
            self.process.kill()
            self.process.wait()


class Page:
    """The WebSocket of a page. Replies are matched by number; the newest state is kept."""

    def __init__(self, program):
        import websockets
        self.websockets = websockets
        self.program = program
        self.last = 0
        self.state = None
        self.hello = None
        self.others = []

    async def __aenter__(self):
        version = int(self.websockets.__version__.split('.')[0])
        headers = 'additional_headers' if version >= 14 else 'extra_headers'
        self.socket = await self.websockets.connect(
            f'ws://127.0.0.1:{self.program.port}/socket', max_size=2**20, open_timeout=60, ping_interval=None,
            close_timeout=0.5,  # libsoup leaves it to the client to end a connection that it closed
            **{headers: {'Authorization': f'Bearer {self.program.token}'}})
        self.hello = await self.take('hello')
        return self

    async def __aexit__(self, *error):
        await self.socket.close()

    async def take(self, kind=None, re_=None, seconds=20):
        """The next message of a kind, or the reply to a number."""
        end = time.monotonic() + seconds
        while True:
            try:
                text = await asyncio.wait_for(self.socket.recv(), end - time.monotonic())
            except asyncio.TimeoutError:
                raise AssertionError(f'no {kind or f"reply to request {re_}"} came in {seconds} s') from None
            if isinstance(text, bytes):  # masks
                continue
            message = json.loads(text)
            if message['type'] == 'state':
                self.state = message
                await self.socket.send(json.dumps({'op': 'seen', 'n': message['n']}))
            if message['type'] == kind or (re_ and message.get('re') == re_):
                return message
            if message['type'] != 'state':
                self.others.append(message)

    async def ask(self, op, **fields):
        self.last += 1
        await self.socket.send(json.dumps({'op': op, 're': self.last, **fields}))
        return await self.take(re_=self.last)

    async def wait_for(self, condition, what, seconds=20):
        """Waits for a state that fulfils the condition."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            state = await self.take('state')
            if condition(state):
                return state
        raise AssertionError(f'{what} did not come in {seconds} s; last state: {state}')
