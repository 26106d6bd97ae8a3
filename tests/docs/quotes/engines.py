# SPDX-License-Identifier: Apache-2.0
"""Figures of docs/explanation/engines/ and docs/reference/engines.md."""

import math

from figures import fig
from results import code, geomean, one, rows, select, values

FOLDER = "docs/explanation/engines/"


def blocks(n, contender):
    """Speed-ups over cuSPARSE's CSR of a contender of section blocks."""
    return values(select("papers/tiles.tsv", section="blocks", N=n), contender, over="cusparse")


def bcsr(page):
    for title, contender in (("`bcsr`", "bcsr"), ("`cusparse-bell`", "cusparse-bell")):
        found = [blocks(n, contender) for n in (32, 128, 512)]
        count = "" if contender == "bcsr" else f" ({fig(len(found[0]), 0)})"
        page.row(title + count, *(fig(geomean(f)) for f in found), fig(min(found[1])))
    bsr = [[blocks(n, f"cusparse-bsr-{kind}") for kind in ("16f", "32f")] for n in (32, 128, 512)]
    page.row(
        "BSR of cuSPARSE, FP16 and FP32",
        *(f"{fig(geomean(a))}, {fig(geomean(b))}" for a, b in bsr),
        fig(min(min(bsr[1][0]), min(bsr[1][1]))),
    )
    every = select("papers/tiles.tsv", section="blocks")
    pairs = [r for r in every if r["cusparse-bell"] is not None]
    ahead = sum(r["cusparse-bell"] < r["bcsr"] for r in pairs)
    page.says(
        f"Over {fig(len(every) / 3, 0)} matrices of dense blocks",
        f"of the {fig(len(pairs), 0)} pairs Blocked-ELL is ahead in",
    )
    assert ahead == 1
    real = {n: select("papers/tiles.tsv", section="real", N=n) for n in (8, 128)}

    def mean(n, contender):
        return fig(geomean(values(real[n], contender, over="cusparse")))

    def at(matrix):
        row = one("papers/tiles.tsv", section="real", N=128, matrix=matrix)
        return row["cusparse"] / row["bcsr"]

    page.says(
        f"`bcsr` has {mean(8, 'bcsr')} at N = 8 and {mean(128, 'bcsr')} at N = 128 (cant-like "
        f"{fig(at('syn-cant'), 1)}; cop20k_A-like {fig(at('syn-cop20k_A'))} and dc2-like "
        f"{fig(at('syn-dc2'))}, whose tiles",
        f"SMaT's own, {mean(8, 'OBT')} and " f"{mean(128, 'OBT')}",
    )
    ladder = ("OBT", "OBTS_large", "OBTS_large_separate")
    share = sorted(min(r[k] for k in ladder) / r["bcsr"] for r in real[8])
    page.says(
        f"At N = 8 the best kernel of the thesis is ahead of `bcsr` on "
        f"{fig(sum(s < 1 for s in share), 0)} of the nine matrices: it takes {fig(share[0])} to "
        f"{fig(share[-2])} of its time, on dc2-like {fig(share[-1], 1)} times it"
    )
    assert min(real[8], key=lambda r: r["bcsr"] / min(r[k] for k in ladder))["matrix"] == "syn-dc2"
    for title, contender in (
        ("`bcsr`", "bcsr"),
        ("`bcsr-sp24`", "bcsr-sp24"),
        ("OBT (dense tiles, thesis)", "OBT"),
        ("OBTS_large_separate (thesis)", "OBTS_large_separate"),
    ):
        us = [
            1000
            * one(
                "papers/tiles.tsv", section="amdahl", matrix="xdys:size=8192,dense=0,sp24=0.2", N=n
            )[contender]
            for n in (32, 128, 512)
        ]
        page.row(title, *(fig(t, 1 if t < 99 else 0) for t in us))
    wide = [
        one("papers/tiles.tsv", section="amdahl", matrix="xdys:size=8192,dense=0,sp24=0.2", N=n)
        for n in (32, 128, 512)
    ]
    small = [
        one("papers/tiles.tsv", section="amdahl", matrix="xdys:size=4096,dense=0,sp24=0.2", N=n)
        for n in (32, 128, 512)
    ]
    gains = [r["OBT"] / r["OBTS_large_separate"] for r in wide + small]
    page.says(
        f"`mma.sp` gains {fig(wide[2]['bcsr'] / wide[2]['bcsr-sp24'])} there at N = 512",
        f"the kernel of the thesis gains {fig(min(gains), 1)} to {fig(max(gains), 1)} over OBT",
    )
    page.noted_table("trial", "| idea | outcome (size 8192", 10)
    page.noted("arithmetic", "0.4 GB through L2 at N = 512 instead of 1.8 (2:4) and 2.6 (OBT)")
    page.noted("definition", "Matrices of 20 % tiles of 16x32", "steps as fit 48 KB, a chunk")
    page.noted(
        "log",
        "17 variants x 4 widths x 5 matrices",
        "errors 6 % in the median and 14 % at the 90th percentile, by steps 5 and 14 %",
        "loses 0.3 % against the fastest variant (5 % once)",
    )


def by_rows(page):
    def shares(n):
        found = []
        for r in select("papers/published/bcsr_variants.tsv", N=n):
            best = {k: min(r[v] for v in r if v[0] == k and v[-1] != "+") for k in "LR"}
            found.append(best["L"] / best["R"])
        return sorted(found)

    at = {n: shares(n) for n in (16, 32)}
    page.says(
        f"takes {fig(geomean(at[16]))} times as long as the fastest by rows, {fig(at[16][0])} to "
        f"{fig(at[16][-1])} times on each of {fig(len(at[16]), 0)} matrices; at N = 32 "
        f"{fig(geomean(at[32]))} times, {fig(at[32][0])} to {fig(at[32][-1])}"
    )


def bittcf(page):
    titles = (
        ("order of rows ({} matrices where it applies)", "no reordering"),
        ("balancing: long windows cut and shared", "no balancing"),
        ("several windows for a thread block", "one window a thread block"),
        (
            "prefetch: at N = 32 of rows of B and their lists, at 128 of the lists alone",
            "no prefetch",
        ),
        ("lanes as L1 can serve them", "lanes not permuted"),
        ("slices as wide as C allows; 32 columns instead", "slices of 32 columns"),
        ("choice of window heights; 16 rows instead", "windows of 16 rows"),
        ("the same; 8 rows instead", "windows of 8 rows"),
    )
    for title, variant in titles:
        found = [one("papers/ablation.tsv", variant=variant, N=n) for n in (32, 128)]
        cells = []
        for row in found:
            worst = row["worst"]
            cells += [fig(row["geomean"]), fig(worst, 0 if worst > 10 else 1)]
        page.row(title.format(fig(found[0]["matrices"], 0)), *cells)
    count = one("papers/ablation.tsv", variant="all", N=128)["matrices"]
    page.says(f"TF32, {fig(count, 0)} matrices, geometric mean and largest")
    pays = code("src/engine/bittcf/cost.c", r"worth_it = ([0-9.]+)")
    page.says(f"are taken where {fig(100 * (1 - pays), 0)} % of the pairs go away")
    page.noted(
        "trial",
        "at 0.7 to 0.8 % of the time",
        "device memory (52 to 57 % of its peak, L2 75 " "to 79 %",
        "instructions (61 % of issue slots",
        "over 15 to 22 matrices",
    )
    page.noted_table("trial", "| idea | outcome |", 36)


