# SPDX-License-Identifier: Apache-2.0
"""The driver on four nodes of two ranks: what it computes there, and how it ends where ranks,
nodes, links or files fail.  Exit code 77 where there can be no such nodes."""
import itertools
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "driver"))

import harness  # noqa: E402
import nodes  # noqa: E402

BIPS = "tests/data/bips98_606.mtx.gz"
RANKS = nodes.RANKS * len(nodes.NAMES)
TIMEOUT, SETUP, SLACK = 3, 5, 20  # of the driver; what set-up has beyond it; a machine with a load
# Makes mpirun find a daemon out of reach, docs/how-to/cluster.md.
KEEPALIVE = {"OMPI_MCA_oob_tcp_keepalive_time": "1", "OMPI_MCA_oob_tcp_keepalive_intvl": "1",
             "OMPI_MCA_oob_tcp_keepalive_probes": "2"}
PROGRAMS = (("test_new_values", "test_later_values_win"), ("test_sddmm", "test_special"))
MORE_PROGRAMS = (*PROGRAMS, ("test_sddmm", "test_shapes"))
LONG = ["--generate", "rmat:scale=10,degree=8", "--iterations", "1000000", "--progress",
        "--timeout", str(TIMEOUT)]


def rank_of(pid):
    with open(f"/proc/{pid}/environ", encoding="utf-8") as file:
        return int(re.search(r"\0OMPI_COMM_WORLD_RANK=(\d+)\0", file.read())[1])


class Case(unittest.TestCase):
    """Each on nodes of its own: many leave them broken."""

    def setUp(self):
        bed = nodes.Nodes()
        self.addCleanup(bed.end)
        self.nodes = bed.nodes

    def start(self, *args, env=None, **shape):
        job = harness.Job(nodes.command(self.nodes[0], *args, **shape),
                          {**nodes.MPI, **harness.QUICK_END, **(env or {})})
        self.addCleanup(job.end)
        return job

    def finish(self, job, seconds):
        code = job.process.wait(seconds)
        job.wait("end", 1, SLACK)
        return code, job.text()

    def run_driver(self, *args, code=0, env=None, **shape):
        got, text = self.finish(self.start(*args, env=env, **shape), 60)
        self.assertEqual(got, code, text)
        return text

    def running(self, program="spmm_dist"):
        return [pid for node in self.nodes for pid in node.processes(program)]

    def gone(self, program, text):
        """Nothing is left of a program on any node, soon."""
        until = time.monotonic() + SLACK
        while self.running(program) and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(self.running(program), [], text)

    def multiplying(self, *args, env=None):
        job = self.start(*LONG, *args, env=env)
        self.assertTrue(job.wait(r".*multiplying.*", 1, 60), job.text())
        time.sleep(1)
        return job


