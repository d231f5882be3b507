# SPDX-License-Identifier: MIT
"""A headless Chromium, driven by its DevTools protocol."""
import asyncio
import base64
import json
import re
import shutil
import subprocess
import tempfile

import tab


def find():
    return shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')


class Tab(tab.Tab):
    async def __aenter__(self):
        import websockets
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.process = subprocess.Popen(
            [find(), '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
             '--autoplay-policy=no-user-gesture-required', '--remote-debugging-port=0', '--hide-scrollbars',
             f'--user-data-dir={self.folder.name}', *self.flags, 'about:blank'], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if m := re.search(r'ws://\S+', line):
                break
        else:
            raise AssertionError('Chromium does not start')
        self.drain = asyncio.get_running_loop().run_in_executor(None, self.process.stderr.read)
        self.socket = await websockets.connect(m.group(0), max_size=None)
        if self.downloads:
            await self.call('Browser.setDownloadBehavior', behavior='allow', downloadPath=self.downloads)
        target = await self.call('Target.createTarget', url='about:blank')
        session = await self.call('Target.attachToTarget', targetId=target['targetId'], flatten=True)
        self.session = session['sessionId']
        for domain in ('Page', 'Runtime', 'Log'):
            await self.call(f'{domain}.enable')
        await self.resize(*self.size)
        await self.call('Emulation.setEmulatedMedia',
                        features=[{'name': 'prefers-color-scheme', 'value': 'dark' if self.dark else 'light'}])
        return self

    session = None

    async def call(self, method, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            message['sessionId'] = self.session
        await self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(await asyncio.wait_for(self.socket.recv(), 60))
            if answer.get('method') in ('Runtime.exceptionThrown', 'Log.entryAdded'):
                self.note(answer['params'])
            if answer.get('id') == message['id']:
                if 'error' in answer:
                    raise AssertionError(f'{method}: {answer["error"]}')
                return answer['result']

    def note(self, event):
        entry = event.get('entry', {'level': 'error', 'text': str(event.get('exceptionDetails'))})
        if entry['level'] == 'error':
            self.errors.append(entry['text'] + ' ' + entry.get('url', ''))

    async def before_load(self, script):
        """Runs in every page that is opened, before its own scripts."""
        await self.call('Page.addScriptToEvaluateOnNewDocument', source=script)

    async def open(self, url):
        await self.call('Page.navigate', url=url)
        await self.wait_for('location.protocol !== "about:" && document.readyState === "complete"')

    async def resize(self, width, height, mobile=False):
        await self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                        deviceScaleFactor=1, mobile=mobile)

    async def run(self, script):
        """The value of a JavaScript expression; promises are awaited."""
        result = await self.call('Runtime.evaluate', expression=script, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in result:
            raise AssertionError(f'{script}: {result["exceptionDetails"]}')
        return result['result'].get('value')

    async def mouse(self, kind, x, y, button='left', modifiers=0):
        await self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button=button, clickCount=1,
                        modifiers=modifiers)

    async def click(self, x, y, button='left', modifiers=0):
        await self.mouse('mousePressed', x, y, button, modifiers)
        await self.mouse('mouseReleased', x, y, button, modifiers)

    async def drag(self, x, y, to_x, to_y):
        await self.mouse('mousePressed', x, y)
        await self.mouse('mouseMoved', to_x, to_y)
        await self.mouse('mouseReleased', to_x, to_y)

    async def key(self, key, code=None):
        text = {'text': key} if len(key) == 1 else {}
        await self.call('Input.dispatchKeyEvent', type='keyDown', key=key, code=code or key, **text)
        await self.call('Input.dispatchKeyEvent', type='keyUp', key=key, code=code or key)

    async def screenshot(self, path):
        shot = await self.call('Page.captureScreenshot', format='png')
        with open(path, 'wb') as f:
            f.write(base64.b64decode(shot['data']))
