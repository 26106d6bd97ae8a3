# SPDX-License-Identifier: Apache-2.0
"""A Slurm of one node, this machine, with munged, slurmctld and slurmd of its own: own
configuration, ports and key in a temporary directory, nothing of the system's.

Needs root and Debian's packages slurm-wlm and munge.  Its GPUs are links to /dev/null: Slurm deals
them out and sets CUDA_VISIBLE_DEVICES as it does for real ones."""
import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = "munged slurmctld slurmd sbatch srun scontrol scancel".split()
SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
PR_SET_PDEATHSIG = 1
GPUS = 2
CORES = 2  # as Slurm is told, whatever the machine has, each of two hardware threads

CONFIG = """
ClusterName=spmm
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={dir}/munge.socket
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
PlugStackConfig={dir}/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
InactiveLimit=0
SlurmdTimeout=60
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 Sockets=1 CoresPerSocket={cores} ThreadsPerCore=2 \
    Gres=gpu:{gpus} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=10 State=UP OverSubscribe=EXCLUSIVE
"""


def missing():
    """Why no cluster can be started here, or None."""
    absent = [p for p in PROGRAMS if shutil.which(p, path=SEARCH) is None]
    if absent:
        return "there is no " + ", ".join(absent) + " (packages slurm-wlm and munge)"
    if os.geteuid() != 0:
        return "slurmd wants root"
    return None


def die_with_parent():
    """What runs on its own ends also where this process is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Job:
    """A job from its submission on.  With `wait` by `sbatch --wait`, which looks after 2, 10 and 42
    seconds only: few jobs should take it."""

    def __init__(self, cluster, name, script, options, wait, env, cwd):
        self.cluster, self.name, self.wait = cluster, name, wait
        self.path = cluster.dir / f"{name}.out"
        command = ["sbatch", "--parsable", f"--output={self.path}", "--time=2", *options, script]
        if wait:
            command.insert(1, "--wait")
        self.sbatch = subprocess.Popen(command, env=dict(cluster.env, **env), cwd=cwd, text=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, preexec_fn=die_with_parent)
        if not wait:
            self.said = self.sbatch.communicate(timeout=60)[0]

    def finish(self, seconds):
        """Wait for the job's end; its exit code (of sbatch, where this refused it), its output."""
        if self.wait:
            self.said = self.sbatch.communicate(timeout=seconds)[0]
            return self.sbatch.returncode, self.output()
        if self.sbatch.returncode != 0:
            return self.sbatch.returncode, self.said
        end = time.monotonic() + seconds
        while True:
            shown = self.cluster.call("scontrol", "show", "job", "-o", self.said.strip())
            fact = dict(word.split("=", 1) for word in shown.split() if "=" in word)
            if fact["JobState"] not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"):
                code, number = map(int, fact["ExitCode"].split(":"))
                failed = fact["JobState"] != "COMPLETED"
                return code or (128 + number if number else int(failed)), self.output()
            if time.monotonic() > end:
                raise RuntimeError(f"job {self.name} has not ended: {shown}\n{self.output()}")
            time.sleep(0.2)

    def output(self):
        text = self.path.read_text(errors="replace") if self.path.exists() else ""
        return f"sbatch: {self.said}\n{text}"


class Cluster:
    def __init__(self):
        self.dir = None
        self.daemons = []

    def __enter__(self):
        # Short: a socket's path has 107 characters at most.
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="spmm_slurm.", dir="/tmp"))
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        """Jobs first, whose steps outlive slurmd, then the daemons, newest first."""
        if len(self.daemons) == 3:
            self.call("scancel", "--user=root", "--signal=KILL", "--full", check=False)
            self.call("scancel", "--user=root", check=False)
            self.wait_for(lambda: not self.call("squeue", "-h", check=False).strip(), 10)
        for name, daemon, _ in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                print(f"{name} had to be killed", flush=True)
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def start(self):
        self.dir.chmod(0o755)
        host = socket.gethostname().split(".")[0]
        for name in "state", "spool":
            (self.dir / name).mkdir()
        for gpu in range(GPUS):
            (self.dir / f"gpu{gpu}").symlink_to("/dev/null")
        (self.dir / "plugstack.conf").touch()
        (self.dir / "slurm.conf").write_text(
            CONFIG.format(host=host, ports=free_ports(2), dir=self.dir, cores=CORES,
                          gpus=GPUS))
        (self.dir / "gres.conf").write_text(
            f"NodeName={host} Name=gpu Count={GPUS} File={self.dir}/gpu[0-{GPUS - 1}]\n")
        key = self.dir / "munge.key"
        key.touch(mode=0o400)
        key.write_bytes(os.urandom(128))
        # The test may itself run in a job of another Slurm.
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH"))}
        self.env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                        PATH=SEARCH, SLURM_CONF=str(self.dir / "slurm.conf"))

        munge = self.dir / "munge"
        self.daemon("munged", "--foreground", "--force", f"--key-file={key}",
                    f"--socket={self.dir}/munge.socket", f"--pid-file={munge}.pid",
                    f"--seed-file={munge}.seed", f"--log-file={munge}.log")
        self.wait_for((self.dir / "munge.socket").exists, 20, "munged to start")
        self.daemon("slurmctld", "-D", "-i")
        self.wait_for(lambda: "UP" in self.call("scontrol", "ping", check=False), 30,
                      "slurmctld to start")
        self.daemon("slurmd", "-D", "-N", host)
        self.wait_for(lambda: "State=IDLE " in self.call("scontrol", "show", "node"), 30,
                      "slurmd to start")

    def daemon(self, name, *options):
        with open(self.dir / f"{name}.out", "wb") as out:
            process = subprocess.Popen([name, *options], env=self.env, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=subprocess.STDOUT, cwd=self.dir,
                                       preexec_fn=die_with_parent)
        self.daemons.append((name, process, self.dir / f"{name}.out"))

    def call(self, *command, check=True):
        return subprocess.run(command, env=self.env, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=check,
                              timeout=60).stdout

    def wait_for(self, ready, seconds, what=None):
        end = time.monotonic() + seconds
        while not ready():
            dead = [name for name, daemon, _ in self.daemons if daemon.poll() is not None]
            if (dead or time.monotonic() > end) and what:
                raise RuntimeError(f"waited for {what}; not running: {dead}\n{self.logs()}")
            if dead or time.monotonic() > end:
                return
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"== {name}\n" + out.read_text(errors="replace")[-3000:]
                         for name, _, out in self.daemons)

    def submit(self, name, script, *options, wait=False, env=None, cwd=None):
        return Job(self, name, script, options, wait, env or {}, cwd)
