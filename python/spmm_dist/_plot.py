#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draw the report of a product, which spmm_dist --json wrote, as SVG: the entries of A by rank, the
rows that travel between ranks, and when each phase of the last product ran.  This file is also the
program spmm_dist_plot, which needs Python alone."""
from __future__ import annotations

import argparse
import json
import math
import os
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union
from xml.sax.saxutils import escape

# Hues tell ranks apart, and ranks beyond take them again; phases have greys and browns.
_RANKS = ("#4477aa", "#ee6677", "#228833", "#aa3377", "#f58231", "#66ccee", "#33bb99", "#8172b3")
_PHASES = {"pack": "#bdbdbd", "exchange": "#404040", "local": "#8c6d31", "halo": "#e7cb94"}
_WIDTH, _LEFT, _TOP, _SIDE, _RIGHT, _TRAFFIC, _LINE = 1000, 84, 124, 400, 580, 340, 880
_WORDS, _NUMBERS = 16, 14  # sizes of text, for a projector
_LEVELS = 4  # of density


class Picture:
    """An SVG picture: a notebook shows it, `str()` is its text, `save` writes it."""

    def __init__(self, svg: str) -> None:
        self._svg = svg

    def __str__(self) -> str:
        return self._svg

    def __repr__(self) -> str:
        return f"<spmm_dist picture, {len(self._svg)} characters of SVG>"

    def _repr_svg_(self) -> str:
        return self._svg

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Write it to a file, which has its name when it is whole."""
        text = self._svg.encode("utf-8")
        if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe
            with open(path, "wb") as out:
                out.write(text)
            return
        path = os.path.realpath(path)
        part = f"{path}.{os.getpid()}.tmp"
        try:
            with open(part, "wb") as out:
                out.write(text)
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise


def _text(x: float, y: float, words: str, anchor: str = "start", size: float = _WORDS,
          more: str = "") -> str:
    words = "".join(c if c.isprintable() else "?" for c in str(words))
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}"{more}>'
            f'{escape(words)}</text>')


def _count(number: float) -> str:
    """To three digits."""
    number = float(f"{number:.3g}")
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:g}{letter}"
    return f"{number:g}"


def _axis(x: float, y: float, words: str, down: bool = False) -> str:
    """The name of an axis, in the middle of it."""
    return _text(x, y, words, "middle",
                 more=f' transform="rotate(-90 {x:.1f} {y:.1f})"' if down else "")


def _box(x: float, y: float, width: float, height: float, colour: str, title: str = "",
         more: str = "") -> str:
    inner = f"><title>{escape(title)}</title></rect>" if title else "/>"
    return (f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" '
            f'fill="{colour}"{more}{inner}')


def _line(x: float, y: float, to_x: float, to_y: float, colour: str = "#888",
          kind: str = "tick") -> str:
    return (f'<line class="{kind}" x1="{x:.2f}" y1="{y:.2f}" x2="{to_x:.2f}" y2="{to_y:.2f}" '
            f'stroke="{colour}"/>')


def _step(most: float, ticks: int, least: float = 0.0) -> float:
    """1, 2 or 5 times a power of ten, for at most so many ticks up to `most`."""
    step = max(most / ticks, least) or 1.0
    power = 10.0 ** math.floor(math.log10(step) + 1e-9)
    return next(m * power for m in (1, 2, 5, 10) if m * power >= step * (1 - 1e-9))


def _ticks(most: float, ticks: int, least: float = 0.0) -> List[float]:
    step = _step(most, ticks, least)
    return [k * step for k in range(int(most / step * (1 + 1e-9)) + 1)]


def _place(index: float, counts: Sequence[int], first: Sequence[int]) -> float:
    """The cell of row (column) `index` in the order of the plan, as a fraction of all cells."""
    for rank, count in enumerate(counts):
        if index < count:
            return (first[rank] + (first[rank + 1] - first[rank]) * index / count) / first[-1]
        index -= count
    return 1.0


