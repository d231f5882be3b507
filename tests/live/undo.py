#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What viewers do is undone, from either page; saves have names and dates; objects are there again after a restart. On a
scripted tracker. usage: undo.py BUILD"""
import asyncio
import collections
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

from program import ROOT, Page, Program, check, skip

try:
    import websockets  # noqa: F401
except ImportError as e:
    skip(str(e))

MAX_SAVES = 40
MAX_UNDO = 20


def names(state):
    return [(o['id'], o['name']) for o in state['objects']]


async def do(page, op, **fields):
    reply = await page.ask(op, **fields)
    check(reply['type'] != 'refused', f'{op} {fields} is refused: {reply}')
    return reply


async def expect(page, wanted, what):
    return await page.wait_for(lambda s: names(s) == wanted, f'{what} ({wanted})')


async def begin(page, x):
    id_ = (await do(page, 'box', x=x, y=0.2, w=0.2, h=0.3))['id']
    await page.wait_for(lambda s: id_ in [o['id'] for o in s['objects']], f'object {id_}')
    return id_


async def undo_each(one, two):
    """Each step by the page that did not do it, the newest first."""
    await one.wait_for(lambda s: s['undo'] == {'n': 0, 'text': '', 'large': False}, 'nothing to undo')
    check((await one.ask('back'))['type'] == 'refused', 'what was not done is undone')
    first, second = await begin(one, 0.1), await begin(one, 0.5)
    await do(one, 'rename', id=first, name='ball')
    await expect(two, [(first, 'ball'), (second, '')], 'two objects')
    await do(one, 'remove', id=first)
    state = await expect(two, [(second, '')], 'the removal')
    check(state['undo']['text'] == 'removed ball' and state['undo']['large'], f'it would undo {state["undo"]}')
    await do(two, 'back', n=state['undo']['n'])
    await expect(one, [(first, 'ball'), (second, '')], 'the removed object')
    await do(one, 'clear')
    state = await expect(two, [], 'that all are removed')
    check(state['undo']['text'] == 'removed all 2 objects', f'it would undo {state["undo"]}')
    reply = await two.ask('back', n=state['undo']['n'] - 1)
    check(reply['type'] == 'refused' and 'removed all' in reply['why'], f'an older step gives {reply}')
    await do(two, 'back')
    await expect(one, [(first, 'ball'), (second, '')], 'all objects')
    await do(two, 'back')  # of the name
    await expect(one, [(first, ''), (second, '')], 'the object without its name')
    await do(one, 'point', id=second, x=0.8, y=0.4, positive=True)
    state = await one.wait_for(lambda s: s['undo']['text'] == f'corrected object {second}', 'the correction')
    await do(two, 'back')
    for left in ([(first, '')], []):
        await do(two, 'back')  # of the prompt that began it
        await expect(one, left, 'one object fewer')
    replies = await asyncio.gather(one.ask('back'), two.ask('back'))
    check([r['type'] for r in replies] == ['refused'] * 2, f'two pages undo nothing: {replies}')


async def undo_at_once(one, two):
    """Both pages ask to undo the same step: one of them is told what happened."""
    id_ = await begin(one, 0.3)
    await do(one, 'rename', id=id_, name='a')
    await do(one, 'rename', id=id_, name='b')
    state = await one.wait_for(lambda s: names(s) == [(id_, 'b')], 'the name')
    replies = await asyncio.gather(*(page.ask('back', n=state['undo']['n']) for page in (one, two)))
    check(sorted(r['type'] for r in replies) == ['done', 'refused'], f'two pages undo one step: {replies}')
    await expect(two, [(id_, 'a')], 'the name before')
    await do(one, 'clear')


async def forget_oldest(page, folder):
    """Steps and their files are bounded."""
    for _ in range(MAX_UNDO + 2):
        await begin(page, 0.2)
        await do(page, 'clear')
        await page.wait_for(lambda s: not s['objects'], 'the removal')
    files = list(folder.glob('demo.undo-*'))
    check(len(files) <= MAX_UNDO, f'{len(files)} files are kept for undo')
    for _ in range(MAX_UNDO):
        await do(page, 'back')
    reply = await page.ask('back')
    check(reply['type'] == 'refused' and 'nothing' in reply['why'], f'{MAX_UNDO + 1} steps are undone: {reply}')
    check(not list(folder.glob('demo.undo-*')), 'files of steps that are gone are left')
    await do(page, 'clear')


async def save(page, folder):
    """Saves are listed with names and dates, the newest first; each can be restored; that is undone, too."""
    first = await begin(page, 0.1)
    await do(page, 'rename', id=first, name='ball')
    await do(page, 'save', name='Morning \u2603 <b>')
    second = await begin(page, 0.6)
    await expect(page, [(first, 'ball'), (second, '')], 'two objects')
    await do(page, 'save')
    saves = [s for s in (await do(page, 'saves'))['saves'] if s['save'] != 'kept']
    check([(s['name'], s['objects']) for s in saves] == [('', 2), ('Morning \u2603 <b>', 1)], f'the saves are {saves}')
    check(all(abs(s['time'] - time.time()) < 60 for s in saves), f'the dates are {saves}')
    await do(page, 'restore', save=saves[1]['save'])
    await expect(page, [(first, 'ball')], 'the older save')
    await do(page, 'back')
    await expect(page, [(first, 'ball'), (second, '')], 'what was there before')
    await do(page, 'clear')
    await do(page, 'restore')
    await expect(page, [(first, 'ball'), (second, '')], 'the newest save')
    # The machine's clock is set back by three years: what was saved last is the newest all the same, and is kept.
    for names in folder.glob('demo.*.names'):
        names.write_text(re.sub('^time=.*', f'time={int(time.time()) + 10**8}', names.read_text(), flags=re.M))
    for bad in ('../demo', 'a/b', '', '1' * 40, '20200101-000000-1'):
        reply = await page.ask('restore', save=bad)
        check(reply['type'] == 'refused' and 'save' in reply['why'], f'the save {bad!r} gives {reply}')
    check((await page.ask('save', name='x' * 65))['type'] == 'refused', 'a long name is not refused')
    await do(page, 'rename', id=second, name='later')
    await do(page, 'save', name='later')
    await do(page, 'clear')
    await do(page, 'restore')
    await expect(page, [(first, 'ball'), (second, 'later')], 'the newest save after the clock was set back')
    for _ in range(MAX_SAVES):
        await do(page, 'save')
    saves = [s for s in (await do(page, 'saves'))['saves'] if s['save'] != 'kept']
    check(len(saves) == MAX_SAVES and not any(s['name'] for s in saves), f'{len(saves)} saves are kept')
    check(len(list(folder.glob('demo.2*.tracks'))) == MAX_SAVES, 'files of saves that are gone are left')
    return [(first, 'ball'), (second, 'later')]


async def use(program, folder):
    async with Page(program) as one, Page(program) as two:
        await undo_each(one, two)
        await undo_at_once(one, two)
        await forget_oldest(one, folder)
        return await save(one, folder)


async def see(program, wanted, then=None):
    async with Page(program) as page:
        await expect(page, wanted, 'the objects of before')
        if then:
            await do(page, then)
            await expect(page, [], 'the removal')


def get_arguments(folder):
    (folder / 'live.conf').write_text('[camera demo]\nsource=demo\n')
    return '--config', str(folder / 'live.conf'), '--state-folder', str(folder)


def count_lines(program, runs, least):
    """Of annotations, by run and name, once there are so many of the run that is on, the last of so many; the frames' numbers never repeat."""
    while True:
        lines = [json.loads(line) for line in program.get('/annotations/demo.jsonl')[1].splitlines()]
        counts = collections.Counter()
        for line in lines:
            counts[line['run']] += any(thing.get('label') == 'ball' for thing in line['objects'])
        if len(counts) >= runs and list(counts.values())[-1] >= least:
            break
        time.sleep(0.1)
    frames = [line['frame'] for line in lines]
    check(frames == sorted(set(frames)), f'frames are numbered {frames}')
    return counts


