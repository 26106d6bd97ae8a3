# SPDX-License-Identifier: Apache-2.0
"""What the public headers declare, and what the Fortran module declares, as plain lists."""
import collections
import pathlib
import re

Function = collections.namedtuple("Function", "name result arguments symbol")  # symbol: of bind(c)
Struct = collections.namedtuple("Struct", "name fields")  # fields: (type, name)

COMMENT = re.compile(r"/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.M)
ENUM = re.compile(r"\benum\s*\{([^}]*)\}\s*(\w*)\s*;")
STRUCT = re.compile(r"\btypedef struct\s*\{([^}]*)\}\s*(\w+)\s*;")
CALL = re.compile(r"\bSPMM_API\s+([^;()]*?)(\w+)\s*\(([^)]*)\)\s*;")


def c_declaration(text):
    """`const double *a` as ("const double *", "a")."""
    kind, stars, name = re.fullmatch(r"(.*?)\s*((?:\*\s*)*)(\w+)", " ".join(text.split())).groups()
    stars = stars.replace(" ", "")
    return (f"{kind} {stars}" if stars else kind), name


def c_fields(body):
    fields = []
    for line in filter(None, (" ".join(part.split()) for part in body.split(";"))):
        first, *more = line.split(",")
        kind, name = c_declaration(first)
        fields.append((kind, name))
        for name in more:  # `const char *a, *b`
            fields.append(c_declaration(kind.rstrip("* ") + " " + name))
    return fields


class Headers:
    """enums: {name: value}, enum_types: set, structs, functions: of all headers, in their order."""

    def __init__(self, folder):
        self.enums, self.enum_types, self.structs, self.functions = {}, set(), [], []
        self.initial = set()  # structs with an _INIT macro
        for path in sorted(pathlib.Path(folder).glob("*.h")):
            self.read(path.read_text(encoding="utf-8"))

    def read(self, text):
        text = COMMENT.sub(" ", text)
        for name in re.findall(r"#define (SPMM_\w+)_INIT\b", text):
            self.initial.add(name.lower() + "_t")
        text = DIRECTIVE.sub("", text)
        for body, name in ENUM.findall(text):
            value = -1
            for item in body.split(","):
                item, _, given = (part.strip() for part in item.partition("="))
                value = int(given, 0) if given else value + 1
                self.enums[item] = value
            self.enum_types.add(name)
        self.enum_types.discard("")
        self.structs += [Struct(name, c_fields(body)) for body, name in STRUCT.findall(text)]
        for kind, name, arguments in CALL.findall(text):
            arguments = [] if arguments.strip() == "void" else arguments.split(",")
            self.functions.append(Function(name, c_declaration(kind + " x")[0],
                                           [c_declaration(a) for a in arguments], name))


def fortran_lines(text):
    """Statements: no comments, continued lines joined, blanks collapsed.  Texts hold no ! or &."""
    text = re.sub(r"!.*", "", text)
    text = re.sub(r"&\s*\n\s*&?", " ", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def fortran_declaration(line):
    """`type(c_ptr), value :: a, b` as [("type(c_ptr), value", "a"), ...]; initial values go."""
    kind, names = line.split(" :: ")
    found = []
    for name in re.split(r",\s*(?![^(]*\))", names):
        name = name.partition("=")[0].strip()
        array = name.endswith("(*)")
        found.append((kind + (" (*)" if array else ""), name[:-3] if array else name))
    return found


class Module:
    """parameters: {name: value}, structs, functions with bind(c), procedures without."""

    def __init__(self, path):
        self.parameters, self.structs, self.functions, self.procedures = {}, [], [], []
        lines = iter(fortran_lines(pathlib.Path(path).read_text(encoding="utf-8")))
        for line in lines:
            constant = re.fullmatch(r"integer\(c_int\), parameter :: (.*)", line)
            if constant:
                for item in constant.group(1).split(","):
                    name, value = item.split("=")
                    self.parameters[name.strip()] = int(value)
            elif line.startswith("type, bind(c) :: "):
                self.structs.append(Struct(line.split(" :: ")[1], self.fields(lines)))
            elif re.match(r"(function|subroutine) ", line):
                self.function(line, lines)

    @staticmethod
    def fields(lines):
        found = []
        for line in lines:
            if line.startswith("end type"):
                return found
            found += fortran_declaration(line)
        raise ValueError("a type without an end")

    def function(self, line, lines):
        name, dummies = re.match(r"(?:function|subroutine) (\w+)\(([^)]*)\)", line).groups()
        result = re.search(r"result\((\w+)\)", line)
        bound = re.search(r"bind\(c(?:, name='(\w+)')?\)", line)
        declared = {}
        for inner in lines:
            if re.match(r"end (function|subroutine)", inner):
                break
            if " :: " in inner:
                declared.update((n, kind) for kind, n in fortran_declaration(inner))
        if not bound:
            self.procedures.append(name)
            return
        arguments = [(declared.get(d.strip()), d.strip()) for d in dummies.split(",") if d.strip()]
        self.functions.append(Function(name, declared[result.group(
            1)] if result else None, arguments, bound.group(1) or name))
