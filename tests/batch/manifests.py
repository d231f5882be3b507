#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manifests for Kubernetes: by its schemas where kubernetes-validate of PyPI is installed, and by rules that schemas do not have;
and the container's command with the environment of an Indexed Job, whose exit statuses are what the podFailurePolicy is about.
usage: manifests.py BUILD PROGRAM SOURCES"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from jobs import PROGRAM, call, check, get_environment, make_video, plan, write_manifest

SOURCES = pathlib.Path(sys.argv[3])
VERSIONS = [f'1.{n}' for n in range(29, 38)]
try:
    import yaml
except ImportError:
    print('skipped: there is no PyYAML')
    sys.exit(77)


def validate(document):
    """How many versions of the schemas it was held against."""
    try:
        import kubernetes_validate
    except ImportError:
        return 0
    for version in VERSIONS:
        try:
            # The schemas of 1.33 want a status of a Job, which whoever creates one does not write.
            kubernetes_validate.validate({**document, 'status': {}} if document['kind'] == 'Job' else document, version, strict=True)
        except kubernetes_validate.ValidationError as e:
            sys.exit(f'FAILED: {document["kind"]} by the schema of {version}: {e}')
    return len(VERSIONS)


def refuse_broken(document):
    """The schemas see what is wrong."""
    broken = json.loads(json.dumps(document))
    broken['spec']['completions'] = 'many'
    try:
        import kubernetes_validate
        kubernetes_validate.validate({**broken, 'status': {}}, VERSIONS[-1], strict=True)
    except ImportError:
        return
    except kubernetes_validate.ValidationError:
        return
    sys.exit('FAILED: the schema does not see a Job with many completions')


def print_job(job, *options, status=0):
    done = subprocess.run(['sh', SOURCES / 'pipelines/batch/k8s.sh', job, *options], env=dict(get_environment(), SAMTRACK_BATCH=PROGRAM),
                          capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == status, f'k8s.sh ends with status {done.returncode}: {done.stderr}')
    return done.stderr if status else done.stdout


def check_pod(spec, name):
    """What schemas do not say: mounts have volumes, the root file system is read-only, nothing runs as root."""
    volumes = {v['name'] for v in spec['volumes']}
    container, = spec['containers']
    check(container['name'] == name and {m['name'] for m in container['volumeMounts']} == volumes, f'volumes: {volumes}')
    check(container['securityContext']['readOnlyRootFilesystem'] and spec['securityContext']['runAsNonRoot'], 'security')
    check(set(container['resources']['limits']) >= {'cpu', 'memory'}, 'limits')
    return container


def check_job(folder):
    make_video(folder / 'v.mkv', 1)
    box = 'box,x=4,y=4,w=40,h=30'
    items = [{'id': 'good', 'uri': 'v.mkv', 'prompt': box, 'seconds': 3}, {'id': 'bad', 'uri': 'none.mp4', 'prompt': box, 'seconds': 2}]
    job = folder / 'job'
    call('plan', write_manifest(folder / 'm.jsonl', *items), f'--job={job}', '--shards=2')
    for options, wanted in ((['--image=a b', '--claim=c'], "'a b', expected"), (['--claim=c'], 'usage'), (['--image=a', '--claim=c', '--x=1'], 'usage'),
                            (['--image=a', '--claim='], "'', expected")):
        check(wanted in print_job(job, *options, status=2), f'{options}')
    text = print_job(job, '--image=registry.example/samtrack:1.0', '--claim=work', '--gpu=1', '--queue=nightly', '--parallel=50', '--secret=store')
    document = yaml.safe_load(text)
    spec = document['spec']
    check((spec['completions'], spec['parallelism'], spec['completionMode']) == (2, 50, 'Indexed'), f'{spec}')
    check(document['metadata']['labels']['kueue.x-k8s.io/queue-name'] == 'nightly', 'the queue')
    pod = spec['template']['spec']
    container = check_pod(pod, 'samtrack-batch')
    check(pod['restartPolicy'] == 'Never', 'podFailurePolicy needs restartPolicy Never')
    check(container['resources']['limits']['nvidia.com/gpu'] == 1, 'a GPU')
    check(container['envFrom'] == [{'secretRef': {'name': 'store'}}], 'the secret')
    check('envFrom' not in print_job(job, '--image=a', '--claim=c'), 'no secret')
    rules = {tuple(r['onExitCodes']['values']): r['action'] for r in spec['podFailurePolicy']['rules'] if 'onExitCodes' in r}
    check(rules == {(2,): 'FailJob', (3,): 'FailIndex'} and all(r['onExitCodes']['containerName'] == container['name']
                                                               for r in spec['podFailurePolicy']['rules'] if 'onExitCodes' in r), f'{rules}')
    refuse_broken(document)
    schemas = validate(document)

    # As the kubelet starts it, with a volume that is this folder.
    command = [w.replace('--job=/work/job', f'--job={job}').replace('samtrack-batch', PROGRAM) if i == 0 or w.startswith('--job') else w
               for i, w in enumerate(container['command'])]
    check(f'--job={job}' in command, f'{container["command"]}')
    for index, wanted in (('0', 0), ('1', 3), ('2', 2), ('x', 2)):
        done = subprocess.run(command, env=get_environment(JOB_COMPLETION_INDEX=index), capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == wanted, f'index {index} ends with status {done.returncode}, expected {wanted}: {done.stderr}')
    check(print_job(job, '--image=a', '--claim=c') == '', 'nothing is left to do')
    return schemas


