#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results of spmm_bench beside those of the published systems, matrix by matrix.

    bench/papers/peers.py [--engine auto] [--bits 32|16] [--peers FOLDER] RESULT.tsv...

Per N: the geometric means of our ratio to cuSPARSE and of the fastest peer's on the same matrices,
the share of matrices where ours is at least the peer's, and the matrices where it is not.  Each
ratio is to the cuSPARSE of its own run; `cuSPARSE here / there` says how far those two agree."""
import argparse
import sys

import published
from published import table


def compare(rows, peers, best):
    """(N, compute) -> [(matrix, ours, peer, cuSPARSE time here / there)], in the peers' order."""
    found = {}
    for key, ratio in best.items():
        for row in rows:
            if (table.stem(row["matrix"]), row["N"]) != key:
                continue
            ours = row["ratio_to_cusparse"] if table.counts(row) else None
            drift = ours and ours * row["median_ms"] / peers.cusparse(key)
            group = found.setdefault((row["N"], table.mode(row)), {})
            group[key[0]] = (key[0], ours, ratio, drift)
    return {key: list(group.values()) for key, group in found.items()}


def report(key, group, total, out):
    n, compute = key
    good = [entry for entry in group if entry[1] is not None]
    lost = [entry for entry in good if entry[1] < entry[2]]
    ours, peer = (table.geomean(entry[k] for entry in good) for k in (1, 2))
    drift = table.geomean(entry[3] for entry in good)
    print(f"N = {n}, {compute}: {len(good)} of {total} matrices; geomean {table.shown(ours, 3)}, "
          f"best peers {table.shown(peer, 3)}; cuSPARSE here / there {table.shown(drift, 3)}",
          file=out)
    if good:
        print(f"  at least the peer on {len(good) - len(lost)} of {len(good)} "
              f"({100 * (len(good) - len(lost)) / len(good):.0f} %)", file=out)
    for matrix, mine, theirs, _ in sorted(lost, key=lambda entry: entry[1] / entry[2]):
        print(f"  behind on {matrix}: {mine:.2f} to {theirs:.2f}", file=out)
    for matrix, mine, _, _ in group:
        if mine is None:
            print(f"  no right result on {matrix}", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--engine", default="auto", help="whose rows are ours [auto]")
    parser.add_argument("--bits", choices=("32", "16"), default="32", help="of the peers [32]")
    parser.add_argument("--peers", default=published.FOLDER,
                        help="their times [bench/results]")
    parser.add_argument("result", nargs="+", help="tables of spmm_bench")
    options = parser.parse_args()
    peers = published.Published(options.peers)
    best = peers.fastest(int(options.bits))
    needed = ("matrix", "N", "engine", "median_ms", "ratio_to_cusparse")
    rows = [row for row in table.read_rows(options.result, needed)
            if row["engine"] == options.engine]
    found = compare(rows, peers, best)
    if not found:
        raise table.TableError(f"no row of engine {options.engine} is in {options.peers}")
    for key in sorted(found):
        report(key, found[key], sum(n == key[0] for _, n in best), sys.stdout)
    return 0


if __name__ == "__main__":
    table.run(main)
