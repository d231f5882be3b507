#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Estimates what a frame of the CUDA backend costs, and what it must cost, without a GPU.

roofline.py [--device h100|a100] [--model NAME --objects N] [--scale KERNEL=FACTOR]...
            [--plan PROGRAM] [--kernels FILE] [--output FILE [--step TEXT]] [--check FILE] [--launches]

PROGRAM is build/tests/emu/frame_plan unless given: the backend takes a tracker through frames on the emulated
device, where nothing runs; it tells each launch, and what the operation needs of bytes and FLOP.
Cycles of a kernel's inner step come from the tables of tools/sass_model.py in FILE (docs/KERNELS.md).

The estimate of a launch is the largest of two, and the node of the graph: the cycles of its blocks,
in as many waves as they need, and its bytes at the memory's bandwidth. The floor is what no kernel
could be faster than: FLOP at the device's rate or bytes at its bandwidth, whichever is more, of every
operation. Frames are of 1024 px, in device memory, with full memory of each object; the products in
BF16 are cuBLASLt's where the backend asks for it.

Without --model: all of CASES. The last line is JSON, in ms. --output writes a section of FILE, of
the other device, too, if FILE has its kernels (sass_model.py --arch 80 --output FILE), and with --step adds a line to its history; --check: exit status 1 if FILE's section is of other figures.
--scale multiplies the cycles of kernels whose names begin so, to see what a change is worth.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import blank_model
import kernel_table as table
import sass_model

# Of a device: FLOP/s of BF16 factors with F32 sums, dense, and of F32 units; bytes/s of its memory.
# NVIDIA's data sheets of the H100 SXM and of the A100 SXM 80 GB. Multiprocessors and clock are
# sass_model's.
Device = collections.namedtuple('Device', 'name arch sm matrix float bandwidth')
DEVICES = {'h100': Device('H100 SXM', '90a', 90, 989.4e12, 66.9e12, 3.35e12),
           'a100': Device('A100 SXM', '80', 80, 312e12, 19.5e12, 2.039e12)}
# Assumed until a device has been timed:
NODE_US = 1.0         # from the end of a node of a graph to the start of the next that depends on it
EDGE_CYCLES = 600     # of a kernel with a loop, outside of it: two trips to memory, and indices
MEMORY_SHARE = 0.9    # of the bandwidth that a kernel gets who does nothing but copy
# Of cuBLASLt: what a block makes of the result, and the share of the matrix rate that it reaches with
# all multiprocessors busy; it takes what is fastest.
LIBRARY = [(128, 256, 0.70), (256, 128, 0.70), (128, 128, 0.65), (128, 64, 0.55), (64, 128, 0.55),
           (64, 64, 0.40)]
# What a step of a kernel's loop takes of the numbers that are summed over (for attention: keys).
STEPS = [(r'attend_exact_kernel', 32), (r'attend_few_queries_kernel', 128),
         (r'attend_few_keys_kernel', 1), (r'gemm_kernel', 32), (r'gemm_exact_kernel<32,4>', 64),
         (r'gemm_exact_kernel', 16),
         (r'linear_skinny_kernel', 256), (r'matmul_kernel', 64),
         (r'select_mask_kernel<4>', 32768)]
# Queries of a block, of kernels that may cut the keys into parts.
QUERIES = [(r'attend_exact_kernel', 16), (r'attend_few_queries_kernel<16>', 4),
           (r'attend_few_queries_kernel<32>', 2)]
# Kernels whose last block of a tile merges the parts that the keys are cut into: queries of a tile,
# channels. It does so up to MOST_MERGED bytes: a fence, the count and the reads are a trip to memory
# each, and L2 gives a multiprocessor 64 bytes a cycle.
MERGES = [(r'attend_wgmma_kernel<wgmma_shape<(?:256|64),64,', 128, 64),
          (r'attend_few_queries_kernel<16>', 4, 16)]
