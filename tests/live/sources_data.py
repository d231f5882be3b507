# SPDX-License-Identifier: MIT
"""What the test of sources plays: clips, and cameras of every kind. usage: sources_data.py PORT...  is the cameras by RTSP."""
import base64
import http.server
import pathlib
import struct
import subprocess
import threading
import time

from film import make_film

SIZE = 'width=96,height=64'
H264 = 'x264enc speed-preset=ultrafast key-int-max=25 threads=1'
BARS = f'videotestsrc pattern=smpte horizontal-speed=8 num-buffers={{n}} ! video/x-raw,{SIZE},format=I420,framerate={{rate}}/1'
AUDIO = 'audiotestsrc num-buffers=40 ! audioconvert ! vorbisenc'
CREDENTIALS = 'viewer', 'p%40ss'  # in an address; the password is "p@ss"
PICTURES = {'/video': 10**6, '/halts': 20, '/mute': 0}  # that a camera by HTTP sends before it falls silent
RTSP = {  # mount point: launch line of a camera by RTSP
    'udp': f'videotestsrc is-live=true ! video/x-raw,{SIZE},framerate=15/1 ! {H264} tune=zerolatency ! rtph264pay name=pay0',
    'slow': f'videotestsrc is-live=true ! video/x-raw,format=I420,{SIZE},framerate=1/3 ! jpegenc ! rtpjpegpay name=pay0',
    'sound': 'audiotestsrc is-live=true ! audioconvert ! rtpL16pay name=pay0',
}
RTSP['own'] = RTSP['udp']


def launch(*line):
    subprocess.run(['gst-launch-1.0', '-q', *' '.join(line).split()], check=True, timeout=60)


def make_interlaced(path):
    launch(BARS.format(n=100, rate=50), '! interlace field-pattern=0 top-field-first=true !', H264, 'interlaced=true',
           '! h264parse ! mpegtsmux ! filesink location=' + path)


def make_progressive(path):
    launch(BARS.format(n=50, rate=25), '!', H264, f'! h264parse ! mpegtsmux ! filesink location={path}')


