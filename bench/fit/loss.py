#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the choices of plans lose, and why.

    bench/fit/loss.py [--executes K] [--worst K] RESULT.tsv...

takes tables of spmm_bench with rows of engine auto and, in the same or other tables, of engines by
name.  For each mode and width: the geometric mean and the least of auto's speed-up over cuSPARSE,
and of its time over that of the fastest engine by name; then the rows that lose most, with times
and predictions in us, and the reason:

  far     the fastest is predicted to take more than 1.6 times the least: it is not tried
  budget  another format, which a plan takes to cost what the first did, takes more than 5 % of
          the products (--executes, 1000): likewise, but for cusparse
  use     it could be tried, but the products of the caller did not show it
  same    it is the engine that was chosen, in another order of rows or another variant"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import table  # noqa: E402

WORTH, SHARE = 1.6, 0.05  # as src/engine/choose/tuning.c and autotune.c have them


def join(paths):
    """{(mode, N): {matrix: {engine: row}}} of right products; of several rows the fastest, but a
    row beside engine auto before others, as the yardstick of the same run."""
    out = {}
    for path in paths:
        rows = [r for r in table.read(path, ("matrix", "engine", "N", "median_ms"))[2]
                if r.get("passed", "yes") == "yes" and r["median_ms"]]
        beside = any(r["engine"] == "auto" for r in rows)
        for r in rows:
            engines = out.setdefault((table.mode(r), r["N"]), {}).setdefault(
                table.stem(r["matrix"]), {})
            old = engines.get(r["engine"])
            if old is None or beside or (not old["beside"] and r["median_ms"] < old["median_ms"]):
                engines[r["engine"]] = {**r, "beside": beside}
    return out


def with_csr_gpu(groups):
    """In TF32, too: there csr-gpu multiplies in FP32."""
    for (mode, n), matrices in groups.items():
        for matrix, engines in matrices.items() if mode == "32f-fast-tf32" else ():
            other = groups.get(("32f", n), {}).get(matrix, {})
            if "csr-gpu" in other:
                engines.setdefault("csr-gpu", other["csr-gpu"])
    return groups


def reason(auto, best, engines, executes):
    predicted = {e: r["predicted_ms"] for e, r in engines.items()
                 if e != "auto" and r.get("predicted_ms")}
    least = min(predicted.values(), default=0.0)
    if best == auto["chosen"]:
        return "same"
    if predicted.get(best, 0.0) > WORTH * least:
        return "far"
    if best != "cusparse" and (auto.get("format_ms") or 0.0) > SHARE * executes * least:
        return "budget"
    return "use"


def in_us(value):
    return "-" if value is None else f"{1e3 * value:.1f}"


def losses(matrices, executes):
    """(loss, matrix, text) of each matrix with auto and another engine."""
    out = []
    for matrix, engines in matrices.items():
        named = [e for e in engines if e != "auto"]
        if "auto" not in engines or not named:
            continue
        auto, best = engines["auto"], min(named, key=lambda e: engines[e]["median_ms"])
        chosen = engines.get(auto.get("chosen"), {})
        out.append((auto["median_ms"] / engines[best]["median_ms"], matrix,
                    f"{auto.get('chosen')} {in_us(auto['median_ms'])} "
                    f"({in_us(chosen.get('predicted_ms'))}) | {best} "
                    f"{in_us(engines[best]['median_ms'])} "
                    f"({in_us(engines[best].get('predicted_ms'))}) | "
                    f"{reason(auto, best, engines, executes)}"))
    return sorted(out, reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executes", type=int, default=1000)
    parser.add_argument("--worst", type=int, default=5, metavar="K", help="rows for each width")
    parser.add_argument("results", nargs="+", metavar="RESULT.tsv")
    arguments = parser.parse_args()
    print("| mode | N | matrices | over cusparse | least | loss | worst | chosen, us (predicted) | "
          "fastest | reason |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    found = False
    for (mode, n), matrices in sorted(with_csr_gpu(join(arguments.results)).items()):
        lost = losses(matrices, arguments.executes)
        if not lost:
            continue
        found = True
        ratios = [e["cusparse"]["median_ms"] / e["auto"]["median_ms"] for e in matrices.values()
                  if "auto" in e and "cusparse" in e]
        print(f"| {mode} | {n} | {len(lost)} | {table.shown(table.geomean(ratios), 3)} | "
              f"{table.shown(min(ratios, default=None), 2)} | "
              f"{table.geomean(x[0] for x in lost):.4f} | | | | |")
        for loss, matrix, text in lost[: arguments.worst]:
            print(f"| | | {matrix} | | | {loss:.2f} | | {text} |")
    if not found:
        raise table.TableError("no matrix has both a row of engine auto and another one")
    return 0


if __name__ == "__main__":
    table.run(main)