MOST_MERGED, MERGE_TRIPS_CYCLES, MERGE_RATE = 128 << 10, 900, 64
# Kernels that norm the rows of a block first, by 32 of which they are named: L2 gives them, four bytes
# a number. What becomes of the sums of 32 rows by 128 columns: some 15 instructions for each of the 8
# pairs of a thread, of which a scheduler has two warps.
NORMING = r'norm_gemm_kernel<(\d+),'
NORM_COLUMNS, STORE_CYCLES = 128, 2 * 8 * 15
# Kernels whose last block of some rows does something with them behind a product: rows of a block,
# which of the grid's axes is theirs (None: each block does it with its own part), bytes of a number from
# L2 and to it, and some instructions of a thread. A norm reads what the blocks have stored as a merge
# reads its parts; a block that is alone in its rows only reads them again. A sum of maps reads and
# writes four numbers of the larger one beside.
BEHIND = [(r'gemm_kernel<2,2,2,4,\w+,gemm_normed<false>>', 64, 0, 4, 12),
          (r'gemm_kernel<2,2,2,4,\w+,gemm_normed<true>>', 64, 0, 4, 40),
          (r'linear_skinny_kernel<float4,gemm_normed<false>>', 8, 1, 4, 12),
          (r'gemm_kernel<2,2,2,4,\w+,gemm_spread>', 64, None, 36, 20)]
CASES = [('tiny', 1), ('base+', 1), ('large', 1), ('base+', 16)]
STAGES = ['frame', 'encode', 'attend', 'decode', 'remember']
BEGIN = '## Roofline'

Launch = collections.namedtuple('Launch', 'stage op kernel grid threads flop bytes exact rows k shared',
                                defaults=[0])


# ---- plans

def plan_of(program, model, objects, device):
    """The lines of the last frame, those of the graphs that it replays in their places."""
    sms = sass_model.DEVICE[device.arch][0]
    with tempfile.TemporaryDirectory() as tmp:
        weights, out = pathlib.Path(tmp) / 'model.safetensors', pathlib.Path(tmp) / 'plan'
        blank_model.write(weights, blank_model.shapes(*blank_model.SIZES[model]))
        table.run([program, weights, str(objects)],
                  env={**os.environ, 'EMU_PLAN': str(out), 'EMU_MEMORY': str(80 << 30),
                       'EMU_SMS': str(sms), 'EMU_SM': str(device.sm)})
        return frame_of(out.read_text().splitlines())


def frame_of(lines):
    """(lines of the last frame, nodes of its graphs)"""
    graphs, counted, nodes, current = {}, {}, 0, None
    frames = [[]]
    for line in lines:
        word, _, rest = line.partition(' ')
        if word == 'capture':
            current = rest
            graphs[current] = []
        elif word == 'captured':
            counted[current] = int(rest)
            current = None
        elif current is not None:
            graphs[current].append(line)
        elif word == 'frame':
            frames.append([])
        else:
            frames[-1].append(line)
    out = []
    for line in frames[-2]:  # the last one is what comes behind the last frame
        if line.startswith('replay '):
            out += graphs[line.split()[1]] + ['stage frame']
            nodes += counted[line.split()[1]]
        else:
            out.append(line)
    return out, nodes


def launches_of(lines):
    """Of an operation's launches the first carries its FLOP and bytes."""
    stage, op, left, out = 'frame', None, None, []
    for line in lines:
        word, *rest = line.split(' ')
        if word == 'stage':
            stage = rest[0]
        elif word == 'op':
            op, left = rest, rest
        elif word in ('launch', 'product'):
            name, exact, flop, read, written, rows, k = (
                left or [op[0], op[1], 0, 0, 0, op[5], op[6]])
            left = None
            if word == 'launch':
                kernel, threads, shared = table.tidy(' '.join(rest[5:])), int(rest[3]), int(rest[4])
                grid = [int(x) for x in rest[:3]]
            else:
                kernel, threads, shared = 'cuBLASLt', 0, 0  # its "grid": the result
                grid = [int(rest[1]), int(rest[2]), int(rest[0])]
            out.append(Launch(stage, name, kernel, grid, threads, float(flop),
                              float(read) + float(written), exact == '1', int(rows), int(k), shared))
    return out


# ---- costs

def kernels_of(path, arch):
    """kernel -> its figures in the table of sass_model.py."""
    text = pathlib.Path(path).read_text()
    number = lambda cell: float(cell) if re.fullmatch(r'[\d.]+', cell) else 0.0
    return {row[0].strip('`'): dict(zip(sass_model.HEAD[1:], map(number, row[1:])))
            for row in sass_model.read_rows(text, arch)}


