/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever changes the values of a matrix of type spmmdist, products have them: after each change
 * they are those of an AIJ that is changed in the same way.
 *
 *     mpirun -n 3 test_changes -dll_append libspmm_dist_petsc.so [-mat_spmmdist_partition block]
 */
#include <petsc/private/petscimpl.h> /* PetscObjectStateSet() */
#include <petscksp.h>

enum { N = 23, IN_ROW = 5 };
enum { OP_N, OP_T, OP_H, OPS };

static PetscScalar number(PetscInt key)
{
    PetscScalar x = (PetscReal)(key % 13 - 6);

#ifdef PETSC_USE_COMPLEX
    x += PETSC_i * (PetscReal)(key % 5 - 2);
#endif
    return x;
}

static PetscErrorCode set_values(Mat A, PetscInt salt)
{
    PetscInt first, last;

    PetscFunctionBeginUser;
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        for (PetscInt k = 0; k < IN_ROW; k++) {
            PetscCall(
                MatSetValue(A, i, (i + 7 * k) % N, number(3 * i + 5 * k + salt), INSERT_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode fill(Vec x, PetscInt salt)
{
    PetscInt first, last;

    PetscFunctionBeginUser;
    PetscCall(VecGetOwnershipRange(x, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        PetscCall(VecSetValue(x, i, number(i + salt), INSERT_VALUES));
    }
    PetscCall(VecAssemblyBegin(x));
    PetscCall(VecAssemblyEnd(x));
    PetscFunctionReturn(0);
}

static PetscErrorCode make(MPI_Comm comm, MatType type, Mat *A)
{
    PetscFunctionBeginUser;
    PetscCall(MatCreate(comm, A));
    PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, N, N));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSetUp(*A));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(set_values(*A, 0));
    PetscFunctionReturn(0);
}

static PetscErrorCode axpy(Mat A)
{
    Mat copy;

    PetscFunctionBeginUser;
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &copy));
    PetscCall(MatAXPY(A, 1.5, copy, SAME_NONZERO_PATTERN));
    PetscCall(MatDestroy(&copy));
    PetscFunctionReturn(0);
}

/* PETSc puts a new matrix into A. */
static PetscErrorCode axpy_other_pattern(Mat A)
{
    Mat transposed;

    PetscFunctionBeginUser;
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &transposed));
    PetscCall(MatAXPY(A, 2.0, transposed, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatDestroy(&transposed));
    PetscFunctionReturn(0);
}

static PetscErrorCode transpose(Mat A)
{
    return MatTranspose(A, MAT_INPLACE_MATRIX, &A);
}

static PetscErrorCode convert(Mat A)
{
    const char *const others[] = {MATBAIJ, MATSELL, MATDENSE};
    MatType           now;
    char              type[64];

    PetscFunctionBeginUser;
    PetscCall(MatGetType(A, &now));
    PetscCall(PetscStrncpy(type, now, sizeof type));
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
        PetscCall(MatConvert(A, others[k], MAT_INPLACE_MATRIX, &A));
        PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
    }
    PetscFunctionReturn(0);
}

/* A gets a matrix that was changed after its products, and counts changes as that did then. */
static PetscErrorCode replace(Mat A)
{
    PetscObjectState state;
    Mat              other;
    Vec              x, y;

    PetscFunctionBeginUser;
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &other));
    PetscCall(MatCreateVecs(other, &x, &y));
    PetscCall(VecSet(x, 1.0));
    PetscCall(MatMult(other, x, y));
    PetscCall(MatMultTranspose(other, x, y));
    PetscCall(PetscObjectStateGet((PetscObject)other, &state));
    PetscCall(MatScale(other, 2.0));
    PetscCall(PetscObjectStateSet((PetscObject)A, state - 1));
    PetscCall(MatHeaderReplace(A, &other));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscFunctionReturn(0);
}

/* As where PETSc puts an AIJ into A. */
static PetscErrorCode lose_state(Mat A)
{
    PetscFunctionBeginUser;
    PetscCall(MatScale(A, 0.5));
    PetscCall(PetscObjectCompose((PetscObject)A, "spmm_dist state", NULL));
    PetscFunctionReturn(0);
}

static PetscErrorCode copy_other(Mat A)
{
    Mat other;

    PetscFunctionBeginUser;
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &other));
    PetscCall(MatScale(other, -3.0));
    PetscCall(MatCopy(other, A, SAME_NONZERO_PATTERN));
    PetscCall(MatDestroy(&other));
    PetscFunctionReturn(0);
}

