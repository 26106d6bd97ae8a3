# SPDX-License-Identifier: Apache-2.0
"""Figures of the guides, the reference and docs/explanation/reliability.md, sddmm.md."""

import re

from figures import fig
from results import code, geomean, log, one, rows, select

DIST = "docs/how-to/"
REFERENCE = "docs/reference/"
SPLITS = (("block", None), ("metis", "vol"), ("metis", "cut"), ("ptscotch", None))


def partition(page):
    for title, matrix in (
        ("stencil9 400 × 400, shuffled", "stencil9:nx=400,ny=400,shuffle=1"),
        ("rmat scale 15, degree 16", "rmat:scale=15,degree=16"),
        ("shipsec1-like (finite elements)", "syn-shipsec1"),
        ("roadNet-CA-like", "syn-roadNet-CA"),
    ):
        page.row(
            title,
            *(
                fig(
                    one(
                        "patterns/partition.tsv", matrix=matrix, partition=how, objective=objective
                    )["rows_received"],
                    0,
                )
                for how, objective in SPLITS
            ),
        )
    page.noted("log", "`block` takes no time, `metis` 0.2 to 3 s, `ptscotch` 0.2 to 3 s")
    page.noted_table("log", "| ranks | `keep` |", 10)
    page.noted_table("log", "| matrix | `vol` rows |", 12)
    page.noted("log", "for 7 to 9 % fewer rows (one core, 64 parts)")
    objectives(page)
    hub = code("partition/metis/hubs.c", r"hub = ([\d.]+);")
    page.says(f"more than {fig(hub, 0)} times the mean")
    page.noted(
        "definition",
        "through the busiest adapter, 7 times on top",
        "at least 4 times the square of the mean",
    )
    nnz = select("dist_32f.tsv", matrix="syn-Emilia_923", ranks=1)[0]["nnz"]
    page.says(f"Emilia_923-like ({fig(nnz / 1e6, 0)} million entries)")
    even = code("include/spmm_dist/plan.h", r"imbalance;.*\n +0: ([\d.]+) \*/")
    page.says(f"`imbalance` ({fig(even)})")
    balance(page)
    gain = code("src/plan/choose/fewer.c", r"clear_gain = ([\d.]+)")
    page.says(f"than {fig(gain, 1)} of the time of all")
    uneven = code("src/plan/choose/taken.c", r"uneven = +([\d.]+);")
    page.says(f"the slowest rank takes more than {fig(uneven, 1)} of the mean")


def objectives(page):
    """METIS's cut beside its volume, in two parts."""
    vol, cut = (select("patterns/objective.tsv", objective=which) for which in ("vol", "cut"))
    real = sum(not r["matrix"].startswith("syn-") for r in vol)
    page.says(f"{fig(real, 0)} real matrices and {fig(len(vol) - real, 0)} stand-ins, geometric")
    entries, total, seconds = ([b[name] / a[name] for a, b in zip(vol, cut) if a[name] and b[name]]
                               for name in ("halo_entries", "rows_total", "partition_s"))
    page.says(
        f"{fig(geomean(entries))} of the entries in the halo block, {fig(min(entries))} to "
        f"{fig(max(entries))}",
        f"{fig(geomean(total))} of the rows of B to receive, {fig(min(total))} to "
        f"{fig(max(total))}, and {fig(geomean(seconds))} of the time")
    large = ("syn-mip1", "syn-web-Google", "syn-web-BerkStan", "syn-in-2004")
    shares = [b["partition_s"] / a["partition_s"] for a, b in zip(vol, cut)
              if a["matrix"] in large]
    pairs = [r for r in rows("trials/two/pair_cut.tsv") if r["halo_rows_max"] > 0]
    beyond, rest = ([r["also_T2_us"] / r["T2_us"] for r in pairs if (r["matrix"] in large) is which]
                    for which in (True, False))
    page.says(
        f"take {fig(geomean(beyond))} of the time that they take by those of `vol`, "
        f"{fig(min(beyond))} to {fig(max(beyond))}, geometric mean of {fig(len(beyond), 0)} "
        f"products; of eight smaller graphs {fig(geomean(rest))}, {fig(min(rest))} to "
        f"{fig(max(rest))}",
        f"METIS takes {fig(min(shares))} to {fig(max(shares))} of the time")


