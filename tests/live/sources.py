#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Sources as people have them: interlaced, rotated, transparent, slow, pausing, without video, by UDP alone, with a certificate of their own,
MJPEG, HLS and SRT. usage: sources.py BUILD"""
import hashlib
import io
import json
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

from film import DISC, RADIUS
from program import Program, check, skip
from sources_data import CREDENTIALS, H264, SIZE, make_clips, start_web
from viewer import Viewer

try:
    from PIL import Image
    import gi
    gi.require_version('GstRtspServer', '1.0')
except (ImportError, ValueError) as e:
    skip(str(e))

# Where the disc is when the film's track header is followed, and when rotate=270 is set.
UPRIGHT = (('rotated', 359 - DISC[1], DISC[0]), ('turned', DISC[1], 639 - DISC[0]))
HERE = pathlib.Path(__file__).parent


def get_free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def get_frames(metrics, camera):
    return metrics[f'samtrack_frames_total{{camera="{camera}",fate="received"}}']


def get_lines(program, camera, event):
    return [line for line in program.read_log().splitlines() if f'event={event} camera={camera} ' in line + ' ']


def wait_for_line(program, camera, event, *words):
    """The log must have one such line with these words."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for line in get_lines(program, camera, event):
            if all(word in line for word in words):
                return
        time.sleep(0.1)
    raise AssertionError(f'no line of {event} of {camera} has {words}:\n{program.read_log()}')


def wait_for_frames(program, camera, n, drops=0):
    """So many frames come, and the source drops out no more often."""
    program.wait_for(lambda m: get_frames(m, camera) >= n, f'frame {n} of {camera}')
    gone = get_lines(program, camera, 'source-gone')
    check(len(gone) <= drops, f'{camera} drops out: {gone}')


def take_picture(program, camera):
    """One JPEG of the stream for browsers."""
    program.wait_for(lambda m: get_frames(m, camera) > 1, f'frames of {camera}')
    request = urllib.request.Request(f'http://127.0.0.1:{program.port}/mjpeg/{camera}',
                                     headers={'Authorization': f'Bearer {program.token}'})
    with urllib.request.urlopen(request, timeout=20) as answer:
        head = b''
        while not head.endswith(b'\r\n\r\n'):
            head += answer.read(1)
        size = int(re.search(rb'Content-Length: (\d+)', head).group(1))
        return Image.open(io.BytesIO(answer.read(size))).convert('L')


def get_comb(picture):
    """How far rows differ from the middle of their neighbours: rows of two fields do, where things move."""
    width, height = picture.size
    rows = [picture.crop((0, y, width, y + 1)).tobytes() for y in range(height // 2)]  # bars without noise
    return sum(abs(2 * b - a - c) for above, row, below in zip(rows, rows[1:], rows[2:])
               for a, b, c in zip(above, row, below)) / (width * len(rows) * 2)


def see_interlaced(program, streams):
    """A viewer by H.264 gets frames, and the tracker goes on; the source changes there and back."""
    for camera in 'interlaced', 'change':
        viewer = Viewer(streams['clean', camera])
        viewer.play()
        viewer.watch(60)
        viewer.tear_down()
    wait_for_frames(program, 'interlaced', 120)
    wait_for_frames(program, 'change', 250)
    combs = [get_comb(take_picture(program, 'interlaced')) for _ in range(3)]
    check(max(combs) < 2, f'rows of two fields are mixed: they differ by {combs}')
    status, text, _ = program.get('/healthz')
    check(status == 200, f'/healthz gives {status}: {text}')


def see_rotated(program):
    """Upright, with prompts in upright pixels: the disc is where it is in the turned picture."""
    for camera, x, y in UPRIGHT:
        picture = take_picture(program, camera)
        check(picture.size == (360, 640), f'a film of 640x360 that is {camera} is shown as {picture.size}')
        program.wait_for(lambda m: m[f'samtrack_objects{{camera="{camera}",state="tracked"}}'] == 1, 'the object')
        line = json.loads(program.get(f'/annotations/{camera}.jsonl')[1].splitlines()[0])
        box = line['objects'][0]['box']
        wanted = [x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS]
        check(all(abs(a - b) < 20 for a, b in zip(box, wanted)), f'{camera}: the object is at {box}, expected {wanted}')
    picture = take_picture(program, 'wide')
    check(picture.size == (320, 136), f'the picture of a camera with aspect=47:20 is {picture.size}')


def see_reasons(program):
    """The log tells why, and nothing else keeps a source away."""
    wait_for_line(program, 'noise', 'source-away', 'no video, only audio')
    wait_for_line(program, 'udp', 'source-away', 'gives no stream by TCP')
    wait_for_line(program, 'tcp', 'source-away', 'gives no stream by TCP')
    wait_for_line(program, 'stranger', 'source-away', 'certificate is refused', 'tls-fingerprint=', 'tls-ca-file')
    wait_for_line(program, 'webstranger', 'source-away', 'certificate is refused', 'tls-fingerprint=')
    wait_for_line(program, 'nobody', 'source-away', 'Not Found')
    wait_for_line(program, 'halts', 'source-gone', 'frames stopped coming')
    wait_for_line(program, 'halts', 'source-up', 'reconnects=1')
    wait_for_line(program, 'mute', 'source-away', 'no frame came')
    for camera in 'udp', 'own', 'pinned', 'webown', 'webpinned', 'mjpeg', 'srt':
        program.wait_for_frames(camera)
    wait_for_frames(program, 'rare', 3)
    wait_for_frames(program, 'hls', 100)
    for camera in 'tcp', 'stranger', 'webstranger':
        check(get_lines(program, camera, 'source-up') == [], f'{camera} comes up')
    log = program.read_log()
    check('p%40ss' not in log and 'p@ss' not in log and 'secret' not in log, f'a password is in the log:\n{log}')


def make_certificate(folder):
    """Of a camera, for no name; its fingerprint."""
    files = f'{folder}/cert.pem', f'{folder}/key.pem'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=camera',
                    '-out', files[0], '-keyout', files[1]], check=True, capture_output=True)
    der = ssl.PEM_cert_to_DER_cert(pathlib.Path(files[0]).read_text())
    return files, hashlib.sha256(der).hexdigest()


