#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The constants of the cost models that fit times of spmm_bench best.

    bench_predict 32f-fast-tf32 32,128,512 FILE... > TERMS.tsv
        (and of other modes, behind it)
    bench/fit/fit.py --terms TERMS.tsv RESULT.tsv...

A model is a sum of terms, each seconds times a constant of at least 0.  Minimised is the mean of
d^2 (sqrt(1 + (e / d)^2) - 1), e = log(predicted / measured), d = 0.1: squares of small errors,
sizes of large ones, so that one matrix that a model does not understand does not bend it for all
others.

Printed are, for each engine and set of constants, these in the order of the terms, and the errors
|predicted / measured - 1|: of the constants that TERMS.tsv has from the sources; of the fit;
and cross-validated, each matrix predicted from a fit to all others."""
import argparse
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import table  # noqa: E402

SPREAD = 0.1   # d above
LEAST = 1e-9   # of a term: log(0) has no gradient


def at(values, share):
    """The value below which this share of them lies."""
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def solve(a, b):
    """x of a x = b: Gauss with pivots.  Overwrites both."""
    n = len(b)
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(a[i][k]))
        a[k], a[pivot], b[k], b[pivot] = a[pivot], a[k], b[pivot], b[k]
        for i in range(k + 1, n):
            f = a[i][k] / a[k][k]
            b[i] -= f * b[k]
            for j in range(k, n):
                a[i][j] -= f * a[k][j]
    for k in reversed(range(n)):
        b[k] = (b[k] - sum(a[k][j] * b[j] for j in range(k + 1, n))) / a[k][k]
    return b


def loss(rows, c):
    total = 0.0
    for terms, seconds in rows:
        e = math.log(sum(x * t for x, t in zip(c, terms)) / seconds) / SPREAD
        total += math.sqrt(1 + e * e) - 1
    return SPREAD**2 * total / len(rows)


def normal_equations(rows, c):
    """Of a step in the logarithms of the constants, weighted as the loss says."""
    n = len(c)
    a, b = [[0.0] * n for _ in range(n)], [0.0] * n
    for terms, seconds in rows:
        parts = [x * t for x, t in zip(c, terms)]
        total = sum(parts)
        e = math.log(total / seconds)
        weight = 1 / math.sqrt(1 + (e / SPREAD)**2)
        slope = [p / total for p in parts]
        for i in range(n):
            b[i] -= weight * slope[i] * e
            for j in range(n):
                a[i][j] += weight * slope[i] * slope[j]
    return a, b


def fit(rows):
    """Constants by damped Gauss-Newton steps.  rows: [([seconds of a term], seconds measured)]."""
    n = len(rows[0][0])
    c = [at([s / max(t[k], LEAST * s) for t, s in rows], 0.5) / n for k in range(n)]
    best, damping = loss(rows, c), 1e-2
    for _ in range(400):
        a, b = normal_equations(rows, c)
        for k in range(n):
            a[k][k] += damping * (a[k][k] + 1e-6 * len(rows))
        step = solve(a, b)
        new = [x * math.exp(max(-2.0, min(2.0, s))) for x, s in zip(c, step)]
        now = loss(rows, new)
        if now < best:
            done = best - now < 1e-9
            c, best, damping = new, now, damping / 3
            if done and damping < 1e-4:
                break
        else:
            damping *= 4
            if damping > 1e8:
                break
    return c


def predict(c, terms):
    return sum(x * t for x, t in zip(c, terms))


def constants_of(engine, mode):
    """Which modes share constants: those that run the same kernel."""
    if mode.startswith("16"):
        return "16 bits"
    if mode.endswith("-col"):
        return mode
    if "c" in mode:
        return mode if engine == "bittcf" else "complex"
    if engine == "hrpb":
        return "FP32"
    if engine == "cusparse":
        return "FP64" if mode == "64f" else "FP32"
    return "FP32 and FP64" if engine == "csr-gpu" else mode


def join(terms_path, results):
    """{(engine, constants, [name]): {(matrix, N, mode): ([seconds], measured)}}, and
    {(engine, matrix, N, mode): seconds predicted by the constants of the sources}."""
    terms, sources = {}, {}
    _, _, rows = table.read(terms_path,
                            ("matrix", "engine", "N", "compute", "term", "constant", "seconds"))
    for r in rows:
        key = (table.stem(r["matrix"]), r["engine"], r["N"], r["compute"])
        terms.setdefault(key, []).append((r["term"], float(r["seconds"])))
        point = (key[1], key[0], key[2], key[3])
        sources[point] = (sources.get(point, 0.0) + float(r["constant"]) * float(r["seconds"]))
    out = {}
    for path in results:
        _, _, rows = table.read(path, ("matrix", "engine", "N", "median_ms"))
        for r in rows:
            mode = table.mode(r)
            key = (table.stem(r["matrix"]), r["engine"], r["N"], mode)
            if r["engine"] == "auto" or r.get("passed", "yes") != "yes" or not r["median_ms"]:
                continue
            if key in terms:
                names = tuple(t for t, _ in terms[key])
                points = out.setdefault((r["engine"], constants_of(r["engine"], mode), names), {})
                points[key[0], r["N"], mode] = ([s for _, s in terms[key]], 1e-3 * r["median_ms"])
    return out, sources


def left_out(points):
    """Predictions {point: (predicted, measured)}, each from a fit to the points of the others."""
    out = {}
    for matrix in dict.fromkeys(p[0] for p in points):
        others = [row for p, row in points.items() if p[0] != matrix]
        c = fit(others) if others else None
        out.update({p: (predict(c, t), s) for p, (t, s) in points.items()
                    if c and p[0] == matrix})
    return out


def all_ways(engine, points, sources):
    """Constants, and predictions {way: {point: (predicted, measured)}}."""
    c = fit(list(points.values()))
    ways = {"sources": {p: (sources[(engine, *p)], s) for p, (_, s) in points.items()},
            "fit": {p: (predict(c, t), s) for p, (t, s) in points.items()},
            "left out": left_out(points)}
    return c, ways


def errors(pairs):
    e = [abs(p / m - 1) for p, m in pairs]
    bias = at([m / p for p, m in pairs], 0.5)
    return (f"{len(e)} | {100 * at(e, 0.5):.1f} % | {100 * at(e, 0.9):.1f} % | "
            f"{100 * max(e):.0f} % | {bias:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--terms", metavar="TERMS.tsv", required=True)
    parser.add_argument("results", nargs="+", metavar="RESULT.tsv")
    arguments = parser.parse_args()
    groups, sources = join(arguments.terms, arguments.results)
    if not groups:
        raise table.TableError("no row has both a time and terms")
    every = {}
    lines = []
    for (engine, constants, names), points in groups.items():
        c, ways = all_ways(engine, points, sources)
        print(f"{engine}, {constants}: " + ", ".join(f"{n} {x:.3g}" for n, x in zip(names, c)))
        for way, pairs in ways.items():
            every.setdefault(way, {}).setdefault(engine, {}).update(pairs)
    for way, engines in every.items():
        for engine, points in engines.items():
            for mode in dict.fromkeys(p[2] for p in points):
                for n in sorted({p[1] for p in points if p[2] == mode}):
                    pairs = [x for p, x in points.items() if p[1] == n and p[2] == mode]
                    lines.append(f"| {way} | {engine} | {mode} | {n} | {errors(pairs)}")
        for mode in dict.fromkeys(p[2] for points in engines.values() for p in points):
            pairs = [x for points in engines.values() for p, x in points.items() if p[2] == mode]
            lines.append(f"| {way} | all | {mode} | all | {errors(pairs)}")
    print("\n| errors | engine | mode | N | times | median | 90th percentile | largest | bias |")
    print("|---|---|---|---|---|---|---|---|---|")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    table.run(main)
