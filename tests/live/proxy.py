#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The page behind nginx with TLS, under a path that the proxy cuts off, under one that it leaves, and at the root. nginx ends what is idle for 4 s, and what lies before it
ends connections, and forgets them: the page goes on, and comes back. usage: proxy.py BUILD OUT_FOLDER"""
import asyncio
import contextlib
import http.client
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import chromium
from program import Program, check, get_free_port, skip
from sockets_data import HANDSHAKE

NGINX = shutil.which('nginx', path=os.environ.get('PATH', '') + ':/usr/sbin')
if not NGINX:
    skip('there is no nginx')

HOST = 'cam.example.org'
IDLE_S = 4  # nginx's own is 60; a request may take so long on a machine that does much else
# As docs/LIVE.md has it, with ports, files and patience of the test's own.
CONFIG = '''
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl;
    server_name cam.example.org;
    ssl_certificate {folder}/cert.pem;
    ssl_certificate_key {folder}/key.pem;
    location {path}/ {{
      proxy_pass http://127.0.0.1:{back}{cut};
      proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection upgrade;
      proxy_read_timeout {idle_s}s;
    }}
  }}
}}
'''


class Proxy:
    def __init__(self, folder, port, path, cut, back):
        self.port = port
        pathlib.Path(folder, 'nginx.conf').write_text(
            CONFIG.format(folder=folder, port=port, path=path, cut='/' if cut else '', back=back, idle_s=IDLE_S))
        self.process = subprocess.Popen([NGINX, '-e', f'{folder}/error.log', '-c', f'{folder}/nginx.conf'], stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                self.get('/')
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(pathlib.Path(folder, 'error.log').read_text())

    def get(self, path, headers=None, method='GET', body=None):
        """(status, body, headers), as a browser asks that resolves the host to the proxy."""
        connection = http.client.HTTPSConnection('127.0.0.1', self.port, timeout=20, context=ssl._create_unverified_context())
        connection.request(method, path, body, headers={'Host': HOST, **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers

    def shake_hands(self, path, cookie, origin):
        """The status that the WebSocket's handshake gives."""
        context = ssl._create_unverified_context()
        more = f'Cookie: {cookie}\r\nOrigin: {origin}\r\n'
        with context.wrap_socket(socket.create_connection(('127.0.0.1', self.port), timeout=20)) as s:
            text = HANDSHAKE.format(port=self.port, more=more).replace('GET /socket', f'GET {path}/socket')
            s.sendall(re.sub(r'Host: \S+', f'Host: {HOST}', text).encode())
            return int(s.recv(4096).split()[1])

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


class Wire:
    """A port that leads to another one."""

    def __init__(self, port):
        self.to = port
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            pair = {'ends': (near, socket.create_connection(('127.0.0.1', self.to))), 'forgotten': threading.Event()}
            self.pairs.append(pair)
            for ends in (pair['ends'], pair['ends'][::-1]):
                threading.Thread(target=self.carry, args=(*ends, pair['forgotten']), daemon=True).start()

    def carry(self, source, sink, forgotten):
        try:
            while data := source.recv(1 << 16):
                if forgotten.is_set():
                    return
                sink.sendall(data)
            if not forgotten.is_set():
                sink.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other direction has ended

    def cut(self):
        """Ends all connections that there are."""
        for pair in self.pairs:
            for end in pair['ends']:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self.pairs = []

    def forget(self):
        """They stay open at both ends, and carry nothing any more."""
        for pair in self.pairs:
            pair['forgotten'].set()

    def stop(self):
        self.listener.close()
        self.cut()


