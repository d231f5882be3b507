#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the PyTorch peers of tests/bench/cpu.sh per frame with a full memory on this machine.

  peer.py make DIR FRAMES [SIZE SIDE]  writes model.pt, frames.safetensors, scenarios.json of a size that
                                       tools/published.py knows (tiny, at 1024 px)
  peer.py published|transformers fp32|bf16 DIR
                                       runs eager, then with its large parts compiled

Both peers load DIR/model.pt and track DIR/frames.safetensors from the box of the scenario, on all
processors; transformers runs tiny at 1024 px alone. Prints one line of JSON: the median times of the
eager and of the compiled frames in ms, the number of keys of memory attention, and the smallest IoU
of the masks with the engine's, which are in DIR/out-<mode>.safetensors. FRAMES 0 uses as many frames as needed; with fewer, memory is not full."""

import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(HERE, '..', '..', 'tools')
sys.path[:0] = [TOOLS, os.path.join(TOOLS, 'train')]
try:
    import numpy as np
    import torch
    import torch._inductor.config as inductor
    from safetensors.torch import load_file, save_file

    import published
except ImportError as e:
    sys.exit(f'{e.name} is not installed in {sys.executable}')

# 16 frames fill the memory (seven maps, sixteen pointers) and three are timed; then the large parts are
# compiled, two frames warm them up and three are timed.
FULL, EAGER, WARM, COMPILED = 16, 3, 2, 3
COUNT = FULL + EAGER + WARM + COMPILED
SIDE = 1024
BOX = [330.0, 330.0, 700.0, 700.0]  # of a frame of SIDE


