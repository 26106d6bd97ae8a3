/* SPDX-License-Identifier: Apache-2.0 */
/* CSR times dense for one complex type; csr_mm_complex.c includes it once for each.
 *
 *   MM_NAME  name of the function, MM_TILE that of its part
 *   MM_T     type of a real or imaginary part, of products and sums
 */

/* Row i of A times columns j0 .. j0 + width of B.  An element is two numbers, and lines of B and C
 * are vectors of those: a row-major line is one of them.
 * Strides count numbers.  Runs as in csr_mm.inc.h, of half as many entries. */
static inline __attribute__((always_inline)) void MM_TILE(const spmm_csr_mm_args_t *args, int64_t i,
                                                          int64_t j0, int64_t width, int64_t b_row,
                                                          int64_t b_col, int64_t c_row,
                                                          int64_t c_col)
{
    const MM_T         *value = args->values;
    const MM_T         *B0    = (const MM_T *)args->x.B + j0 * b_col;
    const spmm_scalar_t alpha = args->x.alpha, beta = args->x.beta;
    const int64_t       row = args->row_map == NULL ? i : args->row_map[i];
    MM_T               *C   = (MM_T *)args->x.C + row * c_row + j0 * c_col;
    MM_T                sum[2 * COLUMN_TILE];
    double              total[2 * COLUMN_TILE]; /* of the runs before */
    int64_t             k    = args->row_ptr[i];
    const int64_t       last = args->row_ptr[i + 1];

    for (int64_t j = 0; j < 2 * width; j++) {
        sum[j]   = 0;
        total[j] = 0.0;
    }
    while (k < last) {
        const int64_t end = last - k > SUM_RUN ? k + SUM_RUN : last;

        for (; k < end; k++) {
            const MM_T  re = value[2 * k], im = value[2 * k + 1];
            const MM_T *B = B0 + args->col_idx[k] * b_row;

            for (int64_t j = 0; j < width; j++) {
                sum[2 * j] += re * B[j * b_col] - im * B[j * b_col + 1];
                sum[2 * j + 1] += re * B[j * b_col + 1] + im * B[j * b_col];
            }
        }
        for (int64_t j = 0; j < 2 * width; j++) {
            total[j] += (double)sum[j];
            sum[j] = 0;
        }
    }
    for (int64_t j = 0; j < width; j++) {
        MM_T  *c  = C + j * c_col;
        double re = alpha.re * total[2 * j] - alpha.im * total[2 * j + 1];
        double im = alpha.re * total[2 * j + 1] + alpha.im * total[2 * j];

        if (!spmmi_scalar_is_zero(beta)) {
            re += beta.re * (double)c[0] - beta.im * (double)c[1];
            im += beta.re * (double)c[1] + beta.im * (double)c[0];
        }
        c[0] = (MM_T)re;
        c[1] = (MM_T)im;
    }
}

void MM_NAME(const spmm_csr_mm_args_t *args, int64_t first_row, int64_t last_row)
{
    const spmm_operands_t *x = &args->x;

    if (x->layout == SPMM_LAYOUT_COL) { /* a column is a stream: all rows of each */
        for (int64_t j = 0; j < x->n; j++) {
            for (int64_t i = first_row; i < last_row; i++) {
                MM_TILE(args, i, j, 1, 2, 2 * x->ldb, 2, 2 * x->ldc);
            }
        }
        return;
    }
    for (int64_t i = first_row; i < last_row; i++) {
        int64_t j = 0;

        for (; j + COLUMN_TILE <= x->n; j += COLUMN_TILE) {
            MM_TILE(args, i, j, COLUMN_TILE, 2 * x->ldb, 2, 2 * x->ldc, 2);
        }
        if (j < x->n) {
            MM_TILE(args, i, j, x->n - j, 2 * x->ldb, 2, 2 * x->ldc, 2);
        }
    }
}
#undef MM_NAME
#undef MM_TILE
#undef MM_T
