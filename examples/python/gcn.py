# SPDX-License-Identifier: Apache-2.0
"""Full-graph training of a GCN (Kipf and Welling 2017) or a GAT (Velickovic et al. 2018, one head)
on a graph distributed over the ranks, with synthetic features and labels.  The losses are compared
with those of plain torch on the whole graph.

    mpirun -n 4 python gcn.py [--graph soc-Epinions1.mtx.gz] [--model gat] [--epochs 20]
"""
from __future__ import annotations

import argparse
import sys
import time
from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np
import torch
from mpi4py import MPI

from spmm_dist import Context, Matrix
from spmm_dist.sparse_dataset import normalised, repartitioned
from spmm_dist.torch import (Graph, process_group, sddmm, sparse_softmax, spmm,
                             sum_over_ranks)

BOUND = {"float64": 1e-9, "float32": 1e-4}  # of losses, relative


def arguments(words: Optional[Sequence[str]] = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--graph", default="rmat:scale=10,degree=8",
                        help="a file, or a generator's kind:key=value,... (default: %(default)s)")
    parser.add_argument("--model", choices=("gcn", "gat"), default="gcn")
    parser.add_argument("--partition", default="metis", help="default: %(default)s")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--features", type=int, default=32)
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--classes", type=int, default=7)
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--type", choices=BOUND, default="float32")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    return parser.parse_args(words)


def make_weights(options: argparse.Namespace) -> List[torch.Tensor]:
    """The same on all ranks: weights of two layers, and vectors of attention for each."""
    torch.manual_seed(0)
    shapes = [(options.features, options.hidden), (options.hidden, options.classes)]
    if options.model == "gat":
        shapes += [(options.hidden, 2), (options.classes, 2)]
    return [(torch.randn(shape, dtype=torch.float64) / shape[0]**0.5).to(
        getattr(torch, options.type)) for shape in shapes]


