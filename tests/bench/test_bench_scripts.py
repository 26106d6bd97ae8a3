# SPDX-License-Identifier: Apache-2.0
"""Each program and script of bench/ once: on kept tables, with small stand-ins, or with shell
scripts in the place of programs that need GPUs."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench/results"
PLANS = RESULTS / "single_gpu_32f-fast-tf32.default.tsv"


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            pathlib.Path(path).write_text(text, encoding="utf-8")
        return path

    @staticmethod
    def lines_of(path):
        text = pathlib.Path(path).read_text(encoding="utf-8")
        return [line for line in text.splitlines() if line[0] != "#"]

    def program(self, name, text):
        """A shell script in the place of a program of a build."""
        os.chmod(self.path(name, "#!/bin/sh\n" + text), 0o755)

    def run_script(self, script, *args, code=0, env=None):
        start = [sys.executable] if script.endswith(".py") else []
        done = subprocess.run(start + [str(ROOT / "bench" / script)] + [str(a) for a in args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=100, env=dict(os.environ, **(env or {})))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr * (code != 0)


class Programs(Scripts):
    """What is built without a GPU, on a matrix of a generator."""

    def run_program(self, name, *args):
        build = pathlib.Path(os.environ["SPMM_BUILD"], "bench")
        done = subprocess.run([build / f"bench_{name}", *args], capture_output=True, text=True,
                              timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        titles, *rows = [line.split("\t") for line in done.stdout.splitlines()]
        return [dict(zip(titles, row)) for row in rows]

    def test_reorder(self):
        orders = {row["order"]: row for row in self.run_program("reorder", "rmat:scale=8,degree=6")}
        self.assertGreater(float(orders["affinity"]["mean_nnz_tc"]),
                           float(orders["none"]["mean_nnz_tc"]))

    def test_patterns(self):
        row, = self.run_program("patterns", "stencil5:nx=10,ny=10")
        self.assertEqual((row["rows"], row["nnz"]), ("100", "460"))

    def test_predict(self):
        terms = self.run_program("predict", "32f", "32,128", "rmat:scale=8,degree=6")
        self.assertTrue({("csr-gpu", "32"), ("csr-gpu", "128"), ("hrpb", "32")}
                        <= {(r["engine"], r["N"]) for r in terms})
        self.assertTrue(all(float(r["seconds"]) >= 0.0 for r in terms))


class Tables(Scripts):
    """Scripts that read tables."""

    def test_join(self):
        out = self.path("out.tsv")
        said = self.run_script("common/table.py", out, PLANS, PLANS)
        self.assertIn("engine=auto N=128 mode=32f-fast-tf32 matrices=", said)
        self.assertEqual(self.lines_of(out), self.lines_of(PLANS))
        cut = self.path("cut.tsv", PLANS.read_text(encoding="utf-8").replace("\tyes", "", 1))
        self.assertIn("fields, but", self.run_script("common/table.py", out, cut, code=3))

    def test_figures(self):
        for name, args in (("single_gpu.svg", ("plot/plot.py", "--engines", "auto", None, *(
                RESULTS / f"single_gpu_{mode}.default.tsv"
                for mode in ("32f-fast-tf32", "32f", "64f")))),
                           ("pruned.svg", ("engine/pruned.py", RESULTS / "pruned.tsv", None))):
            out = self.path(name)
            self.run_script(*(out if a is None else a for a in args))
            self.assertEqual(pathlib.Path(out).read_bytes(), (RESULTS / name).read_bytes(), name)

    def test_papers(self):
        said = self.run_script("papers/headlines.py", "acc-spmm", "cutespmm")
        self.assertEqual(said.count("| 128 | all |"), 2)
        self.assertIn("no paper x", self.run_script("papers/headlines.py", "x", code=2))

    def test_fit(self):
        """Times made of known constants give these constants."""
        constants = (2.0, 0.5, 30.0)
        terms = "matrix\tengine\tN\tcompute\tterm\tconstant\tseconds\n"
        times = "matrix\tengine\tN\tcompute\tmedian_ms\n"
        for k in range(12):
            seconds = (1e-6, 1e-6 * (1 + k * k), 1e-8 * (1 + 37 * k % 11))
            for word, s in zip(("launch", "once", "rows"), seconds):
                terms += f"m{k}.csr\tx\t32\t32f\t{word}\t1\t{s:.6e}\n"
            ms = 1e3 * sum(c * s for c, s in zip(constants, seconds))
            times += f"m{k}.csr\tx\t32\t32f\t{ms:.9f}\n"
        said = self.run_script("fit/fit.py", "--terms", self.path("t.tsv", terms),
                               self.path("r.tsv", times))
        self.assertIn("x, 32f: launch 2, once 0.5, rows 30\n", said)
        self.assertIn("| left out | all | 32f | all | 12 | 0.0 % |", said)

    def test_scaling(self):
        out, figure = self.path("out.tsv"), self.path("out.svg")
        said = self.run_script("dist/scaling.py", "--figure", figure, out, RESULTS / "dist_32f.tsv")
        self.assertIn("\nstrong\trmat:scale=22,degree=16\t128\t", said)
        xml.dom.minidom.parse(figure)


class Runs(Scripts):
    """Scripts that run programs, which are shell scripts here."""

    def table(self, name, titles, *rows, code=0):
        lines = "\n".join("\t".join(row) for row in (titles.split(), *rows))
        self.program(name, f"cat <<END\n{lines}\nEND\nexit {code}\n")

    def environment(self):
        self.path("m/INDEX.tsv", "name\trows\tcols\tnnz\nbcsstk29\t9\t9\t80000\n"
                                 "small\t9\t9\t79999\n")
        for name in ("bcsstk29", "small"):
            self.path(f"m/{name}.mtx.gz", "")
        for name in self.run_script("engine/standins.sh", "--list").split():
            self.path(f"s/{name}.csr", "")
        return {"SPMM_MATRIX_DIR": self.path("m"), "SPMM_STANDIN_DIR": self.path("s"),
                "SPMM_BUILD_DIR": self.path("build")}

    def test_single_gpu(self):
        self.program("build/tools/spmm_bench",
                     "printf '%s\\n' \"$@\"\ncase $* in *fast*) exit 1; esac\n")
        env = self.environment()
        said = self.run_script("engine/single_gpu.sh", "--modes", "32f,64f", self.path("out"),
                               env=env).splitlines()
        self.assertEqual(sum(line.endswith("bcsstk29.mtx.gz") for line in said), 2)
        self.assertEqual(sum(line.endswith("small.mtx.gz") for line in said), 0)
        self.assertEqual(sum(line.endswith(".csr") for line in said), 40)
        self.run_script("engine/single_gpu.sh", "--modes", "32f-fast-tf32", self.path("out"),
                        code=1, env=env)

    def test_sddmm(self):
        self.table("build/bench/bench_sddmm", "matrix rows cols nnz K type kernel V ms cusparse_ms "
                   "ratio ratio_to_32f error passed",
                   *([name, "8", "8", "9", "64", "32f", "csr", "1", "1", "1", ratio, "2", "1e-7",
                      passed] for name, ratio, passed in (("a", "4", "yes"), ("b", "1", "yes"),
                                                          ("c", "9", "no"))), code=1)
        out = self.path("out.tsv")
        self.run_script("engine/sddmm.sh", "--names", "vector=1$", out, code=1,
                        env={"SPMM_MATRIX_DIR": "", "SPMM_STANDIN_DIR": "",
                             "SPMM_BUILD_DIR": self.path("build")})
        self.assertEqual(self.lines_of(out)[-1].split("\t")[0], "c")

    def test_cpu(self):
        self.table("build/bench/bench_cpu", "matrix rows entries type threads N layout peer ms "
                   "peer_ms ratio error",
                   ("a", "8", "9", "64f", "1", "4", "row", "mkl", "1", "2", "2", "0"))
        out = self.path("out.tsv")
        self.run_script("engine/cpu.sh", out, env=self.environment())
        self.assertEqual(self.lines_of(out)[1].split("\t")[0], "a")

    def test_run(self):
        """Variants over their base; one that is wrong is in no mean."""
        titles = "matrix N variant median_ms passed"
        self.table("build/bench/bench_published", titles,
                   *(["a.mtx", "8", *row] for row in (("bcsr", "1", "yes"), ("T", "4", "yes"),
                                                      ("BT", "2", "no"))), code=1)
        said = self.run_script("papers/run.sh", "thesis", self.path("out"), "a.mtx", code=1,
                               env={"SPMM_BUILD_DIR": self.path("build")})
        self.assertIn("| T | 4.00 |\n| BT | - |\n\nthesis: ", said)

    def test_pair(self):
        """100 us on one GPU and 60 on two; a wrong product is left out."""
        titles = ("matrix ranks columns type variant engine halo_engine transport schedule nnz "
                  "halo_rows_max total_ms exchange_ms local_ms halo_ms local_max_mean "
                  "alone_exchange_ms alone_local_ms alone_halo_ms partition passed")
        self.program("build/bench/bench_dist", r"""
