#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""For Doxygen.  Headers: it gives a comment to one member only, so `int a, b; /**< both */` becomes
`int a; /**< both */ int b; /**< both */`, on the same lines.  Documents: links to what is no page
of the reference become text.

doxygen_filter.py FILE    prints FILE so changed"""
import pathlib
import re
import sys

MEMBERS = re.compile(r"^( {4}(?:const )?\w+ +)(\**\w+(?:, *\**\w+)+);( */\*\*<.*?\*/)", re.M | re.S)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)]*)\)")
ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = {ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}
PAGES |= set((ROOT / "docs").rglob("*.md"))


def split(match):
    kind, names, comment = match.groups()
    parts = [p.strip() for p in names.split(",")]
    flat = " ".join(comment.split())  # of all but the last: no lines of its own
    return " ".join([f"{kind}{p}; {flat}" for p in parts[:-1]] + [f"{kind}{parts[-1]};{comment}"])


def document(path, text):
    def link(match):
        target = match.group(2).split("#")[0]
        is_page = "://" in target or (path.parent / target).resolve() in PAGES
        return f"[{match.group(1)}]({target})" if is_page else match.group(1)

    return LINK.sub(link, text)


def main():
    path = pathlib.Path(sys.argv[1]).resolve()
    text = path.read_text(encoding="utf-8")
    sys.stdout.write(document(path, text) if path.suffix == ".md" else MEMBERS.sub(split, text))


if __name__ == "__main__":
    main()
