# SPDX-License-Identifier: Apache-2.0
"""Figures of docs/reference/papers.md."""
import math

from figures import fig
from results import ROOT, code, geomean, one, published, rows, select, summary, values

import counts  # noqa: E402  results adds its folder
import headlines  # noqa: E402

FACTS = "patterns/facts.tsv"


def ratio(name, over, under, n):
    """Geometric mean of the times of one published system over those of another."""
    found = [
        r[over] / r[under]
        for r in rows(name)
        if r["N"] == n and isinstance(r[over], float) and isinstance(r[under], float)
    ]
    return geomean(found)


def widths(name, over, under):
    return ", ".join(f"{fig(ratio(name, over, under, n))}" for n in (32, 128, 512))


def system(paper, engine):
    """The paper's system over our engine, N by N: both over cuSPARSE of their run."""
    cells = []
    for n, group, count, theirs, mine in headlines.rows_of(paper, published.Published()):
        if group == "all":
            cells.append(
                f"N = {n}: {fig(geomean(mine[engine]) / geomean(theirs))} "
                f"({fig(count, 0)} matrices)"
            )
    return ", ".join(cells)


def of_class(paper, n, engine=None):
    found = {
        group: mine[engine] if engine else theirs
        for columns, group, _, theirs, mine in headlines.rows_of(paper, published.Published())
        if columns == n
    }
    return ", ".join(fig(geomean(found[group])) for group in ("low", "medium", "high"))


def left_out(variant):
    return [fig(one("papers/ablation.tsv", variant=variant, N=n)["geomean"]) for n in (32, 128)]


def over(paper, variant, base, widths_of, where=lambda row: True):
    """Geometric means of the time of a variant of bench_published over that of another, N by N."""
    found = []
    for n in widths_of:
        ms = {}
        for r in select(f"papers/published/{paper}.tsv", N=n):
            if where(r):
                ms.setdefault(r["matrix"], {})[r["variant"]] = r["median_ms"]
        found.append([m[variant] / m[base] for m in ms.values() if variant in m and base in m])
    return ", ".join(fig(geomean(f)) for f in found)


def cases(paper, n):
    """Matrices of a table of bench_published."""
    return len({r["matrix"] for r in select(f"papers/published/{paper}.tsv", N=n)})


def hits(page):
    def cells(matrix):
        order, given = (
            one("papers/published/hits.tsv", matrix=matrix, variant=v)
            for v in ("all", "rows as given")
        )
        shares = [
            f"{fig(order[name], 1)} and {fig(given[name], 1)} %"
            for name in ("l1_percent", "l2_percent")
        ]
        return (*shares, fig(order["l2_bytes"] / given["l2_bytes"]))

    page.says("DD {} in L1, {} in L2, {} of the bytes".format(*cells("DD")))
    page.says("com-amazon-like {}, {}, {}.".format(*cells("syn-com-amazon")))


def acc_kernel(page):
    wide = (128,)
    page.says(f"the kernel written anew: {over('acc-spmm', 'all', 'engine', wide)} |")
    for text, variant in (
        ("ME-TCF instead:", "ME-TCF"),
        ("one buffer of each instead:", "one buffer"),
        ("compiler's choice instead:", "no hints"),
        ("straight to registers instead:", "columns not shared"),
        ("two instead:", "m16n8k4"),
    ):
        page.says(f"{text} {over('acc-spmm', variant, 'all', wide)} |")
    page.says(f"without it, too: {over('acc-spmm', 'none of them', 'all', wide)} |")
    even, uneven = (lambda r: r["ibd"] <= counts.IBD), (lambda r: r["ibd"] > counts.IBD)
    cut = over("acc-spmm", "no balancing", "all", wide, uneven)
    page.says(f"published, without, where IBD > 8: {cut}; ours")
    parts = over("acc-spmm", "ordered sums", "all", wide, uneven)
    page.says(f"in order over atomics, where IBD > 8: {parts} |")
    page.says(
        f"where IBD < 8, too: {over('acc-spmm', 'always balanced', 'all', wide, even)} |",
        f"takes {over('acc-spmm', 'none of them', 'all', wide, even)} of the time with all.",
    )
    name = "patterns/me_tcf.tsv"
    made = geomean(r["bittcf_ms"] / r["me_tcf_ms"] for r in rows(name))
    page.says(f"ours over ME-TCF {fig(made)}, {fig(len(rows(name)), 0)} matrices, one core |")
    above = {r["matrix"] for r in rows("papers/published/acc-spmm.tsv") if uneven(r)}
    page.says(
        f"of {fig(cases('acc-spmm', 128), 0)} matrices, {fig(len(above), 0)} of them with an IBD"
    )
    squirrel = {
        r["variant"]: r["to_engine"]
        for r in select("papers/published/acc-spmm.tsv", N=128)
        if r["matrix"].startswith("wiki_squirrel")
    }
    page.says(
        f"takes {fig(squirrel['all'])} of the time of `bittcf`",
        f"`bittcf` in that order takes {fig(squirrel['engine ordered'])}.",
    )
    hits(page)


