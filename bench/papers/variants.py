#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times of the variants of a paper: a line for each matrix and N, a column for each variant.

    bench/papers/variants.py PAPER ROWS.tsv OUT.tsv

writes that of rows of bench_published, in ms, `wrong` where an error is above its bound, `-` where
a variant does not take the case; and prints geometric means over that of all mechanisms and over
the engine, as docs/reference/papers.md has them.  Exit code 1: a product was wrong."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import table  # noqa: E402

BASES = {"acc-spmm": "all", "cutespmm": "TM 16", "sspmm": "V 8", "thesis": "bcsr",
         "vectorsparse": "octet"}  # of each paper what its variants are compared with
FACTS = ("matrix", "nnz", "class", "oi", "ibd", "N", "tiles32", "sp24_percent")


def condense(rows):
    """Titles and lines of the table."""
    cases, names = {}, {}
    for row in rows:
        case = cases.setdefault((row["matrix"], row["N"]),
                                {fact: row[fact] for fact in FACTS if fact in row})
        case[row["variant"]] = (f"{row['median_ms']:.6f}" if row["passed"] == "yes" else "wrong")
        names[row["variant"]] = None
    titles = [fact for fact in FACTS if fact in rows[0]] + list(names)
    return titles, [[str(case.get(name, "-")) for name in titles] for case in cases.values()]


def group_of(paper, row):
    if paper == "acc-spmm":
        return "IBD > 8" if row["ibd"] > 8 else "IBD <= 8"
    stem = "XdYs, " if row["matrix"].startswith("xdys") else "stand-ins, "
    return stem * (paper == "thesis") + f"N = {row['N']}"


def means(paper, path):
    """Titles and lines: geometric means of the times of each variant over the base and over the
    engine."""
    base, engine = BASES[paper], "bcsr" if paper == "thesis" else "engine"
    _, titles, rows = table.read(path, ("matrix", "N", base))
    groups = {}
    for row in rows:
        groups.setdefault(group_of(paper, row), []).append(row)

    def cell(group, name, other):
        found = [row[name] / row[other] for row in groups[group]
                 if isinstance(row[name], float) and isinstance(row[other], float)]
        return f"{table.geomean(found):.2f}" if found else "-"
    others = list(dict.fromkeys((base, engine)))
    return (["variant"] + [f"over {other}, {group}" for other in others for group in groups],
            [[name] + [cell(group, name, other) for other in others for group in groups]
             for name in titles if name not in (*FACTS, "cusparse", engine)])


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in BASES:
        print(f"usage: {sys.argv[0]} {'|'.join(BASES)} ROWS.tsv OUT.tsv", file=sys.stderr)
        return 2
    paper, given, out = sys.argv[1:]
    comments, _, rows = table.read(given, ("matrix", "N", "variant", "median_ms", "passed"))
    titles, lines = condense(rows)
    pathlib.Path(out).write_text("".join(f"# {line}\n" for line in comments) + "".join(
        "\t".join(line) + "\n" for line in (titles, *lines)), encoding="utf-8")
    titles, lines = means(paper, out)
    print("\n".join("| " + " | ".join(line) + " |" for line in
                    (titles, ["---"] + ["---:"] * (len(titles) - 1), *lines)) + "\n")
    return int(any(row["passed"] != "yes" for row in rows))


if __name__ == "__main__":
    table.run(main)
