# SPDX-License-Identifier: Apache-2.0
"""The scripts around spmm_bench, on a small table and with two small stand-ins."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROWS = pathlib.Path(__file__).with_name("bench_rows.tsv")


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            pathlib.Path(path).write_text(text, encoding="utf-8")
        return path

    def program(self, name, text):
        """A shell script in the place of a program of a build."""
        os.makedirs(os.path.dirname(self.path(name)))
        os.chmod(self.path(name, "#!/bin/sh\n" + text), 0o755)

    def failing_program(self, name, titles, rows):
        """A program that prints a table and fails."""
        table = "\n".join("\t".join(row) for row in [titles.split(), *rows])
        self.program(name, f"cat <<END\n{table}\nEND\nexit 1\n")

    def run_script(self, script, *args, code=0, env=None):
        start = [sys.executable] if script.endswith(".py") else []
        done = subprocess.run(start + [str(ROOT / "bench" / script)] + [str(a) for a in args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=100, env=dict(os.environ, **(env or {})))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr


class Table(Scripts):
    """The fixture is what tools/bench/bench_report.c writes: test_bench_parts holds it to that."""

    def test_one_table_joins_to_itself(self):
        out = self.path("out.tsv")
        self.run_script("common/table.py", out, ROWS)
        self.assertEqual(pathlib.Path(out).read_bytes(), ROWS.read_bytes())

    def test_parts_join_to_the_whole(self):
        titles, *rows = [line for line in ROWS.read_text(encoding="utf-8").splitlines(True)
                         if not line.startswith("#")]
        old = rows[0].replace("1.2500", "9.0000")
        first = self.path("a.tsv", "# head\n" + titles + old + "".join(rows[1:3]))
        second = self.path("b.tsv", "# head\n" + titles + "".join(rows[3:]) + rows[0])
        out = self.path("out.tsv")
        self.run_script("common/table.py", out, first, second)
        self.assertEqual(pathlib.Path(out).read_text(encoding="utf-8"),
                         "# head\n" + ROWS.read_text(encoding="utf-8"))

    def test_tables_are_checked(self):
        good, out = ROWS.read_text(encoding="utf-8"), self.path("out.tsv")
        for name, text, says in (("cut.tsv", good.replace("\tyes", "", 1), "line 2"),
                                 ("word.tsv", good.replace("0.010000", "fast"), "line 2"),
                                 ("other.tsv", good.replace("engine", "motor", 1), "engine"),
                                 ("empty.tsv", "# nothing\n", "no titles")):
            message = self.run_script("common/table.py", out, self.path(name, text), code=3)
            self.assertIn(name, message)
            self.assertIn(says, message)
            self.assertFalse(os.path.exists(out))
        self.run_script("common/table.py", out, self.path("none.tsv"), code=3)
        self.run_script("common/table.py", out, code=2)
        narrow = self.path("narrow.tsv", "matrix\tN\tengine\tratio_to_cusparse\na\t1\tb\t1\n")
        self.assertIn("columns", self.run_script("common/table.py", out, ROWS, narrow, code=3))


class Predict(Scripts):
    TITLES = "matrix\tengine\tN\tcompute\tmedian_ms\tpredicted_ms\tpassed\n"
    ROWS = ("a.mtx\tcusparse\t32\t32f\t0.010\t0.012\tyes\n"
            "a.mtx\thrpb\t32\t32f\t0.020\t0.011\tyes\n"
            "a.mtx\tauto\t32\t32f\t0.010\t0.500\tyes\n"
            "b.mtx.gz\tcusparse\t32\t32f\t0.040\t0.030\tyes\n"
            "b.mtx.gz\thrpb\t32\t32f\t0.010\t0.010\tyes\n"
            "b.mtx.gz\tbittcf\t32\t32f\t0.001\t0.090\tno\n")

    def test_own_column(self):
        said = self.run_script("fit/predict.py", self.path("r.tsv", self.TITLES + self.ROWS))
        self.assertIn("| cusparse | 32 | 2 | 25 % | 25 % | 25 % | 1.33 |", said)
        self.assertIn("| hrpb | 32 | 2 | 45 % | 45 % | 45 % | 1.82 |", said)
        self.assertIn("| all | all | 4 | 25 % | 45 % | 45 % | 1.33 |", said)
        self.assertIn("| 32 | 2 | 1 | 1.4142 | 2.00 | a | hrpb |", said)
        self.assertNotIn("bittcf", said)

    def test_other_predictions(self):
        results = self.path("r.tsv", self.TITLES + self.ROWS)
        other = self.path("p.tsv", "matrix\tengine\tN\tcompute\tpredicted_ms\n"
                                   "a.mtx\tcusparse\t32\t32f\t0.020\n"
                                   "a.mtx\tcusparse\t64\t32f\t9\n"
                                   "a.mtx\thrpb\t32\t64f\t9\n")
        said = self.run_script("fit/predict.py", "--predictions", other, results)
        self.assertIn("| cusparse | 32 | 1 | 100 % | 100 % | 100 % | 0.50 |", said)
        self.assertNotIn("hrpb", said)

    def test_nothing(self):
        self.assertIn("no row", self.run_script("fit/predict.py", self.path("r.tsv", self.TITLES),
                                                code=3))
        self.run_script("fit/predict.py", self.path("none.tsv"), code=3)
        self.run_script("fit/predict.py", self.path("x.tsv", "matrix\tN\n"), code=3)


class Loss(Scripts):
    """Rows of auto in one table, engines by name in the other."""

    TITLES = ("matrix\tengine\tN\tcompute\tmedian_ms\tpredicted_ms\tchosen\tformat_ms\t"
              "passed\n")

    def test_reasons(self):
        auto = self.TITLES + "".join(
            f"{m}.csr\tcusparse\t32\t32f\t0.020\t0.019\tcusparse\t1\tyes\n"
            f"{m}.csr\tauto\t32\t32f\t{ms}\t0.008\t{chosen}\t{built}\tyes\n"
            for m, ms, chosen, built in (("a", 0.010, "hrpb", 0.3), ("b", 0.010, "hrpb", 1.0),
                                         ("c", 0.010, "bittcf", 1.0), ("d", 0.040, "hrpb", 1.0),
                                         ("e", 0.010, "hrpb", 1.0)))
        named = self.TITLES + "".join(
            f"{m}.csr\t{engine}\t32\t32f\t{ms}\t{predicted}\t{engine}\t1\tyes\n"
            for m, engine, ms, predicted in (
                ("a", "hrpb", 0.010, 0.008), ("a", "bittcf", 0.005, 0.009),
                ("b", "hrpb", 0.010, 0.008), ("b", "bittcf", 0.005, 0.009),
                ("c", "bittcf", 0.008, 0.008), ("e", "hrpb", 0.010, 0.008),
                ("e", "bittcf", 0.009, 0.017)))
        said = self.run_script("fit/loss.py", self.path("a.tsv", auto), self.path("n.tsv", named))
        self.assertIn("| 32f | 32 | 5 | 1.516 | 0.50 |", said)
        self.assertIn("| | | a | | | 2.00 | | hrpb 10.0 (8.0) | bittcf 5.0 (9.0) | use |", said)
        self.assertIn("| bittcf 5.0 (9.0) | budget |", said)
        self.assertIn("| | | c | | | 1.25 | | bittcf 10.0 (8.0) | bittcf 8.0 (8.0) | same |", said)
        self.assertIn("| cusparse 20.0 (19.0) | use |", said)
        self.assertIn("| bittcf 9.0 (17.0) | far |", said)

    def test_nothing(self):
        self.assertIn("no matrix", self.run_script(
            "fit/loss.py", self.path("r.tsv", self.TITLES), code=3))


class Fit(Scripts):
    """Times made of known constants, and one that no constants explain."""

    CONSTANTS = {"x": (2.0, 0.5, 30.0), "y": (4.0, 1.5, 0.25)}

    def tables(self, spoil=1.0):
        terms = "matrix\tengine\tN\tcompute\tterm\tconstant\tseconds\n"
        times = "matrix\tengine\tN\tcompute\tmedian_ms\n"
        for k in range(12):
            name = f"{'syn-' if k % 2 else ''}m{k}"
            for engine, constants in self.CONSTANTS.items():
                seconds = (1e-6, 1e-6 * (1 + k * k), 1e-8 * (1 + 37 * k % 11))
                for word, s in zip(("launch", "once", "rows"), seconds):
                    terms += f"{name}.csr\t{engine}\t32\t32f\t{word}\t1\t{s:.6e}\n"
                ms = 1e3 * sum(c * s for c, s in zip(constants, seconds))
                ms *= spoil if k == 3 and engine == "x" else 1
                times += f"{name}.csr\t{engine}\t32\t32f\t{ms:.9f}\n"
        return self.path("t.tsv", terms), self.path("r.tsv", times)

    def test_constants_come_back(self):
        terms, times = self.tables()
        said = self.run_script("fit/fit.py", "--terms", terms, times)
        self.assertIn("x, 32f: launch 2, once 0.5, rows 30\n", said)
        self.assertIn("y, 32f: launch 4, once 1.5, rows 0.25\n", said)
        for way, times in (("fit", 24), ("left out", 24), ("real from stand-ins", 12)):
            self.assertIn(f"| {way} | all | 32f | all | {times} | 0.0 % | 0.0 % |", said)
            self.assertIn(f"| {way} | 32f | all | {times // 2} | {times // 2} | 1.0000 |", said)

    def test_classes(self):
        """A class is predicted from the others; the sources' constants, all 1, miss."""
        terms, times = self.tables()
        classes = "matrix\tclass\n" + "".join(
            f"{'syn-' if k % 2 else ''}m{k}\t{'a' if k < 5 else 'b'}\n" for k in range(11))
        said = self.run_script("fit/fit.py", "--terms", terms, "--classes",
                               self.path("c.tsv", classes), times)
        self.assertIn("| class left out | all | 32f | all | 24 | 0.0 % | 0.0 % |", said)
        sources = next(x for x in said.splitlines() if x.startswith("| sources | all | 32f"))
        self.assertGreater(float(sources.split("|")[6].split()[0]), 20.0)

    def test_same_kernel(self):
        """csr-gpu in TF32 takes part in FP32's choice, where 16 bits do not; least to cuSPARSE."""
        terms = "matrix\tengine\tN\tcompute\tterm\tconstant\tseconds\n"
        times = "matrix\tengine\tN\tcompute\tmedian_ms\n"
        for k in range(6):
            for engine, mode, ms in (("cusparse", "32f", 3.0), ("bittcf", "32f", 4.0),
                                     ("csr-gpu", "32f-fast-tf32", 2.0), ("csr-gpu", "32f", None),
                                     ("cusparse", "16f", 5.0), ("csr-gpu", "16f", 8.0)):
                terms += f"m{k}.csr\t{engine}\t32\t{mode}\tlaunch\t1\t{1e-3 * (1 + k):.6e}\n"
                if ms:
                    times += f"m{k}.csr\t{engine}\t32\t{mode}\t{ms * (1 + k):.9f}\n"
        said = self.run_script("fit/fit.py", "--terms", self.path("t.tsv", terms),
                               self.path("r.tsv", times))
        for line in ("csr-gpu, FP32 and FP64: launch 2\n", "csr-gpu, 16 bits: launch 8\n",
                     "cusparse, FP32: launch 3\n", "cusparse, 16 bits: launch 5\n"):
            self.assertIn(line, said)
        self.assertIn("| fit | 32f | all | 6 | 6 | 1.0000 | 1.00 | m5, 32 | csr-gpu | 1.500 |",
                      said)
        self.assertIn(
    "| fit | 16f | all | 6 | 6 | 1.0000 | 1.00 | m5, 32 | cusparse | 1.000 |",
     said)

    def test_one_matrix_bends_nothing_much(self):
        terms, times = self.tables(spoil=20.0)
        said = self.run_script("fit/fit.py", "--terms", terms, times)
        line = next(x for x in said.splitlines() if x.startswith("| fit | x | 32f | 32 |"))
        self.assertLess(float(line.split("|")[6].split()[0]), 5.0)

    def test_nothing(self):
        terms, times = self.tables()
        self.assertIn("no row", self.run_script(
            "fit/fit.py", "--terms", terms,
            self.path("e.tsv", "matrix\tengine\tN\tcompute\tmedian_ms\n"), code=3))
        self.run_script("fit/fit.py", "--terms", self.path("none.tsv"), times, code=3)


