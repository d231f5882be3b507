#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times the peers of tests/bench/gpu.sh on the same GPU in the same run.

  peer_cuda.py track SIZE SIDE OBJECTS [eager]
                                        times the published predictor under bf16 autocast with a
                                        full memory: eager, then compiled as the published
                                        benchmark does, which takes minutes. With $SAM_PEER_GO it
                                        waits for that file once it is compiled and warm
  peer_cuda.py kernels [CASE]...        times libraries at the cases of check_ops --bench that
                                        they have something for, and copies
The last line is JSON; an earlier line may hold a part of the figures. The published code is
$SAM2_REPO's; what it needs and this Python lacks may lie in the folder $SAM_PEER_SITE."""

import json
import os
import re
import statistics
import sys
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'tools'))
if os.environ.get('SAM_PEER_SITE'):
    sys.path.append(os.environ['SAM_PEER_SITE'])  # last: what is installed comes first
try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as e:
    sys.exit(f'{e.name} is not installed in {sys.executable}')

FULL, EAGER, WARM, COMPILED = 20, 20, 10, 50  # frames: memory fills, timed, compiled, timed


def stand_in_for_pillow():
    """The published code imports it to read image files; here frames are made in memory."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        sys.modules['PIL'] = types.ModuleType('PIL')
        sys.modules['PIL.Image'] = sys.modules['PIL'].Image = types.ModuleType('PIL.Image')


def clip(count, side):
    rng = np.random.default_rng(1)
    still = rng.integers(0, 120, (side, side, 3), dtype=np.uint8)
    frames = np.repeat(still[None], count, 0)
    for t in range(count):
        frames[t, side // 3:side // 2, side // 4 + t:side // 2 + t] = 200
    return frames


def boxes(objects, side):
    pitch = side / objects
    return [[n * pitch + pitch / 4, side / 3, n * pitch + 3 * pitch / 4, side / 3 + pitch / 2]
            for n in range(objects)]


def compile_parts(model):
    """As the published benchmark does: its class copies what a graph would overwrite."""
    from sam2.sam2_video_predictor import SAM2VideoPredictorVOS
    model.__class__ = SAM2VideoPredictorVOS
    model._compile_all_components()
    model.image_encoder.forward = torch.compile(model.image_encoder.forward, mode='max-autotune',
                                                fullgraph=True, dynamic=False)


def start(model, frames, objects, side):
    import published
    state = published.start(model, frames)
    state['images'] = state['images'].cuda()
    state['device'] = state['storage_device'] = torch.device('cuda')
    for n, box in enumerate(boxes(objects, side)):
        model.add_new_points_or_box(state, frame_idx=0, obj_id=n + 1, box=box)
    return state


def wait_for_turn():
    """Compiling may go on beside others, timing may not."""
    sign = os.environ.get('SAM_PEER_GO')
    if sign:
        print('compiled and warm', file=sys.stderr, flush=True)
    while sign and not os.path.exists(sign):
        time.sleep(0.05)


def track(size, side, objects, compiled):
    stand_in_for_pillow()
    import published
    model = published.build(size, side=side).cuda()
    frames = clip(FULL + EAGER + (WARM + COMPILED if compiled else 0), side)
    times, failed = [], None

    def result():
        def middle(first, count):
            some = times[first:first + count]
            return round(statistics.median(some), 3) if len(some) == count else None

        return {'p50_ms': middle(FULL, EAGER), 'failed': failed, 'torch': torch.__version__,
                'compiled_p50_ms': middle(FULL + EAGER + WARM, COMPILED)}

    with torch.inference_mode(), torch.autocast('cuda', torch.bfloat16):
        state = start(model, frames, objects, side)
        torch.cuda.synchronize()
        last = time.perf_counter()
        try:
            for t, _, _ in model.propagate_in_video(state):
                torch.cuda.synchronize()
                times.append(1e3 * (time.perf_counter() - last))
                if t == FULL + EAGER - 1 and compiled:
                    print(json.dumps(result()), flush=True)
                    compile_parts(model)
                if t == FULL + EAGER + WARM - 1 and compiled:
                    wait_for_turn()
                last = time.perf_counter()
        except Exception as e:  # the compiler's, of any kind; what ran before it counts
            failed = (f'{type(e).__name__}: {e}'.splitlines() or ['?'])[0]
    return result()


# ---- libraries, measured as tests/ops/measure.c measures ours

RUNS, CALLS, ROOM = 15, 20, 256 << 20


def seconds(make, size):
    """Of one call: CALLS of them in a graph, each on other buffers, and a cache that holds none of
    them. make() returns a call with buffers of its own; size: their bytes."""
    calls = [make() for _ in range(min(CALLS, ROOM // size + 2))]
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for f in calls[:3]:
            f()
    side.synchronize()
    graph, kept = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for i in range(CALLS):
            kept.append(calls[i % len(calls)]())  # results are buffers, too
            del kept[:-len(calls)]
    times = []
    for _ in range(RUNS + 1):
        torch.zeros(ROOM, dtype=torch.uint8, device='cuda')
        torch.cuda.synchronize()
        began = time.perf_counter()
        graph.replay()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:]) / CALLS


def noise(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device='cuda', dtype=dtype)


def size_of(*shapes):
    return sum(2 * int(np.prod(s)) for s in shapes)


def attention(n, heads, queries, keys, dk, dv):
    """us by library. FlashAttention wants values as wide as keys."""
    us = {}
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION,
                    SDPBackend.EFFICIENT_ATTENTION):
        wide = max(dk, dv) if backend == SDPBackend.FLASH_ATTENTION else dv
        shapes = [(n, heads, queries, dk), (n, heads, keys, dk), (n, heads, keys, wide)]

        def make():
            q, k, v = (noise(*s) for s in shapes)
            return lambda: F.scaled_dot_product_attention(q, k, v)

        name = backend.name.split('_')[0].lower()
        try:
            with sdpa_kernel(backend):
                us[name] = 1e6 * seconds(make, size_of(*shapes))
        except RuntimeError as e:
            us[name + ' failed'] = (str(e).splitlines() or ['?'])[0]
    return us


def product(rows, width, out):
    """us of cuBLAS or cuBLASLt, whichever the framework takes: with bias, and plain."""
    def with_bias():
        a, weight, bias = noise(rows, width), noise(out, width), noise(out)
        return lambda: F.linear(a, weight, bias)

    def plain():
        a, weight = noise(rows, width), noise(out, width).t()
        return lambda: torch.mm(a, weight)

    size = size_of((rows, width), (out, width), (rows, out))
    return {'cublas with bias': 1e6 * seconds(with_bias, size), 'cublas': 1e6 * seconds(plain, size)}


def conv(height, width, channels, out, kernel):
    """us of cuDNN."""
    stride = {7: 4, 3: 2}.get(kernel, 1)  # as the models have them
    last = torch.channels_last

    def make():
        a = noise(1, channels, height, width).to(memory_format=last)
        weight = noise(out, channels, kernel, kernel).to(memory_format=last)
        bias = noise(out)
        return lambda: F.conv2d(a, weight, bias, stride, kernel // 2)

    return {'cudnn': 1e6 * seconds(make, size_of((height, width, channels), (height, width, out)))}


def norm(rows, channels):
    gamma, beta = noise(channels, dtype=torch.float32), noise(channels, dtype=torch.float32)

    def make():
        a = noise(rows, channels, dtype=torch.float32)
        return lambda: F.layer_norm(a, (channels,), gamma, beta)

    return {'torch': 1e6 * seconds(make, 4 * size_of((rows, channels)))}


def window(height, width, heads, dim, side, pool):
    """Windows as a batch, whole ones only: the library pads none."""
    if not side:
        return attention(1, heads, height * width, height * width, dim, dim)
    number = -(-height // side) * -(-width // side)
    return attention(number, heads, side * side // (4 if pool else 1), side * side, dim, dim)


CASES = [  # of check_ops --bench
    (r'attention_bf16_(\d+)x(\d+)_h(\d+)_(\d+)_(\d+)', lambda q, k, h, a, b: attention(1, h, q, k, a, b)),
    (r'linear_bf16_(\d+)x(\d+)_to_(\d+)', product),
    (r'linear_back_(\d+)x(\d+)_to_(\d+)', product),
    (r'conv_bf16_(\d+)x(\d+)x(\d+)_to_(\d+)_k(\d+)', conv),
    (r'layernorm_f32_(\d+)x(\d+)', norm),
    (r'window_attention_bf16_(\d+)x(\d+)_h(\d+)_(\d+)_w(\d+)', lambda *a: window(*a, False)),
    (r'window_attention_bf16_(\d+)x(\d+)_h(\d+)_(\d+)_w(\d+)_pool', lambda *a: window(*a, True)),
]


def copies():
    """GB/s of copies, bytes read and written together: of 32 MiB, and of 512."""
    rates = {}
    for mib in (32, 512):
        def make():
            big = torch.empty(mib << 19, device='cuda', dtype=torch.uint8)
            other = torch.empty_like(big)
            return lambda: other.copy_(big)

        rates[str(mib)] = (mib << 20) * 1e-9 / seconds(make, mib << 20)
    return rates


def kernels(names):
    """case -> us by library; printed after each, as the next may end the process."""
    out = {'torch': torch.__version__, 'copies': copies(), 'cases': {}}
    for name in names:
        for pattern, f in CASES:
            m = re.fullmatch(pattern, name)
            if not m:
                continue
            try:
                out['cases'][name] = f(*map(int, m.groups()))
            except RuntimeError as e:
                out['cases'][name] = {'failed': (str(e).splitlines() or ['?'])[0]}
            print(json.dumps(out), flush=True)
    return out


def main():
    args = sys.argv[1:]
    if not torch.cuda.is_available():
        sys.exit('torch sees no GPU')
    if len(args) in (4, 5) and args[0] == 'track':
        print(json.dumps(track(args[1], int(args[2]), int(args[3]), args[4:] != ['eager'])))
    elif args[:1] == ['kernels']:
        print(json.dumps(kernels(args[1:])))
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    main()
