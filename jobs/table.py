#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports of spmm_dist, PATH.json for each PATH, as a table of scaling on stdout.

Efficiency: speed of a rank over that in the first report of the same set, which is strong scaling
for a matrix that stays and weak scaling for one that grows with the ranks."""
import json
import sys

COLUMNS = "set ranks entries ms gflops efficiency engine transport verified".split()


def main():
    first = {}
    print("\t".join(COLUMNS))
    for path in sys.argv[1:]:
        with open(path + ".json") as file:
            report = json.load(file)
        name = path.rsplit("/", 1)[-1].rsplit(".", 2)[0]  # less nN_COLUMNS and pRANKS
        speed = report["gflops"] / report["ranks"]
        first.setdefault(name, speed)
        efficiency = "%.3f" % (speed / first[name]) if first[name] > 0 else "-"  # without entries
        verify = report["verify"]  # null unless asked for
        verified = "-" if verify is None else "yes" if verify["passed"] else "no"
        row = [name, report["ranks"], report["matrix"]["nnz"],
               "%.4f" % report["time"]["total_ms"], "%.2f" % report["gflops"], efficiency,
               report["engine"], report["transport"], verified]
        print("\t".join(map(str, row)))


main()
