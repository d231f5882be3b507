#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the CUDA backend's kernels by their machine code, without a GPU.

sass_model.py [--arch ARCH] [--nvcc FILE] [--source NAME]... [--output FILE]
        compiles cuda/NAME.cu (all of them without --source) and writes their rows of the table in
        docs/KERNELS.md; exit status 1 if a kernel is beyond one of LIMITS
sass_model.py --check FILE       checks, without nvcc, the limits in a written table, and that it
                                 has every kernel of the first table in that file
sass_model.py --listing FILE [--arch ARCH] [--trace]
                                 prints the rows of a stored listing of cuobjdump -sass

The model is one warp that issues in order. Every instruction of sm_80 and later carries a control
word: how many cycles pass before the next one, which of six barriers it sets, and which it waits
for. The model adds up the former, keeps a time for each of the latter by LATENCY, and lets no pipe
take an instruction before it has finished with the one before, by PIPES. It knows nothing of
caches, of bank conflicts, or of what other warps do. Its absolute figures are estimates until a
device has been timed; its use is to compare two versions of a kernel, and to see what a kernel
waits for. A second figure assumes that all warps that fit overlap perfectly.

Products of a warpgroup (HGMMA) run on their own: a warp goes on, their pipe takes them one after the
other, and WARPGROUP.DEPBAR waits for their groups. Of shared memory they take what both factors have
in bytes; what copies by tensor maps take of it is not known here.

A kernel is judged by its step: the largest loop with matrix instructions (of those in INNER the
smallest), else the one with most multiply-adds, else with most loads, else the kernel's whole code. Branches forward that skip no
work (see WORK) are taken, others are not. Loops inside of a step turn once, unless TRIPS says how
often. The step is run three times and the third is reported.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import re
import shutil
import sys
import tempfile

import kernel_table as table

# Cycles from issue until a barrier that the instruction sets is free, by the beginning of its
# name; first match. From Luo et al., "Dissecting the NVIDIA Hopper Architecture" (arXiv
# 2402.13499), rounded; global memory answers from L2, which holds what a frame just wrote.
LATENCY = [('LDGSTS', 270), ('LDG', 270), ('ATOMG', 270), ('LD.', 270), ('LDL', 40), ('LDSM', 33),
           ('LDS', 29), ('LDC', 30), ('SHFL', 24), ('MUFU', 18), ('F2F.', 18), ('I2F', 18),
           ('F2I', 18), ('S2', 20), ('', 12)]
# A barrier that only tells that the operands have been read.
READ_LATENCY = 12
# Cycles for which an instruction keeps its pipe of one scheduler: 32 lanes over the lanes of the
# pipe. Shared memory gives 128 bytes a cycle to four schedulers. A matrix instruction of 16 x 8 x
# 16 takes 8 cycles of sm_80's tensor core (256 multiply-adds a cycle), and 6.4 on sm_90, where
# mma.sync reaches 62 % of what wgmma does.
PIPES = [(r'HMMA\.16816', 'matrix', {'80': 8, '86': 16, '89': 8}, 6.4),
         (r'MUFU|F2F\.|I2F|F2I|FRND', 'special', {}, 8),
         (r'LDSM\.\S*4', 'shared', {}, 16), (r'LDSM|LDS\.64|STS\.64|LDGSTS', 'shared', {}, 8),
         (r'(LDS|STS)\.128', 'shared', {}, 16), (r'LDS|STS|SHFL', 'shared', {}, 4),
         (r'FFMA|FMUL|FADD', 'fma', {}, 1), (r'IMAD', 'fma', {}, 2),
         (r'FSEL|FMNMX|FSETP|F2FP|LOP3|ISETP|IADD3|VIADD|SHF|LEA|SEL|PRMT|MOV|PLOP3', 'alu', {}, 2)]
LONG_WAIT = 100  # cycles; a shorter wait for global memory is hidden by two or three more warps
# Cycles of a warpgroup's product of 64 x N x 16, a quarter of which is a scheduler's: N / 2 at the rate
# of the data sheet (512 multiply-adds a cycle, Luo et al.). Of that rate the best attention known
# reaches 740 of 989 TFLOP/s (Shah et al., arXiv 2407.08608), and no more is credited here.
WGMMA = re.compile(r'HGMMA\.64x(\d+)x16')
WGMMA_SHARE = 0.75
# Threads of a block that do nothing but copy.
COPYING = {'attend_wgmma_kernel': 128}
MATRIX = 'HG?MMA'
# What a branch must not skip.
WORK = r'HG?MMA|FFMA|LD[GS]|ST[GS]|BAR|DEPBAR'
CONVERSION = r'F2F\.'
# How often a loop inside of a step turns, by the kernel and an instruction in the loop.
TRIPS = [('attend_kernel<attend_shape<256,', 'HMMA', 4),
         ('attend_kernel<attend_shape<256,64,4,2,64>>', 'LDGSTS', 2),
         ('gemm_exact_kernel', 'LDG', 4)]
