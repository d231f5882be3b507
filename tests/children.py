# SPDX-License-Identifier: MIT
"""What a test starts ends with the test, however that ends.

`end_with_test()`, called first, makes SIGTERM an ordinary end and kills at the end whatever still runs of the programs that the
test has started and of those that these have started.
"""
import atexit
import ctypes
import os
import pathlib
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def get_descendants():
    """Process ids of those that run."""
    parents = {}
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            state, parent = path.read_text().rpartition(')')[2].split()[:2]
        except OSError:
            continue  # it has just ended
        if state != 'Z':
            parents[int(path.parent.name)] = int(parent)
    found = {os.getpid()}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found - {os.getpid()}
        found |= more


def kill_descendants():
    while left := get_descendants():
        for child in left:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)
    try:
        while os.waitpid(-1, 0):  # the orphans of those that are gone are ours
            pass
    except ChildProcessError:
        pass


def end_with_test():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    owner = os.getpid()
    atexit.register(lambda: kill_descendants() if os.getpid() == owner else None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit('ended by SIGTERM'))
