# SPDX-License-Identifier: Apache-2.0
"""Figures of docs/explanation/nccl_push.md and schedules.md."""

from statistics import median

from figures import fig
from results import code, geomean, one, rows, select


def us(value):
    return fig(f"{value:.{1 if value < 100 else 0}f}")


def push(page):
    name = "exchange_push.tsv"
    for four in select(name, gpus=4):
        two = one(name, gpus=2, bytes_per_peer=four["bytes_per_peer"])
        page.row(
            fig(four["bytes_per_peer"], 0),
            us(four["bare_us"]),
            us(four["pack_transport_us"]),
            us(four["push_us"]),
            fig(four["pack_transport/push"]),
            fig(four["push_GBps"], 1),
            us(two["push_us"]),
            fig(two["pack_transport/push"]),
        )
    bare, packed = (
        [100 * r[c] for r in select(name, gpus=4)]
        for c in ("bare/transport", "bare/pack_transport")
    )
    page.says(
        f"reaches {fig(min(bare), 0)} to {fig(max(bare), 0)} % of bare NCCL over all sizes on "
        f"4 GPUs, and {fig(min(packed), 0)} to {fig(max(packed), 0)} % including the packing"
    )
    assert all(r["push_us"] < r["pull_us"] for r in rows("exchange_pull_push.tsv"))
    quick = code("kernels/cuda/exchange/push_args.h", r"SPMM_PUSH_QUICK += (\d+) \* 1024")
    page.says(f"Up to {fig(quick, 0)} KiB go word by word")
    page.noted(
        "definition",
        "plus 1 MiB for each rank",
        "tiles of 4 KiB of the reader's",
        "Rows of 512 bytes",
        "from 4 MiB to each peer on",
        "rows of 2 bytes to 12 KiB",
    )
    page.noted(
        "trial",
        "predictions that are within 17 % of these tables",
        "took 22 us at 4 KiB",
        "and 16 MiB came at 289 GB/s",
    )
    page.noted_table("trial", "| tried | outcome |\n|---|---|\n| Stores", 60)
    page.noted_table("definition", "| test | what runs | ranks |", 8)
    page.noted(
        "arithmetic",
        "350 GB/s at some 2 us (assumed) ask for 700 KB",
        "2 h / 4.8 TB/s, where NVLink takes h / 350 GB/s: 14.6 % of the exchange at most, less "
        "where the halo fits L2 (50 MB",
        "And one launch, 2 to 3 us",
        "Already r = 1.2 outweighs the 14.6 %",
        "350 GB/s at about 2 us",
        "need 700 KB in flight",
        "at N = 128, 4 KB, and 1 KB at N = 32",
        "a few hundred KB",
    )


def schedules(page):
    name = "schedules.tsv"

    def took(asked, matrix="rmat:scale=20,degree=16"):
        return one(name, input=matrix, asked=asked)["total_ms"]

    assert round(took("chunks2"), 2) == round(took("chunks4"), 2)
    page.says(
        f"takes {fig(took('overlap'))} ms with `overlap`, {fig(took('chunks2'))} with "
        f"`chunks2` and `chunks4`, {fig(took('merged2'))} with `merged2`"
    )
    stencil = "stencil27:nx=128,ny=128,nz=128"
    asked = [r for r in rows(name) if r["asked"] != "auto"]
    assert (
        min((r for r in asked if r["input"] == stencil), key=lambda r: r["total_ms"])["asked"]
        == "overlap"
    )
    off = {
        (r["input"], r["asked"]): 100 * abs(r["predicted_ms"] / r["total_ms"] - 1) for r in asked
    }
    worst = off.pop((stencil, "allgather"))
    page.says(
        f"Predictions are off by {fig(min(off.values()), 0)} to {fig(max(off.values()), 0)} %"
        f", `allgather` of stencil27 by {fig(worst, 0)}"
    )
    found = {
        t: [r["overlap"] for r in select("overlap.tsv", transport=t)] for t in ("nccl-push", "nccl")
    }
    local = [r["local_us"] for r in rows("overlap.tsv")]
    page.says(
        f"stencils of {fig(min(local), 0)} to {fig(max(local), 0)} us with halos of 8 to 64 " "KiB",
        f"| {fig(min(found['nccl-push']))} to {fig(max(found['nccl-push']), 1)} | "
        f"{fig(min(found['nccl']))} to {fig(max(found['nccl']))} |",
    )
    hidden = sorted(
        float(r["overlap"])
        for r in select("dist_32f.tsv", set="baselines", ranks=2)
        if isinstance(r["overlap"], float)
    )
    page.says(
        f"| sixteen matrices, 2 GPUs | {fig(hidden[0])} to {fig(hidden[-2], 1)}, once "
        f"{fig(hidden[-1], 1)} |"
    )
    most = code("src/plan/product/wait.c", r"MOST_BYTES = (\d+) << 20")
    page.says(f"reads {fig(most, 0)} MiB at most in the halo block")
    worth = code("src/plan/choose/choose.c", r"worth = ([\d.]+);")
    less = 100 * code("src/plan/choose/choose.c", r"\n +(0\.\d+); +/\* of the yardstick")
    page.says(
        f"unless the second is {fig(worth, 1)} times longer",
        f"take less than {fig(less, 0)} % of its time",
    )
    fixed(page)
    not_kept(page)
    page.noted("definition", "halos of 8 to 64 KiB")
    page.noted(
        "trial",
        "starts later: by 3 us behind a kernel",
        "by some 10 us behind a group",
        "costs the host about 12 us: three kernels of 2.5 us and five calls for events of 1 " "us",
    )