def cute_kernel(page):
    wide = (32, 128)
    page.says(
        "what it multiplies | "
        f"the kernel written anew: {over('cutespmm', 'TM 16', 'engine', wide)} |"
    )
    page.says(f"ours written anew {over('cutespmm', 'TM 32', 'TM 16', wide)} |")
    page.says(
        f"none cut: {over('cutespmm', 'no virtual panels', 'TM 16', wide)}, "
        f"as `hrpb`: {over('cutespmm', 'cut as hrpb', 'TM 16', wide)} |",
        f"cut at the mean over by waves: {over('cutespmm', 'cut at the mean', 'TM 16', wide)} |",
    )
    page.says(
        f"in order over atomics: {over('cutespmm', 'ordered sums', 'TM 16', wide)}, "
        f"cut at the mean {over('cutespmm', 'mean and ordered', 'cut at the mean', wide)} |"
    )
    for text, variant in (
        ("where they stand instead", "columns not compacted"),
        ("full bricks instead", "full bricks"),
        ("TN = 8 instead", "TN 8"),
        ("in a loop instead", "not unrolled"),
        ("one warp instead", "one warp a thread block"),
    ):
        page.says(f"{text}, N = 32 and 128: {over('cutespmm', variant, 'TM 16', wide)} |")
    page.says(
        f"over two stages, N = 32 and 128: {over('cutespmm', 'TM 16', 'two stages', wide)} |",
        "over panels in their order, none cut, N = 32 and 128: "
        f"{over('cutespmm', 'heaviest first', 'no virtual panels', wide)} |",
    )
    page.says(f"{fig(cases('cutespmm', 32), 0)} in those of `bench_published`")
    cost = over("cutespmm", "ordered sums", "TM 16", (32,))
    page.says(f"Sums in order cost {fig(100 * float(cost[1:-1]) - 100, 0)} % at N = 32")


def sspmm_kernel(page):
    wide = (64, 512)
    page.says(
        "teams on long windows | "
        f"the kernel written anew: {over('sspmm', 'adaptive', 'engine', wide)} |"
    )
    page.says(f"the same | without: {over('sspmm', 'no SVC', 'V 8', wide)} |")
    page.says(
        f"V = 8 over adaptive {over('sspmm', 'V 8', 'adaptive', wide)}, "
        f"V = 16 {over('sspmm', 'V 16', 'adaptive', wide)}; authors'"
    )
    page.says(f"without, V = 8: {over('sspmm', 'no TMS V 8', 'V 8', wide)}; authors'")
    page.says(f"by WMMA instead: {over('sspmm', 'no RSM V 8', 'V 8', wide)} |")
    page.says(
        f"one instead, N = 64 and 512: {over('sspmm', 'one buffer V 8', 'V 8', wide)}, "
        f"none: {over('sspmm', 'no buffers V 8', 'V 8', wide)} |",
        "longest first over as given, N = 64 and 512: "
        f"{over('sspmm', 'longest first V 8', 'V 8', wide)} |",
    )
    for text, n, end in (("on DD at N = 64, where V = 16 takes", 64, " of its time"),
                         ("on lp_maros_r7 at N = 512, where it takes", 512, ".")):
        wide = [r for r in select("papers/published/sspmm.tsv", N=n) if r["variant"] == "V 16"]
        page.says(f"{text} {fig(min(r['to_engine'] for r in wide))}{end}")


