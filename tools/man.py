#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the manual page of a program from what it prints for --help, in the form of GLib's GOption.

usage: man.py PROGRAM SUMMARY SEE-ALSO OUTPUT
"""
import os
import re
import subprocess
import sys


def ask(program, option):
    return subprocess.run([program, option], check=True, capture_output=True, text=True, encoding='utf-8',
                          env=dict(os.environ, LC_ALL='C.UTF-8')).stdout


def escape(text):
    text = text.replace('\\', r'\e').replace('-', r'\-').replace('…', '...').replace("'", r'\(aq')
    return re.sub(r'^\.', r'\\&.', text)


def parse(text):
    """(synopsis, paragraphs, sections) of the text: of each section the name and its entries, [(what, its help)]."""
    head, *rest = re.split(r'^((?:[A-Z][a-z]+ ?)+):\n', text.partition('Usage:\n')[2], flags=re.M)
    match = re.match(r'  \S+ ([^\n]*)\n\n(.*)', head, re.S)
    sections = {}
    for title, group in zip(rest[::2], rest[1::2]):
        entries = sections.setdefault('Options' if title.endswith('Options') else title, [])
        for line in group.splitlines():
            entry = re.match(r'  (-\S+(?: --?\S+)*|\w.*?|[/~].*?)(?:  +(\S.*))?$', line)
            if entry:
                entries.append([entry[1], entry[2] or ''])
            elif line.strip():  # a long option has its help in the next line
                entries[-1][1] += line.strip()
    return match[1], match[2].strip().split('\n\n'), sections


def bold(names):
    """-c, --config=FILE: the names bold, the value in italics."""
    def one(name):
        option, _, value = name.partition('=')
        return rf'\fB{escape(option)}\fR' + (rf'=\fI{escape(value)}\fR' if value else '')
    return ', '.join(one(name) for name in names.split(', '))


def main(program, summary, see, output):
    name, version = ask(program, '--version').split()
    synopsis, paragraphs, sections = parse(ask(program, '--help'))
    page = [f'.TH {name.upper()} 1 "" "samtrack {version}" "User Commands"',
            '.SH NAME', rf'{escape(name)} \- {escape(summary)}',
            '.SH SYNOPSIS', rf'.B {escape(name)}', escape(synopsis), '.SH DESCRIPTION']
    for i, paragraph in enumerate(paragraphs):
        page += ['.PP'] * (i > 0) + [escape(line) for line in paragraph.splitlines()]
    for title, entries in sections.items():
        page.append(f'.SH "{title.upper()}"')
        for names, text in entries:
            page += ['.TP', bold(names), escape(text.rstrip('.')) + '.']
    page += ['.SH "SEE ALSO"', ',\n'.join(rf'.BR {escape(s[:-3])} {s[-3:]}' for s in see.split())]
    with open(output, 'w', encoding='utf-8') as f:
        f.write('\n'.join(page) + '\n')


if __name__ == '__main__':
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
