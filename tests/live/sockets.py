#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What clients may do wrong: tokens, origins, bodies, garbage on both sockets and in messages, floods, vanishing.
usage: sockets.py BUILD [SEED]"""
import asyncio
import contextlib
import json
import pathlib
import random
import socket
import sys
import tempfile

from program import Page, Program, check, skip
from sockets_data import HANDSHAKE, NAMES, REQUESTS, mutate
from viewer import Viewer

try:
    import websockets
except ImportError as e:
    skip(str(e))


def send_raw(port, data, close=False):
    """What comes back within a second; b'': nothing."""
    with socket.create_connection(('127.0.0.1', port), timeout=20) as s:
        s.settimeout(1)
        try:
            s.sendall(data)
            return b'' if close else s.recv(4096)
        except (TimeoutError, ConnectionError):
            return b''


def get_status(program, more, path='/socket'):
    answer = send_raw(program.port, HANDSHAKE.format(port=program.port, more=more).replace('/socket', path).encode())
    return int(answer.split()[1])


def refuse_strangers(program):
    for path in ('/', '/main.js', '/metrics', '/mjpeg/demo', '/nothing'):
        check(program.get(path, token=False)[0] == 401, f'{path} without token is not refused')
        wrong = {'Authorization': 'Bearer test-tokeN'}
        check(program.get(path, token=False, headers=wrong)[0] == 401, f'{path} with a wrong token is not refused')
        check(program.get(path + '?token=', token=False)[0] == 401, f'{path} with an empty token is not refused')
    check(program.get('/healthz', token=False)[:2] == (200, 'ok\n'), '/healthz does not answer without token')
    for path, field in (('/?token=wrong', True), ('/metrics', False), ('/main.js', False)):
        status, body, headers = program.get(path, token=False, headers={'Accept': 'text/html,*/*'})
        check(status == 401 and ('name="token"' in body) == field and 'The token is missing or wrong' in body, f'{path} gives {status}: {body}')
        check(("form-action 'self'" in headers['Content-Security-Policy']) == field and "script-src" not in
              headers['Content-Security-Policy'] * field, f'{path} has the policy {headers}')
    check(program.get('/style.css', token=False)[0] == 200, 'the field for the token has no style')
    good = f'Authorization: Bearer {program.token}\r\n'
    own, other = (f'Origin: http://{host}\r\n' for host in (f'127.0.0.1:{program.port}', 'evil.example'))
    for more, wanted in (('', 401), (good, 101), (good + own, 101), (good + other, 403), (other, 403)):
        status = get_status(program, more)
        check(status == wanted, f'a WebSocket with {more!r} gives {status}, expected {wanted}')
    check(program.get('/metrics', headers={'Origin': 'http://evil.example'})[0] == 403, 'a foreign origin is served')


def use_cookie(program):
    """The session of a browser: the token is not in it, and other ports of the host do not get it."""
    base = f'/live-{program.port}/'
    status, _, headers = program.get('/', token=False, follow=False)
    check(status == 303 and headers['Location'] == base[1:], f'/ gives {status}, {headers}')
    status, _, headers = program.get(f'/?token={program.token}', token=False, follow=False)
    check(status == 303 and headers['Location'] == base[1:], f'the printed address gives {status}, {headers}')
    cookie, *attributes = headers['Set-Cookie'].split('; ')
    name, value = cookie.split('=', 1)
    check(name == f'samtrack-live-{program.port}' and program.token not in value, f'the cookie is {cookie}')
    check({f'Path={base}', 'HttpOnly', 'SameSite=Lax'} <= set(attributes), f'the cookie has {attributes}')
    other = program.get(f'/?token={program.token}', token=False, follow=False)[2]['Set-Cookie'].split('; ')[0]
    check(other != cookie, 'two sessions have the same cookie')
    begin, rest = value.split('.', 1)
    for text, wanted in ((cookie, 200), (f'a=b; {cookie}; c=d', 200), (f'{name}={program.token}', 401), (f'{name}={value[:-1]}', 401),
                         (f'{name}={int(begin) + 60}.{rest}', 401), (f'{name}={int(begin) - 31 * 86400}.{rest}', 401),
                         (f'samtrack-live-1={value}', 401), (f'{name}=', 401), (f'{name}=.', 401)):
        for path in (base, f'{base}main.js', f'{base}metrics', '/metrics'):
            status = program.get(path, token=False, headers={'Cookie': text})[0]
            check(status == wanted, f'{path} with the cookie {text} gives {status}, expected {wanted}')
    for path, wanted in (('/socket', 101), (f'{base}socket', 101)):
        status = get_status(program, f'Cookie: {cookie}\r\n', path)
        check(status == wanted, f'a WebSocket at {path} gives {status}, expected {wanted}')


def hide_names(program):
    """Without the token, cameras that exist cannot be told from others."""
    for path in ('/mjpeg/{}', '/annotations/{}.json', '/annotations/{}.jsonl', '/{}', f'/live-{program.port}/mjpeg/{{}}'):
        answers = [program.get(path.format(name), token=False)[:2] for name in ('demo', 'nobody')]
        check(answers[0] == answers[1] and answers[0][0] == 401, f'{path} gives {answers} for a camera and for none')
    for method in ('DESCRIBE', 'SETUP', 'PLAY', 'PAUSE', 'TEARDOWN', 'GET_PARAMETER', 'SET_PARAMETER', 'OPTIONS'):
        answers = []
        for name in ('demo', 'nobody'):
            viewer = Viewer(program.rtsp[0].replace(program.token, 'wrong-token').replace('/demo', f'/{name}'))
            viewer.send(method, '/stream=0' if method == 'SETUP' else '', 'Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n')
            answers.append(viewer.take_answer()[0])
            viewer.vanish()
        check(answers == [200 if method == 'OPTIONS' else 401] * 2, f'{method} gives {answers} for a camera and for none')


def hold_promise(build):
    """As many viewers as max-viewers says, above 128 too; the next one is told."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f'{folder}/live.conf', 'w', encoding='utf-8') as f:
            f.write('[live]\nmax-viewers=150\n[camera test]\nsource=test\nwidth=160\nheight=96\n')
        with Program(build, '--config', f'{folder}/live.conf') as program:
            program.wait_for_frames('test')
            head = HANDSHAKE.format(port=program.port, more=f'Authorization: Bearer {program.token}\r\n').encode()
            pages = []
            for i in range(151):
                pages.append(socket.create_connection(('127.0.0.1', program.port), timeout=20))
                pages[-1].sendall(head)
                check(b' 101 ' in pages[-1].recv(200), f'page {i + 1} of 150 is not served')
            viewers = []
            for _ in range(150):
                viewers.append(Viewer(program.rtsp[0]))
                viewers[-1].play()
            program.wait_for(lambda m: m['samtrack_viewers{kind="page"}'] == 150 and m['samtrack_viewers{kind="rtsp"}'] == 150,
                             '150 pages and RTSP viewers')
            pages[-1].recv(2000)
            for viewer in viewers[::50]:
                viewer.watch(5)
            for s in pages:
                s.close()
            for viewer in viewers:
                viewer.vanish()


