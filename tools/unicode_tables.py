#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes engine/net/unicode_tables.c, what BERT's uncased tokenizer makes of every character, or
engine/net/unicode_case_tables.c and unicode_parts_tables.c, what CLIP's does, asked of the published implementation itself (`pip install
tokenizers`): its categories are those of another Unicode than its lower case.

usage: unicode_tables.py > engine/net/unicode_tables.c
       unicode_tables.py case > engine/net/unicode_case_tables.c
       unicode_tables.py parts > engine/net/unicode_parts_tables.c
"""
import itertools
import sys
import unicodedata

HANGUL = range(0xAC00, 0xAC00 + 11172)  # decomposed by arithmetic
CHARACTERS = [o for o in range(0x110000) if not 0xD800 <= o < 0xE000]
LATE, EARLY = '\U0001d16d', '\u1b44'  # kept marks of a high and of a low combining class: 226 and 9


def ranges(points):
    points = list(points)
    starts = [i for i, o in enumerate(points) if not i or points[i - 1] != o - 1]
    return [(points[a], points[b - 1]) for a, b in zip(starts, starts[1:] + [len(points)])]


def runs(one_to_one):
    """(first, last, step, what the first becomes) of neighbours or every other one, at one distance from
    what they become, none of which begins inside of another one; and (character, what it becomes) of the others."""
    left, found, single = dict(one_to_one), [], []
    for o in sorted(one_to_one):
        if o not in left:
            continue
        best = max((list(itertools.takewhile(lambda p: left.get(p) == left[o] + p - o, itertools.count(o, step)))
                    for step in (1, 2)), key=len)
        if len(best) < 3 or found and o <= found[-1][1]:
            best = [o]
        if len(best) > 2:
            found.append((o, best[-1], best[1] - o, left[o]))
        else:
            single.append((o, left[o]))
        for p in best:
            del left[p]
    return found, single


def ask():
    from tokenizers import normalizers, pre_tokenizers
    clean = normalizers.BertNormalizer().normalize_str
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    becomes = {o: clean(chr(o)) for o in CHARACTERS}
    apart = [o for o in CHARACTERS if len(becomes[o]) > 1 and becomes[o][0] == becomes[o][-1] == ' ']
    becomes |= {o: becomes[o][1:-1] for o in apart}
    assert {c for text in becomes.values() for c in text if c.isspace()} == {' '}

    def swaps(a, b):
        return clean('a' + a + b) == 'a' + b + a
    kept = [o for o in CHARACTERS if becomes[o] == chr(o)]
    marks = [o for o in kept if swaps(LATE, chr(o)) or swaps(chr(o), EARLY)]
    order = sorted(marks, key=lambda o: unicodedata.combining(chr(o)))
    assert all(unicodedata.combining(chr(o)) for o in marks)
    assert all(swaps(chr(b), chr(a)) == (unicodedata.combining(chr(a)) < unicodedata.combining(chr(b)))
               for a, b in itertools.combinations(order, 2))
    dropped = [o for o in CHARACTERS if not becomes[o]]
    ends = {o for o in dropped if clean('a' + LATE + chr(o) + EARLY) != 'a' + EARLY + LATE}
    found, single = runs({o: ord(t) for o, t in becomes.items()
                          if len(t) == 1 and t != chr(o) and t != ' ' and o not in HANGUL})
    return {
        'dropped': ranges(o for o in dropped if o not in ends),
        'ends': ranges(sorted(ends)),
        'spaces': ranges(o for o in CHARACTERS if becomes[o] == ' '),
        'apart': ranges(apart),
        'alone': ranges(o for o in CHARACTERS if len(split('a' + chr(o) + 'b')) == 3),
        'marks': [(a, b, unicodedata.combining(chr(a))) for c in sorted({unicodedata.combining(chr(o)) for o in marks})
                  for a, b in ranges(o for o in marks if unicodedata.combining(chr(o)) == c)],
        'runs': found,
        'singles': single,
        'several': [(o, [*map(ord, t), *[0] * (3 - len(t))]) for o, t in becomes.items() if len(t) > 1 and o not in HANGUL],
    }


def ask_case():
    """Kinds of characters, classes of marks, and what becomes of one in lower case."""
    from tokenizers import Regex, normalizers, pre_tokenizers
    low, parts = normalizers.Lowercase().normalize_str, normalizers.NFD().normalize_str

    def swaps(a, b):
        return parts('a' + a + b) == 'a' + b + a
    marks = [o for o in CHARACTERS if parts(chr(o)) == chr(o) and unicodedata.combining(chr(o))]
    classes = {o: unicodedata.combining(chr(o)) for o in marks if swaps(LATE, chr(o)) or swaps(chr(o), EARLY)}

    def of_class(pattern):
        """Those of which a run of the pattern is cut out, a thousand characters at a time."""
        split = pre_tokenizers.Split(Regex(pattern), 'isolated').pre_tokenize_str
        found = set()
        for i in range(0, len(CHARACTERS), 1000):
            text = ''.join('\0' + chr(o) for o in CHARACTERS[i:i + 1000])
            found |= {ord(piece) for piece, _ in split(text) if len(piece) == 1 and piece != '\0'}
        return ranges(sorted(found))
    lower = {o: low(chr(o)) for o in CHARACTERS}
    found, single = runs({o: ord(t) for o, t in lower.items() if len(t) == 1 and t != chr(o)})
    return {
        'letters': of_class(r'\p{L}'), 'numbers': of_class(r'\p{N}'), 'blanks': of_class(r'\s'),
        'classes': [(a, b, c) for c in sorted(set(classes.values())) for a, b in ranges(o for o in classes if classes[o] == c)],
        'lower_runs': found, 'lower_singles': single,
        'lower_several': [(o, [*map(ord, t), *[0] * (3 - len(t))]) for o, t in lower.items() if len(t) > 1],
    }


def ask_parts():
    """What two characters become; into what others come apart: one, or two to four."""
    from tokenizers import normalizers
    whole, parts = normalizers.NFC().normalize_str, normalizers.NFD().normalize_str
    becomes = {o: parts(chr(o)) for o in CHARACTERS if o not in HANGUL}
    becomes = {o: t for o, t in becomes.items() if t != chr(o)}
    pairs = {o: (ord(whole(t[:-1])), ord(t[-1]), o) for o, t in becomes.items()
             if len(t) > 1 and len(whole(t[:-1])) == 1 and whole(t) == chr(o)}
    return {
        'pairs': pairs.values(),
        'part_singles': [(o, ord(t)) for o, t in becomes.items() if len(t) == 1],
        'parts': [(o, [*map(ord, t), *[0] * (4 - len(t))]) for o, t in becomes.items() if len(t) > 1 and o not in pairs],
    }


KINDS = {'dropped': 'range', 'ends': 'range', 'spaces': 'range', 'apart': 'range', 'alone': 'range', 'marks': 'mark',
         'runs': 'run', 'singles': 'single', 'several': 'several',
         'letters': 'range', 'numbers': 'range', 'blanks': 'range', 'part_singles': 'single', 'parts': 'parts', 'pairs': 'pair', 'classes': 'mark',
         'lower_runs': 'run', 'lower_singles': 'single', 'lower_several': 'several'}


def braces(row):
    return '{ ' + ', '.join(braces(n) if isinstance(n, list) else f'{n:#x}' for n in row) + ' }'


def main():
    import tokenizers
    print('// SPDX-License-Identifier: MIT\n'
          '// A table made by tools/unicode_tables.py from version ' + tokenizers.__version__ + ' of tokenizers: see unicode.h.\n'
          '#include "unicode.h"')
    asked = {'case': ask_case, 'parts': ask_parts}[sys.argv[1]]() if sys.argv[1:] else ask()
    for name, rows in asked.items():
        print(f'\nconst struct sam_unicode_{KINDS[name]} sam_unicode_{name}[] = {{')
        line = '   '
        for row in sorted(rows):
            entry = f' {braces(row)},'
            if len(line) + len(entry) > 100:
                print(line)
                line = '   '
            line += entry
        print(f'{line}\n}};\nconst int sam_unicode_num_{name} = {len(rows)};')


if __name__ == '__main__':
    main()
