# SPDX-License-Identifier: Apache-2.0
"""Figures of docs/explanation/choices.md, reordering.md and of the guides to tune and partition."""

import statistics

from figures import fig
from results import code, gap, geomean, one, rows, select, values

TUNE = "src/engine/choose/autotune.c"
ROOF = "src/engine/choose/roofline.c"
BCSR = "src/engine/bcsr/variant.c"
TRIAL = "src/engine/choose/trial.c"
TUNING = "src/engine/choose/tuning"
TRIES = "src/engine/choose/tries"
RIVALS = "src/engine/choose/rivals"
ORDERED = (
    ("FraudYelp-like", "syn-FraudYelp-RSR"),
    ("roadNet-CA-like", "syn-roadNet-CA"),
    ("bcsstk29", "bcsstk29"),
    ("shipsec1-like", "syn-shipsec1"),
    ("Emilia_923-like", "syn-Emilia_923"),
    ("com-amazon-like", "syn-com-amazon"),
    ("wiki_squirrel", "wiki_squirrel"),
    ("BlogCatalog-like", "syn-soc-BlogCatalog"),
)
TUNED = (("tf32", "TF32", (32, 128, 512)), ("32f", "FP32", (32, 128, 512)),
         ("64f", "FP64", (8, 32, 128)))


LEFT = (("32f-fast-tf32", "TF32"), ("32f", "FP32"), ("64f", "FP64"), ("16f", "FP16"))


def plan_times(page):
    """Whole plans beside those with cuSPARSE, and in TF32 beside an earlier build."""
    found = rows("programs/plan_times.tsv")
    both = [r for r in found if r["old_auto_ms"] is not None]
    middle = {who: fig(statistics.median(r[who] for r in both))
              for who in ("auto_ms", "old_auto_ms")}
    short = {old: fig(sum(r[old + "auto_ms"] <= r[old + "cusparse_ms"] for r in both), 0)
             for old in ("", "old_")}
    page.says(
        f"take {middle['auto_ms']} ms in the median of {fig(len(both), 0)}, and "
        f"{middle['old_auto_ms']} ms by such a build; {short['']} and {short['old_']} take no",
        f"Of {fig(sum(r['auto_ms'] > r['cusparse_ms'] for r in found), 0)} that take longer",
    )
    page.noted("definition", "load cuBLASLt, 90 ms and more each")


def left_by_choices(page):
    """What keeps default plans from being faster, by bench/fit/gap.py."""
    gaps = gap.gaps()
    for mode, title in LEFT:
        for n in (n for m, n in gaps if m == mode):
            page.row(f"{title}, N = {n}",
                     *(fig(gaps[mode, n][what]) for what in
                       ("now", "choice", "1 us", "graph", "pruned", "FEM", "all", "moved")))
    page.says(f"come to {fig(gaps['32f-fast-tf32', 32]['all'])} in TF32 and "
              f"{fig(gaps['16f', 32]['all'])} in FP16",
              f"took {fig(gap.NEAR)} times what a launch\n({fig(gap.LAUNCH_US, 1)} us)")
    page.noted("definition", "product took 1 us less", "now | fastest by name | 1 us less",
               "all at 1.35 |", "At N = 32 even all products at 1.35 times",
               "end within 12 us, of which the launch is 4.4", "L2 gives rows at 7 TB/s",
               "In FP32 at\nN = 512 it is", "From N = 128 on it")


def summary(ratios):
    return f"{fig(geomean(ratios))}, {fig(min(ratios))}, {fig(sum(r < 0.98 for r in ratios), 0)}"


PHASES = (
    ("rows, blocks and exchange", "blocks_ms"),
    ("facts of the pattern", "scan_ms"),
    ("the format chosen; for `cusparse` with times of its algorithms", "first_ms"),
    ("algorithms of cuSPARSE to try", "cusparse_ms"),
    ("formats of other engines to try", "others_ms"),
    ("the whole plan", "all_ms"),
)


