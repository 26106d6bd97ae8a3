# SPDX-License-Identifier: Apache-2.0
"""Figures of docs/explanation/choices.md, reordering.md and of the guides to tune and partition."""

from figures import fig
from results import code, geomean, one, rows, select, values

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


def summary(ratios):
    return f"{fig(geomean(ratios))}, {fig(min(ratios))}, {fig(sum(r < 0.98 for r in ratios), 0)}"


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
        f"within the factor of {fig(code(TUNING + '.c', r' worth = ([0-9.]+)'), 1)}, whatever",
        "`cusparse`, within a factor of "
        f"{fig(code(TUNING + '.c', r'yardstick_worth = ([0-9.]+)'), 0)}",
        f"wherever {fig(code(RIVALS + '.c', r'FEW = ([0-9]+)'), 0)} products or more",
        f"behind by less than {fig(code(TUNING + '.h', r'VARIANTS_GAIN ([0-9.]+)'), 1)}",
        f"variants within {fig(code(TUNING + '.h', r'VARIANTS_GAIN ([0-9.]+)'), 1)} may take",
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
    page.noted("log", "on CPUs the bookkeeping takes 0.1 us (`bench_tries`)")
    page.noted_table("trial", "| tried | outcome |", 27)
    # bench/fit/fit.py from engines/lot.tsv, engines/tf32.tsv, 32f.tsv, 64f.tsv, single_gpu_more.tsv
    page.noted_table("log", "| engine | times | without the terms |", 28)
    page.noted_table("log", "| mode | choices | without | worst |", 25)
    page.noted("log", "with classes left out lose 7.0 % in FP32 and 1.2 % in FP64")
    drawn = {r["matrix"] for r in rows("engines/lot.tsv")}
    page.says(f"{fig(len(drawn), 0)} matrices on one H200;")
    page.noted("trial", "bring more than 1.19")


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
        "With the default of 1000 products",
        "0.16 us of host time per entry",
        "2 % fewer pairs",
        "measured 2 % faster",
        "predicted to gain 5 %",
    )


def stretches(page):
    """Short stretches of affinity, where they are taken and where not."""
    source = "partition/reorder/affinity.c"
    near = float(code(source, r"near_spread = ([\d.]+)"))
    more = {}
    for r in rows("patterns/stretches.tsv"):
        more.setdefault(r["spread"] <= near, []).append(r["pairs8_short"] / r["pairs8_long"])
    page.says(
        f"stretches of up to {fig(code(source, r'LONG +  *= ([0-9]+)'), 0)} consecutive rows",
        f"{fig(code(source, r'SHORT = ([0-9]+)'), 0)} at least, if those have at most "
        f"{fig(near, 1)} times as many columns",
        f"On {fig(len(more[True]), 0)} real matrices that leaves {fig(geomean(more[True]))} times "
        f"the pairs at height 8, {fig(max(more[True]))} at most; on {fig(len(more[False]), 0)} "
        "others",
        f"it would leave {fig(geomean(more[False]))} times, up to {fig(max(more[False]))}",
    )


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
    reordering(pages["docs/explanation/reordering.md"])
    guides(pages)