# Kernels with a loop around that of a product, which also stores it: roofline.py knows what that takes.
INNER = ['norm_gemm_kernel']
# Of a device: multiprocessors, GHz, and per multiprocessor: registers, bytes of shared memory,
# threads, blocks; H100 SXM and A100.
DEVICE = {'90a': (132, 1.755, 65536, 228 << 10, 2048, 32),
          '80': (108, 1.41, 65536, 164 << 10, 2048, 32)}
HEAD = ['kernel of sm_{arch}', 'instructions', 'cycles', 'cycles, all warps', 'matrix',
        'matrix share %', 'conversions', 'waits', 'loads a wait', 'registers', 'spills',
        'shared memory', 'blocks', 'TFLOP/s']
# kernel (beginning, a regular expression) -> column -> (least, most); None: no limit. Numbers that do not lie ready are waited for.
LIMITS = {
    '': {'spills': (None, 0)},
    'attend_kernel': {'conversions': (None, 0), 'waits': (None, 4)},
    r'attend_kernel<attend_shape<[\d,]+,true>>': {'waits': (None, 1)},
    'attend_kernel<attend_shape<256,64,8': {'TFLOP/s': (400, None)},
    'attend_kernel<attend_kept_shape<256,64,8': {'TFLOP/s of sm_80': (250, None)},
    'attend_wgmma_kernel': {'conversions': (None, 0), 'waits': (None, 0), 'TFLOP/s': (450, None)},
    'attend_wgmma_kernel<wgmma_shape<256,': {'TFLOP/s': (550, None)},
    'gemm_kernel': {'conversions': (None, 0), 'waits': (None, 4)},
    r'gemm_kernel<[\d,]+,true,': {'waits': (None, 1)},
    'norm_gemm_kernel': {'conversions': (None, 0), 'waits': (None, 1)},
    'linear_skinny_kernel': {'waits': (None, 1), 'loads a wait': (4, None)},
}

Instruction = collections.namedtuple('Instruction', 'at guard name text stall sets reads waits')
LINE = re.compile(r'/\*([0-9a-f]{4,})\*/\s+(.*?);\s+/\* 0x(\w+) \*/\s+/\* 0x(\w+) \*/')


# ---- listings

def parse(listing):
    """mangled name -> instructions, of an output of cuobjdump -sass."""
    out = {}
    for part in listing.split('Function : ')[1:]:
        out[part.split(None, 1)[0]] = [decode(*m.groups()) for m in LINE.finditer(part)]
    return out


def decode(at, text, _, high):
    """Bits 105 to 125 of the 128: cycles to stall, yield, barrier set, barrier set when the
    operands are read (7: none), barriers waited for."""
    control = int(high, 16) >> 41
    m = re.match(r'(@\S+ )?(\S+)', text)
    return Instruction(int(at, 16), m[1] or '', m[2], text.strip(), control & 15,
                       control >> 5 & 7, control >> 8 & 7, control >> 11 & 63)


def target(one):
    """Where a branch leads; None: it is not one, or an indirect one."""
    m = re.match(r'(?:@\S+ )?BRA\S* .*?(0x[0-9a-f]+)\s*$', one.text)
    return int(m[1], 16) if m else None


def loops(code):
    """(first, last) of each loop: indices of its head and of the branch back to it."""
    index = {one.at: i for i, one in enumerate(code)}
    back = [(index[target(one)], i) for i, one in enumerate(code)
            if target(one) is not None and target(one) < one.at]
    return sorted(back, key=lambda loop: loop[0] - loop[1])  # the largest first


def count(code, pattern):
    return sum(bool(re.match(pattern, one.name)) for one in code)


def find_step(name, code):
    """The code that a kernel is judged by: (first, last), see above."""
    there = loops(code)
    if any(name.startswith(beginning) for beginning in INNER):
        there.reverse()
    for pattern in [MATRIX, 'FFMA', 'LDG']:
        most = max((count(code[a:b + 1], pattern) for a, b in there), default=0)
        if most:
            return next((a, b) for a, b in there if count(code[a:b + 1], pattern) == most)
    return 0, len(code) - 1