def others(pages):
    pages[FOLDER + "csr_cpu.md"].noted("trial", "was wrong by 5 %")
    pages[FOLDER + "csr_gpu.md"].noted_table("trial", "| idea | expected | outcome |", 60)
    page = pages[FOLDER + "cusparse.md"]
    page.noted("definition", "134 million in all", "without a product at 500 million")
    short = [
        100 * r["format_ms"] / 1000 / r["cusparse"]
        for r in select("engines/tf32_default.tsv", N=128)
        if r["cusparse"] < 0.0215
    ]
    least, most = (
        1000
        * f(
            r["cusparse"]
            for r in select("engines/tf32_default.tsv", N=128)
            if r["cusparse"] < 0.0215
        )
        for f in (min, max)
    )
    page.says(
        f"takes {fig(min(short), 0)} to {fig(max(short), 0)} % of 1000 "
        "products of "
        f"{fig(least, 0)} to {fig(most, 0)} us at N = 128"
    )
    page.noted("definition", "% of 1000 products of")
    page.noted("trial", "loses 1.6 % on average")
    pages[FOLDER + "dmma.md"].noted("definition", "for every 8 x 8 x 8 products")
    named = {(r["matrix"], r["N"]): r for r in rows("trials/csr_gpu/edges_named.tsv")}
    cvse_us, csr_us = (fig(geomean([r[by] / named[m, n + 1][by] for (m, n), r in named.items()
                                    if n % 2])) for by in ("cvse", "csr-gpu"))
    pages[FOLDER + "cvse.md"].says(f"take {cvse_us} times as long as one more column",
                                   f"`csr-gpu` {csr_us} times")
    slabs_end(pages[FOLDER + "cvse.md"])
    pages[FOLDER + "cvse.md"].noted("trial", "of the 9.5 us of bcsstk29", "an empty kernel is 3.3")
    pages[FOLDER + "cvse.md"].noted_table("trial", "| idea | expected | outcome |", 8)
    pages[FOLDER + "hrpb.md"].noted_table("trial", "| idea | expected | outcome |", 5)
    most = code("src/engine/dense/format.h", r"SPMM_DENSE_MOST += ([0-9]+)")
    page = pages[FOLDER + "dense.md"]
    page.says(f"more than {fig(most, 0)} times the memory of its entries")
    for title, mode in (("TF32", "tf32"), ("FP32", "32f"), ("FP16", "16f"), ("FP64", "64f")):
        found = [[r for r in select("engines/dense.tsv", mode=mode) if r["N"] == n
                  and r["matrix"].startswith("dlmc")] for n in (32, 128, 512)]
        page.row(title, *(fig(geomean(values(f, "dense", over="sparse"))) if f else "-"
                          for f in found))
    page = pages[FOLDER + "dmma.md"]
    found = select("engines/64f.tsv", N=128)
    behind = sum(r["dmma"] > r["cusparse"] for r in found)
    assert behind == 1
    page.says(f"all but one of {fig(len(found), 0)} matrices at N = 128")
    half = sum(r["chosen"] == "csr-gpu" for r in found) / len(found)
    assert 0.4 < half < 0.6, half


def tried_widths(tried, page):
    def times(wanted, **more):
        return values(select("engines/tried_widths.tsv", tried=wanted, **more), "beside_us",
                      over="us")

    def last(engine, n, **more):
        found = select("trials/sums.tsv", engine=engine, N=n, **more)
        return values(found, "last_block", over="second_kernel")

    dmma = [last("dmma", 8, layout=layout) for layout in ("col", "row")]
    cvse = [last("cvse", n) for n in (32, 128)]
    page.says(f"{fig(len(dmma[0]), 0)} matrices with cut windows: {fig(geomean(dmma[0]))} and "
              f"{fig(geomean(dmma[1]))} times as fast in `dmma` at N = 8, "
              f"{fig(geomean(last('bittcf', 8)))} in `bittcf`, but "
              f"{fig(geomean(last('bittcf', 128)))} in `bittcf` at N = 128 and "
              f"{fig(geomean(cvse[0]))} and {fig(geomean(cvse[1]))} in `cvse` at 32 and 128, at "
              f"the least {fig(min(cvse[1]))}")
    edges = [t for kind in ("64f", "32f") for n in (64, 128)
             for t in times("edges", type=kind, N=n)]
    page.says(f"{fig(times('edges', type='64f', N=20)[0])} of the time with N = 20 in FP64, but "
              f"{fig(min(edges))} to {fig(max(edges))} with N = 64 and 128")
    columns = [times("columns 1", N=n) for n in (8, 32)]
    page.says(f"{fig(geomean(columns[0]))} of the time at N = 8 and {fig(geomean(columns[1]))} at "
              f"32 with two register tiles, geometric means of {fig(len(columns[0]), 0)} matrices")
    wide = [t for n in (33, 63) for t in times("csr-gpu, 4-byte accesses", N=n)]
    narrow = times("csr-gpu, 4-byte accesses", N=15)[0]
    tried.says(f"{fig(narrow)} of the time with 15 columns, but "
               f"{fig(min(wide))} to {fig(max(wide))} with 33 and 63")
    tried.noted("definition", "eight lanes for 16 elements, and a warp for 33 to 64")


