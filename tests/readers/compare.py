#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py READ_ENTRIES [COUNT [SEED]]: Matrix Market files in every way the format allows, read
by the library on 1 and 3 ranks, by fast_matrix_market and by SciPy's reader in Python: the same
shape and values.  Needs both packages (scripts/nightly.sh readers)."""
import gzip
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import fast_matrix_market
import numpy
from scipy.io._mmio import MMFile  # scipy.io.mmread() is fast_matrix_market again


def number(rng, field, sign):
    if field == "pattern":
        return ""
    if field == "integer":
        return f"{rng.randint(-10**6, 10**6):{sign}d}"
    value = rng.choice((rng.uniform(-1, 1), rng.uniform(-1, 1) * 10.0**rng.randint(-300, 300),
                        float(rng.randint(-9, 9))))
    return f"{value:{sign}{rng.choice(('.17g', '.3g', '.5e', '.1f', '.20E'))}}"


def market(rng):
    """The text of one file."""
    layout = rng.choice(("coordinate", "coordinate", "array"))
    field = rng.choice(("real", "integer") + ("pattern",) * (layout == "coordinate"))
    kinds = ("general", "symmetric") + ("skew-symmetric",) * (field != "pattern")
    symmetry = rng.choice(kinds)
    rows = rng.choice((1, 2, 3, 17, 60))
    cols = rows if symmetry != "general" else rng.choice((1, 2, 5, 40))
    places = [(i, j) for j in range(cols) for i in range(rows)
              if symmetry == "general" or i > j or (i == j and symmetry == "symmetric")]
    gap = rng.choice((" ", "\t", "   "))
    edge = rng.choice(("", "", " ", "\t"))
    sign = rng.choice(("",) * 7 + ("+",))  # which fast_matrix_market refuses
    lines = [rng.choice(("%%MatrixMarket matrix {} {} {}", "%%MatrixMarket  MATRIX {} {} {} "))
             .format(rng.choice((layout, layout.upper())), field, symmetry)]
    lines += ["% " + "x" * rng.randint(0, 300)] * rng.randint(0, 3)
    if layout == "array":
        lines += [f"{rows}{gap}{cols}"] + [edge + number(rng, field, sign) for _ in places]
    else:
        places = rng.sample(places, rng.randint(0, len(places)))
        places += rng.sample(places, min(2, len(places))) * (field != "real")  # sums are exact
        lines += [f"{rows}{gap}{cols}{gap}{len(places)}"]
        lines += [gap.join([f"{edge}{i + 1}", f"{j + 1}", number(rng, field, sign)]).rstrip()
                  for i, j in places]
    end = rng.choice(("\n", "\n", "\r\n"))
    return end.join(lines) + rng.choice(("", end, end + end))


def ours(path, ranks):
    """A dense matrix, or the sentence of a refusal."""
    matrix = None
    for rank in range(ranks):
        first, *entries = pathlib.Path(f"{path}.{rank}").read_text(encoding="utf-8").splitlines()
        if not first[:1].isdigit():
            return first
        matrix = numpy.zeros([int(n) for n in first.split()[:2]]) if matrix is None else matrix
        for entry in entries:
            i, j, value = entry.split()
            matrix[int(i), int(j)] = float.fromhex(value)
    return matrix


def theirs(read, path):
    try:
        matrix = read(path)
    except Exception as error:  # pylint: disable=broad-except # whatever it says is a refusal
        return f"{type(error).__name__}: {error}"
    return numpy.asarray(matrix.todense() if hasattr(matrix, "todense") else matrix, dtype=float)


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    wrong, refused = 0, {"fast_matrix_market": 0, "scipy": 0}
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for k in range(count):
            paths.append(os.path.join(folder, f"{k}.mtx" + ".gz" * (k % 5 == 0)))
            text = market(rng).encode()
            pathlib.Path(paths[-1]).write_bytes(gzip.compress(text) if k % 5 == 0 else text)
        read = {}
        for ranks in (1, 3):
            subprocess.run(["mpirun", "-n", str(ranks), program, *paths], check=True)
            read.update({(path, ranks): ours(path, ranks) for path in paths})
        for path in paths:
            answers = {f"spmm_dist on {n} ranks": read[path, n] for n in (1, 3)}
            for name, reader in (("fast_matrix_market", fast_matrix_market.mmread),
                                 ("scipy", lambda path: MMFile().read(path))):
                answer = theirs(reader, path)
                if isinstance(answer, str):
                    refused[name] += 1
                    if os.environ.get("SPMM_READERS_LIST") == "1":
                        print(name, answer, pathlib.Path(path).read_bytes()[:200])
                else:
                    answers[name] = answer
            first = answers["spmm_dist on 1 ranks"]
            if any(isinstance(a, str) or a.shape != first.shape or not numpy.array_equal(a, first)
                   for a in answers.values()):
                wrong += 1
                raw = pathlib.Path(path).read_bytes()
                print(path, (gzip.decompress(raw) if path.endswith(".gz") else raw)[:400], answers)
    print(f"{count} files: {wrong} read otherwise; refused by "
          + ", ".join(f"{name} {n}" for name, n in refused.items()))
    sys.exit(wrong > 0 or max(refused.values()) > count // 4)


if __name__ == "__main__":
    main()
