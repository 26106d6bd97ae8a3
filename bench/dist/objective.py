#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What METIS's objectives leave two ranks, or more, to exchange: no GPU.

    bench/dist/objective.py [--ranks P] SPMM_DIST OUT.tsv MATRIX|SPEC...

SPMM_DIST is the program tools/spmm_dist of a build.  OUT.tsv has a row for each matrix and
objective: rows of B to receive in all and by the rank that receives most, entries of the halo block
of rank 0, largest over mean entries of the ranks, and the seconds that the partition took.  Printed
are geometric means of cut over vol."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import table  # noqa: E402

OBJECTIVES = ("vol", "cut")
TITLES = ("matrix", "ranks", "objective", "rows_total", "rows_max", "halo_entries", "imbalance",
          "partition_s")
ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
       "OMP_WAIT_POLICY": "passive"}


def split(options, matrix, objective, report):
    """A row."""
    source = ["--matrix" if pathlib.Path(matrix).exists() else "--generate", matrix]
    done = subprocess.run(
        ["mpirun", "--bind-to", "none", "-n", str(options.ranks), options.spmm_dist, "--device",
         "cpu", *source, "--type", "32f", "--columns", "1", "--engine", "csr-cpu", "--partition",
         "metis", "--objective", objective, "--warmup", "0", "--iterations", "1", "--explain",
         "--json", report], check=True, env={**os.environ, **ENV}, stdout=subprocess.PIPE,
        encoding="utf-8")
    found = json.loads(report.read_text(encoding="utf-8"))
    entries = re.search(r"^halo block: .* (\d+) entries", done.stdout, re.M)
    return {"matrix": table.stem(pathlib.Path(matrix).name), "ranks": options.ranks,
            "objective": objective, "rows_total": found["halo"]["rows_total"],
            "rows_max": found["halo"]["rows_max"],
            "halo_entries": int(entries[1]) if entries else 0,
            "imbalance": found["partition"]["imbalance"],
            "partition_s": found["time"]["partition_s"]}


def said(rows):
    for name in TITLES[3:]:
        vol, cut = ([row[name] for row in rows if row["objective"] == which]
                    for which in OBJECTIVES)
        ratios = [b / a for a, b in zip(vol, cut) if a > 0 and b > 0]
        if ratios:
            yield (f"{name}, cut over vol: matrices {len(ratios)}, geomean "
                   f"{table.geomean(ratios):.3f}, least {min(ratios):.3f}, most {max(ratios):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("spmm_dist")
    parser.add_argument("out")
    parser.add_argument("matrix", nargs="+")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder, open(options.out, "w", encoding="utf-8") as out:
        out.write(f"# made by bench/dist/objective.py, {time.strftime('%F', time.gmtime())} UTC, "
                  f"{os.cpu_count()} cores that other work used\n" + "\t".join(TITLES) + "\n")
        for matrix in options.matrix:
            for objective in OBJECTIVES:
                row = split(options, matrix, objective, pathlib.Path(folder) / "report.json")
                rows.append(row)
                out.write("\t".join(f"{row[name]:.4g}" if isinstance(row[name], float)
                                    else str(row[name]) for name in TITLES) + "\n")
            out.flush()
        for line in said(rows):
            out.write(f"# {line}\n")
            print(line)


if __name__ == "__main__":
    table.run(main)
