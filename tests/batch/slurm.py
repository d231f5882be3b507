#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pipelines/batch/slurm.sh on a cluster of three nodes, which Debian's slurm plays in a network of its own: a task is killed, a node
is lost with its tasks, tasks are preempted, and the results are those of a run without a stop, to the byte.
usage: slurm.py BUILD SOURCES PROGRAM FOLDER. FOLDER: where `tools/setup.sh slurm` has put the packages; without it the test is
skipped, as it is where it cannot have a network of its own."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import children  # noqa: E402

BUILD, SOURCES, PROGRAM, ROOT = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
LIBRARIES = ROOT / 'usr/lib/x86_64-linux-gnu'
PLUGINS = LIBRARIES / 'slurm-wlm'
NODES = 3
ITEMS = 7  # more than an array may have
PROMPT = 'box,x=0.25,y=0.25,w=0.375,h=0.5,normalized=true'
CONFIG = '''ClusterName=samtrack
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=6
CredType=cred/munge
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SchedulerParameters=sched_interval=2,batch_sched_delay=0,bf_interval=2,sched_min_interval=0
KillWait=2
SlurmdTimeout=5
MaxArraySize=5
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
'''


def check(truth, what):
    if not truth:
        sys.exit(f'FAILED: {what}')


def skip(why):
    print(why)
    sys.exit(77)


def enter_network():
    """Slurm listens on all addresses: in a network of its own, which has one beside 127.0.0.1, as slurm asks for."""
    if 'BATCH_NETWORK' in os.environ:
        return
    ready = 'ip link set lo up && ip address add 10.9.8.7/32 dev lo'
    if subprocess.run(['unshare', '-n', 'sh', '-c', ready], capture_output=True, check=False).returncode:
        skip('no network of its own can be made')
    os.environ['BATCH_NETWORK'] = '1'
    os.execvp('unshare', ['unshare', '-n', 'sh', '-c', f'{ready} && exec "$0" "$@"', sys.executable, *sys.argv])


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(('SLURM_', 'SAMTRACK_SHARD', 'JOB_COMPLETION'))}
        self.env.update(PATH=f'{ROOT}/usr/bin:{ROOT}/usr/sbin:{self.env["PATH"]}', SLURM_CONF=f'{folder}/slurm.conf',
                        LD_LIBRARY_PATH=f'{LIBRARIES}:{PLUGINS}', GST_PLUGIN_PATH=f'{BUILD}/gst', GST_REGISTRY=f'{folder}/registry',
                        GST_REGISTRY_FORK='no', SAMTRACK_BATCH=str(PROGRAM))
        host = socket.gethostname().split('.')[0]
        nodes = '\n'.join(f'NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={17000 + i} CPUs=1 RealMemory=2000 State=UNKNOWN'
                          for i in range(NODES))
        (folder / 'slurm.conf').write_text(CONFIG.format(host=host, folder=folder, plugins=PLUGINS, nodes=nodes))
        (folder / 'state').mkdir()
        key = folder / 'munge.key'
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        folder.chmod(0o755)
        self.start('munged', '--force', f'--key-file={key}', f'--socket={folder}/munge.sock', f'--pid-file={folder}/munged.pid',
                   f'--log-file={folder}/munged.log', f'--seed-file={folder}/munge.seed')
        self.start('slurmctld-wlm', '-f', f'{folder}/slurm.conf')
        for i in range(NODES):
            (folder / f'spool-n{i}').mkdir()
            self.start_node(i)
        self.wait(lambda: len(self.ask('sinfo', '-h', '-N', '-t', 'idle', '-p', 'main', '-o', '%N').split()) == NODES, 'the nodes')

    def start(self, *words):
        done = subprocess.run(words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=60, check=False)
        check(done.returncode == 0, f'{words[0]} ends with status {done.returncode}')

    def start_node(self, i):
        self.start('slurmd-wlm', '-f', f'{self.folder}/slurm.conf', '-N', f'n{i}', '-d', f'{ROOT}/usr/sbin/slurmstepd-wlm')

    def ask(self, *words):
        return subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=60, check=False).stdout

    def wait(self, until, what, seconds=90):
        end = time.monotonic() + seconds
        while not until():
            if time.monotonic() > end:
                for name in self.folder.glob('*.log'):
                    print(name.name, name.read_text(errors='replace')[-2000:], sep='\n')
                sys.exit(f'FAILED: in {seconds} s not: {what}\n{self.ask("squeue")}{self.ask("sinfo", "-N")}')
            time.sleep(0.1)

    def is_idle(self):
        return not self.ask('squeue', '-h').strip()

    def lose_node(self, i):
        """As if it were switched off: the daemon, and the tasks with all that they have started."""
        os.kill(int((self.folder / f'slurmd-n{i}.pid').read_text()), signal.SIGKILL)
        for path in pathlib.Path('/proc').glob('[0-9]*'):
            try:
                if f'SLURMD_NODENAME=n{i}'.encode() in (path / 'environ').read_bytes().split(b'\0') and \
                        os.stat(path / 'ns/net').st_ino == os.stat('/proc/self/ns/net').st_ino:
                    os.kill(int(path.name), signal.SIGKILL)
            except OSError:
                pass

    def get_tasks(self):
        """Process ids of samtrack-batch, of the tasks that run."""
        found = []
        for pid in children.get_descendants():
            try:
                words = pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().split(b'\0')
            except OSError:
                continue
            if words[:2] == [str(PROGRAM).encode(), b'run']:
                found.append(pid)
        return found