def balance(page):
    """Rows weighed by entries and by time; where no model says what rows cost, by entries."""

    def spreads(**wanted):
        uneven = {}
        for r in select("patterns/balance.tsv", **wanted):
            uneven.setdefault(r["matrix"], {})[r["balance"]] = r["predicted_max_mean"]
        return {m: (of["entries"], of.get("time", of["entries"])) for m, of in uneven.items()}

    for title, ranks, compute, columns in (
        ("2 ranks, FP64, 16 columns", 2, "64f", 16),
        ("2 ranks, FP32, 32 columns", 2, "32f", 32),
        ("2 ranks, FP32, 128 columns", 2, "32f", 128),
        ("4 ranks, FP32, 128 columns", 4, "32f", 128),
    ):
        found = spreads(ranks=ranks, compute=compute, N=columns)
        means = [fig(geomean([of[k] for of in found.values()]), 3) for k in (0, 1)]
        page.row(title, fig(len(found), 0), *means)
    found = spreads(ranks=2, compute="64f", N=16)
    mip1, media = found["syn-mip1"], found["fb_media"]
    page.says(
        f"Of mip1-like it falls from {fig(mip1[0])} to {fig(mip1[1])} (FP64), of fb_media it "
        f"grows from {fig(media[0])} to {fig(media[1])}"
    )


def reliability(page):
    """Tables whose rows give the command and the date; what has a log is computed from that."""
    rows = [line for line in page.raw.split("\n") if re.search(r"\| 2026-\d\d-\d\d \|", line)]
    for line in rows:
        assert len(re.split(r"(?<!\\)\|", line)) == 6, line
        page.noted("log", line)
    runs = log("cpu_full_product.txt", r"(\d+) runs, 0 failed")[0]
    page.says(f"{fig(float(runs), 0)} products right")
    limits = log("gpu_check.log", r"2\^31 entries on 2 GPUs: 2 passed, (\d+) s")[0]
    page.says(f"passed on 2 H200, {fig(limits)} s (gpu_check.log)")
    counts = [
        int(n)
        for n in re.findall(
            r"engines on \d GPUs: (\d+) passed", log("gpu_check.log", r"(?s)^(.*?all passed)")[0]
        )
    ]
    page.says(f"{sum(counts)} of {sum(counts)} on 1, 2 and 4 H200")
    runs, right = log("gpu_check.log", r"products: (\d+) runs on 4 cuda in \d+ s: (\d+) passed")
    page.says(f"{right} of {runs} right on 1, 2 and 4 H200")
    tests = [
        int(log("gpu_check.log", rf"ctest -L gpu, {n} ranks: (\d+) passed")[0]) for n in (1, 2, 4)
    ]
    page.says(f"{sum(tests)} of {sum(tests)} on 4 H200")
    wide = [int(log("gpu_check.log", rf"(\d+) products of type {t}")[0]) for t in ("16bf", "16f")]
    page.says(f"{fig(sum(wide), 0)} products right on one H200")
    page.noted(
        "definition",
        "beyond 1,048,560 columns",
        "allows 30 s at least",
        "no longer than that and 5 s",
        "a second more for each 100 MB of a rank",
        "between 2, 3 and 8 emulated ranks",
        "MPICH up to 4.0",
    )
    page.noted(
        "log", "one of more than 10,000 runs here ended so", "none of 918 runs of 1 to 3 ranks"
    )


