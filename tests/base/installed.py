#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What meson install installs, used as another program does: by pkg-config, its headers, its plugins, its programs.

usage: installed.py BUILD SOURCES MODEL CC...
"""
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HEADERS = {'samtrack.h', 'answers.h', 'cover.h', 'detector.h', 'likes.h', 'seed.h', 'trunk.h', 'version.h'}
ELEMENTS = {'libgstsamtrack.so': ['samtrack', 'samoverlay'], 'libgstsamscene.so': ['samscene']}
VERSION_C = '''
#include <samtrack/samtrack.h>
#include <string.h>
#if !SAM_CHECK_VERSION(SAM_VERSION_MAJOR, SAM_VERSION_MINOR, SAM_VERSION_PATCH) || !SAM_CHECK_VERSION(0, 1, 0)
#error "older than itself"
#endif
#if SAM_CHECK_VERSION(SAM_VERSION_MAJOR, SAM_VERSION_MINOR, SAM_VERSION_PATCH + 1) || \\
    SAM_CHECK_VERSION(SAM_VERSION_MAJOR, SAM_VERSION_MINOR + 1, 0) || SAM_CHECK_VERSION(SAM_VERSION_MAJOR + 1, 0, 0)
#error "newer than itself"
#endif
int main(void) { return strcmp(sam_version(), SAM_VERSION_STRING) || SAM_API_NUMBER != %s; }
'''


def run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, check=False, **options)
    if done.returncode:
        sys.exit(f'FAILED: {" ".join(map(str, command))}: status {done.returncode}: {done.stdout}{done.stderr}')
    return done.stdout


def check(condition, what):
    if not condition:
        sys.exit(f'FAILED: {what}')


class Tree:
    """An installation in a folder that stands for the root of the file system."""

    def __init__(self, build, root):
        run(['meson', 'install', '-C', build, '--no-rebuild', '--destdir', root])
        options = {o['name']: o['value'] for o in json.loads(run(['meson', 'introspect', '--buildoptions', build]))}
        self.root, self.prefix = root, root / options['prefix'].lstrip('/')
        self.lib = self.prefix / options['libdir']
        self.files = {p.relative_to(self.prefix).as_posix() for p in self.prefix.rglob('*') if not p.is_dir()}
        self.env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=str(root), PKG_CONFIG_LIBDIR=str(self.lib / 'pkgconfig'), LD_LIBRARY_PATH=str(self.lib),
                        GST_REGISTRY=str(root / 'registry'), GST_REGISTRY_FORK='no', PATH=f'{self.prefix}/bin:{os.environ["PATH"]}')
        self.env.pop('GST_PLUGIN_PATH', None)

    def ask(self, *words):
        return run(['pkg-config', *words, 'samtrack-1.0'], env=self.env).strip()

    def run(self, *command, **env):
        return run(command, env=dict(self.env, **env), cwd=self.root)


def compile_programs(tree, sources, model, cc):
    """The example of the header and the macros of the version, with what pkg-config says alone."""
    flags, libs = tree.ask('--cflags').split(), tree.ask('--libs').split()
    includes = pathlib.Path(flags[0].removeprefix('-I'))
    check({p.name for p in (includes / 'samtrack').iterdir()} == HEADERS, f'{includes} has {list(includes.iterdir())}')
    text = (includes / 'samtrack/samtrack.h').read_text()
    example = re.search(r'// EXAMPLE BEGIN\n(.*?)// EXAMPLE END', text, re.S)[1]
    (tree.root / 'example.c').write_text(re.sub(r'^// ?', '', example, flags=re.M))
    number = re.search(r'^\| (\d+) \| (\S+) \|[^\n]*\n(?!\|)', (sources / 'docs/BUILDING.md').read_text().split('## Versions\n')[1], re.M)
    (tree.root / 'version.c').write_text(VERSION_C % number[1])
    for name in ('example', 'version'):
        run([*cc, '-std=c11', '-Wall', '-Wextra', '-Werror', *flags, tree.root / f'{name}.c', '-o', tree.root / name, *libs])
    check(tree.run('./example', model).count('frame ') == 20, 'the example of samtrack.h does not track 20 frames')
    tree.run('./version')
    soname = re.search(r'SONAME.*\[(.*)\]', run(['readelf', '-d', tree.lib / 'libsamtrack.so']))[1]
    check(soname == f'libsamtrack.so.{number[1]}', f'the library is {soname}, the last number of docs/BUILDING.md is {number[1]}')


def check_signals(element, said):
    """Every action signal names its arguments."""
    actions = said.partition('Element Actions:\n')[2]
    for name, arguments in re.findall(r'^  "([\w-]+)" : .*?\(GstElement\* object(.*?)\);', actions, re.M | re.S):
        names = re.search(rf'^  Signal-{name} +\((.*)\)$', said, re.M)
        check(names and len(names[1].split()) == arguments.count(' arg'), f'{element}: {name} names {names and names[1]}, its arguments are {arguments}')


def inspect_plugins(tree):
    named = tree.ask('--variable=pluginsdir')  # pkgconf puts the root ahead of it, pkg-config does not
    plugins = tree.root / named.removeprefix(str(tree.root)).lstrip('/')
    for name, elements in ELEMENTS.items():
        check((plugins / name).exists(), f'there is no {plugins / name}')
        for element in elements:
            said = tree.run('gst-inspect-1.0', element, GST_PLUGIN_PATH=str(plugins))
            check_signals(element, said)
            check(str(plugins / name) in said, f'{element} is not that of {plugins / name}: {said[:600]}')
    return plugins


def run_programs(tree, plugins, model, version):
    env = {'GST_PLUGIN_PATH': str(plugins), 'SAMTRACK_MODEL': str(model)}
    for name in ('samtrack-run', 'samtrack-live', 'samtrack-batch', 'samtrack-fleet'):
        if f'bin/{name}' not in tree.files:
            print(f'{name} was not built')
            continue
        check(tree.run(name, '--version') == f'{name} {version}\n', f'{name} --version: {tree.run(name, "--version")}')
        page = tree.prefix / f'share/man/man1/{name}.1'
        text = page.read_text(encoding='utf-8').replace('\\', '')
        options = set(re.findall(r'^  (?:-\w, )?(--[\w-]+)', tree.run(name, '--help'), re.M))
        check(len(options) > (2 if name == 'samtrack-fleet' else 10) and all(o in text for o in options), f'{page.name} lacks {[o for o in options if o not in text]}')
        sections = re.findall('^.SH "?(.*?)"?$', text, re.M)
        told = {t.upper() for t in re.findall(r'^([A-Z][\w ]+):$', tree.run(name, '--help'), re.M) if not t.endswith('Options') and t != 'Usage'}
        check({'SYNOPSIS', 'OPTIONS', 'SEE ALSO', *told} <= set(sections), f'{page.name} has {sections}, --help has {told}')
        check(name in ('samtrack-batch', 'samtrack-fleet') or 'EXIT STATUS' in told, f'{name} --help has {told}')
        if shutil.which('groff'):
            done = subprocess.run(['groff', '-man', '-ww', '-z', page], capture_output=True, text=True, check=False)
            check(not done.stderr, f'groff on {page.name}: {done.stderr}')
    if 'bin/samtrack-run' in tree.files:
        said = tree.run('samtrack-run', '--source=samscene num-buffers=3 ! video/x-raw,width=160,height=96,framerate=30/1',
                        '--prompt=point,x=73,y=71', '--label-maps=maps', **env)
        check(said.startswith('frames 3, objects 1') and len(list((tree.root / 'maps').iterdir())) == 3, f'samtrack-run: {said}')
    for unit in tree.root.rglob('samtrack-live.service'):
        program = re.search(r'^ExecStart=(\S+)', unit.read_text(), re.M)[1]
        check((tree.root / program.lstrip('/')).exists(), f'the unit starts {program}, which is not installed')


def fill_packages(tree, sources):
    """Every installed file is in one Debian package, and no line of debian/*.install is in vain."""
    lines = [line.strip() for file in (sources / 'debian').glob('*.install') for line in file.read_text().splitlines()]
    number = re.search(r'SAM_API_NUMBER (\d+)', next(tree.prefix.rglob('version.h')).read_text())[1]
    check(f'\nPackage: libsamtrack{number}\n' in (sources / 'debian/control').read_text(), f'debian/control has no package libsamtrack{number}')
    unused = set(lines)
    libdir = tree.lib.relative_to(tree.prefix).as_posix()
    for name in tree.files | {f'lib/systemd/system/{p.name}' for p in tree.root.rglob('*.service')}:
        name = name if name.startswith('lib/systemd') else 'usr/' + name.replace(libdir, 'lib/triplet', 1)
        found = {line for line in lines if fnmatch.fnmatch(name, line) or fnmatch.fnmatch(name, line + '/*')}
        check(len(found) == 1, f'{name} is in the packages of {sorted(found)}')
        unused -= found
    check(not unused, f'debian/*.install names {sorted(unused)}, which is not installed')


def hold_no_path(tree, sources, build):
    """What is installed names neither the folder it was built in nor that of the sources."""
    for name in tree.files:
        path = tree.prefix / name
        if path.suffix != '.safetensors':
            held = [p for p in (build, sources) if os.fsencode(p) + b'/' in path.read_bytes()]
            check(not held, f'{name} holds the path {held}')


def main(build, sources, model, *cc):
    build, sources, model = (pathlib.Path(p).resolve() for p in (build, sources, model))
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(build, pathlib.Path(folder))
        version = json.loads(run(['meson', 'introspect', '--projectinfo', build]))['version']
        check(tree.ask('--modversion') == version, f'the version of samtrack-1.0.pc is {tree.ask("--modversion")}, expected {version}')
        check(any(f.startswith('share/samtrack/') for f in tree.files), 'there is no model')
        compile_programs(tree, sources, model, cc)
        run_programs(tree, inspect_plugins(tree), model, version)
        fill_packages(tree, sources)
        hold_no_path(tree, sources, build)
    print(f'{len(tree.files)} files')


main(*sys.argv[1:])