def choices(page):
    fitted = rows("trials/models.tsv")
    page.says(f"by name, {fig(len({r['matrix'] for r in fitted}), 0)} real matrices on one H100")
    page.says(f"all of {fig(code(ROOF, r'none = ([0-9e]+)') / 1e6, 0)} MB, nothing of "
              f"{fig(code(ROOF, r' all = ([0-9e]+)') / 1e6, 0)} MB",
              f"takes {fig(code(BCSR, r'optimism = ([0-9.]+)'))} times what the best predicted")
    page.noted("definition", "FILE...\ndone >TERMS", "64f 8,32,128 FILE...")
    share = fig(100 * code(TUNE, r"share = ([\d.]+);"), 0)
    page.says(
        f"may take {share} % of what the products to come will",
        f"within a factor of {fig(code(TUNING + '.c', r' worth = ([0-9.]+)'), 1)}; then other",
        "within the factor of\n"
        f"{fig(code(TUNING + '.c', r' worth = ([0-9.]+)'), 1)}, whatever",
        f"up to the factor of {fig(code(TUNING + '.c', r' worth = ([0-9.]+)'), 1)}, and up to "
        f"{fig(code(TUNING + '.c', r'yardstick_worth = ([0-9.]+)'), 0)} where its model",
        f"below {fig(code(TUNING + '.c', r'FEW_COLUMNS += ([0-9]+)'), 0)} columns",
        f"Where {fig(code(RIVALS + '.c', r'FEW = ([0-9]+)'), 0)} products or more",
        f"Engines within {fig(code(TUNING + '.c', r'near = ([0-9.]+)'), 1)} may take three times",
        f"behind by less than {fig(code(TUNING + '.h', r'VARIANTS_GAIN ([0-9.]+)'), 1)}",
        f"within {fig(code(RIVALS + '.h', r'RIVALS_BYTES +([0-9.]+)') / 2**20, 0)} MiB",
        f"stands {fig(1e6 * code(TRIES + '.c', r'lead_s = ([0-9.e-]+)'), 0)} us in front of",
        f"what then takes {fig(code(TRIES + '.c', r'too_slow = ([0-9.]+)'), 1)} times the least",
        f"at most {fig(code(TRIES + '.h', r'SPMM_TRY_PRODUCTS = ([0-9]+)'), 0)} in all",
        f"To go on beyond {fig(code(TRIES + '.h', r'SPMM_TRY_PRODUCTS = ([0-9]+)'), 0)} products",
        f"after which one {fig(code(TRIAL, r'too_slow += ([0-9.]+)'), 1)} times slower",
        f"three batches of {fig(1000 * code(TRIAL, r'batch_seconds = ([0-9.e-]+)'), 1)} ms",
        f"that is {fig(code(TRIAL, r'clearly_slow += ([0-9.]+)'))} times slower ends it",
    )
    for mode, title, widths in TUNED:
        for n in widths:
            found = select("engines/tune_use.tsv", mode=mode, N=n)
            page.row(f"{title}, N = {n}", *(summary([r["cusparse_" + way] / r[way] for r in found])
                                            for way in ("before", "use")))
    page.says(f"Default plans of {fig(len(found), 0)} real matrices")
    page.noted("definition", "how many are below 0.98")
    page.says(
        f"fit into L2 ({fig(code(ROOF, r'l2_bytes += ([0-9e]+)') / 1e6, 0)} "
        "MB of a slice"
    )
    page.noted(
        "definition",
        "| launch | 1 us | all |",
        "4 pinned slots of 4 MB",
        "1.3 times as long for twice the loads of a slice",
        "some ten products",
    )
    # bench/fit/fit.py --classes prints these from trials/models.tsv.
    page.noted_table("log", "| errors with the class of each matrix left out of the fit |", 20)
    page.noted_table("log", "| mode | choices | right | geomean |", 20)
    page.noted(
        "log",
        "2.8 to 25 ns for each entry to scan and 3.6 to 12 ns to make BitTCF",
    )
    plan_times(page)
    shown = [r for r in select("programs/plan_phases.tsv", mode="32f", N=128)
             if r["matrix"] != "dlmc_tr_ffn1_mp80"]
    page.says(f"mean of {fig(len(shown) // 2, 0)} real\nmatrices")
    for title, phase in PHASES:
        mean = {e: sum(r[phase] for r in shown if r["engine"] == e) / (len(shown) // 2)
                for e in ("auto", "cusparse")}
        page.row(title, fig(mean["auto"]), fig(mean["cusparse"]) if mean["cusparse"] else "-")
    page.noted("definition", "On one H100 with 8 threads")
    # bench_predict at the cases of trials/models.tsv and, row-major, of engines/lot.tsv
    page.noted("log", "of\n926 cases", "in two, by 0.4 % at most")
    page.noted("log", "on CPUs the bookkeeping takes 0.1 us (`bench_tries`)")
    page.noted_table("trial", "| tried | outcome |", 41)
    # bench/fit/fit.py from trials/models.tsv and engines/lot.tsv
    page.noted_table("log", "| mode | choices by lot | as they were |", 21)
    near, narrow = (fig(code(TUNING + ".c", rf"{name} = ([0-9.]+)"), 1)
                    for name in ("near", "near_narrow"))
    page.says(f"the next two within {fig(code(TUNING + '.c', r' worth = ([0-9.]+)'), 1)}",
              f"five times the budget up to {narrow} of the best, not {near}, there")
    drawn = {(r["matrix"], r["N"]) for r in rows("engines/lot.tsv")}
    real = {m for m, _ in drawn if not m.startswith("syn-")}
    page.says(f"{len({n for m, n in drawn})} widths",)
    page.noted("log", "class left out: 11.0, 9.3 and 10.8 % in the median, 33, 31 and 32 % at\nthe "
               "90th percentile", "the choice lost 24 % at", "brings that to 5.2 % (87 choices)",
               "loses 6.1 % on rows that are not padded (90 choices)",
               "loses 13 % in FP32 and in\nFP64 (130 choices each), at worst 4.0")
    page.noted("trial", "with classes left out 2.0, 1.6 and 1.0 %", "but 2.1, 2.1 and 0.9 % at N",
               "3.9, 4.0 and 2.0 % at the widths")
    page.says(f"three for each of {fig(len(real), 0)} real matrices and two for each of "
              f"{fig(len({m for m, _ in drawn} - real), 0)} stand-ins")
    page.noted("trial", "bring more than 1.19",
               "of 108 plans in TF32 two more keep within that, and products take 1.011, 1.001 and "
               "1.005 times as long at N = 32, 128 and 512 (36 matrices,")


def reordering(page):
    name = "engines/tf32_100000.tsv"
    taken = [sum(r["reordering"] == "affinity" for r in select(name, N=n)) for n in (32, 128, 512)]
    page.says(
        f"for {taken[0]} of {fig(len(select(name, N=128)), 0)} matrices at N = 32, {taken[1]} at "
        f"128 and {taken[2]} at 512"
    )
    for title, matrix in ORDERED:
        even, row = (one(f, matrix=matrix, N=128) for f in ("engines/tf32.tsv", name))
        assert row["reordering"] == "affinity"
        pay = row["reorder_ms"] / (even["auto"] - row["auto"])
        page.row(
            title,
            f"`{even['chosen']}` {fig(even['auto'], 4)}",
            f"`{row['chosen']}` {fig(row['auto'], 4)}",
            fig(f"{row['reorder_ms']:.0f}"),
            fig(pay, 0),
        )
    orders = ("affinity", "rcm", "metis")
    found = {
        o: {r["matrix"]: r for r in select("patterns/orders.tsv", order=o)}
        for o in orders + ("none",)
    }
    every = set.intersection(*(set(f) for f in found.values()))
    page.says(f"geometric means over {fig(len(every), 0)} matrices")
    page.row(
        "entries per 8x8 TC block",
        *(
            fig(
                geomean(found[o][m]["mean_nnz_tc"] / found["none"][m]["mean_nnz_tc"] for m in every)
            )
            for o in orders
        ),
    )
    for height in (8, 16):
        page.row(
            f"pairs at window height {height}",
            *(fig(geomean(values([found[o][m] for m in every], f"ratio{height}"))) for o in orders),
        )
    for title, matrix in (
        ("pairs at height 8: FraudYelp-like", "syn-FraudYelp-RSR"),
        ("wiki_squirrel", "wiki_squirrel"),
        ("cant-like", "syn-cant"),
        ("web-BerkStan-like", "syn-web-BerkStan"),
    ):
        page.row(title, *(fig(found[o][matrix]["ratio8"]) for o in orders))
    means = [
        [geomean(values(select(f, N=n), "auto", over="cusparse")) for n in (32, 128, 512)]
        for f in ("engines/tf32.tsv", name)
    ]
    page.says(
        f"TF32 {' / '.join(fig(m) for m in means[0])} of cuSPARSE "
        f"({fig(len(select('engines/tf32.tsv', N=128)), 0)} matrices, rows as they are) to "
        f"{' / '.join(fig(m) for m in means[1])} ({fig(len(select(name, N=128)), 0)}, in order)"
    )
    page.noted(
        "trial",
        "over 16 real matrices 0.98; 0.75; 0.74",
        "over 46 real matrices 0.99 of the pairs at height 8, 0.89 at best",
        "over 45 matrices 1.08 times fewer by `affinity`, 1.29 by `tiles`, 1.62 with",
        "in place of hashes | 1.02 of the pairs",
        "two of their rows have, and filled anew | 0.98 of the pairs at height 8 on six graphs, "
        "and 0.97 after",
    )
    ship = {o: found[o]["syn-shipsec1"]["pairs8"] for o in orders + ("none",)}
    saved = round(ship["none"] - ship["affinity"], -4)
    ps = 512 / 8.9
    page.says(
        f"{fig(ps, 0)} ps at the {fig(8.9, 1)} TB/s of an H200, so the {fig(saved, 0)} pairs "
        f"that the order saves on shipsec1-like are {fig(saved * ps * 1e-6, 0)} us"
    )
    nnz = {r["matrix"]: r["nnz"] for r in rows("patterns/facts.tsv")}
    cost = [1e6 * r["cpu_s"] / nnz[m] for m, r in found["affinity"].items() if r["cpu_s"] >= 0.05]
    page.says(f"takes {fig(min(cost))} to {fig(max(cost), 1)} us of a core for each entry")
    stretches(page)
    order_threads(page)
    page.noted(
        "definition",
        "100,000 products to come",
        "But what `sorted` takes comes back in 1000 products",
        "N = 512, 1000 products",
        "with stretches of\n16,384 rows",
        "2 % fewer pairs",
        "measured 2 % faster",
        "predicted to gain 5 %",
    )


def stretches(page):
    """What orders affinity and sorted leave, take and bring."""
    base = "partition/reorder/affinity_base.c"
    size = {o: [fig(code(f"partition/reorder/{o}.c", rf"\.{what} = ([0-9]+)"), 0)
                for what in ("stretch", "heavy")] for o in ("affinity", "sorted")}
    page.says(
        f"stretches of {size['affinity'][0]} and of {size['sorted'][0]} consecutive rows",
        f"used in {fig(code(base, r'good_spread = ([0-9.]+)'), 1)} stretches of the",
        f"than {size['affinity'][1]} rows in a stretch, and in `sorted` more than "
        f"{size['sorted'][1]}, do",
    )
    left = {o: select("patterns/sorted.tsv", order=o) for o in ("affinity", "sorted")}
    means = {o: [fig(geomean(values(f, f"ratio{h}"))) for h in (8, 16)] for o, f in left.items()}
    page.says(
        f"Over {fig(len(left['sorted']), 0)} real matrices `affinity` leaves "
        f"{means['affinity'][0]} of the pairs at height 8 and {means['affinity'][1]} at height 16, "
        f"in the geometric mean, `sorted` {means['sorted'][0]} and {means['sorted'][1]}"
    )
    tried = "patterns/order_times.tsv"
    both = {o: [geomean(r["cusparse_ms"] / min(r["none_ms"], r[f"{o}_ms"])
                        for r in select(tried, N=n)) for n in (128, 512)]
            for o in ("none", "affinity", "sorted")}
    back = [sum(1000 * (r["none_ms"] - r["sorted_ms"]) > r["sorted_order_ms"]
                for r in select(tried, N=n)) for n in (128, 512)]
    most = ("ca-AstroPh", "wiki_squirrel", "rgg_n_2_15_s0", "fb_media")
    page.says(
        f"Orders by name on {fig(len(select(tried, N=128)), 0)} real matrices in TF32",
        f"make the fastest of both ways {fig(both['sorted'][0])} of cuSPARSE at N = 128 by "
        f"`sorted` and {fig(both['affinity'][0])} by `affinity`, instead of "
        f"{fig(both['none'][0])}, and {fig(both['sorted'][1])} and {fig(both['affinity'][1])} "
        f"instead of {fig(both['none'][1])} at N = 512",
        f"on {back[0]} of the 40 at N = 128 and on {back[1]} at N = 512",
        "leave at most "
        f"{fig(max(r['ratio8'] for r in left['sorted'] if r['matrix'] in most))} of the pairs:",
    )
    for matrix in (*most, "musae_git", "email-Enron", "soc-Epinions1"):
        row = one(tried, matrix=matrix, N=512)
        page.row(matrix, *(fig(x, 1) for o in ("sorted", "affinity")
                           for x in (1000 * (row["none_ms"] - row[f"{o}_ms"]),
                                     row[f"{o}_order_ms"])))
    each = {o: [1000 * r[f"{o}_order_ms"] / r["nnz"] for r in rows(tried)]
            for o in ("sorted", "affinity")}
    page.says(
        f"`sorted` takes {fig(min(each['sorted']))} to {fig(max(each['sorted']))} us for each "
        "entry",
        f"and `affinity` {fig(min(each['affinity']))} to {fig(max(each['affinity']))} us on those "
        f"{fig(len(select(tried, N=128)), 0)} matrices",
    )
    order, gain = "src/plan/block/order", "src/plan/block/gain"
    sample(page)
    page.says(
        f"over {fig(1e6 * code('src/plan/block/gain.c', r'entry_s += ([0-9.e-]+)'))} us for each "
        "entry",
        f"up to {fig(code(gain + '.h', r'REORDERING_MUCH ([0-9.]+)'), 0)} | `sorted`, made where a "
        f"sample of it leaves at most {fig(code(gain + '.c', r'sample_promising = ([0-9.]+)'))} of",
        f"where it leaves at most {fig(code(order + '.c', r'promising = ([0-9.]+)'), 1)} |",
    )


def sample(page):
    """A sample of order sorted beside the whole of it."""
    found = rows("patterns/sample.tsv")
    shares = [r["sample16"] / r["ratio16"] for r in found]
    ms = [1000 * r["sample_cpu_s"] for r in found]
    size = {what: fig(code("partition/reorder/sorted_sample.c", rf"{what} += ([0-9]+)"), 0)
            for what in ("STRETCH", "CHUNKS")}
    page.says(
        f"stretches of {size['STRETCH']} rows",
        f"both are {fig(min(shares))} to {fig(max(shares))} times those of the whole order in "
        f"windows of 16 rows on {fig(len(found), 0)}",
        f"for {fig(min(ms), 0)} to {fig(max(ms), 0)} ms of a core",
    )
    page.noted("definition", "**The sample**: eight stretches",
               "At N = 512\nthe cost model would have 17",
               "whose order leaves at most 0.7 of the pairs")


def order_threads(page):
    """Orders that count on threads: what default plans gain and what they pay."""
    def of(n):
        found = select("trials/order_threads.tsv", mode="32f", N=n)

        def median(side):
            column = sorted(values(found, f"break_even_{side}"))
            return fig(column[(len(column) - 1) // 2], 0)

        return {side: (fig(sum(r[f"taken_{side}"] == "affinity" for r in found), 0),
                       fig(geomean(values(found, f"ratio_{side}"))), median(side))
                for side in ("one", "shared")}

    wide, narrow = of(512), of(128)
    page.says(
        f"{wide['shared'][0]} instead of {wide['one'][0]} are ordered at N = 512 and "
        f"{narrow['shared'][0]} instead of {narrow['one'][0]} at 128, which makes {wide['one'][1]} "
        f"and {narrow['one'][1]} of cuSPARSE to {wide['shared'][1]} and {narrow['shared'][1]}",
        f"after {wide['shared'][2]} and {narrow['shared'][2]} products in the median instead of "
        f"{wide['one'][2]} and {narrow['one'][2]}",
    )
    page.noted("trial", "0.015 us and a share of 0.145 for an entry | of 40 default plans")


def guides(pages):
    share = fig(100 * code(TUNE, r"share = ([\d.]+);"), 0)
    times = code(RIVALS + ".c", r"near_budget = ([\d.]+)")
    near = fig(100 * times * code(TUNE, r"share = ([\d.]+);"), 0)
    pages["docs/explanation/how_it_works.md"].says(f"for at most {share} % of the predicted time",
                                                   f"or {near} % for engines predicted")
    most = fig(code(TRIES + ".h", r"SPMM_TRY_PRODUCTS = ([0-9]+)"), 0)
    pages["docs/how-to/tune.md"].says(
        f"may take {share} % of their predicted time, {near} % where engines are close",
        f"up to {most} run several engines",
        f"Multiply {most} times before",
    )

    cost = [
        fig(geomean([r["reproducible_ms"] / r["default_ms"] for r in found]))
        for found in (
            select("engines/reproducible.tsv", type=kind, N=n)
            for kind in ("32f", "64f")
            for n in (32, 128)
        )
    ]
    pages["docs/how-to/tune.md"].says(
        f"{cost[0]} times as long as the engine that the models choose for N = 32 in FP32",
        f"{cost[1]} times for 128, and {cost[2]} and {cost[3]} times in FP64",
    )


def quote(pages):
    choices(pages["docs/explanation/choices.md"])
    left_by_choices(pages["docs/explanation/choices.md"])
    reordering(pages["docs/explanation/reordering.md"])
    guides(pages)
