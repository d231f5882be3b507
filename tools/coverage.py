#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lines and branches that the tests reach, per folder of engine/, gst/ and pipelines/live.
usage: coverage.py BUILD [BEFORE [FILES]]
    BUILD: a folder in which tests have run, as tools/coverage.sh sets it up
    BEFORE: what this printed of another state; each percentage is then shown beside its own, and the status is 1 if one of them
    has fallen, 2 if nothing could be compared
    FILES: the names of that state's files, a line each. Of a file that is not among them (by its own name: files move) it is told
    apart, in a row FOLDER+new, which nothing is compared with
A line counts once, in whatever program it is compiled into; so does each way out of a branch. Prints a table: folder, lines, of
them reached, percent, branches, of them taken, percent.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = re.compile(r'(engine/[^/]+|gst|pipelines/live)/')


def fail(text):
    print(f'coverage.py: {text}', file=sys.stderr)
    sys.exit(2)


def read(data):
    """What gcov tells of the programs that an object file was run in."""
    done = subprocess.run(['gcov', '--json-format', '--stdout', '--branch-probabilities', data.name], cwd=data.parent,
                          capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f'{data}: gcov: {done.stderr.strip()}')
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]


def name_of(file, folder):
    """Of a source, below the project's root; None: it is another's."""
    path = pathlib.Path(os.path.normpath(pathlib.Path(folder) / file))
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else None


def collect(build):
    lines, branches = collections.Counter(), collections.Counter()
    found = sorted(build.resolve().rglob('*.gcda'))
    if not found:
        raise ValueError(f'{build}: no test has run in it, or it was set up without -Db_coverage=true: expected files *.gcda')
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for report in (one for reports in pool.map(read, found) for one in reports):
            for source in report['files']:
                # Paths are those of the compiler, which ran in the build folder.
                name = name_of(source['file'], build.resolve())
                if not name or not FOLDERS.match(name):
                    continue
                for line in source['lines']:
                    at = (name, line['line_number'])
                    lines[at] += line['count']
                    for i, branch in enumerate(line['branches']):
                        branches[(*at, i)] += branch['count']
    return lines, branches


def sum_up(counts, known):
    """Of each folder: how many there are, and how many were reached. In files of other names than those that are known: apart."""
    sums = collections.defaultdict(lambda: [0, 0])
    for at, count in counts.items():
        is_new = known and pathlib.PurePath(at[0]).name not in known
        of = sums[FOLDERS.match(at[0])[1] + ('+new' if is_new else '')]
        of[0] += 1
        of[1] += count > 0
    return sums


def read_before(path):
    """Of a table: folder to the percentages of lines and of branches."""
    rows = (line.split() for line in path.read_text().splitlines()[1:])
    try:
        return {row[0]: (float(row[3]), float(row[6])) for row in rows}
    except (IndexError, ValueError):
        raise ValueError(f'{path}: expected the table that coverage.py prints') from None


def main(build, before, known):
    lines, branches = (sum_up(counts, known) for counts in collect(build))
    fallen = False
    print(f'{"folder":20}{"lines":>8}{"reached":>9}{"%":>7}{"branches":>10}{"taken":>8}{"%":>7}')
    for folder in sorted(lines):
        of = (lines[folder], branches[folder])
        percent = [100 * reached / max(count, 1) for count, reached in of]
        row = f'{folder:20}{of[0][0]:8}{of[0][1]:9}{percent[0]:7.1f}{of[1][0]:10}{of[1][1]:8}{percent[1]:7.1f}'
        if folder in before:
            row += '   before {:.1f} {:.1f}'.format(*before[folder])
            fallen |= any(round(now, 1) < then for now, then in zip(percent, before[folder]))
        print(row)
    for folder in before.keys() - lines.keys():
        print(f'{folder}: nothing of it was run')
        fallen = True
    return fallen


if __name__ == '__main__':
    if sys.argv[1:] in (['-h'], ['--help']):
        print(__doc__)
        sys.exit()
    if len(sys.argv) not in (2, 3, 4):
        fail(f'expected BUILD [BEFORE [FILES]], found {len(sys.argv) - 1} arguments; --help tells what they are')
    build, before, files = (pathlib.Path(a) if a else None for a in (sys.argv[1:] + [None] * 2)[:3])
    try:
        sys.exit(main(build, read_before(before) if before else {},
                      {pathlib.PurePath(line).name for line in files.read_text().splitlines()} if files else None))
    except (OSError, ValueError) as e:
        fail(e)
