#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes docs/KERNELS.md: cost and tests of every kernel of the CUDA backend.

kernel_table.py --emu PROGRAM [--arch ARCH]... [--gpu FILE] [--nvcc FILE] [--output FILE]
                [--source NAME]...        updates only the rows of cuda/NAME.cu (takes minutes)
kernel_table.py --emu PROGRAM --check     checks, without nvcc, that the table matches the sources

PROGRAM is build/tests/emu/check_ops_emu, which records the kernels that each operation's test runs.
Registers and spills come from ptxas; instructions are counted in the machine code with cuobjdump,
found beside nvcc, on the PATH, in $CUOBJDUMP, or in the Triton of $PYTHON. FILE of --gpu is an output
of tests/bench/gpu.sh. Exit status 1: a kernel spills, no test runs it, it lacks an instruction listed
in NEEDED, or (--check) the table has other kernels than PROGRAM.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ['-O3', '-std=c++17', '-Xptxas', '-v', '-Xcompiler', '-fno-threadsafe-statics',
         '-I', str(ROOT / 'engine'), '-I', str(ROOT / 'engine/include')]
# What the columns count, by the beginning of the instruction.
COUNTED = {
    'HMMA': r'HG?MMA\.',
    'copies of 16 B': r'LDGSTS\.\S*128',
    'loads of 16 B': r'LDG\.\S*128',
    'stores of 16 B': r'STG\.\S*128',
    'local': r'(?:LDL|STL)\b',
}
# Of devices since sm_90: the wait for the launch before (griddepcontrol.wait), and what must not be
# ahead of it.
WAIT, MEMORY = r'\bACQBULK\b', r'\b(?:LDG|STG|LD|ST|LDGSTS|ATOMG?|REDG?|UTMA\w+|UBLK\w+)\b'
CODE = 'KiB of code'
HEAD = ['source', 'kernel', 'tests', 'emulated', 'on a GPU', 'registers', 'spills', 'shared memory',
        *COUNTED, CODE]
MOST_CODE = 168  # KiB
INSTRUCTION, INSTRUCTION_BYTES = r'^\s+/\*[0-9a-f]{4,}\*/', 16
ZERO = ['spills', 'local']  # of every kernel
# Of some kernels, by the beginning of the name, a regular expression: columns that may not be 0.
NEEDED = {
    r'attend_kernel<attend_(?:shape<[\d,]+,true|kept_shape)': ['HMMA', 'copies of 16 B', 'loads of 16 B', 'stores of 16 B'],
    'gemm_kernel': ['HMMA', 'copies of 16 B'],
    'layernorm_kernel': ['loads of 16 B', 'stores of 16 B'],
}
CLAIM = """No kernel spills or touches local memory. Every kernel of attention on tensor cores
(`attend_kernel`) has matrix instructions and, of numbers that lie ready (`true`), moves 16 bytes at a
time: from queries, keys and values to shared memory by cp.async, and to its result. So does every product (`gemm_kernel`) with its
factors. Every norm (`layernorm_kernel`) loads and stores 16 bytes at a time. Kernels with `exact` or
`any` in their names are for products that must be exact, and for rows that are not aligned to 16
bytes. On devices since sm_90 every kernel waits for the end of the launch before it ahead of its
first access to global memory, so that launches may overlap. The code of a kernel has at most 168
KiB: on an H200 products of 430 to 820 KiB waited for their instructions many times as long as they
multiplied. The script that generates this table fails if one of these sentences is false.
"""


def run(command, **kwargs):
    done = subprocess.run(command, text=True, capture_output=True, **kwargs)
    if done.returncode:
        sys.exit(f'{" ".join(map(str, command))}: {done.stderr.strip()[-2000:]}')
    return done


def plain(names):
    """Mangled names as a reader wants them: no return type, no arguments, no namespaces."""
    text = run(['c++filt'], input='\n'.join(names)).stdout.splitlines()
    return dict(zip(names, (tidy(t) for t in text)))


def tidy(name):
    name = re.sub(r'^void ', '', name)
    name = re.sub(r'\(anonymous namespace\)::|\bsam_', '', name)
    depth = 0
    for i, c in enumerate(name):  # the arguments' parenthesis is outside of all angle brackets
        depth += (c == '<') - (c == '>')
        if c == '(' and depth == 0:
            name = name[:i]
            break
    return re.sub(r'\b(\d+)[uU]?\b', r'\1', name).replace('> >', '>>').replace(', ', ',')


def find_cuobjdump(nvcc):
    triton = ('import triton, pathlib; '
              'print(pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump")')
    for path in [os.environ.get('CUOBJDUMP'), pathlib.Path(nvcc).parent / 'cuobjdump',
                 shutil.which('cuobjdump')]:
        if path and pathlib.Path(path).exists():
            return str(path)
    if 'PYTHON' in os.environ:
        found = subprocess.run([os.environ['PYTHON'], '-c', triton], text=True, capture_output=True)
        if found.returncode == 0 and pathlib.Path(found.stdout.strip()).exists():
            return found.stdout.strip()
    sys.exit('kernel_table.py: no cuobjdump beside nvcc, on the PATH, in $CUOBJDUMP or in $PYTHON')


