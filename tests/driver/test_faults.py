# SPDX-License-Identifier: Apache-2.0
"""One rank is stopped or killed while all multiply: every other one returns an error, and a
sentence, within the timeout and ten seconds more.

SPMM_FAULT_WORKER names the program, SPMM_FAULT_DEVICE cpu (default) or cuda, SPMM_FAULT_TRANSPORTS
those to try (mpi-host), SPMM_FAULT_RANKS their ranks (3)."""
import os
import re
import signal
import subprocess
import threading
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


def is_open_mpi_4():
    out = subprocess.run([harness.MPIEXEC, "--version"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=False).stdout.decode()
    return re.search(r"\((Open MPI|OpenRTE)\) 4\.", out) is not None


class Job:
    """The ranks of one run, and what each has printed."""

    def __init__(self, command, *options):
        self.lines, self.changed = [], threading.Condition()
        self.process = subprocess.Popen(
            [harness.MPIEXEC, *options, harness.NUMPROC_FLAG, str(RANKS), *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True, env={**os.environ, **PATIENT})
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def add(self, lines):
        with self.changed:
            self.lines += [(time.monotonic(), line.strip()) for line in lines if line.strip()]
            self.changed.notify_all()

    def listen(self):
        """Lines end with a newline or, those of the progress, with a carriage return."""
        text = ""
        while True:
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                break
            *lines, text = re.split(r"[\r\n]", text + piece.decode("utf-8", "replace"))
            self.add(lines)
        self.add([text, "end"])

    def wait(self, pattern, count, seconds):
        """The first `count` lines that match, as (time, match), of at most `seconds`."""
        until = time.monotonic() + seconds
        with self.changed:
            while True:
                found = [(at, match) for at, line in self.lines
                         for match in [re.fullmatch(pattern, line)] if match]
                left = until - time.monotonic()
                if len(found) >= count or left <= 0:
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
        self.listener.join(SLACK)
        self.process.stdout.close()


class Faults(unittest.TestCase):
    def lose_rank(self, transport, sign, *options):
        job, pids, victim = Job([WORKER, DEVICE, transport, str(TIMEOUT)], *options), {}, RANKS // 2
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

    @unittest.skipUnless(is_open_mpi_4(), "knows how to keep the job of Open MPI 4 alive only")
    def test_one_rank_is_killed(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                self.lose_rank(transport, signal.SIGKILL, "--enable-recovery")


class Driver(unittest.TestCase):
    def test_driver_ends_when_a_rank_is_stopped(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                self.stop_rank(transport)

    def stop_rank(self, transport):
        job = Job([harness.DRIVER, "--device", DEVICE, "--transport", transport, "--generate",
                   "rmat:scale=10,degree=8", "--iterations", "1000000", "--timeout",
                   str(TIMEOUT), "--progress"])
        pids = []
        try:
            self.assertTrue(job.wait(r".*multiplying.*", 1, START), job.text())
            time.sleep(1)
            children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(job.process.pid)],
                                      stdout=subprocess.PIPE, check=True).stdout.split()
            pids = [int(pid) for pid in children]
            self.assertEqual(len(pids), RANKS, job.text())
            os.kill(pids[RANKS // 2], signal.SIGSTOP)
            job.wait("end", 1, TIMEOUT + SLACK)
            self.assertEqual(job.process.wait(SLACK), 4, job.text())
            self.assertRegex(job.text(), r"spmm_dist: rank \d+: .*within the timeout")
        finally:
            job.end(pids)


if __name__ == "__main__":
    unittest.main()
