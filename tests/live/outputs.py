#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The streams: RTSP clients, pages and JPEGs that come and go, encoders that rest meanwhile, and nothing that leaks.
usage: outputs.py BUILD [ROUNDS]"""
import asyncio
import os
import socket
import subprocess
import sys
import urllib.request

from program import Page, Program, check, has_frames, skip
from viewer import Viewer

try:
    import websockets
except ImportError as e:
    skip(str(e))

SSDP = 1900  # UPnP's search
CLIENT = 'rtph264depay ! h264parse ! avdec_h264 ! fakesink num-buffers={n}'


def start_client(url, protocol='tcp', frames=10):
    """An RTSP client that ends after some frames."""
    return subprocess.Popen(['gst-launch-1.0', '--no-position', 'rtspsrc', f'location={url}', f'protocols={protocol}', 'latency=0',
                             '!', *CLIENT.format(n=frames).split()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(clients):
    for client in clients:
        try:
            output, _ = client.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            client.kill()
            raise AssertionError('an RTSP client gets no frames')
        check(has_frames(output), f'an RTSP client fails: {output.decode()}')


def get_encoded(metrics, output):
    return metrics[f'samtrack_encoded_frames_total{{camera="demo",output="{output}"}}']


def watch_streams(program):
    annotated, clean = program.rtsp
    check(get_encoded(program.metrics(), 'annotated') == 0, 'the encoder runs without viewers')
    finish([start_client(url, protocol) for url in (annotated, clean) for protocol in ('tcp', 'udp')])
    m = program.wait_for(lambda m: m['samtrack_viewers{kind="rtsp"}'] == 0, 'the end of the RTSP sessions')
    check(get_encoded(m, 'annotated') >= 10 and get_encoded(m, 'clean') >= 10, f'too few frames: {m}')
    received = 'samtrack_frames_total{camera="demo",fate="received"}'
    later = program.wait_for(lambda now: now[received] > m[received] + 50, 'more frames')
    for output in ('annotated', 'clean'):
        more = get_encoded(later, output) - get_encoded(m, output)
        check(more <= 2, f'the encoder of {output} made {more} frames without viewers')


def refuse(program):
    """Asked without rtspsrc, which once hung where it was refused."""
    for url, expected in ((program.rtsp[0].replace(program.token, 'wrong-token'), 401), (program.rtsp[0].replace('/demo', '/nobody'), 404)):
        viewer = Viewer(url)
        viewer.send('DESCRIBE', more='Accept: application/sdp\r\n')
        status, text = viewer.take_answer()
        check(status == expected, f'{url} is answered with {text}')
        viewer.vanish()


def get_udp_ports(program):
    """Those that the program has bound."""
    process, files, ports = f'/proc/{program.process.pid}', set(), set()
    for number in os.listdir(f'{process}/fd'):
        try:
            files.add(os.readlink(f'{process}/fd/{number}'))
        except FileNotFoundError:
            pass  # it was closed meanwhile
    for table in ('udp', 'udp6'):
        with open(f'{process}/net/{table}', encoding='ascii') as lines:
            for fields in (line.split() for line in list(lines)[1:]):
                if f'socket:[{fields[9]}]' in files:
                    ports.add(int(fields[1].rsplit(':')[-1], 16))
    return ports


def check_upnp(program):
    """WebRTC looks for no router: it would ask all networks, also when the program serves loopback alone, and would open
    ports to the outside."""
    ports = get_udp_ports(program)
    check(ports, 'WebRTC has no UDP port')
    check(SSDP not in ports, f'a viewer by WebRTC makes the program speak UPnP: its UDP ports are {sorted(ports)}')


async def come_and_go(program, rounds):
    """Pages with WebRTC that is never answered, JPEGs, and RTSP clients that vanish."""
    for i in range(rounds):
        async with Page(program) as page:
            await page.socket.send('{"op":"watch","camera":"demo","video":"webrtc"}')
            offer = await page.take('offer')
            check('m=video' in offer['sdp'], f'the offer is {offer}')
            await page.take('ice')
            request = urllib.request.Request(f'http://127.0.0.1:{program.port}/mjpeg/demo',
                                             headers={'Authorization': f'Bearer {program.token}'})
            with urllib.request.urlopen(request, timeout=20) as answer:
                check(b'image/jpeg' in answer.read(500), 'the JPEGs do not come')
            check_upnp(program)
        with socket.create_connection(('127.0.0.1', program.rtsp_port), timeout=20) as s:
            s.sendall(b'OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n')
            s.recv(1000)


async def leave_early(program, rounds):
    """Pages that have an offer of WebRTC, and close before they answer, or watch something else."""
    for i in range(rounds):
        async with Page(program) as page:
            for _ in range(1 + i % 2):
                await page.socket.send('{"op":"watch","camera":"demo","video":"webrtc"}')
                await page.take('offer')


def settle(program):
    viewers = [f'samtrack_viewers{{kind="{kind}"}}' for kind in ('page', 'webrtc', 'mjpeg', 'rtsp')]
    return program.wait_for(lambda m: not any(m[v] for v in viewers), 'the end of all viewers')


def main(build, rounds):
    with Program(build, '--demo') as program:
        program.wait_for_frames('demo')
        watch_streams(program)
        # RTSP through HTTP has two connections, for longer than either may go without the token.
        tunnel = start_client(program.rtsp[1].replace('rtsp:', 'rtsph:'), 'tcp+http', frames=300)
        refuse(program)
        asyncio.run(come_and_go(program, 4))
        finish([tunnel])
        check('has not shown the token' not in program.read_log(), 'a viewer by HTTP is cut off')
        before = settle(program)
        asyncio.run(come_and_go(program, rounds))
        finish([start_client(program.rtsp[0], frames=3)])
        settle(program)
        # Pipelines end in threads of their own.
        files = before['samtrack_open_files']
        asyncio.run(leave_early(program, 20))
        settle(program)
        after = program.wait_for(lambda m: m['samtrack_open_files'] <= files + 2, f'at most {files:.0f} open files')
        print(f'{rounds} rounds: {files:.0f} open files before, {after["samtrack_open_files"]:.0f} after; '
              f'{before["samtrack_resident_bytes"] / 2**20:.0f} MiB before, '
              f'{after["samtrack_resident_bytes"] / 2**20:.0f} after')
        grown = after['samtrack_resident_bytes'] - before['samtrack_resident_bytes']
        check(grown < (8 << 20) + rounds * 100000, f'memory has grown by {grown / 2**20:.1f} MiB in {rounds} rounds')
        # A busy machine drops some; a viewer who holds the camera up would cost it a second at a time.
        received, dropped = (after[f'samtrack_frames_total{{camera="demo",fate="{fate}"}}'] for fate in ('received', 'dropped'))
        check(dropped <= received / 50, f'{dropped} of {received} frames were dropped: {after}')
    print('ok')


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 12)
