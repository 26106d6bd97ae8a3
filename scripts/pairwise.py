# SPDX-License-Identifier: Apache-2.0
"""Rows that cover all pairs of levels of any two factors.

    pairwise.py FACTOR=LEVEL,LEVEL,... [FACTOR=...]...

prints a header and one tab-separated row for each run.  Other scripts import pairwise()."""
import collections
import itertools
import sys


def pairwise(levels):
    """Greedy (after AETG, Cohen et al. 1997): each row starts from an uncovered pair and gives
    every
    other factor the level that covers most pairs with what is fixed already.  No randomness: the
    same rows every time.  `levels` holds one sequence for each factor."""
    n = len(levels)
    missing = {
        ((i, a), (j, b)): None
        for i, j in itertools.combinations(range(n), 2)
        for a in range(len(levels[i]))
        for b in range(len(levels[j]))
    }
    used = collections.Counter()
    rows = []
    while missing:
        row = dict(next(iter(missing)))
        for k in sorted(set(range(n)) - set(row), key=lambda k: -len(levels[k])):
            row[k] = max(
                range(len(levels[k])),
                key=lambda a: (
                    sum(tuple(sorted([(k, a), f])) in missing for f in row.items()),
                    -used[k, a],
                    -a,
                ),
            )
        for pair in itertools.combinations(sorted(row.items()), 2):
            missing.pop(pair, None)
        used.update(row.items())
        rows.append([levels[k][row[k]] for k in range(n)])
    return rows


def main():
    factors = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
    if len(factors) < 2 or not all(factors.values()):
        sys.exit(__doc__)
    print("\t".join(factors))
    for row in pairwise([levels.split(",") for levels in factors.values()]):
        print("\t".join(row))


if __name__ == "__main__":
    main()