def fixed(page):
    """What a product costs where there is next to nothing to multiply."""
    found = [r for r in select("engines/fixed.tsv", N=8) if r["engine"] != "bittcf"]
    took = {r["what"]: r for r in reversed(found)}
    one_us, none = took["product"], took["empty kernel"]
    page.says(
        f"takes {fig(one_us['events_us'], 1)} us between two events, "
        f"{fig(one_us['events_us'] / none['events_us'])} times as long",
        f"{fig(one_us['loop_us'], 1)} us in a loop of them, where that kernel takes "
        f"{fig(none['loop_us'], 1)}, and {fig(took['graph']['host_us'], 1)} us of the host",
        f"Of the {fig(one_us['host_us'], 1)} us that a call takes of the host the launch is "
        f"{fig(took['block']['host_us'], 1)}",
        f"is {fig(took['pointer']['host_us'])} each, the number of the stream "
        f"{fig(took['stream number']['host_us'])} and event DONE {fig(took['event']['host_us'])}",
    )
    page.noted("definition", "a product of 25 rows and 8 columns")
    took = {r["what"]: r for r in reversed(select("trials/two/fixed_h100.tsv", N=8))}
    one_us, none = took["product"], took["empty kernel"]
    page.says(
        f"{fig(none['loop_us'], 1)} us for the empty kernel, the product takes "
        f"{fig(one_us['events_us'] / none['events_us'])} times as long",
        f"and {fig(one_us['loop_us'], 1)} us in a loop")


def not_kept(page):
    found = {}
    for r in rows("trials/two/border.tsv"):
        way = found.setdefault((r["matrix"], r["columns"]), {})
        way[r["variant"].split("=")[1]] = r["total_ms"]
    longer = {way: [f[way] / f["overlap"] for f in found.values() if way in f]
              for way in ("border", "border2", "chunks2")}
    page.says(
        f"took {fig(min(longer['border']))} to {fig(max(longer['border']))} times as long as "
        f"`overlap`, geometric mean {fig(geomean(longer['border']))} of "
        f"{fig(len(longer['border']), 0)} products of large halos, "
        f"{fig(geomean(longer['border2']))} with the",
        f"`chunks2` took {fig(geomean(longer['chunks2']))}")


def faster(found, before, after):
    """(KiB that a rank gets, times as fast) of each product by both sets with schedule overlap."""
    def key(r):
        return r["matrix"], r["columns"], r["type"]

    ways = {name: {key(r): r for r in found
                   if r["set"] == name and r["variant"] == "schedule=overlap"}
            for name in (before, after)}
    return [(kib(a), a["total_ms"] / ways[after][k]["total_ms"], a)
            for k, a in ways[before].items() if k in ways[after]]