class Peers(Scripts):
    SYSTEMS = ("system\tof\tpaper\tbits\tfastest\n"
               "cusparse-csr-alg2-row\tcuSPARSE\t-\t32\tno\n"
               "cusparse-csr-alg3-row\tcuSPARSE\t-\t32\tno\n"
               "one\tOne\t-\t32\tyes\nleft-out\tTwo\t-\t32\tno\nhalf\tHalf\t-\t16\tyes\n")
    TIMES = (("bcsstk29", 0.04, "-", 0.04, 0.001, 0.04 / 3),
             ("syn-cant", 0.3, 0.24, 0.12, "-", 0.08),
             ("syn-reddit", 8, 9, 2, "wrong", 32), ("syn-mip1", 0.5, 0.5, 0.5 / 1.43, "-", "-"))

    def peers(self):
        """A folder of times as bench/results/peers."""
        titles = ["matrix", "N"] + [line.split("\t")[0] for line in self.SYSTEMS.split("\n")[1:-1]]
        self.path("systems.tsv", self.SYSTEMS)
        self.path("times.tsv", "\n".join("\t".join(map(str, row)) for row in [
            titles, *((m, 128, *ms) for m, *ms in self.TIMES)]) + "\n")
        return self.folder.name

    def test_comparison(self):
        peers = self.peers()
        self.assertEqual(
            self.run_script("papers/peers.py", "--peers", peers, ROWS).splitlines(),
            ["N = 128, 32f-fast-tf32: 3 of 4 matrices; geomean 1.587, best peers 2.000; "
             "cuSPARSE here / there 1.000",
             "  at least the peer on 2 of 3 (67 %)",
             "  behind on syn-reddit: 0.50 to 4.00"])
        out = self.run_script("papers/peers.py", "--peers", peers, "--bits", "16", ROWS)
        self.assertIn("behind on bcsstk29: 2.00 to 3.00", out)
        self.assertNotIn("behind on syn-reddit", out)

    def test_wrong_results_do_not_count(self):
        out = self.run_script("papers/peers.py", "--peers", self.peers(), "--engine", "hrpb", ROWS)
        self.assertIn("1 of 4 matrices; geomean 0.800, best peers 1.000;", out)
        self.assertIn("no right result on syn-cant", out)

    def test_published_times(self):
        out = self.run_script("papers/peers.py", ROWS)
        self.assertIn("N = 32, 32f-fast-tf32: 1 of 30 matrices", out)
        self.assertIn("N = 128, 32f-fast-tf32: 3 of 33 matrices", out)
        self.assertIn("behind on syn-reddit: 0.50 to 1.27", out)

    def test_headlines(self):
        out = self.run_script("papers/headlines.py", "acc-spmm", "cutespmm")
        self.assertEqual(out.count("| 128 | all |"), 2)
        self.assertIn("no paper x", self.run_script("papers/headlines.py", "x", code=2))

    def test_nothing_to_compare(self):
        self.assertIn("bcsr", self.run_script("papers/peers.py", "--engine", "bcsr", ROWS, code=3))
        self.run_script("papers/peers.py", code=2)