def files(page):
    name = "reading.tsv"

    def seconds(file, reader, threads):
        row = one(name, file=file, reader=reader, threads=threads, ranks=1, step="read")
        return row["user_s"] + row["system_s"]

    coordinates = []
    for title, file in (
        ("a band, by rows", "band.mtx"),
        ("columns at random, by columns", "random-columns.mtx"),
        ("columns at random, by rows, six digits", "random-rows-6-digits.mtx"),
        ("the same, a pattern", "random-rows-pattern.mtx"),
    ):
        own = [seconds(file, "spmm_dist", threads) for threads in (1, 2)]
        page.row(title, *(fig(seconds(file, "fmm-csr", t) / own[t - 1]) for t in (1, 2)))
        coordinates += [seconds(file, "fmm-coo", t) / own[t - 1] for t in (1, 2)]
    page.says(f"takes {fig(min(coordinates))} to {fig(max(coordinates))} times ours")
    own = select(name, reader="spmm_dist")
    read = [r for r in own if r["step"] == "read"]
    plans = [r for r in own if r["step"].endswith(("block", "keep"))]
    scotch = [r["peak"] for r in own if r["step"].endswith("ptscotch")]
    page.says(
        f"at most {fig(max(r['peak'] for r in read), 1)} bytes for each of its entries while it "
        f"reads and {fig(max(r['held'] for r in read), 1)} afterwards"
    )
    page.says(
        f"at most {fig(max(r['peak'] for r in plans), 1)}, of which "
        f"{fig(max(r['held'] for r in plans), 1)} remain"
    )
    held = [
        r["held"]
        - one(name, file=r["file"], reader="spmm_dist", ranks=r["ranks"], threads=r["threads"],
              step="read")["held"]
        for r in plans
    ]
    page.says(f"plan holds {fig(min(held), 1)} to {fig(max(held), 1)}")
    page.says(f"{fig(min(scotch), 0)} bytes an entry for the band, {fig(max(scotch), 0)} for")
    entries = log(name, r"read.py, (\d+) entries")[0]
    page.says(f"{fig(int(entries) / 1e6, 0)} million entries of Matrix Market")
    held = select("trials/device_bytes.tsv")
    large = [r for r in held if r["entries"] > 80000]
    ratio = sorted(r["plan_over_format"] for r in large)
    page.says(f"{fig(ratio[0])} to {fig(ratio[-2])} times the bytes")
    page.says(f"{fig(ratio[-1])} once")
    page.says(f"{fig(len({r['matrix'] for r in large}), 0)} matrices of more than 80,000 entries")
    small = max(r["plan_over_format"] for r in held if r["entries"] <= 80000)
    page.says(f"fewer entries up to {fig(small)}")
    page.noted("definition", "4 bytes for each entry", "every plan takes 29 KB")


def petsc(page):
    def mean(what, ranks):
        found = select("programs/petsc.tsv", scalars="real", ranks=ranks, what=what)
        return geomean([r["ratio"] for r in found if r["N"] >= 4])

    by_a, by_t = ([mean(w, r) for r in (1, 2, 4)] for w in ("MatMatMult", "MatTransposeMatMult"))
    page.says(f"by A {fig(by_a[0])} times less in the mean on one rank, {fig(by_a[1])} on two and "
              f"{fig(by_a[2])} on four of two cores")
    page.says(f"by its transpose {fig(by_t[0])}, {fig(by_t[1])} and {fig(by_t[2])}")
    found = [r["ratio"] for r in select("programs/petsc.tsv", scalars="real", what="MatMatMult")
             if r["N"] >= 4]
    page.says(f"{'none' if min(found) >= 1 else 'some'} of the {fig(len(found), 0)} products by A")

    def after(matrix, ranks, what):
        found = select("programs/petsc_column.tsv", build="after", ranks=ranks, what=what)
        return sorted(r["ratio"] for r in found if r["matrix"].startswith(matrix))[1]

    few, many = ([fig(after(points, ranks, "MatMult")) for ranks in (1, 4)]
                 for points in ("7", "27"))
    page.says(f"{few[0]} times less on one rank and {few[1]} on four with 7 points a row")
    page.says(f"{many[0]} and {many[1]} with 27")
    slow = sorted(after(points, 4, "KSPMatSolve") for points in ("7", "27"))
    page.says(f"with more work beside {fig(slow[0])} and {fig(slow[1])}")
    later = select("programs/petsc_column.tsv", build="later", what="KSPMatSolve")
    least = [r["aij_ms"] / r["spmmdist_ms"] for r in later]
    page.says(f"least times of six runs are {fig(min(least))} to {fig(max(least))} times less")
    pairs = [r["ratio"] for r in later]
    page.says(f"medians of pairs {fig(min(pairs))} to {fig(max(pairs))}")
    solves = [r["ratio"] for r in select("programs/petsc.tsv", scalars="real", what="KSPMatSolve")]
    page.says(f"from {fig(max(solves))} times less to {fig(1 / min(solves))} times as long")


