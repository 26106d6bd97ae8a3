# SPDX-License-Identifier: Apache-2.0
"""The context, and how what is made from it is released on all ranks alike."""
from __future__ import annotations

import atexit
import shutil
import sys
import threading
import warnings
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Set, Tuple,
                    TypeVar, Union, cast)

from ._collective import Handle, agree, collective, gather, gone, of_communicator, opened
from ._errors import ArgumentError
from ._library import check, check_mpi, choice, error, ffi, fill, lib, text
from ._structs import ComponentInfo, ContextInfo

if TYPE_CHECKING:
    from types import TracebackType

    from mpi4py import MPI as mpi

T = TypeVar("T")
_DEVICES = {"auto": lib.SPMM_DEVICE_AUTO, "cpu": lib.SPMM_DEVICE_CPU, "cuda": lib.SPMM_DEVICE_CUDA}
_GRACE_S = 5.0
_BUSY = ("another thread, or the log callback, is in a call on this context: one thread at a time "
         "uses it")


def _show(line: str) -> None:
    """In place of the line before."""
    columns = shutil.get_terminal_size().columns
    print(f"\r\x1b[K{line[:columns - 1]}", end="", file=sys.stderr, flush=True)


class Context(Handle):
    """A communicator and the device of this rank.  Collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        Intra-communicator, one rank per device; the context works on a duplicate.  Default:
        ``MPI.COMM_WORLD``.
    device : {"auto", "cpu", "cuda"}
        "auto" is the CPU where any rank sees no GPU.
    cuda_device : int, optional
        Local: a CUDA ordinal.  Default: one that the fewest ranks of the node have.
    log : callable or True, optional
        Local: called with one line of progress at a time.  True: rank 0 has the latest on stderr,
        where that is a terminal.
    timeout_s : float
        > 0: an exchange that takes longer, since a rank is late or gone, is a `CommError` on every
        rank that waits for it.
    nccl_ctas : int
        Most thread blocks of one exchange of transport nccl; 0: NCCL's choice.
    check : bool
        Products, too, compare their arguments over the ranks first, in one small reduction, and so
        wait for all ranks.  With False (and without ``SPMM_CHECK=1``) the exception of a product
        that one rank refuses is that rank's alone, and the others may wait for it.
    ranks_per_node : int
        > 0: so many successive ranks are taken for a node; 0: those that can share memory.

    Raises
    ------
    UnsupportedError
        The device asked for is not built in or not visible.
    ImportError
        mpi4py uses another MPI than the library.

    Notes
    -----
    Use it in a ``with`` statement: it closes the plans and matrices made from it, then itself.
    What a program drops instead is released by the next collective call but a product, once all
    ranks have dropped it: garbage collection runs when it likes, and releasing is collective.
    A context, and all that is made from it, serves one thread at a time.
    """

    @collective(on=of_communicator)
    def __init__(self, comm: Optional[mpi.Intracomm] = None,  # type: ignore[misc]
                 device: str = "auto", *, cuda_device: Optional[int] = None,
                 log: Union[None, bool, Callable[[str], object]] = None, timeout_s: float = 0.0,
                 nccl_ctas: int = 0, check: bool = True, ranks_per_node: int = 0) -> Any:
        from mpi4py import MPI

        check_mpi(MPI)
        self._cell = ffi.new("spmm_context_t **")
        self._lock = threading.Lock()
        # What was made from it and not released: {number: (handle, destroy, number of the matrix)},
        # and what of that the program has dropped.  Numbers are the same on all ranks.
        self._made = 0
        self._held: Dict[int, Tuple[Any, Any, int]] = {}
        self._dropped: Set[int] = set()
        if comm is None:
            comm = MPI.COMM_WORLD
        if not isinstance(comm, MPI.Comm):
            raise TypeError(f"comm is a {type(comm).__name__}, not a communicator of mpi4py")
        if comm == MPI.COMM_NULL or comm.Is_inter():
            raise ValueError("comm is null or an inter-communicator: give an intra-communicator")
        if isinstance(log, bool):
            log = _show if log and comm.rank == 0 and sys.stderr.isatty() else None
        if log is not None and not callable(log):
            raise TypeError(f"log is a {type(log).__name__}: give a function of one line")
        told = log
        options = ffi.new("spmm_context_options_t *")
        options.struct_size = ffi.sizeof("spmm_context_options_t")
        options.device = choice(device, _DEVICES, "device")
        ordinal = ffi.NULL if cuda_device is None else ffi.new("int *", cuda_device)
        options.cuda_device = ordinal
        self._log = told and ffi.callback("spmm_log_fn_t", lambda _, line: told(text(line)))
        options.log = self._log or ffi.NULL
        options.timeout_s, options.nccl_ctas = timeout_s, nccl_ctas
        options.check, options.ranks_per_node = int(bool(check)), ranks_per_node
        self._checks = bool(check)
        # As long as the library waits for a rank at set-up.
        self._patience = options.timeout_s and options.timeout_s + _GRACE_S
        yield f"check={bool(check)}"
        status = lib.spmm_context_create_f(comm.py2f(), options, self._cell)
        if status:
            raise error(status)
        self._comm = cast("mpi.Intracomm", comm.Dup())
        self._info = self._get_info()
        #: This rank, and how many there are.
        self.rank, self.size = self._info.rank, self._info.size
        self._on_gpu = self.info.device == "cuda"
        opened.add(self)

    def _facts(self) -> Dict[str, Any]:
        if self.closed:
            return {"closed": True}
        return {"rank": self.rank, "size": self.size, "device": self._info.device,
                "device_name": self._info.device_name}

    def _get_info(self) -> ContextInfo:
        return ContextInfo(**fill("spmm_context_info_t", lib.spmm_context_get_info, self._cell[0]))

    @property
    def info(self) -> ContextInfo:
        """What the context runs on, and the memory that it keeps; of a closed one, what it was."""
        if not self.closed:
            self._info = self._get_info()
        return self._info

    @property
    def closed(self) -> bool:
        """Has `close` been called?"""
        return not self._cell[0]

    @property
    def comm(self) -> mpi.Intracomm:
        """The context's own duplicate of the communicator."""
        return self._comm

    @property
    def _context(self) -> Optional[Context]:  # type: ignore[override]
        return self if hasattr(self, "_comm") else None

    @property
    def _pointer(self) -> Any:
        if self.closed:
            raise gone("context")
        return self._cell[0]

    def _abandon(self) -> None:
        """In a forked child: to be seen as closed, with all that was made from it."""
        for cell, *_ in self._held.values():
            cell[0] = ffi.NULL
        self._held.clear()
        self._dropped.clear()
        self._cell[0] = ffi.NULL

    def synchronize(self, stream: Any = None) -> None:
        """Wait until all work of a CUDA stream is done; on CPUs it is when a call returns."""
        from ._arrays import View, stream_of

        handle = stream_of(stream, View(0, (), None, "", False, False, ""))
        self._call(lib.spmm_stream_synchronize, self._pointer, ffi.cast("void *", handle))

    def close(self) -> None:
        """Close all plans and matrices made from it, then the context.  Collective; again is fine.

        Warns
        -----
        RuntimeWarning
            where some ranks had dropped what others still held
        """
        if self.closed:
            return
        self._agree("Context.close()", closing=True)
        self._release(list(self._held))
        check(lib.spmm_context_destroy(self._cell))
        self._comm.Free()
        opened.discard(self)

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        # A rank that failed alone must not wait here for ranks that go on: MPI ends them all.
        if kind is None or self.size == 1:
            self.close()

    def __del__(self) -> None:
        if getattr(self, "size", 0) == 1 and not self.closed:
            self.close()

    def _call(self, function: Any, *arguments: Any) -> None:
        """A call of the library: by one thread at a time, without Python's global lock."""
        if not self._lock.acquire(False):
            raise ArgumentError(_BUSY)
        try:
            status = function(*arguments)
        finally:
            self._lock.release()
        if status:
            raise error(status, self._cell[0])

    def _meet(self, what: str, failed: Optional[Exception] = None) -> None:
        """Raises on all ranks where one has failed or they call different things.  Collective."""
        if self.closed:
            raise gone("context") if failed is None else failed
        if self._lock.locked():  # the other ranks are in that call, not in this one
            raise ArgumentError(_BUSY)
        agree(self._comm, what, failed, self._patience)

    def _agree(self, what: str, failed: Optional[Exception] = None, closing: bool = False) -> None:
        """In front of a collective call of the library but a product: as `_meet`, and releases what
        all ranks have dropped."""
        self._meet(what, failed)
        if self.size == 1:
            self._release(list(self._dropped))
            return
        dropped = [set(numbers)
                   for numbers in gather(self._comm, list(self._dropped), self._patience)]
        differing = sorted(set.union(*dropped) - set.intersection(*dropped))
        if closing and differing:
            holders = [r for r, numbers in enumerate(dropped) if differing[0] not in numbers]
            warnings.warn(
                f"object {differing[0]} made from this context was dropped on some ranks but held "
                f"on rank {holders[0]}, so its memory was kept: close it on all ranks alike",
                RuntimeWarning, stacklevel=3)
        self._release(set.intersection(*dropped))

    def _release(self, numbers: Iterable[int]) -> None:
        """Collective.  Newer things first: plans come before their matrices."""
        for number in sorted(numbers, reverse=True):
            cell, destroy, _ = self._held[number]
            self._call(destroy, cell)
            del self._held[number]
            self._dropped.discard(number)


