/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_options.h"

static const char help_input[] =
    "Usage: mpirun -n RANKS spmm_dist --matrix FILE [option...]\n"
    "       mpirun -n RANKS spmm_dist --generate SPEC [option...]\n"
    "       spmm_dist --list-engines | --list-transports | --list-partitioners\n"
    "\n"
    "Time and verify C = alpha * op(A) * B + beta * C for a sparse A distributed by rows and "
    "random\n"
    "dense blocks B and C.\n"
    "\n"
    "Input:\n"
    "  -m, --matrix FILE        Matrix Market (.mtx, .mtx.gz), binary CSR (.csr), DLMC (.smtx)\n"
    "  -g, --generate SPEC      kind:key=value,..., each kind also with shuffle=1, e.g.\n"
    "                             rmat:scale=16,degree=16\n"
    "                             uniform:rows=100000,cols=50000,degree=8\n"
    "                             banded:rows=100000,lower=2,upper=3\n"
    "                             stencil5|stencil9:nx=400,ny=400,dof=1\n"
    "                             stencil7|stencil27:nx=50,ny=50,nz=50,dof=1\n"
    "                             molecules:count=5000,atoms=30\n"
    "  -s, --seed S             of everything random (default 0)\n"
    "\n"
    "Product:\n"
    "  -n, --columns N          columns of B and C (default 64)\n"
    "  -t, --type TYPE          storage: 64f (default), 32f, 16f, 16bf\n"
    "  -c, --compute MODE       arithmetic: 64f, 32f, 32f-fast-tf32 (default: 64f for 64f, else "
    "32f)\n"
    "  -o, --op n|t             A or its transpose (default n)\n"
    "  -l, --layout row|col     storage order of B and C (default row)\n"
    "  -a, --alpha X            default 1\n"
    "  -b, --beta X             default 0\n"
    "      --pad K              add K to the leading dimensions of B and C (default 0)\n";

static const char help_plan[] =
    "\n"
    "Plan (each also takes auto):\n"
    "  -d, --device KIND        cpu or cuda\n"
    "  -e, --engine NAME        local format and kernels, see --list-engines\n"
    "  -x, --transport NAME     how halo rows travel, see --list-transports\n"
    "  -p, --partition METHOD   keep, block, metis or file:PATH, see --list-partitioners\n"
    "      --objective vol|cut  what metis minimises (default vol)\n"
    "      --imbalance X        largest / mean entries per rank that metis may use (default 1.03)\n"
    "      --write-partition PATH  one part per row, to be read again with --partition file:PATH\n"
    "      --reorder METHOD     order in which rows are multiplied: auto, none, affinity, rcm or "
    "metis\n"
    "      --executes K         products that what auto orders is to pay in (default 1000)\n"
    "      --deterministic      bitwise equal results from run to run\n"
    "      --no-autotune        choose by the model alone\n"
    "      --timeout S          an exchange that takes longer is an error (default: wait for "
    "ever)\n"
    "\n"
    "Run and report:\n"
    "  -w, --warmup K           products before timing (default 2)\n"
    "  -i, --iterations K       products timed (default 10)\n"
    "  -v, --verify             compare with an FP64 reference made from the original A\n"
    "  -E, --explain            print all candidates of the plan and why the winners won\n"
    "  -j, --json FILE          write the report as JSON\n"
    "      --progress           progress on stderr even where it is no terminal (as under mpirun)\n"
    "  -h, --help               print this\n"
    "  -V, --version            print the version\n"
    "\n"
    "Exit codes: 0 good, 1 verification failed, 2 wrong usage, 3 wrong input, 4 anything else.\n";

void driver_print_help(FILE *out)
{
    (void)fputs(help_input, out);
    (void)fputs(help_plan, out);
}
