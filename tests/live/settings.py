#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Settings that are refused: each sentence names what is wrong. And the port that is in use.
usage: settings.py BUILD"""
import glob
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from unittest import mock

from program import Program, check, has_frames
from sources_data import start_web


def run(build, *arguments):
    """(status, error, output)"""
    result = subprocess.run([f'{build}/pipelines/live/samtrack-live', *arguments], capture_output=True, text=True,
                            timeout=60, env=dict(os.environ, GST_PLUGIN_PATH=f'{build}/gst', GST_REGISTRY_FORK='no'))
    return result.returncode, result.stderr, result.stdout


FILES = {  # text of the file: what the refusal names
    '[live]\nhttp-prot=80\n': ["'http-prot'", '[live]'],
    '[live]\nhttp-port=80x\n': ["'http-port'", "'80x'", '0 to 65535'],
    '[live]\nhttp-port=-1\n': ["'http-port'", "'-1'"],
    '[live]\nmax-viewers=0\n': ["'max-viewers'", "'0'", '1 to 256'],
    '[live]\ntoken=short\n[camera a]\nsource=demo\n': ['token', '8 to 128'],
    '[live]\ntls-key=a.pem\n[camera a]\nsource=demo\n': ['tls-certificate and tls-key'],
    '[lives]\n': ['[lives]', '[live] or [camera NAME]'],
    '[camera a b]\nsource=demo\n': ["'a b'"],
    '[camera a]\nsource=demo\nwidht=3\n': ["'widht'", '[camera a]'],
    '[camera a]\nwidth=3\n': ["'a'", 'no source'],
    '[camera a]\nsource=gopher://x\n': ["'a'", "'gopher://x'", 'rtsp://', 'srt://'],
    '[camera a]\nsource=demo\nrotate=45\n': ["'rotate'", "'45'", 'auto, 0, 90, 180, 270'],
    '[camera a]\nsource=demo\ntransport=tls\n': ["'transport'", "'tls'", 'auto, tcp, udp'],
    '[camera a]\nsource=demo\naspect=16x9\n': ["'aspect'", "'16x9'", '16:9'],
    '[camera a]\nsource=demo\naspect=0:9\n': ["'aspect'", "'0:9'"],
    '[camera a]\nsource=demo\ntls-fingerprint=12:zz\n': ["'tls-fingerprint'", "'12:zz'", '64'],
    '[camera a]\nsource=demo\ntls-ca-file=/nothing.pem\n': ["'a'", "'/nothing.pem'", 'tls-ca-file'],
    '[camera a]\nsource=demo\ntls-ca-file=/dev/null\n': ["'a'", "'/dev/null'", 'no certificate'],
    '[live]\npublic-url=cam.example.org\n[camera a]\nsource=demo\n': ["'cam.example.org'", 'https://'],
    '[live]\npublic-url=https://a:b@c/\n[camera a]\nsource=demo\n': ['public-url'],
    '[live]\npublic-url=https://c/?x=1\n[camera a]\nsource=demo\n': ['public-url'],
    '[live]\npublic-url=ftp://c/\n[camera a]\nsource=demo\n': ["'ftp://c/'"],
    '[camera a]\nsource=/nothing/here.mp4\n': ["'/nothing/here.mp4'"],
    '[camera a]\nsource=demo\ninitial-prompt=a\\;b\n': ["initial-prompt"],
    '[camera a]\nsource=demo\nwords=dog\n': ["'a'", 'no detector-file'],
    '[camera a]\nsource=demo\ndetector-file=x\nwords=a "dog"\n': ["'a'", 'quotation mark'],
    ''.join(f'[camera c{i}]\nsource=test\n' for i in range(65)): ['64 cameras'],
    'nonsense\n': ['configuration'],
    '': ['no source'],
}

LINES = [  # arguments, what the refusal names
    ((), ['no source']),
    (('--demo', '--http-prot', '1'), ['--http-prot']),
    (('--demo', 'demo'), ["'demo'", 'two cameras']),
    (('--config', '/nothing/here.conf'), ["'/nothing/here.conf'"]),
    (('--demo', '--token', 'a b c d e f'), ['token']),
    (('--demo', '--set', 'rotate'), ["'rotate'", 'KEY=VALUE']),
    (('--demo', '--set', 'rotat=90'), ["'rotat'", 'not known']),
    (('--demo', '--set', 'door.rotate=90'), ["'door'", 'no camera']),
    (('--demo', '--set', 'demo.rotate=91'), ["'91'", 'auto, 0, 90, 180, 270']),
    (('--demo', '--http-port', '70000'), ["'http-port'", "'70000'", '0 to 65535']),
    (('--demo', '--http-port', '-5'), ["'http-port'", "'-5'", '0 to 65535']),
    (('--demo', '--rtsp-port=-1'), ["'rtsp-port'", "'-1'"]),
    (('--demo', '--rtsp-port', '8554x'), ["'8554x'"]),
    (('--demo', '--rtsp-port', ''), ["'rtsp-port'"]),
    (('--demo', '--set', 'demo.rotate=für'), ["'für'", 'auto, 0, 90, 180, 270']),
]


def check_refusal(build, arguments, wanted):
    status, error, _ = run(build, *arguments)
    check(status == 2, f'{arguments} ends with status {status}, expected 2: {error}')
    check(error.startswith('samtrack-live: ') and error.count('\n') == 1, f'{arguments}: no single sentence: {error}')
    for word in wanted:
        check(word in error, f'{arguments}: "{error.strip()}" does not name {word}')


TLS = [  # versions and suites of a client, whether it is served
    ('TLSv1', 'ALL', False), ('TLSv1_1', 'ALL', False),
    ('TLSv1_2', 'AES128-GCM-SHA256:AES256-SHA256:AES128-SHA', False),  # no forward secrecy
    ('TLSv1_2', 'ECDHE-RSA-AES128-SHA256:ECDHE-RSA-AES128-SHA', False),  # not authenticated encryption
    ('TLSv1_2', 'ECDHE-RSA-AES128-GCM-SHA256', True), ('TLSv1_2', 'ECDHE-RSA-AES256-GCM-SHA384', True),
    ('TLSv1_2', 'ECDHE-RSA-CHACHA20-POLY1305', True), ('TLSv1_3', 'ALL', True)]


def shake(port, version, suites):
    """Whether a client of this version and these suites gets through."""
    context = ssl._create_unverified_context()
    context.set_ciphers(f'{suites}:@SECLEVEL=0')
    context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    try:
        with socket.create_connection(('127.0.0.1', port), timeout=20) as s, context.wrap_socket(s) as tls:
            return tls.version() is not None
    except (ssl.SSLError, ConnectionError):
        return False


def check_suites(program):
    for port in (program.port, program.rtsp_port):
        for version, suites, wanted in TLS:
            served = shake(port, version, suites)
            check(served == wanted, f'port {port}: a client with {version} and {suites} is {"" if served else "not "}served')


def speak_tls(build, folder):
    """Page and RTSP with a certificate of our own making."""
    files = f'{folder}/cert.pem', f'{folder}/key.pem'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost',
                    '-out', files[0], '-keyout', files[1]], check=True, capture_output=True)
    with Program(build, 'test', '--tls-certificate', files[0], '--tls-key', files[1]) as program:
        check(program.page.startswith('https://') and program.rtsp[0].startswith('rtsps://'), f'it prints {program.page}')
        program.wait_for_frames('test')
        status, _, headers = program.get(f'/?token={program.token}', token=False, follow=False)
        check(status == 303 and 'Secure' in headers['Set-Cookie'], f'the token gives {status}, {headers}')
        client = ['gst-launch-1.0', '--no-position', 'rtspsrc', f'location={program.rtsp[0]}', 'tls-validation-flags=0',
                  'protocols=tcp', '!', 'rtph264depay', '!', 'h264parse', '!', 'fakesink', 'num-buffers=5']
        result = subprocess.run(client, capture_output=True, timeout=60)
        check(has_frames(result.stdout), f'an RTSP client with TLS fails: {result.stderr.decode()}')
        check_suites(program)


def get_absences(program):
    return [line for line in program.read_log().splitlines() if 'source-away' in line]


def miss_device(build):
    """A local camera that is not there: the program says so once, not at every attempt, and waits for it."""
    for source in ('door=/dev/video97', 'door=v4l2:///dev/video97'):
        with Program(build, source) as program:
            program.wait_for(lambda m: m['samtrack_source_up{camera="door"}'] == 0 and get_absences(program),
                             'the absence of the device')
            time.sleep(3)
            lines = get_absences(program)
            check(len(lines) == 1 and 'camera=door' in lines[0] and '/dev/video97' in lines[0],
                  f'a missing device is told as: {lines}')


def hold_many(build, path):
    """More cameras than 16, and figures of what the trackers have left: two requests that are 5 s apart tell them."""
    with open(path, 'w') as f:
        f.write('[live]\nannotations=0\n' + ''.join(f'[camera c{i}]\nsource=test\nwidth=160\nheight=120\nframerate=2\nmax-objects=1\nthreads=1\n'
                                                   for i in range(17)))
        f.write('initial-prompt=box,x=0.3,y=0.3,w=0.3,h=0.3,normalized=true\n')  # of the last one
    with Program(build, '--config', path, cameras=17) as program:
        def get_count(m, fate):
            return m[f'samtrack_frames_total{{camera="c16",fate="{fate}"}}']
        begin = time.monotonic()
        first = program.wait_for(lambda m: get_count(m, 'inferred') > 0 and m['samtrack_source_up{camera="c15"}'] == 1, 'all cameras', 60)
        name = 'samtrack_frames_per_second{camera="c16",fate="inferred"}'
        check(name not in first or time.monotonic() - begin > 5, 'a rate of no time')
        steps = 'samtrack_capacity_steps_per_second{camera="c16"}'
        m = program.wait_for(lambda m: m.get(name, 0) > 0 and steps in m, 'the rate', 60)
        rates = [m[f'samtrack_frames_per_second{{camera="c16",fate="{fate}"}}'] for fate in ('received', 'inferred')]
        # On a machine that is too busy fewer frames than these two a second are made.
        made = get_count(m, 'received') / (time.monotonic() - begin)
        check(min(0.9, made / 3) <= rates[0] <= 4 and rates[1] <= rates[0] + 0.5,
              f'rates: {rates}, expected 2 a second, or somewhat less than {made:.2f}')
        steps = m[steps]
        step = m['samtrack_stage_seconds{camera="c16",stage="step",quantile="0.50"}']
        check(abs(steps * step - 1) < 0.5, f'{steps} steps a second, of {step} s each')
        left = m['samtrack_capacity_left_ratio{camera="c16"}']
        check(abs(left - max(0, 1 - rates[1] / steps)) < 1e-6, f'{left} is left of {steps} steps a second, with {rates[1]}')
        stale, age = m['samtrack_stale_ratio{camera="c16"}'], m['samtrack_mask_age_seconds{camera="c16"}']
        check(0 <= stale <= 1 and (age > 0) == (stale > 0) and age * rates[0] >= 0.99 * stale, f'{stale} of the frames have masks of {age} s')
        check('samtrack_capacity_steps_per_second{camera="c0"}' not in m, 'a tracker without objects has no steps')


def hide_plugins(folder, *names):
    """The environment of a machine that lacks these plugins of GStreamer."""
    for path in ['/usr/lib/x86_64-linux-gnu/gstreamer-1.0', *glob.glob('/usr/lib/*/gstreamer-1.0')]:
        for plugin in glob.glob(f'{path}/*.so'):
            name = os.path.basename(plugin)
            if name not in [f'libgst{n}.so' for n in names] and not os.path.exists(f'{folder}/{name}'):
                os.symlink(plugin, f'{folder}/{name}')
    return {'GST_PLUGIN_SYSTEM_PATH': folder, 'GST_REGISTRY': f'{folder}/registry'}


def miss_plugins(build, folder):
    """An element that is missing is named, with its plugin and Debian's package."""
    os.mkdir(f'{folder}/plugins')
    hidden = hide_plugins(f'{folder}/plugins', 'srt', 'hls', 'adaptivedemux2', 'libav', 'openh264')
    with mock.patch.dict(os.environ, hidden):
        check_refusal(build, ('door=srt://user:secret@192.0.2.1:9',), ["'door'", 'srtsrc', 'plugin srt', 'gstreamer1.0-plugins-bad'])
        with open(f'{folder}/list.m3u8', 'w') as f:
            f.write('#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\npart.ts\n#EXT-X-ENDLIST\n')
        subprocess.run(['gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=5', '!', 'x264enc', '!', 'mp4mux', '!', 'filesink',
                        f'location={folder}/film.mp4'], check=True, timeout=60)
        with start_web(folder) as server:
            with Program(build, f'hls=http://127.0.0.1:{server.server_port}/list.m3u8', f'film={folder}/film.mp4',
                         cameras=2) as program:
                for camera, words in (('hls', ('application/x-hls', 'hlsdemux', 'plugin hls', 'gstreamer1.0-plugins-bad')),
                                      ('film', ('H.264', 'gstreamer1.0-libav'))):
                    program.wait_for(lambda m: any(f'camera={camera} ' in line for line in get_absences(program)), 'the reason')
                    line = [line for line in get_absences(program) if f'camera={camera} ' in line][0]
                    check(all(word in line for word in words), f'a missing plugin is told as: {line}')


