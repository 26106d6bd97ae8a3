/* SPDX-License-Identifier: Apache-2.0 */
/** @file petsc_case.h  What petsc_shell.c wraps and measures: nothing here knows of spmm_dist. */
#ifndef PETSC_CASE_H
#define PETSC_CASE_H

#include <petscksp.h>

#include "example.h"

/* The Laplacian of a cube of points with zero boundary. */
static inline PetscErrorCode make_cube(PetscInt nx, Mat *mat)
{
    const PetscInt step[3] = {1, nx, nx * nx};
    PetscInt       first, last;

    PetscFunctionBeginUser;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, nx * nx * nx, nx * nx * nx,
                           7, NULL, 6, NULL, mat));
    PetscCall(MatGetOwnershipRange(*mat, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        PetscCall(MatSetValue(*mat, i, i, 6.0, INSERT_VALUES));
        for (int d = 0; d < 3; d++) {
            const PetscInt x = i / step[d] % nx;

            if (x > 0) {
                PetscCall(MatSetValue(*mat, i, i - step[d], -1.0, INSERT_VALUES));
            }
            if (x < nx - 1) {
                PetscCall(MatSetValue(*mat, i, i + step[d], -1.0, INSERT_VALUES));
            }
        }
    }
    PetscCall(MatAssemblyBegin(*mat, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*mat, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* C = A B, and the least time of several. */
static inline PetscErrorCode multiply(Mat A, Mat B, PetscInt repeat, Mat *C, double *seconds)
{
    PetscFunctionBeginUser;
    PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, C));
    *seconds = HUGE_VAL;
    for (PetscInt k = 0; k < repeat; k++) {
        MPI_Barrier(PETSC_COMM_WORLD);
        double took = -MPI_Wtime();
        PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, C));
        took += MPI_Wtime();
        reduce_all(&took, 1, MPI_MAX);
        *seconds = fmin(*seconds, took);
    }
    PetscFunctionReturn(0);
}

/* Conjugate gradients with the products of A: their number. */
static inline PetscErrorCode solve(Mat A, Vec b, Vec x, PetscInt *iterations)
{
    KSP ksp;
    PC  pc;

    PetscFunctionBeginUser;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCNONE));
    PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, iterations));
    PetscCall(KSPDestroy(&ksp));
    PetscFunctionReturn(0);
}

/* Random, with as many rows here as A has columns. */
static inline PetscErrorCode make_block(Mat A, PetscInt columns, Mat *B)
{
    PetscInt     n, first;
    PetscScalar *values;

    PetscFunctionBeginUser;
    PetscCall(MatGetLocalSize(A, NULL, &n));
    PetscCall(MatGetOwnershipRangeColumn(A, &first, NULL));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DETERMINE, columns, NULL, B));
    PetscCall(MatDenseGetArrayWrite(*B, &values));
    for (PetscInt j = 0; j < columns; j++) {
        for (PetscInt i = 0; i < n; i++) {
            values[(size_t)j * (size_t)n + (size_t)i] = random_element(first + i, j);
        }
    }
    PetscCall(MatDenseRestoreArrayWrite(*B, &values));
    PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

#endif /* PETSC_CASE_H */
