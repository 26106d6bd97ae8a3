# SPDX-License-Identifier: Apache-2.0
"""jobs/*.sbatch under a real Slurm of one node, with the CPU build: exit codes, what came out, and
which GPUs each rank would see.  Exit code 77 where no Slurm can be started.

CTest gives SPMM_BUILD, the build tree."""
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import unittest

import cluster

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ.get("SPMM_BUILD", str(ROOT / "build" / "cpu"))
LAUNCHERS = {"mpirun": f"{shutil.which('mpirun')} --mca pml ob1", "srun": "srun --mpi=pmix"}
OPTIONS = "--type 32f --partition auto --warmup 1 --iterations 3"
# In the place of spmm_dist: one line for each rank.
PROBE = """#!/bin/bash
echo "rank ${OMPI_COMM_WORLD_RANK:-$SLURM_PROCID} sees ${CUDA_VISIBLE_DEVICES-no word}"
echo "${SLURM_CPUS_PER_TASK:-0} CPUs and $OMP_NUM_THREADS threads"
"""
# One with four transports: not built, good, not for this machine, broken.
TRANSPORTS = """#!/bin/bash
case "$*" in
    *--list-transports) printf '%s\\n' 'a  is no part (not in this build)' 'b  x' 'c  y' 'd  z' ;;
    *'--transport c') echo 'spmm_dist: transport c needs a GPU' && exit 4 ;;
    *'--transport d') echo 'spmm_dist: transport d could not be opened: no way' && exit 4 ;;
    *) echo 'verify all rows: passed' ;;
esac
"""
# In the place of cmake: what it builds is the probe.
CMAKE = """#!/bin/bash
echo "cmake $*"
[ "$1" != --build ] || { mkdir -p "$2" && cp "$PROBE" "$2"; }
"""
# What Slurm is told of the node.
LSCPU = "#!/bin/bash\nprintf '0,0\\n0,0\\n1,0\\n1,0\\n'\n"
# By options of sbatch and ranks: CPUs of Slurm for each task of srun, and its OpenMP threads.
SHARES = {("", 1): (4, 2), ("", 2): (2, 1), ("", 3): (1, 1), ("--threads-per-core=1", 1): (2, 2),
          ("--threads-per-core=1", 2): (1, 1)}
# The command `module` of a site, None: there is none, and what a job with MODULES then says.
MODULES = {
    None: "has no command module",
    "() { return 1; }": "'module load spmm' failed",
    "() { [ $1 != load ]; }": "'module load spmm' failed",
    "() { exit 0; }": "'module load spmm' failed",
    "() { echo module $1 $NOBODY_HAS_SET_THIS; }": None,
}
# Ways to ask for the GPUs of the node, each of which the jobs turn into what VISIBLE says.
ASK = {
    "node": ["--gpus-per-node=2"],
    "task": ["--gpus-per-node=2", "--ntasks-per-node=2", "--gpus-per-task=1"],
    "bound": ["--gpus-per-node=2", "--gpu-bind=single:1"],
    "gres": ["--gres=gpu:2"],
}


