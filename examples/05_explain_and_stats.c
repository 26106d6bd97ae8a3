/* SPDX-License-Identifier: Apache-2.0 */
/** @file 05_explain_and_stats.c
 *  What a plan chose, why, and where its time goes.  spmm_plan_explain() prints every candidate
 *  with its predicted and measured time; spmm_plan_get_stats() gives a program the same facts, and
 *  with option `profile` the times of the phases of the last product.  The facts are checked
 *  against each other: entries are all there, and every row sent is a row received.
 *
 *      mpirun -n 4 05_explain_and_stats rmat:scale=16,degree=16
 */
#include "example.h"

enum { COLUMNS = 32 };

/* One line of min / avg / max over the ranks, in microseconds. */
static void print_phase(int rank, int size, const char *name, double seconds)
{
    double most = seconds, sum = seconds, least = -seconds;

    reduce_all(&most, 1, MPI_MAX);
    reduce_all(&sum, 1, MPI_SUM);
    reduce_all(&least, 1, MPI_MAX);
    if (rank == 0) {
        printf("  %-10s %10.1f %10.1f %10.1f\n", name, -1e6 * least, 1e6 * sum / size, 1e6 * most);
    }
}

/* The facts every rank knows of itself, in rank order. */
static void print_ranks(int rank, int size, const spmm_plan_stats_t *stats)
{
    double  mine[4] = {(double)stats->nnz_local, (double)stats->nnz_halo, (double)stats->halo_rows,
                       (double)stats->send_rows};
    double *all     = allocate((int64_t)4 * size, sizeof *all);

    MPI_Gather(mine, 4, MPI_DOUBLE, all, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int r = 0; rank == 0 && r < size; r++) {
        printf(
            "rank %d: %.0f entries in own columns, %.0f in others'; %.0f rows of B in, %.0f out\n",
            r, all[4 * r], all[4 * r + 1], all[4 * r + 2], all[4 * r + 3]);
    }
    free(all);
}

/* Nonzero when the facts of all ranks fit together. */
static int consistent(const spmm_plan_stats_t *stats, int64_t nnz)
{
    double sum[4] = {(double)(stats->nnz_local + stats->nnz_halo), (double)stats->halo_rows,
                     (double)stats->send_rows, isfinite(stats->total_s) ? 0.0 : 1.0};

    reduce_all(sum, 4, MPI_SUM);
    return sum[0] == (double)nnz && sum[1] == (double)stats->halo_rows_total && sum[2] == sum[1] &&
           stats->halo_rows_total <= stats->allgather_rows_total && sum[3] == 0.0;
}

int main(int argc, char **argv)
{
    const char         *spec    = argc > 1 ? argv[1] : "rmat:scale=12,degree=8";
    spmm_matrix_t      *A       = NULL;
    spmm_plan_t        *plan    = NULL;
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_plan_stats_t   stats   = {.struct_size = sizeof stats};
    spmm_matrix_info_t  my      = {.struct_size = sizeof my};
    spmm_layout_info_t  rows    = {.struct_size = sizeof rows};
    void               *B = NULL, *C = NULL;
    int                 rank = 0, size = 1, good;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    check(spmm_matrix_generate(ctx, spec, SPMM_R_32F, 7, &A));
    check(spmm_matrix_get_info(A, &my));
    options.partition = "auto";
    options.profile   = 1; /* costs synchronisation: not for production */
    check(spmm_plan_create(A, COLUMNS, &options, &plan));

    check(spmm_plan_get_layout(plan, SPMM_OPERAND_B, &rows));
    const size_t bytes_B = sizeof(float) * COLUMNS * (size_t)rows.local_rows;
    float       *host    = allocate(rows.local_rows * COLUMNS, sizeof *host);
    for (int64_t i = 0; i < rows.local_rows; i++) {
        for (int64_t j = 0; j < COLUMNS; j++) { /* the plan's rows, by their original index */
            host[i * COLUMNS + j] = (float)random_element(rows.global_row[i], j);
        }
    }
    check(spmm_buffer_alloc(ctx, bytes_B, &B));
    check(spmm_buffer_copy(ctx, B, host, bytes_B));
    check(spmm_plan_get_layout(plan, SPMM_OPERAND_C, &rows));
    check(spmm_buffer_alloc(ctx, sizeof(float) * COLUMNS * (size_t)rows.local_rows, &C));
    for (int repeat = 0; repeat < 3; repeat++) { /* the first ones warm up */
        check(spmm_execute(plan, COLUMNS, 1.0, B, COLUMNS, 0.0, C, COLUMNS, NULL));
        check(spmm_stream_synchronize(ctx, NULL));
    }

    if (rank == 0) {
        check(spmm_plan_explain(plan, stdout)); /* what this rank chose from, and why */
    }
    check(spmm_plan_get_stats(plan, &stats));
    print_ranks(rank, size, &stats);
    if (rank == 0) {
        printf("rows that travel: %lld; by partition block: %lld; by allgather: %lld\n",
               (long long)stats.halo_rows_total, (long long)stats.block_halo_rows_total,
               (long long)stats.allgather_rows_total);
        printf("chosen: engine %s, transport %s, schedule %s, partition %s; imbalance %.2f\n",
               stats.engine, stats.transport, stats.schedule, stats.partition, stats.imbalance);
        printf("plan: partition %.1f ms, formats %.1f ms, %.1f ms of them to choose\n",
               1e3 * stats.partition_s, 1e3 * stats.build_s, 1e3 * stats.tune_s);
        printf("  %-10s %10s %10s %10s\n", "phase, us", "min", "avg", "max");
    }
    print_phase(rank, size, "pack", stats.pack_s);
    print_phase(rank, size, "exchange", stats.exchange_s);
    print_phase(rank, size, "local", stats.local_s);
    print_phase(rank, size, "halo", stats.halo_s);
    print_phase(rank, size, "total", stats.total_s);
    good = consistent(&stats, my.nnz);
    if (rank == 0 && !good) {
        printf("the facts of the ranks do not fit together\n");
    }

    check(spmm_buffer_free(ctx, &B));
    check(spmm_buffer_free(ctx, &C));
    check(spmm_plan_destroy(&plan));
    check(spmm_matrix_destroy(&A));
    check(spmm_context_destroy(&ctx));
    free(host);
    MPI_Finalize();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