def kib(r):
    return r["halo_rows_max"] * r["columns"] * (8 if r["type"] == "64f" else 4) / 1024


def push_blocks(page):
    took = {(r["block_kib"], r["bytes_per_peer"]): r for r in rows("trials/two/push_blocks.tsv")}
    old, new = took[16, 65536], took[4, 65536]
    large = [took[k, 1048576]["chained_push_us"] for k in (4, 16)]
    found = rows("trials/two/small.tsv")
    quick = [(k, x) for k, x, _ in faster(found, "16 KiB", "4 KiB") if k <= 256]
    few = [x for k, x in quick if k <= 64]
    more = [x for k, x in quick if k > 64]
    assert abs(geomean(more) - 1) < 0.01
    most = faster(found, "4 KiB", "to 1 MiB")
    slow = sorted((x, k) for k, x, _ in most if x < 0.95)
    rows_kib = sorted(k * 1.024 for _, k in slow)
    looks = [x for _, x, _ in faster(found, "4 KiB", "4 KiB, one looks")]
    page.says(
        f"between two H100 64 KiB take {fig(new['push_us'], 1)} us against "
        f"{fig(old['push_us'], 1)}, in a row {fig(new['chained_push_us'], 1)} against "
        f"{fig(old['chained_push_us'], 1)}; {fig(len(few), 0)} products that get up to 64 KiB are "
        f"{fig(geomean(few))} times as fast, {fig(len(more), 0)} that get up to 256 KiB as fast",
        f"in a row 1 MiB takes {fig(large[0], 1)} us against {fig(large[1], 1)} in tiles; "
        f"products beside them {fig(slow[0][0])} to {fig(slow[-1][0])} times as fast where "
        f"{fig(rows_kib[0], 0)} to {fig(rows_kib[-1], 0)} KB come",
        f"{fig(geomean(looks))} times as fast over {fig(len(looks), 0)} products")
    few, most = (int(code("src/exchange/push_share.c", name + r" = (\d+) \* 1024"))
                 for name in ("FEW_BYTES", "MOST_BYTES"))
    blocks = code("src/exchange/push_share.c", r"FEW = (\d+) }")
    page.says(f"{fig(few, 0)} KiB where those of all peers are then {fig(blocks, 0)} at most, else "
              f"up to {fig(most, 0)} KiB")


def count(page):
    """A trial in which the end of an exchange is a count."""
    least = {}
    for r in rows("trials/two/count.tsv"):
        key = (r["matrix"], r["columns"], r["type"])
        bytes_in = r["halo_rows_max"] * r["columns"] * (8 if r["type"] == "64f" else 4)
        times = least.setdefault((bytes_in <= 384 * 1024, key), {})
        times[r["set"]] = min(times.get(r["set"], r["total_ms"]), r["total_ms"])
    few, more = ([of["count"] / of["before"] for (is_few, _), of in least.items()
                  if is_few is which] for which in (True, False))
    page.says(
        f"took {fig(geomean(few))} of the time, geometric mean of {fig(len(few), 0)}, "
        f"{fig(min(few))} to {fig(max(few))}, and {fig(len(more), 0)} others "
        f"{fig(geomean(more))}")
    page.noted("definition", "products that get up to 384 KiB")


