# SPDX-License-Identifier: MIT
"""A cluster that Debian's slurm plays on one machine, in a network of its own: `tools/setup.sh slurm` has unpacked it."""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import children

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
MaxArraySize={most}
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


def find(root):
    """Skips the test where there is no slurm, or no network for it."""
    if not (root / 'usr/sbin/slurmctld-wlm').exists():
        skip(f'slurm is not in {root}: tools/setup.sh slurm')
    enter_network()


class Cluster:
    """ROOT: where slurm was unpacked. MOST: tasks that an array may have, and one more."""

    def __init__(self, folder, build, program, root, nodes=3, most=5):
        self.folder, self.program, self.root = folder, program, root
        libraries = root / 'usr/lib/x86_64-linux-gnu'
        plugins = libraries / 'slurm-wlm'
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(('SLURM_', 'SAMTRACK_SHARD', 'JOB_COMPLETION'))}
        self.env.update(PATH=f'{root}/usr/bin:{root}/usr/sbin:{self.env["PATH"]}', SLURM_CONF=f'{folder}/slurm.conf',
                        LD_LIBRARY_PATH=f'{libraries}:{plugins}', GST_PLUGIN_PATH=f'{build}/gst', GST_REGISTRY=f'{folder}/registry',
                        GST_REGISTRY_FORK='no', SAMTRACK_BATCH=str(program))
        host = socket.gethostname().split('.')[0]
        lines = '\n'.join(f'NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={17000 + i} CPUs=1 RealMemory=2000 State=UNKNOWN'
                          for i in range(nodes))
        (folder / 'slurm.conf').write_text(CONFIG.format(host=host, folder=folder, plugins=plugins, nodes=lines, most=most))
        (folder / 'state').mkdir()
        key = folder / 'munge.key'
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        folder.chmod(0o755)
        self.start('munged', '--force', f'--key-file={key}', f'--socket={folder}/munge.sock', f'--pid-file={folder}/munged.pid',
                   f'--log-file={folder}/munged.log', f'--seed-file={folder}/munge.seed')
        self.start('slurmctld-wlm', '-f', f'{folder}/slurm.conf')
        for i in range(nodes):
            (folder / f'spool-n{i}').mkdir()
            self.start_node(i)
        self.wait(lambda: len(self.ask('sinfo', '-h', '-N', '-t', 'idle', '-p', 'main', '-o', '%N').split()) == nodes, 'the nodes',
                  90 + nodes)

    def start(self, *words):
        done = subprocess.run(words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=60, check=False)
        check(done.returncode == 0, f'{words[0]} ends with status {done.returncode}')

    def start_node(self, i):
        self.start('slurmd-wlm', '-f', f'{self.folder}/slurm.conf', '-N', f'n{i}', '-d', f'{self.root}/usr/sbin/slurmstepd-wlm')

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
            if words[:2] == [str(self.program).encode(), b'run']:
                found.append(pid)
        return found
