# SPDX-License-Identifier: MIT
"""A small RTSP client: many of them fit into one test."""
import base64
import re
import socket
import ssl
import struct
import time
import urllib.parse


class Closed(Exception):
    """The server closed the connection."""


class Viewer:
    """One viewer of a stream, by TCP; `url` has the password."""

    def __init__(self, url, timeout=30):
        parts = urllib.parse.urlsplit(url)
        self.url = f'{parts.scheme}://{parts.hostname}:{parts.port}{parts.path}'
        self.secret = base64.b64encode(f'{parts.username}:{parts.password}'.encode()).decode()
        self.number = 0
        self.session = None
        self.left = b''
        self.until = None  # s of the monotonic clock: nothing is waited for any longer, though reports come
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=timeout)
        if parts.scheme == 'rtsps':
            self.socket = ssl._create_unverified_context().wrap_socket(self.socket)

    def fill(self, size):
        while len(self.left) < size:
            if self.until and time.monotonic() > self.until:
                raise TimeoutError(f'{self.url}: what was waited for does not come')
            data = self.socket.recv(65536)
            if not data:
                raise Closed(f'{self.url}: the server closed the connection')
            self.left += data

    def take(self, size):
        self.fill(size)
        data, self.left = self.left[:size], self.left[size:]
        return data

    def take_packet(self):
        """(channel, data) of the next packet of video or of a report."""
        mark, channel, size = struct.unpack('>cBH', self.take(4))
        if mark != b'$':
            raise AssertionError(f'{self.url}: {mark!r} where a packet begins')
        return channel, self.take(size)

    def take_answer(self):
        """(status, text); packets before it are dropped."""
        self.fill(1)
        while self.left[:1] == b'$':
            self.take_packet()
            self.fill(1)
        while b'\r\n\r\n' not in self.left:
            self.fill(len(self.left) + 1)
        head, self.left = self.left.split(b'\r\n\r\n', 1)
        length = re.search(rb'(?i)content-length: (\d+)', head)
        body = self.take(int(length.group(1))) if length else b''
        return int(head.split()[1]), (head + b'\r\n\r\n' + body).decode()

    def send(self, method, path='', more=''):
        self.number += 1
        session = f'Session: {self.session}\r\n' if self.session else ''
        self.socket.sendall(f'{method} {self.url}{path} RTSP/1.0\r\nCSeq: {self.number}\r\n'
                            f'Authorization: Basic {self.secret}\r\n{session}{more}\r\n'.encode())

    def ask(self, method, path='', more=''):
        self.send(method, path, more)
        status, text = self.take_answer()
        if status != 200:
            raise AssertionError(f'{method} {self.url} gives {text.splitlines()[0]}')
        return text

    def set_up(self):
        control = re.findall(r'a=control:(\S+)', self.ask('DESCRIBE', more='Accept: application/sdp\r\n'))[-1]
        answer = self.ask('SETUP', '/' + control, 'Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n')
        self.session = re.search(r'(?i)session: ([^;\r]+)', answer).group(1)

    def play(self):
        self.set_up()
        self.ask('PLAY')

    def watch(self, packets):
        """Takes so many packets of video."""
        while packets:
            packets -= self.take_packet()[0] == 0

    def tear_down(self):
        """Ends in order."""
        self.ask('TEARDOWN')
        self.socket.close()

    def vanish(self):
        """The server learns nothing but that the connection is gone."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.socket.close()
