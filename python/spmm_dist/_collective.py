# SPDX-License-Identifier: Apache-2.0
"""Calls that all ranks make: what one rank gets wrong is an exception on every rank."""
from __future__ import annotations

import contextlib
import functools
import inspect
import os
import pickle
import sys
import time
import weakref
import zlib
from typing import (TYPE_CHECKING, Any, Callable, Dict, Generator, List, Optional, Tuple, TypeVar,
                    cast)

import numpy as np

from ._errors import CLASSES, ArgumentError, CommError, SpmmError
from ._shown import Shown

if TYPE_CHECKING:
    from mpi4py import MPI
    from typing_extensions import Concatenate, ParamSpec

    from ._context import Context

    P = ParamSpec("P")
    Agreed = Optional[Callable[[str, Optional[Exception]], None]]
R = TypeVar("R")
T = TypeVar("T")
H = TypeVar("H", bound="Product")

opened: weakref.WeakSet[Context] = weakref.WeakSet()  # contexts that are not closed
_kept: List[Any] = []  # arrays that MPI may still read after a CommError
_LIKE: Dict[str, type] = {"TypeError": TypeError,
                          **{cls.__name__: cls for cls in CLASSES.values()}}
meetings = [0]  # how often ranks were to agree
_forked = False  # from a process that had started MPI
#: Columns of a call that Python refuses, which no program can ask for: the library then refuses it,
#: and where the context checks calls all ranks do.
REFUSED = -1


def _after_fork() -> None:
    """In a forked child: what the parent made stays the parent's, and nothing here is released."""
    global _forked
    mpi = sys.modules.get("mpi4py.MPI")
    _forked = _forked or (mpi is not None and mpi.Is_initialized())
    for context in list(opened):
        context._abandon()
    opened.clear()


os.register_at_fork(after_in_child=_after_fork)


def gone(what: str) -> ArgumentError:
    """Of a handle that is closed, or whose owner is the parent of this process."""
    return ArgumentError(
        f"the {what} is of the process from which this one was forked, and MPI serves no forked "
        "one: use it there" if _forked else f"the {what} is closed")


class Handle(Shown):
    """What owns something of the library, or is made of such: a shallow copy is the object itself,
    and there are no others."""

    _context: Optional[Context] = None

    def __copy__(self: T) -> T:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} is neither copied nor pickled, since it owns "
                        "what the library made for the ranks of this run: pass it on, or make "
                        "another")


