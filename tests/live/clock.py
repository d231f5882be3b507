# SPDX-License-Identifier: MIT
"""samtrack-live on clocks that the test moves: see clock.c."""
import os
import struct
import tempfile
import urllib.request

from program import Program

RTP_RATE = 90000
WRAP_S = 2**32 / RTP_RATE  # 13 h 15 min: then the RTP time stamps of WebRTC begin again at 0


class Clocked(Program):
    """Beside its own pace, the clock goes on when forward() is called."""

    def __init__(self, build, *arguments):
        self.more = self.date = 0
        self.file = tempfile.TemporaryFile()
        self.forward(0)
        os.environ.update(LIVE_PROGRAM=f'{build}/tests/live/samtrack-live-clock',
                          LIVE_CLOCK=f'/proc/{os.getpid()}/fd/{self.file.fileno()}')
        try:
            super().__init__(build, *arguments)
        finally:
            del os.environ['LIVE_PROGRAM'], os.environ['LIVE_CLOCK']

    def forward(self, seconds):
        self.more += round(seconds * 1e9)
        os.pwrite(self.file.fileno(), struct.pack('=Qq', self.more, self.date), 0)

    def set_date(self, seconds):
        """So many seconds from the true date."""
        self.date = round(seconds * 1e6)
        self.forward(0)

    def forward_to(self, seconds, camera):
        """To a running time of the camera."""
        self.forward(seconds - self.get_time(camera))

    def get_time(self, camera):
        """The running time of the camera's newest picture, s."""
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}/mjpeg/{camera}',
                                         headers={'Authorization': f'Bearer {self.token}'})
        with urllib.request.urlopen(request, timeout=60) as answer:
            while not (line := answer.readline()).startswith(b'X-Time-Us:'):
                pass
        return int(line.split()[1]) / 1e6
