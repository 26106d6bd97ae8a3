# SPDX-License-Identifier: Apache-2.0
"""Options, exit codes, lists and messages of the driver."""
import os
import pathlib
import re
import tempfile
import unittest

import harness

SMALL = ("--generate", "stencil5:nx=12,ny=9", "--columns", "5", "--iterations", "2")


class Usage(unittest.TestCase):
    def refused(self, *args, says, ranks=None, code=2):
        result = harness.run(*args, ranks=ranks)
        self.assertEqual(result.code, code, result)
        self.assertEqual(len(result.errors), 1, result)
        self.assertTrue(result.errors[0].startswith("spmm_dist: "), result)
        self.assertIn(says, result.errors[0])
        self.assertEqual(result.out, "")

    def test_input_is_given_once(self):
        self.refused("--columns", "5", says="--matrix")
        self.refused("--matrix", "", says="--matrix")
        self.refused("--matrix", "a.mtx", "--generate", "rmat:scale=3,degree=2", says="--matrix")

    def test_without_options(self):
        """A grid is multiplied and checked; the program is at the top of the build folder, too."""
        driver = pathlib.Path(harness.DRIVER)
        self.assertTrue(driver.samefile(driver.parent.parent / "spmm_dist"))
        result = harness.run(ranks=2)
        self.assertEqual(result.code, 0, result)
        self.assertIn("stencil9:nx=400,ny=400,shuffle=1", result.out)
        self.assertIn(": passed", result.out)

    def test_numbers_are_strict(self):
        for value in ("0", "1x", "", " 4", "1.5", "2147483648", "9" * 30):
            self.refused(*SMALL, "--columns", value, says="--columns")
        for option in ("--iterations", "--warmup", "--pad"):
            self.refused(*SMALL, option, "-3", says=option)
        self.refused(*SMALL, "--iterations", "0", says="--iterations")
        for value in ("-1", "1e3", "18446744073709551616"):
            self.refused(*SMALL, "--seed", value, says="--seed")
        for option in ("--alpha", "--beta"):
            for value in ("nan", "1,5", ""):
                self.refused(*SMALL, option, value, says=option)
        self.refused(*SMALL, "--imbalance", "0.9", says="--imbalance")
        self.refused(*SMALL, "--timeout", "-1", says="--timeout")

    def test_words_are_known(self):
        for option in ("--type", "--compute", "--op", "--layout", "--device"):
            self.refused(*SMALL, option, "64F", says=option)
        for option in ("--engine", "--transport", "--partition", "--tuning"):
            self.refused(*SMALL, option, "nonesuch", says="nonesuch")
        self.refused(*SMALL, "--tuning", "chunks=3", says="chunks takes auto, 1, 2, 4, not \"3\"")

    def test_options_are_known(self):
        self.refused(*SMALL, "--nonesuch", says="--nonesuch")
        self.refused(*SMALL, "-Z", says="-Z")
        self.refused(*SMALL, "--verify=1", says="--verify")
        self.refused(*SMALL, "--columns", says="--columns")
        self.refused(*SMALL, "stray", says="stray")

    def test_what_would_be_ignored(self):
        pair = ("--convert", "/nonexistent/a.mtx", "/nonexistent/a.csr")
        for option in (("--matrix", "a.mtx"), ("--generate", "rmat:scale=3,degree=2"),
                       ("--columns", "5"), ("-n", "5"), ("--op", "t"), ("--verify",),
                       ("--json", "a.json"), ("--partition", "block"),
                       ("--write-partition", "a.part"), ("--scale", "8")):
            found = {"-n": "--columns"}.get(option[0], option[0])
            self.refused(*pair, *option, says=f"--convert takes no {found}, ")
            self.refused(*option, *pair, says=f"--convert takes no {found}, ")
        for option in (("--matrix", "a.mtx"), ("--verify",), pair):
            self.refused("--doctor", *option, says=f"--doctor takes no {option[0]}, ")
        for option in (("--op", "t"), ("--verify",), ("--executes", "5"), ("--iterations", "1")):
            self.refused(*SMALL[:2], "--scale", "8", *option,
                         says=f"--scale takes no {option[0]}, ")

    def test_conversion(self):
        with tempfile.TemporaryDirectory() as folder:
            text, out = os.path.join(folder, "a.mtx"), os.path.join(folder, "a.csr")
            with open(text, "w", encoding="ascii") as file:
                file.write("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n")
            result = harness.run("--convert", text, out, "--type", "32f", "--seed", "3",
                                 "--device", "cpu", "--timeout", "60", "--progress", ranks=2)
            self.assertEqual(result.code, 0, result)
            self.assertIn(f"spmm_dist: reading {text}", result.errors)
            self.assertIn("1 x 1, 1 entries of type 32f", result.out)
            os.unlink(out)
            os.mkfifo(out)
            self.refused("--convert", text, out, ranks=2, code=4, says="is a device or pipe")

    def test_graphs_need_gpus(self):
        self.refused(*SMALL, "--device", "cpu", "--graph", says="option graph needs GPUs", code=4)

    def test_many_ranks_say_it_once(self):
        self.refused("--columns", "no", ranks=4, says="--columns")
        self.refused(*SMALL, "--engine", "nonesuch", ranks=3, says="nonesuch")

    def test_json_that_cannot_be_written(self):
        if harness.has_json():
            result = harness.run(*SMALL, "--json", "/nonexistent/report.json", ranks=2)
            self.assertEqual(result.code, 4, result)
            self.assertEqual(len(result.errors), 1, result)
            self.assertIn("No such file", result.errors[0])
            self.assertEqual(result.out, "", "multiplied before it looked at the file")

    @unittest.skipUnless(harness.has_json(), "built without cJSON")
    def test_outputs_are_only_tried(self):
        with tempfile.TemporaryDirectory() as folder:
            old, new, link = (os.path.join(folder, name) for name in ("old", "new", "link"))
            with open(old, "w", encoding="ascii") as out:
                out.write("kept")
            os.symlink("none", link)
            for path in (old, new, link):
                self.assertEqual(harness.run("--matrix", "/nonexistent", "--json", path).code, 3)
            with open(old, encoding="ascii") as text:
                self.assertEqual(text.read(), "kept")
            self.assertEqual(sorted(os.listdir(folder)), ["link", "old"])
            self.refused(*SMALL, "--json", folder, says="Is a directory", code=4)
            self.assertEqual(harness.run(*SMALL, "--write-partition", link, "--json", old).code, 0)
            self.assertEqual(sorted(os.listdir(folder)), ["link", "none", "old"])
            self.assertTrue(os.path.islink(link))

    @unittest.skipUnless(harness.has_json(), "built without cJSON")
    def test_outputs_are_files_of_their_own(self):
        text = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n"
        with tempfile.TemporaryDirectory() as folder:
            matrix, link = os.path.join(folder, "a.mtx"), os.path.join(folder, "b.mtx")
            with open(matrix, "w", encoding="ascii") as out:
                out.write(text)
            os.symlink(matrix, link)
            for option in ("--json", "--write-partition"):
                for path in (matrix, link):
                    self.refused("--matrix", matrix, option, path, ranks=2, says="same file")
                with open(matrix, encoding="ascii") as kept:
                    self.assertEqual(kept.read(), text)
            new = os.path.join(folder, "new")
            self.refused(*SMALL, "--json", new, "--write-partition", new, says="same file")
            self.assertFalse(os.path.exists(new))
        self.assertEqual(harness.run(*SMALL, "--json", "/dev/null", "--write-partition",
                                     "/dev/null").code, 0)

    def test_partition_that_cannot_be_written(self):
        result = harness.run(*SMALL, "--write-partition", "/nonexistent/part", ranks=2)
        self.assertEqual(result.code, 4, result)
        self.assertEqual(len(result.errors), 1, result)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_output_that_cannot_be_written(self):
        command = f"exec '{harness.DRIVER}' --help >/dev/full"
        status = os.waitstatus_to_exitcode(os.system(command + " 2>/dev/null"))
        self.assertEqual(status, 4)

    def test_closed_streams(self):
        """What cannot be printed is no success, and no file that is written takes its place."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.part")
            for closed, code in (("0<&-", 0), ("1>&-", 4), ("2>&-", 0), ("0<&- 1>&-", 4),
                                 ("1>&- 2>&-", 4), ("0<&- 2>&-", 0), ("0<&- 1>&- 2>&-", 4)):
                for action in f"{' '.join(SMALL)} --write-partition {path}", "--version":
                    status = os.waitstatus_to_exitcode(
                        os.system(f"exec >/dev/null 2>&1; exec '{harness.DRIVER}' {action} "
                                  f"{closed}"))
                    self.assertEqual(status, code, (closed, action))
                with open(path, encoding="ascii") as parts:
                    self.assertEqual(parts.read(), "0\n" * 108, closed)

    def test_generators_are_checked(self):
        for spec in ("nonesuch:n=3", "stencil5", "stencil5:", "stencil5:nx=3", "stencil5:nx=3,ny=",
                     "stencil5:nx=3,ny=-1", "stencil5:nx=3,ny=x", "stencil5:nx=3,ny=3,color=1",
                     "rmat:scale=70,degree=4", ""):
            self.refused("--generate", spec, says="", code=3)
        self.refused("--generate", "rmat:scale=x,degree=4", ranks=4, says="x", code=3)


class About(unittest.TestCase):
    def test_help(self):
        for option in ("--help", "-h"):
            result = harness.run(option)
            self.assertEqual((result.code, result.err), (0, ""), result)
        source = (harness.ROOT / "tools/driver/driver_options.c").read_text(encoding="utf-8")
        options = re.findall(r'^        {"([a-z-]+)", .*DRIVER_', source, re.M)
        self.assertGreater(len(options), 35)
        for option in options:
            self.assertRegex(result.out, rf"--{option}\b")

    def test_version(self):
        result = harness.run("-V")
        self.assertEqual(result.code, 0, result)
        self.assertRegex(result.out, r"^spmm_dist \d+\.\d+\.\d+\n$")

    def test_lists_on_one_rank_only(self):
        for option, name in (("--list-engines", "csr-cpu"), ("--list-transports", "mpi-host"),
                             ("--list-partitioners", "block")):
            result = harness.run(option, ranks=3)
            self.assertEqual((result.code, result.errors), (0, []), result)
            self.assertEqual(len(re.findall(rf"^{name} ", result.out, re.M)), 1, result)

    def test_every_listed_name_is_known(self):
        for kind in ("engine", "transport"):
            for line in harness.run(f"--list-{kind}s").out.splitlines():
                result = harness.run(*SMALL, f"--{kind}", line.split()[0])
                if "not in this build" in line:
                    self.assertEqual((result.code, len(result.errors)), (4, 1), result)
                    self.assertIn(f"{kind} {line.split()[0]} ", result.errors[0])
                else:  # what is built may still miss its device
                    self.assertIn(result.code, (0, 4), result)


class Report(unittest.TestCase):
    def test_chunks(self):
        result = harness.run(*SMALL, "--tuning", "chunks=2", "--explain", "--verify", ranks=3)
        self.assertEqual((result.code, result.errors), (0, []), result)
        self.assertRegex(result.out, r"\n  chunks 2 .*<- chosen\n")
        self.assertRegex(result.out, r"\nschedule +overlap, 2 chunks\n")
        result = harness.run(*SMALL, "--tuning", "chunks=2,schedule=merged", ranks=2)
        self.assertEqual((result.code, len(result.errors)), (4, 1), result)
        self.assertIn("does not cut", result.errors[0])

    def test_table(self):
        result = harness.run(*SMALL, "--verify", "--explain", ranks=3)
        self.assertEqual((result.code, result.errors), (0, []), result)
        for word in ("108 x 108", "partition", "halo", "allgather", "csr-cpu", "mpi-host", "pack",
                     "exchange", "local", "total", "GFLOP/s", "passed"):
            self.assertIn(word, result.out)

    def test_short_forms(self):
        result = harness.run("-g", "stencil5:nx=4,ny=4", "-n", 3, "-t", "32f", "-c", "32f", "-o",
                             "t", "-l", "col", "-a", "-2", "-b", "0.5", "-d", "cpu", "-e",
                             "csr-cpu", "-x", "auto", "-p", "block", "-w", 0, "-i", 1, "-s", 7,
                             "-v", "-E", ranks=2)
        self.assertEqual((result.code, result.errors), (0, []), result)
        self.assertIn("C = -2 * A^T * B + 0.5 * C, 3 columns, column-major", result.out)

    def test_progress(self):
        """One line a phase."""
        result = harness.run(*SMALL, "--progress", "--verify", ranks=2)
        self.assertEqual(result.code, 0, result)
        self.assertTrue(all(line.startswith("spmm_dist: ") for line in result.errors), result)
        for words in (f"generating {SMALL[1]}", "partitioning and", "multiplying and verifying"):
            self.assertEqual(result.err.count(f"spmm_dist: {words}"), 1, result)
        self.assertEqual(harness.run(*SMALL, ranks=2).err, "")

    def test_seed_decides_the_matrix(self):
        spec = ("--generate", "uniform:rows=60,cols=50,degree=4", "--iterations", "1", "--verify")
        if harness.has_json():
            counts = set()
            for ranks in (1, 3, 4):
                result, report = harness.run_json(*spec, "--seed", "5", ranks=ranks)
                self.assertEqual(result.code, 0, result)
                counts.add(report["matrix"]["nnz"])
            self.assertEqual(len(counts), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