def check_fleet():
    documents = list(yaml.safe_load_all((SOURCES / 'pipelines/fleet/statefulset.yaml').read_text()))
    kinds = {d['kind']: d for d in documents}
    check(sorted(kinds) == ['PersistentVolumeClaim', 'Service', 'StatefulSet'], f'{sorted(kinds)}')
    spec = kinds['StatefulSet']['spec']
    container = check_pod(spec['template']['spec'], 'samtrack-live')
    labels = spec['template']['metadata']['labels']
    check(spec['selector']['matchLabels'].items() <= labels.items() and kinds['Service']['spec']['selector'].items() <= labels.items(), 'labels')
    check(spec['serviceName'] == kinds['Service']['metadata']['name'], 'the service')
    claims = [v['persistentVolumeClaim']['claimName'] for v in spec['template']['spec']['volumes'] if 'persistentVolumeClaim' in v]
    check(claims == [kinds['PersistentVolumeClaim']['metadata']['name']], f'{claims}')
    run_pod(container)
    return min(validate(document) for document in documents)


def run_pod(container):
    """The pod's script on a program that notes its signals: SIGHUP when the key file changes, SIGTERM when the pod ends."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / 'bin').mkdir()
        live = folder / 'bin/samtrack-live'
        live.write_text(f'#!/bin/sh\ntrap "echo hup >>{folder}/said" HUP\ntrap "echo term >>{folder}/said; exit 0" TERM\necho "$@" >>{folder}/said\n'
                        'while :; do sleep 0.05; done\n')
        live.chmod(0o755)
        (folder / 'bin/hostname').write_text('#!/bin/sh\necho samtrack-live-0\n')
        (folder / 'bin/hostname').chmod(0o755)
        conf = folder / 'conf/samtrack-live-0.conf'
        conf.parent.mkdir()
        conf.write_text('[live]\n')
        script = container['args'][0].replace('/conf/', f'{folder}/conf/').replace('sleep 2', 'sleep 0.2')
        said = folder / 'said'

        def wait_for(text):
            for _ in range(400):
                if said.exists() and text in said.read_text():
                    return
                subprocess.run(['sleep', '0.05'], check=True)
            sys.exit(f'FAILED: {text} is not in {said.read_text() if said.exists() else None}')

        # A shell cannot catch a signal that was ignored when it began, as under nohup.
        pod = subprocess.Popen([*container['command'], script], env=dict(os.environ, PATH=f'{folder}/bin:{os.environ["PATH"]}'), start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        try:
            wait_for(f'--config {conf} --address 0.0.0.0')
            subprocess.run(['sleep', '0.5'], check=True)
            check('hup' not in said.read_text(), 'a file that has not changed was read again')
            conf.write_text('[live]\nkeep-tracks=1\n')
            wait_for('hup')
            pod.terminate()
            wait_for('term')
            check(pod.wait(20) == 0, f'the pod ends with status {pod.returncode}')
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pod.pid, signal.SIGKILL)


def check_image():
    """Packages that the image builds with and runs with are Debian's, and what it starts is installed."""
    text = (SOURCES / 'pipelines/batch/Dockerfile').read_text()
    lines = text.replace('\\\n', ' ').splitlines()
    words = [line.split()[0] for line in lines if line and not line.startswith('#')]
    check(words == ['FROM', 'RUN', 'COPY', 'WORKDIR', 'RUN', 'FROM', 'RUN', 'COPY', 'USER', 'ENV'], f'{words}')
    packages = {w for line in lines if 'apt-get install' in line for w in line.split('--no-install-recommends')[1].split('&&')[0].split()}
    # Without one of these meson refuses, or leaves a program out.
    setup = (SOURCES / 'tools/setup.sh').read_text()
    needed = {w for kind in ('run', 'live') for w in re.search(f'^{kind}_packages="([^"]*)"', setup, re.M)[1].split() if w.endswith('-dev')}
    check(len(needed) > 10 and needed <= packages, f'the image is built without {needed - packages}')
    known = subprocess.run(['apt-cache', 'pkgnames'], capture_output=True, text=True, check=False).stdout.split() if pathlib.Path('/usr/bin/apt-cache').exists() else []
    check(not known or packages <= set(known), f'not in Debian: {packages - set(known)}')


def main():
    with tempfile.TemporaryDirectory() as folder:
        job = check_job(pathlib.Path(folder))
    fleet = check_fleet()
    check_image()
    print(f'schemas: {min(job, fleet) or "none, kubernetes-validate is not installed"}')


main()