def read_results(job):
    return {path.parent.name: path.read_bytes() for path in job.glob('items/*/*/frames.jsonl')}


def make_jobs(folder, env):
    subprocess.run(['gst-launch-1.0', '-q', '-e', 'samscene', 'num-buffers=90', '!', 'video/x-raw,width=160,height=96,framerate=30/1', '!',
                    'videoconvert', '!', 'jpegenc', '!', 'matroskamux', '!', 'filesink', f'location={folder}/v.mkv'],
                   env=env, check=True, timeout=60)
    manifest = folder / 'm.jsonl'
    items = [{'id': f'v{i}', 'uri': 'v.mkv', 'prompt': PROMPT} for i in range(ITEMS - 2)]
    items.append({'id': 'cut', 'uri': 'v.mkv', 'seconds': 3, 'prompts': [{'at': at, 'prompt': PROMPT} for at in (0, 1.6)]})  # in two pieces
    manifest.write_text(''.join(json.dumps(item) + '\n' for item in items))
    for name, shards, chunk in (('whole', 1, 1000), ('job', ITEMS, 0.5)):
        subprocess.run([PROGRAM, 'plan', manifest, f'--job={folder}/{name}', f'--shards={shards}', f'--chunk={chunk}', '--cut=1.6',
                        '--overlap=0.4'], env=env, check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for words in (['run', '--shard=0'], ['merge']):
        subprocess.run([PROGRAM, *words, f'--job={folder}/whole'], env=env, check=True, timeout=60, stderr=subprocess.DEVNULL)
    return folder / 'whole', folder / 'job'


def main():
    children.end_with_test()
    if not (ROOT / 'usr/sbin/slurmctld-wlm').exists():
        skip(f'slurm is not in {ROOT}: tools/setup.sh slurm')
    enter_network()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cluster = Cluster(folder)
        plain = {k: v for k, v in cluster.env.items() if k != 'LD_LIBRARY_PATH'}
        whole, job = make_jobs(folder, plain)
        submit = ['sh', str(SOURCES / 'pipelines/batch/slurm.sh'), str(job)]
        slow = dict(cluster.env, SAMTRACK_SCRIPT='step,0,30000,0')  # three seconds an item
        said = subprocess.run(submit, env=slow, capture_output=True, text=True, timeout=60, check=False)
        check(said.returncode == 0 and said.stdout.count('Submitted batch job') == 3, f'slurm.sh: {said.stdout}{said.stderr}')
        cluster.wait(lambda: len(list(job.glob('parts/*/*/000000'))) >= 2, 'two items that are begun')
        os.kill(cluster.get_tasks()[0], signal.SIGKILL)
        cluster.lose_node(1)
        subprocess.run(['sbatch', '--partition=urgent', '--array=0-2', '--output=/dev/null', '--wrap=sleep 1'], env=cluster.env, check=True,
                       timeout=60, stdout=subprocess.DEVNULL)
        cluster.wait(cluster.is_idle, 'an empty queue')
        log = (folder / 'slurmctld.log').read_text()
        check('preempted' in log, f'no task was preempted: {log[-3000:]}')
        left = subprocess.run([PROGRAM, 'status', f'--job={job}', '--missing'], env=plain, capture_output=True, text=True, timeout=60,
                              check=True).stdout.strip()
        print(f'left by what was lost: {left or "nothing"}')
        check(left, 'a task that was killed must leave its shard')
        cluster.start_node(1)
        said = subprocess.run(submit, env=slow, capture_output=True, text=True, timeout=60, check=False)
        check(said.returncode == 0, f'slurm.sh again: {said.stdout}{said.stderr}')
        cluster.wait(cluster.is_idle, 'an empty queue')
        said = subprocess.run(submit, env=slow, capture_output=True, text=True, timeout=60, check=False)
        check('nothing is left to do' in said.stdout, f'slurm.sh at the end: {said.stdout}{said.stderr}')
        cluster.wait(cluster.is_idle, 'an empty queue')
        check(read_results(job) == read_results(whole) and len(read_results(job)) == ITEMS - 1, 'results are not those of a run without a stop')
        check(not list(job.glob('parts/*/*')), f'left over: {list(job.glob("parts/*/*"))}')


main()
