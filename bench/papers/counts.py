#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a paper counts of matrices, in short: tables of bench_patterns and bench_reorder.

    bench/papers/counts.py PAPER [--orders ORDERS.tsv] FACTS.tsv

PAPER: acc-spmm, cutespmm, sspmm, vectorsparse or thesis."""
import argparse

from published import table

IBD = 8.0  # Acc-SpMM, section 3.5: above, windows are balanced
ORDERS = ("none", "acc", "rabbit", "affinity")


def columns(path, names):
    rows = table.read(path, ("matrix", *names))[2]
    return [{"matrix": row["matrix"], **{n: row[n] if n == "class" else float(row[n])
                                         for n in names}} for row in rows]


def show(titles, lines):
    print("| " + " | ".join(titles) + " |\n|---|" + "---:|" * (len(titles) - 1))
    for name, *cells in lines:
        print(f"| {name} | " + " | ".join(
            c if isinstance(c, str) else f"{c:,.0f}" if abs(c) >= 1000 else f"{c:.2f}"
            for c in cells) + " |")
    print()


def means(lines, start=1):
    """A line of geometric means behind the others, of the columns from @p start on."""
    return lines + [["geometric mean", *[""] * (start - 1), *(
        table.geomean(line[k] for line in lines) for k in range(start, len(lines[0])))]]


def acc_spmm(path):
    rows = columns(path, ("tc_blocks", "mean_nnz_tc", "ibd", "csr_bytes", "tcf_bytes",
                          "me_tcf_bytes", "bittcf_bytes"))
    show(("matrix", "TC blocks", "IBD", "MeanNNZTC", "bytes: TCF / CSR", "TCF / ME-TCF",
          "TCF / BitTCF", "ME-TCF / BitTCF"),
         means([[r["matrix"], r["tc_blocks"], r["ibd"], r["mean_nnz_tc"],
                 *(r["tcf_bytes"] / r[k] for k in ("csr_bytes", "me_tcf_bytes", "bittcf_bytes")),
                 r["me_tcf_bytes"] / r["bittcf_bytes"]] for r in rows], 3))
    print(f"IBD above {IBD:.0f}: {sum(r['ibd'] > IBD for r in rows)} of {len(rows)} matrices\n")


def orders(path, column="mean_nnz_tc"):
    """Each order's MeanNNZTC, or pairs, over that of the given one, where all orders are there."""
    found = {}
    for row in table.read(path, ("matrix", "order", column))[2]:
        found.setdefault(row["matrix"], {})[row["order"]] = float(row[column])
    whole = {m: o for m, o in found.items() if all(k in o for k in ORDERS)}
    return {k: [o[k] / o["none"] for o in whole.values()] for k in ORDERS}


def show_orders(path):
    ratios = orders(path)
    print(f"MeanNNZTC over that of the rows as given (SGT), {len(ratios['none'])} matrices:\n")
    show(("order", "geometric mean", "least", "most"),
         [[k, table.geomean(v), min(v), max(v)] for k, v in ratios.items() if v])


def cutespmm(path):
    rows = columns(path, ("alpha", "synergy", "class", "oi_shmem", "bricks"))
    groups = [[r for r in rows if r["class"] == c] for c in ("low", "medium", "high")]
    show(("TCU-Synergy", "matrices", "alpha", "OI_shmem, least", "most"),
         [[g[0]["class"], f"{len(g)}", table.geomean(r["alpha"] for r in g),
           min(r["oi_shmem"] for r in g), max(r["oi_shmem"] for r in g)] for g in groups if g])


def sspmm(path):
    rows = columns(path, ("rows", "cols", "nnz", "vectors8", "fill8", "cvse8_bytes", "vectors16",
                          "fill16", "cvse16_bytes", "v", "me_tcf_bytes"))
    lines = [[r["matrix"], f"{r['v']:.0f}", r["fill8"], r["fill16"],
              r["rows"] * r["cols"] / (8 * r["vectors8"]),
              r["rows"] * r["cols"] / (16 * r["vectors16"]),
              r["cvse8_bytes"] / (r["me_tcf_bytes"] + 2 * r["nnz"]),
              r["cvse16_bytes"] / (r["me_tcf_bytes"] + 2 * r["nnz"])] for r in rows]
    show(("matrix", "V by plans", "fill, V = 8", "V = 16", "density gain, V = 8", "V = 16",
          "bytes over ME-TCF, V = 8", "V = 16"), means(lines, 2))
    print(f"V = 16 for {sum(r['v'] == 16 for r in rows)} of {len(rows)} matrices\n")


def thesis(path):
    rows = columns(path, ("nnz", "tiles16", "tiles32", "sp24"))
    show(("matrix", "entries of a 16x16 tile", "16x32 tiles", "of them 2:4, %"),
         [[r["matrix"], r["nnz"] / r["tiles16"], r["tiles32"],
           100 * r["sp24"] / r["tiles32"]] for r in rows])


PAPERS = {"acc-spmm": acc_spmm, "cutespmm": cutespmm, "sspmm": sspmm, "vectorsparse": sspmm,
          "thesis": thesis}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("paper", choices=PAPERS)
    parser.add_argument("facts", help="table of bench_patterns")
    parser.add_argument("--orders", help="table of bench_reorder")
    options = parser.parse_args()
    PAPERS[options.paper](options.facts)
    if options.orders:
        show_orders(options.orders)
    return 0


if __name__ == "__main__":
    table.run(main)
