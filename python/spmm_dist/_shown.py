# SPDX-License-Identifier: Apache-2.0
"""How objects of the package show themselves: in a line, and as a table in notebooks."""
from __future__ import annotations

import html
from typing import Any, Dict


class Shown:
    """`_facts()` are the attributes that matter."""

    def _facts(self) -> Dict[str, Any]:
        return vars(self)

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value!r}" for name, value in self._facts().items())
        return f"<spmm_dist.{type(self).__name__}: {facts}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
                       for name, value in self._facts().items())
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"
