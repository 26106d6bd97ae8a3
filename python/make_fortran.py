#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_fortran.py [--write]: the Fortran module as the public headers say, printed or written to
its place, include/spmm_dist/spmm_dist.f90."""
import pathlib
import sys
import textwrap

import headers

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "include" / "spmm_dist"
MODULE = FOLDER / "spmm_dist.f90"

# C functions that Fortran reaches under this name by an entry of fortran.h.
ENTRIES = {"spmm_context_create": "spmm_context_create_f",
           "spmm_plan_explain": "spmm_plan_explain_f"}
BYTES = {"c_int": 4, "c_int64_t": 8, "c_size_t": 8, "c_double": 8, "c_ptr": 8, "c_funptr": 8}
SCALARS = {"int": "integer(c_int)", "int64_t": "integer(c_int64_t)",
           "uint64_t": "integer(c_int64_t)", "size_t": "integer(c_size_t)",
           "double": "real(c_double)", "spmm_stream_t": "type(c_ptr)",
           "spmm_log_fn_t": "type(c_funptr)"}
INITIAL = {"type(c_ptr)": "c_null_ptr", "type(c_funptr)": "c_null_funptr"}
ARRAYS = {"spans", "rows"}  # that a function fills

HEAD = """\
! SPDX-License-Identifier: Apache-2.0
!> The C API for Fortran 2018: compile this file with the compiler of your program, link
!> libspmm_dist.  python/make_fortran.py writes it from the headers beside it, which document each
!> function; docs/how-to/fortran.md, what differs:
!> - Handles, buffers, streams and arrays of values are type(c_ptr): initialise handles by
!>   c_null_ptr, pass c_loc() of an array that has the target attribute.  Arrays of indices are
!>   passed as they are.
!> - Indices count from 0 as in C, also in row_ptr and col_idx.
!> - A communicator is the integer of module mpi; of mpi_f08 it is comm%MPI_VAL.
!> - spmm_plan_explain() takes the name of a file, to which it appends.  alpha and beta of
!>   spmm_execute_scaled() are c_loc() of a real or, for a complex A, complex number.
!>   SPMM_LAYOUT_COL is that of B(ldb, n).
!> - Texts given to the library end with c_null_char; spmm_string() turns those it returns into
!>   Fortran's.  A text that an option points to must live until the call returns.
!> - Options are optional arguments; absent, they are NULL in C.  They and the infos come
!>   initialised.  Options are targets: else gfortran takes it that what they point to is not used
!>   by the call.
!> - unsigned 64-bit integers are integer(c_int64_t).
!> struct_size has the sizes of 64-bit machines.
module spmm_dist
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_pointer, c_funptr, &
    c_int, c_int32_t, c_int64_t, c_null_funptr, c_null_ptr, c_ptr, c_size_t
  implicit none
  private :: c_associated, c_char, c_double, c_f_pointer, c_funptr, c_int, c_int32_t, c_int64_t, &
    c_null_funptr, c_null_ptr, c_ptr, c_size_t, c_strlen
"""
TAIL = """\

  abstract interface
    !> Option log of a context: c_funloc() of such a procedure.
    subroutine spmm_log_fn_t(user, line) bind(c)
      import
      type(c_ptr), value :: user, line
    end subroutine
  end interface
  interface
    function c_strlen(text) result(length) bind(c, name='strlen')
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  !> A text of C as one of Fortran, for example spmm_string(spmm_last_error(ctx)); '' for
  !> c_null_ptr.
  function spmm_string(text) result(string)
    type(c_ptr), intent(in) :: text
    character(len=:), allocatable :: string
    character(kind=c_char), pointer :: letters(:)
    integer :: i, length

    length = 0
    if (c_associated(text)) length = int(c_strlen(text))
    allocate (character(len=length) :: string)
    if (length == 0) return
    call c_f_pointer(text, letters, [length])
    do i = 1, length
      string(i:i) = letters(i)
    end do
  end function
