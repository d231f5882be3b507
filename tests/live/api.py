#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The OpenAPI file against the program that serves it: it is valid, has each path, method and key of the program and no other, and
each answer has a status, a content type and a form that it tells. usage: api.py BUILD PYTHON_FOLDER
PYTHON_FOLDER may hold openapi-spec-validator and jsonschema"""
import collections
import json
import os
import re
import socket
import sys
import time

sys.path.insert(0, sys.argv[2])
from program import ROOT, Program, check, skip  # noqa: E402
from sockets_data import HANDSHAKE  # noqa: E402

try:
    import jsonschema
    import openapi_spec_validator
except ImportError as e:
    skip(f'{e}; tools/setup.sh test installs it')

LIVE = ROOT / 'pipelines/live'
BOX = 'box,x=0.2,y=0.25,w=0.25,h=0.25,normalized=true'
# What this test does not provoke: viewers without end, connections without number, disks that are full, JPEG that fails.
UNSEEN = {('getPicture', 500), ('getVideo', 503), ('changeCamera', 507), ('removeCamera', 507), ('getLines', 507), ('getCoco', 507),
          ('getCocoVideo', 507), ('getCocoSet', 507), ('getYoloSet', 507), ('getDavisSet', 507), ('getEventClip', 200), ('getHealth', 503), ('addCamera', 507)}
FULL = 503  # of each path, if there are too many connections
GENERAL = (400, FULL)  # of each path; 400: HTTP that libsoup cannot read


def read_routes():
    """{path of the program: methods}; a path that ends with a slash has others below it."""
    http = (LIVE / 'http.c').read_text()
    routes = {path: {'get'} for path in re.findall(r'\badd\(http, "([^"]+)"', http)}
    routes.update({path: set(methods.lower().split(', ')) - {'head'} for path, methods in
                   re.findall(r'\{"(/api/[^"]+)", "([A-Z, ]+)", \w+\}', (LIVE / 'api.c').read_text())})
    routes.update({path: {'get'} for path in re.findall(r'strcmp\(strip\(http, path\), "(/[^"]*)"\)\) \{', http)})
    routes.update({path: {'get'} for path in re.findall(r'\{"(/[a-z]+)", "/[a-z]+\.html"\}', http)})
    for name in re.findall(r'<file>([^<]+)</file>', (LIVE / 'page/page.gresource.xml').read_text()):
        if name.endswith(('.js', '.css')):
            routes[f'/{name}'] = {'get'}
    return routes


def compare_routes(document):
    routes = read_routes()
    check(len(routes) > 25 and '/metrics' in routes and routes.get('/api/cameras') == {'get', 'post'}, f'routes are read as {routes}')
    used = set()
    for path, methods in routes.items():
        found = find_path(document, path)
        if path.endswith('/') and path != '/':
            below = {p for p in document['paths'] if p.startswith(path)}
            check(below, f'nothing below {path} is described')
            used |= below
        else:
            check(found, f'{path} is not described')
            described = {m for m in document['paths'][found] if m != 'parameters'}
            check(described == methods, f'{path} has {methods}, described are {described}')
            used.add(found)
    check(used == set(document['paths']), f'{set(document["paths"]) - used} are described, but not served')


def compare_keys(document):
    text = (LIVE / 'keys.c').read_text()
    text = text[text.index('camera_keys[]'):text.index('const Keys keys_live')]
    keys = re.findall(r'\{"([a-z-]+)", KEY_(\w+), G_STRUCT_OFFSET\(CameraSettings, \w+\), (\d+),\s*(\d+),\s*\d+,\s*((?:NULL|"[^}]*"))\}', text)
    described = document['components']['schemas']['Keys']['properties']
    check(len(keys) > 30 and text.count('KEY_') == len(keys), f'{len(keys)} keys are read')
    check([k[0] for k in keys] == list(described), f'keys differ: {set(described) ^ {k[0] for k in keys}}')
    for name, kind, least, most, choices in keys:
        about = described[name]
        if kind == 'NUMBER':
            check((about['type'], about['minimum'], about['maximum']) == ('integer', int(least), int(most)), f'{name} is {about}')
        elif kind == 'CHOICE':
            check(about['enum'] == ''.join(re.findall('"([^"]*)"', choices)).split('|'), f'{name} is {about}')
        else:
            check(about['type'] == 'string', f'{name} is {about}')
    schemas = document['components']['schemas']
    check(list(schemas['Change']['properties']) == list(described) and list(schemas['NewCamera']['properties']) == ['name', *described],
          'the keys of requests differ')


def find_path(document, path):
    """As OpenAPI has it: a path without a template goes first."""
    if path in document['paths']:
        return path
    for template in document['paths']:
        if re.fullmatch(re.sub(r'\\\{\w+\\\}', '[^/.]+' if template.startswith('/annotations') else '[^/]+', re.escape(template)), path):
            return template
    return None


class Tester:
    def __init__(self, program, document):
        self.program, self.document = program, document
        self.seen = collections.defaultdict(set)

    def resolve(self, thing):
        while '$ref' in thing:
            target = self.document
            for part in thing['$ref'].lstrip('#/').split('/'):
                target = target[part]
            thing = target
        return thing

    def validate(self, schema, value, what):
        schema = {**schema, 'components': self.document['components']}
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
        errors = [e.message for e in validator.iter_errors(value)]
        check(not errors, f'{what}: {errors[:3]}')

    def note(self, method, path, status, body, headers):
        """What came must be described; returns it as JSON, if it is."""
        what = f'{method} {path} gives {status}'
        operation = self.document['paths'][find_path(self.document, path.split('?')[0])].get(method.lower())
        check(operation, f'{what}, which is not described')
        responses = operation['responses']
        check(str(status) in responses, f'{what}, described are {list(responses)}: {body[:200]}')
        self.seen[operation['operationId']].add(status)
        described = self.resolve(responses[str(status)])
        content = described.get('content', {})
        kind = headers.get('Content-Type')
        check(kind in content or (not kind and (not content or not body)), f'{what} with {kind}, described are {list(content)}')
        for name, about in described.get('headers', {}).items():
            check(name in headers, f'{what} without {name}: {about["description"]}')
        if 'schema' in content.get(kind, {}):
            value = json.loads(body) if kind == 'application/json' else body.decode()
            self.validate(content[kind]['schema'], value, what)
            return value
        return None

    def ask(self, method, path, wanted, body=None, **more):
        """The answer as JSON, or its bytes."""
        status, data, headers = self.program.ask(method, path, body, **more)
        check(status == wanted, f'{method} {path} {str(body)[:80]} gives {status}, expected {wanted}: {data[:300]}')
        value = self.note(method, path, status, data, headers)
        return data if value is None else value


def fill(path):
    values = {'camera': 'nobody', 'number': '1', 'file': 'nothing.js'}
    return re.sub(r'\{(\w+)\}', lambda m: values[m.group(1)], path)


def refuse(tester):
    """What all paths refuse in the same way; without the token nobody learns which cameras there are."""
    for template, operations in tester.document['paths'].items():
        path = fill(template)
        for method in (m.upper() for m in operations if m != 'parameters'):
            body = {} if method in ('POST', 'PATCH') else None
            operation = operations[method.lower()]
            if '401' in operation['responses'] and path != '/':
                tester.ask(method, path, 401, body, token=False)
                tester.ask(method, path, 401, body, token=False, headers={'Authorization': 'Bearer wrong-token'})
            tester.ask(method, path, 403, body, headers={'Origin': 'http://evil.example'})
            if body is None:
                tester.ask(method, path, 413, b'x')
            else:
                tester.ask(method, path, 413, b' ' * 65537)
                tester.ask(method, path, 415, b'{}', headers={'Content-Type': 'text/plain'})
        if 'get' in operations:
            # Of a method that is not described, the answer is described with GET.
            other = 'PUT' if 'patch' in operations else 'DELETE'
            status, body, headers = tester.program.ask(other, path)
            check(status == 405, f'{other} {path} gives {status}')
            tester.note('GET', path, status, body, headers)
            allowed = set(headers['Allow'].lower().split(', ')) - {'head'}
            check(allowed == {m for m in operations if m != 'parameters'}, f'{path} allows {allowed}')
            for method in set(operations) - {'get', 'parameters'}:
                tester.note(method.upper(), path, status, body, headers)
    tester.ask('GET', '/?token=wrong', 401, token=False, headers={'Accept': 'text/html'})
    tester.ask('GET', '/cameras', 401, token=False, headers={'Accept': 'text/html'})


def send_raw(program, method, path, more, sent):
    """(status, body, headers)"""
    with socket.create_connection(('127.0.0.1', program.port), timeout=20) as s:
        s.sendall(f'{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{program.port}\r\nAuthorization: Bearer {program.token}\r\n'
                  f'Content-Type: application/json\r\n{more}\r\n{sent}'.encode())
        data = b''
        while b'\r\n\r\n' not in data:
            data += s.recv(65536) or b'\r\n\r\n'
        head, body = data.split(b'\r\n\r\n', 1)
        lines = head.decode().split('\r\n')
        headers = dict(line.split(': ', 1) for line in lines[1:])
        while len(body) < int(headers.get('Content-Length', 0)):
            body += s.recv(65536)
        return int(lines[0].split()[1]), body, headers


WRONG = [b'', b'[]', b'1', b'{', b'{"name":"x","source":{"a":1}}', b'{"name":"x","source":"demo"} {}', b'\xff{}', b'[' * 60000,
         {'name': 'x'}, {'source': 'demo'}, {'name': 1, 'source': 'demo'}, {'name': '', 'source': 'demo'}, {'name': 'a b', 'source': 'demo'},
         {'name': 'x' * 33, 'source': 'demo'}, {'name': 'x]', 'source': 'demo'}, {'name': 'x', 'source': 'nonsense'}, {'name': 'x', 'source': 1},
         {'name': 'x', 'source': None}, {'name': 'x', 'source': ''}, {'name': 'x', 'source': 'a\nb'}, {'name': 'x', 'source': 'demo', 'rotat': '90'},
         {'name': 'x', 'source': 'demo', 'rotate': '45'}, {'name': 'x', 'source': 'demo', 'rotate': 90}, {'name': 'x', 'source': 'demo', 'flip': 'up'},
         {'name': 'x', 'source': 'demo', 'width': '320'}, {'name': 'x', 'source': 'demo', 'width': 8193}, {'name': 'x', 'source': 'demo', 'width': 1.5},
         {'name': 'x', 'source': 'demo', 'aspect': '16x9'}, {'name': 'x', 'source': 'demo', 'model-file': '/nothing'},
         {'name': 'x', 'source': 'demo', 'zones': 'zone'}, {'name': 'x', 'source': 'demo', 'words': 'dog'},
         {'name': 'x', 'source': 'demo', 'tls-ca-file': '/nothing'}]


def change(tester):
    """Adds, changes and removes cameras, and refuses what cannot be."""
    schemas = tester.document['components']['schemas']
    new, other = {'name': 'new', 'source': 'test', 'width': 160, 'height': 96, 'initial-prompt': BOX, 'max-objects': 2}, {'rotate': '90', 'width': None}
    tester.validate(schemas['NewCamera'], new, 'a request')
    tester.validate(schemas['Change'], other, 'a request')
    for body in WRONG:
        tester.ask('POST', '/api/cameras', 400, body)
    for body in (b'', b'[]', {'name': 'y'}, {'width': -1}, {'source': 'nonsense'}, {'rotate': 1}):
        tester.ask('PATCH', '/api/cameras/demo', 400, body)
    for method, path in (('POST', '/api/cameras'), ('PATCH', '/api/cameras/demo')):
        for more, body in (('', ''), ('Transfer-Encoding: chunked\r\n', '0\r\n\r\n')):
            tester.note(method, path, *send_raw(tester.program, method, path, more, body))
    check([c['name'] for c in tester.ask('GET', '/api/cameras', 200)['cameras']] == ['demo'], 'a refused camera is there')
    check(tester.ask('POST', '/api/cameras', 201, new)['keys'] == {k: v for k, v in new.items() if k != 'name'}, 'the keys differ')
    tester.ask('POST', '/api/cameras', 409, new)
    tester.program.wait_for_frames('new')
    camera = tester.ask('PATCH', '/api/cameras/new', 200, other)
    check(camera['keys']['rotate'] == '90' and 'width' not in camera['keys'] and camera['added'], f'the camera is {camera}')
    camera = tester.ask('PATCH', '/api/cameras/demo', 200, {'flip': 'vertical-flip'})
    check(camera['changed'] == ['flip'] and not camera['added'], f'the camera is {camera}')
    tester.ask('DELETE', '/api/cameras/new', 204)
    for method, body in (('GET', None), ('PATCH', {}), ('DELETE', None)):
        tester.ask(method, '/api/cameras/new', 404, body)


def read_all(tester):
    """All that is only read, with a camera that has tracked something, and of one that there is not."""
    program = tester.program
    tester.ask('PATCH', '/api/cameras/demo', 200, {'initial-prompt': BOX, 'flip': None})
    end = time.monotonic() + 60
    while not (events := tester.ask('GET', '/api/cameras/demo/events', 200))['events'] or program.get('/annotations/demo.coco.zip')[0] != 200:
        check(time.monotonic() < end, f'nothing is tracked: {events}')
        time.sleep(0.1)
    check(events['events'][0]['kind'] == 'appeared', f'the events are {events}')
    check(tester.ask('GET', f'/api/cameras/demo/{events["events"][0]["picture"]}', 200)[:3] == b'\xff\xd8\xff', 'the picture is no JPEG')
    check(tester.ask('GET', '/api/cameras/demo/picture.jpg', 200)[:3] == b'\xff\xd8\xff', 'the picture is no JPEG')
    tester.ask('GET', '/api/cameras/demo', 200)
    tester.ask('GET', '/api/cameras/demo/events?since=1&limit=1', 200)
    for query in ('since=-1', 'since=x', 'limit=0', 'limit=1001', 'limit=', 'since=99999999999999999999'):
        tester.ask('GET', f'/api/cameras/demo/events?{query}', 400)
    for end in ('', '/events', '/events/1.jpg', '/events/1.mp4', '/picture.jpg'):
        tester.ask('GET', f'/api/cameras/nobody{end}', 404)
    for end in ('999999.jpg', '0.jpg', '0.5.jpg', 'x.jpg', f'{2**64}.jpg', '1.mp4', 'x.mp4'):
        tester.ask('GET', f'/api/cameras/demo/events/{end}', 404)
    for path in ('/mjpeg/nobody', '/annotations/nobody.json', '/annotations/nobody.jsonl', '/annotations/nobody.video.json', '/annotations/nobody.coco.zip', '/annotations/nobody.yolo.zip', '/annotations/nobody.davis.zip', '/camera/nobody/', '/nothing.js'):
        tester.ask('GET', path, 404)
    for path in ('/metrics', '/healthz', '/', f'/live-{program.port}/', '/main.js', '/style.css', '/cameras.js', '/events.js', '/annotations/demo.jsonl', '/annotations/demo.json',
                 '/annotations/demo.video.json', '/annotations/demo.coco.zip', '/annotations/demo.yolo.zip', '/annotations/demo.davis.zip', '/api/openapi.json'):
        if path.startswith('/live'):
            check(program.ask('GET', path)[0] == 200, f'{path} is not served')
        else:
            tester.ask('GET', path, 200)
    for path in ('/api/cameras', '/cameras', '/events', '/camera/demo/', '/metrics'):
        status, body, headers = program.ask('GET', f'/live-{program.port}{path}')
        check(status == 200, f'{path} below the base gives {status}')
        tester.note('GET', path, status, body, headers)
    for path in ('/cameras', '/events', '/camera/demo/'):
        tester.ask('GET', path, 303)
    tester.ask('GET', '/?token=test-token', 303, token=False)
    for path in ('/api/cameras', '/api/cameras/demo/events', '/api/openapi.json', '/cameras'):
        status, body, _ = program.ask('HEAD', path)
        check(status in (200, 303) and not body, f'HEAD {path} gives {status}, {body}')


def open_streams(tester):
    """Those whose answers have no end."""
    for path in ('/socket', '/camera/demo/socket'):
        with socket.create_connection(('127.0.0.1', tester.program.port), timeout=20) as s:
            s.sendall(HANDSHAKE.format(port=tester.program.port, more=f'Authorization: Bearer {tester.program.token}\r\n').replace('/socket', path).encode())
            status = int(s.recv(4096).split()[1])
            tester.note('GET', path, status, b'', {})
        tester.ask('GET', path, 400)
    tester.ask('GET', '/camera/nobody/socket', 404)
    with socket.create_connection(('127.0.0.1', tester.program.port), timeout=20) as s:
        s.sendall(tester.program.write_request('/mjpeg/demo?clean=1'))
        head = s.recv(4096).decode(errors='replace').split('\r\n\r\n')[0].split('\r\n')
        tester.note('GET', '/mjpeg/demo?clean=1', int(head[0].split()[1]), b'', dict(line.split(': ', 1) for line in head[1:]))


def wait(tester):
    """What there is not yet: nothing was tracked, and a camera that gives nothing."""
    for end in ('json', 'jsonl', 'video.json', 'coco.zip', 'yolo.zip', 'davis.zip'):
        tester.ask('GET', f'/annotations/demo.{end}', 503)
    tester.ask('POST', '/api/cameras', 201, {'name': 'away', 'source': '/dev/video97'})
    camera = tester.ask('GET', '/api/cameras/away', 200)
    check(camera['state'] == 'waiting' and camera['fault'], f'a camera that is not there is told as {camera}')
    tester.ask('GET', '/api/cameras/away/picture.jpg', 503)
    tester.ask('DELETE', '/api/cameras/away', 204)


def read_only(build):
    """api=read: the token shows all and changes nothing."""
    with Program(build, '--demo', '--set', 'max-objects=2', '--config', '/dev/stdin', before=lambda: os.dup2(CONFIG, 0)) as program:
        status, text, _ = program.ask('GET', '/api/cameras')
        check(status == 200 and not json.loads(text)['mayChange'], f'the cameras are {text}')
        for method, path, body in (('POST', '/api/cameras', {'name': 'x', 'source': 'test'}), ('PATCH', '/api/cameras/demo', {'width': 160}),
                                   ('DELETE', '/api/cameras/demo', None)):
            status, text, _ = program.ask(method, path, body)
            check(status == 403 and b"'api'" in text, f'{method} {path} gives {status}: {text}')


def main(build):
    os.environ['LD_LIBRARY_PATH'] = f'{build}/tests/scripted'
    os.environ['SAMTRACK_MODEL'] = f'{ROOT}/models/samtrack-lite0.safetensors'
    with Program(build, '--demo', '--set', 'max-objects=2') as program:
        program.wait_for_frames('demo')
        document = json.loads(program.ask('GET', '/api/openapi.json')[1])
        check(document == json.loads((LIVE / 'page/openapi.json').read_text()), 'the program serves another file')
        openapi_spec_validator.validate(document)
        compare_routes(document)
        compare_keys(document)
        tester = Tester(program, document)
        refuse(tester)
        wait(tester)
        change(tester)
        read_all(tester)
        open_streams(tester)
        described = {(o['operationId'], int(s)) for path in document['paths'].values() for m, o in path.items() if m != 'parameters' for s in o['responses']}
        missed = {(i, s) for i, s in described if s not in tester.seen[i]} - UNSEEN
        missed = {(i, s) for i, s in missed if s not in GENERAL or (i, s) in MUST}
        check(not missed, f'described, but never seen: {missed}')
    read_only(build)
    print('ok')


# Of the general ones, those that a request brings about.
MUST = {('addCamera', 400), ('changeCamera', 400), ('listEvents', 400), ('getPicture', FULL), ('getLines', FULL), ('getCoco', FULL), ('getCocoVideo', FULL), ('getCocoSet', FULL), ('getYoloSet', FULL),
        ('getDavisSet', FULL), ('openSocket', 400), ('openSocketOf', 400)}
CONFIG = os.memfd_create('live.conf')
os.write(CONFIG, b'[live]\napi=read\n')
os.lseek(CONFIG, 0, os.SEEK_SET)
main(sys.argv[1])
