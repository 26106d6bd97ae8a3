/* SPDX-License-Identifier: Apache-2.0 */
/* The first program: a matrix from a file, times a block of ones.  The sum of the first column of C
 * is the sum of A's entries, or the program says that it is wrong. */
#include <math.h>
#include <spmm_dist/spmm_dist.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != SPMM_OK) {                                                                   \
            fprintf(stderr, "%s\n", spmm_last_error(ctx));                                         \
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);                                               \
        }                                                                                          \
    } while (0)

static const int64_t   n   = 64; /* columns of B and C */
static spmm_context_t *ctx = NULL;

/* Room for one block of an operand: the rows that this rank has in A, and those of the plan. */
static void make_blocks(const spmm_plan_t *plan, spmm_operand_t operand, void **own, void **planned)
{
    spmm_layout_info_t layout = {.struct_size = sizeof layout};

    TRY(spmm_plan_get_layout(plan, operand, &layout));
    TRY(spmm_buffer_alloc(ctx, sizeof(double) * (size_t)(layout.original_rows * n), own));
    TRY(spmm_buffer_alloc(ctx, sizeof(double) * (size_t)(layout.local_rows * n), planned));
}

/* Copy rows of a block between the host and memory of the context, which may be that of a GPU. */
static void copy_rows(void *dst, const void *src, int64_t rows)
{
    TRY(spmm_buffer_copy(ctx, dst, src, sizeof(double) * (size_t)(rows * n)));
}

/* Ones in the rows of B that this rank has in A.  Returns host memory for these rows, or those of
 * C. */
static double *fill_with_ones(const spmm_matrix_info_t *my, void *X)
{
    const int64_t rows = my->local_cols > my->local_rows ? my->local_cols : my->local_rows;
    double       *host = malloc(sizeof *host * (size_t)(rows * n + 1));

    TRY(host == NULL ? SPMM_ERR_MEMORY : SPMM_OK);
    for (int64_t i = 0; i < rows * n; i++) {
        host[i] = 1.0;
    }
    copy_rows(X, host, my->local_cols);
    return host;
}

/* Of all ranks: the sums of Y's first column, of A's entries and of their magnitudes. */
static void add_up(const spmm_matrix_t *A, int64_t rows, const double *Y, double sums[3])
{
    const int64_t *row_ptr, *col_idx;
    const void    *values;

    TRY(spmm_matrix_get_csr(A, &row_ptr, &col_idx, &values));
    for (int64_t i = 0; i < rows; i++) {
        sums[0] += Y[i * n];
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            sums[1] += ((const double *)values)[k];
            sums[2] += fabs(((const double *)values)[k]);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    spmm_matrix_info_t  my      = {.struct_size = sizeof my};
    spmm_matrix_t      *A;
    spmm_plan_t        *plan;
    void               *X, *B; /* rows in the distribution of A, and in that of the plan */
    void               *Y, *C; /* likewise */
    double              sums[3] = {0.0, 0.0, 0.0};
    int                 rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2) {
        if (rank == 0) {
            fprintf(stderr, "usage: mpirun -n RANKS %s FILE\n", argv[0]);
        }
        MPI_Finalize();
        return 2;
    }

    TRY(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx)); /* one GPU per rank, or CPUs */
    TRY(spmm_matrix_read(ctx, argv[1], SPMM_R_64F, 0, &A));
    TRY(spmm_matrix_get_info(A, &my)); /* which rows of A this rank has, and how many of B */
    options.partition = "auto";        /* rows go where few rows of B have to travel */
    TRY(spmm_plan_create(A, n, &options, &plan)); /* partition, formats, autotuning: once */
    make_blocks(plan, SPMM_OPERAND_B, &X, &B);
    make_blocks(plan, SPMM_OPERAND_C, &Y, &C);
    double *host = fill_with_ones(&my, X);
    TRY(spmm_plan_scatter(plan, SPMM_OPERAND_B, n, X, n, B, n, NULL)); /* rows to their ranks */
    for (int step = 0; step < 10; step++) {
        TRY(spmm_execute(plan, n, 1.0, B, n, 0.0, C, n, NULL)); /* C = 1 A B + 0 C */
    }
    TRY(spmm_plan_gather(plan, SPMM_OPERAND_C, n, C, n, Y, n, NULL)); /* and back */
    copy_rows(host, Y, my.local_rows);

    add_up(A, my.local_rows, host, sums);
    if (rank == 0) {
        printf("sum of A * ones: %g\n", sums[0]);
        printf("sum of A's entries: %g\n", sums[1]);
    }

    free(host);
    spmm_buffer_free(ctx, &X);
    spmm_buffer_free(ctx, &B);
    spmm_buffer_free(ctx, &Y);
    spmm_buffer_free(ctx, &C);
    spmm_plan_destroy(&plan);
    spmm_matrix_destroy(&A);
    spmm_context_destroy(&ctx);
    MPI_Finalize();
    return fabs(sums[0] - sums[1]) <= 1e-12 * sums[2] ? EXIT_SUCCESS : EXIT_FAILURE;
}
