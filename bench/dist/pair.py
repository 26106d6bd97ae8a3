#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products on two GPUs beside the same ones on one GPU, by default plans of one or two builds.

    bench/dist/pair.py [OPTION...] BUILD OUT.tsv MATRIX|SPEC...

  --old BUILD       an older build beside it
  --parts DIR       partitions made by jobs/partition.sh, RANKS=2; METIS while planning without
  --cases CASE,...  TYPE:N:N... [32f:32:128,64f:16]
  --limit S         seconds for all runs; what is left out is said [none]
  --bare            T1 and T2 alone: no other ways

A build is a folder with bench/bench_dist; each has rates of the device of its own.  T1 is the time
on one GPU (half of the matrices on each), T2 that on two, efficiency T1 / (2 T2).  OUT.tsv has a
row for each matrix, N and type, with the times of the other ways on two GPUs, cuSPARSE behind an
exchange of the needed rows or of all rows.  Printed are geomeans and what is least.  Exit code 1: a
product was wrong, or something was left out."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import table  # noqa: E402

CASES = "32f:32:128,64f:16"
LONG_US, LONG_N = 100.0, 128  # efficiency counts most there
WORDS = ("engine", "halo_engine", "transport", "schedule", "halo_rows_max")
TITLES = ("matrix", "nnz", "type", "N", "T1_us", "T2_us", "efficiency", "old_T1_us", "old_T2_us",
          "old_efficiency", "old_over_new", "exchange_us", "local_us", "halo_us", "local_max_mean",
          "needed_us", "in_place_us", "allgather_us", "one_engine", *WORDS)


def microseconds(row, name):
    return None if row.get(name) in (None, "-") else 1e3 * float(row[name])


def visible_gpu(number):
    """What CUDA_VISIBLE_DEVICES says of a GPU of the caller's, 0 or 1."""
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[number] if len(named) > number else str(number)


class Runs:
    """Rows of bench_dist: (build, ranks) -> (matrix, type, N) -> variant -> row."""

    def __init__(self, options, folder):
        self.options, self.folder, self.machine = options, folder, "-"
        self.found, self.failed = {}, []
        self.end = time.monotonic() + options.limit if options.limit else None

    def start(self, build, ranks, kind, widths, inputs, gpu, more):
        """A run of bench_dist that has begun, with the file of its rows; None: no time is left."""
        left = self.end - time.monotonic() if self.end else 3600.0
        if left < 3.0 or not inputs:
            return None
        out = self.folder / f"rows{gpu}.tsv"
        out.unlink(missing_ok=True)
        cache = self.folder / str(abs(hash(build)))
        cache.mkdir(exist_ok=True)
        command = ["timeout", "--kill-after=5", f"{left:.0f}", "mpirun", "--bind-to", "none", "-n",
                   str(ranks), pathlib.Path(build) / "bench" / "bench_dist", "--type", kind,
                   "--columns", ",".join(widths), "--partition", "metis", "--out", out, *more]
        if self.options.parts:
            command += ["--partition-dir", self.options.parts]
        for name in inputs:
            command += ["--matrix" if pathlib.Path(name).exists() else "--generate", name]
        env = {**os.environ, "SPMM_CACHE_DIR": str(cache), "NCCL_NVLS_ENABLE": "0"}
        if ranks == 1:
            env["CUDA_VISIBLE_DEVICES"] = visible_gpu(gpu)
        return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL), out

    def take(self, build, ranks, kind, run):
        """What a run printed before it ended."""
        process, out = run
        process.wait()
        if process.returncode != 0:
            self.failed.append(f"bench_dist of {build} on {ranks} GPUs, {kind}, ended with "
                               f"{process.returncode}")
        if not out.exists() or out.stat().st_size == 0:
            return
        comments, _, rows = table.read(out, ("matrix", "columns", "variant", "total_ms", "passed"))
        if ranks == 2 and comments:
            self.machine = comments[0].split(": ")[0]
        for row in rows:
            if row["passed"] != "yes":
                self.failed.append(f"{row['matrix']}, {kind}, N = {row['columns']}, "
                                   f"{row['variant']} on {ranks} GPUs is wrong")
                continue
            key = (row["matrix"], kind, row["columns"])
            found = self.found.setdefault((build, ranks), {})
            found.setdefault(key, {})[row["variant"]] = row

    def measure(self, build, ranks, kind, widths, more):
        """On one GPU both at a time, each with every second matrix."""
        inputs = self.options.matrix
        shares = [inputs[::2], inputs[1::2]] if ranks == 1 else [inputs]
        runs = [self.start(build, ranks, kind, widths, share, gpu, more)
                for gpu, share in enumerate(shares)]
        for run in runs:
            if run is not None:
                self.take(build, ranks, kind, run)

    def of(self, build, ranks, key, variant="auto"):
        return self.found.get((build, ranks), {}).get(key, {}).get(variant)


def efficiency(one, two):
    return None if one is None or two is None else one / (2.0 * two)


