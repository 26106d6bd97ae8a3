# SPDX-License-Identifier: Apache-2.0
"""For MkDocs: the kinds of pages in the navigation, in the order of the README; links to what is no
page become text."""
import pathlib
import posixpath
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
LICENCE = re.compile(r"\A<!--.*?-->\s*")  # after it, MkDocs sees no title
LIST = re.compile(r"^[^\s-].*\n(?=- )", re.M)  # in a paragraph, to MkDocs alone
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#]+)[^)]*\)")
KINDS = "Tutorial", "How-to", "Reference", "Explanation"


def on_config(config):
    top = pathlib.Path(config.docs_dir)
    readme = (top / "README.md").read_text(encoding="utf-8")
    names = sorted((str(path.relative_to(top)) for path in top.rglob("*.md")),
                   key=lambda name: (readme.find(name) if name in readme else len(readme), name))
    kinds = {kind: [n for n in names if n.startswith(f"docs/{kind.lower()}/")] for kind in KINDS}
    kinds["Project"] = [n for n in names if not n.startswith("docs/") and n != "README.md"]
    config.nav = ["README.md", *({kind: of} for kind, of in kinds.items()),
                  {"Functions": "api/index.html"}]


def on_page_markdown(markdown, page, files, **_):
    def link(match):
        words, target = match.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), target))
        is_page = files.get_file_from_path(path) is not None
        return words if not is_page and (ROOT / path).exists() else match.group()

    return LINK.sub(link, LIST.sub(r"\g<0>\n", LICENCE.sub("", markdown)))
