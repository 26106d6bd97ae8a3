# SPDX-License-Identifier: Apache-2.0
"""--plot: well-formed XML whose parts say what the report says."""
import os
import re
import tempfile
import unittest
import xml.etree.ElementTree as ET

import harness

SVG = "{http://www.w3.org/2000/svg}"
ROWS = re.compile(r"rank (\d+) from rank (\d+): (\d+) rows")
SPAN = re.compile(r"rank (\d+) (pack|exchange|local|halo) (\d+): ([\d.]+) to ([\d.]+) us")


def plot(*args, ranks, env=None):
    """The result of the run, its report and the picture's root."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.svg")
        result, report = harness.run_json(*args, "--plot", path, "--iterations", "2", ranks=ranks,
                                          env=env)
        root = ET.parse(path).getroot() if os.path.exists(path) else None
    return result, report, root


def titles(root, pattern):
    found = [pattern.fullmatch(t.text) for t in root.iter(SVG + "title")]
    return [m.groups() for m in found if m]


def cells(root):
    """{colour: [(column, row, length), ...]} of the picture of the matrix."""
    found = {}
    for path in root.iter(SVG + "path"):
        runs = re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", path.get("d"))
        assert runs and all(r[2] == r[3] for r in runs), path.get("d")
        found.setdefault(path.get("fill"), []).extend(tuple(map(int, r[:3])) for r in runs)
    return found


@unittest.skipUnless(harness.has_json(), "built without cJSON")
class Plot(unittest.TestCase):
    def check(self, *args, ranks, env=None):
        result, report, root = plot(*args, ranks=ranks, env=env)
        self.assertEqual(result.code, 0, result)
        self.assertEqual(root.tag, SVG + "svg")
        traffic = {(int(a), int(b)): int(n) for a, b, n in titles(root, ROWS)}
        self.assertEqual(len(traffic), ranks * ranks)
        self.assertEqual(sum(traffic.values()), report["halo"]["rows_total"])
        self.assertTrue(all(traffic[p, p] == 0 for p in range(ranks)))
        self.assertEqual(max(sum(traffic[p, q] for q in range(ranks)) for p in range(ranks)),
                         report["halo"]["rows_max"])
        spans = titles(root, SPAN)
        self.assertEqual({int(s[0]) for s in spans}, set(range(ranks)))
        for span in spans:
            self.assertLessEqual(float(span[3]), float(span[4]))
        return root, traffic, spans

    def test_stencil(self):
        for ranks in (1, 2, 3, 4):
            root, _, spans = self.check("--generate", "stencil5:nx=60,ny=50,shuffle=1",
                                        "--partition", "block", ranks=ranks)
            self.assertEqual(len(cells(root)), ranks)
            phases = {s[1] for s in spans}
            self.assertEqual(phases, {"local"} if ranks == 1 else
                             {"pack", "exchange", "local", "halo"})

    def test_every_entry(self):
        """A band on a few rows: each entry is a cell of its own, in the colour of its rank."""
        root, traffic, _ = self.check("--generate", "banded:rows=40,lower=1,upper=1",
                                      "--partition", "keep", ranks=4)
        self.assertEqual(traffic, {(p, q): int(abs(p - q) == 1)
                         for p in range(4) for q in range(4)})
        entries = {(y, x + k) for runs in cells(root).values() for x, y, n in runs
                   for k in range(n)}
        self.assertEqual(entries, {(i, j) for i in range(40) for j in range(40) if abs(i - j) <= 1})
        for runs in cells(root).values():
            self.assertEqual(len({y // 10 for _, y, _ in runs}), 1)

    def test_rectangular_transposed(self):
        self.check("--generate", "uniform:rows=300,cols=90,degree=4", "--op", "t", ranks=3)

    def test_nodes(self):
        """Lines between nodes, and the rows on either side of them."""
        for ranks, per_node, nodes in ((4, 2, 2), (3, 2, 2), (4, 1, 4), (2, 8, 1)):
            args = ("--generate", "rmat:scale=8,degree=8", "--ranks-per-node", str(per_node),
                    "--levels", "flat", "--cover", "rows")
            root, traffic, _ = self.check(*args, ranks=ranks)
            _, report = harness.run_json(*args, ranks=ranks)
            self.assertEqual(len(list(root.iter(SVG + "line"))), 2 * (nodes - 1))
            self.assertEqual(report["nodes"], nodes)
            for way, flow in (("within", report["within_nodes"]),
                              ("between", report["between_nodes"])):
                on = {(p, q): rows for (p, q), rows in traffic.items()
                      if rows > 0 and (p // per_node == q // per_node) == (way == "within")}
                most = max(max(sum(rows for pair, rows in on.items() if pair[end] == p)
                               for end in (0, 1)) for p in range(ranks))
                self.assertEqual(flow["rows_total"], sum(on.values()))
                self.assertEqual(flow["rows_max"], most)
                self.assertEqual(flow["messages_total"], len(on))
                self.assertEqual(flow["bytes_total"], sum(on.values()) * 64 * 8)

    def test_chunks(self):
        _, _, spans = self.check("--generate", "rmat:scale=8,degree=8", "--schedule", "chunks2",
                                 ranks=2)
        self.assertEqual({int(s[2]) for s in spans}, {0, 1})

    def test_empty(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a<&\".mtx")  # markup in the name is text in the picture
            with open(path, "w", encoding="ascii") as out:
                out.write("%%MatrixMarket matrix coordinate real general\n3 3 0\n")
            root, _, _ = self.check("--matrix", path, ranks=2)
            self.assertIn(path, [t.text for t in root.iter(SVG + "text")])

    def test_cannot_write(self):
        result = harness.run("--generate", "stencil5:nx=9,ny=9", "--plot", "/no/such/folder/a.svg",
                             ranks=2)
        self.assertEqual(result.code, 4, result)
        self.assertEqual(len(result.errors), 1, result)
        self.assertIn("/no/such/folder/a.svg", result.errors[0])


if __name__ == "__main__":
    unittest.main(verbosity=1)
