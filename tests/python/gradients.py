# SPDX-License-Identifier: Apache-2.0
"""gradcheck of torch over all ranks: every rank differentiates the same function, of whole arrays
that all of them hold alike."""
import numpy as np
import torch
from conftest import WORLD


def gather(x):
    """The parts of all ranks on each.  Collective."""
    parts = WORLD.allgather(x.detach().cpu().numpy())
    return torch.from_numpy(np.concatenate(parts)).to(x.device)


def own(x, rows):
    first = WORLD.exscan(rows) or 0
    return x[first:first + rows].contiguous()


class _Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rows):
        return own(x, rows)

    @staticmethod
    def backward(ctx, d):
        return gather(d), None


class _Whole(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part):
        ctx.rows = len(part)
        return gather(part)

    @staticmethod
    def backward(ctx, d):
        return own(d, ctx.rows)


def gradcheck(function, *parts):
    """Of a function of parts, which gives a part.  Collective."""
    wholes = [gather(x).requires_grad_() for x in parts]

    def of_wholes(*given):
        return _Whole.apply(function(*(_Own.apply(x, len(part)) for x, part in zip(given, parts))))

    return torch.autograd.gradcheck(of_wholes, wholes, nondet_tol=1e-12)