def steps(page):
    def mean(kind, step, n):
        ms = {}
        for r in select("papers/published/thesis.tsv", N=n):
            ms.setdefault(r["matrix"], {})[r["variant"]] = r["median_ms"]
        found = [
            m[step] / m["bcsr"]
            for name, m in ms.items()
            if name.startswith("xdys") == kind and step in m
        ]
        return fig(geomean(found))

    for text, step in (("16x16 by `mma.sp`", "ST"), ("stages and 16x16", "OBTS")):
        cells = [f"{mean(kind, step, 8)}, {mean(kind, step, 128)}" for kind in (True, False)]
        page.says(f"{text} | `bench_ladder` | - | {cells[0]} | {cells[1]} |")
    cells = [f"N = 128: {mean(kind, 'OBT_tiled', 128)}" for kind in (True, False)]
    page.says(f"| {cells[0]} | {cells[1]} |")
    dense = {
        r["variant"]: r["median_ms"]
        for r in select("papers/published/thesis.tsv", N=8)
        if r["matrix"] == "xdys:size=4096,dense=0.10,sp24=0.00"
    }
    page.says(
        f"{fig(dense['OBT'] / dense['OBTS_large_separate'])} times as long as "
        "OBTS_large_separate where no tile is 2:4"
    )


def acc_spmm(page):
    acc_kernel(page)
    facts = rows(FACTS)
    page.says(f"Counts are of {fig(len(facts), 0)} matrices")
    eight = left_out("windows of 8 rows")
    page.says(f"N = 32: {eight[0]}, N = 128: {eight[1]} |")
    gain = [
        fig(geomean(r[k] / r["bittcf_bytes"] for r in facts))
        for k in ("me_tcf_bytes", "tcf_bytes", "csr_bytes")
    ]
    page.says(f"bytes of ME-TCF over BitTCF {gain[0]}, of TCF {gain[1]}, of CSR {gain[2]}")
    above = sum(r["ibd"] > counts.IBD for r in facts)
    page.says(f"above 8 for {above} of {fig(len(facts), 0)} matrices")
    lanes = left_out("lanes not permuted")
    page.says(f"lanes not permuted in `bittcf`: N = 32: {lanes[0]}, N = 128: {lanes[1]} |")
    page.says(
        "without the row below, too: {}, at 128: {} |".format(*left_out("no prefetch")),
        "without any: {}, {} |".format(*left_out("no balancing")),
        "one window a thread block: {}, {} |".format(*left_out("one window a thread block")),
    )
    order = counts.orders(ROOT / "bench/results/patterns/orders.tsv")
    means = ", ".join(
        f"{title} {fig(geomean(order[key]))}"
        for key, title in (
            ("acc", "algorithm 1"),
            ("rabbit", "Rabbit"),
            ("louvain", "Louvain"),
            ("lsh16", "MinHash, 16 rows"),
            ("lsh64", "64 rows"),
            ("metis", "METIS"),
            ("rcm", "RCM"),
            ("affinity", "`affinity`"),
        )
    )
    page.says(
        f"MeanNNZTC over that of the rows as given, {fig(len(order['none']), 0)} matrices: "
        f"{means} |"
    )
    pairs = counts.orders(ROOT / "bench/results/patterns/orders.tsv", "pairs8")
    best = [min(found) / found[-1] for found in zip(*pairs.values())]  # the last is `affinity`
    acc = [a / b for a, b in zip(pairs["acc"], pairs["affinity"])]
    page.says(
        f"the best of all on each matrix has {fig(geomean(best), 3)} of its pairs at height 8; "
        f"algorithm 1 has at least {fig(2, 0)} % fewer on {fig(sum(a <= 0.98 for a in acc), 0)} "
        f"matrices, {fig(min(acc))} at best"
    )
    page.says(f"| {system('acc-spmm', 'bittcf')} | `bittcf` |")
    own = {
        n: geomean(theirs)
        for n, group, _, theirs, _ in headlines.rows_of("acc-spmm", published.Published())
        if group == "all"
    }
    page.says(f"its program has {fig(own[128])} at N = 128 on the H200")
    page.noted("log", "The paper says 1.58 over cuSPARSE on H100")


