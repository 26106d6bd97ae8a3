#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training by examples/python/gcn.py or transformer.py, on one rank beside torch alone: a table on
standard output.

    mpirun -n RANKS python bench/engine/training.py gcn GRAPH...
    mpirun -n RANKS python bench/engine/training.py transformer LENGTH...

Times are medians, a step's or an epoch's; memory is torch's peak, most of all ranks, and what the
plan holds; losses are compared with those of plain torch, of attention at the same mask."""
import datetime
import gc
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/python"))
import gcn  # noqa: E402
import transformer  # noqa: E402
from spmm_dist import Context  # noqa: E402
from spmm_dist.torch import process_group  # noqa: E402

GCN = "--epochs 20 --features 128 --hidden 128 --classes 32 --type float32".split()
STEPS = "--steps 20 --heads 8 --head 64 --band 256 --random 0.02 --rate 0.01 --type float16".split()
MASKED, DENSE = "products, mask, softmax", "scaled_dot_product_attention, all entries"
BLOCK = 128  # rows and columns of a block of FlexAttention


def line(ctx, *fields):
    if ctx.rank == 0:
        print(*fields, sep="\t", flush=True)


def gcn_table(ctx, graphs):
    line(ctx, "graph", "model", "ranks", "vertices", "entries", "spmm_dist_ms", "torch_ms",
         "speedup", "loss_difference")
    for graph in graphs:
        name = pathlib.Path(graph).name.partition(".")[0]
        if name.startswith("syn-"):
            name = name[4:] + "-like"
        A, order = gcn.load(ctx, gcn.arguments([*GCN, "--graph", graph]))
        for model in ("gcn", "gat"):
            options = gcn.arguments([*GCN, "--graph", graph, "--model", model])
            losses, seconds, expected, plain = gcn.run(A, order, options)
            line(ctx, name, model, ctx.size, A.shape[0], A.nnz, f"{1e3 * seconds:.2f}",
                 f"{1e3 * plain:.2f}", f"{plain / seconds:.2f}",
                 f"{gcn.worst(losses, expected):.1e}")
            gc.collect()
        A.close()


def heads_of(blocks, options):
    return (x.view(len(x), options.heads, options.head).transpose(0, 1)[None].to(
        torch.float16 if x.is_cuda else x.dtype) for x in blocks)


def as_rows(made, Q):
    return made[0].transpose(0, 1).reshape(Q.shape).to(Q.dtype)


def at_mask(options, each):
    """By dense products in FP16, a mask and softmax; what others are compared with."""
    full = each.repeat_interleave(options.vector, 0)

    def attend(*blocks):
        q, k, v = heads_of(blocks, options)
        scores = (q * options.head**-0.5) @ k.transpose(2, 3)
        return as_rows(torch.softmax(scores.masked_fill(~full, -float("inf")), 3) @ v, blocks[0])
    return attend


def flexible(options, each):
    """By FlexAttention at the same mask, compiled."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    blocks_of = create_block_mask(lambda b, h, q, k: each[q // options.vector, k], None, None,
                                  options.length, options.length, each.device, BLOCK)
    compiled = torch.compile(flex_attention, dynamic=False)

    def attend(*blocks):
        return as_rows(compiled(*heads_of(blocks, options), block_mask=blocks_of), blocks[0])
    return attend


def mask_of_vectors(options, device):
    """True where the rows of a vector have a column."""
    columns = transformer.mask_rows(options, 0, options.length)[::options.vector]
    each = torch.zeros(len(columns), options.length, dtype=torch.bool)
    for v, at in enumerate(columns):
        each[v, torch.from_numpy(at)] = True
    return each.to(device)


def ways(ctx, options, device):
    """(name, what makes it) of torch's ways; on several ranks the one to compare with."""
    yield MASKED, lambda: at_mask(options, mask_of_vectors(options, device))
    if ctx.size == 1 and device == "cuda":
        yield DENSE, lambda: transformer.plain_attention(options, None)
        yield "FlexAttention", lambda: flexible(options, mask_of_vectors(options, device))


def transformer_table(ctx, lengths):
    line(ctx, "rows", "mask_percent", "attention", "ranks", "ms", "sequences_s", "plan_mib",
         "torch_mib", "loss_difference")
    for length in lengths:
        options = transformer.arguments([*STEPS, "--length", length])
        plan, own, own_labels, X, labels, device = transformer.prepare(ctx, options)
        share = f"{100 * plan.mask.nnz / options.length**2:.2f}"
        found = {"spmm_dist": transformer.train(
            transformer.sparse_attention(plan, torch.float16), own, own_labels, options, ctx.comm)}
        found["spmm_dist"] += (plan.info.device_bytes / 2**20,)
        mask = plan.mask
        plan.close()
        mask.close()
        X, labels, alone = X.to(device), labels.to(device), ctx.comm.Split(ctx.rank)
        for name, make in ways(ctx, options, device):
            try:
                found[name] = (*transformer.train(make(), X, labels, options, alone), 0.0)
            except Exception as error:  # no memory, or what compiling takes is missing
                line(ctx, f"# {length}, {name}: {type(error).__name__}: "
                     f"{str(error).splitlines()[0][:200]}")
            gc.collect()
        alone.Free()
        right = found.get(MASKED, (None,))[0]
        for name, (losses, seconds, peak, held) in found.items():
            peak, held = (max(ctx.comm.allgather(x)) for x in (peak, held))
            far = right is None or name == DENSE or losses is right
            line(ctx, length, share, name, ctx.size if name == "spmm_dist" else 1,
                 f"{1e3 * seconds:.2f}", f"{1 / seconds:.1f}", f"{held:.1f}", f"{peak:.1f}",
                 "-" if far else f"{gcn.worst(losses, right):.1e}")


def main():
    table = {"gcn": gcn_table, "transformer": transformer_table}[sys.argv[1]]
    # Unchecked: products spend no reduction on their arguments.
    with Context(check=False) as ctx, process_group(ctx):
        device = torch.cuda.get_device_name() if ctx.info.device == "cuda" else "CPU"
        line(ctx, f"# mpirun -n {ctx.size} python bench/engine/training.py {sys.argv[1]}, "
             f"{datetime.date.today()}, {ctx.size} x {device}, torch {torch.__version__}")
        table(ctx, sys.argv[2:])


if __name__ == "__main__":
    main()
