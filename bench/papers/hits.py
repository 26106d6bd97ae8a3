#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hit rates of the caches with and without the order of Acc-SpMM: its figure 11.

    bench/papers/hits.py BENCH_PUBLISHED OUT.tsv MATRIX...

Runs BENCH_PUBLISHED under ncu at N = 128: the engine of the library, the kernel as published in the
order of algorithm 1, and the same with the rows as given.  A line for each matrix and variant: the
share of sectors found in L1 and in L2 in percent, bytes through L2 and bytes read from memory.  ncu
empties the caches before each launch."""
import csv
import pathlib
import subprocess
import sys

METRICS = {"l1_percent": "l1tex__t_sector_hit_rate.pct", "l2_percent": "lts__t_sector_hit_rate.pct",
           "l2_bytes": "lts__t_bytes.sum", "dram_bytes": "dram__bytes_read.sum"}
VARIANTS = ("engine", "all", "rows as given")  # in the order in which they run
UNITS = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "%": 1}
LAUNCHES = 4  # of each: three to warm up, and one


def profile(bench, matrix):
    """variant -> metric -> value, of its last launch."""
    done = subprocess.run(
        ["ncu", "--clock-control", "none", "--csv", "--metrics", ",".join(METRICS.values()),
         "--kernel-name", "regex:bittcf_mm|acc_kernel", bench, "acc-spmm", "--iterations", "1",
         "--only", ",".join(VARIANTS), "128", matrix], capture_output=True, text=True, check=False)
    launches = {}
    for row in csv.DictReader(line for line in done.stdout.split("\n") if line.startswith('"')):
        value = float(row["Metric Value"].replace(",", "")) * UNITS[row["Metric Unit"]]
        launches.setdefault(row["ID"], {})[row["Metric Name"]] = value
    found = list(launches.values())
    if done.returncode != 0 or len(found) != LAUNCHES * len(VARIANTS):
        raise OSError(f"ncu saw {len(found)} launches for {matrix}, not "
                      f"{LAUNCHES * len(VARIANTS)}: {(done.stdout + done.stderr)[-300:]}")
    return dict(zip(VARIANTS, found[LAUNCHES - 1::LAUNCHES]))


def main():
    if len(sys.argv) < 4 or sys.argv[1].startswith("-"):
        print("usage: bench/papers/hits.py BENCH_PUBLISHED OUT.tsv MATRIX...", file=sys.stderr)
        return 2
    bench, out, *matrices = sys.argv[1:]
    lines = ["\t".join(("matrix", "N", "variant", *METRICS))]
    for matrix in matrices:
        for variant, found in profile(bench, matrix).items():
            lines.append("\t".join((pathlib.Path(matrix).name, "128", variant,
                                    *(f"{found[name]:.1f}" for name in METRICS.values()))))
    pathlib.Path(out).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError as error:
        print(f"hits.py: {error}", file=sys.stderr)
        sys.exit(4)