def make_data(options: argparse.Namespace, vertices: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """Features, and labels that depend on them, of all vertices."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((vertices, options.features))
    labels = np.argmax(X @ rng.standard_normal((options.features, options.classes)), 1)
    return torch.from_numpy(X).to(getattr(torch, options.type)), torch.from_numpy(labels)


class Distributed:
    """Products of the rows of this rank."""

    def __init__(self, A: Matrix, options: argparse.Namespace) -> None:
        self.graph = Graph(A, max(options.hidden, options.classes), values=options.model == "gat",
                           executes=4 * options.epochs)

    def aggregate(self, H: torch.Tensor) -> torch.Tensor:
        return spmm(self.graph, H)

    def attend(self, H: torch.Tensor, pair: torch.Tensor) -> torch.Tensor:
        """H of neighbours by attention: softmax over them of LeakyReLU(s_i + t_j)."""
        s, t = (H @ pair).split(1, 1)
        one = torch.ones_like(s)
        scores = sddmm(self.graph, torch.cat([s, one], 1), torch.cat([one, t], 1))
        return spmm(self.graph, H, sparse_softmax(
            self.graph, torch.nn.functional.leaky_relu(scores, 0.2)))


class Plain:
    """The same on the whole graph by torch alone."""

    def __init__(self, indptr: Any, indices: Any, data: Any, device: str) -> None:
        n = len(indptr) - 1
        self.n, self.row = n, torch.from_numpy(np.repeat(np.arange(n), np.diff(indptr))).to(device)
        self.col = torch.from_numpy(indices).to(device)
        self.A = torch.sparse_coo_tensor(torch.stack([self.row, self.col]),
                                         torch.from_numpy(data).to(device), (n, n)).coalesce()

    def aggregate(self, H: torch.Tensor) -> torch.Tensor:
        product: torch.Tensor = torch.sparse.mm(self.A, H)
        return product

    def attend(self, H: torch.Tensor, pair: torch.Tensor) -> torch.Tensor:
        s, t = (H @ pair).split(1, 1)
        scores = torch.nn.functional.leaky_relu((s[self.row] + t[self.col])[:, 0], 0.2)
        weights = torch.exp(scores - scores.detach().max())
        sums = torch.zeros(self.n, dtype=H.dtype, device=H.device).index_add(0, self.row, weights)
        weights = weights / sums[self.row]
        product: torch.Tensor = torch.zeros_like(H).index_add(
            0, self.row, weights[:, None] * H[self.col])
        return product


def train(adjacency: Union[Distributed, Plain], X: torch.Tensor, labels: torch.Tensor,
          vertices: int, options: argparse.Namespace, comm: MPI.Comm) -> Tuple[List[float], float]:
    """Losses of each epoch, over all ranks of `comm`, and the median time of one."""
    weights = [w.to(X.device).requires_grad_() for w in make_weights(options)]
    losses, times = [], []
    for _ in range(options.epochs):
        start = time.perf_counter()
        H = X
        for layer in range(2):
            H = H @ weights[layer]
            H = (adjacency.attend(H, weights[2 + layer]) if options.model == "gat"
                 else adjacency.aggregate(H))
            H = torch.relu(H) if layer == 0 else H
        loss = torch.nn.functional.cross_entropy(H, labels, reduction="sum").div(vertices)
        loss.backward()
        with torch.no_grad():
            sum_over_ranks(comm, [w.grad for w in weights])
            for w in weights:
                w -= options.rate * w.grad
                w.grad = None
        losses.append(comm.allreduce(float(loss.detach())))
        times.append(time.perf_counter() - start)
    return losses, sorted(times)[len(times) // 2]


def gather_graph(A: Matrix) -> Tuple[Any, Any, Any]:
    """The rows of all ranks.  Collective."""
    parts = A.context.comm.allgather(A.csr())
    lengths = np.concatenate([np.diff(p[0]) for p in parts])
    return (np.r_[0, np.cumsum(lengths)], *(np.concatenate(x) for x in list(zip(*parts))[1:]))


def load(ctx: Context, options: argparse.Namespace) -> Tuple[Matrix, Any]:
    """The graph with its rows where the partition wants them, and which they were.  Collective."""
    make = Matrix.generate if ":" in options.graph else Matrix.read
    with make(ctx, options.graph, options.type) as file:
        with normalised(file) as whole:
            rows, order = repartitioned(whole, options.partition)
    return Matrix.from_csr(ctx, rows), order


def run(A: Matrix, order: Any, options: argparse.Namespace) -> Tuple[
        List[float], float, List[float], float]:
    """Losses and seconds of an epoch, and those of plain torch on the whole graph with its new
    rows, on each rank for itself.  Collective."""
    ctx, device = A.context, "cpu"
    if ctx.info.device == "cuda":
        device = "cuda"
        torch.cuda.set_device(ctx.info.device_ordinal)
    X, labels = make_data(options, A.shape[0])
    mine = torch.from_numpy(order)
    distributed = train(Distributed(A, options), X[mine].to(device), labels[mine].to(device),
                        A.shape[0], options, ctx.comm)
    new = torch.from_numpy(np.concatenate(ctx.comm.allgather(order)))
    plain = Plain(*gather_graph(A), device)
    alone = ctx.comm.Split(ctx.rank)
    expected = train(plain, X[new].to(device), labels[new].to(device), A.shape[0], options, alone)
    alone.Free()
    return (*distributed, *expected)


def worst(losses: List[float], expected: List[float]) -> float:
    """The largest relative difference."""
    return max(abs(a - b) / abs(b) for a, b in zip(losses, expected))


def main() -> None:
    options = arguments()
    with Context(device=options.device) as ctx, process_group(ctx):
        A, order = load(ctx, options)
        losses, seconds, expected, plain_seconds = run(A, order, options)
        most = max(ctx.comm.allgather(A.info.local_nnz))
        if ctx.rank == 0:
            print(f"{options.model} on {options.graph}: {A.shape[0]} vertices, {A.nnz} entries "
                  f"with loops on {ctx.size} ranks (most {most})")
            for epoch, (a, b) in enumerate(zip(losses, expected)):
                print(f"epoch {epoch}: loss {a:.9f}, by plain torch {b:.9f}")
            print(f"epoch {1e3 * seconds:.2f} ms, of plain torch on one rank "
                  f"{1e3 * plain_seconds:.2f} ms; losses differ by {worst(losses, expected):.1e}")
        if not (worst(losses, expected) < BOUND[options.type] and losses[-1] < losses[0]):
            sys.exit("the losses are not those of plain torch, or do not fall")


if __name__ == "__main__":
    main()
