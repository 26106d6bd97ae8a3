#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times of spmm_bench with rows as they are beside those with an order of rows.

    bench/reordering_gpu.py NONE.tsv ORDERED.tsv reordering.tsv

prints, for each matrix, N and engine: pairs of windows of 8 and 16 rows after over before, both times in
ms, gain (time as they are over time ordered: above 1 the order wins) and the products of the
engine that make up for the host seconds of the order, which `reordering.tsv` has; `-` where it never
does.  Rows of `auto` compare what it chose in each run.  Then geometric means."""
import sys

import table


def load(path):
    comments, _, rows = table.read(path, ("matrix", "engine", "N", "median_ms"))
    return comments, {(r["matrix"], r["N"], table.mode(r), r["engine"]): r for r in rows
                      if r.get("passed", "yes") == "yes" and r["median_ms"]}


def main(arguments):
    if len(arguments) != 3 or arguments[0].startswith("-"):
        print(f"usage: {sys.argv[0]} NONE.tsv ORDERED.tsv reordering.tsv", file=sys.stderr)
        return 2
    try:
        comments, none = load(arguments[0])
        _, ordered = load(arguments[1])
        _, _, orders = table.read(arguments[2], ("matrix", "order", "ratio8", "ratio16", "cpu_s"))
    except table.TableError as error:
        print(f"{sys.argv[0]}: {error}", file=sys.stderr)
        return 3
    facts = {r["matrix"]: r for r in orders if r["order"] == "affinity"}
    for line in comments:
        if not line.startswith("summary "):
            print(f"# {line}")
    print("matrix\tN\tcompute\tengine\tpairs8\tpairs16\tnone_ms\taffinity_ms\tgain\tproducts\t"
          "none_chosen\taffinity_chosen")
    gains = {}
    for key, before in none.items():
        matrix, n, mode, engine = key
        if key not in ordered or matrix not in facts:
            continue
        after, fact = ordered[key], facts[matrix]
        gain = before["median_ms"] / after["median_ms"]
        saved = 1e-3 * (before["median_ms"] - after["median_ms"])
        products = f"{float(fact['cpu_s']) / saved:.0f}" if saved > 0 else "-"
        print(f"{matrix}\t{n}\t{mode}\t{engine}\t{fact['ratio8']}\t{fact['ratio16']}\t"
              f"{before['median_ms']:.6f}\t{after['median_ms']:.6f}\t{gain:.4f}\t{products}\t"
              f"{before.get('chosen', '-')}\t{after.get('chosen', '-')}")
        gains.setdefault((engine, n, mode), []).append((gain, table.stem(matrix)))
    for (engine, n, mode), group in gains.items():
        print(f"# summary engine={engine} N={n} compute={mode} matrices={len(group)} "
              f"geomean={table.geomean(g for g, _ in group):.4f} min={min(group)[0]:.4f} "
              f"min_matrix={min(group)[1]} max={max(group)[0]:.4f} max_matrix={max(group)[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
