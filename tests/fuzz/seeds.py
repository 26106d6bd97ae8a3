# SPDX-License-Identifier: Apache-2.0
"""Write the seed inputs below corpus/.  What fuzzing found lies there too, under finding-*."""
import gzip
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent / "corpus"
BANNER = "%%MatrixMarket matrix "


def put(folder, name, content):
    path = HERE / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def packed(text):
    return gzip.compress(text.encode(), mtime=0)


def csr(rows, cols, nnz, row_ptr, col_idx):
    return (struct.pack("<4q", 0x43535231, rows, cols, nnz) +
            struct.pack(f"<{len(row_ptr) + len(col_idx)}i", *row_ptr, *col_idx))


def csr_values(cols_size, kind, rows, cols, row_ptr, col_idx, values):
    index = {4: "i", 8: "q"}[cols_size]
    return (struct.pack("<6q", 0x43535232, rows, cols, len(col_idx), cols_size, kind) +
            struct.pack(f"<{len(row_ptr)}q{len(col_idx)}{index}", *row_ptr, *col_idx) +
            struct.pack(f"<{len(values)}{'f' if kind in (2, 4) else 'd'}", *values))


def petsc(number, rows, cols, lengths, col_idx, values):
    numbers = (1211216, rows, cols, len(col_idx), *lengths, *col_idx)
    return (struct.pack(f">{len(numbers)}{number}", *numbers) +
            struct.pack(f">{len(values)}d", *values))


MARKET = {
    "general": BANNER +
    "coordinate real general\n% text\n3 4 4\n1 1 1.5\n3 4 -2e-3\n2 2 1d2\n2 2 4\n",
    "symmetric": BANNER +
    "coordinate integer symmetric\n3 3 3\n1 1 2\n2 1 -1\n3 3 7\n",
    "skew": BANNER +
    "coordinate real skew-symmetric\n3 3 1\n3 1 .5\n",
    "complex": BANNER +
    "coordinate complex general\n2 3 2\n1 3 1 -2\n1 3 1e3 .5\n",
    "hermitian": BANNER +
    "coordinate complex hermitian\n2 2 2\n1 1 2 0\n2 1 .5 -1\n",
    "array-hermitian": BANNER +
    "array complex hermitian\n2 2\n1 0\n0 2\n3 0\n",
    "pattern": BANNER +
    "coordinate pattern general\n\n2 5 2\n1 5\n2 1\n",
    "array": BANNER +
    "array real general\n2 2\n1\n0\n3\n4\n",
    "array-symmetric": BANNER +
    "array double symmetric\n2 2\n1\n0.25\n3\n",
    "crlf": (
        BANNER +
        "coordinate real general\n2 2 1\n1 1 1\n").replace(
            "\n",
            "\r\n"),
            "empty": BANNER +
            "coordinate real general\n0 0 0\n",
            "digits": BANNER +
            "coordinate real general\n1 1 1\n1 1 " +
            "123456789" *
            4 +
            "." +
            "5" *
            30 +
            "e-40\n",
             }
for name, text in MARKET.items():
    put("matrix_market", name + ".mtx", text)
put("matrix_market", "general.mtx.gz", packed(MARKET["general"]))
put("matrix_market", "members.mtx.gz",
    packed(MARKET["general"][:40]) + packed(MARKET["general"][40:]))

put("csr", "small.csr", csr(3, 4, 5, [0, 2, 2, 5], [0, 3, 0, 1, 2]))
put("csr", "none.csr", csr(0, 0, 0, [0], []))
put("csr", "empty-rows.csr", csr(2, 3, 0, [0, 0, 0], []))

put("csr", "values.csr", csr_values(4, 1, 3, 4, [0, 2, 2, 5], [0, 3, 0, 1, 2], [1, -2, 3, .5, 1e9]))
put("csr", "wide.csr", csr_values(8, 4, 2, 2, [0, 1, 2], [1, 0], [1, -2, 3, .5]))

put("petsc", "real.petsc", petsc("i", 3, 4, [2, 0, 3], [0, 3, 0, 1, 2], [1, -2, 3, .5, 1e9]))
put("petsc", "wide.petsc", petsc("q", 2, 2, [1, 1], [1, 0], [1, -2]))
put("petsc", "complex.petsc", petsc("i", 2, 2, [1, 1], [1, 0], [1, -2, 3, .5]))
put("petsc", "vector.petsc",
    petsc("i", 2, 2, [1, 1], [1, 0], [1, -2]) + struct.pack(">2i2d", 1211214, 2, 1, 2))
put("petsc", "none.petsc", petsc("i", 0, 0, [], [], []))

put("smtx", "small.smtx", "3, 4, 5\n0 2 2 5\n0 3 0 1 2\n")
put("smtx", "none.smtx", "0, 0, 0\n0\n")
put("smtx", "empty-rows.smtx", "2, 3, 0\n0 0 0\n\n")

put("partition", "plain.part", "0\n1\n2\n3\n0\n1\n2\n3\n0\n")
put("partition", "blanks.part", " 0\r\n1 \n2\n3\n0\n1\n2\n3\n0\n\n\n")
put("partition", "short.part", "0\n1\n")
put("partition", "packed.part.gz", packed("0\n1\n2\n3\n0\n1\n2\n3\n0\n"))

SPECS = [
    "stencil5:nx=4,ny=3",
    "stencil9:nx=4,ny=3,shuffle=1",
    "stencil7:nx=3,ny=2,nz=2,dof=2",
    "stencil27:nx=2,ny=3,nz=2",
    "rmat:scale=4,degree=3",
    "rmat:scale=3,degree=2,a=.25,b=.25,c=.25",
    "uniform:rows=9,cols=7,degree=2",
    "banded:rows=9,band=2",
    "banded:rows=9,lower=1,upper=2,fill=0.5",
    "pruned:rows=8,cols=8,sparsity=0.5,vector=4",
     "molecules:count=3,atoms=12"]
for i, spec in enumerate(SPECS):
    put("spec", f"{i:02}", spec)

# Rows and columns, then for each row the number of entries, then columns: see fuzz_create.c.
put("create", "csr", bytes([0, 0, 3, 4, 0, 2, 0, 2, 0, 3, 1, 2]))
put("create", "csr-affinity", bytes([5, 0, 4, 4, 0, 1, 2, 1, 1, 3, 0, 1, 3, 2]))
put("create", "csr32", bytes([16, 0, 3, 4, 0, 2, 0, 2, 0, 3, 1, 2]))
put("create", "vectors", bytes([1, 3, 1, 8, 6, 0, 2, 1, 0, 3, 5]))
put("create", "blocks", bytes([2, 2, 2, 4, 6, 0, 2, 1, 0, 3, 1]))
put("create", "offsets-fall", bytes([0, 0, 2, 2, 0, 2, 255] + [255] * 8 + [0, 1]))