class Good(Case):
    def test_demo(self):
        text = self.run_driver("--matrix", BIPS, "--columns", "64", "--verify")
        self.assertRegex(text, rf"ranks +{RANKS} on ")
        self.assertIn(": passed", text)

    def test_verify(self):
        listed = harness.run("--list-transports").out.splitlines()
        transports = [line.split()[0] for line in listed if "not in this build" not in line]
        for transport in transports:
            if not transport.startswith("mpi"):
                continue  # GPUs are not divided among these nodes
            for partition, op, exchange in (("metis", "t", "node"), ("ptscotch", "t", "flat"),
                                          ("ptscotch", "n", "node")):
                with self.subTest(transport=transport, partition=partition, exchange=exchange):
                    text = self.run_driver(
                        "--matrix", BIPS, "--transport", transport, "--partition", partition,
                        "--op", op, "--tuning", f"exchange={exchange}", "--iterations", "2",
                        "--verify", "--device", "cpu")
                    self.assertIn(": passed", text)
                    self.assertIn(f", exchange {exchange}\n", text)

    def run_program(self, name, test, seconds=180, **shape):
        """A test of tests/dist, which compares with FP64 references of its own."""
        folder = os.environ.get("SPMM_TEST_PROGRAMS", harness.ROOT / "build" / "cpu" / "tests")
        job = self.start(test, program=pathlib.Path(folder, name), **shape)
        code, text = self.finish(job, seconds)
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"(?m)^\[       OK \] ")

    def test_programs(self):
        """New values, and SDDMM."""
        for name, test in PROGRAMS:
            with self.subTest(name, test=test):
                self.run_program(name, test)

    @unittest.skipUnless("SPMM_NODES_ALL" in os.environ, "scripts/nightly.sh sets SPMM_NODES_ALL")
    def test_programs_on_all_shapes(self):
        """SDDMM of other shapes too."""
        shapes = itertools.product(range(1, 5), range(1, 5), MORE_PROGRAMS)
        for count, ranks, (name, test) in shapes:
            with self.subTest(name, test=test, count=count, ranks=ranks):
                self.run_program(name, test, 600, count=count, ranks=ranks)

    @unittest.skipUnless("SPMM_NODES_ALL" in os.environ, "scripts/nightly.sh sets SPMM_NODES_ALL")
    def test_all_shapes(self):
        """1 to 4 nodes of 1 to 4 ranks: ops, types, layouts, partitions and exchange in turn."""
        choices = itertools.product(("n", "t", "h"), ("64f", "32f", "64c"), ("row", "col"),
                                    ("metis", "ptscotch", "block"), ("1", "2"))
        mixed = random.Random(1).sample(list(choices), 32)
        shapes = itertools.product(range(1, 5), range(1, 5), range(2))
        for (count, ranks, _), (op, kind, layout, partition, chunks) in zip(shapes, mixed):
            exchange = "node" if count > 1 and ranks > 1 else "flat"
            with self.subTest(count=count, ranks=ranks, op=op, kind=kind, layout=layout,
                              partition=partition, chunks=chunks):
                self.assertIn(": passed", self.run_driver(
                    "--matrix", BIPS, "--op", op, "--type", kind, "--layout", layout,
                    "--partition", partition, "--tuning", f"chunks={chunks},exchange={exchange}",
                    "--iterations", "2", "--verify", "--device", "cpu", count=count, ranks=ranks))

    def test_slow_network(self):
        """What the context measures is the rate of the adapters, shared by the ranks of a node."""
        for node in self.nodes:
            node.limit("50mbit")
        self.run_driver("--generate", "rmat:scale=10,degree=8", "--iterations", "2",
                        env={"SPMM_CALIBRATE": "1"})
        kept = subprocess.run(self.nodes[0].within("sh", "-c", f"cat {nodes.FOLDER}/network*"),
                              check=True, stdout=subprocess.PIPE).stdout.decode()
        rates = {name: int(number) for name, number in re.findall(r"(?m)^(\S+) (\d+)$", kept)}
        self.assertLess(rates["alone-between"], 1.3 * 50e6 / 8, kept)
        self.assertGreater(rates["alone-between"], 0.3 * 50e6 / 8, kept)
        self.assertLess(rates["rate-between"], 0.75 * rates["alone-between"], kept)

    def test_doctor(self):
        text = self.run_driver("--doctor", "--device", "cpu")
        self.assertRegex(text, r"(?m)^good +device +8 ranks compute on cpu")
        self.assertIn("mpi-host: a product over it is right", text)