def use(program, proxy, path):
    """The printed link leads to the page, and the page to all it needs."""
    origin = f'https://{HOST}'
    at, cookie, status = f'{path}/?token={program.token}', '', 303
    while status in (301, 303):
        status, page, headers = proxy.get(at, {'Cookie': cookie})
        if headers['Set-Cookie']:
            check('; Secure' in headers['Set-Cookie'], f'the cookie is {headers["Set-Cookie"]}')
            cookie = headers['Set-Cookie'].split(';')[0]
        if status in (301, 303):
            check(not headers['Location'].startswith('http'), f'the link leads to {headers["Location"]}')
            at = urllib.parse.urljoin(at, headers['Location'])
    check(status == 200 and at.startswith(f'{path}/') and 'token' not in at, f'the link gives {status} at {at}')
    path = at.rstrip('/')  # of the page; everything else is beside it
    for link in re.findall(r'(?:href|src)="([^"]+)"', page.decode()):
        if link.startswith('data:'):
            continue
        check(not link.startswith('/'), f'the page names {link}')
        check(proxy.get(f'{path}/{link}', {'Cookie': cookie})[0] == 200, f'{path}/{link} is not served')
    for file, wanted in (('mjpeg/nobody', 404), ('annotations/demo.jsonl', 200), ('annotations/demo', 404), ('mjpeg', 404)):
        status = proxy.get(f'{path}/{file}', {'Cookie': cookie})[0]
        check(status == wanted, f'{path}/{file} gives {status}, expected {wanted}')
    use_others(proxy, path, cookie, origin)
    check(proxy.get(f'{path}/healthz')[:2] == (200, b'ok\n'), '/healthz is not served')
    for where, wanted in ((origin, 101), ('https://evil.example', 403), (f'http://{HOST}.evil.example', 403), ('null', 403)):
        status = proxy.shake_hands(path, cookie, where)
        check(status == wanted, f'a WebSocket of {where} gives {status}, expected {wanted}')
    check(proxy.shake_hands(path, 'samtrack-live-1=wrong', origin) == 401, 'a WebSocket without token is served')


def use_others(proxy, path, cookie, origin):
    """The pages of cameras, of one camera and of events with all that they name, and the API, which changes cameras."""
    for page, below in (('cameras', ''), ('events?camera=demo', ''), ('camera/demo/', '../../')):
        status, text, _ = proxy.get(f'{path}/{page}', {'Cookie': cookie})
        check(status == 200, f'{path}/{page} gives {status}')
        check(('<base href="../../">' in text.decode()) == bool(below), f'the base of {page}')
        for link in re.findall(r'(?:href|src)="([^"]+)"', text.decode()):
            if not link.startswith('data:'):
                check(not link.startswith('/') and proxy.get(f'{path}/{link}' if link != below else f'{path}/', {'Cookie': cookie})[0] == 200,
                      f'{page} names {link}')
    for file in ('api/cameras', 'api/cameras/demo', 'api/cameras/demo/picture.jpg', 'api/cameras/demo/events', 'annotations/demo.video.json'):
        check(proxy.get(f'{path}/{file}', {'Cookie': cookie})[0] == 200, f'{path}/{file} is not served')
        check(proxy.get(f'{path}/{file}')[0] == 401, f'{path}/{file} needs no token')
    json = {'Cookie': cookie, 'Content-Type': 'application/json'}
    for where, wanted in (('https://evil.example', 403), (origin, 201)):
        status = proxy.get(f'{path}/api/cameras', {**json, 'Origin': where}, 'POST', '{"name": "yard", "source": "/dev/video97"}')[0]
        check(status == wanted, f'a camera that {where} adds gives {status}, expected {wanted}')
    check(proxy.get(f'{path}/api/cameras/yard', {'Cookie': cookie, 'Origin': origin}, 'DELETE')[0] == 204, 'a camera cannot be removed')
    check(proxy.shake_hands(f'{path}/camera/demo', cookie, origin) == 101, 'the WebSocket of a camera is not served')


async def draw_zone(tab):
    """By the page's WebSocket, through the proxy; the other pages show what they fetch through it."""
    box = await tab.run('document.getElementById("stage").getBoundingClientRect().toJSON()')
    await tab.run('document.querySelector("#draw [value=zone]").click()')
    await tab.drag(box['x'] + box['width'] * 0.1, box['y'] + box['height'] * 0.1, box['x'] + box['width'] * 0.9, box['y'] + box['height'] * 0.9)
    await tab.wait_for('document.querySelectorAll("#zone-list li").length === 1', 60)
    for page in ('events', 'all'):
        await tab.run(f'document.getElementById("{page}").click()')
        await tab.wait_for('location.pathname.match(/(events|cameras)$/) && document.querySelector("#grid img")?.naturalWidth > 1', 60)