def refuse_bodies(program):
    for method in ('POST', 'PUT', 'DELETE', 'OPTIONS'):
        check(program.get('/metrics', method=method)[0] == 405, f'{method} is not refused')
    head = f'POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {program.token}\r\nContent-Length: 200000\r\n\r\n'
    with socket.create_connection(('127.0.0.1', program.port), timeout=20) as s:
        s.sendall(head.encode() + bytes(200000))
        check(b' 405 ' in s.recv(4096), 'a request with a body is not refused')
    get = f'GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {program.token}\r\nContent-Length: 1\r\n\r\nx'
    check(b' 413 ' in send_raw(program.port, get.encode()), 'GET with a body is not refused')
    status, _, headers = program.get('/')
    check(status == 200 and "default-src 'none'" in headers['Content-Security-Policy'], 'the page has no policy')
    check(program.get('/../../../etc/passwd')[0] in (400, 404), 'a path out of the page is served')


def send_garbage(program, rng):
    for port in (program.port, program.rtsp_port):
        for i in range(60):
            data = rng.randbytes(rng.choice((1, 7, 100, 4000, 70000)))
            if i % 3 == 0:
                data = b'GET /metrics HTTP/1.1\r\nHost: x\r\n' + data
            elif i % 3 == 1:
                data = b'DESCRIBE rtsp://x/annotated/demo RTSP/1.0\r\nCSeq: 1\r\n' + data
            send_raw(port, data, close=rng.random() < 0.9)
    # Frames of a WebSocket that make no sense.
    for i in range(40):
        more = f'Authorization: Bearer {program.token}\r\n'
        with socket.create_connection(('127.0.0.1', program.port), timeout=20) as s:
            s.sendall(HANDSHAKE.format(port=program.port, more=more).encode())
            s.recv(4096)
            s.sendall(rng.randbytes(rng.choice((2, 10, 1000))))