end module"""


def joined(indent, statement):
    """A statement, continued where it is too long, but not within `name = value`."""
    parts = textwrap.wrap(statement.replace(" = ", "~=~"), 98, initial_indent=indent,
                          subsequent_indent=indent + "  ", break_long_words=False,
                          break_on_hyphens=False)
    return " &\n".join(parts).replace("~", " ")


def grouped(pairs):
    """[(kind, names), ...] of successive pairs of one kind."""
    found = []
    for kind, name in pairs:
        if not found or found[-1][0] != kind:
            found.append((kind, []))
        found[-1][1].append(name)
    return [(kind, ", ".join(names)) for kind, names in found]


class Module:
    def __init__(self, folder):
        self.texts = headers.texts(folder)
        text = "".join(self.texts.values())
        self.enums, self.structs = list(headers.enums(text)), list(headers.structs(text))
        self.scalars = {**SCALARS, **{e.name: SCALARS["int"] for e in self.enums}}
        self.names = {s.name for s in self.structs}
        self.entries = {f.name: f for f in headers.functions(self.texts["fortran.h"])}
        self.sizes = {}

    def field(self, kind):
        if kind in self.names:
            return f"type({kind})"
        return "type(c_ptr)" if kind.endswith("*") else self.scalars[kind]

    def argument(self, kind, name):
        """What an argument is declared as, and its name there."""
        if not kind.endswith("*"):
            return self.scalars[kind] + ", value", name
        if kind.endswith("**"):
            return "type(c_ptr), intent(inout)", name
        const, base = kind.startswith("const "), kind.replace("const ", "").rstrip(" *")
        if base in self.names:
            if const:
                return f"type({base}), intent(in), optional, target", name
            return f"type({base}), intent(inout)", name + "(*)" * (name in ARRAYS)
        if base == "char":
            return "character(kind=c_char), intent(in)", name + "(*)"
        if base in ("int", "int32_t", "int64_t"):
            intent = "in" if const else "inout"
            return (f"integer(c_{base}), intent({intent})",
                    name + "(*)" * (const or name in ARRAYS))
        return "type(c_ptr), value", name  # handles and memory

    def size(self, kind):
        """Bytes of a field and its alignment, on 64-bit machines."""
        name = kind[kind.index("(") + 1:-1]
        return self.sizes[name] if name in self.sizes else (BYTES[name], BYTES[name])

    def struct(self, struct):
        fields = [(self.field(kind), name) for kind, name, _ in struct.fields]
        at, widest = 0, 1
        for kind, _ in fields:
            size, align = self.size(kind)
            at, widest = -(-at // align) * align + size, max(widest, align)
        self.sizes[struct.name] = total, _ = -(-at // widest) * widest, widest
        yield f"\n  type, bind(c) :: {struct.name}"
        for kind, names in grouped((kind, f"{name} = " + (
                str(total) if name == "struct_size" else f"{kind[5:-1]}()"
                if kind[5:-1] in self.names else INITIAL.get(kind, "0"))) for kind, name in fields):
            yield joined("    ", f"{kind} :: {names}")
        yield "  end type"

    def function(self, function):
        symbol = ENTRIES.get(function.name, function.name)
        arguments = self.entries.get(symbol, function).arguments
        result = "type(c_ptr)" if function.result.endswith("*") else self.scalars[function.result]
        bound = "bind(c)" if symbol == function.name else f"bind(c, name='{symbol}')"
        yield joined("    ", f"{result} function {function.name}"
                          f"({', '.join(name for _, name in arguments)}) {bound}")
        yield "      import"
        kinds = {}
        for kind, name in (self.argument(*a) for a in arguments):
            kinds.setdefault(kind, []).append(name)
        for kind, names in kinds.items():
            yield joined("      ", f"{kind} :: {', '.join(names)}")
        yield "    end function"

    def write(self):
        yield HEAD
        for enum in self.enums:
            if enum.comment:
                yield "  ! " + enum.comment.partition(".  ")[0].rstrip(".")
            values = ", ".join(f"{name} = {value}" for name, value in enum.values.items())
            yield joined("  ", f"integer(c_int), parameter :: {values}")
        for struct in self.structs:
            yield from self.struct(struct)
        for name, text in self.texts.items():
            found = [f for f in headers.functions(text) if f.name not in self.entries]
            if found:
                yield f"\n  ! {name}\n  interface"
                for function in found:
                    yield from self.function(function)
                yield "  end interface"
        yield TAIL


def main():
    text = "\n".join(Module(FOLDER).write()) + "\n"
    if "--write" in sys.argv[1:]:
        MODULE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