def _level(entries: int, most: int) -> int:
    """1 to _LEVELS by the logarithm of the entries of a cell; 0: empty."""
    if entries == 0:
        return 0
    return min(_LEVELS, 1 + int(_LEVELS * math.log(entries) / math.log(most + 1)))


def _runs(cells: Sequence[Sequence[int]], rows: Sequence[int], level: int, most: int) -> str:
    """The cells of one rank and level, as a path of horizontal runs."""
    path = []
    for i in rows:
        levels = [_level(n, most) for n in cells[i]] + [-1]
        start = 0
        for j in range(1, len(levels)):
            if levels[j] != levels[start]:
                if levels[start] == level:
                    path.append(f"M{start} {i}h{j - start}v1h-{j - start}z")
                start = j
    return "".join(path)


def _opacity(level: int) -> float:
    return 0.4 + 0.6 * level / _LEVELS


def _legend(x: float, y: float, entries: Sequence[Tuple[str, str, str]]) -> List[str]:
    """Swatches side by side, of (colour, word, attributes of the swatch)."""
    parts: List[str] = []
    for colour, word, more in entries:
        parts += [_box(x, y - 12, 14, 14, colour, more=more), _text(x + 20, y, word)]
        x += 36 + 8.8 * len(word)
    return parts


def _rank_legend(x: float, y: float, ranks: int) -> List[str]:
    shown = min(ranks, len(_RANKS))
    entries = [(_RANKS[p], str(p) + (", ..." if p + 1 == shown < ranks else ""), "")
               for p in range(shown)]
    return [_text(x, y, "rank"), *_legend(x + 140, y, entries)]


def _density_legend(x: float, y: float, most: int) -> List[str]:
    """The least and the most entries that each level stands for."""
    entries, least = [], 1
    for level in range(1, _LEVELS + 1):
        beyond = math.ceil((most + 1) ** (level / _LEVELS) - 1e-9)
        if beyond > least:
            words = _count(least) + f" to {_count(beyond - 1)}" * (beyond > least + 1)
            entries.append(("#444", words, f' fill-opacity="{_opacity(level):.2f}"'))
        least = max(least, beyond)
    return [_text(x, y, "entries of a cell"), *_legend(x + 140, y, entries)]


def _matrix(picture: Dict[str, Any]) -> List[str]:
    """A in the order of the plan."""
    rows, columns, cells = picture["rows"], picture["columns"], picture["cells"]
    row_first, column_first = picture["first_row_cell"], picture["first_column_cell"]
    m, n = sum(rows), sum(columns)
    parts = [_text(_LEFT, _TOP - 14, "A in the order of the plan")]
    if not m or not n:
        return parts
    most = max(max(line) for line in cells)
    height, width = (_SIDE * max(0.25, min(1.0, a / b)) for a, b in ((m, n), (n, m)))
    parts.append(f'<g transform="translate({_LEFT} {_TOP}) '
                 f'scale({width / column_first[-1]:.5f} {height / row_first[-1]:.5f})">')
    for p in range(len(rows)):
        colour = _RANKS[p % len(_RANKS)]
        parts.append(_box(column_first[p], row_first[p], column_first[p + 1] - column_first[p],
                          row_first[p + 1] - row_first[p], colour, more=' fill-opacity="0.12"'))
        for level in range(1, _LEVELS + 1):
            path = _runs(cells, range(row_first[p], row_first[p + 1]), level, most)
            if path:
                parts.append(f'<path fill="{colour}" fill-opacity="{_opacity(level):.2f}" '
                             f'd="{path}"/>')
    parts += ["</g>", _box(_LEFT, _TOP, width, height, "none", more=' stroke="#888"')]
    for row in _ticks(m, 5, 1.0):
        y = _TOP + height * _place(row, rows, row_first)
        parts += [_line(_LEFT - 5, y, _LEFT, y),
                  _text(_LEFT - 8, y + 5, _count(row), "end", _NUMBERS)]
    for column in _ticks(n, 5 if width > 200 else 2, 1.0):
        x = _LEFT + width * _place(column, columns, column_first)
        bottom = _TOP + height
        parts += [_line(x, bottom, x, bottom + 5),
                  _text(x, bottom + 20, _count(column), "middle", _NUMBERS)]
    return parts + [_axis(_LEFT - 60, _TOP + height / 2, "row", down=True),
                    _axis(_LEFT + width / 2, _TOP + height + 42, "column"),
                    *_rank_legend(_LEFT, _TOP + _SIDE + 74, len(rows)),
                    *_density_legend(_LEFT, _TOP + _SIDE + 98, most)]