def start(build, sources, sets):
    arguments = [f'{name}={source}' for name, source in sources.items()]
    for key, value in sets.items():
        arguments += ['--set', f'{key}={value}']
    return Program(build, *arguments, cameras=len(sources))


def see_clips(build, folder):
    sources = make_clips(folder)
    sources |= {'turned': sources['rotated'], 'wide': 'test'}
    sets = {'turned.rotate': '270', 'wide.aspect': '47:20', 'wide.height': '136'}
    for camera, x, y in UPRIGHT:
        sets |= {f'{camera}.initial-prompt': f'box,x={x - RADIUS},y={y - RADIUS},w={2 * RADIUS},h={2 * RADIUS}', f'{camera}.framerate': '5'}
    with start(build, sources, sets) as program:
        see_interlaced(program, {tuple(url.rsplit('/', 2)[1:]): url for url in program.rtsp})
        see_rotated(program)
        wait_for_frames(program, 'pause', 15)  # ten, a pause of four seconds, ten
        wait_for_frames(program, 'slow', 3)  # a frame every three seconds
        wait_for_frames(program, 'alpha', 15)
        wait_for_line(program, 'sound', 'source-away', 'no video, only audio')


def see_net(build, folder):
    files, fingerprint = make_certificate(folder)
    colons = ':'.join(fingerprint[i:i + 2] for i in range(0, 64, 2)).upper()
    web, secure, strange = (start_web(folder, tls).server_port for tls in (None, files, files))
    plain, tls, tls_strange = (get_free_port() for _ in range(3))
    srt = get_free_port(socket.SOCK_DGRAM)
    user = ':'.join(CREDENTIALS)
    rtsp, rtsps, http, https = (f'{scheme}://127.0.0.1:{port}' for scheme, port in (
        ('rtsp', plain), ('rtsps', tls), ('http', web), ('https', secure)))
    sources = {
        'udp': f'{rtsp}/udp', 'tcp': f'{rtsp}/udp', 'rare': f'{rtsp}/slow', 'noise': f'{rtsp}/sound',
        'stranger': f'rtsps://127.0.0.1:{tls_strange}/own', 'own': f'{rtsps}/own', 'pinned': f'{rtsps}/own',
        'webstranger': f'https://127.0.0.1:{strange}/progressive.ts', 'webown': f'{https}/progressive.ts', 'webpinned': f'{https}/progressive.ts',
        'mjpeg': f'{http}/video'.replace('//', f'//{user}@'), 'hls': f'{http}/list.m3u8', 'srt': f'srt://127.0.0.1:{srt}',
        'halts': f'{http}/halts', 'mute': f'{http}/mute',
        'nobody': f'{http}/nothing?key=secret'.replace('//', f'//{user}@')}
    sets = {'tcp.transport': 'tcp', 'own.tls-ca-file': files[0], 'webown.tls-ca-file': files[0],
            'pinned.tls-fingerprint': colons, 'webpinned.tls-fingerprint': fingerprint}
    sender = f'videotestsrc is-live=true ! video/x-raw,{SIZE} ! {H264} tune=zerolatency ! mpegtsmux ! srtsink name=s ' \
        f'uri=srt://127.0.0.1:{srt}?mode=listener wait-for-connection=false'
    cameras = [subprocess.Popen(['/usr/bin/python3', HERE / 'sources_data.py', str(plain), str(tls), str(tls_strange), *files], stdout=subprocess.PIPE),
               subprocess.Popen(['gst-launch-1.0', '-q', *sender.split()])]
    try:
        check(cameras[0].stdout.readline() == b'ready\n', 'the cameras do not start')
        with start(build, sources, sets) as program:
            see_reasons(program)
    finally:
        for camera in cameras:
            camera.kill()
            camera.wait()


def main(build):
    with tempfile.TemporaryDirectory() as folder:
        see_clips(build, folder)
        see_net(build, folder)
    print('ok')


main(sys.argv[1])
