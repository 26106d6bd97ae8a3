#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A figure of the speed-up over cuSPARSE of the kernels of a paper as published and of ours.

    bench/plot/variants.py PAPER TABLE.tsv OUT.svg

TABLE.tsv is one of bench/papers/run.sh PAPER.  One panel for each N, matrices by their entries, one
mark for each variant whose product is right, and for the program of the paper's authors, over
cuSPARSE in its own run on an H200, of bench/results/peers.  The same files give the same bytes."""
import pathlib
import re
import sys

from plot import draw, published, table

DRAWN = {  # of each paper all its mechanisms, some without, and the engine of the library
    "acc-spmm": ("all", "none of them", "engine"),
    "cutespmm": ("TM 16", "TM 32", "engine"),
    "sspmm": ("V 8", "V 16", "engine"),
    "vectorsparse": ("octet", "warp", "subwarp", "engine"),
    "thesis": ("OBT", "OBTS_large_separate", "bcsr"),
}


def cases(path):
    """(matrix, N) -> variant -> milliseconds, and matrix -> entries."""
    found, entries = {}, {}
    rows = table.read(path, ("matrix", "nnz", "N", "variant", "median_ms", "passed"))[2]
    for row in rows:
        if row["passed"] == "yes":
            matrix = table.stem(row["matrix"])
            found.setdefault((matrix, row["N"]), {})[row["variant"]] = row["median_ms"]
            entries[matrix] = row["nnz"]
    return {key: ms for key, ms in found.items() if "cusparse" in ms}, entries


def label(matrix):
    """A spec without its keys: pruned 2048,512,0.9."""
    return re.sub(r"[a-z]\w*=", "", matrix).replace(":", " ")


def series_of(paper, path):
    """Label -> {(matrix, N): speed-up}, and matrix -> entries."""
    found, entries = cases(path)
    series = {v: {key: ms["cusparse"] / ms[v] for key, ms in found.items() if v in ms}
              for v in DRAWN[paper]}
    missing = [v for v, ratios in series.items() if not ratios]
    if missing:
        raise table.TableError(f"{path}: no row of {missing[0]} beside one of cusparse")
    peers = published.Published()
    own = {key: peers.best(key, lambda s: s["paper"] == paper)
           for key in found if key in peers.ms}
    series["the authors' program"] = {key: found[key]["cusparse"] / ms
                                      for key, ms in own.items() if ms}
    return {name: ratios for name, ratios in series.items() if ratios}, entries


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in DRAWN:
        print(f"usage: {sys.argv[0]} PAPER TABLE.tsv OUT.svg; PAPER: {', '.join(DRAWN)}",
              file=sys.stderr)
        return 2
    series, entries = series_of(*sys.argv[1:3])
    series = {name: {(label(m), n): r for (m, n), r in ratios.items()}
              for name, ratios in series.items()}
    drawn = {key for ratios in series.values() for key in ratios}
    picture = draw(series, {label(m): nnz for m, nnz in entries.items()
                            if label(m) in {m for m, _ in drawn}}, sorted({n for _, n in drawn}))
    pathlib.Path(sys.argv[3]).write_text("\n".join(picture) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    table.run(main)