def _shade(part: float) -> str:
    return f' fill-opacity="{0.06 + 0.94 * part:.3f}" stroke="#ddd"'


def _traffic(rows: Sequence[Sequence[int]], nodes: Sequence[int], left: float) -> List[str]:
    """Rows that travel in a product: the receiver down, the sender across."""
    size, most = len(rows), max(map(max, rows))
    cell, bottom = _TRAFFIC / size, _TOP + _TRAFFIC
    heading = "rows that travel" + "; lines part nodes" * (nodes[0] != nodes[-1])
    parts = [_text(left, _TOP - 14, heading)]
    for to, line in enumerate(rows):
        for sender, count in enumerate(line):
            x, y = left + sender * cell, _TOP + to * cell
            part = count / most if most else 0.0
            parts.append(_box(x, y, cell, cell, "#333" if count else "white",
                              f"rank {to} from rank {sender}: {count} rows", _shade(part)))
            if size <= 8 and count:
                parts.append(_text(x + cell / 2, y + cell / 2 + 5, _count(count), "middle",
                                   min(_WORDS, 0.28 * cell),
                                   f' fill="{"white" if part > 0.65 else "black"}"'))
    for rank in _ticks(size - 1, 16, 1.0):
        at = (rank + 0.5) * cell
        parts += [_text(left - 8, _TOP + at + 5, f"{rank:.0f}", "end", _NUMBERS),
                  _text(left + at, bottom + 20, f"{rank:.0f}", "middle", _NUMBERS)]
    for p in range(1, size):
        if nodes[p] != nodes[p - 1]:
            at = p * cell
            parts += [_line(left + at, _TOP, left + at, bottom, "#222", "node"),
                      _line(left, _TOP + at, left + _TRAFFIC, _TOP + at, "#222", "node")]
    parts += [_axis(left - 40, _TOP + _TRAFFIC / 2, "receiving rank", down=True),
              _axis(left + _TRAFFIC / 2, bottom + 42, "sending rank")]
    if most:
        shades = [("#333" if count else "white", f"{_count(count)} rows", _shade(count / most))
                  for count in _ticks(most, 4, 1.0)]
        parts += _legend(left, bottom + 74, shades)
    return parts


def _lanes(spans: Sequence[Dict[str, Any]], y: float, lane: float, scale: float,
           rank: int) -> List[str]:
    """One rank: what moves rows above what multiplies."""
    parts = []
    for span in spans:
        moves = span["phase"] in ("pack", "exchange")
        parts.append(_box(
            _LEFT + span["from_s"] * scale, y + (0 if moves else lane),
            max(0.3, (span["to_s"] - span["from_s"]) * scale), lane, _PHASES[span["phase"]],
            f"rank {rank} {span['phase']} {span['chunk']}: {1e6 * span['from_s']:.3f} to "
            f"{1e6 * span['to_s']:.3f} µs"))
    return parts


