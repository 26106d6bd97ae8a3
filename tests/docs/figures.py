# SPDX-License-Identifier: Apache-2.0
"""Figures of the documents: where they stand, and that each has a source.

A figure is a number that is measured or counted: one with a decimal point, one with a unit behind
it, or one that is alone in the cell of a table.  Code, links and comments have none; sections of
papers and versions of software are none.  The modules
of quotes/, one for each document or folder, say each passage that has figures again, with what is
computed from a table, a log or the code in the place of the number; what no file of the repository
gives is `noted`, with the reason.  The tests fail where a passage differs and where a figure is in
no passage.

figures.py [DOCUMENT]    print the figures that no module quotes"""

import difflib
import importlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
START, END = "\x01", "\x02"  # around what is computed, in a passage
NUMBER = re.compile(r"(?<![\w.,^/])(?<![A-Za-z]-)(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w^]|,\d)")
UNIT = re.compile(
    r"\s*(?:%|(?:us|ms|ns|ps|s|min|minutes|seconds|hours|[GTM]B/s|[KMGT]i?B|[GT]FLOP/s|times|"
    r"matrices|products|runs|tests|calls|places|million|billion|percent)\b)"
)
SECTION = re.compile(
    r"(?:[Ss]ections?(?: \d[\d.]*,)*|[Cc]apability|CMake|cuSPARSE|CUDA|METIS|MPICH|MPI|"
    r"PETSc|SLEPc|NCCL|Scotch|gfortran|Python|arXiv) $"
)
CELL = re.compile(r"[\s|:,-]*(?:(?:us|ms|s|[KMGT]i?B|%)[\s|:,-]*)*")
WHY = {
    "definition": "a bound, a size or a version that is so by definition",
    "trial": "noted when it was tried in a build of its own; no table is kept",
    "arithmetic": "follows from numbers beside it",
    "log": "stands beside the command and the date that gave it",
}


def fig(value, digits=2):
    """A computed figure, as it stands in the text; halves are rounded up, as in most tables."""
    text = value if isinstance(value, str) else f"{value * (1 + 1e-9):,.{digits}f}"
    return START + text + END


def blank(match):
    return re.sub(r"[^\n]", "_", match.group())


def mask(raw):
    """The text with everything that is not prose or table cells blanked, of the same length."""
    text = re.sub(r"<!--.*?-->", blank, raw, flags=re.S)
    text = re.sub(r"^```.*?^```", blank, text, flags=re.S | re.M)
    lines, code, before = [], False, ""
    for line in text.split("\n"):
        code = line.startswith("    ") and (code or not before.strip())
        lines.append("_" * len(line) if code else line)
        before = line
    text = re.sub(r"`[^`\n]*`", blank, "\n".join(lines))
    return re.sub(r"(?<=\])\([^)]*\)", blank, text)


def places(masked):
    """Start, end and line number of every figure."""
    found, at, lines = [], 0, masked.split("\n") + [""]
    for number, line in enumerate(lines[:-1], 1):
        title = lines[number].startswith(("|-", "|:"))
        for match in NUMBER.finditer(line):
            alone = False
            if line.startswith("|") and not title:
                left, right = line.rfind("|", 0, match.start()), line.find("|", match.end())
                cell = NUMBER.sub("", line[left + 1 : right])
                alone = CELL.fullmatch(cell) is not None
            if SECTION.search(line, 0, match.start()):
                continue
            if "." in match.group() or alone or UNIT.match(line, match.end()):
                found.append((at + match.start(), at + match.end(), number))
        at += len(line) + 1
    return found


class Page:
    """A document, and what of its figures has been quoted."""

    def __init__(self, path):
        self.path = path
        self.raw = self.text()
        self.figures = places(mask(self.raw))
        self.at = []  # of each character of `flat` its place in `raw`
        for match in re.finditer(r"\S+|\s+", self.raw):
            if match.group().isspace():
                self.at.append(match.start())
            else:
                self.at.extend(range(match.start(), match.end()))
        self.flat = " ".join(re.split(r"\s+", self.raw))
        if self.raw[:1].isspace() or len(self.flat) != len(self.at):
            raise AssertionError(f"{path}: begins with a blank")
        self.computed, self.stated, self.wrong = [], [], []

    def text(self):
        return (ROOT / self.path).read_text(encoding="utf-8")

    def says(self, *passages):
        """Each stands in the document as it is; what fig() made in it is computed."""
        for passage in passages:
            passage = " ".join(passage.split())
            plain = passage.replace(START, "").replace(END, "")
            begin = self.flat.find(plain)
            if begin < 0:
                self.wrong.append(self.sentence(plain))
                continue
            while begin >= 0:
                self.cover(passage, begin)
                begin = self.flat.find(plain, begin + 1)

    def cover(self, passage, begin):
        inside = 0
        for part in re.split(f"({START}[^{END}]*{END})", passage):
            if part.startswith(START):
                end = begin + inside + len(part) - 2
                self.computed.append((self.at[begin + inside], self.at[end - 1] + 1))
                inside += len(part) - 2
            else:
                inside += len(part)

    def row(self, *cells):
        self.says("| " + " | ".join(cells) + " |")

    def noted(self, why, *passages):
        """Figures of these passages have no file to be computed from."""
        assert why in WHY, why
        for passage in passages:
            passage = " ".join(passage.split())
            begin = self.flat.find(passage)
            if begin < 0:
                self.wrong.append(self.sentence(passage))
            else:
                self.stated.append((self.at[begin], self.at[begin + len(passage) - 1] + 1))

    def noted_table(self, why, title, figures):
        """The same of the table whose first line begins with @p title, which has so many."""
        assert why in WHY, why
        begin = self.raw.find("\n" + title)
        if begin < 0:
            self.wrong.append(f"no table begins with: {title}")
            return
        end = re.compile(r"\n(?!\|)").search(self.raw, begin + 1).start()
        found = sum(begin <= f[0] < end for f in self.figures)
        self.stated.append((begin, end))
        if found != figures:
            self.wrong.append(
                f"the table that begins with `{title}` has {found} figures, and "
                f"{figures} are known to have no source"
            )

    def sentence(self, plain):
        """What the document says in the place of @p plain, as far as that can be guessed."""
        text = (
            self.raw.split("\n")
            if plain.startswith("|")
            else re.split(r"(?<=[.:;]) |\n\n", " ".join(self.raw.split()))
        )
        near = difflib.get_close_matches(plain, text, 1, 0.4)
        return f"it should say\n      {plain}" + (
            f"\n    and says\n      {near[0]}" if near else ""
        )

    def unquoted(self):
        """Lines and figures without a source."""
        spans = self.computed + self.stated
        return [
            (line, self.raw[a:b])
            for a, b, line in self.figures
            if not any(s <= a and b <= e for s, e in spans)
        ]


def documents():
    return ["README.md"] + sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))


def quote_all():
    """Every document, after all modules have quoted."""
    pages = {path: Page(path) for path in documents()}
    for module in sorted((ROOT / "tests/docs/quotes").glob("*.py")):
        importlib.import_module("quotes." + module.stem).quote(pages)
    return pages


def main():
    for path, page in quote_all().items():
        if not sys.argv[1:] or path in sys.argv[1:]:
            for text in page.wrong:
                print(f"{path}: {text}")
            for line, figure in page.unquoted():
                print(f"{path}:{line}: {figure}: {page.raw.split(chr(10))[line - 1][:120]}")


if __name__ == "__main__":
    main()
