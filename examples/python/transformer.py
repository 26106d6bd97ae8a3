# SPDX-License-Identifier: Apache-2.0
"""Training of a Transformer of four layers on one long sequence whose rows are distributed over the
ranks, with sparse attention at a mask of a band and random columns (as vectorSparse, section 7.4,
and SSpMM, section 6, have it).  The losses are compared with those of plain torch with the same
mask on the whole sequence, up to --check rows; on GPUs the time and memory of a step are put beside
those of torch's dense scaled_dot_product_attention.

    mpirun -n 2 python transformer.py [--length 4096] [--type float16] [--steps 5]
"""
from __future__ import annotations

import argparse
import sys
import time
from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np
import torch
from mpi4py import MPI
from torch.nn import functional

from spmm_dist import Attention, Context, Matrix
from spmm_dist.torch import attention, process_group, sum_over_ranks

BOUND = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2}  # of losses, relative
Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
LAYERS, FEATURES, CLASSES = 4, 16, 8


def arguments(words: Optional[Sequence[str]] = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--length", type=int, default=256, help="default: %(default)s")
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--head", type=int, default=16, help="columns of a head")
    parser.add_argument("--band", type=int, default=32)
    parser.add_argument("--random", type=float, default=0.02, help="share of other columns")
    parser.add_argument("--vector", type=int, default=8, help="successive rows with equal columns")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rate", type=float, default=0.3)
    parser.add_argument("--check", type=int, default=2048,
                        help="longest sequence to compare with plain torch")
    parser.add_argument("--type", choices=BOUND, default="float32",
                        help="of Q, K and V; float16: all else is float32")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    return parser.parse_args(words)


def mask_rows(options: argparse.Namespace, first: int, rows: int) -> List[Any]:
    """Columns of rows first to first + rows: the band, and columns drawn for each vector."""
    columns, each = np.arange(options.length), {}
    for i in range(first, first + rows):
        v = i // options.vector
        if v not in each:
            near = abs(columns - (v + 0.5) * options.vector) <= options.band / 2
            drawn = np.random.default_rng([3, v]).random(options.length) < options.random
            each[v] = np.flatnonzero(near | drawn)
    return [each[i // options.vector] for i in range(first, first + rows)]


def make_weights(options: argparse.Namespace, dtype: torch.dtype,
                 device: torch.device) -> List[torch.Tensor]:
    """The same on all ranks."""
    generator, width = torch.Generator().manual_seed(0), options.heads * options.head
    shapes = [(FEATURES, width)]
    for _ in range(LAYERS):
        shapes += [(width, 3 * width), (width, width), (width, 2 * width), (2 * width, width)]
    shapes += [(width, CLASSES)]
    return [(torch.randn(s, generator=generator, dtype=torch.float64) / s[0]**0.5).to(device, dtype)
            .requires_grad_() for s in shapes]


def make_data(options: argparse.Namespace, dtype: torch.dtype) -> Tuple[
        torch.Tensor, torch.Tensor]:
    """Features of all rows, and labels that depend on those of another row in the band."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((options.length, FEATURES))
    other = np.roll(X, options.band // 4, 0)
    labels = np.argmax(other @ rng.standard_normal((FEATURES, CLASSES)), 1)
    return torch.from_numpy(X).to(dtype), torch.from_numpy(labels)


def run_model(X: torch.Tensor, weights: List[torch.Tensor], attend: Attend) -> torch.Tensor:
    """Scores of classes; `attend` takes Q, K and V."""
    H: torch.Tensor = X @ weights[0]
    for layer in range(LAYERS):
        inner, out, up, down = weights[4 * layer + 1:4 * layer + 5]
        Q, K, V = (functional.layer_norm(H, H.shape[1:]) @ inner).chunk(3, 1)
        H = H + attend(Q, K, V) @ out
        H = H + functional.gelu(functional.layer_norm(H, H.shape[1:]) @ up) @ down
    scores: torch.Tensor = functional.layer_norm(H, H.shape[1:]) @ weights[-1]
    return scores


def plain_attention(options: argparse.Namespace, pattern: Optional[torch.Tensor]) -> Attend:
    """By torch, of the whole sequence; pattern None: dense."""
    def attend(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        q, k, v = (x.view(len(x), options.heads, options.head).transpose(0, 1) for x in (Q, K, V))
        if pattern is None:
            dense = getattr(functional, "scaled_dot_product_attention")  # of torch 2
            made = dense(q[None].half(), k[None].half(), v[None].half())[0].to(Q.dtype)
        else:
            scores = q @ k.transpose(1, 2) / options.head**0.5
            made = torch.softmax(scores.masked_fill(~pattern, -float("inf")), 2) @ v
        rows: torch.Tensor = made.transpose(0, 1).reshape(Q.shape)
        return rows
    return attend


def sparse_attention(plan: Attention, dtype: torch.dtype) -> Attend:
    """By spmm_dist, of this rank's rows."""
    def attend(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        q, k, v = (x.to(dtype) for x in (Q, K, V))
        rows: torch.Tensor = attention(plan, q, k, v).to(Q.dtype)
        return rows
    return attend


def train(attend: Attend, X: torch.Tensor, labels: torch.Tensor, options: argparse.Namespace,
          comm: MPI.Comm) -> Tuple[List[float], float, float]:
    """Losses over all ranks of `comm`, the median time of a step, and torch's peak memory."""
    weights = make_weights(options, X.dtype, X.device)
    on_gpu, losses, times = X.device.type == "cuda", [], []
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    for _ in range(options.steps):
        start = time.perf_counter()
        loss = functional.cross_entropy(run_model(X, weights, attend), labels, reduction="sum")
        loss = loss / options.length
        loss.backward()
        with torch.no_grad():
            sum_over_ranks(comm, [w.grad for w in weights])
            for w in weights:
                w -= options.rate * w.grad
                w.grad = None
        losses.append(comm.allreduce(float(loss.detach())))
        times.append(time.perf_counter() - start)
    peak = torch.cuda.max_memory_allocated() / 2**20 if on_gpu else 0.0
    return losses, sorted(times)[len(times) // 2], peak


def compare(losses: List[float], options: argparse.Namespace, X: torch.Tensor,
            labels: torch.Tensor, comm: MPI.Comm, device: str) -> None:
    """With plain torch on the whole sequence; ends the program where they differ."""
    pattern = torch.zeros(options.length, options.length, dtype=torch.bool, device=device)
    for i, columns in enumerate(mask_rows(options, 0, options.length)):
        pattern[i, torch.from_numpy(columns).to(device)] = True
    expected, seconds, _ = train(plain_attention(options, pattern), X.to(device), labels.to(device),
                                 options, comm)
    worst = max(abs(a - b) / abs(b) for a, b in zip(losses, expected))
    for step, (a, b) in enumerate(zip(losses, expected)):
        print(f"step {step}: loss {a:.6f}, by plain torch {b:.6f}")
    print(f"plain torch with the mask: {1e3 * seconds:.2f} ms; losses differ by {worst:.1e}")
    if not (worst < BOUND[options.type] and losses[-1] < losses[0]):
        sys.exit("the losses are not those of plain torch, or do not fall")


def prepare(ctx: Context, options: argparse.Namespace) -> Tuple[
        Attention, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, str]:
    """The plan, features and labels of this rank's rows, whole features and labels, and the device.
    Collective."""
    dtype = getattr(torch, options.type)
    device = "cuda" if ctx.info.device == "cuda" else "cpu"
    if device == "cuda":
        torch.cuda.set_device(ctx.info.device_ordinal)
        if options.type == "float16":  # other products on tensor cores, too
            getattr(torch, "set_float32_matmul_precision")("high")
    n = options.length // options.vector
    first, last = (n * r // ctx.size * options.vector for r in (ctx.rank, ctx.rank + 1))
    last = options.length if ctx.rank + 1 == ctx.size else last
    lists = mask_rows(options, first, last - first)
    indptr = np.cumsum([0] + [len(x) for x in lists])
    mask = Matrix.from_csr(ctx, (indptr, np.concatenate(lists), np.ones(indptr[-1], options.type)))
    kernel = "windows" if options.type == "float16" else "auto"
    plan = mask.attention(options.heads, options.head, backward=True, kernel=kernel)
    X, labels = make_data(options, torch.float32 if options.type == "float16" else dtype)
    return plan, X[first:last].to(device), labels[first:last].to(device), X, labels, device


def main() -> None:
    options = arguments()
    with Context(device=options.device) as ctx, process_group(ctx):
        plan, own, own_labels, X, labels, device = prepare(ctx, options)
        losses, seconds, peak = train(sparse_attention(plan, getattr(torch, options.type)), own,
                                      own_labels, options, ctx.comm)
        held = plan.info.device_bytes / 2**20
        if ctx.rank == 0:
            print(f"{options.length} rows, mask {100 * plan.mask.nnz / options.length**2:.2f} % "
                  f"full, {ctx.size} ranks, kernel {plan.info.kernel}: {1e3 * seconds:.2f} ms a "
                  f"step, {1 / seconds:.2f} sequences a second, plan {held:.1f} MiB, "
                  f"torch {peak:.1f} MiB")
            alone = ctx.comm.Split(0)
            if device == "cuda":
                _, seconds, peak = train(plain_attention(options, None), X.to(device),
                                         labels.to(device), options, alone)
                print(f"torch, dense attention in FP16 on one GPU: {1e3 * seconds:.2f} ms a step, "
                      f"{1 / seconds:.2f} sequences a second, torch {peak:.1f} MiB")
            if options.length <= options.check:
                compare(losses, options, X, labels, alone, device)
            alone.Free()
        else:
            ctx.comm.Split(1).Free()


if __name__ == "__main__":
    main()
