# SPDX-License-Identifier: Apache-2.0
"""Four nodes on one machine: network namespaces on a bridge, each with a hostname, processes,
/dev/shm and a folder (FOLDER) of its own, and mpirun on the first.  As root.

All of it lies in namespaces that enter() makes for the script that calls it: outside no name is
seen, and however the script ends, the kernel takes nodes, links and programs down with it."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import harness

NAMES = [f"node{k}" for k in range(4)]
RANKS = 2  # of a node
NETWORK = "10.0.0.0/24"
FOLDER = pathlib.Path("/run/spmm_nodes")
INSIDE = "SPMM_NODES_INSIDE"
OUTER = "unshare --mount --net --pid --fork --kill-child --mount-proc".split()
NODE = "unshare --mount --net --uts --pid --fork --kill-child".split()
HOLD = f"""mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs {FOLDER} && hostname $0 &&
    ip link set lo up && echo ready && exec sleep infinity"""
# What mpirun starts the daemon of a node with; a node's processes are children of its first one.
AGENT = f"""#!/bin/sh
pid=$(cat {FOLDER}.$1) && shift
exec nsenter -t $pid -n -u -m --pid=/proc/$pid/ns/pid_for_children sh -c "$*"
"""
# Shared memory within a node, TCP between nodes.
MPI = {"OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_tcp_if_include": "eth0",
       "OMPI_MCA_oob_tcp_if_include": "eth0", "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
       "OMPI_MCA_plm_rsh_agent": f"{FOLDER}.agent", "TMPDIR": str(FOLDER),
       "OMPI_MCA_mpi_yield_when_idle": "1", "SPMM_CACHE_DIR": str(FOLDER), "SPMM_CALIBRATE": "0",
       "OMP_NUM_THREADS": "1"}


def call(*command):
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)


def enter():
    """Start the script anew in namespaces of its own; returns there, or with what hinders it."""
    if os.environ.get(INSIDE):
        call("mount", "-t", "tmpfs", "tmpfs", str(FOLDER.parent))
        return None
    missing = [p for p in ("ip", "tc", "unshare", "nsenter", "sysctl") if shutil.which(p) is None]
    if missing:
        return "there is no " + ", ".join(missing) + " (packages iproute2, util-linux and procps)"
    if not harness.is_open_mpi_4():
        return "the launcher is not that of Open MPI 4"
    tried = subprocess.run([*OUTER, *NODE, "ip", "link", "add", "name", "b", "type", "bridge"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, check=False)
    if tried.returncode != 0:
        return "namespaces are not allowed: " + tried.stdout.decode().strip()
    sys.stdout.flush()
    os.execvpe(OUTER[0], [*OUTER, sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})


class Node:
    def __init__(self, name, address):
        self.name = name
        self.first = subprocess.Popen([*NODE, "sh", "-c", HOLD, name], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE)
        with self.first.stdout as says:
            if says.readline() != b"ready\n":
                raise RuntimeError(f"{name} has not started")
        pathlib.Path(f"{FOLDER}.{name}").write_text(str(self.first.pid))
        call("ip", "link", "add", "name", name, "type", "veth", "peer", "name", "eth0", "netns",
             str(self.first.pid))
        call("ip", "link", "set", name, "master", "bridge", "up")
        self.call("ip", "address", "add", address, "dev", "eth0")
        self.call("ip", "link", "set", "eth0", "up")

    def within(self, *command):
        """The command as one of this node, but for the namespace of processes."""
        return ["nsenter", "-t", str(self.first.pid), "-n", "-u", "-m", "env", "-C",
                str(harness.ROOT), *command]

    def call(self, *command):
        call(*self.within(*command))

    def processes(self, program=None):
        """Numbers of the node's processes, of a program or of all."""
        mine, found = os.readlink(f"/proc/{self.first.pid}/ns/net"), []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (os.readlink(folder / "ns" / "net") == mine and program in
                        (None, os.path.basename(os.readlink(folder / "exe")))):
                    found.append(int(folder.name))
            except OSError:
                pass  # it has ended
        return found

    def limit(self, rate):
        """Of what the node sends and of what it gets: "50mbit".  Queues are long enough to lose
        nothing, as networks with credits do not, and TCP takes nothing that waits in them for lost,
        nor a pause for a reason to begin slowly.  A burst is of one packet."""
        shaped = "root tbf burst 2kb limit 16mb rate".split()
        self.call("sysctl", "-qw", "net.ipv4.tcp_early_retrans=0",
                  "net.ipv4.tcp_slow_start_after_idle=0")
        self.call("ip", "route", "change", NETWORK, "dev", "eth0", "rto_min", "5s")
        self.call("tc", "qdisc", "replace", "dev", "eth0", *shaped, rate)
        call("tc", "qdisc", "replace", "dev", self.name, *shaped, rate)

    def cut(self):
        call("ip", "link", "set", self.name, "down")

    def stop(self):
        """As power that fails, but that the others are told: their connections are closed."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.first.wait()


class Nodes:
    """In the namespaces of enter()."""

    def __init__(self):
        FOLDER.mkdir(exist_ok=True)
        agent = pathlib.Path(f"{FOLDER}.agent")
        agent.write_text(AGENT)
        agent.chmod(0o755)
        call("ip", "link", "add", "name", "bridge", "type", "bridge")
        call("ip", "link", "set", "bridge", "up")
        self.nodes = [Node(name, f"10.0.0.{k + 1}/24") for k, name in enumerate(NAMES)]

    def end(self):
        for node in self.nodes:
            if node.first.poll() is None:
                node.stop()
        for link in [*NAMES, "bridge"]:  # gone already with a node that is
            subprocess.run(["ip", "link", "delete", link], stderr=subprocess.DEVNULL, check=False)


def command(first, *args, count=len(NAMES), ranks=RANKS, program=harness.DRIVER):
    """mpirun of the driver or another program, so many ranks on each of the first nodes."""
    hosts = ",".join(f"{name}:{ranks}" for name in NAMES[:count])
    return first.within(harness.MPIEXEC, "-H", hosts, harness.NUMPROC_FLAG, str(ranks * count),
                        str(program), *map(str, args))
