#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of bench_ladder in short.

    bench/papers/tiles.py RESULT.tsv

Prints, as Markdown: times of all contenders side by side, one line for each matrix and N; where
matrices are `xdys` with the same share of tiles, the gain of bcsr-sp24 over bcsr against Amdahl's
bound, from its gain where all tiles are 2:4; and the geometric mean of each contender's ratio to
cusparse, with the least."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import table  # noqa: E402

FLOATS = (
    "median_ms",
    "sp24_percent",
    "gflops",
    "tile_tflops",
    "to_OBT",
    "to_cusparse",
     "max_error")


def cases(rows):
    """(matrix, N) -> contender -> row, in their order; wrong results are left out and counted."""
    found, wrong = {}, []
    for row in rows:
        if row["passed"] != "yes":
            wrong.append(row)
            continue
        for name in FLOATS:
            row[name] = None if row[name] in (None, "-") else float(row[name])
        found.setdefault((row["matrix"], row["N"]), {})[row["variant"]] = row
    return found, wrong


def side_by_side(found):
    names = list(dict.fromkeys(name for case in found.values() for name in case))
    yield "| matrix | N | 2:4 % | " + " | ".join(names) + " |"
    yield "|---|---:|---:|" + "---:|" * len(names)
    for (matrix, n), case in found.items():
        times = [f"{case[name]['median_ms']:.4f}" if name in case else "-" for name in names]
        share = next(iter(case.values()))["sp24_percent"]
        yield f"| {table.stem(matrix)} | {n} | {share:.1f} | " + " | ".join(times) + " |"


def spec(matrix):
    """The kind and numbers of a generator's spec, None of a file."""
    parts = re.fullmatch(r"(\w+):(.*)", matrix)
    if not parts:
        return None, {}
    return parts[1], {key: float(value) for key, value in
                      (pair.split("=") for pair in parts[2].split(","))}


def gain(case, slow="bcsr", fast="bcsr-sp24"):
    return case[slow]["median_ms"] / \
        case[fast]["median_ms"] if slow in case and fast in case else None


def amdahl(found):
    """Of tiles of a kind that take their share of the time: 1 / (1 - s + s / r)."""
    groups = {}
    for (matrix, n), case in found.items():
        kind, keys = spec(matrix)
        tiles = keys.get("dense", 0) + keys.get("sp24", 0)
        if kind == "xdys" and tiles > 0 and gain(case):
            groups.setdefault((keys["size"], round(tiles, 6), n), {})[keys["sp24"] / tiles] = case
    lines = []
    for (size, tiles, n), group in groups.items():
        if 1.0 not in group or len(group) < 3:
            continue
        most = gain(group[1.0])
        for share, case in sorted(group.items()):
            bound = 1 / (1 - share + share / most)
            ladder = gain(case, "OBT", "OBTS_large_separate")
            lines.append(f"| {size:.0f} | {tiles:g} | {n} | {100 * share:.0f} | {gain(case):.3f} | "
                         f"{bound:.3f} | {'-' if ladder is None else f'{ladder:.3f}'} |")
    if lines:
        yield "| size | tiles | N | 2:4 % | bcsr / bcsr-sp24 | Amdahl | OBT / OBTS_large_separate |"
        yield "|---:|---:|---:|---:|---:|---:|---:|"
        yield from lines


def means(found):
    names = list(dict.fromkeys(name for case in found.values() for name in case))
    widths = list(dict.fromkeys(n for _, n in found))
    yield "| contender | N | matrices | geomean to cusparse | least | at |"
    yield "|---|---:|---:|---:|---:|---|"
    for name in names:
        for n in widths:
            ratios = [(case[name]["to_cusparse"], matrix) for (matrix, m), case in found.items()
                      if m == n and name in case and case[name]["to_cusparse"]]
            if ratios and name != "cusparse":
                least = min(ratios)
                mean = table.geomean(r for r, _ in ratios)
                yield (f"| {name} | {n} | {len(ratios)} | {mean:.3f} | "
                       f"{least[0]:.3f} | {table.stem(least[1])} |")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(f"usage: {sys.argv[0]} RESULT.tsv", file=sys.stderr)
        return 2
    found, wrong = cases(table.read(sys.argv[1], ("matrix", "N", "variant", "passed"))[2])
    for part in (side_by_side, amdahl, means):
        lines = list(part(found))
        if lines:
            print("\n".join(lines) + "\n")
    for row in wrong:
        print(f"wrong: {row['variant']} on {row['matrix']}, N = {row['N']}: {row['max_error']}",
              file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    table.run(main)
