# SPDX-License-Identifier: Apache-2.0
"""The tables of bench/results, and the numbers of the code, for the modules of quotes/."""

import functools
import math
import re
import sys

from figures import ROOT

sys.path[:0] = [str(ROOT / "bench" / folder) for folder in ("common", "papers", "engine", "fit")]
import gap  # noqa: E402, F401, of default plans
import published  # noqa: E402
from pruned import crossing, speedups  # noqa: E402, F401, of engines/pruned.tsv
import table  # noqa: E402

geomean = table.geomean


def number(text):
    """A float where it is one, None for `-`, else the text."""
    if text == "-":
        return None
    try:
        return float(text)
    except ValueError:
        return text


@functools.lru_cache(None)
def rows(name):
    """The rows of a table, of tables one below the other, or of tables with titles of their own:
    dicts, with the last comment line in front of them as `#`."""
    found, titles, comment = [], None, ""
    for line in (ROOT / "bench/results" / name).read_text(encoding="utf-8").split("\n"):
        fields = line.split("\t")
        if line.startswith("#"):
            comment = line
        elif titles is None or fields[0] == titles[0]:
            titles = fields
        elif line:
            assert len(fields) == len(titles), f"{name}: {line}"
            found.append(dict(zip(titles, map(number, fields)), **{"#": comment}))
    for row in found:
        if "matrix" in row:
            row["matrix"] = table.stem(row["matrix"])
    return found


def select(name, **wanted):
    """The rows of a table with these values, at least one."""
    found = [r for r in rows(name) if all(r.get(k) == v for k, v in wanted.items())]
    assert found, f"{name} has no row with {wanted}"
    return found


def one(name, **wanted):
    found = select(name, **wanted)
    assert len(found) == 1, f"{name} has {len(found)} rows with {wanted}"
    return found[0]


def values(found, column, over=None):
    """A column of rows, or `over` divided by it, where both are there."""
    return [
        r[over] / r[column] if over else r[column]
        for r in found
        if r.get(column) is not None and (over is None or r.get(over) is not None)
    ]


def summary(name, *words):
    """The key=value pairs of the one `# summary` line with these words."""
    text = (ROOT / "bench/results" / name).read_text(encoding="utf-8")
    lines = [
        line
        for line in text.split("\n")
        if line.startswith("# summary") and all(f" {word} " in line + " " for word in words)
    ]
    assert len(lines) == 1, f"{name}: {len(lines)} summaries have {words}"
    return dict(re.findall(r"(\S+)=([^\s:]+)", lines[0]))


def peers(n, bits):
    """matrix -> speed-up over cuSPARSE of the fastest published system of 32 or 16 bits."""
    found = published.Published().fastest(bits)
    return {matrix: ratio for (matrix, columns), ratio in found.items() if columns == n}


def code(path, pattern):
    """The number that group 1 of a pattern finds in a source file."""
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))
    assert found, f"{path} has nothing like {pattern}"
    return float(found.group(1))


def log(path, pattern):
    """The groups of a pattern in a file of results."""
    found = re.search(pattern, (ROOT / "bench/results" / path).read_text(encoding="utf-8"))
    assert found, f"{path} has nothing like {pattern}"
    return found.groups()


def up(value, digits):
    """Rounded to so many significant digits, for ranges that are said in round numbers."""
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))