def tried_columns(tried, how_to):
    """Of each type and N: a turned B launched early, slices beside it, panels beside the fastest of
    what plans have."""
    early, cut, panels, wins = [], [], {}, {}
    for kind in ("64f", "32f"):
        for n in (8, 32, 128):
            found = select("engines/tried_columns.tsv", type=kind, N=n)
            early.append(geomean(values(found, "late", over="early")))
            several = [r for r in found if r["slices"] is not None]
            if len(several) > 4:
                cut.append(geomean(values(several, "early", over="slices")))
            ratios = [r["panels"] / min(r["lies"], r["early"]) for r in found]
            panels.setdefault(kind, []).append(ratios)
            wins.setdefault(kind, []).append(sum(r < 1 for r in ratios))
    how_to.says(f"a turned B take {fig(min(early))} to {fig(max(early))} of the time")
    tried.says(f"{fig(min(cut))} to {fig(max(cut))} of the time of a B turned whole")
    mean = [geomean(min(r, 1.0) for r in ratios) for ratios in panels["32f"]]
    tried.says(f"the fastest way on {wins['32f'][0]}, {wins['32f'][1]} and {wins['32f'][2]} of "
               f"{fig(len(panels['32f'][0]), 0)} matrices in FP32",
               f"{fig(min(map(min, panels['32f'])))} of the time at best",
               f"take {fig(mean[0])}, {fig(mean[1])} and {fig(mean[2])} of the time; in FP64 on "
               f"{wins['64f'][0]}, {wins['64f'][1]} and {wins['64f'][2]} (the same table)")
    tried.noted("definition", "in slices of 12 or 24 MB", "panels of 64 or 128 rows")
    tiles(tried)


def tiles(tried):
    """Column-major C of csr-gpu by way of shared memory, beside the fastest of the other ways."""
    others = ("cusparse", "csr_scattered", "csr_turned", "tc_scattered", "tc_turned")
    means = []
    for kind in ("64f", "32f"):
        for n in (8, 32, 128):
            found = select("trials/columns.tsv", type=kind, N=n)
            ratios = [min(r["csr_tile"] / min(r[o] for o in others), 1.0) for r in found]
            means.append(geomean(ratios))
    tried.says(f"make all {fig(len(found), 0)} matrices take {fig(min(means))} to "
               f"{fig(max(means))} of the time in FP64 and FP32")
    tried.noted("definition", "rows wait in 16 KB", "N = 8, 32 and 128 ([table]"
                "(../../../bench/results/trials/columns.tsv))")


def pruned(page):
    for v, zeros in ((8, 90), (4, 92), (2, 95), (1, 97)):
        cells = []
        for n in (128, 256, 512):
            ratios = values(select("engines/pruned.tsv", V=v, zeros=zeros, N=n), "sparse_us",
                            over="dense_us")
            cells += [fig(geomean(ratios)), fig(min(ratios))]
        page.row(f"{fig(str(v))}, {fig(zeros, 0)} %", *cells)
    every = rows("engines/pruned.tsv")
    ratios = {over: values(every, "auto_us", over=over) for over in ("dense_us", "cusparse_us")}
    least = min(min(r) for r in ratios.values())
    page.says(f"have {fig(geomean(ratios['dense_us']))} of the speed of `dense`",
              f"`cusparse` {fig(geomean(ratios['cusparse_us']))}, and in none of "
              f"{fig(len(every), 0)} cases less than {fig(least)} of either.")
    page.noted("definition", "512 x 512, 2048 x 512 and 512 x 2048", "2048 x 1024 and 512 x 4608",
               "ResNet-50", "told of 1000 products")


def strips(page):
    def means(found):
        ratios = values(found, "auto", over="cusparse")
        return f"{fig(geomean(ratios))}, {fig(min(ratios))}"

    for title, kind in (("FP64", "64f"), ("FP32", "32f")):
        by = {n: select("trials/strips/columns_plans.tsv", type=kind, N=n) for n in (8, 32, 128)}
        for what, syn in (("40 real ones", False), ("20 stand-ins", True)):
            found = [[r for r in f if r["matrix"].startswith("syn-") == syn] for f in by.values()]
            assert {len(f) for f in found} == {20 if syn else 40}
            page.row(f"{what}, {title}", *map(means, found))
        page.row(f"all 60, {title}", *map(means, by.values()))
        mine = [[r for r in f if r["chosen"] == "strips" and not r["matrix"].startswith("syn-")]
                for f in by.values()]
        page.row(title, *(f"{fig(len(f), 0)}, {fig(geomean(values(f, 'auto', over='cusparse')))}"
                          for f in mine))
    for title, form in (("two buffers: the next slice is on its way during sums", "two_64"),
                        ("128 bytes of each row of B", "one_128"), ("32 bytes", "one_32"),
                        ("64 rows", "rows_64"), ("on fewer, 4", "blocks_4"),
                        ("slices of a strip on more thread blocks, 16 of a multiprocessor",
                         "blocks_16")):
        page.row(title, *(
            fig(geomean(values(select("trials/strips/strips.tsv", type=kind, N=n), "one_64",
                               over=form)))
            for kind in ("64f", "32f") for n in (8, 32, 128)))
    for title, form in (("8 lanes along rows, numbers of rows of B in registers", "lanes_8"),
                        ("16 lanes, likewise", "lanes_16"),
                        ("32 lanes, likewise: taken", "lanes_32")):
        page.row(title, *(
            fig(geomean(values(select("trials/strips/strips_lanes.tsv", type=kind, N=n), "lists",
                               over=form)))
            for kind in ("64f", "32f") for n in (8, 32, 128)))
    strips_limits(page)
    web = [one("trials/strips/columns_plans.tsv", matrix="syn-web-Google", type=kind, N=n)
           for kind in ("64f", "32f") for n in (8, 32, 128)]
    page.says("they are {}, {} and {} times as fast as cuSPARSE in FP64 at N = 8, 32 and 128, {}, "
              "{} and {} times in FP32".format(*(fig(r["cusparse"] / r["auto"]) for r in web)))
    page.noted("arithmetic", "58.6 MB in FP64")
    page.noted("definition", "does not stay in L2")
    later = {key: values([r for r in rows("trials/strips/columns_plans.tsv")
                          if (r["type"], r["N"]) == key and r["later_auto"] is not None],
                         "later_auto", over="auto")
             for key in (("64f", 128), ("64f", 32), ("32f", 32))}
    wide = later["64f", 128]
    page.says(f"plans are {fig(geomean(wide))} times as fast as those of the table in FP64 at N = "
              f"128 on {fig(len(wide), 0)} of the matrices, {fig(min(wide))} at least, and "
              f"{fig(geomean(later['64f', 32]))} and {fig(geomean(later['32f', 32]))} times at N = "
              "32 in FP64 and FP32")
    page.noted("definition", "tiles of 32 rows in FP64", "three times the")
    windows, first = (one("trials/strips/strips_counters.tsv", matrix="DD", type="64f", kernel=k)
                      for k in ("dmma on a turned B", "strips, two buffers"))
    graph = one("trials/strips/strips_plans.tsv", matrix="soc-Epinions1", N=128, type="64f")
    page.says(f"writes {fig(windows['write_sectors'], 1)} million sectors to L2",
              f"L2 is busy for {fig(windows['l2_percent'], 0)} % of the time",
              f"write {fig(first['write_sectors'], 1)} million, with L2 busy for "
              f"{fig(first['l2_percent'], 0)} %, and read {fig(first['dram_read_mb'], 0)} MB",
              f"takes {fig(graph['strips'] / graph['auto'])} times as long with strips")
    for title, kind in (("FP64", "64f"), ("FP32", "32f")):
        tiles = [select("trials/csr_gpu/tiles_plans.tsv", type=kind, N=n) for n in (8, 32, 128)]
        assert {len(f) for f in tiles} == {39}
        page.row(title, *("{}, {}, {}".format(
            fig(geomean(values(f, "one_by_one", over="cusparse"))),
            fig(geomean(values(f, "tiles", over="cusparse"))),
            fig(min(values(f, "tiles", over="cusparse")))) for f in tiles))
    page.noted("definition", "of the real ones, over the same times", "tiles of 128 rows at every")
    shared = [fig(geomean(values(select("trials/strips/store_tiles.tsv", type=kind, N=n),
                                 "fragments", over="shared")))
              for kind, n in (("64f", 8), ("64f", 32), ("64f", 128), ("32f", 32), ("32f", 128))]
    page.says("take {}, {} and {} times as long in FP64 at N = 8, 32 and 128, {} and {} times in "
              "FP32 at 32 and 128".format(*shared))
    page.noted("definition", "whose 32 or 64 rows")
    page.noted("arithmetic", "of which C is 10.7", "of which B is 343", "8 rows are 64 bytes")
    page.noted("trial", "take 1.04 to 1.14 of the time on eight matrices, and 0.91 on")
    page.noted("definition", "128 consecutive rows", "told of 1000 products",
               "one line of 128 bytes")