async def come_back(tab, program, wire, out):
    """What ends its connections, and what forgets them so that neither end is told: the page is there again, with what was selected, and with new pictures."""
    opened = program.read_log().count('event=page-opened')
    current = 'document.querySelector("#objects [aria-current=true]")'
    await tab.key('ArrowDown')
    await tab.wait_for(current)
    for i, act in enumerate((wire.cut, wire.forget), opened + 1):
        check(not tab.errors, f'the page has errors: {tab.errors}')
        await tab.run('window.away = new Promise((resolve) => new MutationObserver(() => document.body.dataset.state === "lost" && resolve(true))'
                      '.observe(document.body, { attributes: true })), 1')
        act()
        check(await tab.run('window.away'), 'the page does not say that it is alone')
        await tab.screenshot(f'{out}/alone.png')
        await tab.wait_for('document.body.dataset.state === "live" && document.getElementById("delay").textContent.endsWith(" ms")', 60)
        check(await tab.run(f'!!{current}'), 'what was selected is not selected any more')
        tab.errors = [error for error in tab.errors if 'net::ERR_' not in error]  # of what was cut
        check(program.read_log().count('event=page-opened') == i, f'the page was opened {program.read_log().count("event=page-opened")} times, not {i}')


async def browse(program, proxy, path, out):
    """In a browser: WebSocket, pictures, downloads."""
    wire = Wire(proxy.port)
    async with chromium.Tab(flags=(f'--host-resolver-rules=MAP {HOST}:443 127.0.0.1:{wire.port}',
                                   '--ignore-certificate-errors')) as tab:
        await tab.before_load('delete window.RTCPeerConnection')
        await tab.open(f'https://{HOST}{path}/?token={program.token}')
        await tab.wait_for('document.getElementById("picture").width > 0')
        await tab.wait_for('["live", "waiting"].includes(document.body.dataset.state)')
        await tab.wait_for('document.getElementById("coco").href')
        href = await tab.run('document.getElementById("coco").href')
        check(href.startswith(f'https://{HOST}{path}/') and href.endswith('/annotations/demo.json'), f'the download is {href}')
        status = await tab.run('fetch(document.getElementById("lines").href).then(a => a.status)')
        check(status == 200, f'the download gives {status}')
        await tab.screenshot(f'{out}/proxy.png')
        await come_back(tab, program, wire, out)
        await draw_zone(tab)
        check(not tab.errors, f'the page has errors: {tab.errors}')
    wire.stop()


def main(build, out):
    out = f'{out}/proxy'
    os.makedirs(out, exist_ok=True)
    for path, cut in (('/house/cam', True), ('/mjpeg', False), ('', False)):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', f'/CN={HOST}',
                            '-out', f'{folder}/cert.pem', '-keyout', f'{folder}/key.pem'], check=True, capture_output=True)
            with Program(build, '--demo', '--public-url', f'https://{HOST}{path}/', '--initial-prompt',
                         'point,x=0.54,y=0.6,normalized=true') as program:
                program.wait_for(lambda m: m['samtrack_annotated_frames{camera="demo",fate="kept"}'] > 0, 'annotations')
                check(program.pages[0] == f'https://{HOST}{path}/?token={program.token}', f'it prints {program.pages}')
                proxy = Proxy(folder, get_free_port(), path, cut, program.port)
                try:
                    use(program, proxy, path)
                    check(program.get(f'{path}/healthz', token=False)[0] == 200, 'the path is not served without a proxy')
                    if cut and chromium.find():
                        asyncio.run(browse(program, proxy, path, out))
                finally:
                    proxy.stop()
    print('ok')


main(*sys.argv[1:])
