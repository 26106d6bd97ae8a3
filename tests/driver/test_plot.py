# SPDX-License-Identifier: Apache-2.0
"""The picture of --json says what the report says, and spmm_dist_plot draws it: well-formed XML, in
which a reader can name every colour and axis."""
import importlib.util
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

import harness

PLOT = harness.ROOT / "python" / "spmm_dist" / "_plot.py"
SPEC = importlib.util.spec_from_file_location("plot", PLOT)
MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODULE)
SVG = "{http://www.w3.org/2000/svg}"
ROWS = re.compile(r"rank (\d+) from rank (\d+): (\d+) rows")
SPAN = re.compile(r"rank (\d+) (pack|exchange|local|halo) (\d+): ([\d.]+) to ([\d.]+) µs")
ROUND = re.compile(r"0|[125]0*|0\.0*[125]")
REPORT = {"picture": {"traffic": [[0, 7], [12345, 0]],
                      "spans": [[], [{"phase": "local", "chunk": 0, "from_s": 0, "to_s": 3e-4}]]}}


def plot(*args, preexec_fn=None):
    return subprocess.run([sys.executable, str(PLOT), *map(str, args)], capture_output=True,
                          text=True, check=False, timeout=60, preexec_fn=preexec_fn)


def draw(report):
    """The root of the picture of a report."""
    return ET.fromstring(str(MODULE.draw(report)))


def titles(root, pattern):
    found = [pattern.fullmatch(t.text) for t in root.iter(SVG + "title")]
    return [m.groups() for m in found if m]


def texts(root):
    return [t.text for t in root.iter(SVG + "text")]


def cells(root):
    """{colour: [(column, row, length), ...]} of the picture of the matrix."""
    found = {}
    for path in root.iter(SVG + "path"):
        runs = re.findall(r"M(\d+) (\d+)h(\d+)v1h-(\d+)z", path.get("d"))
        assert runs and all(r[2] == r[3] for r in runs), path.get("d")
        found.setdefault(path.get("fill"), []).extend(tuple(map(int, r[:3])) for r in runs)
    return found


def step(labels):
    """Between ticks, which are as many times it as their places say."""
    values = [float(label) for label in labels]
    assert all(abs(v - k * values[1]) < 1e-9 * v + 1e-15 for k, v in enumerate(values)), labels
    return labels[1]


