# SPDX-License-Identifier: MIT
"""What tests/bench/gpu.py writes down: report.md (tables), report.json (which tools/kernel_table.py
--gpu reads), each process's output in logs/, and report.tar.gz of all that. All of it is written
again after everything that was tried, so that a run that is cut off has lost nothing."""

import collections
import datetime
import json
import os
import re
import signal
import subprocess
import tarfile
import threading
import time

Done = collections.namedtuple('Done', 'status out err')
LATE = 124
MIB = 1 << 20
LONGEST = 30  # operations in a table
START = 10  # seconds: a unit that begins this early may have all the time of a command
HURRY = float(os.environ.get('SAMTRACK_GPU_HURRY', 1))  # on all times, for the test of these scripts


class Cut(Exception):
    """The time of this command is over; what was under way is not done."""


def device():
    asked = ['nvidia-smi', '--query-gpu=name,driver_version,clocks.max.sm,power.limit',
             '--format=csv,noheader']
    try:
        return subprocess.run(asked, capture_output=True, text=True, timeout=60).stdout.strip() \
            or 'unknown'
    except (OSError, subprocess.TimeoutExpired):
        return 'unknown'


def last_line(done):
    if done.status == LATE:
        return done.err.splitlines()[-1]
    lines = (done.out.strip() or done.err.strip()).splitlines()
    return lines[-1] if lines else f'ended with {done.status}'


def last_json(done):
    """(the JSON on the last line that is JSON, None), or (None, why there is none)."""
    for line in reversed(done.out.splitlines()):
        if line.startswith('{'):
            try:
                return json.loads(line), None
            except ValueError:
                pass
    said = (done.err or done.out).strip().splitlines()
    return None, said[-1] if said else f'ended with {done.status}'


class Here(threading.local):
    """What a thread is at: its unit, what it adds to the environment, and to the names that it tells; the most seconds
    of a process of it."""
    unit, is_first, environment, suffix, most = None, True, {}, '', None


def call(command, seconds, environment):
    """A process with all that it starts, ended after so many seconds."""
    try:
        p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             errors='replace', stdin=subprocess.DEVNULL, env=environment,
                             start_new_session=True)
    except OSError as e:
        return Done(127, '', str(e))
    try:
        out, err = p.communicate(timeout=seconds)
        return Done(p.returncode, out, err)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)  # a script's children, too: they hold its output open
        out, err = p.communicate()
        return Done(LATE, out, f'{err}\nstopped after {seconds:.0f} s')


class Report:
    def __init__(self, out, minutes, keep):
        self.out = out
        self.began = time.monotonic()
        self.seconds = 60 * minutes * HURRY if minutes else None  # of this command; None: no limit
        (out / 'logs').mkdir(parents=True, exist_ok=True)
        self.facts = {'date': datetime.date.today().isoformat(), 'device': device(), 'ops': {},
                      'sanitizer': {}, 'goldens': {}, 'speed': {}, 'operations': {}, 'peer': {},
                      'kernels': {}, 'judged': [], 'lines': [], 'done': {}}
        if keep and (out / 'report.json').exists():
            kept = json.loads((out / 'report.json').read_text())
            if kept['device'] != self.facts['device']:
                raise SystemExit(f"{out}: is of another device, {kept['device']}: choose another --out")
            self.facts.update(kept)
        self.here, self.lock = Here(), threading.RLock()  # units may run beside each other

    def left(self):
        return None if self.seconds is None else self.began + self.seconds - time.monotonic()

    # ---- lines and judgements, each told once: a unit that is repeated replaces its own

    def line(self, what, good, words=''):
        """good: None where it could not be tried."""
        verdict = 'skipped' if good is None else 'ok' if good else 'FAILED'
        what += self.here.suffix
        with self.lock:
            self.facts['lines'].append([what, verdict, words, self.here.unit])
            print(f'{what:44} {verdict:8} {words}', flush=True)

    def judge(self, what, got, wanted, most=True):
        good = None if got is None else got <= wanted if most else got >= wanted
        with self.lock:
            self.facts['judged'].append({'what': what + self.here.suffix, 'got': got, 'wanted': wanted,
                                         'most': most, 'good': good, 'unit': self.here.unit})
        sign = '<=' if most else '>='
        self.line(what, good, f'{"-" if got is None else f"{got:.3f}"}, wanted {sign} {wanted}')

    def failed(self):
        return sum(verdict == 'FAILED' for _, verdict, *_ in self.facts['lines'])

    def note(self, kind, name, fact):
        with self.lock:
            self.facts[kind][name + self.here.suffix] = fact

    def forget(self, unit):
        with self.lock:
            self.facts['lines'] = [x for x in self.facts['lines'] if x[3] != unit]
            self.facts['judged'] = [x for x in self.facts['judged'] if x['unit'] != unit]

    # ---- work

    def do(self, unit, seconds, f, *args):
        """f(report, *args), whatever becomes of it, unless fewer than the seconds that it needs
        are left. False: it is for the next command."""
        left = self.left()
        self.here.is_first = time.monotonic() - self.began <= START * HURRY
        if left is not None and left < seconds * HURRY and not self.here.is_first:
            return False
        self.here.unit = unit
        self.forget(unit)
        try:
            f(self, *args)
        except Cut:
            self.forget(unit)
            self.save()
            return False
        except Exception as e:  # the rest goes on
            self.line(unit, False, f'{type(e).__name__}: {e}')
        with self.lock:
            self.facts['done'][unit] = datetime.datetime.now().isoformat(timespec='seconds')
        self.save()
        return True

    def run(self, name, command, limit, **environment):
        left, limit = self.left(), min(limit, self.here.most or limit) * HURRY
        if left is not None and left <= 0:
            raise Cut
        seconds = limit if left is None else min(limit, left)
        command, began = [str(c) for c in command], time.monotonic()
        mine = self.here.environment
        both = {k: f'{environment[k]},{mine[k]}' for k in mine if k in environment}  # lists of what is switched off
        done = call(command, seconds, {**os.environ, **environment, **mine, **both})
        log = self.out / 'logs' / (re.sub(r'[^\w.+-]+', '_', name + self.here.suffix) + '.log')
        log.write_text(f'{" ".join(command)}\nstatus {done.status}, '
                       f'{time.monotonic() - began:.1f} s\n\n{done.out}\n{done.err}\n')
        if done.status == LATE and seconds < limit and not self.here.is_first:
            raise Cut
        return done

    def save(self):
        with self.lock:
            self.save_all()

    def save_all(self):
        (self.out / 'report.json').write_text(json.dumps(self.facts, indent=1) + '\n')
        (self.out / 'report.md').write_text(document(self.facts))
        half = self.out / 'report.tar.gz.new'
        with tarfile.open(half, 'w:gz') as tar:
            for name in ('report.md', 'report.json', 'logs'):
                tar.add(self.out / name, f'report/{name}')
        half.replace(self.out / 'report.tar.gz')


