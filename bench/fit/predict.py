#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well the cost models do against times of spmm_bench.

    bench/fit/predict.py [--plans] [--predictions FILE]... RESULT.tsv...

prints, per engine and width, the error |predicted / measured - 1| (median, 90th percentile,
largest) and the bias (median of measured / predicted: what the prediction would have to be
multiplied by); then, per width, what a choice by prediction alone loses against the fastest engine
measured. Predictions are the column predicted_ms of the results, or come from FILE, the output of
bench_predict, for the models as they are now (of all engines where it was built with CUDA). With
--plans the errors are those of what default plans chose, rows of engine auto, each in its order of
rows; bench_predict --order makes the predictions of an order."""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import table  # noqa: E402


def key_of(row, engine):
    """What a prediction is looked up by."""
    return (table.stem(row["matrix"]), engine, row["N"], table.mode(row),
            row.get("reordering") or "none")


def join(paths, predictions, plans):
    """{(compute, N): {matrix: {engine: (predicted, measured)}}} of engines asked for by name, or
    of those that plans chose."""
    given = {key_of(r, r["engine"]): r["predicted_ms"] for r in
             table.read_rows(predictions, ("matrix", "engine", "N", "predicted_ms"))}
    out = {}
    for row in table.read_rows(paths, ("matrix", "engine", "N", "median_ms")):
        row["engine"], by_plan = (row.get("chosen") or row["engine"], True) \
            if row["engine"] == "auto" else (row["engine"], False)
        predicted = (given.get(key_of(row, row["engine"])) if predictions
                     else row.get("predicted_ms"))
        good = by_plan == plans and row.get("passed", "yes") == "yes"
        if good and predicted and row["median_ms"]:
            group = out.setdefault((table.mode(row), row["N"]), {})
            group.setdefault(row["matrix"], {})[row["engine"]] = (predicted, row["median_ms"])
    if not out:
        raise table.TableError("no row has both a time and a prediction")
    return out


def at(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def line(name, n, pairs):
    errors = [abs(p / m - 1) for p, m in pairs]
    return (f"| {name} | {n} | {len(pairs)} | {100 * at(errors, 0.5):.0f} % | "
            f"{100 * at(errors, 0.9):.0f} % | {100 * max(errors):.0f} % | "
            f"{at([m / p for p, m in pairs], 0.5):.2f} |")


def print_errors(compute, widths):
    print(f"\nPrediction, {compute}:\n")
    print("| engine | N | matrices | median error | 90th percentile | largest | bias |")
    print("|---|---|---|---|---|---|---|")
    by_engine = {}
    for n, matrices in widths:
        for engines in matrices.values():
            for engine, pair in engines.items():
                by_engine.setdefault(engine, {}).setdefault(n, []).append(pair)
    for engine, by_width in by_engine.items():
        for n, pairs in by_width.items():
            print(line(engine, n, pairs))
    everything = [pair for widths in by_engine.values() for pairs in widths.values()
                  for pair in pairs]
    print(line("all", "all", everything))


def print_regret(compute, widths):
    print(f"\nChoice by prediction alone, {compute}: time over that of the fastest engine\n")
    print("| N | matrices | right | geomean | worst | at | chosen |")
    print("|---|---|---|---|---|---|---|")
    every = []
    for n, matrices in widths:
        losses = []
        for matrix, engines in matrices.items():
            if len(engines) > 1:
                chosen = min(engines, key=lambda e: engines[e][0])
                least = min(measured for _, measured in engines.values())
                losses.append((engines[chosen][1] / least, table.stem(matrix), chosen))
        if losses:
            worst = max(losses)
            print(f"| {n} | {len(losses)} | {sum(loss[0] == 1 for loss in losses)} | "
                  f"{table.geomean(loss[0] for loss in losses):.4f} | {worst[0]:.2f} | "
                  f"{worst[1]} | {worst[2]} |")
            every += losses
    if every:
        print(f"| all | {len(every)} | {sum(loss[0] == 1 for loss in every)} | "
              f"{table.geomean(loss[0] for loss in every):.4f} | {max(every)[0]:.2f} | "
              f"{max(every)[1]} | {max(every)[2]} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", action="store_true")
    parser.add_argument("--predictions", metavar="FILE", action="append", default=[])
    parser.add_argument("results", nargs="+", metavar="RESULT.tsv")
    arguments = parser.parse_args()
    groups = join(arguments.results, arguments.predictions, arguments.plans)
    for compute in dict.fromkeys(compute for compute, _ in groups):
        widths = [(n, groups[c, n]) for c, n in sorted(groups) if c == compute]
        print_errors(compute, widths)
        if not arguments.plans:
            print_regret(compute, widths)
    return 0


if __name__ == "__main__":
    table.run(main)
