# SPDX-License-Identifier: Apache-2.0
"""The package says what the headers say: sizes, offsets and initial values by the compiler, options
and methods by name.  One rank."""
import dataclasses
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest
from mpi4py import MPI

import spmm_dist
from spmm_dist import _library
from spmm_dist._capi import ffi

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import headers  # noqa: E402
import make_fortran  # noqa: E402

TEXT = "".join(headers.texts(ROOT / "include" / "spmm_dist").values())
pytestmark = pytest.mark.skipif(MPI.COMM_WORLD.size > 1, reason="one rank does")

# What a Python program has no use for.
UNUSED = {"spmm_context_create", "spmm_plan_explain", "spmm_buffer_alloc", "spmm_buffer_free",
          "spmm_buffer_copy"}  # arrays are those of NumPy, CuPy and torch


PROBE = """#include <stdio.h>
#include <spmm_dist/spmm_dist.h>
#define FIELD(name, field) put(#name "." #field, offsetof(name, field), &v.field, sizeof v.field);
static void put(const char *name, size_t offset, const void *field, size_t size)
{
    printf("%s %zu ", name, offset);
    for (size_t i = 0; i < size; i++) printf("%02x", ((const unsigned char *)field)[i]);
    puts("");
}
"""


def probe_structs(folder):
    """What the compiler says: (struct, size), (struct.field, offset, initial bytes)."""
    text = ""
    for _, name, fields in headers.structs(TEXT):
        initial = name[:-2].upper() + "_INIT"
        if f"#define {initial}" not in TEXT:
            initial = "{.struct_size = sizeof v}" if fields[0][1] == "struct_size" else "{0}"
        text += f'    {{ {name} v = {initial}; printf("{name} %zu\\n", sizeof v);\n'
        text += "".join(f"    FIELD({name}, {field})\n" for _, field, _ in fields) + "    }\n"
    (folder / "c.c").write_text(PROBE + f"int main(void)\n{{\n{text}}}\n", encoding="utf-8")
    subprocess.run([os.environ.get("MPICC", "mpicc"), "-I", str(ROOT / "include"), "c.c", "-o",
                    "c"], cwd=folder, check=True)
    printed = subprocess.run(["./c"], cwd=folder, check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    return [line.split() for line in printed.splitlines()]


def test_structs(tmp_path):
    """For cffi; and the sizes that the Fortran module has."""
    seen, fortran = 0, make_fortran.Module(ROOT / "include" / "spmm_dist")
    list(fortran.write())
    for name, number, *initial in probe_structs(tmp_path):
        struct, _, field = name.partition(".")
        if not field:
            assert ffi.sizeof(struct) == fortran.sizes[struct][0] == int(number)
            continue
        seen += 1
        assert ffi.offsetof(struct, field) == int(number), name
        size = len(initial[0]) // 2
        made = ffi.new(struct + " *")
        if field == "struct_size":  # the package fills it in and leaves the rest zero
            made.struct_size = ffi.sizeof(struct)
        assert bytes(ffi.buffer(made))[int(number):int(number) + size].hex() == initial[0]
    assert seen > 80


def test_constants_and_functions():
    for enum in headers.enums(TEXT):
        for name, value in enum.values.items():
            assert getattr(_library.lib, name) == value
    package = "".join(p.read_text(encoding="utf-8") for p in
                      (ROOT / "python" / "spmm_dist").glob("*.py"))
    for function in headers.functions(TEXT):
        if function.name not in UNUSED:
            # components() makes the names of three.
            called = re.sub(r"_(engine|transport|partitioner)_info$", "_{name}_info",
                            function.name)
            assert re.search(re.escape(called) + r"\b", package), f"nothing calls {called}"
            assert getattr(_library.lib, function.name)


@pytest.mark.parametrize("struct, function, other", [
    ("spmm_plan_options_t", spmm_dist.Plan.__init__, {"A", "n"}),
    ("spmm_scale_options_t", spmm_dist.Matrix.scale, {"n"}),
    ("spmm_sddmm_options_t", spmm_dist.Sddmm.__init__, {"mask", "k"}),
    ("spmm_attention_options_t", spmm_dist.Attention.__init__, {"mask", "heads", "k"}),
    ("spmm_context_options_t", spmm_dist.Context.__init__, {"comm"}),
])
def test_options(struct, function, other):
    """Every option is a keyword, and described."""
    fields = {name for name, _ in ffi.typeof(struct).fields} - {"struct_size", "log_user"}
    keywords = set(inspect.signature(function).parameters) - other - {"self"}
    assert keywords == fields
    described = function.__doc__ or getattr(spmm_dist, function.__qualname__.partition(".")[0]
                                            ).__doc__
    for name in fields:
        assert re.search(rf"^ +(\w+, )*{name}\b", described, re.M), name


def test_version():
    """The package's is written down, so that a copy of its folder alone can be built."""
    written = re.search(r'^version = "(.+?)"', (ROOT / "python" / "pyproject.toml").read_text(
        encoding="utf-8"), re.M)
    assert written and written[1] == spmm_dist.__version__


def test_documented():
    """Everything public has a docstring; results are dataclasses with one line for each field."""
    for name in spmm_dist.__all__:
        thing = getattr(spmm_dist, name)
        assert inspect.getdoc(thing), name
        if dataclasses.is_dataclass(thing):
            assert all(f"{f.name} : " in thing.__doc__ for f in dataclasses.fields(thing))
        for method, value in vars(thing).items() if inspect.isclass(thing) else ():
            if method[0] != "_" and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{method}"
    assert spmm_dist.__version__ == _library._build.VERSION


FAKE = """#include <string.h>
const char *spmm_version(void) { return VERSION; }
int spmm_type_size(int type) { return type; }
int MPI_Comm_dup(void) { return 0; }
int MPI_Get_library_version(char *text, int *n)
{
    *n = (int)strlen(strcpy(text, "Toy MPI 1"));
    return 0;
}
"""


@pytest.mark.parametrize("version, sentence", [
    (spmm_dist.__version__, "was built with the MPI 'Toy MPI 1', mpi4py with '"),
    ("7.1.0", "is spmm_dist 7.1.0, but this package was built for"),
    (None, "could not be loaded: .*SPMM_LIBRARY")])
def test_wrong_library(tmp_path, version, sentence):
    """Another MPI, another version, no library: a sentence in place of a crash."""
    fake = tmp_path / "libfake.so"
    if version:
        (tmp_path / "f.c").write_text(FAKE, encoding="utf-8")
        subprocess.run(["cc", "-shared", "-fPIC", f'-DVERSION="{version}"', "f.c", "-o", str(fake)],
                       cwd=tmp_path, check=True)
    # MPI must not start here: this process is a rank, and its child would pass for the same.
    program = "import mpi4py; mpi4py.rc.initialize = False; import spmm_dist; spmm_dist.Context()"
    ended = subprocess.run([sys.executable, "-c", program],
                           env=dict(os.environ, SPMM_LIBRARY=str(fake)), text=True, check=False,
                           stderr=subprocess.PIPE)
    assert ended.returncode == 1 and re.search(sentence, ended.stderr.splitlines()[-1])
