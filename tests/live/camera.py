#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A camera that dies, stays away, comes back with another size, and sends rubbish, while a page looks on.
usage: camera.py BUILD
       camera.py BUILD N    N reconnects: memory and file descriptors must be flat"""
import asyncio
import os
import signal
import subprocess
import sys
import time

from program import ROOT, Page, Program, check, get_free_port, skip

try:
    import websockets
    import gi
    gi.require_version('GstRtspServer', '1.0')
except (ImportError, ValueError) as e:
    skip(str(e))


ZONES = r'zone,name="the \"whole\"",points=0:0 1:0 1:1 0:1,normalized=true;line,name=line,points=0:0 0:99'


class Camera:
    """Without a build its picture is not the scene's."""

    def __init__(self, build, port):
        self.build, self.port = build, port

    def start(self, width=640, height=360, kind='scene'):
        self.process = subprocess.Popen(
            ['/usr/bin/python3', f'{ROOT}/tests/live/server.py', str(self.port), str(width), str(height), kind],
            stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, GST_PLUGIN_PATH=f'{self.build}/gst', GST_REGISTRY_FORK='no',
                     GST_REGISTRY=os.environ.get('GST_REGISTRY', '/tmp/samtrack-live.registry') + '.camera'))
        check(self.process.stdout.readline() == 'ready\n', 'the camera does not start')
        return time.monotonic()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def is_up(state):
    return not state['fault']


def states(state):
    return [o['state'] for o in state['objects']]


def check_zones(program):
    """The object was in one of them whenever it was seen; now it is removed."""
    m = program.wait_for(lambda m: m[r'samtrack_zone_objects{camera="gate",zone="the \"whole\""}'] == 0, 'the empty zone', 30)
    entered, left = (m[rf'samtrack_zone_events_total{{camera="gate",zone="the \"whole\"",kind="{kind}"}}'] for kind in ('entered', 'left'))
    check(entered == left >= 1, f'{entered} entered and {left} left the zone')
    check(m['samtrack_zone_events_total{camera="gate",zone="line",kind="left-to-right"}'] == 0, 'what stands still has crossed a line')


async def lose_and_find(page, camera, width, height):
    """The camera dies and comes back."""
    camera.kill()
    state = await page.wait_for(lambda s: s['fault'], 'the fault')
    check(states(state) == ['lost'], f'objects are {states(state)} while the camera is away, expected lost')
    reply = await page.ask('point', x=0.5, y=0.5)
    check(reply['type'] == 'refused' and 'gone' in reply['why'], f'a prompt without camera gives {reply}')
    answered = camera.start(width, height)
    await page.wait_for(is_up, 'the camera')
    print(f'the page shows the camera {time.monotonic() - answered:.1f} s after it listens again')
    state = await page.wait_for(lambda s: states(s) and states(s)[0] in ('found', 'tracked'), 'the object')
    check(states(state) == ['found'], f'the object is {states(state)} after the camera came back, expected found')
    check([o['id'] for o in state['objects']] == [1], f'the objects are {state["objects"]}, expected id 1')


async def main(build):
    camera = Camera(build, get_free_port())
    camera.start()
    try:
        with Program(build, f'gate=rtsp://127.0.0.1:{camera.port}/camera', '--set', f'zones={ZONES}') as program:
            async with Page(program) as page:
                state = await page.wait_for(is_up, 'the camera')
                await page.wait_for(lambda s: s['width'] == 640 and s['height'] == 360, 'the size')
                # The pillar does not move: it is where it was whenever the camera comes back.
                reply = await page.ask('point', x=0.54, y=0.6)
                check(reply['type'] == 'done' and reply['id'] == 1, f'the prompt gives {reply}')
                await page.wait_for(lambda s: states(s) == ['tracked'], 'the object')
                await lose_and_find(page, camera, 640, 360)
                await lose_and_find(page, camera, 320, 180)
                check(page.state['width'] == 640, f'the size is {page.state["width"]}, expected 640: that of the start')
                camera.kill()
                await page.wait_for(lambda s: s['fault'], 'the fault')
                camera.start(kind='rubbish')
                await asyncio.sleep(3)
                camera.kill()
                camera.start()
                await page.wait_for(is_up, 'the camera after rubbish', 30)
                reply = await page.ask('remove', id=1)
                check(reply['type'] == 'done', f'removing gives {reply}')
            check_zones(program)
            m = program.metrics()
            check(m['samtrack_reconnects_total{camera="gate"}'] >= 3, f'too few reconnects: {m}')
            dropped, received = (m[f'samtrack_frames_total{{camera="gate",fate="{fate}"}}'] for fate in ('dropped', 'received'))
            check(dropped <= received / 50, f'frames were dropped, more than other work on the machine explains: {m}')
            log = program.read_log()
            for line in ('event=object camera=gate id=1 state=lost', 'event=object camera=gate id=1 state=found',
                         'event=source-gone camera=gate', 'event=decoder camera=gate decoder='):
                check(line in log, f'the log has no "{line}"')
    finally:
        camera.kill()
    print('ok')


def reconnect(build, n):
    camera = Camera(build, get_free_port())
    camera.start(320, 180, 'flap')
    name = 'samtrack_reconnects_total{camera="gate"}'
    try:
        # By UDP, which is tried after a start without a frame, nobody tells that the connection has ended.
        with Program(build, f'gate=rtsp://127.0.0.1:{camera.port}/camera', '--set', 'transport=tcp') as program:
            start = program.wait_for(lambda m: m[name] >= n // 10, 'the first reconnects', 60 + n)
            end = program.wait_for(lambda m: m[name] >= n, f'{n} reconnects', 60 + 5 * n)
            for m in start, end:
                print(f'{m[name]:.0f} reconnects: {m["samtrack_resident_bytes"] / 2**20:.1f} MiB, '
                      f'{m["samtrack_open_files"]:.0f} open files')
            check(end['samtrack_open_files'] <= start['samtrack_open_files'] + 8, 'file descriptors leak')
            grown = end['samtrack_resident_bytes'] - start['samtrack_resident_bytes']
            check(grown < (10 << 20) + 20000 * n, f'memory has grown by {grown / 2**20:.1f} MiB')
    finally:
        camera.kill()
    print('ok')


if __name__ == '__main__' and len(sys.argv) > 2:
    reconnect(sys.argv[1], int(sys.argv[2]))
elif __name__ == '__main__':
    asyncio.run(main(sys.argv[1]))
