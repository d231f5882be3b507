#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/roofline.py: costs that can be worked out by hand, and what it says of the backend as built.

check.py TOOLS PROGRAM MODEL TABLE    the folder tools/, frame_plan, a small model in the published
layout, docs/KERNELS.md; exit status 1: a figure is wrong, or a change goes unseen
"""
import collections
import contextlib
import functools
import io
import json
import os
import pathlib
import struct
import sys
import tempfile
from unittest import mock

sys.path.insert(0, sys.argv[1])
import blank_model  # noqa: E402
import kernel_table as table  # noqa: E402
import roofline  # noqa: E402

TOOLS, PROGRAM, MODEL, TABLE = sys.argv[1:]
DEVICE = roofline.DEVICES['h100']  # 132 multiprocessors at 1.755 GHz
FACT = {'cycles': 1000.0, 'cycles, all warps': 300.0, 'blocks': 2.0, 'waits': 1.0}
failed = 0
# What is launched does not depend on how long it takes: it is found once for all that is asked of it below.
roofline.plan_of = functools.cache(roofline.plan_of)


def expect(what, got, wanted):
    global failed
    if got != wanted:
        failed += 1
        print(f'{what}: got {got}, expected {wanted}')


def launch(kernel, grid, threads=128, flop=0.0, size=0.0, exact=False, rows=0, k=0):
    return roofline.Launch('encode', 'op', kernel, grid, threads, flop, size, exact, rows, k)


def check_costs():
    """Of FACT's kernel: waves by what a warp waits for, 2 blocks side by side; all that issue."""
    for blocks, threads, cycles in [(1, 128, 1000), (264, 128, 1000), (265, 128, 2000),
                                    (132 * 20, 128, 10000), (132 * 20, 256, 12000)]:
        got = roofline.blocks_cycles(launch('a_kernel', [blocks, 1, 1], threads), FACT, 132, 1)
        expect(f'cycles of {blocks} blocks of {threads}', got, cycles)
    shape = 'attend_kernel<attend_shape<256,64,8,2,64>>'
    wide, widest = (f'attend_wgmma_kernel<wgmma_shape<256,{s}>>' for s in ('64,128', '256,64'))
    for one, wanted in [(launch('gemm_exact_kernel<64,1>', [1, 1, 1], k=100), 7),
                        (launch('gemm_kernel<2,2,2,4,true,gemm>', [1, 1, 1], k=64), 2),
                        (launch(shape, [2, 1, 1], rows=512, k=640), 10),
                        (launch(shape, [8, 1, 1], rows=512, k=640), 3),  # in four parts
                        (launch(wide, [16, 1, 1], rows=512, k=1300), 1.5),  # likewise
                        (launch(widest, [16, 1, 1], rows=512, k=1300), 3),
                        (launch('attend_few_queries_kernel<16>', [8, 1, 1], rows=8, k=4096), 8),
                        (launch('each_kernel<4,add_at>', [1, 1, 1], k=64), 0)]:
        expect(f'turns of {one.kernel} on {one.grid}', roofline.turns(one), wanted)
    # 128 queries by 64 channels in four parts; in eight a launch merges, and one needs no merge.
    for blocks, cycles in [(16, 900 + 128 * 64 * 4 * 4 / 64), (32, 0), (4, 0)]:
        got = roofline.merge_cycles(launch(wide, [blocks, 1, 1], rows=512))
        expect(f'cycles of a merge by {blocks} blocks', got, cycles)
    # 64 rows of 4 x 64 columns normed behind a product, by four bytes a number or by instructions; of
    # 300 tiles a multiprocessor has three, two of which wait together.
    for kernel, grid, columns, cycles in [
            ('gemm_kernel<2,2,2,4,true,gemm_normed<false>>', [8, 4, 1], 256, 900 + 64 * 256 * 12 / 128),
            ('gemm_kernel<2,2,2,4,true,gemm_normed<true>>', [300, 1, 1], 16, 2 * 300 + 3 * 64 * 16 * 40 / 128),
            ('linear_skinny_kernel<float4,gemm_normed<false>>', [32, 1, 1], 256, 900 + 8 * 256 * 12 / 128),
            ('gemm_kernel<2,2,2,4,false,gemm_spread>', [4, 4, 1], 256, 300 + 64 * 64 * 36 / 64)]:
        one = launch(kernel, grid, flop=2 * 1000 * 32 * columns, rows=1000, k=32)
        expect(f'cycles behind {kernel}', roofline.behind_cycles(one, FACT, 132), cycles)
    # 128 blocks of 128 x 64 at 0.55 of the rate are faster than 64 of 128 x 128 at 0.65.
    one = launch('cuBLASLt', [256, 4096, 1], k=2048)
    expect('a product', round(roofline.estimate(one, {}, DEVICE, {}), 4),
           round(132 * 2 * 128 * 64 * 2048 / (989.4e6 * 0.55) + 0.6 / 1.755, 4))
    copied = launch('a_kernel', [1, 1, 1], size=3.35e12 * 0.9e-6)
    expect('bytes', round(roofline.estimate(copied, {'a_kernel': FACT}, DEVICE, {}), 3), 1.0)
    for one, us in [(launch('x', [1, 1, 1], flop=989.4e6), 1.0), (launch('x', [1, 1, 1], size=3.35e6), 1.0),
                    (launch('x', [1, 1, 1], flop=66.9e6, size=3.35e6, exact=True), 1.0)]:
        expect('floor', round(roofline.floor(one, DEVICE), 9), us)