def attention(page):
    name = "engines/attention_dense.tsv"
    for n in (4096, 8192):
        dense = select(name, mask=f"dense, {n} rows")
        parts = one(name, mask=f"dense, {n} rows", kernel="cuBLAS + softmax")
        best = min(r["forward_us"] for r in dense)
        for s in (0.9, 0.95, 0.98):
            spec = f"pruned:rows={n},cols={n},sparsity={s},vector=8"
            row = one(name, mask=spec, kernel="windows")
            ours = row["forward_us"]
            page.row(
                f"{fig(str(n))}, {fig(100 * s, 0)} %",
                fig(ours, 0),
                fig(best, 0),
                fig(best / ours, 1),
                fig(parts["forward_us"] / ours, 1),
                fig(row["plan_MiB"], 1),
                fig(parts["plan_MiB"], 0),
            )


def sddmm_forms(page):
    name = "trials/sddmm_forms.tsv"
    for title, run, kernel, kind, form in (
        ("`dense`, a thread block for a square", 1, "dense", "16f", "a thread block for a square"),
        ("sweeps, a place for each entry, facts at addresses that all lanes share", 1, "dense",
         "16f", "sweeps, a place for each entry"),
        ("sweeps", 2, "dense", "16f", "sweeps"),
        ("`panels` in FP32, 8 lanes for a batch", 1, "panels", "32f", "8 lanes"),
        ("4 lanes", 2, "panels", "32f", "4 lanes"),
        ("4 lanes, panels half as wide", 2, "panels", "32f", "4 lanes, panels half as wide"),
    ):
        page.row(title, *(
            fig(one(name, run=run, kernel=kernel, type=kind, form=form, zeros=z, K=k)["us"], 1)
            for z, k in ((98, 64), (90, 256))
        ))

    def times(run, kind, form, plain):
        return [one(name, run=run, type=kind, form=form, zeros=98, K=k)["us"]
                / one(name, run=run, type=kind, form=plain, zeros=98, K=k)["us"]
                for k in (64, 128, 256)]

    ahead = (times(3, "32f", "4 lanes, rows of X asked for ahead", "4 lanes")
             + times(3, "16f", "batches, rows of X asked for ahead", "batches"))
    threads = [t for n in (384, 640) for t in times(2, "32f", f"4 lanes, {n} threads", "4 lanes")]
    page.noted("definition", "| 98 % zeros, K = 64 | 90 %, K = 256 |")
    page.says(f"make `panels` take {fig(min(ahead))} to")
    page.says(f"{fig(max(ahead))} of the time, 384 or 640 threads "
              f"{fig(min(threads))} to {fig(max(threads))}")
    turns = [one(name, run=4, form="sweeps, four warps multiply in turn", K=k)["us"]
             / one(name, run=4, form="sweeps", K=k)["us"] for k in (64, 128)]
    page.says(f"take {fig(min(turns))} to {fig(max(turns))} of the time at K = 64 and 128")
    page.noted("definition", "than K = 256 leaves")


def sddmm_half(page):
    name = "trials/sddmm_half.tsv"
    for form in ("lists read for every line", "lists read once",
                 "whole rows in shared memory, 16 warps", "whole rows in shared memory, 24 warps"):
        cells = []
        for mask, k in ((8192, 64), (8192, 256), (4096, 64), (4096, 128)):
            found = [r for r in select(name, form=form) if r["mask"] == mask and r["K"] == k]
            cells.append(fig(found[0]["us"], 1) if found else "-")
        page.row(form, *cells)
    page.noted("definition", "FP16 at 98 % zeros, us",
               "| form | 8192 x 8192, K = 64 | K = 256 | 4096 x 4096, K = 64 |")

    def times(form):
        return [r["us"] / one(name, form="tiles", mask=r["mask"], K=r["K"])["us"]
                for r in select(name, form=form)]

    lines, places = times("next line asked for ahead"), times("places asked for ahead")
    page.says(f"asked for a line ahead make it {fig(min(lines))} to {fig(max(lines))} of the time",
              f"products {fig(min(places))} to {fig(max(places))}.")