def tile_forms(page):
    """Column-major C of csr-gpu, and what other forms make of it."""
    table = "trials/csr_gpu/tile_forms.tsv"

    def gain(kind, engine, n):
        found = select(table, type=kind, engine=engine, N=n)
        assert len(found) == 14
        return fig(geomean(values(found, "tiles", over="before")))

    page.says(f"`csr-gpu` is {gain('64f', 'csr-gpu', 32)} and {gain('64f', 'csr-gpu', 128)} times "
              f"as fast in FP64 at N = 32 and 128, {gain('32f', 'csr-gpu', 32)} and "
              f"{gain('32f', 'csr-gpu', 128)} times in FP32, `dmma` {gain('64f', 'dmma', 32)} and "
              f"{gain('64f', 'dmma', 128)} times, `bittcf` {gain('32f', 'bittcf', 32)} and "
              f"{gain('32f', 'bittcf', 128)} times, geometric means of {fig(14, 0)} matrices")
    shares = [geomean(values(rows(table), "tiles", over=form))
              for form in ("aligned", "streaming", "slices", "past", "packs", "past_packs")]
    page.says(f"take {fig(min(shares))} to {fig(max(shares))} of their time over all")
    page.noted("definition", "stores of 16 bytes or read", "slices of 64 columns")


def strips_limits(page):
    """Counters of strips at wide and at narrow B, and what turning B takes."""
    wide, narrow = (one("trials/strips/strips_counters.tsv", matrix="fe_pwt", N=n,
                        kernel="strips, lists") for n in (128, 8))
    busiest = max(narrow[f"{unit}_percent"] for unit in ("l1", "issue", "l2"))
    turned = one("trials/strips/turns.tsv", bytes=8, rows=75888, N=128, kernel="now")
    other = {(r["bytes"], r["rows"], r["N"]): r["all"]
             for r in select("trials/strips/turns.tsv", kernel="32x64")}
    tiles = [us / one("trials/strips/turns.tsv", bytes=k[0], rows=k[1], N=k[2], kernel="now")["all"]
             for k, us in other.items()]
    page.says(f"busiest unit: {fig(wide['l1_percent'], 0)} % on fe_pwt",
              f"are busy for {fig(wide['issue_percent'], 0)} % and L2 for "
              f"{fig(wide['l2_percent'], 0)} %",
              f"no unit is busier than {fig(busiest, 0)} %",
              f"takes {fig(turned['b'], 1)} us and a copy of as many bytes "
              f"{fig(turned['copy'], 1)}",
              f"takes {fig(min(tiles))} to {fig(max(tiles))} of the time of the library's tiles")
    page.noted("definition", "with 75,888 rows and N = 128", "in 32 registers", "tiles of 64 rows")
    page.noted("trial", "took 1.00 to 1.09 times as long")


UNITS = ("memory", "l2", "l1", "issue", "tensor")


