#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every link of a Markdown page leads somewhere: to a file of the tree, and to a heading of it. Files that text and sources name
as docs/NAME.md exist, too.

usage: links.py SOURCES     or     links.py --selftest
"""
import functools
import pathlib
import re
import subprocess
import sys
import tempfile

LINK = re.compile(r'!?\[[^\]\n]*\]\(([^)\s]+)\)')
NAMED = re.compile(r'(?<![\w/.-])docs/[\w/-]+\.(?:md|png|svg)\b')
TEXTS = ('.md', '.c', '.h', '.cu', '.cuh', '.cpp', '.py', '.sh', '.build', '.js', '.html', '.service', '.in', '.txt')


@functools.cache
def anchors(path):
    """As GitHub makes them of headings."""
    found, fenced = [], False
    for line in path.read_text(encoding='utf-8').splitlines():
        fenced ^= line.startswith('```')
        heading = None if fenced else re.match(r'#+ (.*)', line)
        if heading:
            text = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading[1]).replace('`', '').lower()
            slug = re.sub(r'[^\w\- ]', '', text).replace(' ', '-')
            found.append(slug + (f'-{found.count(slug)}' if slug in found else ''))
    return set(found)


def breaks(root, name):
    path = root / name
    text = path.read_text(encoding='utf-8', errors='replace')
    if name.endswith('.md'):
        for target in LINK.findall(re.sub(r'```.*?```', '', text, flags=re.S)):
            if re.match(r'[a-z]+:', target):
                continue
            file, _, anchor = target.partition('#')
            there = path.parent / file if file else path
            if not there.exists():
                yield f'{name}: there is no {target}'
            elif anchor and there.suffix == '.md' and anchor not in anchors(there):
                yield f'{name}: {file or name} has no heading #{anchor}'
    for named in set(NAMED.findall(text)):
        if not (root / named).exists():
            yield f'{name}: there is no {named}'


def check(root, names):
    return [line for name in sorted(names) if name.endswith(TEXTS) and name != 'tests/base/links.py' and (root / name).exists() for line in breaks(root, name)]


def selftest():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / 'docs').mkdir()
        (root / 'a.md').write_text('[x](docs/B.md#two-words) [y](docs/C.md) [z](docs/B.md#none) [w](#here) `docs/D.md`\n# Here\n')
        (root / 'docs/B.md').write_text('# Two `words`\n[up](../a.md#here) [web](https://a.invalid/)\n')
        found = check(root, ['a.md', 'docs/B.md'])
    wanted = ['a.md: there is no docs/C.md', 'a.md: docs/B.md has no heading #none', 'a.md: there is no docs/D.md']
    print('wrong: ' + repr(found) if sorted(found) != sorted(wanted + ['a.md: there is no docs/C.md']) else 'every planted fault was found')
    return sorted(found) != sorted(wanted + ['a.md: there is no docs/C.md'])


def main(argument):
    if argument == '--selftest':
        return selftest()
    root = pathlib.Path(argument)
    listed = subprocess.run(['git', '-C', root, 'ls-files', '--cached', '--others', '--exclude-standard'], capture_output=True, text=True, check=False)
    if listed.returncode:
        print('skipped: this is not a checkout of git')
        return 77
    bad = check(root, listed.stdout.split('\n'))
    print('\n'.join(bad) or 'every link leads somewhere')
    return bool(bad)


sys.exit(main(sys.argv[1]))
