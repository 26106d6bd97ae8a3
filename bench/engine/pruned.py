#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products with pruned weights in FP16 on one GPU, by default plans and by engines, beside dense
ones by cuBLASLt (engine dense) and cuSPARSE in the same run: a table, a figure of the speed over
the density, and where each length of vectors passes the dense product.

    bench/engine/pruned.py BUILD/tools/spmm_bench OUT.tsv OUT.svg
    bench/engine/pruned.py OUT.tsv OUT.svg                    draws the table again

Weights of the shapes of DLMC's layers, Transformer and ResNet-50, pruned in vectors of V rows.
"""
import math
import pathlib
import re
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH / "common"), str(BENCH / "plot")]
import table  # noqa: E402
from plot import COLOURS, marks, text  # noqa: E402

SHAPES = ((512, 512), (2048, 512), (512, 2048), (2048, 1024), (512, 4608))
ZEROS, VECTORS, WIDTHS = (70, 80, 90, 92, 95, 97, 98), (8, 4, 2, 1), (128, 256, 512)
SPARSE = ("cvse", "csr-gpu")
TITLES = ("rows", "cols", "zeros", "V", "N", "engine", "sparse_us", "dense_us", "cusparse_us",
          "auto", "auto_us")
WIDTH, HEIGHT, LEFT, TOP, GAP = 230, 230, 58, 44, 34


def measure(program, v, folder):
    """Rows of spmm_bench for vectors of v rows, and its comments."""
    specs = [f"--generate=pruned:rows={m},cols={k},sparsity={z / 100},vector={v}"
             for z in ZEROS for m, k in SHAPES]
    out = folder / "rows.tsv"
    subprocess.run([program, *specs, "--type", "16f", "--tuning", "order=none",
                    "--columns", ",".join(map(str, WIDTHS)), "--check", "20000000",
                    "--engines", ",".join(("cusparse", *SPARSE, "dense", "auto")), "--out", out],
                   check=True, stdout=subprocess.DEVNULL)
    comments, _, rows = table.read(out, ("matrix", "N", "engine", "median_ms", "chosen", "passed"))
    return [c for c in comments if not c.startswith(("summary", "command"))], rows


def condense(rows):
    """A line for each matrix and N; a product that is wrong is no time."""
    cases = {}
    for row in rows:
        if row["passed"] == "yes":
            cases.setdefault((row["matrix"], row["N"]), {})[row["engine"]] = row
    for (matrix, n), took in cases.items():
        m, k, sparsity, v = re.findall(r"=([\d.]+)", matrix)
        us = {engine: 1e3 * row["median_ms"] for engine, row in took.items()}
        best = min((e for e in SPARSE if e in us), key=us.get)
        yield dict(zip(TITLES, (m, k, f"{100 * float(sparsity):.0f}", v, n, best,
                                *(f"{us[e]:.2f}" for e in (best, "dense", "cusparse")),
                                took["auto"]["chosen"], f"{us['auto']:.2f}")))


def speedups(lines, over, by="sparse_us"):
    """(V, N) -> {zeros: geometric mean over shapes of the speed-up}."""
    parts = {}
    for line in lines:
        parts.setdefault((int(line["V"]), int(line["N"])), {}).setdefault(
            int(line["zeros"]), []).append(float(line[over]) / float(line[by]))
    return {key: {z: table.geomean(found) for z, found in sorted(at.items())}
            for key, at in parts.items()}


def crossing(curve, level=1.0):
    """Zeros in percent from which on the curve stays above the level; by the logarithm of the
    density in between, None: never."""
    points = sorted(curve.items())
    if points[-1][1] < level:
        return None
    at = points[0][0]
    for (z, low), (after, high) in zip(points, points[1:]):
        if low < level <= high:
            part = math.log(level / low) / math.log(high / low)
            at = 100 - (100 - z) * ((100 - after) / (100 - z)) ** part
    return at


def report(lines):
    """The crossing points."""
    for over, level in (("dense_us", 1.0), ("dense_us", 1.2), ("cusparse_us", 1.0)):
        for (v, n), curve in speedups(lines, over).items():
            at = crossing(curve, level)
            yield (f"V={v} N={n}: {level} of {over[:-3]} from "
                   + ("-" if at is None else f"{at:.1f}") + " % zeros")
    for over in ("dense_us", "cusparse_us"):
        ratios = [float(x[over]) / float(x["auto_us"]) for x in lines]
        yield (f"auto over {over[:-3]}: geomean {table.geomean(ratios):.2f}, least "
               f"{min(ratios):.2f}, below 0.97: {sum(r < 0.97 for r in ratios)} of {len(ratios)}")


def panel(lines, n, left, low, high):
    """The curves of one N."""
    densest, thinnest = 100 - min(ZEROS), 100 - max(ZEROS)

    def x(zeros):
        return left + WIDTH * math.log(densest / (100 - zeros)) / math.log(densest / thinnest)

    def y(ratio):
        return TOP + HEIGHT * (1 - math.log(ratio / low) / math.log(high / low))

    out = [text(left + WIDTH / 2, TOP - 8, f"N = {n}")]
    for z in ZEROS:
        out.append(f'<path d="M{x(z):.1f} {TOP}v{HEIGHT}" stroke="#e4e4e4"/>')
        out.append(text(x(z), TOP + HEIGHT + 16, f"{z}"))
    for tick in (0.125, 0.25, 0.5, 1, 2, 4):
        if low <= tick <= high:
            out.append(f'<path d="M{left} {y(tick):.1f}h{WIDTH}" stroke="#e4e4e4"/>')
            out.append(text(left - 6, y(tick) + 4, f"{tick:g}", "end"))
    out.append(f'<path d="M{left} {y(1):.1f}h{WIDTH}" stroke="#000000" stroke-width="1.6"/>')
    for by, dashes in (("sparse_us", ""), ("cusparse_us", ' stroke-dasharray="3 3"')):
        curves = speedups(lines, "dense_us", by)
        for k, v in enumerate(VECTORS):
            points = [(x(z), y(r)) for z, r in curves[v, n].items()]
            line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
            out.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[k]}"{dashes}/>')
            out += [marks(k, points, COLOURS[k])] if not dashes else []
    return out


def draw(lines):
    """The text of the figure; the same table gives the same bytes."""
    ratios = [r for by in ("sparse_us", "cusparse_us")
              for curve in speedups(lines, "dense_us", by).values() for r in curve.values()]
    low, high = min(ratios) / 1.1, max(ratios) * 1.1
    total, height = len(WIDTHS) * (LEFT + WIDTH) + 20, TOP + HEIGHT + GAP + 20 * len(VECTORS) + 20
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" '
           f'viewBox="0 0 {total} {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{total}" height="{height}" fill="#ffffff"/>',
           text(LEFT, 20, "Pruned weights, FP16: speed over the dense product (line at 1) by "
                "percent of zeros, geometric means of shapes", "start", ' font-size="13"')]
    for k, n in enumerate(WIDTHS):
        out += panel(lines, n, LEFT + k * (LEFT + WIDTH), low, high)
    for k, v in enumerate(VECTORS):
        y = TOP + HEIGHT + GAP + 20 * k + 12
        out.append(marks(k, [(LEFT + 8, y - 4)], COLOURS[k]))
        out.append(text(LEFT + 20, y, f"V = {v}: fastest sparse engine; dashed: cuSPARSE", "start"))
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) not in (3, 4):
        print(f"usage: {sys.argv[0]} [SPMM_BENCH] OUT.tsv OUT.svg", file=sys.stderr)
        return 2
    to, picture = map(pathlib.Path, sys.argv[-2:])
    if len(sys.argv) == 4:
        lines = []
        for v in VECTORS:
            with tempfile.TemporaryDirectory() as folder:
                comments, rows = measure(sys.argv[1], v, pathlib.Path(folder))
            lines += condense(rows)
            head = ["made by bench/engine/pruned.py", *comments]
            to.write_text("\n".join(["# " + c for c in head] + ["\t".join(TITLES)]
                                    + ["\t".join(map(str, x.values())) for x in lines])
                          + "\n", encoding="utf-8")
    lines = table.read(to, TITLES)[2]
    picture.write_text(draw(lines), encoding="utf-8")
    print("\n".join(report(lines)))
    return 0


if __name__ == "__main__":
    table.run(main)