static PetscErrorCode set_anew(Mat A)
{
    return set_values(A, 9);
}

static PetscErrorCode zero_row(Mat A)
{
    const PetscInt row = 1;

    return MatZeroRows(A, 1, &row, 7.0, NULL, NULL);
}

static PetscErrorCode shift(Mat A)
{
    return MatShift(A, 3.0);
}

static PetscErrorCode scale(Mat A)
{
    return MatScale(A, 2.0);
}

static PetscErrorCode scale_sides(Mat A)
{
    Vec left, right;

    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(A, &right, &left));
    PetscCall(fill(left, 1));
    PetscCall(fill(right, 2));
    PetscCall(MatDiagonalScale(A, left, right));
    PetscCall(VecDestroy(&left));
    PetscCall(VecDestroy(&right));
    PetscFunctionReturn(0);
}

static PetscErrorCode add_entry(Mat A)
{
    PetscFunctionBeginUser;
    PetscCall(MatSetValue(A, 1, N - 2, 0.5, ADD_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* The two blocks of the last rank alone. */
static PetscErrorCode scale_parts(Mat A)
{
    PetscMPIInt rank, size;
    PetscBool   is_mpi;
    Mat         part[2];

    PetscFunctionBeginUser;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &is_mpi));
    if (is_mpi && rank == size - 1) {
        PetscCall(MatMPIAIJGetSeqAIJ(A, &part[0], &part[1], NULL));
        PetscCall(MatScale(part[0], 5.0));
        PetscCall(MatScale(part[1], 4.0));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode keep_values(Mat A)
{
    PetscFunctionBeginUser;
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
    PetscCall(MatStoreValues(A));
    PetscFunctionReturn(0);
}

static const struct {
    const char *name;
    PetscErrorCode (*change)(Mat);
} changes[] = {{"MatScale", scale},
               {"one entry more", add_entry},
               {"MatDiagonalScale", scale_sides},
               {"MatShift", shift},
               {"MatAXPY", axpy},
               {"MatAXPY of another pattern", axpy_other_pattern},
               {"MatTranspose in place", transpose},
               {"MatTranspose in place, again", transpose},
               {"MatConvert to others and back", convert},
               {"MatHeaderReplace", replace},
               {"a Mat without state", lose_state},
               {"blocks of one rank", scale_parts},
               {"MatCopy", copy_other},
               {"MatConjugate", MatConjugate},
               {"MatStoreValues", keep_values},
               {"blocks of one rank, behind MatStoreValues", scale_parts},
               {"MatRetrieveValues", MatRetrieveValues},
               {"MatRealPart", MatRealPart},
               {"MatSetValue", set_anew},
               {"MatImaginaryPart", MatImaginaryPart},
               {"MatZeroRows", zero_row},
               {"MatZeroEntries", MatZeroEntries}};

static PetscErrorCode multiply(Mat A, int op, Vec x, Vec y)
{
    return op == OP_N   ? MatMult(A, x, y)
           : op == OP_T ? MatMultTranspose(A, x, y)
                        : MatMultHermitianTranspose(A, x, y);
}

static PetscErrorCode compare(Mat A, Mat want, int op, const char *name)
{
    PetscReal error;
    Vec       x, y, z;

    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(want, &x, &y));
    PetscCall(VecDuplicate(y, &z));
    PetscCall(fill(x, 0));
    PetscCall(multiply(A, op, x, y));
    PetscCall(multiply(want, op, x, z));
    PetscCall(VecAXPY(y, -1.0, z));
    PetscCall(VecNorm(y, NORM_INFINITY, &error));
    PetscCheck(error < 1e-9, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: op %d is wrong by %g", name, op,
               (double)error);
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscFunctionReturn(0);
}

/* @p ops  of which there are products, and so plans, from the first on */
static PetscErrorCode check(int ops)
{
    Mat A, want, copy;

    PetscFunctionBeginUser;
    PetscCall(make(PETSC_COMM_WORLD, "spmmdist", &A));
    PetscCall(make(PETSC_COMM_WORLD, MATAIJ, &want));
    for (int op = 0; op < ops; op++) {
        PetscCall(compare(A, want, op, "as made"));
    }
    for (size_t k = 0; k < sizeof changes / sizeof changes[0]; k++) {
        PetscCall(changes[k].change(A));
        PetscCall(changes[k].change(want));
        for (int op = 0; op < ops; op++) {
            PetscCall(compare(A, want, op, changes[k].name));
        }
        PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &copy));
        PetscCall(compare(copy, want, OP_N, changes[k].name));
        PetscCall(MatDestroy(&copy));
    }
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&want));
    PetscFunctionReturn(0);
}

