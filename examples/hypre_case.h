/* SPDX-License-Identifier: Apache-2.0 */
/** @file hypre_case.h  What hypre_blocks.c takes and compares with, by hypre alone. */
#ifndef HYPRE_CASE_H
#define HYPRE_CASE_H

#include <strings.h> /* ffs(), for headers of hypre */

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <_hypre_parcsr_mv.h>

#include "example.h"

enum { POINTS = 7 };

/* Functions of hypre return 0, or bits that say what went wrong. */
static inline void check_hypre(HYPRE_Int error)
{
    if (error != 0) {
        (void)fprintf(stderr, "hypre returned %d\n", (int)error);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
}

/* The Laplacian of a cube of points, times @p scale; rows are split evenly. */
static inline HYPRE_IJMatrix make_cube(int64_t nx, double scale)
{
    const int64_t  n = nx * nx * nx, step[3] = {1, nx, nx * nx};
    int            rank, size;
    HYPRE_IJMatrix ij;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const HYPRE_BigInt first = (HYPRE_BigInt)(n * rank / size);
    const HYPRE_BigInt last  = (HYPRE_BigInt)(n * (rank + 1) / size) - 1;

    check_hypre(HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, last, first, last, &ij));
    check_hypre(HYPRE_IJMatrixSetObjectType(ij, HYPRE_PARCSR));
    check_hypre(HYPRE_IJMatrixInitialize(ij));
    for (HYPRE_BigInt i = first; i <= last; i++) {
        HYPRE_BigInt col[POINTS]    = {i};
        double       values[POINTS] = {6.0 * scale};
        HYPRE_Int    count          = 1;

        for (int d = 0; d < 3; d++) {
            const int64_t x = i / step[d] % nx;

            for (int way = -1; way <= 1; way += 2) {
                if (x + way >= 0 && x + way < nx) {
                    col[count]      = (HYPRE_BigInt)(i + way * step[d]);
                    values[count++] = -scale;
                }
            }
        }
        check_hypre(HYPRE_IJMatrixSetValues(ij, 1, &count, &i, col, values));
    }
    check_hypre(HYPRE_IJMatrixAssemble(ij));
    return ij;
}

static inline hypre_ParCSRMatrix *parcsr_of(HYPRE_IJMatrix ij)
{
    void *object = NULL;

    check_hypre(HYPRE_IJMatrixGetObject(ij, &object));
    return object;
}

/* A multivector of the rows of @p parcsr. */
static inline hypre_ParVector *make_block(hypre_ParCSRMatrix *parcsr, HYPRE_Int columns)
{
    hypre_ParVector *block = hypre_ParMultiVectorCreate(
        hypre_ParCSRMatrixComm(parcsr), hypre_ParCSRMatrixGlobalNumRows(parcsr),
        hypre_ParCSRMatrixRowStarts(parcsr), columns);

    check_hypre(hypre_ParVectorInitialize(block));
    return block;
}

static inline double *data_of(hypre_ParVector *block)
{
    return hypre_VectorData(hypre_ParVectorLocalVector(block));
}

/* Random, as far as rows go. */
static inline void fill(hypre_ParVector *block, HYPRE_Int columns)
{
    const hypre_Vector *local = hypre_ParVectorLocalVector(block);

    for (HYPRE_Int j = 0; j < columns; j++) {
        for (HYPRE_Int i = 0; i < hypre_VectorSize(local); i++) {
            data_of(block)[(size_t)j * (size_t)hypre_VectorVectorStride(local) + (size_t)i] =
                random_element(hypre_ParVectorFirstIndex(block) + i, j);
        }
    }
}

/* Column after column by hypre, and its part of the largest difference to C. */
static inline double compare(hypre_ParCSRMatrix *parcsr, hypre_ParVector *B, hypre_ParVector *C,
                             HYPRE_Int columns, double *seconds)
{
    hypre_Vector    *local = hypre_ParVectorLocalVector(B);
    const HYPRE_Int  rows = hypre_VectorSize(local), apart = hypre_VectorVectorStride(local);
    hypre_ParVector *x = make_block(parcsr, 1), *y = make_block(parcsr, 1);
    double           error = 0.0;

    *seconds = 0.0;
    for (HYPRE_Int j = 0; j < columns; j++) {
        memcpy(data_of(x), data_of(B) + (size_t)j * (size_t)apart, sizeof(double) * (size_t)rows);
        *seconds -= MPI_Wtime();
        hypre_ParCSRMatrixMatvec(1.0, parcsr, x, 0.0, y);
        *seconds += MPI_Wtime();
        for (HYPRE_Int i = 0; i < rows; i++) {
            error = larger(error,
                           fabs(data_of(y)[i] - data_of(C)[(size_t)j * (size_t)apart + (size_t)i]));
        }
    }
    hypre_ParVectorDestroy(x);
    hypre_ParVectorDestroy(y);
    return error;
}

#endif /* HYPRE_CASE_H */
