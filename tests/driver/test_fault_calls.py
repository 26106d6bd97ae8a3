# SPDX-License-Identifier: Apache-2.0
"""A call of MPI, CUDA or NCCL fails on one rank alone, a disk is full, a rank never comes: the
driver ends in time, with a documented exit code and a sentence.

SPMM_FAULTS names libspmm_faults.so, SPMM_FAULT_DEVICE cpu (default) or cuda, SPMM_FAULT_RANKS their
ranks (3).  SPMM_FAULT_ALL=1 takes many calls of MPI instead of a few, SPMM_FAULT_LIST=1 prints what
each led to.  SPMM_FAULT_JOBS runs go at a time (1)."""
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import harness

FAULTS = os.environ.get("SPMM_FAULTS", str(
    harness.ROOT / "build" / "cpu" / "tests" / "libspmm_faults.so"))
DEVICE = os.environ.get("SPMM_FAULT_DEVICE", "cpu")
RANKS = int(os.environ.get("SPMM_FAULT_RANKS", "3"))
LIST = os.environ.get("SPMM_FAULT_LIST") == "1"
JOBS = int(os.environ.get("SPMM_FAULT_JOBS", "1"))
LIMIT = 40 if DEVICE == "cpu" else 60
SLACK = 10  # seconds that an end may take
TIMEOUT = 2 if DEVICE == "cpu" else 10
PRODUCT = (
    "--device",
    DEVICE,
    "--generate",
    "rmat:scale=8,degree=8",
    "--iterations",
    "2",
    "--verify",
    "--timeout",
    str(TIMEOUT))

# Calls on one rank alone; where there is no such call nothing fails.
MPI = [("MPI_Iallreduce", 5), ("MPI_Ialltoall", 0), ("MPI_Isend", 0)]
if os.environ.get("SPMM_FAULT_ALL") == "1":
    MPI += [("MPI_Iallreduce", k) for k in (0, 1, 11, 20, 30)] + [
        ("MPI_Bcast", 0), ("MPI_Test", 0), ("MPI_Test", 40), ("MPI_Allreduce", 0),
        ("MPI_Comm_dup", 0), ("MPI_Comm_idup", 0), ("MPI_Ibarrier", 3),
        ("MPI_Test of a barrier", 3), ("MPI_Irecv", 0), ("MPI_Irecv", 4), ("MPI_Bcast", 100000)]
CUDA = [(f"cuda{name}", k) for name, k in
        [("GetDeviceCount", 0), ("SetDevice", 0), ("Malloc", 0), ("Malloc", 2), ("MemcpyAsync", 0),
         ("MemcpyAsync", 5), ("StreamCreateWithFlags", 0), ("StreamCreateWithPriority", 0),
         ("EventCreateWithFlags", 0), ("EventRecord", 3), ("StreamWaitEvent", 0),
         ("StreamSynchronize", 1), ("GetLastError", 0), ("GetLastError", 4), ("HostAlloc", 0),
         ("MemsetAsync", 0), ("MallocFromPoolAsync", 0), ("EventElapsedTime", 0)]]
NCCL = [(f"nccl{name}", k) for name, k in
        [("CommInitRankConfig", 0), ("GroupStart", 0), ("GroupEnd", 0), ("Send", 0), ("Recv", 0),
         ("CommGetAsyncError", 0), ("CommGetAsyncError", 9), ("CommFinalize", 0)]]


def command_of(ranks, *args):
    """The driver with the library of faults."""
    # Not the launcher itself: it is no program of MPI.
    preload = f"LD_PRELOAD={FAULTS}:{os.environ.get('LD_PRELOAD', '')}"
    return [harness.MPIEXEC, harness.NUMPROC_FLAG, str(ranks), "env", preload, harness.DRIVER,
            *args]


def launch(ranks, fault, *args):
    """Exit code and error stream of the driver under a fault, CALL:K[:RANK]."""
    process = subprocess.Popen(command_of(ranks, *args), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               start_new_session=True,
                               env={**os.environ, **harness.QUICK_END, "SPMM_FAULT": fault})
    try:
        errors = process.communicate(timeout=LIMIT)[1].decode("utf-8", "replace")
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)  # nothing is left running after a hang
        except ProcessLookupError:
            pass
    return process.returncode, errors