class Jobs(unittest.TestCase):
    """All jobs are submitted at once and run one after the other; each test looks at one."""

    cluster = None  # running

    @classmethod
    def setUpClass(cls):
        cls.probe = cls.program("probe/bin/spmm_dist", PROBE).parents[1]
        cls.matrix = cls.cluster.dir / "web.v2.mtx.gz"
        cls.matrix.symlink_to(ROOT / "tests/data/bips98_606.mtx.gz")
        cls.job = {}
        for name, launcher in LAUNCHERS.items():
            cls.queue(f"lost {name}", "single_node", "--gpus-per-node=0", wait=True,
                      MATRIX="/nowhere/a.mtx", RANKS_PER_NODE="2", LAUNCH=launcher)
            cls.queue(f"multi {name}", "multi_node", "--nodes=1", "--gpus-per-node=0", wait=True,
                      RANKS_PER_NODE="2", LAUNCH=launcher)
        for name, launcher in LAUNCHERS.items():
            cls.queue_launcher(name, LAUNCH=launcher)
        cls.queue("check", "check", "--gpus-per-node=0", RANKS_PER_NODE="2", N_COLUMNS="32")
        cls.queue("benchmark", "benchmark", "--gpus-per-node=0")
        folder = cls.program("no/spmm_dist/a", "").parent  # in the place of the program
        cls.queue("no build", "single_node", "--gpus-per-node=0", BUILD=str(folder.parent))
        cls.queue("no GPU", "single_node", "--gpus-per-node=0", PRESET="cuda")
        cls.queue("mistyped", "single_node", "--gpus-per-node=0", VISIBLE="two")
        cls.queue("transports", "check", "--gpus-per-node=0", RANKS_PER_NODE="1",
                  BUILD=str(cls.program("listed/spmm_dist", TRANSPORTS).parent))
        path = f"{cls.program('bin/lscpu', LSCPU).parent}:{cluster.SEARCH}"
        for option, ranks in SHARES:
            cls.queue(f"share {ranks}{option}", "multi_node", "--nodes=1", "--gpus-per-node=0",
                      *option.split(), RANKS_PER_NODE=str(ranks), LAUNCH=LAUNCHERS["srun"],
                      BUILD=str(cls.probe), PATH=path)
        for n, module in enumerate(MODULES):
            own = {"BASH_FUNC_module%%": module} if module else {}
            cls.queue(f"module {n}", "multi_node", "--nodes=1", "--gpus-per-node=0", MODULES="spmm",
                      RANKS_PER_NODE="1", BUILD=str(cls.probe), **own)
        # Another job builds, until test_lock lets it go on.
        (cls.cluster.dir / "build").mkdir()
        cls.lock = open(cls.cluster.dir / "build/job-cpu.lock", "w", encoding="ascii")
        fcntl.flock(cls.lock, fcntl.LOCK_EX)
        path = f"{cls.program('cmake/cmake', CMAKE).parent}:{cluster.SEARCH}"
        cls.queue("lock", "multi_node", "--nodes=1", "--gpus-per-node=0", RANKS_PER_NODE="1",
                  BUILD="", SOURCE=str(cls.cluster.dir), PROBE=f"{cls.probe}/bin/spmm_dist",
                  PATH=path)

    @classmethod
    def program(cls, name, text):
        path = cls.cluster.dir / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    @classmethod
    def queue_launcher(cls, name, **env):
        # Twice as many ranks as a machine of two cores has: mpirun must not fail to bind them.
        cls.queue(f"single {name}", "single_node", "--gpus-per-node=0", RANKS_PER_NODE="4", **env)
        cls.queue(f"scaling {name}", "scaling", "--gpus-per-node=0", RANKS_PER_NODE="2", SIDE="12",
                  PLANES="6", N_COLUMNS="16", MATRIX=str(cls.matrix), **env)
        for ask, options in ASK.items():
            # mpirun sees the GPUs of the job, however these were asked for.
            if name == "mpirun" and ask not in ("node", "task"):
                continue
            for visible in "all", "one":
                cls.queue(f"{ask} {visible} {name}", "multi_node", "--nodes=1", *options,
                          VISIBLE=visible, BUILD=str(cls.probe), **env)

    @classmethod
    def queue(cls, name, script, *options, wait=False, **env):
        full = dict(PRESET="cpu", BUILD=BUILD, OPTIONS=OPTIONS, N_COLUMNS="64",
                    RESULTS=str(cls.cluster.dir / f"results {name}"))
        full.update(env)
        cls.job[name] = cls.cluster.submit(name, f"jobs/{script}.sbatch", *options, wait=wait,
                                           env=full, cwd=ROOT)

    def finished(self, name, good=True):
        """What the job wrote."""
        code, out = self.job[name].finish(300)  # with those submitted before it
        self.assertEqual(code == 0, good, f"{name}: exit code {code}\n{out}")
        return out

    def reports(self, name):
        folder = self.cluster.dir / f"results {name}"
        return {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}

    def check_reports(self, name, ranks, matrix="bips98_606"):
        out = self.finished(name)
        reports = self.reports(name)
        self.assertEqual(out.count(": passed"), len(reports), out)
        for r in ranks:
            report = reports[f"{matrix}.n{report_columns(reports)}.p{r}.json"]
            self.assertEqual(report["ranks"], r)
            self.assertTrue(report["verify"]["passed"])
            self.assertGreater(report["verify"]["compared"], 0)
        return out

    def test_single_and_multi_node(self):
        for name in LAUNCHERS:
            for job, ranks in (f"single {name}", [1, 2, 4]), (f"multi {name}", [2]):
                with self.subTest(job):
                    self.assertRegex(self.check_reports(job, ranks), r"nodes: \S+, job \d+")
                    self.assertEqual(len(self.reports(job)), len(ranks))

    def test_wrong_matrix(self):
        for name in LAUNCHERS:
            with self.subTest(name):
                out = self.finished(f"lost {name}", good=False)
                self.assertIn("/nowhere/a.mtx cannot be opened", out)
                self.assertEqual(self.reports(f"lost {name}"), {})
                # The first failure ends the job.
                folder = self.cluster.dir / f"results lost {name}"
                self.assertFalse((folder / "a.n64.p2.txt").exists())

    def test_scaling(self):
        for name in LAUNCHERS:
            with self.subTest(name):
                self.check_reports(f"scaling {name}", [1, 2], "web.v2")
                self.check_reports(f"scaling {name}", [1, 2], "weak_stencil27")
                table = self.cluster.dir / f"results scaling {name}" / "scaling.n16.tsv"
                rows = [line.split("\t") for line in table.read_text().splitlines()]
                cell = [dict(zip(rows[0], row)) for row in rows[1:]]
                self.assertEqual([c["set"] for c in cell], 2 * ["web.v2", "weak_stencil27"])
                self.assertEqual([c["ranks"] for c in cell], ["1", "1", "2", "2"])
                self.assertEqual([c["efficiency"] for c in cell[:2]], ["1.000", "1.000"])
                self.assertTrue(all(0 < float(c["efficiency"]) for c in cell))
                self.assertTrue(all(c["verified"] == "yes" for c in cell))
                self.assertGreater(int(cell[3]["entries"]), 2 * int(cell[1]["entries"]))

    def test_check(self):
        out = self.finished("check")
        self.assertEqual(out.count("passed: "), 11, out)
        self.assertIn("--transport mpi-host", out)
        self.assertIn("check: all passed", out)

    def test_transports(self):
        out = self.finished("transports", good=False)
        verdict = re.compile(r"^(passed|not able here|FAILED .*): .*--transport (\w)$", re.M)
        self.assertEqual(verdict.findall(out), [
            ("passed", "b"), ("not able here", "c"), ("FAILED (4)", "d")])
        self.assertIn("transport c needs a GPU", out)

    def test_shares(self):
        """No hardware thread is left idle, nor counted as a core."""
        line = "srun --mpi=pmix --nodes=1 --ntasks={0} --ntasks-per-node={0} --cpus-per-task={1} "
        for (option, ranks), (cpus, threads) in SHARES.items():
            with self.subTest(option, ranks=ranks):
                out = self.finished(f"share {ranks}{option}")
                asked = "1 --overcommit" if ranks > cluster.CORES else cpus
                self.assertIn(line.format(ranks, asked), out)
                self.assertEqual(out.count(f"{cpus} CPUs and {threads} threads"), ranks, out)

    def test_modules(self):
        for n, (module, said) in enumerate(MODULES.items()):
            with self.subTest(module):
                out = self.finished(f"module {n}", good=said is None)
                self.assertIn(said or "rank 0 sees", out)

    def test_lock(self):
        job = self.job["lock"]
        self.cluster.wait_for(lambda: "waiting for another job" in job.output(), 300, "the job")
        self.assertNotIn("cmake", job.output())
        self.lock.close()
        out = self.finished("lock")
        self.assertRegex(out, r"(?s)waiting.*cmake --preset cpu.*cmake --build.*rank 0 sees")

    def test_refusals(self):
        self.assertIn("needs a GPU", self.finished("benchmark", good=False))
        self.assertIn("BUILD takes a folder", self.finished("no build", good=False))
        self.assertIn("this build has no CUDA", self.finished("no GPU", good=False))
        self.assertIn("VISIBLE is 'two'", self.finished("mistyped", good=False))

    def test_gpus(self):
        for name in LAUNCHERS:
            for ask in ASK:
                for visible, expected in ("all", ["0,1", "0,1"]), ("one", ["0", "1"]):
                    job = f"{ask} {visible} {name}"
                    if job not in self.job:
                        continue
                    with self.subTest(job):
                        out = self.finished(job)
                        seen = re.findall(r"^rank (\d) sees (.*)$", out, re.M)
                        # As many ranks as GPUs, without a word about their number.
                        self.assertEqual(sorted(seen), list(zip("01", expected)), out)


def report_columns(reports):
    return next(iter(reports.values()))["columns"]


def end(_number, _frame):
    """So that a signal, too, stops the daemons on the way out; unittest would swallow others."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    reason = cluster.missing()
    if reason:
        print("skipped: " + reason)
        sys.exit(77)
    signal.signal(signal.SIGTERM, end)
    with cluster.Cluster() as Jobs.cluster:
        unittest.main(verbosity=2)
