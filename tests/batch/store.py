#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""samtrack-batch: results that go to an object store, here a small one that can fail, be slow and be away.
Videos that are read from it by s3:// URIs.
usage: store.py BUILD PROGRAM. PROGRAM: samtrack-batch with the scripted tracker."""
import hashlib
import hmac
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

from jobs import PROMPT, call, check, check_nothing_left, get_item, get_status, make_reference, make_video, plan, read, run_parts, start, write_manifest

TOKEN = 'Bearer s3cr3t-0f-the-store'
KEY, SECRET, SESSION = 'AKIDEXAMPLE', 'wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLE', 'sessi0n=='
AWS = {'AWS_ACCESS_KEY_ID': KEY, 'AWS_SECRET_ACCESS_KEY': SECRET, 'AWS_SESSION_TOKEN': SESSION, 'AWS_REGION': 'eu-central-1'}


def sign(secret, scope, text):
    key = ('AWS4' + secret).encode()
    for word in scope.split('/'):
        key = hmac.digest(key, word.encode(), 'sha256')
    return hmac.new(key, text.encode(), 'sha256').hexdigest()


def get_signature(secret, scope, date, method, path, query, headers, names, digest):
    """As AWS describes version 4."""
    canonical = '\n'.join([method, path, query, *(f'{name}:{headers[name].strip()}' for name in names), '', ';'.join(names), digest])
    return sign(secret, scope, '\n'.join(['AWS4-HMAC-SHA256', date, scope, hashlib.sha256(canonical.encode()).hexdigest()]))


def check_signature(handler, body):
    """None, or what is wrong with a request."""
    headers = {name.lower(): value for name, value in handler.headers.items()}
    told = re.fullmatch(r'AWS4-HMAC-SHA256 Credential=([^/]+)/(\S+), SignedHeaders=(\S+), Signature=(\w{64})', headers.get('authorization', ''))
    if not told or told[1] != KEY:
        return 'no signature of the key'
    scope, names, date, digest = told[2], told[3].split(';'), headers['x-amz-date'], hashlib.sha256(body).hexdigest()
    if scope != f'{date[:8]}/eu-central-1/s3/aws4_request' or abs(time.time() - time.mktime(time.strptime(date, '%Y%m%dT%H%M%SZ')) + time.timezone) > 900:
        return f'scope {scope}, date {date}'
    if not {'host', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token'} <= set(names) or headers['x-amz-security-token'] != SESSION:
        return f'headers {names}'
    if headers['x-amz-content-sha256'] != digest:
        return 'the hash of the body'
    return None if told[4] == get_signature(SECRET, scope, date, handler.command, handler.path, '', headers, names, digest) else 'the signature'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def answer(self, status, body=b''):
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def cut(self):
        """The connection ends without an answer."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def serve(self):
        store, length = self.server, int(self.headers.get('Content-Length', 0))
        path, body = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path), self.rfile.read(length)
        if len(body) != length:
            return
        store.asked.append((self.command, path))
        fault = store.take_fault(self.command, path)
        if fault == 'hang':
            store.released.wait(60)
        if fault in ('cut', 'hang'):
            self.cut()
            return
        if isinstance(fault, int) and (fault != 501 or 'If-None-Match' in self.headers):
            self.answer(fault)
            return
        wrong = store.refuse(self, body)
        if wrong:
            store.wrong.append(wrong)
            self.answer(403, b'<Error/>')
            return
        with store.lock:
            there = store.files.get(path)
            if self.command == 'PUT' and there is not None and self.headers.get('If-None-Match') == '*':
                status = 412
            elif self.command == 'PUT':
                status, store.files[path] = 200, body
            elif self.command == 'DELETE':
                status = 204
                store.files.pop(path, None)
            else:
                status = 404 if there is None else 200
        if fault == 'lose':  # the request is obeyed, its answer lost
            self.cut()
        else:
            self.answer(status, there if status == 200 and self.command == 'GET' else b'')

    do_GET = do_PUT = do_DELETE = serve

    def log_message(self, *_):
        pass


