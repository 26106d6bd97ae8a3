#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables of tab-separated values, with comments behind `#`.

    bench/common/table.py OUT.tsv RESULT.tsv...

joins the tables of spmm_bench of runs over parts of the matrices into one, with their headers, and
prints a summary; of a matrix, engine, width and mode measured more than once the last row counts.
OUT may be one of them."""
import math
import pathlib
import re
import sys


class TableError(Exception):
    """A file that is no table: one sentence."""


def read(path, needed=("matrix", "N")):
    """Comment lines without their `# `, titles, and rows as dicts.  Tables one below the other are
    one; a row has the last comment `made by` above it as `#`."""
    comments, titles, rows, made = [], None, [], ""
    try:
        lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise TableError(f"{path}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        if line.startswith("#"):
            comments.append(line[1:].strip())
            made = line if "made by" in line else made
        elif line and (titles is None or fields[0] == titles[0]):
            titles = fields
            missing = [name for name in needed if name not in titles]
            if missing:
                raise TableError(f"{path}, line {number}: no column {missing[0]}")
        elif line:
            if len(fields) != len(titles):
                raise TableError(f"{path}, line {number}: {len(fields)} fields, "
                                 f"but {len(titles)} titles")
            rows.append({**dict(zip(titles, map(convert, fields))), "#": made})
    if titles is None:
        raise TableError(f"{path}: no titles")
    if {word for line in comments for word in re.findall(r"layout (row|col)\b", line)} == {"col"}:
        rows = [{**row, "layout": "col"} for row in rows]
    return comments, titles, rows


def run(main):
    """End the program with what main() returns, or with 3 after a sentence on a table and 4 after
    one on a file that cannot be written."""
    try:
        sys.exit(main())
    except (TableError, OSError) as error:
        print(f"{pathlib.Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        sys.exit(3 if isinstance(error, TableError) else 4)


def convert(text):
    """A number where it is one, None for `-`."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None if text == "-" else text


def stem(matrix):
    """A matrix's name without the endings of its file: that of the published tables."""
    for ending in (".gz", ".mtx", ".csr"):
        matrix = matrix.removesuffix(ending)
    return matrix


def counts(row):
    """Does the row count in a summary: a right result with a ratio?"""
    return row.get("passed", "yes") == "yes" and (row["ratio_to_cusparse"] or 0) > 0


def geomean(values):
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def shown(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def mode(row):
    """As bench_predict and bench/engine/single_gpu.sh name it: 16-bit types by themselves, and
    complex ones; column-major tables apart."""
    kind, compute = row.get("type") or "", row.get("compute", row.get("type", "-"))
    by_column = "-col" * (row.get("layout") == "col")
    if kind.endswith("c"):
        return kind + "-fast-tf32" * compute.endswith("-fast-tf32") + by_column
    return (kind if kind.startswith("16") else compute) + by_column


def join(paths, out):
    """Write the tables @p paths as one."""
    headers, titles, lines = {}, None, {}
    for path in paths:
        comments, here, rows = read(path, ("matrix", "N", "engine"))
        if titles not in (None, here):
            raise TableError(f"{path}: its columns are not those of {paths[0]}")
        titles = here
        headers.update((f"# {line}\n", None) for line in comments
                       if not line.startswith("summary "))
        texts = [line for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()
                 if line and line[0] != "#"][1:]
        for row, text in zip(rows, texts):
            lines[row["matrix"], row["engine"], row["N"], row.get("type"), mode(row)] = text
    pathlib.Path(out).write_text("".join(headers) + "\n".join(["\t".join(titles), *lines.values()])
                                 + "\n", encoding="utf-8")


def summary(rows):
    """A line for each engine, width and mode."""
    groups = {}
    for row in filter(counts, rows):
        groups.setdefault((row["engine"], row["N"], mode(row)), []).append(row)
    for (engine, n, by), group in groups.items():
        ratios = [row["ratio_to_cusparse"] for row in group]
        worst = min(group, key=lambda row: row["ratio_to_cusparse"])
        rotated = geomean(row["rotated_ratio"] for row in group if row.get("rotated_ratio"))
        print(f"engine={engine} N={n} mode={by} matrices={len(group)} "
              f"geomean={geomean(ratios):.4f} min={min(ratios):.4f} at {worst['matrix']} "
              f"faster={sum(r > 1 for r in ratios) / len(ratios):.3f} rotated={shown(rotated, 4)}")


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        print(f"usage: {sys.argv[0]} OUT.tsv RESULT.tsv...", file=sys.stderr)
        return 2
    join(sys.argv[2:], sys.argv[1])
    summary(read(sys.argv[1])[2])
    return 0


if __name__ == "__main__":
    run(main)