def turns(launch):
    """How often a block's loop turns; 0: the kernel has none."""
    m = re.match(r'attend_kernel<attend_(?:kept_)?shape<\d+,\d+,(\d+),(\d+),(\d+)>>', launch.kernel)
    if m:
        warps, high, keys = (int(x) for x in m.groups())
        return -(-launch.k // (keys * splits_of(launch, 16 * warps * high)))
    m = re.match(r'attend_wgmma_kernel<wgmma_shape<\d+,\d+,(\d+)>>', launch.kernel)
    if m:  # 128 queries; two steps of so many keys a turn
        return -(-launch.k // (int(m[1]) * splits_of(launch, 128))) / 2
    if re.match(NORMING, launch.kernel):
        return norm_tiles(launch) * -(-launch.k // 32)
    for pattern, step in STEPS:
        if re.match(pattern, launch.kernel):
            rows = next((n for begin, n in QUERIES if re.match(begin, launch.kernel)), 0)
            return max(1, -(-launch.k // (step * (splits_of(launch, rows) if rows else 1))))
    return 0


def norm_tiles(launch):
    """How many tiles of columns a block makes of its rows; of several products, on the average."""
    rows = 32 * int(re.match(NORMING, launch.kernel)[1])
    tiles = launch.flop / (2 * rows * NORM_COLUMNS * launch.k) / math.prod(launch.grid)
    return math.ceil(tiles) if launch.grid[2] == 1 else tiles


def norm_cycles(launch, sms):
    """Of a multiprocessor: to read the rows, and to store what becomes of the sums; 0: it norms none."""
    m = re.match(NORMING, launch.kernel)
    if not m:
        return 0
    mine, high = -(-math.prod(launch.grid) // sms), int(m[1])
    return mine * (32 * high * launch.k * 4 / MERGE_RATE + norm_tiles(launch) * high * STORE_CYCLES)


def splits_of(launch, rows):
    """Into how many parts the keys are cut, `rows` queries to a block."""
    return max(1, launch.grid[0] // -(-launch.rows // rows))


def merge_cycles(launch):
    """Of the last block of a tile; 0: the parts are merged by a launch, or there is one."""
    for pattern, rows, channels in MERGES:
        if not re.match(pattern, launch.kernel):
            continue
        parts = splits_of(launch, rows)
        size = rows * channels * 4 * parts
        if parts > 1 and size <= MOST_MERGED:
            return MERGE_TRIPS_CYCLES + size / MERGE_RATE
    return 0


def behind_cycles(launch, fact, sms):
    """Of the blocks of a multiprocessor that do more: those that run side by side wait together."""
    for pattern, rows, axis, size, instructions in BEHIND:
        if not re.match(pattern, launch.kernel):
            continue
        own = axis is None
        across = launch.grid[1 if own else 1 - axis]
        mine = -(-(math.prod(launch.grid) if own else launch.grid[axis]) // sms)
        columns = launch.flop / (2 * launch.rows * launch.k) / (across if own else 1)
        waves = -(-mine // (fact['blocks'] or 1))
        return (waves * MERGE_TRIPS_CYCLES / (3 if own or across == 1 else 1)
                + mine * rows * columns * max(size / MERGE_RATE, instructions / launch.threads))
    return 0


def blocks_cycles(launch, fact, sms, times):
    """Cycles of the multiprocessor with most blocks: as many blocks as fit run side by side, by
    what one warp waits for; in turn, by what all of them issue."""
    mine = -(-math.prod(launch.grid) // sms)
    waves = -(-mine // (fact['blocks'] or 1))
    return times * max(waves * fact['cycles'],
                       mine * max(sass_model.multiplying(launch.kernel, launch.threads) / 128, 1)
                       * fact['cycles, all warps'])


def fact_of(launch, facts, device):
    """A kernel's figures; of one whose rows fill shared memory, blocks by those of this launch."""
    fact = facts[launch.kernel]
    if not re.match(NORMING, launch.kernel):
        return fact
    return {**fact, 'blocks': sass_model.blocks_fit(device.arch, int(fact['registers']), launch.shared,
                                                    launch.threads)}


def estimate(launch, facts, device, scale):
    """Microseconds of a launch without its node."""
    sms, ghz = sass_model.DEVICE[device.arch][:2]
    memory = launch.bytes / (device.bandwidth * MEMORY_SHARE) * 1e6
    if launch.kernel == 'cuBLASLt':
        n, m, batches = launch.grid
        waves = [(-(-(-(-n // width) * -(-m // height) * batches) // sms), width * height, share)
                 for width, height, share in LIBRARY]
        us = min(count * sms * 2 * area * launch.k / (device.matrix * share) * 1e6
                 for count, area, share in waves)
        return max(memory, us + EDGE_CYCLES / ghz / 1000)
    times, fact = turns(launch), fact_of(launch, facts, device)
    cycles = blocks_cycles(launch, fact, sms, times or 1)
    for beginning, factor in scale.items():
        cycles *= factor if launch.kernel.startswith(beginning) else 1
    edge = EDGE_CYCLES * (times > 0) + merge_cycles(launch) + norm_cycles(launch, sms) \
        + behind_cycles(launch, fact, sms)
    return max(memory, (cycles + edge) / ghz / 1000)


def floor(launch, device):
    rate = device.float if launch.exact else device.matrix
    return max(launch.flop / rate, launch.bytes / device.bandwidth) * 1e6


def cost(plan, facts, device, scale):
    """Of a frame: [(launch, microseconds with its node, of the floor)], nodes of its graphs."""
    lines, nodes = plan
    out = [(one, estimate(one, facts, device, scale) + NODE_US, floor(one, device))
           for one in launches_of(lines)]
    copies = sum(line.startswith(('copy ', 'set ')) for line in lines)
    return out, nodes, copies


def total(costs):
    return sum(us for _, us, _ in costs) / 1000


# ---- what is written

def summary(results):
    """The last line, of one device."""
    ms = {case: total(costs) for case, (costs, _, _) in results.items()}
    return {'tiny_ms': round(ms['tiny', 1], 3), 'base_plus_ms': round(ms['base+', 1], 3),
            'large_ms': round(ms['large', 1], 3), 'base_plus_16_ms': round(ms['base+', 16], 3),
            'object_ms': round((ms['base+', 16] - ms['base+', 1]) / 15, 3),
            'graph_nodes': results['tiny', 1][1]}


def grid(head, rows):
    return '\n'.join(['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
                     + ['| ' + ' | '.join(map(str, row)) + ' |' for row in rows])


def stage_rows(device, results):
    rows = []
    for (model, objects), (costs, nodes, _) in results.items():
        for stage in STAGES:
            mine = [c for c in costs if c[0].stage == stage]
            rows.append([device.name, model, objects, stage, len(mine),
                         f'{sum(us for _, us, _ in mine) / 1000:.3f}',
                         f'{sum(f for _, _, f in mine) / 1000:.3f}',
                         f'{len(mine) * NODE_US / 1000:.3f}'])
        rows.append([device.name, model, objects, '**all**', len(costs), f'**{total(costs):.2f}**',
                     f'**{sum(f for _, _, f in costs) / 1000:.2f}**',
                     f'**{len(costs) * NODE_US / 1000:.2f}**'])
    return rows


def kernel_rows(costs, facts, least):
    """Those that take at least this share of a frame, by kernel and stage."""
    by = collections.defaultdict(lambda: [0, 0.0, 0.0, 0])
    for one, us, its_floor in costs:
        entry = by[one.kernel, one.stage]
        chain = facts.get(one.kernel, {}).get('waits', 0) * max(turns(one), 1)
        by[one.kernel, one.stage] = [entry[0] + 1, entry[1] + us, entry[2] + its_floor,
                                     max(entry[3], chain)]
    whole = sum(us for _, us, _ in costs)
    rows = sorted(((100 * e[1] / whole, k, e) for k, e in by.items()), reverse=True)
    return [[f'`{kernel}`', stage, n, f'{us / 1000:.3f}', f'{its_floor / 1000:.3f}',
             f'{share:.0f}', '-' if kernel == 'cuBLASLt' else int(chain)]
            for share, (kernel, stage), (n, us, its_floor, chain) in rows if share >= least]


CLAIM = """Generated by `tools/roofline.py`, whose head states the model and its constants. Estimated, not
measured: frames of 1024 px in device memory, all objects with full memory. *Floor* is FLOP at the
device's rate or bytes at its bandwidth, whichever is more, of every operation; *nodes* is a microsecond
of each launch. Times are in ms.
"""
HEAD = ['device', 'model', 'objects', 'stage', 'launches', 'estimate', 'floor', 'nodes']
KERNEL_HEAD = ['kernel', 'stage', 'launches', 'estimate', 'floor', '% of the frame',
               'trips to memory in a row']
KEYS = ['tiny_ms', 'base_plus_ms', 'large_ms', 'base_plus_16_ms', 'object_ms', 'graph_nodes']
HISTORY = ['H100 after', 'tiny', 'base+', 'large', 'base+, 16 objects', 'a further object',
           'nodes in a graph (tiny)']


def history_of(text):
    part = table.section(text, BEGIN)
    lines = part.split('| ' + HISTORY[0])[1].split('\n\n')[0].splitlines()[2:] \
        if '| ' + HISTORY[0] in part else []
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines]


def document(all_results, all_facts, history):
    lines = [BEGIN, '', CLAIM]
    if history:
        lines += [grid(HISTORY, history), '']
    rows = [row for key, results in all_results.items()
            for row in stage_rows(DEVICES[key], results)]
    lines += [grid(HEAD, rows), '']
    for (model, objects), least in ((('tiny', 1), 1.5), (('base+', 16), 1.5)):
        lines += [f'Kernels with the largest shares, {DEVICES["h100"].name}, {model}, '
                  f'{objects} object{"s" * (objects > 1)}:', '',
                  grid(KERNEL_HEAD, kernel_rows(all_results['h100'][model, objects][0],
                                                all_facts['h100'], least)), '']
    return '\n'.join(lines)


def scales(texts):
    return {name: float(factor) for name, _, factor in (text.rpartition('=') for text in texts)}


def run(program, path, key, cases, scale=None):
    """(model, objects) -> (costs, nodes, copies) on a device; and the kernels' figures."""
    device = DEVICES[key]
    facts = kernels_of(path, device.arch)
    return {case: cost(plan_of(program, *case, device), facts, device, scale or {})
            for case in cases}, facts


def print_launches(results):
    for case, (costs, _, _) in results.items():
        for one, us, its_floor in costs:
            print(*case, one.stage, one.op, one.kernel, 'x'.join(map(str, one.grid)),
                  f'{us:.2f} us, floor {its_floor:.2f}', f'{one.flop:.3g} FLOP {one.bytes:.3g} B',
                  sep='\t')


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('--plan', default=str(table.ROOT / 'build/tests/emu/frame_plan'))
    p.add_argument('--device', choices=DEVICES, default='h100')
    p.add_argument('--model', choices=blank_model.SIZES)
    p.add_argument('--objects', type=int, default=1)
    p.add_argument('--scale', action='append', default=[])
    p.add_argument('--kernels', default=str(table.ROOT / 'docs/KERNELS.md'))
    p.add_argument('--output', type=pathlib.Path)
    p.add_argument('--step')
    p.add_argument('--check', type=pathlib.Path)
    p.add_argument('--launches', action='store_true')
    a = p.parse_args()
    if not os.access(a.plan, os.X_OK):
        sys.exit(f'roofline.py: {a.plan}: no such program; meson setup build -Demu=true and '
                 'ninja -C build tests/emu/frame_plan make it, or --plan names another')
    if not kernels_of(a.kernels, DEVICES[a.device].arch):
        sys.exit(f'roofline.py: {a.kernels} has no kernels of sm_{DEVICES[a.device].arch}; '
                 f'sass_model.py --arch {DEVICES[a.device].arch} --output {a.kernels} adds them')
    cases = [(a.model, a.objects)] if a.model else CASES
    results, facts = run(a.plan, a.kernels, a.device, cases, scales(a.scale))
    if a.launches:
        print_launches(results)
    print(grid(HEAD, stage_rows(DEVICES[a.device], results)))
    print(grid(KERNEL_HEAD, kernel_rows(results[cases[-1]][0], facts, 0.5)))
    if a.model:
        return 0
    figures = summary(results)
    status = 0
    if a.check:
        told = history_of(a.check.read_text())
        mine = [str(figures[key]) for key in KEYS]
        if not told or told[-1][1:] != mine:
            print(f'{a.check}: the last line of the history is {told[-1:]}, this build has {mine}: '
                  'run roofline.py --output again')
            status = 1
    if a.output:
        text = a.output.read_text()
        history = history_of(text)
        if a.step or not history:
            history.append([a.step or 'now'] + [''] * len(KEYS))
        history[-1][1:] = [str(figures[key]) for key in KEYS]
        other = 'a100' if a.device == 'h100' else 'h100'
        results, facts = {a.device: results}, {a.device: facts}
        if kernels_of(a.kernels, DEVICES[other].arch):
            results[other], facts[other] = run(a.plan, a.kernels, other, CASES)
        a.output.write_text(table.with_section(text, BEGIN, document(results, facts, history)))
    print(json.dumps(figures))
    return status


if __name__ == '__main__':
    sys.exit(main())