class Resource(Handle):
    """What is made from a context, and released in step with the other ranks."""

    _word = ""
    _context: Context

    def __init__(self, ctx: Context, kind: str, destroy: Any, create: Tuple[Any, ...],
                 matrix: int = 0) -> None:
        """`create(cell)` is the collective call; all checks are behind it.  `matrix`: the number of
        the one that it is made from."""
        self._context, self._cell = ctx, ffi.new(kind + " **")
        ctx._call(*create, self._cell)
        ctx._made += 1
        self._number = ctx._made
        ctx._held[self._number] = self._cell, destroy, matrix

    @property
    def context(self) -> Context:
        """The context that it was made from."""
        return self._context

    @property
    def closed(self) -> bool:
        """Has it been closed, by `close` or with its context?"""
        return not self._cell[0]

    @property
    def _pointer(self) -> Any:
        pointer = self._cell[0]
        if not pointer:
            raise gone(self._word)
        return pointer

    def close(self) -> None:
        """Release it, behind all that was made from it.  Collective; again is fine."""
        if not self.closed:
            ctx = self._context
            ctx._agree(f"close() of object {self._number}")
            ctx._release([number for number, (_, _, matrix) in ctx._held.items()
                          if self._number in (number, matrix)])

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if kind is None or self._context.size == 1:
            self.close()

    def __del__(self) -> None:
        if getattr(self, "_number", 0) and not self.closed and not self._context.closed:
            ctx = self._context
            ctx._dropped.add(self._number)
            if ctx.size == 1 and not ctx._lock.locked():
                try:
                    ctx._release(ctx._dropped)
                except ArgumentError:  # a matrix of a cycle goes with its last plan
                    pass


@atexit.register
def _warn_of_open_contexts() -> None:
    for ctx in list(opened):
        if ctx.size == 1:
            ctx.close()
        else:
            warnings.warn(f"rank {ctx.rank} ends with an open Context: close() it, or use it in a "
                          "with statement", ResourceWarning, stacklevel=1)


def components(kind: str) -> List[ComponentInfo]:
    """What a build offers.  Local.

    Parameters
    ----------
    kind : {"engine", "transport", "partitioner"}

    Returns
    -------
    list of ComponentInfo
    """
    functions = {name: getattr(lib, f"spmm_{name}_info")
                 for name in ("engine", "transport", "partitioner")}
    function = choice(kind, functions, "kind")
    found: List[ComponentInfo] = []
    info = ffi.new("spmm_component_info_t *")
    info.struct_size = ffi.sizeof("spmm_component_info_t")
    while function(len(found), info) == 0:
        found.append(ComponentInfo(text(info.name), text(info.description), info.built))
    return found
