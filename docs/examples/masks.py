#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tracks an object in a video; its masks are numpy arrays. Writes a PNG of the last frame in which all else is grey.

usage: masks.py OUTPUT.png [VIDEO [PROMPT]]        without a video, a scene that is drawn

Needs python3-gi, python3-numpy, gir1.2-gstreamer-1.0 and gir1.2-gst-plugins-base-1.0 of Debian 12, and nothing of pip.
"""
import sys
try:
    import gi
    import numpy as np
    gi.require_version('Gst', '1.0')
    gi.require_version('GstApp', '1.0')
    gi.require_version('GstVideo', '1.0')
    from gi.repository import Gst, GstApp, GstVideo  # GstApp: try_pull_sample()
except (ImportError, ValueError) as missing:
    sys.exit(f'masks.py: {missing}: apt install python3-gi python3-numpy gir1.2-gstreamer-1.0 gir1.2-gst-plugins-base-1.0')
if len(sys.argv) < 2:
    sys.exit('usage: masks.py OUTPUT.png [VIDEO [PROMPT]]')


def read(buffer, height, width, channels):  # a label map, or RGBA, has no padding
    return np.frombuffer(buffer.extract_dup(0, buffer.get_size()), np.uint8).reshape(height, width, channels)


Gst.init(None)
output, video, prompt = (sys.argv[1:] + [None] * 2)[:3]
source = 'uridecodebin name=file' if video else 'samscene num-buffers=30 ! video/x-raw,width=640,height=360'
pipeline = Gst.parse_launch(f'{source} ! videoconvert ! video/x-raw,format=RGBA ! samtrack name=track mask-size=frame '
                            '! appsink name=end sync=false max-buffers=2')
if video:
    pipeline.get_by_name('file').set_property('uri', Gst.filename_to_uri(video))
pipeline.get_by_name('track').set_property('initial-prompt', prompt or 'point,x=0.75,y=0.53,normalized=true')
pipeline.set_state(Gst.State.PLAYING)
frame = error = None
end = pipeline.get_by_name('end')
while not error and not end.is_eos():
    error = pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
    sample = end.try_pull_sample(Gst.SECOND // 10)
    if not sample:
        continue
    caps, buffer = sample.get_caps(), sample.get_buffer()
    meta = buffer.get_custom_meta('GstSamTrackMeta').get_structure()
    frame = read(buffer, meta.get_value('height'), meta.get_value('width'), 4)
    labels = read(meta.get_value('mask'), meta.get_value('mask-height'), meta.get_value('mask-width'), 1)
    print(f"frame {meta.get_value('frame-index')}: {np.count_nonzero(labels == 1)} px of object 1")
pipeline.set_state(Gst.State.NULL)
if error or frame is None:
    sys.exit(f'masks.py: {error.parse_error()[0].message if error else "the video has no frames"}')
grey = np.repeat(frame[..., :3].mean(-1, keepdims=True) * 0.4, 4, -1)
picture = np.where(labels == 1, frame, grey).astype(np.uint8) | np.array([0, 0, 0, 255], np.uint8)
sample = Gst.Sample.new(Gst.Buffer.new_wrapped(picture.tobytes()), caps, None, None)
png = GstVideo.video_convert_sample(sample, Gst.Caps.from_string('image/png'), 10 * Gst.SECOND).get_buffer()
open(output, 'wb').write(png.extract_dup(0, png.get_size()))
