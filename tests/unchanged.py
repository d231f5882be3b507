#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which tests need not run again: all that they read is what they passed on before.

Only tests that draw nothing, know no time, and whose threads, if any, do not matter: those of the suites below; of elements those
that need no other program. What such a test reads is taken to be its command and environment, the files and folders named there, the
programs it depends on, every shared library of the build folder, and all scripts and shared goldens."""
import collections
import hashlib
import json
import os
import pathlib
import re

SUITES = {'detect', 'emu', 'gst', 'model', 'ops', 'seed', 'track', 'words'}
NOT = {'threads'}  # what happens there differs from run to run
DRAWN = {'emu mutants'}  # others each time
WRITTEN = {'GST_REGISTRY'}  # variables that name what a test writes
VARIABLES = ('EMU_', 'SAMTRACK_', 'ASAN_', 'UBSAN_', 'TSAN_', 'LD_')
FILE = 'unchanged.json'


class Unchanged:
    def __init__(self, build):
        self.build, self.root = build.resolve(), pathlib.Path(__file__).resolve().parent.parent
        self.file = build / 'meson-logs' / FILE
        self.digests = {}
        try:
            self.passed = json.loads(self.file.read_text())  # key of each test's last pass
        except (OSError, ValueError):
            self.passed = {}
        info = build / 'meson-info'
        read = lambda name: json.loads((info / name).read_text()) if info.is_dir() else []
        self.targets = {t['id']: t['filename'] for t in read('intro-targets.json')}
        listed = read('intro-tests.json')
        names = collections.Counter(t['name'] for t in listed)
        self.tests = {t['name']: t for t in listed if names[t['name']] == 1}  # where two have one, nobody knows which is meant
        self.common = self.get_common()
        self.keys = {}  # of the tests of this run

    def get_digest(self, path):
        """Of a file, or of all files of a folder."""
        if path not in self.digests:
            digest = hashlib.blake2b()
            if path.is_dir():
                for inner in sorted(p for p in path.rglob('*') if p.is_file()):
                    digest.update(f'{inner.relative_to(path)} {self.get_digest(inner)}\n'.encode())
            else:
                with open(path, 'rb') as f:
                    while block := f.read(1 << 20):
                        digest.update(block)
            self.digests[path] = digest.hexdigest()
        return self.digests[path]

    def get_common(self):
        """What any test may read: scripts, libraries, shared goldens (these by their times, as they are large)."""
        digest = hashlib.blake2b()
        scripts = [p for part in ('tests', 'tools') for kind in ('*.py', '*.sh') for p in (self.root / part).rglob(kind)]
        for path in sorted(scripts) + sorted(self.build.rglob('*.so*')):
            if path.is_file():
                digest.update(self.get_digest(path).encode())
        golden = pathlib.Path(os.environ.get('SAMTRACK_GOLDEN', self.root.parent / 'shared/golden'))
        for path in sorted(golden.rglob('*')):
            digest.update(f'{path} {path.stat().st_size} {path.stat().st_mtime_ns}\n'.encode())
        for name, value in sorted(os.environ.items()):
            if name.startswith(VARIABLES):
                digest.update(f'{name}={value}\n'.encode())
        return digest.hexdigest()

    def get_key(self, name):
        """Of what the test reads; None: it is to run each time."""
        test = self.tests.get(name)
        suites = {s.split(':')[-1] for s in test['suite']} if test else set()
        if not suites & SUITES or suites & NOT or {'gst', 'nosan'} <= suites or name in DRAWN:
            return None
        digest = hashlib.blake2b(self.common.encode())
        digest.update(json.dumps([test['cmd'], test['env'], test['workdir']], sort_keys=True).encode())
        named = [value for name, value in test['env'].items() if name not in WRITTEN]
        words = [*test['cmd'], *named, *(f for t in test['depends'] for f in self.targets.get(t, []))]
        folder = pathlib.Path(test['workdir'] or self.build)
        for word in sorted({part for word in words for part in re.split('[=,:]', word)}):
            path = folder / word
            # The build folder itself is named for its libraries, which are among what is common.
            if word and path.exists() and path.resolve() not in (self.build, self.root):
                digest.update(self.get_digest(path.resolve()).encode())
        return digest.hexdigest()

    def find(self, names):
        """Those of these tests that need not run."""
        self.keys = {name: key for name in names if (key := self.get_key(name))}
        return [name for name, key in self.keys.items() if self.passed.get(name) == key]

    def note(self, name, passed):
        self.passed.pop(name, None)
        if passed and name in self.keys:
            self.passed[name] = self.keys[name]

    def save(self):
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(json.dumps(self.passed))
