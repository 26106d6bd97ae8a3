# SPDX-License-Identifier: Apache-2.0
"""Arrays of torch and CuPy on GPUs: skipped without one for each rank."""
import sys

import numpy as np
import pytest
import scipy.sparse
from conftest import WORLD, assert_close, dense, gathered, mine, sparse_rows, whole

from spmm_dist import Context, Matrix, SpmmError, UnsupportedError, _arrays

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or torch.cuda.device_count() < WORLD.size:
    pytest.skip("no GPU for each rank", allow_module_level=True)
from gradients import gradcheck  # noqa: E402
from test_attention import reference  # noqa: E402
try:
    import cupy
except ImportError:
    cupy = None
needs_cupy = pytest.mark.skipif(cupy is None, reason="CuPy is not installed")


@pytest.fixture(scope="module")
def gpu():
    try:
        made = Context(device="cuda")
    except SpmmError as error:
        pytest.skip(str(error))
    with made:
        torch.cuda.set_device(made.info.device_ordinal)
        if cupy is not None:
            cupy.cuda.Device(made.info.device_ordinal).use()
        yield made


def case(gpu, dtype="float64", rows=40, n=6):
    """A, this rank's rows of it and of B, and those of A B in FP64 with the terms of its bound."""
    rng = np.random.default_rng(WORLD.rank)
    given = sparse_rows(rng, rows, rows * gpu.size, dtype)
    B = dense(rng, (rows, n), dtype)
    full = whole(given, rows * gpu.size)
    return given, B, mine(full @ gathered(B), rows), mine(abs(full) @ abs(gathered(B)), rows)


def on_gpu(x, library):
    return torch.from_numpy(x).cuda() if library == "torch" else cupy.asarray(x)


def on_host(x):
    return x.cpu().numpy() if isinstance(x, torch.Tensor) else cupy.asnumpy(x)


LIBRARIES = ["torch", pytest.param("cupy", marks=needs_cupy)]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "complex64"])
def test_products(gpu, library, dtype):
    """Rows of A, B and C on the device, rows further apart than they are long, both layouts."""
    given, B, expected, terms = case(gpu, dtype)
    A = Matrix.from_csr(gpu, tuple(on_gpu(x, library) for x in given))
    plan = A.plan(6)
    B = on_gpu(B, library)
    C = plan @ B
    assert type(C) is type(B) and C.device == B.device
    gpu.synchronize()
    assert_close(on_host(C), expected, terms, dtype)
    wide = on_gpu(np.full((40, 9), np.nan, dtype), library)
    wide[:, 2:8] = B
    plan.execute(wide[:, 2:8], C, 2.0, 1.0)
    assert_close(on_host(C), 3 * expected, 3 * terms, dtype)
    D = A.plan(6, layout="col") @ (B.T.contiguous().T if library == "torch"
                                   else cupy.asfortranarray(B))
    assert_close(on_host(D), expected, terms, dtype)


@pytest.mark.parametrize("library", LIBRARIES)
def test_sparse_objects(gpu, library):
    """sparse_csr of torch with either width of indices, csr_matrix of CuPy."""
    given, B, expected, terms = case(gpu)
    B = on_gpu(B, library)
    if library == "torch":
        objects = [torch.sparse_csr_tensor(*(on_gpu(x.astype(k) if x.dtype == np.int64 else x,
                                                    library) for x in given),
                                           size=(40, 40 * gpu.size))
                   for k in (np.int64, np.int32)]
    else:
        from cupyx.scipy.sparse import csr_matrix

        objects = [csr_matrix(tuple(on_gpu(given[k], library) for k in (2, 1, 0)),
                              shape=(40, 40 * gpu.size))]
    for rows in objects:
        C = Matrix.from_csr(gpu, rows).plan(6) @ B
        assert_close(on_host(C), expected, terms, "float64")


@pytest.mark.parametrize("library", LIBRARIES)
def test_streams(gpu, library):
    """Products come in the order of the stream: B is made on it late, C is read on it."""
    given, B, expected, terms = case(gpu, n=512)
    plan = Matrix.from_csr(gpu, given).plan(512, tuning="measure=no")
    target = on_gpu(B, library)
    late = on_gpu(np.zeros_like(B), library)
    out = on_gpu(np.zeros((40, 512)), library)
    plan.execute(target, out)  # the first call may wait
    big = torch.rand(4000, 4000, device="cuda")
    torch.cuda.synchronize()
    for explicit in (False, True):
        late *= 0
        torch.cuda.synchronize()
        if library == "torch":
            stream = torch.cuda.Stream()
            scope = torch.cuda.stream(stream)
        else:
            stream = scope = cupy.cuda.Stream(non_blocking=True)
        with scope:
            address = stream.cuda_stream if library == "torch" else stream.ptr
            with torch.cuda.stream(torch.cuda.ExternalStream(address)):
                for _ in range(20):
                    big = torch.tanh(big @ big)  # work in front of B
            late += target
            C = plan.execute(late, out, stream=stream if explicit else None)
            result = C + 0
        stream.synchronize()
        assert_close(on_host(result), expected, terms, "float64")


