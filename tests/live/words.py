#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Words that viewers give to a detector which was trained on the things of the demo's scene: what they find, what not, undo, and
the field of the page. usage: words.py BUILD [OUT_FOLDER]"""
import asyncio
import contextlib
import os
import sys

import chromium
from program import ROOT, Page, Program, check, skip

try:
    import websockets  # noqa: F401
except ImportError as e:
    skip(str(e))

GOLDEN = ROOT / 'tests/golden'
WORDS = ('--set', f'detector-file={GOLDEN}/scene-words/model.safetensors', '--set', 'detector-size=128', '--set', 'detect-interval=5')
SLOW = 120  # s: a busy machine tracks a frame now and then


def states(state):
    return [(p['phrase'], p['state']) for p in state['words']['phrases']]


async def read(page, enough):
    while not enough.is_set():
        await page.take('state')


async def see(page, other, condition, what):
    """Waits for a state of one page, while the other one is not silent for so long that it is closed."""
    enough = asyncio.Event()
    reader = asyncio.create_task(read(other, enough))
    try:
        return await page.wait_for(condition, what, SLOW)
    finally:
        enough.set()  # a message that comes at this moment swallows the cancellation, before Python 3.12
        reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reader


async def ask(program):
    async with Page(program) as one, Page(program) as two:
        await see(one, two, lambda s: s.get('words') == {'of': '', 'refused': False, 'phrases': []}, 'the words')
        reply = await one.ask('words', of='fish. dog')
        check(reply['type'] == 'done', f'words give {reply}')
        await see(two, one, lambda s: s.get('words', {}).get('of') == 'fish. dog', 'the words')
        state = await see(two, one, lambda s: states(s) == [('fish', 'found'), ('dog', 'missing')], 'what is found')
        dog = state['words']['phrases'][1]
        check(dog['threshold'] == 0.35 and 0 < dog['best'] < 0.35, f'the phrase that is missing: {dog}')
        await see(two, one, lambda s: any(o['name'] == 'fish' for o in s['objects']), 'the fish')
        reply = await two.ask('words', of=' dog .. ball.')
        check(reply['type'] == 'done', f'words give {reply}')
        # What was told of a phrase stays.
        state = await see(one, two, lambda s: s['words']['of'] in (' dog .. ball.', 'dog. ball'), 'the other words')
        check(states(state)[0] == ('dog', 'missing') and states(state)[1][0] == 'ball', f'after a change: {state["words"]}')
        await see(one, two, lambda s: not any(o['name'] == 'fish' for o in s['objects']), 'the end of the fish')
        await see(one, two, lambda s: states(s)[1] == ('ball', 'found'), 'the ball')
        check(one.state['undo']['text'] == 'asked for  dog .. ball.', f'undo is {one.state["undo"]}')
        await one.ask('back')
        await see(two, one, lambda s: states(s)[0] == ('fish', 'found'), 'the fish again')
        for words, why in (('a "dog"', 'quotation mark'), ('x' * 5000, '4094'), ('. '.join(f'a{i}' for i in range(65)), '64')):
            reply = await one.ask('words', of=words)
            check(reply['type'] == 'refused' and why in reply['why'], f'{words[:20]} gives {reply}')
            # It was refused at once: those that are looked for are not.
            state = await one.take('state')
            check(states(state)[0][0] == 'fish' and not state['words']['refused'], f'words that were refused make {state["words"]}')
        await one.ask('words', of='')
        await see(one, two, lambda s: s['words'] == {'of': '', 'refused': False, 'phrases': []}, 'no words')
        # The detector says so when it reads them.
        await one.ask('words', of='\u3042')
        await see(one, two, lambda s: s['words']['refused'], 'the refusal')
        await one.ask('words', of='')


async def type_words(program, out):
    async with chromium.Tab(1280, 860) as tab:
        await tab.open(program.page)
        await tab.wait_for('!document.getElementById("words").hidden', SLOW)
        await tab.run('document.getElementById("words-of").focus()')
        for letter in 'ball. cat':
            await tab.key(letter)
        await tab.key('Enter')
        phrases = '[...document.querySelectorAll("#phrases li")].map(li => li.textContent)'
        await tab.wait_for(f'{phrases}[0] === "ball: found" && /^cat: not found: best score 0.[0-3][0-9], 0.35 is expected$/.test({phrases}[1])',
                           SLOW)
        await tab.wait_for('[...document.querySelectorAll("#objects input")].some((name) => name.value === "ball")', SLOW)
        if out:
            await tab.screenshot(f'{out}/words.png')
        check(not tab.errors, f'the page has errors: {tab.errors}')


async def lack(program):
    """A detector of fixed classes has no words, and says which classes it has."""
    async with Page(program) as page:
        await page.wait_for(lambda s: s['inferred'] or s['width'], 'a frame', SLOW)
        reply = await page.ask('words', of='dog')
        check(reply['type'] == 'refused' and 'finds the classes' in reply['why'], f'words for it give {reply}')
        check('words' not in await page.take('state'), 'it has words')


def main(build, out=None):
    os.environ['SAMTRACK_MODEL'] = f'{ROOT}/models/samtrack-lite0.safetensors'
    with Program(build, '--demo', *WORDS) as program:
        program.wait_for_frames('demo')
        asyncio.run(ask(program))
        if chromium.find():
            asyncio.run(type_words(program, out))
    with Program(build, '--demo', '--set', f'detector-file={GOLDEN}/yolov10/model.safetensors') as program:
        program.wait_for_frames('demo')
        asyncio.run(lack(program))
    print('ok')


if __name__ == '__main__':
    main(*sys.argv[1:])