# ---- tables

def table(head, rows):
    return ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)] + \
        ['| ' + ' | '.join('-' if c is None else str(c).replace('|', '/') for c in row) + ' |'
         for row in rows] + ['']


def fixed(x, digits=3):
    return None if x is None else f'{x:.{digits}f}'


def best_of(peer):
    return min((t for t in (peer.get('p50_ms'), peer.get('compiled_p50_ms')) if t), default=None)


def speed_rows(facts):
    for key, ours in facts['speed'].items():
        its = ours if isinstance(ours, dict) else {}
        peer = facts['peer'].get(key.replace(', device frames', ''))
        peer = peer if isinstance(peer, dict) else {'failed': peer}
        best, p50 = best_of(peer), its.get('p50_ms')
        told = facts['operations'].get(key)
        told = sum(o[3] for o in told['operations']) / 1e3 if isinstance(told, dict) else None
        yield [key, p50, its.get('p95_ms'), its.get('p99_ms'), its.get('first_ms'),
               its.get('cold_ms'), f"{its['bytes_used'] / MIB:.0f}" if 'bytes_used' in its else None, fixed(told),
               peer.get('p50_ms'), peer.get('compiled_p50_ms'),
               f'{best / p50:.2f}' if best and p50 else None,
               '; '.join(w for w in (None if its else ours, peer.get('failed')) if w)]


def operation_tables(facts):
    """Of each stream the operations that take the most time."""
    lines = []
    for key, its in facts['operations'].items():
        lines += [f'### {key}', '']
        if not isinstance(its, dict):
            lines += [str(its), '']
            continue
        ops, whole = its['operations'], sum(o[3] for o in its['operations'])
        recorded = facts['speed'].get(key)
        frame = f"{recorded['p50_ms']:.3f} ms recorded" if isinstance(recorded, dict) else 'not timed'
        lines += [f"{whole / 1e3:.3f} ms in {sum(o[2] for o in ops):.0f} operations, one by one; the whole frame: "
                  f'{frame}; the same without a record: {its["p50_ms"]:.3f} ms.', '']
        lines += table(['operation', 'shape', 'calls', 'us', 'share', 'Tflop/s', 'GB/s', 'cuBLASLt'], [
            [name, shape, f'{calls:.0f}', f'{us:.1f}', f'{us / whole:.1%}' if whole else None,
             f'{1e3 * gflop / us:.1f}' if us and gflop else None, f'{1e3 * mb / us:.0f}' if us else None,
             'yes' if library else '']
            for name, shape, calls, us, gflop, mb, library in ops[:LONGEST]])
    return lines


def kernel_rows(facts):
    theirs = facts['peer'].get('kernels')
    cases = theirs.get('cases', {}) if isinstance(theirs, dict) else {}
    for name, (us, rate, unit) in facts['kernels'].items():
        libraries = cases.get(name, {})
        best = min((t for t in libraries.values() if isinstance(t, float)), default=None)
        yield [name, us, rate, unit, '; '.join(f'{k} {v:.2f}' if isinstance(v, float) else f'{k}: {v}'
                                               for k, v in libraries.items()),
               f'{best / us:.2f}' if best else None]


def document(facts):
    judged = [[j['what'], fixed(j['got']), ('<= ' if j['most'] else '>= ') + str(j['wanted']),
               {True: 'yes', False: 'NO', None: 'not tried'}[j['good']]] for j in facts['judged']]
    lines = ['# One run on a GPU', '', f"{facts['device']}, {facts['date']}.", '',
             '## What is asked for', '', *table(['figure', 'got', 'wanted', 'holds'], judged),
             '## Frames', '',
             *table(['model', 'p50 ms', 'p95', 'p99', 'first', 'cold', 'MiB', 'operations one by one',
                     'published p50', 'compiled p50', 'ratio', 'words'], speed_rows(facts)),
             '## Operations of a frame', '', *operation_tables(facts),
             '## Kernels', '', '20 calls in a graph, each on other buffers, us of one; the ratio is of the best '
             'library over ours.', '',
             *table(['case', 'us', 'rate', 'unit', 'libraries, us', 'ratio'], kernel_rows(facts)),
             '## Everything that was tried', '',
             *table(['what', 'verdict', 'words'], [x[:3] for x in facts['lines']])]
    return '\n'.join(lines) + '\n'
