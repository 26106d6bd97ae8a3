# SPDX-License-Identifier: Apache-2.0
"""Figures of docs/explanation/performance.md."""

import statistics

from figures import ROOT, fig
from results import code, geomean, one, peers, rows, select, summary, values

MODES = (
    ("`32f-fast-tf32`", "32f-fast-tf32"),
    ("`32f`", "32f"),
    ("`64f`", "64f"),
    ("`16f`, over cuSPARSE in FP32", "16f"),
)
MORE = (("FP64", "64f"), ("FP32", "32f"))


def least_of(mode, n):
    """The least speed-up with its matrix, and its time in us where cuSPARSE is ahead."""
    found = [r for r in rows(f"single_gpu_{mode}.default.tsv") if r["N"] == n]
    if not found:
        return "-"
    row = min(found, key=lambda r: r["ratio_to_cusparse"])
    us = row["median_ms"] * 1000
    time = f" ({fig(us, 0 if us > 20 else 1)} us)" if row["ratio_to_cusparse"] < 0.995 else ""
    return f"{fig(row['ratio_to_cusparse'])}, {row['matrix']}{time}"


def pair(name, column, **wanted):
    found = values(select(name, **wanted), column)
    return f"{fig(geomean(found))}, {fig(min(found))}"


def by_class(page):
    """Geometric means of default plans by class of the matrix."""
    kinds = {r["matrix"]: r["class"] for r in rows("../fit/classes.tsv")}
    for title, kind in (("finite elements", "FEM"), ("meshes", "mesh"), ("graphs", "graph"),
                        ("unions of graphs", "union"), ("circuits, control", "circuit"),
                        ("programs", "program"), ("pruned weights", "pruned")):
        cells = []
        for _, mode in MODES:
            for n in (32, 128, 512):
                found = [r["ratio_to_cusparse"]
                         for r in rows(f"single_gpu_{mode}.default.tsv")
                         if r["N"] == n and kinds[r["matrix"]] == kind]
                cells += [fig(geomean(found))] if found else []
                count = len(found) if (mode, n) == ("32f", 32) else 0
                cells[:0] = [fig(count, 0)] if count else []
        page.row(title, *cells)


def plan_times(mode):
    """(default, with engine cusparse) of each product."""
    return [(r["auto_ms"], r["cusparse_ms"])
            for r in select("programs/plan_times.tsv", mode=mode)]