def line_of(runs, key, options):
    """A row of the table, as a dict; None: not both times of BUILD are known."""
    one, two = (runs.of(options.build, ranks, key) for ranks in (1, 2))
    if one is None or two is None:
        return None
    old = [microseconds(runs.of(options.old, ranks, key) or {}, "total_ms") for ranks in (1, 2)]
    line = {"matrix": table.stem(key[0]), "type": key[1], "N": key[2], "nnz": two["nnz"],
            "T1_us": microseconds(one, "total_ms"), "T2_us": microseconds(two, "total_ms"),
            "old_T1_us": old[0], "old_T2_us": old[1], "old_efficiency": efficiency(*old),
            "one_engine": one["engine"], **{name: two.get(name) for name in WORDS},
            "local_max_mean": two.get("local_max_mean")}
    line["efficiency"] = efficiency(line["T1_us"], line["T2_us"])
    line["old_over_new"] = old[1] and old[1] / line["T2_us"]
    for name, alone in (("exchange", "alone_exchange_ms"), ("local", "alone_local_ms"),
                        ("halo", "alone_halo_ms")):
        line[f"{name}_us"] = microseconds(two, alone) or microseconds(two, f"{name}_ms")
    for name, variant in (("needed", "needed"), ("in_place", "needed-in-place"),
                          ("allgather", "allgather")):
        line[f"{name}_us"] = microseconds(runs.of(options.build, 2, key, variant) or {}, "total_ms")
    return line


def text_of(value):
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def groups_of(lines):
    """What efficiencies are asked for: titles and rows."""
    yield (f"N = {LONG_N}, T1 >= {LONG_US:.0f} us",
           [x for x in lines if x["N"] == LONG_N and x["T1_us"] >= LONG_US])
    for kind, n in sorted({(x["type"], x["N"]) for x in lines}):
        yield f"{kind}, N = {n}", [x for x in lines if (x["type"], x["N"]) == (kind, n)]
    yield "all", lines


def summary(lines):
    """Sentences on geomeans and minima."""
    for title, group in groups_of(lines):
        for name in ("efficiency", "old_efficiency"):
            good = [x for x in group if x[name]]
            if good:
                least = min(good, key=lambda x, by=name: x[by])
                yield (f"{name}, {title}: rows {len(good)}, geomean "
                       f"{table.geomean(x[name] for x in good):.3f}, least {least[name]:.3f} "
                       f"({least['matrix']}, {least['type']}, N = {least['N']})")
    for name in ("needed_us", "in_place_us", "allgather_us", "old_T2_us"):
        good = [x for x in lines if x[name]]
        if good:
            least = min(good, key=lambda x, by=name: x[by] / x["T2_us"])
            yield (f"{name} / T2_us: rows {len(good)}, geomean "
                   f"{table.geomean(x[name] / x['T2_us'] for x in good):.3f}, least "
                   f"{least[name] / least['T2_us']:.3f} ({least['matrix']}, {least['type']}, "
                   f"N = {least['N']})")


def write(options, machine, lines):
    with open(options.out, "w", encoding="utf-8") as out:
        out.write(f"# made by bench/dist/pair.py --cases {options.cases}, "
                  f"{time.strftime('%F %H:%M', time.gmtime())} UTC; {machine}\n"
                  f"# build: {options.build}, old: {options.old or '-'}\n")
        out.write("\t".join(TITLES) + "\n")
        for line in lines:
            out.write("\t".join(text_of(line[name]) for name in TITLES) + "\n")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--old")
    parser.add_argument("--parts")
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--limit", type=float)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("matrix", nargs="+")
    options = parser.parse_args()
    options.case = [(kind, widths) for kind, *widths in
                    (case.split(":") for case in options.cases.split(","))]
    if not all(widths for _, widths in options.case):
        parser.error(f"--cases does not take {options.cases}")
    return options


def measure(runs, options):
    """Case by case, so that what there is no time for is missing of both builds.  The older build
    without what is compared with, nor options that it may not have."""
    alone = ["--no-baselines"]
    for kind, widths in options.case:
        runs.measure(options.build, 1, kind, widths, alone)
        runs.measure(options.build, 2, kind, widths, alone if options.bare else [])
        if options.old:
            runs.measure(options.old, 1, kind, widths, alone)
            runs.measure(options.old, 2, kind, widths, alone)


def lines_of(runs, options):
    """The table, by type, N and the order of the matrices."""
    keys = {key for (_, ranks), rows in runs.found.items() if ranks == 2 for key in rows}
    order = [pathlib.Path(name).name for name in options.matrix]
    lines = [line_of(runs, key, options)
             for key in sorted(keys, key=lambda key: (key[1:], order.index(key[0])))]
    return [line for line in lines if line is not None]


def left_out(lines, options):
    rows = sum(len(widths) for _, widths in options.case) * len(options.matrix)
    for what, there in (("rows", len(lines)),
                        ("rows of the older build",
                         sum(x["old_efficiency"] is not None for x in lines))):
        if there < rows and (options.old or what == "rows"):
            yield f"{rows - there} of {rows} {what} are left out"


def main():
    options = read_arguments()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(options, pathlib.Path(folder))
        measure(runs, options)
        lines = lines_of(runs, options)
        if not lines:
            raise table.TableError("no product ran on one and on two GPUs")
    write(options, runs.machine, lines)
    print("\n".join(summary(lines)))
    runs.failed += left_out(lines, options)
    for line in runs.failed:
        print(f"pair.py: {line}", file=sys.stderr)
    return 1 if runs.failed else 0


if __name__ == "__main__":
    table.run(main)
