#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs `meson test` and tells how far it is; a test that fails is told at once.
usage: progress.py [--again] NAME BUILD [ARGUMENTS of meson test]
       progress.py --targets BUILD [--suite SUITE] [--no-suite SUITE]...
Prints to standard error, and last to standard output: passed failed skipped. A test that passed before on all that it reads
(unchanged.py) counts as passed and does not run, but with --again. --targets: what the tests that `meson test`
would run with these options need, for ninja."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import unchanged

SHOWN = 3000  # bytes of what a failed test printed, of each stream
EVERY = 30  # seconds between two lines of progress
CORES = len(os.sched_getaffinity(0))
# LeakSanitizer's own fault at the end of a program says nothing of the test, which runs again. tests/meson.build avoids the one whose
# cause is known.
BROKEN = 'LeakSanitizer has encountered a fatal error'
TRIES = 4
PROCESSES = CORES + 4  # some tests wait for most of their time: no core shall


def tell(text):
    print(text, file=sys.stderr, flush=True)


class Run:
    def __init__(self, name, build, arguments, again=False):
        self.name, self.build, self.arguments = name, build, arguments
        self.fresh = again
        self.log = build / 'meson-logs' / f'{name}.json'
        self.durations_file = build / 'meson-logs' / 'durations.json'
        self.verdicts = {'passed': 0, 'failed': 0, 'skipped': 0}
        self.again = []  # names of tests that broke in this try
        self.tries = 1
        self.read = 0  # bytes of the log
        self.started = self.told = time.monotonic()
        try:
            self.durations = json.loads(self.durations_file.read_text())  # of the last run
        except (OSError, ValueError):
            self.durations = {}
        listed = subprocess.run(['meson', 'test', '-C', build, '--no-rebuild', '--list', *arguments], capture_output=True, text=True)
        self.left = [line.split(' / ', 1)[-1] for line in listed.stdout.splitlines() if ' / ' in line]
        self.unchanged = unchanged.Unchanged(build)

    def take(self, test):
        verdict = ('passed' if test['result'] in ('OK', 'EXPECTEDFAIL') else 'skipped' if test['result'] == 'SKIP' else 'failed')
        name = test['name'].split(' / ', 1)[-1]
        if verdict == 'failed' and BROKEN in test.get('stderr', '') and self.tries < TRIES:
            self.again.append(name)
            return
        self.verdicts[verdict] += 1
        self.unchanged.note(name, verdict == 'passed')
        self.durations[name] = test['duration']
        if name in self.left:
            self.left.remove(name)
        if verdict == 'failed':
            tell(f'FAILED: {name}, {test["result"].lower()} after {test["duration"]:.0f} s\n'
                 f'{test.get("stdout", "")[-SHOWN:]}{test.get("stderr", "")[-SHOWN:]}')

    def take_new(self):
        try:
            with open(self.log, 'rb') as f:
                f.seek(self.read)
                text = f.read()
        except FileNotFoundError:
            return
        end = text.rfind(b'\n') + 1
        self.read += end
        for line in text[:end].splitlines():
            self.take(json.loads(line))

    def get_minutes_left(self):
        """By what the tests took last time; of those that are new, by what the others took now."""
        done = sum(self.verdicts.values())
        passed = time.monotonic() - self.started
        known = [self.durations[name] for name in self.left if name in self.durations]
        if len(known) < len(self.left) / 2:
            return passed / max(done, 1) * len(self.left) / 60
        return sum(known) / len(known) * len(self.left) / CORES / 60 if known else 0

    def tell_progress(self):
        done = sum(self.verdicts.values())
        if time.monotonic() < self.told + EVERY or not self.left:
            return
        self.told = time.monotonic()
        failed = f', {self.verdicts["failed"]} failed' if self.verdicts['failed'] else ''
        tell(f'   {self.name}: {done} of {done + len(self.left)}{failed}, about {self.get_minutes_left():.0f} min left')

    def run_tests(self, said, *names):
        self.log.unlink(missing_ok=True)
        self.read = 0
        process = subprocess.Popen(['meson', 'test', '-C', self.build, '--no-rebuild', '--logbase', self.name,
                                    '--num-processes', str(PROCESSES), *self.arguments, *names],
                                   stdout=said, stderr=subprocess.STDOUT)
        running = True
        while running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
                running = False
            self.take_new()
            self.tell_progress()

    def pass_over(self):
        """Count those that passed before on all that they read. Returns the names of the others; none: all are to run."""
        same = self.unchanged.find(self.left)
        if self.fresh or not same:
            return []
        tell(f'   {self.name}: {len(same)} of {len(self.left)} passed before on the same programs and data, and do not run again')
        self.left = [name for name in self.left if name not in set(same)]
        self.verdicts['passed'] += len(same)
        return list(dict.fromkeys(self.left))  # meson runs what is named twice twice

    def run(self):
        said = tempfile.TemporaryFile('w+')
        names = self.pass_over()
        if self.left:
            self.run_tests(said, *names)
        while self.again:
            names, self.again = self.again, []
            self.tries += 1
            tell(f'   {self.name}: again, as LeakSanitizer broke: {", ".join(names)}')
            self.run_tests(said, *names)
        if not sum(self.verdicts.values()):
            said.seek(0)
            tell(f'FAILED: {self.name}: no test ran: {said.read()[-SHOWN:]}')
            self.verdicts['failed'] = 1
        elif self.left:
            tell(f'FAILED: {self.name}: {len(self.left)} tests did not run: {", ".join(self.left[:5])}')
            self.verdicts['failed'] += len(self.left)
        self.durations_file.write_text(json.dumps(self.durations))
        self.unchanged.save()
        print(*self.verdicts.values())


def print_targets(build, options):
    """What the tests need that `meson test` runs with these options, --suite NAME and --no-suite NAME."""
    only, without = ({name for kind, name in zip(options[::2], options[1::2]) if kind == wanted} for wanted in ('--suite', '--no-suite'))
    files = {t['id']: t['filename'] for t in json.loads((build / 'meson-info/intro-targets.json').read_text())}
    wanted = set()
    for test in json.loads((build / 'meson-info/intro-tests.json').read_text()):
        own = {s.split(':')[-1] for s in test['suite']}
        if (not only or own & only) and not own & without:
            wanted.update(name for target in test['depends'] for name in files.get(target, []))
    print(*(pathlib.Path(name).relative_to(build.resolve()) for name in sorted(wanted)))


if __name__ == '__main__':
    if len(sys.argv) < 3 + ('--again' in sys.argv):
        sys.exit(__doc__)
    if sys.argv[1] == '--targets':
        print_targets(pathlib.Path(sys.argv[2]), sys.argv[3:])
        sys.exit()
    words = [word for word in sys.argv[1:] if word != '--again']
    try:
        Run(words[0], pathlib.Path(words[1]), words[2:], len(words) < len(sys.argv) - 1).run()
    except KeyboardInterrupt:  # Ctrl-C: meson got it, too
        sys.exit(128 + signal.SIGINT)
