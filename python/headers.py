# SPDX-License-Identifier: Apache-2.0
"""What the public headers declare, for make_api.py, make_fortran.py and their tests."""
import collections
import re

COMMENT = re.compile(r"/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.M)
INCLUDE = re.compile(r'^#include "spmm_dist/(\w+\.h)"', re.M)
ABOVE = r"(?:/\*\*((?:(?!\*/).)*)\*/\s*)?"  # the comment above a declaration
ENUM = re.compile(ABOVE + r"(?:typedef )?enum\s*\{([^}]*)\}\s*(\w*)\s*;", re.S)
STRUCT = re.compile(ABOVE + r"typedef struct \{(.*?)\}\s*(\w+);", re.S)
FIELD = re.compile(r"([^;/*]+[\w*\s,]*?);\s*(?:/\*\*<(.*?)\*/)?", re.S)
CALL = re.compile(r"\bSPMM_API\s+([^;()]*?)(\w+)\s*\(([^)]*)\)\s*;")

Enum = collections.namedtuple("Enum", "comment name values")  # values: {name: number}
Struct = collections.namedtuple("Struct", "comment name fields")  # fields: (type, name, comment)
Function = collections.namedtuple("Function", "name result arguments")  # arguments: (type, name)


def texts(folder, name="spmm_dist.h", seen=None):
    """{name: text} of a header behind those that it includes."""
    seen = {} if seen is None else seen
    seen[name] = ""
    text = (folder / name).read_text(encoding="utf-8")
    for other in INCLUDE.findall(text):
        if other not in seen:
            texts(folder, other, seen)
    del seen[name]
    seen[name] = text
    return seen


def bare(text):
    """Neither comments nor directives."""
    return DIRECTIVE.sub("", COMMENT.sub(" ", text))


def words(comment):
    """A comment as one line of plain text."""
    return " ".join(line.strip().lstrip("*").strip()
                    for line in (comment or "").splitlines()).strip()


def declared(text):
    """`const double *a` as ("const double *", "a")."""
    kind, stars, name = re.fullmatch(r"(.*?)\s*((?:\*\s*)*)(\w+)", " ".join(text.split())).groups()
    return " ".join(filter(None, (kind, stars.replace(" ", "")))), name


def enums(text):
    for comment, body, name in ENUM.findall(text):
        values = {}
        for item in COMMENT.sub(" ", body).split(","):
            item, _, given = (part.strip() for part in item.partition("="))
            values[item] = int(given, 0) if given else max(values.values(), default=-1) + 1
        yield Enum(words(comment), name, values)


def structs(text):
    for comment, body, name in STRUCT.findall(text):
        fields = []
        for declaration, about in FIELD.findall(body):
            first, *more = declaration.split(",")
            kind, field = declared(first)
            fields += [(kind, one, words(about)) for one in [field] + [m.strip(" *") for m in more]]
        yield Struct(words(comment), name, fields)


def functions(text):
    for kind, name, arguments in CALL.findall(bare(text)):
        arguments = [] if arguments.strip() == "void" else arguments.split(",")
        yield Function(name, declared(kind + " x")[0], [declared(a) for a in arguments])