def trips(name, body):
    """How often a loop inside of the step turns."""
    for beginning, what, times in TRIPS:
        if name.startswith(beginning) and count(body, what) and not (
                what != 'HMMA' and count(body, MATRIX)):
            return times
    return 1


def trace(name, code, first, last):
    """The instructions of one step, in the order in which a warp issues them."""
    index = {one.at: i for i, one in enumerate(code)}
    turns, out, i = collections.Counter(), [], first
    while i <= last:
        one = code[i]
        out.append(one)
        to = index.get(target(one))
        if i == last or one.name == 'EXIT' and not one.guard:
            break
        if to is None:
            i += 1
        elif to <= i:
            turns[i] += 1
            again = turns[i] < trips(name, code[to:i + 1])
            turns[i] *= again
            i = to if again else i + 1
        elif to > last:
            i += 1
        else:
            i = to if not one.guard or not count(code[i + 1:to], WORK) else i + 1
    return out


# ---- the model

def first_of(pairs, name):
    return next(value for beginning, value in pairs if name.startswith(beginning))


def pipe_of(name, arch):
    """(pipe, cycles); None: it is no bottleneck."""
    for pattern, pipe, by_arch, cycles in PIPES:
        if re.match(pattern, name):
            return pipe, by_arch.get(arch, cycles)
    return None, 0


def products(one):
    """How many products of 16 x 8 x 16 a warp makes by it."""
    wide = WGMMA.match(one.name)
    return int(wide[1]) // 8 if wide else one.name.startswith('HMMA')


def use_of(one, arch):
    """[(pipe, cycles)]"""
    wide = WGMMA.match(one.name)
    if not wide:
        return [pipe_of(one.name, arch)]
    columns, rows = int(wide[1]), 0 if re.search(r'R\d+, R\d+, gdesc', one.text) else 64
    return [('matrix', columns / 2 / WGMMA_SHARE), ('shared', 32 * (columns + rows) / 128)]


def multiplying(name, threads):
    """The threads of a block that do not only copy."""
    return threads - next((n for begin, n in COPYING.items() if name.startswith(begin)), 0)


class Warp:
    """One warp that issues in order."""

    def __init__(self, arch):
        self.arch, self.now = arch, 0.0
        self.free = collections.Counter()     # pipe -> when it takes the next
        self.barrier = [(0.0, False)] * 6     # when it is free, whether global memory frees it
        self.copies, self.groups = 0.0, []    # cp.async: the last copy's end; of each group
        self.products = []                    # of a warpgroup: the end of each group
        self.waits = []                       # (instruction, cycles) for global memory

    def wait_until(self, one, when, is_global):
        if when > self.now and is_global and when - self.now > LONG_WAIT:
            self.waits.append((one, when - self.now))
        self.now = max(self.now, when)

    def issue(self, one):
        for b in range(6):
            if one.waits >> b & 1:
                self.wait_until(one, *self.barrier[b])
        m = re.match(r'DEPBAR\.LE SB0, (\w+)', one.text)
        if m and len(self.groups) > int(m[1], 16):
            self.wait_until(one, self.groups[-1 - int(m[1], 16)], True)
        if WGMMA.match(one.name):
            self.multiply(one)
            return
        m = re.match(r'WARPGROUP\.DEPBAR\.LE gsb0, (\w+)', one.text)
        if m and len(self.products) > int(m[1], 16):
            self.now = max(self.now, self.products[-1 - int(m[1], 16)])
        pipe, cycles = pipe_of(one.name, self.arch)
        self.now = max(self.now, self.free[pipe] if pipe else 0)
        if pipe:
            self.free[pipe] = self.now + cycles
        done = self.now + first_of(LATENCY, one.name) + cycles
        if one.name.startswith('LDGSTS'):
            self.copies = done
        elif one.name == 'LDGDEPBAR':
            self.groups.append(self.copies)
        elif one.sets < 6:
            is_global = re.match(r'LDG|ATOMG|LD\.', one.name) is not None
            self.barrier[one.sets] = max(self.barrier[one.sets], (done, is_global))
        if one.reads < 6:
            self.barrier[one.reads] = max(self.barrier[one.reads],
                                          (self.now + READ_LATENCY, False))
        self.now += max(one.stall, 1)


    def multiply(self, one):
        """A product that runs on its own; its last of a group says so."""
        for pipe, cycles in use_of(one, self.arch):
            self.free[pipe] = max(self.now, self.free[pipe]) + cycles
        if 'gsb0' in one.text:
            self.products.append(self.free['matrix'] + first_of(LATENCY, one.name))
        self.now += max(one.stall, 1)


