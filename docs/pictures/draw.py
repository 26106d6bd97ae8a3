#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of docs/explanation/how_it_works.md into the folder of this script, or into
FOLDER.

draw.py [FOLDER]    windows.svg, plan.svg, schedules.svg (plot.svg is made by spmm_dist_plot)"""
import pathlib
import random
import sys

COLOURS = ["#4477aa", "#ee6677", "#228833"]
PHASES = {"pack": "#bdbdbd", "exchange": "#404040", "local": "#8c6d31", "halo": "#e7cb94",
          "copy": "#a6bddb"}


class Svg:
    def __init__(self, width, height):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
            '<!-- SPDX-License-Identifier: Apache-2.0; made by docs/pictures/draw.py -->',
            '<rect width="100%" height="100%" fill="white"/>',
            '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" '
            'orient="auto"><path d="M0 0L8 4L0 8z" fill="#444"/></marker></defs>']

    def rect(self, x, y, width, height, fill, stroke="none", opacity=1.0):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" '
                          f'stroke="{stroke}" fill-opacity="{opacity}"/>')

    def grid(self, x, y, columns, rows, width, height, stroke):
        """Lines between cells: one path."""
        across = "".join(f"M{x} {y + r * height}h{columns * width}" for r in range(rows + 1))
        down = "".join(f"M{x + c * width} {y}v{rows * height}" for c in range(columns + 1))
        self.parts.append(f'<path d="{across}{down}" fill="none" stroke="{stroke}"/>')

    def text(self, x, y, text, anchor="start", size=13):
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}">'
                          f'{text}</text>')

    def arrow(self, x1, y1, x2, y2):
        self.parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#444" '
                          'stroke-width="1.5" marker-end="url(#tip)"/>')

    def save(self, path):
        path.write_text("\n".join(self.parts + ["</svg>"]) + "\n", encoding="utf-8")


def windows(path):
    """One window of 8 rows: its entries, its active columns, its TC blocks."""
    rng = random.Random(4)
    rows, cols, cell = 8, 36, 12
    active = sorted(rng.sample(range(cols), 13))
    entries = {(rng.randrange(rows), c) for c in active for _ in range(3)}
    svg = Svg(920, 330)
    svg.text(20, 24, "a window: 8 rows of A, and the columns in which it has an entry")
    for c in active:
        svg.rect(20 + c * cell, 36, cell, rows * cell, "#eeeeee")
    for r, c in sorted(entries):
        svg.rect(20 + c * cell, 36 + r * cell, cell, cell, COLOURS[0])
    svg.grid(20, 36, cols, rows, cell, cell, "#ddd")
    svg.arrow(230, 142, 230, 176)
    svg.text(244, 164, "keep the active columns only, in blocks of 8")
    for k, c in enumerate(active):
        x = 20 + k * 22 + (k // 8) * 24
        svg.text(x + 11, 198, str(c), "middle", 10)
        for r in range(rows):
            if (r, c) in entries:
                svg.rect(x, 204 + r * 14, 22, 14, COLOURS[0])
    padding = 16 - len(active)
    svg.rect(20 + len(active) * 22 + 24, 204, padding * 22, rows * 14, "#f0f0f0")
    for x in (20, 20 + 8 * 22 + 24):
        svg.grid(x, 204, 8, rows, 22, 14, "#bbb")
    count = len(entries)
    svg.text(430, 224, f"{count} entries in 2 TC blocks: a bit for each place (64 bits a block),")
    svg.text(430, 244, "the values one after the other, the columns once for the block.")
    svg.text(430, 270, f"Each of the {len(active)} rows of B is loaded once for the 8 rows of A,")
    svg.text(430, 290, f"not once for each of the {count} entries.")
    svg.save(path)


def plan(path):
    """Three ranks: diagonal and off-diagonal blocks of A, own and ghost rows of B."""
    svg = Svg(870, 380)
    size, step = 240, 80
    svg.text(60, 30, "A")
    svg.text(430, 30, "B")
    svg.text(640, 30, "C")
    halo = {0: [(1, 100), (1, 118)], 1: [(0, 62), (2, 170)], 2: [(1, 140)]}
    for p in range(3):
        top = 44 + p * (step + 22)
        svg.text(20, top + 46, f"rank {p}")
        svg.rect(60 + 22, top, size, step, "none", "#888")
        svg.rect(82 + p * step, top, step, step, COLOURS[p], "none", 0.75)
        for _, at in halo[p]:
            svg.rect(82 + at, top, 5, step, COLOURS[p], "none", 0.45)
        svg.rect(430, top, 60, step, COLOURS[p], "#888", 0.75)
        for k, (owner, _) in enumerate(halo[p]):
            svg.rect(510, top + 8 + 16 * k, 60, 8, COLOURS[owner], "#888", 0.75)
            svg.arrow(492, 44 + owner * (step + 22) + (66 if owner < p else 14), 508,
                      top + 12 + 16 * k)
        svg.text(540, top + 70, "ghost rows", "middle", 11)
        svg.rect(640, top, 60, step, COLOURS[p], "#888", 0.35)
        svg.text(710, top + 36, "= diagonal x own rows", size=11)
        svg.text(710, top + 52, "+ off-diagonal x ghost rows", size=11)
    svg.text(82, 364, "dark: the diagonal block, columns this rank owns; stripes: the "
             "off-diagonal block, of which only non-empty columns exist")
    svg.save(path)


def schedules(path):
    """Streams of overlap in one and in two chunks and of merged; lengths are an example."""
    svg = Svg(820, 330)
    lanes = {
        "overlap": [("user", [("local", 0, 120), ("halo", 215, 90)]),
                    ("comm", [("pack", 0, 35), ("exchange", 35, 180)])],
        "in 2 chunks": [("user", [("local", 0, 120), ("halo", 120, 48), ("halo", 215, 48)]),
                        ("comm", [("pack", 0, 18), ("exchange", 18, 90), ("pack", 108, 18),
                                  ("exchange", 126, 89)])],
        "merged": [("user", [("copy", 0, 25), ("halo", 215, 170)]),
                   ("comm", [("pack", 0, 35), ("exchange", 35, 180)])],
    }
    for k, (name, of) in enumerate(lanes.items()):
        top = 24 + k * 96
        svg.text(20, top + 34, name)
        for lane, (stream, work) in enumerate(of):
            y = top + 8 + lane * 26
            svg.text(170, y + 15, stream + " stream", "end", 11)
            for phase, start, length in work:
                svg.rect(180 + 1.6 * start, y, 1.6 * length, 22, PHASES[phase], "white")
    names = {"pack": "pack", "exchange": "exchange", "local": "diagonal block",
             "halo": "product with ghost rows", "copy": "copy of own rows"}
    for k, (phase, text) in enumerate(names.items()):
        svg.rect(20 + 160 * k, 306, 12, 12, PHASES[phase])
        svg.text(38 + 160 * k, 317, text, size=11)
    svg.save(path)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    windows(folder / "windows.svg")
    plan(folder / "plan.svg")
    schedules(folder / "schedules.svg")


if __name__ == "__main__":
    main()
