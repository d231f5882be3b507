# SPDX-License-Identifier: MIT
"""A copy of Grounding DINO's decoder in which a test hands over the order of the candidates.

usage: ordered.py SOURCE COPY
"""
import pathlib
import sys

PIECE = 'run_topk(p, sam_view(best, 1, 1, 1, rows), picked, score);\n'
HOOK = '    if (p->live && handed_order.data)\n        copy(p->queue, .dst = picked_as(picked), .src = handed_order);\n'
HEAD = '''extern struct sam_tensor handed_order; // (1, 1, 1, queries), the bytes of I32; without data: the network's own

static struct sam_tensor picked_as(struct sam_tensor t)
{
    t.type = SAM_F32; // moved as it is
    return t;
}

'''
FIRST = 'static void run_norm('


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    text = pathlib.Path(sys.argv[1]).read_text()
    if text.count(PIECE) != 1 or text.count(FIRST) != 1:
        sys.exit(f'{sys.argv[1]}: expected one choice of candidates, behind {FIRST!r}')
    text = text.replace(PIECE, PIECE + HOOK).replace(FIRST, HEAD + FIRST)
    pathlib.Path(sys.argv[2]).write_text(text)


if __name__ == '__main__':
    main()