async def send_bad_messages(program, rng):
    async with Page(program) as page:
        for text in ('', '[]', '1', 'null', '{"op":1}', '{"op":"point","x":1}', '{"op":"point","x":"1","y":1}',
                     '{"op":"nothing"}', '[' * 9000, '{"a":' * 3000, '{"op":"point","x":1e400,"y":0}'):
            await page.socket.send(text)
            reply = await page.take('refused')
            check(reply['why'], f'{text[:40]} is refused without a reason')
        for x, y in ((-1, 0.5), (0.5, 1), (1e300, 0), (2, 2)):
            reply = await page.ask('point', x=x, y=y)
            check(reply['type'] == 'refused', f'a point at {x}, {y} gives {reply}')
        for op in ('undo', 'remove'):
            reply = await page.ask(op, id=4711)
            check(reply['type'] == 'refused' and '4711' in reply['why'], f'{op} of an unknown object gives {reply}')
        reply = await page.ask('watch', camera='nobody', video='webrtc')
        check(reply['type'] == 'refused', f'an unknown camera gives {reply}')
    for _ in range(6):
        async with Page(program) as page:
            for _ in range(60):
                data = mutate(json.dumps(rng.choice(REQUESTS)), rng)
                try:
                    await page.socket.send(data.decode('utf-8', 'replace') if rng.random() < 0.8 else data)
                except websockets.ConnectionClosed:
                    break
            await asyncio.sleep(0.1)
    async with Page(program) as page:
        await page.ask('clear')
        try:
            await page.socket.send('x' * 100000)
            while True:
                await page.take('none', seconds=60)
        except websockets.ConnectionClosed as e:
            check(e.rcvd is None or e.rcvd.code in (1009, 1002), f'a large message closes with {e.rcvd}')


async def name_in_scripts(one, two, id_):
    """Any script, up to 64 characters; not more, and none that would break a line, a log or a terminal."""
    for text in NAMES:
        name = (text * 64)[:64]
        check((await two.ask('rename', id=id_, name=name))['type'] == 'done', f'the name {name} is refused')
        await one.wait_for(lambda s, name=name: [o['name'] for o in s['objects']] == [name], f'the name {name} in the other page')
        for n in (65, 1300):
            reply = await two.ask('rename', id=id_, name=(text * n)[:n])
            check(reply['type'] == 'refused' and 'more than 64' in reply['why'], f'{n} characters of {text} give {reply}')
        try:  # more than a message may have
            reply = await two.ask('rename', id=id_, name=(text * 10000)[:10000])
            check(reply['type'] == 'refused', f'10000 characters of {text} give {reply}')
        except websockets.ConnectionClosed:
            await two.__aenter__()
    for control in '\n\r\t\x1b\x7f\x85':
        for request in {'op': 'rename', 'id': id_}, {'op': 'save'}:
            reply = await two.ask(**request, name=f'a{control}b')
            check(reply['type'] == 'refused' and f'U+{ord(control):04X}' in reply['why'], f'{control!r} in a name gives {reply}')
    # The parser would end the text there.
    await two.socket.send(f'{{"op":"rename","id":{id_},"name":"a\\u0000b"}}')
    check('null' in (await two.take('refused'))['why'], 'a null character in a name is not refused')
    await two.socket.send(f'{{"op":"rename","id":{id_},"name":"a\\\\u0000b"}}')
    await one.wait_for(lambda s: [o['name'] for o in s['objects']] == ['a\\u0000b'], 'the name with a backslash')


