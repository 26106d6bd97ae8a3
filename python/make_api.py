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

import headers

TYPES = {
    "int": "int", "int64_t": "int", "uint64_t": "int", "size_t": "int", "double": "float",
    "const char *": "str", "spmm_type_t": "str", "const int64_t *": "numpy.ndarray[Any, Any]",
}


def declarations(text):
    """What cffi reads: no function of an MPI_Comm or a FILE."""
    text = re.sub(r'extern "C" \{|^\}$', "", headers.bare(text), flags=re.M)
    text = re.sub(r"SPMM_API[^;]*\b(MPI_Comm|FILE)\b[^;]*;", "", text)
    return re.sub(r"\n\s*\n+", "\n", text.replace("SPMM_API", ""))


def words(comment):
    """What a Python program is to know of a comment."""
    text = re.sub(r"; (static storage|borrowed|owned by the context)$", "", comment)
    return re.sub(r"@p (\w+)", r"`\1`", text)


def wrapped(text, indent):
    return textwrap.fill(text, 96, initial_indent=" " * indent, subsequent_indent=" " * indent)


def class_name(struct):
    """`PlanStats` of `spmm_plan_stats_t`."""
    return struct[len("spmm_"):-len("_t")].title().replace("_", "")


def write_structs(text):
    """Of all structs but options, which the package fills itself."""
    lines = ["# SPDX-License-Identifier: Apache-2.0",
             '"""What the library fills; written by make_api.py from the public headers."""',
             "from __future__ import annotations", "", "from dataclasses import dataclass",
             "from typing import Any, Dict", "", "import numpy", "",
             "from ._shown import Shown", ""]
    types = dict(TYPES)
    for comment, struct, fields in headers.structs(text):
        if struct.endswith("_options_t"):
            continue
        types[struct] = class_name(struct)
        members = [(kind, name, words(about)) for kind, name, about in fields
                   if name != "struct_size"]
        lines += ["", "@dataclass(frozen=True)", f"class {types[struct]}(Shown):",
                  wrapped('"""' + words(comment), 4), "", "    Attributes", "    ----------"]
        for kind, member, about in members:
            lines += [f"    {member} : {types[kind]}", wrapped(about, 8)]
        lines += ['    """', ""] + [f"    {n}: {types[k]}" for k, n, _ in members] + [""]
    made = {struct: name for struct, name in types.items() if struct not in TYPES}
    lines += ["", "CLASSES: Dict[str, Any] = {"]
    lines += [f'    "{s}": {name},' for s, name in made.items()] + ["}"]
    lines += ["__all__ = ["] + [f'    "{name}",' for name in made.values()] + ["]", ""]
    return "\n".join(lines)


def main():
    include, folder = (pathlib.Path(name) for name in sys.argv[1:])
    text = "".join(headers.texts(include / "spmm_dist").values())
    ffi = cffi.FFI()
    ffi.cdef(declarations(text))
    ffi.set_source("_capi", None)
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.redirect_stdout(None):
        ffi.emit_python_code(str(folder / "_capi.py"))
    (folder / "_structs.py").write_text(write_structs(text), encoding="utf-8")


if __name__ == "__main__":
    main()
