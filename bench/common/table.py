#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of spmm_bench and bench_dist: reading them, and what they come to.  `-` is read as None.

    bench/common/table.py OUT.tsv RESULT.tsv...

joins the tables of runs over parts of the matrices into one, with their headers and a summary over
all rows; of a matrix, engine, width and mode measured more than once the last row counts."""
import math
import pathlib
import re
import sys

LIMIT_LEAST_MS = 0.02  # BENCH_LIMIT_LEAST of tools/bench/bench_report.h
NUMBERS = ("median_ms", "ratio_to_cusparse", "gflops", "max_error", "build_ms", "limit_ms",
           "gather_ms", "rotated_ms", "rotated_ratio", "predicted_ms", "cusparse_ms",
           "reorder_ms", "format_ms", "tune_ms", "break_even", "break_even_net",
           "best32", "best16", "total_ms", "loop_ms", "pack_ms", "exchange_ms", "local_ms",
           "halo_ms", "overlap", "local_max_mean", "alone_exchange_ms", "alone_local_ms",
           "alone_halo_ms", "to_allgather", "to_needed", "to_in_place")
COUNTS = ("rows", "cols", "nnz", "N", "rows_checked", "ranks", "columns", "halo_rows",
          "halo_rows_max")


class TableError(Exception):
    """A file that is no table: one sentence."""


def read(path, needed=("matrix", "N")):
    """Comment lines without their `# `, titles, and rows as dicts."""
    comments, titles, rows = [], None, []
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except OSError as error:
        raise TableError(f"{path}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            comments.append(line[1:].strip())
        elif titles is None and line:
            titles = line.split("\t")
            missing = [name for name in needed if name not in titles]
            if missing:
                raise TableError(f"{path}, line {number}: no column {missing[0]}")
        elif line:
            fields = line.split("\t")
            if len(fields) != len(titles):
                raise TableError(f"{path}, line {number}: {len(fields)} fields, "
                                 f"but {len(titles)} titles")
            try:
                rows.append({name: convert(name, text) for name, text in zip(titles, fields)})
            except ValueError as error:
                raise TableError(f"{path}, line {number}: {error}") from error
    if titles is None:
        raise TableError(f"{path}: no titles")
    if {word for line in comments for word in re.findall(r"layout (row|col)\b", line)} == {"col"}:
        rows = [{**row, "layout": "col"} for row in rows]
    return comments, titles, rows


def read_rows(paths, needed):
    """The rows of all tables, one after the other."""
    return [row for path in paths for row in read(path, needed)[2]]


def run(main):
    """End the program with what main() returns, or with 3 after a sentence on a table and 4 after
    one
    on a file that cannot be written."""
    try:
        sys.exit(main())
    except (TableError, OSError) as error:
        print(f"{pathlib.Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        sys.exit(3 if isinstance(error, TableError) else 4)


def convert(name, text):
    if text == "-":
        return None
    if name in NUMBERS:
        return float(text)
    return int(text) if name in COUNTS else text


def stem(matrix):
    """A matrix's name without the endings of its file: that of the published tables."""
    for ending in (".gz", ".mtx", ".csr"):
        if matrix.endswith(ending):
            matrix = matrix[: -len(ending)]
    return matrix


def counts(row):
    """Does the row count in a summary: a right result with a ratio?"""
    return row.get("passed", "yes") == "yes" and (row["ratio_to_cusparse"] or 0) > 0


def geomean(values):
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def median(group, name):
    """The lower one of an even number."""
    values = sorted(row[name] for row in group if row.get(name) is not None)
    return values[(len(values) - 1) // 2] if values else None


def shown(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def compute(row):
    return row.get("compute", row.get("type", "-"))


def mode(row):
    """As bench_predict and bench/engine/single_gpu.sh name it: 16-bit types by themselves, and
    complex ones; column-major tables apart."""
    kind = row.get("type") or ""
    by_column = "-col" * (row.get("layout") == "col")
    if kind.endswith("c"):
        return kind + "-fast-tf32" * compute(row).endswith("-fast-tf32") + by_column
    return (kind if kind.startswith("16") else compute(row)) + by_column


def summary(rows):
    """The `summary` lines that tools/bench/bench_report.c writes, of any number of runs."""
    groups = {}
    for row in rows:
        groups.setdefault((row["engine"], row["N"], compute(row)), []).append(row)
    lines = []
    for (engine, n, by), group in groups.items():
        group = [row for row in group if row.get("passed", "yes") == "yes"]
        good = [row for row in group if counts(row)]
        ratios = [row["ratio_to_cusparse"] for row in good]
        worst = min(good, key=lambda row: row["ratio_to_cusparse"], default=None)
        limits = [row["limit_ms"] / row["median_ms"] for row in group
                  if (row.get("limit_ms") or 0) > LIMIT_LEAST_MS]
        rotated = [row["rotated_ratio"] for row in group if row.get("rotated_ratio")]
        faster = sum(r > 1 for r in ratios) / len(ratios) if ratios else None
        lines.append(
            f"summary engine={engine} N={n} compute={by} matrices={len(good)} "
            f"geomean={shown(geomean(ratios), 4)} "
            f"min={shown(worst and worst['ratio_to_cusparse'], 4)} faster={shown(faster, 3)} "
            f"limit_share={shown(geomean(limits), 3)} limit_matrices={len(limits)} "
            f"rotated_geomean={shown(geomean(rotated), 4)} "
            f"break_even={shown(median(group, 'break_even'), 0)} "
            f"break_even_net={shown(median(group, 'break_even_net'), 0)} "
            f"min_matrix={worst['matrix'] if worst else '-'}")
    return lines


def join(paths, out):
    """Write the tables @p paths as one."""
    headers, titles, lines, rows = [], None, {}, {}
    for path in paths:
        comments, here, parsed = read(path, ("matrix", "N", "engine", "ratio_to_cusparse"))
        if titles not in (None, here):
            raise TableError(f"{path}: its columns are not those of {paths[0]}")
        titles = here
        headers += [line for line in comments if not line.startswith("summary ")]
        with open(path, encoding="utf-8") as file:
            texts = [line for line in file.read().split("\n") if line and line[0] != "#"][1:]
        for row, text in zip(parsed, texts):
            key = (row["matrix"], row["engine"], row["N"], row.get("type"), mode(row))
            lines[key], rows[key] = text, row
    with open(out, "w", encoding="utf-8") as file:
        for line in dict.fromkeys(headers):
            file.write(f"# {line}\n")
        file.write("\t".join(titles) + "\n")
        for text in lines.values():
            file.write(text + "\n")
        for line in summary(rows.values()):
            file.write(f"# {line}\n")


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        print(f"usage: {sys.argv[0]} OUT.tsv RESULT.tsv...", file=sys.stderr)
        return 2
    join(sys.argv[2:], sys.argv[1])
    return 0


if __name__ == "__main__":
    run(main)
