/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_options.h"
#include "plan/create/tuning_options.h"

static const char help_input[] =
    "Usage: mpirun -n RANKS spmm_dist              a grid of 400 x 400, verified\n"
    "  or:  mpirun -n RANKS spmm_dist --matrix FILE [option...]\n"
    "  or:  mpirun -n RANKS spmm_dist --generate SPEC [option...]\n"
    "  or:  mpirun -n RANKS spmm_dist --convert IN OUT [--type TYPE] [--seed S]\n"
    "  or:  mpirun -n RANKS spmm_dist --doctor [--json FILE]\n"
    "  or:  spmm_dist --scale P,P,... --matrix FILE | --generate SPEC [option...]\n"
    "  or:  spmm_dist --list-engines|--list-transports|--list-partitioners\n"
    "\n"
    "Multiply a sparse matrix A, distributed by rows, by a random dense block B:\n"
    "C = alpha * op(A) * B + beta * C.  Print what was chosen and how long it took.\n"
    "\n"
    "Input (one of the two):\n"
    "  -m, --matrix FILE        Matrix Market (.mtx, .mtx.gz), binary CSR (.csr), PETSc's binary\n"
    "                             format; binary CSR without values, which are random then,\n"
    "                             and DLMC (.smtx), where they are 1\n"
    "  -g, --generate SPEC      kind:key=value,..., each kind also with shuffle=1 "
    "(docs/reference/generators.md):\n"
    "                             rmat:scale=16,degree=16\n"
    "                             uniform:rows=100000,cols=50000,degree=8\n"
    "                             banded:rows=100000,lower=2,upper=3\n"
    "                             stencil5|stencil9:nx=400,ny=400,dof=1\n"
    "                             stencil7|stencil27:nx=50,ny=50,nz=50,dof=1\n"
    "                             molecules:count=5000,atoms=30\n"
    "                             pruned:rows=4096,cols=1024,sparsity=0.9\n"
    "                             xdys:size=4096,dense=0.1,sp24=0.2\n"
    "  -s, --seed S             seed of all random numbers (default 0)\n"
    "      --convert IN OUT     write the matrix of file IN to OUT, .csr or .petsc, and do no "
    "more\n"
    "\n"
    "Product:\n"
    "  -n, --columns N          columns of B and C (default 64)\n"
    "  -t, --type TYPE          storage: 64f (default), 32f, 16f, 16bf, complex 64c, 32c\n"
    "  -c, --compute MODE       arithmetic: 64f, 32f, 32f-fast-tf32 (default: 64f for 64f, 64c;\n"
    "                             else 32f)\n"
    "  -o, --op n|t|h           A, its transpose or conjugate transpose (default n)\n"
    "  -l, --layout row|col     storage order of B and C (default row)\n"
    "  -a, --alpha X            (default 1)\n"
    "  -b, --beta X             (default 0)\n"
    "      --pad K              add K to the leading dimensions of B and C (default 0)\n";

static const char help_plan[] =
    "\n"
    "Plan (default auto; each NAME and METHOD may be auto):\n"
    "  -d, --device KIND        cpu or cuda\n"
    "  -e, --engine NAME        local format and kernels, see --list-engines\n"
    "  -x, --transport NAME     how ghost rows travel, see --list-transports\n"
    "  -p, --partition METHOD   keep, block, metis, ptscotch, one or file:PATH, see\n"
    "                             --list-partitioners\n"
    "      --imbalance X        bound for metis and ptscotch: largest / mean entries per rank\n"
    "                             (default 1.03)\n"
    "      --write-partition PATH  write the part of each row, for --partition file:PATH\n"
    "      --tuning KEY=VALUE,...  the other choices of a plan; each VALUE may be auto:\n";

static const char help_more[] =
    "      --halo-type TYPE     round rows of B that travel: 16f or 16bf of 32f, 32f of 64f\n"
    "      --nccl-ctas K        most thread blocks of an exchange over NCCL (default: NCCL's "
    "choice)\n"
    "      --ranks-per-node K   take K successive ranks for a node (default: those that share "
    "memory)\n"
    "      --executes K         products that will follow: bounds the time spent on tuning and\n"
    "                             reordering (default 1000)\n"
    "      --deterministic      bitwise equal results from run to run\n"
    "      --reproducible       bitwise equal results for any number of ranks\n"
    "      --exact-nonfinite    leave out engines that multiply padding, which spreads Inf and NaN "
    "of B\n"
    "      --graph              capture executes in CUDA graphs, for small problems; phases are "
    "then\n"
    "                             not timed\n"
    "      --timeout S          fail if an exchange takes longer than S seconds, or set-up waits "
    "for a\n"
    "                             rank for S + 5 (default: no limit)\n";

static const char help_run[] =
    "\n"
    "Run and report:\n"
    "  -w, --warmup K           products before timing (default 2)\n"
    "  -i, --iterations K       products timed (default 10)\n"
    "  -v, --verify             compare every element with an FP64 reference\n"
    "  -E, --explain            print all candidates and why each choice was made\n"
    "  -j, --json FILE          write the report as JSON, which spmm_dist_plot draws\n"
    "      --scale P,...        count what P ranks would exchange; on one rank, with\n"
    "                             --ranks-per-node (default 8), --partition metis or block\n"
    "      --doctor             check GPUs, MPI, libraries and transports; say what is missing and "
    "how\n"
    "                             to get it\n"
    "      --progress           say on stderr what is going on\n"
    "  -h, --help               print this help\n"
    "  -V, --version            print the version\n"
    "\n"
    "Exit codes: 0 good, 2 wrong usage, 3 wrong input, 4 anything else, 5 verification failed.\n"
    "Documentation: README.md, docs/reference/spmm_dist.md, docs/how-to/troubleshooting.md.\n";

void driver_print_help(FILE *out)
{
    (void)fputs(help_input, out);
    (void)fputs(help_plan, out);
    spmmi_tuning_options_help(out, 29);
    (void)fputs(help_more, out);
    (void)fputs(help_run, out);
}