def check_model():
    """The blank model has the tensors of a real one."""
    with open(MODEL, 'rb') as f:
        header = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
    real = {name: tuple(t['shape']) for name, t in header.items() if name != '__metadata__'}
    mine = blank_model.shapes(8, (1, 2, 3, 1), 7, d=32, m=8, layers=2, memory_hidden=64,
                              decoder_hidden=96, iou_hidden=40, fuser_hidden=128, window=4)
    expect('tensors of a blank model', mine, real)


def check_nodes():
    """A graph has a node for each launch, product and copy that is told of while it is recorded."""
    with tempfile.TemporaryDirectory() as tmp:
        weights, out = pathlib.Path(tmp) / 'model.safetensors', pathlib.Path(tmp) / 'plan'
        blank_model.write(weights, blank_model.shapes(*blank_model.SIZES['tiny']))
        table.run([PROGRAM, weights, '1'], env={**os.environ, 'EMU_PLAN': str(out),
                                                'EMU_MEMORY': str(80 << 30), 'EMU_SMS': '132'})
        counted, checked = collections.Counter(), 0
        for line in out.read_text().splitlines():
            word, _, rest = line.partition(' ')
            if word == 'capture':
                counted.clear()
            elif word == 'captured':
                told = sum(counted[w] for w in ('launch', 'product', 'copy', 'set'))
                expect('nodes of a graph', int(rest), told)
                checked += 1
            counted[word] += 1
    expect('any graphs', checked > 0, True)


def figures(*more):
    """As the command prints them."""
    said = io.StringIO()
    with mock.patch.object(sys, 'argv', ['roofline.py', '--plan', PROGRAM, '--kernels', TABLE, *more]), contextlib.redirect_stdout(said):
        status = roofline.main()
    if status:
        expect(f'status of {more}', said.getvalue()[-600:], '')
    return json.loads(said.getvalue().splitlines()[-1])


def check_whole():
    """The section is of this build; each kernel that is slower is seen."""
    now = figures('--check', TABLE)
    expect('keys', list(now), roofline.KEYS)
    for kernel, key in [('gemm_exact_kernel', 'base_plus_16_ms'), ('attend_wgmma_kernel', 'tiny_ms'),
                        ('linear_skinny_kernel', 'tiny_ms')]:
        slow = figures('--scale', f'{kernel}=2')
        expect(f'{key} with a {kernel} twice as slow, larger than {now[key]}', slow[key] > now[key],
               True)
    text, name = pathlib.Path(TABLE).read_text(), 'attend_wgmma_kernel<wgmma_shape<256,64,128>>'
    section = table.section(text, roofline.sass_model.BEGIN)
    row = next(line for line in section.splitlines() if line.startswith(f'| `{name}`'))
    cells = row.split(' | ')
    planted = ' | '.join(cells[:2] + [str(2 * int(c)) for c in cells[2:4]] + cells[4:])
    with tempfile.NamedTemporaryFile('w', suffix='.md') as f:
        f.write(text.replace(section, section.replace(row, planted)))
        f.flush()
        slow = figures('--kernels', f.name)
    expect(f'base+ of 16 with {name} twice as slow in the table, at least a quarter more than '
           f'{now["base_plus_16_ms"]}', slow['base_plus_16_ms'] > 1.25 * now['base_plus_16_ms'], True)


check_costs()
check_model()
check_nodes()
check_whole()
print(f'{failed} failed')
sys.exit(failed > 0)
