/* SPDX-License-Identifier: Apache-2.0 */
/** @file petsc_shell.c
 *  A PETSc matrix whose products are ours: a MATSHELL made from an assembled MATAIJ.  MatMult() and
 *  MatMatMult() with a MATDENSE go through spmm_execute() on the arrays of the Vec and the Mat
 *  themselves, so everything of PETSc that multiplies by blocks of vectors can take it.  Rows stay
 *  with PETSc's ranks (partition "keep"); blocks of PETSc are column-major.
 *  Compared with the products of the MATAIJ, in value and time, and used by a solver of PETSc.
 *
 *      mpirun -n 4 petsc_shell [-nx 60] [-columns 32] [-repeat 20] [options of PETSc]
 */
#include <assert.h>

#include "petsc_case.h"

typedef struct {
    spmm_matrix_t *A;
    spmm_plan_t   *plan;
    PetscInt       columns; /* most of one product */
} shell_t;

/* PETSc is built with indices of either width; its arrays are taken as they are. */
#ifdef PETSC_USE_64BIT_INDICES
#define create_csr spmm_matrix_create_csr
static_assert(sizeof(PetscInt) == sizeof(int64_t), "PetscInt has 64 bits");
#else
#define create_csr spmm_matrix_create_csr32
static_assert(sizeof(PetscInt) == sizeof(int32_t), "PetscInt has 32 bits");
#endif

#ifdef PETSC_USE_COMPLEX
#define SCALAR SPMM_C_64F
#else
#define SCALAR SPMM_R_64F
#endif

/* A copy of this rank's rows, whose columns PETSc keeps in two parts. */
static PetscErrorCode copy_rows(Mat mat, spmm_matrix_t **A)
{
    PetscInt           n_rows, n_cols;
    const PetscInt    *row_ptr, *col_idx;
    const PetscScalar *values;
    PetscBool          done;
    Mat                rows;

    PetscFunctionBeginUser;
    PetscCall(MatGetLocalSize(mat, NULL, &n_cols));
    PetscCall(MatAIJGetLocalMat(mat, &rows)); /* one matrix, with global columns */
    PetscCall(MatGetRowIJ(rows, 0, PETSC_FALSE, PETSC_FALSE, &n_rows, &row_ptr, &col_idx, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix has no CSR arrays");
    PetscCall(MatSeqAIJGetArrayRead(rows, &values));
    check(create_csr(ctx, n_rows, n_cols, row_ptr, col_idx, values, SCALAR, A));
    PetscCall(MatSeqAIJRestoreArrayRead(rows, &values));
    PetscCall(
        MatRestoreRowIJ(rows, 0, PETSC_FALSE, PETSC_FALSE, &n_rows, &row_ptr, &col_idx, &done));
    PetscCall(MatDestroy(&rows));
    PetscFunctionReturn(0);
}

static PetscErrorCode shell_mult(Mat mat, Vec x, Vec y)
{
    shell_t           *shell;
    const PetscScalar *from;
    PetscScalar       *to;
    PetscInt           x_rows, y_rows;

    PetscFunctionBeginUser;
    PetscCall(MatShellGetContext(mat, &shell));
    PetscCall(VecGetLocalSize(x, &x_rows));
    PetscCall(VecGetLocalSize(y, &y_rows));
    PetscCall(VecGetArrayRead(x, &from));
    PetscCall(VecGetArrayWrite(y, &to));
    check(spmm_execute(shell->plan, 1, 1.0, from, x_rows, 0.0, to, y_rows, NULL));
    PetscCall(VecRestoreArrayWrite(y, &to));
    PetscCall(VecRestoreArrayRead(x, &from));
    PetscFunctionReturn(0);
}

/* C = A B: PETSc has made C.  Wide blocks go in slices of the planned width. */
static PetscErrorCode shell_mat_mult(Mat mat, Mat B, Mat C, void *unused)
{
    shell_t           *shell;
    const PetscScalar *from;
    PetscScalar       *to;
    PetscInt           columns, ldb, ldc;

    (void)unused;
    PetscFunctionBeginUser;
    PetscCall(MatShellGetContext(mat, &shell));
    PetscCall(MatGetSize(B, NULL, &columns));
    PetscCall(MatDenseGetLDA(B, &ldb));
    PetscCall(MatDenseGetLDA(C, &ldc));
    PetscCall(MatDenseGetArrayRead(B, &from));
    PetscCall(MatDenseGetArrayWrite(C, &to));
    for (PetscInt j = 0; j < columns; j += shell->columns) {
        const PetscInt n = PetscMin(shell->columns, columns - j);

        check(spmm_execute(shell->plan, n, 1.0, from + (size_t)j * (size_t)ldb, ldb, 0.0,
                           to + (size_t)j * (size_t)ldc, ldc, NULL));
    }
    PetscCall(MatDenseRestoreArrayWrite(C, &to));
    PetscCall(MatDenseRestoreArrayRead(B, &from));
    PetscFunctionReturn(0);
}

static PetscErrorCode shell_destroy(Mat mat)
{
    shell_t *shell;

    PetscFunctionBeginUser;
    PetscCall(MatShellGetContext(mat, &shell));
    check(spmm_plan_destroy(&shell->plan));
    check(spmm_matrix_destroy(&shell->A));
    free(shell);
    PetscFunctionReturn(0);
}

static PetscErrorCode shell_create(Mat aij, PetscInt columns, Mat *mat)
{
    spmm_plan_options_t options = SPMM_PLAN_OPTIONS_INIT;
    shell_t            *shell   = allocate(1, sizeof *shell);
    PetscInt            m, n;

    PetscFunctionBeginUser;
    options.layout = SPMM_LAYOUT_COL;
    shell->columns = columns;
    PetscCall(copy_rows(aij, &shell->A));
    check(spmm_plan_create(shell->A, columns, &options, &shell->plan));
    PetscCall(MatGetLocalSize(aij, &m, &n));
    PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, n, PETSC_DETERMINE, PETSC_DETERMINE, shell, mat));
    PetscCall(MatShellSetOperation(*mat, MATOP_MULT, (void (*)(void))shell_mult));
    PetscCall(MatShellSetOperation(*mat, MATOP_DESTROY, (void (*)(void))shell_destroy));
    PetscCall(MatShellSetMatProductOperation(*mat, MATPRODUCT_AB, NULL, shell_mat_mult, NULL,
                                             MATDENSE, MATDENSE));
    PetscFunctionReturn(0);
}

