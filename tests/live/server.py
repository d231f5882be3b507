#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""An RTSP camera for tests: server.py PORT WIDTH HEIGHT [KIND]
KIND: scene (default); rubbish, a damaged H.264 stream; flap, which ends every connection after a short while.
Prints "ready" when it listens."""
import sys

import gi
gi.require_version('Gst', '1.0')
gi.require_version('GstRtspServer', '1.0')
from gi.repository import GLib, Gst, GstRtspServer

Gst.init(None)
port, width, height = sys.argv[1:4]
kind = sys.argv[4] if len(sys.argv) > 4 else 'scene'
size = f'video/x-raw,width={width},height={height},framerate=25/1'
# Python cannot load a plugin that was built with a sanitizer: then it is another picture.
picture = 'samscene' if Gst.ElementFactory.find('samscene') else 'videotestsrc pattern=ball'
video = (f'{picture} is-live=true ! {size} ! videoconvert ! '
         'x264enc tune=zerolatency speed-preset=ultrafast key-int-max=25 threads=1 ! video/x-h264,profile=baseline')
if kind == 'rubbish':
    video += ' ! identity drop-probability=0.5 ! h264parse ! breakmydata probability=0.5 seed=1 skip=200'
factory = GstRtspServer.RTSPMediaFactory()
factory.set_launch(f'( {video} ! rtph264pay name=pay0 config-interval=1 )')
factory.set_shared(True)
server = GstRtspServer.RTSPServer()
server.set_service(port)
server.get_mount_points().add_factory('/camera', factory)
if not server.attach(None):
    sys.exit(f'cannot listen on port {port}')
if kind == 'flap':
    def end(client):
        client.close()

    def watch(_, client):
        client.connect('play-request', lambda c, _: GLib.timeout_add(400, end, c))

    server.connect('client-connected', watch)
print('ready', flush=True)
GLib.MainLoop().run()