class Broken(Case):
    def test_stale_file(self):
        """Each node has a copy at one path; then that of node2 is another."""
        path = nodes.FOLDER / "a.mtx"

        def write(node, value):
            node.call("sh", "-c", f'printf %s "$0" >{path}', "%%MatrixMarket matrix coordinate "
                      f"real general\n9 9 1\n1 1 {value}\n")

        for node in self.nodes:
            write(node, "1.5")
        self.assertIn(": passed", self.run_driver("--matrix", path, "--verify"))
        write(self.nodes[2], "1.25")
        text = self.run_driver("--matrix", path, code=3)
        found = re.search(r"a\.mtx is not the same file on all ranks: rank 0 on node0 sees (\d+) "
                          r"bytes, rank 4 on node2 (\d+) bytes; put one copy", text)
        self.assertTrue(found, text)
        self.assertEqual(int(found[2]), int(found[1]) + 1)

    def test_filtered_pair(self):
        """Two nodes never hear of each other; the others reach both."""
        for pair in ((1, 3), (1, 2)):
            with self.subTest(pair=pair):
                for one, other in (pair, pair[::-1]):
                    self.nodes[one].call("ip", "neigh", "replace", f"10.0.0.{other + 1}", "lladdr",
                                         "02:00:00:00:00:01", "dev", "eth0")
                text = self.gives_up("--doctor")
                for node, *ranks in re.findall(
                        r"on node(\d) no message came from ranks (\d), (\d) ", text):
                    there = {int(rank) // nodes.RANKS for rank in ranks}
                    self.assertEqual({int(node), *there}, set(pair), text)
                self.assertIn(" no message came from ", text)
                self.assertIn(" within the timeout ", self.gives_up("--matrix", BIPS))
                for one, other in (pair, pair[::-1]):
                    self.nodes[one].call("ip", "neigh", "delete", f"10.0.0.{other + 1}", "dev",
                                         "eth0")

    def gives_up(self, *args):
        job = self.start(*args, "--device", "cpu", "--timeout", str(TIMEOUT))
        code, text = self.finish(job, TIMEOUT + SETUP + SLACK)
        self.assertEqual(code, 4, text)
        self.gone("spmm_dist", text)
        return text

    def test_killed_ranks(self):
        job = self.multiplying()
        for pid in self.nodes[2].processes("spmm_dist"):
            os.kill(pid, signal.SIGKILL)
        code, text = self.finish(job, TIMEOUT + SLACK)
        self.assertNotEqual(code, 0, text)
        self.assertRegex(text, r"on node node2 exited on signal 9")
        self.gone("spmm_dist", text)
        self.gone("orted", text)

    def test_stopped_ranks(self):
        job = self.multiplying()
        for pid in self.nodes[2].processes("spmm_dist"):
            os.kill(pid, signal.SIGSTOP)
        code, text = self.finish(job, TIMEOUT + SLACK)
        self.assertEqual(code, 4, text)
        self.assertRegex(text, r"spmm_dist: rank \d: .* within the timeout of 3 s")

    def test_stopped_rank_at_setup(self):
        """Rank 5 stops while the matrix is made: the others say where they wait, and for whom."""
        job = self.start("--generate", "uniform:rows=4000000,cols=4000000,degree=8", "--progress",
                         "--timeout", str(TIMEOUT))
        self.assertTrue(job.wait(r".*generating.*", 1, 60), job.text())
        ranks = {rank_of(pid): pid for pid in self.nodes[2].processes("spmm_dist")}
        os.kill(ranks[5], signal.SIGSTOP)
        code, text = self.finish(job, TIMEOUT + SETUP + SLACK)
        self.assertEqual(code, 4, text)
        self.assertRegex(text, r"spmm_dist: rank \d: spmm_matrix_generate: rank 5 did not come "
                         r"within the timeout of 8 s")
        self.gone("spmm_dist", text)

    def test_lost_node(self):
        job = self.multiplying()
        self.nodes[2].stop()
        code, text = self.finish(job, TIMEOUT + SLACK)
        self.assertNotEqual(code, 0, text)
        self.nodes.pop(2)
        self.gone("spmm_dist", text)
        self.gone("orted", text)

    def test_lost_link(self):
        """All ranks end, on either side; mpirun waits for what it cannot reach."""
        job = self.multiplying()
        self.nodes[2].cut()
        said = job.wait(r"spmm_dist: rank \d: .* within the timeout of 3 s.*", 1, TIMEOUT + SLACK)
        self.assertTrue(said, job.text())
        self.gone("spmm_dist", job.text())

    def test_lost_link_that_mpirun_finds(self):
        job = self.multiplying("--timeout", "10", env=KEEPALIVE)
        self.nodes[2].cut()
        code, text = self.finish(job, 10 + SLACK)
        self.assertNotEqual(code, 0, text)
        self.assertIn("lost communication with a remote daemon", text)
        self.gone("spmm_dist", text)
        self.gone("orted", text)


if __name__ == "__main__":
    reason = nodes.enter()
    if reason:
        print("skipped: " + reason)
        sys.exit(77)
    unittest.main(verbosity=2)
