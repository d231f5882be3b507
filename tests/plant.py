# SPDX-License-Identifier: MIT
"""Faults planted in C sources, each a choice made at run time.

A fault is a piece of a source in which «expression => its fault» stands for the expression.
"""
import concurrent.futures
import pathlib
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


def write_faulty(mutants, variable, sources, folder):
    """Copies of the sources that mutants (file, piece, ...) name, with all of their faults, as FOLDER/faulty_FILE."""
    texts = {file: pathlib.Path(sources, file).read_text() for file in {file for file, *_ in mutants}}
    for number, (file, piece, *_) in enumerate(mutants, 1):
        texts[file] = plant(texts[file], file, variable, number, piece)
    for file, text in texts.items():
        pathlib.Path(folder, f'faulty_{file}').write_text(f'extern int {variable};\n' + text)


def count_wrong(mutants, numbers, is_caught):
    """How many of these faults are missed, each of which is told; 0 is no fault, which nothing is to catch. Two are judged at once."""
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number, caught in zip(numbers, pool.map(is_caught, numbers)):
            if caught != bool(number):
                wrong += 1
                print(f'MISSED {mutants[number - 1]}' if number else 'FAILED without a fault', flush=True)
    return wrong