while [ $# -gt 0 ]; do case $1 in --out) out=$2;; --matrix|--generate) all="$all $2";; esac
shift; done
[ $RANKS = 1 ] && ms=0.1 || ms=0.06
{ echo TITLES; for m in $all; do passed=yes; [ $m$RANKS != c:d=22 ] || passed=no
echo $m $RANKS 16 64f auto hrpb csr-gpu nccl overlap 9 7 $ms 0.02 0.03 0.01 1.25 0.04 0.03 0.01 \
metis $passed; done; } | tr ' ' '\t' > $out""".replace("TITLES", titles))
        self.program("bin/mpirun", 'shift 3; export RANKS=$1; shift; exec "$@"\n')
        out = self.path("out.tsv")
        said = self.run_script("dist/pair.py", "--cases", "64f:16", "--bare", self.path("build"),
                               out, "a:b=1", "c:d=2", code=1,
                               env={"PATH": f"{self.path('bin')}:{os.environ['PATH']}"})
        self.assertIn("c:d=2, 64f, N = 16, auto on 2 GPUs is wrong", said)
        titles, row = [line.split("\t") for line in self.lines_of(out)]
        self.assertEqual(dict(zip(titles, row))["efficiency"], "0.8333")


class Standins(Scripts):
    def test_small_ones(self):
        """One of each kind of generator that is quick, with the bytes that tables were made of."""
        sums = (ROOT / "bench/standins/checksums.md5").read_text(encoding="utf-8")
        names = ("syn-conf5_4-8x8", "syn-dc2", "syn-pdb1HYS", "syn-rma10")
        self.run_script("engine/standins.sh", self.path("out"), *names, env={"JOBS": "2"})
        for name in names:
            made = pathlib.Path(self.path("out"), name + ".csr").read_bytes()
            self.assertIn(f"{hashlib.md5(made).hexdigest()}  {name}.csr\n", sums)


if __name__ == "__main__":
    unittest.main()