def words(page):
    found = rows("trials/two/words.tsv")
    read = [x for k, x, r in faster(found, "unpacked", "words")
            if k <= 256 and r["halo_engine"] == "csr-gpu"]
    page.says(f"but {fig(geomean(read))} times as fast over {fig(len(read), 0)} products on two "
              f"H100, {fig(min(read))} at the least")
    waits = [x for _, x, _ in faster(found, "all in line", "more wait")]
    page.says(f"were {fig(min(waits))} times as fast at the least")
    page.noted("definition", "Halo blocks of up to 32 MiB that wait for up to 1 MiB")
    line = [x for _, x, _ in faster(found, "words, none in line", "words")]
    every = [x for _, x, _ in faster(found, "words, to 1 MiB", "all in line")]
    gains, losses = [x for x in line if x > 1.04], [x for x in every if x < 0.96]
    page.says(
        f"{fig(len(gains), 0)} of {fig(len(line), 0)} products of another trial are "
        f"{fig(min(gains))} to {fig(max(gains))} times as fast; with all of them in line "
        f"{fig(len(losses), 0)} of {fig(len(every), 0)}, whose exchange is the shorter part, are "
        f"{fig(min(losses))} to {fig(max(losses))} times as fast")
    took = {r["what"]: r for r in reversed(select("trials/two/fixed_two.tsv", N=8))}
    two, graph, none = took["product"], took["graph"], took["empty kernel"]
    page.says(
        f"{fig(none['host_us'], 1)} us for the empty kernel, the same product on two ranks",
        f"takes {fig(two['events_us'], 1)} us between two events, where that kernel takes "
        f"{fig(none['events_us'], 1)}, {fig(two['loop_us'], 1)} us in a loop and "
        f"{fig(two['host_us'], 1)} us of the host",
        f"it takes {fig(graph['host_us'], 1)} us of the host and {fig(graph['loop_us'], 1)} in a "
        "loop")
    took = {r["what"]: r for r in reversed(select("trials/two/fixed_four.tsv", N=8))
            if r["engine"] != "bittcf"}
    page.says(
        f"{fig(took['empty kernel']['host_us'], 1)} us for the empty kernel, four ranks of it take "
        f"{fig(took['product']['events_us'], 1)} us between two events, "
        f"{fig(took['product']['loop_us'], 1)} us in a loop, and with option `graph` "
        f"{fig(took['graph']['host_us'], 1)} us of the host")


def halo_waits(page):
    def excess(r):
        return 1000 * (r["total_ms"] - max(r["alone_exchange_ms"], r["alone_local_ms"]))

    found = rows("trials/halo_waits.tsv")
    pairs = [(a, b) for a in found for b in found
             if "event=1" in a["variant"] and "event=1" not in b["variant"]
             and all(a[k] == b[k] for k in ("matrix", "columns", "type"))]
    for title, low, high in ((f"up to {fig(64, 0)} KiB", 0, 64),
                             (f"up to {fig(384, 0)} KiB", 64, 384), ("more", 384, 1e9)):
        of = [(a, b) for a, b in pairs if low < kib(b) <= high]
        ratios = [a["total_ms"] / b["total_ms"] for a, b in of]
        page.row(title, fig(len(of), 0), fig(median(excess(a) for a, b in of), 1),
                 fig(median(excess(b) for a, b in of), 1), fig(median(ratios)), fig(min(ratios)))
    most = code("src/plan/product/wait.c", r"MOST_ARRIVING = ([0-9]+) << 10")
    share = code("src/plan/product/wait.c", r"share = ([0-9.]+);")
    page.says(f"gets {fig(most, 0)} KiB of B at most",
              f"exchange is no shorter than {fig(share, 1)} of the local block",
              f"predicted to take {fig(share, 1)} of the local block at least")


def in_line(page):
    """A trial build in which all products are, beside the one before it."""
    found = select("trials/in_line.tsv", variant="auto")
    before = {(r["matrix"], r["columns"]): r for r in found if r["set"] == "before"}
    pairs = [(before[r["matrix"], r["columns"]], r) for r in found if r["set"] == "in line"]
    pairs = [(b, r) for b, r in pairs if b["schedule"] == r["schedule"] == "overlap"]
    for title, low, high in ((f"{fig(0.8, 1)} and more", 0.8, 1e9), ("less", 0.0, 0.8)):
        ratios = [b["total_ms"] / r["total_ms"] for b, r in pairs
                  if low <= r["alone_exchange_ms"] / r["alone_local_ms"] < high]
        page.row(title, fig(len(ratios), 0), fig(geomean(ratios)), fig(min(ratios)),
                 fig(max(ratios)))
    page.noted("definition", "N = 32 and 128, a trial in which all")


def quote(pages):
    push_blocks(pages["docs/explanation/nccl_push.md"])
    push(pages["docs/explanation/nccl_push.md"])
    words(pages["docs/explanation/schedules.md"])
    count(pages["docs/explanation/schedules.md"])
    schedules(pages["docs/explanation/schedules.md"])
    halo_waits(pages["docs/explanation/schedules.md"])
    in_line(pages["docs/explanation/schedules.md"])