def main(build):
    with tempfile.TemporaryDirectory() as folder:
        path = f'{folder}/live.conf'
        for text, wanted in FILES.items():
            with open(path, 'w') as f:
                f.write(text)
            check_refusal(build, ('--config', path), wanted)
        for arguments, wanted in LINES:
            check_refusal(build, arguments, wanted)
        for arguments, wanted in ((('--model-file', '/nothing.pt'), '/nothing.pt'),
                                  (('--tls-certificate', '/nothing', '--tls-key', '/nothing'), '/nothing'),
                                  (('--address', 'here'), 'here')):
            status, error, _ = run(build, '--demo', '--http-port', '0', '--rtsp-port', '0', *arguments)
            check(status == 1 and wanted in error, f'{arguments} ends with status {status}: {error}')
        with open(path, 'w') as f:
            f.write('[live]\ntoken=from-the-file\n[camera one]\nsource=test\nwidth=320\nheight=180\nfollow=/nothing.pt\n')
        status, error, _ = run(build, '--config', path, '--http-port', '0', '--rtsp-port', '0')
        check(status == 1 and "camera 'one': /nothing.pt" in error, f'a file to follow with ends with status {status}: {error}')
        hold_many(build, path)
        status, _, output = run(build, '--help')
        check(status == 0 and '--config' in output, f'--help gives {output}')
        with open(path, 'w') as f:
            f.write('[live]\ntoken=from-the-file\nmax-viewers=3\n[camera one]\nsource=test\nwidth=320\nheight=180\n'
                    '[camera two]\nsource=demo\ninitial-prompt=point,x=0.54,y=0.6,normalized=true\n')
        with Program(build, '--config', path, token='from-the-file', cameras=2) as program:
            program.wait_for(lambda m: m['samtrack_objects{camera="two",state="tracked"}'] == 1, 'the object')
            names = [line.rsplit('/', 2)[1:] for line in program.rtsp]
            check(names == [[s, c] for c in ('one', 'two') for s in ('annotated', 'clean')], f'streams are {names}')
            for option, port in (('--http-port', program.port), ('--rtsp-port', program.rtsp_port)):
                free = '--rtsp-port' if option == '--http-port' else '--http-port'
                status, error, _ = run(build, '--demo', free, '0', option, str(port))
                check(status == 1 and str(port) in error and 'in use' in error.lower(),
                      f'a port in use ends with status {status}: {error}')
        speak_tls(build, folder)
        miss_plugins(build, folder)
        miss_device(build)
    print('ok')


main(sys.argv[1])
