#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""loaded.py TOOLS PROGRAM: are all kernels that PROGRAM has in the list that it loads at open?

PROGRAM prints a line "kernel OFFSET" for each of that list, in bytes from main(); the kernels that it
has are in its symbol table. TOOLS is the folder of kernel_table.py, which reads their names."""
import re
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
from kernel_table import plain  # noqa: E402


def main():
    done = subprocess.run([sys.argv[2]], text=True, capture_output=True)
    print(done.stdout, done.stderr, sep='', end='')
    symbols = subprocess.run(['nm', '--defined-only', sys.argv[2]], text=True, capture_output=True,
                             check=True).stdout
    place = {}
    for line in symbols.splitlines():
        at, kind, name = line.split()
        if name == 'main':
            zero = int(at, 16)
        elif kind in 'tTwW' and name.startswith('_Z'):
            place[int(at, 16)] = name
    names = plain(sorted(set(place.values())))
    there = {at - zero: names[name] for at, name in place.items()
             if re.fullmatch(r'\w+_kernel(<.*>)?', names[name])}
    told = {int(offset) for offset in re.findall(r'^kernel (-?\d+)$', done.stdout, re.M)}
    bad = [f'{there[at]}: is not loaded at open' for at in sorted(there.keys() - told)]
    bad += [f'main() + {at}: is no kernel' for at in sorted(told - there.keys())]
    print('\n'.join([f'{len(there)} kernels, {len(told)} in the list', *bad]))
    return done.returncode or bool(bad) or len(there) < 100


if __name__ == '__main__':
    sys.exit(main())
