# SPDX-License-Identifier: Apache-2.0
"""Malformed input ends in under 5 s on 4 ranks with exit code 3 and one sentence."""
import bz2
import gzip
import io
import lzma
import os
import pathlib
import struct
import tempfile
import unittest
import zipfile

import harness

HEAD = "%%MatrixMarket matrix coordinate real general\n"
GOOD = HEAD + "% a comment\n3 4 5\n" + "1 1 1.5\n1 4 -2\n2 2 3e1\n3 1 .25\n3 3 7\n"
MAGIC = 0x43535231


def csr(rows, cols, nnz, row_ptr, col_idx, magic=MAGIC):
    return struct.pack(f"<4q{len(row_ptr)}i{len(col_idx)}i", magic, rows, cols, nnz, *row_ptr,
                       *col_idx)


def zipped(name):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(name, GOOD)
    return held.getvalue()


BOEING = f"""{'An identity':72}{'EYE':8}
{3:14d}{1:14d}{1:14d}{1:14d}
{'rsa':14}{2:14d}{2:14d}{2:14d}{0:14d}
{'(26I3)':16}{'(26I3)':16}{'(3E25.16)':20}
  1  2  3
  1  2
 1.0 1.0
"""

# Name: (file name, content, what the sentence must contain).
MALFORMED = {
    "empty": ("a.mtx", "", ""),
    "only a header": ("a.mtx", HEAD, ""),
    "no sizes": ("a.mtx", HEAD + "% nothing\n", ""),
    "truncated": ("a.mtx", HEAD + "3 4 5\n1 1 1\n2 2 3\n", ""),
    "cut in a line": ("a.mtx", HEAD + "3 4 2\n1 1 1\n2", "4"),
    "too many entries": ("a.mtx", HEAD + "3 4 1\n1 1 1\n2 2 3\n", ""),
    "row 0": ("a.mtx", HEAD + "3 4 2\n1 1 1\n0 2 3\n", "4"),
    "column 0": ("a.mtx", HEAD + "3 4 2\n1 0 1\n2 2 3\n", "3"),
    "row too large": ("a.mtx", HEAD + "3 4 2\n1 1 1\n4 2 3\n", "4"),
    "column too large": ("a.mtx", HEAD + "3 4 2\n1 1 1\n2 5 3\n", "4"),
    "negative index": ("a.mtx", HEAD + "3 4 1\n-1 1 1\n", "3"),
    "negative size": ("a.mtx", HEAD + "-3 4 1\n1 1 1\n", "2"),
    "negative count": ("a.mtx", HEAD + "3 4 -1\n1 1 1\n", "2"),
    "overflowing size": ("a.mtx", HEAD + "99999999999999999999 4 1\n1 1 1\n", "2"),
    "overflowing count": ("a.mtx", HEAD + "3 4 99999999999999999999\n1 1 1\n", "2"),
    "count far beyond the file": ("a.mtx", HEAD + "3 4 9000000000000000000\n1 1 1\n", ""),
    "two sizes": ("a.mtx", HEAD + "3 4\n1 1 1\n", "2"),
    "text for a size": ("a.mtx", HEAD + "three 4 1\n1 1 1\n", "2"),
    "text for an index": ("a.mtx", HEAD + "3 4 2\n1 1 1\nx 2 3\n", "4"),
    "text for a value": ("a.mtx", HEAD + "3 4 2\n1 1 1\n2 2 abc\n", "4"),
    "value missing": ("a.mtx", HEAD + "3 4 2\n1 1 1\n2 2\n", "4"),
    "NaN": ("a.mtx", HEAD + "3 4 2\n1 1 1\n2 2 nan\n", "4"),
    "complex": ("a.mtx", HEAD.replace("real", "complex") + "1 1 1\n1 1 1 2\n", "complex"),
    "unitary": ("a.mtx", HEAD.replace("general", "unitary") + "1 1 1\n1 1 1\n", "unitary"),
    "not square but symmetric": (
        "a.mtx", HEAD.replace("general", "symmetric") + "3 4 1\n1 1 1\n", ""),
    "imaginary diagonal": (
        "a.mtx", HEAD.replace("real general", "complex hermitian") + "1 1 1\n1 1 3 1\n",
        "Hermitian"),
    "skew diagonal": (
        "a.mtx", HEAD.replace("general", "skew-symmetric") + "1 1 1\n1 1 3\n", "3"),
    "bzip2": ("a.mtx", bz2.compress(GOOD.encode()), "bunzip2"),
    "xz": ("a.mtx", lzma.compress(GOOD.encode()), "unxz"),
    "xz in gzip": ("a.mtx.gz", gzip.compress(lzma.compress(GOOD.encode())), "unxz"),
    "npz": ("a.mtx", zipped("indices.npy"), "scipy.sparse.load_npz()"),
    "zip": ("a.mtx", zipped("a.mtx"), "zip archive"),
    "Rutherford-Boeing": ("a.mtx", BOEING, "scipy.io.hb_read()"),
    "unknown object": ("a.mtx", HEAD.replace("matrix", "vector") + "1 1 1\n1 1 1\n", ""),
    "array too short": ("a.mtx", HEAD.replace("coordinate", "array") + "2 2\n1\n2\n3\n", ""),
    "array too long": ("a.mtx", HEAD.replace("coordinate", "array") + "2 1\n1\n2\n3\n", ""),
    "other text": ("a.mtx", "rows: 3\ncols: 4\n", ""),
    "binary": ("a.mtx", bytes(range(256)) * 8, ""),
    "zero bytes": ("a.mtx", b"\0" * 5000, ""),
    "binary after the sizes": ("a.mtx", (HEAD + "3 4 2\n").encode() + bytes(range(128, 256)), "3"),
    "cut gzip": ("a.mtx.gz", gzip.compress((GOOD + "% x\n" * 4000).encode())[:-20], ""),
    "damaged gzip": ("a.mtx.gz", gzip.compress(GOOD.encode())[:-6] + b"abcdef", ""),
    "malformed in gzip": (
        "a.mtx.gz", gzip.compress((HEAD + "3 4 2\n1 1 1\n9 2 3\n").encode()), "4"),
    "csr: cut header": ("a.csr", csr(2, 2, 2, [0, 1, 2], [0, 1])[:20], ""),
    "csr: cut data": ("a.csr", csr(2, 2, 2, [0, 1, 2], [0, 1])[:-4], ""),
    "csr: column out of range": ("a.csr", csr(2, 2, 2, [0, 1, 2], [0, 2]), ""),
    "csr: negative column": ("a.csr", csr(2, 2, 2, [0, 1, 2], [0, -1]), ""),
    "csr: rows not ascending": ("a.csr", csr(3, 2, 2, [0, 2, 1, 2], [0, 1]), ""),
    "csr: wrong count": ("a.csr", csr(2, 2, 3, [0, 1, 2], [0, 1, 1]), ""),
    "csr: negative sizes": ("a.csr", csr(-2, 2, 2, [0, 1, 2], [0, 1]), ""),
    "csr: sizes beyond the file": ("a.csr", csr(1 << 40, 2, 1 << 50, [0], [0]), ""),
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
