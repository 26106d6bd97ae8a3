#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of the host sources that the tests of a build with --coverage ran.

    cmake --preset coverage && cmake --build --preset coverage && ctest --preset coverage
    scripts/coverage.py [BUILD] [--least PERCENT] [--lines]

Prints a row for each folder and each file below 90 %, and the total of src, partition, kernels/cpu
and tools last; --lines names the lines that were not run.  Exit status 1: below PERCENT."""
import argparse
import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("src/base", "src/device", "src/matrix", "partition", "src/engine", "src/exchange",
           "src/plan", "src/api", "kernels/cpu", "tools")


def count(build):
    """{file: {line: times run}}, headers and included code with the file they stand in."""
    lines = collections.defaultdict(collections.Counter)
    data = sorted(str(path) for path in build.rglob("*.gcda"))
    if not data:
        sys.exit(f"coverage: no test of {build} has run")
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(data), 50):
            subprocess.run(["gcov", "--json-format", *data[first:first + 50]], cwd=folder,
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for report in pathlib.Path(folder).glob("*.gcov.json.gz"):
                with gzip.open(report) as file:
                    for source in json.load(file)["files"]:
                        path = pathlib.Path(source["file"])
                        if path.is_absolute() and path.is_relative_to(ROOT):
                            path = path.relative_to(ROOT)
                        for line in source["lines"]:
                            lines[str(path)][line["line_number"]] += line["count"]
                report.unlink()
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=ROOT / "build" / "coverage")
    parser.add_argument("--least", type=float, default=0.0)
    parser.add_argument("--lines", action="store_true")
    options = parser.parse_args()
    lines, ran, all_lines = count(options.build.resolve()), 0, 0
    for folder in FOLDERS:
        folder_ran = folder_all = 0
        low = []
        for path, counts in sorted(lines.items()):
            if not path.startswith(folder + "/"):
                continue
            met = sum(1 for times in counts.values() if times > 0)
            folder_ran, folder_all = folder_ran + met, folder_all + len(counts)
            if met < 0.9 * len(counts) or options.lines:
                missed = sorted(line for line, times in counts.items() if times == 0)
                low.append((path, met, len(counts), missed))
        if folder_all:
            print(f"{folder:32} {folder_ran:6} of {folder_all:6} lines "
                  f"{100 * folder_ran / folder_all:6.1f} %")
        for path, met, total, missed in low:
            print(f"  {path:30} {met:6} of {total:6} lines {100 * met / total:6.1f} %")
            if options.lines:
                print("    not run:", *missed)
        ran, all_lines = ran + folder_ran, all_lines + folder_all
    percent = 100 * ran / max(all_lines, 1)
    print(f"{'all host sources':32} {ran:6} of {all_lines:6} lines {percent:6.1f} %")
    return 1 if percent < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