def sddmm(page):
    page.noted("trial", "8.3 to 9.5 TB/s in FP32")
    l1 = code("src/engine/sddmm/choose.c", r"L1_BYTES += (\d+) << 10")
    page.says(f"rows of Y fit L1 ({fig(l1, 0)} KiB)")
    half, full = (
        code("src/engine/sddmm/choose.c", rf"worth_it = half \? {p}")
        for p in (r"([\d.]+)", r"[\d.]+ : ([\d.]+)")
    )
    page.says(f"fewer than {fig(half, 1)} of the bytes of `csr` ({fig(full, 1)} in FP32)")
    page.noted(
        "definition", "of the 8 products of a row of Y", "by 1.5 and more"
    )
    for n, kind, zeros in ((8192, "32f", 0.9), (8192, "32f", 0.98), (4096, "32f", 0.9),
                           (4096, "32f", 0.98), (8192, "16f", 0.98), (4096, "16f", 0.98)):
        spec = f"pruned:rows={n},cols={n},sparsity={zeros},vector=1"
        page.row(f"FP{kind[:2]}", f"{fig(str(n))} x {fig(str(n))}", f"{fig(100 * zeros, 0)} %",
                 *(fig(one("sddmm.tsv", matrix=spec, type=kind, K=k)["ratio"])
                   for k in (64, 128, 256)))
    for r in rows("trials/sddmm_counters.tsv"):
        kind = "FP32" if r["type"] == "32f" else "FP16"
        page.row(f"`{r['kernel']}`, {kind}", ", ".join(fig(str(int(r[at]))) for at in ("N", "K")),
                 fig(r["kernel_us"], 1), *(fig(r[unit], 0) for unit in ("issue", "data", "l2")))
    page.noted("trial", "19 us would be 1.5 times", "takes 3.7 to 3.9 us")
    page.noted("definition", "| single entries of | mask | zeros | K = 64 | K = 128 | K = 256 |",
               "entries with 98 % zeros. There", "masks of 8192 x 8192. Times over",
               "at 98 % zeros, by counters", "At K = 64 they wait",
               "4096 x 4096 with 98 % zeros are a quarter of the work of 8192 x 8192")
    sddmm_forms(page)
    sddmm_half(page)
    name = "engines/sddmm_dense.tsv"
    for v in (1, 2, 4, 8, 16):
        for zeros in (0.9, 0.98):
            spec = f"pruned:rows=8192,cols=8192,sparsity={zeros},vector={v}"
            best = [
                min(select(name, mask=spec, K=k), key=lambda r: r["us"]) for k in (64, 128, 256)
            ]
            page.row(
                f"{fig(str(v))}, {fig(100 * zeros, 0)} %",
                *(
                    f"{fig(r['cusparse_us'] / r['us'])}, {fig(r['masked_us'] / r['us'])}"
                    for r in best
                ),
            )


BETWEEN_NODES = (
    ("rmat scale 13, degree 16", "rmat:scale=13,degree=16"),
    ("musae_git", "musae_git"),
    ("mult_dcop_01 (hubs)", "mult_dcop_01"),
    ("pubmed", "pubmed"),
    ("delaunay_n16", "delaunay_n16"),
    ("luxembourg_osm", "luxembourg_osm"),
)


def to_flat(matrix, cover, levels):
    """Rows and time of an exchange to those of a flat one of rows of B."""
    flat = one("levels.tsv", rate="10mbit", matrix=matrix, cover="rows", levels="flat")
    way = one("levels.tsv", rate="10mbit", matrix=matrix, cover=cover, levels=levels)
    return [fig(way[name] / flat[name]) for name in ("rows_between", "exchange_ms")]