class Papers(Scripts):
    """run.sh with programs that print what bench_patterns and bench_reorder do."""
    FACTS = ("rows cols nnz tc_blocks mean_nnz_tc ibd csr_bytes tcf_bytes me_tcf_bytes "
             "bittcf_bytes alpha synergy class oi_shmem bricks vectors8 fill8 cvse8_bytes "
             "vectors16 fill16 cvse16_bytes v tiles16 tiles32 sp24").split()
    VALUES = ("16 16 64 2 32 9 400 1600 200 100 0.5 0.5 high 256 2 16 0.5 264 8 0.5 264 16 1 1 "
              "0").split()

    def run_paper(self, paper, code=0):
        def printed(*lines):
            return "cat <<END\n" + "\n".join("\t".join(line) for line in lines) + "\nEND\n"
        bench = "build/bench/bench_"
        if not os.path.exists(self.path(bench + "patterns")):
            self.program(bench + "patterns",
                         printed(["matrix", *self.FACTS], ["a", *self.VALUES]))
            orders = [["a", order, nnz] for order, nnz in
                      (("none", "10"), ("acc", "20"), ("rabbit", "15"), ("louvain", "15"),
                       ("lsh16", "12"), ("lsh64", "12"), ("metis", "11"), ("rcm", "5"),
                       ("affinity", "25"))]
            os.chmod(self.path(bench + "reorder", "#!/bin/sh\n" + printed(
                ["matrix", "order", "mean_nnz_tc"], *orders)), 0o755)
        return self.run_script("papers/run.sh", paper, self.path("out"), "a", code=code,
                               env={"SPMM_BUILD_DIR": self.path("build"), "PATH": "/usr/bin:/bin"})

    def test_counts(self):
        said = self.run_paper("acc-spmm")
        self.assertIn("| a | 2.00 | 9.00 | 32.00 | 4.00 | 8.00 | 16.00 | 2.00 |", said)
        self.assertIn("IBD above 8: 1 of 1 matrices", said)
        self.assertIn("| affinity | 2.50 | 2.50 | 2.50 |", said)
        self.assertIn("| rcm | 0.50 | 0.50 | 0.50 |", said)
        self.assertIn("| high | 1 | 0.50 | 256.00 | 256.00 |", self.run_paper("cutespmm"))
        said = self.run_paper("sspmm")
        self.assertIn("| a | 16 | 0.50 | 0.50 | 2.00 | 2.00 | 0.80 | 0.80 |", said)
        self.assertIn("On H200, over cuSPARSE in FP32", said)
        self.assertIn("| a | 64.00 | 1.00 | 0.00 |", self.run_paper("thesis"))

    def test_refusals(self):
        self.assertIn("no paper x", self.run_paper("x", code=2))
        self.run_script("papers/counts.py", "thesis", self.path("none.tsv"), code=3)


