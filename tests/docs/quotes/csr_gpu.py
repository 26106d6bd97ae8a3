# SPDX-License-Identifier: Apache-2.0
"""Figures of docs/explanation/engines/csr_gpu.md: pieces, stores and where time goes."""

import math

from figures import fig
from results import code, geomean, one, rows, select, values

PAGE = "docs/explanation/engines/csr_gpu.md"
TRIED = "docs/explanation/engines/tried.md"
ENDS = {"64f": 2, "32f": 4, "16f": 8}  # elements of 16 bytes
FOLDER = "trials/csr_gpu/"


def short_pieces(page):
    work = "src/engine/csr_gpu/work.c"

    def constant(name):
        return float(code(work, rf"\b{name} = ([0-9.e]+)"))

    large = [r for r in select(FOLDER + "short_pieces.tsv", type="32f", N=512)
             if r["mb"] > constant("all_bytes") / 1e6]
    gain = values(large, "us_30", over="us_15")
    page.says(f"rows of B in use have more than {fig(constant('all_bytes') / 1e6, 0)} MB",
              f"slice has {fig(constant('beside'), 1)} thread blocks of a multiprocessor or more",
              f"at N = 512 in FP32 {fig(geomean(gain))} times as fast as with "
              f"{fig(float(code(work, r'SEVERAL += ([0-9]+)')), 0)} for all four slices, geometric "
              f"mean of {fig(len(gain), 0)} matrices, least {fig(min(gain))} (memplus",
              f"then have {fig(float(code(work, r'LEAST_FEW = ([0-9]+)')), 0)} entries at least",
              f"those of a slice have more than {fig(constant('slice_bytes') / 1e6, 0)} MB")

    def of_two(n, number):
        found = [one(FOLDER + "short_pieces.tsv", type="32f", N=n, matrix=m)
                 for m in ("DD", "REDDIT-BINARY")]
        return " and ".join(fig(gain) for gain in values(found, f"us_{number}", over="us_15"))

    page.says(f"there are {fig(constant('beyond'), 0)} thread blocks for each slice, "
              f"{of_two(32, 30)} times as fast on DD and REDDIT-BINARY at N = 32",
              f"and {fig(constant('beyond_wide'), 0)} where the slice has 512 bytes, "
              f"{of_two(128, 45)} times at N = 128")


def stores(page):
    def speed_ups(kind, least, most):
        found = [r for r in select(FOLDER + "stores.tsv", type=kind) if least < r["mb"] <= most]
        return values(found, "plain", over="streaming")

    page.noted("definition", "have more than 60 MB it is")
    bytes_all = float(code("kernels/operands.h", r"SPMM_STAYS ([0-9e]+)")) / 1e6
    few = [speed_ups(kind, 0, bytes_all) for kind in ("32f", "64f")]
    many = [geomean(speed_ups(kind, 60, math.inf)) for kind in ("32f", "64f")]
    page.says(f"C have at most {fig(bytes_all, 0)} MB together",
              f"which is {fig(geomean(few[0]))} times as fast in FP32 and {fig(geomean(few[1]))} "
              f"times in FP64, geometric means, least {fig(min(few[0]))} both",
              f"60 MB it is {fig(many[0])} and {fig(many[1])} times as fast")


def tiles(page):
    def over(kind, number):
        found = [geomean(values(select(FOLDER + "tiles.tsv", type=kind, N=n), "rows_128",
                                over=f"rows_{number}")) for n in (8, 32, 128)]
        return ", ".join(fig(x) for x in found[:2]) + f" and {fig(found[2])}"

    work, args = "src/engine/csr_gpu/work.c", "src/engine/csr_gpu/args.h"
    rows_most = float(code(args, r"SPMM_CSR_TILE += ([0-9]+)"))
    soc = one(FOLDER + "tiles.tsv", type="64f", N=8, matrix="soc-Epinions1")
    page.says(f"takes up to {fig(rows_most, 0)} consecutive rows, {fig(rows_most / 2, 0)} where "
              f"their sums exceed {fig(float(code(args, r'SPMM_CSR_TILE_BYTES = ([0-9]+)')), 0)} "
              "bytes",
              f"64 rows take {over('32f', 64)} of the time of 128 in FP32, {over('64f', 64)} in "
              f"FP64, 32 rows {over('32f', 32)}, {over('64f', 32)}",
              f"{fig(rows_most / 4, 0)} where sums of 8 bytes exceed 256",
              f"N = 8 in FP64 in {fig(soc['rows_128'], 1)} us instead of {fig(soc['before'], 1)}",
              f"rows have more than {fig(float(code(work, r'LONG_MEAN = ([0-9]+)')), 0)} entries "
              "in the mean")
    wide = {kind: values(select(FOLDER + "tiles_rows.tsv", type=kind), "rows_64", over="rows_32")
            for kind in ("64f", "32f")}
    assert {len(x) for x in wide.values()} == {40}
    page.says(f"take {fig(geomean(wide['64f']))} of the time of 64 rows by 256 in FP64, "
              f"{fig(max(wide['64f']))} at most",
              f"a run of 128 bytes of a column, {fig(geomean(wide['32f']))}, "
              f"{fig(max(wide['32f']))} at most")
    page.noted("definition", "On 40 real matrices at N = 128, 32 rows by 512 bytes of columns")


