# SPDX-License-Identifier: MIT
"""Requests of pages, and what may become of texts on their way."""

HANDSHAKE = ('GET /socket HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
             'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n')

REQUESTS = [
    {'op': 'watch', 'camera': 'demo', 'video': 'none', 'masks': True, 're': 1},
    {'op': 'point', 'x': 0.5, 'y': 0.5, 'positive': True, 'id': 0, 'rtp': 4294967295, 're': 2},
    {'op': 'box', 'x': 0.1, 'y': 0.1, 'w': 0.5, 'h': 0.5, 're': 3}, {'op': 'undo', 'id': 1}, {'op': 'take', 'id': 1, 'answer': 2}, {'op': 'remove', 'id': 1},
    {'op': 'rename', 'id': 1, 'name': 'x' * 30}, {'op': 'save', 'name': 'x'},
    {'op': 'restore', 'save': '20261128-041500-1'}, {'op': 'saves', 're': 4}, {'op': 'back', 'n': 1}, {'op': 'seen', 'n': 3, 'masks': 2}, {'op': 'answer', 'sdp': 'v=0\r\no=- 1 1 IN IP4 0\r\n'},
    {'op': 'ice', 'candidate': 'candidate:1 1 UDP 1 127.0.0.1 9 typ host', 'mline': 0}]


# Arabic, Devanagari, Thai, Han, an emoji of several characters, marks upon marks, from the right to the left, markup.
NAMES = ('\u0643\u0631\u0629', '\u0915\u094d\u0937\u093f', '\u0e25\u0e39\u0e01', '\u7403', '\U0001f469\u200d\U0001f467', 'o' + '\u0335' * 20, '\u202eabc',
         '<b>"\\&\'')


def mutate(text, rng):
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        what = rng.randrange(4)
        if what == 0:
            data[at:at] = rng.choice((b'"', b'{', b'[', b'\\', b'\xff', b'1e999', b'-', b'null', b'\0'))
        elif what == 1:
            del data[at:at + rng.randint(1, 9)]
        elif what == 2 and at < len(data):
            data[at] = rng.randrange(256)
        else:
            data[at:at] = data[:at]
    return bytes(data[:20000])
