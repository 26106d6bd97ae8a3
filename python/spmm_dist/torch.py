# SPDX-License-Identifier: Apache-2.0
"""Products of a distributed sparse matrix in torch's autograd.

::

    from spmm_dist.torch import Graph, attention, sddmm, sparse_softmax, spmm

    graph = Graph(A, n=64)
    H = spmm(graph, X @ W)                          # a GCN layer
    P = sparse_softmax(graph, sddmm(graph, Q, K))   # sparse attention
    O = spmm(graph, V, values=P)
    O = attention(A.attention(1, 64, backward=True), Q, K, V)   # the same in one operation

Blocks are this rank's rows, on the context's device.  All functions but `sparse_softmax` are
collective, forwards and backwards: all ranks run the same program, with gradients asked of the same
tensors.  Gradients of what every rank holds alike, weights for example, are those of this rank's
rows: sum them over the ranks (`sum_over_ranks`, on GPUs within `process_group`).

`torch.compile` leaves these functions as they are and compiles what is around them.  While torch
captures a CUDA graph they raise an `UnsupportedError`.
"""
from __future__ import annotations

import contextlib
from typing import (TYPE_CHECKING, Any, Callable, Dict, Generator, Iterable, Iterator, Mapping,
                    Optional, TypeVar, Union, cast)

import torch
from mpi4py import MPI
from torch import distributed as _distributed
from torch.autograd import function as _function

from ._attention import Attention
from ._collective import Handle, collective, expect, of_communicator, of_product
from ._errors import UnsupportedError
from ._matrix import Matrix
from ._plan import Plan
from ._sddmm import Sddmm

if TYPE_CHECKING:
    from ._context import Context

distributed: Any = _distributed  # in which annotations are missing
F = TypeVar("F", bound=Callable[..., Any])
Plans = Union[Plan, Sddmm, Attention]


def once_differentiable(backward: F) -> F:
    untyped: Any = _function
    made: F = untyped.once_differentiable(backward)
    return made


def _eager(function: F) -> F:
    """Not to be traced by torch.compile, where torch has it."""
    compiler: Any = getattr(torch, "compiler", None)
    made: F = compiler.disable(function) if hasattr(compiler, "disable") else function
    return made


