#!/usr/bin/env python3
"""The peers of tests/bench/cpu.sh, timed per frame with a full memory on this machine.

  peer.py make DIR                  model.pt, frames.safetensors, scenarios.json (SAM 2.1 tiny)
  peer.py published|transformers fp32|bf16|bf16-compiled DIR
  peer.py openvino fp32|bf16 DIR    image encoder and memory attention alone

Each prints one line of JSON; times in ms, the median over frames 16 and on (fewer frames never
fill the memory). Needs torch; SAM2_REPO for the published code."""

import contextlib
import json
import os
import statistics
import sys
import time

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', '..', 'tools'))
import published

FULL = 16  # the first frame with seven maps and sixteen pointers
BOX = [330.0, 330.0, 700.0, 700.0]


def clip(count=19, side=1024):
    """A textured square that moves over a textured ground."""
    rng = np.random.default_rng(1)
    ground = rng.integers(0, 120, (side // 16, side // 16, 3), dtype=np.uint8)
    thing = rng.integers(130, 255, (24, 24, 3), dtype=np.uint8)
    ground = ground.repeat(16, 0).repeat(16, 1)
    thing = thing.repeat(16, 0).repeat(16, 1)
    frames = np.repeat(ground[None], count, 0)
    for t in range(count):
        frames[t, 340:340 + 384, 340 + 4 * t:340 + 4 * t + 384] = thing
    return frames


def make(folder):
    from safetensors.numpy import save_file
    os.makedirs(folder, exist_ok=True)
    model = published.build('tiny')
    published.save_pt(model, os.path.join(folder, 'model.pt'))
    save_file({'frames': clip()}, os.path.join(folder, 'frames.safetensors'))
    script = {'image_size': 1024, 'T': 19, 'scenarios': {'box': [{'frame': 0, 'obj': 1, 'box': BOX}]}}
    with open(os.path.join(folder, 'scenarios.json'), 'w') as f:
        json.dump(script, f)
    return {}


def steady(times):
    return {'p50_ms': statistics.median(times[FULL:]), 'frames': len(times) - FULL}


def autocast(mode):
    return torch.autocast('cpu', torch.bfloat16) if mode != 'fp32' else contextlib.nullcontext()


def load_published(folder):
    model = published.build('tiny')
    state = torch.load(os.path.join(folder, 'model.pt'), weights_only=True)['model']
    model.load_state_dict(state)
    return model


def run_published(mode, folder):
    model = load_published(folder)
    if mode == 'bf16-compiled':
        model.image_encoder = torch.compile(model.image_encoder)
        model.memory_attention = torch.compile(model.memory_attention, dynamic=False)
        model.memory_encoder = torch.compile(model.memory_encoder)
    times = []
    with torch.inference_mode(), autocast(mode):
        state = published.start(model, clip())
        model.add_new_points_or_box(state, frame_idx=0, obj_id=1, box=BOX)
        last = time.perf_counter()
        for _ in model.propagate_in_video(state):
            now = time.perf_counter()
            times.append(1e3 * (now - last))
            last = now
    return steady(times)


def run_transformers(mode, folder):
    from transformers import Sam2VideoConfig, Sam2VideoModel
    from transformers.models.sam2_video.modeling_sam2_video import Sam2VideoInferenceSession
    torch.manual_seed(1)
    dtype = torch.float32 if mode == 'fp32' else torch.bfloat16
    model = Sam2VideoModel(Sam2VideoConfig()).eval().to(dtype)
    frames = torch.from_numpy(clip()).permute(0, 3, 1, 2).float() / 255
    frames = ((frames - published.MEAN) / published.STD).to(dtype)
    session = Sam2VideoInferenceSession(video=frames, video_height=1024, video_width=1024, dtype=dtype)
    index = session.obj_id_to_idx(1)
    points = {'point_coords': torch.tensor(BOX).reshape(1, 1, 2, 2).to(dtype),
              'point_labels': torch.tensor([[[2, 3]]], dtype=torch.int32)}
    session.add_point_inputs(index, 0, points)
    session.obj_with_new_inputs = [1]
    times = []
    with torch.inference_mode():
        for t in range(len(frames)):
            last = time.perf_counter()
            model(inference_session=session, frame_idx=t)
            times.append(1e3 * (time.perf_counter() - last))
    return steady(times)


class Encoder(torch.nn.Module):
    """The published image encoder with the decoder's two high-resolution convolutions."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        out = self.model.forward_image(image)['backbone_fpn']
        return out[0], out[1], out[2]


class Attention(torch.nn.Module):
    """The published memory attention over a full memory: 7 maps and 16 pointers."""

    def __init__(self, model):
        super().__init__()
        self.attention = model.memory_attention

    def forward(self, curr, pos, memory, memory_pos):
        return self.attention(curr=[curr], curr_pos=[pos], memory=memory, memory_pos=memory_pos,
                              num_obj_ptr_tokens=64)


def run_openvino(mode, folder):
    import openvino as ov
    model = load_published(folder)
    core = ov.Core()
    hint = {'INFERENCE_PRECISION_HINT': 'f32' if mode == 'fp32' else 'bf16', 'PERFORMANCE_HINT': 'LATENCY'}
    parts = {
        'encode': (Encoder(model), (torch.randn(1, 3, 1024, 1024),)),
        'attend': (Attention(model), (torch.randn(4096, 1, 256), torch.randn(4096, 1, 256),
                                      torch.randn(28736, 1, 64), torch.randn(28736, 1, 64))),
    }
    result = {}
    for name, (module, inputs) in parts.items():
        with torch.no_grad():
            compiled = core.compile_model(ov.convert_model(module, example_input=inputs), 'CPU', hint)
        request = compiled.create_infer_request()
        times = []
        for _ in range(5):
            last = time.perf_counter()
            request.infer([x.numpy() for x in inputs])
            times.append(1e3 * (time.perf_counter() - last))
        result[name + '_ms'] = statistics.median(times[1:])
    return result


def main():
    runs = {'published': run_published, 'transformers': run_transformers, 'openvino': run_openvino}
    args = sys.argv[1:]
    if len(args) == 2 and args[0] == 'make':
        print(json.dumps(make(args[1])))
    elif len(args) == 3 and args[0] in runs:
        print(json.dumps({'peer': args[0], 'mode': args[1], **runs[args[0]](args[1], args[2])}))
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