def test_no_copy_through_the_host(gpu):
    """Nothing of B and C moves: the profiler of torch sees no copy during products."""
    given, B, _, _ = case(gpu)
    plan = Matrix.from_csr(gpu, given).plan(6)
    B = torch.from_numpy(B).cuda()
    C = plan @ B
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        plan.execute(B, C)
        torch.cuda.synchronize()
    names = [event.key for event in seen.key_averages()]
    assert not [name for name in names if "HtoD" in name or "DtoH" in name], names


def test_wrong_device(gpu):
    given, B, expected, terms = case(gpu)
    plan = Matrix.from_csr(gpu, given).plan(6)
    with pytest.raises(ValueError, match="B lies on the host, but the context computes on the GPU"):
        plan.execute(B)
    with pytest.raises(ValueError, match="C lies on the host"):
        plan.execute(torch.from_numpy(B).cuda(), B.copy())
    plan.resync()
    assert_close(on_host(plan @ torch.from_numpy(B).cuda()), expected, terms, "float64")


def test_dlpack(gpu):
    """An object that speaks DLPack alone, of a type that NumPy lacks, too."""
    class ByDlpack:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self, **more):
            return self.x.__dlpack__(**more)

    given, B, expected, terms = case(gpu, "float32")
    B = torch.from_numpy(B).cuda()
    C = torch.empty_like(B)
    Matrix.from_csr(gpu, given).plan(6).execute(ByDlpack(B), C)
    assert_close(on_host(C), expected, terms, "float32")
    half = Matrix.from_csr(gpu, tuple(torch.from_numpy(x).cuda() if k < 2 else
                                      torch.from_numpy(x).cuda().bfloat16()
                                      for k, x in enumerate(given)))
    C = torch.empty_like(B).bfloat16()
    half.plan(6).execute(ByDlpack(B.bfloat16()), C)
    assert_close(on_host(C.float()), expected, terms, "bfloat16")


