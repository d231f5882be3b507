#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What kernels cost shared memory, as the emulator counts it while the operations' tests run.

costs.py PROGRAM [--all]    PROGRAM is check_ops_emu; exit status 1 if bank conflicts take more of a
                            kernel's passes of shared memory than LIMITS allows; --all prints every kernel
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'tools'))
import kernel_table as table  # noqa: E402

# Operation, precision, cases, device, what is idle. Each kernel of LIMITS runs in one of them; attend_kernel does at
# the open of the first, when the kernels of sm_90a are compared with it.
CASES = [('product_norm', 'bf16', '', '90', 'warm-up'), ('norm_linears', 'bf16', '_beside', '90', 'warm-up,twins')]
# Share of the passes that are conflicts, at most, by the beginning of a kernel's name. ldmatrix has none;
# two rows that four lanes each copy to shared memory overlap in three quarters of their banks.
LIMITS = {'attend_kernel': 0.18, 'gemm_kernel': 0.0, 'norm_gemm_kernel': 0.07}

Cost = collections.namedtuple('Cost', 'launches waves read written passes conflicts products')


def run(program, op, precision, case, sm, idle):
    """Kernel -> sums over its launches."""
    sums = {}
    with tempfile.NamedTemporaryFile('r') as f:
        subprocess.run([program, '--backend=cuda', f'--op={op}', f'--precision={precision}', f'--case={case}', '1'], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, 'EMU_COSTS': f.name, 'EMU_SM': sm, 'EMU_IDLE': idle})
        for line in f:
            *numbers, name = line.rstrip('\n').split(' ', 11)
            one = Cost(1, *map(int, numbers[5:]))
            name = table.tidy(name)
            sums[name] = Cost(*map(sum, zip(sums.get(name, Cost(*[0] * 7)), one)))
    return sums


def main():
    program, *more = sys.argv[1:]
    bad, seen = 0, set()
    for case in CASES:
        for name, c in sorted(run(program, *case).items()):
            share = c.conflicts / c.passes if c.passes else 0.0
            limit = next((most for begin, most in LIMITS.items() if re.match(begin + r'\b', name)), None)
            seen |= {begin for begin in LIMITS if re.match(begin + r'\b', name) and c.passes}
            wrong = limit is not None and share > limit
            bad += wrong
            if wrong or more:
                print(f'{"CONFLICTS" if wrong else "ok"}: {name}, {case[0]}, sm_{case[3]}: {c}, {share:.1%} of the passes')
    for begin in sorted(set(LIMITS) - seen):
        print(f'{begin}: no case runs it')
        bad += 1
    print(f'{len(CASES)} cases, {bad} wrong')
    return bad != 0


if __name__ == '__main__':
    sys.exit(main())
