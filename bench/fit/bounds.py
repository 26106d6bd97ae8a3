#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bounds the products with pruned weights, and SDDMM of masks without vectors, in FP16 on one
GPU: times beside those of a rival, and the counters of their kernels by ncu.

    bench/fit/bounds.py BUILD OUT.tsv [8|4|2|1|sddmm]...

Weights: the layers of bench/engine/pruned.py at the zeros from which 1.2 of the speed of the dense
product is wanted, by the faster of the sparse engines.  Masks: V = 1, wanted 1.5 of cusparseSDDMM.

    us, rival_us      device time, by spmm_bench or bench_sddmm
    want_us           the rival's over what is wanted
    kernel_us         of the kernel alone, under ncu with warm caches; l2_mb: through L2
    memory .. tensor  units in percent of what they can do in that time
    least_us          us with the kernel as short as its busiest unit at 100 % lets it be
    bound             that unit where even so want_us is missed; `waits`: no unit is full
"""
import csv
import pathlib
import subprocess
import sys
import tempfile

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH / "common"), str(BENCH / "engine")]
import pruned  # noqa: E402
import table  # noqa: E402

WANTED_FROM = {8: 90, 4: 92, 2: 95, 1: 97}
WIDTHS, RATIO = (256, 512), 1.2
MASKS, DEPTHS, SDDMM_RATIO = (90, 95, 98), (64, 128, 256), 1.5
KERNELS = {"pruned": "regex:cvse_mm|cvse_short_mm|cvse_slab_mm|csr_mm|csr_rows",
           "sddmm": "regex:sddmm_(panels|tiles|batches|tasks|squares|sweeps)"}
SHARE = ".avg.pct_of_peak_sustained_elapsed"
UNITS = {"memory": "dram__throughput", "l2": "lts__throughput", "l1": "l1tex__throughput",
         "issue": "sm__inst_executed", "tensor": None}
TENSOR = ("sm__pipe_tensor_cycles_active", "sm__inst_executed_pipe_tensor")
TIME, BYTES = "gpu__time_duration.sum", "lts__t_bytes.sum"
FACTORS = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3,
           "byte": 1e-6, "Kbyte": 1e-3, "Mbyte": 1.0, "Gbyte": 1e3, "%": 1.0}
TITLES = ("case", "N", "kernel", "us", "rival_us", "want_us", "kernel_us", "l2_mb", *UNITS,
          "least_us", "bound")


def metrics():
    """unit -> metric; the tensor cores' has several names."""
    said = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=False)
    tensor = next((name for name in TENSOR if name + " " in said.stdout), TENSOR[0])
    return {unit: (name or tensor) + SHARE for unit, name in UNITS.items()}


def profile(command, kernels, units, cases):
    """The counters of the last launch of each case; all have as many."""
    done = subprocess.run(
        ["ncu", "--clock-control", "none", "--cache-control", "none", "--csv", "--metrics",
         ",".join((TIME, BYTES, *units.values())), "--kernel-name", kernels, *command],
        capture_output=True, text=True, check=False)
    launches = {}
    for row in csv.DictReader(line for line in done.stdout.split("\n") if line.startswith('"')):
        value = float(row["Metric Value"].replace(",", "")) * FACTORS[row["Metric Unit"]]
        launches.setdefault(row["ID"], {})[row["Metric Name"]] = value
    found = list(launches.values())
    if done.returncode != 0 or not found or len(found) % cases != 0:
        raise OSError(f"ncu saw {len(found)} launches of {cases} cases: "
                      f"{(done.stdout + done.stderr)[-400:]}")
    each = len(found) // cases
    return found[each - 1::each]


def line(names, us, rival, ratio, counters, units):
    """A row of the table, of what was measured."""
    share = {unit: counters[metric] for unit, metric in units.items()}
    busiest = max(share, key=share.get)
    least = max(us - counters[TIME], 0.0) + counters[TIME] * share[busiest] / 100
    bound = "-" if us <= rival / ratio else busiest if least > rival / ratio else "waits"
    return dict(zip(TITLES, (*names, *(f"{x:.2f}" for x in (
        us, rival, rival / ratio, counters[TIME], counters[BYTES])),
        *(f"{x:.1f}" for x in share.values()), f"{least:.2f}", bound)))


def weights(build, units, v, folder):
    """Rows for weights pruned in vectors of v rows."""
    specs, out = folder / "specs", folder / "rows.tsv"
    specs.write_text("".join(f"pruned:rows={m},cols={k},sparsity={WANTED_FROM[v] / 100},vector={v}"
                             "\n" for m, k in pruned.SHAPES), encoding="utf-8")
    command = [f"{build}/tools/spmm_bench", "--matrix-list", specs, "--type", "16f", "--reorder",
               "none", "--no-yardstick", "--columns", ",".join(map(str, WIDTHS)), "--out", out,
               "--engines"]
    subprocess.run([*command, ",".join((*pruned.SPARSE, "dense"))], check=True,
                   stdout=subprocess.DEVNULL)
    took = {(row["matrix"], row["N"], row["engine"]): 1e3 * row["median_ms"]
            for row in table.read(out, ("matrix", "N", "engine", "median_ms"))[2]}
    for engine in pruned.SPARSE:
        cases = [(m, n) for (m, n, e), us in took.items()
                 if e == engine and us == min(took[m, n, x] for x in pruned.SPARSE)]
        if cases:
            seen = profile([*command, engine, "--warmup", "0", "--iterations", "1"],
                           KERNELS["pruned"], units, len(took) // 3)
            order = [(row["matrix"], row["N"]) for row in table.read(out)[2]]
            for m, n in cases:
                yield line((m, n, engine), took[m, n, engine], took[m, n, "dense"], RATIO,
                           seen[order.index((m, n))], units)


def masks(build, units):
    """Rows for masks of single entries."""
    specs = [f"pruned:rows=8192,cols=8192,sparsity={z / 100},vector=1" for z in MASKS]
    command = [f"{build}/bench/bench_sddmm", "--iterations"]
    rest = ["16f", ",".join(map(str, DEPTHS)), *specs]
    said = subprocess.run([*command, "20", *rest], check=True, capture_output=True, text=True)
    rows = [x.split("\t") for x in said.stdout.split("\n") if x.startswith("pruned:")]
    seen = profile([*command, "1", *rest], KERNELS["sddmm"], units, len(rows))
    for row, counters in zip(rows, seen):
        yield line((row[0], row[4], row[6]), 1e3 * float(row[8]), 1e3 * float(row[9]), SDDMM_RATIO,
                   counters, units)


def main():
    names = [str(v) for v in WANTED_FROM] + ["sddmm"]
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= set(names):
        print(f"usage: {sys.argv[0]} BUILD OUT.tsv [8|4|2|1|sddmm]...", file=sys.stderr)
        return 2
    build, out = sys.argv[1:3]
    units = metrics()
    text = ["# bench/fit/bounds.py, FP16; " + ", ".join(units.values()), "\t".join(TITLES)]
    for name in sys.argv[3:] or names:
        with tempfile.TemporaryDirectory() as folder:
            for row in (masks(build, units) if name == "sddmm" else
                        weights(build, units, int(name), pathlib.Path(folder))):
                text.append("\t".join(map(str, row.values())))
                pathlib.Path(out).write_text("\n".join(text) + "\n", encoding="utf-8")
    print("\n".join(text))
    return 0


if __name__ == "__main__":
    table.run(main)