def test_gradcheck(gpu):
    """In FP64 by finite differences, over all ranks."""
    from spmm_dist.torch import Graph, attention, sddmm, sparse_softmax, spmm

    given, _, _, _ = case(gpu, rows=12 // gpu.size)
    A = Matrix.from_csr(gpu, given)
    graph, own, rows = Graph(A, 3), Graph(A, 3), A.info.local_rows

    def random(*shape):
        return torch.rand(*shape, dtype=torch.float64, device="cuda")

    entries = A.info.local_nnz
    assert gradcheck(lambda v, b: spmm(graph, b, v), random(entries), random(rows, 3))
    assert gradcheck(lambda x, y: sddmm(graph, x, y), random(rows, 2), random(rows, 2))
    assert gradcheck(lambda s: sparse_softmax(graph, s, 0.7), random(entries))
    assert gradcheck(lambda b: spmm(own, b), random(rows, 3))
    plan = A.attention(2, 2, backward=True)
    assert gradcheck(lambda *blocks: attention(plan, *blocks), *(random(rows, 4) for _ in "QKV"))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("op", ["t", "h"])
def test_transposed(gpu, library, op):
    given, B, _, _ = case(gpu, "complex128")
    full = whole(given, 40 * gpu.size).T
    full = full.conj() if op == "h" else full
    C = Matrix.from_csr(gpu, given).plan(6, op=op) @ on_gpu(B, library)
    assert_close(on_host(C), mine(full @ gathered(B), 40),
                 mine(abs(full) @ abs(gathered(B)), 40), "complex128")


@pytest.mark.parametrize("library", LIBRARIES)
def test_sddmm(gpu, library):
    """Scores at the entries, and their softmax by rows, on a stream of their own."""
    given, _, _, _ = case(gpu, "float32")
    rng = np.random.default_rng([4, WORLD.rank])
    X, Y = (dense(rng, (40, 5), "float32") for _ in range(2))
    scores = Matrix.from_csr(gpu, given).sddmm(5)
    S = scores.execute(on_gpu(X, library), on_gpu(Y, library))
    P = on_host(scores.softmax(S, scale=0.5))
    row = np.repeat(np.arange(40), np.diff(given[0]))
    terms = X[row].astype("f8") * gathered(Y)[given[1]]
    assert_close(on_host(S), np.sum(terms, 1), np.sum(abs(terms), 1), "float32")
    weights = np.exp(0.5 * np.sum(terms, 1))
    assert np.allclose(P, weights / np.bincount(row, weights, 40)[row], rtol=1e-5)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype, kernel", [("float32", "rows"), ("float16", "windows")])
def test_attention(gpu, library, dtype, kernel):
    given, _, _, _ = case(gpu, dtype)
    rng = np.random.default_rng([5, WORLD.rank])
    Q, K, V = (dense(rng, (40, 32), dtype) for _ in range(3))
    plan = Matrix.from_csr(gpu, given).attention(2, 16, kernel=kernel)
    O, lse = plan.execute(*(on_gpu(x, library) for x in (Q, K, V)))
    pattern = mine(whole((*given[:2], np.ones(len(given[1]))), 40 * gpu.size), 40) > 0
    expected, logs = reference(pattern, Q, gathered(K), gathered(V), 2, 0.25)
    gpu.synchronize()
    assert plan.info.kernel == kernel
    assert np.allclose(on_host(O), expected, atol=1e-5 if dtype == "float32" else 5e-3)
    assert np.allclose(on_host(lse), logs, rtol=0, atol=1e-4 if dtype == "float32" else 5e-3)


@pytest.mark.parametrize("library", LIBRARIES)
def test_lobpcg(gpu, library, monkeypatch):
    """SciPy's solver on the host, products of a plan on GPUs by rows that either library moves."""
    from spmm_dist.scipy import Operator, RowBlock, linear_operator, lobpcg

    n, first = 40 * gpu.size, 40 * gpu.rank
    monkeypatch.setattr(_arrays, "_mover", lambda: sys.modules[library])
    line = scipy.sparse.diags([-np.ones(n - 1), np.arange(n) / 8, -np.ones(n - 1)], [-1, 0, 1],
                              format="csr")
    A = Matrix.from_csr(gpu, line[first:first + 40])
    guess = np.random.default_rng(1).standard_normal((n, 5))[first:first + 40]
    product = Operator(A.plan(5)) @ RowBlock(guess, gpu.comm)
    assert np.allclose(np.asarray(product), mine(line @ gathered(guess), 40))
    operator, x = linear_operator(A.plan(2)), np.arange(3.0 * n).reshape(n, 3)
    assert np.allclose(operator @ x, line @ x) and np.allclose(operator.rmatmat(x), line.T @ x)
    for B in (on_gpu(guess, library), on_gpu(guess, library)[:, ::2]):
        expected = mine(line @ gathered(on_host(B)), 40)
        assert np.allclose(on_host(A @ B), expected) and np.allclose(on_host(A.T @ B), expected)
    values, X = lobpcg(A.plan(5), guess, largest=False, tol=1e-8, maxiter=300)
    assert np.allclose(values[:4], np.linalg.eigvalsh(line.toarray())[:4], atol=1e-9)
    assert np.allclose(mine(line @ gathered(X), 40)[:, :4], X[:, :4] * values[:4], atol=1e-5)


def test_sum_over_ranks(gpu):
    """By MPI on the host, and by torch's process group where it has the ranks of comm."""
    from spmm_dist.torch import process_group, sum_over_ranks

    def check():
        a = torch.full((2, 3), 1.0 + gpu.rank, device="cuda")
        b = torch.arange(4.0, device="cuda")
        sum_over_ranks(gpu.comm, [a, b])
        assert torch.equal(a.cpu(), torch.full((2, 3), sum(1.0 + r for r in range(gpu.size))))
        assert torch.equal(b.cpu(), torch.arange(4.0) * gpu.size)

    check()
    with process_group(gpu):
        assert torch.distributed.is_initialized() == (gpu.size > 1)
        check()
        alone, x = gpu.comm.Split(gpu.rank), torch.ones(3, device="cuda")
        sum_over_ranks(alone, [x])
        alone.Free()
        assert torch.equal(x.cpu(), torch.ones(3))
    assert not torch.distributed.is_initialized()
    check()


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_another_gpu(gpu):
    """What lies on another GPU than the context's is refused with a sentence."""
    given, B, expected, terms = case(gpu)
    plan = Matrix.from_csr(gpu, given).plan(6)
    other = (gpu.info.device_ordinal + 1) % torch.cuda.device_count()
    B = torch.from_numpy(B).cuda()
    with pytest.raises(SpmmError, match="memory of this context's device"):
        plan.execute(B.to(f"cuda:{other}"), torch.empty_like(B))
    plan.resync()
    assert_close(on_host(plan @ B), expected, terms, "float64")


def test_compile_and_capture(gpu):
    """torch.compile goes around a product; a capture is refused, and harms nothing."""
    from spmm_dist.torch import Graph, spmm

    given, B, expected, terms = case(gpu)
    graph = Graph(Matrix.from_csr(gpu, given), 6)
    B = torch.from_numpy(B).cuda()
    if hasattr(torch, "compile"):
        layer = torch.compile(lambda x: torch.relu(spmm(graph, x * 2) / 2))
        try:
            found = layer(B)
        except Exception as error:
            if "compiler" not in str(error).lower() and "triton" not in str(error).lower():
                raise
            pytest.skip(f"torch.compile does not work here: {str(error).splitlines()[0]}")
        assert np.allclose(on_host(found), np.maximum(expected, 0))
    C = spmm(graph, B)
    torch.cuda.synchronize()
    with pytest.raises((UnsupportedError, RuntimeError), match="graph=True"):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            spmm(graph, B)
    # Plans that still find out which engine is the fastest differ by bits.
    assert torch.allclose(spmm(graph, B), C)


def test_memory_is_flat(gpu):
    given, B, _, _ = case(gpu)
    plan = Matrix.from_csr(gpu, given).plan(6)
    B = torch.from_numpy(B).cuda()

    def run(count):
        for _ in range(count):
            plan @ B
        torch.cuda.synchronize()
        return torch.cuda.mem_get_info()[0]

    before = run(100)
    assert before - run(10000) < 4 << 20
