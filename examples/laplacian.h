/* SPDX-License-Identifier: Apache-2.0 */
/** @file laplacian.h
 *  The Laplacian of a grid with zero boundary (-1 beside the diagonal, on it the number of an inner
 *  point's neighbours) and its eigenvalues.  Star stencils (5, 7 points): sums of 2 - 2 cos; box
 *  stencils (9, 27): 9 or 27 less products of 1 + 2 cos.
 */
#ifndef LAPLACIAN_H
#define LAPLACIAN_H

#include "example.h"

typedef struct {
    int points; /* of the stencil: 5, 7, 9 or 27 */
    int n[3];   /* grid points in x, y and z; n[2] must be 1 for 5 and 9 */
} grid_t;

/* A - shift I.  Entries of generated matrices are random: only the pattern is used. */
static inline spmm_matrix_t *make_laplacian(const grid_t *grid, double shift)
{
    spmm_matrix_t     *A       = NULL;
    spmm_matrix_info_t my      = {.struct_size = sizeof my};
    const int64_t     *row_ptr = NULL, *col_idx = NULL;
    const void        *unused = NULL;
    char               spec[96];
    int                used =
        snprintf(spec, sizeof spec, "stencil%d:nx=%d,ny=%d", grid->points, grid->n[0], grid->n[1]);

    if (grid->points == 7 || grid->points == 27) {
        (void)snprintf(spec + used, sizeof spec - (size_t)used, ",nz=%d", grid->n[2]);
    }
    check(spmm_matrix_generate(ctx, spec, SPMM_R_64F, 0, &A));
    check(spmm_matrix_get_info(A, &my));
    check(spmm_matrix_get_csr(A, &row_ptr, &col_idx, &unused));
    double *values = allocate(my.local_nnz, sizeof *values);
    for (int64_t i = 0; i < my.local_rows; i++) {
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            values[k] = col_idx[k] == my.first_row + i ? grid->points - 1.0 - shift : -1.0;
        }
    }
    check(spmm_matrix_update_values(A, values));
    free(values);
    return A;
}

/* The eigenvalue of sin(a pi x) sin(b pi y) sin(c pi z); a, b, c from 1, c == 1 on plane grids. */
static inline double laplacian_eigenvalue(const grid_t *grid, int a, int b, int c)
{
    const double pi = acos(-1.0);
    const double x  = 2.0 * cos(a * pi / (grid->n[0] + 1));
    const double y  = 2.0 * cos(b * pi / (grid->n[1] + 1));
    const double z  = 2.0 * cos(c * pi / (grid->n[2] + 1)); /* 0 on plane grids */

    return grid->points == 9 || grid->points == 27
               ? grid->points - (1.0 + x) * (1.0 + y) * (1.0 + z)
               : grid->points - 1.0 - x - y - z;
}

static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* All of them, ascending; the caller frees them. */
static inline double *laplacian_eigenvalues(const grid_t *grid)
{
    double *all   = allocate((int64_t)grid->n[0] * grid->n[1] * grid->n[2], sizeof *all);
    size_t  count = 0;

    for (int c = 1; c <= grid->n[2]; c++) {
        for (int b = 1; b <= grid->n[1]; b++) {
            for (int a = 1; a <= grid->n[0]; a++) {
                all[count++] = laplacian_eigenvalue(grid, a, b, c);
            }
        }
    }
    qsort(all, count, sizeof *all, ascending);
    return all;
}

#endif /* LAPLACIAN_H */
