#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What strangers, and clients with the token, do to keep others out: bursts, silence, bodies, lines, fragments, floods,
handshakes. Each attack goes on while two viewers must get their frames and newcomers with the token must be served;
memory must stay flat; SIGTERM must end the program under it; without SIGTERM all files are given back.
usage: attacks.py BUILD [NAME...]     default: all; -v tells more"""
import base64
import contextlib
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

from program import Program, check
from sockets_data import HANDSHAKE
from viewer import Viewer

ADDRESSES = 4  # that the attackers come from: 127.0.0.2 and the next
MOST = 128 << 20  # bytes that one attacker sends
LONGEST = 20  # s that a flood goes on
FRAMES = 30  # that each viewer must get under an attack
GROWTH = 40 << 20  # bytes of memory
SPARE_FILES = 8
SESSIONS = 25  # of each thread
CONFIG = '[live]\ntoken=test-token\n{more}[camera test]\nsource=test\nwidth=160\nheight=96\n[camera away]\nsource=rtsp://127.0.0.1:9/x\n'


class Attack:
    """Keeps its connections until it is left. Floods are threads that end with it."""

    def __init__(self, program):
        self.program = program
        self.sockets, self.threads = [], []
        self.closed = []  # of each flood, how often its connection was closed
        self.ended = False
        self.login = base64.b64encode(f'viewer:{program.token}'.encode()).decode()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.ended = True
        for s in self.sockets:
            with contextlib.suppress(OSError):
                s.close()
        for thread in self.threads:
            thread.join()

    def connect(self, port):
        s = socket.socket()
        s.settimeout(2)
        s.bind((f'127.0.0.{2 + len(self.sockets) % ADDRESSES}', 0))
        self.sockets.append(s)
        with contextlib.suppress(OSError):
            s.connect(('127.0.0.1', port))
        return s

    def send(self, port, data):
        """A connection that sends this and waits."""
        s = self.connect(port)
        with contextlib.suppress(OSError):
            s.sendall(data)
        return s

    def flood(self, port, head, data, begin=None):
        """Connections that send this without end; a new one whenever one is closed."""
        number = len(self.closed)
        self.closed.append(0)

        def run():
            end = time.monotonic() + LONGEST
            left = MOST
            while left > 0 and not self.ended and time.monotonic() < end:
                with contextlib.suppress(OSError):
                    s = self.send(port, head)
                    if begin:
                        begin(s)
                    while left > 0 and not self.ended and time.monotonic() < end:
                        s.sendall(data)
                        left -= len(data)
                self.closed[number] += 1
                time.sleep(0.02)

        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def await_closes(self):
        """Until each flood was cut off twice, or has sent all."""
        while any(thread.is_alive() and n < 2 for thread, n in zip(self.threads, self.closed)):
            time.sleep(0.05)

    def request(self, method, more='', camera='test'):
        return (f'{method} rtsp://127.0.0.1/annotated/{camera} RTSP/1.0\r\nCSeq: 1\r\n'
                f'Authorization: Basic {self.login}\r\n{more}').encode()

    def handshake(self):
        return HANDSHAKE.format(port=self.program.port, more=f'Authorization: Bearer {self.program.token}\r\n').encode()


def frame(first, data=b''):
    """A masked frame of a WebSocket; the mask is 0."""
    size = struct.pack('>BBH', first, 0x80 | 126, len(data)) if len(data) > 125 else bytes((first, 0x80 | len(data)))
    return size + bytes(4) + data


def await_answer(s):
    if b' 101 ' not in s.recv(4096):
        raise ConnectionError('no WebSocket')


def both(attack):
    return attack.program.port, attack.program.rtsp_port


def tunnels(attack):
    """RTSP through HTTP, one half of it, and the other."""
    for method in ('GET', 'POST'):
        for i in range(100):
            attack.send(attack.program.rtsp_port, f'{method} /annotated/test HTTP/1.0\r\nx-sessioncookie: {method}{i}\r\n\r\n'.encode())


def burst(attack):
    for port in both(attack):
        for _ in range(300):
            attack.connect(port).close()


def silence(attack):
    for port in both(attack):
        for _ in range(100):
            attack.connect(port)


def letters(attack):
    for port in both(attack):
        for _ in range(300):
            attack.send(port, b'G')


def bodies(attack):
    lines = f'Content-Length: {3 << 30}\r\n\r\n'
    attack.flood(attack.program.rtsp_port, b'DESCRIBE rtsp://x/annotated/test RTSP/1.0\r\nCSeq: 1\r\n' + lines.encode(), bytes(65536))
    attack.flood(attack.program.rtsp_port, attack.request('SET_PARAMETER', lines), bytes(65536))
    for length in (lines, 'Transfer-Encoding: chunked\r\n\r\n'):
        head = attack.program.write_request('/metrics')[:-2] + length.encode()
        attack.flood(attack.program.port, head.replace(b'GET', b'POST'), b'f000\r\n' + bytes(0xf000) + b'\r\n')


def lines(attack):
    """Header lines without end."""
    attack.flood(attack.program.rtsp_port, b'DESCRIBE rtsp://x/annotated/test RTSP/1.0\r\nCSeq: 1\r\n', b'X-Y: z\r\n' * 1000)
    attack.flood(attack.program.rtsp_port, attack.request('PLAY'), b'Session: z\r\n' * 1000)
    attack.flood(attack.program.port, b'GET / HTTP/1.1\r\n', b'X-Y: z\r\n' * 1000)


def line(attack):
    """One line without an end."""
    for port in both(attack):
        attack.flood(port, b'DESCRIBE rtsp://x', b'x' * 4000)


def requests(attack):
    """Many requests, and no answer is read."""
    attack.flood(attack.program.rtsp_port, b'', b'OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n' * 100)
    attack.flood(attack.program.rtsp_port, b'', attack.request('DESCRIBE', '\r\n') * 100)
    attack.flood(attack.program.port, b'', b'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n' * 100)
    attack.flood(attack.program.port, b'', attack.program.write_request('/main.js') * 100)


def data(attack):
    """Packets of RTP and RTCP that belong to no session."""
    attack.flood(attack.program.rtsp_port, b'', (b'$\x01' + struct.pack('>H', 60000) + bytes(60000)))
    attack.flood(attack.program.rtsp_port, b'', (b'$\x00\x00\x00') * 1000)


def fragments(attack):
    """A message that never ends: of large fragments, and of empty ones; and one that begins before the WebSocket does."""
    port, head = attack.program.port, attack.handshake()
    attack.flood(port, head, frame(0x00, b'x' * 16000), lambda s: (await_answer(s), s.sendall(frame(0x01, b'x'))))
    attack.flood(port, head, frame(0x00) * 1000, lambda s: (await_answer(s), s.sendall(frame(0x01))))
    attack.flood(port, head + frame(0x01, b'x'), frame(0x00, b'x' * 16000))


def pings(attack):
    for opcode in (0x89, 0x8a):
        for _ in range(2):
            attack.flood(attack.program.port, attack.handshake(), frame(opcode, b'x' * 100) * 300, await_answer)


def handshakes(attack):
    """TLS that does not begin, that stops in the middle of the first record, and after it."""
    hello = make_hello()
    for port in both(attack):
        for part in (b'', hello[:5], hello[:-1], hello):
            for _ in range(15):
                attack.send(port, part)


def make_hello():
    """The first record of a client."""
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl._create_unverified_context().wrap_bio(received, sent, server_hostname='localhost')
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def waits(attack):
    """Clients with the token that ask for a camera which gives no frame: each is answered after 20 s."""
    for _ in range(5):
        attack.send(attack.program.rtsp_port, attack.request('DESCRIBE', '\r\n', 'away'))
        attack.send(attack.program.rtsp_port, attack.request('SETUP', 'Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n', 'away/stream=0'))


def sessions(attack):
    """Viewers that come and go beside each other, the last of a stream ever so often: all are answered."""
    errors = []

    def run():
        try:
            for i in range(SESSIONS):
                viewer = Viewer(attack.program.rtsp[1])
                viewer.play()
                (viewer.tear_down, viewer.vanish)[i % 2]()
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not errors, f'{len(errors)} of {len(threads)} threads with sessions fail: {errors[:1]}')


ATTACKS = {  # name: what it does, whether the program speaks TLS
    'burst': (burst, False), 'silence': (silence, False), 'letters': (letters, False), 'bodies': (bodies, False),
    'lines': (lines, False), 'line': (line, False), 'requests': (requests, False), 'data': (data, False),
    'fragments': (fragments, False), 'pings': (pings, False), 'tunnels': (tunnels, False), 'waits': (waits, False),
    'sessions': (sessions, False),
    'handshakes': (handshakes, True), 'tls-silence': (silence, True), 'tls-lines': (lines, True),
}


class Frames(threading.Thread):
    """Somebody who looks on, and counts frames."""

    def __init__(self):
        super().__init__(daemon=True)
        self.n, self.ended, self.error = 0, False, None

    def run(self):
        try:
            for _ in self.take():
                self.n += 1
                if self.ended:
                    return
        except Exception as e:  # it is told where frames are waited for
            self.error = e

    def wait_for(self, n):
        wanted, end = self.n + n, time.monotonic() + 30
        while self.n < wanted:
            check(not self.error, f'{type(self).__name__}: {self.error}')
            check(time.monotonic() < end, f'{type(self).__name__}: {self.n + n - wanted} of {n} frames came in 30 s')
            time.sleep(0.02)


class Rtsp(Frames):
    def __init__(self, program):
        super().__init__()
        self.viewer = Viewer(program.rtsp[0])
        self.viewer.play()
        self.start()

    def take(self):
        while True:
            channel, packet = self.viewer.take_packet()
            if channel == 0 and packet[1] & 0x80:  # the last of its frame
                yield


class Pictures(Frames):
    def __init__(self, program):
        super().__init__()
        self.socket = socket.create_connection(('127.0.0.1', program.port), timeout=30)
        if program.page.startswith('https'):
            self.socket = ssl._create_unverified_context().wrap_socket(self.socket)
        self.socket.sendall(program.write_request('/mjpeg/test'))
        self.start()

    def take(self):
        left = b''
        while True:
            data = self.socket.recv(65536)
            check(data, 'the JPEGs end')
            *parts, left = (left + data).split(b'--samtrack-frame')
            yield from parts


def make_certificate(folder):
    files = f'{folder}/cert.pem', f'{folder}/key.pem'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
                    '-subj', '/CN=localhost', '-out', files[0], '-keyout', files[1]], check=True, capture_output=True)
    return f'tls-certificate={files[0]}\ntls-key={files[1]}\n'


def get_files(program):
    return len(os.listdir(f'/proc/{program.process.pid}/fd'))


def get_memory(program):
    with open(f'/proc/{program.process.pid}/statm', encoding='ascii') as f:
        return int(f.read().split()[1]) * os.sysconf('SC_PAGESIZE')


def await_files(program, most):
    end = time.monotonic() + 30
    while get_files(program) > most:
        check(time.monotonic() < end, f'{get_files(program)} files are open after the attack, expected {most} at most')
        time.sleep(0.1)


def serve_newcomer(program):
    """With the token, while the attack goes on."""
    status = program.get('/metrics', timeout=30)[0]
    check(status == 200, f'a newcomer by HTTP is answered {status}')
    newcomer = Rtsp(program)
    newcomer.wait_for(3)
    newcomer.ended = True


def suffer(program, name, verbose):
    """What the attack costs: (bytes of memory, files) more."""
    viewers = Rtsp(program), Pictures(program)
    for viewer in viewers:
        viewer.wait_for(5)
    memory, files = get_memory(program), get_files(program)
    grown, attack = [0, 0], Attack(program)
    with attack:
        began = time.monotonic()
        ATTACKS[name][0](attack)
        serve_newcomer(program)
        for viewer in viewers:
            viewer.wait_for(FRAMES)
        attack.await_closes()
        grown = get_memory(program) - memory, get_files(program) - files
        check(grown[0] < GROWTH, f'{name}: memory has grown by {grown[0] / 2**20:.0f} MiB')
        log = len(program.read_log())
        check(log < 1 << 16, f'{name}: the log has {log} bytes')
        print(f'{name}: {time.monotonic() - began:.1f} s, {grown[0] / 2**20:+.1f} MiB, {grown[1]:+d} files, a log of {log} bytes, '
              f'{len(attack.sockets)} connections', flush=True)
        if verbose:
            print(program.read_log())
        yield
    await_files(program, files + SPARE_FILES)
    yield


def main(build, names, verbose):
    with tempfile.TemporaryDirectory() as folder:
        certificate = make_certificate(folder)
        for name in names:
            with open(f'{folder}/live.conf', 'w', encoding='utf-8') as f:
                f.write(CONFIG.format(more=certificate if ATTACKS[name][1] else ''))
            with Program(build, '--config', f'{folder}/live.conf', cameras=2) as program:
                program.wait_for_frames('test')
                for _ in suffer(program, name, verbose):
                    pass
                with Attack(program) as attack:
                    ATTACKS[name][0](attack)
                    program.stop()
    print('ok')


if __name__ == '__main__':
    arguments = [a for a in sys.argv[2:] if a != '-v']
    main(sys.argv[1], arguments or ATTACKS, '-v' in sys.argv)