class Plot(Scripts):
    def test_figure(self):
        first, again = self.path("a.svg"), self.path("b.svg")
        for out in (first, again):
            self.run_script("plot/plot.py", "--peers", ROOT / "bench/results/peers", out, ROWS)
        text = pathlib.Path(first).read_text(encoding="utf-8")
        self.assertEqual(text, pathlib.Path(again).read_text(encoding="utf-8"))
        svg = xml.dom.minidom.parse(first)
        words = ["".join(n.data for n in t.childNodes) for t in svg.getElementsByTagName("text")]
        for matrix in ("bcsstk29", "syn-cant", "syn-reddit"):
            self.assertIn(matrix, words)
        self.assertIn("auto, 32f-fast-tf32: geomean 1.25 / 1.59 at N = 32 / 128", words)
        self.assertIn("hrpb, 32f-fast-tf32: geomean - / 0.80 at N = 32 / 128", words)
        # Four right results of auto and its line in the legend.
        self.assertEqual(text.count("m-3.6 0a3.6 3.6 0 1 0 7.2 0"), 5)

    def test_variants(self):
        """Speed-ups over cusparse of right products, and the authors' program where timed."""
        titles = "matrix\tnnz\tN\tvariant\tmedian_ms\tpassed\n"
        rows = [("pruned:rows=64,cols=32,sparsity=0.5", 1024, variant, ms, good)
                for variant, ms, good in (("cusparse", 1.0, "yes"), ("TM 16", 0.5, "yes"),
                                          ("TM 32", 0.1, "no"), ("engine", 0.25, "yes"))]
        rows += [("bcsstk29.mtx.gz", 619488, "cusparse", 0.0377, "yes"),
                 ("bcsstk29.mtx.gz", 619488, "TM 32", 0.0377, "yes")]
        table = self.path("t.tsv", titles + "".join(
            f"{m}\t{nnz}\t128\t{v}\t{ms}\t{good}\n" for m, nnz, v, ms, good in rows))
        out = self.path("v.svg")
        self.run_script("plot/variants.py", "cutespmm", table, out)
        text = pathlib.Path(out).read_text(encoding="utf-8")
        for line in ("TM 16: geomean 2.00 at N = 128", "TM 32: geomean 1.00 at N = 128",
                     "engine: geomean 4.00 at N = 128", ">pruned 64,32,0.5<", "authors&apos;",
                     "bcsstk29"):
            self.assertIn(line.replace("&apos;", "'"), text)
        self.assertIn("no row of all", self.run_script("plot/variants.py", "acc-spmm", table, out,
                                                       code=3))
        self.run_script("plot/variants.py", "x", table, out, code=2)

    def test_files_are_told_apart(self):
        copy, out = self.path("x<&.tsv"), self.path("a.svg")
        shutil.copy(ROWS, copy)
        self.run_script("plot/plot.py", "--engines", "auto", "--columns", "128", out, ROWS, copy)
        words = ["".join(n.data for n in t.childNodes)
                 for t in xml.dom.minidom.parse(out).getElementsByTagName("text")]
        self.assertIn("auto, 32f-fast-tf32, x<&: geomean 1.59 at N = 128", words)
        self.assertIn("auto, 32f-fast-tf32, bench_rows: geomean 1.59 at N = 128", words)

    def test_widths(self):
        text = "# command: x\nmatrix\tN\ttype\tengine\tchosen\tmedian_ms\tpassed\n"
        for n, ms in ((1, 0.01), (7, 0.02), (8, 0.0105), (9, 0.012), (16, 0.012)):
            text += f"a.mtx\t{n}\t64f\tauto\tdmma\t{ms}\tyes\n"
        lines, out, figure = self.path("r.tsv", text), self.path("w.tsv"), self.path("w.svg")
        self.assertIn("64f: 1 of 5 widths are cliffs; worst 1.90, a, N = 7",
                      self.run_script("plot/widths.py", out, figure, lines))
        self.assertIn("64f\ta\t9\t12.00\tdmma\n", pathlib.Path(out).read_text(encoding="utf-8"))
        xml.dom.minidom.parse(figure)

    def test_errors(self):
        out = self.path("a.svg")
        self.run_script("plot/plot.py", "--engines", "bcsr", out, ROWS, code=3)
        self.run_script("plot/plot.py", self.path("none/a.svg"), ROWS, code=4)
        self.run_script("plot/plot.py", out, code=2)
        self.assertFalse(os.path.exists(out))


class Half(Scripts):
    """bench/engine/half.py: an engine in 16 bits against cuSPARSE in FP32 and in 16 bits."""

    ROWS = ("matrix\tN\ttype\tengine\tmedian_ms\tratio_to_cusparse\tchosen\tpassed\n"
            "a.mtx.gz\t32\t16f\tyardstick\t0.080\t1\tcusparse\tyes\n"
            "a.mtx.gz\t32\t16f\tcusparse\t0.040\t2\tcusparse\tyes\n"
            "a.mtx.gz\t32\t16f\tcusparse-bell\t0.010\t8\tcusparse-bell\tyes\n"
            "a.mtx.gz\t32\t16f\tauto\t0.020\t4\tcvse\tyes\n"
            "b.csr\t32\t16f\tcusparse\t0.040\t2\tcusparse\tyes\n"
            "b.csr\t32\t16f\tauto\t0.050\t1\tbcsr\tyes\n"
            "c.csr\t32\t16f\tauto\t0.050\t9\tbcsr\tno\n")

    def test_lines_and_means(self):
        said = self.run_script("engine/half.py", self.path("r.tsv", self.ROWS)).splitlines()
        self.assertEqual(said[1].split("\t"), ["a", "32", "16f", "0.0800",
                         "0.0400", "0.0100", "0.0200", "cvse", "4.0000", "2.0000", "0.5000"])
        self.assertEqual(said[2].split("\t"), ["b", "32", "16f", "0.0500", "0.0400", "-", "0.0500",
                                               "bcsr", "1.0000", "0.8000", "-"])
        self.assertEqual(
    said[3], "# 16f, N = 32: to_fp32 2.000 over 2, least 1.000 on b, 0 below 1; "
    "to_half 1.265 over 2, least 0.800 on b, 1 below 1; "
    "to_bell 0.500 over 1, least 0.500 on a, 1 below 1")
        self.assertEqual(len(said), 4)

    def test_refused(self):
        rows = self.path("r.tsv", self.ROWS)
        self.assertIn("hrpb", self.run_script("engine/half.py", "--engine", "hrpb", rows, code=3))
        self.assertIn("no column", self.run_script(
            "engine/half.py", self.path("n.tsv", "matrix\tN\na\t1\n"), code=3))