class Calls(unittest.TestCase):
    def run_with(self, call, k, rank, ranks, *args):
        start = time.monotonic()
        code, errors = launch(ranks, f"{call}:{k}:{rank}", *PRODUCT, *args)
        said = [line for line in errors.splitlines() if line.startswith("spmm_dist: ")]
        if LIST:
            print(f"{call}:{k} rank {rank} of {ranks}: code {code} in "
                  f"{time.monotonic() - start:.1f} s: {said[0] if said else ''}", flush=True)
        # 0: the call was never reached, or what failed was only wanted, not needed.
        self.assertIn(code, (0, 4), errors)
        self.assertEqual(bool(said), code == 4, errors)
        self.assertLessEqual(len(said), ranks, errors)
        return code

    def each(self, faults, *args):
        failed = 0
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            runs = [(f"{call}:{k}", pool.submit(self.run_with, call, k, RANKS - 1, RANKS, *args))
                    for call, k in faults]
            for name, run in runs:
                with self.subTest(name):
                    failed += run.result() == 4
        self.assertGreaterEqual(failed, 0.6 * len(faults), "most faults are met")

    def test_mpi(self):
        self.each(MPI)

    @unittest.skipUnless(DEVICE == "cuda", "no GPU is asked for")
    def test_cuda(self):
        self.each(CUDA)

    @unittest.skipUnless(DEVICE == "cuda" and RANKS > 1, "no GPUs are asked for")
    def test_nccl(self):
        self.each(NCCL, "--transport", "nccl")


@unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
class FullDisk(unittest.TestCase):
    def refused(self, *args, says="No space left"):
        result = harness.run(*PRODUCT, *args, ranks=2)
        self.assertEqual(result.code, 4, result)
        self.assertEqual(len(result.errors), 1, result)
        self.assertIn(says, result.errors[0])

    def test_json(self):
        if harness.has_json():
            self.refused("--json", "/dev/full")

    def test_partition(self):
        self.refused("--write-partition", "/dev/full")

    def test_disk_that_is_full_at_the_end(self):
        """What does not fit leaves the old file, and nothing beside it."""
        for option in ("--json", "--write-partition")[not harness.has_json():]:
            with self.subTest(option), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, "old")
                path.write_text("kept", encoding="ascii")
                code, errors = launch(2, "fsync:0", *PRODUCT, option, str(path))
                self.assertEqual(code, 4, errors)
                self.assertRegex(errors, "cannot write .*old.*: No space left")
                self.assertEqual(path.read_text(encoding="ascii"), "kept")
                self.assertEqual(os.listdir(folder), ["old"])


@unittest.skipUnless(DEVICE == "cpu", "changes messages of MPI")
class Lies(unittest.TestCase):
    """One rank sends other rows of B than its own, by a bit of each message: what is said to be
    right was looked at."""

    def test_verify(self):
        code, errors = launch(2, "other rows:0:1", *PRODUCT)
        self.assertEqual(code, 5, errors)
        self.assertIn("verification failed: C(", errors)

    def test_doctor(self):
        code, errors = launch(2, "other rows:0:1", "--doctor", "--device", "cpu")
        self.assertEqual(code, 4, errors)
        self.assertIn("the doctor found a problem", errors)


class Late(unittest.TestCase):
    def test_a_rank_that_never_comes_to_the_product(self):
        """One rank stops on its way to the others: they wait for it no longer than told, however
        long they took to start."""
        job = harness.Job(command_of(2, *PRODUCT),
                          {**harness.QUICK_END, "SPMM_FAULT": "stop at MPI_Isend:0:1"})
        try:
            stops = job.wait(r"faults: stops at MPI_Isend", 1, LIMIT)
            self.assertEqual(len(stops), 1, job.text())
            ends = job.wait("end", 1, TIMEOUT + SLACK)
            self.assertEqual(len(ends), 1, job.text())
            self.assertEqual(job.process.wait(SLACK), 4, job.text())
            self.assertRegex(job.text(), r"spmm_dist: .*within the timeout")
        finally:
            job.end()


if __name__ == "__main__":
    unittest.main(verbosity=2)
