# SPDX-License-Identifier: Apache-2.0
"""Ranges of NVTX: what a profiler hears of plans and products."""
import os
import unittest

import harness

LISTENER = os.environ.get("SPMM_NVTX_LISTENER")
SET_UP = ["the partition", "the halo plan", "the set-up of the exchange",
          "the choice of engine and schedule"]


@unittest.skipUnless(LISTENER, "built without NVTX")
class Ranges(unittest.TestCase):
    def listen(self, *args):
        result = harness.run("--generate", "stencil5:nx=20,ny=20", "--device", "cpu",
                             "--iterations", "3", *args, ranks=2,
                             env={"NVTX_INJECTION64_PATH": LISTENER})
        self.assertEqual(result.code, 0, result)
        heard = [line.split(": ", 1) for line in result.errors]
        self.assertEqual(heard.count(["nvtx domain", "spmm_dist"]), 2, result)
        self.assertEqual(heard.count(["nvtx open at the end", "0"]), 2, result)
        return [name for what, name in heard if what == "nvtx range"]

    def test_phases(self):
        for args, phases in (([], {"pack", "diagonal block", "off-diagonal block"}),
                             (["--op", "t"], {"unpack", "diagonal block", "off-diagonal block"})):
            ranges = self.listen("--tuning", "schedule=overlap", *args)
            for stage in SET_UP:
                self.assertEqual(ranges.count(stage), 2, stage)
            for phase in phases | {"begin exchange", "end exchange"}:
                # two ranks, two products to warm up and three that are timed
                self.assertGreaterEqual(ranges.count(phase), 10, (args, phase))


if __name__ == "__main__":
    unittest.main()
