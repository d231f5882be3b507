#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in what becomes of words before a network sees them (BERT's tokenizer, phrases, their scores), and in when a picture is
looked at anew, each of which a test must catch: faulty.py has the arguments."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from faulty import main  # noqa: E402

FILES = ('engine/net/wordpiece.c', 'engine/net/unicode.c', 'engine/detect/words.c', 'engine/detect/looked.c')

MUTANTS = [
    ('wordpiece.c', 'const char *prefix = «from ? "##" : "" => ""»;'),
    ('wordpiece.c', 'int to = «length => from + 1», id = -1;'),
    ('wordpiece.c', 'if («bytes <= v->longest => bytes < v->longest» &&'),
    ('wordpiece.c', 'if («length <= SAM_MAX_WORD => length < SAM_MAX_WORD»)'),
    ('wordpiece.c', 'if («!count => false»)'),
    ('wordpiece.c', 'if («!s->length => true»)\n        s->start = start;'),
    ('wordpiece.c', 'for (; class_number && i > «s->run => 0»; i--)'),
    ('wordpiece.c', '«sam_unicode_mark_class(s->word[i - 1]) <= class_number => sam_unicode_mark_class(s->word[i - 1]) < class_number»)'),
    ('wordpiece.c', 'if («s->length <= SAM_MAX_WORD => s->length < SAM_MAX_WORD»)\n        s->length++;'),
    ('wordpiece.c', 'if («clean.is_space => false» || '),
    ('wordpiece.c', ' || «clean.is_apart => false»)\n'),
    ('wordpiece.c', 'if («clean.ends_marks => false»)'),
    ('wordpiece.c', 'const bool is_alone = «sam_unicode_is_alone(clean.to[i]) => false»;'),
    ('wordpiece.c', '    if («clean.is_apart => false»)\n        end_word(s);\n}'),
    ('wordpiece.c', '(!best || «x->bytes > best->bytes => x->bytes < best->bytes») &&'),
    ('wordpiece.c', '«end_word(&s) => (void) 0»;\n            put(&s, special->id, at, end);'),
    ('wordpiece.c', '«end_word(&s) => (void) 0»;\n    put(&s, v->sep, bytes, bytes);'),
    ('wordpiece.c', 'put(&s, v->sep, «bytes => 0», bytes);'),
    ('unicode.c', 'if («rows[middle * width] <= c => rows[middle * width] < c»)'),
    ('unicode.c', 'return row && «c <= row[1] => c < row[1]»;'),
    ('unicode.c', 'VOWEL + i / TRAILINGS % «VOWELS => TRAILINGS»;'),
    ('unicode.c', 'out->to[2] == TRAILING ? 2 : «3 => 2»;'),
    ('unicode.c', 'c < SYLLABLE + «SYLLABLES => SYLLABLES - 1»)'),
    ('unicode.c', '«(c - run[0]) % run[2] == 0 => true»)'),
    ('unicode.c', 'out->to[0] = run[3] + («c - run[0] => 0»);'),
    ('unicode.c', 'out->count = out->to[2] ? «3 => 2» : 2;'),
    ('unicode.c', 'is_within(row, c) ? (int) row[2] : «0 => 230»;'),
    ('unicode.c', 'if (all < least[length] || «all > 0x10ffff => false» ||'),
    ('unicode.c', 'if («all < least[length] => false» ||'),
    ('unicode.c', '«(all >= 0xd800 && all < 0xe000) => false»)\n        return 1;'),
    ('unicode.c', '(size_t) length > «bytes => bytes + 4»)'),
    ('words.c', 'c == \' \' || «c == \'\\t\' => false» ||'),
    ('words.c', 'memcpy(j->text + j->bytes + bytes, «". " => ", "», 2);'),
    ('words.c', 'strcspn(words + at, «"." => ".?"»)'),
    ('words.c', 'id == v->stop || «id == v->question => false»;'),
    ('words.c', 'return «id == v->cls => false» || '),
    ('words.c', 't->place[i] = «i - start => i»;'),
    ('words.c', 'start = «i + 1 => i»;'),
    ('words.c', 'while (phrase < p->count - 1 && «x->start > j->end[phrase] => x->start > j->end[0]»)'),
    ('words.c', '«ends_piece(v, x->id) => false» || !p->count ? -1 : phrase;'),
    ('words.c', 'known[phrase] += «x->id != v->unk => 1»;'),
    ('words.c', 'if («x->id == v->unk => false»)'),
    ('words.c', 'if (t->tokens > «t->most => SAM_MAX_TOKENS»)'),
    ('words.c', 'if (count > «t->most_of_phrase => t->most»)'),
    ('words.c', 'if (count > «left => t->most»)'),
    ('words.c', 't->piece[i] = «first => 0»;'),
    ('words.c', 't->place[i] = «i - first => i»;'),
    ('words.c', 'best[k] = «-INFINITY => 0»;'),
    ('words.c', '«logits[t] > best[text->phrase[t]] => logits[t] < best[text->phrase[t]]»)'),
    ('words.c', 'expf(«-best[k] => best[k]»));'),
    ('words.c', 'i < score->w; i++, logits += «score->c => 0»)'),
    ('looked.c', '«l->width == input.w => true» && '),
    ('looked.c', '&& «l->height == input.h => true» &&'),
    ('looked.c', '!memcmp(l->input[now], l->input[before], «bytes => bytes - 64»);'),
    ('looked.c', 'l->latest = «now => before»;'),
    ('looked.c', 'return «is_same => false»;'),
]

if __name__ == '__main__':
    sys.exit(main(__doc__, FILES, MUTANTS))
