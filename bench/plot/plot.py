#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A figure of the ratio to cuSPARSE, for each matrix and width, of the engines in result files.

    bench/plot/plot.py [--engines auto,bittcf] OUT.svg RESULT.tsv...

One panel for each N, matrices by their entries, one mark for each engine, mode and, where those
are not enough to tell them apart, file.  The same files give the same bytes."""
import argparse
import math
import pathlib
import sys
from xml.sax.saxutils import escape

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH / "common")]
import table  # noqa: E402

STEP, LEFT, RIGHT, PANEL, GAP, TOP, BOTTOM = 17, 62, 20, 210, 46, 40, 130
# Distinct also without colour vision (Okabe and Ito), and by shape.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
REFERENCE = "cusparse"


# Marks around (0, 0): circle, square, triangle, diamond, cross.
SHAPES = ("m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z", "m-3.2 -3.2h6.4v6.4h-6.4z",
          "m0 -4.4l4.2 7.6h-8.4z", "m0 -4.8l4.2 4.8l-4.2 4.8l-4.2 -4.8z",
          "m-3.4 -3.4l6.8 6.8m0 -6.8l-6.8 6.8")


def marks(kind, points, colour):
    """All of a series as one path, so that a figure has few elements."""
    paint = (f'stroke="{colour}" stroke-width="1.6" fill="none"' if kind % 5 == 4
             else f'fill="{colour}"')
    path = "".join(f"M{x:.1f} {y:.1f}{SHAPES[kind % 5]}" for x, y in points)
    return f'<path d="{path}" {paint}/>'


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(words)}</text>'


def load(paths, engines):
    """label -> {(matrix, N): ratio}, and matrix -> entries."""
    parts = []
    for path in paths:
        rows = table.read(path, ("matrix", "nnz", "engine", "N", "ratio_to_cusparse"))[2]
        for row in rows:
            if table.counts(row) and (row["engine"] in engines if engines
                                      else row["engine"] != REFERENCE):
                parts.append(((row["engine"], table.mode(row), pathlib.Path(path).stem), row))
    # The shortest labels that tell files apart only where one holds the same engine and mode.
    files, series, entries = {}, {}, {}
    for (engine, compute, file), _ in parts:
        files.setdefault((engine, compute), set()).add(file)
    for (engine, compute, file), row in parts:
        label = f"{engine}, {compute}"
        if len(files[engine, compute]) > 1:
            label += f", {file}"
        matrix = table.stem(row["matrix"])
        series.setdefault(label, {})[matrix, row["N"]] = row["ratio_to_cusparse"]
        entries[matrix] = row["nnz"]
    return series, entries


def ticks(low, high):
    """Round numbers that are in between."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    candidates = [m * 10.0**e for e in range(first, last + 1) for m in (1, 1.5, 2, 3, 5, 7)]
    return [t for t in candidates if low <= t <= high]


class Panel:
    """The axes of one N."""

    def __init__(self, top, width, low, high):
        self.top, self.width, self.low, self.high = top, width, low, high

    def y(self, ratio):
        part = math.log(ratio / self.low) / math.log(self.high / self.low)
        return self.top + PANEL * (1 - part)

    def axes(self, n, count):
        lines = [text(LEFT - 46, self.top + PANEL / 2, f"ratio to cuSPARSE, N = {n}", extra=(
            f' transform="rotate(-90 {LEFT - 46} {self.top + PANEL / 2:.1f})"'))]
        columns = "".join(f"M{LEFT + (k + 0.5) * STEP:.1f} {self.top}v{PANEL}"
                          for k in range(count))
        at = {tick: self.y(tick) for tick in ticks(self.low, self.high)}
        rows = "".join(f"M{LEFT} {y:.1f}h{self.width}" for y in at.values())
        lines.append(f'<path d="{columns}{rows}" stroke="#e4e4e4"/>')
        lines.append(f'<path d="M{LEFT} {self.y(1):.1f}h{self.width}" stroke="#444444"/>')
        lines += [text(LEFT - 6, y + 4, f"{tick:g}", "end") for tick, y in at.items()]
        lines.append(f'<rect x="{LEFT}" y="{self.top}" width="{self.width}" height="{PANEL}" '
                     'fill="none" stroke="#444444"/>')
        return lines


def draw(series, entries, columns):
    """The lines of the figure."""
    matrices = sorted(entries, key=lambda name: (entries[name], name))
    ratios = [r for s in series.values() for (m, n), r in s.items() if n in columns]
    low, high = min(ratios + [0.8]) / 1.08, max(ratios + [1.25]) * 1.08
    width = STEP * len(matrices)
    legend = 26 + 16 * len(series)
    height = TOP + len(columns) * (PANEL + GAP) - GAP + BOTTOM + legend
    total = max(LEFT + width + RIGHT, 420)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" '
             f'viewBox="0 0 {total} {height}" font-family="sans-serif" font-size="11">',
             f'<rect width="{total}" height="{height}" fill="#ffffff"/>',
             text(LEFT, 22, "Speed-up over cuSPARSE; matrices by their number of entries",
                  "start", ' font-size="13"')]
    labels = list(series)
    for p, n in enumerate(columns):
        panel = Panel(TOP + p * (PANEL + GAP), width, low, high)
        lines += panel.axes(n, len(matrices))
        for s, label in enumerate(labels):
            points = [(LEFT + (k + 0.5) * STEP, panel.y(series[label][matrix, n]))
                      for k, matrix in enumerate(matrices) if (matrix, n) in series[label]]
            lines.append(marks(s, points, COLOURS[s % len(COLOURS)]))
    below = TOP + len(columns) * (PANEL + GAP) - GAP
    for k, matrix in enumerate(matrices):
        x, y = LEFT + (k + 0.5) * STEP + 4, below + 10
        lines.append(text(x, y, matrix, "end", f' transform="rotate(-60 {x:.1f} {y:.1f})"'))
    for s, label in enumerate(labels):
        y = below + BOTTOM + 16 * (s + 1)
        means = []
        for n in columns:
            mean = table.geomean(r for (m, here), r in series[label].items() if here == n)
            means.append(table.shown(mean, 2))
        lines.append(marks(s, [(LEFT + 6, y - 4)], COLOURS[s % len(COLOURS)]))
        lines.append(text(LEFT + 18, y, f"{label}: geomean {' / '.join(means)} at N = "
                          f"{' / '.join(map(str, columns))}", "start"))
    return lines + ["</svg>"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--engines", help="names with commas between them [all but cusparse]")
    parser.add_argument("out")
    parser.add_argument("result", nargs="+", help="tables of spmm_bench")
    options = parser.parse_args()
    series, entries = load(options.result,
                           options.engines.split(",") if options.engines else None)
    columns = sorted({n for found in series.values() for _, n in found})
    if not columns:
        raise table.TableError("no row to draw in the results")
    figure = "\n".join(draw(series, entries, columns)) + "\n"
    pathlib.Path(options.out).write_text(figure, encoding="utf-8")


if __name__ == "__main__":
    table.run(main)