def expect(value: Any, kind: type[T], what: str) -> T:
    """A TypeError where an argument is no `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} is a {type(value).__name__}, not a {kind.__name__}")
    return value


def _wait(request: MPI.Request, kept: Any, seconds: float) -> None:
    """Until all ranks have come, or a CommError after `seconds`; 0: wait for ever."""
    if not seconds:
        request.Wait()
        return
    end = time.monotonic() + seconds
    while not request.Test():
        if time.monotonic() > end:
            _kept.append((request, kept))
            raise CommError(f"not all ranks came to this call within {seconds:g} s: one is late or "
                            "gone; close the context")


def gather(comm: MPI.Comm, thing: Any, seconds: float = 0.0) -> List[Any]:
    """What each rank gives.  Collective."""
    from mpi4py import MPI

    mine = np.frombuffer(pickle.dumps(thing), np.uint8)
    length, lengths = np.array([len(mine)]), np.empty(comm.size, np.int64)
    _wait(comm.Iallgather(length, lengths), (length, lengths), seconds)
    every = np.empty(lengths.sum(), np.uint8)
    _wait(comm.Iallgatherv([mine, MPI.BYTE], [every, lengths, MPI.BYTE]), (mine, every), seconds)
    return [pickle.loads(part.data) for part in np.split(every, np.cumsum(lengths)[:-1])]


def _sentence(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # what a wrong argument raises may be anything
        return type(error).__name__


def agree(comm: MPI.Comm, what: str, failed: Optional[Exception] = None,
          seconds: float = 0.0) -> None:
    """Have all ranks come for the same, and has none failed?  Else an exception on each: its own,
    or one that names a rank.  Collective; one small reduction where all is well.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    what : str
        the call, and what is to be equal on all ranks
    failed : Exception, optional
        of this rank
    seconds : float
        > 0: how long to wait for the others
    """
    from mpi4py import MPI

    if _forked:
        raise failed or gone("communicator")
    meetings[0] += 1
    if comm.size > 1:
        word = 0 if failed is not None else 1 + zlib.crc32(what.encode("utf-8", "replace"))
        ends = np.array([word, -word], np.int64)
        _wait(comm.Iallreduce(MPI.IN_PLACE, ends, MPI.MIN), ends, seconds)
        if 0 < ends[0] == -ends[1]:
            return
        report = None if failed is None else (type(failed).__name__, _sentence(failed))
        every = gather(comm, (report, what), seconds)
    if failed is not None:
        raise failed
    if comm.size == 1:
        return
    for rank, (report, _) in enumerate(every):
        if report is not None:
            raise _LIKE.get(report[0], ArgumentError)(f"rank {rank}: {report[1]}")
    first = every[0][1]
    rank, other = next((r, other) for r, (_, other) in enumerate(every) if other != first)
    raise ArgumentError(f"ranks call different things: rank 0 {first}, rank {rank} {other}")


def of_communicator(arguments: Tuple[Any, ...]) -> Agreed:
    """How ranks agree on a call that has no context: on the communicator given, or, where a wrong
    one stands in its place, on that of all ranks."""
    from mpi4py import MPI

    comm = next((x for x in arguments if isinstance(x, MPI.Comm)), MPI.COMM_WORLD)
    # A rank without a communicator takes no part.
    if not MPI.Is_initialized() or comm == MPI.COMM_NULL:
        return None
    return functools.partial(agree, MPI.COMM_WORLD if comm.Is_inter() else comm)


def _context_of(arguments: Tuple[Any, ...]) -> Optional[Context]:
    """The context of the first argument that has one, or, where a wrong one stands in its place,
    the only context that is open."""
    for value in arguments:
        if isinstance(value, Handle) and value._context is not None:
            return value._context
    return next(iter(opened)) if len(opened) == 1 else None


def of_context(arguments: Tuple[Any, ...]) -> Agreed:
    """How ranks agree on a call."""
    context = _context_of(arguments)
    return None if context is None else context._agree


def of_product(arguments: Tuple[Any, ...]) -> Agreed:
    """How ranks agree on what leads to a product: where the context checks products."""
    context = _context_of(arguments)
    return None if context is None or not context._checks else context._meet


def collective(on: Callable[[Tuple[Any, ...]], Agreed] = of_context) -> Callable[
        [Callable[P, Generator[str, None, R]]], Callable[P, R]]:
    """A call that all ranks make, written as a generator.  Up to where it yields it prepares and
    converts, on each rank alone, and whatever is wrong there is an exception on all ranks.  It
    yields the words that must be equal on all ranks.  Behind that are calls of the library, which
    compare the rest.

    Parameters
    ----------
    on : callable
        Of the arguments: how ranks agree, as `of_context`.
    """

    def decorated(method: Callable[P, Generator[str, None, R]]) -> Callable[P, R]:
        name = method.__qualname__.replace(".__init__", "")

        @functools.wraps(method)
        def call(*arguments: P.args, **options: P.kwargs) -> R:
            failed, words = None, ""
            try:
                steps = method(*arguments, **options)
                words = next(steps)
            except Exception as error:
                failed = error
            agreed = on((*arguments, *options.values()))
            if agreed is not None:
                agreed(f"{name}({words})", failed)
            elif failed is not None:
                raise failed
            try:
                next(steps)
            except StopIteration as done:
                made: R = done.value
                return made
            raise AssertionError(f"{name} yields twice")

        # help() says what the call gives, and not how it is written.
        shown = inspect.signature(method)
        gives = str(shown.return_annotation).removeprefix("Generator[str, None, ")[:-1]
        setattr(call, "__signature__", shown.replace(return_annotation=gives))
        return call

    return decorated


class Product(Handle):
    """What a `product` is a method of."""

    _context: Context
    _pointer: Any

    def _refuse(self, name: str = "execute") -> None:
        """Tell the library that this rank refuses a product: it counts as one all the same."""
        raise NotImplementedError


def product(method: Callable[Concatenate[H, P], Tuple[Any, Tuple[Any, ...], R]]) -> Callable[
        Concatenate[H, P], R]:
    """A product of a plan.  `method` prepares it, on each rank alone, and returns the function of
    the library, its arguments behind the plan, and the result.  Where that fails the library is
    told, which counts the call and, where the context checks calls, fails it on all ranks."""

    @functools.wraps(method)
    def call(self: H, *arguments: P.args, **options: P.kwargs) -> R:
        try:
            if self._context.size > 1:
                refuse_solver(sys._getframe(1).f_globals.get("__name__", ""))
            function, given, result = method(self, *arguments, **options)
        except Exception:
            self._refuse(method.__name__)
            raise
        try:
            self._context._call(function, self._pointer, *given)
        except CommError:
            _kept.append((arguments, options, result))  # MPI may still read them
            raise
        except ArgumentError as error:
            if f" is {REFUSED}, must be" not in str(error):
                raise
            rank = str(error).partition(":")[0]
            raise ArgumentError(f"{rank}: its call was refused for its arguments, as its own "
                                "exception says") from None
        except (TypeError, ValueError, OverflowError) as error:
            if not isinstance(error, SpmmError):  # what C cannot take: there was no call
                self._refuse(method.__name__)
            raise
        return result

    return cast("Callable[Concatenate[H, P], R]", call)


def refuse_solver(module: str) -> None:
    """SciPy's and CuPy's solvers take what they get for all rows, and multiply those of this rank.
    What is wrong then may look right."""
    if module.partition(".")[0] in ("scipy", "cupyx"):
        raise TypeError(f"{module} multiplies by a plan on several ranks, where its inner products "
                        "and norms would be those of one rank's rows: use "
                        "spmm_dist.scipy.linear_operator or spmm_dist.scipy.lobpcg")


def refuse(ctx: Context, function: Any, *arguments: Any) -> None:
    """Tell the library that this rank refuses a product."""
    with contextlib.suppress(SpmmError):  # the caller's own exception says more
        ctx._call(function, *arguments)
