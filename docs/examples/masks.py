#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tracks an object in a video, with frames and masks as numpy arrays; the last frame becomes a PNG, grey but for the object.

usage: masks.py OUTPUT.png [VIDEO [PROMPT]]        without a video, a scene that is drawn
"""
import sys
try:
    import gi
    import numpy as np
    for name in 'Gst', 'GstApp', 'GstVideo':  # GstApp: appsink's try_pull_sample()
        gi.require_version(name, '1.0')
    from gi.repository import Gst, GstApp, GstVideo
except (ImportError, ValueError) as missing:
    sys.exit(f'masks.py: {missing}: apt install python3-gi python3-numpy gir1.2-gstreamer-1.0 gir1.2-gst-plugins-base-1.0')
if len(sys.argv) < 2:
    sys.exit('usage: masks.py OUTPUT.png [VIDEO [PROMPT]]')

Gst.init(None)
output, video, prompt = (sys.argv[1:] + ['', ''])[:3]
source = f'uridecodebin uri="{Gst.filename_to_uri(video)}"' if video else 'samscene num-buffers=30 ! video/x-raw,width=640,height=360'
pipeline = Gst.parse_launch(f'{source} ! videoconvert ! video/x-raw,format=RGBx ! samtrack name=track mask-size=frame '
                            '! appsink name=end sync=false max-buffers=2')
pipeline.get_by_name('track').set_property('initial-prompt', prompt or 'point,x=0.75,y=0.53,normalized=true')
pipeline.set_state(Gst.State.PLAYING)
frame, end, bus = None, pipeline.get_by_name('end'), pipeline.get_bus()
while not (error := bus.pop_filtered(Gst.MessageType.ERROR)) and not end.is_eos():
    if sample := end.try_pull_sample(Gst.SECOND // 10):
        caps, buffer = sample.get_caps(), sample.get_buffer()
        meta = buffer.get_custom_meta('GstSamTrackMeta').get_structure()
        shape = meta.get_value('height'), meta.get_value('width'), -1  # RGBx and label maps have no padding
        frame, labels = (np.frombuffer(b.extract_dup(0, b.get_size()), np.uint8).reshape(shape) for b in (buffer, meta.get_value('mask')))
        print(f"frame {meta.get_value('frame-index')}: {np.count_nonzero(labels == 1)} px of object 1")
pipeline.set_state(Gst.State.NULL)
if error or frame is None:
    sys.exit(f'masks.py: {error.parse_error()[0].message if error else "the video has no frames"}')
picture = np.where(labels == 1, frame, frame[..., :3].mean(-1, keepdims=True) * 0.4).astype(np.uint8)
sample = Gst.Sample.new(Gst.Buffer.new_wrapped(picture.tobytes()), caps, None, None)
png = GstVideo.video_convert_sample(sample, Gst.Caps.from_string('image/png'), 10 * Gst.SECOND).get_buffer()
open(output, 'wb').write(png.extract_dup(0, png.get_size()))
