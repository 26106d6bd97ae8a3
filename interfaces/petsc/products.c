/* SPDX-License-Identifier: Apache-2.0 */
/** @file products.c  The operations of a MATSPMMDIST on vectors and on dense blocks. */
#include "state.h"

/* y = op(A) x + beta y, a block of one column. */
static PetscErrorCode multiply(Mat mat, spmm_op_t op, Vec x, double beta, Vec y)
{
    const PetscScalar *from;
    PetscScalar       *to;
    PetscInt           x_rows, y_rows;

    PetscFunctionBegin;
    PetscCall(VecGetLocalSize(x, &x_rows));
    PetscCall(VecGetLocalSize(y, &y_rows));
    PetscCall(VecGetArrayRead(x, &from));
    PetscCall(beta == 0.0 ? VecGetArrayWrite(y, &to) : VecGetArray(y, &to));
    PetscCall(spmmi_execute(mat, op, 1, from, x_rows, beta, to, y_rows));
    PetscCall(beta == 0.0 ? VecRestoreArrayWrite(y, &to) : VecRestoreArray(y, &to));
    PetscCall(VecRestoreArrayRead(x, &from));
    PetscFunctionReturn(0);
}

static PetscErrorCode multiply_add(Mat mat, spmm_op_t op, Vec x, Vec add, Vec y)
{
    PetscFunctionBegin;
    if (add != y) {
        PetscCall(VecCopy(add, y));
    }
    PetscCall(multiply(mat, op, x, 1.0, y));
    PetscFunctionReturn(0);
}

PetscErrorCode spmmi_mult(Mat mat, Vec x, Vec y)
{
    return multiply(mat, SPMM_OP_N, x, 0.0, y);
}

PetscErrorCode spmmi_mult_add(Mat mat, Vec x, Vec add, Vec y)
{
    return multiply_add(mat, SPMM_OP_N, x, add, y);
}

PetscErrorCode spmmi_mult_transpose(Mat mat, Vec x, Vec y)
{
    return multiply(mat, SPMM_OP_T, x, 0.0, y);
}

PetscErrorCode spmmi_mult_transpose_add(Mat mat, Vec x, Vec add, Vec y)
{
    return multiply_add(mat, SPMM_OP_T, x, add, y);
}

PetscErrorCode spmmi_mult_hermitian(Mat mat, Vec x, Vec y)
{
    return multiply(mat, SPMM_OP_H, x, 0.0, y);
}

PetscErrorCode spmmi_mult_hermitian_add(Mat mat, Vec x, Vec add, Vec y)
{
    return multiply_add(mat, SPMM_OP_H, x, add, y);
}

/* Factors and op of a product of matrices. */
static PetscErrorCode get_factors(Mat C, Mat *A, Mat *B, spmm_op_t *op)
{
    MatProductType type;

    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, A, B, NULL));
    PetscCall(MatProductGetType(C, &type));
    *op = type == MATPRODUCT_AtB ? SPMM_OP_T : SPMM_OP_N;
    PetscFunctionReturn(0);
}

static PetscErrorCode product_numeric(Mat C)
{
    const PetscScalar *from;
    PetscScalar       *to;
    PetscInt           columns, ldb, ldc;
    spmm_op_t          op = SPMM_OP_N;
    Mat                A, B;

    PetscFunctionBegin;
    PetscCall(get_factors(C, &A, &B, &op));
    PetscCall(MatGetSize(B, NULL, &columns));
    PetscCall(MatDenseGetLDA(B, &ldb));
    PetscCall(MatDenseGetLDA(C, &ldc));
    PetscCall(MatDenseGetArrayRead(B, &from));
    PetscCall(MatDenseGetArrayWrite(C, &to));
    PetscCall(spmmi_execute(A, op, columns, from, ldb, 0.0, to, ldc));
    PetscCall(MatDenseRestoreArrayWrite(C, &to));
    PetscCall(MatDenseRestoreArrayRead(B, &from));
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* C gets its shape and type, unless the program gave it, and A its plan. */
static PetscErrorCode product_symbolic(Mat C)
{
    PetscInt       m, M, n, N;
    PetscBool      is_dense;
    MatType        type;
    spmm_op_t      op = SPMM_OP_N;
    Mat            A, B;
    spmmi_state_t *unused;

    PetscFunctionBegin;
    PetscCall(get_factors(C, &A, &B, &op));
    PetscCall(MatGetLocalSize(B, NULL, &n));
    PetscCall(MatGetSize(B, NULL, &N));
    if (op == SPMM_OP_N) {
        PetscCall(MatGetLocalSize(A, &m, NULL));
        PetscCall(MatGetSize(A, &M, NULL));
    } else {
        PetscCall(MatGetLocalSize(A, NULL, &m));
        PetscCall(MatGetSize(A, NULL, &M));
    }
    PetscCall(MatSetSizes(C, m, n, M, N));
    PetscCall(
        PetscObjectBaseTypeCompareAny((PetscObject)C, &is_dense, MATSEQDENSE, MATMPIDENSE, ""));
    if (!is_dense) {
        PetscCall(MatGetType(B, &type));
        PetscCall(MatSetType(C, type));
    }
    PetscCall(MatSetUp(C));
    PetscCall(spmmi_prepare(A, op, N, &unused));
    PetscCall(MatSetOperation(C, MATOP_PRODUCTNUMERIC, (void (*)(void))product_numeric));
    PetscFunctionReturn(0);
}

PetscErrorCode spmmi_product_from_options(Mat C)
{
    PetscInt       a_first, a_last, b_first, b_last;
    MatProductType type;
    Mat            A, B;

    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &A, &B, NULL));
    PetscCall(MatProductGetType(C, &type));
    if (type != MATPRODUCT_AB && type != MATPRODUCT_AtB) {
        PetscFunctionReturn(0); /* PETSc says what it cannot do, as for an AIJ */
    }
    PetscCall(MatGetOwnershipRange(B, &b_first, &b_last));
    if (type == MATPRODUCT_AB) {
        PetscCall(MatGetOwnershipRangeColumn(A, &a_first, &a_last));
    } else {
        PetscCall(MatGetOwnershipRange(A, &a_first, &a_last));
    }
    PetscCheck(a_first == b_first && a_last == b_last, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "rows %" PetscInt_FMT " to %" PetscInt_FMT " of the dense factor are on this rank, "
               "and %" PetscInt_FMT " to %" PetscInt_FMT " of the sparse one's",
               b_first, b_last, a_first, a_last);
    PetscCall(MatSetOperation(C, MATOP_PRODUCTSYMBOLIC, (void (*)(void))product_symbolic));
    PetscFunctionReturn(0);
}
