# SPDX-License-Identifier: Apache-2.0
"""page.py FILE [--write]: run the Python of a document, block after block, on all ranks, and
compare what rank 0 prints with the text behind each block; --write puts it there."""
import contextlib
import difflib
import io
import re
import sys

from mpi4py import MPI

BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.S)


def main():
    path, write = sys.argv[1], "--write" in sys.argv
    with open(path, encoding="utf-8") as page:
        text = page.read()
    namespace = {}

    def run(block):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.group(1), path, "exec"), namespace)
        said = printed.getvalue()
        return f"```python\n{block.group(1)}```\n" + (f"\n```text\n{said}```\n" if said else "")

    made, count = BLOCK.subn(run, text)
    assert count > 5
    if MPI.COMM_WORLD.rank > 0 or made == text:
        return
    if write:
        with open(path, "w", encoding="utf-8") as page:
            page.write(made)
        return
    print("".join(difflib.unified_diff(text.splitlines(True), made.splitlines(True), path,
                                       "as it runs")))
    sys.exit(f"{path} prints something else: run page.py --write on two ranks")


if __name__ == "__main__":
    main()
