#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time over the number of columns, from tables of spmm_bench with many widths (--columns).

    bench/plot/widths.py OUT.tsv OUT.svg RESULT.tsv...

A width is a cliff where it takes longer than the next multiple of 8 (16 for types of 16 bits) by
more than 2 % and 0.3 us.  The table has a line for each matrix, type and width; its last lines,
with #, say how many widths are cliffs.  Several rows of one width count by their least time."""
import argparse
import pathlib
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH / "common")]
import table  # noqa: E402
from plot import COLOURS, text  # noqa: E402, beside this file

NOISE_US, MORE = 0.3, 1.02
WIDTH, HEIGHT, LEFT, TOP, GAP, LEGEND = 420, 220, 62, 40, 60, 150


def load(paths):
    """(type, matrix) -> {N: (us, engine)}, and the comments of all files."""
    lines, comments = {}, []
    for path in paths:
        head, _, rows = table.read(path, ("matrix", "N", "type", "engine", "chosen", "median_ms"))
        comments += [c for c in head if not c.startswith("summary") and c not in comments]
        for row in rows:
            if row.get("passed", "yes") == "yes" and row["engine"] == "auto":
                line = lines.setdefault((row["type"], table.stem(row["matrix"])), {})
                point = (1e3 * row["median_ms"], row["chosen"])
                line[row["N"]] = min(point, line.get(row["N"], point))
    return lines, comments


def cliffs(kind, line):
    """Widths above what the next multiple allows, as (N, us, us of the multiple)."""
    step, found = 16 if kind.startswith("16") else 8, []
    for n, (us, _) in sorted(line.items()):
        up = -(-n // step) * step
        if up in line and us > MORE * line[up][0] + NOISE_US:
            found.append((n, us, line[up][0]))
    return found


def report(lines, comments):
    """The lines of the table."""
    out = ["# " + c for c in comments] + ["\t".join(("type", "matrix", "N", "us", "engine"))]
    for (kind, matrix), line in sorted(lines.items()):
        out += ["\t".join((kind, matrix, str(n), f"{us:.2f}", engine))
                for n, (us, engine) in sorted(line.items())]
    for kind in sorted({kind for kind, _ in lines}):
        mine = {m: (cliffs(kind, line), len(line)) for (k, m), line in lines.items() if k == kind}
        worst = max((us / up, m, n) for m, (found, _) in mine.items()
                    for n, us, up in found or [(0, 0.0, 1.0)])
        out.append(f"# {kind}: {sum(len(f) for f, _ in mine.values())} of "
                   f"{sum(count for _, count in mine.values())} widths are cliffs; "
                   + (f"worst {worst[0]:.2f}, {worst[1]}, N = {worst[2]}" if worst[2] else "none"))
    return out


def panel(kind, lines, top):
    """The curves of one type."""
    mine = {m: line for (k, m), line in sorted(lines.items()) if k == kind}
    most_n = max(max(line) for line in mine.values())
    most = max(us for line in mine.values() for us, _ in line.values()) * 1.05

    def x(n):
        return LEFT + WIDTH * n / most_n

    def y(us):
        return top + HEIGHT * (1 - us / most)

    out = [text(LEFT, top - 8, f"{kind}: us of a product over its columns", "start")]
    for n in range(0, most_n + 1, 16):
        out.append(f'<path d="M{x(n):.1f} {top}v{HEIGHT}" stroke="#e4e4e4"/>')
        out.append(text(x(n), top + HEIGHT + 16, str(n)))
    for k in range(5):
        out.append(f'<path d="M{LEFT} {y(most * k / 4):.1f}h{WIDTH}" stroke="#e4e4e4"/>')
        out.append(text(LEFT - 6, y(most * k / 4) + 4, f"{most * k / 4:.0f}", "end"))
    for k, (matrix, line) in enumerate(mine.items()):
        points = " ".join(f"{x(n):.1f},{y(us):.1f}" for n, (us, _) in sorted(line.items()))
        colour = COLOURS[k % len(COLOURS)]
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
        out.append(f'<path d="M{LEFT + WIDTH + 12} {top + 16 * k + 4}h14" stroke="{colour}"/>')
        out.append(text(LEFT + WIDTH + 30, top + 16 * k + 8, matrix, "start"))
    return out


def draw(lines):
    """The text of the figure; the same rows give the same bytes."""
    kinds = sorted({kind for kind, _ in lines}, reverse=True)
    total, height = LEFT + WIDTH + LEGEND, TOP + len(kinds) * (HEIGHT + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" '
           f'viewBox="0 0 {total} {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{total}" height="{height}" fill="#ffffff"/>']
    for k, kind in enumerate(kinds):
        out += panel(kind, lines, TOP + k * (HEIGHT + GAP))
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("out_tsv")
    parser.add_argument("out_svg")
    parser.add_argument("result", nargs="+", help="tables of spmm_bench")
    options = parser.parse_args()
    lines, comments = load(options.result)
    if not lines:
        raise table.TableError("no row of engine auto in the results")
    written = report(lines, comments)
    pathlib.Path(options.out_tsv).write_text("\n".join(written) + "\n", encoding="utf-8")
    pathlib.Path(options.out_svg).write_text(draw(lines), encoding="utf-8")
    print("\n".join(line for line in written if "cliffs" in line))


if __name__ == "__main__":
    table.run(main)
