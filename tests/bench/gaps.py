#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plots the time between frames at the sink, from files of `bench-live slow`, as SVG on stdout.

usage: gaps.py LABEL=FILE [LABEL=FILE]..."""

import math
import sys

WIDTH, PANEL, LEFT, RIGHT, TOP = 760, 120, 70, 20, 30
LEAST, MOST = 10, 5000  # ms, logarithmic
TICKS = (10, 33.3, 100, 1000)


def y_of(ms):
    part = (math.log(min(max(ms, LEAST), MOST)) - math.log(LEAST)) / (math.log(MOST) - math.log(LEAST))
    return (PANEL - 20) * (1 - part)


def panel(label, rows, seconds, top):
    """One plot: a bar for each frame, as high as the gap before it."""
    x_of = lambda t: LEFT + (WIDTH - LEFT - RIGHT) * t / seconds
    longest = max(gap for _, gap in rows)
    parts = [f'<g transform="translate(0,{top})">',
             f'<text x="{LEFT}" y="-8" class="title">{label}: longest gap {longest:.0f} ms</text>']
    for ms in TICKS:
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y_of(ms):.1f}" y2="{y_of(ms):.1f}" class="grid"/>'
                     f'<text x="{LEFT - 8}" y="{y_of(ms) + 4:.1f}" class="tick">{ms:g} ms</text>')
    bars = ''.join(f'M{x_of(t):.1f} {PANEL - 20}V{y_of(gap):.1f}' for t, gap in rows)
    parts += [f'<path d="{bars}" class="bar"/>', '</g>']
    return '\n'.join(parts)


def main():
    if len(sys.argv) < 2 or not all('=' in a for a in sys.argv[1:]):
        sys.exit(__doc__)
    plots = []
    for argument in sys.argv[1:]:
        label, path = argument.split('=', 1)
        with open(path) as f:
            plots.append((label, [tuple(map(float, line.split())) for line in f]))
    seconds = max(rows[-1][0] for _, rows in plots)
    height = TOP + len(plots) * (PANEL + 20) + 10
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
          'font-family="sans-serif" font-size="11">')
    print('<style>.title{font-size:13px;fill:#334}.tick{text-anchor:end;fill:#667}'
          '.grid{stroke:#ccd}.bar{stroke:#2a7;stroke-width:1.1;fill:none}</style>')
    print(f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>')
    for i, (label, rows) in enumerate(plots):
        print(panel(label, rows, seconds, TOP + i * (PANEL + 20)))
    print(f'<text x="{WIDTH - RIGHT}" y="{height - 8}" class="tick">{seconds:.0f} s</text></svg>')


if __name__ == '__main__':
    main()
