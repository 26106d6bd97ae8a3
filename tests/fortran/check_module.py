#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Fortran module says what the public headers say: each function with its arguments, each
struct with its fields, each value of an enum.

check_module.py               by their texts
check_module.py FC MPICC      also by their compilers: size of each struct; offset, size and initial
                              value of each field"""
import pathlib
import re
import subprocess
import sys
import tempfile

from declarations import Headers, Module

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "spmm_dist"
MODULE = HEADERS / "spmm_dist.f90"

# C functions that Fortran reaches under this name by an entry of fortran.h.
ENTRIES = {"spmm_context_create": "spmm_context_create_f",
     "spmm_plan_explain": "spmm_plan_explain_f"}
SCALARS = {
    "int": "integer(c_int)",
    "int64_t": "integer(c_int64_t)",
    "uint64_t": "integer(c_int64_t)",
    "size_t": "integer(c_size_t)",
    "double": "real(c_double)",
    "spmm_stream_t": "type(c_ptr)",
     "spmm_log_fn_t": "type(c_funptr)"}
ARRAYS = {"spans", "rows"}  # that a function fills


class Rules:
    """What a type of C is in the module."""

    def __init__(self, headers):
        self.scalars = dict(SCALARS, **{name: "integer(c_int)" for name in headers.enum_types})
        self.structs = {s.name for s in headers.structs}

    def field(self, kind):
        if kind in self.structs:
            return f"type({kind})"
        return "type(c_ptr)" if kind.endswith("*") else self.scalars[kind]

    def argument(self, kind, name):
        if not kind.endswith("*"):
            return self.scalars[kind] + ", value"
        if kind.endswith("**"):
            return "type(c_ptr), intent(inout)"
        const, base = kind.startswith("const "), kind.replace("const ", "").rstrip(" *")
        if base in self.structs:
            base = f"type({base})"
            if const:
                return base + ", intent(in), optional, target"
        elif base == "char":
            return "character(kind=c_char), intent(in) (*)"
        elif base in ("int", "int32_t", "int64_t"):
            base = f"integer(c_{base})"
            if const:
                return base + ", intent(in) (*)"
        else:
            return "type(c_ptr), value"  # handles and memory
        return base + ", intent(inout)" + (" (*)" if name in ARRAYS else "")


def compare(headers, module):
    """What differs, in sentences."""
    rules, bad = Rules(headers), []

    def differ(what, c, fortran):
        if c != fortran:
            bad.append(f"{what}: {c} by the headers, {fortran} in the module")

    differ("constants", {k: v for k, v in sorted(headers.enums.items())},
           {k: v for k, v in sorted(module.parameters.items())})
    differ(
    "structs", sorted(
        s.name for s in headers.structs), sorted(
            s.name for s in module.structs))
    of_module = {s.name: s.fields for s in module.structs}
    for struct in headers.structs:
        differ(struct.name, [(rules.field(kind), name) for kind, name in struct.fields],
               of_module.get(struct.name))
    in_c = {f.name: f for f in headers.functions}
    wanted = {name for name in in_c if name not in ENTRIES.values()}
    bound = {f.name: f for f in module.functions if f.name.startswith("spmm_") and
             f.name != "spmm_log_fn_t"}
    differ("functions", sorted(wanted), sorted(bound))
    for name in sorted(wanted & set(bound)):
        c = in_c[ENTRIES.get(name, name)]
        differ(f"symbol of {name}", c.name, bound[name].symbol)
        differ(f"arguments of {name}", [(rules.argument(*a), a[1]) for a in c.arguments],
               bound[name].arguments)
        differ(f"result of {name}",
               "type(c_ptr)" if c.result.endswith("*") else rules.scalars[c.result],
               bound[name].result)
    return bad


def check_able_to_fail(headers):
    """Each of these faults is found."""
    text = MODULE.read_text(encoding="utf-8")
    faults = [(r"SPMM_ERR_IO = -4", "SPMM_ERR_IO = -5"), (r", SPMM_OP_T = 1", ""),
              (r"    integer\(c_int\) :: graph = 0\n", ""),
              (r"(    type\(c_ptr\) :: engine = c_null_ptr\n)(.*\n)", r"\2\1"),
              (r"real\(c_double\) :: imbalance", "integer(c_int64_t) :: imbalance"),
              (r"    function spmm_plan_gather\((?:.*\n)*?    end function\n", ""),
              (r"type\(c_ptr\), value :: plan", "type(c_ptr) :: plan"),
              (r"alpha, B, ldb, beta, C", "alpha, B, beta, ldb, C"),
              (r"_create_f'", "_create'"),
              (r"integer\(c_size_t\) :: bytes\n", r"integer(c_int) :: bytes\n")]
    with tempfile.TemporaryDirectory() as folder:
        broken = pathlib.Path(folder, "broken.f90")
        for pattern, to in faults:
            changed = re.sub(pattern, to, text, count=1)
            assert changed != text, f"{pattern} is not in the module"
            broken.write_text(changed, encoding="utf-8")
            assert compare(headers, Module(broken)), f"not found: {pattern} became {to}"


C_PROBE = """#include <spmm_dist/spmm_dist.h>
static void put(const char *name, size_t offset, const void *field, size_t size)
{
    printf("%s %zu ", name, offset);
    for (size_t i = 0; i < size; i++) printf("%02X", ((const unsigned char *)field)[i]);
    printf("\\n");
}
int main(void)
{
"""
FORTRAN_PROBE = """program probe
  use, intrinsic :: iso_c_binding
  use spmm_dist
  implicit none
{calls}
contains
  subroutine put(name, base, field, size)
    character(len=*), intent(in) :: name
    type(c_ptr), intent(in) :: base, field
    integer(c_size_t), intent(in) :: size
    integer(c_int8_t), pointer :: bytes(:)
    call c_f_pointer(field, bytes, [size])
    print '(a, 1x, i0, 1x, *(z2.2))', name, &
      transfer(field, 0_c_intptr_t) - transfer(base, 0_c_intptr_t), bytes
  end subroutine
{subroutines}end program
"""


def c_probe(headers):
    text = C_PROBE
    for name, fields in headers.structs:
        initial = name[:-2].upper() + "_INIT" if name in headers.initial else "{0}"
        text += f"    {{ {name} v = {initial};\n"
        if fields[0][1] == "struct_size":
            text += "    v.struct_size = sizeof v;\n" if initial == "{0}" else ""
        text += f'    printf("{name} %zu\\n", sizeof v);\n'
        for _, field in fields:
            text += (f'    put("{name}.{field}", offsetof({name}, {field}), &v.{field}, '
                     f"sizeof v.{field});\n")
        text += "    }\n"
    return text + "    return 0;\n}\n"


def fortran_probe(headers):
    calls = subroutines = ""
    for name, fields in headers.structs:
        calls += f"  call put_{name}()\n"
        subroutines += f"  subroutine put_{name}()\n    type({name}), target :: v\n"
        subroutines += f"    print '(a, 1x, i0)', '{name}', c_sizeof(v)\n"
        for _, field in fields:
            subroutines += (f"    call put('{name}.{field}', c_loc(v), c_loc(v%{field}), &\n"
                            f"      c_sizeof(v%{field}))\n")
        subroutines += "  end subroutine\n"
    return FORTRAN_PROBE.format(calls=calls.rstrip("\n"), subroutines=subroutines)


def probe(headers, fortran, mpicc):
    with tempfile.TemporaryDirectory() as folder:
        where = pathlib.Path(folder)
        (where / "c.c").write_text(c_probe(headers), encoding="utf-8")
        (where / "f.f90").write_text(fortran_probe(headers), encoding="utf-8")
        for command in ([mpicc, "-I", str(ROOT / "include"), "c.c", "-o", "c"],
                        [fortran, str(MODULE), "f.f90", "-o", "f"]):
            subprocess.run(command, cwd=where, check=True)
        c, f = (subprocess.run(["./" + name], cwd=where, check=True, text=True,
                               stdout=subprocess.PIPE).stdout.splitlines() for name in "cf")
    assert len(c) > 100, c
    bad = [f"{a} by the headers, {b} in the module" for a, b in zip(c, f) if a != b]
    if len(c) != len(f):
        bad.append(f"{len(c)} lines by C, {len(f)} by Fortran")
    return bad


def main():
    headers = Headers(HEADERS)
    assert len(headers.functions) > 40 and len(
        headers.structs) > 9, "the headers were not understood"
    bad = compare(headers, Module(MODULE))
    if not bad:
        check_able_to_fail(headers)
    if len(sys.argv) > 2:
        bad += probe(headers, *sys.argv[1:3])
    print("\n".join(bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