def compare(before, now):
    """What was kept is there again."""
    check(len(now) == len(before) + 1 and all(now[run] >= n > 0 for run, n in before.items()), f'annotations of {before} are {now}')


def restart(build, folder, wanted):
    """After an end in order, after a kill, and after all objects were removed."""
    arguments = get_arguments(folder)
    with Program(build, *arguments) as program:
        asyncio.run(see(program, wanted))
        first = count_lines(program, 2, 5)
        check(len(first) == 2, f'annotations are {first}')
        coco = json.loads(program.get('/annotations/demo.json')[1])
        check({a['track_id'] for a in coco['annotations']} >= {i for i, _ in wanted} and len(coco['videos']) == 2 and
              any(c['name'] == 'ball' for c in coco['categories']), f'the COCO file has {coco["videos"]}, {coco["categories"]}')
        (folder / 'demo.undo-7.tracks').touch()  # as a program leaves it that is killed
        kept = folder / 'demo.kept.names'
        before = kept.stat().st_mtime_ns
        while kept.stat().st_mtime_ns == before:
            time.sleep(0.1)
        program.process.send_signal(signal.SIGKILL)
        program.process.wait()
        program.stop = lambda: None
    with Program(build, *arguments) as program:
        asyncio.run(see(program, wanted))
        compare(first, count_lines(program, 3, 5))
        asyncio.run(see(program, wanted, 'clear'))
        check(not list(folder.glob('demo.undo-7.*')), 'what a killed program left is still there')
    with Program(build, *arguments) as program:
        asyncio.run(see(program, []))
    (folder / 'demo.kept.names').write_text('[save\n')
    (folder / 'demo.kept.tracks').write_text('rubbish')
    with Program(build, *arguments) as program:
        asyncio.run(see(program, []))
        program.wait_for(lambda m: 'event=restore-failed' in program.read_log(), 'the log of damaged tracks')


def main(build):
    os.environ['LD_LIBRARY_PATH'] = f'{build}/tests/scripted'
    os.environ['SAMTRACK_MODEL'] = f'{ROOT}/models/samtrack-lite0.safetensors'
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with Program(build, *get_arguments(folder)) as program:
            program.wait_for_frames('demo')
            wanted = asyncio.run(use(program, folder))
        check(not list(folder.glob('demo.undo-*')), 'files for undo are left at the end')
        restart(build, folder, wanted)
    print('ok')


if __name__ == '__main__':
    main(sys.argv[1])
