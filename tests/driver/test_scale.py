# SPDX-License-Identifier: Apache-2.0
"""--scale: counts for ranks that are not there, as a table and as JSON."""
import re
import unittest

import harness

RMAT = ("--generate", "rmat:scale=9,degree=6", "--columns", "24", "--type", "32f")


@unittest.skipUnless(harness.has_json(), "built without cJSON")
class Scale(unittest.TestCase):
    def test_table(self):
        result, report = harness.run_json("--scale", "8,64", *RMAT, "--partition", "block")
        self.assertEqual(result.code, 0, result)
        self.assertEqual([(c["ranks"], c["nodes"]) for c in report["cases"]], [(8, 1), (64, 8)])
        for case in report["cases"]:
            self.assertEqual([r["exchange"] for r in case["rows"]], ["flat", "node"])
        flows = [r["between_nodes"] for r in report["cases"][1]["rows"]]
        flat, node = (flow["rows_total"] for flow in flows)
        self.assertLess(node, flat)
        self.assertLessEqual(flows[1]["messages_max"], 7)
        printed = re.findall(r"^  (flat|node) +(\d+)", result.out, re.M)
        self.assertEqual(printed[2:], [("flat", str(flat)), ("node", str(node))])

    def test_refused(self):
        for args, code, words in (
                (("--scale", "x"), 2, "--scale takes a whole number from 2 to 16384, not 'x'"),
                (("--scale", ""), 2, "--scale takes numbers of ranks"),
                (("--scale", ",".join(["2"] * 17)), 2, "--scale takes at most 16 numbers"),
                (("--scale", "8", "--partition", "keep"), 4, "partition 'keep' cannot be made")):
            result = harness.run(*args, *RMAT)
            self.assertEqual(result.code, code, result)
            self.assertIn(words, result.err)
        result = harness.run("--scale", "8", *RMAT, ranks=2)
        self.assertEqual(result.code, 2, result)
        self.assertIn("--scale counts on one rank, and this job has 2", result.err)


if __name__ == "__main__":
    unittest.main(verbosity=1)
