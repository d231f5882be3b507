# SPDX-License-Identifier: MIT
"""Compares the tokenizers with the published ones: every character alone and between others, marks of all pairs of
classes, and texts of a seed of today's. Skipped (status 77) without Hugging Face's tokenizers.

usage: published.py WORDPIECE GOLDEN BYTE_PAIRS PAIRS_GOLDEN
"""
import itertools
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

from texts import make_texts

try:
    import tokenizers
    from tokenizers import normalizers, pre_tokenizers, processors
except ImportError:
    print('skipped: there is no tokenizers')
    sys.exit(77)


def ours(program, vocabulary, texts):
    framed = b''.join(struct.pack('<I', len(t)) + t for t in (t.encode() for t in texts))
    out = subprocess.run([program, '--ids', vocabulary], input=framed, stdout=subprocess.PIPE, check=True).stdout
    return [list(map(int, line.split())) for line in out.decode().splitlines()]


def published(tokens):
    ids = {t: i for i, t in enumerate(tokens)}
    t = tokenizers.Tokenizer(tokenizers.models.WordPiece(ids, unk_token='[UNK]'))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.add_special_tokens(['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'])
    t.post_processor = processors.BertProcessing(('[SEP]', ids['[SEP]']), ('[CLS]', ids['[CLS]']))
    return t


def compare(program, name, vocabulary, texts):
    tokenizer = published(pathlib.Path(vocabulary).read_bytes().decode().split('\n')[:-1])
    want = [e.ids for e in tokenizer.encode_batch(texts)]
    got = ours(program, vocabulary, texts)
    different = [t for t, g, w in zip(texts, got, want) if g != w]
    print(f'{name}: {len(texts)} texts, {len(different)} differ', [ascii(t) for t in different[:5]], flush=True)
    return not different and len(got) == len(want)


def compare_characters(program, folder, characters):
    """In a vocabulary that has all that they can become."""
    clean = normalizers.BertNormalizer().normalize_str
    become = sorted({c for text in map(clean, characters) for c in text} - {' '} | set('ab.?'))
    tokens = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', *become, *('##' + c for c in become)]
    file = folder + '/vocab.txt'
    pathlib.Path(file).write_bytes('\n'.join(tokens + ['']).encode())
    name = f'U+{ord(characters[0]):04X} to U+{ord(characters[-1]):04X}'
    return compare(program, name, file, characters + ['a' + c + 'b' for c in characters])


def compare_pairs(program, folder, texts):
    """Of byte pairs: every word is spelled by the bytes that it becomes."""
    tokenizer = tokenizers.Tokenizer.from_file(folder + '/tokenizer.json')
    want = [e.ids for e in tokenizer.encode_batch(texts)]
    got = ours(program, folder, texts)
    different = [t for t, g, w in zip(texts, got, want) if g != w]
    print(f'pairs: {len(texts)} texts, {len(different)} differ', [ascii(t) for t in different[:5]], flush=True)
    return not different and len(got) == len(want)


def main():
    program, golden, pairs, pairs_golden = sys.argv[1:]
    seed = int(time.time() / 86400)
    planes = [*range(0xD800), *range(0xE000, 0x32000), *range(0x32000, 0x110000, 97), *range(0xE0000, 0xE0200)]
    characters = [chr(o) for o in planes]
    marks = [c for c in '\u0301\u0323\u034f\u093c\u0941\u1b44\u302e\u08d3\U0001d165\U0001d16d\U0001d16e\u0e38']
    texts = ['a' + ''.join(m) + 'b' for m in itertools.product(marks, repeat=4)]
    good = compare(program, f'seed {seed}', golden + '/vocab.txt', make_texts(
        random.Random(seed), pathlib.Path(golden + '/vocab.txt').read_text(encoding='utf-8').split('\n')[:-1], 10000))
    good &= compare_pairs(pairs, pairs_golden, texts + [t for c in characters for t in (c, 'a' + c + 'b')] + make_texts(
        random.Random(seed), pathlib.Path(golden + '/vocab.txt').read_text(encoding='utf-8').split('\n')[:-1], 10000))
    with tempfile.TemporaryDirectory() as folder:
        for i in range(0, len(characters), 60000):
            good &= compare_characters(program, folder, characters[i:i + 60000])
        tokens = ['[UNK]', '[CLS]', '[SEP]', '.', '?', 'a', '##b', *('##' + c for c in marks)]
        pathlib.Path(folder, 'vocab.txt').write_bytes('\n'.join(tokens + ['[PAD]', '[MASK]', '']).encode())
        good &= compare(program, 'orders of marks', folder + '/vocab.txt', texts)
    return not good


if __name__ == '__main__':
    sys.exit(main())
