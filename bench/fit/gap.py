#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What keeps default plans from being faster, by what would change it.

    bench/fit/gap.py

reads the tables of default plans (bench/results/single_gpu_*.default.tsv), times of engines by name
(trials/models.tsv) and the classes of matrices (bench/fit/classes.tsv), and prints for each mode
and width the geometric mean over cuSPARSE as it is, and as it would be if

  choice   each matrix ran the fastest engine by name
  1 us     each product took 1 us less, but no less than a launch
  moved    each took a launch and the time to move A, the rows of B in use and C once: from L2 at
           5.5 TB/s, beyond 50 MB from memory at 2.9
  graphs, pruned, FEM, circuit, mesh   products of this class took 1.35 times that at most
  all      all did"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/common"))
import table  # noqa: E402

RESULTS = ROOT / "bench/results"
LAUNCH_US, L2, MEMORY, L2_BYTES, NEAR = 4.4, 5.5e6, 2.9e6, 50e6, 1.35  # rates in bytes/us
MODES = (("32f-fast-tf32", 4, (32, 128, 512)), ("32f", 4, (32, 128, 512)), ("64f", 8, (32, 128)),
         ("16f", 2, (32, 128, 512)))
CLASSES = ("graph", "pruned", "FEM", "circuit", "mesh")


def moved_us(row, n, size):
    """A launch, and all bytes once."""
    used = min(row["cols"], row["nnz"])
    total = row["nnz"] * (4 + size) + 4 * row["rows"] + (used + row["rows"]) * n * size
    return LAUNCH_US + total / (L2 if total <= L2_BYTES else MEMORY)


def by_name():
    """{(mode, N, matrix): us of the fastest engine by name}; in TF32 csr-gpu of FP32, too."""
    least = {}
    for r in table.read(RESULTS / "trials/models.tsv", ("matrix", "engine", "N", "median_ms"))[2]:
        modes = ["16f" if r["type"] == "16f" else r["compute"]]
        if modes == ["32f"] and r["engine"] == "csr-gpu":
            modes.append("32f-fast-tf32")
        for mode in modes:
            key = mode, r["N"], table.stem(r["matrix"])
            least[key] = min(least.get(key, float("inf")), 1e3 * r["median_ms"])
    return least


def plans(mode, n):
    """Rows of default plans with their class."""
    classes = {r["matrix"]: r["class"]
               for r in table.read(ROOT / "bench/fit/classes.tsv", ("matrix", "class"))[2]}
    return [{**r, "class": classes.get(table.stem(r["matrix"]), "other")}
            for r in table.read(RESULTS / f"single_gpu_{mode}.default.tsv")[2]
            if r["engine"] == "auto" and r["N"] == n]


def gaps():
    """{(mode, N): {what: geometric mean}}"""
    fastest, out = by_name(), {}
    for mode, size, widths in MODES:
        for n in widths:
            ratios = {}
            for r in plans(mode, n):
                us = 1e3 * r["median_ms"]
                once = moved_us(r, n, size)
                near = min(us, NEAR * once)
                best = fastest.get((mode, n, table.stem(r["matrix"])), us)
                then = {"now": us, "choice": min(us, best), "1 us": max(us - 1.0, LAUNCH_US),
                        "moved": min(us, once), "all": near,
                        **{c: near if r["class"] == c else us for c in CLASSES}}
                for what, time in then.items():
                    ratios.setdefault(what, []).append(us * r["ratio_to_cusparse"] / time)
            out[mode, n] = {what: table.geomean(found) for what, found in ratios.items()}
    return out


def main():
    titles = ("now", "choice", "1 us", *CLASSES, "all", "moved")
    print("| mode | N | " + " | ".join(titles) + " |")
    print("|---|---|" + "---:|" * len(titles))
    for (mode, n), found in gaps().items():
        print(f"| `{mode}` | {n} | " + " | ".join(f"{found[t]:.2f}" for t in titles) + " |")
    return 0


if __name__ == "__main__":
    table.run(main)
