# SPDX-License-Identifier: Apache-2.0
"""What the documents say exists: links, sentences of the library, functions, options; their own
sentences are short; pictures are well-formed and as their scripts draw them."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

from sentences import ROOT, all_sentences

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CALL = re.compile(r"\b((?:spmm|SPMM)_\w+)\(")
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]+)")
# What ends a paragraph or is none: empty lines, headings, tables, comments, quotations.
NO_PROSE = re.compile(r"\s*$|[#|>]|<!--|!\[")
ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s+")
SENTENCE_END = re.compile(r"(?<=[.!?])[)\"*]*\s+(?=[(\"*]*[A-Z0-9])")
MOST_WORDS = 25  # of a sentence, in the mean of a page
MOST_PAGES, MOST_IN_ALL = 35, 30000  # pages and words of docs/, which somebody reads


def documents():
    found = [p for p in ROOT.rglob("*.md") if "build" not in p.relative_to(ROOT).parts]
    assert len(found) > 10
    return sorted(found)


def paragraphs(text):
    """Paragraphs and list items of a page, without code, tables, headings and comments."""
    found, open_, fenced = [], False, False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        item = ITEM.match(line)
        code = fenced or line.startswith("```") or (line.startswith("    ") and not open_)
        if code or NO_PROSE.match(line):
            open_ = False
        elif open_ and not item:
            found[-1] += " " + line.strip()
        else:
            found.append(line[item.end():] if item else line.strip())
            open_ = True
    return found


def sentence_lengths(text):
    """Words of each sentence of a page; inline code is one word, a link is its text."""
    lengths = []
    for paragraph in paragraphs(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "Code", paragraph))
        lengths += [len(part.split()) for part in SENTENCE_END.split(plain) if part.strip()]
    return lengths


def too_long(name, text):
    """What is wrong with the sentences of a page; None: nothing."""
    lengths = sentence_lengths(text)
    mean = sum(lengths) / max(1, len(lengths))
    return None if mean < MOST_WORDS else (
        f"{name}: sentences have {mean:.1f} words in the mean, and should have less than "
        f"{MOST_WORDS}: make several of the longest, which has {max(lengths)}")


class Sentences(unittest.TestCase):
    def test_pages(self):
        pages = [p for p in documents() if ROOT / "docs" in p.parents or p.parent == ROOT]
        words = [len(p.read_text(encoding="utf-8").split()) for p in pages if p.parent != ROOT]
        self.assertTrue(20 < len(words) <= MOST_PAGES and sum(words) <= MOST_IN_ALL, sum(words))
        self.assertEqual([], [wrong for page in pages if (wrong := too_long(
            page.relative_to(ROOT), page.read_text(encoding="utf-8")))])

    def test_finds_long_ones(self):
        """A page of 24 and 26 words a sentence fails, one of 24 words passes."""
        short, long = "One " + "word " * 22 + "more. ", "One " + "word " * 24 + "more. "
        self.assertIsNone(too_long("page.md", short * 3))
        self.assertRegex(too_long("page.md", short + long),
                         r"^page\.md: sentences have 25\.0 words in the mean.* has 26$")

    def test_counts_prose_alone(self):
        page = ("# A heading of seven words is none\n\n| a | table |\n|---|---|\n\n<!-- no -->\n"
                "First [a link](a.md) and `inline code`.\nA second one goes on\nhere. Third?\n\n"
                "    code in lines\n\n```sh\nmore code\n```\n- item one\n  goes on\n- item two\n")
        self.assertEqual(sentence_lengths(page), [5, 6, 1, 4, 2])


class Documents(unittest.TestCase):
    def test_links(self):
        for path in documents():
            for link in LINK.findall(path.read_text(encoding="utf-8")):
                if "://" not in link:
                    self.assertTrue((path.parent / link).exists(), f"{path}: {link}")

    def test_sentences(self):
        """Every quotation of troubleshooting.md is part of one sentence in the sources."""
        text = (ROOT / "docs/how-to/troubleshooting.md").read_text(encoding="utf-8")
        quoted = [" ".join(lines.replace("> ", "").split("\n")).strip()
                  for lines in re.findall(r"^((?:> .*\n)+)", text, re.M)]
        self.assertGreater(len(quoted), 15)
        sentences = all_sentences()
        for line in quoted:
            self.assertGreater(len(line), 25)
            self.assertTrue(any(line in s for s in sentences), f"nothing prints: {line}")

    def test_functions(self):
        code = "\n".join(p.read_text(encoding="utf-8")
                         for folder in ("include", "interfaces", "src", "partition", "kernels",
                                        "tests", "bench")
                         for p in sorted((ROOT / folder).rglob("*"))
                         if p.suffix in (".h", ".c", ".cmake", ".cu", ".f90"))
        names = set(re.findall(r"\b(?:spmm|SPMM)_\w+", code))
        names |= {n for p in (ROOT / "cmake").glob("*.cmake")
                  for n in re.findall(r"\bspmm_\w+", p.read_text(encoding="utf-8"))}
        names |= set(re.findall(r"function\((\w+)",
                                (ROOT / "tests/CMakeLists.txt").read_text(encoding="utf-8")))
        for path in documents():
            for name in CALL.findall(path.read_text(encoding="utf-8")):
                self.assertIn(name, names, path)

    def test_options(self):
        """Options of spmm_dist in its guides are in its --help."""
        help_text = (ROOT / "tools" / "driver" / "driver_help.c").read_text(encoding="utf-8")
        for name in ("explanation/how_it_works.md", "tutorial/first_product.md", "how-to/tune.md",
                     "explanation/exchange.md", "how-to/read_a_report.md", "explanation/choices.md",
                     "reference/spmm_dist.md", "reference/engines.md", "reference/library.md",
                     "how-to/partition.md", "reference/files.md", "how-to/own_rows.md"):
            for line in (ROOT / "docs" / name).read_text(encoding="utf-8").splitlines():
                if not re.search("pkg-config|cmake|bench|ctest|mpirun --|nsys ", line):
                    for option in OPTION.findall(line):
                        self.assertIn("--" + option, help_text, f"{name}: {line}")

    def test_reference(self):
        """Every option of spmm_dist and every variable SPMM_* that is read is in the reference."""
        reference = (ROOT / "docs/reference/spmm_dist.md").read_text(encoding="utf-8")
        help_text = (ROOT / "tools/driver/driver_help.c").read_text(encoding="utf-8")
        for option in sorted(set(OPTION.findall(help_text)) - {"help"}):
            self.assertRegex(reference, rf"--{option}(?![a-z-])")
        code = "".join(p.read_text(encoding="utf-8") for folder in ("src", "partition", "tools")
                       for p in (ROOT / folder).rglob("*.c"))
        names = set(re.findall(r'"(SPMM_[A-Z_]+)"', code))
        self.assertGreater(len(names), 3)
        for name in names:
            self.assertIn("`" + name, reference)

    def test_report(self):
        """Every key of the JSON report is in the page on files."""
        page = (ROOT / "docs/reference/files.md").read_text(encoding="utf-8")
        code = (ROOT / "tools/driver/driver_json.c").read_text(encoding="utf-8")
        keys = set(re.findall(r'dd\w+\(\w+, "(\w+)"', code.split("static int write_root")[0]))
        self.assertGreater(len(keys), 50)
        for key in keys:
            self.assertIn(f"`{key}`", page)

    def test_paths(self):
        """Files of the repository that documents name exist."""
        folders = "|".join(p.name for p in ROOT.iterdir()
                           if p.is_dir() and p.name[0] != "." and p.name != "build")
        pattern = re.compile(rf"`((?:{folders})/[\w./-]+)`")
        found = 0
        for path in documents():
            for name in pattern.findall(path.read_text(encoding="utf-8")):
                found += 1
                known = any((ROOT / (name + ending)).exists() for ending in ("", ".c"))
                self.assertTrue(known or "NAME" in name, f"{path}: {name}")
        self.assertGreater(found, 50)

    def test_pictures(self):
        pictures = [p for p in ROOT.rglob("*.svg") if "build" not in p.relative_to(ROOT).parts]
        self.assertGreater(len(pictures), 3)
        for path in pictures:
            self.assertTrue(ET.parse(path).getroot().tag.endswith("svg"), path)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, ROOT / "docs/pictures/draw.py", folder], check=True)
            drawn = sorted(os.listdir(folder))
            self.assertEqual(drawn, ["plan.svg", "schedules.svg", "windows.svg"])
            for name in drawn:
                self.assertEqual(pathlib.Path(folder, name).read_bytes(),
                                 (ROOT / "docs/pictures" / name).read_bytes(),
                                 f"run docs/pictures/draw.py: {name}")

    def test_versions(self):
        """The version in the README and the changelog is that of the header."""
        header = (ROOT / "include/spmm_dist/version.h").read_text(encoding="utf-8")
        version = re.search(r'SPMM_VERSION_STRING "(.*)"', header).group(1)
        for name in ("README.md", "CHANGELOG.md"):
            self.assertIn(version, (ROOT / name).read_text(encoding="utf-8"), name)


if __name__ == "__main__":
    unittest.main(verbosity=1)
