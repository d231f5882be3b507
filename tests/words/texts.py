# SPDX-License-Identifier: MIT
"""A vocabulary of our own and hard texts in forty scripts, both drawn from a seed."""
import random

SCRIPTS = {
    'latin': [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F)], 'latin additional': [(0x61, 0x7A), (0x1E00, 0x1EFF)],
    'fullwidth': [(0xFF21, 0xFF5A)], 'ligatures': [(0xFB00, 0xFB06), (0x61, 0x7A)],
    'greek': [(0x370, 0x3FF)], 'greek extended': [(0x1F00, 0x1FFE)], 'cyrillic': [(0x400, 0x4FF)],
    'cyrillic supplement': [(0x500, 0x52F), (0xA640, 0xA69F)], 'armenian': [(0x531, 0x58A)], 'hebrew': [(0x591, 0x5F4)],
    'arabic': [(0x600, 0x6FF)], 'syriac': [(0x700, 0x74F)], 'thaana': [(0x780, 0x7B1)], 'nko': [(0x7C0, 0x7FA)],
    'devanagari': [(0x900, 0x97F)], 'bengali': [(0x980, 0x9FE)], 'gurmukhi': [(0xA01, 0xA76)], 'gujarati': [(0xA81, 0xAFF)],
    'oriya': [(0xB01, 0xB77)], 'tamil': [(0xB82, 0xBFA)], 'telugu': [(0xC00, 0xC7F)], 'kannada': [(0xC80, 0xCF2)],
    'malayalam': [(0xD00, 0xD7F)], 'sinhala': [(0xD81, 0xDF4)], 'thai': [(0xE01, 0xE5B)], 'lao': [(0xE81, 0xEDF)],
    'tibetan': [(0xF00, 0xFDA)], 'myanmar': [(0x1000, 0x109F)], 'georgian': [(0x10A0, 0x10FF), (0x1C90, 0x1CBF)],
    'hangul': [(0xAC00, 0xD7A3)], 'jamo': [(0x1100, 0x11FF)], 'ethiopic': [(0x1200, 0x137C)],
    'cherokee': [(0x13A0, 0x13FD), (0xAB70, 0xABBF)], 'khmer': [(0x1780, 0x17F9)], 'mongolian': [(0x1800, 0x18AA)],
    'balinese': [(0x1B00, 0x1B7C)], 'kana': [(0x3041, 0x30FF)], 'han': [(0x4E00, 0x4FFF), (0x3400, 0x3420)],
    'compatibility han': [(0xF900, 0xFAD9), (0x2F800, 0x2FA1D)], 'rare han': [(0x20000, 0x20040), (0x2B820, 0x2BA20)],
    'deseret': [(0x10400, 0x1044F)], 'music': [(0x1D15E, 0x1D172)], 'mathematical': [(0x1D400, 0x1D4FF)],
    'emoji': [(0x1F300, 0x1F64F), (0x1F900, 0x1FAFF)], 'tags': [(0xE0000, 0xE01EF)], 'private': [(0xE000, 0xE010), (0xF0000, 0xF0010)],
}
MARKS = [*range(0x300, 0x370), 0x591, 0x5B0, 0x64B, 0x93C, 0x94D, 0x1B44, 0x302E, 0x302F, 0x1D165, 0x1D16D, 0x1D16E, 0x8D3, 0x1DF5]
SPACES = [*map(ord, '  \t\n\r'), 0xA0, 0x1680, 0x2003, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xB, 0xC, 0x85, 0x1C]
STRANGE = [0, 1, 0x7F, 0x9F, 0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x202E, 0x2066, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x10FFFF, 0x378,
           0xD7FF, 0xE000]
STOPS = [*map(ord, '.?!,;:\'"()[]{}-_/\\@#$%^&*+=<>|~`'), 0xB7, 0xBF, 0x2014, 0x2026, 0x3001, 0x3002, 0xFF0C, 0x964, 0x55A, 0x61F, 0x1361,
         0x166D, 0x2E43, 0x11944, 0x1E95E]
SPECIALS = ['[CLS]', '[SEP]', '[UNK]', '[PAD]', '[MASK]', '[sep]', '[SEP', 'SEP]', '[[SEP]]']


def character(draw, script):
    low, high = draw.choice(SCRIPTS[script])
    return chr(draw.randint(low, high))


def make_vocabulary(draw, clean):
    """clean: what normalizes a text, so that most words of texts are known."""
    words = dict.fromkeys(['[PAD]', *(f'[unused{i}]' for i in range(5)), '[UNK]', '[CLS]', '[SEP]', '[MASK]'])
    letters = dict.fromkeys(chr(o) for o in STOPS)
    letters |= dict.fromkeys(chr(o) for o in range(33, 127) if chr(o) == chr(o).lower())
    for script in SCRIPTS:
        letters |= dict.fromkeys(c for _ in range(80) for c in clean(character(draw, script)).strip())
    letters = list(letters)
    words |= dict.fromkeys(letters)
    words |= dict.fromkeys('##' + c for c in letters if draw.random() < 0.95)
    for _ in range(900):
        word = ''.join(draw.choice('abcdefghijklmnopqrstuvwxyz') for _ in range(draw.randint(2, 4)))
        words[draw.choice(['', '##']) + word] = None
    for script in SCRIPTS:
        for _ in range(6):
            word = ''.join(clean(character(draw, script)) for _ in range(draw.randint(2, 3))).strip()
            if word and ' ' not in word:
                words[draw.choice(['', '##']) + word] = None
    return list(words)


def make_text(draw, vocabulary):
    parts = []
    script = draw.choice(list(SCRIPTS))
    for _ in range(draw.randint(1, 7)):
        kind = draw.randint(0, 19)
        if kind < 7:
            parts += [character(draw, script) for _ in range(draw.randint(1, 4))]
        elif kind < 11:
            parts.append(draw.choice(vocabulary).replace('##', ''))
        elif kind < 13:
            parts += [chr(draw.choice(MARKS)) for _ in range(draw.randint(1, 4))]
        elif kind < 15:
            parts.append(chr(draw.choice(STOPS)))
        elif kind == 15:
            parts.append(chr(draw.choice(STRANGE)))
        elif kind == 16:
            parts.append(draw.choice(SPECIALS))
        else:
            parts.append(chr(draw.choice(SPACES)))
    return ''.join(parts)


def make_texts(draw, vocabulary, count):
    fixed = ['', ' ', '.', 'Red car. PERSON in a white shirt.', 'ΟΔΥΣΣΕΥΣ', 'İstanbul', 'Straße ẞ', 'ǅ ﬁre Å', 'a' * 100, 'a' * 101,
             '\u00e9' * 100, '\u00e9' * 101, 'e\u0301' * 100 + 'x', '\u0301', 'a\u0301\u0323\u034f\u0316b', '한국어 각', 'a\U0001d16d\u1b44',
             '\U0001d16d\u034f\u1b44', '中文car中文', '🚗\ufe0f car', 'don\'t stop!!', '[SEP][CLS].', 'foo[SEP]bar', 'x' * 500 + ' y',
             '\U0001d16d' * 120 + '\u1b44', ('\u4e00' * 300)]
    return fixed + [make_text(draw, vocabulary) for _ in range(count - len(fixed))]
