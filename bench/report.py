#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of README.md and of documents on performance, papers and SDDMM, out of bench/results.

    bench/report.py            writes them
    bench/report.py --check    says which of them differ, exit code 1

A document has them between the comments `<!-- report: NAME -->` and `<!-- end -->`."""
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "bench" / folder) for folder in ("common", "engine", "papers")]
import headlines  # noqa: E402
import published  # noqa: E402
import table  # noqa: E402
import variants  # noqa: E402
from table import geomean, stem  # noqa: E402

DOCUMENTS = ("README.md", "docs/explanation/performance.md", "docs/explanation/sddmm.md",
             "docs/reference/papers.md")
BLOCK = re.compile(r"(<!-- report: (.+?) -->\n).*?(<!-- end -->\n)", re.S)
MODES = (("FP32 as TF32", "32f-fast-tf32"), ("FP32", "32f"), ("FP64", "64f"), ("FP16", "16f"))
SCALED = (("stencil27, 8 M rows", "stencil27:nx=200,ny=200,nz=200"),
          ("Emilia_923-like", "syn-Emilia_923"), ("roadNet-CA-like", "syn-roadNet-CA"),
          ("rmat:scale=22,degree=16", "rmat:scale=22,degree=16"),
          ("shipsec1-like", "syn-shipsec1"))
CLASSES = {
    "finite elements": "bcsstk17 bcsstk25 bcsstk29 s2rmq4m1 skirt",
    "meshes": "delaunay_n16 fe_pwt finan512 luxembourg_osm rgg_n_2_15_s0 t60k",
    "graphs": ("ca-AstroPh deezer_HU email-Enron fb_media musae_git p2p-Gnutella31 pubmed "
               "soc-Epinions1 wiki_squirrel wikiquote-edits"),
    "unions of graphs": "DD PROTEINS_full REDDIT-BINARY",
    "circuits, control": "bayer10 bundle1 ckt11752_dc_1 hangGlider_3 memplus mult_dcop_01",
    "programs": "Groebner_id2003_aug lp_fit2d lp_maros_r7 sat14_6s9",
    "pruned weights": ("dlmc_rn50_fc_vd80 dlmc_tr_ffn1_mp70 dlmc_tr_ffn1_mp80 dlmc_tr_ffn1_mp90 "
                       "dlmc_tr_ffn2_vd80 dlmc_tr_sym33288_mp95")}


def rows(name, **wanted):
    """The rows of a table that have these values, at least one.  Wrong products are left out."""
    found = []
    for row in table.read(ROOT / "bench/results" / name, ())[2]:
        row["matrix"] = stem(row.get("matrix", ""))
        if row.get("passed", "yes") == "yes" and all(row.get(k) == v for k, v in wanted.items()):
            found.append(row)
    assert found, f"{name} has no row with {wanted}"
    return found


def values(found, column):
    return [row[column] for row in found if row.get(column) is not None]


def mean(found, digits=2):
    found = list(found)
    return f"{geomean(found):.{digits}f}" if found else "-"


def both(found):
    """Geometric mean and least."""
    found = list(found)
    return f"{mean(found)}, {min(found):.2f}" if found else "-"


def grid(titles, lines):
    lines = [titles, ["---"] + ["---:"] * (len(titles) - 1)] + lines
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def default_plans(mode, n):
    """The products of default plans, the slowest beside cuSPARSE first; none of a width that was
    not measured."""
    found = [r for r in rows(f"single_gpu_{mode}.default.tsv") if r["N"] == n]
    return sorted(found, key=lambda r: r["ratio_to_cusparse"])


def ratios(mode, n):
    return values(default_plans(mode, n), "ratio_to_cusparse")


def how_fast():
    means = {mode: [geomean(ratios(mode, n)) for n in (32, 128, 512) if ratios(mode, n)]
             for _, mode in MODES}
    full = means["32f-fast-tf32"] + means["32f"] + means["64f"]
    wide = [r["to_allgather"] for r in rows("scaling_32f.tsv", set="strong", ranks=4)]
    text = (f"**How fast.** A product on one NVIDIA H100 is {min(full):.1f} to {max(full):.1f} "
            "times as fast as cuSPARSE's fastest algorithm in FP32 and FP64. In FP16 it is "
            f"{min(means['16f']):.1f} to {max(means['16f']):.1f} times as fast as cuSPARSE is in "
            f"FP32. Products on four H100 are {min(wide):.1f} to {max(wide):.0f} times as fast as "
            "NCCL allgather with cuSPARSE ([measurements](#measurements)).")
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def one_gpu():
    lines = []
    for title, mode in MODES:
        cells = [title, len(ratios(mode, 32))]
        for n in (32, 128, 512):
            found = ratios(mode, n)
            cells += [mean(found), f"{found[0]:.2f}"] if found else ["-", "-"]
        lines.append(cells)
    return grid(["compute mode", "matrices", "N = 32", "least", "N = 128", "least", "N = 512",
                 "least"], lines)


def four_gpus():
    lines = []
    for title, matrix in SCALED:
        row, = rows("scaling_32f.tsv", set="strong", matrix=matrix, ranks=4)
        nnz = rows("dist_32f.tsv", set="strong", matrix=matrix, ranks=1)[0]["nnz"]
        lines.append([title, f"{nnz / 1e6:.1f}", f"{row['T1_ms']:.3f}", f"{row['TP_ms']:.3f}",
                      f"{row['efficiency']:.2f}", f"{row['to_allgather']:.1f}",
                      f"{row['to_needed']:.1f}"])
    return grid(["matrix", "M entries", "1 GPU ms", "4 GPUs ms", "efficiency", "over allgather",
                 "over needed rows"], lines)


def classes():
    titles, lines = ["class", "matrices"], []
    shown = [(title, mode, n) for title, mode in MODES for n in (32, 128, 512) if ratios(mode, n)]
    titles += [f"{title.split()[-1]}, {n}" for title, _, n in shown]
    for kind, names in CLASSES.items():
        lines.append([kind, len(names.split())] + [
            mean(r["ratio_to_cusparse"] for r in default_plans(mode, n)
                 if r["matrix"] in names.split()) for _, mode, n in shown])
    return grid(titles, lines)


def layouts():
    """Of products of default plans by type, layout and width."""
    widths, kinds = (1, 4, 8, 20, 32, 100, 128), (
        ("FP64, column-major", "64f", (8, 32, 128)), ("FP32, column-major", "32f", (8, 32, 128)),
        ("FP16, column-major", "16f", (8, 32, 128)), ("complex FP64", "64c", (8, 32, 128)),
        ("complex FP32", "32c", (8, 32, 128)), ("FP64, row-major", "64f", (1, 4, 20, 100)),
        ("FP32, row-major", "32f", (1, 4, 20, 100)))
    return grid(["what"] + [f"N = {n}" for n in widths], [
        [title, *(both(values(rows("single_gpu_more.tsv", type=kind), f"ratio_{n}"))
                  if n in has else "-" for n in widths)] for title, kind, has in kinds])


def many_products():
    """Plans told of 100,000 products, and the fastest published system on each matrix."""
    ours = {(r["matrix"], r["N"]): r["cusparse"] / r["auto"] for r in rows("tf32_100000.tsv")}
    theirs = published.Published().fastest(32)
    lines = []
    for n in (32, 128, 512):
        mine = [ratio for (_, width), ratio in ours.items() if width == n]
        pairs = [(ours[key], theirs[key]) for key in theirs if key in ours and key[1] == n]
        ahead = sum(a >= b for a, b in pairs) / len(pairs)
        lines.append([n, len(mine), mean(mine), f"{min(mine):.2f}", len(pairs),
                      mean(a for a, _ in pairs), mean(b for _, b in pairs), f"{100 * ahead:.0f} %"])
    return grid(["N", "matrices", "plans", "least", "of these published", "plans",
                 "fastest published on each", "at least as fast on"], lines)


def several_gpus():
    lines = []
    for ranks, title in ((4, "4 H100, FP32, N = 128"), (2, "2 H200, FP32, N = 128")):
        found = rows("dist_32f.tsv", set="baselines", ranks=ranks)
        lines.append([title, len(found), "-", "-", *(both(values(found, to)) for to in
                                                     ("to_allgather", "to_needed", "to_in_place"))])
    for kind, n in (("32f", 128), ("32f", 32), ("64f", 16)):
        found = rows("two_gpus.tsv", type=kind, N=n)
        lines.append([f"2 H100, FP{kind[:2]}, N = {n}", len(found),
                      both(values(found, "efficiency")),
                      mean(r["efficiency"] for r in found if r["T1_us"] >= 100),
                      *(both(r[candidate] / r["T2_us"] for r in found)
                        for candidate in ("allgather_us", "needed_us", "in_place_us"))])
    return grid(["GPUs", "products", "efficiency", "where T1 >= 100 us", "over allgather",
                 "over needed rows", "over needed rows in place"], lines)


def cpus():
    columns = [("Xeon", threads, kind, "mkl") for threads in (1, 16) for kind in ("64f", "32f")]
    columns += [("EPYC", 1, "64f", "mkl"), ("EPYC", 1, "32f", "mkl"), ("EPYC", 1, "64f", "petsc")]
    names = {"mkl": "MKL", "petsc": "PETSc", "64f": "FP64", "32f": "FP32"}
    titles = ["N"] + [f"{names[peer]}, {cpu}, {threads} threads, {names[kind]}".replace(
        "1 threads", "1 thread") for cpu, threads, kind, peer in columns]
    return grid(titles, [[n] + [
        both(r["ratio"] for r in rows("cpu.tsv", N=n, threads=threads, type=kind, peer=peer,
                                      layout="row") if cpu in r["#"])
        for cpu, threads, kind, peer in columns] for n in (1, 4, 8, 32, 128)])


def sddmm():
    groups = (("meshes and graphs", lambda r: not r["matrix"].startswith("pruned")),
              ("pruned, V = 8 and 16", lambda r: re.search("vector=(8|16)", r["matrix"])),
              ("pruned, V = 1", lambda r: r["matrix"].endswith("vector=1")),
              ("all", lambda r: True))
    columns = [(kind, k) for kind in ("32f", "16f") for k in (64, 128, 256)]
    lines = [[title] + [both(r["ratio"] for r in rows("sddmm.tsv", type=kind, K=k) if group(r))
                        for kind, k in columns] for title, group in groups]
    return grid(["masks"] + [f"FP{kind[:2]}, K = {k}" for kind, k in columns], lines)


def counted():
    facts = rows("facts.tsv")

    def bytes_over(column, of="bittcf_bytes"):
        return mean(r[column] / r[of] for r in facts)
    half = [{**r, "me_tcf_16": r["me_tcf_bytes"] + 2 * r["nnz"]} for r in facts]
    cvse = [mean(r[f"cvse{v}_bytes"] / r["me_tcf_16"] for r in half) for v in (8, 16)]
    kinds = [sum(r["class"] == kind for r in facts) for kind in ("low", "medium", "high")]
    return grid([f"of {len(facts)} matrices", ""], [
        ["bytes of ME-TCF, TCF and CSR over BitTCF",
         ", ".join(map(bytes_over, ("me_tcf_bytes", "tcf_bytes", "csr_bytes")))],
        ["matrices with an IBD above 8", sum(r["ibd"] > 8 for r in facts)],
        ["matrices of low, medium and high TCU-Synergy", ", ".join(map(str, kinds))],
        ["fill of vectors of 8 and 16 rows", f"{mean(values(facts, 'fill8'))}, "
                                             f"{mean(values(facts, 'fill16'))}"],
        ["bytes of CVSE over ME-TCF in 16 bits, V = 8 and 16", ", ".join(cvse)],
        ["matrices for which V = 16 is predicted", sum(r["v"] == 16 for r in facts)]])


def systems():
    """Times of the authors' programs over those of engines, and of some over each other."""
    peers, lines = published.Published(), []
    for paper, engine in (("acc-spmm", "bittcf"), ("cutespmm", "hrpb"), ("sspmm", "cvse"),
                          ("vectorsparse", "cvse"), ("thesis", "bcsr")):
        found = {n: f"{geomean(mine[engine]) / geomean(theirs):.2f} ({count})"
                 for n, group, count, theirs, mine in headlines.rows_of(paper, peers)
                 if group == "all"}
        lines.append([paper, f"`{engine}`", *(found.get(n, "-") for n in (32, 128, 512))])

    def pair(name, over, under, one, other):
        cells = [over, under]
        for n in (32, 128, 512):
            found = [r[one] / r[other] for r in rows(name, N=n)
                     if isinstance(r[one], float) and isinstance(r[other], float)]
            cells.append(f"{geomean(found):.2f} ({len(found)})" if found else "-")
        lines.append(cells)
    pair("16f.tsv", "Blocked-ELL of cuSPARSE", "`cvse`", "cusparse-bell", "cvse")
    for over, under, one, other in (
            ("cutespmm, TM = 32", "TM = 16", "cutespmm-tm32", "cutespmm-tm16"),
            ("sspmm, V = 16", "V = 8", "sspmm-v16-h", "sspmm-v8-h"),
            ("vectorsparse with SVC", "sspmm, V = 8", "sspmm-repo-vectorsparse-v8-h",
             "sspmm-v8-h")):
        pair("peers_times.tsv", over, under, one, other)
    return grid(["time of", "over", "N = 32", "N = 128", "N = 512"], lines)