def levels(page):
    for title, matrix in BETWEEN_NODES:
        page.row(title, *to_flat(matrix, "rows", "node"))
    gain = code("src/plan/exchange.c", r"clear_gain = ([\d.]+);")
    page.says(f"less than {fig(gain, 1)} of a flat exchange")
    page.noted("definition", "that send and get 10 Mb/s each")


def cover(page):
    gain = code("src/plan/cover/choose.c", r"clear_gain = ([\d.]+);")
    page.says(f"takes covers below {fig(gain, 2)}.")
    found = {v: {r["matrix"]: r["total_ms"] for r in select("trials/cover_gpus.tsv", variant=v)}
             for v in ("auto", "cover=both")}
    rates = sorted(found["auto"][m] / found["cover=both"][m] for m in found["auto"])
    page.says(f"took {fig(rates[0])} to {fig(rates[2])} of the rate with rows of B alone, "
              f"ASIC_680k-like {fig(rates[3])} times it")
    page.noted("definition", "(../../bench/results/trials/cover_gpus.tsv), N = 128")
    for title, matrix in BETWEEN_NODES:
        page.row(title, *(" / ".join(to_flat(matrix, "both", way)) for way in ("flat", "node")),
                 one("levels.tsv", rate="10mbit", matrix=matrix, cover="both",
                     levels="node")["auto"])


def plan_times(cover_page, partition_page):
    """What covers and nodes first take when a plan is made."""
    least, median = ([row[by] for row in select("patterns/cover_time.tsv")]
                     for by in ("to_halo", "median"))
    cover_page.says(f"took {fig(min(least), 2)} to {fig(max(least), 2)} of what the blocks")
    cover_page.says(f"and {fig(min(median), 2)} to {fig(max(median), 2)} by their medians")
    to_flat = [row["to_flat"] for row in select("patterns/nodes_first.tsv")]
    partition_page.says(f"took {fig(min(to_flat), 2)} to {fig(max(to_flat), 2)} of the CPU time "
                        f"of one of all ranks, in the geometric mean {fig(geomean(to_flat), 2)}")
    partition_page.noted("definition", "for 64 ranks, 8 a node,")


def definitions(pages):
    """Documents that define rather than measure: bounds, sizes, defaults and codes."""
    for path, *passages in (
        (DIST + "build.md", "from 2.28 also"),
        (DIST + "cluster.md", "the default of 2.28", "give up after 25 s", "beyond 64 KiB",
         "up to 4 MiB unasked"),
        (
            DIST + "troubleshooting.md",
            "Ubuntu 24.04",
            "where rank 0 calls",
            "files of up to 4 MiB",
            "and 5 s. They",
        ),
        (DIST + "partition.md", "7.0.3 by itself crashed"),
        ("docs/explanation/levels.md", "SHIRO (arXiv 2512.20178)"),
        (
            REFERENCE + "files.md",
            "| 1 | rank 0 |",
            "of more than 4 MiB 64 evenly spaced blocks " "of 64 KiB",
        ),
        (
            REFERENCE + "formats.md",
            "| 0 | `uint8_t` [5] |",
            "| 8 | `uint8_t` [4 S] |",
            "| 16 | `uint64_t` [4 S] |",
            "| columns kept | 0, 1 | 1, 2 | 2, 3 |",
        ),
        (REFERENCE + "glossary.md", "low below 12.5 %, high from 25 %"),
    ):
        pages[path].noted("definition", *passages)
    generators = pages[REFERENCE + "generators.md"]
    generators.noted_table("definition", "| kind | key | range |", 11)
    generators.noted_table("definition", "| example | rows | entries |", 16)
    pages[REFERENCE + "spmm_dist.md"].noted_table("definition", "| exit code |", 5)


def quote(pages):
    partition(pages[DIST + "partition.md"])
    reliability(pages["docs/explanation/reliability.md"])
    sddmm(pages["docs/explanation/sddmm.md"])
    attention(pages["docs/explanation/attention.md"])
    levels(pages["docs/explanation/levels.md"])
    cover(pages["docs/explanation/cover.md"])
    plan_times(pages["docs/explanation/cover.md"], pages[DIST + "partition.md"])
    files(pages[REFERENCE + "files.md"])
    petsc(pages[DIST + "petsc.md"])
    definitions(pages)
