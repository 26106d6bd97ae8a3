# SPDX-License-Identifier: Apache-2.0
"""make_api.py INCLUDE FOLDER: writes, from the public headers below INCLUDE, what the package knows
of the C library, so that the two cannot differ:

_capi.py      types, constants, structs and functions for cffi (ABI mode: no compiler, no mpi.h)
_structs.py   a dataclass for each struct that the library fills, with the comments of its fields
"""
import contextlib
import pathlib
import re
import sys
import textwrap

import cffi

COMMENT = re.compile(r"/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.M)
INCLUDE = re.compile(r'^#include "spmm_dist/(\w+\.h)"', re.M)
STRUCT = re.compile(r"(?:/\*\*((?:(?!\*/).)*)\*/\s*)?typedef struct \{(.*?)\}\s*(\w+);", re.S)
FIELD = re.compile(r"([^;/*]+[\w*\s,]*?);\s*(?:/\*\*<(.*?)\*/)?", re.S)

TYPES = {
    "int": "int", "int64_t": "int", "uint64_t": "int", "size_t": "int", "double": "float",
    "const char *": "str", "spmm_type_t": "str", "const int64_t *": "numpy.ndarray",
}


def read_headers(folder, name="spmm_dist.h", seen=None):
    """The text of a header behind those that it includes."""
    seen = [] if seen is None else seen
    seen.append(name)
    text = (folder / name).read_text(encoding="utf-8")
    for other in INCLUDE.findall(text):
        if other not in seen:
            yield from read_headers(folder, other, seen)
    yield text


def declarations(text):
    """What cffi reads: no comments, no directives, no function of an MPI_Comm or a FILE."""
    text = DIRECTIVE.sub("", COMMENT.sub(" ", text))
    text = re.sub(r'extern "C" \{|^\}$', "", text, flags=re.M)
    text = re.sub(r"SPMM_API[^;]*\b(MPI_Comm|FILE)\b[^;]*;", "", text)
    return re.sub(r"\n\s*\n+", "\n", text.replace("SPMM_API", ""))


def words(comment):
    """A comment as one line of plain text."""
    text = " ".join(line.strip().lstrip("*").strip() for line in (comment or "").splitlines())
    text = re.sub(r"; (static storage|borrowed|owned by the context)$", "", text.strip())
    return re.sub(r"@p (\w+)", r"`\1`", text)


def fields(body):
    """(type, name, comment) of each field."""
    for declaration, comment in FIELD.findall(body):
        first, *more = declaration.split(",")
        kind, name = re.fullmatch(r"\s*(.*?[\s*])(\w+)\s*", first, re.S).groups()
        kind = " ".join(kind.split())
        for one in [name] + [m.strip(" *") for m in more]:
            if one != "struct_size":
                yield kind, one, words(comment)


def wrapped(text, indent):
    return textwrap.fill(text, 96, initial_indent=" " * indent, subsequent_indent=" " * indent)


def class_name(struct):
    """`PlanStats` of `spmm_plan_stats_t`."""
    return struct[len("spmm_"):-len("_t")].title().replace("_", "")


def write_structs(text):
    """Of all structs but options, which the package fills itself."""
    lines = ["# SPDX-License-Identifier: Apache-2.0",
             '"""What the library fills; written by make_api.py from the public headers."""',
             "from dataclasses import dataclass", "", "import numpy", ""]
    types = dict(TYPES)
    for comment, body, struct in STRUCT.findall(text):
        if struct.endswith("_options_t"):
            continue
        types[struct], members = class_name(struct), list(fields(body))
        lines += ["", "@dataclass(frozen=True)", f"class {types[struct]}:",
                  wrapped('"""' + words(comment), 4), "", "    Attributes", "    ----------"]
        for kind, member, about in members:
            lines += [f"    {member} : {types[kind]}", wrapped(about, 8)]
        lines += ['    """', ""] + [f"    {n}: {types[k]}" for k, n, _ in members] + [""]
    made = {struct: name for struct, name in types.items() if struct not in TYPES}
    lines += ["", "CLASSES = {"] + [f'    "{s}": {name},' for s, name in made.items()] + ["}"]
    lines += ["__all__ = ["] + [f'    "{name}",' for name in made.values()] + ["]", ""]
    return "\n".join(lines)


def main():
    include, folder = (pathlib.Path(name) for name in sys.argv[1:])
    text = "".join(read_headers(include / "spmm_dist"))
    ffi = cffi.FFI()
    ffi.cdef(declarations(text))
    ffi.set_source("_capi", None)
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.redirect_stdout(None):
        ffi.emit_python_code(str(folder / "_capi.py"))
    (folder / "_structs.py").write_text(write_structs(text), encoding="utf-8")


if __name__ == "__main__":
    main()
