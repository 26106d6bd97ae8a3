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
import contextlib

import torch
from mpi4py import MPI
from torch import distributed
from torch.autograd.function import once_differentiable

from ._errors import UnsupportedError


def _eager(function):
    """Not to be traced by torch.compile, where torch has it."""
    compiler = getattr(torch, "compiler", None)
    return compiler.disable(function) if hasattr(compiler, "disable") else function


class Graph:
    """A matrix with the plans that products and their gradients take.  Collective.

    Parameters
    ----------
    A : Matrix
        Real for `sddmm` and for values that require a gradient.
    n : int
        Most columns of a block.
    values : bool
        Plan for `sddmm` and for products with values of their own, too: on GPUs by engine csr-gpu,
        unless `options` name another, since most others take values by way of the host.
    options
        of `Matrix.plan`; the partition is "keep", rows are row-major
    """

    def __init__(self, A, n, *, values=True, **options):
        for name, only in (("partition", "keep"), ("layout", "row"), ("op", "n")):
            if options.pop(name, only) != only:
                raise ValueError(f"{name} of a Graph is {only!r}: autograd goes both ways, on the "
                                 "rows of this rank")
        self.matrix = A
        if values and A.context._on_gpu:
            options.setdefault("engine", "csr-gpu")
        self._plans = A.plan(n, **options), A.plan(n, op="h", **options)
        self._sddmm = A.sddmm(n) if values and not A.dtype.startswith("complex") else None
        self._given, self._row = False, None

    def _multiply(self, backwards, B, values):
        """op(A) B, with the values given."""
        plan = self._plans[backwards]
        if values is not None:
            plan.update_values(values)
            self._given = True
        elif self._given:
            raise ValueError("this graph has multiplied with values of its callers, which replace "
                             "the matrix's: give values each time, or make another Graph")
        return plan.execute(_rows(B))

    def _sample(self, X, Y):
        if self._sddmm is None:
            raise UnsupportedError("sddmm takes a Graph of a real matrix, made with values=True")
        return self._sddmm.execute(_rows(X), _rows(Y))

    def _row_of_entries(self, like):
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


def _rows(x):
    """Row-major, as it lies or copied; conjugates and negatives made."""
    x = x.detach().resolve_conj().resolve_neg()
    lies = x.stride(0) > 0 if x.dim() == 1 else x.stride(1) == 1 and x.stride(0) >= x.shape[1]
    return x if lies else x.contiguous()


class _Spmm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, graph, values, B):
        ctx.graph = graph
        ctx.save_for_backward(values, B)
        return graph._multiply(False, B, None if values is None else _rows(values))

    @staticmethod
    @once_differentiable
    def backward(ctx, dC):
        values, B = ctx.saved_tensors
        _, of_values, of_B = ctx.needs_input_grad
        given = None if values is None else _rows(values)
        return (None, ctx.graph._sample(dC, B) if of_values else None,
                ctx.graph._multiply(True, dC, given) if of_B else None)


class _Sddmm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, graph, X, Y):
        ctx.graph = graph
        ctx.save_for_backward(X, Y)
        return graph._sample(X, Y)

    @staticmethod
    @once_differentiable
    def backward(ctx, dS):
        X, Y = ctx.saved_tensors
        _, of_X, of_Y = ctx.needs_input_grad
        dS = _rows(dS).contiguous()
        return (None, ctx.graph._multiply(False, Y, dS) if of_X else None,
                ctx.graph._multiply(True, X, dS) if of_Y else None)


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, graph, S, scale):
        if graph._sddmm is None:
            raise UnsupportedError("sparse_softmax takes a Graph of a real matrix, made with "
                                   "values=True")
        P = graph._sddmm.softmax(_rows(S).contiguous(), scale=scale)
        ctx.graph, ctx.scale = graph, scale
        ctx.save_for_backward(P)
        return P

    @staticmethod
    @once_differentiable
    def backward(ctx, dP):
        P, = ctx.saved_tensors
        row = ctx.graph._row_of_entries(P)
        terms = P * dP
        sums = torch.zeros(ctx.graph.matrix.info.local_rows, dtype=P.dtype, device=P.device)
        return None, ctx.scale * (terms - P * sums.index_add_(0, row, terms)[row]), None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, plan, Q, K, V, scale):
        Q, K, V = (_rows(x) for x in (Q, K, V))
        if any(ctx.needs_input_grad):  # gradients take rows without gaps
            Q, K, V = (x.contiguous() for x in (Q, K, V))
        O, lse = plan.execute(Q, K, V, scale)
        ctx.plan, ctx.scale = plan, scale
        ctx.save_for_backward(Q, K, V, O, lse)
        return O

    @staticmethod
    @once_differentiable
    def backward(ctx, dO):
        Q, K, V, O, lse = ctx.saved_tensors
        gradients = ctx.plan.gradients(Q, K, V, O, lse, _rows(dO).contiguous(), ctx.scale)
        return (None, *gradients, None)


@_eager
def attention(plan, Q, K, V, scale=None):
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
    return _Attention.apply(plan, Q, K, V, scale)


@_eager
def spmm(graph, B, values=None):
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
    if values is not None:
        values = values.contiguous()
    return _Spmm.apply(graph, values, B)


@_eager
def sddmm(graph, X, Y):
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
    return _Sddmm.apply(graph, X, Y)


@_eager
def sparse_softmax(graph, S, scale=1.0):
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
    return _Softmax.apply(graph, S, scale)


@contextlib.contextmanager
def process_group(ctx):
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
    found = None
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


def _has_group(comm):
    """Has torch a process group of as many ranks as comm?  A sum asks for no order of them."""
    return (distributed.is_available() and distributed.is_initialized() and
            distributed.get_world_size() == comm.size)


def sum_over_ranks(comm, tensors):
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
    tensors = list(tensors)
    if comm.size == 1 or not tensors:
        return
    flat = torch.cat([t.detach().reshape(-1) for t in tensors])
    if flat.is_cuda and _has_group(comm):
        distributed.all_reduce(flat)
    else:
        flat = flat.cpu()
        comm.Allreduce(MPI.IN_PLACE, flat.numpy())
    for t, part in zip(tensors, flat.split([t.numel() for t in tensors])):
        t.copy_(part.view(t.shape))
