#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sparse attention, and SDDMM, of pruned masks in FP16 on one GPU beside torch's dense operations
in the same run: bench_attention, bench_sddmm, cuBLAS with softmax, scaled_dot_product_attention.

    bench/engine/attention.py BUILD/bench FOLDER [attention|sddmm]    writes attention_dense.tsv and
                                                                      sddmm_dense.tsv, or one
"""
import datetime
import pathlib
import subprocess
import sys

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

HEADS, WIDTH, LENGTHS = 8, 64, (4096, 8192)
MASK = "pruned:rows={0},cols={0},sparsity={1},vector={2}"


def device_us(function, repeat=20):
    """Median of calls after three."""
    times = []
    for i in range(-3, repeat):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        function()
        end.record()
        end.synchronize()
        times += [1e3 * begin.elapsed_time(end)] if i >= 0 else []
    return sorted(times)[repeat // 2]


def peak_mib(function):
    """Memory that torch takes for a call, its result included."""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    function()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def dense_attention(length):
    """(name, forward us, backward us or None, MiB) of torch's ways."""
    blocks = [torch.randn(1, HEADS, length, WIDTH, device="cuda", dtype=torch.float16)
              for _ in range(3)]

    def by_parts():
        q, k, v = blocks
        return torch.softmax(q @ k.transpose(-1, -2) * WIDTH**-0.5, -1) @ v

    yield "cuBLAS + softmax", device_us(by_parts), None, peak_mib(by_parts)
    leaves = [x.clone().requires_grad_() for x in blocks]
    for name in ("FLASH_ATTENTION", "CUDNN_ATTENTION"):
        with sdpa_kernel(getattr(SDPBackend, name)):
            def whole():
                return functional.scaled_dot_product_attention(*blocks)

            out = functional.scaled_dot_product_attention(*leaves)
            back = device_us(lambda: torch.autograd.grad(out, leaves, out, retain_graph=True))
            yield "torch " + name.lower(), device_us(whole), back, peak_mib(whole)


def run(*command):
    """Lines of a program, split."""
    made = subprocess.run([str(c) for c in command], check=True, text=True, capture_output=True)
    return [line.split("\t") for line in made.stdout.splitlines() if not line.startswith("#")]


def write(path, header, rows):
    now = datetime.datetime.now(datetime.timezone.utc)
    first = (f"# made by bench/engine/attention.py, {now:%Y-%m-%d %H:%M} UTC, "
             f"{torch.cuda.get_device_name()}, torch {torch.__version__}; device time, medians of "
             "20, FP16\n")
    lines = ["\t".join(f"{x:.1f}" if isinstance(x, float) else str(x) for x in row)
             for row in [header, *rows]]
    path.write_text(first + "\n".join(lines) + "\n", encoding="utf-8")


def write_attention(bench, folder):
    masks = [MASK.format(n, s, v) for n in LENGTHS for v in (8, 16, 1) for s in (0.9, 0.95, 0.98)
             if v == 8 or s != 0.95]
    rows = [[f"dense, {n} rows", HEADS, WIDTH, name, "-", forward, back or "-", "-", mib]
            for n in LENGTHS for name, forward, back, mib in dense_attention(n)]
    found = run(bench / "bench_attention", HEADS, WIDTH, *masks)
    write(folder / "attention_dense.tsv", found[0], rows + found[1:])


def dense_sddmm(rows, k):
    """Microseconds of all scores, and of all scores times a mask of zeros and ones."""
    x, y = (torch.randn(rows, k, device="cuda", dtype=torch.float16) for _ in range(2))
    out, mask = (torch.ones(rows, rows, device="cuda", dtype=torch.float16) for _ in range(2))
    return (device_us(lambda: torch.matmul(x, y.T, out=out)),
            device_us(lambda: torch.matmul(x, y.T, out=out).mul_(mask)))


def write_sddmm(bench, folder):
    dense = {k: dense_sddmm(8192, k) for k in (64, 128, 256)}
    masks = [MASK.format(8192, s, v) for v in (1, 2, 4, 8, 16) for s in (0.9, 0.95, 0.98)]
    found = run(bench / "bench_sddmm", "16f", ",".join(map(str, dense)), *masks)
    at = {name: found[0].index(name) for name in ("matrix", "K", "kernel", "ms", "cusparse_ms",
                                                  "ratio")}
    rows = []
    for row in found[1:]:
        ours, k = 1e3 * float(row[at["ms"]]), int(row[at["K"]])
        theirs = row[at["cusparse_ms"]]
        rows.append([row[at["matrix"]], k, row[at["kernel"]], ours,
                     theirs if theirs == "-" else 1e3 * float(theirs), row[at["ratio"]], *dense[k],
                     f"{dense[k][0] / ours:.2f}", f"{dense[k][1] / ours:.2f}"])
    write(folder / "sddmm_dense.tsv",
          ["mask", "K", "kernel", "us", "cusparse_us", "over_cusparse", "cublas_us", "masked_us",
           "over_cublas", "over_masked"], rows)


def main():
    bench, folder = (pathlib.Path(name) for name in sys.argv[1:3])
    for name, make in (("attention", write_attention), ("sddmm", write_sddmm)):
        if name in sys.argv[3:] or not sys.argv[3:]:
            make(bench, folder)


if __name__ == "__main__":
    main()
