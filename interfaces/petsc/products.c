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

static PetscErrorCode multiply_block(Mat A, spmm_op_t op, Mat B, Mat C)
{
    const PetscScalar *from;
    PetscScalar       *to;
    PetscInt           columns, ldb, ldc;

    PetscFunctionBegin;
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

static PetscErrorCode product_numeric(Mat C)
{
    spmm_op_t op = SPMM_OP_N;
    Mat       A, B;

    PetscFunctionBegin;
    PetscCall(get_factors(C, &A, &B, &op));
    PetscCall(multiply_block(A, op, B, C));
    PetscFunctionReturn(0);
}

/* For a part of a product of three, whose factors C has, PETSc passes the factors of the part. */
static PetscErrorCode numeric_AB(Mat A, Mat B, Mat C)
{
    return multiply_block(A, SPMM_OP_N, B, C);
}

static PetscErrorCode numeric_AtB(Mat A, Mat B, Mat C)
{
    return multiply_block(A, SPMM_OP_T, B, C);
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
    if (op == SPMM_OP_N) {
        PetscCall(MatSetOperation(C, MATOP_MAT_MULT_NUMERIC, (void (*)(void))numeric_AB));
    } else {
        PetscCall(MatSetOperation(C, MATOP_TRANSPOSE_MAT_MULT_NUMER, (void (*)(void))numeric_AtB));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode check_rows(Mat A, Mat B, MatProductType type)
{
    PetscInt a_first, a_last, b_first, b_last;

    PetscFunctionBegin;
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
    PetscFunctionReturn(0);
}

/* A MATTRANSPOSE, of which PETSc has a product by the type of the matrix in it. */
static PetscErrorCode is_transpose(Mat mat, PetscBool *is)
{
    return PetscObjectTypeCompare((PetscObject)mat, "transpose", is);
}

/* PETSc does what it does with AIJ: it finds that by the names of their types.  Names are ours
 * again when the parts of a product of three look for theirs. */
static PetscErrorCode ask_as_aij(Mat C, PetscErrorCode (*question)(Mat))
{
    PetscBool      is_own[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, any = PETSC_FALSE;
    PetscBool      is_view;
    PetscErrorCode error = 0;
    Mat            factors[3];

    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &factors[0], &factors[1], &factors[2]));
    for (int i = 0; i < 3; i++) {
        if (factors[i] != NULL) {
            PetscCall(is_transpose(factors[i], &is_view));
            if (is_view) {
                PetscCall(MatTransposeGetMat(factors[i], &factors[i]));
            }
            PetscCall(spmmi_is_own(factors[i], &is_own[i]));
        }
        if (is_own[i]) {
            PetscCall(spmmi_pass_for_aij(factors[i], PETSC_TRUE));
            any = PETSC_TRUE;
        }
    }
    if (any) {
        error = question(C);
    }
    for (int i = 0; i < 3; i++) {
        if (is_own[i]) {
            PetscCall(spmmi_pass_for_aij(factors[i], PETSC_FALSE));
        }
    }
    PetscCall(error);
    PetscFunctionReturn(0);
}

static PetscErrorCode set_and_symbolic(Mat C)
{
    PetscFunctionBegin;
    PetscCall(MatProductSetFromOptions(C));
    PetscCall(MatProductSymbolic(C));
    PetscFunctionReturn(0);
}

static PetscErrorCode symbolic_as_aij(Mat C)
{
    return ask_as_aij(C, set_and_symbolic);
}

PetscErrorCode spmmi_product_from_options(Mat C)
{
    PetscBool      a_is_own, b_is_own, a_is_aij, a_is_transpose, b_is_dense;
    MatProductType type;
    Mat            A, B;

    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, &A, &B, NULL));
    PetscCall(MatProductGetType(C, &type));
    PetscCall(spmmi_is_own(A, &a_is_own));
    PetscCall(spmmi_is_own(B, &b_is_own));
    PetscCall(is_transpose(A, &a_is_transpose));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &a_is_aij, MATSEQAIJ, MATMPIAIJ, ""));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)B, &b_is_dense, MATSEQDENSE, MATMPIDENSE, ""));
    if (a_is_own && b_is_dense && (type == MATPRODUCT_AB || type == MATPRODUCT_AtB)) {
        PetscCall(check_rows(A, B, type));
        PetscCall(MatSetOperation(C, MATOP_PRODUCTSYMBOLIC, (void (*)(void))product_symbolic));
    } else if ((type == MATPRODUCT_ABt && a_is_aij && b_is_own) ||
               (type == MATPRODUCT_ABC && a_is_transpose)) {
        /* In the first PETSc gives a transpose of B the type of A, which empties a MATSPMMDIST; in
         * the second it looks at types only now. */
        PetscCall(MatSetOperation(C, MATOP_PRODUCTSYMBOLIC, (void (*)(void))symbolic_as_aij));
    } else {
        PetscCall(ask_as_aij(C, MatProductSetFromOptions));
    }
    PetscFunctionReturn(0);
}
