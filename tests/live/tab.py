# SPDX-License-Identifier: MIT
"""What the headless browsers of the tests have in common."""
import asyncio


class Tab:
    """One tab. Coordinates are CSS pixels. Files that the page downloads go to the folder `downloads`. A browser adds run()
    and starts self.process, with self.socket to it and a self.folder of its own."""

    def __init__(self, width=1320, height=860, dark=False, downloads=None, flags=()):
        self.size = width, height
        self.dark = dark
        self.downloads = downloads
        self.flags = flags
        self.number = 0
        self.errors = []

    async def __aexit__(self, *error):
        await self.socket.close()
        self.process.terminate()
        self.process.wait(20)
        self.folder.cleanup()

    async def wait_for(self, script, seconds=20):
        """Polls in the page until the expression is true."""
        for _ in range(int(seconds * 20)):
            try:
                if await self.run(f'!!({script})'):
                    return
            except AssertionError as e:  # a page that is just loaded anew answers nothing
                if 'navigated or closed' not in str(e):
                    raise
            await asyncio.sleep(0.05)
        raise AssertionError(f'not true in {seconds} s: {script}')
