#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The scripts of a camera's page, lines of comments apart, have at most 60 KiB, and the program serves all of its files."""
import pathlib
import re

MOST = 60 << 10
PAGE = pathlib.Path(__file__).resolve().parents[2] / 'pipelines/live/page'
# These are of pages of their own.
scripts = {path.name: path.read_text(encoding='utf-8') for path in sorted(PAGE.glob('*.js')) if path.name not in ('cameras.js', 'events.js')}
code = {name: '\n'.join(line for line in text.splitlines() if not line.lstrip().startswith('//')) for name, text in scripts.items()}
size = sum(len(text.encode()) for text in code.values())
print(*(f'{name} {len(text.encode())}' for name, text in code.items()), sep='\n')
print(f'{size} of {MOST} bytes, {sum(len(text.encode()) for text in scripts.values())} with comments')
assert size <= MOST, 'the scripts have become too long'
served = set(re.findall('<file>(.*?)</file>', (PAGE / 'page.gresource.xml').read_text()))
files = {path.name for path in PAGE.iterdir()} - {'page.gresource.xml'}
assert served == files, f'served are {sorted(served ^ files)}, or not'
