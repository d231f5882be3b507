# SPDX-License-Identifier: MIT
"""Faults in the sources of networks, each of which tests that are built of them must catch.

A module has FILES, of the sources, MUTANTS: (file, a piece of it with «expression => its fault»), and calls main():
    X.py write ROOT FOLDER BEGIN            copies of the sources, every fault a choice made at run time; BEGIN: of their names
    X.py run PROGRAM ARGUMENT... [-- ...]   runs these tests once per fault, until one catches it; 1 if a fault is missed
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from plant import plant  # noqa: E402

CHOICE = '''#include <stdlib.h>

extern int network_fault;
int network_fault;

__attribute__((constructor)) static void choose(void)
{
    const char *number = getenv("NETWORK_FAULT");

    network_fault = number ? atoi(number) : 0;
}
'''


def write(files, mutants, root, folder, begin):
    for file in files:
        text = (root / file).read_text()
        for number, (name, piece) in enumerate(mutants, 1):
            if name == pathlib.Path(file).name:
                text = plant(text, name, 'network_fault', number, piece)
        (folder / (begin + pathlib.Path(file).name)).write_text('extern int network_fault; // 0: none\n' + text)
    (folder / (begin + 'fault.c')).write_text(CHOICE)


def fails(command, number):
    done = subprocess.run(command, capture_output=True, env={**os.environ, 'NETWORK_FAULT': str(number)}, timeout=120)
    if not number and done.returncode:
        print(f'FAILED without a fault: {command}: {done.stderr.decode()}', flush=True)
    return done.returncode != 0


def run(mutants, commands):
    bad = sum(fails(command, 0) for command in commands)
    for number, mutant in enumerate(mutants, 1):
        if not any(fails(command, number) for command in commands):
            bad += 1
            print(f'MISSED {mutant}', flush=True)
    print(f'{len(mutants)} mutants, {bad} wrong')
    return bad > 0


def split(words):
    commands = [[]]
    for word in words:
        if word == '--':
            commands.append([])
        else:
            commands[-1].append(word)
    return [command for command in commands if command]


def main(doc, files, mutants):
    names = [pathlib.Path(f).name for f in files]
    if stray := [m for m in mutants if m[0] not in names]:
        sys.exit(f'of no file: {stray}')
    if len(sys.argv) == 5 and sys.argv[1] == 'write':
        return write(files, mutants, pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4])
    if len(sys.argv) > 2 and sys.argv[1] == 'run':
        return run(mutants, split(sys.argv[2:]))
    sys.exit(doc)
