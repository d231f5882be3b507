# SPDX-License-Identifier: MIT
"""What tools that need packages say where these are not installed: one sentence that names the package and the Python
that lacks it. Python runs without its folder of packages here.

usage: alone.py SCRIPT...
"""
import subprocess
import sys


def main():
    bad = 0
    for script in sys.argv[1:]:
        done = subprocess.run([sys.executable, '-I', '-S', script, '--out', '/nowhere'], capture_output=True, text=True)
        lines = done.stderr.splitlines()
        good = (done.returncode == 1 and len(lines) == 1 and 'torch is not installed in ' + sys.executable in lines[0]
                and not done.stdout)
        print(f'{script}: status {done.returncode}, {lines}')
        bad += not good
    return bad or len(sys.argv) < 2


if __name__ == '__main__':
    sys.exit(main())
