# SPDX-License-Identifier: Apache-2.0
"""Verify products over matrices x ranks x partition x layout x op x type x schedule.

cover.py           every pair of values of any two of the seven occurs in some run (for CI)
cover.py --full    every combination; prints a count and every failure
cover.py --share 2/8   the second of eight shares, each a mixture of all values, always the same
cover.py --list    print the runs instead of making them

Matrices: tests/data, and those of the folder SPMM_MATRIX_DIR with other names, where it is set."""
import argparse
import itertools
import os
import random
import sys
import time

import harness

sys.path.insert(0, str(harness.ROOT / "scripts"))
from pairwise import pairwise  # noqa: E402

COLUMNS = 40  # a whole tile of the kernels for CPUs, and a part of one


SCHEDULES = {"overlap": ["--schedule", "overlap", "--chunks", "1"], "chunks": ["--chunks", "4"],
             "merged": ["--schedule", "merged"]}


def factors(names):
    return {
    "matrix": names, "ranks": [
        1, 2, 3, 4, 8], "partition": [
            p for p in ("keep", "block", "metis", "ptscotch", "auto")
            if harness.has_partitioner(p)], "layout": [
                    "row", "col"], "op": [
                        "n", "t"], "type": [
                            "64f", "32f"], "schedule": list(SCHEDULES), }


def verify(case, timeout):
    """None when good, "range" when the values do not fit the type, "refused" when the schedule is
    not for such a product, else what went wrong."""
    result = harness.run(
        "--matrix", case["matrix"], "--partition", case["partition"], "--layout", case["layout"],
        "--op", case["op"], "--type", case["type"], *SCHEDULES[case["schedule"]],
        "--columns", COLUMNS, "--verify",
        "--iterations", "1", "--warmup", "0", "--pad", "3" if case["layout"] == "col" else "0",
        ranks=case["ranks"], timeout=timeout)
    if result.code == 0 and not result.errors and "passed" in result.out:
        return None
    if result.code == 3 and len(result.errors) == 1 and "range" in result.errors[0]:
        return "range"
    plain = case["op"] == "n" and case["layout"] == "row"
    if result.code == 4 and not plain and result.errors[0].count(f"schedule {case['schedule']} is"):
        return "refused"
    return str(result)


def share_of(rows, text):
    """Rows of share K of N, which `text` gives as K/N."""
    try:
        k, n = (int(part) for part in text.split("/"))
    except ValueError:
        k = n = 0
    if not 1 <= k <= n:
        sys.exit(f"cover.py: --share takes K/N with 1 <= K <= N, not '{text}'")
    mixed = list(rows)
    random.Random(0).shuffle(mixed)  # in order, a share of every fifth would have one schedule only
    return mixed[k - 1::n]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="every combination")
    parser.add_argument("--share", metavar="K/N", default="1/1", help="share K of N of the runs")
    parser.add_argument("--list", action="store_true", help="print the runs only")
    parser.add_argument("--timeout", type=float, default=300, help="seconds of one run")
    args = parser.parse_args()
    levels = factors(harness.matrices())
    if not levels["matrix"]:
        sys.exit("cover.py: no matrix in tests/data or SPMM_MATRIX_DIR")
    values = list(levels.values())
    rows = list(itertools.product(*values)) if args.full else pairwise(values)
    rows = share_of(rows, args.share)
    names = [" ".join(os.path.basename(str(v)) for v in row) for row in rows]
    if args.list:
        print("\n".join(names))
        return 0
    failures, out_of_range, refused, start = 0, 0, 0, time.monotonic()
    answers = harness.side_by_side(lambda row: verify(dict(zip(levels, row)), args.timeout), rows)
    for name, answer in zip(names, answers):
        if answer == "range":
            out_of_range += 1
        elif answer == "refused":
            refused += 1
        elif answer is not None:
            failures += 1
            print(f"FAILED: {name}\n{answer}", flush=True)
    print(f"{len(rows)} runs in {time.monotonic() - start:.0f} s: {failures} failed, "
          f"{out_of_range} reported values out of the type's range, "
          f"{refused} refused by the schedule")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