class Graph(Handle):
    """A matrix with the plans that products and their gradients take.  Collective.

    Parameters
    ----------
    A : Matrix
        Real for `sddmm` and for values that require a gradient.
    n : int
        Most columns of a block.
    values : bool
        Plan for `sddmm` and for products with values of their own, too: on GPUs by engine csr-gpu,
        unless `engine` names another, since most others take values by way of the host.
    partition : {"keep"}
        Autograd goes both ways, on the rows of this rank.
    compute, c_type, b_type, engine, transport, executes, deterministic, reproducible
        As of `Plan`.
    graph, halo_type, profile, exact_nonfinite, tuning
        As of `Plan`.
    """

    @collective()
    def __init__(self, A: Matrix, n: int, *, values: bool = True,  # type: ignore[misc]
                 partition: str = "keep", compute: str = "auto", c_type: Any = "auto",
                 b_type: Any = "auto", engine: str = "auto", transport: str = "auto",
                 executes: int = 0, deterministic: bool = False, reproducible: bool = False,
                 graph: bool = False, halo_type: Any = "auto", profile: bool = False,
                 exact_nonfinite: bool = False, tuning: Union[str, Mapping[str, Any]] = "") -> Any:
        expect(A, Matrix, "A")._pointer
        if partition != "keep":
            raise ValueError("partition of a Graph is 'keep': autograd goes both ways, on the rows "
                             "of this rank")
        if values and A.context._on_gpu and engine == "auto":
            engine = "csr-gpu"
        options: Dict[str, Any] = {
            "compute": compute, "c_type": c_type, "b_type": b_type, "engine": engine,
            "transport": transport, "executes": executes, "deterministic": deterministic,
            "reproducible": reproducible, "graph": graph, "halo_type": halo_type,
            "profile": profile, "exact_nonfinite": exact_nonfinite, "tuning": tuning}
        yield f"of object {A._number}, values={bool(values)}"
        self.matrix = A
        self._plans = A.plan(n, **options), A.plan(n, op="h", **options)
        self._sddmm = A.sddmm(n) if values and not A.dtype.startswith("complex") else None
        self._given = False
        self._row: Optional[torch.Tensor] = None

    def _facts(self) -> Dict[str, Any]:
        return {"matrix": self.matrix, "n": self._plans[0].n, "values": self._sddmm is not None}

    @property
    def _context(self) -> Optional[Context]:  # type: ignore[override]
        return self.matrix.context if hasattr(self, "matrix") else None

    def _state(self, values: Any) -> Any:
        """Of the plans' values: what a product and its gradient must see alike."""
        return None if values is not None else (self.matrix._updates, self._given)

    def _multiply(self, backwards: bool, prepare: Callable[[], Any]) -> torch.Tensor:
        """op(A) B of `prepare()`, which gives the values, None for the matrix's, and B."""
        plan = self._plans[backwards]
        with _refused(plan):
            values, B = prepare()
            B = _rows(B)
            if values is not None:
                plan.update_values(_rows(values))
                self._given = True
            elif self._given:
                raise ValueError("this graph has multiplied with values of its callers, which "
                                 "replace the matrix's: give values each time, or make another "
                                 "Graph")
        return plan.execute(B)

    def _sample(self, prepare: Callable[[], Any]) -> torch.Tensor:
        """The SDDMM of the X and Y that `prepare()` gives."""
        if self._sddmm is None:
            raise UnsupportedError("sddmm takes a Graph of a real matrix, made with values=True")
        with _refused(self._sddmm):
            X, Y = (_rows(x) for x in prepare())
        return self._sddmm.execute(X, Y)

    def _row_of_entries(self, like: torch.Tensor) -> torch.Tensor:
        """The row of this rank of each entry, made once: by way of the host."""
        if not self.matrix._by_rows:
            raise UnsupportedError("the gradient of sparse_softmax takes a matrix given by rows, "
                                   "not by blocks")
        if self._row is None:
            pointer = torch.from_numpy(self.matrix.csr()[0]).to(like.device)
            self._row = torch.repeat_interleave(torch.arange(len(pointer) - 1,
                                                             device=like.device),
                                                pointer[1:] - pointer[:-1])
        return self._row


@contextlib.contextmanager
def _refused(plan: Plans, name: str = "execute") -> Iterator[None]:
    """What fails here, on the way to a product of the plan, fails the product."""
    try:
        yield
    except Exception:
        plan._refuse(name)
        raise


def _rows(x: torch.Tensor) -> torch.Tensor:
    """Row-major, as it lies or copied; conjugates and negatives made."""
    x = x.detach().resolve_conj().resolve_neg()
    lies = x.stride(0) > 0 if x.dim() == 1 else x.stride(1) == 1 and x.stride(0) >= x.shape[1]
    return x if lies else x.contiguous()


class _Spmm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, graph: Graph, values: Any, B: torch.Tensor) -> torch.Tensor:
        ctx.graph, ctx.state = graph, graph._state(values)
        ctx.save_for_backward(values, B if ctx.needs_input_grad[1] else None)
        return graph._multiply(False, lambda: (values, B))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dC: torch.Tensor) -> Any:
        _, of_values, of_B = ctx.needs_input_grad

        def of_product() -> Any:
            values, _ = ctx.saved_tensors
            if ctx.state != ctx.graph._state(values):
                raise RuntimeError(
                    "the graph got new values between spmm() and its gradient, which takes the "
                    "former ones: call backward() before update_values() and before products with "
                    "other values, or call spmm() again; values given to spmm() are kept")
            return values, dC

        return (None, ctx.graph._sample(lambda: (dC, ctx.saved_tensors[1])) if of_values else None,
                ctx.graph._multiply(True, of_product) if of_B else None)