def clip(count, side):
    """A textured square that moves over a textured ground, u8 (count, side, side, 3)."""
    rng = np.random.default_rng(1)
    ground = rng.integers(0, 120, (SIDE // 16, SIDE // 16, 3), dtype=np.uint8)
    thing = rng.integers(130, 255, (24, 24, 3), dtype=np.uint8)
    cell, at, size = side // 64, 340 * side // SIDE, 384 * side // SIDE
    ground = ground.repeat(cell, 0).repeat(cell, 1)
    thing = thing.repeat(cell, 0).repeat(cell, 1)
    frames = np.repeat(ground[None], count, 0)
    for t in range(count):
        left = at + 4 * t * side // SIDE
        frames[t, at:at + size, left:left + size] = thing
    return frames


def box_of(side):
    return [x * side / SIDE for x in BOX]


def make(folder, count, size='tiny', side=SIDE):
    published.save_pt(published.build(size, side=side), os.path.join(folder, 'model.pt'))
    save_file({'frames': torch.from_numpy(clip(count, side))}, os.path.join(folder, 'frames.safetensors'))
    script = {'image_size': side, 'size': size, 'T': count,
              'scenarios': {'box': [{'frame': 0, 'obj': 1, 'box': box_of(side)}]}}
    with open(os.path.join(folder, 'scenarios.json'), 'w') as f:
        json.dump(script, f)
    return {'frames': count}


def weights(folder):
    return torch.load(os.path.join(folder, 'model.pt'), weights_only=True)['model']


def model_of(folder):
    """Its size and side, as they were made."""
    with open(os.path.join(folder, 'scenarios.json')) as f:
        script = json.load(f)
    return script['size'], script['image_size']


def load_frames(folder):
    return load_file(os.path.join(folder, 'frames.safetensors'))['frames'].numpy()


class Published:
    """The published video predictor; bf16 is autocast, as its authors run it."""

    def __init__(self, mode, folder):
        size, self.side = model_of(folder)
        self.model = published.build(size, side=self.side)
        self.model.load_state_dict(weights(folder))
        self.parts = [self.model.image_encoder, self.model.memory_attention, self.model.memory_encoder]
        self.autocast = torch.autocast('cpu', torch.bfloat16, enabled=mode == 'bf16')
        self.frames = load_frames(folder)

    def track(self):
        """The mask of each frame as it comes, bool (side / 4, side / 4)."""
        with self.autocast:
            state = published.start(self.model, self.frames)
            self.model.add_new_points_or_box(state, frame_idx=0, obj_id=1, box=box_of(self.side))
            for t, _, _ in self.model.propagate_in_video(state):
                kept = state['output_dict_per_obj'][0]
                out = kept['cond_frame_outputs'].get(t) or kept['non_cond_frame_outputs'][t]
                yield out['pred_masks'][0, 0] > 0


class Transformers:
    """Hugging Face's Sam2VideoModel with the same weights; bf16 is the model in that type."""

    def __init__(self, mode, folder):
        try:
            import model as naming
            from transformers import Sam2VideoConfig, Sam2VideoModel
            from transformers.models.sam2_video.modeling_sam2_video import Sam2VideoInferenceSession
        except ImportError as e:
            sys.exit(f'{e.name} is not installed in {sys.executable}, or has no SAM 2 for video')
        self.dtype = torch.float32 if mode == 'fp32' else torch.bfloat16
        self.model = Sam2VideoModel(Sam2VideoConfig()).eval()
        naming.load_state(self.model, weights(folder), 'model.pt')
        self.model.to(self.dtype)
        self.parts = [self.model.vision_encoder, self.model.memory_attention, self.model.memory_encoder]
        frames = torch.from_numpy(load_frames(folder)).permute(0, 3, 1, 2).float() / 255
        self.session = Sam2VideoInferenceSession(
            video=(frames - published.MEAN) / published.STD, video_height=SIDE, video_width=SIDE, dtype=self.dtype)

    def track(self):
        index = self.session.obj_id_to_idx(1)
        # The published predictor takes a box as two points.
        self.session.add_point_inputs(index, 0, {
            'point_coords': torch.tensor(BOX).reshape(1, 1, 2, 2).to(self.dtype),
            'point_labels': torch.tensor([[[2, 3]]], dtype=torch.int32)})
        self.session.obj_with_new_inputs = [1]
        for t in range(self.session.num_frames):
            yield self.model(inference_session=self.session, frame_idx=t).pred_masks[0, 0] > 0


def iou(a, b):
    union = int((a | b).sum())
    return int((a & b).sum()) / union if union else 1.0


def median(times, first, count):
    kept = times[first:first + count]
    return round(statistics.median(kept), 1) if kept else None


def time_frames(peer, count, ours):
    """Eager frames, then compiled ones where there are enough."""
    keys, times, agree, failed = 0, [], [], None
    first = max(1, count - (COUNT - FULL))

    def note_keys(_, args, named):
        nonlocal keys
        keys = len(named['memory'])

    peer.parts[1].register_forward_pre_hook(note_keys, with_kwargs=True)
    with torch.no_grad():
        last = time.perf_counter()
        try:
            for t, mask in enumerate(peer.track()):
                times.append(1e3 * (time.perf_counter() - last))
                ref = ours.get(f'obj1/frame{t:03}/low_res')
                if ref is not None:
                    agree.append(iou(mask, ref > 0))
                if t == first + EAGER - 1:
                    # Only now: memory grows no more, so each part is compiled once, for its shapes.
                    inductor.freezing = True  # weights become constants, packed for the processor
                    for part in peer.parts:
                        part.forward = torch.compile(part.forward, dynamic=False)
                last = time.perf_counter()
        except Exception as e:  # the compiler's, of any kind; what ran before it counts
            failed = f'{type(e).__name__}: {e}'.splitlines()[0]
    if not times:
        sys.exit(failed or 'no frame was tracked')
    return {'p50_ms': median(times, first, EAGER), 'compiled_p50_ms': median(times, first + EAGER + WARM, COMPILED),
            'compile_ms': median(times, first + EAGER, 1), 'keys': keys, 'failed': failed,
            'iou_least': round(min(agree), 5) if agree else None}


def run(kind, mode, folder):
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    ours = os.path.join(folder, f'out-{mode}.safetensors')
    peer = kind(mode, folder)
    return time_frames(peer, len(load_frames(folder)), load_file(ours) if os.path.exists(ours) else {})


def main():
    kinds = {'published': Published, 'transformers': Transformers}
    args = sys.argv[1:]
    if len(args) in (3, 5) and args[0] == 'make':
        print(json.dumps(make(args[1], int(args[2]) or COUNT, *args[3:4], *map(int, args[4:]))))
    elif len(args) == 3 and args[0] in kinds and args[1] in ('fp32', 'bf16'):
        print(json.dumps(run(kinds[args[0]], args[1], args[2])))
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