def make_rotated(folder):
    """The disc, to be shown turned by 90 degrees clockwise, as a phone's track header says: mp4mux 1.22 does not write it."""
    path = pathlib.Path(make_film(folder))
    film = bytearray(path.read_bytes())
    at = film.index(b'tkhd') + 4 + 40  # version and flags, times, ids, layer, volume
    assert struct.unpack_from('>9i', film, at) == (1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    struct.pack_into('>9i', film, at, 0, 1 << 16, 0, -1 << 16, 0, 0, 0, 0, 1 << 30)
    path.write_bytes(film)
    return str(path)


def make_pausing(path, pause):
    """Ten frames, a pause, ten frames."""
    import gi
    gi.require_version('Gst', '1.0')
    from gi.repository import Gst
    Gst.init(None)
    pipeline = Gst.parse_launch(f'appsrc name=src format=time caps=video/x-raw,format=GRAY8,{SIZE},framerate=0/1 '
                                f'! videoconvert ! jpegenc ! matroskamux ! filesink location={path}')
    pipeline.set_state(Gst.State.PLAYING)
    source = pipeline.get_by_name('src')
    for i in range(20):
        buffer = Gst.Buffer.new_wrapped(bytes([10 * i]) * 96 * 64)
        buffer.pts = int((i * 0.04 + (pause if i > 9 else 0)) * Gst.SECOND)
        source.emit('push-buffer', buffer)
    source.emit('end-of-stream')
    message = pipeline.get_bus().timed_pop_filtered(20 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    assert message and message.type == Gst.MessageType.EOS
    pipeline.set_state(Gst.State.NULL)


def make_clips(folder):
    """{name of the camera: source}"""
    paths = {name: f'{folder}/{name}' for name in ('interlaced.ts', 'change.ts', 'slow.mp4', 'pause.mkv', 'sound.ogg')}
    make_interlaced(paths['interlaced.ts'])
    make_progressive(f'{folder}/progressive.ts')
    pathlib.Path(paths['change.ts']).write_bytes(
        pathlib.Path(f'{folder}/progressive.ts').read_bytes() + pathlib.Path(paths['interlaced.ts']).read_bytes())
    paths['rotated'] = make_rotated(folder)
    paths['alpha'] = str(pathlib.Path(__file__).parent / 'alpha.webm')  # VP9 with alpha: GStreamer 1.22 does not write it
    launch(f'videotestsrc num-buffers=5 ! video/x-raw,{SIZE},framerate=1/3 !', H264,
           f'! mp4mux ! filesink location={paths["slow.mp4"]}')
    make_pausing(paths['pause.mkv'], 4)
    launch(AUDIO, f'! oggmux ! filesink location={paths["sound.ogg"]}')
    pathlib.Path(f'{folder}/list.m3u8').write_text('#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n' + 3 * (
        '#EXT-X-DISCONTINUITY\n#EXTINF:2,\nprogressive.ts\n') + '#EXT-X-ENDLIST\n')
    return {name.split('.')[0]: path for name, path in paths.items()}


class WebCamera(http.server.BaseHTTPRequestHandler):
    """/video: a camera that asks for a password and sends JPEGs without end; else the files of the folder."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path in PICTURES:
            self.send_video(PICTURES[self.path])
            return
        file = pathlib.Path(self.server.folder, self.path.strip('/').split('?')[0])
        if not file.is_file():
            self.send_error(404)
            return
        data = file.read_bytes()
        begin = int(self.headers.get('Range', 'bytes=0-').split('=')[1].split('-')[0])
        self.send_response(206 if 'Range' in self.headers else 200)
        self.send_header('Accept-Ranges', 'bytes')
        self.send_header('Content-Range', f'bytes {begin}-{len(data) - 1}/{len(data)}')
        self.send_header('Content-Length', str(len(data) - begin))
        self.end_headers()
        self.wfile.write(data[begin:])

    def send_video(self, count):
        if self.path == '/video' and self.headers['Authorization'] != 'Basic ' + base64.b64encode(b'viewer:p@ss').decode():
            self.send_response(401)
            self.send_header('WWW-Authenticate', 'Basic realm="camera"')
            self.send_header('Content-Length', '0')
            self.end_headers()
            return
        picture = pathlib.Path(self.server.folder, 'picture.jpg').read_bytes()
        self.send_response(200)
        self.send_header('Content-Type', 'multipart/x-mixed-replace; boundary=frame')
        self.end_headers()
        try:
            for _ in range(count):
                self.wfile.write(b'--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n' % len(picture) + picture + b'\r\n')
                time.sleep(0.1)
            self.connection.recv(1)  # nothing comes: until the other side closes
        except OSError:
            pass


def start_web(folder, tls=None):
    """The server; its port is server.server_port."""
    import ssl
    launch(BARS.format(n=1, rate=25), f'! jpegenc ! filesink location={folder}/picture.jpg')
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), WebCamera)
    server.daemon_threads = True
    server.folder = folder
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def serve_rtsp(port, *rest):
    """All cameras on one port, without TCP for "udp"; "own" on others, with TLS: a connection is resumed without a look at the
    certificate, so that those who trust it need a port of their own."""
    import gi
    gi.require_version('Gst', '1.0')
    gi.require_version('GstRtsp', '1.0')
    gi.require_version('GstRtspServer', '1.0')
    from gi.repository import Gio, GLib, Gst, GstRtsp, GstRtspServer
    Gst.init(None)
    *tls_ports, certificate, key = rest
    servers = {number: GstRtspServer.RTSPServer() for number in (port, *tls_ports)}
    for number, server in servers.items():
        server.set_address('127.0.0.1')
        server.set_service(number)
        server.get_thread_pool().set_max_threads(8)  # the slow camera keeps nobody waiting
    auth = GstRtspServer.RTSPAuth.new()
    auth.set_tls_certificate(Gio.TlsCertificate.new_from_files(certificate, key))
    token = GstRtspServer.RTSPToken.new()
    token.set_string('media.factory.role', 'anonymous')
    auth.set_default_token(token)
    for number in tls_ports:
        servers[number].set_auth(auth)
    for name, line in RTSP.items():
        factory = GstRtspServer.RTSPMediaFactory()
        factory.set_launch(f'( {line} )')
        factory.set_shared(True)
        factory.add_role_from_structure(Gst.Structure.from_string(
            'anonymous,media.factory.access=(boolean)true,media.factory.construct=(boolean)true')[0])
        if name == 'udp':
            factory.set_protocols(GstRtsp.RTSPLowerTrans.UDP)
        for number in tls_ports if name == 'own' else (port,):
            servers[number].get_mount_points().add_factory('/' + name, factory)
    for server in servers.values():
        assert server.attach(None)
    print('ready', flush=True)
    GLib.MainLoop().run()


if __name__ == '__main__':
    import sys
    serve_rtsp(*sys.argv[1:])
