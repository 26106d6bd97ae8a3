#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results of spmm_bench in 16 bits beside cuSPARSE in FP32 and in 16 bits.

    bench/engine/half.py [--engine auto] RESULT.tsv...

RESULT is of --type 16f or 16bf, --yardstick 32f, with engine cusparse among its engines: the
fastest of cuSPARSE's CSR algorithms (ALG2 and ALG3 among them) in 16 bits, and cusparse-bell,
Blocked-ELL.  One line for each matrix and N, tab-separated, then per type and N the geometric means
and least ratios."""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import table  # noqa: E402

TITLES = ("matrix", "N", "type", "fp32_ms", "half_ms", "bell_ms", "engine_ms", "chosen", "to_fp32",
          "to_half", "to_bell")


def collect(rows):
    """(matrix, N, type) -> engine -> row, right results only."""
    found = {}
    for row in rows:
        if row.get("passed", "yes") == "yes" and row.get("median_ms"):
            found.setdefault((row["matrix"], row["N"], row["type"]), {})[row["engine"]] = row
    return found


def over(one, other):
    return one / other if one and other else None


def line_of(key, engines, name):
    """What TITLES say; None without a time of the engine."""
    ours = engines.get(name)
    if ours is None:
        return None
    took = {engine: row["median_ms"] for engine, row in engines.items()}
    fp32 = took.get("yardstick")
    if fp32 is None and ours["ratio_to_cusparse"]:
        fp32 = ours["ratio_to_cusparse"] * took[name]
    half, bell = took.get("cusparse"), took.get("cusparse-bell")
    return (table.stem(key[0]), key[1], key[2], fp32, half, bell, took[name],
            ours.get("chosen", name), over(fp32, took[name]), over(half, took[name]),
            over(bell, took[name]))


def text(value):
    return "-" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def summaries(lines):
    """Per type and N: geometric means, and the least ratios with their matrices."""
    groups = {}
    for line in lines:
        groups.setdefault((line[2], line[1]), []).append(line)
    for (kind, n), group in groups.items():
        said = []
        for title in ("to_fp32", "to_half", "to_bell"):
            at = TITLES.index(title)
            good = [line for line in group if line[at]]
            least = min(good, key=lambda line, at=at: line[at], default=None)
            slower = sum(line[at] < 1 for line in good)
            if least:
                said.append(f"{title} {table.geomean(line[at] for line in good):.3f} over "
                            f"{len(good)}, least {least[at]:.3f} on {least[0]}, {slower} below 1")
        yield f"{kind}, N = {n}: " + "; ".join(said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--engine", default="auto", help="whose rows are compared [auto]")
    parser.add_argument("result", nargs="+", help="tables of spmm_bench")
    options = parser.parse_args()
    rows = table.read_rows(options.result, ("matrix", "N", "type", "engine", "median_ms"))
    lines = [line_of(key, engines, options.engine) for key, engines in collect(rows).items()]
    lines = [line for line in lines if line]
    if not lines:
        raise table.TableError(f"no right result of engine {options.engine}")
    print("\t".join(TITLES))
    for line in lines:
        print("\t".join(text(value) for value in line))
    for said in summaries(lines):
        print(f"# {said}")
    return 0


if __name__ == "__main__":
    table.run(main)
