# SPDX-License-Identifier: Apache-2.0
"""What is closed, dropped or forgotten: exceptions with a sentence, memory that stays flat."""
import copy
import gc
import io
import os
import pickle
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from conftest import WORLD

import spmm_dist
from spmm_dist import ArgumentError, CommError, Context, Matrix
from spmm_dist.scipy import RowBlock


def small(ctx):
    return Matrix.generate(ctx, "stencil5:nx=4,ny=4")


def test_closed_handles():
    ctx = Context(device="cpu")
    A = small(ctx)
    plan, scores = A.plan(2), A.sddmm(2)
    B = np.ones((A.info.local_cols, 2))
    plan.close()
    plan.close()
    for call in (lambda: plan.execute(B), lambda: plan.stats, plan.timeline, plan.explain,
                 plan.resync, plan.traffic, lambda: plan.scatter("B", B),
                 lambda: plan.update_values(np.ones(A.info.local_nnz)), plan.plot):
        with pytest.raises(ArgumentError, match="the plan is closed"):
            call()
    ctx.close()
    ctx.close()
    assert ctx.closed and A.closed and scores.closed
    for call in (A.csr, lambda: A.plan(1), lambda: scores.execute(B, B), lambda: scores.info,
                 lambda: A.update_values(np.ones(A.info.local_nnz)), ctx.synchronize,
                 lambda: Matrix.generate(ctx, "stencil5:nx=2,ny=2")):
        with pytest.raises(ArgumentError, match="closed"):
            call()
    assert "closed" in repr(ctx) and "closed" in repr(A) and "closed" in repr(plan)


def test_closed_in_any_order():
    """A matrix closes what was made from it, a product without a plan included."""
    with Context(device="cpu") as ctx:
        A, other = small(ctx), small(ctx)
        B = np.ones((A.info.local_cols, 2))
        made = [A.plan(2), A.sddmm(2), A.attention(1, 2)]
        kept, product = other.plan(2), A @ B
        assert ctx._made == 7 and len(ctx._held) == 7
        A.close()
        assert A.closed and all(one.closed for one in made) and set(ctx._held) == {2, 6}
        for one in (*made, A, other):
            one.close()
        assert kept.closed and product.shape == B.shape and not ctx._held
        with pytest.raises(ArgumentError, match="the matrix is closed"):
            A @ B


