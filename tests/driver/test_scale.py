# SPDX-License-Identifier: Apache-2.0
"""--scale: counts for ranks that are not there, times by the rates of a machine, files."""
import os
import tempfile
import unittest

import harness

RMAT = ("--generate", "rmat:scale=9,degree=6", "--columns", "24", "--type", "32f")
RATES = {"gather": 3e9, "within": 2e9, "between": 1e9, "latency": 5e-5, "message": 2e-5}


def run(*args, machine=None, **kw):
    """Result and report; @p machine: text of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "machine")
        if machine is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(machine)
            args += ("--machine", path)
        return harness.run_json(*args, **kw)


@unittest.skipUnless(harness.has_json(), "built without cJSON")
class Scale(unittest.TestCase):
    def test_as_a_run(self):
        """What is predicted for four ranks is what four count, by each way and by auto's covers."""
        names = {("rows", "flat"): "flat", ("rows", "node"): "node", ("both", "flat"): "cover",
                 ("both", "node"): "cover-node"}
        for per_node, ways in ((1, (("rows", "flat"), ("both", "flat"))), (2, tuple(names))):
            nodes = ("--ranks-per-node", str(per_node), "--partition", "metis")
            result, predicted = run("--scale", "4", *RMAT, *nodes)
            self.assertEqual(result.code, 0, result)
            # A node of one rank is no reason to part nodes first.
            rows = {r["exchange"]: r["between_nodes"] for r in predicted["cases"][0]["rows"]
                    if r["column_groups"] == 1 and r["nodes_first"]}
            for cover, levels in ("auto", "auto"), *ways:
                _, counted = run(*RMAT, *nodes, "--cover", cover, "--levels", levels, ranks=4)
                took = counted["cover"], counted["levels"]
                # Where auto declines a cover, plain rows are of the parts made for one.
                if cover != "auto" or took[0] == "both" or per_node == 1:
                    self.assertEqual(rows[names[took]], counted["between_nodes"], took)
                self.assertIn(cover, ("auto", took[0]))
                self.assertIn(levels, ("auto", took[1]))

    def test_table(self):
        result, report = run("--scale", "8,64", *RMAT, "--partition", "block")
        self.assertEqual(result.code, 0, result)
        self.assertEqual([(c["ranks"], c["nodes"]) for c in report["cases"]], [(8, 1), (64, 8)])
        rows = report["cases"][1]["rows"]
        by = {(r["nodes_first"], r["column_groups"], r["exchange"]): r["between_nodes"]
              for r in rows}
        for first in False, True:
            flat, node, cover, both = (by[first, 1, e]["rows_total"] for e in
                                       ("flat", "node", "cover", "cover-node"))
            self.assertLess(both, node)
            self.assertLess(node, flat)
            self.assertLess(cover, flat)
            self.assertLessEqual(by[first, 1, "node"]["messages_max"], 7)
        self.assertEqual(by[True, 8, "flat"]["rows_total"], 0)  # a group is a node
        self.assertEqual(sum(line.startswith("  block") for line in result.out.splitlines()),
                         sum(len(c["rows"]) for c in report["cases"]))

    def test_machine(self):
        text = "# ours\n" + "".join(f"{k} {v}\n" for k, v in RATES.items()) + "\n"
        _, report = run("--scale", "16", *RMAT, machine=text)
        for row in report["cases"][0]["rows"]:
            flow = row["between_nodes"]
            messages = flow["messages_max"]
            self.assertAlmostEqual(row["adapter_s"], flow["bytes_max"] / 1e9, 12)
            self.assertAlmostEqual(row["messages_s"], 0 if messages == 0 else
                                   5e-5 + (messages - 1) * 2e-5, 12)
            self.assertEqual(row["predicted_s"], max(row[k] for k in (
                "work_s", "adapter_s", "within_s", "messages_s")))
            self.assertEqual(row["predicted_s"], row[row["limit"] + "_s"])

    def test_bad_machines(self):
        for text in "between\n", "between x\n", "between -1\n", "speed 1\n", "between 1 2\n":
            result, _ = run("--scale", "16", *RMAT, machine="# first\n" + text)
            self.assertEqual(result.code, 3, result)
            self.assertRegex(result.err, r":2: a line of a machine is gather, within, between")
        for text, words in (("", " has no rate: "), ("# gather 1\n\n", " has no rate: "),
                            ("within 1\nlatency 1\nwithin 2\n", ":3: within has come already"),
                            ("gather 1\n# " + 300 * "x" + "\n", ":2: a line of a machine is text"),
                            ("gather 1\n\0within 2\nlatency 1\n", ":2: a line of a machine")):
            result, _ = run("--scale", "16", *RMAT, machine=text)
            self.assertEqual(result.code, 3, result)
            self.assertIn(words, result.err)
        for path, words in (("/dev/null", "/dev/null has no rate"), ("/", "Is a directory"),
                            ("/dev/zero", "/dev/zero:1: a line of a machine is text")):
            result = harness.run("--scale", "16", *RMAT, "--machine", path, timeout=30)
            self.assertEqual(result.code, 3, result)
            self.assertIn(words, result.err)
        result = harness.run("--scale", "16", *RMAT, "--machine", "/no/such")
        self.assertEqual(result.code, 3, result)
        self.assertIn("cannot read /no/such", result.err)

    def test_refused(self):
        for args, code, words in (
                (("--scale", "x"), 2, "--scale takes a whole number from 2 to 16384, not 'x'"),
                (("--scale", ""), 2, "--scale takes numbers of ranks"),
                (("--scale", ",".join(["2"] * 17)), 2, "--scale takes at most 16 numbers"),
                (("--machine", "a"), 2, "--machine FILE belongs to --scale"),
                (("--scale", "8", "--partition", "keep"), 4, "partition 'keep' cannot be made")):
            result = harness.run(*args, *RMAT)
            self.assertEqual(result.code, code, result)
            self.assertIn(words, result.err)
        result = harness.run("--scale", "8", *RMAT, ranks=2)
        self.assertEqual(result.code, 2, result)
        self.assertIn("--scale counts on one rank, and this job has 2", result.err)


if __name__ == "__main__":
    unittest.main(verbosity=1)
