# SPDX-License-Identifier: Apache-2.0
"""The sentences that the library and its programs can print, with ... for what they fill in.

sentences.py    prints them all"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("src", "partition", "tools", "kernels", "examples")
# Literals that the compiler joins, with the macros of <inttypes.h> between them.
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\\n]|\\.)*")*')
CONVERSION = re.compile(
    r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|j|t)?[diouxXeEfgGcsp]")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def sentence(literals):
    """What several literals say together."""
    text = re.sub(r'"\s*PRI[diux]\w*\s*"', "d", literals)
    text = re.sub(r'"\s*"', "", text)[1:-1]
    text = text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
    return re.sub(r"(\.\.\.)+", "...", CONVERSION.sub("...", text).replace("%%", "%"))


def all_sentences():
    found = set()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".cu", ".cuh"):
                code = COMMENT.sub(" ", path.read_text(encoding="utf-8"))
                found.update(sentence(m.group()) for m in LITERALS.finditer(code))
    return found


if __name__ == "__main__":
    for text in sorted(s for s in all_sentences() if " " in s):
        print(text)