def one_gpu(page):
    for title, mode in MODES:
        page.row(title, *(least_of(mode, n) for n in (32, 128, 512)))
    below = [
        r
        for _, mode in MODES
        for r in rows(f"single_gpu_{mode}.default.tsv")
        if r["ratio_to_cusparse"] < 0.995
    ]
    assert len(below) == len({(r["#"], r["compute"], r["type"], r["N"]) for r in below})
    found = select("single_gpu_32f.default.tsv", N=128)
    executes = fig(code("src/engine/choose/autotune.h", r"executes == 0 \? (\d+)"), 0)
    page.says(
        f"over the {fig(len(found), 0)} real matrices with at least 80,000 entries. The least",
        f"one of the {fig(len(found), 0)} matrices each",
        f"plans that are told of {executes.replace(',', '')} products take sparse engines",
    )
    page.noted("definition", "told of 100,000 products", "takes 0.3 s once in a process")
    page.noted("arithmetic", "engines that differ by 0.6 us")
    by_class(page)
    large = {(mode, n): values(select("trials/standins.tsv", N=n, compute=mode),
                               "ratio_to_cusparse")
             for mode in ("32f-fast-tf32", "32f", "64f") for n in (32, 128)}
    tf32 = [large["32f-fast-tf32", n] for n in (32, 128)]
    joint = [fig(geomean(found + values(select("single_gpu_32f-fast-tf32.default.tsv", N=n),
                                       "ratio_to_cusparse"))) for n, found in zip((32, 128), tf32)]
    mean = {key: fig(geomean(found)) for key, found in large.items()}
    page.says(
        f"Over {len(tf32[0])} of the twenty stand-ins",
        f"the mean is {fig(geomean(tf32[0]))} in TF32 at N = 32 and {fig(geomean(tf32[1]))} at "
        f"128, least {fig(min(tf32[0]))} (FraudYelp-like) and {fig(min(tf32[1]))} "
        "(BlogCatalog-like)",
        f"the real ones together {joint[0]} and {joint[1]}. Over nine of them it is "
        f"{mean['32f', 32]} and {mean['32f', 128]} in FP32, {mean['64f', 32]} and "
        f"{mean['64f', 128]} in FP64",
    )
    assert len(large["32f", 32]) == len(large["64f", 32]) == 9
    plans = {mode: plan_times(mode) for mode in ("32f-fast-tf32", "32f", "64f", "16f")}
    short = {mode: f"{fig(sum(p <= c for p, c in times), 0)} of {fig(len(times), 0)}"
             for mode, times in plans.items()}
    timed = {r["matrix"] for r in rows("programs/plan_times.tsv")}
    page.says(f"for {short['32f-fast-tf32']} products with {fig(len(timed), 0)} of the real "
              "matrices in TF32, "
              f"{short['32f']} in FP32, {short['64f']} in FP64 and {short['16f']} in FP16, and "
              + ", ".join(fig(statistics.median(p / c for p, c in plans[mode]))
                          for mode in ("32f-fast-tf32", "32f", "64f"))
              + f" and {fig(statistics.median(p / c for p, c in plans['16f']))} times as long")
    for title, kind, count in (
        ("FP64, column-major", "64f", 40),
        ("FP32, column-major", "32f", 40),
        (f"FP16, column-major, {fig(38, 0)} matrices", "16f", 38),
    ):
        found = [r for r in rows("single_gpu_more.tsv") if r["type"] == kind and "us_8" in r]
        assert len(found) == count, len(found)
        page.row(title, *(both(found, n) for n in (8, 32, 128)))
    plans = rows("trials/strips/columns_plans.tsv")
    more = {(kind, n): fig(geomean(values([r for r in plans if r["type"] == kind and r["N"] == n],
                                          "auto", over="cusparse")))
            for kind in ("64f", "32f") for n in (8, 32, 128)}
    assert all(r["cusparse"] > r["auto"] for r in plans)
    page.says("{}, {} and {} times as fast in FP64, {}, {} and {} times in FP32".format(
        *more.values()), f"none of {fig(len(plans), 0)} products")
    for title, kind in (("complex FP64", "64c"), ("complex FP32", "32c")):
        found = [r for r in rows("engines/complex.tsv") if r["type"] == kind]
        by = {n: values([r for r in found if r["N"] == n], "ratio") for n in (8, 32, 128)}
        assert {len(v) for v in by.values()} == {40}
        page.row(title, *(f"{fig(geomean(v))}, {fig(min(v))}" for v in by.values()))
    for title, kind in MORE:
        found, one = (
            [r for r in rows("single_gpu_more.tsv") if r["type"] == kind and title_of in r]
            for title_of in ("us_4", "us_1")
        )
        assert len(found) == len(one) == 40
        page.row(title, both(one, 1), *(both(found, n) for n in (4, 20, 100)))
    page.says(f"geometric mean and least of {fig(40, 0)} real matrices")
    any_width(page)


