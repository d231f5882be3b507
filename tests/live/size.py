#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The scripts that a camera's page loads have at most 60 KiB, comments included, its head names all of them, so that none waits until another has come, and the program
serves all of its files."""
import pathlib
import re

MOST = 60 << 10
PAGE = pathlib.Path(__file__).resolve().parents[2] / 'pipelines/live/page'


def find_loaded(name, found):
    """Adds a script and those that it imports. What import() names comes later, if somebody needs it."""
    if name in found:
        return found
    found[name] = text = (PAGE / name).read_text(encoding='utf-8')
    for other in re.findall(r"^import [^;]*?'\./(\w+\.js)';", text, re.M):
        find_loaded(other, found)
    return found


scripts = {name: len(text.encode()) for name, text in find_loaded('main.js', {}).items()}
later = set(re.findall(r"import\('\./(\w+\.js)'\)", ''.join((PAGE / name).read_text() for name in scripts)))
print(*(f'{name} {size}' for name, size in sorted(scripts.items())), sep='\n')
print(f'{sum(scripts.values())} of {MOST} bytes; later, if they are needed: {", ".join(f"{n} {(PAGE / n).stat().st_size}" for n in sorted(later))}')
assert len(scripts) > 10 and later and not later & set(scripts), 'the scripts that are loaded were not found'
assert sum(scripts.values()) <= MOST, 'the scripts have become too long'
preloaded = re.findall(r'<link rel="modulepreload" href="(.*?)">', (PAGE / 'index.html').read_text())
assert sorted(preloaded) == sorted(scripts.keys() - {'main.js'}), f'index.html preloads {preloaded}'
served = set(re.findall('<file>(.*?)</file>', (PAGE / 'page.gresource.xml').read_text()))
files = {path.name for path in PAGE.iterdir()} - {'page.gresource.xml'}
assert served == files, f'served are {sorted(served ^ files)}, or not'
named = scripts.keys() | later | set(re.findall(r'src="(\w+\.js)"', ''.join(p.read_text() for p in PAGE.glob('*.html'))))
assert {name for name in files if name.endswith('.js')} == named, f'no page uses {sorted(files - named)}'
