# SPDX-License-Identifier: MIT
"""A headless Firefox, driven by WebDriver BiDi. The class does what chromium.Tab does."""
import asyncio
import base64
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import tab

# Colours as asked for, no start page, no traffic of its own.
PREFERENCES = '''user_pref("layout.css.prefers-color-scheme.content-override", {dark});
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.page", 0);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.enabled", false);
user_pref("app.update.disabledForTesting", true);
user_pref("app.normandy.enabled", false);
user_pref("extensions.getAddons.cache.enabled", false);
user_pref("media.gmp-manager.updateEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "data:,");
user_pref("browser.download.dir", "{folder}");
user_pref("browser.download.folderList", 2);
user_pref("media.autoplay.default", 0);
'''
KEYS = {'Enter': '\uE007', 'Delete': '\uE017', 'Tab': '\uE004', 'ArrowDown': '\ue015'}
BUTTONS = {'left': 0, 'right': 2}


def find():
    return shutil.which('firefox-esr') or shutil.which('firefox')


class Tab(tab.Tab):
    async def __aenter__(self):
        import websockets
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        pathlib.Path(self.folder.name, 'user.js').write_text(
            PREFERENCES.format(dark=0 if self.dark else 1, folder=self.downloads or self.folder.name))
        self.process = subprocess.Popen(
            [find(), '--headless', '--no-remote', '--profile', self.folder.name, '--remote-debugging-port', '0'],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in self.process.stderr:
            if m := re.search(r'BiDi listening on (ws://\S+)', line):
                break
        else:
            raise AssertionError('Firefox does not start')
        self.drain = asyncio.get_running_loop().run_in_executor(None, self.process.stderr.read)
        self.socket = await websockets.connect(m.group(1) + '/session', max_size=None, ping_interval=None)
        await self.call('session.new', capabilities={})
        await self.call('session.subscribe', events=['log.entryAdded'])
        tree = await self.call('browsingContext.getTree')
        self.context = tree['contexts'][0]['context']
        await self.resize(*self.size)
        return self

    async def call(self, method, **parameters):
        self.number += 1
        await self.socket.send(json.dumps({'id': self.number, 'method': method, 'params': parameters}))
        while True:
            answer = json.loads(await asyncio.wait_for(self.socket.recv(), 60))
            if answer.get('method') == 'log.entryAdded' and answer['params']['level'] == 'error':
                self.errors.append(str(answer['params']['text']))
            if answer.get('id') == self.number:
                if answer['type'] == 'error':
                    raise AssertionError(f'{method}: {answer["message"]}')
                return answer['result']

    async def before_load(self, script):
        """Runs in every page that is opened, before its own scripts."""
        await self.call('script.addPreloadScript', functionDeclaration=f'() => {{ {script} }}')

    async def open(self, url):
        await self.call('browsingContext.navigate', context=self.context, url=url, wait='complete')

    async def resize(self, width, height, mobile=False):
        await self.call('browsingContext.setViewport', context=self.context,
                        viewport={'width': width, 'height': height}, devicePixelRatio=1)

    async def run(self, script):
        """The value of a JavaScript expression; promises are awaited."""
        result = await self.call(
            'script.evaluate', target={'context': self.context}, awaitPromise=True,
            expression=f'Promise.resolve({script}).then((value) => JSON.stringify(value))')
        if result['type'] == 'exception':
            raise AssertionError(f'{script}: {result["exceptionDetails"]["text"]}')
        return json.loads(result['result']['value']) if 'value' in result['result'] else None

    async def act(self, *actions):
        await self.call('input.performActions', context=self.context, actions=[
            {'type': 'pointer', 'id': 'mouse', 'parameters': {'pointerType': 'mouse'}, 'actions': list(actions)}])

    async def click(self, x, y, button='left'):
        await self.act({'type': 'pointerMove', 'x': round(x), 'y': round(y)},
                       {'type': 'pointerDown', 'button': BUTTONS[button]}, {'type': 'pointerUp', 'button': BUTTONS[button]})

    async def drag(self, x, y, to_x, to_y):
        await self.act({'type': 'pointerMove', 'x': round(x), 'y': round(y)}, {'type': 'pointerDown', 'button': 0},
                       {'type': 'pointerMove', 'x': round(to_x), 'y': round(to_y)}, {'type': 'pointerUp', 'button': 0})

    async def key(self, key):
        value = KEYS.get(key, key)
        await self.call('input.performActions', context=self.context, actions=[
            {'type': 'key', 'id': 'keys', 'actions': [{'type': 'keyDown', 'value': value}, {'type': 'keyUp', 'value': value}]}])

    async def screenshot(self, path):
        shot = await self.call('browsingContext.captureScreenshot', context=self.context)
        pathlib.Path(path).write_bytes(base64.b64decode(shot['data']))
