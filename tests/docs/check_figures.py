# SPDX-License-Identifier: Apache-2.0
"""Every figure of README.md and docs/ is what the tables, logs and code of the repository give."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import figures
from figures import ROOT, Page, mask, places, quote_all

TEXT = """# Title

Plans take 5 % of 1000 products, 1.42 times of (section 3.2), as `1.5 ms` and

    2.5 ms of code

say on 4 GPUs since 2026-11-22; CUDA 13.0. [Table 7](a/1.5.tsv) <!-- 9 % -->

| N = 32 | 128 |
|---|---|
| 1,024 | 0.97, 16 us |
| 8 rows | m16n8k8 |
"""


class Figures(unittest.TestCase):
    def test_places(self):
        """What is a figure, and what is none."""
        found = [TEXT[a:b] for a, b, _ in places(mask(TEXT))]
        self.assertEqual(found, ["5", "1000", "1.42", "1,024", "0.97", "16"])

    def test_changes_are_found(self):
        """A figure that differs, and one without a source."""
        for begin, end in (
            (r"\d\.\d to \d\.\d times", "0.1 to 0.2 times"),
            (r"\*\*Limits", "It is 3.7 times faster. **Limits"),
        ):
            changed, found = re.subn(begin, end, Page("README.md").raw, count=1)
            self.assertEqual(found, 1, begin)
            real = figures.Page.text
            figures.Page.text = lambda self, real=real, changed=changed: (
                changed if self.path == "README.md" else real(self)
            )
            try:
                page = quote_all()["README.md"]
            finally:
                figures.Page.text = real
            self.assertTrue(page.wrong or page.unquoted(), end)

    def test_pictures(self):
        """The pictures of the papers are what variants.py draws of their tables."""
        results = ROOT / "bench/results/papers"
        for paper in ("acc-spmm", "cutespmm", "sspmm", "vectorsparse", "thesis"):
            with tempfile.TemporaryDirectory() as folder:
                drawn = pathlib.Path(folder, "a.svg")
                subprocess.run(
                    [
                        sys.executable,
                        ROOT / "bench/plot/variants.py",
                        paper,
                        results / f"published/{paper}.tsv",
                        drawn,
                    ],
                    check=True,
                )
                self.assertEqual(drawn.read_bytes(), (results / f"{paper}.svg").read_bytes(), paper)

    def test_documents(self):
        computed = 0
        for path, page in quote_all().items():
            with self.subTest(path):
                self.assertEqual(page.wrong, [], f"in {path}")
                self.assertEqual(
                    [f"line {line}: {figure}" for line, figure in page.unquoted()],
                    [],
                    f"{path}: figures without a source; see {ROOT}/tests/docs/quotes",
                )
            computed += len(page.computed)
        self.assertGreater(computed, 500)


if __name__ == "__main__":
    unittest.main(verbosity=1)