def run(steps, arch):
    """Cycles of the third turn of a step, and its waits for global memory."""
    warp = Warp(arch)
    for turn in range(3):
        begin = warp.now
        warp.waits = []
        for one in steps:
            warp.issue(one)
    return warp.now - begin, warp.waits


def demand(steps, arch):
    """Cycles of the busiest pipe, or of the issue."""
    use = collections.Counter({'issue': len(steps)})
    for one in steps:
        for pipe, cycles in use_of(one, arch):
            use[pipe] += cycles
    return max(use.values())


def blocks_fit(arch, registers, shared, threads):
    """How many blocks a multiprocessor holds; registers come in 256 a warp, shared memory in
    pieces of 128 bytes, and a block costs 1 KiB beside."""
    _, _, regs, room, most_threads, most = DEVICE[arch]
    warps = -(-threads // 32)
    a_warp = -(-registers * 32 // 256) * 256
    return min(most, most_threads // (32 * warps), regs // (a_warp * warps or 1),
               room // (-(-shared // 128) * 128 + 1024))


def judge(name, code, arch, registers=0, spills=0, shared=0, threads=0, show=None):
    """The row of a kernel."""
    first, last = find_step(name, code)
    steps = trace(name, code, first, last)
    cycles, waits = run(steps, arch)
    if show:
        for one, wait in waits:
            print(f'{name}: {wait:.0f} cycles at {one.at:x}: {one.text}', file=show)
    matrix = sum(products(one) for one in steps)
    blocks = blocks_fit(arch, registers, shared, threads) if threads else 0
    warps = max(blocks * multiplying(name, threads) / 32 / 4, 1)  # of a scheduler
    all_warps = max(cycles / warps, demand(steps, arch))
    sms, ghz = DEVICE[arch][:2]
    tflops = matrix * 2 * 16 * 8 * 16 / all_warps * 4 * sms * ghz / 1000
    loads = count(steps, 'LDG')
    return [f'`{name}`', len(steps), round(cycles), round(all_warps), matrix,
            round(100 * count(steps, MATRIX) / len(steps)), count(code, CONVERSION), len(waits),
            round(loads / len(waits), 1) if waits else '-', registers or '-', spills,
            shared, blocks or '-', round(tflops) if matrix else '-']


def wrong(rows, arch='90a'):
    """What rows of the table say that LIMITS do not allow; a rate is one of sm_90a or of what is named."""
    head, out = HEAD[1:], []
    for row in rows:
        fact = dict(zip(head, row[1:]))
        for beginning, limits in LIMITS.items():
            for column, (least, most) in limits.items():
                column, _, device = column.partition(' of sm_')
                value = fact[column]
                if not re.match(beginning, row[0].strip('`')) or value in ('-', '') or (
                        column == 'TFLOP/s' and arch != (device or '90a')):
                    continue
                if least is not None and float(value) < least:
                    out.append(f'{row[0]}: {column} {value}, at least {least}')
                if most is not None and float(value) > most:
                    out.append(f'{row[0]}: {column} {value}, at most {most}')
    return out


# ---- the table

BEGIN = '## Machine code'
CLAIM = """Estimated from the machine code by `tools/sass_model.py`, whose head states the model: one warp that
issues in order. Not measured. *Instructions* and *cycles* are of one turn of the kernel's main loop (of
all its code if it has none), *cycles, all warps* is a turn's share of a scheduler if all warps that fit
overlap; *matrix* counts products of 16 x 8 x 16; *conversions* are those of the whole kernel that run at the
rate of special functions; *waits* are stops of more than {wait} cycles for global memory, *loads a wait*
the global loads under way together. *Blocks* fit one multiprocessor. The last column is what the tensor
cores reach on {sms} multiprocessors at {ghz} GHz. The script fails if a kernel is beyond its limits.
"""


def begin_of(arch):
    return BEGIN if arch == '90a' else f'{BEGIN}, sm_{arch}'


def read_rows(text, arch='90a'):
    part = table.section(text, begin_of(arch))
    return [[cell.strip() for cell in line.strip('|').split('|')]
            for line in part.splitlines() if line.startswith('| `')]


def write_rows(path, arch, rows, sources):
    """Rows of other sources stay; the second cell of every line is the source."""
    text = path.read_text() if path.exists() else ''
    sources_of = {row[1]: row[0] for row in table.read(path)}
    mine = {str(row[0]) for row in rows}
    old = [row for row in read_rows(text, arch) if row[0] not in mine and row[0] in sources_of
           and sources_of[row[0]].removesuffix('.cu') not in sources]
    new = sorted([[str(cell) for cell in row] for row in rows] + old)
    sms, ghz = DEVICE[arch][:2]
    lines = [begin_of(arch), '', CLAIM.format(wait=LONG_WAIT, sms=sms, ghz=ghz),
             '| ' + ' | '.join(HEAD).format(arch=arch) + ' |', '|' + '---|' * len(HEAD)]
    lines += ['| ' + ' | '.join(row) + ' |' for row in new]
    path.write_text(table.with_section(text, begin_of(arch), '\n'.join(lines)))
    return new


def check(path):
    bad, count, text = [], 0, path.read_text()
    there = {row[1] for row in table.read(path)}
    for arch in DEVICE:
        rows = read_rows(text, arch)
        if not rows and arch != '90a':
            continue
        told = {row[0] for row in rows}
        bad += wrong(rows, arch)
        bad += [f'{name}: not in the table of sm_{arch}' for name in sorted(there - told)]
        bad += [f'{name}: no such kernel' for name in sorted(told - there)]
        for beginning in LIMITS:
            if not any(re.match('`' + beginning, name) for name in told):
                bad.append(f'{beginning}: no kernel of this name')
        count += len(rows)
    print('\n'.join([f'{count} kernels, {len(bad)} wrong', *bad]))
    return bool(bad)


def compiled(nvcc, cuobjdump, source, arch, folder, shared_of, show):
    facts = table.compile_one(nvcc, cuobjdump, source, arch, folder)
    cubin = folder / f'{source.stem}.{arch}.cubin'
    codes = parse(table.run([cuobjdump, '-sass', cubin]).stdout)
    elf = table.run([cuobjdump, '-elf', cubin]).stdout
    threads = {}
    for part in re.split(r'^\.nv\.info\.', elf, flags=re.M)[1:]:
        m = re.search(r'EIATTR_MAX_THREADS\s+Format:\s+\S+\s+Value:\s+(\w+) (\w+) (\w+)', part)
        if m:
            threads[part.split(None, 1)[0]] = int(m[1], 16) * int(m[2], 16) * int(m[3], 16)
    names = table.plain(list(facts))
    return [judge(names[mangled], codes[mangled], arch, fact['registers'], fact['spills'],
                  max(shared_of.get(f'`{names[mangled]}`', 0), fact['shared']),
                  threads.get(mangled, 0), show)
            for mangled, fact in facts.items()]


def print_rows(rows, arch):
    print('\t'.join(HEAD).format(arch=arch))
    for row in sorted(rows):
        print('\t'.join(str(cell) for cell in row))


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument('--arch', default='90a', choices=DEVICE)
    p.add_argument('--nvcc', default=shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc')
    p.add_argument('--source', action='append', default=[])
    p.add_argument('--output')
    p.add_argument('--check')
    p.add_argument('--listing')
    p.add_argument('--trace', action='store_true')
    a = p.parse_args()
    show = sys.stderr if a.trace else None
    if a.check:
        return check(pathlib.Path(a.check))
    if a.listing:
        codes = parse(pathlib.Path(a.listing).read_text())
        names = table.plain(list(codes))
        rows = [judge(names[m], code, a.arch, show=show) for m, code in codes.items()]
    else:
        table.FLAGS.extend(['-I', str(table.ROOT / 'build/engine/include')])  # version.h, of a configured build
        path = pathlib.Path(a.output or table.ROOT / 'docs/KERNELS.md')
        shared_of = {row[1]: int(row[7]) for row in table.read(path)} if path.exists() else {}
        cuobjdump = table.find_cuobjdump(a.nvcc)
        sources = [s for s in sorted((table.ROOT / 'cuda').glob('*.cu'))
                   if not a.source or s.stem in a.source]
        with tempfile.TemporaryDirectory() as tmp, \
                concurrent.futures.ThreadPoolExecutor(2) as pool:
            parts = pool.map(lambda s: compiled(a.nvcc, cuobjdump, s, a.arch, pathlib.Path(tmp),
                                                shared_of, show), sources)
            rows = list({row[0]: row for part in parts for row in part}.values())
        if a.output:
            write_rows(path, a.arch, rows, a.source)
    print_rows(rows, a.arch)
    bad = wrong(rows, a.arch)
    print('\n'.join([f'{len(rows)} kernels, {len(bad)} wrong', *bad]))
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
