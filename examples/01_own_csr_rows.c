/* SPDX-License-Identifier: Apache-2.0 */
/** @file 01_own_csr_rows.c
 *  A from the caller's own rows: every rank makes its share of the 1D Laplacian (-1, 2, -1) and
 *  multiplies a block of its eigenvectors again and again.  Column j of B is eigenvector j + 1 with
 *  eigenvalue l = 2 - 2 cos((j + 1) pi / (rows + 1)), so C = A * B must be l * B.  Then the values
 *  of A are doubled in place, and C with them.
 *
 *      mpirun -n 4 01_own_csr_rows
 */
#include <math.h>
#include <spmm_dist/spmm_dist.h>
#include <stdlib.h>

enum { ROWS_PER_RANK = 2500, COLUMNS = 16 };

static spmm_context_t *ctx = NULL;

/* Every rank sees the same status, so all of them come here together. */
static void check(spmm_status_t status)
{
    int rank = 0;

    if (status != SPMM_OK) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0) {
            (void)fprintf(stderr, "%s\n", spmm_last_error(ctx));
        }
        MPI_Finalize();
        exit(EXIT_FAILURE);
    }
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL) {
        (void)fprintf(stderr, "out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    return memory;
}

/* Rows [first, first + n_rows) of the Laplacian with `rows` rows; returns their
 * number of entries. */
static int64_t fill_rows(int64_t first, int64_t n_rows, int64_t rows, int64_t *row_ptr,
                         int64_t *col_idx, double *values)
{
    int64_t nnz = 0;

    for (int64_t i = 0; i < n_rows; i++) {
        row_ptr[i] = nnz;
        for (int64_t col = first + i - 1; col <= first + i + 1; col++) {
            if (col >= 0 && col < rows) {
                col_idx[nnz] = col; /* columns are global */
                values[nnz]  = col == first + i ? 2.0 : -1.0;
                nnz++;
            }
        }
    }
    row_ptr[n_rows] = nnz;
    return nnz;
}

/* C = A * B, and the largest |C - scale * l * B| over all ranks. */
static double multiply(spmm_plan_t *plan, void *B, void *C, const double *host_B, double *host_C,
                       const double *eigenvalue, double scale)
{
    double worst = 0.0;

    check(spmm_execute(plan, COLUMNS, 1.0, B, COLUMNS, 0.0, C, COLUMNS, NULL));
    check(spmm_stream_synchronize(ctx, NULL));
    check(spmm_buffer_copy(ctx, host_C, C, sizeof(double) * ROWS_PER_RANK * COLUMNS));
    for (int i = 0; i < ROWS_PER_RANK * COLUMNS; i++) {
        const double error = fabs(host_C[i] - scale * eigenvalue[i % COLUMNS] * host_B[i]);

        /* NaN, which fmax() and MPI_MAX may drop, counts as infinite. */
        worst = error <= worst ? worst : error < HUGE_VAL ? error : HUGE_VAL;
    }
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return worst;
}

int main(int argc, char **argv)
{
    const double   pi    = acos(-1.0);
    const size_t   bytes = sizeof(double) * ROWS_PER_RANK * COLUMNS;
    int            rank = 0, size = 1;
    int64_t        first, rows, nnz;
    spmm_matrix_t *A    = NULL;
    spmm_plan_t   *plan = NULL;
    void          *B = NULL, *C = NULL;
    double         eigenvalue[COLUMNS], error, error_doubled;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    first = (int64_t)rank * ROWS_PER_RANK;
    rows  = (int64_t)size * ROWS_PER_RANK;

    int64_t *row_ptr = allocate(ROWS_PER_RANK + 1, sizeof *row_ptr);
    int64_t *col_idx = allocate((size_t)3 * ROWS_PER_RANK, sizeof *col_idx);
    double  *values  = allocate((size_t)3 * ROWS_PER_RANK, sizeof *values);
    double  *host_B  = allocate((size_t)ROWS_PER_RANK * COLUMNS, sizeof *host_B);
    double  *host_C  = allocate((size_t)ROWS_PER_RANK * COLUMNS, sizeof *host_C);

    nnz = fill_rows(first, ROWS_PER_RANK, rows, row_ptr, col_idx, values);
    for (int j = 0; j < COLUMNS; j++) {
        eigenvalue[j] = 2.0 - 2.0 * cos((j + 1) * pi / (double)(rows + 1));
        for (int i = 0; i < ROWS_PER_RANK; i++) {
            host_B[i * COLUMNS + j] =
                sin((double)(first + i + 1) * (j + 1) * pi / (double)(rows + 1));
        }
    }

    check(spmm_context_create(MPI_COMM_WORLD, NULL, &ctx));
    check(spmm_matrix_create_csr(ctx, ROWS_PER_RANK, ROWS_PER_RANK, row_ptr, col_idx, values,
                                 SPMM_R_64F, &A));
    check(spmm_plan_create(A, COLUMNS, NULL, &plan));
    check(spmm_buffer_alloc(ctx, bytes, &B));
    check(spmm_buffer_alloc(ctx, bytes, &C));
    check(spmm_buffer_copy(ctx, B, host_B, bytes));
    error = multiply(plan, B, C, host_B, host_C, eigenvalue, 1.0);

    for (int64_t k = 0; k < nnz; k++) {
        values[k] *= 2.0;
    }
    check(spmm_matrix_update_values(A, values)); /* same pattern: nothing is planned again */
    error_doubled = multiply(plan, B, C, host_B, host_C, eigenvalue, 2.0);
    if (rank == 0) {
        printf("%lld rows on %d ranks: |A B - l B| = %.1e, |2 A B - 2 l B| = %.1e\n",
               (long long)rows, size, error, error_doubled);
    }

    check(spmm_buffer_free(ctx, &B));
    check(spmm_buffer_free(ctx, &C));
    check(spmm_plan_destroy(&plan));
    check(spmm_matrix_destroy(&A));
    check(spmm_context_destroy(&ctx));
    free(row_ptr);
    free(col_idx);
    free(values);
    free(host_B);
    free(host_C);
    MPI_Finalize();
    return error < 1e-12 && error_doubled < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
