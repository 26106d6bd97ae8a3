/* SPDX-License-Identifier: Apache-2.0 */
/* Solvers of PETSc on a spmmdist take as many iterations as on the AIJ, and have the same solution,
 * with every kind of preconditioner: factors of the blocks of the ranks, which are the default,
 * overlapping ones, multigrid, which multiplies sparse matrices, and the diagonal.
 *
 *     mpirun -n 2 test_solve -dll_append libspmm_dist_petsc.so
 */
#include "../../examples/petsc_case.h"

enum { NX = 9, SIDES = 5 };

static PetscErrorCode make_solver(Mat A, const char *pc_type, KSP *ksp)
{
    PC pc;

    PetscFunctionBeginUser;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
    PetscCall(KSPSetOperators(*ksp, A, A));
    PetscCall(KSPSetTolerances(*ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    if (pc_type != NULL) {
        PetscCall(KSPGetPC(*ksp, &pc));
        PetscCall(PCSetType(pc, pc_type));
    }
    PetscCall(KSPSetFromOptions(*ksp));
    PetscFunctionReturn(0);
}

static PetscErrorCode expect_equal(const char *what, const PetscInt steps[2], PetscReal apart,
                                   PetscReal size)
{
    PetscFunctionBeginUser;
    PetscCheck(steps[0] > 1 && steps[0] == steps[1] && apart < 1e-12 * size, PETSC_COMM_WORLD,
               PETSC_ERR_PLIB, "%s: %d iterations with aij, %d with spmmdist, apart by %g", what,
               (int)steps[0], (int)steps[1], (double)(apart / size));
    PetscFunctionReturn(0);
}

/* One right-hand side. */
static PetscErrorCode test_vector(Mat A[2], const char *pc_type)
{
    Vec       b, x[2];
    PetscInt  steps[2];
    PetscReal size, apart;

    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(A[0], &x[0], &b));
    PetscCall(VecDuplicate(x[0], &x[1]));
    PetscCall(VecSetRandom(b, NULL));
    for (int k = 0; k < 2; k++) {
        KSP ksp;

        PetscCall(make_solver(A[k], pc_type, &ksp));
        PetscCall(KSPSolve(ksp, b, x[k]));
        PetscCall(KSPGetIterationNumber(ksp, &steps[k]));
        PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(VecNorm(x[0], NORM_2, &size));
    PetscCall(VecAXPY(x[1], -1.0, x[0]));
    PetscCall(VecNorm(x[1], NORM_2, &apart));
    PetscCall(expect_equal(pc_type == NULL ? "default" : pc_type, steps, apart, size));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x[0]));
    PetscCall(VecDestroy(&x[1]));
    PetscFunctionReturn(0);
}

/* Several right-hand sides. */
static PetscErrorCode test_block(Mat A[2])
{
    Mat       B, X[2];
    PetscInt  steps[2];
    PetscReal size, apart;

    PetscFunctionBeginUser;
    PetscCall(make_block(A[0], SIDES, &B));
    for (int k = 0; k < 2; k++) {
        KSP ksp;

        PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X[k]));
        PetscCall(make_solver(A[k], NULL, &ksp));
        PetscCall(KSPMatSolve(ksp, B, X[k]));
        PetscCall(KSPGetTotalIterations(ksp, &steps[k]));
        PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(MatNorm(X[0], NORM_FROBENIUS, &size));
    PetscCall(MatAXPY(X[1], -1.0, X[0], SAME_NONZERO_PATTERN));
    PetscCall(MatNorm(X[1], NORM_FROBENIUS, &apart));
    PetscCall(expect_equal("KSPMatSolve()", steps, apart, size));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X[0]));
    PetscCall(MatDestroy(&X[1]));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    const char *const pc_types[] = {NULL, PCBJACOBI, PCASM, PCGAMG, PCJACOBI, PCNONE};
    Mat               A[2];

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(make_cube(NX, &A[0]));
    PetscCall(MatConvert(A[0], "spmmdist", MAT_INITIAL_MATRIX, &A[1]));
    for (size_t i = 0; i < sizeof pc_types / sizeof pc_types[0]; i++) {
        PetscCall(test_vector(A, pc_types[i]));
    }
    PetscCall(test_block(A));
    PetscCall(MatDestroy(&A[0]));
    PetscCall(MatDestroy(&A[1]));
    PetscCall(PetscFinalize());
    return EXIT_SUCCESS;
}