/* The difference of two blocks relative to the second. */
static PetscErrorCode compare(Mat C, Mat want, double *error)
{
    PetscReal difference, size;

    PetscFunctionBeginUser;
    PetscCall(MatNorm(want, NORM_FROBENIUS, &size));
    PetscCall(MatAXPY(C, -1.0, want, SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(C, NORM_FROBENIUS, &difference));
    *error = difference / size;
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    const spmm_context_options_t on_cpu = {.struct_size = sizeof on_cpu, .device = SPMM_DEVICE_CPU};
    PetscInt                     nx = 24, columns = 32, repeat = 5, steps = 0, own_steps = 0;
    Mat                          aij, shell, B, C, own_C;
    Vec                          b, x;
    double                       seconds = 0.0, own_seconds = 0.0, error = 0.0;

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-nx", &nx, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-columns", &columns, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeat", &repeat, NULL));
    check(spmm_context_create(PETSC_COMM_WORLD, &on_cpu, &ctx)); /* where blocks of PETSc are */
    PetscCall(make_cube(nx, &aij));
    PetscCall(shell_create(aij, columns, &shell));
    PetscCall(make_block(aij, columns + columns / 2, &B)); /* wider than planned */

    PetscCall(multiply(aij, B, repeat, &own_C, &own_seconds));
    PetscCall(multiply(shell, B, repeat, &C, &seconds));
    PetscCall(compare(C, own_C, &error));
    PetscCall(MatCreateVecs(aij, &x, &b));
    PetscCall(VecSet(b, 1.0));
    PetscCall(solve(aij, b, x, &own_steps));
    PetscCall(solve(shell, b, x, &steps));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%d columns: PETSc %.3f ms, ours %.3f ms, difference %.1e; conjugate "
                          "gradients: PETSc %d steps, ours %d\n",
                          (int)(columns + columns / 2), 1e3 * own_seconds, 1e3 * seconds, error,
                          (int)own_steps, (int)steps));

    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&own_C));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&shell));
    PetscCall(MatDestroy(&aij));
    check(spmm_context_destroy(&ctx));
    PetscCall(PetscFinalize());
    return error < 1e-14 && steps > 0 && labs((long)(steps - own_steps)) <= 1 ? EXIT_SUCCESS
                                                                              : EXIT_FAILURE;
}
