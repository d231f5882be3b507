#!/usr/bin/env python3
"""Times the peers of tests/bench/gpu.sh on the same GPU in the same run.

  peer_cuda.py make SIZE SIDE FILE      writes SAM 2.1 of that size with random weights in Meta's
                                        layout, with its configuration beside it
  peer_cuda.py track SIZE SIDE OBJECTS [eager]
                                        times the published predictor under bf16 autocast with a
                                        full memory: eager, then compiled as the published
                                        benchmark does, which takes minutes
  peer_cuda.py kernels [RxI_to_O]...    times libraries: attention, copies, and products of R rows
                                        of I numbers to O
The last line is JSON; an earlier line may hold a part of the figures."""

import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'tools'))
try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError as e:
    sys.exit(f'{e.name} is not installed in {sys.executable}')

# What shapes cannot tell, for a model at another size than the published one.
TRUNK = {
    'tiny': {'num_heads': 1, 'global_att_blocks': [5, 7, 9], 'window_spec': [8, 4, 14, 7]},
    'base+': {'num_heads': 2, 'global_att_blocks': [12, 16, 20], 'window_spec': [8, 4, 14, 7]},
    'large': {'num_heads': 2, 'global_att_blocks': [23, 33, 43], 'window_spec': [8, 4, 16, 8]},
}
FULL, EAGER, WARM, COMPILED = 20, 20, 10, 50  # frames: memory fills, timed, compiled, timed


def make(size, side, path):
    import published
    model = published.build(size, side=side)
    published.save_pt(model, path)
    if side != 1024:  # shapes cannot tell
        with open(path[:-3] + '.json', 'w') as f:
            json.dump({'image_size': side, 'trunk': {'kind': 'hiera', **TRUNK[size]}}, f)
    return {'parameters': sum(p.numel() for p in model.parameters())}


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


def track(size, side, objects, compiled):
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
                last = time.perf_counter()
        except Exception as e:  # the compiler's, of any kind; what ran before it counts
            failed = (f'{type(e).__name__}: {e}'.splitlines() or ['?'])[0]
    return result()


def seconds(f, runs=20):
    """Median of single calls, each waited for, as check_ops measures ours."""
    for _ in range(3):
        f()
    out = []
    for _ in range(runs):
        torch.cuda.synchronize()
        start = time.perf_counter()
        f()
        torch.cuda.synchronize()
        out.append(time.perf_counter() - start)
    return statistics.median(out)


def attention():
    """Flops per second of each library at the sizes of memory attention, all 256 wide."""
    q = torch.randn(1, 1, 4096, 256, device='cuda', dtype=torch.bfloat16)
    k, v = (torch.randn(1, 1, 28736, 256, device='cuda', dtype=torch.bfloat16) for _ in range(2))
    rates = {}
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION,
                    SDPBackend.EFFICIENT_ATTENTION):
        try:
            with sdpa_kernel(backend):
                s = seconds(lambda: F.scaled_dot_product_attention(q, k, v))
            rates[backend.name] = 4 * 4096 * 28736 * 256 / s * 1e-9
        except RuntimeError as e:
            rates[backend.name + ' failed'] = (str(e).splitlines() or ['?'])[0]
    return rates


def product(shape):
    """Gflop/s of the library for rows x in to out, with bias."""
    rows, sizes = shape.split('x')
    width, out = sizes.split('_to_')
    a = torch.randn(int(rows), int(width), device='cuda', dtype=torch.bfloat16)
    weight = torch.randn(int(out), int(width), device='cuda', dtype=torch.bfloat16)
    bias = torch.randn(int(out), device='cuda', dtype=torch.bfloat16)
    return 2e-9 * a.numel() * int(out) / seconds(lambda: F.linear(a, weight, bias))


def copies():
    """GB/s of copies, bytes read and written together: of 32 MiB, and of 512."""
    rates = {}
    for mib in (32, 512):
        big = torch.empty(mib << 19, device='cuda', dtype=torch.uint8)
        other = torch.empty_like(big)
        rates[str(mib)] = 2e-9 * big.numel() / seconds(lambda: other.copy_(big))
    return rates


def kernels(shapes):
    rates = attention()
    return {'attention': rates, 'products': {s: product(s) for s in shapes}, 'copies': copies(),
            'attention_gflops': max((r for r in rates.values() if isinstance(r, float)),
                                    default=None), 'torch': torch.__version__}


def main():
    args = sys.argv[1:]
    if len(args) == 4 and args[0] == 'make':
        print(json.dumps(make(args[1], int(args[2]), args[3])))
        return
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
