#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/golden/words: a vocabulary of our own, and 10 000 texts with what the published tokenizer makes
of them (`pip install transformers`). A line of texts.txt is a checksum of the ids, a blank, and the text. A line of
pairs.txt is the checksum of what CLIP's tokenizer makes of the same text with the vocabulary of tests/golden/sam3-words.

usage: make_words.py FOLDER
"""
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'tests' / 'words'))
from texts import make_texts, make_vocabulary  # noqa: E402


def checksum(ids):
    h = 0x811C9DC5
    for byte in struct.pack(f'<{len(ids)}I', *ids):
        h = (h ^ byte) * 0x01000193 & 0xFFFFFFFF
    return h


def escape(text):
    return b''.join(bytes([b]) if b >= 0x20 and b not in (0x5C, 0x7F) else b'\\x%02x' % b for b in text.encode())


def main():
    from tokenizers import normalizers
    from transformers import BertTokenizerFast
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(45)
    vocabulary = make_vocabulary(draw, normalizers.BertNormalizer().normalize_str)
    (folder / 'vocab.txt').write_text('\n'.join(vocabulary) + '\n', encoding='utf-8')
    tokenizer = BertTokenizerFast(str(folder / 'vocab.txt'))
    texts = make_texts(draw, vocabulary, 10000)
    ids = tokenizer(texts)['input_ids']
    unknown = sum(vocabulary.index('[UNK]') in i for i in ids)
    print(f'{len(vocabulary)} tokens, {len(texts)} texts, {sum(map(len, ids))} ids, {unknown} texts with unknown words')
    (folder / 'texts.txt').write_bytes(b''.join(b'%08x %s\n' % (checksum(i), escape(t)) for t, i in zip(texts, ids)))
    write_pairs(folder, texts)


def write_pairs(folder, texts):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(str(folder.parent / 'sam3-words' / 'tokenizer.json'))
    ids = [e.ids for e in tokenizer.encode_batch(texts)]
    print(f'pairs: {sum(map(len, ids))} ids')
    (folder / 'pairs.txt').write_text(''.join(f'{checksum(i):08x}\n' for i in ids))


if __name__ == '__main__':
    main()
