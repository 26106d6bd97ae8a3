# SPDX-License-Identifier: Apache-2.0
"""Malformed input ends in under 5 s on 4 ranks with exit code 3 and one sentence."""
import gzip
import os
import pathlib
import struct
import tempfile
import unittest

import harness

HEAD = "%%MatrixMarket matrix coordinate real general\n"
GOOD = HEAD + "% a comment\n3 4 5\n" + "1 1 1.5\n1 4 -2\n2 2 3e1\n3 1 .25\n3 3 7\n"

# Name: (file name, content, what the sentence must contain); the dist tests of the readers have the
# sentences of all that may be wrong.
MALFORMED = {
    "empty": ("a.mtx", "", ""),
    "truncated": ("a.mtx", HEAD + "3 4 5\n1 1 1\n2 2 3\n", ""),
    "row too large": ("a.mtx", HEAD + "3 4 2\n1 1 1\n4 2 3\n", "4"),
    "count far beyond the file": ("a.mtx", HEAD + "3 4 9000000000000000000\n1 1 1\n", ""),
    "text for a value": ("a.mtx", HEAD + "3 4 2\n1 1 1\n2 2 abc\n", "4"),
    "complex": ("a.mtx", HEAD.replace("real", "complex") + "1 1 1\n1 1 1 2\n", "complex"),
    "binary": ("a.mtx", bytes(range(256)) * 8, ""),
    "zero bytes": ("a.mtx", b"\0" * 5000, ""),
    "cut gzip": ("a.mtx.gz", gzip.compress((GOOD + "% x\n" * 4000).encode())[:-20], ""),
    "csr: cut": ("a.csr", struct.pack("<4q", 0x43535231, 2, 2, 2), ""),
    "csr: sizes beyond the file": (
        "a.csr", struct.pack("<4q2i", 0x43535231, 1 << 40, 2, 1 << 50, 0, 0), ""),
}


class Malformed(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    @staticmethod
    def read(path, *args):
        return harness.run("--matrix", path, "--columns", "3", *args, ranks=4, timeout=30)

    def refused(self, path, says, *args, result=None):
        result = result or self.read(path, *args)
        self.assertEqual(result.code, 3, result)
        self.assertEqual(len(result.errors), 1, result)
        self.assertTrue(result.errors[0].startswith("spmm_dist: "), result)
        self.assertIn(says, result.errors[0].replace(str(path), ""))
        if not args:  # a value that does not fit is named by row and column
            self.assertIn(os.path.basename(str(path)), result.errors[0], "the file is not named")
        self.assertLess(result.seconds, 5.0, result)
        self.assertEqual(result.out, "")

    def test_contents(self):
        paths = []
        for k, (file, content, _) in enumerate(MALFORMED.values()):
            paths.append(self.folder / f"{k}" / file)
            paths[-1].parent.mkdir()
            paths[-1].write_bytes(content if isinstance(content, bytes) else content.encode())
        results = harness.side_by_side(self.read, paths)
        for path, (name, (_, _, says)), result in zip(paths, MALFORMED.items(), results):
            with self.subTest(name):
                self.refused(path, says, result=result)

    def test_missing(self):
        self.refused(self.folder / "missing.mtx", "No such file")

    def test_directory(self):
        self.refused(self.folder, "")

    def test_value_beyond_the_type(self):
        path = self.folder / "a.mtx"
        path.write_text(HEAD + "2 2 2\n1 1 1e300\n2 2 1\n")
        for kind in ("32f", "16f", "16bf"):
            self.refused(path, "1e+300", "--type", kind)
        result = harness.run("--matrix", path, "--verify", ranks=2)
        self.assertEqual(result.code, 0, result)

    def test_good_file(self):
        path = self.folder / "a.mtx"
        for text in (GOOD, GOOD.replace("\n", "\r\n")):
            path.write_bytes(text.encode())
            result = harness.run("--matrix", path, "--verify", ranks=4)
            self.assertEqual((result.code, result.errors), (0, []), result)
            self.assertIn("3 x 4, 5 entries", result.out)

    def test_hermitian_file(self):
        path = self.folder / "a.mtx"
        path.write_text("%%MatrixMarket matrix coordinate complex hermitian\n"
                        "3 3 3\n1 1 2 0\n2 1 1 -1\n3 2 0 4\n")
        self.refused(path, "holds complex values, which type 64f cannot")
        for kind in ("64c", "32c"):
            result = harness.run("--matrix", path, "--type", kind, "--op", "h", "--verify",
                                 ranks=2)
            self.assertEqual((result.code, result.errors), (0, []), result)
            self.assertIn("3 x 3, 5 entries", result.out)
            self.assertIn("A^H * B", result.out)


class CacheFolder(unittest.TestCase):
    def test_pipe_is_not_waited_for(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind in (None, os.mkfifo, os.mkdir):
                for path in list(pathlib.Path(folder).iterdir()) if kind else ():
                    path.unlink()
                    kind(path)
                result = harness.run(*PartitionFile.SPEC, "--ranks-per-node", "1", "--timeout", "5",
                                     ranks=2, env={"SPMM_CACHE_DIR": folder})
                self.assertEqual((result.code, result.errors), (0, []), result)
                kept, = pathlib.Path(folder).iterdir()
                self.assertEqual(kept.is_file(), kind is not os.mkdir)
            kept.rmdir()


class PartitionFile(unittest.TestCase):
    SPEC = ("--generate", "stencil5:nx=4,ny=3", "--verify", "--iterations", "1")

    def refused(self, text=None, pipe=False):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.part")
            if text is not None:
                pathlib.Path(path).write_text(text)
            if pipe:
                os.mkfifo(path)
            result = harness.run(*self.SPEC, "--partition", f"file:{path}", ranks=4)
        self.assertEqual(result.code, 3, result)
        self.assertEqual(len(result.errors), 1, result)
        self.assertLess(result.seconds, 5.0, result)

    def test_malformed(self):
        for text in (None, "", "0\n" * 11, "0\n" * 13, "0\n" * 11 + "4\n", "0\n" * 11 + "-1\n",
                     "0\n" * 11 + "x\n", "0\n" * 11 + "99999999999999999999\n"):
            with self.subTest(text):
                self.refused(text)

    def test_pipe_is_not_waited_for(self):
        self.refused(pipe=True)

    def test_written_and_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.part")
            result = harness.run(*self.SPEC, "--partition", "metis", "--write-partition", path,
                                 ranks=4)
            self.assertEqual((result.code, result.errors), (0, []), result)
            parts = pathlib.Path(path).read_text().split()
            self.assertEqual(len(parts), 12)
            self.assertTrue(set(parts) <= {"0", "1", "2", "3"})
            again = harness.run(*self.SPEC, "--partition", f"file:{path}", ranks=4)
            self.assertEqual((again.code, again.errors), (0, []), again)
            halo = [line for line in result.out.splitlines() if line.startswith("halo")]
            self.assertEqual(halo, [s for s in again.out.splitlines() if s.startswith("halo")])


if __name__ == "__main__":
    unittest.main(verbosity=2)