def cutespmm(page):
    cute_kernel(page)
    page.says(f"N = 32, 128, 512: {widths('peers/times.tsv', 'cutespmm-tm32', 'cutespmm-tm16')} |")
    model = {r["matrix"]: r["oi_shmem"] for r in rows(FACTS)}
    found = []
    for n in (32, 128, 512):
        pairs = [
            (math.log(model[r["matrix"]]), math.log(r["nnz"] / r["hrpb"]))
            for r in select("engines/tf32.tsv", N=n)
            if r["hrpb"] and r["matrix"] in model
        ]
        mean = [sum(p[k] for p in pairs) / len(pairs) for k in (0, 1)]
        moved = [[p[k] - mean[k] for p in pairs] for k in (0, 1)]
        dot = [sum(a * b for a, b in zip(moved[i], moved[j])) for i, j in ((0, 1), (0, 0), (1, 1))]
        found.append(fig(dot[0] / math.sqrt(dot[1] * dot[2])))
    page.says(f"{', '.join(found)} (N = 32, 128, 512; {fig(len(pairs), 0)} matrices) |")
    kinds = [sum(r["class"] == c for r in rows(FACTS)) for c in ("low", "medium", "high")]
    page.says("{} low, {} medium, {} high".format(*kinds))
    page.says(f"authors' program: {of_class('cutespmm', 128)} |")
    page.says(f"plans: {of_class('cutespmm', 128, 'auto')} |")
    page.says(f"| {system('cutespmm', 'hrpb')} | `hrpb` |")
    plans = select("single_gpu_32f-fast-tf32.default.tsv", N=128)
    made = sorted(r["format_ms"] / r["median_ms"] for r in plans)[(len(plans) - 1) // 2]
    page.says(f"in the time of {fig(made, 0)} products in the median |")
    page.noted("log", "in the time of some 100 products, N = 128")


def sspmm(page):
    sspmm_kernel(page)
    facts = rows(FACTS)
    fill = [fig(geomean(values(facts, f"fill{v}"))) for v in (8, 16)]
    page.says(f"fill of vectors {fill[0]} (V = 8), {fill[1]} (V = 16)")
    size = [
        fig(geomean(r[f"cvse{v}_bytes"] / (r["me_tcf_bytes"] + 2 * r["nnz"]) for r in facts))
        for v in (8, 16)
    ]
    page.says(f"bytes of CVSE over ME-TCF {size[0]} (V = 8), {size[1]} (V = 16)")
    page.says(f"16 predicted for {sum(r['v'] == 16 for r in facts)} of {len(facts)}")
    for text, over, under in (
        ("authors' V = 16 over V = 8 in time", "sspmm-v16-h", "sspmm-v8-h"),
        ("theirs with both schemes", "sspmm-repo-vectorsparse-v8-h", "sspmm-v8-h"),
    ):
        pair = [fig(ratio("peers/times.tsv", over, under, n)) for n in (128, 512)]
        page.says(f"{text}: {pair[0]} at N = 128, {pair[1]} at 512")
    page.says(f"| {system('sspmm', 'cvse')} | `cvse` |")
    page.noted("definition", "V by sparsity: 16 below 90 %")


def amdahl(page):
    """What 2:4 can gain, and gains, of XdYs of 8192 rows with a fifth of the tiles."""
    tiles = {
        n: {
            round(r["sp24_percent"]): r
            for r in select("papers/tiles.tsv", section="amdahl", N=n)
            if r["matrix"].startswith("xdys:size=8192")
        }
        for n in (32, 512)
    }

    def pair(make):
        return " and ".join(fig(make(tiles[n])) for n in (32, 512))

    form = "OBTS_large_separate"
    rate = [
        code("src/engine/bcsr/variant.c", pattern)
        for pattern in (r"sparse = (\d+)e12", r"dense = (\d+)e12")
    ]
    page.says(
        f"`mma.sp` has {fig(rate[0] / rate[1])} times the rate of `mma`, and a 2:4 tile "
        f"{fig(576 / 1024)} of the bytes"
    )

    def bound(share):
        return pair(lambda r: 1 / (1 - share + share * r[100][form] / r[0][form]))

    r = [fig(tiles[n][0][form] / tiles[n][100][form]) for n in (32, 512)]
    page.says(
        f"r is {r[0]} at N = 32 and {r[1]} at N = 512: at most {bound(0.3)} for "
        f"{fig(30, 0)} %, {bound(0.4)} for {fig(40, 0)} %."
    )
    page.says(
        f"Measured are {pair(lambda r: r[0][form] / r[26][form])} for {fig(26, 0)} %, "
        f"{pair(lambda r: r[0][form] / r[50][form])} for {fig(50, 0)} %."
    )
    page.says(
        f"it has {pair(lambda r: r[26]['OBT'] / r[26][form])} for {fig(26, 0)} %, "
        f"{pair(lambda r: r[50]['OBT'] / r[50][form])} for {fig(50, 0)} %"
    )
    page.says(f"take {pair(lambda r: r[0]['bcsr'] / r[0]['OBT'])} of OBT's time")
    page.says(f"r is {pair(lambda r: r[100]['bcsr'] / r[100]['bcsr-sp24'])}, and")
    both = [
        one("papers/published/bcsr_variants.tsv", matrix=f"xdys:size=8192,{share}", N=512)
        for share in ("dense=0.13,sp24=0.07", "dense=0,sp24=0.2")
    ]
    page.says(
        f"takes {fig(both[0]['L16x64/1+'] / both[0]['L16x64/1'])} times as long as the same with "
        f"dense ones alone where {fig(35, 0)} % are in 2:4, "
        f"{fig(both[1]['L16x64/1+'] / both[1]['L16x64/1'])} times where all are"
    )
    page.noted(
        "definition", "Why 30 to 40 % of the tiles in 2:4 do not give 1.2 over dense tiles here"
    )
    page.noted("log", "The 1.5 that the thesis finds for 30 % on an A100")


def thesis(page):
    steps(page)
    amdahl(page)

    def mean(section, step, n):
        found = [
            r[step] / r["bcsr"]
            for r in select("papers/tiles.tsv", section=section, N=n)
            if r[step] is not None
        ]
        return fig(geomean(found))

    for step in ("T", "BT", "CBT", "OBT", "ST_large", "OBTS_large", "OBTS_large_separate"):
        cells = [
            f"{mean(section, step, 8)}, {mean(section, step, 128)}"
            for section in ("ladder", "real")
        ]
        page.says(f"| {cells[0]} | {cells[1]} |")
    half = [
        r
        for r in select("papers/tiles.tsv", section="amdahl")
        if abs(r["sp24_percent"] - 50) < 1
    ]
    for over, under in (("OBT", "OBTS_large_separate"), ("bcsr", "bcsr-sp24")):
        gain = [r[over] / r[under] for r in half]
        page.says(f"`{over}` over `{under}`: {fig(min(gain))} to {fig(max(gain))}")
    page.says(f"| {system('thesis', 'bcsr')} | `bcsr` |")
    wrong = sum(r["sptc-obts32-mma.sp"] == "wrong" for r in rows("peers/times.tsv"))
    right = sum(isinstance(r["sptc-obts32-mma.sp"], float) for r in rows("peers/times.tsv"))
    assert right == 0
    page.says(f"wrong products on all {fig(wrong, 0)} matrices")


def vector_kernel(page):
    wide = (64, 256)
    for text, variant in (("(section 5.1)", "subwarp"), ("(section 5.2)", "warp")):
        ratios = over("vectorsparse", variant, "engine", wide)
        page.says(f"{text} | `bench_published` | - | {ratios} |")
    page.says(
        "`m16n8k16`, B straight to registers | "
        f"{over('vectorsparse', 'octet', 'engine', wide)} | `cvse` |"
    )
    page.says(f"order | without: {over('vectorsparse', 'octet, no fence', 'octet', wide)} |")
    for text, variant in (
        ("4 warps instead:", "octet, 4 warps"),
        ("a whole tile instead:", "octet, last whole"),
        ("2 bytes at a time instead:", "octet, no shuffles"),
    ):
        page.says(f"{text} {over('vectorsparse', variant, 'octet', wide)} | `cvse` |")
    page.says(f"are of {fig(cases('vectorsparse', 64), 0)} masks of 2048 rows")
    page.noted("definition", "70 to 98 % of whose vectors")
    page.says(
        f"of the mask's 2 and 4: {over('vectorsparse', 'octet V 8', 'octet', wide)} |"
    )


def vectorsparse(page):
    vector_kernel(page)
    page.says(f"| {system('vectorsparse', 'cvse')} | `cvse` |")
    bell = []
    for n in (32, 128, 512):
        found = values(select("engines/16f.tsv", N=n), "cvse", over="cusparse-bell")
        bell.append(f"N = {n}: {fig(geomean(found))} ({fig(len(found), 0)} matrices)")
    page.says(f"| {', '.join(bell)} | `cvse` |")
    gains = [
        fig(float(summary("sddmm.tsv", "type=16f", f"K={k}", "vectors:")["geomean"]))
        for k in (64, 256)
    ]
    page.says(f"K = 64: {gains[0]}, K = 256: {gains[1]} |")
    took = 1000 * one("attention.tsv", ranks=1, length=4096, sparsity=0.9)["all_ms"]
    page.says(f"one GPU: {fig(took, 0)} us |")
    page.noted("definition", "4096 long, 90 % dropped", "removal of HMMA steps for V <= 4")


def quote(pages):
    page = pages["docs/reference/papers.md"]
    for part in (acc_spmm, cutespmm, sspmm, thesis, vectorsparse):
        part(page)
    page.noted("definition", "conversion in 0.85 of the time of ME-TCF")
