# SPDX-License-Identifier: Apache-2.0
"""One rank is stopped or killed while all multiply: every other one returns an error, and a
sentence, within the timeout and ten seconds more.

SPMM_FAULT_WORKER names the program, SPMM_FAULT_DEVICE cpu (default) or cuda, SPMM_FAULT_TRANSPORTS
those to try (mpi-host), SPMM_FAULT_RANKS their ranks (3)."""
import os
import signal
import subprocess
import time
import unittest

import harness

WORKER = os.environ.get("SPMM_FAULT_WORKER",
                        str(harness.ROOT / "build" / "cpu" / "tests" / "fault_worker"))
DEVICE = os.environ.get("SPMM_FAULT_DEVICE", "cpu")
TRANSPORTS = os.environ.get("SPMM_FAULT_TRANSPORTS", "mpi-host").split()
RANKS = int(os.environ.get("SPMM_FAULT_RANKS", "3"))
TIMEOUT, SLACK, START = 3, 10, 100
# More ranks than cores, and a launcher that has to come to its turn to pass on what they print.
PATIENT = {"OMPI_MCA_mpi_yield_when_idle": "1", "OMP_WAIT_POLICY": "passive",
           "OMP_NUM_THREADS": "1"}


def start(command, *options):
    return harness.Job([harness.MPIEXEC, *options, harness.NUMPROC_FLAG, str(RANKS), *command],
                       PATIENT)


class Jobs(unittest.TestCase):
    """What the tests below rest on."""

    def lines(self, command, pattern):
        job, begun = start(command), time.monotonic()
        try:
            found = [match[1] for _, match in job.wait(pattern, RANKS, START)]
        finally:
            job.end()
        self.assertLess(time.monotonic() - begun, START / 2)
        return found

    def test_ranks_that_say_nothing_are_not_waited_for(self):
        self.assertEqual(self.lines(["false"], r"(ready)"), [])

    def test_jobs_side_by_side_have_all_cores(self):
        cores = self.lines(["grep", "Cpus_allowed:", "/proc/self/status"], r"Cpus_allowed:\s*(\S+)")
        with open("/proc/self/status", encoding="ascii") as status:
            mine = next(line.split()[1] for line in status if line.startswith("Cpus_allowed:"))
        self.assertEqual(cores, RANKS * [mine])


class Faults(unittest.TestCase):
    def lose_rank(self, transport, sign, *options):
        job = start([WORKER, DEVICE, transport, str(TIMEOUT)], *options)
        pids, victim = {}, RANKS // 2
        try:
            ready = job.wait(r"rank (\d+) pid (\d+) ready", RANKS, START)
            pids = {int(match[1]): int(match[2]) for _, match in ready}
            self.assertEqual(len(pids), RANKS, job.text())
            os.kill(pids[victim], sign)
            lost = time.monotonic()
            failed = job.wait(r"rank (\d+) failed after (\S+) s: (.+)", RANKS - 1, TIMEOUT + SLACK)
            ranks = {int(match[1]) for _, match in failed}
            self.assertEqual(ranks, set(pids) - {victim}, job.text())
            for at, match in failed:
                self.assertLessEqual(at - lost, TIMEOUT + SLACK, job.text())
                self.assertIn("destroy the context", match[3])
            released = job.wait(r"rank (\d+) released", RANKS - 1, SLACK)
            self.assertEqual({int(match[1]) for _, match in released}, ranks, job.text())
        finally:
            job.end(pids.values())

    def test_one_rank_is_stopped(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                self.lose_rank(transport, signal.SIGSTOP)

    @unittest.skipUnless(harness.is_open_mpi_4(), "keeps the job of Open MPI 4 alive only")
    def test_one_rank_is_killed(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                self.lose_rank(transport, signal.SIGKILL, "--enable-recovery")


def children(pid):
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], stdout=subprocess.PIPE,
                         check=True).stdout
    return [int(child) for child in out.split()]


class Driver(unittest.TestCase):
    def test_driver_ends_when_a_rank_is_stopped(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                self.stop_rank(transport)

    def stop_rank(self, transport):
        job = start([harness.DRIVER, "--device", DEVICE, "--transport", transport, "--generate",
                     "rmat:scale=10,degree=8", "--iterations", "1000000", "--timeout",
                     str(TIMEOUT), "--progress"])
        pids = []
        try:
            self.assertTrue(job.wait(r".*multiplying.*", 1, START), job.text())
            time.sleep(1)
            pids = children(job.process.pid)
            if len(pids) == 1:  # MPICH's launcher has one child, whose children the ranks are
                pids = children(pids[0])
            self.assertEqual(len(pids), RANKS, job.text())
            os.kill(pids[RANKS // 2], signal.SIGSTOP)
            job.wait("end", 1, TIMEOUT + SLACK)
            self.assertEqual(job.process.wait(SLACK), 4, job.text())
            self.assertRegex(job.text(), r"spmm_dist: rank \d+: .*within the timeout")
        finally:
            job.end(pids)


if __name__ == "__main__":
    unittest.main()
