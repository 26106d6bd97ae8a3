/* SPDX-License-Identifier: Apache-2.0 */
/** @file hypre_blocks.c
 *  From hypre: the two blocks of a ParCSR matrix, entries in columns of this rank and the others,
 *  become a matrix of ours, and a multivector, which hypre keeps column after column, is multiplied
 *  as it lies.  New values of the ParCSR follow without a new plan.
 *  Compared with hypre's own product of each column, in value and time.
 *
 *      mpirun -n 4 hypre_blocks [NX [COLUMNS]]
 */
#include "hypre_case.h"

/* The rows of both blocks, with global columns; each row has those of its own block first. */
typedef struct {
    int64_t n_rows, n_cols, *row_ptr, *col;
    double *values;
} rows_t;

static rows_t join_blocks(hypre_ParCSRMatrix *parcsr)
{
    hypre_CSRMatrix *const blocks[2] = {hypre_ParCSRMatrixDiag(parcsr),
                                        hypre_ParCSRMatrixOffd(parcsr)};
    const HYPRE_BigInt    *map       = hypre_ParCSRMatrixColMapOffd(parcsr);
    const int64_t          first     = hypre_ParCSRMatrixFirstColDiag(parcsr);
    const int64_t          nnz =
        hypre_CSRMatrixNumNonzeros(blocks[0]) + hypre_CSRMatrixNumNonzeros(blocks[1]);
    rows_t  r  = {.n_rows = hypre_CSRMatrixNumRows(blocks[0]),
                  .n_cols = hypre_CSRMatrixNumCols(blocks[0])};
    int64_t at = 0;

    r.row_ptr = allocate(r.n_rows + 1, sizeof *r.row_ptr);
    r.col     = allocate(nnz, sizeof *r.col);
    r.values  = allocate(nnz, sizeof *r.values);
    for (int64_t i = 0; i < r.n_rows; i++) {
        for (int b = 0; b < 2; b++) {
            const HYPRE_Int *row_ptr = hypre_CSRMatrixI(blocks[b]);

            for (HYPRE_Int k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
                const HYPRE_Int j = hypre_CSRMatrixJ(blocks[b])[k];

                r.col[at]      = b == 0 ? first + j : (int64_t)map[j];
                r.values[at++] = hypre_CSRMatrixData(blocks[b])[k];
            }
        }
        r.row_ptr[i + 1] = at;
    }
    return r;
}

static void free_rows(rows_t *r)
{
    free(r->row_ptr);
    free(r->col);
    free(r->values);
}

int main(int argc, char **argv)
{
    const spmm_context_options_t on_cpu = {.struct_size = sizeof on_cpu, .device = SPMM_DEVICE_CPU};
    const int64_t                nx     = argc > 1 ? atoll(argv[1]) : 20;
    const HYPRE_Int              columns    = argc > 2 ? atoi(argv[2]) : 8;
    spmm_plan_options_t          options    = SPMM_PLAN_OPTIONS_INIT;
    double                       results[3] = {0.0}; /* error, seconds of both */
    spmm_matrix_t               *A;
    spmm_plan_t                 *plan;
    int                          rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_hypre(HYPRE_Init());
    check(spmm_context_create(MPI_COMM_WORLD, &on_cpu, &ctx));
    HYPRE_IJMatrix   ij   = make_cube(nx, 1.0);
    rows_t           rows = join_blocks(parcsr_of(ij));
    hypre_ParVector *B    = make_block(parcsr_of(ij), columns);
    hypre_ParVector *C    = make_block(parcsr_of(ij), columns);
    const int64_t    ld   = hypre_VectorVectorStride(hypre_ParVectorLocalVector(B));

    fill(B, columns);
    check(spmm_matrix_create_csr(ctx, rows.n_rows, rows.n_cols, rows.row_ptr, rows.col, rows.values,
                                 SPMM_R_64F, &A));
    options.layout = SPMM_LAYOUT_COL;
    check(spmm_plan_create(A, columns, &options, &plan));
    for (int round = 0; round < 2; round++) {
        double seconds;

        if (round == 1) { /* other values, the same pattern */
            check_hypre(HYPRE_IJMatrixDestroy(ij));
            ij = make_cube(nx, 2.5);
            free_rows(&rows);
            rows = join_blocks(parcsr_of(ij));
            check(spmm_matrix_update_values(A, rows.values));
        }
        results[1] -= MPI_Wtime();
        check(spmm_execute(plan, columns, 1.0, data_of(B), ld, 0.0, data_of(C), ld, NULL));
        results[1] += MPI_Wtime();
        results[0] = larger(results[0], compare(parcsr_of(ij), B, C, columns, &seconds));
        results[2] += seconds;
    }
    reduce_all(results, 3, MPI_MAX);
    if (rank == 0) {
        printf("%d columns twice: hypre %.3f ms, ours %.3f ms, largest difference %.1e\n",
               (int)columns, 1e3 * results[2], 1e3 * results[1], results[0]);
    }
    check(spmm_plan_destroy(&plan));
    check(spmm_matrix_destroy(&A));
    check(spmm_context_destroy(&ctx));
    free_rows(&rows);
    hypre_ParVectorDestroy(B);
    hypre_ParVectorDestroy(C);
    check_hypre(HYPRE_IJMatrixDestroy(ij));
    check_hypre(HYPRE_Finalize());
    MPI_Finalize();
    return results[0] < 1e-13 ? EXIT_SUCCESS : EXIT_FAILURE;
}