def number_of(arch):
    """sm_90a's, for example, is 90."""
    return int(arch.rstrip('af'))


def is_late(code):
    """Whether the machine code of a kernel waits for the launch before it ahead of all accesses."""
    wait, access = re.search(WAIT, code), re.search(MEMORY, code)
    return wait is not None and (access is None or wait.start() < access.start())


def compile_one(nvcc, cuobjdump, source, arch, folder):
    """mangled name -> what ptxas and the machine code say."""
    cubin = folder / f'{source.stem}.{arch}.cubin'
    words = run([nvcc, *FLAGS, f'-arch=sm_{arch}', '-cubin', '-o', cubin, source]).stderr
    kernels = {}
    for part in words.split('Compiling entry function ')[1:]:
        name = re.match(r"'(\w+)'", part)[1]
        number = lambda what: int((re.search(rf'(\d+) {what}', part) or [0, 0])[1])
        kernels[name] = {'source': source.name, 'registers': number('registers'),
                         'spills': number('bytes spill stores') + number('bytes spill loads'),
                         'stack': number('bytes stack frame'), 'shared': number('bytes smem')}
    code = run([cuobjdump, '-sass', cubin]).stdout
    for part in code.split('Function : ')[1:]:
        name = part.split(None, 1)[0]
        if name in kernels:
            for column, pattern in COUNTED.items():
                kernels[name][column] = len(re.findall(r'\b' + pattern, part))
            count = len(re.findall(INSTRUCTION, part, re.M))
            kernels[name][CODE] = round(count * INSTRUCTION_BYTES / 1024)
            kernels[name]['waits'] = number_of(arch) < 90 or is_late(part)
    return kernels


def compile_all(nvcc, archs, only):
    """arch -> tidy name -> facts."""
    cuobjdump = find_cuobjdump(nvcc)
    sources = [s for s in sorted((ROOT / 'cuda').glob('*.cu')) if not only or s.stem in only]
    out = {}
    with tempfile.TemporaryDirectory() as tmp, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for arch in archs:
            facts = {}
            for one in pool.map(lambda s: compile_one(nvcc, cuobjdump, s, arch, pathlib.Path(tmp)),
                                sources):
                names = plain(list(one))
                for mangled, fact in one.items():  # one kernel may be in two objects
                    facts.setdefault(names[mangled], fact)
            out[arch] = facts
    return out


def operations():
    text = (ROOT / 'engine/ops/list.h').read_text()
    return re.findall(r'^ *op\((\w+), *\w+, *cuda\)', text, re.M)


def emulate(program, op):
    """tidy name -> most shared memory of a launch, of all kernels that the test of op runs."""
    with tempfile.NamedTemporaryFile('r') as f:
        command = [program, '--backend=cuda', f'--op={op}', '1']
        for sm in ('90', '100', '80', '89'):  # attention takes one of four kernels
            run(command, env={**os.environ, 'EMU_KERNELS': f.name, 'EMU_SM': sm})
        lines = [line.split(' ', 2) for line in f.read().splitlines()]
    return {tidy(name): int(shared) for _, shared, name in lines}


def operations_of(only, old):
    """Those whose tests may run kernels of some sources: as the table has it, or new in it."""
    ops = operations()
    if not only:
        return ops
    told = [(row[0].removesuffix('.cu'), row[2].split(', ')) for row in old]
    known = {op for _, tests in told for op in tests}
    mine = {op for source, tests in told if source in only for op in tests if len(tests) < len(ops)}
    return [op for op in ops if op in mine or op not in known]


def seen(program, ops):
    """tidy name -> (operations whose tests run it, shared memory)."""
    out = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for op, kernels in zip(ops, pool.map(lambda op: emulate(program, op), ops)):
            for name, shared in kernels.items():
                tests, most = out.get(name, ([], 0))
                out[name] = (tests + [op], max(most, shared))
    return out


def on_gpu(report, tests):
    """Whether the tests of a kernel have passed on a device, and when."""
    passed = {op for op, status in report.get('ops', {}).items() if status == 'passed'}
    if not report or not tests:
        return 'not run'
    return report['date'] if passed >= set(tests) else 'failed'


def tables(facts, emulated, report, archs):
    first = facts[archs[0]]
    rows = []
    for name in sorted(first, key=lambda n: (first[n]['source'], n)):
        tests, shared = emulated.get(name, ([], first[name]['shared']))

        def per_arch(key):
            all_of = [str(facts[a].get(name, {}).get(key, '-')) for a in archs]
            return all_of[0] if len(set(all_of)) == 1 else ' / '.join(all_of)

        rows.append([first[name]['source'], f'`{name}`', ', '.join(tests) or 'none',
                     'yes' if tests else 'NO', on_gpu(report, tests), per_arch('registers'),
                     per_arch('spills'), str(shared)]
                    + [per_arch(column) for column in (*COUNTED, CODE)])
    return rows


