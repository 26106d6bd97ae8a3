# SPDX-License-Identifier: Apache-2.0
"""Figures of docs/explanation/network.md."""

import sys

from figures import ROOT, fig
from results import code, one, select

NEAR, BEST = 0.25, 1.10  # of predictions, and of what auto takes
WAYS = (
    ("each row once a node", "metis", 1, "node"),
    ("least cover, by rank", "metis", 1, "cover"),
    ("least cover, by node", "metis", 1, "cover-node"),
    ("nodes first, each row once a node", "nodes first", 1, "node"),
    ("nodes first, least cover, by node", "nodes first", 1, "cover-node"),
    ("nodes first, 2 column groups", "nodes first", 2, "flat"),
    ("nodes first, 4 column groups", "nodes first", 4, "flat"),
)


def predicted(page):
    """How near predictions are, and how good what auto takes is, between namespaces."""
    found = select("levels.tsv")
    near = sum(abs(r["predicted_ms"] / r["exchange_ms"] - 1) <= NEAR for r in found)
    cases = {(r["rate"], r["matrix"]): [] for r in found}
    for r in found:
        cases[r["rate"], r["matrix"]].append(r)
    good = 0
    for case in cases.values():
        took = next(r for r in case if f"{r['cover']} {r['levels']}" == r["auto"])
        good += took["exchange_ms"] <= BEST * min(r["exchange_ms"] for r in case)
    page.says(f"within {fig(100 * NEAR, 0)} % of what exchanges took in {near} of {len(found)} "
              f"cases, and what `auto` took was within {fig(BEST, 2)} of the best in {good} of "
              f"{len(cases)}")


def quote(pages):
    page = pages["docs/explanation/network.md"]
    sys.path.insert(0, str(ROOT / "bench/dist"))
    import scale  # what makes the table sums it up

    means = scale.summarise(ROOT / "bench/results/scale.tsv")
    for title, *way in WAYS:
        page.row(title, *(f"{fig(a)} / {fig(b)}" for a, b in
                          (means[tuple(way)][kind] for kind in scale.MATRICES)))
    found = select("scale.tsv", ranks=64, groups=8)
    assert all(r["rows"] == 0 for r in found)
    for row in select("scale.tsv", groups=1):
        most = {"node": 1, "cover-node": 2}.get(row["exchange"])
        assert most is None or row["messages_max"] <= most * (row["ranks"] / 8 - 1)
    road = one("scale.tsv", matrix="luxembourg_osm", ranks=256, groups=1, partition="metis",
               exchange="flat")
    page.says(f"at 256 ranks it sends or gets {fig(road['rows_max'], 0)} rows")
    least = code("src/plan/groups/groups.c", r"LEAST_COLUMNS = (\d+)")
    page.says(f"less than {fig(least, 0)} columns")
    predicted(page)
    least = code("src/device/network.c", r"long_enough = (\d+)e-3")
    page.says(f"until they take {fig(least / 1000, 1)} s")
    page.noted("definition", "adapter of 400 Gb/s", "some 40 bytes an entry")
