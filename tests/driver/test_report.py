# SPDX-License-Identifier: Apache-2.0
"""The JSON report, and what the partitioners reach on a shuffled grid."""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import harness

TABLE = pathlib.Path(__file__).resolve().parents[2] / "jobs" / "table.py"
MEMBERS = {name: kind for kind, names in (
    (str, "version matrix.source type compute layout op device partition.method engine "
     "reordering schedule transport"),
    (int, "matrix.rows matrix.cols matrix.nnz ranks columns chunks seed halo.rows_total "
     "halo.rows_max halo.block_rows_total halo.allgather_rows_total"),
    ((int, float), "partition.imbalance time.total_ms time.local_ms time.reorder_s gflops "
     "verify.max_error"),
    (bool, "verify.passed"),
) for name in names.split()}


def member(report, dotted):
    for key in dotted.split("."):
        report = report[key]
    return report


@unittest.skipUnless(harness.has_json(), "built without cJSON")
class Table(unittest.TestCase):
    """jobs/table.py on reports of products that were not verified, and without entries."""

    def test_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            empty = pathlib.Path(folder, "none.mtx")
            empty.write_text("%%MatrixMarket matrix coordinate real general\n5 5 0\n")
            names = []
            for name, args in (("grid.p1", ("--generate", "stencil9:nx=30,ny=20")),
                               ("none.p1", ("--matrix", str(empty), "--verify"))):
                names.append(os.path.join(folder, name))
                result = harness.run(*args, "--columns", "4", "--json", names[-1] + ".json")
                self.assertEqual(result.code, 0, result)
            done = subprocess.run([sys.executable, str(TABLE), *names], capture_output=True,
                                  text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        self.assertEqual([(r[0], r[5], r[8]) for r in rows[1:]],
                         [("grid", "1.000", "-"), ("none", "-", "yes")])


@unittest.skipUnless(harness.has_json(), "built without cJSON")
class Json(unittest.TestCase):
    def test_members(self):
        result, report = harness.run_json("--generate", "stencil9:nx=30,ny=20", "--columns", "7",
                                          "--verify", "--seed", "18446744073709551615", ranks=3)
        self.assertEqual(result.code, 0, result)
        for dotted, kind in MEMBERS.items():
            self.assertIsInstance(member(report, dotted), kind, dotted)
        self.assertEqual(report["matrix"]["rows"], 600)
        self.assertEqual(report["matrix"]["nnz"], (3 * 30 - 2) * (3 * 20 - 2))
        self.assertEqual((report["ranks"], report["columns"]), (3, 7))
        self.assertEqual(report["seed"], 18446744073709551615)
        self.assertIs(report["verify"]["passed"], True)
        self.assertLessEqual(report["verify"]["max_error"], 1e-12)
        self.assertGreater(report["verify"]["max_error"], 0)
        self.assertGreater(report["time"]["total_ms"], 0)

    def test_any_file_name_is_escaped(self):
        name = b'a "\\\n\x01\xc3\xa4\xff\xed\xa0\x80'
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(os.fsencode(folder), name)
            with open(path, "wb") as file:
                file.write(b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n")
            result, report = harness.run_json("--matrix", os.fsdecode(path), "--iterations", "1")
        self.assertEqual(result.code, 0, result)
        self.assertTrue(report["matrix"]["source"].endswith('/a "\\\n\x01\u00e4????'), report)

    def test_digest_names_the_file(self):
        text = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 2\n2 2 3\n"
        files = {"a.mtx": text, "same.mtx": text, "other.mtx": text.replace(b"3", b"4"),
                 "a.mtx.gz": gzip.compress(text)}
        digests = {}
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                path = pathlib.Path(folder, name)
                path.write_bytes(content)
                for ranks in (1, 3):
                    result, report = harness.run_json("--matrix", str(path), "--iterations", "1",
                                                      ranks=ranks)
                    self.assertEqual(result.code, 0, result)
                    digests[name, ranks] = report["matrix"]["digest"]
                    self.assertIn(f" digest {digests[name, ranks]}\n", result.out)
        for name in files:
            self.assertRegex(digests[name, 1], "^[0-9a-f]{16}$")
            self.assertEqual(digests[name, 1], digests[name, 3])
        self.assertEqual(digests["a.mtx", 1], digests["same.mtx", 1])
        self.assertEqual(len(set(digests.values())), 3)

    def test_without_verification(self):
        result, report = harness.run_json("--generate", "stencil5:nx=5,ny=5")
        self.assertEqual(result.code, 0, result)
        self.assertIsNone(report["verify"])
        self.assertIsNone(report["matrix"]["digest"])

    def test_all_out_of_range_is_an_input_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "big.mtx")
            with open(path, "w", encoding="ascii") as file:
                file.write("%%MatrixMarket matrix array real general\n1 3000\n" + "60000\n" * 3000)
            result = harness.run("--matrix", path, "--type", "16f", "--alpha", "500", "--verify",
                                 ranks=2)
        self.assertEqual(result.code, 3, result)
        self.assertIn("range of 16f", result.errors[0])


@unittest.skipUnless(harness.has_json(), "built without cJSON")
class Ways(unittest.TestCase):
    """Ways of rows between nodes, verified, and what the report says of them."""

    def check(self, *args):
        result, report = harness.run_json(
            "--generate", "rmat:scale=9,degree=8", "--columns", "33", "--ranks-per-node", "2",
            "--partition", "block", "--verify", *args, ranks=4)
        self.assertIn(": passed", result.out)
        return result.out, report

    def test_exchanges(self):
        flat = self.check("--tuning", "exchange=flat")[1]
        out, node = self.check("--tuning", "exchange=node")
        self.assertIn(", exchange node\n", out)
        self.assertEqual((flat["exchange"], node["exchange"]), ("flat", "node"))
        self.assertLess(node["between_nodes"]["rows_total"], flat["between_nodes"]["rows_total"])

    def test_halo_type(self):
        flat = ("--type", "32f", "--tuning", "exchange=flat")
        exact, half = (self.check(*flat, *more)[1] for more in ((), ("--halo-type", "16bf")))
        self.assertEqual(2 * half["between_nodes"]["bytes_total"],
                         exact["between_nodes"]["bytes_total"])
        self.assertGreater(half["verify"]["max_error"], exact["verify"]["bound"])


@unittest.skipUnless(harness.has_json(), "built without cJSON")
class ShuffledGrid(unittest.TestCase):
    """9-point grid of 400 x 400 in random order on 4 ranks: the numbers of issue 2, item 3."""

    def test_metis(self):
        result, report = harness.run_json(
            "--generate", "stencil9:nx=400,ny=400,shuffle=1", "--partition", "metis", "--columns",
            "1", "--iterations", "1", "--warmup", "0", ranks=4)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(report["partition"]["method"], "metis")
        self.assertLessEqual(report["halo"]["rows_total"], 2000)
        self.assertGreater(report["halo"]["block_rows_total"], 400000)

    @unittest.skipUnless(harness.is_built("partitioners", "ptscotch"), "built without PT-Scotch")
    def test_ptscotch(self):
        for matrix, most in (("stencil9:nx=400,ny=400,shuffle=1", 2600),
                             ("uniform:rows=500,cols=300,degree=4", 600)):
            result, report = harness.run_json(
                "--generate", matrix, "--partition", "ptscotch", "--verify", "--columns", "3",
                "--iterations", "1", "--warmup", "0", ranks=4)
            self.assertEqual(result.code, 0, result)
            self.assertIn("passed", result.out)
            self.assertEqual(report["partition"]["method"], "ptscotch")
            self.assertLessEqual(report["halo"]["rows_total"], most)
            self.assertLessEqual(report["partition"]["imbalance"], 1.04)
        result = harness.run("--generate", matrix, "--partition", "ptscotch", "--tuning",
                             "objective=vol", ranks=2)
        self.assertEqual(result.code, 2, result)
        self.assertIn("has no objective vol", result.errors[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
