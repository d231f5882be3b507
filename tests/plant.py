# SPDX-License-Identifier: MIT
"""Faults planted in C sources, each a choice made at run time.

A fault is a piece of a source in which «expression => its fault» stands for the expression.
"""
import re
import sys

MARK = re.compile('«(.*?) => (.*?)»', re.S)


def plant(text, name, variable, number, piece):
    """The text of the source `name` with a piece's faults in it; they hold where the C variable has
    that number. Ends the program if the piece is not in exactly one place."""
    old = MARK.sub(lambda m: m[1], piece)
    new = MARK.sub(lambda m: f'({variable} == {number} ? ({m[2]}) : ({m[1]}))', piece)
    if text.count(old) != 1:
        sys.exit(f'{name}: {text.count(old)} places, wanted 1, for mutant {number}: {old}')
    return text.replace(old, new)