def _times(spans: Sequence[Sequence[Dict[str, Any]]], top: float) -> Tuple[List[str], float]:
    """When each phase of the last product ran.  The parts, and where they end."""
    ranks = len(spans)
    end = max([span["to_s"] for mine in spans for span in mine], default=0.0)
    if not end:
        return [_text(_LEFT, top, "no time line: the phases of products were not timed")], top + 20
    parts = [_text(_LEFT, top, "the last product: rows move above, blocks multiply below"),
             *_legend(_LEFT + _LINE - 335, top, [(colour, phase, "") for phase, colour in
                                                 _PHASES.items()])]
    lane = max(2.0, min(14.0, 250.0 / ranks))
    first, pitch = top + 16, 2.4 * lane
    bottom = first + ranks * pitch
    unit, name = (1e6, "µs") if end < 1e-3 else (1e3, "ms")
    for tick in _ticks(end * unit, 10):
        x = _LEFT + _LINE * tick / (end * unit)
        parts += [_line(x, first, x, bottom + 5, "#ddd"),
                  _text(x, bottom + 22, f"{tick:g} {name}", "middle", _NUMBERS)]
    for rank, mine in enumerate(spans):
        parts += _lanes(mine, first + rank * pitch, lane, _LINE / end, rank)
    for at in _ticks(ranks - 1, 20, 1.0):
        parts.append(_text(_LEFT - 8, first + at * pitch + lane + 5, f"{at:.0f}", "end", _NUMBERS))
    parts += [_axis(_LEFT - 60, (first + bottom) / 2, "rank", down=True),
              _axis(_LEFT + _LINE / 2, bottom + 46, "time since the product began")]
    return parts, bottom + 62


def draw(report: Dict[str, Any]) -> Picture:
    """The Picture of a report of spmm_dist --json, as a dictionary.  Of `picture`, `traffic` and
    `spans` are enough; the words that are missing are left out."""
    picture, matrix = report["picture"], report.get("matrix", {})
    ranks = len(picture["traffic"])
    parts = [_text(_LEFT, 32, matrix.get("source", "a plan"), size=20)]
    words = [f"{ranks} rank{'s' * (ranks > 1)}"]
    if matrix:
        parts.append(_text(_LEFT, 56, f"{matrix['rows']:,} x {matrix['cols']:,}, "
                           f"{matrix['nnz']:,} entries"))
        words.append(f"partition {report['partition']['method']}")
    words += [f"{key} {report[key]}" for key in ("engine", "schedule", "transport")
              if report.get(key)]
    parts.append(_text(_LEFT, 78, "; ".join(words)))
    has_cells = "cells" in picture
    if has_cells:
        parts += _matrix(picture)
    parts += _traffic(picture["traffic"], picture.get("nodes", [0] * ranks),
                      _RIGHT if has_cells else _LEFT)
    lines, height = _times(picture["spans"], _TOP + (_SIDE if has_cells else _TRAFFIC) + 136)
    body = "\n".join(parts + lines)
    return Picture('<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" '
                   f'width="{_WIDTH}" height="{height:.0f}" '
                   f'viewBox="0 0 {_WIDTH} {height:.0f}">\n'
                   '<!-- SPDX-License-Identifier: Apache-2.0; made by spmm_dist_plot -->\n'
                   f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')


def main(arguments: Optional[Sequence[str]] = None) -> Union[int, str]:
    """The program; what it returns is 0, or the sentence that says what went wrong."""
    parser = argparse.ArgumentParser(prog="spmm_dist_plot", description=__doc__.split(".  ")[0])
    parser.add_argument("report", metavar="REPORT.json")
    parser.add_argument("picture", metavar="PICTURE.svg", nargs="?",
                        help="REPORT.svg unless given; - for the standard output")
    given = parser.parse_args(arguments)
    source, target = given.report, given.picture or os.path.splitext(given.report)[0] + ".svg"
    try:
        with open(source, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError) as error:
        return f"spmm_dist_plot: cannot read {source}: {error}"
    if not isinstance(report, dict) or not report.get("picture"):
        return (f"spmm_dist_plot: {source} has no picture: give a report of spmm_dist --json of at "
                "most 512 ranks and 2^26 rows and columns")
    try:
        picture = draw(report)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return (f"spmm_dist_plot: {source} is no report of spmm_dist --json: it is not whole "
                f"({type(error).__name__}: {error})")
    try:
        if target == "-":
            sys.stdout.buffer.write(str(picture).encode("utf-8"))
            sys.stdout.flush()
        else:
            picture.save(target)
    except OSError as error:
        return f"spmm_dist_plot: cannot write {target}: {error.strerror}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