class OldNew(Scripts):
    """bench/engine/old_new.py with programs for both spmm_bench that print what they would take."""

    BENCH = r"""while [ $# -gt 0 ]; do
case $1 in --out) out=$2;; --type) type=$2;; --columns) n=$2;; --matrix-list) list=$2;;
--engines) engines=$2;; esac
shift 2; done
echo "$type $n $(cat $list | tr '\n' ' ')" >> FOLDER/calls.SIDE
calls=$(wc -l < FOLDER/calls.SIDE)
{ printf 'matrix\tN\tengine\tmedian_ms\tpassed\tchosen\n'
while read m; do m=$(basename $m)
for e in $(echo $engines | tr ',' ' '); do
ms=0.020; [ $e = cusparse ] || ms=$(TIME)
printf '%s\t%s\t%s\t%s\tyes\t%s\n' $m $n $e $ms $e; done; done < $list; } > $out
"""

    def compare(self, old, new, *args, code=0):
        """Times by shell: $m is the matrix, $calls counts the runs of the side."""
        for side, time in (("old", old), ("new", new)):
            text = self.BENCH.replace("FOLDER", self.folder.name).replace("SIDE", side)
            self.program(f"{side}/tools/spmm_bench", text.replace("TIME", time))
        said = subprocess.run(
            [sys.executable, ROOT / "bench/engine/old_new.py", "--cases", "64f:8", *args,
             self.path("old"), self.path("new"), self.path("out.tsv"), "m/a.mtx.gz", "b.csr"],
            capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        return said.stdout.splitlines(), pathlib.Path(self.path("out.tsv")).read_text(
            encoding="utf-8").splitlines()

    def test_nothing_is_slower(self):
        said, rows = self.compare("echo 0.010", "echo 0.008")
        self.assertEqual(said[-1], "2 rows: 1.2500, 0 slower")
        self.assertIn("a.mtx.gz\t64f\t8\tauto\t0.010000\t0.008000\t1.250000\tauto\tauto\t1\tno",
                      rows)
        self.assertEqual(len(rows), 7)  # two comments, titles, two matrices by two engines

    def test_noise_is_measured_again(self):
        said, rows = self.compare("echo 0.010", "[ $m$calls = b.csr1 ] && echo 0.02 || echo 0.010")
        self.assertEqual(said[-1], "2 rows: 1.0000, 0 slower")
        self.assertIn("3\tno", rows[-1])
        calls = pathlib.Path(self.path("calls.new")).read_text(encoding="utf-8").splitlines()
        self.assertEqual([line.strip() for line in calls],
                         ["64f 8 m/a.mtx.gz b.csr"] + ["64f 8 b.csr"] * 2)

    def test_slower_rows_are_named(self):
        said, _ = self.compare("echo 0.010", "[ $m = b.csr ] && echo 0.013 || echo 0.008", code=1)
        self.assertIn("slower: b.csr, 64f, N = 8, auto: 10.00 us by auto, 13.00 us by auto, "
                      "3 rounds", said)
        self.assertEqual(said[-1], "2 rows: 0.9806, 1 slower")

    def test_engines_by_name(self):
        said, rows = self.compare("echo 0.010", "[ $e = hrpb ] && echo 0.012 || echo 0.008",
                                  "--engines", "auto,hrpb", "--repeats", "0", code=1)
        self.assertIn("slower: b.csr, 64f, N = 8, hrpb: 10.00 us by hrpb, 12.00 us by hrpb, "
                      "1 rounds", said)
        self.assertEqual(said[-1], "4 rows: 1.0206, 2 slower")
        self.assertEqual(len(rows), 9)

    def test_a_microsecond_is_none(self):
        self.compare("echo 0.0100", "[ $m = b.csr ] && echo 0.0109 || echo 0.0091")

    def test_refused(self):
        self.run_script("engine/old_new.py", "--cases", "8f:1", "o", "n", "t", "m", code=2)
        self.assertIn("spmm_bench", self.run_script(
            "engine/old_new.py", self.path("no"), self.path("no"), self.path("t"), "m", code=4))


class Objective(Scripts):
    """bench/dist/objective.py with a program for spmm_dist, by way of mpirun."""

    DRIVER = r"""while [ $# -gt 0 ]; do case $1 in
--json) json=$2; shift;; --objective) by=$2; shift;; --generate) shift;;
esac; shift; done
[ $by = vol ] && n=40 || n=30
echo "halo block: 10 x 20, $n entries, longest row 3"
echo '{"halo": {"rows_total": '$((2 * n))', "rows_max": '$n'}, "partition": {"imbalance": 1.5},
"time": {"partition_s": 0.'$n'}}' > $json
"""

    def test_ratios(self):
        self.program("tools/spmm_dist", self.DRIVER)
        self.program("bin/mpirun", 'shift 4; exec "$@"\n')
        said = subprocess.run(
            [sys.executable, ROOT / "bench/dist/objective.py", self.path("tools/spmm_dist"),
             self.path("out.tsv"), "a:b=1", "c:d=2"], capture_output=True, text=True, timeout=100,
            check=False, env=dict(os.environ, PATH=f"{self.path('bin')}:{os.environ['PATH']}"))
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        self.assertIn("halo_entries, cut over vol: matrices 2, geomean 0.750", said.stdout)
        lines = pathlib.Path(self.path("out.tsv")).read_text(encoding="utf-8").splitlines()
        self.assertEqual(lines[2:4], ["a:b=1\t2\tvol\t80\t40\t40\t1.5\t0.4",
                                      "a:b=1\t2\tcut\t60\t30\t30\t1.5\t0.3"])


class Pair(Scripts):
    """bench/dist/pair.py with programs for bench_dist and mpirun."""

    TITLES = ("matrix ranks columns type variant engine halo_engine transport schedule nnz "
              "halo_rows_max total_ms exchange_ms local_ms halo_ms local_max_mean "
              "alone_exchange_ms alone_local_ms alone_halo_ms partition passed")
    BENCH = r"""only= variants=auto inputs=
while [ $# -gt 0 ]; do case $1 in
--out) out=$2; shift;; --type) type=$2; shift;; --columns) widths=$2; shift;;
--no-baselines) only=1;; --matrix|--generate) inputs="$inputs $(basename $2)"; shift;;
--variant) variants="$variants $2"; shift;; --tuning|--partition) shift;;
--partition-dir) parts=$2; shift;;
esac; shift; done
[ "$variants" = auto ] || variants=${variants#auto }
[ -n "$only" ] || variants="allgather needed $variants"
echo "$RANKS $type $widths$inputs: $variants" >> FOLDER/calls.SIDE
{ echo TITLES | tr ' ' '\t'
for m in $inputs; do for n in $(echo $widths | tr , ' '); do for v in $variants; do
ms=$(TIME); passed=yes; [ $ms != 9 ] || passed=no; by=metis; [ $v != fewer=1 ] || by=one
echo $m $RANKS $n $type $v hrpb csr-gpu nccl overlap 9 7 $ms 0.02 0.03 0.01 1.25 0.04 0.03 0.01 \
$by $passed | tr ' ' '\t'; done; done; done; } > $out
"""

    def pair(self, new, *args, code=0, old="echo 0.080"):
        """Times by shell: $RANKS, $m, $n, $v are those of the row; 9: the product is wrong."""
        for side, time in (("old", old), ("new", new)):
            text = self.BENCH.replace("FOLDER", self.folder.name).replace("SIDE", side)
            self.program(f"{side}/bench/bench_dist",
                         text.replace("TITLES", self.TITLES).replace("TIME", time))
        self.program("bin/mpirun", 'shift 3; export RANKS=$1; shift; exec "$@"\n')
        said = subprocess.run(
            [sys.executable, ROOT / "bench/dist/pair.py", "--cases", "64f:16", "--old",
             self.path("old"), *args, self.path("new"), self.path("out.tsv"), "a:b=1", "c:d=2"],
            capture_output=True, text=True, timeout=100, check=False,
            env=dict(os.environ, PATH=f"{self.path('bin')}:{os.environ['PATH']}"))
        self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        lines = pathlib.Path(self.path("out.tsv")).read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in lines if line[0] != "#"]
        return said, [dict(zip(rows[0], row)) for row in rows[1:]]

    def test_efficiency(self):
        said, rows = self.pair("case $RANKS$v in 1auto) echo 0.100;; 2auto) echo 0.060;; "
                               "2needed) echo 0.120;; *) echo 0.090; esac")
        self.assertEqual([row["matrix"] for row in rows], ["a:b=1", "c:d=2"])
        self.assertEqual({name: rows[0][name] for name in (
            "T1_us", "T2_us", "efficiency", "old_efficiency", "old_over_new", "needed_us",
            "allgather_us", "in_place_us", "local_us", "exchange_us")},
            {"T1_us": "100", "T2_us": "60", "efficiency": "0.8333", "old_efficiency": "0.5",
             "old_over_new": "1.333", "needed_us": "120", "allgather_us": "90",
             "in_place_us": "-", "local_us": "30", "exchange_us": "40"})
        # 60 - 100 / 2: 24 of the mean rank, 6 of the slowest, 10 of the exchange, 20 behind it
        self.assertEqual([rows[0][f"lost_{name}_us"] for name in (
            "part", "uneven", "waits", "behind")], ["-26", "6", "10", "20"])
        self.assertIn("efficiency, all: rows 2, geomean 0.833, least 0.833 (a:b=1, 64f, N = 16)",
                      said.stdout)
        self.assertIn("needed_us / T2_us: rows 2, geomean 2.000, below 1: 0", said.stdout)
        self.assertIn("local_max_mean: above 1.08 in 2 of 2, most 1.25", said.stdout)
        calls = pathlib.Path(self.path("calls.new")).read_text(encoding="utf-8").splitlines()
        self.assertEqual(sorted(calls), ["1 64f 16 a:b=1: auto", "1 64f 16 c:d=2: auto",
                                         "2 64f 16 a:b=1 c:d=2: allgather needed auto"])

    def test_what_takes_more_is_taken_apart(self):
        said, _ = self.pair("case $RANKS$m$v in 1*) echo 0.100;; 2a:b=1auto) echo 0.110;; "
                            "*engine=hrpb*) echo 0.070;; *) echo 0.060; esac")
        line = next(line for line in said.stdout.splitlines() if line.startswith("a:b=1, 64f"))
        self.assertIn("T1 100.0 hrpb, T2 110.0 overlap hrpb, csr-gpu; ", line)
        self.assertIn("; hrpb 70.0 (40.0 | 30.0 + 10.0); ", line)
        self.assertIn("; merged 60.0 (40.0 | 30.0 + 10.0) hrpb, csr-gpu", line)
        self.assertIn("lost part -26 uneven 6 waits 10 behind 70; ", line)
        self.assertNotIn("c:d=2", line)
        self.assertIn("two slower than one: 1 of 2", said.stdout)

    def test_fewer_where_two_gain_little(self):
        said, rows = self.pair("case $RANKS$m$v in 2*fewer=1) echo 0.102;; 1*) echo 0.100;; "
                               "2a:b=1auto) echo 0.160;; *) echo 0.060; esac", "--below", "0")
        self.assertEqual([(row["fewer_us"], row["fewer_takes"]) for row in rows],
                         [("102", "one"), ("-", "-")])
        self.assertIn("two slower than one: 1 of 2, with use_fewer_ranks 0", said.stdout)
        self.assertIn("efficiency with use_fewer_ranks, all: geomean 0.639, least 0.490",
                      said.stdout)
        calls = pathlib.Path(self.path("calls.new")).read_text(encoding="utf-8").splitlines()
        self.assertIn("2 64f 16 a:b=1: fewer=1", calls)

    def test_bare(self):
        said, rows = self.pair("case $RANKS in 1) echo 0.100;; *) echo 0.110; esac", "--bare")
        self.assertEqual([(row["T2_us"], row["old_T2_us"], row["needed_us"], row["fewer_us"])
                          for row in rows], 2 * [("110", "80", "-", "-")])
        self.assertNotIn("lost part", said.stdout)
        calls = pathlib.Path(self.path("calls.new")).read_text(encoding="utf-8").splitlines()
        self.assertEqual(sorted(calls), ["1 64f 16 a:b=1: auto", "1 64f 16 c:d=2: auto",
                                         "2 64f 16 a:b=1 c:d=2: auto"])

    def test_other_partitions(self):
        said, rows = self.pair("case $RANKS$parts in 1*) echo 0.100;; 2vol) echo 0.060;; "
                               "*) echo 0.045; esac", "--bare", "--parts", "vol", "--also", "cut")
        self.assertEqual([(row["T2_us"], row["also_T2_us"], row["also_halo_rows_max"])
                          for row in rows], 2 * [("60", "45", "7")])
        self.assertIn("also_T2_us / T2_us: rows 2, geomean 0.750, below 1: 2, least 0.750",
                      said.stdout)

    def test_wrong_products(self):
        said, rows = self.pair("[ $m$RANKS = a:b=12 ] && echo 9 || echo 0.05", code=1)
        self.assertEqual([row["matrix"] for row in rows], ["c:d=2"])
        self.assertIn("a:b=1, 64f, N = 16, auto on 2 GPUs is wrong", said.stderr)
        self.assertIn("1 of 2 rows are left out", said.stderr)


