#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For Doxygen, which gives a comment to one member only: `int a, b; /**< both */` becomes
`int a; /**< both */ int b; /**< both */`, on the same lines.

doxygen_filter.py FILE    prints FILE so changed"""
import pathlib
import re
import sys

MEMBERS = re.compile(r"^( {4}(?:const )?\w+ +)(\**\w+(?:, *\**\w+)+);( */\*\*<.*?\*/)", re.M | re.S)


def split(match):
    kind, names, comment = match.groups()
    parts = [p.strip() for p in names.split(",")]
    flat = " ".join(comment.split())  # of all but the last: no lines of its own
    return " ".join([f"{kind}{p}; {flat}" for p in parts[:-1]] + [f"{kind}{parts[-1]};{comment}"])


sys.stdout.write(MEMBERS.sub(split, pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