async def share(program):
    """Two pages see the same objects, and names stay the text that they are."""
    async with Page(program) as one, Page(program) as two:
        reply = await one.ask('point', x=0.54, y=0.6)
        check(reply['type'] == 'done', f'a point gives {reply}')
        id_ = reply['id']
        await two.wait_for(lambda s: [o['id'] for o in s['objects']] == [id_], 'the object in the other page')
        name = '<img src=x onerror=alert(1)>"\'& \u2603'
        check((await two.ask('rename', id=id_, name=name))['type'] == 'done', 'renaming fails')
        await one.wait_for(lambda s: [o['name'] for o in s['objects']] == [name], 'the name in the other page')
        await name_in_scripts(one, two, id_)
        check((await two.ask('rename', id=id_, name=name))['type'] == 'done', 'renaming fails')
        check((await one.ask('save'))['type'] == 'done', 'saving fails')
        replies = await asyncio.gather(one.ask('remove', id=id_), two.ask('remove', id=id_))
        types = sorted(r['type'] for r in replies)
        check(types == ['done', 'refused'], f'removing one object twice gives {types}')
        await one.wait_for(lambda s: not s['objects'], 'the removal')
        check((await two.ask('restore'))['type'] == 'done', 'restoring fails')
        await one.wait_for(lambda s: [(o['id'], o['name']) for o in s['objects']] == [(id_, name)], 'the restored object')
        names = next(pathlib.Path(program.folder.name, 'state').glob('demo.2*.names'))
        check(name[:4] in names.read_text(), f'{names} lacks the name')
        names.write_text('[names\n')
        check((await two.ask('restore'))['type'] == 'done', 'restoring without names fails')
        await one.wait_for(lambda s: [o['id'] for o in s['objects']] == [id_] and s['objects'][0]['name'] != name, 'no name')
        check('event=names-lost' in program.read_log(), 'the log says nothing of the damaged names')
        check((await one.ask('clear'))['type'] == 'done', 'clearing fails')


async def flood(program):
    """Eight pages ask as fast as they can; one that behaves is still served."""
    async def one_flood():
        async with Page(program) as page:
            try:
                for _ in range(24):  # where client and server get little of a processor, the first are no flood
                    for _ in range(1500):
                        await page.socket.send('{"op":"point","x":0.5,"y":0.5}')
                    with contextlib.suppress(AssertionError):
                        await page.take('none', seconds=5)
            except websockets.ConnectionClosed:
                return page.socket.close_code

    async with Page(program) as page:
        floods = asyncio.gather(*(one_flood() for _ in range(8)))
        codes = await floods
        check(codes == [1008] * 8, f'pages that flood are closed with {codes}, expected 1008')
        check((await page.ask('clear'))['type'] == 'done', 'a page that behaves is no longer served')


async def crowd(program):
    """More pages than allowed; those that leave make room."""
    pages = [await Page(program).__aenter__() for _ in range(16)]
    try:
        await Page(program).__aenter__()
        raise AssertionError('a 17th page is let in')
    except websockets.ConnectionClosed:
        pass
    for page in pages:
        page.socket.transport.abort()  # without a word
    await asyncio.sleep(0.1)  # in which it does
    program.wait_for(lambda m: m['samtrack_viewers{kind="page"}'] == 0, 'the end of pages that vanished')
    async with Page(program) as page:
        check(page.hello['cameras'] == ['demo'], f'hello is {page.hello}')


def main(build, seed):
    print(f'seed {seed}')
    rng = random.Random(seed)
    with Program(build, '--demo') as program:
        program.wait_for_frames('demo')
        refuse_strangers(program)
        use_cookie(program)
        hide_names(program)
        refuse_bodies(program)
        send_garbage(program, rng)
        asyncio.run(send_bad_messages(program, rng))
        asyncio.run(share(program))
        asyncio.run(flood(program))
        asyncio.run(crowd(program))
        m = program.metrics()
        dropped, received = (m[f'samtrack_frames_total{{camera="demo",fate="{fate}"}}'] for fate in ('dropped', 'received'))
        check(dropped <= received / 50, f'frames were dropped, more than other work on the machine explains: {m}')
        check(m['samtrack_source_up{camera="demo"}'] == 1, 'the camera is gone')
    hold_promise(build)
    print('ok')


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32))