def stores_tc(page):
    found = select(FOLDER + "stores_tc.tsv")
    beside = {}
    for r in found:
        beside.setdefault(r["engine"] == "hrpb", []).append(r["mean"] / r["cusparse"])
    page.says(f"`cvse`, {fig(min(beside[False]))} to {fig(max(beside[False]))} times as fast",
              f"in `hrpb`, {fig(min(beside[True]))} to {fig(max(beside[True]))} times, where")


def old_new(page):
    def cell(kind, n):
        gain, other = (values(select(FOLDER + "old_new.tsv", type=kind, N=n, engine=e), "new",
                              over="old") for e in ("csr-gpu", "cusparse"))
        return f"{fig(geomean(gain))}, {fig(min(gain))}; {fig(geomean(other))}"

    for kind, title in (("32f", "FP32"), ("tf32", "FP32 again, as for TF32"), ("64f", "FP64"),
                        ("16f", "FP16")):
        page.row(title, *("-" if (kind, n) == ("64f", 512) else cell(kind, n)
                          for n in (32, 128, 512)))


def stamps(page):
    found = select(FOLDER + "stamps.tsv", N=32)
    points = ("piece", "row_before", "first_tile", "first_rows_of_B", "entries", "end")

    def median(numbers):
        return sorted(numbers)[len(numbers) // 2]

    at = {p: median([r[p] for r in found]) / 1980.0 for p in points}
    page.says(f"medians of {fig(len(found), 0)} real matrices in FP32",
              f"{fig(median([r['us'] - r['span'] / 1e3 for r in found]), 1)} us pass outside of the"
              " kernel",
              f"Inside, {fig(at['piece'], 1)} us go by until the piece is there, "
              f"{fig(at['first_tile'] - at['piece'], 1)} us more until the first entries are, "
              f"{fig(at['first_rows_of_B'] - at['first_tile'], 1)} us until their rows of B are, "
              f"{fig(at['entries'] - at['first_rows_of_B'], 1)} us for all further entries, and "
              f"{fig(at['end'] - at['entries'], 1)} us from the last entry on")
    page.noted("trial", "as an empty one takes 4.45")
    page.noted("definition", "at 1.98 GHz")


def account(page):
    """What moving bytes alone would take, in us behind a launch."""
    once, fetched = [], []
    for n in (32, 128, 512):
        ratios = []
        found = select("single_gpu_32f.default.tsv", N=n)
        for r in found:
            mb = (8 * r["nnz"] + 4 * n * (r["rows"] + r["cols"])) / 1e6
            moved = mb / (5.5 if mb < 50 else 2.9)
            each = (8 * r["nnz"] + 4 * n * (r["nnz"] + r["rows"])) / 7e6
            cusparse = 1e3 * r["median_ms"] * r["ratio_to_cusparse"]
            ratios.append((cusparse / (4.4 + moved), cusparse / (4.4 + max(moved, each))))
        once.append(fig(geomean([a for a, _ in ratios]), 1))
        fetched.append(fig(geomean([b for _, b in ratios])))
    page.says(f"default options on {fig(len(found), 0)} real matrices",
              f"could be {once[0]}, {once[1]} and {once[2]} in FP32 at N = 32, 128 and 512",
              f"it is {fetched[0]}, {fetched[1]} and {fetched[2]}")
    page.noted("definition", "L2 at 5.5 TB/s", "beyond 50 MB from memory at 2.9",
               "behind those 4.4 us", "L2 at 7 TB/s")


def variants(page):
    def speed_ups(kind, way):
        widths = (32, 128, 512) if kind == "32f" else (32, 128)
        return [fig(geomean(values([r for r in select(FOLDER + "variants.tsv", type=kind, N=n)
                                    if r[way]], way, over="us"))) for n in widths]

    more, two, wide = (speed_ups("32f", "more_blocks"), speed_ups("32f", "two_rows"),
                       speed_ups("64f", "more_blocks"))
    page.says(f"instead of five is {more[0]}, {more[1]} and {more[2]} times as fast in FP32",
              f"and eight thread blocks {two[0]}, {two[1]} and {two[2]} times",
              f"with five instead of four {wide[0]} and {wide[1]} times")
    page.noted("definition", "One wave of 256 threads with")


def packed(page):
    over, counts, gains, larger = [], [], {}, 0
    for n in (32, 128, 512):
        found = select(FOLDER + "packed.tsv", N=n)
        over.append(fig(geomean(values(found, "us_packed", over="us"))))
        counts.append(fig(len(found), 0))
        gains[n] = values(found, "us_packed", over="us_plan")
        larger += sum(r["check"] == "larger" for r in found)
    plans = {n: fig(geomean([max(1.0, g) for g in gains[n]])) for n in gains}
    page.says(f"together are {over[0]}, {over[1]} and {over[2]} times as fast as",
              f"geometric means of {counts[0]}, {counts[1]} and {counts[2]} real matrices",
              f"would make TF32 {plans[128]} times as fast at N = 128 and {plans[512]} times at "
              "512",
              f"where {fig(sum(g > 1.05 for g in gains[512]), 0)} matrices gain more than 1.05",
              f"at most {fig(max(gains[512]))} (ca-AstroPh)",
              f"and {fig(larger, 0)} of the products, of matrices")
    page.noted("definition", "## TF32 in 16 bits", "fits into 16 bits exactly", "more than 2^29",
               "gain more than 1.05", "by more than 5e-3")


def bands(page):
    """Rows of B shared in registers."""
    name, sizes = FOLDER + "bands.tsv", (2, 4, 8)
    found = rows(name)
    of_32 = select(name, type="32f", N=32)
    share = [fig(geomean(values(of_32, "nnz", over=f"columns_{r}"))) for r in sizes]
    for kind, title, n in (("32f", "FP32", 32), ("32f", "FP32", 128), ("32f", "FP32", 512),
                           ("64f", "FP64", 32), ("64f", "FP64", 128)):
        gain = [values(select(name, type=kind, N=n), f"us_{r}", over="us_1") for r in sizes]
        page.row(f"{title}, N = {n}", *(f"{fig(geomean(g))}, {fig(max(g))}" for g in gain))
    ahead = [r["us_plan"] / min(r[f"us_{k}"] for k in sizes) for r in found]
    page.says(f"They fetch {share[0]}, {share[1]} and {share[2]} of the rows of B, geometric "
              f"means of {fig(len(of_32), 0)} real matrices",
              f"the fastest band is ahead in {fig(sum(a > 1 for a in ahead), 0)} of "
              f"{fig(len(found), 0)} products, by {fig(max(ahead))} at most")
    page.noted("definition", "Bands of 2, 4 or 8 neighbouring rows",
               "| rows of a band | 2 | 4 | 8 |",
               "registers for 24 warps of a multiprocessor instead of 40")


def places(page):
    """Neighbours on one multiprocessor."""
    def cell(kind, engine, n):
        gain = sorted(values([r for r in rows(FOLDER + "places.tsv") if r["N"] == n and
                              (r["type"], r["engine"]) == (kind, engine)],
                             "one_wave", over="in_order"))
        return fig(gain[len(gain) // 2]) if gain else "-"

    for engine, kind, title in (("csr-gpu", "32f", "FP32"), ("csr-gpu", "64f", "FP64"),
                                ("csr-gpu", "16f", "FP16"), ("bittcf", "32f", "TF32"),
                                ("dmma", "64f", "FP64"), ("cvse", "16f", "FP16")):
        page.row(f"`{engine}`, {title}", *(cell(kind, engine, n) for n in (32, 128, 512)))
    page.noted("definition", "by b modulo 132", "of 38 to 40 real matrices, where all")
    page.noted("trial", "Only 46 % of the")


def edges(page):
    """What is left of an access where N ends within it: pieces, more registers, what they cost."""
    forms = {(r["type"], r["matrix"], r["N"]): r for r in rows(FOLDER + "edges_forms.tsv")}

    def over(form, base, kind, widths):
        found = [r[form] / r[base] for (k, _, n), r in forms.items() if k == kind and n in widths]
        return f"{fig(min(found))} to {fig(max(found))}"

    wide, ends = (31, 63, 127), (7, 15, 31, 63, 127)
    far = forms["16f", "soc-Epinions1", 127]
    whole = forms["16f", "soc-Epinions1", 128]["pieces"]
    page.says(f"FP16, N = 7 to 127, {over('pieces', 'singles', '16f', ends)} of singles",
              f"{over('pieces', 'singles', '32f', ends)} of singles there",
              f"with more registers {over('roomy', 'pieces', '32f', wide)} of pieces at N = 31, 63 "
              f"and 127, and {over('roomy', 'pieces', '32f', (7, 15))} at 7 and 15",
              f"in FP16 {fig(far['pieces'], 0)} us, {fig(whole, 0)} with 128: "
              f"{fig(far['pieces'] - far['unstored'], 0)} are the stores, "
              f"{fig(far['pieces'] - far['unguarded'], 0)} the question")


def edges_last(page):
    """The last row of B behind the others; fewer warps at even widths."""
    def over(form, kind, padding):
        return values([r for r in rows(FOLDER + "edges_last.tsv") if (r["form"], r["type"],
                       r["rows"]) == (form, kind, padding) and r["N"] % ENDS[kind]],
                      "before", over="us")

    single, half = over("put_off", "32f", "padded"), over("put_off", "16f", "padded")
    few = over("fewer_warps", "32f", "padded")
    free = over("fewer_warps", "32f", "tight")
    page.says(f"{fig(geomean(single))} of the time in FP32, {fig(min(single))} at least",
              f"{fig(geomean(half))} in FP16, {fig(min(half))} at least",
              f"{fig(geomean(few))} of the time where rows are padded to 16 bytes, but "
              f"{fig(geomean(free))} where nobody pads, at most {fig(max(free))}")
    page.noted("definition", "30 waits less", "six matrices, N = 9 to 128",
               "even N from 18 to 62", "Registers of 32 warps, and pieces for these",
               "read by 8 bytes, with registers of 40 warps", "with pieces for 40 warps")


def edges_marked(page):
    """Marked pieces and blocks; the forms of kernels that were tried beside them."""
    def over(engine, kind, padding, form="us"):
        return values([r for r in rows(FOLDER + "edges_marked.tsv") if (r["engine"], r["type"],
                       r["rows"]) == (engine, kind, padding) and r["N"] % ENDS[kind]],
                      "before", over=form)

    single, tight = over("csr-gpu", "32f", "padded"), over("csr-gpu", "32f", "tight")
    mean = {key: fig(geomean(over(*key, "padded"))) for key in (
        ("csr-gpu", "16f"), ("csr-gpu", "64f"), ("bittcf", "32f"), ("dmma", "64f"))}
    page.says(f"padded {fig(geomean(single))} of the time in FP32, {fig(min(single))} at least, "
              f"{mean['csr-gpu', '16f']} in FP16, {mean['csr-gpu', '64f']} in FP64; tight and even "
              f"in FP32 {fig(geomean(tight))}, {fig(max(tight))} at most, "
              f"{fig(geomean(over('csr-gpu', '32f', 'tight', 'four')))} without the eight rows",
              f"of a window alone: {mean['bittcf', '32f']} and {mean['dmma', '64f']}")
    forms = {(r["type"], r["matrix"], r["N"]): r for r in rows(FOLDER + "edges_forms_marked.tsv")}
    wide = [(m, n) for kind, m, n in forms if kind == "32f" and n in (31, 63, 127)]
    half = [r["fixed"] / r["before"] for (kind, _, n), r in forms.items()
            if kind == "16f" and n % ENDS["16f"]]

    def next_of(form):
        return fig(geomean([forms["32f", m, n][form] / forms["32f", m, n + 1][form]
                            for m, n in wide]))

    page.says(f"{next_of('fixed')} with registers of 32 warps and a loop of its own, "
              f"{next_of('fixed_40')} with those of 40, {next_of('singles_40')} where what is left "
              f"goes one by one as well; were all accesses whole, {next_of('bound')}",
              f"FP16 takes {fig(geomean(half))} times as long as before, without it "
              f"{mean['csr-gpu', '16f']}")
    page.noted("definition", "registers of 32 warps from 17 columns on", "more warps, or fewer",
               "N = 31, 63 and 127 in FP32 over the next multiple of 8")


def quote(pages):
    variants(pages[TRIED])
    packed(pages[TRIED])
    bands(pages[TRIED])
    places(pages[TRIED])
    for part in (short_pieces, stores, tiles, stores_tc, old_new, stamps, account, edges,
                 edges_last, edges_marked):
        part(pages[PAGE])
