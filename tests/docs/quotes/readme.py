# SPDX-License-Identifier: Apache-2.0
"""Figures of README.md: plans with default options."""

from figures import fig
from results import crossing, geomean, one, rows, select, speedups, values

MODES = (("FP32 as TF32", "32f-fast-tf32"), ("FP32", "32f"), ("FP64", "64f"), ("FP16", "16f"))
SCALED = (
    ("stencil27, 8 M rows", "stencil27:nx=200,ny=200,nz=200"),
    ("Emilia_923-like, 40 M entries", "syn-Emilia_923"),
    ("roadNet-CA-like, 5.5 M entries", "syn-roadNet-CA"),
    ("rmat:scale=22,degree=16, 67 M entries", "rmat:scale=22,degree=16"),
    ("shipsec1-like, 7.8 M entries", "syn-shipsec1"),
)


def ratios(mode, n):
    """The speed-ups of default plans, the least first; none where the width was not measured."""
    found = [r for r in rows(f"single_gpu_{mode}.default.tsv") if r["N"] == n]
    assert all(r["passed"] == "yes" and r["engine"] == "auto" for r in found)
    return sorted(values(found, "ratio_to_cusparse"))


def quote(pages):
    page = pages["README.md"]
    means, count = {}, 0
    for title, mode in MODES:
        cells = [title]
        for n in (32, 128, 512):
            found = ratios(mode, n)
            count = max(count, len(found))
            assert len(found) in (0, count) or mode == "16f" and len(found) in (37, 38)
            cells += [fig(geomean(found)), fig(found[0])] if found else ["-", "-"]
            if found:
                means.setdefault(mode[:2], []).append(geomean(found))
        page.row(*cells)
    full = means["32"] + means["64"]
    wide = [one("scaling_32f.tsv", set="strong", matrix=name, ranks=4) for _, name in SCALED]
    most, least = (f(r["to_allgather"] for r in wide) for f in (max, min))
    page.says(
        f"is {fig(min(full), 1)} to {fig(max(full), 1)} times as fast as the fastest cuSPARSE "
        f"algorithm in FP32 and FP64 and {fig(min(means['16']), 1)} to {fig(max(means['16']), 1)} "
        f"times in FP16, on four H100 {fig(least, 1)} to {fig(most, 0)} times as fast as NCCL",
        f"and {fig(len(ratios('16f', 32)), 0)} matrices whose values fit",
        f"the {fig(count, 0)} real matrices with at least 80,000 entries",
    )
    for (title, name), row in zip(SCALED, wide):
        nnz = select("dist_32f.tsv", set="strong", matrix=name, ranks=1)[0]["nnz"] / 1e6
        short = title.rsplit(" M ", 1)[0].rsplit(" ", 1)[0]
        what = (
            f"{short} {fig(nnz, 1 if nnz < 10 else 0)} M entries" if "entries" in title else title
        )
        page.row(
            what,
            fig(row["T1_ms"], 3),
            fig(row["TP_ms"], 3),
            fig(row["efficiency"]),
            fig(row["to_allgather"], 1),
            fig(row["to_needed"], 1),
        )
    lines = rows("engines/pruned.tsv")
    curves = speedups(lines, "dense_us")
    for v, title in ((8, "8 rows"), (4, "4 rows"), (2, "2 rows"), (1, "single entries")):
        page.row(title, *(fig(crossing(curves[v, n]), 0) for n in (128, 256, 512)))
    page.says(f"{fig(min(r['zeros'] for r in lines), 0)} to\n"
              f"{fig(max(r['zeros'] for r in lines), 0)} %")
    page.noted("definition", "ResNet-50")
    page.noted("definition", "compute capability 8.0", "Version 0.1.0", "capability 9.0")
