#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs nvcc; where $SAMTRACK_NVCC_CACHE names a folder, what it made of the same sources is taken from there.

nvcc.py ROOT NVCC ARGUMENTS -MF DEPFILE ... -o OBJECT, ROOT: of the sources. The kernels take minutes to compile, and what has no
change in cuda/ need not compile them: an object is kept under a hash of the command and of all files of ROOT that it includes.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

KEPT = 400  # objects; the oldest go


def get_digest(*parts):
    return hashlib.sha256(b'\0'.join(parts)).hexdigest()[:40]


def read_dependencies(depfile, root):
    """The files of ROOT that a make rule names, without those that a build makes."""
    names = depfile.read_text().replace('\\\n', ' ').split(':', 1)[1].split()
    paths = {os.path.relpath(os.path.realpath(name), root) for name in names}
    return sorted(path for path in paths if not path.startswith('..'))


def hash_files(first, root, paths):
    try:
        return get_digest(first.encode(), *((root / path).read_bytes() for path in paths))
    except OSError:
        return None  # one is gone: not the same sources


def store(cache, made, name):
    part = cache / f'{name}.{os.getpid()}'
    shutil.copyfile(made, part)
    part.rename(cache / name)


def drop_oldest(cache):
    for path in sorted(cache.iterdir(), key=lambda path: path.stat().st_mtime)[:-2 * KEPT]:
        path.unlink(missing_ok=True)


def compile_cached(cache, root, command):
    depfile, made = (pathlib.Path(command[command.index(option) + 1]) for option in ('-MF', '-o'))
    version = subprocess.run([command[0], '--version'], capture_output=True, check=True).stdout
    told = ' '.join(command).replace(str(root), '@').replace(os.path.relpath(root), '@')
    first = get_digest(version, told.encode())
    listed = cache / f'{first}.d'
    if listed.exists():
        rule = listed.read_text().replace('@ROOT@', str(root))
        depfile.write_text(rule)
        second = hash_files(first, root, read_dependencies(depfile, root))
        if second and (cache / f'{second}.o').exists():
            shutil.copyfile(cache / f'{second}.o', made)
            os.utime(cache / f'{second}.o')
            return 0
    status = subprocess.call(command)
    if status == 0:
        # Paths in the rule are the root's, or relative to the build folder.
        paths = read_dependencies(depfile, root)
        cache.mkdir(parents=True, exist_ok=True)
        (cache / f'{first}.{os.getpid()}').write_text(f'{made}: ' + ' '.join(f'@ROOT@/{path}' for path in paths) + '\n')
        (cache / f'{first}.{os.getpid()}').rename(listed)
        store(cache, made, f'{hash_files(first, root, paths)}.o')
        drop_oldest(cache)
    return status


def main():
    cache = os.environ.get('SAMTRACK_NVCC_CACHE')
    root, command = pathlib.Path(os.path.realpath(sys.argv[1])), sys.argv[2:]
    return compile_cached(pathlib.Path(cache), root, command) if cache else subprocess.call(command)


if __name__ == '__main__':
    sys.exit(main())