def over_next(us, step, whole):
    """Times over those of the next multiple of a step, N = 9 to 127: (ratio, matrix, N)."""
    return [(time / us[m, -(-n // step) * step], m, n) for (m, n), time in us.items()
            if 8 < n < 128 and n % step and whole(n) and (m, -(-n // step) * step) in us]


def edges(page):
    """Widths over the next multiple of 8 or 16, where they end within 16 bytes and where not."""
    most = {}
    for title, kind, name, step in (
        ("FP64", "64f", "engines/widths.tsv", 8),
        ("FP32", "32f", "engines/widths.tsv", 8),
        ("FP16", "16f", "trials/csr_gpu/edges_half_marked.tsv", 16),
    ):
        elements = {"64f": 2, "32f": 4, "16f": 8}[kind]
        us = {(r["matrix"], r["N"]): r["us"] for r in rows(name) if r.get("type", kind) == kind}
        found = [over_next(us, step, lambda n: n % elements != 0),
                 over_next(us, step, lambda n: n % elements == 0)]
        page.row(title, *(f"{fig(geomean([x for x, _, _ in part]))}, {fig(max(part)[0])}"
                          for part in found))
        most[kind] = max(found[0])[1:]
    assert most == {"64f": ("dlmc_tr_ffn1_mp80", 127), "32f": ("soc-Epinions1", 74),
                    "16f": ("dlmc_tr_ffn1_mp80", 127)}, most
    page.noted("definition", "on soc-Epinions1 at N = 74", "where N = 128 takes `dense` and 127")
    half = rows("trials/csr_gpu/edges_half.tsv")
    packed = [r["packed"] / r["us"] for r in half if r["packed"] is not None]
    page.says(f"take {fig(geomean(packed))} times as long in FP16 as with it, at most "
              f"{fig(max(packed))}")
    page.noted("definition", "Without padding, N = 15, 31, 63 and 127")


def free_ratio(r):
    """Time of rows at any address over that of padded ones, by the kernel that N takes."""
    if r["type"] == "64f":
        return r["wave_4"] / r["padded"]
    even = r["N"] % 2 == 0 and r["N"] <= 64
    kernel = "pairs" if even else "two" if r["N"] <= 16 else "singles"
    return r[kernel] / r["padded"]


def any_width(page):
    """Times over those of the next multiple of 8: aligned widths, and others."""
    edges(page)
    free = {kind: [free_ratio(r) for r in rows("trials/csr_gpu/unaligned.tsv") if r["type"] == kind]
            for kind in ("64f", "32f")}
    packed = values(rows("trials/csr_gpu/widths_packed.tsv"), "aligned", over="packed")
    page.says(f"{fig(geomean(free['64f']))} and {fig(geomean(free['32f']))} times as long as "
              "padded to 16 bytes in FP64 and FP32 on two matrices, geometric mean, at most "
              f"{fig(max(free['64f']))} and {fig(max(free['32f']))}",
              f"{fig(geomean(packed))} times for {fig(len(packed), 0)} odd widths in FP64, at "
              f"most {fig(max(packed))}")
    wide = {(r["matrix"], r["N"]): r["slices_32"] for r in rows("trials/widths.tsv")}
    ratio = {(m, n): us / wide[m, 128] for (m, n), us in wide.items() if n < 128}
    few = [r for (_, n), r in ratio.items() if n <= 112]
    most = max(r for (_, n), r in ratio.items() if n > 112)
    page.says(f"take {fig(min(few))} to {fig(max(few))} of the time of N = 128 on six matrices",
              f"116 to 124 at most {fig(most)}")
    page.noted("definition", "slices of 32 columns between 96 and 112: N = 100",
               "and one H100, and 116 to 124")
    page.noted("definition", "multiples of 16 bytes, `csr-gpu`", "read them 16 bytes at a time",
               "the next multiple of 8, in FP16 of 16", "N = 9 to 127, H100",
               "| type | N ends within 16 bytes | whole 16 bytes |",
               "padded to 16 bytes in FP64",
               "8 bytes at a time up to N = 64 and 128", "`csr-gpu` in FP32 and 16 bits",
               "before rows were read 16 bytes at a time", "whole 16 bytes are worth it")


def both(found, n):
    column = values(found, f"ratio_{n}")
    return f"{fig(geomean(column))}, {fig(min(column))}"


def many_products(page):
    name = "engines/tf32_100000.tsv"
    found = {n: values(select(name, N=n), "auto", over="cusparse") for n in (32, 128, 512)}
    least = min(min(v) for v in found.values())
    page.row("`32f-fast-tf32`", *(fig(geomean(found[n])) for n in found), fig(least, 3))
    count = len(found[128])
    standins = sum(r["matrix"].startswith("syn-") for r in select(name, N=128))
    page.says(f"{fig(count, 0)} matrices, {standins} of them stand-ins")
    default = values(select("single_gpu_32f-fast-tf32.default.tsv", N=128), "break_even")
    page.says(
        f"after {fig(sorted(default)[(len(default) - 1) // 2], 0)} products in the median "
        f"of the {fig(len(default), 0)} matrices"
    )


def several_gpus(page):
    weak = {
        s: one("scaling_32f.tsv", set=f"weak:{s}", ranks=4)["efficiency"]
        for s in ("stencil27", "stencil9")
    }
    rmat = one("scaling_32f.tsv", matrix="rmat:scale=22,degree=16", ranks=4)
    ship = one("scaling_32f.tsv", matrix="syn-shipsec1", ranks=4)
    moved = select("dist_32f.tsv", set="strong", matrix="rmat:scale=22,degree=16", ranks=4)[0]
    assert {r["transport"] for r in select("scaling_32f.tsv", set="strong", ranks=4)} == {
        "nccl-push"
    } and rmat["schedule"] == "chunks2"
    page.says(
        f"stencil27 {fig(weak['stencil27'])}, stencil9 {fig(weak['stencil9'])}. In rmat",
        f"limits, {fig(rmat['exchange_ms'])} ms for the "
        f"{fig(round(moved['halo_rows_max'] * 512 / 1e6, -1), 0)} MB that one rank",
        f"the local block, {fig(1000 * ship['local_ms'], 0)} us beside the exchange where a "
        "quarter "
        f"of T1 is {fig(250 * ship['T1_ms'], 0)}, and {fig(1000 * ship['halo_ms'], 0)} us of the "
        "halo block",
    )
    for ranks in (4, 2):
        found = select("dist_32f.tsv", set="baselines", ranks=ranks)
        assert len(found) == 16 and all(r["passed"] == "yes" for r in found)
        cells = []
        for to in ("to_allgather", "to_needed", "to_in_place"):
            cells += [fig(geomean(values(found, to))), fig(min(values(found, to)))]
        page.row(fig(ranks, 0), *cells)
    found = select("dist_32f.tsv", set="baselines", ranks=4)
    least = min(found, key=lambda r: r["to_in_place"])
    assert least["matrix"] == "syn-FraudYelp-RSR" and least["halo_rows"] == 0
    page.says(
        f"without a halo: {fig(least['total_ms'], 3)} ms by the predicted engine, "
        f"{fig(least['total_ms'] * least['to_in_place'], 3)} by cuSPARSE"
    )
    left = [r for r in found if r["transport"] != "nccl-push"]
    page.says(
        f"`nccl-push` for {fig(len(found) - len(left), 0)} of the {fig(len(found), 0)} matrices"
    )


def cpus(page):
    def machine(row):
        return "EPYC" if "EPYC" in made[row["#"]] else "Xeon"

    made, host = {}, ""
    for line in (ROOT / "bench/results/cpu.tsv").read_text(encoding="utf-8").split("\n"):
        if line.startswith("#"):
            host = line if "made by" in line else host
            made[line] = host
    layout = {"mkl": "row", "petsc": "row"}
    for n in (1, 4, 8, 16, 32, 128):
        cells = []
        for where, threads, kind, peer in (
            ("Xeon", 1, "64f", "mkl"),
            ("Xeon", 1, "32f", "mkl"),
            ("Xeon", 16, "64f", "mkl"),
            ("Xeon", 16, "32f", "mkl"),
            ("EPYC", 1, "64f", "mkl"),
            ("EPYC", 1, "32f", "mkl"),
            ("EPYC", 1, "64f", "petsc"),
        ):
            found = [
                r
                for r in select(
                    "cpu.tsv", threads=threads, N=n, type=kind, peer=peer, layout=layout[peer]
                )
                if machine(r) == where
            ]
            assert 6 <= len(found) <= 7
            cells.append(
                f"{fig(geomean(values(found, 'ratio')))}, " f"{fig(min(values(found, 'ratio')))}"
            )
        page.row(fig(n, 0), *cells)
    found = [
        geomean(values(select("cpu.tsv", peer="petsc", layout="col", N=n), "ratio"))
        for n in (4, 8, 16, 32, 128)
    ]
    page.says(
        f"The column-major product is {fig(min(found))} to {fig(max(found))} times as fast "
        "as PETSc's from N = 4 on"
    )


def cpu_rows(page):
    def mean(kind, n):
        return fig(geomean(values(select("engines/csr_cpu_rows.tsv", type=kind, N=n), "ratio")))

    least = min(select("engines/csr_cpu_rows.tsv", N=4), key=lambda r: r["ratio"])
    page.says(f"give {mean('64f', 4)} at N = 4 and {mean('64f', 8)} at N = 8 in FP64, "
              f"{mean('32f', 4)} and {mean('32f', 8)} in FP32",
              f"least {fig(least['ratio'])}, {least['matrix']}")
    found = [r["ratio"] for r in rows("programs/petsc.tsv")
             if r["scalars"] == "complex" and r["what"] == "MatMatMult" and r["N"] >= 4
             and r["ranks"] <= 2]
    real = [r["ratio"] for r in rows("programs/petsc.tsv")
            if r["scalars"] == "real" and r["what"] == "MatMatMult" and r["N"] >= 4
            and r["ranks"] == 1]
    page.says(f"two stencils give {fig(min(real))} to {fig(max(real))} times its rate")
    page.says(f"in complex numbers {fig(min(found), 1)} to {fig(max(found), 1)} times "
              "on one and two ranks")


def sddmm(page):
    def cells(*words, key="geomean"):
        return [
            fig(float(summary("sddmm.tsv", f"type={kind}", f"K={k}", *words)[key]))
            for kind in ("32f", "16f")
            for k in (64, 128, 256)
        ]

    for title, words in (
        ("bcsstk29, delaunay_n16, ca-AstroPh, fe_pwt", ("matrices:",)),
        ("pruned, V = 8 and 16 (8)", ("vectors:",)),
        ("pruned, V = 1 (4)", ("unstructured:",)),
        ("all 16", ("all:",)),
    ):
        page.row(title, *cells(*words))
    page.row("least", *cells("all:", key="least"))


def programs(page):
    ranks = (1, 2, 4)
    for title, s in (
        ("attention, 90 % of the vectors dropped, us", 0.9),
        ("attention, 95 % dropped, us", 0.95),
    ):
        page.row(
            title.replace("90 %", fig("90") + " %").replace("95 %", fig("95") + " %"),
            *(
                fig(1000 * one("attention.tsv", ranks=r, length=8192, sparsity=s)["all_ms"], 0)
                for r in ranks
            ),
        )
    for title, engine in (
        ("LOBPCG, products, s", "auto"),
        ("LOBPCG, products with cuSPARSE, s", "cusparse"),
    ):
        seconds = [
            float(
                one("lobpcg.tsv", ranks=r, engine=engine)["steps_and_times"]
                .split(" s of it products")[0]
                .split()[-1]
            )
            for r in ranks
        ]
        page.row(
            title, *(fig(s, 2 if s > 0.2 or engine == "auto" and s > 0.1 else 3) for s in seconds)
        )


def published(page):
    """Default plans and plans told of 100,000 products beside the published systems."""
    ours = {
        (r["matrix"], r["N"]): r["cusparse"] / r["auto"] for r in rows("engines/tf32_100000.tsv")
    }
    for n in (32, 128, 512):
        both_ran = [(ours[m, n], best) for m, best in peers(n, 32).items() if (m, n) in ours]
        ahead = sum(mine >= best for mine, best in both_ran)
        page.row(
            fig(n, 0),
            fig(len(both_ran), 0),
            fig(geomean(a for a, _ in both_ran)),
            fig(geomean(b for _, b in both_ran)),
            fig(100 * ahead / len(both_ran), 0) + " %",
        )


def two_gpus(page):
    every, beside = rows("trials/pair.tsv"), rows("trials/two/needed.tsv")
    page.says(f"beside one: {fig(len({r['matrix'] for r in every}), 0)} matrices",
              f"an earlier build, {fig(len({r['matrix'] for r in beside}), 0)} in all")
    page.noted("definition", "(16 stand-ins with at least 1 M entries",
               "where T1 >= 100 us | older build: all | least | where T1 >= 100 us",
               "real matrices of at least 500,000 entries",
               "where T1 >= 100 us | needed rows")
    for title, kind, n in (("FP32, 128", "32f", 128), ("FP32, 32", "32f", 32),
                           ("FP64, 16", "64f", 16), ("all", None, None)):
        found, others = ([r for r in table if kind is None or (r["type"], r["N"]) == (kind, n)]
                         for table in (every, beside))
        long, more = ([r for r in part if r["T1_us"] >= 100] for part in (found, others))
        cells = [fig(len(found), 0)]
        for name in ("efficiency", "old_efficiency"):
            cells += [fig(geomean(values(found, name))), fig(min(values(found, name))),
                      fig(geomean(values(long, name)))]
        page.row(title, *cells, fig(geomean(values(found, "T2_us", over="old_T2_us"))))
        cells = [fig(len(others), 0), fig(geomean(values(others, "efficiency"))),
                 fig(geomean(values(more, "efficiency")))]
        for rival in ("needed_us", "in_place_us", "allgather_us"):
            ratios = values(others, "T2_us", over=rival)
            cells += [fig(geomean(ratios)), fig(min(ratios))]
        page.row(title, *cells)
    slower, before = (sum(r[f"{old}T2_us"] > r[f"{old}T1_us"] for r in every)
                      for old in ("", "old_"))
    page.says(
        f"longer than one in {fig(slower, 0)} of {fig(len(every), 0)} products, those of the "
        f"older build in {fig(before, 0)}",
        f"its T1 is {fig(geomean(values(every, 'T1_us', over='old_T1_us')))} of ours",
        f"takes {fig(min(us for us in values(beside, 'halo_us') if us > 0), 0)} us and more")
    real = [r for r in rows("trials/two/pair_cut.tsv")
            if not r["matrix"].startswith(("syn-", "rmat"))]
    whole = [r["efficiency"] for r in real if r["matrix"] == "DD"]
    small = [r for r in real if r["matrix"] != "DD"]
    names = {r["matrix"]: r["nnz"] / 1e6 for r in real}
    assert len(names) == 4
    one, exchange = (values(small, name) for name in ("T1_us", "exchange_us"))
    page.says(
        f"real ones of {fig(min(names.values()), 1)} to {fig(max(names.values()), 1)} million",
        f"whose parts exchange nothing, reaches {fig(min(whole))} to {fig(max(whole))}, the other "
        f"three {fig(min(values(small, 'efficiency')))} to {fig(max(values(small, 'efficiency')))}"
        f": they take {fig(min(one), 0)} to {fig(max(one), 0)} us on one GPU, and an exchange "
        f"{fig(min(exchange), 0)} to {fig(max(exchange), 0)}.")
    alone = select("engines/old_new.tsv", engine="auto")
    assert all(r["slower"] == "no" for r in alone)
    page.says(f"of {fig(len(alone), 0)} products of "
              f"{fig(len({r['matrix'] for r in alone}), 0)} real matrices",
              f"took {fig(geomean(values(alone, 'old_over_new')))} times as long")
    page.noted("definition", "takes longer by 5 % and 1 us", "(FP32, N = 32 and 128, FP64, N = 32)")
    bounds_of_two(page, beside)


def bounds_of_two(page, every):
    """What efficiency would be if nothing but half of one GPU's work or the exchange counted."""
    def bound(r):
        return r["T1_us"] / (2 * max(r["T1_us"] / 2, r["exchange_us"]))

    short = [r for r in every if r["T1_us"] < 50]
    long = [r for r in every if r["N"] == 128 and r["T1_us"] >= 100]
    page.says(
        f"would be {fig(geomean(map(bound, every)))} over all and "
        f"{fig(geomean(map(bound, long)))} at N = 128",
        f"but {fig(geomean(map(bound, short)))} for the {fig(len(short), 0)} whose T1 is below 50 "
        f"us, {fig(min(map(bound, every)))} at the least",
        f"of a few rows takes {fig(min(us for us in values(every, 'exchange_us') if us > 0), 0)} "
        f"us, and these products {fig(min(values(every, 'T1_us')), 0)} us and more",
        f"be {fig(geomean(r['T1_us'] / (2 * min(r['T1_us'], r['T2_us'])) for r in every))} over "
        "all; that is computed")
    page.noted("definition", "the longer of T1 / 2 and its exchange",
               "at N = 128 where T1 >= 100 us, but", "whose T1 is below 50 us")


def column_major(page):
    found = {kind: [r for r in rows("single_gpu_more.tsv") if r["type"] == kind and "us_8" in r]
             for kind in ("64f", "32f")}
    fp64, fp32 = ([fig(geomean(values(mine, f"ratio_{n}"))) for n in (8, 32, 128)]
                  for mine in found.values())
    page.says(f"are {fp64[0]}, {fp64[1]} and {fp64[2]} times as fast as the",
              f"in FP64, {fp32[0]}, {fp32[1]} and {fp32[2]} times in FP32")
    page.noted("definition", "plans with 8, 32 and 128 columns")


def quote(pages):
    column_major(pages["docs/how-to/column_major.md"])
    page = pages["docs/explanation/performance.md"]
    for part in (one_gpu, many_products, published, several_gpus, two_gpus, cpus, cpu_rows, sddmm,
                 programs):
        part(page)
