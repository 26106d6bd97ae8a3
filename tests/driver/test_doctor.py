# SPDX-License-Identifier: Apache-2.0
"""--doctor: what it finds here."""
import json
import os
import tempfile
import unittest

import harness

STATES = ("good", "missing", "problem")


def doctor(*args, ranks):
    """The result of the run, and its checks as {topic: [check, ...]}."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        result = harness.run("--doctor", "--json", path, *args, ranks=ranks)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    topics = {}
    for check in report["checks"]:
        topics.setdefault(check["topic"], []).append(check)
    return result, report, topics


@unittest.skipUnless(harness.has_json(), "built without cJSON")
class Doctor(unittest.TestCase):
    def test_works(self):
        for ranks in (1, 2, 4):
            result, report, topics = doctor(ranks=ranks)
            self.assertEqual(result.code, 0, result)
            self.assertEqual(result.errors, [], result)
            self.assertEqual(report["ranks"], ranks)
            self.assertIn(report["version"], topics["library"][0]["text"])
            for topic in ("library", "METIS", "PT-Scotch", "MPI", "CUDA", "NCCL", "device",
                          "transport"):
                self.assertIn(topic, topics, result)
            self.assertIn("mpi-host: a product over it is right",
                          [c["text"] for c in topics["transport"]])
            self.assertTrue(all(c["state"] in STATES for c in report["checks"]))
            # The table says the same, line by line, and ends with the verdict.
            lines = [line for line in result.out.splitlines() if line.startswith(STATES)]
            self.assertEqual([line.split()[0] for line in lines],
                             [c["state"] for c in report["checks"]])
            self.assertTrue(result.out.splitlines()[-1].startswith("works: "), result)

    def test_missing_has_advice(self):
        _, report, _ = doctor(ranks=1)
        for check in report["checks"]:
            if check["state"] == "missing":
                self.assertTrue(check["advice"], check)

    def test_problem(self):
        _, _, topics = doctor(ranks=1)
        if "not in this build" not in topics["CUDA"][0]["text"]:
            self.skipTest("a build with CUDA")
        result, _, topics = doctor("--device", "cuda", ranks=2)
        self.assertEqual(result.code, 4, result)
        self.assertEqual(topics["device"][0]["state"], "problem")
        self.assertEqual(len(result.errors), 1, result)
        self.assertTrue(result.out.splitlines()[-1].startswith("does not work: "), result)

    def test_cannot_write(self):
        result = harness.run("--doctor", "--json", "/no/such/folder/a.json", ranks=2)
        self.assertEqual(result.code, 4, result)
        self.assertIn("/no/such/folder/a.json", result.errors[0])


if __name__ == "__main__":
    unittest.main(verbosity=1)