def forked(child):
    """What `child()` returns in a forked process: a line."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = "failed"
        try:
            signal.alarm(20)  # ends a child that waits
            said = child()
        finally:
            os.write(write, said.encode())
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read, "rb") as pipe:
        return pipe.read().decode()


def test_fork(monkeypatch):
    """A child neither calls MPI nor releases: it is told, and the parent goes on."""
    from spmm_dist import _context

    ctx = Context(device="cpu")
    A = small(ctx)
    plan, B = A.plan(2), np.ones((A.info.local_cols, 2))
    expected = plan @ B

    def calls():
        yield from (lambda: plan @ B, lambda: A @ B, lambda: A.plan(1), A.csr, lambda: plan.stats,
                    lambda: A.update_values(np.ones(A.info.local_nnz)), ctx.synchronize,
                    lambda: Context(device="cpu"), lambda: Matrix.generate(ctx, "stencil5:nx=2"),
                    lambda: Context(device="tpu"), lambda: RowBlock(B, WORLD).sum(),
                    lambda: small(ctx).plan("x"))

    def child():
        sentences = []
        for number, call in enumerate(calls()):
            try:
                call()
                sentences.append(f"call {number} returned")
            except (ArgumentError, ValueError) as error:
                sentences.append("" if "forked" in str(error) or "tpu" in str(error) else
                                 str(error))
        called = []
        monkeypatch.setattr(Context, "_call", lambda self, *given: called.append(given))
        made = repr(plan), repr(A), repr(ctx)
        plan.close()
        A.close()
        ctx.close()
        _context._warn_of_open_contexts()
        scope = {"held": [ctx, A, plan]}
        del scope["held"]
        gc.collect()
        return "; ".join(filter(None, sentences)) + f"{len(called)} calls" + (
            "" if all("closed" in one for one in made) else str(made))

    assert forked(child) == "0 calls"
    assert np.array_equal(plan @ B, expected)
    assert forked(lambda: forked(lambda: str(plan.closed))) == "True"
    plan.close()
    ctx.close()


def test_workers_of_a_loader():
    """Forked workers of torch leave what they inherit alone."""
    data = pytest.importorskip("torch.utils.data")
    with Context(device="cpu") as ctx:
        A = small(ctx)
        plan, B = A.plan(2), np.ones((A.info.local_cols, 2))
        loader = data.DataLoader([np.float64(i) for i in range(8)], batch_size=4, num_workers=1,
                                 multiprocessing_context="fork")
        for _ in range(2):
            assert sum(float(batch.sum()) for batch in loader) == 28
            assert (plan @ B).shape == B.shape


def test_dropped_in_any_order():
    """Plans go before their matrix, whatever order a program drops them in."""
    with Context(device="cpu") as ctx:
        A = small(ctx)
        plan = A.plan(2)
        del A
        gc.collect()
        assert plan @ np.ones((plan.layout.B.local_rows, 2)) is not None
        cell, of_matrix = plan._cell, plan.matrix._cell
        del plan
        gc.collect()
        if WORLD.size > 1:  # nothing is released alone
            assert cell[0] and set(ctx._dropped) == {1, 2}
        small(ctx)
        assert not cell[0] and not of_matrix[0]


@pytest.mark.skipif(WORLD.size == 1, reason="takes two ranks")
def test_dropped_on_some_ranks():
    """Others wait until the last rank has dropped it; at the end one is told that it forgot."""
    ctx = Context(device="cpu")
    A = small(ctx)
    plan = A.plan(2)
    cell, held = plan._cell, plan if WORLD.rank == 1 else None
    del plan
    small(ctx)
    assert cell[0]
    del held
    small(ctx)
    assert not cell[0]
    plan = A.plan(3)
    held = plan if WORLD.rank == 1 else None
    del plan
    with pytest.warns(RuntimeWarning, match="held on rank 1, so its memory was kept"):
        ctx.close()
    assert held is None or held.closed


def test_exception_in_with():
    """A rank that fails alone does not wait for the others."""
    with pytest.raises(KeyError):
        with Context(device="cpu") as ctx, small(ctx) as A, A.plan(1):
            raise KeyError
    assert ctx.closed == (WORLD.size == 1)
    ctx.close()


@pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
def test_no_copies(copied):
    """A copy would release what the original still uses: a shallow one is the original."""
    with Context(device="cpu") as ctx:
        A = small(ctx)
        for made in (ctx, A, A.plan(2), A.sddmm(2), A.attention(1, 2)):
            name = type(made).__name__
            with pytest.raises(TypeError, match=f"a {name} is neither copied nor pickled.*owns"):
                copied(made)
            with pytest.raises(TypeError, match="neither copied nor pickled"):
                copied({"kept": [made]})
            shared = copy.copy(made)
            assert shared is made
            del shared
        gc.collect()
        assert small(ctx).plan(2) @ np.ones((A.info.local_cols, 2)) is not None


def test_unchecked_products():
    """Where products are not checked a refused one counts, and ranks stay in step."""
    with Context(device="cpu", check=False) as ctx:
        A = small(ctx)
        plan, B = A.plan(2), np.ones((A.info.local_cols, 2))
        expected = plan @ B
        for wrong in (None, B.astype("f4"), B[:-1]):
            with pytest.raises((TypeError, ValueError)):
                plan.execute(wrong)
        assert np.array_equal(plan @ B, expected)
        plan.resync()


@pytest.mark.skipif(WORLD.size == 1, reason="takes two ranks")
def test_late_rank(monkeypatch):
    """The timeout of a context also ends waiting for a call, and for what the late have to say."""
    from spmm_dist import _context

    monkeypatch.setattr(_context, "_GRACE_S", 0.0)
    ctx = Context(device="cpu", timeout_s=0.5)
    A = small(ctx)
    if WORLD.rank == WORLD.size - 1:
        time.sleep(2.0)
    with pytest.raises(CommError, match="not all ranks came"):
        A.plan(0 if WORLD.rank else "x")
    WORLD.Barrier()


@pytest.mark.skipif(WORLD.size == 1, reason="takes two ranks")
def test_call_from_the_log():
    """A collective call of the log callback is refused: the other ranks are in another call."""
    refused = []

    def log(line):
        if made:
            with pytest.raises(ArgumentError, match="log callback") as caught:
                made[0].plan(1)
            refused.append(caught)

    made = []
    with Context(device="cpu", log=log) as ctx:
        made.append(small(ctx))
        made[0].plan(2, partition="block")
        assert refused


@pytest.mark.skipif(WORLD.size == 1, reason="takes two ranks")
def test_ranks_that_differ():
    """One sentence on all ranks."""
    last = WORLD.size - 1
    with Context(device="cpu") as ctx:
        A = small(ctx)
        for call, sentence in (
                (lambda: A.plan(3 if WORLD.rank == last else 2), "n = 3 and rank 0 n = 2"),
                (lambda: A.plan(2, op="t" if WORLD.rank == last else "n"),
                 "op = 1 and rank 0 op = 0"),
                (lambda: A.sddmm(2) if WORLD.rank == last else A.plan(2), "call different things"),
                (lambda: Matrix.generate(ctx, f"stencil5:nx={4 + (WORLD.rank == last)},ny=4"),
                 'spec = "stencil5:nx=5,ny=4" and rank 0')):
            with pytest.raises(ArgumentError, match=f"(?=.*{sentence}).*rank {last}"):
                call()
        for call, error in ((lambda: A.plan("2" if WORLD.rank == last else 2), TypeError),
                            (lambda: A.update_values(np.ones(A.info.local_nnz + (
                                WORLD.rank == last))), ValueError),
                            (lambda: Matrix.from_csr(ctx, A.csr()[:3 - (WORLD.rank == last)]),
                             TypeError)):
            with pytest.raises(error, match="" if WORLD.rank == last else f"rank {last}: "):
                call()
        plan = A.plan(4)
        for rank in range(WORLD.size):  # one refuses: with check on, all do, and stay in step
            n = 5 if WORLD.rank == rank else 4
            with pytest.raises((ArgumentError, ValueError)):
                plan.execute(np.ones((A.info.local_cols, n)))
            with pytest.raises((ArgumentError, TypeError)):
                plan.execute(np.ones((A.info.local_cols, 4)) if WORLD.rank != rank else [1])
        plan.resync()
        plan.execute(np.ones((A.info.local_cols, 4)))


def test_wrong_contexts(ctx):
    with pytest.raises(TypeError, match="comm is a int"):
        Context(comm=7)
    with pytest.raises(ValueError, match="device is 'tpu': it may be 'auto', 'cpu', 'cuda'"):
        Context(device="tpu")
    with pytest.raises(spmm_dist.SpmmError, match="CUDA"):
        Context(device="cuda")
    with pytest.raises(ArgumentError, match="timeout"):
        Context(device="cpu", timeout_s=-1.0)
    with pytest.raises(ValueError, match="kind is"):
        spmm_dist.components("nix")
    assert "csr-cpu" in [c.name for c in spmm_dist.components("engine") if c.built]


def test_log_and_threads():
    """The log callback gets lines and cannot call back; neither can a second thread."""
    lines, refused = [], []

    def log(line):
        lines.append(line)
        try:
            ctx.synchronize()
        except (ArgumentError, NameError) as error:
            refused.append(error)

    with Context(device="cpu", log=log) as ctx:
        A = small(ctx)
        A.plan(2, partition="block")
        assert lines and any("one thread at a time" in str(e) for e in refused)
        with ctx._lock:
            other = threading.Thread(target=lambda: pytest.raises(ArgumentError, ctx.synchronize))
            other.start()
            other.join()


def test_log_on_a_terminal(monkeypatch):
    """One line after the other, on rank 0 alone, and nowhere where nobody looks."""
    for is_terminal in (True, False):
        shown = io.StringIO()
        shown.isatty = lambda: is_terminal
        monkeypatch.setattr(sys, "stderr", shown)
        with Context(device="cpu", log=True) as ctx:
            small(ctx).plan(2, partition="block")
        lines = shown.getvalue().split("\r\x1b[K")
        assert any("partition block" in line for line in lines) == (
            is_terminal and WORLD.rank == 0)
        assert "\n" not in shown.getvalue() and max(map(len, lines)) < 80


def resident():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_is_flat(ctx):
    """10,000 products, and 300 plans that are dropped: no reference and no memory stays."""
    A = small(ctx)
    plan = A.plan(4)
    B = np.ones((A.info.local_cols, 4))
    C = np.empty((A.info.local_rows, 4))

    def products(count):
        for _ in range(count):
            plan.execute(B, C, 0.5, 1.0)
            plan @ B

    def refused(count):
        for _ in range(count):
            with pytest.raises(TypeError):
                plan.execute([1.0])

    def plans(count):
        for _ in range(count):
            A.plan(2) @ B[:, :2]

    for work, count in ((products, 5000), (refused, 300), (plans, 300)):
        work(max(count // 10, 100))
        gc.collect()
        before, references = resident(), (sys.getrefcount(B), sys.getrefcount(C))
        blocks = sys.getallocatedblocks()
        work(count)
        gc.collect()
        assert (sys.getrefcount(B), sys.getrefcount(C)) == references
        assert resident() - before < 2 << 20, work
        assert sys.getallocatedblocks() - blocks < 500, work
    assert len(ctx._dropped) <= 2


def test_end_without_close(monkeypatch):
    """A program that forgets to close ends well, and is told by a ResourceWarning."""
    from spmm_dist import _context

    kept = Context(device="cpu")
    monkeypatch.setattr(_context, "opened", {kept})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _context._warn_of_open_contexts()
    if WORLD.size == 1:
        assert kept.closed and not caught
    else:
        assert any("ends with an open Context" in str(w.message) for w in caught)
    kept.close()