class Store(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, refuse=lambda handler, body: None):
        super().__init__(('127.0.0.1', 0), Handler)
        self.files, self.asked, self.wrong, self.faults, self.refuse = {}, [], [], [], refuse
        self.lock, self.released = threading.Lock(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.released.set()
        self.shutdown()
        self.server_close()

    @property
    def url(self):
        return f'http://127.0.0.1:{self.server_port}/bucket/sub folder'.replace(' ', '%20')

    def fail(self, method, name, *kinds):
        """The next requests of that name."""
        self.faults += [(method, name, kind) for kind in kinds]

    def take_fault(self, method, path):
        with self.lock:
            for fault in self.faults:
                if fault[0] == method and path.endswith(fault[1]):
                    self.faults.remove(fault)
                    return fault[2]
        return None

    def get(self, job, name, file='frames.jsonl', alone=True):
        """The bytes of a result in the store, after a look at what its item.json says; nothing else is there, if it is `alone`."""
        top = f'/bucket/sub folder/{get_item(job, name).relative_to(job)}'
        text = self.files[f'{top}/item.json']
        told = json.loads(text)
        there = {path for path in self.files if path.startswith(f'{top}/')} - {f'{top}/item.json'}
        check(not alone or all(path.startswith(f'{top}/{told["folder"]}/') for path in there), f'{told["folder"]}: {there}')
        for named, digest in told['files'].items():
            check(hashlib.sha256(self.files[f'{top}/{told["folder"]}/{named}']).hexdigest() == digest, f'{named} is not what item.json says')
        left = [path.name for path in get_item(job, name).iterdir()]
        check(left == ['item.json'] and (get_item(job, name) / 'item.json').read_bytes() == text, f'in the job\'s folder: {left}')
        return self.files[f'{top}/{told["folder"]}/{file}']


def run(job, status=0, *options, **env):
    return call('run', f'--job={job}', '--shard=0', *options, status=status, **env)


def write_headers(folder, text=f'Authorization: {TOKEN}\n'):
    (folder / 'headers').write_text(text)
    return {'SAMTRACK_STORE_HEADERS': str(folder / 'headers')}


def check_secrets(texts, *secrets):
    for text in texts:
        for secret in secrets:
            check(secret not in text, f'a secret is told: {text}')


def read_all(job):
    return [path.read_text(errors='replace') for path in job.rglob('*') if path.is_file()]


def with_token(handler, body):
    return None if handler.headers.get_all('Authorization') == [TOKEN] else 'no token'


def deliver(folder):
    """Results are in the store, to the byte those of a job without one, in each format; the token is shown, and told to nobody."""
    make_video(folder / 'v.mkv')
    items = [{'id': name, 'uri': 'v.mkv', 'prompt': PROMPT, 'stop': 0.5} for name in ('a/b', 'c')]
    manifest = write_manifest(folder / 'm.jsonl', *items)
    whole = make_reference(folder, *items)
    env, said = write_headers(folder, f'\nAuthorization:{TOKEN} \r\nX-More: 1\n'), []
    with Store(with_token) as store:
        job = plan(folder, 'job', manifest, f'--store={store.url}/', '--chunk=0.2')
        said += [run(job, **env), run(job, **env), *read_all(job)]
        for name in ('a+b', 'c'):
            for file in ('frames.jsonl', 'tracks.json'):
                check(store.get(job, name, file) == read(whole, name, file), f'{file} of {name}')
        check_nothing_left(job)
        check(not store.wrong and get_status(job)['done'] == 2, f'{store.wrong}')
        other = plan(folder, 'other', write_manifest(folder / 'o.jsonl', items[0]), f'--store={store.url}')
        log = run(other, 2, **env)
        check(f"the store '{store.url}' has the results of another job" in log, log)
        log = run(job, 75)  # without the token
        check("the store answers PUT with 403 Forbidden" in log, log)
        for text, what in (('Authorization\n', 'line 1 of'), (f'\n{TOKEN}: {TOKEN}\n', 'line 2 of')):
            log = run(job, 2, **write_headers(folder, text))
            check(what in log and "is not 'Name: value'" in log, log)
            said.append(log)
        check('none/headers' in (log := run(job, 2, SAMTRACK_STORE_HEADERS=f'{folder}/none/headers')), log)
        check_secrets(said + [log], TOKEN[7:])
    for form, files in (('davis', ['masks/00000.png', 'masks/00014.png']), ('webdataset', ['masks.tar']), ('coco', ['coco.json'])):
        with Store() as store:
            whole = plan(folder, f'whole-{form}', manifest, f'--format={form}')
            job = plan(folder, form, manifest, f'--format={form}', f'--store={store.url}')
            run(whole)
            run(job)
            for file in files:
                check(store.get(job, 'c', file) == (get_item(whole, 'c') / file).read_bytes(), f'{file}')


def merge(folder):
    """A recording that was cut: its pieces stay in the job's folder, and the whole goes to the store."""
    make_video(folder / 'v.mkv')
    item = {'id': 'a', 'uri': 'v.mkv', 'prompts': [{'at': at, 'prompt': PROMPT} for at in (0, 1)], 'seconds': 2}
    manifest = write_manifest(folder / 'm.jsonl', item)
    with Store() as store:
        jobs = [plan(folder, name, manifest, '--cut=1', '--overlap=0.2', *options) for name, options in (('whole', ()), ('job', (f'--store={store.url}',)))]
        for job in jobs:
            run(job)
        check(set(store.files) == {'/bucket/sub folder/job.json'} and len(list(jobs[1].glob('pieces/*/a@*/frames.jsonl'))) == 2, f'{list(store.files)}')
        store.fail('PUT', 'item.json', 403)
        check('403 Forbidden' in (log := call('merge', f'--job={jobs[1]}', status=75)), log)
        for job in jobs:
            call('merge', f'--job={job}')
        check(store.get(jobs[1], 'a', alone=False) == read(jobs[0], 'a'), 'a recording that was put together')
        check(json.loads((get_item(jobs[1], 'a') / 'item.json').read_text())['borders'] and not list(jobs[1].glob('pieces/*/*')), 'borders, and no pieces')


def refuse(folder):
    """URLs that are none, or have what must not be printed."""
    manifest = write_manifest(folder / 'm.jsonl', {'id': 'a', 'uri': 'v.mkv', 'prompt': PROMPT})
    for url in ('ftp://host/a', 'folder', 'http://', 'https://user:s3cr3t@host/a', 'https://host/a?X-Amz-Signature=s3cr3t', 'https://host/a#b'):
        log = call('plan', manifest, f'--job={folder}/none', f'--store={url}', status=2)
        check('the store' in log, log)
        check_secrets([log], 's3cr3t')
    check(not (folder / 'none').exists(), 'nothing was planned')
    # Inputs may have secrets: those of a presigned URL, and of a user.
    with Store() as store:
        uris = [f'http://127.0.0.1:{store.server_port}/v.mkv?X-Amz-Signature=s3cr3t&b=c', f'http://me:s3cr3t@127.0.0.1:{store.server_port}/w.mkv']
        job = plan(folder, 'job', write_manifest(folder / 'm.jsonl', *({'id': f'i{n}', 'uri': uri, 'prompt': PROMPT} for n, uri in enumerate(uris))))
        log = run(job, 3)
        check('v.mkv?...' in log and '...@127.0.0.1' in log, log)
        check_secrets([log, call('status', f'--job={job}', '--failed'), *(path.read_text() for path in job.glob('failed/*/*'))], 's3cr3t')
        log = run(plan(folder, 'kind', write_manifest(folder / 'm.jsonl', {'id': 'a', 'uri': 'v.mkv', 'prompt': PROMPT}), f'--store={store.url}'), 2,
                  AWS_ACCESS_KEY_ID=KEY)
        check('AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not' in log, log)


def faults(folder):
    """A store that answers with errors, cuts connections, loses answers and does not know conditions has the same result; one that is
    away, or refuses, costs no work: the chunks stay, and the video is not read again."""
    make_video(folder / 'v.mkv')
    item = {'id': 'a', 'uri': 'v.mkv', 'prompt': PROMPT, 'stop': 0.5}
    manifest = write_manifest(folder / 'm.jsonl', item)
    whole = read(make_reference(folder, item), 'a')
    cases = {'errors': [('PUT', 'job.json', 500), ('PUT', 'frames.jsonl', 503, 'cut', 429), ('PUT', 'item.json', 500, 'cut', 409)],
             'lost': [('PUT', 'job.json', 'lose'), ('PUT', 'frames.jsonl', 'lose'), ('PUT', 'item.json', 'lose')],
             'unconditional': [('PUT', 'job.json', 501), ('PUT', 'item.json', 501)],
             'unlistable': [('GET', 'job.json', 403), ('GET', 'item.json', 403)]}
    for name, given in cases.items():
        with Store() as store:
            for fault in given:
                store.fail(*fault)
            job = plan(folder, name, manifest, f'--store={store.url}')
            run(job)
            check(store.get(job, 'a') == whole and not store.faults, f'{name}: {store.faults}')
            check_nothing_left(job)
    with Store() as store:  # which answers 412 without having anything is not believed
        job = plan(folder, 'liar', manifest, f'--store={store.url}')
        store.fail('PUT', 'item.json', 412)
        log = run(job, 75)
        check('the store says that it has' in log and get_status(job)['done'] == 0, log)
        run(job)
        check(store.get(job, 'a', alone=False) == whole, 'after a wrong answer')
    with Store() as store:
        job = plan(folder, 'away', manifest, f'--store={store.url}')
        store.fail('PUT', 'tracks.json', 403)
        (folder / 'w.mkv').write_bytes((folder / 'v.mkv').read_bytes())
        log = run(job, 75)
        check('tracks.json' in log and '403 Forbidden' in log and 'the store or the job' in log, log)
        check(list(job.glob('parts/*/a/000000')) and not list(job.glob('failed/*/*')), 'a refusal is no failure of the item')
        store.fail('PUT', 'tracks.json', 'hang')
        begun = len(store.asked)
        process = start('run', f'--job={job}', '--shard=0', '--patience=3')
        while not any(path.endswith('tracks.json') for _, path in store.asked[begun:]) and process.poll() is None:
            time.sleep(0.005)
        check(process.communicate(timeout=60) and process.returncode == 0, 'a request that is not answered is sent again')
        check(store.get(job, 'a', alone=False) == whole, 'after an answer that did not come')
        check(len([path for _, path in store.asked if path.endswith('frames.jsonl')]) == 2, f'{store.asked}')


def resume(folder):
    """Whoever is killed while it delivers has lost nothing: what was tracked is delivered by the next run, without its video. SIGTERM ends
    the waiting for a store that is away."""
    make_video(folder / 'v.mkv')
    item = {'id': 'a', 'uri': 'v.mkv', 'prompt': PROMPT, 'stop': 0.5}
    whole = read(make_reference(folder, item), 'a')
    with Store() as store:
        job = plan(folder, 'job', write_manifest(folder / 'm.jsonl', item), f'--store={store.url}')
        for file in ('tracks.json', 'item.json'):
            store.fail('PUT', file, 'hang')
            begun = len(store.asked)
            process = start('run', f'--job={job}', '--shard=0')
            while not any(method == 'PUT' and path.endswith(file) for method, path in store.asked[begun:]) and process.poll() is None:
                time.sleep(0.005)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate(timeout=60)
            check(get_status(job)['done'] == 0 and list(job.glob('parts/*/a/000000')), f'killed at {file}')
        (folder / 'v.mkv').rename(folder / 'gone')
        store.fail('PUT', 'item.json', *[500] * 100)
        begun = len(store.asked)
        process = start('run', f'--job={job}', '--shard=0')
        while sum(method == 'PUT' for method, path in store.asked[begun:] if path.endswith('item.json')) < 4 and process.poll() is None:
            time.sleep(0.005)
        process.terminate()
        log = process.communicate(timeout=60)[1]
        check(process.returncode == 75 and len(store.faults) > 90, f'status {process.returncode}: {log}')
        check(get_status(job)['failed'] == 0 and not list(job.glob('failed/*/*')), 'an interruption is no failure')
        store.faults.clear()
        # Folders of the attempts that were killed stay; that of item.json is whole.
        run(job, SAMTRACK_SCRIPT='step,0,60000000,0')
        top = f'/bucket/sub folder/{get_item(job, "a").relative_to(job)}'
        name = json.loads(store.files[f'{top}/item.json'])['folder']
        check(store.files[f'{top}/{name}/frames.jsonl'] == whole, 'after three kills')
        # The commit that nobody had heard of: the job's folder learns of it.
        get_item(job, 'a').rename(folder / 'forgotten')
        begun = len(store.asked)
        run(job)
        check([method for method, _ in store.asked[begun:]] == ['GET', 'GET'] and get_status(job)['done'] == 1, f'{store.asked[begun:]}')


def race(folder):
    """Two workers with folders of their own, and one store: one commits, the other one takes its files back, and both know it."""
    make_video(folder / 'v.mkv')
    item = {'id': 'a', 'uri': 'v.mkv', 'prompt': PROMPT, 'stop': 0.5}
    whole = read(make_reference(folder, item), 'a')
    manifest = write_manifest(folder / 'm.jsonl', item)
    with Store() as store:
        jobs = [plan(folder, f'job{n}', manifest, f'--store={store.url}') for n in range(2)]
        arrived = threading.Barrier(2)

        def meet(handler, body):  # both are at the commit before either is answered
            if handler.command == 'PUT' and handler.path.endswith('/item.json'):
                arrived.wait(30)
        store.refuse = meet
        processes = [start('run', f'--job={job}', '--shard=0') for job in jobs]
        for process in processes:
            log = process.communicate(timeout=60)[1]
            check(process.returncode == 0, f'status {process.returncode}: {log}')
        for job in jobs:
            check(store.get(job, 'a') == whole and get_status(job)['done'] == 1, 'one result')
            check_nothing_left(job)
        check(sum(method == 'DELETE' for method, _ in store.asked) == 2, f'{store.asked}')


def signed(folder):
    """Requests have a signature that AWS would take; without the right secret there is a sentence that has none."""
    # The example of AWS's documents, for the check itself.
    host, digest = 'examplebucket.s3.amazonaws.com', hashlib.sha256(b'').hexdigest()
    headers = {'host': host, 'x-amz-content-sha256': digest, 'x-amz-date': '20130524T000000Z'}
    check(get_signature('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', '20130524/us-east-1/s3/aws4_request', headers['x-amz-date'], 'GET', '/', 'lifecycle=',
                        headers, sorted(headers), digest) == 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543', 'the example of AWS')
    make_video(folder / 'v.mkv')
    item = {'id': 'a/b', 'uri': 'v.mkv', 'prompt': PROMPT, 'stop': 0.5}
    with Store(check_signature) as store:
        job = plan(folder, 'job', write_manifest(folder / 'm.jsonl', item), f'--store={store.url}')
        said = [run(job, 75, **{**AWS, 'AWS_SECRET_ACCESS_KEY': 'another'})]
        check('403 Forbidden' in said[0] and set(store.wrong) == {'the signature'}, f'{said}, {store.wrong}')
        store.wrong.clear()
        said.append(run(job, **AWS))
        check(not store.wrong and store.get(job, 'a+b'), f'{store.wrong}')
        check_secrets(said + read_all(job), SECRET, SESSION, KEY)


def check_query(handler):
    """None, or what is wrong with a presigned URL."""
    url = urllib.parse.urlsplit(handler.path)
    told, query = dict(urllib.parse.parse_qsl(url.query)), url.query.rpartition('&X-Amz-Signature=')
    date, scope = told.get('X-Amz-Date', ''), f'{told.get("X-Amz-Date", "")[:8]}/eu-central-1/s3/aws4_request'
    if told.get('X-Amz-Credential') != f'{KEY}/{scope}' or told.get('X-Amz-Security-Token') != SESSION or told.get('X-Amz-Expires') != '604800':
        return f'query {sorted(told)}'
    parts = query[0].split('&')
    if parts != sorted(parts) or told['X-Amz-SignedHeaders'] != 'host':
        return f'order of {sorted(told)}'
    headers = {'host': handler.headers['Host']}
    return None if query[2] == get_signature(SECRET, scope, date, 'GET', url.path, query[0], headers, ['host'], 'UNSIGNED-PAYLOAD') else 'the signature'


class Videos(http.server.BaseHTTPRequestHandler):
    """A bucket of one object, of which parts may be asked for."""
    def do_GET(self):
        bucket, wrong = self.server, self.server.refuse(self)
        bucket.asked.append(self.headers.get('Range'))
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        if wrong or path != bucket.path:
            bucket.wrong.append(wrong or path)
            self.send_error(403 if wrong else 404)
            return
        first = int((re.fullmatch(r'bytes=(\d+)-\d*', self.headers.get('Range', '')) or [0, 0])[1])
        self.send_response(206 if 'Range' in self.headers else 200)
        self.send_header('Accept-Ranges', 'bytes')
        self.send_header('Content-Range', f'bytes {first}-{len(bucket.data) - 1}/{len(bucket.data)}')
        self.send_header('Content-Length', str(len(bucket.data) - first))
        self.end_headers()
        try:
            self.wfile.write(bucket.data[first:])
        except ConnectionError:
            pass

    def log_message(self, *_):
        pass


def inputs(folder):
    """A video of a bucket, read by a signed URL, in chunks with a stop between them, has the lines of the file; its key is as it is."""
    # The example of AWS's documents, for the check itself.
    query = ('X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&'
             'X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host')
    check(get_signature('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', '20130524/us-east-1/s3/aws4_request', '20130524T000000Z', 'GET', '/test.txt', query,
                        {'host': 'examplebucket.s3.amazonaws.com'}, ['host'], 'UNSIGNED-PAYLOAD') ==
          'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404', 'the example of AWS')
    if subprocess.run(['gst-inspect-1.0', '--exists', 'souphttpsrc'], check=False).returncode:
        print('without souphttpsrc nothing is read over HTTP')
        return
    make_video(folder / 'v.mp4', 3)
    item = {'id': 'v', 'uri': 'v.mp4', 'prompt': PROMPT}
    whole = make_reference(folder, item)
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Videos)
    server.path, server.data, server.asked, server.wrong, server.refuse = '/videos/cam 7/a+b?é~.mp4', (folder / 'v.mp4').read_bytes(), [], [], check_query
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f'http://127.0.0.1:{server.server_port}'
    env = {**AWS, 'AWS_ENDPOINT_URL_S3': url + '/'}
    item['uri'] = f's3:/{server.path}'

    job = plan(folder, 'job', write_manifest(folder / 'm.jsonl', item), '--chunk=0.5')
    said = [run(job, 75, **{**env, 'AWS_SECRET_ACCESS_KEY': 'another'})]
    check(f"'{item['uri']}' cannot be read: " in said[0] and set(server.wrong) == {'the signature'}, f'{said}, {server.wrong}')
    server.wrong.clear()
    process = start('run', f'--job={job}', '--shard=0', SAMTRACK_SCRIPT='step,0,20000,0', **env)
    while len(list(job.glob('parts/*/v/0*'))) < 4 and process.poll() is None:
        time.sleep(0.005)
    process.terminate()
    said.append(process.communicate(timeout=60)[1])
    check(process.returncode == 75, f'it ends with status {process.returncode}: {said[-1]}')
    server.asked.clear()
    said.append(run(job, **env))
    check(any(text not in (None, 'bytes=0-') for text in server.asked) and not server.wrong, f'parts that were asked for: {server.asked}, {server.wrong}')
    lines = [[{k: v for k, v in json.loads(line).items() if k != 'run'} for line in read(j, 'v').splitlines()] for j in (whole, job)]
    check(lines[0] == lines[1] and len(lines[0]) == 90, 'lines of a video in a bucket')
    check_secrets(said + read_all(job), SECRET, SESSION, KEY, 'X-Amz-Signature=')

    item['uri'] = 's3://videos/none.mp4'
    job = plan(folder, 'none', write_manifest(folder / 'm.jsonl', item))
    said = run(job, 3, **env)
    check("'s3://videos/none.mp4' cannot be read: " in said, said)
    check_secrets([said, *read_all(job)], KEY, 'X-Amz-Signature=')
    for more, wanted in (({'AWS_SECRET_ACCESS_KEY': ''}, 'AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not'),
                         ({'AWS_ENDPOINT_URL_S3': 'ftp://host'}, 'make no URL'), ({'AWS_ENDPOINT_URL_S3': 'http://a:b@host'}, 'make no URL'),
                         ({'AWS_ENDPOINT_URL_S3': '', 'AWS_ENDPOINT_URL': 'http://host/path'}, 'make no URL')):
        said = run(plan(folder, f'settings{wanted[:4]}{len(str(more))}', folder / 'm.jsonl'), 2, **{**env, **more})
        check(wanted in said, said)
    # Without keys a URL is not signed, as that of a public bucket.
    server.refuse = lambda handler: 'a query' if '?' in handler.path else None
    run(plan(folder, 'public', write_manifest(folder / 'm.jsonl', {**item, 'uri': f's3:/{server.path}'})), AWS_ENDPOINT_URL=url, AWS_ENDPOINT_URL_S3='')
    check(not server.wrong or server.wrong == ['/videos/none.mp4'] * len(server.wrong), f'{server.wrong}')
    server.shutdown()


run_parts([refuse, deliver, merge, faults, resume, race, signed, inputs])
