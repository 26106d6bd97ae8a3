# SPDX-License-Identifier: Apache-2.0
"""Figures of docs/how-to/python.md, and of the Transformer in docs/how-to/sparse_attention.md."""

from figures import fig
from results import code, one, rows, select

DENSE, MASKED = "scaled_dot_product_attention, all entries", "products, mask, softmax"
LARGEST = "amazon0601-like"


def quote(pages):
    page, longer = pages["docs/how-to/python.md"], {}
    for r in select("programs/gcn.tsv", ranks=1):
        graph, model = r["graph"], r["model"]
        two = one("programs/gcn.tsv", graph=graph, model=model, ranks=2)
        torch = min(r["torch_ms"], two["torch_ms"])
        times = r["spmm_dist_ms"], two["spmm_dist_ms"]
        page.row(graph, model.upper(), *map(fig, times), fig(torch),
                 *(fig(torch / x) for x in times))
        longer[graph, model] = times[1] / times[0]
        assert max(r["loss_difference"], two["loss_difference"]) < 1e-4
    gcn, gat = (longer.pop((LARGEST, model)) for model in ("gcn", "gat"))
    page.says(f"to {fig(gcn)} of its time (GCN) and {fig(gat)} (GAT)",
              f"{fig(min(longer.values()))} to {fig(max(longer.values()))} times as long")
    features, hidden, classes = (code("bench/engine/training.py", rf"--{name} (\d+)")
                                 for name in ("features", "hidden", "classes"))
    page.says(f"{fig(4e-3 * hidden * (features + classes), 0)} kB here, and "
              f"{fig(gradients(), 0)} MB [in a")
    quote_transformer(pages["docs/how-to/sparse_attention.md"])


def gradients():
    """MB of those of the Transformer's weights, FP32."""
    heads, head = (code("bench/engine/training.py", rf"--{name} (\d+)")
                   for name in ("heads", "head"))
    layers, features, classes = (code("examples/python/transformer.py", "LAYERS.* = " + before +
                                      r"(\d+)") for before in ("", r"\d+, ", r"\d+, \d+, "))
    width = heads * head
    return 4e-6 * width * (features + layers * 8 * width + classes)


def quote_transformer(page):
    drawn = code("bench/engine/training.py", r"--random (0\.\d+)")
    page.says(f"{fig(100 * drawn, 0)} % of the other columns")
    table = rows("programs/transformer.tsv")
    for length in dict.fromkeys(r["rows"] for r in table):
        found = [next(r for r in table
                      if (r["rows"], r["attention"], r["ranks"]) == (length, name, ranks))
                 for name, ranks in (("spmm_dist", 1), ("spmm_dist", 2), (DENSE, 1),
                                     ("FlexAttention", 1), (MASKED, 1))]
        page.row(fig(length, 0), fig(found[0]["mask_percent"]),
                 *(fig(r["sequences_s"], 1) for r in found),
                 *(fig(r["plan_mib"] + r["torch_mib"], 0) for r in found))
    one_gpu, two = ([r["ms"] for r in table if (r["attention"], r["ranks"]) == ("spmm_dist", n)]
                    for n in (1, 2))
    page.says(f"{fig(min(two), 0)} to {fig(max(two), 0)} ms, where it takes "
              f"{fig(min(one_gpu), 0)} to {fig(max(one_gpu), 0)} on one",
              f"adds up {fig(gradients(), 0)} MB of gradients")
    longest = max(r["rows"] for r in table)
    faster = [n for n in dict.fromkeys(r["rows"] for r in table)
              if ms(table, n, 2) < ms(table, n, 1)]
    assert faster == [longest], faster
    page.says(f"Two are faster at {fig(longest, 0)} rows")
    ours, flex = (max(r["loss_difference"] for r in table if r["attention"] == name)
                  for name in ("spmm_dist", "FlexAttention"))
    steps, rate = (code("bench/engine/training.py", rf"--{name} ([\d.]+)")
                   for name in ("steps", "rate"))
    page.says(f"Losses of {fig(steps, 0)} steps at a rate of {fig(rate)} differ",
              f"by at most {fig(ours, 5)} of these", f"FlexAttention by at most {fig(flex, 5)}")


def ms(table, length, ranks):
    return next(r["ms"] for r in table
                if (r["rows"], r["attention"], r["ranks"]) == (length, "spmm_dist", ranks))
