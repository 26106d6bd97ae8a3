#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A table of bench_published in short.

    bench/papers/ratios.py RESULT.tsv

Prints, as Markdown: of each variant and N the geometric mean of its time over that of the first
variant, all mechanisms of the paper, and over that of the library's engine, with the least and
where; the cases in which a variant is ahead of the engine; by class of TCU-Synergy the times of
the first variant over the engine and cusparse; and for each N the correlation of the logarithms of
modelled OI and GFLOP/s."""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import table  # noqa: E402

ENGINES = ("cusparse", "engine", "engine ordered")


def cases(rows):
    """(matrix, N) -> variant -> row of right results, and wrong rows."""
    found, wrong = {}, []
    for row in rows:
        if row["passed"] == "yes":
            found.setdefault((table.stem(row["matrix"]), row["N"]), {})[row["variant"]] = row
        else:
            wrong.append(row)
    return found, wrong


def over(found, name, base, n, kind=None):
    """[(time of name over that of base, matrix)]"""
    return [(case[name]["median_ms"] / case[base]["median_ms"], matrix)
            for (matrix, m), case in found.items()
            if m == n and name in case and base in case
            and kind in (None, case[name]["class"])]


def mean(ratios):
    return f"{table.geomean(r for r, _ in ratios):.2f}" if ratios else "-"


def by_variant(found, names, widths):
    first = next((n for n in names if n not in ENGINES), None)
    yield f"| variant | N | matrices | time over `{first}` | over the engine | least | at |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for name in names:
        for n in widths:
            mine, engine = over(found, name, first, n), over(found, name, "engine", n)
            least = min(engine, default=(math.nan, "-"))
            yield (f"| {name} | {n} | {len(mine)} | {mean(mine)} | {mean(engine)} | "
                   f"{least[0]:.2f} | {least[1]} |")


def ahead(found):
    lines = [f"| {matrix} | {n} | {name} | {row['median_ms'] / case['engine']['median_ms']:.2f} |"
             for (matrix, n), case in found.items() if "engine" in case
             for name, row in case.items()
             if name not in ENGINES and row["median_ms"] < 0.98 * case["engine"]["median_ms"]]
    yield f"Ahead of the engine by 2 % and more: {len(lines)} cases"
    if lines:
        yield "\n| matrix | N | variant | its time over that of the engine |\n|---|---:|---|---:|"
        yield from lines


def by_class(found, names, widths):
    first = next((n for n in names if n not in ENGINES), None)
    yield f"| TCU-Synergy | N | matrices | `{first}` over the engine | over cusparse |"
    yield "|---|---:|---:|---:|---:|"
    for kind in ("low", "medium", "high"):
        for n in widths:
            engine = over(found, first, "engine", n, kind)
            if engine:
                yield (f"| {kind} | {n} | {len(engine)} | {mean(engine)} | "
                       f"{mean(over(found, first, 'cusparse', n, kind))} |")


def correlation(pairs):
    """Of logarithms."""
    x, y = ([math.log(p[k]) for p in pairs] for k in (0, 1))
    mx, my = sum(x) / len(x), sum(y) / len(y)
    below = math.sqrt(sum((a - mx) ** 2 for a in x) * sum((b - my) ** 2 for b in y))
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / below if below > 0 else math.nan


def intensity(found, names, widths):
    first = next((n for n in names if n not in ENGINES), None)
    yield "| N | matrices | " + " | ".join(f"OI and GFLOP/s of {n}" for n in (first, "engine")) \
        + " |"
    yield "|---:|---:|---:|---:|"
    for n in widths:
        values = [[(float(case[name]["oi"]), case[name]["gflops"])
                   for (_, m), case in found.items() if m == n and name in case]
                  for name in (first, "engine")]
        if all(len(v) > 2 for v in values):
            yield f"| {n} | {len(values[0])} | " + " | ".join(
                f"{correlation(v):.2f}" for v in values) + " |"


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(f"usage: {sys.argv[0]} RESULT.tsv", file=sys.stderr)
        return 2
    found, wrong = cases(table.read(sys.argv[1], ("matrix", "N", "variant", "class", "oi"))[2])
    names = list(dict.fromkeys(name for case in found.values() for name in case))
    widths = sorted({n for _, n in found})
    for part in (by_variant(found, names, widths), ahead(found), by_class(found, names, widths),
                 intensity(found, names, widths)):
        print("\n".join(part) + "\n")
    for row in wrong:
        print(f"wrong: {row['variant']} on {row['matrix']}, N = {row['N']}: {row['max_error']}",
              file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    table.run(main)