@unittest.skipUnless(harness.has_json(), "built without cJSON")
class OfRuns(unittest.TestCase):
    def check(self, *args, ranks):
        result, report = harness.run_json(*args, "--iterations", "2", ranks=ranks)
        self.assertEqual(result.code, 0, result)
        picture = report["picture"]
        traffic = picture["traffic"]
        self.assertEqual([len(line) for line in traffic], ranks * [ranks])
        self.assertEqual(sum(map(sum, traffic)), report["halo"]["rows_total"])
        self.assertTrue(all(traffic[p][p] == 0 for p in range(ranks)))
        self.assertEqual(max(map(sum, traffic)), report["halo"]["rows_max"])
        self.assertEqual(sum(picture["rows"]), report["matrix"]["rows"])
        self.assertEqual(sum(picture["columns"]), report["matrix"]["cols"])
        self.assertEqual(sum(map(sum, picture["cells"])), report["matrix"]["nnz"])
        self.assertEqual(len(picture["cells"]), picture["first_row_cell"][-1])
        self.assertTrue(all(len(line) == picture["first_column_cell"][-1]
                            for line in picture["cells"]))
        self.assertTrue(all(s["from_s"] <= s["to_s"] for mine in picture["spans"] for s in mine))
        self.assertTrue(all(picture["spans"]))
        root = draw(report)
        drawn = {(int(a), int(b)): int(n) for a, b, n in titles(root, ROWS)}
        self.assertEqual(drawn, {(p, q): traffic[p][q] for p in range(ranks)
                                 for q in range(ranks)})
        self.assertEqual(
            [(int(s[0]), s[1], int(s[2])) for s in titles(root, SPAN)],
            [(p, s["phase"], s["chunk"]) for p in range(ranks) for s in picture["spans"][p]])
        return root, report

    def test_stencil(self):
        for ranks in (1, 2, 3, 4):
            root, report = self.check("--generate", "stencil5:nx=60,ny=50,shuffle=1",
                                      "--partition", "block", ranks=ranks)
            self.assertEqual(len(cells(root)), ranks)
            phases = {s["phase"] for mine in report["picture"]["spans"] for s in mine}
            self.assertEqual(phases, {"local"} if ranks == 1 else
                             {"pack", "exchange", "local", "halo"})

    def test_every_entry(self):
        """A band on a few rows: each entry is a cell of its own, in the colour of its rank."""
        root, report = self.check("--generate", "banded:rows=40,lower=1,upper=1",
                                  "--partition", "keep", ranks=4)
        self.assertEqual(report["picture"]["traffic"],
                         [[int(abs(p - q) == 1) for q in range(4)] for p in range(4)])
        self.assertEqual(report["picture"]["cells"],
                         [[int(abs(i - j) <= 1) for j in range(40)] for i in range(40)])
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
            root, report = self.check("--generate", "rmat:scale=8,degree=8", "--tuning",
                                      "exchange=flat", "--ranks-per-node", str(per_node),
                                      ranks=ranks)
            traffic = report["picture"]["traffic"]
            self.assertEqual(len([x for x in root.iter(SVG + "line") if x.get("class") == "node"]),
                             2 * (nodes - 1))
            self.assertEqual(report["nodes"], nodes)
            for way, flow in (("within", report["within_nodes"]),
                              ("between", report["between_nodes"])):
                on = {(p, q): traffic[p][q] for p in range(ranks) for q in range(ranks)
                      if traffic[p][q] > 0 and
                      (p // per_node == q // per_node) == (way == "within")}
                most = max(max(sum(rows for pair, rows in on.items() if pair[end] == p)
                               for end in (0, 1)) for p in range(ranks))
                self.assertEqual(flow["rows_total"], sum(on.values()))
                self.assertEqual(flow["rows_max"], most)
                self.assertEqual(flow["messages_total"], len(on))
                self.assertEqual(flow["bytes_total"], sum(on.values()) * 64 * 8)

    def test_chunks(self):
        _, report = self.check("--generate", "rmat:scale=8,degree=8", "--tuning", "chunks=2",
                               ranks=2)
        self.assertEqual({s["chunk"] for mine in report["picture"]["spans"] for s in mine}, {0, 1})

    def test_empty(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a<&\"\n.mtx")  # markup in the name is text in the picture
            with open(path, "w", encoding="ascii") as out:
                out.write("%%MatrixMarket matrix coordinate real general\n3 3 0\n")
            root, _ = self.check("--matrix", path, ranks=2)
            self.assertIn(path.replace("\n", "?"), texts(root))


class Drawing(unittest.TestCase):
    """What a reader sees: legends, names of axes, round ticks with their units."""

    def test_reader(self):
        ranks, rows = 12, 12 * [1000]
        spans = [[{"phase": phase, "chunk": 0, "from_s": k * 1e-3, "to_s": (k + 0.7) * 1e-3}
                  for k, phase in enumerate(("pack", "exchange", "local", "halo"))]] * ranks
        root = draw({
            "matrix": {"source": "a.mtx", "rows": 12000, "cols": 12000, "nnz": 500},
            "partition": {"method": "metis"}, "engine": "csr-cpu", "transport": "",
            "picture": {"rows": rows, "columns": rows, "nodes": ranks * [0], "spans": spans,
                        "first_row_cell": list(range(13)), "first_column_cell": list(range(13)),
                        "cells": [[i + j for j in range(12)] for i in range(12)],
                        "traffic": [[37 * (p != q) for q in range(12)] for p in range(12)]}})
        words = texts(root)
        for name in ("row", "column", "receiving rank", "sending rank", "rank",
                     "time since the product began", "entries of a cell", "a.mtx",
                     "12,000 x 12,000, 500 entries",
                     "12 ranks; partition metis; engine csr-cpu"):
            self.assertIn(name, words)
        swatches = {}  # the word to the right of each
        boxes = [e for e in root if e.tag == SVG + "rect" and e.get("width") == "14.00"]
        for text in root.iter(SVG + "text"):
            for box in boxes:
                if (abs(float(text.get("x")) - float(box.get("x")) - 20) < 0.1 and
                        abs(float(text.get("y")) - float(box.get("y")) - 12) < 0.1):
                    swatches[text.text] = box.get("fill")
        phases = {swatches[phase] for phase in ("pack", "exchange", "local", "halo")}
        of_ranks = {swatches[word] for word in (*"0123456", "7, ...")}
        self.assertEqual((len(phases), len(of_ranks), len(phases & of_ranks)), (4, 8, 0))
        self.assertEqual({x for x in of_ranks}, set(cells(root)))
        self.assertEqual([w for w in words if w.endswith(" ms")],
                         ["0 ms", "0.5 ms", "1 ms", "1.5 ms", "2 ms", "2.5 ms", "3 ms", "3.5 ms"])
        self.assertEqual([w for w in words if re.fullmatch(r"\d+ rows", w)],
                         ["0 rows", "10 rows", "20 rows", "30 rows"])
        self.assertEqual([w for w in words if re.fullmatch(r"\d+k", w)], 2 * ["5k", "10k"])

    def test_legible(self):
        """Letters of 1/100 of the width at least, none upon another or beside the picture, for
        sizes of a large cluster too.  A letter of DejaVu Sans is 0.53 of its size wide."""
        for ranks, entries in ((2, 30), (8, 9999), (8, 123456789), (300, 7)):
            cuts = list(range(ranks + 1))
            root = draw({
                "matrix": {"source": "a.mtx", "rows": 10 ** 9, "cols": 10 ** 9, "nnz": 10 ** 10},
                "partition": {"method": "metis"}, "engine": "csr-gpu", "transport": "nccl-push",
                "schedule": "pipelined", "picture": {
                    "rows": ranks * [10 ** 9 // ranks], "columns": ranks * [10 ** 9 // ranks],
                    "first_row_cell": cuts, "first_column_cell": cuts, "spans": ranks * [[
                        {"phase": "halo", "chunk": 0, "from_s": 0, "to_s": 0.4999}]],
                    "cells": ranks * [[*range(ranks - 1), entries]], "nodes": cuts[1:],
                    "traffic": ranks * [ranks * [entries]]}})
            places = []
            for text in root.iter(SVG + "text"):
                x, y, size = (float(text.get(key)) for key in ("x", "y", "font-size"))
                self.assertGreaterEqual(size, 10)
                if not text.get("transform"):
                    width = 0.53 * size * len(text.text)
                    x -= {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor")]
                    places.append((x, x + width, y - 0.7 * size, y, text.text))
            for k, (left, right, top, bottom, word) in enumerate(places):
                self.assertTrue(0 <= left and right <= 1000, word)
                for other in places[:k]:
                    self.assertFalse(left < other[1] and other[0] < right and
                                     top < other[3] and other[2] < bottom, (word, other[-1]))

    def test_steps(self):
        """Of any length: 1, 2 or 5 times a power of ten, and not more of them than there is room
        for."""
        for k in range(200):
            end = 1e-7 * 1.13 ** k
            root = draw({"picture": {"traffic": [[0]], "spans": [[
                {"phase": "local", "chunk": 0, "from_s": 0, "to_s": end}]]}})
            unit = "µs" if end < 1e-3 else "ms"
            ticks = [w.split()[0] for w in texts(root) if w.endswith(" " + unit)]
            self.assertIn(len(ticks), range(4, 12), end)
            self.assertRegex(f"{float(step(ticks)):.20f}".rstrip("0").rstrip("."), ROUND, ticks)

    def test_no_time_line(self):
        root = draw({"picture": {"traffic": [[0, 3], [2, 0]], "spans": [[], []]}})
        self.assertIn("no time line: the phases of products were not timed", texts(root))

    def test_output(self):
        with tempfile.TemporaryDirectory() as folder:
            report, svg = pathlib.Path(folder, "a.json"), pathlib.Path(folder, "b.svg")
            report.write_text(json.dumps(REPORT), encoding="utf-8")
            self.assertEqual(plot(report, svg).returncode, 0)
            self.assertEqual(plot(report).returncode, 0)
            self.assertEqual(report.with_suffix(".svg").read_bytes(), svg.read_bytes())
            report.with_suffix(".svg").unlink()
            self.assertEqual(plot(report, "-").stdout, svg.read_text(encoding="utf-8"))
            svg.write_text("kept", encoding="ascii")
            for target, words, limit in (
                    (svg, "File too large", 100), ("/no/such/a.svg", "No such file", None),
                    *[("/dev/full", "No space left", None)] * os.path.exists("/dev/full")):
                done = plot(report, target, preexec_fn=lambda: limit and resource.setrlimit(
                    resource.RLIMIT_FSIZE, (limit, limit)))
                self.assertEqual(done.returncode, 1, done)
                self.assertRegex(done.stderr, f"^spmm_dist_plot: cannot write .*: {words}.*\n$")
            self.assertEqual(svg.read_text(encoding="ascii"), "kept")
            self.assertEqual(sorted(os.listdir(folder)), ["a.json", "b.svg"])

    def test_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            for text, words in (("{", "cannot read"), ("[]", "has no picture"),
                                ('{"picture": null}', "has no picture"), (None, "cannot read"),
                                ('{"picture": 3}', "not whole"),
                                ('{"picture": {"traffic": [[1]]}}', "not whole"),
                                ('{"picture": {"traffic": [], "spans": []}}', "not whole"),
                                ('{"picture": {"traffic": [[0]], "spans": [[{"to_s": 1}]]}}',
                                 "not whole")):
                path = pathlib.Path(folder, "a.json")
                path.unlink(missing_ok=True)
                if text is not None:
                    path.write_text(text, encoding="ascii")
                done = plot(path)
                self.assertEqual(done.returncode, 1, done)
                self.assertRegex(done.stderr, f"^spmm_dist_plot: .*{words}.*\n$")
                self.assertFalse(path.with_suffix(".svg").exists())
        for args in ((), ("a", "b", "c")):
            self.assertEqual(plot(*args).returncode, 2)
        self.assertIn("spmm_dist_plot [-h] REPORT.json [PICTURE.svg]", plot("--help").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