class _Sddmm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, graph: Graph, X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
        ctx.graph = graph
        ctx.save_for_backward(X, Y)
        return graph._sample(lambda: (X, Y))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dS: torch.Tensor) -> Any:
        _, of_X, of_Y = ctx.needs_input_grad

        def of_product(which: int) -> Callable[[], Any]:
            return lambda: (_rows(dS).contiguous(), ctx.saved_tensors[which])

        return (None, ctx.graph._multiply(False, of_product(1)) if of_X else None,
                ctx.graph._multiply(True, of_product(0)) if of_Y else None)


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, graph: Graph, S: torch.Tensor, scale: float) -> torch.Tensor:
        if graph._sddmm is None:
            raise UnsupportedError("sparse_softmax takes a Graph of a real matrix, made with "
                                   "values=True")
        P: torch.Tensor = graph._sddmm.softmax(_rows(S).contiguous(), scale=scale)
        ctx.graph, ctx.scale = graph, scale
        ctx.save_for_backward(P)
        return P

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dP: torch.Tensor) -> Any:
        P, = ctx.saved_tensors
        row = ctx.graph._row_of_entries(P)
        terms = P * dP
        sums = torch.zeros(ctx.graph.matrix.info.local_rows, dtype=P.dtype, device=P.device)
        return None, ctx.scale * (terms - P * sums.index_add_(0, row, terms)[row]), None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: Attention, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor,
                scale: Optional[float]) -> torch.Tensor:
        with _refused(plan):
            Q, K, V = (_rows(x) for x in (Q, K, V))
            if any(ctx.needs_input_grad):  # gradients take rows without gaps
                Q, K, V = (x.contiguous() for x in (Q, K, V))
        O, lse = plan.execute(Q, K, V, scale)
        ctx.plan, ctx.scale = plan, scale
        ctx.save_for_backward(Q, K, V, O, lse)
        return O

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dO: torch.Tensor) -> Any:
        with _refused(ctx.plan, "gradients"):
            Q, K, V, O, lse = ctx.saved_tensors
            dO = _rows(dO).contiguous()
        gradients = ctx.plan.gradients(Q, K, V, O, lse, dO, ctx.scale)
        return (None, *gradients, None)


def _recorded(*tensors: torch.Tensor) -> str:
    """In words: which of the tensors ask for a gradient, which is to be equal on all ranks."""
    asked = [expect(x, torch.Tensor, "a block").requires_grad for x in tensors]
    return f"requires_grad {asked if torch.is_grad_enabled() else 'off'}"


@_eager
@collective(on=of_product)
def attention(plan: Attention, Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor,
              scale: Optional[float] = None) -> Generator[str, None, torch.Tensor]:
    """``O_i = sum_j softmax_j(scale <Q_i, K_j>) V_j`` over the entries of a mask.  Collective.

    Parameters
    ----------
    plan : spmm_dist.Attention
        With option backward where a gradient is asked for.
    Q : torch.Tensor, ``(local rows of the mask, heads k)``
    K, V : torch.Tensor, ``(local columns of the mask, heads k)``
    scale : float, optional
        Default: ``1 / sqrt(k)``.

    Returns
    -------
    torch.Tensor, ``(local rows of the mask, heads k)``
        Differentiable by Q, K and V.
    """
    expect(plan, Attention, "plan")
    yield f"of object {plan._number}, {_recorded(Q, K, V)}"
    return cast(torch.Tensor, _Attention.apply(plan, Q, K, V, scale))


@_eager
@collective(on=of_product)
def spmm(graph: Graph, B: torch.Tensor, values: Optional[torch.Tensor] = None) -> Generator[
        str, None, torch.Tensor]:
    """``A @ B``.  Collective.

    Parameters
    ----------
    graph : Graph
    B : torch.Tensor, ``(local columns of A, n)``
    values : torch.Tensor, ``(entries of this rank,)``, optional
        In place of the matrix's, in the order of `Matrix.update_values`.

    Returns
    -------
    torch.Tensor, ``(local rows of A, n)``
        Differentiable by B (a product with the conjugate transpose) and by values (an SDDMM).
    """
    expect(graph, Graph, "graph")
    recorded = _recorded(B) if values is None else _recorded(B, values)
    values = None if values is None else values.contiguous()
    yield f"of object {graph.matrix._number}, {recorded}"
    return cast(torch.Tensor, _Spmm.apply(graph, values, B))


