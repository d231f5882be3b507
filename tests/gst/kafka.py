#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""samexport at Kafka brokers that fail, go and come back: every line arrives, once, and in order.
usage: kafka.py PLUGINS MOCK"""
import json
import os
import re
import socket
import subprocess
import sys
import time

PLUGINS, MOCK = sys.argv[1:3]
ENV = dict(os.environ, GST_PLUGIN_PATH=PLUGINS, GST_REGISTRY_FORK='no')
SOURCE = 'videotestsrc num-buffers={} ! video/x-raw,width=16,height=16,framerate={}/1 ! '


def check(truth, what):
    if not truth:
        sys.exit(f'FAILED: {what}')


class Brokers:
    def __init__(self):
        self.process = subprocess.Popen([MOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.hosts = self.process.stdout.readline().strip()

    def tell(self, word):
        self.process.stdin.write(f'{word}\n')
        self.process.stdin.flush()

    def read(self, n):
        """[(partition, key, line)]"""
        self.tell(n)
        found = []
        for text in self.process.stdout:
            if text in ('end\n', 'more\n'):
                check(text == 'end\n', f'more than {n} messages')
                break
            partition, key, line = text.split(' ', 2)
            found.append((partition, key, json.loads(line)))
        return found

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)


def launch(text):
    return subprocess.Popen(['gst-launch-1.0', '-m', *text.split()], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process, status=0):
    said = process.communicate(timeout=90)[0]
    check(bool(process.returncode) == bool(status), f'exit status {process.returncode}: {said[-2000:]}')
    return said


def get_stats(said):
    found = re.findall(r'samexport-stats, (.*);', said)
    check(found, f'no message samexport-stats: {said[-1000:]}')
    return {k: int(v) for k, v in re.findall(r'([\w-]+)=\(\w+\)(\d+)', found[-1])}


def check_messages(found, count, key):
    frames = [line['frame'] for _, _, line in found]
    check(len(found) == count, f'{len(found)} messages of {count}, without {sorted(set(range(count)) - set(frames))}')
    check(len({(partition, k) for partition, k, _ in found}) == 1 and found[0][1] == key(found[0][2]), f'partitions and keys: {found[0][:2]}')
    check(frames == list(range(count)), f'the order of lines: {frames}')


def fail_and_come_back():
    """A thousand lines, while requests fail and all brokers go away for a while."""
    brokers = Brokers()
    process = launch(f'{SOURCE.format(1000, 200)} identity sync=true ! samexport kafka-uri=kafka://{brokers.hosts}/lines kafka-key=door ! fakesink')
    time.sleep(1.5)
    brokers.tell('e')
    time.sleep(0.5)
    brokers.tell('d')
    time.sleep(2)
    brokers.tell('u')
    said = finish(process)
    stats = get_stats(said)
    check(stats['frames-written'] == 1000 and stats['frames-lost'] == 0, f'{stats}')
    check(said.count('cannot be reached') >= 1 and stats['reconnects'] == 1 and 'recovered=(boolean)true' in said, f'{stats}, {said[-2000:]}')
    check_messages(brokers.read(1000), 1000, lambda line: 'door')
    brokers.close()
    print(f'1000 lines, warnings: {said.count("WARNING: from element")}, reconnects: {stats["reconnects"]}')


def use_run_as_key():
    brokers = Brokers()
    brokers.tell('e')
    finish(launch(f'{SOURCE.format(50, 25)} identity sync=true ! samexport kafka-uri=kafka://{brokers.hosts}/lines ! fakesink'))
    check_messages(brokers.read(50), 50, lambda line: line['run'])
    brokers.close()


def miss_brokers():
    """The stream ends as it would with brokers, and all is counted."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
        begin = time.monotonic()
        said = finish(launch(f'{SOURCE.format(200, 25)} samexport kafka-uri=kafka://127.0.0.1:{port}/lines mqtt-buffer-size=6000 ! fakesink'))
    stats = get_stats(said)
    check(stats['frames-in'] == 200 and stats['frames-written'] == 0 and 0 < stats['frames-lost'] <= 200, f'{stats}')
    check('cannot be reached' in said or 'do not acknowledge' in said, f'nothing is told: {said[-2000:]}')
    check(time.monotonic() - begin < 60, 'it waits without an end')


def refuse():
    for uri, wanted in (('kafka://h:1', 'expected kafka://host'), ('kafka:///t', 'expected kafka://host'), ('http://h/t', 'expected kafka://host'),
                        ('kafka://h/a/b', 'expected kafka://host'), ('kafka://h/t?x', 'expected kafka://host'),
                        ('kafka://me:secret@h/t', "'(not shown)'"), (f'kafka://h/{"t" * 250}', 'expected kafka://host'),
                        ('kafka://h/t location=/tmp/x', "'kafka-uri', expected one of them"), ('kafka://h/t format=coco', "'json-lines'"),
                        ('kafka://h/t mqtt-uri=mqtt://h/t', 'expected one of them'), ('kafka://h/t atomic=true', "'atomic'")):
        said = finish(launch(f'{SOURCE.format(1, 25)} samexport kafka-uri={uri} ! fakesink'), 1)
        check(wanted in said and 'secret' not in said, f'{uri}: {said[-500:]}')


fail_and_come_back()
use_run_as_key()
miss_brokers()
refuse()
