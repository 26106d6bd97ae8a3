#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has a change made any product slower?  Plans by two builds on one GPU.

    bench/engine/old_new.py [OPTION...] OLD_BUILD NEW_BUILD OUT.tsv MATRIX...

  --cases CASE,CASE  TYPE:N:N..., TYPE being 64f, 32f, tf32, 16f or 16bf
                     [64f:8:32:128,32f:32:128,tf32:32:128,16f:128]
  --engines E,E,...  auto, what plans choose with default options, or engines by name [auto];
                     those that do not take a type are left out
  --executes K       products that plans are to pay in [1000]
  --reorder ORDER    of the rows, for both builds [auto, which may differ: an order is taken where
                     it is predicted to pay in that many products]
  --repeats K        how often slower rows are measured again by both builds [2]
  --limit S          seconds after which no run of spmm_bench begins [none]

A build is a folder with tools/spmm_bench; the two take turns, case by case, each with rates of the
device of its own.  A row is slower where the median of its times is above the other's by 5 % and
1 us; such rows are measured again, and the medians over all rounds count.  OUT.tsv has every row,
engine cusparse beside the others, which both builds only call: it shows the noise.  Printed are
the geometric means of old over new time, above 1: new is faster, and rows that are still slower.
Exit code 1: there are some, or the mean over all but cusparse is below 0.99."""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import table  # noqa: E402

TYPES = {"64f": ("64f", "64f"), "32f": ("32f", "32f"), "tf32": ("32f", "32f-fast-tf32"),
         "16f": ("16f", "32f"), "16bf": ("16bf", "32f")}
CASES = "64f:8:32:128,32f:32:128,tf32:32:128,16f:128"
SHARE, LEAST_MS, MEAN = 1.05, 0.001, 0.99  # what counts as slower
TITLES = ("matrix", "type", "N", "engine", "old_ms", "new_ms", "old_over_new", "old_chosen",
          "new_chosen", "rounds", "slower")
SIDES = ("old", "new")


class Runs:
    """Both builds, and what they took: (matrix, type, N, engine) -> side -> [ms], [chosen]."""

    def __init__(self, options, folder):
        self.options, self.folder, self.found = options, folder, {}
        self.end = time.monotonic() + options.limit if options.limit else None

    def over(self):
        return self.end is not None and time.monotonic() > self.end

    def one(self, side, kind, widths, matrices):
        """Rows of one run of spmm_bench; those of matrices that it refuses are left out."""
        cache, out = self.folder / side, self.folder / "out.tsv"
        cache.mkdir(exist_ok=True)
        out.unlink(missing_ok=True)
        (self.folder / "list").write_text("".join(f"{m}\n" for m in matrices), encoding="utf-8")
        bench = pathlib.Path(getattr(self.options, side)) / "tools" / "spmm_bench"
        done = subprocess.run(
            [bench, "--matrix-list", self.folder / "list", "--type", TYPES[kind][0], "--compute",
             TYPES[kind][1], "--columns", ",".join(widths), "--engines",
             f"cusparse,{self.options.engines}", "--executes", str(self.options.executes),
             "--reorder", self.options.reorder, "--out", out], check=False,
            env={**os.environ, "SPMM_CACHE_DIR": str(cache)}, stdout=subprocess.DEVNULL)
        if done.returncode not in (0, 3, 5) or not out.exists():
            raise OSError(f"{bench} ended with {done.returncode}")
        return table.read_rows([out], ("matrix", "N", "engine", "median_ms", "passed"))

    def round(self, kind, widths, matrices):
        """Both sides once, into `found`."""
        both = {side: self.one(side, kind, widths, matrices) for side in SIDES}
        for side, rows in both.items():
            for row in rows:
                if row["passed"] != "yes":
                    print(f"{side}: wrong: {row['matrix']}, {kind}, N = {row['N']}, "
                          f"{row['chosen']}")
                    continue
                key = (row["matrix"], kind, row["N"], row["engine"])
                took = self.found.setdefault(key, {s: ([], []) for s in SIDES})[side]
                took[0].append(row["median_ms"])
                took[1].append(row["chosen"])

    def lines(self):
        """What TITLES say, of what both sides have measured."""
        for key, sides in self.found.items():
            if all(sides[side][0] for side in SIDES):
                old, new = (statistics.median(sides[side][0]) for side in SIDES)
                slower = key[3] != "cusparse" and new > SHARE * old and new - old > LEAST_MS
                yield (*key, old, new, old / new,
                       *("/".join(sorted(set(sides[side][1]))) for side in SIDES),
                       len(sides["new"][0]), "yes" if slower else "no")

    def slower(self, kind):
        return [line for line in self.lines() if line[1] == kind and line[-1] == "yes"]

    def repeat(self, kind, matrices):
        """Slower rows again, each width with its own matrices."""
        suspects = self.slower(kind)
        for n in sorted({line[2] for line in suspects}):
            names = {line[0] for line in suspects if line[2] == n}
            files = [m for m in matrices if pathlib.Path(m).name in names or m in names]
            if not self.over():
                self.round(kind, (str(n),), files)


def write(path, lines, options):
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"# made by bench/engine/old_new.py --cases {options.cases} --engines "
                  f"{options.engines} --executes {options.executes} "
                  f"--reorder {options.reorder}, {time.strftime('%F %H:%M', time.gmtime())} UTC\n"
                  f"# old: {options.old}, new: {options.new}\n")
        out.write("\t".join(TITLES) + "\n")
        for line in lines:
            out.write("\t".join(f"{field:.6f}" if isinstance(field, float) else str(field)
                                for field in line) + "\n")


def said(lines):
    """Prints the summary.  @return is nothing slower?"""
    print("engine\ttype\tN\tmatrices\told_over_new\tleast\tat")
    groups = {}
    for line in lines:
        for key in ((line[3], line[1], line[2]), (line[3], "all", "-")):
            groups.setdefault(key, []).append(line)
    for key, group in sorted(groups.items(), key=str):
        least = min(group, key=lambda line: line[6])
        print("\t".join(map(str, key)) + f"\t{len(group)}\t"
              f"{table.geomean(line[6] for line in group):.4f}\t{least[6]:.3f}\t{least[0]}")
    slower = [line for line in lines if line[-1] == "yes"]
    for line in sorted(slower, key=lambda line: line[6]):
        print(f"slower: {line[0]}, {line[1]}, N = {line[2]}, {line[3]}: {1000 * line[4]:.2f} us by "
              f"{line[7]}, {1000 * line[5]:.2f} us by {line[8]}, {line[9]} rounds")
    ours = [line[6] for line in lines if line[3] != "cusparse"]
    if not ours:
        raise table.TableError("no row that both builds have measured")
    print(f"{len(ours)} rows: {table.geomean(ours):.4f}, {len(slower)} slower")
    return not slower and table.geomean(ours) >= MEAN


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--engines", default="auto")
    parser.add_argument("--executes", type=int, default=1000)
    parser.add_argument("--reorder", default="auto")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--limit", type=float)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("out")
    parser.add_argument("matrix", nargs="+")
    options = parser.parse_args()
    options.case = [(kind, widths) for kind, *widths in
                    (case.split(":") for case in options.cases.split(","))]
    if any(kind not in TYPES or not widths for kind, widths in options.case):
        parser.error(f"--cases does not take {options.cases}")
    return options


def main():
    options = read_arguments()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(options, pathlib.Path(folder))
        for kind, widths in options.case:
            if not runs.over():
                runs.round(kind, widths, options.matrix)
                write(options.out, runs.lines(), options)
        for _ in range(options.repeats):
            for kind, _ in options.case:
                runs.repeat(kind, options.matrix)
        write(options.out, runs.lines(), options)
        return 0 if said(list(runs.lines())) else 1


if __name__ == "__main__":
    table.run(main)
