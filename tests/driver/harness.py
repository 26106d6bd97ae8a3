# SPDX-License-Identifier: Apache-2.0
"""Run the driver under mpirun and look at what it did.

CTest gives the paths in the environment: SPMM_DRIVER, MPIEXEC, MPIEXEC_NUMPROC_FLAG."""
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRIVER = os.environ.get("SPMM_DRIVER", str(ROOT / "build" / "cpu" / "tools" / "spmm_dist"))
MPIEXEC = os.environ.get("MPIEXEC", "mpirun")
NUMPROC_FLAG = os.environ.get("MPIEXEC_NUMPROC_FLAG", "-n")
RULE = re.compile(r"^-{60,}$")
LIBEVENT = re.compile(r"^\[warn\] Epoll ")  # of mpirun, when a rank leaves early
# Open MPI 4 waits for a second or two before it kills what a failed job has left; here nothing is
# lost, since the driver prints what it has to say before it calls MPI_Finalize or MPI_Abort.
QUICK_END = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}
# Runs at a time: starting and ending leave cores idle.
JOBS = max(2, (os.cpu_count() or 1) // 4)

# Open MPI 4 and 5: root, and more ranks than cores.
os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
os.environ.setdefault("OMPI_MCA_rmaps_base_oversubscribe", "1")
os.environ.setdefault("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
# No binding, which would put all jobs that run side by side on the first cores.
os.environ.setdefault("OMPI_MCA_hwloc_base_binding_policy", "none")
os.environ.setdefault("PRTE_MCA_hwloc_default_binding_policy", "none")
os.environ.setdefault("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
os.environ.setdefault("OMPI_MCA_smsc", "^cma,xpmem,knem")  # the same of Open MPI 5
os.environ.setdefault("OMPI_MCA_mtl", "^ofi,psm,psm2")  # each start would wait for their devices
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


class Result:
    """Exit code, output and seconds of one run; `errors` are the lines the driver itself wrote."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds
        self.errors = []
        launcher = False
        for line in err.splitlines():
            if RULE.match(line):  # what mpirun adds to a failed job stands between two rules
                launcher = not launcher
            elif not launcher and line.strip() and not LIBEVENT.match(line):
                self.errors.append(line)

    def __str__(self):
        return f"exit code {self.code} after {self.seconds:.1f} s\n{self.out}\n{self.err}"


def run(*args, ranks=None, timeout=110, env=None, cwd=None, launcher=(MPIEXEC,)):
    """ranks=None starts the driver without a launcher; variables of env that are None are unset."""
    command = [DRIVER] + [str(a) for a in args]
    if ranks is not None:
        command = [*launcher, NUMPROC_FLAG, str(ranks)] + command
    variables = {**os.environ, **QUICK_END, **(env or {})}
    start = time.monotonic()
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, cwd=cwd,
        env={name: value for name, value in variables.items() if value is not None})
    text = [s.decode("utf-8", "replace") for s in (done.stdout, done.stderr)]
    return Result(done.returncode, *text, time.monotonic() - start)


def run_json(*args, ranks=None, **kw):
    """A run that must succeed or fail its verification, and its JSON report."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        result = run(*args, "--json", path, ranks=ranks, **kw)
        report = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
    return result, report


class Job:
    """A run that goes on meanwhile, and what it has printed."""

    def __init__(self, command, env):
        self.lines, self.changed, self.ended = [], threading.Condition(), False
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, env={**os.environ, **env})
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def add(self, lines, ended=False):
        with self.changed:
            self.ended = ended
            self.lines += [(time.monotonic(), line.strip()) for line in lines if line.strip()]
            self.changed.notify_all()

    def listen(self):
        text = ""
        while True:
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                break
            *lines, text = (text + piece.decode("utf-8", "replace")).split("\n")
            self.add(lines)
        self.add([text, "end"], ended=True)

    def wait(self, pattern, count, seconds):
        """The first `count` lines that match, as (time, match), of at most `seconds`; those that
        came where the output ends before."""
        until = time.monotonic() + seconds
        with self.changed:
            while True:
                found = [(at, match) for at, line in self.lines
                         for match in [re.fullmatch(pattern, line)] if match]
                left = until - time.monotonic()
                if len(found) >= count or left <= 0 or self.ended:
                    return found
                self.changed.wait(left)

    def text(self):
        return "\n".join(line for _, line in self.lines)

    def end(self, pids=()):
        """Nothing is left running, also what was stopped."""
        for kill, pid in [*((os.kill, pid) for pid in pids), (os.killpg, self.process.pid)]:
            try:
                kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.listener.join(10)
        self.process.stdout.close()


def is_open_mpi_4():
    out = subprocess.run([MPIEXEC, "--version"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=False).stdout.decode()
    return re.search(r"\((Open MPI|OpenRTE)\) 4\.", out) is not None


def side_by_side(function, items, jobs=JOBS):
    """The answers of a function for each item, in their order, so many at a time."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(function, items)


def has_json():
    """Is cJSON in this build?"""
    result = run("--json", os.devnull, "--help")
    return "built without cJSON" not in result.err


def is_built(kind, name):
    """Is the partitioner, or whatever --list-KIND lists, in this build?"""
    return any(line.split()[0] == name and "not in this build" not in line
               for line in run(f"--list-{kind}").out.splitlines())


def matrices():
    """Committed matrices, and those of SPMM_MATRIX_DIR with other names, where it is set."""
    found = {}
    for folder in (ROOT / "tests" / "data", os.environ.get("SPMM_MATRIX_DIR")):
        if folder:
            for pattern in ("*.mtx", "*.mtx.gz", "*.csr"):
                for path in sorted(pathlib.Path(folder).glob(pattern)):
                    found.setdefault(path.name, str(path))
    return list(found.values())
