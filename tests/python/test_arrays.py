# SPDX-License-Identifier: Apache-2.0
"""Arrays by every protocol, and the sentence that refuses what does not fit.  What lies on a GPU is
played by objects that only say so."""
import array

import numpy as np
import pytest
import scipy.sparse
from conftest import WORLD, assert_close, gathered, mine, whole

from spmm_dist import ArgumentError, Matrix, UnsupportedError, _arrays


class OnGpu:
    """Says that it is an array of CuPy."""

    def __init__(self, shape, typestr="<f8", strides=None, address=4096, **more):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "strides": strides,
                                         "data": (address, False), "version": 3, **more}


class ByDlpack:
    """Speaks DLPack alone."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **more):
        return self.x.__dlpack__(**more)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


@pytest.fixture(scope="module")
def setting(ctx):
    A = Matrix.generate(ctx, "stencil5:nx=6,ny=6")
    return A, A.plan(4), A.plan(4, layout="col"), whole(A.csr(), 36)


def test_protocols(setting):
    """NumPy, DLPack, the buffer protocol: what they hold is multiplied as it lies."""
    A, plan, by_columns, full = setting
    rows = A.info.local_cols
    B = np.random.default_rng(WORLD.rank).random((rows, 4))
    expected = mine(full @ gathered(B), rows)
    terms = mine(abs(full) @ gathered(B), rows)
    wide = np.empty((rows, 9))
    wide[:, 3:7] = B
    for block in (B, wide[:, 3:7], ByDlpack(B), ByDlpack(wide[:, 3:7]), memoryview(B)):
        assert_close(plan.execute(block, np.full((rows, 4), np.nan)), expected, terms, "float64")
    for block in (np.asfortranarray(B), np.asfortranarray(wide)[:, 3:7]):
        C = by_columns @ block
        assert_close(C, expected, terms, "float64")
        assert rows < 2 or C.flags.f_contiguous
    one = array.array("d", B[:, 0])
    assert_close(plan.execute(one), expected[:, 0], terms[:, 0], "float64")
    out = array.array("d", [0.0] * rows)
    plan.execute(one, out)
    assert_close(np.array(out), expected[:, 0], terms[:, 0], "float64")


@pytest.mark.parametrize("make, error, sentence", [
    (lambda B: B.astype("float32"), TypeError, "B holds float32, but the plan multiplies float64"),
    (lambda B: B.astype("int64"), TypeError, "B holds int64"),
    (lambda B: B.astype("int8"), TypeError, "'|i1'"),
    (lambda B: B.astype(">f8"), TypeError, "'>f8'"),
    (lambda B: B.tolist(), TypeError, "B is a list, not an array"),
    (lambda B: None, TypeError, "B is a NoneType"),
    (lambda B: B[:-1], ValueError, "needs .* rows, those of this rank"),
    (lambda B: B[:, :, None], ValueError, "has shape .* one dimension or two"),
    (lambda B: np.array(1.0), ValueError, "has shape .* one dimension or two"),
    (lambda B: np.asfortranarray(B), ValueError, "plan with layout='col'"),
    (lambda B: np.repeat(B, 2, 1)[:, ::2], ValueError, "strides of"),
    (lambda B: B[:, ::-1], ValueError, "strides of"),
    (lambda B: B[::-1], ValueError, "strides of"),
    (lambda B: np.broadcast_to(B[:1], B.shape), ValueError, "strides of"),
    (lambda B: np.repeat(B, 2, 1), ArgumentError, "n is 8, must be 1 to 4"),
    (lambda B: B[:, :0], ArgumentError, "n is 0"),
    (lambda B: np.ma.masked_array(B, B > 0.5), TypeError, "masked"),
    (lambda B: OnGpu(B.shape), ValueError, "B lies on the GPU, but the context computes on the"),
    (lambda B: OnGpu(B.shape, "|b1"), TypeError, "'|b1'"),
    (lambda B: OnGpu(B.shape, mask=B), TypeError, "has a mask"),
    (lambda B: OnGpu(B.shape, strides=(33, 8)), ValueError, "no multiples"),
    (lambda B: np.frombuffer(bytes(B.nbytes + 1), "u1")[1:].view("f8").reshape(B.shape),
     ValueError, "multiple of the 8 bytes"),
])
def test_refused_b(setting, make, error, sentence):
    """All ranks refuse it alike, and go on."""
    A, plan, _, full = setting
    B = np.random.default_rng(WORLD.rank).random((A.info.local_cols, 4))
    with pytest.raises(error, match=sentence.replace("|", r"\|").replace("(", r"\(")):
        plan.execute(make(B))
    plan.resync()
    assert_close(plan @ B, mine(full @ gathered(B), len(B)), mine(abs(full) @ gathered(B), len(B)),
                 "float64")


@pytest.mark.parametrize("arguments, error, sentence", [
    ({"beta": 1.0}, ValueError, "there is no C"),
    ({"alpha": 1j}, TypeError, "A is real"),
    ({"alpha": np.complex64(1j)}, TypeError, "A is real"),
    ({"alpha": "x"}, ValueError, "could not convert"),
    ({"stream": "x"}, TypeError, "stream is a str"),
    ({"C": np.zeros((3, 3, 3))}, ValueError, "C has shape"),
    ({"C": [1.0]}, TypeError, "C is a list"),
])
def test_refused_rest(setting, arguments, error, sentence):
    A, plan, _, _ = setting
    with pytest.raises(error, match=sentence):
        plan.execute(np.ones((A.info.local_cols, 4)), **arguments)
    plan.resync()


def test_refused_c(setting):
    A, plan, _, _ = setting
    B = np.ones((A.info.local_cols, 4))
    fixed = np.zeros_like(B)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="C is read-only"):
        plan.execute(B, fixed)
    with pytest.raises(ArgumentError, match="C overlaps B"):
        plan.execute(B, B)
    with pytest.raises(ValueError, match="C has shape .* but B has 4 columns"):
        plan.execute(B, np.zeros((len(B), 3)))
    assert np.all(B == 1) and np.all(fixed == 0)


def test_what_fitted_once(setting):
    """Arrays like one that fitted are taken without a look at each part, and others are not."""
    A, plan, _, full = setting
    B = np.random.default_rng(WORLD.rank).random((A.info.local_cols, 4))
    for _ in range(3):
        for first in (0, 1, 2):  # alike but for where they begin
            wide = np.zeros((len(B), 9))
            wide[:, first:first + 4] = B
            assert_close(plan @ wide[:, first:first + 4], mine(full @ gathered(B), len(B)),
                         mine(abs(full) @ gathered(B), len(B)), "float64")
        for other in (B.astype("f4"), B[:, ::-1], B.astype(">f8"), np.ma.masked_array(B, B > 0.5)):
            with pytest.raises((TypeError, ValueError)):
                plan.execute(other)
    plan.resync()


@pytest.mark.parametrize("change, error, sentence", [
    (lambda p, i, d: (p, i), TypeError, "rows are a tuple"),
    (lambda p, i, d: (p, i, d[:-1]), ValueError, "indices has .* elements, but it needs"),
    (lambda p, i, d: (p[:-1], i, d), ValueError, "indptr ends with"),
    (lambda p, i, d: (p[:0], i, d), ValueError, "indptr is empty"),
    (lambda p, i, d: (p.astype("int32"), i, d), TypeError, "indptr holds int32, but indices"),
    (lambda p, i, d: (p.astype("float64"), i, d), TypeError, "must hold int64 or int32"),
    (lambda p, i, d: (p, i, d.astype("int64")), TypeError, "data holds int64"),
    (lambda p, i, d: (p, i + 10**6, d), ArgumentError, "row 0"),
    (lambda p, i, d: (p, i * 0, d), ArgumentError, "row 0"),
    (lambda p, i, d: (p + 1, i, d), ValueError, "indptr ends with"),
    (lambda p, i, d: (p, np.repeat(i, 2)[::2], d), ValueError, "gaps"),
])
def test_refused_rows(ctx, change, error, sentence):
    rows = Matrix.generate(ctx, "stencil5:nx=6,ny=6").csr()
    with pytest.raises(error, match=sentence):
        Matrix.from_csr(ctx, change(*rows))


def test_whole_matrix_on_every_rank(ctx, recwarn):
    """It is stacked, which one who has the whole matrix did not mean, and is told."""
    S = scipy.sparse.identity(6, format="csr")
    if ctx.size == 1:
        assert Matrix.from_csr(ctx, S).shape == (6, 6) and not recwarn
        return
    with pytest.warns(UserWarning, match="from_scipy") as told:
        A = Matrix.from_csr(ctx, S)
    assert A.shape == (6 * ctx.size, 6) and told[0].filename == __file__
    recwarn.clear()
    assert Matrix.from_csr(ctx, S[:3]).shape == (3 * ctx.size, 6)
    Matrix.from_csr(ctx, S if ctx.rank == 0 else S[:0])
    Matrix.from_csr(ctx, (S.indptr, S.indices, S.data))
    assert not recwarn


@pytest.mark.parametrize("options, error, sentence", [
    ({"n": 0}, ArgumentError, "0 columns"), ({"n": 2.5}, TypeError, ""),
    ({"n": "x"}, TypeError, ""), ({"n": 2**70}, OverflowError, ""),
    ({"op": "q"}, ValueError, "op is 'q': it may be 'n', 't', 'h'"),
    ({"op": ["n"]}, ValueError, "op is"), ({"layout": "C"}, ValueError, "layout is 'C'"),
    ({"compute": "8f"}, ValueError, "compute is"), ({"c_type": "int8"}, TypeError, "type 'int8'"),
    ({"c_type": "float32"}, ArgumentError, ""), ({"engine": "nix"}, ArgumentError, "nix"),
    ({"transport": "nix"}, ArgumentError, "nix"), ({"partition": "nix"}, ArgumentError, "nix"),
    ({"tuning": "order=nix"}, ArgumentError, "order takes auto, none"),
    ({"tuning": {"nix": 2}}, ArgumentError, "no key .nix."), ({"tuning": 2}, TypeError, ""),
    ({"engine": 3}, TypeError, ""), ({"executes": -1}, ArgumentError, ""),
    ({"engine": "csr-gpu"}, UnsupportedError, "csr-gpu"), ({"graph": True}, UnsupportedError, ""),
    ({"executs": 5}, TypeError, "executs"), ({"imbalance": "x"}, TypeError, ""),
])
def test_refused_options(setting, options, error, sentence):
    with pytest.raises(error, match=sentence):
        setting[0].plan(**{"n": 4, **options})


def test_views_on_gpus():
    """What the library is told of arrays that say that they lie on a GPU."""
    seen = _arrays.view(OnGpu((5, 3), "<f4", (32, 4)), "B")
    assert seen.on_gpu and seen.address == 4096 and seen.dtype == "float32"
    assert _arrays.leading(seen, "B", True, 5, 3) == 8
    assert _arrays.leading(_arrays.view(OnGpu((5, 3), "<c16", (16, 80)), "B"), "B", False, 5,
                           3) == 5
    assert _arrays.leading(_arrays.view(OnGpu((0, 3), address=0), "B"), "B", True, 0, 3) == 3
    assert _arrays.leading(_arrays.view(OnGpu((0, 3), address=0), "B"), "B", False, 0, 3) == 1


def test_streams():
    on_host = _arrays.view(np.ones(2), "B")
    on_gpu = _arrays.view(OnGpu((2,)), "B")
    torch_like = type("Stream", (), {"cuda_stream": 7})()
    cupy_like = type("Stream", (), {"ptr": 8})()
    speaker = type("Stream", (), {"__cuda_stream__": lambda self: (0, 9)})()
    assert [_arrays.stream_of(s, on_host) for s in (None, 5, torch_like, cupy_like, speaker)] == [
        0, 5, 7, 8, 9]
    assert _arrays.stream_of(None, on_gpu) == 0


def test_dlpack_devices():
    """kDLROCM is neither a CPU nor an NVIDIA GPU; capsules that were used are refused."""
    x = np.ones((2, 3), np.float32)
    seen = _arrays.view(ByDlpack(x), "B")
    assert (seen.address, seen.shape, seen.dtype) == (x.ctypes.data, (2, 3), "float32")
    capsule = x.__dlpack__()
    again = type("Once", (), {"__dlpack__": lambda self: capsule})()
    np.from_dlpack(type("D", (), {"__dlpack__": lambda self, **m: capsule,
                                  "__dlpack_device__": lambda self: (1, 0)})())
    with pytest.raises(TypeError, match="gives no DLPack tensor"):
        _arrays.view(again, "B")
    with pytest.raises(TypeError, match="elements of a type"):
        _arrays.view(ByDlpack(np.ones(2, np.int8)), "B")