@_eager
@collective(on=of_product)
def sddmm(graph: Graph, X: torch.Tensor, Y: torch.Tensor) -> Generator[str, None, torch.Tensor]:
    """Dot products of rows of X and Y at the entries of A.  Collective.

    Parameters
    ----------
    graph : Graph
    X : torch.Tensor, ``(local rows of A, k)``
    Y : torch.Tensor, ``(local columns of A, k)``

    Returns
    -------
    torch.Tensor, ``(entries of this rank,)``
        Differentiable by X and Y.
    """
    expect(graph, Graph, "graph")
    yield f"of object {graph.matrix._number}, {_recorded(X, Y)}"
    return cast(torch.Tensor, _Sddmm.apply(graph, X, Y))


@_eager
def sparse_softmax(graph: Graph, S: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    """Softmax of ``scale S`` over the entries of each row of A.  Local.

    Parameters
    ----------
    graph : Graph
    S : torch.Tensor, ``(entries of this rank,)``
    scale : float

    Returns
    -------
    torch.Tensor, ``(entries of this rank,)``
        Differentiable by S.
    """
    return cast(torch.Tensor, _Softmax.apply(expect(graph, Graph, "graph"), S, scale))


@contextlib.contextmanager
def process_group(ctx: Context) -> Iterator[None]:
    """``torch.distributed`` over the ranks of a context while the block lasts, so that
    `sum_over_ranks` adds up on GPUs, by NCCL.  Collective.

    Does nothing on CPUs, for one rank, where ranks share a GPU, which NCCL refuses, with a torch
    without NCCL, or where the program has a process group of its own, which then serves.

    Parameters
    ----------
    ctx : Context
    """
    comm = ctx.comm
    if (comm.size == 1 or ctx.info.device != "cuda" or not distributed.is_available() or
            not distributed.is_nccl_available() or distributed.is_initialized()):
        yield
        return
    gpu = torch.cuda.get_device_properties(ctx.info.device_ordinal)
    name = str(getattr(gpu, "uuid", None) or ctx.info.device_ordinal), MPI.Get_processor_name()
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    host = "localhost" if node.size == comm.size else MPI.Get_processor_name()
    node.Free()
    if len(set(comm.allgather(name))) < comm.size:
        yield
        return
    found: Any = None
    if comm.rank == 0:
        try:
            store = distributed.TCPStore(host, 0, comm.size, True, wait_for_workers=False)
            found = host, store.port
        except RuntimeError as error:
            found = error
    found = comm.bcast(found)
    if isinstance(found, Exception):
        raise found
    if comm.rank > 0:
        store = distributed.TCPStore(*found, comm.size, False)
    distributed.init_process_group("nccl", store=store, rank=comm.rank, world_size=comm.size)
    try:
        yield
    finally:
        distributed.destroy_process_group()


def _has_group(comm: MPI.Comm) -> bool:
    """Has torch a process group of as many ranks as comm?  A sum asks for no order of them."""
    return bool(distributed.is_available() and distributed.is_initialized() and
                distributed.get_world_size() == comm.size)


@collective(on=of_communicator)
def sum_over_ranks(comm: MPI.Comm, tensors: Iterable[torch.Tensor]) -> Generator[
        str, None, None]:
    """Replace tensors by their sums over the ranks, in one reduction: of tensors on GPUs by
    ``torch.distributed`` where it is at work (`process_group`), else on the host by MPI.
    Collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        `Context.comm`, for example
    tensors : iterable of torch.Tensor
        of one type, gradients of weights for example; contiguous
    """
    expect(comm, MPI.Comm, "comm")
    tensors = list(tensors)
    flat = torch.cat([t.detach().reshape(-1) for t in tensors]) if tensors else torch.empty(0)
    yield f"{len(flat)} elements of {flat.dtype} on {flat.device.type}"
    if comm.size == 1 or not tensors:
        return
    if flat.is_cuda and _has_group(comm):
        distributed.all_reduce(flat)
    else:
        flat = flat.cpu()
        comm.Allreduce(MPI.IN_PLACE, flat.numpy())
    for t, part in zip(tensors, torch.split(flat, [t.numel() for t in tensors])):
        t.copy_(part.view(t.shape))
