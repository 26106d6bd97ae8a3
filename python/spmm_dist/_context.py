# SPDX-License-Identifier: Apache-2.0
"""The context, and how what is made from it is released on all ranks alike."""
import atexit
import threading
import warnings

from ._collective import Handle, agree, collective, gather, of_communicator, opened
from ._errors import ArgumentError
from ._library import check, check_mpi, choice, error, ffi, fill, lib, text
from ._structs import ComponentInfo, ContextInfo

_DEVICES = {"auto": lib.SPMM_DEVICE_AUTO, "cpu": lib.SPMM_DEVICE_CPU, "cuda": lib.SPMM_DEVICE_CUDA}
_GRACE_S = 5.0
_BUSY = ("another thread, or the log callback, is in a call on this context: one thread at a time "
         "uses it")


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
    log : callable, optional
        Local: called with one line of progress at a time.
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
    def __init__(self, comm=None, device="auto", *, cuda_device=None, log=None, timeout_s=0.0,
                 nccl_ctas=0, check=True, ranks_per_node=0):
        from mpi4py import MPI

        check_mpi(MPI)
        self._cell = ffi.new("spmm_context_t **")
        self._lock = threading.Lock()
        # What was made from it and not released: {number: (handle, destroy)}, and what of that the
        # program has dropped.  Numbers are the same on all ranks.
        self._made, self._held, self._dropped = 0, {}, set()
        if comm is None:
            comm = MPI.COMM_WORLD
        if not isinstance(comm, MPI.Comm):
            raise TypeError(f"comm is a {type(comm).__name__}, not a communicator of mpi4py")
        if comm == MPI.COMM_NULL or comm.Is_inter():
            raise ValueError("comm is null or an inter-communicator: give an intra-communicator")
        if log is not None and not callable(log):
            raise TypeError(f"log is a {type(log).__name__}: give a function of one line")
        options = ffi.new("spmm_context_options_t *")
        options.struct_size = ffi.sizeof("spmm_context_options_t")
        options.device = choice(device, _DEVICES, "device")
        ordinal = ffi.NULL if cuda_device is None else ffi.new("int *", cuda_device)
        options.cuda_device = ordinal
        self._log = log and ffi.callback("spmm_log_fn_t", lambda _, line: log(text(line)))
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
        self._comm = comm.Dup()
        self._info = None
        self.rank, self.size = self.info.rank, self.info.size
        self._on_gpu = self.info.device == "cuda"
        opened.add(self)

    def __repr__(self):
        if self.closed:
            return "<spmm_dist.Context, closed>"
        return f"<spmm_dist.Context of {self.size} ranks on {self.info.device_name}>"

    @property
    def info(self):
        """What the context runs on, and the memory that it keeps; of a closed one, what it was."""
        if not self.closed:
            self._info = ContextInfo(**fill("spmm_context_info_t", lib.spmm_context_get_info,
                                            self._cell[0]))
        return self._info

    @property
    def closed(self):
        """Has `close` been called?"""
        return not self._cell[0]

    @property
    def comm(self):
        """The context's own duplicate of the communicator."""
        return self._comm

    @property
    def _context(self):
        return self if hasattr(self, "_comm") else None

    @property
    def _pointer(self):
        if self.closed:
            raise ArgumentError("the context is closed")
        return self._cell[0]

    def synchronize(self, stream=None):
        """Wait until all work of a CUDA stream is done; on CPUs it is when a call returns."""
        from ._arrays import View, stream_of

        handle = stream_of(stream, View(0, (), None, "", False, False, ""))
        self._call(lib.spmm_stream_synchronize, self._pointer, ffi.cast("void *", handle))

    def close(self):
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

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        # A rank that failed alone must not wait here for ranks that go on: MPI ends them all.
        if kind is None or self.size == 1:
            self.close()

    def __del__(self):
        if getattr(self, "size", 0) == 1 and not self.closed:
            self.close()

    def _call(self, function, *arguments):
        """A call of the library: by one thread at a time, without Python's global lock."""
        if not self._lock.acquire(False):
            raise ArgumentError(_BUSY)
        try:
            status = function(*arguments)
        finally:
            self._lock.release()
        if status:
            raise error(status, self._cell[0])

    def _meet(self, what, failed=None):
        """Raises on all ranks where one has failed or they call different things.  Collective."""
        if self.closed:
            raise ArgumentError("the context is closed") if failed is None else failed
        if self._lock.locked():  # the other ranks are in that call, not in this one
            raise ArgumentError(_BUSY)
        agree(self._comm, what, failed, self._patience)

    def _agree(self, what, failed=None, closing=False):
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

    def _release(self, numbers):
        """Collective.  Newer things first: plans come before their matrices."""
        for number in sorted(numbers, reverse=True):
            cell, destroy = self._held[number]
            self._call(destroy, cell)
            del self._held[number]
            self._dropped.discard(number)


class Resource(Handle):
    """What is made from a context, and released in step with the other ranks."""

    def __init__(self, ctx, kind, destroy, create):
        """`create(cell)` is the collective call; all checks are behind it."""
        self._context, self._cell = ctx, ffi.new(kind + " **")
        ctx._call(*create, self._cell)
        ctx._made += 1
        self._number = ctx._made
        ctx._held[self._number] = self._cell, destroy

    @property
    def context(self):
        """The context that it was made from."""
        return self._context

    @property
    def closed(self):
        """Has it been closed, by `close` or with its context?"""
        return not self._cell[0]

    @property
    def _pointer(self):
        pointer = self._cell[0]
        if not pointer:
            raise ArgumentError(f"the {self._word} is closed")
        return pointer

    def close(self):
        """Release it.  Collective; again is fine."""
        if not self.closed:
            ctx = self._context
            ctx._agree(f"close() of object {self._number}")
            ctx._call(ctx._held[self._number][1], self._cell)
            del ctx._held[self._number]

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None or self._context.size == 1:
            self.close()

    def __del__(self):
        if getattr(self, "_number", 0) and not self.closed and not self._context.closed:
            ctx = self._context
            ctx._dropped.add(self._number)
            if ctx.size == 1 and not ctx._lock.locked():
                try:
                    ctx._release(ctx._dropped)
                except ArgumentError:  # a matrix of a cycle goes with its last plan
                    pass


@atexit.register
def _warn_of_open_contexts():
    for ctx in list(opened):
        if ctx.size == 1:
            ctx.close()
        else:
            warnings.warn(f"rank {ctx.rank} ends with an open Context: close() it, or use it in a "
                          "with statement", ResourceWarning, stacklevel=1)


def components(kind):
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
    function, found = choice(kind, functions, "kind"), []
    info = ffi.new("spmm_component_info_t *")
    info.struct_size = ffi.sizeof("spmm_component_info_t")
    while function(len(found), info) == 0:
        found.append(ComponentInfo(text(info.name), text(info.description), info.built))
    return found
