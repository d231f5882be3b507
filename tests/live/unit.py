#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The program as a service: who may read its secrets, what the journal gets, what systemd thinks of the unit.
usage: unit.py BUILD"""
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from program import Program, check, get_environment, get_path

CAMERA = '[camera test]\nsource=test\nwidth=160\nheight=96\n'
PASSWORD = 'open-sesame'


def write(path, text, mode):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def get_warnings(program):
    return [line for line in program.read_log().splitlines() if 'secret-readable' in line]


def warn(build, folder):
    """Files with secrets that everybody may read are told, each once; others are not."""
    token = write(f'{folder}/token', '  test-token \r\n', 0o600)
    secret, plain = f'[live]\ntoken=test-token\n{CAMERA}', f'[live]\ntoken-file={token}\n{CAMERA}'
    password = f'[live]\ntoken-file={token}\n[camera test]\nsource=rtsp://me:{PASSWORD}@127.0.0.1:9/x\n'
    for text, mode, token_mode, wanted in ((secret, 0o644, 0o600, ['live.conf']), (secret, 0o600, 0o600, []), (secret, 0o640, 0o600, []),
                                           (plain, 0o644, 0o600, []), (plain, 0o600, 0o604, ['token']),
                                           (password, 0o644, 0o644, ['live.conf', 'token'])):
        os.chmod(token, token_mode)
        path = write(f'{folder}/live.conf', text, mode)
        with Program(build, '--config', path, token=None) as program:
            program.token = 'test-token'
            check(program.get('/metrics')[0] == 200, f'the token of {path} is not taken')
            lines = get_warnings(program)
            check([re.search(r'file=(\S+)', line).group(1) for line in lines] == [f'{folder}/{name}' for name in wanted],
                  f'with modes {mode:o} and {token_mode:o} the log tells {lines}, expected {wanted}')
            check(all(re.search('mode=06[04][04]', line) for line in lines), f'the modes are told as {lines}')
            if text == password:
                program.wait_for(lambda m: 'source-away' in program.read_log(), 'the absence of the camera')
            check(PASSWORD not in program.read_log(), 'the log holds the password of a camera')


def refuse(build, folder):
    """A sentence each, and none holds a password."""
    write(f'{folder}/empty', '', 0o600)
    for text, wanted in ((f'[live]\ntoken-file={folder}/nothing\n{CAMERA}', 'nothing'),
                         (f'[live]\ntoken-file={folder}/empty\n{CAMERA}', '8 to 128'),
                         (f'[live]\ntoken-file={folder}/empty\ntoken=test-token\n{CAMERA}', 'token and token-file'),
                         (f'[live]\ntoken-file=credential:token\n{CAMERA}', 'LoadCredential='),
                         (f'[camera test]\nsource=rtps://me:{PASSWORD}@host/x\n', 'rtps://host/x')):
        path = write(f'{folder}/live.conf', text, 0o600)
        result = subprocess.run([get_path(build), '--config', path], capture_output=True, text=True, timeout=60,
                                env=get_environment(build))
        check(result.returncode == 2 and wanted in result.stderr and PASSWORD not in result.stderr and result.stderr.count('\n') == 1,
              f'{text!r} ends with status {result.returncode}: {result.stderr}')


def miss_plugin(build, folder):
    """As after an installation elsewhere."""
    path = write(f'{folder}/live.conf', CAMERA, 0o600)
    result = subprocess.run([get_path(build), '--config', path, '--http-port', '0', '--rtsp-port', '0', '--state-folder', f'{folder}/none'],
                            capture_output=True, text=True, timeout=60,
                            env=dict(os.environ, GST_PLUGIN_PATH=f'{folder}/plugins', GST_REGISTRY=f'{folder}/registry'))
    check(result.returncode == 1 and result.stderr.count('\n') == 1 and f'GST_PLUGIN_PATH, which is {folder}/plugins' in result.stderr,
          f'without the plugin it ends with status {result.returncode}: {result.stderr}')


def serve(build, folder):
    """As the unit starts it, with credentials, standard output and the log going to one journal."""
    credentials = f'{folder}/credentials'
    os.makedirs(credentials)
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
                    '-subj', '/CN=localhost', '-out', f'{credentials}/cert.pem', '-keyout', f'{credentials}/key.pem'],
                   check=True, capture_output=True)
    write(f'{credentials}/live.conf', '[live]\nhttp-port=0\nrtsp-port=0\ntls-certificate=credential:cert.pem\n'
          f'tls-key=credential:key.pem\n{CAMERA}', 0o400)
    with open(f'{folder}/journal', 'w+', encoding='utf-8') as journal:
        file = os.fstat(journal.fileno())
        process = subprocess.Popen(
            [get_path(build), '--config', f'{credentials}/live.conf', '--state-folder', f'{folder}/state'], stdout=journal, stderr=journal,
            env=dict(get_environment(build), CREDENTIALS_DIRECTORY=credentials, JOURNAL_STREAM=f'{file.st_dev}:{file.st_ino}'))
        end, text = time.monotonic() + 30, ''
        while 'event=token' not in text and time.monotonic() < end and process.poll() is None:
            time.sleep(0.1)
            with open(journal.name, encoding='utf-8') as f:
                text = f.read()
        process.send_signal(signal.SIGTERM)
        check(process.wait(20) == 0, f'it ends with status {process.returncode}: {text}')
    path = f'{folder}/state/token'
    check('event=token' in text, f'the journal does not say where the token is: {text}')
    with open(path, encoding='utf-8') as f:
        token = f.read().strip()
    check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, f'{path} has the mode {os.stat(path).st_mode:o}')
    check(re.fullmatch('[0-9a-f]{32}', token) and token not in text, f'the journal holds the token: {text}')
    check(re.search(r'^https://127.0.0.1:\d+/$', text, re.M) and re.search(r'^rtsps://127.0.0.1:\d+/clean/test$', text, re.M),
          f'the journal holds no addresses: {text}')


def keep_token(build, folder):
    """Nobody gives a token: it is the same after a restart, and in a file of its owner's; one that is damaged is replaced."""
    config, tokens = write(f'{folder}/token.conf', CAMERA, 0o600), []
    for _ in range(3):
        with Program(build, '--config', config, '--state-folder', f'{folder}/kept', token=None) as program:
            tokens.append(re.search('token=([0-9a-f]{32})$', program.page).group(1))
            program.token = tokens[-1]
            check(program.get('/metrics')[0] == 200, 'the token is not taken')
        path = f'{folder}/kept/token'
        check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, f'{path} has the mode {os.stat(path).st_mode:o}')
        if len(tokens) == 2:
            write(path, 'short', 0o600)
    check(tokens[0] == tokens[1] != tokens[2], f'the tokens of three starts are {tokens}')


def rate_unit(unit):
    """2.0 at most, of 10."""
    analyze = shutil.which('systemd-analyze')
    if not analyze:
        print('there is no systemd-analyze')
        return
    result = subprocess.run([analyze, 'security', '--offline=true', '--threshold=20', '--no-pager', unit], capture_output=True, text=True,
                            timeout=60)
    print(result.stdout.splitlines()[-1])
    check(result.returncode == 0, f'systemd-analyze security: {result.stdout}{result.stderr}')


def main(build):
    unit = pathlib.Path(build) / 'pipelines/live/samtrack-live.service'
    text = unit.read_text(encoding='utf-8')
    check('@BINDIR' not in text and '@PLUGINS' not in text, 'the unit has a place that is not filled in')
    check('--config %d/samtrack-live.conf' in text and '\nLoadCredential=samtrack-live.conf:' in text, 'the unit loads no credential')
    with tempfile.TemporaryDirectory() as folder:
        refuse(build, folder)
        warn(build, folder)
        serve(build, folder)
        keep_token(build, folder)
        miss_plugin(build, folder)
    rate_unit(unit)
    print('ok')


main(sys.argv[1])