/* A plan that is made after others have taken values of one rank. */
static PetscErrorCode check_late_plan(void)
{
    Mat A, want;

    PetscFunctionBeginUser;
    PetscCall(make(PETSC_COMM_WORLD, "spmmdist", &A));
    PetscCall(make(PETSC_COMM_WORLD, MATAIJ, &want));
    PetscCall(compare(A, want, OP_N, "as made"));
    PetscCall(scale_parts(A));
    PetscCall(scale_parts(want));
    PetscCall(compare(A, want, OP_N, "blocks of one rank"));
    PetscCall(compare(A, want, OP_T, "a plan made later"));
    PetscCall(scale_parts(A));
    PetscCall(scale_parts(want));
    PetscCall(compare(A, want, OP_H, "a plan made at once"));
    PetscCall(compare(A, want, OP_N, "the first plan"));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&want));
    PetscFunctionReturn(0);
}

static PetscErrorCode lu(Mat A, IS rows, IS columns)
{
    MatFactorInfo info;

    PetscFunctionBeginUser;
    PetscCall(MatFactorInfoInitialize(&info));
    info.fill = 5.0;
    PetscCall(MatLUFactor(A, rows, columns, &info));
    PetscFunctionReturn(0);
}

static PetscErrorCode ilu(Mat A, IS rows, IS columns)
{
    MatFactorInfo info;

    PetscFunctionBeginUser;
    PetscCall(MatFactorInfoInitialize(&info));
    info.fill = 1.0;
    PetscCall(MatILUFactor(A, rows, columns, &info));
    PetscFunctionReturn(0);
}

/* x = factors of A in the place of A applied to ones, by MatSolve() or, with NULL, by PCLU. */
static PetscErrorCode solve_in_place(MatType type, PetscErrorCode (*factor)(Mat, IS, IS), Vec *x)
{
    IS  rows, columns;
    KSP ksp;
    PC  pc;
    Vec b;
    Mat A;

    PetscFunctionBeginUser;
    PetscCall(make(PETSC_COMM_SELF, type, &A));
    PetscCall(MatShift(A, 100.0));
    PetscCall(MatCreateVecs(A, x, &b));
    PetscCall(VecSet(*x, 1.0));
    PetscCall(MatMult(A, *x, b)); /* a plan is there */
    PetscCall(MatGetOrdering(A, MATORDERINGNATURAL, &rows, &columns));
    if (factor != NULL) {
        PetscCall(factor(A, rows, columns));
        PetscCall(MatSolve(A, b, *x));
    } else {
        PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
        PetscCall(KSPSetOperators(ksp, A, A));
        PetscCall(KSPSetType(ksp, KSPPREONLY));
        PetscCall(KSPGetPC(ksp, &pc));
        PetscCall(PCSetType(pc, PCLU));
        PetscCall(PCFactorSetUseInPlace(pc, PETSC_TRUE));
        PetscCall(KSPSolve(ksp, b, *x));
        PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(ISDestroy(&rows));
    PetscCall(ISDestroy(&columns));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

static PetscErrorCode check_factors(void)
{
    PetscErrorCode (*const factors[])(Mat, IS, IS) = {lu, ilu, NULL};
    PetscReal apart;
    Vec       x, want;

    PetscFunctionBeginUser;
    for (size_t k = 0; k < sizeof factors / sizeof factors[0]; k++) {
        PetscCall(solve_in_place("spmmdist", factors[k], &x));
        PetscCall(solve_in_place(MATAIJ, factors[k], &want));
        PetscCall(VecAXPY(x, -1.0, want));
        PetscCall(VecNorm(x, NORM_INFINITY, &apart));
        PetscCheck(apart < 1e-12, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                   "factors %d in place: solutions are apart by %g", (int)k, (double)apart);
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&want));
    }
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(check_factors());
    PetscCall(check(1));
    PetscCall(check(OPS));
    PetscCall(check_late_plan());
    PetscCall(PetscFinalize());
    return 0;
}