class Tiles(Scripts):
    """bench/papers/tiles.py on rows of bench_ladder, and tiles.sh around a program in its place."""

    TITLES = ("matrix\tnnz\tN\ttiles32\tsp24_percent\tvariant\tmedian_ms\tgflops\ttile_tflops\t"
              "to_OBT\tto_cusparse\tmax_error\tpassed\n")

    @staticmethod
    def row(matrix, n, share, variant, ms, passed="yes"):
        return (f"{matrix}\t9\t{n}\t9\t{share}\t{variant}\t{ms}\t1\t1\t-\t{4 / ms:.3f}\t1e-4\t"
                f"{passed}\n")

    def test_amdahl(self):
        rows = self.TITLES
        for dense, sp24, ms in ((0.2, 0, 2.0), (0.1, 0.1, 1.6), (0, 0.2, 1.0)):
            spec = f"xdys:size=4096,dense={dense},sp24={sp24}"
            rows += self.row(spec, 128, 500 * sp24, "bcsr", 2.0)
            rows += self.row(spec, 128, 500 * sp24, "bcsr-sp24", ms)
        said = self.run_script("papers/tiles.py", self.path("a.tsv", rows))
        self.assertIn("| 4096 | 0.2 | 128 | 50 | 1.250 | 1.333 | - |", said)
        self.assertIn("| 4096 | 0.2 | 128 | 100 | 2.000 | 2.000 | - |", said)
        self.assertIn(
    "| bcsr-sp24 | 128 | 3 | 2.714 | 2.000 | xdys:size=4096,dense=0.2,sp24=0 |",
     said)

    def test_wrong_results(self):
        rows = self.TITLES + self.row("a.mtx", 8, 0, "T", 1.0, "no") + \
                                      self.row("a.mtx", 8, 0, "BT", 1.0)
        self.assertIn(
    "wrong: T on a.mtx",
    self.run_script(
        "papers/tiles.py",
        self.path(
            "w.tsv",
            rows),
             code=1))

    def test_sections(self):
        self.program("build/bench/bench_ladder",
                     f"printf '# on a GPU\\n{self.TITLES}'\n"
                     f"printf '{self.row('a.mtx', 8, 0, 'BT', 1.0)}'\n"
                     "case $* in *' 32,128,512 '*) exit 1; esac\n")
        env = {"SPMM_BUILD_DIR": self.path("build"), "SPMM_OUTPUT_DIR": self.path("out")}
        self.assertIn("tiles_ladder.tsv: exit code 0",
                      self.run_script("papers/tiles.sh", "ladder", env=env))
        self.run_script("papers/tiles.sh", "amdahl", "ladder", code=1, env=env)
        with open(self.path("out/tiles_ladder.tsv"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(len([line for line in lines if line.startswith("matrix")]), 1)
        self.assertEqual(len([line for line in lines if line.startswith("a.mtx")]), 2)
        self.assertIn("no section", self.run_script("papers/tiles.sh", "nonesuch", code=2, env=env))
        self.assertIn(
    "SPMM_STANDIN_DIR",
    self.run_script(
        "papers/tiles.sh",
        "real",
        code=2,
         env=env))
        self.assertIn("bench_ladder", self.run_script(
            "papers/tiles.sh", code=2, env={"SPMM_BUILD_DIR": self.path("none")}))


class Runs(Scripts):
    """bench/engine/single_gpu.sh with a program for spmm_bench that prints what it was given."""

    def setUp(self):
        super().setUp()
        matrices, standins = self.path("m"), self.path("s")
        names = self.run_script("engine/standins.sh", "--list").split()
        self.assertEqual(len(names), 20)
        os.makedirs(matrices)
        os.makedirs(standins)
        self.path("m/INDEX.tsv", "name\trows\tcols\tnnz\nlarge\t9\t9\t80000\nsmall\t9\t9\t79999\n")
        for file in ["m/large.mtx.gz", "m/small.mtx.gz"] + [f"s/{n}.csr" for n in names]:
            self.path(file, "")
        self.program("build/tools/spmm_bench",
                     "echo \"$@\"\ncat \"$2\"\ncase $* in *fast*) exit 1; esac\n")
        self.env = {"SPMM_MATRIX_DIR": matrices, "SPMM_STANDIN_DIR": standins,
                    "SPMM_BUILD_DIR": self.path("build")}

    def runs(self, *args, code=0):
        return self.run_script(
    "engine/single_gpu.sh",
    *args,
    self.path("out"),
    code=code,
     env=self.env)

    def test_whole_table(self):
        out = self.runs("--modes", "32f,64f").splitlines()
        self.assertEqual([line.rsplit("/")[-1] for line in out if line.endswith(".mtx.gz")],
                         ["large.mtx.gz"] * 2)
        self.assertEqual(len([line for line in out if line.endswith(".csr")]), 40)
        calls = [line for line in out if line.startswith("--matrix-list")]
        self.assertIn("--type 32f --compute 32f --columns 32,128,512 "
                      "--engines cusparse,auto,bittcf,hrpb,csr-gpu --iterations 20", calls[0])
        self.assertIn("--type 64f --compute 64f --columns 32,128 "
                      "--engines cusparse,auto,dmma", calls[1])
        self.assertIn("single_gpu_64f.tsv", calls[1])

    def test_part(self):
        out = self.runs("--modes", "32f", "--names", "^(large|syn-cant)$", "--columns", "512",
                        "--engines", "auto", "--tag", "x").splitlines()
        self.assertEqual(len([line for line in out if line.endswith((".csr", ".gz"))]), 2)
        self.assertIn("--columns 512 --engines cusparse,auto ", out[0])
        self.assertIn("single_gpu_32f.x.tsv", out[0])
        self.assertEqual(self.runs("--modes", "64f", "--columns", "512"), "")

    def test_16_bits(self):
        out = self.runs("--modes", "16f,16bf", "--names", "large", "--columns", "128",
                        "--engines16", "auto,bcsr").splitlines()
        calls = [line for line in out if line.startswith("--matrix-list")]
        for call, kind in zip(calls, ("16f", "16bf")):
            self.assertIn(f"--type {kind} --compute 32f --columns 128 "
                          "--engines cusparse,auto,bcsr ", call)
            self.assertIn("--yardstick 32f", call)
            self.assertIn(f"single_gpu_{kind}.tsv", call)
        self.assertEqual(len(calls), 2)

    def test_failures_are_kept(self):
        self.runs("--modes", "32f-fast-tf32,32f", code=1)

    def test_refused(self):
        self.assertIn("no matrix", self.runs("--names", "nonesuch", code=2))
        self.assertIn("64", self.runs("--modes", "64", code=2))
        self.assertIn("--nonesuch", self.runs("--nonesuch", code=2))
        self.assertIn(
    "value",
    self.run_script(
        "engine/single_gpu.sh",
        "--tag",
        code=2,
         env=self.env))
        self.assertIn("2 operands", self.runs("more", code=2))
        os.remove(self.path("s/syn-cant.csr"))
        self.assertIn("syn-cant.csr", self.runs(code=2))
        os.remove(self.path("m/INDEX.tsv"))
        self.assertIn("no file", self.runs(code=2))
        self.assertIn("SPMM_MATRIX_DIR", self.run_script(
            "engine/single_gpu.sh", code=2, env={"SPMM_MATRIX_DIR": "", "SPMM_STANDIN_DIR": ""}))

    def test_other_scripts_refuse(self):
        for script in ("papers/ablation.sh", "engine/sddmm.sh", "papers/tiles.sh"):
            self.assertIn("no option --nonesuch", self.run_script(script, "--nonesuch", code=2))
        for script in ("papers/ablation.sh", "engine/sddmm.sh", "papers/tiles.sh"):
            self.assertIn("--iterations needs a value",
                          self.run_script(script, "--iterations", code=2, env=self.env))
            self.assertIn("no program", self.run_script(
                script, "--iterations", "1", code=2, env=dict(self.env, SPMM_BUILD_DIR="none")))

    def test_wrong_variants_are_left_out(self):
        titles = "matrix nnz N order variant median_ms ratio difference error passed"
        rows = (("a", "all", "1.0000", "0.00e+00", "1.00e-04", "yes"),
                ("a", "no balancing", "2.0000", "0.00e+00", "1.00e-04", "yes"),
                ("a", "no prefetch", "9.0000", "inf", "inf", "no"),
                ("b", "all", "-", "inf", "inf", "no"),
                ("b", "no balancing", "-", "inf", "1.00e-04", "no"))
        self.failing_program("build/bench/bench_ablation", titles,
                             [(name, "9", "32", "none", variant, "1.0", *rest)
                              for name, variant, *rest in rows])
        self.path("INDEX.tsv", "name\trows\tcols\tnnz\na\t1\t1\t80000\n")
        self.path("a.mtx.gz", "")
        out = self.path("out.tsv")
        self.run_script(
    "papers/ablation.sh",
    "--names",
    "^a$",
    out,
    code=1,
    env={
        "SPMM_MATRIX_DIR": self.folder.name,
        "SPMM_BUILD_DIR": self.path("build"),
         "SPMM_STANDIN_DIR": self.folder.name})
        said = pathlib.Path(out).read_text(encoding="utf-8")
        self.assertEqual(said.split(rows[-1][-1] + "\n")[-1].splitlines(), [
            '# summary variant="all" N=32 matrices=1 geomean=1.0000 worst=1.00',
            '# summary variant="no balancing" N=32 matrices=1 geomean=2.0000 worst=2.00',
            "# failed: 3 rows, left out of the summary"])

    def test_wrong_products_are_left_out(self):
        titles = ("matrix rows cols nnz K type kernel V ms cusparse_ms ratio ratio_to_32f error "
                  "passed")
        rows = (("a", "4.0000", "2.0000", "1.00e-07", "yes"),
                ("b", "1.0000", "-", "1.00e-07", "yes"), ("c", "9.0000", "9.0000", "inf", "no"),
                ("d", "-", "-", "1.00e-07", "yes"), ("e", "9.0000", "9.0000", "nan", "no"))
        self.failing_program("build/bench/bench_sddmm", titles,
                             [(name, "8", "8", "9", "64", "32f", "csr", "1", "1.0", "1.0", *rest)
                              for name, *rest in rows])
        out = self.path("out.tsv")
        self.run_script("engine/sddmm.sh", "--names", "vector=1$", out, code=1,
                        env={"SPMM_MATRIX_DIR": "", "SPMM_STANDIN_DIR": "",
                             "SPMM_BUILD_DIR": self.path("build")})
        said = pathlib.Path(out).read_text(encoding="utf-8")
        self.assertIn("# summary type=32f K=64 of 2 all: geomean=2.000 least=1.000 to_32f=2.000 "
                      "error=1.0e-07\n", said)
        self.assertIn("# failed: 2 rows, left out of the summary\n", said)


class Standins(Scripts):
    def test_usage(self):
        self.run_script("engine/standins.sh", code=2)

    def test_small_ones(self):
        """One of each kind of generator that is quick, with the bytes that tables were made of."""
        env = {"JOBS": "2"}
        sums = (ROOT / "bench/standins/checksums.md5").read_text(encoding="utf-8")
        names = ("syn-conf5_4-8x8", "syn-dc2", "syn-pdb1HYS", "syn-rma10")
        self.run_script("engine/standins.sh", self.path("out"), *names, env=env)
        for name in names:
            made = pathlib.Path(self.path("out"), name + ".csr").read_bytes()
            self.assertIn(f"{hashlib.md5(made).hexdigest()}  {name}.csr\n", sums)

    def test_files_are_kept(self):
        env = {"JOBS": "2"}
        out = self.path("out")
        printed = self.run_script("engine/standins.sh", out, "syn-dnn-95", "syn-dnn-98", env=env)
        self.assertIn("847088 bytes", printed)  # as SYNTH.tsv has it
        self.assertIn("343772 bytes", printed)
        made = os.stat(os.path.join(out, "syn-dnn-95.csr"))
        os.remove(os.path.join(out, "syn-dnn-98.csr"))
        self.run_script("engine/standins.sh", out, "syn-dnn-95", "syn-dnn-98", env=env)
        self.assertEqual(os.stat(os.path.join(out, "syn-dnn-95.csr")).st_mtime_ns,
                         made.st_mtime_ns)
        self.assertEqual(sorted(os.listdir(out)),
                         ["gen_standins", "syn-dnn-95.csr", "syn-dnn-98.csr"])
        self.assertIn("syn-nonesuch",
                      self.run_script("engine/standins.sh", out, "syn-nonesuch", code=1, env=env))
        self.assertEqual(len(os.listdir(out)), 3)


class Scaling(Scripts):
    TITLES = (
    "set matrix ranks columns type compute partition variant engine halo_engine transport "
    "schedule rows nnz halo_rows halo_rows_max total_ms loop_ms pack_ms exchange_ms local_ms "
    "halo_ms overlap to_allgather to_needed to_in_place max_error passed").split()

    def rows(self, *rows):
        """A table; each row gives set, matrix, ranks, variant, total_ms, to_needed and passed."""
        lines = ["# head", "\t".join(self.TITLES)]
        for group, matrix, ranks, variant, total, ratio, passed in rows:
            values = {
    "set": group,
    "matrix": matrix,
    "ranks": ranks,
    "variant": variant,
    "total_ms": total,
    "columns": 128,
    "type": "32f",
    "compute": "32f",
    "rows": 10,
    "nnz": 30,
    "to_allgather": 2 * ratio,
    "to_needed": ratio,
    "to_in_place": ratio,
    "max_error": 1e-7,
     "passed": passed}
            lines.append("\t".join(str(values.get(title, "-")) for title in self.TITLES))
        return self.path("dist.tsv", "\n".join(lines) + "\n")

    def test_efficiency_and_summary(self):
        table = self.rows(("strong", "a", 1, "allgather", 4.0, 1, "yes"),
                          ("strong", "a", 1, "auto", 3.0, 1, "yes"),
                          ("strong", "a", 4, "needed", 0.5, 1, "yes"),
                          ("strong", "a", 4, "auto", 1.25, 1.5, "yes"),
                          ("strong", "a", 4, "schedule=merged", 1.0, 1.6, "yes"),
                          ("weak:s", "s1", 1, "auto", 3.0, 1, "yes"),
                          ("weak:s", "s4", 4, "auto", 4.0, 2.5, "yes"))
        out, figure = self.path("out.tsv"), self.path("out.svg")
        said = self.run_script("dist/scaling.py", "--figure", figure, out, table)
        lines = pathlib.Path(out).read_text(encoding="utf-8").splitlines()
        titles = lines[0].split("\t")
        rows = [dict(zip(titles, line.split("\t"))) for line in lines[1:] if line[0] != "#"]
        found = {(row["matrix"], row["ranks"]): row for row in rows}
        self.assertEqual(found["a", "4"]["efficiency"], "0.75")  # the best plan, never a baseline
        self.assertEqual(found["a", "4"]["variant"], "schedule=merged")
        self.assertEqual(found["s4", "4"]["efficiency"], "0.75")
        self.assertIn("to_needed: geomean=2.000 min=1.600 (a)", said)
        xml.dom.minidom.parse(figure)

    def test_wrong_results_do_not_count(self):
        table = self.rows(("strong", "a", 1, "auto", 3.0, 1, "yes"),
                          ("strong", "a", 4, "auto", 0.1, 9, "no"))
        said = self.run_script("dist/scaling.py", self.path("out.tsv"), table, code=1)
        self.assertIn("a on 4 ranks, auto: error", said)


if __name__ == "__main__":
    unittest.main()