def bounds(page):
    """Kernels of pruned weights, by V and N, and what twice the columns cost."""
    every = [r for r in rows("trials/bounds.tsv") if "=8192" not in r["case"]]
    for v in (8, 4, 2, 1)[:len(every) // 10]:
        for n in (256, 512):
            found = [r for r in every if r["case"].endswith(f"vector={v}") and r["N"] == n]
            kernel, ahead = values(found, "kernel_us"), sum(r["bound"] is None for r in found)
            page.row(f"{fig(str(v))}, {fig(n, 0)}", fig(ahead, 0),
                     f"{fig(min(kernel), 1)} to {fig(max(kernel), 1)}",
                     *(f"{fig(sum(values(found, u)) / len(found), 0)}, "
                       f"{fig(max(values(found, u)), 0)}" for u in UNITS))
    at = {n: [r for r in every if r["N"] == n] for n in (256, 512)}
    ours, dense = (geomean(b[what] / a[what] for a, b in zip(at[256], at[512]))
                   for what in ("kernel_us", "rival_us"))
    wanted = fig(code("bench/fit/bounds.py", r"WIDTHS, RATIO = .*, ([0-9.]+)"), 1)
    page.says(f"sparse engines from {wanted} of that.**", f"are ahead by {wanted}",
              f"No unit is busier than {fig(max(r[u] for r in every for u in UNITS), 0)} %",
              f"At N = {fig(512, 0)} they take {fig(ours)} times as long as at {fig(256, 0)}, "
              f"those of `dense` {fig(dense)} times")


SLAB_SHAPES = ((2048, 512), (2048, 1024), (512, 2048))


def fastest_slab(v, shape, **more):
    """The fastest instance of trials/slabs.tsv, None: there is none."""
    wanted = {"rows": shape[0], "cols": shape[1], "V": v, **more}
    found = [r for r in rows("trials/slabs.tsv") if all(r[k] == x for k, x in wanted.items())]
    return min(found, key=lambda r: r["us"], default=None)


def slabs_end(page):
    """Slabs with N = 512: what one waits for, what is read of shared memory at 1.755 GHz."""
    left, more = [], []
    for v, zeros in ((4, 92), (2, 95), (1, 97)):
        for m, k in SLAB_SHAPES:
            row = fastest_slab(v, (m, k), form="teams")
            dense = one("engines/pruned.tsv", rows=m, cols=k, V=v, zeros=zeros, N=512)
            blocks = k * (1 - (zeros / 100) ** (8 / v)) / 16 + 0.5
            reads = m / 8 * blocks * 512 / 4 / 128
            page.row(f"{fig(str(v))}, {m} x {k}", fig(row["b_only_us"], 1),
                     fig(reads / 1755, 1), fig(row["us"], 1), fig(dense["dense_us"] / 1.2, 1))
            both = row["b_only_us"] + reads / 1755
            left.append(dense["dense_us"] / 1.2 - both)
            more.append(row["us"] - both)
    page.says(f"leave {fig(min(left), 1)} to {fig(max(left), 1)} us of what is wanted for all else,"
              f" which takes {fig(min(more), 1)} to {fig(max(more), 1)}:")
    slab_units(page)
    page.noted("log", "takes 3.7 to 3.9 us", "within 8 % of all slabs")
    page.noted("arithmetic", "128 bytes in a cycle of 1.755 GHz", "by 1.2 than `dense`",
               "25 to 35 % more", "20 weights, N = 256 and 512")
    page.noted("definition", "V, N = 512", "fit 227 KiB, as those of 512 x 4608")
    picks = select("trials/cvse_variants.tsv")
    first, best = [], {}
    for r in picks:
        key = (r["matrix"], r["N"])
        best[key] = min(best.get(key, r["us"]), r["us"])
        first += [(key, r["us"])] if r["place"] == 0 else []
    page.says(f"took {fig(geomean(us / best[key] for key, us in first))} of the time of the "
              "fastest")


def slab_units(page):
    """The same kernels by what their units have to do; windows of 8 rows, vectors of 21 bytes."""
    most = []
    for v, zeros in ((2, 95), (1, 97)):
        for m, k in SLAB_SHAPES:
            r = one("trials/bounds.tsv", N=512, kernel="cvse",
                    case=f"pruned:rows={m},cols={k},sparsity={zeros / 100},vector={v}")
            a = m / 8 * k * (1 - (zeros / 100) ** (8 / v)) * (4 + 2 * 8 + 1)
            took = [r["kernel_us"] * r[unit] / 100 for unit in UNITS]
            page.row(f"{fig(str(v))}, {m} x {k}", fig(a / 1e6, 2), fig(r["l2_mb"], 1),
                     *(fig(us, 1) for us in took), fig(r["kernel_us"], 1))
            most += [max(took) / r["kernel_us"]]
    page.says(f"the busiest would take {fig(100 * min(most), 0)} to {fig(100 * max(most), 0)} % of "
              "the time")
    page.noted("definition", "vectors of 21 bytes in windows of 8 rows", "N = 512, MB")


def slab_forms(page):
    """Of single entries, N = 512."""
    for title, more in (("at first", {"form": "clusters", "parts": 1, "shared": 1}),
                        ("B by multicast to two", {"form": "clusters", "parts": 1, "shared": 2}),
                        ("B by multicast to four", {"form": "clusters", "parts": 1, "shared": 4}),
                        ("rows of B in two parts", {"form": "clusters", "parts": 2, "shared": 1}),
                        ("four steps of lists ahead", {"form": "ring-4", "parts": 1, "tiles": 1}),
                        ("the same, windows of 16", {"form": "ring-4", "parts": 1, "tiles": 2}),
                        ("less code", {"form": "less-code"}),
                        ("the same, lists of 8 blocks", {"form": "lists-8"}),
                        ("with teams", {"form": "teams"})):
        found = [fastest_slab(1, shape, **more) for shape in (*SLAB_SHAPES, (512, 4608))]
        page.row(title, *("-" if r is None else fig(r["us"], 1) for r in found))
    page.noted("definition", "V = 1, N = 512, us", "windows of 16")


def slices(page):
    """Of 512 windows in two for each of 16 warps, 1024 columns of A, 1.755 GHz."""
    for v, zeros in ((8, 90), (4, 92), (2, 95), (1, 97)):
        vectors = 1024 * (1 - (zeros / 100) ** (8 / v))
        cells = []
        for m, k in ((4096, 1024), (2048, 512)):
            row = one("engines/tried.tsv", kernel=f"panels V={v}",
                      matrix=f"{m}x{k}, {zeros} % zeros")
            dense = one("engines/tried.tsv", kernel=f"dense beside panels V={v}",
                        matrix=f"{m}x{k}, {zeros} % zeros")
            cells.append(f"{fig(row['beside_us'], 1)}, {fig(row['us'], 1)}, "
                         f"{fig(dense['us'], 1)}")
        page.row(f"{fig(str(v))}, {fig(zeros, 0)} %",
                 fig(512 * vectors * 1024 / 8.9e6, 1),
                 fig(32 * math.ceil(vectors / 16) * 16 * 1.2 / 1755, 1), *cells)
    slab_forms(page)
    page.noted("arithmetic", "10, 15, 18 and 22 % of their columns", "of `cvse` by up to 1.3")
    page.noted("trial", "from L2 at 8.9 TB/s", "takes 4 us for 1024 rows, 3 TB/s, where L2 would "
               "give it in 1.9", "an empty kernel takes 3.3")


def tried(page):
    for matrix, n, title in (("syn-cant", 128, "cant-like"), ("syn-cant", 32, "cant-like"),
                             ("bcsstk29", 128, "bcsstk29"), ("bcsstk17", 128, "bcsstk17")):
        row = one("engines/tried.tsv", kernel="ring", matrix=matrix, N=n)
        page.row(f"{title}, N = {n}", fig(row["beside_us"], 1), fig(row["us"], 1))
    for row in select("engines/tried.tsv", kernel="ring, all modes"):
        title = row["matrix"].replace("-RSR", "")
        title = f"{title[4:]}-like" if title.startswith("syn-") else title
        page.row(f"{title}, N = {row['N']:.0f}", fig(row["beside_us"], 1), fig(row["us"], 1))
    page.noted("definition", "slices of 64 columns", "slices of 128 columns")
    for v, zeros in ((8, 90), (4, 95), (2, 98), (1, 98)):
        cells = []
        for shape in ("2048x512", "4096x1024", "512x2048"):
            found = values(select("engines/tried.tsv", kernel=f"short vectors V={v}",
                                  matrix=f"{shape}, {zeros} % zeros"), "us", over="beside_us")
            cells.append(f"{fig(min(found))}, {fig(max(found))}")
        page.row(f"V = {v}, {fig(zeros, 0)} %", *cells)
    slices(page)
    kinds = {r["matrix"]: r["class"] for r in rows("../fit/classes.tsv")}
    for title, kind in (("finite elements", "FEM"), ("meshes", "mesh"), ("graphs", "graph"),
                        ("circuits and control", "circuit"), ("pruned weights", "pruned")):
        orders = {name: {r["matrix"]: r["ratio8"] for r in select(f"patterns/{file}.tsv",
                                                                  order=name)}
                  for name, file in (("affinity", "orders"), ("first", "sorts"),
                                     ("minhash", "sorts"))}
        found = [m for m in orders["first"] if kinds[m] == kind and not m.startswith("syn-")]
        page.row(f"{title} ({fig(len(found), 0)})",
                 *(fig(geomean([ratio[m] for m in found])) for ratio in orders.values()))
    page.noted("log", "A plan pays about 2 ms for a second look",
               "the savings of 1000 products above that")
    # bench_predict --orders with each order, beside engines/tune_use.tsv
    page.noted("log", "on none of 37", "real matrices at N = 32, on one at N = 128 (wiki_squirrel) "
               "and on 13 at N = 512, six of which")
    page.noted("definition", "costs more than 1000 products save")


def panels(page):
    """Of the programs the fastest instance, and of the engines the fastest."""
    kernels = ("engine", "whole tiles, in step", "whole tiles, producers", "packed tiles, in step",
               "packed tiles, loose")
    loose, gain = kernels[-1], {}
    for n in (32, 128, 512):
        matrices = dict.fromkeys(r["matrix"] for r in select("trials/panels.tsv", N=n,
                                                             kernel=loose))
        for matrix in matrices:
            us = {k: min((r["us"] for r in rows("trials/panels.tsv") if r["N"] == n and
                          r["matrix"] == matrix and r["kernel"] == k), default=None)
                  for k in kernels}
            gain[matrix, n] = us["engine"] / us[loose]
            if n == 128:
                title = matrix.split("_4-8x8")[0].replace("-RSR", "")
                title = f"{title[4:]}-like" if title.startswith("syn-") else title
                page.row(title, *(fig(us[k], 1) for k in kernels))
    most = {n: sorted((g for (m, k), g in gain.items() if k == n and m.startswith("syn-")),
                      reverse=True) for n in (128, 512)}
    real = [g for (m, k), g in gain.items() if k == 128 and not m.startswith("syn-")]
    rest = [g for (m, k), g in gain.items() if k == 32 and m != "REDDIT-BINARY"]
    page.says(f"is {fig(most[128][0])}, {fig(most[128][1])} and {fig(most[128][2])} times as "
              f"fast as the engines on three stand-ins at N = {fig(128, 0)}, and "
              f"{fig(most[512][0])}, {fig(most[512][1])} and {fig(most[512][2])} at N = "
              f"{fig(512, 0)}",
              f"none gains more than {fig(max(real))} at N = {fig(128, 0)}; at N = {fig(32, 0)} "
              f"REDDIT-BINARY gains {fig(gain['REDDIT-BINARY', 32])} and no other matrix more than "
              f"{fig(max(rest))}")
    counters = "trials/panels_counters.tsv"
    whole, last = one(counters, kernel=kernels[1]), one(counters, kernel=loose)
    page.says(f"from {fig(whole['dram_read_mb'], 0)} to {fig(last['dram_read_mb'], 0)} MB, and "
              f"what passes L2 from {fig(whole['l2_mb'], 0)} to {fig(last['l2_mb'], 0)} MB",
              f"busy to {fig(last['l2_percent'], 0)} %, the issue slots to "
              f"{fig(last['issue_percent'], 0)} %")
    four, eight = ({r["matrix"]: r["us"] for r in select("trials/panels.tsv", N=128, kernel=loose,
                                                         instance=i)}
                   for i in ("q4g4w1k32s3f1l0", "q4g8w1k32s5f2l1"))
    behind = max(four[m] / eight[m] for m in four) - 1
    page.says(f"behind by up to {fig(100 * behind, 0)} % on the rest")
    page.noted("definition", "a step of 16 or 32 columns", "a tile of 16 rows and 8 of its columns",
               "one window and 128 columns", "decoded for 32 columns only")


def dealt_panels(page):
    table, gain = "trials/panels_dealt.tsv", {}
    for order, title in (("given", "as given"), ("affinity", "`affinity`")):
        for row in dict.fromkeys(r["matrix"] for r in select(table, N=128, order=order,
                                                             kernel="dealt out")):
            us = [min((r["us"] for r in select(table, N=128, order=order, matrix=row, kernel=k)),
                      default=None) for k in ("engine", "sorted", "dealt out")]
            gain[order, row] = us[0] / us[2]
            if row in ("REDDIT-BINARY", "bcsstk17", "t60k"):
                continue
            name = row.split("_4-8x8")[0].replace("-RSR", "")
            name = f"{name[4:]}-like" if name.startswith("syn-") else name
            page.row(f"{title}, {name}", *(fig(x, 1) for x in us))
    ahead = sorted((g, m) for (order, m), g in gain.items() if order == "given" and g >= 1.15)
    assert [m for _, m in ahead] == ["syn-cant", "syn-FraudYelp-RSR"]
    assert max(g for (_, m), g in gain.items() if not m.startswith("syn-")) < 1
    page.says(f"as given {fig(ahead[0][0])} and {fig(ahead[1][0])} times; on conf5-like it is "
              f"{fig(gain['given', 'syn-conf5_4-8x8'])} times")
    first, last = (one("trials/panels_counters.tsv", kernel=k) for k in ("sorted", "dealt out"))
    page.says(f"from {fig(first['instructions_million'], 1)} to "
              f"{fig(last['instructions_million'], 1)} million")
    page.noted("definition", "two to four KiB", "1.15 times as fast as the others")
    page.noted("trial", "Conflicts are 8 % of all", "in ascending order, 25 % dealt",
               "nothing to do for 13 % of the time", "make 1.85 rounds")


def like(matrix):
    name = matrix.split("_4-8x8")[0].replace("-RSR", "")
    return f"{name[4:]}-like" if name.startswith("syn-") else name


def panel_times(page):
    table, others = "panel/times.tsv", ("bittcf", "hrpb", "csr-gpu")
    for matrix in dict.fromkeys(r["matrix"] for r in select(table, N=128)):
        us = {(r["N"], r["engine"]): r["us"] for r in select(table, matrix=matrix)}
        cells = []
        for n in (128, 512):
            least = min((us[n, e] for e in others if (n, e) in us), default=None)
            cells += [fig(x, 1) if x else "-" for x in (least, us.get((n, "panel")))]
        page.row(like(matrix), *cells)


def panel_ring(page):
    table = "panel/ring.tsv"
    forms = [("all copy, tiles through a ring", 4, 5), ("one copies, tiles through a ring", 4, 5),
             ("four take turns", 4, 6), ("four take turns", 4, 9), ("four take turns", 8, 8),
             ("four take turns", 8, 13), ("four take turns", 12, 27), ("four take turns", 16, 27)]
    measured = select(table, form="four take turns", windows=8)
    for matrix in dict.fromkeys(r["matrix"] for r in measured):
        cells = [one(table, form=f, windows=w, stages=s, matrix=matrix)["us"] for f, w, s in forms]
        page.row(like(matrix), *(fig(x, 1) for x in cells))


def last_round(page):
    table, others = "panel/last_round.tsv", ("bittcf", "hrpb", "csr-gpu")
    us = {(r["matrix"], r["N"], r["form"] or r["engine"]): r["us"] for r in rows(table)}
    for matrix in dict.fromkeys(m for m, _, _ in us):
        cells = []
        for n, forms in ((128, ("whole", "parts", "two widths")), (512, ("whole", "two widths"))):
            cells.append(min(us[matrix, n, e] for e in others if (matrix, n, e) in us))
            cells += [us[matrix, n, f] for f in forms]
        if f"| {like(matrix)} | {cells[0]:,.1f} | {cells[1]:,.1f} | {cells[2]:,.1f}" in page.raw:
            page.row(like(matrix), *(fig(x, 1) for x in cells))
    gain = {m: min(us[m, 128, e] for e in others if (m, 128, e) in us) / us[m, 128, "whole"]
            for m, n, f in us if n == 128 and f == "whole"}
    ahead = sorted(g for g in gain.values() if g > 1.03)
    assert all(g < 1 for m, g in gain.items() if not m.startswith("syn-"))
    assert len(ahead) == 5
    page.says(f"by {fig(ahead[0])} to {fig(ahead[-1])} on five stand-ins")
    cant = us["syn-cant", 128, "two widths"] / us["syn-cant", 128, "whole"]
    page.says(f"takes {fig(cant)} times as long")
    small = [us[m, 128, "two widths"] / us[m, 128, "whole"]
             for m in ("bcsstk17", "bcsstk25", "bcsstk29", "skirt", "s2rmq4m1")]
    page.says(f"{fig(min(small))} to {fig(max(small))} of the time of whole panels on five")


def panel_plans(page):
    found = select("panel/plans.tsv", run=1)
    us = {(r["matrix"], r["N"]): (r["without_us"], r["with_us"]) for r in found}
    gain = sorted(a / b for (_, n), (a, b) in us.items() if n == 512 and a / b > 1.05)
    assert len(gain) == 6
    page.says(f"{fig(gain[0])} to {fig(gain[-1])} times as fast at N = 512 on six stand-ins of "
              f"{fig(len(us) / 2, 0)} matrices")
    page.says("filter3D-like takes {1} instead of {0} us and rgg_n_2_15_s0 {3} instead of {2} us"
              .format(*(fig(x, 0) for m in ("syn-filter3D", "rgg_n_2_15_s0") for x in us[m, 512])))
    page.says("consph-like at N = 128 takes {1} instead of {0} us"
              .format(*(fig(x, 0) for x in us["syn-consph", 128])))


def panel_turned(page):
    table, others = "panel/turned.tsv", ("bittcf", "hrpb", "csr-gpu")
    us = {(r["matrix"], r["N"], r["form"] or r["engine"]): r["us"] for r in rows(table)
          if r["run"] == 2 or r["engine"] == "panel"}
    whole = {(r["matrix"], r["N"]): r["us"] for r in select("panel/last_round.tsv", form="whole")}
    products = [(m, n) for m, n, f in us if f == "one lane"]
    best = {k: min(us[k + (e,)] for e in others) for k in products}
    for matrix in dict.fromkeys(m for m, _ in products):
        if f"| {like(matrix)} | {best[matrix, 128]:,.1f} |" in page.raw:
            page.row(like(matrix), *(fig(x, 1) for n in (128, 512) for x in (
                best[matrix, n], whole[matrix, n], us[matrix, n, "all lanes, three"],
                us[matrix, n, "one lane"])))
    turned = {k: us[k + ("one lane",)] / whole[k] for k in products if k in whole}
    page.says(f"{fig(min(turned.values()))} to {fig(max(turned.values()))} of the time of *whole*, "
              f"{fig(geomean(turned.values()))} in the geomean of {fig(len(turned), 0)} products")
    per = {f: {k: us[k + (f,)] / us[k + ("one lane",)] for k in products}
           for f in ("named barriers", "one lane waits")}
    page.says(f"products take {fig(geomean(per['one lane waits'].values()))} times",
              f"{fig(geomean(per['named barriers'].values()))} of the time with one lane")
    first = [(m, n) for m, n, f in us if f == "all lanes, four"]
    four = geomean([us[k + ("all lanes, four",)] / us[k + ("all lanes, four, second kernel",)]
                    for k in first])
    page.says(f"and {fig(four)} with four")
    ahead = {m for (m, n), t in best.items() if t / us[m, n, "one lane"] >= 1.035}
    assert len(ahead) == 5 and len({m for m, _ in products}) == 24
    plans = select("panel/plans_turned.tsv", run=3)
    assert len({r["matrix"] for r in plans}) == 51
    gain = {(r["matrix"], r["N"]): r["with_us"] / r["without_us"] for r in plans
            if r["with"] == "panel"}
    assert len(gain) == 24 and sum(g < 0.955 for g in gain.values()) == 8
    assert sum(g > 1.03 for g in gain.values()) == 10
    page.says(f"FraudYelp-like {fig(gain['syn-FraudYelp-RSR', 128])} and "
              f"{fig(gain['syn-FraudYelp-RSR', 512])}, of the real ones s2rmq4m1 "
              f"{fig(gain['s2rmq4m1', 512])} at N = {fig(512, 0)}")
    pairs = {(r["matrix"], r["N"]): (r["with_us"], r["without_us"]) for r in plans}
    page.says("take {} instead of {} and {} instead of {} us".format(
        *(fig(x, 1) for m in ("syn-pdb1HYS", "syn-consph") for x in pairs[m, 128])),
              "takes {} instead of {} us".format(*(fig(x, 1) for x in pairs["bundle1", 128])),
              "takes {} us with `cusparse` instead of {} us".format(
                  *(fig(x, 1) for x in pairs["wiki_squirrel", 512])))
    wide = {r["matrix"]: r["without_us"] / r["with_us"]
            for r in select("panel/plans_turned.tsv", N=200) if r["with"] == "panel"}
    assert len(wide) == 12
    page.says(f"are {fig(min(wide.values()))} to {fig(max(wide.values()))} times as fast as the "
              f"plan without them, {fig(wide['bcsstk17'])} on bcsstk17 and {fig(wide['skirt'])} on")
    page.noted("trial", "puts 0.12 us on a tile", "0.18 us on a turned one, 0.047 and 0.040",
               "take 1.01 to 1.08 times", "1.05 in the geomean of 46", "0.9 % behind the better",
               "7 % at most", "are 147 instead of 190")
    page.says(f"of {fig(len({r['matrix'] for r in plans}), 0)} matrices, 40 of them real",
              f"taken for {fig(len(gain), 0)} products")
    page.noted("definition", "less than 0.95 of the time", "more than 1.03 of it", "2025.3.1",
               "1.04 times as fast as the others")
    page.noted("arithmetic", "14 times the columns")


def panel(page):
    panel_times(page)
    panel_turned(page)
    panel_ring(page)
    last_round(page)
    panel_plans(page)
    page.noted("definition", "every fourth step of 16", "64 columns of B", "Loads of 8 bytes")
    page.noted("trial", "0.3 % in the median", "147 instead of 190 instructions",
               "131 us were predicted")
    page.noted("arithmetic", "Of 16 stand-ins two", "3 of 570 and 12 of 790", "1000 such products",
               "a tile of 128 columns")
    page.noted("arithmetic", "make 1.85 rounds on cant-like, 1.45 on conf5-like and 1.08 on")


def pieces(page):
    for kind, title, widths in (("32f", "FP32", (32, 128, 512)), ("64f", "FP64", (32, 128))):
        for n in widths:
            found = select("engines/tried_pieces.tsv", type=kind, N=n)
            cells = []
            for way in ("one_wave", "one_wave_1024", "slices_1024"):
                ratios = values([r for r in found if r[way]], way, over="three_waves")
                cells.append(f"{fig(geomean(ratios))}, {fig(min(ratios))}" if ratios else "-")
            page.row(f"{title}, N = {n}", *cells)
        page.says(f"{fig(len(found), 0)} {'matrices in ' if kind == '32f' else 'in '}{title}")
    page.noted("trial", "81 instead of 179 MB through L2", "67 instead of 18 % of the sectors",
               "210 instead of 222 MB", "98 instead of 150 MB", "takes 701 us with",
               "848 us with pieces of 2048", "10.4 us where a warp looks at")
    page.noted("definition", "pieces of 1024 entries", "as 660 of them", "of 128 bytes each",
               "Slices of 128 bytes", "of 256 threads are resident",
               "256 threads is taken as well")
    three = one("engines/tried_pieces.tsv", type="32f", matrix="mult_dcop_01", N=32)
    page.says(f"threads takes {fig(three['one_wave_1024'], 1)} us where one group",
              f"; three waves take {fig(three['three_waves'], 1)} us")


def waves(page):
    def speed_up(kind, n):
        found = values(select("trials/waves.tsv", type=kind, N=n), "three_waves", over="one_wave")
        return f"{fig(geomean(found))}, {fig(min(found))}"

    count = len(select("trials/waves.tsv", type="32f", N=32))
    page.says(f"each other, of {fig(count, 0)} matrices",
              f"FP32 {speed_up('32f', 32)} at N = 32 and {speed_up('32f', 128)} at 128; FP64 "
              f"{speed_up('64f', 32)} at 32")
    work = "src/engine/csr_gpu/work.c"
    page.says(f"at most {fig(float(code(work, r'wave_bytes = ([0-9e]+)')) / 1e6, 0)} MB, or "
              f"{fig(float(code(work, r'skewed_bytes = ([0-9e]+)')) / 1e6, 0)} MB where a row is "
              f"{fig(float(code(work, r'skewed = ([0-9.]+)')), 0)} times the mean",
              f"have {fig(float(code(work, r'SEVERAL += ([0-9]+)')), 0)} thread blocks of a "
              "multiprocessor")


def slices_in_waves(page):
    """From trials/waves.tsv, entries and columns in use of the matrices."""
    page.noted("log", "is one wave for 11 of the matrices, 1.11 times as fast, least 0.97")
    page.noted("definition", "Of two slices, FP64 at N = 128, pieces have at most 1024 entries")


def larger_blocks(page):
    for n in (32, 128):
        found = select("trials/pieces.tsv", N=n)
        many = values(found, "threads_1024", over="as_it_is")
        if n == 32:
            page.says(f"1024 threads are {fig(geomean(many))} times as fast as one wave of 256 at",
                      f"N = 32, least {fig(min(many))}")
        else:
            page.says(f"{fig(geomean(many))} times as fast as three waves at N = 128, least "
                      f"{fig(min(many))}")
    deep = [geomean(values(select("trials/pieces.tsv", N=n), "rows_8", over="as_it_is"))
            for n in (32, 128)]
    page.says(f"are {fig(deep[0])} and {fig(deep[1])} times as fast: registers")


def reference(page):
    names = ("csr-gpu", "bittcf", "hrpb", "cusparse")
    for n in (32, 128, 512):
        found = select("engines/tf32.tsv", N=n)
        best = [min((e for e in names if r[e] is not None), key=lambda e, r=r: r[e]) for r in found]
        page.row(fig(n, 0), *(fig(best.count(e), 0) for e in names))
    page.says(f"over {fig(len(found), 0)} matrices on one H200")


def quote(pages):
    bcsr(pages[FOLDER + "bcsr.md"])
    by_rows(pages[FOLDER + "bcsr.md"])
    bittcf(pages[FOLDER + "bittcf.md"])
    others(pages)
    tried(pages[FOLDER + "tried.md"])
    panels(pages[FOLDER + "tried.md"])
    dealt_panels(pages[FOLDER + "tried.md"])
    panel(pages[FOLDER + "tried.md"])
    larger_blocks(pages[FOLDER + "tried.md"])
    tried_widths(pages[FOLDER + "tried.md"], pages[FOLDER + "bittcf.md"])
    tried_columns(pages[FOLDER + "tried.md"], pages["docs/how-to/column_major.md"])
    pieces(pages[FOLDER + "tried.md"])
    waves(pages[FOLDER + "csr_gpu.md"])
    tile_forms(pages[FOLDER + "csr_gpu.md"])
    slices_in_waves(pages[FOLDER + "csr_gpu.md"])
    strips(pages[FOLDER + "strips.md"])
    pruned(pages[FOLDER + "dense.md"])
    bounds(pages[FOLDER + "dense.md"])
    reference(pages["docs/reference/engines.md"])