def synergy():
    found = {group: (theirs, mine["auto"]) for n, group, _, theirs, mine in
             headlines.rows_of("cutespmm", published.Published()) if n == 128}
    groups = ("low", "medium", "high")
    return grid(["over the fastest on CUDA cores, N = 128", *groups],
                [[title, *(mean(found[group][k]) for group in groups)]
                 for k, title in enumerate(("authors' program", "plans"))])


REPORTS = {
    "how fast": how_fast, "one GPU": one_gpu, "four GPUs": four_gpus, "classes": classes,
    "layouts": layouts,
    "many products": many_products, "several GPUs": several_gpus, "CPUs": cpus, "SDDMM": sddmm,
    "counted": counted, "systems": systems, "synergy": synergy,
    **{paper: lambda paper=paper: grid(*variants.means(
        paper, ROOT / f"bench/results/{paper}.tsv")) for paper in variants.BASES}}


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(f"usage: {sys.argv[0]} [--check]", file=sys.stderr)
        return 2
    left, differ = set(REPORTS), []

    def filled(match):
        left.discard(match[2])
        text = match[1] + "\n" + REPORTS[match[2]]() + "\n\n" + match[3]
        if text != match[0]:
            differ.append(match[2])
        return text
    for name in DOCUMENTS:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        unknown = set(re.findall("<!-- report: (.+?) -->", text)) - set(REPORTS)
        assert not unknown, f"{name}: no report {unknown}"
        text = BLOCK.sub(filled, text)
        if not sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
    assert not left, f"no document has the report {left}"
    if sys.argv[1:] and differ:
        print(f"differ from bench/results: {', '.join(differ)}; run bench/report.py",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
