# SPDX-License-Identifier: Apache-2.0
"""Figures of docs/how-to/python.md."""

from figures import fig
from results import rows


def quote(pages):
    page = pages["docs/how-to/python.md"]
    for r in rows("programs/gcn.tsv"):
        page.row(r["graph"], r["model"].upper(), fig(r["spmm_dist_ms"]), fig(r["torch_ms"]),
                 fig(r["torch_ms"] / r["spmm_dist_ms"]))
        assert r["loss_difference"] < 1e-4
