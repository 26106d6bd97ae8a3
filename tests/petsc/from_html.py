#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""from_html.py PAGE OUT: the source of a page that c2html made, as Debian packages the examples of
SLEPc and PETSc: without marks, line numbers, and the lines above and below the program."""
import html
import pathlib
import re
import sys

page, out = map(pathlib.Path, sys.argv[1:])
text = page.read_text()
text = text[text.index("<pre width") :]
text = text[text.index("\n") + 1 : text.rindex("</pre>")]
# Tags stand only where characters of the program are escaped.
lines = [html.unescape(re.sub(r"<[^<>]*>", "", line)) for line in text.splitlines()]
out.write_text("\n".join(re.sub(r"^ *\d+: ", "", line) for line in lines) + "\n")
