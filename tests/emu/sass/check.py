#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tools/sass_model.py on listings whose figures can be worked out by hand, and on planted.sass;
the search of tools/kernel_table.py for the wait at a kernel's beginning.

check.py TOOLS    the folder tools/; exit status 1: a figure is wrong, or a slow kernel passes
"""
import pathlib
import sys

sys.path.insert(0, sys.argv[1])
import sass_model as model  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def listing(lines):
    """[(text, stall, barrier set or None, barriers waited for)] as cuobjdump prints them."""
    out = ['\t\tFunction : _Z4testv']
    for i, (text, stall, sets, waits) in enumerate(lines):
        control = stall | 1 << 4 | (7 if sets is None else sets) << 5 | 7 << 8 | waits << 11
        out += [f'/*{16 * i:04x}*/ {text} ; /* 0x0000000000000000 */',
                f'/* 0x{control << 41:016x} */']
    return '\n'.join(out)


ADD = ('FADD R0, R0, R1', 4, None, 0)
LOAD = ('LDG.E R2, desc[UR4][R4.64]', 1, 0, 0)
USE = ('FFMA R0, R2, R3, R0', 4, None, 1)
MATRIX = ('HMMA.16816.F32.BF16 R4, R8, R12, R4', 1, None, 0)

WIDE = ('HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24', 1, None, 0)
LAST = (WIDE[0] + ', gsb0', 1, None, 0)
NARROW = ('HGMMA.64x64x16.F32.BF16 R88, R120, gdesc[UR8].tnspB, R88, gsb0', 1, None, 0)


def back(to):
    return (f'@P0 BRA 0x{16 * to:x}', 5, None, 0)


# name, instructions, then of a step: instructions, cycles, matrix instructions, waits.
CASES = [
    # 270 until the load is there, 4, 15 and 5 to stall.
    ('waits for its load', [LOAD, USE, ('NOP', 15, None, 0), back(0)], 4, 294, 0, 1),
    # The load of the turn before left 4 after the use: it is there 274 after the latter.
    ('loads ahead', [USE, LOAD] + [ADD] * 60 + [back(0)], 63, 274, 0, 0),
    # Four at 6.4 cycles; what stalls is shorter.
    ('matrix instructions', [MATRIX] * 4 + [back(0)], 5, 26, 4, 0),
    # A copy keeps the pipe for 8 cycles: 278, then 1 and 5.
    ('waits for its copy', [('LDGSTS.E.128 [R2], desc[UR4][R4.64]', 1, None, 0),
                            ('LDGDEPBAR', 1, 0, 0), ('DEPBAR.LE SB0, 0x0', 1, None, 0), MATRIX,
                            back(0)], 5, 285, 1, 1),
    ('waits for the copy before', [('LDGSTS.E.128 [R2], desc[UR4][R4.64]', 1, None, 0),
                                   ('LDGDEPBAR', 1, 0, 0), ('DEPBAR.LE SB0, 0x1', 1, None, 0),
                                   MATRIX] + [ADD] * 70 + [back(0)], 75, 289, 1, 0),
    # A warp goes on beside two products of 85 1/3 cycles; 12 behind them, 1 and 5 to stall.
    ('products of a warpgroup', [WIDE, LAST] + [ADD] * 20
     + [('WARPGROUP.DEPBAR.LE gsb0, 0x0', 1, None, 0), back(0)], 24, 189, 32, 0),
    # The first group alone: 85 1/3 and 12, then what is behind it; the other one is over by then.
    ('a group of two', [LAST, NARROW, ('WARPGROUP.DEPBAR.LE gsb0, 0x1', 1, None, 0)] + [ADD] * 20
     + [back(0)], 24, 183, 24, 0),
    # The loop inside turns four times, by TRIPS: 270, 1 and 5 each; then 4 and 5.
    ('gemm_exact_kernel', [LOAD, ('STS [R4], R2', 1, None, 1), back(0),
                           ('FFMA R0, R2, R3, R0', 4, None, 0), back(0)], 14, 1113, 0, 4),
    # Over arithmetic a branch is taken, over a load it is not.
    ('branches', [('@P1 BRA 0x30', 5, None, 0), ADD, ADD, ('@P1 BRA 0x60', 5, None, 0), LOAD, USE,
                  ('FFMA R0, R2, R3, R0', 4, None, 0), back(0)], 6, 293, 0, 1),
]


def check_cases():
    bad = 0
    for name, lines, *wanted in CASES:
        (code,) = model.parse(listing(lines)).values()
        row = model.judge(name, code, '90a')
        fact = dict(zip(model.HEAD[1:], row[1:]))
        got = [fact[c] for c in ('instructions', 'cycles', 'matrix', 'waits')]
        if got != wanted:
            print(f'{name}: instructions, cycles, matrix, waits are {got}, expected {wanted}')
            bad += 1
    return bad


def check_planted():
    codes = model.parse((HERE / 'planted.sass').read_text())
    names = model.table.plain(list(codes))
    found = model.wrong([model.judge(names[m], code, '90a') for m, code in codes.items()])
    wanted = ['`attend_kernel`: conversions 2, at most 0',
              '`linear_skinny_kernel`: loads a wait 2.0, at least 4']
    if sorted(found) != wanted:
        print(f'planted.sass: found {sorted(found)}, expected {wanted}')
    return sorted(found) != wanted


def check_blocks():
    """By registers, by shared memory, by threads, by their number."""
    got = [model.blocks_fit('90a', *a) for a in [(128, 0, 256), (32, 100 << 10, 128),
                                                 (32, 0, 1024), (16, 0, 32)]]
    if got != [2, 2, 2, 32]:
        print(f'blocks that fit: {got}, expected [2, 2, 2, 32]')
    return got != [2, 2, 2, 32]


def check_rates():
    """A limit of one device's rate holds there alone."""
    row = ['-' if column != 'TFLOP/s' else '249' for column in model.HEAD]
    row[0] = '`attend_kernel<attend_kept_shape<256,64,8,2,16>>`'
    got = [model.wrong([row], arch) for arch in ('80', '90a')]
    wanted = [[f'{row[0]}: TFLOP/s 249, at least 250'], []]
    if got != wanted:
        print(f'limits of a rate: {got}, expected {wanted}')
    return got != wanted


def check_waits():
    """A kernel waits for the launch before it ahead of all access to global memory, or is found."""
    wait = ('ACQBULK', 1, None, 0)
    cases = [([wait, LOAD], True), ([ADD, wait], True), ([LOAD, wait], False), ([LOAD], False),
             ([('STG.E desc[UR4][R4.64], R2', 1, None, 0), wait, LOAD], False), ([ADD], False)]
    got = [model.table.is_late(listing(lines)) for lines, _ in cases]
    wanted = [late for _, late in cases]
    if got != wanted:
        print(f'waits ahead of all access: {got}, expected {wanted}')
    return got != wanted


def main():
    bad = check_cases() + check_planted() + check_blocks() + check_rates() + check_waits()
    print(f'{len(CASES) + 4} cases, {bad} wrong')
    return bad != 0


if __name__ == '__main__':
    sys.exit(main())