def document(rows, archs, report):
    lines = ['# Kernels', '',
             'Generated by `tools/kernel_table.py`; do not edit. Compiled for '
             + ', '.join(f'sm_{a}' for a in archs) + '; figures are in this order, or a single one if '
             'all are equal. Spills and shared memory are in bytes; the latter is the maximum of all '
             'launches in the tests (static and dynamic). The last columns count instructions of the machine '
             'code: tensor cores (HMMA, HGMMA), cp.async (LDGSTS), loads, stores, and local memory; and its size.', '',
             CLAIM,
             'On a GPU: ' + (f"{report['device']}, {report['date']}." if report else 'not run yet.'),
             '', '| ' + ' | '.join(HEAD) + ' |', '|' + '---|' * len(HEAD)]
    return '\n'.join(lines + ['| ' + ' | '.join(r) + ' |' for r in rows]) + '\n'


def wrong(rows):
    """What rows of the table say that must not be."""
    out = []
    for row in rows:
        fact = dict(zip(HEAD, row))
        name = fact['kernel'].strip('`')
        numbers = lambda column: fact[column].split(' / ')
        if fact['emulated'] != 'yes':
            out.append(f'{name}: no test runs it')
        out += [f'{name}: {column} {fact[column]}' for column in ZERO
                if set(numbers(column)) != {'0'}]
        out += [f'{name}: {n} KiB of code, at most {MOST_CODE}' for n in numbers(CODE)
                if n != '-' and int(n) > MOST_CODE]
        for beginning, columns in NEEDED.items():
            if re.match(beginning, name):
                out += [f'{name}: no {column}' for column in columns
                        if set(numbers(column)) & {'0', '-'}]
    for beginning in NEEDED:
        if not any(re.match(f'`{beginning}', row[1]) for row in rows):
            out.append(f'{beginning}: no kernel of this name')
    return out


def read(path):
    rows = [line.strip('|').split('|') for line in pathlib.Path(path).read_text().splitlines()
            if re.match(r'\| \w+\.cu \|', line)]
    return [[cell.strip() for cell in row] for row in rows]


def section(text, begin):
    """The part of a document from the heading `begin` to the next one; '': it has none."""
    found = re.search(rf'^{re.escape(begin)}\n.*?(?=^## |\Z)', text, re.M | re.S)
    return found[0] if found else ''


def with_section(text, begin, new):
    """The document with this part anew, or behind all others."""
    old, new = section(text, begin), new.rstrip('\n') + '\n'
    if not old:
        return text.rstrip('\n') + '\n\n' + new
    return text.replace(old, new + '\n' * (not text.endswith(old)))


def check(program, path):
    """Whether the table at path is of the kernels that are in the emulated program."""
    rows = read(path)
    symbols = [line.split()[2] for line in run(['nm', '--defined-only', program]).stdout.splitlines()
               if re.match(r'\w+ [tT] _Z', line)]  # the backends of the CPU are C
    there = {name for name in plain(symbols).values() if re.fullmatch(r'\w+_kernel(<.*>)?', name)}
    told = {row[1].strip('`') for row in rows}
    bad = wrong(rows) + [f'{name}: not in {path}' for name in sorted(there - told)]
    bad += [f'{name}: no such kernel' for name in sorted(told - there)]
    print('\n'.join([f'{len(rows)} kernels, {len(bad)} wrong', *bad]))
    return bool(bad)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('--emu', required=True)
    p.add_argument('--arch', action='append')
    p.add_argument('--gpu')
    p.add_argument('--nvcc', default=shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc')
    p.add_argument('--output', default=str(ROOT / 'docs/KERNELS.md'))
    p.add_argument('--source', action='append', default=[])
    p.add_argument('--check', action='store_true')
    a = p.parse_args()
    if a.check:
        return check(a.emu, a.output)
    built = pathlib.Path(a.emu).resolve().parents[2]
    FLAGS.extend(['-I', str(built / 'engine/include')])  # version.h
    archs = a.arch or ['80', '89', '90a', '100', '120']  # those of a release
    report = json.load(open(a.gpu)) if a.gpu else {}
    old = read(a.output) if a.source else []
    facts = compile_all(a.nvcc, archs, a.source)
    emulated = seen(str(pathlib.Path(a.emu).resolve()), operations_of(a.source, old))
    rows = tables(facts, emulated, report, archs)
    rows += [row for row in old if row[0].removesuffix('.cu') not in a.source
             and row[1] not in [new[1] for new in rows]]
    rows.sort()
    path = pathlib.Path(a.output)  # what follows is of sass_model.py and roofline.py
    rest = path.read_text().partition('\n## ') if path.exists() else ('', '', '')
    path.write_text(document(rows, archs, report) + ''.join(rest[1:]))
    bad = wrong(rows) + [f'{n}: {f["stack"]} bytes of stack, sm_{arch}'
                         for arch in archs for n, f in facts[arch].items() if f['stack']]
    bad += [f'{n}: does not wait for the launch before it, sm_{arch}'
            for arch in archs for n, f in facts[arch].items() if not f['waits']]
    print('\n'.join([f'{len(rows)} kernels, {len(bad)} wrong', *bad]))
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
